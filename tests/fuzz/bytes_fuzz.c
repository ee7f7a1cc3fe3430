/* bytes_fuzz.c: one target under libFuzzer; TARGET is its name. */
#include "tests/fuzz/bytes.h"

#ifndef TARGET
#error "TARGET: one of BYTES_TARGETS, see rules.mk"
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    TARGET(data, n);
    return 0;
}

/* Products behind products in one kernel: generated CUDA on the emulator. The graphs are those of
 * tests/fuzz/cases_chained.c. */
#include "generated_test.h"

static void chained(struct arena *a, case_vec *out) { cases_chained(a, is_long() ? 1 : 3, out); }

int main(int argc, char **argv) {
    return generated_main(argc, argv, chained, 1, "test_emulated", test_emulated);
}

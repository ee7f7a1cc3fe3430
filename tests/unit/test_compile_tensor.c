/* Products whose sums lie in tensor memory (sm_100a): generated CUDA on the emulator against the
 * reference interpreter. The graphs are those of tests/fuzz/cases_tensor.c, each under its default
 * and under a config of its own. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_tensor, 1, "test_emulated", test_emulated);
}

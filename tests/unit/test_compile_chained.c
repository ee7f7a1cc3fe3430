/* Products behind products in one kernel: generated CUDA on the emulator. The graphs are those of
 * tests/fuzz/cases_chained.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_chained, 1, "test_emulated", test_emulated);
}

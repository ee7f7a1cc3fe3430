/* Kernels that move elements: generated CUDA on the emulator and generated C on the CPU, against
 * the reference interpreter. The graphs are those of tests/fuzz/cases_move.c; make test runs
 * a few configs of each, make test-long some more. */
#include "generated_test.h"

int main(int argc, char **argv) {
    int failed = generated_main(argc, argv, cases_move, 8, "test_emulated", test_emulated);
    return failed + generated_main(argc, argv, cases_move, 16, "test_cpu", test_cpu_device);
}

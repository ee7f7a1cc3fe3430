/* Kernels of loops whose elements go their own way: generated CUDA on the emulator, and C on the
 * CPU, against the reference interpreter. The graphs are those of
 * tests/fuzz/cases_recurrences.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    int failed = generated_main(argc, argv, cases_recurrences, 1, "test_emulated", test_emulated);
    return failed + generated_main(argc, argv, cases_recurrences, 1, "test_cpu", test_cpu_device);
}

/* Kernels of gradients: generated CUDA on the emulator, against the reference interpreter. The
 * graphs are those of tests/fuzz/cases_gradients.c; make test runs a few configs of each. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_gradients, 48, "test_emulated", test_emulated);
}

/* Every kernel kind, on small shapes chosen to hit edges, in make test-long in every sixteenth
 * config or, of many, fewer (make test-device has them all): generated CUDA on the emulator against
 * the reference interpreter. The graphs are those of tests/fuzz/cases_shapes.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_shapes, 16, "test_emulated", test_emulated);
}

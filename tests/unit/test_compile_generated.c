/* Every kernel kind, on small shapes chosen to hit edges, in all configs or, of many, every second
 * or third: generated CUDA on the emulator against the reference interpreter. The graphs are those
 * of tests/fuzz/cases_shapes.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_shapes, 1, "test_emulated", test_emulated);
}

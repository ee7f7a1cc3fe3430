/* Every kernel kind at every size around the edges of vectors, warps and blocks, in every dtype:
 * generated CUDA on the emulator. The graphs are those of tests/fuzz/cases_edges.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_edges, 4, "test_emulated", test_emulated);
}

/* Convolutions on the matrix units: generated CUDA on the emulator against the reference
 * interpreter. SEED=n in the environment makes others than those of make test. */
#include "generated_test.h"

static void convolutions(struct arena *a, case_vec *out) {
    const char *seed = getenv("SEED");
    cases_convolutions(a, seed ? strtoull(seed, NULL, 10) : 25, is_long() ? 1000 : 28, out);
}

int main(int argc, char **argv) {
    return generated_main(argc, argv, convolutions, 1, "test_emulated", test_emulated);
}

/* Random products on the matrix units: generated CUDA on the emulator against the reference
 * interpreter. SEED=n in the environment makes others than those of make test. */
#include "generated_test.h"

static void random_products(struct arena *a, case_vec *out) {
    const char *seed = getenv("SEED");
    cases_random_products(a, seed ? strtoull(seed, NULL, 10) : 25, is_long() ? 1000 : 30, out);
}

int main(int argc, char **argv) {
    return generated_main(argc, argv, random_products, 1, "test_emulated", test_emulated);
}

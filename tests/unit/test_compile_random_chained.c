/* Random attention, forward and with its gradients: generated CUDA on the emulator against the
 * reference interpreter. SEED=n in the environment makes others than those of make test. */
#include "generated_test.h"

static void random_chained(struct arena *a, case_vec *out) {
    const char *seed = getenv("SEED");
    cases_random_chained(a, seed ? strtoull(seed, NULL, 10) : 41, is_long() ? 300 : 10, out);
}

int main(int argc, char **argv) {
    return generated_main(argc, argv, random_chained, 1, "test_emulated", test_emulated);
}

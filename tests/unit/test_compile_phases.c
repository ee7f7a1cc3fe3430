/* Random transposed convolutions with strides: generated CUDA on the emulator and generated C on
 * the CPU against the reference interpreter. SEED=n in the environment makes others than those of
 * make test. */
#include "generated_test.h"

static void random_phases(struct arena *a, case_vec *out) {
    const char *seed = getenv("SEED");
    cases_phases(a, seed ? strtoull(seed, NULL, 10) : 26, is_long() ? 600 : 28, out);
    cases_many_filters(a, seed ? strtoull(seed, NULL, 10) : 27, is_long() ? 400 : 22, out);
    cases_arms(a, seed ? strtoull(seed, NULL, 10) : 28, is_long() ? 400 : 22, out);
}

int main(int argc, char **argv) {
    return generated_main(argc, argv, random_phases, 1, "test_emulated", test_emulated) |
           generated_main(argc, argv, random_phases, 1, "test_cpu_device", test_cpu_device);
}

/* Generated C on the CPU device. It takes longer to compile than CUDA on the emulator, and less can
 * go wrong in it: a part of the configs. The graphs are those of tests/fuzz/cases_shapes.c. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_shapes, 9, "test_cpu_device", test_cpu_device);
}

/* Products by packed panels: generated C on the CPU device against the reference interpreter. The
 * graphs are those of tests/fuzz/cases_panels.c, each under its default and under a config of its
 * own. */
#include "generated_test.h"

int main(int argc, char **argv) {
    return generated_main(argc, argv, cases_panels, 1, "test_cpu_device", test_cpu_device);
}

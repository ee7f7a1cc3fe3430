/* test_tuner_fits.c: which variants may run, on the fake driver, whose functions spill 16 bytes:
 * some that spill registers, and none whose blocks would wait for one that is not there. */
#include "tests/unit/cuda_fixture.h"

#include <limits.h>

#include "tuner/variant.h"

static enum result_status try_load(struct fixture *f, bool is_default, int allowed, int together) {
    static const unsigned char image[128] = {0x7f, 'E', 'L', 'F'};
    struct machine m = {.device = f->dev, .limits = *device_limits(f->dev)};
    struct variant v = {.status = STATUS_ok,
                        .message = "",
                        .binary = image,
                        .size = sizeof image,
                        .regs = -1,
                        .spill_bytes = -1,
                        .smem_bytes = -1,
                        .is_default = is_default,
                        .spill_allowed = allowed};
    struct ws_launch launch = {.entry = "a", .threads = 128, .together = together};
    v.source.n_launches = 1;
    v.source.launches = &launch;
    assert_int_equal(variant_load(&v, &m, &f->diag), WS_OK);
    assert_int_equal(v.spill_bytes, 16);
    variant_unload(&v, &m);
    return v.status;
}

static enum result_status load_with(struct fixture *f, bool is_default, int allowed) {
    return try_load(f, is_default, allowed, 0);
}

/* The default, as something has to run; what spills no more; what was asked for. */
static void test_spills(void **state) {
    struct fixture *f = *state;
    open_device(f);
    assert_int_equal(load_with(f, false, 0), STATUS_spill);
    assert_int_equal(load_with(f, false, -1), STATUS_spill); /* of a default that is unknown */
    assert_int_equal(load_with(f, false, 15), STATUS_spill);
    assert_int_equal(load_with(f, false, 16), STATUS_ok);
    assert_int_equal(load_with(f, false, INT_MAX), STATUS_ok);
    assert_int_equal(load_with(f, true, 0), STATUS_ok);
}

/* As many as its multiprocessors hold, and one more; a default, too, would wait forever. */
static void test_together(void **state) {
    enum { RESIDENT = 2048 / 128 };
    struct fixture *f = *state;
    open_device(f);
    int most = RESIDENT * device_limits(f->dev)->units;
    assert_int_equal(try_load(f, false, 16, most), STATUS_ok);
    assert_int_equal(try_load(f, false, 16, most + 1), STATUS_launch_error);
    assert_int_equal(try_load(f, true, 16, most + 1), STATUS_launch_error);
}

int main(int argc, char **argv) {
    worker_main(argc - 1, argv + 1);
    const struct CMUnitTest tests[] = {TEST(test_spills), TEST(test_together)};
    return cmocka_run_group_tests_name("tuner_fits", tests, make_toolkit, remove_toolkit);
}

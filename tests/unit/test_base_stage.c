/* test_base_stage.c: dumps are numbered in the order of the pipeline and hold exactly the text; and
 * the table of devices that `compile --arch` reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

struct folder {
    struct arena *arena;
    char path[64];
};

static int setup(void **state) {
    struct folder *f = calloc(1, sizeof *f);
    f->arena = arena_new();
    strcpy(f->path, "/tmp/warpsmith-stage-XXXXXX");
    *state = f;
    return mkdtemp(f->path) ? 0 : -1;
}

static int teardown(void **state) {
    struct folder *f = *state;
    rmdir(f->path);
    arena_free(f->arena);
    free(f);
    return 0;
}

static void check_file(struct folder *f, const char *name, const char *text) {
    struct diag d = diag_new(f->arena);
    char *path = arena_printf(f->arena, "%s/%s", f->path, name);
    const struct source *s = source_read(f->arena, path, &d);
    assert_non_null(s);
    assert_string_equal(s->text, text);
    unlink(path);
}

static void test_dumps(void **state) {
    struct folder *f = *state;
    struct diag d = diag_new(f->arena);
    struct stages s = stages_new(f->arena, f->path, 0);
    assert_int_equal(stage_dump(&s, "fx_graph_readable", -1, "add\n", &d), WS_OK);
    stage_end(&s, "graph");
    assert_int_equal(stage_dump(&s, "guards", LOG_GUARDS, "", &d), WS_OK);
    stage_end(&s, "capture");
    check_file(f, "01_fx_graph_readable", "add\n");
    check_file(f, "02_guards", "");
    assert_int_equal(s.n, 2);
    assert_string_equal(s.stage[0].name, "graph");
    assert_string_equal(s.stage[1].name, "capture");
    assert_true(s.stage[0].ms >= 0);
}

/* No folder: nothing is written and nothing is wrong. */
static void test_no_dumps(void **state) {
    struct folder *f = *state;
    struct diag d = diag_new(f->arena);
    struct stages s = stages_new(f->arena, NULL, 0);
    assert_int_equal(stage_dump(&s, "guards", -1, "x", &d), WS_OK);
    for (int i = 0; i < 2 * STAGE_MAX; i++) stage_end(&s, "one of many");
    assert_int_equal(s.n, STAGE_MAX);
}

static void test_folder_cannot_be_made(void **state) {
    struct folder *f = *state;
    struct diag d = diag_new(f->arena);
    struct stages s = stages_new(f->arena, "/dev/null/dumps", 0);
    assert_int_equal(stage_dump(&s, "guards", -1, "x", &d), WS_MACHINE);
    assert_string_equal(d.text, "cannot create '/dev/null/dumps': Not a directory\n");
}

/* Each name that a message lists is in the table, and what the table says hangs together. */
static void test_device_table(void **state) {
    struct device_limits l;
    char names[256];
    strncpy(names, device_arch_names(), sizeof names - 1);
    names[sizeof names - 1] = 0;
    int n = 0;
    for (char *save, *w = strtok_r(names, ", ", &save); w; w = strtok_r(NULL, ", ", &save), n++) {
        assert_true(device_limits_for_arch(w, &l));
        assert_string_equal(l.arch, w);
        assert_int_equal(l.kind, DEVICE_CUDA);
        assert_int_equal(l.warp, 32);
        assert_int_equal(l.max_threads_unit % l.max_threads_block % l.warp, 0);
        assert_true(l.smem_block <= l.smem_unit);
        assert_true(l.matrix_tflops > l.f32_tflops);
        assert_int_equal(l.sm, atoi(w + 3));
        assert_int_equal(l.tma, l.max_cluster > 1); /* both came with 9.0 */
        assert_int_equal(l.wgmma, !strcmp(w, "sm_90a"));
        assert_int_equal(l.tensor_memory, !strcmp(w, "sm_100a"));
    }
    assert_int_equal(n, 8);
    assert_true(device_limits_for_arch("sm_90a", &l));
    assert_int_equal(l.smem_block, 227 * 1024);
    assert_int_equal(l.units, 132);
    struct device_limits plain; /* the same device, but for some instructions */
    assert_true(device_limits_for_arch("sm_90", &plain));
    assert_true(plain.f32_tflops == l.f32_tflops && plain.matrix_tflops == l.matrix_tflops);
    assert_int_equal(plain.units, l.units);
    assert_false(device_limits_for_arch("sm_70", &l));
    assert_false(device_limits_for_arch("", &l));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_dumps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_dumps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_cannot_be_made, setup, teardown),
        cmocka_unit_test(test_device_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which places other users of the machine could change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

struct fixture {
    struct arena *arena;
    const char *folder, *inner, *file;
};

static int set_up(void **state) {
    static struct fixture f;
    f.arena = arena_new();
    f.folder = mkdtemp(arena_strdup(f.arena, "/tmp/test_base_private.XXXXXX"));
    f.inner = arena_printf(f.arena, "%s/inner", f.folder);
    f.file = arena_printf(f.arena, "%s/file", f.inner);
    *state = &f;
    if (!f.folder || mkdir(f.inner, 0700) != 0) return -1;
    FILE *out = fopen(f.file, "w");
    return out && fclose(out) == 0 && chmod(f.file, 0600) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    int rc = system(arena_printf(f->arena, "rm -rf %s", f->folder));
    arena_free(f->arena);
    return rc;
}

static void expect(struct fixture *f, const char *path, const char *want) {
    const char *why = path_exposed(path, f->arena);
    if (!want && why) fail_msg("%s: %s", path, why);
    if (want && (!why || !strstr(why, want))) fail_msg("%s: %s", path, why ? why : "private");
}

static void test_modes(void **state) {
    struct fixture *f = *state;
    const char *missing = arena_printf(f->arena, "%s/missing", f->inner);
    expect(f, "/", NULL);
    expect(f, "/tmp", NULL); /* sticky */
    expect(f, f->file, NULL);
    expect(f, missing, NULL);
    chmod(f->file, 0602);
    expect(f, f->file, "file' can be written by others");
    chmod(f->file, 0644);
    chmod(f->inner, 0755);
    expect(f, f->file, NULL);
    chmod(f->folder, 0777);
    expect(f, f->file, "can be written by others");
    expect(f, missing, "can be written by others");
    chmod(f->folder, 01777);
    expect(f, f->file, NULL);
    expect(f, arena_printf(f->arena, "%s/no/where", f->folder), "No such file");
}

/* What counts is where links lead. */
static void test_links(void **state) {
    struct fixture *f = *state;
    const char *link = arena_printf(f->arena, "%s/link", f->folder);
    const char *through = arena_printf(f->arena, "%s/file", link);
    assert_int_equal(symlink(f->inner, link), 0);
    expect(f, through, NULL);
    assert_string_equal(path_resolve(through, f->arena), path_resolve(f->file, f->arena));
    chmod(f->inner, 0777);
    expect(f, through, "inner' can be written by others");
}

static void test_relative_paths(void **state) {
    struct fixture *f = *state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(f->inner), 0);
    expect(f, "file", NULL);
    chmod(f->inner, 0777);
    expect(f, "file", "can be written by others");
    expect(f, "missing", "can be written by others");
    assert_int_equal(chdir(before), 0);
}

/* A group of the user's own number has nobody else in it. */
static void test_owners_and_groups(void **state) {
    struct fixture *f = *state;
    if (geteuid() != 0) skip();
    assert_int_equal(chown(f->file, 0, 1234), 0);
    chmod(f->file, 0640); /* of another group that may only read */
    expect(f, f->file, NULL);
    chmod(f->file, 0660);
    expect(f, f->file, "can be written by others");
    assert_int_equal(chown(f->file, 0, 0), 0);
    expect(f, f->file, NULL);
    assert_int_equal(chown(f->inner, 1234, 1234), 0);
    expect(f, f->file, "inner' belongs to another user (1234)");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_modes),
        TEST(test_links),
        TEST(test_relative_paths),
        TEST(test_owners_and_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

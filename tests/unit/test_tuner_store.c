/* test_tuner_store.c: what the store keeps, why it misses, how it is carried to another machine.
 * What it does when processes die and disks fill is in test_tuner_store_faults.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/store.h"

struct fixture {
    struct arena *arena;
    struct diag d;
    struct store *store;
    const char *folder, *path, *note;
};

static int set_up(void **state) {
    struct arena *a = arena_new();
    struct fixture *f = NEW(a, struct fixture);
    char *folder = arena_strdup(a, "/tmp/test_tuner_store.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    *f = (struct fixture){a, diag_new(a), NULL, folder, arena_printf(a, "%s/a/b/store.db", folder),
                          ""};
    *state = f;
    return store_open(f->path, a, &f->d, &f->store, &f->note);
}

static int tear_down(void **state) {
    struct fixture *f = *state;
    store_close(f->store);
    int rc = system(arena_printf(f->arena, "rm -rf %s", f->folder));
    arena_free(f->arena);
    return rc;
}

/* Every call must go well unless a test says otherwise. */
#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) != WS_OK) fail_msg("%s: %s", #call, f->d.text);                                 \
    } while (0)

static const struct store_key key = {
    "00000000000000aa", "00000000000000bb", "rows == 4096", "NVIDIA H200", "570.1",
    "nvrtc 13.0.88"};
static const struct store_key program_key = {"00000000000000aa", STORE_PROGRAM, "",
                                             "NVIDIA H200",      "570.1",       "nvrtc 13.0.88"};
static const struct store_graph graph = {"graph(x)\n", "softmax", "fwd", "f32", "rows=4096"};

static struct stats times(double us) {
    return (struct stats){30, us, us - 1, us + 1, us - 2, us - 0.5, us + 0.5};
}

/* Member by member: a struct's padding is not stored. */
static void assert_same_times(const struct stats *a, const struct stats *b) {
    assert_int_equal(a->n, b->n);
    assert_true(a->median == b->median && a->q1 == b->q1 && a->q3 == b->q3 && a->min == b->min);
    assert_true(a->lo == b->lo && a->hi == b->hi);
}

static struct store_winner winner(const char *config, double us) {
    return (struct store_winner){.kernel_name = "softmax_0",
                                 .arch = "sm_90a",
                                 .config = config,
                                 .us = times(us),
                                 .default_us = 40,
                                 .tried = 17,
                                 .tied = 2,
                                 .health = {"cupti", 1980, NAN, "none"},
                                 .run_id = "r1",
                                 .text_hash = "00000000000000ee"};
}

static struct store_trial trial(const char *config, enum result_status status, double us) {
    return (struct store_trial){.config = config,
                                .status = status,
                                .us = status == STATUS_ok ? times(us) : stats_none(),
                                .regs = 32,
                                .spill_bytes = 0,
                                .smem_bytes = -1,
                                .compile_ms = 41.5,
                                .message = status == STATUS_ok ? NULL : "why not",
                                .run_id = "r1",
                                .text_hash = status == STATUS_ok ? "00000000000000dd" : NULL};
}

static const char *why_missed(struct fixture *f, struct store_key k) {
    struct store_winner w;
    bool found;
    const char *why = NULL;
    ok(store_lookup(f->store, &k, &w, &found, &why, &f->d));
    assert_false(found);
    return why;
}

static void test_winner_round_trip(void **state) {
    struct fixture *f = *state;
    struct store_winner w = winner("x=1 warps=8", 36.96), got;
    bool found;
    assert_string_equal(f->note, "");
    assert_string_equal(why_missed(f, key), "never tuned");
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    ok(store_lookup(f->store, &key, &got, &found, NULL, &f->d));
    assert_true(found);
    assert_string_equal(got.config, "x=1 warps=8");
    assert_string_equal(got.kernel_name, "softmax_0");
    assert_string_equal(got.health.throttle, "none");
    assert_same_times(&got.us, &w.us);
    assert_true(got.default_us == 40 && got.health.clock_mhz == 1980 && isnan(got.health.temp_c));
    assert_true(got.tried == 17 && got.tied == 2);
    assert_string_equal(got.text_hash, "00000000000000ee");
    assert_true(got.created > 1600000000);
    /* A second winner replaces the first. */
    w.config = "x=2 warps=4";
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    ok(store_lookup(f->store, &key, &got, &found, NULL, &f->d));
    assert_string_equal(got.config, "x=2 warps=4");
}

static void test_survives_reopening(void **state) {
    struct fixture *f = *state;
    struct store_winner w = winner("x=1", 10), got;
    bool found;
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    store_close(f->store);
    ok(store_open(f->path, f->arena, &f->d, &f->store, &f->note));
    assert_string_equal(f->note, "");
    ok(store_lookup(f->store, &key, &got, &found, NULL, &f->d));
    assert_true(found);
}

static void test_every_part_of_the_key_counts(void **state) {
    struct fixture *f = *state;
    struct store_winner w = winner("x=1", 10);
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    struct store_key k = key;
    k.driver = "580.2";
    assert_string_equal(why_missed(f, k), "driver changed: 570.1 -> 580.2");
    k.device = "NVIDIA A100";
    assert_string_equal(why_missed(f, k), "device changed: NVIDIA H200 -> NVIDIA A100, "
                                          "driver changed: 570.1 -> 580.2");
    k = key, k.device = "NVIDIA A100";
    assert_string_equal(why_missed(f, k), "device changed: NVIDIA H200 -> NVIDIA A100");
    k = key, k.toolchain = "nvrtc 13.1";
    assert_string_equal(why_missed(f, k), "toolchain changed: nvrtc 13.0.88 -> nvrtc 13.1");
    k = key, k.guard = "";
    assert_string_equal(why_missed(f, k), "sizes changed: rows == 4096 -> none");
    k = key, k.kernel = "00000000000000bc";
    assert_string_equal(why_missed(f, k), "never tuned");
    k = key, k.graph = "00000000000000ab";
    assert_string_equal(why_missed(f, k), "never tuned");
}

/* Of several old entries the one that differs least is named. */
static void test_nearest_entry_explains_a_miss(void **state) {
    struct fixture *f = *state;
    struct store_winner w = winner("x=1", 10);
    struct store_key far = key, near = key, k = key;
    far.driver = "1", far.device = "other";
    near.driver = "2";
    k.driver = "3";
    ok(store_put_winner(f->store, &near, &graph, &w, &f->d));
    ok(store_put_winner(f->store, &far, &graph, &w, &f->d));
    assert_string_equal(why_missed(f, k), "driver changed: 2 -> 3");
}

static void test_trials_are_kept_and_reused(void **state) {
    struct fixture *f = *state;
    struct store_trial in[] = {trial("x=1", STATUS_ok, 12), trial("x=2", STATUS_spill, 0),
                               trial("x=4", STATUS_ok, 14), trial("x=1", STATUS_ok, 11)};
    struct store_trial *got;
    int n;
    for (int i = 0; i < 4; i++) ok(store_add_trial(f->store, &key, &graph, &in[i], &f->d));
    assert_string_equal(why_missed(f, key), "tuning was cut short after 4 trials");
    ok(store_trials(f->store, &key, &got, &n, &f->d));
    assert_int_equal(n, 3);
    assert_string_equal(got[0].config, "x=2");
    assert_int_equal(got[0].status, STATUS_spill);
    assert_string_equal(got[0].message, "why not");
    assert_string_equal(got[0].text_hash, "");
    assert_string_equal(got[1].text_hash, "00000000000000dd");
    assert_true(got[0].us.n == 0 && isnan(got[0].us.median));
    assert_string_equal(got[1].config, "x=4");
    assert_string_equal(got[2].config, "x=1");
    assert_true(got[2].us.median == 11 && got[2].regs == 32 && got[2].smem_bytes == -1);
    assert_true(got[2].compile_ms == 41.5);
    assert_string_equal(got[2].message, "");
    struct store_key other = key;
    other.driver = "580.2";
    ok(store_trials(f->store, &other, &got, &n, &f->d));
    assert_int_equal(n, 0);
}

static void test_program_round_trip(void **state) {
    struct fixture *f = *state;
    struct store_program
        p = {"sm_90a", times(90), times(50), times(40), {"cupti", 1980, 41, "none"}, "r1", 0, "ab"},
        got;
    struct store_key k = program_key;
    bool found;
    const char *why;
    ok(store_put_program(f->store, &k, &graph, &p, &f->d));
    ok(store_lookup_program(f->store, &k, &got, &found, &why, &f->d));
    assert_true(found);
    assert_same_times(&got.eager, &p.eager);
    assert_same_times(&got.tuned, &p.tuned);
    assert_string_equal(got.text_hash, "ab");
    k.driver = "580.2";
    ok(store_lookup_program(f->store, &k, &got, &found, &why, &f->d));
    assert_false(found);
    assert_string_equal(why, "driver changed: 570.1 -> 580.2");
}

static void test_odd_text(void **state) {
    struct fixture *f = *state;
    struct store_key k = key;
    k.device = "Robert'); DROP TABLE keys; -- \"x\" \n \xc3\xa9";
    struct store_winner w = winner("x=1", 10), got;
    bool found;
    ok(store_put_winner(f->store, &k, NULL, &w, &f->d));
    ok(store_lookup(f->store, &k, &got, &found, NULL, &f->d));
    assert_true(found);
    assert_string_equal(why_missed(f, (struct store_key){"", "", "", "", "", ""}), "never tuned");
}

/* ---- binaries and facts ---------------------------------------------------------------------- */

static void test_binary_round_trip(void **state) {
    struct fixture *f = *state;
    unsigned char bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 31);
    struct store_binary in = {bytes, sizeof bytes, "warning", 12.5}, empty = {0}, got;
    bool found;
    const char *k = store_binary_key(f->arena, "nvrtc 13", "sm_90a", "source");
    ok(store_get_binary(f->store, k, &got, &found, &f->d));
    assert_false(found);
    ok(store_put_binary(f->store, k, &in, &f->d));
    ok(store_put_binary(f->store, "empty", &empty, &f->d));
    ok(store_get_binary(f->store, k, &got, &found, &f->d));
    assert_true(found && got.size == sizeof bytes && got.compile_ms == 12.5);
    assert_memory_equal(got.bytes, bytes, sizeof bytes);
    assert_string_equal(got.log, "warning");
    ok(store_get_binary(f->store, "empty", &got, &found, &f->d));
    assert_true(found && got.size == 0);
}

static void test_binary_key_has_all_parts(void **state) {
    struct fixture *f = *state;
    const char *k = store_binary_key(f->arena, "t", "o", "s");
    assert_int_equal(strlen(k), 32);
    size_t before = arena_used(f->arena);
    assert_string_equal(k, store_binary_key(f->arena, "t", "o", "s"));
    assert_true(arena_used(f->arena) - before < 100); /* the key, and no copy of a text */
    assert_string_not_equal(k, store_binary_key(f->arena, "T", "o", "s"));
    assert_string_not_equal(k, store_binary_key(f->arena, "t", "O", "s"));
    assert_string_not_equal(k, store_binary_key(f->arena, "t", "o", "S"));
}

static void test_old_binaries_make_room(void **state) {
    struct fixture *f = *state;
    static unsigned char bytes[1000];
    struct store_binary in = {bytes, sizeof bytes, "", 1}, got;
    bool found;
    int kept = 0;
    store_limit_binaries(f->store, 8000);
    for (int i = 0; i < 20; i++) {
        const char *k = arena_printf(f->arena, "%d", i);
        ok(store_put_binary(f->store, k, &in, &f->d));
        ok(store_get_binary(f->store, k, &got, &found, &f->d));
        assert_true(found);
    }
    for (int i = 0; i < 20; i++) {
        ok(store_get_binary(f->store, arena_printf(f->arena, "%d", i), &got, &found, &f->d));
        kept += found;
        assert_true(i > 11 || !found);
    }
    assert_in_range(kept, 6, 8);
}

static void test_facts(void **state) {
    struct fixture *f = *state;
    double v = 1;
    bool found;
    ok(store_get_fact(f->store, "copy_gbps H200", &v, &found, &f->d));
    assert_true(!found && v == 1);
    ok(store_put_fact(f->store, "copy_gbps H200", 4290, &f->d));
    ok(store_put_fact(f->store, "copy_gbps H200", 4295.5, &f->d));
    ok(store_get_fact(f->store, "copy_gbps H200", &v, &found, &f->d));
    assert_true(found && v == 4295.5);
}

/* ---- housekeeping ---------------------------------------------------------------------------- */

/* A winner with two trials, a program, and one kernel whose tuning was cut short. */
static void fill(struct fixture *f, int64_t created) {
    struct store_winner w = winner("x=1", 10);
    struct store_program p = {
        "sm_90a", times(90), times(50), times(40), {"cupti", 1980, 41, "none"}, "r1", created, ""};
    struct store_trial t[] = {trial("x=1", STATUS_ok, 10), trial("x=2", STATUS_wrong, 0)};
    struct store_key cut = key;
    cut.kernel = "00000000000000cc";
    w.created = t[0].at = t[1].at = created;
    ok(store_add_trial(f->store, &key, &graph, &t[0], &f->d));
    ok(store_add_trial(f->store, &key, &graph, &t[1], &f->d));
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    ok(store_put_program(f->store, &program_key, &graph, &p, &f->d));
    ok(store_add_trial(f->store, &cut, &graph, &t[0], &f->d));
}

static void test_listing(void **state) {
    struct fixture *f = *state;
    struct store_entry *e, one;
    struct store_trial *t;
    int n;
    bool found;
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 0);
    fill(f, 1700000000);
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 3);
    assert_true(e[0].has_winner && !e[0].has_program && e[0].n_trials == 2);
    assert_true(e[1].has_program && !e[1].has_winner && e[1].n_trials == 0);
    assert_true(!e[2].has_program && !e[2].has_winner && e[2].n_trials == 1);
    assert_string_equal(e[0].graph.workload, "softmax");
    assert_string_equal(e[0].graph.text, "graph(x)\n");
    assert_string_equal(e[0].key.driver, "570.1");
    assert_int_equal(e[0].newest, 1700000000);
    ok(store_entry(f->store, e[1].id, &one, &found, &f->d));
    assert_true(found && one.has_program && one.program.dflt.median == 50);
    ok(store_entry(f->store, 999, &one, &found, &f->d));
    assert_false(found);
    ok(store_entry_trials(f->store, e[0].id, &t, &n, &f->d));
    assert_int_equal(n, 2);
    assert_string_equal(t[1].config, "x=2");
}

static void test_remove(void **state) {
    struct fixture *f = *state;
    struct store_entry *e;
    struct store_trial *t;
    int n;
    bool found;
    fill(f, 0);
    ok(store_entries(f->store, &e, &n, &f->d));
    int64_t last = e[2].id;
    ok(store_remove(f->store, e[0].id, &found, &f->d));
    assert_true(found);
    ok(store_remove(f->store, e[0].id, &found, &f->d));
    assert_false(found);
    assert_string_equal(why_missed(f, key), "never tuned");
    ok(store_entry_trials(f->store, e[0].id, &t, &n, &f->d));
    assert_int_equal(n, 0);
    ok(store_remove(f->store, last, &found, &f->d));
    fill(f, 0);
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 3);
    for (int i = 0; i < n; i++) assert_true(e[i].id != last); /* an id is never used again */
}

static void test_remove_older(void **state) {
    struct fixture *f = *state;
    struct store_winner w = winner("x=1", 10);
    struct store_key young = key;
    struct store_entry *e;
    bool found;
    int n;
    young.driver = "580.2";
    fill(f, 1700000000);
    ok(store_put_winner(f->store, &young, &graph, &w, &f->d));
    ok(store_put_fact(f->store, "fact", 1, &f->d));
    ok(store_remove_older(f->store, 1700000000, &n, &f->d));
    assert_int_equal(n, 0);
    ok(store_remove_older(f->store, 1700000001, &n, &f->d));
    assert_int_equal(n, 3);
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 1);
    assert_string_equal(e[0].graph.workload, "softmax");
    ok(store_remove_older(f->store, INT64_MAX, &n, &f->d));
    assert_int_equal(n, 1);
    double v;
    ok(store_get_fact(f->store, "fact", &v, &found, &f->d));
    assert_false(found);
}

static struct store *open_other(struct fixture *f, const char *name) {
    struct store *other;
    const char *note;
    ok(store_open(arena_printf(f->arena, "%s/%s", f->folder, name), f->arena, &f->d, &other,
                  &note));
    return other;
}

static void test_export_import(void **state) {
    struct fixture *f = *state;
    const char *file = arena_printf(f->arena, "%s/it's.db", f->folder);
    struct store_entry *e;
    struct store_trial *t;
    struct stat st;
    int n;
    fill(f, 1700000000);
    ok(store_export(f->store, file, &n, &f->d));
    assert_int_equal(n, 2);
    ok(store_export(f->store, file, &n, &f->d)); /* over itself */
    assert_int_equal(stat(arena_printf(f->arena, "%s-wal", file), &st), -1);

    struct store *here = f->store, *other = open_other(f, "other.db");
    f->store = other;
    for (int pass = 0; pass < 2; pass++) {
        ok(store_import(other, file, &n, &f->d));
        assert_int_equal(n, pass == 0 ? 2 : 0); /* nothing twice */
        ok(store_entries(other, &e, &n, &f->d));
        assert_int_equal(n, 3);
        ok(store_entry_trials(other, e[0].id, &t, &n, &f->d));
        assert_int_equal(n, 2);
    }
    assert_string_equal(e[0].winner.config, "x=1");
    assert_int_equal(e[0].winner.created, 1700000000);
    assert_string_equal(e[0].graph.axes, "rows=4096");
    assert_true(e[1].program.eager.median == 90);
    store_close(other);
    f->store = here;
}

static void test_import_keeps_the_newer(void **state) {
    struct fixture *f = *state;
    const char *file = arena_printf(f->arena, "%s/out.db", f->folder);
    struct store_winner w = winner("middle", 10), got;
    struct store *older = open_other(f, "older.db"), *newer = open_other(f, "newer.db");
    bool found;
    int n;
    w.created = 2000;
    ok(store_put_winner(f->store, &key, &graph, &w, &f->d));
    ok(store_export(f->store, file, &n, &f->d));
    w.config = "old", w.created = 1000;
    ok(store_put_winner(older, &key, &graph, &w, &f->d));
    w.config = "new", w.created = 3000;
    ok(store_put_winner(newer, &key, &graph, &w, &f->d));
    ok(store_import(older, file, &n, &f->d));
    assert_int_equal(n, 1);
    ok(store_lookup(older, &key, &got, &found, NULL, &f->d));
    assert_string_equal(got.config, "middle");
    ok(store_import(newer, file, &n, &f->d));
    assert_int_equal(n, 0);
    ok(store_lookup(newer, &key, &got, &found, NULL, &f->d));
    assert_string_equal(got.config, "new");
    store_close(older);
    store_close(newer);
}

static void expect_import(struct fixture *f, const char *file, enum ws_status want,
                          const char *text) {
    struct diag d = diag_new(f->arena);
    struct store_entry *e;
    int n;
    assert_int_equal(store_import(f->store, file, &n, &d), want);
    if (!strstr(d.text, text)) fail_msg("expected '%s' in: %s", text, d.text);
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 3);
}

static void test_import_refuses(void **state) {
    struct fixture *f = *state;
    const char *file = arena_printf(f->arena, "%s/out.db", f->folder);
    int n;
    fill(f, 0);
    expect_import(f, file, WS_USAGE, "No such file");
    expect_import(f, f->folder, WS_WRONG, "not an exported store");
    FILE *out = fopen(file, "w");
    fputs("a,b,c\n1,2,3\n", out);
    fclose(out);
    expect_import(f, file, WS_WRONG, "not a database");
    assert_int_equal(truncate(file, 0), 0);
    expect_import(f, file, WS_WRONG, "not an exported store");

    /* A store whose second half is gone. */
    ok(store_export(f->store, file, &n, &f->d));
    struct stat st;
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(truncate(file, st.st_size / 2 / 4096 * 4096), 0);
    expect_import(f, file, WS_WRONG, "damaged");

    /* user_version is the big-endian word at byte 60, application_id the one at 68. */
    ok(store_export(f->store, file, &n, &f->d));
    out = fopen(file, "r+");
    fseek(out, 60, SEEK_SET);
    fwrite("\0\0\0\x63", 1, 4, out);
    fclose(out);
    expect_import(f, file, WS_WRONG, "newer warpsmith (schema 99");
    ok(store_export(f->store, file, &n, &f->d));
    out = fopen(file, "r+");
    fseek(out, 68, SEEK_SET);
    fwrite("\0\0\0\x63", 1, 4, out);
    fclose(out);
    expect_import(f, file, WS_WRONG, "another program");
}

static void test_export_refuses(void **state) {
    struct fixture *f = *state;
    struct diag d = diag_new(f->arena);
    int n;
    fill(f, 0);
    assert_int_equal(store_export(f->store, f->path, &n, &d), WS_USAGE);
    d = diag_new(f->arena);
    assert_int_equal(
        store_export(f->store, arena_printf(f->arena, "%s/none/x.db", f->folder), &n, &d),
        WS_MACHINE);
    assert_non_null(strstr(d.text, "No such file"));
    d = diag_new(f->arena);
    assert_int_equal(store_export(f->store, f->folder, &n, &d),
                     WS_MACHINE); /* a folder stands there */
    bool found;
    struct store_winner w;
    ok(store_lookup(f->store, &key, &w, &found, NULL, &f->d));
    assert_true(found);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_winner_round_trip),
        TEST(test_survives_reopening),
        TEST(test_every_part_of_the_key_counts),
        TEST(test_nearest_entry_explains_a_miss),
        TEST(test_trials_are_kept_and_reused),
        TEST(test_program_round_trip),
        TEST(test_odd_text),
        TEST(test_binary_round_trip),
        TEST(test_binary_key_has_all_parts),
        TEST(test_old_binaries_make_room),
        TEST(test_facts),
        TEST(test_listing),
        TEST(test_remove),
        TEST(test_remove_older),
        TEST(test_export_import),
        TEST(test_import_keeps_the_newer),
        TEST(test_import_refuses),
        TEST(test_export_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

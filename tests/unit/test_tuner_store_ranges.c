/* test_tuner_store_ranges.c: winners for ranges of sizes: what is kept of them, what takes their
 * place, why there is none, how often they were used, how they travel, and files from before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/range_table.h"
#include "tuner/sql.h"
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
    char *folder = arena_strdup(a, "/tmp/test_store_ranges.XXXXXX");
    if (!mkdtemp(folder)) return -1;
    *f = (struct fixture){a, diag_new(a), NULL, folder, arena_printf(a, "%s/store.db", folder), ""};
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

#define ok(call)                                                                                   \
    do {                                                                                           \
        if ((call) != WS_OK) fail_msg("%s: %s", #call, f->d.text);                                 \
    } while (0)

static const struct store_key key = {
    "00000000000000aa", "00000000000000bb", "", "NVIDIA H200", "570.1", "nvrtc 13.0.88"};
static const struct store_graph graph = {"graph(x)\n", "softmax", "fwd", "f32", "rows=4 dim=s0"};

static struct stats times(double us) {
    return (struct stats){30, us, us - 1, us + 1, us - 2, us - 0.5, us + 0.5};
}

/* A range with a rung at each of the sizes, up to a 0. */
static struct store_range range(struct arena *a, const char *guard, const char *config,
                                const int64_t *sizes) {
    struct store_range r = {.guard = guard,
                            .winner = {.kernel_name = "softmax_0",
                                       .arch = "sm_90a",
                                       .config = config,
                                       .us = stats_none(),
                                       .default_us = NAN,
                                       .tried = 34,
                                       .health = {"cupti", NAN, NAN, ""},
                                       .run_id = "r1",
                                       .text_hash = "00000000000000ee"}};
    r.rungs = NEW_ARRAY(a, struct store_rung, 8);
    for (; sizes[r.n_rungs]; r.n_rungs++)
        r.rungs[r.n_rungs] = (struct store_rung){.axis = "dim",
                                                 .size = sizes[r.n_rungs],
                                                 .graph = "point",
                                                 .kernel = "kernel",
                                                 .winner = r.n_rungs ? "x=7" : config,
                                                 .us = times(12.5),
                                                 .winner_us = 12.25,
                                                 .default_us = NAN,
                                                 .run_id = "r0"};
    return r;
}
#define SIZES(...) ((const int64_t[]){__VA_ARGS__, 0})

static void put(struct fixture *f, struct store_range r) {
    ok(store_put_ranges(f->store, &key, &graph, &r, 1, &f->d));
}

/* The guards in the store, newest first. */
static const char *guards(struct fixture *f) {
    struct store_config *c;
    struct buf b = buf_new(f->arena);
    int n;
    ok(store_configs(f->store, &key, &c, &n, &f->d));
    for (int i = 0; i < n; i++) {
        buf_printf(&b, "%s%s", i ? "; " : "", c[i].guard);
        assert_string_equal(c[i].text_hash, "00000000000000ee");
        assert_true(c[i].size > 0);
    }
    return n ? b.p : "";
}

static void test_round_trip(void **state) {
    struct fixture *f = *state;
    put(f, range(f->arena, "256 <= s0 && s0 < 4096 && s0 % 8 == 0", "x=1 warps=8",
                 SIZES(256, 5000000000)));
    struct store_entry *e;
    int n;
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 1);
    assert_string_equal(e->key.guard, "256 <= s0 && s0 < 4096 && s0 % 8 == 0");
    assert_string_equal(e->winner.config, "x=1 warps=8");
    assert_string_equal(e->graph.axes, "rows=4 dim=s0");
    assert_int_equal(e->winner.us.n, 0);
    assert_int_equal(e->n_rungs, 2);
    assert_string_equal(e->rungs[0].axis, "dim");
    assert_string_equal(e->rungs[0].winner, "x=1 warps=8");
    assert_string_equal(e->rungs[1].winner, "x=7");
    assert_true(e->rungs[1].size == 5000000000);
    assert_true(e->rungs[1].us.median == 12.5 && e->rungs[1].winner_us == 12.25);
    assert_true(isnan(e->rungs[1].default_us));
    assert_string_equal(e->rungs[1].graph, "point");
    const char **axes;
    ok(store_ladder_axes(f->store, "softmax", &axes, &n, &f->d));
    assert_int_equal(n, 1);
    assert_string_equal(axes[0], "dim");
    ok(store_ladder_axes(f->store, "relu", &axes, &n, &f->d));
    assert_int_equal(n, 0);
    bool found;
    ok(store_remove(f->store, e->id, &found, &f->d));
    ok(store_ladder_axes(f->store, "softmax", &axes, &n, &f->d));
    assert_int_equal(n, 0);
}

/* A ladder that is climbed again replaces what it covers, and nothing else. */
static void test_covered_ranges_go(void **state) {
    struct fixture *f = *state;
    put(f, range(f->arena, "256 <= s0 && s0 < 512", "x=1", SIZES(256)));
    put(f, range(f->arena, "512 <= s0 && s0 <= 1024", "x=2", SIZES(512, 1024)));
    put(f, range(f->arena, "1000 <= s0 && s0 <= 9000", "x=3", SIZES(1000, 9000)));
    assert_string_equal(guards(f), "1000 <= s0 && s0 <= 9000; 512 <= s0 && s0 <= 1024; "
                                   "256 <= s0 && s0 < 512");
    struct store_range again[] = {range(f->arena, "256 <= s0 && s0 < 1024", "x=4", SIZES(256, 512)),
                                  range(f->arena, "s0 == 1024", "x=5", SIZES(1024))};
    ok(store_put_ranges(f->store, &key, &graph, again, 2, &f->d));
    assert_string_equal(guards(f), "s0 == 1024; 256 <= s0 && s0 < 1024; 1000 <= s0 && s0 <= 9000");
    /* The same range once more is one entry, with the new rungs alone. */
    put(f, range(f->arena, "256 <= s0 && s0 < 1024", "x=6", SIZES(300)));
    struct store_entry *e;
    int n;
    ok(store_entries(f->store, &e, &n, &f->d));
    assert_int_equal(n, 3);
    assert_string_equal(e[2].winner.config, "x=6");
    assert_int_equal(e[2].n_rungs, 1);
}

static const char *why(struct fixture *f, struct store_key k) {
    const char *out;
    ok(store_why_no_range(f->store, &k, &out, &f->d));
    return out;
}

static void test_reasons(void **state) {
    struct fixture *f = *state;
    struct store_key k = key;
    assert_string_equal(why(f, k), "no ranges");
    put(f, range(f->arena, "256 <= s0", "x=1", SIZES(256)));
    k.driver = "580.2";
    assert_string_equal(why(f, k), "driver changed: 570.1 -> 580.2");
    k.toolchain = "nvrtc 13.1";
    assert_string_equal(why(f, k), "driver changed: 570.1 -> 580.2, toolchain changed: nvrtc "
                                   "13.0.88 -> nvrtc 13.1");
    k = key;
    k.device = "NVIDIA L4";
    assert_string_equal(why(f, k), "device changed: NVIDIA H200 -> NVIDIA L4");
    k.kernel = "other";
    assert_string_equal(why(f, k), "no ranges");
    /* Nothing of another driver is in a table. */
    struct range_table *t;
    k = key;
    k.driver = "580.2";
    ok(range_table_load(f->arena, f->store, &k, &t, &f->d));
    int64_t size = 256;
    const struct range_entry *e;
    struct range_question q = {key.graph, key.kernel, &size, 1, NULL, NULL};
    assert_int_equal(range_look_up(t, &q, &e), LOOKUP_MISS);
    ok(range_table_load(f->arena, f->store, &key, &t, &f->d));
    assert_int_equal(range_look_up(t, &q, &e), LOOKUP_RANGE);
}

static struct store_uses uses_of(struct fixture *f, int64_t id) {
    struct store_uses u;
    ok(store_get_uses(f->store, id, &u, &f->d));
    return u;
}

static void test_uses(void **state) {
    struct fixture *f = *state;
    put(f, range(f->arena, "256 <= s0 && s0 <= 512", "x=1", SIZES(256)));
    struct range_table *t;
    struct store_entry *e;
    const struct range_entry *found;
    int n;
    ok(store_entries(f->store, &e, &n, &f->d));
    ok(range_table_load(f->arena, f->store, &key, &t, &f->d));
    for (int64_t size = 128; size <= 512; size += 64) { /* 2 below, 5 inside */
        struct range_question q = {key.graph, key.kernel, &size, 1, NULL, NULL};
        range_look_up(t, &q, &found);
        q.kernel = "other";
        range_look_up(t, &q, &found);
    }
    assert_int_equal(uses_of(f, e->id).hits, 0);
    for (int twice = 0; twice < 2; twice++) { /* what was kept is not counted again */
        ok(range_table_keep(t, f->store, &f->d));
        assert_int_equal(uses_of(f, e->id).hits, 5);
        assert_int_equal(uses_of(f, e->id).nearest, 2);
        assert_int_equal(uses_of(f, 0).misses, 7);
    }
    range_count_miss(t);
    ok(range_table_keep(t, f->store, &f->d));
    assert_int_equal(uses_of(f, 0).misses, 8);
    assert_int_equal(uses_of(f, 0).hits, 5);
    /* An entry that is gone meanwhile takes no count, and is no failure. */
    int64_t size = 256;
    struct range_question q = {key.graph, key.kernel, &size, 1, NULL, NULL};
    range_look_up(t, &q, &found);
    bool removed;
    ok(store_remove(f->store, e->id, &removed, &f->d));
    ok(range_table_keep(t, f->store, &f->d));
    assert_int_equal(uses_of(f, 0).hits, 0);
}

static struct store *open_other(struct fixture *f, const char *name) {
    struct store *s;
    const char *note;
    ok(store_open(arena_printf(f->arena, "%s/%s", f->folder, name), f->arena, &f->d, &s, &note));
    return s;
}

static void test_travel(void **state) {
    struct fixture *f = *state;
    const char *file = arena_printf(f->arena, "%s/exported.db", f->folder);
    struct store *mine = f->store, *other = open_other(f, "other.db");
    struct store_range r = range(f->arena, "256 <= s0", "x=1", SIZES(256, 512));
    r.winner.created = 1700000000;
    put(f, r);
    int n;
    ok(store_export(mine, file, &n, &f->d));
    assert_int_equal(n, 1);
    for (int twice = 0; twice < 2; twice++) {
        ok(store_import(other, file, &n, &f->d));
        assert_int_equal(n, twice ? 0 : 1);
        struct store_entry *e;
        int n_entries;
        ok(store_entries(other, &e, &n_entries, &f->d));
        assert_int_equal(n_entries, 1);
        assert_int_equal(e->n_rungs, 2);
        assert_int_equal(e->rungs[1].size, 512);
        assert_string_equal(e->winner.text_hash, "00000000000000ee");
    }
    /* Newer on the other side: it stays, with its own rungs. */
    struct store_range newer = range(f->arena, "256 <= s0", "x=2", SIZES(300));
    newer.winner.created = 1700000001;
    f->store = other;
    put(f, newer);
    f->store = mine;
    ok(store_import(other, file, &n, &f->d));
    struct store_entry *e;
    ok(store_entries(other, &e, &n, &f->d));
    assert_string_equal(e->winner.config, "x=2");
    assert_int_equal(e->n_rungs, 1);
    assert_int_equal(e->rungs[0].size, 300);
    /* And back: the newer one replaces mine, rungs included. */
    ok(store_export(other, file, &n, &f->d));
    ok(store_import(mine, file, &n, &f->d));
    ok(store_entries(mine, &e, &n, &f->d));
    assert_string_equal(e->winner.config, "x=2");
    assert_int_equal(e->n_rungs, 1);
    store_close(other);
}

/* ---- other sizes ----------------------------------------------------------------------------- */

/* The config that won a kernel of such a graph. */
static void put_size(struct fixture *f, const char *hash, const char *kernel_name, const char *text,
                     const char *config) {
    struct store_key k = key;
    struct store_graph g = graph;
    struct store_winner w = range(f->arena, "", config, SIZES(1)).winner;
    k.graph = hash;
    k.kernel = arena_printf(f->arena, "%s of %s", kernel_name, hash);
    g.text = text;
    w.kernel_name = kernel_name;
    ok(store_put_winner(f->store, &k, &g, &w, &f->d));
}

/* What is near a graph of that text, nearest first. */
static const char *near(struct fixture *f, struct store_key k, struct store_graph g,
                        const char *text) {
    struct buf b = buf_new(f->arena);
    struct store_near *found;
    int n;
    g.text = text;
    ok(store_nearest(f->store, &k, &g, &found, &n, &f->d));
    for (int i = 0; i < n; i++)
        buf_printf(&b, "%s%s %s", i ? ", " : "", found[i].kernel_name, found[i].config);
    return n ? b.p : "";
}

#define GRAPH(type, rows, columns, dim)                                                            \
    "Op Count: 1\n\nGraph:\n%x_1: " type "[" #rows ", " #columns "] = softmax(" #dim ")\n"         \
    "\nKernels: 1\n  k  moves " #rows " MB, hash " #rows "abc" #columns "\n"

static void test_nearest(void **state) {
    struct fixture *f = *state;
    struct store_key k = key;
    assert_string_equal(near(f, key, graph, GRAPH("f32", 16, 200, 1)), "");
    put_size(f, "far", "k", GRAPH("f32", 16, 1000, 1), "x=1");
    put_size(f, "near", "k", GRAPH("f32", 16, 256, 1), "x=2");
    put_size(f, "near", "k_2", GRAPH("f32", 16, 256, 1), "x=3");
    put_size(f, "type", "k", GRAPH("f64", 16, 200, 1), "x=4");
    put_size(f, key.graph, "k", GRAPH("f32", 16, 200, 1), "x=5");
    put(f, range(f->arena, "256 <= s0", "x=6", SIZES(256)));
    put_size(f, "both", "k", GRAPH("f32", 20, 160, 1), "x=7");
    /* By ratios, of all sizes; what won at these very sizes is not other sizes' winner. */
    assert_string_equal(near(f, key, graph, GRAPH("f32", 16, 200, 1)),
                        "k x=2, k_2 x=3, k x=7, k x=1");
    assert_string_equal(near(f, key, graph, GRAPH("f32", 16, 501, 1)),
                        "k x=2, k_2 x=3, k x=1, k x=7");
    assert_string_equal(near(f, key, graph, GRAPH("f32", 16, 510, 1)),
                        "k x=1, k x=2, k_2 x=3, k x=7");
    /* Fractions are no sizes; names that hold digits are no numbers. */
    put_size(f, "scale", "k", GRAPH("f16", 16, 64, 0.125), "x=8");
    put_size(f, "scale 2", "k", GRAPH("f16", 16, 128, 0.5), "x=9");
    assert_string_equal(near(f, key, graph, GRAPH("f16", 16, 65, 0.5)), "k x=8, k x=9");
    assert_string_equal(near(f, key, graph, "Graph:\n%x_2: f16[16, 65] = softmax(0.5)\n"), "");
    assert_string_equal(near(f, key, graph, GRAPH("f16", 16, 65, s0)), "");
    /* Of equals the newest. */
    put_size(f, "new", "k", GRAPH("f32", 16, 256, 1), "x=10");
    assert_string_equal(near(f, key, graph, GRAPH("f32", 16, 256, 1)),
                        "k x=10, k x=2, k_2 x=3, k x=7, k x=1");
    /* Nothing of another driver, workload or mode. */
    struct store_graph other = graph;
    k.driver = "580.2";
    assert_string_equal(near(f, k, graph, GRAPH("f16", 16, 65, 0.5)), "");
    other.workload = "gelu";
    assert_string_equal(near(f, key, other, GRAPH("f16", 16, 65, 0.5)), "");
    other = graph;
    other.mode = "bwd";
    assert_string_equal(near(f, key, other, GRAPH("f16", 16, 65, 0.5)), "");
}

/* ---- files from before ----------------------------------------------------------------------- */

static int64_t pragma(struct fixture *f, const char *path, const char *text) {
    struct sql *db = sql_open(path, false, f->arena);
    struct query q = sql_query(db, text);
    int64_t v = query_int(&q);
    assert_int_equal(sql_fault(db), SQL_FINE);
    sql_close(db);
    return v;
}

/* What older versions of the store were: without hashes of texts and with a number of their
 * generator in all keys, the first without the tables of ranges. */
static void make_old(struct fixture *f, const char *path, int version) {
    static const char *const hashed[] = {"winners", "programs", "trials"};
    struct sql *db = sql_open(path, false, f->arena);
    for (int i = 0; i < 3; i++)
        sql_run(db, arena_printf(f->arena, "ALTER TABLE %s DROP COLUMN text_hash", hashed[i]));
    sql_run(db, "UPDATE keys SET generator = '68'");
    if (version < 2) sql_run(db, "DROP TABLE rungs");
    if (version < 2) sql_run(db, "DROP TABLE uses");
    sql_run(db, arena_printf(f->arena, "PRAGMA user_version = %d", version));
    if (sql_fault(db) != SQL_FINE) fail_msg("%s", sql_message(db));
    sql_close(db);
}

static void put_point(struct fixture *f, struct store *s) {
    struct store_winner w = range(f->arena, "", "x=9", SIZES(1)).winner;
    struct store_trial t = {.config = "x=9",
                            .status = STATUS_ok,
                            .us = times(8),
                            .run_id = "r1",
                            .text_hash = "00000000000000ee"};
    ok(store_add_trial(s, &key, &graph, &t, &f->d));
    ok(store_put_winner(s, &key, &graph, &w, &f->d));
    ok(store_put_fact(s, "copy_gbps", 4290, &f->d));
}

static void expect_point(struct fixture *f, struct store *s) {
    struct store_winner w;
    struct store_trial *t;
    bool found;
    int n;
    ok(store_lookup(s, &key, &w, &found, NULL, &f->d));
    assert_true(found);
    assert_string_equal(w.config, "x=9");
    ok(store_trials(s, &key, &t, &n, &f->d));
    assert_int_equal(n, 1);
    assert_true(t->us.median == 8);
}

/* Of no text, so stale: what it holds can be tried first, and no more. */
static void expect_no_hash(struct fixture *f, struct store *s) {
    struct store_winner w;
    struct store_trial *t;
    bool found;
    int n;
    ok(store_lookup(s, &key, &w, &found, NULL, &f->d));
    ok(store_trials(s, &key, &t, &n, &f->d));
    assert_string_equal(w.text_hash, "");
    assert_string_equal(t->text_hash, "");
}

static void test_old_file_is_brought_up(void **state) {
    struct fixture *f = *state;
    for (int version = 1; version <= 2; version++) {
        const char *name = arena_printf(f->arena, "old%d.db", version);
        const char *path = arena_printf(f->arena, "%s/%s", f->folder, name);
        struct store *s = open_other(f, name);
        put_point(f, s);
        store_close(s);
        make_old(f, path, version);
        for (int twice = 0; twice < 2; twice++) {
            s = open_other(f, name);
            expect_point(f, s);
            expect_no_hash(f, s);
            double gbps;
            bool found;
            ok(store_get_fact(s, "copy_gbps", &gbps, &found, &f->d));
            assert_true(found && gbps == 4290);
            struct store_range r = range(f->arena, "256 <= s0", "x=1", SIZES(256));
            ok(store_put_ranges(s, &key, &graph, &r, 1, &f->d));
            store_close(s);
            assert_int_equal(pragma(f, path, "PRAGMA user_version"), 3);
        }
    }
}

/* Of what was stored under several of the generator's numbers, the newest winner is taken over; the
 * others stay, and are listed. */
static void test_old_numbers(void **state) {
    struct fixture *f = *state;
    const char *path = arena_printf(f->arena, "%s/old.db", f->folder);
    struct store *s = open_other(f, "old.db");
    struct store_entry *e;
    int n;
    put_point(f, s);
    store_close(s);
    make_old(f, path, 2);
    struct sql *db = sql_open(path, false, f->arena);
    for (int i = 67; i < 70; i += 2) { /* 67 with a winner, 69 cut short */
        sql_run(db, arena_printf(f->arena,
                                 "INSERT INTO keys SELECT NULL, graph, kernel, guard, device, "
                                 "driver, toolchain, '%d' FROM keys WHERE generator = '68'",
                                 i));
        if (i == 67)
            sql_run(db, "INSERT INTO winners SELECT 2, kernel_name, arch, 'x=8', " /* same as 68 */
                        "winner_n, winner_median_us, winner_q1_us, winner_q3_us, winner_min_us, "
                        "winner_lo_us, winner_hi_us, default_us, tried, tied, timer, clock_mhz, "
                        "temp_c, throttle, run_id, created FROM winners");
    }
    sql_run(db, "UPDATE keys SET generator = '66' WHERE generator = '68'");
    if (sql_fault(db) != SQL_FINE) fail_msg("%s", sql_message(db));
    sql_close(db);
    s = open_other(f, "old.db");
    struct store_winner w;
    bool found;
    ok(store_lookup(s, &key, &w, &found, NULL, &f->d));
    assert_true(found);
    assert_string_equal(w.config, "x=8");
    ok(store_entries(s, &e, &n, &f->d));
    assert_int_equal(n, 3);
    assert_string_equal(e[0].winner.config, "x=9");
    store_close(s);
}

/* An exported file is read as it is: it may be somebody else's. What is known here by now is worth
 * more than what has no hash. */
static void test_old_export_is_read(void **state) {
    struct fixture *f = *state;
    for (int version = 1; version <= 2; version++) {
        const char *file = arena_printf(f->arena, "%s/old%d.db", f->folder, version);
        struct store *here = open_other(f, arena_printf(f->arena, "here%d.db", version));
        struct store *s = open_other(f, arena_printf(f->arena, "from%d.db", version));
        int n, more;
        put_point(f, s);
        ok(store_export(s, file, &n, &f->d));
        store_close(s);
        make_old(f, file, version);
        ok(store_import(here, file, &n, &f->d));
        assert_int_equal(n, 1);
        expect_point(f, here);
        expect_no_hash(f, here);
        struct store_winner w = range(f->arena, "", "x=9", SIZES(1)).winner;
        w.text_hash = "cc";
        w.created = 1700000000; /* before what is in the file */
        ok(store_put_winner(here, &key, &graph, &w, &f->d));
        ok(store_import(here, file, &more, &f->d));
        bool found;
        ok(store_lookup(here, &key, &w, &found, NULL, &f->d));
        assert_string_equal(w.text_hash, "cc");
        store_close(here);
        assert_int_equal(pragma(f, file, "PRAGMA user_version"), version);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_covered_ranges_go),
        TEST(test_reasons),
        TEST(test_uses),
        TEST(test_travel),
        TEST(test_nearest),
        TEST(test_old_file_is_brought_up),
        TEST(test_old_numbers),
        TEST(test_old_export_is_read),
    };
    return cmocka_run_group_tests_name("tuner store ranges", tests, NULL, NULL);
}

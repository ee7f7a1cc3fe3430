/* test_tuner_ladder.c: ladders and their ranges: conditions on sizes as text and decided, which
 * rungs are merged under which config, what a guard claims between and beyond them, and lookups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/ladder.h"
#include "tuner/range_table.h"
#include "tuner/sweep.h"

/* ---- conditions ------------------------------------------------------------------------------ */

static void test_guard_text(void **state) {
    static const char *const texts[] = {
        "",
        "256 <= s0",
        "256 <= s0 && s0 < 4096 && s0 % 8 == 0",
        "2 <= s1 && s1 <= 64 && s0 == 7",
        "s63 % 2 == 0",
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct guard_range g;
        struct buf b = buf_new(a);
        assert_true(guard_range_parse(texts[i], &g));
        guard_range_print(&b, &g, NULL);
        assert_string_equal(b.n ? b.p : "", texts[i]);
    }
    const char *names[] = {"dim"};
    struct guard_range g;
    struct buf b = buf_new(a);
    assert_true(guard_range_parse("  8<=s0&&s0 %  8==0 ", &g));
    guard_range_print(&b, &g, names);
    assert_string_equal(b.p, "8 <= dim && dim % 8 == 0");
    arena_free(a);
}

static void test_bad_guards(void **state) {
    static const char *const texts[] = {
        "rows == 4096",
        "s0",
        "s0 <",
        "256 < s0",
        "s0 % 8 == 1",
        "s0 % 0 == 0",
        "s64 == 1",
        "s0 == 1 s0 == 1",
        "&& s0 == 1",
        "s0 == 1 &&",
        "s0 == 1 || s0",
        "s0 == -1",
        "s == 1",
        "s0 >= 4",
        "s0 == 99999999999999999999",
        "s0 < 9 && s1 < 9 && s2 < 9 && s3 < 9 && s4 < 9 && s5 < 9 && s6 < 9"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct guard_range g;
        if (guard_range_parse(texts[i], &g)) fail_msg("'%s' was read", texts[i]);
    }
}

static bool holds(const char *text, int64_t s0, int64_t s1) {
    struct guard_range g;
    int64_t sizes[] = {s0, s1};
    assert_true(guard_range_parse(text, &g));
    return guard_range_holds(&g, sizes, 2);
}

static void test_decisions(void **state) {
    const char *text = "256 <= s0 && s0 < 4096 && s0 % 8 == 0";
    assert_true(holds(text, 256, 1));
    assert_true(holds(text, 4088, 1));
    assert_false(holds(text, 255, 1));
    assert_false(holds(text, 248, 1));
    assert_false(holds(text, 4096, 1));
    assert_false(holds(text, 257, 1));
    assert_true(holds("s1 <= 64 && s0 == 3", 3, 64));
    assert_false(holds("s1 <= 64 && s0 == 3", 3, 65));
    assert_false(holds("s1 <= 64 && s0 == 3", 4, 64));
    assert_false(holds("2 <= s2", 9, 9)); /* there is no s2 */
    assert_true(holds("", 0, 0));

    struct guard_range g;
    int64_t least, most, size = 2 * 4095;
    assert_true(guard_range_parse(text, &g));
    guard_range_bounds(&g, 0, &least, &most);
    assert_int_equal(least, 256);
    assert_int_equal(most, 4095);
    assert_true(guard_range_distance(&g, &size, 1) == 2);
    size = 64;
    assert_true(guard_range_distance(&g, &size, 1) == 4);
    size = 301; /* inside, if no multiple */
    assert_true(guard_range_distance(&g, &size, 1) == 1);
}

/* ---- rungs ----------------------------------------------------------------------------------- */

static const char *rungs_of(struct arena *a, const char *value) {
    struct diag d = diag_new(a);
    struct buf b = buf_new(a);
    const char **rungs;
    int n;
    if (ladder_parse(value, a, &rungs, &n, &d) != WS_OK) return d.message;
    for (int i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? " " : "", rungs[i]);
    return b.p;
}

static void test_ladder_values(void **state) {
    struct arena *a = arena_new();
    assert_string_equal(rungs_of(a, "256:2048:*2"), "256 512 1024 2048");
    assert_string_equal(rungs_of(a, "3:100:*3"), "3 9 27 81");
    assert_string_equal(rungs_of(a, "64:256:+64"), "64 128 192 256");
    assert_string_equal(rungs_of(a, "5:5:+1"), "5");
    assert_non_null(strstr(rungs_of(a, "9223372036854775000:9223372036854775807:*2"), "775000"));
    assert_non_null(strstr(rungs_of(a, "8:4:*2"), "holds no size"));
    assert_non_null(strstr(rungs_of(a, "4:8:*1"), "FIRST:LAST"));
    assert_non_null(strstr(rungs_of(a, "4:8:+0"), "FIRST:LAST"));
    assert_non_null(strstr(rungs_of(a, "0:8:*2"), "FIRST:LAST"));
    assert_non_null(strstr(rungs_of(a, "1:100000:+1"), "more than 1000"));
    assert_true(ladder_is("1:2:*2"));
    static const char *const others[] = {"1:2", "1:2:2", "a:b:*2", "1:2:*", "1:2:*2x", "", "4096"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(ladder_is(others[i]));
    arena_free(a);
}

static void test_ladder_in_a_sweep(void **state) {
    struct arena *a = arena_new();
    struct diag d = diag_new(a);
    const char *given[] = {"rows=4,8", "dim=64:256:*2", "x=1,2"};
    struct sweep s;
    assert_int_equal(sweep_parse(&(struct texts){given, 3}, a, &s, &d), WS_OK);
    assert_int_equal(s.n_points, 12);
    assert_int_equal(s.ladder, 1);
    assert_int_equal(sweep_ladder_stride(&s), 2);
    for (int i = 0; i < s.n_points; i++) {
        struct ws_axis *p = sweep_point(&s, i, a);
        static const char *const dims[] = {"64", "128", "256"};
        assert_string_equal(p[1].value, dims[sweep_rung(&s, i)]);
    }
    const char *two[] = {"rows=4:8:*2", "dim=64:256:*2"};
    assert_int_equal(sweep_parse(&(struct texts){two, 2}, a, &s, &d), WS_USAGE);
    const char *mixed[] = {"rows=4:8:*2,16"};
    d = diag_new(a);
    assert_int_equal(sweep_parse(&(struct texts){mixed, 1}, a, &s, &d), WS_USAGE);
    arena_free(a);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* "A B" is a rung that A won and B ties at. */
static struct rung *make_rungs(struct arena *a, const char *const *candidates, int n) {
    struct rung *out = NEW_ARRAY(a, struct rung, n);
    for (int i = 0; i < n; i++) {
        const char **at = NEW_ARRAY(a, const char *, 8);
        out[i] = (struct rung){(int64_t)256 << i, at, 0};
        for (char *w = strtok(arena_strdup(a, candidates[i]), " "); w; w = strtok(NULL, " "))
            at[out[i].n++] = w;
    }
    return out;
}

static const char *merged(struct arena *a, const char *const *candidates, int n) {
    struct buf b = buf_new(a);
    int n_ranges;
    struct rung_range *r = ladder_merge(make_rungs(a, candidates, n), n, a, &n_ranges);
    for (int i = 0; i < n_ranges; i++)
        buf_printf(&b, "%s%d..%d %s", i ? ", " : "", r[i].from, r[i].to, r[i].config);
    return b.p;
}
#define MERGED(...)                                                                                \
    merged(a, (const char *const[]){__VA_ARGS__},                                                  \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void test_merging(void **state) {
    struct arena *a = arena_new();
    assert_string_equal(MERGED("A"), "0..0 A");
    assert_string_equal(MERGED("A", "A", "A"), "0..2 A");
    assert_string_equal(MERGED("A", "B"), "0..0 A, 1..1 B");
    /* A tie is as good as a victory. */
    assert_string_equal(MERGED("A", "B A", "A"), "0..2 A");
    assert_string_equal(MERGED("A", "A", "B", "B"), "0..1 A, 2..3 B");
    /* The range of a config ends where it is no longer acceptable, however the rungs go on. */
    assert_string_equal(MERGED("A B", "B A", "C", "A"), "0..1 A, 2..2 C, 3..3 A");
    /* Who won more rungs of the range, whoever won the first. */
    assert_string_equal(MERGED("A B", "B A", "B A"), "0..2 B");
    /* Nobody may win everywhere: all that counts is to be acceptable. */
    assert_string_equal(MERGED("A C", "B C"), "0..1 C");
    /* As many rungs as have one in common, from the left. */
    assert_string_equal(MERGED("A B", "B", "B C", "C"), "0..2 B, 3..3 C");
    arena_free(a);
}

/* ---- guards ---------------------------------------------------------------------------------- */

/* A rule by hand: "A4@200-1000" wants multiples of 4, and is legal from 200 to 1000. */
static int64_t rule_step(void *ctx, const struct rung_range *r, int64_t most) {
    (void)ctx;
    int64_t want = atoll(r->config + 1);
    return want < most ? want : most;
}

static bool rule_legal(void *ctx, const struct rung_range *r, int64_t step, int64_t size) {
    (void)ctx;
    assert_int_equal(size % step, 0);
    const char *from = strchr(r->config, '@') + 1;
    return size >= atoll(from) && size <= atoll(strchr(from, '-') + 1);
}

static const char *guards(struct arena *a, const char *const *winners, int n) {
    static const struct ladder_rules rules = {NULL, rule_step, rule_legal};
    struct rung *rungs = make_rungs(a, winners, n);
    struct buf b = buf_new(a);
    int n_ranges;
    struct rung_range *r = ladder_merge(rungs, n, a, &n_ranges);
    struct guard_range *g = ladder_guards(rungs, r, n_ranges, &rules, a);
    for (int i = 0; i < n_ranges; i++) {
        if (i) buf_puts(&b, "; ");
        guard_range_print(&b, &g[i], NULL);
    }
    return b.p;
}
#define GUARDS(...)                                                                                \
    guards(a, (const char *const[]){__VA_ARGS__},                                                  \
           (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

/* Rungs are 256, 512, 1024, 2048. */
static void test_guards(void **state) {
    struct arena *a = arena_new();
    /* Nothing is claimed beyond the ends. */
    assert_string_equal(GUARDS("A1@1-9999"), "s0 == 256");
    assert_string_equal(GUARDS("A1@1-9999", "A1@1-9999"), "256 <= s0 && s0 <= 512");
    assert_string_equal(GUARDS("A8@1-9999", "A8@1-9999"), "256 <= s0 && s0 <= 512 && s0 % 8 == 0");
    /* Between two winners the lower one holds where it is legal. */
    assert_string_equal(GUARDS("A1@1-9999", "B4@1-9999", "B4@1-9999"),
                        "256 <= s0 && s0 < 512; 512 <= s0 && s0 <= 1024 && s0 % 4 == 0");
    /* Else the upper one: a row that is kept in registers must fit. */
    assert_string_equal(GUARDS("A1@1-256", "B4@1-512", "C4@1-1024"),
                        "s0 == 256; 257 <= s0 && s0 <= 512 && s0 % 4 == 0; "
                        "513 <= s0 && s0 <= 1024 && s0 % 4 == 0");
    /* Else each as far as it is. */
    assert_string_equal(GUARDS("A1@1-256", "B1@512-600"), "s0 == 256; s0 == 512");
    assert_string_equal(GUARDS("A1@1-300", "B4@401-600"),
                        "256 <= s0 && s0 <= 300; 404 <= s0 && s0 <= 512 && s0 % 4 == 0");
    assert_string_equal(GUARDS("A8@1-510", "B64@257-600"),
                        "256 <= s0 && s0 < 512 && s0 % 8 == 0; s0 == 512");
    arena_free(a);
}

/* No step that a rung is no multiple of. */
static void test_steps(void **state) {
    static const struct ladder_rules rules = {NULL, rule_step, rule_legal};
    static const char *const winner[] = {"A16@1-9999"};
    struct arena *a = arena_new();
    struct rung rungs[] = {{96, winner, 1}, {100, winner, 1}};
    int n;
    struct rung_range *r = ladder_merge(rungs, 2, a, &n);
    struct guard_range *g = ladder_guards(rungs, r, n, &rules, a);
    struct buf b = buf_new(a);
    guard_range_print(&b, g, NULL);
    assert_string_equal(b.p, "96 <= s0 && s0 <= 100 && s0 % 4 == 0");
    arena_free(a);
}

/* ---- lookups --------------------------------------------------------------------------------- */

static const struct store_config known[] = {
    {7, "g", "k", "4096 <= s0 && s0 <= 8192 && s0 % 8 == 0", "x=3", "", 0},
    {6, "g", "k", "256 <= s0 && s0 < 4096 && s0 % 8 == 0", "x=2", "", 0},
    {5, "g", "k", "256 <= s0 && s0 < 1024", "x=1", "", 0}, /* older */
    {4, "g", "other", "2 <= s0", "x=9", "", 0},
    {3, "p", "k", "", "x=4", "", 0},
    {2, "p", "odd", "rows == 3", "x=4", "", 0},
    {1, "p", "new", "", "tomorrow=4", "", 0},
};

static enum range_verdict no_two(void *ctx, const struct range_entry *e) {
    int *asked = ctx;
    ++*asked;
    return e->config.knob[KNOB_x] == 2 ? RANGE_STALE : RANGE_USABLE;
}

static enum lookup ask(struct range_table *t, const char *graph, const char *kernel, int64_t size,
                       int *asked, int *x) {
    const struct range_entry *e;
    struct range_question q = {graph, kernel, &size, 1, asked ? no_two : NULL, asked};
    enum lookup l = range_look_up(t, &q, &e);
    assert_true((e == NULL) == (l == LOOKUP_MISS));
    *x = e ? e->config.knob[KNOB_x] : 0;
    return l;
}

static void test_lookups(void **state) {
    struct arena *a = arena_new();
    struct range_table *t = range_table_new(a, known, sizeof known / sizeof *known);
    int x, asked = 0;
    assert_int_equal(ask(t, "g", "k", 512, NULL, &x), LOOKUP_RANGE);
    assert_int_equal(x, 2); /* the newer of the two that hold */
    assert_int_equal(ask(t, "g", "k", 513, NULL, &x), LOOKUP_RANGE);
    assert_int_equal(x, 1);
    assert_int_equal(ask(t, "g", "k", 8192, NULL, &x), LOOKUP_RANGE);
    assert_int_equal(x, 3);
    assert_int_equal(ask(t, "p", "k", 512, NULL, &x), LOOKUP_POINT);
    assert_int_equal(x, 4);
    /* Outside of all, or between the multiples: the nearest. */
    assert_int_equal(ask(t, "g", "k", 100000, NULL, &x), LOOKUP_NEAREST);
    assert_int_equal(x, 3);
    assert_int_equal(ask(t, "g", "k", 5001, NULL, &x), LOOKUP_NEAREST);
    assert_int_equal(x, 3);
    assert_int_equal(ask(t, "g", "k", 16, NULL, &x), LOOKUP_NEAREST);
    assert_int_equal(x, 2);
    /* What is stale is no hit: another range, or the next nearest. */
    assert_int_equal(ask(t, "g", "k", 512, &asked, &x), LOOKUP_RANGE);
    assert_int_equal(x, 1);
    assert_int_equal(ask(t, "g", "k", 2048, &asked, &x), LOOKUP_NEAREST);
    assert_true(x == 1 || x == 3);
    assert_int_equal(ask(t, "g", "k", 16, &asked, &x), LOOKUP_NEAREST);
    assert_int_equal(x, 1);
    /* Nothing is known of another graph, nor of what this version cannot read. */
    assert_int_equal(ask(t, "h", "k", 512, NULL, &x), LOOKUP_MISS);
    assert_int_equal(ask(t, "g", "z", 512, NULL, &x), LOOKUP_MISS);
    assert_int_equal(ask(t, "p", "odd", 512, NULL, &x), LOOKUP_MISS);
    assert_int_equal(ask(t, "p", "new", 512, NULL, &x), LOOKUP_MISS);

    struct range_counts c = range_counts(t);
    assert_int_equal(c.n[LOOKUP_POINT], 1);
    assert_int_equal(c.n[LOOKUP_RANGE], 4);
    assert_int_equal(c.n[LOOKUP_NEAREST], 5);
    assert_int_equal(c.n[LOOKUP_MISS], 4);
    assert_int_equal(c.stale, 3);
    assert_non_null(strstr(range_counts_text(t, a),
                           "4 in a tuned range, 5 from the nearest sizes, 4 not known, 3 of these "
                           "passed over stale ones, "));
    arena_free(a);
}

static enum range_verdict never(void *ctx, const struct range_entry *e) {
    return (void)ctx, (void)e, RANGE_ILLEGAL;
}

static void test_nothing_is_legal(void **state) {
    struct arena *a = arena_new();
    struct range_table *t = range_table_new(a, known, sizeof known / sizeof *known);
    const struct range_entry *e;
    int64_t size = 512;
    struct range_question q = {"g", "k", &size, 1, never, NULL};
    assert_int_equal(range_look_up(t, &q, &e), LOOKUP_MISS);
    assert_null(e);
    assert_int_equal(range_counts(t).stale, 0);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guard_text),
        cmocka_unit_test(test_bad_guards),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_ladder_values),
        cmocka_unit_test(test_ladder_in_a_sweep),
        cmocka_unit_test(test_merging),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_nothing_is_legal),
    };
    return cmocka_run_group_tests_name("tuner ladder", tests, NULL, NULL);
}

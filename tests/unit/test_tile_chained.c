/* test_tile_chained.c: programs of chained products: their numbers as the interpreter has them,
 * with everything late and at once; and each instruction left out, or put behind its neighbour,
 * which is found. */
#include <math.h>

#include "tile_test.h"

static const char softmax[] =
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24])"
    " {\n %s = bmm(%q, %k)\n %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n"
    " return %o\n}\n";
static const char plain[] =
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24]) {\n"
    " %s = bmm(%q, %k)\n %p = relu(%s)\n %o = bmm(%p, %v)\n return %o\n}\n";
/* Rows that one warp has. */
static const char few[] = "graph(%q: bf16[2, 9, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24])"
                          " {\n %s = bmm(%q, %k)\n %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n"
                          " return %o\n}\n";
/* More tiles than an H200 has multiprocessors: of c's tiles that lag, of those that are b's, and of
 * twins. */
static const char many[] = "graph(%q: bf16[133, 9, 8], %k: bf16[133, 8, 24], %v: bf16[133, 24, 8])"
                           " {\n %s = bmm(%q, %k)\n %p = softmax(%s, -1)\n %o = bmm(%p, %v)\n"
                           " return %o\n}\n",
                  many_shared[] = "graph(%q: bf16[133, 9, 8], %k: bf16[133, 24, 8]) {\n"
                                  " %y = permute(%k, [0, 2, 1])\n %s = bmm(%q, %y)\n"
                                  " %p = relu(%s)\n %o = bmm(%p, %k)\n return %o\n}\n",
                  many_twins[] =
                      "graph(%q: bf16[133, 9, 8], %k: bf16[133, 24, 8], %g: bf16[133, 9, 8], "
                      "%h: bf16[133, 24, 8], %w: bf16[133, 24, 8]) {\n"
                      " %y = permute(%k, [0, 2, 1])\n %u = permute(%h, [0, 2, 1])\n"
                      " %s = bmm(%q, %y)\n %t = bmm(%g, %u)\n %p = mul(%s, %t)\n"
                      " %o = bmm(%p, %k)\n %d = mul(%p, 0.5)\n %e = bmm(%d, %w)\n"
                      " return %o, %e\n}\n";
static const char many_early[] =
    "graph(%q: bf16[133, 9, 8], %k: bf16[133, 24, 8], %g: bf16[133, 9, 8], %h: bf16[133, 24, 8], "
    "%w: bf16[133, 24, 8]) {\n %y = permute(%k, [0, 2, 1])\n %u = permute(%h, [0, 2, 1])\n"
    " %s = bmm(%q, %y)\n %t = bmm(%g, %u)\n %r = relu(%s)\n %p = mul(%r, %t)\n"
    " %o = bmm(%p, %k)\n %e = bmm(%r, %w)\n return %o, %e\n}\n";
/* Terms of two products. */
static const char both[] =
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24], %g: bf16[2, 100, 40], "
    "%u: bf16[2, 40, 88]) {\n %s = bmm(%q, %k)\n %t = bmm(%g, %u)\n %p = mul(%s, %t)\n"
    " %o = bmm(%p, %v)\n return %o\n}\n";
/* Two second products: c of the one is b of a first product, which is as deep as that has columns,
 * and is copied once; the other's is its own. */
static const char twins[] =
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 88, 40], %g: bf16[2, 100, 40], %h: bf16[2, 88, 40], "
    "%w: bf16[2, 88, 40]) {\n %y = permute(%k, [0, 2, 1])\n %u = permute(%h, [0, 2, 1])\n"
    " %s = bmm(%q, %y)\n %t = bmm(%g, %u)\n %p = mul(%s, %t)\n %o = bmm(%p, %k)\n"
    " %d = mul(%p, 0.5)\n %e = bmm(%d, %w)\n return %o, %e\n}\n";
/* Terms that stand on the first product alone up to a point, which is one left factor of twins, or
 * the other one; and of one second product, of whose tiles c's is b's, or lags. */
#define APART(behind)                                                                              \
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 88, 40], %g: bf16[2, 100, 40], %h: bf16[2, 88, 40], " \
    "%w: bf16[2, 88, 40]) {\n %y = permute(%k, [0, 2, 1])\n %u = permute(%h, [0, 2, 1])\n"         \
    " %s = bmm(%q, %y)\n %t = bmm(%g, %u)\n %r = relu(%s)\n %p = mul(%r, %t)\n" behind
static const char early_twin[] = APART(" %e = bmm(%r, %w)\n %o = bmm(%p, %k)\n return %e, %o\n}\n"),
                  early_second[] =
                      APART(" %e = bmm(%p, %w)\n %o = bmm(%r, %k)\n return %e, %o\n}\n"),
                  none_early[] = APART(" %d = mul(%p, %r)\n %e = bmm(%p, %w)\n %o = bmm(%d, %k)\n"
                                       " return %e, %o\n}\n"),
                  alone[] = APART(" %o = bmm(%p, %k)\n return %o\n}\n"),
                  alone_lags[] = APART(" %o = bmm(%p, %w)\n return %o\n}\n");
static const char *const one_by_one[] = {early_twin, early_second, none_early, alone, alone_lags};
static const int early_product[] = {2, 1, 0, 0, 0};
enum { N_ONE_BY_ONE = sizeof one_by_one / sizeof *one_by_one };
/* Data hide tiles of these: steps go along those that a list has. */
#define HIDING(behind)                                                                             \
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24], %i: i64[100], "         \
    "%j: i64[88]) {\n %r = unsqueeze(%i, -1)\n %m = eq(%r, %j)\n %s = bmm(%q, %k)\n" behind        \
    " %o = bmm(%p, %v)\n return %o\n}\n"
static const char hiding[] = HIDING(" %x = where(%m, %s, -inf)\n %p = softmax(%x, -1)\n"),
                  hiding_terms[] = HIDING(" %x = relu(%s)\n %p = where(%m, %x, 0.)\n");
static const char by_groups[] = "mma=1 m=128 n=16 stages=2 warps=12",
                  in_turns[] = "mma=1 m=192 n=16 stages=2 warps=16 pingpong=1",
                  by_warps[] = "mma=2 m=32 n=32 tm=16 stages=3 warps=2",
                  /* of six tiles no part has more than two, and one has none */
    in_parts[] = "mma=2 m=32 n=16 tm=16 stages=3 warps=2 split=4",
                  by_group_in_parts[] = "mma=1 m=64 n=16 stages=2 warps=8 split=4",
                  tile_after_tile[] = "mma=1 m=128 n=16 stages=2 warps=12 blocks=1";
static const char *const configs[] = {by_groups, in_turns, by_warps, in_parts};
static const char shared_by_warps[] = "mma=2 m=16 n=32 tm=16 tn=16 stages=2 warps=2";
enum { N_CONFIGS = sizeof configs / sizeof *configs };

static const char *no_reason(struct schedule *s, uint32_t group, double *us, void *ctx) {
    (void)group, (void)ctx, *us = 1;
    return s->groups.n ? NULL : "";
}

static struct kernel *kernel_of(struct arena *a, const char *text) {
    static struct device_limits gpu;
    gpu = test_gpu("sm_90a");
    int chains;
    struct diag d = diag_new(a);
    struct graph *copies = graph_chain_copies(parse_primitive(a, text, ""), &chains);
    struct schedule *s = schedule_fuse(loops_lower(copies, a, &d), &gpu, FUSING_ALL, a);
    schedule_recompute(s, &gpu);
    schedule_order(s);
    schedule_memory(s); /* of kernels that are apart still */
    assert_true(s->pool_bytes > 0);
    schedule_chain(s, &gpu, no_reason, NULL, NULL);
    schedule_order(s);
    schedule_at_load(s, false);
    schedule_memory(s);
    assert_null(schedule_verify(s));
    uint32_t g = 0;
    double us;
    while (g < s->groups.n && !s->groups.at[g].n_between) g++;
    assert_true(g < s->groups.n);
    if (s->groups.n == 1) { /* nothing of what there was before */
        assert_int_equal(s->pool_bytes, 0);
        for (buffer_id b = 0; b < s->loops->buffers.n; b++) assert_int_equal(s->offset[b], 0);
    }
    assert_null(kernel_chain_reason(s, g, &gpu, &us, a));
    return must_build(s, g, &gpu);
}

static struct tile_program *chained_of(struct arena *a, const char *text, const char *config) {
    struct kernel *k = kernel_of(a, text);
    struct config c = parsed(a, config);
    struct layout y;
    const char *bad = kernel_layout(k, &c, &y, a);
    if (bad) fail_msg("%s: %s", config, bad);
    struct tile_program *t = tile_chained(block_build(k, &c, a), a);
    if ((bad = tile_verify(t, a))) fail_msg("%s", bad);
    return t;
}

enum { Z = 2, M = 100, R = 40, N = 88, MOST_C = 40 };

enum { FACTORS = 6 };

/* Some tiles that count, of all; of the third tile of rows none. */
static const bool *some_tiles(struct arena *a, const struct tile_program *t) {
    int across = (N + t->block->layout.br - 1) / t->block->layout.br,
        down = (M + t->block->layout.bx - 1) / t->block->layout.bx;
    bool *counts = NEW_ARRAY(a, bool, Z *down *across);
    for (int i = 0; i < Z * down * across; i++) counts[i] = i / across != 2 && i * 7 % 5 < 2;
    return counts;
}

/* Does element (m, n) lie in a tile that counts, or, where none of these rows does, in the first?
 */
static bool is_shown(const struct tile_program *t, const bool *counts, int z, int m, int n) {
    int across = (N + t->block->layout.br - 1) / t->block->layout.br,
        down = (M + t->block->layout.bx - 1) / t->block->layout.bx;
    if (!counts) return true;
    const bool *of = counts + (z * down + m / t->block->layout.bx) * across;
    bool any = false;
    for (int i = 0; i < across; i++) any |= of[i];
    return any ? of[n / t->block->layout.br] : n < t->block->layout.br;
}

/* Rows of a b^T, or of their exponentials, or of what that and d e^T make element by element, times
 * column c of `right`, which has so many; of tiles that count. Of products one by one a b^T is what
 * of it is positive, and `early` are terms of that alone. */
static double wanted(const struct tile_program *t, const bool *counts,
                     const float *const in[FACTORS], const float *right, int rows, int columns,
                     int z, int m, int c, bool relative, bool beside, bool early) {
    double x[N], max = -INFINITY, sum = 0;
    for (int n = 0; n < N; n++) {
        x[n] = 0;
        if (!is_shown(t, counts, z, m, n)) {
            x[n] = relative ? -INFINITY : 0;
            continue;
        }
        for (int r = 0; r < R; r++)
            x[n] += (double)in[0][(z * rows + m) * R + r] * in[1][(z * N + n) * R + r];
        double other = 0;
        for (int r = 0; r < R; r++)
            other += (double)in[3][(z * rows + m) * R + r] * in[4][(z * N + n) * R + r];
        if (t->block->one_by_one) x[n] = fmax(x[n], 0);
        if (beside && !early) x[n] *= other;
        max = fmax(max, x[n]);
    }
    for (int n = 0; n < N; n++)
        sum += (relative ? exp(x[n] - max) : x[n]) * right[(z * N + n) * columns + c];
    return sum;
}

static float *factors_of(struct arena *a, int n, int seed) {
    float *x = NEW_ARRAY(a, float, n);
    for (int i = 0; i < n; i++) x[i] = (float)((i * 7919 + seed * 104729) % 2003) / 1001 - 1;
    return x;
}

/* How many elements are wrong; all: it does not end. */
static int run_wrong(struct arena *a, const struct tile_program *t, bool relative, uint64_t seed) {
    const struct chained *x = t->chained;
    int columns = (int)kernel_size(t->block->kernel, AXIS_C),
        rows = (int)kernel_size(t->block->kernel, AXIS_M), all = Z * rows * columns;
    const float *in[FACTORS] = {factors_of(a, Z * M * R, 1),      factors_of(a, Z * N * R, 2),
                                factors_of(a, Z * N * MOST_C, 3), factors_of(a, Z * M * R, 4),
                                factors_of(a, Z * N * R, 5),      factors_of(a, Z * N * MOST_C, 6)};
    const float *right[MOST_SECOND] = {in[2], in[5]};
    for (int i = 0; i < x->n_second; i++)
        if (x->c[i].shared) right[i] = in[1];
    float *out = NEW_ARRAY(a, float, all *MOST_SECOND);
    int wrong = 0;
    const bool *counts = x->skips ? some_tiles(a, t) : NULL;
    if (tile_run_chained(t, in, out, relative, counts, seed, a)) return all;
    for (int i = 0; i < x->n_second * Z; i++)
        for (int m = 0; m < rows; m += rows < M ? 1 : 9)
            for (int c = 0; c < columns; c++) {
                double want =
                           wanted(t, counts, in, right[i / Z], rows, columns, i % Z, m, c, relative,
                                  x->n_first > 1, chained_early_product(t->block) == i / Z + 1) /
                           (i / Z ? 2 : 1),
                       got = out[(i * rows + m) * columns + c];
                wrong += !(fabs(got - want) <= 1e-4 * (1 + fabs(want)));
            }
    return wrong;
}

static void test_numbers(void **state) {
    (void)state;
    const char *const graphs[] = {softmax, plain, both, twins};
    for (int i = 0; i < 4 * N_CONFIGS; i++) {
        int which = i / N_CONFIGS;
        struct arena *a = arena_new();
        struct tile_program *t = chained_of(a, graphs[which], configs[i % N_CONFIGS]);
        assert_int_equal(t->chained->n_first, which >= 2 ? 2 : 1);
        assert_int_equal(t->chained->n_second, which == 3 ? 2 : 1);
        assert_int_equal(t->chained->c[0].shared + t->chained->c[1].shared, which == 3);
        for (uint64_t seed = 0; seed < 4; seed += PART)
            assert_int_equal(run_wrong(a, t, which == 0, seed), 0);
        arena_free(a);
    }
    for (int i = 0; i < 3 * N_ONE_BY_ONE; i++) {
        static const char *const of[] = {by_groups, "mma=1 m=64 n=32 stages=3 warps=8",
                                         "mma=1 m=192 n=16 stages=2 warps=16"};
        struct arena *a = arena_new();
        struct tile_program *t = chained_of(a, one_by_one[i / 3], of[i % 3]);
        assert_true(t->block->one_by_one);
        assert_int_equal(chained_early_product(t->block), early_product[i / 3]);
        for (uint64_t seed = 0; seed < 4; seed += PART)
            assert_int_equal(run_wrong(a, t, false, seed), 0);
        arena_free(a);
    }
    struct arena *a = arena_new();
    struct tile_program *t = chained_of(a, few, by_group_in_parts);
    for (uint64_t seed = 0; seed < 8; seed++) assert_int_equal(run_wrong(a, t, true, seed), 0);
    arena_free(a);
}

/* Steps go along a list of tiles, of which parts have a share each. */
static void test_skipped(void **state) {
    (void)state;
    for (int i = 0; i < 2 * N_CONFIGS; i++) {
        struct arena *a = arena_new();
        const char *config = arena_printf(a, "%s skip=1", configs[i % N_CONFIGS]);
        struct tile_program *t = chained_of(a, i < N_CONFIGS ? hiding : hiding_terms, config);
        assert_true(t->chained->skips);
        for (uint64_t seed = 0; seed < 4; seed += PART)
            assert_int_equal(run_wrong(a, t, i < N_CONFIGS, seed), 0);
        arena_free(a);
    }
}

/* A stage has the second product's tile of the step before where a step's products are begun with
 * those of the one before, and the two are no one tile; turns are of several warpgroups; and of one
 * and its copier a multiprocessor has two blocks. */
static void test_layouts(void **state) {
    (void)state;
    static const char queries[] = /* c is b, the other way round */
        "graph(%q: bf16[2, 100, 40], %k: bf16[2, 88, 40]) {\n %y = permute(%k, [0, 2, 1])\n"
        " %s = bmm(%q, %y)\n %p = relu(%s)\n %o = bmm(%p, %k)\n return %o\n}\n";
    static const struct {
        const char *graph, *config, *bad;
        bool lags;
        int resident;
    } cases[] = {
        {softmax, by_groups, NULL, true, 1},
        {both, in_turns, NULL, true, 1},
        {queries, by_groups, NULL, false, 1},
        {twins, by_groups, NULL, false, 1},
        {few, by_group_in_parts, NULL, false, 2},
        {softmax, "mma=1 m=64 n=16 stages=2 warps=8", NULL, true, 2},
        {softmax, shared_by_warps, NULL, false, 1},
        {softmax, "mma=2 m=32 n=32 tm=16 tn=16 stages=2 warps=4", "16 rows", false, 0},
        {softmax, "mma=2 m=16 n=48 tm=16 tn=32 stages=2 warps=2", "sixteens", false, 0},
        {softmax, "mma=1 m=64 n=32 tn=16 stages=2 warps=8", "no knobs of mma=1", false, 0},
        {softmax, "mma=1 m=64 n=16 stages=2 warps=8 pingpong=1", "two warpgroups", false, 0},
        {softmax, "mma=1 m=128 n=16 stages=7 warps=12 pingpong=1", "6 stages", false, 0},
        {softmax, "mma=2 m=32 n=32 tm=16 stages=3 warps=2 pingpong=1", "knob of mma=1", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct kernel *k = kernel_of(a, cases[i].graph);
        struct config c = parsed(a, cases[i].config);
        struct layout y;
        const char *bad = kernel_layout(k, &c, &y, a);
        if (!bad != !cases[i].bad || (bad && !strstr(bad, cases[i].bad)))
            fail_msg("%s: %s", cases[i].config, bad ? bad : "no reason");
        if (!bad) {
            assert_int_equal(chained_lags(&y), cases[i].lags);
            assert_int_equal(y.chained->resident, cases[i].resident);
            int copies = 0;
            const struct tile_program *t = chained_of(a, cases[i].graph, cases[i].config);
            for (uint32_t at = 0; at < t->code.n; at++)
                copies += t->code.at[at].op == TILE_COPY_BEFORE;
            assert_int_equal(copies, cases[i].lags ? 2 : 0);
        }
        arena_free(a);
    }
}

/* An instruction has a ring and a number where its text has, else none: the text tells all. */
static void test_operands(void **state) {
    (void)state;
    const char *const configs[] = {by_groups, by_warps};
    const char *const graphs[] = {softmax, plain, both, twins, early_twin, alone};
    for (int i = 0; i < 12; i++) {
        struct arena *a = arena_new();
        const struct tile_program *t = chained_of(a, graphs[i / 2], configs[i % 2]);
        for (uint32_t at = 0; at < t->code.n; at++) {
            const struct tile_inst *x = &t->code.at[at];
            struct tile_words w = tile_op_words(x->op);
            if ((x->ring && !w.ring) || (x->n && !w.counts && !w.may_count))
                fail_msg("%s: instruction %u, %s, hides ring %d, number %d", configs[i % 2], at,
                         w.text, x->ring, x->n);
        }
        arena_free(a);
    }
}

/* One instruction less, or two the other way round, is not what it was. Some orders are as good. */
static void test_planted(void **state) {
    (void)state;
    int swapped = 0, found = 0;
    const char *const graphs[] = {softmax, both, twins};
    const struct {
        const char *graph, *config;
        bool relative;
    } others[] = {{early_twin, by_groups, false},        {early_second, by_groups, false},
                  {none_early, by_groups, false},        {alone, by_groups, false},
                  {alone_lags, by_groups, false},        {many_early, tile_after_tile, false},
                  {few, by_group_in_parts, true},        {many, tile_after_tile, true},
                  {many_shared, tile_after_tile, false}, {many_twins, tile_after_tile, false}};
    enum { N_OTHERS = sizeof others / sizeof *others };
    for (int i = 0; i < 3 * N_CONFIGS + N_OTHERS; i++) {
        struct arena *a = arena_new();
        int other_one = i - 3 * N_CONFIGS;
        bool of_all = other_one < 0,
             relative = of_all ? i / N_CONFIGS == 0 : others[other_one].relative;
        const char *config = of_all ? configs[i % N_CONFIGS] : others[other_one].config,
                   *graph = of_all ? graphs[i / N_CONFIGS] : others[other_one].graph;
        struct tile_program *t = chained_of(a, graph, config);
        struct tile_program whole = *t;
        for (uint32_t at = 0; at < whole.code.n; at++) {
            if (tile_op_opens(whole.code.at[at].op) || whole.code.at[at].op == TILE_END) continue;
            struct tile_program less = whole;
            memset(&less.code, 0, sizeof less.code);
            for (uint32_t j = 0; j < whole.code.n; j++)
                if (j != at) vec_push(a, &less.code, whole.code.at[j]);
            if (!tile_verify(&less, a))
                fail_msg("%s: nobody misses instruction %u, %s", config, at,
                         tile_op_name(whole.code.at[at].op));
        }
        for (uint32_t at = 0; at + 1 < whole.code.n; at++) {
            struct tile_inst x = whole.code.at[at], y = whole.code.at[at + 1];
            bool regions =
                tile_op_opens(x.op) || tile_op_opens(y.op) || x.op == TILE_END || y.op == TILE_END;
            struct tile_program other = whole;
            memset(&other.code, 0, sizeof other.code);
            for (uint32_t j = 0; j < whole.code.n; j++)
                vec_push(a, &other.code, j == at ? y : j == at + 1 ? x : whole.code.at[j]);
            if (regions) continue;
            bool bad = tile_verify(&other, a) != NULL;
            swapped++, found += bad;
            if (t->chained->persists) continue; /* the interpreter has one tile a block */
            /* What the verifier lets through gives the same numbers. */
            for (uint64_t seed = 0; seed < 2 && !bad; seed++)
                if (run_wrong(a, &other, relative, seed))
                    fail_msg("%s: %s before %s is wrong, and nobody says so", config,
                             tile_op_name(y.op), tile_op_name(x.op));
        }
        arena_free(a);
    }
    assert_true(found * 3 > swapped);
}

/* ---- what masks hide ------------------------------------------------------------------------- */

/* Of 128 queries and keys, 32 deep. */
struct masked {
    const char *parameters, *body;
    int steps; /* of tiles of 32 rows, 32 columns each */
};

/* %i - %j is how far key j lies before query i. */
#define PLACES " %j = arange(0, 128)\n %i = unsqueeze(%j, -1)\n %d = sub(%i, %j)\n"
#define ATTENTION " %o = scaled_dot_product_attention(%q, %k, %v, %m)\n return %o\n"
#define SOFTMAX " %t = permute(%k, [0, 1, 3, 2])\n %s = matmul(%q, %t)\n" PLACES
#define VALUES " %y = softmax(%x, -1)\n %p = to(%y, bf16)\n %o = matmul(%p, %v)\n return %o\n"
#define SUMS                                                                                       \
    SOFTMAX " %h = lt(%d, 64)\n %x = masked_fill(%s, %h, -1e38)\n %u = amax(%x, [-1], True)\n"     \
            " %f = sub(%x, %u)\n %e = exp(%f)\n %z = sum(%e, [-1], True)\n %w = div(%e, %z)\n"     \
            " %p = masked_fill(%w, %h, 0)\n %o = matmul(%p, %v)\n"
static const struct masked masked[] = {
    {"", PLACES " %m = le(%j, %i)\n" ATTENTION, 1 + 2 + 3 + 4},
    {"", PLACES " %c = ge(%d, 0)\n %w = lt(%d, 32)\n %m = bitwise_and(%c, %w)\n" ATTENTION,
     1 + 2 + 2 + 2},
    /* the first rows see nothing */
    {"", PLACES " %m = ge(%d, 64)\n" ATTENTION, 1 + 1 + 1 + 2},
    {", %b: bf16[1]",
     PLACES " %f = mul(%d, %b)\n %h = lt(%d, 0)\n %m = masked_fill(%f, %h, -inf)\n" ATTENTION,
     1 + 2 + 3 + 4},
    {"", SOFTMAX " %h = lt(%d, 0)\n %x = masked_fill(%s, %h, -1e38)\n" VALUES, 1 + 2 + 3 + 4},
    {"",
     SOFTMAX " %h = lt(%d, 0)\n %f = mul(%s, 0.5)\n %m = where(%h, -1e38, 0.)\n"
             " %x = add(%f, %m)\n" VALUES,
     1 + 2 + 3 + 4},
    /* all keys weigh the same in rows that see nothing, or may see nothing */
    {"", SOFTMAX " %h = lt(%d, 1)\n %x = masked_fill(%s, %h, -1e38)\n" VALUES, 16},
    {", %b: bf16[128, 128]",
     SOFTMAX " %h = lt(%d, 0)\n %f = add(%s, %b)\n %x = masked_fill(%f, %h, -1e38)\n" VALUES, 16},
    /* the terms are 0 where they are hidden, and sums, where another kernel reads them, count what
     * is left out */
    {"", SUMS " %g = sum(%z, [2])\n return %o, %g\n", 1 + 1 + 1 + 2},
    {"", SUMS " return %o\n", 1 + 1 + 1 + 2},
    /* scores may be as low */
    {"", SOFTMAX " %h = lt(%d, 0)\n %x = masked_fill(%s, %h, -1000)\n" VALUES, 16},
};

/* Tiles of which a mask shows nothing to any row have no steps. */
static void test_hidden(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(a,
                                        "graph(%%q: bf16[1, 1, 128, 32], %%k: bf16[1, 1, 128, 32], "
                                        "%%v: bf16[1, 1, 128, 32]%s) {\n%s}\n",
                                        masked[i].parameters, masked[i].body);
        const struct block *b = chained_of(a, text, by_warps)->block;
        int64_t rows = b->layout.bx, columns = b->layout.br, steps = 0;
        for (int64_t m = 0; m < 128; m += rows) {
            struct depth_range r = chained_range(b->kernel, 0, m, rows);
            steps += (r.end + columns - 1) / columns - r.from / columns;
        }
        if (steps != masked[i].steps) fail_msg("%d steps of\n%s", (int)steps, text);
        arena_free(a);
    }
}

/* What data say of which elements count: how many questions are asked, beside how many edges, and
 * how many batches have one answer. */
struct asked {
    const char *parameters, *body;
    int questions, edges, alike;
};
#define IDS " %r = unsqueeze(%a, -1)\n"
static const struct asked asked[] = {
    {"%a: bool[128]", IDS " %m = eq(%r, %a)\n" ATTENTION, 1, 0, 6},
    {"%a: bool[128]",
     IDS PLACES " %e = eq(%r, %a)\n %c = le(%j, %i)\n %m = bitwise_and(%e, %c)\n" ATTENTION, 1, 1,
     6},
    /* each batch its own, or each head; keys alone; two */
    {"%a: bool[2, 1, 128]", IDS " %b = unsqueeze(%a, 2)\n %m = eq(%r, %b)\n" ATTENTION, 1, 0, 3},
    {"%a: bool[3, 128]", IDS " %b = unsqueeze(%a, 1)\n %m = eq(%r, %b)\n" ATTENTION, 1, 0, 1},
    {"%a: bool[2, 1, 1, 128]", " %m = contiguous(%a)\n" ATTENTION, 1, 0, 3},
    {"%a: bool[128, 128], %b: bool[128]", " %m = bitwise_and(%a, %b)\n" ATTENTION, 2, 0, 6},
    {"%a: bool[128, 128], %b: bool[128]", " %m = bitwise_or(%a, %b)\n" ATTENTION, 1, 0, 6},
    /* all keys weigh the same in rows that see nothing */
    {"%a: bool[128, 128]", SOFTMAX " %x = masked_fill(%s, %a, -1e38)\n" VALUES, 0, 0, 6},
    {"%a: bool[128, 128]", SOFTMAX " %x = masked_fill(%s, %a, -inf)\n" VALUES, 1, 0, 6},
    {"%a: bool[128, 128]", SOFTMAX " %x = masked_fill(%s, %a, -1000)\n" VALUES, 0, 0, 6},
    {"%a: bool[128, 128]",
     SOFTMAX " %x = masked_fill(%s, %a, 0)\n %p = relu(%x)\n"
             " %o = matmul(%p, %v)\n return %o\n",
     0, 0, 6},
};

static void test_questions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(a,
                                        "graph(%%q: bf16[2, 3, 128, 32], %%k: bf16[2, 3, 128, 32], "
                                        "%%v: bf16[2, 3, 128, 32], %s) {\n%s}\n",
                                        asked[i].parameters, asked[i].body);
        const struct kernel *k = kernel_of(a, text);
        if ((int)k->questions.n != asked[i].questions || (int)k->edges.n != asked[i].edges ||
            chained_alike(k) != asked[i].alike)
            fail_msg("%u questions, %u edges, %d alike of\n%s", k->questions.n, k->edges.n,
                     (int)chained_alike(k), text);
        struct config c = parsed(a, arena_printf(a, "%s skip=1", by_warps));
        struct layout y;
        assert_int_equal(!kernel_layout(k, &c, &y, a), asked[i].questions > 0);
        arena_free(a);
    }
}

/* What a row's terms are divided by, their sum is: of a product of terms, what either is. */
static void test_factors(void **state) {
    (void)state;
    static const char *const products[] = {"mul(%g, %f)", "mul(%f, %g)", "mul(%g, %g)"};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct arena *a = arena_new();
        const char *text =
            arena_printf(a,
                         "graph(%%q: bf16[2, 100, 40], %%k: bf16[2, 40, 88], %%v: bf16[2, 88, 24]) "
                         "{\n %%s = bmm(%%q, %%k)\n %%e = relu(%%s)\n %%f = add(%%e, 0.1)\n"
                         " %%t = sum(%%f, -1, True)\n %%g = div(%%f, %%t)\n %%p = %s\n"
                         " %%o = bmm(%%p, %%v)\n return %%o\n}\n",
                         products[i]);
        const struct kernel *k = kernel_of(a, text);
        int divided = 0;
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *x = &k->values.at[v], *by = &k->values.at[x->args[1]];
            if (x->kind != INST_OP || x->op != OP_MUL) continue;
            if (by->kind != INST_OP || by->op != OP_RECIPROCAL) continue;
            divided++;
            if (x->mask & MASK_N) fail_msg("%s: v%u divides each term", products[i], v);
        }
        assert_int_equal(divided, i == 2 ? 2 : 1);
        arena_free(a);
    }
}

/* What a mask leaves is a kernel's work: of a causal one, half and half a row. */
static void test_work(void **state) {
    (void)state;
    static const char text[] =
        "graph(%q: bf16[2, 128, 32], %k: bf16[2, 32, 128], %v: bf16[2, 128, 32]) {\n"
        " %s = bmm(%q, %k)\n %i = arange(0, 128, 1)\n %j = unsqueeze(%i, 1)\n"
        " %h = le(%i, %j)\n %w = where(%h, %s, -inf)\n %p = softmax(%w, -1)\n"
        " %o = bmm(%p, %v)\n return %o\n}\n";
    struct arena *a = arena_new();
    struct kernel *k = kernel_of(a, text);
    double products = 2.0 * 2 * 2 * 128 * 128 * 32;
    assert_int_equal(k->edges.n, 1);
    assert_true(fabs(chained_counts(k) - 129.0 / 256) < 1.0 / 128);
    assert_true(k->flops > products / 2 && k->flops < products * 0.7);
    arena_free(a);
}

/* ---- of rows and columns alone --------------------------------------------------------------- */

#define ALONE(x, y, term)                                                                          \
    "graph(%q: bf16[2, 100, 40], %k: bf16[2, 40, 88], %v: bf16[2, 88, 24], %x: f32" x              \
    ", %y: f32" y ") {\n %s = bmm(%q, %k)\n %f = to(%s, f32)\n %c = mul(%f, 0.2)\n" term           \
    " %p = to(%t, bf16)\n %o = bmm(%p, %v)\n return %o\n}\n"
#define TIMES_EXP " %d = sub(%c, %x)\n %e = exp(%d)\n %t = mul(%e, %y)\n"

/* Exponentials are of two numbers; what is not read by elements is none of them. */
static void test_own(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int rows, columns, floats;
    } own[] = {
        {ALONE("[2, 1, 88]", "[2, 1, 88]", TIMES_EXP), 0, 2, 4},
        {ALONE("[2, 100, 1]", "[2, 1, 88]", TIMES_EXP), 1, 1, 2},
        /* a factor of a row leaves its sum */
        {ALONE("[2, 100, 1]", "[2, 100, 1]", TIMES_EXP), 1, 0, 0},
        {ALONE("[2, 100, 88]", "[2, 1, 88]", TIMES_EXP), 0, 1, 2},
        {ALONE("[2, 1, 88]", "[2, 1, 88]",
               " %z = reciprocal(%y)\n %d = sub(%c, %x)\n"
               " %t = mul(%d, %z)\n"),
         0, 2, 2},
        /* the difference is read elsewhere, too */
        {ALONE("[2, 1, 88]", "[2, 1, 88]",
               " %d = sub(%c, %x)\n %e = exp(%d)\n %h = mul(%e, %d)\n"
               " %t = mul(%h, %y)\n"),
         0, 3, 4},
        {ALONE("[2, 1, 88]", "[2, 100, 88]", " %i = to(%x, i64)\n %t = mul(%c, %i)\n"), 0, 1, 2},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        struct arena *a = arena_new();
        struct tile_program *t = chained_of(a, own[i].text, by_groups);
        struct own of_rows[MOST_OWN];
        struct chained moved = *t->chained;
        int rows = chained_own(t->block->kernel, AXIS_M, of_rows);
        if (rows != own[i].rows || moved.n_own != own[i].columns ||
            moved.own_floats != own[i].floats)
            fail_msg("%d of rows, %d of columns in %d floats of\n%s", rows, moved.n_own,
                     moved.own_floats, own[i].text);
        assert_int_equal(chained_of(a, own[i].text, by_warps)->chained->n_own, 0);
        /* of each stage, n=16 columns of two */
        assert_int_equal(moved.own_apart, moved.n_own > 0);
        assert_int_equal(moved.own_bytes, 2 * 16 * moved.own_floats * 4);
        /* they lie apart from the barriers, and in the block's memory */
        for (int by = -1; by <= 1 && moved.n_own; by += 2) {
            struct chained other = moved;
            struct tile_program at = *t;
            other.own_at += by * 1024;
            at.chained = &other;
            assert_non_null(tile_verify(&at, a));
        }
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden),   cmocka_unit_test(test_own),
        cmocka_unit_test(test_skipped),  cmocka_unit_test(test_questions),
        cmocka_unit_test(test_work),     cmocka_unit_test(test_factors),
        cmocka_unit_test(test_numbers),  cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_operands), cmocka_unit_test(test_planted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

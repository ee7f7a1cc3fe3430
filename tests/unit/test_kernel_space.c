/* test_kernel_space.c: the configs proposed for a kernel, over many shapes, types and devices:
 * never none, all legal and distinct, the default first; and each invariant of kernel.h broken by
 * hand and found. */
#include "lower_test.h"
#include "part.h"

/* At the end are copies of the best that differ in one hint each, and what copies rows ahead or
 * reads them again. */
static bool is_hinted(const struct kernel *k, const struct config *c, int i) {
    static const enum knob hints[] = {KNOB_skip_l1, KNOB_online,   KNOB_fit,
                                      KNOB_nt,      KNOB_leave_l2, KNOB_stay_l2};
    if (c[i].knob[KNOB_stages] && !k->columns) return true;
    if (c[0].knob[KNOB_keep] && !c[i].knob[KNOB_keep] && !c[i].knob[KNOB_split]) return true;
    for (int j = 0; j < i; j++)
        for (size_t h = 0; h < sizeof hints / sizeof *hints; h++) {
            struct config one = c[i];
            one.knob[hints[h]] = c[j].knob[hints[h]];
            if (config_equal(&one, &c[j])) return true;
        }
    return false;
}

/* The configs of every kernel of the graph; returns how many the first has. */
static int check_space(const char *text, const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct schedule *s = must_schedule(a, text, "s0=77 s1=130", limits, false);
    int first = 0;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        struct kernel *k = must_build(s, g, limits);
        const struct config *c;
        int n, pruned;
        kernel_configs(k, a, &c, &n, &pruned);
        if (g == 0) first = n;
        assert_true(n > 0 && pruned >= 0);
        struct config alone = kernel_default_config(k, a);
        assert_true(config_equal(&alone, &c[0]));
        double least = 0;
        for (int i = 0; i < n; i++) {
            struct layout y;
            const char *why = kernel_layout(k, &c[i], &y, a);
            if (why) fail_msg("%s\n%s: %s", text, config_str(a, &c[i]), why);
            double cost = kernel_cost(k, &y);
            if (!(cost >= least) && !is_hinted(k, c, i))
                fail_msg("%s\n%s is cheaper than what precedes it", text, config_str(a, &c[i]));
            least = cost;
            struct block *p = block_build(k, &c[i], a);
            assert_true(p->grid >= 0 && (p->grid <= INT32_MAX || limits->kind == DEVICE_CPU));
            for (int j = 0; j < i; j++)
                if (config_equal(&c[i], &c[j]))
                    fail_msg("%s\n%s twice", text, config_str(a, &c[i]));
        }
        if (limits->kind == DEVICE_CUDA && limits->max_threads_block == 1024 &&
            k->kind != KERNEL_MATMUL) {
            struct layout
                y; /* the default covers its rows without a block that has nothing to do */
            kernel_layout(k, &c[0], &y, a);
            int64_t nx = kernel_size(k, AXIS_X);
            assert_true(y.bx < 2 * (nx > 32 ? nx : 32));
        }
    }
    arena_free(a);
    return first;
}

/* Every kind of kernel over rows x columns of type t. */
static void check_shape(const struct device_limits *limits, const char *t, long long rows,
                        long long columns) {
    static const char *const graphs[] = {
        "graph(%%x: %s[%lld, %lld]) {\n %%y = relu(%%x)\n return %%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%p = permute(%%x, [1, 0])\n %%y = relu(%%p)\n return "
        "%%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%y = sum(%%x, 1)\n return %%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%y = sum(%%x, 0)\n return %%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%y = sum(%%x)\n return %%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%s = sum(%%x, 1, True)\n %%y = sub(%%x, %%s)\n return "
        "%%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%s = sum(%%x, 0, True)\n %%y = sub(%%x, %%s)\n return "
        "%%y\n}\n",
        "graph(%%x: %s[%lld, %lld]) {\n %%p = permute(%%x, [1, 0])\n %%y = mm(%%x, %%p)\n return "
        "%%y\n}\n",
    };
    struct arena *a = arena_new();
    bool square_fits = rows <= 1 << 20; /* the product's result is rows x rows */
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs - !square_fits; i++)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        check_space(arena_printf(a, graphs[i], t, rows, columns), limits);
#pragma GCC diagnostic pop
    arena_free(a);
}

static void test_shapes(void **state) {
    static const long long sizes[] = {0, 1, 2, 3, 5, 8, 31, 64, 97, 1000, 4096, 50257};
    static const char *const types[] = {"f32", "bf16", "f64", "i64", "f32"};
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    size_t n = sizeof sizes / sizeof *sizes, count = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i % PART; j < n; j += PART) { /* each pair with one of the types */
            check_shape(&gpu, types[count++ % 5], sizes[i], sizes[j]);
            check_shape(&cpu, types[count % 5], sizes[i], sizes[j]);
        }
}

static void test_huge(void **state) {
    static const struct {
        const char *type;
        long long rows, columns;
    } shapes[] = {
        {"bf16", 1, 2147483648}, {"bf16", 2147483648, 1}, {"f32", 2, 2147483648},
        {"f32", 2147483648, 3},  {"f32", 46341, 46341},   {"f32", 3, 17179869184},
        {"f32", 34359738368, 2}, {"i64", 65536, 65536},
    };
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_shape(&gpu, shapes[i].type, shapes[i].rows, shapes[i].columns);
        check_shape(&cpu, shapes[i].type, shapes[i].rows, shapes[i].columns);
    }
}

/* An index needs 64 bits when a buffer has so many elements, however few bytes these are, or when
 * an axis is longer than any buffer. */
static void test_wide_index(void **state) {
    static const struct {
        const char *text;
        bool wide;
    } cases[] = {
        {"graph(%x: f32[4096, 4096]) {\n %y = relu(%x)\n return %y\n}\n", false},
        {"graph(%x: f32[1073741824]) {\n %y = relu(%x)\n return %y\n}\n", false},
        {"graph(%x: bf16[2147483648]) {\n %y = relu(%x)\n return %y\n}\n", true},
        {"graph(%x: bool[2147483640]) {\n %y = logical_not(%x)\n return %y\n}\n",
         true}, /* a tile ends beyond it */
        {"graph(%x: f32[65536, 1], %z: f32[65536]) {\n %p = mul(%x, %z)\n %y = sum(%p)\n return "
         "%y\n}\n",
         true},
        {"graph(%x: f32[16384, 1], %z: f32[16384]) {\n %p = mul(%x, %z)\n %y = sum(%p)\n return "
         "%y\n}\n",
         false},
    };
    struct device_limits limits = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        if (first_kernel(a, cases[i].text, &limits)->wide_index != cases[i].wide)
            fail_msg("%s", cases[i].text);
        arena_free(a);
    }
}

/* What people tune most has choices. */
static void test_enough(void **state) {
    static const char *const archs[] = {"sm_80", "sm_90a", "sm_100a", "sm_120"};
    static const char *const graphs[] = {
        "graph(%x: f32[4096, 4096]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
        "graph(%x: bf16[4096, 4096]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
        "graph(%x: f32[4096, 4096]) {\n %y = softmax(%x, 0)\n return %y\n}\n",
        "graph(%x: f32[4096, 4096]) {\n %y = relu(%x)\n return %y\n}\n",
        "graph(%x: f32[4096, 4096]) {\n %y = sum(%x)\n return %y\n}\n",
        "graph(%x: f32[4096, 4096]) {\n %y = cumsum(%x, 0)\n return %y\n}\n",
        "graph(%x: bf16[1000000, 8]) {\n %y = cumsum(%x, 0)\n return %y\n}\n",
    };
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) {
            struct device_limits limits = test_gpu(archs[i]);
            int n = check_space(graphs[g], &limits);
            if (n < 16) fail_msg("%s: %d configs on %s", graphs[g], n, archs[i]);
        }
}

/* Few rows are split over as many blocks as a GPU can use: one to 16 for each multiprocessor; on a
 * CPU over no more than eight tasks for each core, of 64 rows at least. */
static void test_splits(void **state) {
    static const struct {
        const char *text;
        int64_t rows, columns;
        bool many; /* rows, or few columns: nothing to split */
    } cases[] = {
        {"graph(%x: f32[1, 16777216]) {\n %y = sum(%x, 1)\n return %y\n}\n", 1, 16777216, false},
        {"graph(%x: f32[16, 1048576]) {\n %y = sum(%x, 1)\n return %y\n}\n", 16, 1048576, false},
        {"graph(%x: f32[1048576, 64]) {\n %y = sum(%x, 0)\n return %y\n}\n", 64, 1048576, false},
        {"graph(%x: f32[200, 64]) {\n %y = sum(%x, 0)\n return %y\n}\n", 64, 200, false},
        {"graph(%x: f32[65536, 4096]) {\n %y = sum(%x, 1)\n return %y\n}\n", 65536, 4096, true},
    };
    struct device_limits devices[] = {test_gpu("sm_90a"), test_cpu()};
    devices[1].units = 16;
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct arena *a = arena_new();
            const struct config *c;
            int n, pruned, split = 0, most = 0;
            struct kernel *k = first_kernel(a, cases[i].text, &devices[d]);
            kernel_configs(k, a, &c, &n, &pruned);
            for (int j = 0; j < n; j++) {
                int s = c[j].knob[KNOB_split], x = c[j].knob[KNOB_x];
                if (!s) continue;
                int64_t blocks = cases[i].rows * s / x;
                split++;
                most = s > most ? s : most;
                assert_true(s > 1 && s <= cases[i].columns);
                if (devices[d].kind == DEVICE_CPU)
                    assert_true(s <= 8 * devices[d].units);
                else
                    assert_true((k->rows_inner || blocks >= devices[d].units) &&
                                blocks <= 16 * devices[d].units);
            }
            if (cases[i].many ? split > 0 : cases[i].columns > 10000 && split == 0)
                fail_msg("%s: %d of %d configs split", cases[i].text, split, n);
            if (devices[d].kind == DEVICE_CPU && cases[i].columns == 200) assert_true(most <= 4);
            arena_free(a);
        }
}

/* Scans down columns that alone would not fill a GPU are cut into tiles, in whole vectors; many
 * columns, or few rows, are not. */
static void test_columns_scanned(void **state) {
    static const struct {
        const char *type;
        bool look_back;
    } cases[] = {{"f32[4096, 4096]", true}, {"bf16[4096, 4096]", true},  {"f32[1000000, 8]", true},
                 {"f32[8192, 64]", true},   {"f32[64, 1000000]", false}, {"f32[64, 4096]", false}};
    struct device_limits limits = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(
            a, "graph(%%x: %s) {\n %%y = cumsum(%%x, 0)\n return %%y\n}\n", cases[i].type);
        const struct kernel *k = first_kernel(a, text, &limits);
        const struct config *all;
        int n, pruned;
        kernel_configs(k, a, &all, &n, &pruned);
        if (all[0].knob[KNOB_look_back] != cases[i].look_back)
            fail_msg("%s: %s", text, config_str(a, &all[0]));
        if (all[0].knob[KNOB_vec] == 1) fail_msg("%s: no vectors", text);
        arena_free(a);
    }
}

static double cost_of(const struct kernel *k, const char *config, struct arena *a) {
    struct diag d = diag_new(a);
    struct config c;
    struct layout y;
    if (!config_parse(config, &c, &d)) fail_msg("%s", d.text);
    const char *why = kernel_layout(k, &c, &y, a);
    if (why) fail_msg("%s: %s", config, why);
    return kernel_cost(k, &y);
}

/* Matrix products on an H200, as measured: the cost model puts the faster one first. Small ones
 * want many warps, large ones large tiles a thread; 16 columns a thread are too many. */
static void test_products(void **state) {
    static const struct {
        int n;
        const char *faster, *slower;
    } measured[] = {
        {1024, "warps=8 m=64 n=64 k=16 tm=4 tn=4",
         "warps=4 m=64 n=64 k=32 tm=4 tn=8"}, /* 129, 210 */
        {1024, "warps=8 m=64 n=64 k=16 tm=4 tn=4", "warps=8 m=128 n=128 k=16 tm=8 tn=8"}, /* 224 */
        {1024, "warps=4 m=32 n=64 k=32 tm=4 tn=4",
         "warps=2 m=64 n=64 k=16 tm=8 tn=8"}, /* 161, 267 */
        {2048, "warps=8 m=128 n=128 k=16 tm=8 tn=8",
         "warps=8 m=64 n=64 k=16 tm=4 tn=4"}, /* 632, 832 */
        {2048, "warps=8 m=256 n=128 k=8 tm=16 tn=8",
         "warps=8 m=128 n=256 k=8 tm=8 tn=16"}, /* 756, 1025 */
        {2048, "warps=4 m=32 n=64 k=32 tm=4 tn=4",
         "warps=2 m=16 n=16 k=32 tm=2 tn=2"}, /* 1102, 2173 */
    };
    struct device_limits limits = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        struct arena *a = arena_new();
        int n = measured[i].n;
        const char *text = arena_printf(
            a, "graph(%%x: f32[%d, %d], %%z: f32[%d, %d]) {\n %%y = mm(%%x, %%z)\n return %%y\n}\n",
            n, n, n, n);
        const struct kernel *k = first_kernel(a, text, &limits);
        if (!(cost_of(k, measured[i].faster, a) < cost_of(k, measured[i].slower, a)))
            fail_msg("%d: %s is not put before %s", n, measured[i].faster, measured[i].slower);
        arena_free(a);
    }
}

/* The same by multiply-adds alone, in parts of the depth and with panels ahead; no part where the
 * matrix units multiply. */
static void test_strict_products(void **state) {
    static const struct {
        int m, k, n;
        const char *faster, *slower;
    } measured[] = {
        {256, 524288, 256, "warps=4 split=132 m=128 n=128 k=8 tm=16 tn=8 stages=3",
         "warps=4 split=33 m=128 n=128 k=8 tm=16 tn=8 stages=3"}, /* 1554, 1777 us */
        {256, 524288, 256, "warps=4 split=33 m=128 n=128 k=8 tm=16 tn=8 stages=3",
         "warps=2 split=24 m=64 n=64 k=16 tm=8 tn=8 stages=3"}, /* 2701 */
        {512, 65536, 512, "warps=4 split=33 m=128 n=128 k=8 tm=16 tn=8 stages=3",
         "warps=4 m=32 n=32 k=32 tm=2 tn=4"}, /* 775, 1469 */
        {8, 4096, 4096, "warps=1 split=8 m=8 n=64 k=32 tm=4 tn=4 stages=3",
         "warps=4 split=8 m=32 n=128 k=16 tm=4 tn=8 stages=3"}, /* 37, 46 */
        {4096, 4096, 4096, "warps=4 m=128 n=128 k=8 tm=16 tn=8 stages=3",
         "warps=8 m=128 n=128 k=8 tm=8 tn=8 stages=3"}, /* 3110, 3304 */
    };
    struct device_limits limits = test_gpu("sm_90a");
    for (int strict = 0; strict <= 1; strict++)
        for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
            struct arena *a = arena_new();
            int m = measured[i].m, depth = measured[i].k, n = measured[i].n;
            const char *text = arena_printf(a,
                                            "graph(%%x: f32[%d, %d], %%z: f32[%d, %d])%s {\n"
                                            " %%y = mm(%%x, %%z)\n return %%y\n}\n",
                                            m, depth, depth, n, strict ? " products strict" : "");
            const struct kernel *k = first_kernel(a, text, &limits);
            const struct config *all;
            int many, pruned;
            kernel_configs(k, a, &all, &many, &pruned);
            for (int c = 0; c < many && !strict; c++)
                assert_true(all[c].knob[KNOB_mma] ||
                            (!all[c].knob[KNOB_split] && !all[c].knob[KNOB_stages]));
            if (strict && all[0].knob[KNOB_stages] < 2)
                fail_msg("%s: %s", text, config_str(a, &all[0]));
            if (strict && !(cost_of(k, measured[i].faster, a) < cost_of(k, measured[i].slower, a)))
                fail_msg("%s: %s is not put before %s", text, measured[i].faster,
                         measured[i].slower);
            arena_free(a);
        }
}

/* Sizes that are arguments: what divides is not known, nothing else changes. */
static void test_symbolic(void **state) {
    static const char *const graphs[] = {
        "graph(%x: f32[s0, s1]) {\n %y = softmax(%x, 1)\n return %y\n}\n",
        "graph(%x: f32[s0, s1]) {\n %y = softmax(%x, 0)\n return %y\n}\n",
        "graph(%x: f32[s0, s1]) {\n %y = relu(%x)\n return %y\n}\n",
        "graph(%x: f32[s0, 4*s1]) {\n %p = permute(%x, [1, 0])\n %y = mm(%x, %p)\n return %y\n}\n",
    };
    struct device_limits gpu = test_gpu("sm_90a"), cpu = test_cpu();
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
        check_space(graphs[i], &gpu);
        check_space(graphs[i], &cpu);
    }
}

/* Rows that are looked up begin anywhere: heads end where a vector of the result does, not one of
 * the table, whose row is known only within the loop. */
static void test_rows_looked_up(void **state) {
    struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    const struct kernel *k = first_kernel(a,
                                          "graph(%i: i64[64], %w: f32[1000, 4097]) {\n"
                                          " %x = embedding(%i, %w)\n %y = softmax(%x, 1)\n"
                                          " return %y\n}\n",
                                          &gpu);
    ex start = kernel_row_start(k, 4);
    assert_int_equal(k->subscripts.n, 1);
    assert_true(start != EX_NONE && !ex_uses(k->ex, start, k->subscripts.at[0].symbol));
    assert_true(ex_uses(k->ex, start, k->axis[AXIS_X]));
    arena_free(a);
}

#define STEEP(by)                                                                                  \
    " %i = arange(0, 512)\n %j = unsqueeze(%i, -1)\n %s = mul(%i, " by ")\n %c = le(%s, %j)\n"     \
    " %u = where(%c, %x, 0.0)\n"

/* A band that another kernel wrote: terms count on one side of two edges. Of a triangle there is
 * one. None is where its places take more than 32 bits: 512 * 2^20 is 2^29. */
static void test_edges_of_bands(void **state) {
    static const struct {
        const char *mask;
        uint32_t edges;
    } masks[] = {{" %u = tril(%x)\n", 1},
                 {" %t = tril(%x)\n %u = triu(%t, -64)\n", 2},
                 {STEEP("1048574"), 1},
                 {STEEP("1048576"), 0}};
    struct device_limits gpu = test_gpu("sm_90a");
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(a,
                                        "graph(%%x: bf16[512, 512], %%y: bf16[512, 256]) {\n%s"
                                        " %%z = mm(%%u, %%y)\n return %%z\n}\n",
                                        masks[i].mask);
        struct schedule *s = must_schedule(a, text, "", &gpu, false);
        uint32_t g = 0;
        while (g + 1 < s->groups.n && !s->groups.at[g].matmul) g++;
        const struct kernel *k = must_build(s, g, &gpu);
        if (k->edges.n != masks[i].edges) fail_msg("%u edges of\n%s", k->edges.n, text);
        arena_free(a);
    }
}

/* Tiles that the last round leaves are in as many parts as are done soonest, if it is worth it. */
static void check_tail(const struct kernel *k, const struct config *c, struct arena *a) {
    struct layout y;
    const char *why = kernel_layout(k, c, &y, a);
    if (why) fail_msg("%s", why);
    int64_t tiles = matrix_all_tiles(k, &y), at_once = matrix_clusters(k, &y);
    int64_t tail = c->knob[KNOB_tail], parts = c->knob[KNOB_split];
    assert_int_equal(tail, tiles % at_once);
    assert_true(tail > 0 && tiles > at_once);
    int64_t rounds = (tail * parts + at_once - 1) / at_once; /* a part takes 1 / parts of one */
    assert_true(rounds * 100 < parts * (100 - 6 * (tiles / at_once + 1)));
    for (int64_t p = 2; p <= 8; p++)
        assert_true((tail * p + at_once - 1) / at_once * parts >= rounds * p);
}

/* A product %z of bf16, whose right factor lies along the depth, then `rest`. */
static const char *wide_text(struct arena *a, int m, int depth, int n, const char *rest) {
    return arena_printf(a,
                        "graph(%%x: bf16[%d, %d], %%y: bf16[%d, %d]) {\n"
                        " %%t = permute(%%y, [1, 0])\n %%z = mm(%%x, %%t)\n%s}\n",
                        m, depth, n, depth, rest);
}

/* First guesses of few tiles leave few multiprocessors idle; of rows that begin anywhere tiles are
 * in turn. */
static void test_even_tiles(void **state) {
    static const struct {
        int m, depth, n, m_tile, n_tile, cluster, in_turn;
    } sizes[] = {{1024, 3072, 768, 64, 96, 0, 0},
                 {1024, 768, 768, 64, 96, 0, 0},
                 {1024, 768, 50257, 128, 192, 2, 1}};
    struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct arena *a = arena_new();
        const char *text = wide_text(a, sizes[i].m, sizes[i].depth, sizes[i].n, " return %z\n");
        const struct config *c;
        int n_configs, pruned;
        kernel_configs(first_kernel(a, text, &gpu), a, &c, &n_configs, &pruned);
        assert_int_equal(c->knob[KNOB_m], sizes[i].m_tile);
        assert_int_equal(c->knob[KNOB_n], sizes[i].n_tile);
        assert_int_equal(c->knob[KNOB_cluster], sizes[i].cluster);
        assert_int_equal(c->knob[KNOB_pingpong], sizes[i].in_turn);
        arena_free(a);
    }
}

/* Of tf32 few steps are over as soon as what they come to is stored: tiles are in turn. */
static void test_few_steps_in_turn(void **state) {
    static const struct {
        int m, depth, n, in_turn;
    } sizes[] = {{1048576, 256, 768, 1}, {65536, 1024, 768, 0}, {32768, 64, 32768, 0}};
    struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct arena *a = arena_new();
        const char *text =
            arena_printf(a,
                         "graph(%%x: f32[%d, %d], %%y: f32[%d, %d]) products tf32 {\n"
                         " %%z = mm(%%x, %%y)\n return %%z\n}\n",
                         sizes[i].m, sizes[i].depth, sizes[i].depth, sizes[i].n);
        const struct config *c;
        int n_configs, pruned;
        kernel_configs(first_kernel(a, text, &gpu), a, &c, &n_configs, &pruned);
        assert_int_equal(c->knob[KNOB_pingpong], sizes[i].in_turn);
        arena_free(a);
    }
}

/* Windows that are read as they lie, out of an image where the input does not lie so: of more
 * windows than positions. Not a tap at a time, nor deep ones of f32 whose channels are whole lines
 * of pairs. */
static void test_lying_images(void **state) {
    static const struct {
        const char *precision;
        int channels, filters, taps, padding, lies;
    } cases[] = {{" convolutions tf32", 64, 64, 3, 2, true},
                 {" convolutions tf32", 64, 64, 3, 0, true},
                 {" convolutions tf32", 64, 64, 7, 6, false},
                 {"", 48, 24, 9, 8, true},
                 {"", 64, 24, 9, 8, false}};
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        int c = cases[i].channels;
        const char *text = arena_printf(
            a,
            "graph(%%x: f32[8, %d, 256, 256], %%w: f32[%d, %d, 3, %d])%s {\n"
            " %%y = convolution(%%x, %%w, None, 1, [0, %d])\n return %%y\n}\n",
            c, cases[i].filters, c, cases[i].taps, cases[i].precision, cases[i].padding);
        const struct config *guesses;
        int n, pruned;
        kernel_configs(first_kernel(a, text, &gpu), a, &guesses, &n, &pruned);
        if ((guesses->knob[KNOB_flat] == 2) != cases[i].lies)
            fail_msg("%s: flat=%d", text, guesses->knob[KNOB_flat]);
        arena_free(a);
    }
}

/* Columns that are windows of odd images: two rounds of tiles cover all of them. */
static void test_even_windows(void **state) {
    struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    const struct config *c;
    int n, pruned;
    (void)state;
    kernel_configs(first_kernel(a,
                                "graph(%x: bf16[16, 512, 33, 33], %w: bf16[256, 512, 3, 3]) {\n"
                                " %y = convolution(%x, %w, None, 1, 6, 6)\n return %y\n}\n",
                                &gpu),
                   a, &c, &n, &pruned);
    assert_int_equal(c->knob[KNOB_m], 128);
    assert_int_equal(c->knob[KNOB_n], 136);
    arena_free(a);
}

/* A long epilogue behind many tiles is one warpgroup's while the other one multiplies; a short one
 * is not worth it. */
static void test_tiles_in_turn(void **state) {
    static const struct {
        const char *behind;
        int m, depth, n, in_turn;
    } cases[] = {{"gelu(%z, approximate='none')", 8192, 4096, 16384, 1},
                 {"relu(%z)", 8192, 4096, 16384, 0},
                 {"gelu(%z, approximate='none')", 1576, 768, 3072, 0}};
    struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const char *text = wide_text(a, cases[i].m, cases[i].depth, cases[i].n,
                                     arena_printf(a, " %%g = %s\n return %%g\n", cases[i].behind));
        struct config c = kernel_default_config(first_kernel(a, text, &gpu), a);
        assert_int_equal(c.knob[KNOB_pingpong], cases[i].in_turn);
        arena_free(a);
    }
}

/* Attention of 197 keys is warpgroups', as that of 256 is: by one warp of 16 rows each key would be
 * copied 13 times. */
static void test_even_steps(void **state) {
    static const int lengths[] = {150, 197, 256};
    struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct arena *a = arena_new();
        int n = lengths[i], n_configs, pruned;
        const char *text =
            arena_printf(a,
                         "graph(%%q: bf16[8, 12, %d, 64], %%k: bf16[8, 12, %d, 64], %%v: bf16[8, "
                         "12, %d, 64]) {\n %%o = scaled_dot_product_attention(%%q, %%k, %%v)\n"
                         " return %%o\n}\n",
                         n, n, n);
        const struct config *c;
        kernel_configs(first_kernel(a, text, &gpu), a, &c, &n_configs, &pruned);
        if (c[0].knob[KNOB_mma] != 1) fail_msg("%d keys: mma=%d", n, c[0].knob[KNOB_mma]);
        arena_free(a);
    }
}

static void test_tails(void **state) {
    struct device_limits gpu = test_gpu("sm_90a");
    int tails = 0;
    (void)state;
    for (int m = 1500; m <= 3000; m += 300)
        for (int n = 1600; n <= 4000; n += 800) {
            struct arena *a = arena_new();
            const char *text = arena_printf(a,
                                            "graph(%%x: bf16[%d, 2048], %%y: bf16[2048, %d]) {\n"
                                            " %%z = mm(%%x, %%y)\n return %%z\n}\n",
                                            m, n);
            const struct kernel *k = first_kernel(a, text, &gpu);
            const struct config *c;
            int n_configs, pruned;
            kernel_configs(k, a, &c, &n_configs, &pruned);
            for (int i = 0; i < n_configs; i++)
                if (c[i].knob[KNOB_tail]) check_tail(k, &c[i], a), tails++;
            arena_free(a);
        }
    assert_true(tails > 20);
}

/* Devices smaller than any that is sold. */
static void test_tiny_devices(void **state) {
    struct device_limits gpu = test_gpu("sm_80"), cpu = test_cpu();
    gpu.units = 1, gpu.max_threads_block = 64, gpu.max_threads_unit = 64, gpu.max_blocks_unit = 1;
    gpu.regs_unit = 4096, gpu.smem_block = gpu.smem_unit = 16384;
    cpu.units = 1, cpu.simd_bytes = 4;
    static const long long sizes[] = {0, 1, 7, 64, 5000};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++) {
            check_shape(&gpu, "f64", sizes[i], sizes[j]);
            check_shape(&cpu, "f64", sizes[i], sizes[j]);
        }
}

/* ---- the verifier ---------------------------------------------------------------------------- */

static void expect(const struct kernel *k, const char *start) {
    const char *why = kernel_verify(k);
    if (!why) fail_msg("found nothing, expected %s", start);
    if (strncmp(why, start, strlen(start))) fail_msg("found %s, expected %s", why, start);
}

static void test_verify(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    /* v0 load {x r}; v1 amax {x} level 1; v2 sub {x r}; v3 exp; v4 sum {x} level 2; v5 reciprocal;
     * v6 mul; store */
#define FRESH()                                                                                    \
    first_kernel(a, "graph(%x: f32[8, 6]) {\n %y = softmax(%x, 1)\n return %y\n}\n", &limits)
    struct kernel *k = FRESH();
    k->values.at[2].args[1] = 2;
    expect(k, "K1: v2 uses v2");
    k = FRESH();
    k->values.at[3].mask = MASK_X;
    expect(k, "K2: axes of v3");
    k = FRESH();
    k->values.at[0].mask = MASK_R;
    expect(k, "K2: axes of v0");
    k = FRESH();
    k->values.at[1].mask |= MASK_R;
    expect(k, "K2: axes of v1");
    k = FRESH();
    k->values.at[4].level = 1;
    expect(k, "K3: level of v4");
    k = FRESH();
    k->stores.at[0].mask = MASK_X;
    expect(k, "K4: v6 is stored without its axes");
    k = FRESH();
    k->stores.at[0].value = 1;
    k->stores.at[0].mask = MASK_X;
    expect(k, "K5: v1 does not fill the buffer");
    k = FRESH();
    vec_push(a, &k->stores, k->stores.at[0]);
    expect(k, "K5: a buffer is stored twice");
    k = FRESH();
    k->stores.n = 0;
    expect(k, "K5: nothing is stored");
    /* a product may have more points than elements, if some are guarded: with as many, some are
     * left out */
    k = first_kernel(a,
                     "graph(%x: f32[64, 32], %y: f32[32, 64]) {\n %z = matmul(%x, %y)\n"
                     " return %z\n}\n",
                     &limits);
    k->stores.at[0].guard = ex_const(k->ex, 1);
    expect(k, "K5: v3 does not fill the buffer");
#undef FRESH
    arena_free(a);
}

/* Bytes that the one kernel of the graph has to move. */
static void check_bytes_with(const char *text, const char *sizes, double read, double written) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct schedule *s = must_schedule(a, text, sizes, &limits, false);
    struct kernel *k = must_build(s, 0, &limits);
    assert_int_equal(s->groups.n, 1);
    if (k->bytes_read != read || k->bytes_written != written)
        fail_msg("%s\nreads %g bytes, writes %g", text, k->bytes_read, k->bytes_written);
    arena_free(a);
}

static void check_bytes(const char *text, double read, double written) {
    check_bytes_with(text, "", read, written);
}

/* Several loads of a buffer read the same elements, or each its part of them. */
static void test_bytes(void **state) {
    check_bytes(
        "graph(%x: bf16[2, 3, 32, 32]) {\n %m = max_pool(%x, [3], [2], [1])\n return %m\n}\n",
        2 * 3 * 32 * 32 * 2, 2 * 3 * 16 * 16 * 2);
    check_bytes("graph(%x: f32[6, 32]) {\n %m = avg_pool(%x, [1], [2], [0], False, True, None, 1)\n"
                " return %m\n}\n",
                6 * 16 * 4, 6 * 16 * 4);
    check_bytes("graph(%x: f32[8, 16], %y: f32[8, 16]) {\n %s = stack([%x, %y], 1)\n %e = exp(%s)\n"
                " return %e\n}\n",
                2 * 8 * 16 * 4, 2 * 8 * 16 * 4);
    /* halves of rows, of columns, and what overlaps by one */
    check_bytes("graph(%x: f32[8, 16]) {\n %a = slice(%x, 1, 0, 8)\n %b = slice(%x, 1, 8, 16)\n"
                " %y = mul(%a, %b)\n return %y\n}\n",
                8 * 16 * 4, 8 * 8 * 4);
    check_bytes("graph(%x: f32[16, 8]) {\n %a = slice(%x, 0, 0, 8)\n %b = slice(%x, 0, 8, 16)\n"
                " %y = mul(%a, %b)\n return %y\n}\n",
                16 * 8 * 4, 8 * 8 * 4);
    check_bytes("graph(%x: f32[8, 17]) {\n %a = slice(%x, 1, 1, 17)\n %b = slice(%x, 1, 0, 16)\n"
                " %y = sub(%a, %b)\n return %y\n}\n",
                8 * 16 * 4, 8 * 16 * 4);
}

/* Blocks go from both ends of what is read both ways, if L2 does not hold it. */
static void check_mirror(const char *body, int64_t l2, const char *config, int64_t places,
                         int64_t each, int64_t inner) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct diag d = diag_new(a);
    struct config c;
    struct layout y;
    limits.l2_bytes = l2;
    struct kernel *k =
        first_kernel(a, arena_printf(a, "graph(%%x: f32[%s return %%y\n}\n", body), &limits);
    assert_null(config_parse(config, &c, &d) ? NULL : d.message);
    assert_null(kernel_layout(k, &c, &y, a));
    if (y.mirrored != places || y.mirror_each != each || y.mirror_inner != inner)
        fail_msg("%s\n%lld places, %lld each, %lld inner", body, (long long)y.mirrored,
                 (long long)y.mirror_each, (long long)y.mirror_inner);
    arena_free(a);
}

static void test_mirrors(void **state) {
    enum { L2 = 1 << 16, LARGE = 1 << 24 };
#define ROWS_BOTH_WAYS "256, 1024]) {\n %f = flip(%x, [0])\n %y = add(%x, %f)\n"
    check_mirror(ROWS_BOTH_WAYS, L2, "x=1 r=256 warps=2 vec=4", 256, 1, 4);
    check_mirror(ROWS_BOTH_WAYS, L2, "x=2 r=256 warps=4 vec=4", 256, 2, 4);
    check_mirror(ROWS_BOTH_WAYS, LARGE, "x=1 r=256 warps=2 vec=4", 0, 0, 0);
    /* behind each other, and with rows of theirs: blocks are parts of 8 rows, or more than these */
#define MIDDLE "4, 64, 8, 64]) {\n %f = flip(%x, [1])\n %y = mul(%x, %f)\n"
    check_mirror(MIDDLE, L2, "x=1 r=256 warps=2 vec=4", 64, 1, 2);
    /* rows that are reduced: both ends, and both halves */
    check_mirror("256, 1024]) {\n %f = flip(%x, [0])\n %z = add(%x, %f)\n %y = sum(%z, 1)\n", L2,
                 "x=2 r=512 warps=8 vec=4", 256, 2, 1);
    check_mirror("64, 32, 64]) {\n %f = sin(%x)\n %z = cat([%x, %f], 0)\n %y = sum(%z, 1)\n", L2,
                 "x=32 r=32 warps=8 vec=4", 128, 1, 2);
    /* columns, and what is only moved on */
    check_mirror("65536]) {\n %f = flip(%x, [0])\n %y = add(%x, %f)\n", L2,
                 "x=1 r=256 warps=2 vec=4", 256, 1, 1);
    check_mirror("256, 1024]) {\n %f = roll(%x, [1], [0])\n %y = add(%x, %f)\n", L2,
                 "x=1 r=256 warps=2 vec=4", 0, 0, 0);
}

/* A reduction that stores nothing along its axes goes as what it loads lies in memory. */
static void test_reduced_order(void **state) {
    struct arena *a = arena_new();
    struct device_limits limits = test_gpu("sm_90a");
    struct kernel *k = first_kernel(a,
                                    "graph(%x: f32[48, 16, 32]) {\n %p = permute(%x, [1, 2, 0])\n"
                                    " %s = sum(%p, [1, 2])\n return %s\n}\n",
                                    &limits);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_LOAD)
            assert_true(index_runs(k, k->values.at[v].index, AXIS_R, 32));
    arena_free(a);
}

/* Pieces that read the same are a thread's; others are not. */
static void test_parts(void **state) {
    static const struct {
        const char *graph;
        int loads, stores;
    } cases[] = {
        {"graph(%x: f32[8, 64]) {\n %e = exp(%x)\n %c = cat([%x, %e], 0)\n return %c\n}\n", 1, 2},
        {"graph(%x: f32[8, 64]) {\n %e = exp(%x)\n %c = cat([%e, %x, %e], 1)\n return %c\n}\n", 1,
         3},
        {"graph(%x: f32[8, 64], %y: f32[8, 64]) {\n %c = cat([%x, %y], 0)\n return %c\n}\n", 2, 1},
        /* by vectors, of which none has elements of both: one load chooses where it reads */
        {"graph(%x: f32[8, 64]) {\n %s = slice(%x, 1, 0, 63)\n %c = cat([%x, %s], 1)\n return "
         "%c\n}\n",
         1, 1},
        {"graph(%x: f32[8, 63]) {\n %s = slice(%x, 1, 0, 62)\n %c = cat([%x, %s], 1)\n return "
         "%c\n}\n",
         2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct device_limits limits = test_gpu("sm_90a");
        struct kernel *k = first_kernel(a, cases[i].graph, &limits);
        int loads = 0;
        for (value_id v = 0; v < k->values.n; v++) loads += k->values.at[v].kind == INST_LOAD;
        if (loads != cases[i].loads || (int)k->stores.n != cases[i].stores)
            fail_msg("%s\n%d loads, %u stores", cases[i].graph, loads, k->stores.n);
        arena_free(a);
    }
}

/* A factor that is the same in all calls is read as its image or, where that is less, as what it is
 * made of, in whatever order; but what is read for something else, too, is read as it lies. */
static void test_bytes_of_calls(void **state) {
    enum { N = 64, WEIGHTS = N * N, SCALES = N * 2 };
    static const struct {
        const char *a, *b, *y; /* the factors, and what is made of their product p */
        double of_weights;     /* bytes of w and s */
    } cases[] = {
        {"relu(%x)", "relu(%h)", "relu(%p)", WEIGHTS},
        {"relu(%h)", "relu(%x)", "relu(%p)", WEIGHTS},
        {"relu(%x)", "mul(%h, %s)", "relu(%p)", WEIGHTS + SCALES},
        {"relu(%x)", "mul(%s, %h)", "relu(%p)", WEIGHTS + SCALES},
        {"relu(%x)", "mul(%h, %t)", "relu(%p)", WEIGHTS},
        {"mul(%s, %h)", "relu(%x)", "relu(%p)", WEIGHTS + SCALES},
        {"add(%x, %h)", "mul(%s, %h)", "relu(%p)", WEIGHTS + SCALES},
        {"relu(%x)", "mul(%s, %h)", "add(%p, %h)", WEIGHTS + SCALES},
        {"relu(%x)", "mul(%h, %g)", "add(%p, %g)", 2 * WEIGHTS},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        check_bytes_with(
            arena_printf(a,
                         "graph(%%x: bf16[64, 64] = L['x'],\n"
                         " %%w: i8[64, 64] = parameter L['self'].w,\n"
                         " %%v: i8[64, 64] = parameter L['self'].v,\n"
                         " %%s: bf16[64] = parameter L['self'].s) {\n"
                         " %%h = to(%%w, dtype=bf16)\n %%g = to(%%v, dtype=bf16)\n %%t = t(%%h)\n"
                         " %%a = %s\n %%b = %s\n %%p = mm(%%a, %%b)\n %%y = %s\n"
                         " return %%y\n}\n",
                         cases[i].a, cases[i].b, cases[i].y),
            "fixed", N * N * 2 + cases[i].of_weights, N * N * 2);
        arena_free(a);
    }
}

/* A weight of gigabytes whose rows are so long that tiles reach over many pages is packed at load,
 * and its lines are stacked, for few rows; a smaller one, or that of calls, is read as it lies. */
static void test_far_apart(void **state) {
    static const struct {
        int rows, columns, depth;
        const char *words;
        bool stacked;
    } cases[] = {{128, 32768, 32768, "fixed", true},   {128, 32768, 32768, "", false},
                 {129, 32768, 32768, "fixed", false},  {128, 4096, 32768, "fixed", false},
                 {128, 65536, 16384, "fixed", false},  {128, 8192, 32768, "fixed", true},
                 {128, 131072, 32768, "fixed", false}, {128, 8192, 32776, "fixed", false}};
    struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    gpu.memory_bytes = INT64_C(140) << 30;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const char *text = arena_printf(
            a,
            "graph(%%x: f32[%d, %d] = L['x'], %%w: f32[%d, %d] = parameter L['self'].w) products "
            "tf32 {\n %%t = t(%%w)\n %%y = mm(%%x, %%t)\n return %%y\n}\n",
            cases[i].rows, cases[i].depth, cases[i].columns, cases[i].depth);
        const struct kernel *k =
            must_build(must_schedule(a, text, cases[i].words, &gpu, false), 0, &gpu);
        struct config c = kernel_default_config(k, a);
        struct layout y;
        assert_null(kernel_layout(k, &c, &y, a));
        assert_non_null(y.product);
        if (y.product->b.stacked != cases[i].stacked)
            fail_msg("%d x %d x %d, %s: %s", cases[i].rows, cases[i].columns, cases[i].depth,
                     cases[i].words, config_str(a, &c));
        arena_free(a);
    }
}

static enum kernel_kind kind_of(const char *text, const struct device_limits *limits) {
    struct arena *a = arena_new();
    struct schedule *s = must_schedule(a, text, "", limits, false);
    assert_int_equal(s->groups.n, 1);
    enum kernel_kind kind = must_build(s, 0, limits)->kind;
    arena_free(a);
    return kind;
}

/* A depthwise convolution and what follows it is straight-line code on its taps: of how many, of
 * which types and sizes. */
static void test_taps(void **state) {
    static const struct {
        const char *dtype;
        int size, window;
        enum kernel_kind cpu, gpu;
    } cases[] = {
        {"f32", 56, 3, KERNEL_POINTWISE, KERNEL_POINTWISE},
        {"f32", 56, 7, KERNEL_POINTWISE, KERNEL_POINTWISE},
        {"bf16", 14, 3, KERNEL_POINTWISE, KERNEL_POINTWISE},
        {"f16", 7, 3, KERNEL_POINTWISE, KERNEL_POINTWISE},
        {"f32", 28, 11, KERNEL_POINTWISE, KERNEL_REDUCE},
        {"f32", 28, 13, KERNEL_REDUCE, KERNEL_REDUCE},
        {"f64", 28, 3, KERNEL_REDUCE, KERNEL_POINTWISE},
        {"f32", 2, 3, KERNEL_REDUCE, KERNEL_POINTWISE},
    };
    struct arena *a = arena_new();
    const struct device_limits cpu = test_cpu(), gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *t = cases[i].dtype;
        int n = cases[i].size, k = cases[i].window;
        const char *text = arena_printf(
            a,
            "graph(%%x: %s[4, 8, %d, %d], %%w: %s[8, 1, %d, %d], %%b: %s[8]) {\n"
            " %%c = convolution(%%x, %%w, %%b, 1, %d, 1, False, 0, 8)\n %%n = special_ndtr(%%c)\n"
            " %%y = mul(%%c, %%n)\n return %%y\n}\n",
            t, n, n, t, k, k, t, k / 2);
        if (kind_of(text, &cpu) != cases[i].cpu || kind_of(text, &gpu) != cases[i].gpu)
            fail_msg("%s: %s %d, window %d", text, t, n, k);
    }
    arena_free(a);
}

/* So are where a window's maximum is, whose rows are one axis, and the gradient of a pool, whose
 * windows begin at strides. */
static void test_taps_of_pools(void **state) {
    static const char *const cases[] = {
        "graph(%x: bf16[8, 112, 112]) {\n"
        " %w = windows(%x, [3, 3], [2, 2], [1, 1], [1, 1], False, -1)\n"
        " %v = view(%w, [8, 56, 56, 9])\n %y = argmax(%v, 3)\n return %y\n}\n",
        "graph(%g: bf16[64, 56, 56]) {\n %p = constant_pad_nd(%g, [1, 1], 0)\n"
        " %i = arange(1, 113)\n %q = floor_divide(%i, 2)\n %c = view(%q, [112, 1])\n"
        " %t = arange(0, 2)\n %j = add(%c, %t)\n %e = index(%p, [%j], [2])\n"
        " %y = sum(%e, 3)\n return %y\n}\n",
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (kind_of(cases[i], &gpu) != KERNEL_POINTWISE) fail_msg("%s", cases[i]);
}

/* Straight-line code is one thread's: where windows are fewer than a GPU has warps' lanes, and not
 * done at once, lanes share them. */
static void test_few_windows(void **state) {
    static const struct {
        int rows, columns, size;
        const char *of;
        enum kernel_kind kind;
    } cases[] = {
        {7, 128, 6, "exp(%x)", KERNEL_REDUCE},
        {7, 16384, 6, "exp(%x)", KERNEL_POINTWISE},
        {2, 128, 2, "exp(%x)", KERNEL_POINTWISE},
        {5, 128, 5, "relu(%x)", KERNEL_POINTWISE},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text =
            arena_printf(a,
                         "graph(%%x: f16[%d, %d, %d]) {\n %%a = %s\n"
                         " %%y = sum(%%a, [0, 2])\n return %%y\n}\n",
                         cases[i].rows, cases[i].columns, cases[i].size, cases[i].of);
        if (kind_of(text, &gpu) != cases[i].kind) fail_msg("%s", text);
    }
    arena_free(a);
}

/* Where rows are long and their columns lie side by side, a block reads 64 bytes of each, which is
 * what an H200 fetches at a time: a norm over channels, channels last, and its gradient. */
static void test_runs_of_channels(void **state) {
    static const char *const cases[] = {
        "graph(%x: bf16[25088, 512], %y: bf16[25088, 512]) {\n %f = to(%x, f32)\n"
        " %m = mean(%f, 0)\n %d = sub(%f, %m)\n %q = mul(%d, %d)\n %v = mean(%q, 0)\n"
        " %r = rsqrt(%v)\n %n = mul(%d, %r)\n %b = to(%n, bf16)\n %a = add(%b, %y)\n"
        " %z = relu(%a)\n return %z, %m, %v\n}\n",
        "graph(%g: bf16[25088, 512], %x: bf16[25088, 512], %y: bf16[25088, 512]) {\n"
        " %f = to(%g, f32)\n %h = to(%x, f32)\n %i = to(%y, f32)\n %s = sum(%f, 0)\n"
        " %p = mul(%f, %h)\n %t = sum(%p, 0)\n %q = mul(%f, %i)\n %u = sum(%q, 0)\n"
        " %d = sub(%f, %s)\n %a = mul(%h, %t)\n %b = sub(%d, %a)\n %j = to(%b, bf16)\n"
        " %c = mul(%i, %u)\n %e = sub(%d, %c)\n %k = to(%e, bf16)\n return %j, %k\n}\n",
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct kernel *k = first_kernel(a, cases[i], &gpu);
        const struct config *c;
        struct layout y;
        int n, pruned;
        kernel_configs(k, a, &c, &n, &pruned);
        assert_null(kernel_layout(k, &c[0], &y, a));
        if (!y.rows_inner || y.bx * 2 < 64) fail_msg("%s%s", cases[i], config_str(a, &c[0]));
        arena_free(a);
    }
}

/* Sums of four elements, memory along x: no half of a block's threads has none, but for the
 * smallest blocks. */
static void test_short_columns(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    struct kernel *k =
        first_kernel(a, "graph(%x: bf16[760, 4, 8]) {\n %y = sum(%x, 1)\n return %y\n}\n", &gpu);
    const struct config *c;
    int n, pruned;
    (void)state;
    kernel_configs(k, a, &c, &n, &pruned);
    assert_int_equal(k->kind, KERNEL_REDUCE);
    for (int i = 0; i < n; i++) {
        struct layout y;
        assert_null(kernel_layout(k, &c[i], &y, a));
        if (y.threads > 64 && y.t1 / 2 >= 4) fail_msg("%s", config_str(a, &c[i]));
    }
    arena_free(a);
}

/* Eight columns of 16 bits are a vector: one thread has them, and the others have other rows. */
static void test_few_columns(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    struct kernel *k =
        first_kernel(a, "graph(%x: bf16[3040, 8]) {\n %y = amax(%x, 0)\n return %y\n}\n", &gpu);
    const struct config *c;
    int n, pruned;
    bool whole = false;
    (void)state;
    kernel_configs(k, a, &c, &n, &pruned);
    for (int i = 0; i < n; i++) {
        if (c[i].knob[KNOB_x] >= 16) fail_msg("%s", config_str(a, &c[i]));
        whole |= c[i].knob[KNOB_x] == 8 && c[i].knob[KNOB_vec] == 8;
    }
    assert_true(whole);
    arena_free(a);
}

static struct config default_of(const struct schedule *s, uint32_t g,
                                const struct device_limits *limits, struct arena *a) {
    const struct config *c;
    int n, pruned;
    kernel_configs(must_build(s, g, limits), a, &c, &n, &pruned);
    return c[0];
}

/* More elements than L2 holds go through it by small blocks whose threads read little; the last
 * kernel's loads leave L2 last, as those of no other do. */
static void test_streams(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s = must_schedule(
        a, "graph(%x: f32[268435456]) {\n %y = relu(%x)\n return %y\n}\n", "", &gpu, false);
    struct config c = default_of(s, 0, &gpu, a);
    assert_string_equal(config_str(a, &c), "x=1 r=1024 warps=4 vec=4 stay_l2=1");
    s = must_schedule(a, "graph(%x: f32[1000000]) {\n %y = relu(%x)\n return %y\n}\n", "", &gpu,
                      false);
    assert_false(default_of(s, 0, &gpu, a).knob[KNOB_stay_l2]);
    s = must_schedule(a,
                      "graph(%x: f32[268435456], %z: f32[134217728]) {\n %y = relu(%x)\n"
                      " %w = sin(%z)\n return %y, %w\n}\n",
                      "", &gpu, false);
    assert_int_equal(s->groups.n, 2);
    assert_false(default_of(s, 0, &gpu, a).knob[KNOB_stay_l2]);
    assert_true(default_of(s, 1, &gpu, a).knob[KNOB_stay_l2]);
    arena_free(a);
}

/* Parts of rows are not little more than one wave of blocks if registers are fewer than guessed. */
static void test_waves_of_parts(void **state) {
    enum { ROWS = 64, LITTLE_MORE = 140 }; /* per cent of a wave */
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s =
        must_schedule(a,
                      "graph(%x: f32[64, 64, 512, 512]) {\n %s = sum(%x, [0, 2, 3])\n"
                      " %y = m2(%x, [0, 2, 3])\n return %s, %y\n}\n",
                      "", &gpu, false);
    assert_int_equal(s->groups.n, 1);
    struct config c = default_of(s, 0, &gpu, a);
    int blocks = ROWS / c.knob[KNOB_x] * c.knob[KNOB_split];
    for (int of_unit = 1; of_unit * c.knob[KNOB_warps] <= 64; of_unit++) {
        int part = 100 * blocks / (of_unit * gpu.units);
        if (of_unit <= 3 && part > 100 && part < LITTLE_MORE)
            fail_msg("%s: %d %% of a wave", config_str(a, &c), part);
    }
    arena_free(a);
}

/* Rows of an odd number of elements: a warp reads as many neighbours as there are in vectors, so
 * that fewer sectors are two warps'. */
static void test_torn_rows(void **state) {
    enum { LONG_RUN = 512 };
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s = must_schedule(
        a, "graph(%x: f32[128, 4096, 4095]) {\n %s = sum(%x, 1)\n return %s\n}\n", "", &gpu, false);
    struct config c = default_of(s, 0, &gpu, a);
    if (gpu.warp * c.knob[KNOB_vec] * 4 < LONG_RUN) fail_msg("%s", config_str(a, &c));
    arena_free(a);
}

/* What moves little takes as long as one of its threads: these have few elements each, and no hints
 * about caches. */
static void test_short_kernels(void **state) {
    enum { FEW = 4 };
    static const char *const texts[] = {
        "graph(%x: f32[900]) {\n %y = tanh(%x)\n %z = exp(%y)\n return %z\n}\n",
        "graph(%x: f32[6, 30, 5]) {\n %t = tanh(%x)\n %y = mul(%x, %x)\n %s = sum(%y, [0, 2])\n"
        " return %s, %t\n}\n",
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena *a = arena_new();
        struct schedule *s = must_schedule(a, texts[i], "", &gpu, false);
        struct kernel *k = must_build(s, 0, &gpu);
        struct config c = default_of(s, 0, &gpu, a);
        struct layout y;
        assert_null(kernel_layout(k, &c, &y, a));
        if (y.ur * y.vec * y.ex > FEW || y.skip_l1 || y.leave_l2 || y.stay_l2)
            fail_msg("%s", config_str(a, &c));
        arena_free(a);
    }
}

/* Columns that fill the device are summed up by blocks alone; neighbours that no vector has are
 * read by threads that have one each. */
static void test_tiles_of_columns(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s = must_schedule(
        a, "graph(%x: bf16[752, 203776]) {\n %f = float(%x)\n %y = sum(%f, 0)\n return %y\n}\n", "",
        &gpu, false);
    struct config c = default_of(s, 0, &gpu, a);
    if (c.knob[KNOB_cluster]) fail_msg("%s", config_str(a, &c));
    s = must_schedule(a, "graph(%x: f32[272, 243, 8, 25]) {\n %y = softmax(%x, 2)\n return %y\n}\n",
                      "", &gpu, false);
    c = default_of(s, 0, &gpu, a);
    if (c.knob[KNOB_vec] != 1) fail_msg("%s", config_str(a, &c));
    arena_free(a);
}

/* Of what lands on elements beside each other each thread has a list of its own: those of a block
 * would part the threads of a warp. */
static void test_landing_beside(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s = must_schedule(
        a,
        "graph(%x: bf16[199966, 256], %i: i64[256]) {\n %z = zeros([199966, 64], dtype=bf16)\n"
        " %y = index_add(%z, 1, %i, %x)\n return %y\n}\n",
        "", &gpu, false);
    struct config c = default_of(s, s->groups.n - 1, &gpu, a);
    assert_non_null(must_build(s, s->groups.n - 1, &gpu)->landing);
    if (c.knob[KNOB_sort] != 2) fail_msg("%s", config_str(a, &c));
    arena_free(a);
}

/* Compilers are told how many blocks there are registers for if all that a step loads is under way;
 * nothing of transcendental functions. */
static void test_blocks_loading(void **state) {
    static const struct {
        const char *of, *config;
        int blocks;
    } cases[] = {
        {"abs(%d)", "x=1 r=16384 warps=16 vec=4 split=2048 last_block=1", 1},
        {"abs(%d)", "x=1 r=8192 warps=16 vec=4 split=2048 last_block=1", 2},
        {"abs(%d)", "x=1 r=1024 warps=4 vec=4 split=2048 last_block=1", 11},
        {"exp(%d)", "x=1 r=8192 warps=16 vec=4 split=2048 last_block=1", 0},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text =
            arena_printf(a,
                         "graph(%%x: f32[67108864], %%y: f32[67108864]) {\n %%d = sub(%%x, %%y)\n"
                         " %%e = %s\n %%s = sum(%%e, 0)\n return %%s\n}\n",
                         cases[i].of);
        struct kernel *k = must_build(must_schedule(a, text, "", &gpu, false), 0, &gpu);
        struct config c;
        struct diag d = diag_new(a);
        struct layout y;
        assert_true(config_parse(cases[i].config, &c, &d));
        assert_null(kernel_layout(k, &c, &y, a));
        assert_int_equal(kernel_blocks_loading(k, &y), cases[i].blocks);
    }
    arena_free(a);
}

/* A warp reads a part of a line where each element is several neighbours', and the next one the
 * rest: loads leave a copy in L1. */
static void test_repeated_elements(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    (void)state;
    struct schedule *s = must_schedule(
        a,
        "graph(%x: i8[1024, 128, 1024], %w: f32[1024], %i: i64[32]) {\n %f = float(%x)\n"
        " %m = mul(%f, %w)\n %p = permute(%m, [2, 0, 1])\n %u = unflatten(%p, 2, [4, 32])\n"
        " %z = zeros([1024, 1024, 4, 8], f32)\n %y = index_add(%z, 3, %i, %u)\n return %y\n}\n",
        "", &gpu, false);
    assert_int_equal(s->groups.n, 1);
    struct config c = default_of(s, 0, &gpu, a);
    if (c.knob[KNOB_skip_l1]) fail_msg("%s", config_str(a, &c));
    arena_free(a);
}

/* Many small products go by single warps, on the matrix units. */
static void test_small_products(void **state) {
    const struct device_limits gpu = test_gpu("sm_90a");
    struct arena *a = arena_new();
    struct kernel *k = first_kernel(a,
                                    "graph(%x: bf16[2048, 9, 64]) {\n"
                                    " %t = permute(%x, [0, 2, 1])\n %y = bmm(%x, %t)\n"
                                    " return %y\n}\n",
                                    &gpu);
    const struct config *c;
    int n, pruned;
    (void)state;
    kernel_configs(k, a, &c, &n, &pruned);
    if (c->knob[KNOB_mma] != 2 || c->knob[KNOB_m] != 16 || c->knob[KNOB_warps] != 1)
        fail_msg("%s", config_str(a, c));
    arena_free(a);
}

/* How far the first load moves as x goes on by `by`. */
static int64_t load_step(const struct kernel *k, int64_t by) {
    const struct value_node *load = NULL;
    for (value_id v = 0; v < k->values.n && !load; v++)
        if (k->values.at[v].kind == INST_LOAD && k->values.at[v].mask & MASK_R)
            load = &k->values.at[v];
    ex to = ex_const(k->ex, by), from = ex_const(k->ex, 0), x = k->axis[AXIS_X];
    ex step = ex_sub(k->ex, ex_subst(k->ex, load->index, &x, &to, 1),
                     ex_subst(k->ex, load->index, &x, &from, 1));
    int64_t apart;
    assert_true(ex_is_const(k->ex, step, &apart));
    return apart;
}

/* What is stored across what is read: neighbours read side by side, after a sector of eight floats.
 * What lands on rows keeps them in order. */
static void test_reads_across(void **state) {
    static const struct {
        const char *text;
        int64_t by, step;
    } cases[] = {
        {"graph(%x: f32[16, 9, 64, 512]) {\n %s = sum(%x, 1)\n %p = permute(%s, [2, 0, 1])\n"
         " %y = mul(%p, 2)\n return %y\n}\n",
         8, 1},
        {"graph(%x: f32[16, 9, 8, 512]) {\n %s = sum(%x, 1)\n %p = permute(%s, [2, 0, 1])\n"
         " %y = mul(%p, 2)\n return %y\n}\n",
         8, 1},
        {"graph(%x: f32[16, 9, 65, 512]) {\n %s = sum(%x, 1)\n %p = permute(%s, [2, 0, 1])\n"
         " %y = mul(%p, 2)\n return %y\n}\n",
         1, 512},
        {"graph(%x: f32[16, 9, 64, 512]) {\n %y = sum(%x, 1)\n return %y\n}\n", 1, 1},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct kernel *k = first_kernel(a, cases[i].text, &gpu);
        if (load_step(k, cases[i].by) != cases[i].step)
            fail_msg("%s: %lld", cases[i].text, (long long)load_step(k, cases[i].by));
        arena_free(a);
    }
}

/* Of few filters for each element that is read, the matrix units would have little to do: a thread
 * has all of a group's, if they are few, and reads their windows once. */
static void test_few_filters(void **state) {
    static const struct {
        const char *dtype;
        int channels, filters, groups;
        enum kernel_kind kind;
        uint32_t stores;
    } cases[] = {
        {"bf16", 128, 128, 32, KERNEL_POINTWISE, 4}, {"f32", 128, 128, 32, KERNEL_POINTWISE, 4},
        {"f16", 64, 32, 16, KERNEL_POINTWISE, 2},    {"bf16", 256, 256, 32, KERNEL_MATMUL, 1},
        {"bf16", 64, 64, 1, KERNEL_MATMUL, 1},       {"bf16", 4, 64, 1, KERNEL_MATMUL, 1},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const char *t = cases[i].dtype;
        int c = cases[i].channels, f = cases[i].filters, g = cases[i].groups;
        const char *text = arena_printf(
            a,
            "graph(%%x: %s[16, %d, 56, 56], %%w: %s[%d, %d, 3, 3]) {\n"
            " %%y = convolution(%%x, %%w, None, 1, 1, 1, False, 0, %d)\n return %%y\n}\n",
            t, c, t, f, c / g, g);
        struct kernel *k = first_kernel(a, text, &gpu);
        if (k->kind != cases[i].kind || k->stores.n != cases[i].stores)
            fail_msg("%s: kind %d, %u stores", text, (int)k->kind, k->stores.n);
        arena_free(a);
    }
}

/* Windows one below the other share lines: a thread has as many as share most, of those that divide
 * the rows and leave enough threads. */
static void test_windows_below(void **state) {
    static const struct {
        int batch, size, window, stride, dilation;
        uint32_t stores;
    } cases[] = {
        {16, 112, 3, 1, 1, 8}, {16, 56, 5, 1, 1, 8}, {64, 14, 3, 1, 1, 1}, {128, 7, 5, 1, 1, 7},
        {16, 112, 3, 2, 1, 4}, {16, 56, 5, 2, 1, 4}, {16, 53, 3, 1, 1, 1}, {16, 56, 1, 1, 1, 1},
        {16, 56, 3, 3, 1, 1},  {16, 56, 3, 1, 2, 8}, {1, 14, 3, 1, 1, 1},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        int n = cases[i].size, w = cases[i].window, d = cases[i].dilation;
        const char *text = arena_printf(
            a,
            "graph(%%x: bf16[%d, 128, %d, %d], %%w: bf16[128, 1, %d, %d]) {\n"
            " %%y = convolution(%%x, %%w, None, %d, %d, %d, False, 0, 128)\n return %%y\n}\n",
            cases[i].batch, n, n, w, w, cases[i].stride, w / 2 * d, d);
        struct kernel *k = first_kernel(a, text, &gpu);
        if (k->stores.n != cases[i].stores) fail_msg("%s: %u stores", text, k->stores.n);
        arena_free(a);
    }
}

/* Rows that are scanned and reduced: what fusion takes for a kernel has configs. */
static void test_scanned_rows(void **state) {
    static const char *const bodies[] = {
        "%%p = softmax(%%x, %d)\n %%c = cumsum(%%p, %d)\n return %%c\n}\n",
        "%%q = mul(%%x, %%y)\n %%n = amax(%%q, %d, True)\n %%d = sub(%%q, %%n)\n"
        " %%f = flip(%%d, [0])\n %%e = add(%%d, %%f)\n %%c = cumsum(%%e, %d)\n return %%c\n}\n",
        "%%c = cumsum(%%x, %d)\n %%s = sum(%%c, %d, True)\n %%d = div(%%c, %%s)\n"
        " return %%d, %%s\n}\n",
        "%%c = cumsum(%%x, %d)\n %%s = sum(%%x, %d)\n return %%c, %%s\n}\n",
    };
    static const char *const types[] = {"f32", "bf16", "f64"}, *const archs[] = {"sm_90a", "sm_80"};
    static const int sizes[] = {2, 33, 511, 512, 1000, 1024, 1025, 3001, 8192, 16384, 32768, 70001};
    static const int others[] = {1, 5, 33, 1000};
    enum { SIZES = sizeof sizes / sizeof *sizes, OTHERS = sizeof others / sizeof *others };
    int n = 0, sum = 0;
    (void)state;
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 3; t++)
            for (int i = 0; i < SIZES * OTHERS * 2; i++) {
                struct arena *a = arena_new();
                int along = i % 2, size = sizes[i / 2 % SIZES], other = others[i / 2 / SIZES];
                struct device_limits limits = test_gpu(archs[n % 2]);
                if (n % 3 == 2) limits.max_threads_block = 128;
                struct buf text = buf_new(a);
                buf_printf(&text, "graph(%%x: %s[%d, %d], %%y: %s[%d, %d]) {\n ", types[t],
                           along ? other : size, along ? size : other, types[t],
                           along ? other : size, along ? size : other);
                buf_puts(&text, arena_printf(a, bodies[b], along, along));
                if (n++ % PART == 0) sum += check_space(text.p, &limits);
                arena_free(a);
            }
    assert_true(sum > 0);
    struct device_limits limits = test_gpu("sm_90a");
    check_space("graph(%x: f32[s0, s1]) {\n %p = softmax(%x, 1)\n %c = cumsum(%p, 1)\n"
                " %s = sum(%c, 1)\n return %c, %s\n}\n",
                &limits);
}

/* What first guesses have to have: tiles in shared memory of what is transposed to short rows,
 * where a reshape takes an axis apart, too, and vectors of rows that none divides; rows that a
 * thread scans several of, and vectors of one that none divides; lists of what lands on a slice;
 * and, of what is the same along rows, as many threads as there is room for. */
static void test_guesses(void **state) {
    static const struct {
        const char *text;
        enum knob knob;
        int least;
    } cases[] = {
        {"graph(%x: bf16[4, 4, 168, 1568, 16]) {\n %p = permute(%x, [3, 4, 0, 2, 1])\n"
         " %c = contiguous(%p)\n %v = view(%c, [1568, 64, 168, 4])\n %y = mul(%v, 0.5)\n"
         " return %y\n}\n",
         KNOB_turn, 1},
        {"graph(%x: bf16[16, 8, 56, 256, 36]) {\n %p = permute(%x, [2, 4, 0, 3, 1])\n"
         " %y = contiguous(%p)\n return %y\n}\n",
         KNOB_turn, 1},
        {"graph(%x: bf16[271557, 64]) {\n %p = permute(%x, [1, 0])\n %y = mul(%p, 2)\n return "
         "%y\n}\n",
         KNOB_turn, 1},
        {"graph(%x: bf16[271557, 64]) {\n %p = permute(%x, [1, 0])\n %y = mul(%p, 2)\n return "
         "%y\n}\n",
         KNOB_vec, 4},
        {"graph(%x: bf16[618496, 12]) {\n %y = cumsum(%x, 1)\n return %y\n}\n", KNOB_rows, 2},
        {"graph(%x: f16[24361319]) {\n %y = cumsum(%x, 0)\n return %y\n}\n", KNOB_vec, 4},
        {"graph(%x: f16[1634126], %i: i64[1634126], %s: f16[1634126]) {\n"
         " %a = index_add(%x, 0, %i, %s)\n %b = slice(%a, 0, 222894, 1570242, 1)\n"
         " %y = mul(%b, 2)\n return %y\n}\n",
         KNOB_hits, 1},
        {"graph(%x: f32[32768]) {\n %f = flip(%x, [0])\n %s = add(%x, %f)\n"
         " %u = unsqueeze(%s, 1)\n %y = expand(%u, [32768, 256])\n %z = contiguous(%y)\n"
         " return %z\n}\n",
         KNOB_warps, 8},
    };
    const struct device_limits gpu = test_gpu("sm_90a");
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        const struct schedule *s = must_schedule(a, cases[i].text, "", &gpu, false);
        struct config c = default_of(s, s->groups.n - 1, &gpu, a);
        if (c.knob[cases[i].knob] < cases[i].least)
            fail_msg("%s: %s", cases[i].text, config_str(a, &c));
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guesses),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_wide_index),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_strict_products),
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_symbolic),
        cmocka_unit_test(test_tiny_devices),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_repeated_elements),
        cmocka_unit_test(test_torn_rows),
        cmocka_unit_test(test_short_kernels),
        cmocka_unit_test(test_tiles_of_columns),
        cmocka_unit_test(test_landing_beside),
        cmocka_unit_test(test_blocks_loading),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_mirrors),
        cmocka_unit_test(test_reduced_order),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_columns_scanned),
        cmocka_unit_test(test_taps),
        cmocka_unit_test(test_taps_of_pools),
        cmocka_unit_test(test_few_windows),
        cmocka_unit_test(test_reads_across),
        cmocka_unit_test(test_runs_of_channels),
        cmocka_unit_test(test_short_columns),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_few_filters),
        cmocka_unit_test(test_rows_looked_up),
        cmocka_unit_test(test_edges_of_bands),
        cmocka_unit_test(test_scanned_rows),
        cmocka_unit_test(test_bytes_of_calls),
        cmocka_unit_test(test_far_apart),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_even_tiles),
        cmocka_unit_test(test_few_steps_in_turn),
        cmocka_unit_test(test_even_windows),
        cmocka_unit_test(test_windows_below),
        cmocka_unit_test(test_lying_images),
        cmocka_unit_test(test_even_steps),
        cmocka_unit_test(test_small_products),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_waves_of_parts),
        cmocka_unit_test(test_tiles_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

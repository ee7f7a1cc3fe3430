/* test_loop_lower.c: what lowering makes of views, broadcasts, reductions, products, creations and
 * outputs; which inputs it refuses; and each invariant of loop.h broken by hand and found. */
#include "lower_test.h"

/* The printed nest that writes the last buffer of the given graph, without its first line. */
static const char *body_of(struct arena *a, const char *text, const char *sizes) {
    struct loops *l = must_lower(a, text, sizes);
    struct buf b = buf_new(a);
    nest_print(&b, l, &vec_last(&l->nests));
    return strchr(b.p, '\n') + 1;
}

struct lowered {
    const char *inputs, *nodes, *body;
};

static void check_all(const struct lowered *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct arena *a = arena_new();
        char *text = arena_printf(a, "graph(%s) {\n%s\n return %%y\n}\n", c[i].inputs, c[i].nodes);
        const char *got = body_of(a, text, "s0=6 s1=4");
        if (strcmp(got, c[i].body)) fail_msg("%s\nis\n%snot\n%s", text, got, c[i].body);
        arena_free(a);
    }
}
#define CHECK_ALL(cases) check_all(cases, sizeof cases / sizeof *cases)

/* A view is the index with which its reader reads. */
static void test_views(void **state) {
    static const struct lowered cases[] = {
        {"%x: f32[4, 6]", "%v = view(%x, [24]) %y = exp(%v)",
         "    v0 = load b0[i0 // 6, i0 % 6] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[24]", "%v = view(%x, [4, 6]) %y = exp(%v)",
         "    v0 = load b0[i0*6 + i1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[4, 6]", "%v = view(%x, [4, 2, 3]) %y = exp(%v)",
         "    v0 = load b0[i0, i1*3 + i2] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[2, 3, 4]", "%v = permute(%x, [2, 0, 1]) %y = exp(%v)",
         "    v0 = load b0[i1, i2, i0] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[3, 1]", "%v = expand(%x, [2, 3, 4]) %y = exp(%v)",
         "    v0 = load b0[i1, 0] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[9, 8]", "%v = slice(%x, 0, 2, 9, 3) %y = exp(%v)",
         "    v0 = load b0[i0*3 + 2, i1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[3, 4]", "%v = unsqueeze(%x, 1) %y = exp(%v)",
         "    v0 = load b0[i0, i1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[3, 1, 4]", "%v = squeeze(%x, 1) %y = exp(%v)",
         "    v0 = load b0[i0, 0, i1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[3, 4]", "%v = squeeze(%x, 1) %y = exp(%v)",
         "    v0 = load b0[i0, i1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[4, 6]", "%u = permute(%x, [1, 0]) %v = slice(%u, 0, 1, 5) %y = exp(%v)",
         "    v0 = load b0[i1, i0 + 1] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[4, 0]", "%v = view(%x, [2, 2, 0]) %y = exp(%v)",
         "    v0 = const 0 : f32\n"}, /* never read */
        {"%x: f32[s0, s1]", "%v = view(%x, [s0*s1]) %y = exp(%v)",
         "    v0 = load b0[i0 // s1, i0 % s1] : f32\n    v1 = exp(v0) : f32\n"},
    };
    CHECK_ALL(cases);
}

static void test_pointwise(void **state) {
    static const struct lowered cases[] = {
        {"%x: f32[4, 6], %b: f32[6]", "%y = add(%x, %b)",
         "    v0 = load b0[i0, i1] : f32\n    v1 = load b1[i1] : f32\n    v2 = add(v0, v1) : "
         "f32\n"},
        {"%x: f32[4, 6], %b: f32[4, 1]", "%y = sub(%x, %b)",
         "    v0 = load b0[i0, i1] : f32\n    v1 = load b1[i0, 0] : f32\n    v2 = sub(v0, v1) : "
         "f32\n"},
        {"%x: i64[4], %z: f32[4]", "%y = lt(%x, %z)", /* compared in f32, not in bool */
         "    v0 = load b0[i0] : i64\n    v1 = to(v0) : f32\n    v2 = load b1[i0] : f32\n"
         "    v3 = lt(v1, v2) : bool\n"},
        {"%x: i32[4]", "%y = gt(%x, 0.5)", /* a float makes it a comparison of floats */
         "    v0 = load b0[i0] : i32\n    v1 = to(v0) : f32\n    v2 = const 0.5 : f32\n"
         "    v3 = gt(v1, v2) : bool\n"},
        {"%x: bf16[4]", "%y = to(%x, dtype=f32)",
         "    v0 = load b0[i0] : bf16\n    v1 = to(v0) : f32\n"},
        {"%x: bf16[4], %z: f32[4]",
         "%y = mul(%x, %z)", /* both compute in f32: nothing to convert */
         "    v0 = load b0[i0] : bf16\n    v1 = load b1[i0] : f32\n    v2 = mul(v0, v1) : f32\n"},
        {"%c: bool[4], %x: i64[4]", "%y = where(%c, %x, 1)",
         "    v0 = load b0[i0] : bool\n    v1 = load b1[i0] : i64\n    v2 = const 1 : i64\n"
         "    v3 = where(v0, v1, v2) : i64\n"},
        {"%x: f32[s0]", "%y = mul(%x, s0)",
         "    v0 = load b0[i0] : f32\n    v1 = index s0 : f32\n    v2 = mul(v0, v1) : f32\n"},
        {"%x: f32[]", "%y = exp(%x)", "    v0 = load b0[] : f32\n    v1 = exp(v0) : f32\n"},
        {"%x: f32[5]", "%f = full([5], 2.5) %y = add(%x, %f)",
         "    v0 = load b0[i0] : f32\n    v1 = const 2.5 : f32\n    v2 = add(v0, v1) : f32\n"},
        {"%x: f32[5]", "%f = full([5], s0, dtype=f32) %y = add(%x, %f)",
         "    v0 = load b0[i0] : f32\n    v1 = index s0 : f32\n    v2 = add(v0, v1) : f32\n"},
        {"%x: i64[3, 4]", "%f = arange(1, 9, 2) %y = add(%x, %f)",
         "    v0 = load b0[i0, i1] : i64\n    v1 = index i1*2 + 1 : i64\n    v2 = add(v0, v1) : "
         "i64\n"},
        {"%x: f32[4]", "%f = arange(0.0, 1.0, 0.25) %y = add(%x, %f)",
         "    v0 = load b0[i0] : f32\n    v1 = index i0 : f64\n    v2 = const 0.25 : f64\n"
         "    v3 = mul(v1, v2) : f64\n    v4 = const 0 : f64\n    v5 = add(v4, v3) : f64\n"
         "    v6 = to(v5) : f32\n    v7 = add(v0, v6) : f32\n"},
        {"%x: i64[4]", "%y = add(%x, 9007199254740993)",
         "    v0 = load b0[i0] : i64\n    v1 = const 9007199254740993 : i64\n"
         "    v2 = add(v0, v1) : i64\n"},
    };
    CHECK_ALL(cases);
}

static void test_reductions(void **state) {
    static const struct lowered cases[] = {
        {"%x: f32[4, 6]", "%y = sum(%x, 1)",
         "    v0 = load b0[i0, r0] : f32\n    v1 = reduce sum v0 : f32\n"},
        {"%x: f32[4, 6]", "%y = amin(%x, 0)",
         "    v0 = load b0[r0, i0] : f32\n    v1 = reduce amin v0 : f32\n"},
        {"%x: f32[4, 6]", "%y = prod(%x)",
         "    v0 = load b0[r0, r1] : f32\n    v1 = reduce prod v0 : f32\n"},
        {"%x: f32[4, 6, 2]", "%y = amax(%x, [0, 2], True)",
         "    v0 = load b0[r0, i0, r1] : f32\n    v1 = reduce amax v0 : f32\n"},
        {"%x: bool[4]", "%y = sum(%x)", /* of %x as i64, a nest before */
         "    v0 = load b1[r0] : i64\n    v1 = reduce sum v0 : i64\n"},
        {"%x: bool[4]", "%y = sum(%x, dtype=bool)", /* is any set, are all */
         "    v0 = load b0[r0] : bool\n    v1 = reduce amax v0 : bool\n"},
        {"%x: bool[4]", "%y = prod(%x, dtype=bool)",
         "    v0 = load b0[r0] : bool\n    v1 = reduce amin v0 : bool\n"},
        {"%x: f32[4, 1]", "%y = sum(%x, 1)",
         "    v0 = load b0[i0, 0] : f32\n"}, /* of one element: a copy */
        {"%x: f32[2, 3]", "%t = permute(%x, [1, 0]) %y = sum(%t, 1)",
         "    v0 = load b0[r0, i0] : f32\n    v1 = reduce sum v0 : f32\n"},
    };
    CHECK_ALL(cases);
}

static void test_products(void **state) {
    static const struct lowered cases[] = {
        {"%x: bf16[4, 6], %z: bf16[6, 5]", "%y = mm(%x, %z)", /* products in f32 */
         "    v0 = load b0[i0, r0] : bf16\n    v1 = load b1[r0, i1] : bf16\n    v2 = mul(v0, v1) : "
         "f32\n"
         "    v3 = reduce sum v2 : bf16\n"},
        {"%x: f32[2, 4, 6], %z: f32[2, 6, 5]", "%y = bmm(%x, %z)",
         "    v0 = load b0[i0, i1, r0] : f32\n    v1 = load b1[i0, r0, i2] : f32\n    v2 = mul(v0, "
         "v1) : f32\n"
         "    v3 = reduce sum v2 : f32\n"},
        {"%x: f32[4, 1], %z: f32[1, 5]", "%y = mm(%x, %z)", /* an outer product sums nothing */
         "    v0 = load b0[i0, 0] : f32\n    v1 = load b1[0, i1] : f32\n    v2 = mul(v0, v1) : "
         "f32\n"},
        {"%x: f32[4, 6], %z: f32[5, 6]", "%t = permute(%z, [1, 0]) %y = mm(%x, %t)",
         "    v0 = load b0[i0, r0] : f32\n    v1 = load b1[i1, r0] : f32\n    v2 = mul(v0, v1) : "
         "f32\n"
         "    v3 = reduce sum v2 : f32\n"},
    };
    CHECK_ALL(cases);
}

/* The weight first; one filter a group leaves a sum like any other. */
static void test_convolutions(void **state) {
    static const struct lowered cases[] = {
        {"%x: f32[2, 1, 3, 8], %w: f32[1, 4, 3, 5]",
         "%y = convolve(%x, %w, [1], [2], [1], False, [8])",
         "    v0 = load b1[0, i1, r0, r1] : f32\n"
         "    v1 = index 0 <= i2 + r1 - 2 and i2 + r1 - 2 < 8 : bool\n"
         "    v2 = load b0[i0, 0, r0, i2 + r1 - 2] if v1 : f32\n"
         "    v3 = const 0 : f32\n    v4 = where(v1, v2, v3) : f32\n    v5 = mul(v0, v4) : f32\n"
         "    v6 = reduce sum v5 : f32\n"},
        {"%x: f32[2, 4, 1, 8], %w: f32[4, 1, 1, 2]",
         "%y = convolve(%x, %w, [2], [0], [3], False, [3])",
         "    v0 = load b1[i1, 0, 0, r0] : f32\n    v1 = load b0[i0, i1, 0, i2*2 + r0*3] : f32\n"
         "    v2 = mul(v0, v1) : f32\n    v3 = reduce sum v2 : f32\n"},
    };
    CHECK_ALL(cases);
    struct arena *a = arena_new();
    struct loops *l = must_lower(a,
                                 "graph(%x: f32[2, 1, 3, 8], %w: f32[1, 4, 3, 5], %v: f32[1, 1, 3, "
                                 "5]) {\n %y = convolve(%x, %w, [1], [2], [1], False, [8])\n %z = "
                                 "convolve(%x, %v, [1], [2], [1], False, [8])\n return %y, %z\n}\n",
                                 "");
    assert_true(l->nests.at[0].matmul);
    assert_false(l->nests.at[1].matmul);
    arena_free(a);
}

/* Of what only a slice is read, only that is computed; of a scan what is before it, too. */
static void test_trimmed(void **state) {
    static const struct {
        const char *inputs, *nodes, *first;
    } cases[] = {
        {"%x: f32[4, 9]", "%e = exp(%x) %s = slice(%e, 1, 2, 7) %y = neg(%s)",
         "b1[i0: 4, i1: 5] = f32 e    # line 2\n    v0 = load b0[i0, i1 + 2] : f32\n    v1 = "
         "exp(v0) : f32\n"},
        {"%x: f32[4, 9]",
         "%e = exp(%x) %s = slice(%e, 1, 2, 7) %t = slice(%s, 1, 1, 3) %y = neg(%t)",
         "b1[i0: 4, i1: 2] = f32 e    # line 2\n    v0 = load b0[i0, i1 + 3] : f32\n    v1 = "
         "exp(v0) : f32\n"},
        {"%x: f32[4, 9]", "%e = cumsum(%x, 1) %s = slice(%e, 1, 2, 7) %y = neg(%s)",
         "b1[i0: 4, i1: 7] = f32 e, scan i1    # line 2\n    v0 = load b0[i0, i1] : f32\n"
         "    v1 = scan sum v0 : f32\n"},
        {"%x: f32[4, 9]", "%e = cumsum(%x, 1) %s = slice(%e, 1, 0, 7) %y = neg(%s)",
         "b1[i0: 4, i1: 7] = f32 e, scan i1    # line 2\n    v0 = load b0[i0, i1] : f32\n"
         "    v1 = scan sum v0 : f32\n"},
        /* two readers, and together all of it; windows */
        {"%x: f32[4, 8]",
         "%e = exp(%x) %s = slice(%e, 1, 0, 4) %t = slice(%e, 1, 4, 8) %y = mul(%s, %t)",
         "b1[i0: 4, i1: 8] = f32 e    # line 2\n    v0 = load b0[i0, i1] : f32\n    v1 = exp(v0) : "
         "f32\n"},
        {"%x: f32[4, 9]", "%e = exp(%x) %s = windows(%e, [2], [2], [0], [1]) %y = amax(%s, [2])",
         "b1[i0: 4, i1: 9] = f32 e    # line 2\n    v0 = load b0[i0, i1] : f32\n    v1 = exp(v0) : "
         "f32\n"},
        /* every second one; every third of what two read; of a scan all */
        {"%x: f32[4, 9]", "%e = exp(%x) %s = slice(%e, 1, 1, 8, 2) %y = neg(%s)",
         "b1[i0: 4, i1: 4] = f32 e    # line 2\n    v0 = load b0[i0, i1*2 + 1] : f32\n"
         "    v1 = exp(v0) : f32\n"},
        {"%x: f32[4, 20, 9]",
         "%e = sum(%x, 2) %s = slice(%e, 1, 1, 20, 3) %t = slice(%e, 1, 4, 17, 6) %u = sum(%t, 1, "
         "True) %y = sub(%s, %u)",
         "b1[i0: 4, i1: 7] = f32 e, reduce r0: 9    # line 2\n"
         "    v0 = load b0[i0, i1*3 + 1, r0] : f32\n    v1 = reduce sum v0 : f32\n"},
        {"%x: f32[4, 9]", "%e = cumsum(%x, 1) %s = slice(%e, 1, 1, 8, 2) %y = neg(%s)",
         "b1[i0: 4, i1: 9] = f32 e, scan i1    # line 2\n    v0 = load b0[i0, i1] : f32\n"
         "    v1 = scan sum v0 : f32\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct loops *l = must_lower(
            a,
            arena_printf(a, "graph(%s) {\n%s\n return %%y\n}\n", cases[i].inputs, cases[i].nodes),
            "");
        struct buf b = buf_new(a);
        nest_print(&b, l, &l->nests.at[0]);
        assert_string_equal(b.p, cases[i].first);
        arena_free(a);
    }
}

/* A factor that is 0 but where positions are equal leaves one term of a sum. */
static void test_one_term(void **state) {
#define ROWS_AND_COLUMNS                                                                           \
    "%i = arange(0, 6) %j = unsqueeze(%i, 1) %d = sub(%i, %j) %c = eq(%d, 0) %s = unsqueeze(%x, "  \
    "1) "
    static const struct {
        const char *nodes, *last;
    } cases[] = {
        {ROWS_AND_COLUMNS "%f = where(%c, %s, 0) %y = mm(%f, %z)",
         "    v0 = load b4[i0, i0] : f32\n    v1 = load b1[i0, i1] : f32\n    v2 = mul(v0, v1) : "
         "f32\n"},
        {ROWS_AND_COLUMNS "%b = float(%c) %f = mul(%b, %s) %y = mm(%z, %f)",
         "    v0 = load b1[i0, i1] : f32\n    v1 = load b5[i1, i1] : f32\n    v2 = mul(v0, v1) : "
         "f32\n"},
        /* backwards: a permutation */
        {"%i = arange(0, 6) %j = arange(5, -1, -1) %k = unsqueeze(%j, 1) %c = eq(%i, %k) "
         "%f = float(%c) %y = mm(%f, %z)",
         "    v0 = load b3[i0, i0*-1 + 5] : f32\n    v1 = load b1[i0*-1 + 5, i1] : f32\n"
         "    v2 = mul(v0, v1) : f32\n"},
        /* some rows have no term; a mask that leaves more than one; what is not 0 elsewhere */
        {"%i = arange(0, 6) %j = unsqueeze(%i, 1) %d = sub(%i, %j) %c = eq(%d, 1) %f = float(%c) "
         "%y = mm(%f, %z)",
         NULL},
        {"%i = arange(0, 6) %j = unsqueeze(%i, 1) %d = sub(%i, %j) %c = ge(%d, 0) %f = float(%c) "
         "%y = mm(%f, %z)",
         NULL},
        {ROWS_AND_COLUMNS "%f = where(%c, %s, 1) %y = mm(%f, %z)", NULL},
        {"%c = eq(%z, 0) %f = float(%c) %y = mm(%z, %f)", NULL},
        /* a permutation that was looked up: its places are values */
        {"%i = arange(0, 6) %q = long(%x) %g = gather(%i, 0, %q) %k = unsqueeze(%g, 1) "
         "%c = eq(%i, %k) %f = float(%c) %y = mm(%f, %z)",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct loops *l =
            must_lower(a,
                       arena_printf(a, "graph(%%x: f32[6], %%z: f32[6, 6]) {\n%s\n return %%y\n}\n",
                                    cases[i].nodes),
                       "");
        const struct nest *n = &l->nests.at[l->nests.n - 1];
        struct buf b = buf_new(a);
        nest_print(&b, l, n);
        assert_int_equal(n->n_reduce, !cases[i].last);
        assert_int_equal(n->matmul, !cases[i].last);
        if (cases[i].last && !strstr(b.p, cases[i].last))
            fail_msg("%s\nin\n%s", cases[i].last, b.p);
        arena_free(a);
    }
}

/* Every output is a buffer of its own, dense, and written: what is none of that is copied, and what
 * is returned again is there already. The elements of a reshape are those of what it shows, in the
 * same order. */
static void test_outputs(void **state) {
    static const struct {
        const char *text;
        uint32_t nests, copies;
    } cases[] = {
        {"graph(%x: f32[4]) {\n %y = exp(%x)\n return %y\n}\n", 1, 0},
        {"graph(%x: f32[4]) {\n return %x\n}\n", 1, 1},
        {"graph(%x: f32[4]) {\n %y = exp(%x)\n return %y, %y\n}\n", 1, 0},
        {"graph(%x: f32[4]) {\n return %x, %x\n}\n", 1, 1},
        {"graph(%x: f32[4, 2]) {\n %y = exp(%x)\n %v = view(%y, [8])\n return %v\n}\n", 1, 0},
        {"graph(%x: f32[6, 1, 2]) {\n %y = exp(%x)\n %p = permute(%y, [1, 0, 2])\n"
         " %v = view(%p, [2, 3, 2])\n return %v\n}\n",
         1, 0},
        {"graph(%x: f32[s0, 4]) {\n %y = exp(%x)\n %v = view(%y, [s0, 2, 2])\n return %v\n}\n", 1,
         0},
        {"graph(%x: f32[4, 2]) {\n %y = exp(%x)\n %v = view(%y, [8])\n return %v, %y\n}\n", 2, 1},
        {"graph(%x: f32[4, 2]) {\n %v = view(%x, [8])\n return %v\n}\n", 1, 1},
        {"graph(%x: f32[4, 2]) {\n %y = exp(%x)\n %p = permute(%y, [1, 0])\n"
         " %v = view(%p, [8])\n return %v\n}\n",
         2, 1},
        {"graph(%x: f32[4, 2]) {\n %y = exp(%x)\n %s = slice(%y, 0, 0, 3)\n return %s\n}\n", 2, 1},
        {"graph(%x: f32[4, 1]) {\n %y = exp(%x)\n %e = expand(%y, [4, 2])\n return %e\n}\n", 2, 1},
        {"graph(%x: f32[4, 0]) {\n %y = exp(%x)\n %v = view(%y, [0])\n return %v\n}\n", 1, 1},
        {"graph(%x: f32[4]) {\n %f = full([3], 1.0)\n return %f\n}\n", 1, 1},
        {"graph(%x: f32[4, 2]) {\n %p = permute(%x, [1, 0])\n return %x, %p\n}\n", 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct loops *l = must_lower(a, cases[i].text, "s0=6");
        uint32_t copies = 0, outputs = 0, first = 0;
        for (uint32_t n = 0; n < l->graph->outputs.n; n++)
            first += graph_first_output(l->graph, n) == n;
        for (uint32_t n = 0; n < l->nests.n; n++)
            copies += !strncmp(l->nests.at[n].name, "copy_", 5);
        for (buffer_id b = 0; b < l->buffers.n; b++) {
            const struct buffer *x = &l->buffers.at[b];
            outputs += x->kind == BUFFER_OUTPUT;
            if (x->kind != BUFFER_INPUT) assert_true(meta_is_contiguous(l->ex, &x->meta));
        }
        assert_int_equal(l->nests.n, cases[i].nests);
        assert_int_equal(copies, cases[i].copies);
        assert_int_equal(outputs, first);
        arena_free(a);
    }
}

/* Sizes of 1 have no axis; names become C identifiers; the line of the node stays with the nest. */
static void test_headings(void **state) {
    struct arena *a = arena_new();
    struct loops *l =
        must_lower(a, "graph(%x: f32[4, 1, 6]) {\n %y = exp(%x)\n return %y\n}\n", "");
    struct buf b = buf_new(a);
    nest_print(&b, l, &l->nests.at[0]);
    assert_string_equal(b.p, "b1[i0: 4, i1: 6] = f32 y    # line 2\n"
                             "    v0 = load b0[i0, 0, i1] : f32\n    v1 = exp(v0) : f32\n");
    b = buf_new(a);
    loops_print(&b, l);
    assert_non_null(strstr(b.p, "b0: input f32[4, 1, 6] stride [6, 6, 1]\n"));
    assert_non_null(strstr(b.p, "b1: output f32[4, 1, 6]\n"));
    arena_free(a);
}

/* ---- the verifier ---------------------------------------------------------------------------- */

static const char two_nests[] =
    "graph(%x: f32[4, 6]) {\n %e = exp(%x)\n %s = sum(%e, 1)\n return %s\n}\n";

static void expect(const struct loops *l, const char *start) {
    const char *why = loops_verify(l);
    if (!why) fail_msg("found nothing, expected %s", start);
    if (strncmp(why, start, strlen(start))) fail_msg("found %s, expected %s", why, start);
}

/* One nest (exp or its sum) of two_nests, to be broken. */
static struct loops *fresh(struct arena *a, uint32_t nest, struct nest **n) {
    struct loops *l = must_lower(a, two_nests, "");
    *n = &l->nests.at[nest];
    return l;
}

static void test_verify(void **state) {
    struct arena *a = arena_new();
    struct nest *n;
    struct loops *l = fresh(a, 0, &n);
    n->axes[1] = ex_const(l->ex, 0);
    expect(l, "L1: e: axis 1 is not an index");
    l = fresh(a, 0, &n);
    n->axes[0] = ex_index(l->ex, "i", ex_const(l->ex, 1));
    expect(l, "L1: e: axis 0 has size 1");
    l = fresh(a, 1, &n);
    n->reduce[0] = ex_size(l->ex, "n", 2, 4);
    expect(l, "L1: s: axis 0 is not an index");

    l = fresh(a, 0, &n);
    n->insts.at[1].args[0] = 1;
    expect(l, "L2: e: v1 uses v1");

    l = fresh(a, 0, &n);
    n->insts.at[0].n_index = 1;
    expect(l, "L3: e: v0 has 1 indices");
    l = fresh(a, 0, &n);
    n->insts.at[0].index[1] = l->nests.at[1].reduce[0];
    expect(l, "L3: e uses the foreign index r0");

    l = fresh(a, 0, &n);
    struct nest first = l->nests.at[0];
    l->nests.at[0] = l->nests.at[1];
    l->nests.at[1] = first;
    expect(l, "L4: s reads b1 before it is written");
    l = fresh(a, 1, &n);
    n->out = l->nests.at[0].out;
    expect(l, "L4: b1 is written twice");
    l = fresh(a, 0, &n);
    n->out = n->insts.at[0].buffer;
    expect(l, "L4: b0 is written twice"); /* inputs never */

    l = fresh(a, 1, &n);
    n->n_reduce = 0;
    n->insts.at[0].index[1] = ex_const(l->ex, 0);
    expect(l, "L5: s: reduction in the wrong place");
    l = fresh(a, 1, &n);
    vec_push(a, &n->insts, n->insts.at[0]);
    expect(l, "L5: s: reduction in the wrong place");
    l = fresh(a, 1, &n);
    n->insts.n = 1;
    expect(l, "L5: s does not end in its reduction");
    l = fresh(a, 0, &n);
    n->insts.n = 0;
    expect(l, "L5: e does not end in its reduction");
    arena_free(a);
}

/* Columns of a product that are a result are a product of their own: the last, the first, or both;
 * not those that somebody else reads, or that are a result but for an operation. */
static void test_results_apart(void **state) {
    static const struct {
        const char *nodes;
        int products;
    } cases[] = {
        {"%s = slice(%z, 1, 8, 12) %t = slice(%z, 1, 0, 8) %e = exp(%t)\n return %e, %s", 2},
        {"%s = slice(%z, 1, 0, 4) %t = slice(%z, 1, 4, 12) %e = exp(%t)\n return %e, %s", 2},
        {"%v = view(%z, [2, 3, 3, 4]) %p = permute(%v, [2, 0, 1, 3]) %s = slice(%p, 0, 1, 2)"
         " %t = slice(%p, 0, 2, 3) %r = slice(%p, 0, 0, 1) %e = exp(%r)\n return %e, %s, %t",
         3},
        {"%s = slice(%z, 1, 8, 12) %t = slice(%z, 1, 0, 9) %e = exp(%t)\n return %e, %s", 1},
        {"%s = slice(%z, 1, 8, 12) %t = slice(%z, 1, 0, 8) %e = exp(%t) %n = neg(%s)\n"
         " return %e, %n",
         1},
        {"%s = slice(%z, 1, 4, 8) %e = exp(%z)\n return %e, %s", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct loops *l =
            must_lower(a,
                       arena_printf(a,
                                    "graph(%%x: f32[6, 5], %%y: f32[5, 12]) {\n %%z = mm(%%x, %%y) "
                                    "%s\n}\n",
                                    cases[i].nodes),
                       "");
        loops_results_apart(l, 132);
        uint32_t before = l->nests.n;
        loops_results_apart(l, 0); /* however few they are */
        assert_null(loops_verify(l));
        struct buf b = buf_new(a);
        loops_print(&b, l);
        if ((int)(l->nests.n - before) + 1 != cases[i].products)
            fail_msg("%s\nis\n%s", cases[i].nodes, b.p);
        int products = 0;
        for (uint32_t k = 0; k < l->nests.n; k++) products += l->nests.at[k].matmul;
        assert_int_equal(products, cases[i].products);
        if (i == 0 && !strstr(b.p, "b5[i0: 6, i1: 4] = f32 z, reduce r0: 5    # line 2\n"
                                   "    v0 = load b0[i0, r0] : f32\n"
                                   "    v1 = load b1[r0, i1 + 8] : f32\n"))
            fail_msg("%s", b.p);
        arena_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views),         cmocka_unit_test(test_pointwise),
        cmocka_unit_test(test_reductions),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_convolutions),  cmocka_unit_test(test_trimmed),
        cmocka_unit_test(test_one_term),      cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_headings),      cmocka_unit_test(test_verify),
        cmocka_unit_test(test_results_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

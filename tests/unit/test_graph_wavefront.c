/* Loops that go together as one (graph/wavefront.c): which do, what comes of it, and its values
 * against the loops one after the other. */
#include "graph/graph_impl.h"
#include "graph/loop.h"
#include "graph_test.h"

static int count_loops(const struct graph *g) {
    int n = 0;
    for (node_id id = 0; id < g->nodes.n; id++) {
        bool first = g->nodes.at[id].op == OP_LOOP;
        for (node_id k = 0; k < id; k++) first &= !loop_same(&g->nodes.at[k], &g->nodes.at[id]);
        n += first;
    }
    return n;
}

/* The first loop. */
static const struct node *loop_of_graph(const struct graph *g) {
    node_id id = 0;
    while (g->nodes.at[id].op != OP_LOOP) id++;
    return &g->nodes.at[id];
}

static void same_values(const struct graph *g, const struct graph *h) {
    struct value in[MAX_TEST_VALUES * 4], x[MAX_TEST_VALUES], y[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, x);
    must_eval(h, in, y);
    for (uint32_t k = 0; k < g->outputs.n; k++) {
        assert_int_equal(x[k].n, y[k].n);
        for (int64_t i = 0; i < x[k].n; i++) {
            double want = value_number(&x[k], i), got = value_number(&y[k], i);
            if (!(fabs(want - got) <= 1e-12 * (1 + fabs(want))))
                fail_msg("out%u[%lld] is %.17g, of one after the other %.17g\n%s", k, (long long)i,
                         got, want, printed(h));
        }
    }
    free_values(in, g->inputs.n);
    free_values(x, g->outputs.n);
    free_values(y, g->outputs.n);
}

/* g becomes one of so many loops, the first of that many steps. */
static struct graph *joins(struct graph *g, int loops, int64_t steps) {
    struct graph *to = graph_wavefront(graph_simplify(g));
    const char *why = graph_verify(to, false);
    if (why) fail_msg("%s\n%s", why, printed(to));
    if (count_loops(to) != loops || loop_steps(to, loop_of_graph(to)->args) != steps)
        fail_msg("%d loops of %lld steps\n%s", count_loops(to),
                 (long long)loop_steps(to, loop_of_graph(to)->args), printed(to));
    same_values(g, to);
    same_values(g, graph_simplify(graph_decompose(graph_simplify(to))));
    return to;
}

static void stays(struct arena *a, const char *text) {
    struct graph *g = graph_simplify(must_parse(a, text));
    if (graph_wavefront(g) != g) fail_msg("joined\n%s", printed(graph_wavefront(g)));
}

static int count_ops(const struct graph *g, enum op op) {
    int n = 0;
    for (node_id id = 0; id < g->nodes.n; id++) n += g->nodes.at[id].op == op;
    return n;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* A loop of `steps` steps: carried h, of 4, of rows that are `gates` wide. */
struct cell {
    int gates;
    bool has_c; /* carries c, too, as output 1 */
    const char *body;
};

static const struct cell rnn = {4, false,
                                "%p: f32[3, 4] = linear(%h, %u, %b)\n%s: f32[3, 4] = add(%x, %p)\n"
                                "%y: f32[3, 4] = tanh(%s)\nreturn %y"};
static const struct cell lstm = {
    16, true,
    "%p: f32[3, 16] = linear(%h, %u, %b)\n%s = add(%x, %p)\n"
    "%i = slice(%s, 1, 0, 4)\n%f = slice(%s, 1, 4, 8)\n%g = slice(%s, 1, 8, 12)\n"
    "%o = slice(%s, 1, 12, 16)\n%si = sigmoid(%i)\n%sf = sigmoid(%f)\n%tg = tanh(%g)\n"
    "%so = sigmoid(%o)\n%k = mul(%sf, %c)\n%n = mul(%si, %tg)\n%cc = add(%k, %n)\n"
    "%tc = tanh(%cc)\n%y = mul(%so, %tc)\nreturn %y, %cc"};
static const struct cell gru = {
    12, false,
    "%p: f32[3, 12] = linear(%h, %u, %b)\n%xr = slice(%x, 1, 0, 4)\n%xz = slice(%x, 1, 4, 8)\n"
    "%xn = slice(%x, 1, 8, 12)\n%pr = slice(%p, 1, 0, 4)\n%pz = slice(%p, 1, 4, 8)\n"
    "%pn = slice(%p, 1, 8, 12)\n%ar = add(%xr, %pr)\n%r = sigmoid(%ar)\n%az = add(%xz, %pz)\n"
    "%z = sigmoid(%az)\n%m = mul(%r, %pn)\n%an = add(%xn, %m)\n%n = tanh(%an)\n"
    "%d = sub(%h, %n)\n%e = mul(%z, %d)\n%y = add(%n, %e)\nreturn %y"};
/* by hand: addmm, and a state that is no output */
static const struct cell by_hand = {
    4, true,
    "%p: f32[3, 4] = addmm(%b, %h, %u)\n%s = add(%x, %p)\n%t = silu(%s)\n%m = mul(%c, 0.5)\n"
    "%cc = add(%m, %t)\n%y = tanh(%cc)\nreturn %y, %cc"};

static void put_inputs(struct buf *b, const struct cell *cell, int n) {
    buf_printf(b, "%sh%d: f32[3, 4], %%u%d: f32[%d, 4], %%b%d: f32[%d]", n ? ", %" : "%", n, n,
               cell->gates, n, cell->gates);
    if (cell->has_c) buf_printf(b, ", %%c%d: f32[3, 4]", n);
}

/* %y<n> is what loop n stacks of h, %k<n> of c. */
static void put_loop(struct buf *b, const struct cell *cell, int n, const char *x, int64_t steps,
                     int way) {
    for (int k = 0; k <= cell->has_c; k++) {
        buf_printf(b, "%%%s%d = loop([%%h%d, %%u%d, %%b%d, %s", k ? "k" : "y", n, n, n, n, x);
        if (cell->has_c) buf_printf(b, ", %%c%d", n);
        buf_printf(b, "], carried=[0, -1, -1, -1%s], ", cell->has_c ? ", 1" : "");
        buf_printf(b, "first=[0, 0, 0, %lld%s], ", way > 0 ? 0 : (long long)steps - 1,
                   cell->has_c ? ", 0" : "");
        buf_printf(b, "way=[0, 0, 0, %d%s], steps=%lld, ", way, cell->has_c ? ", 0" : "",
                   (long long)steps);
        buf_printf(b, "body=graph(%%h: f32[3, 4], %%u: f32[%d, 4], %%b: f32[%d], %%x: f32[3, %d]%s",
                   cell->gates, cell->gates, cell->gates, cell->has_c ? ", %c: f32[3, 4]" : "");
        buf_printf(b, ") {\n%s }, output=%d)\n", cell->body, k);
    }
}

/* Layers of a cell over %x0, [steps, 3, 5], each behind a product with the one before; and what is
 * returned. */
static const char *layers(struct arena *a, const struct cell *cell, int n, int64_t steps,
                          int64_t last_steps, const char *after) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%x: f32[%lld, 3, 5], ", (long long)steps);
    for (int l = 0; l < n; l++) {
        put_inputs(&b, cell, l);
        buf_printf(&b, ", %%w%d: f32[%d, %d], %%v%d: f32[%d]", l, cell->gates, l ? 4 : 5, l,
                   cell->gates);
    }
    buf_puts(&b, ") {\n%p0 = linear(%x, %w0, %v0)\n");
    for (int l = 0; l < n; l++) {
        if (l) buf_printf(&b, "%%p%d = linear(%%y%d, %%w%d, %%v%d)\n", l, l - 1, l, l);
        put_loop(&b, cell, l, arena_printf(a, "%%p%d", l), l == n - 1 ? last_steps : steps, 1);
    }
    buf_printf(&b, "%s}\n", after);
    return b.p;
}

static void test_layers(void **state) {
    struct arena *a = arena_new();
    const struct cell *cells[] = {&rnn, &lstm, &gru, &by_hand};
    for (int k = 0; k < 4; k++) {
        joins(must_parse(a, layers(a, cells[k], 2, 8, 8, "return %y1\n")), 1, 9);
        joins(must_parse(a, layers(a, cells[k], 3, 11, 11,
                                   "%e = select(%y0, 0, 10)\n%f = slice(%y2, 0, 10, 11)\n"
                                   "%m = select(%y1, 0, 4)\nreturn %y2, %e, %f, %m, %y1\n")),
              1, 13);
        joins(must_parse(a, layers(a, cells[k], 4, 12, 9, "%e = select(%y3, 0, 8)\nreturn %e\n")),
              1, 15);
    }
    const char *last = "%e = select(%k0, 0, 9)\n%f = select(%k1, 0, 9)\n%s = stack([%e, %f])\n"
                       "%t = transpose(%y1, 0, 1)\nreturn %t, %s\n";
    joins(must_parse(a, layers(a, &lstm, 2, 10, 10, last)), 1, 11);
    arena_free(a);
}

/* Of the body of the new loop. */
static int count_in_loop(const struct graph *g, enum op op) {
    return count_ops(loop_of_graph(g)->args[LOOP_BODY].graph, op);
}

/* A layer's product with what the one before makes goes together with its own: one a step. */
static void test_products(void **state) {
    struct arena *a = arena_new();
    struct graph *g = joins(must_parse(a, layers(a, &lstm, 3, 8, 8, "return %y2\n")), 1, 10);
    assert_int_equal(count_in_loop(g, OP_MATMUL), 1);
    assert_int_equal(count_in_loop(g, OP_WHERE), 2);
    assert_int_equal(count_ops(g, OP_LINEAR), 1);
    assert_string_equal(printed(must_parse(a, printed(g))), printed(g));
    arena_free(a);
}

/* Two layers of rnn with `between`, which makes %p1 of %y0, [9, 3, 4]. */
static const char *two(struct arena *a, const char *inputs, const char *between,
                       const char *after) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%%p0: f32[9, 3, 4], ");
    put_inputs(&b, &rnn, 0);
    put_inputs(&b, &rnn, 1);
    buf_printf(&b, "%s) {\n", inputs);
    put_loop(&b, &rnn, 0, "%p0", 9, 1);
    buf_puts(&b, between);
    put_loop(&b, &rnn, 1, "%p1", 9, 1);
    buf_printf(&b, "%s}\n", after);
    return b.p;
}

/* What a layer makes of the one before, row by row in time, and what is none. */
static void test_rows(void **state) {
    struct arena *a = arena_new();
    const char *w = ", %w: f32[4, 4]", *end = "return %y1\n";
    static const char *const rows[] = {
        "%p1 = relu(%y0)\n",
        "%q = matmul(%y0, %w)\n%r = mul(%q, 2)\n%p1 = sigmoid(%r)\n",
        ("%t = transpose(%y0, 0, 1)\n%o = contiguous(%t)\n%q = linear(%o, %w)\n"
         "%p1 = transpose(%q, 0, 1)\n"),
        "%t = permute(%y0, [2, 0, 1])\n%q = add(%t, 1)\n%p1 = permute(%q, [1, 2, 0])\n",
        "%v = view(%y0, [9, 12])\n%q = exp(%v)\n%p1 = view(%q, [9, 3, 4])\n",
        "%e = tanh(%y0)\n%q = linear(%e, %w)\n%p1 = add(%q, %y0)\n",
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct graph *g = joins(must_parse(a, two(a, w, rows[k], end)), 1, 10);
        if (k == 2) assert_int_equal(count_in_loop(g, OP_MATMUL), 1); /* rows alone are turned */
    }
    static const char *const none[] = {
        "%p1 = flip(%y0, [0])\n",
        "%p1 = cumsum(%y0, 0)\n",
        "%p1 = add(%y0, %p0)\n",
        "%v = view(%y0, [3, 36])\n%q = exp(%v)\n%p1 = view(%q, [9, 3, 4])\n",
        "%s = sum(%y0)\n%p1 = mul(%y0, %s)\n",
        "%s = sum(%y0, 0)\n%p1 = add(%y0, %s)\n",
    };
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) stays(a, two(a, w, none[k], end));
    arena_free(a);
}

/* Two layers of two directions each: the directions of a layer go together. */
static void test_directions(void **state) {
    struct arena *a = arena_new();
    const struct cell *cells[] = {&rnn, &lstm, &gru, &by_hand};
    for (int k = 0; k < 4; k++) {
        struct buf b = buf_new(a);
        int gates = cells[k]->gates;
        buf_puts(&b, "graph(%x: f32[10, 3, 5], ");
        for (int l = 0; l < 4; l++) {
            put_inputs(&b, cells[k], l);
            buf_printf(&b, ", %%w%d: f32[%d, %d]", l, gates, l < 2 ? 5 : 8);
        }
        buf_puts(&b, ") {\n");
        for (int l = 0; l < 4; l++) {
            buf_printf(&b, "%%p%d = linear(%s, %%w%d)\n", l, l < 2 ? "%x" : "%cat0", l);
            put_loop(&b, cells[k], l, arena_printf(a, "%%p%d", l), 10, l % 2 ? -1 : 1);
            if (l % 2)
                buf_printf(&b, "%%f%d = flip(%%y%d, [0])\n%%cat%d = cat([%%y%d, %%f%d], 2)\n", l, l,
                           l / 2, l - 1, l);
        }
        buf_puts(&b, "%e = select(%y3, 0, 9)\nreturn %cat1, %e\n}\n");
        struct graph *g = joins(must_parse(a, b.p), 2, 10);
        assert_int_equal(count_in_loop(g, OP_WHERE), 0);
    }
    arena_free(a);
}

/* Two nets beside each other, of layers with the same weights or with their own; and two loops over
 * the same slices. */
static void test_nets(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%x: f32[9, 3, 5], %w: f32[4, 5], %v: f32[4, 4], ");
    for (int l = 0; l < 4; l++) put_inputs(&b, &rnn, l);
    buf_puts(&b, ") {\n%p0 = linear(%x, %w)\n%p1 = exp(%p0)\n");
    for (int l = 0; l < 4; l++) {
        if (l > 1) buf_printf(&b, "%%p%d = linear(%%y%d, %%v)\n", l, l - 2);
        put_loop(&b, &rnn, l, arena_printf(a, "%%p%d", l), 9, 1);
    }
    buf_puts(&b, "return %y2, %y3\n}\n");
    joins(must_parse(a, b.p), 1, 10);
    b = buf_new(a);
    buf_puts(&b, "graph(%x: f32[9, 3, 4], ");
    for (int l = 0; l < 3; l++) put_inputs(&b, &rnn, l);
    buf_puts(&b, ") {\n");
    for (int l = 0; l < 3; l++) put_loop(&b, &rnn, l, "%x", 9, 1);
    buf_puts(&b, "%e = select(%y1, 0, 8)\nreturn %y0, %e, %y2\n}\n");
    joins(must_parse(a, b.p), 1, 9);
    arena_free(a);
}

/* Matrices that each step makes anew, or that each step has another of, are no weights that
 * products of one value could have in common. */
static void test_changing_matrices(void **state) {
    static const char *const ways[] = {
        "carried=[0, 1, 2, -1], first=[0, 0, 0, 0], way=[0, 0, 0, 1]",
        "carried=[0, -1, -1, -1], first=[0, 0, 0, 0], "
        "way=[0, 1, 1, 1]"};
    struct arena *a = arena_new();
    for (int k = 0; k < 2; k++) {
        struct buf b = buf_new(a);
        const char *m = k ? "f32[9, 4, 4]" : "f32[4, 4]";
        buf_printf(
            &b, "graph(%%h0: f32[3, 4], %%h1: f32[3, 4], %%m: %s, %%n: %s, %%x: f32[9, 3, 4]) {\n",
            m, m);
        for (int l = 0; l < 2; l++)
            buf_printf(
                &b,
                "%%y%d = loop([%%h%d, %%m, %%n, %%x], %s, steps=9, body=graph(%%h: f32[3, 4], "
                "%%m: f32[4, 4], %%n: f32[4, 4], %%x: f32[3, 4]) {\n"
                "%%p: f32[3, 4] = linear(%%h, %%m)\n%%q: f32[3, 4] = linear(%%h, %%n)\n"
                "%%s = sub(%%p, %%q)\n%%t = add(%%s, %%x)\n%%y = tanh(%%t)\n"
                "%%mm = mul(%%m, 0.5)\n%%nn = mul(%%n, 0.75)\n"
                "return %%y, %%mm, %%nn }, output=0)\n",
                l, l, ways[k]);
        buf_puts(&b, "return %y0, %y1\n}\n");
        joins(must_parse(a, b.p), 1, 9);
    }
    arena_free(a);
}

/* `second` in the place of one of the second loop's texts. */
static const char *changed(struct arena *a, const char *text, const char *was, const char *now) {
    const char *at = strstr(text, was);
    for (const char *next = at; next; next = strstr(next + 1, was)) at = next;
    assert_non_null(at);
    return arena_printf(a, "%.*s%s%s", (int)(at - text), text, now, at + strlen(was));
}

static void test_others(void **state) {
    struct arena *a = arena_new();
    const char *text = two(a, "", "%p1 = relu(%y0)\n", "return %y1\n");
    stays(a, changed(a, text, "tanh", "sigmoid"));
    stays(a, changed(a, two(a, "", "%p1 = relu(%y0)\n%e = select(%y0, 0, 8)\n", "return %y1\n"),
                     "[%h1, ", "[%e, ")); /* it begins as the first one ends */
    stays(a, layers(a, &rnn, 2, 7, 7, "return %y1\n"));
    stays(a, layers(a, &rnn, 1, 12, 12, "return %y0\n"));
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_directions),
        cmocka_unit_test(test_nets),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_changing_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

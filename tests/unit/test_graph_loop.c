/* Loops against the steps that they were rolled of: what is found, what is none, text, values,
 * bounds. */
#include "graph/autograd.h"
#include "graph/loop.h"
#include "graph_test.h"

enum { STEPS = 12 };

/* STEPS lines of `step`, in which @ is the step and ~ the one before, and what comes after. */
static const char *steps_text(struct arena *a, const char *inputs, const char *before,
                              const char *step, const char *after) {
    struct buf b = buf_new(a);
    buf_printf(&b, "graph(%s) {\n%s", inputs, before);
    for (int t = 0; t < STEPS; t++)
        for (const char *p = step; *p; p++)
            if (*p == '@' || *p == '~')
                buf_printf(&b, "%d", *p == '@' ? t + 1 : t);
            else
                buf_putc(&b, *p);
    buf_printf(&b, "%s}\n", after);
    return b.p;
}

/* "[%h1, %h2, ..]", backwards if way is -1. */
static const char *all_steps(struct arena *a, const char *name, int way) {
    struct buf b = buf_new(a);
    for (int t = 0; t < STEPS; t++)
        buf_printf(&b, "%s%%%s%d", t ? ", " : "[", name, way > 0 ? t + 1 : STEPS - t);
    buf_puts(&b, "]");
    return b.p;
}

static int count_loops(const struct graph *g) {
    int n = 0;
    for (node_id id = 0; id < g->nodes.n; id++) n += g->nodes.at[id].op == OP_LOOP;
    return n;
}

static void same_values(const struct graph *g, const struct graph *h, double most) {
    struct value in[MAX_TEST_VALUES], x[MAX_TEST_VALUES], y[MAX_TEST_VALUES];
    random_inputs(g, in);
    must_eval(g, in, x);
    must_eval(h, in, y);
    for (uint32_t k = 0; k < g->outputs.n; k++) {
        assert_int_equal(x[k].n, y[k].n);
        for (int64_t i = 0; i < x[k].n; i++) {
            double want = value_number(&x[k], i), got = value_number(&y[k], i);
            if (!(fabs(want - got) <= most * (1 + fabs(want))))
                fail_msg("out%u[%lld] is %.17g, of the steps %.17g\n%s", k, (long long)i, got, want,
                         printed(h));
        }
    }
    free_values(in, g->inputs.n);
    free_values(x, g->outputs.n);
    free_values(y, g->outputs.n);
}

/* A right computation in f32 is within the bounds, and one that is off by 1 % is not. */
static void bounds_hold(struct graph *g) {
    struct rounding how = {.device = DEVICE_CPU, .stores = true};
    struct graph *d = graph_simplify(graph_decompose_but_landings(graph_simplify(g)));
    struct graph *bound = graph_bound(d, how), *rounds = NEW(g->arena, struct graph);
    struct value in[MAX_TEST_VALUES], x[MAX_TEST_VALUES], y[MAX_TEST_VALUES], e[MAX_TEST_VALUES];
    const char *why = graph_verify(bound, false);
    if (why) fail_msg("%s\n%s", why, printed(bound));
    *rounds = *d;
    rounds->stores_values = true;
    random_inputs(g, in);
    must_eval(d, in, x);
    must_eval(rounds, in, y);
    must_eval(bound, in, e);
    int64_t told = 0, n = 0;
    for (uint32_t k = 0; k < g->outputs.n; k++)
        for (int64_t i = 0; i < x[k].n; i++, n++) {
            double want = value_number(&x[k], i), off = fabs(value_number(&y[k], i) - want);
            if (!(off <= e[k].v[i])) fail_msg("off by %g, at most %g", off, e[k].v[i]);
            told += 0.01 * fabs(want) > e[k].v[i];
        }
    assert_true(told > n / 2);
    free_values(in, g->inputs.n);
    free_values(x, g->outputs.n);
    free_values(y, g->outputs.n);
    free_values(e, g->outputs.n);
}

/* Begun with what they ended with, loops come to the same. */
static int n_rotated;

static void same_rotated(const struct graph *steps, struct graph *g) {
    int n;
    struct graph *r = graph_rotate(graph_simplify(graph_decompose(g)), &n);
    const char *why = graph_verify(graph_simplify(r), true);
    if (why) fail_msg("%s\n%s", why, printed(r));
    same_values(steps, graph_simplify(r), 1e-12);
    n_rotated += n;
}

/* The gradient of a loop, which is one again, against that of the steps. */
static void same_gradients(struct graph *g, struct graph *r) {
    struct diag d = diag_new(g->arena);
    bool *wants = NEW_ARRAY(g->arena, bool, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++) wants[i] = true;
    struct graph *steps = graph_backward(g, wants, &d), *loop = graph_backward(r, wants, &d);
    if (d.status != WS_OK) fail_msg("%s", d.text);
    const char *why = graph_verify(loop, false);
    if (why) fail_msg("%s\n%s", why, printed(loop));
    assert_true(count_loops(loop) > count_loops(r));
    same_values(steps, loop, 1e-12);
    struct graph *apart = graph_hoist(loop);
    why = graph_verify(apart, false);
    if (why) fail_msg("%s\n%s", why, printed(apart));
    same_values(steps, apart, 1e-12);
    assert_ptr_equal(graph_hoist(apart), apart);
    same_values(steps, graph_simplify(graph_decompose(apart)), 1e-12);
    same_values(steps, graph_simplify(graph_decompose(loop)), 1e-12);
    same_rotated(steps, apart);
    same_rotated(steps, loop);
}

static void rolls(struct arena *a, const char *text, int loops) {
    struct graph *g = must_parse(a, text), *r = graph_roll(g);
    const char *why = graph_verify(r, false);
    if (why) fail_msg("%s\n%s", why, printed(r));
    if (count_loops(r) != loops) fail_msg("%d loops\n%s", count_loops(r), printed(r));
    assert_string_equal(printed(must_parse(a, printed(r))), printed(r));
    same_values(g, r, 1e-12);
    same_values(must_parse(a, printed(r)), r, 0);
    struct graph *d = graph_decompose(r), *s = graph_simplify(d), *u = graph_unroll(r);
    why = graph_verify(s, true);
    if (!why) why = graph_verify(u, false);
    if (why) fail_msg("%s", why);
    same_values(g, s, 1e-12);
    same_values(g, u, 1e-12);
    assert_int_equal(count_loops(u), 0);
    bounds_hold(r);
    same_gradients(g, r);
}

#define CELL "%x@ = select(%x, 0, ~)\n%p@ = mm(%h~, %u)\n%a@ = add(%x@, %p@)\n%h@ = tanh(%a@)\n"
#define INPUTS "%x: f32[12, 3, 5], %h0: f32[3, 5], %u: f32[5, 5]"

static void test_stacked(void **state) {
    struct arena *a = arena_new();
    const char *all = all_steps(a, "h", 1), *back = all_steps(a, "h", -1);
    rolls(a, steps_text(a, INPUTS, "", CELL, arena_printf(a, "%%y = stack(%s)\nreturn %%y\n", all)),
          1);
    rolls(a,
          steps_text(a, INPUTS, "", CELL,
                     arena_printf(a, "%%y = stack(%s, dim=1)\nreturn %%y, %%h12, %%h3\n", all)),
          1);
    rolls(a,
          steps_text(a, INPUTS, "", CELL,
                     arena_printf(a, "%%y = cat(%s, dim=1)\nreturn %%y\n", back)),
          1);
    rolls(a,
          steps_text(a, INPUTS, "", CELL,
                     "%y = stack([%h0, %h1, %h2, %h3, %x1, %h12, %h11])\nreturn %y\n"),
          1);
    arena_free(a);
}

static void test_slices(void **state) {
    struct arena *a = arena_new();
    const char *kept = "%s@ = slice(%x, 1, ~, @)\n%x@ = view(%s@, [3, 5])\n%p@ = mm(%h~, %u)\n"
                       "%a@ = add(%x@, %p@)\n%h@ = tanh(%a@)\n";
    rolls(a,
          steps_text(a, "%x: f32[3, 12, 5], %h0: f32[3, 5], %u: f32[5, 5]", "", kept,
                     "return %h12\n"),
          1);
    rolls(a,
          steps_text(a, INPUTS, "%x0 = select(%x, 0, 11)\n", /* what the step before has shown */
                     "%x@ = select(%x, 0, ~)\n%p@ = mm(%h~, %u)\n%b@ = add(%x~, %p@)\n"
                     "%a@ = add(%x@, %b@)\n%h@ = tanh(%a@)\n",
                     "return %h12\n"),
          1);
    struct buf b = buf_new(a); /* backwards over what is before the steps */
    for (int t = 0; t < STEPS; t++)
        buf_printf(&b, "%%x%d = select(%%x, 0, %d)\n", t + 1, STEPS - 1 - t);
    rolls(a,
          steps_text(a, INPUTS, b.p, "%p@ = mm(%h~, %u)\n%a@ = add(%x@, %p@)\n%h@ = tanh(%a@)\n",
                     arena_printf(a, "%%y = stack(%s)\nreturn %%y\n", all_steps(a, "h", -1))),
          1);
    arena_free(a);
}

/* y[:, t] = h, as capture has it, what is there being read element by element; of one element
 * again. */
#define ASSIGNED(y, first, behind)                                                                 \
    "%e@ = select(%" y "~, 1, " first ")\n%f@ = expand_as(%h@, %e@)\n%v@ = unsqueeze(%f@, 1)\n"    \
    "%l@ = slice(%" y "~, 1, 0, " first ")\n%r@ = slice(%" y "~, 1, " behind ", 12)\n"             \
    "%" y "@ = cat([%l@, %v@, %r@], 1)\n%g@ = select(%" y "@, 1, " first ")\n"

static void test_assigned(void **state) {
    struct arena *a = arena_new();
    const char *inputs = "%x: f32[12, 3, 5], %g0: f32[3, 5], %u: f32[5, 5], %y0: f32[3, 12, 5]";
    const char *cell = "%x@ = select(%x, 0, ~)\n%p@ = mm(%g~, %u)\n%a@ = add(%x@, %p@)\n"
                       "%h@ = tanh(%a@)\n" ASSIGNED("y", "~", "@");
    rolls(a, steps_text(a, inputs, "", cell, "return %y12\n"), 1);
    rolls(a, steps_text(a, inputs, "", cell, "%z = select(%y12, 1, 3)\nreturn %z, %h12\n"), 1);
    rolls(a,
          steps_text(a, inputs, "", cell,
                     "%i = zeros_like(%h3)\n%j = unsqueeze(%i, 1)\n%k = slice(%y12, 1, 0, 11)\n"
                     "%m = cat([%k, %j], 1)\nreturn %m\n"),
          2);
    /* a tensor that is read whole on the way is there */
    struct graph *g =
        must_parse(a, steps_text(a, inputs, "", cell, "%z = sum(%y5, [1])\nreturn %y12, %z\n"));
    assert_ptr_equal(graph_roll(g), g);
    arena_free(a);
}

/* A second loop over what the first has left, and two values that are carried. */
static void test_chains(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    for (int t = 1; t <= STEPS; t++)
        buf_printf(&b, "%%q%d = mm(%%g%d, %%u)\n%%r%d = mul(%%q%d, %%h%d)\n%%g%d = tanh(%%r%d)\n",
                   t, t - 1, t, t, STEPS + 1 - t, t, t);
    rolls(a,
          steps_text(a, INPUTS ", %g0: f32[3, 5]", "", CELL,
                     arena_printf(a, "%sreturn %%g12\n", b.p)),
          2);
    const char *two =
        "%p@ = mm(%h~, %u)\n%f@ = sigmoid(%p@)\n%m@ = mul(%f@, %c~)\n%c@ = add(%m@, %p@)\n"
        "%h@ = tanh(%c@)\n";
    rolls(a,
          steps_text(a, "%h0: f32[3, 5], %c0: f32[3, 5], %u: f32[5, 5]", "", two,
                     arena_printf(a, "%%y = stack(%s)\nreturn %%y, %%c12\n", all_steps(a, "h", 1))),
          2);
    arena_free(a);
}

/* Slices that leave some out, forwards and backwards. */
static void test_strides(void **state) {
    struct arena *a = arena_new();
    for (int way = -1; way <= 1; way += 2) {
        struct buf b = buf_new(a);
        for (int t = 0; t < STEPS; t++)
            buf_printf(&b, "%%x%d = select(%%x, 0, %d)\n", t + 1, way > 0 ? 1 + 2 * t : 23 - 2 * t);
        rolls(a,
              steps_text(a, "%x: f32[25, 3, 5], %h0: f32[3, 5], %u: f32[5, 5]", b.p,
                         "%p@ = mm(%h~, %u)\n%a@ = add(%x@, %p@)\n%h@ = tanh(%a@)\n",
                         "return %h12\n"),
              1);
    }
    arena_free(a);
}

/* Other weights in each step, numbers that change, what is two steps old, no product. */
static void test_none(void **state) {
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%h0: f32[3, 5], %w: f32[12, 5, 5]) {\n");
    for (int t = 0; t < STEPS; t++)
        buf_printf(
            &b,
            "%%w%d = slice(%%w, 0, %d, %d)\n%%v%d = sum(%%w%d, [0])\n%%h%d = mm(%%h%d, %%v%d)\n", t,
            t, t + 1, t, t, t + 1, t, t);
    buf_puts(&b, "return %h12\n}\n");
    rolls(a, b.p, 1); /* these are slices */
    const char *none[] = {
        "%p@ = mm(%h~, %u)\n%h@ = rand([3, 5], @)\n",
        "%p@ = mm(%h~, %u)\n%s@ = slice(%p@, 1, 0, 5)\n%h@ = mul(%s@, @)\n",
        "%h@ = sin(%h~)\n",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct graph *g = must_parse(
            a, steps_text(a, "%h0: f32[3, 5], %u: f32[5, 5]", "", none[i], "return %h12\n"));
        assert_int_equal(count_loops(graph_roll(g)), 0);
    }
    arena_free(a);
}

/* Steps that differ in a type alone are no steps of one loop: the first adds in bf16 what all
 * others add in f32. */
static void test_types(void **state) {
    struct arena *a = arena_new();
    const char *step =
        "%d@ = add(%h~, %h~)\n%q@ = mul(%d@, %w)\n%p@ = mm(%q@, %u)\n%h@ = tanh(%p@)\n";
    static const char *const types[] = {"f32", "bf16", "f16"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *inputs =
            arena_printf(a, "%%h0: %s[3, 5], %%w: f32[3, 5], %%u: f32[5, 5]", types[i]);
        struct graph *g = must_parse(a, steps_text(a, inputs, "", step, "return %h12\n"));
        struct graph *r = graph_roll(g);
        const char *why = graph_verify(r, false);
        if (why) fail_msg("%s\n%s", why, printed(r));
        same_values(g, r, 1e-12);
        assert_int_equal(count_loops(r), 1);
        for (node_id id = 0; id < r->nodes.n; id++)
            if (r->nodes.at[id].op == OP_LOOP)
                assert_int_equal(ex_value(r->ex, r->nodes.at[id].args[LOOP_STEPS].i),
                                 i ? STEPS - 1 : STEPS);
    }
    arena_free(a);
}

/* Products in the bodies of loops, each once, and elsewhere. */
static int count_products(const struct graph *g, bool in_loops) {
    int n = 0;
    const struct graph *last = NULL;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *x = &g->nodes.at[id];
        bool product =
            x->op == OP_MM || x->op == OP_MATMUL || x->op == OP_LINEAR || x->op == OP_BMM;
        n += product && !in_loops;
        if (x->op != OP_LOOP || !in_loops || x->args[LOOP_BODY].graph == last) continue;
        last = x->args[LOOP_BODY].graph; /* nodes of one loop follow each other here */
        n += count_products(last, false);
    }
    return n;
}

static void hoists(struct arena *a, const char *text, int loops, int inside, int outside) {
    struct graph *r = graph_roll(must_parse(a, text));
    rolls(a, text, loops);
    if (count_products(r, true) != inside || count_products(r, false) != outside)
        fail_msg("%d products in loops, %d elsewhere\n%s", count_products(r, true),
                 count_products(r, false), printed(r));
    assert_ptr_equal(graph_hoist(r), r);
}

/* What depends on slices alone goes before the loop, if it leads to a product. */
static void test_before(void **state) {
    struct arena *a = arena_new();
    const char *inputs = "%x: f32[12, 3, 4], %h0: f32[3, 5], %u: f32[5, 5], %w: f32[5, 4], %b: "
                         "f32[5], %v: f32[4, 5], %z: f32[5, 3]";
    const char *last = arena_printf(a, "%%y = stack(%s)\nreturn %%y\n", all_steps(a, "h", 1));
#define STEP(input)                                                                                \
    "%x@ = select(%x, 0, ~)\n" input "%p@ = mm(%h~, %u)\n%a@ = add(%i@, %p@)\n%h@ = tanh(%a@)\n"
    hoists(a, steps_text(a, inputs, "", STEP("%i@ = linear(%x@, %w, %b)\n"), last), 1, 1, 1);
    hoists(a, steps_text(a, inputs, "", STEP("%i@ = mm(%x@, %v)\n"), "return %h12\n"), 1, 1, 1);
    hoists(a,
           steps_text(a, inputs, "",
                      STEP("%e@ = exp(%x@)\n%m@ = mul(%e@, %x@)\n%f@ = add(%m@, 2)\n"
                           "%k@ = linear(%f@, %w, %b)\n%i@ = tanh(%k@)\n"),
                      last),
           1, 1, 1);
    hoists(
        a, /* a product behind a product: a step wants the second, an output the first */
        steps_text(a, inputs, "",
                   STEP("%k@ = linear(%x@, %w)\n%r@ = relu(%k@)\n%i@ = matmul(%r@, %u)\n"),
                   arena_printf(a, "%%y = stack(%s)\nreturn %%y, %%h12\n", all_steps(a, "k", 1))),
        1, 1, 2);
    hoists(a, /* the weight on the left; both factors change */
           steps_text(a, inputs, "",
                      STEP("%q@ = matmul(%z, %x@)\n"
                           "%s@ = matmul(%q@, %v)\n%j@ = sum(%s@, [0])\n%i@ = add(%j@, %h~)\n"),
                      last),
           1, 1, 2);
    /* Views are not followed, a carried value stays, and no product needs none. */
    hoists(a,
           steps_text(a, inputs, "",
                      STEP("%t@ = view(%x@, [4, 3])\n%g@ = matmul(%w, %t@)\n%i@ = t(%g@)\n"), last),
           1, 2, 0);
    hoists(
        a,
        steps_text(a, inputs, "", STEP("%e@ = sum(%x@, [1], True)\n%i@ = add(%e@, %h~)\n"), last),
        1, 1, 0);
    arena_free(a);
}

/* What would take too much memory is made step by step. */
static void test_too_large(void **state) {
    struct arena *a = arena_new();
    for (int large = 0; large < 2; large++) {
        struct graph *r = graph_roll(must_parse(
            a,
            steps_text(a,
                       arena_printf(a,
                                    "%%x: f32[12, 3, 4], %%h0: f32[3, 5], %%u: f32[5, 5], "
                                    "%%w: f32[%d, 4]",
                                    large ? 1 << 23 : 1 << 22),
                       "",
                       "%x@ = select(%x, 0, ~)\n%i@ = linear(%x@, %w)\n%s@ = sum(%i@, [1], True)\n"
                       "%p@ = mm(%h~, %u)\n%a@ = add(%s@, %p@)\n%h@ = tanh(%a@)\n",
                       "return %h12\n")));
        assert_int_equal(count_products(r, true), 1 + large);
        assert_int_equal(count_products(r, false), 1 - large);
    }
    arena_free(a);
}

/* Sums of products that are carried go behind the loop, if their end is all that is wanted. */
static void test_behind(void **state) {
    struct arena *a = arena_new();
    const char *inputs = "%x: f32[12, 3, 5], %h0: f32[3, 5], %u: f32[5, 5], %s0: f32[5, 5], %b0: "
                         "f32[5]";
    const char *all = arena_printf(a, "%%y = stack(%s)\nreturn %%y\n", all_steps(a, "s", 1));
    const char *sum = CELL "%t@ = t(%h@)\n%m@ = mm(%t@, %x@)\n%s@ = add(%s~, %m@)\n";
    const char *both = CELL "%t@ = t(%h~)\n%m@ = mm(%t@, %h@)\n%s@ = add(%m@, %s~)\n"
                            "%d@ = sum(%h@, [0])\n%b@ = add(%b~, %d@)\n";
    const char *plain =
        CELL "%t@ = t(%x@)\n%q@ = mul(%t@, 2)\n%m@ = matmul(%q@, %h@)\n%s@ = add(%s~, %m@)\n";
    hoists(a, steps_text(a, inputs, "", sum, "return %s12\n"), 1, 1, 1);
    hoists(a, steps_text(a, inputs, "", both, "return %s12, %b12, %h12\n"), 2, 1, 1);
    hoists(a, steps_text(a, inputs, "", plain, "return %s12, %h12\n"), 2, 1, 1);
    hoists(a, steps_text(a, inputs, "", sum, all), 1, 2, 0);             /* of every step */
    hoists(a, steps_text(a, inputs, "", sum, "return %s11\n"), 1, 2, 0); /* before the end */
    hoists(
        a,
        steps_text(a, inputs, "", CELL "%m@ = mm(%u, %s~)\n%s@ = add(%s~, %m@)\n", "return %s12\n"),
        1, 2, 0); /* the sum is read */
    hoists(a,
           steps_text(a, inputs, "",
                      CELL "%t@ = t(%h@)\n%m@ = mm(%t@, %x@)\n%s@ = add(%s~, %m@, 0.5)\n",
                      "return %s12\n"),
           1, 2, 0); /* scaled */
    arena_free(a);
}

/* A step back of gates that are slices of one product leaves a piece of each, whether the gradient
 * of the first state is wanted or what the steps before have left. */
static void test_rotated(void **state) {
    struct arena *a = arena_new();
    const char *inputs = "%x: f32[12, 3, 10], %h0: f32[3, 5], %u: f32[10, 5], %v: f32[5, 5]";
    const char *gates = "%x@ = select(%x, 0, ~)\n%p@ = linear(%h~, %u)\n%g@ = add(%x@, %p@)\n"
                        "%k@ = slice(%g@, 1, 0, 5)\n%l@ = slice(%g@, 1, 5, 10)\n"
                        "%i@ = sigmoid(%k@)\n%t@ = tanh(%l@)\n%h@ = mul(%i@, %t@)\n";
    const char *ends[] = {"return %h12\n",
                          arena_printf(a, "%%y = stack(%s)\nreturn %%y\n", all_steps(a, "h", 1))};
    for (int i = 0; i < 2; i++) {
        n_rotated = 0;
        rolls(a, steps_text(a, inputs, "", gates, ends[i]), 1);
        assert_int_equal(n_rotated, 2);
    }
    arena_free(a);
}

static void refuses(const char *part, const char *call) {
    struct arena *a = arena_new();
    const char *why;
    const char *text =
        arena_printf(a,
                     "graph(%%x: f32[12, 3], %%h: f32[3]) {\n  %%y = loop([%%h, %%x], "
                     "%s, body=graph(%%a: f32[3], %%b: f32[3]) {\n %%s = add(%%a, %%b)\n"
                     " return %%s\n }, output=0)\n  return %%y\n}\n",
                     call);
    struct graph *g = try_parse(a, text, &why);
    if (!part ? !g : g || !strstr(why, part)) fail_msg("%s: %s", call, g ? "taken" : why);
    arena_free(a);
}

/* Chains that look alike and are no loop: what is looked at leaves nothing behind. */
static void test_guesses_leave_nothing(void **state) {
    enum { CHAIN = 3000, A_NODE = 200 /* bytes, of what the pass has of each */ };
    struct arena *a = arena_new();
    struct buf b = buf_new(a);
    buf_puts(&b, "graph(%h0: f32[4]) {\n");
    for (int i = 1; i <= CHAIN; i++) /* the operand is always another */
        buf_printf(&b, "  %%h%d = add(%%h%d, %%h%d)\n", i, i - 1, i * i % 7 * i / 8);
    buf_printf(&b, "  return %%h%d\n}\n", CHAIN);
    struct graph *g = must_parse(a, b.p);
    size_t used = arena_used(a);
    assert_ptr_equal(graph_roll(g), g);
    size_t copied = CHAIN * (sizeof(struct node) * 4 + 2 * sizeof(struct arg) + 128);
    if (arena_used(a) - used > copied + CHAIN * A_NODE)
        fail_msg("%zu bytes of %d nodes", arena_used(a) - used, CHAIN);
    arena_free(a);
}

#define PAID                                                                                       \
    "%x@ = select(%x, 0, ~)\n%w@ = select(%w, 0, ~)\n%y@ = mul(%h~, %x@)\n%z@ = exp(%y@)\n"        \
    "%q@ = neg(%z@)\n%p@ = mm(%h~, %w@)\n%h@ = tanh(%p@)\n"

/* The last step lacks what a next one would have read; not where it had nothing to make that of. */
static void test_last(void **state) {
    for (int has = 0; has < 2; has++) {
        struct arena *a = arena_new();
        struct buf all = buf_new(a);
        for (int t = 1; t <= STEPS + 1; t++) buf_printf(&all, "%s%%q%d", t > 1 ? ", " : "", t);
        const char *inputs = arena_printf(
            a, "%%x: f32[%d, 3, 5], %%h0: f32[3, 5], %%w: f32[%d, 5, 5]", STEPS + 1, STEPS + has);
        const char *text =
            steps_text(a, inputs, "", PAID,
                       arena_printf(a,
                                    "%%x13 = select(%%x, 0, 12)\n%%y13 = mul(%%h12, %%x13)\n"
                                    "%%z13 = exp(%%y13)\n%%q13 = neg(%%z13)\n"
                                    "%%s = stack([%s])\nreturn %%s\n",
                                    all.p));
        rolls(a, text, has ? 1 : 2); /* what is read of it behind its steps */
        const char *rolled = printed(graph_roll(must_parse(a, text)));
        if (!strstr(rolled, has ? "steps=13" : "steps=12")) fail_msg("%s", rolled);
        arena_free(a);
    }
}

/* Many small steps without a product are a loop, a few are not; the tangents of a function's own
 * gradient have numbers of their own. */
static void test_many(void **state) {
    enum { MANY = 64 };
    for (int n = MANY - 1; n <= MANY; n++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        buf_printf(&b, "graph(%%x: f32[%d, 3], %%h0: f32[3]) {\n", n);
        for (int t = 1; t <= n; t++)
            buf_printf(&b,
                       "%%x%d = select(%%x, 0, %d)\n%%a%d = add(%%h%d, %%x%d)\n"
                       "%%t%d = tangent([3], %d)\n%%g%d = mul(%%t%d, 0.5)\n"
                       "%%h%d = give_gradient(%%a%d, %%t%d, [%%a%d], [%%g%d])\n",
                       t, t - 1, t, t - 1, t, t, t, t, t, t, t, t, t, t);
        buf_printf(&b, "return %%h%d\n}\n", n);
        struct graph *g = must_parse(a, b.p), *r = graph_roll(g);
        assert_int_equal(count_loops(r), n == MANY);
        if (n == MANY) same_gradients(g, r);
        arena_free(a);
    }
}

/* Few are one where all that is carried goes its own way, and not where it is summed, or where no
 * time goes by. */
static void test_own_way(void **state) {
    static const struct {
        const char *step;
        int steps, loops;
    } cases[] = {
        {"%%a%d = mul(%%h%d, 0.5)\n%%h%d = add(%%a%d, %%x%d)\n", 16, 1},
        {"%%a%d = mul(%%h%d, 0.5)\n%%h%d = add(%%a%d, %%x%d)\n", 15, 0},
        {"%%a%d = softmax(%%h%d, 1)\n%%h%d = add(%%a%d, %%x%d)\n", 16, 0},
        {"%%a%d = mul(%%h%d, 0.5)\n%%h%d = add(%%a%d, 1.0)\n%%y%d = exp(%%x0)\n", 16, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct buf b = buf_new(a);
        buf_puts(&b, "graph(%x: f32[16, 3, 4], %h0: f32[3, 4], %x0: f32[4]) {\n");
        for (int t = 1; t <= cases[i].steps; t++) {
            buf_printf(&b, "%%x%d = select(%%x, 0, %d)\n", t, t - 1);
            buf_printf(&b, cases[i].step, t, t - 1, t, t, t);
        }
        buf_printf(&b, "return %%h%d\n}\n", cases[i].steps);
        struct graph *g = must_parse(a, b.p);
        if (i == 3) g = graph_drop_unused(g);
        assert_int_equal(count_loops(graph_roll(g)), cases[i].loops);
        arena_free(a);
    }
}

static void test_refused(void **state) {
    refuses(NULL, "carried=[0, -1], first=[0, 0], way=[0, 1], steps=12");
    refuses(NULL, "carried=[0, -1], first=[0, 11], way=[0, -1], steps=12");
    refuses("no such slices", "carried=[0, -1], first=[0, 0], way=[0, 1], steps=13");
    refuses("no such slices", "carried=[0, -1], first=[0, 0], way=[0, -1], steps=2");
    refuses("no such output", "carried=[1, -1], first=[0, 0], way=[0, 1], steps=12");
    refuses("not what the body takes", "carried=[0, -1], first=[0, 0], way=[0, 0], steps=12");
    refuses("2 inputs", "carried=[0], first=[0, 0], way=[0, 1], steps=12");
    refuses("needs steps", "carried=[0, -1], first=[0, 0], way=[0, 1], steps=0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stacked),  cmocka_unit_test(test_slices),
        cmocka_unit_test(test_chains),   cmocka_unit_test(test_strides),
        cmocka_unit_test(test_none),     cmocka_unit_test(test_guesses_leave_nothing),
        cmocka_unit_test(test_rotated),  cmocka_unit_test(test_before),
        cmocka_unit_test(test_behind),   cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_refused),  cmocka_unit_test(test_types),
        cmocka_unit_test(test_assigned), cmocka_unit_test(test_last),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_own_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

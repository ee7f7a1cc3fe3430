/* graph_test.h: what the tests of compiler/graph share: graphs from text and random inputs. */
#ifndef GRAPH_TEST_H
#define GRAPH_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/graph.h"
#include "graph/sample.h"

enum { MAX_TEST_VALUES = 16 };

static inline const struct source *test_source(struct arena *a, const char *text) {
    struct source *s = NEW(a, struct source);
    *s = (struct source){"test.graph", text, strlen(text)};
    return s;
}

/* The operators in their order, inputs aside: "windows amax relu" */
static inline const char *operators(const struct graph *g) {
    struct buf b = buf_new(g->arena);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op != OP_INPUT)
            buf_printf(&b, "%s%s", b.n ? " " : "", op_info(g->nodes.at[i].op)->name);
    return b.p;
}

/* The graph, or NULL with the message in *why. */
static inline struct graph *try_parse(struct arena *a, const char *text, const char **why) {
    struct diag d = diag_new(a);
    struct graph *g = graph_parse(a, exprs_new(a), test_source(a, text), &d);
    *why = d.text;
    return g;
}

static inline struct graph *must_parse(struct arena *a, const char *text) {
    const char *why;
    struct graph *g = try_parse(a, text, &why);
    if (!g) fail_msg("%s", why);
    why = graph_verify(g, false);
    if (why) fail_msg("%s\n%s", why, text);
    return g;
}

static inline const char *printed(const struct graph *g) {
    struct buf b = buf_new(g->arena);
    graph_print(&b, g);
    return b.p;
}

/* One node applied to the inputs x, y, z of the given types. */
static inline struct graph *one_op(struct arena *a, const char *inputs, const char *call) {
    return must_parse(a,
                      arena_printf(a, "graph(%s) {\n  %%r = %s\n  return %%r\n}\n", inputs, call));
}

static inline struct meta result_meta(const struct graph *g) {
    return g->nodes.at[g->outputs.at[0]].meta;
}

/* "f32[4, 8]" */
static inline const char *result_type(const struct graph *g) {
    struct meta m = result_meta(g);
    struct buf b = buf_new(g->arena);
    buf_puts(&b, dtype_name(m.dtype));
    graph_print_shape(&b, g, &m);
    return b.p;
}

/* Normals for floats, -4..4 for integers, coins for bools. */
static inline double test_value(enum dtype t, uint64_t tensor, uint64_t i) {
    double u = random_uniform(7, tensor, i);
    if (t == DT_BOOL) return u < 0.5;
    return dtype_is_float(t) ? random_normal(7, tensor, i) : floor(u * 9) - 4;
}

static inline void random_inputs(const struct graph *g, struct value *in) {
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[k].node].meta;
        in[k] = (struct value){.n = ex_value(g->ex, meta_numel(g->ex, m))};
        in[k].v = calloc((size_t)in[k].n + 1, sizeof(double));
        for (int64_t i = 0; i < in[k].n; i++) in[k].v[i] = test_value(m->dtype, k, (uint64_t)i);
    }
}

static inline void free_values(struct value *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) value_free(&v[i]);
}

static inline void must_eval(const struct graph *g, const struct value *in, struct value *out) {
    struct diag d = diag_new(g->arena);
    if (!graph_eval(g, in, out, &d)) fail_msg("%s", d.text);
}

/* Outputs of both are the same, but for `most`. */
static inline void must_stay_near(const struct graph *g, const struct graph *h,
                                  const struct value *in, double most) {
    struct value was[MAX_TEST_VALUES], is[MAX_TEST_VALUES];
    must_eval(g, in, was);
    must_eval(h, in, is);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        assert_int_equal(is[o].n, was[o].n);
        for (int64_t i = 0; i < was[o].n; i++) assert_true(fabs(is[o].v[i] - was[o].v[i]) < most);
    }
    free_values(was, g->outputs.n);
    free_values(is, h->outputs.n);
}

static inline bool same_bits(const struct value *a, int64_t i, const double *v, const int64_t *w) {
    return w ? a->w[i] == w[i]
             : !memcmp(&a->v[i], &v[i], sizeof *v) || (v[i] != v[i] && a->v[i] != a->v[i]);
}

/* A pass leaves these operators of a program's primitives, and outputs of the same sizes, strides
 * and values, bit for bit. */
static inline void must_become(const char *text, struct graph *(*pass)(struct graph *),
                               const char *want) {
    struct arena *a = arena_new();
    struct value in[MAX_TEST_VALUES], was[MAX_TEST_VALUES], is[MAX_TEST_VALUES];
    struct graph *g = graph_simplify(graph_decompose(graph_simplify(must_parse(a, text))));
    struct graph *to = pass(g);
    const char *why = graph_verify(to, true);
    if (why) fail_msg("%s\n%s", why, printed(to));
    if (strcmp(operators(to), want))
        fail_msg("'%s', expected '%s' of\n%s", operators(to), want, printed(g));
    random_inputs(g, in);
    must_eval(g, in, was);
    must_eval(to, in, is);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        const struct meta *x = &g->nodes.at[g->outputs.at[o]].meta,
                          *y = &to->nodes.at[to->outputs.at[o]].meta;
        assert_int_equal(x->rank, y->rank);
        for (int d = 0; d < x->rank; d++)
            assert_true(x->size[d] == y->size[d] && x->stride[d] == y->stride[d]);
        assert_int_equal(was[o].n, is[o].n);
        for (int64_t i = 0; i < was[o].n; i++) assert_true(same_bits(&was[o], i, is[o].v, is[o].w));
    }
    free_values(in, g->inputs.n);
    free_values(was, g->outputs.n);
    free_values(is, to->outputs.n);
    arena_free(a);
}

/* Every element of every output of a decomposed graph, computed on demand, all at once and the last
 * one alone, is what the interpreter computed. */
static inline void must_sample(struct graph *g, const struct value *in, const struct value *want) {
    struct diag d = diag_new(g->arena);
    struct sample_source from = {(void *)in, value_load};
    struct sampler *s = sampler_new(g, &from, &d);
    int64_t spent;
    if (!s) fail_msg("%s", d.text);
    for (uint32_t o = 0; o < g->outputs.n; o++) {
        int64_t n = want[o].n, *at = calloc((size_t)n + 1, sizeof *at);
        double *v = calloc((size_t)n + 1, sizeof *v);
        int64_t *w = want[o].w ? calloc((size_t)n + 1, sizeof *w) : NULL;
        for (int pass = 0; pass < 2 && n; pass++) {
            int64_t first = pass ? n - 1 : 0;
            for (int64_t i = first; i < n; i++) at[i] = i;
            if (sample_elements(s, o, at + first, n - first, INT64_MAX / 2, v + first,
                                w ? w + first : NULL, &spent, &d) != SAMPLED)
                fail_msg("refused: %s\n%s", d.text, printed(g));
            for (int64_t i = first; i < n; i++)
                if (!same_bits(&want[o], i, v, w))
                    fail_msg("out%u[%lld]: %.17g by itself, %.17g among all\n%s", o, (long long)i,
                             w ? (double)w[i] : v[i], value_number(&want[o], i), printed(g));
            int64_t least = spent;
            if (sample_elements(s, o, at + first, n - first, least, v + first, w ? w + first : NULL,
                                &spent, &d) == SAMPLE_REFUSED &&
                !spent)
                fail_msg("%lld reads are said not to be enough\n%s", (long long)least, printed(g));
        }
        free(at);
        free(v);
        free(w);
    }
}

/* No bound of what may be computed either way, as g or as h, is less than of one way alone. */
static inline void bounds_hold_either_way(struct graph *either, struct graph *g, struct graph *h,
                                          const struct value *in) {
    struct rounding how = {.device = DEVICE_CUDA, .stores = true};
    struct graph *ways[] = {either, g, h};
    struct value bound[3][MAX_TEST_VALUES];
    for (int w = 0; w < 3; w++) {
        const char *why = graph_verify(ways[w], false);
        if (why) fail_msg("%s", why);
        must_eval(graph_bound(graph_simplify(graph_decompose(ways[w])), how), in, bound[w]);
    }
    for (uint32_t o = 0; o < g->outputs.n; o++)
        for (int64_t i = 0; i < bound[0][o].n; i++)
            for (int w = 1; w < 3; w++) assert_true(bound[0][o].v[i] >= bound[w][o].v[i]);
    for (int w = 0; w < 3; w++) free_values(bound[w], g->outputs.n);
}

#endif

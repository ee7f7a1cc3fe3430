/* autograd_test.h: what the tests of differentiation share: the joint graph of a text, and its
 * gradients against central differences, all in double precision. */
#ifndef AUTOGRAD_TEST_H
#define AUTOGRAD_TEST_H

#include "graph/autograd.h"
#include "graph_test.h"

static inline bool *wants_all(const struct graph *g) {
    bool *wants = NEW_ARRAY(g->arena, bool, g->inputs.n);
    for (uint32_t i = 0; i < g->inputs.n; i++)
        wants[i] = dtype_is_float(g->nodes.at[g->inputs.at[i].node].meta.dtype);
    return wants;
}

static inline struct graph *must_differentiate(const struct graph *g, const bool *wants) {
    struct diag d = diag_new(g->arena);
    struct graph *joint = graph_backward(g, wants, &d);
    if (!joint) fail_msg("%s\n%s", d.text, printed(g));
    const char *why = graph_verify(joint, false);
    if (why) fail_msg("%s\n%s", why, printed(joint));
    return joint;
}

/* Floats between lo and hi, tangents normal, integers 0..4; others as graph_test.h says. */
static inline void fill_inputs(const struct graph *joint, uint32_t n_forward, double lo, double hi,
                               struct value *in) {
    random_inputs(joint, in);
    for (uint32_t k = 0; k < n_forward; k++)
        for (int64_t i = 0; i < in[k].n; i++)
            if (dtype_is_float(joint->nodes.at[k].meta.dtype))
                in[k].v[i] = lo + (hi - lo) * random_uniform(3, k, (uint64_t)i);
            else
                in[k].v[i] = fabs(in[k].v[i]);
}

/* The outputs of g, weighted with the tangents of the joint graph and added up. */
static inline double weighted(const struct graph *g, const struct value *in) {
    struct value out[MAX_TEST_VALUES];
    double sum = 0;
    must_eval(g, in, out);
    for (uint32_t k = 0, t = g->inputs.n; k < g->outputs.n; k++) {
        if (!dtype_is_float(g->nodes.at[g->outputs.at[k]].meta.dtype)) continue;
        for (int64_t i = 0; i < out[k].n; i++) sum += value_number(&out[k], i) * in[t].v[i];
        t++;
    }
    free_values(out, g->outputs.n);
    return sum;
}

static inline double difference(const struct graph *g, struct value *in, uint32_t k, int64_t i) {
    const double h = 1e-5;
    double x = in[k].v[i];
    in[k].v[i] = x + h;
    double up = weighted(g, in);
    in[k].v[i] = x - h;
    double down = weighted(g, in);
    in[k].v[i] = x;
    return (up - down) / (2 * h);
}

static inline bool nearly(double a, double b, double tolerance) {
    return a == b || (a != a && b != b) ||
           fabs(a - b) <= tolerance * fmax(1, fmax(fabs(a), fabs(b)));
}

/* Gradients of `joint` as computed, and as differences of `g`; the outputs are those of g. */
static inline void check_gradients(const struct graph *g, const struct graph *joint,
                                   const bool *wants, double lo, double hi) {
    struct value in[MAX_TEST_VALUES], out[MAX_TEST_VALUES], plain[MAX_TEST_VALUES];
    fill_inputs(joint, g->inputs.n, lo, hi, in);
    must_eval(joint, in, out);
    must_eval(g, in, plain);
    uint32_t at = g->outputs.n;
    for (uint32_t k = 0; k < at; k++)
        for (int64_t i = 0; i < plain[k].n; i++)
            if (!nearly(value_number(&out[k], i), value_number(&plain[k], i), 1e-12))
                fail_msg("output %u[%lld] is %.17g, expected %.17g\n%s", k, (long long)i,
                         value_number(&out[k], i), value_number(&plain[k], i), printed(joint));
    for (uint32_t k = 0; k < g->inputs.n; k++) {
        if (!wants[k]) continue;
        for (int64_t i = 0; i < in[k].n; i++) {
            double want = difference(g, in, k, i);
            if (!nearly(value_number(&out[at], i), want, 1e-6))
                fail_msg("gradient of %s[%lld] is %.17g, differences say %.17g\n%s",
                         g->nodes.at[k].name, (long long)i, value_number(&out[at], i), want,
                         printed(joint));
        }
        at++;
    }
    assert_int_equal(at, joint->outputs.n);
    free_values(in, joint->inputs.n);
    free_values(out, joint->outputs.n);
    free_values(plain, g->outputs.n);
}

/* Before and after decomposition. */
static inline void check_graph(struct graph *g, double lo, double hi) {
    bool *wants = wants_all(g);
    struct graph *joint = must_differentiate(g, wants);
    check_gradients(g, joint, wants, lo, hi);
    struct graph *flat = graph_simplify(graph_decompose(joint));
    const char *why = graph_verify(flat, true);
    if (why) fail_msg("%s\n%s", why, printed(flat));
    check_gradients(g, flat, wants, lo, hi);
}

#endif

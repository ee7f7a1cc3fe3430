/* test_gradients.c: random graphs differentiated.
 *
 *   the joint graph verifies, and so do both parts of its partition; decomposing and partitioning
 *   keep its values; on floats of 64 bits the derivative along a random direction is that of
 *   central differences, wherever those are sure of themselves
 *
 * A slice of fixed seeds in `make test`; others by hand: test_gradients FIRST COUNT. */
#include <stdio.h>

#include "graph/autograd.h"
#include "graph/derivatives.h"
#include "graph/partition.h"
#include "tests/fuzz/gen.h"
#include "tests/unit/graph_test.h"

enum { MAX_VALUES = 64 };

struct trial {
    struct graph *g, *joint;
    bool *wants;
    struct value in[MAX_VALUES];
    int64_t judged;
};

static struct graph *checked(struct graph *g, const struct trial *t) {
    const char *why = graph_verify(g, false);
    if (why) fail_msg("%s\n%s\nof\n%s", why, printed(g), printed(t->g));
    return g;
}

/* Floats of any width as f64, if it still is a graph then. */
static struct graph *widened(struct arena *a, const struct graph *g) {
    static const char *const narrow[] = {"bf16", "f16", "f32"};
    struct buf b = buf_new(a);
    struct diag d = diag_new(a);
    for (const char *p = printed(g); *p;) {
        size_t skip = 0;
        for (int k = 0; k < 3 && !skip; k++)
            if (!strncmp(p, narrow[k], strlen(narrow[k]))) skip = strlen(narrow[k]);
        if (skip)
            buf_puts(&b, "f64");
        else
            buf_putc(&b, *p);
        p += skip ? skip : 1;
    }
    return graph_parse(a, exprs_new(a), test_source(a, b.p), &d);
}

static int64_t wanted(struct trial *t) {
    int64_t n = 0;
    t->wants = NEW_ARRAY(t->g->arena, bool, t->g->inputs.n);
    for (uint32_t i = 0; i < t->g->inputs.n; i++)
        n += t->wants[i] = dtype_is_float(t->g->nodes.at[i].meta.dtype);
    return n;
}

static bool near(double a, double b, double tolerance) {
    if (!isfinite(a) || !isfinite(b)) return true;
    return fabs(a - b) <= tolerance * (1 + fabs(a) + fabs(b));
}

/* The floating ones: y are those of the joint graph from `first` on. */
static void same_outputs(const struct trial *t, const struct graph *other, uint32_t first,
                         const struct value *x, const struct value *y) {
    for (uint32_t k = 0; k < other->outputs.n; k++) {
        node_id id = t->joint->outputs.at[first + k];
        assert_int_equal(x[k].n, y[k].n);
        if (!dtype_is_float(t->joint->nodes.at[id].meta.dtype)) continue;
        for (int64_t i = 0; i < x[k].n; i++)
            if (!near(value_number(&x[k], i), value_number(&y[k], i), 1e-6))
                fail_msg("output %u[%lld] is %.17g and %.17g\n%s\n%s", k, (long long)i,
                         value_number(&x[k], i), value_number(&y[k], i), printed(t->joint),
                         printed(other));
    }
}

/* The gradients out of the two parts. */
static void check_partition(struct trial *t, struct graph *flat, const struct value *joint) {
    struct partition *p = graph_partition(flat, t->g->inputs.n, t->g->outputs.n);
    struct value forward[MAX_VALUES], saved[MAX_VALUES], backward[MAX_VALUES];
    checked(p->forward, t);
    checked(p->backward, t);
    uint32_t n_forward = p->forward->outputs.n;
    must_eval(p->forward, t->in, forward);
    for (uint32_t i = 0; i < p->saved.n; i++)
        saved[i] =
            p->saved.at[i].is_input ? t->in[p->saved.at[i].index] : forward[p->saved.at[i].index];
    for (uint32_t i = t->g->inputs.n; i < flat->inputs.n; i++)
        saved[p->saved.n + i - t->g->inputs.n] = t->in[i];
    must_eval(p->backward, saved, backward);
    p->forward->outputs.n = t->g->outputs.n; /* not what is saved */
    same_outputs(t, p->forward, 0, forward, joint);
    same_outputs(t, p->backward, t->g->outputs.n, backward, joint + t->g->outputs.n);
    p->forward->outputs.n = n_forward;
    free_values(forward, p->forward->outputs.n);
    free_values(backward, p->backward->outputs.n);
}

/* Tangents times outputs, h along the direction. */
static double along(const struct trial *t, double h) {
    struct value at[MAX_VALUES], out[MAX_VALUES];
    double sum = 0;
    for (uint32_t k = 0; k < t->g->inputs.n; k++) {
        at[k] =
            (struct value){.v = malloc((size_t)(t->in[k].n + 1) * sizeof(double)), .n = t->in[k].n};
        for (int64_t i = 0; i < at[k].n; i++)
            at[k].v[i] = t->in[k].v[i] + (t->wants[k] ? h * random_normal(5, k, (uint64_t)i) : 0);
    }
    must_eval(t->g, at, out);
    for (uint32_t k = 0, tangent = t->g->inputs.n; k < t->g->outputs.n; k++) {
        if (!dtype_is_float(t->g->nodes.at[t->g->outputs.at[k]].meta.dtype)) continue;
        for (int64_t i = 0; i < out[k].n; i++)
            sum += value_number(&out[k], i) * t->in[tangent].v[i];
        tangent++;
    }
    free_values(at, t->g->inputs.n);
    free_values(out, t->g->outputs.n);
    return sum;
}

/* Differences go through what stops gradients, and see the slope of steps that are close together,
 * and of a scatter's sources only those that stay. */
static bool has_steps(const struct graph *g) {
    for (node_id i = 0; i < g->nodes.n; i++) {
        enum op op = g->nodes.at[i].op;
        if (derivative_of(op)->kind == DERIVATIVE_ZERO || op == OP_FMOD || op == OP_REMAINDER ||
            op == OP_SCATTER)
            return true;
    }
    return false;
}

static void check_direction(struct trial *t, const struct value *joint) {
    if (has_steps(t->g)) return;
    double coarse = (along(t, 1e-5) - along(t, -1e-5)) / 2e-5;
    double fine = (along(t, 3e-6) - along(t, -3e-6)) / 6e-6, sum = 0, size = 0;
    uint32_t at = t->g->outputs.n;
    for (uint32_t k = 0; k < t->g->inputs.n; k++) {
        if (!t->wants[k]) continue;
        for (int64_t i = 0; i < joint[at].n; i++) {
            double d = value_number(&joint[at], i) * random_normal(5, k, (uint64_t)i);
            sum += d;
            size += fabs(d);
        }
        at++;
    }
    if (!isfinite(sum) || !isfinite(fine) || size > 1e8 || !near(coarse, fine, 1e-6)) return;
    t->judged++;
    if (fabs(sum - fine) > 1e-5 * (1 + size + fabs(fine)))
        fail_msg("along a direction %.17g, differences say %.17g\n%s", sum, fine,
                 printed(t->joint));
}

static void differentiate(struct trial *t, bool smooth) {
    struct diag d = diag_new(t->g->arena);
    struct value joint[MAX_VALUES], flat_out[MAX_VALUES];
    t->joint = graph_backward(t->g, t->wants, &d);
    if (!t->joint) {
        if (!strstr(d.text, "has no derivative")) fail_msg("%s\n%s", d.text, printed(t->g));
        return;
    }
    if (t->joint->outputs.n > MAX_VALUES || t->joint->inputs.n > MAX_VALUES) return;
    checked(t->joint, t);
    struct graph *flat = checked(graph_simplify(graph_decompose(t->joint)), t);
    random_inputs(t->joint, t->in);
    must_eval(t->joint, t->in, joint);
    if (smooth) {
        must_eval(flat, t->in, flat_out);
        same_outputs(t, flat, 0, flat_out, joint);
        free_values(flat_out, t->joint->outputs.n);
        check_partition(t, flat, joint);
        check_direction(t, joint);
    }
    free_values(t->in, t->joint->inputs.n);
    free_values(joint, t->joint->outputs.n);
}

static int64_t try_seed(uint64_t seed) {
    struct arena *a = arena_new();
    struct trial t = {.g = gen_graph(a, seed)};
    if (!graph_verify(t.g, false) && wanted(&t)) {
        differentiate(&t, false);
        t.g = widened(a, t.g);
        if (t.g && wanted(&t)) differentiate(&t, true);
    }
    arena_free(a);
    return t.judged;
}

static uint64_t first_seed = 1, n_seeds = 200;

static void test_random_graphs(void **state) {
    int64_t judged = 0;
    for (uint64_t i = 0; i < n_seeds; i++)
        judged += try_seed((first_seed + i) * 0x9E3779B97F4A7C15u);
    printf("%lld derivatives compared with differences\n", (long long)judged);
    assert_true(judged >= (int64_t)n_seeds / 8);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs)};
    if (argc > 2) first_seed = strtoull(argv[1], NULL, 0), n_seeds = strtoull(argv[2], NULL, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

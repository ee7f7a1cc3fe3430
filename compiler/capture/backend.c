/* backend.c: captured graphs by the reference interpreter.
 *
 *   eager      the graph as captured, every value rounded as it is stored
 *   aot_eager  the same after decomposition and simplification */
#include "capture/backend.h"

#include <stdlib.h>
#include <string.h>

int64_t bindings_value(const struct bindings *b, struct exprs *p, ex e) {
    int64_t n;
    if (ex_is_const(p, e, &n)) return n;
    for (uint32_t i = 0; i < b->n; i++)
        if (b->symbols[i] == e) return b->values[i];
    ex to[64];
    WS_ASSERT(b->n <= 64);
    for (uint32_t i = 0; i < b->n; i++) to[i] = ex_const(p, b->values[i]);
    return ex_value(p, ex_subst(p, e, b->symbols, to, (int)b->n));
}

static int64_t numel(const struct array *x) {
    int64_t n = 1;
    for (int i = 0; i < x->rank; i++) n *= x->size[i];
    return n;
}

static bool read_values(const struct array *x, struct value *out) {
    bool ok = value_alloc(out, x->dtype, numel(x));
    for (int64_t i = 0; ok && i < out->n; i++) {
        size_t at = (size_t)strided_at(x->rank, x->size, x->stride, i);
        if (out->w)
            out->w[i] = dtype_load_int(x->dtype, x->bytes, at);
        else
            out->v[i] = dtype_load(x->dtype, x->bytes, at);
    }
    return ok;
}

static bool evaluate(struct graph *g, const struct bindings *b, uint64_t seed,
                     const struct array *inputs, const struct array *outputs, struct diag *d) {
    struct arena *a = arena_new();
    struct graph *now = graph_specialize(g, b->symbols, b->values, b->n, a);
    now->seed = seed;
    now->stores_values = true;
    struct value *in = NEW_ARRAY(a, struct value, g->inputs.n),
                 *out = NEW_ARRAY(a, struct value, g->outputs.n);
    bool ok = true;
    for (uint32_t i = 0; i < g->inputs.n; i++) ok &= read_values(&inputs[i], &in[i]);
    if (!ok) diag_fail(d, WS_MACHINE, "out of memory for the inputs of a graph");
    ok = ok && graph_eval(now, in, out, d);
    for (uint32_t i = 0; ok && i < g->outputs.n; i++)
        for (int64_t k = 0; k < out[i].n; k++)
            if (out[i].w)
                dtype_store_int(outputs[i].dtype, outputs[i].bytes, (size_t)k, out[i].w[k]);
            else
                dtype_store(outputs[i].dtype, outputs[i].bytes, (size_t)k, out[i].v[k]);
    for (uint32_t i = 0; i < g->inputs.n; i++) value_free(&in[i]);
    for (uint32_t i = 0; i < g->outputs.n; i++) value_free(&out[i]);
    arena_free(a);
    return ok;
}

static void *compile_eager(void *ctx, struct graph *g, struct diag *d) {
    return graph_widen_scores(g);
}

static void *compile_aot(void *ctx, struct graph *g, struct diag *d) {
    return graph_widen_scores(graph_simplify(graph_decompose(graph_simplify(g))));
}

static bool run(void *ctx, void *callable, const struct bindings *b, uint64_t seed,
                const struct array *inputs, const struct array *outputs, struct diag *d) {
    return evaluate(callable, b, seed, inputs, outputs, d);
}

const struct backend backend_eager = {.name = "eager", .compile = compile_eager, .run = run};
const struct backend backend_aot_eager = {.name = "aot_eager", .compile = compile_aot, .run = run};

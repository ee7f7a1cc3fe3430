/* drive_steps.c: the steps of a kernel one by one; see drive.h. */
#include <math.h>
#include <stdlib.h>

#include "graph/eval.h"
#include "kernel/kernel.h"
#include "tests/fuzz/drive_impl.h"

/* Row-major elements of a buffer, which has m's sizes and strides in memory; zeros of one that is
 * a window, which no kernel of all steps reads. */
static struct value elements_of(const struct graph *g, const struct meta *m, enum dtype t,
                                const void *memory) {
    struct value x = {.n = ex_value(g->ex, meta_numel(g->ex, m))};
    x.v = calloc((size_t)x.n + 1, sizeof *x.v);
    for (int64_t i = 0; i < x.n && memory; i++) {
        int64_t at = 0, rest = i;
        for (int d = m->rank; d-- > 0; rest /= ex_value(g->ex, m->size[d]))
            at += rest % ex_value(g->ex, m->size[d]) * ex_value(g->ex, m->stride[d]);
        x.v[i] = dtype_load(t, memory, (size_t)at);
    }
    return x;
}

static struct value *inputs_of(const struct drive *b, const struct ws_alone *x,
                               const struct graph *all) {
    struct value *in = calloc(all->inputs.n + 1, sizeof *in);
    for (uint32_t i = 0; i < all->inputs.n; i++) {
        const struct meta *m = &all->nodes.at[all->inputs.at[i].node].meta;
        int buffer = x->inputs[i];
        if (i < b->g->inputs.n) {
            in[i] = (struct value){.v = b->in[i].v, .n = b->in[i].n, .w = b->in[i].w};
        } else if (buffer >= 0) {
            in[i] = elements_of(all, m, b->p->buffers[buffer].dtype, b->emulated[buffer]);
        }
    }
    return in;
}

/* Steps begin where vectors do: `pitch` bytes from one to the next. */
static size_t place_of(const struct ws_buffer *x, int64_t i) {
    size_t size = (size_t)dtype_bytes(x->dtype), run = x->run_bytes / size;
    return x->pitch ? (size_t)i / run * (x->pitch / size) + (size_t)i % run : (size_t)i;
}

static bool compare(const struct drive *b, int buffer, const struct value *want,
                    const struct value *bound, struct diag *d) {
    const struct ws_buffer *x = &b->p->buffers[buffer];
    for (int64_t i = 0; i < want->n; i++) {
        double got = dtype_load(x->dtype, b->emulated[buffer], place_of(x, i)), w = want->v[i],
               most = bound->v[i];
        if (got == w || (isnan(got) && isnan(w)) || most == INFINITY || isnan(most)) continue;
        if (fabs(got - w) <= most) continue;
        return drive_fail(d, "by itself %s[%lld] is %.9g, not %.9g (off by %.3g at most)", x->name,
                          (long long)i, got, w, most);
    }
    return true;
}

bool drive_judge_steps(struct drive *b, int kernel, int *judged, struct diag *d) {
    *judged = 0;
    if (!b->p->kernels[kernel].ir->steps) return true;
    struct arena *own = arena_new();
    struct ws_alone x = ws_alone_of(b->p, own);
    bool *which = NEW_ARRAY(own, bool, b->p->n_kernels), ok = true;
    const int *buffers;
    which[kernel] = true;
    struct ws_captured *c = ws_alone_join(&x, which, own, &buffers);
    if (!c->n_outputs) { /* a recurrence */
        arena_free(own);
        return true;
    }
    struct graph *all = c->values[b->p->limits.kind].reference;
    struct value *in = inputs_of(b, &x, all), *out = calloc(all->outputs.n + 1, sizeof *out);
    const char *bad = graph_verify(all, false);
    if (bad)
        ok = drive_fail(d, "the graph of a kernel alone: %s", bad);
    else
        ok = graph_eval(all, in, out, d);
    for (int i = 0; i < c->n_outputs && ok; i++)
        ok = compare(b, buffers[i], &out[i], &out[c->n_outputs + i], d);
    *judged = c->n_outputs;
    for (uint32_t i = b->g->inputs.n; i < all->inputs.n; i++) value_free(&in[i]);
    for (uint32_t i = 0; i < all->outputs.n; i++) value_free(&out[i]);
    free(in);
    free(out);
    arena_free(own);
    return ok;
}

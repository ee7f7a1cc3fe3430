/* judged.c: samples a reference, and says what is wrong with it. */
#include "judged.h"

/* "[3, 70]" */
static const char *place(const struct graph *g, const struct meta *m, int64_t at) {
    struct buf b = buf_new(g->arena);
    int64_t index[WS_MAX_RANK];
    for (int i = m->rank; i-- > 0;) {
        index[i] = at % ex_value(g->ex, m->size[i]);
        at /= ex_value(g->ex, m->size[i]);
    }
    for (int i = 0; i < m->rank; i++) buf_printf(&b, "%s%lld", i ? ", " : "[", (long long)index[i]);
    buf_puts(&b, m->rank ? "]" : "");
    return b.p;
}

bool reference_judge(struct graph *g, const struct sample_source *inputs,
                     const struct sample_source *outputs, struct sample_verdict *v,
                     struct diag *d) {
    struct sample_options o = SAMPLE_DEFAULTS;
    o.seed = g->seed;
    if (!sample_check(g, inputs, outputs, &o, v, d)) return false;
    if (!v->differs) return true;
    const struct node *n = &g->nodes.at[g->outputs.at[v->output]];
    diag_fail_at(d, WS_WRONG, g->src, n->where,
                 "a mistake of warpsmith: out%u%s of the reference is %.17g, but by itself %.17g; "
                 "doubles may be %.3g apart",
                 v->output, place(g, &n->meta, v->element), v->got, v->want, v->allowed);
    return false;
}

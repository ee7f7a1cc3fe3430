/* symbolic_view.c: from a size to the ranges that may hold for it.
 *
 *   softmax -D dim=1536     captured at dim=1536, and once more with dim as s0
 *                           the two are the same graph, kernel by kernel
 *                           256 <= s0 && s0 < 4096 holds for s0 = 1536 */
#include "tuner/symbolic_view.h"

#include <string.h>

bool same_kernels(const struct ws_program *p, const struct ws_program *q) {
    bool same = p->n_kernels == q->n_kernels;
    for (int k = 0; same && k < p->n_kernels; k++)
        same = !strcmp(p->kernels[k].name, q->kernels[k].name);
    return same;
}

/* NULL if the view holds. */
static const char *fill(struct symbolic_view *v, struct ws_captured *c, const struct ws_program *p,
                        struct arena *a, struct diag *d) {
    const char *why = "";
    struct stages quiet = stages_new(a, NULL, 0);
    if (!c) return d->message ? d->message : "it cannot be captured so";
    if (!c->n_symbols) return "no size of the graph follows it";
    if (!ws_captures_same(c, p->captured, &why))
        return arena_printf(a, "a number of the graph follows it: %s", why);
    v->size = ex_hint(c->graph->ex, c->symbols[0]);
    v->program = ws_lower(c, &p->limits, WS_FUSE, &quiet, d);
    if (!v->program) return d->message ? d->message : "it cannot be compiled so";
    if (!same_kernels(p, v->program)) return "its kernels are others than those of one size";
    v->captured = c;
    return NULL;
}

struct symbolic_view symbolic_view(const struct command_line *line, const struct ws_axis *axes,
                                   int n_axes, const char *axis, const struct ws_program *p,
                                   struct arena *a) {
    struct symbolic_view v = {.axis = axis};
    struct diag own = diag_new(a);
    struct stages quiet = stages_new(a, NULL, 0);
    struct ws_captured *c = capture_symbolic(line, axes, n_axes, axis, a, &quiet, &own);
    v.why = fill(&v, c, p, a, &own);
    if (v.why) v.program = NULL;
    return v;
}

bool judge_config(void *judge, const struct config *c) {
    const struct judge *j = judge;
    return !ws_config_illegal(j->program, j->kernel, c, j->arena);
}

enum lookup symbolic_look_up(struct range_table *t, const struct symbolic_view *v,
                             const struct ws_program *p, int kernel, struct arena *a,
                             const struct range_entry **out) {
    struct judge judge = {p, kernel, a};
    struct range_question q = {.graph = v->captured->graph_hash,
                               .kernel = v->program->kernels[kernel].hash,
                               .sizes = &v->size,
                               .n_sizes = 1,
                               .legal = judge_config,
                               .ctx = &judge};
    return range_look_up(t, &q, out);
}

const char *symbolic_guard(const struct range_entry *e, const char *axis, struct arena *a) {
    const char *names[GUARD_SYMBOLS] = {axis};
    struct buf b = buf_new(a);
    for (int i = 1; i < GUARD_SYMBOLS; i++) names[i] = "?";
    guard_range_print(&b, &e->guard, names);
    return b.p;
}

/* symbolic_view.c: from a size to the ranges that may hold for it.
 *
 *   softmax -D dim=1536     captured at dim=1536, and once more with dim as s0
 *                           the two are the same graph, kernel by kernel
 *                           256 <= s0 && s0 < 4096 holds for s0 = 1536 */
#include "tuner/symbolic_view.h"

#include <string.h>

#include "tuner/variant.h"

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
    struct ws_captured *c = capture_symbolic(line, &p->limits, axes, n_axes, axis, a, &quiet, &own);
    v.why = fill(&v, c, p, a, &own);
    v.texts = (struct symbolic_texts){.captured = c, .limits = &p->limits};
    if (v.why) v.program = NULL;
    return v;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static struct ws_program *program_at(struct symbolic_texts *t, int64_t size) {
    const struct ws_captured *c = t->captured;
    for (uint32_t i = 0; i < t->at.n; i++)
        if (t->at.at[i].size == size) return t->at.at[i].program;
    struct diag own = diag_new(c->arena);
    struct stages quiet = stages_new(c->arena, NULL, 0);
    int64_t *sizes = NEW_ARRAY(c->arena, int64_t, c->n_symbols);
    for (int i = 0; i < c->n_symbols; i++)
        sizes[i] = i ? ex_hint(c->graph->ex, c->symbols[i]) : size;
    struct ws_program *p = ws_lower(ws_captured_at(c, sizes), t->limits, WS_FUSE, &quiet, &own);
    vec_push(c->arena, &t->at, ((struct text_at){size, p}));
    return p;
}

/* NULL: c is not legal, or cannot be emitted. */
static const char *text_hash_under(const struct ws_program *p, int kernel, const struct config *c,
                                   struct arena *a) {
    struct diag own = diag_new(a);
    struct ws_source source;
    if (ws_config_illegal(p, kernel, c, a)) return NULL;
    return ws_emit(p, kernel, c, a, &source, &own) == WS_OK ? source_hash(&source, a) : NULL;
}

const char *symbolic_text_hash(struct symbolic_texts *t, int64_t size, int kernel, const char *name,
                               const struct config *c) {
    struct ws_program *p = size > 0 ? program_at(t, size) : NULL;
    if (!p || kernel >= p->n_kernels || strcmp(p->kernels[kernel].name, name) != 0) return NULL;
    return text_hash_under(p, kernel, c, t->captured->arena);
}

/* ---- lookups --------------------------------------------------------------------------------- */

enum range_verdict judge_entry(void *judge, const struct range_entry *e) {
    const struct judge *j = judge;
    const char *name = j->program->kernels[j->kernel].name;
    if (ws_config_illegal(j->program, j->kernel, &e->config, j->arena)) return RANGE_ILLEGAL;
    const char *now = e->guard.n
                          ? symbolic_text_hash(j->texts, e->size, j->kernel, name, &e->config)
                          : text_hash_under(j->program, j->kernel, &e->config, j->arena);
    return now && !strcmp(now, e->text_hash) ? RANGE_USABLE : RANGE_STALE;
}

enum lookup symbolic_look_up(struct range_table *t, struct symbolic_view *v,
                             const struct ws_program *p, int kernel, struct arena *a,
                             const struct range_entry **out) {
    struct judge judge = {p, kernel, &v->texts, a};
    struct range_question q = {.graph = v->captured->graph_hash,
                               .kernel = v->program->kernels[kernel].hash,
                               .sizes = &v->size,
                               .n_sizes = 1,
                               .judge = judge_entry,
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

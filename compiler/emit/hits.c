/* hits.c: what CUDA and C say in common of reductions to which a source contributes where it lands
 * (kernel/hits.c). */
#include "emit/impl.h"

const char *put_target(struct emitter *w, const char **counts) {
    const struct landing *l = w->k->landing;
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, l->target, marks);
    if (l->unless != NO_VALUE) mark_needed(w, l->unless, marks);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v]) put_local(w, v);
    const char *name = ref(w, l->target);
    if (l->first) name = arena_printf(w->arena, "(%s - %lldLL)", name, (long long)l->first);
    if (l->step > 1)
        name = arena_printf(w->arena, "(%s %% %lldLL ? -1LL : %s / %lldLL)", name,
                            (long long)l->step, name, (long long)l->step);
    *counts = "1";
    if (l->unless != NO_VALUE)
        *counts = arena_printf(w->arena, "%s%s", l->unless_holds ? "!" : "", ref(w, l->unless));
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v]) w->where[v] = NOWHERE;
    return name;
}

void put_landing_range(struct emitter *w, const char *first, const char *last) {
    const struct landing *l = w->k->landing;
    ex row = ex_div(w->k->ex, w->k->axis[AXIS_X], l->inner);
    line(w, "k_idx lo, hi;");
    for (int end = 0; end < 2; end++) {
        open_scope(w);
        line(w, "const k_idx x = %s;", end ? last : first);
        line(w, "%s = %s;", end ? "hi" : "lo", ex_text(w, row));
        close_brace(w);
    }
    if (!l->wraps) return;
    open_scope(w);
    line(w, "const k_idx n = %s;", ex_text(w, l->rows));
    line(w, "const int whole = lo / n < hi / n; /* they begin again in between */");
    line(w, "lo = whole ? 0 : lo %% n;");
    line(w, "hi = whole ? n - 1 : hi %% n;");
    close_brace(w);
}

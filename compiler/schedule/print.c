/* print.c: the schedule as text: groups with their nests, and the memory plan. */
#include "schedule/schedule.h"

static void put_space(struct buf *b, const struct loops *l, const char *name, const ex *axes,
                      int n) {
    buf_printf(b, "%s[", name);
    for (int k = 0; k < n; k++) {
        buf_printf(b, "%s%s: ", k ? ", " : "", ex_symbol(l->ex, axes[k])->name);
        ex_print(b, l->ex, ex_symbol(l->ex, axes[k])->bound);
    }
    buf_putc(b, ']');
}

void schedule_print(struct buf *b, const struct schedule *s) {
    const struct loops *l = s->loops;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        buf_printf(b, "%skernel %u: %s over ", g ? "\n" : "", g,
                   group_sorts(s, G) ? "sort"
                   : G->persistent   ? "steps"
                   : G->recurrent    ? "recurrence"
                   : G->matmul       ? "matmul"
                   : G->scan         ? "scan"
                   : G->n_r          ? "reduce"
                                     : "pointwise");
        put_space(b, l, "x", G->x, G->n_x);
        if (G->n_r) put_space(b, l, " r", G->r, G->n_r);
        if (G->columns) buf_puts(b, ", and of x");
        if (G->n_batch) put_space(b, l, "", &G->x[G->n_batch], G->n_x - G->n_batch);
        if (G->n_arms) put_space(b, l, ", arms ", &G->x[G->n_x - G->n_arms], G->n_arms);
        if (G->at_load) buf_puts(b, ", at load");
        if (G->lists) buf_printf(b, ", sources by %s", l->buffers.at[G->lists - 1].name);
        buf_putc(b, '\n');
        for (uint32_t m = 0; m < G->members.n; m++) {
            const struct nest *n = &l->nests.at[G->members.at[m].nest];
            buf_puts(b, G->members.at[m].inlined ? "  inlined "
                        : s->stored[n->out]      ? "  stored "
                                                 : "  kept ");
            nest_print(b, l, n);
        }
    }
}

void schedule_print_memory(struct buf *b, const struct schedule *s) {
    buf_printf(b, "pool %zu bytes\n", s->pool_bytes);
    for (buffer_id x = 0; x < s->loops->buffers.n; x++) {
        const struct buffer *B = &s->loops->buffers.at[x];
        if (B->kind != BUFFER_TEMP && B->kind != BUFFER_STACK) continue;
        if (s->stored[x])
            buf_printf(b, "%s: %lld bytes at %zu%s\n", B->name,
                       (long long)buffer_storage(s->loops, x), s->offset[x],
                       s->fixed[x] ? ", kept across calls" : "");
        else
            buf_printf(b, "%s: never in memory\n", B->name);
    }
}

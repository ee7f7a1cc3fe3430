/* readers.c: which nests read each buffer, as the loops are now: each once, in order.
 *
 * Needs: loops. */
#include "schedule/schedule.h"

/* Has nest n not been put down for buffer b yet? */
static bool is_new(uint32_t *last, buffer_id b, uint32_t n) {
    bool is = last[b] != n + 1;
    last[b] = n + 1;
    return is;
}

struct reader_lists loops_readers(const struct loops *l, struct arena *a) {
    struct reader_lists r = {.begin = NEW_ARRAY(a, uint32_t, l->buffers.n + 1)};
    struct arena *scratch = arena_within(a);
    for (int pass = 0; pass < 2; pass++) { /* counts them, then lists them */
        uint32_t *last = NEW_ARRAY(scratch, uint32_t, l->buffers.n);
        for (uint32_t n = l->nests.n; n-- > 0;)
            for (uint32_t i = 0; i < l->nests.at[n].insts.n; i++) {
                const struct inst *x = &l->nests.at[n].insts.at[i];
                if (x->kind != INST_LOAD || !is_new(last, x->buffer, n)) continue;
                if (pass == 0)
                    r.begin[x->buffer]++;
                else
                    r.nest[--r.begin[x->buffer]] = n;
            }
        for (buffer_id b = 0; b < l->buffers.n && pass == 0; b++) r.begin[b + 1] += r.begin[b];
        if (pass == 0) r.nest = NEW_ARRAY(a, uint32_t, r.begin[l->buffers.n]);
    }
    arena_free(scratch);
    return r;
}

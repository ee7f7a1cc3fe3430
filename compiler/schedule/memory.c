/* memory.c: gives every stored temporary a place in one pool; places are reused when their content
 * is dead.
 *
 *   b3 written by kernel 0, last read by 1; b5 written by 2   ->  both at offset 0
 *
 * Needs: order. First fit by size, largest first: within a few percent of the best for the dozens
 * of buffers here. */
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"

enum { ALIGN = 256 }; /* bytes; what a device allocation guarantees */

struct life {
    buffer_id b;
    size_t bytes;
    uint32_t born, dies; /* group indices, inclusive */
};

/* Per buffer the last group that reads it; 0 if none does. */
static const uint32_t *find_ends(const struct schedule *s) {
    const struct loops *l = s->loops;
    uint32_t *end = NEW_ARRAY(s->arena, uint32_t, l->buffers.n);
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *in = &l->nests.at[k].insts.at[i];
            if (in->kind == INST_LOAD && s->group_of[k] > end[in->buffer])
                end[in->buffer] = s->group_of[k];
        }
    return end;
}

static bool meet(const struct life *x, const struct life *y) {
    return x->born <= y->dies && y->born <= x->dies;
}

/* The lowest offset that clashes with no already placed life; those are in order of their offsets.
 */
static size_t first_fit(const struct schedule *s, const struct life *placed, uint32_t n,
                        const struct life *x) {
    size_t at = 0;
    for (uint32_t k = 0; k < n && s->offset[placed[k].b] < at + x->bytes; k++) {
        size_t end = s->offset[placed[k].b] + placed[k].bytes;
        if (end > at && meet(x, &placed[k])) at = end;
    }
    return at;
}

/* Where it stands among the n placed ones, in order. */
static void place(const struct schedule *s, struct life *placed, uint32_t n, const struct life *x) {
    uint32_t k = n;
    while (k > 0 && s->offset[placed[k - 1].b] > s->offset[x->b]) k--;
    memmove(&placed[k + 1], &placed[k], (n - k) * sizeof *placed);
    placed[k] = *x;
}

static int by_size(const void *a, const void *b) { /* largest first, then as they come */
    const struct life *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return (x->b > y->b) - (x->b < y->b);
}

void schedule_memory(struct schedule *s) {
    VEC(struct life) lives = {0};
    const uint32_t *end = find_ends(s);
    for (buffer_id b = 0; b < s->loops->buffers.n; b++) {
        if (s->loops->buffers.at[b].kind != BUFFER_TEMP || !s->stored[b]) continue;
        size_t bytes = (size_t)buffer_bytes(s->loops, b);
        struct life x = {.b = b, .bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN};
        x.born = s->group_of[s->writer[b]];
        x.dies = end[b] > x.born ? end[b] : x.born;
        if (s->fixed[b]) x.born = 0, x.dies = s->groups.n; /* of all calls */
        vec_push(s->arena, &lives, x);
    }
    if (lives.n) qsort(lives.at, lives.n, sizeof *lives.at, by_size);
    struct life *placed = NEW_ARRAY(s->arena, struct life, lives.n);
    for (uint32_t i = 0; i < lives.n; i++) {
        struct life *x = &lives.at[i];
        s->offset[x->b] = first_fit(s, placed, i, x);
        place(s, placed, i, x);
        if (s->offset[x->b] + x->bytes > s->pool_bytes) s->pool_bytes = s->offset[x->b] + x->bytes;
    }
}

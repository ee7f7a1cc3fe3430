/* memory.c: gives every stored temporary a place in one pool; places are reused when their content
 * is dead.
 *
 *   b3 written by kernel 0, last read by 1; b5 written by 2   ->  both at offset 0
 *
 * Needs: order. First fit by size, largest first: within a few percent of the best for the dozens
 * of buffers here. */
#include "schedule/schedule.h"

enum { ALIGN = 256 }; /* bytes; what a device allocation guarantees */

struct life {
    buffer_id b;
    size_t bytes;
    uint32_t born, dies; /* group indices, inclusive */
};

static void find_life(const struct schedule *s, struct life *x) {
    const struct loops *l = s->loops;
    x->born = x->dies = s->group_of[s->writer[x->b]];
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *in = &l->nests.at[k].insts.at[i];
            if (in->kind == INST_LOAD && in->buffer == x->b && s->group_of[k] > x->dies)
                x->dies = s->group_of[k];
        }
}

static bool meet(const struct life *x, const struct life *y) {
    return x->born <= y->dies && y->born <= x->dies;
}

/* The lowest offset that clashes with no already placed life. */
static size_t first_fit(const struct schedule *s, const struct life *all, uint32_t placed,
                        const struct life *x) {
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < placed; k++) {
            const struct life *y = &all[k];
            size_t from = s->offset[y->b], to = from + y->bytes;
            if (meet(x, y) && at < to && from < at + x->bytes) {
                at = to;
                moved = true;
            }
        }
    }
    return at;
}

void schedule_memory(struct schedule *s) {
    VEC(struct life) lives = {0};
    for (buffer_id b = 0; b < s->loops->buffers.n; b++) {
        if (s->loops->buffers.at[b].kind != BUFFER_TEMP || !s->stored[b]) continue;
        size_t bytes = (size_t)buffer_bytes(s->loops, b);
        struct life x = {.b = b, .bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN};
        find_life(s, &x);
        vec_push(s->arena, &lives, x);
    }
    for (uint32_t i = 1; i < lives.n; i++) /* stable insertion sort, largest first */
        for (uint32_t j = i; j > 0 && lives.at[j - 1].bytes < lives.at[j].bytes; j--) {
            struct life t = lives.at[j];
            lives.at[j] = lives.at[j - 1];
            lives.at[j - 1] = t;
        }
    for (uint32_t i = 0; i < lives.n; i++) {
        struct life *x = &lives.at[i];
        s->offset[x->b] = first_fit(s, lives.at, i, x);
        if (s->offset[x->b] + x->bytes > s->pool_bytes) s->pool_bytes = s->offset[x->b] + x->bytes;
    }
}

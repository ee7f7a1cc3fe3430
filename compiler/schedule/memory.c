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

/* A buffer of the pool that is there while group g runs is so in every step of g's loop, unless it
 * is made in the step. */
struct lives {
    uint32_t *born, *dies;  /* per buffer: groups, inclusive; born NO_NEST: nobody makes it */
    uint32_t *first, *last; /* per loop: its groups */
};

static void find_groups(const struct schedule *s, struct lives *x) {
    const struct loops *l = s->loops;
    x->first = NEW_ARRAY(s->arena, uint32_t, l->steps.n);
    x->last = NEW_ARRAY(s->arena, uint32_t, l->steps.n);
    for (uint32_t g = s->groups.n; g-- > 0;) {
        uint32_t loop = loop_of(l->nests.at[s->groups.at[g].members.at[0].nest].epoch);
        if (loop == NO_LOOP) continue;
        x->first[loop] = g;
        if (g > x->last[loop]) x->last[loop] = g;
    }
}

static void touch(struct lives *x, buffer_id b, uint32_t from, uint32_t to) {
    if (x->born[b] == NO_NEST || from < x->born[b]) x->born[b] = from;
    if (to > x->dies[b]) x->dies[b] = to;
}

/* Nest k, of group g, reads or writes b. */
static void use(const struct schedule *s, struct lives *x, uint32_t k, buffer_id b) {
    const struct loops *l = s->loops;
    const struct buffer *buffer = &l->buffers.at[b];
    uint32_t g = s->group_of[k], loop = loop_of(l->nests.at[k].epoch), w = s->writer[b];
    bool own = w != NO_NEST && l->nests.at[w].epoch == l->nests.at[k].epoch;
    uint32_t end = loop == NO_LOOP || own ? g : x->last[loop];
    touch(x, b, g, end);
    if (buffer->kind != BUFFER_WINDOW) return;
    if (loop == NO_LOOP) { /* a piece (pieces.c) */
        touch(x, buffer->window.of, g, end);
        return;
    }
    touch(x, buffer->window.of, x->first[loop], x->last[loop]);
    if (buffer->window.carried) touch(x, buffer->window.start, x->first[loop], x->last[loop]);
}

static struct lives find_lives(const struct schedule *s) {
    const struct loops *l = s->loops;
    struct lives x = {NEW_ARRAY(s->arena, uint32_t, l->buffers.n),
                      NEW_ARRAY(s->arena, uint32_t, l->buffers.n), NULL, NULL};
    for (buffer_id b = 0; b < l->buffers.n; b++) x.born[b] = NO_NEST;
    find_groups(s, &x);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        use(s, &x, k, n->out);
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD) use(s, &x, k, n->insts.at[i].buffer);
        buffer_id lists = s->groups.at[s->group_of[k]].lists;
        if (lists) use(s, &x, k, lists - 1);
    }
    return x;
}

void schedule_life(const struct schedule *s, uint32_t *born, uint32_t *dies) {
    struct lives x = find_lives(s);
    memcpy(born, x.born, s->loops->buffers.n * sizeof *born);
    memcpy(dies, x.dies, s->loops->buffers.n * sizeof *dies);
}

bool buffer_in_pool(const struct schedule *s, buffer_id b) {
    enum buffer_kind kind = s->loops->buffers.at[b].kind;
    return (kind == BUFFER_TEMP || kind == BUFFER_STACK) && s->stored[b];
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
    struct lives all = find_lives(s);
    s->pool_bytes = 0; /* of the groups that there were before, as offsets are */
    memset(s->offset, 0, s->loops->buffers.n * sizeof *s->offset);
    for (buffer_id b = 0; b < s->loops->buffers.n; b++) {
        if (!buffer_in_pool(s, b)) continue;
        size_t bytes = (size_t)buffer_storage(s->loops, b);
        struct life x = {.b = b, .bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN};
        x.born = all.born[b];
        x.dies = all.dies[b];
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

/* order.c: puts groups into launch order and finds which buffers exist in memory.
 *
 * Needs: groups. Keeps the program's order where dependencies allow (a group goes as early as its
 * first nest), and loops apart from what is before and behind them. */
#include "schedule/schedule.h"

struct order {
    struct schedule *s;
    uint32_t *waits;  /* per group: reads of what groups write that have not come yet */
    uint32_t *reader; /* per read: the group that reads; by the group that is read from */
    uint32_t *begin;  /* per group, and one more: its part of that list */
    uint32_t *ready;  /* a heap of groups that wait for none; the first is the one to come */
    uint32_t n_ready;
};

/* The loops as they come, and between them the nests. */
static uint64_t turn(const struct order *o, uint32_t g) {
    uint32_t nest = o->s->groups.at[g].members.at[0].nest;
    return (uint64_t)o->s->loops->nests.at[nest].epoch << 32 | nest;
}

/* The group that nest k reads from by its ith instruction; its own if it is none. */
static uint32_t source(const struct schedule *s, uint32_t k, uint32_t i) {
    const struct inst *x = &s->loops->nests.at[k].insts.at[i];
    uint32_t writer = x->kind == INST_LOAD ? s->writer[x->buffer] : NO_NEST;
    return s->group_of[writer == NO_NEST ? k : writer];
}

static void find_reads(struct order *o) {
    struct schedule *s = o->s;
    const struct loops *l = s->loops;
    for (int pass = 0; pass < 2; pass++) { /* counts them, then lists them */
        for (uint32_t k = 0; k < l->nests.n; k++)
            for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
                uint32_t from = source(s, k, i), g = s->group_of[k];
                if (from == g) continue;
                if (pass == 0)
                    o->begin[from]++, o->waits[g]++;
                else
                    o->reader[--o->begin[from]] = g;
            }
        for (uint32_t g = 0; g < s->groups.n && pass == 0; g++) o->begin[g + 1] += o->begin[g];
        if (pass == 0) o->reader = NEW_ARRAY(s->arena, uint32_t, o->begin[s->groups.n] + 1);
    }
}

static void swap(uint32_t *a, uint32_t *b) {
    uint32_t t = *a;
    *a = *b;
    *b = t;
}

static void put_ready(struct order *o, uint32_t g) {
    uint32_t *heap = o->ready, i = o->n_ready++;
    heap[i] = g;
    for (; i && turn(o, heap[i]) < turn(o, heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static uint32_t take_ready(struct order *o) {
    uint32_t *heap = o->ready, first = heap[0], i = 0, least;
    heap[0] = heap[--o->n_ready];
    for (;; i = least) {
        least = i;
        for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < o->n_ready; k++)
            if (turn(o, heap[k]) < turn(o, heap[least])) least = k;
        if (least == i) return first;
        swap(&heap[i], &heap[least]);
    }
}

static void find_stored(struct schedule *s) {
    const struct loops *l = s->loops;
    for (buffer_id b = 0; b < l->buffers.n; b++)
        s->stored[b] = l->buffers.at[b].kind != BUFFER_TEMP;
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *x = &l->nests.at[k].insts.at[i];
            if (x->kind != INST_LOAD || s->writer[x->buffer] == NO_NEST) continue;
            if (s->group_of[s->writer[x->buffer]] != s->group_of[k]) s->stored[x->buffer] = true;
        }
}

void schedule_set_groups(struct schedule *s, struct group *at, uint32_t n, uint32_t room) {
    s->groups.at = at;
    s->groups.n = n;
    s->groups.cap = room;
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t m = 0; m < at[g].members.n; m++) s->group_of[at[g].members.at[m].nest] = g;
}

void schedule_order(struct schedule *s) {
    uint32_t n = s->groups.n;
    struct order o = {.s = s,
                      .waits = NEW_ARRAY(s->arena, uint32_t, n),
                      .begin = NEW_ARRAY(s->arena, uint32_t, n + 1),
                      .ready = NEW_ARRAY(s->arena, uint32_t, n)};
    struct group *sorted = NEW_ARRAY(s->arena, struct group, n);
    find_reads(&o);
    for (uint32_t g = 0; g < n; g++)
        if (!o.waits[g]) put_ready(&o, g);
    for (uint32_t i = 0; i < n; i++) {
        if (!o.n_ready) WS_BUG("groups depend on each other in a circle");
        uint32_t g = take_ready(&o);
        sorted[i] = s->groups.at[g];
        for (uint32_t r = o.begin[g]; r < o.begin[g + 1]; r++)
            if (!--o.waits[o.reader[r]]) put_ready(&o, o.reader[r]);
    }
    schedule_set_groups(s, sorted, n, n);
    find_stored(s);
}

/* sorted.c: what several kernels add up where it lands by one index is sorted by it once.
 *
 *   kernel 0: degree = index_add(0, col, 1)          sorts col
 *   kernel 2: out = index_add(0, col, message)       sorts col again
 * ->
 *   kernel 0: lists = sort(col)                      which sources land on each row, in their order
 *   kernel 1: degree, by lists
 *   kernel 3: out, by lists
 *
 * The same nest, by the text of what it is made of, is the same sort. Whether it pays is asked of
 * what kernels take with lists and without: few sources are listed by whoever wants them, and with
 * some rows each block had better look at all of them. What is sorted by an index that is the same
 * in every call is so at load, for one kernel, too.
 *
 * Needs: order, on a GPU. Breaks: the memory plan. */
#include <string.h>

#include "schedule/schedule.h"

enum { MOST_GROUPS = 32 };

/* Groups whose sources are the same, and land on the same rows. */
struct sort {
    struct nest key;
    const char *text;
    uint32_t n, group[MOST_GROUPS];
};

struct sorts {
    struct schedule *s;
    group_us_fn *us;
    void *ctx;
    VEC(struct sort) at;
};

bool group_sorts(const struct schedule *s, const struct group *g) {
    return s->loops->nests.at[g->members.at[0].nest].sorted_rows != EX_NONE;
}

/* Of no loop, as steps read what the one before has left; and adds up one way alone. */
static bool may_have_lists(const struct schedule *s, const struct group *G) {
    const struct loops *l = s->loops;
    if (G->matmul || G->scan || G->columns || !G->n_r || G->persistent || G->recurrent)
        return false;
    return loop_of(l->nests.at[G->members.at[0].nest].epoch) == NO_LOOP;
}

static void find_sorts(struct sorts *x, sort_key_fn *key) {
    struct schedule *s = x->s;
    for (uint32_t g = 0; g < s->groups.n; g++) {
        struct sort found = {.n = 0}, *known = NULL;
        if (!may_have_lists(s, &s->groups.at[g]) || !key(s, g, &found.key, &found.text, x->ctx))
            continue;
        for (uint32_t i = 0; i < x->at.n && !known; i++)
            if (!strcmp(x->at.at[i].text, found.text)) known = &x->at.at[i];
        if (!known) {
            vec_push(s->arena, &x->at, found);
            known = &vec_last(&x->at);
        }
        if (known->n < MOST_GROUPS) known->group[known->n++] = g;
    }
}

#define REGROW(arena, array, have, room)                                                           \
    memcpy(NEW_ARRAY(arena, __typeof__(*(array)), room), array, (have) * sizeof *(array))

/* The nest, what it writes, and a group of it alone, behind all others. */
static void add_group(struct sorts *x, struct sort *of) {
    struct schedule *s = x->s;
    struct loops *l = s->loops;
    uint32_t nest = l->nests.n, group = s->groups.n;
    buffer_id out = l->buffers.n;
    s->group_of = REGROW(s->arena, s->group_of, nest, nest + 1);
    s->writer = REGROW(s->arena, s->writer, out, out + 1);
    s->stored = REGROW(s->arena, s->stored, out, out + 1);
    s->offset = REGROW(s->arena, s->offset, out, out + 1);
    s->fixed = REGROW(s->arena, s->fixed, out, out + 1);
    s->group_of[nest] = group;
    s->writer[out] = nest;
    s->stored[out] = true;
    struct meta m = {.dtype = DT_I32, .rank = 1};
    const struct nest *like = &l->nests.at[s->groups.at[of->group[0]].members.at[0].nest];
    ex sources = ex_symbol(l->ex, of->key.axes[0])->bound, one = ex_const(l->ex, 1);
    m.size[0] = ex_add(l->ex, ex_add(l->ex, sources, of->key.sorted_rows), one);
    m.stride[0] = one;
    struct buffer b = {.name = arena_printf(l->arena, "b%u", out), .kind = BUFFER_TEMP, .meta = m};
    of->key.name = arena_printf(l->arena, "sort_%u", group);
    of->key.out = out;
    of->key.origin = like->origin;
    of->key.where = like->where;
    of->key.epoch = l->nests.n ? l->nests.at[l->nests.n - 1].epoch : 0;
    vec_push(l->arena, &l->buffers, b);
    vec_push(l->arena, &l->nests, of->key);
    struct group G = {.n_x = 1, .second = NO_NEST, .twin = NO_NEST};
    struct member only = {.nest = nest, .n = 1};
    G.x[0] = only.from[0] = only.to[0] = of->key.axes[0];
    vec_push(s->arena, &G.members, only);
    vec_push(s->arena, &s->groups, G);
    group_at_load(s, group, values_fixed(l, false, s->arena));
}

static void drop_group(struct sorts *x) {
    x->s->groups.n--;
    x->s->loops->nests.n--;
    x->s->loops->buffers.n--;
}

/* From the end to the first one that reads its lists. */
static void put_before(struct sorts *x, const struct sort *of) {
    struct schedule *s = x->s;
    uint32_t last = s->groups.n - 1, at = of->group[0];
    struct group sort = s->groups.at[last];
    memmove(&s->groups.at[at + 1], &s->groups.at[at], (last - at) * sizeof *s->groups.at);
    s->groups.at[at] = sort;
    for (uint32_t g = at; g < s->groups.n; g++)
        for (uint32_t m = 0; m < s->groups.at[g].members.n; m++)
            s->group_of[s->groups.at[g].members.at[m].nest] = g;
    for (uint32_t i = 0; i < x->at.n; i++)
        for (uint32_t k = 0; k < x->at.at[i].n; k++)
            if (x->at.at[i].group[k] >= at) x->at.at[i].group[k]++;
}

/* With lists or without: who takes less so has them. */
static void give_lists(struct sorts *x, struct sort *of) {
    struct schedule *s = x->s;
    add_group(x, of);
    uint32_t sort = s->groups.n - 1, readers = 0;
    bool at_load = s->groups.at[sort].at_load;
    buffer_id lists = s->loops->buffers.n;
    double less = at_load ? 0 : -(x->us(s, sort, x->ctx) + LAUNCH_US);
    for (uint32_t i = 0; i < of->n; i++) {
        struct group *G = &s->groups.at[of->group[i]];
        double alone = x->us(s, of->group[i], x->ctx);
        G->lists = lists;
        double saved = alone - x->us(s, of->group[i], x->ctx);
        if (saved <= 0) {
            G->lists = 0;
            continue;
        }
        less += saved;
        of->group[readers++] = of->group[i];
    }
    of->n = readers;
    bool pays = less > 0 && readers;
    buf_printf(&s->log, "sort by one index, of %u kernels: %s, saves %.1f us\n", readers,
               pays ? "once" : "by each", less);
    if (pays) {
        put_before(x, of);
        return;
    }
    for (uint32_t i = 0; i < readers; i++) s->groups.at[of->group[i]].lists = 0;
    drop_group(x);
}

void schedule_sorts(struct schedule *s, sort_key_fn *key, group_us_fn *us, void *ctx) {
    struct sorts x = {.s = s, .us = us, .ctx = ctx};
    if (s->loops->steps.n) return; /* nests of a loop stand between others */
    find_sorts(&x, key);
    for (uint32_t i = 0; i < x.at.n; i++) give_lists(&x, &x.at.at[i]);
}

/* order.c: puts groups into launch order and finds which buffers exist in memory.
 *
 * Needs: groups. Keeps the program's order where dependencies allow (a group goes as early as its
 * first nest). */
#include "schedule/schedule.h"

static uint32_t first_nest(const struct group *g) { return g->members.at[0].nest; }

static bool ready(const struct schedule *s, uint32_t g, const bool *done) {
    const struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &s->loops->nests.at[G->members.at[m].nest];
        for (uint32_t i = 0; i < n->insts.n; i++) {
            if (n->insts.at[i].kind != INST_LOAD) continue;
            uint32_t w = s->writer[n->insts.at[i].buffer];
            if (w != NO_NEST && s->group_of[w] != g && !done[s->group_of[w]]) return false;
        }
    }
    return true;
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

void schedule_order(struct schedule *s) {
    uint32_t n = s->groups.n;
    bool *done = NEW_ARRAY(s->arena, bool, n);
    struct group *sorted = NEW_ARRAY(s->arena, struct group, n);
    uint32_t *place = NEW_ARRAY(s->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t best = n;
        for (uint32_t g = 0; g < n; g++)
            if (!done[g] && ready(s, g, done) &&
                (best == n || first_nest(&s->groups.at[g]) < first_nest(&s->groups.at[best])))
                best = g;
        if (best == n) WS_BUG("groups depend on each other in a circle");
        done[best] = true;
        place[best] = i;
        sorted[i] = s->groups.at[best];
    }
    for (uint32_t k = 0; k < s->loops->nests.n; k++) s->group_of[k] = place[s->group_of[k]];
    s->groups.at = sorted;
    find_stored(s);
}

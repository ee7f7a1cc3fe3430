/* verify.c: invariants S1, S2, S4, S5 of schedule.h (S3 shows when the kernel's body is built). */
#include "schedule/schedule.h"

static const char *check_members(const struct schedule *s) {
    uint32_t *count = NEW_ARRAY(s->arena, uint32_t, s->loops->nests.n);
    for (uint32_t g = 0; g < s->groups.n; g++)
        for (uint32_t m = 0; m < s->groups.at[g].members.n; m++)
            count[s->groups.at[g].members.at[m].nest]++;
    for (uint32_t k = 0; k < s->loops->nests.n; k++)
        if (count[k] != 1)
            return arena_printf(s->arena, "S1: %s is in %u groups", s->loops->nests.at[k].name,
                                count[k]);
    return NULL;
}

static const char *check_order(const struct schedule *s) {
    const struct loops *l = s->loops;
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (uint32_t i = 0; i < l->nests.at[k].insts.n; i++) {
            const struct inst *x = &l->nests.at[k].insts.at[i];
            if (x->kind != INST_LOAD || s->writer[x->buffer] == NO_NEST) continue;
            if (s->group_of[s->writer[x->buffer]] > s->group_of[k])
                return arena_printf(s->arena, "S2: %s runs before what it reads",
                                    l->nests.at[k].name);
        }
    return NULL;
}

static bool has(const struct member *m, ex axis) {
    for (int k = 0; k < m->n; k++)
        if (m->to[k] == axis) return true;
    return false;
}

static const char *check_cover(const struct schedule *s) {
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        for (uint32_t m = 0; m < G->members.n; m++) {
            const struct member *M = &G->members.at[m];
            const struct nest *n = &s->loops->nests.at[M->nest];
            if (M->inlined) {
                if (s->stored[n->out] || n->n_reduce)
                    return arena_printf(s->arena, "S4: %s is inlined but needed", n->name);
                continue;
            }
            int r = 0;
            for (int k = 0; k < G->n_x; k++)
                if (!has(M, G->x[k]))
                    return arena_printf(s->arena, "S4: %s does not cover X", n->name);
            for (int k = 0; k < G->n_r; k++) r += has(M, G->r[k]);
            if (r && r != G->n_r) return arena_printf(s->arena, "S4: %s covers part of R", n->name);
        }
    }
    return NULL;
}

static const char *check_pool(const struct schedule *s) {
    for (buffer_id b = 0; b < s->loops->buffers.n; b++)
        if (s->loops->buffers.at[b].kind == BUFFER_TEMP && s->stored[b] &&
            s->offset[b] + (size_t)buffer_bytes(s->loops, b) > s->pool_bytes)
            return arena_printf(s->arena, "S5: %s lies outside the pool",
                                s->loops->buffers.at[b].name);
    return NULL;
}

const char *schedule_verify(const struct schedule *s) {
    const char *bad = check_members(s);
    if (!bad) bad = check_order(s);
    if (!bad) bad = check_cover(s);
    if (!bad) bad = check_pool(s);
    return bad;
}

/* verify.c: invariants S1, S2 and S4 to S6 of schedule.h. fuse.c checks S3 itself, on every index
 * that a merge would read at. */
#include <stdlib.h>

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
    for (uint32_t g = 0; g < s->groups.n; g++) {
        buffer_id lists = s->groups.at[g].lists;
        if (lists && s->group_of[s->writer[lists - 1]] >= g)
            return arena_printf(s->arena, "S2: kernel %u runs before its sources are sorted", g);
    }
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

static bool has(const struct schedule *s, const struct member *m, ex axis) {
    for (int k = 0; k < m->n; k++)
        if (ex_uses(s->loops->ex, m->to[k], axis)) return true;
    return false;
}

/* Of R all and of X nothing but the batch: what a column's sum becomes. */
static bool is_of_columns(const struct schedule *s, const struct group *G, const struct member *M) {
    for (int k = 0; k < G->n_x; k++)
        if (has(s, M, G->x[k]) != (k < G->n_batch)) return false;
    for (int k = 0; k < G->n_r; k++)
        if (!has(s, M, G->r[k])) return false;
    return G->columns;
}

/* Of X all that no reduction of what a product has summed up goes along. */
static bool is_of_rows(const struct schedule *s, const struct group *G, const struct member *M) {
    bool reduces = false;
    for (int k = 0; k < G->n_x && G->matmul; k++) {
        bool reduced = false;
        for (uint32_t m = 0; m < G->members.n; m++) {
            const struct member *other = &G->members.at[m];
            reduced |=
                !s->loops->nests.at[other->nest].matmul && member_is_along(s, other, &G->x[k], 1);
        }
        if (!reduced && !has(s, M, G->x[k])) return false;
        reduces |= reduced;
    }
    return reduces;
}

/* Of a product's vector, which each row makes: of X nothing. */
static bool is_of_vector(const struct schedule *s, const struct group *G, const struct member *M) {
    for (int k = 0; k < G->n_x; k++)
        if (has(s, M, G->x[k])) return false;
    return G->matmul && !s->loops->nests.at[M->nest].matmul;
}

static bool is_member_product(const struct schedule *s, uint32_t g, uint32_t nest) {
    return nest < s->loops->nests.n && s->group_of[nest] == g && s->loops->nests.at[nest].matmul;
}

static const char *check_chains(const struct schedule *s) {
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        if (!G->n_between) continue;
        if (!is_member_product(s, g, G->second) ||
            (G->twin != NO_NEST && !is_member_product(s, g, G->twin)))
            return arena_printf(s->arena, "S6: group %u has lost its second product", g);
    }
    return NULL;
}

static const char *check_cover(const struct schedule *s) {
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        for (uint32_t m = 0; m < G->members.n; m++) {
            const struct member *M = &G->members.at[m];
            const struct nest *n = &s->loops->nests.at[M->nest];
            if ((G->persistent || G->recurrent) && n->n_reduce) continue; /* where it is read */
            if (M->inlined) {
                if (s->stored[n->out] || n->n_reduce || n->scan)
                    return arena_printf(s->arena, "S4: %s is inlined but needed", n->name);
                continue;
            }
            int r = 0;
            bool second = group_is_second(G, M->nest);
            if (G->n_between && n->n_reduce && !second) continue; /* where it is read */
            if (is_of_columns(s, G, M) || is_of_rows(s, G, M) || is_of_vector(s, G, M)) continue;
            int arms = G->n_x - G->n_arms;
            for (int k = 0; k < arms && !G->recurrent; k++)
                if (!has(s, M, G->x[k]))
                    return arena_printf(s->arena, "S4: %s does not cover X", n->name);
            for (int k = arms; k < G->n_x && n->matmul && n->n_reduce; k++)
                if (has(s, M, G->x[k]))
                    return arena_printf(s->arena, "S4: %s is a product, and covers arms", n->name);
            for (int k = 0; k < G->n_r; k++) r += has(s, M, G->r[k]);
            if (r && r != (second ? G->n_between : G->n_r))
                return arena_printf(s->arena, "S4: %s covers part of R", n->name);
        }
    }
    return NULL;
}

struct life {
    buffer_id b;
    uint32_t born, dies; /* groups, inclusive */
    size_t from, to;     /* bytes of the pool */
};

static int by_birth(const void *a, const void *b) {
    const struct life *x = a, *y = b;
    if (x->born != y->born) return x->born < y->born ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static const char *check_pool(const struct schedule *s) {
    uint32_t *born = NEW_ARRAY(s->arena, uint32_t, s->loops->buffers.n);
    uint32_t *dies = NEW_ARRAY(s->arena, uint32_t, s->loops->buffers.n);
    VEC(struct life) lives = {0};
    schedule_life(s, born, dies);
    for (buffer_id b = 0; b < s->loops->buffers.n; b++) {
        if (!buffer_in_pool(s, b)) continue;
        size_t from = s->offset[b], to = from + (size_t)buffer_storage(s->loops, b);
        if (to > s->pool_bytes)
            return arena_printf(s->arena, "S5: %s lies outside the pool",
                                s->loops->buffers.at[b].name);
        struct life x = {b, born[b], dies[b], from, to};
        if (s->fixed[b]) x.born = 0, x.dies = s->groups.n;
        vec_push(s->arena, &lives, x);
    }
    if (lives.n) qsort(lives.at, lives.n, sizeof *lives.at, by_birth);
    uint32_t *alive = NEW_ARRAY(s->arena, uint32_t, lives.n), n_alive = 0;
    for (uint32_t i = 0; i < lives.n; i++) { /* against those that are alive when it is born */
        const struct life *x = &lives.at[i];
        uint32_t kept = 0;
        for (uint32_t k = 0; k < n_alive; k++) {
            const struct life *y = &lives.at[alive[k]];
            if (y->dies < x->born) continue;
            if (x->from < y->to && y->from < x->to)
                return arena_printf(s->arena, "S5: %s and %s overlap in the pool",
                                    s->loops->buffers.at[y->b].name,
                                    s->loops->buffers.at[x->b].name);
            alive[kept++] = alive[k];
        }
        n_alive = kept;
        alive[n_alive++] = i;
    }
    return NULL;
}

const char *schedule_verify(const struct schedule *s) {
    const char *bad = check_members(s);
    if (!bad) bad = check_order(s);
    if (!bad) bad = check_chains(s);
    if (!bad) bad = check_cover(s);
    if (!bad) bad = check_pool(s);
    return bad;
}

/* chained.c: the schedule of chained products by warps: a block's rows of the left factor are there
 * once, and the others' tiles, of what is between at hand, come some steps ahead:
 *
 *     v3 = dot(v0, v1) over r        draw
 *     v14 += dot(v9, v12) over n         copy A
 *                                        begin
 *                                        ahead 1
 *                                            copy B
 *                                            copy C
 *                                            group
 *                                        end
 *                                        loop
 *                                            landed 0
 *                                            copy B 1
 *                                            copy C 1
 *                                            group
 *                                            dot
 *                                            relate
 *                                            terms
 *                                            dot second
 *                                            next
 *                                        end
 *                                        landed 0
 *                                        store
 *                                    end
 *
 * What is copied before the loop is of the first group. Where few blocks share the columns of what
 * is between (split), each leaves what it has, and the last one goes on with all of that:
 *
 *     landed 0
 *     leave
 *     last 8
 *     store */
#include "tile/tile.h"

static void put(struct tile_program *t, enum tile_op op, int ring, int n) {
    vec_push(t->arena, &t->code, ((struct tile_inst){op, ring, n}));
}

/* What a step has, so many steps ahead. */
static void put_copies(struct tile_program *t, int ahead) {
    put(t, TILE_COPY, TILE_B, ahead);
    if (chained_lags(&t->block->layout))
        put(t, TILE_COPY_BEFORE, 0, 0);
    else if (chained_copies_c(t->chained))
        put(t, TILE_COPY, TILE_C, ahead);
}

static void put_end(struct tile_program *t) {
    if (t->block->layout.split > 1) {
        put(t, TILE_LEAVE, 0, 0);
        put(t, TILE_LAST, 0, t->block->layout.split);
    }
    put(t, TILE_STORE, 0, 0);
}

static void put_by_warps(struct tile_program *t) {
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_COPY, TILE_A, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_AHEAD, 0, t->ahead);
    put_copies(t, 0);
    put(t, TILE_GROUP, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    put(t, TILE_LANDED, 0, t->ahead - 1);
    put_copies(t, t->ahead);
    put(t, TILE_GROUP, 0, 0);
    put(t, TILE_DOT, 0, 0);
    put(t, TILE_RELATE, 0, 0);
    put(t, TILE_TERMS, 0, 0);
    put(t, TILE_DOT_SECOND, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_LANDED, 0, 0);
    put_end(t);
    put(t, TILE_END, 0, 0);
}

/* The products that follow are begun when it is these threads' turn. */
static void put_turn(struct tile_program *t, bool first, bool second) {
    bool turns = t->chained->ping_pong;
    if (turns) put(t, TILE_WAIT_TURN, 0, 0);
    if (first) put(t, TILE_DOT, 0, 0);
    if (second) put(t, TILE_DOT_SECOND, 0, 0);
    if (turns) put(t, TILE_PASS_TURN, 0, 0);
}

static void put_copier(struct tile_program *t) {
    bool persists = t->chained->persists;
    put(t, TILE_ROLE, 0, t->copiers);
    put(t, TILE_DRAW, 0, 0);
    if (persists) put(t, TILE_WAIT_ROWS, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    put(t, TILE_WAIT_EMPTY, 0, 0);
    put(t, TILE_COPY, TILE_A, 0);
    put_copies(t, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    if (chained_lags(&t->block->layout)) {
        put(t, TILE_WAIT_EMPTY, 0, 0);
        put(t, TILE_COPY_BEFORE, 0, 0);
        if (persists) put(t, TILE_NEXT, 0, 0);
    }
    put(t, TILE_END, 0, 0);
    put(t, TILE_END, 0, 0);
}

/* A step's products follow each other, and another warpgroup's are made meanwhile. */
static void put_in_turn(struct tile_program *t) {
    put_copier(t);
    put(t, TILE_ROLE, 0, t->threads - t->copiers);
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put_turn(t, true, false);
    put(t, TILE_DRAIN, 0, 0);
    put(t, TILE_RELATE, 0, 0);
    put(t, TILE_TERMS, 0, 0);
    put_turn(t, false, true);
    put(t, TILE_DRAIN, 0, 0);
    put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    if (t->chained->persists) put(t, TILE_FREE_ROWS, 0, 0);
    put_end(t);
    put(t, TILE_END, 0, 0);
    put(t, TILE_END, 0, 0);
}

/* A role copies. The second product of a step is under way while the next step's sums become terms,
 * which is why that step's first product is begun before it. A stage has what is read at the same
 * time: a step's tile of b, and c's of the step before. */
static void put_by_warpgroups(struct tile_program *t) {
    bool lags = chained_lags(&t->block->layout);
    put_copier(t);
    put(t, TILE_ROLE, 0, t->threads - t->copiers);
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put_turn(t, true, false);
    put(t, TILE_DRAIN, 0, 0);
    if (lags) put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_RELATE, 0, 0);
    put(t, TILE_TERMS, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_REST, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put_turn(t, true, true);
    put(t, TILE_DRAIN, 0, 1);
    put(t, TILE_RELATE, 0, 0);
    put(t, TILE_DRAIN, 0, 0);
    put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_TERMS, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    if (t->chained->persists) put(t, TILE_FREE_ROWS, 0, 0);
    if (lags) put(t, TILE_WAIT_FULL, 0, 0);
    put_turn(t, false, true);
    put(t, TILE_DRAIN, 0, 0);
    if (t->chained->persists) put(t, TILE_ARRIVE, 0, 1);
    if (t->chained->persists && lags) put(t, TILE_NEXT, 0, 0);
    put(t, TILE_STORE, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_END, 0, 0);
}

/* What follows one first product, then the other: the rest of the step is made while products are
 * under way that it does not need. */
static void put_early(struct tile_program *t, int under_way) {
    put(t, TILE_DRAIN, 0, under_way);
    put(t, TILE_RELATE, 0, 1);
}

static void put_late(struct tile_program *t, int under_way) {
    put(t, TILE_DRAIN, 0, under_way);
    put(t, TILE_RELATE, 0, 2);
}

/* Twins one by one: of a step the first sums become terms while the other first product is under
 * way, and the other sums while the first terms are multiplied; second products of a step end while
 * the next step's first one is under way, so that the units are never without. A step's stage is
 * free a step later. */
static void put_twins_one_by_one(struct tile_program *t) {
    bool early = chained_early_product(t->block) > 0;
    put_copier(t);
    put(t, TILE_ROLE, 0, t->threads - t->copiers);
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put(t, TILE_DOT, 0, 1);
    put(t, TILE_DRAIN, 0, 1);
    put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_DOT, 0, 2);
    put_early(t, 1);
    if (early) {
        put(t, TILE_TERMS, 0, 1);
        put(t, TILE_DOT_SECOND, 0, 1);
    }
    put_late(t, early ? 1 : 0);
    put(t, TILE_TERMS, 0, early ? 2 : 0);
    put(t, TILE_DOT_SECOND, 0, early ? 2 : 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    if (t->chained->persists) put(t, TILE_FREE_ROWS, 0, 0);
    put(t, TILE_DRAIN, 0, 0);
    if (t->chained->persists) put(t, TILE_ARRIVE, 0, 1);
    put_end(t);
    put(t, TILE_END, 0, 0);
    put(t, TILE_END, 0, 0);
}

/* The same of one second product, which is of the step before. */
static void put_one_by_one(struct tile_program *t) {
    bool lags = chained_lags(&t->block->layout);
    put_copier(t);
    put(t, TILE_ROLE, 0, t->threads - t->copiers);
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put(t, TILE_DOT, 0, 1);
    put(t, TILE_DOT, 0, 2);
    put_early(t, 1);
    put_late(t, 0);
    if (lags) put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_TERMS, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_REST, 0, 0);
    put(t, TILE_WAIT_FULL, 0, 0);
    put(t, TILE_DOT, 0, 1);
    put(t, TILE_DOT, 0, 2);
    put(t, TILE_DOT_SECOND, 0, 0);
    put_early(t, 2);
    put_late(t, 1);
    put(t, TILE_DRAIN, 0, 0);
    put(t, TILE_ARRIVE, 0, 1);
    put(t, TILE_TERMS, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    if (t->chained->persists) put(t, TILE_FREE_ROWS, 0, 0);
    if (lags) put(t, TILE_WAIT_FULL, 0, 0);
    put(t, TILE_DOT_SECOND, 0, 0);
    put(t, TILE_DRAIN, 0, 0);
    if (t->chained->persists) put(t, TILE_ARRIVE, 0, 1);
    if (t->chained->persists && lags) put(t, TILE_NEXT, 0, 0);
    put(t, TILE_STORE, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_END, 0, 0);
}

struct tile_program *tile_chained(const struct block *p, struct arena *a) {
    enum { COPIERS = 128 };
    struct tile_program *t = NEW(a, struct tile_program);
    *t = (struct tile_program){.arena = a,
                               .block = p,
                               .chained = p->layout.chained,
                               .threads = p->layout.threads,
                               .smem = p->layout.smem};
    if (t->chained->by_warp) {
        t->ahead = p->layout.stages - 1;
        put_by_warps(t);
        return t;
    }
    bool in_turn = chained_is_in_turn(&p->layout);
    t->copiers = COPIERS;
    if (p->one_by_one)
        (in_turn ? put_twins_one_by_one : put_one_by_one)(t);
    else
        (in_turn ? put_in_turn : put_by_warpgroups)(t);
    return t;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_factor(struct buf *b, char name, const struct factor *f, int stages) {
    static const char axes[] = "xrzmnc";
    buf_printf(b, "%c = v%u, %s[%d]", name, f->value, dtype_name(f->dtype), stages);
    if (f->across)
        buf_printf(b, "[%d %c, %d %c]", f->depth, axes[f->along], f->rows, axes[f->axis]);
    else
        buf_printf(b, "[%d %c, %d %c]", f->rows, axes[f->axis], f->depth, axes[f->along]);
    buf_printf(b, ", lines of %d bytes%s%s%s\n", f->line, f->whole ? "" : ", by elements",
               f->turned ? ", turned" : "", f->shared ? ", a B's" : "");
}

void tile_print_chained(struct buf *b, const struct tile_program *t) {
    const struct chained *x = t->chained;
    for (int i = 0; i < x->n_first; i++) {
        put_factor(b, 'A', &x->a[i], 1);
        put_factor(b, 'B', &x->b[i], t->block->layout.stages);
    }
    for (int i = 0; i < x->n_second; i++) put_factor(b, 'C', &x->c[i], t->block->layout.stages);
    if (x->skips) buf_puts(b, "steps along the tiles that a list has\n");
}

/* ---- invariants ------------------------------------------------------------------------------ */

enum { MOST_REGIONS = 8 };

/* Products of a group: all first ones, or one by one; second ones, all, or but the early one. */
enum { FIRST = 1, SECOND, FIRST_ALONE, OTHER_FIRST, EARLY_SECOND };

/* What is asked of the order of a step's instructions, where there is one step after another: each
 * wants others before it since its own last turn. under_way: the groups of products, newest last.
 * Of products one by one `sums` is that some of them are whole, and `whole` which. */
struct checker {
    const struct tile_program *t;
    struct arena *arena;
    enum tile_op open[MOST_REGIONS];
    int depth, role;
    bool copied[3], ungrouped, begun, landed, waited_empty, waited_full, next, arrived, looped,
        stored;
    bool sums, related, terms; /* whole; of this step; and not multiplied yet */
    bool one_by_one, whole[2];
    bool early, early_terms, early_begun; /* it is made; its terms wait; they are multiplied */
    bool left, last;                      /* its part is where others find it; it has all parts */
    bool lags, last_copied;               /* c's tile of the last step is */
    bool waited_rows, freed;              /* a tile's rows may be copied; they have been read */
    bool last_arrived, last_left;         /* the last step's stage is arrived for, and gone past */
    bool turn;                            /* it is this warpgroup's to begin products */
    int under_way[4], n_under_way;
};

static bool inside(const struct checker *c, enum tile_op op) {
    for (int i = 0; i < c->depth; i++)
        if (c->open[i] == op) return true;
    return false;
}

static const char *fail(const struct checker *c, const char *number, uint32_t at, const char *why) {
    return arena_printf(c->arena, "%s: instruction %u, %s: %s", number, at,
                        tile_op_name(c->t->code.at[at].op), why);
}

static bool is_under_way(const struct checker *c, int which) {
    for (int i = 0; i < c->n_under_way; i++)
        if (c->under_way[i] == which) return true;
    return false;
}

static const char *open_region(struct checker *c, uint32_t at) {
    enum tile_op op = c->t->code.at[at].op;
    int outer = (c->t->copiers ? 1 : 0) + (op != TILE_DRAW);
    if (c->depth == MOST_REGIONS) return fail(c, "T1", at, "regions are nested too deep");
    if (op == TILE_ROLE ? c->depth != 0 || !c->t->copiers : c->depth != outer)
        return fail(c, "T1", at, "it stands in another region");
    if (op == TILE_AHEAD && c->t->code.at[at].n != c->t->ahead)
        return fail(c, "T3", at, "so many steps are not ahead");
    if (op == TILE_REST && (!c->terms || !c->next))
        return fail(c, "T19", at, "the first step has left no terms");
    if (op == TILE_REST && c->lags && !c->arrived)
        return fail(c, "T4", at, "a step is not arrived for");
    c->open[c->depth++] = op;
    if (op == TILE_LOOP || op == TILE_REST)
        c->landed = c->next = c->arrived = c->waited_full = c->waited_empty = false;
    if (op == TILE_LOOP && c->one_by_one && c->role == 2) { /* those of the step before */
        if (chained_early_product(c->t->block)) c->under_way[c->n_under_way++] = EARLY_SECOND;
        c->under_way[c->n_under_way++] = SECOND;
    }
    if (op == TILE_LOOP || op == TILE_AHEAD) {
        c->copied[TILE_B] = false;
        c->copied[TILE_C] = !chained_copies_c(c->t->chained);
    }
    if (op != TILE_ROLE) return NULL;
    c->role++;
    c->stored = c->role == 1;
    c->next = c->waited_full = c->looped = false;
    return NULL;
}

static const char *close_region(struct checker *c, uint32_t at) {
    if (!c->depth) return fail(c, "T1", at, "nothing is open");
    if (c->turn) return fail(c, "T20", at, "the turn is not passed on");
    enum tile_op op = c->open[--c->depth];
    bool copies = c->t->copiers ? c->role == 1 : true, multiplies = !c->t->copiers || c->role == 2;
    if ((op == TILE_LOOP || op == TILE_AHEAD) && copies &&
        (!c->copied[TILE_B] || !c->copied[TILE_C]))
        return fail(c, "T3", at, "a step's tiles are not copied");
    if ((op == TILE_LOOP || op == TILE_AHEAD) && c->t->ahead && c->ungrouped)
        return fail(c, "T3", at, "copies are of no group");
    if ((op == TILE_LOOP || op == TILE_REST) && !c->next)
        return fail(c, "T7", at, "the role stays at a stage");
    bool in_turn = op == TILE_LOOP && c->role == 2;
    if ((op == TILE_REST || in_turn) && !c->arrived)
        return fail(c, "T4", at, "a step is not arrived for");
    if (op == TILE_REST && !c->terms) return fail(c, "T19", at, "a step leaves no terms");
    bool unbegun = c->one_by_one && chained_early_product(c->t->block) && !c->early_begun;
    if (op == TILE_LOOP && multiplies && (c->terms || c->sums || !c->begun || unbegun))
        return fail(c, "T19", at, "a step's terms are not multiplied");
    if (op == TILE_LOOP || op == TILE_REST)
        c->looped = true, c->landed = c->waited_full = c->waited_empty = false;
    if (op == TILE_DRAW && !c->stored) return fail(c, "T2", at, "nothing is stored");
    if (op == TILE_DRAW && c->lags && c->role == 1 && !c->last_copied)
        return fail(c, "T3", at, "a step's tiles are not copied");
    if (op == TILE_DRAW && c->t->chained->persists) {
        bool in_turn = chained_is_in_turn(&c->t->block->layout);
        if (c->role == 2 && !c->freed) return fail(c, "T19", at, "the rows are not freed");
        if (c->role == 2 && (!in_turn || c->one_by_one) && !c->last_arrived)
            return fail(c, "T19", at, "the last step is not arrived for");
        if (c->lags && !c->last_left)
            return fail(c, "T19", at, "the last step's stage is not left");
        c->last_left = false;
    }
    return NULL;
}

static const char *check_copy(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool in_loop = inside(c, TILE_LOOP), in_ahead = inside(c, TILE_AHEAD);
    if (c->t->copiers && !c->waited_empty) return fail(c, "T4", at, "the stage may be read still");
    if (c->t->chained->persists && x->ring == TILE_A && !c->waited_rows)
        return fail(c, "T19", at, "the rows before may be read still");
    if (x->ring == TILE_A && !c->t->copiers) {
        if (in_loop || in_ahead || c->looped) return fail(c, "T2", at, "its rows are there once");
    } else {
        if (!in_loop && !in_ahead) return fail(c, "T2", at, "it stands in no loop");
        if (x->n != (in_loop ? c->t->ahead : 0)) return fail(c, "T3", at, "it is of another step");
        if (in_loop && c->t->ahead && (!c->landed || x->n >= c->t->block->layout.stages))
            return fail(c, "T4", at, "the stage may be read still");
    }
    if (in_loop && c->next) return fail(c, "T3", at, "it is of another step");
    c->copied[x->ring] = c->ungrouped = true;
    return NULL;
}

/* Of the step before; behind the loop, of the last one. */
static const char *check_copy_before(struct checker *c, uint32_t at) {
    bool in_loop = inside(c, TILE_LOOP);
    if (!c->lags || (!in_loop && !c->looped)) return fail(c, "T3", at, "it is of another step");
    if (!c->waited_empty) return fail(c, "T4", at, "the stage may be read still");
    if (in_loop && c->next) return fail(c, "T3", at, "it is of another step");
    *(in_loop ? &c->copied[TILE_C] : &c->last_copied) = true;
    return NULL;
}

static void begin_product(struct checker *c, int which) {
    if (!c->t->copiers || c->n_under_way == 4) return; /* warps wait for theirs */
    c->under_way[c->n_under_way++] = which;
}

static void drain(struct checker *c, int most) {
    while (c->n_under_way > most) {
        int which = c->under_way[0];
        if (which == FIRST_ALONE || which == OTHER_FIRST) c->whole[which - FIRST_ALONE] = true;
        if (which != SECOND && which != EARLY_SECOND) c->sums = true;
        for (int i = 1; i < c->n_under_way; i++) c->under_way[i - 1] = c->under_way[i];
        c->n_under_way--;
    }
}

/* What is behind the loop, in its order. */
static const char *check_end(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    int parts = c->t->block->layout.split;
    if (x->op == TILE_STORE) {
        if (parts > 1 && !c->last) return fail(c, "T5", at, "it is a part that is stored");
        c->stored = true;
        return NULL;
    }
    if (parts == 1 || c->stored || c->last) return fail(c, "T5", at, "there are no parts");
    if (x->op == TILE_LAST && (!c->left || x->n != parts))
        return fail(c, "T5", at, "not all parts are left");
    if (x->op == TILE_LEAVE && c->left) return fail(c, "T5", at, "the part has been left");
    *(x->op == TILE_LEAVE ? &c->left : &c->last) = true;
    return NULL;
}

static const char *check_turn(struct checker *c, uint32_t at) {
    bool waits = c->t->code.at[at].op == TILE_WAIT_TURN;
    if (!c->t->chained->ping_pong || c->role != 2) return fail(c, "T20", at, "nobody has turns");
    if (c->turn == waits) return fail(c, "T20", at, "turns are waited for, then passed on");
    c->turn = waits;
    return NULL;
}

/* Instructions of products one by one. */
static const char *check_one_by_one(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool early = chained_early_product(c->t->block) > 0, of_early = x->n == 1;
    switch (x->op) {
    case TILE_DOT:
        if (x->n != 1 && x->n != 2) return fail(c, "T19", at, "products are begun one by one");
        if (!c->begun) return fail(c, "T19", at, "rows begin with nothing");
        if (!c->waited_full) return fail(c, "T3", at, "its tiles may not be there");
        if (c->whole[x->n - 1] || is_under_way(c, FIRST_ALONE + x->n - 1))
            return fail(c, "T19", at, "the sums before are lost");
        if (of_early) c->related = c->early = c->early_begun = false;
        begin_product(c, FIRST_ALONE + x->n - 1);
        return NULL;
    case TILE_RELATE:
        if (of_early ? !c->whole[0] || c->early : x->n != 2 || !c->early || !c->whole[1])
            return fail(c, "T5", at, "the sums are not whole");
        *(of_early ? &c->early : &c->related) = true;
        return NULL;
    case TILE_TERMS:
        if (x->n != (of_early ? 1 : early ? 2 : 0) || (of_early && !early))
            return fail(c, "T19", at, "there are no such terms");
        if (of_early ? !c->early || c->related : !c->related)
            return fail(c, "T19", at, "rows have not taken in the sums");
        if (of_early ? c->early_terms : c->terms)
            return fail(c, "T19", at, "the terms before are lost");
        if (is_under_way(c, of_early ? EARLY_SECOND : SECOND))
            return fail(c, "T14", at, "the left factor is being read");
        *(of_early ? &c->early_terms : &c->terms) = true;
        if (!of_early) c->sums = c->whole[0] = c->whole[1] = false;
        return NULL;
    default: /* DOT_SECOND */
        if (x->n != (of_early ? 1 : early ? 2 : 0))
            return fail(c, "T19", at, "there is no such product");
        if (!(of_early ? c->early_terms : c->terms))
            return fail(c, "T19", at, "there are no terms");
        if (!c->waited_full && (c->lags || chained_is_in_turn(&c->t->block->layout)))
            return fail(c, "T3", at, "its tiles may not be there");
        *(of_early ? &c->early_terms : &c->terms) = false;
        if (of_early) c->early_begun = true;
        begin_product(c, of_early ? EARLY_SECOND : SECOND);
        return NULL;
    }
}

/* Of twins one by one: for the step before, whose products have ended. */
static const char *check_arrival_behind(struct checker *c, uint32_t at) {
    if (c->t->code.at[at].n != 1 || c->arrived)
        return fail(c, "T4", at, "a step is arrived for once, and the next one does");
    if (is_under_way(c, SECOND) || is_under_way(c, EARLY_SECOND) || c->terms || c->early_terms)
        return fail(c, "T4", at, "the stage's products are under way");
    c->arrived = true;
    return NULL;
}

static const char *check_product(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool begins = x->op == TILE_DOT || x->op == TILE_DOT_SECOND;
    if (begins && c->t->chained->ping_pong && !c->turn)
        return fail(c, "T20", at, "it is another warpgroup's turn");
    bool there = c->t->copiers ? c->waited_full : c->landed;
    bool in_step = inside(c, TILE_LOOP) || inside(c, TILE_REST);
    if (in_step && c->next) return fail(c, "T7", at, "the stage is the next one already");
    bool of_order = begins || x->op == TILE_RELATE || x->op == TILE_TERMS;
    if (c->one_by_one && of_order) return check_one_by_one(c, at);
    if (of_order && x->n) return fail(c, "T19", at, "products are begun together");
    switch (x->op) {
    case TILE_DOT:
        if (!c->begun) return fail(c, "T19", at, "rows begin with nothing");
        if (!there) return fail(c, "T3", at, "its tiles may not be there");
        if (c->sums || is_under_way(c, FIRST))
            return fail(c, "T19", at, "the sums before are lost");
        c->related = false;
        c->sums = !c->t->copiers;
        begin_product(c, FIRST);
        return NULL;
    case TILE_RELATE:
        if (!c->sums) return fail(c, "T5", at, "the sums are not whole");
        c->related = true;
        return NULL;
    case TILE_TERMS:
        if (!c->related || !c->sums) return fail(c, "T19", at, "rows have not taken in the sums");
        if (c->terms) return fail(c, "T19", at, "the terms before are lost");
        if (is_under_way(c, SECOND)) return fail(c, "T14", at, "the left factor is being read");
        c->terms = true;
        c->sums = false;
        return NULL;
    case TILE_DOT_SECOND:
        if (!c->terms) return fail(c, "T19", at, "there are no terms");
        if (c->lags && !there) return fail(c, "T3", at, "its tiles may not be there");
        c->terms = false;
        begin_product(c, SECOND);
        return NULL;
    case TILE_ARRIVE:
        if (c->one_by_one && inside(c, TILE_LOOP)) return check_arrival_behind(c, at);
        if (c->looped && !in_step && c->t->chained->persists) { /* for the last step */
            if (c->n_under_way || c->terms || c->sums || c->last_arrived || c->last_left)
                return fail(c, "T4", at, "the stage's products are under way");
            c->last_arrived = true;
            return NULL;
        }
        if (x->n != 1 || c->arrived || (in_step ? false : !c->lags || c->next))
            return fail(c, "T4", at, "a step is arrived for once, and the next one does");
        if (!in_step && !c->sums && !c->terms) return fail(c, "T4", at, "it is read still");
        if (c->n_under_way || c->terms || (inside(c, TILE_LOOP) && c->sums))
            return fail(c, "T4", at, "the stage's products are under way");
        c->arrived = true;
        return NULL;
    default:
        if (!c->looped || inside(c, TILE_LOOP) || inside(c, TILE_REST))
            return fail(c, "T2", at, "it stands behind no loop");
        if (c->n_under_way || c->terms || c->sums)
            return fail(c, "T5", at, "not all terms are multiplied");
        if (c->t->ahead && !c->landed)
            return fail(c, "T4", at, "the last stages may be read still");
        return check_end(c, at);
    }
}

static const char *check(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    switch (x->op) {
    case TILE_ROLE:
    case TILE_DRAW:
    case TILE_AHEAD:
    case TILE_LOOP:
    case TILE_REST: return open_region(c, at);
    case TILE_END: return close_region(c, at);
    case TILE_COPY: return check_copy(c, at);
    case TILE_COPY_BEFORE: return check_copy_before(c, at);
    case TILE_GROUP: c->ungrouped = false; return NULL;
    case TILE_WAIT_EMPTY:
    case TILE_WAIT_FULL:
        if (c->next && (inside(c, TILE_REST) || inside(c, TILE_LOOP)))
            return fail(c, "T7", at, "the stage is the next one already");
        *(x->op == TILE_WAIT_FULL ? &c->waited_full : &c->waited_empty) = true;
        return NULL;
    case TILE_LANDED:
        if (c->ungrouped) return fail(c, "T3", at, "copies are of no group");
        if (!c->copied[TILE_A]) return fail(c, "T3", at, "the block's rows are not copied");
        if (inside(c, TILE_LOOP) && x->n >= c->t->ahead)
            return fail(c, "T3", at, "its own group may be under way");
        c->landed = true;
        return NULL;
    case TILE_BEGIN: c->begun = true; return NULL;
    case TILE_DRAIN: drain(c, x->n); return NULL;
    case TILE_NEXT:
        if (c->depth && c->open[c->depth - 1] == TILE_DRAW && c->looped) c->last_left = true;
        c->next = true;
        return NULL;
    case TILE_WAIT_ROWS:
    case TILE_FREE_ROWS:
        if (!c->t->chained->persists || c->open[c->depth - 1] != TILE_DRAW)
            return fail(c, "T19", at, "the block has one tile");
        if (x->op == TILE_FREE_ROWS &&
            (!c->looped || c->freed || is_under_way(c, FIRST) || is_under_way(c, FIRST_ALONE) ||
             is_under_way(c, OTHER_FIRST)))
            return fail(c, "T19", at, "the rows are read still");
        *(x->op == TILE_FREE_ROWS ? &c->freed : &c->waited_rows) = true;
        return NULL;
    case TILE_WAIT_TURN:
    case TILE_PASS_TURN: return check_turn(c, at);
    case TILE_DOT:
    case TILE_RELATE:
    case TILE_TERMS:
    case TILE_DOT_SECOND:
    case TILE_ARRIVE:
    case TILE_LEAVE:
    case TILE_LAST:
    case TILE_STORE: return check_product(c, at);
    default: return fail(c, "T19", at, "chained products have no such instruction");
    }
}

/* Tiles lie apart, and a swizzle begins with each. */
static const char *check_places(const struct tile_program *t, struct arena *a) {
    enum { SWIZZLE = 1024 };
    const struct chained *x = t->chained;
    const struct layout *y = &t->block->layout;
    const struct factor *all[2 * MOST_FIRST + MOST_SECOND];
    int n = 0, rows = 0, stage = 0;
    int barriers = 8 * chained_barriers(y);
    for (int i = 0; i < x->n_first; i++) {
        all[n++] = &x->a[i], all[n++] = &x->b[i];
        if (x->a[i].at < rows || x->b[i].at < stage || x->a[i].at % SWIZZLE || x->b[i].at % SWIZZLE)
            return "T6: tiles of chained products overlap";
        rows = x->a[i].at + x->a[i].bytes;
        stage = x->b[i].at + x->b[i].bytes;
    }
    for (int i = 0; i < x->n_second; i++) {
        const struct factor *f = all[n++] = &x->c[i];
        bool of_b = false;
        for (int j = 0; j < x->n_first; j++)
            of_b |= f->at == x->b[j].at && f->bytes == x->b[j].bytes && f->line == x->b[j].line;
        if (f->at % SWIZZLE || (f->shared ? !of_b : f->at < stage))
            return "T6: tiles of chained products overlap";
        if (!f->shared) stage = f->at + f->bytes;
    }
    if (x->first < rows || x->first % SWIZZLE || x->stage % SWIZZLE || stage > x->stage ||
        x->first + y->stages * x->stage > x->barriers ||
        x->barriers + (x->by_warp ? 0 : barriers + 4 * t->threads) > t->smem ||
        (x->n_own && (x->own_at < x->barriers + barriers + 4 * t->threads ||
                      x->own_at + x->own_bytes + SWIZZLE > t->smem)))
        return "T6: tiles of chained products overlap";
    for (int i = 0; i < n; i++) {
        int each = dtype_bytes(all[i]->dtype);
        if ((all[i]->across ? all[i]->rows : all[i]->depth) * each % all[i]->line ||
            all[i]->bytes != all[i]->rows * all[i]->depth * each)
            return arena_printf(a, "T6: tiles of v%u have %d bytes", all[i]->value, all[i]->bytes);
    }
    return NULL;
}

const char *tile_verify_chained(const struct tile_program *t, struct arena *a) {
    struct checker c = {.t = t,
                        .arena = a,
                        .lags = !t->chained->by_warp && chained_lags(&t->block->layout),
                        .one_by_one = t->block->one_by_one};
    const char *bad = check_places(t, a);
    for (uint32_t i = 0; i < t->code.n && !bad; i++) bad = check(&c, i);
    if (!bad && c.depth) bad = "T1: a region has no end";
    if (!bad && !c.copied[TILE_A]) bad = "T3: the block's rows are not copied";
    if (!bad && c.role != (t->copiers ? 2 : 0)) bad = "T1: there are other roles";
    return bad;
}

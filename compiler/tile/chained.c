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
 *                                            fill
 *                                            dot
 *                                            relate
 *                                            dot second
 *                                            next
 *                                        end
 *                                        landed 0
 *                                        store
 *                                    end
 *
 * What is copied before the loop is of the first group. */
#include "tile/tile.h"

static void put(struct tile_program *t, enum tile_op op, int ring, int n) {
    vec_push(t->arena, &t->code, ((struct tile_inst){op, ring, n}));
}

struct tile_program *tile_chained(const struct block *p, struct arena *a) {
    struct tile_program *t = NEW(a, struct tile_program);
    *t = (struct tile_program){.arena = a,
                               .block = p,
                               .chained = p->layout.chained,
                               .threads = p->layout.threads,
                               .ahead = p->layout.stages - 1,
                               .smem = p->layout.smem};
    put(t, TILE_DRAW, 0, 0);
    put(t, TILE_COPY, TILE_A, 0);
    put(t, TILE_BEGIN, 0, 0);
    put(t, TILE_AHEAD, 0, t->ahead);
    put(t, TILE_COPY, TILE_B, 0);
    put(t, TILE_COPY, TILE_C, 0);
    put(t, TILE_GROUP, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_LOOP, 0, 0);
    put(t, TILE_LANDED, 0, t->ahead - 1);
    put(t, TILE_COPY, TILE_B, t->ahead);
    put(t, TILE_COPY, TILE_C, t->ahead);
    put(t, TILE_GROUP, 0, 0);
    put(t, TILE_FILL, 0, 0);
    put(t, TILE_DOT, 0, 0);
    put(t, TILE_RELATE, 0, 0);
    put(t, TILE_DOT_SECOND, 0, 0);
    put(t, TILE_NEXT, 0, 0);
    put(t, TILE_END, 0, 0);
    put(t, TILE_LANDED, 0, 0);
    put(t, TILE_STORE, 0, 0);
    put(t, TILE_END, 0, 0);
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
    buf_printf(b, ", lines of %d bytes%s\n", f->line, f->whole ? "" : ", by elements");
}

void tile_print_chained(struct buf *b, const struct tile_program *t) {
    const struct chained *x = t->chained;
    put_factor(b, 'A', &x->a, 1);
    put_factor(b, 'B', &x->b, t->block->layout.stages);
    put_factor(b, 'C', &x->c, t->block->layout.stages);
}

/* ---- invariants ------------------------------------------------------------------------------ */

enum { MOST_REGIONS = 8 };

struct checker {
    const struct tile_program *t;
    struct arena *arena;
    enum tile_op open[MOST_REGIONS];
    int depth, groups; /* groups: ahead of the loop */
    bool copied_a, copied_b, copied_c, ungrouped, begun, landed, next, stored, looped;
    enum tile_op last; /* of FILL, DOT, RELATE and DOT_SECOND, in the step */
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

static const char *close_region(struct checker *c, uint32_t at) {
    if (!c->depth) return fail(c, "T1", at, "nothing is open");
    enum tile_op op = c->open[--c->depth];
    if ((op == TILE_LOOP || op == TILE_AHEAD) && (!c->copied_b || !c->copied_c))
        return fail(c, "T3", at, "a step's tiles are not copied");
    if ((op == TILE_LOOP || op == TILE_AHEAD) && c->ungrouped)
        return fail(c, "T3", at, "copies are of no group");
    if (op == TILE_AHEAD) c->groups = c->t->code.at[at].n;
    if (op == TILE_LOOP && !c->next) return fail(c, "T7", at, "the block stays at a stage");
    if (op == TILE_LOOP && c->last != TILE_DOT_SECOND)
        return fail(c, "T17", at, "a step's terms are not multiplied");
    if (op == TILE_LOOP) c->looped = true;
    if (op == TILE_LOOP) c->landed = false;
    if (op == TILE_DRAW && !c->stored) return fail(c, "T2", at, "nothing is stored");
    if (op == TILE_LOOP || op == TILE_AHEAD) c->copied_b = c->copied_c = false;
    return NULL;
}

static const char *check_copy(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool in_loop = inside(c, TILE_LOOP), in_ahead = inside(c, TILE_AHEAD);
    if (x->ring == TILE_A) {
        if (in_loop || in_ahead || c->looped) return fail(c, "T2", at, "its rows are there once");
        c->copied_a = c->ungrouped = true;
        return NULL;
    }
    if (!in_loop && !in_ahead) return fail(c, "T2", at, "it stands in no loop");
    if (x->n != (in_loop ? c->t->ahead : 0)) return fail(c, "T3", at, "it is of another step");
    if (in_loop && (!c->landed || x->n >= c->t->block->layout.stages))
        return fail(c, "T4", at, "the stage may be read still");
    *(x->ring == TILE_B ? &c->copied_b : &c->copied_c) = c->ungrouped = true;
    return NULL;
}

/* FILL, DOT, RELATE and DOT_SECOND. */
static const char *check_step(struct checker *c, uint32_t at, enum tile_op before) {
    enum tile_op op = c->t->code.at[at].op;
    if (!inside(c, TILE_LOOP)) return fail(c, "T2", at, "it stands in no loop");
    if (!c->begun) return fail(c, "T17", at, "rows begin with nothing");
    if (c->last != before) return fail(c, "T17", at, "it is another one's turn");
    if (!c->landed && op != TILE_FILL) return fail(c, "T3", at, "its tiles may not be there");
    c->last = op;
    return NULL;
}

static const char *check(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    switch (x->op) {
    case TILE_DRAW:
    case TILE_AHEAD:
    case TILE_LOOP:
        if (c->depth == MOST_REGIONS) return fail(c, "T1", at, "regions are nested too deep");
        if (x->op == TILE_DRAW ? c->depth != 0 : c->depth != 1)
            return fail(c, "T1", at, "it stands in another region");
        if (x->op == TILE_AHEAD && x->n != c->t->ahead)
            return fail(c, "T3", at, "so many steps are not ahead");
        c->open[c->depth++] = x->op;
        if (x->op == TILE_LOOP) c->landed = c->next = false, c->last = TILE_DOT_SECOND;
        return NULL;
    case TILE_END: return close_region(c, at);
    case TILE_COPY: return check_copy(c, at);
    case TILE_GROUP: c->ungrouped = false; return NULL;
    case TILE_LANDED:
        if (c->ungrouped) return fail(c, "T3", at, "copies are of no group");
        if (!c->copied_a) return fail(c, "T3", at, "the block's rows are not copied");
        if (inside(c, TILE_LOOP) && x->n >= c->t->ahead)
            return fail(c, "T3", at, "its own group may be under way");
        c->landed = true;
        return NULL;
    case TILE_BEGIN: c->begun = true; return NULL;
    case TILE_FILL: return check_step(c, at, TILE_DOT_SECOND);
    case TILE_DOT: return check_step(c, at, TILE_FILL);
    case TILE_RELATE: return check_step(c, at, TILE_DOT);
    case TILE_DOT_SECOND: return check_step(c, at, TILE_RELATE);
    case TILE_NEXT: c->next = true; return NULL;
    case TILE_STORE:
        if (!c->looped || inside(c, TILE_LOOP))
            return fail(c, "T2", at, "it stands behind no loop");
        if (!c->landed) return fail(c, "T4", at, "the last stages may be read still");
        c->stored = true;
        return NULL;
    default: return fail(c, "T17", at, "chained products have no such instruction");
    }
}

/* Tiles lie apart, and a swizzle begins with each. */
static const char *check_places(const struct tile_program *t, struct arena *a) {
    enum { SWIZZLE = 1024 };
    const struct chained *x = t->chained;
    const struct layout *y = &t->block->layout;
    int c_at = (int)round_up(x->b.bytes, SWIZZLE);
    if (x->first < x->a.bytes || x->first % SWIZZLE || x->stage % SWIZZLE ||
        c_at + x->c.bytes > x->stage || x->first + y->stages * x->stage > t->smem)
        return "T6: tiles of chained products overlap";
    const struct factor *const all[] = {&x->a, &x->b, &x->c};
    for (int i = 0; i < 3; i++)
        if ((all[i]->across ? all[i]->rows : all[i]->depth) * 2 % all[i]->line ||
            all[i]->bytes != all[i]->rows * all[i]->depth * 2)
            return arena_printf(a, "T6: tiles of %c have %d bytes", "ABC"[i], all[i] -> bytes);
    return NULL;
}

const char *tile_verify_chained(const struct tile_program *t, struct arena *a) {
    struct checker c = {.t = t, .arena = a};
    const char *bad = check_places(t, a);
    for (uint32_t i = 0; i < t->code.n && !bad; i++) bad = check(&c, i);
    if (!bad && c.depth) bad = "T1: a region has no end";
    return bad;
}

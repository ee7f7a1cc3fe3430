/* verify.c: the invariants of tile programs, see tile.h. */
#include "tile/tile.h"

enum { MOST_REGIONS = 8, LINES = 8, BANKS = 128 };

struct checker {
    const struct tile_program *t;
    struct arena *arena;
    enum tile_op open[MOST_REGIONS];
    int depth;
    int role_threads; /* of the role at hand; 0: of none */
    int all_threads;
    bool waited_empty, waited_full, copied[RINGS], filled, next, dot;
    bool taken[RINGS], made, given; /* in a step */
    bool split;                     /* in a step */
    bool added, crossed;            /* behind the DOT of the step */
    int under_way;                  /* products behind the last DRAIN; the sums may be read at 0 */
    bool sums_drained;              /* ... or here: the newest step's are crossed ones */
    int arrivals;                   /* in a step */
    /* tensor: all have read the sums that products are to fill; these threads have read theirs */
    bool may_fill, may_cross, read, reads_in_loop;
    int offers_crossed, reads_crossed;
    int offers[2], reads[2]; /* of tiles, of steps */
    bool left, met;          /* its part is where others find it; all parts are */
    bool landed;    /* in the loop: all are there; behind it: and have read the last stage */
    bool ungrouped; /* copies that belong to no group yet */
    uint32_t stored, reduced, left_partials, known; /* phases of the epilogue */
    bool held, kept, rescaled;
    bool skipped, may_begin, begun; /* in turn: in a draw, and in the turn before and behind it */
};

static bool inside(const struct checker *c, enum tile_op op) {
    for (int i = 0; i < c->depth; i++)
        if (c->open[i] == op) return true;
    return false;
}

static const char *fail(struct checker *c, const char *number, uint32_t at, const char *why) {
    return arena_printf(c->arena, "%s: instruction %u, %s: %s", number, at,
                        tile_op_name(c->t->code.at[at].op), why);
}

static const char *open_region(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    if (c->depth == MOST_REGIONS) return fail(c, "T1", at, "regions are nested too deep");
    bool of_tiles = x->op == TILE_TURN && c->depth && c->open[c->depth - 1] == TILE_DRAW;
    if (of_tiles) {
        if (x->n != c->t->product->in_turn) return fail(c, "T20", at, "other groups have turns");
        if (!c->skipped) return fail(c, "T20", at, "the others' stages are not gone past");
        c->may_begin = c->begun = false;
    } else if (x->op == TILE_TURN) {
        if (!inside(c, TILE_LOOP) || x->n != c->t->product->makers)
            return fail(c, "T2", at, "other groups have turns");
        if (x->n + tile_turns_go_on(c->t) > tile_stages(c->t))
            return fail(c, "T4", at, "a round of its stage may be left out");
    }
    if (x->op == TILE_DRAW) c->skipped = false;
    if (x->op == TILE_ROLE && c->depth) return fail(c, "T1", at, "a role is outermost");
    if ((x->op == TILE_LOOP || x->op == TILE_AHEAD) && !inside(c, TILE_DRAW))
        return fail(c, "T2", at, "of no output tile");
    if (x->op == TILE_ROLE) {
        c->role_threads = x->n;
        c->all_threads += x->n;
        c->under_way = 0;
        c->may_fill = c->may_cross = c->read = false;
    }
    if (x->op == TILE_LOOP) {
        c->waited_empty = c->waited_full = c->next = c->dot = c->landed = false;
        c->made = c->given = c->reads_in_loop = c->split = false;
        c->arrivals = 0;
        memset(c->copied, 0, sizeof c->copied);
        memset(c->taken, 0, sizeof c->taken);
    }
    c->open[c->depth++] = x->op;
    return NULL;
}

static const char *close_region(struct checker *c, uint32_t at) {
    if (!c->depth) return fail(c, "T1", at, "nothing is open");
    enum tile_op op = c->open[--c->depth];
    if (op == TILE_LOOP && c->role_threads) {
        if (!c->next && !c->reads_in_loop) return fail(c, "T7", at, "the role stays at a stage");
        if (c->waited_empty && tile_made(c->t) && !(c->made && c->given))
            return fail(c, "T3", at, "a stage has no tile that is made, or is not given");
        if (c->dot && c->arrivals != 1) return fail(c, "T4", at, "a step is not arrived for once");
    }
    if (op == TILE_LOOP && c->dot && c->role_threads && c->t->product->in_turn > 1) {
        if (!inside(c, TILE_TURN)) return fail(c, "T20", at, "all groups have the tile");
        if (!c->may_begin) return fail(c, "T20", at, "another group's steps may lie before these");
    }
    if (op == TILE_TURN && inside(c, TILE_DRAW) && !inside(c, TILE_LOOP) && !c->begun)
        return fail(c, "T20", at, "the next group waits for ever");
    bool tensor = c->role_threads && c->t->product->tensor;
    if (op == TILE_LOOP && (tensor ? c->reads_in_loop : c->dot) && c->t->product->pairs &&
        !(c->added && c->crossed))
        return fail(c, "T10", at, "some sums of pairs do not come to the total");
    if (op == TILE_LOOP && c->crossed) c->under_way = 0; /* the last step's CROSS */
    if ((op == TILE_LOOP || op == TILE_AHEAD) && c->t->ahead) {
        if (op == TILE_LOOP && !c->next) return fail(c, "T7", at, "the role stays at a stage");
        if (c->ungrouped) return fail(c, "T3", at, "copies are of no group");
        c->landed = false;
    }
    if (op == TILE_DRAW && c->t->ahead && !c->landed)
        return fail(c, "T4", at, "the last stages may be read still");
    if (op == TILE_ROLE) c->role_threads = 0;
    return NULL;
}

static const char *check_copy(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool in_loop = inside(c, TILE_LOOP), in_ahead = inside(c, TILE_AHEAD);
    if (c->t->ring[x->ring].operand->made) return fail(c, "T3", at, "its tiles are made");
    if (!in_loop && !in_ahead) return fail(c, "T2", at, "it stands in no loop");
    if (c->t->copiers && !c->waited_empty) return fail(c, "T4", at, "the stage may be read still");
    if (c->t->ahead && x->n != (in_loop ? c->t->ahead : 0))
        return fail(c, "T3", at, "it is of another step");
    if (c->t->ahead && in_loop && (!c->landed || x->n >= c->t->ring[x->ring].stages))
        return fail(c, "T4", at, "the stage may be read still");
    c->copied[x->ring] = c->ungrouped = true;
    return NULL;
}

/* Tiles that the role's threads make. */
static const char *check_made(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    if (!inside(c, TILE_LOOP)) return fail(c, "T2", at, "it stands in no loop");
    if (c->t->product->makers > 1 && c->t->copiers && !inside(c, TILE_TURN))
        return fail(c, "T2", at, "all groups do it");
    if (x->op == TILE_GIVE) {
        if (!c->made) return fail(c, "T3", at, "its tile is not made");
        c->given = true;
        return NULL;
    }
    if (!c->t->ring[x->ring].operand->made) return fail(c, "T3", at, "its tiles are copied");
    if (x->op == TILE_TAKE) {
        c->taken[x->ring] = true;
        return NULL;
    }
    if (c->t->copiers && !c->taken[x->ring]) return fail(c, "T3", at, "nothing is taken for it");
    if (c->t->copiers && !c->waited_empty) return fail(c, "T4", at, "the stage may be read still");
    if (c->given) return fail(c, "T3", at, "the stage is given already");
    c->copied[x->ring] = c->made = true;
    return NULL;
}

/* Sums in tensor memory: of a step where they are promoted, else of a tile. */
static const char *check_tensor(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool in_loop = inside(c, TILE_LOOP);
    if (!c->t->product->tensor) return fail(c, "T17", at, "the sums are in registers");
    if ((x->op == TILE_WAIT_CROSSED || x->op == TILE_OFFER_CROSSED) && !c->t->product->pairs)
        return fail(c, "T10", at, "these are no pairs");
    if (in_loop != (c->t->product->promotes || x->op == TILE_RELEASE) || !inside(c, TILE_DRAW))
        return fail(c, "T17", at, "the sums are a step's, or a tile's, but not both");
    switch (x->op) {
    case TILE_WAIT_READ: c->may_fill = true; break;
    case TILE_WAIT_CROSSED: c->may_cross = true; break;
    case TILE_OFFER_CROSSED:
        if (!c->dot) return fail(c, "T10", at, "the crossed products have not begun");
        c->offers_crossed++;
        break;
    case TILE_RELEASE:
        if (!c->dot) return fail(c, "T4", at, "the stage's products have not begun");
        c->arrivals++;
        break;
    case TILE_OFFER:
        if (!c->may_fill) return fail(c, "T17", at, "who reads may not have read the sums before");
        c->may_fill = c->filled = false;
        c->offers[in_loop]++;
        break;
    default:
        c->read = true;
        c->added = c->crossed = false;
        c->reads_in_loop = in_loop;
        c->reads[in_loop]++;
        break;
    }
    return NULL;
}

/* Before a step's products, or behind them all. */
static const char *check_landed(struct checker *c, uint32_t at) {
    if (c->ungrouped) return fail(c, "T3", at, "copies are of no group");
    if (inside(c, TILE_LOOP) && c->t->code.at[at].n >= c->t->ahead)
        return fail(c, "T3", at, "its own group may be under way");
    c->landed = c->waited_full = true;
    return NULL;
}

static const char *check_epilogue(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    const struct block *p = c->t->block;
    uint32_t n = (uint32_t)x->n;
    if (x->op == TILE_STORE) {
        if (n != c->stored) return fail(c, "T8", at, "it is another phase's turn");
        if (n != c->reduced) return fail(c, "T8", at, "what it stands on is not reduced");
        if (c->t->product->sharing > 1 && n != c->known && !(c->held && n == 1))
            return fail(c, "T8", at, "its rows' other tiles have not been met");
        if (n > 1 && c->held && c->kept && !c->rescaled)
            return fail(c, "T8", at, "what is kept is relative to a tile's maximum");
        c->stored++;
    } else if (x->op == TILE_REDUCE) {
        if (n + 1 != c->stored || n != c->reduced)
            return fail(c, "T8", at, "its phase has not just been");
        c->reduced++;
    } else if (x->op == TILE_LEAVE_PARTIALS) {
        if (n + 1 != c->reduced || n != c->left_partials || n >= p->phases.n)
            return fail(c, "T8", at, "what it leaves is not reduced");
        c->left_partials++;
    } else if (x->op == TILE_MEET_PARTIALS) {
        if (x->n != c->t->product->sharing) return fail(c, "T8", at, "other tiles share the rows");
        if (c->left_partials != c->reduced || c->known == c->reduced)
            return fail(c, "T8", at, "its own part is not there");
        c->known = c->left_partials;
    } else if (x->op == TILE_HOLD) {
        if (c->reduced != 1 || c->left_partials != 1)
            return fail(c, "T8", at, "the maxima are not there, or not left");
        c->held = true;
    } else if (x->op == TILE_KEEP) {
        if (c->reduced != 1 || (c->t->product->sharing > 1 && !c->held && c->known != 1))
            return fail(c, "T8", at, "what it stands on is not reduced");
        c->kept = true;
    } else if (x->op == TILE_RESCALE) {
        if (!c->held || !c->kept || c->known != 2)
            return fail(c, "T8", at, "its rows' other tiles have not been met");
        c->rescaled = true;
    } else if (x->op == TILE_RESULTS) {
        if (c->reduced == 0 || (c->t->product->sharing > 1 && c->known != c->reduced))
            return fail(c, "T8", at, "the rows' other tiles have not been met");
    }
    return NULL;
}

/* Groups that have tiles in turn. */
static const char *check_turn(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool in_turn = c->depth && c->open[c->depth - 1] == TILE_TURN && !inside(c, TILE_LOOP);
    if (x->op == TILE_SKIP) {
        if (x->n != c->t->product->in_turn || c->t->product->in_turn == 1 || !c->depth ||
            c->open[c->depth - 1] != TILE_DRAW)
            return fail(c, "T20", at, "other groups have turns");
        c->skipped = true;
        return NULL;
    }
    if (!in_turn) return fail(c, "T20", at, "nobody's turn is at hand");
    if (x->op == TILE_WAIT_TURN) c->may_begin = true;
    if (x->op == TILE_PASS_TURN && (!c->may_begin || !c->dot))
        return fail(c, "T20", at, "its products have not all begun");
    if (x->op == TILE_PASS_TURN) c->begun = true;
    return NULL;
}

static const char *check(struct checker *c, uint32_t at) {
    const struct tile_inst *x = &c->t->code.at[at];
    bool roles = c->t->copiers > 0;
    switch (x->op) {
    case TILE_AHEAD:
    case TILE_TURN:
    case TILE_ROLE:
    case TILE_DRAW:
    case TILE_LOOP: return open_region(c, at);
    case TILE_END: return close_region(c, at);
    case TILE_WAIT_EMPTY: c->waited_empty = true; break;
    case TILE_WAIT_FULL: c->waited_full = true; break;
    case TILE_COPY: return check_copy(c, at);
    case TILE_TAKE:
    case TILE_MAKE:
    case TILE_GIVE: return check_made(c, at);
    case TILE_SKIP:
    case TILE_WAIT_TURN:
    case TILE_PASS_TURN: return check_turn(c, at);
    case TILE_GROUP: c->ungrouped = false; break;
    case TILE_LANDED: return check_landed(c, at);
    case TILE_WAIT_READ:
    case TILE_RELEASE:
    case TILE_OFFER:
    case TILE_WAIT_CROSSED:
    case TILE_OFFER_CROSSED:
    case TILE_READ: return check_tensor(c, at);
    case TILE_SPLIT:
        if (!inside(c, TILE_LOOP)) return fail(c, "T2", at, "it stands in no loop");
        if (!c->t->product->splits || c->split)
            return fail(c, "T21", at, "no tile is of f32, or no longer");
        if (roles ? !c->waited_full : !c->copied[TILE_A] || !c->copied[TILE_B])
            return fail(c, "T3", at, "its tiles may not be there");
        c->split = true;
        break;
    case TILE_FILL: c->filled = true; break;
    case TILE_DOT_ADD: c->filled = true; /* fallthrough */
    case TILE_DOT:
        if (!inside(c, TILE_LOOP)) return fail(c, "T2", at, "it stands in no loop");
        if (!c->filled) return fail(c, "T5", at, "the sums begin with nothing");
        if (roles || c->t->ahead ? !c->waited_full : !c->copied[TILE_A] || !c->copied[TILE_B])
            return fail(c, "T3", at, "its tiles may not be there");
        if (c->t->product->splits && !c->split)
            return fail(c, "T21", at, "its tiles are of f32 still");
        if (roles && c->t->product->tensor && c->t->product->pairs && !c->may_cross)
            return fail(c, "T10", at, "who reads may not have read the crossed sums before");
        if (roles && c->t->product->tensor && !c->may_fill)
            return fail(c, "T17", at, "who reads may not have read the sums before");
        c->dot = true;
        c->added = c->crossed = false;
        c->under_way = roles ? 2 : 0;
        c->sums_drained = false;
        break;
    case TILE_DRAIN_SUMS:
        if (!c->t->product->pairs) return fail(c, "T10", at, "these are no pairs");
        if (c->under_way > 1) c->under_way = 1;
        c->sums_drained = true;
        break;
    case TILE_DRAIN:
        if (x->n < c->under_way) c->under_way = x->n;
        break;
    case TILE_ARRIVE:
        if (c->under_way > x->n) return fail(c, "T4", at, "the stage's products are under way");
        c->arrivals += inside(c, TILE_LOOP);
        break;
    case TILE_NEXT:
        if (c->t->product->a.in_registers && c->under_way)
            return fail(c, "T14", at, "the registers of the left factor are being read");
        c->next = true;
        break;
    case TILE_ADD:
    case TILE_CROSS:
    case TILE_FOLD:
    case TILE_LEAVE:
    case TILE_MEET:
    case TILE_STORE:
    case TILE_REDUCE:
    case TILE_LEAVE_PARTIALS:
    case TILE_MEET_PARTIALS:
    case TILE_HOLD:
    case TILE_KEEP:
    case TILE_RESCALE:
    case TILE_RESULTS:
        if (c->under_way && !(c->sums_drained && inside(c, TILE_LOOP)))
            return fail(c, "T5", at, "products are under way");
        if (roles && c->t->product->tensor && !c->read)
            return fail(c, "T17", at, "the sums have not been read");
        if (x->op == TILE_CROSS && !c->t->product->pairs)
            return fail(c, "T10", at, "these are no pairs");
        c->added |= x->op == TILE_ADD;
        c->crossed |= x->op == TILE_CROSS;
        c->reads_crossed += x->op == TILE_CROSS && c->t->product->tensor && roles;
        if (x->op == TILE_MEET && !c->left) return fail(c, "T3", at, "its own part is not there");
        c->left |= x->op == TILE_LEAVE;
        c->met |= x->op == TILE_MEET;
        if (x->op == TILE_STORE && c->t->product->parts > 1 && !c->met)
            return fail(c, "T3", at, "a part alone is stored");
        if (x->op >= TILE_LEAVE && (inside(c, TILE_LOOP) || !inside(c, TILE_DRAW)))
            return fail(c, "T2", at, "it stands not behind a loop");
        return check_epilogue(c, at);
    case TILE_COPY_BEFORE:
    case TILE_BEGIN:
    case TILE_WAIT_ROWS:
    case TILE_FREE_ROWS:
    case TILE_REST:
    case TILE_RELATE:
    case TILE_LAST:
    case TILE_TERMS:
    case TILE_DOT_SECOND: return fail(c, "T19", at, "these are no chained products");
    case TILE_OPS: return fail(c, "T1", at, "no instruction");
    }
    return NULL;
}

/* What a line of taps reads of the last window is in the tile; and a tile is of one image. */
static const char *check_lying(struct checker *c, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    int64_t of_line = o->step_taps / operand_lines_of_taps(o);
    int64_t last = LYING_UNIT - 1 + (of_line - 1) * o->order->dim[0].apart;
    if (o->depth != o->order->taps / o->step_taps * o->step_places * o->channels ||
        r->depth != o->step_places * o->step_channels)
        return arena_printf(c->arena, "T9: %s has not all taps, or more", r->name);
    if (last > LYING_BEHIND || r->blocks > 1 || o->step_taps % of_line)
        return arena_printf(c->arena, "T9: taps of %s are in no tile", r->name);
    last = 0;
    for (int d = 0; d < o->order->n; d++) last += (o->order->dim[d].windows - 1) * o->step[d];
    if (last >= o->positions || o->positions % r->rows)
        return arena_printf(c->arena, "T9: tiles of %s are of two images", r->name);
    return NULL;
}

/* A box is channels of one tap, and there are so many of all taps. */
static const char *check_windows(struct checker *c, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    if (!o->windows) return NULL;
    if (o->lying) return check_lying(c, r);
    if (o->channels % ring_line_elements(r))
        return arena_printf(c->arena, "T9: lines of %s are of several taps", r->name);
    if ((o->along ? o->rows : o->depth) != o->order->taps * o->channels)
        return arena_printf(c->arena, "T9: %s has not all taps, or more", r->name);
    for (int d = 0; d < o->order->n && o->flat; d++) {
        const struct im2col_dim *x = &o->order->dim[d];
        if (o->padded[d] < x->windows + (x->taps - 1) * x->apart)
            return arena_printf(c->arena, "T9: taps of %s are in the next line", r->name);
    }
    return NULL;
}

/* Short steps: nothing that they leave out is a channel of a tap. */
static const char *check_shorts(struct checker *c, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    const struct short_steps *s = &c->t->product->shorts;
    const struct im2col *w = o->along ? NULL : o->order;
    int64_t steps = tile_steps(c->t);
    for (int64_t i = s->at; i < steps && s->every; i += s->every)
        for (int64_t d = i * r->depth + s->depth; d < (i + 1) * r->depth && d < o->depth; d++)
            if (!w || d % o->channels < w->channels)
                return arena_printf(c->arena, "T11: depth %lld of %s is left out", (long long)d,
                                    r->name);
    return NULL;
}

/* What stays is the same for all tiles. */
static const char *check_staying(struct checker *c, const struct tile_ring *r) {
    const struct tile_program *t = c->t;
    const struct operand *o = r->operand;
    const struct block *p = t->block;
    if (!o->stays) return NULL;
    if (r->stages != tile_steps(t) || t->product->by_warp)
        return arena_printf(c->arena, "T13: %s has not a stage for each step", r->name);
    if (matrix_tiles(p->kernel, &p->layout, o->axis) > 1 || t->product->parts > 1 ||
        t->product->steps || r->blocks > 1 ||
        (o->batches > 1 && matrix_tiles(p->kernel, &p->layout, AXIS_Z) > 1))
        return arena_printf(c->arena, "T13: tiles of a block have others of %s", r->name);
    return NULL;
}

/* Units read lines along the rows of 16 bits alone. */
static const char *check_lines(struct checker *c, const struct tile_ring *r) {
    enum { INSTRUCTION = 32 }; /* bytes of depth */
    int bytes = dtype_bytes(r->operand->dtype);
    if (bytes != 2 && r->operand->along && !r->operand->in_registers)
        return arena_printf(c->arena, "T16: lines of %s run along the rows", r->name);
    if (r->depth * bytes % INSTRUCTION)
        return arena_printf(c->arena, "T16: steps of %s end within an instruction", r->name);
    return NULL;
}

/* Which tiles are drawn, and of which a part of the depth is left out. */
static const char *check_draws(struct checker *c) {
    const struct tile_program *t = c->t;
    int64_t n = tile_all(t);
    bool *drawn = NEW_ARRAY(c->arena, bool, n);
    for (int64_t i = 0; i < n && t->order; i++) {
        if (t->order[i] < 0 || t->order[i] >= n || drawn[t->order[i]])
            return arena_printf(c->arena, "T15: tile %d is drawn twice", t->order[i]);
        drawn[t->order[i]] = true;
    }
    if (t->product->whole && (t->product->whole >= n || t->product->parts < 2))
        return "T15: no tile is in parts";
    if (t->product->whole && (t->product->bounded || t->product->steps || t->product->makers))
        return "T15: whole tiles differ in steps";
    if (t->product->bounded && (t->product->makers || tile_staying(t) || t->product->steps))
        return "T15: tiles differ in steps";
    return NULL;
}

/* Who goes past the others' steps counts them. */
static const char *check_in_turn(struct checker *c) {
    const struct product *p = c->t->product;
    if (p->in_turn == 1) return NULL;
    if (p->bounded || p->steps || p->parts > 1) return "T20: tiles differ in steps";
    if (tile_staying(c->t)) return "T20: the other group has waited for what stays";
    if (p->makers || p->tensor || p->by_warp || p->warpgroups > 1)
        return "T20: these have no tiles in turn";
    return NULL;
}

static const char *check_resident(struct checker *c) {
    const struct tile_program *t = c->t;
    const struct device_limits *d = t->block->kernel->limits;
    const struct product *p = t->product;
    int few = t->copiers + t->issuers;
    int64_t registers = (int64_t)product_registers(p, false) * few +
                        (int64_t)product_registers(p, true) * (t->threads - few);
    if (p->by_warp) return NULL;
    int launched = product_launch_registers(t->block->kernel, p, t->threads);
    if (registers > (int64_t)launched * t->threads) return "T12: registers for fewer blocks";
    if (p->resident == 1) return NULL;
    return (int64_t)t->smem * p->resident > d->smem_unit ? "T12: shared memory for fewer blocks"
                                                         : NULL;
}

/* Where the sums lie, and who reads which of their lanes. */
static const char *check_sums(struct checker *c) {
    enum { LEAST = 32, LANES = 128, WARPS = 4, WARPGROUP = 128 };
    const struct product *p = c->t->product;
    int n = p->tensor_columns, columns = c->t->ring[TILE_B].rows, rows = c->t->ring[TILE_A].rows;
    int first = c->t->copiers + c->t->issuers;
    if (!p->tensor) return NULL;
    if (n < LEAST || n & (n - 1) || n * p->resident > TENSOR_COLUMNS)
        return arena_printf(c->arena, "T18: %d columns of tensor memory", n);
    int sets = p->sums_at_once + product_crosses_in_tensor(p);
    if (p->sums_at_once < 1 || sets * columns > n)
        return arena_printf(c->arena, "T18: %d sets of sums in %d columns", sets, n);
    int warps = p->group_threads / (LANES / WARPS);
    if (rows != p->warp_rows * WARPS || warps % WARPS ||
        columns != p->warp_columns * (warps / WARPS) || p->warp_rows > LANES / WARPS ||
        (c->t->copiers && first % WARPGROUP))
        return arena_printf(c->arena, "T18: warps of %d by %d sums read others than their lanes",
                            p->warp_rows, p->warp_columns);
    return NULL;
}

static const char *check_rings(struct checker *c) {
    const struct tile_program *t = c->t;
    int stages = tile_stages(t), end = 0, last = 0;
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = &t->ring[i];
        /* A tensor map's swizzle counts lines from eights of them, ours from a tile's first. */
        int aligned = t->product->by_warp ? BANKS : r->operand->lying ? r->line : r->line * LINES;
        if (r->offset < (r->operand->stays ? 0 : end) || r->offset % aligned || r->stage % aligned)
            return arena_printf(c->arena, "T6: ring %s at %d", r->name, r->offset);
        int tile =
            r->bytes * (r->operand->paired ? r->planes : 1); /* whose lines have both planes */
        if (tile % aligned)
            return arena_printf(c->arena, "T6: tiles of %s have %d bytes", r->name, tile);
        const char *bad = check_lines(c, r);
        if (!bad) bad = check_windows(c, r);
        if (!bad) bad = check_shorts(c, r);
        if (!bad) bad = check_staying(c, r);
        if (bad) return bad;
        if (r->operand->stays) continue;
        end = r->offset + r->bytes * r->planes;
        if (end > r->stage) return arena_printf(c->arena, "T6: %s lies in the next stage", r->name);
        last = r->stage * stages;
    }
    const struct tile_ring *kept = tile_staying(t);
    if (kept && (kept->offset < last || kept->bytes * kept->planes > kept->stage))
        return arena_printf(c->arena, "T6: %s lies in what is filled again", kept->name);
    if (kept) last = kept->offset + kept->stage * kept->stages;
    int barriers = product_barrier_bytes(t->product, stages);
    if (t->barriers < last || t->barriers + barriers > t->smem)
        return arena_printf(c->arena, "T6: barriers at %d", t->barriers);
    if (t->exchange < t->barriers + barriers || t->exchange + t->product->exchange > t->smem)
        return arena_printf(c->arena, "T6: the exchange at %d", t->exchange);
    if (t->exchange_apart * t->product->in_turn != t->product->exchange)
        return "T20: groups leave what they have of their tiles in one place";
    return NULL;
}

const char *tile_verify(const struct tile_program *t, struct arena *a) {
    struct checker c = {.t = t, .arena = a};
    if (t->chained) return tile_verify_chained(t, a);
    const char *bad = check_rings(&c);
    if (!bad && t->copiers) bad = check_resident(&c);
    if (!bad) bad = check_draws(&c);
    if (!bad) bad = check_in_turn(&c);
    if (!bad) bad = check_sums(&c);
    for (uint32_t i = 0; i < t->code.n && !bad; i++) bad = check(&c, i);
    if (!bad && c.depth) bad = "T1: a region has no end";
    for (int i = 0; i < 2 && !bad; i++)
        if (c.offers[i] != c.reads[i] || c.offers_crossed != c.reads_crossed)
            bad = "T17: sums are offered that nobody reads, or not read";
    if (!bad && t->copiers && c.all_threads != t->threads) bad = "T1: roles are not the block";
    return bad;
}

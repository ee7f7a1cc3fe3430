/* apart.c: what a product comes to may be reduced, or go through transcendental functions, by
 * another kernel sooner than behind its tiles:
 *
 *   mish(a @ b)       mm+exp+log1p+tanh+mul    or   mm, exp+log1p+tanh+mul
 *   softmax(a @ b)    mm+amax+sub+exp+sum+div  or   mm, amax+sub+exp+sum+div
 *
 * A tile's few warps go through what stands behind it while the matrix units have nothing to do; a
 * kernel of its own reads all once more, from L2 perhaps, with a device full of warps. And what is
 * read through windows that overlap may be made by a kernel of its own sooner than once for each
 * tap of a depthwise convolution, or of a pool:
 *
 *   depthwise(relu6(norm(x)), w)     sub+mul+add+maximum+minimum+convolve
 *                               or   sub+mul+add+maximum+minimum, convolve
 *
 * So may what is read at several places and takes many loads itself, as a filter along rows that
 * one along columns reads:
 *
 *   y = x[:, :-2] + 2 * x[:, 1:-1] + x[:, 2:]; z = y[2:] - y[:-2]     x, y    or   x, then y
 *
 * And what is stored in another order than a reduction of the same goes, as a transposed copy
 * beside sums of rows, has no tile in shared memory in that kernel:
 *
 *   x.mean(1), x.t().contiguous()     sum+div+copy    or   sum+div, copy
 *
 * Nor has one of two copies, of which the other goes as what is read.
 *
 * Neither has what is read in another order, where it is reduced or scanned in its own:
 *
 *   softmax(x.permute(2, 0, 1) + y, 2)     add+amax+sub+exp+sum+div    or   add, amax+...+div
 *
 * The cost model decides, between schedules of the same loops where kernels have all of that, or
 * apart. Kernels that have a buffer in common, in one or in the other, are compared together: what
 * leaves one may join others, and these be other kernels for it. */
#include "schedule/schedule.h"

struct choice {
    struct schedule *fused, *apart;
    uint32_t n;      /* buffers that both have; those of copies (recompute.c) come behind them */
    uint32_t *above; /* per buffer: another one of its part, nearer to that by which it is told */
    group_us_fn *us;
    void *ctx;
};

static const struct nest *nest_of(const struct schedule *s, const struct group *G, uint32_t m) {
    return &s->loops->nests.at[G->members.at[m].nest];
}

static bool reduces(const struct nest *n) { return n->n_reduce && !n->matmul; }

/* Does a nest read, for more elements than there are of it, what the group reduces to? */
static bool reads_reduced(const struct schedule *s, const struct group *G, const struct nest *n) {
    const struct loops *l = s->loops;
    for (uint32_t i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        for (uint32_t m = 0; m < G->members.n && x->kind == INST_LOAD; m++) {
            const struct nest *r = nest_of(s, G, m);
            if (r->out == x->buffer && reduces(r) &&
                axes_numel(l, n->axes, n->n_axes) > axes_numel(l, r->axes, r->n_axes))
                return true;
        }
    }
    return false;
}

/* What a product has behind it that may be dear: sums that no element waits for are not. */
static uint8_t group_may_be_apart(const struct schedule *s, const struct group *G) {
    enum { DEAR = 32 }; /* instructions an element: for fewer nobody waits long */
    uint8_t marks = 0;
    bool dear = false;
    int size = 0;
    if (!G->matmul || G->n_between) return 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_of(s, G, m);
        if (n->matmul) continue;
        if (reads_reduced(s, G, n)) marks |= APART_REDUCED;
        dear |= nest_is_dear(n);
        size += nest_size(n);
    }
    return dear && size > DEAR ? marks | APART_DEAR : marks;
}

/* Is the load one of windows that overlap: of a place that several axes of its nest move, and more
 * of them than there are elements? */
static bool reads_windows(const struct loops *l, const struct nest *n, const struct inst *x) {
    int64_t elements = 1, terms = 1;
    bool windows = false, counted[2 * WS_MAX_RANK] = {false};
    for (int d = 0; d < x->n_index; d++) {
        int moved_by = 0;
        elements *= ex_hint(l->ex, l->buffers.at[x->buffer].meta.size[d]);
        for (int k = 0; k < n->n_axes + n->n_reduce; k++) {
            ex axis = k < n->n_axes ? n->axes[k] : n->reduce[k - n->n_axes];
            if (!ex_uses(l->ex, x->index[d], axis)) continue;
            moved_by++;
            if (!counted[k]) terms *= axes_numel(l, &axis, 1);
            counted[k] = true;
        }
        windows |= moved_by > 1;
    }
    return windows && terms > elements;
}

/* us that memory takes for b, once written and twice read, as what it is made of is no less. */
static double stored_us(const struct loops *l, buffer_id b, const struct device_limits *limits) {
    return 3 * (double)buffer_bytes(l, b) / (1e3 * device_gbps(limits));
}

/* Marks what a group makes element by element and reads more than once for each of its elements, if
 * its kernel takes so long that storing it might take less. */
static uint8_t mark_windows(struct choice *c, struct schedule *s, uint32_t g,
                            const struct device_limits *limits, const struct apart_marks *may) {
    const struct group *G = &s->groups.at[g];
    const struct loops *l = s->loops;
    uint8_t marks = 0;
    double us = -1; /* not asked for yet */
    for (uint32_t m = 0; m < G->members.n && !G->matmul; m++) {
        const struct nest *n = nest_of(s, G, m);
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD || x->buffer >= may->n) continue;
            uint32_t w = s->writer[x->buffer];
            if (w == NO_NEST || s->group_of[w] != g) continue;
            const struct nest *from = &l->nests.at[w];
            if (from->n_reduce || from->scan != EX_NONE || !reads_windows(l, n, x)) continue;
            if (us < 0) us = c->us(s, g, c->ctx);
            if (stored_us(l, x->buffer, limits) < us) marks |= may->of[x->buffer] = APART_WINDOWS;
        }
    }
    return marks;
}

/* ---- values that are read at several places -------------------------------------------------- */

/* The load's value is made element by element in group g: the nest that does; NULL: it is not. */
static const struct nest *made_in(const struct schedule *s, uint32_t g, const struct inst *x) {
    uint32_t w = x->kind == INST_LOAD ? s->writer[x->buffer] : NO_NEST;
    const struct nest *n = w == NO_NEST ? NULL : &s->loops->nests.at[w];
    return n && s->group_of[w] == g && !n->n_reduce && n->scan == EX_NONE && !n->matmul ? n : NULL;
}

/* How often group g loads to make an element of what n does. */
static int loads_of(const struct schedule *s, uint32_t g, const struct nest *n, int most) {
    int loads = 0;
    for (uint32_t i = 0; i < n->insts.n && loads < most; i++) {
        if (n->insts.at[i].kind != INST_LOAD) continue;
        const struct nest *from = made_in(s, g, &n->insts.at[i]);
        loads += from ? loads_of(s, g, from, most - loads) : 1;
    }
    return loads;
}

static bool reads_at_its_own(const struct nest *n, const struct inst *x) {
    for (int d = 0; d < x->n_index; d++)
        if (x->index[d] != n->out_index[d]) return false;
    return true;
}

enum { MANY_LOADS = 4 }; /* what is made of fewer is no sooner loaded itself */

/* What n is made of at its own place, if nothing else of it takes many loads: it had better be
 * stored than this. */
static const struct nest *dear_source(const struct schedule *s, uint32_t g, const struct nest *n) {
    const struct nest *dear = n, *next = n;
    while (next) {
        dear = next;
        next = NULL;
        for (uint32_t i = 0; i < dear->insts.n; i++) {
            const struct inst *x = &dear->insts.at[i];
            const struct nest *from = made_in(s, g, x);
            if (!from || loads_of(s, g, from, MANY_LOADS) < MANY_LOADS) continue;
            if (next || !reads_at_its_own(dear, x)) return dear;
            next = from;
        }
    }
    return dear;
}

/* Marks what a group makes of many loads for each of several places where it is read, as a filter
 * along columns does of one along rows, if its kernel takes so long that storing it might take
 * less. */
static uint8_t mark_places(struct choice *c, struct schedule *s, uint32_t g,
                           const struct device_limits *limits, const struct apart_marks *may) {
    enum { SEVERAL = 3, SMALL = 8 }; /* places; a value so many times smaller than its reader */
    const struct group *G = &s->groups.at[g];
    const struct loops *l = s->loops;
    uint8_t marks = 0;
    double us = -1; /* not asked for yet */
    int *places = NEW_ARRAY(s->arena, int, l->buffers.n);
    for (uint32_t m = 0; m < G->members.n && !G->matmul; m++) {
        const struct nest *n = nest_of(s, G, m);
        for (uint32_t i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            const struct nest *from = made_in(s, g, x);
            if (!from || reads_at_its_own(n, x) || ++places[x->buffer] != SEVERAL) continue;
            if (axes_numel(l, n->axes, n->n_axes) > SMALL * axes_numel(l, from->axes, from->n_axes))
                continue;
            if (loads_of(s, g, from, MANY_LOADS) < MANY_LOADS) continue;
            buffer_id b = dear_source(s, g, from)->out;
            if (b >= may->n) continue;
            if (us < 0) us = c->us(s, g, c->ctx);
            if (stored_us(l, b, limits) < us) marks |= may->of[b] = APART_WINDOWS;
        }
    }
    return marks;
}

/* ---- what goes in another order -------------------------------------------------------------- */

/* Is what the nest makes, element by element, in another order than something that it is made of is
 * read: by itself, or by who makes that in the same kernel, of whose buffers `across` says so? And
 * is that much, so that somebody waits for its sectors? */
enum turning { TURNS_NOTHING, TURNED_BEFORE, TURNS };

static enum turning turning_of(const struct schedule *s, const struct nest *n, const bool *across) {
    enum { FEW = 1 << 16 }; /* elements */
    enum turning t = TURNS_NOTHING;
    if (n->n_reduce || n->scan != EX_NONE) return TURNS_NOTHING;
    if (axes_numel(s->loops, n->axes, n->n_axes) <= FEW) return TURNS_NOTHING;
    for (uint32_t i = 0; i < n->insts.n && t != TURNS; i++) {
        const struct inst *x = &n->insts.at[i];
        if (x->kind != INST_LOAD) continue;
        if (across[x->buffer]) t = TURNED_BEFORE;
        if (load_goes_across(s->loops, n, x)) t = TURNS;
    }
    return t;
}

/* Marks what a group that reduces or scans stores across its rows, what turns it, whether that is
 * stored or not, and what it reduces to; of another group, what it stores across what else it
 * stores. */
static uint8_t mark_across(struct schedule *s, uint32_t g, const struct apart_marks *may,
                           bool *across) {
    const struct group *G = &s->groups.at[g];
    bool pointwise = !G->n_r && !G->scan, any_along = !pointwise;
    uint8_t marks = 0;
    if (G->matmul || G->n_between) return 0;
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = nest_of(s, G, m);
        enum turning t = turning_of(s, n, across);
        across[n->out] = t != TURNS_NOTHING;
        if (n->out >= may->n) continue;
        if (across[n->out] && s->stored[n->out]) marks |= APART_ACROSS;
        if (t == TURNS && !pointwise) marks |= may->of[n->out] |= APART_TURNED;
        any_along |= !across[n->out] && s->stored[n->out];
    }
    if (!any_along) marks = 0;
    for (uint32_t m = 0; m < G->members.n && marks; m++) {
        const struct nest *n = nest_of(s, G, m);
        if (n->out >= may->n) continue;
        bool turns = across[n->out] && (s->stored[n->out] || turning_of(s, n, across) == TURNS);
        bool along =
            pointwise ? !across[n->out] && s->stored[n->out] : n->n_reduce || n->scan != EX_NONE;
        if (marks & APART_ACROSS && turns) may->of[n->out] |= APART_ACROSS;
        if (along) may->of[n->out] |= APART_ALONG;
    }
    for (uint32_t m = 0; m < G->members.n; m++) across[nest_of(s, G, m)->out] = false;
    return marks;
}

static uint32_t part_of(const struct choice *c, uint32_t b) {
    while (c->above[b] != b) b = c->above[b] = c->above[c->above[b]];
    return b;
}

/* A buffer by which a group's part is told; c->n: it has none but copies. */
static uint32_t first_of(const struct choice *c, const struct schedule *s, uint32_t g) {
    const struct group *G = &s->groups.at[g];
    for (uint32_t m = 0; m < G->members.n; m++)
        if (nest_of(s, G, m)->out < c->n) return nest_of(s, G, m)->out;
    return c->n;
}

static void join_members(struct choice *c, const struct schedule *s) {
    for (uint32_t g = 0; g < s->groups.n; g++) {
        const struct group *G = &s->groups.at[g];
        uint32_t first = first_of(c, s, g);
        for (uint32_t m = 0; m < G->members.n; m++)
            if (nest_of(s, G, m)->out < c->n)
                c->above[part_of(c, nest_of(s, G, m)->out)] = part_of(c, first);
    }
}

/* us that the kernels of each part take that is asked for. */
static double *find_us(const struct choice *c, struct schedule *s, const bool *asked,
                       struct arena *a) {
    double *us = NEW_ARRAY(a, double, c->n);
    for (uint32_t g = 0; g < s->groups.n; g++) {
        uint32_t first = first_of(c, s, g), part = first < c->n ? part_of(c, first) : first;
        if (first < c->n && asked[part]) us[part] += LAUNCH_US + c->us(s, g, c->ctx);
    }
    return us;
}

/* What each marked buffer saves whose part is faster so, if that is more than any way has saved
 * before: *out has `marks` then, which may be those of a family. A guess has to say so by a margin,
 * and of small kernels by more. */
static void compare(struct choice *c, const struct apart_marks *marks, uint8_t family,
                    double margin, double *saves, struct apart_marks *out, struct arena *a) {
    const double SURE = 2; /* us */
    bool *asked = NEW_ARRAY(a, bool, c->n);
    for (uint32_t b = 0; b < c->n; b++) c->above[b] = b;
    join_members(c, c->fused);
    join_members(c, c->apart);
    for (uint32_t b = 0; b < c->n; b++) asked[part_of(c, b)] |= marks->of[b];
    double *fused = find_us(c, c->fused, asked, a), *apart = find_us(c, c->apart, asked, a);
    for (uint32_t b = 0; b < c->n; b++) {
        uint32_t part = part_of(c, b);
        double saved = fused[part] - apart[part];
        uint8_t orders = APART_ACROSS | APART_ALONG | APART_TURNED;
        bool was = out->of[b] & orders && family & orders; /* another way, which this one ends */
        if (!(marks->of[b] || was) || apart[part] + SURE >= margin * fused[part] ||
            saved <= saves[b])
            continue;
        saves[b] = saved;
        out->of[b] = marks->of[b];
        out->any = true;
    }
}

static bool has_chains(const struct schedule *s) {
    for (uint32_t g = 0; g < s->groups.n; g++)
        if (s->groups.at[g].n_between) return true;
    return false;
}

struct apart_marks schedule_apart(struct schedule *s, const struct device_limits *limits,
                                  apart_schedule_fn *make, group_us_fn *us, void *ctx) {
    /* What is read across takes a pass more, which has to be worth it. */
    static const struct {
        uint8_t marks, needs;
        double margin;
    } ways[] = {{APART_REDUCED, APART_REDUCED, 0.97},
                {APART_REDUCED | APART_DEAR, APART_DEAR, 0.97},
                {APART_WINDOWS, APART_WINDOWS, 0.97},
                {APART_ACROSS | APART_ALONG, APART_ACROSS, 0.97},
                {APART_TURNED | APART_ALONG, APART_TURNED, 0.85}};
    struct apart_marks may = {.n = s->n_buffers}, marks = may, out = may;
    may.of = NEW_ARRAY(s->arena, uint8_t, may.n);
    marks.of = NEW_ARRAY(s->arena, uint8_t, may.n);
    out.of = NEW_ARRAY(s->arena, uint8_t, may.n);
    bool *across = NEW_ARRAY(s->arena, bool, s->loops->buffers.n);
    uint8_t any = 0;
    struct choice c = {
        .n = may.n, .above = NEW_ARRAY(s->arena, uint32_t, may.n), .us = us, .ctx = ctx};
    for (uint32_t g = 0; g < s->groups.n; g++) {
        any |= mark_windows(&c, s, g, limits, &may) | mark_places(&c, s, g, limits, &may) |
               mark_across(s, g, &may, across);
        for (uint32_t m = 0; m < s->groups.at[g].members.n; m++) {
            const struct nest *n = nest_of(s, &s->groups.at[g], m);
            if (!n->matmul || n->out >= may.n) continue;
            any |= may.of[n->out] = group_may_be_apart(s, &s->groups.at[g]);
        }
    }
    if (!any) return out;
    struct arena *trial = arena_within(s->arena);
    c.fused = has_chains(s) ? make(NULL, trial, ctx) : s;
    double *saves = NEW_ARRAY(trial, double, may.n);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        if (!(any & ways[w].needs)) continue;
        for (uint32_t b = 0; b < may.n; b++) marks.of[b] = may.of[b] & ways[w].marks;
        struct arena *one = arena_within(trial);
        c.apart = make(&marks, one, ctx);
        compare(&c, &marks, ways[w].marks, ways[w].margin, saves, &out, one);
        arena_free(one);
    }
    arena_free(trial);
    return out;
}

/* window.c: loads that share vectors. Where neighbours read elements that lie s apart, or begin off
 * a vector, or both, each element would be a load of its own. Together they stand in a few whole
 * vectors, the pieces of a window, which a thread reads once:
 *
 *     max pooling, 3 taps, stride 2, vec=4: elements 2*r - 1 ... 2*r + 7 of a row of bf16
 *         v1 at 2*r - 1    v2 at 2*r    v3 at 2*r + 1
 *     window of p0 at 2*r, pieces of 8:   -8 if 0 <= 2*r - 1     0
 *         v1 = elements 7 9 11 13   v2 = 8 10 12 14   v3 = 9 11 13 15   of these 16
 *
 * Neighbours need not be one step apart, if how far they are apart is known: upsampling reads r //
 * 2, and four elements serve eight; a flip reads them backwards; a pixel shuffle two runs of four.
 *
 * Where a row's last vector ends behind it (cut), its elements there are of no use, and what is
 * read for them alone is not read.
 *
 * A piece is read where the guard of any element in it holds. Guards are inequalities: over a run
 * of elements each is asked at the end where it holds first, unless it is known of all vectors, as
 * that of a tap that every second element has; elements that have none are no part of a run. An
 * element whose guard fails in a piece that is read is made 0 by hand. */
#include "kernel/kernel.h"

enum {
    PIECE_BYTES = 16,
    LEAST_BYTES = 4, /* below, a piece is no better than its elements */
    MAX_STEP = 8,
    MAX_WORDS = 96, /* of a window, in a thread's registers */
};

struct finder {
    const struct kernel *k;
    const struct layout *y;
    struct arena *arena;
    ex first;        /* column of a vector: a multiple of its length */
    int piece_bytes; /* at most */
    struct windows *out;
};

static bool is_along_r(const struct kernel *k, value_id v) {
    return k->values.at[v].mask >> AXIS_R & 1;
}

/* ---- guards ---------------------------------------------------------------------------------- */

/* The first column of any vector. */
static ex first_column(const struct kernel *k, const struct layout *y) {
    ex vec = ex_const(k->ex, y->vec);
    return ex_mul(k->ex, ex_index(k->ex, "q", ex_ceildiv(k->ex, k->bound[AXIS_R], vec)), vec);
}

/* Comparison e at element v of a vector: 1 or 0 where that is known of every vector, else EX_NONE.
 */
static ex known_at(const struct kernel *k, const struct layout *y, ex e, int v) {
    ex r = k->axis[AXIS_R], at = ex_add(k->ex, first_column(k, y), ex_const(k->ex, v));
    e = ex_subst(k->ex, e, &r, &at, 1);
    return ex_is_const(k->ex, e, NULL) ? e : EX_NONE;
}

bool layout_always(const struct kernel *k, const struct layout *y, ex comparison, int v) {
    ex e = known_at(k, y, comparison, v);
    return e != EX_NONE && ex_value(k->ex, e);
}

/* Does e grow with r, or stay as it is (1), or the other way round (-1)? 0: who knows. */
static int direction(const struct kernel *k, ex e) {
    enum ex_kind kind = ex_kind(k->ex, e);
    int64_t n;
    if (e == k->axis[AXIS_R]) return 1;
    if (kind == EX_ADD) {
        ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
        if (!ex_uses(k->ex, a, k->axis[AXIS_R])) return direction(k, b);
        if (!ex_uses(k->ex, b, k->axis[AXIS_R])) return direction(k, a);
        int of_a = direction(k, a);
        return of_a == direction(k, b) ? of_a : 0;
    }
    if ((kind != EX_MUL && kind != EX_DIV) || !ex_is_const(k->ex, ex_rhs(k->ex, e), &n)) return 0;
    return (n < 0 ? -1 : 1) * direction(k, ex_lhs(k->ex, e));
}

int64_t layout_lanes(const struct kernel *k, const struct layout *y, ex comparison,
                     int64_t *known) {
    int64_t holds = 0;
    *known = 0;
    for (int v = 0; v < y->vec; v++) {
        ex e = known_at(k, y, comparison, v);
        if (e == EX_NONE) continue;
        *known |= INT64_C(1) << v;
        holds |= (ex_value(k->ex, e) ? INT64_C(1) : 0) << v;
    }
    return holds;
}

/* Comparison e where it is known of elements first to last of all vectors: 1 if any satisfies it, 0
 * if none does; EX_NONE where it is not. */
static ex known_in_run(const struct kernel *k, const struct layout *y, ex e, int first, int last) {
    bool all = true;
    for (int v = first; v <= last; v++) {
        ex holds = known_at(k, y, e, v);
        if (holds != EX_NONE && ex_value(k->ex, holds)) return holds;
        all &= holds != EX_NONE;
    }
    return all ? ex_const(k->ex, 0) : EX_NONE;
}

/* e where r runs from r + first to r + last: does any of these satisfy it? EX_NONE if that is not
 * known of such an expression. */
static ex satisfied(const struct kernel *k, const struct layout *y, ex e, int first, int last) {
    ex r = k->axis[AXIS_R];
    if (!ex_uses(k->ex, e, r)) return e;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind != EX_AND && kind != EX_LE && kind != EX_LT) return EX_NONE;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (kind == EX_AND) {
        a = satisfied(k, y, a, first, last), b = satisfied(k, y, b, first, last);
        return a == EX_NONE || b == EX_NONE ? EX_NONE : ex_and(k->ex, a, b);
    }
    ex known = known_in_run(k, y, e, first, last);
    if (known != EX_NONE) return known;
    int grows = direction(k, ex_sub(k->ex, a, b));
    if (!grows) return EX_NONE;
    ex at = ex_add(k->ex, r, ex_const(k->ex, grows > 0 ? first : last));
    return ex_compare(k->ex, kind, ex_subst(k->ex, a, &r, &at, 1), ex_subst(k->ex, b, &r, &at, 1));
}

/* The same of a value. */
static ex guard_satisfied(const struct kernel *k, const struct layout *y, value_id v, int first,
                          int last) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_INDEX && !x->n_args) return satisfied(k, y, x->index, first, last);
    if (x->kind != INST_OP || x->op != OP_LOGICAL_AND) return EX_NONE;
    ex a = guard_satisfied(k, y, x->args[0], first, last),
       b = guard_satisfied(k, y, x->args[1], first, last);
    return a == EX_NONE || b == EX_NONE ? EX_NONE : ex_and(k->ex, a, b);
}

/* The first vector, of number q, at which a*r + rest >= 0 holds, or, of a < 0, the first at which
 * it holds no longer; r = q * vec. */
static ex turn_of(const struct kernel *k, ex a_r, int vec, bool *rises) {
    ex c, rest;
    int64_t a, b;
    if (!ex_linear(k->ex, a_r, k->axis[AXIS_R], &c, &rest) || !ex_is_const(k->ex, c, &a) ||
        !ex_is_const(k->ex, rest, &b) || !a)
        return EX_NONE;
    *rises = a > 0;
    a *= vec;
    int64_t q = a > 0 ? -floor_div(b, a) : floor_div(b, -a) + 1;
    return ex_const(k->ex, q);
}

/* Do guards a and b hold for the same vectors? */
static bool hold_alike(const struct kernel *k, const struct layout *y, ex a, ex b) {
    enum ex_kind kind = ex_kind(k->ex, a);
    bool rises[2];
    if (a == b) return true;
    if (kind != ex_kind(k->ex, b)) return false;
    if (kind == EX_AND)
        return hold_alike(k, y, ex_lhs(k->ex, a), ex_lhs(k->ex, b)) &&
               hold_alike(k, y, ex_rhs(k->ex, a), ex_rhs(k->ex, b));
    if (kind != EX_LE && kind != EX_LT) return false;
    ex strict = ex_const(k->ex, kind == EX_LT), t[2];
    for (int i = 0; i < 2; i++) { /* lhs <= rhs, lhs < rhs: rhs - lhs - strict >= 0 */
        ex e = i ? b : a, difference = ex_sub(k->ex, ex_rhs(k->ex, e), ex_lhs(k->ex, e));
        t[i] = turn_of(k, ex_sub(k->ex, difference, strict), y->vec, &rises[i]);
    }
    return t[0] != EX_NONE && t[0] == t[1] && rises[0] == rises[1];
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static ex in_first_column(const struct finder *f, ex e) {
    ex r = f->k->axis[AXIS_R];
    return ex_subst(f->k->ex, e, &r, &f->first, 1);
}

/* The remainder of e by n, in every first column; -1 if that is not known. */
static int64_t remainder_of(const struct finder *f, ex e, int64_t n) {
    enum { MOST = 64 };
    for (int64_t c = 0; c < n && c < MOST; c++)
        if (ex_divides(f->k->ex, n, ex_sub(f->k->ex, e, ex_const(f->k->ex, c)))) return c;
    return -1;
}

/* By how much e // n, or e % n, grows where e grows by d from a first column on. */
static bool divided_grows(const struct finder *f, enum ex_kind kind, ex e, int64_t n, int64_t d,
                          int64_t *out) {
    ex begin = in_first_column(f, e);
    int64_t c = remainder_of(f, begin, n);
    if (c >= 0)
        return *out = kind == EX_DIV ? floor_div(c + d, n) : d - floor_div(c + d, n) * n, true;
    for (int64_t part = f->y->vec; part > 1; part /= 2) { /* within a part of n nothing turns */
        if (n % part || (c = remainder_of(f, begin, part)) < 0) continue;
        *out = kind == EX_DIV ? 0 : d;
        return c + d >= 0 && c + d < part;
    }
    return false;
}

/* By how much e grows from a vector's first column to the one v columns on. */
static bool grows(const struct finder *f, ex e, int v, int64_t *out) {
    const struct kernel *k = f->k;
    int64_t n, left, right = 0;
    if (e == k->axis[AXIS_R]) return *out = v, true;
    if (!ex_uses(k->ex, e, k->axis[AXIS_R])) return *out = 0, true;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind != EX_ADD && kind != EX_MUL && kind != EX_DIV && kind != EX_MOD) return false;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (!grows(f, a, v, &left)) return false;
    if (kind == EX_ADD) return grows(f, b, v, &right) && (*out = left + right, true);
    if (!ex_is_const(k->ex, b, &n)) return false;
    if (kind == EX_MUL) return *out = left * n, true;
    return n > 0 && divided_grows(f, kind, a, n, left, out);
}

/* Steps between a tap's elements, if all are alike; 0 if not. */
static int64_t even_step(const struct finder *f, const int64_t *lane) {
    for (int v = 1; v < f->y->vec; v++)
        if (lane[v] - lane[v - 1] != lane[1] - lane[0]) return 0;
    return f->y->vec > 1 ? lane[1] - lane[0] : 0;
}

/* ---- windows --------------------------------------------------------------------------------- */

static int bytes_of(const struct kernel *k, buffer_id b) {
    return dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype);
}

static int count_pieces(const struct finder *f, const int64_t *lane, int shift, int unit) {
    int n = 0;
    for (int v = 0; v < f->y->vec; v++) {
        bool seen = false;
        for (int u = 0; u < v; u++)
            seen |= floor_div(lane[u] + shift, unit) == floor_div(lane[v] + shift, unit);
        n += !seen;
    }
    return n;
}

/* The widest piece that divides where vectors begin, and the buffer: then a piece with one element
 * of the buffer lies in it. *shift: of e, to a multiple of that. */
static int widest_piece(const struct finder *f, buffer_id b, ex e, const int64_t *lane,
                        int *shift) {
    const struct kernel *k = f->k;
    int64_t step = even_step(f, lane);
    ex begin = in_first_column(f, e);
    for (int unit = f->piece_bytes / bytes_of(k, b); unit * bytes_of(k, b) >= LEAST_BYTES;
         unit /= 2) {
        if (step > unit || !ex_divides(k->ex, unit, kernel_extent(k, b))) continue;
        *shift = (int)remainder_of(f, begin, unit);
        if (*shift < 0) continue;
        if (step > 0 || count_pieces(f, lane, *shift, unit) < f->y->vec) return unit;
    }
    return 0;
}

/* Do a tap's elements follow one another, if not evenly, as those do that are read by strides? */
static bool in_order(const struct finder *f, const int64_t *lane) {
    for (int v = 1; v < f->y->vec; v++)
        if (lane[v] < lane[v - 1] || lane[v] - lane[v - 1] > MAX_STEP) return false;
    return true;
}

/* Is element v of the load wanted in no vector? */
static bool is_unwanted(const struct finder *f, const struct value_node *x, int v) {
    ex when = x->guarded ? guard_satisfied(f->k, f->y, x->args[0], v, v) : EX_NONE;
    return when == ex_const(f->k->ex, 0);
}

/* An index whose lanes are known, with guards that can be asked about a run of elements. */
static bool may_be_tap(const struct finder *f, value_id v, int64_t *lane) {
    const struct kernel *k = f->k;
    const struct value_node *x = &k->values.at[v];
    bool same = true, wanted = false;
    if (x->kind != INST_LOAD || !is_along_r(k, v) || x->n_args != x->guarded) return false;
    for (int i = 0; i < f->y->vec && x->guarded; i++)
        for (int last = i; last < f->y->vec; last++)
            if (guard_satisfied(k, f->y, x->args[0], i, last) == EX_NONE) return false;
    for (int i = 0; i < f->y->vec; i++) {
        if (!grows(f, x->index, i, &lane[i])) return false;
        same &= lane[i] == 0;
        wanted |= !is_unwanted(f, x, i);
    }
    int64_t step = even_step(f, lane);
    if (step >= 1) return wanted && step <= MAX_STEP;
    return wanted && !same && (in_order(f, lane) || !(x->guarded && is_along_r(k, x->args[0])));
}

/* Elements from one vector's window to the next one's, if that is known. */
static int apart(const struct finder *f, ex index, int unit) {
    ex r = f->k->axis[AXIS_R], next = ex_add(f->k->ex, r, ex_const(f->k->ex, f->y->vec));
    int64_t n;
    bool known =
        ex_is_const(f->k->ex, ex_sub(f->k->ex, ex_subst(f->k->ex, index, &r, &next, 1), index), &n);
    return known && n > -INT16_MAX && n < INT16_MAX && n ? (int)(n < 0 ? -n : n) : unit;
}

/* The window that the load belongs to, and where in it it begins; a new one if need be. */
static struct window *window_for(struct finder *f, const struct value_node *x, const int64_t *lane,
                                 int64_t *at) {
    const struct kernel *k = f->k;
    for (uint32_t i = 0; i < f->out->all.n; i++) {
        struct window *w = &f->out->all.at[i];
        if (w->buffer == x->buffer && ex_is_const(k->ex, ex_sub(k->ex, x->index, w->base), at))
            return w;
    }
    int shift = 0, unit = widest_piece(f, x->buffer, x->index, lane, &shift);
    if (!unit) return NULL;
    *at = shift;
    vec_push(f->arena, &f->out->all,
             ((struct window){.buffer = x->buffer,
                              .unit = unit,
                              .apart = apart(f, x->index, unit),
                              .base = ex_sub(k->ex, x->index, ex_const(k->ex, shift))}));
    return &f->out->all.at[f->out->all.n - 1];
}

/* Piece `number` of the window, which are in order. */
static struct window_piece *piece_at(struct finder *f, struct window *w, int64_t number) {
    uint32_t i = 0;
    while (i < w->pieces.n && w->pieces.at[i].number < number) i++;
    if (i < w->pieces.n && w->pieces.at[i].number == number) return &w->pieces.at[i];
    vec_push(f->arena, &w->pieces, (struct window_piece){0});
    for (uint32_t j = w->pieces.n - 1; j > i; j--) w->pieces.at[j] = w->pieces.at[j - 1];
    w->pieces.at[i] = (struct window_piece){.number = number};
    return &w->pieces.at[i];
}

static void add_condition(struct finder *f, struct window_piece *p, ex when) {
    for (uint32_t i = 0; i < p->when.n; i++)
        if (p->when.at[i] == when) return;
    vec_push(f->arena, &p->when, when);
}

/* Where the piece in which elements `run` and on of load x lie is read for elements first to last
 * of these. */
static ex wanted_at(const struct finder *f, const struct value_node *x, int run, int first,
                    int last) {
    struct exprs *p = f->k->ex;
    ex when = x->guarded ? guard_satisfied(f->k, f->y, x->args[0], first, last) : ex_const(p, 1);
    if (!f->y->cut || !run) return when;
    ex column = ex_add(p, f->k->axis[AXIS_R], ex_const(p, run));
    return ex_and(p, when, ex_compare(p, EX_LT, column, f->k->bound[AXIS_R]));
}

static void add_tap(struct finder *f, value_id v, const int64_t *lane) {
    const struct value_node *x = &f->k->values.at[v];
    int64_t at;
    struct window *w = window_for(f, x, lane, &at);
    if (!w) return;
    w->by_row |= x->mask >> AXIS_X & 1;
    struct window_tap tap = {.load = v, .window = (uint32_t)(w - f->out->all.at)};
    for (int i = 0; i < f->y->vec; i++) tap.at[i] = at + lane[i];
    vec_push(f->arena, &f->out->taps, tap);
    for (int i = 0; i < f->y->vec;) { /* elements i to last lie in one piece */
        if (is_unwanted(f, x, i)) {
            i++;
            continue;
        }
        int64_t number = floor_div(tap.at[i], w->unit);
        int last = i;
        while (last + 1 < f->y->vec && floor_div(tap.at[last + 1], w->unit) == number) last++;
        add_condition(f, piece_at(f, w, number), wanted_at(f, x, i, i, last));
        i = last + 1;
    }
}

static bool is_stored(const struct kernel *k, value_id v) {
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (k->stores.at[s].value == v) return true;
    return false;
}

/* Whatever stands on the load is dropped where its guard fails, by where(guard, it, other): then it
 * may be anything there. */
static bool is_chosen(const struct finder *f, value_id load) {
    const struct kernel *k = f->k;
    value_id guard = k->values.at[load].args[0];
    bool *spoilt = NEW_ARRAY(f->arena, bool, k->values.n);
    spoilt[load] = true;
    for (value_id v = load; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool chooses = x->kind == INST_OP && x->op == OP_WHERE && x->args[0] == guard;
        for (int a = 0; a < x->n_args; a++) spoilt[v] |= spoilt[x->args[a]] && !(chooses && a == 1);
        if (spoilt[v] && (is_stored(k, v) || (v != load && x->kind == INST_LOAD))) return false;
    }
    return true;
}

/* Pieces are in order now: where in the list a tap's elements are, and whether some of them may
 * have been read for the sake of another's. */
static void settle(struct finder *f, struct window_tap *t) {
    const struct value_node *x = &f->k->values.at[t->load];
    const struct window *w = &f->out->all.at[t->window];
    bool guarded = x->guarded && !is_chosen(f, t->load);
    for (int v = 0, run = 0; v < f->y->vec; v++) {
        int64_t number = floor_div(t->at[v], w->unit);
        uint32_t i = 0;
        while (i < w->pieces.n && w->pieces.at[i].number != number) i++;
        if (is_unwanted(f, x, v)) t->masked |= guarded; /* of any piece, then */
        if (i == w->pieces.n) continue;
        if (v && floor_div(t->at[v - 1], w->unit) != number) run = v;
        t->place[v] = (int)(i * (unsigned)w->unit) + (int)(t->at[v] - number * w->unit);
        const struct window_piece *p = &w->pieces.at[i];
        t->masked |= guarded && (p->when.n != 1 || !hold_alike(f->k, f->y, p->when.at[0],
                                                               wanted_at(f, x, run, v, v)));
    }
}

static int window_words(const struct kernel *k, const struct window *w) {
    return (int)w->pieces.n * w->unit * bytes_of(k, w->buffer) / 4;
}

/* Do whole vectors serve all taps of window i as well? */
static bool is_of_vectors(const struct finder *f, uint32_t i) {
    for (uint32_t t = 0; t < f->out->taps.n; t++)
        if (f->out->taps.at[t].window == i &&
            !layout_load_is_vector(f->k, f->y, &f->k->values.at[f->out->taps.at[t].load]))
            return false;
    return true;
}

static void drop_window(struct windows *all, uint32_t window) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < all->taps.n; i++)
        if (all->taps.at[i].window != window) all->taps.at[n++] = all->taps.at[i];
    all->taps.n = n;
    memset(&all->all.at[window].pieces, 0, sizeof all->all.at[window].pieces);
}

/* Windows of pieces of so many bytes at most. Returns whether one had to be dropped for all the
 * registers that it takes. */
static bool find_windows(struct finder *f) {
    const struct kernel *k = f->k;
    int64_t lane[WINDOW_LANES];
    bool too_wide = false;
    f->out = NEW(f->arena, struct windows);
    for (value_id v = 0; v < k->values.n; v++)
        if (may_be_tap(f, v, lane)) add_tap(f, v, lane);
    for (uint32_t i = 0; i < f->out->all.n; i++) {
        bool wide = window_words(k, &f->out->all.at[i]) > MAX_WORDS;
        if (is_of_vectors(f, i) || wide) drop_window(f->out, i);
        too_wide |= wide;
    }
    return too_wide;
}

/* Of narrower pieces less is read for the sake of a few elements. */
static const struct windows *find(const struct kernel *k, const struct layout *y) {
    struct finder f = {.k = k, .y = y, .arena = k->arena, .first = first_column(k, y)};
    f.piece_bytes = PIECE_BYTES;
    if (find_windows(&f)) f.piece_bytes /= 2, find_windows(&f);
    for (uint32_t i = 0; i < f.out->taps.n; i++) settle(&f, &f.out->taps.at[i]);
    return f.out->taps.n ? f.out : NULL;
}

/* Of vectors of a length, cut off or not: nothing else of a layout has a say, and a kernel has
 * hundreds of layouts. */
struct known_windows {
    struct {
        bool found;
        const struct windows *windows;
    } of[WINDOW_LANES + 1][2];
};

struct known_windows *windows_unknown(struct arena *a) {
    return NEW(a, struct known_windows);
}

const struct windows *windows_find(const struct kernel *k, const struct layout *y) {
    WS_ASSERT(y->vec <= WINDOW_LANES && !y->peel);
    bool *found = &k->known_windows->of[y->vec][y->cut].found;
    const struct windows **windows = &k->known_windows->of[y->vec][y->cut].windows;
    if (!*found) *windows = find(k, y);
    *found = true;
    return *windows;
}

const struct window_tap *layout_tap(const struct layout *y, value_id load) {
    for (uint32_t i = 0; y->windows && i < y->windows->taps.n; i++)
        if (y->windows->taps.at[i].load == load) return &y->windows->taps.at[i];
    return NULL;
}

int layout_window_words(const struct kernel *k, const struct layout *y) {
    int words = 0;
    for (uint32_t i = 0; y->windows && i < y->windows->all.n; i++)
        words += window_words(k, &y->windows->all.at[i]) * y->ur *
                 (y->windows->all.at[i].by_row ? y->ex : 1);
    return words;
}

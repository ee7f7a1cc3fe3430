/* taps.c: a reduction over a small window becomes straight-line arithmetic on its elements, the
 * taps, so that neighbours can share what their windows share:
 *
 *     v1 = load p0[r + x*224 + ...] if v0 {x r}    ->    v1, v2, ... v9 = the loads of the 9 taps
 *     v5 = reduce amax v1, r: 3 x 3                      v10 = maximum(maximum(v1, v4), v7) ...
 *                                                        v18 = maximum(maximum(v10, v13), v16)
 *
 * Where the maximum is, is asked of each tap, the first last.
 *
 * Sums of products with weights are one chain of multiply-adds instead, and products that have few
 * filters may be such (body.c): of a grouped convolution a thread has all filters of the group
 * (find_filters), so that it reads a window once for them.
 *
 * Of windows that lie one below the other a thread may have several, which share lines that they
 * read, and weights (find_below): a depthwise convolution by 3 x 3 of f32[16, 64, 512, 512] takes
 * an H200 710 us by one and 532 by six.
 *
 * The kernel is pointwise then: its columns are the innermost axis of what is stored, its accesses
 * are vectors along them, and no index is divided by the sides of the window. Taps that lie one
 * above the other are combined first, as the windows to the right and left have them, too.
 *
 * Few windows that take long stay a reduction, whose lanes share them.
 *
 * On a CPU only where all of it goes by whole vectors (emit/c_vector.c): its compilers make some of
 * a window's loop, and none of the straight line. */
#include "graph/traits.h"
#include "kernel/builder.h"

enum {
    GPU_TAPS = 64,      /* nvcc takes them in a moment */
    CPU_TAPS = 128,     /* cc takes a second, but its loop would run 30 times as long */
    TAP_VALUES = 8,     /* of each tap's own, if it is one of so many */
    MOST_WEIGHTS = 160, /* of the filters of a thread, in registers */
    TREE = 128,         /* instructions of a thread, in the time of which lanes exchange sums */
    WHOLE_BYTES = 16,   /* a run of a row as long is read as a vector already */
    MOST_BELOW = 8,     /* windows of a thread, one below the other */
};

/* Coefficient of axis a in e; 0 if e does not use it or is not linear in it. */
static int64_t step_along(const struct kernel *k, ex e, ex a) {
    ex c, rest;
    int64_t v;
    return ex_linear(k->ex, e, a, &c, &rest) && ex_is_const(k->ex, c, &v) ? v : 0;
}

/* The same of an axis that is divided by a small stride first, as in a pool's gradient: by how much
 * e grows from some elements of a to as many others; *n: of how many there are. */
static int64_t step_of_strides(const struct kernel *k, ex e, ex a, int64_t *n) {
    enum { MOST = 8 };
    int64_t step = step_along(k, e, a);
    if (!ex_is_const(k->ex, ex_symbol(k->ex, a)->bound, n)) return 0;
    for (int stride = 2; !step && ex_uses(k->ex, e, a) && stride <= MOST; stride++) {
        ex by = ex_const(k->ex, stride), times = ex_const(k->ex, (*n + stride - 1) / stride);
        ex q = ex_index(k->ex, "q", times), at = ex_mul(k->ex, q, by);
        step = step_along(k, ex_subst(k->ex, e, &a, &at, 1), q);
        if (step) *n = ex_value(k->ex, times);
    }
    return step;
}

/* By how much e grows from one element of a to the next, and for how many of them: all of them, or
 * a row of a window whose rows are one axis, as an argmax has them. */
static int64_t run_along(const struct kernel *k, ex e, ex a, int64_t *n) {
    int64_t step = step_along(k, e, a), next, size;
    if (!ex_is_const(k->ex, ex_symbol(k->ex, a)->bound, &size)) return 0;
    *n = size;
    if (step || !ex_uses(k->ex, e, a) || size > GPU_TAPS) return step;
    for (*n = 1; *n < size; ++*n) {
        ex here = ex_const(k->ex, *n - 1), there = ex_const(k->ex, *n);
        ex from = ex_subst(k->ex, e, &a, &here, 1), to = ex_subst(k->ex, e, &a, &there, 1);
        if (!ex_is_const(k->ex, ex_sub(k->ex, to, from), &next)) return 0;
        if (*n > 1 && next != step) break;
        step = next;
    }
    return step;
}

/* Of this load, windows along (x, r) overlap, of neighbours or, dilated, of others; or they touch
 * and are too short to be read by vectors. */
static bool is_window(const struct kernel *k, const struct value_node *load, ex x, ex r) {
    int64_t n, nx, across = step_of_strides(k, load->index, x, &nx),
                   inside = run_along(k, load->index, r, &n);
    if (inside < 1 || across < 1) return false;
    for (int64_t i = 1; across < inside && i < n; i++) /* the i-th element is another's first */
        if (inside * i % across == 0 && inside * i / across < nx) return true;
    if (across < inside) return false;
    bool touch = across == inside * n && inside == 1;
    return across < inside * n || (touch && n * dtype_bytes(load->dtype) < WHOLE_BYTES);
}

static bool has_window(const struct builder *w) {
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *load = &w->k->values.at[v];
        if (load->kind != INST_LOAD) continue;
        for (int x = 0; x < w->g->n_x; x++)
            for (int r = 0; r < w->g->n_r; r++)
                if (is_window(w->k, load, w->g->x[x], w->g->r[r])) return true;
    }
    return false;
}

static bool reads_window_along(const struct builder *w, ex axis) {
    const struct kernel *k = w->k;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *load = &k->values.at[v];
        if (load->kind != INST_LOAD || !ex_uses(k->ex, load->index, axis)) continue;
        for (int x = 0; x < w->g->n_x; x++)
            for (int r = 0; r < w->g->n_r; r++)
                if (is_window(k, load, w->g->x[x], w->g->r[r])) return true;
    }
    return false;
}

struct arm find_filters(const struct builder *w) {
    const struct kernel *k = w->k;
    int64_t size, weights = 1;
    for (int r = 0; r < w->g->n_r; r++)
        weights *= ex_value(k->ex, ex_symbol(k->ex, w->g->r[r])->bound);
    for (int i = 0; i + 1 < w->g->n_x && k->limits->kind == DEVICE_CUDA; i++)
        if (ex_is_const(k->ex, ex_symbol(k->ex, w->g->x[i])->bound, &size) &&
            size * weights <= MOST_WEIGHTS && !reads_window_along(w, w->g->x[i]))
            return all_of(w, w->g->x[i]);
    return (struct arm){0};
}

/* Lines of a load, along `inner`, that n windows read which are neighbours along x. */
static int64_t lines_read(const struct builder *w, const struct value_node *load, ex inner, ex x,
                          int64_t n) {
    const struct kernel *k = w->k;
    int64_t at[MOST_BELOW * GPU_TAPS], lines = 0, all = n;
    for (int64_t i = 0; i < n; i++) at[i] = i * step_along(k, load->index, x);
    for (int r = 0; r < w->g->n_r; r++) {
        ex axis = w->g->r[r];
        int64_t taps = ex_value(k->ex, ex_symbol(k->ex, axis)->bound), some = all;
        if (is_window(k, load, inner, axis)) continue;
        for (; all < some * taps; all++)
            at[all] = at[all % some] + all / some * step_along(k, load->index, axis);
    }
    for (int64_t i = 0; i < all; i++) {
        int64_t before = 0;
        while (before < i && at[before] != at[i]) before++;
        lines += before == i;
    }
    return lines;
}

static bool stores_along_window(const struct builder *w) {
    for (uint32_t s = 0; s < w->k->stores.n; s++)
        for (int r = 0; r < w->g->n_r; r++)
            if (ex_uses(w->k->ex, w->k->stores.at[s].index, w->g->r[r])) return true;
    return false;
}

/* Floats that lie as C's vectors take them, along the innermost axis, or are one number for all of
 * it; and operators of these. */
static bool goes_by_vectors(const struct builder *w) {
    enum { LEAST = 4 };
    const struct kernel *k = w->k;
    ex inner = inner_axis(w);
    int64_t n;
    if (!inner || !ex_is_const(k->ex, ex_symbol(k->ex, inner)->bound, &n) || n < LEAST)
        return false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool along = x->kind == INST_LOAD && ex_uses(k->ex, x->index, inner);
        int64_t step = along ? step_along(k, x->index, inner) : 1;
        if (!dtype_takes_vectors(x->dtype) && x->dtype != DT_BOOL) return false;
        if (x->kind == INST_LOAD && (x->dtype == DT_BOOL || step < 1 || step > 2)) return false;
        if (x->kind == INST_OP && !op_takes_vectors(x->op)) return false;
    }
    return true;
}

struct tap {
    int64_t values, instructions; /* that there are once for each tap */
};

/* What a reduction takes, and stands on its axes. */
static struct tap size_of_tap(const struct builder *w) {
    const struct kernel *k = w->k;
    bool *inside = NEW_ARRAY(k->arena, bool, k->values.n);
    struct tap tap = {0};
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        for (int a = 0; a < x->n_args && x->kind != INST_REDUCE; a++)
            inside[v] |= inside[x->args[a]];
        for (int r = 0; r < w->g->n_r && x->index; r++)
            inside[v] |= ex_uses(k->ex, x->index, w->g->r[r]);
        if (!inside[v]) continue;
        tap.values++;
        tap.instructions += x->kind == INST_OP ? op_size(x->op, x->dtype) : 1;
    }
    return tap;
}

/* A thread has all of a window. Where there are fewer windows than a warp for each multiprocessor,
 * most of a GPU has nothing to do meanwhile; lanes that share a window's elements and exchange what
 * they come to are done sooner, unless it is little. Instead of taps a product has tiles. */
static bool leaves_idle(const struct builder *w, int64_t instructions) {
    const struct device_limits *d = w->k->limits;
    int64_t windows = axes_numel(w->l, w->g->x, w->g->n_x);
    if (w->s->groups.at[w->group].matmul) return false;
    return d->kind == DEVICE_CUDA && windows < (int64_t)d->units * d->warp && instructions > TREE;
}

bool reduces_windows(const struct builder *w) {
    const struct kernel *k = w->k;
    int64_t taps = 1, n;
    if (!w->g->n_r || w->g->matmul || w->g->scan || w->g->columns || w->g->n_arms ||
        k->subscripts.n)
        return false;
    bool cpu = k->limits->kind == DEVICE_CPU;
    int64_t most = cpu ? CPU_TAPS : GPU_TAPS;
    if (cpu && !goes_by_vectors(w)) return false;
    for (int r = 0; r < w->g->n_r; r++) {
        if (!ex_is_const(k->ex, ex_symbol(k->ex, w->g->r[r])->bound, &n)) return false;
        if (n < 1 || n > most || (taps *= n) > most) return false;
    }
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_REDUCE && !reduction_of_values(x->reduction) &&
            !reduction_of_pairs(x->reduction))
            return false;
    }
    struct tap tap = size_of_tap(w);
    return taps * tap.values <= TAP_VALUES * most && !leaves_idle(w, taps * tap.instructions) &&
           has_window(w) && !stores_along_window(w);
}

static const struct inst *last_of(const struct nest *n) { return &n->insts.at[n->insts.n - 1]; }

static value_id of_two(struct builder *w, enum op op, enum dtype t, value_id a, value_id b) {
    return number(
        w, (struct value_node){.kind = INST_OP, .op = op, .dtype = t, .n_args = 2, .args = {a, b}});
}

static value_id combined(struct builder *w, const struct nest *n, value_id a, value_id b) {
    const struct inst *reduce = last_of(n);
    enum reduction r = reduce->reduction == REDUCTION_ARGMAX   ? REDUCTION_AMAX
                       : reduce->reduction == REDUCTION_ARGMIN ? REDUCTION_AMIN
                                                               : reduce->reduction;
    enum dtype t =
        reduction_of_pairs(reduce->reduction) ? n->insts.at[reduce->args[0]].dtype : reduce->dtype;
    return a == NO_VALUE ? b : of_two(w, reduction_step(r), t, a, b);
}

/* Do GPUs add what the reduction takes by the instruction that makes it? Then a chain of them is
 * all there is: a tap's product is no other window's. */
static bool sums_products(const struct builder *w, const struct nest *n) {
    const struct inst *reduce = last_of(n);
    const struct inst *x = &n->insts.at[reduce->args[0]];
    return w->k->limits->kind == DEVICE_CUDA && reduce->reduction == REDUCTION_SUM &&
           x->kind == INST_OP && x->op == OP_MUL && x->args[0] != x->args[1];
}

/* Is it a sum of products that a GPU's threads have of a window, in a chain? Then each line is
 * loaded and taken apart for every window; what a pool makes of one others do not have. */
static bool takes_chains(const struct builder *w) {
    bool all = w->k->limits->kind == DEVICE_CUDA;
    for (uint32_t m = 0; m < w->g->members.n && all; m++) {
        const struct nest *n = &w->l->nests.at[w->g->members.at[m].nest];
        if (n->n_reduce) all = sums_products(w, n);
    }
    return all;
}

/* Are windows of the load along `inner` wider than an element? If not, a thread reads whole vectors
 * of each line, which costs it nothing: 3 x 1 taps of f32[64, 8, 512, 512] take an H200 263 us, of
 * which 250 are its bytes, and 265 by several windows. */
static bool slides_along(const struct builder *w, const struct value_node *load, ex inner) {
    bool any = false;
    for (int r = 0; r < w->g->n_r; r++) any |= is_window(w->k, load, inner, w->g->r[r]);
    return any;
}

/* Are lines shorter than half of what memory hands out, so that a warp's lie apart if its threads
 * have several each? Windows of many lines gain all the same: 3 x 3 taps of bf16[64, 480, 14, 14]
 * take an H200 17 us, and 41 by seven windows a thread, 5 x 5 of [64, 1152, 7, 7] 31 and 14. */
static bool are_short(const struct builder *w, const struct value_node *load, ex inner,
                      int64_t lines) {
    enum { BYTES = 56, MANY = 5 };
    int64_t size;
    if (!ex_is_const(w->k->ex, ex_symbol(w->k->ex, inner)->bound, &size)) return true;
    return size * dtype_bytes(load->dtype) < BYTES && lines < MANY;
}

struct arm find_below(const struct builder *w) {
    enum { LINES = 12, THREADS = 512 }; /* that registers hold; of a multiprocessor at least */
    const struct kernel *k = w->k;
    ex inner = inner_axis(w);
    double least = 0.8; /* lines of a window, of those that it has alone */
    struct arm best = {0};
    int64_t size, windows = axes_numel(w->l, w->g->x, w->g->n_x);
    for (int i = 0; i < w->g->n_x && takes_chains(w); i++) {
        ex x = w->g->x[i];
        if (x == inner || !ex_is_const(k->ex, ex_symbol(k->ex, x)->bound, &size)) continue;
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *load = &k->values.at[v];
            if (load->kind != INST_LOAD || step_along(k, load->index, x) < 1) continue;
            if (!slides_along(w, load, inner)) continue;
            int64_t alone = lines_read(w, load, inner, x, 1);
            if (are_short(w, load, inner, alone)) continue;
            for (int64_t n = 2; n <= MOST_BELOW && n <= size && alone > 1; n++) {
                int64_t lines = lines_read(w, load, inner, x, n);
                double share = (double)lines / (double)(n * alone);
                if (size % n || lines > LINES || share >= least) continue;
                if (windows / n < (int64_t)k->limits->units * THREADS) continue;
                best = (struct arm){.axis = x, .n = n}, least = share;
            }
        }
    }
    if (best.n && ex_value(k->ex, ex_symbol(k->ex, best.axis)->bound) > best.n) {
        ex bound = ex_symbol(k->ex, best.axis)->bound;
        best.of = ex_index(k->ex, "below", ex_div(k->ex, bound, ex_const(k->ex, best.n)));
    }
    return best;
}

/* A nest, read for an element of its group: its axes, and where they are. */
struct taps {
    const struct nest *n;
    const ex *from, *to;
    int count;
};

/* Where the nest's axes are for the tap at `at`. */
static void place_tap(struct builder *w, const struct taps *t, const ex *at, ex *place) {
    for (int i = 0; i < t->count; i++)
        place[i] = ex_subst(w->k->ex, t->to[i], w->g->r, at, w->g->n_r);
}

static value_id tap_at(struct builder *w, const struct taps *t, const ex *at) {
    ex place[GROUP_MAX_AXES];
    place_tap(w, t, at, place);
    return expand_nest(w, t->n, t->from, place, t->count, NO_VALUE, MASK_R);
}

/* `all` and the taps along group axis r and those before it, for what `at` says of those behind it:
 * those along an axis are combined first, unless one after the other is. */
static value_id taps_along(struct builder *w, const struct taps *t, int r, ex *at, value_id all) {
    bool chain = sums_products(w, t->n);
    if (r < 0) return combined(w, t->n, all, tap_at(w, t, at));
    int64_t size = ex_value(w->k->ex, ex_symbol(w->k->ex, w->g->r[r])->bound);
    for (int64_t i = 0; i < size; i++) {
        at[r] = ex_const(w->k->ex, i);
        value_id more = taps_along(w, t, r - 1, at, chain ? all : NO_VALUE);
        all = chain ? more : combined(w, t->n, all, more);
    }
    return all;
}

/* Is v the extremum, or nan, which the extremum is then, too? */
static value_id is_extremum(struct builder *w, value_id v, value_id extremum) {
    value_id equal = of_two(w, OP_EQ, DT_BOOL, v, extremum);
    if (!dtype_is_float(w->k->values.at[v].dtype)) return equal;
    return of_two(w, OP_LOGICAL_OR, DT_BOOL, equal, of_two(w, OP_NE, DT_BOOL, v, v));
}

/* The number of the first tap that is the extremum: the last, unless it is one of those before, of
 * which the first has the last word. */
static value_id first_extremum(struct builder *w, const struct taps *t, value_id extremum) {
    const struct inst *reduce = last_of(t->n);
    ex from = t->n->insts.at[reduce->args[1]].index[0], at[GROUP_MAX_AXES], place[GROUP_MAX_AXES];
    int64_t size[GROUP_MAX_AXES] = {0}, all = 1, rest;
    for (int r = 0; r < w->g->n_r; r++)
        all *= size[r] = ex_value(w->k->ex, ex_symbol(w->k->ex, w->g->r[r])->bound);
    value_id *value = NEW_ARRAY(w->k->arena, value_id, all), first = NO_VALUE;
    for (int64_t i = 0; i < all; i++) {
        rest = i;
        for (int r = w->g->n_r - 1; r >= 0; rest /= size[r--])
            at[r] = ex_const(w->k->ex, rest % size[r]);
        place_tap(w, t, at, place);
        int64_t number_of_tap =
            ex_value(w->k->ex, ex_subst(w->k->ex, from, t->from, place, t->count));
        value[number_of_tap] = tap_at(w, t, at);
    }
    for (int64_t i = all - 1; i >= 0; i--) {
        struct value_node v = {
            .kind = INST_CONST, .dtype = reduce->dtype, .number = (double)i, .whole = i};
        value_id here = number(w, v);
        v = (struct value_node){
            .kind = INST_OP, .op = OP_WHERE, .dtype = reduce->dtype, .n_args = 3};
        if (first != NO_VALUE) {
            v.args[0] = is_extremum(w, value[i], extremum), v.args[1] = here, v.args[2] = first;
            here = number(w, v);
        }
        first = here;
    }
    return first;
}

value_id expand_taps(struct builder *w, const struct nest *n, const ex *from, const ex *to,
                     int count) {
    struct taps t = {.n = n, .from = from, .to = to, .count = count};
    ex at[GROUP_MAX_AXES];
    value_id all = taps_along(w, &t, w->g->n_r - 1, at, NO_VALUE);
    return reduction_of_pairs(last_of(n)->reduction) ? first_extremum(w, &t, all) : all;
}

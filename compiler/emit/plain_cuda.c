/* plain_cuda.c: a nest as a plain kernel for CUDA: outputs, and lanes of them, are dealt to
 * threads. It takes the first of a range of outputs and the one behind it: it makes what lies
 * between. */
#include "emit/plain_nest.h"

enum {
    ENOUGH = 1 << 19,     /* threads that fill a device */
    LEAST_STEPS = 16,     /* of a lane */
    MOST_PARTS = 1 << 14, /* of a line that is scanned: one thread goes along their totals */
};

static int64_t lanes_for(int64_t outputs, int64_t steps) {
    int64_t n = 1;
    while (outputs * n < ENOUGH && n * 2 * LEAST_STEPS <= steps) n *= 2;
    return n;
}

/* Of the longest axis; where that gives too few, as of a batch's statistics by channel, of the
 * steps of all. */
struct lanes plain_lanes_of(const struct plain_emitter *w, int64_t outputs) {
    const struct nest *n = w->n;
    struct lanes s = {.n = 1};
    if (n->scan && !w->exact) {
        s.shared = n->scan;
        s.n = lanes_for(outputs, plain_bound(w, n->scan));
        if (s.n > MOST_PARTS) s.n = MOST_PARTS;
    }
    if (n->scan || !n->n_reduce) return s;
    for (int k = 0; k < n->n_reduce; k++)
        if (!s.shared || plain_bound(w, n->reduce[k]) > plain_bound(w, s.shared))
            s.shared = n->reduce[k];
    int64_t all = plain_points(w, n->reduce, n->n_reduce);
    s.n = lanes_for(outputs, plain_bound(w, s.shared));
    s.all = lanes_for(outputs, all) > s.n && all < INT32_MAX / 2;
    if (s.all) s.n = lanes_for(outputs, all), s.shared = n->reduce[n->n_reduce - 1];
    s.first = plain_lies_along(w, s.shared) && s.n >= 32;
    return s;
}

/* Each so-manieth step of all that the reduction has. */
static void open_steps(struct plain_emitter *w, const struct lanes *s) {
    const struct nest *n = w->n;
    int64_t all = plain_points(w, n->reduce, n->n_reduce);
    plain_put(w, "for (place step = lane; step < %s; step += %s) {", plain_size(w, all),
              plain_size(w, s->n));
    plain_put(w, "place rest = step; (void)rest;");
    for (int k = n->n_reduce; k-- > 0;) {
        const char *r = plain_index(w, n->reduce[k]);
        const char *size = plain_size(w, plain_bound(w, n->reduce[k]));
        if (k)
            plain_put(w, "const place %s = rest %% %s; rest /= %s;", r, size, size);
        else
            plain_put(w, "const place %s = rest;", r);
    }
}

/* Over each of the range's outputs so many times, neighbours in a row: t is the number of both. */
void plain_open_threads(struct plain_emitter *w, int64_t times) {
    const char *n = times > 1 ? arena_printf(w->arena, " * %s", plain_long_size(w, times)) : "";
    plain_put(
        w,
        "for (long long t = first%s + blockIdx.x * %dLL + threadIdx.x; t < end%s; t += gridDim.x * "
        "%dLL) {",
        n, PLAIN_THREADS, n, PLAIN_THREADS);
}

/* The same, but so many times one after the other, each over all outputs: o. */
static void open_rounds(struct plain_emitter *w, int64_t times, int64_t outputs,
                        const char *round) {
    const char *n = plain_long_size(w, outputs);
    plain_put(
        w, "for (long long t = blockIdx.x * %dLL + threadIdx.x; t < %s; t += gridDim.x * %dLL) {",
        PLAIN_THREADS, plain_long_size(w, times * outputs), PLAIN_THREADS);
    plain_put(w, "const long long o = t %% %s; const place %s = (place)(t / %s);", n, round, n);
    plain_put(w, "if (o < first || o >= end) continue;");
}

/* Where lane `lane` of output `o` leaves what it has; two arrays beside each other, where pairs. */
static void put_part(struct plain_emitter *w, const char *array, int64_t lanes, int64_t outputs) {
    const char *n = plain_long_size(w, outputs);
    plain_put(w, "%s[lane * %s + o] = a;", array, n);
    if (plain_of_pairs(w))
        plain_put(w, "((wide *)%s)[%s + lane * %s + o] = at;", array,
                  plain_long_size(w, lanes * outputs), n);
}

/* ---- scans -----------------------------------------------------------------------------------
 *
 * Where lines are few, lanes have a part of each: what it comes to, then what comes before it,
 * then its results. The order of additions depends on sizes alone. */

static void put_scan_of_part(struct plain_emitter *w, int64_t lanes, bool stores) {
    int64_t bound = plain_bound(w, w->n->scan);
    const char *size = plain_size(w, bound), *part = plain_size(w, (bound + lanes - 1) / lanes);
    plain_put(w, "const place begin = lane * %s;", part);
    plain_put(w, "const place bottom = begin + %s < %s ? begin + %s : %s;", part, size, part, size);
    plain_put_scan(w, "begin", "bottom", stores);
}

static void put_total(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    plain_put_accumulator(w);
    put_scan_of_part(w, s->n, false);
    put_part(w, "part", s->n, outputs);
}

int64_t plain_put_before(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    const char *row = plain_long_size(w, outputs);
    plain_open_threads(w, 1);
    plain_put_accumulator(w);
    plain_put(w, "for (long long k = 0; k < %s; k++) {", plain_long_size(w, s->n));
    plain_put(w, "const %s v = part[k * %s + t];", plain_value_type(plain_operand(w)), row);
    plain_put(w, "part[k * %s + t] = a;", row);
    plain_put(w, "%s", plain_step(w, "a", "", "v", ""));
    plain_put(w, "}");
    plain_put(w, "}");
    return outputs;
}

int64_t plain_put_scanned(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    open_rounds(w, s->n, outputs, "lane");
    plain_put(w, "place left = (place)o; (void)left;");
    plain_put_axes(w, "left", w->n->scan);
    plain_put(w, "%s a = part[lane * %s + o];", plain_value_type(plain_operand(w)),
              plain_long_size(w, outputs));
    put_scan_of_part(w, s->n, true);
    plain_put(w, "}");
    return outputs * s->n;
}

/* ---- several outputs a thread ----------------------------------------------------------------
 *
 *   q[i0, i1] = sum of p0[i0, r] * p1[r, i1]     for k < 8, j < 4:
 *                                                    a[j][k] += p0[8 * block + k, r] * p1[r, i1[j]]
 *
 * Of a product, what is read and computed at a step is largely the same for neighbours along some
 * axis: a thread has some of them, and does it once. So an element of a large factor comes from the
 * second-level cache an eighth as often, which is what such kernels wait for. Of the axes within, a
 * thread has some places that lie far apart, next to those of its neighbours: so what stays there
 * is read once for all of them. Each output is the same sum in the same order. */

enum {
    SEVERAL = 8,
    COLUMNS = 4,
    FILLING = 1 << 17, /* threads that still fill a device, of several outputs each */
    MANY = 1 << 16,    /* of several columns, too */
};

struct several {
    ex axis;
    int place;   /* among the nest's axes */
    int n;       /* 1: there is nothing in it */
    int columns; /* places of the axes within */
    bool *moves; /* by instruction: is it another at each step of the axis? */
};

static bool moves_along(const struct plain_emitter *w, const struct inst *x, ex axis,
                        const bool *moves) {
    const struct exprs *p = w->l->ex;
    bool any = x->kind == INST_REDUCE || (x->guarded && moves[x->args[0]]);
    for (int k = 0; k < x->n_args; k++) any |= moves[x->args[k]];
    for (int k = 0; k < x->n_index; k++) any |= ex_uses(p, x->index[k], axis);
    return any;
}

/* How much is saved along the axis: instructions that stay the same; of reads, those that are
 * another for each neighbouring thread first, as the rest comes to a warp by one address. 0:
 * nothing that is read stays. */
static int count_staying(const struct plain_emitter *w, ex axis, bool *moves) {
    enum { A_READ = 1 << 10 };
    const struct nest *n = w->n;
    int saved = 0;
    bool reads = false;
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        moves[i] = moves_along(w, x, axis, moves);
        saved += !moves[i];
        if (moves[i] || x->kind != INST_LOAD) continue;
        reads = true;
        for (int k = 0; k < x->n_index; k++)
            if (ex_uses(w->l->ex, x->index[k], n->axes[n->n_axes - 1])) saved += A_READ;
    }
    return reads ? saved : 0;
}

static bool has_subscripts(const struct plain_emitter *w) {
    bool any = false;
    for (inst_id i = 0; i < w->n->insts.n; i++) any |= w->n->insts.at[i].kind == INST_SUBSCRIPT;
    return any;
}

/* The axis along which most stays the same; not the last one, whose neighbours are threads. */
static struct several several_of(const struct plain_emitter *w, const struct lanes *lanes,
                                 int64_t outputs) {
    const struct nest *n = w->n;
    struct several s = {.n = 1, .columns = 1};
    int most = 0;
    if (!n->n_reduce || n->scan || lanes->n > 1 || plain_of_pairs(w) || has_subscripts(w)) return s;
    bool *moves = NEW_ARRAY(w->arena, bool, n->insts.n);
    for (int k = 0; k + 1 < n->n_axes; k++) {
        int staying = count_staying(w, n->axes[k], moves);
        if (plain_bound(w, n->axes[k]) < SEVERAL || staying <= most) continue;
        most = staying;
        s.place = k;
        s.axis = n->axes[k];
    }
    s.moves = moves;
    for (s.n = most ? SEVERAL : 1; s.n > 1 && outputs / s.n < FILLING;) s.n /= 2;
    if (s.n > 1) count_staying(w, s.axis, moves);
    for (s.columns = s.n > 1 ? COLUMNS : 1; s.columns > 1 && outputs / s.n / s.columns < MANY;)
        s.columns /= 2;
    return s;
}

static int64_t points_within(const struct plain_emitter *w, const struct several *s) {
    return plain_points(w, w->n->axes + s->place + 1, w->n->n_axes - s->place - 1);
}

/* So many threads have all the columns between them. */
static int64_t threads_within(const struct plain_emitter *w, const struct several *s) {
    return (points_within(w, s) + s->columns - 1) / s->columns;
}

static void open_columns(struct plain_emitter *w, const struct several *s) {
    plain_put(w, "#pragma unroll");
    plain_put(w, "for (int j = 0; j < %d; j++) {", s->columns);
}

static void open_several(struct plain_emitter *w, const struct several *s) {
    plain_put(w, "#pragma unroll");
    plain_put(w, "for (int k = 0; k < %d; k++) {", s->n);
}

/* Column number j: which of all, `at`, and what is to be made of it, from `a_begin` to before
 * `a_bottom` along the axis, if `made`. */
static void put_column(struct plain_emitter *w, const struct several *s, const char *j) {
    const char *in = plain_long_size(w, points_within(w, s));
    const char *all = plain_long_size(w, plain_bound(w, s->axis));
    plain_put(w, "const long long at = column + %s * %s;", j,
              plain_long_size(w, threads_within(w, s)));
    plain_put(w, "const long long a_first = (first - at + %s - 1) / %s - outer * %s;", in, in, all);
    plain_put(w, "const long long an_end = (end - at + %s - 1) / %s - outer * %s;", in, in, all);
    plain_put(w, "const place a_begin = a_first > top ? (place)a_first : top;");
    plain_put(w, "const place a_bottom = an_end < %s ? (place)an_end : %s;", all,
              plain_size(w, plain_bound(w, s->axis)));
    plain_put(w, "const int made = at < %s && a_begin < a_bottom && a_begin < top + %d;", in, s->n);
}

/* Over blocks of outputs: a thread's are from `top` on along the axis, those of the range that is
 * to be made, wherever it starts and ends. Columns of which the same is to be made are made at
 * once, as what is read of one is there of all; else one by one. */
static void open_blocks(struct plain_emitter *w, const struct several *s) {
    int64_t length = plain_bound(w, s->axis);
    const char *in = plain_long_size(w, points_within(w, s));
    const char *threads = plain_long_size(w, threads_within(w, s));
    const char *all = plain_long_size(w, length);
    const char *blocks = plain_long_size(w, (length + s->n - 1) / s->n);
    plain_put(w, "const long long low = first / %s, high = (end - 1) / %s;", in, in);
    plain_put(w,
              "for (long long t = (low / %s * %s + low %% %s / %d) * %s + blockIdx.x * %dLL + "
              "threadIdx.x; t < (high / %s * %s + high %% %s / %d + 1) * %s; "
              "t += gridDim.x * %dLL) {",
              all, blocks, all, s->n, threads, PLAIN_THREADS, all, blocks, all, s->n, threads,
              PLAIN_THREADS);
    plain_put(w, "const long long outer = t / %s / %s, column = t %% %s;", threads, blocks,
              threads);
    plain_put(w, "const place top = (place)(t / %s %% %s) * %d;", threads, blocks, s->n);
    plain_put(w, "place begin = 0, bottom = 0;");
    plain_put(w, "int same = 1;");
    open_columns(w, s);
    put_column(w, s, "j");
    plain_put(w, "if (!j) begin = a_begin, bottom = a_bottom;");
    plain_put(w, "same &= made && a_begin == begin && a_bottom == bottom;");
    plain_put(w, "}");
    plain_put(w, "for (int only = 0; only < (same ? 1 : %d); only++) {", s->columns);
}

/* Where the columns are on the other axes. */
static void put_places(struct plain_emitter *w, const struct several *s) {
    const struct nest *n = w->n;
    for (int k = 0; k < n->n_axes; k++)
        if (n->axes[k] != s->axis) plain_put(w, "place place_%d[%d];", k, s->columns);
    plain_put(w, "int skip = 0;");
    open_columns(w, s);
    put_column(w, s, arena_printf(w->arena, "(same ? j : only)"));
    plain_put(w, "if (!same) begin = a_begin, bottom = a_bottom;");
    plain_put(w, "skip |= !made;");
    plain_put(w, "place left = (place)(outer * %s + at); (void)left;",
              plain_long_size(w, points_within(w, s)));
    plain_put_axes(w, "left", s->axis);
    for (int k = 0; k < n->n_axes; k++)
        if (n->axes[k] != s->axis) plain_put(w, "place_%d[j] = %s;", k, plain_index(w, n->axes[k]));
    plain_put(w, "}");
    plain_put(w, "if (skip) continue;");
}

static void take_places(struct plain_emitter *w, const struct several *s) {
    for (int k = 0; k < w->n->n_axes; k++)
        if (w->n->axes[k] != s->axis)
            plain_put(w, "const place %s = place_%d[j];", plain_index(w, w->n->axes[k]), k);
}

/* What is beside the range is read as the range's next element is, and nothing is made of it. */
static void put_several(struct plain_emitter *w, const struct several *s) {
    const char *i = plain_index(w, s->axis);
    open_blocks(w, s);
    put_places(w, s);
    plain_put(w, "%s a[%d][%d];", plain_value_type(plain_operand(w)), s->columns, s->n);
    open_columns(w, s);
    open_several(w, s);
    plain_put(w, "a[j][k] = %s;", plain_identity(w));
    plain_close(w, 2);
    for (int k = 0; k < w->n->n_reduce; k++) {
        plain_put(w, "#pragma unroll 1");
        plain_open_loop(w, k, "0", 1);
    }
    open_columns(w, s);
    take_places(w, s);
    plain_put_insts_that(w, s->moves, false);
    open_several(w, s);
    plain_put(w,
              "const place %s = top + k < begin ? begin : top + k < bottom ? top + k : bottom - 1;",
              i);
    plain_put_insts_that(w, s->moves, true);
    plain_put_step(w, "a[j][k]", "");
    plain_close(w, 2 + w->n->n_reduce);
    open_columns(w, s);
    take_places(w, s);
    open_several(w, s);
    plain_put(w, "const place %s = top + k;", i);
    plain_put(w, "if (%s < begin || %s >= bottom || (!same && j)) continue;", i, i);
    plain_put_store(w, "a[j][k]");
    plain_close(w, 4);
}

/* ---- a nest ---------------------------------------------------------------------------------- */

static void put_single(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    if (s->n > 1 && !s->first) {
        open_rounds(w, s->n, outputs, "lane");
    } else {
        plain_open_threads(w, s->n);
        const char *n = plain_long_size(w, s->n);
        plain_put(w, "const long long o = t / %s;", n);
        if (s->n > 1) plain_put(w, "const place lane = (place)(t %% %s);", n);
    }
    plain_put(w, "place left = (place)o; (void)left;");
    plain_put_axes(w, "left", w->n->scan);
    if (w->n->scan && s->n > 1) {
        put_total(w, s, outputs);
    } else if (w->n->scan) {
        plain_put_whole_scan(w);
    } else if (!w->n->n_reduce) {
        plain_put_insts(w);
        plain_put_store(w, arena_printf(w->arena, "v%u", w->n->insts.n - 1));
    } else {
        plain_put_accumulator(w);
        if (s->all)
            open_steps(w, s);
        else
            plain_open(w, w->n->n_reduce, s->shared, "lane", s->n);
        plain_put_insts(w);
        plain_put_step(w, "a", "at");
        plain_close(w, s->all ? 1 : w->n->n_reduce);
        if (s->n > 1)
            put_part(w, "part", s->n, outputs);
        else
            plain_put_store(w, plain_result(w));
    }
    plain_put(w, "}");
}

int64_t plain_put_cuda(struct plain_emitter *w, const struct lanes *lanes, int64_t outputs) {
    struct several s = several_of(w, lanes, outputs);
    if (s.n > 1)
        put_several(w, &s);
    else
        put_single(w, lanes, outputs);
    return (outputs + s.n * s.columns - 1) / (s.n * s.columns) * lanes->n;
}

/* From lanes in `from`, n of each output, to fewer in `to`; to the output itself, if to one. */
void plain_put_fold(struct plain_emitter *w, int64_t n, int64_t lanes, int64_t outputs) {
    const char *type = plain_value_type(plain_operand(w));
    open_rounds(w, lanes, outputs, "lane");
    plain_put(w, "place left = (place)o; (void)left; (void)lane;");
    plain_put_axes(w, "left", EX_NONE);
    plain_put_accumulator(w);
    const char *row = plain_long_size(w, outputs);
    plain_put(w, "for (long long k = lane; k < %s; k += %s) {", plain_long_size(w, n),
              plain_long_size(w, lanes));
    plain_put(w, "const %s v = from[k * %s + o];", type, row);
    if (plain_of_pairs(w))
        plain_put(w, "const wide number = ((const wide *)from)[%s + k * %s + o];",
                  plain_long_size(w, n * outputs), row);
    plain_put(w, "%s", plain_step(w, "a", "at", "v", "number"));
    plain_put(w, "}");
    if (lanes > 1)
        put_part(w, "to", lanes, outputs);
    else
        plain_put_store(w, plain_result(w));
    plain_put(w, "}");
}

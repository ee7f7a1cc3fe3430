/* hits.c: reductions to which a source contributes where it lands, and nowhere else:
 *
 *     v1 = load index[r]                    landing: v1 is x // 1024, of 32000 rows
 *     v2 = eq(v1, row)      row = x // 1024
 *     v3 = load p0[r*1024 + x%1024]   ->    v3 = load p0[r*1024 + x%1024] if v2
 *     v4 = where(v2, v3, 0)                 v4 = where(v2, v3, 0)
 *     v5 = reduce sum v4                    v5 = reduce sum v4
 *
 * The gradient of what is looked up is such a sum, and so is what is added at indices. Under a
 * config with hits a tile lists the sources that land in it, which costs a look at each index, and
 * goes along these alone. */
#include <math.h>

#include "kernel/builder.h"

/* As many comparisons for each element cost less than a list, which is made once for all tiles. */
enum { FEW_ROWS = 4, FEW_ROWS_CPU = 3 };

static const struct value_node *at(const struct kernel *k, value_id v) { return &k->values.at[v]; }

/* ---- what is nothing unless ------------------------------------------------------------------ */

/* What changes nothing about a reduction, as a constant of the graph; NaN if none is known. */
static double neutral(const struct value_node *reduce) {
    bool flags = reduce->dtype == DT_BOOL, numbers = dtype_is_float(reduce->dtype);
    switch (reduce->reduction) {
    case REDUCTION_SUM: return 0;
    case REDUCTION_PROD: return 1;
    case REDUCTION_AMAX:
        return flags ? 0 : numbers ? -INFINITY : reduce->dtype == DT_I64 ? -0x1p63 : -0x1p31;
    case REDUCTION_AMIN: return flags ? 1 : numbers ? INFINITY : NAN;
    case REDUCTION_M2:
    case REDUCTION_EXPSUM:
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN:
    case REDUCTION_COUNT: break;
    }
    return NAN;
}

/* What is asked of a reduction's terms: are they nothing wherever `condition` is `holds`? */
struct question {
    const struct kernel *k;
    value_id condition;
    bool holds;
    int steps; /* that are left for the answer: values that share values have very many ways down */
};
enum { MOST_STEPS = 1024 };

/* Is v the number `none` there, whatever was loaded? False if that takes too long to find out. */
static bool is_none(struct question *q, value_id v, double none) {
    const struct value_node *x = at(q->k, v);
    if (q->steps-- <= 0) return false;
    if (v == q->condition) return none == q->holds;
    if (x->kind == INST_CONST) return x->number == none;
    if (x->kind == INST_CAST) return none == 0 && is_none(q, x->args[0], 0);
    if (x->kind != INST_OP) return false;
    if (x->op == OP_LOGICAL_AND)
        return none == 0 && (is_none(q, x->args[0], 0) || is_none(q, x->args[1], 0));
    if (x->op == OP_NE && none == 0) /* is there any? */
        return is_none(q, x->args[0], 0) && is_none(q, x->args[1], 0);
    if (x->op != OP_WHERE) return false;
    if (x->args[0] == q->condition) return is_none(q, x->args[q->holds ? 1 : 2], none);
    return is_none(q, x->args[2], none) &&
           (is_none(q, x->args[0], 0) || is_none(q, x->args[1], none));
}

/* Do no reductions' terms count where the condition is `holds`? */
static bool none_counts(const struct kernel *k, value_id condition, bool holds) {
    for (value_id v = 0; v < k->values.n; v++) {
        struct question q = {k, condition, holds, MOST_STEPS};
        if (at(k, v)->kind == INST_REDUCE && !is_none(&q, at(k, v)->args[0], neutral(at(k, v))))
            return false;
    }
    return true;
}

/* Sources that count nowhere, such as those of padding, which may be many of one row. */
static void find_unless(const struct kernel *k, struct landing *l) {
    l->unless = NO_VALUE;
    for (value_id v = 0; v < k->values.n && l->unless == NO_VALUE; v++) {
        const struct value_node *x = at(k, v);
        if (x->kind != INST_OP || x->op != OP_WHERE || at(k, x->args[0])->mask != MASK_R) continue;
        for (int holds = 0; holds < 2 && l->unless == NO_VALUE; holds++)
            if (none_counts(k, x->args[0], holds)) l->unless = x->args[0], l->unless_holds = holds;
    }
}

/* ---- where it lands -------------------------------------------------------------------------- */

/* s0*s1 // s1 is s0, which the sum that rounds up is not seen to be. */
static ex rows_in_all(struct exprs *e, ex size, ex inner) {
    ex whole = ex_div(e, size, inner);
    return ex_mul(e, whole, inner) == size ? whole : ex_ceildiv(e, size, inner);
}

/* row is x // inner or x // inner % rows, every step-th, behind `first` others. */
static bool is_row_of(const struct kernel *k, ex row, struct landing *l) {
    struct exprs *e = k->ex;
    ex first = ex_subst(e, row, &k->axis[AXIS_X], &(ex){ex_const(e, 0)}, 1);
    if (!ex_is_const(e, first, &l->first)) return false;
    row = ex_sub(e, row, first);
    l->step = 1;
    if (ex_kind(e, row) == EX_MUL && ex_is_const(e, ex_rhs(e, row), &l->step)) row = ex_lhs(e, row);
    if (l->step <= 0) return false;
    l->wraps = ex_kind(e, row) == EX_MOD;
    if (l->wraps) l->rows = ex_rhs(e, row), row = ex_lhs(e, row);
    l->inner = ex_kind(e, row) == EX_DIV ? ex_rhs(e, row) : ex_const(e, 1);
    if (ex_kind(e, row) == EX_DIV) row = ex_lhs(e, row);
    if (!l->wraps) l->rows = rows_in_all(e, k->bound[AXIS_X], l->inner);
    return row == k->axis[AXIS_X] && !ex_uses(e, l->inner, row) && !ex_uses(e, l->rows, row) &&
           ex_hint(e, l->rows) >= (k->limits->kind == DEVICE_CPU ? FEW_ROWS_CPU : FEW_ROWS);
}

static bool is_landing(const struct kernel *k, value_id v, struct landing *l) {
    const struct value_node *x = at(k, v);
    if (x->kind != INST_OP || x->op != OP_EQ) return false;
    for (int side = 0; side < 2; side++) {
        const struct value_node *row = at(k, x->args[side]), *target = at(k, x->args[1 - side]);
        bool whole = dtype_is_index(target->dtype);
        *l = (struct landing){.equal = v, .target = x->args[1 - side]};
        if (row->kind == INST_INDEX && !row->n_args && row->mask == MASK_X &&
            target->mask == MASK_R && whole && is_row_of(k, row->index, l))
            return true;
    }
    return false;
}

/* What varies with r is reduced and no more, so that it does not matter where nothing lands. */
static bool may_skip_columns(const struct kernel *k) {
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (k->stores.at[s].mask & MASK_R || at(k, k->stores.at[s].value)->mask & MASK_R)
            return false;
    return k->kind == KERNEL_REDUCE && k->levels == 1 && !k->columns;
}

/* A thread may have rows in which nothing lands; but what elements beside each other share, of
 * which a source lands on one, is loaded for all of them. */
static void guard_loads(struct kernel *k, const struct landing *l) {
    for (value_id v = l->equal + 1; v < k->values.n; v++) {
        struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD || x->mask != (MASK_X | MASK_R) || x->guarded) continue;
        if (l->inner == ex_const(k->ex, 1) && load_usual_stride(k, x, AXIS_X) == 0) continue;
        if (x->n_args == MAX_VALUE_ARGS) continue;
        for (int a = x->n_args++; a > 0; a--) x->args[a] = x->args[a - 1];
        x->args[0] = l->equal;
        x->guarded = true;
    }
}

void find_landing(struct kernel *k) {
    struct landing l;
    if (!may_skip_columns(k)) return;
    for (value_id v = 0; v < k->values.n && !k->landing; v++) {
        if (!is_landing(k, v, &l) || !none_counts(k, v, false)) continue;
        struct landing *own = NEW(k->arena, struct landing);
        *own = l;
        find_unless(k, own);
        k->landing = own;
        if (k->limits->kind == DEVICE_CUDA) guard_loads(k, own);
    }
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Tiles of a row of x, if that is known and a block may have them all; else 0. */
static int tiles_of_row(const struct kernel *k, const struct layout *y) {
    int64_t inner;
    if (k->landing->wraps || !ex_is_const(k->ex, k->landing->inner, &inner)) return 0;
    int64_t n = inner % y->bx == 0   ? inner / y->bx
                : y->bx % inner == 0 ? 1
                                     : (inner + y->bx - 2) / y->bx + 1;
    return n <= y->held ? (int)n : 0;
}

int layout_tiles_of_hit(const struct kernel *k, const struct layout *y) {
    int n = tiles_of_row(k, y);
    return n ? n : y->held;
}

bool layout_places_all(const struct kernel *k, const struct layout *y) {
    return tiles_of_row(k, y) > 0;
}

bool layout_lands_always(const struct kernel *k, const struct layout *y, value_id v) {
    if (!y->hits || v != k->landing->equal) return false;
    if (y->own || y->turns || y->adds) return true;
    if (k->limits->kind == DEVICE_CPU) return ex_divides(k->ex, y->bx, k->landing->inner);
    int tiles = tiles_of_row(k, y) ? 1 : y->held; /* with which all that is tried begins and ends */
    return !k->landing->wraps && ex_divides(k->ex, (int64_t)y->bx * tiles, k->landing->inner);
}

int layout_sort_passes(const struct kernel *k) {
    int passes = 0; /* of keys up to the number of rows, which what lands nowhere has */
    for (int64_t most = ex_hint(k->ex, k->landing->rows); most > 0; most >>= SORT_BITS) passes++;
    return passes;
}

int64_t layout_sort_blocks(const struct kernel *k) {
    enum { EACH = 4096, MOST = 1024 };
    int64_t blocks = (kernel_size(k, AXIS_R) + EACH - 1) / EACH;
    return blocks < MOST ? blocks : MOST;
}

int64_t layout_sort_array(const struct kernel *k) {
    return (kernel_size(k, AXIS_R) * 4 + 255) / 256 * 256;
}

int64_t layout_list_rows(const struct kernel *k) {
    enum { BLOCKS = 128, LEAST = 8 };
    int64_t each = tile_count(ex_hint(k->ex, k->landing->rows), BLOCKS);
    return each > LEAST ? each : LEAST;
}

int64_t layout_list_bytes(const struct kernel *k) {
    enum { WARPS = 32 }; /* the list, how many each row has, and two numbers of each warp */
    return 4 * (kernel_size(k, AXIS_R) + layout_list_rows(k) + 2 * WARPS);
}

bool layout_lists_sort(const struct kernel *k, const struct layout *y) {
    enum { LEAST = 4096, MOST = 32768, ROWS = 1024 }; /* a thread's sources, and rows, are a word */
    int64_t nr = kernel_size(k, AXIS_R);
    return y->own && nr > LEAST && nr <= MOST && layout_list_rows(k) <= ROWS &&
           layout_list_bytes(k) <= k->limits->smem_block;
}

bool layout_counts_sort(const struct kernel *k, const struct layout *y) {
    enum { MOST = 8192 }; /* each is compared with all */
    return y->own && kernel_size(k, AXIS_R) <= MOST && !layout_lists_sort(k, y);
}

int layout_bucket_bits(const struct kernel *k) {
    enum { SOURCES = 1024, LEAST = 5, MOST = 10 }; /* of a bucket; bits of its rows */
    int64_t rows = ex_hint(k->ex, k->landing->rows), few = kernel_size(k, AXIS_R) / SOURCES + 1;
    int bits = LEAST;
    while (bits < MOST && rows >> bits > few) bits++;
    return bits;
}

bool layout_buckets_sort(const struct kernel *k, const struct layout *y) {
    return y->own && !layout_counts_sort(k, y) && !layout_lists_sort(k, y) &&
           layout_buckets(k, y) <= MOST_BUCKETS;
}

/* One launch has the sources in order, and wants no keys of them in memory. */
static bool sorts_at_once(const struct kernel *k, const struct layout *y) {
    return layout_counts_sort(k, y) || layout_lists_sort(k, y);
}

int64_t layout_buckets(const struct kernel *k, const struct layout *y) {
    if (y->own) return (ex_hint(k->ex, k->landing->rows) >> layout_bucket_bits(k)) + 1;
    int64_t each = (int64_t)y->bx * y->held;
    return (kernel_size(k, AXIS_X) + each - 1) / each;
}

/* Of each bucket where the next goes, and where those at hand begin; a sum of each warp; and how
 * many of each bucket each warp has, or all pairs in their place. */
int64_t layout_bucket_bytes(const struct kernel *k, const struct layout *y) {
    int64_t room = round_up(layout_buckets(k, y), 2), threads = layout_bucket_threads(k, y),
            warps = threads / k->limits->warp,
            counts = 2 * (int64_t)layout_bucket_parts(k, y) * room,
            staged = 8 * threads * layout_bucket_each(k, y);
    return 8 * room + 4 * warps + (counts > staged ? counts : staged);
}

int layout_bucket_parts(const struct kernel *k, const struct layout *y) {
    return y->adds ? 1 : layout_bucket_threads(k, y) / k->limits->warp;
}

int layout_bucket_threads(const struct kernel *k, const struct layout *y) {
    enum { LEAST = 256 };
    (void)k;
    return y->turns ? LEAST * y->hits : LEAST;
}

/* Few sources are spread over the multiprocessors: a thread ranks its own one after the other. */
int layout_bucket_each(const struct kernel *k, const struct layout *y) {
    enum { LEAST = 2 };
    int64_t nr = kernel_size(k, AXIS_R), threads = layout_bucket_threads(k, y);
    int each = LEAST;
    while (each < BUCKET_EACH && tile_count(nr, threads * each) > k->limits->units) each *= 2;
    return each;
}

int64_t layout_bucket_blocks(const struct kernel *k, const struct layout *y) {
    enum { MOST = 1024 };
    int each = layout_bucket_each(k, y);
    int64_t blocks = tile_count(kernel_size(k, AXIS_R), layout_bucket_threads(k, y) * each);
    return blocks < MOST ? blocks : MOST;
}

int64_t layout_sort_begin(const struct kernel *k, const struct layout *y) {
    if (sorts_at_once(k, y)) return layout_sort_array(k);
    bool buckets = y->turns || layout_buckets_sort(k, y);
    int64_t digits = buckets ? layout_buckets(k, y) : SORT_DIGITS,
            blocks = buckets ? layout_bucket_blocks(k, y) : layout_sort_blocks(k);
    return (buckets ? 2 : 4) * layout_sort_array(k) + 4 * digits * (blocks + 1);
}

int64_t layout_order_begin(const struct kernel *k, const struct layout *y) {
    enum { ALIGN = 256 };
    if (sorts_at_once(k, y)) return 0;
    if (!layout_buckets_sort(k, y))
        return (layout_sort_passes(k) % 2 * 2 + 1) * layout_sort_array(k);
    return (layout_sort_begin(k, y) + 4 * (layout_buckets(k, y) + 1) + ALIGN - 1) / ALIGN * ALIGN;
}

int64_t layout_rows_begin(const struct kernel *k, const struct layout *y) {
    if (!layout_buckets_sort(k, y)) return layout_sort_begin(k, y);
    return layout_order_begin(k, y) + layout_sort_array(k);
}

bool layout_sorts(const struct kernel *k, const struct layout *y) {
    return y->sorted && (y->turns || !k->lists || k->kind == KERNEL_SORT);
}

int64_t layout_sort_bytes(const struct kernel *k, const struct layout *y) {
    int64_t begins = y->own     ? ex_hint(k->ex, k->landing->rows) + 1
                     : y->turns ? layout_buckets(k, y) + 1
                                : 0;
    return (y->own ? layout_rows_begin(k, y) : layout_sort_begin(k, y)) + 4 * begins;
}

/* Does v stand on sources by one value at most, by that of *one? */
static bool stands_on_one(const struct kernel *k, value_id v, value_id *one, bool *seen) {
    const struct value_node *x = at(k, v);
    if (seen[v] || v == k->landing->equal || !(x->mask & MASK_R)) return true;
    seen[v] = true;
    if (x->mask == MASK_R) {
        bool first = *one == NO_VALUE;
        if (first) *one = v;
        return first;
    }
    if (x->kind != INST_OP && x->kind != INST_CAST) return false;
    for (int a = 0; a < x->n_args; a++)
        if (!stands_on_one(k, x->args[a], one, seen)) return false;
    return true;
}

value_id layout_carried(const struct kernel *k, const struct layout *y) {
    if (!y->turns) return NO_VALUE;
    value_id one = NO_VALUE;
    bool *seen = NEW_ARRAY(k->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++)
        if (at(k, v)->kind == INST_REDUCE && !stands_on_one(k, at(k, v)->args[0], &one, seen))
            return NO_VALUE;
    bool floats = one != NO_VALUE && dtype_opmath(at(k, one)->dtype) == DT_F32;
    return floats ? one : NO_VALUE;
}

/* Is v, wherever something lands, a number of the input that has 11 bits at most, and whose last
 * one is 2^-24 or more? */
static bool is_short(const struct kernel *k, value_id v) {
    const struct value_node *x = at(k, v);
    enum dtype t = x->dtype;
    if (x->kind == INST_LOAD)
        return t == DT_F16 || t == DT_BOOL || t == DT_U8 || t == DT_I8 || t == DT_I16;
    if (x->kind == INST_CONST) return x->number == 0 || x->number == 1;
    if (x->kind == INST_CAST)
        return dtype_opmath(t) == DT_F32 && t != DT_BF16 && is_short(k, x->args[0]);
    if (x->kind != INST_OP || x->op != OP_WHERE) return false;
    if (x->args[0] == k->landing->equal) return is_short(k, x->args[1]);
    return is_short(k, x->args[1]) && is_short(k, x->args[2]);
}

bool layout_adds_in_l2(const struct layout *y) { return y->adds && !y->adds_here && !y->turns; }

bool layout_adds_exactly(const struct kernel *k, value_id v) {
    enum { ROOM = 63 - 40 }; /* numbers of up to 2^16 */
    return dtype_is_index(at(k, v)->dtype) ||
           (layout_adds_bits(k) <= ROOM && is_short(k, at(k, v)->args[0]));
}

int layout_adds_bits(const struct kernel *k) {
    int bits = 0;
    while ((int64_t)1 << bits < kernel_size(k, AXIS_R)) bits++;
    return bits;
}

bool layout_brings_same(const struct kernel *k) {
    struct exprs *e = k->ex;
    ex inner = k->landing->inner, rows = k->landing->rows,
       span = ex_index(e, "span", ex_const(e, layout_spans(k))), row = ex_index(e, "row", rows),
       x = ex_add(e, ex_mul(e, ex_add(e, ex_mul(e, span, rows), row), inner),
                  ex_index(e, "at", inner));
    bool *marks = NEW_ARRAY(k->arena, bool, k->values.n);
    for (value_id v = k->values.n; v-- > 0;) {
        const struct value_node *n = at(k, v);
        if (n->kind == INST_REDUCE) marks[n->args[0]] = true;
        if (!marks[v] || v == k->landing->equal) continue;
        if (n->index && ex_uses(e, ex_subst(e, n->index, &k->axis[AXIS_X], &x, 1), row))
            return false;
        for (int a = 0; a < n->n_args; a++) marks[n->args[a]] = true;
    }
    return true;
}

/* A sum of each element, and of floats a word for what the largest or no number at all is. */
int64_t layout_adds_bytes(const struct kernel *k, const struct layout *y) {
    int64_t bytes = 0;
    for (value_id v = 0; v < k->values.n && layout_adds_in_l2(y); v++)
        if (at(k, v)->kind == INST_REDUCE) bytes += kernel_size(k, AXIS_X) * (8 + 4);
    return bytes;
}

int64_t layout_span(const struct kernel *k) {
    return k->landing->wraps ? ex_hint(k->ex, k->landing->rows) * ex_hint(k->ex, k->landing->inner)
                             : kernel_size(k, AXIS_X);
}

int64_t layout_spans(const struct kernel *k) { return kernel_size(k, AXIS_X) / layout_span(k); }

double layout_hits(const struct kernel *k, const struct layout *y) {
    double rows = (double)ex_hint(k->ex, k->landing->rows),
           inner = (double)ex_hint(k->ex, k->landing->inner),
           tile = (double)y->bx * fmax(y->held, 1);
    double own = fmin(rows, ceil(tile / fmax(inner, 1)));
    return (double)kernel_size(k, AXIS_R) / y->split * own / fmax(rows, 1);
}

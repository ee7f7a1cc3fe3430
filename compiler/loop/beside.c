/* beside.c: what reads a product's columns half a group apart is made one nest, which may stand
 * behind the product: in its tiles both columns are a thread's.
 *
 *   b2[i0: 1024, i1: 32, i2: 64] = sub           b4[i0: 1024, i1: 32, i2: 128] = cat
 *       v0 = load b1[i0, i1*128 + i2]                v0 = load b1[i0, i1*128 + i2]
 *       v1 = load b1[i0, i1*128 + i2 + 64]           v1 = load b1[i0, i1*128 + (i2 + 64) % 128]
 *       v2 = load b0[i0, i2]                                  beside 64
 *   b3[i0: 1024, i1: 32, i2: 64] = add      ->       v2 = load b0[i0, i2 % 64]
 *       ...                                          ...
 *   b4[i0: 1024, i1: 32, i2: 128] = cat              v9 = where(i2 < 64, v5, v8)
 *       v1 = load b2[i0, i1, i2] if i2 < 64
 *       v3 = load b3[i0, i1, i2 - 64] if 64 <= i2
 *
 * Sines and cosines are waited for in the epilogue, some at a time. Two products of 8192 x 4096 x
 * 4096 rotated so took an H200 30 us more than with two launches behind, which move 134 MB each; so
 * about 6 us a tile of 128 by 256. It is for products of few tiles, where a launch takes longer;
 * these have not been timed.
 *
 * Needs: loops that no schedule looks at yet. Keeps: what nests compute. What is computed within
 * others has no nest any more, and a buffer that nobody writes. */
#include <string.h>

#include "loop/loop.h"

enum { LEAST_APART = 8, MOST_APART = 128 }; /* columns: a thread has two of each eight, of 256 */

struct reading {
    struct loops *l;
    uint32_t *readers; /* per buffer: loads of it */
    uint32_t *writer;  /* per buffer: a nest, or NO_NEST */
    bool *reaches;     /* per nest: it reads what a product makes, by operators alone */
};

enum { NO_NEST_YET = UINT32_MAX };

static bool is_pointwise(const struct nest *n) { return !n->n_reduce && n->scan == EX_NONE; }

static bool looks_up(const struct nest *n) {
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_SUBSCRIPT) return true;
    return false;
}

static bool has_16_bits(enum dtype t) { return dtype_is_float(t) && dtype_bytes(t) == 2; }

/* Of two matrices of 16 bits, whose tiles are not columns by rows (kernel/axes.c), and few. */
static bool is_product(const struct loops *l, const struct nest *n) {
    enum { LEAST_ROWS = 128, MOST = 1 << 22 };
    const struct buffer *b = &l->buffers.at[n->out];
    int64_t rows, columns, depth;
    if (!n->matmul || n->n_reduce != 1 || looks_up(n) || b->kind != BUFFER_TEMP ||
        b->meta.rank != 2 || loop_of(n->epoch) != NO_LOOP || !has_16_bits(b->meta.dtype) ||
        !ex_is_const(l->ex, b->meta.size[0], &rows) ||
        !ex_is_const(l->ex, b->meta.size[1], &columns) ||
        !ex_is_const(l->ex, ex_symbol(l->ex, n->reduce[0])->bound, &depth))
        return false;
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD && !has_16_bits(n->insts.at[i].dtype)) return false;
    return rows >= LEAST_ROWS && rows * columns <= MOST;
}

static struct reading find_readings(struct loops *l) {
    struct reading r = {.l = l,
                        .readers = NEW_ARRAY(l->arena, uint32_t, l->buffers.n),
                        .writer = NEW_ARRAY(l->arena, uint32_t, l->buffers.n),
                        .reaches = NEW_ARRAY(l->arena, bool, l->nests.n)};
    for (buffer_id b = 0; b < l->buffers.n; b++) r.writer[b] = NO_NEST_YET;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        r.writer[n->out] = k;
        for (inst_id i = 0; i < n->insts.n; i++) {
            const struct inst *x = &n->insts.at[i];
            if (x->kind != INST_LOAD) continue;
            uint32_t from = r.writer[x->buffer];
            r.readers[x->buffer]++;
            r.reaches[k] |= is_pointwise(n) && from != NO_NEST_YET &&
                            (r.reaches[from] || is_product(l, &l->nests.at[from]));
        }
    }
    return r;
}

/* ---- one nest -------------------------------------------------------------------------------- */

static uint32_t count_loads(const struct nest *n, buffer_id b) {
    uint32_t loads = 0;
    for (inst_id i = 0; i < n->insts.n; i++)
        loads += n->insts.at[i].kind == INST_LOAD && n->insts.at[i].buffer == b;
    return loads;
}

/* The instructions of n for the element that a load reads, behind those of `into`, where the load's
 * guard holds. */
static inst_id add_element(struct loops *l, const struct nest *n, const struct inst *load,
                           struct nest *into) {
    ex from[WS_MAX_RANK], to[WS_MAX_RANK];
    inst_id first = into->insts.n;
    int k = 0;
    for (int d = 0; d < load->n_index; d++) {
        if (ex_kind(l->ex, n->out_index[d]) != EX_SYM) continue;
        from[k] = n->out_index[d];
        to[k++] = load->index[d];
    }
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst x = n->insts.at[i];
        for (int a = 0; a < x.n_args; a++) x.args[a] += first;
        for (int d = 0; d < x.n_index; d++) x.index[d] = ex_subst(l->ex, x.index[d], from, to, k);
        if (x.kind == INST_LOAD && load->guarded)
            x.guarded = true, x.n_args = 1, x.args[0] = load->args[0];
        vec_push(l->arena, &into->insts, x);
    }
    return into->insts.n - 1;
}

/* The same nest, in which loads of what n makes are what n computes. */
static struct nest with_elements(struct loops *l, const struct nest *n, const struct nest *by) {
    struct nest now = *by;
    inst_id *as = NEW_ARRAY(l->arena, inst_id, by->insts.n);
    memset(&now.insts, 0, sizeof now.insts);
    for (inst_id i = 0; i < by->insts.n; i++) {
        struct inst x = by->insts.at[i];
        for (int a = 0; a < x.n_args; a++) x.args[a] = as[x.args[a]];
        if (x.kind == INST_LOAD && x.buffer == n->out) {
            as[i] = add_element(l, n, &x, &now);
            continue;
        }
        as[i] = now.insts.n;
        vec_push(l->arena, &now.insts, x);
    }
    return now;
}

/* Does n choose what it reads, as cat does? */
static bool chooses(const struct nest *n) {
    for (inst_id i = 0; i < n->insts.n; i++)
        if (n->insts.at[i].kind == INST_LOAD && n->insts.at[i].guarded) return true;
    return false;
}

/* Nest k with all within it that stands between it and a product, and is read by nobody else.
 * within: these. */
static struct nest with_all(const struct reading *r, uint32_t k, bool *within) {
    struct loops *l = r->l;
    struct nest now = l->nests.at[k];
    for (uint32_t j = k; j-- > 0;) {
        const struct nest *n = &l->nests.at[j];
        uint32_t loads = count_loads(&now, n->out);
        bool alone = loads && loads >= r->readers[n->out];
        if (!alone || !r->reaches[j] || chooses(n) || looks_up(n) || n->epoch != now.epoch ||
            l->buffers.at[n->out].kind != BUFFER_TEMP)
            continue;
        now = with_elements(l, n, &now);
        within[j] = true;
    }
    return now;
}

/* ---- which columns --------------------------------------------------------------------------- */

struct beside {
    uint32_t product;
    ex column; /* of an element, of what the product makes */
    ex axis;   /* along which these are neighbours, of one group */
    int64_t apart;
};

/* Where a condition holds: in the lower half of the columns along an axis, in the upper half, or
 * neither in all of one alone. */
enum half { LOWER = 1, UPPER = 2, OTHER = 0 };

static enum half half_of(const struct loops *l, const struct inst *x, ex axis, int64_t apart) {
    int64_t holds, in[2] = {0, 0};
    if (x->kind != INST_INDEX) return OTHER;
    for (int64_t i = 0; i < 2 * apart; i++) {
        ex at = ex_const(l->ex, i);
        if (!ex_is_const(l->ex, ex_subst(l->ex, x->index[0], &axis, &at, 1), &holds)) return OTHER;
        in[i / apart] += holds != 0;
    }
    return in[0] == apart && !in[1] ? LOWER : in[1] == apart && !in[0] ? UPPER : OTHER;
}

/* The axis of n along which neighbours are columns beside each other. */
static ex column_axis(const struct loops *l, const struct nest *n, ex column) {
    ex c, rest;
    for (int a = 0; a < n->n_axes; a++)
        if (ex_linear(l->ex, column, n->axes[a], &c, &rest) && c == ex_const(l->ex, 1))
            return n->axes[a];
    return EX_NONE;
}

static double points(const struct loops *l, const struct nest *n) {
    double all = 1;
    for (int i = 0; i < n->n_axes; i++)
        all *= (double)ex_hint(l->ex, ex_symbol(l->ex, n->axes[i])->bound);
    return all;
}

/* The first of n's loads from products, which all are one's and alike but for columns: how far
 * behind its column the others' are, at least and at most. NULL: they are not so. */
static const struct inst *find_loads(const struct reading *r, const struct nest *n, int64_t *least,
                                     int64_t *most) {
    struct exprs *p = r->l->ex;
    const struct inst *first = NULL;
    *least = *most = 0;
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        uint32_t from = x->kind == INST_LOAD ? r->writer[x->buffer] : NO_NEST_YET;
        int64_t c;
        if (from == NO_NEST_YET || !is_product(r->l, &r->l->nests.at[from])) continue;
        if (!first) first = x;
        if (first->buffer != x->buffer) return NULL;
        int last = x->n_index - 1;
        for (int d = 0; d < last; d++)
            if (x->index[d] != first->index[d]) return NULL;
        if (!ex_is_const(p, ex_sub(p, x->index[last], first->index[last]), &c)) return NULL;
        if (c < *least) *least = c;
        if (c > *most) *most = c;
    }
    return first;
}

/* Which product n reads, if it makes an element of each column, in two halves of a group. */
static bool find_beside(const struct reading *r, const struct nest *n, struct beside *out) {
    struct loops *l = r->l;
    struct exprs *p = l->ex;
    int64_t least, most, size, columns;
    const struct inst *first = find_loads(r, n, &least, &most);
    if (!first || (most - least) % 2) return false;
    int last = first->n_index - 1;
    out->product = r->writer[first->buffer];
    out->apart = (most - least) / 2;
    if (out->apart < LEAST_APART || out->apart > MOST_APART || out->apart & (out->apart - 1))
        return false;
    out->column = ex_add(p, first->index[last], ex_const(p, (most + least) / 2));
    ex_range(p, out->column, &least, &most);
    out->axis = column_axis(l, n, out->column);
    return out->axis != EX_NONE && ex_is_const(p, ex_symbol(p, out->axis)->bound, &size) &&
           size == 2 * out->apart &&
           ex_is_const(p, l->buffers.at[first->buffer].meta.size[last], &columns) && !least &&
           most == columns - 1 && points(l, n) == points(l, &l->nests.at[out->product]);
}

static bool is_inside(const struct loops *l, const struct inst *x) {
    for (int d = 0; d < x->n_index; d++) {
        int64_t lo, hi, size;
        ex_range(l->ex, x->index[d], &lo, &hi);
        if (!ex_is_const(l->ex, l->buffers.at[x->buffer].meta.size[d], &size) || lo < 0 ||
            hi >= size)
            return false;
    }
    return true;
}

static enum half half_of_load(const struct loops *l, const struct nest *n, const struct inst *x,
                              const struct beside *of) {
    if (x->kind != INST_LOAD || !x->guarded) return OTHER;
    return half_of(l, &n->insts.at[x->args[0]], of->axis, of->apart);
}

/* Is what is loaded in one half alone looked at in that half alone? Then it may be anything in the
 * other one. */
static bool is_chosen(const struct loops *l, const struct nest *n, const struct beside *of) {
    uint8_t *of_half = NEW_ARRAY(l->arena, uint8_t, n->insts.n); /* each stands on loads of these */
    for (inst_id i = 0; i < n->insts.n; i++) {
        const struct inst *x = &n->insts.at[i];
        enum half in = half_of_load(l, n, x, of);
        of_half[i] = (uint8_t)in;
        if (in != OTHER) continue;
        if (x->kind == INST_OP && x->op == OP_WHERE)
            in = half_of(l, &n->insts.at[x->args[0]], of->axis, of->apart);
        for (int a = 0; a < x->n_args; a++) {
            uint8_t chosen = in == OTHER || !a ? 0 : a == 1 ? in : in ^ (LOWER | UPPER);
            of_half[i] |= of_half[x->args[a]] & (uint8_t)~chosen;
        }
    }
    return !of_half[n->insts.n - 1];
}

/* What is loaded in one half alone has an index that is inside in both, and is no choice then: both
 * halves of a rotation have the same cosines. False: loads of the product are not the own column's,
 * and the other half's. */
static bool load_in_both(const struct reading *r, struct nest *n, const struct beside *of) {
    struct loops *l = r->l;
    struct exprs *p = l->ex;
    ex half = ex_const(p, of->apart), both = ex_const(p, 2 * of->apart);
    if (!is_chosen(l, n, of)) return false;
    for (inst_id i = 0; i < n->insts.n; i++) {
        struct inst *x = &n->insts.at[i], now = *x;
        enum half in = half_of_load(l, n, x, of);
        if (x->kind != INST_LOAD) continue;
        now.guarded = false, now.n_args = 0;
        if (r->writer[x->buffer] == of->product) {
            int64_t c;
            ex *column = &now.index[x->n_index - 1],
               other = ex_mod(p, ex_add(p, of->axis, half), both);
            ex_is_const(p, ex_sub(p, *column, of->column), &c);
            if (c && (in == OTHER || c != (in == LOWER ? of->apart : -of->apart))) return false;
            if (!c && x->guarded && in == OTHER) return false;
            *column = c ? ex_subst(p, of->column, &of->axis, &other, 1) : of->column;
            now.beside = (int16_t)(c ? of->apart : 0);
            *x = now;
            continue;
        }
        if (in == OTHER) continue;
        ex place = ex_mod(p, of->axis, half);
        if (in == UPPER) place = ex_add(p, place, half);
        for (int d = 0; d < x->n_index; d++)
            now.index[d] = ex_subst(p, x->index[d], &of->axis, &place, 1);
        if (is_inside(l, &now)) *x = now;
    }
    return true;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Nests that are gone; which number the one that was k has now. */
static uint32_t drop(struct loops *l, const bool *gone, uint32_t k) {
    uint32_t left = 0, now = k;
    for (uint32_t i = 0; i < l->nests.n; i++) {
        if (i == k) now = left;
        if (!gone[i]) l->nests.at[left++] = l->nests.at[i];
    }
    l->nests.n = left;
    return now;
}

/* The first nest from k on that reads columns of a product beside its own becomes one with all that
 * is within it; which nest is looked at next, or 0. */
static uint32_t join_next(struct loops *l, uint32_t k) {
    struct reading r = find_readings(l);
    for (; k < l->nests.n; k++) {
        struct beside found;
        if (!r.reaches[k] || !chooses(&l->nests.at[k]) || looks_up(&l->nests.at[k])) continue;
        bool *within = NEW_ARRAY(l->arena, bool, l->nests.n);
        struct nest now = with_all(&r, k, within);
        if (!find_beside(&r, &now, &found) || !load_in_both(&r, &now, &found)) continue;
        l->nests.at[k] = now;
        return drop(l, within, k) + 1;
    }
    return 0;
}

void loops_read_beside(struct loops *l) {
    for (uint32_t k = 0; (k = join_next(l, k));) continue;
}

/* product.c: MATMUL nodes as nests: sums of products of two factors.
 *
 *   %m: f32[5, 3] = mm(%a, %b)             b2[i0: 5, i1: 3] = f32 mm, reduce r0: 8
 *                                              v0 = load b0[i0, r0] : f32
 *                                              v1 = load b1[r0, i1] : f32
 *                                              v2 = mul(v0, v1) : f32
 *                                              v3 = reduce sum v2 : f32
 *   %c: f32[2, 1, 4, 6] = convolve(        b2[i0: 2, i1: 4, i2: 6] = f32 convolve, reduce r0: 5
 *       %x, %w, padding=[2], ...)              v0 = load b1[0, i1, 0, r0] : f32
 *                                              v1 = index 0 <= i2 + r0 - 2 and ... < 6 : bool
 *                                              v2 = load b0[i0, 0, 0, i2 + r0 - 2] if v1 : f32
 *                                              v3 = where(v1, v2, 0) : f32
 *                                              v4 = mul(v0, v3) : f32 ...
 *
 * Where each factor has indices of its own the nest is marked, for tiles of both; else (an outer
 * product, one filter a group) it is arithmetic like any other. */
#include "loop/lower_impl.h"

/* A new reduced index of that size; 0 where it has one element. */
static ex reduced(struct lowering *w, struct nest *n, ex size) {
    struct exprs *p = w->l->ex;
    if (is_one(p, size)) return ex_const(p, 0);
    ex k = ex_index(p, arena_printf(w->l->arena, "r%d", n->n_reduce), size);
    return n->reduce[n->n_reduce++] = k;
}

/* The end of a nest: the sum of a * b, in opmath. */
static void add_products(struct lowering *w, struct nest *n, enum dtype t, inst_id a, inst_id b) {
    inst_id v = add_op(w, n, OP_MUL, dtype_opmath(t), a, b, NO_INST);
    if (!n->n_reduce) return;
    add_inst(
        w, n,
        (struct inst){
            .kind = INST_REDUCE, .reduction = REDUCTION_SUM, .dtype = t, .n_args = 1, .args = {v}});
}

/* Is it a byte, widened to a larger integer, or an f8, to a float? */
static bool widens_bytes(const struct graph *g, const struct node *x) {
    if (x->op != OP_CAST || x->args[0].kind != ARG_NODE) return false;
    enum dtype from = g->nodes.at[x->args[0].node].meta.dtype, to = x->meta.dtype;
    bool whole = !dtype_is_float(to) && (from == DT_I8 || from == DT_U8);
    return (whole || (dtype_is_float(to) && dtype_is_float8(from))) && dtype_holds(to, from);
}

/* A factor, in the type of the products' maths. Bytes that were widened, for there is no other way
 * to say that i32 takes their sums, or f32 those of f8, are read as they were: that is a quarter of
 * the memory, and matrix units multiply bytes, and f8 as bf16 (kernel/operand.c). */
static inst_id read_factor(struct lowering *w, struct nest *n, node_id id, const ex *at,
                           enum dtype t) {
    ex index[WS_MAX_RANK] = {0};
    memcpy(index, at, sizeof(ex) * w->g->nodes.at[id].meta.rank);
    node_id shown = behind_views(w, id, index);
    const struct node *x = &w->g->nodes.at[shown];
    if (!widens_bytes(w->g, x)) return convert(w, n, read_node(w, n, id, at, NO_INST), t);
    inst_id v = read_node(w, n, x->args[0].node, index, NO_INST);
    return convert(w, n, add_cast(w, n, v, x->meta.dtype, false), t);
}

/* out[b, i, j] = sum over k of a[b, i, k] * c[b, k, j] */
static void lower_matmul(struct lowering *w, node_id id) {
    const struct node *x = &w->g->nodes.at[id];
    struct nest n = begin_nest(w, id);
    int rank = x->meta.rank, batch = rank - 2;
    enum dtype t = x->meta.dtype;
    ex k = reduced(w, &n, w->g->nodes.at[x->args[0].node].meta.size[rank - 1]);
    ex ai[WS_MAX_RANK] = {0}, bi[WS_MAX_RANK] = {0};
    for (int d = 0; d < batch; d++) ai[d] = bi[d] = n.out_index[d];
    ai[batch] = n.out_index[batch];
    ai[batch + 1] = bi[batch] = k;
    bi[batch + 1] = n.out_index[batch + 1];
    inst_id a = read_factor(w, &n, x->args[0].node, ai, t);
    inst_id b = read_factor(w, &n, x->args[1].node, bi, t);
    add_products(w, &n, t, a, b);
    n.matmul = n.n_reduce > 0;
    if (n.matmul && t == DT_F32)
        n.precision = x->op == OP_MM_FLOAT8 ? PRECISION_F8 : w->g->products;
    end_nest(w, &n, id);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

/* The position that output o and step k along the taps of sliding dimension d look at, and which
 * tap that is; *inside: is there such a position? A transposed one's taps run backwards, so that it
 * goes forward with k like any other; a stride it has no longer (graph/decompose_phases.c). */
static ex position(struct lowering *w, const struct node *x, int d, ex o, ex k, ex *tap,
                   ex *inside) {
    struct exprs *p = w->l->ex;
    ex stride = x->args[2].ints.at[d], padding = x->args[3].ints.at[d],
       dilation = x->args[4].ints.at[d];
    ex size = w->g->nodes.at[x->args[0].node].meta.size[3 + d], first = ex_const(p, 0);
    *tap = k;
    if (x->args[5].b) {
        ex last = ex_sub(p, w->g->nodes.at[x->args[1].node].meta.size[3 + d], ex_const(p, 1));
        WS_ASSERT(is_one(p, stride));
        padding = ex_sub(p, ex_mul(p, last, dilation), padding);
        *tap = ex_sub(p, last, k);
    }
    ex i = ex_sub(p, ex_add(p, ex_mul(p, o, stride), ex_mul(p, k, dilation)), padding);
    *inside = ex_and(p, ex_compare(p, EX_LE, first, i), ex_compare(p, EX_LT, i, size));
    return is_one(p, size) ? first : i;
}

/* out[n, g, f, o] = sum over c and k of weight[g, f, c, k] * self[n, g, c, position of o and k].
 * The weight comes first: its filters are the rows of a tile, and memory runs along the columns. */
static void lower_convolve(struct lowering *w, node_id id) {
    struct exprs *p = w->l->ex;
    const struct node *x = &w->g->nodes.at[id];
    const struct meta *m = &w->g->nodes.at[x->args[1].node].meta;
    struct nest n = begin_nest(w, id);
    enum dtype t = x->meta.dtype;
    ex filter = n.out_index[2], c = reduced(w, &n, m->size[2]), condition = ex_const(p, 1);
    ex at[WS_MAX_RANK] = {n.out_index[0], n.out_index[1], c};
    ex wi[WS_MAX_RANK] = {n.out_index[1], filter, c};
    for (int d = 0; 3 + d < x->meta.rank; d++) {
        ex inside, k = reduced(w, &n, m->size[3 + d]);
        at[3 + d] = position(w, x, d, n.out_index[3 + d], k, &wi[3 + d], &inside);
        condition = ex_and(p, condition, inside);
    }
    inst_id a = convert(w, &n, read_node(w, &n, x->args[1].node, wi, NO_INST), t);
    inst_id b = convert(w, &n, read_or_fill(w, &n, x->args[0].node, at, condition, 0), t);
    add_products(w, &n, t, a, b);
    n.matmul = n.n_reduce > 0 && !is_one(p, m->size[1]);
    if (n.matmul && t == DT_F32) n.precision = w->g->convolutions;
    end_nest(w, &n, id);
}

/* Output o*stride + phase takes taps first + stride*j, of which the last may be beyond the weight,
 * of positions at - j*dilation; again these are gone along backwards. All phases have taps, for
 * stride and dilation have no common divisor. Dimension d of `self`: */
struct phase_taps {
    ex tap, position, inside, there;
};

static int64_t positions_of_phases(const struct lowering *w, const struct node *x, int d,
                                   int64_t *last) {
    struct exprs *p = w->l->ex;
    return phase_positions(ex_value(p, w->g->nodes.at[x->args[1].node].meta.size[3 + d]),
                           ex_value(p, x->args[2].ints.at[d]), ex_value(p, x->args[3].ints.at[d]),
                           last);
}

/* Are phases to be filters that read the same windows, each with weights of 0 where it has no tap?
 * What is read, or made (kernel/operand.c), is so for all of them at once, and what a thread stores
 * of two phases lies side by side; but units multiply with these weights, as if each phase had all
 * taps. Batches, which store parts of sectors, took longer on an H100 wherever it was measured.
 * Where the windows have as many positions as phases have taps at most. */
static bool phases_share_windows(const struct lowering *w, const struct node *x) {
    struct exprs *p = w->l->ex;
    const struct meta *m = &w->g->nodes.at[x->args[1].node].meta;
    int64_t last, taps;
    if (w->g->nodes.at[x->args[0].node].meta.dtype != x->meta.dtype) return false;
    for (int d = 0; d < x->meta.rank - 4; d++) {
        int64_t stride = ex_value(p, x->args[2].ints.at[d]);
        if (!is_one(p, x->args[4].ints.at[d]) || !ex_is_const(p, m->size[3 + d], &taps))
            return false;
        if (positions_of_phases(w, x, d, &last) > (taps + stride - 1) / stride) return false;
    }
    return true;
}

/* x that solves x*a = 1 mod n, of what have no common divisor. */
static int64_t inverse(int64_t a, int64_t n) {
    for (int64_t x = 1; x < n; x++)
        if (x * (a % n) % n == 1) return x;
    return 1;
}

/* Tap `tap` is multiplied with position `at` of dimension d. */
static struct phase_taps tap_at(const struct lowering *w, const struct node *x, int d, ex tap,
                                ex at, ex there) {
    struct exprs *p = w->l->ex;
    ex zero = ex_const(p, 0), size = w->g->nodes.at[x->args[0].node].meta.size[3 + d];
    return (struct phase_taps){
        .tap = tap,
        .position = is_one(p, size) ? zero : at,
        .inside = ex_and(p, ex_compare(p, EX_LE, zero, at), ex_compare(p, EX_LT, at, size)),
        .there = there};
}

/* Step k of the positions that all phases share, of which tap phase + padding - stride*(last - k)
 * is at the last minus k. */
static struct phase_taps taps_of_all(struct lowering *w, struct nest *n, const struct node *x,
                                     int d, ex phase) {
    struct exprs *p = w->l->ex;
    ex all = w->g->nodes.at[x->args[1].node].meta.size[3 + d], stride = x->args[2].ints.at[d];
    int64_t last, positions = positions_of_phases(w, x, d, &last);
    ex k = reduced(w, n, ex_const(p, positions)), before = ex_sub(p, ex_const(p, last), k);
    ex at = ex_add(p, n->out_index[4 + d], before);
    ex tap = ex_sub(p, ex_add(p, phase, x->args[3].ints.at[d]), ex_mul(p, stride, before));
    ex from = ex_compare(p, EX_LE, ex_const(p, 0), tap), to = ex_compare(p, EX_LT, tap, all);
    return tap_at(w, x, d, tap, at, ex_and(p, from, to));
}

static struct phase_taps taps_of_phase(struct lowering *w, struct nest *n, const struct node *x,
                                       int d, ex phase) {
    struct exprs *p = w->l->ex;
    int64_t stride = ex_value(p, x->args[2].ints.at[d]), by = ex_value(p, x->args[4].ints.at[d]);
    WS_ASSERT(common_divisor(stride, by) == 1);
    ex all = w->g->nodes.at[x->args[1].node].meta.size[3 + d], step = ex_const(p, stride);
    ex taps = ex_ceildiv(p, all, step), k = reduced(w, n, taps);
    ex j = ex_sub(p, ex_sub(p, taps, ex_const(p, 1)), k);
    ex from = ex_add(p, phase, x->args[3].ints.at[d]);
    ex first = ex_mod(p, ex_mul(p, from, ex_const(p, inverse(by, stride))), step);
    ex shift = ex_div(p, from, step);
    if (by > 1) { /* (from - first*dilation) / stride may be negative: `by` on, and back */
        ex back = ex_const(p, by), rest = ex_sub(p, from, ex_mul(p, first, back));
        shift = ex_sub(p, ex_div(p, ex_add(p, rest, ex_mul(p, back, step)), step), back);
    }
    ex at = ex_sub(p, ex_add(p, n->out_index[4 + d], shift), ex_mul(p, j, ex_const(p, by)));
    ex tap = ex_add(p, first, ex_mul(p, j, step));
    return tap_at(w, x, d, tap, at, ex_compare(p, EX_LT, tap, all));
}

/* out[n, g, phase, f, o] = sum over c and j of weight[g, f, c, tap] * self[n, g, c, position]
 * A tap that is not there counts nothing, be what it would be multiplied with infinite: neither
 * factor has it. If windows are shared, what is read of `self` is so for all phases, and is 0 where
 * one has no tap in an operation behind, which a kernel may leave out (kernel/axes.c). */
static void lower_phases(struct lowering *w, node_id id) {
    struct exprs *p = w->l->ex;
    const struct node *x = &w->g->nodes.at[id];
    const struct meta *m = &w->g->nodes.at[x->args[1].node].meta;
    struct nest n = begin_nest(w, id);
    enum dtype t = x->meta.dtype;
    int dims = x->meta.rank - 4;
    bool shared = phases_share_windows(w, x);
    ex phase[3] = {0}, rest = n.out_index[2], c = reduced(w, &n, m->size[2]);
    ex there = ex_const(p, 1), inside = there;
    ex at[WS_MAX_RANK] = {n.out_index[0], n.out_index[1], c};
    ex wi[WS_MAX_RANK] = {n.out_index[1], n.out_index[3], c};
    for (int d = dims - 1; d >= 0; d--) {
        phase[d] = d ? ex_mod(p, rest, x->args[2].ints.at[d]) : rest;
        rest = ex_div(p, rest, x->args[2].ints.at[d]);
    }
    for (int d = 0; d < dims; d++) {
        struct phase_taps s = (shared ? taps_of_all : taps_of_phase)(w, &n, x, d, phase[d]);
        wi[3 + d] = s.tap;
        at[3 + d] = s.position;
        inside = ex_and(p, inside, s.inside);
        there = ex_and(p, there, s.there);
    }
    inst_id a = convert(w, &n, read_or_fill(w, &n, x->args[1].node, wi, there, 0), t);
    ex both = ex_and(p, inside, there);
    inst_id guard = shared ? add_condition(w, &n, both) : NO_INST;
    inst_id b = read_or_fill(w, &n, x->args[0].node, at, shared ? inside : both, 0);
    if (guard != NO_INST) b = add_op(w, &n, OP_WHERE, t, guard, b, add_const(w, &n, 0, t));
    add_products(w, &n, t, a, convert(w, &n, b, t));
    n.matmul = n.n_reduce > 0 && !is_one(p, m->size[1]);
    if (n.matmul && t == DT_F32) n.precision = w->g->convolutions;
    end_nest(w, &n, id);
}

void lower_product(struct lowering *w, node_id id) {
    enum op op = w->g->nodes.at[id].op;
    (op == OP_CONVOLVE          ? lower_convolve
     : op == OP_CONVOLVE_PHASES ? lower_phases
                                : lower_matmul)(w, id);
}

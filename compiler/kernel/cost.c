/* cost.c: counts of work, and the estimate that orders configs. Multiply-adds count 2, any other
 * operation 1, per element of the value's axes. */
#include "kernel/cost.h"

#include <math.h>

bool dtype_takes_vectors(enum dtype t) { return t == DT_F32 || t == DT_BF16 || t == DT_F16; }

double kernel_flops(const struct kernel *k) {
    double total = 0;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_OP && v->kind != INST_REDUCE && v->kind != INST_SCAN) continue;
        uint8_t mask = v->kind == INST_REDUCE ? k->values.at[v->args[0]].mask : v->mask;
        double points = 1;
        for (int a = 0; a < AXIS_COUNT; a++)
            if (mask >> a & 1) points *= (double)kernel_size(k, (enum axis)a);
        if (k->landing && (mask & (MASK_X | MASK_R)) == (MASK_X | MASK_R))
            points /= fmax(1, (double)ex_hint(k->ex, k->landing->rows)); /* in one of them */
        total += points;
    }
    return total;
}

int64_t kernel_size_of_element(const struct kernel *k) {
    int64_t size = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->mask && x->kind != INST_CONST)
            size += x->kind == INST_OP ? op_size(x->op, x->dtype) : 1;
    }
    return size;
}

/* ---- across the memory interface ------------------------------------------------------------- */

int cost_reads(const struct kernel *k, const struct layout *y) {
    int phases = k->levels ? layout_phase(y, k->levels) : 1;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        int stored = layout_phase(y, k->values.at[st->value].level) + 1;
        if (st->mask & MASK_R && stored > phases) phases = stored;
    }
    return y->one_read || y->kept ? 1 : phases;
}

/* Bytes that an access moves for each byte it wants. Memory comes in sectors of 32 bytes: an access
 * that strides along the inner axis wastes the rest of a sector, unless the tile is wide enough
 * along the axis that is contiguous for it (a transposed operand: 8 rows of f32 fill a sector). And
 * a warp that reads 32 sectors at once waits for each, if they do not turn in shared memory: adding
 * a transposed f32[8192, 8192] took 286 us so on an H200, of the 187 that its bytes take. */
static double waste(const struct kernel *k, const struct layout *y, int64_t inner, int64_t outer,
                    buffer_id b, bool turned) {
    const double SCATTERED = 2.6, ACROSS = 8; /* of a CPU's caches, sets and pages */
    int bytes = dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype);
    if (inner == 0 || inner == 1) return 1;
    if (inner < 0 && k->limits->kind == DEVICE_CUDA) return SCATTERED; /* wherever they lie */
    if (k->limits->kind == DEVICE_CPU && k->kind == KERNEL_POINTWISE)
        return turned ? 1 + 16.0 / y->bx : ACROSS;
    int64_t wanted = outer == 1 ? (y->rows_inner ? y->br : y->bx) * bytes : bytes;
    double moved = wanted < SECTOR ? (double)SECTOR / (double)wanted : 1;
    if (turned) moved *= wanted >= LINE ? 1 : wanted >= LINE / 2 ? 1.1 : 1.8;
    bool scattered = k->limits->kind == DEVICE_CUDA && !turned &&
                     (k->kind == KERNEL_POINTWISE || (k->kind == KERNEL_SCAN && !y->rows_inner));
    return scattered && moved < SCATTERED ? SCATTERED : moved;
}

/* What it costs to read a row again, of what the first time does, where `blocks` blocks run at a
 * time: little from L1, most of it from L2. */
static double cost_of_again(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum { L1 = 128 << 10 };
    double rows = (double)kernel_size(k, AXIS_X), held = k->bytes_read * (double)(y->bx * blocks);
    if (k->limits->l2_bytes <= 0 || rows < 1) return 0.5;
    held /= rows * y->cluster * y->split;
    if (!y->skip_l1 && held < (double)L1 * k->limits->units) return 0.2;
    return held < 0.7 * (double)k->limits->l2_bytes ? 0.75 : 0.95;
}

/* How often a tile's total is read, by those behind it: half of its group and, of each group's,
 * half of all groups. What is waited for takes as long as memory, though it lies in L2. */
static double looks(const struct kernel *k, const struct layout *y) {
    double groups = (double)kernel_size(k, AXIS_R) / y->br / LOOK_BACK_GROUP;
    if (!y->look_back) return 1;
    return 1 + (LOOK_BACK_GROUP + groups) / 2;
}

/* By how much e grows from one column to the next, almost everywhere: where a long row ends, and
 * the next begins elsewhere, is left out. -1 if that is not known. */
static int64_t steps_inside(const struct kernel *k, ex e, ex axis) {
    enum { LONG = 32 };
    int64_t n, right = 0;
    if (e == axis) return 1;
    if (!ex_uses(k->ex, e, axis)) return 0;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind != EX_ADD && kind != EX_MUL && kind != EX_DIV && kind != EX_MOD) return -1;
    ex b = ex_rhs(k->ex, e);
    int64_t left = steps_inside(k, ex_lhs(k->ex, e), axis);
    if (left < 0) return -1;
    if (kind == EX_ADD) return (right = steps_inside(k, b, axis)) < 0 ? -1 : left + right;
    if (!ex_is_const(k->ex, b, &n)) return -1;
    if (kind == EX_MUL) return n < 0 ? -1 : left * n;
    if (n < LONG * left) return -1;
    return kind == EX_MOD ? left : 0;
}

/* The steps of an index along an axis; what runs backwards has neighbours as well. */
static int64_t index_steps(const struct kernel *k, ex index, enum axis x) {
    int64_t known = index_local_stride(k, index, x);
    ex step, rest;
    if (known >= 0 || !k->axis[x]) return known;
    bool linear = ex_linear(k->ex, index, k->axis[x], &step, &rest);
    if (linear && step == ex_const(k->ex, -1)) return 1;
    return steps_inside(k, index, k->axis[x]);
}

static int64_t load_steps(const struct kernel *k, const struct value_node *v, enum axis x) {
    return v->n_args ? load_stride(k, v, x) : index_steps(k, v->index, x);
}

double cost_traffic(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum axis inner = y->rows_inner ? AXIS_X : AXIS_R, outer = y->rows_inner ? AXIS_R : AXIS_X;
    int n = cost_reads(k, y);
    double again = n > 1 ? 1 + (n - 1) * cost_of_again(k, y, blocks) : 1,
           total = k->bytes_read * again + k->bytes_written;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || !(v->mask & MASK_R) || layout_tap(y, i)) continue;
        total += (waste(k, y, load_steps(k, v, inner), load_steps(k, v, outer), v->buffer,
                        layout_turns(k, y, i)) -
                  1) *
                 (double)buffer_bytes(k->schedule->loops, v->buffer) * again;
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        if (st->mask & MASK_R && !layout_store_is_vector(k, y, st))
            total += (waste(k, y, index_steps(k, st->index, inner),
                            index_steps(k, st->index, outer), st->buffer, false) -
                      1) *
                     (double)buffer_bytes(k->schedule->loops, st->buffer);
    }
    for (uint32_t i = 0; i < k->values.n; i++) { /* written and read, in L2 */
        const struct value_node *v = &k->values.at[i];
        if (goes_across(v) || (v->kind == INST_REDUCE && y->split > 1) ||
            (v->kind == INST_SCAN && y->look_back && y->rows_inner))
            total += (double)partial_bytes(k, y, i) * looks(k, y);
    }
    return total;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

double kernel_cost(const struct kernel *k, const struct layout *y) {
    return (k->limits->kind == DEVICE_CPU ? cost_on_cpu : cost_on_gpu)(k, y);
}

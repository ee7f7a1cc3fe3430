/* cost.c: counts of work, and the estimate that orders configs. Multiply-adds count 2, any other
 * operation 1, per element of the value's axes. */
#include "kernel/cost.h"

#include <math.h>
#include <stdlib.h>

bool dtype_takes_vectors(enum dtype t) { return t == DT_F32 || t == DT_BF16 || t == DT_F16; }

double kernel_flops(const struct kernel *k) {
    double total = 0;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_OP && v->kind != INST_REDUCE && v->kind != INST_SCAN) continue;
        uint8_t mask = v->kind == INST_REDUCE ? k->values.at[v->args[0]].mask : v->mask;
        double points = (double)kernel_batches(k);
        for (int a = 0; a < AXIS_COUNT; a++)
            if (mask >> a & 1) points *= (double)kernel_size(k, (enum axis)a);
        if (k->landing && (mask & (MASK_X | MASK_R)) == (MASK_X | MASK_R))
            points /= fmax(1, (double)ex_hint(k->ex, k->landing->rows)); /* in one of them */
        if (mask & MASK_R && k->edges.n && k->kind == KERNEL_MATMUL) points *= kernel_counts(k);
        if (mask & MASK_N && k->edges.n && k->kind == KERNEL_CHAINED) points *= chained_counts(k);
        total += points;
    }
    return total;
}

int64_t kernel_size_of_element(const struct kernel *k) {
    const uint8_t both = MASK_M | MASK_N; /* what a product's rows come to is no element's */
    int64_t size = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool of_element = k->kind == KERNEL_MATMUL ? (x->mask & both) == both : x->mask != 0;
        if (of_element && x->kind != INST_CONST)
            size += x->kind == INST_OP ? op_size(x->op, x->dtype) : 1;
    }
    return size;
}

bool rows_call_maths(const struct kernel *k, const struct layout *y) {
    enum { MOST = 4096, FEW = 4 };
    int elements = y->ex * y->ur * y->vec;
    return kernel_size_of_element(k) * (elements > FEW ? elements : FEW) > MOST;
}

bool load_is_long_row(const struct kernel *k, const struct value_node *x) {
    enum { L1 = 128 << 10 };
    int64_t row = kernel_size(k, AXIS_R) * dtype_bytes(x->dtype);
    return x->kind == INST_LOAD && x->mask == MASK_R && !x->n_args && row > L1;
}

bool product_calls_maths(const struct kernel *k, const struct product *p) {
    enum { MOST = 8192 }; /* instructions of a thread: more are not fetched in time */
    return kernel_size_of_element(k) * product_thread_sums(p) > MOST;
}

/* ---- across the memory interface ------------------------------------------------------------- */

int cost_reads(const struct kernel *k, const struct layout *y) {
    int phases = k->levels ? layout_phase(y, k->levels) : 1;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        int stored = layout_phase(y, k->values.at[st->value].level) + 1;
        if (st->mask & MASK_R && stored > phases) phases = stored;
    }
    return y->one_read || layout_keeps_row(y) ? 1 : phases;
}

int64_t cost_windows_apart(const struct kernel *k, const struct value_node *v) {
    if (v->kind != INST_LOAD || v->mask != (MASK_X | MASK_R) || v->n_args) return 0;
    int64_t apart = load_first_step(k, v, AXIS_X);
    bool within = apart > 1 && apart < kernel_size(k, AXIS_R);
    return within && load_first_step(k, v, AXIS_R) == 1 ? apart : 0;
}

int cost_windows(const struct kernel *k, const struct layout *y) {
    int lanes = y->t1 < k->limits->warp ? k->limits->warp / y->t1 : 1;
    for (value_id v = 0; v < k->values.n && lanes > 1; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_LOAD && x->mask & MASK_R && !cost_windows_apart(k, x)) return 1;
    }
    return lanes;
}

/* Bytes that an access moves for each byte it wants. Memory comes in sectors of 32 bytes: an access
 * that strides along the inner axis wastes the rest of a sector, unless the tile is wide enough
 * along the axis that is contiguous for it (a transposed operand: 8 rows of f32 fill a sector), or
 * so many accesses `beside` each other take it up. And a warp that reads 32 sectors at once waits
 * for each, if they do not turn in shared memory: adding a transposed f32[8192, 8192] took 286 us
 * so on an H200, of the 187 that its bytes take. Elements that are nearer do not: 3 x 3 maxima, two
 * apart, of f32[98304, 55, 55] take 384 us, of the 382 that their bytes take at 90 %. But vectors
 * take less where there are any: of f32[512, 128, 128, 128] 1443 us, 1850 without. */
static double waste(const struct kernel *k, const struct layout *y, int64_t inner, int64_t outer,
                    buffer_id b, bool turned, int beside) {
    const double SCATTERED = 2.6, NEAR = 1.1, ACROSS = 8; /* of a CPU's caches, sets and pages */
    int bytes = dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype);
    if (inner == 0 || inner == 1) return 1;
    if (inner < 0 && k->limits->kind == DEVICE_CUDA) return SCATTERED; /* wherever they lie */
    if (k->limits->kind == DEVICE_CPU && k->kind == KERNEL_POINTWISE)
        return turned ? 1 + 16.0 / y->bx : ACROSS;
    int64_t wanted = outer == 1 ? (y->rows_inner ? y->br : y->bx) * bytes : bytes;
    int64_t apart = inner > 0 && inner * bytes < SECTOR ? inner * bytes : SECTOR;
    double moved = wanted < apart ? (double)apart / (double)wanted : 1;
    moved = moved > beside ? moved / beside : 1;
    const double HALVES = y->peel ? 1.03 : 1.1; /* of lines, the rest of which another tile reads */
    if (turned) moved *= wanted >= LINE ? 1 : wanted >= LINE / 2 ? HALVES : 1.8;
    bool across = k->kind == KERNEL_REDUCE && y->rows_inner && outer != 1 && apart == SECTOR;
    bool scattered =
        k->limits->kind == DEVICE_CUDA && !turned &&
        (k->kind == KERNEL_POINTWISE || across || (k->kind == KERNEL_SCAN && !y->rows_inner));
    double least = !scattered ? 1 : apart < SECTOR ? NEAR : SCATTERED;
    return moved < least ? least : moved;
}

/* Loads that are less than a sector from v, itself among them: taps of a window. */
static int loads_beside(const struct kernel *k, const struct value_node *v) {
    int n = 0;
    int64_t bytes = dtype_bytes(k->schedule->loops->buffers.at[v->buffer].meta.dtype), apart;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *x = &k->values.at[i];
        if (x->kind != INST_LOAD || x->buffer != v->buffer) continue;
        n += ex_is_const(k->ex, ex_sub(k->ex, x->index, v->index), &apart) &&
             llabs(apart) * bytes < SECTOR;
    }
    return n;
}

/* Bytes that a load wants, of each element once. */
static double wanted_bytes(const struct kernel *k, const struct value_node *v) {
    double all = (double)buffer_bytes(k->schedule->loops, v->buffer),
           bytes = dtype_bytes(k->schedule->loops->buffers.at[v->buffer].meta.dtype);
    for (int a = 0; a < AXIS_COUNT; a++)
        if (v->mask >> a & 1) bytes *= (double)kernel_size(k, (enum axis)a);
    return bytes < all ? bytes : all;
}

/* The same of blocks that meet: of the rows that they have together what shared memory and half of
 * L2 do not hold comes from memory. */
static double cost_of_met(const struct kernel *k, const struct layout *y, double blocks) {
    const double SHARED = 0.03, L2 = 0.3, PART = 0.5;
    double rows = (double)kernel_rows(k), all = rows * y->split;
    if (blocks > all) blocks = all;
    double bytes = k->bytes_read * (blocks < y->split ? 1 : blocks / y->split) / rows,
           kept = fmin(1, blocks * y->kept * (double)layout_stage_bytes(k, y) / bytes),
           near = fmin(1 - kept, PART * (double)k->limits->l2_bytes / bytes);
    return SHARED * kept + L2 * near + (1 - kept - near);
}

/* What it costs to read a row again, of what the first time does, where `blocks` blocks run at a
 * time: little from L1, most of it from L2. */
static double cost_of_again(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum { L1 = 128 << 10 };
    if (y->meets) return cost_of_met(k, y, (double)blocks);
    double rows = (double)kernel_rows(k), held = k->bytes_read * (double)(y->bx * blocks);
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

double cost_traffic(const struct kernel *k, const struct layout *y, int64_t blocks) {
    enum axis inner = y->rows_inner ? AXIS_X : AXIS_R, outer = y->rows_inner ? AXIS_R : AXIS_X;
    int n = cost_reads(k, y);
    double again = n > 1 ? 1 + (n - 1) * cost_of_again(k, y, blocks) : 1,
           total = k->bytes_read * again + k->bytes_written;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || !(v->mask & MASK_R) || layout_tap(y, i)) continue;
        if (cost_windows(k, y) > 1) continue;
        total += (waste(k, y, load_usual_stride(k, v, inner), load_usual_stride(k, v, outer),
                        v->buffer, layout_turns(k, y, i), loads_beside(k, v)) -
                  1) *
                 wanted_bytes(k, v) * again;
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        if (st->mask & MASK_R && !layout_store_is_vector(k, y, st) &&
            !layout_store_shifts(k, y, st))
            total += (waste(k, y, index_usual_stride(k, st->index, inner),
                            index_usual_stride(k, st->index, outer), st->buffer, false, 1) -
                      1) *
                     (double)buffer_bytes(k->schedule->loops, st->buffer);
    }
    for (uint32_t i = 0; i < k->values.n; i++) { /* written and read, in L2 */
        const struct value_node *v = &k->values.at[i];
        if ((goes_across(v) && !y->whole_columns) || (v->kind == INST_REDUCE && y->split > 1) ||
            (v->kind == INST_SCAN && y->look_back && y->rows_inner))
            total += (double)partial_bytes(k, y, i) * looks(k, y);
    }
    return total;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

double kernel_cost(const struct kernel *k, const struct layout *y) {
    if (y->persistent) return persistent_cost(k, y);
    if (y->recurrent) return recurrence_cost(k, y);
    return (k->limits->kind == DEVICE_CPU ? cost_on_cpu : cost_on_gpu)(k, y);
}

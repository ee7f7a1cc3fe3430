/* mirror.c: in which order blocks go where a tensor is read forwards and backwards.
 *
 *     y[i, j] = f(x[i, j], x[4095 - i, j])          blocks of rows 0 4095 1 4094 2 ...
 *
 * Rows i and 4095 - i read the same two rows. In order, L2 has long lost these when the second
 * block asks for them; so blocks are taken from both ends by turns, and memory is read once.
 *
 * Where halves of an axis read the same, as those of cat([x, exp(x)], 0) do before they are summed
 * up, blocks go along both by turns: 0 n/2 1 n/2+1 ... (Pointwise, a thread has an element of each:
 * arms.c.)
 *
 * Blocks are numbers (x, then tiles of columns) of which such an axis is a digit; k_mirror has the
 * order. */
#include "kernel/builder.h"

/* The index at places along an axis: of a digit of it, that many elements further. */
static bool index_at(const struct kernel *k, ex index, enum axis axis, int64_t place, int64_t *at) {
    ex from[AXIS_COUNT], to[AXIS_COUNT];
    int n = 0;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!k->axis[a]) continue;
        from[n] = k->axis[a];
        to[n++] = ex_const(k->ex, a == (int)axis ? place : 0);
    }
    return ex_is_const(k->ex, ex_subst(k->ex, index, from, to, n), at);
}

/* By how much an index grows along a digit, of which a step is that far along the axis. */
static bool step_of(const struct kernel *k, value_id load, enum axis axis, int64_t step,
                    int64_t *grows) {
    int64_t first, next;
    if (!index_at(k, k->values.at[load].index, axis, 0, &first) ||
        !index_at(k, k->values.at[load].index, axis, step, &next))
        return false;
    return *grows = next - first, true;
}

/* Does b read along the digit what a reads, from the end on or from the middle of its n values on?
 * Then a grows by *grows. One load may do both halves, at a place that begins again there. */
static enum turning reads_alike(const struct kernel *k, value_id a, value_id b, enum axis axis,
                                int64_t n, int64_t step, int64_t *grows) {
    const struct value_node *x = &k->values.at[a], *y = &k->values.at[b];
    int64_t other, first, middle;
    if (y->kind != INST_LOAD || x->buffer != y->buffer || y->n_args > y->guarded) return IN_ORDER;
    if (!step_of(k, a, axis, step, grows) || !step_of(k, b, axis, step, &other) || *grows <= 0)
        return IN_ORDER;
    if (*grows == -other) return FROM_ENDS;
    if (*grows != other || n % 2 || (a != b && (!x->guarded || !y->guarded))) return IN_ORDER;
    bool known = index_at(k, x->index, axis, 0, &first) &&
                 index_at(k, y->index, axis, step * (n / 2), &middle);
    return known && first == middle ? BY_HALVES : IN_ORDER;
}

/* What of a digit of n is read twice, and lies `least` bytes apart or more. */
static enum turning turning_along(const struct kernel *k, enum axis axis, int64_t n, int64_t step,
                                  double least) {
    for (value_id a = 0; a < k->values.n && n > 1; a++) {
        const struct value_node *x = &k->values.at[a];
        int64_t grows = 0;
        if (x->kind != INST_LOAD || x->n_args > x->guarded || !(x->mask >> axis & 1)) continue;
        for (value_id b = 0; b < k->values.n; b++) {
            enum turning t = reads_alike(k, a, b, axis, n, step, &grows);
            double bytes = (double)n * (double)grows * dtype_bytes(x->dtype);
            if (t != IN_ORDER && (t == FROM_ENDS ? bytes : bytes / 2) >= least) return t;
        }
    }
    return IN_ORDER;
}

void find_mirror(struct kernel *k) {
    const double PART = 0.25; /* of L2, which is also written to: less stays there anyway */
    double least = PART * (double)k->limits->l2_bytes;
    bool pointwise = k->kind == KERNEL_POINTWISE;
    if (k->limits->kind == DEVICE_CPU || (!pointwise && k->kind != KERNEL_REDUCE)) return;
    if (k->bytes_read < least) return;
    for (int axis = AXIS_X; axis <= (pointwise ? AXIS_R : AXIS_X); axis += AXIS_R - AXIS_X) {
        const struct axis_digits *d = &k->digits[axis];
        int64_t inner = 1, n, size;
        if (!k->axis[axis] || !ex_is_const(k->ex, k->bound[axis], &size)) return;
        if (size > INT32_MAX) return; /* places are numbers of 32 bits */
        for (int i = d->n - 1; i >= 0 && ex_is_const(k->ex, d->size[i], &n); inner *= n, i--) {
            enum turning t = turning_along(k, (enum axis)axis, n, inner, least);
            if (t == IN_ORDER) continue;
            k->mirror = (struct mirror){t, (enum axis)axis, n, inner};
            return;
        }
    }
}

/* Of x, of which a block has some places. Halves are parts of blocks' numbers, or stay in order. */
static void mirror_rows(const struct mirror *m, struct layout *y, int64_t tiles) {
    bool whole = m->inner % y->bx == 0;
    if (m->turning == BY_HALVES && !whole && m->n / 2 * m->inner % y->bx) return;
    y->mirrored = whole ? m->n : m->n * m->inner;
    y->mirror_each = whole ? 1 : y->bx;
    y->mirror_inner = (whole ? m->inner / y->bx : 1) * tiles;
}

/* Of columns, which are tiles in each row, unless these are no parts of them. */
static void mirror_columns(const struct mirror *m, struct layout *y, int64_t size, int64_t tiles) {
    bool all = m->n * m->inner == size, whole = m->inner % y->br == 0;
    if (!all && m->n * m->inner % y->br) return;
    if (m->turning == BY_HALVES && !whole && m->n / 2 * m->inner % y->br) return;
    y->mirrored = whole ? m->n : all ? tiles : m->n * m->inner / y->br;
    y->mirror_each = 1;
    y->mirror_inner = whole ? m->inner / y->br : 1;
}

void layout_mirror(const struct kernel *k, struct layout *y) {
    const struct mirror *m = &k->mirror;
    bool shared = y->split > 1 || y->cluster > 1 || y->blocks || y->hits; /* rows, by blocks */
    if (m->turning == IN_ORDER || shared) return;
    int64_t tiles = y->grid_r ? layout_column_tiles(k, y) : 1;
    if (m->axis == AXIS_X)
        mirror_rows(m, y, tiles);
    else
        mirror_columns(m, y, kernel_size(k, AXIS_R), tiles);
}

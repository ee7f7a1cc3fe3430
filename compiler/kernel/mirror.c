/* mirror.c: in which order blocks go where a tensor is read forwards and backwards.
 *
 *     y[i, j] = f(x[i, j], x[4095 - i, j])          blocks of rows 0 4095 1 4094 2 ...
 *
 * Rows i and 4095 - i read the same two rows. In order, L2 has long lost these when the second
 * block asks for them; so blocks are taken from both ends by turns, and memory is read once.
 *
 * The blocks of a pointwise kernel are numbers (x, then tiles of columns) of which the axis that
 * runs backwards is a digit; k_mirror has the order. */
#include "kernel/kernel.h"

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

static bool is_mirrored(const struct kernel *k, value_id a, value_id b, enum axis axis,
                        int64_t step, int64_t *grows) {
    const struct value_node *x = &k->values.at[a], *y = &k->values.at[b];
    int64_t back;
    bool alike = y->kind == INST_LOAD && x->buffer == y->buffer && !y->n_args;
    return alike && step_of(k, a, axis, step, grows) && step_of(k, b, axis, step, &back) &&
           *grows > 0 && *grows == -back;
}

/* Elements of memory between the ends of a digit of n along which something is read both ways; 0:
 * nothing is. */
static double mirrored_bytes(const struct kernel *k, enum axis axis, int64_t n, int64_t step) {
    double most = 0;
    for (value_id a = 0; a < k->values.n && n > 1; a++) {
        const struct value_node *x = &k->values.at[a];
        int64_t grows;
        if (x->kind != INST_LOAD || x->n_args || !(x->mask >> axis & 1)) continue;
        for (value_id b = 0; b < k->values.n; b++) {
            if (!is_mirrored(k, a, b, axis, step, &grows)) continue;
            double bytes = (double)n * (double)grows * dtype_bytes(x->dtype);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

/* A digit of n with `inner` places of x behind each of its values, of which a block has some. */
static void mirror_rows(struct layout *y, int64_t n, int64_t inner, int64_t tiles) {
    bool whole = inner % y->bx == 0;
    y->mirrored = whole ? n : n * inner;
    y->mirror_each = whole ? 1 : y->bx;
    y->mirror_inner = (whole ? inner / y->bx : 1) * tiles;
}

/* The same of columns, which are tiles in each row. False: tiles are no parts of them. */
static bool mirror_columns(struct layout *y, int64_t size, int64_t n, int64_t inner,
                           int64_t tiles) {
    bool all = n * inner == size, whole = inner % y->br == 0;
    if (!all && n * inner % y->br) return false;
    y->mirrored = whole ? n : all ? tiles : n * inner / y->br;
    y->mirror_each = 1;
    y->mirror_inner = whole ? inner / y->br : 1;
    return true;
}

void layout_mirror(const struct kernel *k, struct layout *y) {
    const double PART = 0.25; /* of L2, which is also written to: less stays there anyway */
    double most = PART * (double)k->limits->l2_bytes;
    if (k->limits->kind == DEVICE_CPU || k->kind != KERNEL_POINTWISE) return;
    if (k->bytes_read < most) return;
    int64_t tiles = layout_column_tiles(k, y);
    for (int axis = AXIS_X; axis <= AXIS_R; axis += AXIS_R - AXIS_X) {
        const struct axis_digits *d = &k->digits[axis];
        int64_t inner = 1, n, size;
        if (!k->axis[axis] || !ex_is_const(k->ex, k->bound[axis], &size)) return;
        if (size > INT32_MAX) return; /* places are numbers of 32 bits */
        for (int i = d->n - 1; i >= 0 && ex_is_const(k->ex, d->size[i], &n); inner *= n, i--) {
            if (mirrored_bytes(k, (enum axis)axis, n, inner) < most) continue;
            if (axis == AXIS_R && !mirror_columns(y, size, n, inner, tiles)) continue;
            if (axis == AXIS_X) mirror_rows(y, n, inner, tiles);
            return;
        }
    }
}

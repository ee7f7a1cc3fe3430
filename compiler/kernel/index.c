/* index.c: how an index runs along an axis: by how much it grows between neighbours, and whether
 * vec of them, the first of which is a multiple of vec, stand in one vector.
 *
 *     x // 784*200704 + x % 784    grows by 1 inside of four, for 4 divides 784, 200704 */
#include "kernel/kernel.h"

int64_t index_stride(const struct kernel *k, ex index, enum axis x) {
    ex c, rest;
    int64_t v;
    if (!k->axis[x] || !ex_linear(k->ex, index, k->axis[x], &c, &rest)) return -1;
    return ex_is_const(k->ex, c, &v) ? v : -1;
}

bool index_take(const struct kernel *k, ex *index, ex symbol, int64_t *step) {
    ex c;
    *step = 0;
    return symbol == EX_NONE ||
           (ex_linear(k->ex, *index, symbol, &c, index) && ex_is_const(k->ex, c, step));
}

/* e is x + rest, both rest and b multiples of vec: e // b is the same for vec neighbours, and e % b
 * counts them. */
static bool splits_evenly(const struct kernel *k, ex e, ex b, enum axis x, int vec) {
    ex c, rest;
    int64_t v;
    return ex_linear(k->ex, e, k->axis[x], &c, &rest) && ex_is_const(k->ex, c, &v) && v == 1 &&
           ex_divides(k->ex, vec, rest) && ex_divides(k->ex, vec, b);
}

/* Is e the same for every vec neighbours along axis x, the first of which is a multiple of vec?
 * 8 <= x and x // 4 are, for vec 4; subscripts count as constants here. */
static bool index_is_uniform(const struct kernel *k, ex e, enum axis x, int vec) {
    ex c, rest;
    int64_t v;
    if (!ex_uses(k->ex, e, k->axis[x])) return true;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind == EX_CONST || kind == EX_SYM) return false;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (index_is_uniform(k, a, x, vec) && index_is_uniform(k, b, x, vec)) return true;
    if (kind == EX_DIV) return splits_evenly(k, a, b, x, vec);
    if (kind != EX_LE && kind != EX_LT) return false;
    ex difference = ex_sub(k->ex, a, b); /* +-x + rest, compared with 0 */
    if (!ex_linear(k->ex, difference, k->axis[x], &c, &rest) || !ex_is_const(k->ex, c, &v))
        return false;
    /* x + rest < 0 and rest - x <= 0 turn at x = -rest and rest; the other two one later */
    if (v != 1 && v != -1) return false;
    int64_t shift = kind == EX_LE && v == 1 ? -1 : kind == EX_LT && v == -1 ? 1 : 0;
    return ex_divides(k->ex, vec, ex_add(k->ex, rest, ex_const(k->ex, shift)));
}

/* By how much e grows with x inside of vec neighbours, the first of which is a multiple of vec; -1
 * if that differs or is not known. (x // 784)*200704 + x % 784 grows by 1, for vec 4. */
static int64_t stride_inside(const struct kernel *k, ex e, enum axis x, int vec) {
    int64_t c;
    if (e == k->axis[x]) return 1;
    if (index_is_uniform(k, e, x, vec)) return 0;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind == EX_CONST || kind == EX_SYM) return -1;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (kind == EX_MOD) return splits_evenly(k, a, b, x, vec) ? 1 : -1;
    int64_t left = stride_inside(k, a, x, vec);
    if (left < 0) return -1;
    if (kind == EX_MUL) return ex_is_const(k->ex, b, &c) && c >= 0 ? left * c : -1;
    int64_t right = kind == EX_ADD ? stride_inside(k, b, x, vec) : -1;
    return right < 0 ? -1 : left + right;
}

/* Is e a multiple of vec at the first of such neighbours? */
static bool begins_even(const struct kernel *k, ex e, enum axis x, int vec) {
    if (e == k->axis[x]) return true;
    if (!ex_uses(k->ex, e, k->axis[x])) return ex_divides(k->ex, vec, e);
    enum ex_kind kind = ex_kind(k->ex, e);
    if (kind == EX_SYM) return false;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (kind == EX_ADD) return begins_even(k, a, x, vec) && begins_even(k, b, x, vec);
    if (kind == EX_MUL) return ex_divides(k->ex, vec, b) || begins_even(k, a, x, vec);
    return kind == EX_MOD && begins_even(k, a, x, vec) && ex_divides(k->ex, vec, b);
}

int64_t index_local_stride(const struct kernel *k, ex index, enum axis x) {
    enum { NEIGHBOURS = 8 };
    int64_t whole = index_stride(k, index, x);
    return whole >= 0 || !k->axis[x] ? whole : stride_inside(k, index, x, NEIGHBOURS);
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

/* Of what alternates between places, as the phases of a transposed convolution do, in each of which
 * it goes on: the first 32 elements are in so many times the sectors that they would fill. */
static int64_t steps_of_sectors(const struct kernel *k, ex index, enum axis x) {
    enum { LANES = 32, SECTOR = 8 };
    ex from[AXIS_COUNT], to[AXIS_COUNT];
    int64_t seen[LANES], at;
    int n = 0, sectors = 0;
    if (kernel_size(k, x) < LANES) return -1;
    for (int lane = 0; lane < LANES; lane++, n = 0) {
        for (int a = 0; a < AXIS_COUNT; a++) {
            if (!k->axis[a]) continue;
            from[n] = k->axis[a];
            to[n++] = ex_const(k->ex, a == (int)x ? lane : 0);
        }
        if (!ex_is_const(k->ex, ex_subst(k->ex, index, from, to, n), &at) || at < 0) return -1;
        int i = 0;
        while (i < sectors && seen[i] != at / SECTOR) i++;
        if (i == sectors) seen[sectors++] = at / SECTOR;
    }
    int64_t steps = (sectors * SECTOR + LANES - 1) / LANES;
    return steps < SECTOR ? steps : -1;
}

int64_t index_usual_stride(const struct kernel *k, ex index, enum axis x) {
    int64_t known = index_local_stride(k, index, x);
    ex step, rest;
    if (known >= 0 || !k->axis[x]) return known;
    bool linear = ex_linear(k->ex, index, k->axis[x], &step, &rest);
    if (linear && step == ex_const(k->ex, -1)) return 1;
    known = steps_inside(k, index, k->axis[x]);
    return known >= 0 ? known : steps_of_sectors(k, index, x);
}

bool index_has_vectors(const struct kernel *k, ex index, enum axis x, int vec) {
    return k->axis[x] && stride_inside(k, index, x, vec) == 1 && begins_even(k, index, x, vec);
}

bool index_is_vector(const struct kernel *k, ex index, enum axis x, int vec) {
    return index_has_vectors(k, index, x, vec) && ex_divides(k->ex, vec, k->bound[x]);
}

bool index_is_reversed(const struct kernel *k, ex index, enum axis x, int vec) {
    ex axis = k->axis[x];
    if (!axis || vec < 2 || stride_inside(k, index, x, vec) >= 0) return false;
    ex last = ex_sub(k->ex, k->bound[x], ex_const(k->ex, 1)), turned = ex_sub(k->ex, last, axis);
    return index_is_vector(k, ex_subst(k->ex, index, &axis, &turned, 1), x, vec);
}

ex kernel_extent(const struct kernel *k, buffer_id b) {
    const struct meta *m = &k->schedule->loops->buffers.at[b].meta;
    ex one = ex_const(k->ex, 1), e = one;
    for (int d = 0; d < m->rank; d++)
        e = ex_add(k->ex, e, ex_mul(k->ex, ex_sub(k->ex, m->size[d], one), m->stride[d]));
    return e;
}

int64_t index_stride_inside(const struct kernel *k, ex index, enum axis x, int vec) {
    return k->axis[x] ? stride_inside(k, index, x, vec) : -1;
}

bool index_runs(const struct kernel *k, ex index, enum axis x, int vec) {
    return index_stride_inside(k, index, x, vec) == 1;
}

/* What was seen is uniform, or the answer would be known. */
static bool is_uniform(const struct kernel *k, value_id id, enum axis x, int vec, bool *seen) {
    const struct value_node *v = &k->values.at[id];
    if (!(v->mask >> x & 1) || seen[id]) return true;
    seen[id] = true;
    if (v->kind == INST_SCAN && x == AXIS_R) return false; /* be it of one number */
    if (v->index && !index_is_uniform(k, v->index, x, vec)) return false;
    for (int a = 0; a < v->n_args; a++)
        if (!is_uniform(k, v->args[a], x, vec, seen)) return false;
    return true;
}

bool value_is_uniform(const struct kernel *k, value_id id, enum axis x, int vec) {
    if (!(k->values.at[id].mask >> x & 1)) return true;
    return is_uniform(k, id, x, vec, NEW_ARRAY(k->arena, bool, id + 1));
}

/* Do vec neighbours have one guard and the same subscripts? */
static bool asks_once(const struct kernel *k, const struct value_node *load, enum axis x, int vec) {
    for (int a = 0; a < load->n_args; a++)
        if (!value_is_uniform(k, load->args[a], x, vec)) return false;
    return true;
}

bool load_has_vectors(const struct kernel *k, const struct value_node *load, enum axis x, int vec) {
    return asks_once(k, load, x, vec) && index_has_vectors(k, load->index, x, vec);
}

bool load_is_vector(const struct kernel *k, const struct value_node *load, enum axis x, int vec) {
    return load_has_vectors(k, load, x, vec) && ex_divides(k->ex, vec, k->bound[x]);
}

bool load_is_reversed(const struct kernel *k, const struct value_node *load, enum axis x, int vec) {
    return asks_once(k, load, x, vec) && index_is_reversed(k, load->index, x, vec);
}

bool load_is_uniform(const struct kernel *k, const struct value_node *load, enum axis x, int vec) {
    return asks_once(k, load, x, vec) && index_is_uniform(k, load->index, x, vec) &&
           ex_divides(k->ex, vec, k->bound[x]);
}

/* Is where it loads from a matter of its index alone, along x? */
static bool is_indexed(const struct kernel *k, const struct value_node *load, enum axis x) {
    for (int a = load->guarded; a < load->n_args; a++)
        if (k->values.at[load->args[a]].mask >> x & 1) return false;
    return true;
}

int64_t load_stride(const struct kernel *k, const struct value_node *load, enum axis x) {
    return is_indexed(k, load, x) ? index_local_stride(k, load->index, x) : -1;
}

int64_t load_usual_stride(const struct kernel *k, const struct value_node *load, enum axis x) {
    return is_indexed(k, load, x) ? index_usual_stride(k, load->index, x) : -1;
}

int64_t load_first_step(const struct kernel *k, const struct value_node *load, enum axis x) {
    ex from[AXIS_COUNT], first[AXIS_COUNT], second[AXIS_COUNT];
    int64_t step;
    int n = 0;
    if (!k->axis[x] || !is_indexed(k, load, x)) return -1;
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!k->axis[a]) continue;
        from[n] = k->axis[a];
        first[n] = ex_const(k->ex, 0);
        second[n++] = ex_const(k->ex, a == (int)x);
    }
    ex grown = ex_sub(k->ex, ex_subst(k->ex, load->index, from, second, n),
                      ex_subst(k->ex, load->index, from, first, n));
    return ex_is_const(k->ex, grown, &step) ? step : -1;
}

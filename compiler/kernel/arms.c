/* arms.c: where guards choose among loads along a short axis, as stacked tensors do, that axis is
 * no loop: a thread has all of its elements, each with the loads that are chosen for it, and shares
 * what several of them read. A rotary embedding, i3 the half of a pair:
 *
 *     v0 = index i3 < 1                         store p3[128*x + r]      = p0[128*x + r]*p1[...]
 *     v1 = load p0[128*x + r] if v0        ->                            - p0[128*x + r + 64]*...
 *     v4 = load p0[128*x + r + 64] if v0 ...    store p3[128*x + r + 64] = p0[128*x + r + 64]*...
 *     store p3[128*x + 64*i3 + r]
 *
 * Before, a thread had eight loads, half of them for nothing, and one store; now four and two.
 *
 * Parts of a long axis are such an axis, if guards choose among them, and several read the same: of
 * cat([x, sqrt(x)]) a thread has an element of each half, and loads x once. So are some neighbours
 * of a long axis, as the planes of an image that are rolled are, when images and planes are one
 * axis.
 *
 * Where it is the innermost axis that is short, as pairs are that lie beside each other, the stores
 * of a vector lie between each other, and are one store of a vector as many times as long. */
#include "kernel/builder.h"

enum { MAX_ARMS = 4, MAX_ARM_VALUES = 256 };

ex arm_place(struct exprs *p, const struct arm *a, int64_t place) {
    if (!a->of) return ex_const(p, place);
    if (a->apart) return ex_add(p, a->of, ex_const(p, place * a->apart));
    return ex_add(p, ex_mul(p, a->of, ex_const(p, a->n)), ex_const(p, place));
}

/* An index where the arm's axis is at that place. */
static ex at_place(const struct kernel *k, ex e, const struct arm *a, int64_t place) {
    ex at = arm_place(k->ex, a, place);
    return ex_subst(k->ex, e, &a->axis, &at, 1);
}

/* Is condition e decided by which place of the arm it is? */
static bool is_decided(const struct kernel *k, ex e, const struct arm *a) {
    for (int64_t i = 0; i < a->n; i++)
        if (!ex_is_const(k->ex, at_place(k, e, a, i), NULL)) return false;
    return true;
}

static bool is_chosen_along(const struct kernel *k, ex a) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD || !x->guarded) continue;
        const struct value_node *guard = &k->values.at[x->args[0]];
        if (guard->kind == INST_INDEX && ex_uses(k->ex, guard->index, a)) return true;
    }
    return false;
}

/* Some load is chosen along the arm, and all conditions on its axis are decided by it alone. */
static bool chooses(const struct kernel *k, const struct arm *arm) {
    ex a = arm->axis;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_INDEX && x->dtype == DT_BOOL && ex_uses(k->ex, x->index, a) &&
            !is_decided(k, x->index, arm))
            return false;
    }
    return is_chosen_along(k, a);
}

/* All that is stored lies along axis a, and behind it along `next`. */
static bool stores_lie_between(const struct kernel *k, ex a, int64_t size, ex next) {
    ex step, pace, rest;
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (!ex_linear(k->ex, k->stores.at[s].index, a, &step, &rest) ||
            step != ex_const(k->ex, 1) || !ex_linear(k->ex, rest, next, &pace, &rest) ||
            pace != ex_const(k->ex, size))
            return false;
    return true;
}

/* The innermost axis is for vectors, unless the next one will do. */
static bool leaves_vectors(const struct builder *w, ex a, int64_t size) {
    const struct group *g = w->g;
    if (a != g->x[g->n_x - 1]) return true;
    return g->n_x > 1 && (size == 2 || size == 4) &&
           stores_lie_between(w->k, a, size, g->x[g->n_x - 2]);
}

struct arm all_of(const struct builder *w, ex axis) {
    return (struct arm){.axis = axis, .n = ex_value(w->k->ex, ex_symbol(w->k->ex, axis)->bound)};
}

/* Does what is chosen at one place of the arm read what something reads at another one? */
static bool shares_loads(const struct kernel *k, const struct arm *a) {
    VEC(ex) read = {0}; /* by all places so far */
    VEC(buffer_id) of = {0};
    for (int64_t place = 0; place < a->n; place++) {
        uint32_t before = read.n;
        for (value_id v = 0; v < k->values.n; v++) {
            const struct value_node *x = &k->values.at[v];
            if (x->kind != INST_LOAD || !ex_uses(k->ex, x->index, a->axis)) continue;
            int64_t holds = !x->guarded;
            const struct value_node *guard = &k->values.at[x->args[0]];
            if (x->guarded && (guard->kind != INST_INDEX ||
                               !ex_is_const(k->ex, at_place(k, guard->index, a, place), &holds)))
                continue;
            if (!holds) continue;
            ex index = at_place(k, x->index, a, place);
            for (uint32_t i = 0; i < before; i++)
                if (of.at[i] == x->buffer && read.at[i] == index) return true;
            vec_push(k->arena, &read, index);
            vec_push(k->arena, &of, x->buffer);
        }
    }
    return false;
}

/* Equal parts of axis x; n of them, or none. */
static struct arm parts_of(const struct kernel *k, ex x, int64_t size, int64_t n) {
    struct arm parts = {.axis = x, .n = n, .apart = size / n};
    if (size % n || size <= n) return (struct arm){0};
    parts.of = ex_index(k->ex, "part", ex_const(k->ex, parts.apart));
    return parts;
}

/* n neighbours of axis x, of which it has some; or none. */
static struct arm neighbours_of(const struct kernel *k, ex x, int64_t size, int64_t n) {
    struct arm some = {.axis = x, .n = n};
    if (size % n || size <= n) return (struct arm){0};
    some.of = ex_index(k->ex, "some", ex_const(k->ex, size / n));
    return some;
}

/* Of which axis several parts read the same: parts that lie apart, or neighbours. */
static struct arm find_part(const struct builder *w, int64_t values, ex axis) {
    const struct kernel *k = w->k;
    const struct group *g = w->g;
    int64_t size;
    if (!is_chosen_along(k, axis) || !ex_is_const(k->ex, ex_symbol(k->ex, axis)->bound, &size))
        return (struct arm){0};
    for (int n = 2; n <= MAX_ARMS && n * values <= MAX_ARM_VALUES; n++) {
        struct arm parts = parts_of(k, axis, size, n);
        if (parts.n && chooses(k, &parts) && shares_loads(k, &parts)) return parts;
    }
    for (int n = 2; n <= MAX_ARMS && n * values <= MAX_ARM_VALUES; n++) {
        struct arm some = neighbours_of(k, axis, size, n);
        bool inner = axis == g->x[g->n_x - 1];
        if (some.n && !inner && chooses(k, &some) && shares_loads(k, &some)) return some;
    }
    return (struct arm){0};
}

struct arm find_arm(const struct builder *w, bool taps) {
    const struct kernel *k = w->k;
    const struct group *g = w->g;
    const struct arm none = {0};
    int64_t size, values = k->values.n;
    for (int r = 0; r < g->n_r && taps; r++) /* each of them is there for each tap */
        values = sat_mul(values, ex_hint(k->ex, ex_symbol(k->ex, g->r[r])->bound));
    if (k->limits->kind != DEVICE_CUDA || (g->n_r && !taps) || g->matmul || g->scan || g->columns ||
        k->subscripts.n)
        return none;
    for (int i = 0; i < g->n_x; i++) {
        if (!ex_is_const(k->ex, ex_symbol(k->ex, g->x[i])->bound, &size) || size > MAX_ARMS)
            continue;
        struct arm all = all_of(w, g->x[i]);
        if (size * values <= MAX_ARM_VALUES && leaves_vectors(w, g->x[i], size) && chooses(k, &all))
            return all;
    }
    for (int i = 0; i < g->n_x; i++) {
        struct arm part = find_part(w, values, g->x[i]);
        if (part.n) return part;
    }
    return none;
}

struct interleaved layout_interleaved(const struct kernel *k, const struct layout *y,
                                      uint32_t store) {
    enum { MOST = 16 }; /* elements of a vector */
    const struct interleaved alone = {1, 0, store};
    ex index = k->stores.at[store].index, c, rest;
    struct interleaved all = {0, 0, store};
    int64_t least = 0, greatest = 0, apart;
    if (!k->unrolled || k->kind != KERNEL_POINTWISE || y->peel || y->cut ||
        k->limits->kind != DEVICE_CUDA)
        return alone;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        if (k->stores.at[i].buffer != k->stores.at[store].buffer) continue;
        if (!ex_is_const(k->ex, ex_sub(k->ex, k->stores.at[i].index, index), &apart)) return alone;
        all.n++;
        if (apart < least) least = apart, all.first = i;
        if (apart > greatest) greatest = apart;
    }
    if (all.n == 1 || (all.n & (all.n - 1)) || greatest - least != all.n - 1 ||
        all.n * y->vec > MOST || index_stride(k, index, AXIS_R) != all.n)
        return alone;
    ex first = ex_add(k->ex, index, ex_const(k->ex, least));
    if (!ex_linear(k->ex, first, k->axis[AXIS_R], &c, &rest) ||
        !ex_divides(k->ex, all.n * y->vec, rest))
        return alone;
    all.place = (int)-least;
    return all;
}

/* chained.c: a product behind a product (schedule/chained.c): its axes, what of it can be made tile
 * by tile, and what a config means.
 *
 *     softmax(q k^T) v     v3 = dot(q, k) over r
 *                          v7 = reduce amax v3 over n
 *                          v9 = exp(v3 - v7)
 *                          v10 = reduce sum v9 over n
 *                          v13 = reduce sum (v9 / v10) v12 over n     ->     v14 / v10,
 *                                                             v14 = reduce sum v9 v12 over n
 *
 * A factor that does not vary with n leaves the sum (hoist_factors). What is left is a sum of terms
 * that stand on no row, or on a maximum alone, as exp(x - max) does: then the second product is an
 * online sum like any other (online.c), which is rescaled whenever a tile has a larger maximum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/builder.h"

/* ---- axes ------------------------------------------------------------------------------------ */

static bool stands_on(const struct kernel *k, value_id v, value_id below) {
    const struct value_node *x = &k->values.at[v];
    if (v <= below) return v == below;
    for (int a = 0; a < x->n_args; a++)
        if (stands_on(k, x->args[a], below)) return true;
    return false;
}

static const struct value_node *product_of(const struct kernel *k, value_id sum) {
    const struct value_node *x = &k->values.at[sum];
    if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM) return NULL;
    const struct value_node *mul = &k->values.at[x->args[0]];
    return mul->kind == INST_OP && mul->op == OP_MUL ? mul : NULL;
}

static bool stands_on_first(const struct kernel *k, value_id v) {
    return stands_on(k, v, k->dot) || (k->beside != NO_VALUE && stands_on(k, v, k->beside));
}

/* The factors of a second product: left what stands on the first ones, which the right one does
 * not; false: it has others. */
static bool find_factors(const struct kernel *k, value_id sum, value_id *a, value_id *b) {
    const struct value_node *mul = product_of(k, sum);
    if (!mul) return false;
    int left = stands_on_first(k, mul->args[0]) ? 0 : 1;
    *a = mul->args[left], *b = mul->args[1 - left];
    return stands_on_first(k, *a) && !stands_on_first(k, *b);
}

/* The sums over r, and the last one over n; of twins two, all there are. */
static bool find_products(struct kernel *k, bool twins) {
    int behind = 0;
    k->dot = k->second = k->beside = k->twin = NO_VALUE;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE) continue;
        if (x->over == MASK_R && k->beside != NO_VALUE) return false;
        if (x->over == MASK_R) *(k->dot == NO_VALUE ? &k->dot : &k->beside) = v;
        if (x->over != BEHIND) continue;
        if (twins) k->twin = k->second;
        k->second = v;
        behind++;
    }
    if (twins && behind != 2) return false;
    if (k->dot == NO_VALUE || k->second == NO_VALUE || k->second < k->dot) return false;
    const struct value_node *first = product_of(k, k->dot);
    if (!first) return false;
    k->dot_a = first->args[0], k->dot_b = first->args[1];
    if (k->beside != NO_VALUE) {
        const struct value_node *beside = product_of(k, k->beside);
        if (!beside || k->second < k->beside) return false;
        k->beside_a = beside->args[0], k->beside_b = beside->args[1];
    }
    if (twins && !find_factors(k, k->twin, &k->twin_a, &k->twin_b)) return false;
    return find_factors(k, k->second, &k->second_a, &k->second_b);
}

/* The factors of a first product: rows of a, columns of b; false: they have others, too. */
static bool set_sides(const struct kernel *k, value_id *a, value_id *b, const ex *m, int nm,
                      const ex *n, int nn, const ex *c, int nc) {
    bool turned = false, straight = false; /* k q^T: the left factor has the columns */
    for (int i = 0; i < nn; i++) {
        turned |= value_uses(k, *a, n[i]);
        straight |= value_uses(k, *b, n[i]);
    }
    if (turned == straight) return false;
    if (turned) {
        value_id was = *a;
        *a = *b, *b = was;
    }
    for (int i = 0; i < nm; i++)
        if (value_uses(k, *b, m[i])) return false;
    for (int i = 0; i < nc; i++)
        if (value_uses(k, *a, c[i]) || value_uses(k, *b, c[i])) return false;
    return true;
}

/* Of axes n, along which the second product goes, the right factor's of the first one are made; of
 * the others those that both factors of the second one vary with are batches. The first product has
 * no other rows and columns than these. */
bool choose_chained_axes(struct builder *w) {
    struct kernel *k = w->k;
    const struct group *g = w->g;
    ex z[GROUP_MAX_AXES], m[GROUP_MAX_AXES], c[GROUP_MAX_AXES], n[GROUP_MAX_AXES],
        r[GROUP_MAX_AXES];
    int nz = 0, nm = 0, nc = 0, nn = g->n_between, nr = g->n_r - g->n_between;
    if (!find_products(k, g->twin != NO_NEST) || w->captured) return false;
    for (int i = 0; i < g->n_x; i++) {
        ex a = g->x[i];
        bool left = value_uses(k, k->second_a, a), right = value_uses(k, k->second_b, a);
        if (k->twin != NO_VALUE && (right != value_uses(k, k->twin_b, a) ||
                                    (right && left != value_uses(k, k->twin_a, a))))
            return false;
        if (left && right)
            z[nz++] = a;
        else if (right)
            c[nc++] = a;
        else
            m[nm++] = a;
    }
    if (!nc) return false;
    memcpy(n, g->r, sizeof(ex) * (size_t)nn);
    memcpy(r, g->r + nn, sizeof(ex) * (size_t)nr);
    if (!set_sides(k, &k->dot_a, &k->dot_b, m, nm, n, nn, c, nc)) return false;
    if (k->beside != NO_VALUE && !set_sides(k, &k->beside_a, &k->beside_b, m, nm, n, nn, c, nc))
        return false;
    value_id right[4] = {k->dot_b, k->second_b};
    int n_right = 2;
    if (k->beside != NO_VALUE) right[n_right++] = k->beside_b;
    if (k->twin != NO_VALUE) right[n_right++] = k->twin_b;
    split_repeats(k, z, &nz, m, &nm, right, n_right);
    k->kind = KERNEL_CHAINED;
    k->over = MASK_N;
    nz = merge_axes(k, z, nz), nm = merge_axes(k, m, nm), nc = merge_axes(k, c, nc);
    nn = merge_axes(k, n, nn), nr = merge_axes(k, r, nr);
    flatten(k, AXIS_Z, "z", z, nz);
    flatten(k, AXIS_M, "m", m, nm);
    flatten(k, AXIS_N, "n", n, nn);
    flatten(k, AXIS_R, "r", r, nr);
    flatten(k, AXIS_C, "c", c, nc);
    return true;
}

/* ---- factors that do not vary with n --------------------------------------------------------- */

static bool is_of_row(const struct kernel *k, value_id v) {
    return !(k->values.at[v].mask & MASK_N);
}

static bool is_zero(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_CONST && x->number == 0;
}

/* Which argument of v varies with n, if that is all that does, and v is done with a sum as well as
 * with its terms; -1: there is none. Terms are rounded to the products' type, which a cast to it
 * asks for, too; that they are so before they are divided by what the row comes to is as near. */
static int inner_argument(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST)
        return (!x->rounds || x->dtype == k->values.at[k->dot].dtype) && dtype_is_float(x->dtype) &&
                       dtype_is_float(k->values.at[x->args[0]].dtype)
                   ? 0
                   : -1;
    if (x->kind != INST_OP) return -1;
    if (x->op == OP_MUL) return is_of_row(k, x->args[1]) ? 0 : is_of_row(k, x->args[0]) ? 1 : -1;
    if (x->op == OP_DIV) return is_of_row(k, x->args[1]) ? 0 : -1;
    if (x->op != OP_WHERE || !is_of_row(k, x->args[0])) return -1;
    return is_zero(k, x->args[1]) ? 2 : is_zero(k, x->args[2]) ? 1 : -1;
}

/* Of terms v that vary with n in other ways, those arguments that may have factors which do not: of
 * a product both, of a choice between something and 0 that. */
static bool has_factors(const struct kernel *k, value_id v, int argument) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind != INST_OP || is_of_row(k, x->args[argument])) return false;
    if (x->op == OP_MUL) return true;
    return x->op == OP_WHERE && argument && is_zero(k, x->args[3 - argument]);
}

/* `moved` is what factors make of a sum of terms that a mask hides some of. Where all are hidden
 * the sum is 0, and stays so whatever the factors are: a row of attention that sees nothing has
 * come to 0 or nan. */
static value_id unless_zero(struct builder *w, value_id sum, value_id moved, enum dtype t) {
    struct value_node zero = {.kind = INST_CONST, .dtype = t},
                      equal = {.kind = INST_OP, .op = OP_EQ, .dtype = DT_BOOL, .n_args = 2},
                      choice = {.kind = INST_OP, .op = OP_WHERE, .dtype = t, .n_args = 3};
    equal.args[0] = sum;
    equal.args[1] = choice.args[1] = number(w, zero);
    choice.args[0] = number(w, equal);
    choice.args[2] = moved;
    return number(w, choice);
}

/* What v does with its inner argument, done with the sum. */
static value_id outside(struct builder *w, value_id v, value_id sum, enum dtype t) {
    struct kernel *k = w->k;
    struct value_node x = k->values.at[v];
    int inner = is_of_row(k, v) ? -1 : inner_argument(k, v);
    if (is_of_row(k, v)) return sum;
    if (inner < 0) {
        value_id moved = sum;
        for (int a = 0; a < x.n_args; a++)
            if (has_factors(k, v, a)) moved = outside(w, x.args[a], moved, t);
        return x.op == OP_WHERE && moved != sum ? unless_zero(w, sum, moved, t) : moved;
    }
    sum = outside(w, x.args[inner], sum, t);
    if (x.kind == INST_CAST) return sum;
    x.dtype = t;
    x.args[inner] = sum;
    return number(w, x);
}

/* And what is left of it in the sum. */
static value_id inside(struct builder *w, value_id v) {
    struct kernel *k = w->k;
    struct value_node x = k->values.at[v];
    int inner = is_of_row(k, v) ? -1 : inner_argument(k, v);
    if (is_of_row(k, v)) return v;
    if (inner >= 0) return inside(w, x.args[inner]);
    bool changed = false;
    for (int a = 0; a < x.n_args; a++) {
        value_id now = has_factors(k, v, a) ? inside(w, x.args[a]) : x.args[a];
        changed |= now != x.args[a];
        x.args[a] = now;
    }
    if (!changed) return v;
    value_id out = number(w, x);
    k->values.at[out].mask |= MASK_N;
    return out;
}

/* Values that no store needs go. */
static void drop(struct builder *w) {
    struct kernel *k = w->k;
    const value_id *now = drop_unused(w);
    value_id *const known[] = {&k->dot,      &k->dot_a,    &k->dot_b,  &k->second,
                               &k->second_a, &k->second_b, &k->beside, &k->beside_a,
                               &k->beside_b, &k->twin,     &k->twin_a, &k->twin_b};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (*known[i] != NO_VALUE) *known[i] = now[*known[i]];
}

/* What stands behind the second product is made anew of what its sum has become. */
void hoist_factors(struct builder *w, bool twin) {
    struct kernel *k = w->k;
    uint32_t n = k->values.n;
    value_id *second = twin ? &k->twin : &k->second, *a = twin ? &k->twin_a : &k->second_a,
             *b = twin ? &k->twin_b : &k->second_b;
    if (!find_factors(k, *second, a, b)) WS_BUG("a second product has lost its factors");
    struct value_node sum = k->values.at[*second], mul = k->values.at[sum.args[0]];
    value_id was = *second, of = *a, term = inside(w, of), *now = NEW_ARRAY(k->arena, value_id, n);
    mul.args[0] = term;
    mul.args[1] = *b;
    sum.args[0] = number(w, mul);
    k->values.at[sum.args[0]].mask |= MASK_N;
    *second = number(w, sum);
    *a = term;
    for (value_id v = 0; v < n; v++) now[v] = v;
    now[was] = outside(w, of, *second, sum.dtype);
    for (value_id v = was + 1; v < n; v++) {
        struct value_node x = k->values.at[v];
        bool changed = false;
        for (int a = 0; a < x.n_args; a++) {
            changed |= now[x.args[a]] != x.args[a];
            x.args[a] = now[x.args[a]];
        }
        if (changed) now[v] = number(w, x);
    }
    for (uint32_t s = 0; s < k->stores.n; s++) k->stores.at[s].value = now[k->stores.at[s].value];
    drop(w);
}

/* Is v a positive number that takes no exponent out of its type? */
static bool is_scale(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_CONST && x->number >= 1e-6 && x->number <= 1e6;
}

/* v as a value times a positive number, *by: masks choose between it and -inf, which stays so. */
static value_id scaled(struct builder *w, value_id v, double *by) {
    struct kernel *k = w->k;
    struct value_node x = k->values.at[v];
    *by = 1;
    if (dtype_opmath(x.dtype) != DT_F32) return v;
    if (x.kind == INST_CAST && !x.rounds && dtype_is_float(k->values.at[x.args[0]].dtype))
        return scaled(w, x.args[0], by);
    if (x.kind != INST_OP) return v;
    for (int i = 0; i < 2 && (x.op == OP_MUL || x.op == OP_DIV); i++) {
        const struct value_node *c = &k->values.at[x.args[1 - i]];
        if (!is_scale(k, x.args[1 - i]) || (x.op == OP_DIV && i)) continue;
        double number = x.op == OP_DIV ? 1 / c->number : c->number;
        value_id of = scaled(w, x.args[i], by);
        *by *= number;
        return of;
    }
    for (int i = 1; i <= 2 && x.op == OP_WHERE; i++) {
        const struct value_node *other = &k->values.at[x.args[3 - i]];
        if (other->kind != INST_CONST || other->number != -INFINITY) continue;
        value_id of = scaled(w, x.args[i], by);
        if (of == x.args[i]) return v;
        x.args[i] = of;
        return number(w, x);
    }
    return v;
}

/* What a maximum is of, and exponentials are relative to it: where(c, x * 0.125, -inf) as
 * where(c, x, -inf) * 0.125. Needs masks and levels; breaks them, and value ids. */
void scale_exponents(struct builder *w) {
    struct kernel *k = w->k;
    value_id max = chained_maximum(k), n = k->values.n;
    double by;
    if (max == NO_VALUE || k->twin != NO_VALUE) return;
    value_id f = k->values.at[max].args[0], of = scaled(w, f, &by),
             *now = NEW_ARRAY(k->arena, value_id, n);
    if (by == 1 || of == f) return;
    struct value_node c = {.kind = INST_CONST, .dtype = DT_F32, .number = (float)by},
                      mul = {.kind = INST_OP, .op = OP_MUL, .dtype = DT_F32, .n_args = 2};
    mul.args[0] = of;
    mul.args[1] = number(w, c);
    for (value_id v = 0; v < n; v++) now[v] = v;
    now[f] = number(w, mul);
    if (now[f] == f) return;
    for (value_id v = f + 1; v < n; v++) {
        struct value_node x = k->values.at[v];
        bool changed = false;
        for (int a = 0; a < x.n_args; a++) {
            changed |= now[x.args[a]] != x.args[a];
            x.args[a] = now[x.args[a]];
        }
        if (changed) now[v] = number(w, x);
    }
    renumber(k, now, k->subscripts.n);
    k->second = now[k->second];
    const struct value_node *product = product_of(k, k->second);
    k->second_a = product->args[0], k->second_b = product->args[1];
    drop(w);
}

/* ---- whether it is a kernel ------------------------------------------------------------------ */

value_id chained_maximum(const struct kernel *k) {
    value_id max = NO_VALUE;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
            kernel_online_maximum(k, v) != NO_VALUE)
            max = kernel_online_maximum(k, v);
    return max;
}

/* The load that a factor is, but for casts to a type that holds it. */
static const struct value_node *load_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    while (x->kind == INST_CAST) x = &k->values.at[x->args[0]];
    return x->kind == INST_LOAD ? x : NULL;
}

static const char *factors_reason(const struct kernel *k) {
    const value_id products[] = {k->dot, k->second, k->beside, k->twin},
                   factors[][2] = {{k->dot_a, k->dot_b},
                                   {NO_VALUE, k->second_b},
                                   {k->beside_a, k->beside_b},
                                   {NO_VALUE, k->twin_b}};
    enum dtype t = k->values.at[k->dot].dtype;
    for (int i = 0; i < 4; i++) {
        if (products[i] == NO_VALUE) continue;
        for (int side = 0; side < 2; side++) {
            if (factors[i][side] == NO_VALUE) continue;
            const struct value_node *x = load_of(k, factors[i][side]);
            bool narrow = x && k->schedule->loops->buffers.at[x->buffer].meta.dtype == t;
            if (!narrow || x->level)
                return "a factor of chained products is no tensor of their type";
        }
        if (k->values.at[products[i]].dtype != t) return "chained products of two types";
    }
    return NULL;
}

/* f without a positive number that it is multiplied by, in f32: *by, or 1. */
static value_id without_scale(const struct kernel *k, value_id f, double *by) {
    const struct value_node *x = &k->values.at[f];
    *by = 1;
    if (x->kind != INST_OP || x->op != OP_MUL || dtype_opmath(x->dtype) != DT_F32) return f;
    for (int i = 0; i < 2; i++) {
        const struct value_node *c = &k->values.at[x->args[i]];
        if (!is_scale(k, x->args[i]) || dtype_opmath(k->values.at[x->args[1 - i]].dtype) != DT_F32)
            continue;
        *by = (float)c->number;
        return x->args[1 - i];
    }
    return f;
}

/* The same of what the maximum is of. */
value_id chained_scaled(const struct kernel *k, value_id max, double *by) {
    return without_scale(k, k->values.at[max].args[0], by);
}

/* ---- what rows and columns have of their own ------------------------------------------------- */

bool chained_is_of(const struct kernel *k, value_id v, enum axis axis) {
    static const uint8_t all = MASK_M | MASK_N | MASK_R | MASK_C;
    const struct value_node *x = &k->values.at[v];
    return (x->mask & all) == (axis == AXIS_M ? MASK_M : MASK_N) && !x->level;
}

static bool is_loaded(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    bool loaded = x->kind == INST_LOAD;
    for (int i = 0; i < x->n_args && !loaded; i++) loaded = is_loaded(k, x->args[i]);
    return loaded;
}

static bool is_own(const struct kernel *k, value_id v, enum axis axis) {
    enum dtype t = k->values.at[v].dtype;
    return chained_is_of(k, v, axis) && dtype_is_float(t) && dtype_opmath(t) == DT_F32 &&
           is_loaded(k, v);
}

value_id chained_subtracted(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v], *sub;
    if (x->kind != INST_OP || x->op != OP_EXP || x->dtype != DT_F32) return NO_VALUE;
    sub = &k->values.at[x->args[0]];
    if (sub->kind != INST_OP || sub->op != OP_SUB || sub->dtype != DT_F32) return NO_VALUE;
    bool own = is_own(k, sub->args[1], AXIS_M) || is_own(k, sub->args[1], AXIS_N);
    return own && k->values.at[sub->args[0]].level ? sub->args[1] : NO_VALUE;
}

bool chained_is_exponent(const struct kernel *k, value_id sub) {
    bool all = k->values.at[sub].kind == INST_OP && k->values.at[sub].op == OP_SUB;
    for (value_id v = sub + 1; v < k->values.n && all; v++)
        for (int i = 0; i < k->values.at[v].n_args; i++)
            all &= k->values.at[v].args[i] != sub || chained_subtracted(k, v) != NO_VALUE;
    return all;
}

value_id chained_unscaled(const struct kernel *k, value_id f, value_id *mask, double *by) {
    const struct value_node *x = &k->values.at[f];
    *mask = NO_VALUE;
    for (int i = 1; i <= 2 && x->kind == INST_OP && x->op == OP_WHERE; i++) {
        const struct value_node *other = &k->values.at[x->args[3 - i]];
        if (other->kind != INST_CONST || other->number != -INFINITY) continue;
        *mask = f;
        return without_scale(k, x->args[i], by);
    }
    return without_scale(k, f, by);
}

static bool has_own(const struct own *own, int n, value_id v) {
    bool has = false;
    for (int i = 0; i < n; i++) has |= own[i].value == v;
    return has;
}

int chained_own(const struct kernel *k, enum axis axis, struct own *own) {
    int n = 0;
    if (chained_maximum(k) != NO_VALUE) return 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        value_id subtracted = chained_subtracted(k, v);
        if (x->mask & MASK_C || chained_is_of(k, v, axis) || is_first_product(k, v)) continue;
        if (subtracted != NO_VALUE && is_own(k, subtracted, axis)) {
            if (n == MOST_OWN) return 0;
            own[n++] = (struct own){v, true};
        }
        for (int i = 0; i < x->n_args; i++) {
            value_id of = x->args[i];
            if (!is_own(k, of, axis) || has_own(own, n, of)) continue;
            if (i == 1 && chained_is_exponent(k, v)) continue;
            if (n == MOST_OWN) return 0;
            own[n++] = (struct own){of, false};
        }
    }
    return n;
}

/* Do columns have values of their own, which a thread would keep from row to row, and rows are not
 * reduced? */
static void find_own(const struct kernel *k, struct chained *x) {
    bool reduces = false;
    for (value_id v = 0; v < k->values.n; v++)
        reduces |= k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                   !is_second_product(k, v);
    if (reduces || x->by_warp) return;
    x->n_own = chained_own(k, AXIS_N, x->own);
    for (int i = 0; i < x->n_own; i++) x->own_floats += x->own[i].exponent ? 2 : 1;
    if (x->own_floats & 1) x->own_floats++;
    if (x->own_floats > 4) x->n_own = x->own_floats = 0;
}

/* Of s, what has at + by i >= 0. */
static void narrow(struct depth_range *s, int64_t at, int64_t by) {
    int64_t from = by > 0 && at < 0 ? (by - 1 - at) / by : 0;
    int64_t end = by < 0 && at >= 0 ? at / -by + 1 : by > 0 || at >= 0 ? s->end : 0;
    if (from > s->from) s->from = from;
    if (end < s->end) s->end = end;
}

/* Does a term along `along` count at (z, i), by the edges from the first on? */
static bool any_counts(const struct kernel *k, uint32_t first, enum axis along, int64_t z,
                       int64_t i) {
    struct depth_range s = {0, kernel_size(k, along)};
    enum axis other = along == AXIS_M ? AXIS_N : AXIS_M;
    for (uint32_t j = first; j < k->edges.n; j++) {
        const struct edge *e = &k->edges.at[j];
        narrow(&s, e->first + e->by[AXIS_Z] * z + e->by[other] * i, e->by[along]);
    }
    return s.from < s.end;
}

/* And everywhere? */
static bool all_count(const struct kernel *k, uint32_t first, enum axis along) {
    enum { MOST = 1 << 20 };
    int64_t nz = 1, n = kernel_size(k, along == AXIS_M ? AXIS_N : AXIS_M);
    for (uint32_t i = first; i < k->edges.n; i++)
        if (k->edges.at[i].by[AXIS_Z]) nz = kernel_size(k, AXIS_Z);
    if ((double)nz * (double)n > MOST) return false;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t i = 0; i < n; i++)
            if (!any_counts(k, first, along, z, i)) return false;
    return true;
}

/* Is v a mask's number where it does not hold: -inf, or, of lows, one so low that no score that is
 * seen comes near it, whatever is_scale multiplies it by? */
static bool is_hidden(const struct kernel *k, value_id v, bool lows) {
    const double LOW = -1e36;
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) return is_hidden(k, x->args[0], lows);
    return x->kind == INST_CONST && (x->number == -INFINITY || (lows && x->number <= LOW));
}

/* Is v taken to be finite: it has no numbers that hide, and reads none that differ along a row, as
 * a mask's do? A row's axis is `along`. */
static bool is_finite(const struct kernel *k, value_id v, uint8_t along) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CONST) return !is_hidden(k, v, true);
    if (x->kind == INST_LOAD) return !(x->mask & along);
    if (x->kind == INST_INDEX || is_first_product(k, v)) return true;
    bool op = x->kind == INST_OP, by_number = op && x->op == OP_DIV && is_scale(k, x->args[1]);
    bool finite = x->kind == INST_CAST || by_number ||
                  (op && (x->op == OP_MUL || x->op == OP_ADD || x->op == OP_SUB ||
                          x->op == OP_NEG || x->op == OP_TANH || x->op == OP_WHERE));
    for (int i = 0; i < x->n_args && finite; i++)
        finite = (x->op == OP_WHERE && !i) || is_finite(k, x->args[i], along);
    return finite;
}

static bool add_edges_of_condition(struct kernel *k, value_id c, bool holds, value_id of);

/* Where f, an exponent, is not hidden; by low numbers, too, in rows along `lows`, if that is no 0.
 * True: it is hidden nowhere else, if is_finite is right. */
static bool add_edges_of_exponent(struct kernel *k, value_id f, uint8_t lows) {
    const struct value_node *x = &k->values.at[f];
    const value_id *args = x->args;
    if (x->kind == INST_CAST) return add_edges_of_exponent(k, args[0], lows);
    if (x->kind != INST_OP) return is_finite(k, f, lows);
    for (int i = 1; i <= 2 && x->op == OP_WHERE; i++) {
        if (!is_hidden(k, args[3 - i], lows)) continue;
        bool all = add_edges_of_condition(k, args[0], i == 1, args[i]);
        return add_edges_of_exponent(k, args[i], lows) && all;
    }
    if (x->op == OP_SUB)
        return add_edges_of_exponent(k, args[0], lows) && is_finite(k, args[1], lows);
    if (x->op == OP_ADD) { /* what is hidden stays so with what is finite, or hidden */
        bool all = add_edges_of_exponent(k, args[0], lows);
        return add_edges_of_exponent(k, args[1], lows) && all;
    }
    if ((x->op == OP_MUL || x->op == OP_DIV) && is_scale(k, args[1]))
        return add_edges_of_exponent(k, args[0], lows);
    return is_finite(k, f, lows);
}

/* Where the condition is `holds`; true: and everywhere else it is not. x != -inf holds where x, an
 * exponent, is not hidden, and where that is `of`, is asked about so. */
static bool add_edges_of_condition(struct kernel *k, value_id c, bool holds, value_id of) {
    const struct value_node *x = &k->values.at[c];
    bool compares = x->kind == INST_OP && x->op == (holds ? OP_NE : OP_EQ);
    if (!compares || !is_hidden(k, x->args[1], false)) return add_chained_edges(k, c, holds);
    return x->args[0] == of || add_edges_of_exponent(k, x->args[0], 0);
}

/* The same of f in exp(f - what rows along `along` have come to), which is 0 where f is hidden from
 * a row that sees something. False: some may see nothing. */
static bool add_edges_of_rows(struct kernel *k, value_id f, enum axis along) {
    uint32_t n = k->edges.n;
    if (add_edges_of_exponent(k, f, along == AXIS_M ? MASK_M : MASK_N) && all_count(k, n, along))
        return true;
    k->edges.n = n;
    return false;
}

/* Where exp(f) is not 0. Sums over rows, as the gradients of keys and values are, have a term of
 * every row: that of one that sees -inf alone is nan, for all keys alike. So each row has to see
 * something by positions alone: what tensors hide of it is not known. */
static void add_edges_of_exponential(struct kernel *k, value_id f) {
    const struct value_node *x = &k->values.at[f];
    bool relative = x->kind == INST_OP && x->op == OP_SUB,
         over_rows = relative && k->values.at[x->args[1]].mask & MASK_N;
    if (relative && add_edges_of_rows(k, x->args[0], over_rows ? AXIS_M : AXIS_N)) return;
    if (!over_rows) add_edges_of_exponent(k, f, 0);
}

/* Where v, a term, is not 0. */
static void add_edges_of_term(struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST) add_edges_of_term(k, x->args[0]);
    if (x->kind != INST_OP) return;
    for (int i = 1; i <= 2 && x->op == OP_WHERE; i++) {
        if (!is_zero(k, x->args[3 - i])) continue;
        add_edges_of_condition(k, x->args[0], i == 1, NO_VALUE);
        add_edges_of_term(k, x->args[i]);
        return;
    }
    if (x->op == OP_EXP) add_edges_of_exponential(k, x->args[0]);
    if (x->op == OP_RELU || x->op == OP_SIGMOID) add_edges_of_exponent(k, x->args[0], 0);
    for (int i = 0; i < 2 && (x->op == OP_MUL || (x->op == OP_DIV && !i)); i++)
        add_edges_of_term(k, x->args[i]); /* 0 times what is finite */
}

/* Does a store have what a row's own reductions come to, where the second product is 0? */
static bool shows_rows(const struct kernel *k) {
    enum { OTHER, ZERO, ROW };
    uint8_t *is = NEW_ARRAY(k->arena, uint8_t, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        int first = x->n_args ? is[x->args[0]] : OTHER;
        for (int i = 0; i < x->n_args; i++)
            if (is[x->args[i]] == ROW) is[v] = ROW;
        bool keeps = x->kind == INST_CAST || (x->kind == INST_OP && x->op == OP_DIV);
        bool product = x->kind == INST_OP && x->op == OP_MUL;
        if (x->kind == INST_REDUCE) is[v] = is_first_product(k, v) ? OTHER : ROW;
        if ((keeps && first == ZERO) || (product && (first == ZERO || is[x->args[1]] == ZERO)) ||
            v == k->second)
            is[v] = ZERO;
    }
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (is[k->stores.at[s].value] == ROW) return true;
    return false;
}

/* The one number that f is wherever it is hidden, or 0. */
static double hidden_number(const struct kernel *k, value_id f) {
    const struct value_node *x = &k->values.at[f];
    for (int i = 1; i <= 2 && x->kind == INST_OP && x->op == OP_WHERE; i++) {
        const struct value_node *low = &k->values.at[x->args[3 - i]];
        if (low->kind != INST_CONST || !is_hidden(k, x->args[3 - i], true)) continue;
        bool one = is_finite(k, x->args[i], MASK_N) || hidden_number(k, x->args[i]) == low->number;
        return one && isfinite(low->number) ? low->number : 0;
    }
    return 0;
}

/* Are all sums of what rows have between the products those of exp(f - max)? */
static bool sums_are_exponential(const struct kernel *k, value_id f, value_id max) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || v == max || is_first_product(k, v) || is_second_product(k, v))
            continue;
        const struct value_node *e = &k->values.at[x->args[0]];
        if (x->reduction != REDUCTION_SUM || e->kind != INST_OP || e->op != OP_EXP) return false;
        const struct value_node *sub = &k->values.at[e->args[0]];
        if (sub->kind != INST_OP || sub->op != OP_SUB || sub->args[0] != f || sub->args[1] != max)
            return false;
    }
    return true;
}

static bool has_edge(const struct edge *all, uint32_t n, const struct edge *e) {
    for (uint32_t i = 0; i < n; i++)
        if (!memcmp(&all[i], e, sizeof *e)) return true;
    return false;
}

static uint32_t take_edges(struct kernel *k, struct edge *out) {
    uint32_t n = k->edges.n;
    if (n) memcpy(out, k->edges.at, sizeof *out * n);
    k->edges.n = 0;
    return n;
}

/* Of exponentials of f relative to their row's maximum, which sums and the second product are made
 * of. Where a low number hides all of a row, that is its maximum, and sums count elements: nobody
 * sees how many if the second product's own terms are 0 there, as those of attention are; or those
 * that are left out are added. */
static void add_edges_of_softmax(struct kernel *k, value_id max) {
    struct edge low[MOST_EDGES], sure[MOST_EDGES];
    value_id f = k->values.at[max].args[0];
    if (add_edges_of_rows(k, f, AXIS_N)) return;
    bool shows = shows_rows(k), counts = shows && sums_are_exponential(k, f, max);
    double hidden = counts ? hidden_number(k, f) : 0;
    add_edges_of_exponent(k, f, MASK_N);
    uint32_t n_low = take_edges(k, low);
    add_edges_of_exponent(k, f, 0);
    if (!shows || hidden != 0) add_edges_of_term(k, k->second_a);
    uint32_t n_sure = take_edges(k, sure);
    for (uint32_t i = 0; i < n_low; i++)
        if (has_edge(sure, n_sure, &low[i])) vec_push(k->arena, &k->edges, low[i]);
    if (k->edges.n) k->hidden = hidden;
}

/* Of two second products those that both have. */
static void keep_edges_of_twin(struct kernel *k) {
    struct edge own[MOST_EDGES], both[MOST_EDGES];
    uint32_t n_own = take_edges(k, own);
    add_edges_of_term(k, k->twin_a);
    uint32_t n = take_edges(k, both);
    for (uint32_t i = 0; i < n; i++)
        if (has_edge(own, n_own, &both[i])) vec_push(k->arena, &k->edges, both[i]);
}

/* Of all sums along n alike, each once. Needs axes and masks. */
void find_chained_edges(struct kernel *k) {
    value_id max = chained_maximum(k);
    struct edge all[MOST_EDGES];
    bool others = false;
    for (value_id v = 0; v < k->values.n; v++)
        others |= k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                  !is_second_product(k, v);
    if (max != NO_VALUE)
        add_edges_of_softmax(k, max);
    else if (!others)
        add_edges_of_term(k, k->second_a);
    if (k->twin != NO_VALUE) keep_edges_of_twin(k);
    uint32_t n = take_edges(k, all);
    for (uint32_t i = 0; i < n; i++) {
        const struct edge *e = &all[i];
        if (has_edge(all, i, e)) continue;
        if (e->asks)
            vec_push(k->arena, &k->questions, ((struct asked_value){e->asks - 1, e->holds}));
        else
            vec_push(k->arena, &k->edges, *e);
    }
}

struct depth_range chained_range(const struct kernel *k, int64_t z, int64_t m, int64_t rows) {
    struct depth_range s = {0, kernel_size(k, AXIS_N)};
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        int64_t down = e->by[AXIS_M] > 0 ? m + rows - 1 : m;
        narrow(&s, e->first + e->by[AXIS_Z] * z + e->by[AXIS_M] * down, e->by[AXIS_N]);
    }
    if (s.end <= s.from) s = (struct depth_range){0, 1};
    return s;
}

double chained_counts(const struct kernel *k) {
    enum { SAMPLES = 64 };
    int64_t m = kernel_size(k, AXIS_M), n = kernel_size(k, AXIS_N),
            rows = m < SAMPLES ? m : SAMPLES;
    double all = 0;
    if (!k->edges.n || !rows || !n) return 1;
    for (int64_t i = 0; i < rows; i++) {
        struct depth_range s =
            chained_range(k, kernel_size(k, AXIS_Z) / 2, (2 * i + 1) * m / (2 * rows), 1);
        all += (double)(s.end - s.from);
    }
    return all / ((double)rows * (double)n);
}

const char *kernel_chain_reason(const struct schedule *s, uint32_t group,
                                const struct device_limits *limits, double *us, struct arena *a) {
    enum { WIDEST = 256, LONGEST = 1 << 16 };
    const struct kernel *k = kernel_build(s, group, limits, a);
    if (k->kind != KERNEL_CHAINED)
        return "the second product does not go along the first one's columns";
    int *stage = epilogue_stages(k);
    value_id max = NO_VALUE;
    if (kernel_size(k, AXIS_C) > WIDEST || kernel_size(k, AXIS_R) > WIDEST)
        return "a block's threads cannot hold so many columns, or read so deep a factor";
    if (kernel_size(k, AXIS_N) > LONGEST) return "the sums would be too long";
    const char *bad = factors_reason(k);
    if (bad) return bad;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || is_first_product(k, v)) continue;
        value_id of = kernel_online_maximum(k, v);
        if (!reduction_of_values(x->reduction) || !dtype_is_float(x->dtype))
            return "a place, or squares, are looked for between two products";
        if (stage[v] == 1) continue;
        if (stage[v] > 2 || of == NO_VALUE || stage[of] != 1 || (max != NO_VALUE && max != of))
            return "what rows come to is needed before they are whole";
        max = of;
    }
    if (max != NO_VALUE && k->twin != NO_VALUE) return "two products of rows that are rescaled";
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->values.at[k->stores.at[i].value].mask & MASK_N || k->stores.at[i].mask & MASK_N)
            return "what is between two products is stored";
    *us = kernel_least_cost(k, NULL, a);
    return isinf(*us) ? "a block's threads cannot hold all sums" : NULL;
}

/* ---- what a config means --------------------------------------------------------------------- */

enum { SIXTEEN = 16, OCTET = 8, LINE_BYTES = 64, PLANES_LINE = 32 /* elements */ };

static bool has_planes(const struct kernel *k) {
    return k->values.at[k->dot].dtype == DT_F32 && k->precision != PRECISION_TF32;
}

static int line_of(int bytes) { return bytes % 128 == 0 ? 128 : bytes % 64 == 0 ? 64 : 32; }

static struct factor factor_of(const struct kernel *k, value_id v, enum axis axis, enum axis along,
                               int rows, int depth) {
    const struct value_node *x = load_of(k, v);
    enum dtype t = k->values.at[k->dot].dtype;
    struct factor f = {.value = v,
                       .axis = axis,
                       .along = along,
                       .dtype = t,
                       .rows = rows,
                       .depth = depth,
                       .bytes = rows * depth * dtype_bytes(t)};
    int piece = factor_piece(&f);
    bool whole = load_is_vector(k, x, along, piece) && !x->guarded;
    f.across = !whole && (load_is_vector(k, x, axis, piece) || load_stride(k, x, axis) == 1);
    f.whole = whole || (load_is_vector(k, x, axis, piece) && !x->guarded);
    f.line = line_of((f.across ? rows : depth) * dtype_bytes(t));
    return f;
}

/* A size in whole lines of 64 bytes, which take as long to copy as shorter ones, if it has one. */
static int filled(const struct kernel *k, int64_t n) {
    int line = LINE_BYTES / dtype_bytes(k->values.at[k->dot].dtype);
    return (int)round_up(n, has_planes(k) ? PLANES_LINE : n > SIXTEEN ? line : SIXTEEN);
}

/* A number that divides e wherever it is. */
static int64_t divisor_of(const struct kernel *k, ex e) {
    int64_t number;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (ex_is_const(k->ex, e, &number)) return llabs(number);
    if (kind == EX_ADD)
        return common_divisor(divisor_of(k, ex_lhs(k->ex, e)), divisor_of(k, ex_rhs(k->ex, e)));
    if (kind == EX_MUL && ex_is_const(k->ex, ex_rhs(k->ex, e), &number))
        return llabs(number) * divisor_of(k, ex_lhs(k->ex, e));
    return 1;
}

/* Tiles are boxes of a tensor of matrices, of which that of batch z is number `matrix`, whatever
 * batches have to do with memory. */
static void find_boxes(const struct kernel *k, struct factor *f) {
    const struct value_node *x = load_of(k, f->value);
    enum axis line = f->across ? f->axis : f->along, down = f->across ? f->along : f->axis;
    int64_t step, lo, hi, all, bytes = dtype_bytes(f->dtype);
    ex rest = x->index;
    if (!f->whole || !index_take(k, &rest, k->axis[line], &step) || step != 1 ||
        !index_take(k, &rest, k->axis[down], &f->pitch))
        return;
    for (int a = 0; a < AXIS_COUNT; a++)
        if (a != AXIS_Z && k->axis[a] && ex_uses(k->ex, rest, k->axis[a])) return;
    int64_t unit = divisor_of(k, rest);
    int piece = factor_piece(f);
    if (unit == 0) unit = piece; /* there is one */
    ex_range(k->ex, rest, &lo, &hi);
    if (lo < 0 || hi == INT64_MAX || unit % piece || f->pitch % piece || f->pitch < 1) return;
    f->matrix = ex_div(k->ex, rest, ex_const(k->ex, unit));
    all = hi / unit + 1;
    f->map = (struct tensor_map){.dtype = f->dtype,
                                 .rank = 3,
                                 .size = {kernel_size(k, line), kernel_size(k, down), all},
                                 .stride = {bytes, f->pitch * bytes, unit * bytes},
                                 .box = {f->line / bytes, f->across ? f->depth : f->rows, 1},
                                 .swizzle = f->line,
                                 .tf32 = f->dtype == DT_F32};
    f->boxed = !tensor_map_illegal(&f->map, k->arena);
}

/* Boxes of the image of a factor that is turned, which begins at byte `image` of all: its end. */
static int64_t find_turned_boxes(const struct kernel *k, struct factor *f, int64_t image) {
    enum { TILE = 256 };
    int64_t bytes = dtype_bytes(f->dtype), rows = kernel_size(k, f->axis),
            batches = kernel_size(k, AXIS_Z);
    f->turned = f->whole = true;
    f->across = false;
    f->line = line_of(f->depth * (int)bytes);
    f->image = image;
    f->pitch = round_up(kernel_size(k, f->along), OCTET);
    f->matrix = k->axis[AXIS_Z];
    f->map = (struct tensor_map){.dtype = f->dtype,
                                 .rank = 3,
                                 .size = {f->pitch, rows, batches},
                                 .stride = {bytes, f->pitch * bytes, rows * f->pitch * bytes},
                                 .box = {f->line / (int)bytes, f->rows, 1},
                                 .swizzle = f->line};
    f->boxed = !tensor_map_illegal(&f->map, k->arena);
    return round_up(image + batches * rows * f->pitch * bytes, TILE);
}

/* Does the tile of a second product's right factor lie in memory as that of a first one's does? So
 * it is where gradients are made: dK sums up dS^T Q, where S^T is K Q^T. */
static bool is_same_tile(const struct kernel *k, const struct factor *b, const struct factor *c) {
    const struct value_node *x = load_of(k, b->value), *y = load_of(k, c->value);
    return x->buffer == y->buffer && !x->n_args && !y->n_args && b->across != c->across &&
           b->whole == c->whole && b->line == c->line && b->bytes == c->bytes &&
           kernel_size(k, b->along) == kernel_size(k, c->axis) &&
           ex_subst(k->ex, x->index, &k->axis[b->along], &k->axis[c->axis], 1) == y->index;
}

/* Tiles of what is between that a thread has at a time. */
static int tiles_between(const struct chained *x) {
    return x->n_first > x->n_second ? x->n_first : x->n_second;
}

bool chained_is_in_turn(const struct layout *y) {
    return y->chained->by_warp || y->chained->n_second > 1 || y->split > 1;
}

bool chained_lags(const struct layout *y) {
    return !chained_is_in_turn(y) && !y->chained->c[0].shared;
}

int chained_rows_barrier(const struct layout *y) {
    return 2 * y->stages + (y->chained->ping_pong ? y->chained->warpgroups : 0);
}

int chained_barriers(const struct layout *y) {
    return chained_rows_barrier(y) + (y->chained->persists ? 2 : 0);
}

int chained_part_rows(const struct kernel *k, const struct chained *x) {
    bool one = x->warp_rows == SIXTEEN && kernel_size(k, AXIS_M) <= OCTET;
    return one ? 1 : x->warp_rows / OCTET;
}

int chained_part_floats(const struct kernel *k, const struct chained *x) {
    int rows = chained_part_rows(k, x), n = chained_maximum(k) == NO_VALUE ? 0 : rows;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_REDUCE && !is_first_product(k, v) &&
                     !is_second_product(k, v)
                 ? rows
                 : 0;
    return n + x->n_second * rows * x->columns / OCTET * 2;
}

/* Few blocks share the columns of what is between, each a part: see emit/cuda_chained_parts.c. */
static const char *check_parts(const struct kernel *k, int n, const struct layout *y,
                               struct arena *a) {
    int64_t steps = (kernel_size(k, AXIS_N) + n - 1) / n;
    if (y->split == 1) return NULL;
    if (y->split > steps)
        return arena_printf(a, "split=%d but there are only %lld tiles of n=%d", y->split,
                            (long long)steps, n);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && reduction_bytes(k, v) != 4)
            return "split needs sums of floats";
    return NULL;
}

/* By warps: so many rows each. */
static const char *check_warps(const struct kernel *k, const struct config *c, struct layout *y,
                               struct chained *x, struct arena *a) {
    enum { MOST_REGISTERS = 216, MOST_OF_TWINS = 192, MOST_BESIDE_PLANES = 112, MOST_STAGES = 4 };
    int m = c->knob[KNOB_m], tm = c->knob[KNOB_tm];
    if (c->knob[KNOB_pingpong]) return "pingpong is a knob of mma=1";
    if (c->knob[KNOB_blocks]) return "chained products by warps have a block for each tile";
    for (int i = 0; i < x->n_first && x->planes; i++)
        if (x->a[i].line != 128 || x->b[i].line != 128) return "planes need lines of 128 bytes";
    for (int i = 0; i < x->n_second && x->planes; i++)
        if (x->c[i].line != 128) return "planes need lines of 128 bytes";
    if (tm != SIXTEEN && tm != 2 * SIXTEEN)
        return "chained products by warps need a tm of 16 or 32";
    if (m < tm || m % tm || m > 256) return arena_printf(a, "m=%d is no multiple of tm=%d", m, tm);
    if (y->stages > MOST_STAGES) return arena_printf(a, "mma=2 has %d stages at most", MOST_STAGES);
    x->warp_rows = tm;
    bool narrow = dtype_bytes(x->a[0].dtype) == 2;
    int terms = narrow && x->n_second > 1 ? c->knob[KNOB_n] : 0; /* of both; of f32 the sums are */
    int sums = tm * (tiles_between(x) * c->knob[KNOB_n] + terms + x->n_second * x->columns) /
               k->limits->warp;
    int most = x->planes ? MOST_BESIDE_PLANES : x->n_second > 1 ? MOST_OF_TWINS : MOST_REGISTERS;
    if (sums > most) return arena_printf(a, "%d sums a thread; %d is the limit", sums, most);
    y->threads = m / tm * k->limits->warp;
    return check_parts(k, c->knob[KNOB_n], y, a);
}

/* By warpgroups, of 64 rows each, and one that copies. While the second product of a step is under
 * way, its terms beside it, in 16 bits or tf32, the next step's sums are there; but for twins,
 * whose terms take the place of the step's sums: with registers for both, as of heads of 64 in
 * steps of 64, an H200 takes 1648 us for dK and dV of 4 x 32 x 4096 causal rows, 1594 in turn. */
static const char *check_warpgroups(const struct kernel *k, const struct config *c,
                                    struct layout *y, struct chained *x, struct arena *a) {
    enum {
        ROWS = 64,
        THREADS = 128,
        OTHERS = 40,
        MOST_STAGES = 8,
        MOST_OF_TURNS = 6,
        MOST_OF_BLOCKS = 5
    };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n];
    if (!k->limits->wgmma || !k->limits->tma) return "mma=1 needs sm_90a";
    int bytes = dtype_bytes(x->a[0].dtype);
    if (x->planes || bytes > 4) return "mma=1 chains products of 16 bits, or in tf32";
    if (c->knob[KNOB_tm]) return "tm is no knob of mma=1";
    x->ping_pong = c->knob[KNOB_pingpong];
    x->persists = c->knob[KNOB_blocks] > 0;
    if (x->ping_pong && m <= ROWS) return "pingpong needs two warpgroups: m of 128 or 192";
    if (x->ping_pong && y->stages > MOST_OF_TURNS)
        return arena_printf(a, "pingpong has %d stages at most", MOST_OF_TURNS);
    if (c->knob[KNOB_blocks] && (y->split > 1 || y->stages > MOST_OF_BLOCKS))
        return arena_printf(a, "blocks is for no split, and for %d stages at most", MOST_OF_BLOCKS);
    if (y->split > 1 && (m != ROWS || kernel_size(k, AXIS_M) > SIXTEEN))
        return "mma=1 shares columns of sixteen rows at most, and needs m=64";
    if (m % ROWS || m < ROWS || m > 3 * ROWS) return "mma=1 needs m of 64, 128 or 192";
    if (y->stages > MOST_STAGES) return arena_printf(a, "mma=1 has %d stages at most", MOST_STAGES);
    bool boxed = true;
    for (int i = 0; i < x->n_second; i++) boxed &= x->c[i].boxed;
    for (int i = 0; i < x->n_first; i++) {
        boxed &= x->a[i].boxed && x->b[i].boxed;
        if (x->a[i].across && x->a[i].line != 128) return "m=64 at least";
        if (bytes == 4 && (x->a[i].across || x->b[i].across))
            return "mma=1 takes tf32 along the depth";
    }
    if (!boxed) return "mma=1 needs factors that tensor maps take";
    x->warpgroups = m / ROWS;
    x->warp_rows = SIXTEEN;
    x->registers = x->warpgroups == 1 ? 0 : x->warpgroups == 2 ? 232 : 160;
    x->copier_registers = x->warpgroups == 1 ? 0 : x->warpgroups == 2 ? 40 : 32;
    if (x->warpgroups == 2 && x->n_second > 1) x->registers = 240, x->copier_registers = 24;
    int terms = x->n_second > 1 ? 0 : n * bytes / 8;
    int sums = tiles_between(x) * n / 2 + terms + x->n_second * x->columns / 2,
        most = x->registers ? x->registers : 232;
    if (sums + OTHERS > most)
        return arena_printf(a, "%d sums a thread; %d is the limit", sums, most - OTHERS);
    y->threads = (x->warpgroups + 1) * THREADS;
    return check_parts(k, n, y, a);
}

static const char *check_skip(const struct kernel *k, int n) {
    if (!k->questions.n) return "skip=1 needs a mask of data";
    return kernel_size(k, AXIS_N) <= n ? "skip=1 needs two tiles of n" : NULL;
}

const char *chained_layout(const struct kernel *k, const struct config *c, struct layout *y,
                           struct arena *a) {
    enum { TILE = 1024, BARRIERS = 128 };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = filled(k, kernel_size(k, AXIS_R));
    bool by_warp = c->knob[KNOB_mma] == 2;
    if (c->knob[KNOB_mma] != 1 && !by_warp) return "chained products need mma=1 or 2";
    if (n < SIXTEEN || n % SIXTEEN || n > 256) return "chained products need an n of sixteens";
    if (m < SIXTEEN || m % SIXTEEN || m > 256) return "chained products need an m of sixteens";
    if (c->knob[KNOB_k] || c->knob[KNOB_tn] || c->knob[KNOB_cluster] || c->knob[KNOB_fit] ||
        c->knob[KNOB_make] || c->knob[KNOB_band] || c->knob[KNOB_flat] || c->knob[KNOB_pairs] ||
        c->knob[KNOB_tail])
        return "chained products have the knobs m, n, tm, mma, stages, split, skip, pingpong, "
               "blocks and warps";
    y->stages = c->knob[KNOB_stages];
    if (y->stages < 2) return "chained products need 2 stages at least";
    struct chained *x = NEW(a, struct chained);
    x->by_warp = by_warp;
    x->planes = has_planes(k);
    x->columns = filled(k, kernel_size(k, AXIS_C));
    x->n_first = k->beside == NO_VALUE ? 1 : 2;
    x->n_second = k->twin == NO_VALUE ? 1 : 2;
    for (int i = 0; i < x->n_first; i++) {
        x->a[i] = factor_of(k, i ? k->beside_a : k->dot_a, AXIS_M, AXIS_R, m, depth);
        x->b[i] = factor_of(k, i ? k->beside_b : k->dot_b, AXIS_N, AXIS_R, n, depth);
        x->a[i].at = x->first;
        x->b[i].at = x->stage;
        x->first += (int)round_up(x->a[i].bytes, TILE);
        x->stage += (int)round_up(x->b[i].bytes, TILE);
        if (!by_warp) find_boxes(k, &x->a[i]), find_boxes(k, &x->b[i]);
    }
    for (int i = 0; i < x->n_second; i++) {
        struct factor *f = &x->c[i];
        *f = factor_of(k, i ? k->twin_b : k->second_b, AXIS_C, AXIS_N, x->columns, n);
        f->at = x->stage;
        if (!by_warp && f->dtype == DT_F32) x->images = find_turned_boxes(k, f, x->images);
        /* Lines of planes are swizzled as they are read. */
        for (int j = 0; j < x->n_first && !f->shared && !x->planes; j++) {
            f->shared = is_same_tile(k, &x->b[j], f);
            if (f->shared) f->at = x->b[j].at;
        }
        if (!f->shared) x->stage += (int)round_up(f->bytes, TILE);
        if (!by_warp && !f->turned) find_boxes(k, f);
    }
    const char *bad = (by_warp ? check_warps : check_warpgroups)(k, c, y, x, a);
    if (!bad && c->knob[KNOB_skip]) bad = check_skip(k, n);
    if (bad) return bad;
    x->skips = c->knob[KNOB_skip] == 1;
    x->barriers = x->first + y->stages * x->stage;
    int64_t smem = (int64_t)x->first + (int64_t)y->stages * x->stage;
    if (!by_warp) smem += BARRIERS + TILE + y->threads * 4; /* a word each: k_before */
    find_own(k, x);
    int64_t own = (int64_t)x->warpgroups * 4 * n * x->own_floats * 4;
    if (smem + own > k->limits->smem_block) own = x->n_own = x->own_floats = 0;
    x->own_at = x->barriers + BARRIERS + y->threads * 4;
    smem += own;
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory; %lld is the limit",
                            (long long)smem, (long long)k->limits->smem_block);
    if (c->knob[KNOB_warps] * k->limits->warp != y->threads)
        return arena_printf(a, "the tile takes %d warps, but warps=%d",
                            y->threads / k->limits->warp, c->knob[KNOB_warps]);
    y->smem = (int)smem;
    y->bx = m;
    y->br = n;
    y->ex = y->ur = 1;
    y->vec = 2;
    y->chained = x;
    x->resident = 1;
    if (x->warpgroups == 1 && 2 * (smem + 1024) <= k->limits->smem_unit) {
        x->resident = 2; /* each of half the registers, of which the copier leaves most */
        x->registers = 232, x->copier_registers = 24;
    }
    int64_t blocks = c->knob[KNOB_blocks],
            tiles = kernel_size(k, AXIS_Z) * tile_count(kernel_size(k, AXIS_M), m);
    if (blocks && blocks != x->resident)
        return arena_printf(a, "blocks=%lld, but a multiprocessor has %d", (long long)blocks,
                            x->resident);
    if (blocks && tiles <= blocks * k->limits->units) return "a block for each tile is at work";
    if (blocks && x->warpgroups == 3) return "three warpgroups have no registers for blocks";
    return NULL;
}

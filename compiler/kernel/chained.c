/* chained.c: a product behind a product (schedule/chained.c): its axes, and what of it can be made
 * tile by tile.
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
 * online sum like any other (online.c), which is rescaled whenever a tile has a larger maximum.
 *
 * Of a body that is being made (builder.h). What rows and columns have of their own is found in
 * chained_own.c, which terms count in chained_edges.c, what a config means in chained_layout.c. */
#include <math.h>
#include <string.h>

#include "kernel/chained_parts.h"

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

bool is_zero(const struct kernel *k, value_id v) {
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
bool is_scale(const struct kernel *k, value_id v) {
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

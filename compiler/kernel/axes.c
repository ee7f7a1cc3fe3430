/* axes.c: the axes of a kernel, of those of its group.
 *
 * Adjacent axes merge where every access allows it; then the rest is flattened:
 *     i0: 64, i1: 32  with all accesses  32*i0 + i1 + ...   ->  x: 2048
 *
 * Before that the parallel ones are put into the order of what is stored in memory: a group has
 * them as one of its nests does, which may be a pool over channels, of what lies channel by
 * channel.
 *
 * Where a reduction reads along another one than it stores along, that axis comes next to a sector
 * of what is stored: neighbouring threads then read neighbours, and still store whole sectors.
 *
 *     store y[i0, i1, i2], load x[i1, r, i0]; i0: 1024, i1: 4096, i2: 8 floats     i1, i0, i2
 *
 * Reduced axes are in the order of memory of most of what is moved.
 *
 * Few rows would be a small part of the 64 that warpgroups have: few filters are the columns of a
 * product, of which tiles have as many as there are, and pixels its rows. So are filters whose
 * results a pixel's elements read, as those of a softmax over channels do: a warp has all columns
 * of its rows.
 *
 * The columns of a product may be images and their pixels: then each image is a batch, if tiles can
 * be copied of it from where it lies, as of a convolution of 1 x 1. */
#include "kernel/builder.h"

void each_index(struct kernel *k, void (*f)(void *ctx, ex *index), void *ctx) {
    for (uint32_t i = 0; i < k->values.n; i++)
        if (k->values.at[i].index) f(ctx, &k->values.at[i].index);
    for (uint32_t i = 0; i < k->stores.n; i++) {
        f(ctx, &k->stores.at[i].index);
        if (k->stores.at[i].guard) f(ctx, &k->stores.at[i].guard);
    }
}

/* Two axes as digits of one number; both: that, EX_NONE while it is asked whether they may be. */
struct merging {
    struct exprs *p;
    ex outer, inner, both;
    bool guards; /* may comparisons say where along the outer one alone they hold? */
    bool ok;
};

/* c*(outer*size + inner) + rest, which is c*both + rest; EX_NONE if it is none. */
static ex merged_linear(const struct merging *t, ex e) {
    struct exprs *p = t->p;
    ex co, ci, rest, from[] = {t->outer, t->inner}, to[] = {ex_const(p, 0), t->both};
    if (!ex_uses(p, e, t->outer) && !ex_uses(p, e, t->inner)) return e;
    if (!ex_linear(p, e, t->outer, &co, &rest) || !ex_linear(p, e, t->inner, &ci, &rest) ||
        co != ex_mul(p, ci, ex_symbol(p, t->inner)->bound))
        return EX_NONE;
    return t->both == EX_NONE ? e : ex_subst(p, e, from, to, 2);
}

/* Such a comparison of the number: outer < 5 is, for 22 inner ones, both < 110; of what is
 * linear in the number, as where rows of what was padded as one begin, that of both. EX_NONE if
 * it is another one. */
static ex merged_guard(struct merging *t, ex e) {
    struct exprs *p = t->p;
    enum ex_kind kind = ex_kind(p, e);
    if (!ex_uses(p, e, t->outer) && !ex_uses(p, e, t->inner)) return e;
    if (kind != EX_AND && kind != EX_LT && kind != EX_LE) return EX_NONE;
    ex a = ex_lhs(p, e), b = ex_rhs(p, e), one = ex_const(p, 1), c, rest;
    if (kind == EX_AND) {
        a = merged_guard(t, a), b = merged_guard(t, b);
        return a == EX_NONE || b == EX_NONE ? EX_NONE : ex_and(p, a, b);
    }
    ex left = merged_linear(t, a), right = merged_linear(t, b);
    if (left != EX_NONE && right != EX_NONE) return ex_compare(p, kind, left, right);
    bool behind = ex_uses(p, b, t->outer); /* at <= outer, else outer < at */
    if (!t->guards || ex_uses(p, e, t->inner) || ex_uses(p, behind ? a : b, t->outer) ||
        !ex_linear(p, behind ? b : a, t->outer, &c, &rest) || c != one)
        return EX_NONE;
    ex at = ex_sub(p, behind ? a : b, rest);
    if (behind == (kind == EX_LT)) at = ex_add(p, at, one);
    at = ex_mul(p, at, ex_symbol(p, t->inner)->bound);
    ex both = t->both == EX_NONE ? t->outer : t->both;
    return behind ? ex_compare(p, EX_LE, at, both) : ex_compare(p, EX_LT, both, at);
}

static void test_merge(void *ctx, ex *index) {
    struct merging *t = ctx;
    if (t->ok) t->ok = merged_linear(t, *index) != EX_NONE || merged_guard(t, *index) != EX_NONE;
}

struct rewrite {
    struct exprs *p;
    ex from[2 * GROUP_MAX_AXES], to[2 * GROUP_MAX_AXES];
    int n;
};

static void apply_rewrite(void *ctx, ex *index) {
    struct rewrite *r = ctx;
    *index = ex_subst(r->p, *index, r->from, r->to, r->n);
}

/* An index becomes one of both, and so does a guard. */
static void apply_merge(void *ctx, ex *index) {
    struct merging *t = ctx;
    ex linear = merged_linear(t, *index);
    *index = linear != EX_NONE ? linear : merged_guard(t, *index);
}

/* Rows of a pointwise kernel that are short, or that no vectors divide, of which some are of one
 * tensor and the rest of another: along all of them there are vectors. On a CPU a row has one guard
 * for all of its loop. */
static bool merges_guards(const struct kernel *k, ex inner) {
    enum { SHORT = 128, VECTOR = 8 };
    int64_t n;
    return k->limits->kind != DEVICE_CPU &&
           ex_is_const(k->ex, ex_symbol(k->ex, inner)->bound, &n) && (n < SHORT || n % VECTOR != 0);
}

/* Merge neighbours (outer, inner) of the list wherever every index has the form c*(outer*size +
 * inner) + rest; with guards, or says where along the outer one something holds. */
static int merge(struct kernel *k, ex *axes, int n, bool guards) {
    for (int i = 0; i + 1 < n;) {
        struct merging t = {.p = k->ex,
                            .outer = axes[i],
                            .inner = axes[i + 1],
                            .both = EX_NONE,
                            .guards = guards && merges_guards(k, axes[i + 1]),
                            .ok = true};
        each_index(k, test_merge, &t);
        if (!t.ok) {
            i++;
            continue;
        }
        ex bo = ex_symbol(k->ex, axes[i])->bound, bi = ex_symbol(k->ex, axes[i + 1])->bound;
        ex both = ex_index(k->ex, ex_symbol(k->ex, axes[i])->name, ex_mul(k->ex, bo, bi));
        t.both = both;
        each_index(k, apply_merge, &t);
        if (k->counts &&
            (ex_uses(k->ex, k->counts, axes[i]) || ex_uses(k->ex, k->counts, axes[i + 1])))
            k->counts = EX_NONE; /* it would be one of a quotient, or of what remains */
        axes[i] = both;
        memmove(&axes[i + 1], &axes[i + 2], sizeof(ex) * (size_t)(n - i - 2));
        n--;
    }
    return n;
}

int merge_axes(struct kernel *k, ex *axes, int n) { return merge(k, axes, n, false); }

/* The axes that one becomes. Those that count as one number where something is stored are one digit
 * there, though loads have them apart, as windows do. Of n = (i0: 8, i1: 4, i2: 16),
 *     99*i0 + 16*i1 + i2    99*(n / 64) + n % 64 */
struct flat {
    struct exprs *p;
    ex axis;
    const ex *axes;
    int n;
    bool joins;
};

/* Does the index grow with axis i as if it were the next digit of what counts `steps` of `unit`? */
static bool is_next_digit(const struct flat *f, ex index, int i, ex unit, ex steps) {
    ex c, rest;
    return unit != EX_NONE && ex_linear(f->p, index, f->axes[i], &c, &rest) &&
           c == ex_mul(f->p, unit, steps);
}

static ex size_of(const struct flat *f, int i) {
    int64_t v;
    ex bound = ex_symbol(f->p, f->axes[i])->bound;
    return ex_is_const(f->p, bound, &v) && v == 0 ? ex_const(f->p, 1) : bound;
}

/* Rewrites axes first..last as digits of f->axis, one number, of which there are `below` others. */
static void apply_flat(const struct flat *f, ex *index) {
    struct rewrite r = {.p = f->p};
    ex below = ex_const(f->p, 1);
    for (int last = f->n - 1, first; last >= 0; last = first - 1) {
        ex unit, rest, steps = size_of(f, last);
        if (!ex_linear(f->p, *index, f->axes[last], &unit, &rest) || unit == ex_const(f->p, 0))
            unit = EX_NONE;
        for (first = last; f->joins && first && is_next_digit(f, *index, first - 1, unit, steps);)
            steps = ex_mul(f->p, steps, size_of(f, --first));
        ex q = ex_div(f->p, f->axis, below);
        for (int i = first; i < last; i++)
            r.from[r.n] = f->axes[i], r.to[r.n++] = ex_const(f->p, 0);
        r.from[r.n] = f->axes[last];
        r.to[r.n++] = first ? ex_mod(f->p, q, steps) : q;
        below = ex_mul(f->p, below, steps);
    }
    apply_rewrite(&r, index);
}

/* One flat symbol for a list of axes; the axes become quotients and remainders of it. An empty axis
 * has no index: it counts as 1 here. */
void flatten(struct kernel *k, enum axis which, const char *name, const ex *axes, int n) {
    ex size = ex_const(k->ex, 1);
    for (int i = 0; i < n; i++) size = ex_mul(k->ex, size, ex_symbol(k->ex, axes[i])->bound);
    k->bound[which] = size;
    k->axis[which] = ex_index(k->ex, name, size);
    k->digits[which].n = n;
    for (int i = 0; i < n; i++) k->digits[which].size[i] = ex_symbol(k->ex, axes[i])->bound;
    struct flat f = {k->ex, k->axis[which], axes, n, false};
    for (uint32_t i = 0; i < k->values.n; i++)
        if (k->values.at[i].index) apply_flat(&f, &k->values.at[i].index);
    if (k->counts) apply_flat(&f, &k->counts);
    f.joins = true;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        apply_flat(&f, &k->stores.at[i].index);
        if (k->stores.at[i].guard) apply_flat(&f, &k->stores.at[i].guard);
    }
}

/* What was seen does not, or the answer would be known. */
static bool uses(const struct kernel *k, value_id v, ex sym, bool *seen) {
    const struct value_node *x = &k->values.at[v];
    if (seen[v]) return false;
    seen[v] = true;
    if (x->index && ex_uses(k->ex, x->index, sym)) return true;
    for (int a = 0; a < x->n_args; a++)
        if (uses(k, x->args[a], sym, seen)) return true;
    return false;
}

bool value_uses(const struct kernel *k, value_id v, ex sym) {
    return uses(k, v, sym, NEW_ARRAY(k->arena, bool, v + 1));
}

/* The condition where a factor is other than 0, a load or a choice; NO_VALUE: it has none. */
static value_id condition_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    bool choice = x->kind == INST_OP && x->op == OP_WHERE;
    if (!choice && !(x->kind == INST_LOAD && x->guarded)) return NO_VALUE;
    const struct value_node *other = &k->values.at[x->args[2]], *c = &k->values.at[x->args[0]];
    if (choice && (other->kind != INST_CONST || other->number != 0)) return NO_VALUE;
    return c->kind == INST_INDEX && !c->n_args ? x->args[0] : NO_VALUE;
}

/* Factor v is 0 where the other one is for its condition, by a choice around what has a condition
 * that does not say so; this, or NO_VALUE:
 *
 *     where(inside and there, x inside, 0) * y there   ->   x inside */
static value_id without_choice(const struct kernel *k, value_id v, value_id other) {
    const struct value_node *x = k->values.at;
    value_id both = condition_of(k, v), there = condition_of(k, other);
    if (x[v].kind == INST_LOAD || both == NO_VALUE || there == NO_VALUE) return NO_VALUE;
    value_id inside = condition_of(k, x[v].args[1]);
    bool is = inside != NO_VALUE && x[both].index == ex_and(k->ex, x[inside].index, x[there].index);
    return is ? x[v].args[1] : NO_VALUE;
}

/* Condition `from` of a factor, of its loads and its choice, is `to`. */
static void set_condition(struct kernel *k, value_id factor, value_id from, value_id to) {
    struct value_node *x = &k->values.at[factor];
    bool choice = x->kind == INST_OP && x->op == OP_WHERE;
    if ((choice || (x->kind == INST_LOAD && x->guarded)) && x->args[0] == from) x->args[0] = to;
    for (int a = 0; a < x->n_args; a++) set_condition(k, x->args[a], from, to);
}

/* What phases of a transposed convolution read is the same for all of them (loop/product.c): a
 * factor of its own, of which these are no batches, but columns. What is infinite then meets zeros
 * of the other factor, and sums that are not finite are made again. If something is reduced behind,
 * along pixels, or batches, each phase reads what it needs. */
static void share_factor(struct kernel *k, bool reduces) {
    value_id *const factors[] = {&k->dot_a, &k->dot_b};
    for (int i = 0; i < 2; i++) {
        value_id v = *factors[i], inner = without_choice(k, v, *factors[!i]);
        if (inner == NO_VALUE) continue;
        if (reduces) {
            set_condition(k, inner, condition_of(k, inner), condition_of(k, v));
            k->values.at[k->values.at[k->dot].args[0]].args[i] = inner;
        }
        k->shares = !reduces;
        *factors[i] = inner;
        return;
    }
}

/* Do reductions behind the product go along one of these axes of the group? */
static bool reduced_behind(const struct builder *w, const ex *axes, int n) {
    for (uint32_t i = 0; i < w->g->members.n; i++) {
        const struct member *M = &w->g->members.at[i];
        if (!w->l->nests.at[M->nest].matmul && member_is_along(w->s, M, axes, n)) return true;
    }
    return false;
}

/* The reduction sum over r of a*b with a, b loads; sets k->dot, dot_a, dot_b. */
static bool find_dot(struct kernel *k) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_REDUCE || x->reduction != REDUCTION_SUM || x->over != MASK_R) continue;
        const struct value_node *mul = &k->values.at[x->args[0]];
        if (mul->kind != INST_OP || mul->op != OP_MUL) return false;
        k->dot = v;
        k->dot_a = mul->args[0];
        k->dot_b = mul->args[1];
        return true;
    }
    return false;
}

/* Parallel axes of a matrix product: those of the left factor alone are rows, of the right alone
 * columns, of both batch. False if one of rows or columns is missing (then a plain reduction
 * serves). */
static bool sort_matmul_axes(struct builder *w, ex *z, int *nz, ex *m, int *nm, ex *n, int *nn) {
    struct kernel *k = w->k;
    if (!find_dot(k)) return false;
    share_factor(k, reduced_behind(w, w->g->x, w->g->n_x));
    for (int i = 0; i < w->g->n_x - w->g->n_arms; i++) {
        ex a = w->g->x[i];
        bool left = value_uses(k, k->dot_a, a), right = value_uses(k, k->dot_b, a);
        if (left && right)
            z[(*nz)++] = a;
        else if (right)
            n[(*nn)++] = a;
        else
            m[(*nm)++] = a;
    }
    return *nm && *nn;
}

static const struct store_node *largest_store(const struct builder *w) {
    const struct kernel *k = w->k;
    const struct store_node *most = NULL;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        int64_t b = buffer_bytes(w->l, k->stores.at[i].buffer);
        if (b > bytes) bytes = b, most = &k->stores.at[i];
    }
    return most;
}

/* Of an element. */
static int store_bytes(const struct builder *w, const struct store_node *to) {
    return dtype_bytes(w->l->buffers.at[to->buffer].meta.dtype);
}

/* By how much the largest store's index grows with each of the axes; false if one is not known. */
static bool store_steps(const struct builder *w, const ex *axes, int n, int64_t *steps) {
    const struct kernel *k = w->k;
    const struct store_node *most = largest_store(w);
    for (int i = 0; i < n && most; i++) {
        ex step, rest;
        if (!ex_linear(k->ex, most->index, axes[i], &step, &rest) ||
            (steps[i] = ex_hint(k->ex, step)) <= 0)
            return false;
    }
    return most != NULL;
}

/* Those with the least steps last. */
static void sort_by_steps(ex *axes, int n, int64_t *steps) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && steps[j - 1] < steps[j]; j--) {
            ex axis = axes[j];
            int64_t step = steps[j];
            axes[j] = axes[j - 1], axes[j - 1] = axis;
            steps[j] = steps[j - 1], steps[j - 1] = step;
        }
}

/* As they are if their steps are not known. */
static void sort_by_memory(const struct builder *w, ex *axes, int n) {
    int64_t steps[GROUP_MAX_AXES];
    if (store_steps(w, axes, n, steps)) sort_by_steps(axes, n, steps);
}

/* Is it where something lands? Its sources are found by the order of x (hits.c). */
static bool lands_along(const struct builder *w, ex axis) {
    enum { FEW = 32 }; /* rows that are compared */
    const struct kernel *k = w->k;
    if (ex_hint(k->ex, ex_symbol(k->ex, axis)->bound) < FEW) return false;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_INDEX && k->values.at[v].index == axis) return true;
    return false;
}

/* The largest load; NULL if it is small beside what is stored. */
static const struct value_node *largest_load(const struct builder *w, const struct store_node *to) {
    enum { SECTOR = 32 }; /* bytes that an element takes, read alone */
    const struct kernel *k = w->k;
    const struct value_node *most = NULL;
    int64_t bytes = 0, elements = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        int64_t b = x->kind == INST_LOAD ? buffer_bytes(w->l, x->buffer) : 0;
        if (b > bytes) bytes = b, elements = b / dtype_bytes(x->dtype), most = x;
    }
    return elements * SECTOR < buffer_bytes(w->l, to->buffer) ? NULL : most;
}

/* Elements from one along the axis to the next, in either direction; -1: not always as many. */
static int64_t load_step(const struct kernel *k, const struct value_node *load, ex axis) {
    ex step, rest;
    int64_t n;
    bool linear = ex_linear(k->ex, load->index, axis, &step, &rest);
    if (!linear || !ex_is_const(k->ex, step, &n)) return -1;
    return n < 0 ? -n : n;
}

/* The axis along which the largest load's neighbours lie; -1 if that is a reduced one. */
static int axis_of_loads(const struct builder *w, const ex *axes, int n,
                         const struct store_node *to) {
    const struct value_node *most = largest_load(w, to);
    for (int i = 0; i < n && most; i++)
        if (load_step(w->k, most, axes[i]) == 1) return i;
    return -1;
}

/* Axis i of x becomes two, of which the inner one has `size` elements. */
static void split_axis(struct kernel *k, ex *x, int n, int i, int64_t size) {
    ex axis = x[i], inner = ex_const(k->ex, size);
    const char *name = ex_symbol(k->ex, axis)->name;
    memmove(&x[i + 1], &x[i], sizeof(ex) * (size_t)(n - i));
    x[i] = ex_index(k->ex, name, ex_div(k->ex, ex_symbol(k->ex, axis)->bound, inner));
    x[i + 1] = ex_index(k->ex, name, inner);
    struct rewrite r = {.p = k->ex,
                        .from = {axis},
                        .to = {ex_add(k->ex, ex_mul(k->ex, x[i], inner), x[i + 1])},
                        .n = 1};
    each_index(k, apply_rewrite, &r);
    if (k->counts) apply_rewrite(&r, &k->counts);
}

/* Of axes in the order of memory of what is stored, the one that loads go along comes before those
 * that a sector is of. */
static int bring_loads_near(struct builder *w, ex *x, int n) {
    enum { SECTOR = 32, LINE = 128 };
    struct kernel *k = w->k;
    const struct store_node *to = largest_store(w);
    int64_t steps[GROUP_MAX_AXES], size, bytes;
    if (k->limits->kind != DEVICE_CUDA || !to || !store_steps(w, x, n, steps)) return n;
    int along = axis_of_loads(w, x, n, to), first = n;
    if (along < 0) return n;
    for (int i = 0; i < n; i++)
        if (lands_along(w, x[i])) return n;
    bytes = store_bytes(w, to);
    for (int64_t run = 1; bytes < SECTOR; bytes *= size, run *= size) {
        if (--first <= along || steps[first] != run) return n;
        if (!ex_is_const(k->ex, ex_symbol(k->ex, x[first])->bound, &size)) return n;
        int64_t part = SECTOR / bytes;
        bool long_run = size * bytes > LINE;
        if (long_run && (size % part || n == GROUP_MAX_AXES)) return n;
        if (!long_run) continue;
        split_axis(k, x, n++, first++, part);
        size = part;
    }
    ex axis = x[along];
    memmove(&x[along], &x[along + 1], sizeof(ex) * (size_t)(first - along - 1));
    x[first - 1] = axis;
    return n;
}

/* Where a reshape stands between what is loaded and what is stored, loads take axes apart, and none
 * says along which their neighbours lie: such an axis becomes two, but for the one along which
 * neighbours are stored, whose parts would be shorter.
 *
 *     store y[i0, i1, i2], load x[i1 % 4, i2, i0, i1 // 4]; i1: 64     i1a: 16, i1b: 4 */
static int split_digits(struct builder *w, ex *x, int n) {
    struct kernel *k = w->k;
    const struct store_node *to = largest_store(w);
    const struct value_node *most = to ? largest_load(w, to) : NULL;
    if (k->limits->kind != DEVICE_CUDA || !most || axis_of_loads(w, x, n, to) >= 0) return n;
    for (int i = 0; i + 1 < n && n < GROUP_MAX_AXES; i++) {
        int64_t size = largest_divisor(k, most->index, x[i]);
        if (size > 1) split_axis(k, x, n++, i--, size);
    }
    return n;
}

enum { SHORT_ROW = 64 }; /* bytes */

/* Does every load go along the axis as what is stored does, or not at all? */
static bool loads_are_along(const struct kernel *k, ex axis) {
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        int64_t step = x->kind == INST_LOAD ? load_step(k, x, axis) : 0;
        if (step != 0 && step != 1) return false;
    }
    return true;
}

/* Rows of which a few vectors each are stored, and which no vector divides, as a pad's of odd
 * length: all that lie behind each other in memory are one row, whose vectors may begin in one and
 * end in the next. Loads, which are of rows of other lengths, are by single elements then; with
 * heads and tails of each row a third of the threads would have nothing to do, and stores would be
 * single elements, too. Of how many axes that is the row; 0: rows stay. */
static int torn_columns(const struct builder *w, const ex *x, int n, const int64_t *steps,
                        const struct store_node *to) {
    enum { VECTOR = 16, FEW = 256, MUCH = 2 << 20 }; /* bytes: of a vector, a row, all */
    const struct kernel *k = w->k;
    int64_t size, run = 1, bytes = store_bytes(w, to);
    int count = 0;
    for (int i = n - 1; i >= 0; i--, count++) {
        if (steps[i] != run || !ex_is_const(k->ex, ex_symbol(k->ex, x[i])->bound, &size)) break;
        if (!count && (size * bytes >= FEW || size * bytes % VECTOR == 0)) return 0;
        run *= size;
    }
    bool worth = count > 1 && run * bytes >= MUCH && !w->taps && !w->n_arms;
    return worth && loads_are_along(k, x[n - 1]) ? count : 0;
}

/* Pointwise: how many of the axes, the last ones, are columns. Short rows are one with those that
 * lie behind them in memory, where the largest load goes along an axis outside of these: a tile of
 * rows and columns has runs of both then.
 *
 *     store y[i0, i1, i2], load x[i2, i1, i0]; i0: 25088, i1: 168, i2: 4      i0, (i1, i2) */
static int count_columns(const struct builder *w, const ex *x, int n) {
    enum { ENOUGH = 128 }; /* bytes */
    const struct kernel *k = w->k;
    const struct store_node *to = largest_store(w);
    int64_t steps[GROUP_MAX_AXES], size, run = 1;
    if (k->limits->kind != DEVICE_CUDA || !to || !store_steps(w, x, n, steps)) return 1;
    int along = axis_of_loads(w, x, n, to), count = 0, bytes = store_bytes(w, to);
    if (along < 0) return 1;
    if (along == n - 1 && (count = torn_columns(w, x, n, steps, to))) return count;
    for (int i = n - 1; i > along && run * bytes < ENOUGH; i--, count++) {
        if (steps[i] != run || !ex_is_const(k->ex, ex_symbol(k->ex, x[i])->bound, &size)) break;
        if (!count && size * bytes >= SHORT_ROW) return 1;
        run *= size;
    }
    return count && run * bytes >= SHORT_ROW ? count : 1;
}

/* Pointwise: rows of what is stored are in the order of what is loaded, if neighbours there are
 * some of them, so that a tile of some rows and columns has runs of both; not of columns so few
 * that a sector is of several rows. */
static void bring_rows_near(struct builder *w, ex *x, int n, const ex *columns, int n_columns) {
    const struct store_node *to = largest_store(w);
    int64_t size, steps[GROUP_MAX_AXES], bytes = to ? store_bytes(w, to) : 0;
    if (!to || n < 2) return;
    for (int i = 0; i < n_columns; i++, bytes *= size)
        if (!ex_is_const(w->k->ex, ex_symbol(w->k->ex, columns[i])->bound, &size)) return;
    if (bytes < SHORT_ROW) return;
    if (axis_of_loads(w, x, n, to) < 0) return;
    const struct value_node *most = largest_load(w, to);
    for (int i = 0; i < n; i++) steps[i] = load_step(w->k, most, x[i]);
    for (int i = 0; i < n; i++) /* stays outside: what it is the same for, or nobody knows */
        if (steps[i] <= 0) steps[i] = INT64_MAX;
    sort_by_steps(x, n, steps);
}

/* How many neighbours among these axes are reduced to one, if that is not all: the last axes, as
 * the scheduler has seen to. */
static int64_t reduced_span(const struct builder *w, const ex *axes, int n) {
    int64_t span = 1;
    int i = n;
    while (i && reduced_behind(w, &axes[i - 1], 1))
        span *= ex_hint(w->k->ex, ex_symbol(w->k->ex, axes[--i])->bound);
    return i ? span : 0;
}

static void find_over(struct builder *w, uint8_t over) {
    struct kernel *k = w->k;
    k->over = over;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_REDUCE && k->values.at[v].over == BEHIND)
            k->values.at[v].over = over;
}

ex inner_axis(const struct builder *w) {
    ex x[GROUP_MAX_AXES];
    memcpy(x, w->g->x, sizeof x);
    sort_by_memory(w, x, w->g->n_x);
    return w->g->n_x ? x[w->g->n_x - 1] : EX_NONE;
}

/* The load that a factor is, of elements of 16 bits. */
static const struct value_node *narrow_load(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST && dtype_is_float(x->dtype)) return narrow_load(k, x->args[0]);
    bool narrow = x->dtype == DT_BF16 || x->dtype == DT_F16;
    return x->kind == INST_LOAD && narrow && !x->n_args ? x : NULL;
}

/* Is the right factor, the load x of columns n[0] and n[1], a matrix for each of n[0], whose lines
 * tensor maps take, and which tiles of 64 columns do not exceed by much? */
static bool columns_are_batches(const struct kernel *k, const struct value_node *x, const ex *n,
                                const ex *r, int nr) {
    enum { TILE = 64, UNIT = 8 };
    int64_t batch, step, line, size, offset;
    ex rest, c[3];
    if (!x || nr != 1 || k->limits->sm < 80) return false;
    if (!ex_linear(k->ex, x->index, n[0], &c[0], &rest) ||
        !ex_linear(k->ex, rest, n[1], &c[1], &rest) || !ex_linear(k->ex, rest, r[0], &c[2], &rest))
        return false;
    if (!ex_is_const(k->ex, c[0], &batch) || !ex_is_const(k->ex, c[1], &step) ||
        !ex_is_const(k->ex, c[2], &line) || !ex_is_const(k->ex, rest, &offset) ||
        !ex_is_const(k->ex, ex_symbol(k->ex, n[1])->bound, &size))
        return false;
    int64_t tiles = (size + TILE - 1) / TILE * TILE;
    return step == 1 && line >= size && batch > 0 && !(batch % UNIT) && !(line % UNIT) &&
           !(offset % UNIT) && tiles * 4 <= size * 5;
}

/* The number of elements along axes; 0 if it is not known. */
static int64_t known_number(const struct kernel *k, const ex *axes, int n) {
    int64_t all = 1, size;
    for (int i = 0; i < n; i++) {
        if (!ex_is_const(k->ex, ex_symbol(k->ex, axes[i])->bound, &size)) return 0;
        all = sat_mul(all, size);
    }
    return all;
}

/* Are the rows few, of a product whose columns are several axes, as filters are beside images and
 * pixels? What warps then store of a column at once is eight neighbours, so these have to be four
 * bytes each. With 64 rows, products that take long gain nothing: they read more of shared memory.
 * Nor are filters rows if these left a fifth of two times 64 to nobody: a tile has as many columns
 * as there are. 96 filters, 11 x 11 taps of three channels, take an H200 823 us as 128 rows, and
 * 637 as 96 columns. */
static bool rows_are_few(const struct builder *w, const ex *m, int nm, const ex *n, int nn,
                         const ex *r, int nr) {
    enum { FEW = 48, MOST = 64, TIMES = 8, SHALLOW = 256, TWO = 2 * MOST };
    const struct kernel *k = w->k;
    int64_t rows = known_number(k, m, nm), columns = known_number(k, n, nn),
            depth = known_number(k, r, nr);
    if (!k->limits->wgmma || k->over || k->precision == PRECISION_STRICT || nn < 2) return false;
    bool torn = nr > 1 && rows > MOST && rows * 5 <= TWO * 4;
    if (!depth || !columns || !rows || columns / TIMES < rows) return false;
    if (rows > MOST && !torn) return false;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (dtype_bytes(w->l->buffers.at[k->stores.at[i].buffer].meta.dtype) < 4) return false;
    return rows <= FEW || depth <= SHALLOW || torn;
}

/* How far from each other what is stored first along an axis and what is stored next is. */
static int64_t first_step(const struct kernel *k, ex index, ex axis) {
    struct exprs *p = k->ex;
    ex one = ex_const(p, 1), zero = ex_const(p, 0);
    ex then = ex_subst(p, index, &axis, &one, 1), at = ex_subst(p, index, &axis, &zero, 1);
    int64_t step;
    return ex_is_const(p, ex_sub(p, then, at), &step) ? step : INT64_MAX;
}

static void move_to_end(ex *axes, int n, int i) {
    ex last = axes[i];
    memmove(&axes[i], &axes[i + 1], sizeof(ex) * (size_t)(n - i - 1));
    axes[n - 1] = last;
}

/* Phases of a transposed convolution that read the same windows are rows or columns, and are stored
 * side by side: an axis of few elements, less than a sector, between which those of an axis of the
 * other factor lie further apart. It is the last axis, of columns, of which a thread has
 * neighbours. Is it of rows? */
static bool rows_are_phases(const struct builder *w, ex *m, int nm, ex *n, int nn) {
    enum { SECTOR = 32 };
    const struct kernel *k = w->k;
    int64_t least = INT64_MAX, size, step[2 * GROUP_MAX_AXES];
    int nearest = -1;
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (k->stores.at[s].buffer != k->stores.at[0].buffer) return false;
    for (int i = 0; i < nm + nn; i++) {
        step[i] = first_step(k, k->stores.at[0].index, i < nm ? m[i] : n[i - nm]);
        if (step[i] >= 0 && step[i] < least) least = step[i], nearest = i;
    }
    if (nearest < 0 || least != 1) return false;
    ex axis = nearest < nm ? m[nearest] : n[nearest - nm];
    int bytes = dtype_bytes(w->l->buffers.at[k->stores.at[0].buffer].meta.dtype);
    if (!ex_is_const(k->ex, ex_symbol(k->ex, axis)->bound, &size) || size * bytes >= SECTOR)
        return false;
    bool apart = false;
    for (int i = 0; i < nm + nn; i++) apart |= (i < nm) != (nearest < nm) && step[i] == size;
    if (!apart) return false;
    if (nearest < nm)
        move_to_end(m, nm, nearest);
    else
        move_to_end(n, nn, nearest - nm);
    return nearest < nm && k->limits->wgmma;
}

/* Does anything read, for each row or to reduce them again, what all rows of a column come to? */
static bool rows_read_columns(const struct kernel *k, const ex *m, int nm) {
    bool *stands = NEW_ARRAY(k->arena, bool, k->values.n); /* on what a reduction comes to */
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool reduces = x->kind == INST_REDUCE && x->over == BEHIND;
        for (int i = 0; i < x->n_args; i++) stands[v] |= stands[x->args[i]];
        if (reduces && stands[v]) return true;
        stands[v] |= reduces;
    }
    for (uint32_t s = 0; s < k->stores.n; s++)
        for (int i = 0; i < nm; i++)
            if (stands[k->stores.at[s].value] && ex_uses(k->ex, k->stores.at[s].index, m[i]))
                return true;
    return false;
}

/* The load of f32 in memory that a factor is; NULL if it is none, or one that is packed at load. */
static const struct value_node *wide_load(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    bool is = x->kind == INST_LOAD && x->dtype == DT_F32 && !x->n_args;
    return is && !k->schedule->fixed[x->buffer] ? x : NULL;
}

/* Do rows lie side by side in the factor of f32, and its depth in lines that tensor maps take? Or,
 * with one for the other, the depth in lines of rows? */
static bool lies_across(const struct kernel *k, const struct value_node *x, ex rows, ex depth) {
    enum { UNIT = 4 };
    int64_t step, line, size;
    ex rest, c[2];
    if (!x || !ex_linear(k->ex, x->index, rows, &c[0], &rest) ||
        !ex_linear(k->ex, rest, depth, &c[1], &rest))
        return false;
    return ex_is_const(k->ex, c[0], &step) && ex_is_const(k->ex, c[1], &line) &&
           ex_is_const(k->ex, ex_symbol(k->ex, rows)->bound, &size) && step == 1 && line >= size &&
           line % UNIT == 0 && ex_divides(k->ex, UNIT, rest);
}

/* Need the right factor, of f32, not be packed as the left one, which threads read into registers
 * (operand.in_registers)? Of tf32 because it lies across, and if both do it is the larger one; of
 * planes because it is much larger than what few rows have, which are then packed. What warps store
 * of a column at once is eight neighbours then. Where rows are so many times the depth an image of
 * it takes little time beside that of large results, which then are stored along memory; of the
 * fewest steps (32768 x 64 x 32768) that takes an H200 1343 us for 1280. n: of the columns of a
 * batch. */
static bool columns_are_left(const struct builder *w, const ex *m, int nm, ex n, const ex *r,
                             int nr) {
    enum { LEAST = 64, MOST = 128, TIMES = 16, IMAGES = 64, DEEP = 128, LARGE = 1 << 26 };
    const struct kernel *k = w->k;
    if (!k->limits->wgmma || k->over || k->precision == PRECISION_STRICT || nm != 1 || nr != 1)
        return false;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (dtype_bytes(w->l->buffers.at[k->stores.at[i].buffer].meta.dtype) < 4) return false;
    int64_t rows = known_number(k, m, nm), columns = known_number(k, &n, 1);
    const struct value_node *left = wide_load(k, k->dot_a), *right = wide_load(k, k->dot_b);
    bool across = lies_across(k, right, n, r[0]);
    if (!rows || columns < LEAST) return false;
    if (k->precision != PRECISION_TF32)
        return rows > LEAST / 2 && rows <= MOST && columns / TIMES >= rows &&
               (across || lies_across(k, right, r[0], n));
    int64_t depth = known_number(k, r, 1);
    if (rows / IMAGES >= depth && depth >= DEEP && rows * columns >= LARGE) return false;
    return across && (columns > rows || !lies_across(k, left, m[0], r[0]));
}

static void swap_factors(struct kernel *k, ex *m, int *nm, ex *n, int *nn) {
    value_id a = k->dot_a;
    k->dot_a = k->dot_b;
    k->dot_b = a;
    for (int i = 0; i < GROUP_MAX_AXES; i++) {
        ex axis = m[i];
        m[i] = n[i];
        n[i] = axis;
    }
    int count = *nm;
    *nm = *nn;
    *nn = count;
}

static int without_arms(const struct builder *w, ex *axes, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++) {
        ex axis = axes[i];
        for (int k = 0; k < w->n_arms; k++)
            if (axes[i] == w->arms[k].axis) axis = w->arms[k].of;
        if (axis != EX_NONE) axes[kept++] = axis;
    }
    return kept;
}

/* Of the group's products, which is the same. */
static enum precision precision_of(const struct builder *w) {
    enum precision p = PRECISION_F32;
    for (uint32_t i = 0; i < w->g->members.n; i++) {
        const struct nest *n = &w->k->schedule->loops->nests.at[w->g->members.at[i].nest];
        if (n->matmul) p = n->precision;
    }
    return p;
}

/* Rows for columns. */
static uint8_t turned_masks(uint8_t over) {
    uint8_t others = over & (uint8_t) ~(MASK_M | MASK_N);
    return (uint8_t)(others | (over & MASK_M ? MASK_N : 0) | (over & MASK_N ? MASK_M : 0));
}

/* Bytes of the tensors that axis i is the innermost one of, *most: the largest of them, as a load's
 * or a store's index. */
static int64_t bytes_inner(const struct builder *w, ex axis, ex *most) {
    const struct kernel *k = w->k;
    int64_t bytes = 0, largest = 0;
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        bool load = i < k->values.n;
        const struct value_node *x = &k->values.at[load ? i : 0];
        if (load && x->kind != INST_LOAD) continue;
        const struct store_node *to = &k->stores.at[load ? 0 : i - k->values.n];
        struct value_node at = {.index = load ? x->index : to->index};
        if (load_step(k, &at, axis) != 1) continue;
        int64_t b = buffer_bytes(w->l, load ? x->buffer : to->buffer);
        bytes += b;
        if (b > largest) largest = b, *most = at.index;
    }
    return bytes;
}

/* Reduced axes have the order that a graph's views gave them: of all of x.T they go across memory.
 * Any order is as right, and that is best in which neighbours of most of what they go along lie
 * side by side. */
static void sort_reduced(const struct builder *w, ex *r, int n) {
    int64_t steps[GROUP_MAX_AXES];
    ex most = EX_NONE;
    if (n < 2) return;
    int64_t now = bytes_inner(w, r[n - 1], &most), best = now;
    ex along = EX_NONE;
    for (int i = 0; i < n - 1; i++) {
        ex at = EX_NONE;
        int64_t bytes = bytes_inner(w, r[i], &at);
        if (bytes > best) best = bytes, along = at;
    }
    if (along == EX_NONE) return;
    struct value_node at = {.index = along};
    for (int i = 0; i < n; i++)
        if ((steps[i] = load_step(w->k, &at, r[i])) <= 0) steps[i] = INT64_MAX;
    sort_by_steps(r, n, steps);
}

void choose_axes(struct builder *w) {
    struct kernel *k = w->k;
    const struct group *g = w->g;
    ex x[GROUP_MAX_AXES], r[GROUP_MAX_AXES], z[GROUP_MAX_AXES], m[GROUP_MAX_AXES],
        n[GROUP_MAX_AXES];
    memset(m, 0, sizeof m), memset(n, 0, sizeof n);
    int nx = g->n_x, nr = w->reduces && !w->taps ? g->n_r : 0, nz = 0, nm = 0, nn = 0;
    memcpy(x, w->by_rows ? g->r : g->x, sizeof x);
    memcpy(r, w->by_rows ? g->x : g->r, sizeof r);
    if (w->by_rows) nx = g->n_r, nr = g->n_x;
    nx = without_arms(w, x, nx);
    if (g->n_between && choose_chained_axes(w)) {
        if (k->values.at[k->dot].dtype == DT_F32) k->precision = precision_of(w);
        return;
    }
    if (g->matmul && sort_matmul_axes(w, z, &nz, m, &nm, n, &nn)) {
        k->kind = KERNEL_MATMUL;
        k->precision = precision_of(w);
        uint8_t over = (uint8_t)((reduced_behind(w, z, nz) ? MASK_Z : 0) |
                                 (reduced_behind(w, m, nm) ? MASK_M : 0) |
                                 (reduced_behind(w, n, nn) ? MASK_N : 0));
        bool turns = over && (w->swaps || (over == MASK_M && rows_read_columns(k, m, nm)));
        find_over(w, turns ? turned_masks(over) : over);
        /* What is reduced along one of both stays where find_over says. */
        bool either = !(k->over & MASK_M) == !(k->over & MASK_N);
        bool phases = !turns && rows_are_phases(w, m, nm, n, nn) && either;
        if (turns || phases || rows_are_few(w, m, nm, n, nn, r, nr))
            swap_factors(k, m, &nm, n, &nn);
        if (k->over & MASK_M) k->span[AXIS_M] = reduced_span(w, m, nm);
        if (k->over & MASK_N) k->span[AXIS_N] = reduced_span(w, n, nn);
        nz = merge_axes(k, z, nz), nm = merge_axes(k, m, nm), nn = merge_axes(k, n, nn),
        nr = merge_axes(k, r, nr);
        bool left = nn && nn <= 2 && columns_are_left(w, m, nm, n[nn - 1], r, nr);
        const struct value_node *right = left ? wide_load(k, k->dot_b) : narrow_load(k, k->dot_b);
        if (!nz && nn == 2 && !k->over && columns_are_batches(k, right, n, r, nr)) {
            z[nz++] = n[0];
            n[0] = n[--nn];
        }
        if ((left && nn == 1) || (w->swaps && !over)) swap_factors(k, m, &nm, n, &nn);
        flatten(k, AXIS_Z, "z", z, nz);
        flatten(k, AXIS_M, "m", m, nm);
        flatten(k, AXIS_N, "n", n, nn);
        flatten(k, AXIS_R, "r", r, nr);
        int64_t depth;
        if (ex_is_const(k->ex, k->bound[AXIS_R], &depth) && depth >= RUN && depth % RUN == 0)
            k->run = ex_index(k->ex, "run", ex_const(k->ex, depth / RUN));
        return;
    }
    k->kind = g->scan ? KERNEL_SCAN : nr ? KERNEL_REDUCE : KERNEL_POINTWISE;
    if (!w->by_rows && !g->columns) sort_by_memory(w, x, nx);
    if (k->kind == KERNEL_POINTWISE && nx) nx = split_digits(w, x, nx);
    if (k->kind == KERNEL_REDUCE && !w->by_rows && !g->columns) {
        sort_reduced(w, r, nr);
        nx = bring_loads_near(w, x, nx);
    }
    if (g->n_batch) {
        flatten(k, AXIS_Z, "z", x, merge_axes(k, x, g->n_batch));
        nx -= g->n_batch;
        memmove(x, x + g->n_batch, sizeof(ex) * (size_t)nx);
    }
    nx = merge(k, x, nx, k->kind == KERNEL_POINTWISE);
    nr = merge_axes(k, r, nr);
    if (!nr && nx) { /* pointwise: the innermost axis is the columns */
        nr = count_columns(w, x, nx);
        nx -= nr;
        memcpy(r, &x[nx], sizeof(ex) * (size_t)nr);
        bring_rows_near(w, x, nx, r, nr);
    }
    flatten(k, AXIS_X, "x", x, nx);
    flatten(k, AXIS_R, "r", r, nr);
    k->run = ex_index(k->ex, "run", k->bound[AXIS_R]);
}

/* repeats.c: batches of a product that share their right factors become its rows.
 *
 * Heads of queries that share keys and values are batches, each of which would read these again.
 * Where rows are so few that they do not fill the least tile, that is what a kernel takes time for:
 * so the heads of a group are rows of one batch, and a block reads keys and values once for all.
 *
 *     z: h, m: q, keys at h / 4     ->     z: a, m: (q, b), keys at a, and h = 4a + b elsewhere
 *
 * So biases of heads, and what is stored, have both halves in their indices. The half that rows get
 * is their last digit: a row's own place is a quotient of m, of which edges.c knows what a mask
 * leaves. Heads of which those that are so far apart share keys, h % 8, are split as well. */
#include <string.h>

#include "kernel/builder.h"

/* The largest number of which there are several in the axis, and by which e divides it, or takes
 * its remainders; 0: none. */
int64_t largest_divisor(const struct kernel *k, ex e, ex axis) {
    enum ex_kind kind = ex_kind(k->ex, e);
    int64_t number, size;
    if (kind == EX_CONST || kind == EX_SYM || !ex_uses(k->ex, e, axis)) return 0;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    int64_t x = largest_divisor(k, a, axis), y = largest_divisor(k, b, axis), most = x > y ? x : y;
    bool divides = (kind == EX_DIV || kind == EX_MOD) && a == axis &&
                   ex_is_const(k->ex, b, &number) &&
                   ex_is_const(k->ex, ex_symbol(k->ex, axis)->bound, &size);
    return divides && number < size && size % number == 0 && number > most ? number : most;
}

static int64_t largest_in_value(const struct kernel *k, value_id v, ex axis) {
    const struct value_node *x = &k->values.at[v];
    int64_t most = x->index ? largest_divisor(k, x->index, axis) : 0;
    for (int a = 0; a < x->n_args; a++) {
        int64_t other = largest_in_value(k, x->args[a], axis);
        if (other > most) most = other;
    }
    return most;
}

struct repeats {
    struct kernel *k;
    const value_id *right; /* factors */
    int n_right;
    VEC(ex) indices; /* of the kernel, as they were */
    uint32_t back;   /* how many of these are what they were again */
    ex axis, both;   /* what is split, and what it is then */
};

static void keep_index(void *ctx, ex *index) {
    struct repeats *s = ctx;
    vec_push(s->k->arena, &s->indices, *index);
}

static void put_back(void *ctx, ex *index) {
    struct repeats *s = ctx;
    *index = s->indices.at[s->back++];
}

static void take_halves(void *ctx, ex *index) {
    struct repeats *s = ctx;
    *index = ex_subst(s->k->ex, *index, &s->axis, &s->both, 1);
}

static bool right_uses(const struct repeats *s, ex axis) {
    for (int i = 0; i < s->n_right; i++)
        if (value_uses(s->k, s->right[i], axis)) return true;
    return false;
}

/* Splits one of the axes where a right factor divides it; false: none does. */
static bool split_axis(struct repeats *s, ex *z, int n) {
    struct exprs *p = s->k->ex;
    for (int i = 0; i < n; i++) {
        int64_t unit = 0;
        for (int j = 0; j < s->n_right; j++) {
            int64_t other = largest_in_value(s->k, s->right[j], z[i]);
            if (other > unit) unit = other;
        }
        if (unit < 2) continue;
        const struct ex_symbol *x = ex_symbol(p, z[i]);
        const char *name = x->name;
        ex outer = ex_index(p, name, ex_const(p, ex_value(p, x->bound) / unit)),
           inner = ex_index(p, name, ex_const(p, unit));
        s->axis = z[i];
        s->both = ex_add(p, ex_mul(p, outer, ex_const(p, unit)), inner);
        each_index(s->k, take_halves, s);
        memmove(&z[i + 1], &z[i], sizeof *z * (size_t)(n - i));
        z[i] = outer;
        z[i + 1] = inner;
        return true;
    }
    return false;
}

/* Of axes z those that no right factor varies with go behind m; how many axes z has then. */
static int take_rows(const struct repeats *s, ex *z, int nz, ex *m, int *nm) {
    int kept = 0;
    for (int i = 0; i < nz; i++)
        if (right_uses(s, z[i]) || *nm == GROUP_MAX_AXES)
            z[kept++] = z[i];
        else
            m[(*nm)++] = z[i];
    return kept;
}

static bool rows_are_few(const struct kernel *k, const ex *m, int nm) {
    enum { TILE = 16 }; /* rows of the least one */
    int64_t rows = 1, size;
    for (int i = 0; i < nm; i++) {
        if (!ex_is_const(k->ex, ex_symbol(k->ex, m[i])->bound, &size)) return false;
        rows = sat_mul(rows, size);
    }
    return rows < TILE;
}

void split_repeats(struct kernel *k, ex *z, int *nz, ex *m, int *nm, const value_id *right, int n) {
    struct repeats s = {.k = k, .right = right, .n_right = n};
    ex halves[GROUP_MAX_AXES];
    int count = *nz, rows = *nm;
    if (!rows_are_few(k, m, *nm)) return;
    memcpy(halves, z, sizeof *z * (size_t)count);
    each_index(k, keep_index, &s);
    while (count < GROUP_MAX_AXES && split_axis(&s, halves, count)) count++;
    count = take_rows(&s, halves, count, m, nm);
    if (*nm == rows) {
        each_index(k, put_back, &s);
        return;
    }
    memcpy(z, halves, sizeof *z * (size_t)count);
    *nz = count;
    k->counts = EX_NONE;
}

/* operand_made.c: tiles that warps of the block make: which factors they can be of, and how many
 * rows and pieces a thread has. */
#include "kernel/operand_parts.h"

/* Is the index, or the condition, so many elements further for each of the depth? */
static bool is_linear_in_depth(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (!(x->mask & MASK_R) || (x->kind != INST_LOAD && x->kind != INST_INDEX)) return true;
    return x->kind == INST_LOAD && index_stride(k, x->index, AXIS_R) >= 0;
}

ex operand_in_run(const struct kernel *k, ex e, int n, int i) {
    struct exprs *p = k->ex;
    ex from = k->axis[AXIS_R], to = ex_add(p, ex_mul(p, k->run, ex_const(p, n)), ex_const(p, i));
    return ex_subst(p, e, &from, &to, 1);
}

/* Does the load's guard hold at element i of a run, as far as that depends on the depth? -1: who
 * knows. */
static int guard_in_run(const struct kernel *k, const struct value_node *x, int n, int i) {
    const struct value_node *g = x->guarded ? &k->values.at[x->args[0]] : NULL;
    int64_t holds;
    if (!g || !(g->mask & MASK_R)) return true;
    if (g->kind != INST_INDEX || !ex_is_const(k->ex, operand_in_run(k, g->index, n, i), &holds))
        return -1;
    return holds != 0;
}

bool operand_run(const struct kernel *k, const struct value_node *x, int n, struct run *out) {
    int64_t least = 0, most = 0, at[RUN];
    ex base = EX_NONE;
    if (!k->run) return false;
    for (int a = x->guarded; a < x->n_args; a++)
        if (k->values.at[x->args[a]].mask & MASK_R) return false;
    for (int i = 0; i < n; i++) {
        int holds = guard_in_run(k, x, n, i);
        ex index = operand_in_run(k, x->index, n, i);
        if (holds < 0) return false;
        out->at[i] = holds - 1;
        if (!holds) continue;
        if (base == EX_NONE) base = index;
        if (!ex_is_const(k->ex, ex_sub(k->ex, index, base), &at[i])) return false;
        if (at[i] < least) least = at[i];
        if (at[i] > most) most = at[i];
    }
    if (base == EX_NONE || most - least >= n) return false;
    out->width = (int)(most - least) + 1;
    out->first = ex_add(k->ex, base, ex_const(k->ex, least));
    for (int i = 0; i < n; i++)
        if (!out->at[i]) out->at[i] = (int)(at[i] - least);
    return !(out->width & (out->width - 1)) && ex_divides(k->ex, out->width, out->first);
}

/* Do rows lie apart, and along the depth what is read in vectors? */
static bool is_made_of_runs(const struct kernel *k, const struct operand *o, int depth) {
    enum { MOST_APART = 4 };
    const bool *needed = kernel_parts(k, o->factor);
    bool apart = false;
    struct run run;
    if (o->planes > 1 || dtype_bytes(o->dtype) != 2 || depth % RUN) return false;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        if (!operand_run(k, x, RUN, &run)) return false;
        int64_t step = load_first_step(k, x, o->axis);
        apart |= step < 0 || step > MOST_APART;
    }
    return apart;
}

struct making operand_making(const struct kernel *k, const struct operand *o, int rows, int depth) {
    enum { GROUP = 128, EACH = 8 };
    struct making m = {.rows = rows > GROUP ? rows / GROUP : 1,
                       .parts = rows < GROUP ? GROUP / rows : 1};
    const bool *needed = kernel_parts(k, o->factor);
    m.along = is_made_of_runs(k, o, depth);
    if (m.along) {
        m.parts = depth / RUN;
        m.rows = rows * m.parts / GROUP;
        m.pieces = RUN / EACH;
        return m;
    }
    m.pieces = depth / EACH / m.parts;
    for (value_id v = 0; v <= o->factor; v++)
        if (needed[v] && !is_linear_in_depth(k, v)) m.unrolled = true;
    return m;
}

/* Neighbouring rows have to be neighbours in memory, or nearly. */
const char *operand_unmakeable(const struct kernel *k, const struct operand *o, int rows, int depth,
                               struct arena *a) {
    enum {
        MOST_APART = 4,
        MOST_DEPTH = 384,
        LEAST_ROWS = 32,
        MOST_ROWS = 256,
        EACH = 8,
        THREADS = 128
    };
    const bool *needed = kernel_parts(k, o->factor);
    struct making m = operand_making(k, o, rows, depth);
    bool shared = m.along ? rows * m.parts % THREADS == 0 : !(rows & (rows - 1));
    if (rows < LEAST_ROWS || rows > MOST_ROWS || !shared)
        return arena_printf(a, "tiles of %d rows are not made", rows);
    if (m.along) return NULL;
    if (depth / EACH % m.parts) return "threads cannot share a row of tiles that are made";
    if (m.unrolled && o->depth > MOST_DEPTH)
        return arena_printf(a, "tiles of a depth of %lld are not made; %d is the limit",
                            (long long)o->depth, MOST_DEPTH);
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        if (x->n_args > x->guarded) return "tiles of what is looked up are not made";
        int64_t apart = load_first_step(k, x, o->axis);
        if (apart < 0 || apart > MOST_APART) return "rows of tiles that are made lie apart";
    }
    return NULL;
}

/* Is the image of what is packed at load that much larger than what it is made of? */
static bool is_smaller_made(const struct kernel *k, const struct operand *o) {
    const bool *needed = kernel_parts(k, o->factor);
    double read = 0;
    for (value_id v = 0; v <= o->factor; v++)
        if (needed[v] && k->values.at[v].kind == INST_LOAD)
            read += kernel_bytes_of(k, k->values.at[v].buffer);
    return o->planes == 1 && read * 3 < (double)o->bytes * 2;
}

static bool may_be_made(const struct kernel *k, const struct operand *o, bool fixed) {
    return o->load == NO_VALUE && (!fixed || is_smaller_made(k, o));
}

/* The larger one of those that would be packed in each call, or read as more than they are. */
void choose_made(const struct kernel *k, struct product *p) {
    bool a = may_be_made(k, &p->a, k->a_fixed), b = may_be_made(k, &p->b, k->b_fixed);
    if (!a && !b) return;
    struct operand *o = a && (!b || p->a.bytes > p->b.bytes) ? &p->a : &p->b;
    o->made = true;
    o->along = o->across = false;
    set_image(o, o->depth);
    o->bytes = 0;
}

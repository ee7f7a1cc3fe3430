/* sorted.c: kernels that sort sources by the rows that they land on, for all that add them up:
 *
 *     kernel reduce                            nest sort, of what `target` is made of alone
 *       v0 = load p0[r + 262144]                 v0 = load b1[1, i0]
 *       v2 = eq(v0, x // 64)            ->       by rows: 16384
 *       v4 = where(v2, v3, 0)
 *       v5 = reduce sum v4
 *
 * Its one store is where a source lands; what it writes are the numbers of the sources in the order
 * of their rows, and of each row the place at which its own begin. Kernels whose group has such
 * lists sort nothing (layout_sorts). schedule/sorted.c says who has. */
#include "kernel/builder.h"

/* ---- the nest -------------------------------------------------------------------------------- */

struct copying {
    const struct kernel *k;
    struct nest *to;
    struct arena *arena;
    ex axis;      /* instead of r */
    inst_id *now; /* by value */
};

/* What is `offset` elements behind the first one of a contiguous buffer, by dimension. */
static bool split_offset(struct copying *c, const struct meta *m, ex offset, struct inst *x) {
    struct exprs *e = c->k->ex;
    if (!meta_is_contiguous(e, m)) return false;
    x->n_index = (uint8_t)m->rank;
    for (int d = 0; d < m->rank; d++) {
        ex at = m->size[d] == ex_const(e, 1) ? ex_const(e, 0) : ex_div(e, offset, m->stride[d]);
        x->index[d] = d ? ex_mod(e, at, m->size[d]) : at;
    }
    return true;
}

static bool copy_value(struct copying *c, value_id v) {
    const struct value_node *x = &c->k->values.at[v];
    struct inst i = {.kind = x->kind,
                     .op = x->op,
                     .dtype = x->dtype,
                     .rounds = x->rounds,
                     .guarded = x->guarded,
                     .n_args = x->n_args,
                     .value = x->number,
                     .whole = x->whole,
                     .buffer = x->buffer};
    if (x->mask & ~MASK_R || x->n_args > INST_MAX_ARGS || x->level) return false;
    if (x->kind == INST_SUBSCRIPT) return false; /* an index that is looked up by another one */
    for (int a = 0; a < x->n_args; a++) i.args[a] = c->now[x->args[a]];
    if (x->index) {
        ex at = ex_subst(c->k->ex, x->index, &c->k->axis[AXIS_R], &c->axis, 1);
        i.index[0] = at;
        i.n_index = 1;
        if (x->kind == INST_LOAD &&
            !split_offset(c, &c->k->schedule->loops->buffers.at[x->buffer].meta, at, &i))
            return false;
    }
    c->now[v] = c->to->insts.n;
    vec_push(c->arena, &c->to->insts, i);
    return true;
}

/* What counts nowhere lands on no row. */
static void put_nowhere(struct copying *c, const struct landing *l) {
    enum dtype t = c->k->values.at[l->target].dtype;
    struct inst none = {.kind = INST_CONST, .dtype = t, .value = -1, .whole = -1};
    struct inst where = {.kind = INST_OP, .op = OP_WHERE, .dtype = t, .n_args = 3};
    where.args[0] = c->now[l->unless];
    where.args[l->unless_holds ? 1 : 2] = c->to->insts.n;
    where.args[l->unless_holds ? 2 : 1] = c->now[l->target];
    vec_push(c->arena, &c->to->insts, none);
    vec_push(c->arena, &c->to->insts, where);
}

bool kernel_sort_key(const struct kernel *k, struct arena *a, struct nest *key, const char **text) {
    const struct landing *l = k->landing;
    if (!l || k->limits->kind != DEVICE_CUDA || k->kind != KERNEL_REDUCE) return false;
    ex sources = k->bound[AXIS_R];
    if (!ex_is_const(k->ex, sources, NULL) || !ex_is_const(k->ex, l->rows, NULL)) return false;
    if (kernel_size(k, AXIS_R) < 2) return false;
    if (l->first || l->step > 1) return false; /* rows of a slice, which the key's are not */
    const bool *target = kernel_parts(k, l->target),
               *unless = l->unless != NO_VALUE ? kernel_parts(k, l->unless) : NULL;
    *key = (struct nest){.n_axes = 1, .sorted_rows = l->rows};
    key->axes[0] = key->out_index[0] = ex_index(k->ex, "i0", sources);
    struct copying c = {k, key, a, key->axes[0], NEW_ARRAY(a, inst_id, k->values.n)};
    value_id last = l->unless != NO_VALUE && l->unless > l->target ? l->unless : l->target;
    for (value_id v = 0; v <= last; v++)
        if (((v <= l->target && target[v]) || (unless && v <= l->unless && unless[v])) &&
            !copy_value(&c, v))
            return false;
    if (unless)
        put_nowhere(&c, l);
    else if (c.now[l->target] + 1 != key->insts.n)
        return false;
    struct buf b = buf_new(a);
    ex_print(&b, k->ex, sources);
    buf_puts(&b, " to ");
    ex_print(&b, k->ex, l->rows);
    buf_putc(&b, '\n');
    for (uint32_t i = 0; i < key->insts.n; i++)
        inst_print(&b, k->ex, k->schedule->loops, &key->insts.at[i], i);
    *text = b.p;
    return true;
}

/* ---- kernels --------------------------------------------------------------------------------- */

void find_lists(struct builder *w) {
    struct kernel *k = w->k;
    const struct nest *n = &w->l->nests.at[w->g->members.at[0].nest];
    if (k->landing) k->lists = w->g->lists;
    if (!n->sorted_rows) return;
    struct landing *l = NEW(k->arena, struct landing);
    *l = (struct landing){.equal = NO_VALUE,
                          .target = k->stores.at[0].value,
                          .unless = NO_VALUE,
                          .inner = ex_const(k->ex, 1),
                          .rows = n->sorted_rows};
    k->kind = KERNEL_SORT;
    k->landing = l;
    k->lists = n->out + 1;
}

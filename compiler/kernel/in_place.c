/* in_place.c: an output that lies where an input does.
 *
 *   v0 = load p0[r]        p0 is an input that the program updates, and nobody wants it any more
 *   v9 = ...               when p4 is stored: both are one tensor, which the text calls p4
 *   store p4[r] = v9
 *
 *   v8 = where(v6, v7, v0)           what the program does not change of it stays where it is: a
 *   store p4[r] = v8 if v6           row of a cache is written, and nothing is read
 *
 * Text reads what a tile needs before it stores the tile, phase by phase, and an element belongs to
 * one tile. So it is enough that the kernel reads the input only where it stores the output, and
 * that no phase follows in which it would read it again. */
#include <string.h>

#include "kernel/builder.h"

/* Does the store go over every (x, r) of the kernel? */
static bool covers_axes(const struct kernel *k, const struct store_node *s) {
    for (int a = AXIS_X; a <= AXIS_R; a++) {
        bool one = !k->axis[a] || k->bound[a] == ex_const(k->ex, 1);
        if (!one && !(s->mask & 1 << a)) return false;
    }
    return true;
}

/* Phases after the store's would read elements that have changed. */
static bool is_last(const struct kernel *k, const struct store_node *s) {
    uint8_t level = k->values.at[s->value].level;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].mask & MASK_R && k->values.at[v].level > level) return false;
    return true;
}

static bool read_there_alone(const struct kernel *k, buffer_id input, const struct store_node *s) {
    bool read = false;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD || x->buffer != input) continue;
        if (x->guarded || x->n_args || x->index != s->index) return false;
        read = true;
    }
    return read;
}

bool kernel_update_in_place(struct kernel *k, buffer_id input, buffer_id output) {
    bool by_rows = k->kind == KERNEL_POINTWISE || (k->kind == KERNEL_REDUCE && !k->landing);
    if (!by_rows || k->unrolled) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if (s->buffer != output) continue;
        if (!covers_axes(k, s) || !is_last(k, s) || !read_there_alone(k, input, s)) return false;
        vec_push(k->arena, &k->updates, ((struct update){input, output}));
        return true;
    }
    return false;
}

/* ---- what stays ------------------------------------------------------------------------------ */

static bool is_used_once(const struct kernel *k, value_id v) {
    int uses = 0;
    for (value_id i = v + 1; i < k->values.n; i++)
        for (int a = 0; a < k->values.at[i].n_args; a++) uses += k->values.at[i].args[a] == v;
    for (uint32_t i = 0; i < k->subscripts.n; i++) uses += k->subscripts.at[i].value == v;
    for (uint32_t i = 0; i < k->stores.n; i++) uses += k->stores.at[i].value == v;
    return uses == 1;
}

/* i < 6  ->  6 <= i; EX_NONE: of another condition. */
static ex negation(struct exprs *p, ex e) {
    enum ex_kind kind = e ? ex_kind(p, e) : EX_CONST;
    if (kind != EX_LT && kind != EX_LE) return EX_NONE;
    return ex_compare(p, kind == EX_LT ? EX_LE : EX_LT, ex_rhs(p, e), ex_lhs(p, e));
}

/* Does condition c say what guard g does, where it is `holds`? */
static bool says(const struct kernel *k, value_id c, bool holds, value_id g) {
    const struct value_node *x = &k->values.at[c], *y = &k->values.at[g];
    if (holds && c == g) return true;
    return !holds && x->kind == INST_INDEX && y->kind == INST_INDEX && y->index &&
           negation(k->ex, x->index) == y->index;
}

/* Is argument `rest` of the choice c the input where s stores? */
static bool is_rest(const struct kernel *k, value_id c, int rest, buffer_id input,
                    const struct store_node *s) {
    const struct value_node *choice = &k->values.at[c];
    value_id v = choice->args[rest];
    const struct value_node *x = &k->values.at[v];
    if (x->kind != INST_LOAD || x->buffer != input || x->index != s->index || !is_used_once(k, v))
        return false;
    return x->guarded ? x->n_args == 1 && says(k, choice->args[0], rest == 1, x->args[0])
                      : !x->n_args;
}

static bool is_choice(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_OP && x->op == OP_WHERE && is_used_once(k, v);
}

/* Which arguments of the choices are no rest; how many there are. */
static int find_kept(const struct kernel *k, buffer_id input, struct store_node *s) {
    int n = 0;
    for (value_id v = s->value; n < KEEPS_MOST && is_choice(k, v); n++) {
        int rest = is_rest(k, v, 1, input, s) ? 1 : 2;
        if (rest == 2 && !is_rest(k, v, 2, input, s)) break;
        s->keeps[n] = (uint8_t)(3 - rest);
        v = k->values.at[v].args[3 - rest];
    }
    return n;
}

static int loads_of(const struct kernel *k, buffer_id b) {
    int n = 0;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_LOAD && k->values.at[v].buffer == b;
    return n;
}

/* Choices take no longer what lies there: that is a number nobody sees. */
static void forget_rest(struct kernel *k, const struct store_node *s, buffer_id input, int n) {
    uint32_t kept = 0;
    value_id v = s->value;
    k->bytes_read -= kernel_bytes_of(k, input);
    for (int i = 0; i < n; i++) {
        const struct value_node *choice = &k->values.at[v];
        struct value_node *rest = &k->values.at[choice->args[3 - s->keeps[i]]];
        *rest = (struct value_node){.kind = INST_CONST, .dtype = rest->dtype, .index = EX_NONE};
        v = choice->args[s->keeps[i]];
    }
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] != input) k->buffers.at[kept++] = k->buffers.at[i];
    k->buffers.n = kept;
    find_masks(k);
}

bool kernel_keeps_rest(struct kernel *k, buffer_id input, buffer_id output) {
    bool by_rows = k->kind == KERNEL_POINTWISE || k->kind == KERNEL_REDUCE;
    if (!by_rows || k->unrolled || k->columns) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        struct store_node *s = &k->stores.at[i];
        if (s->buffer != output) continue;
        int n = s->guard ? 0 : find_kept(k, input, s);
        if (n && n == loads_of(k, input)) {
            forget_rest(k, s, input, n);
            return true;
        }
        memset(s->keeps, 0, sizeof s->keeps);
        return false;
    }
    return false;
}

value_id store_condition(const struct kernel *k, const struct store_node *s, int i, bool *holds) {
    value_id v = s->value;
    if (i >= KEEPS_MOST || !s->keeps[i]) return NO_VALUE;
    for (int n = 0; n < i; n++) v = k->values.at[v].args[s->keeps[n]];
    *holds = s->keeps[i] == 1;
    return k->values.at[v].args[0];
}

buffer_id kernel_place_of(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->updates.n; i++)
        if (k->updates.at[i].input == b) return k->updates.at[i].output;
    return b;
}

bool kernel_stores_in_place(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->updates.n; i++)
        if (k->updates.at[i].output == b) return true;
    return false;
}

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

/* ---- what stays ------------------------------------------------------------------------------- */

static bool is_used_once(const struct kernel *k, value_id v) {
    int uses = 0;
    for (value_id i = v + 1; i < k->values.n; i++)
        for (int a = 0; a < k->values.at[i].n_args; a++) uses += k->values.at[i].args[a] == v;
    for (uint32_t i = 0; i < k->subscripts.n; i++) uses += k->subscripts.at[i].value == v;
    for (uint32_t i = 0; i < k->stores.n; i++) uses += k->stores.at[i].value == v;
    return uses == 1;
}

/* Is v the input where s stores? */
static bool is_rest(const struct kernel *k, value_id v, buffer_id input,
                    const struct store_node *s) {
    const struct value_node *x = &k->values.at[v];
    return x->kind == INST_LOAD && x->buffer == input && !x->guarded && !x->n_args &&
           x->index == s->index && is_used_once(k, v);
}

static bool is_read_elsewhere(const struct kernel *k, buffer_id b, value_id but) {
    for (value_id v = 0; v < k->values.n; v++)
        if (v != but && k->values.at[v].kind == INST_LOAD && k->values.at[v].buffer == b)
            return true;
    return false;
}

/* The store of a choice takes no longer what lies there: that is a number nobody sees. */
static void forget_rest(struct kernel *k, struct store_node *s, int rest) {
    value_id v = k->values.at[s->value].args[rest];
    buffer_id input = k->values.at[v].buffer;
    uint32_t n = 0;
    k->bytes_read -= kernel_bytes_of(k, input);
    k->values.at[v] = (struct value_node){
        .kind = INST_CONST, .dtype = k->values.at[v].dtype, .buffer = 0, .index = EX_NONE};
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] != input) k->buffers.at[n++] = k->buffers.at[i];
    k->buffers.n = n;
    s->keeps = (uint8_t)(3 - rest);
    find_masks(k);
}

bool kernel_keeps_rest(struct kernel *k, buffer_id input, buffer_id output) {
    if (k->kind != KERNEL_POINTWISE || k->unrolled || k->columns) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        struct store_node *s = &k->stores.at[i];
        const struct value_node *x = &k->values.at[s->value];
        if (s->buffer != output) continue;
        if (s->guard || x->kind != INST_OP || x->op != OP_WHERE || !covers_axes(k, s) ||
            !is_used_once(k, s->value))
            return false;
        for (int rest = 1; rest <= 2; rest++) {
            if (!is_rest(k, x->args[rest], input, s) || is_read_elsewhere(k, input, x->args[rest]))
                continue;
            forget_rest(k, s, rest);
            return true;
        }
        return false;
    }
    return false;
}

value_id store_condition(const struct kernel *k, const struct store_node *s) {
    return s->keeps ? k->values.at[s->value].args[0] : NO_VALUE;
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

/* in_place.c: an output that lies where an input does.
 *
 *   v0 = load p0[r]        p0 is an input that the program updates, and nobody wants it any more
 *   v9 = ...               when p4 is stored: both are one tensor, which the text calls p4
 *   store p4[r] = v9
 *
 * Text reads what a tile needs before it stores the tile, phase by phase, and an element belongs to
 * one tile. So it is enough that the kernel reads the input only where it stores the output, and
 * that no phase follows in which it would read it again. */
#include "kernel/kernel.h"

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

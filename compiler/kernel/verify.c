/* verify.c: the invariants K1..K5 of kernel.h. */
#include "kernel/kernel.h"

const char *kernel_verify(const struct kernel *k) {
    struct arena *a = k->arena;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        uint8_t level = 0;
        for (int i = 0; i < x->n_args; i++) {
            if (x->args[i] >= v) return arena_printf(a, "K1: v%u uses v%u", v, x->args[i]);
            const struct value_node *u = &k->values.at[x->args[i]];
            if (u->level > level) level = u->level;
            uint8_t needs = x->kind == INST_REDUCE ? u->mask & (uint8_t)~MASK_R : u->mask;
            if ((x->mask & needs) != needs)
                return arena_printf(a, "K2: v%u lacks axes of v%u", v, x->args[i]);
        }
        if (x->level != level + (x->kind == INST_REDUCE))
            return arena_printf(a, "K3: level of v%u", v);
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        uint8_t mask = k->values.at[k->stores.at[i].value].mask;
        if ((k->stores.at[i].mask & mask) != mask)
            return arena_printf(a, "K4: v%u is stored without its axes", k->stores.at[i].value);
        for (uint32_t j = 0; j < i; j++)
            if (k->stores.at[i].buffer == k->stores.at[j].buffer)
                return arena_printf(a, "K5: a buffer is stored twice");
    }
    return k->stores.n ? NULL : "K5: nothing is stored";
}

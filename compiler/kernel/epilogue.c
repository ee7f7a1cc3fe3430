/* epilogue.c: what a product's kernel reduces of its tiles: in which order, what is kept meanwhile,
 * and what warps and tiles leave for each other.
 *
 *     softmax(x @ y, 1): stage 1 the maximum, stage 2 the sum of exp(x - max), which is kept */
#include "kernel/kernel.h"

enum { PIECE = 16 }; /* bytes that what warps leave is a multiple of */

int64_t matrix_results(const struct kernel *k) {
    static const enum axis axes[] = {AXIS_Z, AXIS_M, AXIS_N};
    int64_t n = 1;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (!(k->over >> axes[i] & 1)) n *= kernel_size(k, axes[i]);
    return n;
}

int64_t matrix_partials(const struct kernel *k, const struct layout *y) {
    int64_t n = 1;
    if (k->over & MASK_Z) n *= matrix_tiles(k, y, AXIS_Z);
    if (k->over & MASK_M) n *= matrix_tiles(k, y, AXIS_M) * y->cluster;
    if (k->over & MASK_N) n *= matrix_tiles(k, y, AXIS_N);
    return n;
}

int *epilogue_stages(const struct kernel *k) {
    int *stage = NEW_ARRAY(k->arena, int, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        for (int i = 0; i < x->n_args; i++)
            if (stage[x->args[i]] > stage[v]) stage[v] = stage[x->args[i]];
        stage[v] += x->kind == INST_REDUCE && v != k->dot;
    }
    return stage;
}

bool epilogue_reads_results(const struct kernel *k) {
    if (!k->over) return false;
    int *stage = epilogue_stages(k);
    bool reads = false;
    for (value_id v = 0; v < k->values.n; v++)
        reads |= k->values.at[v].kind == INST_REDUCE && stage[v] > 1;
    for (uint32_t s = 0; s < k->stores.n; s++)
        reads |= k->stores.at[s].mask & k->over && stage[k->stores.at[s].value];
    return reads;
}

bool epilogue_is_online(const struct kernel *k) {
    int *stage = epilogue_stages(k), sums = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        if (k->values.at[v].kind != INST_REDUCE || stage[v] < 2) continue;
        value_id max = stage[v] == 2 ? kernel_online_maximum(k, v) : NO_VALUE;
        if (max == NO_VALUE || stage[max] != 1) return false;
        sums++;
    }
    for (uint32_t s = 0; s < k->stores.n; s++)
        if (k->stores.at[s].mask & k->over && stage[k->stores.at[s].value] == 1) return false;
    return k->over && sums;
}

/* Does v stand on the product otherwise than by way of `kept` or a reduction? */
static bool needs_product(const struct kernel *k, value_id v, value_id kept) {
    const struct value_node *x = &k->values.at[v];
    if (v == kept || (x->kind == INST_REDUCE && v != k->dot)) return false;
    if (v == k->dot) return true;
    for (int i = 0; i < x->n_args; i++)
        if (needs_product(k, x->args[i], kept)) return true;
    return false;
}

value_id epilogue_kept(const struct kernel *k) {
    if (!epilogue_is_online(k)) return NO_VALUE;
    int *stage = epilogue_stages(k);
    value_id kept = NO_VALUE;
    for (value_id v = 0; v < k->values.n; v++) {
        if (k->values.at[v].kind != INST_REDUCE || stage[v] < 2) continue;
        if (kept != NO_VALUE && kept != k->values.at[v].args[0]) return NO_VALUE;
        kept = k->values.at[v].args[0];
    }
    if (dtype_opmath(k->values.at[kept].dtype) != DT_F32) return NO_VALUE;
    for (uint32_t s = 0; s < k->stores.n; s++) {
        value_id v = k->stores.at[s].value;
        if (k->stores.at[s].mask & k->over && stage[v] && needs_product(k, v, kept))
            return NO_VALUE;
    }
    return kept;
}

int exchange_results(const struct kernel *k, const struct layout *y) {
    return (k->over & MASK_M ? 1 : y->bx) * (k->over & MASK_N ? 1 : y->br);
}

int exchange_parts(const struct kernel *k, const struct layout *y) {
    return (k->over & MASK_M ? product_warps(y, AXIS_M) : 1) *
           (k->over & MASK_N ? product_warps(y, AXIS_N) : 1);
}

int exchange_bytes(const struct kernel *k, const struct layout *y, value_id v) {
    int parts = exchange_parts(k, y);
    if (parts == 1) return 0;
    return (int)round_up(parts * exchange_results(k, y) * reduction_bytes(k, v), PIECE);
}

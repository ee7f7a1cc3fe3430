/* epilogue.c: what a product's kernel reduces of its tiles: in which order, what is kept meanwhile,
 * and what warps and tiles leave for each other.
 *
 *     softmax(x @ y, 1): stage 1 the maximum, stage 2 the sum of exp(x - max), which is kept */
#include <math.h>

#include "graph/traits.h"
#include "kernel/kernel.h"

enum { PIECE = 16 }; /* bytes that what warps leave is a multiple of */

int64_t kernel_span(const struct kernel *k, enum axis x) {
    if (!(k->over >> x & 1)) return 1;
    return k->span[x] ? k->span[x] : kernel_size(k, x);
}

bool kernel_has_spans(const struct kernel *k) { return k->span[AXIS_N] != 0; }

bool store_is_of_results(const struct kernel *k, const struct store_node *s) {
    ex from[AXIS_COUNT], to[AXIS_COUNT], in[AXIS_COUNT];
    int n = 0;
    if (!kernel_has_spans(k)) return !(s->mask & k->over);
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!(k->over >> a & 1)) continue;
        int64_t span = kernel_span(k, (enum axis)a), all = kernel_size(k, (enum axis)a) / span;
        ex outer = ex_index(k->ex, "outer", ex_const(k->ex, all));
        in[n] = ex_index(k->ex, "inner", ex_const(k->ex, span));
        from[n] = k->axis[a];
        to[n] = ex_add(k->ex, ex_mul(k->ex, outer, ex_const(k->ex, span)), in[n]);
        n++;
    }
    ex index = ex_subst(k->ex, s->index, from, to, n);
    for (int i = 0; i < n; i++)
        if (ex_uses(k->ex, index, in[i])) return false;
    return true;
}

int64_t matrix_results(const struct kernel *k) {
    static const enum axis axes[] = {AXIS_Z, AXIS_M, AXIS_N};
    int64_t n = 1;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        n *= kernel_size(k, axes[i]) / kernel_span(k, axes[i]);
    return n;
}

/* Pieces of so many columns, a warp's, that those of one result may lie in. */
int64_t matrix_pieces(const struct kernel *k, const struct layout *y) {
    int64_t piece = y->product->warp_columns, span = k->span[AXIS_N];
    return span % piece ? (span + piece - 2) / piece + 1 : span / piece;
}

int64_t matrix_partials(const struct kernel *k, const struct layout *y) {
    int64_t n = 1;
    if (kernel_has_spans(k)) return matrix_pieces(k, y) * kernel_span(k, AXIS_M);
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
        stage[v] += x->kind == INST_REDUCE && !is_first_product(k, v);
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
        reads |= !store_is_of_results(k, &k->stores.at[s]) && stage[k->stores.at[s].value];
    return reads;
}

int epilogue_loads(const struct kernel *k) {
    const unsigned both = MASK_M | MASK_N;
    int n = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        n += x->kind == INST_LOAD && (x->mask & (both | MASK_R)) == both;
    }
    return n;
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
        if (!store_is_of_results(k, &k->stores.at[s]) && stage[k->stores.at[s].value] == 1)
            return false;
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
        if (!store_is_of_results(k, &k->stores.at[s]) && stage[v] && needs_product(k, v, kept))
            return NO_VALUE;
    }
    return kept;
}

double epilogue_size(const struct kernel *k, int phases) {
    double size = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_OP || !(x->mask & MASK_M) || !(x->mask & MASK_N)) continue;
        size += op_size(x->op, x->dtype) * fmax(1, phases - x->level);
    }
    return size;
}

int exchange_results(const struct kernel *k, const struct layout *y) {
    return (k->over & MASK_M ? 1 : y->bx) * (k->over & MASK_N ? 1 : y->br);
}

int exchange_parts(const struct kernel *k, const struct layout *y) {
    if (kernel_has_spans(k)) return 1; /* what a warp has is a part of its own */
    return (k->over & MASK_M ? product_warps(y, AXIS_M) : 1) *
           (k->over & MASK_N ? product_warps(y, AXIS_N) : 1);
}

int exchange_bytes(const struct kernel *k, const struct layout *y, value_id v) {
    int parts = exchange_parts(k, y);
    if (parts == 1) return 0;
    return (int)round_up(parts * exchange_results(k, y) * reduction_bytes(k, v), PIECE);
}

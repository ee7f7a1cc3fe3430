/* skipped.c: tiles of what is between chained products that a mask of data hides whole, and which
 * are left out.
 *
 *     where(ids[m] == ids[n] and n <= m, q k^T, -inf)      softmax of that, times v
 *
 * Where edges.c knows from positions alone what hides terms, as n <= m, blocks have ranges of
 * tiles. What data say is a *question*: a term counts only where a value that is made before any
 * product is so, as ids[m] == ids[n]. Which tiles have such a term a launch before finds out, once
 * for all batches that have the same answers (chained_alike), as heads have: of each tile of rows
 * it leaves a list,
 *
 *     { steps, tile * 2 + whole, ... }       whole: all of its terms count, by all questions
 *
 * of tiles within the range that edges leave. The products' steps go along the list. It has one
 * tile at least: rows that see nothing come to what they come to of hidden terms. */
#include "graph/traits.h"
#include "kernel/builder.h"

/* What is drawn hides elements here and there, and no tile. */
bool may_ask(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    const bool *parts = kernel_parts(k, v);
    if (x->level || x->dtype != DT_BOOL || x->mask & ~(MASK_Z | MASK_M | MASK_N)) return false;
    for (value_id i = 0; i <= v; i++)
        if (parts[i] && k->values.at[i].kind == INST_OP && op_is_random(k->values.at[i].op))
            return false;
    return true;
}

/* Neighbours along z of which e has one value, at least; 0: it has one everywhere. */
static int64_t alike(const struct kernel *k, ex e) {
    ex z = k->axis[AXIS_Z];
    int64_t number;
    enum ex_kind kind = ex_kind(k->ex, e);
    if (!z || !ex_uses(k->ex, e, z)) return 0;
    if (kind == EX_SYM) return 1;
    ex a = ex_lhs(k->ex, e), b = ex_rhs(k->ex, e);
    if (kind == EX_DIV && a == z && ex_is_const(k->ex, b, &number)) return number;
    return common_divisor(alike(k, a), alike(k, b));
}

int64_t chained_alike(const struct kernel *k) {
    int64_t n = 0;
    for (uint32_t i = 0; i < k->questions.n; i++) {
        const bool *parts = kernel_parts(k, k->questions.at[i].value);
        for (value_id v = 0; v <= k->questions.at[i].value; v++) {
            const struct value_node *x = &k->values.at[v];
            bool placed = x->kind == INST_LOAD || x->kind == INST_INDEX;
            if (parts[v] && placed) n = common_divisor(n, alike(k, x->index));
        }
    }
    return n ? n : kernel_size(k, AXIS_Z);
}

int64_t skipped_lists(const struct kernel *k, const struct layout *y) {
    return tile_count(kernel_size(k, AXIS_Z), chained_alike(k)) *
           tile_count(kernel_size(k, AXIS_M), y->bx);
}

int64_t skipped_length(const struct kernel *k, const struct layout *y) {
    return tile_count(kernel_size(k, AXIS_N), y->br) + 1;
}

bool questions_decide(const struct kernel *k, value_id v, bool *holds) {
    for (uint32_t i = 0; i < k->questions.n; i++) {
        const struct asked_value *q = &k->questions.at[i];
        if (q->value == v) return *holds = q->holds, true;
    }
    return false;
}

/* strides.c: in which order the elements of an operator's result lie in memory, as PyTorch's eager
 * operators lay them.
 *
 *   x: f32[8, 4][1, 8]     x + 1: f32[8, 4][1, 8]     so that (x + 1).flatten() copies
 *
 * Only a program sees that, while it runs: by what it asks (stride()), and by what shares memory
 * with what. So nodes of a graph that is being built have these strides; once it is captured they
 * are row-major again, as all that kernels write. */
#include <string.h>

#include "capture/vm.h"

/* Operators that work element by element, and yet write row-major. */
static bool writes_row_major(enum op op) {
    return op == OP_MASKED_FILL || op == OP_LOGSIGMOID || op == OP_BCE_LOGITS || op == OP_KL_DIV;
}

bool strides_are_followed(enum op op) {
    static const enum op others[] = {
        OP_CLONE,     OP_FLIP,       OP_ZEROS_LIKE, OP_ONES_LIKE, OP_EMPTY_LIKE, OP_FULL_LIKE,
        OP_RAND_LIKE, OP_RANDN_LIKE, OP_GELU,       OP_CLAMP,     OP_NAN_TO_NUM, OP_BITWISE_NOT,
        OP_FLOAT,     OP_HALF,       OP_BFLOAT16,   OP_DOUBLE,    OP_LONG,       OP_INT,
        OP_SHORT,     OP_CHAR,       OP_BYTE,       OP_BOOL,      OP_TYPE_AS,    OP_NORMALIZE};
    const struct op_info *info = op_info(op);
    if (info->class == POINTWISE || info->elementwise) return !writes_row_major(op);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == op) return true;
    return false;
}

/* The stride of dimension i of a result of this rank in an operand; 0: there is none, or it is
 * repeated along it. */
static int64_t stride_along(const struct exprs *p, const struct meta *m, int rank, int i) {
    int own = i - (rank - m->rank);
    if (own < 0 || ex_hint(p, m->size[own]) == 1) return 0;
    return ex_hint(p, m->stride[own]);
}

/* By the first operand that tells: does dimension i lie within k (< 0), or around it? */
static int compare(const struct graph *g, const struct node *n, const int64_t *size, int i, int k) {
    for (int a = 0; a < n->n_args; a++) {
        if (n->args[a].kind != ARG_NODE) continue;
        const struct meta *m = &g->nodes.at[n->args[a].node].meta;
        int64_t x = stride_along(g->ex, m, n->meta.rank, i),
                y = stride_along(g->ex, m, n->meta.rank, k);
        if (!x || !y) continue;
        if (x != y) return x < y ? -1 : 1;
        if (size[i] > size[k]) return 1;
    }
    return 0;
}

/* Dimensions from the innermost in memory outward, as at::TensorIterator sorts them. */
static void order_of(const struct graph *g, const struct node *n, int *order) {
    int rank = n->meta.rank;
    int64_t size[WS_MAX_RANK];
    for (int i = 0; i < rank; i++)
        size[i] = ex_hint(g->ex, n->meta.size[i]), order[i] = rank - 1 - i;
    for (int i = 1; i < rank; i++)
        for (int at = i, k = i - 1; k >= 0; k--) {
            int which = compare(g, n, size, order[k], order[at]);
            if (which < 0) break;
            if (which == 0) continue;
            int inner = order[at];
            order[at] = order[k];
            order[k] = inner;
            at = k;
        }
}

static bool all_row_major(const struct graph *g, const struct node *n) {
    for (int a = 0; a < n->n_args; a++)
        if (n->args[a].kind == ARG_NODE &&
            !meta_is_contiguous(g->ex, &g->nodes.at[n->args[a].node].meta))
            return false;
    return true;
}

void strides_follow(struct vm *vm, node_id node) {
    struct graph *g = vm_graph(vm);
    struct node *n = &g->nodes.at[node];
    if (n->meta.rank < 2 || !strides_are_followed(n->op) || all_row_major(g, n) ||
        meta_numel(g->ex, &n->meta) == ex_const(g->ex, 0))
        return;
    int order[WS_MAX_RANK];
    order_of(g, n, order);
    ex step = ex_const(g->ex, 1);
    for (int i = 0; i < n->meta.rank; i++) {
        n->meta.stride[order[i]] = step;
        step = ex_mul(g->ex, step, n->meta.size[order[i]]);
    }
}

node_id strides_as(struct vm *vm, node_id node, const struct meta *m) {
    struct graph *g = vm_graph(vm);
    struct meta want = *m, have = g->nodes.at[node].meta;
    if (!memcmp(have.stride, want.stride, want.rank * sizeof(ex)) ||
        (meta_is_contiguous(g->ex, &have) && meta_is_contiguous(g->ex, &want)))
        return node;
    struct arg args[1] = {arg_node(node)};
    if (!graph_call(g, OP_CONTIGUOUS, args, 1, vm_line(vm), vm->diag, &node)) vm_leave(vm);
    memcpy(g->nodes.at[node].meta.stride, want.stride, want.rank * sizeof(ex));
    return node;
}

/* The dimension whose steps are that long; -1: none, of those that are left. */
static int dim_of_step(const struct meta *m, uint32_t left, ex step) {
    for (int i = 0; i < m->rank; i++)
        if (left >> i & 1 && m->stride[i] == step) return i;
    return -1;
}

bool strides_permute(struct exprs *p, const struct meta *m) {
    ex one = ex_const(p, 1), step = one;
    uint32_t left = 0;
    for (int i = 0; i < m->rank; i++)
        if (m->size[i] != one) left |= 1u << i;
    if (meta_is_contiguous(p, m)) return false;
    while (left) {
        int i = dim_of_step(m, left, step);
        if (i < 0) return false;
        left &= ~(1u << i);
        step = ex_mul(p, step, m->size[i]);
    }
    return true;
}

void strides_forget(struct graph *g) {
    struct diag d = diag_new(g->arena);
    for (node_id i = 0; i < g->nodes.n; i++) {
        struct node *n = &g->nodes.at[i];
        if (n->op != OP_INPUT && !graph_meta(g, n->op, n->args, n->where, &d, &n->meta))
            WS_BUG("%%%s has no type: %s", n->name, d.message);
    }
}

/* reshaped.c: a result that is reshaped across its memory, and multiplied, is stored as it is
 * reshaped:
 *
 *   %o = bmm(%p, %v)                         %o = bmm(%p, %v)
 *   %h = view(%o, [8, 12, 197, 64])          %h = view(%o, [8, 12, 197, 64])
 *   %t = permute(%h, [0, 2, 1, 3])           %t = permute(%h, [0, 2, 1, 3])
 *                                            %c = convert(%t)
 *   %r = view(%t, [1576, 768])               %r = view(%c, [1576, 768])
 *   %y = mm(%r, %w)                          %y = mm(%r, %w)
 *
 * as heads of attention are before they are projected. Rows of a factor that lie in pieces are
 * packed by a launch before the product, which reads and writes them once more; the product before
 * stores what it has in either order at the same cost, while rows of it stay rows. So does what is
 * computed element by element, as the gradient of q, k and v together, which two products read.
 * Who else reads it finds it there. It is what contiguous() does where the user calls it.
 *
 * Needs: a decomposed, simplified graph. */
#include "graph/graph_impl.h"

static bool is_product(const struct node *n) { return n->op == OP_MM || n->op == OP_BMM; }

/* Per node: does a product read it, as it is or turned? */
static bool *find_factors(const struct graph *g) {
    bool *factor = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (node_id n = g->nodes.n; n-- > 0;) {
        const struct node *x = graph_node(g, n);
        bool reads = is_product(x) || (factor[n] && x->op == OP_PERMUTE);
        for (int i = 0; i < x->n_args && reads; i++)
            if (x->args[i].kind == ARG_NODE) factor[x->args[i].node] = true;
    }
    return factor;
}

/* Has it elements of its own that may be stored in another order? A product's, and, unless others
 * read them as they are, those that are computed one by one. */
static bool may_be_stored(const struct graph *g, const uint32_t *uses, node_id n) {
    const struct node *x = graph_node(g, n);
    return is_product(x) || (op_info(x->op)->class == POINTWISE && uses[n] == 1);
}

/* The permutation that view n copies through, of such a result alone, whose last dimension stays;
 * NO_NODE: it is no such view. */
static node_id find_permutation(const struct graph *g, const uint32_t *uses, node_id n) {
    int from[WS_MAX_RANK];
    const struct node *view = graph_node(g, n);
    if (view->op != OP_VIEW) return NO_NODE;
    node_id p = view->args[0].node;
    const struct node *permuted = graph_node(g, p);
    int rank = permuted->meta.rank;
    if (permuted->op != OP_PERMUTE || rank < 2) return NO_NODE;
    permutation_of(g->ex, permuted->op, permuted->args, rank, from);
    if (from[rank - 1] != rank - 1 || meta_is_contiguous(g->ex, &permuted->meta)) return NO_NODE;
    node_id x = permuted->args[0].node;
    while (graph_node(g, x)->op == OP_VIEW) {
        node_id shown = graph_node(g, x)->args[0].node;
        if (uses[shown] != 1) return NO_NODE;
        x = shown;
    }
    /* What is computed is so in one order for all who read it. */
    bool one = uses[p] == 1 || !is_product(graph_node(g, x));
    return one && may_be_stored(g, uses, x) ? p : NO_NODE;
}

static node_id add(struct graph *to, enum op op, node_id x, struct arg second,
                   const struct node *like) {
    struct arg args[] = {arg_node(x), second};
    struct diag d = diag_new(to->arena);
    node_id out;
    if (!graph_call(to, op, args, 2, like->where, &d, &out)) graph_refused(to, "reshaped", &d);
    to->nodes.at[out].origin = like->origin;
    return out;
}

/* c, which is node p of g as it is stored, in the order of p's operand. */
static node_id put_back(struct graph *to, const struct graph *g, node_id p, node_id c) {
    int from[WS_MAX_RANK], rank = graph_node(g, p)->meta.rank;
    ex dims[WS_MAX_RANK];
    permutation_of(g->ex, OP_PERMUTE, graph_node(g, p)->args, rank, from);
    for (int d = 0; d < rank; d++) dims[from[d]] = ex_const(to->ex, d);
    return add(to, OP_PERMUTE, c, arg_ints(to, dims, (uint32_t)rank), graph_node(g, p));
}

struct graph *graph_store_reshaped(struct graph *g) {
    const uint32_t *uses = graph_use_counts(g);
    const bool *factor = find_factors(g);
    bool *returned = NEW_ARRAY(g->arena, bool, g->nodes.n);
    bool *stored = NEW_ARRAY(g->arena, bool, g->nodes.n), any = false;
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) returned[g->outputs.at[i]] = true;
    for (node_id n = 0; n < g->nodes.n; n++) {
        node_id p = factor[n] ? find_permutation(g, uses, n) : NO_NODE;
        if (p == NO_NODE || returned[graph_node(g, p)->args[0].node])
            continue; /* it keeps its strides */
        any = stored[p] = true;
    }
    if (!any) return g;
    struct graph *to = graph_like(g);
    for (node_id n = 0; n < g->nodes.n; n++) {
        map[n] = graph_copy(to, g, n, map);
        if (!stored[n]) continue;
        const struct node *x = graph_node(g, n);
        node_id of = x->args[0].node;
        map[n] = add(to, OP_CONVERT, map[n], arg_dtype(x->meta.dtype), x);
        if (uses[of] > 1) map[of] = put_back(to, g, n, map[n]);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_simplify(to);
}

/* join_pads.c: what is padded with zeros up to each other's edges and added up is concatenated.
 *
 *   %p = constant_pad_nd(%a, [0, 0, 0, 32])        %b1 = mul(%a, 0.5)
 *   %q = constant_pad_nd(%b, [0, 0, 32, 0])        %b2 = mul(%b, 0.5)
 *   %s = add(%p, %q)                               %y = cat([%b1, %b2], 0)
 *   %y = mul(%s, 0.5)
 *
 * The gradient of what was taken apart, as by chunk, glu or a gated unit. Elements of a piece are
 * then computed where the other pieces' are, in one kernel, which stores them where they belong
 * (schedule/pieces.c); a sum over the whole is another iteration space than its pieces have. What
 * is computed on the sum alone, element by element, is computed on the pieces.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing, but for the sign of a zero. */
#include "graph/graph_impl.h"

enum { MOST_PIECES = 16 };

/* What lies behind each other along dim: pads of the old graph, or pieces of the new one. */
struct joined {
    int n, dim;
    node_id at[MOST_PIECES];
};

struct pass {
    const struct graph *from;
    struct graph *to;
    const uint32_t *uses;
    node_id *map;
    const struct joined **joined; /* per node: its pieces; NULL: it is no such sum */
};

/* The only dimension along which zeros are added, and how many before; -1: there is none. */
static int padded_dim(const struct graph *g, const struct node *n, ex *before) {
    const struct node *x = graph_node(g, n->args[0].node);
    int rank = n->meta.rank, dim = -1;
    if (n->op != OP_CONSTANT_PAD || !arg_is_number(g, &n->args[2], 0)) return -1;
    if (x->meta.dtype != n->meta.dtype) return -1;
    for (int d = 0; d < rank; d++) {
        if (x->meta.size[d] == n->meta.size[d]) continue;
        if (dim >= 0) return -1;
        dim = d;
    }
    if (dim < 0) return -1;
    *before = n->args[1].ints.at[2 * (rank - 1 - dim)];
    return dim;
}

/* All that is added up, in any order of additions; false: it is not pads alone, or too many. */
static bool find_terms(const struct pass *s, node_id n, bool whole, struct joined *j) {
    const struct node *x = graph_node(s->from, n);
    if (x->op == OP_CONSTANT_PAD && !whole) {
        if (j->n == MOST_PIECES) return false;
        j->at[j->n++] = n;
        return true;
    }
    bool plain =
        x->op == OP_ADD && (whole || s->uses[n] == 1) && arg_is_number(s->from, &x->args[2], 1);
    for (int i = 0; i < 2 && plain; i++)
        plain = x->args[i].kind == ARG_NODE &&
                meta_same_shape(&graph_node(s->from, x->args[i].node)->meta, &x->meta) &&
                find_terms(s, x->args[i].node, false, j);
    return plain;
}

/* The pieces in the order in which they lie, from edge to edge. */
static const struct joined *find_pieces(const struct pass *s, node_id n) {
    struct exprs *p = s->from->ex;
    struct joined pads = {0}, *j = NEW(s->to->arena, struct joined);
    ex before[MOST_PIECES], reached = ex_const(p, 0);
    if (!find_terms(s, n, true, &pads)) return NULL;
    for (int i = 0; i < pads.n; i++) {
        int dim = padded_dim(s->from, graph_node(s->from, pads.at[i]), &before[i]);
        if (dim < 0 || (i && dim != j->dim)) return NULL;
        j->dim = dim;
    }
    while (j->n < pads.n) {
        int next = 0;
        while (next < pads.n && before[next] != reached) next++;
        if (next == pads.n) return NULL;
        node_id inner = graph_node(s->from, pads.at[next])->args[0].node;
        j->at[j->n++] = s->map[inner];
        reached = ex_add(p, reached, graph_node(s->from, inner)->meta.size[j->dim]);
    }
    return reached == graph_node(s->from, n)->meta.size[j->dim] ? j : NULL;
}

/* Of a sum that is concatenated, and of what is computed on one that nobody else reads. */
static const struct joined *pieces_of(const struct pass *s, node_id n) {
    const struct node *x = graph_node(s->from, n);
    node_id of = only_operand_of(x);
    const struct joined *j = find_pieces(s, n);
    if (j || of == NO_NODE || s->uses[of] != 1 || !s->joined[of]) return j;
    struct joined *computed = NEW(s->to->arena, struct joined);
    *computed = *s->joined[of];
    struct arg *args = NEW_ARRAY(s->to->arena, struct arg, x->n_args);
    for (int k = 0; k < computed->n; k++) {
        for (int a = 0; a < x->n_args; a++)
            args[a] = x->args[a].kind == ARG_NODE ? arg_node(computed->at[k]) : x->args[a];
        computed->at[k] = graph_call_like(s->to, "join pads", x, args);
        s->to->nodes.at[computed->at[k]].origin = x->origin;
    }
    return computed;
}

static node_id concatenate(struct pass *s, node_id n) {
    const struct joined *j = s->joined[n];
    const struct node *x = graph_node(s->from, n);
    struct arg pieces = {.kind = ARG_NODES};
    pieces.nodes.at = NEW_ARRAY(s->to->arena, node_id, (uint32_t)j->n);
    pieces.nodes.n = (uint32_t)j->n;
    for (int k = 0; k < j->n; k++) pieces.nodes.at[k] = j->at[k];
    struct arg args[] = {pieces, arg_int(s->to, j->dim)};
    struct diag d = diag_new(s->to->arena);
    node_id out;
    if (!graph_call(s->to, OP_CAT, args, 2, x->where, &d, &out))
        graph_refused(s->to, "join pads", &d);
    s->to->nodes.at[out].origin = x->origin;
    return out;
}

/* Pads that are left, and concatenations that are computed on in pieces, are read by nobody. */
struct graph *graph_join_pads(struct graph *g) {
    uint32_t n = g->nodes.n;
    struct pass s = {.from = g,
                     .uses = graph_use_counts(g),
                     .map = NEW_ARRAY(g->arena, node_id, n),
                     .joined = NEW_ARRAY(g->arena, const struct joined *, n)};
    bool any = false;
    for (node_id i = 0; i < n; i++) any |= graph_node(g, i)->op == OP_CONSTANT_PAD;
    if (!any) return g;
    s.to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        s.joined[i] = pieces_of(&s, i);
        s.map[i] = s.joined[i] ? concatenate(&s, i) : graph_copy(s.to, g, i, s.map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(s.to->arena, &s.to->outputs, s.map[g->outputs.at[i]]);
    return graph_simplify(s.to);
}

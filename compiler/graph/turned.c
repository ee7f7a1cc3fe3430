/* turned.c: a product that is reduced the other way round is computed the other way round:
 *
 *   %x = bmm(%a, %b)                        %bt = permute(%b, [0, 2, 1])
 *                                           %at = permute(%a, [0, 2, 1])
 *   %v = view(%x, [4, 8, 64, 512])          %x = bmm(%bt, %at)
 *   %p = permute(%v, [0, 1, 3, 2])          %p = view(%x, [4, 8, 512, 64])
 *   %s = sum(%p, 1)                         %s = sum(%p, 1)
 *
 * as is the gradient of keys that several heads share: (q^T ds)^T, summed up over the heads. Who
 * reads the product elsewhere takes it in the order that it stores it in, as another kernel does
 * that reduces it; elements that lie a row apart would be stored one by one, and read so. What is
 * returned or taken element by element turns along with its product anyway (schedule/fuse.c).
 *
 * Needs: a decomposed, simplified graph. */
#include "graph/graph_impl.h"
#include "graph/traits.h"

static bool is_product(const struct node *n) { return n->op == OP_MM || n->op == OP_BMM; }

/* Does it have the last two dimensions of its operand the other way round, and the others as they
 * are? */
static bool turns(const struct graph *g, const struct node *n) {
    int from[WS_MAX_RANK], rank = n->meta.rank;
    if (n->op != OP_PERMUTE || rank < 2) return false;
    permutation_of(g->ex, n->op, n->args, rank, from);
    bool turned = from[rank - 1] == rank - 2 && from[rank - 2] == rank - 1;
    for (int d = 0; d < rank - 2; d++) turned &= from[d] == d;
    return turned;
}

/* A view of as many rows and columns as its operand has. */
static bool keeps_matrices(const struct graph *g, const struct node *n) {
    const struct meta *x = &graph_node(g, n->args[0].node)->meta;
    bool same = n->op == OP_VIEW && n->meta.rank >= 2 && x->rank >= 2;
    for (int i = 1; i <= 2 && same; i++)
        same = n->meta.size[n->meta.rank - i] == x->size[x->rank - i];
    return same;
}

/* Per node: do reductions alone read it, through views? */
static bool *find_reduced(const struct graph *g) {
    enum { NO_READER, REDUCED, OTHERS };
    uint8_t *read = NEW_ARRAY(g->arena, uint8_t, g->nodes.n);
    bool *reduced = NEW_ARRAY(g->arena, bool, g->nodes.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) read[g->outputs.at[i]] = OTHERS;
    for (node_id n = g->nodes.n; n-- > 0;) {
        const struct node *x = graph_node(g, n);
        enum op_class class = op_info(x->op)->class;
        uint8_t by = class == REDUCE ? REDUCED : class == VIEW ? read[n] : OTHERS;
        reduced[n] = read[n] == REDUCED;
        for (int i = 0; i < x->n_args; i++) {
            const node_id *of;
            int count = arg_nodes(&x->args[i], &of);
            for (int k = 0; k < count; k++)
                if (read[of[k]] < by) read[of[k]] = by;
        }
    }
    return reduced;
}

/* The product that n turns, which nobody else reads on the way; NO_NODE: there is none. */
static node_id find_product(const struct graph *g, const uint32_t *uses, node_id n) {
    if (!turns(g, graph_node(g, n))) return NO_NODE;
    node_id x = graph_node(g, n)->args[0].node;
    while (uses[x] == 1 && keeps_matrices(g, graph_node(g, x))) x = graph_node(g, x)->args[0].node;
    return uses[x] == 1 && is_product(graph_node(g, x)) ? x : NO_NODE;
}

struct pass {
    const struct graph *from;
    struct graph *to;
    node_id *map;
    node_id *turned_by; /* per product; NO_NODE: it stays */
    bool *gone;         /* what stands between a product and that, and that */
};

static node_id call(struct graph *to, enum op op, const struct arg *args, int n,
                    const struct node *like) {
    struct diag d = diag_new(to->arena);
    node_id out;
    if (!graph_call(to, op, args, n, like->where, &d, &out)) graph_refused(to, "turned", &d);
    return out;
}

static node_id put_turned(struct graph *to, node_id x, const struct node *like) {
    int rank = graph_node(to, x)->meta.rank;
    ex dims[WS_MAX_RANK];
    for (int d = 0; d < rank; d++) dims[d] = ex_const(to->ex, d);
    dims[rank - 1] = ex_const(to->ex, rank - 2), dims[rank - 2] = ex_const(to->ex, rank - 1);
    struct arg args[] = {arg_node(x), arg_ints(to, dims, (uint32_t)rank)};
    return call(to, OP_PERMUTE, args, 2, like);
}

static void put_product(struct pass *s, node_id n) {
    const struct node *x = graph_node(s->from, n), *like = graph_node(s->from, s->turned_by[n]);
    struct arg factors[] = {arg_node(put_turned(s->to, s->map[x->args[1].node], x)),
                            arg_node(put_turned(s->to, s->map[x->args[0].node], x))};
    node_id product = call(s->to, x->op, factors, 2, x);
    s->to->nodes.at[product].origin = x->origin;
    struct arg view[] = {arg_node(product),
                         arg_ints(s->to, like->meta.size, (uint32_t)like->meta.rank)};
    s->map[s->turned_by[n]] = call(s->to, OP_VIEW, view, 2, like);
}

struct graph *graph_turn_products(struct graph *g) {
    const uint32_t *uses = graph_use_counts(g);
    const bool *reduced = find_reduced(g);
    struct pass s = {.from = g,
                     .map = NEW_ARRAY(g->arena, node_id, g->nodes.n),
                     .turned_by = NEW_ARRAY(g->arena, node_id, g->nodes.n),
                     .gone = NEW_ARRAY(g->arena, bool, g->nodes.n)};
    bool any = false;
    for (node_id n = 0; n < g->nodes.n; n++) {
        node_id x = reduced[n] ? find_product(g, uses, n) : NO_NODE;
        s.turned_by[n] = NO_NODE;
        if (x == NO_NODE) continue;
        s.turned_by[x] = n;
        for (node_id v = n; v != x; v = graph_node(g, v)->args[0].node) s.gone[v] = true;
        any = true;
    }
    if (!any) return g;
    s.to = graph_like(g);
    for (node_id n = 0; n < g->nodes.n; n++) {
        if (s.turned_by[n] != NO_NODE)
            put_product(&s, n);
        else if (!s.gone[n])
            s.map[n] = graph_copy(s.to, g, n, s.map);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(s.to->arena, &s.to->outputs, s.map[g->outputs.at[i]]);
    return graph_simplify(s.to);
}

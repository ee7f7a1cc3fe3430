/* tanh_softplus.c: the tanh of a softplus, as in mish, is a quotient.
 *
 *   %e = exp(%x)                                   %low = minimum(%x, 20)
 *   %l = log1p(%e)                                 %e = exp(%low)
 *   %g = gt(%x, 20)                                %more = add(%e, 2)
 *   %w = where(%g, %x, %l)                         %n = mul(%e, %more)
 *   %t = tanh(%w)                                  %below = add(%n, 2)
 *                                                  %t = div(%n, %below)
 *
 * With e = exp(x) it is (e^2 + 2 e) / (e^2 + 2 e + 2), a third of the instructions of a logarithm
 * and a tanh. From 20 on both are 1 in f32 and in f64, and e^2 would overflow further up, as e^40
 * does in f16.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing; values change by roundings. */
#include "graph/graph_impl.h"

enum { HIGH = 20 };

/* Operand i of n, if that is what `op` makes of something; or NULL. */
static const struct node *made_by(const struct graph *g, const struct node *n, int i, enum op op) {
    if (n->args[i].kind != ARG_NODE) return NULL;
    const struct node *x = graph_node(g, n->args[i].node);
    return x->op == op ? x : NULL;
}

/* x of log1p(exp(x)), which operand i of n is; or NO_NODE. */
static node_id softplus_of(const struct graph *g, const struct node *n, int i,
                           const uint32_t *uses) {
    const struct node *log = made_by(g, n, i, OP_LOG1P);
    const struct node *exp = log ? made_by(g, log, 0, OP_EXP) : NULL;
    return exp && uses[n->args[i].node] == 1 ? exp->args[0].node : NO_NODE;
}

/* The same with a threshold, above which it is x; one so low that this shows stays. */
static node_id linear_softplus_of(const struct graph *g, const struct node *n,
                                  const uint32_t *uses) {
    const int LOWEST = 15;
    const struct node *where = made_by(g, n, 0, OP_WHERE);
    const struct node *above = where ? made_by(g, where, 0, OP_GT) : NULL;
    if (!above || uses[n->args[0].node] != 1 || where->args[1].kind != ARG_NODE) return NO_NODE;
    node_id x = softplus_of(g, where, 2, uses);
    bool of_x = x != NO_NODE && where->args[1].node == x && above->args[0].kind == ARG_NODE &&
                above->args[0].node == x;
    bool known = above->args[1].kind == ARG_FLOAT ||
                 (above->args[1].kind == ARG_INT && ex_is_const(g->ex, above->args[1].i, NULL));
    return of_x && known && arg_number(g, &above->args[1]) >= LOWEST ? x : NO_NODE;
}

/* x, if n is tanh(softplus(x)) of a type that has exp(2 HIGH); or NO_NODE. */
static node_id find(const struct graph *g, const struct node *n, const uint32_t *uses) {
    if (n->op != OP_TANH || (n->meta.dtype != DT_F32 && n->meta.dtype != DT_F64)) return NO_NODE;
    node_id x = softplus_of(g, n, 0, uses);
    if (x == NO_NODE) x = linear_softplus_of(g, n, uses);
    return x != NO_NODE && graph_node(g, x)->meta.dtype == n->meta.dtype ? x : NO_NODE;
}

static node_id call(struct graph *to, const struct node *like, enum op op, struct arg a,
                    struct arg b) {
    struct diag d = diag_new(to->arena);
    struct arg args[] = {a, b, arg_int(to, 1)}; /* alpha of add */
    node_id out;
    if (!graph_call(to, op, args, op == OP_ADD ? 3 : op == OP_EXP ? 1 : 2, like->where, &d, &out))
        graph_refused(to, "tanh of softplus", &d);
    return out;
}

static node_id put_quotient(struct graph *to, const struct node *n, node_id x) {
    node_id low = call(to, n, OP_MINIMUM, arg_node(x), arg_int(to, HIGH));
    node_id e = call(to, n, OP_EXP, arg_node(low), arg_node(low));
    node_id more = call(to, n, OP_ADD, arg_node(e), arg_int(to, 2));
    node_id top = call(to, n, OP_MUL, arg_node(e), arg_node(more));
    node_id below = call(to, n, OP_ADD, arg_node(top), arg_int(to, 2));
    return call(to, n, OP_DIV, arg_node(top), arg_node(below));
}

struct graph *graph_divide_softplus(struct graph *g) {
    uint32_t n = g->nodes.n, found = 0;
    const uint32_t *uses = graph_use_counts(g);
    node_id *x = NEW_ARRAY(g->arena, node_id, n), *map = NEW_ARRAY(g->arena, node_id, n);
    for (node_id i = 0; i < n; i++) found += (x[i] = find(g, graph_node(g, i), uses)) != NO_NODE;
    if (!found) return g;
    struct graph *to = graph_like(g);
    for (node_id i = 0; i < n; i++)
        map[i] = x[i] == NO_NODE ? graph_copy(to, g, i, map)
                                 : put_quotient(to, graph_node(g, i), map[x[i]]);
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return graph_simplify(to); /* what nobody reads any more goes */
}

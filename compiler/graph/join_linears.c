/* join_linears.c: linear layers of one input become one, whose weights are put together at load.
 *
 *   %q = linear(%x, %wq); %k = linear(%x, %wk); %v = linear(%x, %wv)      # [T, 2048], 2 x [T, 512]
 *   ->  %w = cat([%wq, %wk, %wv]);  %y = linear(%x, %w)                   # [T, 3072]
 *       %q = %y[:, 0:2048]; %k = %y[:, 2048:2560]; %v = %y[:, 2560:3072]
 *
 * One product reads the input once, and has tiles enough for a device that each of them leaves
 * partly idle: queries, keys and values; keys and values of cross attention; modulations of several
 * blocks by one condition. What is made of parameters alone is made once where these stay the same,
 * so the weights cost memory and no time.
 *
 * A result is then a slice of a wider one in memory. So a layer stays by itself where its kernel
 * would go on with the result: an output of the program is stored in its place by the product, and
 * what only elementwise operators of the same size read, as silu(gate) * up, is computed behind it.
 *
 * Halves of one layer that meet again, as in h * gelu(gate), stay one: as two layers, the second of
 * which goes on with the first one's result, they took an H200 111.6 us for 109.3.
 *
 * Pays where the one takes less than all of them, which whoever asks knows. Needs: a captured,
 * simplified graph. Keeps: values, but for the order of a product's sums. */
#include "graph/decompose.h"
#include "graph/graph_impl.h"
#include "graph/traits.h"

#define NONE UINT32_MAX

enum { MOST_JOINED = 16 };

/* Layers of one input, in the graph's order. */
struct joint {
    node_id at[MOST_JOINED];
    int n;
    node_id made; /* the one that all became, in the new graph; NONE: not yet */
};

/* Of each node, whether it is made of parameters and buffers that stay, and of numbers; `narrow`:
 * of elements of fewer bytes than its own, as quantised weights are, which calls had better read as
 * they are. */
struct known {
    bool *fixed, *narrow;
};

static struct known find_fixed(const struct graph *g) {
    struct known is = {NEW_ARRAY(g->arena, bool, g->nodes.n),
                       NEW_ARRAY(g->arena, bool, g->nodes.n)};
    for (uint32_t i = 0; i < g->inputs.n; i++)
        is.fixed[g->inputs.at[i].node] = graph_input_fixed(g, &g->inputs.at[i]);
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = graph_node(g, id);
        if (n->op == OP_INPUT || n->op == OP_LOOP || op_is_random(n->op)) continue;
        is.fixed[id] = true;
        for (int i = 0; i < n->n_args; i++) {
            const node_id *of;
            for (int k = arg_nodes(&n->args[i], &of); k-- > 0;) {
                is.fixed[id] &= is.fixed[of[k]];
                is.narrow[id] |= is.narrow[of[k]] || dtype_bytes(graph_node(g, of[k])->meta.dtype) <
                                                         dtype_bytes(n->meta.dtype);
            }
        }
    }
    return is;
}

/* ---- which layers can be one ---------------------------------------------------------------- */

/* Two have no function of numbers in ops.def. */
static bool is_elementwise(const struct node *n) {
    return op_info(n->op)->elementwise || n->op == OP_GELU || n->op == OP_CLAMP;
}

/* Is each element of n's result made of one of the operand's, in whatever place? */
static bool goes_on(const struct graph *g, const struct node *n, node_id operand) {
    return (is_elementwise(n) || op_keeps_elements(n->op)) &&
           meta_numel(g->ex, &n->meta) == meta_numel(g->ex, &graph_node(g, operand)->meta);
}

static bool is_output(const struct graph *g, node_id id) {
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i] == id) return true;
    return false;
}

/* x times a number, which goes along with slices, or behind the next product (scales_last.c). */
static bool is_scaling(const struct node *n) {
    return (n->op == OP_MUL || n->op == OP_DIV) && n->args[0].kind == ARG_NODE &&
           (n->args[1].kind == ARG_INT || n->args[1].kind == ARG_FLOAT);
}

/* Does n, which does not go on with all of the operand element by element, read it from memory: a
 * product, a part, or what makes more of it? Reductions of rows may go along with the product. */
static bool reads_memory(const struct node *n) {
    enum op_takes takes = op_takes(n->op);
    return op_info(n->op)->class == VIEW || is_elementwise(n) || takes == TAKES_PRODUCT ||
           takes == TAKES_ATTENTION;
}

/* Is what a layer makes stored as it is, in memory that is no output's? */
static bool is_stored_anyway(const struct graph *g, node_id layer) {
    bool *same = NEW_ARRAY(g->arena, bool, g->nodes.n), stored = false; /* the layer's elements */
    same[layer] = true;
    for (node_id id = layer; id < g->nodes.n; id++) {
        const struct node *n = graph_node(g, id);
        for (int i = 0; id != layer && i < n->n_args; i++) {
            const node_id *of;
            for (int k = arg_nodes(&n->args[i], &of); k-- > 0;) {
                if (!same[of[k]]) continue;
                bool on = goes_on(g, n, of[k]);
                stored |= !on && reads_memory(n);
                same[id] |= on && (op_keeps_elements(n->op) || is_scaling(n));
            }
        }
        if (same[id] && is_output(g, id)) return false;
    }
    return stored;
}

/* Do elements of both come together, one by one? */
static bool meet(const struct graph *g, node_id a, node_id b) {
    enum { A = 1, B = 2 };
    uint8_t *of = NEW_ARRAY(g->arena, uint8_t, g->nodes.n);
    of[a] = A, of[b] = B;
    for (node_id id = a + 1; id < g->nodes.n; id++) {
        const struct node *n = graph_node(g, id);
        for (int i = 0; id != b && i < n->n_args; i++) {
            const node_id *x;
            for (int k = arg_nodes(&n->args[i], &x); k-- > 0;)
                if (of[x[k]] && goes_on(g, n, x[k])) of[id] |= of[x[k]];
        }
        if (of[id] == (A | B)) return true;
    }
    return false;
}

/* A layer whose weight, and bias, stay, of sizes that are known. */
static bool is_layer(const struct graph *g, node_id id, const struct known *is) {
    const struct node *n = graph_node(g, id);
    if (n->op != OP_LINEAR || is->fixed[n->args[0].node]) return false;
    if (!is->fixed[n->args[1].node] || is->narrow[n->args[1].node]) return false;
    if (n->args[2].kind == ARG_NODE && !is->fixed[n->args[2].node]) return false;
    const struct meta *w = &graph_node(g, n->args[1].node)->meta;
    return w->rank == 2 && n->meta.rank >= 2;
}

/* What the layers have in common: type, and whether there is a bias. */
static bool alike(const struct graph *g, const struct node *a, const struct node *b) {
    return a->args[0].node == b->args[0].node && a->meta.dtype == b->meta.dtype &&
           graph_node(g, a->args[1].node)->meta.dtype ==
               graph_node(g, b->args[1].node)->meta.dtype &&
           (a->args[2].kind != ARG_NODE || b->args[2].kind != ARG_NODE ||
            graph_node(g, a->args[2].node)->meta.dtype ==
                graph_node(g, b->args[2].node)->meta.dtype);
}

/* ---- what they become ----------------------------------------------------------------------- */

static ex columns_of(const struct graph *g, node_id layer) {
    const struct meta *m = &graph_node(g, layer)->meta;
    return m->size[m->rank - 1];
}

/* The bias of a layer, or zeros, if any of them has one. */
static node_id bias_of(struct build *b, const struct graph *g, node_id layer, const node_id *map) {
    const struct node *n = graph_node(g, layer);
    if (n->args[2].kind == ARG_NODE) return map[n->args[2].node];
    struct meta m = {.dtype = n->meta.dtype, .rank = 1, .size = {columns_of(g, layer)}};
    meta_contiguous(b->g->ex, &m);
    return full(b, &m, 0);
}

/* One layer for all; map: of g's inputs, weights and biases in the new graph. */
static node_id make_joint(struct build *b, const struct graph *g, const struct joint *j,
                          const node_id *map) {
    node_id weights[MOST_JOINED], biases[MOST_JOINED];
    bool any = false;
    for (int i = 0; i < j->n; i++) any |= graph_node(g, j->at[i])->args[2].kind == ARG_NODE;
    for (int i = 0; i < j->n; i++) {
        weights[i] = map[graph_node(g, j->at[i])->args[1].node];
        if (any) biases[i] = bias_of(b, g, j->at[i], map);
    }
    uint32_t n = (uint32_t)j->n;
    return call(b, OP_LINEAR, arg_node(map[graph_node(g, j->at[0])->args[0].node]),
                arg_node(concat_many(b, weights, n, 0)),
                any ? arg_node(concat_many(b, biases, n, 0)) : arg_none());
}

/* The result of layer i of them. */
static node_id result_of(struct build *b, const struct graph *g, const struct joint *j, int i) {
    ex begin = ex_const(g->ex, 0);
    for (int k = 0; k < i; k++) begin = ex_add(g->ex, begin, columns_of(g, j->at[k]));
    return cut(b, j->made, graph_node(g, j->at[i])->meta.rank - 1, begin,
               ex_add(g->ex, begin, columns_of(g, j->at[i])));
}

/* The layers alone, as they are or as one: the input an argument, the rest parameters. */
static struct graph *alone(const struct graph *g, const struct joint *j, bool as_one) {
    struct graph *a = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    const struct node *first = graph_node(g, j->at[0]);
    map[first->args[0].node] =
        graph_input(a, "x", INPUT_ARG, "x", &graph_node(g, first->args[0].node)->meta, a->inputs.n);
    for (int i = 0; i < j->n; i++) {
        const struct node *n = graph_node(g, j->at[i]);
        for (int k = 1; k < 3; k++)
            if (n->args[k].kind == ARG_NODE)
                map[n->args[k].node] =
                    graph_input(a, "w", INPUT_PARAMETER, "w", &graph_node(g, n->args[k].node)->meta,
                                a->inputs.n);
    }
    if (as_one) {
        struct build b = {a, first->where};
        vec_push(a->arena, &a->outputs, make_joint(&b, g, j, map));
    }
    for (int i = 0; !as_one && i < j->n; i++)
        vec_push(a->arena, &a->outputs, graph_copy(a, g, j->at[i], map));
    return a;
}

/* The layers that can be one with `first`, and are not in another joint yet. */
static struct joint find_joint(const struct graph *g, node_id first, const struct known *is,
                               const uint32_t *of) {
    struct joint j = {.n = 0, .made = NONE};
    for (node_id id = first; id < g->nodes.n && j.n < MOST_JOINED; id++) {
        bool fits = of[id] == NONE && is_layer(g, id, is) &&
                    alike(g, graph_node(g, first), graph_node(g, id)) && is_stored_anyway(g, id);
        for (int i = 0; fits && i < j.n; i++) fits = !meet(g, j.at[i], id);
        if (fits)
            j.at[j.n++] = id;
        else if (id == first)
            break;
    }
    return j;
}

/* The graph anew: inputs, then what is fixed, which any layer may need, then the others. */
static struct graph *rebuilt(const struct graph *g, struct joint *joints, const uint32_t *of,
                             const bool *fixed) {
    struct graph *to = graph_like(g);
    node_id *map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    enum { INPUTS, FIXED, OTHERS, PASSES };
    for (int pass = 0; pass < PASSES; pass++)
        for (node_id id = 0; id < g->nodes.n; id++) {
            const struct node *n = graph_node(g, id);
            if (pass != (n->op == OP_INPUT ? INPUTS : fixed[id] ? FIXED : OTHERS)) continue;
            if (of[id] == NONE) {
                map[id] = graph_copy(to, g, id, map);
                continue;
            }
            struct build b = {to, n->where};
            struct joint *j = &joints[of[id]];
            int i = 0;
            if (j->made == NONE) j->made = make_joint(&b, g, j, map);
            while (j->at[i] != id) i++;
            map[id] = result_of(&b, g, j, i);
        }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(to->arena, &to->outputs, map[g->outputs.at[i]]);
    return to;
}

struct graph *graph_join_linears(struct graph *g, graph_us_fn *us, void *ctx) {
    uint32_t n_joints = 0;
    if (!g->fixed) return g;
    struct known is = find_fixed(g);
    uint32_t *of = NEW_ARRAY(g->arena, uint32_t, g->nodes.n);
    struct joint *joints = NEW_ARRAY(g->arena, struct joint, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++) of[id] = NONE;
    for (node_id id = 0; id < g->nodes.n; id++) {
        if (of[id] != NONE || !is_layer(g, id, &is)) continue;
        struct joint j = find_joint(g, id, &is, of);
        if (j.n < 2 || us(alone(g, &j, true), ctx) >= us(alone(g, &j, false), ctx)) continue;
        for (int i = 0; i < j.n; i++) of[j.at[i]] = n_joints;
        joints[n_joints++] = j;
    }
    return n_joints ? rebuilt(g, joints, of, is.fixed) : g;
}

/* derivatives_convolution.c: the gradients of a convolution are convolutions. Of
 *
 *   y[n,g,f,o] = sum over c, k of w[g,f,c,k] x[n,g,c,i]
 *       where i = o*stride - padding + k*dilation
 *
 *   d x[n,g,c,i] = sum over f, k of w[g,f,c,k] grad[n,g,f,o]
 *       transposed: the o that belongs to i and k
 *   d w[g,f,c,k] = sum over n, o of grad[n,g,f,o] x[n,g,c,i]
 *       k slides and o is the tap: stride and dilation change places, and so do n and c
 *
 * and of a transposed one, in which i and o change places, the same the other way round. */
#include "graph/derivatives.h"

static struct arg sizes_from(struct backprop *p, node_id x, int first) {
    const struct meta *m = meta_of(p->b, x);
    return arg_ints(p->b->g, m->size + first, (uint32_t)(m->rank - first));
}

/* Dimensions 0, 1 and 2 in another order; those that slide stay. */
static node_id lead(struct backprop *p, node_id x, int a, int b, int c) {
    return reorder(p->b, x, (int[]){a, b, c, 3, 4, 5});
}

enum derivative_answer derivative_convolve(struct backprop *p, int param, node_id *out) {
    struct arg *a = p->node.args;
    node_id x = a[0].node, w = a[1].node, grad = p->grad;
    bool transposed = a[5].b;
    if (param == 0) {
        *out = call(p->b, OP_CONVOLVE, arg_node(grad), arg_node(lead(p, w, 0, 2, 1)), a[2], a[3],
                    a[4], arg_bool(!transposed), sizes_from(p, x, 3));
        return GRADIENT;
    }
    /* what slides over whom: [C, G, N, I] with [G, F, N, O]; transposed [F, G, N, O] with [G, C, N,
     * I] */
    node_id over = transposed ? grad : x, window = transposed ? x : grad;
    node_id r = call(p->b, OP_CONVOLVE, arg_node(lead(p, over, 2, 1, 0)),
                     arg_node(lead(p, window, 1, 2, 0)), a[4], a[3], a[2], arg_bool(false),
                     sizes_from(p, w, 3));
    *out = transposed ? lead(p, r, 1, 0, 2) : lead(p, r, 1, 2, 0); /* [F, G, C], [C, G, F] */
    return GRADIENT;
}

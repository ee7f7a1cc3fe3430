/* decompose_convolution.c: a convolution as one product over windows, the groups a dimension.
 *
 *   convolution(x, w, bias, stride=2, groups=4)
 *   ->  view(convolve(view(x, [N, 4, C/4, S]), view(w, [4, F/4, C/4, K]), ...), [N, F, O])
 *       + view(bias, [F, 1]) */
#include "graph/decompose.h"

static struct arg entries(const struct build *b, const struct arg *a, int n) {
    ex at[3];
    for (int k = 0; k < n; k++) at[k] = a->ints.at[a->ints.n == 1 ? 0 : k];
    return arg_ints(b->g, at, (uint32_t)n);
}

/* x [.., C, S..] as [N, groups, C / groups, S..]; without a batch, N is 1. */
static node_id grouped(struct build *b, node_id x, int n, ex groups) {
    const struct meta from = *meta_of(b, x);
    int channels = from.rank - n - 1;
    struct meta to = {.rank = (uint8_t)(n + 3)};
    to.size[0] = channels ? from.size[0] : ex_const(b->g->ex, 1);
    to.size[1] = groups;
    to.size[2] = ex_div(b->g->ex, from.size[channels], groups);
    for (int k = 0; k < n; k++) to.size[3 + k] = from.size[channels + 1 + k];
    return reshape(b, x, &to);
}

/* w [F, C / groups, K..] as [groups, F / groups, C / groups, K..]; a transposed convolution's is
 * [C, F / groups, K..]. */
static node_id grouped_weight(struct build *b, node_id w, ex groups, bool transposed) {
    const struct meta from = *meta_of(b, w);
    struct meta to = {.rank = (uint8_t)(from.rank + 1)};
    to.size[0] = groups;
    to.size[1] = ex_div(b->g->ex, from.size[0], groups);
    for (int k = 1; k < from.rank; k++) to.size[k + 1] = from.size[k];
    w = reshape(b, w, &to);
    return transposed ? reorder(b, w, (int[]){0, 2, 1, 3, 4, 5}) : w;
}

node_id expand_convolution(struct build *b, const struct node *n) {
    int spatial = (int)number_of(b, &n->args[9]), rank = n->meta.rank;
    ex groups = n->args[8].i;
    struct arg size = arg_ints(b->g, n->meta.size + rank - spatial, (uint32_t)spatial);
    node_id y = call(b, OP_CONVOLVE, arg_node(grouped(b, n->args[0].node, spatial, groups)),
                     arg_node(grouped_weight(b, n->args[1].node, groups, n->args[6].b)),
                     entries(b, &n->args[3], spatial), entries(b, &n->args[4], spatial),
                     entries(b, &n->args[5], spatial), n->args[6], size);
    y = reshape(b, y, &n->meta);
    if (n->args[2].kind != ARG_NODE) return y;
    struct meta column = {.rank = (uint8_t)(spatial + 1)};
    column.size[0] = n->meta.size[rank - spatial - 1];
    for (int k = 0; k < spatial; k++) column.size[k + 1] = ex_const(b->g->ex, 1);
    return binary(b, OP_ADD, y, reshape(b, n->args[2].node, &column));
}

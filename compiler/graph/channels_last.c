/* channels_last.c: images between convolutions, with the channels of a pixel side by side.
 *
 *   %c: bf16[64, 1, 64, 56, 56] = convolve(...)      %c: bf16[64, 1, 64, 56, 56] = convolve(...)
 *   %v: bf16[64, 64, 56, 56] = view(%c)              %v: bf16[64, 64, 56, 56] = view(%c)
 *                                                    %p: bf16[64, 56, 56, 64] = permute(%v)
 *                                                    %l: bf16[64, 56, 56, 64] = convert(%p)
 *   %r: bf16[64, 64, 56, 56] = relu(%v)              %r: bf16[64, 56, 56, 64] = relu(%l)
 *                                                    %f: bf16[64, 64, 56, 56] = permute(%r)
 *   %w: ... = view(%r); convolve(%w, ...)            %w: ... = view(%f); convolve(%w, ...)
 *
 * Tensor maps bring windows of an image whose channels are innermost from where it lies; any other
 * one is packed first, which writes and reads it once more. What a node stores lies in the order of
 * its dimensions, so these are put into another order, and views give them back to whoever reads
 * them. Convolutions, elementwise operators of whole images and pools over windows that hang
 * together change their order together, or none of them does: each convolution that reads one saves
 * a pass, and each image beside them that lies otherwise costs something, as inputs and outputs do,
 * which keep the order that the user gave them. Images of f32 are copied as they lie where products
 * are in tf32, along the channels alone: those of 1 x 1 convolutions, too, and not by gradients of
 * weights, which sum over pixels. What costs nothing then follows whom it is linked
 * to by operators among the pixels of a channel: the gradient of a pool, by places in windows of an
 * image that moves. Depthwise convolutions go along rows of pixels.
 *
 * Needs: a decomposed, simplified graph. Keeps: values. A conversion of a permutation to its own
 * type is how a convolution's result is stored in that order: simplify.c leaves what changes
 * strides. */
#include <math.h>

#include "graph/graph_impl.h"

enum {
    LEAST_RANK = 3,
    CHANNELS = 1, /* which dimension they are */
    SUMMED = 2,   /* which dimension of a convolution's arguments, that groups stand before */
    UNIT = 16,    /* bytes that tensor maps take */
};

struct pass {
    const struct graph *from;
    struct graph *to;
    node_id *above;        /* union-find over those that may move; NO_NODE: it may not */
    node_id *counted;      /* the root that has counted this leaf */
    double *saved, *costs; /* by root, in bytes */
    bool *made;            /* by node: a convolution or a pool of a group that may move stores it */
    bool *sums;            /* by node: a sum over an image that may move, or made of one */
    bool *link, *moves;    /* by node, by root */
    node_id *map;          /* of each node, what has its dimensions in `to` */
    node_id *last;         /* and what has them in the other order; NO_NODE */
};

static const struct node *node_at(const struct pass *s, node_id n) { return &s->from->nodes.at[n]; }

static bool same_sizes(const struct meta *a, const struct meta *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++) same = a->size[i] == b->size[i];
    return same;
}

static double bytes_of(const struct pass *s, const struct meta *m) {
    return (double)dtype_bytes(m->dtype) * (double)ex_hint(s->from->ex, meta_numel(s->from->ex, m));
}

/* Is it [N, C, ...] of known sizes, with channels and pixels? */
static bool is_image(const struct pass *s, const struct meta *m) {
    int64_t size, pixels = 1;
    if (m->rank < LEAST_RANK) return false;
    for (int i = 0; i < m->rank; i++) {
        if (!ex_is_const(s->from->ex, m->size[i], &size) || size < 1) return false;
        if (i == CHANNELS && size == 1) return false;
        if (i > CHANNELS) pixels *= size;
    }
    return pixels > 1;
}

static bool is_convolution(enum op op) { return op == OP_CONVOLVE || op == OP_CONVOLVE_PHASES; }

/* One filter a group: arithmetic along rows of pixels. */
static bool is_depthwise(const struct pass *s, const struct node *n) {
    const struct meta *w = &node_at(s, n->args[1].node)->meta;
    return w->size[1] == ex_const(s->from->ex, 1) || w->size[2] == ex_const(s->from->ex, 1);
}

/* And not the same channel for all filters, of which neighbours are vectors. */
static bool has_own_filters(const struct pass *s, const struct node *n) {
    const struct meta *w = &node_at(s, n->args[1].node)->meta;
    return is_depthwise(s, n) && w->size[0] != ex_const(s->from->ex, 1);
}

/* Are images of that type multiplied as they are stored? */
static bool is_multiplied(const struct pass *s, enum dtype t) {
    return dtype_bytes(t) == 2 || (t == DT_F32 && s->from->convolutions == PRECISION_TF32);
}

/* A convolution's result without its dimension of groups. */
static bool shows_convolution(const struct pass *s, const struct node *n) {
    if (n->op != OP_VIEW || !is_image(s, &n->meta)) return false;
    const struct node *x = node_at(s, n->args[0].node);
    if (x->op != OP_CONVOLVE || is_depthwise(s, x) || x->meta.rank != n->meta.rank + 1)
        return false;
    for (int i = 0; i < n->meta.rank; i++)
        if (i != CHANNELS && n->meta.size[i] != x->meta.size[i + (i > CHANNELS)]) return false;
    return is_multiplied(s, n->meta.dtype);
}

/* The image that a pool reduces windows of: all its last dimensions. NO_NODE: it is no pool. */
static node_id pooled(const struct pass *s, const struct node *n) {
    if (op_info(n->op)->class != REDUCE || n->args[0].kind != ARG_NODE) return NO_NODE;
    const struct node *w = node_at(s, n->args[0].node);
    int keepdim;
    if (w->op != OP_WINDOWS || !op_param(n->op, "keepdim", &keepdim) || n->args[keepdim].b)
        return NO_NODE;
    const struct meta *x = &node_at(s, w->args[0].node)->meta;
    uint32_t all = (1u << w->meta.rank) - (1u << x->rank);
    bool whole = (int)w->args[1].ints.n == x->rank - 2 && is_image(s, x) && is_image(s, &n->meta);
    return whole && dims_of(s->from, n, "dim", w->meta.rank) == all ? w->args[0].node : NO_NODE;
}

/* Made of elements at the same place, of whole images or of what is broadcast. */
static bool is_elementwise(const struct pass *s, const struct node *n) {
    if (op_info(n->op)->class != POINTWISE || !is_image(s, &n->meta)) return false;
    bool any = false;
    for (int i = 0; i < n->n_args; i++) {
        any |= n->args[i].kind == ARG_NODE;
        if (n->args[i].kind == ARG_NODES || n->args[i].kind == ARG_INTS) return false;
    }
    return any;
}

/* Is each element made of those of the same image and channel, the first dimensions of both? It is
 * in windows, in what is elsewhere among the pixels, and in reductions of such. */
static bool keeps_channels(const struct pass *s, const struct node *n) {
    enum op_class class = op_info(n->op)->class;
    if (!n->n_args || n->args[0].kind != ARG_NODE || !is_image(s, &n->meta)) return false;
    const struct meta *x = &node_at(s, n->args[0].node)->meta;
    if (!is_image(s, x) || n->meta.size[0] != x->size[0] || n->meta.size[1] != x->size[1])
        return false;
    if (n->op == OP_WINDOWS) return (int)n->args[1].ints.n <= x->rank - 2;
    if (n->op == OP_CONSTANT_PAD) return (int)n->args[1].ints.n <= 2 * (x->rank - 2);
    if (class == REDUCE || n->op == OP_INDEX)
        return !(dims_of(s->from, n, class == REDUCE ? "dim" : "dims", x->rank) & 3);
    return n->op == OP_VIEW;
}

/* ---- what hangs together --------------------------------------------------------------------- */

static node_id root_of(struct pass *s, node_id n) {
    while (s->above[n] != n) n = s->above[n] = s->above[s->above[n]];
    return n;
}

static void find_movable(struct pass *s) {
    for (node_id i = 0; i < s->from->nodes.n; i++) {
        const struct node *n = node_at(s, i);
        bool is = is_elementwise(s, n) || shows_convolution(s, n) || pooled(s, n) != NO_NODE;
        s->above[i] = is ? i : NO_NODE;
    }
}

static void unlink(struct pass *s, const struct node *n) {
    for (int k = 0; k < n->n_args; k++) {
        const node_id *at;
        for (int j = arg_nodes(&n->args[k], &at); j-- > 0;) s->link[at[j]] = false;
    }
}

/* Links keep the channels of what is between two that may move, and are part of who reads them: all
 * of whom may move, or are links. */
static void find_links(struct pass *s) {
    for (node_id i = 0; i < s->from->nodes.n; i++)
        s->link[i] = s->above[i] == NO_NODE && keeps_channels(s, node_at(s, i));
    for (uint32_t i = 0; i < s->from->outputs.n; i++) s->link[s->from->outputs.at[i]] = false;
    for (node_id i = s->from->nodes.n; i-- > 0;)
        if (s->above[i] == NO_NODE && !s->link[i]) unlink(s, node_at(s, i));
}

static void join(struct pass *s, node_id a, node_id b) {
    if (s->above[b] != NO_NODE) s->above[root_of(s, a)] = root_of(s, b);
}

static void join_all(struct pass *s) {
    for (node_id i = 0; i < s->from->nodes.n; i++) {
        const struct node *n = node_at(s, i);
        if (s->above[i] == NO_NODE || n->op == OP_VIEW) continue;
        node_id of = pooled(s, n);
        if (of != NO_NODE) join(s, i, of);
        for (int k = 0; k < n->n_args && of == NO_NODE; k++)
            if (n->args[k].kind == ARG_NODE &&
                same_sizes(&node_at(s, n->args[k].node)->meta, &n->meta))
                join(s, i, n->args[k].node);
    }
}

/* ---- what it saves and costs ----------------------------------------------------------------- */

/* The node that a view, or a view of it, shows. */
static node_id shown(const struct pass *s, node_id n) {
    while (op_info(node_at(s, n)->op)->class == VIEW && s->above[n] == NO_NODE)
        n = node_at(s, n)->args[0].node;
    return n;
}

static bool takes_sums(const struct pass *s, const struct node *n) {
    bool any = false;
    for (int k = 0; k < n->n_args; k++)
        any |= n->args[k].kind == ARG_NODE && s->sums[n->args[k].node];
    return any;
}

/* Movable i reads o, which stays: where a kernel turns it around as it reads it, that takes about
 * half as much time again as reading and writing does. Not if it is small, or lies so. What makes i
 * of a depthwise convolution's result is that convolution's kernel, which has no vectors across
 * rows of pixels: it would take many times as long, so i stays. */
static void count_leaf(struct pass *s, node_id i, node_id o) {
    const struct meta *m = &node_at(s, o)->meta;
    node_id root = root_of(s, i), base = shown(s, o);
    const struct node *of = node_at(s, base);
    bool whole = bytes_of(s, &of->meta) >= bytes_of(s, m);
    if (of->op == OP_CONVOLVE && has_own_filters(s, of) && !takes_sums(s, node_at(s, i)))
        s->costs[root] = INFINITY;
    if (!whole || s->link[o] || s->counted[o] == root ||
        m->stride[CHANNELS] == ex_const(s->from->ex, 1))
        return;
    s->counted[o] = root;
    s->costs[root] += bytes_of(s, m);
}

/* Elements of a unit of memory. */
static int64_t unit_of(const struct meta *m) { return UNIT / dtype_bytes(m->dtype); }

/* Does the convolution sum over what are channels of the image that its argument shows? */
static bool sums_channels(const struct pass *s, node_id arg, const struct meta *image) {
    const struct meta *m = &node_at(s, arg)->meta;
    return m->rank > SUMMED && m->stride[SUMMED] == image->stride[CHANNELS];
}

/* Elements of a filter, but for its channels. */
static int64_t taps_of(const struct pass *s, const struct node *n) {
    const struct meta *w = &node_at(s, n->args[1].node)->meta;
    int64_t taps = 1, size;
    for (int d = SUMMED + 1; d < w->rank; d++)
        if (ex_is_const(s->from->ex, w->size[d], &size)) taps *= size;
    return taps;
}

/* Would the image that convolution n reads as its argument k be packed if its channels were not
 * innermost, and not if they are? */
static bool is_packed(const struct pass *s, const struct node *n, int k, const struct meta *image) {
    int64_t channels, pixels = 1, size;
    bool apart = false; /* windows: what is between them is not read */
    if (!ex_is_const(s->from->ex, image->size[CHANNELS], &channels) || channels % unit_of(image) ||
        !is_multiplied(s, image->dtype))
        return false;
    if (image->dtype == DT_F32) return sums_channels(s, n->args[k].node, image);
    for (uint32_t d = 0; d < n->args[2].ints.n; d++)
        apart |= n->args[2].ints.at[d] != ex_const(s->from->ex, 1);
    for (int d = 2; d < image->rank; d++)
        if (ex_is_const(s->from->ex, image->size[d], &size)) pixels *= size;
    return taps_of(s, n) > 1 || apart || pixels % unit_of(image);
}

/* Channels of a group have whole units of memory. */
static bool has_units(const struct pass *s, const struct node *n, const struct meta *image) {
    int64_t channels;
    return ex_is_const(s->from->ex, node_at(s, n->args[1].node)->meta.size[SUMMED], &channels) &&
           (channels % unit_of(image) == 0 ||
            node_at(s, n->args[0].node)->meta.size[1] == ex_const(s->from->ex, 1));
}

/* Is it a sum over an image that may move, or made of one? sums: of nodes before it. */
static bool is_of_sums(const struct pass *s, const struct node *n, const bool *sums) {
    for (int k = 0; k < n->n_args; k++) {
        const node_id *at;
        for (int j = arg_nodes(&n->args[k], &at); j-- > 0;)
            if (sums[at[j]] ||
                (op_info(n->op)->class == REDUCE && s->above[shown(s, at[j])] != NO_NODE))
                return true;
    }
    return false;
}

/* What is elementwise is stored by who makes what it reads, unless it takes a sum over that; a pool
 * makes an image of one that moves as well: else it would turn around each window. */
static void find_made(struct pass *s) {
    for (node_id i = 0; i < s->from->nodes.n; i++) {
        const struct node *n = node_at(s, i);
        s->sums[i] = s->above[i] == NO_NODE && is_of_sums(s, n, s->sums);
        if (s->above[i] == NO_NODE) continue;
        node_id of = pooled(s, n);
        s->made[i] = n->op == OP_VIEW || (of != NO_NODE && s->above[of] != NO_NODE);
        for (int k = 0; k < n->n_args; k++)
            if (n->args[k].kind == ARG_NODE) s->made[i] |= s->made[n->args[k].node];
        if (takes_sums(s, n)) s->made[i] = false;
    }
}

/* An image of f32 that no convolution makes is made by the pass that packs it. */
static bool saves_pass(const struct pass *s, const struct node *n, int k, node_id image) {
    const struct meta *m = &node_at(s, image)->meta;
    return is_packed(s, n, k, m) && (m->dtype != DT_F32 || s->made[image]);
}

static void count_convolution(struct pass *s, const struct node *n) {
    for (int k = 0; k < 2; k++) {
        node_id image = shown(s, n->args[k].node);
        if (s->above[image] == NO_NODE) continue;
        const struct meta *m = &node_at(s, image)->meta;
        node_id root = root_of(s, image);
        if (is_depthwise(s, n) || !has_units(s, n, m))
            s->costs[root] += 2 * bytes_of(s, m);
        else if (saves_pass(s, n, k, image))
            s->saved[root] += 2 * bytes_of(s, m);
        else if (m->dtype == DT_F32 && !sums_channels(s, n->args[k].node, m))
            s->costs[root] += 2 * bytes_of(s, m);
    }
}

/* Does n read image i in a way that makes no difference, or that has been counted? */
static bool reads_any_order(struct pass *s, const struct node *n, node_id id) {
    enum op_class class = op_info(n->op)->class;
    return class == VIEW || class == REDUCE || is_convolution(n->op) || s->above[id] != NO_NODE ||
           n->op == OP_WINDOWS || s->link[id];
}

static void count_others(struct pass *s, node_id id) {
    const struct node *n = node_at(s, id);
    for (int k = 0; k < n->n_args; k++) {
        const node_id *at;
        for (int j = arg_nodes(&n->args[k], &at); j-- > 0;) {
            node_id image = shown(s, at[j]);
            if (s->above[image] != NO_NODE && !reads_any_order(s, n, id))
                s->costs[root_of(s, image)] += 2 * bytes_of(s, &node_at(s, image)->meta);
        }
    }
}

static void count_output(struct pass *s, node_id id) {
    node_id image = shown(s, id);
    const struct node *n = node_at(s, id);
    if (s->above[image] == NO_NODE) return;
    bool lies_so = n->op == OP_PERMUTE && n->args[0].node == image &&
                   ex_value(s->from->ex, n->args[1].ints.at[n->meta.rank - 1]) == CHANNELS;
    if (!lies_so) s->costs[root_of(s, image)] += 2 * bytes_of(s, &node_at(s, image)->meta);
}

static void count_all(struct pass *s) {
    for (node_id i = 0; i < s->from->nodes.n; i++) {
        const struct node *n = node_at(s, i);
        if (is_convolution(n->op)) count_convolution(s, n);
        count_others(s, i);
        node_id of = s->above[i] == NO_NODE ? NO_NODE : pooled(s, n);
        if (s->above[i] == NO_NODE || n->op == OP_VIEW) continue;
        if (of != NO_NODE && s->above[of] == NO_NODE) count_leaf(s, i, of);
        for (int k = 0; k < n->n_args && of == NO_NODE; k++)
            if (n->args[k].kind == ARG_NODE && s->above[n->args[k].node] == NO_NODE &&
                same_sizes(&node_at(s, n->args[k].node)->meta, &n->meta))
                count_leaf(s, i, n->args[k].node);
    }
    for (uint32_t i = 0; i < s->from->outputs.n; i++) count_output(s, s->from->outputs.at[i]);
}

/* ---- which of them move ---------------------------------------------------------------------- */

/* Node i, that may move, or what a link shows of one: does it, now that who it is linked to does?
 * It does if that costs it nothing. A link says then who else is linked to it. */
static bool follow(struct pass *s, node_id i, bool *reached) {
    if (s->above[i] == NO_NODE) return s->link[i] && !reached[i] ? reached[i] = true : false;
    node_id root = root_of(s, i);
    if (s->moves[root] || s->saved[root] < s->costs[root]) return false;
    return s->moves[root] = true;
}

static bool is_reached(struct pass *s, node_id i, const bool *reached) {
    return s->above[i] == NO_NODE ? reached[i] : s->moves[root_of(s, i)];
}

/* Those that it saves something, and who is linked to them. */
static bool choose(struct pass *s) {
    uint32_t n = s->from->nodes.n;
    bool *reached = NEW_ARRAY(s->from->arena, bool, n), any = false, more = true;
    for (node_id i = 0; i < n; i++) any |= s->moves[i] = s->saved[i] > s->costs[i];
    while (any && more) {
        more = false;
        for (node_id i = 0; i < n; i++) {
            const struct node *x = node_at(s, i);
            for (int k = 0; k < x->n_args; k++) {
                if (x->args[k].kind != ARG_NODE) continue;
                node_id o = x->args[k].node;
                if (!s->link[i] && !s->link[o]) continue;
                if (is_reached(s, i, reached)) more |= follow(s, o, reached);
                if (is_reached(s, o, reached)) more |= follow(s, i, reached);
            }
        }
    }
    return any;
}

/* ---- another order --------------------------------------------------------------------------- */

static node_id add(struct pass *s, enum op op, const struct arg *args, int n, node_id of) {
    struct diag d = diag_new(s->to->arena);
    node_id out;
    if (!graph_call(s->to, op, args, n, node_at(s, of)->where, &d, &out))
        WS_BUG("the order of dimensions: %s", d.message);
    s->to->nodes.at[out].origin = node_at(s, of)->origin;
    return out;
}

static node_id add_view(struct pass *s, enum op op, node_id x, struct arg second, node_id of) {
    struct arg args[] = {arg_node(x), second};
    return add(s, op, args, 2, of);
}

/* x with dimension `from`, of the first `rank`, moved to `to`. */
static node_id move(struct pass *s, node_id x, int rank, int from, int to, node_id of) {
    ex dims[WS_MAX_RANK];
    int all = s->to->nodes.at[x].meta.rank, n = 0;
    for (int d = 0; d < rank; d++) {
        if (n == to) dims[n++] = ex_const(s->to->ex, from);
        if (d != from) dims[n++] = ex_const(s->to->ex, d);
    }
    if (n == to) dims[n++] = ex_const(s->to->ex, from);
    for (int d = rank; d < all; d++) dims[n++] = ex_const(s->to->ex, d);
    return add_view(s, OP_PERMUTE, x, arg_ints(s->to, dims, (uint32_t)n), of);
}

/* Operand o of a node of that rank, in the other order. */
static node_id operand_last(struct pass *s, node_id o, int rank, node_id of) {
    struct meta m = node_at(s, o)->meta;
    if (s->last[o] != NO_NODE) return s->last[o];
    if (!m.rank) return s->map[o];
    ex size[WS_MAX_RANK];
    int lead = rank - m.rank;
    for (int d = 0; d < rank; d++) size[d] = d < lead ? ex_const(s->to->ex, 1) : m.size[d - lead];
    node_id x = s->map[o];
    if (lead) x = add_view(s, OP_VIEW, x, arg_ints(s->to, size, (uint32_t)rank), of);
    return move(s, x, rank, CHANNELS, rank - 1, of);
}

/* Node i over operands in the other order, and so in that order itself. */
static node_id copy_last(struct pass *s, node_id i) {
    const struct node *n = node_at(s, i);
    int rank = n->meta.rank;
    node_id was[MAX_PARAMS], last[MAX_PARAMS];
    if (n->op == OP_VIEW) {
        node_id x = move(s, graph_copy(s->to, s->from, i, s->map), rank, CHANNELS, rank - 1, i);
        return add_view(s, OP_CONVERT, x, arg_dtype(n->meta.dtype), i);
    }
    bool pool = pooled(s, n) != NO_NODE;
    for (int k = 0; k < n->n_args; k++) {
        if (n->args[k].kind != ARG_NODE) continue;
        node_id o = n->args[k].node;
        last[k] =
            pool ? move(s, s->map[o], rank, CHANNELS, rank - 1, i) : operand_last(s, o, rank, i);
        was[k] = s->map[o];
    }
    for (int k = 0; k < n->n_args; k++)
        if (n->args[k].kind == ARG_NODE) s->map[n->args[k].node] = last[k];
    node_id out = graph_copy(s->to, s->from, i, s->map);
    for (int k = 0; k < n->n_args; k++)
        if (n->args[k].kind == ARG_NODE) s->map[n->args[k].node] = was[k];
    return out;
}

/* What is made of reductions of such an image, with all its dimensions, has that order, too: norms
 * are found by their means being of what is centered. */
static bool follows(const struct pass *s, const struct node *n) {
    bool any = false;
    if (op_info(n->op)->class != POINTWISE || n->meta.rank < LEAST_RANK) return false;
    for (int k = 0; k < n->n_args; k++)
        any |= n->args[k].kind == ARG_NODE && s->last[n->args[k].node] != NO_NODE &&
               node_at(s, n->args[k].node)->meta.rank == n->meta.rank;
    return any;
}

/* The same reduction of the image in its other order; *same: its result has the same dimensions as
 * before, and no other order. NO_NODE: it is read as it was, as by what counts places in all of
 * it. */
static node_id reduce_last(struct pass *s, node_id i, bool *same) {
    const struct node *n = node_at(s, i);
    int dim, keepdim;
    if (op_info(n->op)->class != REDUCE || n->args[0].kind != ARG_NODE) return NO_NODE;
    node_id o = n->args[0].node;
    if (s->last[o] == NO_NODE || !op_param(n->op, "dim", &dim) ||
        !op_param(n->op, "keepdim", &keepdim))
        return NO_NODE;
    bool places = n->op == OP_ARGMAX || n->op == OP_ARGMIN;
    if (places && n->args[dim].kind == ARG_NONE) return NO_NODE;
    int rank = node_at(s, o)->meta.rank;
    uint32_t set = dims_of(s->from, n, "dim", rank), kept = 0;
    uint32_t pixels = (1u << rank) - (1u << (CHANNELS + 1));
    *same = !n->args[keepdim].b;
    if (*same && !(set >> CHANNELS & 1) && (set & pixels) != pixels) return NO_NODE;
    ex dims[WS_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++)
        if (set >> (d < CHANNELS ? d : d + 1 < rank ? d + 1 : CHANNELS) & 1)
            dims[kept++] = ex_const(s->to->ex, d);
    struct arg *args = NEW_ARRAY(s->to->arena, struct arg, n->n_args);
    for (int k = 0; k < n->n_args; k++) args[k] = arg_copy(s->to, &n->args[k]);
    args[0] = arg_node(s->last[o]);
    args[dim] = n->args[dim].kind == ARG_INT ? (struct arg){.kind = ARG_INT, .i = dims[0]}
                                             : arg_ints(s->to, dims, kept);
    return add(s, n->op, args, n->n_args, i);
}

struct graph *graph_channels_last(struct graph *g) {
    uint32_t n = g->nodes.n;
    struct arena *a = g->arena;
    struct pass s = {.from = g,
                     .above = NEW_ARRAY(a, node_id, n),
                     .sums = NEW_ARRAY(a, bool, n),
                     .link = NEW_ARRAY(a, bool, n),
                     .moves = NEW_ARRAY(a, bool, n),
                     .counted = NEW_ARRAY(a, node_id, n),
                     .saved = NEW_ARRAY(a, double, n),
                     .costs = NEW_ARRAY(a, double, n),
                     .made = NEW_ARRAY(a, bool, n),
                     .map = NEW_ARRAY(a, node_id, n),
                     .last = NEW_ARRAY(a, node_id, n)};
    find_movable(&s);
    find_links(&s);
    join_all(&s);
    for (node_id i = 0; i < n; i++) s.counted[i] = s.last[i] = NO_NODE;
    find_made(&s);
    count_all(&s);
    if (!choose(&s)) return g;
    s.to = graph_like(g);
    for (node_id i = 0; i < n; i++) {
        node_id root = s.above[i] == NO_NODE ? NO_NODE : root_of(&s, i), reduced;
        int rank = g->nodes.at[i].meta.rank;
        bool same = false;
        if ((root != NO_NODE && s.moves[root]) || follows(&s, &g->nodes.at[i]))
            s.last[i] = copy_last(&s, i);
        else if ((reduced = reduce_last(&s, i, &same)) != NO_NODE)
            *(same ? &s.map[i] : &s.last[i]) = reduced;
        else
            s.map[i] = graph_copy(s.to, g, i, s.map);
        if (s.last[i] != NO_NODE) s.map[i] = move(&s, s.last[i], rank, rank - 1, CHANNELS, i);
    }
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(a, &s.to->outputs, s.map[g->outputs.at[i]]);
    return s.to; /* what nobody reads is left to simplify.c */
}

/* chain_copies.c: what several products read behind the same product, made anew for each, so that
 * every one of them can go along with its own (schedule/chained.c). Of attention's gradients:
 *
 *   %s = bmm(%q, %kt); %p = f(%s)           %s = bmm(%q, %kt); %p = f(%s)
 *   %o = bmm(%p, %v)                        %o = bmm(%p, %v)
 *   %t = permute(%p)                        %s1 = bmm(%q, %kt); %p1 = f(%s1); %t = permute(%p1)
 *   %dv = bmm(%t, %do)                      %dv = bmm(%t, %do)
 *
 * What rows of %s come to is made once, and read by the copies. A row's sum that stands on two
 * products is another product's element, times what belongs to it, summed up:
 *
 *   %d = bmm(%do, %vt)                      %o = bmm(%p, %v)
 *   %m = mul(%d, %p)                        %m = mul(%do, %o)
 *   %r = sum(%m, -1)                        %r = sum(%m, -1)
 *
 * sum_j (sum_c do_c v_jc) p_j = sum_c do_c (sum_j p_j v_jc): so it is of few columns, and needs
 * nothing of what is between the products.
 *
 * Needs: a decomposed, simplified graph. Breaks: nothing; equal nodes stand there several times. */
#include <math.h>

#include "graph/graph_impl.h"
#include "graph/traits.h"

enum {
    MOST_FACTORS = 8,
    WIDEST = 256, /* a kernel of chained products is no deeper, and has no more columns */
    OF_SUMS = 1,  /* graph.chain of sums behind a product, in whose kernel they would keep it from
                    being chained; chains have the numbers behind it */
};

static bool may_be_chained(const struct graph *g, const struct node *n) {
    return (n->op == OP_MM || n->op == OP_BMM) && dtype_may_be_chained(n->meta.dtype, g->products);
}

/* The depth of a product, and how many columns one has of which factor `side` is made anew. */
static int64_t depth_of(const struct graph *g, const struct node *x) {
    const struct meta *left = &graph_node(g, x->args[0].node)->meta;
    return ex_hint(g->ex, left->size[left->rank - 1]);
}
static int64_t columns_of(const struct graph *g, const struct node *x, int side) {
    return ex_hint(g->ex, x->meta.size[x->meta.rank - 1 - side]);
}

/* ---- sums of two products -------------------------------------------------------------------- */

static bool keeps_values(const struct node *n) {
    return (n->op == OP_CONVERT || n->op == OP_CAST) && dtype_is_float(n->meta.dtype);
}

/* The elements of `of` in the same order, in rows of the same length. */
static bool keeps_rows(const struct graph *g, const struct node *n, const struct node *of) {
    return n->op == OP_VIEW && n->meta.rank && of->meta.rank &&
           n->meta.size[n->meta.rank - 1] == of->meta.size[of->meta.rank - 1] &&
           meta_numel(g->ex, &n->meta) == meta_numel(g->ex, &of->meta);
}

/* One of what v is a product of, element by element: a node as it is broadcast to a shape; a
 * condition, of what is 0 where it holds, or where it does not. */
struct term {
    node_id node;
    const struct meta *in;
    bool is_not;
};
struct terms {
    struct term at[MOST_FACTORS];
    int n;
    double number; /* they are multiplied by */
};

static bool add_term(struct terms *t, node_id node, const struct node *in, bool is_not) {
    if (t->n == MOST_FACTORS) return false;
    t->at[t->n++] = (struct term){node, &in->meta, is_not};
    return true;
}

static bool is_number(const struct graph *g, const struct arg *a, double *number) {
    if (a->kind != ARG_FLOAT && (a->kind != ARG_INT || !ex_is_const(g->ex, a->i, NULL)))
        return false;
    *number = arg_number(g, a);
    return true;
}

/* But for casts. False: of too many, or of v broadcast. */
static bool factors_of(const struct graph *g, node_id v, const struct meta *whole,
                       struct terms *t) {
    const struct node *x = graph_node(g, v);
    double number;
    bool one = x->n_args && x->args[0].kind == ARG_NODE;
    if (meta_numel(g->ex, &x->meta) != meta_numel(g->ex, whole)) return false;
    if (one && (keeps_values(x) || keeps_rows(g, x, graph_node(g, x->args[0].node))))
        return factors_of(g, x->args[0].node, whole, t);
    for (int i = 0; i < 2 && x->op == OP_MUL; i++) {
        const struct arg *a = &x->args[i], *other = &x->args[1 - i];
        if (a->kind != ARG_NODE) continue;
        bool full = meta_numel(g->ex, &graph_node(g, a->node)->meta) == meta_numel(g->ex, whole);
        if (!full) continue;
        if (is_number(g, other, &number)) {
            t->number *= number;
            return factors_of(g, a->node, whole, t);
        }
        if (other->kind != ARG_NODE) break;
        bool both =
            meta_numel(g->ex, &graph_node(g, other->node)->meta) == meta_numel(g->ex, whole);
        return factors_of(g, a->node, whole, t) &&
               (both ? factors_of(g, other->node, whole, t) : add_term(t, other->node, x, false));
    }
    for (int i = 1; i <= 2 && x->op == OP_WHERE; i++) {
        if (x->args[0].kind != ARG_NODE || x->args[i].kind != ARG_NODE) continue;
        if (!is_number(g, &x->args[3 - i], &number) || number != 0) continue;
        return add_term(t, x->args[0].node, x, i == 2) && factors_of(g, x->args[i].node, whole, t);
    }
    return add_term(t, v, x, false);
}

/* Of as many elements as the shape that they are broadcast to, or in the same way to the same. */
static bool same_term(const struct graph *g, const struct term *a, const struct term *b) {
    if (a->node != b->node || a->is_not != b->is_not) return false;
    ex own = meta_numel(g->ex, &graph_node(g, a->node)->meta);
    if (own == meta_numel(g->ex, a->in) && own == meta_numel(g->ex, b->in)) return true;
    bool same = a->in->rank == b->in->rank;
    for (int i = 0; i < a->in->rank && same; i++) same = a->in->size[i] == b->in->size[i];
    return same;
}

static bool same_factors(const struct graph *g, const struct terms *a, const struct terms *b) {
    if (a->n != b->n || b->number == 0) return false;
    for (int i = 0; i < a->n; i++) {
        int in_a = 0, in_b = 0;
        for (int j = 0; j < a->n; j++) {
            in_a += same_term(g, &a->at[j], &a->at[i]);
            in_b += same_term(g, &b->at[j], &a->at[i]);
        }
        if (in_a != in_b) return false;
    }
    return true;
}

/* Does one of them have the other's last two dimensions the other way round? */
static bool are_turned(const struct graph *g, node_id a, node_id b) {
    for (int i = 0; i < 2; i++) {
        const struct node *x = graph_node(g, i ? a : b);
        node_id of = i ? b : a;
        int from[WS_MAX_RANK], rank = x->meta.rank;
        if (x->op != OP_PERMUTE || x->args[0].node != of || rank < 2) continue;
        permutation_of(g->ex, x->op, x->args, rank, from);
        bool turned = from[rank - 1] == rank - 2 && from[rank - 2] == rank - 1;
        for (int d = 0; d < rank - 2; d++) turned &= from[d] == d;
        if (turned) return true;
    }
    return false;
}

/* A product of what is multiplied, and what the product d has as its right factor; *times: the sum
 * is of so many times that. */
static node_id find_other(const struct graph *g, const struct node *d, const struct terms *rest,
                          double *times) {
    for (node_id o = 0; o < g->nodes.n; o++) {
        const struct node *x = graph_node(g, o);
        struct terms mine = {.number = 1};
        if (x->op != d->op || x->meta.dtype != d->meta.dtype) continue;
        if (!are_turned(g, x->args[1].node, d->args[1].node)) continue;
        const struct meta *left = &graph_node(g, x->args[0].node)->meta;
        if (left->size[left->rank - 1] != d->meta.size[d->meta.rank - 1]) continue;
        if (factors_of(g, x->args[0].node, left, &mine) && same_factors(g, &mine, rest)) {
            *times = rest->number / mine.number;
            return o;
        }
    }
    return NO_NODE;
}

/* A sum's product, and the one that may take its place, so many times; NO_NODE: there is none. */
struct sum {
    node_id product, other;
    double times;
};

static struct sum find_sum(const struct graph *g, const struct node *v) {
    const struct sum none = {NO_NODE, NO_NODE, 0};
    if (v->op != OP_SUM || v->meta.dtype != DT_F32 || v->args[0].kind != ARG_NODE) return none;
    const struct meta *whole = &graph_node(g, v->args[0].node)->meta;
    struct terms all = {.number = 1};
    if (!whole->rank || dims_of(g, v, "dim", whole->rank) != 1u << (whole->rank - 1)) return none;
    if (!factors_of(g, v->args[0].node, whole, &all) || all.n < 2) return none;
    for (int i = 0; i < all.n; i++) {
        struct terms rest = {.number = all.number};
        if (all.at[i].is_not || !may_be_chained(g, graph_node(g, all.at[i].node))) continue;
        for (int j = 0; j < all.n; j++)
            if (j != i) rest.at[rest.n++] = all.at[j];
        struct sum s = {.product = all.at[i].node};
        s.other = find_other(g, graph_node(g, s.product), &rest, &s.times);
        if (s.other != NO_NODE && isfinite(s.times)) return s;
    }
    return none;
}

static node_id convert_to(struct graph *g, node_id v, enum dtype t) {
    struct arg args[] = {arg_node(v), arg_dtype(t)};
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, OP_CONVERT, args, 2, graph_node(g, v)->where, &d, &out))
        graph_refused(g, "chain_copies", &d);
    return out;
}

/* sum(d's left factor times o, -1), in the shape of v. */
static node_id put_sum(struct graph *to, const struct node *v, node_id left, node_id o,
                       double times) {
    struct diag d = diag_new(to->arena);
    node_id mul = graph_op2(to, OP_MUL, convert_to(to, left, DT_F32), convert_to(to, o, DT_F32));
    node_id sum, out;
    ex last = ex_const(to->ex, graph_node(to, mul)->meta.rank - 1);
    struct arg reduce[] = {arg_node(mul), arg_ints(to, &last, 1)};
    if (!graph_call(to, OP_SUM, reduce, 2, v->where, &d, &sum))
        graph_refused(to, "chain_copies", &d);
    if (times != 1) sum = graph_op2s(to, OP_MUL, sum, times);
    struct arg shape[] = {arg_node(sum), arg_ints(to, v->meta.size, (uint32_t)v->meta.rank)};
    if (!graph_call(to, OP_VIEW, shape, 2, v->where, &d, &out))
        graph_refused(to, "chain_copies", &d);
    return out;
}

/* Nodes from `begin` on are for this chain. */
static void set_chain(struct graph *to, node_id begin, uint32_t chain) {
    while (to->chain.n < begin) vec_push(to->arena, &to->chain, 0);
    while (to->chain.n < to->nodes.n) vec_push(to->arena, &to->chain, chain);
}

/* What a node stands on comes first, and what takes a sum's place comes before that. */
struct rebuild {
    const struct graph *from;
    struct graph *to;
    node_id *map;
    struct sum *sums; /* per node */
    bool either;      /* sums may be either: both are there */
};

static void put_node(struct rebuild *r, node_id n);

static node_id put_other_sum(struct rebuild *r, node_id n) {
    const struct sum *sum = &r->sums[n];
    node_id left = graph_node(r->from, sum->product)->args[0].node;
    put_node(r, sum->other);
    put_node(r, left);
    node_id begin = r->to->nodes.n;
    node_id out =
        put_sum(r->to, graph_node(r->from, n), r->map[left], r->map[sum->other], sum->times);
    set_chain(r->to, begin, OF_SUMS);
    return out;
}

static void put_node(struct rebuild *r, node_id n) {
    if (r->map[n] != NO_NODE) return;
    const struct node *x = graph_node(r->from, n);
    node_id other = r->sums[n].other != NO_NODE ? put_other_sum(r, n) : NO_NODE;
    if (other != NO_NODE && !r->either) {
        r->map[n] = other;
        return;
    }
    for (int i = 0; i < x->n_args; i++) {
        const node_id *of;
        int count = arg_nodes(&x->args[i], &of);
        for (int k = 0; k < count; k++) put_node(r, of[k]);
    }
    r->map[n] = graph_copy(r->to, r->from, n, r->map);
    if (other != NO_NODE) r->map[n] = graph_op2(r->to, OP_MINIMUM, r->map[n], other);
}

static struct graph *rebuild(struct graph *g, bool either) {
    struct rebuild r = {.from = g, .either = either};
    r.sums = NEW_ARRAY(g->arena, struct sum, g->nodes.n);
    bool any = false;
    for (node_id n = 0; n < g->nodes.n; n++) {
        r.sums[n] = find_sum(g, graph_node(g, n));
        any |= r.sums[n].other != NO_NODE;
    }
    if (!any) return g;
    r.to = graph_like(g);
    r.map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    for (node_id n = 0; n < g->nodes.n; n++) r.map[n] = NO_NODE;
    for (uint32_t i = 0; i < g->inputs.n; i++) put_node(&r, g->inputs.at[i].node);
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        put_node(&r, g->outputs.at[i]);
        vec_push(r.to->arena, &r.to->outputs, r.map[g->outputs.at[i]]);
    }
    return r.to;
}

struct graph *graph_sums_of_products(struct graph *g) {
    return rebuild(g, false);
}
struct graph *graph_sums_either_way(struct graph *g) {
    return rebuild(g, true);
}

/* ---- products that are made again ------------------------------------------------------------ */

/* Is v made of node `of`, element by element? */
static bool goes_back_to(const struct graph *g, node_id v, node_id of, int *left) {
    const struct node *x = graph_node(g, v);
    enum op_class class = op_info(x->op)->class;
    if (v == of) return true;
    if (v < of || (class != POINTWISE && class != VIEW) || !(*left)--) return false;
    for (int i = 0; i < x->n_args; i++) {
        const node_id *args;
        int count = arg_nodes(&x->args[i], &args);
        for (int k = 0; k < count; k++)
            if (goes_back_to(g, args[k], of, left)) return true;
    }
    return false;
}

bool graph_is_between(const struct graph *g, node_id n) {
    enum { TIMES = 2, MOST = 64 };
    const struct node *x = graph_node(g, n);
    if (!may_be_chained(g, x)) return false;
    if (depth_of(g, x) > WIDEST) return false;
    /* In f32 chains save memory alone: what is kept for the gradient does not hang on sizes. */
    if (x->meta.dtype == DT_F32 && g->products != PRECISION_TF32) return false;
    int64_t own = ex_hint(g->ex, meta_numel(g->ex, &x->meta)), factors = 0;
    for (int i = 0; i < 2; i++)
        factors += ex_hint(g->ex, meta_numel(g->ex, &graph_node(g, x->args[i].node)->meta));
    if (own < TIMES * factors) return false;
    for (node_id v = n + 1; v < g->nodes.n; v++) {
        for (int i = 0; i < 2 && may_be_chained(g, graph_node(g, v)); i++) {
            int left = MOST;
            if (goes_back_to(g, graph_node(g, v)->args[i].node, n, &left)) return true;
        }
    }
    return false;
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct copies {
    const struct graph *from;
    struct graph *to;
    node_id *map;  /* what has the place of each node, for all */
    bool *between; /* of the product at hand: it goes back to this one, element by element */
    bool *seen;
    bool *taken;  /* per node: a product goes along with it */
    bool *second; /* per node: it is such a product, behind another */
    bool *behind; /* per node: made of such a product's elements, one by one */
    int chains;
};

/* Marks what v is made of, element by element, of products: true if it is of one. */
static bool go_back(struct copies *c, node_id v, bool *works) {
    const struct node *x = graph_node(c->from, v);
    enum op_class class = op_info(x->op)->class;
    if (c->seen[v]) return c->between[v];
    c->seen[v] = true;
    if (may_be_chained(c->from, x)) return c->between[v] = depth_of(c->from, x) <= WIDEST;
    if (class != POINTWISE && class != VIEW) return false;
    if (op_is_random(x->op)) return false;
    for (int i = 0; i < x->n_args; i++) {
        const node_id *of;
        int count = arg_nodes(&x->args[i], &of);
        for (int k = 0; k < count; k++) c->between[v] |= go_back(c, of[k], works);
    }
    if (c->between[v] && class == POINTWISE) *works = true;
    return c->between[v];
}

/* The side of product n that is made of products, of as much as is between two; -1: none. */
static int find_side(struct copies *c, node_id n) {
    const struct node *x = graph_node(c->from, n);
    for (int side = 0; side < 2; side++) {
        bool works = false;
        if (columns_of(c->from, x, side) > WIDEST) continue;
        memset(c->between, 0, sizeof *c->between * c->from->nodes.n);
        memset(c->seen, 0, sizeof *c->seen * c->from->nodes.n);
        if (go_back(c, x->args[side].node, &works) && works) return side;
    }
    return -1;
}

/* Copies of what is between, for product n alone. */
static void put_copies(struct copies *c, node_id n, int side) {
    node_id of = graph_node(c->from, n)->args[side].node;
    node_id *map = NEW_ARRAY(c->to->arena, node_id, c->from->nodes.n);
    memcpy(map, c->map, sizeof *map * c->from->nodes.n);
    for (node_id v = 0; v <= of; v++) {
        if (!c->between[v]) continue;
        map[v] = graph_copy(c->to, c->from, v, map);
        set_chain(c->to, map[v], OF_SUMS + 1 + (uint32_t)c->chains);
    }
    c->map[n] = graph_copy(c->to, c->from, n, map);
}

static bool reads_behind(const struct copies *c, node_id v) {
    for (int i = 0; i < graph_node(c->from, v)->n_args; i++) {
        const node_id *of;
        int count = arg_nodes(&graph_node(c->from, v)->args[i], &of);
        for (int k = 0; k < count; k++)
            if (c->behind[of[k]]) return true;
    }
    return false;
}

/* Is v a reduction of what a product behind others makes? What v reads has been here before. */
static bool reduces_behind(struct copies *c, node_id v) {
    enum op_class class = op_info(graph_node(c->from, v)->op)->class;
    bool reads = reads_behind(c, v);
    c->behind[v] = c->second[v] || ((class == POINTWISE || class == VIEW) && reads);
    return class == REDUCE && reads;
}

static bool has_chained_product(const struct graph *g) {
    for (node_id n = 0; n < g->nodes.n; n++)
        if (may_be_chained(g, graph_node(g, n))) return true;
    return false;
}

struct graph *graph_chain_copies(struct graph *g, int *chains) {
    *chains = 0;
    if (!has_chained_product(g)) return g;
    struct graph *from = graph_sums_of_products(g);
    uint32_t n = from->nodes.n;
    struct copies c = {.from = from,
                       .to = graph_like(from),
                       .map = NEW_ARRAY(from->arena, node_id, n),
                       .between = NEW_ARRAY(from->arena, bool, n),
                       .seen = NEW_ARRAY(from->arena, bool, n),
                       .taken = NEW_ARRAY(from->arena, bool, n),
                       .second = NEW_ARRAY(from->arena, bool, n),
                       .behind = NEW_ARRAY(from->arena, bool, n)};
    for (node_id v = 0; v < n; v++) {
        int side = may_be_chained(from, graph_node(from, v)) ? find_side(&c, v) : -1;
        bool shared = false;
        c.second[v] = side >= 0;
        bool reduces = reduces_behind(&c, v);
        for (node_id i = 0; i < n && side >= 0; i++) shared |= c.between[i] && c.taken[i];
        for (node_id i = 0; i < n && side >= 0; i++) c.taken[i] |= c.between[i];
        if (shared) {
            put_copies(&c, v, side);
            c.chains++;
        } else {
            c.map[v] = graph_copy(c.to, from, v, c.map);
            bool sums = (v < from->chain.n && from->chain.at[v]) || reduces;
            set_chain(c.to, c.map[v], sums ? OF_SUMS : 0);
        }
    }
    for (uint32_t i = 0; i < from->outputs.n; i++)
        vec_push(c.to->arena, &c.to->outputs, c.map[from->outputs.at[i]]);
    if (!c.chains) return g;
    *chains = c.chains + 1;
    return graph_drop_unused(c.to); /* what is copied for all that have read it */
}

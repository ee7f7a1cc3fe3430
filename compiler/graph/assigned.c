/* assigned.c: elements of a tensor that are assigned one after the other become a list of them.
 *
 *   %c1 = cat([%v0, slice(%c0, 1, 1, 9)], 1)         y[:, 0] = v0
 *   %v1 = ..  select(%c1, 1, 0)  ..                   v1 = f(y[:, 0])
 *   %c2 = cat([slice(%c1, 1, 0, 1), %v1,        ->    %v1 = ..  %v0  ..
 *              slice(%c1, 1, 2, 9)], 1)               ..
 *   ..                                                %c9 = cat([%v0, %v1, ..], 1)
 *
 * As capture has it, each assignment makes the whole tensor anew: so no two steps of a loop over
 * time that assigns are alike. What reads nothing of such a tensor but single elements along the
 * dimension needs none of them.
 *
 * Needs: a captured graph of sizes that are numbers. */
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/loop.h"

enum { MIN_ASSIGNED = 8 };
/* The tensor `before`, but for one element along `dim`, which is `value`, of size 1 along it. */
struct assignment {
    bool is;
    node_id before, value;
    int64_t dim, at;
};

/* Assignments one after the other. */
struct chain {
    node_id base;
    VEC(node_id) of; /* nodes, in order */
};

struct assigning {
    struct graph *from, *to;
    struct assignment *made; /* by node */
    bool *whole;             /* by node: something reads more of it than single elements */
    bool *part;              /* by node: a slice for assignments alone */
    struct chain **chain;    /* by node that is none of the new graph */
    node_id *map;
    int longest;
};

static bool number(const struct graph *g, const struct arg *a, int64_t *v) {
    return a->kind == ARG_INT && ex_is_const(g->ex, a->i, v);
}

static int64_t size_of(const struct graph *g, node_id id, int64_t dim) {
    return ex_hint(g->ex, g->nodes.at[id].meta.size[dim]);
}

/* All of a tensor along a dimension from `first` to `end`. */
static bool is_slice(const struct graph *g, node_id id, int64_t dim, node_id *of, int64_t *first,
                     int64_t *end) {
    const struct node *n = &g->nodes.at[id];
    int64_t along, step;
    if (n->op != OP_SLICE || !number(g, &n->args[1], &along) || along != dim) return false;
    *of = n->args[0].node;
    return number(g, &n->args[2], first) && number(g, &n->args[3], end) &&
           number(g, &n->args[4], &step) && step == 1;
}

/* The slices before and behind number `k` of the list are all the rest of one tensor. */
static bool assigns(const struct graph *g, const struct node *n, uint32_t k, int64_t dim,
                    struct assignment *out) {
    const node_id *list = n->args[0].nodes.at;
    uint32_t parts = n->args[0].nodes.n;
    node_id before = NO_NODE, behind = NO_NODE;
    int64_t size = ex_hint(g->ex, n->meta.size[dim]), first = 0, at = 0, from = size, end = size;
    if (size_of(g, list[k], dim) != 1) return false;
    if (k && (!is_slice(g, list[0], dim, &before, &first, &at) || first)) return false;
    if (k + 1 < parts && !is_slice(g, list[k + 1], dim, &behind, &from, &end)) return false;
    node_id of = k ? before : behind;
    *out = (struct assignment){true, of, list[k], dim, at};
    return of != NO_NODE && (k + 1 == parts || behind == of) && from == at + 1 && end == size &&
           size_of(g, of, dim) == size && g->nodes.at[of].meta.dtype == n->meta.dtype;
}

static void find_assignments(struct assigning *x) {
    const struct graph *g = x->from;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct node *n = &g->nodes.at[id];
        int64_t dim;
        if (n->op != OP_CAT || !number(g, &n->args[1], &dim) || dim < 0) continue;
        uint32_t parts = n->args[0].nodes.n;
        struct assignment made;
        bool is = parts == 2 && assigns(g, n, 0, dim, &made);
        if (!is) is = (parts == 2 || parts == 3) && assigns(g, n, 1, dim, &made);
        if (is) x->made[id] = made;
    }
}

/* Is it read by node `by` as one element, or as the rest of another assignment? */
static bool reads_element(const struct assigning *x, node_id id, const struct node *by) {
    int64_t dim, at;
    if (by->op == OP_SELECT)
        return number(x->from, &by->args[1], &dim) && dim == x->made[id].dim &&
               number(x->from, &by->args[2], &at) && at >= 0;
    return x->part[by - x->from->nodes.at];
}

static void find_whole(struct assigning *x) {
    const struct graph *g = x->from;
    uint32_t *uses = NEW_ARRAY(g->arena, uint32_t, g->nodes.n);
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int i = 0; i < g->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&g->nodes.at[id].args[i], &at); k-- > 0;) uses[at[k]]++;
        }
    for (uint32_t i = 0; i < g->outputs.n; i++) uses[g->outputs.at[i]]++;
    for (node_id id = 0; id < g->nodes.n; id++) {
        const struct arg *list = &g->nodes.at[id].args[0];
        for (uint32_t k = 0; x->made[id].is && k < list->nodes.n; k++)
            x->part[list->nodes.at[k]] |=
                list->nodes.at[k] != x->made[id].value && uses[list->nodes.at[k]] == 1;
    }
    for (node_id id = 0; id < g->nodes.n; id++)
        for (int i = 0; i < g->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&g->nodes.at[id].args[i], &at); k-- > 0;)
                x->whole[at[k]] |= x->made[at[k]].is && !reads_element(x, at[k], &g->nodes.at[id]);
        }
    for (uint32_t i = 0; i < g->outputs.n; i++) x->whole[g->outputs.at[i]] = true;
}

static node_id must_call(struct assigning *x, enum op op, const struct arg *args, int n,
                         node_id like) {
    struct diag d = diag_new(x->to->arena);
    node_id out;
    if (!graph_call(x->to, op, args, n, x->from->nodes.at[like].where, &d, &out))
        graph_refused(x->to, "assigned", &d);
    return out;
}

/* The last value that an element has been given in the first n assignments; NO_NODE: it is the
 * base's. */
static node_id value_at(const struct assigning *x, const struct chain *c, uint32_t n, int64_t at) {
    while (n-- > 0)
        if (x->made[c->of.at[n]].at == at) return x->made[c->of.at[n]].value;
    return NO_NODE;
}

static node_id base_slice(struct assigning *x, node_id like, node_id base, int64_t first,
                          int64_t end) {
    struct arg args[] = {arg_node(x->map[base]), arg_int(x->to, x->made[like].dim),
                         arg_int(x->to, first), arg_int(x->to, end), arg_int(x->to, 1)};
    return must_call(x, OP_SLICE, args, 5, like);
}

/* All of it, as a list. */
static node_id make_whole(struct assigning *x, const struct chain *c, node_id id) {
    int64_t dim = x->made[id].dim, size = size_of(x->from, id, dim), end;
    node_id *value = NEW_ARRAY(x->to->arena, node_id, size),
            *list = NEW_ARRAY(x->to->arena, node_id, size);
    struct arg all = {.kind = ARG_NODES};
    for (int64_t i = 0; i < size; i++) value[i] = NO_NODE;
    for (uint32_t k = 0; k < c->of.n; k++)
        value[x->made[c->of.at[k]].at] = x->made[c->of.at[k]].value;
    all.nodes.at = list;
    for (int64_t i = 0; i < size; i = end) {
        for (end = i + 1; value[i] == NO_NODE && end < size && value[end] == NO_NODE;) end++;
        list[all.nodes.n++] =
            value[i] == NO_NODE ? base_slice(x, id, c->base, i, end) : x->map[value[i]];
    }
    struct arg args[] = {all, arg_int(x->to, dim)};
    return must_call(x, OP_CAT, args, 2, id);
}

static void copy_assignment(struct assigning *x, node_id id) {
    node_id before = x->made[id].before;
    struct chain *c = x->chain[before];
    if (!c || x->made[vec_last(&c->of)].dim != x->made[id].dim || vec_last(&c->of) != before) {
        c = NEW(x->to->arena, struct chain);
        c->base = before;
    }
    vec_push(x->to->arena, &c->of, id);
    if ((int)c->of.n > x->longest) x->longest = (int)c->of.n;
    if (x->whole[id])
        x->map[id] = make_whole(x, c, id);
    else
        x->chain[id] = c;
}

/* An element of what is made of assignments. */
static void copy_element(struct assigning *x, node_id id) {
    const struct node *n = &x->from->nodes.at[id];
    node_id of = n->args[0].node, value;
    const struct chain *c = x->chain[of];
    uint32_t k = 0;
    while (c->of.at[k++] != of) continue;
    value = value_at(x, c, k, ex_value(x->from->ex, n->args[2].i));
    const struct node *made = value == NO_NODE ? NULL : &x->from->nodes.at[value];
    struct arg args[] = {arg_node(x->map[value == NO_NODE ? c->base : value]), n->args[1],
                         value == NO_NODE ? n->args[2] : arg_int(x->to, 0)};
    if (made && made->op == OP_UNSQUEEZE && made->args[1].i == n->args[1].i)
        x->map[id] = x->map[made->args[0].node];
    else
        x->map[id] = must_call(x, OP_SELECT, args, 3, id);
}

static bool same_sizes(const struct meta *a, const struct meta *b) {
    return a->rank == b->rank && !memcmp(a->size, b->size, a->rank * sizeof(ex));
}

static void copy_node(struct assigning *x, node_id id) {
    const struct node *n = &x->from->nodes.at[id];
    node_id of = n->n_args && n->args[0].kind == ARG_NODE ? n->args[0].node : NO_NODE;
    if (x->part[id]) return;
    if (x->made[id].is)
        copy_assignment(x, id);
    else if (of != NO_NODE && x->chain[of])
        copy_element(x, id);
    else if (n->op == OP_EXPAND_AS && same_sizes(&x->from->nodes.at[of].meta, &n->meta))
        x->map[id] = x->map[of];
    else
        x->map[id] = graph_copy(x->to, x->from, id, x->map);
}

struct graph *graph_assigned(struct graph *g) {
    struct assigning x = {.from = g, .to = graph_like(g)};
    bool any = false;
    x.made = NEW_ARRAY(g->arena, struct assignment, g->nodes.n);
    find_assignments(&x);
    for (node_id id = 0; id < g->nodes.n; id++) any |= x.made[id].is;
    if (!any) return g;
    x.whole = NEW_ARRAY(g->arena, bool, g->nodes.n);
    x.part = NEW_ARRAY(g->arena, bool, g->nodes.n);
    x.chain = NEW_ARRAY(g->arena, struct chain *, g->nodes.n);
    x.map = NEW_ARRAY(g->arena, node_id, g->nodes.n);
    find_whole(&x);
    for (node_id id = 0; id < g->nodes.n; id++) copy_node(&x, id);
    if (x.longest < MIN_ASSIGNED) return g;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &x.to->outputs, x.map[g->outputs.at[i]]);
    return graph_drop_unused(x.to);
}

/* rowwise.c: does an output have a row for each row of some inputs, made of that row alone?
 *
 *   graph(%x: f32[8, 4], %w: f32[4]) {
 *     %softmax = softmax(%x, dim=1)         rows of %x -> its rows
 *     %mul = mul(%softmax, %w)              the same %w for every row
 *     return %mul }                         yes; not with dim=0, nor %w: f32[8, 4]
 *
 * A matrix product of [N, T, C] goes by way of [N*T, C]: a row may be several steps of a dimension.
 * Needs: decompose. A proof that fails says no. */
#include "graph/graph_impl.h"
#include "graph/traits.h"

enum rows {
    ROWS_NONE,  /* nothing of the rows is in it, and it varies along its first dimension */
    ROWS_SAME,  /* nothing of them, and it does not vary along it */
    ROWS_OWN,   /* its row i is made of theirs */
    ROWS_MIXED, /* its elements are, any way */
};

struct proof {
    const struct graph *g;
    ex n;          /* rows that the inputs have */
    enum rows *of; /* per node */
    ex *each;      /* ROWS_OWN: so many steps of the first dimension are a row's */
};

static const struct node *node_at(const struct proof *p, node_id n) { return &p->g->nodes.at[n]; }

static int rank_of(const struct proof *p, node_id n) { return node_at(p, n)->meta.rank; }

static ex first_size(const struct proof *p, node_id n) {
    const struct meta *m = &node_at(p, n)->meta;
    return m->rank ? m->size[0] : EX_NONE;
}

static bool names_first(const struct proof *p, const struct arg *a) {
    return arg_names_dim(p->g->ex, a, 0);
}

/* Operands that broadcast to `rank` dimensions: each has the rows, or is the same for all. */
static enum rows broadcast(const struct proof *p, const node_id *at, uint32_t n, int rank) {
    bool own = false, same = true;
    ex each = EX_NONE;
    for (uint32_t i = 0; i < n; i++) {
        enum rows r = p->of[at[i]];
        bool whole = rank_of(p, at[i]) == rank;
        if (r == ROWS_MIXED || (r == ROWS_OWN && !whole)) return ROWS_MIXED;
        if (r == ROWS_OWN && own && p->each[at[i]] != each) return ROWS_MIXED;
        if (r == ROWS_OWN) each = p->each[at[i]];
        own |= r == ROWS_OWN;
        same &= r == ROWS_OWN || r == ROWS_SAME || !whole;
    }
    if (!own) return same ? ROWS_SAME : ROWS_NONE;
    return same ? ROWS_OWN : ROWS_MIXED;
}

static enum rows pointwise(const struct proof *p, const struct node *n) {
    node_id at[MAX_PARAMS];
    uint32_t k = 0;
    for (int i = 0; i < n->n_args; i++)
        if (n->args[i].kind == ARG_NODE) at[k++] = n->args[i].node;
    return broadcast(p, at, k, n->meta.rank);
}

/* One operand, whose rows stay if `keeps`. */
static enum rows kept_if(enum rows r, bool keeps) {
    if (r == ROWS_OWN) return keeps ? ROWS_OWN : ROWS_MIXED;
    return r == ROWS_SAME && !keeps ? ROWS_NONE : r;
}

/* In row-major order a row's elements stay together: the first dimension takes in some that follow,
 * or gives some of them up. EX_NONE: it cuts rows. */
static ex view_each(const struct proof *p, const struct node *n) {
    const struct meta *from = &node_at(p, n->args[0].node)->meta, *to = &n->meta;
    ex each = p->each[n->args[0].node];
    if (!from->rank || !to->rank) return EX_NONE;
    if (to->size[0] == p->n) return ex_const(p->g->ex, 1);
    for (int k = 1; k <= from->rank; k++) {
        if (to->size[0] == ex_mul(p->g->ex, p->n, each)) return each;
        if (k < from->rank) each = ex_mul(p->g->ex, each, from->size[k]);
    }
    return EX_NONE;
}

static enum rows viewed(const struct proof *p, const struct node *n) {
    enum rows r = p->of[n->args[0].node];
    const struct meta *from = &node_at(p, n->args[0].node)->meta, *to = &n->meta;
    ex zero = ex_const(p->g->ex, 0), one = ex_const(p->g->ex, 1);
    switch (op_view(n->op)) {
    case VIEW_VIEW: return kept_if(r, view_each(p, n) != EX_NONE);
    case VIEW_PERMUTE: return kept_if(r, n->args[1].ints.n && n->args[1].ints.at[0] == zero);
    case VIEW_EXPAND:
        if (r == ROWS_NONE && (to->rank > from->rank || from->size[0] == one)) return ROWS_SAME;
        if (r == ROWS_SAME && to->rank != from->rank) return ROWS_SAME;
        return kept_if(r, to->rank == from->rank);
    case VIEW_UNSQUEEZE:
        return names_first(p, &n->args[1]) && r != ROWS_OWN && r != ROWS_MIXED
                   ? ROWS_SAME
                   : kept_if(r, !names_first(p, &n->args[1]));
    case VIEW_SLICE:
    case VIEW_SQUEEZE: return kept_if(r, !names_first(p, &n->args[1]));
    }
    WS_BUG("%s shows no rows", op_info(n->op)->name);
}

/* Lookups: whole rows of a table by the rows' numbers, or along another dimension of each row. */
static enum rows looked_up(const struct proof *p, const struct node *n) {
    enum rows self = p->of[n->args[0].node];
    const struct arg *list = &n->args[1], *dims = &n->args[2];
    int rank = 0;
    for (uint32_t i = 0; i < list->nodes.n; i++)
        if (rank_of(p, list->nodes.at[i]) > rank) rank = rank_of(p, list->nodes.at[i]);
    enum rows by = broadcast(p, list->nodes.at, list->nodes.n, rank);
    int position = graph_index_position(p->g->ex, dims, rank_of(p, n->args[0].node));
    if (self == ROWS_MIXED || by == ROWS_MIXED) return ROWS_MIXED;
    if (self == ROWS_OWN)
        return by != ROWS_OWN && position > 0 && !names_first(p, dims) ? ROWS_OWN : ROWS_MIXED;
    return by == ROWS_OWN ? position == 0 ? ROWS_OWN : ROWS_MIXED : ROWS_NONE;
}

static enum rows moved(const struct proof *p, const struct node *n) {
    enum rows r = n->op == OP_CAT
                      ? broadcast(p, n->args[0].nodes.at, n->args[0].nodes.n, n->meta.rank)
                      : p->of[n->args[0].node];
    switch (op_move(n->op)) {
    case MOVE_CAT:
    case MOVE_FLIP: return kept_if(r, !names_first(p, &n->args[1]));
    case MOVE_CONSTANT_PAD: return kept_if(r, (int)n->args[1].ints.n / 2 < n->meta.rank);
    case MOVE_WINDOWS: return kept_if(r, (int)n->args[1].ints.n < rank_of(p, n->args[0].node));
    case MOVE_GATHER: {
        node_id both[2] = {n->args[0].node, n->args[2].node};
        return kept_if(broadcast(p, both, 2, n->meta.rank), !names_first(p, &n->args[1]));
    }
    case MOVE_INDEX: return looked_up(p, n);
    }
    WS_BUG("%s moves no rows", op_info(n->op)->name);
}

static enum rows product(const struct proof *p, const struct node *n) {
    node_id both[2] = {n->args[0].node, n->args[1].node};
    enum rows a = p->of[both[0]], b = p->of[both[1]];
    if (n->op == OP_BMM) return broadcast(p, both, 2, n->meta.rank);
    if (a == ROWS_MIXED || b == ROWS_MIXED || b == ROWS_OWN) return ROWS_MIXED;
    return a == ROWS_OWN ? ROWS_OWN : ROWS_NONE;
}

static enum rows rows_of(const struct proof *p, node_id id) {
    const struct node *n = node_at(p, id);
    switch (op_info(n->op)->class) {
    case POINTWISE: return pointwise(p, n);
    case REDUCE:
    case SCAN: return kept_if(p->of[n->args[0].node], !names_first(p, &n->args[1]));
    case VIEW: return viewed(p, n);
    case MOVE: return moved(p, n);
    case MATMUL: return product(p, n);
    case CREATE: return n->op == OP_FULL ? ROWS_SAME : ROWS_NONE;
    case INPUT:
    case LOOP:
    case COMPOSITE: break;
    }
    return ROWS_MIXED;
}

/* As the operand that has the rows. */
static ex each_of(const struct proof *p, node_id id) {
    const struct node *n = node_at(p, id);
    if (n->op == OP_VIEW) return view_each(p, n);
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
            if (p->of[at[k]] == ROWS_OWN) return p->each[at[k]];
    }
    return ex_const(p->g->ex, 1);
}

bool graph_is_rowwise(const struct graph *g, const bool *rows) {
    struct proof p = {.g = g,
                      .of = NEW_ARRAY(g->arena, enum rows, g->nodes.n),
                      .each = NEW_ARRAY(g->arena, ex, g->nodes.n)};
    ex one = ex_const(g->ex, 1);
    for (node_id n = 0; n < g->nodes.n; n++) {
        bool input = g->nodes.at[n].op == OP_INPUT;
        if (input && rows[n]) p.n = first_size(&p, n);
        p.of[n] = !input ? rows_of(&p, n) : rows[n] ? ROWS_OWN : ROWS_NONE;
        p.each[n] = p.of[n] == ROWS_OWN ? each_of(&p, n) : one;
        if (p.of[n] == ROWS_NONE && first_size(&p, n) == one) p.of[n] = ROWS_SAME;
    }
    node_id out = g->outputs.at[0];
    return p.of[out] == ROWS_OWN && p.each[out] == one;
}

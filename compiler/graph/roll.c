/* roll.c: nodes that are the same steps again and again become a loop.
 *
 *   %x0 = select(%xs, 0, 0)                     %loop = loop([%h0, %xs, %u], carried=[0, -1, -1],
 *   %h1 = tanh(add(%x0, mm(%h0, %u)))      ->         way=[0, 1, 0], steps=512, body=graph(%h, %x,
 *   %x1 = select(%xs, 0, 1)                           %u) { .. return %tanh }, output=0)
 *   %h2 = tanh(add(%x1, mm(%h1, %u)))
 *   ..                                          and for stack([%h1, %h2, ..]), %loop itself
 *
 * Whatever wrote them: a layer of the prelude, a Python `for`, or autograd, whose steps go
 * backwards. Nodes are alike if they have the same operator, type, sizes and arguments but for
 * operands. Where a stretch of P nodes is followed by stretches alike, step by step, each operand
 * of a node has to be
 *
 *   a node of its own step, the same one in each;
 *   a node of the step before, the same one in each: carried; step 0 has another, from outside;
 *   one node before all steps: whole;
 *   an element of one tensor before all steps, whose number grows or falls alike: sliced.
 *
 * What is used behind the steps is taken from their stacked outputs. The last step may lack nodes,
 * as what it leaves for a next one is read by nobody and so has gone: it is a step like the others,
 * if they could be made.
 *
 * Only what is worth it: steps that multiply what they carry, which could not be one kernel, or
 * that will be one, or are many, or very many nodes. Few steps stay as they are. Sizes are numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/loop.h"
#include "graph/traits.h"

enum {
    MIN_STEPS = 8,
    MIN_NODES = 1024, /* of all steps, where none is a product, or they are fewer than many */
    SOME_STEPS = 16,  /* where what is carried goes through no sum: these are one kernel */
    MANY_STEPS = 64,
    MAX_PERIOD = 4096,
    MAX_GUESSES = 12, /* how many of the next nodes that look like one may begin the second step */
};
#define NONE UINT32_MAX

/* Element `index` of a tensor along a dimension, which is kept as 1 or gone. */
struct element {
    node_id base; /* in the new graph */
    int64_t dim, index;
    bool kept;
};

/* What an input of the body is made of. */
struct operand {
    enum loop_way is;
    node_id old;       /* whole: the node; carried: its node of step 0, which the body yields */
    node_id init;      /* carried: what step 0 has */
    struct element at; /* sliced, in step 0 */
    int64_t way;
    node_id template; /* the node of the old graph that it is in step 1 */
};

typedef VEC(struct operand) operand_list;

struct steps {
    node_id begin;
    uint32_t period, n;
    uint32_t whole; /* of these, with all their nodes: all, or all but the last */
    node_id *last; /* by place in the step that is not whole: its node; NONE. NULL: there is none */
    operand_list operands;
    uint32_t *replaced; /* by place in a step: 1 + the operand that it is; 0 */
    bool carries, multiplies;
};

/* Where a node of a loop is to be had. */
struct place {
    node_id loop; /* the node of the new graph that stacks it; NONE: the node is none of a loop */
    uint32_t step;
};

struct rolling {
    struct graph *from, *to;
    uint64_t *look;   /* by node */
    node_id *next;    /* by node: the next that looks like it; NONE */
    uint32_t *alike;  /* by period: up to which node all look like those a period later */
    node_id *map;     /* old -> new; NONE */
    struct place *at; /* by old node */
    node_id *body;    /* old -> node of a body, while that is made; NONE */
    bool any;
    /* memory of the steps that are looked at, one guess after the other */
    operand_list operands;
    uint32_t *replaced;
    node_id *last;
};

/* ---- looks ----------------------------------------------------------------------------------- */

static void put(struct buf *b, const void *p, size_t n) { buf_write(b, p, n); }

/* Everything but operands and single numbers, which are compared where two steps are. */
static uint64_t look_of(const struct graph *g, node_id id, struct buf *b) {
    const struct node *n = &g->nodes.at[id];
    b->n = 0;
    put(b, &n->op, sizeof n->op);
    put(b, &n->meta.dtype, sizeof n->meta.dtype);
    put(b, n->meta.size, n->meta.rank * sizeof(ex));
    put(b, n->meta.stride, n->meta.rank * sizeof(ex));
    for (int i = 0; i < n->n_args; i++) {
        const struct arg *a = &n->args[i];
        put(b, &a->kind, sizeof a->kind);
        switch (a->kind) {
        case ARG_NONE:
        case ARG_NODE:
        case ARG_INT: break;
        case ARG_NODES: put(b, &a->nodes.n, sizeof a->nodes.n); break;
        case ARG_FLOAT: put(b, &a->f, sizeof a->f); break;
        case ARG_BOOL: put(b, &a->b, sizeof a->b); break;
        case ARG_DTYPE: put(b, &a->dtype, sizeof a->dtype); break;
        case ARG_STR: put(b, a->s, strlen(a->s) + 1); break;
        case ARG_GRAPH: put(b, &a->graph, sizeof a->graph); break;
        case ARG_INTS:
            put(b, &a->ints.n, sizeof a->ints.n);
            put(b, a->ints.at, a->ints.n * sizeof(ex));
            break;
        }
    }
    return hash_bytes(b->p, b->n);
}

static void find_looks(struct rolling *r) {
    const struct graph *g = r->from;
    struct arena *scratch = arena_new();
    struct map last = map_new(scratch);
    struct buf b = buf_new(scratch);
    for (node_id id = g->nodes.n; id-- > 0;) {
        uint64_t next = NONE;
        r->look[id] = look_of(g, id, &b);
        if (g->nodes.at[id].op == OP_INPUT || g->nodes.at[id].op == OP_LOOP)
            r->look[id] = id; /* like no other */
        map_get(&last, &r->look[id], sizeof r->look[id], &next);
        r->next[id] = (node_id)next;
        map_put(&last, &r->look[id], sizeof r->look[id], id);
    }
    arena_free(scratch);
}

/* How many nodes from `at` on look like those a period later. */
static uint32_t alike_from(struct rolling *r, node_id at, uint32_t period) {
    uint32_t n = r->from->nodes.n, *end = &r->alike[period];
    if (*end <= at) {
        *end = at;
        while (*end + period < n && r->look[*end] == r->look[*end + period]) (*end)++;
    }
    return *end - at;
}

/* ---- elements of tensors --------------------------------------------------------------------- */

static bool constant(const struct graph *g, const struct arg *a, int64_t *v) {
    return a->kind == ARG_INT && ex_is_const(g->ex, a->i, v);
}

/* Does the node show one element along a dimension, and of what? */
static bool shows_element(const struct graph *g, node_id id, struct element *e, node_id *of) {
    const struct node *n = &g->nodes.at[id];
    int64_t end, step;
    if (n->op == OP_SELECT) {
        *of = n->args[0].node;
        return constant(g, &n->args[1], &e->dim) && constant(g, &n->args[2], &e->index) &&
               e->index >= 0;
    }
    e->kept = true;
    if (n->op != OP_SLICE || !constant(g, &n->args[1], &e->dim)) return false;
    *of = n->args[0].node;
    return constant(g, &n->args[2], &e->index) && constant(g, &n->args[3], &end) &&
           constant(g, &n->args[4], &step) && end == e->index + 1 && step == 1;
}

/* A node before the steps as an element of another. */
static bool element_of(const struct rolling *r, node_id id, struct element *e) {
    node_id of;
    *e = (struct element){0};
    if (r->at[id].loop != NONE) {
        *e = (struct element){.base = r->at[id].loop, .index = r->at[id].step};
        return true;
    }
    if (!shows_element(r->from, id, e, &of) || r->map[of] == NONE) return false;
    e->base = r->map[of];
    return true;
}

/* ---- are they the same steps? ---------------------------------------------------------------- */

/* A tangent's number tells it from others of its graph: each step has its own. */
static bool same_numbers(const struct node *a, const struct node *b) {
    if (a->op == OP_TANGENT) return b->op == OP_TANGENT;
    for (int i = 0; i < a->n_args; i++)
        if (a->args[i].kind == ARG_INT && a->args[i].i != b->args[i].i) return false;
    return true;
}

static bool same_element(const struct element *a, const struct element *b, int64_t way) {
    return a->base == b->base && a->dim == b->dim && a->kept == b->kept &&
           b->index == a->index + way;
}

static uint32_t add_operand(struct rolling *r, struct steps *s, struct operand o) {
    for (uint32_t i = 0; i < s->operands.n; i++) {
        const struct operand *x = &s->operands.at[i];
        if (x->template == o.template)
            return x->is == o.is && x->init == o.init && x->way == o.way ? i : NONE;
    }
    vec_push(r->to->arena, &s->operands, o);
    return s->operands.n - 1;
}

static bool same_type(const struct graph *g, node_id a, node_id b) {
    const struct meta *x = &g->nodes.at[a].meta, *y = &g->nodes.at[b].meta;
    return x->dtype == y->dtype && x->rank == y->rank &&
           !memcmp(x->size, y->size, x->rank * sizeof(ex));
}

/* An operand of step 1, and what it is in step 0. */
static bool add_use(struct rolling *r, struct steps *s, node_id zero, node_id one) {
    node_id second = s->begin + s->period;
    struct operand o = {.old = zero, .init = NONE, .template = one};
    if (one >= second) return zero + s->period == one;
    if (one >= s->begin) {
        o = (struct operand){.is = LOOP_IS_CARRIED, .old = one, .init = zero, .template = one};
        if (zero >= s->begin || !same_type(r->from, zero, one)) return false;
        s->carries = true;
        return add_operand(r, s, o) != NONE;
    }
    if (zero >= s->begin) return false;
    if (zero != one) {
        struct element next;
        o.is = LOOP_IS_SLICED;
        if (!element_of(r, zero, &o.at) || !element_of(r, one, &next)) return false;
        o.way = next.index - o.at.index;
        if (!o.way || !same_element(&o.at, &next, o.way)) return false;
    }
    return add_operand(r, s, o) != NONE;
}

/* A node that shows an element of a tensor before the steps, another in each. */
static bool add_shown(struct rolling *r, struct steps *s, uint32_t place) {
    node_id zero = s->begin + place, one = zero + s->period;
    struct operand o = {.is = LOOP_IS_SLICED, .init = NONE, .template = one};
    struct element next = {0};
    node_id of, of_next;
    if (!shows_element(r->from, zero, &o.at, &of) ||
        !shows_element(r->from, one, &next, &of_next) || of != of_next || of >= s->begin)
        return false;
    if (r->map[of] == NONE && r->at[of].loop != NONE) return false; /* an element of an element */
    o.at.base = next.base = r->map[of];
    o.way = next.index - o.at.index;
    uint32_t i = o.way ? add_operand(r, s, o) : NONE;
    if (i == NONE) return false;
    s->replaced[place] = i + 1;
    return true;
}

static bool add_uses(struct rolling *r, struct steps *s, const struct node *a,
                     const struct node *b) {
    for (int i = 0; i < a->n_args; i++) {
        const node_id *x, *y;
        int n = arg_nodes(&a->args[i], &x);
        if (arg_nodes(&b->args[i], &y) != n) return false;
        for (int k = 0; k < n; k++)
            if (!add_use(r, s, x[k], y[k])) return false;
    }
    return true;
}

/* What steps 0 and 1 say of all. */
static bool learn(struct rolling *r, struct steps *s) {
    const struct graph *g = r->from;
    for (uint32_t p = 0; p < s->period; p++) {
        const struct node *a = &g->nodes.at[s->begin + p], *b = a + s->period;
        if (!same_numbers(a, b)) {
            if (!add_shown(r, s, p)) return false;
        } else if (!add_uses(r, s, a, b)) {
            return false;
        }
    }
    return true;
}

static const struct operand *operand_for(const struct steps *s, node_id template) {
    for (uint32_t i = 0; i < s->operands.n; i++)
        if (s->operands.at[i].template == template) return &s->operands.at[i];
    return NULL;
}

/* The node of step t in this place; NONE: it lacks that. */
static node_id node_in(const struct steps *s, uint32_t t, uint32_t place) {
    return s->last && t == s->whole ? s->last[place] : s->begin + t * s->period + place;
}

/* Is `use` in step t what it is by the template, its like in step 1? */
static bool goes_on(const struct rolling *r, const struct steps *s, uint32_t t, node_id template,
                    node_id use) {
    node_id second = s->begin + s->period;
    if (template >= second) return use == node_in(s, t, template - second); /* of its step */
    if (template >= s->begin) return use == node_in(s, t - 1, template - s->begin); /* carried */
    const struct operand *o = operand_for(s, template);
    struct element e;
    if (o->is == LOOP_IS_WHOLE) return use == template;
    return use < s->begin && element_of(r, use, &e) && same_element(&o->at, &e, o->way * t);
}

static bool shows_on(const struct rolling *r, const struct steps *s, uint32_t t, uint32_t place) {
    const struct operand *o = &s->operands.at[s->replaced[place] - 1];
    struct element e = {0};
    node_id of, before;
    struct element first = {0};
    shows_element(r->from, s->begin + place, &first, &before);
    if (!shows_element(r->from, node_in(s, t, place), &e, &of) || of != before) return false;
    e.base = o->at.base;
    return same_element(&o->at, &e, o->way * t);
}

static bool same_place(const struct rolling *r, const struct steps *s, uint32_t t, uint32_t p) {
    const struct node *a = &r->from->nodes.at[s->begin + s->period + p];
    const struct node *b = &r->from->nodes.at[node_in(s, t, p)];
    if (s->replaced[p]) return shows_on(r, s, t, p);
    if (!same_numbers(a, b)) return false;
    for (int i = 0; i < a->n_args; i++) {
        const node_id *x, *y;
        int n = arg_nodes(&a->args[i], &x);
        arg_nodes(&b->args[i], &y);
        for (int k = 0; k < n; k++)
            if (!goes_on(r, s, t, x[k], y[k])) return false;
    }
    return true;
}

static bool same_step(const struct rolling *r, const struct steps *s, uint32_t t) {
    for (uint32_t p = 0; p < s->period; p++)
        if (!same_place(r, s, t, p)) return false;
    return true;
}

/* Have all tensors that steps read slices of one for step t, too? */
static bool has_slices(const struct rolling *r, const struct steps *s, uint32_t t) {
    for (uint32_t i = 0; i < s->operands.n; i++) {
        const struct operand *o = &s->operands.at[i];
        int64_t at = o->at.index + o->way * (int64_t)t, size;
        if (o->is != LOOP_IS_SLICED) continue;
        if (!ex_is_const(r->to->ex, r->to->nodes.at[o->at.base].meta.size[o->at.dim], &size) ||
            at < 0 || at >= size)
            return false;
    }
    return true;
}

/* Behind the whole steps: one that lacks some nodes, fewer than it has, is the last. */
static void find_last(struct rolling *r, struct steps *s) {
    node_id next = s->begin + s->whole * s->period, end = r->from->nodes.n;
    uint32_t has = 0;
    if (!has_slices(r, s, s->whole)) return;
    s->last = r->last;
    for (uint32_t p = 0; p < s->period; p++) s->last[p] = NONE;
    for (uint32_t p = 0; p < s->period && next < end; p++) {
        bool like = r->look[s->begin + s->period + p] == r->look[next];
        s->last[p] = next;
        if (like && same_place(r, s, s->whole, p))
            next++, has++;
        else
            s->last[p] = NONE;
    }
    if (2 * has > s->period)
        s->n++;
    else
        s->last = NULL;
}

/* The node behind all steps. */
static node_id end_of(const struct steps *s) {
    node_id end = s->begin + s->whole * s->period;
    for (uint32_t p = 0; s->last && p < s->period; p++)
        if (s->last[p] != NONE) end = s->last[p] + 1;
    return end;
}

/* Where a node of the steps stands in its own. */
static uint32_t place_of(const struct steps *s, node_id id) {
    uint32_t p = (id - s->begin) % s->period;
    if (id < s->begin + s->whole * s->period) return p;
    for (p = 0; s->last[p] != id;) p++;
    return p;
}

static bool is_product(enum op op) {
    return op_info(op)->class == MATMUL || op_takes(op) == TAKES_PRODUCT || op == OP_CONVOLUTION;
}

/* Does a product in the step depend on what is carried? */
static bool multiplies(const struct rolling *r, const struct steps *s) {
    const struct graph *g = r->from;
    bool *carried = calloc(s->period, sizeof *carried), any = false;
    node_id second = s->begin + s->period;
    for (uint32_t p = 0; carried && p < s->period; p++) {
        const struct node *n = &g->nodes.at[second + p];
        for (int i = 0; i < n->n_args && !s->replaced[p]; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
                carried[p] |= at[k] >= s->begin && (at[k] < second || carried[at[k] - second]);
        }
        any |= carried[p] && is_product(n->op);
    }
    free(carried);
    return any;
}

/* Time goes by, and each element of what is carried is made of its own by operators alone: those
 * that stand on what is carried, and what is carried on them. */
static bool goes_own_way(const struct rolling *r, const struct steps *s) {
    const struct graph *g = r->from;
    bool *stands = calloc(s->period, sizeof *stands), *leads = calloc(s->period, sizeof *leads);
    bool own = stands && leads, slices = false;
    node_id second = s->begin + s->period;
    for (uint32_t p = 0; p < s->period && own; p++)
        for (int i = 0; i < g->nodes.at[second + p].n_args && !s->replaced[p]; i++) {
            const node_id *at;
            for (int k = arg_nodes(&g->nodes.at[second + p].args[i], &at); k-- > 0;)
                stands[p] |= at[k] >= s->begin && (at[k] < second || stands[at[k] - second]);
        }
    for (uint32_t i = 0; i < s->operands.n && own; i++) {
        const struct operand *o = &s->operands.at[i];
        slices |= o->is == LOOP_IS_SLICED;
        if (o->is == LOOP_IS_CARRIED) leads[o->old - s->begin] = true;
    }
    for (uint32_t p = s->period; p-- > 0 && own;) {
        const struct node *n = &g->nodes.at[second + p];
        if (!leads[p] || !stands[p]) continue;
        own = op_info(n->op)->class == POINTWISE;
        for (int i = 0; i < n->n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&n->args[i], &at); k-- > 0;)
                if (at[k] >= second) leads[at[k] - second] = true;
        }
    }
    free(stands);
    free(leads);
    return own && slices;
}

/* False: there is no loop that begins here with this period. */
static bool find_steps(struct rolling *r, node_id begin, uint32_t period, struct steps *s) {
    uint32_t most = alike_from(r, begin, period) / period + 1;
    if (most < MIN_STEPS) return false;
    *s = (struct steps){.begin = begin, .period = period, .n = 2};
    r->operands.n = 0;
    s->operands = r->operands;
    s->replaced = memset(r->replaced, 0, period * sizeof *r->replaced);
    bool known = learn(r, s);
    r->operands = s->operands; /* it may have grown */
    if (!known || !s->carries) return false;
    while (s->n < most && same_step(r, s, s->n)) s->n++;
    if (s->n < MIN_STEPS) return false;
    s->whole = s->n;
    find_last(r, s);
    s->multiplies = multiplies(r, s);
    return s->multiplies || s->n >= MANY_STEPS || s->n * period >= MIN_NODES ||
           (s->n >= SOME_STEPS && goes_own_way(r, s));
}

/* ---- making it ------------------------------------------------------------------------------- */

static node_id must_call(struct graph *g, enum op op, const struct arg *args, int n,
                         struct span where) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, where, &d, &out)) graph_refused(g, "roll", &d);
    return out;
}

static node_id move_dim(struct graph *g, node_id x, int64_t from, int64_t to, struct span where) {
    if (from == to) return x;
    ex dims[2] = {ex_const(g->ex, from), ex_const(g->ex, to)};
    struct arg args[] = {arg_node(x), arg_ints(g, &dims[0], 1), arg_ints(g, &dims[1], 1)};
    return must_call(g, OP_MOVEDIM, args, 3, where);
}

/* The node of the new graph for one of the old. */
static node_id now(struct rolling *r, node_id old) {
    const struct place *at = &r->at[old];
    if (r->map[old] == NONE && at->loop == NONE) { /* an element that steps have shown */
        r->map[old] = graph_copy(r->to, r->from, old, r->map);
    } else if (r->map[old] == NONE) {
        struct arg args[] = {arg_node(at->loop), arg_int(r->to, 0), arg_int(r->to, at->step)};
        r->map[old] = must_call(r->to, OP_SELECT, args, 3, r->from->nodes.at[old].where);
    }
    return r->map[old];
}

static void add_body_input(struct rolling *r, struct graph *body, const struct operand *o) {
    const struct node *n = &r->from->nodes.at[o->template];
    struct meta m = n->meta;
    bool kept = o->is == LOOP_IS_SLICED && o->at.kept;
    if (o->is != LOOP_IS_WHOLE) meta_contiguous(body->ex, &m);
    struct meta given = m;
    if (kept) {
        given.rank--;
        memmove(&given.size[o->at.dim], &given.size[o->at.dim + 1],
                (size_t)(given.rank - o->at.dim) * sizeof(ex));
        meta_contiguous(body->ex, &given);
    }
    node_id id = graph_input(body, n->name, INPUT_ARG, NULL, &given, body->inputs.n);
    r->body[o->template] = id;
}

/* x[t:t + 1] as x[t] with a dimension of 1: behind the inputs, which come first. */
static void keep_dimension(struct rolling *r, struct graph *body, const struct operand *o) {
    if (o->is != LOOP_IS_SLICED || !o->at.kept) return;
    struct arg args[] = {arg_node(r->body[o->template]), arg_int(body, o->at.dim)};
    r->body[o->template] = must_call(body, OP_UNSQUEEZE, args, 2, (struct span){0});
}

enum { CARRIED = 2 }; /* while outputs are looked for: wanted by the next step */

/* Which nodes of a step are wanted after it: 1 + the number of the output. */
static uint32_t *find_outputs(struct rolling *r, const struct steps *s, uint32_t *n_outputs) {
    const struct graph *g = r->from;
    uint32_t *output = NEW_ARRAY(r->to->arena, uint32_t, s->period);
    node_id end = end_of(s);
    for (uint32_t i = 0; i < s->operands.n; i++)
        if (s->operands.at[i].is == LOOP_IS_CARRIED)
            output[s->operands.at[i].old - s->begin] = CARRIED;
    for (node_id id = end; id < g->nodes.n; id++)
        for (int i = 0; i < g->nodes.at[id].n_args; i++) {
            const node_id *at;
            for (int k = arg_nodes(&g->nodes.at[id].args[i], &at); k-- > 0;)
                if (at[k] >= s->begin && at[k] < end) output[place_of(s, at[k])] |= 1;
        }
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        node_id id = g->outputs.at[i];
        if (id >= s->begin && id < end) output[place_of(s, id)] |= 1;
    }
    *n_outputs = 0;
    for (uint32_t p = 0; p < s->period; p++)
        if (output[p] == 1 && s->replaced[p])
            output[p] = 0; /* to be had outside */
        else if (output[p])
            output[p] = ++*n_outputs;
    return output;
}

static struct graph *make_body(struct rolling *r, const struct steps *s, const uint32_t *output,
                               uint32_t n_outputs) {
    struct graph *body = graph_like(r->to);
    node_id second = s->begin + s->period, *outputs = NEW_ARRAY(body->arena, node_id, n_outputs);
    for (uint32_t i = 0; i < s->operands.n; i++) add_body_input(r, body, &s->operands.at[i]);
    for (uint32_t i = 0; i < s->operands.n; i++) keep_dimension(r, body, &s->operands.at[i]);
    for (uint32_t p = 0; p < s->period; p++) {
        if (!s->replaced[p]) r->body[second + p] = graph_copy(body, r->from, second + p, r->body);
        if (output[p]) outputs[output[p] - 1] = r->body[second + p];
    }
    for (uint32_t k = 0; k < n_outputs; k++) vec_push(body->arena, &body->outputs, outputs[k]);
    graph_own_origins(body);
    return body;
}

static node_id operand_node(struct rolling *r, const struct operand *o, struct span where) {
    switch (o->is) {
    case LOOP_IS_WHOLE: return now(r, o->old);
    case LOOP_IS_CARRIED: return now(r, o->init);
    case LOOP_IS_SLICED: return move_dim(r->to, o->at.base, o->at.dim, 0, where);
    }
    WS_BUG("no such operand");
}

static void make_arguments(struct rolling *r, const struct steps *s, const uint32_t *output,
                           struct graph *body, struct arg *args) {
    struct graph *g = r->to;
    uint32_t n = s->operands.n;
    struct span where = r->from->nodes.at[s->begin].where;
    node_id *operands = NEW_ARRAY(g->arena, node_id, n);
    ex *role = NEW_ARRAY(g->arena, ex, n * LOOP_STEPS);
    for (uint32_t i = 0; i < n; i++) {
        const struct operand *o = &s->operands.at[i];
        bool carried = o->is == LOOP_IS_CARRIED, sliced = o->is == LOOP_IS_SLICED;
        operands[i] = operand_node(r, o, where);
        int64_t from = carried ? (int64_t)output[o->old - s->begin] - 1 : -1;
        role[i] = ex_const(g->ex, from);
        role[n + i] = ex_const(g->ex, sliced ? o->at.index : 0);
        role[2 * n + i] = ex_const(g->ex, sliced ? o->way : 0);
    }
    args[LOOP_OPERANDS] = (struct arg){.kind = ARG_NODES};
    args[LOOP_OPERANDS].nodes.at = operands;
    args[LOOP_OPERANDS].nodes.n = n;
    for (uint32_t k = 0; k < 3; k++) args[LOOP_CARRIED + k] = arg_ints(g, role + k * n, n);
    args[LOOP_STEPS] = arg_int(g, s->n);
    args[LOOP_BODY] = (struct arg){.kind = ARG_GRAPH, .graph = body};
}

static void make_loop(struct rolling *r, const struct steps *s) {
    uint32_t n_outputs;
    const uint32_t *output = find_outputs(r, s, &n_outputs);
    struct arg args[LOOP_ARGUMENTS];
    make_arguments(r, s, output, make_body(r, s, output, n_outputs), args);
    for (uint32_t p = 0; p < s->period; p++) {
        if (!output[p]) continue;
        args[LOOP_OUTPUT] = arg_int(r->to, output[p] - 1);
        node_id loop =
            must_call(r->to, OP_LOOP, args, LOOP_ARGUMENTS, r->from->nodes.at[s->begin + p].where);
        for (uint32_t t = 0; t < s->n; t++)
            if (node_in(s, t, p) != NONE) r->at[node_in(s, t, p)] = (struct place){loop, t};
    }
    for (uint32_t i = 0; i < s->operands.n; i++) r->body[s->operands.at[i].template] = NONE;
    r->any = true;
}

/* ---- lists of what steps yield --------------------------------------------------------------- */

/* How many from `at` on are one node of steps that follow each other, forwards or backwards. */
static uint32_t stretch_of(const struct rolling *r, const struct arg *list, uint32_t at, int *way) {
    const struct place *first = &r->at[list->nodes.at[at]];
    uint32_t n = 1;
    *way = 1;
    if (first->loop == NONE) return 1;
    for (; at + n < list->nodes.n; n++) {
        const struct place *p = &r->at[list->nodes.at[at + n]], *last = p;
        last = &r->at[list->nodes.at[at + n - 1]];
        if (p->loop != first->loop) break;
        if (n == 1) *way = p->step == last->step + 1 ? 1 : -1;
        if (p->step != last->step + (uint32_t)*way) break;
    }
    return n;
}

/* Steps of what a loop stacks, along dimension 0. */
static node_id stretch(struct rolling *r, node_id loop, int64_t first, int64_t n, int way,
                       struct span where) {
    struct graph *g = r->to;
    int64_t least = way > 0 ? first : first - n + 1,
            all = ex_value(g->ex, g->nodes.at[loop].meta.size[0]);
    if (n < all) {
        struct arg args[] = {arg_node(loop), arg_int(g, 0), arg_int(g, least),
                             arg_int(g, least + n), arg_int(g, 1)};
        loop = must_call(g, OP_SLICE, args, 5, where);
    }
    if (way > 0) return loop;
    ex zero = ex_const(g->ex, 0);
    struct arg args[] = {arg_node(loop), arg_ints(g, &zero, 1)};
    return must_call(g, OP_FLIP, args, 2, where);
}

/* A stretch as a part of what stack or cat makes along `dim`. */
static node_id part_of(struct rolling *r, const struct node *n, node_id x, int64_t dim) {
    struct graph *g = r->to;
    x = move_dim(g, x, 0, dim, n->where);
    if (dim) {
        struct arg args[] = {arg_node(x)};
        x = must_call(g, OP_CONTIGUOUS, args, 1, n->where); /* as the list's would lie */
    }
    if (n->op == OP_STACK) return x;
    struct meta m = g->nodes.at[x].meta;
    m.size[dim] = ex_mul(g->ex, m.size[dim], m.size[dim + 1]);
    m.rank--;
    memmove(&m.size[dim + 1], &m.size[dim + 2], (size_t)(m.rank - dim - 1) * sizeof(ex));
    struct arg args[] = {arg_node(x), arg_ints(g, m.size, m.rank)};
    return must_call(g, OP_VIEW, args, 2, n->where);
}

static node_id single(struct rolling *r, const struct node *n, node_id old, int64_t dim) {
    node_id x = now(r, old);
    struct arg args[] = {arg_node(x), arg_int(r->to, dim)};
    return n->op == OP_STACK ? must_call(r->to, OP_UNSQUEEZE, args, 2, n->where) : x;
}

static bool same_dtypes(const struct rolling *r, const struct node *n) {
    for (uint32_t i = 0; i < n->args[0].nodes.n; i++)
        if (r->from->nodes.at[n->args[0].nodes.at[i]].meta.dtype != n->meta.dtype) return false;
    return true;
}

/* stack and cat of what steps yield. False: it is none. */
static bool copy_list(struct rolling *r, node_id id) {
    const struct node *n = &r->from->nodes.at[id];
    int64_t dim;
    int way;
    uint32_t longest = 0, step;
    if ((n->op != OP_STACK && n->op != OP_CAT) || !constant(r->from, &n->args[1], &dim) ||
        !same_dtypes(r, n))
        return false;
    const struct arg *list = &n->args[0];
    for (uint32_t i = 0; i < list->nodes.n; i += step) {
        step = stretch_of(r, list, i, &way);
        if (step > longest) longest = step;
    }
    if (longest < 2) return false;
    node_id *parts = NEW_ARRAY(r->to->arena, node_id, list->nodes.n);
    uint32_t n_parts = 0;
    for (uint32_t i = 0; i < list->nodes.n; i += step) {
        step = stretch_of(r, list, i, &way);
        node_id old = list->nodes.at[i];
        if (step == 1)
            parts[n_parts++] = single(r, n, old, dim);
        else
            parts[n_parts++] = part_of(
                r, n, stretch(r, r->at[old].loop, r->at[old].step, step, way, n->where), dim);
    }
    struct arg all = {.kind = ARG_NODES};
    all.nodes.at = parts;
    all.nodes.n = n_parts;
    struct arg args[] = {all, n->args[1]};
    r->map[id] = n_parts == 1 ? parts[0] : must_call(r->to, OP_CAT, args, 2, n->where);
    return true;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static void copy_node(struct rolling *r, node_id id) {
    const struct node *n = &r->from->nodes.at[id];
    if (copy_list(r, id)) return;
    for (int i = 0; i < n->n_args; i++) {
        const node_id *at;
        for (int k = arg_nodes(&n->args[i], &at); k-- > 0;) now(r, at[k]);
    }
    r->map[id] = graph_copy(r->to, r->from, id, r->map);
}

/* The node behind the loop that begins at id; id if none does. */
static node_id roll_from(struct rolling *r, node_id id) {
    node_id later = r->next[id];
    for (int i = 0; i < MAX_GUESSES && later != NONE; i++, later = r->next[later]) {
        struct steps s;
        if (later - id >= MAX_PERIOD) break;
        if (!find_steps(r, id, later - id, &s)) continue;
        make_loop(r, &s);
        return end_of(&s);
    }
    return id;
}

static bool has_symbols(const struct graph *g) {
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct meta *m = &g->nodes.at[g->inputs.at[i].node].meta;
        for (int k = 0; k < m->rank; k++)
            if (!ex_is_const(g->ex, m->size[k], NULL)) return true;
    }
    return false;
}

struct graph *graph_roll(struct graph *given) {
    if (given->nodes.n < MIN_STEPS * 2 || has_symbols(given)) return given;
    struct graph *g = graph_assigned(given);
    uint32_t n = g->nodes.n;
    struct rolling r = {.from = g, .to = graph_like(g)};
    r.look = NEW_ARRAY(g->arena, uint64_t, n);
    r.next = NEW_ARRAY(g->arena, node_id, n);
    r.alike = NEW_ARRAY(g->arena, uint32_t, MAX_PERIOD);
    r.replaced = NEW_ARRAY(g->arena, uint32_t, MAX_PERIOD);
    r.last = NEW_ARRAY(g->arena, node_id, MAX_PERIOD);
    r.map = NEW_ARRAY(g->arena, node_id, n);
    r.body = NEW_ARRAY(g->arena, node_id, n);
    r.at = NEW_ARRAY(g->arena, struct place, n);
    for (node_id id = 0; id < n; id++) {
        r.map[id] = r.body[id] = NONE;
        r.at[id].loop = NONE;
    }
    find_looks(&r);
    for (node_id id = 0; id < n;) {
        node_id behind = roll_from(&r, id);
        if (behind == id) copy_node(&r, id++);
        id = behind > id ? behind : id;
    }
    if (!r.any) return given;
    for (uint32_t i = 0; i < g->outputs.n; i++)
        vec_push(g->arena, &r.to->outputs, now(&r, g->outputs.at[i]));
    struct graph *rolled = graph_drop_unused(r.to);
    graph_own_origins(rolled);
    return graph_hoist(rolled);
}

/* graph.c: building graphs: names, leaves, copies, arguments, strides. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/traits.h"

struct graph *graph_new(struct arena *a, struct exprs *ex, const struct source *src) {
    struct graph *g = NEW(a, struct graph);
    g->arena = a;
    g->ex = ex;
    g->src = src;
    g->names = map_new(a);
    g->suffixes = map_new(a);
    return g;
}

void graph_reserve(struct graph *g, uint32_t nodes) {
    vec_reserve(g->arena, &g->nodes, nodes);
    map_reserve(&g->names, nodes);
}

struct graph *graph_like(const struct graph *from) {
    struct graph *g = graph_new(from->arena, from->ex, from->src);
    g->seed = from->seed;
    g->n_random = from->n_random;
    g->random_base = from->random_base;
    g->products = from->products;
    g->convolutions = from->convolutions;
    g->fixed = from->fixed;
    return g;
}

bool graph_input_fixed(const struct graph *g, const struct graph_input *in) {
    return g->fixed && in->kind != INPUT_ARG && !in->becomes;
}

bool is_identifier(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

bool graph_find(const struct graph *g, const char *name, node_id *out) {
    uint64_t id;
    if (!map_gets(&g->names, name, &id) || id == NO_NODE) return false;
    *out = (node_id)id;
    return true;
}

void graph_rename(struct graph *g, node_id n, const char *name) {
    map_puts(&g->names, g->nodes.at[n].name, NO_NODE); /* given back */
    g->nodes.at[n].name = arena_strdup(g->arena, name);
    map_puts(&g->names, name, n);
}

/* hint as an identifier that no node has: x, x_1, x_2, ... */
static const char *unique_name(struct graph *g, const char *hint) {
    char *base = arena_strdup(g->arena, hint && *hint ? hint : "node");
    for (char *p = base; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    if (isdigit((unsigned char)*base)) base = arena_printf(g->arena, "_%s", base);
    const char *name = base;
    node_id taken;
    uint64_t k = 1; /* from where the last one like it ended */
    map_gets(&g->suffixes, base, &k);
    while (graph_find(g, name, &taken))
        name = arena_printf(g->arena, "%s_%llu", base, (unsigned long long)k++);
    if (k > 1) map_puts(&g->suffixes, base, k);
    return name;
}

node_id graph_push(struct graph *g, struct node n, const char *hint) {
    node_id id = g->nodes.n;
    n.name = unique_name(g, hint);
    map_puts(&g->names, n.name, id);
    vec_push(g->arena, &g->nodes, n);
    return id;
}

node_id graph_input(struct graph *g, const char *name, enum input_kind kind, const char *source,
                    const struct meta *meta, uint32_t init) {
    struct node n = {.op = OP_INPUT, .meta = *meta, .origin = g->nodes.n};
    node_id id = graph_push(g, n, name);
    struct graph_input in = {id, kind, source ? arena_strdup(g->arena, source) : NULL, init, 0};
    vec_push(g->arena, &g->inputs, in);
    return id;
}

/* ---- arguments ------------------------------------------------------------------------------- */

struct arg arg_node(node_id n) {
    return (struct arg){.kind = ARG_NODE, .node = n};
}
struct arg arg_int(struct graph *g, int64_t v) {
    return arg_ex(ex_const(g->ex, v));
}
struct arg arg_ex(ex e) {
    return (struct arg){.kind = ARG_INT, .i = e};
}
struct arg arg_float(double v) {
    return (struct arg){.kind = ARG_FLOAT, .f = v};
}
struct arg arg_bool(bool b) {
    return (struct arg){.kind = ARG_BOOL, .b = b};
}
struct arg arg_none(void) {
    return (struct arg){.kind = ARG_NONE};
}
struct arg arg_dtype(enum dtype d) {
    return (struct arg){.kind = ARG_DTYPE, .dtype = d};
}
struct arg arg_str(const char *s) {
    return (struct arg){.kind = ARG_STR, .s = s};
}

struct arg arg_ints(struct graph *g, const ex *at, uint32_t n) {
    struct arg a = {.kind = ARG_INTS};
    a.ints.at = NEW_ARRAY(g->arena, ex, n);
    a.ints.n = n;
    if (n) memcpy(a.ints.at, at, n * sizeof *at);
    return a;
}

struct arg arg_copy(struct graph *g, const struct arg *a) {
    if (a->kind == ARG_INTS) return arg_ints(g, a->ints.at, a->ints.n);
    struct arg r = *a;
    if (a->kind == ARG_STR) r.s = arena_strdup(g->arena, a->s);
    if (a->kind == ARG_NODES) {
        r.nodes.at = NEW_ARRAY(g->arena, node_id, a->nodes.n);
        if (a->nodes.n) memcpy(r.nodes.at, a->nodes.at, a->nodes.n * sizeof(node_id));
    }
    return r;
}

struct arg arg_map(struct graph *g, const struct arg *a, const node_id *map) {
    struct arg r = arg_copy(g, a);
    if (r.kind == ARG_NODE) r.node = map[r.node];
    if (r.kind == ARG_NODES)
        for (uint32_t i = 0; i < r.nodes.n; i++) r.nodes.at[i] = map[r.nodes.at[i]];
    return r;
}

int arg_nodes(const struct arg *a, const node_id **out) {
    if (a->kind == ARG_NODE) return *out = &a->node, 1;
    if (a->kind == ARG_NODES) return *out = a->nodes.at, (int)a->nodes.n;
    return 0;
}

node_id only_operand_of(const struct node *n) {
    node_id one = NO_NODE;
    if (op_info(n->op)->class != POINTWISE) return NO_NODE;
    for (int i = 0; i < n->n_args; i++) {
        if (n->args[i].kind == ARG_NODES) return NO_NODE;
        if (n->args[i].kind != ARG_NODE) continue;
        if (one != NO_NODE && one != n->args[i].node) return NO_NODE;
        one = n->args[i].node;
    }
    return one;
}

bool arg_names_dim(struct exprs *p, const struct arg *a, int dim) {
    ex wanted = ex_const(p, dim);
    if (a->kind == ARG_INT) return a->i == wanted;
    if (a->kind != ARG_INTS || !a->ints.n) return true;
    for (uint32_t i = 0; i < a->ints.n; i++)
        if (a->ints.at[i] == wanted) return true;
    return false;
}

double arg_number(const struct graph *g, const struct arg *a) {
    switch (a->kind) {
    case ARG_INT: return (double)ex_value(g->ex, a->i);
    case ARG_FLOAT: return a->f;
    case ARG_BOOL: return a->b;
    default: WS_BUG("argument of kind %d is no number", a->kind);
    }
}

bool arg_is_number(const struct graph *g, const struct arg *a, double number) {
    bool known = a->kind == ARG_FLOAT || (a->kind == ARG_INT && ex_is_const(g->ex, a->i, NULL));
    return known && arg_number(g, a) == number;
}

int64_t arg_entry(const struct graph *g, const struct arg *a, uint32_t k, int64_t absent) {
    if (a->kind != ARG_INTS || !a->ints.n) return absent;
    return ex_value(g->ex, a->ints.at[a->ints.n == 1 ? 0 : k]);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Which of the inputs the node is: of its number, in a graph that is done (G4). */
static uint32_t input_of(const struct graph *g, node_id id) {
    if (id < g->inputs.n && g->inputs.at[id].node == id) return id;
    for (uint32_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i].node == id) return i;
    WS_BUG("%s is no input of its graph", g->nodes.at[id].name);
}

/* A node whose arguments are of that graph. */
static node_id push_copy(struct graph *to, struct node n) {
    struct diag d = diag_new(to->arena); /* strides may have changed with the arguments */
    if (n.op != OP_INPUT && !graph_meta(to, n.op, n.args, n.where, &d, &n.meta))
        graph_refused(to, arena_printf(to->arena, "copy of %s", n.name), &d);
    return graph_push(to, n, n.name);
}

node_id graph_copy_alone(struct graph *to, const struct graph *from, node_id id) {
    struct node n = from->nodes.at[id];
    const struct arg *old = n.args;
    n.args = NEW_ARRAY(to->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) {
        n.args[i] = arg_copy(to, &old[i]);
        const node_id *at;
        for (int k = 0; k < arg_nodes(&n.args[i], &at); k++) {
            const struct meta *m = &from->nodes.at[at[k]].meta;
            node_id x = graph_input(to, "x", INPUT_ARG, "x", m, to->inputs.n);
            *(n.args[i].kind == ARG_NODE ? &n.args[i].node : &n.args[i].nodes.at[k]) = x;
        }
    }
    return push_copy(to, n);
}

node_id graph_copy(struct graph *to, const struct graph *from, node_id id, const node_id *map) {
    struct node n = from->nodes.at[id];
    const struct arg *old = n.args;
    n.args = NEW_ARRAY(to->arena, struct arg, n.n_args);
    for (int i = 0; i < n.n_args; i++) n.args[i] = arg_map(to, &old[i], map);
    node_id copy = push_copy(to, n);
    if (n.op != OP_INPUT) return copy;
    struct graph_input in = from->inputs.at[input_of(from, id)];
    in.node = copy;
    vec_push(to->arena, &to->inputs, in);
    return copy;
}

uint32_t *graph_use_counts(const struct graph *g) {
    uint32_t *uses = NEW_ARRAY(g->arena, uint32_t, g->nodes.n);
    for (uint32_t i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.at[i].n_args; k++) {
            const node_id *at;
            int n = arg_nodes(&g->nodes.at[i].args[k], &at);
            while (n--) uses[at[n]]++;
        }
    for (uint32_t i = 0; i < g->outputs.n; i++) uses[g->outputs.at[i]]++;
    return uses;
}

uint32_t graph_first_output(const struct graph *g, uint32_t i) {
    uint32_t first = 0;
    while (g->outputs.at[first] != g->outputs.at[i]) first++;
    return first;
}

/* An input that is updated has another value by then, and a new value lies where its input does. */
static bool is_updated(const struct graph *g, node_id input, node_id output) {
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        uint32_t becomes = g->inputs.at[i].becomes;
        if (!becomes) continue;
        if (g->inputs.at[i].node == input || g->outputs.at[becomes - 1] == output) return true;
    }
    return false;
}

/* Of a dense tensor, what it is under another shape. */
static node_id same_memory(const struct graph *g, node_id id) {
    const struct node *x = &g->nodes.at[id];
    while (op_only_reshapes(x->op)) x = &g->nodes.at[id = x->args[0].node];
    return id;
}

static bool computes_output(const struct graph *g) {
    for (uint32_t i = 0; i < g->outputs.n; i++)
        if (g->nodes.at[same_memory(g, g->outputs.at[i])].op != OP_INPUT) return true;
    return false;
}

uint32_t graph_returned_input(const struct graph *g, uint32_t i) {
    node_id id = same_memory(g, g->outputs.at[i]);
    uint32_t input = 0;
    bool may = g->returns_inputs && meta_is_contiguous(g->ex, &g->nodes.at[id].meta);
    if (!may || is_updated(g, id, g->outputs.at[i]) || !computes_output(g)) return g->inputs.n;
    while (input < g->inputs.n && g->inputs.at[input].node != id) input++;
    return input;
}

void graph_refused(struct graph *g, const char *pass, const struct diag *d) {
    if (ex_overflowed(g->ex)) ex_overflow(g->ex, d->text);
    WS_BUG("%s: %s", pass, d->text);
}

node_id graph_call_like(struct graph *g, const char *pass, const struct node *like,
                        const struct arg *args) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, like->op, args, like->n_args, like->where, &d, &out))
        graph_refused(g, pass, &d);
    return out;
}

/* ---- shorthands ------------------------------------------------------------------------------ */

static node_id must_call(struct graph *g, enum op op, const struct arg *args, int n) {
    struct diag d = diag_new(g->arena);
    node_id out;
    if (!graph_call(g, op, args, n, (struct span){0}, &d, &out)) graph_refused(g, "shorthand", &d);
    return out;
}

node_id graph_op1(struct graph *g, enum op op, node_id a) {
    struct arg args[] = {arg_node(a)};
    return must_call(g, op, args, 1);
}

node_id graph_op2(struct graph *g, enum op op, node_id a, node_id b) {
    struct arg args[] = {arg_node(a), arg_node(b)};
    return must_call(g, op, args, 2);
}

/* A whole number stays an integer beside an integer tensor, so that the type does not change. */
node_id graph_op2s(struct graph *g, enum op op, node_id a, double number) {
    bool whole = !dtype_is_float(g->nodes.at[a].meta.dtype) && number == floor(number);
    struct arg args[] = {arg_node(a), whole ? arg_int(g, (int64_t)number) : arg_float(number)};
    return must_call(g, op, args, 2);
}

/* ---- strides --------------------------------------------------------------------------------- */

/* A stride steps over at least one element even where a size is 0, as PyTorch's do. */
static ex at_least_one(struct exprs *p, ex e) {
    int64_t lo, hi;
    ex_range(p, e, &lo, &hi);
    return lo >= 1 ? e : ex_max(p, e, ex_const(p, 1));
}

bool meta_same_shape(const struct meta *a, const struct meta *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->size, b->size, a->rank * sizeof(ex));
}

void meta_contiguous(struct exprs *p, struct meta *m) {
    ex step = ex_const(p, 1);
    for (int i = m->rank - 1; i >= 0; i--) {
        m->stride[i] = step;
        step = ex_mul(p, step, at_least_one(p, m->size[i]));
    }
}

bool meta_is_contiguous(struct exprs *p, const struct meta *m) {
    ex one = ex_const(p, 1), step = one;
    if (meta_numel(p, m) == ex_const(p, 0)) return true;
    for (int i = m->rank - 1; i >= 0; i--) {
        if (m->size[i] == one) continue; /* its stride is never taken */
        if (m->stride[i] != step) return false;
        step = ex_mul(p, step, m->size[i]);
    }
    return true;
}

ex meta_numel(struct exprs *p, const struct meta *m) {
    ex n = ex_const(p, 1);
    for (int i = 0; i < m->rank; i++) n = ex_mul(p, n, m->size[i]);
    return n;
}

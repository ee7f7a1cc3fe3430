/* steps.c: what a step of a loop reads of others, and leaves for them, as windows into memory.
 *
 *   %h = loop_step(%h0), carried          b5: window of b4, carried, at first b1
 *   %x = loop_step(%a), sliced            b6: window of b2, 0 + 1 t
 *   %tanh = ..                       ->   b7: window of b4, 0 + 1 t      what tanh's nest writes
 *   %hs = loop_stack(%tanh)               b4: stack f32[512, 16, 64]
 *
 * So the nests of a step know nothing of the loop; whoever runs them says where the windows are.
 * Kernels may take it that memory begins where a vector does: so does each step's. What lies
 * otherwise is copied before the loop. What is read within the loop alone has memory for two
 * steps, but on a GPU what its products read of the step before. */
#include "graph/loop.h"
#include "loop/lower_impl.h"

enum { ALIGN = 64 /* bytes: the longest vectors */ };
#define NONE UINT32_MAX

static const struct meta *meta_at(const struct lowering *w, node_id id) {
    return &w->g->nodes.at[id].meta;
}

static int64_t numel_of(const struct lowering *w, const struct meta *m) {
    return ex_value(w->l->ex, meta_numel(w->l->ex, m));
}

static int64_t step_elements(const struct lowering *w, const struct meta *m) {
    return numel_of(w, m) / ex_value(w->l->ex, m->size[0]);
}

static int64_t padded(const struct lowering *w, const struct meta *m, int64_t elements) {
    int64_t unit = ALIGN / dtype_bytes(w->g->in_doubles ? DT_F64 : m->dtype);
    return unit ? (elements + unit - 1) / unit * unit : elements;
}

/* For all steps of what node `id` is. */
static buffer_id add_stack(struct lowering *w, node_id id) {
    struct exprs *p = w->l->ex;
    buffer_id b = add_buffer(w, BUFFER_STACK, 0, id);
    struct meta *m = &w->l->buffers.at[b].meta;
    int64_t each = padded(w, m, step_elements(w, m));
    m->stride[0] = ex_const(p, each);
    return b;
}

static void begin_index(struct lowering *w, node_id id, ex *index) {
    struct nest n = begin_nest(w, id);
    memcpy(index, n.out_index, sizeof n.out_index);
}

/* The buffer that holds the elements of node `id`, all of them in their order, and in each of
 * `parts` begins where a vector does. */
static bool find_dense(struct lowering *w, node_id id, int64_t each, buffer_id *out) {
    ex index[WS_MAX_RANK];
    begin_index(w, id, index);
    node_id same = same_elements(w, id, index);
    if (!w->has_buffer[same]) return false;
    struct buffer *b = &w->l->buffers.at[ *out = w->buffer_of[same]];
    bool given = b->kind == BUFFER_INPUT && !w->g->in_doubles;
    if (b->kind == BUFFER_STACK && !meta_is_contiguous(w->l->ex, &b->meta)) return same == id;
    if (b->kind == BUFFER_WINDOW || (b->kind == BUFFER_INPUT && !given)) return false;
    return meta_is_contiguous(w->l->ex, &b->meta) && padded(w, &b->meta, each) == each;
}

/* The same, copied in the epoch before if there is none. */
static buffer_id dense_buffer(struct lowering *w, node_id id, bool steps) {
    const struct meta *m = meta_at(w, id);
    int64_t each = steps ? step_elements(w, m) : 0;
    buffer_id b;
    if (!find_dense(w, id, each, &b)) {
        b = steps ? add_stack(w, id) : add_buffer(w, BUFFER_STACK, 0, id);
        w->epoch--;
        copy_node(w, id, b);
        w->epoch++;
    }
    if (w->l->buffers.at[b].kind == BUFFER_TEMP) w->l->buffers.at[b].kind = BUFFER_STACK;
    return b;
}

static int64_t each_of(const struct lowering *w, buffer_id b, int64_t elements) {
    const struct meta *m = &w->l->buffers.at[b].meta;
    bool dense = meta_is_contiguous(w->l->ex, m);
    return dense ? elements : ex_value(w->l->ex, m->stride[0]);
}

/* The stack of an output; there before its windows are. */
static buffer_id stack_of(struct lowering *w, uint32_t output, int64_t *ring) {
    const struct flat_loop *loop = &w->flat->loops.at[w->epoch / 2];
    node_id id = loop->stack[output];
    *ring = loop->kept[output] || loop->steps <= LOOP_TURNS ? 0 : LOOP_TURNS;
    if (!w->has_buffer[id]) w->buffer_of[id] = add_stack(w, id);
    w->has_buffer[id] = true;
    return w->buffer_of[id];
}

static void add_window(struct lowering *w, node_id id, struct loop_window x) {
    buffer_id b = add_buffer(w, BUFFER_WINDOW, 0, id);
    w->l->buffers.at[b].window = x;
    w->buffer_of[id] = b;
    w->has_buffer[id] = true;
}

static void lower_carried(struct lowering *w, node_id id) {
    const struct node *n = &w->g->nodes.at[id];
    uint32_t output = (uint32_t)ex_value(w->l->ex, n->args[1].i);
    struct loop_window x = {.carried = true, .way = 1};
    x.of = stack_of(w, output, &x.ring);
    x.start = dense_buffer(w, n->args[0].node, false);
    x.each = each_of(w, x.of, numel_of(w, &n->meta));
    add_window(w, id, x);
}

static void lower_sliced(struct lowering *w, node_id id) {
    struct exprs *p = w->l->ex;
    const struct node *n = &w->g->nodes.at[id];
    struct loop_window x = {.first = ex_value(p, n->args[2].i), .way = ex_value(p, n->args[3].i)};
    x.of = dense_buffer(w, n->args[0].node, true);
    x.each = each_of(w, x.of, numel_of(w, &n->meta));
    add_window(w, id, x);
}

/* The nest that makes it writes into the stack, or a copy does. */
static void lower_stack(struct lowering *w, node_id id) {
    node_id made = w->g->nodes.at[id].args[0].node;
    uint32_t output = 0;
    while (w->flat->loops.at[w->epoch / 2].stack[output] != id) output++;
    struct loop_window x = {.way = 1};
    x.of = stack_of(w, output, &x.ring);
    x.each = each_of(w, x.of, numel_of(w, meta_at(w, made)));
    bool own = w->has_buffer[made] && w->flat->epoch[made] == w->epoch;
    struct buffer *b = own ? &w->l->buffers.at[w->buffer_of[made]] : NULL;
    if (b && b->kind == BUFFER_TEMP) {
        b->kind = BUFFER_WINDOW;
        b->window = x;
        return;
    }
    buffer_id copy = add_buffer(w, BUFFER_WINDOW, 0, made);
    w->l->buffers.at[copy].window = x;
    w->l->buffers.at[copy].node = 0;
    copy_node(w, made, copy);
}

void lower_step(struct lowering *w, node_id id) {
    const struct node *n = &w->g->nodes.at[id];
    if (n->op == OP_LOOP_STACK)
        lower_stack(w, id);
    else if (ex_value(w->l->ex, n->args[3].i))
        lower_sliced(w, id);
    else
        lower_carried(w, id);
}

int64_t nest_steps(const struct loops *l, const struct nest *n) {
    uint32_t loop = loop_of(n->epoch);
    return loop == NO_LOOP ? 1 : l->steps.at[loop];
}

buffer_id window_at(const struct loops *l, buffer_id b, int64_t t, int64_t *first) {
    const struct loop_window *x = &l->buffers.at[b].window;
    *first = 0;
    if (l->buffers.at[b].kind != BUFFER_WINDOW) return b;
    if (x->carried && !t) return x->start;
    int64_t at = x->first + x->way * (t - x->carried);
    *first = (x->ring ? at % x->ring : at) * x->each;
    return x->of;
}

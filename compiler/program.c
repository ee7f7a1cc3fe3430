/* program.c: the program of a schedule: its buffers, a kernel for each group with its text's hash,
 * what these move, what is updated in place, and which kernels are the same.
 *
 *     groups -> kernels, verified -> ws_kernel each -> sequences of small ones (sequences.c) */
#include <string.h>

#include "compile_impl.h"
#include "loop/loop.h"
#include "symbolic.h"

_Static_assert(
    (int)GROUP_MAX_BUFFERS <= 32 && (int)GROUP_MAX_BUFFERS < (int)WS_MAX_ARGS,
    "ws_kernel's lists, and a source's arguments, must be able to hold a group's buffers");
_Static_assert((int)WS_MAX_ARGS <= (int)LAUNCH_MAX_ARGS,
               "a launch must be able to hold a source's arguments");

/* ---- buffers --------------------------------------------------------------------------------- */

static enum ws_buffer_kind kind_of(const struct buffer *b) {
    switch (b->kind) {
    case BUFFER_INPUT: return WS_BUF_INPUT;
    case BUFFER_OUTPUT: return WS_BUF_OUTPUT;
    case BUFFER_WINDOW: return WS_BUF_WINDOW;
    case BUFFER_TEMP:
    case BUFFER_STACK: break;
    }
    return WS_BUF_TEMP;
}

static void count_steps(struct compile *c) {
    const struct loops *l = c->loops;
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        int steps = (int)nest_steps(l, n);
        c->program->buffers[n->out].steps = steps;
        for (uint32_t i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_LOAD)
                c->program->buffers[n->insts.at[i].buffer].steps = steps;
    }
}

/* Of a piece of a whole, or of rows that begin at lines of memory: the outer dimensions are stepped
 * through alike. */
static void list_runs(const struct exprs *p, const struct buffer *x, struct ws_buffer *out) {
    const struct meta *m = &x->meta;
    int64_t run = 1, runs = 1;
    for (int d = m->rank; d-- > 0;) {
        int64_t size = ex_value(p, m->size[d]), stride = ex_value(p, m->stride[d]);
        bool more = runs == 1 && (size == 1 || stride == run);
        if (more) run *= size;
        if (!more && runs == 1) out->pitch = (size_t)stride * (size_t)dtype_bytes(m->dtype);
        if (!more) runs *= size;
    }
    out->runs = runs;
    out->run_bytes = (size_t)run * (size_t)dtype_bytes(m->dtype);
}

static void list_buffers(struct compile *c) {
    struct ws_program *p = c->program;
    const struct loops *l = c->loops;
    p->n_buffers = (int)l->buffers.n;
    p->buffers = NEW_ARRAY(c->arena, struct ws_buffer, l->buffers.n);
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *x = &l->buffers.at[b];
        size_t bytes = (size_t)buffer_storage(l, b);
        p->buffers[b] = (struct ws_buffer){.name = x->name,
                                           .index = x->index,
                                           .dtype = x->meta.dtype,
                                           .offset = c->schedule->offset[b],
                                           .bytes = bytes,
                                           .numel = (int64_t)bytes / dtype_bytes(x->meta.dtype),
                                           .kind = kind_of(x)};
        p->buffers[b].in_place = -1;
        bool own = x->kind == BUFFER_TEMP || x->kind == BUFFER_STACK;
        bool in_memory = !own || c->schedule->stored[b];
        bool runs = x->kind == BUFFER_WINDOW || (own && in_memory);
        if (runs && !meta_is_contiguous(l->ex, &x->meta)) list_runs(l->ex, x, &p->buffers[b]);
        p->buffers[b].fixed = x->kind == BUFFER_TEMP && c->schedule->fixed[b];
        if (!in_memory) p->buffers[b].bytes = 0;
    }
    p->temp_bytes = c->schedule->pool_bytes;
    count_steps(c);
}

int ws_window_at(const struct ws_program *p, int b, int64_t t, size_t *from) {
    int64_t first;
    int of = (int)window_at(p->loops, (buffer_id)b, t, &first);
    *from = (size_t)first * (size_t)dtype_bytes(p->buffers[b].dtype);
    return of;
}

int ws_window_last(const struct ws_program *p, int b, size_t *from) {
    return ws_window_at(p, b, p->buffers[b].steps - 1, from);
}
/* ---- kernels --------------------------------------------------------------------------------- */

static const struct nest *nest_of(const struct compile *c, const struct kernel *k) {
    return &c->loops->nests.at[c->schedule->groups.at[k->group].members.at[0].nest];
}

static struct ws_kernel describe_kernel(struct compile *c, const struct kernel *k) {
    struct buf text = buf_new(c->arena);
    kernel_print(&text, k);
    struct ws_kernel out = {.name = k->name,
                            .kind = kernel_kind_name(k->kind),
                            .precision = k->precision,
                            .at_load = c->schedule->groups.at[k->group].at_load,
                            .guard = "",
                            .steps = 1,
                            .all_steps = k->steps,
                            .ir = k,
                            .bytes = k->bytes_read + k->bytes_written,
                            .flops = k->flops,
                            .spared = k->questions.n ? k->flops : 0};
    uint32_t loop = loop_of(nest_of(c, k)->epoch);
    if (loop != NO_LOOP && !out.at_load && !k->steps) {
        out.loop = (int)loop + 1;
        out.steps = (int)nest_steps(c->loops, nest_of(c, k));
    }
    const char *canonical = symbols_rename(c->captured, text.p);
    out.hash = arena_printf(c->arena, "%016llx",
                            (unsigned long long)hash_bytes(canonical, strlen(canonical)));
    buffer_vec memory = {0}; /* of all steps: what windows go along */
    if (k->steps) memory = persistent_memory(k, c->arena);
    for (uint32_t i = 0; i < (k->steps ? memory.n : k->buffers.n); i++) {
        buffer_id b = k->steps ? memory.at[i] : k->buffers.at[i];
        bool stored = false;
        for (uint32_t s = 0; s < k->stores.n; s++) {
            buffer_id to = k->stores.at[s].buffer;
            stored |= to == b || (k->steps && c->loops->buffers.at[to].window.of == b);
        }
        if (stored)
            out.writes[out.n_writes++] = (int)b;
        else
            out.reads[out.n_reads++] = (int)b;
    }
    return out;
}
void put_shapes(struct buf *b, const struct kernel *k) {
    for (value_id v = 0; v < k->values.n && k->kind == KERNEL_MATMUL; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD) continue;
        const struct meta *m = &k->schedule->loops->buffers.at[x->buffer].meta;
        buf_printf(b, "; v%u", v);
        for (int d = 0; d < m->rank; d++) {
            buf_puts(b, " ");
            ex_print(b, k->ex, m->size[d]);
            buf_puts(b, ":");
            ex_print(b, k->ex, m->stride[d]);
        }
    }
}

/* Sizes that are symbols have other hints under the same text. */
static void find_same(struct compile *c) {
    struct ws_program *p = c->program;
    struct map first = map_new(c->arena);
    for (int k = 0; k < p->n_kernels; k++) {
        uint64_t same = (uint64_t)k;
        struct buf key = buf_new(c->arena);
        buf_puts(&key, p->kernels[k].hash);
        put_shapes(&key, p->kernels[k].ir);
        if (!p->kernels[k].ir->sizes.n && !map_gets(&first, key.p, &same))
            map_puts(&first, key.p, same);
        p->kernels[k].same = (int)same;
    }
}

/* Of a call. Outputs are written once, but those of which some stays: nobody knows how much. Of an
 * input, of such an output, or of what load has made, what the kernel that wants most of it reads.
 */
static double least_bytes(const struct compile *c) {
    const struct ws_program *p = c->program;
    double *most = NEW_ARRAY(c->arena, double, p->n_buffers), sum = 0;
    for (int k = 0; k < p->n_kernels; k++)
        for (int i = 0; i < p->kernels[k].n_reads && !p->kernels[k].at_load; i++) {
            int b = p->kernels[k].reads[i];
            const struct ws_buffer *x = &p->buffers[b];
            if (x->kind != WS_BUF_INPUT && !x->fixed && !x->keeps) continue;
            double bytes = kernel_bytes_of(p->kernels[k].ir, (buffer_id)b);
            if (bytes > most[b]) most[b] = bytes;
        }
    for (int b = 0; b < p->n_buffers; b++) {
        sum += most[b];
        if (p->buffers[b].kind == WS_BUF_OUTPUT && !p->buffers[b].keeps)
            sum += (double)buffer_bytes(c->loops, (buffer_id)b);
    }
    return sum;
}

/* The same, with what is read again behind long reductions; no more than what these kernels move.
 */
static double bytes_in_turn(const struct compile *c) {
    const struct ws_program *p = c->program;
    double moved = 0, least = p->bytes + c->again;
    for (int k = 0; k < p->n_kernels; k++)
        if (!p->kernels[k].at_load) moved += p->kernels[k].bytes * p->kernels[k].steps;
    if (moved < least) least = moved;
    return least > p->bytes ? least : p->bytes;
}

static void list_outputs(struct compile *c) {
    const struct graph *g = c->loops->graph;
    c->program->first_output = NEW_ARRAY(c->arena, int, g->outputs.n);
    c->program->returned_input = NEW_ARRAY(c->arena, int, g->outputs.n);
    for (uint32_t i = 0; i < g->outputs.n; i++) {
        uint32_t input = graph_returned_input(g, i);
        c->program->first_output[i] = (int)graph_first_output(g, i);
        c->program->returned_input[i] = input < g->inputs.n ? (int)input : -1;
    }
}

/* ---- updates in place ------------------------------------------------------------------------ */

/* One more than the first and the last kernel that read a buffer; 0 if none does. */
struct readers {
    int first, last;
};

static const struct readers *find_readers(const struct compile *c, struct kernel *const *kernels) {
    struct readers *of = NEW_ARRAY(c->arena, struct readers, c->loops->buffers.n);
    for (int k = 0; k < c->program->n_kernels; k++)
        for (value_id v = 0; v < kernels[k]->values.n; v++) {
            const struct value_node *x = &kernels[k]->values.at[v];
            if (x->kind != INST_LOAD) continue;
            struct readers *r = &of[x->buffer];
            if (!r->first) r->first = k + 1;
            r->last = k + 1;
        }
    return of;
}

/* The buffers of that kind by their index. */
static buffer_id *buffers_of(const struct compile *c, enum buffer_kind kind, uint32_t n) {
    const struct loops *l = c->loops;
    buffer_id *of = NEW_ARRAY(c->arena, buffer_id, n);
    for (uint32_t i = 0; i < n; i++) of[i] = l->buffers.n;
    for (buffer_id b = l->buffers.n; b-- > 0;)
        if (l->buffers.at[b].kind == kind) of[l->buffers.at[b].index] = b;
    return of;
}

/* Does a step of a loop have a part of it? */
static bool has_windows(const struct loops *l, buffer_id b) {
    for (buffer_id w = 0; w < l->buffers.n; w++) {
        const struct loop_window *x = &l->buffers.at[w].window;
        if (l->buffers.at[w].kind == BUFFER_WINDOW && (x->of == b || (x->carried && x->start == b)))
            return true;
    }
    return false;
}

/* An input's new value lies where the input does, if all that reads the input elsewhere is over
 * when it is computed, and nobody reads it there: a kernel can then be run alone on the inputs as
 * they were. On the CPU, whose cores follow few streams of memory.
 *
 * On a GPU out of place is as fast where all of it is new. Where some of it stays, as in a cache of
 * which a row is written, that is neither read nor written, and whoever reads it reads the new
 * value; nothing else reads the old one, so that a kernel that is run again finds what it found.
 */
static bool goes_in_place(const struct compile *c, struct kernel *const *kernels, buffer_id in,
                          buffer_id out, const struct readers *of) {
    struct ws_program *p = c->program;
    int writer = (int)c->schedule->group_of[c->schedule->writer[out]], reader = of[in].last - 1;
    if (c->limits->kind != DEVICE_CPU) {
        bool alone = reader == writer && of[in].first == of[in].last &&
                     !has_windows(c->loops, in) && !has_windows(c->loops, out);
        p->buffers[out].keeps = alone && kernel_keeps_rest(kernels[writer], in, out);
        return p->buffers[out].keeps;
    }
    if (of[out].last || reader > writer) return false;
    return reader < writer || kernel_update_in_place(kernels[writer], in, out);
}

static void update_in_place(struct compile *c, struct kernel *const *kernels) {
    const struct loops *l = c->loops;
    struct ws_program *p = c->program;
    const buffer_id *inputs = buffers_of(c, BUFFER_INPUT, l->graph->inputs.n);
    const buffer_id *outputs = buffers_of(c, BUFFER_OUTPUT, l->graph->outputs.n);
    const struct readers *of = find_readers(c, kernels);
    for (uint32_t i = 0; i < l->graph->inputs.n; i++) {
        uint32_t becomes = l->graph->inputs.at[i].becomes;
        if (!becomes) continue;
        int index = p->first_output[becomes - 1];
        buffer_id in = inputs[i], out = outputs[index];
        if (in == l->buffers.n || out == l->buffers.n || p->buffers[out].in_place >= 0 ||
            p->buffers[in].bytes != p->buffers[out].bytes)
            continue;
        if (c->schedule->writer[out] == NO_NEST) continue;
        if (goes_in_place(c, kernels, in, out, of)) p->buffers[out].in_place = (int)in;
    }
}

bool build_program(struct compile *c) {
    struct ws_program *p = c->program = NEW(c->arena, struct ws_program);
    *p = (struct ws_program){
        .arena = c->arena, .captured = c->captured, .loops = c->loops, .limits = *c->limits};
    list_buffers(c);
    list_outputs(c);
    p->n_kernels = (int)c->schedule->groups.n;
    p->kernels = NEW_ARRAY(c->arena, struct ws_kernel, p->n_kernels);
    struct kernel **kernels = NEW_ARRAY(c->arena, struct kernel *, p->n_kernels);
    for (int i = 0; i < p->n_kernels; i++)
        kernels[i] = kernel_build(c->schedule, (uint32_t)i, &p->limits, c->arena);
    update_in_place(c, kernels);
    for (int i = 0; i < p->n_kernels; i++) {
        const struct kernel *k = kernels[i];
        must_hold("kernel", kernel_verify(k));
        if (k->buffers.n > GROUP_MAX_BUFFERS || k->buffers.n + k->sizes.n + 4 > WS_MAX_ARGS) {
            diag_fail(c->d, WS_WRONG, "kernel %s needs %u tensors and %u sizes; %d is the limit",
                      k->name, k->buffers.n, k->sizes.n, GROUP_MAX_BUFFERS);
            return false;
        }
        p->kernels[i] = describe_kernel(c, k);
        if (!p->kernels[i].at_load) p->flops += k->flops * p->kernels[i].steps;
    }
    p->bytes = least_bytes(c);
    make_sequences(c, kernels);
    p->bytes_in_turn = bytes_in_turn(c);
    p->may_be_apart = c->schedule->may_be_apart;
    p->may_persist = c->may_persist;
    p->configs = NEW_ARRAY(c->arena, struct ws_configs, p->n_kernels);
    find_same(c);
    return stage(c, "kernel");
}

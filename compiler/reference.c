/* reference.c: lowers a graph to plain kernels, compiles them in one piece, and runs them one after
 * the other; what is computed on the way is there from its kernel to its last reader. Where that
 * does not fit the device's memory, it is computed in slices (slices.c). */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "schedule/schedule.h"

/* ---- lowering -------------------------------------------------------------------------------- */

static double points_of(const struct exprs *p, const ex *axes, int n) {
    double all = 1;
    for (int i = 0; i < n; i++) all *= (double)ex_value(p, ex_symbol(p, axes[i])->bound);
    return all;
}

/* Bytes of the inputs. */
static double bytes_read(const struct loops *l) {
    double bytes = 0;
    for (uint32_t b = 0; b < l->buffers.n; b++) {
        const struct meta *m = &l->buffers.at[b].meta;
        bool input = l->buffers.at[b].kind == BUFFER_INPUT;
        if (input) bytes += (double)ex_value(l->ex, meta_numel(l->ex, m)) * dtype_bytes(m->dtype);
    }
    return bytes;
}

/* Is a compiler, and what it makes, done before the interpreter is? That computes some 10^9
 * instructions a second on each core, a random number being some ten, takes inputs from a GPU at
 * some 1 GB/s, into memory that nobody has touched, and hands results to it at some 3 GB/s; a
 * kernel takes some 40 ms to compile, by NVRTC as by cc, and texts are compiled side by side. On a
 * CPU, kernels gain something where products are: elsewhere memory is what counts, of which the
 * interpreter needs less, as it computes neighbours together. What a GPU wants is not made on the
 * host where it is many bytes, which would be there as doubles; but where sources land the
 * interpreter knows, and a kernel looks at each pair of a source and a place: of vectors of tens of
 * millions there are more than a GPU counts in an hour. direct: graph_work. */
static bool is_sooner(const struct reference *r, double direct) {
    enum { WORK_OF_PRODUCTS = 64 /* for each element that is made */, DRAW = 10 };
    static const double MANY = 64 << 20; /* bytes */
    static const double GPU = 1e12;      /* instructions a second */
    static const double LONG = 60;       /* s */
    const struct loops *l = r->loops;
    double work = 0, made = 0, handed = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        double elements = points_of(l->ex, n->axes, n->n_axes), insts = n->insts.n;
        elements *= (double)nest_steps(l, n);
        for (inst_id i = 0; i < n->insts.n; i++)
            if (n->insts.at[i].kind == INST_OP)
                insts += n->insts.at[i].op == OP_RAND || n->insts.at[i].op == OP_RANDN ? DRAW : 0;
        made += elements;
        work += elements * points_of(l->ex, n->reduce, n->n_reduce) * insts;
        if (l->buffers.at[n->out].kind == BUFFER_OUTPUT) handed += 8 * elements;
    }
    if (r->cuda && work / GPU > fmax(LONG, 10 * direct / (1e9 * cores))) return false;
    if (r->cuda && handed > MANY) return true;
    double moved = r->cuda ? bytes_read(l) / 1e9 + handed / 3e9 : 0;
    double interpreted = work / (1e9 * cores) + moved;
    double compiled = 0.25 + 0.04 * r->plain.functions.n / fmin(r->plain.texts.n, cores);
    return interpreted > compiled && (r->cuda || work >= WORK_OF_PRODUCTS * made);
}

/* What running asks of the graph. */
static const struct graph *outputs_of(const struct graph *g, struct arena *a) {
    struct graph *out = NEW(a, struct graph);
    *out = (struct graph){.arena = a, .ex = g->ex};
    for (uint32_t i = 0; i < g->outputs.n; i++) vec_push(a, &out->outputs, g->outputs.at[i]);
    return out;
}

static bool lower(struct reference *r, struct graph *g, const struct reference_options *o,
                  struct arena *scratch, struct arena *a) {
    struct diag d = diag_new(scratch);
    double direct = o->sooner ? graph_work(g) : 0;
    struct graph *kept = NEW(scratch, struct graph);
    *kept = *graph_decompose_but_errors(g);
    /* What a composite is made of, and what its bound is made of, are one now. Outputs that become
     * one are written once: where they are not placed, that is for the caller to know. */
    if (o->outputs) *kept = *graph_share(kept);
    kept->in_doubles = true;
    struct loops *l = loops_lower(kept, a, &d);
    if (!l || (o->exact && !plain_is_exact(l))) return false;
    loops_within(l);
    *r = (struct reference){.arena = a, .loops = l, .outputs = o->outputs, .cuda = o->cuda};
    if (!emit_plain(l, o->outputs, o->exact, o->cuda, a, &r->plain) ||
        (o->sooner && !is_sooner(r, direct)))
        return false;
    l->graph = outputs_of(kept, a);
    return true;
}

/* The graphs on the way are gone afterwards: a network's take tens of megabytes. So are loops and
 * texts that nobody runs. */
struct reference *reference_lower(const struct graph *g, const struct reference_options *o,
                                  struct arena *a) {
    struct arena *scratch = arena_within(a), *own = arena_within(a);
    struct reference *r = NEW(own, struct reference);
    struct graph *given = NEW(scratch, struct graph);
    *given = *g;
    given->arena = scratch;
    bool any = lower(r, given, o, scratch, own);
    arena_free(scratch);
    if (!any) arena_free(own);
    return any ? r : NULL;
}

void reference_free(const struct reference *r) {
    if (r) arena_free(r->arena);
}

/* ---- the order ------------------------------------------------------------------------------- */

enum { TOGETHER = 256 }; /* launches that are handed to the device in one call */

/* Launches that wait for each other to be handed over, and their arguments. */
struct queue {
    struct launch at[TOGETHER];
    dptr places[TOGETHER][WS_MAX_ARGS];
    int64_t first[TOGETHER], end[TOGETHER];
    int n;
};

/* Memory that nobody takes any more. Of a network's thousands of temporaries, most are as large as
 * one before; a GPU takes a millisecond to allocate and free one. */
struct block {
    dptr at;
    size_t bytes;
};

struct running {
    const struct reference *r;
    struct device *dev;
    struct module **modules; /* by text */
    dptr *at;                /* by buffer, then by output that is placed */
    bool *temporary;         /* by buffer: ours */
    size_t *room;            /* by buffer that is ours: bytes of the memory it has */
    dptr workspace;
    int64_t slices;
    struct slices by; /* what they are made of; of one, not asked for */
    uint32_t *order;  /* of the launches: those before the slices, of each slice, and after */
    uint32_t begin[3], end[3];
    uint32_t *maker; /* by buffer: the place in the order of who writes it */
    uint32_t *last;  /* by buffer: one more than the place in the order of the last that takes it */
    int64_t row, rows; /* of the slice that is computed */
    struct queue *queue;
    VEC(struct block) idle;
    struct arena *arena;
    struct diag *d;
};

static const struct ws_launch *launch_at(const struct running *x, uint32_t place) {
    return &x->r->plain.launches.at[x->order[place]];
}

static const struct nest *nest_at(const struct running *x, uint32_t place) {
    return &x->r->loops->nests.at[x->r->plain.made.at[x->order[place]].nest];
}

static int64_t steps_at(const struct running *x, uint32_t place) {
    return nest_steps(x->r->loops, nest_at(x, place));
}

/* Behind the launches of the loop that the one at `place` is of; behind that, if it is of none. */
static uint32_t behind_loop(const struct running *x, uint32_t place) {
    uint32_t end = place + 1, n = x->end[SLICE_AFTER];
    bool loop = loop_of(nest_at(x, place)->epoch) != NO_LOOP;
    while (loop && end < n && nest_at(x, end)->epoch == nest_at(x, place)->epoch) end++;
    return end;
}

enum { FOR_GOOD = UINT32_MAX };

/* What steps read and do not make, and the stacks, are there for all of them. */
static void keep_for_loop(struct running *x, uint32_t begin, uint32_t end) {
    const struct loops *l = x->r->loops;
    for (uint32_t place = begin; place < end; place++)
        for (int i = 0; i < launch_at(x, place)->n_args; i++) {
            const struct ws_arg *arg = &launch_at(x, place)->args[i];
            if (arg->kind != WS_ARG_BUFFER || (uint32_t)arg->buffer >= l->buffers.n) continue;
            const struct buffer *b = &l->buffers.at[arg->buffer];
            buffer_id all[] = {(buffer_id)arg->buffer, b->window.of, b->window.start};
            int n = b->kind != BUFFER_WINDOW ? 1 : b->window.carried ? 3 : 2;
            for (int k = 0; k < n; k++) {
                bool made = k == 0 && x->maker[all[k]] >= begin && x->maker[all[k]] < end;
                if (!made && x->last[all[k]] <= end) x->last[all[k]] = FOR_GOOD;
            }
        }
}

/* Everything is one slice, or launches go to their phases. */
static void set_order(struct running *x, int64_t slices) {
    const struct plain *p = &x->r->plain;
    uint32_t n = 0;
    x->slices = slices;
    for (int phase = SLICE_BEFORE; phase <= SLICE_AFTER; phase++) {
        x->begin[phase] = n;
        for (uint32_t k = 0; k < p->launches.n; k++) {
            enum slice_phase of = slices == 1 ? SLICE_EACH : x->by.nests[p->made.at[k].nest];
            if (of == (enum slice_phase)phase) x->order[n++] = k;
        }
        x->end[phase] = n;
    }
    memset(x->last, 0, sizeof *x->last * x->r->loops->buffers.n);
    for (uint32_t place = 0; place < n; place++) {
        const struct ws_launch *l = launch_at(x, place);
        x->maker[nest_at(x, place)->out] = place;
        for (int i = 0; i < l->n_args; i++)
            if (l->args[i].kind == WS_ARG_BUFFER && l->args[i].buffer < (int)x->r->loops->buffers.n)
                x->last[l->args[i].buffer] = place + 1;
    }
    for (uint32_t place = 0, end; place < n && x->r->loops->steps.n; place = end) {
        end = behind_loop(x, place);
        if (steps_at(x, place) > 1) keep_for_loop(x, place, end);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t whole_bytes(const struct loops *l, buffer_id b) {
    const struct buffer *buffer = &l->buffers.at[b];
    int64_t cells = buffer_storage(l, b) / dtype_bytes(buffer->meta.dtype);
    return (size_t)cells * (size_t)dtype_bytes(plain_dtype(buffer));
}

static bool is_sliced(const struct running *x, buffer_id b) {
    return x->slices > 1 && x->temporary[b] && x->by.buffers[b];
}

static int64_t rows_a_slice(const struct running *x) {
    return (x->by.rows + x->slices - 1) / x->slices;
}

static size_t row_bytes(const struct running *x, buffer_id b) {
    return whole_bytes(x->r->loops, b) / (size_t)x->by.rows;
}

static size_t bytes_of(const struct running *x, buffer_id b) {
    if (!is_sliced(x, b)) return whole_bytes(x->r->loops, b);
    return row_bytes(x, b) * (size_t)rows_a_slice(x);
}

/* Is it memory that comes and goes with who takes it? */
static bool is_ours(const struct running *x, const struct ws_arg *arg) {
    return arg->kind == WS_ARG_BUFFER && (uint32_t)arg->buffer < x->r->loops->buffers.n &&
           x->temporary[arg->buffer];
}

/* Bytes of temporaries at their most. */
static size_t peak_bytes(const struct running *x) {
    size_t now = x->r->plain.workspace, most = now;
    bool *there = calloc(x->r->loops->buffers.n, sizeof *there);
    for (int phase = SLICE_BEFORE; there && phase <= SLICE_AFTER; phase++)
        for (uint32_t place = x->begin[phase]; place < x->end[phase]; place++) {
            const struct ws_launch *l = launch_at(x, place);
            for (int i = 0; i < l->n_args; i++) {
                buffer_id b = (buffer_id)l->args[i].buffer;
                if (!is_ours(x, &l->args[i]) || there[b]) continue;
                there[b] = true;
                now += bytes_of(x, b);
            }
            if (now > most) most = now;
            for (int i = 0; i < l->n_args; i++) {
                buffer_id b = (buffer_id)l->args[i].buffer;
                if (!is_ours(x, &l->args[i]) || !there[b] || x->last[b] != place + 1) continue;
                there[b] = false;
                now -= bytes_of(x, b);
            }
        }
    free(there);
    return most;
}

/* As few slices as fit; on a CPU one, as its kernels make all or nothing. What is not by rows stays
 * whole in each of them: where that is nearly all, more slices are only more launches, up to one
 * for each element. So their number doubles while that saves a share of the peak, and ends where a
 * slice holds next to nothing. False: that many need more than the device has left, and would take
 * for ever to find that out. */
static bool choose_slices(struct running *x) {
    enum { MOST_SLICES = 1 << 12, WORTHWHILE = 64 /* of the peak, saved by twice as many */ };
    size_t left = device_memory_left(x->dev);
    size_t most = x->r->memory ? x->r->memory : left == SIZE_MAX ? left : left / 10 * 9;
    set_order(x, 1);
    if (x->r->loops->steps.n) return true; /* a step has no rows of its own */
    if (!x->r->cuda || peak_bytes(x) <= most) return true;
    x->by = slices_of(x->r->loops, x->arena);
    size_t peak = peak_bytes(x);
    for (int64_t n = 2; peak > most && n <= x->by.rows && n <= MOST_SLICES; n *= 2) {
        size_t before = peak;
        set_order(x, n);
        peak = peak_bytes(x);
        if (peak <= before - before / WORTHWHILE) continue;
        set_order(x, n / 2);
        break;
    }
    if (peak_bytes(x) <= left) return true;
    diag_fail(x->d, WS_MACHINE,
              "the reference needs %.3g GB at a time, and the device has %.3g GB left",
              (double)peak_bytes(x) / 1e9, (double)left / 1e9);
    return false;
}

/* Batches of launches are short calls, and many: none of them is the one that is ended. */
static bool goes_on(struct running *x) {
    if (device_is_stopped(x->dev)) diag_fail(x->d, WS_MACHINE, "interrupted");
    return x->d->status == WS_OK;
}

static bool flush(struct running *x) {
    int n = x->queue->n;
    x->queue->n = 0;
    return device_run(x->dev, x->queue->at, n, x->d) == WS_OK;
}

/* Behind what is queued, which may take it. */
static bool free_idle(struct running *x) {
    if (!flush(x)) return false;
    while (x->idle.n) device_free(x->dev, vec_last(&x->idle).at), x->idle.n--;
    return true;
}

/* Of idle memory what fits best, and is hardly larger, or small. */
static struct block take_idle(struct running *x, size_t bytes) {
    enum { SMALL = 1 << 20 };
    struct block *best = NULL;
    for (uint32_t i = 0; i < x->idle.n; i++) {
        struct block *b = &x->idle.at[i];
        bool fits = b->bytes >= bytes && (b->bytes <= SMALL || b->bytes <= bytes + bytes / 8);
        if (fits && (!best || b->bytes < best->bytes)) best = b;
    }
    if (!best) return (struct block){0, 0};
    struct block taken = *best;
    *best = vec_last(&x->idle);
    x->idle.n--;
    return taken;
}

/* Where row 0 of a buffer is, or would be, if a slice's rows alone are there. */
static bool place_buffer(struct running *x, buffer_id b) {
    struct diag first = diag_new(x->arena);
    size_t bytes = bytes_of(x, b);
    if (x->at[b]) return true;
    struct block idle = take_idle(x, bytes);
    x->at[b] = idle.at;
    x->room[b] = idle.at ? idle.bytes : bytes;
    if (!idle.at && device_alloc(x->dev, bytes, &x->at[b], &first) != WS_OK &&
        (!free_idle(x) || device_alloc(x->dev, bytes, &x->at[b], x->d) != WS_OK))
        return false;
    if (is_sliced(x, b)) x->at[b] -= row_bytes(x, b) * (size_t)x->row;
    return true;
}

static void free_buffer(struct running *x, buffer_id b) {
    if (is_sliced(x, b)) x->at[b] += row_bytes(x, b) * (size_t)x->row;
    vec_push(x->arena, &x->idle, ((struct block){x->at[b], x->room[b]}));
    x->at[b] = 0;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Where a buffer is, in step t of the loop. */
static bool find_place(struct running *x, buffer_id b, int64_t t, dptr *at) {
    int64_t first;
    buffer_id of = window_at(x->r->loops, b, t, &first);
    if (!place_buffer(x, of)) return false;
    const struct buffer *buffer = &x->r->loops->buffers.at[of];
    *at = x->at[of] + (dptr)first * (dptr)dtype_bytes(plain_dtype(buffer));
    return true;
}

static bool queue_launch(struct running *x, uint32_t place, int64_t t, bool last_slice) {
    const struct ws_launch *from = launch_at(x, place);
    const struct plain_made *made = &x->r->plain.made.at[x->order[place]];
    struct queue *q = x->queue;
    uint32_t n_buffers = x->r->loops->buffers.n;
    int64_t outputs = made->outputs;
    int64_t a_row = x->rows == x->by.rows ? 0 : outputs / x->by.rows;
    dptr places[WS_MAX_ARGS] = {0};
    for (int i = 0; i < from->n_args; i++) {
        const struct ws_arg *arg = &from->args[i];
        bool buffer = arg->kind == WS_ARG_BUFFER;
        dptr base = arg->kind == WS_ARG_WORKSPACE ? x->workspace : 0; /* of sizes: none */
        places[i] = buffer ? x->at[arg->buffer] : base + (dptr)arg->value;
        if (buffer && (uint32_t)arg->buffer < n_buffers &&
            !find_place(x, (buffer_id)arg->buffer, t, &places[i]))
            return false;
    }
    struct launch *l = &q->at[q->n]; /* placing may have flushed */
    *l = (struct launch){
        .module = x->modules[made->text], .entry = from->entry, .threads = from->threads};
    memcpy(l->grid, from->grid, sizeof l->grid);
    memcpy(q->places[q->n], places, sizeof places);
    for (int i = 0; i < from->n_args; i++) l->args[l->n_args++] = &q->places[q->n][i];
    q->first[q->n] = x->row * a_row;
    q->end[q->n] = a_row ? q->first[q->n] + x->rows * a_row : outputs;
    if (x->r->cuda) l->args[l->n_args++] = &q->first[q->n], l->args[l->n_args++] = &q->end[q->n];
    q->n++;
    for (int i = 0; i < from->n_args; i++) {
        buffer_id b = (buffer_id)from->args[i].buffer;
        if (!is_ours(x, &from->args[i]) || !x->at[b]) continue;
        if (x->last[b] == place + 1 && (last_slice || is_sliced(x, b))) free_buffer(x, b);
    }
    return q->n < TOGETHER || (goes_on(x) && flush(x));
}

static bool run_phase(struct running *x, enum slice_phase phase, int64_t row, int64_t rows) {
    bool last = row + rows == x->by.rows;
    x->row = row;
    x->rows = rows;
    for (uint32_t place = x->begin[phase], end; place < x->end[phase]; place = end) {
        end = behind_loop(x, place);
        for (int64_t t = 0; t < steps_at(x, place); t++)
            for (uint32_t k = place; k < end; k++)
                if (!queue_launch(x, k, t, last)) return false;
    }
    return true;
}

static bool run_all(struct running *x) {
    int64_t all = x->by.rows, step = rows_a_slice(x);
    size_t workspace = x->r->plain.workspace;
    if (workspace && device_alloc(x->dev, workspace, &x->workspace, x->d) != WS_OK) return false;
    if (!run_phase(x, SLICE_BEFORE, 0, all)) return false;
    for (int64_t row = 0; row < all; row += step)
        if (!run_phase(x, SLICE_EACH, row, row + step < all ? step : all - row)) return false;
    return run_phase(x, SLICE_AFTER, 0, all) && flush(x);
}

/* What is the caller's, and what is ours. */
static void place_given(struct running *x, const dptr *inputs, const dptr *outputs) {
    const struct reference *r = x->r;
    const struct loops *l = r->loops;
    for (buffer_id b = 0; b < l->buffers.n; b++) {
        const struct buffer *buffer = &l->buffers.at[b];
        x->temporary[b] = buffer->kind == BUFFER_TEMP || buffer->kind == BUFFER_STACK;
        if (buffer->kind == BUFFER_INPUT) x->at[b] = inputs[buffer->index];
        if (buffer->kind != BUFFER_OUTPUT) continue;
        x->temporary[b] = r->outputs && !plain_lies_so(buffer, &r->outputs[buffer->index]);
        if (!x->temporary[b]) x->at[b] = outputs[buffer->index];
    }
    for (uint32_t o = 0; o < l->graph->outputs.n; o++) x->at[l->buffers.n + o] = outputs[o];
}

static struct running running_new(const struct reference *r, struct device *dev, struct arena *a,
                                  struct diag *d) {
    uint32_t n = r->loops->buffers.n;
    return (struct running){.r = r,
                            .dev = dev,
                            .by = {.rows = 1},
                            .d = d,
                            .at = NEW_ARRAY(a, dptr, n + r->loops->graph->outputs.n),
                            .temporary = NEW_ARRAY(a, bool, n),
                            .room = NEW_ARRAY(a, size_t, n),
                            .last = NEW_ARRAY(a, uint32_t, n),
                            .maker = NEW_ARRAY(a, uint32_t, n),
                            .order = NEW_ARRAY(a, uint32_t, r->plain.launches.n),
                            .queue = NEW(a, struct queue),
                            .arena = a};
}

/* ---- binaries -------------------------------------------------------------------------------- */

struct binary {
    const void *bytes;
    size_t size;
};

struct reference_binaries reference_binaries_new(struct arena *a) {
    return (struct reference_binaries){map_new(a)};
}

static const struct binary *find_binary(const struct reference_binaries *kept, const char *text) {
    uint64_t found;
    if (!kept || !map_gets(&kept->at, text, &found)) return NULL;
    return (const struct binary *)(uintptr_t)found;
}

bool reference_has_binary(const struct reference_binaries *kept, const char *text) {
    return find_binary(kept, text) != NULL;
}

void reference_keep_binary(struct reference_binaries *kept, const char *text,
                           const struct compiled *made) {
    struct arena *a = kept->at.arena;
    struct binary *b = NEW(a, struct binary);
    *b = (struct binary){memcpy(arena_alloc(a, made->size), made->binary, made->size), made->size};
    map_puts(&kept->at, text, (uintptr_t)b);
}

/* Texts are compiled side by side. */
static enum ws_status load_modules(struct running *x, struct toolchain *cc,
                                   struct reference_binaries *kept, struct arena *a) {
    const struct plain *p = &x->r->plain;
    struct compiled *made = NEW_ARRAY(a, struct compiled, p->texts.n);
    x->modules = NEW_ARRAY(a, struct module *, p->texts.n);
#pragma omp parallel for schedule(dynamic)
    for (uint32_t i = 0; i < p->texts.n; i++)
        if (!find_binary(kept, p->texts.at[i]))
            toolchain_compile(cc, "reference", p->texts.at[i], false, &made[i]);
    for (uint32_t i = 0; i < p->texts.n; i++) {
        const char *text = p->texts.at[i];
        const struct binary *there = find_binary(kept, text);
        struct binary b = there ? *there : (struct binary){made[i].binary, made[i].size};
        if (!there && !made[i].ok && x->d->status == WS_OK)
            diag_fail(x->d, WS_MACHINE, "the reference does not compile: %s\n%s", made[i].log,
                      text);
        if (!there && made[i].ok && kept) reference_keep_binary(kept, text, &made[i]);
        if (x->d->status == WS_OK) device_load(x->dev, b.bytes, b.size, &x->modules[i], x->d);
        if (!there) compiled_free(&made[i]);
    }
    return x->d->status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum ws_status reference_run(const struct reference *r, struct device *dev, struct toolchain *cc,
                             struct reference_binaries *kept, const dptr *inputs,
                             const dptr *outputs, int64_t *slices, struct arena *a,
                             struct diag *d) {
    struct running x = running_new(r, dev, a, d);
    if (slices) *slices = 1;
    if (!r->plain.launches.n) return WS_OK;
    place_given(&x, inputs, outputs);
    bool ok = choose_slices(&x) && load_modules(&x, cc, kept, a) == WS_OK && run_all(&x);
    if (!device_is_lost(dev)) {
        for (buffer_id b = 0; b < r->loops->buffers.n; b++)
            if (x.temporary[b] && x.at[b]) free_buffer(&x, b);
        x.queue->n = 0; /* of a run that has failed */
        free_idle(&x);
        if (x.workspace) device_free(dev, x.workspace);
    }
    for (uint32_t i = 0; x.modules && i < r->plain.texts.n; i++)
        if (x.modules[i]) device_unload(dev, x.modules[i]);
    if (slices) *slices = x.slices;
    return ok ? WS_OK : d->status;
}

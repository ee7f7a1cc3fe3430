/* plain.c: a program in doubles, one kernel a nest, as one would write it: what tuned kernels are
 * compared with.
 *
 *   b1[i0: 8] = f32 sum, reduce r0: 4096     extern "C" __global__ void n1(..) {
 *       v0 = load b0[i0, r0] : f32               for (o ..) {
 *       v1 = exp(v0) : f32                           i0 = o / lanes; lane = o % lanes;
 *       reduce sum v1                                double a = 0;
 *                                                    for (r0 = lane; r0 < 4096; r0 += lanes) {
 *                                                        double v0 = of_f32(p0[i0*4096 + r0]);
 *                                                        double v1 = exp(v0); a = a + v1; }
 *                                                    part[lane*8 + i0] = a; } }
 *
 * It shares with the tuned path what the program means (decomposition, nests), and nothing of how
 * it is run: no fusion, no config, no layout, no vectors, no maths of the preludes. An operator's
 * text is the one that the reference interpreter is made of. Floats are doubles, rounded where the
 * user casts; integers have 64 bits, cut off to their types.
 *
 * What outputs are to lie in memory as is a kernel's work of its own: `placement` says it.
 *
 * On CUDA sizes and constants are arguments (plain_nest.c): nests that differ in these alone, as a
 * network has them by the dozen, are one function.
 *
 * A nest's outputs are dealt to threads (plain_cuda.c) or tasks (plain_c.c). Where they are few,
 * several lanes share a reduction, each with every so-manieth step of its longest axis, and folds
 * add up the lanes' results. */
#include "emit/plain_nest.h"

#include <string.h>

#include "graph/eval_text.h"
#include "graph/traits.h"
#include "schedule/schedule.h"

enum {
    MOST_BLOCKS = 1 << 16,
    FOLD = 512, /* lanes that a thread adds up */
    UNIT = 8,   /* functions that are compiled in one piece, by compilers of C, ... */
    CUDA_UNIT = 1,
};

/* NVRTC begins in some 20 ms, as a function takes 40; so each is a text, and what is one in several
 * programs is the same text in all of them, and compiled once. `cc` takes as long to begin as
 * several functions do. */
static int unit_of(const struct plain_emitter *w) { return w->cuda ? CUDA_UNIT : UNIT; }

/* ---- launches -------------------------------------------------------------------------------- */

static struct ws_launch *add_launch(struct plain_emitter *w, uint64_t function, int64_t outputs,
                                    int64_t threads) {
    int unit = unit_of(w);
    const char *entry = arena_printf(w->whole, "n%d", (int)(function % (uint64_t)unit));
    struct plain_made made = {
        .nest = w->nest, .text = (uint32_t)(function / (uint64_t)unit), .outputs = outputs};
    vec_push(w->whole, &w->out->launches, (struct ws_launch){.entry = entry});
    vec_push(w->whole, &w->out->made, made);
    struct ws_launch *l = &vec_last(&w->out->launches);
    int64_t blocks = (threads + PLAIN_THREADS - 1) / PLAIN_THREADS;
    l->grid[0] = !w->cuda ? 1 : blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    l->grid[1] = l->grid[2] = 1;
    l->threads = w->cuda ? PLAIN_THREADS : 1;
    return l;
}

static void need_workspace(struct plain_emitter *w, int64_t cells) {
    size_t bytes = (size_t)cells * 8;
    if (bytes > w->out->workspace) w->out->workspace = bytes;
}

/* ---- a nest ---------------------------------------------------------------------------------- */

static const char *memory_of(const struct plain_emitter *w, buffer_id b) {
    return arena_printf(w->arena, "m_%s", dtype_name(plain_dtype(&w->l->buffers.at[b])));
}

/* The body is written first: it says what the arguments are. */
static const char *take_body(struct plain_emitter *w) {
    const char *body = w->b.p;
    w->b = buf_new(w->arena);
    return body;
}

static void add_buffers(struct plain_emitter *w, struct ws_launch *l) {
    for (int i = 0; i < w->n_args; i++)
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)w->args[i]};
}
static void add_output(struct plain_emitter *w, struct ws_launch *l) {
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)w->n->out};
}
static void add_workspace(struct ws_launch *l, int64_t cell) {
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = cell * 8};
}

/* Every nest that is the same text but for its name is one function. */
static uint64_t function_for(struct plain_emitter *w, const char *text) {
    uint64_t number;
    if (!map_gets(&w->out->functions, text, &number)) {
        number = w->out->functions.n;
        map_puts(&w->out->functions, text, number);
        if (number % (uint64_t)unit_of(w) == 0)
            vec_push(w->whole, &w->out->units,
                     ((struct plain_unit){.functions = buf_new(w->whole)}));
        struct plain_unit *unit = &vec_last(&w->out->units);
        buf_printf(&unit->functions, w->cuda ? "extern \"C\" __global__ void n%d" : "void n%d",
                   unit->n++);
        buf_puts(&unit->functions, text);
        for (int op = 0; op < OP_COUNT; op++)
            for (int whole = 0; whole < 2; whole++) unit->used[op][whole] |= w->used[op][whole];
    }
    memset(w->used, 0, sizeof w->used);
    return number;
}

static const char *place_type(const struct plain_emitter *w, int64_t threads) {
    int64_t most =
        buffer_storage(w->l, w->n->out) > threads ? buffer_storage(w->l, w->n->out) : threads;
    for (int i = 0; i < w->n_args; i++)
        if (buffer_storage(w->l, w->args[i]) > most) most = buffer_storage(w->l, w->args[i]);
    int64_t steps = plain_points(w, w->n->reduce, w->n->n_reduce);
    return most < INT32_MAX / 2 && steps < INT32_MAX / 2 ? "int" : "long long";
}

static void emit_c(struct plain_emitter *w) {
    plain_put_c(w);
    const char *body = take_body(w);
    plain_put(w, "(void *const *args) {");
    plain_put(w, "typedef %s place;", place_type(w, 0));
    for (int i = 0; i < w->n_args; i++)
        plain_put(w, "const %s *p%d = *(%s *const *)args[%d];", memory_of(w, w->args[i]), i,
                  memory_of(w, w->args[i]), i);
    plain_put(w, "%s *q = *(%s *const *)args[%d];", memory_of(w, w->n->out),
              memory_of(w, w->n->out), w->n_args);
    buf_puts(&w->b, body);
    plain_put(w, "}");
    struct ws_launch *l = add_launch(w, function_for(w, take_body(w)), 1, 1);
    add_buffers(w, l);
    add_output(w, l);
}

static void put_cuda_head(struct plain_emitter *w, const char *extra, int64_t threads) {
    buf_puts(&w->b, "(");
    for (int i = 0; i < w->n_args; i++)
        buf_printf(&w->b, "const %s *p%d, ", memory_of(w, w->args[i]), i);
    buf_puts(&w->b, extra);
    for (int i = 0; i < w->n_sizes; i++) buf_printf(&w->b, ", long long size%d", i);
    for (int i = 0; i < w->n_reals; i++) buf_printf(&w->b, ", double real%d", i);
    buf_puts(&w->b, ", long long first, long long end) {\n");
    w->indent = 1;
    plain_put(w, "typedef %s place;", place_type(w, threads));
    for (int i = 0; i < w->n_sizes; i++)
        plain_put(w, "const place c%d = (place)size%d; (void)c%d;", i, i, i);
}

/* Of the function that was written last. */
static void add_sizes(struct plain_emitter *w, struct ws_launch *l) {
    for (int i = 0; i < w->n_sizes; i++)
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_SIZE, .value = w->sizes[i]};
    for (int i = 0; i < w->n_reals; i++) {
        struct ws_arg *bits = &l->args[l->n_args++];
        *bits = (struct ws_arg){.kind = WS_ARG_SIZE};
        memcpy(&bits->value, &w->reals[i], sizeof bits->value);
    }
    w->n_sizes = w->n_reals = 0;
}

/* As the nest takes many buffers, there is no room for sizes. */
static bool is_crowded(const struct plain_emitter *w) {
    enum { OTHERS = 3 /* what it makes, and of which outputs */ };
    return w->n_args + w->n_sizes + w->n_reals + OTHERS > WS_MAX_ARGS && !w->literal;
}

typedef int64_t put_fn(struct plain_emitter *, const struct lanes *, int64_t outputs);

/* *threads: that it is for. */
static const char *cuda_body(struct plain_emitter *w, put_fn *put, const struct lanes *s,
                             int64_t outputs, int64_t *threads) {
    *threads = put(w, s, outputs);
    if (!is_crowded(w)) return take_body(w);
    w->literal = true;
    w->n_args = w->n_sizes = w->n_reals = w->indent = 0;
    take_body(w);
    put(w, s, outputs);
    w->literal = false;
    return take_body(w);
}

static struct ws_launch *add_kernel(struct plain_emitter *w, const char *body, const char *extra,
                                    int64_t cells, int64_t outputs, int64_t threads) {
    put_cuda_head(w, extra, cells);
    buf_puts(&w->b, body);
    plain_put(w, "}");
    return add_launch(w, function_for(w, take_body(w)), outputs, threads);
}

/* Behind the totals of its parts. */
static void emit_scanned(struct plain_emitter *w, const struct lanes *s, int64_t outputs,
                         const char *type, const char *store) {
    int64_t threads, cells = outputs * s->n;
    w->n_args = 0;
    w->indent = 1;
    const char *body = cuda_body(w, plain_put_before, s, outputs, &threads);
    w->indent = 0;
    const char *parts = arena_printf(w->arena, "%s *part", type);
    struct ws_launch *l = add_kernel(w, body, parts, cells, outputs, threads);
    add_workspace(l, 0);
    add_sizes(w, l);
    w->indent = 1;
    body = cuda_body(w, plain_put_scanned, s, outputs, &threads);
    w->indent = 0;
    l = add_kernel(w, body, arena_printf(w->arena, "const %s, %s", parts, store), cells, outputs,
                   threads);
    add_buffers(w, l);
    add_workspace(l, 0);
    add_output(w, l);
    add_sizes(w, l);
}

static void emit_cuda(struct plain_emitter *w) {
    int64_t outputs = plain_points(w, w->n->axes, w->n->n_axes);
    if (w->n->scan) outputs /= plain_bound(w, w->n->scan);
    struct lanes s = plain_lanes_of(w, outputs);
    const char *type = w->n->n_reduce || w->n->scan ? plain_value_type(plain_operand(w)) : "";
    const char *store = arena_printf(w->arena, "%s *q", memory_of(w, w->n->out));
    int64_t cells = outputs * (plain_of_pairs(w) ? 2 : 1);
    int64_t threads;
    const char *body = cuda_body(w, plain_put_cuda, &s, outputs, &threads);
    const char *extra = s.n > 1 ? arena_printf(w->arena, "%s *part", type) : store;
    struct ws_launch *l = add_kernel(w, body, extra, outputs * s.n, outputs, threads);
    add_buffers(w, l);
    if (s.n == 1) return add_output(w, l), add_sizes(w, l);
    add_workspace(l, 0);
    add_sizes(w, l);
    need_workspace(w, s.n * cells);
    if (w->n->scan) return emit_scanned(w, &s, outputs, type, store);
    w->n_args = 0;
    for (int64_t n = s.n, from = 0, to = s.n * cells; n > 1;) {
        int64_t lanes = n > FOLD ? n / FOLD : 1;
        w->indent = 1;
        plain_put_fold(w, n, lanes, outputs);
        body = take_body(w);
        w->indent = 0;
        extra = arena_printf(w->arena, "const %s *from, %s", type,
                             lanes > 1 ? arena_printf(w->arena, "%s *to", type) : store);
        l = add_kernel(w, body, extra, outputs * n, outputs, outputs * lanes);
        add_workspace(l, from);
        if (lanes == 1) return add_output(w, l), add_sizes(w, l);
        add_workspace(l, to);
        add_sizes(w, l);
        need_workspace(w, to + lanes * cells);
        from = to;
        to += lanes * cells;
        n = lanes;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static void put_functions(const struct plain_unit *unit, struct buf *b) {
    for (int op = 0; op < OP_COUNT; op++)
        for (int whole = 0; whole < 2; whole++) {
            if (!unit->used[op][whole]) continue;
            const char *type = whole ? "wide" : "double";
            buf_printf(b, "FN %s %s_%s(", type, whole ? "whole" : "real",
                       op_info((enum op)op)->name);
            for (int k = 0; k < plain_operands_of((enum op)op); k++)
                buf_printf(b, "%s%s %c", k ? ", " : "", type, 'a' + k);
            buf_printf(b, ") { return %s; }\n",
                       whole ? eval_int_text((enum op)op) : eval_text((enum op)op));
        }
}

/* ---- outputs as they are to lie ------------------------------------------------------------- */

static int64_t elements_of(const struct placement *p) {
    int64_t n = 1;
    for (int k = 0; k < p->rank; k++) n *= p->size[k];
    return n;
}

static bool is_row_major(const struct placement *p) {
    int64_t stride = 1;
    for (int k = p->rank; k-- > 0; stride *= p->size[k])
        if (p->size[k] != 1 && p->stride[k] != stride) return false;
    return true;
}

bool plain_lies_so(const struct buffer *b, const struct placement *p) {
    return plain_dtype(b) == p->dtype && !p->up && is_row_major(p);
}

/* q[where element t goes] = p0[t] */
static void put_place(struct plain_emitter *w, const struct placement *p, enum dtype from) {
    const char *value = arena_printf(w->arena, "of_%s(p0[t])", dtype_name(from));
    if (is_row_major(p)) {
        plain_put(w, "q[t] = %s%s(%s);", p->up ? "as_up" : "as_", p->up ? "" : dtype_name(p->dtype),
                  value);
        return;
    }
    plain_put(w, "long long left = t, at = 0;");
    for (int k = p->rank; k-- > 0;)
        plain_put(w, "at += left %% %lldLL * %lldLL; left /= %lldLL;", (long long)p->size[k],
                  (long long)p->stride[k], (long long)p->size[k]);
    plain_put(w, "q[at] = %s%s(%s);", p->up ? "as_up" : "as_", p->up ? "" : dtype_name(p->dtype),
              value);
}

static void emit_place(struct plain_emitter *w, buffer_id b, uint32_t output) {
    const struct placement *p = &w->placed[output];
    enum dtype from = plain_dtype(&w->l->buffers.at[b]);
    int64_t n = elements_of(p);
    const char *in = memory_of(w, b), *out = arena_printf(w->arena, "m_%s", dtype_name(p->dtype));
    w->n_args = w->indent = 0;
    if (w->cuda) {
        buf_printf(&w->b, "(const %s *p0, %s *q, long long first, long long end) {\n", in, out);
        w->indent = 1;
        plain_open_threads(w, 1);
    } else {
        plain_put(w, "(void *const *args) {");
        plain_put(w, "const %s *p0 = *(%s *const *)args[0];", in, in);
        plain_put(w, "%s *q = *(%s *const *)args[1];", out, out);
        plain_put(w, "#pragma omp parallel for schedule(static)");
        plain_put(w, "for (long long t = 0; t < %lldLL; t++) {", (long long)n);
    }
    put_place(w, p, from);
    plain_put(w, "}");
    plain_put(w, "}");
    struct ws_launch *l = add_launch(w, function_for(w, take_body(w)), n, n);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)b};
    l->args[l->n_args++] =
        (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)(w->l->buffers.n + output)};
}

/* The graph's outputs that are this buffer. */
static void place_outputs(struct plain_emitter *w, buffer_id b) {
    const struct loops *l = w->l;
    const struct buffer *buffer = &l->buffers.at[b];
    if (!w->placed || buffer->kind != BUFFER_OUTPUT) return;
    for (uint32_t o = 0; o < l->graph->outputs.n; o++)
        if (l->graph->outputs.at[o] == l->graph->outputs.at[buffer->index] &&
            !(o == (uint32_t)buffer->index && plain_lies_so(buffer, &w->placed[o])))
            emit_place(w, b, o);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* A product is rounded before it is added to something. */
static const char no_contraction[] = "#ifdef __clang__\n"
                                     "#pragma clang fp contract(off)\n"
                                     "#else\n"
                                     "#pragma GCC optimize(\"-ffp-contract=off\")\n"
                                     "#endif\n";

/* What is written to, of a network thousands of launches and a few hundred texts, is as large again
 * several times. */
static void keep(struct plain *out, struct arena *a) {
    struct ws_launch *launches = NEW_ARRAY(a, struct ws_launch, out->launches.n);
    struct plain_made *made = NEW_ARRAY(a, struct plain_made, out->made.n);
    for (uint32_t i = 0; i < out->launches.n; i++) {
        made[i] = out->made.at[i];
        launches[i] = out->launches.at[i];
        launches[i].entry = arena_strdup(a, launches[i].entry);
    }
    out->launches.at = launches;
    out->made.at = made;
    out->launches.cap = out->made.cap = out->launches.n;
    out->units.n = 0;
}

/* What nests were written with on the way goes when it is a megabyte: of a network it is tens. */
static void begin_nest(struct plain_emitter *w) {
    enum { MUCH = 1 << 20 };
    if (arena_used(w->arena) > MUCH) {
        arena_free(w->arena);
        w->arena = arena_new();
    }
    w->b = buf_new(w->arena);
    w->n_args = w->n_sizes = w->n_reals = w->indent = 0;
}

static bool emit_all(struct plain_emitter *w, const struct loops *l) {
    /* Most nests are one launch. */
    vec_reserve(w->whole, &w->out->launches, l->nests.n + l->nests.n / 2);
    vec_reserve(w->whole, &w->out->made, l->nests.n + l->nests.n / 2);
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        w->n = n;
        w->nest = k;
        begin_nest(w);
        enum reduction r = n->insts.at[n->insts.n - 1].reduction;
        if (n->n_reduce && (r == REDUCTION_M2 || r == REDUCTION_EXPSUM)) return false;
        if (plain_points(w, n->axes, n->n_axes) == 0) continue;
        (w->cuda ? emit_cuda : emit_c)(w);
        place_outputs(w, n->out);
    }
    return true;
}

bool emit_plain(const struct loops *l, const struct placement *outputs, bool exact, bool cuda,
                struct arena *a, struct plain *out) {
    struct arena *scratch = arena_new();
    *out = (struct plain){.functions = map_new(scratch)};
    struct plain_emitter w = {.l = l,
                              .cuda = cuda,
                              .exact = exact,
                              .placed = outputs,
                              .whole = scratch,
                              .arena = arena_new(),
                              .out = out};
    bool all = emit_all(&w, l);
    arena_free(w.arena);
    for (uint32_t i = 0; all && i < out->units.n; i++) {
        const struct plain_unit *unit = &out->units.at[i];
        struct buf text = buf_new(scratch);
        if (exact && !cuda) buf_puts(&text, no_contraction);
        buf_puts(&text, prelude_plain);
        put_functions(unit, &text);
        buf_puts(&text, unit->functions.p);
        vec_push(a, &out->texts, arena_strdup(a, text.p));
    }
    keep(out, a);
    arena_free(scratch);
    return all;
}

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
 * A nest's outputs are dealt to threads. Where they are few, several lanes share a reduction, each
 * with every so-manieth step of its longest axis, and folds add up the lanes' results. On a CPU a
 * task takes a run along the last axis; the reduction is the outer loop there where memory lies
 * along that axis, and has sums side by side where it lies along the reduction, so that compilers
 * find vectors. A kernel for CUDA takes the first of a range of
 * outputs and the one behind it: it makes what lies between. */
#include "emit/plain.h"

#include <math.h>
#include <string.h>

#include "graph/eval_text.h"
#include "graph/graph.h"
#include "graph/traits.h"
#include "schedule/schedule.h"

enum {
    THREADS = 256,
    MOST_BLOCKS = 1 << 16,
    ENOUGH = 1 << 19, /* threads that fill a device */
    LEAST_STEPS = 16, /* of a lane */
    FOLD = 512,       /* lanes that a thread adds up */
    CPU_RUN = 1024,   /* elements of a task */
    CPU_SUMS = 64,    /* of them, where a reduction goes around them, ... */
    CPU_ROWS = 8,     /* ... in so many rows, ... */
    CPU_STEPS = 4,    /* ... each by so many steps at a time, ... */
    FEW_INSTS = 16,   /* ... if one step is so short */
    CPU_LANES = 32,   /* sums of one output, along memory */
    UNIT = 32,        /* functions that are compiled in one piece */
};

struct plain_emitter {
    const struct loops *l;
    const struct nest *n;
    uint32_t nest; /* its number */
    bool cuda, exact;
    const struct placement *placed; /* of the graph's outputs; NULL: none */
    struct arena *arena;
    struct buf b;
    int indent;
    bool used[OP_COUNT][2]; /* of floats, of integers */
    buffer_id args[WS_MAX_ARGS];
    int n_args;
    struct plain *out;
};

static void put(struct plain_emitter *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void put(struct plain_emitter *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (*fmt == '}') w->indent--;
    buf_indent(&w->b, w->indent);
    buf_vprintf(&w->b, fmt, ap);
    buf_putc(&w->b, '\n');
    va_end(ap);
    if (fmt[strlen(fmt) - 1] == '{') w->indent++;
}

static const struct inst *inst_at(const struct plain_emitter *w, inst_id i) {
    return &w->n->insts.at[i];
}
static int64_t bound_of(const struct plain_emitter *w, ex axis) {
    return ex_value(w->l->ex, ex_symbol(w->l->ex, axis)->bound);
}
static const char *value_type(enum dtype t) { return dtype_is_float(t) ? "double" : "wide"; }

/* Symbols of subscripts, $0 and on, are called s0. */
static const char *index_text(struct plain_emitter *w, ex e) {
    struct buf b = buf_new(w->arena);
    ex_print_c(&b, w->l->ex, e);
    for (char *p = b.p; (p = strchr(p, '$')); p++) *p = 's';
    return b.p;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* What lies there: inputs as they are given, else doubles and integers. */
enum dtype plain_dtype(const struct buffer *b) {
    bool computed = b->kind != BUFFER_INPUT && dtype_is_float(b->meta.dtype);
    return computed ? DT_F64 : b->meta.dtype;
}

static int argument_of(struct plain_emitter *w, buffer_id b) {
    for (int i = 0; i < w->n_args; i++)
        if (w->args[i] == b) return i;
    w->args[w->n_args] = b;
    return w->n_args++;
}

static const char *place_text(struct plain_emitter *w, buffer_id b, const ex *index) {
    const struct meta *m = &w->l->buffers.at[b].meta;
    ex at = ex_const(w->l->ex, 0);
    for (int k = 0; k < m->rank; k++)
        at = ex_add(w->l->ex, at, ex_mul(w->l->ex, index[k], m->stride[k]));
    return index_text(w, at);
}

/* ---- exactness ------------------------------------------------------------------------------- */

static bool is_exact(const struct nest *n, const struct inst *i) {
    bool whole = !dtype_is_float(i->dtype);
    switch (i->kind) {
    case INST_CONST:
    case INST_INDEX:
    case INST_LOAD:
    case INST_CAST:
    case INST_SUBSCRIPT: return true;
    case INST_OP:
        for (int k = 0; k < i->n_args; k++) whole &= !dtype_is_float(n->insts.at[i->args[k]].dtype);
        return op_is_exact(i->op) || (whole && eval_int_text(i->op));
    case INST_SCAN:
    case INST_REDUCE:
        return !dtype_is_float(n->insts.at[i->args[0]].dtype) || i->reduction == REDUCTION_AMAX ||
               i->reduction == REDUCTION_AMIN;
    }
    WS_BUG("no such instruction");
}

bool plain_is_exact(const struct loops *l) {
    for (uint32_t k = 0; k < l->nests.n; k++)
        for (inst_id i = 0; i < l->nests.at[k].insts.n; i++)
            if (!is_exact(&l->nests.at[k], &l->nests.at[k].insts.at[i])) return false;
    return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static const char *constant_text(struct plain_emitter *w, const struct inst *i) {
    if (!dtype_is_float(i->dtype))
        return i->whole == INT64_MIN ? "((wide)1 << 63)"
                                     : arena_printf(w->arena, "(wide)%lldLL", (long long)i->whole);
    if (isnan(i->value)) return "NAN";
    if (isinf(i->value)) return i->value < 0 ? "-INFINITY" : "INFINITY";
    return arena_printf(w->arena, "(double)%.17g", i->value);
}

static const char *wrapped(struct plain_emitter *w, enum dtype t, const char *text) {
    return dtype_is_float(t) ? text : arena_printf(w->arena, "to_%s(%s)", dtype_name(t), text);
}

static const char *as_real(struct plain_emitter *w, inst_id i) {
    const struct inst *x = inst_at(w, i);
    return arena_printf(w->arena, dtype_is_float(x->dtype) ? "v%u" : "real64(v%u)", i);
}

/* int_of_double */
static const char *as_whole(struct plain_emitter *w, enum dtype t, const char *real) {
    if (t == DT_BOOL) return arena_printf(w->arena, "(wide)((%s) != 0)", real);
    return wrapped(w, t, arena_printf(w->arena, t == DT_I64 ? "whole64(%s)" : "whole32(%s)", real));
}

static const char *cast_text(struct plain_emitter *w, const struct inst *i) {
    const struct inst *x = inst_at(w, i->args[0]);
    enum dtype from = x->dtype, to = i->dtype;
    const char *v = arena_printf(w->arena, "v%u", i->args[0]);
    if (!dtype_is_float(to)) return dtype_is_float(from) ? as_whole(w, to, v) : wrapped(w, to, v);
    bool rounds = i->rounds || (from == DT_F64 && to == DT_F32);
    if (!dtype_is_float(from))
        v = arena_printf(w->arena, dtype_opmath(to) == DT_F32 ? "real32(%s)" : "real64(%s)", v);
    return rounds ? arena_printf(w->arena, "to_%s(%s)", dtype_name(to), v) : v;
}

/* As many as its function has. */
static int operands_of(enum op op) { return op_info(op)->n_params > 3 ? INST_MAX_ARGS : 3; }

static const char *op_text(struct plain_emitter *w, const struct inst *i) {
    bool whole = !dtype_is_float(i->dtype);
    for (int k = 0; k < i->n_args; k++) whole &= !dtype_is_float(inst_at(w, i->args[k])->dtype);
    whole &= eval_int_text(i->op) != NULL;
    if (op_is_random(i->op))
        return arena_printf(w->arena, "to_%s(random_%s_at(v%u, v%u, v%u))", dtype_name(i->dtype),
                            i->op == OP_RAND ? "uniform" : "normal", i->args[0], i->args[1],
                            i->args[2]);
    if (w->exact && i->op == OP_MUL && !whole)
        return arena_printf(w->arena, "TIMES(%s, %s)", as_real(w, i->args[0]),
                            as_real(w, i->args[1]));
    w->used[i->op][whole] = true;
    struct buf b = buf_new(w->arena);
    buf_printf(&b, "%s_%s(", whole ? "whole" : "real", op_info(i->op)->name);
    for (int k = 0; k < operands_of(i->op); k++) { /* what is not there is a weight */
        const char *arg = k >= i->n_args ? "1" : arena_printf(w->arena, "v%u", i->args[k]);
        if (k < i->n_args && !whole) arg = as_real(w, i->args[k]);
        buf_printf(&b, k ? ", %s" : "%s", arg);
    }
    buf_puts(&b, ")");
    if (dtype_is_float(i->dtype)) return b.p;
    return whole ? wrapped(w, i->dtype, b.p) : as_whole(w, i->dtype, b.p);
}

static const char *load_text(struct plain_emitter *w, const struct inst *i) {
    const struct buffer *b = &w->l->buffers.at[i->buffer];
    const char *text = arena_printf(w->arena, "of_%s(p%d[%s])", dtype_name(plain_dtype(b)),
                                    argument_of(w, i->buffer), place_text(w, i->buffer, i->index));
    return i->guarded ? arena_printf(w->arena, "v%u ? %s : 0", i->args[0], text) : text;
}

static void put_inst(struct plain_emitter *w, inst_id id) {
    const struct inst *i = inst_at(w, id);
    const char *text = NULL;
    switch (i->kind) {
    case INST_CONST: text = constant_text(w, i); break;
    case INST_INDEX: text = wrapped(w, i->dtype, index_text(w, i->index[0])); break;
    case INST_LOAD: text = load_text(w, i); break;
    case INST_OP: text = op_text(w, i); break;
    case INST_CAST: text = cast_text(w, i); break;
    case INST_SUBSCRIPT:
        put(w, "const place %s = (place)inside(v%u, %lld);", index_text(w, i->index[0]), i->args[0],
            (long long)bound_of(w, i->index[0]));
        text = arena_printf(w->arena, "%s", index_text(w, i->index[0]));
        break;
    case INST_SCAN:
    case INST_REDUCE: return;
    }
    put(w, "const %s v%u = %s;", value_type(i->dtype), id, text);
}

static void put_insts(struct plain_emitter *w) {
    for (inst_id i = 0; i < w->n->insts.n; i++) put_inst(w, i);
}

/* ---- what a reduction has so far ------------------------------------------------------------- */

static const struct inst *last_inst(const struct plain_emitter *w) {
    return inst_at(w, w->n->insts.n - 1);
}

static enum dtype operand_dtype(const struct plain_emitter *w) {
    return inst_at(w, last_inst(w)->args[0])->dtype;
}

static const char *identity(const struct plain_emitter *w) {
    bool real = dtype_is_float(operand_dtype(w));
    switch (last_inst(w)->reduction) {
    case REDUCTION_SUM: return "0";
    case REDUCTION_PROD: return "1";
    case REDUCTION_AMAX:
    case REDUCTION_ARGMAX: return real ? "-INFINITY" : "((wide)1 << 63)";
    case REDUCTION_AMIN:
    case REDUCTION_ARGMIN: return real ? "INFINITY" : "~((wide)1 << 63)";
    case REDUCTION_M2:
    case REDUCTION_EXPSUM:
    case REDUCTION_COUNT: break;
    }
    WS_BUG("no plain reduction");
}

/* The statement that makes one of accumulator a, and where pairs are its number at, and another. */
static const char *step_text(struct plain_emitter *w, const char *a, const char *at, const char *v,
                             const char *number) {
    switch (last_inst(w)->reduction) {
    case REDUCTION_SUM:
        if (!dtype_is_float(operand_dtype(w)))
            return arena_printf(w->arena, "%s = int_add(%s, %s);", a, a, v);
        return arena_printf(w->arena, "%s = %s + %s;", a, a, v);
    case REDUCTION_PROD:
        if (!dtype_is_float(operand_dtype(w)))
            return arena_printf(w->arena, "%s = int_mul(%s, %s);", a, a, v);
        return arena_printf(w->arena, "%s = %s * %s;", a, a, v);
    case REDUCTION_AMAX:
        return arena_printf(w->arena, "if (!(%s != %s || %s > %s)) %s = %s;", a, a, a, v, a, v);
    case REDUCTION_AMIN:
        return arena_printf(w->arena, "if (!(%s != %s || %s < %s)) %s = %s;", a, a, a, v, a, v);
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN: {
        const char *sign = last_inst(w)->reduction == REDUCTION_ARGMAX ? ">" : "<";
        return arena_printf(
            w->arena,
            "if (%s %s %s || (%s != %s && %s == %s) || ((%s == %s || (%s != %s && %s "
            "!= %s)) && %s < %s)) %s = %s, %s = %s;",
            v, sign, a, v, v, a, a, v, a, v, v, a, a, number, at, a, v, at, number);
    }
    case REDUCTION_M2:
    case REDUCTION_EXPSUM:
    case REDUCTION_COUNT: break;
    }
    WS_BUG("no plain reduction");
}

static bool of_pairs(const struct plain_emitter *w) {
    return last_inst(w)->kind == INST_REDUCE && reduction_of_pairs(last_inst(w)->reduction);
}

static void put_step(struct plain_emitter *w, const char *a, const char *at) {
    const struct inst *i = last_inst(w);
    const char *v = arena_printf(w->arena, "v%u", i->args[0]);
    const char *number = of_pairs(w) ? arena_printf(w->arena, "v%u", i->args[1]) : "";
    put(w, "%s", step_text(w, a, at, v, number));
}

/* ---- loops ----------------------------------------------------------------------------------- */

static int64_t points(const struct plain_emitter *w, const ex *axes, int n) {
    int64_t all = 1;
    for (int k = 0; k < n; k++) all *= bound_of(w, axes[k]);
    return all;
}

/* Declares axes from the row-major number `from`, which is used up; not `skip`. */
static void put_axes(struct plain_emitter *w, const char *from, ex skip) {
    int first = 0;
    while (first < w->n->n_axes && w->n->axes[first] == skip) first++;
    for (int k = w->n->n_axes; k-- > 0;) {
        ex axis = w->n->axes[k];
        if (axis == skip) continue;
        if (k == first)
            put(w, "const place %s = (place)%s;", index_text(w, axis), from);
        else
            put(w, "const place %s = (place)(%s %% %lld); %s /= %lld;", index_text(w, axis), from,
                (long long)bound_of(w, axis), from, (long long)bound_of(w, axis));
    }
}

/* The first n of its axes. */
static void open_reduction(struct plain_emitter *w, int n, ex shared, const char *from,
                           int64_t step) {
    for (int k = 0; k < n; k++) {
        const char *r = index_text(w, w->n->reduce[k]);
        bool lanes = w->n->reduce[k] == shared && step > 1;
        put(w, "for (place %s = %s; %s < %lld; %s += %lld) {", r, lanes ? from : "0", r,
            (long long)bound_of(w, w->n->reduce[k]), r, lanes ? (long long)step : 1LL);
    }
}
static void close_reduction(struct plain_emitter *w, int n) {
    for (int k = 0; k < n; k++) put(w, "}");
}

/* Does memory lie along the axis, in some load? */
static bool lies_along(const struct plain_emitter *w, ex axis) {
    struct exprs *p = w->l->ex;
    for (inst_id i = 0; i < w->n->insts.n; i++) {
        const struct inst *x = inst_at(w, i);
        if (x->kind != INST_LOAD) continue;
        const struct meta *m = &w->l->buffers.at[x->buffer].meta;
        for (int k = 0; k < m->rank; k++) {
            ex coeff, rest;
            if (ex_linear(p, ex_mul(p, x->index[k], m->stride[k]), axis, &coeff, &rest) &&
                coeff == ex_const(p, 1))
                return true;
        }
    }
    return false;
}

static void put_store(struct plain_emitter *w, const char *value) {
    const struct buffer *b = &w->l->buffers.at[w->n->out];
    enum dtype t = b->meta.dtype;
    const char *cell = arena_printf(w->arena, "q[%s]", place_text(w, w->n->out, w->n->out_index));
    put(w, "%s = (m_%s)%s;", cell, dtype_name(plain_dtype(b)), wrapped(w, t, value));
}

static void put_accumulator(struct plain_emitter *w) {
    put(w, "%s a = %s;", value_type(operand_dtype(w)), identity(w));
    if (of_pairs(w)) put(w, "wide at = ~((wide)1 << 63);");
}

static const char *result(const struct plain_emitter *w) { return of_pairs(w) ? "at" : "a"; }

/* One after the other along the axis that is scanned. */
static void put_scan(struct plain_emitter *w) {
    const char *s = index_text(w, w->n->scan);
    put_accumulator(w);
    put(w, "for (place %s = 0; %s < %lld; %s++) {", s, s, (long long)bound_of(w, w->n->scan), s);
    put_insts(w);
    put_step(w, "a", "");
    put_store(w, "a");
    put(w, "}");
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

struct lanes {
    ex shared; /* the axis that is dealt out */
    int64_t n;
    bool first; /* neighbours are lanes, not outputs */
};

static struct lanes lanes_of(const struct plain_emitter *w, int64_t outputs) {
    struct lanes s = {.n = 1};
    if (w->n->scan || !w->n->n_reduce) return s;
    for (int k = 0; k < w->n->n_reduce; k++)
        if (!s.shared || bound_of(w, w->n->reduce[k]) > bound_of(w, s.shared))
            s.shared = w->n->reduce[k];
    int64_t longest = bound_of(w, s.shared);
    while (outputs * s.n < ENOUGH && s.n * 2 * LEAST_STEPS <= longest) s.n *= 2;
    s.first = lies_along(w, s.shared) && s.n >= 32;
    return s;
}

/* Over each of the range's outputs so many times, neighbours in a row: t is the number of both. */
static void open_threads(struct plain_emitter *w, int64_t times) {
    const char *n = times > 1 ? arena_printf(w->arena, " * %lldLL", (long long)times) : "";
    put(w,
        "for (long long t = first%s + blockIdx.x * %dLL + threadIdx.x; t < end%s; t += gridDim.x * "
        "%dLL) {",
        n, THREADS, n, THREADS);
}

/* The same, but so many times one after the other, each over all outputs: o. */
static void open_rounds(struct plain_emitter *w, int64_t times, int64_t outputs,
                        const char *round) {
    put(w,
        "for (long long t = blockIdx.x * %dLL + threadIdx.x; t < %lldLL; t += gridDim.x * %dLL) {",
        THREADS, (long long)(times * outputs), THREADS);
    put(w, "const long long o = t %% %lldLL; const place %s = (place)(t / %lldLL);",
        (long long)outputs, round, (long long)outputs);
    put(w, "if (o < first || o >= end) continue;");
}

static struct ws_launch *add_launch(struct plain_emitter *w, uint64_t function, int64_t outputs,
                                    int64_t threads) {
    const char *entry = arena_printf(w->arena, "n%llu", (unsigned long long)function);
    struct plain_made made = {
        .nest = w->nest, .text = (uint32_t)(function / UNIT), .outputs = outputs};
    vec_push(w->arena, &w->out->launches, (struct ws_launch){.entry = entry});
    vec_push(w->arena, &w->out->made, made);
    struct ws_launch *l = &vec_last(&w->out->launches);
    int64_t blocks = (threads + THREADS - 1) / THREADS;
    l->grid[0] = !w->cuda ? 1 : blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    l->grid[1] = l->grid[2] = 1;
    l->threads = w->cuda ? THREADS : 1;
    return l;
}

static void need_workspace(struct plain_emitter *w, int64_t cells) {
    size_t bytes = (size_t)cells * 8;
    if (bytes > w->out->workspace) w->out->workspace = bytes;
}

/* Where lane `lane` of output `o` leaves what it has; two arrays beside each other, where pairs. */
static void put_part(struct plain_emitter *w, const char *array, int64_t lanes, int64_t outputs) {
    put(w, "%s[lane * %lldLL + o] = a;", array, (long long)outputs);
    if (of_pairs(w))
        put(w, "((wide *)%s)[%lldLL + lane * %lldLL + o] = at;", array,
            (long long)(lanes * outputs), (long long)outputs);
}

static void put_cuda_body(struct plain_emitter *w, const struct lanes *s, int64_t outputs) {
    if (s->n > 1 && !s->first) {
        open_rounds(w, s->n, outputs, "lane");
    } else {
        open_threads(w, s->n);
        put(w, "const long long o = t / %lld;", (long long)s->n);
        if (s->n > 1) put(w, "const place lane = (place)(t %% %lld);", (long long)s->n);
    }
    put(w, "long long left = o; (void)left;");
    put_axes(w, "left", w->n->scan);
    if (w->n->scan) {
        put_scan(w);
    } else if (!w->n->n_reduce) {
        put_insts(w);
        put_store(w, arena_printf(w->arena, "v%u", w->n->insts.n - 1));
    } else {
        put_accumulator(w);
        open_reduction(w, w->n->n_reduce, s->shared, "lane", s->n);
        put_insts(w);
        put_step(w, "a", "at");
        close_reduction(w, w->n->n_reduce);
        if (s->n > 1)
            put_part(w, "part", s->n, outputs);
        else
            put_store(w, result(w));
    }
    put(w, "}");
}

/* From lanes in `from`, n of each output, to fewer in `to`; to the output itself, if to one. */
static void put_fold(struct plain_emitter *w, int64_t n, int64_t lanes, int64_t outputs) {
    const char *type = value_type(operand_dtype(w));
    open_rounds(w, lanes, outputs, "lane");
    put(w, "long long left = o; (void)left; (void)lane;");
    put_axes(w, "left", EX_NONE);
    put_accumulator(w);
    put(w, "for (long long k = lane; k < %lldLL; k += %lldLL) {", (long long)n, (long long)lanes);
    put(w, "const %s v = from[k * %lldLL + o];", type, (long long)outputs);
    if (of_pairs(w))
        put(w, "const wide number = ((const wide *)from)[%lldLL + k * %lldLL + o];",
            (long long)(n * outputs), (long long)outputs);
    put(w, "%s", step_text(w, "a", "at", "v", "number"));
    put(w, "}");
    if (lanes > 1)
        put_part(w, "to", lanes, outputs);
    else
        put_store(w, result(w));
    put(w, "}");
}

/* ---- C --------------------------------------------------------------------------------------- */

/* How a CPU's tasks share a nest: each has a run along the last axis, and where the reduction goes
 * around that, some rows of the axis before it, which read the same memory. */
struct shares {
    ex last, rows;           /* EX_NONE: there is none */
    int64_t run, n_rows;     /* of a task, at most */
    int64_t runs, row_tasks; /* tasks along the axes */
    bool around;
};

static struct shares shares_of(const struct plain_emitter *w) {
    const struct nest *n = w->n;
    struct shares s = {.run = 1, .n_rows = 1, .runs = 1, .row_tasks = 1};
    s.last = n->n_axes ? n->axes[n->n_axes - 1] : EX_NONE;
    if (s.last == n->scan) s.last = EX_NONE;
    s.around = n->n_reduce && s.last && lies_along(w, s.last) && !of_pairs(w);
    if (s.around && n->n_axes > 1) s.rows = n->axes[n->n_axes - 2];
    if (!n->scan) s.run = s.around ? CPU_SUMS : n->n_reduce ? 1 : CPU_RUN;
    if (s.last) s.runs = (bound_of(w, s.last) + s.run - 1) / s.run;
    if (s.rows) s.n_rows = CPU_ROWS, s.row_tasks = (bound_of(w, s.rows) + CPU_ROWS - 1) / CPU_ROWS;
    return s;
}

/* A task's part of an axis: NAME to NAME_end. */
static void put_share(struct plain_emitter *w, const char *name, int64_t tasks, int64_t most,
                      int64_t length) {
    put(w, "const place %s = (place)(left %% %lld) * %lld; left /= %lld;", name, (long long)tasks,
        (long long)most, (long long)tasks);
    put(w, "const place %s_end = %s + %lld < %lld ? %s + %lld : %lld;", name, name, (long long)most,
        (long long)length, name, (long long)most, (long long)length);
}

static void open_share(struct plain_emitter *w, ex axis, const char *name) {
    const char *i = index_text(w, axis);
    put(w, "for (place %s = %s; %s < %s_end; %s++) {", i, name, i, name, i);
}

/* The loops over a task's sums, around one or several steps of the reduction. */
static void open_sums(struct plain_emitter *w, const struct shares *s) {
    if (s->rows) open_share(w, s->rows, "row");
    open_share(w, s->last, "from");
}
static void close_sums(struct plain_emitter *w, const struct shares *s) {
    put(w, "}");
    if (s->rows) put(w, "}");
}

/* A sum that goes to memory and back at every step waits for that: it takes some in a row, which
 * are the same additions in the same order. */
static void put_steps(struct plain_emitter *w, const struct shares *s, const char *at, ex axis,
                      int64_t end) {
    put(w, "for (place step = 0; step < %lld; step += %d) {", (long long)end, CPU_STEPS);
    open_sums(w, s);
    put(w, "%s a = %s;", value_type(operand_dtype(w)), at);
    for (int k = 0; k < CPU_STEPS; k++) {
        put(w, "{");
        put(w, "const place %s = step + %d;", index_text(w, axis), k);
        put_insts(w);
        put_step(w, "a", "");
        put(w, "}");
    }
    put(w, "%s = a;", at);
    close_sums(w, s);
    put(w, "}");
}

/* Sums of a task's rows, and along its run, side by side. */
static void put_around(struct plain_emitter *w, const struct shares *s) {
    const struct nest *n = w->n;
    const char *j = index_text(w, s->last);
    const char *at = arena_printf(w->arena, "sums[%s - from]", j);
    if (s->rows)
        at = arena_printf(w->arena, "sums[(%s - row) * %d + %s - from]", index_text(w, s->rows),
                          CPU_SUMS, j);
    put(w, "%s sums[%lld];", value_type(operand_dtype(w)), (long long)(s->n_rows * CPU_SUMS));
    put(w, "for (int k = 0; k < %lld; k++) sums[k] = %s;", (long long)(s->n_rows * CPU_SUMS),
        identity(w));
    ex axis = n->reduce[n->n_reduce - 1];
    int64_t length = bound_of(w, axis);
    int64_t stepped = n->insts.n <= FEW_INSTS ? length / CPU_STEPS * CPU_STEPS : 0;
    open_reduction(w, n->n_reduce - 1, EX_NONE, "0", 1);
    if (stepped) put_steps(w, s, at, axis, stepped);
    if (stepped < length) {
        const char *r = index_text(w, axis);
        put(w, "for (place %s = %lld; %s < %lld; %s++) {", r, (long long)stepped, r,
            (long long)length, r);
        open_sums(w, s);
        put_insts(w);
        put_step(w, at, "");
        close_sums(w, s);
        put(w, "}");
    }
    close_reduction(w, n->n_reduce - 1);
    open_sums(w, s);
    put_store(w, at);
    close_sums(w, s);
}

/* Does one output have sums side by side? Of few steps that is not worth its folding; and what is
 * to be the same everywhere is added up in one order. */
static bool has_lanes(const struct plain_emitter *w) {
    const struct nest *n = w->n;
    ex axis = n->reduce[n->n_reduce - 1];
    return !w->exact && !of_pairs(w) && n->insts.n <= FEW_INSTS &&
           bound_of(w, axis) >= 4 * CPU_LANES && lies_along(w, axis);
}

/* Neighbours along the reduction go to a sum each, as vectors do; in the end these are one. */
static void put_lanes(struct plain_emitter *w) {
    const struct nest *n = w->n;
    ex axis = n->reduce[n->n_reduce - 1];
    const char *r = index_text(w, axis), *type = value_type(operand_dtype(w));
    int64_t length = bound_of(w, axis), even = length / CPU_LANES * CPU_LANES;
    int parts = even < length ? 2 : 1;
    put(w, "%s lanes[%d];", type, CPU_LANES);
    put(w, "for (int k = 0; k < %d; k++) lanes[k] = %s;", CPU_LANES, identity(w));
    open_reduction(w, n->n_reduce - 1, EX_NONE, "0", 1);
    for (int rest = 0; rest < parts; rest++) {
        if (!rest)
            put(w, "for (place step = 0; step < %lld; step += %d)", (long long)even, CPU_LANES);
        put(w, "for (int lane = 0; lane < %d; lane++) {", rest ? (int)(length - even) : CPU_LANES);
        if (rest)
            put(w, "const place %s = %lld + lane;", r, (long long)even);
        else
            put(w, "const place %s = step + lane;", r);
        put_insts(w);
        put_step(w, "lanes[lane]", "");
        put(w, "}");
    }
    close_reduction(w, n->n_reduce - 1);
    put(w, "%s a = %s;", type, identity(w));
    put(w, "for (int lane = 0; lane < %d; lane++) {", CPU_LANES);
    put(w, "%s", step_text(w, "a", "", "lanes[lane]", ""));
    put(w, "}");
    put_store(w, "a");
}

/* One element, or line of a scan. */
static void put_element(struct plain_emitter *w) {
    if (w->n->scan) {
        put_scan(w);
    } else if (!w->n->n_reduce) {
        put_insts(w);
        put_store(w, arena_printf(w->arena, "v%u", w->n->insts.n - 1));
    } else if (has_lanes(w)) {
        put_lanes(w);
    } else {
        put_accumulator(w);
        open_reduction(w, w->n->n_reduce, EX_NONE, "0", 1);
        put_insts(w);
        put_step(w, "a", "at");
        close_reduction(w, w->n->n_reduce);
        put_store(w, result(w));
    }
}

static void put_c_body(struct plain_emitter *w) {
    const struct nest *n = w->n;
    struct shares s = shares_of(w);
    struct nest rest = *n;
    int64_t tasks = s.runs * s.row_tasks;
    if (s.last) rest.n_axes--;
    if (s.rows) rest.n_axes--;
    for (int k = 0; k < rest.n_axes; k++)
        if (rest.axes[k] != n->scan) tasks *= bound_of(w, rest.axes[k]);
    if (tasks > 1) put(w, "#pragma omp parallel for schedule(static)");
    put(w, "for (long long t = 0; t < %lldLL; t++) {", (long long)tasks);
    put(w, "long long left = t; (void)left;");
    if (s.last) put_share(w, "from", s.runs, s.run, bound_of(w, s.last));
    if (s.rows) put_share(w, "row", s.row_tasks, s.n_rows, bound_of(w, s.rows));
    w->n = &rest;
    put_axes(w, "left", n->scan);
    w->n = n;
    if (s.around) {
        put_around(w, &s);
    } else {
        if (s.last) open_share(w, s.last, "from");
        put_element(w);
        if (s.last) put(w, "}");
    }
    put(w, "}");
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
        if (number % UNIT == 0) vec_push(w->arena, &w->out->units, buf_new(w->arena));
        struct buf *unit = &vec_last(&w->out->units);
        buf_printf(unit, w->cuda ? "extern \"C\" __global__ void n%llu" : "void n%llu",
                   (unsigned long long)number);
        buf_puts(unit, text);
    }
    return number;
}

static const char *place_type(const struct plain_emitter *w, int64_t threads) {
    int64_t most =
        buffer_storage(w->l, w->n->out) > threads ? buffer_storage(w->l, w->n->out) : threads;
    for (int i = 0; i < w->n_args; i++)
        if (buffer_storage(w->l, w->args[i]) > most) most = buffer_storage(w->l, w->args[i]);
    int64_t steps = points(w, w->n->reduce, w->n->n_reduce);
    return most < INT32_MAX / 2 && steps < INT32_MAX / 2 ? "int" : "long long";
}

static void emit_c(struct plain_emitter *w) {
    put_c_body(w);
    const char *body = take_body(w);
    put(w, "(void *const *args) {");
    put(w, "typedef %s place;", place_type(w, 0));
    for (int i = 0; i < w->n_args; i++)
        put(w, "const %s *p%d = *(%s *const *)args[%d];", memory_of(w, w->args[i]), i,
            memory_of(w, w->args[i]), i);
    put(w, "%s *q = *(%s *const *)args[%d];", memory_of(w, w->n->out), memory_of(w, w->n->out),
        w->n_args);
    buf_puts(&w->b, body);
    put(w, "}");
    struct ws_launch *l = add_launch(w, function_for(w, take_body(w)), 1, 1);
    add_buffers(w, l);
    add_output(w, l);
}

static void put_cuda_head(struct plain_emitter *w, const char *extra, int64_t threads) {
    buf_puts(&w->b, "(");
    for (int i = 0; i < w->n_args; i++)
        buf_printf(&w->b, "const %s *p%d, ", memory_of(w, w->args[i]), i);
    buf_printf(&w->b, "%s, long long first, long long end) {\n", extra);
    w->indent = 1;
    put(w, "typedef %s place;", place_type(w, threads));
}

static void emit_cuda(struct plain_emitter *w) {
    int64_t outputs = points(w, w->n->axes, w->n->n_axes);
    if (w->n->scan) outputs /= bound_of(w, w->n->scan);
    struct lanes s = lanes_of(w, outputs);
    const char *type = w->n->n_reduce ? value_type(operand_dtype(w)) : "";
    const char *store = arena_printf(w->arena, "%s *q", memory_of(w, w->n->out));
    int64_t cells = outputs * (of_pairs(w) ? 2 : 1);
    put_cuda_body(w, &s, outputs);
    const char *body = take_body(w);
    put_cuda_head(w, s.n > 1 ? arena_printf(w->arena, "%s *part", type) : store, outputs * s.n);
    buf_puts(&w->b, body);
    put(w, "}");
    struct ws_launch *l = add_launch(w, function_for(w, take_body(w)), outputs, outputs * s.n);
    add_buffers(w, l);
    if (s.n == 1) return add_output(w, l);
    add_workspace(l, 0);
    need_workspace(w, s.n * cells);
    w->n_args = 0;
    for (int64_t n = s.n, from = 0, to = s.n * cells; n > 1;) {
        int64_t lanes = n > FOLD ? n / FOLD : 1;
        w->indent = 0;
        put_cuda_head(w,
                      arena_printf(w->arena, "const %s *from, %s", type,
                                   lanes > 1 ? arena_printf(w->arena, "%s *to", type) : store),
                      outputs * n);
        put_fold(w, n, lanes, outputs);
        put(w, "}");
        l = add_launch(w, function_for(w, take_body(w)), outputs, outputs * lanes);
        add_workspace(l, from);
        if (lanes == 1) return add_output(w, l);
        add_workspace(l, to);
        need_workspace(w, to + lanes * cells);
        from = to;
        to += lanes * cells;
        n = lanes;
    }
}

/* ---- operators ------------------------------------------------------------------------------- */

static void put_functions(struct plain_emitter *w, struct buf *b) {
    for (int op = 0; op < OP_COUNT; op++)
        for (int whole = 0; whole < 2; whole++) {
            if (!w->used[op][whole]) continue;
            const char *type = whole ? "wide" : "double";
            buf_printf(b, "FN %s %s_%s(", type, whole ? "whole" : "real",
                       op_info((enum op)op)->name);
            for (int k = 0; k < operands_of((enum op)op); k++)
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
        put(w, "q[t] = %s%s(%s);", p->up ? "as_up" : "as_", p->up ? "" : dtype_name(p->dtype),
            value);
        return;
    }
    put(w, "long long left = t, at = 0;");
    for (int k = p->rank; k-- > 0;)
        put(w, "at += left %% %lldLL * %lldLL; left /= %lldLL;", (long long)p->size[k],
            (long long)p->stride[k], (long long)p->size[k]);
    put(w, "q[at] = %s%s(%s);", p->up ? "as_up" : "as_", p->up ? "" : dtype_name(p->dtype), value);
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
        open_threads(w, 1);
    } else {
        put(w, "(void *const *args) {");
        put(w, "const %s *p0 = *(%s *const *)args[0];", in, in);
        put(w, "%s *q = *(%s *const *)args[1];", out, out);
        put(w, "#pragma omp parallel for schedule(static)");
        put(w, "for (long long t = 0; t < %lldLL; t++) {", (long long)n);
    }
    put_place(w, p, from);
    put(w, "}");
    put(w, "}");
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
        if (graph_first_output(l->graph, o) == (uint32_t)buffer->index &&
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

bool emit_plain(const struct loops *l, const struct placement *outputs, bool exact, bool cuda,
                struct arena *a, struct plain *out) {
    *out = (struct plain){.functions = map_new(a)};
    struct plain_emitter w = {.l = l,
                              .cuda = cuda,
                              .exact = exact,
                              .placed = outputs,
                              .arena = a,
                              .b = buf_new(a),
                              .out = out};
    for (uint32_t k = 0; k < l->nests.n; k++) {
        const struct nest *n = &l->nests.at[k];
        w.n = n;
        w.nest = k;
        w.n_args = w.indent = 0;
        enum reduction r = n->insts.at[n->insts.n - 1].reduction;
        if (n->n_reduce && (r == REDUCTION_M2 || r == REDUCTION_EXPSUM)) return false;
        if (points(&w, n->axes, n->n_axes) == 0) continue;
        (cuda ? emit_cuda : emit_c)(&w);
        place_outputs(&w, n->out);
        w.b = buf_new(a);
    }
    struct buf head = buf_new(a);
    if (exact && !cuda) buf_puts(&head, no_contraction);
    buf_puts(&head, prelude_plain);
    put_functions(&w, &head);
    for (uint32_t i = 0; i < out->units.n; i++)
        vec_push(a, &out->texts, arena_printf(a, "%s%s", head.p, out->units.at[i].p));
    return true;
}

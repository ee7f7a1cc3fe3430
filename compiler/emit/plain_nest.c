/* plain_nest.c: a nest's plain text, as CUDA and C have in common: an element's instructions, a
 * reduction's steps, loops.
 *
 *   v1 = exp(v0) : f32      const double v1 = real_exp(v0, 1, 1);
 *   reduce sum v1           a = a + v1; */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/plain_nest.h"
#include "graph/eval_text.h"
#include "graph/traits.h"

void plain_put(struct plain_emitter *w, const char *fmt, ...) {
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
int64_t plain_bound(const struct plain_emitter *w, ex axis) {
    return ex_value(w->l->ex, ex_symbol(w->l->ex, axis)->bound);
}
const char *plain_value_type(enum dtype t) { return dtype_is_float(t) ? "double" : "wide"; }

/* ---- sizes ----------------------------------------------------------------------------------- */

enum { MOST_SIZES = 20, MOST_REALS = 6 }; /* of a function */

/* The number of the argument that says a size; below 0: the text does, as those of windows and
 * other short loops, which are unrolled, and what has no room in an int. */
static int size_argument(struct plain_emitter *w, int64_t size) {
    enum { SHORT = 16 };
    if (!w->cuda || w->literal || size <= (w->n->n_reduce ? SHORT : 1) || size > INT32_MAX / 2)
        return -1;
    for (int i = 0; i < w->n_sizes; i++)
        if (w->sizes[i] == size) return i;
    if (w->n_sizes == MOST_SIZES) return -1;
    w->sizes[w->n_sizes] = size;
    return w->n_sizes++;
}

/* A size as a place: kernels of like nests, as a network has them at many sizes, are one text. */
const char *plain_size(struct plain_emitter *w, int64_t size) {
    int i = size_argument(w, size);
    return i < 0 ? arena_printf(w->arena, "%lld", (long long)size)
                 : arena_printf(w->arena, "c%d", i);
}
const char *plain_long_size(struct plain_emitter *w, int64_t size) {
    int i = size_argument(w, size);
    return i < 0 ? arena_printf(w->arena, "%lldLL", (long long)size)
                 : arena_printf(w->arena, "size%d", i);
}

/* Divisors stay, for compilers divide by numbers that they know by multiplying. */
static const char *with_sizes(struct plain_emitter *w, const char *text) {
    struct buf b = buf_new(w->arena);
    char before = 0; /* that is no blank */
    for (const char *p = text; *p;) {
        size_t n = strspn(p, "0123456789");
        bool name = isalpha((unsigned char)*p) || *p == '_';
        if (name)
            while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
        if (n && !name && before != '/' && before != '%' && n < 11) {
            buf_puts(&b, plain_size(w, strtoll(p, NULL, 10)));
        } else {
            n += !n;
            buf_printf(&b, "%.*s", (int)n, p);
        }
        if (p[n - 1] != ' ') before = p[n - 1];
        p += n;
    }
    return b.p;
}

/* Symbols of subscripts, $0 and on, are called s0. */
const char *plain_index(struct plain_emitter *w, ex e) {
    struct buf b = buf_new(w->arena);
    ex_print_c(&b, w->l->ex, e);
    for (char *p = b.p; (p = strchr(p, '$')); p++) *p = 's';
    return w->cuda ? with_sizes(w, b.p) : b.p;
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
    return plain_index(w, at);
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
    if (w->cuda && !w->literal && i->value != 0 && fabs(i->value) != 1 && w->n_reals < MOST_REALS) {
        w->reals[w->n_reals] = i->value;
        return arena_printf(w->arena, "real%d", w->n_reals++);
    }
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
int plain_operands_of(enum op op) { return op_info(op)->n_params > 3 ? INST_MAX_ARGS : 3; }

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
    for (int k = 0; k < plain_operands_of(i->op); k++) { /* what is not there is a weight */
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
    case INST_INDEX: text = wrapped(w, i->dtype, plain_index(w, i->index[0])); break;
    case INST_LOAD: text = load_text(w, i); break;
    case INST_OP: text = op_text(w, i); break;
    case INST_CAST: text = cast_text(w, i); break;
    case INST_SUBSCRIPT:
        plain_put(w, "const place %s = (place)inside(v%u, %lld);", plain_index(w, i->index[0]),
                  i->args[0], (long long)plain_bound(w, i->index[0]));
        text = arena_printf(w->arena, "%s", plain_index(w, i->index[0]));
        break;
    case INST_SCAN:
    case INST_REDUCE: return;
    }
    plain_put(w, "const %s v%u = %s;", plain_value_type(i->dtype), id, text);
}

void plain_put_insts(struct plain_emitter *w) {
    for (inst_id i = 0; i < w->n->insts.n; i++) put_inst(w, i);
}

void plain_put_insts_that(struct plain_emitter *w, const bool *moves, bool move) {
    for (inst_id i = 0; i < w->n->insts.n; i++)
        if (moves[i] == move) put_inst(w, i);
}

/* ---- what a reduction has so far ------------------------------------------------------------- */

static const struct inst *last_inst(const struct plain_emitter *w) {
    return inst_at(w, w->n->insts.n - 1);
}

enum dtype plain_operand(const struct plain_emitter *w) {
    return inst_at(w, last_inst(w)->args[0])->dtype;
}

const char *plain_identity(const struct plain_emitter *w) {
    bool real = dtype_is_float(plain_operand(w));
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
const char *plain_step(struct plain_emitter *w, const char *a, const char *at, const char *v,
                       const char *number) {
    switch (last_inst(w)->reduction) {
    case REDUCTION_SUM:
        if (!dtype_is_float(plain_operand(w)))
            return arena_printf(w->arena, "%s = int_add(%s, %s);", a, a, v);
        return arena_printf(w->arena, "%s = %s + %s;", a, a, v);
    case REDUCTION_PROD:
        if (!dtype_is_float(plain_operand(w)))
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

bool plain_of_pairs(const struct plain_emitter *w) {
    return last_inst(w)->kind == INST_REDUCE && reduction_of_pairs(last_inst(w)->reduction);
}

void plain_put_step(struct plain_emitter *w, const char *a, const char *at) {
    const struct inst *i = last_inst(w);
    const char *v = arena_printf(w->arena, "v%u", i->args[0]);
    const char *number = plain_of_pairs(w) ? arena_printf(w->arena, "v%u", i->args[1]) : "";
    plain_put(w, "%s", plain_step(w, a, at, v, number));
}

/* ---- loops ----------------------------------------------------------------------------------- */

int64_t plain_points(const struct plain_emitter *w, const ex *axes, int n) {
    int64_t all = 1;
    for (int k = 0; k < n; k++) all *= plain_bound(w, axes[k]);
    return all;
}

/* Declares axes from the row-major number `from`, which is used up; not `skip`. */
void plain_put_axes(struct plain_emitter *w, const char *from, ex skip) {
    int first = 0;
    while (first < w->n->n_axes && w->n->axes[first] == skip) first++;
    for (int k = w->n->n_axes; k-- > 0;) {
        ex axis = w->n->axes[k];
        if (axis == skip) continue;
        if (k == first)
            plain_put(w, "const place %s = (place)%s;", plain_index(w, axis), from);
        else {
            const char *size = plain_size(w, plain_bound(w, axis));
            plain_put(w, "const place %s = (place)(%s %% %s); %s /= %s;", plain_index(w, axis),
                      from, size, from, size);
        }
    }
}

void plain_open_loop(struct plain_emitter *w, int k, const char *from, int64_t step) {
    const char *r = plain_index(w, w->n->reduce[k]);
    plain_put(w, "for (place %s = %s; %s < %s; %s += %s) {", r, from, r,
              plain_size(w, plain_bound(w, w->n->reduce[k])), r, plain_size(w, step));
}

/* The first n of its axes. */
void plain_open(struct plain_emitter *w, int n, ex shared, const char *from, int64_t step) {
    for (int k = 0; k < n; k++) {
        bool lanes = w->n->reduce[k] == shared && step > 1;
        plain_open_loop(w, k, lanes ? from : "0", lanes ? step : 1);
    }
}
void plain_close(struct plain_emitter *w, int n) {
    for (int k = 0; k < n; k++) plain_put(w, "}");
}

/* Does memory lie along the axis, in some load? */
bool plain_lies_along(const struct plain_emitter *w, ex axis) {
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

void plain_put_store(struct plain_emitter *w, const char *value) {
    const struct buffer *b = &w->l->buffers.at[w->n->out];
    enum dtype t = b->meta.dtype;
    const char *cell = arena_printf(w->arena, "q[%s]", place_text(w, w->n->out, w->n->out_index));
    plain_put(w, "%s = (m_%s)%s;", cell, dtype_name(plain_dtype(b)), wrapped(w, t, value));
}

void plain_put_accumulator(struct plain_emitter *w) {
    plain_put(w, "%s a = %s;", plain_value_type(plain_operand(w)), plain_identity(w));
    if (plain_of_pairs(w)) plain_put(w, "wide at = ~((wide)1 << 63);");
}

const char *plain_result(const struct plain_emitter *w) { return plain_of_pairs(w) ? "at" : "a"; }

/* One after the other along the axis that is scanned: a goes on, and is stored or not. */
void plain_put_scan(struct plain_emitter *w, const char *from, const char *end, bool stores) {
    const char *s = plain_index(w, w->n->scan);
    plain_put(w, "for (place %s = %s; %s < %s; %s++) {", s, from, s, end, s);
    plain_put_insts(w);
    plain_put_step(w, "a", "");
    if (stores) plain_put_store(w, "a");
    plain_put(w, "}");
}

void plain_put_whole_scan(struct plain_emitter *w) {
    plain_put_accumulator(w);
    plain_put_scan(w, "0", plain_size(w, plain_bound(w, w->n->scan)), true);
}

/* meta.c: fake tensors: what type, shape and strides an operator's result has, with no data.
 *
 *   add(f32[4, 1], f32[8])  -> f32[4, 8]        meta_shape.c says the sizes, one rule per operator;
 *   add(i64[4], 1.5)        -> f32[4]           this file says the type, one rule per dtype column
 *                                               of ops.def.
 *
 * Types follow PyTorch's three ranks of operands: tensors with dimensions, then 0-dim tensors, then
 * Python numbers. A lower rank changes the result only if its class (bool < integer < float) is
 * higher. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "graph/graph_impl.h"
#include "graph/loop.h"
#include "graph/traits.h"

const struct param *op_param(enum op op, const char *name, int *index) {
    const struct op_info *info = op_info(op);
    for (int i = 0; i < info->n_params; i++)
        if (!strcmp(info->params[i].name, name)) return *index = i, &info->params[i];
    return NULL;
}

bool infer_fail(const struct infer *in, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *text = arena_vprintf(in->g->arena, fmt, ap);
    va_end(ap);
    diag_fail_at(in->d, WS_WRONG, in->g->src, in->where, "%s: %s", in->op->name, text);
    return false;
}

const struct meta *infer_meta(const struct infer *in, int i) {
    return in->args[i].kind == ARG_NODE ? &in->g->nodes.at[in->args[i].node].meta : NULL;
}

const char *infer_shape(const struct infer *in, const struct meta *m) {
    struct buf b = buf_new(in->g->arena);
    graph_print_shape(&b, in->g, m);
    return b.p;
}

uint32_t dims_set(struct exprs *p, const struct arg *a, int rank) {
    uint32_t set = 0, all = (1u << rank) - 1;
    if (a->kind == ARG_INT) set = 1u << ex_value(p, a->i);
    if (a->kind == ARG_INTS)
        for (uint32_t i = 0; i < a->ints.n; i++) set |= 1u << ex_value(p, a->ints.at[i]);
    return set ? set & all : all; /* dimension 0 of a number is no dimension */
}

uint32_t dims_of(const struct graph *g, const struct node *n, const char *param, int rank) {
    int i;
    if (!op_param(n->op, param, &i)) WS_BUG("%s has no parameter %s", op_info(n->op)->name, param);
    return dims_set(g->ex, &n->args[i], rank);
}

/* ---- types ----------------------------------------------------------------------------------- */

#define NO_DTYPE DT_COUNT

static enum dtype promote(enum dtype a, enum dtype b) {
    return a == NO_DTYPE ? b : b == NO_DTYPE ? a : dtype_promote(a, b);
}

/* The type of `higher` unless the class of `lower` is above it. */
static enum dtype outrank(enum dtype higher, enum dtype lower) {
    if (higher == NO_DTYPE || lower == NO_DTYPE) return promote(higher, lower);
    if (dtype_is_float(higher)) return higher;
    return higher == DT_BOOL || dtype_is_float(lower) ? dtype_promote(higher, lower) : higher;
}

static enum dtype number_dtype(enum arg_kind k) {
    return k == ARG_FLOAT ? DT_F32 : k == ARG_BOOL ? DT_BOOL : DT_I64;
}

/* The common type of all operands of kind T and T|S from parameter `first` on. */
static enum dtype promote_operands(const struct infer *in, int first) {
    enum dtype dims = NO_DTYPE, zero = NO_DTYPE, number = NO_DTYPE;
    for (int i = first; i < in->op->n_params; i++) {
        char kind = in->op->params[i].kind;
        const struct meta *m = infer_meta(in, i);
        const node_id *at;
        if ((kind != 'T' && kind != '|') || in->args[i].kind == ARG_NONE) continue;
        for (int k = in->op->params[i].list ? arg_nodes(&in->args[i], &at) : 0; k-- > 0;) {
            m = &in->g->nodes.at[at[k]].meta;
            *(m->rank ? &dims : &zero) = promote(m->rank ? dims : zero, m->dtype);
        }
        if (in->op->params[i].list) continue;
        if (!m)
            number = promote(number, number_dtype(in->args[i].kind));
        else if (m->rank)
            dims = promote(dims, m->dtype);
        else
            zero = promote(zero, m->dtype);
    }
    return outrank(dims, outrank(zero, number));
}

static enum dtype first_dtype(const struct infer *in) {
    for (int i = 0; i < in->op->n_params; i++)
        if (infer_meta(in, i)) return infer_meta(in, i)->dtype;
    WS_BUG("%s has no tensor", in->op->name);
}

/* f32, or what the numbers among the arguments are: full((2,), 1) is i64. */
static enum dtype numbers_dtype(const struct infer *in) {
    enum dtype d = NO_DTYPE;
    for (int i = 0; i < in->op->n_params; i++)
        if (in->op->params[i].kind == 'S') d = promote(d, number_dtype(in->args[i].kind));
    return d == NO_DTYPE ? DT_F32 : d;
}

/* The operators whose rule is CUSTOM. */
enum custom {
#define IS_CUSTOM_CUSTOM , ROW_IN
#define OP(id, name, class, schema, dtype, ...) ROW_IF(IS_CUSTOM_##dtype)(CUSTOM_##id = OP_##id)
#include "graph/ops.def"
#undef OP
};

static enum dtype custom_dtype(const struct infer *in) {
    enum dtype t = infer_meta(in, 0) ? infer_meta(in, 0)->dtype : DT_F64;
    switch ((enum custom)in->op->id) {
    case CUSTOM_WHERE: return promote_operands(in, 1);
    case CUSTOM_EMBEDDING:
    case CUSTOM_TYPE_AS: return infer_meta(in, 1)->dtype;
    case CUSTOM_MM_FLOAT8:
    case CUSTOM_FLOAT: return DT_F32;
    case CUSTOM_HALF: return DT_F16;
    case CUSTOM_BFLOAT16: return DT_BF16;
    case CUSTOM_DOUBLE: return DT_F64;
    case CUSTOM_LONG: return DT_I64;
    case CUSTOM_INT: return DT_I32;
    case CUSTOM_SHORT: return DT_I16;
    case CUSTOM_CHAR: return DT_I8;
    case CUSTOM_BYTE: return DT_U8;
    case CUSTOM_BOOL: return DT_BOOL;
    case CUSTOM_ANY:
    case CUSTOM_ALL: return t == DT_U8 ? DT_U8 : DT_BOOL; /* as PyTorch's */
    case CUSTOM_SQUARE: return t == DT_BOOL ? DT_I64 : t; /* x ** 2 */
    case CUSTOM_ERROR_ROUND:
    case CUSTOM_ERROR_PRODUCT:
    case CUSTOM_ERROR_QUOTIENT:
    case CUSTOM_ERROR_FLIP: return DT_F64;
    case CUSTOM_LOOP: return loop_output_meta(in->g, in->args)->dtype;
    case CUSTOM_LOOP_STEP:
    case CUSTOM_LOOP_STACK: return t;
    case CUSTOM_INPUT:
    case CUSTOM_CAST: /* their dtype is given */
    case CUSTOM_CONVERT: break;
    }
    WS_BUG("%s has no type rule", in->op->name);
}

static enum dtype infer_dtype(const struct infer *in) {
    int i;
    enum dtype d;
    if (op_param(in->op->id, "dtype", &i) && in->args[i].kind == ARG_DTYPE)
        return in->args[i].dtype;
    switch (in->op->dtype) {
    case RULE_PROMOTE: return promote_operands(in, 0);
    case RULE_FLOAT: d = promote_operands(in, 0); return dtype_is_float(d) ? d : DT_F32;
    case RULE_SAME: return first_dtype(in);
    case RULE_BOOL: return DT_BOOL;
    case RULE_SUM: d = first_dtype(in); return dtype_is_float(d) ? d : DT_I64;
    case RULE_ARG: return numbers_dtype(in);
    case RULE_I64: return DT_I64;
    case RULE_CUSTOM: return custom_dtype(in);
    }
    WS_BUG("%s: dtype rule %d", in->op->name, in->op->dtype);
}

enum dtype graph_common_dtype(struct graph *g, const struct node *n) {
    struct infer in = {.g = g, .op = op_info(n->op), .args = n->args};
    enum dtype d = promote_operands(&in, op_first_number(n->op));
    return in.op->dtype == RULE_FLOAT && !dtype_is_float(d) ? DT_F32 : d;
}

enum dtype graph_compute_dtype(struct graph *g, const struct node *n) {
    return dtype_opmath(graph_common_dtype(g, n));
}

/* ---- types that an operator refuses, as PyTorch does ----------------------------------------- */

static bool need_float(const struct infer *in, enum dtype result) {
    return dtype_is_float(result) ||
           infer_fail(in, "needs a floating-point tensor, got %s", dtype_name(result));
}

static bool need_number(const struct infer *in, enum dtype result, const char *why) {
    return result != DT_BOOL || infer_fail(in, "%s", why);
}

/* The first n operands. */
static bool need_one_dtype(const struct infer *in, int n) {
    const struct meta *a = NULL;
    for (int i = 0; i < n; i++) {
        const struct meta *m = infer_meta(in, i);
        if (!m) continue;
        if (a && a->dtype != m->dtype)
            return infer_fail(in, "operands must be of one type, got %s and %s",
                              dtype_name(a->dtype), dtype_name(m->dtype));
        a = m;
    }
    return true;
}

static bool need_bool(const struct infer *in, int i) {
    enum dtype d = infer_meta(in, i)->dtype;
    return d == DT_BOOL || infer_fail(in, "%s must be a bool tensor, got %s",
                                      in->op->params[i].name, dtype_name(d));
}

/* A number that is no operand, alpha for one, does not change the type of the result: integers take
 * whole ones. */
static bool check_numbers(const struct infer *in, enum dtype result) {
    bool follows = in->op->dtype == RULE_PROMOTE || in->op->dtype == RULE_SAME;
    if (dtype_is_float(result) || !follows || in->op->id == OP_FULL_LIKE) return true;
    for (int i = 0; i < in->op->n_params; i++) {
        const struct arg *a = &in->args[i];
        if (in->op->params[i].kind == 'S' && a->kind == ARG_FLOAT && a->f != floor(a->f))
            return infer_fail(in, "%s must be a whole number for %s tensors, not %g",
                              in->op->params[i].name, dtype_name(result), a->f);
    }
    return true;
}

/* Is v one of the type's, or, where it has no sign, one of those with a minus? PyTorch takes -3 for
 * 253, but not 300 for 44. */
static bool takes_number(enum dtype t, int64_t v) {
    return int_wrap(t, v) == v || (t == DT_U8 && v < 0 && v >= -255);
}

/* Others refuse it: a u8 is filled with no 300, and a power has no such exponent. */
static bool check_narrow(const struct infer *in, enum dtype result) {
    enum dtype t = result;
    int64_t v;
    if (!dtype_is_narrow(t) || op_cuts_numbers(in->op->id)) return true;
    for (int i = 0; i < in->op->n_params; i++) {
        char kind = in->op->params[i].kind;
        const struct arg *a = &in->args[i];
        if ((kind != 'S' && kind != '|') || a->kind != ARG_INT || !ex_is_const(in->g->ex, a->i, &v))
            continue;
        if (!takes_number(t, v) && !(in->op->id == OP_POW && i == 0))
            return infer_fail(in, "value cannot be converted to type %s without overflow: %lld",
                              dtype_torch_name(t), (long long)v);
    }
    return true;
}

/* An integer tensor is filled with 3.7 as 3, and with no infinity, nan or 1e30. */
static bool check_filled(const struct infer *in, enum dtype t) {
    bool fills = in->op->id == OP_FULL || in->op->id == OP_FULL_LIKE;
    if (!fills || !dtype_is_int(t) || t == DT_BOOL || in->args[1].kind != ARG_FLOAT) return true;
    double v = trunc(in->args[1].f);
    bool holds = fabs(v) < 0x1p63 && takes_number(t, (int64_t)v);
    return holds || infer_fail(in, "value cannot be converted to type %s without overflow: %g",
                               dtype_torch_name(t), in->args[1].f);
}

static bool check_float8(const struct infer *in, enum dtype result) {
    enum dtype t = result;
    for (int i = 0; i < in->op->n_params && !dtype_is_float8(t); i++) {
        const node_id *at;
        for (int k = arg_nodes(&in->args[i], &at); k-- > 0 && !dtype_is_float8(t);)
            t = in->g->nodes.at[at[k]].meta.dtype;
    }
    return !dtype_is_float8(t) || op_keeps_elements(in->op->id) ||
           op_takes(in->op->id) == TAKES_FLOAT8 ||
           infer_fail(in, "not implemented for %s; convert it first, as with .float()",
                      dtype_torch_name(t));
}

static bool check_dtype(const struct infer *in, enum dtype result) {
    int k;
    if (!check_numbers(in, result) || !check_narrow(in, result) || !check_filled(in, result) ||
        !check_float8(in, result))
        return false;
    if (op_param(in->op->id, "reduction", &k) && !strcmp(in->args[k].s, "mean") &&
        !need_float(in, result)) /* a mean of integers is none */
        return false;
    switch (op_takes(in->op->id)) {
    case TAKES_FLOATS: return need_float(in, result);
    case TAKES_PRODUCT:
        return need_one_dtype(in, in->op->n_params) &&
               need_number(in, result, "bool matrices have no product");
    case TAKES_FLOAT8:
        return (dtype_is_float8(infer_meta(in, 0)->dtype) &&
                dtype_is_float8(infer_meta(in, 1)->dtype)) ||
               infer_fail(in, "operands must be float8");
    case TAKES_ATTENTION: return need_float(in, result) && need_one_dtype(in, 3);
    case TAKES_CHOICE: return need_bool(in, 0);
    case TAKES_MASK: return need_bool(in, 1);
    case TAKES_WHOLE:
        return !dtype_is_float(result) ||
               infer_fail(in, "needs bool or integer tensors, got %s", dtype_name(result));
    case TAKES_NEGATIVE:
        return need_number(in, result, "a bool tensor has no negative; use ~ or logical_not");
    case TAKES_NUMBERS: return need_number(in, result, "needs numbers, got bool");
    case TAKES_RANGE: return need_number(in, result, "a range of bools is not supported");
    case TAKES_QUOTIENT: return need_number(in, result, "bool tensors have no quotient");
    case TAKES_DIFFERENCE:
        return need_number(in, result, "bool tensors have no difference; use ^ or logical_xor");
    case TAKES_ALL:
    case TAKES_COUNT: break;
    }
    return true;
}

bool meta_is_addressable(struct exprs *p, const struct meta *m) {
    double numel = 1, span = 1;
    int64_t size, stride;
    ex all = ex_const(p, 1);
    for (int i = 0; i < m->rank; i++) {
        bool known = ex_is_const(p, m->size[i], &size);
        if (known && size == 0) continue; /* the products of the others are still made */
        if ((known && size < 0) || !ex_mul_fits(p, all, m->size[i])) return false;
        all = ex_mul(p, all, m->size[i]);
        if (!known) continue;
        numel *= (double)size;
        if (m->stride[i] == EX_NONE || !ex_is_const(p, m->stride[i], &stride)) continue;
        if (stride < 0) return false;
        span += (double)size * (double)stride;
    }
    return numel <= MAX_NUMEL && span <= MAX_NUMEL;
}

static bool infer_meta_of(const struct infer *in, struct meta *out) {
    memset(out, 0, sizeof *out);
    if (!infer_size(in, out)) return false;
    if (!meta_is_addressable(in->g->ex, out)) {
        ex_overflow(in->g->ex, NULL);
        return infer_fail(in, "a tensor %s is too large", infer_shape(in, out));
    }
    out->dtype = infer_dtype(in);
    if (!check_dtype(in, out->dtype)) return false;
    if (out->rank && out->stride[0] == EX_NONE) meta_contiguous(in->g->ex, out);
    return true;
}

bool graph_meta(struct graph *g, enum op op, const struct arg *args, struct span where,
                struct diag *d, struct meta *out) {
    struct infer in = {g, op_info(op), args, where, d};
    struct ex_escape escape = ex_set_escape(g->ex, (struct ex_escape){0});
    bool before = ex_overflowed(g->ex), ok = infer_meta_of(&in, out), large = ex_overflowed(g->ex);
    ok = ok && (!large || infer_fail(&in, TOO_LARGE));
    if (before || large) ex_overflow(g->ex, NULL);
    ex_set_escape(g->ex, escape);
    return ok;
}

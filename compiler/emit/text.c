/* text.c: expressions, names and types of generated code; the part that CUDA and C have in common.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/impl.h"
#include "graph/traits.h"

void line(struct emitter *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_indent(&w->b, w->indent);
    buf_vprintf(&w->b, fmt, ap);
    buf_putc(&w->b, '\n');
    va_end(ap);
}

void open_brace(struct emitter *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_indent(&w->b, w->indent++);
    buf_vprintf(&w->b, fmt, ap);
    buf_puts(&w->b, " {\n");
    va_end(ap);
}

void open_scope(struct emitter *w) {
    line(w, "{");
    w->indent++;
}

void close_brace(struct emitter *w) {
    w->indent--;
    line(w, "}");
}

/* ---- types ----------------------------------------------------------------------------------- */

const char *math_type(enum dtype t) {
    switch (dtype_opmath(t)) {
    case DT_BOOL: return "k_flag";
    case DT_I32: return "int";
    case DT_I64: return "long long";
    case DT_F64: return "double";
    case DT_U8:
    case DT_I8:
    case DT_I16:
    case DT_F8E4M3:
    case DT_F8E5M2:
    case DT_F16:
    case DT_BF16:
    case DT_F32:
    case DT_COUNT: break;
    }
    return "float";
}

const char *memory_type(const struct emitter *w, enum dtype t) {
    return arena_printf(w->arena, "k_%s", dtype_name(t));
}

enum dtype value_math(const struct emitter *w, value_id v) {
    return dtype_opmath(w->k->values.at[v].dtype);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Not an expression when it is negative. */
static const char *integer_text(struct emitter *w, int64_t v, bool wide) {
    if (v == (wide ? INT64_MIN : INT32_MIN))
        return wide ? "(-9223372036854775807LL - 1)" : "(-2147483647 - 1)";
    return arena_printf(w->arena, v < 0 ? "(%lld%s)" : "%lld%s", (long long)v, wide ? "LL" : "");
}

static const char *number_text(struct emitter *w, double v, enum dtype t) {
    switch (dtype_opmath(t)) {
    case DT_BOOL: return v != 0 ? "1" : "0";
    case DT_I32:
    case DT_I64: return integer_text(w, int_of_double(dtype_opmath(t), v), t == DT_I64);
    default: break;
    }
    bool wide = t == DT_F64;
    if (!wide) v = (float)v; /* 1e300 is infinite */
    if (v != v) return wide ? "(double)k_nan()" : "k_nan()";
    if (isinf(v))
        return arena_printf(w->arena, "%s(%sk_inf())", wide ? "(double)" : "", v < 0 ? "-" : "");
    char *s = arena_printf(w->arena, wide ? "%.17g" : "%.9g", v);
    if (!strpbrk(s, ".e")) s = arena_printf(w->arena, "%s.0", s);
    return arena_printf(w->arena, signbit(v) ? "(%s%s)" : "%s%s", s, wide ? "" : "f");
}

const char *const_text(struct emitter *w, const struct value_node *x) {
    return dtype_is_int(x->dtype) ? integer_text(w, x->whole, x->dtype == DT_I64)
                                  : number_text(w, x->number, x->dtype);
}

/* Symbols of subscripts, $0 and on, become what the scope at hand calls their values. */
static const char *name_subscripts(struct emitter *w, const char *text) {
    struct buf b = buf_new(w->arena);
    bool vectors = w->vectors;
    w->vectors = false; /* a subscript is one number for the vector */
    for (const char *s = text; *s;) {
        if (*s != '$') {
            buf_putc(&b, *s++);
            continue;
        }
        char *end;
        uint32_t i = (uint32_t)strtoul(s + 1, &end, 10);
        buf_printf(&b, "(k_idx)%s", ref(w, w->k->subscripts.at[i].value));
        s = end;
    }
    w->vectors = vectors;
    return b.p;
}

const char *ex_text(struct emitter *w, ex e) {
    struct buf b = buf_new(w->arena);
    if (w->x_is) e = ex_subst(w->k->ex, e, &w->k->axis[AXIS_X], &w->x_is, 1);
    if (w->n_is) e = ex_subst(w->k->ex, e, &w->k->axis[AXIS_N], &w->n_is, 1);
    ex_print_c(&b, w->k->ex, e);
    return strchr(b.p, '$') ? name_subscripts(w, b.p) : b.p;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool is_pair(const struct value_node *x) {
    return x->kind == INST_REDUCE && reduction_of_pairs(x->reduction);
}

/* What the reduction has so far is a struct of the prelude's. */
static bool has_state(const struct value_node *x) {
    return x->kind == INST_REDUCE && !is_pair(x) && !reduction_of_values(x->reduction);
}

bool is_row_value(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    return x->mask != 0 || x->level != 0;
}

static const char *scalar_ref(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (w->where[v] == UNIFORM) return arena_printf(w->arena, "v%u", v);
    if (w->where[v] == ARRAY && x->kind == INST_SCAN)
        return arena_printf(w->arena, "a%u%s", v, w->cuda ? "[e][u][v]" : "[l]");
    if (w->where[v] == ARRAY && is_pair(x)) /* on a GPU the number may be a narrow one */
        return arena_printf(w->arena, "(%s)a%u%s.at", math_type(x->dtype), v,
                            is_row_value(w, v) ? w->subscript : "");
    if (w->where[v] == ARRAY && has_state(x))
        return arena_printf(w->arena, "%s_value%s%s(a%u%s)", reduction_operator(x->reduction),
                            w->cuda ? "" : "_", w->cuda ? "" : dtype_name(dtype_opmath(x->dtype)),
                            v, is_row_value(w, v) ? w->subscript : "");
    if (w->where[v] == CHUNK) return arena_printf(w->arena, "b%u%s", v, w->subscript);
    if (w->where[v] == ARRAY)
        return arena_printf(w->arena, "a%u%s", v, is_row_value(w, v) ? w->subscript : "");
    if (x->kind == INST_CONST) return const_text(w, x);
    WS_BUG("v%u is used before it is computed", v);
}

const char *ref(struct emitter *w, value_id v) {
    if (w->where[v] == LOCAL) return arena_printf(w->arena, "v%u", v);
    if (w->vectors && w->y->rows_inner && w->where[v] == ARRAY && is_row_value(w, v))
        return arena_printf(w->arena, "k_load_v(a%u + l)", v);
    const char *s = scalar_ref(w, v);
    return w->vectors ? arena_printf(w->arena, "k_splat(%s)", s) : s;
}

/* The operator's code with $0 $1 $2 and $t replaced. */
static const char *expand_code(struct emitter *w, const char *code, const struct value_node *x) {
    struct buf b = buf_new(w->arena);
    for (const char *s = code; *s; s++) {
        if (*s == '$' && s[1] >= '0' && s[1] < '0' + x->n_args)
            buf_puts(&b, ref(w, x->args[*++s - '0']));
        else if (*s == '$' && s[1] == 't')
            buf_puts(&b, math_type(x->dtype)), s++;
        else
            buf_putc(&b, *s);
    }
    return b.p;
}

static bool is_integer_math(enum dtype t) {
    return dtype_opmath(t) == DT_I32 || dtype_opmath(t) == DT_I64;
}

/* What an integer that overflows is, C and CUDA leave open; these go by way of unsigned ones. */
static const char *wrapping_code(struct emitter *w, const struct value_node *x) {
    const char *name = op_info(x->op)->name;
    if (!op_wraps(x->op)) return NULL;
    return arena_printf(w->arena, x->n_args == 2 ? "k_wrap_%s($0, $1)" : "k_wrap_%s($0)", name);
}

const char *multiply_add_text(struct emitter *w, enum dtype t, const char *sum, const char *a,
                              const char *b) {
    return is_integer_math(t)
               ? arena_printf(w->arena, "%s = k_wrap_add(%s, k_wrap_mul(%s, %s));", sum, sum, a, b)
               : arena_printf(w->arena, "%s += %s * %s;", sum, a, b);
}

/* An integer a, cut off to the bits of a narrow type t. */
static const char *cut_off(struct emitter *w, enum dtype t, const char *a) {
    return dtype_is_narrow(t) ? arena_printf(w->arena, "(%s)%s", memory_type(w, t), a) : a;
}

static const char *cast_text(struct emitter *w, const struct value_node *x) {
    enum dtype from = value_math(w, x->args[0]), to = dtype_opmath(x->dtype);
    const char *a = ref(w, x->args[0]);
    enum dtype stored = w->k->values.at[x->args[0]].dtype; /* as a cast or a load leaves it */
    bool exact = dtype_holds(x->dtype, stored) && stored != x->dtype && dtype_bytes(stored) == 1;
    if (x->rounds && !exact)
        return arena_printf(w->arena, "k_round_%s(%s)", dtype_name(x->dtype), a);
    if (dtype_is_narrow(x->dtype) && !dtype_holds(x->dtype, w->k->values.at[x->args[0]].dtype))
        return cut_off(w, x->dtype,
                       dtype_is_float(from) ? arena_printf(w->arena, "k_int(%s)", a) : a);
    if (from == to)
        return a; /* f32 -> bf16 rounds when it is stored; between fused values it stays f32 */
    if (to == DT_BOOL) return arena_printf(w->arena, "(%s != 0)", a);
    if (is_integer_math(to) && dtype_is_float(from))
        return arena_printf(w->arena, to == DT_I64 ? "k_long(%s)" : "k_int(%s)", a);
    const struct value_node *whole = &w->k->values.at[x->args[0]];
    bool back = whole->kind == INST_CAST && dtype_is_float(to) && !dtype_is_float(from) &&
                dtype_is_float(value_math(w, whole->args[0]));
    if (back && !w->cuda) { /* gcc makes (float)(int)-0.3f a truncation, which is -0 */
        bool doubles = to == DT_F64 || value_math(w, whole->args[0]) == DT_F64;
        return arena_printf(w->arena, "(%s)(%s)%s", math_type(to),
                            doubles ? "long double" : "double", a);
    }
    return arena_printf(w->arena, "(%s)%s", math_type(to), a);
}

/* Has x the digits of a bf16, and no more, as it is stored? What is computed is not rounded. */
static bool is_rounded_bf16(const struct value_node *x) {
    return x->dtype == DT_BF16 && (x->kind == INST_LOAD || (x->kind == INST_CAST && x->rounds));
}

/* exp(a - b) of bf16 a and their maximum b along r; else NULL. */
static const char *exp_below_text(struct emitter *w, const struct value_node *x) {
    const struct value_node *all = w->k->values.at;
    if (!w->cuda || x->op != OP_EXP || x->dtype != DT_F32) return NULL;
    const struct value_node *sub = &all[x->args[0]];
    if (sub->kind != INST_OP || sub->op != OP_SUB) return NULL;
    const struct value_node *a = &all[sub->args[0]], *b = &all[sub->args[1]];
    if (a->kind != INST_CAST || !is_rounded_bf16(&all[a->args[0]])) return NULL;
    if (b->kind != INST_REDUCE || b->reduction != REDUCTION_AMAX) return NULL;
    if (b->args[0] != sub->args[0]) return NULL;
    return arena_printf(w->arena, "k_exp_below(%s, %s)", ref(w, sub->args[0]),
                        ref(w, sub->args[1]));
}

bool asks_if_far(struct emitter *w, value_id v) {
    const double NEAR = 65536; /* as the prelude has it */
    const struct value_node *x = &w->k->values.at[v];
    bool wave = x->kind == INST_OP && (x->op == OP_SIN || x->op == OP_COS);
    if (!w->cuda || !wave || dtype_opmath(x->dtype) != DT_F32) return false;
    if (!w->ranges) w->ranges = kernel_ranges(w->k, w->arena);
    struct interval r = w->ranges[x->args[0]];
    return !(r.lo >= -NEAR && r.hi <= NEAR);
}

/* The sine or cosine of what is known to be near 0, for which nothing asks how far it is, or of
 * what is asked later; else NULL. */
static const char *wave_text(struct emitter *w, value_id v) {
    const double QUARTER = 1.57;
    const struct value_node *x = &w->k->values.at[v];
    bool wave = x->op == OP_SIN || x->op == OP_COS, asks = asks_if_far(w, v);
    if (!w->cuda || !wave || dtype_opmath(x->dtype) != DT_F32 || (asks && !w->far_seen))
        return NULL;
    const char *name = op_info(x->op)->name, *angle = ref(w, x->args[0]);
    if (asks) return arena_printf(w->arena, "k_%s_seen(%s, far)", name, angle);
    struct interval r = w->ranges[x->args[0]];
    bool quarter = x->op == OP_SIN && r.lo >= -QUARTER && r.hi <= QUARTER;
    return arena_printf(w->arena, "k_%s_%s(%s)", name, quarter ? "small" : "near", angle);
}

/* The square root of what is known to be far from 0, of which others ask how small it is; else
 * NULL. */
static const char *root_text(struct emitter *w, const struct value_node *x) {
    const double LEAST = 0x1p-100; /* as the prelude has it */
    if (!w->cuda || x->op != OP_SQRT || dtype_opmath(x->dtype) != DT_F32) return NULL;
    if (!w->ranges) w->ranges = kernel_ranges(w->k, w->arena);
    if (!(w->ranges[x->args[0]].lo >= LEAST)) return NULL;
    return arena_printf(w->arena, "k_sqrt_normal(%s)", ref(w, x->args[0]));
}

const char *value_text(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (layout_lands_always(w->k, w->y, v)) return "1";
    switch (x->kind) {
    case INST_CONST: return const_text(w, x);
    case INST_INDEX:
        return cut_off(
            w, x->dtype,
            arena_printf(w->arena, "(%s)(%s)", math_type(x->dtype), ex_text(w, x->index)));
    case INST_CAST: return cast_text(w, x);
    case INST_SUBSCRIPT:
        return arena_printf(w->arena, "k_subscript(%s, %s)", ref(w, x->args[0]),
                            ex_text(w, x->index));
    case INST_OP: {
        const struct op_info *op = op_info(x->op);
        if (!op->code || !*op->code) {
            diag_fail(w->d, WS_WRONG, "operator %s has no kernel code", op->name);
            return "0";
        }
        const char *below = exp_below_text(w, x);
        if (below) return below;
        const char *wave = wave_text(w, v);
        if (wave) return wave;
        const char *root = root_text(w, x);
        if (root) return root;
        const char *wraps = is_integer_math(x->dtype) ? wrapping_code(w, x) : NULL;
        const char *code = expand_code(w, wraps ? wraps : op->code, x);
        /* True + True is True: C's flag is an int, CUDA's a bool. */
        bool sum = x->dtype == DT_BOOL && op->dtype != RULE_BOOL;
        if (sum && !w->cuda) return arena_printf(w->arena, "(%s) != 0", code);
        return op_keeps_bits(x->op) ? code : cut_off(w, x->dtype, code);
    }
    case INST_LOAD:
    case INST_SCAN:
    case INST_REDUCE: break;
    }
    WS_BUG("v%u is no expression", v);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* What the values of pairs are held in. On CUDA value and number are equally wide: a pair that goes
 * through shared memory has no byte that nobody wrote. */
static enum dtype pair_dtype(const struct emitter *w, value_id v) {
    enum dtype t = value_math(w, w->k->values.at[v].args[0]);
    if (!w->cuda || !w->k->wide_index) return t;
    return t == DT_F32 ? DT_F64 : t == DT_I32 ? DT_I64 : t;
}

static enum dtype pair_number(const struct emitter *w, value_id v) {
    return w->cuda && dtype_bytes(pair_dtype(w, v)) == 4 ? DT_I32 : DT_I64;
}

const char *accumulator_type(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (has_state(x))
        return arena_printf(w->arena, w->cuda ? "%s_state<%s>" : "%s_state_%s",
                            reduction_operator(x->reduction),
                            w->cuda ? math_type(x->dtype) : dtype_name(dtype_opmath(x->dtype)));
    if (!is_pair(x)) return math_type(x->dtype);
    enum dtype t = pair_dtype(w, v);
    return w->cuda ? arena_printf(w->arena, "k_pair<%s, %s>", math_type(t),
                                  math_type(pair_number(w, v)))
                   : arena_printf(w->arena, "k_pair_%s", dtype_name(t));
}

static const char *pair_text(struct emitter *w, value_id v, const char *value, const char *at) {
    return arena_printf(w->arena, w->cuda ? "%s{%s, %s}" : "(%s){%s, %s}", accumulator_type(w, v),
                        value, at);
}

const char *operand_text(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    enum dtype t = is_pair(x) ? pair_dtype(w, v) : x->dtype;
    const char *value = arena_printf(w->arena, "(%s)%s", math_type(t), ref(w, x->args[0]));
    if (has_state(x) && !w->cuda) /* CUDA's operator takes single elements, too */
        return arena_printf(w->arena, "(%s){%s%s}", accumulator_type(w, v), value,
                            x->reduction == REDUCTION_M2 ? ", 0, 1" : ", 1");
    if (!is_pair(x)) return value;
    return pair_text(
        w, v, value,
        arena_printf(w->arena, "(%s)%s", math_type(pair_number(w, v)), ref(w, x->args[1])));
}

const char *combine_text(struct emitter *w, value_id v, const char *a, const char *b) {
    const struct value_node *x = &w->k->values.at[v];
    enum reduction r = x->reduction;
    if (w->cuda) return arena_printf(w->arena, "%s::of(%s, %s)", reduction_operator(r), a, b);
    switch (r) {
    case REDUCTION_SUM:
        if (x->dtype == DT_BOOL) return arena_printf(w->arena, "%s | %s", a, b); /* k_flag is int */
        return arena_printf(w->arena, is_integer_math(x->dtype) ? "k_wrap_add(%s, %s)" : "%s + %s",
                            a, b);
    case REDUCTION_PROD:
        return arena_printf(w->arena, is_integer_math(x->dtype) ? "k_wrap_mul(%s, %s)" : "%s * %s",
                            a, b);
    case REDUCTION_AMAX: return arena_printf(w->arena, "k_max(%s, %s)", a, b);
    case REDUCTION_AMIN: return arena_printf(w->arena, "k_min(%s, %s)", a, b);
    case REDUCTION_M2:
    case REDUCTION_EXPSUM:
        return arena_printf(w->arena, "%s_%s(%s, %s)", reduction_operator(r),
                            dtype_name(dtype_opmath(x->dtype)), a, b);
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN:
        return arena_printf(w->arena, "%s_%s(%s, %s)", reduction_operator(r),
                            dtype_name(pair_dtype(w, v)), a, b);
    case REDUCTION_COUNT: break;
    }
    WS_BUG("no such reduction");
}

/* The least or the largest number of the type. */
static const char *extreme_text(struct emitter *w, bool low, enum dtype t) {
    enum dtype math = dtype_opmath(t);
    if (dtype_is_float(math)) return number_text(w, low ? -INFINITY : INFINITY, t);
    return integer_text(w, low ? int_least(math) : int_most(math), math == DT_I64);
}

const char *identity_text(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    bool low = x->reduction == REDUCTION_AMAX || x->reduction == REDUCTION_ARGMAX;
    switch (x->reduction) {
    case REDUCTION_SUM: return number_text(w, 0, x->dtype);
    case REDUCTION_PROD: return number_text(w, 1, x->dtype);
    case REDUCTION_AMAX:
    case REDUCTION_AMIN: return extreme_text(w, low, x->dtype);
    case REDUCTION_M2:
        return arena_printf(w->arena, w->cuda ? "%s{0, 0, 0, 0}" : "(%s){0, 0, 0}",
                            accumulator_type(w, v));
    case REDUCTION_EXPSUM:
        return arena_printf(w->arena, w->cuda ? "%s{%s, 0}" : "(%s){%s, 0}", accumulator_type(w, v),
                            extreme_text(w, true, x->dtype));
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN: /* an element of that very value comes before it */
        return pair_text(w, v, extreme_text(w, low, pair_dtype(w, v)),
                         extreme_text(w, false, pair_number(w, v)));
    case REDUCTION_COUNT: break;
    }
    WS_BUG("no such reduction");
}

/* ---- statements of one element --------------------------------------------------------------- */

enum dtype buffer_dtype(const struct emitter *w, buffer_id b) {
    return w->k->schedule->loops->buffers.at[b].meta.dtype;
}

/* The sum of the terms in which the depth occurs, or of the others. */
static ex terms_of_depth(struct emitter *w, ex e, bool with) {
    struct exprs *p = w->k->ex;
    if (ex_kind(p, e) == EX_ADD)
        return ex_add(p, terms_of_depth(w, ex_lhs(p, e), with),
                      terms_of_depth(w, ex_rhs(p, e), with));
    bool is_number = ex_is_const(p, e, NULL) || ex_uses(p, e, w->k->axis[AXIS_R]);
    return is_number == with ? e : ex_const(p, 0);
}

/* Two sums, of which the compiler makes an address and a number in the load itself; of one it would
 * make as many addresses as there are loads, for reordered its terms might wrap round. */
static const char *apart_text(struct emitter *w, ex e) {
    return arena_printf(w->arena, "%s) + (%s", ex_text(w, terms_of_depth(w, e, false)),
                        ex_text(w, terms_of_depth(w, e, true)));
}

bool part_changes(const struct emitter *w, buffer_id b) {
    for (uint32_t i = 0; i < w->written.n; i++)
        if (w->written.at[i] == b) return true;
    return false;
}

const char *load_text(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    int arg = argument_of(w, x->buffer);
    const char *at = w->load_at && w->load_at[v] ? w->load_at[v]
                     : w->depth_is_number        ? apart_text(w, x->index)
                                                 : ex_text(w, x->index);
    const char *t = dtype_name(buffer_dtype(w, x->buffer));
    bool changes = w->k->steps ? persistent_changes(w->k, x->buffer) : part_changes(w, x->buffer);
    const char *now = changes ? "_now" : "";
    const char *where = x->guarded ? ref(w, x->args[0]) : w->load_if;
    if (x->guarded && w->load_if) where = arena_printf(w->arena, "%s && %s", w->load_if, where);
    if (w->cuda && where)
        return arena_printf(w->arena, "k_load1_if%s(%s, p%d + (%s))", now, where, arg, at);
    if (w->cuda) return arena_printf(w->arena, "k_load1%s(p%d + (%s))", now, arg, at);
    if (where) return arena_printf(w->arena, "(%s ? k_from_%s(p%d[%s]) : 0)", where, t, arg, at);
    return arena_printf(w->arena, "k_from_%s(p%d[%s])", t, arg, at);
}

void put_store1(struct emitter *w, const struct store_node *s, const char *condition) {
    enum dtype t = buffer_dtype(w, s->buffer);
    int arg = argument_of(w, s->buffer);
    const char *value = arena_printf(w->arena, "(%s)%s", math_type(t), ref(w, s->value));
    const char *known = w->store_at ? w->store_at[s - w->k->stores.at] : NULL;
    const char *at = known ? known : ex_text(w, s->index);
    if (w->cuda)
        line(w, "%sk_store1(p%d + (%s), %s);", condition, arg, at, value);
    else
        line(w, "%sp%d[%s] = k_to_%s(%s);", condition, arg, at, dtype_name(t), value);
}

void put_guarded_store1(struct emitter *w, const struct store_node *s) {
    const char *guard = "";
    if (s->guard) guard = arena_printf(w->arena, "if (%s) ", ex_text(w, s->guard));
    put_store1(w, s, guard);
}

const char *source_text(struct emitter *w, value_id v) {
    return w->k->values.at[v].kind == INST_LOAD ? load_text(w, v) : value_text(w, v);
}

void put_local(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    w->where[v] = NOWHERE;
    if (x->kind == INST_CONST) return;
    line(w, "const %s v%u = %s;", math_type(x->dtype), v, source_text(w, v));
    w->where[v] = LOCAL;
}

void mark_needed(struct emitter *w, value_id v, bool *marks) {
    const struct value_node *x = &w->k->values.at[v];
    if (marks[v]) return;
    marks[v] = true;
    for (int a = 0; a < x->n_args; a++) mark_needed(w, x->args[a], marks);
}

const char *put_expression(struct emitter *w, value_id v) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, v, marks);
    for (value_id i = 0; i <= v; i++)
        if (marks[i]) put_local(w, i);
    return ref(w, v);
}

/* ---- signature ------------------------------------------------------------------------------- */

int argument_of(const struct emitter *w, buffer_id b) {
    buffer_id place = kernel_place_of(w->k, b);
    for (uint32_t i = 0; i < w->k->buffers.n; i++)
        if (w->k->buffers.at[i] == place) return (int)i;
    WS_BUG("buffer is not an argument");
}

static bool is_stored(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].buffer == b) return true;
    return false;
}

void put_parameters(struct emitter *w) {
    const struct loops *l = w->k->schedule->loops;
    for (uint32_t i = 0; i < w->k->buffers.n; i++) {
        buffer_id b = w->k->buffers.at[i];
        const char *t = memory_type(w, l->buffers.at[b].meta.dtype);
        bool stored = is_stored(w->k, b);
        if (!w->cuda && kernel_place_of(w->k, b) != b) continue; /* another's name stands for it */
        if (w->cuda)
            buf_printf(&w->b, "%s%s%s *__restrict__ p%u", i ? ", " : "", stored ? "" : "const ", t,
                       i);
        else
            line(w, "%s%s *restrict p%u = *(%s%s *const *)args[%u];", stored ? "" : "const ", t, i,
                 stored ? "" : "const ", t, i);
    }
    for (uint32_t i = 0; i < w->k->sizes.n; i++) {
        const char *name = ex_text(w, w->k->sizes.at[i]);
        if (w->cuda)
            buf_printf(&w->b, ", long long %s", name);
        else
            line(w, "const long long %s = *(const long long *)args[%u];", name,
                 w->k->buffers.n + i);
    }
}

void add_arguments(struct emitter *w, struct ws_launch *l) {
    l->n_args = 0;
    WS_ASSERT(w->k->buffers.n + w->k->sizes.n + 4 <= WS_MAX_ARGS);
    for (uint32_t i = 0; i < w->k->buffers.n; i++)
        l->args[l->n_args++] =
            (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)w->k->buffers.at[i]};
    for (uint32_t i = 0; i < w->k->sizes.n; i++)
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_SIZE,
                                               .value = ex_hint(w->k->ex, w->k->sizes.at[i]),
                                               .expr = w->k->sizes.at[i]};
}

int64_t add_partial(struct emitter *w, struct ws_launch *l, value_id reduction, int64_t offset) {
    WS_ASSERT(l->n_args < WS_MAX_ARGS);
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = offset};
    return offset + (int64_t)partial_bytes(w->k, w->y, reduction);
}

/* Binary digits of the outputs, where all have few: the prelude then takes cheaper functions. Else
 * 0. */
static int output_digits(const struct emitter *w) {
    int digits = 0;
    for (uint32_t i = 0; i < w->k->stores.n; i++) {
        enum dtype t = buffer_dtype(w, w->k->stores.at[i].buffer);
        if (!dtype_is_float(t) || dtype_bytes(t) != 2) return 0;
        if (digits < dtype_digits(t)) digits = dtype_digits(t);
    }
    return digits;
}

/* Is what is made of waves made by sums, products and choices alone? The cosine's error is little
 * beside 1, but not beside a cosine near 0: not in 1 / cos(x), floor(cos(x)) or log(cos(x)). */
static bool waves_stay_small(const struct emitter *w) {
    const struct kernel *k = w->k;
    bool *wave = NEW_ARRAY(w->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        bool op = x->kind == INST_OP, own = op && (x->op == OP_SIN || x->op == OP_COS), of = false;
        for (int a = 0; a < x->n_args; a++) of |= wave[x->args[a]];
        bool sum = op && (x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL || x->op == OP_NEG),
             choice = op && x->op == OP_WHERE && !wave[x->args[0]],
             quotient = op && x->op == OP_DIV && !wave[x->args[1]],
             cast = x->kind == INST_CAST && dtype_is_float(x->dtype),
             adds = x->kind == INST_REDUCE && x->reduction == REDUCTION_SUM;
        if (of && !sum && !choice && !quotient && !cast && !adds && !own) return false;
        wave[v] = of || own;
    }
    return true;
}

/* Are functions better called than written out for each of a thread's elements? NVRTC takes some
 * 0.1 ms for an instruction, a C compiler five times that, and some ms for a function's slow path:
 * so a thread of few elements counts as one of four (rows_call_maths). Two of a core's vectors are
 * side by side, and what is left of a row. */
static bool is_large(const struct emitter *w) {
    enum { MOST = 4096, MOST_OF_C = 512 };
    const struct layout *y = w->y;
    const int *knob = w->p->config.knob;
    int64_t size = kernel_size_of_element(w->k);
    if (!w->cuda) return size > MOST_OF_C;
    bool dot = w->k->kind == KERNEL_MATMUL;
    if (y->chained || y->persistent || y->recurrent) return false;
    if (y->product) return product_calls_maths(w->k, y->product);
    if (dot) return size * knob[KNOB_tm] * knob[KNOB_tn] > MOST;
    return rows_call_maths(w->k, y);
}

/* What the text behind it uses of a prelude; `calls`: is_large; digits: output_digits; small:
 * waves_stay_small. */
static const char *header_of(const struct emitter *w, const char *text, bool calls, int digits,
                             bool small) {
    struct buf b = buf_new(w->arena);
    if (calls) buf_puts(&b, "#define K_LARGE\n");
    if (digits) buf_printf(&b, "#define K_OUTPUT_DIGITS %d\n", digits);
    if (digits && !small) buf_puts(&b, "#define K_FULL_WAVES\n");
    buf_puts(&b, prelude_parts(w->arena, w->cuda, text));
    return b.p;
}

static const char *header(struct emitter *w, const char *text) {
    return header_of(w, text, is_large(w), output_digits(w), waves_stay_small(w));
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* The largest that an edge's sum is at depth 0 in a tile, as kernel/edges.c has it. */
static const char *highest_text(struct emitter *w, const struct edge *e, const char *m0,
                                int64_t rows, const char *n0, int64_t columns) {
    struct buf b = buf_new(w->arena);
    const char *const first[] = {[AXIS_Z] = "z", [AXIS_M] = m0, [AXIS_N] = n0};
    int64_t number = e->first;
    if (e->by[AXIS_M] > 0) number += e->by[AXIS_M] * (rows - 1);
    if (e->by[AXIS_N] > 0) number += e->by[AXIS_N] * (columns - 1);
    buf_printf(&b, "%lld", (long long)number);
    for (int a = AXIS_Z; a <= AXIS_N; a++) {
        int64_t by = e->by[a];
        if (by) buf_printf(&b, by < 0 ? " - %s" : " + %s", first[a]);
        if (by && llabs(by) > 1) buf_printf(&b, " * %lld", (long long)llabs(by));
    }
    return b.p;
}

void put_depth_range(struct emitter *w, const char *type, const char *m0, int64_t rows,
                     const char *n0, int64_t columns, const char *depth) {
    line(w, "%s r_from = 0, r_end = %s;", type, depth);
    for (uint32_t i = 0; i < w->k->edges.n; i++) {
        const struct edge *e = &w->k->edges.at[i];
        long long by = (long long)e->by[AXIS_R];
        open_scope(w);
        line(w, "const %s top = %s;", type, highest_text(w, e, m0, rows, n0, columns));
        if (by > 0) {
            line(w, "if (top < 0 && r_from < (%lld - top) / %lld) r_from = (%lld - top) / %lld;",
                 by - 1, by, by - 1, by);
        } else {
            line(w, "if (top < 0) r_end = 0;");
            if (by) line(w, "else if (top / %lld + 1 < r_end) r_end = top / %lld + 1;", -by, -by);
        }
        close_brace(w);
    }
    line(w, "(void)r_from;");
}

static void begin(struct emitter *w) {
    line(w, "/* ---- kernel text "
            "----------------------------------------------------------------------------- */\n");
    struct buf c = buf_new(w->arena);
    config_print(&c, &w->p->config);
    line(w, "/* config %s */", c.p);
    line(w, "typedef %s k_idx;", w->k->wide_index ? "long long" : "int");
}

/* ---- entry ----------------------------------------------------------------------------------- */

static struct emitter emitter_of(const struct block *p, struct arena *a, struct ws_source *out,
                                 struct diag *d) {
    struct emitter w = {.arena = a,
                        .b = buf_new(a),
                        .p = p,
                        .k = p->kernel,
                        .y = &p->layout,
                        .out = out,
                        .d = d,
                        .cuda = p->kernel->limits->kind == DEVICE_CUDA,
                        .subscript = ""};
    w.where = NEW_ARRAY(a, uint8_t, p->kernel->values.n);
    w.forms = NEW_ARRAY(a, uint8_t, p->kernel->values.n);
    w.by_lanes = NEW_ARRAY(a, uint8_t, p->kernel->values.n);
    return w;
}

bool emit_source(const struct block *p, struct arena *a, struct ws_source *out, struct diag *d) {
    struct buf text = buf_new(a);
    block_print(&text, p);
    *out = (struct ws_source){.block = text.p,
                              .launches = NEW_ARRAY(a, struct ws_launch, WS_MAX_LAUNCHES),
                              .workspace = p->workspace,
                              .tickets = p->tickets};
    struct emitter w = emitter_of(p, a, out, d);
    begin(&w);
    bool dot = p->kernel->kind == KERNEL_MATMUL;
    if (p->layout.chained)
        emit_cuda_chained(&w);
    else if (p->layout.persistent)
        emit_cuda_persistent(&w);
    else if (p->layout.recurrent)
        (w.cuda ? emit_cuda_recurrence : emit_c_recurrence)(&w);
    else if (p->kernel->kind == KERNEL_SORT)
        emit_cuda_sort(&w);
    else if (w.cuda)
        (p->layout.product ? emit_cuda_mma : dot ? emit_cuda_matmul : emit_cuda_rows)(&w);
    else
        (dot ? emit_c_matmul : emit_c_rows)(&w);
    out->text = arena_printf(a, "%s\n%s", header(&w, w.b.p), w.b.p);
    return d->status == WS_OK;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* Its buffers are those of all parts, each once. */
static void add_buffers(const struct kernel *k, buffer_vec *all, struct arena *a) {
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        bool there = false;
        for (uint32_t j = 0; j < all->n; j++) there |= all->at[j] == k->buffers.at[i];
        if (!there) vec_push(a, all, k->buffers.at[i]);
    }
}

static int place_of(const buffer_vec *all, buffer_id b) {
    int i = 0;
    while (all->at[i] != b) i++;
    return i;
}

static void call_part(struct emitter *w, const struct block *p, const buffer_vec *all,
                      const char *name, const char *turn) {
    struct buf call = buf_new(w->arena);
    for (uint32_t i = 0; i < p->kernel->buffers.n; i++)
        buf_printf(&call, "p%d, ", place_of(all, p->kernel->buffers.at[i]));
    line(w, "%s(%s%s);", name, call.p, turn);
}

/* All blocks of a part, between which threads may still need what they share. */
static void put_in_turn(struct emitter *w, const struct block *p, const buffer_vec *all,
                        const char *name) {
    bool loops = p->grid > 1;
    if (loops) open_brace(w, "for (int turn = 0; turn < %lld; turn++)", (long long)p->grid);
    if (loops && p->layout.smem) line(w, "if (turn) __syncthreads();");
    call_part(w, p, all, name, loops ? "turn" : "0");
    if (loops) close_brace(w);
}

/* One block of a part, whose first is block `from` of the launch. */
static void put_beside(struct emitter *w, const struct block *p, const buffer_vec *all,
                       const char *name, int64_t from) {
    long long end = from + p->grid;
    open_brace(w, "%sif (blockIdx.x < %lldu)", from ? "else " : "", end);
    call_part(w, p, all, name, arena_printf(w->arena, "(k_idx)blockIdx.x - %lld", (long long)from));
    close_brace(w);
}

/* Its own kernel: what parts write others read, so no parameter is `const`, or `__restrict__`. */
static void put_sequence(struct emitter *w, const struct block *const *parts, int n, bool beside,
                         const buffer_vec *all, const char *const *names) {
    struct ws_launch *l = &w->out->launches[0];
    int64_t from = 0;
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", l->threads,
               l->entry);
    for (uint32_t i = 0; i < all->n; i++) {
        enum dtype t = buffer_dtype(w, all->at[i]);
        buf_printf(&w->b, "%s%s *p%u", i ? ", " : "", memory_type(w, t), i);
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_BUFFER, .buffer = (int)all->at[i]};
    }
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "k_enter();");
    for (int i = 0; i < n; i++) {
        if (i && !beside) line(w, "__syncthreads(); /* what part %d has stored is seen */", i - 1);
        if (beside)
            put_beside(w, parts[i], all, names[i], from);
        else
            put_in_turn(w, parts[i], all, names[i]);
        from += parts[i]->grid;
    }
    if (beside) l->grid[0] = from;
    close_brace(w);
}

bool emit_sequence(const struct block *const *parts, int n, bool beside, const struct config *c,
                   struct arena *a, struct ws_source *out, struct diag *d) {
    struct buf printed = buf_new(a), text = buf_new(a);
    const char **names = NEW_ARRAY(a, const char *, n);
    buffer_vec all = {0}, written = {0};
    bool calls = false;
    int digits = 0;
    bool full = false, small = true;
    *out = (struct ws_source){.launches = NEW_ARRAY(a, struct ws_launch, WS_MAX_LAUNCHES),
                              .n_launches = 1};
    out->launches[0] = (struct ws_launch){
        .entry = parts[0]->kernel->entry, .grid = {1, 1, 1}, .threads = parts[0]->layout.threads};
    struct emitter whole = emitter_of(parts[0], a, out, d);
    struct block shown = *parts[0];
    shown.config = *c;
    whole.p = &shown;
    begin(&whole);
    for (int i = 0; i < n && d->status == WS_OK; i++) {
        struct emitter w = emitter_of(parts[i], a, out, d);
        WS_ASSERT(parts[i]->layout.threads == out->launches[0].threads && !parts[i]->workspace);
        names[i] = w.part = arena_printf(a, "k_part_%d", i);
        if (!beside) w.written = written;
        buf_printf(&printed, "%spart %d: ", i ? "\n" : "", i);
        block_print(&printed, parts[i]);
        add_buffers(parts[i]->kernel, &all, a);
        emit_cuda_part(&w);
        for (uint32_t j = 0; j < parts[i]->kernel->stores.n; j++)
            vec_push(a, &written, parts[i]->kernel->stores.at[j].buffer);
        buf_puts(&text, w.b.p);
        calls |= is_large(&w);
        int own = output_digits(&w);
        small &= waves_stay_small(&w);
        full |= !own;
        if (own > digits) digits = own;
    }
    buf_puts(&whole.b, text.p);
    put_sequence(&whole, parts, n, beside, &all, names);
    out->block = printed.p;
    out->text = arena_printf(
        a, "%s\n%s", header_of(&whole, whole.b.p, calls, full ? 0 : digits, small), whole.b.p);
    return d->status == WS_OK;
}

/* eval_int.c: the reference on integers: 64 bits, of which a result keeps those of its type.
 *
 *   i32:  mul(2147483647, 2147483647) = 4611686014132420609, whose low 32 bits are 1
 *
 * Arithmetic wraps, so the bits kept are those that maths in the type itself would have
 * (ref_maths.h). Each operator that has integers at all has a row here; others get doubles. */
#include <math.h>

#include "graph/eval.h"
#include "graph/eval_text.h"

/* ---- types ----------------------------------------------------------------------------------- */

double double_of_int(enum dtype d, int64_t v) {
    double exact = dtype_opmath(d) == DT_F32 ? (double)(float)v : (double)v;
    return value_round(d, exact);
}

struct number number_of_arg(const struct graph *g, const struct arg *a, enum dtype d) {
    double v = arg_number(g, a);
    if (dtype_is_float(d)) return (struct number){.v = v};
    return (struct number){.w = a->kind == ARG_INT ? int_wrap(d, ex_value(g->ex, a->i))
                                                   : int_of_double(d, v)};
}

struct number number_nearest(const struct graph *g, const struct arg *a, enum dtype d) {
    struct number x = number_of_arg(g, a, d);
    if (!dtype_is_int(d) || a->kind != ARG_INT) return x;
    int64_t v = ex_value(g->ex, a->i);
    x.w = v < int_least(d) ? int_least(d) : v > int_most(d) ? int_most(d) : v;
    return x;
}

/* ---- operators: a, b, c, d as in ops.def ---------------------------------------------------- */

#define INTS(INT)                                                                                  \
    INT(ADD, int_add(a, int_mul(c, b)))                                                            \
    INT(SUB, int_sub(a, int_mul(c, b)))                                                            \
    INT(MUL, int_mul(a, b))                                                                        \
    INT(POW, int_power(a, b))                                                                      \
    INT(NEG, int_sub(0, a))                                                                        \
    INT(ABS, a < 0 ? int_sub(0, a) : a)                                                            \
    INT(SIGN, (a > 0) - (a < 0))                                                                   \
    INT(SQUARE, int_mul(a, a))                                                                     \
    INT(ADDCMUL, int_add(a, int_mul(d, int_mul(b, c))))                                            \
    INT(FLOOR, a)                                                                                  \
    INT(CEIL, a)                                                                                   \
    INT(ROUND, a)                                                                                  \
    INT(TRUNC, a)                                                                                  \
    INT(FMOD, int_rest(a, b))                                                                      \
    INT(REMAINDER, int_is_below(a, b) ? int_add(int_rest(a, b), b) : int_rest(a, b))               \
    INT(FLOOR_DIVIDE, int_is_below(a, b) ? int_sub(int_quotient(a, b), 1) : int_quotient(a, b))    \
    INT(MAXIMUM, int_larger(a, b))                                                                 \
    INT(MINIMUM, int_smaller(a, b))                                                                \
    INT(FMAX, int_larger(a, b))                                                                    \
    INT(FMIN, int_smaller(a, b))                                                                   \
    INT(CLAMP_MIN, int_larger(a, b))                                                               \
    INT(CLAMP_MAX, int_smaller(a, b))                                                              \
    INT(RELU, int_larger(a, 0))                                                                    \
    INT(RELU6, int_smaller(int_larger(a, 0), 6))                                                   \
    INT(THRESHOLD, a <= b ? c : a)                                                                 \
    INT(EQ, a == b)                                                                                \
    INT(NE, a != b)                                                                                \
    INT(LT, a < b)                                                                                 \
    INT(LE, a <= b)                                                                                \
    INT(GT, a > b)                                                                                 \
    INT(GE, a >= b)                                                                                \
    INT(ISNAN, 0)                                                                                  \
    INT(ISINF, 0)                                                                                  \
    INT(ISFINITE, 1)                                                                               \
    INT(WHERE, a ? b : c)                                                                          \
    INT(MASKED_FILL, b ? c : a)                                                                    \
    INT(SET_DATA, b)                                                                               \
    INT(LOGICAL_AND, a &&b)                                                                        \
    INT(LOGICAL_OR, a || b)                                                                        \
    INT(LOGICAL_XOR, !a != !b)                                                                     \
    INT(LOGICAL_NOT, !a)                                                                           \
    INT(BITWISE_AND, a &b)                                                                         \
    INT(BITWISE_OR, a | b)                                                                         \
    INT(BITWISE_XOR, a ^ b)                                                                        \
    INT(SHIFT_LEFT, int_left(a, b))                                                                \
    INT(SHIFT_RIGHT, int_right(a, b))                                                              \
    INT(CAST, a)                                                                                   \
    INT(CONVERT, a)

/* The same as texts, before what they call is a macro's. */
static const char *const texts[OP_COUNT] = {
#define INT(id, ref) [OP_##id] = #ref,
    INTS(INT)
#undef INT
};

const char *eval_int_text(enum op op) { return texts[op]; }

#define INT(id, ref)                                                                               \
    static int64_t ref_##id(int64_t a, int64_t b, int64_t c, int64_t d) { return ref; }
INTS(INT)
#undef INT

static int_ref *const refs[OP_COUNT] = {
#define INT(id, ref) [OP_##id] = ref_##id,
    INTS(INT)
#undef INT
};

int_ref *eval_int_ref(enum op op) { return refs[op]; }

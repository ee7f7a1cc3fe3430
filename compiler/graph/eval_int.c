/* eval_int.c: the reference on integers: 64 bits, of which a result keeps those of its type.
 *
 *   i32:  mul(2147483647, 2147483647) = 4611686014132420609, whose low 32 bits are 1
 *
 * Arithmetic wraps, so the bits kept are those that maths in the type itself would have. Division
 * by zero yields 0, and the least integer divided by -1 is itself. A shift by a count out of range
 * leaves no bit of what goes to the left, and the sign of what goes to the right. Each operator
 * that has integers at all has a row here; others get doubles. */
#include <math.h>

#include "graph/eval.h"

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

/* ---- arithmetic ------------------------------------------------------------------------------ */

int64_t int_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
int64_t int_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static int64_t sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

static int64_t quotient(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? sub(0, a) : a / b; }
static int64_t rest(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static bool is_below(int64_t a, int64_t b) { return rest(a, b) != 0 && (a < 0) != (b < 0); }

/* Of a negative exponent what is whole: 1 and -1 alone have a reciprocal. */
static int64_t power(int64_t a, int64_t b) {
    int64_t r = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    for (; b; b >>= 1, a = int_mul(a, a))
        if (b & 1) r = int_mul(r, a);
    return r;
}

static int64_t left(int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
static int64_t right(int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- operators: a, b, c, d, e as in ops.def -------------------------------------------------- */

#define INTS(INT)                                                                                  \
    INT(ADD, int_add(a, int_mul(c, b)))                                                            \
    INT(SUB, sub(a, int_mul(c, b)))                                                                \
    INT(MUL, int_mul(a, b))                                                                        \
    INT(POW, power(a, b))                                                                          \
    INT(NEG, sub(0, a))                                                                            \
    INT(ABS, a < 0 ? sub(0, a) : a)                                                                \
    INT(SIGN, (a > 0) - (a < 0))                                                                   \
    INT(SQUARE, int_mul(a, a))                                                                     \
    INT(ADDCMUL, int_add(a, int_mul(d, int_mul(b, c))))                                            \
    INT(FLOOR, a)                                                                                  \
    INT(CEIL, a)                                                                                   \
    INT(ROUND, a)                                                                                  \
    INT(TRUNC, a)                                                                                  \
    INT(FMOD, rest(a, b))                                                                          \
    INT(REMAINDER, is_below(a, b) ? int_add(rest(a, b), b) : rest(a, b))                           \
    INT(FLOOR_DIVIDE, is_below(a, b) ? sub(quotient(a, b), 1) : quotient(a, b))                    \
    INT(MAXIMUM, most(a, b))                                                                       \
    INT(MINIMUM, least(a, b))                                                                      \
    INT(FMAX, most(a, b))                                                                          \
    INT(FMIN, least(a, b))                                                                         \
    INT(CLAMP_MIN, most(a, b))                                                                     \
    INT(CLAMP_MAX, least(a, b))                                                                    \
    INT(RELU, most(a, 0))                                                                          \
    INT(RELU6, least(most(a, 0), 6))                                                               \
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
    INT(SHIFT_LEFT, left(a, b))                                                                    \
    INT(SHIFT_RIGHT, right(a, b))                                                                  \
    INT(CAST, a)                                                                                   \
    INT(CONVERT, a)

#define INT(id, ref)                                                                               \
    static int64_t ref_##id(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e) { return ref; }
INTS(INT)
#undef INT

static int_ref *const refs[OP_COUNT] = {
#define INT(id, ref) [OP_##id] = ref_##id,
    INTS(INT)
#undef INT
};

int_ref *eval_int_ref(enum op op) { return refs[op]; }

/* traits.c: the traits column of ops.def, and what follows from it.
 *
 *   CALLS | VECTOR | RANGE(MAGNITUDE)
 *   -> a bit each, and the number of RANGE_MAGNITUDE in bits of its own */
#include "graph/traits.h"

#include "graph/eval.h"

enum {
    EXPENSIVE = 1 << 0,
    CALLS = 1 << 1,
    VECTOR = 1 << 2,
    RANDOM = 1 << 3,
    MONOTONE = 1 << 4,
    KEEPS_BITS = 1 << 5,
    WRAPS = 1 << 6,
    FOLDS = 1 << 7,
    CUTS = 1 << 8,
    SAME_ELEMENTS = 1 << 9,
    RESHAPES = 1 << 10,
    LIKE = 1 << 11,
    ENDS_GRADIENT = 1 << 12,
    EXACT = 1 << 13,
    CHOOSES = 1 << 14,
    LANDS = 1 << 15,
};

/* How the range of results follows from those of the operands. */
enum range_rule {
    RANGE_ANY,        /* nothing is known */
    RANGE_ENDS,       /* from the result of the least operands to that of the largest */
    RANGE_DIFFERENCE, /* a - b */
    RANGE_PRODUCT,
    RANGE_NEGATIVE,
    RANGE_MAGNITUDE,
    RANGE_CHOICE, /* b or c */
    RANGE_QUOTIENT,
    RANGE_REMAINDER,
    RANGE_WAVE, /* -1 to 1 */
    RANGE_COUNT
};

enum { FLAGS = 16, FIELD = 4, FIELD_MOST = (1 << FIELD) - 1 };
_Static_assert(LANDS < 1 << FLAGS, "flags and fields share 32 bits");
_Static_assert(RANGE_COUNT <= FIELD_MOST + 1 && INDEX_COUNT <= FIELD_MOST + 1 &&
                   FOLD_COUNT <= FIELD_MOST + 1 && TAKES_COUNT <= FIELD_MOST + 1,
               "each field has 16 values");
enum {
    RANGE_AT = FLAGS,
    INDEX_AT = FLAGS + FIELD,
    FOLD_AT = FLAGS + 2 * FIELD,
    TAKES_AT = FLAGS + 3 * FIELD
};

static const uint32_t traits[OP_COUNT] = {
#define RANGE(x) (uint32_t) RANGE_##x << RANGE_AT
#define INDEX(x) (uint32_t) INDEX_##x << INDEX_AT
#define REDUCES(x) (uint32_t) FOLD_##x << FOLD_AT
#define TAKES(x) (uint32_t) TAKES_##x << TAKES_AT
#define OP(id, name, class, schema, dtype, ref, code, traits, python) [OP_##id] = traits,
#include "graph/ops.def"
#undef OP
};

static bool has(enum op op, uint32_t any) { return (traits[op] & any) != 0; }
static uint32_t field(enum op op, int at) { return traits[op] >> at & FIELD_MOST; }

/* ---- is it ----------------------------------------------------------------------------------- */

bool op_is_expensive(enum op op) { return has(op, EXPENSIVE); }
bool op_calls(enum op op) { return has(op, CALLS | EXPENSIVE); }
bool op_takes_vectors(enum op op) { return has(op, VECTOR); }
bool op_convolves(enum op op) { return op == OP_CONVOLVE || op == OP_CONVOLVE_PHASES; }

bool op_is_random(enum op op) { return has(op, RANDOM); }
bool op_is_monotone(enum op op) { return has(op, MONOTONE); }
bool op_keeps_bits(enum op op) { return has(op, KEEPS_BITS); }
bool op_wraps(enum op op) { return has(op, WRAPS); }
bool op_divides(enum op op) { return op_takes(op) == TAKES_QUOTIENT; }
bool op_is_exact(enum op op) { return has(op, EXACT); }
bool op_chooses(enum op op) { return has(op, CHOOSES); }
bool op_lands(enum op op) { return has(op, LANDS); }
bool op_folds(enum op op) { return has(op, FOLDS); }
bool op_cuts_numbers(enum op op) { return has(op, CUTS) || op_info(op)->dtype == RULE_BOOL; }
bool op_keeps_elements(enum op op) { return has(op, SAME_ELEMENTS); }
bool op_only_reshapes(enum op op) { return has(op, RESHAPES); }
bool op_is_like(enum op op) { return has(op, LIKE); }
bool op_ends_gradient(enum op op) { return has(op, LIKE | ENDS_GRADIENT); }

/* ---- which ----------------------------------------------------------------------------------- */

enum op_index op_index(enum op op) { return (enum op_index)field(op, INDEX_AT); }
bool op_compares(enum op op) { return op_index(op) >= INDEX_EQ && op_index(op) <= INDEX_GE; }
enum op_fold op_fold(enum op op) { return (enum op_fold)field(op, FOLD_AT); }
enum op_takes op_takes(enum op op) { return (enum op_takes)field(op, TAKES_AT); }
int op_first_number(enum op op) { return op_takes(op) == TAKES_CHOICE ? 1 : 0; }

/* C's quotients are those rounded down where the operands are not negative. */
static bool divides(const struct exprs *p, ex a, ex b) {
    int64_t lo, hi, by;
    ex_range(p, a, &lo, &hi);
    return lo >= 0 && ex_is_const(p, b, &by) && by >= 1;
}

bool op_of_indices(struct exprs *p, enum op op, ex a, ex b, ex *out) {
    switch (op_index(op)) {
    case INDEX_ADD: return *out = ex_add(p, a, b), true;
    case INDEX_SUB: return *out = ex_sub(p, a, b), true;
    case INDEX_MUL: return ex_mul_fits(p, a, b) && (*out = ex_mul(p, a, b), true);
    case INDEX_DIV: return divides(p, a, b) && (*out = ex_div(p, a, b), true);
    case INDEX_MOD: return divides(p, a, b) && (*out = ex_mod(p, a, b), true);
    case INDEX_MIN: return *out = ex_min(p, a, b), true;
    case INDEX_MAX: return *out = ex_max(p, a, b), true;
    case INDEX_EQ: return *out = ex_compare(p, EX_EQ, a, b), true;
    case INDEX_NE: return *out = ex_compare(p, EX_NE, a, b), true;
    case INDEX_LT: return *out = ex_compare(p, EX_LT, a, b), true;
    case INDEX_LE: return *out = ex_compare(p, EX_LE, a, b), true;
    case INDEX_GT: return *out = ex_compare(p, EX_LT, b, a), true;
    case INDEX_GE: return *out = ex_compare(p, EX_LE, b, a), true;
    case INDEX_NONE:
    case INDEX_COUNT: break;
    }
    return false;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

bool interval_is_known(struct interval r) { return r.lo > -INFINITY && r.hi < INFINITY; }

/* The result of the operands' least or largest numbers. */
static double at_end(enum op op, const struct interval *a, bool largest) {
    double x[5] = {1, 1, 1, 1, 1}; /* alpha is 1 */
    for (int i = 0; i < op_info(op)->n_params; i++) {
        char kind = op_info(op)->params[i].kind;
        if (kind == 'T' || kind == '|') x[i] = largest ? a[i].hi : a[i].lo;
    }
    return eval_ref(op, x);
}

static struct interval product(struct interval a, struct interval b) {
    double p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    struct interval r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) r.lo = fmin(r.lo, p[i]), r.hi = fmax(r.hi, p[i]);
    return interval_is_known(a) && interval_is_known(b) ? r : INTERVAL_ANY;
}

struct interval op_range(enum op op, const struct interval *a, enum dtype t) {
    bool whole = !dtype_is_float(t); /* quotients: by a positive number, one of the whole ones */
    switch ((enum range_rule)field(op, RANGE_AT)) {
    case RANGE_ENDS: return (struct interval){at_end(op, a, false), at_end(op, a, true)};
    case RANGE_DIFFERENCE: return (struct interval){a[0].lo - a[1].hi, a[0].hi - a[1].lo};
    case RANGE_PRODUCT: return product(a[0], a[1]);
    case RANGE_NEGATIVE: return (struct interval){-a[0].hi, -a[0].lo};
    case RANGE_MAGNITUDE:
        return (struct interval){fmax(0, fmax(a[0].lo, -a[0].hi)), fmax(-a[0].lo, a[0].hi)};
    case RANGE_CHOICE: return (struct interval){fmin(a[1].lo, a[2].lo), fmax(a[1].hi, a[2].hi)};
    case RANGE_QUOTIENT:
        if (!whole || a[1].lo != a[1].hi || a[1].lo < 1) break;
        return (struct interval){floor(a[0].lo / a[1].lo), floor(a[0].hi / a[1].lo)};
    case RANGE_REMAINDER:
        if (!whole || a[1].lo != a[1].hi || a[1].lo < 1) break;
        return (struct interval){0, a[1].lo - 1};
    case RANGE_WAVE: return (struct interval){-1, 1};
    case RANGE_ANY:
    case RANGE_COUNT: break;
    }
    return INTERVAL_ANY;
}

/* ---- the operators of a class ---------------------------------------------------------------- */

static enum op of_class(enum op op, enum op_class class) {
    if (op_info(op)->class != class) WS_BUG("%s is of another class", op_info(op)->name);
    return op;
}

enum op_view op_view(enum op op) { return (enum op_view)of_class(op, VIEW); }
enum op_move op_move(enum op op) { return (enum op_move)of_class(op, MOVE); }
enum op_create op_create(enum op op) { return (enum op_create)of_class(op, CREATE); }

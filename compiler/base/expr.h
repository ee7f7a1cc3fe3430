/* expr.h: symbolic integers. Sizes, strides, index expressions, loop ranges, guards, launch grids
 * and memory plans are all built from these; a static shape is the case where everything folds to
 * constants.
 *
 * An ex (32-bit id) names an immutable, hash-consed node in a pool: equal expressions have equal
 * ids.
 *
 * Invariants (kept by the constructors):
 *   E1  a sum is a sorted list of terms  c1*t1 + c2*t2 + ... + c0  with distinct non-constant t's,
 *       no zero c's;
 *   E2  a term's factors are sorted and contain at most one constant;
 *   E3  constants are folded; x/1, x%1, 0*x, min(x,x) do not exist;
 *   E4  division is floor division and the divisor is positive; mod has the sign of the divisor;
 *   E5  no number wraps round: see ex_escape.
 *
 * Symbols are sizes (s0, s1: known >= lo, with a hint used only for heuristics) or loop indices
 * (0 <= i < bound). */
#ifndef WS_BASE_EXPR_H
#define WS_BASE_EXPR_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

typedef uint32_t ex;
enum { EX_NONE = 0 }; /* never a valid expression */

enum ex_kind {
    EX_CONST, /* value */
    EX_SYM,   /* value = symbol index */
    EX_ADD,
    EX_MUL,
    EX_DIV, /* floor(a / b) */
    EX_MOD,
    EX_MIN,
    EX_MAX,
    EX_EQ, /* comparisons are 0 or 1; used in guards and masks */
    EX_NE,
    EX_LT,
    EX_LE,
    EX_AND,
};

struct ex_symbol {
    const char *name;
    int64_t lo, hi; /* inclusive range; hi INT64_MAX = unknown */
    int64_t hint;   /* a likely value: the size seen at capture; 0 for loop indices */
    ex bound;       /* loop index: 0 <= sym < bound. EX_NONE for sizes */
};

struct exprs; /* the pool */

struct exprs *exprs_new(struct arena *a);

/* A number that has no 64 bits, or more terms than an expression can hold. The nearest expression
 * is made in its place and the pool remembers, or if it has an escape calls that, which may not
 * come back. why is for the user: a line, or if it ends in a newline a whole message with its
 * place. */
struct ex_escape {
    void (*leave)(void *ctx, const char *why); /* NULL: none */
    void *ctx;
};
struct ex_escape ex_set_escape(struct exprs *p, struct ex_escape e); /* what it had */
bool ex_overflowed(struct exprs *p);                                 /* since it was asked last */
void ex_overflow(struct exprs *p, const char *why); /* why: for the user, if there is an escape */

ex ex_const(struct exprs *p, int64_t v);
ex ex_size(struct exprs *p, const char *name, int64_t lo, int64_t hint); /* a new size symbol */
ex ex_index(struct exprs *p, const char *name, ex bound);                /* a new loop index */

ex ex_add(struct exprs *p, ex a, ex b);
ex ex_sub(struct exprs *p, ex a, ex b);
ex ex_mul(struct exprs *p, ex a, ex b);
ex ex_div(struct exprs *p, ex a, ex b);
ex ex_mod(struct exprs *p, ex a, ex b);
ex ex_ceildiv(struct exprs *p, ex a, ex b);
ex ex_min(struct exprs *p, ex a, ex b);
ex ex_max(struct exprs *p, ex a, ex b);
ex ex_compare(struct exprs *p, enum ex_kind k, ex a, ex b); /* EX_EQ .. EX_LE */
ex ex_and(struct exprs *p, ex a, ex b);

enum ex_kind ex_kind(const struct exprs *p, ex e);
ex ex_lhs(const struct exprs *p, ex e); /* operands of a binary node */
ex ex_rhs(const struct exprs *p, ex e);
const struct ex_symbol *ex_symbol(const struct exprs *p, ex e); /* e is EX_SYM */

bool ex_is_const(const struct exprs *p, ex e, int64_t *v); /* v may be NULL */
int64_t ex_value(const struct exprs *p, ex e);             /* e must be constant */
void ex_set_hint(struct exprs *p, ex sym, int64_t hint);
int64_t ex_hint(const struct exprs *p, ex e); /* value with every size at its hint, indices at 0 */
void ex_range(const struct exprs *p, ex e, int64_t *lo, int64_t *hi); /* inclusive, saturating */
bool ex_at_most(struct exprs *p, ex a, ex b);                         /* a <= b, provably */
bool ex_divides(const struct exprs *p, int64_t k, ex e); /* k | e for every value, provably */
bool ex_uses(const struct exprs *p, ex e, ex sym);

/* e == coeff * sym + rest with neither using sym; false if e is not linear in sym. */
bool ex_linear(struct exprs *p, ex e, ex sym, ex *coeff, ex *rest);

/* Replace each from[i] (a symbol) by to[i]. */
ex ex_subst(struct exprs *p, ex e, const ex *from, const ex *to, int n);

/* The greatest of magnitudes; of 0 and x, that of x. */
int64_t common_divisor(int64_t x, int64_t y);

/* All symbols in e, in first-seen order, appended to out (at most cap); returns how many. */
int ex_symbols(const struct exprs *p, ex e, ex *out, int cap);

/* Value of e when symbol k has value of(ctx, k). */
int64_t ex_eval(const struct exprs *p, ex e, int64_t (*of)(void *ctx, ex sym), void *ctx);

/* Print as Python/C-like text: "4096", "s0*s1 + i0", "(s0 // 2) % 4". ex_print_c prints C99 that is
 * right where what is divided is not negative, or its least value is known; sizes, whose names are
 * anybody's, have names of their own kind in it: "(size_s0 / 2) % 4". */
void ex_print(struct buf *b, const struct exprs *p, ex e);
void ex_print_c(struct buf *b, const struct exprs *p, ex e);
const char *ex_str(struct arena *a, const struct exprs *p, ex e);

/* May a * b be made? Not where its terms are too many or its numbers near 2^63: sizes from outside
 * are asked first. */
bool ex_mul_fits(const struct exprs *p, ex a, ex b);

/* Inverse of ex_print. Names of unknown sizes are created (lo 2, hint 0) if create is set. Refused
 * are divisors that may not be positive, and more than an expression can hold. Returns EX_NONE and
 * leaves *end at the offending character on an error; on success *end is the first character not
 * consumed. */
ex ex_parse(struct exprs *p, const char *text, const char **end, bool create);
ex ex_find(const struct exprs *p, const char *name); /* a symbol by name, or EX_NONE */

#endif

/* traits.h: what passes go by of an operator: the traits column of ops.def.
 *
 *   OP(MAXIMUM, ..., CALLS | VECTOR | MONOTONE | KEEPS_BITS | RANGE(ENDS) | INDEX(MAX), ...)
 *
 *   op_is_monotone(OP_MAXIMUM)           amax(maximum(x, 1)) is maximum(amax(x), 1)
 *   op_range(OP_MAXIMUM, [0, 9], [4, 4])   [4, 9]
 *   op_of_indices(OP_MAXIMUM, i, 4)        the expression max(i, 4)
 *
 * A pass that asks whether an operator is something asks here, and a switch is over one of the
 * enums below, has a case for each of its values and no default: a new operator is a row with its
 * traits, and what is not decided about a new value does not compile. */
#ifndef WS_GRAPH_TRAITS_H
#define WS_GRAPH_TRAITS_H

#include <math.h>

#include "graph/graph.h"

/* ---- is it ----------------------------------------------------------------------------------- */

bool op_is_expensive(enum op op);  /* transcendental: worth keeping, not recomputing */
bool op_calls(enum op op);         /* its code calls a function of the prelude */
bool op_takes_vectors(enum op op); /* its code, or its function in the C prelude, takes k_v */
bool op_is_random(enum op op);
/* Are its factors [N, G, C, S...] and [G, F, C, K...]? */
bool op_convolves(enum op op);
/* In doubles every processor makes the same of it, to the last bit, unless it adds products up. */
bool op_is_exact(enum op op);
/* Exact, non-decreasing in each operand, and nan if one is. */
bool op_is_monotone(enum op op);
/* Of integers of fewer bits than maths has, the result is one of these, too. */
bool op_keeps_bits(enum op op);
/* Its code is C's, which leaves open what an integer is that overflows: k_wrap_<name> says it. */
bool op_wraps(enum op op);
bool op_compares(enum op op); /* ==, !=, <, <=, >, >= */
bool op_chooses(enum op op);  /* the result is one of the operands */
/* What is put at indices: its parts have an element for each pair of a source and a place. */
bool op_lands(enum op op);
bool op_divides(enum op op); /* into a whole quotient and a remainder */
/* Of constants: its ref in doubles, rounded, is what the type's own maths would yield. */
bool op_folds(enum op op);
/* Takes the low bits of a number that its operand's type does not hold, as PyTorch's does. */
bool op_cuts_numbers(enum op op);
/* Takes and makes elements as they are, or converts them: also of types that have no maths. */
bool op_keeps_elements(enum op op);
bool op_only_reshapes(enum op op); /* the elements of the operand in the same order */
bool op_is_like(enum op op);       /* looks at a tensor's shape and type alone */
/* The result requires no gradient, unlike that of sign, whose gradient is 0: what is like a
 * tensor, and detach. */
bool op_ends_gradient(enum op op);

/* ---- which ----------------------------------------------------------------------------------- */

/* What it makes of two positions, or of other whole numbers that are expressions. */
enum op_index {
    INDEX_NONE,
    INDEX_ADD,
    INDEX_SUB,
    INDEX_MUL,
    INDEX_DIV, /* rounded down */
    INDEX_MOD,
    INDEX_MIN,
    INDEX_MAX,
    INDEX_EQ,
    INDEX_NE,
    INDEX_LT,
    INDEX_LE,
    INDEX_GT,
    INDEX_GE,
    INDEX_COUNT
};
enum op_index op_index(enum op op);
/* Is it an expression, too? A quotient is one of what is not negative, by a positive constant. */
bool op_of_indices(struct exprs *p, enum op op, ex a, ex b, ex *out);

/* What a reduction or a scan does with elements. */
enum op_fold {
    FOLD_NONE,
    FOLD_SUM,
    FOLD_PROD,
    FOLD_AMAX,
    FOLD_AMIN,
    FOLD_M2,
    FOLD_EXPSUM,
    FOLD_ARGMAX,
    FOLD_ARGMIN,
    FOLD_COUNT
};
enum op_fold op_fold(enum op op);

/* Which types it takes, as PyTorch's does; meta.c says what is wrong with others. */
enum op_takes {
    TAKES_ALL,
    TAKES_FLOATS,
    TAKES_WHOLE,      /* bool and integers */
    TAKES_NUMBERS,    /* no bools, nor any up to differences */
    TAKES_NEGATIVE,   /* what has one */
    TAKES_RANGE,      /* what a range is made of */
    TAKES_QUOTIENT,   /* what has one */
    TAKES_DIFFERENCE, /* likewise */
    TAKES_PRODUCT,    /* matrices of one type, no bools */
    TAKES_FLOAT8,     /* these alone */
    TAKES_ATTENTION,  /* three floats of one type */
    TAKES_CHOICE,     /* operand 0 is a bool */
    TAKES_MASK,       /* operand 1 is */
    TAKES_COUNT
};
enum op_takes op_takes(enum op op);
/* The first operand that is a number of its maths: 1 behind a condition. */
int op_first_number(enum op op);

/* lo <= value <= hi; of numbers that may be nan, or that nothing is known of, -inf and inf. */
struct interval {
    double lo, hi;
};
#define INTERVAL_ANY ((struct interval){-INFINITY, INFINITY})
bool interval_is_known(struct interval r);
/* What exact results lie in, of operands that lie in a[0], a[1], ..; INTERVAL_ANY: not known.
 * Quotients are those of integers. */
struct interval op_range(enum op op, const struct interval *a, enum dtype t);

/* ---- the operators of a class ---------------------------------------------------------------- */

/* Numbered as all operators are. ROW_IF(IS_A_B) is ROW_IN if that is a macro, else ROW_OUT:
 *
 *   OP(FLIP, "flip", MOVE, ..)   ->   MOVE_FLIP = OP_FLIP,     in enum op_move, in others nothing
 */
#define ROW_IN(x) x,
#define ROW_OUT(x)
#define ROW_SECOND(a, b, ...) b
#define ROW_IF(...) ROW_SECOND(__VA_ARGS__, ROW_OUT, )
#define IS_VIEW_VIEW , ROW_IN
#define IS_MOVE_MOVE , ROW_IN
#define IS_CREATE_CREATE , ROW_IN

enum op_view {
#define OP(id, name, class, ...) ROW_IF(IS_VIEW_##class)(VIEW_##id = OP_##id)
#include "graph/ops.def"
#undef OP
};
enum op_move {
#define OP(id, name, class, ...) ROW_IF(IS_MOVE_##class)(MOVE_##id = OP_##id)
#include "graph/ops.def"
#undef OP
};
enum op_create {
#define OP(id, name, class, ...) ROW_IF(IS_CREATE_##class)(CREATE_##id = OP_##id)
#include "graph/ops.def"
#undef OP
};
/* It must be one. */
enum op_view op_view(enum op op);
enum op_move op_move(enum op op);
enum op_create op_create(enum op op);

#endif

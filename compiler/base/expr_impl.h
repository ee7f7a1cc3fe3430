/* expr_impl.h: what the files of base/expr.h share: nodes, and sums and products as arithmetic sees
 * them. */
#ifndef WS_BASE_EXPR_IMPL_H
#define WS_BASE_EXPR_IMPL_H

#include "base/expr.h"
#include "base/vec.h"

struct ex_node {
    int32_t kind;
    ex a, b;
    int64_t value;
};

/* What ex_linear found last of an expression and a symbol of the same hash. */
struct ex_line {
    ex e, sym, coeff, rest;
    bool linear;
};
enum { EX_LINES = 1 << 11 };

struct exprs {
    struct arena *arena;
    VEC(struct ex_node) nodes;
    VEC(struct ex_symbol) symbols;
    uint32_t
        *slots; /* of a hash table of the nodes, at most half full; 0: free, as node 0 is none */
    uint32_t n_slots;
    struct ex_line *lines; /* EX_LINES; NULL: nobody has asked */
    bool overflowed;
    struct ex_escape escape;
};

enum { MAX_TERMS = 48 };

struct sum {
    int n;
    int64_t k; /* the constant */
    struct {
        int64_t c;
        ex t;
    } at[MAX_TERMS];
};

/* expr.c */
int64_t ex_times(struct exprs *p, int64_t a, int64_t b);
const struct ex_node *ex_at(const struct exprs *p, ex e);
ex ex_make(struct exprs *p, enum ex_kind kind, ex a, ex b, int64_t value);
int ex_order(const struct exprs *p, ex a, ex b);
int ex_factors(struct exprs *p, ex e, ex *out, int n, int64_t *c);
ex ex_pack_product(struct exprs *p, ex *f, int n);
void ex_sum_add(struct exprs *p, struct sum *s, int64_t c, ex e);
struct sum ex_unpack(struct exprs *p, ex e);
ex ex_pack(struct exprs *p, struct sum *s);

/* expr_divide.c */
uint64_t ex_magnitude(int64_t a);
ex ex_term_quotient(struct exprs *p, ex t, ex d);

/* expr_walk.c */
ex ex_rebuild(struct exprs *p, enum ex_kind k, ex a, ex b);

#endif

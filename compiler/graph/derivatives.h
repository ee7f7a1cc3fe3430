/* derivatives.h: the rules of derivatives.def, as autograd.c uses them.
 *
 * rule.c reads a text into clauses; derivatives.c computes a clause for one node of a graph. */
#ifndef WS_GRAPH_DERIVATIVES_H
#define WS_GRAPH_DERIVATIVES_H

#include "graph/decompose.h"

/* ---- the language ---------------------------------------------------------------------------- */

enum function {
    FN_UNREDUCE,
    FN_AS_SELF,
    FN_ROWS,
    FN_INVERSE,
    FN_PLACES,
    FN_CHANNELS,
    FN_TIE,
    FN_COUNT
};
extern const char *const function_names[FN_COUNT];

enum term_kind { TERM_NUMBER, TERM_NAME, TERM_OP, TERM_FUNCTION };
enum { MAX_TERM_ARGS = 6, MAX_CLAUSES = 12 };

struct term {
    enum term_kind kind;
    struct arg number;      /* TERM_NUMBER; an integer is in f, as in defaults of op_info */
    const char *name;       /* TERM_NAME */
    enum op op;             /* TERM_OP */
    enum function function; /* TERM_FUNCTION */
    int n;
    const struct term *args[MAX_TERM_ARGS];
};

struct clause {
    const char *name;
    bool binding; /* "name = ..." and not "parameter: ..." */
    const struct term *body;
};

struct rule {
    int n;
    struct clause clauses[MAX_CLAUSES];
};

/* What does not parse is our bug. */
const struct rule *rule_parse(struct arena *a, const char *text);

/* ---- the table ------------------------------------------------------------------------------- */

/* One node whose result has a gradient. `node` is a copy: its args name nodes of b->g. */
struct backprop {
    struct build *b;
    struct node node;
    node_id result, grad;
    int element; /* of a list of operands, which one is wanted */
    const struct rule *rule;
    struct arg bound[MAX_CLAUSES]; /* values of bindings */
    bool is_bound[MAX_CLAUSES];
    bool wide; /* operands of 16 bits enter as f32 */
    /* Of a rule of bounds.def: the errors of the operands, numbers 0 where they are exact, and the
     * roundoff of the type. NULL: a derivative. */
    const struct arg *errors;
    double roundoff;
};

enum derivative_answer { NO_GRADIENT, GRADIENT, EXPAND_INSTEAD };
typedef enum derivative_answer derivative_code(struct backprop *p, int param, node_id *out);

enum derivative_kind { DERIVATIVE_MISSING, DERIVATIVE_ZERO, DERIVATIVE_RULE, DERIVATIVE_CODE };
struct derivative {
    enum derivative_kind kind;
    const char *text;
    derivative_code *code;
};
const struct derivative *derivative_of(enum op op);

/* derivatives_move.c */
derivative_code derivative_slice, derivative_cat, derivative_pad, derivative_index,
    derivative_scatter, derivative_scatter_add, derivative_index_add;
derivative_code derivative_windows, derivative_max_pool, derivative_adaptive_max_pool;

/* derivatives.c */
derivative_code derivative_given;

/* derivatives_convolution.c */
derivative_code derivative_convolve;

/* A term at this node: a node, a number, None or a list of dimensions. */
struct arg rule_value(struct backprop *p, const struct term *t);

/* The gradient of operand `param` as the rule says it, in whatever shape and type. */
enum derivative_answer derivative_evaluate(struct backprop *p, int param, node_id *out);

#endif

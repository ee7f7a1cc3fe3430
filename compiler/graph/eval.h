/* eval.h: what the evaluator's files share. A cell is the value of one node, dense and row-major:
 * of floats in doubles, of integers and bools in 64 bits, so that neither is ever the other by the
 * way. */
#ifndef WS_GRAPH_EVAL_H
#define WS_GRAPH_EVAL_H

#include "graph/graph_impl.h"
#include "graph/ref_maths.h"

/* Elements below which threads cost more than they save. */
enum { EVAL_SMALL = 4096 };

struct cell {
    /* malloc'ed; both NULL before the cell is computed and after its last use */
    double *v;  /* of floats */
    int64_t *w; /* of integers and bools */
    int64_t n;
    int rank;
    int64_t size[WS_MAX_RANK];
    enum dtype dtype;
};

/* One node to compute: in[i] is the cell of args[i] (NULL if that is no tensor); what out has by
 * its type, v or w, is allocated. */
struct job {
    const struct graph *g;
    const struct node *node;
    const struct cell *in[MAX_PARAMS];
    const struct cell *cells; /* of every node: those of a list are cells[args[i].nodes.at[k]] */
    struct cell *out;
    struct diag *d; /* an index out of bounds */
    bool *stopping; /* of all threads */
};

/* eval_loop.c. out: by output of the body, allocated; NULL: nobody wants it. */
void eval_loop(const struct job *j, struct cell *const *out);

static inline bool graph_is_stopped(const struct graph *g) {
    return (g->stopped && g->stopped()) || budget_is_over(g->budget);
}

/* Does the user want no more of it? To be asked in every loop, before step i of it; a loop of long
 * steps says 0. What is computed after it has said yes is not looked at. */
static inline bool eval_stops(const struct job *j, int64_t i) {
    if (i % 1024 == 0 && graph_is_stopped(j->g))
        __atomic_store_n(j->stopping, true, __ATOMIC_RELAXED);
    return __atomic_load_n(j->stopping, __ATOMIC_RELAXED);
}

/* The nearest value of the type. */
double value_round(enum dtype d, double v);

/* An integer as the type, a float, holds it: rounded once. */
double double_of_int(enum dtype d, int64_t v);

/* A number among the arguments as a cell of type d has it. */
struct number {
    double v;
    int64_t w;
};
struct number number_of_arg(const struct graph *g, const struct arg *a, enum dtype d);
/* The same, but an integer that the type has not is the nearest that it has. */
struct number number_nearest(const struct graph *g, const struct arg *a, enum dtype d);

/* Elements of cells whatever they hold. */
static inline double cell_number(const struct cell *c, int64_t i) {
    return c->w ? (double)c->w[i] : c->v[i];
}
static inline void cell_put(const struct cell *c, int64_t i, struct number x) {
    if (c->w)
        c->w[i] = x.w;
    else
        c->v[i] = x.v;
}
static inline void cell_copy(const struct cell *to, int64_t i, const struct cell *from, int64_t k) {
    if (to->w)
        to->w[i] = from->w[k];
    else
        to->v[i] = from->v[k];
}
/* The same where the two may hold different things. */
static inline void cell_take(const struct cell *to, int64_t i, const struct cell *from, int64_t k) {
    if (!to->w == !from->w)
        cell_copy(to, i, from, k);
    else
        cell_put(to, i, (struct number){.v = double_of_int(to->dtype, from->w[k])});
}

/* The sizes of n as numbers, no values; false if one is symbolic. */
bool cell_shape(const struct graph *g, const struct node *n, struct cell *c, struct diag *d);

/* Row-major strides of a cell; and those that repeat it over the dimensions of `over`. */
void strides_of(const struct cell *c, int64_t *stride);
void strides_broadcast(const struct cell *c, const struct cell *over, int64_t *stride);

/* A tensor as lines: the dimensions in `set` run along a line, the others number the lines. */
struct lines {
    int64_t n, length;
    int kept, along; /* ranks */
    int64_t kept_size[WS_MAX_RANK], kept_stride[WS_MAX_RANK];
    int64_t size[WS_MAX_RANK], stride[WS_MAX_RANK];
};
struct lines lines_along(const struct cell *c, uint32_t set);
int64_t line_at(const struct lines *l, int64_t line, int64_t i); /* offset of element i of a line */

/* One node, whichever it is. */
void eval_job(const struct job *j);

/* Does the operator, which yields integers or takes some, have a loop that says so? If not it is
 * given all of them as doubles. */
bool eval_takes_integers(const struct job *j);
bool composite_takes_integers(enum op op);

/* eval_int.c. Element by element on integers, by a table of its own; false: it has none. */
typedef int64_t int_ref(int64_t a, int64_t b, int64_t c, int64_t d);
int_ref *eval_int_ref(enum op op);

/* One element of an elementwise operator: its ref on x[0..4]. */
double eval_ref(enum op op, const double *x);

/* Operators of one shape, one after the other; n > 1 of which eval_is_elementwise holds. A result
 * that has no memory is read by others of them alone. */
enum { EVAL_GROUP = 32 };
bool eval_is_elementwise(const struct node *n);
void eval_elementwise(const struct job *group, int n);
void eval_reduce(const struct job *j);
void eval_scan(const struct job *j);
void eval_view(const struct job *j);
/* Of a view: the operand's strides in the order of the result's dimensions; returns the offset of
 * its first element. */
int64_t eval_view_strides(const struct job *j, int64_t *stride);
/* Row `to` of out = row `at` of a times b from `from` on, [k] x [k, n]. */
void multiply_row(const struct cell *a, int64_t at, const struct cell *b, int64_t from, int64_t k,
                  int64_t n, const struct cell *out, int64_t to);
void eval_matmul(const struct job *j);
/* eval_convolution.c: the product alone; what it adds up for element i, in order: x[k] times w[k],
 * where -1 is no element of x but 0, and -1 of both is no term; and what users call. */
void eval_convolve(const struct job *j);
int64_t convolve_terms(const struct job *j);
void convolve_sources(const struct job *j, int64_t i, int64_t *x, int64_t *w);
void eval_convolution(const struct job *j);
void eval_create(const struct job *j);
/* A random number as one of that type. */
double value_drawn(enum dtype t, double v);
/* n elements from `first` on, into v or w. */
void eval_created(const struct job *j, int64_t first, int64_t n, double *v, int64_t *w);

/* eval_move.c, composites that move elements, too. Where an element comes from: element `at` of x,
 * or, x being NULL, from the move's fill. What that depends on is looked up first: element at[k] of
 * index k, which must be inside of a dimension's size. */
void eval_move(const struct job *j);
struct origin {
    const struct cell *x;
    int64_t at;
};
struct lookups {
    int n;
    const struct cell *index[WS_MAX_RANK];
    int dim[WS_MAX_RANK]; /* for messages */
    int64_t size[WS_MAX_RANK];
    bool wraps; /* negative ones count from the end */
};
struct lookups move_lookups(const struct job *j);
void move_looks(const struct job *j, int64_t i, int64_t *at);
struct origin move_origin(const struct job *j, int64_t i, const int64_t *index);
struct number move_fill(const struct job *j);
/* False, and says so as PyTorch does: the user's mistake. */
bool lookup_is_inside(const struct job *j, const struct lookups *l, int k, int64_t v);

/* The other way round, of op_lands: landing i of so many looks at an element of the index, and goes
 * from an element of the source, if that is a tensor, to one of the result. */
struct lookups landing_lookups(const struct job *j);
int64_t landings(const struct job *j);
int64_t landing_looks(const struct job *j, int64_t i);
int64_t landing_at(const struct job *j, int64_t i, int64_t index);
int64_t landing_origin(const struct job *j, int64_t i);

void eval_pool(const struct job *j);
void eval_resize(const struct job *j);
void eval_im2col(const struct job *j);
void eval_unfold(const struct job *j);
void eval_composite(const struct job *j);
void eval_class_loss(const struct job *j); /* eval_loss.c */
/* The losses of all elements, as the node's reduction says, into its one. */
void eval_reduced(const struct job *j, const double *loss, int64_t n);

#endif

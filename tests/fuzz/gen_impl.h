/* gen_impl.h: what the files of the graph generator share: random tensors (gen_tensor.c), arguments
 * by kind (gen.c), arguments that fit each other (gen_fit.c). */
#ifndef FUZZ_GEN_IMPL_H
#define FUZZ_GEN_IMPL_H

#include "tests/fuzz/gen.h"
#include "tests/fuzz/random.h"

enum { MAX_NODES = 12, MAX_GEN_RANK = 4, MAX_OUTPUTS = 4 };

struct gen {
    struct rng r;
    struct graph *g;
    enum dtype theme; /* the type of most inputs */
    bool mixed;       /* inputs of other types too */
    bool large;
    int64_t most;          /* elements of a tensor */
    VEC(node_id) computed; /* in order */
};

static inline int below(struct gen *x, int n) { return rng_below(&x->r, n); }
static inline bool percent(struct gen *x, int p) { return rng_percent(&x->r, p); }

/* gen_tensor.c */
const struct meta *meta_at(const struct gen *x, node_id n);
int64_t size_at(const struct gen *x, const struct meta *m, int d);
int64_t numel_of(const struct gen *x, const struct meta *m);
int64_t random_size(struct gen *x);
enum dtype any_dtype(struct gen *x);
node_id new_input_like(struct gen *x, enum dtype t, int rank, const int64_t *size);
node_id any_tensor(struct gen *x); /* of the graph, or a new input */
node_id tensor_of_rank(struct gen *x, int least, int most);
/* A tensor that broadcasts with `first`: one there is, or a new one with dimensions of size 1 or
 * missing. */
node_id companion(struct gen *x, node_id first);

/* gen_fit.c: arguments of an operator whose sizes must fit each other; false if op is none. */
struct call {
    enum op op;
    struct arg args[MAX_PARAMS];
    int n;
};
typedef void fit_fn(struct gen *x, struct call *c);
extern fit_fn *const gen_moves[OP_COUNT]; /* gen_move.c */
bool call_that_fits(struct gen *x, enum op op, struct call *c);

#endif

/* capture.h: a workload file in, two graphs and the guards out, by symbolic execution of its
 * bytecode.
 *
 *   dim = 64                              axes    dim=64
 *   def scale(x):
 *       return torch.relu(x) * dim        graph   graph(%x: f32[8, 64] = L['x']) {
 *                                                   %relu: f32[8, 64] = relu(%x)
 *                                                   %mul: f32[8, 64] = mul(%relu, 64)
 *                                                   return %mul
 *                                                 }
 *   def get_inputs():                     init    graph() {
 *       return [torch.randn(8, dim)]                %randn = randn([8, 64], index=0)
 *                                                   return %randn
 *                                                 }
 *                                         guards  L['x']: tensor f32 [8, 64] stride [64, 1] ...
 *                                                 G['dim'] == 64
 *
 * Nothing is computed: the module body, get_inputs() and Model(...) build the init graph, whose
 * outputs are the values of the inputs; then forward is run and builds the captured graph.
 *
 * The language is the frontend's. The VM (vm.c) runs it over tracked values (value.h); torch is the
 * operator table of graph/ops.def plus a prelude in Python (prelude.c) for modules and what is made
 * of operators.
 *
 * Ownership: everything returned lives in the arena given. */
#ifndef WS_CAPTURE_H
#define WS_CAPTURE_H

#include "base/base.h"
#include "graph/graph.h"

struct capture_axis {
    const char *name, *value; /* value: a Python literal */
};

struct capture_options {
    const char *path;
    const struct capture_axis *axes; /* overrides */
    int n_axes;
    bool cast; /* floating inputs and parameters become dtype */
    enum dtype dtype;
    bool eval;           /* call the model's eval() before its inputs are made */
    bool differentiated; /* gradients are taken of its graph */
    bool cuda;           /* it is compiled for a GPU: torch.autocast('cuda') has an effect */
    const enum precision
        *precision; /* of products of f32 and convolutions; NULL: as the file says */
    uint64_t seed;
    /* An axis whose int becomes the size s0 where the module body assigns it: sizes that follow it
     * are expressions, and where the program needs a number, it gets the axis's. NULL: none. */
    const char *symbolic;
    const struct budget_limits *limits; /* NULL: those of a workload (base/budget.h) */
    /* What the program prints, one call a time, its end included; NULL: nobody listens. */
    void (*print)(void *ctx, const char *text);
    void *print_ctx;
};

/* What forward updates in place: the sources of those tensors, whose new values are the graph's
 * outputs from first on. */
struct updates {
    uint32_t first;
    VEC(const char *) sources;
};

struct captured {
    const char *workload; /* file name without folder and .py */
    const char *axes;     /* "rows=4096 dim=4096", in file order */
    const char *guards;   /* one a line */
    struct graph *graph;
    struct graph *init; /* output i is the value of input graph.inputs[j] with init == i */
    struct updates updates;
};

/* Errors: WS_USAGE (no such file, unknown axis, bad value), WS_WRONG (the program: syntax,
 * exceptions, unsupported constructs and operators, with file, line, column and caret). s may be
 * NULL: nothing is dumped or timed. */
struct captured *capture(struct arena *a, const struct capture_options *o, struct stages *s,
                         struct diag *d);

/* Was it that a shape or a branch depends on values? A script goes on behind that (script.h). */
bool capture_broke(const struct diag *d);
#define GRAPH_BREAK "graph break: " /* that is how the message begins */

/* NULL if a tensor like `now` passes the guard of one like `then`, else why not:
 * "L['x']: size mismatch at index 0: expected 3, actual 4". */
const char *guard_check(struct arena *a, const struct exprs *ex, const char *source,
                        const struct meta *then, const struct meta *now);

#endif

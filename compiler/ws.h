/* ws.h: the public API of the compiler: a PyTorch file in, a program of kernels out.
 *
 *   struct diag d = diag_new(arena);
 *   struct ws_captured *c = ws_capture(&options, &d);   front end: file -> graph, inputs, guards
 *   struct ws_program *p = ws_lower(c, &limits, WS_FUSE, &stages, &d);  back end: graph -> kernels
 *
 * Every function returns NULL / a non-zero enum ws_status on failure with the message in d. Nothing
 * here prints, exits, or needs a device. Everything returned lives in options.arena. */
#ifndef WS_H
#define WS_H

#include "base/base.h"

struct ws_axis {
    const char *name;  /* a module-level constant of the workload */
    const char *value; /* a Python literal: "4096", "0.5", "True" */
};

enum ws_mode { WS_FWD, WS_BWD, WS_TRAIN };

struct ws_options {
    struct arena *arena;
    const char *path;           /* the workload file */
    const struct ws_axis *axes; /* overrides */
    int n_axes;
    bool cast;        /* cast floating inputs and parameters to dtype */
    enum dtype dtype; /* when cast */
    enum ws_mode mode;
    bool cuda; /* it is captured for a GPU: torch.autocast('cuda') has an effect */
    bool eval; /* the model is put into evaluation mode first: no dropout, no batch statistics */
    /* Parameters and buffers of the module may be others in each call; else, of WS_FWD, what is
     * made of them alone is made once, at load. Gradients are of parameters that change. */
    bool weights_change;
    /* Of its products of f32 and its convolutions; NULL: of products what the file says
     * (torch.backends.cuda.matmul.allow_tf32), of convolutions PRECISION_F32. */
    const enum precision *precision;
    uint64_t seed; /* of every random tensor */
    /* An axis that is a size, and is to stay a symbol where sizes follow it; NULL: none. */
    const char *symbolic;
    /* What capturing and lowering may take (base/budget.h); NULL: a workload's. WS_WRONG with one
     * message where it takes more. */
    const struct budget_limits *limits;
};

struct ws_captured; /* see ws_tune.h for its parts */
struct ws_program;

/* Run the file's module body, build the model, trace forward on the shapes of get_inputs().
 * Errors: WS_USAGE (no such file, unknown axis: lists the known ones, bad value), WS_WRONG (syntax
 * error, unsupported construct or operator, shape mismatch; with file, line, column and caret). */
struct ws_captured *ws_capture(const struct ws_options *o, struct stages *s, struct diag *d);

enum ws_fusion {
    WS_EAGER, /* one kernel per operator of the captured graph, as PyTorch's eager mode launches
                 them */
    WS_FUSE,  /* fused by rule */
    WS_APART, /* the same, but for reductions of what a matrix product comes to */
    WS_PERSISTENT, /* as WS_FUSE, but all steps of a loop are one kernel wherever that has a config
                    */
    WS_CHAINED,    /* as WS_FUSE, but products behind products are one kernel wherever that has a
                   config, whatever it takes: for tests */
};

/* Lower for a device with these limits. The captured graph is not changed; call it once per fusion
 * mode. */
struct ws_program *ws_lower(struct ws_captured *c, const struct device_limits *limits,
                            enum ws_fusion fusion, struct stages *s, struct diag *d);

/* An operator in words; "-" for what it has not. */
struct ws_operator {
    const char *name;       /* in graphs: "softmax" */
    const char *class;      /* "composite" */
    const char *result;     /* how its type follows: "float" */
    const char *derivative; /* "rule" */
    const char *becomes;    /* "primitives", or the expression of kernels */
    const char *call;       /* "(self:T dim:D dtype:Y?)" */
    const char *python;     /* the names that programs reach it by */
};

/* Those whose name, in graphs or in Python, contains `part` (NULL: all), in the order of the table;
 * returns how many. */
int ws_list_operators(struct arena *a, const char *part, const struct ws_operator **out);
/* The Python names nearest to one that is none: "torch.softmax, F.softmax". */
const char *ws_suggest_operators(struct arena *a, const char *name);

#endif

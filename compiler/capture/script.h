/* script.h: a Python file run from top to bottom, as python3 with PyTorch would.
 *
 * Tensors outside compiled functions have values; functions under torch.compile are captured,
 * guarded, handed to a backend, and run compiled when they are called again. */
#ifndef WS_CAPTURE_SCRIPT_H
#define WS_CAPTURE_SCRIPT_H

#include "capture/backend.h"
#include "capture/capture.h"

/* What was captured, in the words of torch._dynamo.explain. */
struct script_graph {
    const char *function; /* "f" */
    const char *text;     /* as graph_print_readable writes it */
    const char *guards;   /* one a line */
    uint32_t n_ops, n_guards;
};
struct script_break {
    const char *reason;
    const char *path;
    struct span where;
};
struct script_counts {
    VEC(struct script_graph) graphs;
    VEC(struct script_break) breaks;
    uint32_t n_calls;  /* operators of all graphs */
    uint32_t n_hits;   /* calls answered by an entry that was there */
    double check_ms;   /* of the quickest check of guards that held; 0: none did, or not timed */
    double capture_ms; /* spent tracing */
    double compile_ms; /* in backends */
};

struct script_options {
    const char *path;
    const char *const *argv;         /* sys.argv[1:], NULL at the end */
    uint64_t seed;                   /* until torch.manual_seed() */
    const enum precision *precision; /* of products of f32 and convolutions; NULL: as it says */
    /* A workload whose graph breaks: its entry is called under torch.compile, of its axes these
     * have other values, and what it returns is printed. */
    bool is_workload, eval;
    const struct capture_axis *axes;
    int n_axes;
    bool has_cuda; /* torch.cuda.is_available() */
    const char *cuda_name;
    int cuda_capability;                   /* 90; 0: there is no GPU */
    const struct backend *const *backends; /* beside eager and aot_eager; NULL at the end */
    const char *backend; /* overrides what torch.compile asks for; NULL: as asked, or inductor */
    bool timed;          /* measure what guard checks cost */
    uint32_t logs;       /* topics (base/options.h) */
    const struct budget_limits *limits;         /* NULL: those of a script (base/budget.h) */
    void (*print)(void *ctx, const char *text); /* what the program prints */
    void (*log)(void *ctx, const char *text);   /* whole lines, for people */
    void *ctx;
};

/* Is the file a workload, with get_inputs(), and no script? False too if it cannot be read. */
bool script_is_workload(struct arena *a, const char *path);

/* Does the file have these axes, and may they have these values? Nothing of it is run. */
bool workload_has_axes(struct arena *a, const char *path, const struct capture_axis *axes,
                       int n_axes, struct diag *d);

/* Errors: as capture(). *counts is filled as far as the script got, in the arena. */
enum ws_status script_run(struct arena *a, const struct script_options *o,
                          struct script_counts *counts, struct diag *d);

#endif

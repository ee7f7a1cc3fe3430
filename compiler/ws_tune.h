/* ws_tune.h: what the tuner, and only the tuner, may see of the compiler: the parts of a captured
 * workload and of a program, the configs of each kernel, source text for one config, inputs and
 * reference values, and the runtime. */
#ifndef WS_TUNE_H
#define WS_TUNE_H

#include "capture/capture.h"
#include "capture/script.h"
#include "emit/source.h"
#include "graph/sample.h"
#include "kernel/config.h"
#include "reference.h"
#include "runtime/runtime.h"
#include "ws.h"

/* ---- the captured workload ------------------------------------------------------------------- */

struct ws_captured {
    struct arena *arena;
    const char *workload; /* file name without folder and .py */
    const char *axes;     /* all axes with their values, in file order: "rows=4096 dim=4096" */
    const char *dtype; /* "bf16": --dtype if given, else the common dtype of the floating inputs */
    const char *mode;  /* "fwd", "bwd", "train"; of a model in evaluation mode "eval", ... */
    enum precision precision; /* of its products of f32 */
    const char *weights;      /* "fixed", "changing"; "": it has no parameters or buffers, or is no
                                 forward alone, whose parameters always change */
    const char *graph_hash;   /* 16 hex digits of the canonical text of the graph */
    /* Sizes that are symbols, in the order in which the graph names them: s0, s1, ... in its hash,
     * in those of its kernels, and in guards. */
    const ex *symbols;
    int n_symbols;
    const char *guards;  /* one guard a line */
    struct graph *graph; /* captured, composites intact */
    struct graph *init;  /* computes the value of every input and parameter; no inputs */
    struct updates updates;
    uint64_t seed;
    int n_inputs, n_outputs;
    struct budget_limits limits; /* of each lowering */
    struct ws_values *values;    /* by device kind */
};

/* How its values are made, on such a device, once that is asked for. */
struct ws_lowered {
    bool asked;
    const struct reference *by;
};
struct ws_values {
    struct graph *reference; /* outputs and bounds */
    struct ws_lowered inputs, outputs;
};

/* The graph depends on a module's being in training mode: dropout, batch statistics. */
bool ws_is_training(const struct ws_captured *c);

/* A graph that a script captured, as a workload without values; sizes may be symbolic. */
struct ws_captured *ws_captured_of(struct arena *a, struct graph *g, const char *name);

/* symbolic.c. Is the graph with symbols, at their hints, the one captured with numbers? If not,
 * *why is the first line of it that differs. */
bool ws_captures_same(const struct ws_captured *symbolic, const struct ws_captured *numbers,
                      const char **why);
/* The same workload under the assumption that symbol i is a multiple of step[i]. */
struct ws_captured *ws_captured_stepped(const struct ws_captured *c, const int64_t *step);
/* The same workload where symbol i is the number size[i]: what is captured with numbers. */
struct ws_captured *ws_captured_at(const struct ws_captured *c, const int64_t *size);

struct ws_tensor_info {
    const char *name; /* "x", "weight", "out0" */
    enum dtype dtype;
    int rank;
    int64_t size[8], stride[8]; /* elements */
    int64_t numel;
    size_t bytes; /* of storage; dense */
};
struct ws_tensor_info ws_input_info(const struct ws_captured *c, int i);
/* Row-major, whatever strides the captured graph says: an output is a buffer of its own. */
struct ws_tensor_info ws_output_info(const struct ws_captured *c, int i);

/* Bytes that the values take at least: while the inputs are made, while the reference is, and what
 * stays of both. */
struct ws_memory {
    double inputs, reference; /* at their peak */
    double kept_inputs, kept_reference;
};
struct ws_memory ws_memory_of(const struct ws_captured *c, enum device_kind device);

/* Values of all inputs: evaluates the init graph (random tensors from c->seed). bytes[i] is
 * malloc'ed memory in the input's dtype and strides; the caller frees. */
enum ws_status ws_make_inputs(const struct ws_captured *c, void **bytes, struct diag *d);

/* The reference: outputs as dtype_reference says, row-major, malloc'ed, computed in double
 * precision, or in 64-bit integers, from those very inputs. And how far from it an element of a
 * right program for such a device may be (graph/bound.c): one float each, or NULL where all are
 * equal. */
enum ws_status ws_make_reference(const struct ws_captured *c, enum device_kind device,
                                 void *const *input_bytes, void **outputs, float **bounds,
                                 struct diag *d);

/* The same made where kernels run: what makes the inputs, the same numbers to the last bit, each in
 * its type and strides; and the references, row-major as dtype_reference says, behind which the
 * bounds are, f32. Each is lowered once, and lives as long as the workload, or until it is dropped.
 * NULL where the interpreter is done sooner, or kernels cannot do it. */
const struct reference *ws_lower_inputs(const struct ws_captured *c, enum device_kind device);
const struct reference *ws_lower_reference(const struct ws_captured *c, enum device_kind device);
/* What has run, and is lowered anew by who asks for it again. */
void ws_drop_lowered(const struct ws_captured *c, enum device_kind device);

/* What a reference and its bounds cost, by the count of graph_work. */
double ws_reference_work(const struct ws_captured *c, enum device_kind device);

/* Some elements of each output (graph/sample.h), by the interpreter: are those that kernels made
 * right? input_bytes may be NULL, each: those that ws_lower_inputs made. WS_WRONG if not. *judged:
 * how many elements were; others depend on too many. */
enum ws_status ws_judge_reference(const struct ws_captured *c, void *const *input_bytes,
                                  const struct sample_source *outputs, int64_t *judged,
                                  struct diag *d);

/* A bound as it is kept: rounded up, and infinite if it is nan. */
float ws_bound_up(double bound);
/* Some elements of each output alone, where there is no memory for all: out[n_outputs], of which
 * the caller frees what they hold. */
enum ws_status ws_sample_reference(const struct ws_captured *c, enum device_kind device,
                                   void *const *input_bytes, struct sample_taken *out,
                                   struct diag *d);

/* ---- the program ----------------------------------------------------------------------------- */

/* A window is a part of another buffer: another part in each step of a loop. */
enum ws_buffer_kind { WS_BUF_INPUT, WS_BUF_OUTPUT, WS_BUF_TEMP, WS_BUF_WINDOW };

struct ws_buffer {
    const char *name;
    enum ws_buffer_kind kind;
    int index; /* which input or output */
    enum dtype dtype;
    int64_t numel;
    size_t bytes;
    size_t offset; /* TEMP: place in the pool, from the memory plan */
    bool fixed;    /* TEMP: made at load, and kept across calls */
    int in_place;  /* OUTPUT: the input, of as many bytes, whose memory it takes; else -1 */
    bool keeps;    /* and of that the kernel that stores it leaves some as it is, and reads none */
    int steps;     /* WINDOW: of the loop */
    /* WINDOW that is a piece of a whole, and TEMP whose rows, or steps, have others between them
     * (schedule/pitch.c, loop/steps.c): of `bytes`, which are from its first to its last, so many
     * stretches are its own, `pitch` bytes from one's begin to the next one's; 0: all are. */
    int64_t runs;
    size_t run_bytes, pitch;
};

struct ws_kernel {
    const char
        *name; /* "softmax_amax_sub_exp_sum_div_0": a C identifier listing the fused operators */
    const char *kind;         /* "pointwise", "reduce", "matmul" */
    enum precision precision; /* of a product of f32 */
    const char *hash;         /* 16 hex digits of the canonical text of its body, sizes included */
    bool at_load;             /* it runs once, before all calls: what it writes is fixed */
    int loop;                 /* one more than the number of the loop that it is of; 0: of none.
                                 A loop's kernels follow each other */
    int steps;                /* of a loop: how often a call runs it */
    bool all_steps;           /* it goes through those of a loop itself */
    int same;                 /* the first kernel of the program with this body and these sizes:
                                 itself, or one whose configs, texts and times are its own, too */
    const char
        *guard; /* "", until the tuner says for which sizes the config was tuned: "dim == 4096" */
    int n_reads, n_writes;
    int reads[32], writes[32]; /* buffers */
    double bytes;  /* least DRAM traffic: every distinct element read once, written once */
    double flops;  /* multiply-adds count 2; transcendental functions 1 */
    double spared; /* of these, what it may leave out by what it reads: tiles that are hidden */
    const struct kernel *ir;
    int n_parts; /* a sequence's (kernel/sequence.h), of which ir is the first; 0: it is none */
    bool beside; /* n_parts: these go beside each other */
    const struct kernel *const *parts;
};

struct ws_program {
    struct arena *arena;
    struct ws_captured *captured;
    const struct loops *loops; /* what its kernels were made of */
    struct device_limits limits;
    int n_buffers;
    struct ws_buffer *buffers;
    size_t temp_bytes; /* size of the pool of temporaries */
    int n_kernels;     /* in launch order */
    struct ws_kernel *kernels;
    int *first_output; /* of each output, the first that is the same tensor: itself, unless what is
                          returned is an updated input, too; others have no buffer */
    int *returned_input;  /* of each output, the input that it is, as it lies: it has no buffer; -1:
                            none */
    double bytes, flops;  /* of the whole graph if it were one kernel: inputs read once, outputs
                            written once; what runs at load left out */
    double bytes_in_turn; /* the same and what every program of this graph reads once more, as a
                             reduction of more than the chip holds is there before its readers */
    bool may_be_apart;    /* under WS_APART it is another program, which may be faster */
    bool may_persist;     /* the same of WS_PERSISTENT */
    struct ws_configs *configs; /* by kernel, of those that were asked for: see ws_configs */
};

/* Of a program by rule, how it may be faster, which measuring it alone tells; WS_FUSE: no how. */
static inline enum ws_fusion ws_another(const struct ws_program *p) {
    return p->may_persist ? WS_PERSISTENT : p->may_be_apart ? WS_APART : WS_FUSE;
}

/* Where buffer b is in step t of its loop: the buffer, and from which byte on. b itself, from 0, if
 * it is no window. */
int ws_window_at(const struct ws_program *p, int b, int64_t t, size_t *from);
/* Where one is when a call is over: in the last step. */
int ws_window_last(const struct ws_program *p, int b, size_t *from);

/* All legal configs of kernel k under the program's limits, best guess first; config 0 is the
 * default by rule. *pruned counts legal configs left out because the cost model rules them out.
 * Kernels that are the same have the same list, made once. Lives in the program's arena; one thread
 * at a time. */
void ws_configs(const struct ws_program *p, int k, const struct config **configs, int *n,
                int *pruned);

/* The first of them, without a list of the others where nobody has asked for that. */
const struct config *ws_default_config(const struct ws_program *p, int k);

/* NULL if legal, else why not ("vec=8 does not divide the row length 1023"). */
const char *ws_config_illegal(const struct ws_program *p, int k, const struct config *c,
                              struct arena *a);

/* How many loads and stores of kernel k move vectors under c, where the device has such
 * instructions and c is legal. */
int ws_config_vectors(const struct ws_program *p, int k, const struct config *c, struct arena *a);

/* Source of kernel k under config c (see emit/source.h). WS_WRONG if the kernel cannot be
 * expressed. */
enum ws_status ws_emit(const struct ws_program *p, int k, const struct config *c, struct arena *a,
                       struct ws_source *out, struct diag *d);

/* Comments that say which lines of the user's program kernel k is. */
void ws_print_lines(struct buf *b, const struct ws_program *p, int k);

/* alone.c. What each kernel should write, were what it reads right, and how far off that may be. Of
 * some kernels side by side that is a workload without values, for ws_make_reference and
 * ws_lower_reference: its inputs are the program's, then buffers that kernels read of others; its
 * outputs are buffers that these kernels write. Needs: sizes that are numbers. Both live in arenas
 * that may go before the program's, the workload with what is lowered of it: of a network that is
 * tens of megabytes, for the moment in which its kernels are judged. */
struct ws_alone_part {      /* of a kernel */
    double work;            /* as ws_reference_work counts it */
    double bytes;           /* of references and bounds */
    int n_known, n_unknown; /* buffers that it writes; unknown: no tensors of the graph */
};
struct ws_alone {
    const struct ws_alone_part *parts; /* by kernel */
    int n_inputs;
    const int *inputs; /* by input: the buffer that holds it; -1: nobody reads it */
    const struct alone *made;
};
struct ws_alone ws_alone_of(const struct ws_program *p, struct arena *a);
/* *outputs: the buffers. */
struct ws_captured *ws_alone_join(const struct ws_alone *x, const bool *kernels, struct arena *a,
                                  const int **outputs);

/* Texts for `explain` and `compile --dump` that are not stage dumps. */
void ws_explain(const struct ws_captured *c, const struct ws_program *p, struct buf *b);

#endif

/* dynamo.h: compiled functions of scripts: what trace.c, rebuild.c and dynamo.c share. Private to
 * capture.
 *
 * A function under torch.compile runs in segments. A segment starts where its frame is entered, or
 * where the program went on after a graph break; it is traced once over tracked values, which gives
 * an entry: guards, a graph, and templates of the values that are there when it ends. When the
 * frame comes to that instruction again and the guards of an entry hold, the graph runs compiled
 * and the frame gets the values.
 *
 *     y = x.sin()          segment at 0: graph sin, norm; ends in front of FORMAT_VALUE
 *     print(f"{x.norm()}") the breaking instructions run as they are
 *     return y * 2         segment at 9: graph mul; returns
 *
 * Where tracing fails is found by failing: the trace starts again and ends in front of the
 * instruction of the root frame that could not be done, so a trace never has to be undone.
 *
 * Ownership: an entry has an arena of its own, which lives as long as the VM. What is allocated in
 * it was made by the trace; everything else a template refers to exists outside. */
#ifndef WS_CAPTURE_DYNAMO_H
#define WS_CAPTURE_DYNAMO_H

#include "capture/vm.h"

enum {
    RECOMPILE_LIMIT = 8,
    MAX_TRACE_STEPS = 2000000, /* instructions of one trace, calls included */
    MAX_TRACE_NODES = 50000,   /* operators */
};

/* One call of torch.compile. */
struct compile_options {
    struct compile_options *next;
    uint32_t id;
    enum { DYNAMIC_AUTO, DYNAMIC_NEVER, DYNAMIC_ALWAYS } dynamic;
    bool fullgraph;
    const struct backend *backend;
    struct py function; /* of the program: rows of a graph, its inputs, its number -> what computes
                           it; UNSET: backend does */
};

/* A tensor that a trace touched: a guard, and perhaps an input of the graph. */
struct tensor_guard {
    const struct place *place; /* NULL: `tensor` itself, found nowhere else */
    struct tensor *tensor;
    struct storage *storage; /* of the trace, if views were made of it, or updates in place */
    uint32_t slot;
    node_id node;
    struct meta meta; /* sizes and strides may be symbolic */
    bool requires_grad;
};

/* A size or an int that is symbolic: dimension dim of tensors[tensor], or the int at place. */
struct symbol {
    ex ex;
    const struct place *place;
    uint32_t tensor;
    int dim;
    uint32_t slot; /* of the int, or of the tensor */
};

/* Dimensions and numbers that have been different from one trace to the next, by place; they are
 * symbolic from then on. */
struct seen {
    struct seen *next;
    const char *text;
    struct py v, v_before; /* before: what it was when it was found to differ */
    int rank;
    int64_t size[WS_MAX_RANK], size_before[WS_MAX_RANK];
    uint8_t dynamic; /* of a tensor, a bit for each dimension; of a number 1 */
};

struct attribute_effect {
    struct instance *instance;
    const struct place *place;
    const char *name;
    struct py v;
};

/* A cell of the root frame at the end: made by the trace, or there before and perhaps written. */
struct cell_end {
    struct cell *made;
    bool written;
    struct py v;
};

/* Values at the end of a segment, as the trace saw them: templates. */
struct segment_end {
    bool returns;
    struct py value; /* returns */
    uint32_t pc, depth;
    struct py *locals, *stack;
    struct cell_end *cells;
    struct block *blocks;
    uint32_t n_blocks;
    bool grad_enabled;
    struct autocast autocast;
};

struct watch {
    const uint32_t *version;
    uint32_t then;
};

/* Two tensors that were one. */
struct alias {
    uint32_t a, b; /* of tensors */
    bool differ;   /* they were two, and are to be two again; else one */
};

struct entry {
    struct entry *next;
    struct arena *arena;
    struct exprs *ex;
    const struct code *code;
    uint32_t pc;
    const struct compile_options *how;
    bool grad_enabled;
    struct autocast autocast;
    int64_t math_flags;

    /* Places, bases before what lies in them; place i has slot i. */
    const struct place **places;
    uint32_t *bases;   /* slot of each one's base */
    struct py *values; /* of the frame looked at last */
    uint32_t n_places;
    /* What the places lead through, and its version when all guards held: if the frame's own values
     * and all versions are as they were, so is everything behind them. */
    struct watch *watch;
    uint32_t *roots, *root_guards,
        *root_tensors; /* places without a base, and what is about them */
    uint32_t n_watch, n_roots, n_root_guards, n_root_tensors;
    bool watching;
    struct guard *guards;
    uint32_t n_guards;
    struct tensor_guard *tensors;
    uint32_t n_tensors;
    struct alias *aliases;
    uint32_t n_aliases;
    uint32_t *updates; /* of tensors: those that are updated in place */
    uint32_t n_updates;
    struct symbol *symbols;
    int64_t *symbol_values;
    uint32_t n_symbols;
    ex *conditions;
    uint32_t n_conditions;

    struct graph *graph; /* NULL: nothing to compute */
    bool *has_gradient;  /* of its outputs, which need it where autograd is asked */
    uint32_t *inputs;    /* input i of the graph is tensors[inputs[i]] */
    node_id *outputs;    /* output i is this node of the trace */
    struct meta *laid;   /* and lies so in the program's memory; rank 0: row-major */
    uint32_t n_outputs, n_ops;
    uint32_t n_random; /* random tensors of the graph, under seed, numbered from random_base */
    uint64_t seed;
    ex random_base;
    void *callable;
    struct py function;  /* what how->function has made of the graph */
    struct graph *joint; /* forward and gradients; made when first needed */
    void *joint_callable;

    struct segment_end end;
    struct attribute_effect *effects;
    uint32_t n_effects;
};

/* What is known of a code object. */
struct compiled_code {
    struct compiled_code *next;
    const struct code *code;
    struct entry *entries; /* the last hit first */
    struct seen *seen;
    bool *opaque; /* instructions that no trace can start at */
    bool warned;
};

struct trace {
    struct vm *vm;
    struct compiled_code *code;
    struct entry *entry;
    struct frame *real;
    struct frame root;
    uint32_t n_steps;          /* of the root frame */
    uint32_t stop_at;          /* end in front of this step */
    const struct tensor *lost; /* a view that outlives the segment and cannot be taken again */
    bool is_static;            /* no symbolic sizes: they got in the way */
    bool endless;              /* it came to a limit */
    bool op_refused;           /* an operator refused its operands */
    const char *reason;
    struct span where;
    VEC(struct tensor_guard) tensors;
    VEC(struct alias) apart; /* of tensors, that the program has told from each other */
    VEC(struct symbol) symbols;
    VEC(ex) conditions;
    VEC(struct attribute_effect) effects;
    VEC(const char *) notes; /* for WS_LOGS=dynamic: what is symbolic, and why */
};

/* -- trace.c */
struct trace_failure {
    const char *reason; /* NULL: none */
    struct span where;
};
/* A new entry for the frame as it is now; NULL if its first instruction cannot be traced. why: what
 * ended it before the function returned. */
struct entry *trace_frame(struct vm *vm, struct frame *f, struct compiled_code *code,
                          const struct compile_options *how, struct trace_failure *why);
void entry_need_place(struct vm *vm, struct entry *e, const struct place *p);
/* An attribute set while tracing on an object that exists outside. */
bool trace_attribute(const struct vm *vm, const struct instance *o, const char *name,
                     struct py *out);

/* -- entry_check.c */
/* NULL if the guards hold for the frame, whose values are then in e->values; else why not. The
 * text is made only if wanted. */
const char *entry_check(struct vm *vm, struct entry *e, struct frame *f, bool want_text);
uint32_t place_slot(const struct entry *e, const struct place *p);

int64_t entry_number(const struct entry *e, ex x); /* under the sizes of the frame looked at last */

/* -- rebuild.c */
/* Put the frame where the segment ends; outputs are those of the graph. True with *value if it
 * returns. */
bool entry_finish(struct vm *vm, const struct entry *e, struct frame *f, const struct py *outputs,
                  struct py *value);
/* Every tensor of the trace that the end of the segment needs. */
void entry_collect_outputs(struct vm *vm, struct entry *e);

/* -- graph_rows.c */
/* The graph as a list of tuples, sizes that are symbols first. */
struct py graph_rows(struct vm *vm, const struct graph *g, const struct symbol *symbols,
                     uint32_t n);
/* What AOTAutograd makes of it: (rows of the forward in primitives, rows of the gradients or None,
 * which of the inputs and, behind them, of the floating outputs' gradients these take, which inputs
 * and which outputs have a gradient). */
struct py graph_aot_rows(struct vm *vm, const struct entry *e);

/* -- dynamo.c */
/* f(...) with nothing in it compiled. */
struct py dynamo_call_eagerly(struct vm *vm, struct py f, const struct args *a);
/* Where lines of it lie: the program's file, if it is a function of ours. */
const struct source *code_source(const struct vm *vm, const struct code *c);
bool dynamo_logs(const struct vm *vm, enum log_name topic); /* does WS_LOGS ask for it? */
void dynamo_say(struct vm *vm, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct py dynamo_run(struct vm *vm, struct frame *f);
const struct compile_options *compile_options_find(const struct vm *vm, int64_t id); /* or NULL */
/* callee(...) under torch.compile: a function, a method, or a module. */
struct py dynamo_call(struct vm *vm, const struct compile_options *how, struct py callee,
                      const struct args *a);
struct backend;
struct bindings;
void run_graph(struct vm *vm, const struct backend *backend, struct graph *g, void *callable,
               const struct bindings *b, struct tensor *const *inputs, struct py *outputs);

/* -- tape.c */
void tape_record_entry(struct vm *vm, struct entry *e, const struct bindings *b,
                       struct tensor *const *inputs, const struct py *outputs);
/* outputs were computed from inputs by the program's torch.autograd.Function. */
void tape_record_function(struct vm *vm, const char *name, struct py function,
                          const struct list *inputs, const struct list *outputs);
struct py tape_grad(struct vm *vm, const struct list *roots, const struct list *of,
                    const struct list *tangents, bool create_graph);

#endif

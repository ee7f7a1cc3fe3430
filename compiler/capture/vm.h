/* vm.h: the symbolic VM: what its files share. Private to capture.
 *
 * Errors leave by longjmp: a Python exception to the innermost frame that handles it (vm.c), a
 * refusal of ours all the way out (capture.c) with the message in vm->diag. Everything is in
 * arenas, so nothing has to be undone, and functions below return their result and nothing else.
 *
 * Two phases. Before forward is called (`tracing` false) tensors are nodes of the init graph: the
 * program that computes the inputs and parameters. While it runs, operators go to the captured
 * graph, and a tensor of the init graph that is touched becomes an input of it. */
#ifndef WS_CAPTURE_VM_H
#define WS_CAPTURE_VM_H

#include <setjmp.h>

#include "capture/capture.h"
#include "capture/natives.h"
#include "capture/value.h"

enum {
    MAX_CALLS = 200,     /* calls of the user's functions inside each other */
    MAX_FRAMES = 900,    /* with those of the prelude */
    MAX_ITEMS = 1 << 28, /* of a list */
    MAX_BYTES = 1 << 30, /* of a str */
};

struct block {
    bool handler;    /* of an exception being handled, else a try block */
    bool passes;     /* try: of a with that lets all exceptions through, as of torch.no_grad() */
    int32_t target;  /* try: the handler */
    uint32_t depth;  /* try: of the stack */
    struct py error; /* handler: what it handles */
};

struct frame {
    struct frame *caller;
    const struct code *code;
    struct module *module; /* globals */
    struct dict *names;    /* own namespace: module and class bodies */
    struct py *locals;
    struct cell **cells;
    struct py *stack;
    uint32_t depth;
    uint32_t pc; /* the instruction being run */
    VEC(struct block) blocks;
    const struct place *source; /* of the function, while tracing */
    bool compiled;              /* runs in segments (dynamo.h) */
    bool direct;                /* it and its callers were entered by call instructions */
    bool yielded;               /* it has stopped in the middle */
    bool resumed;               /* and is to go on, with */
    struct py sent, thrown;     /* a value, or unless it is UNSET an exception */
};

/* What must hold when a captured graph is used again. */
enum guard_kind {
    GUARD_VALUE,    /* the constant at the place equals v */
    GUARD_LENGTH,   /* the container there has n items */
    GUARD_KEYS,     /* the dict or set there has the keys of the list v, in this order */
    GUARD_ABSENT,   /* the object there has no attribute v */
    GUARD_HAS,      /* v is a key there if n, else it is none */
    GUARD_TYPE,     /* what is there is of class v */
    GUARD_IDENTITY, /* what is there is v itself */
    GUARD_NUMBERS,  /* the tensor there has the elements v; of workloads alone, without a place */
};
struct guard {
    enum guard_kind kind;
    const struct place *place;
    uint32_t slot; /* of the place in its entry */
    struct py v;
    int64_t n;
    const char *text; /* "L['self'].eps == 1e-05" */
};

/* How tensors are printed: torch.set_printoptions(). */
enum scientific { SCIENTIFIC_AUTO, SCIENTIFIC_NEVER, SCIENTIFIC_ALWAYS };
struct print_options {
    int precision;
    int64_t threshold, edge, line;
    enum scientific scientific;
};

/* torch.compiler.set_stance() */
enum stance { STANCE_DEFAULT, STANCE_EAGER, STANCE_EAGER_ON_RECOMPILE, STANCE_FAIL_ON_RECOMPILE };

struct vm {
    struct arena *arena;
    struct diag *diag;
    struct exprs *ex;
    const struct capture_options *options;
    const struct source *file;
    const char *root;      /* the folder in which its absolute imports look */
    bool whole_packages;   /* __init__.py runs before the parts, not when a name is asked for */
    bool passed_package;   /* one did not run so */
    struct map file_codes; /* of files beside it, by path */
    struct frame *frame;
    jmp_buf *escape;  /* where an error goes */
    struct py raised; /* the exception on its way, UNSET: a refusal */
    uint32_t n_calls, n_frames;
    uint64_t n_steps;
    struct budget *budget; /* time, memory and depth; NULL: no limits */

    /* Scripts (script.c) compute as they go; everything else tracks. */
    bool eager;
    struct arena *home;      /* of what outlives a trace; vm->arena outside of one */
    struct exprs *constants; /* sizes of eager tensors */
    struct graph *op_graph;  /* of the operator being computed */
    struct arena *op_arena;  /* its memory, if nobody keeps it */
    VEC(struct tensor *) op_inputs;
    struct storage *storages; /* all memory of tensors */
    size_t n_bytes, sweep_at; /* of it, and when to look for what nobody reaches */
    bool direct;              /* a call instruction is being run */
    uint32_t n_tensors;
    uint64_t seed;     /* of random tensors */
    uint32_t n_random; /* made under it so far */
    bool grad_enabled;
    struct autocast autocast;
    int64_t
        math_flags; /* what the program allows (prelude/torch_backends.py); guarded as a whole */
    bool told_no_cuda;
    bool has_cuda;       /* tensors may be said to be there */
    struct trace *trace; /* of a compiled function of a script; else NULL */
    const struct script_options *script;
    const struct compile_options *dynamo; /* under which functions are being compiled; or NULL */
    const struct function *compiled; /* what torch.compile was given, about to be called; or NULL */
    const struct code *entered;      /* the user's code whose arguments are being taken; or NULL */
    struct compile_options *compiles;
    struct compiled_code *codes;
    struct script_counts *counts;
    uint32_t logs; /* topics (base/options.h) */
    enum stance stance;
    struct class *unsupported; /* torch._dynamo.exc.Unsupported */
    VEC(struct arena *) trace_arenas;
    VEC(const struct entry *) handed_out; /* those whose graph a backend of the program got */
    const struct place *callee;           /* of the function that is being called, while tracing */

    bool tracing;
    struct graph *init, *graph;
    VEC(struct tensor *) init_tensors;   /* of the init graph: what input i is */
    VEC(struct storage *) init_storages; /* of input i, once it may be updated in place */
    VEC(node_id) init_outputs;           /* the same after the cast that --dtype asks for */
    VEC(bool) input_grad;                /* requires_grad of input i */
    VEC(struct guard) guards;
    struct map guarded; /* texts */

    struct map modules; /* dotted name -> struct module * */
    struct module *main;
    struct dict *builtins;
    struct natives natives;
    struct class *object;
    struct class *types[PY_KIND_COUNT];
    struct class *exceptions[EXC_COUNT];
    struct print_options print;
    struct class *parameter; /* torch.nn.Parameter */
    struct class *size;      /* torch.Size */
};

/* -- vm.c */
struct vm *vm_new(struct arena *a, const struct capture_options *o, const struct source *file,
                  const char *name, struct diag *d);
/* Run step; false with vm->diag filled, or vm->raised set, if an error left it. */
/* What the flags, or the command line, say of products becomes the graph's. */
void vm_set_precision(struct vm *vm);
bool vm_protect(struct vm *vm, void (*step)(void *ctx), void *ctx);
void vm_step(struct vm *vm, struct frame *f, struct instr in);
bool vm_unwind(struct vm *vm, struct frame *f);
struct py vm_run(struct vm *vm, struct frame *f);
/* n units of work of some 10 ns that allocate nothing; refuses when the budget is spent. */
void vm_work(struct vm *vm, uint64_t n);
void vm_tick(struct vm *vm); /* an instruction, or an item */
/* What works on vm is charged to b from now on, and leaves when it is spent; NULL: no longer. */
void vm_charge(struct vm *vm, struct budget *b);
bool vm_may_be_caught(const struct vm *vm); /* what is raised here */
/* Of a workload: is its module's body, or that of a class in it, what is running? */
bool vm_in_body(const struct vm *vm);
void vm_run_module(struct vm *vm, struct module *m, const struct code *code);

/* -- error.c. All leave the caller. */
void vm_raise(struct vm *vm, enum exception e, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));
void vm_raise_value(struct vm *vm, struct py error) __attribute__((noreturn));
void vm_raise_key(struct vm *vm, struct py key) __attribute__((noreturn)); /* KeyError(key) */
/* Run step: what it says; false with *raised set if an exception of that kind left it. */
bool vm_try(struct vm *vm, enum exception kind, bool (*step)(struct vm *vm, void *ctx), void *ctx,
            bool *raised);
void vm_leave(struct vm *vm) __attribute__((noreturn)); /* with diag filled or raised set */
/* v, an exception or a class of them, becomes the exception; false: it is neither. */
bool vm_exception(struct vm *vm, struct py *v);
/* Refuse: not an exception of the program, so not to be caught by it. */
void vm_refuse(struct vm *vm, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));
/* A new pool, whose sizes refuse to overflow. */
struct exprs *vm_sizes(struct vm *vm, struct arena *a);
void vm_break(struct vm *vm, const char *what, const char *instead)
    __attribute__((noreturn));                                        /* data-dependent */
struct span vm_place(const struct vm *vm, const struct source **src); /* in the user's file */
struct span vm_line(const struct vm *vm); /* in the file that the graph is of */
/* An exception nobody caught -> diag. text: str() of it. */
void vm_report(struct vm *vm, struct py error, const char *text);
/* Of a function that calls itself as deep as the program likes: RecursionError where the stack
 * ends. */
void vm_deep(struct vm *vm);

/* -- call.c */
struct py vm_call(struct vm *vm, struct py f, const struct args *a);
struct py vm_call0(struct vm *vm, struct py f);
struct py vm_call1(struct vm *vm, struct py f, struct py x);
struct py vm_build_class(struct vm *vm, const struct args *a);
struct py vm_make_class(struct vm *vm, const char *name, const struct dict *namespace,
                        const struct args *a);
/* x.name(y...) where the class of x has such a method; false if it has none. */
struct py instance_new(struct vm *vm, struct class *c, const struct args *a); /* before __init__ */
bool vm_call_special(struct vm *vm, struct py x, const char *name, const struct py *y, uint32_t n,
                     struct py *out);

/* -- generator.c */
struct py generator_new(struct vm *vm, const struct frame *f);
struct py generator_all(struct vm *vm, const struct frame *f); /* all items, now */
/* Go on, with what is sent as the value of `yield`; false: it has returned. */
bool generator_next(struct vm *vm, struct generator *g, struct py sent, struct py *out);
/* What a frame that is resumed begins with; true: *out is its next item already. */
bool generator_resume(struct vm *vm, struct frame *f, struct py *out);
/* It has returned: StopIteration, with what it returned. */
void generator_stop(struct vm *vm, struct generator *g) __attribute__((noreturn));

/* -- attribute.c */
#define BASE_NAME "(value)" /* of the place of what an instance is of a built-in type */
/* An instance of class A(dict), class A(str, Enum) ... -> its value of the built-in type; else
 * false. */
bool instance_base(struct vm *vm, struct py v, struct py *base);
struct py py_plain(struct vm *vm, struct py v); /* that value, or v itself */
struct class *class_of(const struct vm *vm, struct py v);
bool is_instance(struct vm *vm, struct py v, struct py type); /* a class or a tuple of classes */
bool attribute_find(struct vm *vm, struct py o, const char *name, struct py *out);
struct py attribute_get(struct vm *vm, struct py o, const char *name);
bool is_missing(struct py o); /* a name of a module that is not there */
void missing_refuse(struct vm *vm, struct py o) __attribute__((noreturn));
void attribute_set(struct vm *vm, struct py o, const char *name, struct py v);
/* Into the dict of o, whatever its class says; a module's buffer stays one. */
void attribute_put(struct vm *vm, struct py o, const char *name, struct py v);
void attribute_delete(struct vm *vm, struct py o, const char *name);
struct py attribute_bind(struct vm *vm, struct py v, struct py self, struct class *class);
const char *type_name(const struct vm *vm, struct py v);

/* -- operator.c */
bool vm_truth(struct vm *vm, struct py v);
struct py vm_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                    bool in_place);
struct py vm_unary(struct vm *vm, enum unary_operator op, struct py x);
/* -- compare.c */
struct py vm_compare(struct vm *vm, enum compare_operator op, struct py x, struct py y);
bool vm_equal(struct vm *vm, struct py x, struct py y);
bool vm_less(struct vm *vm, struct py x, struct py y);

/* -- iterate.c: iteration and subscripts */
struct py vm_iter(struct vm *vm, struct py v);
bool vm_next(struct vm *vm, struct py it, struct py *out);
struct list *vm_list(struct vm *vm, struct py v); /* a new list of all items */
int64_t vm_length(struct vm *vm, struct py v);
size_t str_bytes(struct vm *vm, const char *s);  /* of what is looked through, which is charged */
int64_t str_length(const char *s, size_t bytes); /* characters */
/* Before a list or a str gets so large: MemoryError where it is more than any has. */
void vm_need_items(struct vm *vm, uint64_t n);
void vm_need_bytes(struct vm *vm, uint64_t n);
int64_t vm_index(struct vm *vm, struct py v, const char *what); /* an int, or TypeError */
struct py vm_subscript(struct vm *vm, struct py o, struct py i);
void vm_need_key(struct vm *vm, struct py key); /* may it be one of a dict? Else TypeError */
void vm_subscript_set(struct vm *vm, struct py o, struct py i, struct py v);
void vm_subscript_delete(struct vm *vm, struct py o, struct py i);
/* Bounds of a slice over n items: start, step and how many. */
void slice_bounds(struct vm *vm, const struct slice *s, int64_t n, int64_t *start, int64_t *step,
                  int64_t *count);

/* -- tensor.c: tensors and the two graphs */
struct graph *vm_graph(const struct vm *vm);       /* the one that operators go to now */
struct py tensor_new(struct vm *vm, node_id node); /* of vm_graph, with a storage of its own */
struct py tensor_new_of(struct vm *vm, node_id node, struct storage *memory);
node_id tensor_node(struct vm *vm, struct py t); /* in vm_graph */
const struct meta *tensor_meta(struct vm *vm, struct py t);
const char *input_name(struct arena *a, const char *source); /* "L['self'].w" -> "w" */
struct py tensor_size(struct vm *vm, ex size);
/* A tuple of those of dimension `from` and behind it. */
struct py tensor_sizes(struct vm *vm, const struct meta *m, int from);
/* The call with v as the argument of that name; UNSET: without it. */
struct args args_with(struct vm *vm, const struct args *a, const char *name, struct py v);
struct py args_named(const struct args *a, const char *name); /* UNSET: not given */
/* Of an operator that is called as earlier versions of PyTorch had it, what it is now. */
struct args args_of_today(struct vm *vm, enum op op, const struct args *a);
struct py tensor_op(struct vm *vm, const struct builtin *b, const struct args *a);
/* The type that torch.set_default_dtype has set, and operands that make results of it:
 * default_type.c. */
enum dtype default_type(const struct vm *vm);
struct args default_type_args(struct vm *vm, const struct builtin *b, const struct args *a);
/* The operands as torch.autocast has them, and the result of these: autocast.c. */
struct args autocast_args(struct vm *vm, const struct builtin *b, const struct args *a);
struct py autocast_result(struct vm *vm, const struct builtin *b, const struct args *a,
                          struct py out);
struct py tensor_call(struct vm *vm, enum op op, const struct py *v, uint32_t n);
/* f(..., out=to), of what f has returned: to gets its values, or each tensor in to those of one. */
struct py tensor_into(struct vm *vm, struct py to, struct py result);
bool tensor_is_complex(struct py v); /* of numbers of Python, and a dtype of these, too */
bool tensor_binary(struct vm *vm, const char *sign, struct py x, struct py y, bool in_place,
                   struct py *out);
/* x keeps its identity and gets the value of v. */
struct py tensor_assign(struct vm *vm, struct py x, struct py v);
/* -- selected.c: x[mask] in a graph */
/* x[mask], if x has rows for the mask. */
bool selected_subscript(struct vm *vm, struct py x, struct py mask, struct py *out);
/* mask.nonzero() along one dimension. */
struct py selected_places(struct vm *vm, struct py mask, int dim);
/* x[index] = v by such places; false if there are none, or *index has become a mask. */
bool selected_places_set(struct vm *vm, struct py x, struct py *index, struct py v);
/* The operator on arguments of which some are selected; false if none is. */
bool selected_op(struct vm *vm, const struct builtin *b, const struct args *a, struct py *out);
/* x[mask] = v, v selected by the same mask: *v becomes all of its rows, shaped as x is. */
bool selected_value(struct vm *vm, struct py x, struct py mask, struct py *v);
/* In place: picked becomes the result of an operator; picked[i] = v. */
struct py selected_update(struct vm *vm, struct py x, struct py result);
void selected_subscript_set(struct vm *vm, struct py x, struct py i, struct py v);
#define SELECTED_SHAPE "shape of an index by a mask" /* what nobody knows, and what to do */
#define SELECTED_INSTEAD "torch.where keeps the shape"
/* Of any tensor; of a selected one all but its first size. */
const struct meta *selected_meta(struct vm *vm, struct py t);
void selected_refuse(struct vm *vm) __attribute__((noreturn));
void tensor_set_data(struct vm *vm, struct py x, struct py v); /* x.data = v, in a graph */
/* x, which is of the graph that is built, becomes of v's memory, where v is. */
void tensor_share(struct vm *vm, struct py x, struct py v);
/* copy has the elements of a view of x that no steps lead to: it may not be updated in place, nor
 * be looked at once x was. */
void tensor_copies_view(struct vm *vm, struct py x, struct py copy);
/* Eager: how often what gradients go through was written to t's memory, as autograd sees it. */
uint32_t *tensor_recorded(const struct tensor *t);
/* A tensor of graph `of` is to require gradients: no segment's outputs can say so. */
void tensor_break_leaf(struct vm *vm, const struct graph *of);
/* How many of n operands gradients go to, from the first on: of others types and shapes count. */
uint32_t tensor_gradient_operands(enum op op, uint32_t n);
bool tensor_carries_gradient(struct vm *vm, node_id node);
node_id tensor_detached(struct vm *vm, node_id node); /* node, where gradients end */
/* -- functional.c: views and updates in place */
/* Is node, one primitive step of a view, the same memory as its operand? */
bool functional_keeps_memory(const struct graph *g, const struct node *n);
bool functional_view(struct vm *vm, struct py parent, node_id node, struct py *out);
node_id functional_node(struct vm *vm, struct tensor *t);
void functional_detach(struct vm *vm, struct tensor *t); /* autograd sees its memory apart */
void functional_write(struct vm *vm, struct py x, node_id value,
                      bool unseen);                             /* unseen: by autograd */
struct storage *functional_storage(struct vm *vm, struct py t); /* tensor.c; of an input too */
/* -- strides.c: in which order elements lie, while a graph is built */
bool strides_are_followed(enum op op);            /* does a result lie as its operands do? */
void strides_follow(struct vm *vm, node_id node); /* if so, it does from now on */
/* node in memory of m's strides: what has been written to it. */
node_id strides_as(struct vm *vm, node_id node, const struct meta *m);
/* Do m's elements fill memory, in another order than row-major? */
bool strides_permute(struct exprs *p, const struct meta *m);
void strides_forget(struct graph *g); /* what is captured lies row-major */
/* -- eager.c: tensors with values */
bool tensor_is_eager(const struct vm *vm, struct py t); /* and is it to be used as such now? */
struct py eager_new(struct vm *vm, enum dtype t, int rank, const int64_t *size);
/* Uninitialised memory, and a tensor in it; its elements have to lie there. */
struct storage *eager_storage(struct vm *vm, uint64_t bytes);
struct py eager_in(struct vm *vm, struct storage *s, enum dtype t, int rank, const int64_t *size,
                   const int64_t *stride, int64_t offset);
/* The operator applied last, node of vm->op_graph, computed. alias: it may be a view of first. */
struct py eager_compute(struct vm *vm, node_id node, const struct py *first, bool alias);
void eager_begin(struct vm *vm, bool keep);
node_id eager_input(struct vm *vm, struct tensor *t);
struct value eager_values(struct vm *vm, const struct tensor *t); /* row-major, malloc'ed */
/* Row-major, of the tensor's kind of values; and one number into a tensor of one element. */
void eager_write(const struct vm *vm, struct tensor *t, const struct value *from);
void eager_fill(const struct vm *vm, struct tensor *t, double v);
struct py eager_number(enum dtype d, const struct value *v,
                       int64_t i); /* element i as Python has it */
int64_t eager_numel(const struct vm *vm, const struct tensor *t);
int64_t eager_size(const struct vm *vm, const struct tensor *t, int dim);
int64_t eager_stride(const struct vm *vm, const struct tensor *t, int dim);
struct py eager_item(struct vm *vm, struct py t);
struct py eager_nonzero(struct vm *vm, const struct tensor *mask, int dim); /* indices along dim */
/* t's elements number places[i], in row-major order, become from[i]. */
void eager_scatter(struct vm *vm, struct tensor *t, const struct tensor *places,
                   const struct tensor *from);
struct py eager_truth(struct vm *vm, struct py t); /* of one element */
/* The tensor with its value, where it has one before forward runs; others as they are. */
/* Is a tracked tensor, in a workload, made of buffers and constants alone? */
bool tensor_is_constant(struct vm *vm, struct py t);
struct py tensor_value(struct vm *vm, struct py t);
/* torch.tensor(data) of a workload. */
struct py tensor_constant(struct vm *vm, struct py data, const enum dtype *dtype);
bool eager_holds_complex(struct py data); /* a number of a list, or of a list of lists */
struct py eager_data(struct vm *vm, struct py data, const enum dtype *dtype); /* torch.tensor() */
void eager_close(struct vm *vm);
/* -- tape.c: gradients of what was computed */
void tape_record(struct vm *vm, struct tensor *out); /* the operator computed last */
/* Before t is updated in place: tapes go on with a tensor of the values that it has now. */
void tape_leave(struct vm *vm, struct tensor *t);
/* t becomes that view of itself: what it was is another tensor of the same memory. */
void tape_reshape(struct vm *vm, struct tensor *t, const struct tensor *view);
/* Has its memory been updated through another tensor, as gradients have to know? */
bool tape_is_stale(const struct tensor *t);
void tape_move(struct tensor *to, struct tensor *from); /* to is now what from was */
/* How many; function: of the program, or UNSET. */
uint32_t tape_inputs(const struct tape *t, struct tensor *const **inputs, struct py *function);
const char *tape_name(const struct tensor *t); /* "MulBackward0" */
void tape_rename(struct tensor *t, const char *name);
/* x.grad = v: None, or a tensor of x's size and type. */
void tape_check_grad(struct vm *vm, const struct tensor *x, struct py v);
void tape_backward(struct vm *vm, const struct list *roots, const struct list *tangents,
                   bool create_graph);
/* -- trace.c */
/* A trace may change what it made itself; anything else is a graph break. what: "a list". */
/* End a trace that is too long, and the call that wanted it. */
void trace_stop(struct vm *vm, const char *what, int limit) __attribute__((noreturn));
void vm_need_own(struct vm *vm, const void *object, const char *what);
node_id trace_float(struct vm *vm, struct py v);
struct py trace_read(struct vm *vm, struct py v); /* a local that may be symbolic */
bool trace_set_attribute(struct vm *vm, struct py o, const char *name, struct py v);
struct storage *trace_storage(struct vm *vm, struct py t); /* of an input */
node_id trace_input(struct vm *vm, struct py t); /* an eager tensor that a trace touches */
/* The outside tensor whose memory it is, in the trace; NULL: the memory was made there. */
const struct tensor *trace_owner(const struct vm *vm, const struct storage *s);
/* x is y, of tensors: the answer is guarded. */
void trace_compared(struct vm *vm, struct py x, struct py y);
/* -- symint.c: ints that sizes decide */
bool symint_possible(const struct vm *vm);        /* may there be any? */
struct py symint_fix(struct vm *vm, struct py v); /* a plain int; a SYMINT is guarded to be it */
bool symint_binary(struct vm *vm, enum binary_operator op, struct py x, struct py y,
                   struct py *out);
bool symint_holds(struct vm *vm, ex condition); /* under a guard that it does, or does not */
/* x op y where one of them is a SYMINT; false if neither is, or there is no such comparison. */
bool symint_compare(struct vm *vm, enum compare_operator op, struct py x, struct py y, bool *out);
/* -- sweep.c */
void sweep_if_due(struct vm *vm);
/* -- tensor_text.c */
void tensor_print(struct vm *vm, struct buf *b, const struct tensor *t);
void tensor_print_complex(struct vm *vm, struct buf *b, const struct tensor *real,
                          const struct tensor *imag); /* of one shape */
/* -- index.c */
struct py index_of_arrays(struct vm *vm, struct py i);
/* A mask of few elements whose values are known, and so how many rows it takes: these values. */
struct py mask_known(struct vm *vm, struct py mask);
bool mask_is_constant(struct vm *vm, struct py mask); /* and so the same in every call */
struct py tensor_subscript(struct vm *vm, struct py x, struct py i);
void tensor_subscript_set(struct vm *vm, struct py x, struct py i, struct py v);

/* -- guards.c */
void guard_value(struct vm *vm, struct py v); /* a value with a source was read */
/* Of the argument `source`, a tensor, whose elements v were read. */
void guard_numbers(struct vm *vm, const char *source, struct py v);
void guard_same(struct vm *vm, struct py v); /* it matters which object of its type v is */
void guard_length(struct vm *vm, struct py v, int64_t n);
void guard_absent(struct vm *vm, struct py o, const char *name); /* an attribute of an instance */
void guard_has(struct vm *vm, struct py v, struct py key, bool has); /* of a dict or a set */
/* A container that is read as a whole: what it holds, each with its place, under a guard of how
 * much and, of dicts and sets, under which keys. v itself where nothing is traced. */
struct py guard_contents(struct vm *vm, struct py v);
/* The same of a slice, and of what is in what it holds: an argument that an operator reads. */
struct py guard_whole(struct vm *vm, struct py v);
const char *guards_text(struct vm *vm);

/* -- place.c */
bool place_is_known(const struct place *p); /* of a value that can be found again */
/* Give a value that was found at a place its source, unless it has one (invariants V1, V2), and
 * guard it. Nothing happens unless tracing, or if base, where it was found, is unknown. */
void stamp_attribute(struct vm *vm, struct py *v, const struct place *base, const char *name);
void stamp_item(struct vm *vm, struct py *v, const struct place *base, int64_t index);
void stamp_key(struct vm *vm, struct py *v, const struct place *base, struct py key);
void stamp_global(struct vm *vm, struct py *v, struct module *m, const char *name);
void stamp_cell(struct vm *vm, struct py *v, const struct place *function, uint32_t index,
                const char *name);
const struct place *place_stack(struct vm *vm, uint32_t index);
const struct place *place_over(struct vm *vm, const struct place *iterator);
const struct place *place_cell(struct vm *vm, const struct place *function, uint32_t index,
                               const char *name);
/* A value with a source is used: what a trace concludes from it must hold again. */
void guard_read(struct vm *vm, struct py v);
const struct place *place_local(struct vm *vm, uint32_t index, const char *name);
const struct place *place_item(struct vm *vm, const struct place *base, int64_t index);

/* -- modules.c */
struct module *module_import(struct vm *vm, const char *name);     /* NULL: no such module */
struct module *module_import_own(struct vm *vm, const char *name); /* one for the prelude alone */
/* What stands for a name that the module should have and does not: refused where it is used. */
struct py module_later(struct vm *vm, const char *module, const char *name);
/* Adds the names of the operators that are the module's. */
void module_operators(struct vm *vm, const struct module *m, struct dict *names);
/* As module_import(), but one whose names are refused where they are used, instead of NULL. NULL:
 * not for programs. */
struct module *module_missing(struct vm *vm, const char *name);
/* The operator of graph/ops.def, or its form in place, with a prefix as "torch." or "Tensor.". */
bool operator_find(struct vm *vm, const char *prefix, const char *name, struct py *out);
bool module_find(struct vm *vm, struct module *m, const char *name, struct py *out);
void modules_open(struct vm *vm);
/* Leaves if the text is wrong. */
const struct code *module_compile(struct vm *vm, const struct source *text);
/* Outside of any trace: what a module makes outlives it. */
void module_run(struct vm *vm, struct module *m, const struct code *code);

/* -- neighbours.c: files of the program beside the one that is run */
void neighbours_open(struct vm *vm); /* of vm->main */
/* The module of that name, which may be relative to `from`; NULL: there is no such file. */
struct module *neighbour_import(struct vm *vm, const struct module *from, const char *name);
/* What `from package import name` and `package.name` find; false: nothing. */
bool neighbour_find(struct vm *vm, struct module *m, const char *name, struct py *out);
void neighbour_begin(struct vm *vm, struct module *m); /* all its own names are there */

/* -- axes.c: the constants of the module body, "rows=4096 dim=4096"; overrides are put into a copy
 * of the code. */
const struct code *axes_apply(struct arena *a, const struct code *code,
                              const struct capture_options *o, const char **text, struct diag *d);
/* What the name gets: v, or the symbol of the axis that is to be symbolic. */
struct py axes_store(struct vm *vm, const struct frame *f, const char *name, struct py v);

/* -- builtins_python.c, methods.c, builtins_torch.c */
void builtins_open(struct vm *vm); /* classes and functions of Python */
void methods_open(struct vm *vm);  /* of str, list, tuple, dict, set */
struct py str_percent(struct vm *vm, const char *s, struct py values); /* s % values */
void math_open(struct vm *vm, struct module *m);
void torch_open(struct vm *vm, struct module *m);   /* torch */
void support_open(struct vm *vm, struct module *m); /* what the prelude is written with */
void tensor_methods_open(struct vm *vm);
void tensor_methods_extend(struct vm *vm, const struct module *m); /* by those of torch._tensor */

/* -- prelude.c */
const char *prelude_text(const char *module); /* NULL if it has none */

/* capture.c: "softmax" of "workloads/softmax.py"; what a workload file has compiled, a function or
 * a model, which is made and, if options say so, put in evaluation mode; what it is called with. */
const char *workload_name(struct arena *a, const char *path);
struct py workload_entry(struct vm *vm, const char *workload);
struct list *workload_inputs(struct vm *vm);

#endif

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
#include "capture/value.h"

enum {
    MAX_CALLS = 200,       /* calls of the user's functions inside each other */
    MAX_FRAMES = 900,      /* with those of the prelude */
    MAX_STEPS = 50000000,  /* instructions of one capture */
    MAX_MEMORY = 1 << 28,  /* bytes of values of one capture */
    MAX_REPEAT = 10000000, /* items of a list or a string made by `*` or range() */
    MAX_NESTING = 500,     /* of containers that are compared or printed */
    MAX_ARGUMENTS = 12,    /* of a native signature */
};

struct block {
    bool handler;    /* of an exception being handled, else a try block */
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
};

struct value_guard {
    const char *source, *text;
};

struct vm {
    struct arena *arena;
    struct diag *diag;
    struct exprs *ex;
    const struct capture_options *options;
    const struct source *file;
    struct frame *frame;
    jmp_buf *escape;  /* where an error goes */
    struct py raised; /* the exception on its way, UNSET: a refusal */
    uint32_t n_calls, n_frames, n_nested;
    uint64_t n_steps;

    bool tracing;
    struct graph *init, *graph;
    VEC(node_id) init_nodes;   /* init node behind input i of the captured graph */
    VEC(node_id) init_outputs; /* the same after the cast that --dtype asks for */
    VEC(bool) input_grad;      /* requires_grad of input i */
    VEC(struct value_guard) guards;
    struct map guarded; /* texts */

    struct map modules; /* dotted name -> struct module * */
    struct module *main;
    struct dict *builtins;
    struct class *object;
    struct class *types[PY_KIND_COUNT];
    struct class *exceptions[EXC_COUNT];
    struct class *parameter; /* torch.nn.Parameter */
};

/* -- vm.c */
struct py vm_run(struct vm *vm, struct frame *f);
void vm_tick(struct vm *vm); /* one step of work; refuses when there were too many */
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
/* Refuse: not an exception of the program, so not to be caught by it. */
void vm_refuse(struct vm *vm, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));
void vm_break(struct vm *vm, const char *what, const char *instead)
    __attribute__((noreturn));                                        /* data-dependent */
struct span vm_place(const struct vm *vm, const struct source **src); /* in the user's file */
/* An exception nobody caught -> diag. text: str() of it. */
void vm_report(struct vm *vm, struct py error, const char *text);
/* Enter one level of a container; leaving is vm->n_nested--. */
void vm_nest(struct vm *vm);

/* -- call.c */
struct py vm_call(struct vm *vm, struct py f, const struct args *a);
struct py vm_call0(struct vm *vm, struct py f);
struct py vm_call1(struct vm *vm, struct py f, struct py x);
struct py vm_build_class(struct vm *vm, const struct args *a);
/* x.name(y...) where the class of x has such a method; false if it has none. */
bool vm_call_special(struct vm *vm, struct py x, const char *name, const struct py *y, uint32_t n,
                     struct py *out);

/* -- attribute.c */
struct class *class_of(const struct vm *vm, struct py v);
bool is_instance(const struct vm *vm, struct py v,
                 struct py type); /* a class or a tuple of classes */
bool attribute_find(struct vm *vm, struct py o, const char *name, struct py *out);
struct py attribute_get(struct vm *vm, struct py o, const char *name);
void attribute_set(struct vm *vm, struct py o, const char *name, struct py v);
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
int64_t vm_index(struct vm *vm, struct py v, const char *what); /* an int, or TypeError */
struct py vm_subscript(struct vm *vm, struct py o, struct py i);
void vm_subscript_set(struct vm *vm, struct py o, struct py i, struct py v);
void vm_subscript_delete(struct vm *vm, struct py o, struct py i);
/* Bounds of a slice over n items: start, step and how many. */
void slice_bounds(struct vm *vm, const struct slice *s, int64_t n, int64_t *start, int64_t *step,
                  int64_t *count);

/* -- tensor.c: tensors and the two graphs */
struct graph *vm_graph(const struct vm *vm);       /* the one that operators go to now */
struct py tensor_new(struct vm *vm, node_id node); /* of vm_graph, with a storage of its own */
node_id tensor_node(struct vm *vm, struct py t);   /* in vm_graph */
const struct meta *tensor_meta(struct vm *vm, struct py t);
struct py tensor_size(struct vm *vm, ex size);
struct py tensor_op(struct vm *vm, const struct builtin *b, const struct args *a);
struct py tensor_call(struct vm *vm, enum op op, const struct py *v, uint32_t n);
bool tensor_binary(struct vm *vm, const char *sign, struct py x, struct py y, bool in_place,
                   struct py *out);
/* x keeps its identity and gets the value of v. */
struct py tensor_assign(struct vm *vm, struct py x, struct py v);
/* -- index.c */
struct py tensor_subscript(struct vm *vm, struct py x, struct py i);

/* -- guards.c */
void guard_value(struct vm *vm, struct py v); /* a value with a source was read */
void guard_length(struct vm *vm, struct py v, int64_t n);
void guard_stamp(struct vm *vm, struct py *v, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *guards_text(struct vm *vm);

/* -- modules.c */
struct module *module_import(struct vm *vm, const char *name); /* NULL: no such module */
bool module_find(struct vm *vm, struct module *m, const char *name, struct py *out);
void modules_open(struct vm *vm);

/* -- axes.c: the constants of the module body, "rows=4096 dim=4096"; overrides are put into a copy
 * of the code. */
const struct code *axes_apply(struct arena *a, const struct code *code,
                              const struct capture_options *o, const char **text, struct diag *d);

/* -- builtins_python.c, methods.c, builtins_torch.c: tables of natives */
void natives_put(struct vm *vm, struct dict *d, const char *prefix, enum py_kind self,
                 const struct native *natives, size_t n);
void builtins_open(struct vm *vm); /* classes and functions of Python */
void methods_open(struct vm *vm);  /* of str, list, tuple, dict, set */
void math_open(struct vm *vm, struct module *m);
void torch_open(struct vm *vm, struct module *m);   /* torch */
void support_open(struct vm *vm, struct module *m); /* what the prelude is written with */
void tensor_methods_open(struct vm *vm);
void tensor_methods_extend(struct vm *vm, const struct module *m); /* by those of torch._tensor */

/* -- prelude.c */
const char *prelude_text(const char *module); /* NULL if it has none */

#endif

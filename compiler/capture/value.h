/* value.h: Python values as the symbolic VM tracks them. Private to capture.
 *
 * A struct py is passed by value: a kind and a number or a pointer into the arena. Values of
 * mutable kinds share what they point to, as in Python. Tensors hold no data: a tensor is a node of
 * a graph.
 *
 * Sources. `source` says where a value can be found again when the captured graph is called:
 * "L['x']", "G['dim']", "L['self'].eps". Reading an attribute or an item of something with a source
 * stamps the result with its own.
 *   V1  source NULL: not found anywhere (computed), or not read from its place yet
 *   V2  source place_traced: made while tracing and stored somewhere; never stamped again, so
 *       never guarded
 *
 * Ownership: everything lives in the arena of the VM. */
#ifndef WS_CAPTURE_VALUE_H
#define WS_CAPTURE_VALUE_H

#include "base/base.h"
#include "frontend/frontend.h"
#include "graph/graph.h"

/* KIND(id, name of the Python type). UNSET is no value: an unbound variable, an argument not given.
 */
#define PY_KINDS(KIND)                                                                             \
    KIND(UNSET, "unset")                                                                           \
    KIND(NONE, "NoneType")                                                                         \
    KIND(BOOL, "bool")                                                                             \
    KIND(INT, "int")                                                                               \
    KIND(SYMINT, "int")                                                                            \
    KIND(FLOAT, "float")                                                                           \
    KIND(SYMFLOAT, "float")                                                                        \
    KIND(STR, "str")                                                                               \
    KIND(TUPLE, "tuple")                                                                           \
    KIND(LIST, "list")                                                                             \
    KIND(DICT, "dict")                                                                             \
    KIND(SET, "set")                                                                               \
    KIND(SLICE, "slice")                                                                           \
    KIND(RANGE, "range")                                                                           \
    KIND(ITER, "iterator")                                                                         \
    KIND(GENERATOR, "generator")                                                                   \
    KIND(ELLIPSIS, "ellipsis")                                                                     \
    KIND(NOT_IMPLEMENTED, "NotImplementedType")                                                    \
    KIND(CELL, "cell")                                                                             \
    KIND(FUNCTION, "function")                                                                     \
    KIND(METHOD, "method")                                                                         \
    KIND(BUILTIN, "builtin_function_or_method")                                                    \
    KIND(CLASS, "type")                                                                            \
    KIND(INSTANCE, "object")                                                                       \
    KIND(SUPER, "super")                                                                           \
    KIND(STATICMETHOD, "staticmethod")                                                             \
    KIND(CLASSMETHOD, "classmethod")                                                               \
    KIND(PROPERTY, "property")                                                                     \
    KIND(MODULE, "module")                                                                         \
    KIND(TENSOR, "Tensor")                                                                         \
    KIND(DTYPE, "dtype")

enum py_kind {
#define KIND(id, name) PY_##id,
    PY_KINDS(KIND)
#undef KIND
        PY_KIND_COUNT
};

/* EXCEPTION(name, base), bases first. */
#define EXCEPTIONS(EXCEPTION)                                                                      \
    EXCEPTION(Exception, BaseException)                                                            \
    EXCEPTION(GeneratorExit, BaseException)                                                        \
    EXCEPTION(KeyboardInterrupt, BaseException)                                                    \
    EXCEPTION(SystemExit, BaseException)                                                           \
    EXCEPTION(ArithmeticError, Exception)                                                          \
    EXCEPTION(OverflowError, ArithmeticError)                                                      \
    EXCEPTION(ZeroDivisionError, ArithmeticError)                                                  \
    EXCEPTION(AssertionError, Exception)                                                           \
    EXCEPTION(AttributeError, Exception)                                                           \
    EXCEPTION(ImportError, Exception)                                                              \
    EXCEPTION(ModuleNotFoundError, ImportError)                                                    \
    EXCEPTION(MemoryError, Exception)                                                              \
    EXCEPTION(LookupError, Exception)                                                              \
    EXCEPTION(IndexError, LookupError)                                                             \
    EXCEPTION(KeyError, LookupError)                                                               \
    EXCEPTION(NameError, Exception)                                                                \
    EXCEPTION(UnboundLocalError, NameError)                                                        \
    EXCEPTION(OSError, Exception)                                                                  \
    EXCEPTION(FileNotFoundError, OSError)                                                          \
    EXCEPTION(FileExistsError, OSError)                                                            \
    EXCEPTION(RuntimeError, Exception)                                                             \
    EXCEPTION(NotImplementedError, RuntimeError)                                                   \
    EXCEPTION(RecursionError, RuntimeError)                                                        \
    EXCEPTION(StopIteration, Exception)                                                            \
    EXCEPTION(SyntaxError, Exception)                                                              \
    EXCEPTION(TypeError, Exception)                                                                \
    EXCEPTION(ValueError, Exception)                                                               \
    EXCEPTION(Warning, Exception)                                                                  \
    EXCEPTION(UserWarning, Warning)                                                                \
    EXCEPTION(DeprecationWarning, Warning)                                                         \
    EXCEPTION(FutureWarning, Warning)                                                              \
    EXCEPTION(RuntimeWarning, Warning)                                                             \
    EXCEPTION(ImportWarning, Warning)                                                              \
    EXCEPTION(PermissionError, OSError)                                                            \
    EXCEPTION(TimeoutError, OSError)                                                               \
    EXCEPTION(ConnectionError, OSError)                                                            \
    EXCEPTION(BlockingIOError, OSError)                                                            \
    EXCEPTION(ChildProcessError, OSError)                                                          \
    EXCEPTION(InterruptedError, OSError)                                                           \
    EXCEPTION(IsADirectoryError, OSError)                                                          \
    EXCEPTION(NotADirectoryError, OSError)                                                         \
    EXCEPTION(ProcessLookupError, OSError)                                                         \
    EXCEPTION(BrokenPipeError, ConnectionError)                                                    \
    EXCEPTION(ConnectionAbortedError, ConnectionError)                                             \
    EXCEPTION(ConnectionRefusedError, ConnectionError)                                             \
    EXCEPTION(ConnectionResetError, ConnectionError)                                               \
    EXCEPTION(BufferError, Exception)                                                              \
    EXCEPTION(ReferenceError, Exception)                                                           \
    EXCEPTION(StopAsyncIteration, Exception)                                                       \
    EXCEPTION(SystemError, Exception)                                                              \
    EXCEPTION(IndentationError, SyntaxError)                                                       \
    EXCEPTION(UnicodeError, ValueError)                                                            \
    EXCEPTION(UnicodeDecodeError, UnicodeError)                                                    \
    EXCEPTION(UnicodeEncodeError, UnicodeError)                                                    \
    EXCEPTION(PendingDeprecationWarning, Warning)                                                  \
    EXCEPTION(ResourceWarning, Warning)                                                            \
    EXCEPTION(SyntaxWarning, Warning)                                                              \
    EXCEPTION(UnicodeWarning, Warning)                                                             \
    EXCEPTION(BytesWarning, Warning)                                                               \
    EXCEPTION(EOFError, Exception)                                                                 \
    EXCEPTION(FloatingPointError, ArithmeticError)

enum exception {
    EXC_BaseException,
#define EXCEPTION(name, base) EXC_##name,
    EXCEPTIONS(EXCEPTION)
#undef EXCEPTION
        EXC_COUNT
};

struct py {
    enum py_kind kind;
    union {
        bool b;
        int64_t i;
        ex symbolic;   /* SYMINT: an int that a size decides */
        double f;      /* SYMFLOAT too: a float that is an input of the graph */
        const char *s; /* UTF-8 */
        void *p;       /* identity of everything below */
        struct list *list;
        struct dict *dict;
        struct slice *slice;
        struct range *range;
        struct iter *iter;
        struct generator *generator;
        struct cell *cell;
        struct function *function;
        struct method *method;
        const struct builtin *builtin;
        struct class *class;
        struct instance *instance;
        struct super *super;
        struct py *wrapped; /* STATICMETHOD, CLASSMETHOD: one; PROPERTY: N_PROPERTY */
        struct module *module;
        struct tensor *tensor;
        enum dtype dtype;
    };
    const struct place *source;
};

/* What a property is made of; UNSET: it has none. */
enum property_part { PROPERTY_GET, PROPERTY_SET, PROPERTY_DELETE, PROPERTY_DOC, N_PROPERTY };

/* Where a value lies when a frame is entered. Steps start at the frame and go on through `base`. */
enum place_kind {
    PLACE_LOCAL,  /* local `index` of the frame, called name */
    PLACE_STACK,  /* slot `index` of its stack, from the bottom */
    PLACE_CELL,   /* content of its cell `index`; with a base, of that function's closure */
    PLACE_GLOBAL, /* name in the namespace of module */
    PLACE_ATTR,   /* base.name */
    PLACE_ITEM,   /* base[index] of a list or tuple */
    PLACE_KEY,    /* base[key] of a dict */
    PLACE_OVER,   /* what the iterator base walks */
    PLACE_NONE,   /* place_traced */
};
struct place {
    enum place_kind kind;
    const struct place *base;
    const char *name;
    struct module *module;
    int64_t index;
    const struct py *key;
    const char *text; /* "L['self'].eps", for people */
    const char *path; /* the same, and unique */
};
extern const struct place place_traced;

struct list { /* LIST and TUPLE */
    struct py *at;
    uint32_t n, cap;
    bool is_size;     /* a torch.Size */
    const char *view; /* "dict_keys": what a dict's list of keys is called; else NULL */
    uint32_t version; /* counts changes, as that of a dict, a cell and a tensor's shape */
};

struct dict_entry {
    struct py key, value;
    bool live;
};
struct dict { /* DICT and SET, namespaces too; in insertion order */
    struct map index;
    VEC(struct dict_entry) entries; /* with holes where keys were deleted */
    uint32_t n, version;
};

struct slice {
    struct py start, stop, step;
};
struct range {
    int64_t start, stop, step;
};

/* What `for` walks: a list or tuple in place, a range, or an object with __next__. */
struct iter {
    struct py over;
    uint32_t i;
};

/* A call of a function that yields. */
struct generator {
    struct frame *frame; /* where it stopped */
    bool started, running, ended;
    struct py result; /* ended: what it returned */
};

struct cell {
    struct py v; /* UNSET if empty */
    uint32_t version;
    bool traced;         /* made while tracing: its content has no place outside */
    struct cell *shadow; /* while tracing: what stands for a cell of the frame; else NULL */
};

struct function {
    const struct code *code;
    struct module *module; /* its globals */
    struct list *defaults; /* NULL if none */
    struct dict *kwdefaults;
    struct cell **closure;
    struct dict *attributes; /* NULL until one is set */
    bool is_eager;           /* torch.compiler.disable */
};
struct method {
    struct py function, self;
};

struct vm;
struct args { /* of a call: positional, then named */
    const struct py *at;
    uint32_t n;
    const char *const *names;
    const struct py *named;
    uint32_t n_named;
};

/* torch.autocast: 0, or 1 + its type, of the CPU and of the GPU; and torch.set_default_dtype: 0 of
 * f32, or 1 + the type. */
struct autocast {
    uint8_t of[2], standard;
};

struct native; /* a function written in C: natives.h */
struct builtin {
    const char *name;            /* "torch.softmax", "len" */
    const struct native *native; /* NULL: an operator of the graph */
    enum op op;
    bool in_place; /* Tensor.add_: writes its result into the first argument */
};

struct class {
    const char *name, *doc; /* doc: its docstring, or NULL */
    struct module *module;
    struct class **mro; /* itself first, object last */
    uint32_t n_mro;
    struct class *const *bases; /* as they were named */
    uint32_t n_bases;
    struct dict *dict;
    const struct class *meta; /* has what is asked of the class itself: its length, its call */
    const struct native
        *construct; /* makes an instance of a type that is not an INSTANCE: int, list, range */
    bool sealed;    /* its instances are not INSTANCE */
    const struct class
        *built_in; /* class A(dict): dict, of which instances have a value; or NULL */
};
struct instance {
    struct class *class;
    struct dict *dict;
    struct py
        base; /* its value as one of class->built_in: a dict, a str ...; UNSET if there is none */
    const struct source *raised_in; /* exceptions: where they were raised first */
    struct span raised_at;
};
struct super {
    struct class *after; /* look in self's mro behind this one */
    struct py self;
};

struct module {
    const char *name; /* dotted */
    struct dict *dict;
    struct dict *hidden; /* private natives by the names that its own code has for them; or NULL */
    bool prelude;        /* ours: errors in it are shown at the user's call */
    bool missing;        /* there is no such module */
    const char *any_of;  /* one that is not there and that it imports * from; or NULL */
    /* Of a file of the program (neighbours.c): */
    const char *folder;         /* where its own relative imports look */
    const struct source *begin; /* of a package whose names nobody has asked for: __init__.py */
    bool package;
    const struct code *body; /* while it runs, and behind an exception that left it */
};

/* Tensors that may share memory share a storage. That of an eager tensor is memory; that of tracked
 * ones is a node, and each tensor knows the steps of its view from there (functional.c). */
struct storage {
    node_id base;         /* tracked: the value of all of it */
    unsigned char *bytes; /* malloc'ed, owned by the VM (eager.c) */
    size_t size;
    uint32_t version;              /* counts updates in place, of both kinds */
    uint32_t recorded;             /* eager: those that gradients go through */
    bool shared;                   /* tracked: several tensors of it outlive their segment */
    bool given;                    /* tracked: another tensor's .data, too */
    bool marked;                   /* by the sweep that frees what nobody reaches */
    const struct storage *updated; /* eager, while an entry is checked: the trace's that changes */
    struct storage *next;
};
/* What autograd sees of a memory through a detached tensor and the views of it: what is written
 * through them has a gradient there alone. */
struct detached {
    node_id base;      /* the value of all of it */
    uint32_t version;  /* of the storage that it was then; else it is the storage's, detached */
    uint32_t recorded; /* eager: as a storage's */
};
struct view_step { /* a VIEW operator; args[0] is what it is applied to */
    enum op op;
    const struct arg *args;
    uint8_t n_args;
};
/* Which rows of a tracked tensor count, as x[mask] has them: see selected.c. */
struct selection {
    node_id mask;   /* as the program gave it */
    node_id rows;   /* of one dimension */
    bool has_place; /* of a mask of one dimension, the places of all rows were asked for */
    node_id place;
};

struct tensor {
    struct graph *graph; /* init or captured; NULL: eager, with a value in storage */
    node_id node;
    enum input_kind kind;             /* what it is once it becomes an input */
    const struct selection *selected; /* NULL: it is what node is */
    struct selected_part *part;       /* selected, and a view of what is; else NULL */
    struct storage *storage;
    bool requires_grad;
    bool retains_grad; /* keeps its gradient though it was computed */
    bool on_cuda;      /* eager: what .device says */
    uint8_t dynamic;   /* eager: dimensions that mark_dynamic() named, a bit each */

    /* Tracked tensors. */
    const struct view_step *steps; /* from storage->base to node */
    bool detached;        /* as .data is: its memory is another's, its gradient ends here */
    struct detached *own; /* if so */
    bool lost_view; /* while tracing: of another's memory, by steps that a graph cannot repeat */
    const struct storage *viewed; /* whose copy it is, at version viewed_at; else NULL */
    uint32_t viewed_at;
    uint32_t made_at;       /* the step of the trace at which it was made */
    uint32_t n_steps, seen; /* seen: version of the storage that node is of */

    /* Eager tensors. */
    struct meta meta; /* constants of vm->constants */
    int64_t offset;   /* of the first element in storage, in elements */
    uint32_t version; /* of all but the values; of a selected tensor, of these */
    uint32_t id;      /* counts tensors: a place in the order of making */
    struct tensor *grad;
    struct tape *tape;     /* how it was computed from tensors that require gradients; else NULL */
    struct tape_use *uses; /* tapes that it is an input of */
    uint32_t output;       /* which output of tape */
    uint32_t recorded;     /* the memory's when tape was all there was to know */
    uint32_t retained;     /* the memory's when retain_grad() was called */
    struct dict *hooks;    /* number -> function of the gradient; NULL if there are none */
    struct dict
        *grad_hooks; /* number -> function of the tensor, once it has its grad; NULL: none */

    struct dict *attributes; /* what the program has set: p.no_decay = True; NULL: nothing */
};

/* -- value.c */
extern const struct py py_unset, py_none, py_ellipsis, py_not_implemented, py_true, py_false;
struct py py_bool(bool b);
struct py py_int(int64_t i);
struct py py_symint(ex e);
struct py py_float(double f);
struct py py_str(const char *s);
struct py py_strf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct py py_dtype(enum dtype d);
struct py py_pointer(enum py_kind kind, void *p);
struct py py_list(struct arena *a, enum py_kind kind, const struct py *at,
                  uint32_t n);                         /* LIST or TUPLE; copies */
struct py py_dict(struct arena *a, enum py_kind kind); /* DICT or SET */
struct py py_range(struct arena *a, int64_t start, int64_t stop, int64_t step);
struct py py_method(struct arena *a, struct py function, struct py self);
struct py py_wrap(struct arena *a, enum py_kind kind, struct py wrapped);
struct py py_property(struct arena *a, struct py get);
struct py py_native(struct arena *a, const struct native *native);
struct py py_constant(struct arena *a, const struct constant *k); /* not of code */

bool py_is_number(struct py v);   /* bool, int, float */
bool py_is_constant(struct py v); /* numbers, str, None, dtype: what a guard can compare */
bool py_is_sequence(struct py v); /* list or tuple */
double py_number(struct py v);
bool py_is_object(struct py v);         /* known by its address */
bool py_same(struct py x, struct py y); /* x is y */
/* Everything that v itself holds: items, attributes of an instance, what a function closes over.
 * Not what a class, a module or a tensor leads to. */
void py_visit(struct py v, void (*visit)(void *ctx, struct py child), void *ctx);
int64_t range_length(const struct range *r);

struct dict *dict_new(struct arena *a);
bool dict_key_ok(struct py key); /* hashable */
bool dict_get(struct arena *a, const struct dict *d, struct py key, struct py *out);
void dict_put(struct arena *a, struct dict *d, struct py key, struct py value);
bool dict_delete(struct arena *a, struct dict *d, struct py key);
bool dict_gets(const struct dict *d, const char *key, struct py *out);
void dict_puts(struct arena *a, struct dict *d, const char *key, struct py value);
void dict_update(struct arena *a, struct dict *d, const struct dict *from);

struct class *class_new(struct arena *a, const char *name,
                        struct class *base); /* base NULL: object itself */
/* C3 linearisation of a class over its bases; false if there is none. */
bool class_linearize(struct arena *a, struct class *c, struct class *const *bases, uint32_t n);
bool class_is(const struct class *c, const struct class *ancestor);
bool class_find(const struct class *c, const char *name, struct py *out); /* along the mro */

/* -- format.c: text of values. Instances with __repr__ or __str__ of their own are called through
 * the VM. */
const char *py_repr(struct vm *vm, struct py v);
const char *py_text(struct vm *vm, struct py v); /* str(v) */
const char *py_format(struct vm *vm, struct py v, const char *spec);

#endif

/* natives.h: functions in C that Python calls, from the one table natives.def. Private to capture.
 *
 *   [1].insert("0", x)     TypeError: 'str' object cannot be interpreted as an integer
 *   [1].insert(True, x)    native_list_insert(vm, v = {[1], 1, x}, rest)
 *
 * Invariants of a call:
 * N1. v[i] is the argument of the i-th parameter, of a kind that the signature says; UNSET if it
 *     was left out. A derived object stands for its value: of class A(str) the str.
 * N2. What is said to be a list of tensors or strings is a copy that nobody else holds: what the
 *     program runs meanwhile does not change it.
 * N3. rest is what *rest and **named have taken; empty where a signature has neither.
 * N4. A private native is found by the prelude's own code alone: see names_hidden. */
#ifndef WS_CAPTURE_NATIVES_H
#define WS_CAPTURE_NATIVES_H

#include "capture/value.h"

/* KIND(id, what an argument is said to have to be). An argument of kind int or real becomes one:
 * __index__(), a tensor of one element. A class float, int or bool is a dtype, too. */
#define NATIVE_KINDS(KIND)                                                                         \
    KIND(none, "None")                                                                             \
    KIND(str, "str")                                                                               \
    KIND(name, "string")                                                                           \
    KIND(strings, "tuple of str")                                                                  \
    KIND(tensor, "Tensor")                                                                         \
    KIND(tensors, "tuple of Tensors")                                                              \
    KIND(gradients, "tuple of Tensors or None")                                                    \
    KIND(dtype, "torch.dtype")                                                                     \
    KIND(class, "type")                                                                            \
    KIND(sequence, "list or tuple")                                                                \
    KIND(named, "dict of names")                                                                   \
    KIND(error, "an exception")                                                                    \
    KIND(int, "int")                                                                               \
    KIND(real, "real number")

enum native_kind {
#define KIND(id, shown) KIND_##id,
    NATIVE_KINDS(KIND)
#undef KIND
        KIND_COUNT
};
_Static_assert(KIND_COUNT <= 32, "a bit of native_parameter.kinds for each");

/* PLACE(id, of what kind self is or UNSET, what its functions are called before their name) */
#define NATIVE_PLACES(PLACE)                                                                       \
    PLACE(BUILTINS, UNSET, "")                                                                     \
    PLACE(TYPES, UNSET, "")                                                                        \
    PLACE(OBJECT, UNSET, "object.")                                                                \
    PLACE(EXCEPTION, INSTANCE, "BaseException.")                                                   \
    PLACE(LIST, LIST, "list.")                                                                     \
    PLACE(TUPLE, TUPLE, "tuple.")                                                                  \
    PLACE(DICT, DICT, "dict.")                                                                     \
    PLACE(DICT_CLASS, UNSET, "dict.")                                                              \
    PLACE(SET, SET, "set.")                                                                        \
    PLACE(INT, INT, "int.")                                                                        \
    PLACE(FLOAT, FLOAT, "float.")                                                                  \
    PLACE(STR, STR, "str.")                                                                        \
    PLACE(PROPERTY, PROPERTY, "property.")                                                         \
    PLACE(GENERATOR, GENERATOR, "generator.")                                                      \
    PLACE(MATH, UNSET, "math.")                                                                    \
    PLACE(TENSOR, TENSOR, "Tensor.")                                                               \
    PLACE(TENSOR_PROPERTIES, TENSOR, "")                                                           \
    PLACE(DTYPE_PROPERTIES, DTYPE, "")                                                             \
    PLACE(PRIVATE, UNSET, "")                                                                      \
    PLACE(SHARED, UNSET, "")

enum { MAX_ARGUMENTS = 12 }; /* parameters of a native */

enum native_place {
#define PLACE(id, self, prefix) PLACE_##id,
    NATIVE_PLACES(PLACE)
#undef PLACE
        NATIVE_PLACE_COUNT
};

typedef struct py native_call_fn(struct vm *vm, const struct py *v, const struct args *rest);

struct native_parameter {
    const char *name;
    uint32_t kinds; /* bits of enum native_kind; 0: anything */
    bool optional;
};

struct native {
    const char *name;      /* "list.insert", for messages */
    const char *leaf;      /* "insert" */
    const char *signature; /* as the table has it */
    enum native_place place;
    enum py_kind self; /* of the first argument; UNSET: anything */
    native_call_fn *call;
    const struct native_parameter *parameters;
    uint32_t n, n_nameless, n_positional; /* parameters; before `/`; before `*` */
    bool rest, named, changes, symbolic;  /* *rest, **named, ! and # */
};

/* All natives, read from the table. */
struct natives {
    const struct native *at;
    uint32_t n;
};
struct natives natives_new(struct arena *a);
/* All of a place get their names in d. */
void natives_put(struct vm *vm, struct dict *d, enum native_place place);
/* As properties of a class. */
void natives_put_properties(struct vm *vm, struct class *c, enum native_place place);
/* The one of that name, which has to be there. */
const struct native *native_find(const struct vm *vm, enum native_place place, const char *name);
bool native_is_private(struct py v);
struct py native_call(struct vm *vm, const struct native *f, const struct args *a);

#define NATIVE(place, function, signature) native_call_fn native_##function;
#include "capture/natives.def"
#undef NATIVE

/* How the files that have them begin one. */
#define NATIVE(name)                                                                               \
    struct py native_##name(struct vm *vm, const struct py *v, const struct args *rest)
#define GIVEN(i) (v[i].kind != PY_UNSET)

#endif

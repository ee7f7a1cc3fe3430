/* dtype.h: the element types, one line each.
 *
 *   DTYPE(name, printed, torch name, bytes, class, rank, math, digits, smallest, largest)
 *
 * class: B bool, U unsigned integer, I signed integer, F floating point.
 * rank: orders types for promotion among integers, and among floats.
 * math: the type that maths on it is done in (PyTorch's opmath): floats of fewer bits compute in
 *       f32, integers narrower than i32 in i32, cut off to their own bits; others in themselves.
 * digits: bits of a value's magnitude; of floats, the first one counts though it is not stored.
 * smallest, largest: of floats, the least positive value that has all its digits, and the largest
 *       finite one; 0 of others, whose range is in their digits. */
#ifndef WS_BASE_DTYPE_H
#define WS_BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DTYPES(DTYPE)                                                                              \
    DTYPE(BOOL, "bool", "bool", 1, 'B', 0, BOOL, 1, 0, 0)                                          \
    DTYPE(U8, "u8", "uint8", 1, 'U', 0, I32, 8, 0, 0)                                              \
    DTYPE(I8, "i8", "int8", 1, 'I', 0, I32, 7, 0, 0)                                               \
    DTYPE(I16, "i16", "int16", 2, 'I', 1, I32, 15, 0, 0)                                           \
    DTYPE(I32, "i32", "int32", 4, 'I', 2, I32, 31, 0, 0)                                           \
    DTYPE(I64, "i64", "int64", 8, 'I', 3, I64, 63, 0, 0)                                           \
    DTYPE(F8E4M3, "f8e4m3", "float8_e4m3fn", 1, 'F', -1, F32, 4, 0x1p-6, 448)                      \
    DTYPE(F8E5M2, "f8e5m2", "float8_e5m2", 1, 'F', -1, F32, 3, 0x1p-14, 57344)                     \
    DTYPE(F16, "f16", "float16", 2, 'F', 0, F32, 11, 0x1p-14, 65504)                               \
    DTYPE(BF16, "bf16", "bfloat16", 2, 'F', 0, F32, 8, 0x1p-126, 0x1.fep127)                       \
    DTYPE(F32, "f32", "float32", 4, 'F', 1, F32, 24, 0x1p-126, 0x1.fffffep127)                     \
    DTYPE(F64, "f64", "float64", 8, 'F', 2, F64, 53, 0x1p-1022, 0x1.fffffffffffffp1023)

enum dtype {
#define DTYPE(name, ...) DT_##name,
    DTYPES(DTYPE)
#undef DTYPE
        DT_COUNT
};

const char *dtype_name(enum dtype d);       /* "f32" */
const char *dtype_torch_name(enum dtype d); /* "float32" */
int dtype_bytes(enum dtype d);
bool dtype_is_float(enum dtype d);
bool dtype_is_int(enum dtype d);    /* not bool */
bool dtype_is_index(enum dtype d);  /* i32 or i64: what may say where something is */
bool dtype_is_narrow(enum dtype d); /* an integer of fewer bits than maths on it: u8, i8, i16 */
bool dtype_is_float8(enum dtype d); /* what is stored and converted, and no more */

int dtype_category(enum dtype d); /* 0 bool, 1 integers, 2 floats: the higher wins a promotion */
bool dtype_has_gradient(enum dtype d);
/* Is every value of `a` one of d? */
bool dtype_holds(enum dtype d, enum dtype a);
int dtype_digits(enum dtype d); /* bits that a value's magnitude may have */
/* Of integers and bool. */
int64_t int_least(enum dtype d);
int64_t int_most(enum dtype d);

/* Of floats: half a unit in the last place of 1, by which rounding changes a value at most; the
 * largest finite value, and the smallest that has all its digits. */
double dtype_roundoff(enum dtype d);
double dtype_largest(enum dtype d);
double dtype_smallest(enum dtype d);

/* "f32", "float32", "float", "half", "double", "long", "int", "short" -> dtype; false if unknown.
 */
bool dtype_parse(const char *s, enum dtype *out);

/* How products of f32 are multiplied, where a device's matrix units could: F32 by what is fastest
 * of what is as exact as f32, STRICT by multiply-adds in f32 alone, TF32 with factors rounded to
 * tf32's 11 bits. A file or a graph asks for one of these. F8: of factors that are float8, with
 * sums as their units have them (graph/bound.c): of mm_float8 alone. */
enum precision { PRECISION_F32, PRECISION_STRICT, PRECISION_TF32, PRECISION_F8 };
const char *precision_name(enum precision p); /* "tf32" */
bool precision_parse(const char *s, enum precision *out);
/* May products of d be chained: one of what another one made, on matrix units, in one kernel? */
bool dtype_may_be_chained(enum dtype d, enum precision p);

/* The type of a op b for tensors of both types (PyTorch's promotion between tensors of rank >= 1).
 */
enum dtype dtype_promote(enum dtype a, enum dtype b);

/* The type that maths on d is done in. */
enum dtype dtype_opmath(enum dtype d);

/* What reference values of the type are kept in: integers and bools, exactly, as i64; floats as
 * f64. */
enum dtype dtype_reference(enum dtype d);

/* One element of an integer type, or of bool, to and from 64 bits, of which it keeps the low ones.
 */
int64_t dtype_load_int(enum dtype d, const void *p, size_t i);
void dtype_store_int(enum dtype d, void *p, size_t i, int64_t v);

/* What an integer type, or bool, keeps of 64 bits: the low ones. */
int64_t int_wrap(enum dtype d, int64_t v);
/* A float as an integer: cut off. What does not fit is what x86 makes of it, as of nan: the least
 * i32 or i64, of whose bits a narrower type keeps its own. */
int64_t int_of_double(enum dtype d, double v);

/* One element to and from double; memory in the element's own format (narrow floats round to
 * nearest even, integers are made by int_of_double). What f8e4m3 does not hold is nan, as in
 * PyTorch before 2.12: it has no infinity. */
double dtype_load(enum dtype d, const void *p, size_t i);
void dtype_store(enum dtype d, void *p, size_t i, double v);

#endif

/* op_size.c: how many instructions a pointwise operator is in a kernel's text.
 *
 *   sin: 33 in f32, 58 in f64        those of sm_90a, in f32 by the device prelude, in f64 by NVRTC
 *
 * What a body becomes is bounded by these: a compiler of kernels takes some 0.1 ms for each, and
 * for each place where it is made. An operator that has no row is an instruction or two. */
#include "graph/graph.h"

/* SIZE(op, f32, f64) */
#define SIZES(SIZE)                                                                                \
    SIZE(DIV, 8, 25)                                                                               \
    SIZE(RECIPROCAL, 8, 20)                                                                        \
    SIZE(POW, 93, 160)                                                                             \
    SIZE(HYPOT, 30, 42)                                                                            \
    SIZE(FMOD, 10, 10)                                                                             \
    SIZE(REMAINDER, 14, 14)                                                                        \
    SIZE(FLOOR_DIVIDE, 44, 60)                                                                     \
    SIZE(EXP, 3, 34)                                                                               \
    SIZE(LOG, 26, 81)                                                                              \
    SIZE(EXP2, 3, 34)                                                                              \
    SIZE(EXPM1, 28, 70)                                                                            \
    SIZE(LOG2, 28, 83)                                                                             \
    SIZE(LOG10, 26, 83)                                                                            \
    SIZE(LOG1P, 29, 143)                                                                           \
    SIZE(SQRT, 16, 27)                                                                             \
    SIZE(RSQRT, 4, 49)                                                                             \
    SIZE(SIN, 33, 58)                                                                              \
    SIZE(COS, 33, 60)                                                                              \
    SIZE(TAN, 46, 97)                                                                              \
    SIZE(ATAN, 18, 50)                                                                             \
    SIZE(ASIN, 22, 64)                                                                             \
    SIZE(ACOS, 23, 128)                                                                            \
    SIZE(ATAN2, 53, 127)                                                                           \
    SIZE(SINH, 23, 124)                                                                            \
    SIZE(COSH, 15, 59)                                                                             \
    SIZE(ASINH, 42, 167)                                                                           \
    SIZE(ACOSH, 42, 165)                                                                           \
    SIZE(ATANH, 36, 167)                                                                           \
    SIZE(TANH, 15, 97)                                                                             \
    SIZE(ERF, 21, 72)                                                                              \
    SIZE(ERFC, 46, 165)                                                                            \
    SIZE(NDTR, 16, 165)                                                                            \
    SIZE(SIGMOID, 5, 78)                                                                           \
    SIZE(RAND, 90, 90)                                                                             \
    SIZE(RANDN, 160, 300)

int op_size(enum op op, enum dtype t) {
    static const short sizes[OP_COUNT][2] = {
#define SIZE(id, f32, f64) [OP_##id] = {f32, f64},
        SIZES(SIZE)
#undef SIZE
    };
    int n = sizes[op][t == DT_F64];
    return n ? n : 1;
}

/* mma.c: products by one warp, and the loads of their operands.
 *
 * The lanes bring the places of their registers to a collective, as other values; the last one to
 * come does everyone's share. Where an element is, as PTX says:
 *
 *     d, 16 x 8     row l/4 + 8*(i/2)      column 2*(l%4) + i%2       register i of lane l
 *     a, 16 x 16    row l/4 + 8*(i%2)      depth 2*(l%4) + 8*(i/2)    and the next
 *     a, 16 x 8     row l/4 + 8*(i%2)      depth l%4 + 4*(i/2)        of tf32
 *     b, 16 x 8     depth 2*(l%4) + 8*i    column l/4                 and the next
 *     b, 8 x 8      depth l%4 + 4*i        column l/4                 of tf32
 *     a, 16 x 32    row l/4 + 8*(i%2)      depth 4*(l%4) + 16*(i/2)   of bytes, and the next three
 *     b, 32 x 8     depth 4*(l%4) + 16*i   column l/4                 likewise */
#include <math.h>
#include <string.h>

#include "tests/emulator/internal.h"

struct rows { /* of ldmatrix */
    unsigned *r;
    unsigned char row[16];
};

struct operands {
    float *d;
    const unsigned *a, *b;
};

static float as_float(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static double of_f16(uint16_t h) {
    unsigned exponent = h >> 10 & 31, fraction = h & 0x3ff;
    double v = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent     ? ldexp(1024 + fraction, (int)exponent - 25)
                              : ldexp(fraction, -24);
    return h & 0x8000 ? -v : v;
}

/* Of so many bits of exponent and fraction; e4m3 has no infinity, and one NaN. */
static double of_f8(unsigned char b, bool e4m3) {
    int bits = e4m3 ? 3 : 2, most = e4m3 ? 15 : 31, bias = e4m3 ? 7 : 15;
    int exponent = b >> bits & most, fraction = b & ((1 << bits) - 1);
    double v = ldexp(exponent ? (1 << bits) + fraction : fraction,
                     (exponent ? exponent : 1) - bias - bits);
    if (exponent == most && e4m3 && fraction == 7) v = (double)NAN;
    if (exponent == most && !e4m3) v = fraction ? (double)NAN : (double)INFINITY;
    return b & 0x80 ? -v : v;
}

static double of_byte(enum emu_byte type, unsigned char b) {
    if (type == EMU_S8) return (double)(signed char)b;
    return type == EMU_U8 ? (double)b : of_f8(b, type == EMU_E4M3);
}

static enum emu_byte byte_of(int type, bool left) {
    type -= EMU_BYTES;
    return left ? type / 4 : type % 4;
}

bool mma_of_integers(int type) { return type >= EMU_BYTES && byte_of(type, true) <= EMU_U8; }

unsigned mma_size(int type) { return type >= EMU_BYTES ? 1 : type == EMU_TF32 ? 4 : 2; }
unsigned mma_depth(int type) { return 32 / mma_size(type); }

double mma_number(int type, bool left, const unsigned char *at) {
    uint16_t h;
    uint32_t u;
    if (type >= EMU_BYTES) return of_byte(byte_of(type, left), *at);
    if (type == EMU_TF32) {
        memcpy(&u, at, 4);
        return (double)as_float(u & 0xffffe000);
    }
    memcpy(&h, at, 2);
    return type == EMU_F16 ? of_f16(h) : (double)as_float((uint32_t)h << 16);
}

/* Numbers of one sign lie in the order of their bits: the one before is nearer to 0. */
static float truncated(double sum) {
    float f = (float)sum;
    uint32_t u;
    if (!isfinite(sum) || fabs(sum) >= 0x1p128 || fabs((double)f) <= fabs(sum)) return f;
    memcpy(&u, &f, sizeof u);
    return as_float(u - 1);
}

/* Of normal numbers, without the calls of frexp and ldexp. */
enum { DOUBLE_BIAS = 1023, DOUBLE_FRACTION = 52 };
static int exponent_of(double positive) {
    uint64_t u;
    memcpy(&u, &positive, sizeof u);
    return (int)(u >> DOUBLE_FRACTION) - DOUBLE_BIAS;
}

static double power_of_two(int exponent) {
    uint64_t u = (uint64_t)(exponent + DOUBLE_BIAS) << DOUBLE_FRACTION;
    double power;
    memcpy(&power, &u, sizeof power);
    return power;
}

/* Products of f8 are cut off further up. The sum in doubles only says whether all is finite, or 0:
 * so its order does not matter. What is kept are whole units of the last bit, each below 2^27 and
 * exact in a double: nor does its order. */
static inline __attribute__((always_inline)) float sum_of(double first, const double *a,
                                                          const double *b, int n, int bits) {
    double sum = first, most = fabs(first), term[MMA_MOST_DEPTH];
#pragma omp simd reduction(+ : sum) reduction(max : most)
    for (int i = 0; i < n; i++) {
        term[i] = a[i] * b[i];
        double size = fabs(term[i]);
        sum += term[i];
        most = size > most ? size : most;
    }
    if (!isfinite(sum) || most < 0x1p-900 || most > 0x1p900) return truncated(sum);
    int last = exponent_of(most) - bits;
    double unit = power_of_two(last), per = power_of_two(-last), cut = (int32_t)(first * per);
#pragma omp simd reduction(+ : cut)
    for (int i = 0; i < n; i++) cut += (int32_t)(term[i] * per);
    return truncated(cut * unit);
}

/* Of as many terms as types have, which the compiler then counts itself. */
__attribute__((target_clones("avx2", "default"))) static float
mma_sum(double first, const double *a, const double *b, int n, int bits) {
    switch (n) {
    case 8: return sum_of(first, a, b, 8, bits);
    case 16: return sum_of(first, a, b, 16, bits);
    default: return sum_of(first, a, b, n, bits);
    }
}

void mma_add(int type, float *d, bool counts, const double *a, const double *b) {
    enum { BITS = 25, BITS_OF_F8 = 13 };
    int n = (int)mma_depth(type);
    if (mma_of_integers(type)) {
        int32_t whole = 0;
        memcpy(&whole, d, 4);
        int64_t sum = counts ? whole : 0;
        for (int i = 0; i < n; i++) sum += (int64_t)(a[i] * b[i]);
        whole = (int32_t)(uint32_t)(uint64_t)sum;
        memcpy(d, &whole, 4);
        return;
    }
    *d = mma_sum(counts ? (double)*d : 0, a, b, n, type >= EMU_BYTES ? BITS_OF_F8 : BITS);
}

static const void *brought(const struct thread *lane) {
    return (const void *)(uintptr_t)lane->value;
}

static void spread_rows(const struct thread *warp, bool transposed) {
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < 4; i++) {
            uint16_t half[2];
            for (unsigned k = 0; k < 2; k++) {
                unsigned along = 2 * (lane % 4) + k, across = lane / 4;
                const struct rows *from = brought(warp + 8 * i + (transposed ? along : across));
                memcpy(half + k, from->row + 2 * (transposed ? across : along), 2);
            }
            const struct rows *to = brought(warp + lane);
            to->r[i] = half[0] | (unsigned)half[1] << 16;
        }
}

static void multiply(const struct thread *warp, int type) {
    double a[16][MMA_MOST_DEPTH], b[8][MMA_MOST_DEPTH];
    unsigned size = mma_size(type), each = 4 / size; /* elements of a register */
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct operands *o = brought(warp + lane);
        for (unsigned i = 0; i < 4; i++)
            for (unsigned k = 0; k < each; k++) {
                unsigned depth = each * (lane % 4) + 4 * each * (i / 2) + k;
                a[lane / 4 + 8 * (i % 2)][depth] =
                    mma_number(type, true, (const unsigned char *)(o->a + i) + size * k);
            }
        for (unsigned i = 0; i < 2; i++)
            for (unsigned k = 0; k < each; k++)
                b[lane / 4][each * (lane % 4) + 4 * each * i + k] =
                    mma_number(type, false, (const unsigned char *)(o->b + i) + size * k);
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        const struct operands *o = brought(warp + lane);
        for (unsigned i = 0; i < 4; i++)
            mma_add(type, o->d + i, true, a[lane / 4 + 8 * (i / 2)], b[2 * (lane % 4) + i % 2]);
    }
}

void mma_meet(struct emu *e, struct thread *warp, int op) {
    if (op == EMU_LDMATRIX || op == EMU_LDMATRIX_TRANSPOSED)
        spread_rows(warp, op == EMU_LDMATRIX_TRANSPOSED);
    else
        multiply(warp, op - EMU_MMA_BF16);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static void join(struct emu *e, const void *frame, int op, const void *value) {
    unsigned local = e->current - e->b->first;
    if (local / WARP * WARP + WARP > e->n_threads)
        block_mistake(e, EMU_WARP, "this takes 32 lanes: the block's last warp has fewer");
    sync_warp_in(e, frame, op, 0xffffffffu, (uintptr_t)value, 0);
}

void mma_ldmatrix(struct emu *e, unsigned *r, const void *row, int transposed) {
    const void *frame = e->frame = __builtin_frame_address(0);
    struct rows rows = {.r = r};
    if (!memory_is_shared(e, row))
        block_mistake(e, EMU_OUT_OF_BOUNDS, "k_ldmatrix4: not of shared memory");
    memory_judge_of(e, e->b, row, sizeof rows.row, EMU_READ);
    memcpy(rows.row, row, sizeof rows.row);
    join(e, frame, transposed ? EMU_LDMATRIX_TRANSPOSED : EMU_LDMATRIX, &rows);
}

void mma_multiply(struct emu *e, float *d, const unsigned *a, const unsigned *b, int type) {
    const void *frame = e->frame = __builtin_frame_address(0);
    const struct operands o = {d, a, b};
    join(e, frame, EMU_MMA_BF16 + type, &o);
}

/* Products by matrix units, fed through tensor maps or by cp.async: right ones pass in every order
 * and compute what a plain loop computes; of wrong ones the mistake is found, or the numbers are
 * wrong, in every order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka needs the first ones of these */
#include <cmocka.h>

#include "base/base.h"
#include "emit/emit.h"
#include "tests/emulator/emu.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* y = a b, a: [M, K] or transposed, b: [N, K] or transposed, 64 x 64 of y a block. A warp loads, a
 * warpgroup multiplies. A stage has 64 of the depth, of both operands, in boxes as wide as the
 * swizzle. BUG: one of the enum below. */
static const char RING_TEXT[] =
    "enum { NO_BUG, PARITY, NO_EXPECT, NO_FULL_WAIT, READ_EARLY, NO_WAIT, NO_EMPTY, FREE_EARLY,\n"
    "       SWIZZLE, STRIDE, LEAD, BOX_OUT, NO_BEGIN, NOT_AGREED, ADDED_TO, BOX_MISPLACED,\n"
    "       BOX_BETWEEN };\n"
    "template <int W, bool T> K_DEVICE void load(unsigned char *s, const k_map *m,\n"
    "                                            unsigned long long *bar, int row, int k) {\n"
    "    enum { WIDE = W ? W : 16 };\n"
    "    for (int i = 0; i < 128 / WIDE; i++) {\n"
    "        if (T) k_map_load(s + i * 64 * WIDE, m, bar, row + i * WIDE / 2, k);\n"
    "        else k_map_load(s + i * 64 * WIDE, m, bar, k + i * WIDE / 2, row);\n"
    "    }\n"
    "}\n"
    /* Of the 16 from k on. */
    "template <int W, bool T, int BUG> K_DEVICE unsigned long long operand(unsigned char *s, int "
    "k) "
    "{\n"
    "    enum { WIDE = W ? W : 16, SAYS = BUG == SWIZZLE ? 64 : W };\n"
    "    const int off = BUG == STRIDE ? 16 : 0, lead = BUG == LEAD ? 16 : 0;\n"
    "    if (T && W) return k_operand<SAYS>(s + k * WIDE, 64 * WIDE + lead, 8 * WIDE + off);\n"
    "    if (T) return k_operand<SAYS>(s + k * WIDE, 128 + lead, 1024 + off);\n"
    "    if (!W) return k_operand<SAYS>(s + k / 8 * 1024, 1024 + lead, 128 + off);\n"
    "    return k_operand<SAYS>(s + k / (WIDE / 2) * 64 * WIDE + k % (WIDE / 2) * 2, 0, 8 * WIDE + "
    "off);\n"
    "}\n"
    "K_DEVICE void put(const float *acc, float *y, int row, int column, int m, int n) {\n"
    "    const int t = (int)threadIdx.x;\n"
    "    for (int i = 0; i < 32; i++) {\n"
    "        const int r = row + t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2);\n"
    "        const int c = column + i / 4 * 8 + 2 * (t % 4) + i % 2;\n"
    "        if (r < m && c < n) y[r * n + c] = acc[i];\n"
    "    }\n"
    "}\n"
    "template <int WA, bool TA, int WB, bool TB, int STAGES, int BUG = 0>\n"
    "K_DEVICE void ring(const k_map *a, const k_map *b, float *y, int m, int n, int k) {\n"
    "    extern __shared__ __align__(1024) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long full[STAGES], empty[STAGES];\n"
    "    const int t = (int)threadIdx.x, row = blockIdx.x * 64, column = blockIdx.y * 64;\n"
    "    if (t == 0) {\n"
    "        for (int i = 0; i < STAGES; i++) k_mbar_init(full + i, 1), k_mbar_init(empty + i, "
    "1);\n"
    "        k_fence_mbar_init();\n"
    "    }\n"
    "    __syncthreads();\n"
    "    if (t >= 128) {\n"
    "        if (t > 128) return;\n"
    "        k_map_prefetch(a), k_map_prefetch(b);\n"
    "        for (int i = 0; i * 64 < k; i++) {\n"
    "            const int s = i % STAGES, phase = i / STAGES & 1;\n"
    "            unsigned char *at = k_smem + s * 16384 + (BUG == BOX_OUT && i == 2 ? 32768 : 0)\n"
    "                                + (BUG == BOX_MISPLACED ? 128 : 0);\n"
    "            if (BUG != NO_EMPTY) k_mbar_wait(empty + s, phase ^ 1);\n"
    "            if (BUG == NO_EXPECT) k_mbar_arrive(full + s);" /* no line of its own */
    "            else k_mbar_arrive_expect_tx(full + s, 16384);\n"
    "            load<WA, TA>(at, a, full + s, row, i * 64 + (BUG == BOX_BETWEEN ? 4 : 0));\n"
    "            load<WB, TB>(at + 8192, b, full + s, column, i * 64);\n"
    "        }\n"
    "        return;\n"
    "    }\n"
    "    float acc[32];\n"
    "    for (int i = 0; i < 32; i++) acc[i] = 0;\n"
    "    for (int i = 0; i * 64 < k; i++) {\n"
    "        const int s = i % STAGES, phase = i / STAGES & 1;\n"
    "        unsigned char *at = k_smem + s * 16384;\n"
    "        if (BUG != NO_FULL_WAIT) k_mbar_wait(full + s, phase ^ (BUG == PARITY));\n"
    "        k_wgmma_hold(acc);\n"
    "        if (BUG != NO_BEGIN) k_wgmma_begin();\n"
    "        for (int d = 0; d < 64; d += 16)\n"
    "            emu_wgmma(acc, 64, 0, nullptr, operand<WA, TA, BUG>(at, d),\n"
    "                      operand<WB, TB, 0>(at + 8192 + (BUG == NOT_AGREED && t == 77 ? 32 : 0), "
    "d), TA, TB, 1);\n"
    "        k_wgmma_commit();\n"
    "        if (BUG == FREE_EARLY && t == 0) k_mbar_arrive(empty + s);\n"
    "        if (BUG == ADDED_TO) acc[3] = 1;\n"
    "        if (BUG == READ_EARLY && i * 64 + 64 >= k) put(acc, y, row, column, m, n);\n"
    "        if (BUG == NO_WAIT) continue;\n"
    "        k_wgmma_wait<0>(), k_wgmma_hold(acc);\n"
    "        if (BUG != FREE_EARLY && t == 0) k_mbar_arrive(empty + s);\n"
    "    }\n"
    "    if (BUG != READ_EARLY) put(acc, y, row, column, m, n);\n"
    "}\n"
    "#define RING(name, ...) extern \"C\" __global__ void __launch_bounds__(160, 1)\\\n"
    "name(const __grid_constant__ k_map a, const __grid_constant__ k_map b, float *y, int m, int "
    "n,\\\n"
    "     int k) { ring<__VA_ARGS__>(&a, &b, y, m, n, k); }\n";

struct ring {
    const char *name;
    int wide_a, transposed_a, wide_b, transposed_b, stages;
    const char *bug;             /* or NULL */
    enum emu_kind kind, or_kind; /* OK: not found, but the numbers are wrong */
    const char *says;
};

static const struct ring RINGS[] = {
    {"ring_128", 128, 0, 128, 0, 2, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_64", 64, 0, 32, 0, 3, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_0", 0, 0, 0, 1, 2, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_128_t", 128, 1, 64, 1, 4, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_32_t", 32, 1, 128, 1, 2, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_0_t", 0, 1, 128, 0, 2, NULL, EMU_OK, EMU_OK, NULL},
    {"ring_64_t", 64, 1, 0, 0, 2, NULL, EMU_OK, EMU_OK, NULL},
};
enum { N_RINGS = sizeof RINGS / sizeof *RINGS };

static const struct ring BUGS[] = {
    {"parity", 128, 0, 128, 0, 2, "PARITY", EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"no_expect", 128, 0, 128, 0, 2, "NO_EXPECT", EMU_MBARRIER, EMU_RACE, ""},
    {"no_full_wait", 128, 0, 128, 0, 2, "NO_FULL_WAIT", EMU_RACE, EMU_UNWRITTEN_READ,
     "of shared memory"},
    {"read_early", 128, 0, 128, 0, 2, "READ_EARLY", EMU_OK, EMU_OK, NULL},
    {"no_wait", 128, 0, 128, 0, 4, "NO_WAIT", EMU_MATRIX, EMU_OK,
     "the thread ends while its wgmma is under way"},
    {"no_empty", 128, 0, 128, 0, 2, "NO_EMPTY", EMU_RACE, EMU_MBARRIER, ""},
    {"free_early", 128, 0, 128, 0, 2, "FREE_EARLY", EMU_RACE, EMU_OK, "of shared memory"},
    {"swizzle", 128, 0, 128, 0, 2, "SWIZZLE", EMU_OK, EMU_OK, NULL},
    {"stride", 128, 0, 128, 0, 2, "STRIDE", EMU_OK, EMU_OK, NULL},
    {"stride_t", 64, 1, 128, 0, 2, "STRIDE", EMU_OK, EMU_OK, NULL},
    {"lead_t", 64, 1, 128, 0, 2, "LEAD", EMU_OK, EMU_OK, NULL},
    {"lead_0", 0, 0, 128, 0, 2, "LEAD", EMU_OK, EMU_OK, NULL},
    {"box_out", 128, 0, 128, 0, 2, "BOX_OUT", EMU_OUT_OF_BOUNDS, EMU_OK,
     "of shared memory, which has 32768 bytes"},
    {"no_begin", 128, 0, 128, 0, 2, "NO_BEGIN", EMU_MATRIX, EMU_OK, "with no k_wgmma_begin"},
    {"not_agreed", 128, 0, 128, 0, 2, "NOT_AGREED", EMU_MATRIX, EMU_OK, "want different ones"},
    {"added_to", 128, 0, 128, 0, 2, "ADDED_TO", EMU_MATRIX, EMU_OK,
     "register 3 of an accumulator was written before this wait"},
    {"box_misplaced", 128, 0, 128, 0, 2, "BOX_MISPLACED", EMU_MISALIGNED, EMU_OK,
     "needs an alignment of 1024"},
    {"box_between", 128, 0, 128, 0, 2, "BOX_BETWEEN", EMU_MISALIGNED, EMU_OK,
     "coordinate 4 of elements of 2 bytes: a box begins at a multiple of 16 bytes"},
};
enum { N_BUGS = sizeof BUGS / sizeof *BUGS };

/* The same by a cluster of two blocks that have the same columns: each loads half of the rows of b
 * for both. */
static const char CLUSTER_TEXT[] =
    "enum { NOT_ASKED = 32, NO_SYNC, NO_RANK };\n"
    "template <int BUG> K_DEVICE void shared_b(const k_map *a, const k_map *b, float *y, int m, "
    "int "
    "n,\n"
    "                                      int k) {\n"
    "    extern __shared__ __align__(1024) unsigned char k_smem[];\n"
    "    __shared__ unsigned long long full[2], empty[2];\n"
    "    const int t = (int)threadIdx.x, row = blockIdx.x * 64, column = blockIdx.y * 64;\n"
    "    const unsigned rank = k_cluster_rank();\n"
    "    if (t == 0) {\n"
    "        for (int i = 0; i < 2; i++)\n"
    "            k_mbar_init(full + i, 1), k_mbar_init(empty + i, BUG == NOT_ASKED ? 1 : 2);\n"
    "        k_fence_mbar_init();\n"
    "    }\n"
    "    k_cluster_sync();\n"
    "    float acc[32];\n"
    "    for (int i = 0; i < 32; i++) acc[i] = 0;\n"
    "    for (int i = 0; i * 64 < k && t <= 128; i++) {\n"
    "        const int s = i % 2, phase = i / 2 & 1;\n"
    "        unsigned char *at = k_smem + s * 16384;\n"
    "        if (t == 128) {\n"
    "            k_mbar_wait(empty + s, phase ^ 1);\n"
    "            k_mbar_arrive_expect_tx(full + s, 16384);\n"
    "            k_map_load(at, a, full + s, i * 64, row);\n"
    "            k_map_load_multicast(at + 8192 + rank * 4096, b, full + s, 3, i * 64,\n"
    "                                 column + (int)rank * 32);\n"
    "            continue;\n"
    "        }\n"
    "        k_mbar_wait(full + s, phase);\n"
    "        k_wgmma_hold(acc), k_wgmma_begin();\n"
    "        for (int d = 0; d < 64; d += 16)\n"
    "            emu_wgmma(acc, 64, 0, nullptr, k_operand<128>(at + d * 2, 0, 1024),\n"
    "                      k_operand<128>(at + 8192 + d * 2, 0, 1024), 0, 0, 1);\n"
    "        k_wgmma_commit(), k_wgmma_wait<0>(), k_wgmma_hold(acc);\n"
    "        if (BUG == NOT_ASKED && t == 0) k_mbar_arrive(empty + s);\n"
    "        else if (t < 2) k_mbar_arrive_at(empty + s, (unsigned)t + (BUG == NO_RANK));\n"
    "    }\n"
    "    if (t < 128) put(acc, y, row, column, m, n);\n"
    "    if (BUG != NO_SYNC) k_cluster_sync();\n"
    "}\n"
    "#define PAIR(name, bug) extern \"C\" __global__ void __cluster_dims__(2, 1, 1)\\\n"
    "name(const __grid_constant__ k_map a, const __grid_constant__ k_map b, float *y, int m, int "
    "n,\\\n"
    "     int k) { shared_b<bug>(&a, &b, y, m, n, k); }\n"
    "PAIR(pair, 0)\nPAIR(not_asked, NOT_ASKED)\nPAIR(no_sync, NO_SYNC)\nPAIR(no_rank, NO_RANK)\n";

/* One product of 64 x 16, of bf16 with the left operand in registers, or of tf32. */
static const char SINGLE_TEXT[] =
    "enum { FINE, TOUCHED, NO_FENCE };\n"
    "template <int BUG> K_DEVICE void from_registers(const k_bf16 *a, const k_bf16 *b, float *y) "
    "{\n"
    "    __shared__ __align__(1024) unsigned short s[16 * 16];\n"
    "    const int t = (int)threadIdx.x, at = (t / 32 * 16 + t % 32 / 4) * 16 + t % 4 * 2;\n"
    "    float acc[8];\n"
    "    unsigned r[4];\n"
    "    for (int i = 0; i < 4; i++) r[i] = k_load<k_bf16, 2>(a + at + i % 2 * 128 + i / 2 * "
    "8).w[0];\n"
    "    for (int i = t; i < 256; i += 128) s[(i & ~7 ^ (i >> 3 & 8)) + i % 8] = b[i].bits;\n"
    "    if (BUG != NO_FENCE) k_fence_async_shared();\n"
    "    __syncthreads();\n"
    "    k_wgmma_begin();\n"
    "    emu_wgmma(acc, 16, 0, r, 0, k_operand<32>(s, 0, 256), 0, 0, 0);\n"
    "    k_wgmma_commit();\n"
    "    if (BUG == TOUCHED) r[2] = t;\n"
    "    k_wgmma_wait<0>(), k_wgmma_hold(acc);\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        y[(t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2)) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] "
    "= "
    "acc[i];\n"
    "}\n"
    "#define SINGLE(name, bug) extern \"C\" __global__ void \\\n"
    "name(const k_bf16 *a, const k_bf16 *b, float *y) { from_registers<bug>(a, b, y); }\n"
    "SINGLE(registers, FINE)\nSINGLE(touched, TOUCHED)\nSINGLE(no_fence, NO_FENCE)\n"
    "extern \"C\" __global__ void tf32(const __grid_constant__ k_map a,\n"
    "                                const __grid_constant__ k_map b, float *y) {\n"
    "    __shared__ __align__(1024) unsigned char s[80 * 32];\n"
    "    __shared__ unsigned long long bar;\n"
    "    const int t = (int)threadIdx.x;\n"
    "    float acc[8];\n"
    "    if (t == 0) k_mbar_init(&bar, 1), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 80 * 32), k_map_load(s, &a, &bar, 0, 0),\n"
    "                k_map_load(s + 2048, &b, &bar, 0, 0);\n"
    "    k_mbar_wait(&bar, 0);\n"
    "    k_wgmma_begin();\n"
    "    emu_wgmma(acc, 16, 2, nullptr, k_operand<32>(s, 0, 256), k_operand<32>(s + 2048, 0, "
    "256),\n"
    "              0, 0, 0);\n"
    "    k_wgmma_commit(), k_wgmma_wait<0>();\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        y[(t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2)) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] "
    "= "
    "acc[i];\n"
    "}\n"
    /* Numbers of registers. */
    "#define CHANGE(name, condition, producer, consumer) extern \"C\" __global__ void name(float "
    "*y) "
    "{\\\n"
    "    const int t = (int)threadIdx.x;\\\n"
    "    if (t >= 256) { if (condition) k_fewer_registers<producer>(); }\\\n"
    "    else k_more_registers<consumer>();\\\n"
    "    y[t] = 0;\\\n"
    "}\n"
    "CHANGE(enough, true, 24, 240)\nCHANGE(three_warps, t < 352, 24, 240)\n"
    "CHANGE(too_many, true, 40, 240)\n";

/* y = a b of bf16 or f16, 32 x 16 by two warps: cp.async, ldmatrix, mma. b is [16, k], or [k, 16]
 * if transposed; and one of tf32. */
static const char WARP_TEXT[] =
    "enum { NOTHING, ROW, FRAGMENT, NO_COPY_WAIT };\n"
    "template <typename T, bool TB, int BUG> K_DEVICE void by_warps(const T *a, const T *b, float "
    "*y,\n"
    "                                                          int k) {\n"
    "    __shared__ __align__(128) unsigned short sa[2][32 * 40], sb[2][32 * 40];\n"
    "    const int t = (int)threadIdx.x, lane = t % 32, row = t / 32 * 16;\n"
    "    float d[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};\n"
    "    for (int i = -1; i * 32 < k; i++) {\n"
    "        const int next = (i + 1) * 32, s = i + 1 & 1;\n"
    "        for (int c = t; c < 128 && next < k; c += 64)\n"
    "            k_cp_async<16>(sa[s] + c / 4 * 40 + c % 4 * 8, a + c / 4 * k + next + c % 4 * "
    "8);\n"
    "        if (next < k && TB)\n"
    "            k_cp_async<16>(sb[s] + t / 2 * 40 + t % 2 * 8, b + (next + t / 2) * 16 + t % 2 * "
    "8);\n"
    "        if (next < k && !TB)\n"
    "            k_cp_async<16>(sb[s] + t / 4 * 40 + t % 4 * 8, b + t / 4 * k + next + t % 4 * "
    "8);\n"
    "        k_cp_async_commit();\n"
    "        if (i < 0) continue;\n"
    "        if (BUG != NO_COPY_WAIT) k_cp_async_wait<1>();\n"
    "        __syncthreads();\n"
    "        const unsigned short *xa = sa[s ^ 1], *xb = sb[s ^ 1];\n"
    "        for (int e = 0; e < 32; e += 16) {\n"
    "            unsigned ra[4], rb[4];\n"
    "            k_ldmatrix4<false>(ra, xa + (row + lane % 16) * 40 + e + lane / 16 * 8 + (BUG == "
    "ROW ? 4 : 0));\n"
    "            if (TB) k_ldmatrix4<true>(rb, xb + (e + lane % 16) * 40 + lane / 16 * 8);\n"
    "            else k_ldmatrix4<false>(rb, xb + (lane % 8 + lane / 16 * 8) * 40 + e + lane / 8 % "
    "2 "
    "* 8);\n"
    "            if (BUG == FRAGMENT) { unsigned w = ra[1]; ra[1] = ra[2]; ra[2] = w; }\n"
    "            k_mma<T>(d[0], ra, (const unsigned(&)[2])rb[0]);\n"
    "            k_mma<T>(d[1], ra, (const unsigned(&)[2])rb[2]);\n"
    "        }\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        y[(row + lane / 4 + 8 * (i / 2 % 2)) * 16 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i / "
    "4][i % 4];\n"
    "}\n"
    "#define WARPS(name, T, TB, bug) extern \"C\" __global__ void __launch_bounds__(64)\\\n"
    "name(const T *a, const T *b, float *y, int k) { by_warps<T, TB, bug>(a, b, y, k); }\n"
    "WARPS(warps, k_bf16, false, 0)\nWARPS(warps_t, k_f16, true, 0)\nWARPS(row, k_bf16, false, "
    "ROW)\nWARPS(fragment, k_bf16, true, FRAGMENT)\n"
    "WARPS(no_copy_wait, k_bf16, true, NO_COPY_WAIT)\n"
    "extern \"C\" __global__ void warp_tf32(const float *a, const float *b, const float *c, float "
    "*y) {\n"
    "    const int t = (int)threadIdx.x;\n"
    "    unsigned ra[4], rb[2];\n"
    "    float d[4];\n"
    "    for (int i = 0; i < 4; i++) ra[i] = k_tf32_bits(a[(t / 4 + i % 2 * 8) * 8 + t % 4 + i / 2 "
    "* 4]);\n"
    "    for (int i = 0; i < 2; i++) rb[i] = k_tf32_bits(b[t / 4 * 8 + t % 4 + i * 4]);\n"
    "    for (int i = 0; i < 4; i++) d[i] = c[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2];\n"
    "    k_mma_tf32(d, ra, rb);\n"
    "    k_barrier_sync(1, 32);\n"
    "    for (int i = 0; i < 4; i++) y[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];\n"
    "}\n";

/* Bytes: 16 x 8 by a warp, 64 x 16 by a warpgroup, which adds to what is there; mixed: the left one
 * signed, the right one not. A lane's registers swapped, a type mistaken, lines across, columns
 * that integers do not have. */
static const char BYTES_TEXT[] =
    "enum { NOTHING, FRAGMENT, SIGNS };\n"
    "template <typename A, typename B, int BUG> K_DEVICE void warp_bytes(const A *a, const B *b,\n"
    "                                                                    const int *c, int *y) {\n"
    "    const int t = (int)threadIdx.x;\n"
    "    unsigned ra[4], rb[2];\n"
    "    int d[4];\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        ra[i] = *(const unsigned *)(a + (t / 4 + i % 2 * 8) * 32 + t % 4 * 4 + i / 2 * 16);\n"
    "    for (int i = 0; i < 2; i++) rb[i] = *(const unsigned *)(b + t / 4 * 32 + t % 4 * 4 + i * "
    "16);\n"
    "    for (int i = 0; i < 4; i++) d[i] = c[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2];\n"
    "    if (BUG == FRAGMENT) { unsigned w = ra[1]; ra[1] = ra[2]; ra[2] = w; }\n"
    "    if (BUG == SIGNS) k_mma_bytes<A, A>(d, ra, rb);\n"
    "    else k_mma_bytes<A, B>(d, ra, rb);\n"
    "    for (int i = 0; i < 4; i++) y[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];\n"
    "}\n"
    "#define WARP_BYTES(name, A, B, bug) extern \"C\" __global__ void \\\n"
    "name(const A *a, const B *b, const int *c, int *y) { warp_bytes<A, B, bug>(a, b, c, y); }\n"
    "WARP_BYTES(signed_bytes, k_i8, k_i8, 0)\nWARP_BYTES(mixed_bytes, k_i8, k_u8, 0)\n"
    "WARP_BYTES(fragment, k_i8, k_u8, FRAGMENT)\nWARP_BYTES(signs, k_i8, k_u8, SIGNS)\n"
    "template <int N, int ACROSS> K_DEVICE void group_bytes(const k_i8 *a, const k_u8 *b, int *y) "
    "{\n"
    "    __shared__ __align__(1024) unsigned char s[(64 + N) * 32];\n"
    "    const int t = (int)threadIdx.x;\n"
    "    int acc[N / 2];\n"
    "    for (int i = t; i < (64 + N) * 2; i += 128) {\n"
    "        const int line = i / 2, place = line * 32 + (i % 2 ^ line / 4 % 2) * 16;\n"
    "        const void *from = line < 64 ? (const void *)(a + line * 32 + i % 2 * 16)\n"
    "                                     : (const void *)(b + (line - 64) * 32 + i % 2 * 16);\n"
    "        *(k_four_words *)(s + place) = *(const k_four_words *)from;\n"
    "    }\n"
    "    k_fence_async_shared();\n"
    "    __syncthreads();\n"
    "    k_wgmma_begin();\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        emu_wgmma((float *)acc, N, 4, nullptr, k_operand<32>(s, 0, 256),\n"
    "                  k_operand<32>(s + 2048, 0, 256), ACROSS, 0, i);\n"
    "    k_wgmma_commit(), k_wgmma_wait<0>();\n"
    "    for (int i = 0; i < N / 2; i++)\n"
    "        y[(t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2)) * N + i / 4 * 8 + t % 4 * 2 + i % 2] = "
    "acc[i];\n"
    "}\n"
    "#define GROUP_BYTES(name, n, across) extern \"C\" __global__ void \\\n"
    "name(const k_i8 *a, const k_u8 *b, int *y) { group_bytes<n, across>(a, b, y); }\n"
    "GROUP_BYTES(group, 16, 0)\nGROUP_BYTES(across, 16, 1)\nGROUP_BYTES(columns, 40, 0)\n";

/* Float8: 16 x 8 by a warp, which adds to what is there, 64 x 16 by a warpgroup, E4M3 by E5M2. A
 * lane's registers swapped, one kind mistaken for the other, lines across. */
static const char FLOAT8_TEXT[] =
    "enum { NOTHING, FRAGMENT, KINDS };\n"
    "template <typename A, typename B, int BUG> K_DEVICE void warp_float8(const A *a, const B *b,\n"
    "                                                                     const float *c, float "
    "*y) "
    "{\n"
    "    const int t = (int)threadIdx.x;\n"
    "    unsigned ra[4], rb[2];\n"
    "    float d[4];\n"
    "    for (int i = 0; i < 4; i++)\n"
    "        ra[i] = *(const unsigned *)(a + (t / 4 + i % 2 * 8) * 32 + t % 4 * 4 + i / 2 * 16);\n"
    "    for (int i = 0; i < 2; i++) rb[i] = *(const unsigned *)(b + t / 4 * 32 + t % 4 * 4 + i * "
    "16);\n"
    "    for (int i = 0; i < 4; i++) d[i] = c[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2];\n"
    "    if (BUG == FRAGMENT) { unsigned w = ra[1]; ra[1] = ra[2]; ra[2] = w; }\n"
    "    if (BUG == KINDS) k_mma_bytes<A, A>(d, ra, rb);\n"
    "    else k_mma_bytes<A, B>(d, ra, rb);\n"
    "    for (int i = 0; i < 4; i++) y[(t / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = d[i];\n"
    "}\n"
    "#define WARP_FLOAT8(name, A, B, bug) extern \"C\" __global__ void \\\n"
    "name(const A *a, const B *b, const float *c, float *y) { warp_float8<A, B, bug>(a, b, c, y); "
    "}\n"
    "WARP_FLOAT8(alike, k_f8e4m3, k_f8e4m3, 0)\nWARP_FLOAT8(mixed, k_f8e4m3, k_f8e5m2, 0)\n"
    "WARP_FLOAT8(fragment, k_f8e4m3, k_f8e5m2, FRAGMENT)\n"
    "WARP_FLOAT8(kinds, k_f8e4m3, k_f8e5m2, KINDS)\n"
    "template <int ACROSS> K_DEVICE void group_float8(const k_f8e4m3 *a, const k_f8e5m2 *b,\n"
    "                                                 float *y) {\n"
    "    __shared__ __align__(1024) unsigned char s[(64 + 16) * 32];\n"
    "    const int t = (int)threadIdx.x;\n"
    "    float acc[8];\n"
    "    for (int i = t; i < (64 + 16) * 2; i += 128) {\n"
    "        const int line = i / 2, place = line * 32 + (i % 2 ^ line / 4 % 2) * 16;\n"
    "        const void *from = line < 64 ? (const void *)(a + line * 32 + i % 2 * 16)\n"
    "                                     : (const void *)(b + (line - 64) * 32 + i % 2 * 16);\n"
    "        *(k_four_words *)(s + place) = *(const k_four_words *)from;\n"
    "    }\n"
    "    k_fence_async_shared();\n"
    "    __syncthreads();\n"
    "    k_wgmma_begin();\n"
    "    for (int i = 0; i < 2; i++)\n"
    "        emu_wgmma(acc, 16, 3 + 4 * 2 + 3, nullptr, k_operand<32>(s, 0, 256),\n"
    "                  k_operand<32>(s + 2048, 0, 256), ACROSS, 0, i);\n"
    "    k_wgmma_commit(), k_wgmma_wait<0>();\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        y[(t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2)) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] "
    "= "
    "acc[i];\n"
    "}\n"
    "#define GROUP_FLOAT8(name, across) extern \"C\" __global__ void \\\n"
    "name(const k_f8e4m3 *a, const k_f8e5m2 *b, float *y) { group_float8<across>(a, b, y); }\n"
    "GROUP_FLOAT8(group, 0)\nGROUP_FLOAT8(across, 1)\n";

/* ---- running them ---------------------------------------------------------------------------- */

struct fix {
    struct arena *a;
    struct emu *e;
    struct emu_module *m;
};

static struct fix begin(const char *text, const char *const *kernels, int n) {
    struct fix f = {.a = arena_new(), .e = emu_new()};
    struct diag d = diag_new(f.a);
    f.m = emu_open(f.e, arena_printf(f.a, "%s\n%s", prelude_cuda, text), kernels, n, &d);
    if (!f.m) fail_msg("%s", d.text);
    return f;
}

static void end(struct fix *f) {
    emu_free(f->e);
    arena_free(f->a);
}

/* Small integers, which every type holds, as do all sums of their products. */
static float number(size_t i) { return (float)((int)((i * 2654435761u) >> 7 & 31) - 15); }

static void *fill(struct fix *f, const char *name, enum dtype type, size_t n, size_t from) {
    void *x = emu_alloc(f->e, name, n * (size_t)dtype_bytes(type));
    for (size_t i = 0; i < n; i++) dtype_store(type, x, i, (double)number(i + from));
    return x;
}

/* How many elements of y are other ones; a(i, k) and b(j, k) by their strides. */
static int count_wrong(const float *y, int m, int n, int k, enum dtype type, const void *a,
                       int a_row, int a_deep, const void *b, int b_row, int b_deep) {
    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int d = 0; d < k; d++)
                sum += dtype_load(type, a, (size_t)(i * a_row + d * a_deep)) *
                       dtype_load(type, b, (size_t)(j * b_row + d * b_deep));
            wrong += !((double)y[i * n + j] == sum);
        }
    return wrong;
}

typedef struct emu_report runner(struct emu_module *, const struct emu_launch *);

/* A product by a kernel of rings or pairs. M and K leave a rest of a tile. */
enum { M = 104, N = 72, K = 232 };
struct operands {
    void *a, *b;
    float *y;
};

static struct operands operands(struct fix *f) {
    return (struct operands){fill(f, "a", DT_BF16, (size_t)M * K, 0),
                             fill(f, "b", DT_BF16, (size_t)N * K, 7),
                             emu_alloc(f->e, "y", (size_t)M * N * 4)};
}

static struct emu_map map_of(void *at, bool transposed, int rows, int wide, int box_rows) {
    int line = (wide ? wide : 16) / 2;
    long long inner = transposed ? rows : K, outer = transposed ? K : rows;
    return (struct emu_map){.address = at,
                            .rank = 2,
                            .bytes = 2,
                            .swizzle = wide,
                            .size = {inner, outer},
                            .stride = {2, inner * 2},
                            .box = {line, box_rows}};
}

static struct emu_report run_ring(struct fix *f, const struct operands *o, const struct ring *r,
                                  int cluster, enum emu_order order, runner *run) {
    struct emu_map a = map_of(o->a, r->transposed_a, M, r->wide_a, 64);
    struct emu_map b = map_of(o->b, r->transposed_b, N, r->wide_b, cluster > 1 ? 32 : 64);
    int m = M, n = N, k = K;
    struct emu_launch l = {.kernel = r->name,
                           .grid = {(M + 63) / 64, (N + 63) / 64},
                           .cluster = (unsigned)cluster,
                           .threads = {160},
                           .shared = (size_t)r->stages * 16384,
                           .args = (void *[]){&a, &b, (void *)&o->y, &m, &n, &k},
                           .n_args = 6,
                           .order = order,
                           .seed = 3};
    return run(f->m, &l);
}

static int wrong_numbers(const struct operands *o, const struct ring *r) {
    return count_wrong(o->y, M, N, K, DT_BF16, o->a, r->transposed_a ? 1 : K,
                       r->transposed_a ? M : 1, o->b, r->transposed_b ? 1 : K,
                       r->transposed_b ? N : 1);
}

static void assert_right(struct fix *f, const struct operands *o, const struct ring *r,
                         int cluster) {
    struct emu_report report = run_ring(f, o, r, cluster, EMU_FORWARD, emu_check);
    if (!report.ok) fail_msg("%s", report.message);
    int wrong = wrong_numbers(o, r);
    if (wrong) fail_msg("%s: %d wrong numbers", r->name, wrong);
}

static void assert_wrong(struct fix *f, const struct operands *o, const struct ring *r,
                         int cluster) {
    for (enum emu_order order = EMU_FORWARD; order <= EMU_RANDOM; order++) {
        struct emu_report report = run_ring(f, o, r, cluster, order, emu_run);
        if (report.ok && r->kind != EMU_OK) fail_msg("%s: not found", r->name);
        if (report.ok && !wrong_numbers(o, r)) fail_msg("%s: the numbers are right", r->name);
        if (report.ok) continue;
        if (report.kind != r->kind && (r->or_kind == EMU_OK || report.kind != r->or_kind))
            fail_msg("%s: found as something else: %s", r->name, report.message);
        if (!strstr(report.message, r->says)) fail_msg("%s: %s", r->says, report.message);
        if (report.line == 0) fail_msg("of no line: %s", report.message);
    }
}

static struct fix begin_rings(const struct ring *rings, int n) {
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    const char **names = NEW_ARRAY(a, const char *, n);
    buf_puts(&text, RING_TEXT);
    for (int i = 0; i < n; i++) {
        const struct ring *r = &rings[i];
        names[i] = r->name;
        buf_printf(&text, "RING(%s, %d, %d, %d, %d, %d, %s)\n", r->name, r->wide_a, r->transposed_a,
                   r->wide_b, r->transposed_b, r->stages, r->bug ? r->bug : "0");
    }
    struct fix f = begin(text.p, names, n);
    arena_free(a);
    return f;
}

static void test_rings(void **state) {
    struct fix f = begin_rings(RINGS, N_RINGS);
    struct operands o = operands(&f);
    for (int i = 0; i < N_RINGS; i++) assert_right(&f, &o, &RINGS[i], 1);
    end(&f);
}

static void test_ring_bugs(void **state) {
    struct fix f = begin_rings(BUGS, N_BUGS);
    struct operands o = operands(&f);
    for (int i = 0; i < N_BUGS; i++) assert_wrong(&f, &o, &BUGS[i], 1);
    end(&f);
}

static void test_clusters(void **state) {
    static const struct ring PAIRS[] = {
        {"pair", 128, 0, 128, 0, 2, NULL, EMU_OK, EMU_OK, NULL},
        {"not_asked", 128, 0, 128, 0, 2, NULL, EMU_RACE, EMU_OK, "of shared memory"},
        {"no_sync", 128, 0, 128, 0, 2, NULL, EMU_RACE, EMU_DIVERGENT_BARRIER, "ended"},
        {"no_rank", 128, 0, 128, 0, 2, NULL, EMU_OUT_OF_BOUNDS, EMU_OK,
         "rank 2 in a cluster of 2 blocks"},
    };
    struct arena *a = arena_new();
    struct fix f = begin(arena_printf(a, "%s%s", RING_TEXT, CLUSTER_TEXT),
                         (const char *[]){"pair", "not_asked", "no_sync", "no_rank"}, 4);
    struct operands o = operands(&f);
    assert_right(&f, &o, &PAIRS[0], 2);
    for (int i = 1; i < 4; i++) assert_wrong(&f, &o, &PAIRS[i], 2);
    arena_free(a);
    end(&f);
}

/* ---- one product ----------------------------------------------------------------------------- */

static struct emu_report launch(struct fix *f, const char *kernel, unsigned threads, void **args,
                                int n, runner *run) {
    struct emu_launch l = {
        .kernel = kernel, .threads = {threads}, .args = args, .n_args = n, .seed = 5};
    return run(f->m, &l);
}

static void assert_ok(struct emu_report r) {
    if (!r.ok) fail_msg("%s", r.message);
}

static void assert_found(struct emu_report r, enum emu_kind kind, const char *says) {
    if (r.ok || r.kind != kind || !strstr(r.message, says))
        fail_msg("%s: %s", says, r.ok ? "not found" : r.message);
}

static void test_registers(void **state) {
    struct fix f = begin(SINGLE_TEXT, (const char *[]){"registers", "touched", "no_fence"}, 3);
    void *a = fill(&f, "a", DT_BF16, 64 * 16, 3), *b = fill(&f, "b", DT_BF16, 16 * 16, 11);
    float *y = emu_alloc(f.e, "y", 64 * 16 * 4);
    void *args[] = {&a, &b, &y};
    assert_ok(launch(&f, "registers", 128, args, 3, emu_check));
    assert_int_equal(count_wrong(y, 64, 16, 16, DT_BF16, a, 16, 1, b, 16, 1), 0);
    assert_found(launch(&f, "touched", 128, args, 3, emu_run), EMU_MATRIX,
                 "the left operand's registers were written before this wait");
    assert_found(launch(&f, "no_fence", 128, args, 3, emu_run), EMU_COPY,
                 "with no k_fence_async_shared since");
    end(&f);
}

static struct emu_map tf32_map(void *at, int rows) {
    return emu_map_of(&(struct tensor_map){.address = (uintptr_t)at,
                                           .dtype = DT_F32,
                                           .tf32 = true,
                                           .rank = 2,
                                           .size = {8, rows},
                                           .stride = {4, 32},
                                           .box = {8, rows},
                                           .swizzle = 32});
}

static void test_tf32(void **state) {
    struct fix f = begin(SINGLE_TEXT, (const char *[]){"tf32"}, 1);
    float *x = fill(&f, "x", DT_F32, 64 * 8, 1), *w = fill(&f, "w", DT_F32, 16 * 8, 2);
    float *y = emu_alloc(f.e, "y", 64 * 16 * 4);
    struct emu_map a = tf32_map(x, 64), b = tf32_map(w, 16);
    void *args[] = {&a, &b, &y};
    assert_ok(launch(&f, "tf32", 128, args, 3, emu_check));
    assert_int_equal(count_wrong(y, 64, 16, 8, DT_F32, x, 8, 1, w, 8, 1), 0);
    x[0] = 1 + 0x1p-11f + 0x1p-12f; /* rounds up to 1 + 2^-10 */
    for (int i = 1; i < 8; i++) x[i] = 0;
    w[0] = 1;
    assert_ok(launch(&f, "tf32", 128, args, 3, emu_run));
    assert_true(y[0] == 1 + 0x1p-10f);
    a.stride[1] = 24;
    assert_found(launch(&f, "tf32", 128, args, 3, emu_run), EMU_COPY,
                 "the stride of dimension 1 is 24 bytes");
    a = tf32_map(x, 64);
    a.rank = 1;
    assert_found(launch(&f, "tf32", 128, args, 3, emu_run), EMU_COPY,
                 "2 coordinates for a k_map of rank 1");
    a = tf32_map(x, 64);
    a.swizzle = 64;
    assert_found(launch(&f, "tf32", 128, args, 3, emu_run), EMU_COPY, "lines of 32 bytes");
    end(&f);
}

/* Windows of 3 x 2 taps: 5 x 4 of them, 2 and 1 apart, of 2 images of 9 x 5 pixels of 16 channels,
 * padded by 1; each is a line of 32 bytes. Offset {1, 2} is the second tap along the first
 * dimension, and the third along the other one. */
static const char WINDOW_TEXT[] =
    "extern \"C\" __global__ void windows(const __grid_constant__ k_map m, k_bf16 *y, int w, int "
    "h,\n"
    "                                   int image, int o0, int o1, int tiled) {\n"
    "    __shared__ __align__(1024) unsigned char s[24 * 32];\n"
    "    __shared__ unsigned long long bar;\n"
    "    const int t = (int)threadIdx.x;\n"
    "    if (t == 0) k_mbar_init(&bar, 1), k_fence_mbar_init();\n"
    "    __syncthreads();\n"
    "    if (t == 0) {\n"
    "        k_mbar_arrive_expect_tx(&bar, 24 * 32);\n"
    "        if (tiled) k_map_load(s, &m, &bar, 0, w, h, image);\n"
    "        else k_map_load_windows(k_in_shared(s), &m, k_in_shared(&bar), 0, 0, w, h, image, o0, "
    "o1);\n"
    "    }\n"
    "    k_mbar_wait(&bar, 0);\n"
    "    for (int i = t; i < 24 * 16; i += 32) {\n"
    "        const int place = i * 2 ^ ((i * 2 >> 7) % 2 << 4);\n"
    "        y[i] = *(k_bf16 *)(s + place);\n"
    "    }\n"
    "}\n";

static struct emu_map window_map(void *at) {
    return emu_map_of(&(struct tensor_map){.address = (uintptr_t)at,
                                           .dtype = DT_BF16,
                                           .rank = 4,
                                           .size = {16, 5, 9, 2},
                                           .stride = {2, 32, 160, 1440},
                                           .box = {16, 24, 1, 1},
                                           .windows = true,
                                           .window = {{-1, 4, 1}, {-1, 7, 2}},
                                           .swizzle = 32});
}

static void test_windows(void **state) {
    enum { WIDE = 6, HIGH = 5 };
    struct fix f = begin(WINDOW_TEXT, (const char *[]){"windows"}, 1);
    uint16_t *x = fill(&f, "x", DT_BF16, 2 * 9 * 5 * 16, 1), *y = emu_alloc(f.e, "y", 24 * 32);
    struct emu_map m = window_map(x);
    int w = 2, h = 5, image = 1, o0 = 1, o1 = 2, tiled = 0; /* window 3 x 6 + 3 of the last image */
    void *args[] = {&m, &y, &w, &h, &image, &o0, &o1, &tiled};
    assert_ok(launch(&f, "windows", 32, args, 8, emu_check));
    for (int i = 0; i < 24; i++) {
        int at = 3 * WIDE + 3 + i, px = at % WIDE - 1 + o0, py = at / WIDE % HIGH * 2 - 1 + o1;
        bool inside = at < WIDE * HIGH && px >= 0 && px < 5 && py >= 0 && py < 9;
        for (int c = 0; c < 16; c++)
            assert_int_equal(y[i * 16 + c], inside ? x[((9 + py) * 5 + px) * 16 + c] : 0);
    }
    h = 4;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "no window is at 4 of dimension 2");
    h = 5, w = 5;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "no window is at 5 of dimension 1");
    w = 2, o1 = 256;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "the instruction has room for less than 256");
    o1 = 2, tiled = 1;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "k_map_load of a k_map that is through windows");
    tiled = 0, m.windows = 0;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "k_map_load_windows of a k_map that is of boxes");
    m = window_map(x);
    m.step[1] = 9;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "windows are 9 apart, not 1 to 8");
    m = window_map(x);
    m.lower[0] = -129;
    assert_found(launch(&f, "windows", 32, args, 8, emu_run), EMU_COPY,
                 "corners of -129 and 0; they have 8 bits");
    end(&f);
}

static void test_changes(void **state) {
    struct fix f = begin(SINGLE_TEXT, (const char *[]){"enough", "three_warps", "too_many"}, 3);
    float *y = emu_alloc(f.e, "y", 384 * 4);
    void *args[] = {&y};
    assert_ok(launch(&f, "enough", 384, args, 1, emu_check));
    assert_found(launch(&f, "three_warps", 384, args, 1, emu_run), EMU_MATRIX,
                 "others of its warpgroup have changed");
    assert_found(launch(&f, "too_many", 384, args, 1, emu_run), EMU_MATRIX,
                 "want 66560 registers of 65536");
    end(&f);
}

static void test_warps(void **state) {
    enum { DEPTH = 96 };
    struct fix f = begin(
        WARP_TEXT,
        (const char *[]){"warps", "warps_t", "row", "fragment", "no_copy_wait", "warp_tf32"}, 6);
    void *a = fill(&f, "a", DT_BF16, 32 * DEPTH, 1), *b = fill(&f, "b", DT_BF16, 16 * DEPTH, 2);
    void *ha = fill(&f, "ha", DT_F16, 32 * DEPTH, 3), *hb = fill(&f, "hb", DT_F16, 16 * DEPTH, 4);
    float *y = emu_alloc(f.e, "y", 32 * 16 * 4);
    int k = DEPTH;
    void *args[] = {&a, &b, &y, &k};
    assert_ok(launch(&f, "warps", 64, args, 4, emu_check));
    assert_int_equal(count_wrong(y, 32, 16, k, DT_BF16, a, k, 1, b, k, 1), 0);
    assert_ok(launch(&f, "warps_t", 64, (void *[]){&ha, &hb, &y, &k}, 4, emu_check));
    assert_int_equal(count_wrong(y, 32, 16, k, DT_F16, ha, k, 1, hb, 1, 16), 0);
    assert_ok(launch(&f, "fragment", 64, args, 4, emu_check));
    assert_true(count_wrong(y, 32, 16, k, DT_BF16, a, k, 1, b, 1, 16) > 0);
    assert_found(launch(&f, "row", 64, args, 4, emu_run), EMU_MISALIGNED,
                 "needs an alignment of 16");
    assert_found(launch(&f, "no_copy_wait", 64, args, 4, emu_run), EMU_RACE,
                 "which an asynchronous copy under way writes");
    end(&f);
}

/* Terms and sums are cut, not rounded. */
static void test_warp_tf32(void **state) {
    struct fix f = begin(WARP_TEXT, (const char *[]){"warp_tf32"}, 1);
    float *a = fill(&f, "a", DT_F32, 16 * 8, 1), *b = fill(&f, "b", DT_F32, 8 * 8, 2);
    float *c = emu_alloc(f.e, "c", 16 * 8 * 4), *y = emu_alloc(f.e, "y", 16 * 8 * 4);
    void *args[] = {&a, &b, &c, &y};
    memset(c, 0, 16 * 8 * 4);
    assert_ok(launch(&f, "warp_tf32", 32, args, 4, emu_check));
    assert_int_equal(count_wrong(y, 16, 8, 8, DT_F32, a, 8, 1, b, 8, 1), 0);
    for (int i = 0; i < 8; i++) a[i] = b[i] = 0;
    a[0] = 1 + 0x1p-11f; /* a tie: away from 0, 1 + 2^-10 */
    b[0] = -0x1p-24f;
    c[0] = 1;
    assert_ok(launch(&f, "warp_tf32", 32, args, 4, emu_run));
    assert_true(y[0] == 1 - 0x1p-24f);
    b[0] = -0x1p-30f; /* cut off before it is added: it is less than 2^-25 of the largest */
    assert_ok(launch(&f, "warp_tf32", 32, args, 4, emu_run));
    assert_true(y[0] == 1);
    c[0] = 0;
    assert_ok(launch(&f, "warp_tf32", 32, args, 4, emu_run));
    assert_true(y[0] == -0x1p-30f * (1 + 0x1p-10f));
    end(&f);
}

static int wrong_bytes(const int *y, int rows, int columns, int times, const signed char *a,
                       const unsigned char *b, bool is_signed, const int *c) {
    int wrong = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int64_t sum = c ? c[i * columns + j] : 0;
            for (int k = 0; k < 32; k++)
                sum += times * a[i * 32 + k] *
                       (is_signed ? (signed char)b[j * 32 + k] : b[j * 32 + k]);
            wrong += y[i * columns + j] != (int)(unsigned)(uint64_t)sum;
        }
    return wrong;
}

static void test_bytes(void **state) {
    struct fix f = begin(BYTES_TEXT,
                         (const char *[]){"signed_bytes", "mixed_bytes", "fragment", "signs",
                                          "group", "across", "columns"},
                         7);
    signed char *a = emu_alloc(f.e, "a", 64 * 32);
    unsigned char *b = emu_alloc(f.e, "b", 40 * 32);
    int *c = emu_alloc(f.e, "c", 16 * 8 * 4), *y = emu_alloc(f.e, "y", 16 * 8 * 4);
    int *all = emu_alloc(f.e, "all", 64 * 16 * 4);
    for (int i = 0; i < 64 * 32; i++) a[i] = (signed char)(i * 37 + i / 7);
    for (int i = 0; i < 40 * 32; i++) b[i] = (unsigned char)(i * 91 + i / 5);
    for (int i = 0; i < 16 * 8; i++) c[i] = i % 2 ? INT32_MAX - i : i - INT32_MAX; /* wraps */
    void *args[] = {&a, &b, &c, &y}, *of_group[] = {&a, &b, &all};
    assert_ok(launch(&f, "signed_bytes", 32, args, 4, emu_check));
    assert_int_equal(wrong_bytes(y, 16, 8, 1, a, b, true, c), 0);
    assert_ok(launch(&f, "mixed_bytes", 32, args, 4, emu_check));
    assert_int_equal(wrong_bytes(y, 16, 8, 1, a, b, false, c), 0);
    assert_ok(launch(&f, "fragment", 32, args, 4, emu_run));
    assert_true(wrong_bytes(y, 16, 8, 1, a, b, false, c) > 0);
    assert_ok(launch(&f, "signs", 32, args, 4, emu_run));
    assert_true(wrong_bytes(y, 16, 8, 1, a, b, false, c) > 0);
    assert_ok(launch(&f, "group", 128, of_group, 3, emu_check));
    assert_int_equal(wrong_bytes(all, 64, 16, 2, a, b, false, NULL), 0);
    assert_found(launch(&f, "across", 128, of_group, 3, emu_run), EMU_MATRIX,
                 "takes lines along the depth only");
    assert_found(launch(&f, "columns", 128, of_group, 3, emu_run), EMU_MATRIX,
                 "40 columns are no sixteens");
    end(&f);
}

/* Whole numbers, of which sums are exact. */
static int wrong_float8(const float *y, int rows, int columns, int times, const unsigned char *a,
                        const unsigned char *b, enum dtype right, const float *c) {
    int wrong = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = c ? (double)c[i * columns + j] : 0;
            for (int k = 0; k < 32; k++)
                sum +=
                    times * dtype_load(DT_F8E4M3, a, i * 32 + k) * dtype_load(right, b, j * 32 + k);
            wrong += (double)y[i * columns + j] != sum;
        }
    return wrong;
}

static void test_float8(void **state) {
    struct fix f = begin(
        FLOAT8_TEXT, (const char *[]){"alike", "mixed", "fragment", "kinds", "group", "across"}, 6);
    unsigned char *a = emu_alloc(f.e, "a", 64 * 32), *b = emu_alloc(f.e, "b", 16 * 32),
                  *e = emu_alloc(f.e, "e", 16 * 32);
    float *c = emu_alloc(f.e, "c", 16 * 8 * 4), *y = emu_alloc(f.e, "y", 16 * 8 * 4);
    float *all = emu_alloc(f.e, "all", 64 * 16 * 4);
    for (int i = 0; i < 64 * 32; i++) dtype_store(DT_F8E4M3, a, i, i * 37 % 11 - 5);
    for (int i = 0; i < 16 * 32; i++) dtype_store(DT_F8E4M3, e, i, i * 91 % 13 - 6);
    for (int i = 0; i < 16 * 32; i++) dtype_store(DT_F8E5M2, b, i, i * 91 % 9 - 4);
    for (int i = 0; i < 16 * 8; i++) c[i] = (float)(i - 60);
    void *same[] = {&a, &e, &c, &y}, *args[] = {&a, &b, &c, &y}, *of_group[] = {&a, &b, &all};
    assert_ok(launch(&f, "alike", 32, same, 4, emu_check));
    assert_int_equal(wrong_float8(y, 16, 8, 1, a, e, DT_F8E4M3, c), 0);
    assert_ok(launch(&f, "mixed", 32, args, 4, emu_check));
    assert_int_equal(wrong_float8(y, 16, 8, 1, a, b, DT_F8E5M2, c), 0);
    assert_ok(launch(&f, "fragment", 32, args, 4, emu_run));
    assert_true(wrong_float8(y, 16, 8, 1, a, b, DT_F8E5M2, c) > 0);
    assert_ok(launch(&f, "kinds", 32, args, 4, emu_run));
    assert_true(wrong_float8(y, 16, 8, 1, a, b, DT_F8E5M2, c) > 0);
    assert_ok(launch(&f, "group", 128, of_group, 3, emu_check));
    assert_int_equal(wrong_float8(all, 64, 16, 2, a, b, DT_F8E5M2, NULL), 0);
    assert_found(launch(&f, "across", 128, of_group, 3, emu_run), EMU_MATRIX,
                 "takes lines along the depth only");
    /* What is there already is 2^14, whose last bit that counts is 2: of ones nothing is left. */
    for (int i = 0; i < 64 * 32; i++) dtype_store(DT_F8E4M3, a, i, i % 32 == 0);
    for (int i = 0; i < 16 * 32; i++) dtype_store(DT_F8E4M3, e, i, 1);
    for (int i = 0; i < 16 * 8; i++) c[i] = i % 2 ? 0x1p14f : 0x1p13f;
    assert_ok(launch(&f, "alike", 32, same, 4, emu_check));
    for (int i = 0; i < 16 * 8; i++) assert_true(y[i] == (i % 2 ? 0x1p14f : 0x1p13f + 1));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings),     cmocka_unit_test(test_ring_bugs),
        cmocka_unit_test(test_clusters),  cmocka_unit_test(test_registers),
        cmocka_unit_test(test_tf32),      cmocka_unit_test(test_windows),
        cmocka_unit_test(test_changes),   cmocka_unit_test(test_warps),
        cmocka_unit_test(test_warp_tf32), cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_float8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* tensor.cuh: behind copies.cuh: instructions of the matrix units, and tiles that tensor maps bring. */
/* ---- matrix units and tensor maps -------------------------------------------------------------- */

/* A tensor in global memory and a box of it, as the driver describes them: a CUtensorMap, which a kernel takes as
 * `const __grid_constant__ k_map a` and passes on as &a. k_map_load brings the box at these coordinates, the innermost
 * first, to shared memory, swizzled as the map says; what lies outside of the tensor, on any side, is 0. A box begins at
 * a multiple of 16 bytes of the innermost dimension: anywhere else the instruction is illegal (seen on an H100). All bytes
 * of the box, these zeros too, complete on the mbarrier, which expects them as those of bulk copies. k_map_load_multicast:
 * to that place of each block of the cluster whose bit is in `blocks`, on the mbarrier at that place of it. */
struct __align__(64) k_map { unsigned long long word[16]; };
#ifdef WS_EMULATOR
#define K_MAP_LOAD(rank, at, c0, c1, c2, c3, c4) emu_map_load(smem, m, bar, 0, rank, c0, c1, c2, c3, c4)
#define K_MAP_LOAD_MANY(rank, at, c0, c1, c2, c3, c4) emu_map_load(smem, m, bar, blocks, rank, c0, c1, c2, c3, c4)
#else
#define K_MAP_LOAD(rank, at, c0, c1, c2, c3, c4)                                                         \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"   \
                 " [%0], [%1, {" at "}], [%2];"                                                          \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1),  \
                 "r"(c2), "r"(c3), "r"(c4) : "memory")
#define K_MAP_LOAD_MANY(rank, at, c0, c1, c2, c3, c4)                                                    \
    asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.mbarrier::complete_tx::bytes"   \
                 ".multicast::cluster [%0], [%1, {" at "}], [%2], %8;"                                   \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1),  \
                 "r"(c2), "r"(c3), "r"(c4), "h"(blocks) : "memory")
#endif
K_DEVICE void k_map_prefetch(const k_map *m) {
#ifdef WS_EMULATOR
    emu_map_prefetch(m);
#else
    asm volatile("prefetch.tensormap [%0];" : : "l"(m) : "memory");
#endif
}
/* So many elements from a multiple of 16 bytes on are on their way to L2. */
template <typename T, typename I> K_DEVICE void k_prefetch(const T *at, I n) {
#ifndef WS_EMULATOR
    const unsigned bytes = (unsigned)n * (unsigned)sizeof(T) / 16 * 16;
    if (bytes) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(at), "r"(bytes) : "memory");
#else
    (void)at, (void)n;
#endif
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1) {
    K_MAP_LOAD(2, "%3, %4", c0, c1, 0, 0, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2) {
    K_MAP_LOAD(3, "%3, %4, %5", c0, c1, c2, 0, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2, int c3) {
    K_MAP_LOAD(4, "%3, %4, %5, %6", c0, c1, c2, c3, 0);
}
K_DEVICE void k_map_load(k_shared smem, const k_map *m, k_shared bar, int c0, int c1, int c2, int c3, int c4) {
    K_MAP_LOAD(5, "%3, %4, %5, %6, %7", c0, c1, c2, c3, c4);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1) {
    K_MAP_LOAD_MANY(2, "%3, %4", c0, c1, 0, 0, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2) {
    K_MAP_LOAD_MANY(3, "%3, %4, %5", c0, c1, c2, 0, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2, int c3) {
    K_MAP_LOAD_MANY(4, "%3, %4, %5, %6", c0, c1, c2, c3, 0);
}
K_DEVICE void k_map_load_multicast(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks,
                                   int c0, int c1, int c2, int c3, int c4) {
    K_MAP_LOAD_MANY(5, "%3, %4, %5, %6, %7", c0, c1, c2, c3, c4);
}
/* The same of what nobody reads again: it leaves L2 first. */
#ifdef WS_EMULATOR
#define K_MAP_LOAD_LEAVING(how, to) emu_map_load(smem, m, bar, blocks, 3, c0, c1, c2, 0, 0)
#else
#define K_MAP_LOAD_LEAVING(how, to)                                                                  \
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes" how       \
                 ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2]" to ", %7;"                             \
                 : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "h"(blocks),                \
                 "l"(k_l2_policy<K_LEAVE_L2>()) : "memory")
#endif
K_DEVICE void k_map_load_leaving(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c0, int c1,
                                 int c2) {
    if (blocks)
        K_MAP_LOAD_LEAVING(".multicast::cluster", ", %6");
    else
        K_MAP_LOAD_LEAVING("", "");
}
/* Through windows: from that one on, of so many channels from c on, the tap that is o0, o1, o2 from the window's first. */
#ifdef WS_EMULATOR
#define K_MAP_LOAD_WINDOWS(rank, at, off, c0, c1, c2, c3, c4, o0, o1, o2)                                \
    emu_map_load_windows(smem, m, bar, blocks, rank, c0, c1, c2, c3, c4, o0, o1, o2)
#else
#define K_MAP_LOAD_WINDOWS(rank, at, off, c0, c1, c2, c3, c4, o0, o1, o2)                                \
    if (blocks)                                                                                          \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col"                     \
                     ".mbarrier::complete_tx::bytes.multicast::cluster"                                  \
                     " [%0], [%1, {" at "}], [%2], {" off "}, %11;"                                      \
                     : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),       \
                     "h"((unsigned short)(o0)), "h"((unsigned short)(o1)), "h"((unsigned short)(o2)),    \
                     "h"(blocks) : "memory");                                                            \
    else                                                                                                 \
        asm volatile("cp.async.bulk.tensor." #rank "d.shared::cluster.global.im2col"                     \
                     ".mbarrier::complete_tx::bytes [%0], [%1, {" at "}], [%2], {" off "};"              \
                     : : "r"(smem), "l"(m), "r"(bar), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4),       \
                     "h"((unsigned short)(o0)), "h"((unsigned short)(o1)), "h"((unsigned short)(o2))     \
                     : "memory")
#endif
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int image, int o0) {
    K_MAP_LOAD_WINDOWS(3, "%3, %4, %5", "%8", c, w, image, 0, 0, o0, 0, 0);
}
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int h, int image, int o0, int o1) {
    K_MAP_LOAD_WINDOWS(4, "%3, %4, %5, %6", "%8, %9", c, w, h, image, 0, o0, o1, 0);
}
K_DEVICE void k_map_load_windows(k_shared smem, const k_map *m, k_shared bar, unsigned short blocks, int c, int w,
                                 int h, int d, int image, int o0, int o1, int o2) {
    K_MAP_LOAD_WINDOWS(5, "%3, %4, %5, %6, %7", "%8, %9, %10", c, w, h, d, image, o0, o1, o2);
}
template <typename... C> K_DEVICE void k_map_load(void *smem, const k_map *m, unsigned long long *bar, C... at) {
    k_map_load(k_in_shared(smem), m, k_in_shared(bar), at...);
}
template <typename... C> K_DEVICE void k_map_load_multicast(void *smem, const k_map *m, unsigned long long *bar,
                                                            unsigned short blocks, C... at) {
    k_map_load_multicast(k_in_shared(smem), m, k_in_shared(bar), blocks, at...);
}

/* An arrival at the mbarrier of block `rank` of the cluster that lies where `mine` does in the own one. That block may not
 * end before: it waits for the phase, or for a k_cluster_sync. It tells of nothing that the thread has written: a release
 * to the cluster is a fence that waits for L2, and made products 1.3 to 1.7 times as long on an H200. */
K_DEVICE void k_mbar_arrive_at(k_shared mine, unsigned rank) {
#ifdef WS_EMULATOR
    emu_mbar_arrive_at(mine, rank);
#else
    asm volatile("{ .reg .b32 at; mapa.shared::cluster.u32 at, %0, %1;"
                 " mbarrier.arrive.shared::cluster.b64 _, [at]; }"
                 : : "r"(mine), "r"(rank) : "memory");
#endif
}
K_DEVICE void k_mbar_arrive_at(unsigned long long *mine, unsigned rank) { k_mbar_arrive_at(k_in_shared(mine), rank); }

/* Some warps meet: `threads` of them (a multiple of 32) at barrier `id`, 1 to 15; 0 is that of __syncthreads. */
K_DEVICE void k_barrier_sync(int id, int threads) {
#ifdef WS_EMULATOR
    emu_bar_sync((unsigned)id, (unsigned)threads);
#else
    asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
#endif
}

/* From here on the threads of a warpgroup, four warps from a multiple of four on, have N registers each: all of them say
 * so, those who want more wait until others have given theirs away. */
template <int N> K_DEVICE void k_more_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256, "registers come by eights, 24 to 256 of them");
#ifdef WS_EMULATOR
    emu_registers(N, 1);
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(N));
#endif
}
template <int N> K_DEVICE void k_fewer_registers() {
    static_assert(N % 8 == 0 && N >= 24 && N <= 256, "registers come by eights, 24 to 256 of them");
#ifdef WS_EMULATOR
    emu_registers(N, 0);
#else
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(N));
#endif
}

/* wgmma (sm_90a): the four warps of a warpgroup multiply operands in shared memory, or the left one in registers, while
 * their threads go on:
 *
 *     k_wgmma_hold(acc), k_wgmma_begin();
 *     wgmma ... acc, k_operand<128>(a, 0, 1024), k_operand<128>(b, 0, 1024) ...
 *     k_wgmma_commit();
 *     k_wgmma_wait<0>(), k_wgmma_hold(acc);      at most so many of the newest groups are under way still
 *
 * Until the wait acc, the left operand's registers and the shared memory are the matrix unit's. What threads have stored
 * there must be passed on by k_fence_async_shared and a barrier. k_operand: of an operand in shared memory from smem on, in
 * lines of SWIZZLE bytes (0: 16, not swizzled), the distances in bytes to the next lines along its two axes. */
template <int SWIZZLE> K_DEVICE unsigned long long k_operand(k_shared smem, unsigned lead, unsigned stride) {
    static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "lines of 32, 64 or 128 bytes");
    const unsigned long long type = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0;
#ifdef WS_EMULATOR
    return emu_operand(smem, lead, stride, type);
#else
    return type << 62 | (unsigned long long)(stride >> 4 & 0x3fff) << 32 | (lead >> 4 & 0x3fff) << 16 |
           (smem >> 4 & 0x3fff);
#endif
}
template <int SWIZZLE> K_DEVICE unsigned long long k_operand(const void *smem, unsigned lead, unsigned stride) {
    return k_operand<SWIZZLE>(k_in_shared((void *)smem), lead, stride);
}
/* The operand that lies 16 n bytes on. */
K_DEVICE unsigned long long k_operand_on(unsigned long long operand, unsigned n) {
    return (operand & 0xffffffff00000000ull) | ((unsigned)operand + n);
}
K_DEVICE void k_wgmma_begin() {
#ifdef WS_EMULATOR
    emu_wgmma_begin();
#else
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
}
K_DEVICE void k_wgmma_commit() {
#ifdef WS_EMULATOR
    emu_wgmma_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
#endif
}
template <int N> K_DEVICE void k_wgmma_wait() {
    static_assert(N >= 0 && N <= 7, "up to 7 groups may be under way");
#ifdef WS_EMULATOR
    emu_wgmma_wait(N);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
#endif
}
/* Keeps the compiler from moving what it does with these registers across. Four in each statement: a compiler takes its
 * time for statements. */
template <int N> K_DEVICE void k_wgmma_hold(float (&acc)[N]) {
    static_assert(N % 4 == 0, "an instruction has eight columns at least");
#ifndef WS_EMULATOR
#pragma unroll
    for (int i = 0; i < N; i += 4)
        asm volatile("" : "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3]) : : "memory");
#endif
}
template <int N> K_DEVICE void k_wgmma_hold(int (&acc)[N]) {
    static_assert(N % 4 == 0, "an instruction has eight columns at least");
#ifndef WS_EMULATOR
#pragma unroll
    for (int i = 0; i < N; i += 4)
        asm volatile("" : "+r"(acc[i]), "+r"(acc[i + 1]), "+r"(acc[i + 2]), "+r"(acc[i + 3]) : : "memory");
#endif
}
/* x is there before what is waited for behind this: ptxas moves arithmetic across such waits, but no store. `at`: of the
 * thread alone, and read by nobody. */
K_DEVICE void k_before(k_shared at, float x) {
#ifdef WS_EMULATOR
    *(float *)at = x;
#else
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(at), "f"(x) : "memory");
#endif
}
/* tcgen05 (sm_100a): one thread has products made, of operands in shared memory; their sums lie in tensor memory, which
 * has 128 lanes of 512 columns of 32 bits: at lane << 16 | column.
 *
 *     if (warp == 1) k_tensor_make<256>(at);                            all its threads; 32 to 512 columns, for the block
 *     k_tensor_fence_before(), __syncthreads(), k_tensor_fence_after();
 *     k_tensor_multiply<0>(sums, k_tensor_operand<128>(a, ...), ..., what, add);      one thread
 *     k_tensor_commit(bar);                                             an arrival, once they have ended
 *     k_mbar_wait_block(bar, 0), k_tensor_fence_after();                who reads: tcgen05.ld, tcgen05.wait::ld
 *     k_tensor_fence_before(), __syncthreads();
 *     if (warp == 1) k_tensor_fence_after(), k_tensor_free<256>(sums);
 *
 * Of whatever else orders threads, these fences tell the units. The bits of operands (k_operand's, but for bit 46, a
 * version: 1; and bits 61 to 63, the swizzle, of which k_operand's two are the upper ones) are those of SmemDescriptor,
 * those of `what` of InstrDescriptor, in CUTLASS, include/cute/arch/mma_sm100_desc.hpp: bits 4 and 5 say what sums are (f32 1, s32 2),
 * 7 to 9 and 10 to 12 what the operands are (KIND 0: f16 0, bf16 1; 1: tf32 2; 2: u8 0, s8 1; 3: e4m3 0, e5m2 1), 15 and
 * 16 whether their lines run along the rows, 17 to 22 are columns / 8, 24 to 28 rows / 16. */
template <int COLUMNS> K_DEVICE void k_tensor_make(k_shared at) {
    static_assert(COLUMNS >= 32 && COLUMNS <= 512 && (COLUMNS & COLUMNS - 1) == 0, "32, 64, 128, 256 or 512 columns");
#ifdef WS_EMULATOR
    emu_tensor_make(at, COLUMNS);
#else
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" : : "r"(at), "n"(COLUMNS) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" : : : "memory");
#endif
}
template <int COLUMNS> K_DEVICE void k_tensor_free(unsigned sums) {
#ifdef WS_EMULATOR
    emu_tensor_free(sums, COLUMNS);
#else
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" : : "r"(sums), "n"(COLUMNS) : "memory");
#endif
}
K_DEVICE void k_tensor_fence_before() {
#ifdef WS_EMULATOR
    emu_tensor_fence(0);
#else
    asm volatile("tcgen05.fence::before_thread_sync;" : : : "memory");
#endif
}
K_DEVICE void k_tensor_fence_after() {
#ifdef WS_EMULATOR
    emu_tensor_fence(1);
#else
    asm volatile("tcgen05.fence::after_thread_sync;" : : : "memory");
#endif
}
template <int SWIZZLE> K_DEVICE unsigned long long k_tensor_operand(k_shared smem, unsigned lead, unsigned stride) {
    return k_operand<SWIZZLE>(smem, lead, stride) | 1ull << 46;
}
#define K_TENSOR_MULTIPLY(kind)                                                                                          \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind " [%0], %1, %2, %3, p; }"  \
                 : : "r"(sums), "l"(a), "l"(b), "r"(what), "r"(add) : "memory")
template <int KIND>
K_DEVICE void k_tensor_multiply(unsigned sums, unsigned long long a, unsigned long long b, unsigned what, int add) {
    static_assert(KIND >= 0 && KIND <= 3, "16 bits, tf32, bytes, f8");
#ifdef WS_EMULATOR
    emu_tensor_multiply(KIND, sums, a, b, what, add);
#else
    if constexpr (KIND == 0) K_TENSOR_MULTIPLY("f16");
    if constexpr (KIND == 1) K_TENSOR_MULTIPLY("tf32");
    if constexpr (KIND == 2) K_TENSOR_MULTIPLY("i8");
    if constexpr (KIND == 3) K_TENSOR_MULTIPLY("f8f6f4");
#endif
}
/* At the mbarrier there, of each block of the cluster whose bit is set; or of the own block. */
K_DEVICE void k_tensor_commit(k_shared bar) {
#ifdef WS_EMULATOR
    emu_tensor_commit(bar, 0);
#else
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" : : "r"(bar) : "memory");
#endif
}
K_DEVICE void k_tensor_commit_to(k_shared bar, unsigned short blocks) {
#ifdef WS_EMULATOR
    emu_tensor_commit(bar, blocks);
#else
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;"
                 : : "r"(bar), "h"(blocks) : "memory");
#endif
}
/* x. What is computed of it stands behind the waits before. */
K_DEVICE float k_now(float x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+f"(x) : : "memory");
#endif
    return x;
}

/* The left operand of wgmma in registers, out of a tile of f32 in boxes of lines of 128 bytes, whose pieces of 16 are
 * swizzled: 64 rows, ALONG the lines, in two boxes, with a line for each of the depth; or with a line for each row, in a
 * box for each 32 of the depth. A box has `box` bytes. A thread's rows are lane / 4 of its warp's and 8 on; of tf32 its
 * depths are lane % 4 and 4 on, of 16 bits 2 (lane % 4), one on, and 8 on both. Half of the threads read the one before
 * the other, so that all that a warp reads at once lies in other banks. k_left_of_lane: where its first line is. */
template <bool ALONG> K_DEVICE k_shared k_left_of_lane(k_shared tile, int box) {
    const unsigned warp = threadIdx.x / 32 % 4, row = threadIdx.x / 4 % 8, depth = threadIdx.x % 4;
    return ALONG ? tile + (warp / 2 * box + depth * 128 + row % 4 * 4) : tile + (warp * 16 + row) * 128 + depth % 2 * 8;
}
template <int N> K_DEVICE void k_left_across(unsigned (&r)[N][4], k_shared of_lane) {
    const unsigned odd = threadIdx.x & 1, depth = threadIdx.x % 4, piece = threadIdx.x / 32 % 2 * 4 + threadIdx.x / 16 % 2;
#pragma unroll
    for (int n = 0; n < N; n++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            unsigned x[2];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const unsigned on = (j ^ odd) * 4; /* of the depth */
                x[j] = k_load_shared(of_lane + (on * 128 + ((piece + 2 * i) ^ (depth + on)) * 16) + n * 1024);
            }
            r[n][i] = odd ? x[1] : x[0];
            r[n][i + 2] = odd ? x[0] : x[1];
        }
}
/* A channel of an image as it lies, for each of four lanes: at the thread's row, and at the eighth behind it. EDGES: only
 * what is inside counts. */
template <bool EDGES> K_DEVICE void k_left_of_lying(unsigned (&lain)[2], k_shared at, const unsigned (&inside)[2]) {
    lain[0] = k_load_shared(at) & (EDGES ? inside[0] : ~0u);
    lain[1] = k_load_shared(at + 32) & (EDGES ? inside[1] : ~0u);
}
/* mma.sync: a warp multiplies. k_ldmatrix4: four matrices of 8 rows of 16 bytes, the rows at the addresses of lanes 0 to
 * 7, 8 to 15, ...; lane l gets word l % 4 of row l / 4 of each; TRANSPOSED: halves of the columns' words. */
template <bool TRANSPOSED> K_DEVICE void k_ldmatrix4(unsigned (&r)[4], const void *smem) {
#ifdef WS_EMULATOR
    emu_ldmatrix4(r, smem, TRANSPOSED);
#else
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(k_shared_address(smem)) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(k_shared_address(smem)) : "memory");
#endif
}

/* d += a b: 16 rows by 16 deep (tf32: 8) of a, 8 columns of b. */
template <typename T> struct k_is_f16 { enum { IS = 0 }; };
template <> struct k_is_f16<k_f16> { enum { IS = 1 }; };
#ifndef WS_EMULATOR
#define K_MMA(shape_and_types)                                                                   \
    asm volatile("mma.sync.aligned." shape_and_types                                             \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif
template <typename T> K_DEVICE void k_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(T) == 2, "of bf16 or f16");
#ifdef WS_EMULATOR
    emu_mma(d, a, b, k_is_f16<T>::IS);
#else
    if (k_is_f16<T>::IS)
        K_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else
        K_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#endif
}
K_DEVICE void k_mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef WS_EMULATOR
    emu_mma(d, a, b, 2);
#else
    K_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
#endif
}
/* Of bytes, 32 deep, of the two factors in types of their own; integers' sums wrap. */
template <typename T> struct k_byte { enum { NUMBER = 0 }; };
template <> struct k_byte<k_u8> { enum { NUMBER = 1 }; };
template <> struct k_byte<k_f8e4m3> { enum { NUMBER = 2 }; };
template <> struct k_byte<k_f8e5m2> { enum { NUMBER = 3 }; };
#ifndef WS_EMULATOR
#define K_MMA_BYTES(types)                                                                       \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." types ".s32"                           \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#endif
template <typename A, typename B> K_DEVICE void k_mma_bytes(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1, "of bytes");
    const int both = k_byte<A>::NUMBER * 4 + k_byte<B>::NUMBER;
#ifdef WS_EMULATOR
    emu_mma((float *)d, a, b, 3 + both);
#else
    if (both == 0)
        K_MMA_BYTES("s8.s8");
    else if (both == 1)
        K_MMA_BYTES("s8.u8");
    else if (both == 4)
        K_MMA_BYTES("u8.s8");
    else
        K_MMA_BYTES("u8.u8");
#endif
}
/* Of float8, from sm_89 on. */
template <typename A, typename B> K_DEVICE void k_mma_bytes(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    static_assert(sizeof(A) == 1 && sizeof(B) == 1, "of bytes");
    const int both = k_byte<A>::NUMBER * 4 + k_byte<B>::NUMBER;
#ifdef WS_EMULATOR
    emu_mma(d, a, b, 3 + both);
#else
    if (both == 10)
        K_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
    else if (both == 11)
        K_MMA("m16n8k32.row.col.f32.e4m3.e5m2.f32");
    else if (both == 14)
        K_MMA("m16n8k32.row.col.f32.e5m2.e4m3.f32");
    else
        K_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32");
#endif
}
/* The nearest tf32; the units ignore its last 13 bits. */
K_DEVICE unsigned k_tf32_bits(float f) {
#ifdef WS_EMULATOR
    return emu_tf32_bits(f);
#else
    unsigned w;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(w) : "f"(f));
    return w;
#endif
}

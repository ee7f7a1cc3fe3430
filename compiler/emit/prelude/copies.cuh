/* copies.cuh: behind reduce.cuh: copies that go on while the thread does, launches that begin before the last one has
 * ended, barriers of clusters. */
/* ---- copies that go on while the thread does (sm_80) ------------------------------------------- */

#if defined WS_EMULATOR || __CUDA_ARCH__ >= 800
#ifndef WS_EMULATOR
K_DEVICE unsigned k_shared_address(const void *at) {
    unsigned a;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(at));
    return a;
}
#endif

/* An address in shared memory, of 32 bits: what loops compute with it takes no generic addresses of 64. */
#ifdef WS_EMULATOR
typedef unsigned char *k_shared;
K_DEVICE k_shared k_in_shared(void *at) { return (k_shared)at; }
K_DEVICE unsigned k_load_shared(k_shared at) { return *(const unsigned *)at; }
K_DEVICE void k_load_shared(float (&v)[2], k_shared at) { v[0] = ((const float *)at)[0], v[1] = ((const float *)at)[1]; }
#else
typedef unsigned k_shared;
K_DEVICE k_shared k_in_shared(const void *at) { return k_shared_address(at); }
K_DEVICE unsigned k_load_shared(k_shared at) {
    unsigned v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
    return v;
}
K_DEVICE void k_load_shared(float (&v)[2], k_shared at) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(at) : "memory");
}
#endif

/* N floats (2 or 4) that lie at a multiple of their bytes. */
template <int N> K_DEVICE void k_shared_get(float (&v)[N], k_shared at) {
    static_assert(N == 2 || N == 4, "a vector of shared memory");
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) v[i] = ((const float *)at)[i];
#else
    if (N == 2)
        asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(at) : "memory");
    else
        asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[N - 2]), "=f"(v[N - 1]) : "r"(at) : "memory");
#endif
}
K_DEVICE void k_shared_put(k_shared at, float v) {
#ifdef WS_EMULATOR
    *(float *)at = v;
#else
    asm volatile("st.shared.f32 [%0], %1;" : : "r"(at), "f"(v) : "memory");
#endif
}
template <int N> K_DEVICE void k_shared_put(k_shared at, const float (&v)[N]) {
    static_assert(N == 2 || N == 4, "a vector of shared memory");
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) ((float *)at)[i] = v[i];
#else
    if (N == 2)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" : : "r"(at), "f"(v[0]), "f"(v[1]) : "memory");
    else
        asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};"
                     : : "r"(at), "f"(v[0]), "f"(v[1]), "f"(v[N - 2]), "f"(v[N - 1]) : "memory");
#endif
}

/* BYTES (4, 8 or 16, both sides aligned to it) from global to shared memory; 16 go round the L1. At an edge only the
 * first `valid` bytes are read and the rest becomes 0. The thread's copies up to a commit are a group; a wait leaves at
 * most N of its newest groups under way. Other threads see the bytes after a barrier that follows the wait. */
template <int BYTES, int HINTS = 0> K_DEVICE void k_cp_async(void *smem, const void *gmem) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a thread copies 4, 8 or 16 bytes");
#ifdef WS_EMULATOR
    emu_cp_async(smem, gmem, BYTES, BYTES);
#else
    const unsigned long long policy = k_l2_policy<HINTS>();
    const bool hinted = (HINTS & (K_LEAVE_L2 | K_STAY_L2)) != 0;
    if (hinted && BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "l"(policy) : "memory");
    else if (hinted)
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4), "l"(policy) : "memory");
    else if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(k_shared_address(smem)), "l"(gmem) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4) : "memory");
#endif
}
template <int BYTES> K_DEVICE void k_cp_async(void *smem, const void *gmem, unsigned valid) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a thread copies 4, 8 or 16 bytes");
#ifdef WS_EMULATOR
    emu_cp_async(smem, gmem, BYTES, valid);
#else
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(BYTES & 15 ? BYTES : 4), "r"(valid) : "memory");
#endif
}
/* The same of what lies so many bytes behind both: numbers that instructions have in them. */
template <int BYTES, int TO, int FROM> K_DEVICE void k_cp_async_apart(void *smem, const void *gmem) {
#ifdef WS_EMULATOR
    emu_cp_async((char *)smem + TO, (const char *)gmem + FROM, BYTES, BYTES);
#else
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %3], 16;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(TO), "n"(FROM) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0 + %2], [%1 + %3], %4;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(TO), "n"(FROM), "n"(BYTES & 15 ? BYTES : 4) : "memory");
#endif
}
template <int BYTES, int TO, int FROM> K_DEVICE void k_cp_async_apart(void *smem, const void *gmem, unsigned valid) {
#ifdef WS_EMULATOR
    emu_cp_async((char *)smem + TO, (const char *)gmem + FROM, BYTES, valid);
#else
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0 + %2], [%1 + %3], 16, %4;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(TO), "n"(FROM), "r"(valid) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0 + %2], [%1 + %3], %4, %5;"
                     : : "r"(k_shared_address(smem)), "l"(gmem), "n"(TO), "n"(FROM), "n"(BYTES & 15 ? BYTES : 4), "r"(valid) : "memory");
#endif
}
K_DEVICE void k_cp_async_commit() {
#ifdef WS_EMULATOR
    emu_cp_async_commit();
#else
    asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int N> K_DEVICE void k_cp_async_wait() {
#ifdef WS_EMULATOR
    emu_cp_async_wait(N);
#else
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
#endif
}
#endif

/* N elements that k_cp_async has left in shared memory, aligned to their size or 16. */
struct __align__(8) k_two_words { unsigned w[2]; };
struct __align__(16) k_four_words { unsigned w[4]; };
template <typename T, int N> K_DEVICE k_pack<T, N> k_load_shared(const unsigned char *at) {
    k_pack<T, N> p;
    if (k_pack<T, N>::BYTES == 4) {
        p.w[0] = *(const unsigned *)at;
    } else if (k_pack<T, N>::BYTES == 8) {
        const k_two_words q = *(const k_two_words *)at;
        p.w[0] = q.w[0], p.w[1] = q.w[1];
    } else {
#pragma unroll
        for (int i = 0; i < k_pack<T, N>::BYTES / 16; i++) {
            const k_four_words q = ((const k_four_words *)at)[i];
#pragma unroll
            for (int j = 0; j < 4; j++) p.w[4 * i + j] = q.w[j];
        }
    }
    return p;
}

/* ---- launches ----------------------------------------------------------------------------------- */

/* Where a kernel begins, and before it looks at memory: the launches before it have ended, and what they wrote is there;
 * the launch after it may be made ready meanwhile. Without effect on one that was launched like any other. */
K_DEVICE void k_enter() {
#if !defined(WS_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Asks L2 for all of it, the blocks of a launch each for a share of its lines: before k_enter, of
 * what no launch writes, while the launch before ends. */
K_DEVICE void k_prefetch_l2(const void *p, long long bytes) {
#ifndef WS_EMULATOR
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i * 128 < bytes;
         i += (long long)gridDim.x * blockDim.x)
        asm volatile("prefetch.global.L2 [%0];" : : "l"((const char *)p + i * 128));
#endif
}

/* ---- clusters, mbarriers and bulk copies (sm_90) ----------------------------------------------- */

/* A cluster is the N adjacent blocks of `__global__ void __cluster_dims__(N, 1, 1) name(...)`. k_cluster_sync: all
 * threads of all its blocks. k_cluster_load: what lies in block `rank` where `mine` lies in the own one; that block
 * may not end before a k_cluster_sync that follows the load, or before a k_cluster_wait whose k_cluster_arrive follows
 * it: what a thread does between the two keeps nobody waiting. k_cluster_arrive waits for what the thread has written,
 * to any memory, to be seen (a microsecond); k_cluster_arrive_relaxed does not, and tells of nothing but mbarriers made
 * before k_fence_mbar_init. */
#ifdef WS_EMULATOR
K_DEVICE unsigned k_cluster_rank() { return emu_cluster_rank(); }
K_DEVICE void k_cluster_sync(int line = __builtin_LINE()) { emu_cluster_sync(line); }
K_DEVICE void k_cluster_arrive() { emu_cluster_arrive(); }
K_DEVICE void k_cluster_wait(int line = __builtin_LINE()) { emu_cluster_wait(line); }
K_DEVICE void k_cluster_arrive_relaxed() { emu_cluster_arrive(); }
template <typename T> K_DEVICE T k_cluster_load(const T *mine, unsigned rank) {
    T v;
    emu_cluster_load(&v, mine, sizeof v, rank);
    return v;
}
#elif __CUDA_ARCH__ >= 900
K_DEVICE unsigned k_cluster_rank() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
K_DEVICE void k_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory"); }
K_DEVICE void k_cluster_sync() { k_cluster_arrive(), k_cluster_wait(); }
template <typename T> K_DEVICE T k_cluster_load(const T *mine, unsigned rank) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a remote load takes 4 or 8 bytes");
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(k_shared_address(mine)), "r"(rank));
    union { unsigned w[sizeof(T) / 4]; T v; } u;
    if (sizeof(T) == 4)
        asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(u.w[0]) : "r"(at) : "memory");
    else
        asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];"
                     : "=r"(u.w[0]), "=r"(u.w[sizeof(T) / 4 - 1]) : "r"(at) : "memory");
    return u.v;
}
#endif

/* An mbarrier (8 bytes of shared memory, 8-aligned) counts phases. A phase ends when `count` arrivals came and as many
 * bytes as they expected; k_mbar_wait(bar, p & 1) returns when phase p, from 0, has ended, and with it what other blocks
 * of the cluster have sent. One thread makes it:
 *
 *     if (threadIdx.x == 0) k_mbar_init(bar, 1), k_fence_mbar_init();
 *     __syncthreads();
 *     if (threadIdx.x == 0) k_mbar_arrive_expect_tx(bar, bytes), k_bulk_g2s(smem, gmem, bytes, bar);
 *     k_mbar_wait(bar, 0);
 *
 * Bulk copies take addresses and sizes that are multiples of 16. k_bulk_s2g belongs to groups as k_cp_async does; what
 * it reads must be written before k_fence_async_shared() by the writing threads and then a barrier. k_bulk_wait_read:
 * the shared memory may be written again; k_bulk_wait: the global memory is written too. */
#ifdef WS_EMULATOR
K_DEVICE void k_mbar_init(unsigned long long *bar, unsigned count) { emu_mbar_init(bar, count); }
K_DEVICE void k_mbar_arrive(k_shared bar) { emu_mbar_arrive(bar, 0); }
K_DEVICE void k_mbar_arrive_expect_tx(k_shared bar, unsigned bytes) { emu_mbar_arrive(bar, bytes); }
K_DEVICE void k_mbar_wait(unsigned long long *bar, unsigned parity) { emu_mbar_wait(bar, parity); }
K_DEVICE void k_mbar_wait_block(k_shared bar, unsigned parity) { emu_mbar_wait(bar, parity); }
K_DEVICE void k_fence_mbar_init() {}
template <typename W> K_DEVICE void k_cluster_put(W *slot, W v, unsigned rank, unsigned long long *bar) {
    emu_cluster_put(slot, &v, sizeof v, rank, bar);
}
K_DEVICE void k_fence_async_shared() { emu_fence_async(); }
K_DEVICE void k_bulk_g2s(void *smem, const void *gmem, unsigned bytes, unsigned long long *bar) {
    emu_bulk_load(smem, gmem, bytes, bar);
}
K_DEVICE void k_bulk_s2g(void *gmem, const void *smem, unsigned bytes) { emu_bulk_store(gmem, smem, bytes); }
K_DEVICE void k_bulk_commit() { emu_bulk_commit(); }
template <int N> K_DEVICE void k_bulk_wait() { emu_bulk_wait(N, 0); }
template <int N> K_DEVICE void k_bulk_wait_read() { emu_bulk_wait(N, 1); }
#elif __CUDA_ARCH__ >= 900
K_DEVICE void k_mbar_init(unsigned long long *bar, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(k_shared_address(bar)), "r"(count) : "memory");
}
K_DEVICE void k_mbar_arrive(k_shared bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(bar) : "memory");
}
K_DEVICE void k_mbar_arrive_expect_tx(k_shared bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 : : "r"(bar), "r"(bytes) : "memory");
}
K_DEVICE void k_mbar_wait(unsigned long long *bar, unsigned parity) {
    const unsigned at = k_shared_address(bar);
    unsigned ended;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(ended) : "r"(at), "r"(parity) : "memory");
    while (!ended);
}
/* k_mbar_wait where only copies and threads of the own block bring what it waits for: L1 stays as it is. */
K_DEVICE void k_mbar_wait_block(k_shared bar, unsigned parity) {
    unsigned ended;
    do
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;"
                     " selp.u32 %0, 1, 0, p; }"
                     : "=r"(ended) : "r"(bar), "r"(parity) : "memory");
    while (!ended);
}
/* v to where slot lies in the block of that rank, and its bytes to where bar, which expects them, does. */
K_DEVICE void k_cluster_put(unsigned *slot, unsigned v, unsigned rank, unsigned long long *bar) {
    asm volatile("{ .reg .u32 to, at; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 at, %2, %3;"
                 " st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [to], %1, [at]; }"
                 : : "r"(k_shared_address(slot)), "r"(v), "r"(k_shared_address(bar)), "r"(rank) : "memory");
}
K_DEVICE void k_cluster_put(unsigned long long *slot, unsigned long long v, unsigned rank, unsigned long long *bar) {
    asm volatile("{ .reg .u32 to, at; mapa.shared::cluster.u32 to, %0, %3; mapa.shared::cluster.u32 at, %2, %3;"
                 " st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [to], %1, [at]; }"
                 : : "r"(k_shared_address(slot)), "l"(v), "r"(k_shared_address(bar)), "r"(rank) : "memory");
}
K_DEVICE void k_fence_mbar_init() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
K_DEVICE void k_fence_async_shared() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
K_DEVICE void k_bulk_g2s(void *smem, const void *gmem, unsigned bytes, unsigned long long *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(k_shared_address(smem)), "l"(gmem), "r"(bytes), "r"(k_shared_address(bar)) : "memory");
}
K_DEVICE void k_bulk_s2g(void *gmem, const void *smem, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(gmem), "r"(k_shared_address(smem)), "r"(bytes) : "memory");
}
K_DEVICE void k_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
template <int N> K_DEVICE void k_bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" : : "n"(N) : "memory"); }
template <int N> K_DEVICE void k_bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(N) : "memory");
}
#endif
K_DEVICE void k_mbar_arrive(unsigned long long *bar) { k_mbar_arrive(k_in_shared(bar)); }
K_DEVICE void k_mbar_arrive_expect_tx(unsigned long long *bar, unsigned bytes) {
    k_mbar_arrive_expect_tx(k_in_shared(bar), bytes);
}

/* The last step of a reduction whose row is spread over the C blocks of a cluster: `writer` is one thread of the block's
 * part of the row, slot its shared memory. Every thread gets the result. */
#if defined(WS_EMULATOR) || __CUDA_ARCH__ >= 900
template <typename T, typename I> K_DEVICE k_pair<T, I> k_cluster_load(const k_pair<T, I> *mine, unsigned rank) {
    k_pair<T, I> v;
    v.value = k_cluster_load(&mine->value, rank);
    v.at = k_cluster_load(&mine->at, rank);
    return v;
}
template <typename T> K_DEVICE k_m2_state<T> k_cluster_load(const k_m2_state<T> *mine, unsigned rank) {
    return k_m2_state<T>{k_cluster_load(&mine->n, rank), k_cluster_load(&mine->near, rank),
                        k_cluster_load(&mine->sum, rank), k_cluster_load(&mine->squares, rank)};
}
template <typename T> K_DEVICE k_expsum_state<T> k_cluster_load(const k_expsum_state<T> *mine, unsigned rank) {
    return k_expsum_state<T>{k_cluster_load(&mine->max, rank), k_cluster_load(&mine->sum, rank)};
}
template <typename OP, int C, typename T> K_DEVICE T k_read_slots(const T *slot) {
    T v = k_cluster_load(slot, 0);
#pragma unroll
    for (unsigned i = 1; i < C; i++) v = OP::of(v, k_cluster_load(slot, i));
    return v;
}
template <typename OP, int C, typename T> K_DEVICE T k_reduce_cluster(T v, T *slot, bool writer) {
    if (writer) *slot = v;
    k_cluster_sync();
    return k_read_slots<OP, C>(slot);
}

/* The same by mbarriers that count one phase each, of k_cluster_put: N of them are made; the next, of which each block
 * has one, is to bring so many bytes; the T1 threads of a row give what the block has of it to all C blocks, which have C
 * slots for it; and, when the mbarrier's phase has ended, what is in these becomes one. All threads call k_cluster_wait
 * between the making and the first k_give. */
template <int N> K_DEVICE void k_make_mbarriers(unsigned long long *bars, int tid) {
    if (tid == 0) {
#pragma unroll
        for (int i = 0; i < N; i++) k_mbar_init(bars + i, 1);
        k_fence_mbar_init();
    }
    k_cluster_arrive_relaxed();
}
K_DEVICE void k_expect(unsigned long long *bar, int tid, unsigned bytes) {
    if (tid == 0) k_mbar_arrive_expect_tx(bar, bytes);
}
template <bool WIDE> struct k_word_of { typedef unsigned type; };
template <> struct k_word_of<true> { typedef unsigned long long type; };
template <int C, int T1, typename T> K_DEVICE void k_give(T v, T *slots, int tr, int rank, unsigned long long *bar) {
    static_assert(sizeof(T) % 4 == 0, "a value goes by words of 4 or 8 bytes");
    typedef typename k_word_of<sizeof(T) % 8 == 0>::type word;
    enum { WORDS = sizeof(T) / sizeof(word) };
    union { T v; word w[WORDS]; } u;
    u.v = v;
#pragma unroll
    for (int from = 0; from < C; from += T1) {
        const int to = from + tr;
        if (to >= C) break;
#pragma unroll
        for (int i = 0; i < WORDS; i++) k_cluster_put((word *)(slots + rank) + i, u.w[i], to, bar);
    }
}
template <typename OP, int C, typename T> K_DEVICE T k_reduce_slots(const T *slots) {
    T v = slots[0];
#pragma unroll
    for (int i = 1; i < C; i++) v = OP::of(v, slots[i]);
    return v;
}
template <typename OP, int C, typename T> K_DEVICE k_m2_state<T> k_reduce_slots(const k_m2_state<T> *slots) {
    return k_m2_parts<C>(slots);
}
template <int C, int N, typename T> K_DEVICE k_online<N, T> k_online_slots(const k_online<N, T> *slots) {
    k_online<N, T> v = slots[0];
#pragma unroll
    for (int i = 1; i < C; i++) v.max = k_max(v.max, slots[i].max);
#pragma unroll
    for (int n = 0; n < N; n++) v.sum[n] = 0;
#pragma unroll
    for (int i = 0; i < C; i++) {
        const T part = k_online_scale(slots[i].max, v.max);
#pragma unroll
        for (int n = 0; n < N; n++) v.sum[n] += slots[i].sum[n] * part;
    }
    return v;
}

/* The same of the rows that k_reduce_columns has reduced, N of each of T0 threads: each block leaves its own where the
 * others find them, and a thread adds up one row of all blocks. `own` and `all` hold N*T0 values each. */
template <typename OP, int T0, int T1, int N, int C, typename T>
K_DEVICE void k_reduce_columns_cluster(T *v, T *own, T *all) {
    const int tid = (int)threadIdx.x, row = tid % T0, ROWS = N * T0;
    if (tid < T0)
#pragma unroll
        for (int n = 0; n < N; n++) own[n * T0 + row] = v[n];
    k_cluster_sync();
    for (int i = tid; i < ROWS; i += T0 * T1) {
        T sum = k_cluster_load(own + i, 0);
#pragma unroll
        for (unsigned c = 1; c < C; c++) sum = OP::of(sum, k_cluster_load(own + i, c));
        all[i] = sum;
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = all[n * T0 + row];
}
#endif

/* reduce.cuh: behind maths.cuh: what threads, warps, blocks and clusters reduce and scan. */
/* ---- reductions: thread -> warp -> block ----------------------------------------------------- */

struct k_sum { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_wrap_add(a, b); } };
struct k_prod { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_wrap_mul(a, b); } };
struct k_amax { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_max(a, b); } };
struct k_amin { template <typename T> K_DEVICE_MEMBER T of(T a, T b) { return k_min(a, b); } };

/* argmax and argmin: a value and its number. Of equal values the one with the least number wins; nan beats all. */
template <typename T, typename I> struct k_pair { T value; I at; };
template <typename T> K_DEVICE bool k_wins(T b, T a, bool larger, bool first) {
    const bool both = a == b || (a != a && b != b);
    return larger || (b != b && a == a) || (both && first);
}
struct k_argmax {
    template <typename P> K_DEVICE_MEMBER P of(P a, P b) {
        return k_wins(b.value, a.value, b.value > a.value, b.at < a.at) ? b : a;
    }
    template <typename T> K_DEVICE_MEMBER T most(T a, T b) { return k_max(a, b); }
    template <typename T> K_DEVICE_MEMBER unsigned most(T t, unsigned a, unsigned b) { return k_max2(t, a, b); }
    template <typename T> K_DEVICE_MEMBER bool within(T b, T a) { return b <= a; }
};
struct k_argmin {
    template <typename P> K_DEVICE_MEMBER P of(P a, P b) {
        return k_wins(b.value, a.value, b.value < a.value, b.at < a.at) ? b : a;
    }
    template <typename T> K_DEVICE_MEMBER T most(T a, T b) { return k_min(a, b); }
    template <typename T> K_DEVICE_MEMBER unsigned most(T t, unsigned a, unsigned b) { return k_min2(t, a, b); }
    template <typename T> K_DEVICE_MEMBER bool within(T b, T a) { return b >= a; }
};

/* The extremum of a vector; nan if one is. Those of 16 bits go by twos. */
template <typename OP, typename T, int N> K_DEVICE typename k_math<T>::type k_most(const k_pack<T, N> &p) {
    typename k_math<T>::type m[N];
#pragma unroll
    for (int i = 0; i < N; i++) m[i] = k_get(p, i);
#pragma unroll
    for (int s = N / 2; s > 0; s /= 2)
#pragma unroll
        for (int i = 0; i < s; i++) m[i] = OP::most(m[i], m[i + s]);
    return m[0];
}
template <typename OP, typename T, int N> K_DEVICE float k_most_by_twos(k_pack<T, N> p) {
#pragma unroll
    for (int s = N / 4; s > 0; s /= 2)
#pragma unroll
        for (int i = 0; i < s; i++) p.w[i] = OP::most(T(), p.w[i], p.w[i + s]);
    return OP::most(k_get(p, 0), k_get(p, 1));
}
template <typename OP, int N> K_DEVICE float k_most(const k_pack<k_bf16, N> &p) { return k_most_by_twos<OP>(p); }
template <typename OP, int N> K_DEVICE float k_most(const k_pack<k_f16, N> &p) { return k_most_by_twos<OP>(p); }
/* Vectors of one row in the order of their numbers: the first with the extremum so far is kept, and its first number.
 * The first vector is, whatever it has. */
template <typename OP, typename P, typename V, typename T, typename I>
K_DEVICE void k_keep(P &a, V &kept, T most, I at, const V &p) {
    if ((!OP::within(decltype(a.value)(most), a.value) & (a.value == a.value)) | (at < a.at))
        a.value = most, a.at = at, kept = p;
}
/* The place in there of its first element that is the extremum; 0 if no vector was kept. */
template <typename T, int N, typename M> K_DEVICE int k_place(const k_pack<T, N> &kept, M most) {
    int place = 0;
#pragma unroll
    for (int i = N - 1; i >= 0; i--) {
        const M b = k_get(kept, i);
        if (b == most || b != b) place = i;
    }
    return place;
}

/* How many, and sums of their differences from a number near them, and of the squares of these; n counts from 0 by ones.
 * The number is the first of them, and at every power of two from 8 on their mean so far: were the first far from all
 * others, sums of its distance would lose the digits of theirs. */
template <typename T> struct k_m2_state { T n, near, sum, squares; };
template <typename T> struct k_squares { int n; T near, sum, squares; };
K_DEVICE bool k_is_power_of_two(int n) { return (n & (n - 1)) == 0; } /* or 0 */
K_DEVICE bool k_is_power_of_two(float n) { return k_as_uint(n) << 9 == 0; }
K_DEVICE bool k_is_power_of_two(double n) { return k_is_power_of_two((int)n); }
template <typename S, typename T> K_DEVICE S k_come_near(S a, T x) {
    if (a.n == 0) a.near = x;
    if (a.n < 8) return a;
    const T n = (T)a.n, e = k_div(a.sum, n);
    a.squares -= e * ((T)2 * a.sum - n * e);
    a.sum -= n * e;
    a.near += e;
    return a;
}
template <typename S, typename T> K_DEVICE S k_add_near(S a, T x, bool may_move) {
    if (may_move && k_is_power_of_two(a.n)) a = k_come_near(a, x);
    const T d = x - a.near;
    a.n += 1;
    a.sum += d;
    a.squares += d * d;
    return a;
}

/* Of a thread's part of a sum of (x - u)^2, whose u is known later. */
template <typename T> K_DEVICE T k_squares_about(k_squares<T> a, T u) {
    const T e = u - a.near;
    return a.n ? a.squares - e * ((T)2 * a.sum - (T)a.n * e) : (T)0;
}

/* m2: of two, each is made to differ from its mean, and they are joined as Chan, Golub and LeVeque do (Updating
 * formulae, 1979). */
template <typename T> K_DEVICE T k_m2_off(k_m2_state<T> a) { return a.sum == (T)0 ? (T)0 : k_div(a.sum, a.n); }
template <typename T> K_DEVICE T k_m2_value(k_m2_state<T> a) {
    return a.n > (T)0 ? a.squares - a.sum * k_div(a.sum, a.n) : (T)0;
}
struct k_m2 {
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> of(k_m2_state<T> a, T x) { return k_add_near(a, x, true); }
    /* The same of a few, whose first is near enough: its own square is a part of what they come to. */
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> few(k_m2_state<T> a, T x) {
        if (a.n == (T)0) a.near = x;
        return k_add_near(a, x, false);
    }
    /* What lanes and tiles leave differs from its mean already. Of one that has none, or beside such, d counts 0 times. */
    template <typename T> K_DEVICE_MEMBER k_m2_state<T> of(k_m2_state<T> a, k_m2_state<T> b) {
        const T n = a.n + b.n, part = n > (T)0 ? k_div(b.n, n) : (T)0, off_a = k_m2_off(a), off_b = k_m2_off(b),
                mean = a.near + off_a, d = b.near + off_b - mean;
        return k_m2_state<T>{n, mean + d * part, (T)0,
                             a.squares - a.sum * off_a + (b.squares - b.sum * off_b) + d * part * a.n * d};
    }
};

/* expsum: the largest so far, and the sum of exp(x - that). */
template <typename T> struct k_expsum_state { T max, sum; };
template <typename T> K_DEVICE T k_expsum_value(k_expsum_state<T> a) { return a.sum * (a.max - a.max + (T)1); }
struct k_expsum {
    template <typename T> K_DEVICE_MEMBER k_expsum_state<T> of(k_expsum_state<T> a, T x) {
        if (x == (T)-k_inf()) return a;
        const T d = x - a.max, e = k_exp(d > (T)0 ? -d : d);
        return d > (T)0 ? k_expsum_state<T>{x, a.sum * e + (T)1} : k_expsum_state<T>{a.max, a.sum + e};
    }
    template <typename T> K_DEVICE_MEMBER k_expsum_state<T> of(k_expsum_state<T> a, k_expsum_state<T> b) {
        if (b.max == (T)-k_inf() && b.sum == b.sum) return a; /* a NaN may stand beside no maximum yet */
        const T d = b.max - a.max, e = k_exp(d > (T)0 ? -d : d);
        return d > (T)0 ? k_expsum_state<T>{b.max, a.sum * e + b.sum} : k_expsum_state<T>{a.max, a.sum + b.sum * e};
    }
};

/* Accumulators above one (kernel/chain.c), which has had a block of terms, after `n` others: it is added to the first of
 * them, and has nothing again; RADIX blocks make one of the next. The thread gets all of them in the end. */
template <typename OP, int RADIX, int LEVELS, typename T> K_DEVICE void k_fold(T (&above)[LEVELS], T &a, T none, unsigned n) {
    T x = a;
    a = none;
#pragma unroll
    for (int l = 0; l < LEVELS; l++) {
        above[l] = OP::of(above[l], x);
        if (l + 1 == LEVELS || (n + 1) % RADIX) return;
        n /= RADIX;
        x = above[l];
        above[l] = none;
    }
}
template <typename OP, int LEVELS, typename T> K_DEVICE T k_unfold(const T (&above)[LEVELS], T a) {
#pragma unroll
    for (int l = 0; l < LEVELS; l++) a = OP::of(above[l], a);
    return a;
}
/* They are in local memory: registers are for what is added to all the time. Compilers do not know that they begin where
 * they are, so many layers on as the grid has but the first: none. */
template <typename T> K_DEVICE T &k_in_memory(T &above) {
    T *at = &above;
#ifndef WS_EMULATOR
    asm volatile("add.u64 %0, %0, %1;" : "+l"(at) : "l"((unsigned long long)(gridDim.z - 1)));
#endif
    return *at;
}
struct k_join_squares {
    template <typename T> K_DEVICE_MEMBER k_squares<T> of(k_squares<T> a, k_squares<T> b) {
        if (a.n == 0) return b;
        if (b.n == 0) return a;
        const T part = (T)b.n / (T)(a.n + b.n), e = a.sum / (T)a.n, f = b.sum / (T)b.n, d = b.near + f - (a.near + e);
        return k_squares<T>{a.n + b.n, a.near + e + d * part, (T)0,
                            a.squares - a.sum * e + (b.squares - b.sum * f) + d * d * (T)a.n * part};
    }
};

template <typename T> K_DEVICE T k_shfl(T v, int from, int width) { return __shfl_sync(0xffffffffu, v, from, width); }
template <typename T> K_DEVICE T k_shfl_xor(T v, int lane_mask) { return __shfl_xor_sync(0xffffffffu, v, lane_mask); }
template <typename T, typename I> K_DEVICE k_pair<T, I> k_shfl_xor(k_pair<T, I> v, int lane_mask) {
    v.value = k_shfl_xor(v.value, lane_mask);
    v.at = k_shfl_xor(v.at, lane_mask);
    return v;
}
template <typename T> K_DEVICE k_m2_state<T> k_shfl_xor(k_m2_state<T> v, int lane_mask) {
    return k_m2_state<T>{k_shfl_xor(v.n, lane_mask), k_shfl_xor(v.near, lane_mask), k_shfl_xor(v.sum, lane_mask),
                        k_shfl_xor(v.squares, lane_mask)};
}
template <typename T> K_DEVICE k_expsum_state<T> k_shfl_xor(k_expsum_state<T> v, int lane_mask) {
    return k_expsum_state<T>{k_shfl_xor(v.max, lane_mask), k_shfl_xor(v.sum, lane_mask)};
}

/* What sums of exp(x - own) are to be multiplied by, to be those of exp(x - max): own is max, less, or -inf. */
template <typename T> K_DEVICE T k_rescale(T own, T max) { return k_exp(own - max); }

/* What lanes have that are FROM, 2*FROM, ... below TO apart: each gets it of all of them. */
template <typename OP, int FROM, int TO, typename T> K_DEVICE T k_reduce_lanes(T v) {
#pragma unroll
    for (int m = FROM; m < TO; m *= 2) v = OP::of(v, k_shfl_xor(v, m));
    return v;
}
/* Of lanes' states: first their mean, by how far each is from one of them, then what they are off by. Two divisions, where
 * joining them two by two takes three a step. */
template <int FROM, int TO, typename T> K_DEVICE k_m2_state<T> k_m2_lanes(k_m2_state<T> v) {
    const T near = k_shfl(v.near, (int)threadIdx.x & 31 & ~(TO - FROM), 32);
    const T off = v.n > (T)0 ? k_div(v.sum, v.n) : (T)0, own = v.n > (T)0 ? v.near - near + off : (T)0;
    const T n = k_reduce_lanes<k_sum, FROM, TO>(v.n), all = k_reduce_lanes<k_sum, FROM, TO>(v.n * own);
    const T mean = n > (T)0 ? k_div(all, n) : (T)0, d = own - mean;
    return k_m2_state<T>{n, near + mean, (T)0, k_reduce_lanes<k_sum, FROM, TO>(v.squares - v.sum * off + v.n * d * d)};
}

/* Of N states that lie side by side, in the same way. */
template <int N, typename T> K_DEVICE k_m2_state<T> k_m2_parts(const k_m2_state<T> *v) {
    const T near = v[0].near;
    T n = 0, all = 0, own[N], squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        own[i] = v[i].n > (T)0 ? v[i].near - near + k_div(v[i].sum, v[i].n) : (T)0;
        n += v[i].n;
        all += v[i].n * own[i];
    }
    const T mean = n > (T)0 ? k_div(all, n) : (T)0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const T d = own[i] - mean;
        squares += k_m2_value(v[i]) + v[i].n * d * d;
    }
    return k_m2_state<T>{n, near + mean, (T)0, squares};
}

/* Of N states `apart` from each other, each of which differs from its mean already. */
template <int N, typename T> K_DEVICE k_m2_state<T> k_m2_settled(const k_m2_state<T> *v, int apart) {
    const T near = v->near;
    T n = 0, all = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        n += v[i * apart].n;
        all += v[i * apart].n * (v[i * apart].near - near);
    }
    const T mean = n > (T)0 ? k_div(all, n) : (T)0;
#pragma unroll
    for (int i = 0; i < N; i++) {
        const T d = v[i * apart].near - near - mean;
        squares += v[i * apart].squares + v[i * apart].n * d * d;
    }
    return k_m2_state<T>{n, near + mean, (T)0, squares};
}

/* What a block has left is about its mean: no division to find how far off it is. */
template <typename T> K_DEVICE k_m2_state<T> k_settled(k_m2_state<T> a) { return k_m2_state<T>{a.n, a.near, (T)0, a.squares}; }

/* The two halves of k_reduce_row, between which the caller puts a barrier, one for several reductions. */
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_warps(T v, T *smem) {
#pragma unroll
    for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v = OP::of(v, k_shfl_xor(v, m));
    const int tid = (int)threadIdx.x;
    if (T1 > 32 && (tid & 31) == 0) smem[tid / 32] = v;
    return v;
}
template <typename OP, int T1, typename T> K_DEVICE k_m2_state<T> k_reduce_warps(k_m2_state<T> v, k_m2_state<T> *smem) {
    v = k_m2_lanes<1, (T1 < 32 ? T1 : 32)>(v);
    const int tid = (int)threadIdx.x;
    if (T1 > 32 && (tid & 31) == 0) smem[tid / 32] = v;
    return v;
}
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_parts(T v, const T *smem) {
    if (T1 <= 32) return v;
    const int W = T1 < 32 ? 1 : T1 / 32, row = (int)threadIdx.x / T1;
    T part[W];
#pragma unroll
    for (int i = 0; i < W; i++) part[i] = smem[row * W + i];
#pragma unroll
    for (int apart = 1; apart < W; apart *= 2)
#pragma unroll
        for (int i = 0; i < W; i += 2 * apart) part[i] = OP::of(part[i], part[i + apart]);
    return part[0];
}

/* A lane has one of them: all by each thread would be more than the rest of a short row. */
template <typename OP, int T1, typename T> K_DEVICE k_m2_state<T> k_reduce_parts(k_m2_state<T> v, const k_m2_state<T> *smem) {
    const int W = T1 <= 32 ? 1 : T1 / 32, row = (int)threadIdx.x / T1;
    return T1 <= 32 ? v : k_m2_lanes<1, W>(smem[row * W + (int)threadIdx.x % W]);
}

/* Threads of a block form T0 rows of T1 threads, a row's threads adjacent (tid = row*T1 + column). Every thread gets
 * the reduction of its row. T1 is a power of two; smem holds T0*T1/32 values and is not reused without a barrier. */
template <typename OP, int T1, typename T> K_DEVICE T k_reduce_row(T v, T *smem) {
    v = k_reduce_warps<OP, T1>(v, smem);
    if (T1 > 32) __syncthreads();
    return k_reduce_parts<OP, T1>(v, smem);
}

/* A maximum, and N sums of exponentials that are relative to it. */
template <int N, typename T> struct k_online { T max, sum[N]; };
/* The factor by which sums relative to `from` become relative to a larger maximum; of no elements, 0. */
template <typename T> K_DEVICE T k_online_scale(T from, T to) { return k_exp(from - (to == (T)-k_inf() ? (T)0 : to)); }
struct k_join_online {
    template <int N, typename T> K_DEVICE_MEMBER k_online<N, T> of(k_online<N, T> a, k_online<N, T> b) {
        const T max = k_max(a.max, b.max), from_a = k_online_scale(a.max, max), from_b = k_online_scale(b.max, max);
#pragma unroll
        for (int n = 0; n < N; n++) a.sum[n] = a.sum[n] * from_a + b.sum[n] * from_b;
        a.max = max;
        return a;
    }
};
template <typename S> K_DEVICE S k_no_online() {
    S none = {};
    none.max = -k_inf();
    return none;
}
/* As k_reduce_row, in one go: an exponential for each warp, not for each step. */
template <int T1, int N, typename T> K_DEVICE k_online<N, T> k_online_row(k_online<N, T> v, k_online<N, T> *smem) {
    const T own = v.max;
#pragma unroll
    for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v.max = k_max(v.max, k_shfl_xor(v.max, m));
    const T scale = k_online_scale(own, v.max);
#pragma unroll
    for (int n = 0; n < N; n++) {
        v.sum[n] *= scale;
#pragma unroll
        for (int m = (T1 < 32 ? T1 : 32) / 2; m > 0; m /= 2) v.sum[n] += k_shfl_xor(v.sum[n], m);
    }
    if (T1 <= 32) return v;
    const int tid = (int)threadIdx.x, first = tid / T1 * (T1 / 32);
    if ((tid & 31) == 0) smem[tid / 32] = v;
    __syncthreads();
    v.max = smem[first].max;
#pragma unroll
    for (int i = 1; i < T1 / 32; i++) v.max = k_max(v.max, smem[first + i].max);
#pragma unroll
    for (int n = 0; n < N; n++) v.sum[n] = 0;
#pragma unroll
    for (int i = 0; i < T1 / 32; i++) {
        const T part = k_online_scale(smem[first + i].max, v.max);
#pragma unroll
        for (int n = 0; n < N; n++) v.sum[n] += smem[first + i].sum[n] * part;
    }
    return v;
}

/* The other way round: tid = column*T0 + row, T1 columns; a thread brings v[N], one for each of N rows, and gets their
 * reductions. A warp's columns are combined by shuffles, so W parts of each row go through shared memory: as they lie
 * there, part*N*T0 + n*T0 + row, one thread adds up each of the N*T0 rows. smem holds W*N*T0 values. */
template <typename OP, int T0, int T1, int N, typename T> K_DEVICE void k_reduce_columns(T *v, T *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
#pragma unroll
    for (int m = T0; m < 32; m *= 2)
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = OP::of(v[n], k_shfl_xor(v[n], m));
    if (W > 1) {
        const int tid = (int)threadIdx.x, row = tid % T0, part = tid / (T0 * S);
        if (S == 1 || (tid & 31) < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = v[n];
        __syncthreads();
#pragma unroll
        for (int from = 0; from < ROWS; from += T0 * T1) {
            const int i = from + tid;
            if (i >= ROWS) break;
            T sum = smem[i];
#pragma unroll
            for (int p = 1; p < W; p++) sum = OP::of(sum, smem[p * ROWS + i]);
            smem[i] = sum;
        }
        __syncthreads();
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = smem[n * T0 + row];
    }
}
/* States are joined in two sums, their mean's and that of what they are off by it: as text, two by two, they would be most
 * of a kernel, and instructions that nobody has had before come from memory as well. */
template <typename OP, int T0, int T1, int N, typename T>
K_DEVICE void k_reduce_columns(k_m2_state<T> *v, k_m2_state<T> *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
#pragma unroll
    for (int n = 0; n < N; n++) v[n] = k_m2_lanes<(T0 < 32 ? T0 : 32), 32>(v[n]);
    if (W > 1) {
        const int tid = (int)threadIdx.x, row = tid % T0, part = tid / (T0 * S);
        if (S == 1 || (tid & 31) < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = v[n];
        __syncthreads();
#pragma unroll 1
        for (int i = tid; i < ROWS; i += T0 * T1) smem[i] = k_m2_settled<W>(smem + i, ROWS);
        __syncthreads();
#pragma unroll
        for (int n = 0; n < N; n++) v[n] = smem[n * T0 + row];
    }
}

/* Sources that the threads of a block have tested, EACH in a row of warps: thread t has found bit i of `found` of
 * source from + (t / 32 * EACH + i) * 32 + t % 32. What is found is appended to the n that are listed, in order, each
 * with its place; returns how many they are now. counts[] holds a number for each warp. */
template <int THREADS, int EACH, typename I>
K_DEVICE int k_list_hits(unsigned found, const int *place, I from, int n, I *hits, int *places, int *counts) {
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const bool any = __any_sync(0xffffffffu, found != 0);
    int own = 0, before = 0, all = 0;
    if (any)
        for (int i = 0; i < EACH; i++) own += __popc(__ballot_sync(0xffffffffu, found >> i & 1));
    if (lane == 0) counts[warp] = own;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) {
        const int count = counts[w];
        before += w < warp ? count : 0;
        all += count;
    }
    int at = n + before;
    if (any)
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const unsigned mask = __ballot_sync(0xffffffffu, found >> i & 1);
            const int slot = at + __popc(mask & ((1u << lane) - 1));
            if (found >> i & 1) hits[slot] = from + (I)((warp * EACH + i) * 32 + lane), places[slot] = place[i];
            at += __popc(mask);
        }
    __syncthreads();
    return n + all;
}

/* Sources are sorted by their keys, 8 bits in a pass, by blocks of 256 threads; of `n` sources each has as many, which
 * follow one another. counts[digit][block] is how many keys of the block's own have the digit. */
K_DEVICE unsigned k_sort_begin(unsigned n, unsigned block) {
    return (unsigned)((unsigned long long)n * block / gridDim.x);
}
K_DEVICE void k_sort_count(const unsigned *keys, unsigned n, int shift, unsigned *counts) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const own = (unsigned *)k_smem;
    const unsigned tid = threadIdx.x, end = k_sort_begin(n, blockIdx.x + 1);
    own[tid] = 0;
    __syncthreads();
    for (unsigned i = k_sort_begin(n, blockIdx.x) + tid; i < end; i += 256) atomicAdd(own + (keys[i] >> shift & 255), 1u);
    __syncthreads();
    counts[tid * gridDim.x + blockIdx.x] = own[tid];
}

/* What threads before this one have, in all, and *all what all have; own is shared memory for a number of each warp, which
 * nobody uses. */
template <int WARPS = 8> K_DEVICE unsigned k_sort_before(unsigned v, unsigned *own, unsigned *all = nullptr) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned sum = v, before = 0;
#pragma unroll
    for (unsigned apart = 1; apart < 32; apart *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, sum, apart);
        sum += lane >= apart ? other : 0;
    }
    if (lane == 31) own[warp] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < WARPS; w++) before += w < warp ? own[w] : 0;
    if (all) {
        *all = 0;
#pragma unroll
        for (unsigned w = 0; w < WARPS; w++) *all += own[w];
    }
    __syncthreads();
    return before + sum - v;
}

/* Block d: counts[d] become what blocks before have of digit d; totals[d]: what all have. */
K_DEVICE void k_sort_scan(unsigned *counts, unsigned blocks, unsigned *totals) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const own = (unsigned *)k_smem, *const all = counts + blockIdx.x * blocks;
    unsigned so_far = 0;
    for (unsigned from = 0; from < blocks; from += 256) {
        const unsigned i = from + threadIdx.x, v = i < blocks ? all[i] : 0, before = k_sort_before(v, own);
        if (i < blocks) all[i] = so_far + before;
        own[threadIdx.x] = before + v;
        __syncthreads();
        so_far += own[255];
        __syncthreads();
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = so_far;
}

/* Which threads of the warp, of those that count, have the same number of so many bits, by a
 * vote for each bit. */
template <int BITS> K_DEVICE unsigned k_peers(bool counts, unsigned number) {
    unsigned peers = __ballot_sync(0xffffffffu, counts);
#pragma unroll
    for (int b = 0; b < BITS; b++) {
        const unsigned set = __ballot_sync(0xffffffffu, number >> b & 1);
        peers &= number >> b & 1 ? set : ~set;
    }
    return peers;
}

/* Keys and sources to where they belong by the digit: those of equal digits keep their order. FIRST: sources are as they
 * come. next[d]: where the next of digit d goes; warps[w][d]: the same of warp w, which has EACH rows of 32 at a time. */
template <bool FIRST>
K_DEVICE void k_sort_move(const unsigned *keys, const unsigned *order, unsigned n, int shift, const unsigned *counts,
                          const unsigned *totals, unsigned *keys_to, unsigned *order_to) {
    enum { EACH = 4 };
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const next = (unsigned *)k_smem, *const warps = next + 256;
    const unsigned tid = threadIdx.x, lane = tid & 31, end = k_sort_begin(n, blockIdx.x + 1);
    unsigned *const own = warps + tid / 32 * 256;
    const unsigned smaller = k_sort_before(totals[tid], next);
    next[tid] = smaller + counts[tid * gridDim.x + blockIdx.x];
    for (unsigned from = k_sort_begin(n, blockIdx.x); from < end; from += 256 * EACH) {
        unsigned key[EACH], source[EACH], digit[EACH], rank[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const unsigned at = from + (tid / 32 * EACH + i) * 32 + lane;
            key[i] = at < end ? keys[at] : 0, source[i] = FIRST || at >= end ? at : order[at];
            digit[i] = at < end ? key[i] >> shift & 255 : 256;
        }
        for (int w = 0; w < 8; w++) warps[w * 256 + tid] = 0;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++) { /* behind those of the warp's rows before */
            const unsigned peers = k_peers<8>(digit[i] < 256, digit[i]), before = __popc(peers & ((1u << lane) - 1));
            const unsigned so_far = digit[i] < 256 ? own[digit[i]] : 0;
            __syncwarp();
            if (digit[i] < 256 && before == 0) own[digit[i]] = so_far + __popc(peers);
            __syncwarp();
            rank[i] = so_far + before;
        }
        __syncthreads();
        unsigned at = next[tid];
        for (int w = 0; w < 8; w++) {
            const unsigned count = warps[w * 256 + tid];
            warps[w * 256 + tid] = at;
            at += count;
        }
        next[tid] = at;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (digit[i] < 256) keys_to[own[digit[i]] + rank[i]] = key[i], order_to[own[digit[i]] + rank[i]] = source[i];
        __syncthreads();
    }
}

/* Sources of the block's threads, EACH in rows of a warp, go to the buckets keys >> shift, those of key ~0 to none. `all` has
 * a number for each bucket: how many sources of the block it has. */
K_DEVICE void k_bucket_clear(unsigned *all, int buckets) {
    for (int d = (int)threadIdx.x; d < buckets; d += (int)blockDim.x) all[d] = 0;
    __syncthreads();
}
template <int EACH> K_DEVICE void k_bucket_count(const unsigned (&keys)[EACH], int shift, unsigned *all) {
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (keys[i] != 0xffffffffu) atomicAdd(all + (keys[i] >> shift), 1u);
}
K_DEVICE void k_bucket_store(const unsigned *all, int buckets, unsigned *counts) {
    __syncthreads();
    for (int d = (int)threadIdx.x; d < buckets; d += (int)blockDim.x) counts[(int)blockIdx.x * buckets + d] = all[d];
}

/* counts[b][d] become what blocks before b have of bucket d; totals[d]: what all have. A thread has a bucket, of EACH
 * blocks, whose counts are under way together; k_smem holds a number for each thread. */
template <int WARPS, int EACH>
K_DEVICE void k_bucket_scan(unsigned *counts, int blocks, int buckets, unsigned *totals) {
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const own = (unsigned *)k_smem;
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32, first = warp * EACH;
    const int bucket = (int)blockIdx.x * 32 + lane, most = bucket < buckets ? blocks : 0;
    unsigned v[EACH], before = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) v[i] = first + i < most ? counts[(first + i) * buckets + bucket] : 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) before += v[i];
    own[threadIdx.x] = before, before = 0;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; w++) before += w < warp ? own[w * 32 + lane] : 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (first + i < most) counts[(first + i) * buckets + bucket] = before;
        before += v[i];
    }
    if (most && warp == WARPS - 1) totals[bucket] = before;
}

/* next[d] is where the block's first source of bucket d goes; begin[d] where that bucket begins. `own` is shared memory
 * for a number of each warp and each so many buckets as there are threads, of which a thread has one. */
template <int WARPS, int CHUNKS>
K_DEVICE void k_bucket_begin(const unsigned *counts, const unsigned *totals, int buckets, unsigned *next, unsigned *own,
                             unsigned *begin) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned total[CHUNKS], mine[CHUNKS], sum[CHUNKS], so_far = 0;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) { /* all under way together */
        const int d = c * WARPS * 32 + (int)threadIdx.x;
        total[c] = d < buckets ? totals[d] : 0, mine[c] = d < buckets ? counts[(int)blockIdx.x * buckets + d] : 0;
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        sum[c] = total[c];
#pragma unroll
        for (unsigned apart = 1; apart < 32; apart *= 2) {
            const unsigned other = __shfl_up_sync(0xffffffffu, sum[c], apart);
            sum[c] += lane >= apart ? other : 0;
        }
        if (lane == 31) own[c * WARPS + warp] = sum[c];
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        const int d = c * WARPS * 32 + (int)threadIdx.x;
        unsigned before = so_far - total[c] + sum[c];
#pragma unroll
        for (unsigned w = 0; w < WARPS; w++) {
            const unsigned count = own[c * WARPS + w];
            before += w < warp ? count : 0, so_far += count;
        }
        if (d < (buckets + 1) / 2 * 2) next[d] = before + mine[c]; /* words of two have both */
        if (d < buckets && blockIdx.x == 0) begin[d] = before;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) begin[buckets] = so_far;
    __syncthreads();
}

/* Those of a bucket, whose number has BITS bits, keep their order. warps[w][d], of `room` numbers each, an even one: how many
 * of bucket d warp w has; then how many warps before have. rank[i / 2]: behind how many of its warp, and then of the block,
 * source i goes, two of these in a word. */
K_DEVICE unsigned k_half(unsigned word, int i) { return i & 1 ? word >> 16 : word & 0xffff; }
template <int BITS, int WARPS, int EACH>
K_DEVICE void k_bucket_rank(const unsigned (&keys)[EACH], unsigned (&rank)[EACH / 2], int shift, int room,
                            unsigned short *warps) {
    const unsigned lane = threadIdx.x & 31;
    unsigned short *const own = warps + (int)(threadIdx.x / 32) * room;
    for (int d = (int)threadIdx.x; d < WARPS / 2 * room; d += WARPS * 32) ((unsigned *)warps)[d] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const bool counted = keys[i] != 0xffffffffu;
        const unsigned bucket = keys[i] >> shift;
        const unsigned peers = k_peers<BITS>(counted, bucket), before = __popc(peers & ((1u << lane) - 1));
        const unsigned so_far = counted ? own[bucket] : 0;
        __syncwarp();
        if (counted && before == 0) own[bucket] = (unsigned short)(so_far + __popc(peers));
        __syncwarp();
        rank[i / 2] = i & 1 ? rank[i / 2] | (so_far + before) << 16 : so_far + before;
    }
    __syncthreads();
}

/* The same where their order does not matter, with one array for the block. */
template <int EACH>
K_DEVICE void k_bucket_deal(const unsigned (&keys)[EACH], unsigned (&rank)[EACH / 2], int shift, int room,
                            unsigned short *all) {
    unsigned *const words = (unsigned *)all;
    for (int d = (int)threadIdx.x; d < room / 2; d += (int)blockDim.x) words[d] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const int d = (int)(keys[i] >> shift);
        const unsigned own = keys[i] != 0xffffffffu ? k_half(atomicAdd(words + d / 2, d & 1 ? 0x10000u : 1u), d) : 0;
        rank[i / 2] = i & 1 ? rank[i / 2] | own << 16 : own;
    }
    __syncthreads();
}

/* ... and to their places: next[d] is where the block's next source of bucket d goes. A pair is a key and, in its upper half,
 * a name. A thread has the numbers of two buckets, a word, at a time. Pairs come to lie in order in shared memory first, where
 * `warps`, of PARTS arrays, was, as those of a bucket are stored beside each other; starts[d]: where those of bucket d begin
 * there. */
template <int WARPS, int WORDS, int PARTS, int EACH>
K_DEVICE void k_bucket_move(const unsigned (&keys)[EACH], const unsigned (&named)[EACH], unsigned (&rank)[EACH / 2], int shift,
                            int room, unsigned *next, unsigned *starts, unsigned *sums, unsigned short *warps,
                            unsigned long long *pairs) {
    enum { THREADS = WARPS * 32 };
    const unsigned short *const own = warps + (PARTS > 1 ? (int)(threadIdx.x / 32) * room : 0);
    unsigned long long *const staged = (unsigned long long *)warps;
    unsigned all[WORDS], n = 0;
#pragma unroll
    for (int c = 0; c < WORDS; c++) {
        const int word = c * THREADS + (int)threadIdx.x;
        unsigned *const at = (unsigned *)warps + word, chunk;
        all[c] = 0;
        if (word < room / 2)
#pragma unroll 8
            for (int w = 0; w < PARTS; w++) {
                const unsigned count = at[w * (room / 2)];
                at[w * (room / 2)] = all[c];
                all[c] += count; /* of both: a block has fewer than 2^16 */
            }
        const unsigned start = n + k_sort_before<WARPS>((all[c] & 0xffff) + (all[c] >> 16), sums, &chunk);
        if (word < room / 2) starts[2 * word] = start, starts[2 * word + 1] = start + (all[c] & 0xffff);
        n += chunk;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const unsigned d = keys[i] >> shift;
        const unsigned at = keys[i] != 0xffffffffu ? starts[d] + own[d] + k_half(rank[i / 2], i) : 0;
        rank[i / 2] = i & 1 ? (rank[i / 2] & 0xffff) | at << 16 : (rank[i / 2] & 0xffff0000u) | at;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++)
        if (keys[i] != 0xffffffffu) staged[k_half(rank[i / 2], i)] = (unsigned long long)named[i] << 32 | keys[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const unsigned j = i * THREADS + threadIdx.x;
        if (j < n) {
            const unsigned long long pair = staged[j];
            const unsigned d = (unsigned)pair >> shift;
            pairs[next[d] + (j - starts[d])] = pair;
        }
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < WORDS; c++) {
        const int word = c * THREADS + (int)threadIdx.x;
        if (word < room / 2) next[2 * word] += all[c] & 0xffff, next[2 * word + 1] += all[c] >> 16;
    }
    __syncthreads();
}

/* A block has a bucket of pairs, of up to ROWS rows: their names go to order[], row by row, those of a row as they come;
 * begin[row]: where these begin, and behind the last row where they end. k_smem holds a number of each row for each of 8
 * warps, which have a part of the bucket each, and 9 more. */
template <int BITS>
K_DEVICE void k_bucket_lists(const unsigned long long *pairs, const unsigned *buckets, unsigned rows, unsigned *order,
                             unsigned *begin) {
    enum { ROWS = 1 << BITS, AT_ONCE = 4 };
    extern __shared__ __align__(16) unsigned char k_smem[];
    unsigned *const warps = (unsigned *)k_smem, *const sums = warps + 8 * ROWS;
    const unsigned tid = threadIdx.x, lane = tid & 31, from = buckets[blockIdx.x], to = buckets[blockIdx.x + 1];
    const unsigned first = blockIdx.x * ROWS, each = (to - from + 255) / 256 * 32;
    const unsigned mine = from + tid / 32 * each < to ? from + tid / 32 * each : to, end = mine + each < to ? mine + each : to;
    unsigned *const own = warps + tid / 32 * ROWS;
    for (unsigned d = tid; d < 8 * ROWS; d += 256) warps[d] = 0;
    __syncthreads();
    for (unsigned i = mine + lane; i < end; i += 32) atomicAdd(own + ((unsigned)pairs[i] - first), 1u);
    __syncthreads();
    unsigned so_far = from;
    for (unsigned c = 0; c < ROWS; c += 256) {
        const unsigned d = c + tid;
        unsigned count[8], total = 0;
#pragma unroll
        for (int w = 0; w < 8; w++) count[w] = d < ROWS ? warps[w * ROWS + d] : 0, total += count[w];
        unsigned at = so_far + k_sort_before(total, sums);
        if (d < ROWS && first + d < rows) begin[first + d] = at;
#pragma unroll
        for (int w = 0; w < 8; w++) {
            if (d < ROWS) warps[w * ROWS + d] = at;
            at += count[w];
        }
        if (tid == 255) sums[8] = at;
        __syncthreads();
        so_far = sums[8];
        __syncthreads();
    }
    if (tid == 0 && first + ROWS >= rows) begin[rows] = to;
    for (unsigned i = mine; i < end; i += 32 * AT_ONCE) {
        unsigned long long pair[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) pair[u] = i + u * 32 + lane < end ? pairs[i + u * 32 + lane] : 0;
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
            const bool counts = i + u * 32 + lane < end;
            const unsigned row = counts ? (unsigned)pair[u] - first : 0;
            const unsigned peers = k_peers<BITS>(counts, row), before = __popc(peers & ((1u << lane) - 1));
            const unsigned next = counts ? own[row] : 0;
            __syncwarp();
            if (counts && before == 0) own[row] = next + __popc(peers);
            __syncwarp();
            if (counts) order[next + before] = (unsigned)(pair[u] >> 32);
        }
    }
}

/* How many threads of the warp before this one go to the same place, of so many bits; of one that goes nowhere: 0. */
template <int BITS> K_DEVICE unsigned k_turn(bool lands, unsigned place) {
    const unsigned peers = k_peers<BITS>(lands, place);
    return lands ? __popc(peers & ((1u << (threadIdx.x & 31)) - 1)) : 0;
}

/* Of a source with that key: one more is before it; next is behind the greatest key of these. */
K_DEVICE void k_sort_behind(bool before, unsigned other, unsigned &rank, unsigned &next) {
    rank += before;
    if (before && other >= next) next = other + 1;
}

/* A warp places EACH of the n sources, whose keys are below rows, or rows: by how many are before it, which have lesser
 * keys, or equal ones and come before. begin[row] is how many have keys less than row: the first source of a key knows it
 * for that, and for those up to the next lesser key, that nobody has; behind the last source is one more, of key rows. */
template <int EACH>
K_DEVICE void k_sort_ranks(const unsigned *keys, unsigned n, unsigned rows, unsigned *order, unsigned *begin) {
    const unsigned lane = threadIdx.x & 31, first = (blockIdx.x * 8 + threadIdx.x / 32) * EACH;
    unsigned key[EACH], rank[EACH], next[EACH];
#pragma unroll
    for (int s = 0; s < EACH; s++) key[s] = first + s < n ? keys[first + s] : rows, rank[s] = next[s] = 0;
    for (unsigned i = lane; i < first && i < n; i += 32)
#pragma unroll
        for (int s = 0; s < EACH; s++) k_sort_behind(keys[i] <= key[s], keys[i], rank[s], next[s]);
    if (lane < EACH && first + lane < n)
#pragma unroll
        for (int s = 0; s < EACH; s++)
            k_sort_behind(keys[first + lane] < key[s] || (keys[first + lane] == key[s] && lane < s), keys[first + lane],
                          rank[s], next[s]);
    for (unsigned i = first + EACH + lane; i < n; i += 32)
#pragma unroll
        for (int s = 0; s < EACH; s++) k_sort_behind(keys[i] < key[s], keys[i], rank[s], next[s]);
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        for (int apart = 16; apart; apart /= 2) {
            rank[s] += k_shfl_xor(rank[s], apart);
            const unsigned others = k_shfl_xor(next[s], apart);
            next[s] = others > next[s] ? others : next[s];
        }
        if (lane == 0 && first + s < n) order[rank[s]] = first + s;
        if (first + s <= n) /* none, if one before it has the key */
            for (unsigned row = next[s] + lane; row <= key[s]; row += 32) begin[row] = rank[s];
    }
}

/* Sources that the 1024 threads of a block have looked at, EACH in a row of warps, as in k_list_hits: those whose bits are
 * in `found` are listed, in order; returns how many they are. `less` becomes the sum of all threads'. counts[] holds two
 * numbers for each warp. */
template <int EACH> K_DEVICE unsigned k_sort_found(unsigned found, unsigned &less, unsigned *list, unsigned *counts) {
    const unsigned lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned own = 0, at = 0, all = 0;
#pragma unroll
    for (int i = 0; i < EACH; i++) own += __popc(__ballot_sync(0xffffffffu, found >> i & 1));
    for (int apart = 16; apart; apart /= 2) less += k_shfl_xor(less, apart);
    if (lane == 0) counts[warp] = own, counts[32 + warp] = less;
    __syncthreads();
    less = 0;
#pragma unroll
    for (unsigned w = 0; w < 32; w++) {
        const unsigned count = counts[w];
        at += w < warp ? count : 0, all += count, less += counts[32 + w];
    }
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        const unsigned mask = __ballot_sync(0xffffffffu, found >> i & 1);
        if (found >> i & 1) list[at + __popc(mask & ((1u << lane) - 1))] = (warp * EACH + i) * 32 + lane;
        at += __popc(mask);
    }
    __syncthreads();
    return all;
}

/* The n listed sources, each with its row, of up to 1024, in the upper half, go to order[], row by row, those of a row in
 * order; begin[row]: where they begin, `base` behind. starts[] holds a number for each row, and 32 more. */
K_DEVICE void k_sort_list(const unsigned *list, unsigned n, unsigned rows, unsigned base, unsigned *starts, unsigned *order,
                          unsigned *begin) {
    const unsigned tid = threadIdx.x, lane = tid & 31;
    if (tid < rows) starts[tid] = 0;
    __syncthreads();
    for (unsigned i = tid; i < n; i += 1024) atomicAdd(starts + (list[i] >> 16), 1u);
    __syncthreads();
    const unsigned start = k_sort_before<32>(tid < rows ? starts[tid] : 0, starts + rows);
    if (tid < rows) starts[tid] = start, begin[tid] = base + start;
    __syncthreads();
    for (unsigned row = tid / 32; row < rows; row += 32) {
        const unsigned end = row + 1 < rows ? starts[row + 1] : n;
        unsigned at = starts[row];
        for (unsigned i = lane; at < end; i += 32) { /* until all of the row are found */
            const bool here = i < n && list[i] >> 16 == row;
            const unsigned mask = __ballot_sync(0xffffffffu, here);
            if (here) order[base + at + __popc(mask & ((1u << lane) - 1))] = list[i] & 0xffff;
            at += __popc(mask);
        }
    }
}

/* Sums of floats whose order does not matter, as they are sums of whole numbers. Beside each is a word: the exponent, as in
 * its bits, of the largest number that is added, or more where one is none. */
enum { K_ADDS_INF = 0x100, K_ADDS_LESS = 0x200, K_ADDS_NAN = 0x400 }; /* infinity, -infinity */
K_DEVICE unsigned k_exponent(float v) { return k_as_uint(v) >> 23 & 0xff; }
K_DEVICE void k_add_no_number(unsigned *word, float v) {
    atomicOr(word, v != v ? (unsigned)K_ADDS_NAN : v > 0 ? (unsigned)K_ADDS_INF : (unsigned)K_ADDS_LESS);
}
K_DEVICE void k_add_scale(unsigned *word, float v) {
    const unsigned exponent = k_exponent(v);
    if (exponent == 0xff)
        k_add_no_number(word, v);
    else if (exponent)
        atomicMax(word, exponent);
}

/* 2^n, |n| < 250. */
K_DEVICE double k_two_to(int n) {
    const int half = n / 2;
    return (double)k_as_float((unsigned)(half + 127) << 23) * (double)k_as_float((unsigned)(n - half + 127) << 23);
}

/* By how many bits a whole number is more, of an element whose word that is: 2^BITS of what is added, each less than
 * 2^(word - 126), are less than 2^62. */
template <int BITS> K_DEVICE int k_adds_shift(unsigned word) { return 62 - BITS + 126 - (int)word; }
template <int BITS> K_DEVICE void k_add_scaled(unsigned long long *sum, unsigned word, float v) {
    if (word < (unsigned)K_ADDS_INF && v != 0.0f)
        atomicAdd(sum, (unsigned long long)(long long)rint((double)v * k_two_to(k_adds_shift<BITS>(word))));
}
/* Of what is a multiple of 2^-24. */
K_DEVICE void k_add_short(unsigned long long *sum, unsigned *word, float v) {
    if (k_exponent(v) == 0xff)
        k_add_no_number(word, v);
    else if (v != 0.0f)
        atomicAdd(sum, (unsigned long long)(long long)(v * 16777216.0f));
}

K_DEVICE float k_no_sum(unsigned word) { /* of infinities and what is no number */
    return word >> 8 == 1 ? k_inf() : word >> 8 == 2 ? -k_inf() : k_nan();
}

/* What was added, by so many bits more, and none of it is left. */
K_DEVICE float k_take_sum(unsigned long long *sum, unsigned *word, int shift) {
    const long long all = (long long)*sum;
    const unsigned none = *word;
    *sum = 0;
    if (none) *word = 0;
    if (none < (unsigned)K_ADDS_INF) return (float)((double)all * k_two_to(-shift));
    return k_no_sum(none);
}
template <int BITS> K_DEVICE float k_take_scaled(unsigned long long *sum, unsigned *word) {
    return k_take_sum(sum, word, k_adds_shift<BITS>(*word));
}

/* The same in shared memory, whose atomics have 32 bits: sum[0], and what that carries with the upper half in sum[apart]. */
template <int BITS> K_DEVICE void k_add_here(unsigned *sum, int apart, unsigned word, float v) {
    if (word >= (unsigned)K_ADDS_INF || v == 0.0f) return;
    const unsigned long long all = (unsigned long long)(long long)rint((double)v * k_two_to(k_adds_shift<BITS>(word)));
    const unsigned low = (unsigned)all, before = atomicAdd(sum, low);
    atomicAdd(sum + apart, (unsigned)(all >> 32) + (before + low < low));
}
template <int BITS> K_DEVICE float k_sum_here(const unsigned *sum, int apart, unsigned word) {
    const long long all = (long long)((unsigned long long)sum[apart] << 32 | sum[0]);
    if (word < (unsigned)K_ADDS_INF) return (float)((double)all * k_two_to(-k_adds_shift<BITS>(word)));
    return k_no_sum(word);
}

/* The first of n sorted keys that is not less. */
template <typename I> K_DEVICE I k_sort_bound(const unsigned *keys, I n, I key) {
    I lo = 0, hi = n;
    while (lo < hi) {
        const I at = lo + (hi - lo) / 2;
        if ((I)keys[at] < key)
            lo = at + 1;
        else
            hi = at;
    }
    return lo;
}

/* How many blocks have asked before this one, whose writes they see, and which sees theirs: of one thread. */
K_DEVICE unsigned k_blocks_before(unsigned *ticket, unsigned blocks) {
#ifdef WS_EMULATOR
    return atomicInc(ticket, blocks - 1);
#else
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(ticket), "r"(blocks - 1) : "memory");
    return before;
#endif
}
/* Blocks that share rows: each calls this with what it has in memory; the last to come finds the others' there, too.
 * Every thread learns whether its block is that. *ticket is 0 before the first and after the last. */
K_DEVICE bool k_is_last_block(unsigned *ticket, unsigned blocks) {
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0) before = k_blocks_before(ticket, blocks);
    return __syncthreads_or(threadIdx.x == 0 && before == blocks - 1);
}
/* The same of blocks of which one warp has written something, and asks. */
K_DEVICE bool k_is_last_warp(unsigned *ticket, unsigned blocks) {
    unsigned before = 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) before = k_blocks_before(ticket, blocks);
    return k_shfl(before, 0, 32) == blocks - 1;
}
/* N values that another block of this launch has written, from where all of them see it; aligned to their size or 16. */
template <int N, typename T> K_DEVICE void k_load_parts(T *v, const T *at) {
#ifdef WS_EMULATOR
    for (int i = 0; i < N; i++) v[i] = at[i];
#else
    enum { BYTES = N * (int)sizeof(T) };
    union { unsigned w[(BYTES + 3) / 4]; unsigned char b[BYTES]; T v[N]; } u;
    if (BYTES % 16 == 0)
#pragma unroll
        for (int i = 0; i < BYTES / 16; i++)
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(u.w[4 * i]), "=r"(u.w[4 * i + 1]), "=r"(u.w[4 * i + 2]), "=r"(u.w[4 * i + 3])
                         : "l"((const char *)at + 16 * i) : "memory");
    else if (BYTES == 8)
        asm volatile("ld.global.cg.v2.u32 {%0, %1}, [%2];" : "=r"(u.w[0]), "=r"(u.w[BYTES > 4]) : "l"(at) : "memory");
    else if (BYTES % 4 == 0)
#pragma unroll
        for (int i = 0; i < BYTES / 4; i++)
            asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(u.w[i]) : "l"((const char *)at + 4 * i) : "memory");
    else
#pragma unroll
        for (int i = 0; i < BYTES; i++) {
            unsigned b;
            asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(b) : "l"((const char *)at + i) : "memory");
            u.b[i] = (unsigned char)b;
        }
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = u.v[i];
#endif
}
template <typename T> K_DEVICE T k_load_part(const T *at) {
    T v;
    k_load_parts<1>(&v, at);
    return v;
}

/* A list of tiles, { steps, tile * 2 + whole, ... }: each of `tiles` blocks has one of them, of which some elements count,
 * or others do not. The last block to come leaves out tiles that have none; if all are left out, the first one stays. */
K_DEVICE void k_list_tile(int *list, unsigned *ticket, int tile, int tiles, bool some, bool others, int first) {
    some = __syncthreads_or(some);
    others = __syncthreads_or(others);
    if (threadIdx.x == 0) list[1 + tile] = some ? tile * 2 + !others : -1;
    if (!k_is_last_block(ticket, tiles) || threadIdx.x >= 32) return;
    int steps = 0;
    for (int i = 0; i < tiles; i += 32) {
        const int lane = (int)threadIdx.x, x = i + lane < tiles ? k_load_part(list + 1 + i + lane) : -1;
        const unsigned counting = __ballot_sync(0xffffffffu, x >= 0);
        __syncwarp();
        if (x >= 0) list[1 + steps + __popc(counting & ((1u << lane) - 1))] = x;
        steps += __popc(counting);
    }
    __syncwarp();
    if (threadIdx.x != 0) return;
    if (!steps) list[1] = first * 2;
    *list = steps ? steps : 1;
}

/* A word is 0 until another block leaves 32 bits in it, and above them that they are there: one access has both, so
 * nobody needs a fence (about 1 us) for them; FENCE: what else the block has written is there, too. Strong accesses:
 * ptxas takes it that a weak load sees no other thread's store, and deletes the loop around it. */
template <bool FENCE> K_DEVICE void k_leave_word(unsigned long long *word, unsigned bits, unsigned flag = 1) {
#ifdef WS_EMULATOR
    atomicExch((unsigned *)word, bits);
    atomicExch((unsigned *)word + 1, flag);
#else
    const unsigned long long there = (unsigned long long)flag << 32 | bits;
    if (FENCE)
        asm volatile("st.release.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(there) : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(word), "l"(there) : "memory");
#endif
}
template <bool FENCE> K_DEVICE unsigned long long k_look_at(unsigned long long *word) {
    unsigned long long there;
#ifdef WS_EMULATOR
    there = (unsigned long long)atomicOr((unsigned *)word + 1, 0u) << 32;
    there |= atomicOr((unsigned *)word, 0u);
#else
    if (FENCE)
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(there) : "l"(word) : "memory");
    else
        asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(there) : "l"(word) : "memory");
#endif
    return there;
}
/* Before a thread looks again. */
K_DEVICE void k_look_away() {
#ifdef WS_EMULATOR
    emu_yield();
#endif
}

/* Blocks that share rows, a few values each: as a block begins, thread 0 draws a number, which nothing waits for until
 * the block has left its parts. Who has drawn the last one finishes the rows: all that it waits for have begun, in
 * whatever order blocks do. *ticket is 0 before the first and after the last. */
K_DEVICE unsigned k_draw(unsigned *ticket, unsigned blocks) {
    return threadIdx.x == 0 ? atomicInc(ticket, blocks - 1) : 0;
}
K_DEVICE bool k_has_drawn_last(unsigned drawn, unsigned blocks) {
    return __syncthreads_or(threadIdx.x == 0 && drawn == blocks - 1);
}
/* A part, in as many words as it takes, which lie `apart`. The finisher's threads look at U parts at a time, every STEPth
 * of the n from *word on. They test the last word first, and each test waits for the one before: else ptxas, to save a
 * register, tests some before the rest is under way, which is another trip to L2. Who has taken a part clears its words,
 * for the next launch: no other thread looks at them. */
template <typename T, int U> struct k_left { unsigned long long w[U][(sizeof(T) + 3) / 4]; };
template <typename T> K_DEVICE void k_leave_part(unsigned long long *word, long long apart, T part) {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    union { unsigned w[WORDS]; T v; } u;
    u.w[WORDS - 1] = 0; /* a bool is less than a word */
    u.v = part;
#pragma unroll
    for (int i = 0; i < WORDS; i++) k_leave_word<false>(word + i * apart, u.w[i]);
}
template <int STEP, typename T, int U>
K_DEVICE void k_look_at_parts(k_left<T, U> &left, unsigned long long *word, long long apart, int n) {
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < (int)(sizeof left.w[0] / 8); i++)
            left.w[u][i] = u * STEP < n ? k_look_at<false>(word + u * STEP + i * apart) : 1ull << 32;
}
template <typename T, int U> K_DEVICE unsigned k_are_there(unsigned there, const k_left<T, U> &left) {
#pragma unroll
    for (int u = U - 1; u >= 0; u--)
#pragma unroll
        for (int i = (int)(sizeof left.w[0] / 8) - 1; i >= 0; i--) {
            const unsigned high = (unsigned)(left.w[u][i] >> 32);
#ifdef WS_EMULATOR
            there &= high;
#else
            asm volatile("and.b32 %0, %0, %1;" : "+r"(there) : "r"(high));
#endif
        }
    return there;
}
template <typename T, int U> K_DEVICE T k_part(const k_left<T, U> &left, int u) {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    union { unsigned w[WORDS]; T v; } part;
#pragma unroll
    for (int i = 0; i < WORDS; i++) part.w[i] = (unsigned)left.w[u][i];
    return part.v;
}
template <int STEP, typename T, int U>
K_DEVICE void k_clear_parts(const k_left<T, U> &left, unsigned long long *word, long long apart, int n) {
#pragma unroll
    for (int u = 0; u < U; u++)
#pragma unroll
        for (int i = 0; i < (int)(sizeof left.w[0] / 8); i++)
            if (u * STEP < n) word[u * STEP + i * apart] = 0;
}

template <typename T> K_DEVICE T k_shfl_up(T v, unsigned lanes, int width) {
    return __shfl_up_sync(0xffffffffu, v, lanes, width);
}

/* What a scan carries along: of a long sum, with what its additions have lost (kernel/chain.c), so that the two are right
 * to the last digit; what is infinite has lost nothing. k_after: x, with all before it. */
template <typename T> struct k_carry { T sum, lost; };
template <typename OP, typename T> K_DEVICE T k_after(T carry, T x) { return OP::of(carry, x); }
template <typename OP, typename T> K_DEVICE T k_after(k_carry<T> carry, T x) { return carry.sum + (carry.lost + x); }
template <typename OP, typename T> K_DEVICE void k_carry_on(T &carry, T x) { carry = OP::of(carry, x); }
template <typename OP, typename T> K_DEVICE void k_carry_on(k_carry<T> &carry, T x) {
    const T sum = carry.sum + x, part = sum - carry.sum, e = (carry.sum - (sum - part)) + (x - part);
    carry.lost += e == e ? e : (T)0;
    carry.sum = sum;
}

/* Totals of neighbouring warps that a lane takes, so that a warp has those of U steps. */
constexpr int k_lane_totals(int steps, int warps) {
    return steps * warps <= 32 || warps == 1 ? 1 : 2 * k_lane_totals(steps, warps / 2);
}
/* The T1 threads of a row (as in k_reduce_row) go along it in U steps, all threads in each; v[u] is what a thread
 * brings in step u. It becomes what stands before that: the carry, the steps before, the threads before; the carry
 * becomes all of the row so far. smem holds T0*U*T1/32 values and may be used again at once. */
template <typename OP, int T1, int U, typename T, typename C> K_DEVICE void k_scan_row(T *v, C &carry, T none, T *smem) {
    const int W = T1 < 32 ? T1 : 32, tid = (int)threadIdx.x, lane = tid % W;
    T total[U];
#pragma unroll
    for (int u = 0; u < U; u++) {
        T x = v[u];
#pragma unroll
        for (int d = 1; d < W; d *= 2) {
            const T before = k_shfl_up(x, d, W);
            if (lane >= d) x = OP::of(before, x);
        }
        const T before = k_shfl_up(x, 1, W);
        v[u] = lane ? before : none;
        total[u] = k_shfl(x, W - 1, W);
    }
    if (T1 <= 32) {
#pragma unroll
        for (int u = 0; u < U; u++) v[u] = k_after<OP>(carry, v[u]), k_carry_on<OP>(carry, total[u]);
        return;
    }
    const int warps = T1 > 32 ? T1 / 32 : 1, warp = tid / 32 % warps;
    T *row = smem + tid / T1 * (U * warps);
    if (lane == 0)
#pragma unroll
        for (int u = 0; u < U; u++) row[u * warps + warp] = total[u];
    __syncthreads();
    enum { WARPS = T1 > 32 ? T1 / 32 : 1, EACH = k_lane_totals(U, WARPS), LANES = WARPS / EACH };
    if constexpr (U * WARPS >= 16 && U * LANES <= 32) {
        /* each warp scans the totals of all, a step in LANES lanes */
        const int own = tid % 32;
        T x[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            x[i] = own < U * LANES ? row[own * EACH + i] : none;
            if (i) x[i] = OP::of(x[i - 1], x[i]);
        }
        T upto = x[EACH - 1];
#pragma unroll
        for (int d = 1; d < LANES; d *= 2) {
            const T before = k_shfl_up(upto, d, LANES);
            if (own % LANES >= d) upto = OP::of(before, upto);
        }
        const T before = k_shfl_up(upto, 1, LANES); /* what the lane's first total stands behind */
        const int last = (warp + EACH - 1) % EACH;  /* of the warps before this one, in its lane */
        T mine = x[0];
#pragma unroll
        for (int i = 1; i < EACH; i++)
            if (i == last) mine = x[i];
        if (own % LANES) mine = OP::of(before, mine);
#pragma unroll
        for (int u = 0; u < U; u++) {
            const T step = k_shfl(upto, u * LANES + LANES - 1, 32),
                    all = k_shfl(mine, u * LANES + (warp ? warp - 1 : 0) / EACH, 32);
            if (warp) v[u] = OP::of(all, v[u]);
            v[u] = k_after<OP>(carry, v[u]);
            k_carry_on<OP>(carry, step);
        }
    } else {
#pragma unroll
        for (int u = 0; u < U; u++) {
            T step = row[u * warps];
#pragma unroll
            for (int i = 1; i < warps; i++) {
                if (i == warp) v[u] = OP::of(step, v[u]);
                step = OP::of(step, row[u * warps + i]);
            }
            v[u] = k_after<OP>(carry, v[u]);
            k_carry_on<OP>(carry, step);
        }
    }
    __syncthreads();
}

/* The same of rows as in k_reduce_columns: a thread brings v[N], what it has of N rows, and each row has a carry.
 * smem holds T1/S*N*T0 values, where S of a row's threads are in a warp, and may be used again at once. */
template <typename OP, int T0, int T1, int N, typename T, typename C>
K_DEVICE void k_scan_columns(T *v, C *carry, T none, T *smem) {
    const int S = T0 < 32 ? 32 / T0 : 1, W = T1 / S, ROWS = N * T0;
    const int tid = (int)threadIdx.x, lane = tid & 31, row = tid % T0, part = tid / (T0 * S);
    T total[N];
#pragma unroll
    for (int n = 0; n < N; n++) {
        T x = v[n];
#pragma unroll
        for (int d = T0; d < 32; d *= 2) {
            const T before = k_shfl_up(x, (unsigned)d, 32);
            if (lane >= d) x = OP::of(before, x);
        }
        total[n] = S > 1 ? k_shfl(x, 32 - T0 + lane % T0, 32) : x;
        const T before = S > 1 ? k_shfl_up(x, (unsigned)T0, 32) : none;
        v[n] = lane >= T0 ? before : none;
    }
    if (W > 1) {
        if (S == 1 || lane < T0)
#pragma unroll
            for (int n = 0; n < N; n++) smem[part * ROWS + n * T0 + row] = total[n];
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < N; n++) {
        T step = W > 1 ? smem[n * T0 + row] : total[n];
#pragma unroll
        for (int p = 1; p < W; p++) {
            if (p == part) v[n] = OP::of(step, v[n]);
            step = OP::of(step, smem[p * ROWS + n * T0 + row]);
        }
        v[n] = k_after<OP>(carry[n], v[n]);
        k_carry_on<OP>(carry[n], step);
    }
    if (W > 1) __syncthreads();
}

/* ---- scans over blocks ------------------------------------------------------------------------- */

/* Blocks take turns as they begin: whose turn came before has begun. *ticket is 0 before the first and after the last. */
K_DEVICE unsigned k_take_turn(unsigned *ticket, unsigned blocks) {
    __shared__ unsigned turn;
    if (threadIdx.x == 0) turn = atomicInc(ticket, blocks - 1);
    __syncthreads();
    return turn;
}
/* All that the block has written is in memory, and then the flag is up: a release by one thread, behind a barrier, is one
 * by all. k_await's loads must be strong ones: ptxas takes it that a weak load sees no other thread's store, and deletes
 * the loop. */
K_DEVICE void k_raise(unsigned *flag) {
    __syncthreads();
    if (threadIdx.x) return;
#ifdef WS_EMULATOR
    atomicExch(flag, 1u);
#else
    asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(flag), "r"(1u) : "memory");
#endif
}
K_DEVICE void k_await(unsigned *flag) {
#ifdef WS_EMULATOR
    while (!atomicOr(flag, 0u)) emu_yield();
#else
    unsigned up;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(up) : "l"(flag) : "memory");
    } while (!up);
    asm volatile("fence.acq_rel.gpu;" : : : "memory");
#endif
}
/* A total, for other blocks, and that it is there: in one word where it fits, which takes one trip to L2 and no fence;
 * else the word says that it is in *part. Words are 0 until then. */
template <typename T> K_DEVICE void k_leave(unsigned long long *word, T *part, T total) {
    enum { FITS = sizeof(T) <= 4 };
    union { unsigned w; T v; } u;
    u.w = 0;
    if (FITS)
        u.v = total;
    else
        *part = total;
    k_leave_word<!FITS>(word, FITS ? u.w : 0);
}
template <typename T> K_DEVICE T k_take(unsigned long long *word, const T *part) {
    enum { FITS = sizeof(T) <= 4 };
    union { unsigned w; T v; } u;
    unsigned long long there;
    while (!((there = k_look_at<!FITS>(word)) >> 32)) k_look_away();
    u.w = (unsigned)there;
    return FITS ? u.v : k_load_part(part);
}
enum { LOOK_BACK_BLOCK = 64 }; /* totals that a thread adds up before it folds them, LEVELS times */
/* What a row has before the block's tile, where `total` is what it has in it: to all T1 threads of the row. Of the
 * block's `rows` rows, words[i * rows] is this one's total of tile i, words[(tiles + i) * rows] of GROUP tiles; likewise
 * part. The row's first warp sees to the tiles of the own group, and leaves what that has, if this is its last, before it
 * waits for anything else. smem holds 2*WARPS values if T1 > 32. */
template <typename OP, int T1, int WARPS, int GROUP, int LEVELS, typename T>
K_DEVICE T k_look_back(T total, T none, T *part, unsigned long long *words, int rows, unsigned tile, unsigned tiles,
                       T *smem) {
    enum { W = T1 < 32 ? T1 : 32, OTHERS = T1 > W ? T1 - W : T1 };
    const unsigned tr = threadIdx.x % T1, row = threadIdx.x / T1, group = tile / GROUP, first = group * GROUP;
    T before = none, inside = none, above[LEVELS ? LEVELS : 1];
    if (tr == 0) k_leave(words + (long long)tile * rows, part + (long long)tile * rows, total);
    if (tr < W) {
        for (unsigned i = first + tr; i < tile; i += W)
            inside = OP::of(inside, k_take(words + (long long)i * rows, part + (long long)i * rows));
        inside = k_reduce_row<OP, W>(inside, smem);
        const long long at = (long long)(tiles + group) * rows;
        if (tr == 0 && tile % GROUP == GROUP - 1) k_leave(words + at, part + at, OP::of(inside, total));
        if (tr == 0 && T1 > 32) smem[WARPS + row] = inside;
    }
#pragma unroll
    for (int l = 0; l < LEVELS; l++) above[l] = none;
    /* other warps meanwhile, if there are any */
    for (unsigned i = tr - (T1 - OTHERS), n = 0; i < group; i += OTHERS) {
        const long long at = (long long)(tiles + i) * rows;
        before = OP::of(before, k_take(words + at, part + at));
        if (LEVELS && ++n % LOOK_BACK_BLOCK == 0)
            k_fold<OP, LOOK_BACK_BLOCK>(above, before, none, n / LOOK_BACK_BLOCK - 1);
    }
    if (LEVELS) before = k_unfold<OP>(above, before);
    before = k_reduce_row<OP, T1>(before, smem);
    if (T1 > 32) inside = smem[WARPS + row];
    return OP::of(before, inside);
}

/* The same of rows as in k_reduce_columns: v[N] is what this thread's N rows have in the tile, and becomes what they have
 * before it. Threads await a flag each, and then read parts, which lie `rows` apart, some at once. smem as there. */
template <typename OP, int T0, int T1, int N, int GROUP, int LEVELS, typename T>
K_DEVICE void k_sum_parts(T *v, T none, T *part, int rows, unsigned *flags, unsigned n, T *smem) {
    enum { PARTS = GROUP / T1, MOST = N * sizeof(T) > 16 ? 2 : 4, AT_ONCE = PARTS < 1 ? 1 : PARTS < MOST ? PARTS : MOST,
           EVERY = LOOK_BACK_BLOCK / AT_ONCE };
    const unsigned tid = threadIdx.x;
    for (unsigned i = tid; i < n; i += T0 * T1) k_await(flags + i);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < N; j++) v[j] = none;
    T above[N][LEVELS ? LEVELS : 1];
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int l = 0; l < LEVELS; l++) above[j][l] = none;
    unsigned batches = 0;
#pragma unroll 1
    for (unsigned i = tid / T0; i < n; i += AT_ONCE * T1) {
        T other[AT_ONCE][N];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
#pragma unroll
            for (int j = 0; j < N; j++) other[k][j] = none;
            if (i + k * T1 < n) k_load_parts<N>(other[k], part + (long long)(i + k * T1) * rows);
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
#pragma unroll
            for (int j = 0; j < N; j++) v[j] = OP::of(v[j], other[k][j]);
        if (LEVELS && ++batches % EVERY == 0)
#pragma unroll
            for (int j = 0; j < N; j++) k_fold<OP, LOOK_BACK_BLOCK>(above[j], v[j], none, batches / EVERY - 1);
    }
    if (LEVELS)
#pragma unroll
        for (int j = 0; j < N; j++) v[j] = k_unfold<OP>(above[j], v[j]);
    k_reduce_columns<OP, T0, T1, N>(v, smem);
}
template <int N, typename T> K_DEVICE void k_store_parts(T *at, const T *v) {
    union { unsigned w[(N * sizeof(T) + 3) / 4]; T v[N]; } u;
#pragma unroll
    for (int j = 0; j < N; j++) u.v[j] = v[j];
    k_store_words<N * (int)sizeof(T), 0>(at, u.w);
}
template <typename OP, int T0, int T1, int N, int GROUP, int LEVELS, typename T>
K_DEVICE void k_look_back_columns(T *v, T none, T *part, int rows, unsigned *flags, unsigned tile, unsigned tiles, T *smem) {
    const unsigned group = tile / GROUP, first = group * GROUP;
    const bool writes = threadIdx.x < T0;
    T total[N];
#pragma unroll
    for (int j = 0; j < N; j++) total[j] = v[j], v[j] = none;
    if (writes) k_store_parts<N>(part + (long long)tile * rows, total);
    k_raise(flags + tile);
    if (tile > first)
        k_sum_parts<OP, T0, T1, N, GROUP, 0>(v, none, part + (long long)first * rows, rows, flags + first, tile - first, smem);
    if (tile % GROUP == GROUP - 1) {
#pragma unroll
        for (int j = 0; j < N; j++) total[j] = OP::of(v[j], total[j]);
        if (writes) k_store_parts<N>(part + (long long)(tiles + group) * rows, total);
        k_raise(flags + tiles + group);
    }
    if (group) {
        T before[N];
        k_sum_parts<OP, T0, T1, N, GROUP, LEVELS>(before, none, part + (long long)tiles * rows, rows, flags + tiles, group,
                                                  smem);
#pragma unroll
        for (int j = 0; j < N; j++) v[j] = OP::of(before[j], v[j]);
    }
}
/* ---- scans by blocks that go round ---------------------------------------------------------------- */

/* All BLOCKS blocks of the launch are on the device together. In round n block b has tile n*BLOCKS + b; its total is
 * words[n % KEPT][row][word][b], 4 bytes each beside the number of the round, so that nobody has to clear them between. */
enum { ROUNDS_KEPT = 8 };
template <int BLOCKS, int ROWS, int WORDS> K_DEVICE long long k_round_words(unsigned round, unsigned row, unsigned block) {
    return (long long)((round % ROUNDS_KEPT * ROWS + row) * WORDS) * BLOCKS + block;
}
template <int T1, int BLOCKS, int ROWS, typename T>
K_DEVICE void k_leave_round(unsigned long long *words, unsigned round, T total) {
    enum { WORDS = (sizeof(T) + 3) / 4 };
    union { unsigned w[WORDS]; T v; } u;
    u.w[WORDS - 1] = 0;
    u.v = total;
    unsigned long long *at = words + k_round_words<BLOCKS, ROWS, WORDS>(round, threadIdx.x / T1, blockIdx.x);
    if (threadIdx.x % T1 == 0)
#pragma unroll
        for (int i = 0; i < WORDS; i++) k_leave_word<false>(at + i * BLOCKS, u.w[i], round + 1);
}
K_DEVICE void k_gather(unsigned &bits, unsigned more) {
#ifdef WS_EMULATOR
    bits |= more;
#else
    asm volatile("or.b32 %0, %0, %1;" : "+r"(bits) : "r"(more));
#endif
}
template <typename T> K_DEVICE void k_carry_none(T &carry, T none) { carry = none; }
template <typename T> K_DEVICE void k_carry_none(k_carry<T> &carry, T) { carry = k_carry<T>{0, 0}; }
/* The carry, which is what the row had before the block's tile of the last round, becomes what it has before that of this
 * one, of whose row `before` tiles are done first: the BLOCKS tiles since are looked at all at once, and those of other
 * rows count as none. The tests stand behind all loads, see k_are_there. smem holds WARPS values for each row if T1 > 32. */
template <typename OP, int T1, int BLOCKS, int ROWS, typename T, typename C>
K_DEVICE void k_look_round(C &carry, T none, unsigned long long *words, unsigned round, unsigned before, T *smem) {
    enum { PARTS = (BLOCKS + T1 - 1) / T1, WORDS = (sizeof(T) + 3) / 4 };
    const unsigned tr = threadIdx.x % T1, row = threadIdx.x / T1;
    k_left<T, PARTS> left;
    unsigned missing = 1;
    while (missing) {
        missing = 0;
#pragma unroll
        for (int u = 0; u < PARTS; u++) {
            const unsigned place = tr + u * T1, next = blockIdx.x + place >= BLOCKS, of = round - 1 + next;
            const unsigned block = blockIdx.x + place - (next ? BLOCKS : 0);
            unsigned long long *at = words + k_round_words<BLOCKS, ROWS, WORDS>(of, row, block);
            const bool is = place < BLOCKS && (round || next);
#pragma unroll
            for (int i = 0; i < WORDS; i++)
                left.w[u][i] = is ? k_look_at<false>(at + i * BLOCKS) : (unsigned long long)(of + 1) << 32;
        }
#pragma unroll
        for (int u = PARTS - 1; u >= 0; u--) {
            const unsigned place = tr + u * T1, next = blockIdx.x + place >= BLOCKS;
#pragma unroll
            for (int i = WORDS - 1; i >= 0; i--) k_gather(missing, (unsigned)(left.w[u][i] >> 32) ^ (round + next));
        }
        if (missing) k_look_away();
    }
    T sum = none;
#pragma unroll
    for (int u = 0; u < PARTS; u++) {
        const unsigned place = tr + u * T1;
        if (place < BLOCKS && BLOCKS - place <= before) sum = OP::of(sum, k_part(left, u));
    }
    sum = k_reduce_row<OP, T1>(sum, smem);
    if (before < BLOCKS) k_carry_none(carry, none);
    k_carry_on<OP>(carry, sum);
}
/* A thread's vectors wait in shared memory for the next round, where nobody else looks at them. */
constexpr int k_alignment(int bytes) { return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1; }
template <typename T, int V> struct __align__(k_alignment(sizeof(T) * V)) k_waiting { T v[V]; };
template <int THREADS, typename T, int U> K_DEVICE void k_hold(void *at, const T (&v)[U]) {
#pragma unroll
    for (int u = 0; u < U; u++) {
        k_waiting<T, 1> w;
        w.v[0] = v[u];
        ((k_waiting<T, 1> *)at)[u * THREADS + threadIdx.x] = w;
    }
}
template <int THREADS, typename T, int U> K_DEVICE void k_take_held(T (&v)[U], const void *at) {
#pragma unroll
    for (int u = 0; u < U; u++) v[u] = ((const k_waiting<T, 1> *)at)[u * THREADS + threadIdx.x].v[0];
}
template <int THREADS, typename T, int U, int V> K_DEVICE void k_hold(void *at, const T (&v)[U][V]) {
#pragma unroll
    for (int u = 0; u < U; u++) {
        k_waiting<T, V> w;
#pragma unroll
        for (int i = 0; i < V; i++) w.v[i] = v[u][i];
        ((k_waiting<T, V> *)at)[u * THREADS + threadIdx.x] = w;
    }
}
template <int THREADS, typename T, int U, int V> K_DEVICE void k_take_held(T (&v)[U][V], const void *at) {
#pragma unroll
    for (int u = 0; u < U; u++) {
        const k_waiting<T, V> w = ((const k_waiting<T, V> *)at)[u * THREADS + threadIdx.x];
#pragma unroll
        for (int i = 0; i < V; i++) v[u][i] = w.v[i];
    }
}
template <int THREADS, typename T, int U, int V> K_DEVICE void k_hold(void *at, const T (&v)[1][U][V]) {
    k_hold<THREADS>(at, v[0]);
}
template <int THREADS, typename T, int U, int V> K_DEVICE void k_take_held(T (&v)[1][U][V], const void *at) {
    k_take_held<THREADS>(v[0], at);
}
/* What was loaded for the next tile is of the one at hand. */
template <typename T> K_DEVICE void k_turn_over(T &to, const T &from) { to = from; }
template <typename T, int N> K_DEVICE void k_turn_over(T (&to)[N], const T (&from)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) k_turn_over(to[i], from[i]);
}

/* The block has left its totals and taken those of others: how many have before it, in thread 0. A release: without one a
 * total that nobody waits for might reach memory after the last block has lowered its flag. */
K_DEVICE unsigned k_arrive_look_back(unsigned *tickets, unsigned blocks) {
    unsigned before = 0;
    __syncthreads();
    if (threadIdx.x == 0)
#ifdef WS_EMULATOR
        before = atomicInc(tickets + 1, blocks - 1);
#else
        asm volatile("atom.release.gpu.global.inc.u32 %0, [%1], %2;"
                     : "=r"(before) : "l"(tickets + 1), "r"(blocks - 1) : "memory");
#endif
    return before;
}
/* The last block to arrive lowers the flags behind the two counters, `n` words of 4 bytes, for the next launch. */
template <int THREADS> K_DEVICE void k_end_look_back(unsigned before, unsigned *tickets, unsigned blocks, unsigned n) {
    const bool last = threadIdx.x == 0 && before == blocks - 1;
    if (last) __threadfence();
    if (!__syncthreads_or(last)) return;
    for (unsigned i = threadIdx.x; i < n; i += THREADS) tickets[2 + i] = 0;
}

/* products.cuh: behind tensor.cuh: what products on the matrix units are made of (cuda_mma.c). */
/* ---- products on the matrix units (cuda_mma.c) -------------------------------------------------- */

template <int N> K_DEVICE unsigned char *k_aligned(unsigned char *smem) {
#ifdef WS_EMULATOR
    return smem + (-(unsigned long long)smem & (N - 1));
#else
    return smem + (-k_shared_address(smem) & (N - 1));
#endif
}
/* A warpgroup, or a block of THREADS, which meets at barrier `id`, has left its part, and waits until all `parts` are there,
 * whose blocks are all at work. The counter is 0 before the first and after the last. Who comes last waits for one
 * round trip to L2, not for what an atom returns and then for a load; and a load that acquires is no second fence. */
template <int THREADS> K_DEVICE void k_meet_parts(unsigned *counter, unsigned parts, int id) {
    k_barrier_sync(id, THREADS);
    if (threadIdx.x % THREADS == 0) {
#ifdef WS_EMULATOR
        atomicInc(counter, 2 * parts - 1);
        while (atomicOr(counter, 0u) < parts) emu_yield();
        atomicInc(counter, 2 * parts - 1);
#else
        unsigned there;
        asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" : : "l"(counter), "r"(2 * parts - 1) : "memory");
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(counter) : "memory");
        while (there < parts);
        asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" : : "l"(counter), "r"(2 * parts - 1) : "memory");
#endif
    }
    k_barrier_sync(id, THREADS);
}
/* Steps of blocks that are all at work: who leaves one has written what the next one reads, and who waits sees it once
 * so many have left as there are blocks, times steps before. `all` leave in a launch, which makes the counter 0 again: by
 * then nobody waits. */
K_DEVICE void k_leave_step(unsigned *counter, unsigned all) {
    __syncthreads();
    if (threadIdx.x) return;
#ifdef WS_EMULATOR
    atomicInc(counter, all - 1);
#else
    asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" : : "l"(counter), "r"(all - 1) : "memory");
#endif
}
K_DEVICE void k_await_step(unsigned *counter, unsigned left) {
    if (threadIdx.x == 0) {
#ifdef WS_EMULATOR
        while (atomicOr(counter, 0u) < left) emu_yield();
#else
        unsigned there;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(counter) : "memory");
        while (there < left);
#endif
    }
    __syncthreads();
}
/* What blocks of this launch leave for each other without a meeting: an element of f32 or 16 bits is hidden, as a nan of all
 * ones, which k_show1 stores as another one, until it is shown. Each says for itself that it is there: no order of stores,
 * or of loads, is asked for. */
template <typename T> K_DEVICE void k_put_now(T *at, unsigned bits) {
#ifdef WS_EMULATOR
    emu_show(at, &bits, sizeof(T));
#else
    if (sizeof(T) == 2)
        asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" : : "l"(at), "h"((unsigned short)bits) : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(at), "r"(bits) : "memory");
#endif
}
template <typename T> K_DEVICE void k_hide1(T *at) {
    const unsigned hidden[] = {0xffffffffu};
    k_store_words<sizeof(T), 0>(at, hidden);
}
template <typename T> K_DEVICE void k_show1(T *at, typename k_math<T>::type v) {
    const unsigned hidden = sizeof(T) == 2 ? 0xffffu : 0xffffffffu;
    k_pack<T, 1> p;
    k_put(p, &v);
    k_put_now(at, p.w[0] == hidden ? hidden >> 1 : p.w[0]);
}
template <typename T> K_DEVICE void k_look(unsigned (&w)[4], const T *at) {
#ifdef WS_EMULATOR
    emu_look(w, at, 16);
#else
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(at) : "memory");
#endif
}
template <typename T> K_DEVICE bool k_is_hidden(const unsigned (&w)[4]) {
    unsigned any = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) /* is a half of ~w 0 */
        any |= sizeof(T) == 2 ? (~w[i] - 0x00010001u) & w[i] & 0x80008000u : (unsigned)(w[i] == 0xffffffffu);
    return any != 0;
}
/* w is what was there at last; once more, unless that is all of it. */
template <typename T> K_DEVICE bool k_look_again(unsigned (&w)[4], const T *at) {
    if (!k_is_hidden<T>(w)) return false;
#ifdef WS_EMULATOR
    emu_yield();
#endif
    k_look(w, at);
    return true;
}
template <typename T> K_DEVICE void k_keep_look(T *smem, const unsigned (&w)[4]) {
    *(k_four_words *)smem = k_four_words{{w[0], w[1], w[2], w[3]}};
}
/* One element to shared memory, where others have 16 bytes of them at once. */
template <typename T> K_DEVICE void k_put_shared(T *smem, typename k_math<T>::type v) {
    k_pack<T, 1> p;
    k_put(p, &v);
    if (sizeof(T) == 2)
        *(unsigned short *)smem = (unsigned short)p.w[0];
    else
        for (int i = 0; i < (int)sizeof(T) / 4; i++) ((unsigned *)smem)[i] = p.w[i];
}
/* Each of N numbers summed up over LANES neighbours, 8 at least, which then have N / LANES of the sums each, in their order:
 * half of what there is goes to the other half of the lanes, and so on. */
template <int LANES, int N, typename T> K_DEVICE void k_sum_lanes(T (&v)[N], int lane) {
    static_assert(N % LANES == 0, "lanes have as many sums each");
    int n = N;
#pragma unroll
    for (int far = LANES / 2; far; far /= 2) {
        const bool upper = (lane & far) != 0;
        n /= 2;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= n) break;
            const T mine = upper ? v[n + i] : v[i], other = upper ? v[i] : v[n + i];
            v[i] = mine + __shfl_xor_sync(0xffffffffu, other, far);
        }
    }
}
/* N neighbours in shared memory, aligned to their size, or to 16 bytes. */
template <typename T, int N> struct k_side_by_side { alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) T v[N]; };
template <typename T, int N> K_DEVICE void k_get_side_by_side(T *to, const T *smem) {
    const k_side_by_side<T, N> x = *(const k_side_by_side<T, N> *)smem;
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = x.v[i];
}
template <typename T, int N> K_DEVICE void k_put_side_by_side(T *smem, const T *from) {
    k_side_by_side<T, N> x;
#pragma unroll
    for (int i = 0; i < N; i++) x.v[i] = from[i];
    *(k_side_by_side<T, N> *)smem = x;
}
template <typename T, int N> K_DEVICE void k_zero(T (&v)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = 0;
}
/* A tile in shared memory is made of boxes of `lines` lines of LINE bytes, one behind another; the 16-byte pieces of a
 * line are swizzled as tensor maps have it. k_piece: where piece number `piece` of a line of the tile is, counted through
 * all boxes. */
template <int LINE> K_DEVICE unsigned char *k_piece(unsigned char *tile, int lines, int line, int piece) {
    const int PIECES = LINE / 16, SAME = 128 / LINE; /* lines with the same swizzle */
    return tile + (piece / PIECES * lines + line) * LINE + ((piece % PIECES) ^ (line / SAME % PIECES)) * 16;
}
/* x, which compilers take for another number each time: what follows from it is computed where it is wanted, and not
 * for all steps of a loop before these, in registers that there are not. */
K_DEVICE int k_anew(int x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+r"(x));
#endif
    return x;
}
K_DEVICE long long k_anew(long long x) {
#ifndef WS_EMULATOR
    asm volatile("" : "+l"(x));
#endif
    return x;
}
/* The same as an address in shared memory; and piece `half` of what is put there. */
template <int LINE> K_DEVICE k_shared k_place(k_shared tile, int lines, int line, int piece) {
    const int PIECES = LINE / 16, SAME = 128 / LINE;
    return tile + (piece / PIECES * lines + line) * LINE + ((piece % PIECES) ^ (line / SAME % PIECES)) * 16;
}
template <typename T> K_DEVICE void k_put_piece(k_shared at, const k_pack<T, 8> &w, int half) {
    const unsigned u[] = {w.w[half * 4], w.w[half * 4 + 1], w.w[half * 4 + 2], w.w[half * 4 + 3]};
#ifdef WS_EMULATOR
    for (int i = 0; i < 4; i++) ((unsigned *)at)[i] = u[i];
#else
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
                 : : "r"(at), "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]) : "memory");
#endif
}
/* 16 bytes of elements, number `at` of line `line` of a matrix on, into such a place; what is not in it is 0. */
template <typename T>
K_DEVICE void k_copy_piece(void *smem, const T *matrix, long long pitch, int line, int lines, int at, int width) {
    const int left = line < lines ? width - at : 0, all = 16 / (int)sizeof(T);
    const unsigned valid = left >= all ? 16u : left > 0 ? (unsigned)(left * (int)sizeof(T)) : 0u;
    k_cp_async<16>(smem, matrix + (valid ? line * pitch + at : 0), valid);
}
/* So many bytes of elements, number `at` on, of which so many are left, into a part of such a place; then zeros. */
template <int BYTES, typename T> K_DEVICE void k_copy_part(void *smem, const T *from, long long at, int left) {
    const int all = BYTES / (int)sizeof(T);
    const unsigned valid = left >= all ? (unsigned)BYTES : left > 0 ? (unsigned)(left * (int)sizeof(T)) : 0u;
    k_cp_async<BYTES>(smem, from + (valid ? at : 0), valid);
}
/* 16 bytes of elements into such a place, or as many zeros. */
template <typename T> K_DEVICE void k_copy_piece_if(void *smem, const T *from, long long at, bool inside) {
    k_cp_async<16>(smem, from + (inside ? at : 0), inside ? 16u : 0u);
}
/* Of which the first n count. */
template <typename T> K_DEVICE void k_copy_piece_if_of(void *smem, const T *from, long long at, bool inside, int n) {
    const int valid = inside ? k_clamp(n, 16 / (int)sizeof(T)) : 0;
    k_cp_async<16>(smem, from + (valid > 0 ? at : 0), valid > 0 ? (unsigned)(valid * (int)sizeof(T)) : 0u);
}
/* What k_mma takes of such a tile from a row and a depth on: 16 rows by 16 deep of the left factor, of the right one 16
 * rows (columns of the product): two operands. ALONG: lines run along the rows. The depth is counted in elements of two
 * bytes, of tf32 in halves. */
template <int LINE, bool ALONG> K_DEVICE void k_left_factor(unsigned (&r)[4], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32, of8 = lane % 8, second = lane / 8 % 2, third = lane / 16;
    if (ALONG)
        k_ldmatrix4<true>(r, k_piece<LINE>(tile, lines, depth + third * 8 + of8, row / 8 + second));
    else
        k_ldmatrix4<false>(r, k_piece<LINE>(tile, lines, row + second * 8 + of8, depth / 8 + third));
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_factor(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32, of8 = lane % 8, second = lane / 8 % 2, third = lane / 16;
    unsigned w[4];
    if (ALONG)
        k_ldmatrix4<true>(w, k_piece<LINE>(tile, lines, depth + second * 8 + of8, row / 8 + third));
    else
        k_ldmatrix4<false>(w, k_piece<LINE>(tile, lines, row + third * 8 + of8, depth / 8 + second));
    r[0][0] = w[0], r[0][1] = w[1], r[1][0] = w[2], r[1][1] = w[3];
}
/* Words of f32, to the nearest tf32. */
template <int N> K_DEVICE void k_round_to_tf32(unsigned (&w)[N]) {
#pragma unroll
    for (int i = 0; i < N; i++) w[i] = k_tf32_bits(k_as_float(w[i]));
}
/* All threads round what lies in shared memory. */
template <int THREADS> K_DEVICE void k_round_tile(unsigned char *tile, int bytes) {
#pragma unroll 4
    for (int i = (int)threadIdx.x * 16; i < bytes; i += THREADS * 16) {
        unsigned w[4];
        k_get_side_by_side<unsigned, 4>(w, (const unsigned *)(tile + i));
        k_round_to_tf32(w);
        k_put_side_by_side<unsigned, 4>((unsigned *)(tile + i), w);
    }
}
/* What k_mma_tf32 takes of tiles of f32, likewise, 8 deep. */
template <int LINE> K_DEVICE unsigned k_word_along(unsigned char *tile, int lines, int row, int depth) {
    return *(const unsigned *)(k_piece<LINE>(tile, lines, depth, row / 4) + row % 4 * 4);
}
template <int LINE, bool ALONG>
K_DEVICE void k_left_factor_tf32(unsigned (&r)[4], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32;
    if (!ALONG) k_left_factor<LINE, false>(r, tile, lines, row, depth * 2);
#pragma unroll
    for (int i = 0; i < 4 && ALONG; i++)
        r[i] = k_word_along<LINE>(tile, lines, row + lane / 4 + i % 2 * 8, depth + lane % 4 + i / 2 * 4);
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_factor_tf32(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    const int lane = (int)threadIdx.x % 32;
    if (!ALONG) k_right_factor<LINE, false>(r, tile, lines, row, depth * 2);
#pragma unroll
    for (int i = 0; i < 4 && ALONG; i++)
        r[i / 2][i % 2] =
            k_word_along<LINE>(tile, lines, row + i / 2 * 8 + lane / 4, depth + lane % 4 + i % 2 * 4);
}
/* The same with a depth in another order: neighbours of a thread's sums, which are number 2 i and 2 i + 1, are at i and
 * i + 4. row, depth: of eights, so that what a lane adds to their place differs from lane to lane alone. */
K_DEVICE void k_left_pairs(unsigned (&r)[4], const float *sums) {
#pragma unroll
    for (int i = 0; i < 4; i++) r[i] = k_tf32_bits(sums[i % 2 * 2 + i / 2]);
}
template <int LINE, bool ALONG>
K_DEVICE void k_right_pairs(unsigned (&r)[2][2], unsigned char *tile, int lines, int row, int depth) {
    enum { PIECES = LINE / 16, SAME = 128 / LINE, STEP = ALONG ? 1 : 2 };
    const unsigned lane = threadIdx.x % 32, eighth = lane / 4, two = lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; i += STEP) { /* e: of the two, if they lie apart */
        const unsigned e = ALONG ? i % 2 : 0, line = ALONG ? two + e : eighth, at = ALONG ? eighth : two;
        const int down = ALONG ? depth : row + i / 2 * 8, piece = (ALONG ? row + i / 2 * 8 : depth) / 4;
        const unsigned swizzled = (at / 4 ^ line / SAME % PIECES) * 16 ^ piece % PIECES * 16;
        const unsigned char *from =
            tile + (line * LINE + at % 4 * 4) + swizzled + (piece / PIECES * lines + down) * LINE;
        if (ALONG) {
            r[i / 2][i % 2] = *(const unsigned *)from;
        } else {
            const k_two_words q = *(const k_two_words *)from;
            r[i / 2][0] = q.w[0], r[i / 2][1] = q.w[1];
        }
    }
}
/* Such a place in a tile of f32, whose lines of 128 bytes are swizzled so that k_two_deep's reads meet in no bank. */
template <bool ALONG> K_DEVICE unsigned char *k_piece_f32(unsigned char *tile, int lines, int line, int piece) {
    return tile + (piece / 8 * lines + line) * 128 + ((piece % 8) ^ ((ALONG ? line / 2 : line) % 4 * 2)) * 16;
}
/* A lane's two neighbours along the depth, of eight rows and eight of the depth: of each row four lanes have two. row,
 * depth: of eights, so that what a lane adds to their place differs from lane to lane alone. */
template <bool ALONG> K_DEVICE void k_two_deep(float (&x)[2], unsigned char *tile, int lines, int row, int depth) {
    const unsigned eighth = threadIdx.x % 32 / 4, fourth = threadIdx.x % 4, line = ALONG ? fourth * 2 : eighth;
    const unsigned at = ALONG ? eighth : fourth * 2, swizzle = (ALONG ? fourth : eighth % 4) * 2;
    const int down = ALONG ? depth : row, piece = (ALONG ? row : depth) / 4;
    const unsigned char *from = tile + (line * 128 + at % 4 * 4) + ((at / 4 ^ swizzle) * 16 ^ piece % 8 * 16) +
                                (piece / 8 * lines + down) * 128;
    if (ALONG) {
        x[0] = *(const float *)from, x[1] = *(const float *)(from + 128);
    } else {
        const k_two_words q = *(const k_two_words *)from;
        x[0] = k_as_float(q.w[0]), x[1] = k_as_float(q.w[1]);
    }
}
/* Its planes, as k_split makes them; of what is not finite, some plane is not. */
K_DEVICE void k_split_pair(unsigned &a, unsigned &b, unsigned &c, const float (&pair)[2]) {
    float x[2];
    unsigned u[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
        x[i] = pair[i] * 65536.0f;
        u[i] = k_as_uint(x[i]) & 0xffff0000u;
        x[i] -= k_as_float(u[i]);
    }
    a = u[0] >> 16 | u[1];
    b = k_bf16x2(x[0], x[1]);
    x[0] -= k_as_float(b << 16), x[1] -= k_as_float(b & 0xffff0000u);
    c = k_bf16x2(x[0], x[1]);
}
/* Two channels, or taps, of an image as it lies. */
template <int N> K_DEVICE void k_planes_of_lying(unsigned (&r)[3][N][4], int n, int i, unsigned x0, unsigned x1) {
    const float pair[2] = {k_as_float(x0), k_as_float(x1)};
    k_split_pair(r[0][n][i], r[1][n][i], r[2][n][i], pair);
}
/* k_left_across of f32 as planes, of which k_split_pair makes three. */
template <bool ALONG, int BOX, int N> K_DEVICE void k_left_planes_of_lane(unsigned (&r)[3][N][4], k_shared of_lane) {
    static_assert(N % 2 == 0, "threads that begin with an instruction's depth, and those that do with the next");
    const unsigned depth = threadIdx.x % 4, row = threadIdx.x / 4 % 8, odd = row & 1;
    const unsigned along = threadIdx.x / 32 % 2 * 4 + row / 4;
#pragma unroll
    for (int n = 0; n < N; n += 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float x[2][2];
#pragma unroll
            for (int j = 0; j < 2; j++) {
                if (ALONG) {
                    const k_shared at = of_lane + (depth + (n + j) * 16 + i / 2 * 8) * 128;
                    const unsigned piece = along + i % 2 * 2;
                    x[j][0] = k_as_float(k_load_shared(at + (piece ^ depth * 2) * 16));
                    x[j][1] = k_as_float(k_load_shared(at + 128 + (piece ^ (depth * 2 + 1)) * 16));
                } else { /* of the two an odd row has the second one first */
                    const unsigned piece = i / 2 * 2 + depth / 2;
                    k_load_shared(x[j], of_lane + (n / 2 * BOX + i % 2 * 1024) + ((piece + (j ^ odd) * 4) ^ row) * 16);
                }
            }
#pragma unroll
            for (int j = 0; j < 2; j++) {
                const bool swap = !ALONG && odd;
                const float pair[2] = {swap ? x[1 - j][0] : x[j][0], swap ? x[1 - j][1] : x[j][1]};
                k_split_pair(r[0][n + j][i], r[1][n + j][i], r[2][n + j][i], pair);
            }
        }
}
K_DEVICE void k_split_all(k_pack<k_bf16, 8> (&planes)[3], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float pair[] = {x[i * 2], x[i * 2 + 1]};
        k_split_pair(planes[0].w[i], planes[1].w[i], planes[2].w[i], pair);
    }
}
/* What k_left_factor and k_right_factor give of the three planes of f32. */
template <bool ALONG>
K_DEVICE void k_left_planes(unsigned (&a)[4], unsigned (&b)[4], unsigned (&c)[4], unsigned char *tile, int lines, int row,
                            int depth) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float x[2];
        k_two_deep<ALONG>(x, tile, lines, row + i % 2 * 8, depth + i / 2 * 8);
        k_split_pair(a[i], b[i], c[i], x);
    }
}
template <bool ALONG>
K_DEVICE void k_right_planes(unsigned (&a)[2][2], unsigned (&b)[2][2], unsigned (&c)[2][2], unsigned char *tile, int lines,
                             int row, int depth) {
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int i = 0; i < 2; i++) {
            float x[2];
            k_two_deep<ALONG>(x, tile, lines, row + j * 8, depth + i * 8);
            k_split_pair(a[j][i], b[j][i], c[j][i], x);
        }
}
/* Of a thread's sums of sixteen columns, as a left factor of that depth. */
K_DEVICE void k_split_terms(unsigned (&a)[4], unsigned (&b)[4], unsigned (&c)[4], const float *sums) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float x[2] = {sums[i * 2 % 4 + i / 2 * 4], sums[i * 2 % 4 + i / 2 * 4 + 1]};
        k_split_pair(a[i], b[i], c[i], x);
    }
}
/* d += the product of such planes, the small ones first. */
K_DEVICE void k_mma_planes(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[4], const unsigned (&c)[4],
                           const unsigned (&x)[2], const unsigned (&y)[2], const unsigned (&z)[2]) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    k_mma<k_bf16>(sum, c, x);
    k_mma<k_bf16>(sum, b, y);
    k_mma<k_bf16>(sum, a, z);
    k_mma<k_bf16>(sum, b, x);
    k_mma<k_bf16>(sum, a, y);
    k_mma<k_bf16>(sum, a, x);
#pragma unroll
    for (int i = 0; i < 4; i++) d[i] += sum[i] * 0x1p-32f;
}
/* The next of the planes of bf16 whose sum is x 2^16, of which what is left stays in x: a bf16 holds no less than 2^-133, a
 * float has bits down to 2^-149. The first plane is cut off, for it would round to infinity; what is no number, or gets
 * too large for one, is there as it is, or infinite. */
template <bool FIRST> K_DEVICE void k_split(k_pack<k_bf16, 8> &plane, float (&x)[8]) {
    float y[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] *= FIRST ? 65536.0f : 1.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        y[i] = FIRST && k_isfinite(x[i]) ? k_as_float(k_as_uint(x[i]) & 0xffff0000u) : x[i];
    k_put(plane, y);
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = k_isfinite(x[i]) ? x[i] - k_get(plane, i) : 0.0f;
}
/* The pair of f16 that x times the scale is: the nearest one, and the nearest to what that leaves, 2^11 times over, which
 * stays in x. */
template <bool FIRST> K_DEVICE void k_halve(k_pack<k_f16, 8> &plane, float (&x)[8], float scale) {
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] *= FIRST ? scale : 1.0f;
    k_put(plane, x);
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = (x[i] - k_get(plane, i)) * 2048.0f;
}
/* The largest magnitude of finite numbers, as bits; the power of two that makes of the largest one of all threads of the
 * block about 2^10. */
K_DEVICE void k_top_finite(unsigned &most, const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        most = bits < 0x7f800000u && bits > most ? bits : most;
    }
}
K_DEVICE float k_scale_of_pairs(unsigned most) {
    __shared__ unsigned of_warps[32];
#pragma unroll
    for (int d = 16; d; d /= 2) {
        const unsigned other = __shfl_xor_sync(0xffffffffu, most, d);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = most;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x / 32; i++) most = of_warps[i] > most ? of_warps[i] : most;
    const int by = most ? 10 + 127 - (int)(most >> 23) : 0;
    return k_as_float((unsigned)(127 + (by > 56 ? 56 : by < -56 ? -56 : by)) << 23);
}
/* The largest magnitude, as bits: of all eight, or of each and those before. */
K_DEVICE void k_top(unsigned (&top)[1], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        top[0] = bits > top[0] ? bits : top[0];
    }
}
K_DEVICE void k_top(unsigned (&top)[8], const float (&x)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const unsigned bits = k_as_uint(x[i]) & 0x7fffffffu;
        top[i] = bits > top[i] ? bits : top[i];
    }
}
/* Of those of LANES lanes, from a multiple of these on. */
template <int LANES> K_DEVICE void k_top_of_lanes(unsigned (&top)[1]) {
    const unsigned first = threadIdx.x % 32 & ~(LANES - 1u);
    const unsigned mask = LANES == 32 ? 0xffffffffu : ((1u << LANES % 32) - 1) << first;
#pragma unroll
    for (int d = 1; d < LANES; d *= 2) {
        const unsigned other = __shfl_xor_sync(mask, top[0], d);
        top[0] = other > top[0] ? other : top[0];
    }
}
/* Is a group of numbers with this largest one out of the range of pairs? It is in range where all are 0, or the largest
 * times the scale is from 2^-14 on and becomes no infinity. */
template <int N> K_DEVICE bool k_out_of_range(const unsigned (&top)[N], float scale) {
    const unsigned by = k_as_uint(scale) - 0x3f800000u, least = 0x38800000u - by, end = 0x477ff000u - by;
    bool out = false;
#pragma unroll
    for (int i = 0; i < N; i++) out |= top[i] && (top[i] < least || top[i] >= end);
    return out;
}
/* A tile of f32 in swizzled lines of 128 bytes becomes the two planes of its pairs where it lies: LINES lines, of each
 * CHUNKS of eight numbers, first in boxes of 32, then, of each plane, of 64. A chunk is two pieces of one box and one of
 * each plane, all at the line's own place, and a warp has whole lines, so that it meets nobody else: it reads, then writes.
 * Eight threads have four chunks each of two lines that are 5 apart in the bits of their numbers: they read even pieces of
 * the one and odd ones of the other, and write lower and upper ones. odd: of eight neighbours along the depth, or ALONG
 * the lines of as many as a warp has of one, or more, some are out of range. */
template <int LINES, int CHUNKS, int THREADS, bool ALONG>
K_DEVICE void k_split_in_place(k_shared tile, int thread, float scale, bool &odd) {
    enum { STEP = THREADS / CHUNKS, TOPS = ALONG ? 8 : 1 };
    static_assert((CHUNKS == 8 || CHUNKS == 16) && STEP % 8 == 0 && LINES % STEP == 0, "warps have whole lines");
    const unsigned chunk = thread % 4 + thread / 8 % (CHUNKS / 4) * 4, two = thread / (2 * CHUNKS);
    const unsigned of8 = two % 4 ^ (thread / 4 % 2 ? 5u : 0u), first = two / 4 * 8 + of8;
    const k_shared from = tile + (chunk / 4 * LINES + first) * 128, to = tile + (chunk / 8 * LINES + first) * 128;
    const unsigned read = (chunk % 4 * 2 ^ of8) * 16, written = (chunk % 8 ^ of8) * 16;
    unsigned top[TOPS];
#pragma unroll
    for (int i = 0; i < TOPS; i++) top[i] = 0;
#pragma unroll
    for (int l = 0; l < LINES; l += STEP) {
        float half[2][4], x[8];
        k_pack<k_f16, 8> plane[2];
        k_shared_get(half[0], from + l * 128 + read);
        k_shared_get(half[1], from + l * 128 + (read ^ 16));
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = half[i / 4][i % 4];
        if (!ALONG) top[0] = 0;
        k_top(top, x);
        if (!ALONG) odd |= k_out_of_range(top, scale);
        k_halve<true>(plane[0], x, scale);
        k_halve<false>(plane[1], x, scale);
        __syncwarp();
        k_put_piece(to + l * 128 + written, plane[0], 0);
        k_put_piece(to + (CHUNKS / 8 * LINES + l) * 128 + written, plane[1], 0);
    }
    if (!ALONG) return;
#pragma unroll
    for (int d = CHUNKS == 8 ? 16 : 4; d; d = d == 16 ? 4 : 0)
#pragma unroll
        for (int i = 0; i < TOPS; i++) {
            const unsigned other = __shfl_xor_sync(0xffffffffu, top[i], d);
            top[i] = other > top[i] ? other : top[i];
        }
    odd |= k_out_of_range(top, scale);
}
/* A word of the block's: did any thread find something; behind those of all blocks, what takes the scale back. And whether
 * any of so many blocks found something, which all threads ask. */
K_DEVICE void k_leave_flag(unsigned *flags, bool found, float scale) {
    const int any = __syncthreads_or(found);
    if (threadIdx.x == 0) flags[blockIdx.x] = any != 0;
    if (threadIdx.x == 0 && blockIdx.x == 0) flags[gridDim.x] = k_as_uint(1.0f / scale);
}
K_DEVICE bool k_any_flag(const unsigned *a, int n_a, const unsigned *b, int n_b) {
    unsigned any = 0;
    for (int i = (int)threadIdx.x; i < n_a; i += (int)blockDim.x) any |= a[i];
    for (int i = (int)threadIdx.x; i < n_b; i += (int)blockDim.x) any |= b[i];
    return __syncthreads_or(any != 0) != 0;
}
/* Pairs of a row, eight elements of four bytes beside each other in four threads, and the next eight in the next call.
 * Those that lie in the eight's second sector of memory wait, and are stored with the first ones of the next. Where a
 * row of memory ENDS between the two, both are stored; where none does, a thread's pairs all wait, or none. */
template <typename T> struct k_rest {
    k_pack<T, 2> x;
    T *at;
    bool is;
};
template <bool ENDS, int STREAM, typename T>
K_DEVICE void k_store_sectors(k_rest<T> &rest, T *at, const k_pack<T, 2> &x, bool there) {
    const bool later = ((unsigned)(unsigned long long)at & 31u) < (threadIdx.x & 3) * 8;
    const bool now = there && !later;
    k_pack<T, 2> y;
#pragma unroll
    for (int i = 0; i < 2; i++) y.w[i] = rest.is ? rest.x.w[i] : x.w[i];
    if (rest.is || now) k_store<T, 2, STREAM>(rest.is ? rest.at : at, y);
    if (ENDS && rest.is && now) k_store<T, 2, STREAM>(at, x);
    rest.x = x, rest.at = at, rest.is = there && later;
}
template <int STREAM, typename T> K_DEVICE void k_store_rest(const k_rest<T> &rest) {
    if (rest.is) k_store<T, 2, STREAM>(rest.at, rest.x);
}
/* Rows of 16-bit elements that begin anywhere in memory. Four threads have a row, a pair each of every eight columns; its
 * words, for memory, are pairs of neighbours or, where it begins at half a word, a pair's second element and the first
 * one of the pair behind. Word i of the row is word i + skew from the begin of the sector that its first one lies in: what
 * is number q of the four's becomes number (q + skew) % 4, and its octets come (q + skew) / 4 later. So it is as if the row
 * began with a sector: turned, each of the four has a vector, all of them two sectors. What comes later is kept for the
 * next octets, as is the vector that the row ends within, and stored by k_end_row: but for the row's first vectors nothing
 * branches, so that one octet's exchanges hide behind another's. `first`: where the row's `columns` elements begin; v: those
 * of the thread's of OCTETS octets from number chunk * OCTETS on. */
struct k_moved {
    unsigned before[2], last, rest[4];
    int at; /* of `rest`, from the row's first element on, in bytes; behind all of it: there is none */
};
K_DEVICE k_moved k_not_moved() { return k_moved{{0, 0}, 0, {0, 0, 0, 0}, 0x7fffffff}; }
K_DEVICE unsigned k_bytes(unsigned low, unsigned high, unsigned which) {
#ifdef WS_EMULATOR
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned byte = which >> (4 * i) & 7;
        r |= ((byte < 4 ? low : high) >> (8 * (byte & 3)) & 0xffu) << (8 * i);
    }
    return r;
#else
    return __byte_perm(low, high, which);
#endif
}
/* Two neighbours of one row and the two behind them in the next, as two pairs of neighbours along the columns. */
template <typename T>
K_DEVICE void k_put_pairs(k_pack<T, 2> &to, k_pack<T, 2> &next, const k_pack<T, 2> &a, const k_pack<T, 2> &b) {
    to.w[0] = k_bytes(a.w[0], b.w[0], 0x5410);
    next.w[0] = k_bytes(a.w[0], b.w[0], 0x7632);
}
/* Bytes from `from` to `end` of a vector. */
K_DEVICE void k_store_within(char *at, const unsigned (&w)[4], int from, int end) {
#pragma unroll 1
    for (int i = 0; i < 16; i += 8) {
        const unsigned half[2] = {i ? w[2] : w[0], i ? w[3] : w[1]};
        if (from <= i && i + 8 <= end) {
            k_store_words<8, 0>(at + i, half);
            continue;
        }
#pragma unroll
        for (int j = 0; j < 2; j++) {
            const int low = i + 4 * j;
            const unsigned second = half[j] >> 16;
            if (from <= low && low + 4 <= end)
                k_store_words<4, 0>(at + low, half + j);
            else if (from <= low && low + 2 <= end)
                k_store_words<2, 0>(at + low, half + j);
            else if (from <= low + 2 && low + 4 <= end)
                k_store_words<2, 0>(at + low + 2, &second);
        }
    }
}
template <int OCTETS, int PAIRS, int STREAM>
K_DEVICE void k_move_row(k_moved &moved, char *first, int columns, int chunk, unsigned (&w)[4]) {
    const unsigned quad = threadIdx.x & 3, four = threadIdx.x & 28, begin = (unsigned)(unsigned long long)first & 31,
                   skew = begin / 4, q = (quad + skew) & 3, late = (quad + skew) / 4;
    if (!PAIRS) {
        const unsigned last = w[OCTETS - 1], words[4] = {w[0], w[1], w[2], w[3]};
#pragma unroll
        for (int i = 0; i < OCTETS; i += 2) { /* those of number 3 go to number 0 of the next octet */
            const unsigned a = quad < 3 ? words[i] : i ? words[i > 0 ? i - 1 : 0] : moved.last,
                           b = quad < 3 ? words[i + 1] : words[i],
                           seconds = __shfl_sync(0xffffffffu, k_bytes(a, b, 0x7632), four | ((quad - 1) & 3));
            w[i] = k_bytes(seconds, words[i], begin & 2 ? 0x5410 : 0x7654);
            w[i + 1] = k_bytes(seconds, words[i + 1], begin & 2 ? 0x5432 : 0x7654);
        }
        moved.last = last;
    }
    unsigned x[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < OCTETS; j++) {
        const unsigned one = j ? w[j > 0 ? j - 1 : 0] : moved.before[1], two = j > 1 ? w[j > 1 ? j - 2 : 0] : moved.before[j & 1];
        x[j] = late == 0 ? w[j] : late == 1 ? one : two;
    }
    moved.before[0] = w[OCTETS - 2], moved.before[1] = w[OCTETS - 1];
#pragma unroll
    for (unsigned d = 1; d < 4; d *= 2)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (i & d) continue;
            const unsigned got = __shfl_sync(0xffffffffu, q & d ? x[i] : x[i | d], four | (((q ^ d) - skew) & 3));
            if (q & d)
                x[i] = got;
            else
                x[i | d] = got;
        }
    const int vector = chunk * OCTETS * 16 + (int)q * 16 - (int)begin, end = q < OCTETS ? columns * 2 - vector : 0;
    if (vector >= 0 && end >= 16) k_store_words<16, STREAM>(first + vector, x);
    const bool ends = vector >= 0 && end > 0 && end < 16;
#pragma unroll
    for (int i = 0; i < 4; i++) moved.rest[i] = ends ? x[i] : moved.rest[i];
    moved.at = ends ? vector : moved.at;
    if (chunk == 0 && vector < 0 && vector > -16 && end > -vector) k_store_within(first + vector, x, -vector, end);
}
template <int OCTETS, int PAIRS, int STREAM, typename T>
K_DEVICE void k_store_row(k_moved &moved, T *first, int columns, int chunk, const float *v) {
    unsigned w[4] = {0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < OCTETS; j++) {
        k_pack<T, 2> pair;
        k_put(pair, v + 2 * j);
        w[j] = pair.w[0];
    }
    k_move_row<OCTETS, PAIRS, STREAM>(moved, (char *)first, columns, chunk, w);
}
template <int OCTETS, int PAIRS, int STREAM, typename T>
K_DEVICE void k_end_row(k_moved &moved, T *first, int columns, int chunk) {
    unsigned w[4] = {0, 0, 0, 0};
    k_move_row<OCTETS, PAIRS, STREAM>(moved, (char *)first, columns, chunk, w);
    if (moved.at < columns * 2) k_store_within((char *)first + moved.at, moved.rest, 0, columns * 2 - moved.at);
}
/* A matrix of 8 x 8 elements of 16 bits, of which thread 4*i + j of a warp has row i, columns 2*j and 2*j + 1: transposed.
 * The thread then has column i, rows 2*j and 2*j + 1. */
K_DEVICE unsigned k_turn_matrix(unsigned x) {
#ifdef WS_EMULATOR
    const int lane = (int)threadIdx.x & 31, from = lane % 4 * 8 + lane / 8;
    const unsigned first = __shfl_sync(0xffffffffu, x, from), second = __shfl_sync(0xffffffffu, x, from + 4);
    return lane / 4 & 1 ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
#else
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    return x;
#endif
}
/* Two rows each of a column's lower and upper eight, as k_turn_matrix leaves them: a thread stores four neighbours, an even
 * one of the lower eight from row quad / 2 * 4 on, an odd one of the upper, so that four threads store a whole sector. */
template <int STREAM, typename T>
K_DEVICE void k_store_across(T *at, unsigned lower, unsigned upper, bool there) {
    const bool odd = threadIdx.x & 1;
    const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? lower : upper, 1);
    k_pack<T, 4> x;
    x.w[0] = odd ? got : lower;
    x.w[1] = odd ? upper : got;
    if (there) k_store<T, 4, STREAM>(at, x);
}
/* The other way round: four rows of a column that a thread has loaded, an even one of four of the lower eight, an odd one
 * of the upper, become pairs of columns of a lower and an upper row. Bytes take turns as 16 bits. */
template <typename T> K_DEVICE void k_turn_rows(k_pack<T, 2> (&pair)[2], const k_pack<T, 4> &x) {
    const bool odd = threadIdx.x & 1, bytes = sizeof(T) == 1;
    const unsigned first = bytes ? k_bytes(x.w[0], 0, 0x4140) : x.w[0],
                   second = bytes ? k_bytes(x.w[0], 0, 0x4342) : x.w[sizeof(T) / 2],
                   got = __shfl_xor_sync(0xffffffffu, odd ? first : second, 1),
                   lower = k_turn_matrix(odd ? got : first), upper = k_turn_matrix(odd ? second : got);
    pair[0].w[0] = bytes ? k_bytes(lower, 0, 0x4420) : lower;
    pair[1].w[0] = bytes ? k_bytes(upper, 0, 0x4420) : upper;
}
/* Rows that a warp gathers in lines of WIDTH bytes, so that it stores whole lines of memory. 32 bytes lie between two of
 * them: neither those who write pairs of columns nor those who read rows meet in a bank. */
template <int WIDTH> K_DEVICE k_shared k_piece_of_line(k_shared lines, int row, int piece) {
    static_assert(WIDTH % 128 == 0, "whole lines of memory");
    return lines + (row * (WIDTH + 32) + piece * 16);
}
/* Of eight rows, octet number `octet` of columns of 32 bits: lane l has pair l % 4 of row l / 4. */
template <int WIDTH> K_DEVICE void k_put_in_lines(k_shared lines, int octet, const unsigned (&w)[2]) {
    const int lane = (int)threadIdx.x & 31;
    const float x[2] = {k_as_float(w[0]), k_as_float(w[1])};
    k_shared_put(k_piece_of_line<WIDTH>(lines, lane / 4, octet * 2) + lane % 4 * 8, x);
}
/* 16 bytes of a line. */
K_DEVICE void k_get_of_line(unsigned (&w)[4], k_shared at) {
#ifdef WS_EMULATOR
    for (int i = 0; i < 4; i++) w[i] = ((const unsigned *)at)[i];
#else
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "r"(at) : "memory");
#endif
}
/* Word j of the thread that is number i of four goes to number j, as its word i. */
K_DEVICE void k_transpose_quad(unsigned (&w)[4]) {
    const unsigned q = threadIdx.x & 3;
#pragma unroll
    for (int d = 1; d < 4; d *= 2)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & d) continue;
            const unsigned got = __shfl_xor_sync(0xffffffffu, q & d ? w[i] : w[i | d], d);
            if (q & d)
                w[i] = got;
            else
                w[i | d] = got;
        }
}

/* Planted mistakes: each is found, as what it is, at its line, in every order of threads. */
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

/* Every kernel is `name(const float *x, float *y, int n)` with 64 floats in x and y, 64 threads in
 * a block and 256 bytes of shared memory s; t is the thread. The wrong line ends in a mark. */
#define KERNEL(name, body)                                                                         \
    "extern \"C\" __global__ void " name "(const float *x, float *y, int n) {\n"                   \
    "    extern __shared__ float s[];\n"                                                           \
    "    const int t = (int)threadIdx.x;\n" body "}\n"
#define WRONG " //!\n"

struct bug {
    const char *name;
    const char *body;
    enum emu_kind kind, or_kind; /* which of two it is depends on who comes first; or OK */
    const char *says;            /* a part of the message */
};

/* Words that blocks would leave parts in. */
#define PARTS_TEXT                                                                                 \
    "    unsigned long long *words = (unsigned long long *)s;\n"                                   \
    "    k_left<float, 1> left;\n"                                                                 \
    "    if (t < 8) words[t] = 0;\n"                                                               \
    "    __syncthreads();\n"

static const struct bug BUGS[] = {
    {"missing_barrier",
     "    s[t] = x[t];\n"
     "    y[t] = s[t ^ 1];" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"missing_barrier_static",
     "    __shared__ int slot[64];\n"
     "    slot[t] = t;\n"
     "    y[t] = (float)slot[63 - t];" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of static shared memory"},
    {"missing_barrier_in_loop",
     "    for (int i = 0; i < 2; i++) {\n"
     "        s[t] = x[t] + i;" WRONG "        __syncthreads();\n"
     "        y[t] = s[63 - t];" WRONG "    }\n",
     EMU_RACE, EMU_OK, "since the last barrier"},
    {"reduction_reuses_memory",
     "    float top = k_reduce_row<k_amax, 64>(x[t], s);\n"
     "    y[t] = k_reduce_row<k_sum, 64>(x[t] - top, s);" WRONG,
     EMU_RACE, EMU_OK, "since the last barrier"},
    {"warp_is_no_lockstep",
     "    s[t] = x[t];\n"
     "    __shfl_xor_sync(0xffffffffu, t, 1); /* orders no memory */\n"
     "    y[t] = s[t ^ 1];" WRONG,
     EMU_RACE, EMU_OK, "since the last barrier"},
    {"read_past_end", "    y[t] = k_load1(x + t + 1);" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "read of 4 bytes at offset 256 of x, which has 256 bytes"},
    {"read_before_begin", "    y[t] = x[t - 1];" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "offset -4 of x"},
    {"write_past_end", "    k_store1(y + (t + 1) % 65, x[t]);" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "write of 4 bytes at offset 256 of y"},
    {"half_past_end", "    k_store<k_f32, 4, 0>((k_f32 *)y + 4 * t, k_pack<k_f32, 4>());" WRONG,
     EMU_OUT_OF_BOUNDS, EMU_OK, "of y, which has 256 bytes"},
    {"shared_past_end", "    y[t] = s[t + 1] = 0;" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "of shared memory, which has 256 bytes"},
    {"wild_pointer", "    y[t] = *(float *)(x + (1 << 28));" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "in no buffer"},
    {"stack_overflow",
     "    struct deep {\n"
     "        static int of(int n) {\n"
     "            volatile int a[9000];\n"
     "            a[n & 7] = n;\n"
     "            return n ? of(n - 1) + a[n & 7] : 0;\n"
     "        }\n"
     "    };\n"
     "    y[t] = (float)deep::of(t * 100);" WRONG,
     EMU_STACK, EMU_OK, "bytes of local memory"},
    {"frame_beyond_the_guard",
     "    struct wide {\n"
     "        static int of(int n) {\n"
     "            volatile char a[1 << 19];\n"
     "            a[n] = 1;\n"
     "            return a[n];\n"
     "        }\n"
     "    };\n"
     "    y[t] = t == 9 ? (float)wide::of(t) : x[t];" WRONG,
     EMU_STACK, EMU_OK, "bytes of local memory"},
    {"misaligned_16",
     "    k_pack<k_f32, 4> p = k_load<k_f32, 4>(x + 2);" WRONG "    y[t] = k_get(p, 0);\n",
     EMU_MISALIGNED, EMU_OK, "read of 16 bytes at offset 8 of x, which needs an alignment of 16"},
    {"misaligned_vector", "    y[t] = ((const float4 *)(x + 1))->x + ((float2 *)(s + 1))->x;" WRONG,
     EMU_MISALIGNED, EMU_UNWRITTEN_READ, ""},
    {"misaligned_shared", "    *(double *)(s + n - 63) = 1;" WRONG, EMU_MISALIGNED, EMU_OK,
     "at offset 4 of shared memory"},
    {"writes_its_input", "    ((float *)x)[t] = y[t] = 0;" WRONG, EMU_READ_ONLY, EMU_OK,
     "of x, which is const"},
    {"reads_its_output", "    y[t] += x[t];" WRONG, EMU_UNWRITTEN_READ, EMU_OK, "of y"},
    {"writers_disagree",
     "    y[t] = 0;\n"
     "    k_store1(y, (float)t);" WRONG,
     EMU_RACE, EMU_OK, "of y"},
    {"half_skips_barrier", "    if (t < 32) __syncthreads();" WRONG "    y[t] = 0;\n",
     EMU_DIVERGENT_BARRIER, EMU_OK, "ended"},
    {"two_barriers", "    if (t < 32) __syncthreads();" WRONG "    else __syncthreads();" WRONG,
     EMU_DIVERGENT_BARRIER, EMU_OK, "another __syncthreads"},
    {"barrier_of_too_many", "    emu_bar_sync(1, 96);" WRONG, EMU_DIVERGENT_BARRIER, EMU_OK,
     "the block has fewer threads"},
    {"barrier_too_few", "    if (t < 32) emu_bar_sync(1, 64);" WRONG, EMU_DEADLOCK, EMU_OK,
     "it waits at barrier 1 for 64 threads"},
    {"crossed_barriers", "    emu_bar_sync(t < 32 ? 1 : 2, 64);" WRONG, EMU_DEADLOCK, EMU_OK,
     "waits at barrier 2"},
    {"barrier_against_shuffle",
     "    if (t & 1) __syncthreads();" WRONG "    __shfl_xor_sync(0xffffffffu, t, 1);" WRONG
     "    if (!(t & 1)) __syncthreads();" WRONG,
     EMU_DEADLOCK, EMU_OK, "waits in shuffle with mask 0xffffffff"},
    {"waits_for_ever",
     "    volatile float *flag = s;\n"
     "    s[t] = 0;\n"
     "    while (flag[t] == 0) emu_yield();" WRONG,
     EMU_DEADLOCK, EMU_OK, "it loops"},
    {"waits_for_no_part",
     PARTS_TEXT "    if (t < 7) k_leave_part(words + t, 8, x[t]);\n"
                "    if (t < 8)\n"
                "        while (k_look_at_parts<8>(left, words + t, 8, 1), !k_are_there(1, left))\n"
                "            k_look_away();" WRONG,
     EMU_DEADLOCK, EMU_OK, "it loops"},
    {"clears_what_others_take",
     PARTS_TEXT "    if (t < 8) k_leave_part(words + t, 8, x[t]);\n"
                "    __syncthreads();\n"
                "    if (t < 8) k_look_at_parts<8>(left, words + t, 8, 1);" WRONG
                "    if (t < 8) k_clear_parts<8>(left, words + (t ^ 1), 8, 1);" WRONG,
     EMU_RACE, EMU_OK, "of shared memory"},
    {"lane_not_in_mask", "    y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 1);" WRONG, EMU_WARP,
     EMU_OK, "it does not name its own lane"},
    {"source_not_in_mask",
     "    if (t % 32 < 16) y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 16);" WRONG, EMU_WARP, EMU_OK,
     "a lane that is not there: "},
    {"lanes_skip_shuffle",
     "    float v = 0;\n"
     "    if (t % 32 < 16) v = __shfl_xor_sync(0xffffffffu, x[t], 1);" WRONG "    y[t] = v;\n",
     EMU_WARP, EMU_OK, "a lane that has ended"},
    {"other_collective",
     "    if (t & 1) y[t] = __ballot_sync(0xffffffffu, 1);" WRONG
     "    else y[t] = __shfl_xor_sync(0xffffffffu, x[t], 1);" WRONG,
     EMU_WARP, EMU_OK, "another collective"},
    {"local_of_another",
     "    __shared__ float *slot[64];\n"
     "    float mine = x[t];\n"
     "    slot[t] = &mine;\n"
     "    __syncthreads();\n"
     "    y[t] = *slot[63 - t];" WRONG "    __syncthreads();\n",
     EMU_OUT_OF_BOUNDS, EMU_OK, "another thread's local memory"},
};
enum { N_BUGS = sizeof BUGS / sizeof *BUGS };

/* ---- clusters of two blocks: r is the rank -----------------------------------------------------
 */

#define RANK "    const unsigned r = k_cluster_rank();\n"

/* Each block has an mbarrier that expects a float from both. */
#define BARS                                                                                       \
    "    __shared__ unsigned long long bar;\n"                                                     \
    "    if (t == 0) k_mbar_init(&bar, 1), k_fence_mbar_init();\n"                                 \
    "    k_expect(&bar, t, 8);\n"                                                                  \
    "    __syncthreads();\n"

static const struct bug CLUSTER_BUGS[] = {
    {"load_before_sync",
     RANK "    s[t] = x[t];\n"
          "    __syncthreads();\n"
          "    float v = k_cluster_load(s + t, r ^ 1);" WRONG "    k_cluster_sync();\n"
          "    if (r == 0) y[t] = v;\n",
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"ends_while_read",
     RANK "    s[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    float v = k_cluster_load(s + t, r ^ 1);" WRONG "    if (r == 0) y[t] = v;\n",
     EMU_RACE, EMU_OK, "ended"},
    {"writes_while_read",
     RANK "    s[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    float v = k_cluster_load(s + t, r ^ 1);" WRONG "    s[t] = v + 1;" WRONG
          "    k_cluster_sync();\n"
          "    if (r == 0) y[t] = s[t];\n",
     EMU_RACE, EMU_OK, "since the last k_cluster_sync"},
    {"static_of_another",
     RANK "    __shared__ double top[64];\n"
          "    if (r == 0) top[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    double v = k_cluster_load(top + t, 1);" WRONG "    k_cluster_sync();\n"
          "    if (r == 0) y[t] = (float)v;\n",
     EMU_UNWRITTEN_READ, EMU_OK, "of static shared memory, which nobody wrote"},
    {"rank_too_large",
     RANK "    s[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    y[t] = k_cluster_load(s + t, r + 1);" WRONG "    k_cluster_sync();\n",
     EMU_OUT_OF_BOUNDS, EMU_RACE, ""}, /* rank 0 may come first, and both write y */
    {"rank_is_no_block",
     "    s[t] = x[t];\n"
     "    k_cluster_sync();\n"
     "    float v = k_cluster_load(s + t, 2);" WRONG "    k_cluster_sync();\n",
     EMU_OUT_OF_BOUNDS, EMU_OK, "from rank 2 in a cluster of 2 blocks"},
    {"load_of_a_buffer", "    float v = k_cluster_load(x + t, 0);" WRONG, EMU_OUT_OF_BOUNDS, EMU_OK,
     "not in shared memory"},
    {"load_past_end",
     RANK "    s[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    k_cluster_load(s + t + 1, r ^ 1);" WRONG "    k_cluster_sync();\n",
     EMU_OUT_OF_BOUNDS, EMU_OK, "of shared memory, which has 256 bytes"},
    {"one_block_syncs", RANK "    if (r == 0) k_cluster_sync();" WRONG, EMU_DIVERGENT_BARRIER,
     EMU_OK, "ended"},
    {"one_thread_returns", RANK "    if (r == 1 && t == 5) return;\n    k_cluster_sync();" WRONG,
     EMU_DIVERGENT_BARRIER, EMU_OK, "ended"},
    {"two_cluster_barriers",
     RANK "    if (r == 0) k_cluster_sync();" WRONG "    else k_cluster_sync();" WRONG,
     EMU_DIVERGENT_BARRIER, EMU_OK, "another k_cluster_sync"},
    {"arrives_twice",
     RANK "    for (int i = 0; i < 2; i++) {\n"
          "        s[t] = x[t] + i;\n"
          "        k_cluster_sync();" WRONG
          "        y[t] = k_cluster_load(s + t, 0) + k_cluster_load(s + t, 1);\n"
          "        k_cluster_arrive();\n"
          "    }\n"
          "    k_cluster_wait();\n",
     EMU_DIVERGENT_BARRIER, EMU_RACE, "without a k_cluster_wait"}, /* both blocks write y */
    {"waits_without_arrival", "    k_cluster_wait();" WRONG, EMU_DIVERGENT_BARRIER, EMU_OK,
     "without a k_cluster_arrive"},
    {"load_after_arrival",
     RANK "    s[t] = x[t];\n"
          "    k_cluster_sync();\n"
          "    k_cluster_arrive();\n"
          "    float v = k_cluster_load(s + t, r ^ 1);" WRONG "    k_cluster_wait();\n"
          "    if (r == 0) y[t] = v;\n",
     EMU_RACE, EMU_OK, "follows the thread's k_cluster_arrive"},
    {"cluster_against_block",
     RANK "    if (t < 32) k_cluster_sync();" WRONG "    else __syncthreads();" WRONG, EMU_DEADLOCK,
     EMU_OK, "k_cluster_sync"},
    {"sync_of_the_block_only",
     RANK "    if (r == 0) y[t] = x[t];" WRONG "    __syncthreads();\n"
          "    if (r == 1) y[t] += 1;" WRONG "    k_cluster_sync();\n",
     EMU_RACE, EMU_UNWRITTEN_READ, "of y"},
    {"put_without_barrier",
     RANK BARS "    if (t == 0) k_cluster_put((unsigned *)s + r, 1u, r ^ 1, &bar);" WRONG
               "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_UNWRITTEN_READ, ""},
    {"put_before_all_have_come",
     RANK BARS "    k_cluster_arrive_relaxed();\n"
               "    k_give<2, 64>(1.0f, s, t, r, &bar);" WRONG "    k_cluster_wait();\n"
               "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_OK, "it follows the thread's k_cluster_arrive"},
    {"put_read_before_wait",
     RANK BARS "    k_cluster_sync();\n"
               "    k_give<2, 64>(1.0f, s, t, r, &bar);\n"
               "    if (r == 0) y[t] = k_reduce_slots<k_sum, 2>(s);" WRONG
               "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"put_never_waited_for",
     RANK BARS "    k_cluster_sync();\n"
               "    k_give<2, 64>(1.0f, s, t, r, &bar);" WRONG
               "    if (r == 0) k_mbar_wait(&bar, 0);\n",
     EMU_COPY, EMU_RACE, "end"}, /* the block ends, or has ended */
    {"puts_more_than_expected",
     RANK BARS "    k_cluster_sync();\n"
               "    if (t < 2) k_give<2, 2>(1.0f, s + 2 * t, 0, r, &bar);" WRONG
               "    if (t < 2) k_give<2, 2>(1.0f, s + 2 * t, 1, r, &bar);" WRONG
               "    k_mbar_wait(&bar, 0);\n",
     EMU_MBARRIER, EMU_RACE, ""}, /* or that block has had its 8 bytes, and ended */
    {"puts_less_than_expected",
     RANK BARS "    k_cluster_sync();\n"
               "    if (r == 0) k_give<2, 64>(1.0f, s, t, r, &bar);\n"
               "    k_mbar_wait(&bar, 0);" WRONG,
     EMU_DEADLOCK, EMU_OK, "4 of 8 bytes are missing"},
    {"puts_collide",
     RANK BARS "    k_cluster_sync();\n"
               "    k_give<2, 64>(1.0f, s, t, 0, &bar);" WRONG "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_OK, "of shared memory"},
    {"put_of_no_rank",
     RANK BARS "    k_cluster_sync();\n"
               "    k_give<4, 64>(1.0f, s, t, r, &bar);" WRONG,
     EMU_OUT_OF_BOUNDS, EMU_OK, "there is no block of that rank"},
};
enum { N_CLUSTER_BUGS = sizeof CLUSTER_BUGS / sizeof *CLUSTER_BUGS };

/* ---- asynchronous copies and mbarriers ---------------------------------------------------------
 */

#define MBARRIER(count)                                                                            \
    "    __shared__ unsigned long long bar;\n"                                                     \
    "    if (t == 0) k_mbar_init(&bar, " count "), k_fence_mbar_init();\n"                         \
    "    __syncthreads();\n"
#define LOAD "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 256), k_bulk_g2s(s, x, 256, &bar);\n"

static const struct bug COPY_BUGS[] = {
    {"reads_before_wait",
     "    k_cp_async<4>(s + t, x + t);\n"
     "    k_cp_async_commit();\n"
     "    y[t] = s[t];" WRONG "    k_cp_async_wait<0>();\n",
     EMU_RACE, EMU_OK, "which an asynchronous copy under way writes"},
    {"waits_without_commit",
     "    k_cp_async<4>(s + t, x + t);\n"
     "    k_cp_async_wait<0>();\n"
     "    y[t] = s[t];" WRONG,
     EMU_RACE, EMU_OK, "which an asynchronous copy under way writes"},
    {"two_copies_collide",
     "    k_cp_async<4>(s + (t & 31), x + t);" WRONG "    k_cp_async_commit();\n"
     "    k_cp_async_wait<0>();\n",
     EMU_RACE, EMU_OK, "of shared memory"},
    {"leaves_one_group",
     "    k_cp_async<4>(s + t, x + t);" WRONG "    k_cp_async_commit();\n"
     "    k_cp_async_wait<1>();\n"
     "    y[t] = s[t];" WRONG "    k_cp_async_wait<0>();\n",
     EMU_RACE, EMU_OK, "which an asynchronous copy under way writes"},
    {"no_barrier_after_wait",
     "    k_cp_async<4>(s + t, x + t);\n"
     "    k_cp_async_commit();\n"
     "    k_cp_async_wait<0>();\n"
     "    y[t] = s[t ^ 1];" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"writes_before_wait",
     "    k_cp_async<4>(s + t, x + t);\n"
     "    k_cp_async_commit();\n"
     "    s[t] = 1;" WRONG "    k_cp_async_wait<0>();\n",
     EMU_RACE, EMU_OK, "which an asynchronous copy under way writes"},
    {"copies_over_readers",
     "    s[t] = 1;\n"
     "    __syncthreads();\n"
     "    y[t] = s[t ^ 1];" WRONG "    k_cp_async<4>(s + t, x + t);" WRONG
     "    k_cp_async_commit();\n"
     "    k_cp_async_wait<0>();\n",
     EMU_RACE, EMU_OK, "of shared memory"},
    {"misaligned_copy", "    if (t < 8) k_cp_async<16>(s + 4 * t, x + 4 * t + 1);" WRONG,
     EMU_MISALIGNED, EMU_OK, "its global address needs an alignment of 16"},
    {"copy_past_end", "    k_cp_async<4>(s + t, x + t + 1);" WRONG, EMU_OUT_OF_BOUNDS, EMU_COPY,
     ""},
    {"copy_to_a_buffer", "    k_cp_async<4>(y + t, x + t);" WRONG, EMU_COPY, EMU_OK,
     "no shared memory"},
    {"ends_while_copied", "    k_cp_async<4>(s + t, x + t);" WRONG "    k_cp_async_commit();\n",
     EMU_COPY, EMU_OK, "the thread ends while this copy is under way"},
    {"bulk_reads_before_wait",
     MBARRIER("1") LOAD "    y[t] = s[t];" WRONG "    k_mbar_wait(&bar, 0);\n", EMU_RACE,
     EMU_UNWRITTEN_READ, "of shared memory"},
    {"bulk_one_thread_waits",
     MBARRIER("1") LOAD "    if (t == 0) k_mbar_wait(&bar, 0);\n"
                        "    y[t] = s[t];" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"bulk_waits_for_wrong_phase",
     MBARRIER("1") LOAD "    k_mbar_wait(&bar, 1);\n"
                        "    y[t] = s[t];" WRONG "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"bulk_misaligned", MBARRIER("1") "    if (t == 0) k_bulk_g2s(s + 2, x, 128, &bar);" WRONG,
     EMU_MISALIGNED, EMU_OK, "its shared address needs an alignment of 16"},
    {"bulk_of_odd_size", MBARRIER("1") "    if (t == 0) k_bulk_g2s(s, x, 24, &bar);" WRONG,
     EMU_COPY, EMU_OK, "k_bulk_g2s of 24 bytes, which is no multiple of 16"},
    {"bulk_past_end", MBARRIER("1") "    if (t == 0) k_bulk_g2s(s, x + 4, 256, &bar);" WRONG,
     EMU_OUT_OF_BOUNDS, EMU_OK, "read of 256 bytes at offset 16 of x"},
    {"bulk_past_shared", MBARRIER("1") "    if (t == 0) k_bulk_g2s(s + 4, x, 256, &bar);" WRONG,
     EMU_OUT_OF_BOUNDS, EMU_OK, "write of 256 bytes at offset 16 of shared memory"},
    {"bulk_expects_nothing",
     MBARRIER("1") "    if (t == 0) k_bulk_g2s(s, x, 256, &bar);\n"
                   "    k_mbar_wait(&bar, 0);" WRONG,
     EMU_DEADLOCK, EMU_OK, "1 of 1 arrivals"},
    {"bulk_arrives_without_bytes",
     MBARRIER("1") "    if (t == 0) k_bulk_g2s(s, x, 256, &bar), k_mbar_arrive(&bar);" WRONG
                   "    k_mbar_wait(&bar, 0);\n",
     EMU_MBARRIER, EMU_OK, "256 bytes are under way to a phase that expects 0"},
    {"bulk_expects_too_much",
     MBARRIER("1") "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 512), k_bulk_g2s(s, x, 256, "
                   "&bar);\n"
                   "    k_mbar_wait(&bar, 0);" WRONG,
     EMU_DEADLOCK, EMU_OK, "256 of 512 bytes are missing"},
    {"bulk_over_readers",
     MBARRIER("1") LOAD
     "    k_mbar_wait(&bar, 0);\n"
     "    y[t] = s[t];" WRONG "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 256);\n"
     "    if (t == 0) k_bulk_g2s(s, x, 256, &bar);" WRONG "    k_mbar_wait(&bar, 1);\n",
     EMU_RACE, EMU_OK, "of shared memory"},
    {"bulk_never_waited",
     MBARRIER("1") "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 256);\n"
                   "    if (t == 0) k_bulk_g2s(s, x, 256, &bar);" WRONG,
     EMU_COPY, EMU_OK, "the block ends while this copy is under way"},
    {"bulk_source_changes",
     MBARRIER("1") "    y[t] = x[t];\n"
                   "    __syncthreads();\n"
                   "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 256);\n"
                   "    if (t == 0) k_bulk_g2s(s, y, 256, &bar);" WRONG "    y[t] = 0;" WRONG
                   "    k_mbar_wait(&bar, 0);\n",
     EMU_RACE, EMU_OK, "of y"},
    {"store_without_fence",
     "    s[t] = x[t];\n"
     "    __syncthreads();\n"
     "    if (t == 0) k_bulk_s2g(y, s, 256);" WRONG,
     EMU_COPY, EMU_OK, "with no k_fence_async_shared since"},
    {"store_without_barrier",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    if (t == 32) k_bulk_s2g(y, s, 256);" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of shared memory"},
    {"store_source_reused",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    __syncthreads();\n"
     "    if (t == 0) k_bulk_s2g(y, s, 256), k_bulk_commit();\n"
     "    if (t == 0) s[0] = 5;" WRONG "    if (t == 0) k_bulk_wait<0>();\n",
     EMU_RACE, EMU_OK, "which an asynchronous copy or wgmma under way reads"},
    {"store_source_reused_by_another",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    __syncthreads();\n"
     "    if (t == 0) k_bulk_s2g(y, s, 256), k_bulk_commit(), k_bulk_wait_read<0>();" WRONG
     "    s[t] = 5;" WRONG,
     EMU_RACE, EMU_OK, "of shared memory"},
    {"store_read_back",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    __syncthreads();\n"
     "    if (t == 0) {\n"
     "        k_bulk_s2g(y, s, 256), k_bulk_commit(), k_bulk_wait_read<0>();\n"
     "        s[0] = y[0];" WRONG "    }\n",
     EMU_RACE, EMU_OK, "which an asynchronous copy under way writes"},
    {"store_not_waited",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    __syncthreads();\n"
     "    if (t == 0) k_bulk_s2g(y, s, 256);" WRONG "    if (t == 0) k_bulk_commit();\n",
     EMU_COPY, EMU_OK, "the thread ends while this copy is under way"},
    {"store_of_odd_size",
     "    s[t] = x[t];\n"
     "    k_fence_async_shared();\n"
     "    __syncthreads();\n"
     "    if (t == 0) k_bulk_s2g(y, s, 250);" WRONG,
     EMU_COPY, EMU_OK, "250 bytes"},
    {"mbarrier_not_made",
     "    unsigned long long *bar = (unsigned long long *)s;\n"
     "    if (t < 2) s[t] = 0;\n"
     "    __syncthreads();\n"
     "    k_mbar_arrive(bar);" WRONG,
     EMU_MBARRIER, EMU_OK, "k_mbar_init has made none here"},
    {"mbarrier_used_too_early",
     "    __shared__ unsigned long long bar;\n"
     "    if (t == 0) k_mbar_init(&bar, 64);" WRONG "    k_mbar_arrive(&bar);" WRONG,
     EMU_RACE, EMU_UNWRITTEN_READ, "of static shared memory"},
    {"mbarrier_overwritten",
     MBARRIER("64") "    if (t == 0) bar = 0;\n"
                    "    __syncthreads();\n"
                    "    k_mbar_arrive(&bar);" WRONG,
     EMU_MBARRIER, EMU_OK, "written over"},
    {"mbarrier_of_nobody", MBARRIER("0" WRONG), EMU_MBARRIER, EMU_OK, "a phase of 0 arrivals"},
    {"mbarrier_misaligned", "    if (t == 0) k_mbar_init((unsigned long long *)(s + 1), 1);" WRONG,
     EMU_MISALIGNED, EMU_OK, "needs an alignment of 8"},
    {"mbarrier_too_many_arrive",
     MBARRIER("32") "    if (t == 0) k_mbar_arrive_expect_tx(&bar, 16);" WRONG
                    "    else k_mbar_arrive(&bar);" WRONG,
     EMU_MBARRIER, EMU_OK, "more than 32 arrivals in phase 0"},
    {"mbarrier_too_few_arrive",
     MBARRIER("64") "    if (t < 32) k_mbar_arrive(&bar);\n"
                    "    k_mbar_wait(&bar, 0);" WRONG,
     EMU_DEADLOCK, EMU_OK, "of static shared memory: 32 of 64 arrivals"},
    {"parity_of_two", MBARRIER("1") "    k_mbar_wait(&bar, 2);" WRONG, EMU_MBARRIER, EMU_OK,
     "parity 2"},
    {"arrival_orders_no_later_writes",
     MBARRIER("64") "    s[t] = x[t];\n"
                    "    k_mbar_arrive(&bar);\n"
                    "    s[t] += 1;" WRONG "    k_mbar_wait(&bar, 0);\n"
                    "    y[t] = s[t ^ 1];" WRONG,
     EMU_RACE, EMU_OK, "since the last barrier"},
};
enum { N_COPY_BUGS = sizeof COPY_BUGS / sizeof *COPY_BUGS };

struct fix {
    struct arena *a;
    struct emu *e;
    struct emu_module *m;
    const char *text;
    float *x, *y;
};

static struct fix begin(const char *kernels, const char *const *names, int n) {
    struct fix f = {.a = arena_new(), .e = emu_new()};
    struct diag d = diag_new(f.a);
    f.text = arena_printf(f.a, "%s\n%s", prelude_cuda, kernels);
    f.m = emu_open(f.e, f.text, names, n, &d);
    if (!f.m) fail_msg("%s", d.text);
    f.x = emu_alloc(f.e, "x", 256);
    f.y = emu_alloc(f.e, "y", 256);
    for (int i = 0; i < 64; i++) f.x[i] = (float)i;
    return f;
}

static void end(struct fix *f) {
    emu_free(f->e);
    arena_free(f->a);
}

typedef struct emu_report runner(struct emu_module *, const struct emu_launch *);

static struct emu_report launch_cluster(struct fix *f, const char *kernel, unsigned blocks,
                                        unsigned cluster, enum emu_order order, runner *run) {
    int n = 64;
    struct emu_launch l = {.kernel = kernel,
                           .grid = {blocks},
                           .cluster = cluster,
                           .threads = {64},
                           .shared = 256,
                           .args = (void *[]){&f->x, &f->y, &n},
                           .n_args = 3,
                           .order = order,
                           .seed = 7};
    return run(f->m, &l);
}

static struct emu_report launch(struct fix *f, const char *kernel, unsigned blocks,
                                enum emu_order order, runner *run) {
    return launch_cluster(f, kernel, blocks, 1, order, run);
}

/* Is the line one of the marked ones? Under the address sanitizer each strchr would read the whole
 * text. */
static bool is_marked(const char *text, int line) {
    for (int i = 1; *text && i < line; text++) i += *text == '\n';
    const char *end = text;
    while (*end && *end != '\n') end++;
    return line && *end && end - text >= 3 && memcmp(end - 3, "//!", 3) == 0;
}

static void assert_found(const struct fix *f, const struct bug *b, const struct emu_report *r) {
    if (r->ok) fail_msg("%s: not found", b->name);
    if (r->kind != b->kind && (b->or_kind == EMU_OK || r->kind != b->or_kind))
        fail_msg("%s: found as something else: %s", b->name, r->message);
    if (!strstr(r->message, b->says)) fail_msg("%s: %s", b->says, r->message);
    if (!is_marked(f->text, r->line)) fail_msg("not the marked line: %s", r->message);
    assert_int_equal(strncmp(r->message, b->name, strlen(b->name)), 0);
}

static void find_bugs(const struct bug *bugs, int n, unsigned cluster) {
    struct arena *a = arena_new();
    struct buf text = buf_new(a);
    const char **names = NEW_ARRAY(a, const char *, n);
    for (int i = 0; i < n; i++) {
        names[i] = bugs[i].name;
        buf_printf(&text, KERNEL("%s", "%s"), bugs[i].name, bugs[i].body);
    }
    struct fix f = begin(text.p, names, n);
    for (int i = 0; i < n; i++)
        for (enum emu_order o = EMU_FORWARD; o <= EMU_RANDOM; o++) {
            struct emu_report r = launch_cluster(&f, names[i], cluster, cluster, o, emu_run);
            assert_found(&f, &bugs[i], &r);
        }
    end(&f);
    arena_free(a);
}

static void test_bugs(void **state) { find_bugs(BUGS, N_BUGS, 1); }
static void test_cluster_bugs(void **state) { find_bugs(CLUSTER_BUGS, N_CLUSTER_BUGS, 2); }
static void test_copy_bugs(void **state) { find_bugs(COPY_BUGS, N_COPY_BUGS, 1); }

/* ---- mistakes of whole grids ---------------------------------------------------------------- */

static const char GRID_TEXT[] =
    KERNEL("right", "    s[t] = x[63 - t];\n"
                    "    __syncthreads();\n"
                    "    y[t] = s[63 - t];\n") KERNEL("writes_half", "    if (t < 32) y[t] = 0;\n")
        KERNEL("blocks_collide", "    y[t] = 0;\n"
                                 "    k_store1(y + t, (float)blockIdx.x);" WRONG)
            KERNEL("block_reads_block", "    if (blockIdx.x == 0) y[t] = 1;\n"
                                        "    else if (y[t] != 1) y[t] = 2;" WRONG)
                KERNEL("takes_turns", "    if (t < 2) s[t] = 0;\n"
                                      "    __syncthreads();\n"
                                      "    int *turn = (int *)s;\n"
                                      "    y[atomicAdd(turn, 1)] = (float)t;\n");

static struct fix begin_grid(void) {
    static const char *const NAMES[] = {"right", "writes_half", "blocks_collide",
                                        "block_reads_block", "takes_turns"};
    return begin(GRID_TEXT, NAMES, 5);
}

static void test_right(void **state) {
    struct fix f = begin_grid();
    struct emu_report r = launch(&f, "right", 1, EMU_FORWARD, emu_check);
    if (!r.ok) fail_msg("%s", r.message);
    assert_string_equal(r.message, "");
    assert_memory_equal(f.x, f.y, 256);
    assert_int_equal(r.accesses, 64 * 4);
    assert_int_equal(r.barriers, 1);
    /* The same buffer as another kernel's mistake left it, and no mistake sticks. */
    assert_false(launch(&f, "writes_half", 1, EMU_FORWARD, emu_run).ok);
    assert_true(launch(&f, "right", 1, EMU_REVERSE, emu_run).ok);
    end(&f);
}

static void test_unwritten_output(void **state) {
    struct fix f = begin_grid();
    struct emu_report r = launch(&f, "writes_half", 1, EMU_FORWARD, emu_run);
    assert_int_equal(r.kind, EMU_UNWRITTEN_OUTPUT);
    assert_non_null(strstr(r.message, "byte 128 of y"));
    int n = 64;
    struct emu_launch l = {.kernel = "writes_half",
                           .threads = {64},
                           .shared = 256,
                           .args = (void *[]){&f.x, &f.y, &n},
                           .n_args = 3,
                           .roles = (enum emu_role[]){EMU_IN, EMU_INOUT, EMU_VALUE}};
    assert_true(emu_run(f.m, &l).ok);
    end(&f);
}

static void test_blocks(void **state) {
    struct fix f = begin_grid();
    const char *const wrong[] = {"blocks_collide", "block_reads_block"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(launch(&f, wrong[i], 2, EMU_FORWARD, emu_run).kind, EMU_RACE);
        struct emu_report r = launch(&f, wrong[i], 2, EMU_FORWARD, emu_run);
        assert_non_null(strstr(r.message, "another block"));
        assert_int_equal(r.block[0], 1);
    }
    assert_true(launch(&f, "blocks_collide", 1, EMU_FORWARD, emu_run).ok);
    end(&f);
}

static void test_order(void **state) {
    struct fix f = begin_grid();
    assert_true(launch(&f, "takes_turns", 1, EMU_FORWARD, emu_run).ok);
    assert_true(f.y[0] == 63); /* the last at the barrier goes on first */
    assert_true(launch(&f, "takes_turns", 1, EMU_REVERSE, emu_run).ok);
    assert_true(f.y[0] == 0);
    assert_int_equal(launch(&f, "takes_turns", 1, EMU_FORWARD, emu_check).kind, EMU_ORDER);
    end(&f);
}

/* Blocks that go through steps together: each reads what another one has left in the step before,
 * and leaves its own where nobody reads it meanwhile. */
#define STEPS(name, await, load)                                                                   \
    "extern \"C\" __global__ void " name "(const float *x, float *y, unsigned *left) {\n"          \
    "    const int t = (int)threadIdx.x, b = (int)blockIdx.x;\n"                                   \
    "    for (int s = 0; s < 4; s++) {\n" await                                                    \
    "        const int other = (s + 1) % 2 * 32 + (1 - b) * 16;\n"                                 \
    "        const float v = s ? " load "(y + other + t % 16) : x[t];\n"                           \
    "        if (t < 16) y[s % 2 * 32 + b * 16 + t] = v + 1;\n"                                    \
    "        k_leave_step(left, 8);\n"                                                             \
    "    }\n"                                                                                      \
    "}\n"
#define AWAIT "        if (s) k_await_step(left, 2 * s);\n"

/* Two blocks at a time, which tell each other by a counter, with so many bytes of shared memory. */
static struct emu_report run_steps(struct fix *f, const char *name, size_t shared, unsigned *left) {
    struct emu_launch l = {.kernel = name,
                           .grid = {2},
                           .threads = {32},
                           .shared = shared,
                           .args = (void *[]){&f->x, &f->y, &left},
                           .n_args = 3,
                           .roles = (enum emu_role[]){EMU_IN, EMU_INOUT, EMU_INOUT},
                           .blocks_communicate = true,
                           .all_at_work = true};
    *left = 0;
    memset(f->y, 0, 256);
    return emu_check(f->m, &l);
}

static void test_steps(void **state) {
    static const struct {
        const char *name;
        enum emu_kind kind, or_kind;
    } all[] = {{"right", EMU_OK, EMU_OK},
               {"waits_for_nobody", EMU_ORDER, EMU_UNWRITTEN_READ},
               {"reads_constants", EMU_RACE, EMU_RACE}};
    static const char text[] = STEPS("right", AWAIT, "k_load1_now")
        STEPS("waits_for_nobody", "", "k_load1_now") STEPS("reads_constants", AWAIT, "k_load1");
    static const char *const names[] = {"right", "waits_for_nobody", "reads_constants"};
    struct fix f = begin(text, names, 3);
    unsigned *left = emu_alloc(f.e, "left", 4);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct emu_report r = run_steps(&f, all[i].name, 0, left);
        if (r.kind != all[i].kind && r.kind != all[i].or_kind)
            fail_msg("%s: %s", all[i].name, r.message);
        assert_true(!r.ok || *left == 0);
    }
    end(&f);
}

/* The same without a meeting: what each step leaves lies apart, begins hidden, and is looked at
 * until it is there: also what is stored as the very number that hides it. */
#define LOOKS(name, show)                                                                          \
    "extern \"C\" __global__ void " name "(const float *x, float *y, unsigned *left) {\n"          \
    "    extern __shared__ __align__(16) unsigned char k_smem[];\n"                                \
    "    float *const all = (float *)k_smem;\n"                                                    \
    "    const int t = (int)threadIdx.x, b = (int)blockIdx.x;\n"                                   \
    "    for (int s = 0; s < 4; s++)\n"                                                            \
    "        if (t < 8) k_hide1(y + s * 16 + b * 8 + t);\n"                                        \
    "    k_leave_step(left, 4);\n"                                                                 \
    "    k_await_step(left, 2);\n"                                                                 \
    "    for (int s = 0; s < 4; s++) {\n"                                                          \
    "        const float *const before = s ? y + (s - 1) * 16 : x;\n"                              \
    "        unsigned w[4];\n"                                                                     \
    "        if (t < 4) k_look(w, before + t * 4);\n"                                              \
    "        while (s && t < 4 && k_look_again(w, before + t * 4)) {}\n"                           \
    "        if (t < 4) k_keep_look(all + t * 4, w);\n"                                            \
    "        __syncthreads();\n"                                                                   \
    "        const float v = all[15 - (b * 8 + t) % 16];\n"                                        \
    "        __syncthreads();\n"                                                                   \
    "        if (t < 8) " show                                                                     \
    "(y + s * 16 + b * 8 + t, s == 2 && b ? k_as_float(~0u) : v + 1);\n"                           \
    "    }\n"                                                                                      \
    "    k_leave_step(left, 4);\n"                                                                 \
    "}\n"

static void test_looks(void **state) {
    static const struct {
        const char *name;
        enum emu_kind kind, or_kind;
    } all[] = {{"right", EMU_OK, EMU_OK}, {"stores_plainly", EMU_RACE, EMU_RACE}};
    static const char text[] = LOOKS("right", "k_show1") LOOKS("stores_plainly", "k_store1");
    static const char *const names[] = {"right", "stores_plainly"};
    struct fix f = begin(text, names, 2);
    unsigned *left = emu_alloc(f.e, "left", 4);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct emu_report r = run_steps(&f, all[i].name, 64, left);
        if (r.kind != all[i].kind && r.kind != all[i].or_kind)
            fail_msg("%s: %s", all[i].name, r.message);
        for (int e = 0; r.ok && e < 16; e++) /* what was no number in step 2 is there, too */
            if (e < 8 ? f.y[48 + e] == f.y[48 + e] : f.y[48 + e] != f.x[e] + 4)
                fail_msg("[%d] is %g", e, (double)f.y[48 + e]);
    }
    end(&f);
}

/* ---- wrong launches and texts --------------------------------------------------------------- */

static void assert_refused(struct fix *f, struct emu_launch l, const char *says) {
    struct emu_report r = emu_run(f->m, &l);
    assert_false(r.ok);
    assert_int_equal(r.kind, EMU_BAD_LAUNCH);
    if (!strstr(r.message, says)) fail_msg("%s: %s", says, r.message);
}

static void test_bad_launch(void **state) {
    struct fix f = begin_grid();
    int n = 64;
    void *wild = &n;
    struct emu_launch good = {.kernel = "right",
                              .threads = {64},
                              .shared = 256,
                              .args = (void *[]){&f.x, &f.y, &n},
                              .n_args = 3};
    struct emu_launch l = good;
    assert_true(emu_run(f.m, &l).ok);
    l.kernel = "left";
    assert_refused(&f, l, "no such kernel");
    l = good;
    l.n_args = 2;
    assert_refused(&f, l, "2 arguments for 3 parameters");
    l = good;
    l.threads[1] = 17;
    assert_refused(&f, l, "1088 threads");
    l = good;
    l.shared = 232449;
    assert_refused(&f, l, "232449 bytes");
    l = good;
    l.grid[0] = 4;
    l.cluster = 3;
    assert_refused(&f, l, "4 blocks in x are no multiple of the cluster's 3");
    l.grid[0] = l.cluster = 17;
    assert_refused(&f, l, "clusters of 17 blocks");
    l = good;
    l.args = (void *[]){&f.x, &wild, &n};
    assert_refused(&f, l, "argument 1 points into no buffer");
    l = good;
    l.roles = (enum emu_role[]){EMU_IN, EMU_OUT, EMU_OUT};
    assert_refused(&f, l, "argument 2 is not a pointer");
    l.roles = (enum emu_role[]){EMU_OUT, EMU_OUT, EMU_VALUE};
    assert_refused(&f, l, "argument 0 points to const");
    l.roles = (enum emu_role[]){EMU_IN, EMU_VALUE, EMU_VALUE};
    assert_refused(&f, l, "argument 1 is a pointer");
    end(&f);
}

static void test_bad_text(void **state) {
    struct arena *a = arena_new();
    struct emu *e = emu_new();
    struct diag d = diag_new(a);
    const char *const names[] = {"broken"};
    assert_null(emu_open(e, "extern \"C\" __global__ void broken() { oops; }", names, 1, &d));
    assert_int_equal(d.status, WS_WRONG);
    assert_non_null(strstr(d.text, "kernels.cu:1"));
    assert_non_null(strstr(d.text, "oops"));
    d = diag_new(a);
    assert_null(emu_open(e, "extern \"C\" __global__ void other() {}", names, 1, &d));
    assert_non_null(strstr(d.text, "broken"));
    emu_free(e);
    emu_free(NULL);
    arena_free(a);
}

/* Two modules with the same names side by side. */
static void test_two_modules(void **state) {
    struct arena *a = arena_new();
    struct emu *e = emu_new();
    struct diag d = diag_new(a);
    const char *const names[] = {"f"};
    int *y = emu_alloc(e, "y", 4);
    struct emu_module *m[2];
    for (int i = 0; i < 2; i++) {
        const char *text = arena_printf(a,
                                        "extern \"C\" __global__ void f(int *y) {\n"
                                        "    extern __shared__ int s[];\n"
                                        "    *s = %d;\n"
                                        "    *y = *s;\n"
                                        "}\n",
                                        i + 5);
        m[i] = emu_open(e, text, names, 1, &d);
        assert_non_null(m[i]);
    }
    struct emu_launch l = {.kernel = "f", .shared = 4, .args = (void *[]){&y}, .n_args = 1};
    for (int i = 0; i < 4; i++) {
        assert_true(emu_check(m[i & 1], &l).ok);
        assert_int_equal(*y, 5 + (i & 1));
    }
    emu_close(m[0]);
    assert_true(emu_check(m[1], &l).ok);
    emu_free(e);
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bugs),
        cmocka_unit_test(test_cluster_bugs),
        cmocka_unit_test(test_copy_bugs),
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_unwritten_output),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_bad_launch),
        cmocka_unit_test(test_bad_text),
        cmocka_unit_test(test_two_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

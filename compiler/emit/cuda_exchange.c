/* cuda_exchange.c: blocks of a cluster tell each other what they have of a row. Each sends it into
 * the shared memory of all, and waits on an mbarrier of its own until all of it has come:
 *
 *     k_make_mbarriers<2>((unsigned long long *)k_smem, tid);  at the kernel's begin
 *     ...
 *     k_cluster_wait();                                        all blocks have theirs
 *     k_expect(bar, tid, 32);
 *     k_give<8, 256>(a1[e], slots, tr, rank, bar);
 *     k_mbar_wait(bar, 0);
 *     a1[e] = k_reduce_slots<k_sum, 8>(slots);
 *
 * Nothing here waits for what a thread has stored, as a release at the cluster's barrier would; and
 * no block ends before all have given it theirs, so that none sends to a block that has ended.
 * Every mbarrier counts one phase. Blocks with many rows, or with vectors along x, read each
 * other's shared memory between barriers of the cluster instead.
 *
 * More blocks than a cluster has meet in memory: each leaves what it has in words, beside flags,
 * and takes up what the others have left.
 *
 *     const unsigned turn = k_take_turn(tickets, gridDim.x);   whose turn it is, not blockIdx:
 *     const k_idx px = (k_idx)(turn / 64);                     all before it have begun
 *     unsigned long long *const met = ...;                     the words of the block's rows
 *     if (tr == 0) k_leave_part(met + 0 + rank, 64, a1[e]);
 *     k_take_met<64, 256>(slots, met + 0, tr);
 *     __syncthreads();
 *     a1[e] = k_reduce_met<k_sum, 64>(slots);
 *     const unsigned arrived = k_arrive_look_back(tickets + px, 64);
 *     ...
 *     k_end_look_back<256>(arrived, ...);                      the row's last one clears its words
 *
 * A row that no cluster holds is kept by so many blocks, in registers or shared memory, and read
 * once: 8 MB of a group norm's in 64 or 128 blocks, of which a multiprocessor has some, so that one
 * row is stored while the next is loaded. */
#include "emit/cuda_rows.h"

bool exchanges(const struct layout *y) { return y->cluster > 1 && !y->rows_inner && !y->blocks; }

static int reductions(const struct kernel *k) {
    int n = 0;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_REDUCE && !goes_across(&k->values.at[v]);
    return n;
}

void put_mbarriers(struct emitter *w, int *smem) {
    if (!exchanges(w->y) || w->y->meets) return;
    int n = reductions(w->k); /* an exchange has one of them, or more */
    line(w, "k_make_mbarriers<%d>((unsigned long long *)k_smem, tid);", n);
    *smem += (8 * n + 15) / 16 * 16;
}

static const char *mbarrier(struct emitter *w) {
    return arena_printf(w->arena, "(unsigned long long *)k_smem + %d", w->exchanges);
}

void open_exchange(struct emitter *w, const char *bytes) {
    if (w->y->meets) return;
    if (w->exchanges == 0) line(w, "k_cluster_wait();");
    line(w, "k_expect(%s, tid, %d * (%s));", mbarrier(w), w->y->ex * w->y->t0 * w->y->cluster,
         bytes);
}

const char *exchange_slots(struct emitter *w, const char *type, int at) {
    return arena_printf(w->arena, "(%s *)(k_smem + %d) + (e * %d + tx) * %d", type, at, w->y->t0,
                        w->y->cluster);
}

/* The first block's word of row e. */
static const char *met_words(struct emitter *w, int met) {
    const struct layout *y = w->y;
    int words = layout_met_words(w->k);
    return arena_printf(w->arena, "met + ((e * %d + tx) * %d + %d) * %d", y->t0, words, met,
                        y->cluster);
}

void put_give(struct emitter *w, const char *value, const char *slots, int met) {
    if (w->y->meets)
        line(w, "if (tr == 0) k_leave_part(%s + rank, %d, %s);", met_words(w, met), w->y->cluster,
             value);
    else
        line(w, "k_give<%d, %d>(%s, %s, tr, rank, %s);", w->y->cluster, w->y->t1, value, slots,
             mbarrier(w));
}

void take_up(struct emitter *w, const char *slots, int met) {
    if (!w->y->meets) return;
    line(w, "k_take_met<%d, %d>(%s, %s, tr);", w->y->cluster, w->y->t1, slots, met_words(w, met));
}

void close_exchange(struct emitter *w) {
    if (w->y->meets)
        line(w, "__syncthreads();");
    else
        line(w, "k_mbar_wait(%s, 0);", mbarrier(w));
    w->exchanges++;
}

/* Words of the block's rows. */
static long long block_words(struct emitter *w) {
    return (long long)w->y->bx * w->y->cluster * layout_met_words(w->k);
}

void put_meeting_position(struct emitter *w) {
    line(w, "const unsigned turn = k_take_turn(tickets, gridDim.x);");
    line(w, "const k_idx px = (k_idx)(turn / %d);", w->y->cluster);
    line(w, "const int rank = (int)(turn %% %d);", w->y->cluster);
    line(w, "unsigned long long *const met = (unsigned long long *)(tickets + %lld) + px * %lld;",
         (long long)layout_met_counters(w->k, w->y), block_words(w));
}

void arrive_meeting(struct emitter *w) {
    line(w, "const unsigned arrived = k_arrive_look_back(tickets + px, %d);", w->y->cluster);
}

void end_meeting(struct emitter *w) {
    line(w, "k_end_look_back<%d>(arrived, (unsigned *)met - 2, %d, %lld);", w->y->threads,
         w->y->cluster, 2 * block_words(w));
}

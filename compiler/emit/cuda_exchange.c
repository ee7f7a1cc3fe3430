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
 * other's shared memory between barriers of the cluster instead. */
#include "emit/cuda_rows.h"

bool exchanges(const struct layout *y) { return y->cluster > 1 && !y->rows_inner && !y->blocks; }

static int reductions(const struct kernel *k) {
    int n = 0;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_REDUCE && !goes_across(&k->values.at[v]);
    return n;
}

void put_mbarriers(struct emitter *w, int *smem) {
    if (!exchanges(w->y)) return;
    int n = reductions(w->k); /* an exchange has one of them, or more */
    line(w, "k_make_mbarriers<%d>((unsigned long long *)k_smem, tid);", n);
    *smem += (8 * n + 15) / 16 * 16;
}

static const char *mbarrier(struct emitter *w) {
    return arena_printf(w->arena, "(unsigned long long *)k_smem + %d", w->exchanges);
}

void open_exchange(struct emitter *w, const char *bytes) {
    if (w->exchanges == 0) line(w, "k_cluster_wait();");
    line(w, "k_expect(%s, tid, %d * (%s));", mbarrier(w), w->y->ex * w->y->t0 * w->y->cluster,
         bytes);
}

const char *exchange_slots(struct emitter *w, const char *type, int at) {
    return arena_printf(w->arena, "(%s *)(k_smem + %d) + (e * %d + tx) * %d", type, at, w->y->t0,
                        w->y->cluster);
}

void put_give(struct emitter *w, const char *value, const char *slots) {
    line(w, "k_give<%d, %d>(%s, %s, tr, rank, %s);", w->y->cluster, w->y->t1, value, slots,
         mbarrier(w));
}

void close_exchange(struct emitter *w) {
    line(w, "k_mbar_wait(%s, 0);", mbarrier(w));
    w->exchanges++;
}

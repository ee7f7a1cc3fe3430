/* cluster.c: the blocks of a cluster: each one's shared memory, their barrier, loads from each
 * other.
 *
 * A kernel's shared memory is at fixed addresses, the same ones for all blocks. The block that runs
 * has its bytes there, those of the others are saved meanwhile; the scheduler lets a block go as
 * far as it comes, so that they change places rarely. The shadows stay apart.
 *
 * A block's shared memory is gone when the block ends. A load from it is safe if a cluster barrier
 * stands between the load and the end, which no order of threads can hide: either the load comes
 * first and the end finds that no barrier followed, or the load finds that the block has ended. */
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

/* ---- shared memory -------------------------------------------------------------------------- */

/* Call do_part with each part of the module's shared memory that this launch has. */
static void each_part(const struct emu *e,
                      void (*do_part)(unsigned char *, unsigned char *, size_t),
                      unsigned char *saved) {
    const struct emu_module *m = e->module;
    size_t before = (size_t)(m->dynamic - m->shared);
    size_t rest = before + EMU_SHARED_MAX + EMU_SHARED_RED_ZONE;
    do_part(m->shared, saved, before);
    do_part(m->dynamic, saved ? saved + before : NULL, e->launch->shared);
    do_part(m->shared + rest, saved ? saved + rest : NULL, m->shared_bytes - rest);
}

static void poison_part(unsigned char *at, unsigned char *saved, size_t bytes) {
    memory_poison(at, bytes);
}
static void save_part(unsigned char *at, unsigned char *saved, size_t bytes) {
    memcpy(saved, at, bytes);
}
static void restore_part(unsigned char *at, unsigned char *saved, size_t bytes) {
    memcpy(at, saved, bytes);
}

static void free_shared(struct block *b) {
    free(b->shadow);
    free(b->saved);
    b->shadow = NULL;
    b->saved = NULL;
    b->shared_bytes = 0;
}

void cluster_prepare(struct emu *e) {
    size_t bytes = e->module->shared_bytes;
    for (unsigned r = 0; r < e->n_blocks; r++) {
        struct block *b = &e->blocks[r];
        if (b->shared_bytes < bytes) {
            free_shared(b);
            b->shadow = calloc(bytes, sizeof *b->shadow);
            WS_ASSERT(b->shadow);
            b->shared_bytes = bytes;
        }
        if (e->n_blocks > 1 && !b->saved) {
            b->saved = malloc(b->shared_bytes);
            WS_ASSERT(b->saved);
        }
    }
}

void cluster_begin(struct emu *e) {
    e->cluster_start = e->cluster_sync = ++e->now;
    e->n_waiting = 0;
    e->live = e->b = e->blocks;
    each_part(e, poison_part, NULL);
    for (unsigned r = 0; r < e->n_blocks; r++) {
        e->blocks[r].peeked = 0;
        if (e->n_blocks > 1) each_part(e, save_part, e->blocks[r].saved);
    }
}

void cluster_enter(struct emu *e, struct block *b) {
    if (e->live == b) return;
    each_part(e, save_part, e->live->saved);
    each_part(e, restore_part, b->saved);
    e->live = b;
}

void cluster_free(struct emu *e) {
    for (int r = 0; r < MAX_BLOCKS; r++) free_shared(&e->blocks[r]);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

unsigned cluster_rank(struct emu *e) { return e->b->rank % e->n_cluster; }

struct block *cluster_block(struct emu *e, unsigned rank) {
    return &e->blocks[e->b->rank - cluster_rank(e) + rank];
}

/* What a thread does between its arrival and its wait is taken to precede the barrier; what must
 * not come after the arrival is found by the two checks here and the one of cluster_load. */
static void check_arrival(struct emu *e, bool arrived, const char *mistake) {
    struct thread *t = &e->threads[e->current];
    if (t->arrived == arrived) return;
    block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame, "%s", mistake);
    block_stop(e);
}

void cluster_arrive(struct emu *e) {
    struct thread *t = &e->threads[e->current];
    t->frame = __builtin_frame_address(0);
    check_arrival(e, false, "k_cluster_arrive twice without a k_cluster_wait");
    t->arrived = true;
}

/* Of clusters that are all at work all wait for each other: kernels have these barriers before the
 * first and behind the last of what clusters tell each other. */
static void meet(struct emu *e, int line) {
    struct thread *t = &e->threads[e->current];
    char name[THREAD_NAME];
    t->line = line;
    if (e->n_waiting == 0) e->first_waiting = e->current;
    const struct thread *first = &e->threads[e->first_waiting];
    if (first->line != line) {
        block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame,
                     "%s waits at another k_cluster_sync (line %d of the text, not %d)",
                     sync_thread_name(e, e->first_waiting, name), first->line, line);
        block_stop(e);
    }
    if (e->n_done) {
        block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame,
                     "%u threads of the cluster have ended and miss this k_cluster_sync",
                     e->n_done);
        block_stop(e);
    }
    t->state = AT_CLUSTER;
    if (++e->n_waiting < e->n_threads * e->n_blocks) {
        block_suspend(e);
        return;
    }
    for (unsigned i = 0; i < e->n_threads * e->n_blocks; i++) block_wake(e, i);
    for (unsigned r = 0; r < e->n_blocks; r++) sync_full(e, &e->blocks[r]);
    e->cluster_sync = ++e->now;
    e->n_waiting = 0;
    e->report.barriers++;
}

void cluster_sync(struct emu *e, int line) {
    e->threads[e->current].frame = __builtin_frame_address(0);
    check_arrival(e, false, "k_cluster_sync after a k_cluster_arrive without a k_cluster_wait");
    meet(e, line);
}

void cluster_wait(struct emu *e, int line) {
    struct thread *t = &e->threads[e->current];
    t->frame = __builtin_frame_address(0);
    check_arrival(e, true, "k_cluster_wait without a k_cluster_arrive");
    t->arrived = false;
    meet(e, line);
}

/* The mistake that an address or a rank is, or NULL. */
static const char *load_mistake(struct emu *e, const void *mine, unsigned bytes, unsigned rank,
                                enum emu_kind *kind) {
    *kind = EMU_OUT_OF_BOUNDS;
    if (bytes != 4 && bytes != 8) return "it takes 4 or 8 bytes";
    if (rank >= e->n_cluster) return "there is no block of that rank";
    if (!memory_is_shared(e, mine)) return "the address is not in shared memory";
    *kind = EMU_RACE;
    if (e->threads[e->current].arrived) return "it follows the thread's k_cluster_arrive";
    if (cluster_block(e, rank)->n_done == e->n_threads) return "that block has ended";
    return NULL;
}

const unsigned char *cluster_bytes(const struct emu *e, const struct block *b, const void *at) {
    const unsigned char *p = at;
    return b == e->live ? p : b->saved + (p - e->module->shared);
}

void cluster_load(struct emu *e, void *to, const void *mine, unsigned bytes, unsigned rank) {
    e->frame = __builtin_frame_address(0);
    enum emu_kind kind;
    const char *wrong = load_mistake(e, mine, bytes, rank, &kind);
    if (wrong) {
        block_report(e, kind, e->current, e->frame,
                     "k_cluster_load from rank %u in a cluster of %u blocks: %s", rank,
                     e->n_cluster, wrong);
        block_stop(e);
    }
    struct block *owner = cluster_block(e, rank);
    memory_judge_of(e, owner, mine, bytes, EMU_READ);
    memcpy(to, cluster_bytes(e, owner, mine), bytes);
    if (owner == e->b) return;
    owner->peeked = e->now;
    owner->peeker = e->current;
    module_trail(e->module, e->frame, &owner->peek_trail);
}

/* The block that runs has ended: is everyone through with its shared memory? */
void cluster_block_done(struct emu *e) {
    const struct block *b = e->b;
    if (b->peeked < e->cluster_sync || !b->peeked) return;
    block_report(e, EMU_RACE, b->peeker, b->peek_trail.frame,
                 "k_cluster_load from block %u,%u,%u, which may have ended: it does not wait at a "
                 "k_cluster_sync after this load",
                 b->at.x, b->at.y, b->at.z);
}

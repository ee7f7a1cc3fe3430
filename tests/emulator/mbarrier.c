/* mbarrier.c: barriers in shared memory that count arrivals and the bytes of asynchronous copies.
 *
 * A phase can end when all arrivals have come and as many bytes are under way as they expect. It
 * does end at once if it has no bytes, else when threads wait for it and the block cannot go on
 * otherwise: copies land as late as a device may let them. The 8 bytes of the barrier hold a mark,
 * so that its use before the initialisation, and data written over it, are found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

enum { BYTES = 8, MAX_COUNT = (1 << 20) - 1 };

static uint64_t mark(const void *at) { return (uintptr_t)at * 0x9e3779b97f4a7c15 | 1; }

static void __attribute__((format(printf, 2, 3))) mistake(struct emu *e, const char *fmt, ...) {
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    block_report(e, EMU_MBARRIER, e->current, e->frame, "%s", text);
    block_stop(e);
}

static unsigned unit_of(const struct mbarrier *b) {
    return MAX_WARPGROUPS + (unsigned)(b - b->owner->mbarriers);
}

uint16_t mbarrier_as_writer(const struct mbarrier *b) {
    return (uint16_t)(BY_UNIT + b->owner->rank * N_UNITS + unit_of(b));
}

static struct mbarrier *find(struct block *owner, const void *at) {
    for (unsigned i = 0; i < owner->n_mbarriers; i++)
        if (owner->mbarriers[i].at == at) return &owner->mbarriers[i];
    return NULL;
}

struct mbarrier *mbarrier_at(struct emu *e, struct block *owner, const void *at) {
    uint64_t word = 0;
    memory_judge_of(e, owner, at, BYTES, EMU_ATOMIC);
    struct mbarrier *b = find(owner, at);
    memcpy(&word, cluster_bytes(e, owner, at), BYTES);
    if (!b) mistake(e, "k_mbar_init has made none here");
    if (word != mark(at)) mistake(e, "something has been written over it");
    return b;
}

/* ---- phases --------------------------------------------------------------------------------- */

static void end_phase(struct emu *e, struct mbarrier *b) {
    const struct block *owner = b->owner;
    WS_ASSERT(owner == e->b || !b->copies);
    copy_land_all(e, b);
    b->arrived[owner->rank * N_SEEN + MAX_THREADS + unit_of(b)] = ++e->now;
    sync_copy_row(e, owner, b->passed, b->arrived);
    b->pending = b->count;
    b->expected = b->flying = 0;
    b->phase++;
    b->waiting = 0;
    for (unsigned t = owner->first; t < owner->first + e->n_threads; t++)
        if (e->threads[t].state == AT_MBARRIER && e->threads[t].mbarrier == b) block_wake(e, t);
    e->report.barriers++;
}

void mbarrier_settle(struct emu *e, struct mbarrier *b) {
    if (b->pending) return;
    if (b->flying > b->expected)
        mistake(e, "%llu bytes are under way to a phase that expects %llu: k_mbar_arrive_expect_tx",
                (unsigned long long)b->flying, (unsigned long long)b->expected);
    if (!b->expected) end_phase(e, b);
}

bool mbarrier_land_one(struct emu *e, unsigned from) {
    unsigned n = e->b->n_mbarriers;
    for (unsigned i = 0; i < n; i++) {
        struct mbarrier *b = &e->b->mbarriers[(from + i) % n];
        if (b->pending || !b->waiting || b->flying != b->expected) continue;
        end_phase(e, b);
        return true;
    }
    return false;
}

void mbarrier_describe(const struct emu *e, const struct mbarrier *b, char *text, size_t size) {
    const char *name;
    ptrdiff_t offset = b->at - memory_shared_base(e, b->at, &name);
    snprintf(
        text, size,
        "waits for phase %u of the mbarrier at offset %td of %s: %u of %u arrivals and %lld of "
        "%llu bytes are missing",
        b->phase, offset, name, b->pending, b->count, (long long)(b->expected - b->flying),
        (unsigned long long)b->expected);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static struct mbarrier *add(struct emu *e, const void *at) {
    if (e->b->n_mbarriers == MAX_MBARRIERS) mistake(e, "more than %d in a block", MAX_MBARRIERS);
    struct mbarrier *b = &e->b->mbarriers[e->b->n_mbarriers++];
    size_t row = (size_t)e->row_blocks * N_SEEN;
    uint32_t *rows = b->arrived ? b->arrived : calloc(2 * row, sizeof *rows);
    WS_ASSERT(rows);
    /* Times that are left in there are before those of this cluster. */
    *b = (struct mbarrier){.at = at, .owner = e->b, .arrived = rows, .passed = rows + row};
    return b;
}

void mbarrier_init(struct emu *e, void *at, unsigned count) {
    e->frame = __builtin_frame_address(0);
    memory_judge_of(e, e->b, at, BYTES, EMU_WRITE);
    if (!memory_is_shared(e, at)) mistake(e, "it must be in shared memory");
    if (count == 0 || count > MAX_COUNT) mistake(e, "a phase of %u arrivals", count);
    struct mbarrier *b = find(e->b, at);
    if (b && (b->flying || b->waiting)) mistake(e, "k_mbar_init while it is in use");
    if (!b) b = add(e, at);
    b->count = b->pending = count;
    b->made = e->now;
    b->phase = 0;
    b->expected = 0;
    uint64_t word = mark(at);
    memcpy(at, &word, BYTES);
}

void mbarrier_arrive(struct emu *e, void *at, unsigned bytes) {
    e->frame = __builtin_frame_address(0);
    struct mbarrier *b = mbarrier_at(e, e->b, at);
    if (!b->pending)
        mistake(e, "more than %u arrivals in phase %u, which has not ended", b->count, b->phase);
    b->expected += bytes;
    if (b->expected > MAX_COUNT)
        mistake(e, "a phase of %llu bytes; %d are the limit", (unsigned long long)b->expected,
                MAX_COUNT);
    sync_give(e, e->current, b->arrived);
    b->pending--;
    mbarrier_settle(e, b);
}

void mbarrier_wait(struct emu *e, void *at, unsigned parity) {
    struct thread *t = &e->threads[e->current];
    t->frame = e->frame = __builtin_frame_address(0);
    struct mbarrier *b = mbarrier_at(e, e->b, at);
    if (parity > 1) mistake(e, "parity %u: it is 0 or 1", parity);
    if ((b->phase & 1) == parity) {
        t->state = AT_MBARRIER;
        t->mbarrier = b;
        b->waiting++;
        mbarrier_settle(e, b);
        if (t->state == AT_MBARRIER) block_suspend(e);
    }
    if (b->far_phase < b->phase) b->far = 0;
    sync_take(e, e->current, b->passed);
}

/* ---- from another block --------------------------------------------------------------------- */

const char *mbarrier_far_mistake(struct emu *e, const void *bar, unsigned rank,
                                 enum emu_kind *kind) {
    *kind = EMU_OUT_OF_BOUNDS;
    if (rank >= e->n_cluster) return "there is no block of that rank";
    if (!memory_is_shared(e, bar)) return "not to shared memory";
    *kind = EMU_RACE;
    if (cluster_block(e, rank)->n_done == e->n_threads) return "that block has ended";
    return NULL;
}

/* Its shadow may only tell of later atomics. */
bool mbarrier_is_known(const struct emu *e, const struct mbarrier *b) {
    return b->owner == e->b || b->made < e->cluster_sync;
}

void mbarrier_arrive_at(struct emu *e, void *mine, unsigned rank) {
    e->frame = __builtin_frame_address(0);
    enum emu_kind kind;
    const char *wrong = mbarrier_far_mistake(e, mine, rank, &kind);
    if (wrong)
        block_mistake(e, kind, "k_mbar_arrive_at rank %u in a cluster of %u blocks: %s", rank,
                      e->n_cluster, wrong);
    struct mbarrier *b = mbarrier_at(e, cluster_block(e, rank), mine);
    if (!mbarrier_is_known(e, b))
        block_mistake(e, EMU_RACE,
                      "k_mbar_arrive_at an mbarrier made since the last k_cluster_sync");
    if (!b->pending)
        mistake(e, "more than %u arrivals in phase %u, which has not ended", b->count, b->phase);
    if (b->owner != e->b) {
        e->far = true;
        b->far = ++e->now;
        b->far_phase = b->phase;
        b->far_thread = e->current;
        module_trail(e->module, e->frame, &b->far_trail);
    }
    sync_give(e, e->current, b->arrived);
    b->pending--;
    mbarrier_settle(e, b);
}

/* The block has ended: may somebody yet arrive at its mbarriers? */
void mbarrier_block_done(struct emu *e, struct block *owner) {
    for (unsigned i = 0; i < owner->n_mbarriers; i++) {
        const struct mbarrier *b = &owner->mbarriers[i];
        if (!b->far || b->far < e->cluster_sync) continue;
        block_report(e, EMU_RACE, b->far_thread, b->far_trail.frame,
                     "k_mbar_arrive_at block %u,%u,%u, which may have ended: it waits neither for "
                     "this phase nor at a k_cluster_sync that follows",
                     owner->at.x, owner->at.y, owner->at.z);
    }
}

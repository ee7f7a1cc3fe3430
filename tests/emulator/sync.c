/* sync.c: barriers, warp collectives, and who has seen what.
 *
 * Threads meet at __syncthreads (all of the block), at a named barrier (as many as it says) or at a
 * warp collective (the lanes of a mask); the last to come lets the others go on. The rules are the
 * strict ones of the programming guide: a thread that ends while others wait for it is a mistake,
 * though a device lets the others pass.
 *
 * Each meeting that orders memory (all but the collectives that only exchange values) ticks the
 * clock. What a thread has seen of the others is a row of times; those who meet leave with the
 * greatest of their rows. __syncthreads, which makes all rows the same, is one number: full_sync.
 * Between the blocks of a cluster only cluster.c's barrier orders anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

/* ---- who has seen what ---------------------------------------------------------------------- */

static uint32_t *known_row(struct block *b, unsigned local) {
    if (!b->known) b->known = calloc((size_t)MAX_THREADS * N_SEEN, sizeof *b->known);
    WS_ASSERT(b->known);
    return b->known + (size_t)local * N_SEEN;
}

/* What landed at an mbarrier has been seen by those who waited there, or met one who had. */
static bool has_seen_mbarrier(const struct emu *e, unsigned t, unsigned other, uint32_t when) {
    unsigned rank = (other - BY_MBARRIER) / MAX_MBARRIERS,
             i = (other - BY_MBARRIER) % MAX_MBARRIERS;
    const struct block *b = &e->blocks[rank];
    if (b != e->b && when >= e->cluster_sync) return false;
    size_t row = b == e->b ? t - b->first : 0;
    return b->known && when < b->known[row * N_SEEN + MAX_THREADS + i];
}

/* For times since the cluster began; t is a thread of the block that runs. */
bool sync_has_seen(const struct emu *e, unsigned t, unsigned other, uint32_t when) {
    const struct block *b = e->b;
    if (other == t) return true;
    if (other >= BY_MBARRIER) return has_seen_mbarrier(e, t, other, when);
    if (other - b->first >= e->n_threads) return when < e->cluster_sync;
    if (when < b->full_sync) return true;
    return b->known && when < b->known[(t - b->first) * N_SEEN + other - b->first];
}

static void raise_row(const struct emu *e, uint32_t *row, const uint32_t *by) {
    for (unsigned i = 0; i < e->n_threads; i++) row[i] = row[i] > by[i] ? row[i] : by[i];
    for (unsigned i = MAX_THREADS; i < MAX_THREADS + e->b->n_mbarriers; i++)
        row[i] = row[i] > by[i] ? row[i] : by[i];
}

/* ... and that it has done everything up to now. */
void sync_give(struct emu *e, unsigned t, uint32_t *to) {
    raise_row(e, to, known_row(e->b, t - e->b->first));
    to[t - e->b->first] = ++e->now;
}

void sync_take(struct emu *e, unsigned t, const uint32_t *from) {
    raise_row(e, known_row(e->b, t - e->b->first), from);
}

void sync_full(struct emu *e, struct block *b) {
    b->full_sync = ++e->now;
    for (unsigned i = MAX_THREADS; b->known && i < MAX_THREADS + b->n_mbarriers; i++) {
        uint32_t latest = 0;
        for (unsigned t = 0; t < e->n_threads; t++) {
            uint32_t when = b->known[t * N_SEEN + i];
            latest = latest > when ? latest : when;
        }
        for (unsigned t = 0; t < e->n_threads; t++) b->known[t * N_SEEN + i] = latest;
    }
}

void sync_begin_block(struct emu *e, struct block *b) {
    b->full_sync = ++e->now;
    b->n_waiting = b->votes = b->last_votes = b->n_mbarriers = 0;
    for (int i = 0; i < NAMED_BARRIERS; i++) b->named[i].count = b->named[i].arrived = 0;
}

void sync_free(struct emu *e) {
    for (int r = 0; r < MAX_CLUSTER; r++) {
        struct block *b = &e->blocks[r];
        for (int i = 0; i < NAMED_BARRIERS; i++) {
            free(b->named[i].known);
            b->named[i].known = NULL;
        }
        for (int i = 0; i < MAX_MBARRIERS; i++) {
            free(b->mbarriers[i].arrived);
            b->mbarriers[i].arrived = NULL;
        }
        free(b->known);
        b->known = NULL;
    }
}

const char *sync_thread_name(const struct emu *e, unsigned t, char *text) {
    const struct emu_index at = e->blocks[t / e->n_threads].at;
    if (e->n_blocks == 1)
        snprintf(text, THREAD_NAME, "thread %u", t);
    else
        snprintf(text, THREAD_NAME, "thread %u of block %u,%u,%u", t % e->n_threads, at.x, at.y,
                 at.z);
    return text;
}

/* ---- __syncthreads -------------------------------------------------------------------------- */

unsigned sync_block(struct emu *e, int line, int predicate) {
    struct thread *t = &e->threads[e->current];
    struct block *b = e->b;
    t->frame = __builtin_frame_address(0);
    t->line = line;
    if (b->n_waiting == 0) b->first_waiting = e->current;
    const struct thread *first = &e->threads[b->first_waiting];
    if (first->line != line) {
        block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame,
                     "thread %u waits at another __syncthreads (line %d of the text, not %d)",
                     b->first_waiting - b->first, first->line, line);
        block_stop(e);
    }
    if (b->n_done) {
        block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame,
                     "%u threads have ended and miss this __syncthreads", b->n_done);
        block_stop(e);
    }
    b->votes += predicate != 0;
    t->state = AT_BARRIER;
    if (++b->n_waiting < e->n_threads) {
        block_suspend(e);
        return b->last_votes;
    }
    for (unsigned i = 0; i < e->n_threads; i++) block_wake(e, b->first + i);
    sync_full(e, b);
    b->last_votes = b->votes;
    b->n_waiting = b->votes = 0;
    e->report.barriers++;
    return b->last_votes;
}

/* ---- named barriers ------------------------------------------------------------------------- */

static const char *named_mistake(const struct named_barrier *b, unsigned id, unsigned threads,
                                 unsigned n_threads) {
    if (id >= NAMED_BARRIERS) return "there are 16 barriers";
    if (threads == 0 || threads % WARP != 0)
        return "the number of threads must be a multiple of 32";
    if (threads > n_threads) return "the block has fewer threads";
    if (b[id].arrived && b[id].count != threads)
        return "others came with another number of threads";
    return NULL;
}

void sync_named(struct emu *e, unsigned id, unsigned threads, int wait) {
    struct thread *t = &e->threads[e->current];
    t->frame = __builtin_frame_address(0);
    const char *wrong = named_mistake(e->b->named, id, threads, e->n_threads);
    if (wrong) {
        block_report(e, EMU_DIVERGENT_BARRIER, e->current, t->frame, "barrier %u of %u threads: %s",
                     id, threads, wrong);
        block_stop(e);
        return;
    }
    struct named_barrier *b = &e->b->named[id];
    if (!b->known) b->known = calloc(N_SEEN, sizeof *b->known);
    WS_ASSERT(b->known);
    if (!b->arrived) memset(b->known, 0, N_SEEN * sizeof *b->known);
    b->count = threads;
    sync_give(e, e->current, b->known);
    t->id = id;
    t->count = threads;
    if (wait) t->state = AT_NAMED;
    if (++b->arrived < b->count) {
        if (wait) block_suspend(e);
        return;
    }
    for (unsigned i = e->b->first; i < e->b->first + e->n_threads; i++) {
        if (e->threads[i].state != AT_NAMED || e->threads[i].id != id) continue;
        sync_take(e, i, b->known);
        block_wake(e, i);
    }
    e->now++;
    b->arrived = 0;
    e->report.barriers++;
}

/* ---- warp collectives ----------------------------------------------------------------------- */

static const char *const COLLECTIVES[] = {
    [EMU_SYNCWARP] = "__syncwarp",
    [EMU_SHUFFLE] = "shuffle",
    [EMU_BALLOT] = "vote",
    [EMU_MATCH] = "match",
    [EMU_ADD] = "reduce add",
    [EMU_AND] = "reduce and",
    [EMU_OR] = "reduce or",
    [EMU_XOR] = "reduce xor",
    [EMU_MIN_SIGNED] = "reduce min",
    [EMU_MAX_SIGNED] = "reduce max",
    [EMU_MIN_UNSIGNED] = "reduce min",
    [EMU_MAX_UNSIGNED] = "reduce max",
};

static void warp_mistake(struct emu *e, unsigned t, const char *what, unsigned lane) {
    const struct thread *self = &e->threads[t];
    block_report(e, EMU_WARP, t, self->frame, "%s with mask 0x%08x: %s %u", COLLECTIVES[self->op],
                 self->mask, what, lane);
    block_stop(e);
}

static uint64_t combine(int op, uint64_t a, uint64_t b) {
    switch (op) {
    case EMU_ADD: return a + b;
    case EMU_AND: return a & b;
    case EMU_OR: return a | b;
    case EMU_XOR: return a ^ b;
    case EMU_MIN_SIGNED: return (int64_t)a < (int64_t)b ? a : b;
    case EMU_MAX_SIGNED: return (int64_t)a > (int64_t)b ? a : b;
    case EMU_MIN_UNSIGNED: return a < b ? a : b;
    case EMU_MAX_UNSIGNED: return a > b ? a : b;
    default: WS_BUG("no reduction: %d", op);
    }
}

static uint64_t ballot(const struct thread *warp, unsigned mask, uint64_t value) {
    uint64_t lanes = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (mask >> i & 1 && warp[i].value == value) lanes |= 1u << i;
    return lanes;
}

static uint64_t result(const struct thread *warp, unsigned lane, unsigned mask) {
    const struct thread *t = &warp[lane];
    switch ((enum emu_collective)t->op) {
    case EMU_SYNCWARP: return 0;
    case EMU_SHUFFLE: return warp[t->source].value;
    case EMU_BALLOT: return ballot(warp, mask, 1);
    case EMU_MATCH: return ballot(warp, mask, t->value);
    case EMU_ADD:
    case EMU_AND:
    case EMU_OR:
    case EMU_XOR:
    case EMU_MIN_SIGNED:
    case EMU_MAX_SIGNED:
    case EMU_MIN_UNSIGNED:
    case EMU_MAX_UNSIGNED: break;
    }
    uint64_t sum = t->value;
    for (unsigned i = 0; i < WARP; i++)
        if (mask >> i & 1 && i != lane) sum = combine(t->op, sum, warp[i].value);
    return sum;
}

/* Can the current thread join those of its mask? Says how many still miss, or reports. */
static unsigned missing_lanes(struct emu *e, unsigned first, unsigned mask) {
    const struct thread *warp = &e->threads[first], *self = &e->threads[e->current];
    unsigned missing = 0, lane = e->current - first;
    for (unsigned i = 0; i < WARP; i++) {
        if (!(mask >> i & 1)) continue;
        if (warp[i].state == DONE) {
            warp_mistake(e, e->current, "it names a lane that has ended:", i);
            return WARP;
        }
        bool here = warp[i].state == AT_WARP;
        bool same = here && warp[i].op == self->op && warp[i].mask == self->mask;
        missing += !same;
        /* Each waits for the other; a lane that does not wait for this one may still come. */
        if (here && !same && warp[i].mask >> lane & 1) {
            warp_mistake(e, e->current, "another collective or mask in lane", i);
            return WARP;
        }
    }
    return missing;
}

static void meet(struct emu *e, unsigned first, unsigned mask, int op) {
    struct thread *warp = &e->threads[first];
    uint32_t row[N_SEEN];
    if (op == EMU_SYNCWARP) memset(row, 0, sizeof row);
    for (unsigned i = 0; i < WARP; i++) {
        if (!(mask >> i & 1)) continue;
        warp[i].result = result(warp, i, mask);
        if (op == EMU_SYNCWARP) sync_give(e, first + i, row);
    }
    for (unsigned i = 0; i < WARP; i++) {
        if (!(mask >> i & 1)) continue;
        if (op == EMU_SYNCWARP) sync_take(e, first + i, row);
        block_wake(e, first + i);
    }
    if (op == EMU_SYNCWARP) e->now++;
}

unsigned long long sync_warp(struct emu *e, int op, unsigned mask, unsigned long long value,
                             unsigned source) {
    struct thread *t = &e->threads[e->current];
    unsigned lane = (e->current - e->b->first) % WARP, first = e->current - lane;
    unsigned present = e->b->first + e->n_threads - first;
    t->frame = __builtin_frame_address(0);
    t->op = op;
    t->mask = mask;
    t->source = source;
    t->value = value;
    t->state = AT_WARP;
    /* Lanes beyond the block's end may be named, but have no value. */
    unsigned named = present >= WARP ? mask : mask & ((1u << present) - 1);
    if (!(mask >> lane & 1)) warp_mistake(e, e->current, "it does not name its own lane", lane);
    if (op == EMU_SHUFFLE && !(named >> source & 1))
        warp_mistake(e, e->current, "it wants the value of a lane that is not there:", source);
    if (missing_lanes(e, first, named) == 0)
        meet(e, first, named, op);
    else
        block_suspend(e);
    return t->result;
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Thread t ends: nobody may wait for it. */
void sync_thread_done(struct emu *e, unsigned t) {
    const struct block *b = e->b;
    unsigned lane = (t - b->first) % WARP, first = t - lane, end = b->first + e->n_threads;
    for (unsigned i = first; i < first + WARP && i < end; i++)
        if (e->threads[i].state == AT_WARP && e->threads[i].mask >> lane & 1) {
            const struct thread *other = &e->threads[i];
            block_report(e, EMU_WARP, i, other->frame,
                         "%s with mask 0x%08x: it names a lane that has ended: %u",
                         COLLECTIVES[other->op], other->mask, lane);
            return;
        }
    char name[THREAD_NAME];
    if (b->n_waiting)
        block_report(e, EMU_DIVERGENT_BARRIER, b->first_waiting, e->threads[b->first_waiting].frame,
                     "it waits at __syncthreads, which thread %u has missed: it has ended",
                     t - b->first);
    if (e->n_waiting)
        block_report(e, EMU_DIVERGENT_BARRIER, e->first_waiting, e->threads[e->first_waiting].frame,
                     "it waits at k_cluster_sync, which %s has missed: it has ended",
                     sync_thread_name(e, t, name));
}

static void describe(const struct emu *e, const struct thread *t, char *text, size_t size) {
    switch (t->state) {
    case READY: snprintf(text, size, "loops, waiting for something that does not happen"); break;
    case AT_BARRIER: snprintf(text, size, "waits at __syncthreads"); break;
    case AT_NAMED:
        snprintf(text, size, "waits at barrier %u for %u threads", t->id, t->count);
        break;
    case AT_WARP:
        snprintf(text, size, "waits in %s with mask 0x%08x", COLLECTIVES[t->op], t->mask);
        break;
    case AT_CLUSTER: snprintf(text, size, "waits at k_cluster_sync"); break;
    case AT_MBARRIER: mbarrier_describe(e, t->mbarrier, text, size); break;
    case DONE: snprintf(text, size, "has ended"); break;
    }
}

/* Nobody can go on: name the first that waits and one that waits for something else, or has ended.
 */
void sync_deadlock(struct emu *e) {
    const struct thread *a = NULL, *b = NULL;
    unsigned n = e->n_threads * e->n_blocks;
    for (unsigned i = 0; i < n; i++) {
        const struct thread *t = &e->threads[i];
        if (!a && t->state != DONE) a = t;
        if (a && t->state != a->state && (!b || b->state == DONE)) b = t;
    }
    for (unsigned i = 0; a && !b && i < n; i++)
        if (e->threads[i].state != a->state || e->threads[i].id != a->id) b = &e->threads[i];
    WS_ASSERT(a);
    char first[160], second[160], name[THREAD_NAME];
    describe(e, a, first, sizeof first);
    if (b) describe(e, b, second, sizeof second);
    unsigned t = (unsigned)(a - e->threads);
    if (!b)
        block_report(e, EMU_DEADLOCK, t, a->frame, "it %s, like all others", first);
    else
        block_report(e, EMU_DEADLOCK, t, a->frame, "it %s; %s %s", first,
                     sync_thread_name(e, (unsigned)(b - e->threads), name), second);
}

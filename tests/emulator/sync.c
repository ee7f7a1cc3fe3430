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

/* Times that an earlier cluster left in a row, or that stand elsewhere in one of another width, are
 * before all that this one asks for. */
static size_t row_size(const struct emu *e) { return (size_t)e->n_blocks * N_SEEN; }

/* The place of a block's threads in a row, and of its units. */
static unsigned threads_at(const struct block *b) { return b->rank * N_SEEN; }
static unsigned units_at(const struct block *b) { return b->rank * N_SEEN + MAX_THREADS; }

void sync_prepare(struct emu *e) {
    if (e->n_blocks <= e->row_blocks) return;
    sync_free(e);
    e->row_blocks = e->n_blocks;
    e->row = calloc(row_size(e), sizeof *e->row);
    WS_ASSERT(e->row);
}

static uint32_t *new_row(const struct emu *e) {
    uint32_t *row = calloc((size_t)e->row_blocks * N_SEEN, sizeof *row);
    WS_ASSERT(row);
    return row;
}

static uint32_t *known_row(const struct emu *e, struct block *b, unsigned local) {
    if (!b->known)
        b->known = calloc((size_t)MAX_THREADS * e->row_blocks * N_SEEN, sizeof *b->known);
    WS_ASSERT(b->known);
    return b->known + local * row_size(e);
}

/* For times since the cluster began; t is a thread of the block that runs. What a unit has done has
 * been seen by those who waited for it, or met one who had. */
bool sync_has_seen(const struct emu *e, unsigned t, unsigned other, uint32_t when) {
    const struct block *b = e->b;
    if (other == t) return true;
    bool unit = other >= BY_UNIT;
    unsigned i = unit ? (other - BY_UNIT) % N_UNITS : other % e->n_threads;
    const struct block *of = &e->blocks[unit ? (other - BY_UNIT) / N_UNITS : other / e->n_threads];
    unsigned at = (unit ? units_at(of) : threads_at(of)) + i;
    if (of == b && !unit && when < b->full_sync) return true;
    if (of != b && when < e->cluster_sync && (!unit || (of->known && when < of->known[at])))
        return true;
    return b->known && when < b->known[(t - b->first) * row_size(e) + at];
}

static void raise_part(uint32_t *row, const uint32_t *by, unsigned from, unsigned n) {
    for (unsigned i = from; i < from + n; i++) row[i] = row[i] > by[i] ? row[i] : by[i];
}

static unsigned units(const struct block *b) { return MAX_WARPGROUPS + b->n_mbarriers; }

static void raise_row(const struct emu *e, uint32_t *row, const uint32_t *by) {
    for (unsigned r = 0; r < e->n_blocks; r++) {
        const struct block *b = &e->blocks[r];
        if (b != e->b && !e->far) continue;
        raise_part(row, by, threads_at(b), e->n_threads);
        raise_part(row, by, units_at(b), units(b));
    }
}

static void clear_row(const struct emu *e, uint32_t *row) {
    if (e->far)
        memset(row, 0, row_size(e) * sizeof *row);
    else
        memset(row + threads_at(e->b), 0, N_SEEN * sizeof *row);
}

void sync_copy_row(const struct emu *e, const struct block *owner, uint32_t *to,
                   const uint32_t *from) {
    if (e->far)
        memcpy(to, from, row_size(e) * sizeof *to);
    else
        memcpy(to + threads_at(owner), from + threads_at(owner), N_SEEN * sizeof *to);
}

/* ... and that it has done everything up to now. Other blocks know of no __syncthreads here. */
void sync_give(struct emu *e, unsigned t, uint32_t *to) {
    struct block *b = e->b;
    uint32_t *own = to + threads_at(b);
    raise_row(e, to, known_row(e, b, t - b->first));
    own[t - b->first] = ++e->now;
    for (unsigned i = 0; e->far && i < e->n_threads; i++)
        own[i] = own[i] > b->full_sync ? own[i] : b->full_sync;
}

void sync_take(struct emu *e, unsigned t, const uint32_t *from) {
    e->threads[t].learned = e->now;
    raise_row(e, known_row(e, e->b, t - e->b->first), from);
}

void sync_learn_unit(struct emu *e, unsigned t, unsigned unit) {
    known_row(e, e->b, t - e->b->first)[units_at(e->b) + unit] = e->now;
}

/* All threads of the block know what one of them does. */
static void share(const struct emu *e, struct block *b, unsigned from, unsigned n) {
    for (unsigned i = from; i < from + n; i++) {
        uint32_t latest = 0;
        for (unsigned t = 0; t < e->n_threads; t++) {
            uint32_t when = known_row(e, b, t)[i];
            latest = latest > when ? latest : when;
        }
        for (unsigned t = 0; t < e->n_threads; t++) known_row(e, b, t)[i] = latest;
    }
}

void sync_full(struct emu *e, struct block *b) {
    b->full_sync = ++e->now;
    if (!b->known) return;
    for (unsigned r = 0; r < e->n_blocks; r++) {
        const struct block *of = &e->blocks[r];
        if (of != b && !e->far) continue;
        if (of != b) share(e, b, threads_at(of), e->n_threads);
        share(e, b, units_at(of), units(of));
    }
}

void sync_begin_block(struct emu *e, struct block *b) {
    b->full_sync = ++e->now;
    b->n_waiting = b->votes = b->last_votes = b->n_mbarriers = 0;
    for (int i = 0; i < MAX_WARPGROUPS; i++) b->warpgroups[i] = (struct warpgroup){0};
    for (int i = 0; i < NAMED_BARRIERS; i++) b->named[i].count = b->named[i].arrived = 0;
}

void sync_free(struct emu *e) {
    for (int r = 0; r < MAX_BLOCKS; r++) {
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
    free(e->row);
    e->row = NULL;
    e->row_blocks = 0;
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
    if (!b->known) b->known = new_row(e);
    if (!b->arrived) clear_row(e, b->known);
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
    [EMU_LDMATRIX] = "k_ldmatrix4",
    [EMU_LDMATRIX_TRANSPOSED] = "k_ldmatrix4 transposed",
    [EMU_MMA_BF16] = "k_mma of bf16",
    [EMU_MMA_F16] = "k_mma of f16",
    [EMU_MMA_TF32] = "k_mma_tf32",
    [EMU_MMA_BYTES] = "k_mma of bytes",
};

static const char *collective_name(int op) {
    return COLLECTIVES[op < EMU_MMA_BYTES ? op : EMU_MMA_BYTES];
}

static void warp_mistake(struct emu *e, unsigned t, const char *what, unsigned lane) {
    const struct thread *self = &e->threads[t];
    block_report(e, EMU_WARP, t, self->frame, "%s with mask 0x%08x: %s %u",
                 collective_name(self->op), self->mask, what, lane);
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
    if (t->op > EMU_MMA_BYTES) return 0;
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
    case EMU_LDMATRIX:
    case EMU_LDMATRIX_TRANSPOSED:
    case EMU_MMA_BF16:
    case EMU_MMA_F16:
    case EMU_MMA_TF32:
    case EMU_MMA_BYTES: return 0;
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
    uint32_t *row = e->row;
    if (op == EMU_SYNCWARP) clear_row(e, row);
    if (op >= EMU_LDMATRIX) mma_meet(e, warp, op);
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

uint64_t sync_warp_in(struct emu *e, const void *frame, int op, unsigned mask, uint64_t value,
                      unsigned source) {
    struct thread *t = &e->threads[e->current];
    unsigned lane = (e->current - e->b->first) % WARP, first = e->current - lane;
    unsigned present = e->b->first + e->n_threads - first;
    t->frame = frame;
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

unsigned long long sync_warp(struct emu *e, int op, unsigned mask, unsigned long long value,
                             unsigned source) {
    return sync_warp_in(e, __builtin_frame_address(0), op, mask, value, source);
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
    case AT_WARPGROUP: snprintf(text, size, "waits at k_wgmma_wait"); break;
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

/* memory.c: judge every access of a kernel before it happens.
 *
 * An address is on the thread's own stack, in the module's image (constants, threadIdx), in shared
 * memory, in a buffer, or a mistake. Shared memory and the buffers that a launch may write have a
 * shadow (internal.h) per byte: it tells a read of what nobody wrote, and two threads that use a
 * byte with no barrier between, whichever order they ran in. Clusters never synchronise, so between
 * them every such pair is a race unless the launch says that they communicate. While a copy is
 * under way, nobody may touch what it writes, nor write what it reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

/* NaN in every floating type at every even offset, and a huge index. */
void memory_poison(void *at, size_t bytes) {
    unsigned char *p = at;
    for (size_t i = 0; i < bytes; i++) p[i] = i & 1 ? 0x7f : 0xff;
}

/* ---- buffers -------------------------------------------------------------------------------- */

void *emu_alloc(struct emu *e, const char *name, size_t bytes) {
    size_t body = (bytes + 255) & ~(size_t)255;
    unsigned char *all = aligned_alloc(256, body + 2 * RED_ZONE);
    struct buffer *b = calloc(1, sizeof *b);
    WS_ASSERT(all && b);
    memory_poison(all, body + 2 * RED_ZONE);
    *b = (struct buffer){.next = e->buffers, .name = name, .at = all + RED_ZONE, .bytes = bytes};
    e->buffers = b;
    return b->at;
}

void emu_release(struct emu *e, void *at) {
    struct buffer **link = &e->buffers;
    while (*link && (*link)->at != at) link = &(*link)->next;
    struct buffer *b = *link;
    if (!b) return;
    *link = b->next;
    memset(e->hits, 0, sizeof e->hits);
    free(b->at - RED_ZONE);
    free(b->shadow);
    free(b);
}

/* The buffer around an address; its end counts, since an empty slice may lie there. */
struct buffer *memory_buffer(struct emu *e, const void *at) {
    const unsigned char *p = at;
    struct buffer **hit = e->hits + (uintptr_t)p / RED_ZONE % BUFFER_HITS;
    if (*hit && p >= (*hit)->at && p < (*hit)->at + (*hit)->bytes) return *hit;
    for (struct buffer *b = e->buffers; b; b = b->next)
        if (p >= b->at && p <= b->at + b->bytes) return *hit = b;
    return NULL;
}

bool memory_is_shared(const struct emu *e, const void *at) {
    const unsigned char *p = at;
    return p >= e->module->shared && p < e->module->shared + e->module->shared_bytes;
}

/* Static shared memory lies around the dynamic one. */
const unsigned char *memory_shared_base(const struct emu *e, const void *at, const char **name) {
    const struct emu_module *m = e->module;
    const unsigned char *p = at, *end = m->dynamic + EMU_SHARED_MAX + EMU_SHARED_RED_ZONE;
    bool dynamic = p >= m->dynamic && p < end;
    *name = dynamic ? "shared memory" : "static shared memory";
    return dynamic ? m->dynamic : p < m->dynamic ? m->shared : end;
}

struct shadow *memory_shadow(struct emu *e, struct block *owner, const void *at) {
    const unsigned char *p = at;
    if (memory_is_shared(e, p)) return owner->shadow + (p - e->module->shared);
    const struct buffer *b = memory_buffer(e, p);
    return b && b->role != EMU_IN ? b->shadow + (p - b->at) : NULL;
}

bool memory_unwritten(const struct emu *e, const struct buffer *b, size_t *offset) {
    for (size_t i = 0; i < b->bytes; i++)
        if (!b->shadow || b->shadow[i].written < e->run_start) {
            *offset = i;
            return true;
        }
    return false;
}

/* ---- one access ----------------------------------------------------------------------------- */

struct access {
    struct block *owner; /* of the shared memory, if it is that */
    const unsigned char *at;
    unsigned bytes;
    int how;
    const unsigned char *data; /* what a store will write, if known */
    const unsigned char *base; /* of the memory it falls into, */
    const char *where;         /* its name, */
    struct shadow *shadow;     /* its shadow, */
    uint32_t floor;            /* the time before which nothing counts, */
    uint16_t reader;           /* who reads */
    bool starts_unwritten, blocks_communicate;
};

static const char *const VERBS[] = {"read", "write", "atomic operation", "look"};

static void mistake(struct emu *e, enum emu_kind kind, const struct access *a, const char *what) {
    block_report(e, kind, e->current, e->frame, "%s of %u bytes at offset %td of %s%s",
                 VERBS[a->how], a->bytes, a->at - a->base, a->where, what);
    block_stop(e);
}

static void race(struct emu *e, const struct access *a, unsigned i, unsigned other, uint32_t when,
                 const char *did) {
    struct access byte = *a;
    char what[160], name[THREAD_NAME];
    byte.at += i;
    byte.bytes -= i;
    if (when < e->cluster_start)
        snprintf(what, sizeof what, ", which another block has %s", did);
    else if (other >= BY_UNIT)
        snprintf(what, sizeof what, ", which %s has %s; this thread has not waited for it",
                 (other - BY_UNIT) % N_UNITS < MAX_WARPGROUPS ? "a wgmma" : "an asynchronous copy",
                 did);
    else
        snprintf(what, sizeof what, ", which %s has %s since the last %s",
                 sync_thread_name(e, other, name), did,
                 other - e->b->first < e->n_threads ? "barrier" : "k_cluster_sync");
    mistake(e, EMU_RACE, &byte, what);
}

/* Did `other` use the byte so that the current thread cannot know? */
static bool unseen(const struct emu *e, const struct access *a, unsigned other, uint32_t when) {
    if (when < a->floor) return false;
    if (when < e->cluster_start) return !a->blocks_communicate;
    if (other == e->current) return false;
    bool in_block = other - e->b->first < e->n_threads;
    if (in_block && when < e->b->full_sync) return false; /* the most frequent case */
    if (sync_has_seen(e, e->current, other, when)) return false;
    return in_block || other >= BY_UNIT || !a->blocks_communicate;
}

void memory_note_read(const struct emu *e, struct shadow *s, uint16_t reader) {
    if (s->reader[0] != reader) {
        s->reader[1] = s->reader[0];
        s->read[1] = s->read[0];
        s->reader[0] = reader;
    }
    s->read[0] = e->now;
}

static void check_read(struct emu *e, const struct access *a, unsigned i, struct shadow *s) {
    if (s->written < a->floor) {
        if (a->starts_unwritten) mistake(e, EMU_UNWRITTEN_READ, a, ", which nobody wrote");
    } else if (unseen(e, a, s->writer, s->written)) {
        race(e, a, i, s->writer, s->written, "written");
    }
    memory_note_read(e, s, a->reader);
}

static void check_write(struct emu *e, const struct access *a, unsigned i, struct shadow *s) {
    bool same = a->data && a->data[i] == a->at[i]; /* everyone may write the same */
    if (!same && unseen(e, a, s->writer, s->written))
        race(e, a, i, s->writer, s->written, "written");
    for (int k = 0; k < 2; k++)
        if (unseen(e, a, s->reader[k], s->read[k])) race(e, a, i, s->reader[k], s->read[k], "read");
    s->writer = (uint16_t)e->current;
    s->written = e->now;
    s->atomic = false;
}

static void check_look(struct emu *e, const struct access *a, unsigned i, const struct shadow *s) {
    if (s->written < a->floor && a->starts_unwritten)
        mistake(e, EMU_UNWRITTEN_READ, a, ", which nobody wrote");
    if (s->written >= a->floor && !s->atomic && unseen(e, a, s->writer, s->written))
        race(e, a, i, s->writer, s->written, "written");
}

/* Atomics do not race with each other. */
static void check_atomic(struct emu *e, const struct access *a, unsigned i, struct shadow *s) {
    if (s->written < a->floor && a->starts_unwritten)
        mistake(e, EMU_UNWRITTEN_READ, a, ", which nobody wrote");
    if (!s->atomic && unseen(e, a, s->writer, s->written))
        race(e, a, i, s->writer, s->written, "written");
    for (int k = 0; k < 2; k++)
        if (unseen(e, a, s->reader[k], s->read[k])) race(e, a, i, s->reader[k], s->read[k], "read");
    /* A plain write of this thread's that no barrier has told the others of counts on. */
    if (!s->atomic && s->writer == e->current && s->written >= e->b->full_sync) return;
    s->writer = (uint16_t)e->current;
    s->written = e->now;
    s->atomic = true;
}

static void check_copies(struct emu *e, const struct access *a, unsigned i,
                         const struct shadow *s) {
    struct access byte = *a;
    byte.at += i;
    byte.bytes -= i;
    if (s->copy_writes)
        mistake(e, EMU_RACE, &byte, ", which an asynchronous copy under way writes");
    if (s->copies_read && a->how != EMU_READ)
        mistake(e, EMU_RACE, &byte, ", which an asynchronous copy or wgmma under way reads");
}

static void check_byte(struct emu *e, const struct access *a, unsigned i, struct shadow *s) {
    if (s->copy_writes || s->copies_read) check_copies(e, a, i, s);
    if (a->how == EMU_READ)
        check_read(e, a, i, s);
    else if (a->how == EMU_WRITE)
        check_write(e, a, i, s);
    else if (a->how == EMU_LOOK)
        check_look(e, a, i, s);
    else
        check_atomic(e, a, i, s);
}

/* Bytes that were used by the same threads at the same times as the first are judged as it was,
 * unless it was only let through because the write changes nothing. */
static void check_shadow(struct emu *e, const struct access *a) {
    struct shadow *s = a->shadow + (a->at - a->base), before = *s;
    bool each = a->how == EMU_WRITE && a->data && a->data[0] == a->at[0];
    for (unsigned i = 0; i < a->bytes; i++)
        if (i && !each && memcmp(s + i, &before, sizeof before) == 0)
            s[i] = s[0];
        else
            check_byte(e, a, i, s + i);
}

static void check_shared(struct emu *e, struct access *a) {
    const struct emu_module *m = e->module;
    a->base = memory_shared_base(e, a->at, &a->where);
    a->shadow = a->owner->shadow + (a->base - m->shared);
    a->floor = e->cluster_start;
    a->starts_unwritten = true;
    if (a->base == m->dynamic && a->at + a->bytes > m->dynamic + e->launch->shared) {
        char what[64];
        snprintf(what, sizeof what, ", which has %zu bytes", e->launch->shared);
        mistake(e, EMU_OUT_OF_BOUNDS, a, what);
    }
    check_shadow(e, a);
}

static void check_buffer(struct emu *e, struct access *a, struct buffer *b) {
    char what[64];
    a->base = b->at;
    a->where = b->name;
    if (a->at + a->bytes > b->at + b->bytes) {
        snprintf(what, sizeof what, ", which has %zu bytes", b->bytes);
        mistake(e, EMU_OUT_OF_BOUNDS, a, what);
    }
    if (b->role == EMU_VALUE) mistake(e, EMU_OUT_OF_BOUNDS, a, ", which is no argument");
    if (b->role == EMU_IN) {
        if (a->how != EMU_READ && a->how != EMU_LOOK)
            mistake(e, EMU_READ_ONLY, a, ", which is const");
        return;
    }
    a->shadow = b->shadow;
    a->floor = e->run_start;
    a->starts_unwritten = b->role != EMU_INOUT;
    a->blocks_communicate = e->launch->blocks_communicate;
    check_shadow(e, a);
}

/* In nothing: say what is near. */
static void lost(struct emu *e, struct access *a) {
    for (const struct buffer *b = e->buffers; b; b = b->next) {
        char what[64];
        a->base = b->at;
        a->where = b->name;
        snprintf(what, sizeof what, ", which has %zu bytes", b->bytes);
        if (a->at >= b->at - RED_ZONE && a->at < b->at + b->bytes + RED_ZONE)
            mistake(e, EMU_OUT_OF_BOUNDS, a, what);
    }
    block_report(e, EMU_OUT_OF_BOUNDS, e->current, e->frame, "%s of %u bytes in no buffer",
                 VERBS[a->how], a->bytes);
    block_stop(e);
}

static bool on_a_stack(const struct emu *e, const unsigned char *p, bool *own) {
    if (p < e->stacks || p >= e->stacks + (size_t)MAX_ALL * STACK) return false;
    *own = (size_t)(p - e->stacks) / STACK == e->current;
    return true;
}

static void check_by(struct emu *e, struct access *a, bool aligned, unsigned reader) {
    const struct emu_module *m = e->module;
    bool own = true;
    a->reader = (uint16_t)reader;
    if (on_a_stack(e, a->at, &own)) {
        if (own) return;
        block_report(e, EMU_OUT_OF_BOUNDS, e->current, e->frame,
                     "%s of %u bytes in another thread's local memory", VERBS[a->how], a->bytes);
        block_stop(e);
    }
    if (a->at >= m->image && a->at < m->image_end) return;
    e->report.accesses++;
    bool shared = memory_is_shared(e, a->at);
    struct buffer *b = shared ? NULL : memory_buffer(e, a->at);
    if (!shared && !b) lost(e, a);
    unsigned width = a->bytes > 16 ? 16 : a->bytes;
    if (aligned && (uintptr_t)a->at % width != 0) {
        char what[64];
        snprintf(what, sizeof what, ", which needs an alignment of %u", width);
        a->where = shared ? NULL : b->name;
        a->base = shared ? memory_shared_base(e, a->at, &a->where) : b->at;
        mistake(e, EMU_MISALIGNED, a, what);
    }
    if (shared)
        check_shared(e, a);
    else
        check_buffer(e, a, b);
}

static void check(struct emu *e, struct access *a, bool aligned) {
    check_by(e, a, aligned, e->current);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

/* Most accesses of a kernel that is compiled without optimisation are to its thread's own stack. */
void memory_access(struct emu *e, const void *at, unsigned bytes, int how, int aligned) {
    if (((uintptr_t)at - (uintptr_t)e->stacks) / STACK == e->current) return;
    e->frame = __builtin_frame_address(0);
    check(e, &(struct access){.owner = e->b, .at = at, .bytes = bytes, .how = how}, aligned);
}

void memory_judge_of(struct emu *e, struct block *owner, const void *at, unsigned bytes, int how) {
    check(e, &(struct access){.owner = owner, .at = at, .bytes = bytes, .how = how}, true);
}

void memory_judge(struct emu *e, const void *at, unsigned bytes, int how) {
    check(e, &(struct access){.owner = e->b, .at = at, .bytes = bytes, .how = how}, false);
}

void memory_judge_unit(struct emu *e, const void *at, unsigned bytes, unsigned unit) {
    check_by(e, &(struct access){.owner = e->b, .at = at, .bytes = bytes, .how = EMU_READ}, true,
             unit);
}

void memory_look(struct emu *e, void *to, const void *at, unsigned bytes) {
    e->frame = __builtin_frame_address(0);
    memory_judge_of(e, e->b, at, bytes, EMU_LOOK);
    memcpy(to, at, bytes);
}

void memory_load_now(struct emu *e, void *to, const void *at, unsigned bytes) {
    e->frame = __builtin_frame_address(0);
    memory_judge_of(e, e->b, at, bytes, EMU_READ);
    if (bytes < 4) memset(to, 0, 4);
    memcpy(to, at, bytes);
}

/* ld.global.nc: of what no thread writes while the kernel runs. */
void memory_load(struct emu *e, void *to, const void *at, unsigned bytes) {
    const struct buffer *b = memory_is_shared(e, at) ? NULL : memory_buffer(e, at);
    e->frame = __builtin_frame_address(0);
    memory_judge_of(e, e->b, at, bytes, EMU_READ);
    for (unsigned i = 0; b && b->role != EMU_IN && b->shadow && i < bytes; i++) {
        const unsigned char *p = (const unsigned char *)at + i;
        if (b->shadow[p - b->at].written < e->run_start) continue;
        struct access a = {.at = p, .bytes = bytes - i, .how = EMU_READ, .base = b->at};
        a.where = b->name;
        mistake(e, EMU_RACE, &a, ", which this launch has written, by a load that need not see it");
    }
    if (bytes < 4) memset(to, 0, 4);
    memcpy(to, at, bytes);
}

void memory_store(struct emu *e, void *at, const void *from, unsigned bytes) {
    e->frame = __builtin_frame_address(0);
    check(e,
          &(struct access){.owner = e->b, .at = at, .bytes = bytes, .how = EMU_WRITE, .data = from},
          true);
    memcpy(at, from, bytes);
}

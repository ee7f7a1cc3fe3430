/* copy.c: asynchronous copies: cp.async, and bulk copies to and from shared memory.
 *
 * A copy is judged when it starts, as if its thread read and wrote everything then, and lands as
 * late as it may: at the wait for its group, or when somebody waits for the phase of its mbarrier
 * that it is part of. Between, the shadows of its bytes say that it is under way, so that who
 * touches them is found in every order of threads; what was at the destination stays there.
 *
 *     k_cp_async<16>(s, x);  k_cp_async_commit();    judged; *s is untouchable
 *     k_cp_async_wait<0>();                          landed: written by this thread, now */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

/* ---- under way ------------------------------------------------------------------------------ */

/* Part i of what a copy reads, its shadow or NULL, and how many bytes. The last part: false. */
static bool source_part(struct emu *e, const struct copy *c, unsigned i, struct shadow **shadow,
                        unsigned *n) {
    if (!c->box) {
        *shadow = c->from_shadow;
        *n = c->valid;
        return i == 0;
    }
    unsigned first;
    if (i == box_lines(c->box)) return false;
    const unsigned char *from = box_line(c->box, i, &first, n);
    *shadow = *n ? memory_shadow(e, e->b, from) : NULL;
    return true;
}

static void release_source(struct emu *e, struct copy *c) {
    struct shadow *s;
    unsigned n;
    for (unsigned k = 0; c->reads && source_part(e, c, k, &s, &n); k++)
        for (unsigned i = 0; s && i < n; i++) s[i].copies_read--;
    c->reads = false;
}

static void release_target(struct copy *c) {
    for (unsigned i = 0; c->to_shadow && i < c->bytes; i++) c->to_shadow[i].copy_writes = 0;
    c->to_shadow = NULL;
}

static void drop(struct emu *e, struct copy *c) {
    release_source(e, c);
    release_target(c);
    free(c->data);
    free(c->box);
    free(c);
}

/* The source has been read by the copy, as late as now. */
static void end_reading(struct emu *e, struct copy *c) {
    struct shadow *s;
    unsigned n;
    for (unsigned k = 0; c->reads && source_part(e, c, k, &s, &n); k++)
        for (unsigned i = 0; s && i < n; i++) memory_note_read(e, s + i, c->writer);
    release_source(e, c);
}

static void land(struct emu *e, struct copy *c) {
    if (c->box) {
        box_put(c->box, c->to);
    } else {
        memcpy(c->to, c->data ? c->data : c->from, c->valid);
        memset(c->to + c->valid, 0, c->bytes - c->valid);
    }
    end_reading(e, c);
    for (unsigned i = 0; c->to_shadow && i < c->bytes; i++) {
        struct shadow *s = &c->to_shadow[i];
        s->writer = c->writer;
        s->written = e->now;
        s->atomic = 0;
    }
    drop(e, c);
}

/* BULK_STORE: read the shared memory now, write later. */
static void read_ahead(struct emu *e, struct copy *c) {
    if (c->data) return;
    c->data = malloc(c->bytes);
    WS_ASSERT(c->data);
    memcpy(c->data, c->from, c->bytes);
    end_reading(e, c);
}

static void judge_box(struct emu *e, const struct box *box) {
    unsigned first, n;
    for (unsigned i = 0; i < box_lines(box); i++) {
        const unsigned char *from = box_line(box, i, &first, &n);
        if (n) memory_judge(e, from, n, EMU_READ);
    }
}

/* Judge a copy, and let it begin. */
static struct copy *start_to(struct emu *e, struct block *owner, struct copy c) {
    bool from_memory = c.valid && c.kind != PUT;
    if (c.box)
        judge_box(e, c.box);
    else if (from_memory)
        memory_judge(e, c.from, c.valid, EMU_READ);
    memory_judge_of(e, owner, c.to, c.bytes, EMU_WRITE);
    struct copy *new = malloc(sizeof *new);
    WS_ASSERT(new);
    *new = c;
    new->thread = e->current;
    new->from_shadow = from_memory && !c.box ? memory_shadow(e, e->b, c.from) : NULL;
    new->to_shadow = memory_shadow(e, owner, c.to);
    new->reads = true;
    struct shadow *s;
    unsigned n;
    for (unsigned k = 0; source_part(e, new, k, &s, &n); k++)
        for (unsigned i = 0; s && i < n; i++) s[i].copies_read++;
    for (unsigned i = 0; new->to_shadow &&i < c.bytes; i++) new->to_shadow[i].copy_writes = 1;
    module_trail(e->module, e->frame, &new->trail);
    return new;
}

static struct copy *start(struct emu *e, struct copy c) { return start_to(e, e->b, c); }

static void keep_with_mbarrier(struct copy *c, struct mbarrier *b) {
    c->next = b->copies;
    b->copies = c;
    b->flying += c->bytes;
}

static void keep_with_thread(struct emu *e, struct copy *c) {
    struct thread *t = &e->threads[e->current];
    c->group = t->groups[c->kind != CP_ASYNC];
    c->next = t->copies;
    t->copies = c;
}

void copy_land_all(struct emu *e, struct mbarrier *b) {
    for (struct copy *next; b->copies; b->copies = next) {
        next = b->copies->next;
        land(e, b->copies);
    }
}

/* ---- hooks ---------------------------------------------------------------------------------- */

static void check_addresses(struct emu *e, const char *what, const void *shared, const void *global,
                            unsigned align) {
    if (!memory_is_shared(e, shared))
        block_mistake(e, EMU_COPY, "%s: no shared memory on its side of that", what);
    if (global && (memory_is_shared(e, global) || !memory_buffer(e, global)))
        block_mistake(e, EMU_OUT_OF_BOUNDS, "%s: no buffer on its side of global memory", what);
    if ((uintptr_t)shared % align || (uintptr_t)global % align)
        block_mistake(e, EMU_MISALIGNED, "%s: its %s address needs an alignment of %u", what,
                      (uintptr_t)shared % align ? "shared" : "global", align);
}

void copy_cp_async(struct emu *e, void *to, const void *from, unsigned bytes, unsigned valid) {
    e->frame = __builtin_frame_address(0);
    if (bytes != 4 && bytes != 8 && bytes != 16)
        block_mistake(e, EMU_COPY, "k_cp_async<%u>", bytes);
    if (valid > bytes) block_mistake(e, EMU_COPY, "k_cp_async<%u> of %u bytes", bytes, valid);
    check_addresses(e, "k_cp_async", to, valid ? from : NULL, bytes);
    keep_with_thread(e, start(e, (struct copy){.kind = CP_ASYNC,
                                               .to = to,
                                               .from = from,
                                               .bytes = bytes,
                                               .valid = valid,
                                               .writer = (uint16_t)e->current}));
}

static void bulk_load(struct emu *e, void *to, const void *from, unsigned bytes, void *bar) {
    struct mbarrier *b = mbarrier_at(e, e->b, bar);
    struct copy *c = start(e, (struct copy){.kind = BULK_LOAD,
                                            .to = to,
                                            .from = from,
                                            .bytes = bytes,
                                            .valid = bytes,
                                            .writer = mbarrier_as_writer(b)});
    keep_with_mbarrier(c, b);
    mbarrier_settle(e, b);
}

void copy_check_fence(struct emu *e, const char *what, const unsigned char *from, unsigned bytes) {
    const struct shadow *s = memory_shadow(e, e->b, from);
    uint32_t own = e->threads[e->current].fenced;
    char name[THREAD_NAME];
    for (unsigned i = 0; i < bytes; i++) {
        if (s[i].written < e->cluster_start || s[i].writer >= BY_UNIT) continue;
        if (s[i].written < own || s[i].written < e->threads[s[i].writer].fenced) continue;
        block_mistake(e, EMU_COPY,
                      "%s: byte %u of the source was written by %s with no "
                      "k_fence_async_shared since",
                      what, i, sync_thread_name(e, s[i].writer, name));
    }
}

static void bulk_store(struct emu *e, void *to, const void *from, unsigned bytes) {
    memory_judge(e, from, bytes, EMU_READ);
    copy_check_fence(e, "k_bulk_s2g", from, bytes);
    keep_with_thread(e, start(e, (struct copy){.kind = BULK_STORE,
                                               .to = to,
                                               .from = from,
                                               .bytes = bytes,
                                               .valid = bytes,
                                               .writer = (uint16_t)e->current}));
}

void copy_bulk(struct emu *e, void *to, const void *from, unsigned bytes, void *bar) {
    e->frame = __builtin_frame_address(0);
    const char *what = bar ? "k_bulk_g2s" : "k_bulk_s2g";
    if (bytes % 16 != 0)
        block_mistake(e, EMU_COPY, "%s of %u bytes, which is no multiple of 16", what, bytes);
    check_addresses(e, what, bar ? to : from, bar ? from : to, 16);
    if (bar)
        bulk_load(e, to, from, bytes, bar);
    else
        bulk_store(e, to, from, bytes);
}

/* The mistake that a value's way to another block is, or NULL. */
static const char *put_mistake(struct emu *e, const void *to, const void *bar, unsigned bytes,
                               unsigned rank, enum emu_kind *kind) {
    *kind = EMU_OUT_OF_BOUNDS;
    if (rank >= e->n_cluster) return "there is no block of that rank";
    if (!memory_is_shared(e, to) || !memory_is_shared(e, bar)) return "not to shared memory";
    *kind = EMU_COPY;
    if (bytes != 4 && bytes != 8) return "it takes 4 or 8 bytes";
    *kind = EMU_RACE;
    if (e->threads[e->current].arrived) return "it follows the thread's k_cluster_arrive";
    if (cluster_block(e, rank)->n_done == e->n_threads) return "that block has ended";
    return NULL;
}

/* The owner's threads see it behind the wait for their mbarrier; that this one has been made they
 * have told the sender by a cluster barrier. */
void copy_put(struct emu *e, void *to, const void *value, unsigned bytes, unsigned rank,
              void *bar) {
    e->frame = __builtin_frame_address(0);
    enum emu_kind kind;
    const char *wrong = put_mistake(e, to, bar, bytes, rank, &kind);
    if (wrong)
        block_mistake(e, kind, "k_cluster_put to rank %u in a cluster of %u blocks: %s", rank,
                      e->n_cluster, wrong);
    struct block *owner = cluster_block(e, rank);
    struct mbarrier *b = mbarrier_at(e, owner, bar);
    if (!mbarrier_is_known(e, b))
        block_mistake(e, EMU_RACE,
                      "k_cluster_put to an mbarrier made since the last k_cluster_sync");
    struct copy *c = start_to(e, owner,
                              (struct copy){.kind = PUT,
                                            .to = to,
                                            .bytes = bytes,
                                            .valid = bytes,
                                            .writer = mbarrier_as_writer(b)});
    c->data = malloc(bytes);
    WS_ASSERT(c->data);
    memcpy(c->data, value, bytes);
    keep_with_mbarrier(c, b);
    mbarrier_settle(e, b);
}

/* To the own block, or to those whose bits these are. */
void copy_box(struct emu *e, const struct box *box, void *to, void *bar, unsigned blocks) {
    unsigned bytes = box_bytes(box);
    for (unsigned r = 0; r < 32; r++) {
        if (!(blocks ? blocks >> r & 1 : r == cluster_rank(e))) continue;
        enum emu_kind kind;
        const char *wrong = mbarrier_far_mistake(e, bar, r, &kind);
        if (wrong)
            block_mistake(e, kind, "k_map_load to rank %u in a cluster of %u blocks: %s", r,
                          e->n_cluster, wrong);
        struct mbarrier *b = mbarrier_at(e, cluster_block(e, r), bar);
        if (!mbarrier_is_known(e, b))
            block_mistake(e, EMU_RACE,
                          "k_map_load to an mbarrier made since the last k_cluster_sync");
        struct box *own = malloc(sizeof *own);
        WS_ASSERT(own);
        *own = *box;
        struct copy *c = start_to(e, b->owner,
                                  (struct copy){.kind = MAP_LOAD,
                                                .to = to,
                                                .bytes = bytes,
                                                .valid = bytes,
                                                .writer = mbarrier_as_writer(b),
                                                .box = own});
        keep_with_mbarrier(c, b);
        mbarrier_settle(e, b);
    }
}

void copy_commit(struct emu *e, int bulk) { e->threads[e->current].groups[bulk]++; }

/* sources: the copies are only to have read, and write when they like. */
void copy_wait(struct emu *e, int bulk, unsigned n, int sources) {
    struct thread *t = &e->threads[e->current];
    e->frame = __builtin_frame_address(0);
    for (struct copy **link = &t->copies, *c; (c = *link);) {
        bool mine = (c->kind != CP_ASYNC) == bulk;
        if (!mine || c->group >= t->groups[bulk] || t->groups[bulk] - c->group <= n) {
            link = &c->next;
        } else if (sources) {
            read_ahead(e, c);
            link = &c->next;
        } else {
            *link = c->next;
            land(e, c);
        }
    }
}

void copy_fence(struct emu *e) { e->threads[e->current].fenced = ++e->now; }

/* ---- ends ----------------------------------------------------------------------------------- */

static void report_unfinished(struct emu *e, const struct copy *c, const char *who) {
    block_report(e, EMU_COPY, c->thread, c->trail.frame, "%s while this copy is under way", who);
}

/* Stores that have read their source may be written after the end. */
void copy_thread_done(struct emu *e, unsigned t) {
    for (struct copy *c = e->threads[t].copies, *next; c; c = next) {
        next = c->next;
        e->threads[t].copies = next;
        if (!c->data) {
            report_unfinished(e, c, "the thread ends");
            drop(e, c);
        } else {
            land(e, c);
        }
    }
}

void copy_block_done(struct emu *e, struct block *b) {
    for (unsigned i = 0; i < b->n_mbarriers; i++)
        if (b->mbarriers[i].copies) report_unfinished(e, b->mbarriers[i].copies, "the block ends");
}

static void drop_list(struct emu *e, struct copy **list) {
    for (struct copy *next; *list; *list = next) {
        next = (*list)->next;
        drop(e, *list);
    }
}

void copy_drop_all(struct emu *e) {
    for (unsigned t = 0; t < e->n_threads * e->n_blocks; t++) drop_list(e, &e->threads[t].copies);
    for (unsigned r = 0; r < e->n_blocks; r++)
        for (unsigned i = 0; i < e->blocks[r].n_mbarriers; i++)
            drop_list(e, &e->blocks[r].mbarriers[i].copies);
}

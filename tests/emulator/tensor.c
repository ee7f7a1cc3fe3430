/* tensor.c: tcgen05: products that one thread issues, of operands in shared memory, with sums in
 * tensor memory, which a block asks for and gives back.
 *
 * What is issued is done as late as may be, in its order: when the block cannot go on otherwise, up
 * to the first commit, whose mbarrier then has its arrival. Until then what operands are read from
 * is marked as it would be for a copy under way, and the sums may not be read. Reads are over when
 * their thread has waited for them and told so (k_tensor_fence_before): who then learns of it, and
 * says so (k_tensor_fence_after), may have other products made there.
 *
 *     k_tensor_multiply<0>(sums, ...);   judged; operands are untouchable, sums may not be read
 *     k_tensor_commit(bar);              when somebody has waited for bar, they may
 *
 * The units' work counts as that of the block's first unit (internal.h): wgmma is not beside it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

enum {
    LANES = 128,
    COLUMNS = 512,
    LEAST_COLUMNS = 32,
    MOST_N = 256,
    MOST_K = MMA_MOST_DEPTH,
    UNIT = 0,
    KINDS = 4,
};
enum kind { OF_16_BITS, OF_TF32, OF_BYTES, OF_F8 };

/* InstrDescriptor, see k_tensor_make. */
struct instruction {
    int type; /* enum emu_matrix */
    unsigned m, n;
    bool transposed_a, transposed_b;
};

struct tensor_item {
    struct tensor_item *next;
    struct instruction is;
    struct emu_tensor_product product;
    unsigned thread;
    bool commits;
    struct mbarrier *bar[MAX_BLOCKS]; /* of a commit */
    unsigned n_bars;
    struct trail trail;
};

static unsigned local(const struct emu *e) { return e->current - e->b->first; }
static unsigned unit_of(const struct block *b) { return BY_UNIT + b->rank * N_UNITS + UNIT; }

static struct tensor_cell *cell(const struct emu *e, unsigned lane, unsigned column) {
    return &e->b->tensor.cells[column * LANES + lane];
}

/* Of row i of a product of so many. */
static unsigned lane_of(unsigned m, unsigned i) { return m == LANES ? i : i / 16 * 32 + i % 16; }

static void add_item(struct emu *e, struct tensor_item *item) {
    struct tensor_item **link = &e->b->tensor.first;
    while (*link) link = &(*link)->next;
    item->thread = e->current;
    module_trail(e->module, e->frame, &item->trail);
    *link = item;
}

static struct tensor_item *new_item(void) {
    struct tensor_item *item = calloc(1, sizeof *item);
    WS_ASSERT(item);
    return item;
}

/* ---- the memory ------------------------------------------------------------------------------ */

/* All lanes of a warp with the same number; is the thread its first one? */
static bool warp_agrees(struct emu *e, const void *frame, const char *what, uint64_t value) {
    unsigned lane = local(e) % WARP;
    if (local(e) - lane + WARP > e->n_threads)
        block_mistake(e, EMU_WARP, "%s takes 32 lanes: the block's last warp has fewer", what);
    if (sync_warp_in(e, frame, EMU_SHUFFLE, 0xffffffffu, value, 0) != value)
        block_mistake(e, EMU_MATRIX, "%s: the lanes of the warp want different ones", what);
    return lane == 0;
}

void tensor_make(struct emu *e, void *at, unsigned columns) {
    const void *frame = e->frame = __builtin_frame_address(0);
    struct tensor *x = &e->b->tensor;
    if (columns < LEAST_COLUMNS || columns > COLUMNS || columns & (columns - 1))
        block_mistake(e, EMU_MATRIX, "k_tensor_make: %u columns are no power of two from 32 to 512",
                      columns);
    if (!memory_is_shared(e, at))
        block_mistake(e, EMU_MATRIX, "k_tensor_make: not to shared memory");
    if (!warp_agrees(e, frame, "k_tensor_make", (uintptr_t)at)) return;
    if (x->made) block_mistake(e, EMU_MATRIX, "k_tensor_make: the block may make no more");
    if (!x->cells) x->cells = malloc(sizeof *x->cells * LANES * COLUMNS);
    WS_ASSERT(x->cells);
    memset(x->cells, 0, sizeof *x->cells * LANES * COLUMNS);
    x->made = true;
    x->columns = columns;
    x->base = COLUMNS - columns; /* it may be anywhere */
    module_trail(e->module, e->frame, &x->trail);
    memory_judge_of(e, e->b, at, sizeof x->base, EMU_WRITE);
    memcpy(at, &x->base, sizeof x->base);
}

static bool is_there(const struct emu *e, unsigned at, unsigned columns) {
    const struct tensor *x = &e->b->tensor;
    unsigned first = at & 0xffff;
    return x->made && !x->freed && first >= x->base && first + columns <= x->base + x->columns;
}

static void check_place(struct emu *e, const char *what, unsigned at, unsigned columns) {
    const struct tensor *x = &e->b->tensor;
    if (is_there(e, at, columns)) return;
    if (!x->made || x->freed)
        block_mistake(e, EMU_MATRIX, "%s: the block has no tensor memory", what);
    block_mistake(e, EMU_OUT_OF_BOUNDS, "%s of columns %u to %u; the block has %u to %u", what,
                  at & 0xffff, (at & 0xffff) + columns - 1, x->base, x->base + x->columns - 1);
}

static void check_fenced(struct emu *e, const char *what) {
    const struct thread *t = &e->threads[e->current];
    if (t->tensor_fenced > t->learned && t->tensor_fenced > e->b->full_sync) return;
    block_mistake(e, EMU_MATRIX, "%s with no k_tensor_fence_after since the thread last waited",
                  what);
}

/* Has the current thread seen that they have been read? */
static void check_read(struct emu *e, const char *what, const struct tensor_cell *c, unsigned lane,
                       unsigned column) {
    char name[THREAD_NAME];
    if (c->reading)
        block_mistake(e, EMU_RACE,
                      "%s of lane %u, column %u, which is being read: tcgen05.wait::ld and "
                      "k_tensor_fence_before",
                      what, lane, column);
    if (c->read < e->cluster_start || sync_has_seen(e, e->current, c->reader, c->read)) return;
    block_mistake(e, EMU_RACE, "%s of lane %u, column %u, which %s has read since the last barrier",
                  what, lane, column, sync_thread_name(e, c->reader, name));
}

void tensor_free(struct emu *e, unsigned sums, unsigned columns) {
    const void *frame = e->frame = __builtin_frame_address(0);
    struct tensor *x = &e->b->tensor;
    check_place(e, "k_tensor_free", sums, columns);
    check_fenced(e, "k_tensor_free");
    if (!warp_agrees(e, frame, "k_tensor_free", sums)) return;
    if (sums != x->base || columns != x->columns)
        block_mistake(e, EMU_MATRIX,
                      "k_tensor_free: of %u columns from %u on; the block has %u from "
                      "%u on",
                      columns, sums, x->columns, x->base);
    for (unsigned c = x->base; c < x->base + columns; c++)
        for (unsigned lane = 0; lane < LANES; lane++) {
            const struct tensor_cell *at = cell(e, lane, c);
            check_read(e, "k_tensor_free", at, lane, c);
            if (at->flying ||
                (at->written && !sync_has_seen(e, e->current, unit_of(e->b), at->written)))
                block_mistake(e, EMU_RACE, "k_tensor_free of column %u, which products write", c);
        }
    x->freed = true;
}

/* ---- products -------------------------------------------------------------------------------- */

static int byte_type(unsigned kind, unsigned a, unsigned b) {
    int left = kind == OF_F8 ? EMU_E4M3 + (int)a : a ? EMU_S8 : EMU_U8;
    int right = kind == OF_F8 ? EMU_E4M3 + (int)b : b ? EMU_S8 : EMU_U8;
    return EMU_BYTES + 4 * left + right;
}

static struct instruction decode(struct emu *e, const struct emu_tensor_product *p) {
    unsigned w = p->what, sums = w >> 4 & 3, a = w >> 7 & 7, b = w >> 10 & 7;
    struct instruction x = {.m = (w >> 24 & 31) * 16,
                            .n = (w >> 17 & 63) * 8,
                            .transposed_a = w >> 15 & 1,
                            .transposed_b = w >> 16 & 1};
    enum { OTHERS = 0xe080604f }; /* sparse, saturated, negated, shifted, and what means nothing */
    if (p->kind < 0 || p->kind >= KINDS || w & OTHERS)
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply<%d>: 0x%x says what it cannot be", p->kind,
                      w);
    if (sums != (p->kind == OF_BYTES ? 2 : 1))
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply<%d>: sums of type %u", p->kind, sums);
    bool known = p->kind == OF_TF32 ? a == 2 && b == 2 : a < 2 && b < 2;
    if (!known || (p->kind == OF_16_BITS && a != b))
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply<%d>: operands of types %u and %u", p->kind,
                      a, b);
    x.type = p->kind == OF_TF32      ? EMU_TF32
             : p->kind == OF_16_BITS ? (a ? EMU_BF16 : EMU_F16)
                                     : byte_type((unsigned)p->kind, a, b);
    bool columns = x.m == 64 ? x.n % 8 == 0 : x.n % 16 == 0;
    if (p->kind == OF_BYTES) columns = x.n == 8 || x.n % 16 == 0;
    if ((x.m != 64 && x.m != LANES) || !columns || x.n < 8 || x.n > MOST_N)
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply<%d> of %u rows and %u columns", p->kind,
                      x.m, x.n);
    if ((x.transposed_a || x.transposed_b) && p->kind != OF_16_BITS)
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply<%d> of lines along the rows", p->kind);
    if (operand_version(p->a) != 1 || operand_version(p->b) != 1 || (p->a | p->b) >> 61 & 1)
        block_mistake(e, EMU_MATRIX, "k_tensor_multiply of no k_tensor_operand");
    return x;
}

static void each_operand(struct emu *e, const struct tensor_item *p, operand_action *act) {
    operand_each(e, p->product.a, p->is.transposed_a, 0, p->is.m, act, UNIT);
    operand_each(e, p->product.b, p->is.transposed_b, 0, p->is.n, act, UNIT);
}

void tensor_multiply(struct emu *e, const struct emu_tensor_product *p) {
    e->frame = __builtin_frame_address(0);
    struct instruction is = decode(e, p);
    check_place(e, "k_tensor_multiply", p->sums, is.n);
    if (p->sums >> 16) block_mistake(e, EMU_MATRIX, "k_tensor_multiply: sums from lane 0 on");
    check_fenced(e, "k_tensor_multiply");
    for (unsigned i = 0; i < is.m; i++)
        for (unsigned j = p->sums; j < p->sums + is.n; j++) {
            const struct tensor_cell *c = cell(e, lane_of(is.m, i), j);
            check_read(e, "k_tensor_multiply", c, lane_of(is.m, i), j);
            if (p->add && !c->begun)
                block_mistake(e, EMU_UNWRITTEN_READ,
                              "k_tensor_multiply adds to column %u, where nothing is", j);
        }
    struct tensor_item *item = new_item();
    item->is = is;
    item->product = *p;
    operand_each(e, p->a, is.transposed_a, 0, is.m, operand_judge, UNIT);
    operand_each(e, p->b, is.transposed_b, 0, is.n, operand_judge, UNIT);
    add_item(e, item);
    each_operand(e, item, operand_mark);
    for (unsigned i = 0; i < is.m; i++)
        for (unsigned j = p->sums; j < p->sums + is.n; j++) {
            struct tensor_cell *c = cell(e, lane_of(is.m, i), j);
            c->flying++;
            c->begun = true;
        }
}

static void multiply(struct emu *e, struct tensor_item *p) {
    static __thread double a[LANES * MOST_K], b[MOST_N * MOST_K];
    const struct instruction *is = &p->is;
    operand_fetch(e, is->type, true, p->product.a, is->transposed_a, is->m, a);
    operand_fetch(e, is->type, false, p->product.b, is->transposed_b, is->n, b);
    for (unsigned i = 0; i < is->m; i++)
        for (unsigned j = 0; j < is->n; j++) {
            struct tensor_cell *c = cell(e, lane_of(is->m, i), p->product.sums + j);
            mma_add(is->type, &c->value, p->product.add, a + i * MOST_K, b + j * MOST_K);
            c->written = e->now;
            c->flying--;
        }
    each_operand(e, p, operand_end_reading);
}

/* ---- commits --------------------------------------------------------------------------------- */

void tensor_commit(struct emu *e, void *bar, unsigned blocks) {
    e->frame = __builtin_frame_address(0);
    for (const struct tensor_item *p = e->b->tensor.first; p; p = p->next)
        if (p->thread != e->current)
            block_mistake(e, EMU_MATRIX, "k_tensor_commit: another thread has issued products");
    struct tensor_item *item = new_item();
    item->commits = true;
    for (unsigned r = 0; r < 32; r++) {
        enum emu_kind kind;
        if (!(blocks ? blocks >> r & 1 : r == cluster_rank(e))) continue;
        const char *wrong = mbarrier_far_mistake(e, bar, r, &kind);
        if (wrong)
            block_mistake(e, kind, "k_tensor_commit to rank %u in a cluster of %u blocks: %s", r,
                          e->n_cluster, wrong);
        struct mbarrier *b = mbarrier_at(e, cluster_block(e, r), bar);
        if (!mbarrier_is_known(e, b))
            block_mistake(e, EMU_RACE,
                          "k_tensor_commit to an mbarrier made since the last k_cluster_sync");
        sync_give(e, e->current, b->arrived); /* that what products read had come */
        item->bar[item->n_bars++] = b;
    }
    add_item(e, item);
}

static void arrive(struct emu *e, const struct tensor_item *p, struct mbarrier *b) {
    if (!b->pending || (b->pending == 1 && b->flying > b->expected)) {
        block_report(e, EMU_MBARRIER, p->thread, p->trail.frame,
                     "k_tensor_commit: more than %u arrivals in phase %u, which has not ended",
                     b->count, b->phase);
        return;
    }
    if (b->owner != e->b) {
        e->far = true;
        b->far = ++e->now;
        b->far_phase = b->phase;
        b->far_thread = p->thread;
        b->far_trail = p->trail;
    }
    b->arrived[e->b->rank * N_SEEN + MAX_THREADS + UNIT] = ++e->now;
    b->pending--;
    mbarrier_settle(e, b);
}

bool tensor_land_one(struct emu *e) {
    struct tensor *x = &e->b->tensor;
    const struct tensor_item *last = x->first;
    while (last && !last->commits) last = last->next;
    if (!last) return false;
    for (bool more = true; more;) {
        struct tensor_item *p = x->first;
        more = p != last;
        x->first = p->next;
        e->now++;
        if (!p->commits) multiply(e, p);
        for (unsigned i = 0; i < p->n_bars && e->report.ok; i++) arrive(e, p, p->bar[i]);
        free(p);
    }
    return true;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void place_of(unsigned lane, unsigned i, unsigned at, unsigned *row, unsigned *column) {
    *row = (at >> 16) + lane / 4 + 8 * (i / 2 % 2);
    *column = (at & 0xffff) + i / 4 * 8 + 2 * (lane % 4) + i % 2;
}

void tensor_load(struct emu *e, float *d, unsigned eights, unsigned at) {
    const void *frame = e->frame = __builtin_frame_address(0);
    struct thread *t = &e->threads[e->current];
    unsigned lanes = at >> 16, row, column;
    if (eights < 1 || eights > 32 || eights & (eights - 1))
        block_mistake(e, EMU_MATRIX, "tcgen05.ld.16x256b.x%u: x1 to x32", eights);
    check_place(e, "tcgen05.ld", at, 8 * eights);
    if (lanes % 16 || lanes / 32 != local(e) / WARP % 4)
        block_mistake(e, EMU_MATRIX, "tcgen05.ld of lanes %u to %u by warp %u of its warpgroup",
                      lanes, lanes + 15, local(e) / WARP % 4);
    check_fenced(e, "tcgen05.ld");
    warp_agrees(e, frame, "tcgen05.ld", at);
    if (t->n_tensor_reads == MAX_TENSOR_READS)
        block_mistake(e, EMU_MATRIX, "more than %d tcgen05.ld under way", MAX_TENSOR_READS);
    for (unsigned i = 0; i < 4 * eights; i++) {
        place_of(local(e) % WARP, i, at, &row, &column);
        struct tensor_cell *c = cell(e, row, column);
        if (c->flying)
            block_mistake(e, EMU_RACE, "tcgen05.ld of lane %u, column %u, which products write",
                          row, column);
        if (!c->begun)
            block_mistake(e, EMU_UNWRITTEN_READ,
                          "tcgen05.ld of lane %u, column %u, where nothing is", row, column);
        if (!sync_has_seen(e, e->current, unit_of(e->b), c->written))
            block_mistake(e, EMU_RACE,
                          "tcgen05.ld of lane %u, column %u: this thread has not waited for the "
                          "products",
                          row, column);
        c->reading++;
    }
    if (!t->tensor_reads) t->tensor_reads = malloc(sizeof *t->tensor_reads * MAX_TENSOR_READS);
    WS_ASSERT(t->tensor_reads);
    t->tensor_reads[t->n_tensor_reads++] = (struct tensor_read){d, eights, at, false};
    memory_poison(d, sizeof *d * 4 * eights);
}

void tensor_wait(struct emu *e) {
    struct thread *t = &e->threads[e->current];
    unsigned row, column;
    e->frame = __builtin_frame_address(0);
    for (unsigned k = 0; k < t->n_tensor_reads; k++) {
        struct tensor_read *r = &t->tensor_reads[k];
        for (unsigned i = 0; i < 4 * r->eights && !r->waited; i++) {
            place_of(local(e) % WARP, i, r->at, &row, &column);
            r->d[i] = cell(e, row, column)->value;
        }
        r->waited = true;
    }
}

void tensor_fence(struct emu *e, int after) {
    struct thread *t = &e->threads[e->current];
    unsigned row, column, left = 0;
    e->now++;
    if (after) {
        t->tensor_fenced = e->now;
        return;
    }
    for (unsigned k = 0; k < t->n_tensor_reads; k++) {
        const struct tensor_read *r = &t->tensor_reads[k];
        if (!r->waited) t->tensor_reads[left++] = *r;
        for (unsigned i = 0; i < 4 * r->eights && r->waited; i++) {
            place_of(local(e) % WARP, i, r->at, &row, &column);
            struct tensor_cell *c = cell(e, row, column);
            c->reading--;
            c->reader = (uint16_t)e->current;
            c->read = e->now;
        }
    }
    t->n_tensor_reads = left;
    e->now++;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void tensor_thread_done(struct emu *e, unsigned t) {
    for (unsigned k = 0; k < e->threads[t].n_tensor_reads; k++)
        if (!e->threads[t].tensor_reads[k].waited)
            block_report(e, EMU_MATRIX, t, e->frame,
                         "the thread ends while its tcgen05.ld is under way");
}

void tensor_block_done(struct emu *e, struct block *b) {
    const struct tensor *x = &b->tensor;
    if (x->first)
        block_report(e, EMU_MATRIX, x->first->thread, x->first->trail.frame,
                     "the block ends while what this issues is under way");
    if (x->made && !x->freed)
        block_report(e, EMU_MATRIX, b->first, x->trail.frame,
                     "the block ends and has tensor memory: k_tensor_free");
}

void tensor_drop_all(struct emu *e) {
    for (unsigned r = 0; r < e->n_blocks; r++) {
        struct tensor *x = &e->blocks[r].tensor;
        e->b = &e->blocks[r];
        for (struct tensor_item *p; (p = x->first);) {
            if (!p->commits) each_operand(e, p, operand_release);
            x->first = p->next;
            free(p);
        }
        free(x->cells);
        *x = (struct tensor){0};
    }
    for (unsigned t = 0; t < e->n_threads * e->n_blocks; t++) free(e->threads[t].tensor_reads);
}

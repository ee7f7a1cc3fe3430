/* matrix.c: wgmma: products by the 128 threads of a warpgroup, which go on meanwhile.
 *
 * Each thread issues its share; the shares are compared. The first to issue marks what the unit
 * reads in shared memory as it would for a copy under way, so that who writes there is found. The
 * sums go on in a place of their own, with poison in the threads' registers, until the 128 threads
 * wait for them: only then is anything read, as late as a device may.
 *
 *     emu_wgmma(acc, ...);     judged; acc is poison, operands are untouchable
 *     emu_wgmma_commit();
 *     emu_wgmma_wait(0);       operands are read; acc is the sum
 * Operands in shared memory: operand.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/internal.h"

enum { M = 64, MOST_N = 256, MOST_K = MMA_MOST_DEPTH, PIECE = 16 };

static unsigned local(const struct emu *e) { return e->current - e->b->first; }

/* The current thread's; reports a block that has no whole one there. */
static struct warpgroup *warpgroup(struct emu *e) {
    unsigned i = local(e) / WARPGROUP;
    if ((i + 1) * WARPGROUP > e->n_threads)
        block_mistake(e, EMU_MATRIX, "the block has no whole warpgroup (128 threads) here");
    return &e->b->warpgroups[i];
}

static unsigned first_thread(const struct emu *e, const struct warpgroup *w) {
    return e->b->first + (unsigned)(w - e->b->warpgroups) * WARPGROUP;
}

static unsigned unit_of(const struct emu *e, const struct warpgroup *w) {
    return (unsigned)(w - e->b->warpgroups);
}

/* Of those in shared memory; rows from `row` on of the left one. */
static void each_operand(struct emu *e, const struct product *p, operand_action *act, unsigned row,
                         unsigned rows, unsigned unit) {
    if (!p->is.a_registers) operand_each(e, p->is.a, p->is.transposed_a, row, rows, act, unit);
    operand_each(e, p->is.b, p->is.transposed_b, 0, (unsigned)p->is.n, act, unit);
}

/* ---- the product ----------------------------------------------------------------------------- */

static void fetch_registers(const struct product *p, double *to) {
    unsigned size = mma_size(p->is.type), each = 4 / size;
    for (unsigned t = 0; t < WARPGROUP; t++)
        for (unsigned i = 0; i < 4; i++)
            for (unsigned k = 0; k < each; k++)
                to[(t / 32 * 16 + t % 32 / 4 + 8 * (i % 2)) * MOST_K + each * (t % 4) +
                   4 * each * (i / 2) + k] =
                    mma_number(p->is.type, true, (const unsigned char *)(p->a[t] + i) + size * k);
}

static float *value_of(const struct accumulator *acc, unsigned t, int i) {
    unsigned row = t / 32 * 16 + t % 32 / 4 + 8 * (i / 2 % 2),
             column = (unsigned)i / 4 * 8 + 2 * (t % 4) + i % 2;
    return acc->values + row * (unsigned)acc->n + column;
}

static void multiply(const struct emu *e, const struct product *p) {
    static __thread double a[M * MOST_K], b[MOST_N * MOST_K];
    unsigned n = (unsigned)p->is.n;
    if (p->is.a_registers)
        fetch_registers(p, a);
    else
        operand_fetch(e, p->is.type, true, p->is.a, p->is.transposed_a, M, a);
    operand_fetch(e, p->is.type, false, p->is.b, p->is.transposed_b, n, b);
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < n; j++)
            mma_add(p->is.type, p->acc->values + i * n + j, p->is.add, a + i * MOST_K,
                    b + j * MOST_K);
}

/* ---- under way ------------------------------------------------------------------------------- */

static void check_product(struct emu *e, const struct emu_product *p) {
    if (p->n % 8 != 0 || p->n < 8 || p->n > MOST_N)
        block_mistake(e, EMU_MATRIX, "wgmma of %d columns: they go by eights up to 256", p->n);
    if ((p->a_registers ? 0 : operand_version(p->a)) || operand_version(p->b))
        block_mistake(e, EMU_MATRIX, "wgmma of an operand of tcgen05: k_operand");
    if (p->type < EMU_BF16 || p->type >= EMU_BYTES + 16)
        block_mistake(e, EMU_MATRIX, "wgmma of unknown elements: %d", p->type);
    if (mma_size(p->type) != 2 && (p->transposed_a || p->transposed_b))
        block_mistake(e, EMU_MATRIX, "wgmma of tf32 and of bytes takes lines along the depth only");
    if (mma_of_integers(p->type) && p->n > 32 && p->n % 16)
        block_mistake(e, EMU_MATRIX, "wgmma of integers: %d columns are no sixteens", p->n);
    if (p->a_registers && p->transposed_a)
        block_mistake(e, EMU_MATRIX, "wgmma transposes nothing in registers");
}

static bool same(const struct emu_product *a, const struct emu_product *b) {
    return a->n == b->n && a->type == b->type && !a->a_registers == !b->a_registers &&
           (a->a_registers || a->a == b->a) && a->b == b->b &&
           !a->transposed_a == !b->transposed_a && !a->transposed_b == !b->transposed_b &&
           !a->add == !b->add;
}

static struct accumulator *accumulator_of(struct warpgroup *w, unsigned t, const float *at) {
    for (struct accumulator *a = w->accumulators; a; a = a->next)
        if (a->at[t] == at) return a;
    return NULL;
}

static struct accumulator *new_accumulator(struct warpgroup *w, int n) {
    struct accumulator *a = calloc(1, sizeof *a);
    WS_ASSERT(a);
    a->values = calloc((size_t)M * (size_t)n, sizeof *a->values);
    WS_ASSERT(a->values);
    a->n = n;
    a->next = w->accumulators;
    return w->accumulators = a;
}

/* The product that the current thread issues next, which others may have issued before. */
static struct product *issue(struct emu *e, struct warpgroup *w, const struct emu_product *is) {
    struct thread *t = &e->threads[e->current];
    struct product **link = &w->products;
    for (unsigned i = w->n_through; i < t->products; i++) link = &(*link)->next;
    t->products++;
    if (*link) return *link;
    struct product *p = calloc(1, sizeof *p);
    WS_ASSERT(p);
    p->is = *is;
    p->group = t->product_groups;
    p->acc = accumulator_of(w, local(e) % WARPGROUP, is->acc);
    if (!p->acc) p->acc = new_accumulator(w, is->n);
    p->acc->users++;
    module_trail(e->module, e->frame, &p->trail);
    return *link = p;
}

/* The registers that the product adds to are the unit's from here on. */
static void hand_over(struct emu *e, struct product *p, float *acc) {
    unsigned t = local(e) % WARPGROUP;
    if (p->acc->n != p->is.n)
        block_mistake(e, EMU_MATRIX, "wgmma of %d columns adds to one of %d under way", p->is.n,
                      p->acc->n);
    if (p->acc->at[t] && p->acc->at[t] != acc)
        block_mistake(e, EMU_MATRIX, "wgmma: the threads of the warpgroup add to different ones");
    if (p->acc->at[t]) return;
    if (!e->threads[e->current].begun)
        block_mistake(e, EMU_MATRIX,
                      "wgmma with no k_wgmma_begin since its registers were the "
                      "thread's");
    p->acc->at[t] = acc;
    for (int i = 0; i < p->is.n / 2; i++) *value_of(p->acc, t, i) = acc[i];
    memory_poison(acc, (size_t)p->is.n / 2 * sizeof *acc);
}

/* Each warp must be in a position to read what the unit does: its rows, and all columns. */
static void judge_reads(struct emu *e, struct warpgroup *w, struct product *p) {
    unsigned warp = local(e) % WARPGROUP / WARP;
    if (p->warps >> warp & 1) return;
    each_operand(e, p, operand_judge, 16 * warp, 16, unit_of(e, w));
    p->warps |= 1u << warp;
}

void matrix_wgmma(struct emu *e, const struct emu_product *is) {
    e->frame = __builtin_frame_address(0);
    struct warpgroup *w = warpgroup(e);
    check_product(e, is);
    struct product *p = issue(e, w, is);
    if (!same(&p->is, is) || p->group != e->threads[e->current].product_groups)
        block_mistake(e, EMU_MATRIX, "wgmma: the threads of the warpgroup want different ones");
    hand_over(e, p, is->acc);
    unsigned t = local(e) % WARPGROUP;
    p->a[t] = is->a_registers;
    if (is->a_registers) memcpy(p->was[t], is->a_registers, sizeof p->was[t]);
    judge_reads(e, w, p);
    if (p->issued++ == 0) each_operand(e, p, operand_mark, 0, M, unit_of(e, w));
}

void matrix_begin(struct emu *e) { e->threads[e->current].begun = true; }

void matrix_commit(struct emu *e) { e->threads[e->current].product_groups++; }

/* ---- the wait -------------------------------------------------------------------------------- */

static void hand_back(struct emu *e, struct warpgroup *w, struct accumulator *a) {
    float poison[2];
    memory_poison(poison, sizeof poison);
    for (unsigned t = 0; t < WARPGROUP; t++)
        for (int i = 0; i < a->n / 2; i++) {
            if (memcmp(a->at[t] + i, poison, sizeof *poison) != 0) {
                unsigned by = first_thread(e, w) + t;
                block_report(e, EMU_MATRIX, by, e->threads[by].frame,
                             "register %d of an accumulator was written before this wait", i);
                return;
            }
            a->at[t][i] = *value_of(a, t, i);
        }
}

static void drop_accumulator(struct warpgroup *w, struct accumulator *a) {
    struct accumulator **link = &w->accumulators;
    while (*link != a) link = &(*link)->next;
    *link = a->next;
    free(a->values);
    free(a);
}

static void check_registers(struct emu *e, struct warpgroup *w, const struct product *p) {
    for (unsigned t = 0; p->is.a_registers && t < WARPGROUP; t++) {
        if (memcmp(p->a[t], p->was[t], sizeof p->was[t]) == 0) continue;
        unsigned by = first_thread(e, w) + t;
        block_report(e, EMU_MATRIX, by, e->threads[by].frame,
                     "the left operand's registers were written before this wait");
        return;
    }
}

static void end_first(struct emu *e, struct warpgroup *w) {
    struct product *p = w->products;
    check_registers(e, w, p);
    multiply(e, p);
    each_operand(e, p, operand_end_reading, 0, M, unit_of(e, w));
    if (--p->acc->users == 0) {
        hand_back(e, w, p->acc);
        drop_accumulator(w, p->acc);
    }
    w->products = p->next;
    w->n_through++;
    free(p);
}

/* All 128 threads wait for the products up to a group. */
static void meet(struct emu *e, struct warpgroup *w) {
    const struct thread *self = &e->threads[e->current];
    unsigned first = first_thread(e, w);
    for (unsigned t = first; t < first + WARPGROUP; t++)
        if (e->threads[t].through != self->through || e->threads[t].products != self->products)
            block_mistake(e, EMU_MATRIX, "k_wgmma_wait: the threads of the warpgroup do not agree");
    e->now++;
    while (e->report.ok && w->products && w->products->group < self->through) end_first(e, w);
    if (!e->report.ok) block_stop(e);
    e->now++;
    for (unsigned t = first; t < first + WARPGROUP; t++) {
        sync_learn_unit(e, t, unit_of(e, w));
        e->threads[t].begun = false;
        block_wake(e, t);
    }
    w->waiting = 0;
}

void matrix_wait(struct emu *e, unsigned n) {
    struct thread *t = &e->threads[e->current];
    t->frame = e->frame = __builtin_frame_address(0);
    struct warpgroup *w = warpgroup(e);
    if (t->product_groups <= n) return;
    t->through = t->product_groups - n;
    if (t->products == w->n_through || !w->products || w->products->group >= t->through) return;
    t->state = AT_WARPGROUP;
    if (++w->waiting == WARPGROUP)
        meet(e, w);
    else
        block_suspend(e);
}

/* ---- other hooks ----------------------------------------------------------------------------- */

unsigned long long matrix_operand(struct emu *e, const void *at, unsigned lead, unsigned stride,
                                  unsigned type) {
    e->frame = __builtin_frame_address(0);
    const struct emu_module *m = e->module;
    WS_ASSERT((uintptr_t)m->dynamic % 1024 == 0);
    if (!memory_is_shared(e, at)) block_mistake(e, EMU_MATRIX, "k_operand: not in shared memory");
    if ((uintptr_t)at % PIECE)
        block_mistake(e, EMU_MISALIGNED, "k_operand: its address needs an alignment of 16");
    if (lead % PIECE || stride % PIECE || lead >= 0x40000 || stride >= 0x40000)
        block_mistake(e, EMU_MATRIX,
                      "k_operand: distances of %u and %u bytes: they are multiples "
                      "of 16 below 2^18",
                      lead, stride);
    uint64_t start = (uint64_t)((const unsigned char *)at - m->dynamic) & 0x3ffff;
    return (uint64_t)type << 62 | (uint64_t)(stride / PIECE) << 32 |
           (uint64_t)(lead / PIECE) << 16 | start / PIECE;
}

void matrix_registers(struct emu *e, unsigned n, int more) {
    e->frame = __builtin_frame_address(0);
    struct thread *t = &e->threads[e->current];
    struct warpgroup *w = warpgroup(e);
    if (n % 8 != 0 || n < 24 || n > 256)
        block_mistake(e, EMU_MATRIX, "%u registers: they come by eights, 24 to 256 of them", n);
    if (t->n_changes == MAX_CHANGES)
        block_mistake(e, EMU_MATRIX, "more than %d changes of registers", MAX_CHANGES);
    if (t->n_changes == w->n_changes) {
        w->changes[w->n_changes].n = n;
        w->changes[w->n_changes++].more = more;
        module_trail(e->module, e->frame, &w->change_trail);
    }
    unsigned i = t->n_changes++;
    if (w->changes[i].n != n || w->changes[i].more != more)
        block_mistake(e, EMU_MATRIX,
                      "the threads of the warpgroup change to different numbers of "
                      "registers");
}

/* ---- ends ------------------------------------------------------------------------------------ */

void matrix_thread_done(struct emu *e, unsigned t) {
    const struct thread *self = &e->threads[t];
    unsigned i = (t - e->b->first) / WARPGROUP;
    if (i >= MAX_WARPGROUPS) return;
    if (self->products != e->b->warpgroups[i].n_through)
        block_report(e, EMU_MATRIX, t, e->b->warpgroups[i].products->trail.frame,
                     "the thread ends while its wgmma is under way: k_wgmma_wait");
}

/* The registers of a multiprocessor are there for all warpgroups that have said how many. */
void matrix_block_done(struct emu *e, const struct block *b) {
    enum { REGISTERS = 65536 };
    unsigned total = 0, groups = e->n_threads / WARPGROUP, told = 0;
    for (unsigned i = 0; i < groups; i++) {
        const struct warpgroup *w = &b->warpgroups[i];
        for (unsigned t = 0; t < WARPGROUP; t++) {
            const struct thread *thread = &e->threads[b->first + i * WARPGROUP + t];
            if (thread->n_changes == w->n_changes) continue;
            block_report(e, EMU_MATRIX, b->first + i * WARPGROUP + t, w->change_trail.frame,
                         "others of its warpgroup have changed their number of registers");
            return;
        }
        if (!w->n_changes) continue;
        total += w->changes[w->n_changes - 1].n * WARPGROUP;
        told++;
    }
    if (told == groups && total > REGISTERS)
        block_report(e, EMU_MATRIX, b->first, b->warpgroups[0].change_trail.frame,
                     "the warpgroups want %u registers of %u", total, REGISTERS);
}

void matrix_drop_all(struct emu *e) {
    for (unsigned r = 0; r < e->n_blocks; r++) {
        e->b = &e->blocks[r];
        for (unsigned i = 0; i < MAX_WARPGROUPS; i++) {
            struct warpgroup *w = &e->b->warpgroups[i];
            for (struct product *p; (p = w->products);) {
                if (p->issued) each_operand(e, p, operand_release, 0, M, unit_of(e, w));
                w->products = p->next;
                free(p);
            }
            while (w->accumulators) drop_accumulator(w, w->accumulators);
        }
    }
}

/* space.c: the configs worth trying, in the order of the cost model; the first is the default by
 * rule.
 *
 * The generators of space_rows.c, space_products.c and space_cpu.c propose on a grid of powers of
 * two; kernel_layout refuses what is illegal, the cost model orders, and what lies far behind the
 * best estimate is pruned. Hints are added to the best of them. */
#include <math.h>
#include <stdlib.h>

#include "kernel/space.h"

static struct space space_of(const struct kernel *k, struct arena *a) {
    struct space s = {.k = k, .arena = a, .met = map_new(a)};
    s.lies = windows_may_lie(k, 0, &s.in_memory, a);
    return s;
}

void propose(struct space *s, struct config c) {
    struct layout y;
    bool legal = !kernel_layout(s->k, &c, &y, s->arena);
    if (legal && !map_put(&s->met, &c, sizeof c, 0)) return;
    if (legal) vec_push(s->arena, &s->all, ((struct candidate){c, kernel_cost(s->k, &y), 0}));
    if (y.shift || s->k->steps || s->k->limits->kind == DEVICE_CPU) return;
    c.knob[KNOB_shift] = 1;
    if (y.rows_inner) c.knob[KNOB_skip_l1] = 0; /* the next thread reads the second vector, too */
    propose(s, c);
}

static int by_cost(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Cheapest first; equal estimates keep the order of proposal. */
static void sort_by_cost(struct space *s) {
    for (uint32_t i = 0; i < s->all.n; i++) s->all.at[i].place = i;
    if (s->all.n) qsort(s->all.at, s->all.n, sizeof *s->all.at, by_cost);
}

static bool listed(const struct config *list, int n, const struct config *c) {
    for (int i = 0; i < n; i++)
        if (config_equal(&list[i], c)) return true;
    return false;
}

/* Blocks of a multiprocessor when threads have registers for the kept row and little more: what
 * compilers would keep besides, they then make again. That gains much or loses much (softmax of
 * bf16[4096, 4096] took 55 us for 18 on an H200), so it is tried, and never a first guess. */
static int tight_fit(const struct kernel *k, const struct layout *y) {
    enum { OTHERS = 48 };
    if (!y->one_read || k->kind != KERNEL_REDUCE || k->columns) return 0;
    return (int)(k->limits->regs_unit / (y->threads * (layout_load_words(k, y) + OTHERS)));
}

static int hint(const struct kernel *k, const struct layout *y, const struct config *c,
                enum knob h) {
    if (h == KNOB_fit) return y->product ? c->knob[h] : tight_fit(k, y);
    if (h == KNOB_nt && (k->limits->kind == DEVICE_CPU || !stores_columns(k))) return 0;
    return !c->knob[h];
}

/* So little that no cache is short of room: cat(x, y) of 3.2 MB takes an H200 2.26 us with stay_l2
 * and 2.36 without, what moves less than 1 MB as long either way. */
static bool moves_little(const struct kernel *k) { return k->bytes_read + k->bytes_written < 1e6; }

/* Behind the n configs of the list, the `most` from `first` on with hint h turned over; returns how
 * many these are. */
static int add_hint(const struct kernel *k, struct arena *a, struct config *list, int first,
                    int most, int n, enum knob h) {
    int added = 0;
    for (int i = first; i < first + most; i++) {
        struct config c = list[i];
        struct layout y;
        if (kernel_layout(k, &c, &y, a)) continue;
        c.knob[h] = hint(k, &y, &c, h);
        if (!listed(list, n + added, &c) && !kernel_layout(k, &c, &y, a)) list[n + added++] = c;
    }
    return added;
}

/* The cost model cannot tell what a copy in L1 is worth, or not to wait for the maximum of rows
 * that are kept, or fewer registers, or stores that make room in L2, or loads that do, or that do
 * not: the best few are tried both ways, with what gains most often first. */
static int add_hinted(const struct kernel *k, struct arena *a, struct config *list, int n) {
    static const struct {
        enum knob knob;
        int most;
    } hints[N_HINTS] = {{KNOB_stay_l2, MAX_STAYING}, {KNOB_online, MAX_HINTED},
                        {KNOB_nt, MAX_STREAMED},     {KNOB_skip_l1, MAX_HINTED},
                        {KNOB_fit, MAX_HINTED},      {KNOB_leave_l2, MAX_LEAVING}};
    int all = n;
    for (int h = 0; h < N_HINTS; h++) {
        bool of_memory = hints[h].knob != KNOB_online && hints[h].knob != KNOB_fit;
        if (of_memory && moves_little(k)) continue;
        int most = hints[h].most < n ? hints[h].most : n;
        all += add_hint(k, a, list, 0, most, all, hints[h].knob);
    }
    return all - n;
}

/* Rows that are kept could also be copied ahead by persistent blocks. What that gains has not been
 * measured: it is tried, and never a first guess. */
static int add_ahead(const struct kernel *k, struct arena *a, struct config *list) {
    struct space s = space_of(k, a);
    int n = 0;
    if (k->limits->kind == DEVICE_CPU || k->kind != KERNEL_REDUCE || k->rows_inner || k->columns)
        return 0;
    propose_blocks(&s);
    sort_by_cost(&s);
    for (uint32_t i = 0; i < s.all.n && n < MAX_AHEAD; i++) list[n++] = s.all.at[i].c;
    return n;
}

/* What it costs to read a row again is a guess, too: from L2 it took from a twentieth to nearly all
 * of the first time, on an H200. Where rows can be kept, a few that are not are tried. */
static int add_again(const struct space *s, uint32_t from, struct config *list, int n) {
    int added = 0;
    if (s->k->limits->kind == DEVICE_CPU || s->k->kind != KERNEL_REDUCE || !list[0].knob[KNOB_keep])
        return 0;
    for (uint32_t i = from; i < s->all.n && added < MAX_AGAIN; i++) {
        const struct config *c = &s->all.at[i].c;
        bool again = !c->knob[KNOB_keep] && !c->knob[KNOB_split];
        if (again && !listed(list, n + added, c)) list[n + added++] = *c;
    }
    return added;
}

/* What blocks that look back take is known of long rows: of short ones two are tried, too; and,
 * where rounds of blocks come first, two of a tile each. */
static int add_looking(const struct space *s, uint32_t from, struct config *list, int n) {
    int added = 0;
    for (uint32_t i = from; i < s->all.n && added < MAX_LOOKING; i++) {
        const struct config *c = &s->all.at[i].c;
        bool rounds = c->knob[KNOB_blocks] > 0;
        if (c->knob[KNOB_look_back] && !rounds && s->k->kind == KERNEL_SCAN &&
            !listed(list, n + added, c))
            list[n + added++] = *c;
    }
    return added;
}

/* What it costs to list sources has not been measured: a few such configs are tried, whatever the
 * cost model says; and some that sort them before, unless they are far behind. */
static int add_listing(const struct space *s, uint32_t from, struct config *list) {
    enum { FAR = 5 };
    int added = 0, most[] = {MAX_LISTING, 2, MAX_OWN, MAX_OWN, MAX_OWN, MAX_OWN};
    for (uint32_t i = from; i < s->all.n; i++) {
        const struct config *c = &s->all.at[i].c;
        int sort = c->knob[KNOB_sort];
        if (sort && s->all.at[i].cost > FAR * s->all.at[0].cost) continue;
        if (c->knob[KNOB_hits] && most[sort]-- > 0) list[added++] = *c;
    }
    return added;
}

/* Where rows are only read, the first of them also with loads that leave L2 to what waits there to
 * be written: the cost model knows what that gains. */
static void propose_leaving(struct space *s) {
    enum { FIRST = 8 };
    const struct kernel *k = s->k;
    bool never = k->limits->kind == DEVICE_CPU || k->kind != KERNEL_REDUCE || moves_little(k);
    if (never || stores_columns(k)) return;
    uint32_t n = s->all.n < FIRST ? s->all.n : FIRST;
    for (uint32_t i = 0; i < n; i++) {
        struct config c = s->all.at[i].c;
        if (c.knob[KNOB_skip_l1]) continue;
        c.knob[KNOB_leave_l2] = 1;
        propose(s, c);
    }
    sort_by_cost(s);
}

/* Do rows of the product move on to memory's vectors, which takes an epilogue as long as steps? */
static bool moves_rows(const struct space *s) {
    struct layout y;
    if (!s->all.n || kernel_layout(s->k, &s->all.at[0].c, &y, s->arena) || !y.product) return false;
    bool any = false;
    for (uint32_t i = 0; i < s->k->stores.n; i++)
        any |= store_begins_anywhere(s->k, y.product, &s->k->stores.at[i]);
    return any;
}

/* Are results of 32 bits stored behind few steps, which are about as long as that? */
static bool stores_behind_few(const struct kernel *k, const struct layout *y) {
    enum { LEAST = 4, MOST = 8, WORD = 4 };
    double steps = y->product->mean_steps;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        uint32_t buffer = k->stores.at[i].buffer;
        if (dtype_bytes(k->schedule->loops->buffers.at[buffer].meta.dtype) < WORD) return false;
    }
    return steps >= LEAST && steps <= MOST;
}

/* Are tiles in turn, of many that a block has, about as fast as others, the model says, and is what
 * stands behind them long, which it knows little of? gelu behind 8192 x 4096 x 16384 in bf16 takes
 * an H200 1441 us by 128 x 192 in turn, 1526 to 1551 by 128 x 256; the product by itself takes 1399
 * and 1389. 1048576 x 256 x 768 in tf32 takes it 1278 by 128 x 192 in turn, 1353 by 128 x 128 in
 * turn, 1517 by 128 x 256. */
static bool hides_epilogue(const struct space *s, const struct config *c, double us,
                           double others) {
    enum { LONG = 16, MANY = 8 }; /* instructions, tiles of a block */
    const double AS_FAST = 0.98;
    struct layout y;
    if (s->k->kind != KERNEL_MATMUL || us * AS_FAST >= others ||
        kernel_layout(s->k, c, &y, s->arena))
        return false;
    bool is_long = epilogue_size(s->k, 1) >= LONG || stores_behind_few(s->k, &y);
    return is_long && matrix_all_tiles(s->k, &y) >= MANY * matrix_clusters(s->k, &y);
}

/* Warpgroups in turn gain behind a long epilogue and lose behind none, by how much the model does
 * not know: they are tried, and never a first guess; but of rows that begin anywhere, where 1024 x
 * 768 x 50257 takes an H200 129.6 us by 128 x 192 in turn, 138.3 by 128 x 256; where they hide what
 * stands behind many tiles; and of rows that are windows, as those of phases, whose channels and
 * taps are few steps for what is stored. 262144 pixels of 512 phases and filters, 256 deep, take it
 * 138 us by 128 x 128 in turn, 188 by 128 x 256 and 276 by 192 x 128; of 27 taps in three
 * dimensions it takes 265 by 128 x 128 in turn, 283 by 192 x 128 in turn; and what takes 1274 by
 * 128 x 128 in turn takes 2130 by 64 x 256. And of columns that are windows, behind which something
 * is loaded or summed up: 200704 pixels of 64 filters, 3 x 3, take it 35 us in turn and 37 else
 * where a batch norm's sums stand behind, 41 and 55 where one load does, 60 and 81 where two loads
 * and three sums do; in tf32 such take longer in turn (1187 us for 1009, 1237 for 1188). */
static bool may_be_in_turn(const struct space *s, uint32_t i) {
    enum { ROWS = 128 };
    const double GAIN = 1.04;
    double others = INFINITY;
    const struct candidate *c = &s->all.at[i];
    for (uint32_t j = 0; j < s->all.n && others == INFINITY; j++)
        if (!s->all.at[j].c.knob[KNOB_pingpong]) others = s->all.at[j].cost;
    if (!s->k->im2col[0][0] && !s->k->im2col[1][0])
        return hides_epilogue(s, &c->c, c->cost, others);
    bool columns = im2col_has_taps(s->k->im2col[1][0]);
    if (columns && !product_may_be_tf32(s->k) && (s->k->over || epilogue_loads(s->k)))
        return c->cost * GAIN < others;
    if (!im2col_has_taps(s->k->im2col[0][0])) return false;
    if (c->c.knob[KNOB_m] != ROWS || c->c.knob[KNOB_n] < ROWS) return false;
    if (size_of(s->k, AXIS_N) < c->c.knob[KNOB_n]) return false; /* 1346 us, 966 by 128 x 64 */
    return c->cost * GAIN < others;
}

/* One product before and one behind, as attention is forward: what turns gain there is measured
 * (cost_chained). */
static bool is_one_pair(const struct space *s) {
    struct layout y;
    return s->k->kind == KERNEL_CHAINED && s->all.n &&
           !kernel_layout(s->k, &s->all.at[0].c, &y, s->arena) && y.chained->n_first == 1 &&
           y.chained->n_second == 1;
}

static void put_first(struct space *s, uint32_t at) {
    struct candidate guess = s->all.at[at];
    for (uint32_t i = at; i > 0; i--) s->all.at[i] = s->all.at[i - 1];
    s->all.at[0] = guess;
}

/* Four warpgroups in turn, of which one alone waits for each instruction of a long epilogue, and
 * for what it exchanges of columns that lie between rows, as those of phases do: tanh behind 8.4
 * million pixels of 64 filters takes an H200 1873 us so, 2210 by two in turn, 1908 by three. What
 * is short behind phases takes as long, or longer: 1320 for 1412, 1531 for 1454, 693 for 669. */
static bool waits_long_in_turn(const struct space *s, uint32_t i) {
    enum { LONG = 16, MORE = 3 };
    struct layout y;
    const struct config *c = &s->all.at[i].c;
    return s->k->kind == KERNEL_MATMUL && c->knob[KNOB_pingpong] == MORE &&
           epilogue_size(s->k, 1) >= LONG && !kernel_layout(s->k, c, &y, s->arena) &&
           y.product->turned && y.product->beside > 1;
}

static void guess_no_turns(struct space *s) {
    uint32_t first = 0, turn = 0;
    if (moves_rows(s) || is_one_pair(s)) return;
    while (first < s->all.n && s->all.at[first].c.knob[KNOB_pingpong] && !may_be_in_turn(s, first))
        first++;
    while (turn < s->all.n && !s->all.at[turn].c.knob[KNOB_pingpong]) turn++;
    if (turn > first && turn < s->all.n && may_be_in_turn(s, turn)) first = turn;
    if (first == s->all.n) return;
    put_first(s, first);
    for (uint32_t i = 0; i < s->all.n; i++)
        if (waits_long_in_turn(s, i)) {
            put_first(s, i);
            return;
        }
}

/* Does nothing of the program come behind it, in each call? */
static bool is_last(const struct kernel *k) {
    const struct schedule *s = k->schedule;
    for (uint32_t g = k->group + 1; g < s->groups.n; g++)
        if (!s->groups.at[g].at_load) return false;
    return true;
}

/* Elements that go through L2, more of them than it holds: what is loaded leaves it after what is
 * stored. ReLU of 1.6e9 f32 takes an H200 2974 us so for 3022, SELU 2976 for 3025; of 16.8e6, 32.8
 * for 33.7. What such loads leave in L2 stays there behind the kernel, of which others would have
 * less: so that is a first guess at the end of a program alone. */
static void guess_staying(struct space *s) {
    const struct kernel *k = s->k;
    double l2 = (double)k->limits->l2_bytes;
    if (k->limits->kind == DEVICE_CPU || k->kind != KERNEL_POINTWISE || !is_last(k)) return;
    if (k->bytes_read <= l2 || k->bytes_written <= l2) return;
    for (uint32_t i = 0; i < s->all.n; i++) {
        struct config c = s->all.at[i].c;
        struct layout y;
        c.knob[KNOB_stay_l2] = 1;
        if (kernel_layout(k, &c, &y, s->arena)) continue;
        double cost = kernel_cost(k, &y); /* less, of rows that are torn */
        if (cost > s->all.at[i].cost) continue;
        s->all.at[i].c = c;
        s->all.at[i].cost = cost;
    }
    sort_by_cost(s);
}

/* All that is worth trying, cheapest first. */
static struct space all_configs(const struct kernel *k, struct arena *a) {
    struct space s = space_of(k, a);
    if (k->kind == KERNEL_RECURRENCE)
        propose_recurrence(&s);
    else if (k->limits->kind == DEVICE_CPU)
        propose_cpu(&s);
    else if (k->kind == KERNEL_PERSISTENT)
        propose_persistent(&s);
    else if (k->kind == KERNEL_SORT)
        propose_sort(&s);
    else if (k->kind == KERNEL_MATMUL)
        propose_matmul(&s);
    else if (k->kind == KERNEL_CHAINED)
        propose_chained(&s);
    else if (k->kind == KERNEL_POINTWISE)
        propose_pointwise(&s);
    else if (k->columns)
        propose_blocks(&s);
    else if (k->rows_inner && k->kind == KERNEL_SCAN)
        propose_scan_rows(&s);
    else if (k->rows_inner)
        propose_rows(&s), propose_hits(&s), propose_own_hits(&s), propose_in_turn(&s),
            propose_turns_adds(&s), propose_adds(&s);
    else
        propose_columns(&s);
    if (s.all.n) sort_by_cost(&s);
    guess_no_turns(&s);
    return s;
}

/* Whoever chooses between kernels asks again what the chosen one takes. */
struct ranking {
    bool known;
    struct config best;
    double us;
};

struct ranking *ranking_unknown(struct arena *a) {
    return NEW(a, struct ranking);
}

double kernel_least_cost(const struct kernel *k, struct config *best, struct arena *a) {
    struct ranking *r = k->ranking;
    if (!r->known) {
        struct space s = all_configs(k, a);
        *r = (struct ranking){.known = true, .us = INFINITY};
        if (s.all.n) r->best = s.all.at[0].c, r->us = s.all.at[0].cost;
    }
    if (best) *best = r->best;
    return r->us;
}

void kernel_rank_by_warps(const struct kernel *k, struct ranked *r, struct arena *a) {
    struct space s = all_configs(k, a);
    for (int w = 0; w < RANKED_WARPS; w++) {
        r->us[w] = INFINITY;
        for (uint32_t i = 0; i < s.all.n && r->us[w] == INFINITY; i++) { /* cheapest first */
            struct layout y;
            const struct config *c = &s.all.at[i].c;
            if (c->knob[KNOB_warps] != 1 << w || kernel_layout(k, c, &y, a) || !r->allows(&y))
                continue;
            r->us[w] = s.all.at[i].cost;
            r->of[w] = *c;
        }
    }
}

static struct space legal_configs(const struct kernel *k, struct arena *a) {
    struct space s = all_configs(k, a);
    if (!s.all.n) WS_BUG("no legal config for %s", k->name);
    guess_staying(&s);
    propose_leaving(&s);
    return s;
}

struct config kernel_default_config(const struct kernel *k, struct arena *a) {
    return legal_configs(k, a).all.at[0].c;
}

void kernel_configs(const struct kernel *k, struct arena *a, const struct config **out, int *n,
                    int *pruned) {
    struct space s = legal_configs(k, a);
    uint32_t keep = s.all.n < MAX_CONFIGS ? s.all.n : MAX_CONFIGS;
    while (keep > 16 && s.all.at[keep - 1].cost > 3 * s.all.at[0].cost) keep--;
    struct config *list = NEW_ARRAY(a, struct config,
                                    keep + N_HINTS * MAX_STAYING + 2 * MAX_AHEAD + MAX_AGAIN +
                                        MAX_LOOKING + MAX_LISTING + 2 + 2 * MAX_OWN);
    for (uint32_t i = 0; i < keep; i++) list[i] = s.all.at[i].c;
    *out = list;
    *n = (int)keep + add_hinted(k, a, list, (int)keep);
    int ahead = add_ahead(k, a, list + *n);
    *n += ahead;
    *n += add_hint(k, a, list, *n - ahead, ahead, *n, KNOB_stay_l2);
    int again = add_again(&s, keep, list, *n), listing = 0;
    *n += again;
    int looking = add_looking(&s, keep, list, *n);
    *n += looking;
    if (k->landing) listing = add_listing(&s, keep, list + *n);
    *n += listing;
    *pruned = (int)(s.all.n - keep) - again - looking - listing;
}

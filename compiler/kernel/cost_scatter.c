/* cost_scatter.c: what a config takes on a GPU of sums whose sources land where an index says
 * (layout.h: hits, own, turns): sources are listed, counted or sorted by where they land, and
 * blocks take up those of their span. The numbers are fitted to times of an H200 unless they say
 * so. */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

/* Instructions of a warp, for each of its elements: of what varies with r alone, or with x, too. */
static double column_work(const struct kernel *k, uint8_t mask) {
    double work = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->mask != mask) continue;
        if (x->kind == INST_OP) work += op_is_expensive(x->op) ? 8 : 1.5;
        if (x->kind == INST_LOAD) work += 2;
    }
    return work;
}

/* Registers that hold what is under way of `ur` sources; if all that is taken up lands, indices
 * were only looked at before. */
static double hit_words(const struct kernel *k, const struct layout *y) {
    bool always = layout_lands_always(k, y, k->landing->equal);
    double words = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        if (x->mask & MASK_X)
            words += y->ur * ceil(y->vec * dtype_bytes(x->dtype) / 4.0);
        else if (!always)
            words += y->ur * ceil(dtype_bytes(x->dtype) / 4.0);
    }
    return words;
}

/* Launches that sort sources by where they land: each takes them in and out once, in steps of a
 * block that wait for each other. Not measured yet. */
static double sort_us(const struct kernel *k) {
    const double LAUNCH_US = 2.5, STEP_US = 1.5, STEP = 256, BYTES = 20;
    const struct device_limits *d = k->limits;
    double nr = (double)kernel_size(k, AXIS_R), blocks = (double)layout_sort_blocks(k),
           passes = layout_sort_passes(k), waves = ceil(blocks / (8.0 * d->units)),
           steps = ceil(nr / blocks / STEP) * waves * STEP_US;
    return LAUNCH_US * (1 + 3 * passes) +
           passes * (steps + nr * BYTES / (device_gbps(d) * 1e3 * 0.5));
}

/* Launches that sort by blocks of rows: each goes along its sources in steps that wait. How many of
 * each bucket a block has is written, summed up and read again, in L2. Where order does not matter
 * sources are dealt out by atomics, in less time each; the more buckets, the shorter their runs. */
static double buckets_us(const struct kernel *k, const struct layout *y) {
    const double LAUNCH_US = y->adds ? 1.6 : 2.5, STEP_US = 1, EACH_BUCKET = y->adds ? 5e-3 : 1e-3,
                 SCATTERED = y->adds ? 0.6 : 0.5, L2_FASTER = 2;
    const struct device_limits *d = k->limits;
    double nr = (double)kernel_size(k, AXIS_R), buckets = (double)layout_buckets(k, y),
           sorts = (double)layout_bucket_blocks(k, y), threads = layout_bucket_threads(k, y),
           room = floor(d->smem_unit / ((double)layout_bucket_bytes(k, y) + SMEM_RESERVED)),
           waves = ceil(sorts / (fmax(1, fmin(room, 1024 / threads)) * d->units)),
           each = layout_bucket_each(k, y), steps = ceil(nr / sorts / (threads * each)) * waves;
    return 3 * LAUNCH_US + 2 * steps * (STEP_US + EACH_BUCKET * buckets) +
           buckets * sorts * 4 * 4 / (device_gbps(d) * 1e3 * L2_FASTER) +
           nr * (8 + 8 + 16) / (device_gbps(d) * 1e3 * SCATTERED);
}

/* And that sort each of these by row: warps have a part each, and go along it twice. Not measured
 * yet. */
static double bucket_lists_us(const struct kernel *k, const struct layout *y) {
    const double LAUNCH_US = 2.5, FIRST_US = 1.5, STEP = 1024, STEP_US = 1, BLOCKS = 4;
    const struct device_limits *d = k->limits;
    double nr = (double)kernel_size(k, AXIS_R), buckets = (double)layout_buckets(k, y),
           waves = ceil(buckets / (BLOCKS * d->units)), steps = ceil(nr / buckets / STEP);
    return LAUNCH_US + waves * (FIRST_US + steps * STEP_US) +
           nr * (16 + 4) / (device_gbps(d) * 1e3 * 0.5);
}

/* The same, and where each row's begin: few sources are counted or listed in one launch. */
double cost_sort(const struct kernel *k, const struct layout *y) {
    const double COUNT_US = 3, COUNTED = 3e-7, BEGINS_US = 3;
    const double LISTS_US = 4, LISTED = 4e-4; /* not measured yet */
    double nr = (double)kernel_size(k, AXIS_R);
    return layout_counts_sort(k, y)    ? COUNT_US + COUNTED * nr * nr
           : layout_lists_sort(k, y)   ? LISTS_US + LISTED * nr
           : layout_buckets_sort(k, y) ? buckets_us(k, y) + bucket_lists_us(k, y)
                                       : sort_us(k) + BEGINS_US;
}

/* Sources that are listed by where they land (hits.c): every block looks at all indices, which come
 * from L2 but for the first time, in steps that wait for memory and for each other; then it takes
 * up what it has found, `ur` at a time. OFF is by how much an H200 was slower than that: index_add
 * to f32[9089, 85] by x=2048 r=32 warps=4 rows=16 hits=16 takes it 34 us, the gradient of
 * bf16[50257, 768] by 8192 tokens 209 by x=32768 r=16 warps=16 vec=4 rows=16 hits=16. */
static double hits_cost(const struct kernel *k, const struct layout *y) {
    const double STEP_US = 1.2, BATCH_US = 1, TEST = 9, HIT = 14, EACH = 4, L2_FASTER = 1.5;
    /* Elements of a vector that are of rows of their own are asked one by one, and their threads
     * part: what is added along the last axis of bf16[1999669, 256], to 64, takes an H200
     * 221 ms. */
    const double PARTED = 14, OFF = 2.6;
    const struct device_limits *d = k->limits;
    double words = hit_words(k, y), nr = (double)kernel_size(k, AXIS_R);
    double registers = 36 + fmax(words + 4 * y->vec, 3 * y->hits),
           most = fmin(255, (double)(d->regs_unit / y->threads));
    if (registers > most) registers = fmax(words + 40, most); /* less is kept */
    if (registers > 255) return 1e9;                          /* would spill */
    double resident =
        fmin(d->max_threads_unit / y->threads, d->regs_unit / (registers * y->threads));
    resident = fmin(resident, (double)(d->smem_unit / (y->smem + SMEM_RESERVED)));
    resident = floor(fmin(resident, d->max_blocks_unit));
    if (resident < 1) return 1e9;
    double blocks = ceil(ceil((double)kernel_size(k, AXIS_X) / y->bx) / y->held) * y->split;
    double part = ceil(nr / y->split), waves = ceil(blocks / (resident * d->units));
    double near = layout_tiles_of_hit(k, y), hits = layout_hits(k, y) * near;
    double ghz = device_clock_ghz(k->limits), warps = layout_warps(k, y);
    double listed = y->sorted ? hits : part; /* sources that a block looks at */
    double tests = listed / d->warp * (TEST + (y->sorted ? 0 : column_work(k, MASK_R))),
           landed = hits * warps * (HIT + y->vec * (EACH + column_work(k, MASK_X | MASK_R))),
           rows = y->held * warps * y->vec * 8;
    if (ex_hint(k->ex, k->landing->inner) < y->vec) landed *= PARTED;
    double busy = blocks * (tests + landed + rows) / (d->units * 4 * 0.7 * ghz * 1e3);
    double gbps = device_gbps(d), memory = cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85),
           again = blocks * listed * 8 / (gbps * 1e3 * L2_FASTER);
    double alone = ceil(listed / (y->threads * y->hits)) * STEP_US + ceil(hits / y->ur) * BATCH_US +
                   0.2 * y->held;
    double us = hypot(memory, OFF * hypot(busy, hypot(again, waves * alone)));
    return us + cost_finish_us(k, y) + 1 + (layout_sorts(k, y) ? sort_us(k) : 0);
}

/* Loads of what a source brings to all spans, beside where it lands: each lies somewhere. */
static double loads_of_sources(const struct kernel *k) {
    double n = -1;
    for (value_id v = 0; v < k->values.n; v++)
        n += k->values.at[v].kind == INST_LOAD && k->values.at[v].mask == MASK_R;
    return fmax(n, 0);
}

/* What a source brings to a span: sectors of memory that one run of its elements lies in. */
static double run_sectors(const struct kernel *k) {
    double bytes = 0, inner = (double)ex_hint(k->ex, k->landing->inner);
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_LOAD && k->values.at[v].mask == (MASK_X | MASK_R))
            bytes = fmax(bytes, inner * dtype_bytes(k->values.at[v].dtype));
    return bytes ? ceil(bytes / SECTOR) : 0;
}

/* Threads that go along the sources of their own elements (cuda_own.c): a warp as long as its
 * longest list. Lists, what they name, and what that names are three loads one after the other.
 * Blocks begin one after the other: the gradient of bf16[50257, 768] by 8192 tokens takes an H200
 * 216 us by 151000 blocks, 126 by half as many, 81 and 65. */
static double own_cost(const struct kernel *k, const struct layout *y) {
    const double HEAD = 25, ROW = 6, STEP = 6, EACH = 2, LOAD = 2, WAIT_US = 0.45, L2_FASTER = 1.3;
    const double BEGIN_US = 1.3e-3, L1 = 180e3;
    const struct device_limits *d = k->limits;
    double rows = (double)ex_hint(k->ex, k->landing->rows), nr = (double)kernel_size(k, AXIS_R),
           inner = fmax(1, (double)ex_hint(k->ex, k->landing->inner)), each = nr / fmax(rows, 1),
           near = fmin(rows, ceil(d->warp * y->vec / inner)),
           longest = each + sqrt(2 * each * log(near)) + (near > 1 ? 0.5 : 0);
    double loads = loads_of_sources(k),
           registers = 32 + hit_words(k, y) * y->ex + 2 * loads * y->ur + 2 * y->ex * y->vec;
    if (registers > 255) return 1e9; /* would spill */
    double resident = fmin(d->max_threads_unit, d->regs_unit / registers) / y->threads;
    resident = fmax(1, floor(fmin(resident, d->max_blocks_unit)));
    double spans = (double)layout_spans(k), span = (double)layout_span(k), tile = y->bx / y->ex,
           blocks = ceil(span / tile) * ceil(spans / y->ex),
           waves = ceil(blocks / (resident * d->units)), steps = ceil(longest / y->ur);
    double step = STEP + column_work(k, MASK_R) +
                  y->ex * (LOAD + y->vec * (EACH + column_work(k, MASK_X | MASK_R)));
    double work = HEAD + ROW * y->ex * y->vec + steps * y->ur * step;
    double ghz = device_clock_ghz(d), gbps = device_gbps(d);
    double busy = blocks * layout_warps(k, y) * work / (d->units * 4 * 0.7 * ghz * 1e3);
    /* a block's sources share sectors where they are many of all */
    double sectors = run_sectors(k), all = ceil(nr * sectors / fmax(1, 8 / inner)),
           taken = fmin(1, tile / span) * nr * sectors,
           shared = fmin(1, L1 / fmax(1, resident * y->ex * all * 32)),
           distinct = all > 0 ? all * (1 - exp(-taken / all)) * shared + taken * (1 - shared) : 0,
           again = blocks * y->ex * distinct * 32 / (gbps * 1e3 * L2_FASTER),
           there = fmax(1, all / 4), active = fmin(near, d->warp) * each / fmax(longest, 1e-9),
           lines = near * each > 0 ? there * (1 - exp(-active / there)) / fmax(active, 1e-9) : 0;
    lines *= spans * nr * fmax(1, sectors / 4) / (d->units * ghz * 1e3); /* a line a clock */
    double scattered = loads * nr * 32 / (gbps * 1e3 * 0.5);
    double memory = cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85) + scattered;
    double none = exp(-near * each); /* warps to which nothing lands */
    double alone = waves * WAIT_US * (1 + (1 - none) * (1 + steps * (1 + loads)));
    double sort = layout_sorts(k, y) ? cost_sort(k, y) : 0;
    double us = hypot(hypot(memory, busy + lines), hypot(again, alone));
    return hypot(us, blocks * BEGIN_US) + cost_finish_us(k, y) + 1 + sort;
}

/* Warps that take a source a thread, in turns (cuda_turns.c), behind three launches: each of these
 * and of the warps goes along its sources in steps that wait; then it stores its rows, one after
 * the other. The text of each that a thread has at a time comes from memory once: 2^17 sources take
 * an H200 17.8 us by eight of them, 15.7 by two. What lands on 2^20 elements, from as many
 * sources, takes it 66 us by blocks of 512, 71 of 1024 and 140 of 4096; on 2^21 of bf16 103 us of
 * 1024, about half of which are this launch's, and 88 of 512. */
static double turns_hits_cost(const struct kernel *k, const struct layout *y) {
    const double STEP = 60, WAIT_US = 0.6, TURN_US = 0.1, CLEAR_US = 1, TEXT_US = 0.4,
                 SCATTERED = 0.5;
    const struct device_limits *d = k->limits;
    double nr = (double)kernel_size(k, AXIS_R), buckets = (double)layout_buckets(k, y),
           loads = layout_carried(k, y) == NO_VALUE ? loads_of_sources(k) : 0,
           gbps = device_gbps(d), ghz = device_clock_ghz(d);
    double resident = fmin(d->max_blocks_unit, floor(d->smem_unit / (y->smem + SMEM_RESERVED)));
    if (resident < 1) return 1e9;
    double each = nr / buckets / d->warp / y->ur, turn = WAIT_US * (1 + loads) + TURN_US * y->ur,
           alone = ceil(buckets / (resident * d->units)) * (ceil(each) * turn + CLEAR_US * y->held);
    double work = STEP + column_work(k, MASK_R) + column_work(k, MASK_X | MASK_R),
           busy = (nr * work + kernel_size(k, AXIS_X) * 20) / d->warp /
                  (d->units * 4 * 0.7 * ghz * 1e3);
    double memory =
        cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85) + loads * nr * 32 / (gbps * 1e3 * SCATTERED);
    return buckets_us(k, y) + hypot(hypot(memory, busy), alone) + cost_finish_us(k, y) + 1 +
           TEXT_US * y->ur;
}

/* Sources that are added up as whole numbers (cuda_adds.c), in L2: each launch is over when its
 * first threads are, who wait for where they land, for what they bring, and then for L2, which has
 * so many atomics a time, fewer of 64 bits; one element has one after the other. Sums lie in memory
 * before. 2^17 sources of f16 to as many elements take an H200 7.9 us, of f32 10.4, and 2^21 of
 * them 70 and 106. */
static double adds_cost(const struct kernel *k, const struct layout *y) {
    enum { THREADS = 256 };
    const double LAUNCH_US = 1.1, WAIT_US = 0.6, FINISH_US = 1.3, SECOND_US = 0.6, ADD = 2.6e-5,
                 SCALE = 1.6e-5, AGAIN = 2e-3, OWN_ROW = 20, BEGIN_US = 3e-4, IDLE_US = 1,
                 APART_US = 0.05; /* sums of a vector lie apart */
    const struct device_limits *d = k->limits;
    double all = (double)kernel_size(k, AXIS_R) * (double)ex_hint(k->ex, k->landing->inner) *
                 (double)layout_spans(k),
           nx = (double)kernel_size(k, AXIS_X), sums = 0, scaled = 0, gbps = device_gbps(d),
           blocks = ceil(all / y->ur / THREADS); /* fewer than multiprocessors leave some idle */
    for (value_id v = 0; v < k->values.n; v++) {
        if (k->values.at[v].kind != INST_REDUCE) continue;
        sums++, scaled += !layout_adds_exactly(k, v);
    }
    double bytes = (8 * sums + 4 * scaled) * nx,
           missed = fmax(0, 1 - 0.5 * (double)d->l2_bytes / bytes),
           atomics = sums * all * ADD + scaled * all * SCALE + (sums + scaled) * all / nx * AGAIN +
                     missed * (sums + scaled) * all * 2 * 64 / (gbps * 1e3),
           memory = cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85) + 2 * bytes / (gbps * 1e3),
           work = OWN_ROW + column_work(k, MASK_R) + column_work(k, MASK_X | MASK_R),
           busy = ((scaled > 0 ? 2 : 1) * all * work + nx * OWN_ROW) / d->warp /
                  (d->units * 4 * 0.7 * device_clock_ghz(d) * 1e3);
    return LAUNCH_US + WAIT_US * (1 + loads_of_sources(k)) + (scaled > 0 ? SECOND_US : 0) +
           FINISH_US + APART_US * y->vec + hypot(memory, busy) + atomics +
           BEGIN_US * (blocks + nx / y->bx) +
           IDLE_US * (scaled > 0 ? 2 : 1) * fmax(0, fmin(nx, d->units) / blocks - 1);
}

/* The same in shared memory: a block looks at all sources of its span, some of a thread at a time,
 * and meets three times. 4096 sources to as many elements take an H200 3.2 us, by x=1024; 512 to
 * 36000, by 2048, 2.4; 16000 to 100000, by 4096, 8.0. */
static double adds_here_cost(const struct kernel *k, const struct layout *y) {
    const double LAUNCH_US = 1.1, WAIT_US = 0.6, MEETS_US = 0.6, EACH_US = 0.12, SOURCE = 50,
                 OWN_ROW = 40, L2_FASTER = 1.3;
    const struct device_limits *d = k->limits;
    double gbps = device_gbps(d), ghz = device_clock_ghz(d),
           tiles = ceil((double)layout_span(k) / y->bx), blocks = tiles * (double)layout_spans(k),
           loads = loads_of_sources(k), warps = layout_warps(k, y),
           chain = layout_brings_same(k) ? 1 : 2,
           registers = fmin(255, 40 + y->ur * (4 + 2 * hit_words(k, y) / y->ur)),
           resident =
               fmin(d->max_threads_unit / y->threads, d->regs_unit / (registers * y->threads));
    resident = floor(fmin(resident, (double)d->smem_unit / (y->smem + SMEM_RESERVED)));
    resident = fmax(1, fmin(resident, d->max_blocks_unit));
    double waves = ceil(blocks / (resident * d->units)),
           alone = waves *
                   (WAIT_US * (chain + fmax(0, loads - 1)) + MEETS_US + EACH_US * (y->ur + y->ex)),
           each = (double)kernel_size(k, AXIS_R) * (double)ex_hint(k->ex, k->landing->inner) /
                  (double)(y->ur * y->threads),
           work =
               y->ur * each * (SOURCE + column_work(k, MASK_R) + column_work(k, MASK_X | MASK_R)) +
               y->ex * OWN_ROW,
           busy = ceil(blocks / d->units) * warps * work / (4 * 0.7 * ghz * 1e3),
           memory = cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85) +
                    (tiles - 1) * cost_traffic(k, y, 1) / (gbps * 1e3 * L2_FASTER);
    return LAUNCH_US + hypot(hypot(memory, busy), alone);
}

/* And of blocks by which launches before have sorted them, each of which goes along its sources
 * twice. 2^21 sources of bf16 to as many elements take an H200 46.7 us by x=8192, 48.6 by 4096 and
 * 54.1 by 2048, and 83 in turns; 92 where blocks of 1024 threads sort. 2^17 of f32 take it 12.6. */
static double turns_adds_cost(const struct kernel *k, const struct layout *y) {
    const double WAIT_US = 0.6, CLEAR_US = 1, SOURCE = 60, OWN_ROW = 30, SCATTERED = 0.5;
    const struct device_limits *d = k->limits;
    double nr = (double)kernel_size(k, AXIS_R), buckets = (double)layout_buckets(k, y),
           loads = layout_carried(k, y) == NO_VALUE ? loads_of_sources(k) : 0,
           gbps = device_gbps(d);
    double resident = floor(
        fmin((double)d->smem_unit / (y->smem + SMEM_RESERVED), d->max_threads_unit / y->threads));
    resident = fmin(resident, d->max_blocks_unit);
    if (resident < 1) return 1e9;
    double steps = ceil(nr / buckets / y->threads / y->ur),
           waves = ceil(buckets / (resident * d->units)),
           alone = waves * (2 * steps * WAIT_US * (1 + loads) + CLEAR_US + 0.1 * y->held);
    double work = SOURCE + 2 * (column_work(k, MASK_R) + column_work(k, MASK_X | MASK_R)),
           busy = (nr * work + kernel_size(k, AXIS_X) * OWN_ROW) / d->warp /
                  (d->units * 4 * 0.7 * device_clock_ghz(d) * 1e3);
    double memory =
        cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85) + loads * nr * 32 / (gbps * 1e3 * SCATTERED);
    return buckets_us(k, y) + hypot(hypot(memory, busy), alone) + 1;
}

/* What sums that land come to is stored when they end: across, each has a sector of its own, in L2.
 * index_add to f32[9089, 85], stored transposed as well, takes an H200 7 us longer. */
static double landed_across_us(const struct kernel *k) {
    double bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        int64_t step = index_usual_stride(k, st->index, AXIS_X),
                each = dtype_bytes(k->schedule->loops->buffers.at[st->buffer].meta.dtype);
        if (st->mask & MASK_X && step > 1)
            bytes += (double)kernel_size(k, AXIS_X) *
                     (double)(step * each < SECTOR ? step * each : SECTOR);
    }
    return bytes / (device_gbps(k->limits) * 1e3 * 0.85);
}

double cost_scattered(const struct kernel *k, const struct layout *y) {
    double us = y->own         ? own_cost(k, y)
                : y->turns     ? (y->adds ? turns_adds_cost : turns_hits_cost)(k, y)
                : y->adds_here ? adds_here_cost(k, y)
                : y->adds      ? adds_cost(k, y)
                               : hits_cost(k, y);
    return us + landed_across_us(k);
}

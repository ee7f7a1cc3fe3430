/* cost_gpu.c: what a config takes on a GPU, about: the roofline of what it moves, over what keeps
 * it from that speed. The numbers are fitted to times of an H200 (scripts/cost_model.py). */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

#define COMBINE_US 0.5 /* of the threads that share a column, per wave of blocks */

/* A multiprocessor's, that an H200 needs to reach its memory's speed. */
enum { BYTES_IN_FLIGHT = 48 << 10 };

static bool scans_columns(const struct kernel *k, const struct layout *y) {
    return k->kind == KERNEL_SCAN && y->rows_inner;
}

/* Rows are only read, once. */
static bool only_reads(const struct kernel *k, const struct layout *y) {
    if (cost_reads(k, y) > 1) return false;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R && !is_column_store(k, &k->stores.at[i])) return false;
    return true;
}

/* Is most of what is read one element for several neighbours, so that a warp reads a part of a line
 * and the next one the rest? */
static bool reads_parts_of_lines(const struct kernel *k, const struct layout *y,
                                 const struct value_node *v) {
    enum axis along = y->rows_inner ? AXIS_X : AXIS_R;
    return v->mask >> along & 1 && layout_load_is_uniform(k, y, v) &&
           2 * kernel_bytes_of(k, v->buffer) > k->bytes_read;
}

/* And nothing is wanted of L1: no two threads read from a line by elements. i8 of 134 MB, each for
 * eight neighbours, take an H200 824 us, and 3163 if they leave no copy in L1. */
static bool needs_no_l1(const struct kernel *k, const struct layout *y) {
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || !(v->mask & MASK_R)) continue;
        if (v->n_args > v->guarded) return false; /* who knows what others look up */
        if (!layout_load_is_vector(k, y, v) && !layout_load_is_uniform(k, y, v)) return false;
        if (reads_parts_of_lines(k, y, v)) return false;
    }
    return true;
}

/* What loads that leave no copy in L1, or leave L2 first, take more than others, or less. They do
 * not drive out of L2 what lies there to be written, about half of it, and read at nine tenths of
 * the speed: of f32 sums on an H200, 67 MB took 24 us for 27, and 1 GB 261 us for 248. Beside
 * stores they gain nothing. So do the copies of a thin product's large factor: 8 x 4096 x 4096 in
 * tf32 takes an H100 30.0 us for 34.7, in bf16 17.1 for 19.7, 16 x 4096 x 11008 69.8 for 74.9. */
static double leaving_us(const struct kernel *k, double read, double bytes_us, double slower) {
    const double STAYS = 0.48;
    double l2 = (double)k->limits->l2_bytes, part = read < l2 ? read / l2 : 1;
    return slower * bytes_us - STAYS * l2 / read * bytes_us * part * part;
}

static double skip_us(const struct kernel *k, const struct layout *y, double bytes_us) {
    const double SLOWER = 0.085, TORN = 0.9; /* a line is asked for several times */
    double read = k->bytes_read;
    if (!y->skip_l1 && !y->leave_l2) return 0;
    if (y->skip_l1 && !needs_no_l1(k, y)) return TORN * bytes_us;
    if (!only_reads(k, y) || !(read > 0)) return y->skip_l1 ? 0.01 * bytes_us : 0;
    return leaving_us(k, read, bytes_us, SLOWER);
}

/* Sums and extrema; pairs take longer, and wait for all. */
static bool reduces_values(const struct kernel *k) {
    for (uint32_t i = 0; i < k->values.n; i++)
        if (k->values.at[i].kind == INST_REDUCE && !reduction_of_values(k->values.at[i].reduction))
            return false;
    return true;
}

/* Are rows of what is reduced across them out of step with sectors, and longer than a tile? */
static bool is_torn(const struct kernel *k, const struct layout *y) {
    if (k->kind != KERNEL_REDUCE || !y->rows_inner) return false;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || v->mask != (MASK_X | MASK_R)) continue;
        int64_t row = load_usual_stride(k, v, AXIS_R);
        if (load_usual_stride(k, v, AXIS_X) == 1 && row > y->bx &&
            row * dtype_bytes(v->dtype) % SECTOR)
            return true;
    }
    return false;
}

/* Sectors that rows begin and end within come from L2 for two warps, which have to be there at
 * about the same time: sums down f32[128, 4096, 4095] take an H200 2278 us by 128 bytes of a warp,
 * 2100 by 256, 1971 by 512; by these 2170 where a thread has 16 elements under way for 8. Of rows
 * that are no longer than a tile two blocks read them. */
static double torn_rows(const struct kernel *k, const struct layout *y, int run, int bytes) {
    enum { FEW = 8 };
    const double MORE = 0.05;
    if (is_torn(k, y)) {
        int words = layout_load_words(k, y);
        bool many = words > FEW && reduces_values(k);
        return (1 + (double)SECTOR / run) * (1 + (many ? MORE * log2((double)words / FEW) : 0));
    }
    if (!y->rows_inner || kernel_size(k, AXIS_X) * bytes % SECTOR == 0) return 1;
    return 1 + (double)SECTOR / (y->bx * bytes);
}

/* A warp's load is the slower the shorter the runs are that it is made of: rope on an H200 takes
 * 132 us by runs of 128 bytes or more, 150 to 165 by 64, 228 by 32. Tiles of columns lie beside
 * each other, so that others want the rest soon: a norm over channels takes 27.8 and 29.6 us by
 * 128 and 64. Below 64 bytes it does not come soon enough: bf16[25088, 512] is normed in 41 us by
 * 64, 44 by 32 and 69 to 73 by 16, and its gradient takes 81 by 64 and 127 by 32. */
static double short_runs(const struct kernel *k, const struct layout *y) {
    enum { HALF_SECTOR = SECTOR / 2 };
    const double APART = 0.42, BESIDE = 0.1, HALVES = 0.8;
    int bytes = 0, threads = y->rows_inner ? y->t0 : y->t1;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind == INST_LOAD && v->mask & MASK_R && dtype_bytes(v->dtype) > bytes)
            bytes = dtype_bytes(v->dtype);
    }
    int run = (threads < k->limits->warp ? threads : k->limits->warp) * y->vec * bytes;
    if (!y->rows_inner) run *= cost_windows(k, y);
    double torn = torn_rows(k, y, run, bytes);
    if (y->one_head) return 1 + (double)HALF_SECTOR / run; /* both ends of it lie anywhere */
    if (run >= 256) return torn * (run >= 512 ? 1 : 1.01);
    double power = y->rows_inner && k->kind == KERNEL_REDUCE ? BESIDE : APART;
    double halves = run < 2 * SECTOR && power == BESIDE ? 2.0 * SECTOR / run : 1;
    return torn * 1.04 * pow(run < LINE ? (double)LINE / run : 1, power) * pow(halves, HALVES);
}

/* Clocks of a multiprocessor that a warp's access takes: about ten instructions with its address
 * and guard, four of which are issued in a clock, or a clock for each 128 bytes of memory that
 * lanes `apart` bytes from each other touch, in runs of so many. */
static double access_clocks(int warp, int apart, int run) {
    enum { INSTRUCTIONS = 10, ISSUED = 4 };
    double of_run = (double)run * apart / LINE, runs = (double)warp / run;
    double lines = runs * (runs > 1 && of_run < 1 ? 1 : of_run),
           issue = (double)INSTRUCTIONS / ISSUED;
    return lines > warp ? warp : lines > issue ? lines : issue;
}

/* Lanes of a warp whose elements are neighbours: of a scan down columns others have other rows. */
static int lanes_of_run(const struct kernel *k, const struct layout *y) {
    int warp = k->limits->warp;
    return scans_columns(k, y) && y->t0 < warp ? y->t0 : warp;
}

/* Shared memory that holds a block's share of its rows. */
static double kept_bytes(const struct kernel *k, const struct layout *y) {
    return (double)layout_stage_bytes(k, y) * y->kept;
}

/* Of a warp, for the windows of one vector. */
static double window_clocks(const struct kernel *k, const struct layout *y) {
    int warp = k->limits->warp;
    double total = 0;
    for (uint32_t i = 0; y->windows && i < y->windows->all.n; i++) {
        const struct window *w = &y->windows->all.at[i];
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[w->buffer].meta.dtype);
        total += w->pieces.n * access_clocks(warp, bytes * w->apart, warp);
    }
    return total;
}

/* What loads and stores keep a multiprocessor busy with. It is what rows of narrow elements that go
 * one by one wait for: bf16[8192, 50257] takes 0.7 ms so, and half of that by vectors; and a norm's
 * weights that are out of step with its rows. */
static double access_us(const struct kernel *k, const struct layout *y) {
    /* A pool by 11 x 11 of f32[16, 64, 2048, 2048], a window a thread, takes an H200 4128 us in
     * PyTorch, little more than its bytes: so many lines a clock at least. */
    enum { FIND_HEAD = 8, WINDOWS = 3 };
    const double TWICE = 1.2, SHIFT = 2; /* the second of two vectors is another lane's first */
    enum axis inner = y->rows_inner ? AXIS_X : AXIS_R;
    int warp = k->limits->warp;
    double rows = (double)kernel_size(k, AXIS_X), points = rows * (double)kernel_size(k, AXIS_R),
           ends = 0, total = 0;
    if (y->peel) { /* by the warps that have some */
        int lanes = (y->head_unit + y->vec - 2 + warp - 1) / warp * warp,
            slots = y->t1 * layout_ends(y);
        ends = rows * (lanes < slots ? lanes : slots);
        /* where heads end, every thread finds out for itself */
        total = (y->grid_r ? points / (y->ur * y->vec) : rows * y->t1 * y->cluster) * FIND_HEAD /
                (y->one_head ? y->ex : 1);
    }
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        const struct store_node *st = i < k->values.n ? NULL : &k->stores.at[i - k->values.n];
        const struct value_node *v = st ? NULL : &k->values.at[i];
        if (v ? v->kind != INST_LOAD || !(v->mask >> inner & 1) : !(st->mask >> inner & 1))
            continue;
        if (v && layout_tap(y, i)) continue;
        buffer_id b = v ? v->buffer : st->buffer;
        bool uniform = v && layout_load_is_uniform(k, y, v);
        int bytes =
            dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype) * (uniform ? 1 : y->vec);
        bool whole = v ? layout_load_is_vector(k, y, v) : layout_store_is_vector(k, y, st);
        int rows_of_one = v && v->mask == MASK_R && y->one_head ? y->ex : 1;
        bool shifts = v && layout_load_shifts(k, y, v);
        bool along = whole || uniform || !v || layout_turns(k, y, i);
        int64_t steps = along ? 1 : load_usual_stride(k, v, inner);
        if (steps > 1) bytes *= steps < LINE ? (int)steps : LINE;
        if (v && cost_windows(k, y) > 1) bytes = bytes * (int)cost_windows_apart(k, v) / WINDOWS;
        double clocks = access_clocks(warp, bytes, lanes_of_run(k, y));
        if (shifts) clocks = TWICE * clocks + SHIFT;
        total += (v ? cost_reads(k, y) : 1) *
                 (points / (whole || shifts || uniform ? y->vec : 1) + ends) * clocks / rows_of_one;
    }
    total += points / y->vec * window_clocks(k, y);
    if (y->kept) /* written once, read by each phase, 128 bytes a clock */
        total += warp * (1 + layout_phase(y, k->levels)) * kept_bytes(k, y) * ceil(rows / y->bx) *
                 y->cluster / 128;
    double rate = (double)warp * k->limits->units * k->limits->clock_ghz * 1e3;
    return rate > 0 ? total / rate : 0;
}

/* Who adds up the parts of a split reduction has four of them under way at a time. */
static double finish_us(const struct kernel *k, const struct layout *y) {
    enum { AT_ONCE = 4 };
    if (y->split == 1) return 0;
    int64_t rows = kernel_size(k, AXIS_X), threads = rows < 64 ? 256 : rows < 16384 ? 8 : 1;
    int64_t turns = (y->split + AT_ONCE * (y->last_block ? y->t1 : threads) - 1) /
                    (AT_ONCE * (y->last_block ? y->t1 : threads));
    return (y->last_block ? 1.0 : 1.1) + (double)turns;
}

/* Does a thread have windows to itself, each in a straight line? Then compilers have some of its
 * loads under way all the time, and find none by a division. */
static bool is_straight(const struct kernel *k, const struct layout *y) {
    bool whole = y->t1 == 1 && y->ex == 1 && y->br >= kernel_size(k, AXIS_R);
    return k->kind == KERNEL_REDUCE && !y->rows_inner && whole && cost_windows(k, y) > 1;
}

/* Words of a thread's that are under way. */
static int loaded_words(const struct kernel *k, const struct layout *y) {
    enum { STRAIGHT = 20 };
    int words = layout_load_words(k, y);
    return words > STRAIGHT && is_straight(k, y) ? STRAIGHT : words;
}

/* Instructions for each element, about: what phases compute again is shared in part. */
static double element_work(const struct kernel *k, const struct layout *y) {
    enum { DIVIDED = 10 };
    int64_t rows = 0;
    bool one_row = ex_is_const(k->ex, k->bound[AXIS_X], &rows) && rows == 1;
    double work = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        uint8_t mask = x->kind == INST_REDUCE ? k->values.at[x->args[0]].mask : x->mask;
        if (one_row) mask |= MASK_X;
        if ((mask & (MASK_X | MASK_R)) != (MASK_X | MASK_R)) continue;
        if (x->kind == INST_OP) work += op_is_expensive(x->op) ? 8 : 1.0;
        if (x->kind == INST_REDUCE || x->kind == INST_LOAD) work += 1;
        if (cost_windows_apart(k, x) && !is_straight(k, y)) work += DIVIDED;
    }
    return work + 1;
}

/* What schedulers need for so many instructions an element, when a warp of its own issues in
 * `alone` of the clocks. */
static double instructions_us(const struct kernel *k, const struct layout *y, double work,
                              int64_t resident, double alone) {
    double each = (double)(resident * y->threads) / k->limits->warp / 4; /* warps of a scheduler */
    double issued = fmin(0.6, each * alone);
    double elements = (double)kernel_size(k, AXIS_X) * (double)kernel_size(k, AXIS_R);
    return elements * work / (k->limits->units * 128 * issued * device_clock_ghz(k->limits) * 1e3);
}

/* One instruction does both. */
static bool is_sum_of_product(const struct kernel *k, const struct value_node *x) {
    for (int a = 0; a < x->n_args; a++) {
        const struct value_node *from = &k->values.at[x->args[a]];
        if (x->op == OP_ADD && from->kind == INST_OP && from->op == OP_MUL) return true;
    }
    return false;
}

/* Of a value where it is computed. What numbers become others goes through a narrow pipe, as what
 * is expensive does. */
static double value_work(const struct kernel *k, const struct layout *y, value_id v) {
    enum { EXPENSIVE = 8, CONVERSION = 4, CHECK = 4, ADDRESS = 5 };
    const double TAP = 0.25; /* an element of a piece, which several have */
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_OP && is_sum_of_product(k, x)) return 0;
    if (x->kind == INST_OP) return op_is_expensive(x->op) ? EXPENSIVE : 1;
    if (x->kind == INST_CAST) {
        bool from = dtype_is_float(k->values.at[x->args[0]].dtype), to = dtype_is_float(x->dtype);
        return from != to ? CONVERSION : x->rounds ? 1 : 0;
    }
    if (x->kind != INST_LOAD) return x->kind == INST_SUBSCRIPT ? CHECK : 0;
    if (layout_tap(y, v)) return TAP;
    if (!(x->mask & MASK_R)) return ADDRESS;
    return layout_load_is_vector(k, y, x) ? 1 + (double)ADDRESS / y->vec : ADDRESS;
}

/* What schedulers need for the instructions of a pointwise kernel alone: a thread computes what its
 * rows share once for all of them, and what its columns share once a row. */
static double issued_us(const struct kernel *k, const struct layout *y, int64_t resident) {
    const double ALONE = 1.0 / 6; /* elements do not wait for each other */
    double work = 2, each;
    for (value_id v = 0; v < k->values.n; v++) {
        uint8_t mask = k->values.at[v].mask & (MASK_X | MASK_R);
        each = mask ? value_work(k, y, v) : 0;
        work += mask == MASK_R ? each / y->ex : mask == MASK_X ? each / (y->ur * y->vec) : each;
    }
    return instructions_us(k, y, work, resident, ALONE);
}

/* Instructions alone, by the warps there are. */
static double busy_us(const struct kernel *k, const struct layout *y, int64_t resident) {
    return instructions_us(k, y, element_work(k, y), resident, 0.1);
}

/* A multiprocessor's blocks load while others of them reduce what they have loaded; one that is
 * alone reduces some of a row that it copies while the rest comes. Out of registers that takes less
 * than out of shared memory, with a loop around it. */
static double reduced_us(const struct kernel *k, const struct layout *y, int64_t resident,
                         double us) {
    const double LOOP = 1.07, KEPT = 0.6, READ = 0.5, ALONE = 1.5;
    double busy = busy_us(k, y, resident);
    if (y->kept) return LOOP * hypot(us, busy * KEPT * (resident > 1 ? 1 : ALONE));
    return resident > 1 ? hypot(us, busy * READ) : us + busy * READ;
}

/* Few warps leave gaps between loads and arithmetic where that takes as long as memory, `us`. */
static double gaps_us(const struct kernel *k, const struct layout *y, int64_t resident, double us) {
    enum { ENOUGH_WARPS = 32 };
    double busy = busy_us(k, y, 1 << 10), warps = (double)(resident * y->threads) / k->limits->warp;
    if (warps >= ENOUGH_WARPS || busy < 0.7 * us) return 0;
    return 0.25 * (busy - 0.7 * us) * (1 - warps / ENOUGH_WARPS);
}

/* Memory and arithmetic, which only in part go on at the same time. */
static double both_us(const struct kernel *k, const struct layout *y, int64_t resident, double us) {
    const double SUMMED = 0.4;
    if (y->kept || y->one_read) return reduced_us(k, y, resident, us);
    if (k->kind != KERNEL_REDUCE || y->rows_inner) return us + gaps_us(k, y, resident, us);
    return hypot(us, busy_us(k, y, resident) * SUMMED);
}

/* Of a scan down columns: what it has made of a tile, and what goes between a warp's threads. */
static int scan_words(const struct kernel *k, const struct layout *y, int words) {
    int scanned = layout_scan_words(k, y), more = scanned > words ? scanned - words : 0;
    return more + (y->t0 < k->limits->warp ? 6 : 2);
}

/* Registers besides those of the raw loads. Where a row is kept, compilers keep what they have made
 * of its elements for a later phase, too, if it fits. */
static int element_words(const struct kernel *k, const struct layout *y, int words) {
    int elements = y->ur * y->vec * y->ex;
    if (scans_columns(k, y)) return scan_words(k, y, words);
    if (!y->one_read) return y->vec * y->ex;
    if (y->rows_inner && elements > 224) return 255 - 30 - words; /* as many as there are */
    return k->levels && elements > words && elements <= 224 ? elements - words : 0;
}

/* Blocks come in waves. What a block waits for is hidden by the others of its multiprocessor; but
 * not the exchanges of the first clusters, which all start together. */
static double waits_us(const struct kernel *k, const struct layout *y, double waves,
                       int64_t resident) {
    double others = (double)resident; /* of a pointwise kernel no warp waits for another */
    if (k->kind == KERNEL_POINTWISE && waves > 1) others *= fmax(1, y->threads / 64.0);
    double us = waves * 1.6 / (others * others);
    if (y->cluster > 1 && y->rows_inner) us += waves * k->levels;
    int rounds = kernel_online_squares(k, y->online) ? k->levels : layout_phase(y, k->levels);
    double exchanges = 0.6 + 0.4 * rounds;
    if (y->cluster > 1 && !y->rows_inner)
        us += exchanges * (1 + (waves - 1) / sqrt((double)resident));
    return us;
}

/* What a block that is alone on its multiprocessor waits for is no time of the memory's, which
 * others have meanwhile: it copies all of its row at once, and so faster than its share. But all
 * blocks read at first, and write at last. A norm of f32[112, 64, 512, 512] in clusters of 8 takes
 * an H200 3748 us, of which 3131 are its bytes. */
static double waited_us(const struct kernel *k, const struct layout *y, double us, double waves,
                        int64_t resident) {
    const double FASTER = 2, ENDS = 0.5;
    double waits = waits_us(k, y, waves, resident);
    if (!y->kept || resident > 1) return us + waits;
    return fmax(us, us / FASTER + waits) + (ENDS * us + waits) / waves;
}

/* A tile's threads wait for its group, and go along half of all groups' totals, which are trips to
 * L2; the memory has other tiles to read meanwhile, half of the time. Down columns the threads of
 * one have four under way at a time, and there is more to read. On an H200 the cumsum of 67M f32
 * takes 197 us so, the one down f32[4096, 4096] 41. */
static double look_back_us(const struct kernel *k, const struct layout *y, double waves) {
    const double START = 3, TRIPS = 1.2, group = y->rows_inner ? 1.5 : 6.5;
    if (!y->look_back) return 0;
    double groups = (double)kernel_size(k, AXIS_R) / y->br / LOOK_BACK_GROUP,
           at_once = y->rows_inner ? 4 * y->t1 : y->t1;
    return START + waves * (group + TRIPS * (double)(int64_t)(groups / 2 / at_once)) / 2;
}

/* Blocks that go down columns tile by tile have nothing under way while they scan one; along rows,
 * the warps of a block tell each other how far they are, at each tile. */
static double tiles_us(const struct kernel *k, const struct layout *y, double waves,
                       int64_t resident) {
    const double TILE = 1.5, TOLD = 0.03, ALONE = 0.006;
    if (k->kind != KERNEL_SCAN || y->look_back) return 0;
    double tiles = ceil((double)kernel_size(k, AXIS_R) / y->br);
    if (y->rows_inner) return waves * TILE * tiles / (double)resident;
    double rows = (double)kernel_size(k, AXIS_X) / (double)k->limits->units; /* of a unit */
    return (layout_joins_warps(k, y) ? TOLD : ALONE) * rows * tiles;
}

/* A row that all rows are combined with, and that is too long for L1, comes from L2 for each of a
 * block's tiles. How fast that is beside memory has not been measured. */
static double shared_us(const struct kernel *k, const struct layout *y) {
    const double FASTER = 1.5;
    double bytes = 0;
    for (uint32_t i = 0; i < k->values.n && !y->rows_inner; i++) {
        const struct value_node *v = &k->values.at[i];
        if (load_is_long_row(k, v)) bytes += (double)kernel_size(k, AXIS_R) * dtype_bytes(v->dtype);
    }
    return bytes * (double)kernel_size(k, AXIS_X) / y->bx / (device_gbps(k->limits) * 1e3 * FASTER);
}

/* A GPU begins a block every 1.2 ns, whatever it does: of softmax(0) of f32[1048576, 64] on an
 * H200, 262144 blocks took 316 us, 131072 of them 158.5, and rope's 131072, too. */
static double begun_us(double us, double blocks) {
    const double EACH = 0.00121;
    return fmax(us, EACH * blocks);
}

/* Of a thread; more than 255 would spill. */
static int thread_registers(const struct kernel *k, const struct layout *y, int words) {
    enum { OF_SQUARES = 4 };
    int sums = kernel_online_squares(k, y->online) * y->ex * (y->rows_inner ? y->vec : 1);
    int registers = 30 + words + element_words(k, y, words) + OF_SQUARES * sums;
    int64_t most = y->fit ? k->limits->regs_unit / (y->fit * y->threads) : 255;
    if (registers > most) registers = (int)(30 + words < most ? most : 30 + words);
    return registers;
}

/* Blocks that a multiprocessor has room for at a time. */
static int64_t resident_blocks(const struct kernel *k, const struct layout *y, int registers) {
    const struct device_limits *d = k->limits;
    int64_t resident = d->max_threads_unit / y->threads,
            by_registers = d->regs_unit / ((int64_t)registers * y->threads),
            by_shared = d->smem_unit / (y->smem + SMEM_RESERVED);
    if (by_registers < resident) resident = by_registers;
    if (resident > d->max_blocks_unit) resident = d->max_blocks_unit;
    return by_shared < resident ? by_shared : resident;
}

int kernel_blocks_loading(const struct kernel *k, const struct layout *y) {
    enum { BESIDE = 30 };                        /* registers beside what is loaded */
    for (uint32_t i = 0; i < k->values.n; i++) { /* others' are reduced meanwhile */
        const struct value_node *v = &k->values.at[i];
        if (v->kind == INST_OP && v->mask & MASK_R && op_is_expensive(v->op)) return 0;
    }
    int64_t blocks = resident_blocks(k, y, BESIDE + loaded_words(k, y));
    return blocks < 1 ? 1 : (int)blocks;
}

/* The part of all lanes whose elements are no others' and none beyond the rows. */
static double used_lanes(const struct kernel *k, const struct layout *y) {
    int64_t nx = kernel_size(k, AXIS_X), nr = kernel_size(k, AXIS_R);
    double used = (double)nx / (double)((nx + y->bx - 1) / y->bx * y->bx);
    if (y->rows_inner || (!y->one_read && !y->kept && !y->grid_r)) return used;
    int64_t covered = layout_column_tiles(k, y) * y->br;
    return nr < covered ? used * ((double)nr / (double)covered) : used;
}

/* A block that goes along its row in steps has nothing under way while it takes up a step's loads:
 * one trip to memory a step, of all blocks that are there at a time. */
static double steps_us(const struct kernel *k, const struct layout *y, double waves) {
    const double TRIP = 0.7;
    bool loops = k->kind == KERNEL_REDUCE && !y->one_read && !y->kept;
    if (!loops) return 0;
    double row = (double)kernel_size(k, AXIS_R) / (y->cluster * y->split);
    return waves * TRIP * ceil(row / y->br) * cost_reads(k, y);
}

/* Of rows that registers keep: of most such kernels on an H200, vectors of 4 elements were 1 to 2 %
 * faster than of 8, and blocks of up to 4 warps than larger ones. */
static double row_overhead(const struct kernel *k, const struct layout *y) {
    if (k->kind != KERNEL_REDUCE || !y->one_read || y->rows_inner) return 0;
    return (y->vec >= 8 ? 0.02 : 0) + (y->threads > 128 ? 0.015 : 0);
}

/* By a page of memory's or more. */
static bool rows_are_apart(const struct kernel *k) {
    enum { PAGE = 4096 };
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind == INST_LOAD && v->mask == (MASK_X | MASK_R) && !v->n_args &&
            load_first_step(k, v, AXIS_X) * dtype_bytes(v->dtype) >= PAGE)
            return true;
    }
    return false;
}

/* Blocks that go along their rows in steps. Down long columns few large blocks are faster than many
 * small ones: sums of f32[8192, 4096] take an H200 37.2 us by 16 warps and 38.8 by 2, of
 * [128, 4096, 4095] 2103 by 16 and 2351 by 8. Along rows
 * that lie apart, of which each warp has one, all of a block's read from the same places of
 * memory's banks: bf16[8192, 8192] by a vector takes 39.7 us by 8 rows, 36.3 by 2, 35.3 by one. */
static double loop_overhead(const struct kernel *k, const struct layout *y) {
    enum { LARGE = 512, FEW = 4, LONG = 1024 };
    const double SMALLER = 0.03, TORN = 0.1, ROWS = 0.06;
    int64_t nr = kernel_size(k, AXIS_R);
    if (k->kind != KERNEL_REDUCE || y->one_read || y->kept || y->hits || y->br >= nr) return 0;
    bool small = y->threads < LARGE && nr >= LONG && reduces_values(k);
    if (y->rows_inner)
        return small ? (is_torn(k, y) ? TORN : SMALLER) * log2((double)LARGE / y->threads) : 0;
    return y->t0 > FEW && rows_are_apart(k) ? ROWS * log2((double)y->t0 / FEW) : 0;
}

/* Neighbours read the same lines: those of a block find them in L1, and a thread with more than one
 * vector has the others wait. */
static double shared_overhead(const struct layout *y) {
    if (!y->windows) return 0;
    return (y->threads < 128 ? 0.04 * log2(128.0 / y->threads) : 0) +
           (y->ur * y->ex > 1 ? 0.08 : 0);
}

/* Clusters that are fewer than fill the device leave units without a block: of columns in tiles of
 * 64 for 32, half of an H200, a norm over channels takes 48 us for 41. */
static double idle_clusters(const struct kernel *k, const struct layout *y, int64_t grid) {
    const double IDLE = 0.35;
    int units = k->limits->units;
    if (y->cluster == 1 || !y->rows_inner || grid >= units) return 1;
    return 1 + IDLE * (1 - (double)grid / units);
}

/* Of elements that wait for no others: small blocks whose threads read little keep what is read and
 * what is written at a time together. ReLU of 1.6e9 f32 takes an H200 3022 us by blocks of 4 KB and
 * two vectors a thread, 3051 by four, 3102 by eight in 8 KB; of one vector a thread, 3012 by blocks
 * of 4 KB and 3051 by 8; of two, 3093 by 8 KB and of four 3116 by 32. */
static double block_overhead(const struct kernel *k, const struct layout *y) {
    enum { USUAL_BYTES = 4096, USUAL_WORDS = 8, MOST_VECTORS = 4 };
    const double LARGER = 0.01, MORE = 0.01, MANY = 0.03;
    int bytes = 1;
    double words = 0;
    if (!y->grid_r) return 0;
    double over = y->ur * y->ex > MOST_VECTORS ? MANY : 0;
    if (k->kind != KERNEL_POINTWISE || y->turn || y->windows) return over;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buffer_id b = k->stores.at[i].buffer;
        int each = dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype);
        if (each > bytes) bytes = each;
    }
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_LOAD && kernel_loads_once(k, v))
            words += y->ur * y->ex * ceil(y->vec * dtype_bytes(k->values.at[v].dtype) / 4.0);
    double block = (double)y->bx * y->br * bytes;
    if (words > USUAL_WORDS) over += MORE * log2(words / USUAL_WORDS);
    return over + (block > USUAL_BYTES ? LARGER * log2(block / USUAL_BYTES) : 0);
}

/* What a config takes more than one that is as good as can be. */
static double overhead(const struct kernel *k, const struct layout *y, int registers) {
    double barriers = layout_joins_warps(k, y) ? 0.3 * k->levels : 0.05 * k->levels;
    bool scans = scans_columns(k, y);
    return 1 + 0.02 * barriers + 0.04 / y->vec + (registers > 128 ? 0.1 : 0) +
           (scans && registers > 80 ? 0.05 : 0) + /* some compilers spill a few */
           row_overhead(k, y) + loop_overhead(k, y) + shared_overhead(y) +
           (y->threads > 512 ? 0.05 : 0) + block_overhead(k, y) +
           /* rows wait for each other */
           (layout_joins_warps(k, y) && y->t0 > 1 && !scans ? 0.02 * y->t0 : 0);
}

/* The part of the waves that is work: the last one leaves units idle. */
static double wave_balance(double waves) {
    double whole = ceil(waves - 1e-6);
    return whole > 0 && waves < 8 ? waves / whole : 1;
}

/* Registers are a guess: where there is room for a block more than by that, parts of rows may be
 * little more than one wave, and what is left has too little under way. Statistics of f32[64, 64,
 * 512, 512] take an H200 1084 us by 512 blocks of 512 threads, two waves by the guess of 54
 * registers and 1.3 by the 39 that there are; PyTorch's take 950. */
static double part_balance(const struct kernel *k, const struct layout *y, int64_t grid,
                           int64_t resident) {
    const double LITTLE_MORE = 1.4;
    double units = (double)layout_units(k, y);
    double balance = wave_balance((double)grid / ((double)resident * units)),
           fewer = (double)grid / ((double)(resident + 1) * units);
    bool room = (resident + 1) * y->threads <= k->limits->max_threads_unit;
    if (y->split == 1 || !room || fewer <= 1 || fewer >= LITTLE_MORE) return balance;
    return fmin(balance, wave_balance(fewer));
}

static double tiles_cost(const struct kernel *k, const struct layout *y) {
    const double BESIDE = 0.9; /* of what takes longer than memory */
    const struct device_limits *d = k->limits;
    int words = loaded_words(k, y), registers = thread_registers(k, y, words);
    if (registers > 255) return 1e9;                              /* would spill */
    if (scans_columns(k, y)) registers = (registers + 7) / 8 * 8; /* as they are handed out */
    int64_t resident = resident_blocks(k, y, registers);
    if (resident < 1) return 1e9;
    int64_t grid = (kernel_size(k, AXIS_X) + y->bx - 1) / y->bx * y->split * y->cluster;
    if (y->grid_r || y->look_back) grid *= layout_column_tiles(k, y);
    if (!grid) return 0;
    int64_t a_unit = (grid + d->units - 1) / d->units;
    double fit = (double)(resident * layout_units(k, y)); /* blocks at a time */
    bool spread = grid >= d->units && a_unit < resident &&
                  (double)grid <= fit; /* a part of a wave, on all units */
    if (spread) resident = a_unit, fit = (double)(a_unit * d->units);
    double in_flight = (double)resident * (y->kept ? kept_bytes(k, y) : y->threads * words * 4.0),
           rate = in_flight / BYTES_IN_FLIGHT;
    if (scans_columns(k, y)) rate /= 2; /* a tile is stored when it is scanned */
    double waves = (double)grid / fit, whole = (double)(int64_t)(waves + 0.999999);
    double balance = spread ? wave_balance(waves) : part_balance(k, y, grid, resident);
    double scarce = spread && rate > 0 ? 0.02 / rate : 0; /* more in flight hides more */
    if (rate > 1) rate = 1;
    double gbps = device_gbps(d), us = cost_traffic(k, y, resident * d->units) /
                                       (gbps * 1e3 * 0.9 * rate * balance * used_lanes(k, y));
    us *= overhead(k, y, registers) + (scarce < 0.1 ? scarce : 0.1);
    /* rows do not join */
    bool pieces = y->peel || y->ur > 1 || y->br < kernel_size(k, AXIS_R);
    if (y->rows_inner || (pieces && y->t1 < d->warp) || y->one_head) us *= short_runs(k, y);
    us *= idle_clusters(k, y, grid);
    if (y->rows_inner && y->t1 > 1 && !scans_columns(k, y)) us += COMBINE_US * whole;
    us = waited_us(k, y, us, waves > 1 ? waves : 1, resident);
    if (y->cluster > 1 && y->one_read && !y->rows_inner) us *= 1.15; /* all blocks load, or none */
    us += skip_us(k, y, k->bytes_read / (gbps * 1e3));
    us = hypot(us, access_us(k, y));
    us = hypot(us, steps_us(k, y, waves > 1 ? waves : 1));
    us = hypot(us, shared_us(k, y));
    if (k->landing) us = hypot(us, busy_us(k, y, resident)); /* comparisons more than loads */
    us = both_us(k, y, resident, us);
    if (k->kind == KERNEL_POINTWISE) us += BESIDE * fmax(0, issued_us(k, y, resident) - us);
    us = begun_us(us, (double)grid);
    return us + finish_us(k, y) + look_back_us(k, y, waves) +
           tiles_us(k, y, waves > 1 ? waves : 1, resident);
}

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

/* Sources that are listed by where they land (hits.c): every block looks at all indices, which come
 * from L2 but for the first time, in steps that wait for memory and for each other; then it takes
 * up what it has found, `ur` at a time. Not measured yet. */
static double hits_cost(const struct kernel *k, const struct layout *y) {
    const double STEP_US = 1.2, BATCH_US = 1, TEST = 9, HIT = 14, EACH = 4, L2_FASTER = 1.5;
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
    double busy = blocks * (tests + landed + rows) / (d->units * 4 * 0.7 * ghz * 1e3);
    double gbps = device_gbps(d), memory = cost_traffic(k, y, 1) / (gbps * 1e3 * 0.85),
           again = blocks * listed * 8 / (gbps * 1e3 * L2_FASTER);
    double alone = ceil(listed / (y->threads * y->hits)) * STEP_US + ceil(hits / y->ur) * BATCH_US +
                   0.2 * y->held;
    return hypot(hypot(memory, busy), hypot(again, waves * alone)) + finish_us(k, y) + 1 +
           (y->sorted ? sort_us(k) : 0);
}

/* The turns of persistent blocks: a row takes a thread's instructions, one after the other, and the
 * barriers of its reductions; all warps of a multiprocessor share its schedulers. */
static double turns_us(const struct kernel *k, const struct layout *y, int64_t turns,
                       int64_t a_unit) {
    double ghz = device_clock_ghz(k->limits), work = element_work(k, y);
    double thread = (double)y->ur * y->vec * y->ex * work; /* instructions of a warp for a row */
    double barrier = layout_cluster(y) > 1      ? 1200
                     : layout_joins_warps(k, y) ? 300 + y->t1 * 0.8
                                                : 250;
    double alone = thread + barrier * (k->levels + 1);
    double warps = (double)(a_unit * y->threads) / k->limits->warp;
    double shared = thread * warps / 4;
    return (double)turns * (alone > shared ? alone : shared) / (ghz * 1e3);
}

/* Persistent blocks, as many as the config says if they fit: their registers hold a row and the
 * columns' sums, if any, and between the reductions of a row nobody loads. */
static double blocks_cost(const struct kernel *k, const struct layout *y) {
    const struct device_limits *d = k->limits;
    int words = layout_load_words(k, y), sums = 0;
    for (uint32_t i = 0; i < k->values.n; i++)
        if (goes_across(&k->values.at[i])) sums += y->ur * y->vec * reduction_bytes(k, i) / 4;
    int64_t registers = 28 + words + sums + 4 * y->ur * y->vec / 3,
            at_once = d->regs_unit / (registers * y->threads);
    if (registers > 250 || registers * y->threads > d->regs_unit) return 1e9; /* would spill */
    int64_t rows = kernel_size(k, AXIS_X), nr = kernel_size(k, AXIS_R), parts = y->blocks,
            blocks = parts * y->cluster;
    if (!rows || !blocks) return 0;
    if (at_once > d->max_threads_unit / y->threads) at_once = d->max_threads_unit / y->threads;
    int64_t by_shared = d->smem_unit / (y->smem + SMEM_RESERVED);
    if (at_once > by_shared) at_once = by_shared;
    int64_t units = layout_units(k, y), a_unit = (blocks + units - 1) / units;
    if (blocks > at_once * units) return 1e8 * (double)a_unit; /* a second wave */
    double tile = y->stages > 1 ? (double)layout_stage_bytes(k, y) * (y->stages - 1)
                                : (double)(y->threads * words * 4) * 0.5;
    double rate = (double)a_unit * tile / BYTES_IN_FLIGHT;
    int64_t tiles = (rows + y->bx - 1) / y->bx, turns = (tiles + parts - 1) / parts;
    double balance = (double)tiles / (double)(turns * parts),
           used = (double)nr / ((double)y->br * y->cluster);
    if (blocks < units) balance *= (double)blocks / (double)units;
    double gbps = device_gbps(d);
    double us =
        cost_traffic(k, y, blocks) / (gbps * 1e3 * 0.9 * (rate < 1 ? rate : 1) * balance * used);
    us = hypot(us, turns_us(k, y, turns, a_unit)) * (1 + 0.025 * (layout_cluster(y) - 1));
    if (y->vec >= 8 && y->ur * y->vec * y->ex >= 32) us *= 1.06; /* registers are short */
    if (y->stages > 1 && rate > 1) us *= 1 + 0.04 * log2(rate);  /* reads that stores wait for */
    double finish = k->columns ? 2.5 : 0, alone = k->columns ? 1.1 : 1.03; /* uneven ends */
    us = us * alone * (1 + 0.04 / y->vec + (rate > 0.2 ? 0.02 / rate : 0.1)) + finish;
    return us + skip_us(k, y, k->bytes_read / (gbps * 1e3));
}

/* us that L2 takes for what a product's threads store element by element, a sector each: as long as
 * memory does for most of it. */
static double scattered_us(const struct kernel *k, const struct layout *y) {
    const double L2 = 1.2; /* of memory's rate; not fitted to anything */
    double us = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if ((s->mask & (MASK_M | MASK_N)) != (MASK_M | MASK_N)) continue;
        int row = layout_unit(y->vec), column = layout_unit(y->ex);
        if ((row > 1 && index_is_vector(k, s->index, AXIS_N, row)) ||
            (column > 1 && index_is_vector(k, s->index, AXIS_M, column)))
            continue;
        double elements = (double)kernel_size(k, AXIS_Z) * (double)kernel_size(k, AXIS_M) *
                          (double)kernel_size(k, AXIS_N);
        us += elements * SECTOR / (device_gbps(k->limits) * 1e3 * L2);
    }
    return us;
}

/* Clocks of a multiprocessor for each step along the depth: what nothing hides, for it is waited
 * for together (a tile's loads and barriers, the copies into shared memory), and what the warps of
 * all resident blocks take from its four schedulers. The numbers are fitted to products of 1024^3
 * and 2048^3 on an H200; fitted to one workload, they are within 15 % of the other's times. Of
 * more blocks than a multiprocessor holds at a time the first ones alone wait together: later ones
 * are out of step. An H100 takes 223 us for 8192 x 64 x 8192 and 235 for 256 of 512 x 64 x 512,
 * which were said to take 327 and 388. */
static double matmul_cost(const struct kernel *k, const struct layout *y) {
    const double TILE = 990, STEP = 53, COPY = 150; /* clocks: of each tile, step, element copied */
    const double OPERAND = 0.17, COPIED = 25;       /* instructions: from shared memory, into it */
    /* So many times that where it takes finding an element of a window in an image: 64 filters of
     * 27 terms at 10.3 million places take 5.6 ms on an H100. */
    const double WINDOW = 16;
    const double WIDE =
        1.3; /* of more than 8 columns; from when their reads met in the same banks */
    const double BESIDE = 0.1; /* of the faster of arithmetic and memory; not fitted */
    /* Of a single stage all is waited for, by blocks of more than 64 sums a thread alone: 64
     * channels of 16 at a million pixels take an H200 144 us by 128 x 64, 8 x 8 a thread, and of 6
     * at 8.4 million 1332 by 256 x 128, 16 x 8 a thread, of which memory takes 76 and 548. */
    const double ALL = 1, ALONE = 2;
    enum { FEW_SUMS = 64 };
    const struct device_limits *d = k->limits;
    double tiles = (double)kernel_size(k, AXIS_Z) * ceil((double)kernel_size(k, AXIS_M) / y->bx) *
                   ceil((double)kernel_size(k, AXIS_N) / y->br);
    int bytes = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
    double depth = (double)y->smem / 2 / bytes / (y->bx + y->br); /* of one of two stages */
    double copied = (double)(y->bx + y->br) / y->threads; /* elements a thread, for each step */
    bool taps = im2col_has_taps(k->im2col[0][0]) || im2col_has_taps(k->im2col[1][0]);
    double found = taps ? WINDOW : 1;
    double sums = (double)y->ex * y->vec;
    double alone = STEP + COPY * copied + TILE / depth,
           warp = (sums + OPERAND * (y->ex + y->vec) + COPIED * found * copied) / 4;
    double blocks = ceil(tiles / d->units);
    double step = alone + blocks * layout_warps(k, y) * warp;
    double ghz = device_clock_ghz(k->limits);
    double steps = ceil((double)kernel_size(k, AXIS_R) / depth) * depth; /* a tile's are all made */
    double us = steps * step * (y->vec > 8 ? WIDE : 1) / (ghz * 1e3);
    double least = (k->bytes_read + k->bytes_written) / (device_gbps(d) * 1e3 * 0.9);
    least = fmax(least, scattered_us(k, y));
    double waited = (sums > FEW_SUMS ? ALONE : ALL) * depth / steps;
    return fmax(us, least) + fmax(BESIDE, waited) * fmin(us, least);
}

/* Clocks of a step whose warps copy and multiply both, of which a multiprocessor has `warps`: units
 * for the products, if these wait for nothing. A warp that is alone waits for the factors of each
 * 16 of the depth; and where in an image a piece of a window is takes most instructions of a copy.
 */
static double by_warp_clocks(const struct kernel *k, const struct product *p, double units,
                             double rate, double warps) {
    const double WAIT = 70, OF_WINDOW = 60, OF_LINE = 20, ALONE = 0.5;
    enum { ISSUED = 4, PIECE = 16, FMAS = 16 * 8 * 16 };
    double of_scheduler = warps / ISSUED;
    double products = p->warp_rows / 16.0 * p->warp_columns / 8 * FMAS * ISSUED / rate;
    double reached = fmin(1, of_scheduler * products / (products + WAIT));
    double pieces = p->a_bytes * (p->a.windows ? OF_WINDOW : OF_LINE) +
                    p->b_bytes * (p->b.windows ? OF_WINDOW : OF_LINE);
    double issued = pieces / PIECE / k->limits->warp / ISSUED;
    return units / reached + issued / fmin(1, of_scheduler * ALONE);
}

/* How many times as long boxes take whose lines of 128 bytes begin within those of memory, or
 * within sectors: 1000^3 takes an H100 12.0 us in bf16 by tiles of 64 by 128, 10.0 where two blocks
 * share a factor, 17.1 in tf32; 1024^3 takes 6.3 and 14.1. */
static double torn_lines(const struct operand *o) {
    const double SECTORS = 1.85, LINES = 1.35;
    int64_t pitch = o->pitch * dtype_bytes(o->stored), from = o->offset * dtype_bytes(o->stored);
    return (pitch | from) % SECTOR ? SECTORS : (pitch | from) % LINE ? LINES : 1;
}

/* Clocks of what a step's copies bring of a factor, by lines of windows, which tensor maps are slow
 * at, or by bytes: short steps bring less. */
static double copy_clocks(const struct product *p, const struct operand *o, int bytes, int rows,
                          int depth) {
    /* A clock, at most, in lines of 128 bytes; others take as long: 8192^3 in bf16 takes an H100
     * 3.9 ms by tiles of 64 by 64, 4.2 by 96 columns, lines of 64 bytes, and 9.0 by 80, of 32. */
    const double COPIED = 60;
    /* Of images as they lie: 3 x 3 taps of 64 channels in 64 filters take an H200 1774 us by two
     * blocks of 128 rows, which copy each tap, and 1364 by one of 192 with three taps a step. */
    const double LAIN = 42;
    const double RUN = 13; /* lines of 128 bytes, 32 apart: 8 channels of tf32 on an H100 */
    int of_lines = depth * dtype_bytes(o->stored), of_short = of_lines;
    if (p->shorts.every && !o->along) {
        int line = o->line ? o->line : LINE < of_lines ? LINE : of_lines;
        of_short = (int)round_up(p->shorts.depth * dtype_bytes(o->stored), line);
    }
    double part = 1;
    if (p->shorts.every) part -= (1 - (double)of_short / of_lines) / (double)p->shorts.every;
    if (o->lying) return bytes / LAIN;
    if (!o->windows)
        return part * bytes / COPIED * torn_lines(o) * LINE / operand_line(o, rows, depth);
    bool wide = operand_has_runs(o) && dtype_bytes(o->dtype) == 4 && !p->by_warp;
    return part * bytes / o->line * (wide ? RUN : operand_line_clocks(o, p->by_warp));
}

/* Clocks of a tile's epilogue but for its stores, of instructions that dear operators take, and
 * sums of spans of its rows, and those that move rows on to memory's vectors; a warpgroup that is
 * alone waits for most of them, and functions that are called, not there for each element, take one
 * element at a time: mish of mish behind 1024 x 8192 x 8192 in tf32 takes an H200 100 us, 20 us
 * once. */
static double epilogue_clocks(const struct kernel *k, const struct layout *y) {
    enum { DEAR = 32, LANES = 128 };
    const double ALONE = 0.6, TOGETHER = 0.9, CALLED = 2.5;
    const double MOVED = 6.5; /* an element, as emitted: 52 for a thread's four pairs */
    const double REDUCED = 8; /* into a sum; not measured by itself */
    double size = epilogue_size(k, y->product->online ? 2 : k->levels ? k->levels : 1);
    for (value_id v = 0; v < k->values.n && kernel_has_spans(k); v++)
        if (k->values.at[v].kind == INST_REDUCE && v != k->dot) size += REDUCED;
    if (product_calls_maths(k, y->product)) size *= CALLED;
    if (size <= DEAR) size = 0;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (store_begins_anywhere(k, y->product, &k->stores.at[i])) size += MOVED;
    return (double)y->bx * y->br * size / LANES /
           (product_groups(y->product) == 1 ? ALONE : TOGETHER);
}

/* Clocks of a step whose tile of `rows` warps make: what a warpgroup has to issue, of which each
 * scheduler has one warp, and to wait for what it reads, while others have their turns. Not fitted
 * to anything but ROUND, of one plane: tiles of tf32 that lie across, 256 by 32 by one group, take
 * 3400 clocks a step on an H100. */
static double made_clocks(const struct kernel *k, const struct product *p, int rows, double steps) {
    const double READ = 3, INSIDE = 2, PLANES = 8, ROUND = 22, ISSUED = 0.7, LATENCY = 900;
    enum { GROUP = 128 };
    const struct operand *o = p->a.made ? &p->a : &p->b;
    const bool *needed = kernel_parts(k, o->factor);
    double each = o->planes > 1 ? PLANES : ROUND;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || !(x->mask & MASK_R)) continue;
        if (x->kind == INST_LOAD) each += READ;
        if (x->kind == INST_INDEX) each += INSIDE;
        if (x->kind == INST_OP) each += op_is_expensive(x->op) ? 8 : 1;
    }
    double elements = (double)rows * (double)o->depth / steps / GROUP;
    return (elements * each / ISSUED + LATENCY) / p->makers;
}

static double elements_of(const struct operand *o) {
    return (double)o->rows * (double)o->depth * (double)o->batches;
}

/* us of what is loaded and stored behind the sums, which nobody's products hide where all blocks
 * wait for each other. */
static double exposed_us(const struct kernel *k, const struct product *p) {
    double bytes = k->bytes_read + k->bytes_written;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (!o->windows) bytes -= elements_of(o) * dtype_bytes(o->stored);
    }
    return fmax(bytes, k->bytes_written) / (device_gbps(k->limits) * 1e3);
}

/* Of the factors that each are copied once. */
static double once_bytes(const struct product *p) {
    double bytes = 0;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (o->once) bytes += elements_of(o) * dtype_bytes(o->stored) * stored_planes(o);
    }
    return bytes;
}

/* What L2 hands out of the factors beyond the first time, which memory's speed counts: the second
 * reader of a line may be in its other half, and later ones find it in both. 256 x 524288 x 256 in
 * bf16 takes an H200 150 us where all is read once, 178 to 183 where half of it is twice, 213 where
 * all is, or a half four times. */
static double again_us(const struct kernel *k, const struct layout *y) {
    const double SECOND = 36, LATER = 140; /* bytes a clock of a multiprocessor */
    const struct product *p = y->product;
    double us = 0;
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        double reads = (double)matrix_tiles(k, y, o->axis == AXIS_M ? AXIS_N : AXIS_M);
        if (o->windows || o->stays) continue;
        double bytes = elements_of(o) * dtype_bytes(o->stored) * stored_planes(o);
        us += bytes * (fmin(1, fmax(0, reads - 1)) / SECOND + fmax(0, reads - 2) / LATER);
    }
    return us / (k->limits->units * device_clock_ghz(k->limits) * 1e3);
}

/* What is loaded behind the product for each of its elements. */
static int element_loads(const struct kernel *k) {
    const unsigned both = MASK_M | MASK_N;
    int n = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        n += x->kind == INST_LOAD && (x->mask & (both | MASK_R)) == both;
    }
    return n;
}

/* Of each element of the product, in all outputs that have one. */
static double stored_bytes(const struct kernel *k) {
    double bytes = 0;
    for (uint32_t i = 0; i < k->stores.n; i++)
        if ((k->stores.at[i].mask & (MASK_M | MASK_N)) == (MASK_M | MASK_N))
            bytes += dtype_bytes(k->schedule->loops->buffers.at[k->stores.at[i].buffer].meta.dtype);
    return bytes;
}

/* Products on the matrix units: a step of a tile takes what the units need for it, or to read it
 * out of shared memory, and what a warpgroup waits for between two steps, which another one hides
 * in part; or as long as its copy is under way, if few are ahead. Warps that make planes multiply
 * meanwhile as little as they do when they wait for their products. Fitted to 286 configs of 15
 * products in bf16 on an H200 (reports/samples/product_trials_h200.csv, scripts/cost_model.py), of
 * which it puts first guesses 1 % behind the best in the mean, and to those that won among others
 * (scripts/product_guesses.py). Of tcgen05 nobody has measured anything: its numbers are the data
 * sheet's and those of wgmma. */
static double mma_cost(const struct kernel *k, const struct layout *y) {
    const double SHARED = 112;  /* bytes a clock of a multiprocessor */
    const double BARRIER = 60;  /* of all warps, which other blocks hide; not fitted to anything */
    const double LOADED = 0.92; /* of the clock */
    const double LATENCY = 2000, WAIT = 125, WAIT_ALONE = 120, PROMOTE = 260, PROMOTE_ALONE = 520;
    const double READ = 40, READ_ALONE = 200; /* a factor into registers; not fitted to anything */
    /* Of images as they lie: reads of a warp for each that it would take of whole vectors; and of
     * the shorter of products and what they read of shared memory. 64 channels, 3 x 3, in 128
     * filters, take an H200 some 400 clocks for 64 rows and 32 of the depth, and in 64 filters 270,
     * whatever the config; the units alone would take 256 and 128. */
    const double CONFLICTS = 1.44, LYING = 0.5;
    const double PLANES = 7; /* instructions for an element's planes; four warps issue at a time */
    const double PART = 10;  /* for a copy that is smaller than usual; not fitted to anything */
    const double BESIDE =
        0.1; /* of the faster of products and copies, which go on beside each other */
    /* Sums of a thread beside which there are registers for what spans of its rows come to: 8.5
     * million pixels of 64 filters with gelu and a group norm's sums behind take an H200 6780 us by
     * 64 x 256, which moves 9.5 GB of spilled registers, 4800 by two blocks of 64 x 192, 3750 by
     * two of 64 x 128. */
    enum { MOST_KEPT = 64 };
    const double BUSY = 12;  /* warps of a multiprocessor that keep these four busy */
    const double USUAL = 64; /* columns */
    /* Where nearly all bytes are stored: 32768 x 32768 in tf32 by clusters takes an H200 1353 us at
     * a depth of 32, 1246 in bands of 16 tiles, 1406 and 1307 at 64. */
    const double MOSTLY = 4, BANDED = 0.93;
    enum { USUAL_BAND = 8 };
    const double EPILOGUE = 850, FILL = 3500, LAUNCH = 3;
    /* Blocks that wait for each other all take as long as the slowest of each wave: of its time,
     * for each that shares the rows, and a meeting. Fitted to means, norms and softmax behind
     * products of tf32 on an H200, 8, 32 and 64 blocks a row: 4, 10 to 25 and 45 to 70 %. */
    const double SKEW = 0.003, MOST_SKEWED = 0.2;
    /* us: what each leaves is there for the others, and has been waited for. Norms of rows of 768
     * behind 1576 x 768 and 3072 x 768 take an H200 7.7 and 4.6 us more than these alone in bf16,
     * 8.2 and 3.4 in tf32, of which 1 to 2 are what is stored. */
    const double MEETING = 2.5;
    /* us, for each of a thread's sums and what is loaded beside it, in each wave and phase: sums of
     * columns take registers or shuffles of their own. 6272 pixels of 1024 filters of a gradient
     * with three loads take 64 us with two sums behind, 31 without; 25088 of 512 82 and 54; 100352
     * of 64 with none 31 and 20; 1568 of 512, whose norm meets twice, 27 and 9. */
    const double SUMMED = 0.02;
    /* us, each of these reads a part of each: a batch norm behind 16384 x 4096 x 4096 waits some 26
     * for 64 blocks, one behind a convolution of 25088 pixels more than 150 for 131. */
    const double READ_BY_ALL = 0.0065;
    /* Registers beside the sums where rows or columns are summed up, too; else they are spilled:
     * 25088 pixels of a layer's gradient, with two sums behind, take an H200 151 us by two blocks
     * of 64 x 192. */
    const double SPILLED = 1.5;
    enum { BESIDE_SUMS = 64 };
    /* us, for each of a thread's sums that stay while blocks wait for each other, and each element
     * beyond two that is loaded beside it: what is made of them is spilled. By 112 sums a thread,
     * layers of 1568 pixels take an H200 13 us more than by themselves with one load, 36 to 73 with
     * four; by 128 of 6272 pixels 6 with two, 56 to 152 with three and four. */
    const double STAYS = 0.3;
    enum { FEW_LOADS = 2 };
    /* Clocks for a byte: 262144 pixels of 512 phases and filters, 256 deep, take an H200 188 us in
     * tf32 by 128 x 256, of which products are 4096 * 8192 clocks of a multiprocessor. */
    const double STORED = 0.025;
    /* us: pairs: the three launches in bf16 beside them, and that the first waits for a verdict:
     * 1000^3 takes 38.7 us on an H100, 29.9 without pairs. */
    const double IDLE = 15;
    /* us, until the blocks of clusters have begun, and ended; clocks, until all of a cluster have
     * read a stage. */
    const double TOGETHER = 0.9, COUPLED = 10;
    /* us: where they have parts of the depth: 8 x 4096 x 4096 takes an H100 37.2 us in tf32, 34.7
     * without clusters, 21.2 and 19.7 in bf16. */
    const double PARTED = 2.2;
    /* Where memory is what is waited for: 128 x 16384 x 16384 in tf32 takes an H200 279 us in two
     * parts, 294 in three and 298 in four, 270 to 273 in one. */
    const double IN_PARTS = 1.06;
    const double SLOWER = 0.11; /* 64 x 8192 x 8192 in tf32 takes 104.4 us so, 101.7 else */
    const double BOTH = 0.2;    /* of the shorter, of copies of windows and of boxes */
    const double LANES = 128;   /* of tensor memory */
    /* Stages: 4096^3 takes 2222 us on an H100 with two of 64 by 96 (two blocks a multiprocessor),
     * 738 with three of 128 by 128. */
    const double HELD = 1.75;
    const struct device_limits *d = k->limits;
    const struct product *p = y->product;
    double ghz = device_clock_ghz(k->limits) * LOADED, gbps = device_gbps(d);
    double rate =
        d->matrix_tflops * 1e3 / (2 * d->units * device_clock_ghz(k->limits)); /* a clock */
    if (p->by_warp && d->wgmma) rate *= 0.6;
    double depth = (double)p->b_bytes / y->br / dtype_bytes(p->b.stored) / stored_planes(&p->b);
    double steps = ceil((double)p->a.depth / depth), m = y->bx, n = y->br;
    if (p->steps) steps = (double)p->steps->total / (double)kernel_size(k, AXIS_Z);
    int bytes = dtype_bytes(p->a.dtype); /* tf32 takes twice as long as bf16 */
    double left = product_depth_left(&p->shorts, (int)depth);
    if (p->a.lying) left *= (double)p->a.step_taps / p->a.step_places;
    double units = left * m * n * depth * p->n_passes * bytes / 2 / rate;
    /* Narrow lines lie in fewer banks: f32 in 8192 x 64 x 8192 takes an H100 159 us by 64 columns
     * of two blocks, 182 by 96, 227 by 80. */
    double read = p->by_warp ? n : n * LINE / operand_line(&p->b, y->br, (int)depth);
    /* In turn one warpgroup multiplies, by an instruction for each 64 rows. */
    int groups = p->in_turn > 1 ? p->warp_rows / 16 : p->warpgroups;
    double shared = left * p->n_passes * depth * bytes * groups * (64 + read) / SHARED;
    if (p->a.in_registers)
        shared = left * depth * p->warpgroups *
                 (64 * dtype_bytes(p->a.stored) * (p->a.lying ? CONFLICTS : 1) +
                  p->n_passes * bytes * read) /
                 SHARED;
    if (p->tensor) { /* an instruction has all rows; those of 64 take as long as of 128 */
        shared = left * p->n_passes * depth * bytes * (m + n) / SHARED;
        if (m < LANES) units *= LANES / m;
    }
    if (p->by_warp)
        shared = p->n_passes * depth * bytes * (p->warp_rows + p->warp_columns) *
                 (y->threads / (double)d->warp) / SHARED;
    /* Planes that each warp makes, by so many instructions an element. */
    double made =
        operand_makes_planes(&p->a) * p->warp_rows + operand_makes_planes(&p->b) * p->warp_columns;
    double tiles = (double)matrix_all_tiles(k, y), whole = (double)p->whole, cut = tiles - whole;
    double resident = fmin(p->resident, fmax(1, ceil(tiles * p->parts / d->units)));
    double warps = (double)y->threads / d->warp, busy = fmin(1, warps * resident / BUSY);
    if (p->by_warp) units = by_warp_clocks(k, p, units, rate, warps * resident);
    if (p->by_warp) units += made * depth * PLANES / (4.0 * d->warp) * warps / busy;
    for (int i = 0; i < 2 && p->by_warp; i++) {
        const struct operand *o = i ? &p->b : &p->a;
        if (o->piece < 16) /* bytes: the usual ones hide behind products */
            units += PART * (i ? p->b_bytes : p->a_bytes) / o->piece / (4.0 * d->warp);
    }
    bool alone = p->warpgroups == 1;
    /* tensor: of sums that are read in each step, unless others are made meanwhile. */
    double wait = p->promotes ? alone ? PROMOTE_ALONE : PROMOTE : alone ? WAIT_ALONE : WAIT;
    if (p->a.in_registers) wait += (alone ? READ_ALONE : READ) * (p->a.planes > 1 ? 2 : 1);
    if (p->pairs && p->promote_pairs < (int)depth) wait += alone ? WAIT_ALONE : WAIT;
    if (p->tensor) wait = p->promotes && p->sums_at_once == 1 ? PROMOTE : 0;
    if (p->by_warp) wait = BARRIER / resident;
    int cluster_a = product_sharers(p, y->cluster, AXIS_M),
        cluster_b = product_sharers(p, y->cluster, AXIS_N);
    double of_a = copy_clocks(p, &p->a, p->a_bytes / cluster_a, y->bx, (int)depth),
           of_b = copy_clocks(p, &p->b, p->b_bytes / cluster_b, y->br, (int)depth);
    /* Nobody copies what is made; of other factors than windows this is as it was fitted. */
    bool made_windows = p->makers && im2col_has_taps(k->im2col[p->a.made ? 0 : 1][0]);
    if (made_windows) *(p->a.made ? &of_a : &of_b) = 0;
    bool windows_a = p->a.windows && !p->a.lying, windows_b = p->b.windows;
    double lines = windows_a * of_a * cluster_a + windows_b * of_b * cluster_b;
    double boxes = p->by_warp ? 0 : !windows_a * of_a + !windows_b * of_b;
    lines = fmax(lines, boxes) + BOTH * fmin(lines, boxes);
    if (p->makers) lines += made_clocks(k, p, p->a.made ? y->bx : y->br, steps);
    double work = fmax(units, shared) + (p->a.lying ? LYING * fmin(units, shared) : 0);
    double multiplied = work + wait;
    double step = fmax(multiplied, lines) + BESIDE * fmin(multiplied, lines);
    /* Pairs give a stage back when the first products of the next step are done. */
    double ahead = y->stages - (p->pairs ? HELD : 1);
    step = fmax(step, LATENCY / ahead / (p->by_warp ? resident : 1));
    if (y->cluster > 1) step += COUPLED;
    bool spills = kernel_has_spans(k) && product_thread_sums(p) > MOST_KEPT;
    double output = epilogue_clocks(k, y), part = ceil(steps / p->parts);
    double at_once = floor((double)matrix_clusters(k, y) / p->resident);
    double waves = ceil(cut * p->parts / at_once), before = ceil(whole / at_once);
    if (p->bounded && waves > 1) part = p->mean_steps / p->parts; /* blocks have as many: dot.c */
    double behind = EPILOGUE * (n < USUAL ? 0.3 + 0.7 * n / USUAL : 1); /* not fitted */
    bool taps = im2col_has_taps(k->im2col[0][0]) || im2col_has_taps(k->im2col[1][0]);
    if (taps) behind = fmax(behind, m * n * STORED * stored_bytes(k));
    behind += output;
    double tile = part * step + behind, uncut = steps * step + behind;
    if (p->tensor && p->sums_at_once > 1 && waves > 1) tile = fmax(part * step, behind);
    /* Two in turn: one multiplies while the other is at its epilogue, but for the last. */
    double last = 0;
    if (p->in_turn > 1 && waves > 1) {
        tile = fmax(fmax(part * step, tile / p->in_turn), output); /* both are issued by turns */
        last = behind;
    }
    if (!p->by_warp && resident > 1) { /* what one waits for is another's time */
        double busy = work, copies = of_a + of_b;
        busy = fmax(busy, copies) + BESIDE * fmin(busy, copies);
        tile = fmax(fmax(tile / resident, part * busy), output);
        uncut = fmax(fmax(uncut / resident, steps * busy), output);
    }
    if (spills) tile += output, uncut += output;
    double us = (before * uncut + waves * tile + last + FILL) / (ghz * 1e3);
    double least = (k->bytes_read + k->bytes_written) / (gbps * 1e3 * 0.9);
    least += again_us(k, y) * p->mean_steps / steps;
    if (k->bytes_written > MOSTLY * k->bytes_read && y->cluster > 1 && p->band > USUAL_BAND)
        least *= BANDED;
    if (p->parts > 1) least *= IN_PARTS;
    int held = d->regs_unit / (p->resident * y->threads);
    if (k->over && p->resident > 1 && product_thread_sums(p) + BESIDE_SUMS > held) us *= SPILLED;
    /* What rows come to: another launch, or a meeting for each phase; not fitted to anything. */
    if (k->over && !epilogue_reads_results(k)) us += LAUNCH;
    if (p->pairs) us += IDLE;
    if (y->cluster > 1) us += TOGETHER;
    double meetings = p->sharing > 1 ? p->online ? 1 : k->levels - 1 : 0;
    if (k->over & MASK_M && !kernel_has_spans(k))
        us += SUMMED * product_thread_sums(p) * (1 + element_loads(k)) * waves * (1 + meetings);
    if (p->sharing > 1) {
        us *= 1 + fmin(MOST_SKEWED, SKEW * p->sharing) * meetings;
        us += waves * meetings * READ_BY_ALL * p->sharing * p->sharing;
        us += exposed_us(k, p) + MEETING * meetings;
        int sums = product_thread_sums(p), more = element_loads(k) - FEW_LOADS;
        if (!p->online && sums > MOST_KEPT && more > 0) us += STAYS * sums * more * meetings;
    }
    us = fmax(us, least) + BESIDE * fmin(us, least);
    /* By L2, once all of it has been read: in bf16 64 x 8192 x 8192 takes an H100 64.0 us in four
     * parts, 56.7 in one, 16 x 4096 x 11008 takes 47.2 in three and 42.3. */
    double rows = fmin(m, (double)p->a.rows);
    if (p->parts > 1 && y->cluster > 1) us += PARTED;
    if (p->parts > 1) us += 2.5 + 2 * cut * p->parts * rows * n * 4 / (gbps * 1e3);
    if (y->leave_l2) us += leaving_us(k, once_bytes(p), once_bytes(p) / (gbps * 1e3), SLOWER);
    return us + operand_pack_us(k, &p->a) + operand_pack_us(k, &p->b);
}

/* Chained products: what the units take, or shared memory, and for each element between
 * instructions. By warps not fitted to anything; by warpgroups to softmax(q k^T) v in bf16, heads
 * of 64 and 128, on an H100 (2048 queries) and an H200 (4096, causal): of 128 rows a step of 64
 * columns takes 1362 clocks with heads of 64 and 1759 of 128, one of 128 columns 2397 and 3189; of
 * 192 rows and 64 columns 1730 and 2343. */
static double chained_cost(const struct kernel *k, const struct layout *y) {
    const double SHARED = 100; /* bytes a clock of a multiprocessor */
    const double LOADED = 0.82, ELEMENT = 13, BEHIND = 1500, BARRIER = 60, RATE = 0.6, LAUNCH = 2;
    const double BESIDE = 0.1; /* of the faster of products and copies */
    const double MOST = 1.3; /* of its share of memory that a multiprocessor gets, if others idle */
    /* What a mask of data leaves, a guess; and questions answered in a us by all units: not
     * measured. */
    const double SHOWN = 0.5, ASKED = 4e6;
    const struct device_limits *d = k->limits;
    const struct chained *x = y->chained;
    double ghz = device_clock_ghz(d) * LOADED;
    double rate = d->matrix_tflops * 1e3 / (2 * d->units * device_clock_ghz(d));
    int bytes = dtype_bytes(x->a[0].dtype); /* tf32 takes twice as long as bf16 */
    rate *= x->planes ? 1.0 / MOST_PASSES : 2.0 / bytes;
    if (d->wgmma && x->by_warp) rate *= RATE;
    double m = y->bx, n = y->br, depth = x->n_first * x->a[0].depth,
           columns = x->n_second * x->columns;
    double warps = y->threads / (double)d->warp;
    double rows = (double)kernel_size(k, AXIS_M), keys = (double)kernel_size(k, AXIS_N);
    double parts = y->split, blocks = ceil(rows / m) * (double)kernel_size(k, AXIS_Z) * parts;
    double resident = floor((double)d->smem_unit / (y->smem + SMEM_RESERVED));
    double registers = (x->n_first * n + columns) * x->warp_rows / d->warp + 70;
    resident = fmax(1, fmin(resident, floor(d->regs_unit / (registers * y->threads))));
    if (!x->by_warp) resident = x->resident;
    resident = fmin(resident, fmax(1, ceil(blocks / d->units)));
    double units = m * n * (depth + columns) / rate;
    double shared = warps * (n * (depth + columns) + x->warp_rows * depth) * bytes / SHARED;
    /* What few rows read was written there, too: 96 heads of 197 by 64 take an H200 13.5 us by 16 x
     * 16 and 14.5 by 16 x 32, of which 2 to 3 are the launch's. */
    if (x->by_warp) shared += n * (depth + columns) * bytes / SHARED;
    double between = m * n * ELEMENT / (4.0 * d->warp);
    /* Each warp makes planes of what it reads, and of its terms. */
    const double PLANES = 7;
    if (x->planes)
        between += (warps * (n * (depth + columns) + x->warp_rows * depth) + m * n) * PLANES /
                   (4.0 * d->warp);
    /* Of the last columns each element is asked whether it is one: of many steps, in the last. */
    const int FEW_STEPS = 3;
    double asked = kernel_size(k, AXIS_N) % y->br != 0, all_steps = ceil(keys / n);
    if (!x->by_warp && all_steps > FEW_STEPS) asked /= all_steps;
    between *= 1 + 0.4 * asked;
    double busy = fmin(1, warps * resident / 8);
    double step = (fmax(units, shared) + between * 0.5) / busy + BARRIER / resident;
    /* Of f32 a thread's sums of a tile are there until they are multiplied, and not half of them:
     * beside 128 others are spilled, by heads of 32 half a kilobyte. Not measured. */
    const double SPILLED = 1.3, MOST_OF_TILE = 128;
    double tile =
        (x->n_first > x->n_second ? x->n_first : x->n_second) * n * x->warp_rows / d->warp;
    if (x->by_warp && bytes > 2 && tile >= MOST_OF_TILE) step *= SPILLED;
    /* 4 x 32 x 2048 rows take an H200 1122 us in tf32 by heads of 64, 2313 of 128, and 2725 by
     * planes, where the above says 741, 1515 and 2406. */
    const double IN_TF32 = 1.5, IN_PLANES = 1.13;
    if (x->by_warp && bytes > 2) step *= x->planes ? IN_PLANES : IN_TF32;
    if (!x->by_warp) { /* a warpgroup's terms are made while another one's are multiplied */
        const double ALONE = 0.6, BESIDE_OTHERS = 0.3, WAIT = 600;
        /* Short steps: 32 heads of 2048 by 64 take 106.3 us on an H100 by 128 x 64 with three
         * stages, 99.4 with four; by 128 x 128 87.4 with either. */
        const double SHORT = 64, SHORT_STEP = 1.04, FEW_AHEAD = 1.05, UNEVEN = 0.1;
        const double WIDE_TWINS = 1.5; /* 128 x 128 takes 1991 us, 128 x 64 1594: chained.c */
        /* Of a tile that both read, a step's is held until the next one's terms are made: of two
         * stages none is ahead. So, before any lagged, 32 heads of 2048 by 128 took an H100 186 us
         * with two, 117 with three. */
        const double ALL_HELD = 1500, ONE_HELD = 100; /* in turn: their own; not measured */
        /* Softmax of one beside products of another: forward on an H200, 4 x 32 x 4096, 1206 us for
         * 1229 with heads of 64, 1585 for 1592 of 128, 1397 for 1402 of 256 (16 heads); 1148 of 64
         * by three warpgroups with 112 columns. Of more products it is not measured. */
        const double IN_TURN = 0.98;
        const double ONE_AHEAD = 1.01; /* where tiles lag; not measured */
        shared = x->warpgroups * (n * (depth + columns) + 64 * depth) * 2 / SHARED;
        bool alone = x->warpgroups * resident < 2;
        step = fmax(units, shared);
        step = fmax(step, between) + (alone ? ALONE : BESIDE_OTHERS) * fmin(step, between);
        step += WAIT / (x->warpgroups * resident);
        if (n <= SHORT) step *= y->stages <= 3 ? SHORT_STEP * FEW_AHEAD : SHORT_STEP;
        step *= 1 + UNEVEN * asked;
        if (x->n_second > 1 && n > SHORT) step *= WIDE_TWINS;
        bool ahead = y->stages > 2 || keys <= n || chained_lags(y); /* or no step is behind */
        if (!ahead) step += chained_is_in_turn(y) ? ONE_HELD : ALL_HELD;
        if (x->ping_pong && x->n_first == 1 && x->n_second == 1) step *= IN_TURN;
        if (chained_lags(y) && y->stages == 2 && keys > n) step *= ONE_AHEAD;
    }
    double waves = ceil(blocks / (d->units * resident)) * resident;
    if (k->edges.n) { /* of blocks that lie all over the rows */
        enum { SAMPLES = 16 };
        double all = 0;
        for (int i = 0; i < SAMPLES; i++) {
            int64_t at = (int64_t)((i + 0.5) * rows / SAMPLES / m) * y->bx;
            struct depth_range r = chained_range(k, kernel_size(k, AXIS_Z) / 2, at, y->bx);
            all += (double)(r.end - r.from);
        }
        keys = fmax(n, all / SAMPLES + n / 2);
    }
    if (x->skips) keys = fmax(n, keys * (chained_alike(k) > 1 ? SHOWN : 1));
    double us =
        LAUNCH + waves * (ceil(ceil(keys / n) / parts) * step + BEHIND / resident) / (ghz * 1e3);
    double in_flight = fmin(resident, blocks / d->units) * (y->stages - 1) * x->stage;
    double least = (k->bytes_read + k->bytes_written) / (device_gbps(d) * 1e3 * 0.9);
    least /= fmin(1, fmin(in_flight / BYTES_IN_FLIGHT, MOST * blocks / d->units));
    if (rows <= m) least *= fmin(1, keys / (double)kernel_size(k, AXIS_N)); /* a window's */
    us = fmax(us, least) + BESIDE * fmin(us, least);
    if (x->skips)
        us += LAUNCH + (double)skipped_lists(k, y) * m * (double)kernel_size(k, AXIS_N) / ASKED;
    if (parts == 1) return us;
    /* The last block reads what each part has left, so many at a time. Not measured. */
    const double MEETING = 2.5, TURN = 0.8;
    double left = blocks * y->threads * chained_part_floats(k, x) * 4;
    double at_once = chained_part_rows(k, x) == 1 ? 4 : 2;
    return us + MEETING + parts / at_once * TURN + 2 * left / (device_gbps(d) * 1e3);
}

double cost_on_gpu(const struct kernel *k, const struct layout *y) {
    if (y->chained) return chained_cost(k, y);
    if (y->product) return mma_cost(k, y);
    if (k->kind == KERNEL_MATMUL) return matmul_cost(k, y);
    if (y->hits) return hits_cost(k, y);
    return (y->blocks ? blocks_cost : tiles_cost)(k, y);
}

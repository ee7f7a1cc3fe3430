/* cost_gpu.c: what a config takes on a GPU, about: the roofline of what it moves, over what keeps
 * it from that speed. The numbers are fitted to times of an H200 (scripts/cost_model.py). */
#include <math.h>

#include "graph/traits.h"
#include "kernel/cost.h"

#define COMBINE_US 0.5 /* of the threads that share a column, per wave of blocks */

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

/* Does a thread read its elements at once, in whichever order? */
bool cost_load_is_whole(const struct kernel *k, const struct layout *y,
                        const struct value_node *v) {
    return layout_load_is_vector(k, y, v) || layout_load_reverses(k, y, v);
}

/* And nothing is wanted of L1: no two threads read from a line by elements. i8 of 134 MB, each for
 * eight neighbours, take an H200 824 us, and 3163 if they leave no copy in L1. */
static bool needs_no_l1(const struct kernel *k, const struct layout *y) {
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind != INST_LOAD || !(v->mask & MASK_R)) continue;
        if (v->n_args > v->guarded) return false; /* who knows what others look up */
        if (!cost_load_is_whole(k, y, v) && !layout_load_is_uniform(k, y, v)) return false;
        if (reads_parts_of_lines(k, y, v)) return false;
    }
    return true;
}

/* What loads that leave no copy in L1, or leave L2 first, take more than others, or less. They do
 * not drive out of L2 what lies there to be written, about half of it, and read at nine tenths of
 * the speed: of f32 sums on an H200, 67 MB took 24 us for 27, and 1 GB 261 us for 248. Beside
 * stores they gain nothing. So do the copies of a thin product's large factor: 8 x 4096 x 4096 in
 * tf32 takes an H100 30.0 us for 34.7, in bf16 17.1 for 19.7, 16 x 4096 x 11008 69.8 for 74.9. */
double cost_leaving_us(const struct kernel *k, double read, double bytes_us, double slower) {
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
    return cost_leaving_us(k, read, bytes_us, SLOWER);
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

/* Does a tile have whole rows that lie behind each other? Its lanes go along them as along one. */
static bool rows_join(const struct kernel *k, const struct layout *y) {
    int64_t row = kernel_size(k, AXIS_X);
    if (!y->rows_inner || y->bx < row || y->bx != y->t0 * y->vec) return false;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind == INST_LOAD && v->mask == (MASK_X | MASK_R) &&
            (load_stride(k, v, AXIS_X) != 1 || load_stride(k, v, AXIS_R) != row))
            return false;
    }
    return true;
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
    if (kernel_size(k, AXIS_X) * bytes < LINE && rows_join(k, y)) return 1;
    if (!y->rows_inner) run *= cost_windows(k, y);
    double torn = torn_rows(k, y, run, bytes);
    if (y->one_head && !y->turn)
        return 1 + (double)HALF_SECTOR / run; /* both ends of it lie anywhere */
    if (run >= 256) return torn * (run >= 512 ? 1 : 1.01);
    double power = y->rows_inner && k->kind == KERNEL_REDUCE ? BESIDE : APART;
    double halves = run < 2 * SECTOR && power == BESIDE ? 2.0 * SECTOR / run : 1;
    return torn * 1.04 * pow(run < LINE ? (double)LINE / run : 1, power) * pow(halves, HALVES);
}

/* Threads that have neighbours along x, and read them one by one, ask for each sector again:
 * softmax of f32[272, 243, 8, 25] along the 8 takes an H200 33.5 us by one column a thread, 40.3
 * by two and 82 by four. Long rows gain more by what a warp reads of one. */
static double by_elements(const struct kernel *k, const struct layout *y) {
    const double EACH = 0.2;
    bool any = false;
    if (!y->rows_inner || y->vec == 1 || is_torn(k, y)) return 1;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        any |= v->kind == INST_LOAD && (v->mask & (MASK_X | MASK_R)) == (MASK_X | MASK_R) &&
               !layout_load_is_vector(k, y, v) && !layout_load_is_uniform(k, y, v) &&
               !layout_load_shifts(k, y, v);
    }
    return any ? 1 + EACH * log2(y->vec) : 1;
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
    double rows = (double)kernel_rows(k), points = rows * (double)kernel_size(k, AXIS_R), ends = 0,
           total = 0;
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
        bool shifts = v ? layout_load_shifts(k, y, v) : layout_store_shifts(k, y, st);
        bool whole = v ? cost_load_is_whole(k, y, v)
                       : layout_store_is_vector(k, y, st) || layout_store_reverses(k, y, st);
        int rows_of_one = v && v->mask == MASK_R && y->one_head ? y->ex : 1;
        bool along = whole || uniform || !v || layout_turns(k, y, i);
        int64_t steps = along ? 1 : load_usual_stride(k, v, inner);
        if (steps > 1) bytes *= steps < LINE ? (int)steps : LINE;
        if (v && cost_windows(k, y) > 1) bytes = bytes * (int)cost_windows_apart(k, v) / WINDOWS;
        double clocks = access_clocks(warp, bytes, lanes_of_run(k, y));
        if (shifts) clocks = TWICE * clocks + (v ? SHIFT : SHIFT + y->vec);
        total += (v ? cost_reads(k, y) : 1) *
                 (points / (whole || shifts || uniform ? y->vec : 1) + ends) * clocks / rows_of_one;
    }
    total += points / y->vec * window_clocks(k, y);
    if (y->kept) /* written once, read by each phase, 128 bytes a clock */
        total += warp * (1 + layout_phase(y, k->levels)) * kept_bytes(k, y) * ceil(rows / y->bx) *
                 (y->meets ? y->split : y->cluster) / 128;
    double rate = (double)warp * k->limits->units * k->limits->clock_ghz * 1e3;
    return rate > 0 ? total / rate : 0;
}

/* Who adds up the parts of a split reduction has four of them under way at a time. */
double cost_finish_turns(const struct kernel *k, const struct layout *y) {
    enum { AT_ONCE = 4 };
    int64_t rows = kernel_size(k, AXIS_X),
            threads = rows < 64      ? 256
                      : rows < 16384 ? 8
                                     : 1,
            all = AT_ONCE * (y->last_block ? y->t1 : threads);
    return (double)((y->split + all - 1) / all);
}

/* The memory idles while all blocks that it serves meet; others of rows beside these go on. */
static double meetings_us(const struct kernel *k, const struct layout *y) {
    const double MEETING = 2.5, PART = 0.01;
    double rows = (double)kernel_rows(k),
           beside = fmin(rows, fmax(1, (double)y->fit * k->limits->units / y->split));
    return k->levels * (MEETING + PART * y->split) * fmax(1, rows / (beside * beside));
}

double cost_finish_us(const struct kernel *k, const struct layout *y) {
    if (y->split == 1) return 0;
    if (y->meets) return meetings_us(k, y);
    return (y->last_block ? 1.0 : 1.1) + cost_finish_turns(k, y);
}

/* Does a thread have windows to itself, each in a straight line? Then compilers have some of its
 * loads under way all the time, and find none by a division. */
static bool is_straight(const struct kernel *k, const struct layout *y) {
    bool whole = y->t1 == 1 && y->ex == 1 && y->br >= kernel_size(k, AXIS_R);
    return k->kind == KERNEL_REDUCE && !y->rows_inner && whole && cost_windows(k, y) > 1;
}

enum { STRAIGHT_WORDS = 20 }; /* of such a thread's that are under way */

static bool is_long_straight(const struct kernel *k, const struct layout *y) {
    return layout_load_words(k, y) > STRAIGHT_WORDS && is_straight(k, y);
}

/* Words of a thread's that are under way. */
int cost_loaded_words(const struct kernel *k, const struct layout *y) {
    return is_long_straight(k, y) ? STRAIGHT_WORDS : layout_load_words(k, y);
}

/* Compilers let blocks of one warp, of which no more than half as many warps fit, have twice the
 * registers, and more under way: a pool by 11 x 11 takes an H200 3,982 us so, 4,086 by two warps a
 * block and 4,037 by eight. */
static double held_back(const struct kernel *k, const struct layout *y) {
    return is_long_straight(k, y) && y->threads > k->limits->warp ? 1.02 : 1;
}

double cost_element_work(const struct kernel *k, const struct layout *y) {
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
    double elements = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R);
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
 * is expensive does. What is called is computed for one element after the other, with registers
 * moved about before and after. */
double cost_value_work(const struct kernel *k, const struct layout *y, value_id v, bool calls) {
    enum { EXPENSIVE = 8, CALLED = 20, CONVERSION = 4, CHECK = 4, ADDRESS = 5 };
    const double TAP = 0.25; /* an element of a piece, which several have */
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_OP && is_sum_of_product(k, x)) return 0;
    if (x->kind == INST_OP) return !op_is_expensive(x->op) ? 1 : calls ? CALLED : EXPENSIVE;
    if (x->kind == INST_CAST) {
        bool from = dtype_is_float(k->values.at[x->args[0]].dtype), to = dtype_is_float(x->dtype);
        return from != to ? CONVERSION : x->rounds ? 1 : 0;
    }
    if (x->kind != INST_LOAD) return x->kind == INST_SUBSCRIPT ? CHECK : 0;
    if (layout_tap(y, v)) return TAP;
    if (!(x->mask & MASK_R)) return ADDRESS;
    return cost_load_is_whole(k, y, x) ? 1 + (double)ADDRESS / y->vec : ADDRESS;
}

/* What schedulers need for the instructions of a pointwise kernel alone: a thread computes what its
 * rows share once for all of them, and what its columns share once a row. */
static double issued_us(const struct kernel *k, const struct layout *y, int64_t resident) {
    const double ALONE = 1.0 / 6; /* elements do not wait for each other */
    double work = 2, each;
    bool calls = rows_call_maths(k, y);
    for (value_id v = 0; v < k->values.n; v++) {
        uint8_t mask = k->values.at[v].mask & (MASK_X | MASK_R);
        each = mask ? cost_value_work(k, y, v, calls) : 0;
        work += mask == MASK_R ? each / y->ex : mask == MASK_X ? each / (y->ur * y->vec) : each;
    }
    return instructions_us(k, y, work, resident, ALONE);
}

/* Instructions alone, by the warps there are. */
static double busy_us(const struct kernel *k, const struct layout *y, int64_t resident) {
    return instructions_us(k, y, cost_element_work(k, y), resident, 0.1);
}

/* A multiprocessor's blocks load while others of them reduce what they have loaded; one that is
 * alone reduces some of a row that it copies while the rest comes. Out of registers that takes less
 * than out of shared memory, with a loop around it. */
static double reduced_us(const struct kernel *k, const struct layout *y, int64_t resident,
                         double us) {
    const double LOOP = 1.07, KEPT = 0.6, READ = 0.5, ALONE = 1.5;
    double busy = busy_us(k, y, resident);
    if (layout_keeps_row(y)) return LOOP * hypot(us, busy * KEPT * (resident > 1 ? 1 : ALONE));
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
    if (layout_keeps_row(y) || y->one_read) return reduced_us(k, y, resident, us);
    if (k->kind != KERNEL_REDUCE || y->rows_inner) return us + gaps_us(k, y, resident, us);
    return hypot(us, busy_us(k, y, resident) * SUMMED);
}

/* Of a scan down columns: what it has made of a tile, and what goes between a warp's threads. */
static int scan_words(const struct kernel *k, const struct layout *y, int words) {
    int scanned = layout_scan_words(k, y), more = scanned > words ? scanned - words : 0;
    return more + (y->t0 < k->limits->warp ? 6 : 2);
}

/* Are rows that a turned tile stores out of step with sectors? Of what has guards, as pieces side
 * by side have, no two tiles were compared: such are first guesses of whole vectors. */
static bool stores_torn(const struct kernel *k, const struct layout *y) {
    ex axis = k->axis[AXIS_R], first = ex_const(k->ex, 0);
    if (k->kind != KERNEL_POINTWISE || !y->turn || !axis) return false;
    for (value_id v = 0; v < k->values.n; v++)
        if (k->values.at[v].kind == INST_LOAD && k->values.at[v].guarded) return y->peel;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[st->buffer].meta.dtype);
        ex begin = ex_subst(k->ex, st->index, &axis, &first, 1);
        if (st->mask == (MASK_X | MASK_R) && !ex_divides(k->ex, SECTOR / bytes, begin)) return true;
    }
    return false;
}

enum { MOST_KEPT = 224 }; /* elements of a thread that fit registers, each as a number */

/* Registers besides those of the raw loads. Where a row is kept, compilers keep what they have made
 * of its elements for a later phase, too, if it fits. What turns has left for shared memory when
 * elements are made of it: permutes by tiles of 8 and 16 loads a thread have 28 to 30 in all, which
 * is reckoned with where such tiles were compared. */
static int element_words(const struct kernel *k, const struct layout *y, int words) {
    int elements = y->ur * y->vec * y->ex;
    if (scans_columns(k, y)) return scan_words(k, y, words);
    if (stores_torn(k, y)) return y->vec * y->ex > words ? y->vec * y->ex - words : 0;
    if (!y->one_read) return y->vec * y->ex;
    if (y->rows_inner && elements > MOST_KEPT) return 255 - 30 - words; /* as many as there are */
    return k->levels && elements > words && elements <= MOST_KEPT ? elements - words : 0;
}

/* Where a thread has more elements of a kept row than registers, compilers keep what they have made
 * of them all the same, in local memory: softmax of bf16[12480, 8192] takes an H200 183 us by 256
 * elements a thread and 102 by 128; what a mask of bool[12480, 10415] gives its elements, 156 us by
 * 328 and 88 by 164. */
static double spills(const struct kernel *k, const struct layout *y) {
    return y->one_read && k->levels && !y->rows_inner && y->ur * y->vec * y->ex > MOST_KEPT ? 1.8
                                                                                            : 1;
}

/* Blocks come in waves. What a block waits for is hidden by the others of its multiprocessor; but
 * not the exchanges of the first clusters, which all start together. */
static double waits_us(const struct kernel *k, const struct layout *y, double waves,
                       int64_t resident) {
    double others = (double)resident; /* of a pointwise kernel no warp waits for another */
    if (k->kind == KERNEL_POINTWISE && !(y->turn && y->peel) && waves > 1)
        others *= fmax(1, y->threads / 64.0);
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
    if (!layout_keeps_row(y) || resident > 1) return us + waits;
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
    double rows = (double)kernel_rows(k) / (double)k->limits->units; /* of a unit */
    int warp = k->limits->warp, lanes = y->t1 < warp ? y->t1 : warp; /* of a row */
    return (layout_joins_warps(k, y) ? TOLD : ALONE * lanes / warp) * rows * tiles;
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
    return bytes * (double)kernel_rows(k) / y->bx / (device_gbps(k->limits) * 1e3 * FASTER);
}

/* A GPU begins a block every 1.2 ns, whatever it does: of softmax(0) of f32[1048576, 64] on an
 * H200, 262144 blocks took 316 us, 131072 of them 158.5, and rope's 131072, too. */
static double begun_us(double us, double blocks) {
    const double EACH = 0.00121;
    return fmax(us, EACH * blocks);
}

/* A turned tile of rows with heads lies in shared memory by rows of an odd number of words, and
 * lanes beside each other read every vec-th of them: so many of a warp's meet in a bank as its
 * vectors of one row are longer than a warp. Turned to rows of 485, bf16 of 1.4 GB takes an H200
 * 1268 us by 32 lanes of 8 elements, 947 by 16; to rows of 271557, of 35 MB, 32.0 by 32, 24.4 by 16
 * and 23.3 by 8. */
static double banks_us(const struct kernel *k, const struct layout *y) {
    enum { WORD = 4 };
    int warp = k->limits->warp, lanes = y->t1 < warp ? y->t1 : warp;
    double points = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R), words = 0;
    if (!y->turn || !y->peel) return 0;
    for (value_id v = 0; v < k->values.n; v++) {
        if (!layout_turns(k, y, v)) continue;
        bool pairs = layout_turns_pairs(k, y, v); /* in half as many words, and one of a vector */
        double each = pairs                                       ? 0.5 + 1.0 / y->vec
                      : dtype_bytes(k->values.at[v].dtype) > WORD ? 2
                                                                  : 1,
               meet = (double)lanes * (pairs ? y->vec / 2 : y->vec) / warp;
        words += each * fmax(1, meet);
    }
    return words * points / warp / (k->limits->units * device_clock_ghz(k->limits) * 1e3);
}

/* What a thread has so far of reductions of more than a value, as moments or pairs are, of each
 * column of its vector: of bf16[271557, 64] the moments of columns take 88 registers with 16 for
 * what is loaded. */
static int state_words(const struct kernel *k, const struct layout *y) {
    int words = 0;
    for (value_id v = 0; v < k->values.n && y->rows_inner; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_REDUCE && !goes_across(x) && !reduction_of_values(x->reduction))
            words += reduction_words(k, v);
    }
    return words * y->ex * y->vec;
}

/* Of a thread; more than 255 would spill. */
int cost_thread_registers(const struct kernel *k, const struct layout *y, int words) {
    enum { OF_SQUARES = 4 };
    int sums = kernel_online_squares(k, y->online) * y->ex * (y->rows_inner ? y->vec : 1);
    int registers = 30 + words + element_words(k, y, words) + OF_SQUARES * sums + state_words(k, y);
    int64_t most = y->fit ? k->limits->regs_unit / (y->fit * y->threads) : 255;
    if (registers > most) registers = (int)(30 + words < most ? most : 30 + words);
    return registers;
}

/* Blocks that a multiprocessor has room for at a time. */
int64_t cost_resident_blocks(const struct kernel *k, const struct layout *y, int registers) {
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
    int64_t blocks = cost_resident_blocks(k, y, BESIDE + cost_loaded_words(k, y));
    return blocks < 1 ? 1 : (int)blocks;
}

/* Registers of a turned tile of rows with heads are of single elements, for most of which it waits
 * in shared memory: what it has under way are their bytes. Tiles are read while others are stored,
 * so that half as much costs a third of the speed, not half: of what takes an H200 817 us by 57 KB
 * a multiprocessor, 976 by 32. */
static double turned_rate(const struct kernel *k, const struct layout *y, int64_t resident) {
    double bytes = 0;
    for (value_id v = 0; v < k->values.n; v++)
        if (layout_turns(k, y, v)) bytes += dtype_bytes(k->values.at[v].dtype);
    return sqrt((double)resident * y->bx * y->br * bytes / BYTES_IN_FLIGHT);
}

/* Where a row's vectors begin at its head, tiles of any shape store whole sectors but at their
 * ends, and read a vector of columns more. What is said to stay in L2 gains nothing there: of
 * 1.4 GB in bf16, turned to rows of 485, it takes an H200 4 to 17 % more; of 35 MB nothing. Of
 * tiles of 64 x 128 a thread with 8 rows takes 928 us, with 4 836, more than banks explain. In f32
 * none has been measured: TORN is a little more than these need, so that tiles which have been
 * stay first. */
static double turned_heads(const struct kernel *k, const struct layout *y) {
    enum { FEW_ROWS = 4 };
    const double TORN = 1.1, READ = 0.5, STAYS = 1.05, MANY = 1.05;
    double more = TORN * (1 + READ * y->vec / y->br) * (y->ex > FEW_ROWS ? MANY : 1);
    return y->stay_l2 && k->bytes_written > (double)k->limits->l2_bytes ? STAYS * more : more;
}

/* Sectors that a turned tile's rows begin and end within are another tile's, too: they meet in L2
 * if they stay there, or are written in parts. permute(2, 1, 0) of f32[214, 512, 1024], 209 us of
 * bytes, takes an H200 405 us by tiles of 32 x 32, rows of 128 bytes; 289 and 309 by 64 x 64 and
 * 128 x 64; 249 by 32 x 128, though of 256 lanes 42 have no element; and 349 by 64 x 64 where a
 * warp stores 128 bytes of a row at a time, and nothing is said to stay in L2. */
static double torn_stores(const struct kernel *k, const struct layout *y) {
    enum { LONG = 512 };
    const double SECTORS = 2.9;
    int bytes = 0, warp = k->limits->warp;
    if (y->turn && y->peel) return turned_heads(k, y);
    if (!stores_torn(k, y)) return 1;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buffer_id b = k->stores.at[i].buffer;
        int each = dtype_bytes(k->schedule->loops->buffers.at[b].meta.dtype);
        if (each > bytes) bytes = each;
    }
    double run = fmin(y->br * bytes, LONG),
           at_once = (y->t1 < warp ? y->t1 : warp) * y->vec * bytes;
    if (!y->stay_l2 && at_once < run) run = sqrt(run * at_once);
    return 1 + SECTORS * SECTOR / run;
}

/* The part of all lanes whose elements are no others' and none beyond the rows. */
static double used_lanes(const struct kernel *k, const struct layout *y) {
    int64_t nx = kernel_size(k, AXIS_X), nr = kernel_size(k, AXIS_R);
    double used = (double)nx / (double)((nx + y->bx - 1) / y->bx * y->bx);
    if (y->rows_inner || (!y->one_read && !layout_keeps_row(y) && !y->grid_r)) return used;
    int64_t covered = layout_column_tiles(k, y) * y->br;
    if (4 * covered <= 5 * nr && stores_torn(k, y)) return used; /* these wait for sectors */
    return nr < covered ? used * ((double)nr / (double)covered) : used;
}

/* A block that goes along its row in steps has nothing under way while it takes up a step's loads:
 * one trip to memory a step, of all blocks that are there at a time. */
static double steps_us(const struct kernel *k, const struct layout *y, double waves) {
    const double TRIP = 0.7;
    bool loops = k->kind == KERNEL_REDUCE && !y->one_read && !layout_keeps_row(y);
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
    if (k->kind != KERNEL_REDUCE || y->one_read || layout_keeps_row(y) || y->hits || y->br >= nr)
        return 0;
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
 * 64 for 32, half of an H200, a norm over channels takes 48 us for 41. Where tiles fill it alone,
 * blocks that read columns once wait for each other for nothing: sums down bf16[752, 203776] take
 * 109 us by 398 clusters of 8 blocks and 77 by 1592 blocks. */
static double idle_clusters(const struct kernel *k, const struct layout *y, int64_t grid) {
    const double IDLE = 0.35, WAITING = 1.4;
    int units = k->limits->units;
    if (y->cluster == 1 || !y->rows_inner) return 1;
    if (cost_reads(k, y) == 1 && !y->one_read && grid / y->cluster >= units) return WAITING;
    if (grid >= units) return 1;
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

/* Elements that are stored across a warp's lanes, as both ways of an image that is turned are, lie
 * in sectors of their own, or beside those of the warp's other rows: each access is so many parts
 * of sectors, which L2 puts together. A ResNet block's end of 257 MB, which reads pixels by 64
 * channels in f32 and stores them so, too, takes an H200 207 us by warps of 32 pixels of a channel,
 * 12.8 million parts, and 82 by 8 of 4 channels. */
static double across_us(const struct kernel *k, const struct layout *y) {
    const double GBPS = 2100;
    enum axis inner = y->rows_inner ? AXIS_X : AXIS_R, outer = y->rows_inner ? AXIS_R : AXIS_X;
    int warp = k->limits->warp, threads = y->rows_inner ? y->t0 : y->t1,
        lanes = threads < warp ? threads : warp;
    double points = (double)kernel_rows(k) * (double)kernel_size(k, AXIS_R), parts = 0;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *st = &k->stores.at[i];
        if (st->mask != (MASK_X | MASK_R)) continue;
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[st->buffer].meta.dtype);
        double along = (double)index_usual_stride(k, st->index, inner) * bytes,
               apart = (double)index_usual_stride(k, st->index, outer) * bytes;
        if (along < SECTOR || apart < bytes || apart >= along) continue;
        double rows = (double)warp / lanes;
        parts += points / rows * fmax(1, rows * fmin(apart / SECTOR, 1));
    }
    return parts * SECTOR / (GBPS * 1e3);
}

static double tiles_cost(const struct kernel *k, const struct layout *y) {
    const double BESIDE = 0.9; /* of what takes longer than memory */
    const struct device_limits *d = k->limits;
    int words = cost_loaded_words(k, y), registers = cost_thread_registers(k, y, words);
    if (registers > 255) return 1e9;                              /* would spill */
    if (scans_columns(k, y)) registers = (registers + 7) / 8 * 8; /* as they are handed out */
    int64_t resident = cost_resident_blocks(k, y, registers);
    if (resident < 1) return 1e9;
    int64_t grid = (kernel_size(k, AXIS_X) + y->bx - 1) / y->bx * y->split * y->cluster;
    if (y->grid_r || y->look_back) grid *= layout_column_tiles(k, y);
    if (!grid) return 0;
    int64_t a_unit = (grid + d->units - 1) / d->units;
    if (kernel_is_short(k) || cost_is_short_scan(k, y)) return cost_short_us(k, y, (double)grid, 1);
    double fit = (double)(resident * layout_units(k, y)); /* blocks at a time */
    bool spread = grid >= d->units && a_unit < resident &&
                  (double)grid <= fit; /* a part of a wave, on all units */
    if (spread) resident = a_unit, fit = (double)(a_unit * d->units);
    double in_flight = (double)resident *
                       (layout_keeps_row(y) ? kept_bytes(k, y) : y->threads * words * 4.0),
           rate = in_flight > 0 ? in_flight / BYTES_IN_FLIGHT : 1; /* nobody waits for stores */
    if (y->turn && y->peel) rate = turned_rate(k, y, resident);
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
    us *= idle_clusters(k, y, grid) * by_elements(k, y) * held_back(k, y) * torn_stores(k, y);
    if (y->rows_inner && y->t1 > 1 && !scans_columns(k, y)) us += COMBINE_US * whole;
    us = waited_us(k, y, us, waves > 1 ? waves : 1, resident) * spills(k, y);
    if (y->cluster > 1 && y->one_read && !y->rows_inner) us *= 1.15; /* all blocks load, or none */
    us += skip_us(k, y, k->bytes_read / (gbps * 1e3));
    us = hypot(us, access_us(k, y));
    us = hypot(us, banks_us(k, y));
    us = hypot(us, across_us(k, y));
    us = hypot(us, steps_us(k, y, waves > 1 ? waves : 1));
    us = hypot(us, shared_us(k, y));
    if (k->landing) us = hypot(us, busy_us(k, y, resident)); /* comparisons more than loads */
    us = both_us(k, y, resident, us);
    if (k->kind == KERNEL_POINTWISE) us += BESIDE * fmax(0, issued_us(k, y, resident) - us);
    us = begun_us(us, (double)grid);
    return us + cost_finish_us(k, y) + look_back_us(k, y, waves) +
           tiles_us(k, y, waves > 1 ? waves : 1, resident);
}

/* The turns of persistent blocks: a row takes a thread's instructions, one after the other, and the
 * barriers of its reductions; all warps of a multiprocessor share its schedulers. */
static double turns_us(const struct kernel *k, const struct layout *y, int64_t turns,
                       int64_t a_unit) {
    double ghz = device_clock_ghz(k->limits), work = cost_element_work(k, y);
    double thread = (double)y->ur * y->vec * y->ex * work; /* instructions of a warp for a row */
    double barrier = layout_cluster(y) > 1      ? 1200
                     : layout_joins_warps(k, y) ? 300 + y->t1 * 0.8
                                                : 250;
    double alone = thread + barrier * (k->levels + 1);
    double warps = (double)(a_unit * y->threads) / k->limits->warp;
    double shared = thread * warps / 4;
    return (double)turns * (alone > shared ? alone : shared) / (ghz * 1e3);
}

/* Where threads of a row have less than a line of it beside each other, each of their loads is of
 * sectors of many rows: a ResNet block's sums over 200704 pixels of 64 channels in bf16, with three
 * loads and two stores, take an H200 48 us by runs of 32 bytes, 36 by whole rows. */
static double parted_rows(const struct kernel *k, const struct layout *y) {
    const double POWER = 0.2;
    int bytes = 0;
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        if (v->kind == INST_LOAD && v->mask == (MASK_X | MASK_R) && dtype_bytes(v->dtype) > bytes)
            bytes = dtype_bytes(v->dtype);
    }
    int run = y->t1 * y->vec * bytes;
    return k->columns && run && run < LINE ? pow((double)LINE / run, POWER) : 1;
}

/* Warps that have several narrow rows store parts of sectors, which L2 puts together: so many more
 * than there are sectors. f32[64, 8, 6095, 5] takes an H200 114 us by a thread for a row, whose
 * warps touch 20 sectors five times, and 79 by two. */
static double narrow_rows_us(const struct kernel *k, const struct layout *y) {
    const double GBPS = 3000;
    int warp = k->limits->warp, rows = warp / y->t1;
    double all = (double)kernel_rows(k), nr = (double)kernel_size(k, AXIS_R), parts = 0;
    for (uint32_t i = 0; i < k->stores.n && rows > 1; i++) {
        const struct store_node *st = &k->stores.at[i];
        if (st->mask != (MASK_X | MASK_R)) continue;
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[st->buffer].meta.dtype);
        double apart = (double)index_usual_stride(k, st->index, AXIS_X) * bytes,
               along = (double)index_usual_stride(k, st->index, AXIS_R) * bytes;
        bool vector = layout_store_is_vector(k, y, st);
        if (along != bytes || apart < along) continue;
        double run = (double)y->t1 * y->vec * bytes / SECTOR,
               each = fmod(apart, SECTOR) > 0 || run < 1 ? run + 1 : run,
               touched = rows * fmin(each, apart / SECTOR) + 1;
        parts +=
            all / rows * y->ur * (vector ? 1 : y->vec) * fmin(touched, vector ? 8 * rows : warp) -
            all * nr * bytes / SECTOR;
    }
    return fmax(parts, 0) * SECTOR / (GBPS * 1e3);
}

/* Persistent blocks, as many as the config says if they fit: their registers hold a row and the
 * columns' sums, if any, and between the reductions of a row nobody loads. */
static double blocks_cost(const struct kernel *k, const struct layout *y) {
    const double SECOND = 1.2;
    const struct device_limits *d = k->limits;
    int words = layout_load_words(k, y), sums = 0;
    for (uint32_t i = 0; i < k->values.n; i++)
        if (goes_across(&k->values.at[i])) sums += y->ur * y->vec * reduction_bytes(k, i) / 4;
    int64_t registers = 28 + words + sums + 4 * y->ur * y->vec / 3,
            at_once = d->regs_unit / (registers * y->threads);
    if (registers > 250 || registers * y->threads > d->regs_unit) return 1e9; /* would spill */
    int64_t rows = kernel_size(k, AXIS_X), nr = kernel_size(k, AXIS_R), parts = y->blocks,
            batches = kernel_batches(k), blocks = parts * y->cluster * batches;
    if (!rows || !blocks) return 0;
    if (at_once > d->max_threads_unit / y->threads) at_once = d->max_threads_unit / y->threads;
    int64_t by_shared = d->smem_unit / (y->smem + SMEM_RESERVED);
    if (at_once > by_shared) at_once = by_shared;
    int64_t units = layout_units(k, y), a_unit = (blocks + units - 1) / units, waves = 1;
    if (blocks > at_once * units) { /* a second wave takes as long, but where there are many */
        if (batches < units) return 1e8 * (double)a_unit;
        a_unit = at_once;
        waves = (blocks + at_once * units - 1) / (at_once * units);
    }
    double tile = y->stages > 1 ? (double)layout_stage_bytes(k, y) * (y->stages - 1)
                                : (double)(y->threads * words * 4) * 0.5;
    double rate = (double)a_unit * tile / BYTES_IN_FLIGHT;
    bool narrow = y->t1 < d->warp; /* other rows of its warp are loaded meanwhile */
    int64_t tiles = (rows + y->bx - 1) / y->bx, turns = (tiles + parts - 1) / parts;
    bool second = k->columns && !y->whole_columns;
    if (kernel_is_short(k))
        return cost_short_us(k, y, (double)blocks, (double)(turns * waves)) + (second ? SECOND : 0);
    /* Blocks of few turns have nothing under way at either end: f32[16, 18256, 128], summed up
     * along the first axis and scanned along the last, takes an H200 137 us by a turn of 512
     * threads, 118 by one of 256, 103 by two of 64 and 95 by eight. */
    double begun = batches > 1 ? 1 + 0.2 / (double)turns * fmax(1, y->threads / 256.0) : 1;
    double balance = (double)tiles / (double)(turns * parts),
           used = (double)nr / ((double)y->br * y->cluster);
    if (narrow) rate *= used, used = 1;
    if (blocks < units) balance *= (double)blocks / (double)units;
    if (batches > 1) { /* the last tile of each has rows left over, and the last blocks units */
        used *= (double)rows / (double)(tiles * y->bx);
        if (blocks > units) balance *= (double)blocks / (double)(waves * a_unit * units);
    }
    double gbps = device_gbps(d);
    double us =
        cost_traffic(k, y, blocks) / (gbps * 1e3 * 0.9 * (rate < 1 ? rate : 1) * balance * used);
    us *= parted_rows(k, y);
    us = hypot(us, narrow_rows_us(k, y));
    us = hypot(us, turns_us(k, y, turns * waves, a_unit)) * (1 + 0.025 * (layout_cluster(y) - 1));
    if (y->vec >= 8 && y->ur * y->vec * y->ex >= 32) us *= 1.06; /* registers are short */
    if (y->stages > 1 && rate > 1) us *= 1 + 0.04 * log2(rate);  /* reads that stores wait for */
    double finish = second ? 2.5 : 0, alone = k->columns ? 1.1 : 1.03; /* uneven ends */
    us = us * begun * alone * (1 + 0.04 / y->vec + (rate > 0.2 ? 0.02 / rate : 0.1)) + finish;
    return us + skip_us(k, y, k->bytes_read / (gbps * 1e3));
}

double cost_on_gpu(const struct kernel *k, const struct layout *y) {
    if (y->chained) return cost_chained(k, y);
    if (y->product) return cost_on_units(k, y);
    if (k->kind == KERNEL_MATMUL) return cost_by_threads(k, y);
    if (k->kind == KERNEL_SORT) return cost_sort(k, y);
    if (y->hits) return cost_scattered(k, y);
    if (y->circle) return cost_circle(k, y);
    return (y->blocks ? blocks_cost : tiles_cost)(k, y);
}

/* space.c: the configs worth trying, in the order of the cost model; the first is the default by
 * rule.
 *
 * The generators below propose on a grid of powers of two; kernel_layout refuses what is illegal,
 * the cost model orders, and what lies far behind the best estimate is pruned. */
#include <math.h>
#include <stdlib.h>

#include "kernel/kernel.h"

enum {
    MAX_CONFIGS = 64,
    MAX_HINTED = 12,  /* of these, how many are tried with each of the hints as well */
    MAX_STAYING = 32, /* ... with loads that leave L2 last; these seldom lose, and often win */
    MAX_STREAMED = 4, /* ... and with streaming stores */
    MAX_LEAVING = 4,  /* ... and with loads that leave L2 first */
    N_HINTS = 6,
    MAX_AHEAD = 8,    /* configs that copy rows ahead where no columns are summed up */
    MAX_LISTING = 8,  /* configs that list what lands in a tile */
    MAX_AGAIN = 6,    /* configs that read rows again, of those that the cost model ruled out */
    LONG_ROW = 8192,  /* columns from which a cluster of blocks may share a row */
    MOST_ALONE = 128, /* columns of a row that a thread has to itself, one by one */
};

struct candidate {
    struct config c;
    double cost;
    uint32_t place; /* among those of the same cost */
};

struct space {
    const struct kernel *k;
    struct arena *arena;
    VEC(struct candidate) all;
    struct map met; /* their configs */
    bool lies;      /* windows of the left factor may be read as they lie, */
    bool in_memory; /* there, or in an image that a launch before writes */
};

enum { FEW_CHANNELS = 8 }; /* of an image as it lies: an instruction has several taps of so few */

static struct space space_of(const struct kernel *k, struct arena *a) {
    struct space s = {.k = k, .arena = a, .met = map_new(a)};
    s.lies = windows_may_lie(k, 0, &s.in_memory, a);
    return s;
}

static void propose(struct space *s, struct config c) {
    struct layout y;
    bool legal = !kernel_layout(s->k, &c, &y, s->arena);
    if (legal && !map_put(&s->met, &c, sizeof c, 0)) return;
    if (legal) vec_push(s->arena, &s->all, ((struct candidate){c, kernel_cost(s->k, &y), 0}));
    if (y.shift || s->k->limits->kind == DEVICE_CPU) return;
    c.knob[KNOB_shift] = 1;
    if (y.rows_inner) c.knob[KNOB_skip_l1] = 0; /* the next thread reads the second vector, too */
    propose(s, c);
}

/* A size for the grids below; an empty axis counts as 1. */
static int64_t size_of(const struct kernel *k, enum axis x) {
    int64_t n = kernel_size(k, x);
    return n ? n : 1;
}

static int64_t next_power_of_two(int64_t v) {
    int64_t p = 1;
    while (p < v) p *= 2;
    return p;
}

/* The widest vector that moves 16 bytes of the widest element. What is read once a row, such as
 * where a row of a table is, has no say. */
static int widest_vector(const struct kernel *k, enum axis inner) {
    int bytes = 1;
    for (uint32_t i = 0; i < k->values.n + k->stores.n; i++) {
        bool store = i >= k->values.n;
        if (!store && k->values.at[i].kind != INST_LOAD) continue;
        uint8_t mask = store ? k->stores.at[i - k->values.n].mask : k->values.at[i].mask;
        buffer_id buffer = store ? k->stores.at[i - k->values.n].buffer : k->values.at[i].buffer;
        int b = dtype_bytes(k->schedule->loops->buffers.at[buffer].meta.dtype);
        if (mask >> inner & 1 && b > bytes) bytes = b;
    }
    return 16 / bytes;
}

/* The same, if it divides the inner axis; else the widest that does. */
static int widest_divisor(const struct kernel *k, enum axis inner) {
    int vec = widest_vector(k, inner);
    while (vec > 1 && !ex_divides(k->ex, vec, k->bound[inner])) vec /= 2;
    return vec;
}

/* Has no access along the inner axis neighbours? Then threads that have several elements each are
 * that much further apart. */
static bool only_strides(const struct kernel *k, enum axis inner) {
    for (uint32_t i = 0; i < k->values.n; i++) {
        const struct value_node *v = &k->values.at[i];
        bool along = v->kind == INST_LOAD && v->mask >> inner & 1;
        if (along && load_usual_stride(k, v, inner) <= 1) return false;
    }
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask >> inner & 1) return false;
    return true;
}

/* Two widths of vectors each are tried: of those that peel rows, of those that divide them. */
static bool tries_vector(const struct kernel *k, int vec) {
    if (k->kind == KERNEL_REDUCE && only_strides(k, AXIS_R)) return vec == 1;
    int widest = widest_vector(k, AXIS_R), divisor = widest_divisor(k, AXIS_R);
    return vec == widest || vec * 2 == widest || vec == divisor || vec * 2 == divisor;
}

/* Along x, of those that divide it three, and two that have to be shifted. */
static bool tries_row_vector(const struct kernel *k, int vec) {
    int widest = widest_vector(k, AXIS_X), divisor = widest_divisor(k, AXIS_X);
    return vec <= divisor ? vec * 4 >= divisor : vec * 2 >= widest;
}

#define CONFIG(...) ((struct config){.knob = {__VA_ARGS__}})
#define K(name, v) [KNOB_##name] = (v)

/* Half of the t1 threads of a row, or more, have nothing to do. */
static bool idles(int t1, int vec, int64_t nr) { return t1 > 1 && (int64_t)t1 * vec / 2 >= nr; }

/* Are rows combined with one that does not stay in L1, and nothing else? A thread that has several
 * of them reads it once. */
static bool shares_columns(const struct kernel *k) {
    bool any = false;
    for (value_id v = 0; v < k->values.n; v++) any |= load_is_long_row(k, &k->values.at[v]);
    return any && k->kind == KERNEL_REDUCE && !kernel_reads_twice(k) && !k->columns;
}

static bool stores_columns(const struct kernel *k) {
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (k->stores.at[i].mask & MASK_R && !is_column_store(k, &k->stores.at[i])) return true;
    return false;
}

/* Registers hold rows as long only once or not at all in a multiprocessor: then nothing is loaded
 * while a row is reduced and stored. */
static bool keeps_in_shared(const struct kernel *k) {
    int bytes = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind == INST_LOAD && x->mask == (MASK_X | MASK_R)) bytes += dtype_bytes(x->dtype);
    }
    return bytes * kernel_size(k, AXIS_R) > k->limits->regs_unit;
}

static int most_warps(const struct kernel *k) {
    return k->limits->max_threads_block / k->limits->warp;
}

/* Reductions along contiguous columns: t1 threads a row, x rows a block. Threads idle only where
 * there are neither columns nor rows enough for one warp. */
static void propose_columns(struct space *s) {
    const struct kernel *k = s->k;
    int warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    for (int vec = widest_vector(k, AXIS_R); vec >= 1; vec /= 2)
        for (int t1 = 1; t1 <= k->limits->max_threads_block; t1 *= 2)
            for (int warps = 1; warps <= most_warps(k); warps *= 2) {
                int x = warps * warp / t1;
                if (!tries_vector(k, vec)) continue;
                if (x < 1 || x > next_power_of_two(nx)) continue;
                if (idles(t1, vec, nr) && (warps > 1 || x * 2 <= next_power_of_two(nx))) continue;
                bool peel = !ex_divides(k->ex, vec, k->bound[AXIS_R]);
                int step = t1 * vec, row = (int)round_up(layout_whole_columns(k, peel, vec), step);
                bool shared = vec == widest_vector(k, AXIS_R) && keeps_in_shared(k);
                propose(s, CONFIG(K(x, x), K(r, row), K(warps, warps), K(vec, vec), K(keep, 1)));
                if (k->whole_rows)
                    propose(s, CONFIG(K(x, x), K(r, row), K(warps, warps), K(vec, vec)));
                for (int c = 2; c <= k->limits->max_cluster && nr >= LONG_ROW; c *= 2)
                    propose(s, CONFIG(K(x, x), K(r, (int)round_up((nr + c - 1) / c, step)),
                                      K(warps, warps), K(vec, vec), K(keep, 1), K(cluster, c)));
                /* a thread has all of its part of a row under way, which is little: of more rows */
                for (int rows = 2; rows <= 4 && k->kind == KERNEL_REDUCE && step >= nr &&
                                   (int64_t)x * rows * k->limits->units <= nx;
                     rows *= 2)
                    for (int keep = 0; keep <= 1; keep++)
                        propose(s, CONFIG(K(x, x * rows), K(r, step), K(warps, warps), K(vec, vec),
                                          K(keep, keep), K(rows, rows)));
                if (t1 == 1 && vec == 1 && nr <= MOST_ALONE) /* windows in a straight line */
                    propose(s, CONFIG(K(x, x), K(r, (int)nr), K(warps, warps), K(vec, vec)));
                for (int u = 1; u <= 8 && (u == 1 || step * u / 2 < nr); u *= 2) {
                    propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec)));
                    if (k->kind == KERNEL_SCAN && nx / x < 4 * (int64_t)k->limits->units)
                        propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec),
                                          K(look_back, 1)));
                    for (int c = 1; c <= k->limits->max_cluster && shared && u <= 2; c *= 2)
                        for (int online = 0; online <= 1; online++)
                            propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec),
                                              K(keep, 2), K(cluster, c > 1 ? c : 0),
                                              K(online, online)));
                    for (int c = 2; c <= k->limits->max_cluster && nx < 2 * k->limits->units &&
                                    nr / c >= LONG_ROW && step * u <= nr / c;
                         c *= 2) /* too few to fill the device, too long to be kept */
                        for (int online = 0; online <= 1; online++)
                            propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec),
                                              K(cluster, c), K(online, online)));
                    for (int skip = 0; skip <= (stores_columns(k) ? 0 : 1); skip++)
                        propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec),
                                          K(skip_l1, skip), K(online, 1)));
                    int64_t want = 4 * (int64_t)k->limits->units;
                    for (int split = 2; split <= 4096 && nx * split / x <= 4 * want; split *= 2)
                        for (int i = 0; i < 4 && nx * split / x >= want / 4; i++)
                            propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec),
                                              K(split, split), K(skip_l1, i % 2),
                                              K(last_block, i < 2)));
                    for (int rows = 2; rows <= 4 && u <= 2 && shares_columns(k); rows *= 2)
                        for (int split = 1; split <= 16 && nx * split / x / rows <= 4 * want;
                             split *= 2)
                            propose(s, CONFIG(K(x, x * rows), K(r, step * u), K(warps, warps),
                                              K(vec, vec), K(rows, rows),
                                              K(split, split > 1 ? split : 0),
                                              K(last_block, split > 1)));
                }
            }
}

/* A row and what its columns sum up to take more than a quarter of a multiprocessor's registers: a
 * cluster may share it. */
static bool is_wide_row(const struct kernel *k) {
    int64_t bytes = 0;
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *x = &k->values.at[v];
        if (goes_across(x)) bytes += reduction_bytes(k, v);
        if (x->kind == INST_LOAD && x->mask & MASK_R) bytes += dtype_bytes(x->dtype);
    }
    return bytes * kernel_size(k, AXIS_R) > k->limits->regs_unit;
}

/* Some persistent blocks a multiprocessor: of rows and what their columns sum up to, or of rows
 * that are kept, and copied ahead. */
static void propose_blocks(struct space *s) {
    const struct kernel *k = s->k;
    int warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R), units = k->limits->units;
    int widest = widest_divisor(k, AXIS_R);
    bool wide = k->columns ? is_wide_row(k) : nr >= LONG_ROW;
    /* Where nothing is reduced along rows, blocks that share them have more turns, which end at
     * more even times, and leave fewer parts of a column. */
    enum { MOST_APART = 8, LEAST_COLUMNS = 128 };
    bool apart = kernel_only_columns(k);
    int most_blocks = apart ? MOST_APART : k->limits->max_cluster;
    for (int vec = widest; vec >= 1 && vec * 2 >= widest; vec /= 2)
        for (int t1 = 1; t1 <= k->limits->max_threads_block; t1 *= 2)
            for (int warps = 1; warps <= most_warps(k); warps *= 2) {
                int x = warps * warp / t1;
                int64_t most = (nx + x - 1) / (x ? x : 1) + units - 1;
                if (x < 1 || x > next_power_of_two(nx)) continue;
                if (idles(t1, vec, nr) && (warps > 1 || x * 2 <= next_power_of_two(nx))) continue;
                for (int c = 1; c <= most_blocks && (c == 1 || wide || apart); c *= 2) {
                    if (c > 1 && (nr / c < LEAST_COLUMNS || idles(t1, vec, nr / c))) break;
                    for (int blocks = 1; blocks <= 16 && blocks * units <= most * c;
                         blocks += 1 + blocks / 4)
                        for (int stages = k->columns ? 1 : 2; stages <= 4; stages++)
                            propose(s,
                                    CONFIG(K(x, x), K(r, (int)round_up((nr + c - 1) / c, t1 * vec)),
                                           K(warps, warps), K(vec, vec), K(keep, 1),
                                           K(cluster, c > 1 ? c : 0), K(blocks, blocks),
                                           K(stages, stages > 1 ? stages : 0)));
                }
            }
}

/* Threads along x, of vectors: a sector's at least, if there are as many rows; one where so little
 * is read that it does not matter how. */
static int few_threads(const struct kernel *k, int64_t nx, int vec) {
    enum { LEAST = 8 };
    int64_t most = next_power_of_two((nx + vec - 1) / vec);
    return kernel_is_short(k) ? 1 : most < LEAST ? (int)most : LEAST;
}

/* Reductions across rows: memory runs along x, threads and vectors too. Short columns leave no
 * threads without an element where there are rows for these: what they would have under way counts
 * for the cost model. */
static void propose_rows(struct space *s) {
    const struct kernel *k = s->k;
    int warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    for (int vec = widest_vector(k, AXIS_X); vec >= 1; vec /= 2)
        for (int first = few_threads(k, nx, vec), t0 = first; t0 <= 256; t0 *= 2)
            for (int warps = kernel_is_short(k) ? 1 : 2; warps <= 16; warps *= 2) {
                int t1 = warps * warp / t0, x = t0 * vec;
                if (!tries_row_vector(k, vec)) continue;
                if (t0 > first && x >= 2 * nx) continue;
                if (t1 < 1 || x >= 2 * (nx > warp ? nx : warp)) continue;
                if (idles(t1, 1, nr) && (warps > 2 || x * 2 <= nx)) continue;
                propose(s, CONFIG(K(x, x), K(r, (int)round_up(nr, t1)), K(warps, warps),
                                  K(vec, vec), K(keep, 1)));
                for (int c = 2; c <= k->limits->max_cluster && nr / c >= t1; c *= 2) {
                    propose(s, CONFIG(K(x, x), K(r, (int)round_up((nr + c - 1) / c, t1)),
                                      K(warps, warps), K(vec, vec), K(keep, 1), K(cluster, c)));
                    for (int u = 1; u <= 8 && t1 * u <= nr / c; u *= 2)
                        for (int online = 0; online <= 1; online++)
                            propose(s, CONFIG(K(x, x), K(r, t1 * u), K(warps, warps), K(vec, vec),
                                              K(cluster, c), K(skip_l1, 1), K(online, online)));
                }
                int few = k->landing ? 8 : 4; /* by which a vector is shorter than the widest */
                int most = vec * few <= widest_vector(k, AXIS_X) ? 16 : 8;
                for (int u = 1; u <= most && (u == 1 || t1 * u / 2 < nr); u *= 2) {
                    propose(s, CONFIG(K(x, x), K(r, t1 * u), K(warps, warps), K(vec, vec),
                                      K(online, 1)));
                    for (int split = 1; split <= 1024; split *= 2) {
                        if (split > 1 && (nx / x + 1) * split > 16 * (int64_t)k->limits->units)
                            break;
                        for (int skip = 0; skip <= 1; skip++) /* what is read once need not stay */
                            for (int last = split > 1; last >= 0; last--)
                                propose(s, CONFIG(K(x, x), K(r, t1 * u), K(warps, warps),
                                                  K(vec, vec), K(split, split > 1 ? split : 0),
                                                  K(skip_l1, skip), K(last_block, last)));
                    }
                }
            }
}

/* What lands on rows: by as many rows as a block holds results of, in shared memory. */
static void propose_hits(struct space *s) {
    const struct kernel *k = s->k;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    int widest = widest_divisor(k, AXIS_X), warp = k->limits->warp;
    if (!k->landing) return;
    for (int vec = widest; vec >= 1 && vec * 4 >= widest; vec /= 2)
        for (int warps = 1; warps <= 16; warps *= 2)
            for (int held = 1; held <= 64; held *= 2) {
                int64_t tile = (int64_t)warps * warp * vec, x = tile * held;
                if (x >= 2 * (nx > warp ? nx : warp)) continue;
                for (int split = 1; split <= 64; split *= 4) {
                    bool few = (nx / x + 1) * split <= 4 * (int64_t)k->limits->units;
                    if (split > 1 && (!few || nr / split < warps * warp)) break;
                    for (int u = 1; u <= 32; u *= 2)
                        for (int hits = 4; hits <= 16; hits *= 2) {
                            if (hits > 4 && (int64_t)warps * warp * hits >= 2 * nr / split)
                                continue;
                            for (int sort = 0; sort <= (split == 1 && hits == 4 ? 1 : 0); sort++)
                                propose(s, CONFIG(K(x, (int)x), K(r, u), K(warps, warps),
                                                  K(vec, vec), K(rows, held > 1 ? held : 0),
                                                  K(split, split > 1 ? split : 0), K(hits, hits),
                                                  K(sort, sort)));
                        }
                }
            }
}

/* Scans across rows, of a sector's elements at least: t1 threads share a column and have u steps
 * each, which follow one another. The tiles of a column are one block's, or a block's each. */
static void propose_scan_rows(struct space *s) {
    enum { SECTOR = 16 };
    const struct kernel *k = s->k;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    int widest = widest_divisor(k, AXIS_X), warp = k->limits->warp, most = k->whole_rows ? 32 : 16;
    for (int vec = widest; vec >= 1 && vec * 4 >= widest; vec /= 2)
        for (int warps = 1; warps <= 16; warps *= 2)
            for (int t0 = 1; t0 <= warps * warp; t0 *= 2) {
                int t1 = warps * warp / t0, x = t0 * vec;
                if (x > next_power_of_two(nx) || (x < SECTOR && x < nx)) continue;
                if (idles(t1, 1, nr) && (warps > 1 || x * 2 <= next_power_of_two(nx))) continue;
                for (int u = 1; u <= most && (u == 1 || (int64_t)t1 * u < 2 * nr); u *= 2)
                    for (int back = (int64_t)t1 * u < nr ? 1 : 0; back >= 0; back--)
                        propose(s, CONFIG(K(x, x), K(r, t1 * u), K(warps, warps), K(vec, vec),
                                          K(look_back, back)));
            }
}

/* Does an operand lie across the columns? */
static bool has_across(const struct kernel *k) {
    const struct layout turning = {.turn = true};
    for (value_id v = 0; v < k->values.n; v++)
        if (layout_turns(k, &turning, v)) return true;
    return false;
}

static void propose_pointwise(struct space *s) {
    const struct kernel *k = s->k;
    int turns = has_across(k) ? 1 : 0, warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    for (int vec = widest_vector(k, AXIS_R); vec >= 1; vec /= 2)
        for (int warps = 2; warps <= 16; warps *= 2)
            for (int t0 = 1; t0 <= warps * warp && t0 <= next_power_of_two(nx); t0 *= 2) {
                int t1 = warps * warp / t0;
                if (!tries_vector(k, vec)) continue;
                bool smallest = t0 == 1 || warps == 2; /* of the blocks that cover all rows */
                if (idles(t1, vec, nr) && (t0 * 2 <= nx || !smallest)) continue;
                for (int u = 1; u <= 8; u *= 2)
                    for (int rows = 1; rows <= 8 && (rows == 1 || rows <= nx / t0); rows *= 2) {
                        if (u * rows > 8 || (u > 1 && (int64_t)t1 * vec * u / 2 >= nr)) continue;
                        for (int turn = 0; turn <= turns; turn++)
                            for (int window = 0; window <= 1; window++)
                                propose(s,
                                        CONFIG(K(x, t0 * rows), K(r, t1 * vec * u), K(warps, warps),
                                               K(vec, vec), K(rows, rows > 1 ? rows : 0),
                                               K(turn, turn), K(window, window)));
                    }
            }
}

static int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }

/* With as many stages as fit, at most `stages`. */
static void propose_staged(struct space *s, struct config c, int stages) {
    struct layout y;
    c.knob[KNOB_stages] = stages;
    while (c.knob[KNOB_stages] > 1 && kernel_layout(s->k, &c, &y, s->arena)) c.knob[KNOB_stages]--;
    if (c.knob[KNOB_stages] < 2) return;
    propose(s, c);
    if (c.knob[KNOB_mma] != 1) return;
    c.knob[KNOB_leave_l2] = 1;
    propose(s, c);
}

/* Where the last round of tiles would leave many multiprocessors idle: these in as many parts as
 * then are done soonest. More rounds in parts are not done sooner. */
static void propose_tail(struct space *s, struct config c, int stages) {
    enum { MOST_PARTS = 8 };
    const double WORTH = 0.06; /* of all rounds: parts have to be added up */
    struct layout y;
    c.knob[KNOB_stages] = stages;
    while (c.knob[KNOB_stages] > 1 && kernel_layout(s->k, &c, &y, s->arena)) c.knob[KNOB_stages]--;
    if (c.knob[KNOB_stages] < 2) return;
    int64_t tiles = matrix_all_tiles(s->k, &y), at_once = matrix_clusters(s->k, &y);
    int64_t left = tiles % at_once;
    double least = 1 - WORTH * (double)ceil_div(tiles, at_once); /* of a round */
    for (int parts = 2; parts <= MOST_PARTS; parts++) {
        double all = (double)ceil_div(left * parts, at_once) / parts;
        if (all >= least) continue;
        least = all;
        c.knob[KNOB_tail] = (int32_t)left, c.knob[KNOB_split] = parts;
    }
    if (c.knob[KNOB_tail]) propose(s, c);
}

/* In bands of two heights; where there are fewer tiles than multiprocessors, in parts of the depth
 * that fill these once or twice. */
static void propose_tile(struct space *s, struct config c, int stages) {
    const struct kernel *k = s->k;
    int64_t down = ceil_div(size_of(k, AXIS_M), c.knob[KNOB_m]), cluster = c.knob[KNOB_cluster];
    if (cluster > 1 && down > 1) down = ceil_div(down, cluster) * cluster;
    int64_t tiles = size_of(k, AXIS_Z) * down * ceil_div(size_of(k, AXIS_N), c.knob[KNOB_n]);
    propose_staged(s, c, stages);
    c.knob[KNOB_band] = 16;
    if (tiles > k->limits->units) propose_staged(s, c, stages);
    c.knob[KNOB_band] = 0;
    if (tiles > k->limits->units && c.knob[KNOB_mma] == 1) propose_tail(s, c, stages);
    for (int waves = 1; waves <= 2; waves++) {
        c.knob[KNOB_split] = (int32_t)(waves * k->limits->units / tiles);
        if (c.knob[KNOB_split] > 1) propose_staged(s, c, stages);
    }
}

/* Bytes of the factors' elements in shared memory; a line has 128. */
static int element(const struct space *s) {
    bool tf32 = s->k->precision == PRECISION_TF32 && s->k->values.at[s->k->dot].dtype == DT_F32;
    return tf32 ? 4 : product_is_of_bytes(s->k) ? 1 : 2;
}

static bool may_make_planes(const struct kernel *k) {
    return k->values.at[k->dot].dtype == DT_F32 && k->precision == PRECISION_F32;
}

/* Windows as they lie, of so few channels that an instruction has several taps: steps of as many
 * taps as there may be, in whole lines of the right factor's, or of few filters of fewer, which
 * hold fewer registers. Of three channels, 3 x 3 x 3, 16 filters take an H200 483 us so and 576
 * made, 64 take 548 and 406. Planes of 8 channels, 3 x 3, in 64 filters take 304 us by 128 rows,
 * 332 by clusters, where the filters do not stay, and 353 by two blocks of 64, whose registers are
 * fewer; of 3, 3 x 3 x 3, in 16 filters they take 1027, for making them is most of it, and 828
 * where others do. */
static void propose_few(struct space *s, struct config c, int stages) {
    enum { MOST = 128, LESS = 48, COLUMNS = 32, LEAST = 16 };
    const struct im2col *w = s->k->im2col[0][0];
    bool planes = may_make_planes(s->k), narrow = size_of(s->k, AXIS_N) <= COLUMNS;
    int line = 128 / element(s), last = 0;
    int each = w->channels > LYING_SLOT ? FEW_CHANNELS : LYING_SLOT;
    if (each == LYING_SLOT && !narrow) return;
    if (planes && (c.knob[KNOB_cluster] || c.knob[KNOB_m] != 128)) return;
    if (planes && size_of(s->k, AXIS_N) <= LEAST) return;
    for (int most = planes ? PROMOTE_LYING : MOST; most;
         most = narrow && !planes && most > LESS ? LESS : 0) {
        int taps = lying_taps(w, most / each);
        if (taps == last) continue;
        c.knob[KNOB_k] = (taps * each + line - 1) / line * line;
        propose_tile(s, c, stages);
        last = taps;
    }
}

/* What is read through windows also as shifted rows, or as it lies, some taps at a time. */
static void propose_windows(struct space *s, struct config c, int stages) {
    enum {
        MOST_TAPS = 4,
        LEAST = 16,
        NARROW = 32,
        READ = 64,
        PAIRED = 512,
        FILTERS = 48,
        CHANNELS = 32
    };
    propose_tile(s, c, stages);
    if (!im2col_has_taps(s->k->im2col[0][0]) && !im2col_has_taps(s->k->im2col[1][0])) return;
    c.knob[KNOB_flat] = 1;
    propose_tile(s, c, stages);
    if (c.knob[KNOB_pairs] || !s->lies) return;
    /* Registers are short where as much is read as stored: transposed, 32 channels in 64 filters of
     * 8 phases, with what is added, take an H200 1395 us as they lie, 872 by windows. */
    if (epilogue_loads(s->k) && c.knob[KNOB_n] > READ) return;
    const struct im2col *w = s->k->im2col[0][0];
    int line = 128 / element(s), each = 32; /* of the right factor's depth; channels of a tap */
    while (each > LEAST && w->channels <= each / 2) each /= 2;
    c.knob[KNOB_flat] = 2;
    if (w->channels <= FEW_CHANNELS) {
        propose_few(s, c, stages);
        return;
    }
    /* From a depth of 512 on pairs take three products where planes take six, but copy each tap, in
     * lines of 32 or 64 channels: 48, 3 x 3 x 3, in 24 filters take an H200 14.3 ms by pairs and
     * 9.4 as they lie, 32, 3 x 5 x 7, in 16 filters 1.8 and 2.9, 3 x 7, in 32 filters 2.2 and 2.5.
     */
    bool planes = may_make_planes(s->k), crowded = c.knob[KNOB_fit] && c.knob[KNOB_m] == 64;
    bool fills = w->channels % CHANNELS == 0 || size_of(s->k, AXIS_N) > FILTERS;
    if (planes && (crowded || (fills && size_of(s->k, AXIS_R) >= PAIRED))) return;
    for (int taps = 1; taps <= MOST_TAPS; taps++) {
        if (w->dim[0].taps % taps) continue;
        /* A tap a step copies as much as windows do: 32 channels, 3 x 7, in 32 filters take an H200
         * 2142 us so, 1654 by windows, and by images in 64 filters 64, 3 x 7, 2367 and 1917, 32,
         * 3 x 5 x 5, 9187 and 7504. */
        bool pays = s->in_memory && size_of(s->k, AXIS_N) > NARROW;
        if (taps == 1 && !planes && !pays) continue;
        c.knob[KNOB_k] = taps * each;
        if (!planes) propose_tile(s, c, stages);
        if (c.knob[KNOB_k] % line == 0) continue;
        c.knob[KNOB_k] = (taps * each + line - 1) / line * line;
        propose_tile(s, c, stages);
    }
}

/* Are columns windows of images, whose results are no whole sectors? */
static bool has_odd_windows(const struct kernel *k) {
    enum { SECTOR = 32 };
    if (!im2col_has_taps(k->im2col[1][0])) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype);
        if (s->mask & MASK_N && !index_is_vector(k, s->index, AXIS_N, SECTOR / bytes)) return true;
    }
    return false;
}

/* Tiles of as many columns as give each multiprocessor one, or two in turn or at a time: of 1024 x
 * 768 results 128 tiles of 64 x 96, which with a depth of 3072 take an H200 10.7 us. Where two
 * blocks share a factor's tile less is read from L2, but they begin and end later: 11.5 us (19.4
 * where four do: of such clusters it has room for fewer than 32). Columns are thirty-twos, which
 * are stored by whole sectors: 128 x 144 took 12.2 us of 1024 x 768 x 2304, 128 x 192 9.4; but of
 * windows in images that are none, eights. */
static void propose_even(struct space *s, int stages) {
    enum { WHOLE = 32, EIGHTS = 8, LEAST = 64, MOST = 256 };
    int each = has_odd_windows(s->k) ? EIGHTS : WHOLE;
    int64_t units = s->k->limits->units, z = size_of(s->k, AXIS_Z), columns = size_of(s->k, AXIS_N);
    for (int m = 64; m <= 192; m += 64)
        for (int cluster = 1; cluster <= 2; cluster++)
            for (int rounds = 1; rounds <= 2; rounds++) {
                int64_t down = ceil_div(size_of(s->k, AXIS_M), m);
                if (down == 1 && cluster > 1) continue;
                int64_t across = units / cluster * rounds / (ceil_div(down, cluster) * z);
                if (!across) continue;
                int64_t n = ceil_div(ceil_div(columns, across), each) * each;
                if (n < LEAST || n > MOST) continue;
                struct config c = CONFIG(K(m, m), K(n, (int)n), K(k, 128 / element(s)),
                                         K(cluster, cluster > 1 ? cluster : 0), K(mma, 1),
                                         K(warps, (m / 64 + 1) * 128 / s->k->limits->warp));
                propose_staged(s, c, stages);
                c.knob[KNOB_fit] = 2;
                if (rounds == 2 && m < 192) propose_staged(s, c, stages);
            }
}

/* On the matrix units. Sums that are promoted need twice the registers, and three planes of each
 * factor three times the stages' memory: what does not fit is refused. */
static void propose_mma(struct space *s) {
    enum { MOST_STAGES = 8 };
    static const int tiles[][2] = {
        {128, 256}, {128, 192}, {128, 128}, {128, 64}, {64, 256}, {64, 128}, {64, 64},  {192, 128},
        {64, 32},   {128, 32},  {128, 8},   {128, 16}, {128, 24}, {128, 48}, {192, 64}, {192, 48}};
    int64_t columns = size_of(s->k, AXIS_N);
    /* Of planes whose depth is half a line such steps leave room for tiles twice as wide: 32768 x
     * 32 x 32768 takes an H200 1539 us by 128 x 256, and 1607 by 128 x 128. */
    int depth = 128 / element(s);
    if (may_make_planes(s->k) && size_of(s->k, AXIS_R) <= depth / 2) depth /= 2;
    /* Of a depth of 1024 pairs that are split where they lie are off by 6.4 u where that is most,
     * cuBLAS on an H200 by 4.1. */
    bool deep = size_of(s->k, AXIS_R) > PAIRS_DEEP;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int cluster = 1; cluster <= 2; cluster++) {
            bool narrow = tiles[i][1] < 64 && tiles[i][1] % 32, tall = tiles[i][0] == 192;
            if (narrow && (columns > tiles[i][1] || columns <= tiles[i][1] - 8)) continue;
            if (tall && tiles[i][1] == 64 && columns > 64) continue;
            if (tall && narrow && !s->lies) continue;
            struct config c = CONFIG(K(m, tiles[i][0]), K(n, tiles[i][1]), K(k, depth),
                                     K(cluster, cluster > 1 ? cluster : 0), K(mma, 1),
                                     K(warps, (tiles[i][0] / 64 + 1) * 128 / s->k->limits->warp));
            propose_windows(s, c, MOST_STAGES);
            for (int make = 1; make <= 2 && cluster == 1; make++) {
                struct config made = c;
                made.knob[KNOB_make] = make;
                int groups = tiles[i][0] / 64 + make + s->k->limits->tensor_memory;
                made.knob[KNOB_warps] = groups * 128 / s->k->limits->warp;
                propose_tile(s, made, MOST_STAGES);
            }
            c.knob[KNOB_pairs] = 2;
            if (deep && may_make_planes(s->k)) propose_tile(s, c, MOST_STAGES);
            c.knob[KNOB_pairs] = 1;
            if (may_make_planes(s->k)) propose_windows(s, c, MOST_STAGES);
            c.knob[KNOB_k] = PAIRED_DEPTH;
            if (may_make_planes(s->k)) propose_tile(s, c, MOST_STAGES);
        }
    /* Two warpgroups with tiles in turn, where a block has several. */
    static const int turns[][2] = {{192, 128}, {128, 192}, {128, 128}, {64, 256},
                                   {64, 192},  {64, 128},  {128, 64}};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        for (int cluster = 1; cluster <= 2; cluster++) {
            int64_t tiles = size_of(s->k, AXIS_Z) * ceil_div(size_of(s->k, AXIS_M), turns[i][0]) *
                            ceil_div(columns, turns[i][1]);
            if (tiles <= s->k->limits->units) continue;
            struct config c = CONFIG(K(m, turns[i][0]), K(n, turns[i][1]), K(k, 128 / element(s)),
                                     K(cluster, cluster > 1 ? cluster : 0), K(mma, 1),
                                     K(warps, 3 * 128 / s->k->limits->warp), K(pingpong, 1));
            propose_staged(s, c, MOST_STAGES);
            c.knob[KNOB_band] = 16;
            propose_staged(s, c, MOST_STAGES);
        }
    propose_even(s, MOST_STAGES);
    /* Two blocks a multiprocessor, of tiles that leave room for two. */
    static const int halves[][2] = {{64, 192}, {64, 128}, {64, 96},  {64, 80}, {64, 64},
                                    {128, 64}, {128, 32}, {128, 24}, {128, 16}};
    bool few = s->lies && s->k->im2col[0][0]->channels <= FEW_CHANNELS;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        int n = halves[i][1];
        if (n <= 32 && (!few || columns > n || columns <= n - 8)) continue;
        struct config c =
            CONFIG(K(m, halves[i][0]), K(n, halves[i][1]), K(k, 128 / element(s)), K(fit, 2),
                   K(mma, 1), K(warps, (halves[i][0] / 64 + 1) * 128 / s->k->limits->warp));
        propose_windows(s, c, MOST_STAGES);
        c.knob[KNOB_pairs] = 1;
        if (may_make_planes(s->k)) propose_windows(s, c, MOST_STAGES);
    }
}

/* Products that are no larger than a warp's tile, of which there may be many: of a warpgroup's 64
 * rows most would be none of theirs. */
static void propose_single_warps(struct space *s, int stages) {
    enum { MOST = 32 };
    int64_t m = size_of(s->k, AXIS_M), n = size_of(s->k, AXIS_N);
    if (m > MOST || n > MOST) return;
    int rows = m > MOST / 2 ? MOST : MOST / 2, columns = n > MOST / 2 ? MOST : MOST / 2;
    for (int depth = 64 / element(s); depth <= 128 / element(s); depth *= 2)
        propose_tile(s,
                     CONFIG(K(m, rows), K(n, columns), K(k, depth), K(tm, rows), K(tn, columns),
                            K(mma, 2), K(warps, 1)),
                     stages);
}

/* By warps, where there is no wgmma; and where there is, products of f32, whose planes warps make
 * in registers: what is packed for warpgroups is written and read once more. */
static void propose_warps(struct space *s) {
    enum { MOST_STAGES = 4 };
    static const int tiles[][4] = {
        /* m, n, tm, tn */
        {128, 256, 64, 64}, {256, 128, 64, 64}, {128, 128, 64, 32}, {128, 128, 32, 64},
        {128, 64, 32, 32},  {64, 128, 32, 32},  {64, 256, 32, 64},  {64, 64, 32, 32},
        {64, 32, 32, 16},   {32, 64, 16, 32},   {32, 128, 16, 64},  {16, 64, 16, 16},
        {16, 128, 16, 32},  {16, 128, 16, 64},  {16, 256, 16, 64},  {32, 64, 32, 16},
        {32, 128, 32, 32},  {64, 64, 64, 16},   {64, 128, 64, 32},
    };
    propose_single_warps(s, MOST_STAGES);
    if (s->k->limits->wgmma && !may_make_planes(s->k)) return;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int depth = 64 / element(s); depth <= 128 / element(s); depth *= 2) {
            const int *t = tiles[i];
            struct config c = CONFIG(K(m, t[0]), K(n, t[1]), K(k, depth), K(tm, t[2]), K(tn, t[3]),
                                     K(mma, 2), K(warps, t[0] / t[2] * (t[1] / t[3])));
            propose_tile(s, c, MOST_STAGES);
        }
}

/* Chained products, and if a mask of data may hide tiles, with these skipped. */
static void propose_skips(struct space *s, struct config c) {
    propose(s, c);
    if (!s->k->questions.n) return;
    c.knob[KNOB_skip] = 1;
    propose(s, c);
}

/* Those whose blocks share columns: powers of two of them, for short rows, and as many as are
 * resident at once, some a multiprocessor. */
static void propose_parts(struct space *s, struct config c) {
    enum { MOST = 128, RESIDENT = 4 };
    int64_t blocks = kernel_size(s->k, AXIS_Z) *
                     ((kernel_size(s->k, AXIS_M) + c.knob[KNOB_m] - 1) / c.knob[KNOB_m]);
    int64_t units = s->k->limits->units;
    propose_skips(s, c);
    for (int split = 2; split <= MOST && blocks * split <= RESIDENT * units; split *= 2) {
        c.knob[KNOB_split] = split;
        propose_skips(s, c);
    }
    for (int each = 1; each <= RESIDENT && blocks; each++) {
        int64_t split = each * units / blocks;
        c.knob[KNOB_split] = (int)split;
        if (split > 1 && split <= MOST) propose_skips(s, c);
    }
}

/* The same of blocks that have tile after tile, one or two a multiprocessor. */
static void propose_stays(struct space *s, struct config c) {
    for (int blocks = 1; blocks <= 2; blocks++) {
        c.knob[KNOB_blocks] = blocks;
        propose_skips(s, c);
    }
}

/* The same, and of several warpgroups with their products in turn. */
static void propose_turns(struct space *s, struct config c) {
    propose_parts(s, c);
    propose_stays(s, c);
    c.knob[KNOB_pingpong] = 1;
    propose_skips(s, c);
    propose_stays(s, c);
}

/* Chained products: rows of a block, of a warp, what is between at a time. */
static void propose_chained(struct space *s) {
    static const int tiles[][3] = {
        /* m, tm, n */
        {128, 32, 64}, {128, 16, 64}, {128, 16, 128}, {64, 16, 64},  {64, 16, 128}, {64, 32, 64},
        {128, 32, 32}, {128, 16, 32}, {64, 16, 32},   {32, 16, 64},  {32, 16, 32},  {16, 16, 64},
        {16, 16, 32},  {16, 16, 16},  {128, 32, 128}, {256, 32, 64}, {64, 32, 32},  {256, 32, 32},
    };
    /* m, n; sums or heads of 256 take room, hence the last ones */
    static const int groups[][2] = {
        {128, 128}, {128, 160}, {128, 176}, {128, 96}, {128, 80}, {128, 64},
        {192, 128}, {192, 112}, {192, 96},  {192, 80}, {192, 64}, {64, 128},
        {64, 64},   {128, 192}, {128, 48},  {128, 32}, {64, 32},
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const int *t = groups[i];
        for (int stages = 2; stages <= 4; stages++)
            propose_turns(s, CONFIG(K(m, t[0]), K(n, t[1]), K(mma, 1), K(stages, stages),
                                    K(warps, (t[0] / 64 + 1) * 4)));
    }
    /* Few columns in a few steps that are all of them: 197 are two of 112, or one of 208. */
    enum { EACH = 16, LEAST = 48, MOST = 208, STEPS = 3 };
    for (int m = 64; m <= 192; m += 64)
        for (int steps = 1; steps <= STEPS; steps++) {
            int64_t n = ceil_div(ceil_div(size_of(s->k, AXIS_N), steps), EACH) * EACH;
            for (int stages = 2; stages <= 3 && n >= LEAST && n <= MOST; stages++)
                propose_turns(s, CONFIG(K(m, m), K(n, (int)n), K(mma, 1), K(stages, stages),
                                        K(warps, (m / 64 + 1) * 4)));
        }
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int stages = 2; stages <= 3; stages++)
            propose_parts(s, CONFIG(K(m, tiles[i][0]), K(n, tiles[i][2]), K(tm, tiles[i][1]),
                                    K(mma, 2), K(stages, stages),
                                    K(warps, tiles[i][0] / tiles[i][1])));
}

static void propose_matmul(struct space *s) {
    propose_mma(s);
    propose_warps(s);
    static const int shapes[][5] = {
        /* m, n, k, tm, tn */
        {128, 128, 16, 8, 8}, {128, 128, 8, 8, 8},  {64, 128, 16, 8, 8},   {128, 64, 16, 8, 8},
        {64, 64, 16, 8, 8},   {64, 64, 16, 4, 4},   {64, 64, 32, 4, 8},    {32, 64, 32, 4, 4},
        {32, 32, 32, 4, 4},   {32, 32, 32, 2, 4},   {16, 32, 32, 2, 2},    {16, 16, 32, 2, 2},
        {128, 256, 8, 8, 16}, {256, 128, 8, 16, 8}, {128, 256, 16, 8, 16}, {256, 128, 16, 16, 8},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *t = shapes[i];
        propose(s, CONFIG(K(m, t[0]), K(n, t[1]), K(k, t[2]), K(tm, t[3]), K(tn, t[4]),
                          K(warps, t[0] / t[3] * (t[1] / t[4]) / s->k->limits->warp)));
    }
}

/* Rows that make a tile of about r elements, in powers of two: texts that differ little from size
 * to size are compiled once. */
static int rows_of_tile(int r, int64_t nx, int64_t nr) {
    int64_t rows = nr >= r ? 1 : next_power_of_two((r + nr - 1) / (nr ? nr : 1));
    return (int)(rows < next_power_of_two(nx) ? rows : next_power_of_two(nx));
}

/* A tile that is a row on which something lands. */
static void propose_cpu_row(struct space *s, int nt) {
    enum { LONG = 16384 };
    int64_t row;
    int vec = s->k->limits->simd_bytes / 4;
    if (!ex_is_const(s->k->ex, s->k->landing->inner, &row) || row < vec || row > LONG) return;
    while (row % vec) vec /= 2;
    propose(s, CONFIG(K(x, (int)row), K(vec, vec), K(nt, nt), K(hits, 1)));
}

/* Of the tiles that divide an axis evenly, one of about `size`, in blocks of t. */
static int even_tile(int64_t all, int size, int t) {
    int64_t tiles = (all + size - 1) / size, tile = (all + tiles - 1) / tiles;
    return (int)round_up(tile, t);
}

static void propose_panels(struct space *s, int tm, int tn) {
    int64_t m = size_of(s->k, AXIS_M), n = size_of(s->k, AXIS_N), r = size_of(s->k, AXIS_R);
    for (int rows = 32; rows <= 512; rows *= 2)
        for (int columns = 64; columns <= 1024; columns *= 2)
            for (int depth = 128; depth <= 512; depth *= 2) {
                if (depth > 128 && depth / 2 >= r) continue;
                propose(s, CONFIG(K(m, even_tile(m, rows, tm)), K(n, even_tile(n, columns, tn)),
                                  K(k, depth), K(tm, tm), K(tn, tn)));
            }
}

/* Windows that stay in their image: whole rows of these at a time, or parts of one. */
static void propose_flat(struct space *s, int tm, int tn) {
    const struct im2col *w = s->k->im2col[1][0];
    int64_t m = size_of(s->k, AXIS_M), all = (w->dim[0].windows + tn - 1) / tn, last = 0;
    for (int rows = 32; rows <= 512; rows *= 2)
        for (int columns = 64; columns <= 2048; columns *= 2) {
            int64_t blocks = columns / tn;
            if (blocks > all) blocks = blocks / all * all;
            if (blocks < 1 || blocks == last) continue;
            last = blocks;
            for (int depth = 64; depth <= 256; depth *= 2)
                propose(s, CONFIG(K(m, even_tile(m, rows, tm)), K(n, (int)blocks * tn), K(k, depth),
                                  K(tm, tm), K(tn, tn), K(flat, 1)));
        }
}

/* A block of which has some neighbouring windows, and some vectors of filters. */
static void propose_flat_blocks(struct space *s, int lanes, int most) {
    static const int blocks[][2] = {{14, 2}, {12, 2}, {10, 2}, {8, 2},  {7, 2}, {6, 2}, {4, 2},
                                    {9, 3},  {8, 3},  {7, 3},  {4, 3},  {7, 4}, {6, 4}, {4, 4},
                                    {28, 1}, {20, 1}, {14, 1}, {12, 1}, {8, 1}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        int tn = blocks[i][0], tm = blocks[i][1] * lanes;
        if (layout_block_registers(s->k, tn, tm) <= most) propose_flat(s, tm, tn);
    }
}

/* Blocks of which sums, a row of the right factor and a number of the left one are in registers. */
static void propose_cpu_matmul(struct space *s) {
    static const int blocks[][2] = {{14, 2}, {12, 2}, {9, 3}, {8, 3}, {6, 4}, {6, 2}, {4, 4},
                                    {4, 3},  {8, 2},  {4, 2}, {2, 4}, {1, 8}, {8, 1}, {4, 1}};
    int size = dtype_bytes(dtype_opmath(s->k->values.at[s->k->dot].dtype)),
        lanes = s->k->limits->simd_bytes / size, most = cpu_vector_registers(s->k->limits);
    if (lanes < 1) lanes = 1;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        int tm = blocks[i][0], tn = blocks[i][1] * lanes;
        if (layout_block_registers(s->k, tm, tn) <= most) propose_panels(s, tm, tn);
    }
    if (!s->k->im2col[1][0]) return;
    propose_flat_blocks(s, lanes, most);
    for (int narrow = lanes / 2; narrow > 1 && size_of(s->k, AXIS_M) <= narrow; narrow /= 2)
        propose_flat_blocks(s, narrow, most);
}

/* Tiles of rows, along which vectors go: kept, where columns are gone over again, or split. */
static void propose_cpu_tiles(struct space *s, int v, int nt) {
    int64_t nx = size_of(s->k, AXIS_X), nr = size_of(s->k, AXIS_R);
    int most = 8 * s->k->limits->units;
    for (int x = v; x <= v * 256 && (x == v || x < 2 * nx); x *= 2)
        for (int split = 1; split <= most && split * 64 < nr + 64; split *= 2)
            for (int ahead = 0; ahead <= 1; ahead++)
                for (int keep = 0; keep <= (split == 1 ? 1 : 0); keep++)
                    propose(s, CONFIG(K(x, x), K(r, split > 1 ? 64 : 0), K(vec, v), K(keep, keep),
                                      K(nt, nt), K(split, split > 1 ? split : 0), K(ahead, ahead)));
}

static void propose_cpu(struct space *s) {
    const struct kernel *k = s->k;
    int lanes = k->limits->simd_bytes / 4;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    if (k->kind == KERNEL_MATMUL) {
        propose_cpu_matmul(s);
        return;
    }
    for (int v = lanes; v <= lanes * 4; v *= 2)
        for (int nt = 0; nt <= 1; nt++) {
            if (k->rows_inner) {
                propose_cpu_tiles(s, v, nt);
                for (int x = v; x <= v * 64 && k->landing; x *= 2)
                    propose(s, CONFIG(K(x, x), K(vec, v), K(nt, nt), K(hits, 1)));
                if (k->landing) propose_cpu_row(s, nt);
            } else if (k->kind == KERNEL_POINTWISE) {
                for (int x = 16; x <= 128 && has_across(k); x *= 2)
                    for (int r = 128; r <= 512; r *= 2)
                        propose(s, CONFIG(K(x, x), K(r, r), K(vec, v), K(nt, nt), K(turn, 1)));
                for (int r = 4096; r <= 65536; r *= 4)
                    for (int ahead = 0; ahead <= 1; ahead++)
                        propose(s, CONFIG(K(x, rows_of_tile(r, nx, nr)), K(r, r), K(vec, v),
                                          K(nt, nt), K(ahead, ahead)));
            } else {
                for (int blocks = 1; blocks <= 4 && k->columns; blocks *= 2)
                    for (int keep = 0; keep <= 1; keep++)
                        for (int ahead = 0; ahead <= 1; ahead++)
                            propose(s, CONFIG(K(x, 1), K(vec, v), K(keep, keep), K(nt, nt),
                                              K(blocks, blocks), K(ahead, ahead)));
                for (int keep = 0; keep <= 1; keep++)
                    for (int x = 1; x <= 16 && x <= nx; x *= 4)
                        for (int ahead = 0; ahead <= 1; ahead++)
                            propose(s, CONFIG(K(x, x), K(vec, v), K(keep, keep), K(nt, nt),
                                              K(ahead, ahead)));
                for (int split = 2; split <= 8 * k->limits->units && nx < k->limits->units * 2;
                     split *= 2)
                    for (int ahead = 0; ahead <= 1; ahead++)
                        propose(s, CONFIG(K(x, 1), K(r, v * 16), K(vec, v), K(split, split),
                                          K(ahead, ahead)));
            }
        }
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

/* What it costs to list sources has not been measured: a few such configs are tried, whatever the
 * cost model says; and two that sort them before, unless they are far behind. */
static int add_listing(const struct space *s, uint32_t from, struct config *list) {
    enum { FAR = 5 };
    int added = 0, most[2] = {MAX_LISTING, 2};
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

/* Are tiles in turn, of many that a block has, about as fast as others, the model says, and is what
 * stands behind them long, which it knows little of? gelu behind 8192 x 4096 x 16384 in bf16 takes
 * an H200 1441 us by 128 x 192 in turn, 1526 to 1551 by 128 x 256; the product by itself takes 1399
 * and 1389. */
static bool hides_epilogue(const struct space *s, const struct config *c, double us,
                           double others) {
    enum { LONG = 16, MANY = 8 }; /* instructions, tiles of a block */
    const double AS_FAST = 0.98;
    struct layout y;
    return s->k->kind == KERNEL_MATMUL && epilogue_size(s->k, 1) >= LONG && us * AS_FAST < others &&
           !kernel_layout(s->k, c, &y, s->arena) &&
           matrix_all_tiles(s->k, &y) >= MANY * matrix_clusters(s->k, &y);
}

/* Warpgroups in turn gain behind a long epilogue and lose behind none, by how much the model does
 * not know: they are tried, and never a first guess; but of rows that begin anywhere, where 1024 x
 * 768 x 50257 takes an H200 129.6 us by 128 x 192 in turn, 138.3 by 128 x 256; where they hide what
 * stands behind many tiles; and of rows that are windows, as those of phases, whose channels and
 * taps are few steps for what is stored. 262144 pixels of 512 phases and filters, 256 deep, take it
 * 138 us by 128 x 128 in turn, 188 by 128 x 256 and 276 by 192 x 128; of 27 taps in three
 * dimensions it takes 265 by 128 x 128 in turn, 283 by 192 x 128 in turn; and what takes 1274 by
 * 128 x 128 in turn takes 2130 by 64 x 256. */
static bool may_be_in_turn(const struct space *s, uint32_t i) {
    enum { ROWS = 128 };
    const double GAIN = 1.04;
    double others = INFINITY;
    const struct candidate *c = &s->all.at[i];
    for (uint32_t j = 0; j < s->all.n && others == INFINITY; j++)
        if (!s->all.at[j].c.knob[KNOB_pingpong]) others = s->all.at[j].cost;
    if (!s->k->im2col[0][0] && !s->k->im2col[1][0])
        return hides_epilogue(s, &c->c, c->cost, others);
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

static void guess_no_turns(struct space *s) {
    uint32_t first = 0, turn = 0;
    if (moves_rows(s) || is_one_pair(s)) return;
    while (first < s->all.n && s->all.at[first].c.knob[KNOB_pingpong] && !may_be_in_turn(s, first))
        first++;
    while (turn < s->all.n && !s->all.at[turn].c.knob[KNOB_pingpong]) turn++;
    if (turn > first && turn < s->all.n && may_be_in_turn(s, turn)) first = turn;
    if (first == s->all.n) return;
    struct candidate guess = s->all.at[first];
    for (uint32_t i = first; i > 0; i--) s->all.at[i] = s->all.at[i - 1];
    s->all.at[0] = guess;
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
        if (!kernel_layout(k, &c, &y, s->arena)) s->all.at[i].c = c;
    }
}

/* All that is worth trying, cheapest first. */
static struct space all_configs(const struct kernel *k, struct arena *a) {
    struct space s = space_of(k, a);
    if (k->limits->kind == DEVICE_CPU)
        propose_cpu(&s);
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
        propose_rows(&s), propose_hits(&s);
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
    struct config *list =
        NEW_ARRAY(a, struct config,
                  keep + N_HINTS * MAX_STAYING + 2 * MAX_AHEAD + MAX_AGAIN + MAX_LISTING + 2);
    for (uint32_t i = 0; i < keep; i++) list[i] = s.all.at[i].c;
    *out = list;
    *n = (int)keep + add_hinted(k, a, list, (int)keep);
    int ahead = add_ahead(k, a, list + *n);
    *n += ahead;
    *n += add_hint(k, a, list, *n - ahead, ahead, *n, KNOB_stay_l2);
    int again = add_again(&s, keep, list, *n), listing = 0;
    *n += again;
    if (k->landing) listing = add_listing(&s, keep, list + *n);
    *n += listing;
    *pruned = (int)(s.all.n - keep) - again - listing;
}

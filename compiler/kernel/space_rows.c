/* space_rows.c: configs of rows and columns on a GPU: pointwise kernels, reductions, scans, sums
 * of columns, and lists of what lands where. They see sizes and strides alone, no times. */
#include <math.h>

#include "kernel/space.h"

/* The widest vector that moves 16 bytes of the widest element. What is read once a row, such as
 * where a row of a table is, has no say. */
int widest_vector(const struct kernel *k, enum axis inner) {
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

/* Does a pointwise kernel load what lies apart by little, as windows of rows do? Where these are
 * out of step with vectors, lanes load elements, and the wider their vectors are the more lines
 * a warp asks for at a time. */
static bool loads_apart(const struct kernel *k) {
    enum { LITTLE = 8, VECTOR = 4 };
    for (value_id v = 0; v < k->values.n && k->kind == KERNEL_POINTWISE; v++) {
        const struct value_node *x = &k->values.at[v];
        if (x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        int64_t apart = load_usual_stride(k, x, AXIS_R), pitch = index_stride(k, x->index, AXIS_X);
        if (apart > 1 && apart <= LITTLE && pitch > 0 && pitch % VECTOR) return true;
    }
    return false;
}

/* Two widths of vectors each are tried: of those that peel rows, of those that divide them. */
static bool tries_vector(const struct kernel *k, int vec) {
    if (k->kind == KERNEL_REDUCE && only_strides(k, AXIS_R)) return vec == 1;
    if (loads_apart(k) && vec <= 2) return true;
    int widest = widest_vector(k, AXIS_R), divisor = widest_divisor(k, AXIS_R);
    return vec == widest || vec * 2 == widest || vec == divisor || vec * 2 == divisor;
}

/* Along x, of those that divide it three, and two that have to be shifted. */
static bool tries_row_vector(const struct kernel *k, int vec) {
    int widest = widest_vector(k, AXIS_X), divisor = widest_divisor(k, AXIS_X);
    return vec <= divisor ? vec * 4 >= divisor : vec * 2 >= widest;
}

/* Half of the t1 threads of a row, or more, have nothing to do. */
static bool idles(int t1, int vec, int64_t nr) { return t1 > 1 && (int64_t)t1 * vec / 2 >= nr; }

/* Are rows combined with one that does not stay in L1, and nothing else? A thread that has several
 * of them reads it once. */
static bool shares_columns(const struct kernel *k) {
    bool any = false;
    for (value_id v = 0; v < k->values.n; v++) any |= load_is_long_row(k, &k->values.at[v]);
    return any && k->kind == KERNEL_REDUCE && !kernel_reads_twice(k) && !k->columns;
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

/* Blocks that have a tile of a scanned row each; or that stay, and have one in each round, which
 * waits for the others' totals if there is a second one. */
static void propose_looking(struct space *s, struct config c) {
    enum { MOST_BLOCKS = 4, MOST_STAGES = 3 };
    struct layout y;
    propose(s, c);
    if (kernel_layout(s->k, &c, &y, s->arena)) return;
    int64_t tiles =
        tile_count(size_of(s->k, AXIS_X), y.bx) * tile_count(size_of(s->k, AXIS_R), y.br);
    for (int blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
        c.knob[KNOB_blocks] = blocks, c.knob[KNOB_stages] = 0;
        propose(s, c);
        bool waits = tiles > (int64_t)blocks * s->k->limits->units;
        for (int stages = 2; stages <= MOST_STAGES && waits; stages++) {
            c.knob[KNOB_stages] = stages;
            propose(s, c);
        }
        if (!waits) return;
    }
}

/* Rows that no cluster keeps, or that are too few to fill the device, by blocks that meet: as
 * many as are at work at a time, or a part of them, so that what these have of their rows stays
 * on the chip. */
static void propose_meeting(struct space *s) {
    enum { LEAST_BLOCKS = 8, MOST_FIT = 4 };
    const struct kernel *k = s->k;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    int vec = widest_vector(k, AXIS_R), warp = k->limits->warp;
    if (k->kind != KERNEL_REDUCE || !kernel_reads_twice(k) || k->columns) return;
    if (!device_rows_meet(k->limits, nx, nr * 4, false)) return;
    for (int fit = 1; fit <= MOST_FIT; fit *= 2)
        for (int warps = 8; warps <= most_warps(k); warps *= 2)
            for (int u = 1; u <= 4; u *= 2)
                for (int split = fit * k->limits->units; split >= LEAST_BLOCKS; split /= 2)
                    for (int keep = 0; keep <= 2 && nx * split >= k->limits->units; keep += 2)
                        propose(s, CONFIG(K(x, 1), K(r, warps * warp * vec * u), K(warps, warps),
                                          K(vec, vec), K(keep, keep), K(split, split), K(meet, 1),
                                          K(fit, fit)));
}

/* Reductions along contiguous columns: t1 threads a row, x rows a block. Threads idle only where
 * there are neither columns nor rows enough for one warp. */
void propose_columns(struct space *s) {
    const struct kernel *k = s->k;
    int warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R);
    propose_meeting(s);
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
                bool scans = k->kind == KERNEL_SCAN;
                for (int rows = 2; rows <= (scans ? 8 : 4) && step >= nr &&
                                   (int64_t)x * rows * k->limits->units <= nx;
                     rows *= 2)
                    for (int keep = 0; keep <= (scans ? 0 : 1); keep++)
                        propose(s, CONFIG(K(x, x * rows), K(r, step), K(warps, warps), K(vec, vec),
                                          K(keep, keep), K(rows, rows)));
                if (t1 == 1 && vec == 1 && nr <= MOST_ALONE) /* windows in a straight line */
                    propose(s, CONFIG(K(x, x), K(r, (int)nr), K(warps, warps), K(vec, vec)));
                for (int u = 1; u <= 8 && (u == 1 || step * u / 2 < nr); u *= 2) {
                    propose(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps), K(vec, vec)));
                    if (k->kind == KERNEL_SCAN && nx / x < 4 * (int64_t)k->limits->units)
                        propose_looking(s, CONFIG(K(x, x), K(r, step * u), K(warps, warps),
                                                  K(vec, vec), K(look_back, 1)));
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

/* Are batches so many that a block has one of them to itself, as it would if there were fewer
 * blocks? */
static bool has_batch_anyway(const struct kernel *k, int blocks, int cluster) {
    int64_t batches = kernel_batches(k);
    return blocks > 1 && batches > 1 && (int64_t)blocks * k->limits->units / cluster < 2 * batches;
}

/* Some persistent blocks a multiprocessor: of rows and what their columns sum up to, or of rows
 * that are kept, and copied ahead. */
void propose_blocks(struct space *s) {
    const struct kernel *k = s->k;
    int warp = k->limits->warp;
    int64_t nx = size_of(k, AXIS_X), nr = size_of(k, AXIS_R), units = k->limits->units;
    int widest = widest_divisor(k, AXIS_R);
    bool wide = k->columns ? is_wide_row(k) : nr >= LONG_ROW;
    /* Where nothing is reduced along rows, blocks that share them have more turns, which end at
     * more even times, and leave fewer parts of a column. */
    enum { MOST_APART = 8, LEAST_COLUMNS = 128 };
    bool apart = kernel_only_columns(k);
    int keep = k->kind != KERNEL_SCAN; /* which has whole rows in registers anyway */
    int most_blocks = apart ? MOST_APART : k->limits->max_cluster;
    for (int vec = widest; vec >= 1 && vec * 2 >= widest; vec /= 2)
        for (int t1 = 1; t1 <= k->limits->max_threads_block; t1 *= 2)
            for (int warps = 1; warps <= most_warps(k); warps *= 2) {
                int x = warps * warp / t1;
                int64_t most = (nx + x - 1) / (x ? x : 1) * kernel_batches(k) + units - 1;
                if (x < 1 || x > next_power_of_two(nx)) continue;
                if (idles(t1, vec, nr) && (warps > 1 || x * 2 <= next_power_of_two(nx))) continue;
                for (int c = 1; c <= most_blocks && (c == 1 || wide || apart); c *= 2) {
                    if (c > 1 && (nr / c < LEAST_COLUMNS || idles(t1, vec, nr / c))) break;
                    for (int blocks = 1; blocks <= 16 && blocks * units <= most * c;
                         blocks += 1 + blocks / 4)
                        for (int stages = k->columns ? 1 : 2;
                             stages <= 4 && !has_batch_anyway(k, blocks, c); stages++)
                            propose(s,
                                    CONFIG(K(x, x), K(r, (int)round_up((nr + c - 1) / c, t1 * vec)),
                                           K(warps, warps), K(vec, vec), K(keep, keep),
                                           K(cluster, c > 1 ? c : 0), K(blocks, blocks),
                                           K(stages, stages > 1 ? stages : 0)));
                }
                /* A row is one step of its threads, which sum up the columns of several. */
                for (int rows = 2; rows <= 4 && k->columns && t1 * vec == nr; rows *= 2)
                    for (int blocks = 1; blocks <= 8 && !has_batch_anyway(k, blocks, 1);
                         blocks += 1 + blocks / 4)
                        propose(s,
                                CONFIG(K(x, x * rows), K(r, (int)nr), K(warps, warps), K(vec, vec),
                                       K(rows, rows), K(keep, keep), K(blocks, blocks)));
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
void propose_rows(struct space *s) {
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
void propose_hits(struct space *s) {
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

/* The same by threads that go along the sources of their own elements: as many under way as a row
 * has about, of as many spans as registers have room for. */
void propose_own_hits(struct space *s) {
    enum { MOST = 32 }; /* elements under way */
    const struct kernel *k = s->k;
    int64_t nr = size_of(k, AXIS_R), inner;
    if (!k->landing || !ex_is_const(k->ex, k->landing->inner, &inner) || !inner) return;
    double rows = (double)ex_hint(k->ex, k->landing->rows), each = (double)nr / fmax(rows, 1);
    for (int vec = widest_divisor(k, AXIS_X); vec >= 1; vec /= 2)
        for (int warps = 1; warps <= 16 && inner % vec == 0; warps *= 2)
            for (int span = 1; span <= 8 && span <= layout_spans(k); span *= 2)
                for (int u = 1; u <= 16 && u * span * vec <= MOST && (u == 1 || u < 4 * each);
                     u *= 2)
                    propose(s, CONFIG(K(x, warps * k->limits->warp * vec * span), K(r, u),
                                      K(warps, warps), K(vec, vec), K(rows, span > 1 ? span : 0),
                                      K(hits, 1), K(sort, 2)));
}

/* Or by warps that take a source a thread: of as many rows as their part of shared memory has; and
 * sorted by blocks that are no larger than leaves each multiprocessor one, about. */
void propose_in_turn(struct space *s) {
    enum { SORTED = 256 * BUCKET_EACH }; /* sources of a block, at a time, for each of hits */
    const struct kernel *k = s->k;
    if (!k->landing) return;
    for (int held = 8; held <= 128; held *= 2)
        for (int u = 1; u <= 8; u *= 2)
            for (int hits = 1; hits <= 4; hits *= 2)
                if (hits == 1 || size_of(k, AXIS_R) / (SORTED * hits) > k->limits->units / 2)
                    propose(s, CONFIG(K(x, k->limits->warp * held), K(r, u), K(warps, 1), K(vec, 1),
                                      K(rows, held), K(hits, hits), K(sort, 3)));
}

/* What sorts alone has nothing to choose from: how it goes about it is by how much there is. */
void propose_sort(struct space *s) { propose(s, CONFIG(K(sort, 2))); }

/* Scans across rows, of a sector's elements at least: t1 threads share a column and have u steps
 * each, which follow one another. The tiles of a column are one block's, or a block's each. */
void propose_scan_rows(struct space *s) {
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

void propose_pointwise(struct space *s) {
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

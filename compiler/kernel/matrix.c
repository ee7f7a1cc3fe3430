/* matrix.c: a product on the matrix units: which planes of its factors (operand.c) are multiplied,
 * what a config means and whether it is legal.
 *
 * f32. x = x0 + x1 + x2 of 8 bits each; of the nine products of two such the three smallest are
 * less than an f32's last bit. The units add up what is aligned to the largest term and cut off:
 * with a whole depth in one sum that is 20 to 90 times an f32's error. So the sum begins anew every
 * 64 of the depth, with the small products first, and is added to a total by the threads.
 *
 * tf32. The units read an f32 and ignore its last 13 bits. Cut off, factors would be too small, all
 * of them, and what a sum is off by would grow like the depth; so they are rounded to the nearest
 * before: by the tensor map that copies them, in registers (mma=2), or as they are packed. An
 * operand of f32 in a product is one of tf32.
 *
 * mma=1: wgmma, where a role of the block copies boxes by tensor maps (sm_90a). mma=2: mma.sync,
 * where each warp multiplies its tm rows by tn columns of the tile, and all copy (sm_80 on). */
#include "kernel/kernel.h"

enum { BY_WARPGROUP = 1, BY_WARP = 2 }; /* the knob mma */

enum {
    GROUP_ROWS = 64, /* of the accumulators of a warpgroup */
    GROUP_THREADS = 128,
    WARP_ROWS = 16, /* of an instruction's sums */
    MOST_STAGES = 8,
    UNPROMOTED =
        16384, /* depth that bf16 and f16 may sum up in a unit: its error is below theirs */
    BARRIERS = 2 * MOST_STAGES * 8,
    MOST_PARTS = 128,
};

/* Of which plane each is multiplied with which, the smallest products first. */
static void choose_passes(struct product *p) {
    for (int sum = 2; sum >= 0; sum--)
        for (int a = 0; a < p->a.planes; a++)
            for (int b = 0; b < p->b.planes; b++) {
                if (a + b != sum) continue;
                p->pass[p->n_passes].a = a;
                p->pass[p->n_passes++].b = b;
            }
}

/* Is any of these taps of the batch there? */
static bool has_taps(const struct im2col *w, int64_t z, int64_t from, int64_t to) {
    for (int64_t tap = from; tap <= to && tap < w->taps; tap++)
        if (im2col_is_there(w, z, tap)) return true;
    return false;
}

/* The steps of so much depth that are not 0 for the batch; NULL if these are all, or too many to
 * be listed. */
static const struct batch_steps *list_steps(const struct kernel *k, const struct operand *o,
                                            int depth, struct arena *a) {
    enum { MOST = 1 << 13 };
    const struct im2col *w = o->order;
    int64_t all = round_up(o->depth, depth) / depth, batches = kernel_size(k, AXIS_Z);
    if (!o->windows || o->along || !w->there || all * batches > MOST) return NULL;
    int *n = NEW_ARRAY(a, int, batches), *at = NEW_ARRAY(a, int, batches *all);
    int64_t total = 0;
    for (int64_t z = 0; z < batches; z++) {
        for (int64_t i = 0; i < all; i++)
            if (has_taps(w, z, i * depth / o->channels, ((i + 1) * depth - 1) / o->channels))
                at[z * all + n[z]++] = (int)i;
        if (!n[z]) return NULL; /* sums begin with the first */
        total += n[z];
    }
    if (total == all * batches) return NULL;
    struct batch_steps *s = NEW(a, struct batch_steps);
    *s = (struct batch_steps){.most = all, .total = total, .n = n, .at = at};
    return s;
}

/* Where channels are filled up to whole steps each tap ends with less, else all taps together do. */
static struct short_steps find_shorts(const struct product *p, int depth) {
    enum { INSTRUCTION = 32, LEAST = 16 }; /* bytes; a 16th of the products is worth it */
    const struct operand *o = &p->a;
    int unit = INSTRUCTION / dtype_bytes(o->dtype);
    int64_t whole = o->depth, counts = whole; /* of a tap, or of all */
    if (o->order && !o->along) {
        counts = whole - (o->channels - o->order->channels);
        if (o->channels % depth == 0) whole = o->channels, counts = o->order->channels;
    }
    int64_t every = round_up(whole, depth) / depth;
    int64_t left = round_up(counts - (every - 1) * depth, unit);
    if (p->by_warp || (depth - left) * LEAST < depth * every) return (struct short_steps){0};
    return (struct short_steps){.depth = (int)left, .every = every, .at = every - 1};
}

double product_depth_left(const struct short_steps *s, int depth) {
    return s->every ? 1 - (double)(depth - s->depth) / depth / (double)s->every : 1;
}

static int64_t least_steps(const struct kernel *k, const struct product *p, int64_t all) {
    for (int64_t z = 0; p->steps && z < kernel_size(k, AXIS_Z); z++)
        if (p->steps->n[z] < all) all = p->steps->n[z];
    return all;
}

static struct folds promoted_folds(int64_t depth, int step) {
    enum { RADIX = 32 };
    int64_t terms = (depth + step - 1) / step, n = (terms + RADIX - 1) / RADIX;
    struct folds f = {.terms = terms, .block = 1};
    if (n == 1) return f;
    f = (struct folds){.terms = terms, .block = RADIX, .radix = RADIX, .levels = 1};
    for (; n > RADIX; n = (n + RADIX - 1) / RADIX) f.levels++;
    return f;
}

/* Sizes that tensor maps, grids and counters hold. */
static const char *check_sizes(const struct kernel *k) {
    static const enum axis axes[] = {AXIS_Z, AXIS_M, AXIS_N, AXIS_R};
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        int64_t n = 1;
        if (k->axis[axes[i]] && !ex_is_const(k->ex, k->bound[axes[i]], &n))
            return "mma needs sizes that are known";
        if (n < 1 || n > MATRIX_SIZE) return "mma needs sizes from 1 to 2^30";
    }
    return NULL;
}

/* Reductions behind a product have no kernel but this one: fusion has asked how large images
 * are. */
static const char *check_image(const struct kernel *k, const struct operand *o, struct arena *a) {
    int64_t most = device_image_bytes(k->limits);
    if (o->bytes <= most || k->over) return NULL;
    return arena_printf(a, "a factor's image of %lld bytes; %lld is the limit", (long long)o->bytes,
                        (long long)most);
}

static const char *check_operand(const struct kernel *k, const struct operand *o, int rows,
                                 int depth, int blocks, struct arena *a) {
    const char *bad = check_image(k, o, a);
    if (bad) return bad;
    int line = operand_line(o, rows, depth);
    if (!line) return "lines of 32, 64 or 128 bytes need more of m, n or k";
    int unit = o->along ? line / dtype_bytes(o->stored) : 8;
    if (rows % (unit * blocks)) return arena_printf(a, "%d blocks cannot share a tile", blocks);
    return NULL;
}

/* Registers of a thread as its block is launched: the blocks of a multiprocessor have all of them. */
static int launch_registers(const struct kernel *k, const struct product *p, int threads) {
    enum { UNIT = 8 };
    return (int)(k->limits->regs_unit / (p->resident * threads)) / UNIT * UNIT;
}

/* Those who copy give registers away, and those who multiply get them. */
static void share_registers(const struct kernel *k, struct product *p, int threads) {
    enum { UNIT = 8, COPIER = 40 };
    if (p->resident > 1) {
        int left = launch_registers(k, p, threads) * threads - COPIER * GROUP_THREADS;
        p->copier_registers = COPIER;
        p->multiplier_registers = left / (p->warpgroups * GROUP_THREADS) / UNIT * UNIT;
    } else if (p->warpgroups > 1) {
        p->copier_registers = p->warpgroups > 2 ? 32 : 40;
        p->multiplier_registers = p->warpgroups > 2 ? 160 : 232;
    }
}

/* Blocks of a multiprocessor, one of which multiplies while the other one stores. */
static const char *check_fit(const struct kernel *k, int fit, const struct layout *y,
                             const struct product *p, struct arena *a) {
    enum { MOST = 2, OF_CUDA = 1024, OTHERS = 26 };
    if (p->resident == 1)
        return fit ? arena_printf(a, "fit=%d; mma=1 has one block, or fit=2", fit) : NULL;
    if (p->resident > MOST) return arena_printf(a, "fit=%d blocks of %d threads", fit, y->threads);
    /* NVRTC 13.0 wants what an instruction names to be there at launch (C7602), and no more. */
    int launched = launch_registers(k, p, y->threads);
    if (y->br / 2 + OTHERS > launched)
        return arena_printf(a, "fit=%d: %d sums of an instruction; %d is the limit", fit, y->br / 2,
                            launched - OTHERS);
    if ((int64_t)(y->smem + OF_CUDA) * fit > k->limits->smem_unit)
        return arena_printf(a, "fit=%d blocks of %d bytes of shared memory are more than %lld", fit,
                            y->smem, (long long)k->limits->smem_unit);
    return NULL;
}

/* Of the wgmma's: rows of warpgroups, a line of 128 bytes, registers of those who multiply. */
static const char *check_warpgroups(const struct kernel *k, const struct config *c,
                                    struct layout *y, struct product *p, struct arena *a) {
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = c->knob[KNOB_k];
    if (!k->limits->wgmma || !k->limits->tma) return "mma=1 needs sm_90a";
    if (c->knob[KNOB_tm] || c->knob[KNOB_tn]) return "tm and tn are no knobs of mma=1";
    if (m % GROUP_ROWS || m < GROUP_ROWS || m > 3 * GROUP_ROWS)
        return "mma=1 needs m of 64, 128 or 192";
    if (n % 8 || n < 8 || n > 256) return "mma=1 needs an n of eights, to 256";
    p->warpgroups = m / GROUP_ROWS;
    p->group_threads = GROUP_THREADS;
    p->warp_rows = WARP_ROWS;
    p->warp_columns = n;
    p->resident = c->knob[KNOB_fit] > 1 ? c->knob[KNOB_fit] : 1;
    y->threads = (p->warpgroups + 1) * GROUP_THREADS;
    if ((int64_t)p->resident * y->threads > k->limits->max_threads_unit)
        return arena_printf(a, "fit=%d blocks of %d threads", p->resident, y->threads);
    share_registers(k, p, y->threads);
    if (y->cluster > k->limits->max_cluster || (y->cluster & (y->cluster - 1)))
        return arena_printf(a, "cluster=%d", y->cluster);
    if (p->a.along && operand_line(&p->a, m, depth) != 128) return "m=64 at least";
    int bytes = depth * dtype_bytes(p->a.dtype);
    if ((!p->a.along || !p->b.along) && bytes > 128)
        return arena_printf(a, "k=%d at most where memory runs along it",
                            128 / dtype_bytes(p->a.dtype));
    int sums = n / 2 * (p->promotes ? 2 : 1);
    int most = p->multiplier_registers ? p->multiplier_registers : 232;
    if (sums + 40 > most)
        return arena_printf(a, "%d sums a thread; %d is the limit", sums, most - 40);
    y->smem = BARRIERS + 1024;
    return NULL;
}

/* Of the mma.sync's: so many warps as a tile has parts of tm by tn. */
static const char *check_warps(const struct kernel *k, const struct config *c, struct layout *y,
                               struct product *p, struct arena *a) {
    enum { MOST_SUMS = 160 };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], tm = c->knob[KNOB_tm], tn = c->knob[KNOB_tn];
    if (tm < 1 || tn < 1 || tm % WARP_ROWS || tn % WARP_ROWS)
        return "mma=2 needs tm and tn of sixteens, which are a warp's";
    if (m < 1 || n < 1 || m % tm || n % tn)
        return arena_printf(a, "m=%d n=%d are no multiples of tm=%d tn=%d", m, n, tm, tn);
    if (y->cluster > 1) return "cluster is no knob of mma=2";
    if (c->knob[KNOB_fit] || c->knob[KNOB_flat])
        return "fit and flat are knobs of products with mma=1";
    int64_t threads = (int64_t)(m / tm) * (n / tn) * k->limits->warp;
    if (threads > k->limits->max_threads_block)
        return arena_printf(a, "%lld threads a block; %d is the limit", (long long)threads,
                            k->limits->max_threads_block);
    int64_t sums = (int64_t)tm * tn / k->limits->warp * (p->promotes ? 2 : 1);
    if (sums > MOST_SUMS)
        return arena_printf(a, "%lld sums a thread; %d is the limit", (long long)sums, MOST_SUMS);
    p->by_warp = true;
    p->warpgroups = 1;
    p->group_threads = y->threads = (int)threads;
    p->warp_rows = tm;
    p->warp_columns = tn;
    y->smem = 0;
    return NULL;
}

int product_thread_sums(const struct product *p) {
    return p->warp_rows / WARP_ROWS * p->warp_columns / 2;
}

int product_warps(const struct layout *y, enum axis x) {
    return x == AXIS_M ? y->bx / y->product->warp_rows : y->br / y->product->warp_columns;
}

static int all_exchanges(const struct kernel *k, const struct layout *y) {
    int bytes = 0;
    for (value_id v = 0; v < k->values.n && k->over; v++)
        if (k->values.at[v].kind == INST_REDUCE && v != k->dot) bytes += exchange_bytes(k, y, v);
    return bytes;
}

/* Blocks that a multiprocessor has room for, by an estimate of the registers. */
static int resident_blocks(const struct kernel *k, const struct layout *y,
                           const struct product *p) {
    enum { OTHERS = 64, OF_CUDA = 1024 }; /* registers: addresses */
    int64_t sums = (int64_t)product_thread_sums(p) * (p->promotes ? 2 : 1);
    sums += (p->warp_rows * p->a.planes + p->warp_columns * p->b.planes) / 4; /* and factors */
    int64_t n = k->limits->smem_unit / (y->smem + OF_CUDA);
    int64_t by_threads = k->limits->max_threads_unit / y->threads;
    int64_t by_registers = k->limits->regs_unit / ((sums + OTHERS) * y->threads);
    if (by_threads < n) n = by_threads;
    if (by_registers < n) n = by_registers;
    return n < 1 ? 1 : (int)n;
}

/* Elements that read what their rows come to wait for the other tiles of these rows, which blocks
 * have that are at work at the same time, if they are done one after the other. */
static const char *check_readers(const struct kernel *k, const struct layout *y, struct product *p,
                                 struct arena *a) {
    int64_t sharing = matrix_tiles(k, y, AXIS_N), most = (int64_t)k->limits->units * p->resident;
    p->sharing = 1;
    if (!epilogue_reads_results(k) || sharing == 1) return NULL;
    if (y->cluster > 1) return "blocks that wait for each other's rows are no clusters";
    if (p->band > 1) return "tiles that share rows are done together: band=1";
    if (sharing > most)
        return arena_printf(a, "%lld tiles share rows; %lld blocks are at work at a time",
                            (long long)sharing, (long long)most);
    p->sharing = (int)sharing;
    p->online = epilogue_is_online(k);
    return NULL;
}

const char *matrix_layout(const struct kernel *k, const struct config *c, struct layout *y,
                          struct arena *a) {
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = c->knob[KNOB_k];
    enum dtype t = k->values.at[k->dot].dtype;
    if (k->precision == PRECISION_STRICT) return "strict products are multiply-adds in f32";
    if (!device_has_matrix_units(k->limits, t, k->precision))
        return "the matrix units, of sm_80 and later, multiply bf16, f16 and f32";
    const char *bad = check_sizes(k);
    if (bad) return bad;
    if (m > 256 || n > 256) return "m and n are 256 at most";
    if (depth % 16 || depth < 16 || depth > 128) return "mma needs a k of sixteens, to 128";
    struct product *p = NEW(a, struct product);
    bool by_warp = c->knob[KNOB_mma] == BY_WARP;
    p->by_warp = by_warp;
    p->flat = c->knob[KNOB_flat];
    product_operands(k, p, m, n, depth, a);
    if (p->flat && !by_warp && !p->a.flat && !p->b.flat)
        return "flat=1 needs windows that are one apart, of results that nothing reduces";
    choose_passes(p);
    p->band = c->knob[KNOB_band] ? c->knob[KNOB_band] : epilogue_reads_results(k) ? 1 : 8;
    int64_t steps = round_up(p->a.depth, depth) / depth;
    p->steps = list_steps(k, p->a.windows ? &p->a : &p->b, depth, a);
    p->shorts = find_shorts(p, depth);
    p->parts = y->split;
    if (p->parts > 1 && k->over) return "parts of the depth have no sums to reduce";
    int64_t least = least_steps(k, p, steps);
    if (p->parts > least || p->parts > MOST_PARTS)
        return arena_printf(a, "split=%d of %lld steps; %d is the limit", p->parts,
                            (long long)least, MOST_PARTS);
    int64_t part = round_up(steps, p->parts) / p->parts * depth;
    p->promotes = p->n_passes > 1 || part > UNPROMOTED;
    int promote = p->a.dtype == DT_F32 ? PROMOTE_TF32 : PROMOTE_DEPTH;
    if (p->promotes && depth != promote)
        return arena_printf(a, "sums that begin anew every %d of the depth need k=%d", promote,
                            promote);
    if (p->promotes) p->folds = promoted_folds(part, promote);
    p->a_bytes = m * depth * dtype_bytes(p->a.stored) * stored_planes(&p->a);
    p->b_bytes = n * depth * dtype_bytes(p->b.stored) * stored_planes(&p->b);
    bad = (by_warp ? check_warps : check_warpgroups)(k, c, y, p, a);
    if (bad) return bad;
    if ((bad = check_operand(k, &p->a, m, depth, 1, a))) return bad;
    if ((bad = check_operand(k, &p->b, n, depth, y->cluster, a))) return bad;
    y->stages = c->knob[KNOB_stages];
    if (y->stages < 2 || y->stages > MOST_STAGES)
        return arena_printf(a, "mma needs 2 to %d stages", MOST_STAGES);
    y->bx = m;
    y->br = n;
    y->product = p;
    p->exchange = all_exchanges(k, y);
    int64_t smem = (int64_t)(p->a_bytes + p->b_bytes) * y->stages + y->smem + p->exchange;
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory; %lld is the limit",
                            (long long)smem, (long long)k->limits->smem_block);
    if (c->knob[KNOB_warps] * k->limits->warp != y->threads)
        return arena_printf(a, "the tile takes %d warps, but warps=%d",
                            y->threads / k->limits->warp, c->knob[KNOB_warps]);
    y->smem = (int)smem;
    if (p->by_warp) p->resident = resident_blocks(k, y, p);
    if (!p->by_warp && (bad = check_fit(k, c->knob[KNOB_fit], y, p, a))) return bad;
    if (k->over && (bad = check_readers(k, y, p, a))) return bad;
    /* Parts wait for each other: no block may have two of a tile. */
    if (p->parts > k->limits->units * p->resident)
        return arena_printf(a, "split=%d; %d blocks are at work at a time", p->parts,
                            k->limits->units * p->resident);
    y->ex = y->ur = 1;
    y->vec = 2;
    return NULL;
}

int64_t matrix_tiles(const struct kernel *k, const struct layout *y, enum axis x) {
    if (x == AXIS_M) return round_up(y->product->a.rows, y->bx * y->cluster) / (y->bx * y->cluster);
    return x == AXIS_N ? round_up(y->product->b.rows, y->br) / y->br : kernel_size(k, x);
}

int64_t matrix_blocks(const struct kernel *k, const struct layout *y) {
    int64_t tiles =
        matrix_tiles(k, y, AXIS_Z) * matrix_tiles(k, y, AXIS_M) * matrix_tiles(k, y, AXIS_N);
    tiles *= y->product->parts;
    int64_t resident = (int64_t)k->limits->units * y->product->resident / y->cluster;
    if (y->product->sharing > 1) resident -= resident % y->product->sharing;
    return (tiles < resident ? tiles : resident) * y->cluster;
}

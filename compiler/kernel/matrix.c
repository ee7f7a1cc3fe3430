/* matrix.c: a product on the matrix units: which planes of its factors (operand.c) are multiplied,
 * what a config means and whether it is legal.
 *
 * f32. x = x0 + x1 + x2 of 8 bits each; of the nine products of two such the three smallest are
 * less than an f32's last bit. The units add up what is aligned to the largest term and cut off:
 * with a whole depth in one sum that is 20 to 90 times an f32's error. So the sum begins anew every
 * 64 of the depth, with the small products first, and is added to a total by the threads. Of a
 * depth that is one step the sum is the total, which leaves registers for twice as many sums.
 *
 * f32 in pairs of f16 (the knob pairs). x 2^s = hi + 2^-11 lo, hi the nearest f16 and lo the
 * nearest to 2^11 times what hi leaves: 11 bits, the sign, and 11 bits. Three products: hi hi in
 * sums that begin anew every 64 of the depth, or every 32 of one below 1024; hi lo and lo hi,
 * 2^-11 times as large, in sums of their own, where what the units cut off counts 2^11 times less,
 * so that they begin anew every 4096. Where hi is no denormal (x 2^s from 2^-14 on), a pair is x
 * but for 2^-23 of it, and three times in four it is x; lo lo, which is left out, is less than
 * 2^-22 of x y. So a sum is off by at most 8 u sum|x y| (u = 2^-24) before anything is added up,
 * and by about 2 u sum|x y| / sqrt(depth), root mean square. What is off most is what the units cut
 * off of hi hi, products of 22 bits, where these are aligned to their sum: of positive factors
 * 3 u sum|x y| in the mean, more than of bf16, whose products have 16 bits. It grows with how large
 * a sum is before it is added to the total, and is 1.3 u where sums begin anew every 32, which
 * takes longer: of a depth of 512 cuBLAS is off by so little that 3 u are too much. Of 256 wide
 * factors are too far off.
 *
 * s is the same for all of a factor: of 2048 elements or so that lie all over it, as each block of
 * the launch that packs finds out for itself, the largest becomes about 2^10. Below 2^-14 pairs
 * are off by 2^-36: that is 2^-22 of the largest of some neighbours along the depth, 8 to 256 as
 * their image is packed, if that is 2^-14 or more. If it is not, nor all are 0, or if any element
 * is 65520 or more, infinite or no number, all of the product is made of six products of bf16:
 * launches that pack leave a flag for each of their blocks, the product reads these, leaves a
 * verdict and ends, and launches behind it pack planes of bf16 and multiply them; or else these do
 * nothing. What pairs cannot tell is a result that stands on such small elements alone because the
 * other factor is 0 at all of the large ones; and of a factor that picks single elements of the
 * other (rows of an identity), one in four has its last bit rounded.
 *
 * Pairs that are split where they lie (pairs=2; operand.splits). Where a factor lies in memory as
 * tensor maps want it, its tiles are copied as f32, and those who multiply make their pairs in
 * place, which have as many bytes, with crossed products of the step before under way. No image is
 * written and read, but a tile is split anew by each block that reads it. Each block takes the
 * sample for itself; what is out of range is known behind all products, so that each warp leaves a
 * word, which the launches in bf16 read.
 *
 * The left factor in registers (operand.in_registers). wgmma takes tf32 from shared memory along
 * the depth alone, but from registers however it has come there, an image's neighbours for each tap
 * from one tile (operand.lying); and planes that threads make of f32 there are never in memory.
 *
 * tf32. The units read an f32 and ignore its last 13 bits. Cut off, factors would be too small, all
 * of them, and what a sum is off by would grow like the depth; so they are rounded to the nearest
 * before: by the tensor map that copies them, in registers (mma=2), or as they are packed. An
 * operand of f32 in a product is one of tf32.
 *
 * Integers. Bytes that were widened to i32 (i8, u8, of each factor one) are multiplied as they are,
 * and summed up in i32, which wraps: exact, so that nothing begins anew, and parts of the depth are
 * added in any order. Units take bytes along the depth alone, as tf32.
 *
 * Float8, where a graph asks for the units' own sums (mm_float8, from sm_89 on). Ada's and Hopper's
 * units keep 13 bits behind the largest term's first one, and cut off the rest: with a depth of
 * thousands in one sum that is percents. Sums begin anew every 128, four instructions, as cuBLAS
 * has it without use_fast_accum; graph/bound.c says what that may come to. A float8 that was cast
 * up to be multiplied is another program's: it has bf16, and f32's sums.
 *
 * mma=1: wgmma, where a role of the block copies boxes by tensor maps (sm_90a); or tcgen05
 * (sm_100a), where one more thread has products made of what is copied, whose sums lie in tensor
 * memory: 128 lanes of 512 columns, of which each warp of a warpgroup reads the 32 lanes that are
 * its own. A tile of 128 rows is an instruction's, and eight warps read half of its columns each;
 * of 64 rows they are 16 of each 32 lanes, and four warps read them. mma=2: mma.sync, where each
 * warp multiplies its tm rows by tn columns of the tile, and all copy (sm_80 on). */
#include "kernel/kernel.h"

enum { BY_WARPGROUP = 1, BY_WARP = 2 }; /* the knob mma */
enum { SPLIT = 2 };                     /* the knob pairs */

enum {
    GROUP_ROWS = 64, /* of the accumulators of a warpgroup */
    GROUP_THREADS = 128,
    WARP_ROWS = 16, /* of an instruction's sums */
    MOST_STAGES = 8,
    UNPROMOTED = 32768, /* depth that tf32, bf16 and f16 may be summed up along in a unit, which
                           cuts sums off: 1/2^24 for each 8 of tf32, or 16, is below their own */
    MOST_PARTS = 128,
    SAMPLED = 128, /* bytes in which warps leave what they have seen of factors: k_scale_of_pairs */
};

/* Of which plane each is multiplied with which, the smallest products first. */
static void choose_passes(struct product *p) {
    for (int sum = p->pairs || p->halves ? 1 : 2; sum >= 0; sum--)
        for (int a = 0; a < p->a.planes; a++)
            for (int b = 0; b < p->b.planes; b++) {
                if (a + b != sum) continue;
                p->pass[p->n_passes].crossed = p->pairs && sum;
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

/* Where channels are filled up to whole steps each tap ends with less, else all taps together
 * do. */
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
    if (o->step_taps > 1) return (struct short_steps){0};
    if (p->by_warp || p->splits || (depth - left) * LEAST < depth * every)
        return (struct short_steps){0};
    return (struct short_steps){.depth = (int)left, .every = every, .at = every - 1};
}

double product_depth_left(const struct short_steps *s, int depth) {
    return s->every ? 1 - (double)(depth - s->depth) / depth / (double)s->every : 1;
}

/* Of so much of the factors' depth, how much is no filling of channels to whole lines. */
static int64_t filled_depth(const struct product *p, int64_t depth) {
    const struct operand *o = &p->a;
    return o->order && !o->along ? depth * o->order->channels / o->channels : depth;
}

static int64_t least_steps(const struct kernel *k, const struct product *p, int64_t all) {
    for (int64_t z = 0; p->steps && z < kernel_size(k, AXIS_Z); z++)
        if (p->steps->n[z] < all) all = p->steps->n[z];
    return all;
}

/* What rounding adds to a total grows with the square root of how many sums it has in a row, while
 * what the units cut off of each sum of pairs is the same for all depths: of positive factors that
 * are 2048 deep, 32 in a row are off by 7.9 u sum|x y| where they are furthest off, of which 3.1 in
 * the mean, and 16 by 6.1 (cuBLAS, whose sums are more even: 4.9). From 64 sums on 32 do, as there
 * are several such totals. */
static struct folds promoted_folds(int64_t depth, int step, bool pairs) {
    enum { RADIX = 32, MANY = 64 };
    int64_t terms = (depth + step - 1) / step, block = pairs && terms < MANY ? RADIX / 2 : RADIX,
            n = (terms + block - 1) / block;
    struct folds f = {.terms = terms, .block = 1};
    if (n == 1) return f;
    f = (struct folds){.terms = terms, .block = (int)block, .radix = RADIX, .levels = 1};
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
    int unit = o->along ? line / dtype_bytes(o->stored) : 8, boxes = rows / unit;
    bool lines = o->along && !o->windows && boxes && blocks % boxes == 0 &&
                 depth % (blocks / boxes * 8) == 0;
    lines |= o->along && !o->windows && boxes > blocks && depth % (blocks * 8) == 0;
    if (rows % (unit * blocks) && !lines)
        return arena_printf(a, "%d blocks cannot share a tile", blocks);
    return NULL;
}

int product_launch_registers(const struct kernel *k, const struct product *p, int threads) {
    enum { UNIT = 8, OF_WGMMA = 1 << 16 }; /* where a multiprocessor has wgmma, it has so many */
    int64_t all = p->resident > 1 ? k->limits->regs_unit : OF_WGMMA;
    return (int)(all / (p->resident * threads)) / UNIT * UNIT;
}

/* Those who copy give registers away, and those who multiply get them. */
static void share_registers(const struct kernel *k, struct product *p, int threads) {
    enum { UNIT = 8, COPIER = 40 };
    int left = product_launch_registers(k, p, threads) * threads - COPIER * GROUP_THREADS;
    p->copier_registers = COPIER;
    p->multiplier_registers = left / (p->warpgroups * p->group_threads) / UNIT * UNIT;
}

/* NVRTC 13.0 wants what an instruction names to be there at launch (C7602), and no more. */
static const char *check_instruction(const struct kernel *k, const struct product *p, int threads,
                                     struct arena *a) {
    enum { OTHERS = 26 };
    int sums = p->warp_columns / 2, most = product_launch_registers(k, p, threads) - OTHERS;
    if (p->tensor || sums <= most) return NULL;
    return arena_printf(a, "%d sums of an instruction by %d threads; %d is the limit", sums,
                        threads, most);
}

/* Blocks of a multiprocessor, one of which multiplies while the other one stores. */
static const char *check_fit(const struct kernel *k, int fit, const struct layout *y,
                             const struct product *p, struct arena *a) {
    enum { MOST = 2, OTHERS = 26 };
    if (p->resident == 1)
        return fit ? arena_printf(a, "fit=%d; mma=1 has one block, or fit=2", fit) : NULL;
    if (p->resident > MOST) return arena_printf(a, "fit=%d blocks of %d threads", fit, y->threads);
    /* NVRTC 13.0 wants what an instruction names to be there at launch (C7602), and no more. */
    int launched = product_launch_registers(k, p, y->threads);
    int sums = product_thread_sums(p);
    if (sums + OTHERS > launched)
        return arena_printf(a, "fit=%d: %d sums of an instruction; %d is the limit", fit, sums,
                            launched - OTHERS);
    if ((int64_t)(y->smem + SMEM_RESERVED) * fit > k->limits->smem_unit)
        return arena_printf(a, "fit=%d blocks of %d bytes of shared memory are more than %lld", fit,
                            y->smem, (long long)k->limits->smem_unit);
    return NULL;
}

/* Those that a thread reads a step's left factor into, and what it takes to do so. */
static int left_registers(const struct product *p) {
    enum { PLANES = 48, TF32 = 24, EACH = 8, OTHERS = 8 };
    int unit = EACH * (p->a.planes > 1 ? 2 : 1); /* of the depth, an instruction's */
    if (p->a.lying)
        return (p->a.step_taps * p->a.step_channels + unit - 1) / unit * 4 * p->a.planes + OTHERS;
    return !p->a.in_registers ? 0 : p->a.planes > 1 ? PLANES : TF32;
}

/* 128 by 256 with two taps a step, of 64 channels transposed, has spilled: 3563 us on an H200, of
 * 1734 by windows in turn. */
static const char *check_lying(const struct product *p, struct arena *a) {
    enum { MOST = 128 }; /* registers of a thread, beside those for addresses */
    int held = p->warp_columns / 2 + left_registers(p);
    if (held <= MOST) return NULL;
    return arena_printf(a, "%d registers for sums and an image as it lies; %d is the limit", held,
                        MOST);
}

/* Those who make hold what they have read of a step, those who multiply their sums; a block's
 * warpgroups share out what they are launched with: more than that no instruction gets, for ever.
 * Where they ask for it, the compiler knows too that a warpgroup's operands are the same for all of
 * its threads. */
static int makers_registers(const struct product *p, bool multiplies) {
    enum { OTHERS = 56, ALL = 512, UNIT = 8, MOST = 232 };
    int groups = p->warpgroups + p->makers, launched = ALL / groups / UNIT * UNIT;
    int sums = p->warp_columns / 2 * (p->promotes ? 2 : 1);
    int each = (sums + OTHERS + left_registers(p) + UNIT - 1) / UNIT * UNIT;
    if (groups == 2) return 0;
    if (each <= launched) {
        int left = (launched * groups - each * p->warpgroups) / p->makers / UNIT * UNIT;
        return multiplies ? each : left < MOST ? left : MOST;
    }
    if (p->warpgroups == 1) return multiplies ? 232 : 136;
    return p->makers == 1 ? multiplies ? 200 : 104 : multiplies ? 168 : 88;
}

/* Of warpgroups with tiles in turn: what those who copy leave. */
enum { IN_TURN_COPIER = 24 };
static int in_turn_registers(const struct product *p) {
    enum { UNIT = 8, ALL = 512, MOST = 240 };
    int launched = ALL / (p->in_turn + 1) / UNIT * UNIT;
    int each = (launched * (p->in_turn + 1) - IN_TURN_COPIER) / p->in_turn / UNIT * UNIT;
    return each < MOST ? each : MOST;
}

/* A multiprocessor has 512 for each thread of a warpgroup. */
int product_registers(const struct product *p, bool multiplies) {
    if (p->in_turn > 1) return multiplies ? in_turn_registers(p) : IN_TURN_COPIER;
    if (p->resident > 1) return multiplies ? p->multiplier_registers : p->copier_registers;
    if (p->makers && p->tensor) return 0;
    if (p->makers) return makers_registers(p, multiplies);
    if (p->tensor && p->group_threads > GROUP_THREADS) return multiplies ? 232 : 40;
    if (p->warpgroups == 1) return 0;
    return p->warpgroups > 2 ? multiplies ? 160 : 32 : multiplies ? 232 : 40;
}

/* Of warps that make tiles of one factor. */
static const char *check_makers(const struct kernel *k, const struct config *c,
                                const struct layout *y, const struct product *p, struct arena *a) {
    enum { MOST = 2, WIDEST = 192 };
    if (p->makers > MOST) return arena_printf(a, "make=%d; %d is the limit", p->makers, MOST);
    if (p->by_warp) return "make is a knob of mma=1";
    if (product_is_of_bytes(k)) return "tiles of bytes are not made";
    if (p->resident > 1) return "blocks that make tiles have a multiprocessor each";
    if (p->pairs)
        return "tiles of pairs are not made: whether these are in range is known of images";
    if (y->cluster > 1) return "blocks of a cluster make no tiles";
    if (p->warpgroups > 2) return "make needs an m of 64 or 128";
    if (p->warpgroups == 2 && p->makers == 2 && c->knob[KNOB_n] > WIDEST)
        return "512 threads have too few registers for the sums of an instruction";
    if (!p->a.made && !p->b.made) return "no factor is packed that could be made";
    const struct operand *o = p->a.made ? &p->a : &p->b;
    int rows = c->knob[p->a.made ? KNOB_m : KNOB_n];
    return operand_unmakeable(k, o, rows, c->knob[KNOB_k], a);
}

/* Arrays of sums that a thread has: those under way, crossed ones, totals. */
static int product_arrays(const struct product *p) {
    return p->pairs && !p->tensor ? 3 : p->promotes ? 2 : 1;
}

/* Of a product of f32 in pairs: both factors are made of them, and the depth is one of which they
 * are known to be exact enough (see above). What is out of their range is multiplied in bf16. */
static const char *check_pairs(const struct kernel *k, const struct config *c,
                               const struct product *p, int64_t least_depth, struct arena *a) {
    enum { LEAST_DEPTH = 512 };
    struct config wide;
    if (c->knob[KNOB_mma] != BY_WARPGROUP) return "pairs=1 needs mma=1";
    /* ptxas: "serialized due to insufficient register resources for the wgmma pipeline" */
    if (c->knob[KNOB_m] > 2 * GROUP_ROWS)
        return "pairs=1 needs an m of 64 or 128: three warpgroups have too few registers for it";
    if (p->a.planes != 2 || p->b.planes != 2) return "pairs=1 needs two factors of f32";
    if (p->splits && !p->a.splits && !p->b.splits)
        return "pairs=2 needs a factor of f32 that lies as tensor maps want it, and k=64";
    if ((p->a.windows && p->a.along) || (p->b.windows && p->b.along))
        return "pairs=1 is not of windows along the depth";
    if (c->knob[KNOB_k] == PAIRED_DEPTH && (p->a.order || p->b.order))
        return "pairs=1 of windows needs k=64";
    if (c->knob[KNOB_k] == PAIRED_DEPTH && kernel_size(k, AXIS_R) % PAIRED_DEPTH)
        return "pairs=1 with k=32 needs a depth of thirty-twos";
    if (kernel_size(k, AXIS_R) < LEAST_DEPTH || least_depth < LEAST_DEPTH)
        return arena_printf(a, "pairs=1 needs a depth of %d", LEAST_DEPTH);
    if (!matrix_wide_config(k, c, &wide, a)) return "pairs=1 needs a product in bf16 beside it";
    if (k->over && wide.knob[KNOB_n] != c->knob[KNOB_n])
        return "pairs=1 and the product in bf16 leave the same parts of reductions";
    return NULL;
}

bool product_crosses_in_tensor(const struct product *p) { return p->tensor && p->pairs; }

int product_barrier_bytes(const struct product *p, int stages) {
    enum { BARRIER = 8, PLACE = 16 }; /* PLACE: of the sums, with what aligns what follows */
    if (p->by_warp) return 0;
    int sets = p->sums_at_once + product_crosses_in_tensor(p);
    int turns = p->in_turn > 1 ? p->in_turn : 0;
    return 2 * BARRIER * (stages + sets) + BARRIER * turns + (p->tensor ? PLACE : 0);
}

/* Of tcgen05: rows and columns of an instruction (of M 64 an N of eights, of M 128 one of sixteens;
 * kind::i8 has eight or sixteens: CUTLASS, include/cute/arch/mma_sm100_umma.hpp), columns of tensor
 * memory, of which a block asks for a power of two. Two sets of sums, where there is room, so that
 * one is read while the next is being made; crossed ones have a set of their own behind these. */
static const char *check_tensor(const struct kernel *k, const struct config *c, struct product *p,
                                struct arena *a) {
    enum { LEAST_COLUMNS = 32, LARGE = 128 };
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n];
    if (m != GROUP_ROWS && m != LARGE) return "mma=1 of tcgen05 needs an m of 64 or 128";
    if (n % 16 && (m == LARGE || (k->values.at[k->dot].dtype == DT_I32 && n != 8)))
        return "mma=1 of tcgen05 needs an n of sixteens, or of eights with m=64";
    p->warpgroups = 1;
    p->group_threads = m * 2;
    p->warp_rows = m / 4;
    p->warp_columns = n / (m / GROUP_ROWS);
    int most = TENSOR_COLUMNS / p->resident, others = product_crosses_in_tensor(p);
    if (p->pairs && p->promote_pairs != c->knob[KNOB_k])
        return arena_printf(a, "pairs=1 of tcgen05 needs a depth of %d, or k=%d", PAIRS_DEEP,
                            PAIRED_DEPTH);
    p->sums_at_once = (2 + others) * n <= most ? 2 : 1;
    p->tensor_columns = LEAST_COLUMNS;
    while (p->tensor_columns < n * (p->sums_at_once + others)) p->tensor_columns *= 2;
    if (p->tensor_columns > most)
        return arena_printf(a, "%d columns of tensor memory; %d is the limit", p->tensor_columns,
                            most);
    return NULL;
}

/* Warpgroups with a tile each. Whose turn it is not goes past that tile's steps, so that all tiles
 * have as many; tensor memory has sums of two tiles anyhow. */
static const char *check_in_turn(const struct kernel *k, const struct config *c,
                                 const struct product *p, struct arena *a) {
    enum { OTHERS = 48, OTHERS_READ = 80 };
    /* Of more sums some are spilled. */
    int most = in_turn_registers(p) - (epilogue_reads_results(k) ? OTHERS_READ : OTHERS);
    if (p->tensor) return "pingpong is of wgmma: in tensor memory sums of two tiles lie anyhow";
    if (p->makers || p->pairs || p->resident > 1)
        return "pingpong goes without make, pairs and fit";
    if (p->promotes) return "pingpong leaves no registers for sums that begin anew";
    if (p->a.in_registers) return "pingpong reads both factors from shared memory";
    if (product_thread_sums(p) > most)
        return arena_printf(a, "%d sums a thread; with pingpong %d is the limit",
                            product_thread_sums(p), most);
    if (p->parts > 1 || c->knob[KNOB_tail]) return "pingpong has no parts of the depth";
    if (p->steps) return "pingpong needs tiles that have all steps";
    return NULL;
}

/* Of the wgmma's: rows of warpgroups, a line of 128 bytes, registers of those who multiply. */
static const char *check_warpgroups(const struct kernel *k, const struct config *c,
                                    struct layout *y, struct product *p, struct arena *a) {
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = c->knob[KNOB_k];
    if ((!k->limits->wgmma && !p->tensor) || !k->limits->tma)
        return "mma=1 needs sm_90a or sm_100a";
    if (c->knob[KNOB_tm] || c->knob[KNOB_tn]) return "tm and tn are no knobs of mma=1";
    if (m % GROUP_ROWS || m < GROUP_ROWS || m > 3 * GROUP_ROWS)
        return "mma=1 needs m of 64, 128 or 192";
    if (n % 8 || n < 8 || n > 256) return "mma=1 needs an n of eights, to 256";
    if (k->values.at[k->dot].dtype == DT_I32 && n > 32 && n % 16)
        return "mma=1 of integers needs an n of sixteens from 32 on";
    p->warpgroups = m / GROUP_ROWS;
    p->group_threads = GROUP_THREADS;
    p->warp_rows = WARP_ROWS;
    p->warp_columns = n;
    p->resident = c->knob[KNOB_fit] > 1 ? c->knob[KNOB_fit] : 1;
    if (c->knob[KNOB_pingpong]) {
        p->warpgroups = 1;
        p->in_turn = c->knob[KNOB_pingpong] + 1;
        p->warp_rows = m / GROUP_ROWS * WARP_ROWS;
    }
    const char *bad = p->in_turn > 1 ? check_in_turn(k, c, p, a) : NULL;
    if (!bad && p->tensor) bad = check_tensor(k, c, p, a);
    if (bad) return bad;
    y->threads =
        p->warpgroups * p->in_turn * p->group_threads + (p->makers ? p->makers : 1) * GROUP_THREADS;
    if (p->tensor && p->makers) y->threads += GROUP_THREADS; /* one of which issues */
    if ((int64_t)p->resident * y->threads > k->limits->max_threads_unit)
        return arena_printf(a, "fit=%d blocks of %d threads", p->resident, y->threads);
    if (p->resident > 1) share_registers(k, p, y->threads);
    if (y->cluster > k->limits->max_cluster || (y->cluster & (y->cluster - 1)))
        return arena_printf(a, "cluster=%d", y->cluster);
    if (p->a.along && operand_line(&p->a, m, depth) != 128) return "m=64 at least";
    int bytes = depth * dtype_bytes(p->a.dtype);
    if (!p->a.lying && (!p->a.along || !p->b.along) && bytes > 128)
        return arena_printf(a, "k=%d at most where memory runs along it",
                            128 / dtype_bytes(p->a.dtype));
    int sums = product_thread_sums(p) * product_arrays(p), most = product_registers(p, true);
    int others = 40 + left_registers(p);
    if (!most) most = p->tensor && p->makers ? product_launch_registers(k, p, y->threads) : 232;
    if (sums + others > most)
        return arena_printf(a, "%d sums a thread; %d is the limit", sums, most - others);
    if (p->resident == 1 && (bad = check_instruction(k, p, y->threads, a))) return bad;
    y->smem = product_barrier_bytes(p, MOST_STAGES) + 1024;
    if (p->splits) y->smem += SAMPLED;
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
    if (c->knob[KNOB_pingpong]) return "pingpong is a knob of mma=1";
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

int product_groups(const struct product *p) {
    return p->warpgroups * p->group_threads / GROUP_THREADS;
}

int product_sixteens_apart(const struct product *p) {
    return p->in_turn > 1 ? GROUP_ROWS : WARP_ROWS;
}

int product_thread_sums(const struct product *p) {
    return p->warp_rows / WARP_ROWS * p->warp_columns / 2;
}

bool product_may_break(const struct product *p) {
    return (p->n_passes > 1 || p->shares) && !p->pairs;
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

/* Columns that a warpgroup turns at a time, so that a warp stores whole lines of rows, or of rows
 * with two columns between them, which are no vector. */
static int turned_columns(const struct kernel *k, const struct product *p, int *beside) {
    enum { SECTOR = 8, MOST = 16 };
    const struct store_node *s = &k->stores.at[0];
    *beside = 1;
    if (p->by_warp || p->tensor || p->parts > 1 || k->over || k->stores.n != 1) return 0;
    bool lying = p->a.lying; /* whose rows end and begin anywhere */
    if ((operand_has_order(&p->a) && !lying) || operand_has_order(&p->b)) return 0;
    if (dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype) != 4) return 0;
    if (store_step(k, s, AXIS_M, 1) == 2 && store_step(k, s, AXIS_N, 1) == 1)
        *beside = 2;
    else if (s->guard || index_usual_stride(k, s->index, AXIS_M) != 1)
        return 0;
    if (lying && *beside > 1) return 0;
    if (*beside == 1 ? !lying && index_is_vector(k, s->index, AXIS_M, SECTOR)
                     : !s->guard && index_is_vector(k, s->index, AXIS_N, 2))
        return 0;
    return p->warp_columns % MOST ? SECTOR : MOST;
}

bool store_begins_anywhere(const struct kernel *k, const struct product *p,
                           const struct store_node *s) {
    enum { VECTOR = 8 };
    if (dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype) != 2) return false;
    if (s->guard || index_stride(k, s->index, AXIS_N) != 1) return false;
    if (operand_has_order(&p->a) || operand_has_order(&p->b) || kernel_has_spans(k)) return false;
    return kernel_size(k, AXIS_N) >= 2 * VECTOR && !index_is_vector(k, s->index, AXIS_N, VECTOR);
}

/* Rows that a warp gathers: of columns that are lines of memory, with so many bytes between them
 * that neither those who write pairs of columns nor those who read rows meet in a bank. */
enum { LINE_ROWS = 8, LINE_COLUMNS = 32, LINE_GAP = 32 };

int product_line_columns(const struct product *p) { return (p->lines / LINE_ROWS - LINE_GAP) / 4; }

/* Are rows of what the product stores gathered? Of 32 bits, the pairs that four threads have are a
 * sector of each row: through shared memory a warp stores whole lines of memory. Of 16 bits, the
 * four have exchanged their words to vectors, and lines gained nothing on an H200. What is computed
 * behind a product has few registers left, of which the lines' vectors would spill more. */
static bool gathers_lines(const struct kernel *k, const struct product *p) {
    enum { VECTOR = 4 };
    if (p->by_warp || p->tensor || (p->parts > 1 && !p->whole) || k->stores.n != 1) return false;
    if (k->over || kernel_has_spans(k) || p->turned) return false;
    const struct store_node *s = &k->stores.at[0];
    return s->value == k->dot && !s->guard &&
           dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype) == 4 &&
           p->warp_columns % LINE_COLUMNS == 0 && !operand_has_order(&p->a) &&
           !operand_has_order(&p->b) && index_is_vector(k, s->index, AXIS_N, VECTOR);
}

/* As many columns as there is room for beside all else. */
static int64_t gather_lines(const struct kernel *k, struct product *p, int64_t smem) {
    if (!gathers_lines(k, p)) return smem;
    int warps = p->warpgroups * p->group_threads / k->limits->warp * p->in_turn,
        columns = LINE_COLUMNS;
    while (p->warp_columns % (2 * columns) == 0) columns *= 2;
    for (; columns >= LINE_COLUMNS; columns /= 2) {
        int bytes = LINE_ROWS * (columns * 4 + LINE_GAP);
        int64_t with = smem + (int64_t)bytes * warps;
        if (with > k->limits->smem_block ||
            (with + SMEM_RESERVED) * p->resident > k->limits->smem_unit)
            continue;
        p->lines = bytes;
        p->lines_at = p->exchange / p->in_turn;
        p->exchange += bytes * warps;
        return with;
    }
    return smem;
}

/* Blocks that a multiprocessor has room for, by an estimate of the registers. */
static int resident_blocks(const struct kernel *k, const struct layout *y,
                           const struct product *p) {
    enum { OTHERS = 64 }; /* registers: addresses */
    int64_t sums = (int64_t)product_thread_sums(p) * (p->promotes ? 2 : 1);
    sums += (p->warp_rows * p->a.planes + p->warp_columns * p->b.planes) / 4; /* and factors */
    int64_t n = k->limits->smem_unit / (y->smem + SMEM_RESERVED);
    int64_t by_threads = k->limits->max_threads_unit / y->threads;
    int64_t by_registers = k->limits->regs_unit / ((sums + OTHERS) * y->threads);
    if (by_threads < n) n = by_threads;
    if (by_registers < n) n = by_registers;
    return n < 1 ? 1 : (int)n;
}

/* Elements that read what their rows come to wait for the other tiles of these rows, which blocks
 * have that are at work at the same time, if they are done one after the other. Of clusters, which
 * share columns, each block waits for its own rows, and all of them begin together. */
static const char *check_readers(const struct kernel *k, const struct layout *y, struct product *p,
                                 struct arena *a) {
    int64_t sharing = matrix_tiles(k, y, AXIS_N), most = matrix_clusters(k, y);
    p->sharing = 1;
    if (!epilogue_reads_results(k) || sharing == 1) return NULL;
    if (p->band > 1) return "tiles that share rows are done together: band=1";
    if (sharing > most)
        return arena_printf(a, "%lld tiles share rows; %lld of these are at work at a time",
                            (long long)sharing, (long long)most);
    p->sharing = (int)sharing;
    p->online = epilogue_is_online(k);
    return NULL;
}

int64_t store_step(const struct kernel *k, const struct store_node *s, enum axis x, int by) {
    ex at = s->index, then = at;
    int64_t step;
    for (int i = 0; i < AXIS_COUNT; i++) {
        ex from = k->axis[i], zero = ex_const(k->ex, 0), to = ex_const(k->ex, i == (int)x ? by : 0);
        if (!from) continue;
        at = ex_subst(k->ex, at, &from, &zero, 1);
        then = ex_subst(k->ex, then, &from, &to, 1);
    }
    return ex_is_const(k->ex, ex_sub(k->ex, then, at), &step) ? step : -1;
}

/* Do batches store between what neighbours of a row or a column do, as phases of a transposed
 * convolution? A line of memory that is written by one and, long after, by another is written
 * twice. */
static bool batches_lie_beside(const struct kernel *k) {
    if (!k->axis[AXIS_Z] || kernel_size(k, AXIS_Z) == 1 || k->over) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        int64_t batch = store_step(k, &k->stores.at[i], AXIS_Z, 1);
        int64_t row = store_step(k, &k->stores.at[i], AXIS_M, 1),
                column = store_step(k, &k->stores.at[i], AXIS_N, 1);
        if (batch < 1 || batch >= row || batch >= column) return false;
    }
    return k->stores.n > 0;
}

/* Of both factors' tiles in shared memory: of what stays, of all steps. */
static int64_t rings_bytes(const struct layout *y, int64_t steps) {
    const struct product *p = y->product;
    return p->a_bytes * (p->a.stays ? steps : y->stages) +
           p->b_bytes * (p->b.stays ? steps : y->stages);
}

/* A swizzle counts lines from eights of them, so that each tile begins at a multiple: of a stage
 * A's and then B's, of all stages one behind the other, and what stays behind them. */
static const char *check_swizzle(const struct layout *y, int depth, struct arena *a) {
    enum { LINES = 8 };
    const struct product *p = y->product;
    int of_a = (p->a.lying ? 1 : LINES) * operand_line(&p->a, y->bx, depth),
        of_b = LINES * operand_line(&p->b, y->br, depth);
    int stage = (p->a.stays ? 0 : p->a_bytes) + (p->b.stays ? 0 : p->b_bytes);
    bool fits = p->a.stays   ? stage * y->stages % of_a == 0
                : p->b.stays ? stage * y->stages % of_b == 0
                             : p->a_bytes % of_b == 0 && stage % of_a == 0 && stage % of_b == 0;
    return fits || p->by_warp
               ? NULL
               : arena_printf(a, "tiles of %d and %d bytes do not both begin at eights of lines",
                              p->a_bytes, p->b_bytes);
}

/* What is copied once need not stay in L2: the large factor of a thin product. */
static const char *find_once(const struct kernel *k, const struct layout *y, struct product *p) {
    struct operand *const factors[] = {&p->a, &p->b};
    int64_t batches = matrix_tiles(k, y, AXIS_Z);
    for (int i = 0; i < 2 && !p->by_warp; i++) {
        struct operand *o = factors[i];
        bool again = matrix_tiles(k, y, o->axis == AXIS_M ? AXIS_N : AXIS_M) > 1;
        o->once = !again && !o->made && !o->windows && (o->batches > 1 || batches == 1);
    }
    if (y->leave_l2 && !p->a.once && !p->b.once)
        return "leave_l2=1, but tiles of both factors are read again, or by no tensor map";
    return NULL;
}

/* All blocks have the same tile of a factor whose rows fit one, as the filters of a convolution do.
 * Were it read again for each of their tiles, all multiprocessors would wait for the few slices of
 * L2 that have these lines. Where all its steps find room beside the stages it is copied once. */
static void let_stay(const struct kernel *k, const struct layout *y, struct product *p,
                     int64_t steps, int64_t others) {
    struct operand *const factors[] = {&p->b, &p->a};
    if (p->by_warp || y->cluster > 1 || p->parts > 1 || p->steps || p->bounded) return;
    if (p->in_turn > 1) return; /* it was copied in the other one's tile */
    int64_t z = matrix_tiles(k, y, AXIS_Z),
            tiles = z * matrix_tiles(k, y, AXIS_M) * matrix_tiles(k, y, AXIS_N);
    if (tiles <= (int64_t)k->limits->units * p->resident) return; /* a block has one */
    for (int i = 0; i < 2 && !p->a.stays && !p->b.stays; i++) {
        struct operand *o = factors[i];
        if (o->made || o->splits || o->windows || matrix_tiles(k, y, o->axis) > 1) continue;
        if (o->batches > 1 && z > 1) continue;
        o->stays = true;
        int64_t smem = rings_bytes(y, steps) + others;
        o->stays = smem <= k->limits->smem_block &&
                   (smem + SMEM_RESERVED) * p->resident <= k->limits->smem_unit;
    }
}

/* Edges are of the product's own rows, columns and depth; and where a tile's steps depend on where
 * it is, nothing stays from one to the next, and groups that make tiles in turn would lose count.
 * In the mean of tiles that lie all over the product. */
static void find_bounds(const struct kernel *k, const struct layout *y, struct product *p,
                        int depth) {
    enum { SAMPLES = 64 };
    int64_t m = matrix_tiles(k, y, AXIS_M), n = matrix_tiles(k, y, AXIS_N), sampled = 0;
    int64_t down = (m + SAMPLES - 1) / SAMPLES, across = (n + SAMPLES - 1) / SAMPLES;
    double steps = 0;
    p->mean_steps = (double)(round_up(p->a.depth, depth) / depth);
    p->bounded = k->edges.n && !p->makers && !p->a.order && !p->b.order && !p->batches_beside;
    for (int64_t i = 0; i < m && p->bounded; i += down)
        for (int64_t j = 0; j < n; j += across, sampled++)
            steps += (double)matrix_steps(k, y, depth, matrix_tiles(k, y, AXIS_Z) / 2, i, j).n;
    if (p->bounded) p->mean_steps = steps / (double)sampled;
}

/* Parts of the last tiles alone: the others have as many steps all. */
static const char *check_tail(const struct kernel *k, int tail, const struct layout *y,
                              struct product *p, struct arena *a) {
    int64_t all = matrix_all_tiles(k, y);
    if (!tail) return NULL;
    if (p->by_warp) return "tail is a knob of mma=1";
    if (p->parts == 1) return "tail=... needs split: in how many parts";
    if (tail >= all)
        return arena_printf(a, "tail=%d of %lld tiles: these are all", tail, (long long)all);
    if (p->makers || p->steps || p->bounded || p->batches_beside)
        return "tail is of tiles that have all steps, and are not made";
    p->whole = all - tail;
    return NULL;
}

const char *matrix_layout(const struct kernel *k, const struct config *c, struct layout *y,
                          struct arena *a) {
    int m = c->knob[KNOB_m], n = c->knob[KNOB_n], depth = c->knob[KNOB_k];
    enum dtype t = k->values.at[k->dot].dtype;
    if (k->precision == PRECISION_STRICT) return "strict products are multiply-adds in f32";
    bool of_bytes = product_is_of_bytes(k);
    if (t == DT_I32 ? !of_bytes || k->limits->sm < 80
                    : !device_has_matrix_units(k->limits, t, k->precision))
        return "the matrix units, of sm_80 and later, multiply bf16, f16, f32 and, in i32, bytes";
    const char *bad = check_sizes(k);
    if (bad) return bad;
    if (m < 1 || n < 1) return "mma needs an m and an n";
    if (m > 256 || n > 256) return "m and n are 256 at most";
    if (depth % 16 || depth < 16 || depth > 128) return "mma needs a k of sixteens, to 128";
    if (of_bytes && depth % 32) return "mma of bytes needs a k of thirty-twos";
    if (t == DT_I32 && k->over) return "sums of integers are not reduced";
    struct product *p = NEW(a, struct product);
    bool by_warp = c->knob[KNOB_mma] == BY_WARP;
    p->by_warp = by_warp;
    p->tensor = !by_warp && k->limits->tensor_memory;
    p->flat = c->knob[KNOB_flat] == 1;
    p->lying = c->knob[KNOB_flat] == 2;
    p->makers = c->knob[KNOB_make];
    p->in_turn = 1;
    p->pairs = c->knob[KNOB_pairs];
    p->splits = c->knob[KNOB_pairs] == SPLIT;
    p->shares = k->shares;
    p->crowded = p->makers && n > 64;
    product_operands(k, p, m, n, depth, a);
    if (p->flat && !by_warp && !p->a.flat && !p->b.flat)
        return "flat=1 needs windows that are one apart, of results that nothing reduces";
    if (p->lying && !p->a.lying)
        return "flat=2 needs the left factor's windows, of an image of f32 whose positions are "
               "neighbours, and steps that have some of their taps";
    choose_passes(p);
    p->band = c->knob[KNOB_band] ? c->knob[KNOB_band] : epilogue_reads_results(k) ? 1 : 8;
    p->batches_beside = batches_lie_beside(k);
    int64_t steps = round_up(p->a.depth, depth) / depth;
    p->steps = list_steps(k, p->a.windows ? &p->a : &p->b, depth, a);
    p->shorts = find_shorts(p, depth);
    p->parts = y->split;
    if (p->parts > 1 && k->over) return "parts of the depth have no sums to reduce";
    int64_t least = least_steps(k, p, steps);
    if (p->pairs && (bad = check_pairs(k, c, p, filled_depth(p, least * depth), a))) return bad;
    if (p->parts > least || p->parts > MOST_PARTS)
        return arena_printf(a, "split=%d of %lld steps; %d is the limit", p->parts,
                            (long long)least, MOST_PARTS);
    int64_t part = (c->knob[KNOB_tail] ? steps : round_up(steps, p->parts) / p->parts) * depth;
    bool of_f32 = t == DT_F32 && p->a.dtype != DT_F32; /* in bf16, be it one plane */
    p->promotes = part > UNPROMOTED && t != DT_I32;
    p->promotes |= (p->n_passes > 1 || of_f32) && !p->halves;
    int promote = of_bytes ? PROMOTE_F8 : p->a.dtype == DT_F32 ? PROMOTE_TF32 : PROMOTE_DEPTH;
    if (p->pairs && depth == PAIRED_DEPTH) promote = depth;
    int summed = p->a.lying ? p->a.step_taps * p->a.step_channels : depth;
    if (p->promotes && p->a.lying && summed <= PROMOTE_LYING) promote = depth;
    /* Sums of one step are a total. */
    bool sums_once = steps == 1 && depth <= promote && !p->pairs && !by_warp && !p->tensor;
    p->promotes &= !sums_once;
    if (p->promotes && depth != promote)
        return arena_printf(a, "sums that begin anew every %d of the depth need k=%d", promote,
                            promote);
    p->promote_pairs = part < PAIRS_DEEP ? PROMOTE_DEPTH / 2 : promote;
    if (p->promotes) p->folds = promoted_folds(part, promote, p->pairs);
    p->a_bytes = operand_tile_bytes(&p->a, m, depth) * stored_planes(&p->a);
    p->b_bytes = operand_tile_bytes(&p->b, n, depth) * stored_planes(&p->b);
    bad = (by_warp ? check_warps : check_warpgroups)(k, c, y, p, a);
    if (bad) return bad;
    if (p->makers && (bad = check_makers(k, c, y, p, a))) return bad;
    if (p->a.lying && (bad = check_lying(p, a))) return bad;
    p->shares_a = y->cluster > 1 && p->a.rows <= m && !k->over;
    if (p->shares_a && p->a.lying) return "blocks do not share an image as it lies";
    int sharing_a = product_sharers(p, y->cluster, AXIS_M),
        sharing_b = product_sharers(p, y->cluster, AXIS_N);
    if ((bad = check_operand(k, &p->a, m, depth, sharing_a, a))) return bad;
    if ((bad = check_operand(k, &p->b, n, depth, sharing_b, a))) return bad;
    y->stages = c->knob[KNOB_stages];
    if (y->stages < 2 || y->stages > MOST_STAGES)
        return arena_printf(a, "mma needs 2 to %d stages", MOST_STAGES);
    y->bx = m;
    y->br = n;
    y->product = p;
    p->turned = turned_columns(k, p, &p->beside);
    p->exchange = all_exchanges(k, y) + p->warpgroups * p->turned * TURNED_PITCH * 4;
    p->exchange *= p->in_turn;
    find_bounds(k, y, p, depth);
    if (p->bounded && p->in_turn > 1) return "pingpong needs tiles that have all steps";
    if ((bad = find_once(k, y, p))) return bad;
    let_stay(k, y, p, steps, y->smem + p->exchange);
    if ((bad = check_swizzle(y, depth, a))) return bad;
    int64_t smem = rings_bytes(y, steps) + y->smem + p->exchange;
    if (smem > k->limits->smem_block)
        return arena_printf(a, "needs %lld bytes of shared memory; %lld is the limit",
                            (long long)smem, (long long)k->limits->smem_block);
    smem = gather_lines(k, p, smem);
    if (c->knob[KNOB_warps] * k->limits->warp != y->threads)
        return arena_printf(a, "the tile takes %d warps, but warps=%d",
                            y->threads / k->limits->warp, c->knob[KNOB_warps]);
    y->smem = (int)smem;
    if (p->by_warp) p->resident = resident_blocks(k, y, p);
    if (!p->by_warp && (bad = check_fit(k, c->knob[KNOB_fit], y, p, a))) return bad;
    if (k->over && (bad = check_readers(k, y, p, a))) return bad;
    /* Parts wait for each other: no block may have two of a tile. */
    if (p->parts > matrix_clusters(k, y))
        return arena_printf(a, "split=%d; %lld of these are at work at a time", p->parts,
                            (long long)matrix_clusters(k, y));
    if ((bad = check_tail(k, c->knob[KNOB_tail], y, p, a))) return bad;
    y->ex = y->ur = 1;
    y->vec = 2;
    return NULL;
}

bool matrix_wide_config(const struct kernel *k, const struct config *c, struct config *wide,
                        struct arena *a) {
    enum { WIDEST = 128 };
    struct layout y;
    *wide = *c;
    wide->knob[KNOB_pairs] = wide->knob[KNOB_fit] =
        0; /* three planes leave no room for two blocks */
    wide->knob[KNOB_k] = PROMOTE_DEPTH;
    if (c->knob[KNOB_tail]) wide->knob[KNOB_tail] = wide->knob[KNOB_split] = 0;
    if (wide->knob[KNOB_n] > WIDEST) wide->knob[KNOB_n] = WIDEST;
    for (; wide->knob[KNOB_stages] > 1; wide->knob[KNOB_stages]--)
        if (!kernel_layout(k, wide, &y, a)) return true;
    return false;
}

int product_sharers(const struct product *p, int cluster, enum axis x) {
    return (x == AXIS_M) == p->shares_a ? cluster : 1;
}

int64_t matrix_tile_size(const struct layout *y, enum axis x) {
    int apart = y->cluster / product_sharers(y->product, y->cluster, x);
    return (int64_t)(x == AXIS_M ? y->bx : y->br) * apart;
}

int64_t matrix_tiles(const struct kernel *k, const struct layout *y, enum axis x) {
    const struct product *p = y->product;
    int64_t each = x == AXIS_Z ? 1 : matrix_tile_size(y, x);
    if (x == AXIS_Z) return kernel_size(k, x);
    return round_up(x == AXIS_M ? p->a.rows : p->b.rows, each) / each;
}

int64_t matrix_all_tiles(const struct kernel *k, const struct layout *y) {
    return matrix_tiles(k, y, AXIS_Z) * matrix_tiles(k, y, AXIS_M) * matrix_tiles(k, y, AXIS_N);
}

struct step_range matrix_steps(const struct kernel *k, const struct layout *y, int depth, int64_t z,
                               int64_t m, int64_t n) {
    int64_t rows = matrix_tile_size(y, AXIS_M), columns = matrix_tile_size(y, AXIS_N);
    struct depth_range r = kernel_depth(k, z, m * rows, rows, n * columns, columns);
    int64_t first = r.from / depth;
    return (struct step_range){first, (r.end + depth - 1) / depth - first};
}

/* Of an H100's groups of multiprocessors some have 16, some 18: a cluster of four leaves two of 18.
 * Were it one less that has room at a time, it would come when others have ended: those that wait
 * for each other begin together. */
int64_t matrix_clusters(const struct kernel *k, const struct layout *y) {
    enum { OF_FOUR = 97 }; /* per cent */
    int64_t units = (int64_t)k->limits->units * OF_FOUR / 100;
    if (y->cluster != 4) units = layout_units(k, y);
    int64_t clusters = units * y->product->resident / y->cluster;
    return clusters ? clusters : 1;
}

int64_t matrix_blocks(const struct kernel *k, const struct layout *y) {
    const struct product *p = y->product;
    int64_t tiles = p->whole + (matrix_all_tiles(k, y) - p->whole) * p->parts;
    int64_t resident = matrix_clusters(k, y);
    if (p->sharing > 1) resident -= resident % p->sharing;
    return (tiles < resident ? tiles : resident) * y->cluster;
}

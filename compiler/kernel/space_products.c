/* space_products.c: configs of products on a GPU, by plain arithmetic and on the matrix units, and
 * of products behind products. They see sizes and what factors are, no times. */
#include <math.h>

#include "kernel/space.h"

enum { FEW_CHANNELS = 8 }; /* of an image as it lies: an instruction has several taps of so few */

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
    return product_may_be_tf32(s->k) ? 4 : product_is_of_bytes(s->k) ? 1 : 2;
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
    if (planes && each == LYING_SLOT && size_of(s->k, AXIS_N) <= LEAST) return;
    for (int most = planes ? PROMOTE_LYING : MOST; most;
         most = narrow && !planes && most > LESS ? LESS : 0) {
        int taps = lying_taps(w, most / each);
        if (taps == last) continue;
        c.knob[KNOB_k] = (taps * each + line - 1) / line * line;
        propose_tile(s, c, stages);
        last = taps;
    }
}

/* Windows as they lie, some neighbouring taps at a time, of each so many channels. */
static void propose_taps(struct space *s, struct config c, int stages, int each) {
    enum { MOST_TAPS = 4, NARROW = 32 };
    const struct im2col *w = s->k->im2col[0][0];
    int line = 128 / element(s);
    bool planes = may_make_planes(s->k);
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

/* What is read through windows also as shifted rows, or as it lies, some taps at a time. */
static void propose_windows(struct space *s, struct config c, int stages) {
    enum { LEAST = 16, READ = 64, PAIRED = 512, FILTERS = 48, CHANNELS = 32 };
    propose_tile(s, c, stages);
    if (!im2col_has_taps(s->k->im2col[0][0]) && !im2col_has_taps(s->k->im2col[1][0])) return;
    c.knob[KNOB_flat] = 1;
    propose_tile(s, c, stages);
    if (c.knob[KNOB_pairs] || !s->lies) return;
    /* Registers are short where as much is read as stored: transposed, 32 channels in 64 filters of
     * 8 phases, with what is added, take an H200 1395 us as they lie, 872 by windows. */
    if (epilogue_loads(s->k) && c.knob[KNOB_n] > READ) return;
    const struct im2col *w = s->k->im2col[0][0];
    int each = 32; /* channels of a tap */
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
    propose_taps(s, c, stages, each);
    /* Of 48 channels sixteens leave none of a step's places empty. */
    if (each > LEAST && !planes && (w->channels + LEAST - 1) / LEAST % 2)
        propose_taps(s, c, stages, LEAST);
}

/* Are columns windows of images, which lie one behind the other, but in no whole sectors? */
static bool has_odd_windows(const struct kernel *k) {
    enum { SECTOR = 32 };
    if (!im2col_has_taps(k->im2col[1][0])) return false;
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        int bytes = dtype_bytes(k->schedule->loops->buffers.at[s->buffer].meta.dtype);
        if (s->mask & MASK_N && index_usual_stride(k, s->index, AXIS_N) == 1 &&
            !index_is_vector(k, s->index, AXIS_N, SECTOR / bytes))
            return true;
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

/* The most windows, so many at least and at most, that are whole lines of an image's, or of several
 * of them, in sixteens or eights: a box of the image, which comes sooner than as many windows.
 * 0: none are, or windows are not one apart. */
static int windows_of_box(const struct im2col *w, int least, int most, int each) {
    if (!im2col_has_taps(w) || w->phases || w->dim[0].step != 1) return 0;
    int64_t line = w->dim[0].windows, lines = w->n > 1 ? w->dim[1].windows : 1;
    if (w->n > 1 && w->dim[1].step != 1) return 0;
    for (int64_t n = most / line; n > 0; n--)
        if (lines % n == 0 && n * line >= least && n * line % each == 0) return (int)(n * line);
    return 0;
}

/* Tiles of whole lines of windows, where the usual ones are none: columns, by one warpgroup or two,
 * together or in turn; or the depth, of which a step has so much. */
static void propose_lines(struct space *s, int stages) {
    enum { LEAST = 64, MOST = 256, HALF = 128, STEP = 48, MOST_STEP = 128, USUAL = 64 };
    static const int tiles[][2] = {{64, 192}, {64, 256},  {128, 192}, {128, 256},
                                   {64, 128}, {128, 128}, {128, 64},  {64, 64}};
    int warps = 128 / s->k->limits->warp, n = 0;
    for (int most = MOST; (n = windows_of_box(s->k->im2col[1][0], LEAST, most, 8)); most = n - 1)
        for (int m = 64; m <= HALF; m += 64)
            for (int cluster = 1; cluster <= 2; cluster++) {
                struct config c = CONFIG(K(m, m), K(n, n), K(k, 128 / element(s)),
                                         K(cluster, cluster > 1 ? cluster : 0), K(mma, 1),
                                         K(warps, (m / 64 + 1) * warps));
                propose_tile(s, c, stages);
                c.knob[KNOB_warps] = 3 * warps, c.knob[KNOB_pingpong] = 1;
                propose_staged(s, c, stages);
                c.knob[KNOB_warps] = (m / 64 + 1) * warps, c.knob[KNOB_pingpong] = 0;
                c.knob[KNOB_fit] = 2;
                if (n <= HALF && cluster == 1) propose_tile(s, c, stages);
            }
    const struct im2col *a = s->k->im2col[0][1], *b = s->k->im2col[1][1];
    bool halves = element(s) == 4 && (im2col_has_taps(a) || im2col_has_taps(b));
    int depths[] = {windows_of_box(im2col_has_taps(a) ? a : b, STEP, MOST_STEP, 16),
                    halves ? USUAL : 0};
    for (size_t i = 0; i < 2 * sizeof tiles / sizeof *tiles; i++) {
        const int *t = tiles[i / 2], depth = depths[i % 2];
        if (!depth || (i % 2 && depth == depths[0])) continue;
        propose_tile(s,
                     CONFIG(K(m, t[0]), K(n, t[1]), K(k, depth), K(mma, 1),
                            K(warps, (t[0] / 64 + 1) * warps)),
                     stages);
    }
}

/* Three warpgroups with tiles in turn, or four, each of half as many sums: where columns are turned
 * behind the products, one warpgroup alone waits for most of what it does, and takes several times
 * as long as its products. */
static void propose_more_turns(struct space *s, int stages) {
    enum { ROWS = 64, COLUMNS = 128 };
    int warps = 128 / s->k->limits->warp;
    for (int more = 2; more <= 3; more++) {
        struct config c = CONFIG(K(m, ROWS), K(n, COLUMNS), K(k, 128 / element(s)), K(mma, 1),
                                 K(stages, 2), K(warps, (more + 2) * warps), K(pingpong, more));
        struct layout y;
        if (size_of(s->k, AXIS_N) < COLUMNS || kernel_layout(s->k, &c, &y, s->arena)) continue;
        if (!y.product->turned || matrix_all_tiles(s->k, &y) <= more * s->k->limits->units)
            continue;
        propose_staged(s, c, stages);
        c.knob[KNOB_band] = 16;
        propose_staged(s, c, stages);
    }
}

/* On the matrix units. Sums that are promoted need twice the registers, and three planes of each
 * factor three times the stages' memory: what does not fit is refused. */
static void propose_mma(struct space *s) {
    enum { MOST_STAGES = 8, LEAST_TALL = 48 };
    static const int tiles[][2] = {{128, 256}, {128, 192}, {128, 128}, {128, 64}, {64, 256},
                                   {64, 128},  {64, 64},   {192, 128}, {64, 32},  {128, 32},
                                   {128, 8},   {128, 16},  {128, 24},  {128, 48}, {192, 64},
                                   {192, 48},  {192, 24},  {192, 16},  {128, 0}};
    int64_t columns = size_of(s->k, AXIS_N);
    int all = columns < 128 ? (int)(columns + 15) / 16 * 16 : 128; /* for the tile of no n */
    /* Of planes whose depth is half a line such steps leave room for tiles twice as wide: 32768 x
     * 32 x 32768 takes an H200 1539 us by 128 x 256, and 1607 by 128 x 128. */
    int depth = 128 / element(s);
    if (may_make_planes(s->k) && size_of(s->k, AXIS_R) <= depth / 2) depth /= 2;
    /* Of a depth of 1024 pairs that are split where they lie are off by 6.4 u where that is most,
     * cuBLAS on an H200 by 4.1. */
    bool deep = size_of(s->k, AXIS_R) > PAIRS_DEEP;
    bool few = s->lies && s->k->im2col[0][0]->channels <= FEW_CHANNELS;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (int cluster = 1; cluster <= 2; cluster++) {
            int n = tiles[i][1] ? tiles[i][1] : all;
            bool narrow = n < 64 && n % 32, tall = tiles[i][0] == 192;
            bool torn = s->k->im2col[0][0] && all > 64 && all < 128;
            if (!tiles[i][1] && !torn) continue;
            if (narrow && (columns > n || columns <= n - 8)) continue;
            if (tall && n == 64 && columns > 64) continue;
            if (tall && narrow && (!s->lies || (few && n < LEAST_TALL))) continue;
            struct config c = CONFIG(K(m, tiles[i][0]), K(n, n), K(k, depth),
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
    propose_more_turns(s, MOST_STAGES);
    propose_even(s, MOST_STAGES);
    propose_lines(s, MOST_STAGES);
    /* Two blocks a multiprocessor, of tiles that leave room for two. */
    static const int halves[][2] = {{64, 192}, {64, 128}, {64, 96},  {64, 80}, {64, 64},
                                    {128, 64}, {128, 32}, {128, 24}, {128, 16}};
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
void propose_chained(struct space *s) {
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
    /* Few rows, as of one query: warps share columns. n, tn. */
    static const int shared[][2] = {{64, 16}, {64, 32}, {128, 16}, {128, 32}, {256, 32}};
    enum { ROWS = 16 };
    bool few = kernel_size(s->k, AXIS_M) <= ROWS;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        for (int stages = 2; stages <= 3 && few && shared[i][0] <= size_of(s->k, AXIS_N); stages++)
            propose_parts(s, CONFIG(K(m, ROWS), K(n, shared[i][0]), K(tm, ROWS),
                                    K(tn, shared[i][1]), K(mma, 2), K(stages, stages),
                                    K(warps, shared[i][0] / shared[i][1])));
}

/* By threads: whole, and where tiles leave multiprocessors idle in so many parts of the depth that
 * these have 1 to 4 blocks. */
static void propose_depth_parts(struct space *s, struct config c) {
    enum { EACH = 4 };
    int64_t tiles = size_of(s->k, AXIS_Z) * ceil_div(size_of(s->k, AXIS_M), c.knob[KNOB_m]) *
                    ceil_div(size_of(s->k, AXIS_N), c.knob[KNOB_n]);
    propose(s, c);
    for (int each = 1; each <= EACH && s->k->limits->kind == DEVICE_CUDA; each++) {
        c.knob[KNOB_split] = (int)(each * s->k->limits->units / tiles);
        if (c.knob[KNOB_split] > 1) propose(s, c);
    }
}

/* If it is read often, for rows along other, and its image is of a size that was seen to gain. */
static bool is_worth_turning(const struct kernel *k, enum axis axis, enum axis other) {
    enum { OFTEN = 1024, LARGEST = 64 << 20 };
    return size_of(k, other) >= OFTEN && turned_bytes(k, axis) <= LARGEST;
}

/* Panels ahead, of factors that are copied: threads of 128 sums have more to multiply for what they
 * read of shared memory, and a block a quarter of a multiprocessor's warps. */
static void propose_ahead(struct space *s) {
    static const int shapes[][6] = {
        /* m, n, k, tm, tn, stages */
        {96, 128, 8, 12, 8, 3},   {128, 96, 8, 8, 12, 3},  {128, 128, 8, 16, 8, 3},
        {128, 128, 8, 16, 8, 4},  {64, 128, 8, 16, 8, 3},  {128, 64, 8, 16, 8, 3},
        {128, 128, 16, 16, 8, 2}, {64, 256, 16, 16, 8, 2}, {64, 128, 16, 16, 8, 2},
        {128, 128, 8, 8, 16, 3},  {64, 256, 8, 8, 16, 3},  {128, 256, 8, 8, 16, 3},
        {128, 128, 8, 8, 8, 3},   {64, 128, 8, 8, 8, 3},   {64, 64, 16, 8, 8, 3},
        {64, 64, 16, 4, 8, 3},    {32, 128, 16, 4, 8, 3},  {32, 64, 16, 4, 4, 3},
        {16, 128, 32, 4, 8, 3},   {16, 64, 32, 4, 4, 3},   {8, 128, 32, 4, 4, 3},
        {8, 64, 32, 4, 4, 3},
    };
    if (!factor_is_copied(s->k, s->k->dot_a) || !factor_is_copied(s->k, s->k->dot_b)) return;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *t = shapes[i];
        struct config c =
            CONFIG(K(m, t[0]), K(n, t[1]), K(k, t[2]), K(tm, t[3]), K(tn, t[4]), K(stages, t[5]),
                   K(warps, t[0] / t[3] * (t[1] / t[4]) / s->k->limits->warp));
        propose_depth_parts(s, c);
        /* A factor that is copied element by element may be turned before; a seldom read one is
         * not worth a launch, and with an image of 256 MB 8192^3 takes an H200 longer. */
        for (int turn = 1; turn <= 3; turn++) {
            if (turn & 1 && !is_worth_turning(s->k, AXIS_M, AXIS_N)) continue;
            if (turn & 2 && !is_worth_turning(s->k, AXIS_N, AXIS_M)) continue;
            c.knob[KNOB_turn] = turn;
            propose(s, c);
        }
    }
}

void propose_matmul(struct space *s) {
    propose_mma(s);
    propose_warps(s);
    bool units = s->all.n; /* these win wherever they can multiply */
    static const int shapes[][5] = {
        /* m, n, k, tm, tn */
        {128, 128, 16, 8, 8}, {128, 128, 8, 8, 8},  {64, 128, 16, 8, 8},   {128, 64, 16, 8, 8},
        {64, 64, 16, 8, 8},   {64, 64, 16, 4, 4},   {64, 64, 32, 4, 8},    {32, 64, 32, 4, 4},
        {32, 32, 32, 4, 4},   {32, 32, 32, 2, 4},   {16, 32, 32, 2, 2},    {16, 16, 32, 2, 2},
        {128, 256, 8, 8, 16}, {256, 128, 8, 16, 8}, {128, 256, 16, 8, 16}, {256, 128, 16, 16, 8},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const int *t = shapes[i];
        struct config c = CONFIG(K(m, t[0]), K(n, t[1]), K(k, t[2]), K(tm, t[3]), K(tn, t[4]),
                                 K(warps, t[0] / t[3] * (t[1] / t[4]) / s->k->limits->warp));
        (units ? propose : propose_depth_parts)(s, c);
    }
    if (!units) propose_ahead(s);
}

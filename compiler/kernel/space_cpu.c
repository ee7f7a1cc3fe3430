/* space_cpu.c: configs of kernels on a CPU: rows of a task, tiles of products, panels and
 * images. They see sizes and caches, no times. */
#include "kernel/space.h"

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

void propose_cpu(struct space *s) {
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

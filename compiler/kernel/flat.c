/* flat.c: CPU: a convolution that multiplies what its input has where it lies.
 *
 * Packed into a panel, an element of an image is written as often as there are windows that have
 * it: 27 times for 3*3*3 taps, each time with the work of finding it, which is a third of the time
 * of such a convolution with 64 filters. Instead a tile's part of the image is copied once, with
 * the zeros around it. Then what a step of the depth multiplies is `offset[step]` numbers on, the
 * same for all windows; neighbours are as far apart as windows are:
 *
 *     for steps of the depth:  from = image + offset[step]
 *         for i in tn windows:  sums[i][:] += from[i * 2] * filters[step][:]
 *
 * Vectors go along the other factor, the filters. So no lane is idle where rows of windows are
 * short or odd, as the 7 or 14 of last layers, and any stride and dilation is the same to it. The
 * sums of a block are turned before they are stored. */
#include "kernel/kernel.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The same number of tiles as of `most` at a time, as equal as they can be. */
static int64_t evenly(int64_t all, int64_t most) {
    if (most >= all) return all;
    int64_t tiles = (all + most - 1) / most;
    return (all + tiles - 1) / tiles;
}

int64_t flat_tiles(const struct flat_tile *f, int dim) {
    int64_t all = dim == f->of->n ? f->of->images : f->of->dim[dim].windows;
    return (all + f->windows[dim] - 1) / f->windows[dim];
}

int64_t flat_plane(const struct flat_tile *f) {
    int64_t n = 1;
    for (int d = 0; d < f->of->n; d++) n *= f->positions[d];
    return n;
}

int64_t flat_blocks(const struct flat_tile *f) {
    int64_t n = f->blocks;
    for (int d = 1; d <= f->of->n; d++) n *= f->windows[d];
    return n;
}

bool flat_depth_in_order(const struct flat_tile *f) {
    const struct im2col *w = f->of;
    int place = w->digits[1].n;
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        if (x->tap_digit < 0) continue;
        if (x->backward || x->tap_digit != --place) return false;
    }
    return w->channel_digits == (1u << place) - 1;
}

static void set_windows(struct flat_tile *f, int64_t blocks, int tn) {
    const struct im2col *w = f->of;
    int64_t all = (w->dim[0].windows + tn - 1) / tn;
    f->blocks = evenly(all, blocks);
    f->windows[0] = smaller(w->dim[0].windows, f->blocks * tn);
    int64_t rest = f->blocks < all ? 1 : blocks / all;
    for (int d = 1; d <= w->n; d++) {
        f->windows[d] = evenly(d == w->n ? w->images : w->dim[d].windows, rest);
        rest =
            f->windows[d] < (d == w->n ? w->images : w->dim[d].windows) ? 1 : rest / f->windows[d];
    }
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        int64_t last = (d ? f->windows[d] : f->blocks * tn) - 1;
        f->positions[d] = last * x->step + (x->taps - 1) * x->apart + 1;
    }
}

/* Numbers that a task keeps: the copy, filters, some of them before they are turned, and sums. */
static double numbers_of(const struct kernel *k, const struct config *c, const struct flat_tile *f,
                         int64_t depth) {
    enum { GAP = 16 };
    double m = c->knob[KNOB_m], tm = c->knob[KNOB_tm], tn = c->knob[KNOB_tn] + GAP;
    double image = (double)f->channels * (double)f->windows[f->of->n];
    for (int d = 0; d < f->of->n; d++) image *= (double)f->positions[d];
    double sums = layout_packs_once(k, (int)depth) ? tm * tn : m * tn * (double)flat_blocks(f);
    return image + (m + 2 * tm) * (double)(depth + GAP) + sums + tm * tn + (double)depth;
}

const char *flat_layout(const struct kernel *k, const struct config *c, int64_t most_bytes,
                        struct layout *y, struct arena *a) {
    enum { MOST_VECTORS = 128 }; /* that a text names */
    const struct im2col *w = k->im2col[1][0];
    int tm = c->knob[KNOB_tm], tn = c->knob[KNOB_tn];
    if (!w) return "flat=1 needs columns that are windows of an image";
    if (w->there) return "flat=1 needs windows that all have all taps"; /* a tile is copied once */
    struct flat_tile *f = NEW(a, struct flat_tile);
    f->of = w;
    f->channels = smaller(c->knob[KNOB_k] / w->taps, w->channels);
    if (f->channels < 1) f->channels = 1;
    int64_t depth = f->channels * w->taps, registers = layout_block_registers(k, tn, tm);
    if (depth > layout_packed_depth(INT32_MAX))
        return arena_printf(a, "%lld taps are too many for flat=1", (long long)w->taps);
    if (registers > MOST_VECTORS)
        return arena_printf(a, "needs %lld registers for tm=%d tn=%d; %d is the limit",
                            (long long)registers, tm, tn, MOST_VECTORS);
    set_windows(f, c->knob[KNOB_n] / tn, tn);
    int size = dtype_bytes(dtype_opmath(k->values.at[k->dot].dtype));
    double bytes = numbers_of(k, c, f, depth) * size;
    if (bytes > (double)most_bytes)
        return arena_printf(a, "needs %.0f bytes of stack; %lld is the limit", bytes,
                            (long long)most_bytes);
    if (layout_depth_folds(k, (int)depth, 1).levels) return "flat=1 is not for so deep a product";
    y->vec = tm; /* vectors go along the filters */
    y->ex = tn;
    y->ur = (int)depth;
    y->flat = f;
    return NULL;
}

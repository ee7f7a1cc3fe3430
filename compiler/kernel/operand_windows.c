/* operand_windows.c: factors that are read through windows: images with channels innermost, runs of
 * neighbours, whole positions (flat=1), or as they lie in memory (flat=2). */
#include <math.h>

#include "kernel/operand_parts.h"

/* The packed image has each pixel once: planes and batches of a pixel lie beside each other, so
 * that what lies outside of an image along any dimension is outside of the tensor. */
static void set_windows(struct operand *o, const struct im2col *w) {
    o->windows = true;
    o->across = false;
    o->batch = o->channels;
    o->plane = o->batch * o->batches;
    o->pitch = o->step[0] = o->plane * o->planes;
    for (int d = 0; d < w->n; d++) o->step[d + 1] = o->step[d] * w->dim[d].size;
    o->bytes = round_up(o->step[w->n] * w->images * dtype_bytes(o->dtype), 1024);
}

/* Windows overlap in memory: a line of an image has each pixel once, and zeros where windows reach
 * beyond it, for what a run reads there is inside of the tensor. */
static void set_runs(struct operand *o, const struct im2col *w) {
    o->windows = true;
    o->across = false;
    o->pitch = o->step[0] = w->of->dim[0].step * w->pixel;
    o->step[1] = round_up(im2col_reach(w->of) * w->pixel, ALIGNED);
    for (int d = 1; d < w->n; d++) o->step[d + 1] = o->step[d] * w->dim[d].size;
    o->batch = o->step[w->n] * w->images;
    o->plane = o->batch * o->batches;
    o->bytes = round_up(o->plane * o->planes * dtype_bytes(o->dtype), 1024);
}

/* All that windows reach is there, zeros included, so that a window's tap is so many positions on,
 * at whatever edge: a position has all planes and batches of a pixel, or is where a run begins. A
 * line has whole eights of these, for what is stored lies in vectors. False if windows are further
 * apart. */
static bool set_flat(struct operand *o, const struct im2col *w) {
    if (w->phases) return false;
    o->flat = o->windows = true;
    o->across = false;
    if (w->of) {
        o->pitch = w->of->dim[0].step * w->pixel;
    } else {
        o->batch = o->channels;
        o->plane = o->batch * o->batches;
        o->pitch = o->plane * o->planes;
    }
    o->step[0] = o->pitch;
    o->rows = w->images;
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        int64_t reach = x->windows + (x->taps - 1) * x->apart;
        if (x->step != 1 || x->first > 0) return false;
        if (w->of && !d)
            reach = (im2col_reach(w->of) + w->of->dim[0].step - 1) / w->of->dim[0].step;
        else if (reach < x->size - x->first)
            reach = x->size - x->first; /* all of it is written */
        o->padded[d] = d ? reach : round_up(reach, ALIGNED);
        o->step[d + 1] = o->step[d] * o->padded[d];
        o->rows *= o->padded[d];
    }
    if (w->of) {
        o->batch = o->step[w->n] * w->images;
        o->plane = o->batch * o->batches;
    }
    int64_t all = w->of ? o->plane * o->planes : o->step[w->n] * w->images;
    o->bytes = round_up(all * dtype_bytes(o->dtype), 1024);
    return o->rows <= MATRIX_SIZE;
}

/* Elements that a pixel's n are filled up to, so that windows begin at whole pieces, and a pixel is
 * part of eight elements, or has whole eights. */
static int64_t pixel_of_run(const struct im2col *w, int64_t n, int bytes) {
    for (;; n++)
        if (n * w->dim[0].step * bytes % PIECE == 0 && (ALIGNED % n == 0 || n % ALIGNED == 0))
            return n;
}

static bool take_step(const struct kernel *k, ex *index, ex symbol, int64_t *step) {
    return index_take(k, index, symbol, step) && *step >= 0;
}

/* Do channels lie beside each other in memory, of the type that is multiplied, as copies want them?
 * Then o has where. What is beside a batch's channels would be read as its own. */
static bool set_in_memory(const struct kernel *k, struct operand *o, const struct im2col *w) {
    value_id load = plain_load(k, o->factor);
    int64_t channel, unit = PIECE / dtype_bytes(o->dtype);
    if (load == NO_VALUE || k->values.at[load].dtype != o->dtype) return false;
    ex rest = im2col_index(k, w, k->values.at[load].index);
    if (!take_step(k, &rest, w->channel, &channel) || channel != 1) return false;
    if (!take_step(k, &rest, k->axis[AXIS_Z], &o->batch)) return false;
    if (!take_step(k, &rest, w->image, &o->step[w->n])) return false;
    bool whole = o->step[w->n] % unit == 0 && o->batch % unit == 0;
    for (int d = 0; d < w->n; d++)
        whole = take_step(k, &rest, w->at[d], &o->step[d]) && whole && o->step[d] % unit == 0;
    if (!whole || !ex_is_const(k->ex, rest, &o->offset) || o->offset % unit) return false;
    if (o->batches > 1 ? o->channels != w->channels : w->channels % unit) return false;
    o->windows = true;
    o->across = false;
    o->load = load;
    o->planes = 1;
    o->plane = o->bytes = 0;
    o->pitch = o->step[0];
    return true;
}

/* Do copies through windows reach all taps? */
static bool windows_fit(const struct operand *o, int line, int lines, struct arena *a) {
    struct tensor_map m = operand_map(o, line, lines);
    if (tensor_map_illegal(&m, a)) return false;
    for (int d = 0; d < o->order->n; d++) {
        const struct im2col_dim *x = &o->order->dim[d];
        if (m.windows && (x->taps - 1) * x->apart + x->most_shift >= tensor_map_offset_end(&m))
            return false;
    }
    return true;
}

/* As much depth as the other factor's image of windows has, in its order; which is that of the
 * depth itself, if a window is a pixel that nothing fills up. */
static void set_order(struct operand *o, const struct operand *windows) {
    if (windows->order->taps == 1 && !windows->order->of && windows->depth == o->depth) return;
    o->order = windows->order;
    o->channels = windows->channels;
    o->step_taps = windows->step_taps;
    o->step_places = windows->step_places;
    o->step_channels = windows->step_channels;
    o->depth = windows->depth;
    o->along = o->across = o->in_registers = false;
    set_image(o, o->depth);
}

/* Bytes of a tile's lines: narrower ones than could be where they save a quarter of what channels
 * are filled up to, and those of 32 bytes, which shared memory serves worse, a third. */
static int line_of_channels(int64_t bytes, int line) {
    int best = line;
    for (int l = line / 2; l >= 32; l /= 2) {
        int of = l == 32 ? 3 : 4;
        if (round_up(bytes, l) * of <= round_up(bytes, best) * (of - 1)) best = l;
    }
    return best;
}

/* o as windows w in lines of so many bytes, with so many channels that each is of one tap; false:
 * most of these would be none, or no copies reach all taps. */
static bool set_windows_of(const struct kernel *k, struct operand *o, const struct im2col *w,
                           int line, int lines, bool by_warp, bool flat, struct arena *a) {
    enum { MOST_WASTE = 2 };
    o->order = w;
    o->line = line;
    o->channels = round_up(w->channels, line / dtype_bytes(o->dtype));
    *(o->along ? &o->rows : &o->depth) = w->taps * o->channels;
    if (o->channels > MOST_WASTE * w->channels) return false;
    if (flat) return set_flat(o, w) && windows_fit(o, line, lines, a);
    struct operand there = *o;
    if (!w->of && set_in_memory(k, &there, w) && (by_warp || windows_fit(&there, line, lines, a))) {
        *o = there;
        return true;
    }
    (w->of ? set_runs : set_windows)(o, w);
    return by_warp || windows_fit(o, line, lines, a);
}

/* The launch begins while the one before ends. It reads the factor, and writes an image that the
 * product finds in the L2 if it is small. */
double operand_pack_us(const struct kernel *k, const struct operand *o) {
    const double LAUNCH = 1.5, READ = 1.05, WRITTEN = 0.9, BUSY = 0.75;
    const double OF_WINDOWS = 77, OF_IMAGE = 20; /* instructions, of an element */
    const struct device_limits *d = k->limits;
    double clock = device_clock_ghz(d) * 1e3, gbps = device_gbps(d), bytes = (double)o->bytes;
    bool taps = im2col_has_taps(k->im2col[o->axis == AXIS_N][0]) && !o->windows && !o->order;
    double each = taps ? OF_WINDOWS : OF_IMAGE,
           elements = bytes / stored_planes(o) / dtype_bytes(o->stored);
    double issued = elements * each / (128.0 * d->units * clock);
    if (!o->bytes || o->at_load) return 0;
    double stays = fmin(1, (double)d->l2_bytes / 2 / bytes);
    double read = elements * dtype_bytes(k->values.at[o->factor].dtype);
    double moved = READ * read + WRITTEN * (1 - stays) * bytes;
    return LAUNCH + fmax(issued, moved / (gbps * 1e3 * BUSY));
}

double operand_line_clocks(const struct operand *o, int64_t lines, bool by_warp) {
    const double WINDOW = 5, ROW = 5; /* not measured yet: tried, and never a first guess */
    /* Of a box: 200704 pixels of 64 channels, 3 x 3, in bf16 take an H200 35.9 us by tiles of 224
     * windows beside filters that stay in shared memory, and weight gradients of these 42.1 in
     * steps of 112, 47.2 in steps of 64 windows. Of tf32, of planes, of phases and in one
     * dimension boxes along rows or columns are no faster: a transposed 3 x 5 x 5 in tf32 takes
     * 8063 us by 136 windows, 7504 by 256. */
    const double BOX = 4.4;
    int box[IM2COL_DIMS + 1];
    if (!o->windows || o->lying || by_warp) return 0;
    if (o->flat) return ROW;
    bool plain = o->planes == 1 && o->order->n > 1 && !o->order->phases;
    bool gains = o->along || (dtype_bytes(o->dtype) == 2 && plain);
    return gains && windows_are_box(o, lines, box) ? BOX : WINDOW;
}

/* The depth that is multiplied, in steps of so much: those of wgmma may be short (matrix.c). */
static int64_t multiplied_depth(const struct operand *o, int line, int step, bool by_warp) {
    enum { INSTRUCTION = 32 };
    int bytes = dtype_bytes(o->dtype);
    if (by_warp || !o->order || o->channels % step) return round_up(o->depth, line / bytes);
    return o->order->taps * round_up(o->order->channels, INSTRUCTION / bytes);
}

/* Products of two factors of so many planes each. */
static int planes_passes(int planes) { return planes == 3 ? MOST_PASSES : planes == 2 ? 3 : 1; }

/* What it takes, in us, to write the operand's image, and then to copy or to multiply its rows, of
 * which each tile of the other factor wants all. */
static double operand_us(const struct kernel *k, const struct operand *o, int line, int lines,
                         int step, int64_t others, int tile, int passes, bool by_warp) {
    const double COPIED = 48; /* bytes a clock, at most */
    const struct device_limits *d = k->limits;
    double clock = device_clock_ghz(d) * 1e3, bytes = dtype_bytes(o->dtype);
    double rate = d->matrix_tflops * 1e6 / (2 * clock); /* of the device, a clock */
    double all =
        (double)o->rows * (double)kernel_size(k, AXIS_Z) * (double)((others + tile - 1) / tile);
    double depth = (double)round_up(o->depth, line / dtype_bytes(o->dtype));
    double of_line = fmax(operand_line_clocks(o, lines, by_warp), line / COPIED);
    double copies = all * o->planes * depth * bytes / line * of_line / d->units;
    double multiplied = (double)multiplied_depth(o, line, step, by_warp);
    double products = all * tile * multiplied * passes * bytes / 2 / rate;
    return fmax(copies, products) / clock + operand_pack_us(k, o);
}

/* A factor as windows: pixel by pixel, or runs of these with the taps of more or fewer dimensions
 * in a pixel, in lines of all widths. */
static bool cheapest_windows(const struct kernel *k, struct operand *best, const struct im2col *w,
                             int line, int lines, int step, int64_t others, int tile,
                             const struct product *p, struct arena *a) {
    bool by_warp = p->by_warp, flat = p->flat;
    int bytes = dtype_bytes(best->dtype), passes = planes_passes(best->planes);
    double least = operand_us(k, best, line, lines, step, others, tile, passes, by_warp);
    const struct operand own = *best;
    for (int folded = -1; folded < w->n; folded++) {
        const struct im2col *of = w;
        if (folded >= 0) {
            int64_t n = im2col_folded_taps(w, folded) * w->channels;
            of = im2col_runs(w, folded, pixel_of_run(w, n, bytes), a);
        }
        for (int l = line; l >= 32 && of; l /= 2) {
            struct operand o = own;
            if (w->phases) o.batches = 1;
            if (!set_windows_of(k, &o, of, l, lines, by_warp, flat, a)) continue;
            double us = operand_us(k, &o, l, lines, step, others, tile, passes, by_warp);
            if (us < least || (flat && !best->order)) least = us, *best = o;
        }
    }
    return best->order;
}

/* The depth of both factors is taps then, of each all channels. Not if an image of the product's
 * own shape, or none, is better. */
void choose_windows(const struct kernel *k, struct product *p, int side, int tile, int other_tile,
                    int depth, struct arena *a) {
    const struct im2col *w = k->im2col[side][0];
    struct operand *own = side ? &p->b : &p->a, *other = side ? &p->a : &p->b, best = *own;
    if (!w || own->order || own->load != NO_VALUE || own->made || other->made) return;
    if (dtype_bytes(own->dtype) == 1) return; /* whose pixels have not been looked into */
    if (p->flat && k->over) return;
    best.along = false;
    int line = operand_line(&best, tile, depth);
    if (!line || !cheapest_windows(k, &best, w, line, tile, depth, other->rows, other_tile, p, a))
        return;
    *own = best;
    set_order(other, own);
}

/* The depth is windows, and the rows are taps, of each all channels. */
void choose_windows_along(const struct kernel *k, struct product *p, int side, int tile, int depth,
                          struct arena *a) {
    const struct im2col *w = k->im2col[side][1];
    struct operand *own = side ? &p->b : &p->a, o = *own;
    if (!w || w->phases || own->order || own->load != NO_VALUE) return;
    if (own->dtype == DT_F32 || dtype_bytes(own->dtype) == 1) return;
    if (p->makers) return;
    o.along = true;
    int line = operand_line(&o, tile, depth);
    if (!line) return;
    if (side) line = line_of_channels(w->channels * dtype_bytes(o.dtype), line);
    if (set_windows_of(k, &o, w, line, depth, p->by_warp, false, a) && o.bytes < own->bytes)
        *own = o;
}

int lying_taps(const struct im2col *w, int most) {
    int of_line = (int)w->dim[0].taps, lines = most / of_line, taps = most;
    while (lines && w->taps / of_line % lines) lines--;
    while (!lines && of_line % taps) taps--;
    return lines ? lines * of_line : taps;
}

/* Steps of so much depth, of some taps, as many as there are places for or less, some channels;
 * false: none fit, or most channels would be none, or taps of a line reach further than a tile
 * does. So few channels that an instruction has them fill its depth by taps. */
static bool set_lying_steps(struct operand *o, const struct im2col *w, int depth) {
    enum { FEW = 8, MOST_WASTE = 2 };
    const struct im2col_dim *x = &w->dim[0];
    o->channels = INT64_MAX;
    for (int channels = LINE / dtype_bytes(o->stored); channels >= LYING_SLOT; channels /= 2) {
        int places = depth / channels, taps = places ? lying_taps(w, places) : 0;
        if (!taps || depth % channels || (channels <= FEW && w->channels > channels)) continue;
        int64_t of_line = taps < x->taps ? taps : x->taps;
        if (LYING_UNIT - 1 + (of_line - 1) * x->apart > LYING_BEHIND) continue;
        if (round_up(w->channels, channels) >= o->channels) continue;
        o->step_taps = taps;
        o->step_places = places;
        o->step_channels = channels;
        o->channels = round_up(w->channels, channels);
    }
    return o->channels <= MOST_WASTE * w->channels;
}

/* Does the load's memory have positions one behind the other, channels so many elements apart, and
 * all that windows reach in its lines? Then o has where. */
static bool lies_in_memory(const struct kernel *k, struct operand *o, const struct im2col *w) {
    value_id load = plain_load(k, o->factor);
    int64_t unit = PIECE / dtype_bytes(o->stored);
    if (load == NO_VALUE || k->values.at[load].dtype != o->stored) return false;
    ex rest = im2col_index(k, w, k->values.at[load].index);
    if (!take_step(k, &rest, w->channel, &o->pitch)) return false;
    if (!take_step(k, &rest, k->axis[AXIS_Z], &o->batch)) return false;
    if (!take_step(k, &rest, w->image, &o->step[w->n])) return false;
    for (int d = 0; d < w->n; d++)
        if (!take_step(k, &rest, w->at[d], &o->step[d])) return false;
    if (!ex_is_const(k->ex, rest, &o->offset) || o->offset % unit || o->step[0] != 1) return false;
    if (w->channels == 1) o->pitch = unit;
    if (w->images == 1)
        o->step[w->n] = o->batches > 1 ? o->batch * o->batches : o->pitch * w->channels;
    if (o->batches > 1 && (!o->batch || o->step[w->n] % o->batch)) return false;
    for (int d = 0; d + 1 < w->n; d++) {
        o->padded[d] = o->step[d] ? o->step[d + 1] / o->step[d] : 0;
        if (o->padded[d] * o->step[d] != o->step[d + 1] || o->padded[d] < w->dim[d].windows ||
            o->padded[d] < w->dim[d].size)
            return false;
    }
    o->load = load;
    o->bytes = 0;
    return true;
}

/* Else an image of it does, [image][batch][channel][positions], whose lines have room for all
 * windows: of inputs that are padded so much that there are more windows than positions, of rows
 * that begin anywhere, or of what is computed of what is read. */
static void set_lying_image(struct operand *o, const struct im2col *w) {
    int64_t unit = PIECE / dtype_bytes(o->stored);
    o->load = NO_VALUE;
    o->offset = 0;
    o->step[0] = 1;
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        int64_t room = d + 1 < w->n && x->windows > x->size ? x->windows : x->size;
        o->padded[d] = d ? room : round_up(room, unit);
        o->step[d + 1] = o->step[d] * o->padded[d];
    }
    o->pitch = o->step[w->n];
    o->batch = o->pitch * w->channels;
    o->step[w->n] = o->batch * o->batches;
    o->bytes = round_up(o->step[w->n] * w->images * dtype_bytes(o->stored), 1024);
}

/* Rows are positions of the image as it lies, one behind the other, so that a tap is so many on;
 * only windows that are one apart. A tile of so many rows is of one image. */
static bool set_lying(const struct kernel *k, struct operand *o, const struct im2col *w, int rows,
                      int depth, struct arena *a) {
    int64_t last = 0;
    if (w->phases || !set_lying_steps(o, w, depth)) return false;
    for (int d = 0; d < w->n; d++)
        if (w->dim[d].step != 1) return false;
    if (!lies_in_memory(k, o, w)) {
        struct operand by_windows = *o; /* which need no image where channels are innermost */
        if (o->planes == 1 && set_in_memory(k, &by_windows, w)) return false;
        set_lying_image(o, w);
    }
    o->padded[w->n - 1] = w->dim[w->n - 1].windows;
    for (int d = 0; d < w->n; d++) last += (w->dim[d].windows - 1) * o->step[d];
    o->positions = round_up(last + 1, rows);
    o->rows = w->images * o->positions;
    o->depth = w->taps / o->step_taps * o->step_places * o->channels;
    o->lying = o->windows = o->flat = o->in_registers = true;
    o->along = o->across = false;
    o->order = w;
    o->line = LINE;
    o->plane = 0;
    return o->rows <= MATRIX_SIZE && windows_fit(o, LINE, rows, a);
}

/* Positions that are no windows count for nothing in what all rows or all columns come to. Parts
 * of rows go by the product's own rows; what is stored beside would not be turned, nor are phases
 * of which some are left out. */
static bool counts_positions(const struct kernel *k) {
    for (uint32_t i = 0; i < k->stores.n; i++) {
        const struct store_node *s = &k->stores.at[i];
        if (k->over && !store_is_of_results(k, s)) return false;
        if (s->guard && index_usual_stride(k, s->index, AXIS_M) > 1 &&
            index_usual_stride(k, s->index, AXIS_N) > 1)
            return false;
    }
    if (!k->over) return true;
    return !(k->over & MASK_Z) && !k->span[AXIS_M] && !k->span[AXIS_N];
}

bool windows_may_lie(const struct kernel *k, int side, bool *in_memory, struct arena *a) {
    enum { LEAST_ROWS = 64 };
    if (k->kind != KERNEL_MATMUL || !k->limits->wgmma || !counts_positions(k)) return false;
    value_id factor = side ? k->dot_b : k->dot_a;
    bool planes = k->values.at[k->dot].dtype == DT_F32 && k->precision == PRECISION_F32 &&
                  !fits_bf16(k, factor);
    if (!is_tf32(k) && !planes) return false;
    const struct im2col *w = k->im2col[side][0];
    bool batched = k->axis[AXIS_Z] && k->values.at[factor].mask & MASK_Z;
    struct operand o = {.factor = factor,
                        .dtype = planes ? DT_BF16 : DT_F32,
                        .stored = DT_F32,
                        .planes = planes ? 3 : 1,
                        .batches = batched ? kernel_size(k, AXIS_Z) : 1};
    bool fixed = side ? k->b_fixed : k->a_fixed;
    bool may = w && !fixed && set_lying(k, &o, w, LEAST_ROWS, LINE / dtype_bytes(o.stored), a);
    *in_memory = may && o.load != NO_VALUE;
    return may;
}

/* The left factor, of tf32, or f32 of which threads make planes, where these read what neither
 * they nor the units find along the depth. */
void choose_lying(const struct kernel *k, struct product *p, int rows, int depth, struct arena *a) {
    const struct im2col *w = k->im2col[0][0];
    struct operand o = p->a;
    if (!w || p->by_warp || p->tensor || p->makers || p->pairs || k->a_fixed) return;
    if ((!is_tf32(k) && o.planes != 3) || !counts_positions(k)) return;
    o.stored = DT_F32;
    if (!set_lying(k, &o, w, rows, depth, a)) return;
    p->a = o;
    set_order(&p->b, &o);
}

/* Which window a position is; -1: none. */
static int64_t lying_window(const struct operand *o, int64_t row) {
    int64_t window = 0, below = 1;
    for (int d = 0; d < o->order->n; d++) {
        int64_t at = lying_digit(o, row, d), windows = o->order->dim[d].windows;
        if (at >= windows) return -1;
        window += at * below;
        below *= windows;
    }
    return row < o->rows ? window + row / o->positions * below : -1;
}

int64_t flat_window(const struct operand *o, int64_t row) {
    int64_t window = 0, below = 1;
    if (o->lying) return lying_window(o, row);
    for (int d = 0; d < o->order->n; d++) {
        int64_t at = row % o->padded[d], windows = o->order->dim[d].windows;
        if (at >= windows) return -1;
        window += at * below;
        below *= windows;
        row /= o->padded[d];
    }
    return row < o->order->images ? window + row * below : -1;
}

/* operand.c: where the tiles of a product's factors come from on the matrix units:
 *
 *     a[m, k] bf16, rows of 4096      tiles of p0 as it is
 *     relu(a)[m, k] bf16              an image of relu(a), which a launch before writes
 *     a[m, k] f32                     tiles of p0, of which threads make three planes of bf16,
 *                                     which add up to a
 *     b[n, k] f32                     an image of three planes; mma=2: as a
 *     the same, pairs=2               tiles of p1, which become two planes of f16 where they lie
 *     a[m, k] f8                      tiles of p0; where there are no units for it, or sums are to
 *                                     be f32's own: an image of a in bf16, which has all of f8
 *     a[m, k] f32, in tf32            tiles of p0, which are rounded on their way
 *     the same, constants, of GBs,    an image of a, rounded, whose lines are stacked
 *         in rows that are long
 *     a[m, k] i8, to i32              tiles of p0
 *     a[k, m] f32, in tf32            mma=1: tiles of p0, which threads read into registers
 *     b[k, n] f32, in tf32            an image of b, rounded and across: the units take tf32 along
 *                                     the depth alone, and bytes
 *     a[i, k, pixel], rows i, pixel   an image of a; mma=2: pieces of p0, as large as are aligned
 *     the same, make=1                its tiles are made by warps of the block, out of what x
 *                                     reads, whatever that is: no image of it is in memory
 *     where(inside, x[window, k], 0)  an image of x alone, channels innermost, each element once;
 *                                     tiles are windows of it (im2col.c); of few channels
 *                                     the image has zeros around it, and lines of a tile are runs
 *                                     of neighbours, which overlap in memory
 *     the same, pixels innermost,     flat=2: tiles of p0, or of an image of x, channel by channel,
 *         in tf32 or f32              of pixels one behind the other, which threads read into
 *                                     registers tap by tap */
#include <math.h>

#include "kernel/kernel.h"

enum {
    ALIGNED = 8, /* elements that lines of images are multiples of, of bytes twice as many; */
    LINE = 128, /* bytes of a line of memory, which these begin at if that takes little more: a tile
                    of others is in twice as many */
    PIECE = 16, /* bytes, which tensor maps count in */
    FEW = 128, /* rows of the other factor: it reads less of memory as f32 than as three planes, and
                   not often enough for making these anew to matter */
    SMALL = 16, /* times smaller than the other: a factor that many blocks read, and soon packed */
};

static bool is_byte(enum dtype t) { return t == DT_I8 || t == DT_U8; }

/* Is it a cast of an integer to a wider one? */
static bool widens(const struct kernel *k, const struct value_node *x) {
    if (x->kind != INST_CAST || dtype_is_float(x->dtype)) return false;
    enum dtype from = k->values.at[x->args[0]].dtype;
    return !dtype_is_float(from) && dtype_bytes(from) < dtype_bytes(x->dtype);
}

/* The type of bytes that hold all that an integer factor may be, for it is one of these, widened;
 * DT_COUNT: it is none. */
static enum dtype byte_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (is_byte(x->dtype)) return x->dtype;
    return widens(k, x) ? byte_of(k, x->args[0]) : DT_COUNT;
}

/* The float8 that a factor is, widened; DT_COUNT: it is none. */
static enum dtype float8_of(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (dtype_is_float8(x->dtype)) return x->dtype;
    bool widened = x->kind == INST_CAST && dtype_is_float(x->dtype) &&
                   dtype_holds(x->dtype, k->values.at[x->args[0]].dtype);
    return widened ? float8_of(k, x->args[0]) : DT_COUNT;
}

/* Those that matrix units multiply as they are: integers, and float8 where its sums are asked for,
 * and there are units for it. */
static enum dtype unit_byte(const struct kernel *k, value_id v) {
    enum { ADA = 89 };
    if (k->values.at[k->dot].dtype == DT_I32) return byte_of(k, v);
    bool has = k->precision == PRECISION_F8 && k->limits->sm >= ADA;
    return has ? float8_of(k, v) : DT_COUNT;
}

bool product_is_of_bytes(const struct kernel *k) {
    return unit_byte(k, k->dot_a) != DT_COUNT && unit_byte(k, k->dot_b) != DT_COUNT;
}

/* A read of elements that are what the product multiplies, of 8 or 16 bits or f32; NO_VALUE if v is
 * none. */
static value_id plain_load(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (x->kind == INST_CAST && dtype_is_float(x->dtype)) /* exact: to more digits */
        return dtype_digits(x->dtype) >= dtype_digits(k->values.at[x->args[0]].dtype)
                   ? plain_load(k, x->args[0])
                   : NO_VALUE;
    if (widens(k, x)) return plain_load(k, x->args[0]);
    if (x->kind != INST_LOAD) return NO_VALUE;
    enum dtype t = k->schedule->loops->buffers.at[x->buffer].meta.dtype;
    bool has_units = t == DT_BF16 || t == DT_F16 || t == DT_F32 || is_byte(t) || dtype_is_float8(t);
    return t == x->dtype && has_units ? v : NO_VALUE;
}

/* Elements that an image's lines have a multiple of. */
static int64_t round_to_lines(int64_t n, int bytes) {
    return round_up(n, bytes == 1 ? PIECE : ALIGNED);
}

/* Has bf16 all that it may be, as it is read? */
static bool fits_bf16(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (dtype_is_float8(x->dtype)) return true;
    if (x->kind == INST_CAST)
        return dtype_holds(x->dtype, k->values.at[x->args[0]].dtype) && fits_bf16(k, x->args[0]);
    return x->kind == INST_LOAD && dtype_holds(DT_BF16, x->dtype) &&
           k->schedule->loops->buffers.at[x->buffer].meta.dtype == x->dtype;
}

/* Of factors of bf16 a product in bf16 is exact, and faster. */
static bool is_tf32(const struct kernel *k) {
    return k->precision == PRECISION_TF32 && k->values.at[k->dot].dtype == DT_F32 &&
           !(fits_bf16(k, k->dot_a) && fits_bf16(k, k->dot_b));
}

/* Can tensor maps say where the load's elements lie? Then o has it. */
static bool is_matrix(const struct kernel *k, value_id v, struct operand *o) {
    const struct value_node *x = &k->values.at[v];
    if (x->n_args) return false;
    ex from[] = {k->axis[AXIS_Z], k->axis[o->axis], k->axis[AXIS_R]}, zero = ex_const(k->ex, 0);
    ex to[] = {zero, zero, zero}, first = x->index;
    for (int i = 0; i < 3; i++)
        if (from[i]) first = ex_subst(k->ex, first, &from[i], &to[i], 1);
    if (!ex_is_const(k->ex, first, &o->offset)) return false;
    int64_t row = o->rows > 1 ? index_stride(k, x->index, o->axis) : 0;
    int64_t depth = o->depth > 1 ? index_stride(k, x->index, AXIS_R) : 0;
    o->batch = o->batches > 1 ? index_stride(k, x->index, AXIS_Z) : 0;
    o->along = depth != 1 && row == 1;
    o->pitch = o->along ? depth : row;
    int64_t lines = o->along ? o->depth : o->rows, line = o->along ? o->rows : o->depth;
    if (!o->along && depth != 1 && o->depth > 1) return false;
    int64_t unit = PIECE / dtype_bytes(o->stored);
    int bytes = dtype_bytes(o->stored);
    if (lines == 1) o->pitch = round_to_lines(line, bytes);
    if (o->batches == 1) o->batch = round_to_lines(o->pitch * lines, bytes);
    o->plane = 0;
    return o->pitch >= line && o->batch > 0 && !(o->pitch % unit) && !(o->batch % unit) &&
           !(o->offset % unit);
}

/* Where what axis x reaches lies in runs, of one image's pixels each: how long these are, and how
 * far apart; 0: all of it is one. False if it does not lie so. */
static bool find_run(const struct kernel *k, ex index, enum axis x, int64_t *run, int64_t *jump) {
    struct exprs *p = k->ex;
    const struct axis_digits *d = &k->digits[x];
    *run = *jump = 0;
    if (index_stride(k, index, x) == 1) return true;
    if (d->n < 2 || !ex_is_const(p, d->size[d->n - 1], run) || *run < 1) return false;
    ex axis = k->axis[x], zero = ex_const(p, 0), second = ex_const(p, *run);
    ex first = ex_subst(p, index, &axis, &zero, 1);
    ex apart = ex_sub(p, ex_subst(p, index, &axis, &second, 1), first);
    if (!ex_is_const(p, apart, jump) || *jump < *run) return false;
    ex lies = ex_add(p, ex_mul(p, ex_div(p, axis, second), apart), ex_mod(p, axis, second));
    return ex_sub(p, index, first) == lies;
}

/* Can threads copy the load's elements, by pieces that may be smaller than a tensor map's? Then o
 * has how. */
static bool lies_in_pieces(const struct kernel *k, value_id v, struct operand *of) {
    const struct value_node *x = &k->values.at[v];
    struct operand o = *of;
    ex from[] = {k->axis[AXIS_Z], k->axis[o.axis], k->axis[AXIS_R]}, zero = ex_const(k->ex, 0);
    ex first = x->index;
    for (int i = 0; i < 3; i++)
        if (from[i]) first = ex_subst(k->ex, first, &from[i], &zero, 1);
    if (x->n_args || !ex_is_const(k->ex, first, &o.offset) || o.rows < 2 || o.depth < 2)
        return false;
    int64_t row = index_stride(k, x->index, o.axis), depth = index_stride(k, x->index, AXIS_R);
    o.batch = o.batches > 1 ? index_stride(k, x->index, AXIS_Z) : 0;
    o.along = depth != 1;
    o.pitch = o.along ? depth : row;
    if (o.along && !find_run(k, x->index, o.axis, &o.run, &o.jump)) return false;
    if (o.pitch < 1 || o.batch < 0) return false;
    int64_t lies[] = {o.pitch, o.batch, o.offset, o.run, o.jump};
    int bytes = dtype_bytes(o.stored);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        while (o.piece >= 4 && lies[i] * bytes % o.piece) o.piece /= 2;
    o.plane = 0;
    if (o.piece < 4) return false;
    *of = o;
    return true;
}

/* Does memory run along o's rows, in what the factor reads? So do the pixels of images, if their
 * number is no multiple of a vector: 49 of each, one beside the other. */
static bool runs_along_rows(const struct kernel *k, const struct operand *o) {
    const bool *needed = kernel_parts(k, o->factor);
    bool rows = false;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD) continue;
        if (load_stride(k, x, AXIS_R) == 1) return false;
        rows |= load_first_step(k, x, o->axis) == 1;
    }
    return rows;
}

/* An image of the factor in the workspace, its lines so many elements apart. */
static void set_image(struct operand *o, int64_t pitch) {
    o->load = NO_VALUE;
    o->stored = o->dtype;
    o->stacked = o->splits = false;
    o->pitch = pitch;
    o->batch = pitch * (o->along ? o->depth : o->rows);
    o->plane = o->batch * o->batches;
    o->offset = o->run = 0;
    o->piece = PIECE;
    o->bytes = round_up(o->plane * o->planes * dtype_bytes(o->dtype), 1024);
}

static void set_paired(struct operand *o) {
    o->paired = true;
    o->pitch = o->depth * o->planes;
    o->batch = o->pitch * o->rows;
    o->plane = PAIRED_DEPTH;
    o->bytes = round_up(o->batch * o->batches * dtype_bytes(o->dtype), 1024);
}

/* A step copies whole lines, of which there are no others. */
static void stack_lines(struct operand *o, int depth) {
    int planes = o->paired ? o->planes : 1, elements = LINE / dtype_bytes(o->dtype);
    o->stacked = !o->along && o->pitch == o->depth * planes && o->depth % depth == 0 &&
                 depth * planes % elements == 0;
}

int64_t operand_lines(const struct operand *o) {
    return o->depth * (o->paired ? o->planes : 1) * dtype_bytes(o->stored) / LINE;
}

/* Elements from a line of an image to the next. */
static int64_t image_pitch(int64_t width, int bytes) {
    int64_t whole = round_up(width, LINE / bytes);
    return whole - width <= width / 8 ? whole : round_to_lines(width, bytes);
}

/* ---- windows --------------------------------------------------------------------------------- */

void operand_tap(const struct operand *o, int64_t depth, int64_t *tap, int64_t *channel) {
    *tap = depth / o->channels, *channel = depth % o->channels;
    if (!o->step_taps) return;
    if (operand_has_pairs_of_slots(o)) {
        int64_t of = depth % 16, slot = of / 8 * 2 + of % 2;
        depth += slot * LYING_SLOT + of % 8 / 2 - of;
    }
    int64_t step = depth / (o->step_places * o->step_channels),
            of_tap = o->channels / o->step_channels, place = depth / o->step_channels;
    place %= o->step_places;
    *tap = step / of_tap * o->step_taps + place;
    *channel = step % of_tap * o->step_channels + depth % o->step_channels;
    if (place >= o->step_taps) *channel = o->channels; /* none */
}

bool operand_has_pairs_of_slots(const struct operand *o) {
    return o->step_taps && dtype_bytes(o->dtype) == 2;
}

int operand_lines_of_taps(const struct operand *o) {
    int64_t of_line = o->order->dim[0].taps;
    return o->step_taps > of_line ? (int)(o->step_taps / of_line) : 1;
}

int operand_lying_pitch(int rows) { return rows + LYING_BEHIND; }

int operand_copied_bytes(const struct operand *o, int rows, int depth) {
    if (!o->lying) return rows * depth * dtype_bytes(o->stored);
    return operand_lines_of_taps(o) * o->step_channels * operand_lying_pitch(rows) *
           dtype_bytes(o->stored);
}

int operand_tile_bytes(const struct operand *o, int rows, int depth) {
    int bytes = operand_copied_bytes(o, rows, depth), unit = 8 * LINE;
    return o->lying ? (bytes + unit - 1) / unit * unit : bytes;
}

bool operand_has_edge(const struct operand *o, int d) {
    const struct im2col_dim *x = &o->order->dim[d];
    int64_t end = x->first + x->windows + (x->taps - 1) * x->apart;
    return d + 1 < o->order->n && (x->first < 0 || end > x->size);
}

/* Of row `row`, or -1: along dimension d. */
static int64_t lying_digit(const struct operand *o, int64_t row, int d) {
    int64_t at = row % o->positions / o->step[d];
    return d + 1 < o->order->n ? at % o->padded[d] : at;
}

static int64_t lying_element(const struct operand *o, int64_t z, int64_t row, int64_t depth) {
    const struct im2col *w = o->order;
    int64_t tap, channel, image = row / o->positions;
    operand_tap(o, depth, &tap, &channel);
    if (channel >= w->channels || image >= w->images) return -1;
    int64_t at = (o->batches > 1 ? z * o->batch : 0) + image * o->step[w->n] + channel * o->pitch;
    for (int d = 0; d < w->n; d++) {
        int64_t position = lying_digit(o, row, d) + w->dim[d].first + im2col_offset(w, d, tap);
        if (position < 0 || position >= w->dim[d].size) return -1;
        at += position * o->step[d];
    }
    return at;
}

/* All that windows reach, in one line for each channel: before and behind it a copy has zeros. */
static struct tensor_map lying_map(const struct operand *o, int rows) {
    const struct im2col *w = o->order;
    int64_t end = 1, bytes = dtype_bytes(o->stored), image = o->step[w->n];
    for (int d = 0; d < w->n; d++) end += (w->dim[d].size - 1) * o->step[d];
    if (o->batches > 1) image = o->batch;
    return (struct tensor_map){.dtype = o->stored,
                               .tf32 = o->dtype == DT_F32,
                               .rank = 3,
                               .size = {end, w->channels, o->step[w->n] / image * w->images},
                               .stride = {bytes, o->pitch * bytes, image * bytes},
                               .box = {operand_lying_pitch(rows), o->step_channels, 1}};
}

/* Rows that runs begin at, but for those that would end beyond the image: they are no windows. */
static int64_t flat_rows(const struct operand *o) {
    int64_t beyond = o->order->of ? o->order->channels - o->pitch : 0;
    return beyond > 0 ? o->rows - (beyond + o->pitch - 1) / o->pitch : o->rows;
}

static void set_flat_map(struct tensor_map *m, const struct operand *o) {
    bool runs = o->order->of != NULL;
    int bytes = dtype_bytes(o->stored);
    m->size[0] = runs ? o->order->channels : o->pitch;
    m->size[1] = flat_rows(o);
    m->size[2] = runs ? o->batches * o->planes : 1;
    m->stride[1] = o->pitch * bytes;
    m->stride[2] = (runs ? o->batch : o->pitch * o->rows) * bytes;
}

struct tensor_map operand_map(const struct operand *o, int line, int lines) {
    int64_t bytes = dtype_bytes(o->stored);
    int64_t width = o->along ? o->rows : o->depth, all = o->along ? o->depth : o->rows;
    int planes = o->paired ? 1 : o->planes;
    if (o->lying) return lying_map(o, lines);
    if (o->paired) width *= o->planes;
    struct tensor_map m = {.dtype = o->stored,
                           .tf32 = o->dtype == DT_F32 && o->load != NO_VALUE,
                           .rank = 3,
                           .size = {width, all, o->batches * planes},
                           .stride = {bytes, o->pitch * bytes, o->batch * bytes},
                           .box = {(int)(line / bytes), lines, 1},
                           .swizzle = line};
    if (o->stacked) {
        int64_t lines = operand_lines(o) * o->batches * planes;
        m.size[0] = line / bytes, m.size[2] = lines;
        m.stride[1] = line, m.stride[2] = all * line;
    }
    if (o->flat) set_flat_map(&m, o);
    if (!o->windows || o->flat) return m;
    const struct im2col *w = o->order;
    m.windows = true;
    m.rank = w->n + 2;
    m.size[0] = w->of                 ? w->channels
                : o->load == NO_VALUE ? o->pitch
                                      : (o->batches - 1) * o->batch + w->channels;
    m.size[w->n + 1] = w->of ? w->images * o->batches * o->planes : w->images;
    m.stride[w->n + 1] = o->step[w->n] * bytes;
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        m.size[d + 1] = x->size;
        m.stride[d + 1] = o->step[d] * bytes;
        m.box[d + 1] = d ? 1 : lines;
        m.window[d] = (struct tensor_windows){x->first, x->first + (x->windows - 1) * x->step,
                                              (int)(x->step < INT16_MAX ? x->step : INT16_MAX)};
    }
    m.box[w->n + 1] = 1;
    return m;
}

int64_t operand_flat_offset(const struct operand *o, int64_t tap) {
    int64_t offset = 0;
    for (int d = 0; d < o->order->n; d++)
        offset += im2col_offset(o->order, d, tap) * (o->step[d] / o->step[0]);
    return offset;
}

int64_t operand_element(const struct operand *o, int plane, int64_t z, int64_t row, int64_t depth) {
    const struct im2col *w = o->order;
    if (o->lying) return lying_element(o, z, row, depth);
    if (o->along) {
        int64_t window = depth;
        depth = row, row = window;
    }
    int64_t tap = depth / o->channels, channel = depth % o->channels;
    int64_t at = plane * o->plane + (o->batches > 1 ? z * o->batch : 0) + channel;
    if (channel >= w->channels) return -1;
    if (o->flat) {
        row += operand_flat_offset(o, tap);
        return tap < w->taps && row < flat_rows(o) ? at + row * o->pitch : -1;
    }
    if (!im2col_is_there(w, z, tap)) return -1;
    for (int d = 0; d < w->n; d++) {
        const struct im2col_dim *x = &w->dim[d];
        int64_t position = x->first + row % x->windows * x->step + im2col_offset(w, d, tap) +
                           im2col_shift(w, d, z);
        if (position < 0 || position >= x->size) return -1;
        at += position * o->step[d];
        row /= x->windows;
    }
    return row < w->images ? at + row * o->step[w->n] : -1;
}

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
        if (!o->flat && (x->taps - 1) * x->apart + x->most_shift >= tensor_map_offset_end(&m))
            return false;
    }
    return true;
}

/* Does a tile of so large a factor of few rows' product reach over so much of memory that this is
 * read slower than it could be? 32768 rows of 128 KB in tf32, by 128 x 32768, take an H200 1011 us
 * stacked and 1110 as they lie; 16384 of them 522 and 546. Of rows of 64 KB it gains less. */
static bool is_far_apart(const struct kernel *k, const struct operand *o, int64_t others,
                         int depth) {
    const int64_t LONG = INT64_C(128) << 10, LARGE = INT64_C(1) << 30, PART = 16;
    int64_t row = o->pitch * dtype_bytes(o->stored), bytes = row * o->rows * o->batches;
    bool whole = o->depth % depth == 0 && depth * dtype_bytes(o->stored) % LINE == 0;
    return !o->along && whole && others <= FEW && row >= LONG && bytes >= LARGE &&
           bytes <= k->limits->memory_bytes / PART;
}

/* Lines of 128 bytes, of f32 and of each plane, and a warp has whole lines of a step. */
static bool tile_may_split(const struct operand *o, int tile, int depth) {
    enum { MOST = 128 };
    int line = o->along ? tile : depth;
    return depth == PROMOTE_DEPTH && tile % (LINE / 2) == 0 && tile <= MOST &&
           line * dtype_bytes(o->dtype) % LINE == 0;
}

/* tile, depth: of the tile in shared memory. */
static struct operand make_operand(const struct kernel *k, value_id factor, enum axis axis,
                                   int tile, int depth, const struct product *p) {
    const struct value_node *x = &k->values.at[factor];
    bool batched = k->axis[AXIS_Z] && x->mask & MASK_Z;
    value_id load = plain_load(k, factor);
    enum dtype sums = k->values.at[k->dot].dtype;
    bool wide = sums == DT_F32, tf32 = is_tf32(k), by_warp = p->by_warp;
    bool reads = !by_warp && !p->tensor; /* may its threads read the left factor? */
    bool bytes = product_is_of_bytes(k);
    bool deep = tf32 || bytes; /* its lines run along the depth, whatever memory does */
    enum dtype of_planes = p->pairs ? DT_F16 : DT_BF16;
    struct operand o = {.factor = factor,
                        .load = load,
                        .axis = axis,
                        .dtype = bytes           ? unit_byte(k, factor)
                                 : wide && !tf32 ? of_planes
                                                 : sums,
                        .planes = 1,
                        .piece = PIECE,
                        .rows = kernel_size(k, axis),
                        .depth = kernel_size(k, AXIS_R),
                        .batches = batched ? kernel_size(k, AXIS_Z) : 1};
    o.stored = o.dtype;
    bool is_exact = load != NO_VALUE && k->values.at[load].dtype == o.dtype;
    bool is_one_plane = is_exact || bytes || (!p->pairs && fits_bf16(k, factor));
    if (wide && !is_one_plane && !tf32) o.planes = p->pairs ? 2 : 3;
    bool fixed = axis == AXIS_M ? k->a_fixed : k->b_fixed; /* packed in no call's time */
    int64_t others = kernel_size(k, axis == AXIS_M ? AXIS_N : AXIS_M);
    if (is_exact && is_matrix(k, load, &o)) {
        o.in_registers = tf32 && o.along && axis == AXIS_M && reads && !fixed;
        bool lies = !(deep && o.along) || o.in_registers;
        if (lies && (!fixed || by_warp || !is_far_apart(k, &o, others, depth))) return o;
    }
    struct operand pieces = o;
    if (is_exact && by_warp && !fixed && lies_in_pieces(k, load, &pieces) &&
        !(deep && pieces.along))
        return pieces;
    o.stored = DT_F32;
    bool is_f32 = load != NO_VALUE && k->values.at[load].dtype == DT_F32;
    o.in_registers = o.planes == 3 && reads && axis == AXIS_M && is_f32 && !p->crowded &&
                     (!fixed || others <= FEW) && is_matrix(k, load, &o) &&
                     operand_line(&o, tile, depth) == LINE;
    if (o.in_registers) return o;
    o.splits = p->splits && reads && is_f32 && !fixed && is_matrix(k, load, &o) &&
               tile_may_split(&o, tile, depth);
    if (o.splits) return o;
    if (o.planes > 1 && by_warp && o.rows * SMALL > others && (!fixed || others <= FEW) && is_f32 &&
        (is_matrix(k, load, &o) || lies_in_pieces(k, load, &o)) &&
        operand_line(&o, tile, depth) == 128)
        return o;
    o.across = runs_along_rows(k, &o);
    o.along = o.across && !deep;
    o.across &= deep;
    set_image(&o, image_pitch(o.along ? o.rows : o.depth, dtype_bytes(o.dtype)));
    if (p->pairs && depth == PAIRED_DEPTH && !o.along) set_paired(&o);
    if (fixed && !by_warp) stack_lines(&o, depth);
    return o;
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

double operand_line_clocks(const struct operand *o, bool by_warp) {
    const double WINDOW = 5, ROW = 5; /* not measured yet: tried, and never a first guess */
    return !o->windows || o->lying || by_warp ? 0 : o->flat ? ROW : WINDOW;
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
static double operand_us(const struct kernel *k, const struct operand *o, int line, int step,
                         int64_t others, int tile, int passes, bool by_warp) {
    const double COPIED = 48; /* bytes a clock, at most */
    const struct device_limits *d = k->limits;
    double clock = device_clock_ghz(d) * 1e3, bytes = dtype_bytes(o->dtype);
    double rate = d->matrix_tflops * 1e6 / (2 * clock); /* of the device, a clock */
    double all =
        (double)o->rows * (double)kernel_size(k, AXIS_Z) * (double)((others + tile - 1) / tile);
    double depth = (double)round_up(o->depth, line / dtype_bytes(o->dtype));
    double of_line = fmax(operand_line_clocks(o, by_warp), line / COPIED);
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
    double least = operand_us(k, best, line, step, others, tile, passes, by_warp);
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
            double us = operand_us(k, &o, l, step, others, tile, passes, by_warp);
            if (us < least || (flat && !best->order)) least = us, *best = o;
        }
    }
    return best->order;
}

/* The depth of both factors is taps then, of each all channels. Not if an image of the product's
 * own shape, or none, is better. */
static void choose_windows(const struct kernel *k, struct product *p, int side, int tile,
                           int other_tile, int depth, struct arena *a) {
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
static void choose_windows_along(const struct kernel *k, struct product *p, int side, int tile,
                                 int depth, struct arena *a) {
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
    if (!lies_in_memory(k, o, w)) set_lying_image(o, w);
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
static void choose_lying(const struct kernel *k, struct product *p, int rows, int depth,
                         struct arena *a) {
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

static int64_t flat_window(const struct operand *o, int64_t row) {
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

/* ---- tiles that warps make ------------------------------------------------------------------- */

/* Is the index, or the condition, so many elements further for each of the depth? */
static bool is_linear_in_depth(const struct kernel *k, value_id v) {
    const struct value_node *x = &k->values.at[v];
    if (!(x->mask & MASK_R) || (x->kind != INST_LOAD && x->kind != INST_INDEX)) return true;
    return x->kind == INST_LOAD && index_stride(k, x->index, AXIS_R) >= 0;
}

ex operand_in_run(const struct kernel *k, ex e, int n, int i) {
    struct exprs *p = k->ex;
    ex from = k->axis[AXIS_R], to = ex_add(p, ex_mul(p, k->run, ex_const(p, n)), ex_const(p, i));
    return ex_subst(p, e, &from, &to, 1);
}

/* Does the load's guard hold at element i of a run, as far as that depends on the depth? -1: who
 * knows. */
static int guard_in_run(const struct kernel *k, const struct value_node *x, int n, int i) {
    const struct value_node *g = x->guarded ? &k->values.at[x->args[0]] : NULL;
    int64_t holds;
    if (!g || !(g->mask & MASK_R)) return true;
    if (g->kind != INST_INDEX || !ex_is_const(k->ex, operand_in_run(k, g->index, n, i), &holds))
        return -1;
    return holds != 0;
}

bool operand_run(const struct kernel *k, const struct value_node *x, int n, struct run *out) {
    int64_t least = 0, most = 0, at[RUN];
    ex base = EX_NONE;
    if (!k->run) return false;
    for (int a = x->guarded; a < x->n_args; a++)
        if (k->values.at[x->args[a]].mask & MASK_R) return false;
    for (int i = 0; i < n; i++) {
        int holds = guard_in_run(k, x, n, i);
        ex index = operand_in_run(k, x->index, n, i);
        if (holds < 0) return false;
        out->at[i] = holds - 1;
        if (!holds) continue;
        if (base == EX_NONE) base = index;
        if (!ex_is_const(k->ex, ex_sub(k->ex, index, base), &at[i])) return false;
        if (at[i] < least) least = at[i];
        if (at[i] > most) most = at[i];
    }
    if (base == EX_NONE || most - least >= n) return false;
    out->width = (int)(most - least) + 1;
    out->first = ex_add(k->ex, base, ex_const(k->ex, least));
    for (int i = 0; i < n; i++)
        if (!out->at[i]) out->at[i] = (int)(at[i] - least);
    return !(out->width & (out->width - 1)) && ex_divides(k->ex, out->width, out->first);
}

/* Do rows lie apart, and along the depth what is read in vectors? */
static bool is_made_of_runs(const struct kernel *k, const struct operand *o, int depth) {
    enum { MOST_APART = 4 };
    const bool *needed = kernel_parts(k, o->factor);
    bool apart = false;
    struct run run;
    if (o->planes > 1 || dtype_bytes(o->dtype) != 2 || depth % RUN) return false;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        if (!operand_run(k, x, RUN, &run)) return false;
        int64_t step = load_first_step(k, x, o->axis);
        apart |= step < 0 || step > MOST_APART;
    }
    return apart;
}

struct making operand_making(const struct kernel *k, const struct operand *o, int rows, int depth) {
    enum { GROUP = 128, EACH = 8 };
    struct making m = {.rows = rows > GROUP ? rows / GROUP : 1,
                       .parts = rows < GROUP ? GROUP / rows : 1};
    const bool *needed = kernel_parts(k, o->factor);
    m.along = is_made_of_runs(k, o, depth);
    if (m.along) {
        m.parts = depth / RUN;
        m.rows = rows * m.parts / GROUP;
        m.pieces = RUN / EACH;
        return m;
    }
    m.pieces = depth / EACH / m.parts;
    for (value_id v = 0; v <= o->factor; v++)
        if (needed[v] && !is_linear_in_depth(k, v)) m.unrolled = true;
    return m;
}

/* Neighbouring rows have to be neighbours in memory, or nearly. */
const char *operand_unmakeable(const struct kernel *k, const struct operand *o, int rows, int depth,
                               struct arena *a) {
    enum {
        MOST_APART = 4,
        MOST_DEPTH = 384,
        LEAST_ROWS = 32,
        MOST_ROWS = 256,
        EACH = 8,
        THREADS = 128
    };
    const bool *needed = kernel_parts(k, o->factor);
    struct making m = operand_making(k, o, rows, depth);
    bool shared = m.along ? rows * m.parts % THREADS == 0 : !(rows & (rows - 1));
    if (rows < LEAST_ROWS || rows > MOST_ROWS || !shared)
        return arena_printf(a, "tiles of %d rows are not made", rows);
    if (m.along) return NULL;
    if (depth / EACH % m.parts) return "threads cannot share a row of tiles that are made";
    if (m.unrolled && o->depth > MOST_DEPTH)
        return arena_printf(a, "tiles of a depth of %lld are not made; %d is the limit",
                            (long long)o->depth, MOST_DEPTH);
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD || !(x->mask & MASK_R)) continue;
        if (x->n_args > x->guarded) return "tiles of what is looked up are not made";
        int64_t apart = load_first_step(k, x, o->axis);
        if (apart < 0 || apart > MOST_APART) return "rows of tiles that are made lie apart";
    }
    return NULL;
}

/* Is the image of what is packed at load that much larger than what it is made of? */
static bool is_smaller_made(const struct kernel *k, const struct operand *o) {
    const bool *needed = kernel_parts(k, o->factor);
    double read = 0;
    for (value_id v = 0; v <= o->factor; v++)
        if (needed[v] && k->values.at[v].kind == INST_LOAD)
            read += kernel_bytes_of(k, k->values.at[v].buffer);
    return o->planes == 1 && read * 3 < (double)o->bytes * 2;
}

static bool may_be_made(const struct kernel *k, const struct operand *o, bool fixed) {
    return o->load == NO_VALUE && (!fixed || is_smaller_made(k, o));
}

/* The larger one of those that would be packed in each call, or read as more than they are. */
static void choose_made(const struct kernel *k, struct product *p) {
    bool a = may_be_made(k, &p->a, k->a_fixed), b = may_be_made(k, &p->b, k->b_fixed);
    if (!a && !b) return;
    struct operand *o = a && (!b || p->a.bytes > p->b.bytes) ? &p->a : &p->b;
    o->made = true;
    o->along = o->across = false;
    set_image(o, o->depth);
    o->bytes = 0;
}

int64_t operand_row(const struct kernel *k, const struct operand *o, int64_t row) {
    const struct im2col *w = o->order;
    if (!operand_has_order(o)) return row < kernel_size(k, o->axis) ? row : -1;
    if (o->flat) return flat_window(o, row);
    int64_t tap = row / o->channels, channel = row % o->channels, number;
    if (tap >= w->taps || channel >= w->channels) return -1;
    ex from[] = {w->tap, w->channel}, to[] = {ex_const(k->ex, tap), ex_const(k->ex, channel)};
    bool known = ex_is_const(k->ex, ex_subst(k->ex, im2col_other(k, w), from, to, 2), &number);
    WS_ASSERT(known);
    return number;
}

int operand_line(const struct operand *o, int rows, int depth) {
    if (o->line || o->paired) return o->line ? o->line : LINE;
    int bytes = (o->along ? rows : depth) * dtype_bytes(o->stored);
    return !(bytes % 128) ? 128 : !(bytes % 64) ? 64 : !(bytes % 32) ? 32 : 0;
}

bool operand_has_runs(const struct operand *o) { return o->windows && o->order->of; }
bool operand_has_order(const struct operand *o) { return o->windows && (o->along || o->flat); }
bool operand_makes_planes(const struct operand *o) { return o->stored != o->dtype; }
int stored_planes(const struct operand *o) { return operand_makes_planes(o) ? 1 : o->planes; }

void product_operands(const struct kernel *k, struct product *p, int m, int n, int depth,
                      struct arena *a) {
    p->a = make_operand(k, k->dot_a, AXIS_M, m, depth, p);
    p->b = make_operand(k, k->dot_b, AXIS_N, n, depth, p);
    if (p->makers) choose_made(k, p);
    if (p->lying) choose_lying(k, p, m, depth, a);
    choose_windows(k, p, 1, n, m, depth, a);
    choose_windows(k, p, 0, m, n, depth, a);
    /* Where rows or columns are reduced, they are in the product's own order. */
    if (!k->over) choose_windows_along(k, p, 1, n, depth, a);
    if (!k->over) choose_windows_along(k, p, 0, m, depth, a);
    p->a.at_load = k->a_fixed && p->a.bytes;
    p->b.at_load = k->b_fixed && p->b.bytes;
}

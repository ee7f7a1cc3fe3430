/* operand_image.c: where a factor's elements lie: in images, in tiles in shared memory, and what
 * a tensor map is told of them. Asks an operand that is chosen. */
#include "kernel/operand_parts.h"

int64_t operand_lines(const struct operand *o) {
    return o->depth * (o->paired ? o->planes : 1) * dtype_bytes(o->stored) / LINE;
}

/* Elements from a line of an image to the next. */
int64_t image_pitch(int64_t width, int bytes) {
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
int64_t lying_digit(const struct operand *o, int64_t row, int d) {
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

bool windows_are_box(const struct operand *o, int64_t lines, int *box) {
    const struct im2col *w = o->order;
    if (!o->windows || o->flat) return false;
    for (int d = 0; d < w->n; d++) {
        int64_t windows = w->dim[d].windows;
        if (w->dim[d].step != 1) return false;
        bool all = lines % windows == 0;
        if (!all && windows % lines) return false;
        box[d] = (int)(all ? windows : lines);
        lines = all ? lines / windows : 1;
    }
    box[w->n] = (int)lines;
    return true;
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
    int box[IM2COL_DIMS + 1];
    m.windows = !windows_are_box(o, lines, box);
    for (int d = 0; d <= w->n && !m.windows; d++) m.box[d + 1] = box[d];
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

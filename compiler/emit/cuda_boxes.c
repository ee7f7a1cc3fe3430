/* cuda_boxes.c: COPY where a role of the block copies: boxes of an operand's tile, by tensor maps,
 * to this block or to all of its cluster.
 *
 *   copy A      k_map_load(stage + 0, &map_a, full + s * 8, step * 64 + 0, m0, 0);
 *
 * Of windows, which channels of which tap a box is of is known in each step; where the windows are,
 * once for a tile. Boxes that short steps leave out have a condition. */
#include "emit/cuda_mma.h"

/* Boxes that all steps copy. */
static int boxes_of_all(const struct tile_program *t, const struct tile_ring *r) {
    return t->product->shorts.every ? ring_boxes_of_short(t, r) : ring_boxes(r);
}

/* Where a window is, as tensor maps count. */
static void put_window(struct emitter *w, const struct tile_ring *r, const char *number) {
    const struct im2col *of = r->operand->order;
    const char x = ring_letter(r), *window = arena_printf(w->arena, "window_%c", x);
    int64_t all = 1;
    line(w, "const int %s = %s;", window, number);
    for (int d = 0; d < of->n; d++) {
        line(w, "const int %c_at%d = %s + %lld;", x, d, window_digit_text(w, of, d, window),
             (long long)of->dim[d].first);
        all *= of->dim[d].windows;
    }
    line(w, "const int %c_picture = %s / %lld;", x, window, (long long)all);
}

/* Of an image as it lies: which image the tile is of, and where in it. */
static void put_lying_place(struct emitter *w, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    long long of_image = o->batches > 1 ? o->step[o->order->n] / o->batch : 1;
    line(w, "const int a_at = m0 %% %lld;", (long long)o->positions);
    line(w, "const int a_picture = m0 / %lld * %lld%s;", (long long)o->positions, of_image,
         o->batches > 1 ? " + z" : "");
}

/* The first tap of a step, and how far from a row's own position the first of each line of taps
 * is. */
void put_lying_step(struct emitter *w, const struct tile_program *t) {
    const struct operand *o = &t->product->a;
    const struct im2col *of = o->order;
    long long parts = o->channels / o->step_channels;
    int lines = operand_lines_of_taps(o);
    int64_t first = 0;
    for (int d = 0; d < of->n; d++) first += of->dim[d].first * o->step[d];
    line(w, "const int number = %s;", tile_steps(t) > 1 ? depth_of_step(w, t, "step", 1) : "0");
    line(w, "const int tap = number / %lld * %d;", parts, o->step_taps);
    for (int l = 0; l < lines; l++) {
        const char *tap =
            l ? arena_printf(w->arena, "(tap + %d)", l * (o->step_taps / lines)) : "tap";
        struct buf b = buf_new(w->arena);
        for (int d = 0; d < of->n; d++)
            buf_printf(&b, " + %s * %lld", tap_digit_text(w, of, d, tap), (long long)o->step[d]);
        line(w, "const int further%d = %lld%s;", l, (long long)first, b.p);
    }
}

/* Lines of an image as it lies, for each line of taps, from a whole sector on. */
static void put_copy_lying(struct emitter *w, const struct tile_program *t,
                           const struct tile_ring *r) {
    const struct operand *o = r->operand;
    open_scope(w);
    put_lying_step(w, t);
    line(w, "const int channel = number %% %lld * %d;", (long long)(o->channels / o->step_channels),
         o->step_channels);
    for (int l = 0; l < ring_boxes(r); l++)
        line(w,
             "k_map_load(stage + %d, &map_a, full + s * 8, a_at + (further%d & -%d), channel, "
             "a_picture);",
             r->offset + l * ring_copied_bytes(r, 1), l, LYING_UNIT);
    close_brace(w);
}

/* Once for a tile, if its rows are windows: the first of those that the block copies. */
void put_first_window(struct emitter *w, const struct tile_ring *r) {
    char row = r->operand->axis == AXIS_M ? 'm' : 'n';
    if (r->operand->lying) put_lying_place(w, r);
    if (!r->operand->windows || r->operand->along || r->operand->flat) return;
    put_window(w, r,
               r->blocks > 1 ? arena_printf(w->arena, "%c0 + rank * %d", row, r->rows / r->blocks)
                             : arena_printf(w->arena, "%c0", row));
}

/* Which image a box is of: beyond all of them if its tap is none, or none of the phase's. */
static const char *picture_text(struct emitter *w, const struct tile_ring *r, int plane) {
    const struct operand *o = r->operand;
    const struct im2col *of = o->order;
    int64_t images = of->images * (of->of ? o->batches * o->planes : 1);
    struct buf b = buf_new(w->arena);
    buf_printf(&b, "%c_picture", ring_letter(r));
    if (o->batches > 1 && of->of) buf_printf(&b, " + z * %lld", (long long)of->images);
    const char *some = "";
    if (!o->along && o->depth % r->depth)
        some = arena_printf(w->arena, "tap < %lld", (long long)of->taps);
    if (of->there)
        some = arena_printf(w->arena, "%s%s%s", some, *some ? " && " : "", ex_text(w, of->there));
    if (*some) buf_printf(&b, " + (%s ? 0 : %lld)", some, (long long)images);
    if (of->of && plane) buf_printf(&b, " + %lld", (long long)(of->images * o->batches * plane));
    return b.p;
}

/* The i-th line of channels of a plane. place: of the block's part. Windows that are a box of the
 * image are copied as one, which begins at the first one's tap. */
static void put_copy_box(struct emitter *w, const struct tile_ring *r, int i, int plane,
                         const char *place) {
    const struct operand *o = r->operand;
    const struct im2col *of = o->order;
    struct buf at = buf_new(w->arena), offsets = buf_new(w->arena);
    int blocks = r->blocks > 1 ? (1 << r->blocks) - 1 : 0, box[IM2COL_DIMS + 1];
    bool boxes = windows_are_box(o, ring_box_lines(r) / ring_box_sharers(r), box);
    for (int d = 0; d < of->n; d++) {
        struct buf *offset = boxes ? &at : &offsets;
        buf_printf(&at, ", %c_at%d", ring_letter(r), d);
        buf_printf(offset, "%s%s", boxes ? " + " : ", ", tap_digit_text(w, of, d, "tap"));
        if (of->dim[d].shift) buf_printf(offset, " + %s", ex_text(w, of->dim[d].shift));
    }
    const char *to = arena_printf(w->arena, "stage + %d%s",
                                  r->offset + plane * r->bytes + i * ring_box_lines(r) * r->line,
                                  place),
               *channel = arena_printf(w->arena, "channel + %lld",
                                       of->of ? 0LL : (long long)o->plane * plane),
               *picture = picture_text(w, r, plane);
    if (boxes) {
        const char *many = blocks ? arena_printf(w->arena, "%d, ", blocks) : "";
        line(w, "k_map_load%s(%s, &map_%c, full + s * 8, %s%s%s, %s);", blocks ? "_multicast" : "",
             to, ring_letter(r), many, channel, at.p, picture);
        return;
    }
    line(w, "k_map_load_windows(%s, &map_%c, full + s * 8, %d, %s%s, %s%s);", to, ring_letter(r),
         blocks, channel, at.p, picture, offsets.p);
}

/* A box for this block, or for all of the cluster's. condition: "if (...) ", or "". */
static void put_map_load(struct emitter *w, const struct tile_ring *r, const char *condition,
                         const char *to, const char *x, const char *y, const char *batch) {
    int blocks = r->blocks > 1 ? (1 << r->blocks) - 1 : 0;
    if (w->y->leave_l2 && r->operand->once)
        line(w, "%sk_map_load_leaving(%s, &map_%c, full + s * 8, %d, %s, %s, %s);", condition, to,
             ring_letter(r), blocks, x, y, batch);
    else if (blocks)
        line(w, "%sk_map_load_multicast(%s, &map_%c, full + s * 8, %d, %s, %s, %s);", condition, to,
             ring_letter(r), blocks, x, y, batch);
    else
        line(w, "%sk_map_load(%s, &map_%c, full + s * 8, %s, %s, %s);", condition, to,
             ring_letter(r), x, y, batch);
}

/* So many rows on from the block's first is what a tap reads of positions, which are rows. */
static const char *shifted_row_text(struct emitter *w, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    const struct im2col *of = o->order;
    struct buf b = buf_new(w->arena);
    buf_puts(&b, o->axis == AXIS_M ? "m0" : "n0");
    if (r->blocks > 1) buf_printf(&b, " + rank * %d", r->rows / r->blocks);
    if (o->depth % r->depth) buf_printf(&b, " + (tap < %lld ? ", (long long)of->taps);
    for (int d = 0; d < of->n; d++) {
        const char *digit = tap_digit_text(w, of, d, "tap");
        buf_printf(&b, d || !(o->depth % r->depth) ? " + %s" : "%s", digit);
        if (d) buf_printf(&b, " * %lld", (long long)(o->step[d] / o->step[0]));
    }
    if (o->depth % r->depth) buf_printf(&b, " : %lld)", (long long)o->rows); /* it is 0 there */
    return b.p;
}

static void put_copy_shifted(struct emitter *w, const struct tile_ring *r, int i, int plane,
                             const char *place) {
    const struct operand *o = r->operand;
    bool runs = o->order->of != NULL;
    const char *x = "channel", *batch = "0";
    if (!runs && plane) x = arena_printf(w->arena, "channel + %lld", (long long)o->plane * plane);
    if (runs)
        batch = arena_printf(w->arena, "%s%lld", o->batches > 1 ? "z + " : "",
                             (long long)o->batches * plane);
    const char *to =
        arena_printf(w->arena, "stage + %d%s",
                     r->offset + plane * r->bytes + i * ring_box_lines(r) * r->line, place);
    put_map_load(w, r, "", to, x, shifted_row_text(w, r), batch);
}

/* Of each plane and each line of channels a box; all channels of it are of one tap. */
static void put_copy_windows(struct emitter *w, const struct tile_program *t,
                             const struct tile_ring *r) {
    const struct operand *o = r->operand;
    int of_all = boxes_of_all(t, r);
    const char *depth = depth_of_step(w, t, "step", r->depth);
    int lines = ring_box_lines(r), elements = ring_line_elements(r), boxes = ring_boxes(r);
    int each = o->along ? boxes / r->blocks : boxes; /* boxes of a block */
    const char *place = "", *first = "";             /* and where they begin */
    if (r->blocks > 1)
        place = arena_printf(w->arena, " + rank * %d",
                             (o->along ? each * lines : lines / r->blocks) * r->line);
    if (r->blocks > 1 && o->along) first = arena_printf(w->arena, " + rank * %d", each * elements);
    if (o->along) open_scope(w), put_window(w, r, depth);
    for (int i = 0; i < each; i++) {
        if (i >= of_all && !tile_has_both_steps(t)) break;
        if (i >= of_all)
            open_brace(w, "if (whole)");
        else
            open_scope(w);
        line(w, "const int number = %s + %d%s, tap = number / %lld;",
             !o->along           ? depth
             : o->axis == AXIS_M ? "m0"
                                 : "n0",
             i * elements, first, (long long)o->channels);
        line(w, "const int channel = number %% %lld%s;", (long long)o->channels,
             o->batches > 1 && !o->order->of
                 ? arena_printf(w->arena, " + z * %lld", (long long)o->batch)
                 : "");
        line(w, "(void)tap;");
        for (int p = 0; p < r->planes; p++)
            (o->flat ? put_copy_shifted : put_copy_box)(w, r, i, p, place);
        close_brace(w);
    }
    if (o->along) close_brace(w);
}

/* What each of the cluster's blocks copies of a ring's tile: boxes, or lines of each box. */
void put_copy(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    int boxes = ring_boxes(r), lines = ring_box_lines(r), elements = ring_line_elements(r);
    const char *row = o->axis == AXIS_M ? "m0" : "n0";
    int planes = o->paired ? 1 : r->planes; /* both lie in each line */
    const char *depth = depth_of_step(w, t, "step", r->depth * r->planes / planes);
    bool shared = r->blocks > 1;
    bool by_lines = boxes > r->blocks && boxes % r->blocks; /* of each box */
    int of_all = boxes_of_all(t, r);
    if (o->lying) {
        put_copy_lying(w, t, r);
        return;
    }
    if (o->windows) {
        put_copy_windows(w, t, r);
        return;
    }
    for (int p = 0; p < planes; p++) {
        const char *batch = o->batches > 1 ? "z" : "0";
        if (p) batch = arena_printf(w->arena, "%lld + %s", (long long)o->batches * p, batch);
        int each = o->along && shared && !by_lines ? (boxes + r->blocks - 1) / r->blocks : boxes;
        for (int i = 0; i < each; i++) {
            struct buf at = buf_new(w->arena), x = buf_new(w->arena);
            buf_printf(&at, "stage + %d", r->offset + p * r->bytes + i * lines * r->line);
            buf_printf(&x, "%s + %d", o->along ? row : depth, i * elements);
            const char *y = o->along ? depth : row;
            const char *of = batch;
            if (o->stacked) {
                x = buf_new(w->arena);
                buf_puts(&x, "0");
                of = arena_printf(w->arena, "(%s) * %lld + %s + %d", batch,
                                  (long long)operand_lines(o), depth_of_step(w, t, "step", boxes),
                                  i);
            }
            if (shared && o->along && boxes < r->blocks) {
                int of_box = lines / ring_box_sharers(r);
                buf_printf(&at, " + rank %% %d * %d + rank / %d * %d", boxes, lines * r->line,
                           boxes, of_box * r->line);
                buf_printf(&x, " + rank %% %d * %d", boxes, elements);
                y = arena_printf(w->arena, "%s + rank / %d * %d", depth, boxes, of_box);
            } else if (shared && o->along && by_lines) {
                buf_printf(&at, " + rank * %d", lines / r->blocks * r->line);
                y = arena_printf(w->arena, "%s + rank * %d", depth, lines / r->blocks);
            } else if (shared && o->along) {
                buf_printf(&at, " + rank * %d", each * lines * r->line);
                buf_printf(&x, " + rank * %d", each * elements);
            } else if (shared) {
                buf_printf(&at, " + rank * %d", lines / r->blocks * r->line);
                y = arena_printf(w->arena, "%s + rank * %d", row, lines / r->blocks);
            }
            if (i >= of_all && !tile_has_both_steps(t)) break;
            put_map_load(w, r, i >= of_all ? "if (whole) " : "", at.p, x.p, y, of);
        }
    }
}

/* cuda_warps.c: tiles that all threads copy, and products that each warp makes by itself, in CUDA
 * C++ from sm_80 on:
 *
 *     copy A 3      if (step + 3 < steps) {
 *                       unsigned char *const stage = ring + (s + 3) % 4 * 32768;
 *                       for (int i = 0; i < 4; i++) {                   16 bytes each
 *                           const int at = i * 256 + tid, line = at / 8, piece = at % 8;
 *                           k_copy_piece(k_piece<128>(stage, 128, line, piece), from_a, 4096,
 *                                        m0 + line, 4096, (step + 3) * 64 + piece * 8, 4096);
 *                       }
 *                   }
 *     dot           for (int i = 0; i < 64; i += 16) {
 *                       unsigned a[1][4][4], b[1][2][2][2];
 *                       for (...) k_left_factor<128, false>(a[0][f], stage, 128, ...);
 *                       for (...) k_right_factor<128, true>(b[0][g], ...);
 *                       for (...) k_mma<k_bf16>(sums + ..., a[0][f], b[0][g][h]);
 *                   }
 *
 * A tile's boxes are swizzled as those of tensor maps: neither copies nor ldmatrix meet in a
 * bank. */
#include "emit/cuda_mma.h"

enum { PIECE = 16, FRAGMENT = 16, MOST_ROUNDS = 8 }; /* bytes; rows; copies of a thread in a row */

static int piece(const struct tile_ring *r) { return PIECE / dtype_bytes(r->operand->stored); }
static bool makes_planes(const struct tile_ring *r) { return operand_makes_planes(r->operand); }

static bool is_image(const struct tile_ring *r) { return r->operand->load == NO_VALUE; }
static const char *along_text(const struct tile_ring *r) {
    return r->operand->along ? "true" : "false";
}

void add_images(struct emitter *w, const struct tile_program *t, struct ws_launch *l) {
    for (int i = 0; i < RINGS; i++)
        if (is_image(&t->ring[i]))
            l->args[l->n_args++] = image_argument(t->ring[i].operand, t->image[i]);
}

void put_image_parameters(struct emitter *w, const struct tile_program *t) {
    for (int i = 0; i < RINGS; i++)
        if (is_image(&t->ring[i]))
            buf_printf(&w->b, ", %s *__restrict__ image_%c",
                       memory_type(w, t->ring[i].operand->dtype), ring_letter(&t->ring[i]));
}

void put_places_of_warps(struct emitter *w, const struct tile_program *t) {
    int across = t->ring[TILE_B].rows / t->product->warp_columns, warp = w->k->limits->warp;
    line(w, "const int tid = (int)threadIdx.x, group = 0;");
    line(w, "const int warp_m = tid / %d / %d * %d, warp_n = tid / %d %% %d * %d;", warp, across,
         t->product->warp_rows, warp, across, t->product->warp_columns);
    line(w, "(void)group;");
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = &t->ring[i];
        const struct operand *o = r->operand;
        const char *type = memory_type(w, o->stored);
        if (is_image(r))
            line(w, "const %s *const from_%c = image_%c;", type, ring_letter(r), ring_letter(r));
        else
            line(w, "const %s *const from_%c = p%d + %lldLL;", type, ring_letter(r),
                 argument_of(w, w->k->values.at[o->load].buffer), (long long)o->offset);
    }
}

/* Each piece is channels of one tap of one window: where in the image that is, if it is in it. */
static void put_piece_of_window(struct emitter *w, const struct tile_ring *r, int plane,
                                const char *depth) {
    const struct operand *o = r->operand;
    const struct im2col *of = o->order;
    const char *row = o->axis == AXIS_M ? "m0" : "n0";
    line(w, "const int window = %s + line, number = %s + piece * %d;", o->along ? depth : row,
         o->along ? row : depth, piece(r));
    line(w, "const int tap = number / %lld;", (long long)o->channels);
    int64_t windows = 1;
    struct buf inside = buf_new(w->arena), pixel = buf_new(w->arena);
    line(w, "(void)tap;");
    for (int d = 0; d < of->n; d++) {
        const struct im2col_dim *y = &of->dim[d];
        line(w, "const int at%d = %s + %s + %lld%s;", d, window_digit_text(w, of, d, "window"),
             tap_digit_text(w, of, d, "tap"), (long long)y->first,
             y->shift ? arena_printf(w->arena, " + %s", ex_text(w, y->shift)) : "");
        buf_printf(&inside, " && (unsigned)at%d < %lld", d, (long long)y->size);
        buf_printf(&pixel, " + at%d * %lldLL", d, (long long)o->step[d]);
        windows *= y->windows;
    }
    if (!o->along && o->depth % r->depth)
        buf_printf(&inside, " && tap < %lld", (long long)of->taps);
    if (of->there) buf_printf(&inside, " && %s", ex_text(w, of->there));
    bool ends = (of->of || !is_image(r)) && of->channels != o->channels,
         in_piece = ends && of->channels % piece(r);
    if (ends && !in_piece)
        buf_printf(&inside, " && number %% %lld < %lld", (long long)o->channels,
                   (long long)of->channels);
    line(w, "k_copy_piece_if%s(k_piece<%d>(stage + %d, %d, line, piece), from_%c,",
         in_piece ? "_of" : "", r->line, r->offset + plane * r->bytes, ring_box_lines(r),
         ring_letter(r));
    line(w, "                window / %lld * %lldLL%s + number %% %lld + %lld%s,",
         (long long)windows, (long long)o->step[of->n], pixel.p, (long long)o->channels,
         (long long)o->plane * plane,
         o->batches > 1 ? arena_printf(w->arena, " + z * %lldLL", (long long)o->batch) : "");
    line(w, "                window < %lld%s%s);", (long long)(o->along ? o->depth : o->rows),
         inside.p,
         in_piece ? arena_printf(w->arena, ", %lld - number %% %lld", (long long)of->channels,
                                 (long long)o->channels)
                  : "");
}

/* Where the tile's place for 16 bytes is. */
static const char *place_text(struct emitter *w, const struct tile_ring *r) {
    return makes_planes(r) ? arena_printf(w->arena, "k_piece_f32<%s>", along_text(r))
                           : arena_printf(w->arena, "k_piece<%d>", r->line);
}

/* Parts of 16 bytes, as small as the pieces that are aligned in memory; each is of one run. */
static void put_parts(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                      const char *depth) {
    const struct operand *o = r->operand;
    int per = PIECE / o->piece, elements = o->piece / dtype_bytes(o->stored);
    int parts = (o->along ? r->rows : r->depth) / elements, all = ring_box_lines(r) * parts;
    int rounds = (all + t->threads - 1) / t->threads;
    const char *row = o->axis == AXIS_M ? "m0" : "n0";
    line(w, "#pragma unroll %d", rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    open_brace(w, "for (int i = 0; i < %d; i++)", rounds);
    line(w, "const int number = i * %d + tid, line = number / %d, bit = number %% %d;", t->threads,
         parts, parts);
    if (all % t->threads) line(w, "if (number >= %d) break;", all);
    line(w, "const int down = %s + line, at = %s + bit * %d;", o->along ? depth : row,
         o->along ? row : depth, elements);
    const char *lies = "at";
    if (o->run)
        lies = arena_printf(w->arena, "at / %lld * %lldLL + at %% %lld", (long long)o->run,
                            (long long)o->jump, (long long)o->run);
    line(w, "k_copy_part<%d>(%s(stage + %d, %d, line, bit / %d) + bit %% %d * %d, from_%c,",
         o->piece, place_text(w, r), r->offset, ring_box_lines(r), per, per, o->piece,
         ring_letter(r));
    line(w, "               down * %lldLL + %s%s, down < %lld ? %lld - at : 0);",
         (long long)o->pitch, lies,
         o->batches > 1 ? arena_printf(w->arena, " + z * %lldLL", (long long)o->batch) : "",
         (long long)(o->along ? o->depth : o->rows), (long long)(o->along ? o->rows : o->depth));
    close_brace(w);
}

static void put_plane(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                      int plane, const char *step) {
    const struct operand *o = r->operand;
    int width = o->along ? r->rows : r->depth, across = width / piece(r);
    int pieces = ring_box_lines(r) * across, rounds = (pieces + t->threads - 1) / t->threads;
    const char *row = o->axis == AXIS_M ? "m0" : "n0";
    const char *depth = depth_of_step(w, t, arena_printf(w->arena, "(%s)", step), r->depth);
    if (o->piece < PIECE || o->run) {
        put_parts(w, t, r, depth);
        return;
    }
    line(w, "#pragma unroll %d", rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    open_brace(w, "for (int i = 0; i < %d; i++)", rounds);
    line(w, "const int at = i * %d + tid, line = at / %d, piece = at %% %d;", t->threads, across,
         across);
    if (pieces % t->threads) line(w, "if (at >= %d) break;", pieces);
    if (o->windows) {
        put_piece_of_window(w, r, plane, depth);
        close_brace(w);
        return;
    }
    line(w, "k_copy_piece(%s(stage + %d, %d, line, piece), from_%c + (%lldLL%s), %lld,",
         place_text(w, r), r->offset + plane * r->bytes, ring_box_lines(r), ring_letter(r),
         (long long)o->plane * plane,
         o->batches > 1 ? arena_printf(w->arena, " + z * %lldLL", (long long)o->batch) : "",
         (long long)o->pitch);
    line(w, "             %s + line, %lld, %s + piece * %d, %lld);", o->along ? depth : row,
         (long long)(o->along ? o->depth : o->rows), o->along ? row : depth, piece(r),
         (long long)(o->along ? o->rows : o->depth));
    close_brace(w);
}

void put_copy_by_warps(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                       int ahead) {
    const char *step = ahead ? arena_printf(w->arena, "step + %d", ahead) : "step";
    open_brace(w, "if (%s < steps)", step);
    if (ahead)
        line(w, "unsigned char *const stage = ring + (s + %d) %% %d * %d;", ahead, r->stages,
             r->stage);
    else
        line(w, "unsigned char *const stage = ring + s * %d;", r->stage);
    for (int p = 0; p < r->planes; p++) put_plane(w, t, r, p, step);
    close_brace(w);
}

/* What the warp needs of a ring's tile for an instruction's depth, from i on: of the planes from
 * `first` on so many. Fragments of tf32, 8 deep, and of bytes, 32 deep, are those of pairs of 16
 * bits; tf32 that was not packed is rounded here. */
static void put_fragments(struct emitter *w, const struct tile_ring *r, int n, int first,
                          int planes) {
    bool left = r->operand->axis == AXIS_M, tf32 = r->operand->dtype == DT_F32;
    char x = ring_letter(r);
    const char *in_halves = tf32 ? " * 2" : dtype_bytes(r->operand->dtype) == 1 ? " / 2" : "";
    const char *at = arena_printf(w->arena, "%d, warp_%c + f * %d, i%s", ring_box_lines(r),
                                  left ? 'm' : 'n', FRAGMENT, in_halves);
    const char *which = left ? "left" : "right";
    line(w, "unsigned %c[%d][%d]%s;", x, planes, n, left ? "[4]" : "[2][2]");
    line(w, "#pragma unroll");
    open_brace(w, "for (int f = 0; f < %d; f++)", n);
    if (makes_planes(r))
        line(w, "k_%s_planes<%s>(%c[0][f], %c[1][f], %c[2][f], stage + %d, %s);", which,
             along_text(r), x, x, x, r->offset, at);
    for (int p = 0; p < planes && !makes_planes(r); p++)
        line(w, "k_%s_factor<%d, %s>(%c[%d][f], stage + %d, %s);", which, r->line, along_text(r), x,
             p, r->offset + (first + p) * r->bytes, at);
    if (tf32 && !is_image(r))
        for (int i = 0; i < (left ? 1 : 2); i++)
            line(w, "k_round_to_tf32(%c[0][f]%s);", x, left ? "" : i ? "[1]" : "[0]");
    close_brace(w);
}

static void put_multiply(struct emitter *w, const struct tile_program *t, int a, int b) {
    enum dtype left = t->product->a.dtype, right = t->product->b.dtype;
    int down = t->product->warp_rows / FRAGMENT, across = t->product->warp_columns / FRAGMENT;
    const char *type = arena_printf(w->arena, "<%s>", memory_type(w, left));
    if (left == DT_F32) type = "_tf32";
    if (dtype_bytes(left) == 1)
        type =
            arena_printf(w->arena, "_bytes<%s, %s>", memory_type(w, left), memory_type(w, right));
    line(w, "#pragma unroll");
    line(w, "for (int f = 0; f < %d; f++)", down);
    line(w, "#pragma unroll");
    line(w, "    for (int g = 0; g < %d; g++)", 2 * across);
    line(w,
         "        k_mma%s(*(%s(*)[4])(sums + (f * %d + g) * 4), a[%d][f], b[%d][g / 2][g %% 2]);",
         type, sum_type(t), 2 * across, a, b);
}

/* The sum of an instruction's depth begins with its small products, as that of a whole step does
 * elsewhere: planes are made once, so all are at hand. The total takes it at once. */
void put_dot_of_made_planes(struct emitter *w, const struct tile_program *t) {
    const struct tile_ring *a = &t->ring[TILE_A], *b = &t->ring[TILE_B];
    int down = t->product->warp_rows / FRAGMENT, across = t->product->warp_columns / FRAGMENT;
    open_scope(w);
    line(w, "unsigned char *const stage = ring + s * %d;", a->stage);
    line(w, "#pragma unroll 1"); /* registers */
    open_brace(w, "for (int i = 0; i < %d; i += 16)", a->depth);
    put_fragments(w, a, down, 0, a->operand->planes);
    put_fragments(w, b, across, 0, b->operand->planes);
    line(w, "k_zero(sums);");
    for (int p = 0; p < t->product->n_passes; p++)
        put_multiply(w, t, t->product->pass[p].a, t->product->pass[p].b);
    put_add(w, t);
    close_brace(w);
    close_brace(w);
}

void put_dot_by_warps(struct emitter *w, const struct tile_program *t) {
    const struct tile_ring *a = &t->ring[TILE_A], *b = &t->ring[TILE_B];
    int down = t->product->warp_rows / FRAGMENT, across = t->product->warp_columns / FRAGMENT;
    open_scope(w);
    line(w, "unsigned char *const stage = ring + s * %d;", a->stage);
    for (int p = 0; p < t->product->n_passes; p++) {
        line(w, "#pragma unroll 2");
        open_brace(w, "for (int i = 0; i < %d; i += %d)", a->depth,
                   2 * PIECE / dtype_bytes(a->operand->dtype));
        put_fragments(w, a, down, t->product->pass[p].a, 1);
        put_fragments(w, b, across, t->product->pass[p].b, 1);
        put_multiply(w, t, 0, 0);
        close_brace(w);
    }
    close_brace(w);
}

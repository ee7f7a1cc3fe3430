/* cuda_chained.c: chained products by warps, in CUDA C++ from sm_80 on. A warp has some rows of
 * both products, of the first one the tile at hand:
 *
 *     copy A        pieces of the block's rows, once
 *     begin         float out[64], a7[1][2], a10[1][2];
 *     loop          for (int step = 0; step < steps; step++) {
 *     dot               sums = the tile's
 *     relate            float x7 = -inf, ...; sums[..] = v6;       what stands on no row yet
 *                       a7 = max(a7, x7); if (a7 > b7 + 5.5) b7 = a7; by = exp(was - b7);
 *                       sums[..] = v9 = exp(v6 - b7); x10 += v9;   what is relative to a maximum
 *                       a10 = a10 * by + x10; if (any by != 1) out[..] *= by;
 *     dot second        out += sums in 16 bits, which are a left factor as they lie, times the tile
 *     store             a10 and out[..] *= exp(b7 - a7); v11 = 1 / a10, v15 = out[..] * v11
 *
 * Where columns have values of their own, and rows are not reduced, all rows of a column follow
 * each other: what is the column's is needed no more then. Twins have more, more_terms and more_out
 * as well.
 *
 * Elements behind the last column are none: maxima leave them out, and as terms they are 0. What is
 * relative to the maximum of a row that has none but -inf is so to 0; in the end it is no number,
 * as exp(-inf - -inf) is. */
#include <math.h>
#include <string.h>

#include "emit/cuda_chained.h"

/* Rows stand on an earlier maximum as long as the one so far is no more above it: e^5.5 is 245, which
 * f16 has, too. So that what the second product has summed up is seldom rescaled. */
static const double MOST_ABOVE = 5.5;

enum { OCTET = 8, PAIR = 2, SIXTEEN = 16, MOST_ROUNDS = 8 };

static const struct chained *chained(const struct emitter *w) { return w->y->chained; }

static const char *const axis_name[] = {"x", "r", "z", "m", "n", "c"};

int chained_sixteens(const struct emitter *w) { return chained(w)->warp_rows / SIXTEEN; }
static int octets(const struct emitter *w) { return w->y->br / OCTET; }
int chained_column_octets(const struct emitter *w) { return chained(w)->columns / OCTET; }

static void open_loop(struct emitter *w, const char *i, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", i, i, n, i);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Elements that are no vectors in memory, or are computed. */
static void put_elements(struct emitter *w, const struct factor *f, const char *place) {
    const char *t = memory_type(w, f->dtype);
    enum axis along = f->across ? f->axis : f->along;
    line(w, "k_pack<%s, %d> x;", t, OCTET);
    line(w, "float v[%d];", OCTET);
    open_loop(w, "e", OCTET);
    line(w, "v[e] = 0;");
    line(w, "const k_idx %s = %s0 + e;", axis_name[along], axis_name[along]);
    open_brace(w, "if (inside && %s < n%s)", axis_name[along], axis_name[along]);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "v[e] = %s;", put_expression(w, f->value));
    close_brace(w);
    close_brace(w);
    line(w, "k_put(x, v);");
    line(w, "*(k_pack<%s, %d> *)%s = x;", t, OCTET, place);
}

/* All threads bring a tile, which begins at byte `at` of `tile`, of rows from `row` on and of the
 * depth from `depth` on. */
static void put_copy_of(struct emitter *w, const struct factor *f, const char *tile,
                        const char *row, const char *depth) {
    int lines = f->across ? f->depth : f->rows, wide = f->across ? f->rows : f->depth;
    int across = wide / OCTET, pieces = lines * across, threads = w->y->threads;
    int rounds = (pieces + threads - 1) / threads;
    enum axis down = f->across ? f->along : f->axis, along = f->across ? f->axis : f->along;
    const struct value_node *x = &w->k->values.at[f->value];
    while (x->kind == INST_CAST) x = &w->k->values.at[x->args[0]];
    line(w, "#pragma unroll %d", rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    open_brace(w, "for (int i = 0; i < %d; i++)", rounds);
    line(w, "const int at = i * %d + tid, line = at / %d, piece = at %% %d;", threads, across,
         across);
    if (pieces % threads) line(w, "if (at >= %d) break;", pieces);
    line(w, "const k_idx %s = %s + line;", axis_name[down], f->across ? depth : row);
    line(w, "const k_idx %s%s = %s + piece * %d;", axis_name[along], f->whole ? "" : "0",
         f->across ? row : depth, OCTET);
    const char *place =
        arena_printf(w->arena, "k_piece<%d>(%s, %d, line, piece)", f->line, tile, lines);
    if (f->whole) {
        line(w, "k_copy_piece_if(%s, p%d, %s, %s < n%s && %s < n%s);", place,
             argument_of(w, x->buffer), ex_text(w, x->index), axis_name[down], axis_name[down],
             axis_name[along], axis_name[along]);
    } else {
        line(w, "const bool inside = %s < n%s;", axis_name[down], axis_name[down]);
        put_elements(w, f, place);
    }
    close_brace(w);
}

static int factors_of_ring(const struct emitter *w, int ring) {
    return ring == TILE_C ? chained(w)->n_second : chained(w)->n_first;
}

static const struct factor *factor_at(const struct emitter *w, int ring, int i) {
    const struct chained *x = chained(w);
    return ring == TILE_C ? &x->c[i] : ring == TILE_A ? &x->a[i] : &x->b[i];
}

static const char *stage_text(struct emitter *w, const char *s, const struct factor *f) {
    const struct chained *x = chained(w);
    return arena_printf(w->arena, "(tiles + %d + %s * %d)", x->first + f->at, s, x->stage);
}

/* The tile of a step; of the one at hand the list is read as it begins. */
static const char *tile_of_step(struct emitter *w, const char *step, bool ahead) {
    if (!chained(w)->skips) return arena_printf(w->arena, "(%s + first_step)", step);
    return ahead ? arena_printf(w->arena, "(listed[%s + first_step] >> 1)", step)
                 : "(of_step >> 1)";
}

static void put_step_of_list(struct emitter *w) {
    if (chained(w)->skips) line(w, "const int of_step = listed[step + first_step];");
}

static const char *rows_text(struct emitter *w, const struct factor *f) {
    return f->at ? arena_printf(w->arena, "(tiles + %d)", f->at) : "tiles";
}

static void put_copy_ahead(struct emitter *w, int ring, int ahead) {
    for (int i = 0; i < factors_of_ring(w, ring) && ring == TILE_A; i++) {
        const struct factor *f = factor_at(w, ring, i);
        put_copy_of(w, f, rows_text(w, f), "m0", "0");
    }
    if (ring == TILE_A) return;
    const char *step = ahead ? arena_printf(w->arena, "step + %d", ahead) : "step";
    const char *s = ahead ? arena_printf(w->arena, "((s + %d) %% %d)", ahead, w->y->stages) : "s";
    const char *column = arena_printf(w->arena, "%s * %d", tile_of_step(w, step, true), w->y->br);
    open_brace(w, "if (%s < steps)", step);
    for (int i = 0; i < factors_of_ring(w, ring); i++) {
        const struct factor *f = factor_at(w, ring, i);
        if (f->shared) continue;
        put_copy_of(w, f, stage_text(w, s, f), ring == TILE_B ? column : "0",
                    ring == TILE_B ? "0" : column);
    }
    close_brace(w);
}

/* What the first products have summed up of the tile at hand, in whose place terms of the second
 * ones are made; these as a left factor; and what the second ones sum up. */
static const char *sums_of(int i) { return i ? "more" : "sums"; }
static const char *terms_of(int i) { return i ? "more_terms" : "terms"; }
const char *chained_out_of(int i) { return i ? "more_out" : "out"; }

static int tiles_between(const struct emitter *w) {
    const struct chained *x = chained(w);
    return x->n_first > x->n_second ? x->n_first : x->n_second;
}

static value_id second_of(const struct emitter *w, int i) { return i ? w->k->twin : w->k->second; }

/* ---- products -------------------------------------------------------------------------------- */

static void put_right(struct emitter *w, const struct factor *f, const char *row,
                      const char *depth) {
    line(w, "k_right_factor<%d, %s>(b, %s, %d, %s, %s);", f->line, f->across ? "true" : "false",
         stage_text(w, "s", f), f->across ? f->depth : f->rows, row, depth);
}

static void put_first_dot(struct emitter *w, int number) {
    const struct factor *a = &chained(w)->a[number];
    const char *sums = sums_of(number);
    const char *t = memory_type(w, a->dtype);
    line(w, "k_zero(%s);", sums);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i += %d)", a->depth, SIXTEEN);
    line(w, "unsigned a[%d][4];", chained_sixteens(w));
    line(w, "#pragma unroll");
    line(w, "for (int f = 0; f < %d; f++) k_left_factor<%d, %s>(a[f], %s, %d, warp_m + f * %d, i);",
         chained_sixteens(w), a->line, a->across ? "true" : "false", rows_text(w, a),
         a->across ? a->depth : a->rows, SIXTEEN);
    open_loop(w, "g", octets(w) / 2);
    line(w, "unsigned b[2][2];");
    put_right(w, &chained(w)->b[number], "g * 16", "i");
    open_loop(w, "f", chained_sixteens(w));
    line(w, "k_mma<%s>(*(float(*)[4])(%s + (f * %d + g * 2) * 4), a[f], b[0]);", t, sums,
         octets(w));
    line(w, "k_mma<%s>(*(float(*)[4])(%s + (f * %d + g * 2 + 1) * 4), a[f], b[1]);", t, sums,
         octets(w));
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

static void put_second_dot(struct emitter *w, int number) {
    const struct factor *c = &chained(w)->c[number];
    const char *terms = terms_of(number), *out = chained_out_of(number);
    const char *t = memory_type(w, c->dtype);
    open_loop(w, "i", octets(w) / 2);
    open_loop(w, "g", chained_column_octets(w) / 2);
    line(w, "unsigned b[2][2];");
    put_right(w, c, "g * 16", "i * 16");
    open_loop(w, "f", chained_sixteens(w));
    line(w, "k_mma<%s>(*(float(*)[4])(%s + (f * %d + g * 2) * 4), %s[f][i], b[0]);", t, out,
         chained_column_octets(w), terms);
    line(w, "k_mma<%s>(*(float(*)[4])(%s + (f * %d + g * 2 + 1) * 4), %s[f][i], b[1]);", t, out,
         chained_column_octets(w), terms);
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

/* ---- by warpgroups --------------------------------------------------------------------------- */

enum { WARPGROUP = 128 };

/* A factor's name in the text: a, b, c; d, e of the other first product, f of the second one. */
static char name_of(const struct emitter *w, const struct factor *f) {
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < factors_of_ring(w, ring); i++)
            if (f == factor_at(w, ring, i)) return (char)('a' + ring + (i ? TILE_C + 1 : 0));
    WS_BUG("no factor of chained products");
}

/* Boxes of a factor's tile, into the stage at hand, or of a's rows. */
static void put_boxes_of(struct emitter *w, int ring, const struct factor *f) {
    int lines = f->across ? f->depth : f->rows, each = f->line / 2;
    int boxes = (f->across ? f->rows : f->depth) / each;
    const char *row = ring == TILE_A   ? "m0"
                      : ring == TILE_B ? "column"
                                       : "0",
               *depth = ring == TILE_C ? "column" : "0";
    const char *along = f->across ? row : depth, *down = f->across ? depth : row;
    for (int i = 0; i < boxes; i++)
        line(w, "k_map_load(%s + %d, &map_%c, full + s * 8, %s + %d, %s, (int)(%s));",
             ring == TILE_A ? "tiles" : "stage", f->at + i * lines * f->line, name_of(w, f), along,
             i * each, down, ex_text(w, f->matrix));
}

static void put_boxes(struct emitter *w, int ring) {
    if (ring == TILE_A) open_brace(w, "if (step == 0)");
    for (int i = 0; i < factors_of_ring(w, ring); i++)
        if (!factor_at(w, ring, i)->shared) put_boxes_of(w, ring, factor_at(w, ring, i));
    if (ring == TILE_A) close_brace(w);
}

static void put_boxes_before(struct emitter *w) {
    open_brace(w, "if (step)");
    line(w, "const int column = %s * %d;", tile_of_step(w, "step - 1", true), w->y->br);
    put_boxes(w, TILE_C);
    close_brace(w);
}

/* Where a step's part of a factor lies, 16 deep, as an operand: from its tile's first on. */
static const char *operand_text_of(struct emitter *w, const struct factor *f, const char *at) {
    int lines = f->across ? f->depth : f->rows, in_line = f->line / 32;
    char x = name_of(w, f);
    if (f->across) return arena_printf(w->arena, "k_operand_on(of_%c, %si * %d)", x, at, f->line);
    return arena_printf(w->arena, "k_operand_on(of_%c, %si / %d * %d + i %% %d * 2)", x, at,
                        in_line, lines * f->line / 16, in_line);
}

static void put_operands(struct emitter *w) {
    enum { ROWS = 64 };
    const struct chained *x = chained(w);
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < factors_of_ring(w, ring); i++) {
            const struct factor *f = factor_at(w, ring, i);
            int lead = f->across ? f->depth * f->line : 16;
            int from = f->at + (ring == TILE_A ? 0 : x->first);
            int of_group = f->across ? ROWS / (f->line / 2) * f->depth * f->line : ROWS * f->line;
            line(w, "const unsigned long long of_%c = k_operand<%d>(tiles + (%d%s), %d, %d);",
                 name_of(w, f), f->line, from,
                 ring != TILE_A ? "" : arena_printf(w->arena, " + group * %d", of_group), lead,
                 8 * f->line);
        }
}

static void put_sums(struct emitter *w) {
    for (int p = 0; p < tiles_between(w); p++)
        line(w, "float %s[%d];", sums_of(p), chained_sixteens(w) * octets(w) * 4);
}

static void put_terms_of(struct emitter *w) {
    for (int p = 0; p < chained(w)->n_second; p++)
        line(w, "unsigned %s[%d][%d][4];", terms_of(p), chained_sixteens(w), octets(w) / 2);
}

static void hold_sums(struct emitter *w) {
    for (int p = 0; p < chained(w)->n_first; p++) line(w, "k_wgmma_hold(%s);", sums_of(p));
}

static void hold_out(struct emitter *w) {
    for (int p = 0; p < chained(w)->n_second; p++) line(w, "k_wgmma_hold(%s);", chained_out_of(p));
}

static void put_own_of_columns(struct emitter *w);

static void put_dot_of_group(struct emitter *w) {
    const struct chained *x = chained(w);
    /* in turn: none of those before, for which no registers are kept */
    if (chained_is_in_turn(w->y)) put_sums(w);
    hold_sums(w);
    line(w, "k_wgmma_begin();");
    for (int p = 0; p < x->n_first; p++) {
        open_loop(w, "i", x->a[p].depth / SIXTEEN);
        line(w, "k_wgmma_%s(%s, %s, %s, i);", p ? "beside" : "first", sums_of(p),
             operand_text_of(w, &x->a[p], ""),
             operand_text_of(w, &x->b[p], arena_printf(w->arena, "s * %d + ", x->stage / 16)));
        close_brace(w);
    }
    line(w, "k_wgmma_commit();");
    hold_sums(w);
    put_own_of_columns(w);
}

/* Of the tiles of stage `s`. */
static void put_second_dot_of_group(struct emitter *w, const char *s) {
    const struct chained *x = chained(w);
    hold_out(w);
    line(w, "k_wgmma_begin();");
    for (int p = 0; p < x->n_second; p++) {
        open_loop(w, "i", x->c[p].depth / SIXTEEN);
        line(w, "k_wgmma_%s(%s, %s[0][i], %s, 1);", p ? "twin" : "second", chained_out_of(p),
             terms_of(p),
             operand_text_of(w, &x->c[p], arena_printf(w->arena, "%s * %d + ", s, x->stage / 16)));
        close_brace(w);
    }
    line(w, "k_wgmma_commit();");
    hold_out(w);
}

/* Does a step's second product read the stage of the step before? */
static bool reads_before(const struct emitter *w) {
    return !chained_is_in_turn(w->y) && !chained_lags(w->y);
}

static void put_group_role(struct emitter *w, bool copies) {
    const struct chained *x = chained(w);
    if (copies) {
        open_brace(w, "if (threadIdx.x < %d)", WARPGROUP);
        if (x->copier_registers) line(w, "k_fewer_registers<%d>();", x->copier_registers);
        open_brace(w, "if (threadIdx.x < %d)", w->k->limits->warp);
        open_brace(w, "if (threadIdx.x == 0)");
    } else {
        open_brace(w, "else");
        if (x->registers) line(w, "k_more_registers<%d>();", x->registers);
        line(w, "const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / %d - 1, 0);",
             WARPGROUP);
        line(w, "const int tid = (int)threadIdx.x %% %d, quad = tid %% 4;", WARPGROUP);
        line(w, "const int warp_m = group * 64 + tid / %d * 16;", w->k->limits->warp);
        put_operands(w);
        if (x->n_own)
            line(w, "const k_shared columns = tiles + %d + (group * 4 + tid / %d) * %d;", x->own_at,
                 w->k->limits->warp, w->y->br * x->own_floats * 4);
        if (reads_before(w)) line(w, "int before = 0;");
        if (x->ping_pong) {
            line(w, "const k_shared turns = full + %d;", 2 * w->y->stages * 8);
            line(w, "const k_shared own_turn = turns + group * 8;");
            line(w, "const k_shared next_turn = group == %d ? turns : own_turn + 8;",
                 x->warpgroups - 1);
            line(w, "unsigned turn = group == 0;");
        }
    }
    line(w, "int s = 0;");
    line(w, "unsigned phase = 0;");
}

static void end_group_role(struct emitter *w, bool copies) {
    close_brace(w);
    if (!copies) return;
    line(w, "__syncwarp();");
    close_brace(w);
    close_brace(w);
}

/* What a step brings, and in the first one the block's rows. */
static void put_wait_empty(struct emitter *w, bool in_loop) {
    const struct chained *x = chained(w);
    if (!in_loop) line(w, "const int step = steps;");
    line(w, "k_mbar_wait_block(empty + s * 8, phase ^ 1);");
    int rows = 0, first = 0, second = 0;
    for (int i = 0; i < x->n_first; i++) rows += x->a[i].bytes, first += x->b[i].bytes;
    for (int i = 0; i < x->n_second; i++) second += x->c[i].shared ? 0 : x->c[i].bytes;
    if (in_loop)
        line(w, "k_mbar_arrive_expect_tx(full + s * 8, step ? %d : %d);", first + second,
             rows + first + (chained_lags(w->y) ? 0 : second));
    else
        line(w, "k_mbar_arrive_expect_tx(full + s * 8, %d);", second);
    line(w, "const k_shared stage = tiles + %d + s * %d;", x->first, x->stage);
    if (in_loop) line(w, "const int column = %s * %d;", tile_of_step(w, "step", false), w->y->br);
}

static void put_group_barriers(struct emitter *w) {
    const struct chained *x = chained(w);
    int stages = w->y->stages;
    line(w, "unsigned long long *const bars = (unsigned long long *)(memory + %d);", x->barriers);
    line(w,
         "const k_shared tiles = k_in_shared(memory), full = k_in_shared(bars), empty = full + %d;",
         stages * 8);
    open_brace(w, "if (threadIdx.x == 0)");
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < factors_of_ring(w, ring); i++)
            if (!factor_at(w, ring, i)->shared)
                line(w, "k_map_prefetch(&map_%c);", name_of(w, factor_at(w, ring, i)));
    line(w,
         "for (int i = 0; i < %d; i++) k_mbar_init(bars + i, 1), k_mbar_init(bars + %d + i, %d);",
         stages, stages, x->warpgroups);
    if (x->ping_pong)
        line(w, "for (int i = 0; i < %d; i++) k_mbar_init(bars + %d + i, %d);", x->warpgroups,
             2 * stages, WARPGROUP / w->k->limits->warp);
    line(w, "k_fence_mbar_init();");
    close_brace(w);
    line(w, "__syncthreads();");
}

/* Each warp says so: a turn later none of this warpgroup can be waiting for this one still. */
static void put_pass_turn(struct emitter *w) {
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(next_turn);", w->k->limits->warp);
}

/* Terms are made before the product of those before is waited for: what they sum up to says so. */
static void put_before(struct emitter *w) {
    value_id max = chained_maximum(w->k);
    for (value_id v = 0; v < w->k->values.n && max != NO_VALUE; v++) {
        if (w->k->values.at[v].kind != INST_REDUCE || is_second_product(w->k, v) ||
            kernel_online_maximum(w->k, v) == NO_VALUE || reduction_bytes(w->k, v) != 4)
            continue;
        line(w, "k_before(full + %d + (int)threadIdx.x * 4, a%u[0][0] + a%u[0][1]);",
             chained_barriers(w->y) * 8, v, v);
        return;
    }
}

static struct ws_arg map_of(struct emitter *w, const struct factor *f) {
    struct ws_map *m = NEW(w->arena, struct ws_map);
    const struct value_node *x = &w->k->values.at[f->value];
    while (x->kind == INST_CAST) x = &w->k->values.at[x->args[0]];
    *m = (struct ws_map){.dtype = f->map.dtype, .rank = f->map.rank, .swizzle = f->map.swizzle};
    memcpy(m->size, f->map.size, sizeof m->size);
    memcpy(m->stride, f->map.stride, sizeof m->stride);
    memcpy(m->box, f->map.box, sizeof m->box);
    return (struct ws_arg){.kind = WS_ARG_MAP,
                           .map = m,
                           .base = WS_ARG_BUFFER,
                           .buffer = (int)kernel_place_of(w->k, x->buffer)};
}

/* ---- between them ---------------------------------------------------------------------------- */

bool chained_is_between(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    return x->kind == INST_REDUCE && !is_first_product(w->k, v) && !is_second_product(w->k, v);
}

static bool of_row(const struct emitter *w, value_id v) {
    return !(w->k->values.at[v].mask & (MASK_N | MASK_C | MASK_R));
}

static bool of_column(const struct emitter *w, value_id v) {
    return chained_is_of(w->k, v, AXIS_N);
}

static void put_nowhere(struct emitter *w, const struct phase *f) {
    for (value_id v = 0; v < w->k->values.n; v++)
        w->where[v] = chained_is_between(w, v) ? ARRAY : NOWHERE;
    w->subscript = "[f][h]";
    value_id max = chained_maximum(w->k);
    if (max != NO_VALUE && f->at_hand != w->k->second) w->where[max] = CHUNK;
}

/* ---- of rows and columns alone --------------------------------------------------------------- */

static void open_rows_alone(struct emitter *w) {
    open_loop(w, "f", chained_sixteens(w));
    open_loop(w, "h", 2);
    line(w, "const k_idx row = first_row + f * 16 + h * 8, m = k_clamp(row, nm - 1);");
    line(w, "(void)m;");
}

/* What `own` has, or is made of. */
static bool *find_made_of(struct emitter *w, const struct own *own, int n) {
    bool *marks = NEW_ARRAY(w->arena, bool, w->k->values.n);
    for (int i = 0; i < n; i++)
        mark_needed(w, own[i].exponent ? chained_subtracted(w->k, own[i].value) : own[i].value,
                    marks);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    return marks;
}

/* exp(x * by - b) is 2^(x * by log2 e - b log2 e), one multiply-add of x: its two numbers. Where b
 * is so large that the factor has no place, as in exponent_of. */
static void put_numbers(struct emitter *w, value_id v, const char *scale, const char *l) {
    double by;
    value_id b = chained_subtracted(w->k, v), mask;
    chained_unscaled(w->k, w->k->values.at[w->k->values.at[v].args[0]].args[0], &mask, &by);
    line(w, "const bool small%u = fabsf(%s) < 1e30f;", v, ref(w, b));
    line(w, "%s = small%u ? %.9ef : %.9ef;", scale, v, by * 1.4426950408889634, by);
    line(w, "%s = small%u ? %s * 1.44269504f : (float)%s;", l, v, ref(w, b), ref(w, b));
}

/* The exponential v of such numbers. */
static void put_exponential(struct emitter *w, value_id v, const char *scale, const char *l) {
    double by;
    value_id mask, f = w->k->values.at[w->k->values.at[v].args[0]].args[0],
                   x = chained_unscaled(w->k, f, &mask, &by);
    const char *of = ref(w, x);
    if (mask != NO_VALUE) {
        const struct value_node *where = &w->k->values.at[mask];
        const char *c = ref(w, where->args[0]);
        bool first = w->k->values.at[where->args[1]].kind != INST_CONST ||
                     w->k->values.at[where->args[1]].number != -INFINITY;
        of = first ? arena_printf(w->arena, "(%s ? %s : (-k_inf()))", c, of)
                   : arena_printf(w->arena, "(%s ? (-k_inf()) : %s)", c, of);
    }
    line(w, "const float v%u = k_exp2(fmaf(%s, %s, -%s));", v, of, scale, l);
    w->where[v] = LOCAL;
}

/* What a block's rows have of their own is there once: in registers. */
static void put_own_of_rows(struct emitter *w) {
    struct own own[MOST_OWN];
    int n = chained_own(w->k, AXIS_M, own), rows = chained_sixteens(w);
    if (!n) return;
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value;
        if (own[i].exponent)
            line(w, "float scale%u[%d][2], l%u[%d][2];", v, rows, v, rows);
        else
            line(w, "float own%u[%d][2];", v, rows);
    }
    const bool *marks = find_made_of(w, own, n);
    open_rows_alone(w);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v]) put_local(w, v);
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value;
        if (own[i].exponent)
            put_numbers(w, v, arena_printf(w->arena, "scale%u[f][h]", v),
                        arena_printf(w->arena, "l%u[f][h]", v));
        else
            line(w, "own%u[f][h] = %s;", v, ref(w, v));
    }
    close_brace(w);
    close_brace(w);
}

/* A lane has every 32nd column of a tile. */
static int columns_of_lane(const struct emitter *w) {
    int warp = w->k->limits->warp;
    return (w->y->br + warp - 1) / warp;
}

/* Do registers suffice for what the next step's columns load? It is there then when their values
 * are made; else products behind that have to wait for it, or take longer anyway. */
static bool loads_ahead(const struct emitter *w) {
    enum { MOST = 160 };
    const struct chained *x = chained(w);
    return x->n_own && tiles_between(w) * w->y->br / 2 + x->n_second * x->columns / 2 <= MOST;
}

static bool is_ahead(const struct emitter *w, value_id v) {
    return w->k->values.at[v].kind == INST_LOAD && chained_is_of(w->k, v, AXIS_N) &&
           !w->k->values.at[v].n_args;
}

static void open_columns_of_lane(struct emitter *w, const char *tile) {
    open_loop(w, "j", columns_of_lane(w));
    line(w, "const int i = j * %d + tid %% %d;", w->k->limits->warp, w->k->limits->warp);
    line(w, "const k_idx column = %s * %d + i, n = k_clamp(column, nn - 1);", tile, w->y->br);
    line(w, "(void)n;");
}

/* What the columns of a step load. */
static void put_columns_ahead(struct emitter *w, const char *step) {
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    open_brace(w, "if (%s < steps)", step);
    open_columns_of_lane(w, tile_of_step(w, step, true));
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v] && is_ahead(w, v)) line(w, "ahead%u[j] = %s;", v, source_text(w, v));
    close_brace(w);
    close_brace(w);
}

static void put_first_columns(struct emitter *w) {
    if (!loads_ahead(w)) return;
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (marks[v] && is_ahead(w, v))
            line(w, "%s ahead%u[%d];", math_type(w->k->values.at[v].dtype), v, columns_of_lane(w));
    put_columns_ahead(w, "0");
}

/* What a tile's columns have of their own, made by each warp for its rows. Lanes have read that of
 * the step before when they meet here. */
static void put_own_of_columns(struct emitter *w) {
    const struct chained *x = chained(w);
    bool ahead = loads_ahead(w);
    int at = 0;
    if (!x->n_own) return;
    const bool *marks = find_made_of(w, chained(w)->own, chained(w)->n_own);
    line(w, "__syncwarp();");
    open_columns_of_lane(w, tile_of_step(w, "step", false));
    line(w, "float own[%d];", x->own_floats);
    line(w, "k_zero(own);");
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!marks[v]) continue;
        if (!ahead || !is_ahead(w, v)) {
            put_local(w, v);
            continue;
        }
        line(w, "const %s v%u = ahead%u[j];", math_type(w->k->values.at[v].dtype), v, v);
        w->where[v] = LOCAL;
    }
    for (int i = 0; i < x->n_own; i++) {
        value_id v = x->own[i].value;
        if (x->own[i].exponent)
            put_numbers(w, v, arena_printf(w->arena, "own[%d]", at),
                        arena_printf(w->arena, "own[%d]", at + 1));
        else
            line(w, "own[%d] = %s;", at, ref(w, v));
        at += x->own[i].exponent ? 2 : 1;
    }
    bool ends = w->y->br % w->k->limits->warp != 0;
    line(w, "%sk_shared_put(columns + i * %d, own);",
         ends ? arena_printf(w->arena, "if (i < %d) ", w->y->br) : "", x->own_floats * 4);
    close_brace(w);
    line(w, "__syncwarp();");
    if (ahead) put_columns_ahead(w, "step + 1");
}

/* The own values of rows; of columns, where these are gone along. */
static int own_of(const struct emitter *w, enum axis axis, struct own *own) {
    const struct chained *x = chained(w);
    if (axis == AXIS_M) return chained_own(w->k, AXIS_M, own);
    memcpy(own, x->own, sizeof x->own);
    return x->n_own;
}

/* Of values along that axis alone: which does somebody read that does not have it from `own`? */
static bool *find_read(struct emitter *w, const struct phase *f, const struct own *own, int n,
                       enum axis axis) {
    const struct kernel *k = w->k;
    bool *read = NEW_ARRAY(w->arena, bool, k->values.n);
    for (uint32_t i = 0; i < f->reduce.n; i++) read[k->values.at[f->reduce.at[i]].args[0]] = true;
    read[k->second_a] = true;
    if (k->twin != NO_VALUE) read[k->twin_a] = true;
    for (uint32_t i = f->compute.n; i-- > 0;) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &k->values.at[v];
        bool has = false, exponent = false;
        for (int j = 0; j < n; j++) {
            has |= own[j].value == v && !own[j].exponent;
            exponent |= own[j].exponent && k->values.at[own[j].value].args[0] == v;
        }
        if (has || (chained_is_of(k, v, axis) && !read[v])) continue;
        exponent &= chained_is_exponent(k, v);
        for (int j = 0; j < x->n_args; j++)
            if (j != 1 || !exponent) read[x->args[j]] = true;
    }
    return read;
}

/* Values along that axis alone that are there, or read by nobody; differences likewise. */
static void leave_out_own(struct emitter *w, const struct phase *f, enum axis axis) {
    struct own own[MOST_OWN];
    int n = own_of(w, axis, own);
    if (!n) return;
    const bool *read = find_read(w, f, own, n, axis);
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (chained_is_of(w->k, f->compute.at[i], axis) && !read[f->compute.at[i]])
            w->where[f->compute.at[i]] = LOCAL;
    for (int i = 0; i < n; i++) {
        value_id v = own[i].value, sub = own[i].exponent ? w->k->values.at[v].args[0] : v;
        if (sub == v || chained_is_exponent(w->k, sub)) w->where[sub] = LOCAL;
    }
}

static void open_rows(struct emitter *w, const struct phase *f) {
    struct own own[MOST_OWN];
    int n = f == w->p->phases.at ? own_of(w, AXIS_M, own) : 0;
    open_rows_alone(w);
    if (n) leave_out_own(w, f, AXIS_M);
    for (int i = 0; i < n; i++)
        if (!own[i].exponent) line(w, "const float v%u = own%u[f][h];", own[i].value, own[i].value);
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (of_row(w, f->compute.at[i]) && w->where[f->compute.at[i]] != LOCAL)
            put_local(w, f->compute.at[i]);
}

static void close_rows_of(struct emitter *w) {
    close_brace(w);
    close_brace(w);
}

static bool ends_within_tile(const struct emitter *w) {
    return !w->whole && kernel_size(w->k, AXIS_N) % w->y->br != 0;
}

/* What v is an exponential of, if it is exp(f - max f): f, without the scale that it has. It is
 * 2^(f log2 e - max f log2 e), a multiply-add of f and a number of the row; where these are so
 * large that the factor has no place, neighbours are so far apart that e^x is 1 or nothing, and 2^x
 * as well: masks have the least number there is. */
static value_id exponent_of(const struct emitter *w, value_id v) {
    const struct value_node *all = w->k->values.at, *x = &all[v];
    value_id max = chained_maximum(w->k);
    double by;
    if (max == NO_VALUE || x->kind != INST_OP || x->op != OP_EXP) return NO_VALUE;
    if (dtype_opmath(x->dtype) != DT_F32) return NO_VALUE;
    const struct value_node *sub = &all[x->args[0]];
    if (sub->kind != INST_OP || sub->op != OP_SUB || sub->args[1] != max) return NO_VALUE;
    return sub->args[0] == all[max].args[0] ? chained_scaled(w->k, max, &by) : NO_VALUE;
}

/* Is the maximum that of `kept`, to be scaled once a row? */
static bool kept_is_scaled(const struct emitter *w, value_id max, double *by) {
    value_id of = chained_scaled(w->k, max, by);
    return of == w->p->kept && of != w->k->values.at[max].args[0];
}

static void open_columns_of_octet(struct emitter *w) {
    open_loop(w, "e", PAIR);
    line(w, "const k_idx column = first_column + g * %d + e, n = %s;", OCTET,
         ends_within_tile(w) ? "k_clamp(column, nn - 1)" : "column");
    line(w, "(void)n;");
}

/* Is v what neighbouring columns have beside each other, so that a thread loads a pair at once? It
 * is then so many elements behind a place that is computed once for the tile: were each address
 * made of its own index, they would take the registers that sums are in. */
static bool loads_pairs(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    int64_t step;
    ex rest = x->index;
    if (x->kind != INST_LOAD || x->n_args || !(x->mask & MASK_N) || ends_within_tile(w))
        return false;
    return dtype_bytes(buffer_dtype(w, x->buffer)) <= 4 &&
           index_is_vector(w->k, x->index, AXIS_N, PAIR) &&
           index_take(w->k, &rest, w->k->axis[AXIS_N], &step) && step == 1 &&
           !ex_uses(w->k->ex, rest, w->k->axis[AXIS_N]);
}

/* Of values that are not there yet, and of those of columns alone if so: where their pairs begin,
 * and the pairs of the octet at hand. */
static bool is_pair_at_hand(const struct emitter *w, value_id v, bool columns) {
    return w->where[v] != LOCAL && loads_pairs(w, v) && (!columns || of_column(w, v));
}

static void put_begin_of_pairs(struct emitter *w, const struct phase *f, bool columns) {
    line(w, "const k_idx n = first_column;");
    line(w, "(void)n;");
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const struct value_node *x = &w->k->values.at[v];
        if (is_pair_at_hand(w, v, columns))
            line(w, "const %s *const at%u = p%d + (%s);",
                 memory_type(w, buffer_dtype(w, x->buffer)), v, argument_of(w, x->buffer),
                 ex_text(w, x->index));
    }
}

static void put_pairs(struct emitter *w, const struct phase *f, bool columns) {
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        const char *t = memory_type(w, buffer_dtype(w, w->k->values.at[v].buffer));
        if (is_pair_at_hand(w, v, columns))
            line(w, "const k_pack<%s, %d> pair%u = k_load<%s, %d>(at%u + g * %d);", t, PAIR, v, t,
                 PAIR, v, OCTET);
    }
}

static void put_of_pair(struct emitter *w, value_id v) {
    line(w, "const %s v%u = k_get(pair%u, e);", math_type(w->k->values.at[v].dtype), v, v);
    w->where[v] = LOCAL;
}

/* False: v is no exponential of what rows or columns have. */
static bool put_own_exponential(struct emitter *w, value_id v) {
    for (enum axis axis = AXIS_M; axis <= AXIS_N; axis++) {
        struct own own[MOST_OWN];
        int n = own_of(w, axis, own);
        const char *at = axis == AXIS_M ? "[f][h]" : "";
        for (int i = 0; i < n; i++) {
            if (own[i].value != v || !own[i].exponent) continue;
            put_exponential(w, v, arena_printf(w->arena, "scale%u%s", v, at),
                            arena_printf(w->arena, "l%u%s", v, at));
            return true;
        }
    }
    return false;
}

/* Values of the element at hand that are not there yet; pairs: those that come in pairs are. */
static void put_element(struct emitter *w, const struct phase *f, bool pairs) {
    line(w, "float &at = sums[(f * %d + g) * 4 + h * 2 + e];", octets(w));
    line(w, "const float v%u = at;", f->at_hand);
    w->where[f->at_hand] = LOCAL;
    if (tiles_between(w) > 1)
        line(w, "float &more_at = more[(f * %d + g) * 4 + h * 2 + e];", octets(w));
    if (w->k->beside != NO_VALUE) {
        line(w, "const float v%u = more_at;", w->k->beside);
        w->where[w->k->beside] = LOCAL;
    }
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if (v == f->at_hand || of_row(w, v) || w->where[v] == LOCAL) continue;
        if (pairs && loads_pairs(w, v)) {
            put_of_pair(w, v);
            continue;
        }
        if (put_own_exponential(w, v)) continue;
        value_id exponent = exponent_of(w, v);
        if (exponent == NO_VALUE || w->where[exponent] != LOCAL) {
            put_local(w, v);
            continue;
        }
        line(w, "const float v%u = k_exp2(fmaf(%s, scale[f][h], -l[f][h]));", v, ref(w, exponent));
        w->where[v] = LOCAL;
    }
}

static void put_tile_term(struct emitter *w, value_id v) {
    const char *x = arena_printf(w->arena, "x%u", v);
    double by;
    if (v == chained_maximum(w->k) && kept_is_scaled(w, v, &by)) {
        line(w, "x%u = %s;", v, combine_text(w, v, x, ref(w, w->p->kept)));
        return;
    }
    line(w, "x%u = %s;", v, combine_text(w, v, x, operand_text(w, v)));
}

/* `kept` takes the place of a sum; of none behind the last column. */
static void put_kept(struct emitter *w, const char *at, value_id kept, bool terms) {
    if (!ends_within_tile(w)) {
        line(w, "%s = %s;", at, ref(w, kept));
        return;
    }
    line(w, "%s = column < nn ? (float)%s : %s;", at, ref(w, kept), terms ? "0.0f" : "(-k_inf())");
}

/* Phase n of what is between: `kept` of it takes the place of the sums. */
static void put_between(struct emitter *w, const struct phase *f, value_id kept, bool terms) {
    for (uint32_t i = 0; i < f->reduce.n; i++)
        line(w, "%s x%u = %s;", accumulator_type(w, f->reduce.at[i]), f->reduce.at[i],
             identity_text(w, f->reduce.at[i]));
    put_begin_of_pairs(w, f, false);
    open_loop(w, "g", octets(w));
    put_pairs(w, f, false);
    open_columns_of_octet(w);
    put_element(w, f, true);
    bool ends = ends_within_tile(w);
    if (ends) open_brace(w, "if (column < nn)");
    for (uint32_t i = 0; i < f->reduce.n; i++) put_tile_term(w, f->reduce.at[i]);
    if (ends) close_brace(w);
    if (kept != NO_VALUE) put_kept(w, "at", kept, terms);
    if (w->k->twin != NO_VALUE) put_kept(w, "more_at", w->k->twin_a, terms);
    close_brace(w);
    close_brace(w);
}

/* Do columns have values of their own, which a thread would keep from row to row, and rows are not
 * reduced? */
static bool goes_by_columns(const struct emitter *w) {
    const struct phase *f = &w->p->phases.at[0];
    bool loads = false;
    for (uint32_t i = 0; i < f->compute.n; i++)
        loads |=
            w->k->values.at[f->compute.at[i]].kind == INST_LOAD && of_column(w, f->compute.at[i]);
    return loads && !f->reduce.n && chained_maximum(w->k) == NO_VALUE;
}

/* Of the column at hand, as its warp has made it. */
static void put_own_of_column(struct emitter *w) {
    const struct chained *x = chained(w);
    int at = 0;
    if (!x->n_own) return;
    line(w, "float own[%d];", x->own_floats);
    line(w, "k_shared_get(own, columns + (g * %d + quad * %d + e) * %d);", OCTET, PAIR,
         x->own_floats * 4);
    for (int i = 0; i < x->n_own; i++) {
        value_id v = x->own[i].value;
        if (x->own[i].exponent)
            line(w, "const float scale%u = own[%d], l%u = own[%d];", v, at, v, at + 1);
        else
            line(w, "const float v%u = own[%d];", v, at);
        at += x->own[i].exponent ? 2 : 1;
    }
}

/* Terms of all rows of a column, then of the next one. */
static void put_by_columns(struct emitter *w, const struct phase *f) {
    leave_out_own(w, f, AXIS_N);
    put_begin_of_pairs(w, f, true);
    open_loop(w, "g", octets(w));
    put_pairs(w, f, true);
    open_columns_of_octet(w);
    put_own_of_column(w);
    for (uint32_t i = 0; i < f->compute.n; i++) {
        value_id v = f->compute.at[i];
        if ((!of_column(w, v) && w->k->values.at[v].mask) || w->where[v] == LOCAL) continue;
        if (loads_pairs(w, v))
            put_of_pair(w, v);
        else
            put_local(w, v);
    }
    open_rows(w, f);
    put_element(w, f, false);
    put_kept(w, "at", w->k->second_a, true);
    if (w->k->twin != NO_VALUE) put_kept(w, "more_at", w->k->twin_a, true);
    close_rows_of(w);
    close_brace(w);
    close_brace(w);
}

static const char *reduce_lanes(struct emitter *w, value_id v, const char *of) {
    return arena_printf(w->arena, "k_reduce_lanes<%s, 1, 4>(%s)",
                        reduction_operator(w->k->values.at[v].reduction), of);
}

/* What is known of a tile: all elements count, by their places, by the data. */
enum { PLACES = 1, DATA = 2 };

/* Is v the same in all elements of such a tile? */
static bool is_known(const struct emitter *w, value_id v, int known, bool *holds) {
    return (known & PLACES && edges_decide(w->k, v, holds)) ||
           (known & DATA && questions_decide(w->k, v, holds));
}

/* Values that nothing but what is known of such a tile is made of are not needed, and loads are not
 * made. */
static void leave_out_parts(struct emitter *w, int known) {
    const struct kernel *k = w->k;
    enum { NO_USER, OF_KNOWN, NEEDED };
    uint8_t *use = NEW_ARRAY(w->arena, uint8_t, k->values.n);
    bool holds;
    for (uint32_t i = 0; i < k->stores.n; i++) use[k->stores.at[i].value] = NEEDED;
    for (value_id v = k->values.n; v-- > 0;) {
        bool idle = is_known(w, v, known, &holds) || use[v] == OF_KNOWN;
        for (int i = 0; i < k->values.at[v].n_args; i++) {
            uint8_t *of = &use[k->values.at[v].args[i]];
            if (!idle || !*of) *of = idle ? OF_KNOWN : NEEDED;
        }
        if (use[v] == OF_KNOWN) w->where[v] = LOCAL;
    }
}

/* What hides elements elsewhere. */
static void know_conditions(struct emitter *w, int known, bool declared) {
    bool holds;
    leave_out_parts(w, known);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!is_known(w, v, known, &holds)) continue;
        if (!declared) line(w, "const k_flag v%u = %d;", v, holds);
        w->where[v] = LOCAL;
    }
}

/* What rows have so far takes in the tile's. */
static void put_relate_of(struct emitter *w, int known) {
    const struct block *p = w->p;
    const struct phase *first = &p->phases.at[0];
    value_id max = chained_maximum(w->k);
    bool relative = max != NO_VALUE;
    open_scope(w);
    line(w, "const k_idx first_column = %s * %d + quad * %d;", tile_of_step(w, "step", false),
         w->y->br, PAIR);
    put_nowhere(w, first);
    know_conditions(w, known, false);
    if (goes_by_columns(w)) {
        put_by_columns(w, first);
        close_brace(w);
        return;
    }
    open_rows(w, first);
    put_between(w, first, relative ? p->kept : w->k->second_a, !relative);
    for (uint32_t i = 0; i < first->reduce.n; i++) {
        value_id v = first->reduce.at[i];
        const char *all = arena_printf(w->arena, "a%u[f][h]", v),
                   *x = arena_printf(w->arena, "x%u", v);
        double scale;
        if (v == max) {
            if (kept_is_scaled(w, v, &scale)) line(w, "x%u *= %.9ef;", v, scale);
            line(w, "const float before = a%u[f][h];", v);
            x = reduce_lanes(w, v, x);
        }
        line(w, "%s = %s;", all, combine_text(w, v, all, x));
    }
    if (relative) {
        line(w, "const bool stays = before != (-k_inf()) && a%u[f][h] - b%u[f][h] <= %.1ff;", max,
             max, MOST_ABOVE);
        line(w, "if (!stays) b%u[f][h] = a%u[f][h] == (-k_inf()) ? 0.0f : a%u[f][h];", max, max,
             max);
        line(w, "const float was = l[f][h];");
        double scale;
        chained_scaled(w->k, max, &scale);
        line(w, "const bool small = fabsf(b%u[f][h]) < 1e30f;", max);
        line(w, "scale[f][h] = small ? %.9ef : %.9ef;", scale * 1.4426950408889634, scale);
        line(w, "l[f][h] = small ? b%u[f][h] * 1.44269504f : b%u[f][h];", max, max);
        line(w, "by[f][h] = before == (-k_inf()) ? 0.0f : k_exp2(was - l[f][h]);");
    }
    close_rows_of(w);
    if (!relative) {
        close_brace(w);
        return;
    }
    const struct phase *later = &p->phases.at[1];
    put_nowhere(w, later);
    know_conditions(w, known, true);
    open_rows(w, later);
    put_between(w, later, w->k->second_a, true);
    for (uint32_t i = 0; i < later->reduce.n; i++)
        line(w, "a%u[f][h] = a%u[f][h] * by[f][h] + x%u;", later->reduce.at[i], later->reduce.at[i],
             later->reduce.at[i]);
    close_rows_of(w);
    close_brace(w);
}

static bool has_conditions_of_places(const struct emitter *w) {
    bool holds;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (is_known(w, v, PLACES, &holds)) return true;
    return false;
}

/* Of a block's tiles most are on one side of an edge, and end before the last column: these ask for
 * none of their elements. */
static void put_relate_by_places(struct emitter *w, int known) {
    const struct kernel *k = w->k;
    bool ends = ends_within_tile(w) && kernel_size(k, AXIS_N) > w->y->br;
    if (!ends && !has_conditions_of_places(w)) {
        put_relate_of(w, known);
        return;
    }
    line(w, "bool whole = true;");
    if (ends)
        line(w, "whole &= (%s + 1) * %d <= nn;", tile_of_step(w, "step", false), w->y->br);
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        long long m = e->by[AXIS_M], n = e->by[AXIS_N], low = e->first;
        low += (m < 0 ? m * (w->y->bx - 1) : 0) + (n < 0 ? n * (w->y->br - 1) : 0);
        line(w, "whole &= %lld + m0 * (%lld) + %s * (%lld) + z * (%lld) >= 0;", low, m,
             tile_of_step(w, "step", false), n * w->y->br, (long long)e->by[AXIS_Z]);
    }
    open_brace(w, "if (whole)");
    w->whole = ends;
    put_relate_of(w, known | PLACES);
    w->whole = false;
    close_brace(w);
    open_brace(w, "else");
    put_relate_of(w, known);
    close_brace(w);
}

/* And of those that a list has most have all that data may hide. */
static void put_relate(struct emitter *w) {
    if (!chained(w)->skips) {
        put_relate_by_places(w, 0);
        return;
    }
    open_brace(w, "if (of_step & 1)");
    put_relate_by_places(w, DATA);
    close_brace(w);
    open_brace(w, "else");
    put_relate_of(w, 0);
    close_brace(w);
}

/* What the second product has summed up stands on another maximum. */
static void put_rescaled(struct emitter *w) {
    open_loop(w, "i", chained_sixteens(w) * chained_column_octets(w) * 4);
    line(w, "out[i] *= by[i / %d][i / 2 %% 2];", chained_column_octets(w) * 4);
    close_brace(w);
}

/* Sums of sixteen columns, in 16 bits, are a left factor of a depth of sixteen. */
static void put_terms(struct emitter *w) {
    bool relative = chained_maximum(w->k) != NO_VALUE;
    if (relative) {
        line(w, "bool moves = false;");
        open_loop(w, "i", 2 * chained_sixteens(w));
        line(w, "moves |= by[i / 2][i %% 2] != 1.0f;");
        close_brace(w);
        open_brace(w, "if (__any_sync(0xffffffffu, moves))");
        put_rescaled(w);
        close_brace(w);
    }
    if (!chained(w)->by_warp && chained_is_in_turn(w->y)) put_terms_of(w);
    for (int p = 0; p < chained(w)->n_second; p++) {
        open_loop(w, "i", chained_sixteens(w) * octets(w) * 2);
        line(w, "k_pack<%s, 2> x;", memory_type(w, chained(w)->c[p].dtype));
        line(w, "k_put(x, %s + i * 2);", sums_of(p));
        line(w, "%s[i / %d][i / 4 %% %d][i %% 4] = x.w[0];", terms_of(p), octets(w) * 2,
             octets(w) / 2);
        close_brace(w);
    }
}

static void put_begin(struct emitter *w) {
    int rows = chained_sixteens(w);
    value_id max = chained_maximum(w->k);
    for (int p = 0; p < chained(w)->n_second; p++) {
        line(w, "float %s[%d];", chained_out_of(p), rows * chained_column_octets(w) * 4);
        line(w, "k_zero(%s);", chained_out_of(p));
    }
    if (chained(w)->by_warp || !chained_is_in_turn(w->y)) {
        put_sums(w);
        put_terms_of(w);
    }
    put_own_of_rows(w);
    put_first_columns(w);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v)) continue;
        line(w, "%s a%u[%d][2];", accumulator_type(w, v), v, rows);
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) a%u[i / 2][i %% 2] = %s;", rows * 2, v,
             identity_text(w, v));
    }
    if (max != NO_VALUE) {
        line(w, "float b%u[%d][2], by[%d][2], l[%d][2], scale[%d][2];", max, rows, rows, rows,
             rows);
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) b%u[i / 2][i %% 2] = 0, l[i / 2][i %% 2] = 0;",
             rows * 2, max);
    }
}

/* ---- behind them ----------------------------------------------------------------------------- */

/* All that rows have come to stands on their last maximum. */
static void put_last_maximum(struct emitter *w) {
    value_id max = chained_maximum(w->k);
    open_loop(w, "f", chained_sixteens(w));
    open_loop(w, "h", 2);
    line(w, "const float most = a%u[f][h] == (-k_inf()) ? 0.0f : a%u[f][h];", max, max);
    line(w, "const float of = fabsf(most) < 1e30f ? most * 1.44269504f : most;");
    line(w, "by[f][h] = most == b%u[f][h] ? 1.0f : k_exp2(l[f][h] - of);", max);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (chained_is_between(w, v) && v != max && kernel_online_maximum(w->k, v) == max)
            line(w, "a%u[f][h] *= by[f][h];", v);
    close_rows_of(w);
    put_rescaled(w);
}

/* The four threads of a row have a part each; none of a row that has no maximum is a number. In a
 * row that a low number hides all of, each element counts, those of tiles that are left out, too.
 */
static void put_whole_rows(struct emitter *w) {
    value_id max = chained_maximum(w->k);
    if (max != NO_VALUE) put_last_maximum(w);
    open_loop(w, "f", chained_sixteens(w));
    open_loop(w, "h", 2);
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!chained_is_between(w, v) || v == max) continue;
        line(w, "a%u[f][h] = %s;", v, reduce_lanes(w, v, arena_printf(w->arena, "a%u[f][h]", v)));
        if (max != NO_VALUE && kernel_online_maximum(w->k, v) == max)
            line(w, "a%u[f][h] += a%u[f][h] - a%u[f][h];", v, max, max);
        if (w->k->hidden != 0 && (w->k->edges.n || chained(w)->skips))
            line(w, "if (a%u[f][h] == %.9ef) a%u[f][h] += hidden;", max, w->k->hidden, v);
    }
    if (max != NO_VALUE) {
        line(w, "const float none = a%u[f][h] - a%u[f][h];", max, max);
        line(w, "#pragma unroll");
        line(w, "for (int g = 0; g < %d; g++) out[(f * %d + g / 2) * 4 + h * 2 + g %% 2] += none;",
             chained_column_octets(w) * 2, chained_column_octets(w));
    }
    close_rows_of(w);
}

/* Elements that a store puts at once: an octet, of four pairs that a row's threads exchange; two;
 * or one. */
static int store_width(const struct emitter *w, const struct store_node *s) {
    enum { QUAD = 4 };
    if (s->guard) return 1;
    bool narrow = dtype_bytes(buffer_dtype(w, s->buffer)) == 2;
    if (narrow && chained_column_octets(w) % QUAD == 0 &&
        index_is_vector(w->k, s->index, AXIS_C, OCTET))
        return OCTET;
    return index_is_vector(w->k, s->index, AXIS_C, PAIR) ? PAIR : 1;
}

static bool is_of_row_alone(const struct emitter *w, uint32_t store) {
    return !(w->k->stores.at[store].mask & MASK_C);
}

/* What rows have come to: one of a row's threads stores it. */
static void put_row_stores(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[f->stores.at[i]];
        if (!is_of_row_alone(w, f->stores.at[i])) continue;
        const char *also = s->guard ? arena_printf(w->arena, " && %s", ex_text(w, s->guard)) : "";
        line(w, "if (quad == 0 && row < nm%s) k_store1(p%d + (%s), (%s)%s);", also,
             argument_of(w, s->buffer), ex_text(w, s->index), math_type(buffer_dtype(w, s->buffer)),
             ref(w, s->value));
    }
}

/* What a thread has of `chunk` octets of a row, from the g-th on. */
static void put_store_of(struct emitter *w, uint32_t number, int chunk) {
    const struct store_node *s = &w->k->stores.at[number];
    int width = store_width(w, s), arg = argument_of(w, s->buffer);
    const char *t = memory_type(w, buffer_dtype(w, s->buffer));
    if (width == OCTET) {
        open_scope(w);
        line(w, "k_pack<%s, %d> x;", t, OCTET);
        line(w, "k_put(x, &o%u[0][0]);", number);
        line(w, "k_transpose_quad(x.w);");
        line(w, "const k_idx c = (g * %d + quad) * %d;", chunk, OCTET);
        line(w, "if (row < nm && c < nc) k_store<%s, %d, 0>(p%d + (%s), x);", t, OCTET, arg,
             ex_text(w, s->index));
        close_brace(w);
        return;
    }
    open_loop(w, "j", chunk);
    line(w, "const k_idx first = (g * %d + j) * %d + quad * %d;", chunk, OCTET, PAIR);
    if (width == PAIR) {
        line(w, "const k_idx c = first;");
        line(w, "k_pack<%s, %d> x;", t, PAIR);
        line(w, "k_put(x, o%u[j]);", number);
        line(w, "if (row < nm && c < nc) k_store<%s, %d, 0>(p%d + (%s), x);", t, PAIR, arg,
             ex_text(w, s->index));
    } else {
        const char *also = s->guard ? arena_printf(w->arena, " && %s", ex_text(w, s->guard)) : "";
        open_loop(w, "e", PAIR);
        line(w, "const k_idx c = first + e;");
        line(w, "if (row < nm && c < nc%s) k_store1(p%d + (%s), o%u[j][e]);", also, arg,
             ex_text(w, s->index), number);
        close_brace(w);
    }
    close_brace(w);
}

static void put_results(struct emitter *w) {
    enum { QUAD = 4 };
    const struct kernel *k = w->k;
    const struct phase *f = &w->p->phases.at[w->p->phases.n - 1];
    int chunk = 1;
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i]) &&
            store_width(w, &k->stores.at[f->stores.at[i]]) == OCTET)
            chunk = QUAD;
    put_whole_rows(w);
    put_nowhere(w, f);
    open_rows(w, f);
    put_row_stores(w, f);
    open_loop(w, "g", chained_column_octets(w) / chunk);
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i]))
            line(w, "%s o%u[%d][%d];",
                 math_type(buffer_dtype(w, k->stores.at[f->stores.at[i]].buffer)), f->stores.at[i],
                 chunk, PAIR);
    open_loop(w, "j", chunk);
    open_loop(w, "e", PAIR);
    line(w, "const int octet = g * %d + j;", chunk);
    line(w, "const k_idx column = octet * %d + quad * %d + e, c = k_clamp(column, nc - 1);", OCTET,
         PAIR);
    for (int p = 0; p < chained(w)->n_second; p++) {
        line(w, "const float v%u = %s[(f * %d + octet) * 4 + h * 2 + e];", second_of(w, p),
             chained_out_of(p), chained_column_octets(w));
        w->where[second_of(w, p)] = LOCAL;
    }
    line(w, "(void)c;");
    for (uint32_t i = 0; i < f->compute.n; i++)
        if (!of_row(w, f->compute.at[i])) put_local(w, f->compute.at[i]);
    for (uint32_t i = 0; i < f->stores.n; i++) {
        const struct store_node *s = &k->stores.at[f->stores.at[i]];
        if (is_of_row_alone(w, f->stores.at[i])) continue;
        line(w, "o%u[j][e] = (%s)%s;", f->stores.at[i], math_type(buffer_dtype(w, s->buffer)),
             ref(w, s->value));
    }
    close_brace(w);
    close_brace(w);
    for (uint32_t i = 0; i < f->stores.n; i++)
        if (!is_of_row_alone(w, f->stores.at[i])) put_store_of(w, f->stores.at[i], chunk);
    close_brace(w);
    close_rows_of(w);
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Of the tiles, the block's part. */
static void put_range_of_part(struct emitter *w, const char *first, const char *all) {
    int parts = w->y->split;
    if (parts == 1) {
        line(w, "const int first_step = %s, steps = %s;", first, all);
        return;
    }
    line(w, "const int all_steps = %s, each = (all_steps + %d) / %d;", all, parts - 1, parts);
    line(w, "const int skipped = part * each < all_steps ? part * each : all_steps;");
    line(w, "const int first_step = %s + skipped;", first);
    line(w, "const int steps = all_steps - skipped < each ? all_steps - skipped : each;");
}

/* Which columns count for the rows from m0 on, by edges, as chained_range has it. */
void put_chained_columns(struct emitter *w) {
    const struct kernel *k = w->k;
    line(w, "k_idx from = 0, end = nn;");
    for (uint32_t i = 0; i < k->edges.n; i++) {
        const struct edge *e = &k->edges.at[i];
        long long by = (long long)e->by[AXIS_N], of_m = (long long)e->by[AXIS_M];
        open_scope(w);
        line(w, "const k_idx top = %lld + m0 * (%lld) + z * (%lld);",
             (long long)e->first + (of_m > 0 ? of_m * (w->y->bx - 1) : 0), of_m,
             (long long)e->by[AXIS_Z]);
        if (by > 0) {
            line(w, "if (top < 0 && from < (%lld - top) / %lld) from = (%lld - top) / %lld;",
                 by - 1, by, by - 1, by);
        } else {
            line(w, "if (top < 0) end = 0;");
            if (by) line(w, "else if (top / %lld + 1 < end) end = top / %lld + 1;", -by, -by);
        }
        close_brace(w);
    }
    line(w, "if (end <= from) from = 0, end = 1;");
}

/* The block's tiles are those of a list; `hidden` elements are of no tile of it. */
static void put_list(struct emitter *w) {
    const struct kernel *k = w->k;
    long long n = w->y->br, tiles = tile_count(kernel_size(k, AXIS_N), w->y->br);
    line(w, "const int *const listed = lists + %s * %lld;", chained_list_text(w),
         (long long)skipped_length(k, w->y));
    if (k->hidden != 0) {
        line(w, "const k_idx beyond = listed[*listed] >> 1 == %lld ? %lld - nn : 0;", tiles - 1,
             tiles * n);
        line(w, "const k_idx hidden = nn + beyond - *listed * %lld;", n);
        line(w, "(void)hidden;");
    }
    put_range_of_part(w, "1", "*listed");
}

/* Which tiles of what is between count for the block's rows. */
static void put_range(struct emitter *w) {
    const struct kernel *k = w->k;
    int n = w->y->br;
    if (chained(w)->skips) {
        put_list(w);
        return;
    }
    if (!k->edges.n) {
        long long tiles = tile_count(kernel_size(k, AXIS_N), n);
        put_range_of_part(w, "0", arena_printf(w->arena, "%lld", tiles));
        return;
    }
    put_chained_columns(w);
    if (k->hidden != 0) {
        line(w, "const k_idx shown = (end + %d) / %d * %d;", n - 1, n, n);
        line(w, "const k_idx hidden = nn - (shown < nn ? shown : nn) + from / %d * %d;", n, n);
        line(w, "(void)hidden;");
    }
    put_range_of_part(w, arena_printf(w->arena, "from / %d", n),
                      arena_printf(w->arena, "(end + %d) / %d - from / %d", n - 1, n, n));
}

/* Do blocks of later rows have most tiles? Under a causal mask queries have, of keys those before
 * them; and keys have not, of queries. */
static bool grows(const struct emitter *w, long long down) {
    const struct kernel *k = w->k;
    int64_t z = kernel_size(k, AXIS_Z) / 2, rows = w->y->bx;
    struct depth_range first = chained_range(k, z, 0, rows),
                       last = chained_range(k, z, (down - 1) * rows, rows);
    return k->edges.n && last.end - last.from >= first.end - first.from;
}

/* Blocks with most tiles begin first. */
static void put_draw(struct emitter *w, bool rows) {
    const struct kernel *k = w->k;
    long long down = tile_count(kernel_size(k, AXIS_M), w->y->bx);
    int parts = w->y->split;
    const char *number = "(k_idx)blockIdx.x";
    if (grows(w, down))
        number = arena_printf(w->arena, "%lld - (k_idx)blockIdx.x", (long long)w->p->grid - 1);
    if (parts > 1) {
        line(w, "const int part = (int)(%s) %% %d;", number, parts);
        number = arena_printf(w->arena, "(%s) / %d", number, parts);
    }
    line(w, "const k_idx tile = %s, z = tile / %lld, m0 = tile %% %lld * %d;", number, down, down,
         w->y->bx);
    put_range(w);
    if (rows) line(w, "const k_idx first_row = m0 + warp_m + tid %% %d / 4;", w->k->limits->warp);
    line(w, "(void)z, (void)first_step;");
}

static void put_code(struct emitter *w, const struct tile_program *t) {
    enum { MOST_REGIONS = 8 };
    enum tile_op open[MOST_REGIONS];
    int depth = 0, stages = w->y->stages;
    bool groups = t->copiers > 0, copies = true, in_turn = chained_is_in_turn(w->y);
    bool second = false;                          /* the last products that were begun */
    const char *stage = groups && reads_before(w) ? "before" : "s"; /* of second products */
    bool first = true;                                             /* of the copies waited for */
    for (uint32_t i = 0; i < t->code.n; i++) {
        const struct tile_inst *x = &t->code.at[i];
        if (tile_op_opens(x->op)) open[depth++] = x->op;
        switch (x->op) {
        case TILE_ROLE: put_group_role(w, copies = i == 0); break;
        case TILE_DRAW:
            open_scope(w);
            put_draw(w, !groups || !copies);
            break;
        case TILE_AHEAD:
            line(w, "#pragma unroll");
            open_brace(w, "for (int step = 0; step < %d; step++)", x->n);
            line(w, "const int s = step;");
            break;
        case TILE_LOOP:
            if (!groups) line(w, "int s = 0;");
            line(w, "#pragma unroll 1");
            open_brace(w, "for (int step = 0; step < steps; step++)");
            put_step_of_list(w);
            break;
        case TILE_REST:
            line(w, "#pragma unroll 1");
            open_brace(w, "for (int step = 1; step < steps; step++)");
            put_step_of_list(w);
            break;
        case TILE_END:
            if (open[--depth] == TILE_ROLE)
                end_group_role(w, copies);
            else
                close_brace(w);
            break;
        case TILE_WAIT_EMPTY: put_wait_empty(w, open[depth - 1] == TILE_LOOP); break;
        case TILE_WAIT_FULL:
            if (open[depth - 1] == TILE_DRAW && first) {
                line(w, "const int step = 0;");
                put_step_of_list(w);
            }
            first = false;
            line(w, "k_mbar_wait_block(full + s * 8, phase);");
            break;
        case TILE_COPY:
            if (groups)
                put_boxes(w, x->ring);
            else
                put_copy_ahead(w, x->ring, x->n);
            break;
        case TILE_COPY_BEFORE: put_boxes_before(w); break;
        case TILE_GROUP: line(w, "k_cp_async_commit();"); break;
        case TILE_LANDED:
            line(w, "k_cp_async_wait<%d>();", x->n);
            line(w, "__syncthreads();");
            break;
        case TILE_BEGIN: put_begin(w); break;
        case TILE_DOT:
            second = false;
            if (groups) put_dot_of_group(w);
            for (int p = 0; p < chained(w)->n_first && !groups; p++) put_first_dot(w, p);
            break;
        case TILE_WAIT_TURN: line(w, "k_mbar_wait_block(own_turn, turn), turn ^= 1;"); break;
        case TILE_PASS_TURN: put_pass_turn(w); break;
        case TILE_RELATE: put_relate(w); break;
        case TILE_TERMS: put_terms(w); break;
        case TILE_DOT_SECOND:
            second = true;
            if (groups) put_second_dot_of_group(w, stage);
            for (int p = 0; p < chained(w)->n_second && !groups; p++) put_second_dot(w, p);
            break;
        case TILE_DRAIN:
            if (open[depth - 1] == TILE_REST && !x->n) put_before(w);
            line(w, "k_wgmma_wait<%d>();", x->n);
            if (!in_turn || !second) hold_sums(w);
            if (in_turn ? second : !x->n) hold_out(w);
            break;
        case TILE_ARRIVE: line(w, "if (tid == 0) k_mbar_arrive(empty + %s * 8);", stage); break;
        case TILE_NEXT:
            if (groups && !copies && reads_before(w)) line(w, "before = s;");
            line(w, "if (++s == %d) s = 0%s;", stages, groups ? ", phase ^= 1" : "");
            break;
        case TILE_LEAVE: put_chained_leave(w); break;
        case TILE_LAST: put_chained_last(w); break;
        case TILE_STORE: put_results(w); break;
        default: WS_BUG("no instruction of chained products: %s", tile_op_name(x->op));
        }
    }
}

/* The products of a warpgroup: 64 rows. */
static void put_instructions(struct emitter *w) {
    const struct chained *x = chained(w);
    for (int i = 0; i < x->n_first; i++) {
        struct wgmma first = {.name = i ? "k_wgmma_beside" : "k_wgmma_first",
                              .type = "float",
                              .columns = w->y->br,
                              .a = x->a[i].dtype,
                              .b = x->b[i].dtype,
                              .along_a = x->a[i].across,
                              .along_b = x->b[i].across};
        put_wgmma_instruction(w, &first);
    }
    for (int i = 0; i < x->n_second; i++) {
        struct wgmma second = {.name = i ? "k_wgmma_twin" : "k_wgmma_second",
                               .type = "float",
                               .columns = x->columns,
                               .a = x->c[i].dtype,
                               .b = x->c[i].dtype,
                               .held = true,
                               .along_b = x->c[i].across};
        put_wgmma_instruction(w, &second);
    }
}

void emit_cuda_chained(struct emitter *w) {
    const struct kernel *k = w->k;
    struct tile_program *t = tile_chained(w->p, w->arena);
    const char *bad = tile_verify(t, w->arena);
    if (bad) WS_BUG("%s", bad);
    struct buf b = buf_new(w->arena);
    tile_print(&b, t);
    w->out->block = arena_printf(w->arena, "%s\n%s", w->out->block, b.p);
    if (chained(w)->skips) emit_cuda_lists(w);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem};
    bool groups = t->copiers > 0;
    add_arguments(w, l);
    for (int ring = TILE_A; ring <= TILE_C && groups; ring++)
        for (int i = 0; i < factors_of_ring(w, ring); i++)
            if (!factor_at(w, ring, i)->shared)
                l->args[l->n_args++] = map_of(w, factor_at(w, ring, i));
    if (groups) put_instructions(w);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d%s) %s(", w->y->threads,
               groups ? arena_printf(w->arena, ", %d", chained(w)->resident) : "", k->entry);
    put_parameters(w);
    for (int ring = TILE_A; ring <= TILE_C && groups; ring++)
        for (int i = 0; i < factors_of_ring(w, ring); i++)
            if (!factor_at(w, ring, i)->shared)
                buf_printf(&w->b, ", const __grid_constant__ k_map map_%c",
                           name_of(w, factor_at(w, ring, i)));
    put_chained_parts_parameters(w, l);
    if (chained(w)->skips) put_lists_parameter(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(1024) unsigned char k_smem[];");
    if (groups) {
        line(w, "unsigned char *const memory = k_aligned<1024>(k_smem);");
        put_group_barriers(w);
        line(w, "k_enter();");
    } else {
        line(w, "unsigned char *const tiles = k_smem;");
        line(w, "k_enter();");
        line(w, "const int tid = (int)threadIdx.x, warp_m = tid / %d * %d, quad = tid %% 4;",
             w->k->limits->warp, chained(w)->warp_rows);
    }
    line(w, "const k_idx nm = %s, nn = %s, nr = %s, nc = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]), ex_text(w, k->bound[AXIS_C]));
    line(w, "(void)nm, (void)nn, (void)nr, (void)nc;");
    put_code(w, t);
    close_brace(w);
}

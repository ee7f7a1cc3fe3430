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
#include "emit/cuda_chained.h"

enum { MOST_ROUNDS = 8 };

static const char *const axis_name[] = {"x", "r", "z", "m", "n", "c"};

int chained_sixteens(const struct emitter *w) { return chained(w)->warp_rows / SIXTEEN; }
int chained_octets(const struct emitter *w) { return chained(w)->warp_columns / OCTET; }
int chained_column_octets(const struct emitter *w) { return chained(w)->columns / OCTET; }

void open_chained_loop(struct emitter *w, const char *i, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", i, i, n, i);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Elements that are no vectors in memory, or are computed. */
static void put_elements(struct emitter *w, const struct factor *f, const char *place) {
    const char *t = memory_type(w, f->dtype);
    enum axis along = f->across ? f->axis : f->along;
    int each = factor_piece(f);
    line(w, "k_pack<%s, %d> x;", t, each);
    line(w, "float v[%d];", each);
    open_chained_loop(w, "e", each);
    line(w, "v[e] = 0;");
    line(w, "const k_idx %s = %s0 + e;", axis_name[along], axis_name[along]);
    open_brace(w, "if (inside && %s < n%s)", axis_name[along], axis_name[along]);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    line(w, "v[e] = %s;", put_expression(w, f->value));
    close_brace(w);
    close_brace(w);
    line(w, "k_put(x, v);");
    line(w, "*(k_pack<%s, %d> *)%s = x;", t, each, place);
}

/* All threads bring a tile, which begins at byte `at` of `tile`, of rows from `row` on and of the
 * depth from `depth` on. */
static void put_copy_of(struct emitter *w, const struct factor *f, const char *tile,
                        const char *row, const char *depth) {
    int lines = f->across ? f->depth : f->rows, wide = f->across ? f->rows : f->depth;
    int each = factor_piece(f), across = wide / each, pieces = lines * across,
        threads = w->y->threads;
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
         f->across ? row : depth, each);
    const char *piece =
        chained(w)->planes ? arena_printf(w->arena, "k_piece_f32<%s>", f->across ? "true" : "false")
                           : arena_printf(w->arena, "k_piece<%d>", f->line);
    const char *place = arena_printf(w->arena, "%s(%s, %d, line, piece)", piece, tile, lines);
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

int chained_factors(const struct emitter *w, int ring) {
    return ring == TILE_C ? chained(w)->n_second : chained(w)->n_first;
}

const struct factor *chained_factor(const struct emitter *w, int ring, int i) {
    const struct chained *x = chained(w);
    return ring == TILE_C ? &x->c[i] : ring == TILE_A ? &x->a[i] : &x->b[i];
}

static const char *stage_text(struct emitter *w, const char *s, const struct factor *f) {
    const struct chained *x = chained(w);
    return arena_printf(w->arena, "(tiles + %d + %s * %d)", x->first + f->at, s, x->stage);
}

/* The tile of a step; of the one at hand the list is read as it begins. */
const char *chained_tile_of_step(struct emitter *w, const char *step, bool ahead) {
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
    for (int i = 0; i < chained_factors(w, ring) && ring == TILE_A; i++) {
        const struct factor *f = chained_factor(w, ring, i);
        put_copy_of(w, f, rows_text(w, f), "m0", "0");
    }
    if (ring == TILE_A) return;
    const char *step = ahead ? arena_printf(w->arena, "step + %d", ahead) : "step";
    const char *s = ahead ? arena_printf(w->arena, "((s + %d) %% %d)", ahead, w->y->stages) : "s";
    const char *column =
        arena_printf(w->arena, "%s * %d", chained_tile_of_step(w, step, true), w->y->br);
    open_brace(w, "if (%s < steps)", step);
    for (int i = 0; i < chained_factors(w, ring); i++) {
        const struct factor *f = chained_factor(w, ring, i);
        if (f->shared) continue;
        put_copy_of(w, f, stage_text(w, s, f), ring == TILE_B ? column : "0",
                    ring == TILE_B ? "0" : column);
    }
    close_brace(w);
}

const char *chained_sums_of(int i) { return i ? "more" : "sums"; }
const char *chained_terms_of(int i) { return i ? "more_terms" : "terms"; }
const char *chained_out_of(int i) { return i ? "more_out" : "out"; }

int chained_tiles_between(const struct emitter *w) {
    const struct chained *x = chained(w);
    return x->n_first > x->n_second ? x->n_first : x->n_second;
}

/* ---- products -------------------------------------------------------------------------------- */

/* Factors of f32 as what its products take: tf32, or three planes. */
static bool is_tf32(const struct emitter *w) {
    return chained(w)->a[0].dtype == DT_F32 && !chained(w)->planes;
}
static int planes_of(const struct emitter *w) { return chained(w)->planes ? 3 : 1; }
static const char *kind_of(const struct emitter *w) {
    return chained(w)->planes ? "_planes" : is_tf32(w) ? "_factor_tf32" : "_factor";
}

/* Of a factor's lines: "<128, true>", of planes "<true>". */
static const char *lines_text(struct emitter *w, const struct factor *f) {
    const char *across = f->across ? "true" : "false";
    return chained(w)->planes ? arena_printf(w->arena, "<%s>", across)
                              : arena_printf(w->arena, "<%d, %s>", f->line, across);
}

/* "a[0][f], a[1][f], a[2][f]"; `which` stands behind each. */
static const char *all_planes(struct emitter *w, const char *name, const char *which) {
    if (!chained(w)->planes) return arena_printf(w->arena, "%s%s", name, which);
    return arena_printf(w->arena, "%s[0]%s, %s[1]%s, %s[2]%s", name, which, name, which, name,
                        which);
}

/* What is declared of each: "a[3]". */
static const char *declared(struct emitter *w, const char *name) {
    return planes_of(w) > 1 ? arena_printf(w->arena, "%s[%d]", name, planes_of(w)) : name;
}

static void put_right(struct emitter *w, const struct factor *f, const char *row,
                      const char *depth) {
    line(w, "unsigned %s[2][2];", declared(w, "b"));
    line(w, "k_right%s%s(%s, %s, %d, %s, %s);", kind_of(w), lines_text(w, f),
         all_planes(w, "b", ""), stage_text(w, "s", f), f->across ? f->depth : f->rows, row, depth);
}

/* Sixteen columns of `to`, which has so many octets, of each sixteen rows f. */
static void put_products(struct emitter *w, const struct factor *f, const char *to, int octets,
                         const char *left) {
    const char *type = chained(w)->planes ? "_planes"
                       : is_tf32(w)       ? "_tf32"
                                    : arena_printf(w->arena, "<%s>", memory_type(w, f->dtype));
    open_chained_loop(w, "f", chained_sixteens(w));
    for (int half = 0; half < 2; half++)
        line(w, "k_mma%s(*(float(*)[4])(%s + (f * %d + g * 2 + %d) * 4), %s, %s);", type, to,
             octets, half, left, all_planes(w, "b", half ? "[1]" : "[0]"));
    close_brace(w);
}

/* What is multiplied in tf32 is rounded once for all warps, where it lies: conversions are slow. */
static void put_rounded_tiles(struct emitter *w) {
    const struct chained *x = chained(w);
    int stage = 0;
    if (!is_tf32(w)) return;
    for (int i = 0; i < x->n_first; i++)
        line(w, "if (step == 0) k_round_tile<%d>(%s, %d);", w->y->threads, rows_text(w, &x->a[i]),
             x->a[i].bytes);
    for (int i = 0; i < x->n_first; i++) stage = x->b[i].at + x->b[i].bytes;
    for (int i = 0; i < x->n_second; i++)
        if (!x->c[i].shared) stage = x->c[i].at + x->c[i].bytes;
    line(w, "k_round_tile<%d>(tiles + %d + s * %d, %d);", w->y->threads, x->first, x->stage, stage);
    line(w, "__syncthreads();");
}

/* Where in a tile column `of` of the warp is. */
static const char *own_column(struct emitter *w, const char *of) {
    return chained(w)->shares > 1 ? arena_printf(w->arena, "warp_n + %s", of) : of;
}

static void put_first_dot(struct emitter *w, int number) {
    const struct factor *a = &chained(w)->a[number];
    const char *sums = chained_sums_of(number);
    int deep = chained(w)->planes ? SIXTEEN : 2 * factor_piece(a);
    line(w, "k_zero(%s);", sums);
    /* f32 has more instructions for it. */
    line(w, chained(w)->planes ? "#pragma unroll 1"
            : is_tf32(w)       ? "#pragma unroll 4"
                               : "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i += %d)", a->depth, deep);
    line(w, "unsigned %s[%d][4];", declared(w, "a"), chained_sixteens(w));
    line(w, "#pragma unroll");
    line(w, "for (int f = 0; f < %d; f++) k_left%s%s(%s, %s, %d, warp_m + f * %d, i);",
         chained_sixteens(w), kind_of(w), lines_text(w, a), all_planes(w, "a", "[f]"),
         rows_text(w, a), a->across ? a->depth : a->rows, SIXTEEN);
    open_chained_loop(w, "g", chained_octets(w) / 2);
    put_right(w, &chained(w)->b[number], own_column(w, "g * 16"), "i");
    put_products(w, a, sums, chained_octets(w), all_planes(w, "a", "[f]"));
    close_brace(w);
    close_brace(w);
}

/* Of an octet of terms in tf32 a thread has two neighbours, which as a left factor would be four
 * apart: so the right one's depth is taken in this order, too. */
static void put_second_dot_in_pairs(struct emitter *w, int number) {
    const struct factor *c = &chained(w)->c[number];
    open_chained_loop(w, "i", chained_octets(w));
    line(w, "unsigned a[%d][4];", chained_sixteens(w));
    line(w, "#pragma unroll");
    line(w, "for (int f = 0; f < %d; f++) k_left_pairs(a[f], %s + (f * %d + i) * 4);",
         chained_sixteens(w), chained_sums_of(number), chained_octets(w));
    open_chained_loop(w, "g", chained_column_octets(w) / 2);
    line(w, "unsigned b[2][2];");
    line(w, "k_right_pairs%s(b, %s, %d, g * 16, %s);", lines_text(w, c), stage_text(w, "s", c),
         c->across ? c->depth : c->rows, own_column(w, "i * 8"));
    put_products(w, c, chained_out_of(number), chained_column_octets(w), "a[f]");
    close_brace(w);
    close_brace(w);
}

static void put_second_dot(struct emitter *w, int number) {
    const struct factor *c = &chained(w)->c[number];
    const char *left = arena_printf(w->arena, "%s[f][i]", chained_terms_of(number));
    if (is_tf32(w)) {
        put_second_dot_in_pairs(w, number);
        return;
    }
    open_chained_loop(w, "i", chained_octets(w) / 2);
    if (chained(w)->planes) {
        line(w, "unsigned a[3][%d][4];", chained_sixteens(w));
        line(w, "#pragma unroll");
        left = all_planes(w, "a", "[f]");
        line(w, "for (int f = 0; f < %d; f++) k_split_terms(%s, %s + (f * %d + i * 2) * 4);",
             chained_sixteens(w), left, chained_sums_of(number), chained_octets(w));
    }
    open_chained_loop(w, "g", chained_column_octets(w) / 2);
    put_right(w, c, "g * 16", own_column(w, "i * 16"));
    put_products(w, c, chained_out_of(number), chained_column_octets(w), left);
    close_brace(w);
    close_brace(w);
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

static long long tiles_of_rows(const struct emitter *w) {
    return kernel_size(w->k, AXIS_Z) * tile_count(kernel_size(w->k, AXIS_M), w->y->bx);
}

/* Blocks with most tiles begin first. */
static void put_draw(struct emitter *w, bool rows) {
    const struct kernel *k = w->k;
    long long down = tile_count(kernel_size(k, AXIS_M), w->y->bx);
    int parts = w->y->split;
    const char *number = chained(w)->persists ? "next" : "(k_idx)blockIdx.x";
    if (grows(w, down))
        number = arena_printf(w->arena, "%lld - %s", tiles_of_rows(w) * parts - 1, number);
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

/* What the units have read, one thread of a warpgroup knows; what columns have each warp reads. */
static void put_arrival(struct emitter *w, bool but_first, const char *stage) {
    bool each_warp = chained(w)->own_apart;
    if (each_warp) line(w, "__syncwarp();");
    line(w, "if (%stid%s == 0) k_mbar_arrive(empty + %s * 8);", but_first ? "step && " : "",
         each_warp ? arena_printf(w->arena, " %% %d", w->k->limits->warp) : "", stage);
}

/* Warps beside the one that copies make what a stage's columns have of their own, and arrive: each
 * a step in turn, as its loads take as long as a step or two. No more than there are stages: what a
 * warp waits for is told from what was a turn of the ring before by that. */
static void put_own_apart(struct emitter *w) {
    enum { MOST_WARPS = 3 };
    const struct chained *x = chained(w);
    int warp = w->k->limits->warp, stages = w->y->stages,
        warps = stages < MOST_WARPS ? stages : MOST_WARPS;
    bool lags = chained_lags(w->y); /* one stage more, of the last step's tile of c */
    open_brace(w, "else if (threadIdx.x < %d)", (warps + 1) * warp);
    line(w, "const int tid = (int)threadIdx.x;");
    put_draw(w, false);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int step = tid / %d - 1; step < steps%s; step += %d)", warp,
               lags ? " + 1" : "", warps);
    line(w, "const int s = step %% %d;", stages);
    line(w, "k_mbar_wait_block(empty + s * 8, (step / %d & 1) ^ 1);", stages);
    if (lags) open_brace(w, "if (step < steps)");
    put_step_of_list(w);
    line(w, "const k_shared columns = tiles + %d + s * %d;", x->own_at,
         w->y->br * x->own_floats * 4);
    put_chained_own_of_columns(w);
    if (lags) close_brace(w);
    line(w, "if (tid %% %d == 0) k_mbar_arrive(full + s * 8);", warp);
    close_brace(w);
    close_brace(w);
}

/* Of products one by one what has ended is what is used next. */
static void hold_what_is_read(struct emitter *w, const struct tile_inst *next) {
    if (next->op == TILE_RELATE)
        hold_chained_sums(w, next->n);
    else
        hold_chained_out(w, 0);
}

enum { SECTIONS = 3 };

/* Edges leave the first steps, or the last ones; and so does what is behind the last column. */
static bool has_section(const struct emitter *w, int section) {
    const struct kernel *k = w->k;
    bool has = section == 2 || (section == 3 && kernel_size(k, AXIS_N) % w->y->br);
    for (uint32_t i = 0; i < k->edges.n; i++)
        has |= (section == 1) == (k->edges.at[i].by[AXIS_N] > 0);
    return has;
}

static void open_section(struct emitter *w) {
    static const char *const ends[SECTIONS] = {"part_end", "part_from", "steps"};
    line(w, "#pragma unroll 1");
    open_brace(w, "for (; step < %s; step++)", ends[w->section - 1]);
}

static void put_code(struct emitter *w, const struct tile_program *t) {
    enum { MOST_REGIONS = 8 };
    uint32_t loop = 0;
    enum tile_op open[MOST_REGIONS];
    int depth = 0, stages = w->y->stages;
    bool groups = t->copiers > 0, copies = true, in_turn = chained_is_in_turn(w->y);
    bool second = false; /* the last products that were begun */
    const char *stage = groups && chained_reads_before(w) ? "before" : "s"; /* of second products */
    bool first = true; /* of the copies waited for */
    for (uint32_t i = 0; i < t->code.n; i++) {
        const struct tile_inst *x = &t->code.at[i];
        if (tile_op_opens(x->op)) open[depth++] = x->op;
        switch (x->op) {
        case TILE_ROLE: put_chained_role(w, copies = i == 0); break;
        case TILE_DRAW:
            if (!chained(w)->persists) {
                open_scope(w);
                put_draw(w, !groups || !copies);
                break;
            }
            line(w, "#pragma unroll 1");
            open_brace(w, "for (;;)");
            if (copies) break;
            put_chained_take_tile(w);
            put_draw(w, true);
            break;
        case TILE_WAIT_ROWS:
            put_chained_wait_rows(w, tiles_of_rows(w));
            put_draw(w, false);
            break;
        case TILE_FREE_ROWS: put_chained_free_rows(w); break;
        case TILE_AHEAD:
            line(w, "#pragma unroll");
            open_brace(w, "for (int step = 0; step < %d; step++)", x->n);
            line(w, "const int s = step;");
            break;
        case TILE_LOOP:
            if (!groups) line(w, "int s = 0;");
            if (!copies && chained_has_sections(w->p)) {
                if (!w->section) put_chained_sections(w), loop = i;
                while (!has_section(w, ++w->section)) continue;
                open_section(w);
                break;
            }
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
            if (open[depth - 1] == TILE_LOOP && w->section) {
                close_brace(w);
                depth--;
                if (w->section < SECTIONS && (w->section < 2 || has_section(w, SECTIONS)))
                    i = loop - 1;
                else
                    w->section = 0;
                break;
            }
            if (open[--depth] == TILE_DRAW && chained(w)->persists && copies)
                put_chained_next_tile(w, tiles_of_rows(w));
            if (open[depth] != TILE_ROLE) {
                close_brace(w);
                break;
            }
            end_chained_role(w, copies);
            if (copies && chained(w)->own_apart) put_own_apart(w);
            if (copies) close_brace(w);
            break;
        case TILE_WAIT_EMPTY: put_chained_wait_empty(w, open[depth - 1] == TILE_LOOP); break;
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
                put_chained_boxes(w, x->ring);
            else
                put_copy_ahead(w, x->ring, x->n);
            break;
        case TILE_COPY_BEFORE: put_chained_boxes_before(w); break;
        case TILE_GROUP: line(w, "k_cp_async_commit();"); break;
        case TILE_LANDED:
            line(w, "k_cp_async_wait<%d>();", x->n);
            line(w, "__syncthreads();");
            break;
        case TILE_BEGIN: put_chained_begin(w); break;
        case TILE_DOT:
            second = false;
            if (groups) put_chained_dot(w, x->n);
            if (!groups) put_rounded_tiles(w);
            for (int p = 0; p < chained(w)->n_first && !groups; p++) put_first_dot(w, p);
            break;
        case TILE_WAIT_TURN: line(w, "k_mbar_wait_block(own_turn, turn), turn ^= 1;"); break;
        case TILE_PASS_TURN: put_chained_pass_turn(w); break;
        case TILE_RELATE: put_chained_relate(w, x->n); break;
        case TILE_TERMS: put_chained_terms(w, x->n); break;
        case TILE_DOT_SECOND:
            second = true;
            if (groups) put_chained_second_dot(w, stage, x->n);
            for (int p = 0; p < chained(w)->n_second && !groups; p++) put_second_dot(w, p);
            break;
        case TILE_DRAIN:
            if (open[depth - 1] == TILE_REST && !x->n) put_chained_before(w);
            line(w, "k_wgmma_wait<%d>();", x->n);
            if (w->p->one_by_one) {
                hold_what_is_read(w, x + 1);
                break;
            }
            if (!in_turn || !second) hold_chained_sums(w, 0);
            if (in_turn ? second : !x->n) hold_chained_out(w, 0);
            break;
        case TILE_ARRIVE:
            put_arrival(w, open[depth - 1] == TILE_LOOP && chained_arrives_behind(w),
                        chained_arrives_behind(w) ? "before" : stage);
            break;
        case TILE_NEXT:
            if (groups && !copies && (chained_reads_before(w) || chained_arrives_behind(w)))
                line(w, "before = s;");
            line(w, "if (++s == %d) s = 0%s;", stages, groups ? ", phase ^= 1" : "");
            break;
        case TILE_LEAVE: put_chained_leave(w); break;
        case TILE_LAST: put_chained_last(w); break;
        case TILE_STORE:
            if (chained(w)->shares > 1) put_chained_join(w);
            put_chained_results(w);
            break;
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
    for (int i = 0; i < chained(w)->n_second; i++)
        if (chained(w)->c[i].turned) emit_cuda_turned(w, &chained(w)->c[i]);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem};
    bool groups = t->copiers > 0;
    add_arguments(w, l);
    for (int ring = TILE_A; ring <= TILE_C && groups; ring++)
        for (int i = 0; i < chained_factors(w, ring); i++)
            if (!chained_factor(w, ring, i)->shared)
                l->args[l->n_args++] = chained_map_of(w, chained_factor(w, ring, i));
    if (groups) put_instructions(w);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d%s) %s(", w->y->threads,
               groups ? arena_printf(w->arena, ", %d", chained(w)->resident) : "", k->entry);
    put_parameters(w);
    for (int ring = TILE_A; ring <= TILE_C && groups; ring++)
        for (int i = 0; i < chained_factors(w, ring); i++)
            if (!chained_factor(w, ring, i)->shared)
                buf_printf(&w->b, ", const __grid_constant__ k_map map_%c",
                           chained_factor_name(w, chained_factor(w, ring, i)));
    put_chained_parts_parameters(w, l);
    if (chained(w)->skips) put_lists_parameter(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(1024) unsigned char k_smem[];");
    if (groups) {
        line(w, "unsigned char *const memory = k_aligned<1024>(k_smem);");
        put_chained_barriers(w);
        line(w, "k_enter();");
    } else {
        line(w, "unsigned char *const tiles = k_smem;");
        line(w, "k_enter();");
        bool shares = chained(w)->shares > 1;
        line(w, "const int tid = (int)threadIdx.x, warp_%c = tid / %d * %d, quad = tid %% 4;",
             shares ? 'n' : 'm', w->k->limits->warp,
             shares ? chained(w)->warp_columns : chained(w)->warp_rows);
        if (shares) line(w, "const int warp_m = 0;");
    }
    line(w, "const k_idx nm = %s, nn = %s, nr = %s, nc = %s;", ex_text(w, k->bound[AXIS_M]),
         ex_text(w, k->bound[AXIS_N]), ex_text(w, k->bound[AXIS_R]), ex_text(w, k->bound[AXIS_C]));
    line(w, "(void)nm, (void)nn, (void)nr, (void)nc;");
    put_code(w, t);
    close_brace(w);
}

/* cuda_partials.c: what tiles of a product come to along m, n, or both, in CUDA C++. Along n, of a
 * tile of 128 x 256 that two warpgroups have, relu(a @ b).sum(1):
 *
 *     float a5[1][2];                                    a thread's two rows
 *     ...  a5[f][h] = k_sum::of(a5[f][h], v4);           cuda_epilogue.c
 *     a5[f][h] = k_reduce_lanes<k_sum, 1, 4>(a5[f][h]);  four threads have a row
 *     if (quad == 0 && row < nm) part5[part * 4096 + row] = a5[f][h];
 *
 * and of all tiles in a launch behind it, a thread for each row:
 *
 *     for (int i ...) a5 = k_sum::of(a5, part5[s * 4096 + x]);
 *     k_store1(p2 + m, a5);
 *
 * If a result takes a span of n, images of pixels, a warp leaves what its columns of a row come to
 * for each span that they are of, one after the other; elements are stored with the first:
 *
 *     for (k_idx i = first_column / 900; i <= last_column / 900; i++) {
 *         const k_idx span = i * 900;
 *         ...  if ((unsigned)(n - span) < 900) a5[f][h] = k_sum::of(a5[f][h], v4);
 *         part5[piece * 131072 + i * 64 + row] = a5[f][h];
 *     }
 *
 * A span has so many pieces, or one less: then its last warp leaves nothing for that one.
 *
 * Where a row, or column, of the tile is several warps', each leaves what it has in shared memory,
 * x5, and the tile's are had from there. All orders are fixed: the same bits in every run. */
#include "emit/cuda_mma.h"
#include "emit/cuda_rows.h"

static const char *op_of(struct emitter *w, value_id v) {
    return reduction_operator(w->k->values.at[v].reduction);
}

/* v, of lanes that are FROM to TO / 2 apart. */
static const char *lanes_text(struct emitter *w, value_id v, const char *lanes, const char *of) {
    if (w->k->values.at[v].reduction == REDUCTION_M2)
        return arena_printf(w->arena, "k_m2_lanes<%s>(%s)", lanes, of);
    return arena_printf(w->arena, "k_reduce_lanes<%s, %s>(%s)", op_of(w, v), lanes, of);
}

/* What each row has, or each column, or the tile. */
static bool of_rows(const struct emitter *w) {
    return kernel_has_spans(w->k) || (w->k->over & MASK_N && !(w->k->over & MASK_M));
}
static bool of_columns(const struct emitter *w) {
    return w->k->over & MASK_M && !(w->k->over & MASK_N);
}

static int multipliers(const struct tile_program *t) {
    return t->product->warpgroups * t->product->group_threads;
}

/* Warps that have parts of a result. */
static int sharers(struct emitter *w) { return exchange_parts(w->k, w->y); }

void declare_exchange(struct emitter *w, const struct tile_program *t) {
    const struct product *p = t->product;
    if (!w->k->over) return;
    line(w, "const int thread = group * %d + tid;", p->group_threads);
    line(w, "const int down = (first_row - m0) / %d, across = (first_column - n0) / %d;",
         p->in_turn > 1 ? 16 : p->warp_rows, p->warp_columns);
    line(w, "(void)thread, (void)down, (void)across;");
    for (value_id v = 0; v < w->k->values.n && of_columns(w) && sharers(w) == 1; v++)
        if (is_epilogue_reduction(w->k, v))
            line(w, "%s r%u[%d];", accumulator_type(w, v), v, p->warp_columns / 4);
    for (value_id v = 0; v < w->k->values.n && sharers(w) > 1; v++) {
        if (!is_epilogue_reduction(w->k, v)) continue;
        const char *type = accumulator_type(w, v);
        line(w, "%s *const x%u = (%s *)(%s);", type, v, type,
             exchange_text(w, t, tile_exchange(t, v)));
    }
}

void declare_terms(struct emitter *w, const struct phase *f, const char *dims) {
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *type = accumulator_type(w, v);
        line(w, "%s a%u%s;", type, v, dims);
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < (int)(sizeof a%u / sizeof(%s)); i++) (&a%u[0][0])[i] = %s;", v,
             type, v, identity_text(w, v));
    }
}

/* ---- a warp's -------------------------------------------------------------------------------- */

void put_warp_rows(struct emitter *w, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n && of_rows(w); i++) {
        value_id v = f->reduce.at[i];
        const char *a = arena_printf(w->arena, "a%u[f][h]", v);
        line(w, "%s = %s;", a, lanes_text(w, v, "1, 4", a));
        if (sharers(w) > 1)
            line(w, "if (quad == 0) x%u[across * %d + (row - m0)] = a%u[f][h];", v, w->y->bx, v);
    }
}

void put_warp_columns(struct emitter *w, const struct phase *f, int chunk) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", chunk * 2);
    line(w,
         "const int j = i / 2, e = i %% 2, at = first_column - n0 + (g * %d + j) * 8 + quad * 2 "
         "+ e;",
         chunk);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        const char *a = arena_printf(w->arena, "a%u[j][e]", v);
        line(w, "%s = %s;", a,
             lanes_text(w, v, arena_printf(w->arena, "4, %d", w->k->limits->warp), a));
        if (sharers(w) > 1)
            line(w, "if (tid %% %d < 4) x%u[down * %d + at] = a%u[j][e];", w->k->limits->warp, v,
                 w->y->br, v);
        else
            line(w, "r%u[(g * %d + j) * 2 + e] = a%u[j][e];", v, chunk, v);
    }
    close_brace(w);
}

void put_warp_sums(struct emitter *w, const struct tile_program *t, const struct phase *f) {
    int rows = t->product->warp_rows / 8;
    for (uint32_t i = 0; i < f->reduce.n && !of_rows(w); i++) {
        value_id v = f->reduce.at[i];
        const char *all = arena_printf(w->arena, "r%u", v);
        line(w, "%s %s = a%u[0][0];", accumulator_type(w, v), all, v);
        line(w, "#pragma unroll");
        line(w, "for (int i = 1; i < %d; i++) %s = %s;", rows, all,
             combine_text(w, v, all, arena_printf(w->arena, "a%u[i / 2][i %% 2]", v)));
        line(w, "%s = %s;", all,
             lanes_text(w, v, arena_printf(w->arena, "1, %d", w->k->limits->warp), all));
        if (sharers(w) > 1)
            line(w, "if (tid %% %d == 0) x%u[down * %d + across] = %s;", w->k->limits->warp, v,
                 product_warps(w->y, AXIS_N), all);
    }
}

/* ---- a tile's -------------------------------------------------------------------------------- */

static void put_barrier(struct emitter *w, const struct tile_program *t) {
    if (t->ahead)
        line(w, "__syncthreads();");
    else if (t->product->in_turn > 1)
        line(w, "k_barrier_sync(%s, %d);", group_barrier(t), multipliers(t));
    else
        line(w, "k_barrier_sync(%d, %d);", t->product->warpgroups + 1, multipliers(t));
}

/* to = x5[first], and what lies `apart` from it. */
static void put_shared_parts(struct emitter *w, value_id v, const char *to, const char *first,
                             int apart) {
    line(w, "%s = x%u[%s];", to, v, first);
    line(w, "#pragma unroll");
    line(w, "for (int p = 1; p < %d; p++) %s = %s;", sharers(w), to,
         combine_text(w, v, to, arena_printf(w->arena, "x%u[p * %d + %s]", v, apart, first)));
}

void put_tile_reduce(struct emitter *w, const struct tile_program *t, const struct phase *f) {
    int threads = multipliers(t), each = (w->y->br + threads - 1) / threads;
    if (sharers(w) == 1) return;
    put_barrier(w, t);
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        if (of_rows(w)) {
            line(w, "#pragma unroll");
            open_brace(w, "for (int i = 0; i < %d; i++)", t->product->warp_rows / 8);
            line(w, "const int at = first_row - m0 + %s;", eight_text(w, "i"));
            put_shared_parts(w, v, arena_printf(w->arena, "a%u[i / 2][i %% 2]", v), "at", w->y->bx);
            close_brace(w);
        } else if (of_columns(w)) {
            line(w, "%s r%u[%d];", accumulator_type(w, v), v, each);
            line(w, "#pragma unroll");
            open_brace(w, "for (int i = 0; i < %d; i++)", each);
            line(w, "const int at = k_clamp(i * %d + thread, %d);", threads, w->y->br - 1);
            put_shared_parts(w, v, arena_printf(w->arena, "r%u[i]", v), "at", w->y->br);
            close_brace(w);
        } else {
            put_shared_parts(w, v, arena_printf(w->arena, "r%u", v), "0", 1);
        }
    }
    put_barrier(w, t);
}

/* Where the tile's part of result 0, of the batch at hand, lies. */
static void put_part(struct emitter *w) {
    const struct kernel *k = w->k;
    const struct layout *y = w->y;
    const char *part = k->over & MASK_Z ? "z" : "0";
    if (k->over & MASK_M)
        part = arena_printf(w->arena, "(%s * %lld + m0 / %d)", part,
                            (long long)matrix_tiles(k, y, AXIS_M) * y->cluster, y->bx);
    if (k->over & MASK_N)
        part = arena_printf(w->arena, "(%s * %lld + n0 / %d)", part,
                            (long long)matrix_tiles(k, y, AXIS_N), y->br);
    long long results = (long long)matrix_results(k);
    long long of_z = results / (k->over & MASK_Z ? 1 : (long long)kernel_size(k, AXIS_Z));
    line(w, "const long long part = %s * %lldLL%s;", part, results,
         k->over & MASK_Z ? "" : arena_printf(w->arena, " + z * %lldLL", of_z));
}

/* One of a column is the thread's that has it: of a single warp those of its first lanes. */
static void put_leave_columns(struct emitter *w, const struct tile_program *t, value_id v) {
    int threads = multipliers(t), each = (w->y->br + threads - 1) / threads;
    bool alone = sharers(w) == 1;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", alone ? t->product->warp_columns / 4 : each);
    if (alone)
        line(w, "const int at = first_column - n0 + i / 2 * 8 + quad * 2 + i %% 2;");
    else
        line(w, "const int at = i * %d + thread;", threads);
    line(w, "if (%s && n0 + at < nn) k_store_parts<1>(part%u + (part + n0 + at), r%u + i);",
         alone ? arena_printf(w->arena, "tid %% %d < 4", w->k->limits->warp)
               : arena_printf(w->arena, "at < %d", w->y->br),
         v, v);
    close_brace(w);
}

void open_span(struct emitter *w, const struct tile_program *t) {
    long long span = kernel_span(w->k, AXIS_N);
    line(w, "const k_idx last_column = k_clamp((k_idx)first_column + %d, nn) - 1;",
         t->product->warp_columns);
    line(w, "#pragma unroll 1");
    open_brace(w, "for (k_idx i = first_column / %lld; i <= last_column / %lld; i++)", span, span);
    line(w, "const k_idx span = i * %lld;", span);
    line(w, "const bool stores = span <= first_column;");
    line(w, "(void)stores;");
}

void close_span(struct emitter *w, const struct tile_program *t, const struct phase *f) {
    const struct kernel *k = w->k;
    int piece = t->product->warp_columns, pieces = (int)matrix_pieces(k, w->y);
    long long span = kernel_span(k, AXIS_N), rows = kernel_size(k, AXIS_M),
              spans = kernel_size(k, AXIS_N) / span,
              apart = rows * spans * (long long)kernel_size(k, AXIS_Z);
    line(w, "const int piece = (int)(first_column / %d - span / %d);", piece, piece);
    line(w, "const bool last = span + %lld <= first_column + %d && piece + 1 < %d;", span, piece,
         pieces);
    line(w, "#pragma unroll");
    open_brace(w, "for (int r = 0; r < %d; r++)", t->product->warp_rows / 8);
    line(w, "const k_idx row = first_row + %s;", eight_text(w, "r"));
    line(w, "const long long part = piece * %lldLL + (z * %lldLL + i) * %lld + row;", apart, spans,
         rows);
    open_brace(w, "if (quad == 0 && row < nm)");
    for (uint32_t n = 0; n < f->reduce.n; n++) {
        value_id v = f->reduce.at[n];
        line(w, "k_store_parts<1>(part%u + part, &a%u[r / 2][r %% 2]);", v, v);
        if (span % piece == 0) continue; /* all have as many */
        line(w, "const %s none%u = %s;", accumulator_type(w, v), v, identity_text(w, v));
        line(w, "if (last) k_store_parts<1>(part%u + (part + %lldLL), &none%u);", v, apart, v);
    }
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

void put_leave_partials(struct emitter *w, const struct tile_program *t, const struct phase *f) {
    if (kernel_has_spans(w->k)) return; /* close_span has */
    open_scope(w);
    put_part(w);
    for (uint32_t r = 0; r < f->reduce.n; r++) {
        value_id v = f->reduce.at[r];
        if (of_rows(w)) {
            line(w, "#pragma unroll");
            open_brace(w, "for (int i = 0; i < %d; i++)", t->product->warp_rows / 8);
            put_number(w, &t->product->a, "row",
                       arena_printf(w->arena, "first_row + %s", eight_text(w, "i")), "nm");
            line(w,
                 "if (quad == 0 && across == 0 && row < nm) k_store_parts<1>(part%u + (part + "
                 "row), &a%u[i / 2][i %% 2]);",
                 v, v);
            close_brace(w);
        } else if (of_columns(w)) {
            put_leave_columns(w, t, v);
        } else {
            line(w, "if (thread == 0) k_store_parts<1>(part%u + part, &r%u);", v, v);
        }
    }
    close_brace(w);
}

/* ---- rows in several tiles ------------------------------------------------------------------- */

/* The maximum by which tiles' sums are rescaled; NO_VALUE: as they are. */
static value_id maximum_of(struct emitter *w, value_id v) {
    return w->y->product->online ? kernel_online_maximum(w->k, v) : NO_VALUE;
}

/* Of a row's parts so many, every fourth from `first` on: all are on their way before any of them
 * is waited for. */
static void put_load_parts(struct emitter *w, const value_id *sums, uint32_t n, int tiles,
                           const char *first, int many) {
    for (uint32_t i = 0; i < n; i++)
        line(w, "%s l%u[%d];", accumulator_type(w, sums[i]), sums[i], many);
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", many);
    line(w, "const int p = quad + (%s + j) * 4;", first);
    for (uint32_t i = 0; i < n; i++)
        line(w, "l%u[j] = p < %d && row < nm ? k_load_part(part%u + (p * %lldLL + at)) : %s;",
             sums[i], tiles, sums[i], (long long)matrix_results(w->k), identity_text(w, sums[i]));
    close_brace(w);
}

/* Parts of all sums that a thread has under way at a time, beside what it keeps of the tile: of 131
 * all would take 132 registers. */
static int row_parts_at_once(const struct kernel *k, const value_id *sums, uint32_t n, int each) {
    enum { WORDS = 32 };
    int words = 0;
    for (uint32_t i = 0; i < n; i++) words += reduction_bytes(k, sums[i]) / 4;
    int most = words > 0 && words < WORDS ? WORDS / words : 1, turns = (each + most - 1) / most;
    return (each + turns - 1) / turns;
}

/* The four threads of a row have a quarter of its tiles' parts each. */
static void put_row_parts(struct emitter *w, const struct tile_program *t, const value_id *sums,
                          uint32_t n, int tiles) {
    bool online = w->y->product->online; /* sums wait for all of the maximum */
    int each = (tiles + 3) / 4, many = online ? each : row_parts_at_once(w->k, sums, n, each);
    bool turns = many < each;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", t->product->warp_rows / 8);
    line(w, "const k_idx row = first_row + %s;", eight_text(w, "i"));
    line(w, "const long long at = z * %lldLL + row;", (long long)kernel_size(w->k, AXIS_M));
    for (uint32_t r = 0; r < n; r++)
        line(w, "a%u[i / 2][i %% 2] = %s;", sums[r], identity_text(w, sums[r]));
    if (turns) {
        line(w, "#pragma unroll 1");
        open_brace(w, "for (int first = 0; first < %d; first += %d)", each, many);
    }
    put_load_parts(w, sums, n, tiles, turns ? "first" : "0", many);
    for (uint32_t r = 0; r < n; r++) {
        value_id v = sums[r], max = maximum_of(w, v);
        const char *all = arena_printf(w->arena, "a%u[i / 2][i %% 2]", v);
        const char *part = arena_printf(w->arena, "l%u[j]", v);
        if (max != NO_VALUE)
            part = arena_printf(w->arena, "(%s * k_rescale(l%u[j], a%u[i / 2][i %% 2]))", part, max,
                                max);
        line(w, "#pragma unroll");
        line(w, "for (int j = 0; j < %d; j++) %s = %s;", many, all, combine_text(w, v, all, part));
        if (!turns) line(w, "%s = %s;", all, lanes_text(w, v, "1, 4", all));
    }
    if (turns) close_brace(w);
    for (uint32_t r = 0; r < n && turns; r++) {
        const char *all = arena_printf(w->arena, "a%u[i / 2][i %% 2]", sums[r]);
        line(w, "%s = %s;", all, lanes_text(w, sums[r], "1, 4", all));
    }
    close_brace(w);
}

/* Of online sums both phases are met for at once. */
void put_meet_partials(struct emitter *w, const struct tile_program *t, int tiles, int phase) {
    const struct product *p = t->product;
    VEC(value_id) sums = {0};
    for (int f = p->online ? 0 : phase; f <= phase; f++)
        for (uint32_t i = 0; i < w->p->phases.at[f].reduce.n; i++)
            vec_push(w->arena, &sums, w->p->phases.at[f].reduce.at[i]);
    line(w, "k_meet_parts<%d>(tickets + (((z * %lld + m0 / %d) * %d + group) * %u + %d), %d, %s);",
         p->group_threads, (long long)matrix_tiles(w->k, w->y, AXIS_M) * w->y->cluster, w->y->bx,
         p->warpgroups, w->p->phases.n, phase, tiles, group_barrier(t));
    put_row_parts(w, t, sums.at, sums.n, tiles);
}

/* What the tile's sums are relative to: t5, and a number in its place where there is none. */
void put_hold(struct emitter *w, const struct tile_program *t) {
    const struct phase *f = &w->p->phases.at[0];
    int rows = t->product->warp_rows / 8;
    for (uint32_t i = 0; i < f->reduce.n; i++) {
        value_id v = f->reduce.at[i];
        bool relative = false;
        for (uint32_t s = 0; s < w->p->phases.at[1].reduce.n; s++)
            relative |= maximum_of(w, w->p->phases.at[1].reduce.at[s]) == v;
        if (!relative) continue;
        const char *type = accumulator_type(w, v);
        line(w, "%s t%u[%d];", type, v, rows);
        line(w, "#pragma unroll");
        open_brace(w, "for (int i = 0; i < %d; i++)", rows);
        line(w, "t%u[i] = a%u[i / 2][i %% 2];", v, v);
        line(w, "if (t%u[i] == -k_inf()) a%u[i / 2][i %% 2] = 0;", v, v);
        close_brace(w);
    }
}

void put_rescale(struct emitter *w, const struct tile_program *t, const char *sums) {
    int octets = t->product->warp_columns / 8;
    value_id max = maximum_of(w, w->p->phases.at[1].reduce.at[0]);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", t->product->warp_rows / 8);
    line(w, "const float by = k_rescale(t%u[i], a%u[i / 2][i %% 2]);", max, max);
    line(w, "#pragma unroll");
    line(w,
         "for (int g = 0; g < %d; g++) %s[(i / 2 * %d + g / 2) * 4 + i %% 2 * 2 + g %% 2] *= by;",
         octets * 2, sums, octets);
    close_brace(w);
}

void put_row_results(struct emitter *w, const struct tile_program *t) {
    open_brace(w, "if (quad == 0 && across == 0 && n0 == 0)");
    line(w, "#pragma unroll");
    open_brace(w, "for (int f = 0; f < %d; f++)", t->product->warp_rows / 16);
    line(w, "#pragma unroll");
    open_brace(w, "for (int h = 0; h < 2; h++)");
    line(w, "const k_idx m = first_row + f * %d + h * 8;", product_sixteens_apart(t->product));
    line(w, "if (m >= nm) continue;");
    w->subscript = "[f][h]";
    for (value_id v = 0; v < w->k->values.n; v++)
        w->where[v] = is_epilogue_reduction(w->k, v) ? ARRAY : NOWHERE;
    for (uint32_t i = 0; i < w->p->finish.n; i++) put_local(w, w->p->finish.at[i]);
    for (uint32_t i = 0; i < w->p->column_stores.n; i++)
        put_guarded_store1(w, &w->k->stores.at[w->p->column_stores.at[i]]);
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

/* ---- all tiles' ------------------------------------------------------------------------------ */

void put_partials_parameters(struct emitter *w, const struct tile_program *t, struct ws_launch *l) {
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!is_epilogue_reduction(w->k, v) || !tile_leaves_partials(t)) continue;
        l->args[l->n_args++] =
            (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = tile_partials(t, v)};
        buf_printf(&w->b, ", %s *part%u", accumulator_type(w, v), v);
    }
}

/* z, m and n of result x. */
static void put_place(struct emitter *w) {
    const struct kernel *k = w->k;
    static const struct {
        enum axis axis;
        char name;
    } axes[] = {{AXIS_N, 'n'}, {AXIS_M, 'm'}, {AXIS_Z, 'z'}};
    int64_t inner = 1;
    for (size_t n = 0; n < sizeof axes / sizeof *axes; n++) {
        size_t i = kernel_has_spans(k) && n < 2 ? 1 - n : n; /* spans of n have rows within */
        int64_t span = kernel_span(k, axes[i].axis), size = kernel_size(k, axes[i].axis) / span;
        if (k->over >> axes[i].axis & 1 && !kernel_has_spans(k)) continue;
        const char *by = span > 1 ? arena_printf(w->arena, " * %lld", (long long)span) : "";
        line(w, "const k_idx %c = x / %lld %% %lld%s;", axes[i].name, (long long)inner,
             (long long)size, by);
        line(w, "(void)%c;", axes[i].name);
        inner *= size;
    }
}

/* A launch behind the product: t0 results by t1 threads, which share a result's parts, or those of
 * the block's chunk. Leaves it inside of a condition that a result's first thread has. */
static void open_sums(struct emitter *w, const struct tile_program *t, const char *name,
                      struct parts *sums, int64_t results) {
    enum { THREADS = 256, LINE = 32 /* f32 */ };
    const struct kernel *k = w->k;
    int t0 = LINE, smem = 0, chunks = sums->chunks ? sums->chunks : 1;
    int parts = (sums->parts + chunks - 1) / chunks;
    while (t0 < THREADS && THREADS / t0 > parts) t0 *= 2;
    struct layout y = {.threads = THREADS, .t0 = t0, .t1 = THREADS / t0, .vec = 1};
    spread_parts(k, sums->sums, sums->n, parts, results * chunks, &y);
    sums->t1 = y.t1;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = arena_printf(w->arena, "%s_%s", k->entry, name),
                            .grid = {tile_count(results, t0), chunks, 1},
                            .threads = y.threads};
    add_arguments(w, l);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d, 1) %s(", y.threads,
               l->entry);
    put_parameters(w);
    put_partials_parameters(w, t, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x, tr = tid / %d, tx = tid %% %d;", t0, t0);
    line(w, "const k_idx result = (k_idx)blockIdx.x * %d + tx, x = k_clamp(result, (k_idx)%lld);",
         t0, (long long)results - 1);
    if (sums->chunks) line(w, "const int chunk = (int)blockIdx.y;");
    line(w, "(void)k_smem;");
    for (value_id v = 0; v < k->values.n; v++) w->where[v] = NOWHERE;
    w->subscript = "";
    for (uint32_t i = 0; i < sums->n; i++)
        line(w, "%s a%u = %s;", accumulator_type(w, sums->sums[i]), sums->sums[i],
             identity_text(w, sums->sums[i]));
    put_parts_sum(w, sums, y.threads);
    for (uint32_t i = 0; i < sums->n; i++) {
        value_id v = sums->sums[i];
        line(w, "k_reduce_columns<%s, %d, %d, 1>(&a%u, (%s *)(k_smem + %d));", op_of(w, v), t0,
             y.t1, v, accumulator_type(w, v), smem);
        smem += (layout_column_slots(k, &y) * reduction_bytes(k, v) + 15) / 16 * 16;
        w->where[v] = ARRAY;
    }
    l->smem = smem;
    open_brace(w, "if (tr == 0 && result < %lld)", (long long)results);
}

/* Chunks that many parts of few results are added up in before, or the launch behind would be a few
 * multiprocessors': 16 thousand parts of 64 results are 20 MB, which one reads at 75 GB/s. 1792 of
 * 20 bytes take an H200 5.5 us so, 784 of 12 bytes 5.6 without; narrower columns for more blocks do
 * not help, for each then reads as many lines: 11.9 us. */
static int part_chunks(const struct kernel *k, int64_t results, int64_t parts) {
    enum { LINE = 32, MANY = 512, EACH = 64, MOST = 128 };
    int64_t blocks = tile_count(results, LINE);
    int chunks = 1;
    if (parts < MANY || blocks * 4 > k->limits->units) return 0;
    while (chunks < MOST && chunks * 2 * EACH <= parts && blocks * chunks < k->limits->units)
        chunks *= 2;
    return chunks;
}

/* Behind the product: one launch, or two, the first of which leaves what a chunk's parts come to
 * where the first of them was; nobody else reads that one. */
void emit_partials_finish(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    int64_t results = matrix_results(k), parts = matrix_partials(k, w->y);
    int rows = kernel_has_spans(k) ? (int)kernel_span(k, AXIS_M) : 1;
    VEC(value_id) all = {0};
    for (value_id v = 0; v < k->values.n; v++)
        if (is_epilogue_reduction(k, v)) vec_push(w->arena, &all, v);
    struct parts sums = {.sums = all.at,
                         .n = all.n,
                         .parts = (int)parts,
                         .rows = rows,
                         .chunks = part_chunks(k, results, parts),
                         .width = arena_printf(w->arena, "%lld", (long long)results * rows),
                         .at = "x",
                         .subscript = ""};
    if (sums.chunks) {
        open_sums(w, t, "gather", &sums, results);
        for (uint32_t i = 0; i < all.n; i++)
            line(w, "k_store_parts<1>(&%s, &a%u);", part_at(w, &sums, all.at[i], "chunk"),
                 all.at[i]);
        close_brace(w);
        close_brace(w);
        sums.parts = sums.chunks, sums.chunks = 0;
    }
    open_sums(w, t, "finish", &sums, results);
    put_place(w);
    for (uint32_t i = 0; i < w->p->finish.n; i++) put_local(w, w->p->finish.at[i]);
    for (uint32_t i = 0; i < w->p->column_stores.n; i++)
        put_guarded_store1(w, &k->stores.at[w->p->column_stores.at[i]]);
    close_brace(w);
    close_brace(w);
}

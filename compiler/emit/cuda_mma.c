/* cuda_mma.c: tile programs of products as CUDA C++, instruction by instruction, on sm_90a:
 *
 *     role 128         if (threadIdx.x < 128) { if (threadIdx.x < 32) { if (threadIdx.x == 0) {
 *     draw                 for (int tile = blockIdx.x; tile < 512; tile += gridDim.x) {
 *     loop                     for (int step = 0; step < 64; step++) {
 *     wait empty                   k_mbar_wait_block(empty + s * 8, phase ^ 1);
 *                                  k_mbar_arrive_expect_tx(full + s * 8, 49152);
 *     copy A                       k_map_load(stage, &map_a, full + s * 8, step * 64, m0, z);
 *     next                         if (++s == 4) s = 0, phase ^= 1;
 *
 *     role 256         else {
 *     fill                 float sums[128];            the first products overwrite them
 *     wait full                    k_mbar_wait_block(full + s * 8, phase);
 *     dot                          k_wgmma(sums, k_operand_on(of_a, at + i * 2), ..., step | i);
 *     drain 1                      k_wgmma_wait<1>();
 *     arrive 1                     if (step && tid == 0) k_mbar_arrive(empty + before * 8);
 *     store                    see cuda_epilogue.c
 *
 * and by warps alone, from sm_80 on (cuda_warps.c has COPY and DOT):
 *
 *     ahead 3                  for (int step = 0; step < 3; step++) {
 *     copy A                       const int s = step;
 *     group                        k_cp_async_commit();
 *     loop                     for (int step = 0, s = 0; step < steps; step++) {
 *     landed 2                     k_cp_async_wait<2>(), __syncthreads();
 *     copy A 3                     if (step + 3 < steps) ...
 *
 * The last warp that copies waits for its one thread that does, before the block's last barrier. */
#include "emit/cuda_mma.h"

enum { WARPGROUP = 128 };

static const struct tile_ring *ring(const struct tile_program *t, int i) { return &t->ring[i]; }

/* ---- instructions ---------------------------------------------------------------------------- */

/* Of a thread: all have the same as they are launched. Two warpgroups that make tiles have more
 * than two that multiply by few columns. */
static void put_registers(struct emitter *w, const struct tile_program *t, int registers) {
    int launched = product_launch_registers(w->k, t->product, t->threads);
    if (registers && registers != launched)
        line(w, "k_%s_registers<%d>();", registers < launched ? "fewer" : "more", registers);
}

enum role { COPIES, ISSUES, MULTIPLIES }; /* multiplies: or reads what products came to */

/* Of one thread, of a warp of those that copy and issue. */
static void open_thread(struct emitter *w, int thread) {
    open_brace(w, "if (threadIdx.x == %d)", thread);
}

/* Those that copy, and those that issue, are one warpgroup: they change registers together. */
static void put_tensor_roles(struct emitter *w, const struct tile_program *t, enum role role) {
    int registers = product_registers(t->product, role == MULTIPLIES);
    if (role == COPIES && tile_made(t)) {
        open_brace(w, "if (threadIdx.x < %d)", t->copiers);
        put_places_of_makers(w, t);
    } else if (role == COPIES) {
        open_brace(w, "if (threadIdx.x < %d)", WARPGROUP);
        put_registers(w, t, registers);
        open_brace(w, "if (threadIdx.x < %d)", t->copiers);
        open_thread(w, 0);
    } else if (role == ISSUES) {
        int others = tile_made(t) ? WARPGROUP : w->k->limits->warp;
        open_brace(w, "else if (threadIdx.x < %d)", t->copiers + others);
        open_thread(w, t->copiers);
        put_tensor_role(w, t, true);
    } else {
        open_brace(w, "else");
        put_registers(w, t, registers);
        put_tensor_role(w, t, false);
        return;
    }
    line(w, "int s = 0;");
    line(w, "unsigned phase = 0;");
}

static void put_role(struct emitter *w, const struct tile_program *t, enum role role) {
    bool copies = role == COPIES;
    int registers = product_registers(t->product, !copies);
    if (t->product->tensor) {
        put_tensor_roles(w, t, role);
    } else if (copies) {
        open_brace(w, "if (threadIdx.x < %d)", t->copiers);
        put_registers(w, t, registers);
        if (tile_made(t)) {
            put_places_of_makers(w, t);
        } else {
            open_brace(w, "if (threadIdx.x < %d)", w->k->limits->warp);
            open_brace(w, "if (threadIdx.x == 0)");
        }
    } else {
        open_brace(w, "else");
        put_registers(w, t, registers);
        bool in_turn = t->product->in_turn > 1;
        /* As a warp's number: the compiler then keeps what follows from it in uniform registers. */
        line(w, "const int %s = __shfl_sync(0xffffffffu, (int)threadIdx.x / %d - %d, 0);",
             in_turn ? "own_turn" : "group", WARPGROUP, t->copiers / WARPGROUP);
        if (in_turn) line(w, "const int group = 0;"); /* it has all of its tile */
        if (in_turn) line(w, "int turn = 0;");
        if (in_turn) line(w, "unsigned turn_phase = own_turn == 0;"); /* nobody is before it */
        line(w, "const int tid = (int)threadIdx.x %% %d;", WARPGROUP);
        put_wgmma_operands(w, t);
        if (t->product->splits) line(w, "bool odd = false;");
    }
    if (t->product->tensor) return;
    line(w, "int s = 0;");
    line(w, "unsigned phase = 0;");
    if (copies && tile_made(t)) put_first_take(w, t, tile_made(t));
}

/* Words that each block leaves that splits: of each warp whether anything was out of range. */
int split_verdicts(const struct tile_program *t) { return t->product->warpgroups * 4; }

static void end_role(struct emitter *w, const struct tile_program *t, enum role role) {
    if (role == MULTIPLIES && t->product->splits) {
        line(w, "odd = __any_sync(0xffffffffu, odd);");
        line(w, "if (tid %% 32 == 0) verdict[blockIdx.x * %d + group * 4 + tid / 32] = odd;",
             split_verdicts(t));
    }
    close_brace(w);
    if (role == MULTIPLIES || (role == COPIES && tile_made(t))) return;
    line(w, "__syncwarp();");
    close_brace(w);
    if (!t->product->tensor || (role == ISSUES && !tile_made(t))) close_brace(w);
}

/* Of all steps, one behind the other, those of a part. */
static void put_part(struct emitter *w, const char *all, const char *parts) {
    line(w, "const int from = part * %s / %s, steps = (part + 1) * %s / %s - from;", all, parts,
         all, parts);
    line(w, "(void)from;");
}

/* The steps whose terms may count for the tile, which all blocks of a cluster have. */
static void put_bounded_steps(struct emitter *w, const struct tile_program *t) {
    int parts = t->product->parts, depth = t->ring[TILE_A].depth, blocks = w->y->cluster;
    const char *first[] = {"m0", "n0"};
    if (blocks > 1) {
        int a = t->product->shares_a;
        first[a] = arena_printf(w->arena, "(%s - rank * %d)", first[a], a ? w->y->br : w->y->bx);
    }
    put_depth_range(w, "int", first[0], matrix_tile_size(w->y, AXIS_M), first[1],
                    matrix_tile_size(w->y, AXIS_N),
                    arena_printf(w->arena, "%lld", (long long)kernel_size(w->k, AXIS_R)));
    line(w, "const int first_step = r_from / %d;", depth);
    line(w, "const int all_steps = r_from < r_end ? (r_end + %d) / %d - first_step : 0;", depth - 1,
         depth);
    if (parts > 1)
        put_part(w, "all_steps", arena_printf(w->arena, "%d", parts));
    else
        line(w, "const int steps = all_steps;");
}

/* Where tile number `tile` is. Bands of tiles, column by column inside a band: blocks at work at a
 * time share operands in L2. */
void put_tile_place(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    const struct layout *y = w->y;
    long long m = matrix_tiles(k, y, AXIS_M), n = matrix_tiles(k, y, AXIS_N);
    int band = t->product->band;
    long long batches = matrix_tiles(k, y, AXIS_Z);
    const char *of = arena_printf(w->arena, "tile / %lld, of_z = tile %% %lld", m * n, m * n);
    if (t->product->batches_beside)
        of = arena_printf(w->arena, "(tile + tile / %lld) %% %lld, of_z = tile / %lld",
                          (long long)tile_turns(t), batches, batches);
    bool bands = m > 1 && n > 1;
    line(w, "const k_idx z = %s;", of);
    if (bands) {
        line(w, "const int band = of_z / %lld * %d;", band * n, band);
        line(w, "const int high = k_clamp(%lld - band, %d), at = of_z - band * %lld;", m, band, n);
    }
    const char *of_rank = y->cluster > 1 ? arena_printf(w->arena, " * %d + rank)", y->cluster) : "";
    const char *down = t->product->shares_a ? "" : of_rank,
               *on = t->product->shares_a ? of_rank : "";
    line(w, "const int m0 = %s%s%s * %d, n0 = %s%s%s * %d;", *down ? "(" : "",
         bands   ? "(band + at % high)"
         : m > 1 ? "of_z"
                 : "0",
         down, y->bx, *on ? "(" : "",
         bands   ? "at / high"
         : n > 1 ? "of_z"
                 : "0",
         on, y->br);
    line(w, "(void)z, (void)of_z;");
}

static void put_draw_tile(struct emitter *w, const struct tile_program *t) {
    const struct layout *y = w->y;
    int parts = t->product->parts;
    long long whole = (long long)t->product->whole;
    const char *cluster = y->cluster > 1 ? arena_printf(w->arena, " / %d", y->cluster) : "";
    const char *drawn = parts > 1 || t->order ? "drawn" : "tile";
    open_brace(w, "for (int %s = (int)blockIdx.x%s; %s < %lld; %s += (int)gridDim.x%s)", drawn,
               cluster, drawn, (long long)tile_draws(t), drawn, cluster);
    long long steps = (long long)tile_steps(t);
    const char *number = parts > 1 ? arena_printf(w->arena, "drawn / %d", parts) : drawn;
    if (whole) {
        line(w, "const bool cut = drawn >= %lld;", whole);
        line(w, "const int of_cut = drawn - %lld, parts_of = cut ? %d : 1;", whole, parts);
        number = arena_printf(w->arena, "cut ? %lld + of_cut / %d : drawn", whole, parts);
    }
    bool everywhere = !t->product->steps && !t->product->bounded;
    if (t->order) number = arena_printf(w->arena, "tile_at[%s]", number);
    if (parts > 1 || t->order) line(w, "const int tile = %s;", number);
    if (whole)
        line(w, "const int part = cut ? of_cut %% %d : 0;", parts);
    else if (parts > 1)
        line(w, "const int part = drawn %% %d;", parts);
    if (whole)
        put_part(w, arena_printf(w->arena, "%lld", steps), "parts_of");
    else if (everywhere && parts > 1)
        put_part(w, arena_printf(w->arena, "%lld", steps), arena_printf(w->arena, "%d", parts));
    else if (everywhere)
        line(w, "const int steps = %lld;", steps);
    put_tile_place(w, t);
    if (t->product->steps && parts > 1)
        put_part(w, "steps_of[z]", arena_printf(w->arena, "%d", parts));
    else if (t->product->steps)
        line(w, "const int steps = steps_of[z];");
    if (t->product->bounded) put_bounded_steps(w, t);
    if (t->product->tensor) line(w, "(void)m0, (void)n0, (void)steps;");
    if (t->ahead) line(w, "int s = 0;");
}

const char *sum_type(const struct tile_program *t) {
    return dtype_is_float(t->product->a.dtype) ? "float" : "int";
}

const char *unit_type(enum dtype t) {
    if (dtype_is_float8(t)) return dtype_name(t) + strlen("f8");
    return t == DT_F32 ? "tf32" : t == DT_I8 ? "s8" : t == DT_U8 ? "u8" : dtype_name(t);
}

static int number_of_byte(enum dtype t) {
    return t == DT_I8 ? 0 : t == DT_U8 ? 1 : t == DT_F8E4M3 ? 2 : 3;
}

int unit_number(enum dtype a, enum dtype b) {
    enum { OF_F16 = 1, OF_TF32 = 2, OF_BYTES = 3 };
    if (dtype_bytes(a) == 1) return OF_BYTES + 4 * number_of_byte(a) + number_of_byte(b);
    return a == DT_F32 ? OF_TF32 : a == DT_F16 ? OF_F16 : 0;
}

char ring_letter(const struct tile_ring *r) { return r->operand->axis == AXIS_M ? 'a' : 'b'; }

static const char *number_of_step(struct emitter *w, const struct tile_program *t,
                                  const char *step) {
    int parts = t->product->parts;
    if (t->product->whole || parts > 1) step = arena_printf(w->arena, "(from + %s)", step);
    if (t->product->bounded) step = arena_printf(w->arena, "(first_step + %s)", step);
    if (t->product->steps)
        step = arena_printf(w->arena, "step_at[z * %lld + %s]", (long long)t->product->steps->most,
                            step);
    return step;
}

const char *depth_of_step(struct emitter *w, const struct tile_program *t, const char *step,
                          int depth) {
    return arena_printf(w->arena, "%s * %d", number_of_step(w, t, step), depth);
}

/* In a step of a role: does all of its depth count? */
void put_whole_step(struct emitter *w, const struct tile_program *t) {
    const struct short_steps *s = &t->product->shorts;
    const char *number = number_of_step(w, t, "step");
    if (!tile_has_both_steps(t)) return;
    if (s->every < tile_steps(t))
        number = arena_printf(w->arena, "%s %% %lld", number, (long long)s->every);
    line(w, "const bool whole = %s != %lld;", number, (long long)s->at);
}

static void put_numbers(struct emitter *w, const char *name, const int *x, int64_t n) {
    struct buf b = buf_new(w->arena);
    for (int64_t i = 0; i < n; i++) buf_printf(&b, "%s%d", i ? ", " : "", x[i]);
    line(w, "static const unsigned short %s[] = {%s};", name, b.p);
}

/* Which steps the batches have; in which order tiles are done. */
void put_batch_steps(struct emitter *w, const struct tile_program *t) {
    const struct batch_steps *s = t->product->steps;
    int64_t batches = kernel_size(w->k, AXIS_Z);
    if (t->order) put_numbers(w, "tile_at", t->order, tile_all(t));
    if (!s) return;
    put_numbers(w, "steps_of", s->n, batches);
    put_numbers(w, "step_at", s->at, batches * s->most);
}

static const char *digit_text(struct emitter *w, const char *number, int64_t below, int64_t size,
                              int64_t step) {
    struct buf b = buf_new(w->arena);
    if (size == 1) return "0";
    buf_puts(&b, number);
    if (below > 1) buf_printf(&b, " / %lld", (long long)below);
    buf_printf(&b, " %% %lld", (long long)size);
    if (step > 1) buf_printf(&b, " * %lld", (long long)step);
    return b.p;
}

const char *window_digit_text(struct emitter *w, const struct im2col *of, int d,
                              const char *window) {
    int64_t below = 1;
    for (int i = 0; i < d; i++) below *= of->dim[i].windows;
    return digit_text(w, window, below, of->dim[d].windows, of->dim[d].step);
}

const char *tap_digit_text(struct emitter *w, const struct im2col *of, int d, const char *tap) {
    int64_t below = 1;
    for (int i = 0; i < d; i++) below *= of->dim[i].taps;
    return digit_text(w, tap, below, of->dim[d].taps, of->dim[d].apart);
}

/* Of a ring whose stages are filled again: how these lie. */
const struct tile_ring *moving_ring(const struct tile_program *t) {
    return ring(t, ring(t, TILE_A)->operand->stays ? TILE_B : TILE_A);
}

static const char *copied_bytes_text(struct emitter *w, const struct tile_program *t,
                                     bool is_short) {
    int bytes = tile_copied_bytes(t, is_short, true), later = tile_copied_bytes(t, is_short, false);
    if (bytes == later) return arena_printf(w->arena, "%d", bytes);
    return arena_printf(w->arena, "(first ? %d : %d)", bytes, later);
}

static void put_wait_empty(struct emitter *w, const struct tile_program *t) {
    line(w, "k_mbar_wait_block(empty + s * 8, phase ^ 1);");
    put_whole_step(w, t);
    const char *teller = tile_made(t) ? "if (tid == 0) " : "",
               *bytes = copied_bytes_text(w, t, t->product->shorts.every);
    if (tile_has_both_steps(t))
        bytes = arena_printf(w->arena, "whole ? %s : %s", copied_bytes_text(w, t, false), bytes);
    if (tile_staying(t)) line(w, "const bool first = tile == (int)blockIdx.x;");
    line(w, "%sk_mbar_arrive_expect_tx(full + s * 8, %s);", teller, bytes);
    line(w, "const k_shared stage = stages + s * %d;", moving_ring(t)->stage);
}

/* What stays is copied in the block's first tile. */
static void put_copy_once(struct emitter *w, const struct tile_program *t,
                          const struct tile_ring *r) {
    open_brace(w, "if (first)");
    line(w, "const k_shared stage = stages + step * %d;", r->stage);
    put_copy(w, t, r);
    close_brace(w);
}

/* What all threads of a warp have written, for the units that read it. */
static void put_give(struct emitter *w) {
    line(w, "k_fence_async_shared();");
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(full + s * 8);", w->k->limits->warp);
}

/* Of a warpgroup whose products alone read the stage one thread arrives, or of each warp one, which
 * has read the stage itself. */
static void put_arrive(struct emitter *w, const struct tile_program *t, int before, bool in_loop) {
    int blocks = w->y->cluster, warp = w->k->limits->warp;
    const char *stage = before ? "before" : "s", *late = before && in_loop ? "step && " : "";
    if (before && !in_loop && t->product->bounded) late = "steps && ";
    if (t->product->a.in_registers) line(w, "__syncwarp();");
    if (t->product->a.in_registers && blocks > 1)
        line(w, "if (%stid %% %d < %d) k_mbar_arrive_at(empty + %s * 8, tid %% %d);", late, warp,
             blocks, stage, warp);
    else if (t->product->a.in_registers)
        line(w, "if (%stid %% %d == 0) k_mbar_arrive(empty + %s * 8);", late, warp, stage);
    else if (blocks > 1)
        line(w, "if (%stid < %d) k_mbar_arrive_at(empty + %s * 8, tid);", late, blocks, stage);
    else
        line(w, "if (%stid == 0) k_mbar_arrive(empty + %s * 8);", late, stage);
}

static void put_fold(struct emitter *w, const struct tile_program *t, bool unfold) {
    int sums = product_thread_sums(t->product);
    const struct folds *f = &t->product->folds;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", sums);
    line(w, "float(&up)[%d] = k_in_memory(above[i]);", f->levels);
    if (unfold)
        line(w, "total[i] = k_unfold<k_sum>(up, total[i]);");
    else
        line(w, "k_fold<k_sum, %d>(up, total[i], 0.0f, (unsigned)(step / %d));", f->radix,
             f->block);
    close_brace(w);
}

/* Of those in parts. A cluster's tile is one of each of its blocks. */
static const char *tile_of_block(struct emitter *w) {
    int n = w->y->cluster;
    long long whole = (long long)w->y->product->whole;
    const char *tile = whole ? arena_printf(w->arena, "(tile - %lld)", whole) : "tile";
    return n > 1 ? arena_printf(w->arena, "(%s * %d + rank)", tile, n) : tile;
}

static const char *sums_name(const struct tile_program *t) {
    return t->product->promotes ? "total" : "sums";
}

/* The first row and column of the tile that a thread has sums of. */
static void put_first_sums(struct emitter *w, const struct tile_program *t) {
    int warp = w->k->limits->warp;
    if (t->ahead) {
        line(w, "const int first_row = m0 + warp_m + tid %% %d / 4, first_column = n0 + warp_n;",
             warp);
        return;
    }
    if (t->product->tensor) {
        line(w, "const int first_row = m0 + of_group %% 4 * %d + tid %% %d / 4;",
             t->product->warp_rows, warp);
        line(w, "const int first_column = n0 + of_group / 4 * %d;", t->product->warp_columns);
        return;
    }
    line(w, "const int first_row = m0 + group * 64 + tid / %d * 16 + tid %% %d / 4;", warp, warp);
    line(w, "const int first_column = n0;");
}

/* Sums of planes are so many times too large; to undo that takes no instruction of its own. */
static const char *unscaled(const struct product *p) {
    static const char *const by[] = {"", " * 0x1p-16f", " * 0x1p-32f"};
    _Static_assert(PLANE_SCALE == 16, "as here");
    return p->pairs ? " * unscale" : by[(p->a.planes > 1) + (p->b.planes > 1)];
}

static void put_unscale(struct emitter *w, const struct tile_program *t) {
    const char *by = t->product->promotes ? "" : unscaled(t->product);
    if (!*by) return;
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) sums[i] = sums[i]%s;", product_thread_sums(t->product),
         by);
}

/* Pairs of neighbours lie beside those of the other threads, first all of a tile's first eight rows
 * of sixteen: what put_share reads. */
static void put_leave(struct emitter *w, const struct tile_program *t) {
    const char *sums = sums_name(t);
    int all = product_thread_sums(t->product), octets = t->product->warp_columns / 8;
    int group = t->product->group_threads, threads = t->product->warpgroups * group;
    line(w,
         "%s *const of_tile = parts + ((long long)%s * %lld + group * %d + tid) * 2, "
         "*const of_part = of_tile + (long long)part * %d;",
         sum_type(t), tile_of_block(w), (long long)t->product->parts * all / 2 * threads, group,
         all * threads);
    put_unscale(w, t);
    put_first_sums(w, t);
    line(w, "#pragma unroll");
    open_brace(w, "for (int h = 0; %sh < %d; h++)", t->product->whole ? "cut && " : "",
               t->product->warp_rows / 8);
    if (tile_rows_end(t)) line(w, "if (%s) continue;", rows_end_text(w, t, "h"));
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++)", octets);
    line(w,
         "    k_store_parts<2>(of_part + (h * %d + i) * %d, %s + (h / 2 * %d + i) * 4 + h %% 2 * "
         "2);",
         octets, threads * 2, sums, octets);
    close_brace(w);
}

static void put_meet(struct emitter *w, const struct tile_program *t, int parts) {
    const char *cut = t->product->whole ? "if (cut) " : "";
    line(w, "%sk_meet_parts<%d>(tickets + %s * %d + group, %d, 1 + group);", cut,
         t->product->group_threads, tile_of_block(w), t->product->warpgroups, parts);
}

static void declare_sums(struct emitter *w, const struct tile_program *t) {
    int sums = product_thread_sums(t->product);
    const struct folds *f = &t->product->folds;
    line(w, "%s sums[%d];", sum_type(t), sums);
    if (!t->ahead && !t->product->tensor) line(w, "int before = 0;");
    if (!t->ahead && !t->product->tensor) line(w, "(void)before;");
    if (!t->product->promotes) return;
    line(w, "float total[%d];", sums);
    if (t->product->pairs && !t->product->tensor) line(w, "float crossed[%d];", sums);
    if (f->levels) line(w, "float above[%d][%d];", sums, f->levels);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", sums);
    line(w, "total[i] = 0;");
    if (f->levels) line(w, "for (int l = 0; l < %d; l++) k_in_memory(above[i])[l] = 0;", f->levels);
    close_brace(w);
}

/* Of those that multiply. */
static void begin_tile(struct emitter *w, const struct tile_program *t) {
    declare_sums(w, t);
    if (!t->ahead) put_prefetch(w, t);
    put_lying_rows(w, t);
}

/* ---- the program ----------------------------------------------------------------------------- */

static void put_stores(struct emitter *w, const struct tile_program *t, int phase) {
    if (!phase && t->product->parts == 1) put_unscale(w, t); /* else they are, and in scope */
    if (!phase && t->product->parts == 1) put_first_sums(w, t);
    put_epilogue_of(w, t, sums_name(t), phase);
}

void put_add(struct emitter *w, const struct tile_program *t) {
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) total[i] += sums[i]%s;", product_thread_sums(t->product),
         unscaled(t->product));
}

static void put_cross(struct emitter *w, const struct tile_program *t, int steps) {
    bool tensor = t->product->tensor;
    if (tensor) {
        open_tensor_cross(w, t, steps);
    } else {
        close_brace(w);
        line(w, "k_wgmma_wait<0>();");
    }
    line(w, "const float by = k_now(unscale * 0x1p-%df);", PAIR_SHIFT);
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < %d; i++) total[i] += %s[i] * by;", product_thread_sums(t->product),
         tensor ? "sums" : "crossed");
    if (tensor) close_brace(w);
}

static void put_loop(struct emitter *w, const char *first, const char *end) {
    line(w, "#pragma unroll 1");
    open_brace(w, "for (%s; step < %s; step++)", first, end);
}

/* Products are under way from step to step of the inner loop, which CROSS closes: where one loop
 * has a wait for them in a branch, ptxas has it in every step. */
static void put_loops_of_pairs(struct emitter *w) {
    open_brace(w, "for (int step = 0; step < steps;)");
    line(w, "const int stop = step + %d < steps ? step + %d : steps;", CROSS_STEPS, CROSS_STEPS);
    put_loop(w, "", "stop");
}

/* The stage so many steps on; all tiles have as many. */
static void put_skip(struct emitter *w, const struct tile_program *t) {
    int stages = tile_stages(t);
    int64_t steps = tile_steps(t), rest = steps % stages;
    open_brace(w, "if (turn != own_turn)");
    if (rest) line(w, "s += %lld;", (long long)rest);
    if (rest) line(w, "if (s >= %d) s -= %d, phase ^= 1;", stages, stages);
    if (steps / stages % 2) line(w, "phase ^= 1;");
    close_brace(w);
}

static void put_wait_turn(struct emitter *w) {
    line(w, "k_mbar_wait_block(turns + own_turn * 8, turn_phase);");
    line(w, "turn_phase ^= 1;");
}

const char *group_barrier(const struct tile_program *t) {
    return t->product->in_turn > 1 ? "1 + own_turn" : "1 + group";
}

static void put_next_turn(struct emitter *w, int turns) {
    line(w, "if (++turn == %d) turn = 0;", turns);
}

void put_tile_code(struct emitter *w, const struct tile_program *t) {
    enum { MOST_REGIONS = 8 };
    enum tile_op open[MOST_REGIONS];
    int depth = 0;
    int left = 0; /* the phase whose partials have been left */
    enum role role = t->ahead ? MULTIPLIES : COPIES;
    bool fresh = false, in_loop = false, tensor = t->product->tensor;
    for (uint32_t i = 0; i < t->code.n; i++) {
        const struct tile_inst *x = &t->code.at[i];
        bool copies = role == COPIES;
        if (tile_op_opens(x->op)) open[depth++] = x->op;
        switch (x->op) {
        case TILE_ROLE:
            role = !i ? COPIES : tensor && copies ? ISSUES : MULTIPLIES;
            put_role(w, t, role);
            break;
        case TILE_DRAW:
            put_draw_tile(w, t);
            if (role == MULTIPLIES && t->product->in_turn == 1) begin_tile(w, t);
            for (int j = 0; j < RINGS && copies; j++) put_first_window(w, ring(t, j));
            break;
        case TILE_AHEAD:
            line(w, "#pragma unroll");
            open_brace(w, "for (int step = 0; step < %d; step++)", x->n);
            line(w, "const int s = step;");
            break;
        case TILE_LOOP:
            if (!copies && t->product->pairs && !tensor)
                put_loops_of_pairs(w);
            else
                put_loop(w, "int step = 0", "steps");
            in_loop = true;
            break;
        case TILE_END:
            depth--;
            if (open[depth] == TILE_ROLE)
                end_role(w, t, role);
            else
                close_brace(w);
            if (open[depth] == TILE_TURN && !copies) put_next_turn(w, t->product->in_turn);
            if (open[depth] == TILE_LOOP && role == MULTIPLIES && t->product->folds.levels)
                put_fold(w, t, true);
            if (open[depth] == TILE_LOOP && copies && tile_turns_go_on(t))
                line(w, "turn = turn ? turn - 1 : %d;", t->product->makers - 1);
            in_loop &= open[depth] != TILE_LOOP;
            break;
        case TILE_WAIT_EMPTY: put_wait_empty(w, t); break;
        case TILE_COPY:
            if (tile_made(t)) open_brace(w, "if (tid == 0)");
            if (t->ahead)
                put_copy_by_warps(w, t, ring(t, x->ring), x->n);
            else if (ring(t, x->ring)->operand->stays)
                put_copy_once(w, t, ring(t, x->ring));
            else
                put_copy(w, t, ring(t, x->ring));
            if (tile_made(t)) close_brace(w);
            break;
        case TILE_TURN:
            open_brace(w, copies ? "if (turn == group)" : "if (turn == own_turn)");
            if (!copies) begin_tile(w, t);
            break;
        case TILE_SKIP: put_skip(w, t); break;
        case TILE_WAIT_TURN: put_wait_turn(w); break;
        case TILE_PASS_TURN:
            line(w, "if (tid == 0) k_mbar_arrive(turns + (own_turn + 1) %% %d * 8);",
                 t->product->in_turn);
            break;
        case TILE_TAKE: put_take(w, t, ring(t, x->ring)); break;
        case TILE_MAKE: put_make(w, t, ring(t, x->ring)); break;
        case TILE_GIVE:
            put_give(w);
            put_next_take(w, t, tile_made(t));
            break;
        case TILE_GROUP: line(w, "k_cp_async_commit();"); break;
        case TILE_LANDED:
            line(w, "k_cp_async_wait<%d>();", x->n);
            line(w, "__syncthreads();");
            break;
        case TILE_WAIT_READ:
        case TILE_RELEASE:
        case TILE_OFFER:
        case TILE_WAIT_CROSSED:
        case TILE_OFFER_CROSSED:
        case TILE_READ: put_tensor_inst(w, t, x); break;
        case TILE_WAIT_FULL:
            if (tensor)
                put_tensor_inst(w, t, x);
            else
                line(w, "k_mbar_wait_block(full + s * 8, phase);");
            break;
        case TILE_SPLIT: put_split(w, t); break;
        case TILE_FILL:
            fresh = in_loop;
            if (t->ahead || (!fresh && t->product->bounded && !tensor)) line(w, "k_zero(sums);");
            break;
        case TILE_DOT:
            if (t->ahead)
                put_dot_by_warps(w, t);
            else if (tensor)
                put_tensor_dot(w, t, fresh);
            else
                put_dot_by_warpgroups(w, t, fresh);
            break;
        case TILE_DRAIN_SUMS: /* the newest group is crossed products */
            line(w, "k_wgmma_wait<1>();");
            line(w, "k_wgmma_hold(sums);");
            break;
        case TILE_DRAIN:
            line(w, "k_wgmma_wait<%d>();", x->n);
            if (!x->n) line(w, "k_wgmma_hold(sums);");
            break;
        case TILE_ARRIVE: put_arrive(w, t, x->n, in_loop); break;
        case TILE_NEXT:
            if (!copies && !t->ahead && !tensor) line(w, "before = s;");
            if (copies && t->product->makers > 1) put_next_turn(w, t->product->makers);
            line(w, "if (++s == %d) s = 0%s;", tile_stages(t), t->ahead ? "" : ", phase ^= 1");
            break;
        case TILE_DOT_ADD: put_dot_of_made_planes(w, t); break;
        case TILE_ADD: put_add(w, t); break;
        case TILE_CROSS: put_cross(w, t, x->n); break;
        case TILE_FOLD:
            open_brace(w, "if (step %% %d == %d && step + 1 < steps)", x->n, x->n - 1);
            put_fold(w, t, false);
            close_brace(w);
            break;
        case TILE_LEAVE: put_leave(w, t); break;
        case TILE_MEET: put_meet(w, t, x->n); break;
        case TILE_STORE: put_stores(w, t, x->n); break;
        case TILE_REDUCE: put_tile_reduce(w, t, &w->p->phases.at[x->n]); break;
        case TILE_LEAVE_PARTIALS:
            put_leave_partials(w, t, &w->p->phases.at[x->n]);
            left = x->n;
            break;
        case TILE_MEET_PARTIALS: put_meet_partials(w, t, x->n, left); break;
        case TILE_HOLD: put_hold(w, t); break;
        case TILE_KEEP: put_keep(w, t, sums_name(t)); break;
        case TILE_RESCALE: put_rescale(w, t, sums_name(t)); break;
        case TILE_RESULTS: put_row_results(w, t); break;
        case TILE_COPY_BEFORE:
        case TILE_BEGIN:
        case TILE_WAIT_ROWS:
        case TILE_FREE_ROWS:
        case TILE_REST:
        case TILE_RELATE:
        case TILE_LAST:
        case TILE_TERMS:
        case TILE_DOT_SECOND:
        case TILE_OPS: break;
        }
    }
}

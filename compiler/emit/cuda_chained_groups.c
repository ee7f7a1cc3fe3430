/* cuda_chained_groups.c: chained products by warpgroups, on sm_90a: boxes of factors, products, and
 * the barriers between who copies and who multiplies, in CUDA C++. */
#include "emit/cuda_chained.h"

enum { WARPGROUP = 128, WARPGROUP_WARPS = 4 };

/* A factor's name in the text: a, b, c; d, e of the other first product, f of the second one. */
char chained_factor_name(const struct emitter *w, const struct factor *f) {
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < chained_factors(w, ring); i++)
            if (f == chained_factor(w, ring, i)) return (char)('a' + ring + (i ? TILE_C + 1 : 0));
    WS_BUG("no factor of chained products");
}

/* Boxes of a factor's tile, into the stage at hand, or of a's rows. */
static void put_boxes_of(struct emitter *w, int ring, const struct factor *f) {
    int lines = f->across ? f->depth : f->rows, each = f->line / dtype_bytes(f->dtype);
    int boxes = (f->across ? f->rows : f->depth) / each;
    const char *row = ring == TILE_A   ? "m0"
                      : ring == TILE_B ? "column"
                                       : "0",
               *depth = ring == TILE_C ? "column" : "0";
    const char *along = f->across ? row : depth, *down = f->across ? depth : row;
    for (int i = 0; i < boxes; i++)
        line(w, "k_map_load(%s + %d, &map_%c, full + s * 8, %s + %d, %s, (int)(%s));",
             ring == TILE_A ? "tiles" : "stage", f->at + i * lines * f->line,
             chained_factor_name(w, f), along, i * each, down, ex_text(w, f->matrix));
}

void put_chained_boxes(struct emitter *w, int ring) {
    if (ring == TILE_A) open_brace(w, "if (step == 0)");
    for (int i = 0; i < chained_factors(w, ring); i++)
        if (!chained_factor(w, ring, i)->shared) put_boxes_of(w, ring, chained_factor(w, ring, i));
    if (ring == TILE_A) close_brace(w);
}

void put_chained_boxes_before(struct emitter *w) {
    open_brace(w, "if (step)");
    line(w, "const int column = %s * %d;", chained_tile_of_step(w, "step - 1", true), w->y->br);
    put_chained_boxes(w, TILE_C);
    close_brace(w);
}

/* Where a step's part of a factor lies, 32 bytes deep, or of lines along the rows 16 of them, as an
 * operand: from its tile's first on. */
static const char *operand_text_of(struct emitter *w, const struct factor *f, const char *at) {
    int lines = f->across ? f->depth : f->rows, in_line = f->line / 32;
    char x = chained_factor_name(w, f);
    if (f->across) return arena_printf(w->arena, "k_operand_on(of_%c, %si * %d)", x, at, f->line);
    return arena_printf(w->arena, "k_operand_on(of_%c, %si / %d * %d + i %% %d * 2)", x, at,
                        in_line, lines * f->line / 16, in_line);
}

static void put_operands(struct emitter *w) {
    enum { ROWS = 64 };
    const struct chained *x = chained(w);
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < chained_factors(w, ring); i++) {
            const struct factor *f = chained_factor(w, ring, i);
            int lead = f->across ? f->depth * f->line : 16;
            int from = f->at + (ring == TILE_A ? 0 : x->first);
            int each = f->line / dtype_bytes(f->dtype);
            int of_group = f->across ? ROWS / each * f->depth * f->line : ROWS * f->line;
            line(w, "const unsigned long long of_%c = k_operand<%d>(tiles + (%d%s), %d, %d);",
                 chained_factor_name(w, f), f->line, from,
                 ring != TILE_A ? "" : arena_printf(w->arena, " + group * %d", of_group), lead,
                 8 * f->line);
        }
}

void hold_chained_sums(struct emitter *w, int n) {
    for (int p = 0; p < chained(w)->n_first; p++)
        if (!n || n == p + 1) line(w, "k_wgmma_hold(%s);", chained_sums_of(p));
}

void hold_chained_out(struct emitter *w, int n) {
    for (int p = 0; p < chained(w)->n_second; p++)
        if (chained_is_second(w, n, p)) line(w, "k_wgmma_hold(%s);", chained_out_of(p));
}

bool chained_is_second(const struct emitter *w, int n, int product) {
    return !n || (product + 1 == chained_early_product(w->p)) == (n == 1);
}

/* Of an instruction. */
static int depth_of(const struct factor *f) { return 32 / dtype_bytes(f->dtype); }

void put_chained_dot(struct emitter *w, int n) {
    const struct chained *x = chained(w);
    /* in turn: none of those before, for which no registers are kept */
    if (chained_has_step_registers(w)) put_chained_sums(w);
    hold_chained_sums(w, n);
    line(w, "k_wgmma_begin();");
    for (int p = 0; p < x->n_first; p++) {
        if (n && n != p + 1) continue;
        open_chained_loop(w, "i", x->a[p].depth / depth_of(&x->a[p]));
        line(w, "k_wgmma_%s(%s, %s, %s, i);", p ? "beside" : "first", chained_sums_of(p),
             operand_text_of(w, &x->a[p], ""),
             operand_text_of(w, &x->b[p], arena_printf(w->arena, "s * %d + ", x->stage / 16)));
        close_brace(w);
    }
    line(w, "k_wgmma_commit();");
    hold_chained_sums(w, n);
    if (n != 1 && !x->own_apart) put_chained_own_of_columns(w);
}

/* Of the tiles of stage `s`. */
void put_chained_second_dot(struct emitter *w, const char *s, int n) {
    const struct chained *x = chained(w);
    hold_chained_out(w, n);
    line(w, "k_wgmma_begin();");
    for (int p = 0; p < x->n_second; p++) {
        if (!chained_is_second(w, n, p)) continue;
        open_chained_loop(w, "i", x->c[p].depth / depth_of(&x->c[p]));
        line(w, "k_wgmma_%s(%s, %s[0][i], %s, 1);", p ? "twin" : "second", chained_out_of(p),
             chained_terms_of(p),
             operand_text_of(w, &x->c[p], arena_printf(w->arena, "%s * %d + ", s, x->stage / 16)));
        close_brace(w);
    }
    line(w, "k_wgmma_commit();");
    hold_chained_out(w, n);
}

/* Does a step's second product read the stage of the step before? */
bool chained_reads_before(const struct emitter *w) {
    return !chained_is_in_turn(w->y) && !chained_lags(w->y);
}

bool chained_arrives_behind(const struct emitter *w) {
    return chained_is_in_turn(w->y) && w->p->one_by_one;
}

bool chained_has_step_registers(const struct emitter *w) {
    return chained_is_in_turn(w->y) && !w->p->one_by_one;
}

void put_chained_role(struct emitter *w, bool copies) {
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
        if (x->n_own && !x->own_apart)
            line(w, "const k_shared columns = tiles + %d + (group * 4 + tid / %d) * %d;", x->own_at,
                 w->k->limits->warp, w->y->br * x->own_floats * 4);
        if (chained_reads_before(w) || chained_arrives_behind(w)) line(w, "int before = 0;");
        if (x->ping_pong) {
            line(w, "const k_shared turns = full + %d;", 2 * w->y->stages * 8);
            line(w, "const k_shared own_turn = turns + group * 8;");
            line(w, "const k_shared next_turn = group == %d ? turns : own_turn + 8;",
                 x->warpgroups - 1);
            line(w, "unsigned turn = group == 0;");
        }
    }
    if (x->persists) {
        line(w, "const k_shared rows_free = full + %d;", chained_rows_barrier(w->y) * 8);
        line(w, "int *const tile_at_hand = (int *)(bars + %d);", chained_rows_barrier(w->y) + 1);
        if (copies) line(w, "k_idx number = blockIdx.x;");
        if (copies) line(w, "unsigned rows_phase = 1;");
    }
    line(w, "int s = 0;");
    line(w, "unsigned phase = 0;");
}

void end_chained_role(struct emitter *w, bool copies) {
    close_brace(w);
    if (!copies) return;
    line(w, "__syncwarp();");
    close_brace(w);
}

/* What a step brings, and in the first one the block's rows. */
void put_chained_wait_empty(struct emitter *w, bool in_loop) {
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
    if (in_loop)
        line(w, "const int column = %s * %d;", chained_tile_of_step(w, "step", false), w->y->br);
}

void put_chained_barriers(struct emitter *w) {
    const struct chained *x = chained(w);
    int stages = w->y->stages;
    line(w, "unsigned long long *const bars = (unsigned long long *)(memory + %d);", x->barriers);
    line(w,
         "const k_shared tiles = k_in_shared(memory), full = k_in_shared(bars), empty = full + %d;",
         stages * 8);
    open_brace(w, "if (threadIdx.x == 0)");
    for (int ring = TILE_A; ring <= TILE_C; ring++)
        for (int i = 0; i < chained_factors(w, ring); i++)
            if (!chained_factor(w, ring, i)->shared)
                line(w, "k_map_prefetch(&map_%c);",
                     chained_factor_name(w, chained_factor(w, ring, i)));
    line(w,
         "for (int i = 0; i < %d; i++) k_mbar_init(bars + i, %d), k_mbar_init(bars + %d + i, %d);",
         stages, x->own_apart ? 2 : 1, stages,
         x->warpgroups * (x->own_apart ? WARPGROUP_WARPS : 1));
    if (x->ping_pong)
        line(w, "for (int i = 0; i < %d; i++) k_mbar_init(bars + %d + i, %d);", x->warpgroups,
             2 * stages, WARPGROUP / w->k->limits->warp);
    if (x->persists)
        line(w, "k_mbar_init(bars + %d, %d);", chained_rows_barrier(w->y),
             x->warpgroups * WARPGROUP / w->k->limits->warp);
    line(w, "k_fence_mbar_init();");
    close_brace(w);
    line(w, "__syncthreads();");
}

/* Each warp says so: a turn later none of this warpgroup can be waiting for this one still. */
void put_chained_pass_turn(struct emitter *w) {
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(next_turn);", w->k->limits->warp);
}

/* Of the tile before, if there is one. Who copies says which tile is next along with its first
 * step: -1, there is none. */
void put_chained_wait_rows(struct emitter *w, long long tiles) {
    line(w, "k_mbar_wait_block(rows_free, rows_phase), rows_phase ^= 1;");
    line(w, "const k_idx next = number;");
    line(w, "*tile_at_hand = next < %lld ? (int)next : -1;", tiles);
    open_brace(w, "if (next >= %lld)", tiles);
    line(w, "k_mbar_wait_block(empty + s * 8, phase ^ 1);");
    line(w, "k_mbar_arrive(full + s * 8);");
    line(w, "break;");
    close_brace(w);
}

/* All of this tile is under way. */
void put_chained_next_tile(struct emitter *w, long long tiles) {
    line(w, "number = (k_idx)(gridDim.x + k_blocks_before(tickets, %lldu));", tiles);
}

void put_chained_take_tile(struct emitter *w) {
    line(w, "k_mbar_wait_block(full + s * 8, phase);");
    line(w, "const k_idx next = *tile_at_hand;");
    line(w, "if (next < 0) break;");
}

/* Each warp says so. */
void put_chained_free_rows(struct emitter *w) {
    line(w, "__syncwarp();");
    line(w, "if (tid %% %d == 0) k_mbar_arrive(rows_free);", w->k->limits->warp);
}

/* Terms are made before the product of those before is waited for: what they sum up to says so. */
void put_chained_before(struct emitter *w) {
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

struct ws_arg chained_map_of(struct emitter *w, const struct factor *f) {
    struct ws_map *m = NEW(w->arena, struct ws_map);
    const struct value_node *x = &w->k->values.at[f->value];
    while (x->kind == INST_CAST) x = &w->k->values.at[x->args[0]];
    *m = (struct ws_map){
        .dtype = f->map.dtype, .tf32 = f->map.tf32, .rank = f->map.rank, .swizzle = f->map.swizzle};
    memcpy(m->size, f->map.size, sizeof m->size);
    memcpy(m->stride, f->map.stride, sizeof m->stride);
    memcpy(m->box, f->map.box, sizeof m->box);
    if (f->turned)
        return (struct ws_arg){.kind = WS_ARG_MAP,
                               .map = m,
                               .base = WS_ARG_WORKSPACE,
                               .value = (int64_t)w->p->images + f->image};
    return (struct ws_arg){.kind = WS_ARG_MAP,
                           .map = m,
                           .base = WS_ARG_BUFFER,
                           .buffer = (int)kernel_place_of(w->k, x->buffer)};
}

/* cuda_mma_launch.c: the launches of a product on the matrix units, in CUDA C++: those that write
 * images of its factors, the product's own, around the program that cuda_mma.c prints, and that of
 * the product in bf16 beside one of pairs:
 *
 *     __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
 *     k_mm(..., const __grid_constant__ k_map map_a, const __grid_constant__ k_map map_b) {
 *         unsigned char *const ring = k_aligned<1024>(k_smem);
 *         if (threadIdx.x == 0) k_map_prefetch(&map_a), k_map_prefetch(&map_b);
 *         for (int i = 0; i < 4; i++) k_mbar_init(bars + i, 1), k_mbar_init(bars + 4 + i, 4);
 *         k_cluster_sync();
 *         k_enter();
 *         ...
 *     } */
#include <string.h>

#include "emit/cuda_mma.h"

static const struct tile_ring *ring(const struct tile_program *t, int i) { return &t->ring[i]; }

/* The tensor that a ring is copied from, and the box of it that one copy brings. */
static struct ws_arg map_argument(struct emitter *w, const struct tile_program *t, int i) {
    const struct tile_ring *r = ring(t, i);
    const struct operand *o = r->operand;
    struct ws_map *m = NEW(w->arena, struct ws_map);
    struct tensor_map x = operand_map(o, r->line, ring_box_lines(r) / ring_box_sharers(r));
    *m = (struct ws_map){.dtype = x.dtype,
                         .tf32 = x.tf32,
                         .rank = x.rank,
                         .swizzle = x.swizzle,
                         .windows = x.windows};
    memcpy(m->size, x.size, sizeof m->size);
    memcpy(m->stride, x.stride, sizeof m->stride);
    memcpy(m->box, x.box, sizeof m->box);
    memcpy(m->window, x.window, sizeof m->window);
    struct ws_arg arg = {.kind = WS_ARG_MAP, .map = m};
    if (o->load == NO_VALUE) {
        struct ws_arg image = image_argument(o, t->image[i]);
        arg.base = image.kind;
        arg.value = image.value;
    } else {
        arg.base = WS_ARG_BUFFER;
        arg.buffer = (int)kernel_place_of(w->k, w->k->values.at[o->load].buffer);
        arg.value = o->offset * dtype_bytes(o->stored);
    }
    return arg;
}

static void put_barriers(struct emitter *w, const struct tile_program *t) {
    enum { WARPS_OF_GROUP = 4 }; /* who makes, or reads itself, arrives by warps */
    int stages = tile_stages(t), readers = t->product->warpgroups * w->y->cluster;
    bool tensor = t->product->tensor;
    if (t->product->a.in_registers) readers *= WARPS_OF_GROUP;
    int writers = tile_made(t) ? 1 + WARPS_OF_GROUP : 1;
    line(w, "unsigned long long *const bars = (unsigned long long *)(ring + %d);", t->barriers);
    int turns = t->product->in_turn > 1 ? t->product->in_turn : 0;
    line(w,
         "const k_shared stages = k_in_shared(ring), full = k_in_shared(bars), empty = full + %d;",
         stages * 8);
    if (turns) line(w, "const k_shared turns = full + %d;", 2 * stages * 8);
    if (w->y->cluster > 1) line(w, "const int rank = (int)k_cluster_rank();");
    open_brace(w, "if (threadIdx.x == 0)");
    line(w,
         "for (int i = 0; i < %d; i++) k_mbar_init(bars + i, %d), k_mbar_init(bars + %d + i, %d);",
         stages, writers, stages, readers);
    if (turns)
        line(w, "for (int i = 0; i < %d; i++) k_mbar_init(bars + %d + i, 1);", turns, 2 * stages);
    line(w, "k_fence_mbar_init();");
    close_brace(w);
    if (tensor) put_tensor_barriers(w, t);
    line(w, w->y->cluster > 1 ? "k_cluster_sync();" : "__syncthreads();");
}

void put_verdict_parameter(struct emitter *w, const struct tile_program *t, struct ws_launch *l) {
    if (!t->beside) return;
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = t->beside->verdict};
    buf_puts(&w->b, ", unsigned *verdict");
}

void put_unless_wide(struct emitter *w, const struct tile_program *t) {
    const struct tile_program *of = t->beside;
    if (of && of->product->splits)
        line(w, "if (!k_any_flag(verdict, %lld, verdict, 0)) return;",
             (long long)of->block->grid * split_verdicts(of));
    else if (of)
        line(w, "if (!*verdict) return;");
}

static void put_flags_parameters(struct emitter *w, const struct tile_program *t,
                                 struct ws_launch *l) {
    for (int i = 0; i < RINGS; i++) {
        if (ring(t, i)->operand->splits) continue;
        l->args[l->n_args++] = image_argument(ring(t, i)->operand, t->flags[i]);
        buf_printf(&w->b, ", unsigned *flags_%c", 'a' + i);
    }
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = t->verdict};
    buf_puts(&w->b, ", unsigned *verdict");
}

/* The scale of a factor that blocks split themselves, as each finds out from the same 2048 elements
 * or so, which lie all over it. */
static void put_scale(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    enum { EACH = 8 };
    const struct operand *o = r->operand;
    int64_t width = o->along ? o->rows : o->depth, lines = o->along ? o->depth : o->rows,
            all = width * lines * o->batches, taken = (int64_t)t->threads * EACH;
    open_scope(w);
    line(w, "unsigned most = 0;");
    line(w, "float x[%d];", EACH);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", EACH);
    line(w, "const long long i = (e * %dLL + threadIdx.x) * %lldLL;", t->threads,
         (long long)(all > taken ? all / taken | 1 : 1)); /* odd: not all are of one column */
    line(w, "const long long line = i / %lldLL, z = line / %lldLL;", (long long)width,
         (long long)lines);
    line(w, "x[e] = 0;");
    line(w, "if (i < %lldLL)", (long long)all);
    line(w,
         "    x[e] = k_load1(p%d + (%lldLL + z * %lldLL + line %% %lldLL * %lldLL + i %% %lldLL));",
         argument_of(w, w->k->values.at[o->load].buffer), (long long)o->offset, (long long)o->batch,
         (long long)lines, (long long)o->pitch, (long long)width);
    close_brace(w);
    line(w, "k_top_finite(most, x);");
    line(w, "scale_%c = k_scale_of_pairs(most);", ring_letter(r));
    line(w, "__syncthreads();");
    close_brace(w);
}

static void put_scales(struct emitter *w, const struct tile_program *t) {
    const char *flags[RINGS];
    for (int i = 0; i < RINGS; i++)
        flags[i] = ring(t, i)->operand->splits ? "verdict, 0"
                                               : arena_printf(w->arena, "flags_%c, %lld", 'a' + i,
                                                              (long long)tile_pack_blocks(t, i));
    int words = split_verdicts(t);
    if (!ring(t, TILE_A)->operand->splits || !ring(t, TILE_B)->operand->splits) {
        line(w, "const bool wide = k_any_flag(%s, %s);", flags[0], flags[1]);
        line(w, "if (wide && threadIdx.x < %d) verdict[blockIdx.x * %d + threadIdx.x] = 1;", words,
             words);
        line(w, "if (wide) return;");
    }
    for (int i = 0; i < RINGS; i++) {
        const struct tile_ring *r = ring(t, i);
        line(w, "float scale_%c;", 'a' + i);
        if (r->operand->splits)
            put_scale(w, t, r);
        else
            line(w, "scale_%c = 1.0f / k_as_float(flags_%c[%lld]);", 'a' + i, 'a' + i,
                 (long long)tile_pack_blocks(t, i));
    }
    line(w, "const float unscale = 1.0f / scale_a / scale_b;");
}

/* Out, if anything of the factors is out of the range of pairs. */
static void put_if_wide(struct emitter *w, const struct tile_program *t) {
    if (t->product->splits) {
        put_scales(w, t);
        return;
    }
    line(w, "const bool wide = k_any_flag(flags_a, %lld, flags_b, %lld);",
         (long long)tile_pack_blocks(t, TILE_A), (long long)tile_pack_blocks(t, TILE_B));
    line(w, "if (blockIdx.x == 0 && threadIdx.x == 0) *verdict = wide;");
    line(w, "if (wide) return;");
    line(w, "const float unscale = k_as_float(flags_a[%lld]) * k_as_float(flags_b[%lld]);",
         (long long)tile_pack_blocks(t, TILE_A), (long long)tile_pack_blocks(t, TILE_B));
}

/* A factor that is the same in every call, and small beside L2, is on its way there while the
 * launch before ends: memory has little to do then, and all tiles' first steps would wait for it.
 * GPT-2's prompt of 1024 tokens, whose 48 weights are of 1 to 5 MB, takes an H200 764 us so, 774
 * without. */
static void put_prefetch_of_fixed(struct emitter *w, const struct tile_program *t) {
    enum { OF_L2 = 4 };
    for (int i = 0; i < RINGS && !t->ahead; i++) {
        const struct operand *o = ring(t, i)->operand;
        bool fixed = o->axis == AXIS_M ? w->k->a_fixed : w->k->b_fixed;
        int64_t lines = o->along ? o->depth : o->rows, width = o->along ? o->rows : o->depth,
                bytes = ((lines - 1) * o->pitch + width) * dtype_bytes(o->stored);
        if (!fixed || o->load == NO_VALUE || o->made || o->windows || o->run || o->batches > 1 ||
            bytes * OF_L2 > w->k->limits->l2_bytes)
            continue;
        line(w, "k_prefetch_l2((const char *)p%d + %lldLL, %lldLL);",
             argument_of(w, w->k->values.at[o->load].buffer),
             (long long)o->offset * dtype_bytes(o->stored), (long long)bytes);
    }
}

/* Those of a tile that have parts of its depth, and of tiles that share rows. */
static int blocks_together(const struct product *p) {
    int parts = p->parts > 1 ? p->parts : 1, blocks = p->sharing > 1 ? parts * p->sharing : parts;
    return blocks > 1 ? blocks : 0;
}

static void put_product(struct emitter *w, const struct tile_program *t) {
    const struct kernel *k = w->k;
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = t->threads,
                            .smem = t->smem,
                            .cluster = w->y->cluster,
                            .together = blocks_together(t->product)};
    add_arguments(w, l);
    for (int i = 0; i < RINGS && !t->ahead; i++)
        if (!ring(t, i)->operand->made) l->args[l->n_args++] = map_argument(w, t, i);
    if (t->ahead) add_images(w, t, l);
    if (t->product->folds.levels)
        add_stack(l, product_thread_sums(t->product) * t->product->folds.levels * 4);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d, %d) ", t->threads,
               t->product->resident);
    if (w->y->cluster > 1) buf_printf(&w->b, "__cluster_dims__(%d, 1, 1) ", w->y->cluster);
    buf_printf(&w->b, "%s(", k->entry);
    put_parameters(w);
    if (t->ahead) put_image_parameters(w, t);
    for (int i = 0; i < RINGS && !t->ahead; i++)
        if (!ring(t, i)->operand->made)
            buf_printf(&w->b, ", const __grid_constant__ k_map map_%c", 'a' + i);
    if (t->product->parts > 1) {
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_WORKSPACE, .value = t->parts};
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
        buf_printf(&w->b, ", %s *parts, unsigned *tickets", sum_type(t));
    }
    put_partials_parameters(w, t, l);
    if (t->product->sharing > 1) {
        l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
        buf_puts(&w->b, ", unsigned *tickets");
    }
    if (t->product->pairs) put_flags_parameters(w, t, l);
    put_verdict_parameter(w, t, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(1024) unsigned char k_smem[];");
    line(w, "unsigned char *const ring = k_aligned<1024>(k_smem);");
    put_batch_steps(w, t);
    if (t->ahead) {
        put_places_of_warps(w, t);
    } else {
        const struct tile_ring *made = tile_made(t);
        if (made)
            line(w, "if (threadIdx.x == 0) k_map_prefetch(&map_%c);",
                 ring_letter(made) == 'a' ? 'b' : 'a');
        else
            line(w, "if (threadIdx.x == 0) k_map_prefetch(&map_a), k_map_prefetch(&map_b);");
        put_barriers(w, t);
    }
    put_prefetch_of_fixed(w, t);
    line(w, "k_enter();");
    if (t->product->pairs) put_if_wide(w, t);
    put_unless_wide(w, t);
    if (t->product->tensor) put_tensor_place(w, t);
    put_tile_code(w, t);
    if (t->product->tensor)
        put_tensor_end(w, t);
    else if (w->y->cluster > 1)
        line(w, "k_cluster_sync();");
    close_brace(w);
}

static void pack(struct emitter *w, const struct tile_program *t, bool at_load) {
    for (int i = 0; i < RINGS; i++) {
        const struct operand *o = ring(t, i)->operand;
        if (o->load == NO_VALUE && !o->made && o->at_load == at_load)
            emit_cuda_pack(w, t, i, arena_printf(w->arena, "%s_pack_%c", w->k->entry, 'a' + i));
    }
}

static struct tile_program *program_of(struct emitter *w, const struct block *p) {
    struct tile_program *t = tile_dot(p, w->arena);
    tile_pipeline(t);
    const char *bad = tile_verify(t, w->arena);
    if (bad) WS_BUG("%s", bad);
    struct buf b = buf_new(w->arena);
    tile_print(&b, t);
    w->out->block = arena_printf(w->arena, "%s\n%s", w->out->block, b.p);
    return t;
}

static void put_launches(struct emitter *w, const struct tile_program *t) {
    pack(w, t, false);
    if (t->product->tensor)
        put_tensor_reading(w, t);
    else if (!t->ahead)
        put_wgmma(w, t);
    put_again(w, t);
    put_product(w, t);
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Both leave what their tiles have of the epilogue's reductions, which lies last, in one place. */
static void share_partials(struct tile_program *a, struct tile_program *b) {
    int64_t at = larger(a->partials, b->partials);
    a->workspace += at - a->partials;
    b->workspace += at - b->partials;
    a->partials = b->partials = at;
}

/* The product in bf16 that stands beside one of pairs, for data out of their range: images of its
 * own, of constants, too, in what that one leaves of the workspace. */
static void put_wide(struct emitter *w, struct tile_program *pairs) {
    struct kernel *k = NEW(w->arena, struct kernel);
    struct config c;
    *k = *w->k;
    k->entry = arena_printf(w->arena, "%s_wide", k->entry);
    k->a_fixed = k->b_fixed = false;
    bool has = matrix_wide_config(k, &w->p->config, &c, w->arena);
    WS_ASSERT(has);
    const struct block *own = w->p, *p = block_build(k, &c, w->arena);
    struct tile_program *t = program_of(w, p);
    t->beside = pairs;
    if (k->over) share_partials(pairs, t);
    pairs->verdict = larger(pairs->workspace, t->workspace);
    w->out->workspace = (size_t)pairs->verdict +
                        (pairs->product->splits ? own->grid * split_verdicts(pairs) * 4 : 16);
    w->out->tickets = (size_t)larger(pairs->tickets, t->tickets);
    put_launches(w, pairs);
    w->p = p, w->k = k, w->y = &p->layout;
    put_launches(w, t);
    w->p = own, w->k = own->kernel, w->y = &own->layout;
}

void emit_cuda_mma(struct emitter *w) {
    struct tile_program *t = program_of(w, w->p);
    w->out->workspace = (size_t)t->workspace;
    w->out->kept = (size_t)t->kept;
    w->out->tickets = (size_t)t->tickets;
    size_t before = w->b.n;
    pack(w, t, true);
    w->out->load = hash_bytes(w->b.p + before, w->b.n - before);
    if (t->product->pairs)
        put_wide(w, t);
    else
        put_launches(w, t);
    if (w->k->over && w->p->phases.n == 1) emit_partials_finish(w, t);
}

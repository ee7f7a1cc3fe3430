/* cuda_columns.c: what a kernel that sums up its rows' columns adds to one of rows: sums that live
 * as long as the block, a loop over the block's rows, and a second launch. Without its casts:
 *
 *     float s4[2][8];                                            columns of this thread
 *     k_pack<k_bf16, 8> q2[2];                                   what is the same in all rows
 *     for (px = first; px < tiles; px += all) {
 *         ...  s4[u][v] = k_sum::of(s4[u][v], v3);  ...          as cuda_rows.c
 *     }
 *     k_store(part4 + first * nr + r, s4[u]);
 *
 * With stages=3, two rows ahead are on their way into shared memory. A thread copies what it will
 * load itself, so that no barrier is needed; what it has loaded makes room for the next:
 *
 *     for (px ...) {
 *         k_cp_async_wait<1>();
 *         q0[u] = k_load_shared(ring + slot * 8192 + (u * 256 + tid) * 16);
 *         if (px + 2 * all < tiles) k_cp_async<16>(...);
 *         k_cp_async_commit();
 *         slot = (slot + 1) % 2;
 *         ...
 *
 * Where a block has all rows of a batch that has columns of its own, it stores what these come to:
 *
 *     if (tx == 0) k_store1(p3 + (r + z * 5), s6[u][v]);     for the part and the second launch
 *
 * The order of all additions is fixed by the config: a thread's rows as they come, then the parts.
 */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* Is load v the same in all rows, and known before the first? */
bool is_of_all_rows(const struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    return w->y->blocks && x->kind == INST_LOAD && !(x->mask & MASK_X) && !x->n_args;
}

static void put_loads_of_all_rows(struct emitter *w) {
    struct phase all = {0};
    for (uint32_t i = 0; i < w->p->phases.n; i++)
        for (uint32_t j = 0; j < w->p->phases.at[i].loads.n; j++) {
            value_id v = w->p->phases.at[i].loads.at[j];
            if (is_of_all_rows(w, v)) vec_push(w->arena, &all.loads, v);
        }
    declare_packs(w, &all);
    put_loads(w, &all);
}

/* Start the copies of tile `px`, if it is one. */
static void put_copies(struct emitter *w, const char *px) {
    line(w, "next = %s;", px);
    open_brace(w, "if (next < tiles)");
    line(w, "const k_idx px = next;");
    put_tile_copies(w);
    close_brace(w);
    line(w, "k_cp_async_commit();");
}

static void open_ring(struct emitter *w) {
    if (w->y->stages < 2) return;
    line(w, "k_idx next;");
    open_brace(w, "for (int slot = 0; slot < %d; slot++)", w->y->stages - 1);
    put_copies(w, "first + slot * all");
    close_brace(w);
    line(w, "int slot = 0;");
}

static void put_ring(struct emitter *w) {
    struct phase all = {0};
    if (w->y->stages < 2) return;
    for (value_id v = 0; v < w->k->values.n; v++) vec_push(w->arena, &all.loads, v);
    const struct phase copied = copied_loads(w, &all);
    declare_packs(w, &copied);
    line(w, "k_cp_async_wait<%d>();", w->y->stages - 2);
    put_copied(w, &copied);
    put_copies(w, arena_printf(w->arena, "px + %d * all", w->y->stages - 1));
    line(w, "slot = slot == %d ? 0 : slot + 1;", w->y->stages - 2);
}

/* Above the block's sums; and each turn of the block counts. */
static struct uppers column_uppers(struct emitter *w, value_id v, const struct folds *f) {
    const struct layout *y = w->y;
    return (struct uppers){.v = v,
                           .type = accumulator_type(w, v),
                           .dims = arena_printf(w->arena, "[%d][%d]", y->ur, y->vec),
                           .bytes = reduction_bytes(w->k, v),
                           .cells = y->ur * y->vec,
                           .levels = f->levels};
}

enum step { DECLARE, FOLD, UNFOLD };

static void put_column_step(struct emitter *w, value_id v, const struct folds *f, enum step step) {
    const struct uppers u = column_uppers(w, v, f);
    const char *none = identity_text(w, v), *acc = arena_printf(w->arena, "s%u[u][v]", v);
    if (step == DECLARE) declare_uppers(w, &u);
    open_uppers(w, &u);
    open_unrolled(w, "u", w->y->ur);
    open_unrolled(w, "v", w->y->vec);
    if (step == DECLARE) {
        line(w, "#pragma unroll");
        line(w, "for (int i = 0; i < %d; i++) up%u[u][v][i] = %s;", f->levels, v, none);
    } else {
        put_upper_step(w, &u, reduction_operator(at(w, v)->reduction), acc, "[u][v]", none,
                       step == FOLD ? f->radix : 0);
    }
    close_brace(w);
    close_brace(w);
    close_uppers(w, &u, step == FOLD);
}

static void put_column_folds(struct emitter *w, enum step step) {
    const struct folds f = layout_column_folds(w->k, w->y);
    if (!f.levels) return;
    if (step == DECLARE) line(w, "int turns = 0;");
    if (step == FOLD) open_brace(w, "if (++turns == %d)", f.block / w->y->ex);
    if (step == FOLD) line(w, "turns = 0;");
    for (uint32_t i = 0; i < w->p->across.n; i++)
        if (reduction_rounds(w->k, w->p->across.at[i]))
            put_column_step(w, w->p->across.at[i], &f, step);
    if (step == FOLD) close_brace(w);
}

void open_block_rows(struct emitter *w) {
    const struct layout *y = w->y;
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        line(w, "%s s%u[%d][%d];", accumulator_type(w, v), v, y->ur, y->vec);
        open_unrolled(w, "u", y->ur);
        open_unrolled(w, "v", y->vec);
        line(w, "s%u[u][v] = %s;", v, identity_text(w, v));
        close_brace(w);
        close_brace(w);
    }
    put_column_folds(w, DECLARE);
    put_loads_of_all_rows(w);
    line(w, "const k_idx tiles = (nx + %d) / %d;", y->bx - 1, y->bx);
    if (kernel_has_batches(w->k))
        line(w, "const k_idx first = (k_idx)blockIdx.x / %d %% %d, all = %d;", y->cluster,
             y->blocks, y->blocks);
    else
        line(w, "const k_idx first = (k_idx)blockIdx.x / %d, all = (k_idx)gridDim.x / %d;",
             y->cluster, y->cluster);
    open_ring(w);
    open_brace(w, "for (k_idx px = first; px < tiles; px += all)");
    put_ring(w);
}

void put_column_sums(struct emitter *w, const struct phase *f, const char *condition) {
    for (uint32_t i = 0; i < f->across.n; i++) {
        value_id v = f->across.at[i];
        const char *sum = arena_printf(w->arena, "s%u[u][v]", v);
        line(w, "%s%s = %s;", condition, sum, combine_text(w, v, sum, operand_text(w, v)));
    }
}

/* The block's rows of threads have sums each: through shared memory, half of those that are left
 * hand theirs to the other half, until the first has them all. */
static void put_block_sums(struct emitter *w) {
    const struct layout *y = w->y;
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        const char *t = accumulator_type(w, v), *mine = arena_printf(w->arena, "s%u[u][v]", v);
        open_brace(w, "for (int half = %d; half > 0; half /= 2)", y->t0 / 2);
        line(w, "%s *at = (%s *)k_smem + tx %% half * %d + tr;", t, t, y->br);
        line(w, "__syncthreads();");
        for (int gives = 1; gives >= 0; gives--) {
            open_brace(w, gives ? "if (tx >= half && tx < 2 * half)" : "if (tx < half)");
            open_unrolled(w, "u", y->ur);
            open_unrolled(w, "v", y->vec);
            const char *slot = arena_printf(w->arena, "at[(u * %d + v) * %d]", y->vec, y->t1);
            line(w, "%s = %s;", gives ? slot : mine, gives ? mine : combine_text(w, v, mine, slot));
            for (int n = 0; n < 3; n++) close_brace(w);
            if (gives) line(w, "__syncthreads();");
        }
        close_brace(w);
    }
}

/* A block's part of each column. */
static void put_parts(struct emitter *w) {
    const struct layout *y = w->y;
    open_columns(w);
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        const char *t = accumulator_type(w, v);
        const char *block = !kernel_has_batches(w->k)
                                ? "first"
                                : arena_printf(w->arena, "(z * %d + first)", y->blocks),
                   *to = arena_printf(w->arena, "part%u + (long long)%s * nr + r", v, block);
        if (!strcmp(t, "float")) {
            line(w, "k_pack<k_f32, %d> w%u;", y->vec, v);
            line(w, "k_put(w%u, s%u[u]);", v, v);
            line(w, "k_store<k_f32, %d, 0>(%s, w%u);", y->vec, to, v);
        } else {
            line(w, "for (int v = 0; v < %d; v++) (%s)[v] = s%u[u][v];", y->vec, to, v);
        }
    }
    close_columns(w);
}

static void put_column_stores(struct emitter *w) {
    for (uint32_t i = 0; i < w->p->finish.n; i++) put_local(w, w->p->finish.at[i]);
    for (uint32_t i = 0; i < w->p->column_stores.n; i++)
        put_store1(w, &w->k->stores.at[w->p->column_stores.at[i]], "");
}

/* What stands on columns that a block has whole, and their stores. */
static void put_whole_columns(struct emitter *w) {
    const struct layout *y = w->y;
    open_columns(w);
    line(w, "const k_idx r0 = r;");
    open_unrolled(w, "v", y->vec);
    line(w, "const k_idx r = r0 + v;");
    w->subscript = "";
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        line(w, "const %s a%u = s%u[u][v];", accumulator_type(w, v), v, v);
        w->where[v] = ARRAY;
    }
    put_column_stores(w);
    close_brace(w);
    close_columns(w);
}

void close_block_rows(struct emitter *w) {
    int barriers = 0; /* two phases with some keep the shared memory of each other apart */
    bool talks = layout_cluster(w->y) > 1, shared = layout_joins_warps(w->k, w->y) || talks;
    for (uint32_t i = 0; i < w->p->phases.n && shared; i++)
        barriers += w->p->phases.at[i].reduce.n > 0;
    if (barriers == 1) line(w, talks ? "k_cluster_sync();" : "__syncthreads();");
    if (w->k->columns) put_column_folds(w, FOLD);
    close_brace(w);
    if (talks) line(w, "k_cluster_arrive();");
    if (!w->k->columns) return;
    put_column_folds(w, UNFOLD);
    if (w->y->t0 > 1) {
        put_block_sums(w);
        open_brace(w, "if (tx == 0)");
    }
    w->y->whole_columns ? put_whole_columns(w) : put_parts(w);
    if (w->y->t0 > 1) close_brace(w);
}

void put_column_parameters(struct emitter *w, struct ws_launch *l) {
    int64_t offset = 0;
    for (uint32_t i = 0; i < w->p->across.n && !w->y->whole_columns; i++) {
        value_id v = w->p->across.at[i];
        buf_printf(&w->b, ", %s *part%u", accumulator_type(w, v), v);
        offset = add_partial(w, l, v, offset);
    }
}

/* The second launch: t0 columns by t1 threads, which share a column's parts. */
void emit_column_finish(struct emitter *w) {
    enum { THREADS = 256, LINE = 32 /* f32 */ };
    int t0 = LINE, parts = w->y->blocks, smem = 0;
    while (t0 < THREADS && (THREADS / t0) > parts) t0 *= 2;
    struct layout y = {.threads = THREADS, .t0 = t0, .t1 = THREADS / t0, .vec = 1};
    const value_id *sums = w->p->across.at;
    spread_parts(w->k, sums, w->p->across.n, parts, kernel_size(w->k, AXIS_R), &y);
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    struct ws_launch *l =
        open_kernel(w, arena_printf(w->arena, "%s_finish", w->k->entry), y.threads);
    int64_t tiles = tile_count(kernel_size(w->k, AXIS_R), t0);
    bool batches = kernel_has_batches(w->k);
    l->grid[0] = tiles * kernel_batches(w->k);
    line(w, "const int tr = tid / %d, tx = tid %% %d;", t0, t0);
    if (batches) line(w, "const k_idx z = (k_idx)blockIdx.x / %lld;", (long long)tiles);
    const char *tile = batches
                           ? arena_printf(w->arena, "(k_idx)blockIdx.x %% %lld", (long long)tiles)
                           : "(k_idx)blockIdx.x";
    line(w, "const k_idx column = %s * %d + tx, r = k_clamp(column, nr - 1);", tile, t0);
    line(w, "(void)nx; (void)k_smem;");
    w->subscript = "";
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        line(w, "%s a%u = %s;", accumulator_type(w, v), v, identity_text(w, v));
    }
    struct parts all = {.sums = sums,
                        .n = w->p->across.n,
                        .parts = parts,
                        .t1 = y.t1,
                        .width = "nr",
                        .at = batches ? arena_printf(w->arena, "z * %d * nr + r", parts) : "r",
                        .subscript = ""};
    put_parts_sum(w, &all, y.threads);
    for (uint32_t i = 0; i < w->p->across.n; i++) {
        value_id v = w->p->across.at[i];
        line(w, "k_reduce_columns<%s, %d, %d, 1>(&a%u, (%s *)(k_smem + %d));",
             reduction_operator(at(w, v)->reduction), t0, y.t1, v, accumulator_type(w, v), smem);
        smem += (layout_column_slots(w->k, &y) * reduction_bytes(w->k, v) + 15) / 16 * 16;
        w->where[v] = ARRAY;
    }
    l->smem = smem;
    open_brace(w, "if (tr == 0 && column < nr)");
    put_column_stores(w);
    close_brace(w);
    close_brace(w);
}

/* cuda_rows.c: pointwise and reduce block programs as CUDA C++. The text of a softmax row kernel,
 * without its casts:
 *
 *     const int tx = tid / 256, tr = tid % 256;
 *     k_pack<k_f32, 4> p3[1][4];                                   raw loads, kept in registers
 *     for (u) p3[0][u] = k_load<k_f32, 4>(p0 + (x * 4096 + r));    phase 0
 *     for (u, v) a1[0] = k_amax::of(a1[0], k_get(p3[0][u], v));
 *     a1[0] = k_reduce_row<k_amax, 256>(a1[0], ...);
 *     ...
 *
 * Scopes: a value without r lives in an array over the thread's rows (a7[e], or a7[e][v] when
 * vectors lie along x); a value with r lives only inside the innermost loop over (u, e, v). */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

/* ---- positions ------------------------------------------------------------------------------- */

bool rows_exact(const struct emitter *w) {
    int64_t n;
    if (w->y->own)
        return layout_span(w->k) % (w->y->bx / w->y->ex) == 0 && layout_spans(w->k) % w->y->ex == 0;
    return ex_is_const(w->k->ex, w->k->bound[AXIS_X], &n) && n % w->y->bx == 0;
}

/* No thread of any iteration lies beyond the row (of its part of it, when split). */
bool columns_exact(const struct emitter *w) {
    int64_t n;
    if (w->y->hits || !ex_is_const(w->k->ex, w->k->bound[AXIS_R], &n)) return false;
    return n % w->y->br == 0;
}

const char *element_place(struct emitter *w, const char *first) {
    return arena_printf(w->arena, w->y->cut ? "k_clamp(%s + v, nr - 1)" : "%s + v", first);
}

/* Declare x for row e (and vector element v, if rows run inward). Rows beyond the end repeat the
 * last one: they compute, and do not store. */
void put_x(struct emitter *w, bool element) {
    const struct layout *y = w->y;
    if (y->own) {
        put_own_hit_x(w, element);
        return;
    }
    if (w->by_source) {
        line(w, "const k_idx x = landed;");
        return;
    }
    const char *start =
        y->rows_inner ? arena_printf(w->arena, "px * %d + (e * %d + tx) * %d", y->bx, y->t0, y->vec)
                      : arena_printf(w->arena, "px * %d + e * %d + tx", y->bx, y->t0);
    const char *plus = y->rows_inner && element ? " + v" : "";
    if (rows_exact(w))
        line(w, "const k_idx x = %s%s;", start, plus);
    else
        line(w, "const k_idx x = k_clamp(%s, nx - %d)%s;", start, y->rows_inner ? y->vec : 1, plus);
}

void put_own_x(struct emitter *w) {
    put_x(w, true);
    if (w->y->ragged)
        line(w, "if (x < px * %d + (e * %d + tx) * %d) continue;", w->y->bx, w->y->t0, w->y->vec);
}

const char *row_is_real(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->own) return own_hit_is_real(w);
    return y->rows_inner
               ? arena_printf(w->arena, "px * %d + (e * %d + tx) * %d < nx", y->bx, y->t0, y->vec)
               : arena_printf(w->arena, "px * %d + e * %d + tx < nx", y->bx, y->t0);
}

void open_unrolled(struct emitter *w, const char *name, int n) {
    line(w, "#pragma unroll");
    open_brace(w, "for (int %s = 0; %s < %d; %s++)", name, name, n, name);
}

/* ---- values without r ------------------------------------------------------------------------ */

static const char *array_dims(struct emitter *w, value_id v) {
    if (!is_row_value(w, v)) return "";
    return w->y->rows_inner ? arena_printf(w->arena, "[%d][%d]", w->y->ex, w->y->vec)
                            : arena_printf(w->arena, "[%d]", w->y->ex);
}

static void open_rows(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    if (w->y->rows_inner) open_unrolled(w, "v", w->y->vec);
    put_x(w, true);
    w->subscript = w->y->rows_inner ? "[e][v]" : "[e]";
}

void close_rows(struct emitter *w) {
    if (w->y->rows_inner) close_brace(w);
    close_brace(w);
}

enum { MOST_NEIGHBOURS = 8, VECTOR_BYTES = 16 };

/* The n elements from the one that load v reads on, by loads of the list. */
static bool are_loaded(struct emitter *w, const value_id *list, uint32_t n, const bool *there,
                       value_id v, int many, value_id *of) {
    const struct value_node *x = at(w, v);
    int found = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *y = at(w, list[i]);
        int64_t apart;
        if (y->kind != INST_LOAD || y->n_args || y->buffer != x->buffer || y->dtype != x->dtype ||
            there[list[i]] || !ex_is_const(w->k->ex, ex_sub(w->k->ex, y->index, x->index), &apart))
            continue;
        if (apart >= 0 && apart < many) of[apart] = list[i], found++;
    }
    return found == many;
}

/* Of straight-line kernels: what lies side by side in memory, as a window's weights do, as vectors.
 * there: of which values that was done. */
static void put_row_vectors(struct emitter *w, const value_id *list, uint32_t n, bool *there) {
    value_id of[MOST_NEIGHBOURS];
    for (uint32_t i = 0; i < n && w->k->unrolled && !w->y->rows_inner; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind != INST_LOAD || x->n_args || there[list[i]] || !is_row_value(w, list[i]))
            continue;
        enum dtype t = buffer_dtype(w, x->buffer);
        int many = VECTOR_BYTES / dtype_bytes(t);
        if (many > MOST_NEIGHBOURS) many = MOST_NEIGHBOURS;
        while (many > 1 && (!ex_divides(w->k->ex, many, x->index) ||
                            !are_loaded(w, list, n, there, list[i], many, of)))
            many /= 2;
        if (many < 2) continue;
        line(w, "const k_pack<%s, %d> l%u = k_load<%s, %d%s>(p%d + (%s));", memory_type(w, t), many,
             list[i], memory_type(w, t), many, part_changes(w, x->buffer) ? ", K_NOW" : "",
             argument_of(w, x->buffer), ex_text(w, x->index));
        for (int j = 0; j < many; j++) {
            line(w, "a%u%s = k_get(l%u, %d);", of[j], w->subscript, list[i], j);
            there[of[j]] = true;
        }
    }
}

/* Compute a list of values that do not vary with r; those that vary with x into arrays over the
 * rows. */
void put_row_values(struct emitter *w, const value_id *list, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind == INST_CONST) continue;
        if (is_row_value(w, list[i])) {
            line(w, "%s a%u%s;", math_type(x->dtype), list[i], array_dims(w, list[i]));
            any = true;
        } else {
            const char *text = source_text(w, list[i]);
            line(w, "const %s a%u = %s;", math_type(x->dtype), list[i], text);
        }
        w->where[list[i]] = ARRAY;
    }
    if (!any) return;
    bool *there = NEW_ARRAY(w->arena, bool, w->k->values.n);
    open_rows(w);
    put_row_vectors(w, list, n, there);
    for (uint32_t i = 0; i < n; i++) {
        const struct value_node *x = at(w, list[i]);
        if (x->kind == INST_CONST || there[list[i]] || !is_row_value(w, list[i])) continue;
        line(w, "a%u%s = %s;", list[i], w->subscript, source_text(w, list[i]));
    }
    close_rows(w);
}

/* ---- loops over a tile ----------------------------------------------------------------------- */

/* Declare r of step u (rows inner), or the vector's first column r. */
void put_r(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->rows_inner && w->k->kind == KERNEL_SCAN)
        line(w, "const k_idx r = base + tr * %d + u;", y->ur);
    else if (y->rows_inner)
        line(w, "const k_idx r = base + u * %d + tr;", y->t1);
    else
        line(w, "const k_idx r = base + (u * %d + tr) * %d;", y->t1, y->vec);
}

/* Steps of a row that is read at once, or of each block's part of it, that end within the row in
 * all blocks. Without a guard their arithmetic goes on side by side: compilers know neither a
 * block's number in its cluster nor how large blocks are, and leave a branch around each step, in
 * which a thread waits for its few exponentials before it begins the next, and computes again what
 * an earlier phase had in registers. */
static int whole_steps(const struct emitter *w) {
    const struct layout *y = w->y;
    int step = y->rows_inner ? y->t1 : y->t1 * y->vec;
    int64_t nr;
    if (w->k->kind != KERNEL_REDUCE || !y->one_read || y->split > 1) return 0;
    if (!ex_is_const(w->k->ex, w->k->bound[AXIS_R], &nr)) return 0;
    int64_t least = nr - (int64_t)(y->cluster - 1) * y->br; /* columns of the last block */
    return least <= 0 ? 0 : (int)(least < y->br ? least / step : y->br / step);
}

/* Open the loop over column steps u, and declare r. Where rows are peeled, that is for open_row. */
void open_columns(struct emitter *w) {
    const struct layout *y = w->y;
    open_unrolled(w, "u", y->ur);
    if (y->peel) return;
    if (y->hits) {
        y->own ? open_own_hit(w) : y->turns ? open_turn(w) : open_hit(w);
        return;
    }
    put_r(w);
    if (columns_exact(w)) return;
    int whole = whole_steps(w);
    if (whole)
        open_brace(w, "if (u < %d || r < r_end)", whole);
    else
        open_brace(w, "if (r < r_end)");
}

void close_column(struct emitter *w) {
    if (!w->y->peel && !w->y->hits && !columns_exact(w)) close_brace(w);
}

void close_columns(struct emitter *w) {
    close_column(w);
    close_brace(w);
}

/* Inside of that the loop over the thread's rows e. */
void open_row(struct emitter *w) {
    open_unrolled(w, "e", w->y->ex);
    put_x(w, false);
    if (w->y->peel) open_row_columns(w);
}

void close_row(struct emitter *w) {
    if (w->y->peel) close_brace(w);
    close_brace(w);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* The heads and tails of rows are loaded before the rest and counted after it. */
static void put_end_loads(struct emitter *w, const struct phase *f) {
    struct ends_scope s;
    if (!w->y->peel) return;
    open_ends(w, &s);
    declare_packs(w, f);
    put_loads(w, f);
    close_ends(w, &s);
}

static void put_end_elements(struct emitter *w, const struct phase *f) {
    struct ends_scope s;
    if (!w->y->peel) return;
    open_ends(w, &s);
    put_tile(w, f);
    close_ends(w, &s);
}

/* Of a product with a vector: a load of a tile of columns, by what is the same for all of it. */
static bool is_plain(struct emitter *w, value_id v) {
    const struct layout *y = w->y;
    const struct value_node *x = at(w, v);
    bool plain = !y->rows_inner && !y->peel && !y->grid_r && !y->blocks && !y->hits &&
                 y->split == 1 && y->cluster == 1;
    return w->k->of_vector && plain && x->mask & MASK_R && !x->guarded && !x->n_args &&
           !layout_tap(y, v) && !layout_copies(w->k, y, v) && !layout_load_shifts(w->k, y, x);
}

/* Does no launch of the program write what it reads, so that it needs to wait for none? */
static bool is_given(struct emitter *w, value_id v) {
    return w->k->schedule->loops->buffers.at[at(w, v)->buffer].kind == BUFFER_INPUT;
}

/* Rows of the matrix, of which a thread has all of its own at once, are under way while the vector
 * is reduced; and with all that the program is given, while the launch before this one ends. */
static bool is_loaded_first(struct emitter *w, value_id v) {
    return w->y->one_read && !w->y->kept && is_plain(w, v) &&
           (is_given(w, v) || at(w, v)->mask & MASK_X);
}

static bool is_given_first(struct emitter *w, value_id v) {
    return is_loaded_first(w, v) && is_given(w, v);
}

static bool waits_first(struct emitter *w, value_id v) {
    return is_loaded_first(w, v) && !is_given(w, v);
}

/* Rows that are longer than a tile, and lie in memory as they are loaded, of a launch whose blocks
 * are all at work at a time. Of more blocks the later ones wait for no launch, and their rows take
 * L2 from those that are read: 8192 rows of 16 KB take an H200 35.8 us so, 40.9 prefetched. */
static bool is_prefetched(struct emitter *w, value_id v) {
    enum { LEAST = 16 }; /* bytes */
    const struct device_limits *d = w->k->limits;
    if ((int64_t)w->p->grid * w->y->threads > (int64_t)d->units * d->max_threads_unit) return false;
    const struct value_node *x = at(w, v);
    ex step, rest;
    return is_plain(w, v) && is_given(w, v) && !is_loaded_first(w, v) && x->mask & MASK_X &&
           w->k->limits->tma && layout_load_is_vector(w->k, w->y, x) &&
           w->y->vec * dtype_bytes(buffer_dtype(w, x->buffer)) == LEAST &&
           ex_linear(w->k->ex, x->index, w->k->axis[AXIS_R], &step, &rest) &&
           step == ex_const(w->k->ex, 1);
}

static struct phase loads_that(struct emitter *w, bool (*which)(struct emitter *, value_id)) {
    struct phase some = {0};
    for (uint32_t i = 0; i < w->p->phases.n && w->k->of_vector; i++) {
        const struct phase *f = &w->p->phases.at[i];
        for (uint32_t j = 0; j < f->loads.n; j++)
            if (which(w, f->loads.at[j])) vec_push(w->arena, &some.loads, f->loads.at[j]);
    }
    return some;
}

/* Such rows come to L2 while the launch before this one ends. */
static void put_prefetches(struct emitter *w) {
    const struct phase given = loads_that(w, is_prefetched);
    for (uint32_t i = 0; i < given.loads.n; i++) {
        const struct value_node *x = at(w, given.loads.at[i]);
        open_brace(w, "if (tr == 0)");
        open_unrolled(w, "e", w->y->ex);
        put_x(w, false);
        line(w, "const k_idx r = 0;");
        line(w, "k_prefetch(p%d + (%s), nr);", argument_of(w, x->buffer), ex_text(w, x->index));
        close_brace(w);
        close_brace(w);
    }
}

static void put_first_loads(struct emitter *w, bool (*which)(struct emitter *, value_id)) {
    const struct phase first = loads_that(w, which);
    declare_packs(w, &first);
    w->here = true;
    put_loads(w, &first);
    w->here = false;
}

/* The phase's loads, without those that stand before all rows. */
static struct phase loads_of_row(struct emitter *w, const struct phase *f) {
    struct phase some = {0};
    for (uint32_t i = 0; i < f->loads.n; i++)
        if (!is_of_all_rows(w, f->loads.at[i]) && !layout_copies(w->k, w->y, f->loads.at[i]) &&
            !is_loaded_first(w, f->loads.at[i]))
            vec_push(w->arena, &some.loads, f->loads.at[i]);
    return some;
}

bool phase_rounds(struct emitter *w, const struct phase *f) {
    bool any = f->squares.n > 0;
    for (uint32_t i = 0; i < f->reduce.n; i++) any |= reduction_rounds(w->k, f->reduce.at[i]);
    return any;
}

/* Do threads read neighbouring columns one by one? Of tiles that compilers unroll these would come
 * from all rows of four tiles first, and the second ones when their sectors have left L1. */
static bool by_elements(struct emitter *w, const struct phase *f) {
    bool any = false;
    for (uint32_t i = 0; i < f->loads.n; i++) {
        const struct value_node *v = at(w, f->loads.at[i]);
        any |= !layout_load_is_vector(w->k, w->y, v) && !layout_load_is_uniform(w->k, w->y, v) &&
               !layout_load_shifts(w->k, w->y, v);
    }
    return any && w->y->rows_inner && w->y->vec > 1;
}

/* Blocks that meet go along their parts forwards, and back in the next phase: what they have read
 * last is in L2 still. */
static void open_steps(struct emitter *w, uint32_t phase) {
    const struct layout *y = w->y;
    if (!y->meets)
        open_brace(w, "for (k_idx base = r_begin; base < r_end; base += %d)", y->br);
    else if (phase % 2 == 0)
        open_brace(w, "for (k_idx base = r_begin; base < r_again; base += %d)", y->br);
    else
        open_brace(w,
                   "for (k_idx base = r_begin + (r_again - r_begin + %d) / %d * %d - %d; base >= "
                   "r_begin; base -= %d)",
                   y->br - 1, y->br, y->br, y->br, y->br);
}

/* The tiles of a phase: all that a block has, or those that are kept in shared memory. */
static void put_tiles(struct emitter *w, uint32_t phase, int *smem) {
    const struct phase *f = &w->p->phases.at[phase];
    const struct layout *y = w->y;
    bool loops = !y->one_read && !y->grid_r;
    if (loops && !y->kept && by_elements(w, f)) line(w, "#pragma unroll 1");
    if (y->kept)
        open_slots(w);
    else if (loops)
        open_steps(w, phase);
    else if (y->grid_r && !y->peel)
        open_scope(w);
    put_kept(w, f, phase == 0);
    const struct phase loads = loads_of_row(w, f);
    declare_packs(w, &loads);
    put_turns(w, &loads, smem);
    put_loads(w, &loads);
    put_tile(w, f);
    put_tile_folds(w, f);
    if (y->kept)
        close_slots(w);
    else if (loops || (y->grid_r && !y->peel))
        close_brace(w);
}

/* Those that have no room in shared memory, as long as L2 has some of them; then the others. */
static void put_tiles_met(struct emitter *w, uint32_t phase, int *smem) {
    const struct layout *y = w->y;
    struct layout again = *y;
    again.kept = 0;
    w->y = &again;
    if (y->kept < layout_tiles_met(w->k, y)) put_tiles(w, phase, smem);
    w->y = y;
    if (y->kept) put_tiles(w, phase, smem);
}

static void put_phase(struct emitter *w, uint32_t index, int *smem) {
    const struct phase *f = &w->p->phases.at[index];
    const struct layout *y = w->y;
    line(w, "/* phase %u */", index);
    w->folds = layout_row_folds(w->k, y);
    if (!phase_rounds(w, f)) w->folds.levels = 0;
    declare_accumulators(w, f);
    declare_squares(w, f);
    declare_best(w, f);
    /* What is read once stays for the phases behind this one. */
    bool scoped = w->folds.levels && !y->one_read;
    if (scoped) open_scope(w);
    declare_folds(w, f);
    if (y->peel && !y->one_read) open_scope(w);
    put_end_loads(w, f);
    (y->meets ? put_tiles_met : put_tiles)(w, index, smem);
    settle_best(w, f);
    put_end_elements(w, f);
    if (y->peel && !y->one_read) close_brace(w);
    put_unfolded(w, f);
    if (scoped) close_brace(w);
    if (y->split > 1 && !y->meets) return; /* partial results leave the block here */
    if (y->meets && f->reduce.n) put_meeting(w, index, *smem);
    put_combines(w, f, smem);
    struct phase rest = *f;
    if (f->squares.n) settle_squares(w, f, smem, &rest);
    if (w->k->kind == KERNEL_SCAN && !w->k->whole_rows) return; /* settle_carried has them */
    put_row_values(w, rest.after.at, rest.after.n);
}

/* Has a thread much of a row to load before it takes any of it up? Compilers that are not told how
 * many blocks there is room for have half of the loads under way, or less, and save registers that
 * nobody else uses: Huber's loss of two f32[32768, 32768] takes an H200 1914 us so, and 1884 if
 * they are told; of the eight loads of a row of a matrix times a vector two were under way. */
static bool counts_on_loads(const struct emitter *w) {
    enum { MUCH = 32 }; /* registers: of less there are blocks enough besides */
    const struct layout *y = w->y;
    bool loops = w->k->kind == KERNEL_REDUCE && !y->one_read && !y->kept;
    if (y->rows_inner || y->hits) return false;
    return y->split > 1 || (loops && layout_load_words(w->k, y) >= MUCH);
}

/* Is this launch all that the program is? Then it is never made ready while another one ends. */
static bool is_only_launch(const struct emitter *w) {
    const struct kernel *k = w->k;
    const struct layout *y = w->y;
    return k->schedule->groups.n == 1 && !k->steps && !k->columns && !k->of_vector &&
           !layout_sorts(k, y) && (y->split == 1 || y->last_block);
}

/* Blocks that wait for each other: all that take tiles in rounds, or those that share a row. */
static int blocks_together(const struct layout *y) {
    return y->circle > 1 ? y->circle : y->meets ? y->split : 0;
}

/* Several blocks of a multiprocessor that wait for each other find it as they need it, with no
 * other kernel's share of shared memory: those that spin would keep that as it is. */
static bool needs_device(const struct emitter *w) {
    return blocks_together(w->y) && w->p->grid > w->k->limits->units;
}

struct ws_launch *open_kernel(struct emitter *w, const char *name, int threads) {
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    bool first = name == w->k->entry;
    *l = (struct ws_launch){.entry = name, .grid = {1, 1, 1}, .threads = threads};
    l->alone = first && (is_only_launch(w) || needs_device(w));
    add_arguments(w, l);
    int blocks = first ? w->p->config.knob[KNOB_blocks] : 0; /* to be on the device together */
    if (first && !blocks) blocks = w->y->fit;
    if (first && !blocks && counts_on_loads(w)) blocks = kernel_blocks_loading(w->k, w->y);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d", threads);
    if (!first)
        blocks = 1; /* else the compiler has fewer loads under way, to fit in more of them */
    if (blocks) buf_printf(&w->b, ", %d", blocks);
    buf_puts(&w->b, ") ");
    if (first && layout_cluster(w->y) > 1)
        buf_printf(&w->b, "__cluster_dims__(%d, 1, 1) ", w->y->cluster);
    buf_printf(&w->b, "%s(", name);
    put_parameters(w);
    put_partial_parameters(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    if (!l->alone && (!first || !w->k->of_vector)) line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x;");
    line(w, "const k_idx nx = %s, nr = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]));
    return l;
}

static void open_part(struct emitter *w) {
    buf_printf(&w->b, "\nK_DEVICE void %s(", w->part);
    put_parameters(w);
    buf_puts(&w->b, ", const k_idx turn) {\n");
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "const int tid = (int)threadIdx.x;");
    line(w, "const k_idx nx = %s, nr = %s;", ex_text(w, w->k->bound[AXIS_X]),
         ex_text(w, w->k->bound[AXIS_R]));
}

static const char *block_number(const struct emitter *w) {
    return w->part ? "turn" : "(k_idx)blockIdx.x";
}

/* The block whose turn it is (kernel/mirror.c). */
static void put_mirrored_block(struct emitter *w) {
    const struct layout *y = w->y;
    const char *halves = w->k->mirror.turning == BY_HALVES ? "true" : "false";
    long long n = tile_count(y->mirrored, y->mirror_each), inner = y->mirror_inner;
    if (n * inner == w->p->grid)
        line(w, "const k_idx block = (k_idx)k_mirror<%s>(blockIdx.x, %lldu, %lldu);", halves, n,
             inner);
    else
        line(w,
             "const k_idx block = (k_idx)k_mirror_runs<%s>(blockIdx.x, %lldu, %lldu, %lldu, "
             "%lldu);",
             halves, (long long)y->mirrored, (long long)y->mirror_each, inner,
             (long long)w->p->grid);
}

/* Of what a block has, if blocks meet, the end is kept. */
static void put_kept_position(struct emitter *w) {
    const struct layout *y = w->y;
    line(w, "const k_idx r_kept = r_begin + %lld, r_again = k_clamp(r_kept, r_end);",
         (long long)(layout_tiles_met(w->k, y) - y->kept) * y->br);
    line(w, "(void)r_kept; (void)r_again;");
}

/* Divisions are of unsigned numbers: compilers do not know that those of blocks and threads have no
 * sign, and of a kernel of 20 instructions five are for it. */
static void put_block_position(struct emitter *w) {
    const struct layout *y = w->y;
    if (y->rows_inner)
        line(w, "const int tr = tid / %du, tx = tid %% %du;", y->t0, y->t0);
    else
        line(w, "const int tx = tid / %du, tr = tid %% %du;", y->t1, y->t1);
    if (kernel_has_batches(w->k))
        line(w, "const k_idx z = (k_idx)(blockIdx.x / %du);", y->blocks * y->cluster);
    if (y->grid_r) {
        if (y->peel && ex_is_const(w->k->ex, w->k->bound[AXIS_R], NULL))
            line(w, "const k_idx tiles = %lld;", (long long)layout_column_tiles(w->k, y));
        else
            line(w, "const k_idx tiles = (nr + %d) / %d;", y->br - 1, y->br);
        const char *block = block_number(w);
        if (y->mirrored) {
            put_mirrored_block(w);
            block = "block";
        }
        line(w, "const unsigned number = (unsigned)(%s);", block);
        line(w, "const k_idx px = (k_idx)(number / (unsigned)tiles);");
        line(w, "const k_idx base = (k_idx)(number %% (unsigned)tiles) * %d, r_end = nr;", y->br);
    } else if (y->blocks && y->cluster > 1) {
        if (y->apart)
            line(w, "const int rank = (int)blockIdx.x %% %d;", y->cluster);
        else
            line(w, "const int rank = (int)k_cluster_rank();");
        line(w, "const k_idx base = rank * %d, r_end = k_clamp(base + %d, nr);", y->br, y->br);
        line(w, "(void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
        return;
    } else if (y->blocks) {
        line(w, "const k_idx base = 0, r_end = nr;");
        line(w, "(void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
        return;
    } else if (y->cluster > 1) {
        line(w, "const k_idx px = (k_idx)blockIdx.x / %d;", y->cluster);
        line(w, "const int rank = (int)k_cluster_rank();");
        line(w, "const k_idx steps = (nr + %d) / %d;", y->br - 1, y->br);
        line(w, "const k_idx chunk = (steps + %d) / %d * %d;", y->cluster - 1, y->cluster, y->br);
        line(w, "const k_idx %s = rank * chunk;", y->one_read ? "base" : "r_begin");
        line(w, "const k_idx r_end = k_clamp(%s + chunk, nr);", y->one_read ? "base" : "r_begin");
    } else if (y->split > 1) {
        const char *block = "(k_idx)blockIdx.x";
        if (y->meets) line(w, "const k_idx turn = (k_idx)k_take_turn(tickets, gridDim.x);");
        if (y->meets) block = "turn";
        line(w, "const k_idx px = %s / %d, part = %s %% %d;", block, y->split, block, y->split);
        line(w, "const k_idx steps = (nr + %d) / %d;", y->br - 1, y->br);
        line(w, "const k_idx chunk = (steps + %d) / %d * %d;", y->split - 1, y->split, y->br);
        line(w, "const k_idx r_begin = part * chunk, r_end = k_clamp(r_begin + chunk, nr);");
        if (y->meets) put_kept_position(w);
    } else if (y->circle) {
        line(w, "const k_idx r_end = nr;");
        line(w, "(void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
        return;
    } else if (y->look_back) {
        put_look_back_position(w);
    } else if (w->k->kind == KERNEL_SCAN) {
        line(w, "const k_idx px = %s, r_end = nr;", block_number(w));
    } else {
        if (y->mirrored) put_mirrored_block(w);
        line(w, "const k_idx px = %s;", y->mirrored ? "block" : block_number(w));
        line(w, y->one_read ? "const k_idx base = 0, r_end = nr;"
                            : "const k_idx r_begin = 0, r_end = nr;");
    }
    line(w, "(void)px; (void)tx; (void)tr; (void)nx; (void)r_end; (void)k_smem;");
}

/* What the blocks of a layout do, from where a block knows which one it is. */
static void put_block(struct emitter *w, const struct ws_launch *l) {
    int smem = 0;
    put_mbarriers(w, &smem);
    if (w->y->peel) put_row_ends(w);
    put_row_copies(w);
    if (w->y->blocks) open_block_rows(w);
    put_row_values(w, w->p->before.at, w->p->before.n);
    bool scans = w->k->kind == KERNEL_SCAN; /* then all phases on one tile after the other */
    bool tiles = scans && !w->y->look_back && !w->k->whole_rows;
    for (uint32_t i = 0; i < w->p->phases.n && scans; i++) declare_carries(w, &w->p->phases.at[i]);
    if (tiles)
        open_brace(w, "for (k_idx base = 0; base < nr; base += %d)", w->y->br);
    else if (scans && !w->y->look_back)
        line(w, "const k_idx base = 0;");
    bool reads_blocks = layout_cluster(w->y) > 1 && !exchanges(w->y);
    uint32_t last = w->p->phases.n; /* which reduces: blocks read nothing of each other after it */
    while (last > 0 && !w->p->phases.at[last - 1].reduce.n) last--;
    for (uint32_t i = 0; i < w->p->phases.n; i++) {
        put_phase(w, i, &smem);
        if (reads_blocks && !w->y->blocks && i + 1 == last) line(w, "k_cluster_arrive();");
        if (w->y->look_back && i + 1 == last) arrive_look_back(w);
    }
    if (tiles) close_brace(w);
    if (tiles) settle_carried(w, &smem);
    WS_ASSERT(smem <= l->smem); /* layout.c counts the regions that put_combines hands out */
    if (w->y->split > 1 && !w->y->meets) put_partials(w);
    if (w->y->last_block) put_last_block(w);
    if (w->y->split == 1 || w->y->meets) put_row_stores(w);
    if (w->y->look_back) end_look_back(w);
    if (w->y->blocks) close_block_rows(w);
    if (reads_blocks)
        line(w, "k_cluster_wait(); /* no block may end while another reads its shared memory */");
    close_brace(w);
}

void emit_cuda_rows(struct emitter *w) {
    if (layout_sorts(w->k, w->y)) emit_cuda_sort(w);
    struct ws_launch *l = open_kernel(w, w->k->entry, w->y->threads);
    l->grid[0] = w->p->grid;
    l->smem = w->y->smem;
    l->cluster = layout_cluster(w->y);
    l->together = blocks_together(w->y);
    put_block_position(w);
    if (w->y->circle) {
        put_circle(w);
        return;
    }
    if (w->k->of_vector) {
        put_prefetches(w);
        put_first_loads(w, is_given_first);
        line(w, "k_enter();");
        put_first_loads(w, waits_first);
    }
    if (w->y->in_words) put_draw(w);
    if (w->y->hits) {
        w->y->own ? put_own_hits(w) : put_hits(w);
        close_brace(w);
        if (w->y->split > 1) emit_finish(w);
        return;
    }
    put_block(w, l);
    if (w->y->split > 1 && !w->y->last_block && !w->y->meets) emit_finish(w);
    if (w->k->columns && !w->y->whole_columns) emit_column_finish(w);
}

void emit_cuda_part(struct emitter *w) {
    struct ws_launch *l = &w->out->launches[0];
    if (w->y->smem > l->smem) l->smem = w->y->smem;
    open_part(w);
    put_block_position(w);
    put_block(w, l);
}

/* cuda_persistent.c: all steps of a loop in one kernel, in CUDA C++ (kernel/persistent.h).
 *
 *     right factors of the block's columns to shared memory
 *     for each step
 *         what it reads that no step makes                        before it waits
 *         k_await_step: all blocks have left the step before
 *         left factors to shared memory, from L2
 *         sums of products: LANES threads share the depth of a tile of ROWS x ACROSS; or, on the
 *         matrix units, a warp has the right factor of its tile and part of the depth in registers
 *         what is made of them at each point, and is stored
 *         k_leave_step; the same again for products of what it has made so far
 *
 * look_back=1: what left factors lie in is hidden first (k_hide1), for all steps, and all blocks
 * meet once. Then a step waits for no counter, but for vectors (k_look, k_look_again), which others
 * show (k_show1) as soon as they have them.
 *
 * A block has a point for each row and each of its columns. Where a thread has one at most, what it
 * needs that is the same in all steps stays in registers, and the rest is loaded before the sums
 * are made. Memory has the names m0, m1, ..; windows into it, of a step, are p0, p1, .. */
#include <string.h>

#include "emit/impl.h"

/* What a point needs of v first: in all steps the same; of the step, but not of the one before; of
 * that; of this step's products. */
enum when { ALWAYS, BEFORE, BEHIND_WAIT, BEHIND_SUMS };

struct persistent_text {
    struct emitter *w;
    const struct persistent *p;
    const struct steps *steps;
    bool *needed;  /* by value: of points, of all phases */
    uint8_t *when; /* of these */
    bool one;      /* a point a thread */
};

static const struct value_node *value_at(const struct persistent_text *x, value_id v) {
    return &x->w->k->values.at[v];
}

static bool is_sum(const struct persistent_text *x, value_id v) {
    return value_at(x, v)->kind == INST_REDUCE;
}

static void need(struct persistent_text *x, bool *needed, value_id v) {
    if (needed[v]) return;
    needed[v] = true;
    for (int a = 0; a < value_at(x, v)->n_args && !is_sum(x, v); a++)
        need(x, needed, value_at(x, v)->args[a]);
}

static int phase_of(const struct persistent_text *x, const struct store_node *s) {
    return x->steps->phase[s->value];
}

/* Of points of a phase. */
static bool *needed_in(struct persistent_text *x, int phase) {
    const struct kernel *k = x->w->k;
    bool *needed = NEW_ARRAY(x->w->arena, bool, k->values.n);
    for (uint32_t i = 0; i < k->stores.n; i++)
        if (phase_of(x, &k->stores.at[i]) == phase) need(x, needed, k->stores.at[i].value);
    return needed;
}

static void find_needed(struct persistent_text *x) {
    const struct kernel *k = x->w->k;
    x->needed = NEW_ARRAY(x->w->arena, bool, k->values.n);
    x->when = NEW_ARRAY(x->w->arena, uint8_t, k->values.n);
    for (uint32_t i = 0; i < k->stores.n; i++) need(x, x->needed, k->stores.at[i].value);
    for (value_id v = 0; v < k->values.n; v++) {
        const struct value_node *n = value_at(x, v);
        bool window = n->kind == INST_LOAD && buffer_of(x->w, n->buffer)->kind == BUFFER_WINDOW;
        bool waits = window && persistent_changes(k, n->buffer) && !x->p->looks; /* else its own */
        x->when[v] = is_sum(x, v) ? BEHIND_SUMS : waits ? BEHIND_WAIT : window ? BEFORE : ALWAYS;
        for (int a = 0; a < n->n_args; a++)
            if (x->when[n->args[a]] > x->when[v]) x->when[v] = x->when[n->args[a]];
    }
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Where window i, b, is in step t. */
static void put_window(struct persistent_text *x, uint32_t i, buffer_id b) {
    struct emitter *w = x->w;
    const struct loop_window *of = &buffer_of(x->w, b)->window;
    const char *at = arena_printf(w->arena, "%lld + %lld * (t - %d)", (long long)of->first,
                                  (long long)of->way, of->carried);
    if (of->ring) at = arena_printf(w->arena, "(%s) %% %lld", at, (long long)of->ring);
    const char *place = arena_printf(w->arena, "m%d + (long long)(%s) * %lld",
                                     memory_of(x->w, of->of), at, (long long)of->each);
    bool stored = false;
    for (uint32_t s = 0; s < w->k->stores.n; s++) stored |= w->k->stores.at[s].buffer == b;
    if (of->carried)
        line(w, "const %s *const p%u = t ? %s : m%d;", type_in_memory(x->w, b), i, place,
             memory_of(x->w, of->start));
    else
        line(w, "%s%s *const p%u = %s;", stored ? "" : "const ", type_in_memory(x->w, b), i, place);
}

static void put_windows(struct persistent_text *x) {
    const struct kernel *k = x->w->k;
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (buffer_of(x->w, k->buffers.at[i])->kind == BUFFER_WINDOW)
            put_window(x, i, k->buffers.at[i]);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* The right factors, and zeros around all. */
static void put_right_factors(struct persistent_text *x) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    int size = dtype_bytes(p->type);
    line(w, "for (int i = tid; i < %lld; i += %d) ((unsigned *)k_smem)[i] = 0;",
         (long long)(p->sums_at / 4), w->y->threads);
    line(w, "__syncthreads();");
    for (uint32_t i = 0; i < x->steps->taps.n; i++) {
        const struct step_sum *t = &x->steps->taps.at[i];
        int64_t first =
            t->slab * p->columns + ((int)i - persistent_first(w->k, t->slab)) * p->units;
        open_brace(w, "for (int i = tid; i < %lld; i += %d)",
                   (long long)(p->units * kernel_size(w->k, AXIS_R)), w->y->threads);
        line(w, "const k_idx n = n0 + i / (int)nr, r = i %% (int)nr;");
        line(w, "if (n >= nn) continue;");
        const char *value = put_expression(w, t->b);
        line(w,
             "k_put_shared((%s *)(k_smem + %lld) + (i / (int)nr * %lld + i %% (int)nr), (%s)%s);",
             memory_type(w, p->type), (long long)(p->b_at + first * p->line * size),
             (long long)p->line, math_type(p->math), value);
        close_brace(w);
    }
    line(w, "__syncthreads();");
}

/* Each thread's vectors of a slab. */
static void open_vectors(struct persistent_text *x) {
    struct emitter *w = x->w;
    int slabs = x->p->by_warp ? (int)x->steps->slabs.n : 1, threads = w->y->threads / slabs;
    line(w, "#pragma unroll");
    open_brace(w, "for (int j = 0; j < %d; j++)", persistent_vectors(w->k, x->p, w->y->threads));
    line(w, "const int i = tid %% %d + j * %d;", threads, threads);
    line(w, "const k_idx m = i * %d / (int)nr, r = i * %d %% (int)nr;", x->p->vec, x->p->vec);
}

enum look { FIRST, AGAIN, KEEP };

/* All of a slab is loaded; what was not there yet is loaded again; what is there is left in shared
 * memory. */
static void put_looks(struct persistent_text *x, int slab, enum look what) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    long long all = (long long)(kernel_size(w->k, AXIS_M) * kernel_size(w->k, AXIS_R) / p->vec);
    int64_t at = p->a_at + slab * p->row_tiles * p->rows * p->line * dtype_bytes(p->type);
    const struct value_node *a = value_at(x, x->steps->slabs.at[slab]);
    const char *t = memory_type(w, p->type), *when = "true";
    if (what == FIRST)
        line(w, "unsigned look%d[%d][4] = {};", slab, persistent_vectors(w->k, p, w->y->threads));
    open_vectors(x);
    if (a->guarded && what != AGAIN) when = put_expression(w, a->args[0]);
    const char *from =
        arena_printf(w->arena, "p%d + (%s)", argument_of(w, a->buffer), ex_text(w, a->index));
    if (what == FIRST)
        line(w, "if (i < %lld && %s) k_look(look%d[j], %s);", all, when, slab, from);
    else if (what == AGAIN)
        line(w, "wait |= k_look_again(look%d[j], %s);", slab, from);
    else
        line(w,
             "if (i < %lld && %s) k_keep_look((%s *)(k_smem + %lld) + (m * %lld + r), look%d[j]);",
             all, when, t, (long long)at, (long long)p->line, slab);
    close_brace(w);
}

/* Of slabs `from` to `to`: loads are under way at a time, again and again, until all is there. */
static void put_wait(struct persistent_text *x, int from, int to) {
    struct emitter *w = x->w;
    for (int s = from; s < to; s++) put_looks(x, s, FIRST);
    open_brace(w, "for (bool wait = t > 0; wait;)");
    line(w, "wait = false;");
    for (int s = from; s < to; s++) put_looks(x, s, AGAIN);
    close_brace(w);
    for (int s = from; s < to; s++) put_looks(x, s, KEEP);
}

/* look_back=1. On the matrix units a slab is its warps' own, which wait for nobody else: layers run
 * ahead of those that read them, so what another one has left is there, and its product is made,
 * while the own one is waited for. */
static void put_left_looks(struct persistent_text *x) {
    struct emitter *w = x->w;
    int slabs = (int)x->steps->slabs.n;
    for (int s = 0; s < slabs && x->p->by_warp; s++) {
        open_brace(w, "if (slab == %d)", s);
        put_wait(x, s, s + 1);
        close_brace(w);
    }
    if (!x->p->by_warp) put_wait(x, 0, slabs);
    if (x->p->by_warp && slabs > 1)
        line(w, "k_barrier_sync(1 + slab, %d);", w->y->threads / slabs);
    else
        line(w, "__syncthreads();");
}

static void put_left_factors(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    int64_t lines = p->row_tiles * p->rows;
    for (int s = persistent_slabs(w->k, phase); s < persistent_slabs(w->k, phase + 1); s++) {
        value_id v = x->steps->slabs.at[s];
        const struct value_node *a = value_at(x, v);
        bool vectors = persistent_copies(w->k, p, s);
        int unit = vectors ? p->vec : 1;
        int64_t at = p->a_at + s * lines * p->line * dtype_bytes(p->type);
        open_brace(w, "for (int i = tid; i < %lld; i += %d)",
                   (long long)(kernel_size(w->k, AXIS_M) * kernel_size(w->k, AXIS_R) / unit),
                   w->y->threads);
        line(w, "const k_idx m = i * %d / (int)nr, r = i * %d %% (int)nr;", unit, unit);
        const char *to = arena_printf(w->arena, "(%s *)(k_smem + %lld) + (m * %lld + r)",
                                      memory_type(w, p->type), (long long)at, (long long)p->line);
        if (vectors) {
            const char *when = "";
            if (a->guarded)
                when = arena_printf(w->arena, "if (%s) ", put_expression(w, a->args[0]));
            line(w, "%sk_cp_async<16>(%s, p%d + (%s));", when, to, argument_of(w, a->buffer),
                 ex_text(w, a->index));
        } else {
            const char *value = put_expression(w, v);
            line(w, "k_put_shared(%s, (%s)%s);", to, math_type(p->math), value);
        }
        close_brace(w);
    }
    line(w, "k_cp_async_commit();");
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* What a slab has: text that chooses. */
static const char *of_slab(struct persistent_text *x,
                           int64_t (*f)(const struct persistent_text *, int)) {
    struct buf b = buf_new(x->w->arena);
    int n = (int)x->steps->slabs.n;
    for (int s = 0; s < n - 1; s++) buf_printf(&b, "slab == %d ? %lld : ", s, (long long)f(x, s));
    buf_printf(&b, "%lld", (long long)f(x, n - 1));
    return b.p;
}

static int64_t first_sum(const struct persistent_text *x, int slab) {
    return persistent_first(x->w->k, slab) * x->p->units;
}

static int64_t sums_of(const struct persistent_text *x, int slab) {
    return persistent_taps(x->w->k, slab) * x->p->units;
}

/* ---- sums on the matrix units ---------------------------------------------------------------- */

static const char *word_text(struct persistent_text *x, const char *word) {
    if (x->p->type != DT_F32) return word;
    return arena_printf(x->w->arena, "k_tf32_bits(k_as_float(%s))", word);
}

static long long line_words(const struct persistent *p) {
    return p->line * dtype_bytes(p->type) / 4;
}

static int steps_of_part(const struct persistent *p) {
    return (int)(p->depth * dtype_bytes(p->type) / 4 / MMA_WORDS);
}

/* What a lane has of the right factor, in step s of the depth and eight g: of step `of` of b. */
static void put_right_words(struct persistent_text *x, const char *of) {
    struct emitter *w = x->w;
    line(w, "#pragma unroll");
    open_brace(w, "for (int g = 0; g < %d; g++)", x->p->across / MMA_COLUMNS);
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < 2; i++) b[%s][g][i] = %s;", of,
         word_text(x, arena_printf(w->arena, "right[g * %lld + s * %d + i * 4]",
                                   MMA_COLUMNS * line_words(x->p), MMA_WORDS)));
    close_brace(w);
}

/* Before all steps: who a warp is, and what it keeps. */
static void put_warp(struct persistent_text *x) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    long long words = line_words(p), of_part = steps_of_part(p) * MMA_WORDS;
    line(w,
         "const int in_warp = tid %% 32, part = tid / 32 %% %d, slab = tid / 32 / %d / %lld, c0 = "
         "tid / 32 / %d %% %lld * %d;",
         p->parts, p->parts, (long long)p->column_tiles, p->parts, (long long)p->column_tiles,
         p->across);
    line(w,
         "const unsigned *const right = (const unsigned *)(k_smem + %lld) + ((slab * %lld + c0 + "
         "in_warp / 4) * %lld + part * %lld + in_warp %% 4);",
         (long long)p->b_at, (long long)p->columns, words, of_part);
    line(w,
         "const unsigned *const left = (const unsigned *)(k_smem + %lld) + ((slab * %lld + "
         "in_warp / 4) * %lld + part * %lld + in_warp %% 4);",
         (long long)p->a_at, (long long)(p->row_tiles * p->rows), words, of_part);
    if (!p->in_registers) return;
    line(w, "unsigned b[%d][%d][2];", steps_of_part(p), p->across / MMA_COLUMNS);
    line(w, "#pragma unroll");
    open_brace(w, "for (int s = 0; s < %d; s++)", steps_of_part(p));
    put_right_words(x, "s");
    close_brace(w);
}

static void put_warp_sums(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    int eights = p->across / MMA_COLUMNS;
    long long m = (long long)kernel_size(w->k, AXIS_M);
    open_brace(w, "if (slab >= %d && slab < %d)", persistent_slabs(w->k, phase),
               persistent_slabs(w->k, phase + 1));
    line(w, "float acc[%lld][%d][4];", (long long)p->row_tiles, eights);
    line(w, "#pragma unroll");
    line(w, "for (int f = 0; f < %lld; f++)", (long long)p->row_tiles);
    line(w, "    for (int g = 0; g < %d; g++) k_zero(acc[f][g]);", eights);
    line(w, p->in_registers ? "#pragma unroll" : "#pragma unroll 2");
    open_brace(w, "for (int s = 0; s < %d; s++)", steps_of_part(p));
    if (!p->in_registers) {
        line(w, "unsigned b[1][%d][2];", eights);
        put_right_words(x, "0");
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int f = 0; f < %lld; f++)", (long long)p->row_tiles);
    line(w, "unsigned a[4];");
    line(w, "#pragma unroll");
    line(w, "for (int i = 0; i < 4; i++) a[i] = %s;",
         word_text(x,
                   arena_printf(w->arena, "left[(f * %d + i %% 2 * 8) * %lld + s * %d + i / 2 * 4]",
                                MMA_ROWS, line_words(p), MMA_WORDS)));
    line(w, "#pragma unroll");
    line(w, "for (int g = 0; g < %d; g++) k_mma%s(acc[f][g], a, b[%s][g]);", eights,
         p->type == DT_F32 ? "_tf32" : arena_printf(w->arena, "<%s>", memory_type(w, p->type)),
         p->in_registers ? "s" : "0");
    close_brace(w);
    close_brace(w);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %lld; e++)", (long long)p->row_tiles * eights * 4);
    line(w, "const int f = e / %d, g = e / 4 %% %d, i = e %% 4;", eights * 4, eights);
    line(w,
         "const int row = f * %d + in_warp / 4 + i / 2 * 8, c = c0 + g * %d + in_warp %% 4 * 2 + "
         "i %% 2;",
         MMA_ROWS, MMA_COLUMNS);
    line(w, "if (row < (int)nm && c < (%s))", of_slab(x, sums_of));
    line(w, "    sums[(part * %lld + row) * %lld + (%s) + c] = acc[f][g][i];", m,
         (long long)p->sums, of_slab(x, first_sum));
    close_brace(w);
    close_brace(w);
}

/* ---- sums by multiply-adds ------------------------------------------------------------------- */

static void put_sums(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    const struct persistent *p = x->p;
    const char *t = memory_type(w, p->type), *math = math_type(p->math);
    int sums = p->rows * p->across, all = (sums + p->lanes - 1) / p->lanes * p->lanes;
    int from = persistent_slabs(w->k, phase), slabs = persistent_slabs(w->k, phase + 1) - from;
    long long of_slabs = (long long)(p->row_tiles * p->column_tiles), tiles = of_slabs * slabs;
    int groups = w->y->threads / p->lanes;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int first = 0; first < %lld; first += %d)", tiles, groups);
    line(w, "const int tile = first + group < %lld ? first + group : 0;", tiles);
    line(w,
         "const int slab = %d + tile / %lld, row0 = tile / %lld %% %lld * %d, column = tile %% "
         "%lld;",
         from, of_slabs, (long long)p->column_tiles, (long long)p->row_tiles, p->rows,
         (long long)p->column_tiles);
    line(w,
         "const %s *const a = (const %s *)(k_smem + %lld) + ((slab * %lld + row0) * %lld + lane * "
         "%d);",
         t, t, (long long)p->a_at, (long long)(p->row_tiles * p->rows), (long long)p->line, p->vec);
    line(w,
         "const %s *const b = (const %s *)(k_smem + %lld) + ((slab * %lld + column) * %lld + lane "
         "* %d);",
         t, t, (long long)p->b_at, (long long)p->columns, (long long)p->line, p->vec);
    line(w, "%s acc[%d];", math, all);
    line(w, "k_zero(acc);");
    line(w, "#pragma unroll 2");
    open_brace(w, "for (int d = 0; d < %lld; d += %d)", (long long)p->line, p->lanes * p->vec);
    line(w, "k_pack<%s, %d> x[%d], y[%d];", t, p->vec, p->rows, p->across);
    line(w, "#pragma unroll");
    line(w,
         "for (int i = 0; i < %d; i++) x[i] = k_load_shared<%s, %d>((const unsigned char *)(a + (i "
         "* %lld + d)));",
         p->rows, t, p->vec, (long long)p->line);
    line(w, "#pragma unroll");
    line(w,
         "for (int j = 0; j < %d; j++) y[j] = k_load_shared<%s, %d>((const unsigned char *)(b + (j "
         "* %lld + d)));",
         p->across, t, p->vec, (long long)(p->column_tiles * p->line));
    line(w, "#pragma unroll");
    open_brace(w, "for (int v = 0; v < %d; v++)", p->vec);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", p->rows);
    line(w, "#pragma unroll");
    line(w, "for (int j = 0; j < %d; j++) acc[i * %d + j] += k_get(x[i], v) * k_get(y[j], v);",
         p->across, p->across);
    close_brace(w);
    close_brace(w);
    close_brace(w);
    line(w, "k_sum_lanes<%d>(acc, lane);", p->lanes);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", all / p->lanes);
    line(w, "const int s = lane * %d + e, row = row0 + s / %d, c = column + s %% %d * %lld;",
         all / p->lanes, p->across, p->across, (long long)p->column_tiles);
    line(w, "if (first + group < %lld && s < %d && row < (int)nm && c < (%s))", tiles, sums,
         of_slab(x, sums_of));
    line(w, "    sums[row * %lld + (%s) + c] = acc[e];", (long long)p->sums, of_slab(x, first_sum));
    close_brace(w);
    close_brace(w);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Does v load what the same thread has left in the step before? */
static bool is_left(const struct persistent_text *x, value_id v) {
    const struct value_node *n = value_at(x, v);
    return x->p->looks && n->kind == INST_LOAD && persistent_changes(x->w->k, n->buffer);
}

/* Threads without a point have the place of another one, but load nothing that it leaves: it may
 * be about to, for where blocks look no barrier is behind a step. */
static void put_values(struct persistent_text *x, const bool *needed, enum when from,
                       enum when to) {
    struct emitter *w = x->w;
    const char *has_point = arena_printf(w->arena, "tid < %lld && n0 + u < nn",
                                         (long long)(x->p->units * kernel_size(w->k, AXIS_M)));
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!needed[v] || x->when[v] < from || x->when[v] > to) continue;
        if (!is_sum(x, v)) {
            w->load_if = x->one && is_left(x, v) ? has_point : NULL;
            put_local(w, v);
            w->load_if = NULL;
            continue;
        }
        int tap = 0;
        while (x->steps->taps.at[tap].sum != v) tap++;
        struct buf sum = buf_new(w->arena);
        for (int part = 0; part < x->p->parts; part++)
            buf_printf(&sum, "%ssums[(%lld + (int)m) * %lld + %lld + u]", part ? " + " : "",
                       (long long)(part * kernel_size(w->k, AXIS_M)), (long long)x->p->sums,
                       (long long)(tap * x->p->units));
        line(w, "const %s v%u = (%s)(%s);", math_type(value_at(x, v)->dtype), v,
             math_type(value_at(x, v)->dtype), sum.p);
        w->where[v] = LOCAL;
    }
}

static void put_stores(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    for (uint32_t i = 0; i < w->k->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[i];
        if (phase_of(x, s) != phase) continue;
        if (x->p->looks && persistent_looked_at(w->k, s->buffer))
            line(w, "k_show1(p%d + (%s), (%s)%s);", argument_of(w, s->buffer), ex_text(w, s->index),
                 math_type(buffer_of(x->w, s->buffer)->meta.dtype), ref(w, s->value));
        else
            put_store1(w, s, "");
    }
}

/* The point of number e. */
static void put_place(struct persistent_text *x, const char *e) {
    line(x->w, "const int u = %s %% %lld;", e, (long long)x->p->units);
    line(x->w, "const k_idx m = %s / %lld, n = k_clamp(n0 + u, nn - 1);", e,
         (long long)x->p->units);
}

static void put_points(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    const bool *needed = needed_in(x, phase);
    long long points = (long long)(x->p->units * kernel_size(w->k, AXIS_M));
    if (x->one) {
        open_brace(w, "if (tid < %lld && n0 + u < nn)", points);
        put_values(x, needed, BEHIND_SUMS, BEHIND_SUMS);
        put_stores(x, phase);
        close_brace(w);
        return;
    }
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int e = tid; e < %lld; e += %d)", points, w->y->threads);
    put_place(x, "e");
    line(w, "if (n0 + u >= nn) continue;");
    put_values(x, needed, ALWAYS, BEHIND_SUMS);
    put_stores(x, phase);
    close_brace(w);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* Of all steps, before the first: elements that nobody has seen yet. */
static void put_unseen(struct persistent_text *x) {
    struct emitter *w = x->w;
    long long points = (long long)(x->p->units * kernel_size(w->k, AXIS_M));
    for (uint32_t i = 0; i < w->k->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[i];
        if (!persistent_looked_at(w->k, s->buffer)) continue;
        open_brace(w, "for (int t = 0; t < %lld; t++)", (long long)x->steps->n);
        put_window(x, (uint32_t)argument_of(w, s->buffer), s->buffer);
        open_brace(w, "for (int e = tid; e < %lld; e += %d)", points, w->y->threads);
        put_place(x, "e");
        line(w, "if (n0 + u < nn) k_hide1(p%d + (%s));", argument_of(w, s->buffer),
             ex_text(w, s->index));
        close_brace(w);
        close_brace(w);
    }
    line(w, "k_leave_step(tickets, %lldu);", 2 * (long long)x->p->blocks);
}

static void put_phase(struct persistent_text *x, int phase) {
    struct emitter *w = x->w;
    bool looks = x->p->looks;
    if (looks) {
        put_left_looks(x);
    } else {
        line(w, "%sk_await_step(tickets, (unsigned)(t * %d + %d) * %lld);", phase ? "" : "if (t) ",
             x->steps->phases, phase, (long long)x->p->blocks);
        put_left_factors(x, phase);
        if (x->one && !phase) put_values(x, x->needed, BEHIND_WAIT, BEHIND_WAIT);
        line(w, "k_cp_async_wait<0>();");
        line(w, "__syncthreads();");
    }
    (x->p->by_warp ? put_warp_sums : put_sums)(x, phase);
    line(w, "__syncthreads();");
    put_points(x, phase);
    if (!looks)
        line(w, "k_leave_step(tickets, %lldu);",
             (long long)(x->p->blocks * x->steps->n * x->steps->phases));
}

/* A slab's warps may have the next step's products while points still read this one's; they wait
 * for them at the barrier behind those. */
static void put_sums_of_step(struct persistent_text *x) {
    const char *math = math_type(x->p->math);
    if (x->p->turns > 1)
        line(x->w, "%s *const sums = all_sums + t %% %d * %lld;", math, x->p->turns,
             (long long)(x->p->sums * kernel_size(x->w->k, AXIS_M) * x->p->parts));
}

static void put_step(struct persistent_text *x) {
    put_windows(x);
    put_sums_of_step(x);
    if (x->one) put_values(x, x->needed, BEFORE, BEFORE);
    for (int phase = 0; phase < x->steps->phases; phase++) put_phase(x, phase);
}

void emit_cuda_persistent(struct emitter *w) {
    const struct kernel *k = w->k;
    const struct persistent *p = w->y->persistent;
    int64_t points = p->units * kernel_size(k, AXIS_M);
    struct persistent_text x = {.w = w, .p = p, .steps = k->steps, .one = points <= w->y->threads};
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry,
                            .grid = {w->p->grid, 1, 1},
                            .threads = w->y->threads,
                            .smem = w->y->smem,
                            .together = (int)w->p->grid};
    find_needed(&x);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d, 1) %s(", w->y->threads,
               k->entry);
    w->memory = persistent_memory(k, w->arena);
    put_step_memory(w, l);
    buf_puts(&w->b, ", unsigned *tickets) {\n");
    l->args[l->n_args++] = (struct ws_arg){.kind = WS_ARG_TICKETS};
    w->indent++;
    line(w, "extern __shared__ __align__(16) unsigned char k_smem[];");
    line(w, "k_enter();");
    line(w, "const int tid = (int)threadIdx.x;");
    if (!p->by_warp) line(w, "const int lane = tid %% %d, group = tid / %d;", p->lanes, p->lanes);
    line(w, "const k_idx nm = %lld, nn = %lld, nr = %lld;", (long long)kernel_size(k, AXIS_M),
         (long long)kernel_size(k, AXIS_N), (long long)kernel_size(k, AXIS_R));
    line(w, "const k_idx z = (k_idx)blockIdx.x / %lld, n0 = (k_idx)blockIdx.x %% %lld * %lld;",
         (long long)p->slices, (long long)p->slices, (long long)p->units);
    line(w, "%s *const %s = (%s *)(k_smem + %lld);", math_type(p->math),
         p->turns > 1 ? "all_sums" : "sums", math_type(p->math), (long long)p->sums_at);
    line(w, "(void)z; (void)nm;");
    put_unmoved_memory(w);
    if (p->looks) put_unseen(&x);
    put_right_factors(&x);
    if (p->looks) line(w, "k_await_step(tickets, %lldu);", (long long)p->blocks);
    if (p->by_warp) put_warp(&x);
    if (x.one) {
        put_place(&x, arena_printf(w->arena, "(tid < %lld ? tid : 0)", (long long)points));
        line(w, "(void)m;");
        put_values(&x, x.needed, ALWAYS, ALWAYS);
    }
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int t = 0; t < %lld; t++)", (long long)x.steps->n);
    put_step(&x);
    close_brace(w);
    if (p->looks) line(w, "k_leave_step(tickets, %lldu);", 2 * (long long)p->blocks);
    close_brace(w);
}

/* cuda_copy.c: loads that are copied into shared memory first, by the thread that will want them,
 * so that no barrier is needed: rows to come (cuda_columns.c), or the tiles of a row that is kept
 * there, keep=2. Without its casts:
 *
 *     for (slot < 7) {                                           all copies are under way at once
 *         const k_idx base = r_begin + slot * 8192;
 *         for (u) k_cp_async<16>(k_smem + 64 + slot * 16384 + (u * 512 + tid) * 16, p0 + ...);
 *         k_cp_async_commit();
 *     }
 *     for (slot < 7) {                                           phase 0
 *         const k_idx base = r_begin + slot * 8192;
 *         k_cp_async_commit();                                   a group of nothing, so that
 *         k_cp_async_wait<7>();                                  the seventh before it is through
 *         for (u) q0[0][u] = k_load_shared<k_bf16, 8>(k_smem + 64 + slot * 16384 + ...);
 *         ...
 *     }
 *     for (slot < 7) ...                                         phase 1: the same, without waiting
 *
 * Neither registers nor the thread's program limit how much of a row is under way. */
#include "emit/cuda_rows.h"

static const struct value_node *at(struct emitter *w, value_id v) { return &w->k->values.at[v]; }

struct phase copied_loads(struct emitter *w, const struct phase *f) {
    struct phase some = {0};
    for (uint32_t i = 0; i < f->loads.n; i++)
        if (layout_copies(w->k, w->y, f->loads.at[i]))
            vec_push(w->arena, &some.loads, f->loads.at[i]);
    return some;
}

/* The byte of shared memory at which the thread's part of load v begins. */
static const char *place(struct emitter *w, value_id v) {
    const struct layout *y = w->y;
    int64_t begin = 0, bytes = (int64_t)dtype_bytes(at(w, v)->dtype) * y->vec;
    for (value_id i = 0; i < v; i++)
        if (layout_copies(w->k, y, i))
            begin += (int64_t)dtype_bytes(at(w, i)->dtype) * y->vec * y->threads * y->ex * y->ur;
    return arena_printf(w->arena,
                        "k_smem + %d + slot * %lld + %lld + ((e * %d + u) * %d + tid) * %lld",
                        y->ring, (long long)layout_stage_bytes(w->k, y), (long long)begin, y->ur,
                        y->threads, (long long)bytes);
}

static void put_copy(struct emitter *w, value_id v) {
    const struct value_node *x = at(w, v);
    int bytes = dtype_bytes(x->dtype) * w->y->vec, word = bytes < 16 ? bytes : 16;
    const char *hint = l2_hint(w);        /* every copy is of what is loaded once */
    if (layout_scan_is_cut(w->k, w->y)) { /* what is behind the row's end is 0 */
        line(w, "k_cp_async<%d>(%s, p%d + (%s), (unsigned)k_clamp(nr - r, (k_idx)%d) * %du);", word,
             place(w, v), argument_of(w, x->buffer), ex_text(w, x->index), w->y->vec,
             dtype_bytes(x->dtype));
        return;
    }
    for (int i = 0; i < bytes; i += word)
        line(w, "k_cp_async<%d%s%s>(%s + %d, (const unsigned char *)(p%d + (%s)) + %d);", word,
             *hint ? ", " : "", hint, place(w, v), i, argument_of(w, x->buffer),
             ex_text(w, x->index), i);
}

static void put_taken(struct emitter *w, value_id v) {
    line(w, "%s[u] = k_load_shared<%s, %d>(%s);", pack_name(w, v), memory_type(w, at(w, v)->dtype),
         w->y->vec, place(w, v));
}

static void each_load(struct emitter *w, const struct phase *f,
                      void (*put)(struct emitter *w, value_id v)) {
    if (!f->loads.n) return;
    open_columns(w);
    open_row(w);
    for (uint32_t i = 0; i < f->loads.n; i++) put(w, f->loads.at[i]);
    close_row(w);
    close_columns(w);
}

void put_tile_copies(struct emitter *w) {
    struct phase all = {0};
    for (value_id v = 0; v < w->k->values.n; v++) vec_push(w->arena, &all.loads, v);
    const struct phase copied = copied_loads(w, &all);
    each_load(w, &copied, put_copy);
}

void put_copied(struct emitter *w, const struct phase *f) { each_load(w, f, put_taken); }

/* Does a block of those that share a row have fewer tiles than others? */
static bool lacks_slots(const struct emitter *w) {
    int64_t tiles = (kernel_size(w->k, AXIS_R) + w->y->br - 1) / w->y->br;
    int blocks = w->y->meets ? w->y->split : w->y->cluster;
    return blocks > 1 && tiles % blocks;
}

/* A slot that is a constant leaves less to compute for each of its vectors than one that counts;
 * but the text of all of them is to stay in the instruction cache. */
static void open_unrolled_slots(struct emitter *w) {
    enum { ALL = 128, SOME = 32 }; /* elements of a thread */
    int each = w->y->ur * w->y->vec * w->y->ex, some = each < SOME ? SOME / each : 1;
    if (w->y->kept * each <= ALL)
        line(w, "#pragma unroll");
    else
        line(w, "#pragma unroll %d", some);
    open_brace(w, "for (int slot = 0; slot < %d; slot++)", w->y->kept);
    line(w, "const k_idx base = %s + slot * %d;", w->y->meets ? "r_kept" : "r_begin", w->y->br);
}

void open_slots(struct emitter *w) {
    open_unrolled_slots(w);
    if (lacks_slots(w)) open_brace(w, "if (base < r_end)");
}

void close_slots(struct emitter *w) {
    if (lacks_slots(w)) close_brace(w);
    close_brace(w);
}

void put_row_copies(struct emitter *w) {
    const struct layout *y = w->y;
    if (!y->kept) return;
    open_unrolled_slots(w);
    if (lacks_slots(w)) open_brace(w, "if (base < r_end)");
    put_tile_copies(w);
    if (lacks_slots(w)) close_brace(w);
    line(w, "k_cp_async_commit();");
    close_brace(w);
}

void put_kept(struct emitter *w, const struct phase *f, bool first) {
    const struct layout *y = w->y;
    if (!y->kept) return;
    const struct phase copied = copied_loads(w, f);
    if (first) line(w, "k_cp_async_commit();");
    if (first) line(w, "k_cp_async_wait<%d>();", y->kept);
    declare_packs(w, &copied);
    put_copied(w, &copied);
}

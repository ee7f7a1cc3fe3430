/* cuda_make.c: tiles that warps of the block make of what a factor reads (kernel/operand_made.c),
 * where an image of it would be written and read again, or could not be copied at all: TAKE and
 * MAKE.
 *
 * A thread has a row of the tile, as its neighbours have those beside it, so that what they read
 * lies together in memory; eight of the depth are a piece of a line, for each plane.
 *
 *     float made[64];
 *     if (number == 0) {                                  the step's number
 *         for (int e = 0; e < 64; e++) {
 *             const k_idx r = 0 + e;                      a number, once unrolled, as its
 *             made[e] = 0;                                digits are: taps and channels are numbers
 *             if (r < 147) {                              in the loads
 *                 const k_flag v1 = bits1 >> (r % 49) & 1;
 *                 const float v2 = k_load1_if(v1, p0 + (m % 112 * 2 + ...) + (r % 7 + ...));
 *                 made[e] = (float)v2;
 *             }
 *         }
 *     } else if (number == 1) ...
 *     k_mbar_wait_block(empty + s * 8, phase ^ 1);
 *     for (int c = 0; c < 8; c++) {
 *         k_split_all(w, x);
 *         k_put_piece(k_place<128>(stage + 49152, 128, made_row, c), w[0], 0);
 *
 * What does not fit the registers is taken behind the wait. Where memory runs along the depth:
 * cuda_runs.c. */
#include "emit/cuda_mma.h"

enum { EACH = 8, GROUP = 128 };

/* Pieces of eight that a thread takes at a time: who has few registers takes half. */
static int pieces_at_once(const struct tile_program *t, const struct making *m) {
    enum { ROOMY = 88, MANY = 8, FEW = 4 };
    int registers = product_registers(t->product, false), most = FEW;
    if (!registers || registers >= ROOMY) most = MANY;
    while (m->pieces % most) most /= 2;
    return most;
}

static struct making making_of(struct emitter *w, const struct tile_ring *r) {
    return operand_making(w->k, r->operand, r->rows, r->depth);
}

/* The type in which what the factor reads is counted: offsets into outputs may need more. */
static const char *index_type(struct emitter *w, const struct operand *o) {
    const bool *needed = kernel_parts(w->k, o->factor);
    int64_t extent;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || x->kind != INST_LOAD) continue;
        bool known = ex_is_const(w->k->ex, kernel_extent(w->k, x->buffer), &extent);
        if (!known || extent >= INT32_MAX) return "k_idx";
    }
    return "int";
}

/* After how much of the depth the index is what it was: after its taps, where none of its terms is
 * of the channel; 0: never. */
static int64_t period_along_depth(struct emitter *w, ex e) {
    struct exprs *p = w->k->ex;
    ex depth = w->k->axis[AXIS_R];
    enum ex_kind kind = ex_kind(p, e);
    int64_t size, below;
    if (!depth || !ex_uses(p, e, depth)) return 1;
    if (kind == EX_SYM) return 0;
    if (kind == EX_MOD && ex_is_const(p, ex_rhs(p, e), &size)) {
        ex of = ex_lhs(p, e);
        if (of == depth) return size;
        if (ex_kind(p, of) == EX_DIV && ex_lhs(p, of) == depth &&
            ex_is_const(p, ex_rhs(p, of), &below))
            return below * size;
    }
    int64_t a = period_along_depth(w, ex_lhs(p, e)), b = period_along_depth(w, ex_rhs(p, e));
    return a && b ? a / common_divisor(a, b) * b : 0;
}

/* A condition that is the same for each channel is a bit for each tap, found once: two comparisons
 * for each side of an image, and what combines them, were four instructions of each element. The
 * taps; 0: this is not worth it for n of the depth. */
static int64_t put_bits(struct emitter *w, value_id v, int64_t n) {
    enum { BITS = 31 };
    const struct value_node *x = &w->k->values.at[v];
    if (x->kind != INST_INDEX || !(x->mask & MASK_R) || ex_kind(w->k->ex, x->index) < EX_EQ)
        return 0;
    int64_t period = period_along_depth(w, x->index);
    if (period < 2 || period > BITS || period >= n) return 0;
    line(w, "int bits%u = 0;", v);
    line(w, "#pragma unroll");
    open_brace(w, "for (int r = 0; r < %lld; r++)", (long long)period);
    line(w, "bits%u |= (int)%s << r;", v, value_text(w, v));
    close_brace(w);
    line(w, "bits%u = k_anew(bits%u);", v, v); /* else it would find each condition again */
    return period;
}

static void put_bit(struct emitter *w, value_id v, int64_t taps) {
    const struct value_node *x = &w->k->values.at[v];
    line(w, "const %s v%u = (%s)(bits%u >> (r %% %lld) & 1);", math_type(x->dtype), v,
         math_type(x->dtype), v, (long long)taps);
    w->where[v] = LOCAL;
}

/* Values of so many of the depth, from r0 on, which is a text, of a number or of an expression. */
static void put_values(struct emitter *w, const struct operand *o, const char *r0, bool is_number,
                       int64_t least, int n) {
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, o->factor, needed);
    int64_t *taps = NEW_ARRAY(w->arena, int64_t, w->k->values.n); /* whose bits there are */
    for (value_id v = 0; v < w->k->values.n; v++) w->where[v] = NOWHERE;
    for (value_id v = 0; v <= o->factor && is_number; v++)
        if (needed[v]) taps[v] = put_bits(w, v, o->depth - least < n ? o->depth - least : n);
    line(w, "#pragma unroll");
    open_brace(w, "for (int e = 0; e < %d; e++)", n);
    line(w, "const %s r = %s + e;", index_type(w, o), r0);
    bool whole = least + n <= o->depth; /* least: of the r that this text may be for */
    if (!whole) {
        line(w, "made[e] = 0;");
        open_brace(w, "if (r < %lld)", (long long)o->depth);
    }
    w->depth_is_number = is_number;
    for (value_id v = 0; v <= o->factor; v++)
        if (taps[v])
            put_bit(w, v, taps[v]);
        else if (needed[v])
            put_local(w, v);
    w->depth_is_number = false;
    line(w, "made[e] = (float)%s;", ref(w, o->factor));
    if (!whole) close_brace(w);
    close_brace(w);
}

/* Number i of the thread's rows, its pieces from c on: as one text for all steps, or one for each,
 * and each of the row's parts. */
static void put_taken(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                      int i, int c, int pieces) {
    const struct operand *o = r->operand;
    struct making m = making_of(w, r);
    int64_t steps = tile_steps(t), cases = steps * m.parts;
    char row = o->axis == AXIS_M ? 'm' : 'n';
    open_scope(w);
    const char *type = index_type(w, o);
    line(w, "const %s of_z = z;", type);
    open_scope(w);
    line(w, "const %s z = of_z, %c = k_anew((%s)k_clamp(%c0 + made_row + %d, %lld));", type, row,
         type, row, i * GROUP, (long long)o->rows - 1);
    line(w, "(void)z;");
    if (!m.unrolled || cases == 1) {
        const char *first =
            arena_printf(w->arena, "(number * %d + made_part * %d)", r->depth, m.pieces * EACH);
        if (cases == 1) first = "0";
        put_values(w, o, arena_printf(w->arena, "%s + %d", first, c * EACH), cases == 1,
                   (steps - 1) * r->depth + (m.parts - 1) * m.pieces * EACH + c * EACH,
                   pieces * EACH);
    }
    for (int64_t q = 0; q < cases && m.unrolled && cases > 1; q++) {
        int64_t first = (q * m.pieces + c) * EACH;
        const char *which =
            m.parts > 1 ? arena_printf(w->arena, "number * %d + made_part", m.parts) : "number";
        if (q + 1 < cases)
            open_brace(w, "%sif (%s == %lld)", q ? "else " : "", which, (long long)q);
        else
            open_brace(w, "else");
        put_values(w, o, arena_printf(w->arena, "%lld", (long long)first), true, first,
                   pieces * EACH);
        close_brace(w);
    }
    close_brace(w);
    close_brace(w);
}

/* In scope from the role's beginning on: which threads these are. */
void put_places_of_makers(struct emitter *w, const struct tile_program *t) {
    const struct tile_ring *r = tile_made(t);
    struct making m = making_of(w, r);
    line(w, "const int tid = (int)threadIdx.x %% %d;", GROUP);
    if (m.along) {
        declare_runs(w, r); /* where these are it finds out of each */
    } else if (m.parts > 1) {
        line(w, "const int made_row = tid %% %d;", r->rows);
        line(w, "const int made_part = __shfl_sync(0xffffffffu, tid / %d, 0);", r->rows);
    } else {
        line(w, "const int made_row = tid, made_part = 0;");
    }
    if (!m.along) line(w, "(void)made_part;");
    if (t->product->makers > 1) {
        line(w, "const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / %d, 0);", GROUP);
        line(w, "int turn = 0;");
    }
}

static int64_t least_steps(struct emitter *w, const struct tile_program *t) {
    int64_t least = tile_steps(t);
    for (int64_t z = 0; t->product->steps && z < kernel_size(w->k, AXIS_Z); z++)
        if (tile_batch_steps(t, z) < least) least = tile_batch_steps(t, z);
    return least;
}

/* Does the group take what its next step is made of before it waits for that, or goes to the next
 * tile? All that a step takes is in registers then while it waits: 3 channels of 3 x 3 x 3 taps in
 * 16 filters take an H200 573 us so, 620 else. Not beside results that are turned, which wait for
 * shared memory as loads do: 8 channels in 64 filters took 325 us, 248 else. */
static bool takes_ahead(struct emitter *w, const struct tile_program *t,
                        const struct tile_ring *r) {
    const struct product *p = t->product;
    struct making m = making_of(w, r);
    return !p->tensor && !p->turned && !m.along && m.rows == 1 &&
           pieces_at_once(t, &m) == m.pieces && p->parts == 1 && !p->whole && !p->bounded &&
           !t->order && (!p->steps || least_steps(w, t) >= p->makers);
}

static void put_number_of_step(struct emitter *w, const struct tile_program *t) {
    line(w, "const int number = %s;", depth_of_step(w, t, "step", 1));
    line(w, "(void)number;");
}

/* Of a step of another tile, or of a later step. */
static void put_take_at(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                        const char *tile, const char *step) {
    open_brace(w, "if (%s < %lld)", tile, (long long)tile_draws(t));
    line(w, "const int at_tile = %s, at_step = %s;", tile, step);
    open_scope(w);
    line(w, "const int tile = at_tile, step = at_step;");
    put_tile_place(w, t);
    line(w, "(void)m0, (void)n0;");
    put_number_of_step(w, t);
    struct making m = making_of(w, r);
    put_taken(w, t, r, 0, 0, pieces_at_once(t, &m));
    close_brace(w);
    close_brace(w);
}

void put_first_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    struct making m = making_of(w, r);
    const char *group = t->product->makers > 1 ? "group" : "0", *tile = "(int)blockIdx.x",
               *step = group;
    if (!takes_ahead(w, t, r)) return;
    if (tile_steps(t) < t->product->makers) {
        long long steps = (long long)tile_steps(t);
        tile = arena_printf(w->arena, "%s + %s / %lld * (int)gridDim.x", tile, group, steps);
        step = arena_printf(w->arena, "%s %% %lld", group, steps);
    }
    line(w, "float made[%d];", pieces_at_once(t, &m) * EACH);
    put_take_at(w, t, r, tile, step);
}

/* Groups have steps in turn, which goes on from tile to tile, or one less. */
void put_next_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    int makers = t->product->makers;
    if (!takes_ahead(w, t, r)) return;
    line(w, "const int on = step + %d;", makers);
    if (tile_steps(t) < makers) {
        line(w, "const int next_tile = tile + on / steps * (int)gridDim.x;");
        line(w, "const int next_step = on %% steps;");
    } else {
        line(w, "const int next_tile = tile + (on < steps ? 0 : (int)gridDim.x);");
        line(w, "const int next_step = on < steps ? on : (on - steps + %d) %% %d;",
             tile_turns_go_on(t), makers);
    }
    put_take_at(w, t, r, "next_tile", "next_step");
}

void put_take(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    struct making m = making_of(w, r);
    if (takes_ahead(w, t, r)) return;
    put_number_of_step(w, t);
    if (m.along) {
        put_take_runs(w, t, r);
        return;
    }
    line(w, "float made[%d];", pieces_at_once(t, &m) * EACH);
    put_taken(w, t, r, 0, 0, pieces_at_once(t, &m));
}

/* Pieces of a line have 16 bytes. */
static void put_pieces(struct emitter *w, const struct tile_program *t, const struct tile_ring *r,
                       const struct making *m, int i, int first, int pieces) {
    const struct operand *o = r->operand;
    int bytes = dtype_bytes(o->dtype), halves = EACH * bytes / 16;
    const char *of_part =
        m->parts > 1 ? arena_printf(w->arena, "made_part * %d + ", m->pieces) : "";
    int of_short = t->product->shorts.depth / EACH; /* pieces that a short step has */
    line(w, "#pragma unroll");
    open_brace(w, "for (int c = 0; c < %d; c++)", pieces);
    if (t->product->shorts.every && m->parts * m->pieces > of_short)
        line(w, "if (%s%s%d + c >= %d) break;", tile_has_both_steps(t) ? "!whole && " : "", of_part,
             first, of_short);
    line(w, "float x[%d];", EACH);
    line(w, "for (int e = 0; e < %d; e++) x[e] = made[c * %d + e];", EACH, EACH);
    line(w, "k_pack<%s, %d> w[%d];", memory_type(w, o->dtype), EACH, o->planes);
    if (o->planes > 1)
        line(w, "k_split_all(w, x);");
    else if (o->dtype == DT_F32)
        line(w, "for (int e = 0; e < %d; e++) w[0].w[e] = k_tf32_bits(x[e]);", EACH);
    else
        line(w, "k_put(w[0], x);");
    for (int p = 0; p < o->planes; p++)
        for (int h = 0; h < halves; h++)
            line(w,
                 "k_put_piece(k_place<%d>(stage + %d, %d, made_row + %d, (%s%d + c) * %d + %d), "
                 "w[%d], %d);",
                 r->line, r->offset + p * r->bytes, r->rows, i * GROUP, of_part, first, halves, h,
                 p, h);
    close_brace(w);
}

void put_make(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    struct making m = making_of(w, r);
    int pieces = pieces_at_once(t, &m);
    if (m.along) {
        put_make_runs(w, t, r);
        return;
    }
    for (int i = 0; i < m.rows; i++)
        for (int c = 0; c < m.pieces; c += pieces) {
            if (i || c) put_taken(w, t, r, i, c, pieces);
            put_pieces(w, t, r, &m, i, c, pieces);
        }
}

/* cuda_runs.c: tiles that warps of the block make of what lies along the depth, as quantised
 * weights do: what TAKE and MAKE of cuda_make.c are there.
 *
 * A thread has runs of 16 of the depth, of some rows; neighbours have those beside it, so that what
 * a warp reads at once is whole sectors. What a run reads is a vector (kernel/operand_made.c): 16
 * bytes of int8, 8 of what has two numbers in each byte, one scale for all of a group. It is in
 * registers, as it is stored, from the turn before on: memory takes about as long as the other
 * group's turn.
 *
 *     if (step < 2) ... the loads of this step, as below
 *     k_mbar_wait_block(empty + s * 8, phase ^ 1);
 *     for (int i = 0; i < 4; i++) {
 *         float x[16];
 *         { const int v1 = k_get(l1[i][0], 0); ... x[0] = v4; }
 *         ...
 *         k_put(w, x);
 *         k_put_piece(k_place<128>(stage + 8192, 128, made_row, part * 2 + 0), w, 0);
 *     }
 *     if (step + 2 < steps)
 *         for (int i = 0; i < 4; i++) {
 *             const int chunk = i * 128 + tid, made_row = chunk / 4, ...;
 *             l1[i][0] = k_load<k_i8, 16>(p1 + (run*16 + n*4096));
 *             l3[i] = k_load1(p2 + n);
 *         } */
#include "emit/cuda_mma.h"

enum { EACH = 8, GROUP = 128, VECTOR = 16 }; /* of a piece of a line; threads; bytes of a load */

static bool is_load(struct emitter *w, value_id v) { return w->k->values.at[v].kind == INST_LOAD; }
static bool varies(struct emitter *w, value_id v) { return w->k->values.at[v].mask & MASK_R; }

/* Elements that a load has at once. */
static int vector_of(struct emitter *w, const struct value_node *x, const struct run *r) {
    int most = VECTOR / dtype_bytes(buffer_dtype(w, x->buffer));
    return r->width < most ? r->width : most;
}

/* Which run of which row number i of the thread is. The last ones may be behind all rows, or behind
 * the depth: what they read counts for nothing, and is there. */
static void put_place(struct emitter *w, const struct operand *o, const struct making *m,
                      const char *number) {
    char row = o->axis == AXIS_M ? 'm' : 'n';
    long long runs = (long long)(o->depth / RUN);
    line(w, "const int chunk = i * %d + tid, made_row = chunk / %d, part = chunk %% %d;", GROUP,
         m->parts, m->parts);
    line(w, "const k_idx %c = k_clamp(%c0 + made_row, %lld);", row, row, (long long)o->rows - 1);
    line(w, "const k_idx at = %s * %d + part, run = k_clamp((int)at, %lld);", number, m->parts,
         runs - 1);
    line(w, "(void)%c, (void)run, (void)part, (void)at;", row);
}

/* A load before v that reads the same vector, as halves of bytes do; or v. */
static value_id same_vector(struct emitter *w, const bool *needed, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    struct run own, other;
    operand_run(w->k, x, RUN, &own);
    for (value_id u = 0; u < v; u++) {
        const struct value_node *y = &w->k->values.at[u];
        if (!needed[u] || !is_load(w, u) || !varies(w, u) || y->buffer != x->buffer) continue;
        operand_run(w->k, y, RUN, &other);
        bool guarded = (x->guarded && !varies(w, x->args[0])) ||
                       (y->guarded && !varies(w, y->args[0])) || x->n_args > x->guarded ||
                       y->n_args > y->guarded;
        if (!guarded && own.first == other.first && own.width == other.width) return u;
    }
    return v;
}

static void put_load(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    struct run r = {.width = 1};
    if (!varies(w, v)) {
        line(w, "l%u[i] = %s;", v, load_text(w, v));
        return;
    }
    bool known = operand_run(w->k, x, RUN, &r);
    WS_ASSERT(known);
    const char *type = memory_type(w, buffer_dtype(w, x->buffer));
    int n = vector_of(w, x, &r);
    bool guarded = x->guarded && !varies(w, x->args[0]);
    for (int j = 0; j < r.width / n; j++) {
        const char *load = arena_printf(w->arena, "k_load<%s, %d>(p%d + (%s) + %d)", type, n,
                                        argument_of(w, x->buffer), ex_text(w, r.first), j * n);
        if (guarded)
            load = arena_printf(w->arena, "%s ? %s : k_pack<%s, %d>{}", ref(w, x->args[0]), load,
                                type, n);
        line(w, "l%u[i][%d] = %s;", v, j, load);
    }
}

/* What does not depend on the depth is there for all of a run. */
static void put_of_row(struct emitter *w, value_id v) {
    const struct value_node *x = &w->k->values.at[v];
    if (!is_load(w, v)) {
        put_local(w, v);
        return;
    }
    line(w, "const %s v%u = l%u[i];", math_type(x->dtype), v, v);
    w->where[v] = LOCAL;
}

/* In scope from the role's beginning on: what is read a turn before it is made. */
void declare_runs(struct emitter *w, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    struct making m = operand_making(w->k, o, r->rows, r->depth);
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, o->factor, needed);
    struct run run;
    for (value_id v = 0; v <= o->factor; v++) {
        const struct value_node *x = &w->k->values.at[v];
        if (!needed[v] || !is_load(w, v)) continue;
        if (!varies(w, v)) {
            line(w, "%s l%u[%d];", math_type(x->dtype), v, m.rows);
            continue;
        }
        if (same_vector(w, needed, v) != v) continue;
        operand_run(w->k, x, RUN, &run);
        int n = vector_of(w, x, &run);
        line(w, "k_pack<%s, %d> l%u[%d][%d];", memory_type(w, buffer_dtype(w, x->buffer)), n, v,
             m.rows, run.width / n);
    }
}

/* What step number `ahead` is made of, where the condition holds. */
static void put_loads(struct emitter *w, const struct tile_ring *r, const char *condition,
                      const char *ahead) {
    const struct operand *o = r->operand;
    struct making m = operand_making(w->k, o, r->rows, r->depth);
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, o->factor, needed);
    open_brace(w, "if (%s)", condition);
    line(w, "const int ahead = %s;", ahead);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", m.rows);
    put_place(w, o, &m, "ahead");
    for (value_id v = 0; v <= o->factor; v++) {
        w->where[v] = NOWHERE;
        if (!needed[v]) continue;
        if (is_load(w, v) && (!varies(w, v) || same_vector(w, needed, v) == v)) put_load(w, v);
        if (!varies(w, v)) put_of_row(w, v);
    }
    close_brace(w);
    close_brace(w);
}

void put_take_runs(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    int makers = t->product->makers;
    put_loads(w, r, arena_printf(w->arena, "step < %d", makers), "number");
}

/* A byte that is cast to a float: see k_get_float. */
static bool is_float_of_byte(struct emitter *w, const struct value_node *x) {
    if (x->kind != INST_CAST || dtype_opmath(x->dtype) != DT_F32) return false;
    const struct value_node *of = &w->k->values.at[x->args[0]];
    return of->kind == INST_LOAD && of->mask & MASK_R && (of->dtype == DT_I8 || of->dtype == DT_U8);
}

/* Element e of the run. */
static void put_of_run(struct emitter *w, const bool *needed, value_id v, int e) {
    const struct value_node *x = &w->k->values.at[v];
    const char *type = math_type(x->dtype), *get = "k_get";
    bool cast = is_float_of_byte(w, x);
    value_id load = cast ? x->args[0] : v;
    if (cast) get = "k_get_float";
    if (x->kind == INST_INDEX) {
        line(w, "const %s v%u = (%s)(%s);", type, v, type,
             ex_text(w, operand_in_run(w->k, x->index, RUN, e)));
    } else if (is_load(w, load)) {
        struct run r;
        operand_run(w->k, &w->k->values.at[load], RUN, &r);
        int n = vector_of(w, &w->k->values.at[load], &r);
        if (r.at[e] < 0)
            line(w, "const %s v%u = 0;", type, v);
        else
            line(w, "const %s v%u = %s(l%u[i][%d], %d);", type, v, get,
                 same_vector(w, needed, load), r.at[e] / n, r.at[e] % n);
    } else {
        put_local(w, v);
        return;
    }
    w->where[v] = LOCAL;
}

void put_make_runs(struct emitter *w, const struct tile_program *t, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    struct making m = operand_making(w->k, o, r->rows, r->depth);
    bool *needed = NEW_ARRAY(w->arena, bool, w->k->values.n);
    mark_needed(w, o->factor, needed);
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", m.rows);
    put_place(w, o, &m, "number");
    for (value_id v = 0; v <= o->factor; v++) {
        w->where[v] = NOWHERE;
        if (needed[v] && !varies(w, v)) put_of_row(w, v);
    }
    line(w, "float x[%d];", RUN);
    for (int e = 0; e < RUN; e++) {
        open_scope(w);
        for (value_id v = 0; v <= o->factor; v++)
            if (needed[v] && varies(w, v)) put_of_run(w, needed, v, e);
        line(w, "x[%d] = (float)%s;", e, ref(w, o->factor));
        close_brace(w);
    }
    if (o->depth % r->depth) {
        line(w, "if (at >= %lld)", (long long)(o->depth / RUN));
        line(w, "    for (int e = 0; e < %d; e++) x[e] = 0;", RUN);
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int h = 0; h < %d; h++)", RUN / EACH);
    line(w, "float half[%d];", EACH);
    line(w, "for (int e = 0; e < %d; e++) half[e] = x[h * %d + e];", EACH, EACH);
    line(w, "k_pack<%s, %d> w;", memory_type(w, o->dtype), EACH);
    line(w, "k_put(w, half);");
    line(w, "k_put_piece(k_place<%d>(stage + %d, %d, made_row, part * %d + h), w, 0);", r->line,
         r->offset, r->rows, RUN / EACH);
    close_brace(w);
    close_brace(w);
    const char *next = arena_printf(w->arena, "(step + %d)", t->product->makers);
    put_loads(w, r, arena_printf(w->arena, "step + %d < steps", t->product->makers),
              depth_of_step(w, t, next, 1));
}

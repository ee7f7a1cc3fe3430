/* cuda_recurrence.c: all steps of a recurrence in one kernel, in CUDA C++ (kernel/recurrence.h).
 *
 *     what no step changes, and what is carried into the first, to registers
 *     what the first block of steps reads, to registers, as it lies in memory
 *     for each block of steps
 *         with ahead=1: what the next block reads, to registers of its own
 *         for each step
 *             else: what the next block's same step reads, where this one's was
 *             what is made of what it reads, and of what is carried; sums: of a thread's own
 *             elements, then lanes'
 *             stores; what is carried into the next one
 *
 * A block's steps are written out, that registers have names. With ahead=1 all of the next
 * block's loads are asked for before the block's first step, and waited for behind its last one;
 * else a step's register is loaded again when the step has read it. That takes half the
 * registers, but ptxas may move such loads to the block's end, where each block waits for
 * memory. A value that varies along r is an array a7, an element for each of the thread's own,
 * others are numbers v7, the same in all lanes of a point. Memory has the names m0, m1, ..; p0,
 * p1, .. what does not move in it; l7 is where the thread's next load for v7 begins, s0, s1, ..
 * where its stores go in the step at hand. */
#include <string.h>

#include "emit/impl.h"

struct recurrent_text {
    struct emitter *w;
    const struct recurrent *r;
    const struct recurrent_layout *y;
    bool *needed, *changes, *ahead; /* by value */
    bool ragged;                    /* some of a lane's own elements are none */
};

static const struct value_node *value_at(const struct recurrent_text *x, value_id v) {
    return &x->w->k->values.at[v];
}

static bool is_wide(const struct recurrent_text *x, value_id v) {
    return value_at(x, v)->mask & MASK_R;
}

static void find_values(struct recurrent_text *x) {
    const struct kernel *k = x->w->k;
    x->needed = recurrence_needed(k, x->w->arena);
    x->changes = NEW_ARRAY(x->w->arena, bool, k->values.n);
    x->ahead = NEW_ARRAY(x->w->arena, bool, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) {
        x->changes[v] = recurrence_changes(k, v);
        x->ahead[v] = recurrence_loads_ahead(k, v);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* For each of a thread's elements along r. */
static void open_own(struct recurrent_text *x) {
    line(x->w, "#pragma unroll");
    open_brace(x->w, "for (int j = 0; j < %d; j++)", x->y->own);
    if (x->ragged)
        line(x->w, "const k_idx r = r0 + j < nr ? r0 + j : nr - 1;");
    else
        line(x->w, "const k_idx r = r0 + j;");
    line(x->w, "(void)r;");
}

/* A value of text as a local, or as an array of one for each element; it may be written again if it
 * is carried. */
static void put_value(struct recurrent_text *x, value_id v,
                      const char *text(struct emitter *, value_id)) {
    struct emitter *w = x->w;
    bool carried = recurrence_carry(w->k, v) != NULL;
    const char *type = math_type(value_at(x, v)->dtype);
    if (!is_wide(x, v)) {
        line(w, "%s%s v%u = %s;", carried ? "" : "const ", type, v, text(w, v));
        w->where[v] = LOCAL;
        return;
    }
    line(w, "%s a%u[%d];", type, v, x->y->own);
    open_own(x);
    line(w, "a%u[j] = %s;", v, text(w, v));
    close_brace(w);
    w->where[v] = ARRAY;
}

static void put_sum(struct recurrent_text *x, value_id v) {
    struct emitter *w = x->w;
    const char *name = arena_printf(w->arena, "v%u", v);
    line(w, "%s v%u = %s;", accumulator_type(w, v), v, identity_text(w, v));
    open_own(x);
    line(w, "%sv%u = %s;", x->ragged ? "if (r0 + j < nr) " : "", v,
         combine_text(w, v, name, operand_text(w, v)));
    close_brace(w);
    if (x->y->lanes > 1)
        line(w, "v%u = k_reduce_lanes<%s, 1, %d>(v%u);", v,
             reduction_operator(value_at(x, v)->reduction), x->y->lanes, v);
    w->where[v] = LOCAL;
}

/* Those that steps change, or the others. */
static void put_values(struct recurrent_text *x, bool changes) {
    struct emitter *w = x->w;
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *n = value_at(x, v);
        if (!x->needed[v] || x->changes[v] != changes) continue;
        if (recurrence_carry(w->k, v) || (changes && x->ahead[v]) || n->kind == INST_CONST)
            continue;
        if (n->kind == INST_REDUCE)
            put_sum(x, v);
        else
            put_value(x, v, source_text);
    }
}

/* ---- what is carried ------------------------------------------------------------------------- */

static const char *start_text(struct emitter *w, value_id v) {
    const struct value_node *n = &w->k->values.at[v];
    const struct loops *l = w->k->schedule->loops;
    const struct loop_window *at = &l->buffers.at[n->buffer].window;
    return arena_printf(w->arena, "k_load1(m%d + (%s))", memory_of(w, at->start),
                        ex_text(w, n->index));
}

static const char *start_number(struct emitter *w, value_id v) {
    const struct value_node *n = &w->k->values.at[v];
    const struct inst *of = &w->k->schedule->loops->buffers.at[n->buffer].window.number;
    const struct value_node number = {
        .kind = INST_CONST, .dtype = n->dtype, .number = of->value, .whole = of->whole};
    return const_text(w, &number);
}

static void put_start(struct recurrent_text *x) {
    for (uint32_t i = 0; i < x->r->carries.n; i++) {
        value_id v = x->r->carries.at[i].load;
        const struct loop_window *at = &buffer_of(x->w, value_at(x, v)->buffer)->window;
        if (!x->needed[v]) continue;
        put_value(x, v, at->from_number ? start_number : start_text);
    }
}

/* All at once: one may become what another one was. */
static void put_carries(struct recurrent_text *x) {
    struct emitter *w = x->w;
    for (int now = 0; now < 2; now++)
        for (uint32_t i = 0; i < x->r->carries.n; i++) {
            const struct carry *c = &x->r->carries.at[i];
            if (!x->needed[c->load]) continue;
            const char *type = math_type(value_at(x, c->load)->dtype),
                       *each = is_wide(x, c->load) ? "[j]" : "",
                       *name = is_wide(x, c->load) ? "a" : "v";
            if (is_wide(x, c->load)) {
                if (!now) line(w, "%s n%u[%d];", type, c->load, x->y->own);
                open_own(x);
            }
            if (now)
                line(w, "%s%u%s = n%u%s;", name, c->load, each, c->load, each);
            else
                line(w, "%sn%u%s = (%s)%s;",
                     is_wide(x, c->load) ? "" : arena_printf(w->arena, "const %s ", type), c->load,
                     each, type, ref(w, c->next));
            if (is_wide(x, c->load)) close_brace(w);
        }
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Elements from one step to the next. */
static long long step_of(const struct buffer *b) { return b->window.each * b->window.way; }

static int vector_of(const struct recurrent_text *x, value_id v) {
    return recurrence_load_vector(x->w->k, x->y, v);
}

/* Vectors of a thread in a step. */
static int parts_of(const struct recurrent_text *x, value_id v) {
    return is_wide(x, v) ? x->y->own / vector_of(x, v) : 1;
}

/* How far apart a thread's elements lie; -1: it has none that count, or that is no number. */
static long long apart(const struct recurrent_text *x, const struct value_node *load) {
    bool looked_up = load->n_args > load->guarded;
    return x->ragged || looked_up ? -1 : index_stride(x->w->k, load->index, AXIS_R);
}

/* The index of the thread's first element, as text. */
static const char *first_index(struct emitter *w, ex index) {
    ex r = w->k->axis[AXIS_R], first;
    if (!r) return ex_text(w, index);
    first = ex_index(w->k->ex, "r0", w->k->bound[AXIS_R]);
    return ex_text(w, ex_subst(w->k->ex, index, &r, &first, 1));
}

/* Where a thread's elements lie: at its first one, or, where the others lie anywhere, at the
 * window's, with the place of each beside it. */
static void put_place(struct recurrent_text *x, value_id v) {
    struct emitter *w = x->w;
    const struct value_node *n = value_at(x, v);
    const struct buffer *b = buffer_of(x->w, n->buffer);
    const char *type = type_in_memory(x->w, n->buffer);
    const char *first = arena_printf(w->arena, "m%d + %lldLL", memory_of(x->w, b->window.of),
                                     (long long)(b->window.each * b->window.first));
    if (!is_wide(x, v) || apart(x, n) >= 0) {
        line(w, "const %s *l%u = %s + (%s);", type, v, first, first_index(w, n->index));
        return;
    }
    line(w, "const %s *l%u = %s;", type, v, first);
    line(w, "k_idx o%u[%d];", v, parts_of(x, v));
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", parts_of(x, v));
    int vec = vector_of(x, v);
    if (x->ragged)
        line(w, "const k_idx r = r0 + i * %d < nr ? r0 + i * %d : nr - %d;", vec, vec, vec);
    else
        line(w, "const k_idx r = r0 + i * %d;", vec);
    line(w, "o%u[i] = %s;", v, ex_text(w, n->index));
    close_brace(w);
}

/* Of the step that is loaded, which is not the one at hand. */
static const char *guard_text(struct recurrent_text *x, value_id guard) {
    struct emitter *w = x->w;
    struct exprs *p = w->k->ex;
    if (!recurrence_counts(w->k, guard)) return ref(w, guard);
    ex later = ex_index(p, "later", ex_const(p, x->r->n + x->y->block));
    return ex_text(w, ex_subst(p, value_at(x, guard)->index, &x->r->step, &later, 1));
}

/* For step u, `later` elements behind where l is, into registers `to`. */
static void put_load(struct recurrent_text *x, value_id v, char to, const char *later) {
    struct emitter *w = x->w;
    const struct value_node *n = value_at(x, v);
    const char *type = type_in_memory(x->w, n->buffer), *subscript = w->subscript, *when = "";
    int vec = vector_of(x, v);
    bool wide = is_wide(x, v);
    if (wide) {
        line(w, "#pragma unroll");
        open_brace(w, "for (int i = 0; i < %d; i++)", parts_of(x, v));
    }
    w->subscript = arena_printf(w->arena, "[i * %d]", vec);
    if (n->guarded) when = arena_printf(w->arena, "%s, ", guard_text(x, n->args[0]));
    w->subscript = subscript;
    line(w, "%c%u[u]%s = k_load%s<%s, %d>(%sl%u + (%s)%s);", to, v, wide ? "[i]" : "[0]",
         n->guarded ? "_if" : "", type, vec, when, v, later,
         !wide             ? ""
         : apart(x, n) < 0 ? arena_printf(w->arena, " + o%u[i]", v)
                           : arena_printf(w->arena, " + i * %lldLL", vec * apart(x, n)));
    if (wide) close_brace(w);
}

/* Those of a block of steps. */
static void put_registers(struct recurrent_text *x, value_id v, char name) {
    line(x->w, "k_pack<%s, %d> %c%u[%d][%d];", type_in_memory(x->w, value_at(x, v)->buffer),
         vector_of(x, v), name, v, x->y->block, parts_of(x, v));
}

/* What was loaded before the loop is there, before it begins: it goes through an operation that the
 * compiler cannot know to change nothing. Else the loop's first reader waited for it in each block,
 * and, as loads under way are counted together, for those that were just asked for. */
static void put_settled(struct recurrent_text *x, value_id v) {
    struct emitter *w = x->w;
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", parts_of(x, v));
    line(w, "#pragma unroll");
    line(w, "for (int e = 0; e < q%u[u][i].WORDS; e++) q%u[u][i].w[e] ^= blockIdx.y; /* 0 */", v,
         v);
    close_brace(w);
}

static void put_first_loads(struct recurrent_text *x) {
    struct emitter *w = x->w;
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!x->needed[v] || !x->ahead[v]) continue;
        put_place(x, v);
        put_registers(x, v, 'q');
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", x->y->block);
    line(w, "const int later = u;");
    line(w, "(void)later;");
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v])
            put_load(x, v, 'q',
                     arena_printf(w->arena, "u * %lldLL",
                                  step_of(buffer_of(x->w, value_at(x, v)->buffer))));
    close_brace(w);
    if (!x->y->doubles) return;
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", x->y->block);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v]) put_settled(x, v);
    close_brace(w);
}

static const char *loaded_text(struct emitter *w, value_id v) {
    const struct value_node *n = &w->k->values.at[v];
    int vec = recurrence_load_vector(w->k, w->y->recurrent, v);
    if (!(n->mask & MASK_R)) return arena_printf(w->arena, "k_get(q%u[u][0], 0)", v);
    return arena_printf(w->arena, "k_get(q%u[u][j / %d], j %% %d)", v, vec, vec);
}

/* Of the step `at` behind the block's first one, into registers `to`. */
static void put_next_loads(struct recurrent_text *x, char to) {
    struct emitter *w = x->w;
    line(w, "const int later = t0 + at;");
    line(w, "(void)later;");
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v])
            put_load(x, v, to,
                     arena_printf(w->arena, "at * %lldLL",
                                  step_of(buffer_of(x->w, value_at(x, v)->buffer))));
}

/* All of a block, at steps that this text says. */
static void put_block_loads(struct recurrent_text *x, const char *at) {
    struct emitter *w = x->w;
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", x->y->block);
    line(w, "const int at = %s;", at);
    put_next_loads(x, 'w');
    close_brace(w);
}

/* What the next block reads. Where that is the last one, and no whole one, its last step stands for
 * those that are missing: branches in between would cost moves. */
static void put_ahead(struct recurrent_text *x) {
    struct emitter *w = x->w;
    int block = x->y->block;
    long long n = x->r->n;
    if (!x->y->doubles) return;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v]) put_registers(x, v, 'w');
    open_brace(w, "if (t0 + %d <= %lld)", 2 * block, n);
    put_block_loads(x, arena_printf(w->arena, "u + %d", block));
    close_brace(w);
    if (n % block == 0) return;
    open_brace(w, "else if (t0 + %d < %lld)", block, n);
    put_block_loads(x, arena_printf(w->arena, "t0 + u + %d < %lld ? u + %d : (int)%lld - t0", block,
                                    n, block, n - 1));
    close_brace(w);
}

static void put_arrived(struct recurrent_text *x) {
    struct emitter *w = x->w;
    if (!x->y->doubles) return;
    open_brace(w, "if (t0 + %d < %lld)", x->y->block, (long long)x->r->n);
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %d; u++)", x->y->block);
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v])
            line(w, "for (int i = 0; i < %d; i++) q%u[u][i] = w%u[u][i];", parts_of(x, v), v, v);
    close_brace(w);
    close_brace(w);
}

/* What step u reads; and where no block is under way, that of the step which takes its place. */
static void put_loads(struct recurrent_text *x) {
    struct emitter *w = x->w;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v]) put_value(x, v, loaded_text);
    if (x->y->doubles) return;
    const char *t = x->r->n % x->y->block ? "t" : "t0"; /* of all steps that are written out */
    open_brace(w, "if (%s + %d < %lld)", t, x->y->block, (long long)x->r->n);
    line(w, "const int at = u + %d;", x->y->block);
    put_next_loads(x, 'q');
    close_brace(w);
}

/* Loads whose place the step itself says go by windows as they are. */
static bool loads_late(const struct recurrent_text *x, buffer_id b) {
    bool any = false;
    for (value_id v = 0; v < x->w->k->values.n; v++)
        any |= x->needed[v] && value_at(x, v)->kind == INST_LOAD && value_at(x, v)->buffer == b &&
               !x->ahead[v] && !recurrence_carry(x->w->k, v);
    return any;
}

static void put_late_windows(struct recurrent_text *x) {
    for (uint32_t i = 0; i < x->w->k->buffers.n; i++) {
        const struct buffer *b = buffer_of(x->w, x->w->k->buffers.at[i]);
        if (b->kind == BUFFER_WINDOW && loads_late(x, x->w->k->buffers.at[i]))
            line(x->w, "const %s *const p%u = m%d + (%lldLL + %lldLL * t);",
                 type_in_memory(x->w, x->w->k->buffers.at[i]), i, memory_of(x->w, b->window.of),
                 (long long)(b->window.first * b->window.each), step_of(b));
    }
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* How far apart a thread's elements of a store lie; -1: that is no number. */
static long long stores_apart(const struct recurrent_text *x, const struct store_node *s) {
    return s->mask & MASK_R ? index_stride(x->w->k, s->index, AXIS_R) : 0;
}

/* Of the first step, or of the last one, which alone is wanted. */
static void put_store_place(struct recurrent_text *x, uint32_t i) {
    const struct store_node *s = &x->w->k->stores.at[i];
    const struct loop_window *at = &buffer_of(x->w, s->buffer)->window;
    int64_t first = at->first;
    if (x->r->last[i]) first = (at->first + at->way * (x->r->n - 1)) % at->ring;
    line(x->w, "%s *s%u = m%d + %lldLL%s;", type_in_memory(x->w, s->buffer), i,
         memory_of(x->w, at->of), (long long)(first * at->each),
         stores_apart(x, s) < 0
             ? ""
             : arena_printf(x->w->arena, " + (%s)", first_index(x->w, s->index)));
}

static void put_store(struct recurrent_text *x, uint32_t i) {
    struct emitter *w = x->w;
    const struct store_node *s = &w->k->stores.at[i];
    const char *type = type_in_memory(x->w, s->buffer),
               *math = math_type(buffer_of(x->w, s->buffer)->meta.dtype);
    const char *at =
        arena_printf(w->arena, "s%u + u * %lldLL", i,
                     (long long)(x->r->last[i] ? 0 : step_of(buffer_of(x->w, s->buffer))));
    int vec = recurrence_store_vector(w->k, x->y, s);
    bool wide = s->mask & MASK_R;
    open_brace(w, "if (live%s%s%s)", wide || x->y->lanes == 1 ? "" : " && lane == 0",
               s->guard ? arena_printf(w->arena, " && %s", ex_text(w, s->guard)) : "",
               x->r->last[i] ? arena_printf(w->arena, " && t == %lld", (long long)x->r->n - 1)
                             : "");
    if (!wide) {
        line(w, "k_store1(%s, (%s)%s);", at, math, ref(w, s->value));
        close_brace(w);
        return;
    }
    line(w, "#pragma unroll");
    open_brace(w, "for (int i = 0; i < %d; i++)", x->y->own / vec);
    line(w, "const k_idx r = r0 + i * %d;", vec);
    line(w, "(void)r;");
    if (x->ragged) line(w, "if (r >= nr) break;");
    line(w, "%s o[%d];", math, vec);
    line(w, "k_pack<%s, %d> w;", type, vec);
    line(w, "#pragma unroll");
    w->subscript = arena_printf(w->arena, "[i * %d + e]", vec);
    line(w, "for (int e = 0; e < %d; e++) o[e] = (%s)%s;", vec, math, ref(w, s->value));
    w->subscript = "[j]";
    line(w, "k_put(w, o);");
    line(w, "k_store<%s, %d, 0>(%s + (%s), w);", type, vec, at,
         stores_apart(x, s) < 0 ? ex_text(w, s->index)
                                : arena_printf(w->arena, "i * %lldLL", vec * stores_apart(x, s)));
    close_brace(w);
    close_brace(w);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static void put_moves(struct recurrent_text *x) {
    struct emitter *w = x->w;
    long long ahead = x->y->block;
    for (value_id v = 0; v < w->k->values.n; v++)
        if (x->needed[v] && x->ahead[v])
            line(w, "l%u += %lldLL;", v, ahead * step_of(buffer_of(x->w, value_at(x, v)->buffer)));
    for (uint32_t i = 0; i < w->k->stores.n; i++)
        if (!x->r->last[i])
            line(w, "s%u += %lldLL;", i,
                 ahead * step_of(buffer_of(x->w, w->k->stores.at[i].buffer)));
}

static void put_steps(struct recurrent_text *x) {
    struct emitter *w = x->w;
    long long n = x->r->n, ahead = x->y->block;
    line(w, "#pragma unroll 1");
    open_brace(w, "for (int t0 = 0; t0 < %lld; t0 += %lld)", n, ahead);
    put_ahead(x);
    line(w, "#pragma unroll");
    open_brace(w, "for (int u = 0; u < %lld; u++)", ahead);
    line(w, "const int t = t0 + u;");
    line(w, "(void)t;");
    if (n % ahead) line(w, "if (t >= %lld) break;", n);
    put_loads(x);
    put_late_windows(x);
    put_values(x, true);
    for (uint32_t i = 0; i < w->k->stores.n; i++) put_store(x, i);
    put_carries(x);
    close_brace(w);
    put_arrived(x);
    put_moves(x);
    close_brace(w);
}

void emit_cuda_recurrence(struct emitter *w) {
    const struct kernel *k = w->k;
    struct recurrent_text x = {.w = w, .r = k->recurrent, .y = w->y->recurrent};
    x.ragged = (int64_t)x.y->lanes * x.y->own != kernel_size(k, AXIS_R);
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l =
        (struct ws_launch){.entry = k->entry, .grid = {w->p->grid, 1, 1}, .threads = w->y->threads};
    find_values(&x);
    buf_printf(&w->b, "\nextern \"C\" __global__ void __launch_bounds__(%d) %s(", w->y->threads,
               k->entry);
    w->memory = persistent_memory(k, w->arena);
    put_step_memory(w, l);
    buf_puts(&w->b, ") {\n");
    w->indent++;
    w->subscript = "[j]";
    line(w, "k_enter();");
    line(w, "const k_idx nx = %lld, nr = %lld;", (long long)kernel_size(k, AXIS_X),
         (long long)kernel_size(k, AXIS_R));
    line(w, "const int lane = (int)threadIdx.x %% %d;", x.y->lanes);
    line(w, "const k_idx x_all = (k_idx)blockIdx.x * %d + (int)threadIdx.x / %d;",
         w->y->threads / x.y->lanes, x.y->lanes);
    line(w, "const bool live = x_all < nx;");
    line(w, "const k_idx x = live ? x_all : nx - 1, r0 = lane * %d;", x.y->own);
    line(w, "(void)nr; (void)r0;");
    put_unmoved_memory(w);
    put_values(&x, false);
    put_start(&x);
    put_first_loads(&x);
    for (uint32_t i = 0; i < k->stores.n; i++) put_store_place(&x, i);
    put_steps(&x);
    close_brace(w);
}

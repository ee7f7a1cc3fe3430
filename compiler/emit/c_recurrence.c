/* c_recurrence.c: all steps of a recurrence in one function, in C (kernel/recurrence.h).
 *
 *     for tasks, shared by threads: L neighbouring points, with all of their r
 *         what no step changes, and what is carried into the first, to arrays a7[r][L]
 *         for (t < steps)
 *             windows p4 of the step
 *             for (l < L)                   what points have, until something waits for a sum
 *             for (j < r) for (l < L)       what their elements have; sums, a9[l] += ..
 *             for (l < L) ..                and again, behind these sums
 *
 * l is a vector's lanes. Such a round of loops takes all of a step's values that wait for as many
 * sums before them, a loop those that vary along the same axes; what another loop reads of one is
 * an array of its own, the rest are locals. What is carried on takes its place at once where no
 * loop behind reads what was there, or when all of them are through. */
#include <limits.h>
#include <string.h>

#include "emit/c_rows.h"

struct c_recurrence {
    struct emitter *w;
    const struct recurrent *r;
    bool *needed, *changes; /* by value */
    uint8_t *mask;          /* by value: axes along which a task's differ */
    int *round;             /* by value: sums before it, one behind the other */
    bool *kept;             /* by value: in an array (a number, where it varies along nothing) */
    uint8_t *at_once;       /* by carry: is it put when it is made? */
    int rounds;
    bool steps; /* the text at hand is of a step */
};

static const struct value_node *value_at(const struct c_recurrence *x, value_id v) {
    return &x->w->k->values.at[v];
}

static bool is_carry(const struct c_recurrence *x, value_id v) {
    return recurrence_carry(x->w->k, v) != NULL;
}

/* Made by a loop, rather than carried or written out. */
static bool is_made(const struct c_recurrence *x, value_id v) {
    return x->needed[v] && value_at(x, v)->kind != INST_CONST && !is_carry(x, v);
}

/* The axes of the loop that makes v: a sum's has its operands'. */
static uint8_t axes_of(const struct c_recurrence *x, value_id v) {
    const struct value_node *n = value_at(x, v);
    if (n->kind != INST_REDUCE) return x->mask[v];
    return (x->mask[n->args[0]] & MASK_X) | MASK_R;
}

static bool is_same(const struct c_recurrence *x, value_id v) {
    return value_is_uniform(x->w->k, v, AXIS_X, x->w->y->recurrent->points);
}

/* Points of one row, say, have one gate: that is no vector. So is what is carried if it is the same
 * in each step, and what stands on none that is not. */
static uint8_t find_mask(const struct c_recurrence *x, value_id v) {
    const struct carry *c = recurrence_carry(x->w->k, v);
    uint8_t mask = value_at(x, v)->mask & (MASK_X | MASK_R);
    bool same = is_same(x, v) && (!c || is_same(x, c->next));
    for (int a = 0; a < value_at(x, v)->n_args && !c; a++)
        same &= !(x->mask[value_at(x, v)->args[a]] & MASK_X);
    return same ? mask & MASK_R : mask;
}

/* ---- which loop ------------------------------------------------------------------------------ */

/* A loop of a round, by its place in a step: of nothing, of r, of x, of both. */
static int loop_number(int round, uint8_t axes) {
    int of = (axes & MASK_X ? 2 : 0) + (axes & MASK_R ? 1 : 0);
    return 4 * round + of;
}

static int made_in(const struct c_recurrence *x, value_id v) {
    return loop_number(x->round[v], axes_of(x, v));
}

static int store_loop(const struct c_recurrence *x, uint32_t i) {
    const struct store_node *s = &x->w->k->stores.at[i];
    bool waits = x->changes[s->value] && !is_carry(x, s->value);
    int round = waits ? x->round[s->value] : 0;
    if (waits && value_at(x, s->value)->kind == INST_REDUCE) round++;
    return loop_number(round, (s->mask & (MASK_X | MASK_R)) | x->mask[s->value]);
}

/* Is there a loop that reads v, of a step's behind `after`, or one other than that which makes it?
 */
static bool read_elsewhere(const struct c_recurrence *x, value_id v, int after, bool other) {
    const struct kernel *k = x->w->k;
    for (value_id u = 0; u < k->values.n; u++)
        for (int a = 0; a < value_at(x, u)->n_args && is_made(x, u); a++) {
            if (value_at(x, u)->args[a] != v) continue;
            if (x->changes[u] != x->changes[v]) return true;
            if (other ? made_in(x, u) != made_in(x, v) : made_in(x, u) > after) return true;
        }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        if (k->stores.at[i].value != v) continue;
        if (x->r->last[i] || !x->changes[v]) return true;
        if (other ? store_loop(x, i) != made_in(x, v) : store_loop(x, i) > after) return true;
    }
    return false;
}

static bool is_next(const struct c_recurrence *x, value_id v) {
    for (uint32_t i = 0; i < x->r->carries.n; i++)
        if (x->r->carries.at[i].next == v && x->needed[x->r->carries.at[i].load]) return true;
    return false;
}

/* May its place be taken where the next one is made? */
static bool goes_at_once(const struct c_recurrence *x, const struct carry *c) {
    const struct value_node *n = value_at(x, c->next);
    return is_made(x, c->next) && x->changes[c->next] && n->kind != INST_REDUCE &&
           x->mask[c->next] == x->mask[c->load] && !is_next(x, c->load) &&
           !read_elsewhere(x, c->load, made_in(x, c->next), false);
}

/* As late as what reads it has it: else it would be kept for that in an array. Sums stay, and what
 * another loop of the steps, or the next step, has it from. */
static void put_off(struct c_recurrence *x) {
    const struct kernel *k = x->w->k;
    for (value_id v = k->values.n; v-- > 0;) {
        int least = INT_MAX;
        if (!is_made(x, v) || value_at(x, v)->kind == INST_REDUCE || is_next(x, v)) continue;
        bool carried = false; /* its place may be taken */
        for (int a = 0; a < value_at(x, v)->n_args; a++)
            carried |= is_carry(x, value_at(x, v)->args[a]);
        for (value_id u = v + 1; u < k->values.n && !carried; u++)
            for (int a = 0; a < value_at(x, u)->n_args && is_made(x, u); a++)
                if (value_at(x, u)->args[a] == v && x->changes[u] == x->changes[v])
                    least = x->round[u] < least ? x->round[u] : least;
        for (uint32_t i = 0; i < k->stores.n; i++)
            if (k->stores.at[i].value == v) least = x->round[v];
        if (least != INT_MAX && least > x->round[v]) x->round[v] = least;
    }
}

static void find_loops(struct c_recurrence *x) {
    const struct kernel *k = x->w->k;
    struct arena *a = x->w->arena;
    x->needed = recurrence_needed(k, a);
    x->changes = NEW_ARRAY(a, bool, k->values.n);
    x->kept = NEW_ARRAY(a, bool, k->values.n);
    x->mask = NEW_ARRAY(a, uint8_t, k->values.n);
    for (value_id v = 0; v < k->values.n; v++) x->mask[v] = find_mask(x, v);
    x->round = NEW_ARRAY(a, int, k->values.n);
    x->at_once = NEW_ARRAY(a, uint8_t, x->r->carries.n);
    for (value_id v = 0; v < k->values.n; v++) {
        x->changes[v] = recurrence_changes(k, v);
        for (int i = 0; i < value_at(x, v)->n_args && !is_carry(x, v); i++) {
            value_id u = value_at(x, v)->args[i];
            bool waits = value_at(x, u)->kind == INST_REDUCE && x->changes[u] == x->changes[v];
            int behind = x->changes[u] == x->changes[v] ? x->round[u] + waits : 0;
            if (behind > x->round[v]) x->round[v] = behind;
        }
        if (x->needed[v] && x->round[v] + 2 > x->rounds) x->rounds = x->round[v] + 2;
    }
    put_off(x);
    for (uint32_t i = 0; i < x->r->carries.n; i++) {
        const struct carry *c = &x->r->carries.at[i];
        x->at_once[i] = x->needed[c->load] && goes_at_once(x, c);
    }
    for (value_id v = 0; v < k->values.n; v++) {
        bool sum = value_at(x, v)->kind == INST_REDUCE;
        x->kept[v] = is_made(x, v) && (sum || read_elsewhere(x, v, 0, true));
    }
    for (uint32_t i = 0; i < x->r->carries.n; i++)
        if (x->needed[x->r->carries.at[i].load] && !x->at_once[i] &&
            is_made(x, x->r->carries.at[i].next))
            x->kept[x->r->carries.at[i].next] = true;
}

/* ---- loops ----------------------------------------------------------------------------------- */

static const char *subscript_of(uint8_t mask) {
    return mask & MASK_X ? (mask & MASK_R ? "[j][l]" : "[l]") : mask & MASK_R ? "[j]" : "";
}

/* What is kept of v, at the loop's place: one more name in front tells which. */
static const char *kept_text(const struct c_recurrence *x, const char *prefix, value_id v) {
    return arena_printf(x->w->arena, "%s%u%s", prefix, v, subscript_of(x->mask[v]));
}

static void declare(struct c_recurrence *x, const char *prefix, value_id v, const char *type) {
    struct emitter *w = x->w;
    uint8_t mask = x->mask[v];
    const char *r =
        mask & MASK_R ? arena_printf(w->arena, "[%lld]", (long long)kernel_size(w->k, AXIS_R)) : "";
    const char *l = mask & MASK_X ? arena_printf(w->arena, "[%d]", w->y->recurrent->points) : "";
    line(w, "%s %s%u%s%s%s;", type, prefix, v, r, l, mask ? " __attribute__((aligned(64)))" : "");
}

static void open_loop(struct c_recurrence *x, uint8_t axes) {
    struct emitter *w = x->w;
    if (axes & MASK_R) {
        open_brace(w, "for (int j = 0; j < (int)nr; j++)");
        line(w, "const k_idx r = j;");
        line(w, "(void)r;");
    }
    if (axes & MASK_X) {
        line(w, "#pragma omp simd");
        open_brace(w, "for (int l = 0; l < lanes; l++)");
        line(w, "const k_idx x = x0 + l;");
        line(w, "(void)x;");
    }
    if (!axes) open_scope(w);
    if (axes & MASK_X) return;
    line(w, "const k_idx x = x0;");
    line(w, "(void)x;");
}

static void close_loop(struct c_recurrence *x, uint8_t axes) {
    if (axes & MASK_R) close_brace(x->w);
    if (axes & MASK_X) close_brace(x->w);
    if (!axes) close_brace(x->w);
}

/* v as a local of the loop at hand, if it is in an array. */
static void take(struct c_recurrence *x, value_id v) {
    struct emitter *w = x->w;
    if (w->where[v] == LOCAL || value_at(x, v)->kind == INST_CONST) return;
    line(w, "const %s v%u = %s;", math_type(value_at(x, v)->dtype), v, kept_text(x, "a", v));
    w->where[v] = LOCAL;
}

static void take_operands(struct c_recurrence *x, value_id v) {
    for (int a = 0; a < value_at(x, v)->n_args; a++) take(x, value_at(x, v)->args[a]);
}

/* Another loop begins: there are no locals. */
static void forget(struct c_recurrence *x) {
    memset(x->w->where, NOWHERE, x->w->k->values.n * sizeof *x->w->where);
}

static void put_sum_element(struct c_recurrence *x, value_id v) {
    const char *to = kept_text(x, "a", v);
    line(x->w, "%s = %s;", to, combine_text(x->w, v, to, operand_text(x->w, v)));
}

static void begin_sum(struct c_recurrence *x, value_id v) {
    bool lanes = x->mask[v] & MASK_X;
    if (lanes) open_brace(x->w, "for (int l = 0; l < lanes; l++)");
    line(x->w, "%s = %s;", kept_text(x, "a", v), identity_text(x->w, v));
    if (lanes) close_brace(x->w);
}

/* Values of the loop. */
static bool put_values(struct c_recurrence *x, int loop, uint8_t axes) {
    struct emitter *w = x->w;
    bool any = false;
    for (value_id v = 0; v < w->k->values.n; v++) {
        if (!is_made(x, v) || x->changes[v] != x->steps || made_in(x, v) != loop) continue;
        if (!any) open_loop(x, axes);
        any = true;
        take_operands(x, v);
        if (value_at(x, v)->kind == INST_REDUCE) {
            put_sum_element(x, v);
            continue;
        }
        put_local(w, v);
        if (x->kept[v]) line(w, "%s = v%u;", kept_text(x, "a", v), v);
    }
    return any;
}

/* And what the loop stores, and carries on. */
static void put_loop(struct c_recurrence *x, int round, uint8_t axes) {
    struct emitter *w = x->w;
    const struct kernel *k = w->k;
    int loop = loop_number(round, axes);
    forget(x);
    for (value_id v = 0; v < k->values.n; v++)
        if (is_made(x, v) && x->changes[v] == x->steps && made_in(x, v) == loop &&
            value_at(x, v)->kind == INST_REDUCE)
            begin_sum(x, v);
    bool any = put_values(x, loop, axes);
    for (uint32_t i = 0; i < k->stores.n && x->steps; i++) {
        if (x->r->last[i] || store_loop(x, i) != loop) continue;
        if (!any) open_loop(x, axes);
        any = true;
        take(x, k->stores.at[i].value);
        put_store1(w, &k->stores.at[i], "");
    }
    for (uint32_t i = 0; i < x->r->carries.n && x->steps; i++) {
        const struct carry *c = &x->r->carries.at[i];
        if (!x->at_once[i] || made_in(x, c->next) != loop) continue;
        line(w, "%s = (%s)v%u;", kept_text(x, "a", c->load), math_type(value_at(x, c->load)->dtype),
             c->next);
    }
    if (any) close_loop(x, axes);
}

static void put_loops(struct c_recurrence *x, bool steps) {
    static const uint8_t order[] = {0, MASK_R, MASK_X, MASK_X | MASK_R};
    x->steps = steps;
    for (int round = 0; round < x->rounds; round++)
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) put_loop(x, round, order[i]);
}

/* What is left: stores of the last step alone, and what is carried on and was read till the end:
 * first beside what it replaces, as one may become what another one was. */
static void put_rest(struct c_recurrence *x) {
    struct emitter *w = x->w;
    for (uint32_t i = 0; i < w->k->stores.n; i++) {
        const struct store_node *s = &w->k->stores.at[i];
        uint8_t axes = (s->mask & (MASK_X | MASK_R)) | x->mask[s->value];
        if (!x->r->last[i]) continue;
        open_brace(w, "if (t == %lld)", (long long)x->r->n - 1);
        forget(x);
        open_loop(x, axes);
        take(x, s->value);
        put_store1(w, s, "");
        close_loop(x, axes);
        close_brace(w);
    }
    for (int now = 0; now < 2; now++)
        for (uint32_t i = 0; i < x->r->carries.n; i++) {
            const struct carry *c = &x->r->carries.at[i];
            if (!x->needed[c->load] || x->at_once[i]) continue;
            const char *type = math_type(value_at(x, c->load)->dtype);
            if (!now) declare(x, "n", c->load, type);
            forget(x);
            open_loop(x, x->mask[c->load]);
            if (now) {
                line(w, "%s = %s;", kept_text(x, "a", c->load), kept_text(x, "n", c->load));
            } else {
                take(x, c->next);
                line(w, "%s = (%s)%s;", kept_text(x, "n", c->load), type, ref(w, c->next));
            }
            close_loop(x, x->mask[c->load]);
        }
}

/* ---- where things lie ------------------------------------------------------------------------ */

/* An index at lane l and element j, of which the beginning is declared; NULL where it does not grow
 * evenly along both. */
static const char *put_place(struct c_recurrence *x, ex index, const char *name) {
    struct emitter *w = x->w;
    struct exprs *p = w->k->ex;
    ex first = index, axis[2] = {w->k->axis[AXIS_X], w->k->axis[AXIS_R]};
    int64_t by[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        if (axis[i] && ex_uses(p, index, axis[i]))
            by[i] = i ? index_stride(w->k, index, AXIS_R)
                      : index_stride_inside(w->k, index, AXIS_X, w->y->recurrent->points);
    if (by[0] < 0 || by[1] < 0) return NULL;
    if (axis[0]) {
        ex begin = ex_index(p, "x0", w->k->bound[AXIS_X]);
        first = ex_subst(p, first, &axis[0], &begin, 1);
    }
    if (axis[1]) {
        ex zero = ex_const(p, 0);
        first = ex_subst(p, first, &axis[1], &zero, 1);
    }
    line(w, "const long long %s = %s;", name, ex_text(w, first));
    const char *l = by[0] == 0   ? ""
                    : by[0] == 1 ? " + l"
                                 : arena_printf(w->arena, " + l * %lldLL", (long long)by[0]);
    const char *j = by[1] == 0   ? ""
                    : by[1] == 1 ? " + j"
                                 : arena_printf(w->arena, " + j * %lldLL", (long long)by[1]);
    return arena_printf(w->arena, "%s%s%s", name, j, l);
}

static void put_places(struct c_recurrence *x) {
    struct emitter *w = x->w;
    w->load_at = NEW_ARRAY(w->arena, const char *, w->k->values.n);
    w->store_at = NEW_ARRAY(w->arena, const char *, w->k->stores.n + 1);
    for (value_id v = 0; v < w->k->values.n; v++) {
        const struct value_node *n = value_at(x, v);
        if (x->needed[v] && n->kind == INST_LOAD && n->n_args == n->guarded)
            w->load_at[v] = put_place(x, n->index, arena_printf(w->arena, "at%u", v));
    }
    for (uint32_t i = 0; i < w->k->stores.n; i++)
        w->store_at[i] = put_place(x, w->k->stores.at[i].index, arena_printf(w->arena, "to%u", i));
}

static bool is_stored(const struct c_recurrence *x, buffer_id b) {
    for (uint32_t i = 0; i < x->w->k->stores.n; i++)
        if (x->w->k->stores.at[i].buffer == b) return true;
    return false;
}

/* Of a step. */
static void put_windows(struct c_recurrence *x) {
    struct emitter *w = x->w;
    for (uint32_t i = 0; i < w->k->buffers.n; i++) {
        buffer_id b = w->k->buffers.at[i];
        const struct loop_window *of = &buffer_of(w, b)->window;
        if (buffer_of(w, b)->kind != BUFFER_WINDOW || of->carried) continue;
        const char *t =
            arena_printf(w->arena, "%lld + %lldLL * t", (long long)of->first, (long long)of->way);
        if (of->ring) t = arena_printf(w->arena, "(%s) %% %lld", t, (long long)of->ring);
        line(w, "%s%s *const p%u = m%d + (%s) * %lldLL;", is_stored(x, b) ? "" : "const ",
             type_in_memory(w, b), i, memory_of(w, of->of), t, (long long)of->each);
        line(w, "(void)p%u;", i);
    }
}

/* ---- what is carried into the first step ----------------------------------------------------- */

static const char *start_text(struct c_recurrence *x, value_id v) {
    struct emitter *w = x->w;
    const struct value_node *n = value_at(x, v);
    const struct loop_window *of = &buffer_of(w, n->buffer)->window;
    if (of->from_number) {
        const struct value_node number = {.kind = INST_CONST,
                                          .dtype = n->dtype,
                                          .number = of->number.value,
                                          .whole = of->number.whole};
        return const_text(w, &number);
    }
    const char *at = w->load_at[v] ? w->load_at[v] : ex_text(w, n->index);
    return arena_printf(w->arena, "k_from_%s(m%d[%s])", dtype_name(buffer_dtype(w, n->buffer)),
                        memory_of(w, of->start), at);
}

static void put_start(struct c_recurrence *x) {
    for (uint32_t i = 0; i < x->r->carries.n; i++) {
        value_id v = x->r->carries.at[i].load;
        if (!x->needed[v]) continue;
        declare(x, "a", v, math_type(value_at(x, v)->dtype));
        open_loop(x, x->mask[v]);
        line(x->w, "%s = %s;", kept_text(x, "a", v), start_text(x, v));
        close_loop(x, x->mask[v]);
    }
}

static void put_kept(struct c_recurrence *x, bool changes) {
    for (value_id v = 0; v < x->w->k->values.n; v++) {
        if (!x->kept[v] || x->changes[v] != changes) continue;
        bool sum = value_at(x, v)->kind == INST_REDUCE;
        declare(x, "a", v, sum ? accumulator_type(x->w, v) : math_type(value_at(x, v)->dtype));
    }
}

/* ---- the function ---------------------------------------------------------------------------- */

void emit_c_recurrence(struct emitter *w) {
    const struct kernel *k = w->k;
    const struct recurrent_layout *y = w->y->recurrent;
    struct c_recurrence x = {.w = w, .r = k->recurrent};
    struct ws_launch *l = &w->out->launches[w->out->n_launches++];
    *l = (struct ws_launch){.entry = k->entry, .grid = {1, 1, 1}, .threads = 1};
    w->memory = persistent_memory(k, w->arena);
    find_loops(&x);
    buf_putc(&w->b, '\n');
    line(w, "void %s(void *const *args);", k->entry);
    open_brace(w, "void %s(void *const *args)", k->entry);
    put_step_memory(w, l);
    put_unmoved_memory(w);
    int64_t nx = kernel_size(k, AXIS_X), nr = kernel_size(k, AXIS_R);
    line(w, "const k_idx nx = %lld, nr = %lld;", (long long)nx, (long long)nr);
    line(w, "(void)nx, (void)nr;");
    put_team(w, "for schedule(static) ",
             arena_printf(w->arena, "%lldLL", (long long)(nx * nr * x.r->n)));
    open_brace(w, "for (k_idx x0 = 0; x0 < nx; x0 += %d)", y->points);
    if (nx % y->points)
        line(w, "const int lanes = nx - x0 < %d ? (int)(nx - x0) : %d;", y->points, y->points);
    else
        line(w, "const int lanes = %d;", y->points);
    line(w, "(void)lanes;");
    put_places(&x);
    put_kept(&x, false);
    put_loops(&x, false);
    put_start(&x);
    open_brace(w, "for (int t = 0; t < %lld; t++)", (long long)x.r->n);
    put_windows(&x);
    put_kept(&x, true);
    put_loops(&x, true);
    put_rest(&x);
    close_brace(w);
    close_brace(w);
    close_brace(w);
}

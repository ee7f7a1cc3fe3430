/* print.c: kernel bodies and block programs as text. The printed body (names of sizes, buffers as
 * arguments) is also what the kernel's hash is made of, so it holds everything that emitted code
 * depends on but the config. */
#include "kernel/kernel.h"

static int argument(const struct kernel *k, buffer_id b) {
    for (uint32_t i = 0; i < k->buffers.n; i++)
        if (k->buffers.at[i] == b) return (int)i;
    WS_BUG("buffer is not an argument");
}

static void put_axes(struct buf *b, uint8_t mask) {
    static const char names[] = "xrzmnc";
    for (int a = 0; a < AXIS_COUNT; a++)
        if (mask >> a & 1) buf_putc(b, names[a]);
}

static void put_mask(struct buf *b, uint8_t mask) {
    buf_puts(b, " {");
    put_axes(b, mask);
    buf_putc(b, '}');
}

/* Along r goes without saying. */
static void put_over(struct buf *b, uint8_t over) {
    if (over == MASK_R) return;
    buf_puts(b, " over ");
    put_axes(b, over);
}

static const char *symbol_name(const struct kernel *k, value_id id) {
    for (uint32_t i = 0; i < k->subscripts.n; i++)
        if (k->subscripts.at[i].value == id)
            return ex_symbol(k->ex, k->subscripts.at[i].symbol)->name;
    WS_BUG("v%u has no symbol", id);
}

static void put_value(struct buf *b, const struct kernel *k, value_id id) {
    const struct value_node *v = &k->values.at[id];
    buf_printf(b, "v%u = ", id);
    switch (v->kind) {
    case INST_CONST:
        if (dtype_is_int(v->dtype))
            buf_printf(b, "const %lld", (long long)v->whole);
        else
            buf_printf(b, "const %.17g", v->number);
        break;
    case INST_INDEX:
        buf_puts(b, "index ");
        ex_print(b, k->ex, v->index);
        break;
    case INST_LOAD:
        buf_printf(b, "load p%d[", argument(k, v->buffer));
        ex_print(b, k->ex, v->index);
        buf_putc(b, ']');
        if (v->guarded) buf_printf(b, " if v%u", v->args[0]);
        break;
    case INST_SUBSCRIPT:
        buf_printf(b, "subscript v%u of ", v->args[0]);
        ex_print(b, k->ex, v->index);
        buf_printf(b, " as %s", symbol_name(k, id));
        break;
    case INST_OP:
        buf_printf(b, "%s(", op_info(v->op)->name);
        for (int a = 0; a < v->n_args; a++) buf_printf(b, "%sv%u", a ? ", " : "", v->args[a]);
        buf_putc(b, ')');
        break;
    case INST_CAST: buf_printf(b, "%s(v%u)", v->rounds ? "round" : "to", v->args[0]); break;
    case INST_SCAN: buf_printf(b, "scan %s v%u", reduction_name(v->reduction), v->args[0]); break;
    case INST_REDUCE:
        buf_printf(b, "reduce %s v%u", reduction_name(v->reduction), v->args[0]);
        if (v->n_args > 1) buf_printf(b, " at v%u", v->args[1]);
        put_over(b, v->over);
        break;
    }
    buf_printf(b, " : %s", dtype_name(v->dtype));
    put_mask(b, v->mask);
    if (v->level) buf_printf(b, " level %u", v->level);
}

static void put_store(struct buf *b, const struct kernel *k, const struct store_node *s) {
    buf_printf(b, "store p%d[", argument(k, s->buffer));
    ex_print(b, k->ex, s->index);
    buf_printf(b, "] = v%u", s->value);
    bool holds;
    value_id c;
    for (int i = 0; (c = store_condition(k, s, i, &holds)) != NO_VALUE; i++)
        buf_printf(b, " %s %sv%u", i ? "and" : "where", holds ? "" : "not ", c);
    if (!s->guard) return;
    buf_puts(b, " if ");
    ex_print(b, k->ex, s->guard);
}

const char *kernel_kind_name(enum kernel_kind kind) {
    switch (kind) {
    case KERNEL_POINTWISE: return "pointwise";
    case KERNEL_REDUCE: return "reduce";
    case KERNEL_SCAN: return "scan";
    case KERNEL_MATMUL: return "matmul";
    case KERNEL_CHAINED: return "products";
    case KERNEL_PERSISTENT: return "steps";
    case KERNEL_RECURRENCE: return "recurrence";
    case KERNEL_SORT: return "sort";
    }
    WS_BUG("no kernel kind: %d", (int)kind);
}

static const char *const axis_names[] = {"x", "r", "z", "m", "n", "c"};

/* "  terms count where 0 <= -1 + m - r" */
static void put_edge(struct buf *b, const struct edge *e) {
    buf_printf(b, "  terms count where 0 <= %lld", (long long)e->first);
    for (int a = 0; a < AXIS_COUNT; a++) {
        int64_t by = e->by[a] < 0 ? -e->by[a] : e->by[a];
        if (!by) continue;
        buf_puts(b, e->by[a] < 0 ? " - " : " + ");
        if (by > 1) buf_printf(b, "%lld*", (long long)by);
        buf_puts(b, axis_names[a]);
    }
    buf_putc(b, '\n');
}

/* ", a step before, of 2560 elements of memory 3, 2 in turns": memory as persistent_memory lists
 * it. */
static void put_window_of(struct buf *b, const struct kernel *k, const struct buffer *B) {
    const struct loop_window *x = &B->window;
    buffer_vec memory = persistent_memory(k, k->arena);
    uint32_t of = 0, start = 0;
    if (x->carried && x->from_number) {
        buf_printf(b, ", carried, at first %g", x->number.value);
        return;
    }
    while (x->carried && memory.at[start] != x->start) start++;
    if (x->carried && k->recurrent) {
        buf_printf(b, ", carried, at first memory %u", start);
        return;
    }
    while (memory.at[of] != x->of) of++;
    buf_printf(b, ", %lld + %lld t of %lld in memory %u", (long long)x->first, (long long)x->way,
               (long long)x->each, of);
    if (x->carried) buf_printf(b, ", a step before, at first memory %u", start);
    if (x->ring) buf_printf(b, ", %lld in turns", (long long)x->ring);
}

static void put_carries(struct buf *b, const struct kernel *k) {
    for (uint32_t i = 0; k->recurrent && i < k->recurrent->carries.n; i++)
        buf_printf(b, "  v%u is v%u of the step before\n", k->recurrent->carries.at[i].load,
                   k->recurrent->carries.at[i].next);
}

void kernel_print(struct buf *b, const struct kernel *k) {
    const char *const *names = axis_names;
    const struct loops *l = k->schedule->loops;
    buf_printf(b, "kernel %s\n", kernel_kind_name(k->kind));
    if (k->precision != PRECISION_F32)
        buf_printf(b, "  precision %s\n", precision_name(k->precision));
    if (k->steps) buf_printf(b, "  %lld steps\n", (long long)k->steps->n);
    if (k->kind == KERNEL_SORT) {
        buf_puts(b, "  rows: ");
        ex_print(b, k->ex, k->landing->rows);
        buf_putc(b, '\n');
    } else if (k->lists) {
        buf_printf(b, "  sources by p%d\n", argument(k, k->lists - 1));
    }
    if (k->a_fixed) buf_printf(b, "  v%u is the same in every call\n", k->dot_a);
    if (k->b_fixed) buf_printf(b, "  v%u is the same in every call\n", k->dot_b);
    for (int a = 0; a < AXIS_COUNT; a++) {
        if (!k->axis[a]) continue;
        buf_printf(b, "  axis %s: ", names[a]);
        ex_print(b, k->ex, k->bound[a]);
        buf_putc(b, '\n');
    }
    for (uint32_t i = 0; i < k->edges.n; i++) put_edge(b, &k->edges.at[i]);
    for (uint32_t i = 0; i < k->questions.n; i++)
        buf_printf(b, "  terms count where v%u is %d\n", k->questions.at[i].value,
                   k->questions.at[i].holds);
    for (uint32_t i = 0; i < k->buffers.n; i++) {
        const struct buffer *B = &l->buffers.at[k->buffers.at[i]];
        buf_printf(b, "  p%u: %s[", i, dtype_name(B->meta.dtype));
        ex_print(b, k->ex, meta_numel(k->ex, &B->meta));
        buf_putc(b, ']');
        buffer_id place = kernel_place_of(k, k->buffers.at[i]);
        if (place != k->buffers.at[i]) buf_printf(b, " in p%d", argument(k, place));
        if (k->steps && B->kind == BUFFER_WINDOW) put_window_of(b, k, B);
        buf_putc(b, '\n');
    }
    for (value_id v = 0; v < k->values.n; v++) {
        buf_puts(b, "  ");
        put_value(b, k, v);
        buf_putc(b, '\n');
    }
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buf_puts(b, "  ");
        put_store(b, k, &k->stores.at[i]);
        if (k->recurrent && k->recurrent->last[i]) buf_puts(b, " in the last step");
        buf_putc(b, '\n');
    }
    put_carries(b, k);
}

void kernel_print_lines(struct buf *b, const struct kernel *k) {
    const struct group *G = &k->schedule->groups.at[k->group];
    for (uint32_t m = 0; m < G->members.n; m++) {
        const struct nest *n = &k->schedule->loops->nests.at[G->members.at[m].nest];
        buf_printf(b, "/* %s: line %u */\n", n->name, n->where.line);
    }
}

static void put_values(struct buf *b, const struct kernel *k, const value_id *at, uint32_t n,
                       int indent) {
    for (uint32_t i = 0; i < n; i++) {
        buf_indent(b, indent);
        put_value(b, k, at[i]);
        buf_putc(b, '\n');
    }
}

static bool is_online(const struct phase *f, value_id v) {
    for (uint32_t i = 0; i < f->online.n; i++)
        if (f->online.at[i] == v) return true;
    return false;
}

static bool all_loads_kept(const struct block *p, uint32_t phase) {
    return p->layout.one_read && phase > 0;
}

/* Of what a product has summed up. */
static void put_epilogue(struct buf *b, const struct block *p, uint32_t i) {
    const struct kernel *k = p->kernel;
    const struct phase *f = &p->phases.at[i];
    if (i == 1 && p->kept != NO_VALUE) {
        buf_printf(b, "keep v%u\n", p->kept);
        put_values(b, k, p->keep.compute.at, p->keep.compute.n, 1);
    }
    buf_printf(b, "phase %u: of v%u\n", i, f->at_hand);
    put_values(b, k, f->compute.at, f->compute.n, 1);
    for (uint32_t r = 0; r < f->reduce.n; r++) {
        const struct value_node *v = &k->values.at[f->reduce.at[r]];
        buf_printf(b, "    accumulate v%u %s= v%u", f->reduce.at[r], reduction_name(v->reduction),
                   v->args[0]);
        put_over(b, v->over);
        buf_putc(b, '\n');
    }
    for (uint32_t s = 0; s < f->stores.n; s++) {
        buf_puts(b, "    ");
        put_store(b, k, &k->stores.at[f->stores.at[s]]);
        buf_putc(b, '\n');
    }
}

static void put_phase(struct buf *b, const struct block *p, uint32_t i) {
    const struct kernel *k = p->kernel;
    const struct phase *f = &p->phases.at[i];
    if (p->layout.grid_r)
        buf_printf(b, "phase %u: tile of %d columns\n", i, p->layout.br);
    else if (p->layout.hits)
        buf_printf(b, "phase %u: columns%s whose v%u lands, in steps of %d\n", i,
                   p->layout.own      ? ", sorted and a thread's own,"
                   : p->layout.turns  ? ", sorted by blocks and in turns,"
                   : p->layout.adds   ? ", added as whole numbers,"
                   : p->layout.sorted ? ", sorted,"
                                      : "",
                   k->landing->target, p->layout.br);
    else
        buf_printf(b, "phase %u: columns in steps of %d%s\n", i, p->layout.br,
                   all_loads_kept(p, i) ? ", from registers" : "");
    put_values(b, k, f->compute.at, f->compute.n, 1);
    for (uint32_t r = 0; r < f->reduce.n; r++) {
        const struct value_node *v = &k->values.at[f->reduce.at[r]];
        buf_printf(b, "    accumulate v%u %s= v%u", f->reduce.at[r], reduction_name(v->reduction),
                   v->args[0]);
        if (is_online(f, f->reduce.at[r]))
            buf_printf(b, ", rescaled as v%u grows", kernel_online_maximum(k, f->reduce.at[r]));
        buf_putc(b, '\n');
    }
    for (uint32_t r = 0; r < f->squares.n; r++) {
        value_id about, of = kernel_online_square(k, f->squares.at[r], &about);
        buf_printf(b, "    accumulate v%u sum= (v%u - v%u)^2, about the mean so far\n",
                   f->squares.at[r], of, about);
    }
    for (uint32_t r = 0; r < f->across.n; r++) {
        const struct value_node *v = &k->values.at[f->across.at[r]];
        buf_printf(b, "    column v%u %s= v%u\n", f->across.at[r], reduction_name(v->reduction),
                   v->args[0]);
    }
    for (uint32_t s = 0; s < f->stores.n; s++) {
        buf_puts(b, "    ");
        put_store(b, k, &k->stores.at[f->stores.at[s]]);
        buf_putc(b, '\n');
    }
    for (uint32_t r = 0; r < f->reduce.n; r++)
        buf_printf(b, "combine v%u over %d threads\n", f->reduce.at[r], p->layout.t1);
    struct phase known = {0}, rest = *f;
    if (f->squares.n) block_split_after(p, f, &known, &rest);
    put_values(b, k, known.after.at, known.after.n, 0);
    for (uint32_t r = 0; r < f->squares.n; r++)
        buf_printf(b, "combine v%u over %d threads\n", f->squares.at[r], p->layout.t1);
    put_values(b, k, rest.after.at, rest.after.n, 0);
}

/* "window s0: p0[2*r + x*224] + -8 0 8, vectors of 8" */
static void put_window(struct buf *b, const struct kernel *k, const struct layout *y, uint32_t i) {
    const struct window *w = &y->windows->all.at[i];
    if (!w->pieces.n) return;
    buf_printf(b, "window s%u: p%d[%s] +", i, argument(k, w->buffer),
               ex_str(k->arena, k->ex, w->base));
    for (uint32_t p = 0; p < w->pieces.n; p++)
        buf_printf(b, " %lld", (long long)(w->pieces.at[p].number * w->unit));
    buf_printf(b, ", vectors of %d\n", w->unit);
}

static void put_persistent(struct buf *b, const struct block *p) {
    const struct kernel *k = p->kernel;
    const struct persistent *x = p->layout.persistent;
    buf_printf(b, "%lld steps, a block %lld columns: %lld of products; ", (long long)k->steps->n,
               (long long)x->units, (long long)x->sums);
    if (x->by_warp)
        buf_printf(b, "a warp %d of them, in %d parts of the depth%s\n", x->across, x->parts,
                   x->in_registers ? ", the right factor in registers" : "");
    else
        buf_printf(b, "%d threads for a tile of %dx%d\n", x->lanes, x->rows, x->across);
    for (uint32_t i = 0; i < k->steps->taps.n; i++) {
        const struct step_sum *t = &k->steps->taps.at[i];
        buf_printf(b, "v%u += dot(v%u, v%u) over r, the right one stays\n", t->sum,
                   k->steps->slabs.at[t->slab], t->b);
    }
    for (value_id v = 0; v < k->values.n; v++) put_values(b, k, &v, 1, 1);
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buf_puts(b, "    ");
        put_store(b, k, &k->stores.at[i]);
        buf_putc(b, '\n');
    }
}

static void put_recurrence(struct buf *b, const struct block *p) {
    const struct kernel *k = p->kernel;
    const struct recurrent_layout *x = p->layout.recurrent;
    if (x->points)
        buf_printf(b, "%lld steps, a task %d points\n", (long long)k->recurrent->n, x->points);
    else
        buf_printf(b, "%lld steps, a point %d lanes of %d elements, loads %d steps ahead%s\n",
                   (long long)k->recurrent->n, x->lanes, x->own, x->block,
                   x->doubles ? ", by blocks" : "");
    for (value_id v = 0; v < k->values.n; v++) put_values(b, k, &v, 1, 1);
    for (uint32_t i = 0; i < k->stores.n; i++) {
        buf_puts(b, "    ");
        put_store(b, k, &k->stores.at[i]);
        buf_putc(b, '\n');
    }
    put_carries(b, k);
}

void block_print(struct buf *b, const struct block *p) {
    const struct kernel *k = p->kernel;
    const struct layout *y = &p->layout;
    buf_printf(b, "block %s\nconfig ", k->name);
    config_print(b, &p->config);
    buf_printf(b, "\ngrid %lld blocks of %d threads, %d bytes shared", (long long)p->grid,
               y->threads, y->smem);
    if (y->split > 1) buf_printf(b, ", split %d", y->split);
    if (p->config.knob[KNOB_tail])
        buf_printf(b, " from tile %lld on", (long long)y->product->whole);
    if (y->last_block) buf_puts(b, ", finished by the last block");
    if (y->meets) buf_puts(b, ", which meet");
    if (y->cluster > 1)
        buf_printf(b, y->apart ? ", %d for each row" : ", clusters of %d", y->cluster);
    if (y->blocks) buf_puts(b, ", each over many rows");
    if (y->circle)
        buf_puts(b, ", a tile of a row each in a round");
    else if (y->look_back)
        buf_puts(b, ", a tile of a row each");
    if (y->held) buf_printf(b, ", %d tiles each", y->held);
    if (y->stages > 1) buf_printf(b, ", %d copied ahead", y->stages - 1);
    buf_putc(b, '\n');
    if (y->product) {
        buf_printf(b, "tile m=%d n=%d k=%d, ", p->config.knob[KNOB_m], p->config.knob[KNOB_n],
                   p->config.knob[KNOB_k]);
        if (y->product->by_warp)
            buf_printf(b, "warp %dx%d\n", y->product->warp_rows, y->product->warp_columns);
        else
            buf_printf(b, "%d warpgroups%s\n", product_groups(y->product) * y->product->in_turn,
                       y->product->in_turn > 1 ? " in turn" : "");
        buf_printf(b, "v%u += dot(v%u, v%u) over r\n", k->dot, k->dot_a, k->dot_b);
    } else if (y->persistent) {
        put_persistent(b, p);
        return;
    } else if (y->recurrent) {
        put_recurrence(b, p);
        return;
    } else if (k->kind == KERNEL_SORT) {
        buf_printf(b, "sort by v%u, of ", k->landing->target);
        ex_print(b, k->ex, k->landing->rows);
        buf_puts(b, " rows\n");
    } else if (y->chained) {
        buf_printf(b, "tile m=%d n=%d, warp %d, %d columns\n", y->bx, y->br, y->chained->warp_rows,
                   y->chained->columns);
        buf_printf(b, "v%u = dot(v%u, v%u) over r\n", k->dot, k->dot_a, k->dot_b);
        if (k->beside != NO_VALUE)
            buf_printf(b, "v%u = dot(v%u, v%u) over r\n", k->beside, k->beside_a, k->beside_b);
        buf_printf(b, "v%u += dot(v%u, v%u) over n\n", k->second, k->second_a, k->second_b);
        if (k->twin != NO_VALUE)
            buf_printf(b, "v%u += dot(v%u, v%u) over n\n", k->twin, k->twin_a, k->twin_b);
    } else if (k->kind == KERNEL_MATMUL) {
        buf_printf(b, "tile m=%d n=%d k=%d, thread %dx%d\n", p->config.knob[KNOB_m],
                   p->config.knob[KNOB_n], p->config.knob[KNOB_k], p->config.knob[KNOB_tm],
                   p->config.knob[KNOB_tn]);
        buf_printf(b, "v%u += dot(v%u, v%u) over r\n", k->dot, k->dot_a, k->dot_b);
    } else {
        buf_printf(b,
                   "layout %s inner: %d x %d threads, each %d rows x %d steps x %d elements%s%s\n",
                   y->rows_inner ? "rows" : "columns", y->t0, y->t1, y->ex, y->ur, y->vec,
                   y->one_read ? ", row kept in registers"
                   : !y->kept  ? ""
                   : y->meets  ? arena_printf(k->arena, ", %d of %lld tiles kept in shared memory",
                                              y->kept, (long long)layout_tiles_met(k, y))
                               : ", row kept in shared memory",
                   y->peel  ? ", heads and tails of rows apart"
                   : y->cut ? ", the last of a row cut off"
                            : "");
    }
    for (uint32_t i = 0; y->windows && i < y->windows->all.n; i++) put_window(b, k, y, i);
    put_values(b, k, p->before.at, p->before.n, 0);
    for (uint32_t i = 0; i < p->phases.n; i++) (k->over ? put_epilogue : put_phase)(b, p, i);
    for (uint32_t i = 0; i < p->row_stores.n; i++) {
        put_store(b, k, &k->stores.at[p->row_stores.at[i]]);
        buf_putc(b, '\n');
    }
    if (k->columns) buf_printf(b, "finish: %d parts of each column\n", y->blocks);
    if (k->over && p->phases.n == 1 && !y->chained)
        buf_printf(b, "finish: %lld parts of each result\n", (long long)matrix_partials(k, y));
    else if (k->over && !y->chained)
        buf_printf(b, "rows are %d tiles%s\n", y->product->sharing,
                   y->product->online ? ", whose sums are relative to their own maxima" : "");
    put_values(b, k, p->finish.at, p->finish.n, 0);
    for (uint32_t i = 0; i < p->column_stores.n; i++) {
        put_store(b, k, &k->stores.at[p->column_stores.at[i]]);
        buf_putc(b, '\n');
    }
}

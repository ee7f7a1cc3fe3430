/* print.c: tile programs as text, which parse.c reads back. */
#include "tile/tile.h"

static const struct {
    const char *text;
    bool opens;
} ops[] = {
#define TILE(name, text, opens, what) {text, opens},
#include "tile/tile.def"
#undef TILE
};

const char *tile_op_name(enum tile_op op) { return ops[op].text; }
bool tile_op_opens(enum tile_op op) { return ops[op].opens; }

static const char *type_name(const struct operand *o) {
    return o->dtype == DT_F32 ? "tf32" : dtype_name(o->dtype);
}

static const char *axis_name(const struct operand *o) { return o->axis == AXIS_M ? "m" : "n"; }

/* "windows of v2, bf16[16 images, 56 x 58, 1 z, 64 k], 3 x 3 taps 1 x 1 apart, from -1 x -1 on by 1
 * x 1" */
static void put_windows(struct buf *b, const struct operand *o) {
    const struct im2col *w = o->order;
    buf_printf(b, "[%lld images, ", (long long)w->images);
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].size, d ? " x " : ", ");
    if (o->planes > 1) buf_printf(b, "%d planes, ", o->planes);
    buf_printf(b, "%lld z, %lld channels], ", (long long)o->batches, (long long)o->channels);
    if (w->of)
        buf_printf(b, "runs of %lld pixels of %lld, %lld apart, ", (long long)w->of->dim[0].taps,
                   (long long)w->pixel, (long long)w->of->dim[0].step);
    if (w->pixel_taps > 1) buf_printf(b, "%lld taps each, ", (long long)w->pixel_taps);
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].taps, d ? " x " : " taps ");
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].apart, d ? " x " : " apart, ");
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].windows, d ? " x " : " windows from ");
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].first, d ? " x " : " on by ");
    for (int d = w->n; d-- > 0;)
        buf_printf(b, "%lld%s", (long long)w->dim[d].step, d ? " x " : "\n");
}

static void put_operand(struct buf *b, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    const char *x = axis_name(o);
    buf_printf(b, "%c = ", r->name[0] - 'A' + 'a');
    if (o->windows)
        buf_printf(b, "%s of v%u%s, ",
                   o->lying  ? "positions"
                   : o->flat ? "shifted rows"
                             : "windows",
                   o->factor, o->load == NO_VALUE ? "" : " as it lies");
    else if (o->made)
        buf_printf(b, "made of v%u, ", o->factor);
    else if (o->load == NO_VALUE)
        buf_printf(b, "image of v%u, ", o->factor);
    else
        buf_printf(b, "v%u, ", o->load);
    buf_puts(b, type_name(o));
    if (o->windows) {
        put_windows(b, o);
        return;
    }
    if (o->planes > 1) buf_printf(b, " in %d planes", o->planes);
    if (o->along)
        buf_printf(b, "[%lld z, %lld k, %lld %s]", (long long)o->batches, (long long)o->depth,
                   (long long)o->rows, x);
    else
        buf_printf(b, "[%lld z, %lld %s, %lld k]", (long long)o->batches, (long long)o->rows, x,
                   (long long)o->depth);
    if (o->stacked)
        buf_puts(b, ", lines of all rows together");
    else if (!o->made)
        buf_printf(b, ", lines %lld apart", (long long)o->pitch);
    if (o->run) buf_printf(b, ", runs of %lld %lld", (long long)o->run, (long long)o->jump);
    if (o->piece < 16) buf_printf(b, ", by %d bytes", o->piece);
    buf_putc(b, '\n');
}

static void put_ring(struct buf *b, const struct tile_ring *r) {
    const struct operand *o = r->operand;
    buf_printf(b, "%s = %s[%d]", r->name,
               operand_makes_planes(o) ? dtype_name(o->stored) : type_name(o), r->stages);
    if (r->planes > 1) buf_printf(b, "[%d]", r->planes);
    if (o->along)
        buf_printf(b, "[%d k, %d %s]", r->depth, r->rows, axis_name(o));
    else
        buf_printf(b, "[%d %s, %d k]", r->rows, axis_name(o), r->depth);
    buf_printf(b, ", lines of %d bytes", r->line);
    if (r->blocks > 1) buf_printf(b, ", copied by %d blocks", r->blocks);
    if (o->stays) buf_puts(b, ", copied once");
    if (o->in_registers) buf_puts(b, ", read into registers");
    if (o->splits) buf_printf(b, ", split into %d planes", o->planes);
    buf_putc(b, '\n');
}

/* Reductions of a phase of the epilogue. */
static void put_reductions(struct buf *b, const struct phase *f) {
    for (uint32_t i = 0; i < f->reduce.n; i++) buf_printf(b, " v%u", f->reduce.at[i]);
}

struct tile_words tile_op_words(enum tile_op op) {
    struct tile_words w = {.text = tile_op_name(op)};
    w.ring = op == TILE_COPY || op == TILE_TAKE || op == TILE_MAKE;
    w.phase = op == TILE_STORE || op == TILE_REDUCE || op == TILE_LEAVE_PARTIALS;
    w.may_count = op == TILE_COPY || op == TILE_STORE || op == TILE_DOT || op == TILE_DOT_SECOND ||
                  op == TILE_RELATE || op == TILE_TERMS;
    w.counts = op == TILE_ROLE || op == TILE_TURN || op == TILE_SKIP || op == TILE_DRAIN ||
               op == TILE_ARRIVE || op == TILE_FOLD || op == TILE_CROSS || op == TILE_MEET ||
               op == TILE_AHEAD || op == TILE_LANDED || op == TILE_REDUCE ||
               op == TILE_LEAVE_PARTIALS || op == TILE_MEET_PARTIALS || op == TILE_WAIT_CROSSED ||
               op == TILE_OFFER_CROSSED;
    return w;
}

void tile_print_inst(struct buf *b, const struct tile_program *t, const struct tile_inst *c) {
    struct tile_words w = tile_op_words(c->op);
    buf_puts(b, w.text);
    if (w.ring) buf_printf(b, " %c", "ABC"[c->ring]);
    if (w.counts || (w.may_count && c->n)) buf_printf(b, " %d", c->n);
    if (w.counts && w.phase) put_reductions(b, &t->block->phases.at[c->n]);
    if (c->op == TILE_KEEP) buf_printf(b, " v%u", t->block->kept);
}

void tile_print_head(struct buf *b, const struct tile_program *t) {
    const struct product *x = t->product;
    buf_printf(b, "program of %d threads, %d bytes shared\n", t->threads, t->smem);
    if (t->chained) {
        tile_print_chained(b, t);
        return;
    }
    for (int i = 0; i < RINGS; i++) put_operand(b, &t->ring[i]);
    for (int i = 0; i < RINGS; i++) put_ring(b, &t->ring[i]);
    if (x->tensor)
        buf_printf(b, "sums = %d of [%d m, %d n]%s in %d columns of tensor memory\n",
                   x->sums_at_once, t->ring[TILE_A].rows, t->ring[TILE_B].rows,
                   product_crosses_in_tensor(x) ? ", and crossed ones," : "", x->tensor_columns);
    if (x->n_passes > 1) {
        buf_puts(b, "passes");
        for (int i = 0; i < x->n_passes; i++) buf_printf(b, " a%d b%d", x->pass[i].a, x->pass[i].b);
        buf_putc(b, '\n');
    }
    if (x->bounded)
        buf_printf(b, "steps whose terms count, %.2f of %lld in the mean%s\n", x->mean_steps,
                   (long long)tile_steps(t), t->order ? ", tiles with most first" : "");
    if (x->shorts.every == 1)
        buf_printf(b, "%d of k in each step\n", x->shorts.depth);
    else if (x->shorts.every)
        buf_printf(b, "%d of k in the last of each %lld steps\n", x->shorts.depth,
                   (long long)x->shorts.every);
}

void tile_print(struct buf *b, const struct tile_program *t) {
    int depth = 0;
    tile_print_head(b, t);
    for (uint32_t i = 0; i < t->code.n; i++) {
        const struct tile_inst *c = &t->code.at[i];
        if (c->op == TILE_END) depth--;
        buf_indent(b, depth);
        tile_print_inst(b, t, c);
        buf_putc(b, '\n');
        depth += tile_op_opens(c->op);
    }
}

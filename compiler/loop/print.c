/* print.c: loop nests as text; see loop.h for the form. */
#include <math.h>

#include "loop/loop.h"

static const struct {
    const char *name, *operator;
} reductions[] = {
#define R(id, name, identity, combine, op) {name, op},
    REDUCTIONS(R)
#undef R
};

const char *reduction_name(enum reduction r) { return reductions[r].name; }
const char *reduction_operator(enum reduction r) { return reductions[r].operator; }
bool reduction_of_pairs(enum reduction r) { return r == REDUCTION_ARGMAX || r == REDUCTION_ARGMIN; }
bool reduction_of_values(enum reduction r) {
    return !reduction_of_pairs(r) && r != REDUCTION_M2 && r != REDUCTION_EXPSUM;
}
enum op reduction_step(enum reduction r) {
    switch (r) {
    case REDUCTION_SUM: return OP_ADD;
    case REDUCTION_PROD: return OP_MUL;
    case REDUCTION_AMAX: return OP_MAXIMUM;
    case REDUCTION_AMIN: return OP_MINIMUM;
    case REDUCTION_M2:
    case REDUCTION_EXPSUM:
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN:
    case REDUCTION_COUNT: break;
    }
    WS_BUG("%s does not reduce values to one of them", reduction_name(r));
}
int reduction_size(enum reduction r, enum dtype dtype) {
    int value = dtype_bytes(dtype_opmath(dtype));
    switch (r) {
    case REDUCTION_M2: return 4 * value;
    case REDUCTION_EXPSUM: return 2 * value;
    case REDUCTION_ARGMAX:
    case REDUCTION_ARGMIN: return 16;
    case REDUCTION_SUM:
    case REDUCTION_PROD:
    case REDUCTION_AMAX:
    case REDUCTION_AMIN:
    case REDUCTION_COUNT: break;
    }
    return value;
}

static void put_indices(struct buf *b, const struct exprs *p, const ex *index, int n) {
    buf_putc(b, '[');
    for (int k = 0; k < n; k++) {
        if (k) buf_puts(b, ", ");
        ex_print(b, p, index[k]);
    }
    buf_putc(b, ']');
}

void inst_print(struct buf *b, const struct exprs *p, const struct loops *l, const struct inst *i,
                uint32_t id) {
    buf_printf(b, "v%u = ", id);
    switch (i->kind) {
    case INST_CONST:
        if (dtype_is_int(i->dtype))
            buf_printf(b, "const %lld", (long long)i->whole);
        else
            buf_printf(b, "const %.17g", i->value);
        break;
    case INST_INDEX:
        buf_puts(b, "index ");
        ex_print(b, p, i->index[0]);
        break;
    case INST_LOAD:
        buf_printf(b, "load %s", l->buffers.at[i->buffer].name);
        put_indices(b, p, i->index, i->n_index);
        if (i->guarded) buf_printf(b, " if v%u", i->args[0]);
        break;
    case INST_OP:
        buf_printf(b, "%s(", op_info(i->op)->name);
        for (int k = 0; k < i->n_args; k++) buf_printf(b, "%sv%u", k ? ", " : "", i->args[k]);
        buf_putc(b, ')');
        break;
    case INST_CAST: buf_printf(b, "%s(v%u)", i->rounds ? "round" : "to", i->args[0]); break;
    case INST_SCAN: buf_printf(b, "scan %s v%u", reduction_name(i->reduction), i->args[0]); break;
    case INST_REDUCE:
        buf_printf(b, "reduce %s v%u", reduction_name(i->reduction), i->args[0]);
        if (i->n_args > 1) buf_printf(b, " at v%u", i->args[1]);
        break;
    case INST_SUBSCRIPT:
        buf_printf(b, "subscript v%u of ", i->args[0]);
        ex_print(b, p, ex_symbol(p, i->index[0])->bound);
        buf_printf(b, " as %s", ex_symbol(p, i->index[0])->name);
        break;
    }
    buf_printf(b, " : %s\n", dtype_name(i->dtype));
}

static void put_axes(struct buf *b, const struct exprs *p, const ex *axes, int n) {
    for (int k = 0; k < n; k++) {
        if (k) buf_puts(b, ", ");
        buf_printf(b, "%s: ", ex_symbol(p, axes[k])->name);
        ex_print(b, p, ex_symbol(p, axes[k])->bound);
    }
}

void nest_print(struct buf *b, const struct loops *l, const struct nest *n) {
    const struct buffer *out = &l->buffers.at[n->out];
    buf_printf(b, "%s[", out->name);
    put_axes(b, l->ex, n->axes, n->n_axes);
    buf_printf(b, "] = %s %s", dtype_name(out->meta.dtype), n->name);
    if (n->precision != PRECISION_F32) buf_printf(b, " in %s", precision_name(n->precision));
    if (n->n_reduce) {
        buf_puts(b, ", reduce ");
        put_axes(b, l->ex, n->reduce, n->n_reduce);
    }
    if (n->scan) buf_printf(b, ", scan %s", ex_symbol(l->ex, n->scan)->name);
    if (n->sorted_rows) {
        buf_puts(b, ", by rows: ");
        ex_print(b, l->ex, n->sorted_rows);
    }
    if (n->where.line) buf_printf(b, "    # line %u", n->where.line);
    buf_putc(b, '\n');
    for (uint32_t i = 0; i < n->insts.n; i++) {
        buf_indent(b, 1);
        inst_print(b, l->ex, l, &n->insts.at[i], i);
    }
}

static void buffer_print(struct buf *b, const struct loops *l, const struct buffer *x) {
    static const char *const kinds[] = {"input", "temp", "output", "stack", "window"};
    buf_printf(b, "%s: %s %s", x->name, kinds[x->kind], dtype_name(x->meta.dtype));
    put_indices(b, l->ex, x->meta.size, x->meta.rank);
    if (x->kind == BUFFER_INPUT) {
        buf_puts(b, " stride ");
        put_indices(b, l->ex, x->meta.stride, x->meta.rank);
        const char *source = l->graph->inputs.at[x->index].source;
        if (source) buf_printf(b, " = %s", source);
    }
    if (x->kind == BUFFER_WINDOW) {
        const struct loop_window *of = &x->window;
        buf_printf(b, " of %s", l->buffers.at[of->of].name);
        if (of->carried)
            buf_printf(b, ", a step before, at first %s", l->buffers.at[of->start].name);
        if (of->ring)
            buf_printf(b, ", %lld in turns", (long long)of->ring);
        else if (!of->carried)
            buf_printf(b, ", %lld + %lld t", (long long)of->first, (long long)of->way);
    }
    buf_putc(b, '\n');
}

void loops_print(struct buf *b, const struct loops *l) {
    for (uint32_t i = 0; i < l->buffers.n; i++) buffer_print(b, l, &l->buffers.at[i]);
    for (uint32_t i = 0; i < l->nests.n; i++) {
        const struct nest *n = &l->nests.at[i];
        uint32_t loop = loop_of(n->epoch);
        buf_putc(b, '\n');
        if (loop != NO_LOOP && (!i || n[-1].epoch != n->epoch))
            buf_printf(b, "%lld steps of\n\n", (long long)l->steps.at[loop]);
        nest_print(b, l, &l->nests.at[i]);
    }
}

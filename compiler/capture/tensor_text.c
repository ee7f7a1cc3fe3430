/* tensor_text.c: tensors as PyTorch prints them.
 *
 *   tensor([[0.1000, 2.0000],
 *           [3.0000, 4.0000]], dtype=torch.float64, requires_grad=True)
 *
 * Four digits, 80 columns; above 1000 elements three from each end of every dimension; or as
 * torch.set_printoptions() said (vm->print). */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/vm.h"

struct text {
    struct vm *vm;
    struct text *imag; /* of complex numbers, as the imaginary parts are printed; else NULL */
    const struct tensor *t;
    struct value values;
    int64_t size[WS_MAX_RANK];
    int rank, width;
    bool is_float, is_bool, whole, scientific, summary;
};

/* -- numbers ------------------------------------------------------------------------------- */

static int put_number(const struct text *x, int64_t at, char *out, size_t cap) {
    if (x->is_bool) return snprintf(out, cap, "%s", x->values.w[at] ? "True" : "False");
    if (!x->is_float) return snprintf(out, cap, "%lld", (long long)x->values.w[at]);
    double v = x->values.v[at];
    if (isnan(v)) return snprintf(out, cap, "nan");
    if (isinf(v)) return snprintf(out, cap, "%sinf", v < 0 ? "-" : "");
    if (x->scientific) return snprintf(out, cap, "%.*e", x->vm->print.precision, v);
    if (x->whole) return snprintf(out, cap, "%.0f.", v);
    return snprintf(out, cap, "%.*f", x->vm->print.precision, v);
}

/* The indices of a dimension that are shown: all, or three from each end. */
static int64_t n_shown(const struct text *x, int dim) {
    int64_t n = x->size[dim], edge = x->vm->print.edge;
    return x->summary && n > 2 * edge ? 2 * edge : n;
}
static int64_t shown(const struct text *x, int dim, int64_t k) {
    int64_t n = x->size[dim], edge = x->vm->print.edge;
    return n_shown(x, dim) < n && k >= edge ? n - 2 * edge + k : k;
}

static void each_shown(struct text *x, int dim, int64_t at,
                       void (*use)(struct text *x, int64_t at, void *ctx), void *ctx) {
    if (dim == x->rank) {
        use(x, at, ctx);
        return;
    }
    for (int64_t k = 0; k < n_shown(x, dim); k++)
        each_shown(x, dim + 1, at * x->size[dim] + shown(x, dim, k), use, ctx);
}

struct extent {
    double least, most;
    bool any, whole;
};

static void measure(struct text *x, int64_t at, void *ctx) {
    struct extent *e = ctx;
    double v = x->values.v[at];
    if (!isfinite(v) || v == 0) return;
    double a = fabs(v);
    if (!e->any || a < e->least) e->least = a;
    if (!e->any || a > e->most) e->most = a;
    e->any = true;
    e->whole &= v == ceil(v);
}

static void widen(struct text *x, int64_t at, void *ctx) {
    char number[400];
    if (x->is_float && (!isfinite(x->values.v[at]) || x->values.v[at] == 0)) return;
    int n = put_number(x, at, number, sizeof number);
    if (n > x->width) x->width = n;
}

static void choose_format(struct text *x) {
    struct extent e = {.whole = true};
    x->width = 1;
    if (x->is_float) {
        each_shown(x, 0, 0, measure, &e);
        x->whole = e.whole;
        bool wide =
            e.any && (e.most / e.least > 1000 || e.most > 1e8 || (!e.whole && e.least < 1e-4));
        enum scientific asked = x->vm->print.scientific;
        x->scientific = asked == SCIENTIFIC_AUTO ? wide : asked == SCIENTIFIC_ALWAYS;
    }
    each_shown(x, 0, 0, widen, NULL);
}

/* -- brackets ------------------------------------------------------------------------------ */

static void put_padded(const struct text *x, struct buf *b, int64_t at) {
    char number[400];
    int n = put_number(x, at, number, sizeof number);
    for (; n < x->width; n++) buf_putc(b, ' ');
    buf_puts(b, number);
    if (!x->imag) return;
    put_number(x->imag, at, number, sizeof number);
    buf_printf(b, "%s%sj", number[0] == '-' ? "" : "+", number);
}

static void put_break(struct buf *b, int lines, int indent) {
    buf_putc(b, ',');
    while (lines--) buf_putc(b, '\n');
    for (int i = 0; i < indent; i++) buf_putc(b, ' ');
}

static void put_row(const struct text *x, struct buf *b, int dim, int64_t at, int indent) {
    int width = x->width + 2 + (x->imag ? x->imag->width + 1 : 0);
    int64_t per_line = (x->vm->print.line - indent) / width;
    if (per_line < 1) per_line = 1;
    int64_t n = n_shown(x, dim), column = 0;
    bool cut = n < x->size[dim];
    buf_putc(b, '[');
    for (int64_t k = 0; k < n; k++) {
        if (k && column % per_line == 0) put_break(b, 1, indent + 1);
        if (k && column % per_line) buf_puts(b, ", ");
        if (cut && k == x->vm->print.edge) {
            buf_puts(b, " ...");
            column++;
            if (column % per_line == 0)
                put_break(b, 1, indent + 1);
            else
                buf_puts(b, ", ");
        }
        put_padded(x, b, at * x->size[dim] + shown(x, dim, k));
        column++;
    }
    buf_putc(b, ']');
}

static void put_block(const struct text *x, struct buf *b, int dim, int64_t at, int indent) {
    if (dim == x->rank) return put_padded(x, b, at);
    if (dim == x->rank - 1) return put_row(x, b, dim, at, indent);
    int64_t n = n_shown(x, dim);
    bool cut = n < x->size[dim];
    buf_putc(b, '[');
    for (int64_t k = 0; k < n; k++) {
        if (k) put_break(b, x->rank - dim - 1, indent + 1);
        if (cut && k == x->vm->print.edge) {
            buf_puts(b, "...");
            put_break(b, x->rank - dim - 1, indent + 1);
        }
        put_block(x, b, dim + 1, at * x->size[dim] + shown(x, dim, k), indent + 1);
    }
    buf_putc(b, ']');
}

/* -- what follows -------------------------------------------------------------------------- */

static void put_suffix(struct buf *b, size_t start, int *column, int indent, int64_t line,
                       const char *suffix) {
    int n = (int)strlen(suffix);
    if (*column < 0) { /* the first: where does the last line end? */
        size_t last = b->n;
        while (last > start && b->p[last - 1] != '\n') last--;
        *column = (int)(b->n - last) + (last == start ? -indent : 0) + 2;
        if (last == start) *column = (int)(b->n - start) - indent + 2;
    }
    if (*column + n + 2 > line) {
        put_break(b, 1, indent);
        buf_puts(b, suffix);
        *column = indent + n;
    } else {
        buf_printf(b, ", %s", suffix);
        *column += n + 2;
    }
}

static const char *grad_suffix(struct vm *vm, const struct tensor *t) {
    const char *op = t->tape ? tape_name(t) : NULL;
    if (op) return arena_printf(vm->arena, "grad_fn=<%s>", op);
    return t->requires_grad && t->kind != INPUT_PARAMETER ? "requires_grad=True" : NULL;
}

static void put_suffixes(struct text *x, struct buf *b, size_t start, int indent, bool empty) {
    struct vm *vm = x->vm;
    const struct tensor *t = x->t;
    enum dtype d = t->meta.dtype;
    int column = -1;
    int64_t line = vm->print.line;
    if (t->on_cuda) put_suffix(b, start, &column, indent, line, "device='cuda:0'");
    if (empty && x->rank != 1) {
        struct buf size = buf_new(vm->arena);
        buf_puts(&size, "size=(");
        for (int i = 0; i < x->rank; i++)
            buf_printf(&size, "%s%lld", i ? ", " : "", (long long)x->size[i]);
        buf_puts(&size, ")");
        put_suffix(b, start, &column, indent, line, size.p);
    }
    bool usual = empty && !x->imag ? d == default_type(vm)
                                   : d == default_type(vm) || d == DT_I64 || d == DT_BOOL;
    const char *name = !x->imag ? dtype_torch_name(d) : d == DT_F64 ? "complex128" : "complex64";
    if (!usual || (empty && x->imag))
        put_suffix(b, start, &column, indent, line,
                   arena_printf(vm->arena, "dtype=torch.%s", name));
    const char *grad = grad_suffix(vm, t);
    if (grad) put_suffix(b, start, &column, indent, line, grad);
    if (t->kind == INPUT_PARAMETER && t->requires_grad)
        put_suffix(b, start, &column, indent, line, "requires_grad=True");
}

static struct text text_of(struct vm *vm, const struct tensor *t) {
    struct text x = {.vm = vm,
                     .t = t,
                     .rank = t->meta.rank,
                     .is_float = dtype_is_float(t->meta.dtype),
                     .is_bool = t->meta.dtype == DT_BOOL};
    int64_t n = eager_numel(vm, t);
    for (int i = 0; i < x.rank; i++) x.size[i] = eager_size(vm, t, i);
    x.summary = n > vm->print.threshold;
    x.values = eager_values(vm, t);
    if (n) choose_format(&x);
    return x;
}

static void put_text(struct text *x, struct buf *b) {
    if (x->t->kind == INPUT_PARAMETER) buf_puts(b, "Parameter containing:\n");
    static const char prefix[] = "tensor(";
    buf_puts(b, prefix);
    int indent = (int)sizeof prefix - 1;
    size_t start = b->n - (size_t)indent;
    bool empty = !eager_numel(x->vm, x->t);
    if (empty)
        buf_puts(b, "[]");
    else
        put_block(x, b, 0, 0, indent);
    put_suffixes(x, b, start, indent, empty);
    buf_putc(b, ')');
}

void tensor_print(struct vm *vm, struct buf *b, const struct tensor *t) {
    struct text x = text_of(vm, t);
    put_text(&x, b);
    value_free(&x.values);
}

void tensor_print_complex(struct vm *vm, struct buf *b, const struct tensor *real,
                          const struct tensor *imag) {
    struct text x = text_of(vm, real), y = text_of(vm, imag);
    x.imag = &y;
    put_text(&x, b);
    value_free(&x.values);
    value_free(&y.values);
}

/* format.c: the text of values: repr(), str() and format().
 *
 *   repr("a")  'a'      str(1.0)  1.0      format(3.14159, ".2f")  3.14      format(7, "03d")  007
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/vm.h"

enum { MAX_TEXT = 1 << 20 }; /* bytes of a repr(): lists may contain themselves */

static void put_repr(struct vm *vm, struct buf *b, struct py v, int depth);

static void put_constant(struct buf *b, struct constant k) { constant_print(b, &k); }

static void put_items(struct vm *vm, struct buf *b, const struct list *l, int depth) {
    for (uint32_t i = 0; i < l->n; i++) {
        if (i) buf_puts(b, ", ");
        put_repr(vm, b, l->at[i], depth + 1);
    }
}

static void put_tuple(struct vm *vm, struct buf *b, const struct list *l, int depth) {
    buf_puts(b, l->is_size ? "torch.Size([" : "(");
    put_items(vm, b, l, depth);
    buf_puts(b, l->is_size ? "])" : l->n == 1 ? ",)" : ")");
}

static void put_dict(struct vm *vm, struct buf *b, struct py v, int depth) {
    bool set = v.kind == PY_SET, first = true;
    if (set && !v.dict->n) {
        buf_puts(b, "set()");
        return;
    }
    buf_putc(b, '{');
    for (uint32_t i = 0; i < v.dict->entries.n; i++) {
        struct dict_entry e = v.dict->entries.at[i];
        if (!e.live) continue;
        if (!first) buf_puts(b, ", ");
        first = false;
        put_repr(vm, b, e.key, depth + 1);
        if (set) continue;
        buf_puts(b, ": ");
        put_repr(vm, b, e.value, depth + 1);
    }
    buf_putc(b, '}');
}

static void put_instance(struct vm *vm, struct buf *b, struct py v, int depth) {
    struct py out, args;
    if (vm_call_special(vm, v, "__repr__", NULL, 0, &out) && out.kind == PY_STR) {
        buf_puts(b, out.s);
    } else if (class_is(v.instance->class, vm->exceptions[EXC_BaseException]) &&
               dict_gets(v.instance->dict, "args", &args) && args.kind == PY_TUPLE) {
        buf_printf(b, "%s(", v.instance->class->name);
        put_items(vm, b, args.list, depth);
        buf_putc(b, ')');
    } else if (instance_base(vm, v, &out)) {
        put_repr(vm, b, out, depth);
    } else {
        buf_printf(b, "<%s object>", v.instance->class->name);
    }
}

static void put_range(struct buf *b, const struct range *r) {
    buf_printf(b, "range(%lld, %lld", (long long)r->start, (long long)r->stop);
    if (r->step != 1) buf_printf(b, ", %lld", (long long)r->step);
    buf_putc(b, ')');
}

static void put_tensor(struct vm *vm, struct buf *b, struct py v) {
    if (tensor_is_eager(vm, v)) return tensor_print(vm, b, v.tensor);
    if (vm->tracing)
        vm_break(vm, "print of a tensor", "return it instead; its shape and dtype may be printed");
    const struct meta *m = tensor_meta(vm, v);
    buf_printf(b, "tensor(%s", dtype_name(m->dtype));
    graph_print_shape(b, vm_graph(vm), m);
    buf_putc(b, ')');
}

/* The program's own classes are those of __main__. */
static void put_class(const struct vm *vm, struct buf *b, const struct class *c) {
    const char *where = c->module && !c->module->prelude             ? "__main__."
                        : c == vm->types[PY_TENSOR] || c == vm->size ? "torch."
                                                                     : "";
    buf_printf(b, "<class '%s%s'>", where, c->name);
}

static void put_repr(struct vm *vm, struct buf *b, struct py v, int depth) {
    if (depth > 50 || b->n > MAX_TEXT) {
        buf_puts(b, "...");
        return;
    }
    v = guard_contents(vm, v);
    switch (v.kind) {
    case PY_UNSET: buf_puts(b, "<unset>"); break;
    case PY_NONE: buf_puts(b, "None"); break;
    case PY_BOOL: buf_puts(b, v.b ? "True" : "False"); break;
    case PY_INT: buf_printf(b, "%lld", (long long)v.i); break;
    case PY_SYMINT:
    case PY_SYMFLOAT: put_repr(vm, b, symint_fix(vm, v), depth); break;
    case PY_FLOAT: put_constant(b, (struct constant){.kind = CONSTANT_FLOAT, .f = v.f}); break;
    case PY_STR:
        put_constant(
            b, (struct constant){.kind = CONSTANT_STRING, .n = (uint32_t)strlen(v.s), .s = v.s});
        break;
    case PY_TUPLE: put_tuple(vm, b, v.list, depth); break;
    case PY_LIST:
        if (v.list->view) buf_printf(b, "%s(", v.list->view);
        buf_putc(b, '[');
        put_items(vm, b, v.list, depth);
        buf_puts(b, v.list->view ? "])" : "]");
        break;
    case PY_DICT:
    case PY_SET: put_dict(vm, b, v, depth); break;
    case PY_RANGE: put_range(b, v.range); break;
    case PY_ELLIPSIS: buf_puts(b, "Ellipsis"); break;
    case PY_NOT_IMPLEMENTED: buf_puts(b, "NotImplemented"); break;
    case PY_FUNCTION: buf_printf(b, "<function %s>", v.function->code->qualname); break;
    case PY_BUILTIN: buf_printf(b, "<built-in function %s>", v.builtin->name); break;
    case PY_CLASS: put_class(vm, b, v.class); break;
    case PY_MODULE: buf_printf(b, "<module '%s'>", v.module->name); break;
    case PY_DTYPE: buf_printf(b, "torch.%s", dtype_torch_name(v.dtype)); break;
    case PY_INSTANCE: put_instance(vm, b, v, depth); break;
    case PY_TENSOR: put_tensor(vm, b, v); break;
    case PY_SLICE:
    case PY_ITER:
    case PY_GENERATOR:
    case PY_CELL:
    case PY_METHOD:
    case PY_SUPER:
    case PY_STATICMETHOD:
    case PY_CLASSMETHOD:
    case PY_PROPERTY: buf_printf(b, "<%s>", type_name(vm, v)); break;
    case PY_KIND_COUNT: break;
    }
}

const char *py_repr(struct vm *vm, struct py v) {
    struct buf b = buf_new(vm->arena);
    put_repr(vm, &b, v, 0);
    return b.p;
}

static const char *text_of_argument(struct vm *vm, struct py v) {
    vm_nest(vm);
    const char *text = py_text(vm, v);
    vm->n_nested--;
    return text;
}

const char *py_text(struct vm *vm, struct py v) {
    struct py out, args;
    if (v.kind == PY_STR) return v.s;
    if (v.kind == PY_INSTANCE) {
        if (vm_call_special(vm, v, "__str__", NULL, 0, &out) && out.kind == PY_STR) return out.s;
        bool error = class_is(v.instance->class, vm->exceptions[EXC_BaseException]);
        if (error && dict_gets(v.instance->dict, "args", &args) && args.kind == PY_TUPLE &&
            args.list->n < 2) {
            bool key = class_is(v.instance->class, vm->exceptions[EXC_KeyError]);
            if (!args.list->n) return "";
            return key ? py_repr(vm, args.list->at[0]) : text_of_argument(vm, args.list->at[0]);
        }
        if (error && dict_gets(v.instance->dict, "args", &args)) return py_repr(vm, args);
        if (instance_base(vm, v, &out) && !class_find(v.instance->class, "__repr__", &args))
            return py_text(vm, out);
    }
    return py_repr(vm, v);
}

/* -- format(v, spec):  [[fill]align][sign][#][0][width][,][.precision][type] --------------- */

struct spec {
    const char *fill; /* one character, perhaps of several bytes */
    int fill_bytes;
    char align, sign, type;
    bool zero, prefix;
    char group; /* ',' or '_' between thousands; 0: none */
    int width, precision;
};

static int read_number(const char **p) {
    int n = 0;
    for (; isdigit((unsigned char)**p); (*p)++) n = n < 10000 ? n * 10 + (**p - '0') : n;
    return n;
}

static bool read_spec(const char *p, struct spec *s) {
    *s = (struct spec){.fill = " ", .fill_bytes = 1, .precision = -1};
    int first = 1;
    while ((p[first] & 0xc0) == 0x80) first++;
    if (*p && p[first] && strchr("<>^=", p[first])) {
        s->fill = p;
        s->fill_bytes = first;
        p += first;
    }
    if (*p && strchr("<>^=", *p)) s->align = *p++;
    if (*p && strchr("+- ", *p)) s->sign = *p++;
    if (*p == '#') s->prefix = true, p++;
    if (*p == '0') s->zero = true, p++;
    s->width = read_number(&p);
    if (*p == ',' || *p == '_') s->group = *p++;
    if (*p == '.') p++, s->precision = read_number(&p);
    if (*p) s->type = *p++;
    return !*p && (!s->type || strchr("bdeEfFgGosxX%", s->type));
}

static const char *group_thousands(struct arena *a, const char *digits, char mark) {
    size_t whole = strspn(digits, "0123456789");
    struct buf b = buf_new(a);
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0) buf_putc(&b, mark);
        buf_putc(&b, digits[i]);
    }
    buf_puts(&b, digits + whole);
    return b.p;
}

/* Is it a type of integers only? */
static bool is_whole_type(char type) { return type && strchr("bdoxX", type); }

static const char *magnitude_of_int(struct arena *a, const struct spec *s, int64_t i) {
    unsigned long long u = i < 0 ? 0 - (unsigned long long)i : (unsigned long long)i;
    const char *prefix = s->prefix ? "0" : "", type[2] = {s->prefix ? s->type : 0, 0};
    switch (s->type) {
    case 'x': return arena_printf(a, "%s%s%llx", prefix, type, u);
    case 'X': return arena_printf(a, "%s%s%llX", prefix, type, u);
    case 'o': return arena_printf(a, "%s%s%llo", prefix, type, u);
    case 'b': break;
    default: return arena_printf(a, "%llu", u);
    }
    struct buf b = buf_new(a);
    buf_printf(&b, "%s%s", prefix, type);
    int bit = 63;
    while (bit > 0 && !(u >> bit & 1)) bit--;
    for (; bit >= 0; bit--) buf_putc(&b, u >> bit & 1 ? '1' : '0');
    return b.p;
}

/* printf's text with an infinity or NaN as Python has it, and a point where repr() has one. */
static const char *magnitude_of_float(struct vm *vm, const struct spec *s, double f) {
    struct arena *a = vm->arena;
    int precision = s->precision < 0 ? 6 : s->precision;
    if (!isfinite(f))
        return arena_printf(a, "%s%s",
                            isnan(f) ? s->type && strchr("EFG", s->type) ? "NAN" : "nan"
                            : s->type && strchr("EFG", s->type) ? "INF"
                                                                : "inf",
                            s->type == '%' ? "%" : "");
    switch (s->type) {
    case 'f':
    case 'F': return arena_printf(a, "%.*f", precision, f);
    case 'e': return arena_printf(a, "%.*e", precision, f);
    case 'E': return arena_printf(a, "%.*E", precision, f);
    case '%': return arena_printf(a, "%.*f%%", precision, f * 100);
    case 'g': return arena_printf(a, "%.*g", precision, f);
    case 'G': return arena_printf(a, "%.*G", precision, f);
    default: break;
    }
    if (s->precision < 0) return py_repr(vm, py_float(f));
    const char *text = arena_printf(a, "%.*g", precision, f);
    if (strpbrk(text, ".e")) return text;
    /* without a type one digit follows the point, and the exponent comes one digit earlier */
    bool room = (int)strlen(text) < (precision ? precision : 1);
    if (room) return arena_printf(a, "%s.0", text);
    char *scientific = arena_printf(a, "%.*e", precision ? precision - 1 : 0, f);
    char *e = strchr(scientific, 'e'), *end = e; /* 1.00e+02 -> 1e+02 */
    while (strchr(scientific, '.') && (end[-1] == '0' || end[-1] == '.')) end--;
    return arena_printf(a, "%.*s%s", (int)(end - scientific), scientific, e);
}

static const char *magnitude(struct vm *vm, const struct spec *s, struct py v) {
    bool whole = v.kind != PY_FLOAT;
    if (whole && (!s->type || is_whole_type(s->type)))
        return magnitude_of_int(vm->arena, s, v.kind == PY_INT ? v.i : v.b);
    return magnitude_of_float(vm, s, fabs(py_number(v)));
}

static const char *pad(struct arena *a, const struct spec *s, const char *sign, const char *body,
                       char align) {
    int width = 0;
    for (const char *p = body; *p; p++) width += (*p & 0xc0) != 0x80;
    int gap = s->width - width - (int)strlen(sign);
    if (gap < 0) gap = 0;
    int left = align == '>' ? gap : align == '^' ? gap / 2 : 0, middle = align == '=' ? gap : 0;
    int right = gap - left - middle;
    const char *fill = s->zero && !s->align ? "0" : s->fill;
    int n = s->zero && !s->align ? 1 : s->fill_bytes;
    struct buf b = buf_new(a);
    while (left-- > 0) buf_write(&b, fill, (size_t)n);
    buf_puts(&b, sign);
    while (middle-- > 0) buf_write(&b, fill, (size_t)n);
    buf_puts(&b, body);
    while (right-- > 0) buf_write(&b, fill, (size_t)n);
    return b.p;
}

static void raise_format_code(struct vm *vm, char type, struct py v) __attribute__((noreturn));
static void raise_format_code(struct vm *vm, char type, struct py v) {
    vm_raise(vm, EXC_ValueError, "Unknown format code '%c' for object of type '%s'", type,
             type_name(vm, v));
}

const char *py_format(struct vm *vm, struct py v, const char *text) {
    struct spec s;
    struct py spec = py_str(text), out;
    if (vm_call_special(vm, v, "__format__", &spec, 1, &out) && out.kind == PY_STR) return out.s;
    v = tensor_value(vm, symint_fix(vm, v));
    if (v.kind == PY_INSTANCE && vm_call_special(vm, v, "__str__", NULL, 0, &out)) v = out;
    v = py_plain(vm, v);
    if (tensor_is_eager(vm, v) && !v.tensor->meta.rank) v = eager_item(vm, v);
    if (!*text) return py_text(vm, v);
    if (tensor_is_eager(vm, v))
        vm_raise(vm, EXC_TypeError, "unsupported format string passed to Tensor.__format__");
    if (v.kind == PY_TENSOR) vm_break(vm, "formatting of a tensor", "format its shape or dtype");
    if (!read_spec(text, &s)) vm_raise(vm, EXC_ValueError, "invalid format specifier '%s'", text);
    if (!py_is_number(v)) {
        if (v.kind != PY_STR)
            vm_raise(vm, EXC_TypeError, "unsupported format string passed to %s.__format__",
                     type_name(vm, v));
        if (s.type && s.type != 's') raise_format_code(vm, s.type, v);
        if (s.sign || s.align == '=')
            vm_raise(vm, EXC_ValueError, "%s not allowed in string format specifier",
                     s.sign ? "Sign" : "'=' alignment");
        const char *body =
            s.precision < 0 ? v.s : arena_printf(vm->arena, "%.*s", s.precision, v.s);
        return pad(vm->arena, &s, "", body, s.align ? s.align : '<');
    }
    if (s.type == 's' || (v.kind == PY_FLOAT && is_whole_type(s.type)))
        raise_format_code(vm, s.type, v);
    const char *body = magnitude(vm, &s, v);
    if (s.group) body = group_thousands(vm->arena, body, s.group);
    double f = py_number(v);
    const char *sign = signbit(f) && !isnan(f) ? "-"
                       : s.sign == '+'         ? "+"
                       : s.sign == ' '         ? " "
                                               : "";
    return pad(vm->arena, &s, sign, body, s.align ? s.align : s.zero ? '=' : '>');
}

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

/* The containers around what is being written: one that holds itself is written as [...]. */
struct around {
    const void *container;
    const struct around *outer;
};

static void put_repr(struct vm *vm, struct buf *b, struct py v, const struct around *outer);

static void put_constant(struct buf *b, struct constant k) { constant_print(b, &k); }

static void put_items(struct vm *vm, struct buf *b, const struct list *l,
                      const struct around *outer) {
    for (uint32_t i = 0; i < l->n; i++) {
        if (i) buf_puts(b, ", ");
        put_repr(vm, b, l->at[i], outer);
    }
}

static void put_tuple(struct vm *vm, struct buf *b, const struct list *l,
                      const struct around *outer) {
    buf_puts(b, l->is_size ? "torch.Size([" : "(");
    put_items(vm, b, l, outer);
    buf_puts(b, l->is_size ? "])" : l->n == 1 ? ",)" : ")");
}

static void put_dict(struct vm *vm, struct buf *b, struct py v, const struct around *outer) {
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
        put_repr(vm, b, e.key, outer);
        if (set) continue;
        buf_puts(b, ": ");
        put_repr(vm, b, e.value, outer);
    }
    buf_putc(b, '}');
}

static void put_instance(struct vm *vm, struct buf *b, struct py v, const struct around *outer) {
    struct py out, args;
    if (vm_call_special(vm, v, "__repr__", NULL, 0, &out) && out.kind == PY_STR) {
        buf_puts(b, out.s);
    } else if (class_is(v.instance->class, vm->exceptions[EXC_BaseException]) &&
               dict_gets(v.instance->dict, "args", &args) && args.kind == PY_TUPLE) {
        buf_printf(b, "%s(", v.instance->class->name);
        put_items(vm, b, args.list, outer);
        buf_putc(b, ')');
    } else if (instance_base(vm, v, &out)) {
        put_repr(vm, b, out, outer);
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

/* Of a container that is being written already. */
static bool put_again(struct buf *b, struct py v, const struct around *outer) {
    bool list = v.kind == PY_LIST, tuple = v.kind == PY_TUPLE, set = v.kind == PY_SET;
    if (!list && !tuple && !set && v.kind != PY_DICT) return false;
    while (outer && outer->container != v.p) outer = outer->outer;
    if (outer) buf_puts(b, list ? "[...]" : tuple ? "(...)" : set ? "set(...)" : "{...}");
    return outer != NULL;
}

static void put_repr(struct vm *vm, struct buf *b, struct py v, const struct around *outside) {
    const struct around here = {v.p, outside}, *outer = &here;
    vm_deep(vm);
    vm_work(vm, 1);
    vm_need_bytes(vm, b->n);
    if (put_again(b, v, outside)) return;
    v = guard_contents(vm, v);
    switch (v.kind) {
    case PY_UNSET: buf_puts(b, "<unset>"); break;
    case PY_NONE: buf_puts(b, "None"); break;
    case PY_BOOL: buf_puts(b, v.b ? "True" : "False"); break;
    case PY_INT: buf_printf(b, "%lld", (long long)v.i); break;
    case PY_SYMINT:
    case PY_SYMFLOAT: put_repr(vm, b, symint_fix(vm, v), outer); break;
    case PY_FLOAT: put_constant(b, (struct constant){.kind = CONSTANT_FLOAT, .f = v.f}); break;
    case PY_STR:
        put_constant(
            b, (struct constant){.kind = CONSTANT_STRING, .n = (uint32_t)strlen(v.s), .s = v.s});
        break;
    case PY_TUPLE: put_tuple(vm, b, v.list, outer); break;
    case PY_LIST:
        if (v.list->view) buf_printf(b, "%s(", v.list->view);
        buf_putc(b, '[');
        put_items(vm, b, v.list, outer);
        buf_puts(b, v.list->view ? "])" : "]");
        break;
    case PY_DICT:
    case PY_SET: put_dict(vm, b, v, outer); break;
    case PY_RANGE: put_range(b, v.range); break;
    case PY_ELLIPSIS: buf_puts(b, "Ellipsis"); break;
    case PY_NOT_IMPLEMENTED: buf_puts(b, "NotImplemented"); break;
    case PY_FUNCTION: buf_printf(b, "<function %s>", v.function->code->qualname); break;
    case PY_BUILTIN: buf_printf(b, "<built-in function %s>", v.builtin->name); break;
    case PY_CLASS: put_class(vm, b, v.class); break;
    case PY_MODULE: buf_printf(b, "<module '%s'>", v.module->name); break;
    case PY_DTYPE: buf_printf(b, "torch.%s", dtype_torch_name(v.dtype)); break;
    case PY_INSTANCE: put_instance(vm, b, v, outer); break;
    case PY_TENSOR: put_tensor(vm, b, v); break;
    case PY_SLICE:
        buf_puts(b, "slice(");
        put_repr(vm, b, v.slice->start, outer);
        buf_puts(b, ", ");
        put_repr(vm, b, v.slice->stop, outer);
        buf_puts(b, ", ");
        put_repr(vm, b, v.slice->step, outer);
        buf_puts(b, ")");
        break;
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
    put_repr(vm, &b, v, NULL);
    return b.p;
}

const char *py_text(struct vm *vm, struct py v) {
    struct py out, args;
    if (v.kind == PY_STR) return v.s;
    vm_deep(vm);
    if (v.kind == PY_INSTANCE) {
        if (vm_call_special(vm, v, "__str__", NULL, 0, &out) && out.kind == PY_STR) return out.s;
        bool error = class_is(v.instance->class, vm->exceptions[EXC_BaseException]);
        if (error && dict_gets(v.instance->dict, "args", &args) && args.kind == PY_TUPLE &&
            args.list->n < 2) {
            bool key = class_is(v.instance->class, vm->exceptions[EXC_KeyError]);
            if (!args.list->n) return "";
            return key ? py_repr(vm, args.list->at[0]) : py_text(vm, args.list->at[0]);
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
    char group;               /* ',' or '_' between thousands; 0: none */
    int64_t width, precision; /* -1: none */
};

/* More than any str has, if it is that much. */
static int64_t read_number(const char **p) {
    int64_t n = 0;
    for (; isdigit((unsigned char)**p); (*p)++) n = n > INT64_MAX / 100 ? n : n * 10 + (**p - '0');
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
enum { MOST_DIGITS = 1100 }; /* a double has no more that are not 0 */

/* As printf's %.*f or another conversion; digits behind the last of the number are zeros. */
static const char *digits_of(struct vm *vm, char conversion, int64_t precision, double f) {
    const char format[] = {'%', '.', '*', conversion, 0};
    char text[MOST_DIGITS + 400];
    int64_t more = precision > MOST_DIGITS ? precision - MOST_DIGITS : 0;
    snprintf(text, sizeof text, format, (int)(precision - more), f);
    if (!more || strchr("gG", conversion)) return arena_strdup(vm->arena, text);
    vm_need_bytes(vm, (uint64_t)more + MOST_DIGITS);
    size_t n = strcspn(text, "eE");
    char *out = arena_alloc(vm->arena, sizeof text + (size_t)more);
    memcpy(out, text, n);
    memset(out + n, '0', (size_t)more);
    strcpy(out + n + more, text + n);
    return out;
}

static const char *magnitude_of_float(struct vm *vm, const struct spec *s, double f) {
    struct arena *a = vm->arena;
    int64_t precision = s->precision < 0 ? 6 : s->precision;
    if (precision > INT32_MAX) vm_raise(vm, EXC_ValueError, "precision too big");
    if (!isfinite(f))
        return arena_printf(a, "%s%s",
                            isnan(f) ? s->type && strchr("EFG", s->type) ? "NAN" : "nan"
                            : s->type && strchr("EFG", s->type) ? "INF"
                                                                : "inf",
                            s->type == '%' ? "%" : "");
    switch (s->type) {
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G': return digits_of(vm, s->type, precision, f);
    case '%': return arena_printf(a, "%s%%", digits_of(vm, 'f', precision, f * 100));
    default: break;
    }
    if (s->precision < 0) return py_repr(vm, py_float(f));
    const char *text = digits_of(vm, 'g', precision, f);
    if (strpbrk(text, ".e")) return text;
    /* without a type one digit follows the point, and the exponent comes one digit earlier */
    bool room = (int64_t)strlen(text) < (precision ? precision : 1);
    if (room) return arena_printf(a, "%s.0", text);
    const char *scientific = digits_of(vm, 'e', precision ? precision - 1 : 0, f);
    const char *e = strchr(scientific, 'e'), *end = e; /* 1.00e+02 -> 1e+02 */
    while (strchr(scientific, '.') && (end[-1] == '0' || end[-1] == '.')) end--;
    return arena_printf(a, "%.*s%s", (int)(end - scientific), scientific, e);
}

static const char *magnitude(struct vm *vm, const struct spec *s, struct py v) {
    bool whole = v.kind != PY_FLOAT;
    if (whole && (!s->type || is_whole_type(s->type)))
        return magnitude_of_int(vm->arena, s, v.kind == PY_INT ? v.i : v.b);
    return magnitude_of_float(vm, s, fabs(py_number(v)));
}

static const char *pad(struct vm *vm, const struct spec *s, const char *sign, const char *body,
                       char align) {
    int64_t gap = s->width - str_length(body, strlen(body)) - (int64_t)strlen(sign);
    if (gap < 0) gap = 0;
    vm_need_bytes(vm, (uint64_t)gap);
    int64_t left = align == '>' ? gap : align == '^' ? gap / 2 : 0, middle = align == '=' ? gap : 0;
    int64_t right = gap - left - middle;
    const char *fill = s->zero && !s->align ? "0" : s->fill;
    int n = s->zero && !s->align ? 1 : s->fill_bytes;
    struct buf b = buf_new(vm->arena);
    while (left-- > 0) buf_write(&b, fill, (size_t)n);
    buf_puts(&b, sign);
    while (middle-- > 0) buf_write(&b, fill, (size_t)n);
    buf_puts(&b, body);
    while (right-- > 0) buf_write(&b, fill, (size_t)n);
    return b.p;
}

/* The first n characters. */
static const char *str_head(struct arena *a, const char *s, int64_t n) {
    const char *end = s;
    for (; *end && ((*end & 0xc0) == 0x80 || n-- > 0); end++) continue;
    return arena_strndup(a, s, (size_t)(end - s));
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
        const char *body = s.precision < 0 ? v.s : str_head(vm->arena, v.s, s.precision);
        return pad(vm, &s, "", body, s.align ? s.align : '<');
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
    return pad(vm, &s, sign, body, s.align ? s.align : s.zero ? '=' : '>');
}

/* methods_str.c: methods of str, and the two ways of formatting before f-strings.
 *
 *   "a,b".split(",")                  ["a", "b"]
 *   "{:>3}|{x!r}".format(7, x="s")      7|'s'
 *   "%05.1f" % 2.25                   002.2
 *
 * A str is UTF-8: positions are counted in characters, letters and digits are those of ASCII. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture/vm.h"

static const char blanks[] = " \t\n\r\v\f";

static const char *text(struct vm *vm, struct py v) {
    if (v.kind != PY_STR) vm_raise(vm, EXC_TypeError, "expected str, got '%s'", type_name(vm, v));
    return v.s;
}

static struct py part(struct vm *vm, const char *s, size_t n) {
    return py_str(arena_strndup(vm->arena, s, n));
}

/* -- parts --------------------------------------------------------------------------------- */

NATIVE(str_join) {
    const struct list *l = vm_list(vm, v[1]);
    struct buf b = buf_new(vm->arena);
    for (uint32_t i = 0; i < l->n; i++) {
        if (i) buf_puts(&b, v[0].s);
        buf_puts(&b, text(vm, l->at[i]));
        vm_need_bytes(vm, b.n);
    }
    return py_str(b.p);
}

struct piece {
    const char *at;
    size_t n;
};
typedef VEC(struct piece) piece_vec;

/* What lies between the separators, or between runs of blanks if sep is None or missing. */
static piece_vec pieces_of(struct vm *vm, const char *s, struct py sep) {
    piece_vec out = {0};
    if (sep.kind == PY_UNSET || sep.kind == PY_NONE) {
        for (size_t n; *(s += strspn(s, blanks)); s += n) {
            n = strcspn(s, blanks);
            vec_push(vm->arena, &out, ((struct piece){s, n}));
        }
        return out;
    }
    if (!*sep.s) vm_raise(vm, EXC_ValueError, "empty separator");
    for (const char *next; (next = strstr(s, sep.s)); s = next + strlen(sep.s))
        vec_push(vm->arena, &out, ((struct piece){s, (size_t)(next - s)}));
    vec_push(vm->arena, &out, ((struct piece){s, strlen(s)}));
    return out;
}

/* Pieces from..to-1 with what is between them, as one item; at the end of the str, blanks too if
 * they are there. */
static void put_joined(struct vm *vm, const piece_vec *pieces, uint32_t from, uint32_t to,
                       struct list *out) {
    const struct piece *first = &pieces->at[from], *last = &pieces->at[to - 1];
    vec_push(vm->arena, out, part(vm, first->at, (size_t)(last->at + last->n - first->at)));
}

/* At most v[2] cuts, from the left or from the right. */
static struct py split_at(struct vm *vm, const struct py *v, bool right) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    piece_vec pieces = pieces_of(vm, v[0].s, v[1]);
    int64_t most = GIVEN(2) ? v[2].i : -1;
    uint32_t n = pieces.n, cuts = most < 0 || most + 1 >= n ? n - !!n : (uint32_t)most;
    bool at_blanks = v[1].kind != PY_STR;
    for (uint32_t i = 0; i < n && i <= cuts; i++) {
        if (right)
            put_joined(vm, &pieces, i ? n - cuts + i - 1 : 0, n - cuts + i, out.list);
        else
            put_joined(vm, &pieces, i, i < cuts ? i + 1 : n, out.list);
    }
    if (at_blanks && !right && cuts + 1 < n) /* the rest keeps the blanks at its end */
        out.list->at[cuts] = py_str(pieces.at[cuts].at);
    if (at_blanks && right && cuts + 1 < n) { /* and here those at its beginning */
        const struct piece *last = &pieces.at[n - cuts - 1];
        out.list->at[0] = part(vm, v[0].s, (size_t)(last->at + last->n - v[0].s));
    }
    return out;
}
NATIVE(str_split) { return split_at(vm, v, false); }
NATIVE(str_rsplit) { return split_at(vm, v, true); }

NATIVE(str_splitlines) {
    struct py out = py_list(vm->arena, PY_LIST, NULL, 0);
    bool keep = GIVEN(1) && vm_truth(vm, v[1]);
    for (const char *s = v[0].s; *s;) {
        size_t n = strcspn(s, "\n\r"), end = s[n] == '\r' && s[n + 1] == '\n' ? 2 : s[n] != 0;
        vec_push(vm->arena, out.list, part(vm, s, keep ? n + end : n));
        s += n + end;
    }
    return out;
}

NATIVE(str_expandtabs) {
    int64_t width = GIVEN(1) ? v[1].i : 8, column = 0;
    struct buf b = buf_new(vm->arena);
    for (const char *s = v[0].s; *s; s++) {
        int64_t blanks = *s == '\t' && width > 0 ? width - column % width : 0;
        vm_need_bytes(vm, b.n + (size_t)blanks);
        for (int64_t i = 0; i < blanks; i++) buf_putc(&b, ' ');
        if (*s != '\t') buf_putc(&b, *s);
        column += blanks + (*s != '\t' && (*s & 0xc0) != 0x80);
        if (*s == '\n' || *s == '\r') column = 0;
    }
    return py_str(b.n ? b.p : "");
}

static const char *last_of(const char *s, const char *what) {
    size_t n = strlen(s), m = strlen(what);
    for (size_t i = m <= n ? n - m + 1 : 0; i-- > 0;)
        if (!memcmp(s + i, what, m)) return s + i;
    return NULL;
}

static struct py partition(struct vm *vm, const struct py *v, bool right) {
    const char *s = v[0].s, *sep = v[1].s;
    if (!*sep) vm_raise(vm, EXC_ValueError, "empty separator");
    const char *at = right ? last_of(s, sep) : strstr(s, sep);
    struct py whole = py_str(s), empty = py_str("");
    struct py out[3] = {right ? empty : whole, empty, right ? whole : empty};
    if (at) {
        out[0] = part(vm, s, (size_t)(at - s));
        out[1] = py_str(sep);
        out[2] = py_str(at + strlen(sep));
    }
    return py_list(vm->arena, PY_TUPLE, out, 3);
}
NATIVE(str_partition) { return partition(vm, v, false); }
NATIVE(str_rpartition) { return partition(vm, v, true); }

/* -- searching ----------------------------------------------------------------------------- */

/* What of v[0] is looked at: s.find(sub, start, end). *from: characters before that. */
static const char *searched(struct vm *vm, const struct py *v, int64_t *from) {
    *from = 0;
    if (!GIVEN(2) && !GIVEN(3)) return v[0].s;
    struct slice *s = NEW(vm->arena, struct slice);
    *s = (struct slice){GIVEN(2) ? v[2] : py_none, GIVEN(3) ? v[3] : py_none, py_none};
    int64_t n = str_length(v[0].s, strlen(v[0].s)), step, count;
    slice_bounds(vm, s, n, from, &step, &count);
    return vm_subscript(vm, v[0], py_pointer(PY_SLICE, s)).s;
}

static struct py find(struct vm *vm, const struct py *v, bool last, bool raises) {
    int64_t from;
    const char *s = searched(vm, v, &from), *what = v[1].s;
    const char *at = last ? last_of(s, what) : strstr(s, what);
    if (!at && raises) vm_raise(vm, EXC_ValueError, "substring not found");
    return py_int(at ? from + str_length(s, (size_t)(at - s)) : -1);
}
NATIVE(str_find) { return find(vm, v, false, false); }
NATIVE(str_rfind) { return find(vm, v, true, false); }
NATIVE(str_index) { return find(vm, v, false, true); }
NATIVE(str_rindex) { return find(vm, v, true, true); }

NATIVE(str_count) {
    int64_t n = 0, from;
    const char *s = searched(vm, v, &from), *what = v[1].s;
    if (!*what) return py_int(str_length(s, strlen(s)) + 1);
    for (; (s = strstr(s, what)); s += strlen(what)) n++;
    return py_int(n);
}

static bool starts(const char *s, const char *p) { return !strncmp(s, p, strlen(p)); }

static bool ends(const char *s, const char *p) {
    return strlen(s) >= strlen(p) && !strcmp(s + strlen(s) - strlen(p), p);
}

typedef bool match(const char *s, const char *what);

static struct py matches_any(struct vm *vm, const struct py *v, match *f) {
    int64_t from;
    const char *s = searched(vm, v, &from);
    if (v[1].kind == PY_STR) return py_bool(f(s, v[1].s));
    bool any = false;
    for (uint32_t i = 0; i < v[1].list->n; i++) any |= f(s, v[1].list->at[i].s);
    return py_bool(any);
}
NATIVE(str_startswith) { return matches_any(vm, v, starts); }
NATIVE(str_endswith) { return matches_any(vm, v, ends); }

NATIVE(str_removeprefix) { return starts(v[0].s, v[1].s) ? py_str(v[0].s + strlen(v[1].s)) : v[0]; }
NATIVE(str_removesuffix) {
    return ends(v[0].s, v[1].s) ? part(vm, v[0].s, strlen(v[0].s) - strlen(v[1].s)) : v[0];
}

/* -- characters ---------------------------------------------------------------------------- */

static int swapped(int c) { return isupper(c) ? tolower(c) : toupper(c); }

static struct py mapped(struct vm *vm, const char *s, int (*f)(int)) {
    char *out = arena_strdup(vm->arena, s);
    for (char *p = out; *p; p++) *p = (unsigned char)*p < 128 ? (char)f((unsigned char)*p) : *p;
    return py_str(out);
}
NATIVE(str_upper) { return mapped(vm, v[0].s, toupper); }
NATIVE(str_lower) { return mapped(vm, v[0].s, tolower); }
NATIVE(str_swapcase) { return mapped(vm, v[0].s, swapped); }

/* The first letter of the str, or of each run of letters, in upper case, the others in lower. */
static struct py titled(struct vm *vm, const char *s, bool each) {
    char *out = arena_strdup(vm->arena, s);
    bool first = true;
    for (char *p = out; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 128) *p = (char)(first ? toupper(c) : tolower(c));
        first = each && !isalpha(c) && c < 128;
    }
    return py_str(out);
}
NATIVE(str_title) { return titled(vm, v[0].s, true); }
NATIVE(str_capitalize) { return titled(vm, v[0].s, false); }

/* Not empty, and each character is one. */
static struct py all_are(const char *s, int (*f)(int)) {
    bool all = *s != 0;
    for (; *s; s++) all &= (unsigned char)*s < 128 && f((unsigned char)*s);
    return py_bool(all);
}
NATIVE(str_istitle) {
    struct py title = titled(vm, v[0].s, true);
    bool letter = false;
    for (const char *s = v[0].s; *s; s++) letter |= isalpha((unsigned char)*s) != 0;
    return py_bool(letter && !strcmp(title.s, v[0].s));
}
NATIVE(str_isdigit) { return all_are(v[0].s, isdigit); }
NATIVE(str_isalpha) { return all_are(v[0].s, isalpha); }
NATIVE(str_isalnum) { return all_are(v[0].s, isalnum); }
NATIVE(str_isspace) { return all_are(v[0].s, isspace); }

static int is_name(int c) { return isalnum(c) || c == '_'; }
NATIVE(str_isidentifier) {
    return py_bool(all_are(v[0].s, is_name).b && !isdigit((unsigned char)*v[0].s));
}

/* At least one letter, and none that f would change. */
static struct py all_cased(const char *s, int (*f)(int)) {
    bool any = false, all = true;
    for (; *s; s++) {
        any |= isalpha((unsigned char)*s) != 0;
        all &= f((unsigned char)*s) == (unsigned char)*s;
    }
    return py_bool(any && all);
}
NATIVE(str_isupper) { return all_cased(v[0].s, toupper); }
NATIVE(str_islower) { return all_cased(v[0].s, tolower); }

static struct py strip(struct vm *vm, const struct py *v, bool left, bool right) {
    const char *chars = GIVEN(1) && v[1].kind != PY_NONE ? v[1].s : blanks;
    const char *s = v[0].s + (left ? strspn(v[0].s, chars) : 0);
    size_t n = strlen(s);
    while (right && n && strchr(chars, s[n - 1])) n--;
    return part(vm, s, n);
}
NATIVE(str_strip) { return strip(vm, v, true, true); }
NATIVE(str_lstrip) { return strip(vm, v, true, false); }
NATIVE(str_rstrip) { return strip(vm, v, false, true); }

NATIVE(str_replace) {
    const char *s = v[0].s, *from = v[1].s, *to = v[2].s;
    int64_t most = GIVEN(3) && v[3].i >= 0 ? v[3].i : INT64_MAX;
    struct buf b = buf_new(vm->arena);
    size_t n_from = strlen(from), n_to = strlen(to);
    if (!*from) { /* before every character and at the end */
        for (; *s; s++) {
            vm_need_bytes(vm, b.n);
            if ((*s & 0xc0) != 0x80 && most-- > 0) buf_write(&b, to, n_to);
            buf_putc(&b, *s);
        }
        if (most > 0) buf_puts(&b, to);
        return py_str(b.p);
    }
    for (const char *next; most-- > 0 && (next = strstr(s, from)); s = next + n_from) {
        vm_need_bytes(vm, b.n);
        buf_write(&b, s, (size_t)(next - s));
        buf_write(&b, to, n_to);
    }
    buf_puts(&b, s);
    return py_str(b.p);
}

/* `left` of the missing characters before the str, the others behind it. */
static struct py padded(struct vm *vm, const struct py *v, char align) {
    int64_t width = v[1].i, n = str_length(v[0].s, strlen(v[0].s));
    const char *fill = GIVEN(2) ? v[2].s : " ";
    if (str_length(fill, strlen(fill)) != 1)
        vm_raise(vm, EXC_TypeError, "The fill character must be exactly one character long");
    vm_need_bytes(vm, width > 0 ? (uint64_t)width : 0);
    int64_t gap = width > n ? width - n : 0;
    int64_t left = align == '>' ? gap : align == '<' ? 0 : gap / 2 + (gap & width & 1);
    struct buf b = buf_new(vm->arena);
    for (int64_t i = 0; i < left; i++) buf_puts(&b, fill);
    buf_puts(&b, v[0].s);
    for (int64_t i = left; i < gap; i++) buf_puts(&b, fill);
    return py_str(b.p);
}
NATIVE(str_ljust) { return padded(vm, v, '<'); }
NATIVE(str_rjust) { return padded(vm, v, '>'); }
NATIVE(str_center) { return padded(vm, v, '^'); }

NATIVE(str_zfill) {
    const char *s = v[0].s;
    size_t sign = *s == '-' || *s == '+';
    int64_t width = v[1].i;
    struct py zero = py_str("0");
    struct py digits =
        padded(vm, (struct py[]){py_str(s + sign), py_int(width - (int64_t)sign), zero}, '>');
    return py_strf(vm->arena, "%.*s%s", (int)sign, s, digits.s);
}

/* -- "{} {0} {name.attr[key]!r:>{width}}".format(...) ---------------------------------------- */

struct fields {
    struct vm *vm;
    const struct args *a;
    uint32_t next; /* of the fields without a number */
};

static void format_error(struct vm *vm, const char *why) __attribute__((noreturn));
static void format_error(struct vm *vm, const char *why) {
    vm_raise(vm, EXC_ValueError, "%s", why);
}

static bool all_digits(const char *s) { return *s && s[strspn(s, "0123456789")] == 0; }

/* "", "0" or "name" */
static struct py argument(struct fields *f, const char *name) {
    bool counted = !*name;
    if (counted || all_digits(name)) {
        uint32_t i = counted ? f->next++ : (uint32_t)strtoul(name, NULL, 10);
        if (i < f->a->n) return f->a->at[i];
        vm_raise(f->vm, EXC_IndexError,
                 "Replacement index %u out of range for positional args tuple", i);
    }
    for (uint32_t i = 0; i < f->a->n_named; i++)
        if (!strcmp(f->a->names[i], name)) return f->a->named[i];
    vm_raise_key(f->vm, py_str(name));
}

/* "name.attr[key]" */
static struct py field_value(struct fields *f, const char *path) {
    struct vm *vm = f->vm;
    size_t n = strcspn(path, ".[");
    struct py v = argument(f, arena_strndup(vm->arena, path, n));
    for (path += n; *path; path += n) {
        bool item = *path++ == '[';
        n = strcspn(path, item ? "]" : ".[");
        const char *name = arena_strndup(vm->arena, path, n);
        if (item && !path[n]) format_error(vm, "expected '}' before end of string");
        if (item)
            v = vm_subscript(vm, v,
                             all_digits(name) ? py_int(strtol(name, NULL, 10)) : py_str(name));
        else
            v = attribute_get(vm, v, name);
        n += item;
    }
    return v;
}

static const char *expand(struct fields *f, const char *s, const char *end, int depth);

/* What is between the braces: path [!conversion] [:spec]; the spec may have fields. */
static const char *field_text(struct fields *f, const char *s, const char *end, int depth) {
    struct vm *vm = f->vm;
    const char *p = s, *spec = "";
    while (p < end && *p != '!' && *p != ':') p++;
    struct py v = field_value(f, arena_strndup(vm->arena, s, (size_t)(p - s)));
    if (p < end && *p == '!') {
        if (p + 1 >= end || !strchr("rsa", p[1]))
            format_error(vm, "end of string while looking for conversion specifier");
        v = py_str(p[1] == 's' ? py_text(vm, v) : py_repr(vm, v));
        p += 2;
    }
    if (p < end && *p == ':') spec = expand(f, p + 1, end, depth + 1);
    return py_format(vm, v, spec);
}

/* The brace that closes the field which begins at s, behind its own. */
static const char *field_end(struct vm *vm, const char *s, const char *end) {
    for (int depth = 1; s < end; s++) {
        depth += (*s == '{') - (*s == '}');
        if (!depth) return s;
    }
    format_error(vm, "expected '}' before end of string");
}

static const char *expand(struct fields *f, const char *s, const char *end, int depth) {
    struct buf b = buf_new(f->vm->arena);
    if (depth > 1) format_error(f->vm, "Max string recursion exceeded");
    for (; s < end; s++) {
        if ((*s == '{' || *s == '}') && s + 1 < end && s[1] == *s) {
            buf_putc(&b, *s++);
        } else if (*s == '{') {
            if (s + 1 == end) format_error(f->vm, "Single '{' encountered in format string");
            const char *close = field_end(f->vm, s + 1, end);
            buf_puts(&b, field_text(f, s + 1, close, depth));
            s = close;
        } else if (*s == '}') {
            format_error(f->vm, "Single '}' encountered in format string");
        } else {
            buf_putc(&b, *s);
        }
    }
    return b.p;
}

NATIVE(str_format) {
    const char *s = v[0].s;
    return py_str(expand(&(struct fields){.vm = vm, .a = rest}, s, s + strlen(s), 0));
}

/* -- "%5.1f %(name)s" % values ----------------------------------------------------------------- */

struct percent {
    struct vm *vm;
    struct py values; /* a tuple, a dict, or the only one */
    uint32_t next;
};

static struct py next_value(struct percent *f) {
    bool tuple = f->values.kind == PY_TUPLE;
    if (f->next >= (tuple ? f->values.list->n : 1))
        vm_raise(f->vm, EXC_TypeError, "not enough arguments for format string");
    return tuple ? f->values.list->at[f->next++] : (f->next++, f->values);
}

/* %d of 2.7 is 2; %x wants an int. */
static struct py as_int(struct vm *vm, struct py v, char type) {
    if (v.kind == PY_FLOAT && strchr("diu", type))
        return vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_INT]), v);
    if (v.kind == PY_INT || v.kind == PY_BOOL) return v;
    vm_raise(vm, EXC_TypeError,
             strchr("diu", type) ? "%%%c format: a real number is required, not %s"
                                 : "%%%c format: an integer is required, not %s",
             type, type_name(vm, v));
}

/* One conversion: flags, width and precision become a format spec. */
static const char *put_conversion(struct percent *f, const char *s, struct buf *out) {
    struct vm *vm = f->vm;
    struct buf spec = buf_new(vm->arena);
    struct py v = {0}, key = {0};
    if (*s == '(') {
        const char *close = strchr(s, ')');
        if (!close) vm_raise(vm, EXC_ValueError, "incomplete format key");
        key = part(vm, s + 1, (size_t)(close - s - 1));
        if (f->values.kind != PY_DICT) vm_raise(vm, EXC_TypeError, "format requires a mapping");
        v = vm_subscript(vm, f->values, key);
        s = close + 1;
    }
    size_t n_flags = strspn(s, "-+ #0");
    const char *flags = arena_strndup(vm->arena, s, n_flags);
    s += n_flags;
    bool star = *s == '*', left = strchr(flags, '-');
    int64_t width = star ? vm_index(vm, next_value(f), "width") : strtol(s, NULL, 10);
    s += star ? 1 : strspn(s, "0123456789");
    const char *precision = "";
    if (*s == '.') {
        star = s[1] == '*';
        size_t n = star ? 0 : strspn(s + 1, "0123456789");
        precision = star ? arena_printf(vm->arena, ".%lld",
                                        (long long)vm_index(vm, next_value(f), "precision"))
                         : arena_printf(vm->arena, ".%.*s", (int)(n ? n : 1), n ? s + 1 : "0");
        s += star ? 2 : n + 1;
    }
    if (!*s) vm_raise(vm, EXC_ValueError, "incomplete format");
    char type = *s;
    if (type == '%') return buf_putc(out, '%'), s + 1;
    if (!strchr("diuoxXeEfFgGsrac", type))
        vm_raise(vm, EXC_ValueError, "unsupported format character '%c' (0x%x)", type, type);
    if (key.kind == PY_UNSET) v = next_value(f);
    bool words = strchr("srac", type), whole = strchr("diuoxX", type);
    if (type == 'c' && v.kind == PY_INT) {
        struct py chr;
        if (dict_gets(vm->builtins, "chr", &chr)) v = vm_call1(vm, chr, v);
    }
    if (words) v = py_str(type == 's' || type == 'c' ? py_text(vm, v) : py_repr(vm, v));
    if (!words) v = py_plain(vm, v);
    if (!words && v.kind == PY_TENSOR) v = vm_call0(vm, attribute_get(vm, v, "item"));
    if (whole) v = as_int(vm, v, type);
    if (!words && !whole && !py_is_number(v))
        vm_raise(vm, EXC_TypeError, "must be real number, not %s", type_name(vm, v));
    if (!words && !whole && v.kind != PY_FLOAT) v = py_float(py_number(v));
    buf_putc(&spec, left || width < 0 ? '<' : words || !strchr(flags, '0') ? '>' : '=');
    if (spec.p[0] == '=') spec.n = 0, buf_puts(&spec, "0=");
    if (!words && strchr(flags, '+'))
        buf_putc(&spec, '+');
    else if (!words && strchr(flags, ' '))
        buf_putc(&spec, ' ');
    if (!words && strchr(flags, '#')) buf_putc(&spec, '#');
    if (width) buf_printf(&spec, "%lld", (long long)(width < 0 ? -width : width));
    if (!whole) buf_puts(&spec, precision);
    buf_putc(&spec, words ? 's' : strchr("iu", type) ? 'd' : type);
    buf_puts(out, py_format(vm, v, spec.p));
    return s + 1;
}

struct py str_percent(struct vm *vm, const char *s, struct py values) {
    struct py base;
    if (instance_base(vm, values, &base) && (base.kind == PY_DICT || base.kind == PY_TUPLE))
        values = base;
    struct percent f = {.vm = vm, .values = values};
    struct buf out = buf_new(vm->arena);
    while (*s) {
        if (*s == '%')
            s = put_conversion(&f, s + 1, &out);
        else
            buf_putc(&out, *s++);
    }
    bool mapping = values.kind == PY_DICT || values.kind == PY_LIST;
    if (f.next < (values.kind == PY_TUPLE ? values.list->n : !mapping))
        vm_raise(vm, EXC_TypeError, "not all arguments converted during string formatting");
    return py_str(out.p);
}

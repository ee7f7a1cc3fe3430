/* axes.c: every assignment of a literal to a name in the module body is an axis; -D overrides it
 * where it stands.
 *
 *   rows = 4096              LOAD_CONST 4096; STORE_NAME rows      axes: rows=4096 eps=-0.5
 *   eps = -0.5               LOAD_CONST 0.5; UNARY_OP -; STORE_NAME eps
 *   total = rows * 2         no literal: follows rows
 *   b, h = 2, 4              LOAD_CONST (2, 4); UNPACK_SEQUENCE 2; STORE_NAME b; STORE_NAME h
 *
 * The override is put into a copy of the code, so that everything after it sees the new value. One
 * axis may be a symbol: what the body assigns to it first becomes the size s0. */
#include <string.h>

#include "capture/vm.h"

struct axis {
    const char *name;
    struct constant value;
};

static bool is_literal(const struct constant *k) {
    return k->kind == CONSTANT_FALSE || k->kind == CONSTANT_TRUE || k->kind == CONSTANT_INT ||
           k->kind == CONSTANT_FLOAT || k->kind == CONSTANT_STRING;
}

static bool is_number(const struct constant *k) {
    return k->kind == CONSTANT_INT || k->kind == CONSTANT_FLOAT;
}

/* The axis assigned by the instructions from i on; *n: how many they are. */
static bool axis_at(const struct code *c, uint32_t i, struct axis *out, uint32_t *n) {
    const struct instr *in = c->instrs + i;
    uint32_t left = c->n_instrs - i;
    if (left < 3 || in[0].op != OP_LOAD_CONST || !is_literal(&c->consts[in[0].a])) return false;
    out->value = c->consts[in[0].a];
    bool negative = in[1].op == OP_UNARY_OP && in[1].a == UNARY_NEG && is_number(&out->value);
    if (negative && out->value.kind == CONSTANT_INT) out->value.i = -out->value.i;
    if (negative && out->value.kind == CONSTANT_FLOAT) out->value.f = -out->value.f;
    *n = 2 + negative;
    if (in[*n - 1].op != OP_STORE_NAME) return false;
    out->name = c->names.at[in[*n - 1].a];
    return out->name[0] != '_';
}

/* How many names the instructions from i on assign the items of a constant tuple to, in its
 * order. */
static uint32_t unpacked_at(const struct code *c, uint32_t i) {
    const struct instr *in = c->instrs + i;
    uint32_t left = c->n_instrs - i;
    if (left < 3 || in[0].op != OP_LOAD_CONST || in[1].op != OP_UNPACK_SEQUENCE) return 0;
    const struct constant *k = &c->consts[in[0].a];
    if (k->kind != CONSTANT_TUPLE || k->n != (uint32_t)in[1].a || left < 2 + k->n) return 0;
    for (uint32_t j = 0; j < k->n; j++)
        if (in[2 + j].op != OP_STORE_NAME) return 0;
    return k->n;
}

/* -- values -------------------------------------------------------------------------------- */

/* `text` as Python reads it, by compiling it as an axis of its own. */
static bool parse_literal(struct arena *a, const char *text, struct constant *out) {
    struct diag quiet = diag_new(a);
    struct source *src = NEW(a, struct source);
    src->path = "-D";
    src->text = arena_printf(a, "axis = %s\n", text);
    src->len = strlen(src->text);
    const struct code *code = frontend_compile(a, src, &quiet);
    struct axis x;
    uint32_t n;
    if (!code || !axis_at(code, 0, &x, &n) || code->n_instrs != n + 2) return false;
    *out = x.value;
    return true;
}

static const char *type_of(const struct constant *k) {
    return k->kind == CONSTANT_INT      ? "an int"
           : k->kind == CONSTANT_FLOAT  ? "a float"
           : k->kind == CONSTANT_STRING ? "a str"
                                        : "a bool";
}

/* The override in the type of the axis; a string needs no quotes. */
static bool fit(struct arena *a, const struct constant *old, const char *text,
                struct constant *out) {
    bool parsed = parse_literal(a, text, out);
    if (old->kind == CONSTANT_STRING) {
        if (!parsed || out->kind != CONSTANT_STRING)
            *out =
                (struct constant){.kind = CONSTANT_STRING, .n = (uint32_t)strlen(text), .s = text};
        return true;
    }
    if (!parsed) return false;
    if (old->kind == CONSTANT_FLOAT && out->kind == CONSTANT_INT)
        *out = (struct constant){.kind = CONSTANT_FLOAT, .f = (double)out->i};
    bool is_bool = out->kind == CONSTANT_TRUE || out->kind == CONSTANT_FALSE;
    bool was_bool = old->kind == CONSTANT_TRUE || old->kind == CONSTANT_FALSE;
    return was_bool ? is_bool : out->kind == old->kind;
}

/* -- overrides ----------------------------------------------------------------------------- */

/* The instruction at i loads k instead. */
static void put_constant(struct arena *a, struct code *c, uint32_t i, struct constant k) {
    struct constant *consts = NEW_ARRAY(a, struct constant, c->n_consts + 1);
    memcpy(consts, c->consts, c->n_consts * sizeof *consts);
    consts[c->n_consts] = k;
    c->consts = consts;
    c->instrs[i].a = (int32_t)c->n_consts++;
}

/* The instructions from i on, n of them, assign k instead. */
static void put_override(struct arena *a, struct code *c, uint32_t i, uint32_t n,
                         struct constant k) {
    put_constant(a, c, i, k);
    if (n == 3) c->instrs[i + 1].a = UNARY_POS;
}

/* The tuple that the instruction at i loads has k as its item j instead. */
static void put_item(struct arena *a, struct code *c, uint32_t i, uint32_t j, struct constant k) {
    struct constant tuple = c->consts[c->instrs[i].a];
    struct constant *items = NEW_ARRAY(a, struct constant, tuple.n);
    memcpy(items, tuple.items, tuple.n * sizeof *items);
    items[j] = k;
    tuple.items = items;
    put_constant(a, c, i, tuple);
}

static struct code *copy_code(struct arena *a, const struct code *from) {
    struct code *c = NEW(a, struct code);
    *c = *from;
    c->instrs = NEW_ARRAY(a, struct instr, from->n_instrs);
    memcpy(c->instrs, from->instrs, from->n_instrs * sizeof *c->instrs);
    return c;
}

static const struct capture_axis *find_override(const struct capture_options *o, const char *name) {
    for (int i = o->n_axes; i-- > 0;)
        if (!strcmp(o->axes[i].name, name)) return &o->axes[i];
    return NULL;
}

static const char *known_names(struct arena *a, const struct axis *axes, uint32_t n) {
    struct buf b = buf_new(a);
    for (uint32_t i = 0; i < n; i++) buf_printf(&b, "%s%s", i ? ", " : "", axes[i].name);
    return n ? b.p : "(none)";
}

struct applying {
    struct arena *a;
    const struct capture_options *o;
    struct diag *diag;
    struct map seen; /* by name: its place in axes */
    VEC(struct axis) axes;
};

/* *overrides: x has another value now. False: that is none for it. */
static bool add_axis(struct applying *w, struct axis *x, bool *overrides) {
    const struct capture_axis *override = find_override(w->o, x->name);
    struct constant k;
    if (override && !fit(w->a, &x->value, override->value, &k)) {
        diag_fail(w->diag, WS_USAGE, "axis '%s' of %s is %s, and '%s' is not%s", x->name,
                  w->o->path, type_of(&x->value), override->value,
                  strchr(override->value, ':')
                      ? "; a range of sizes is FIRST:LAST:*FACTOR or FIRST:LAST:+STEP"
                      : "");
        return false;
    }
    *overrides = override != NULL;
    if (override) x->value = k;
    if (map_puts(&w->seen, x->name, w->axes.n)) vec_push(w->a, &w->axes, *x);
    return true;
}

/* The axes that the instructions from i on assign, if they do. */
static bool add_axes_at(struct applying *w, struct code *c, uint32_t i) {
    struct axis x;
    bool overrides;
    uint32_t n, unpacked = unpacked_at(c, i);
    for (uint32_t j = 0; j < unpacked; j++) {
        x.name = c->names.at[c->instrs[i + 2 + j].a];
        x.value = c->consts[c->instrs[i].a].items[j];
        if (!is_literal(&x.value) || x.name[0] == '_') continue;
        if (!add_axis(w, &x, &overrides)) return false;
        if (overrides) put_item(w->a, c, i, j, x.value);
    }
    if (!axis_at(c, i, &x, &n)) return true;
    if (!add_axis(w, &x, &overrides)) return false;
    if (overrides) put_override(w->a, c, i, n, x.value);
    return true;
}

const struct code *axes_apply(struct arena *a, const struct code *code,
                              const struct capture_options *o, const char **text, struct diag *d) {
    struct code *c = copy_code(a, code);
    struct applying w = {.a = a, .o = o, .diag = d, .seen = map_new(a)};
    for (uint32_t i = 0; i < c->n_instrs; i++)
        if (!add_axes_at(&w, c, i)) return NULL;
    for (int i = 0; i < o->n_axes; i++) {
        uint64_t k;
        if (map_gets(&w.seen, o->axes[i].name, &k)) continue;
        diag_fail(d, WS_USAGE, "%s has no axis '%s'; axes: %s", o->path, o->axes[i].name,
                  known_names(a, w.axes.at, w.axes.n));
        return NULL;
    }
    struct buf b = buf_new(a);
    for (uint32_t i = 0; i < w.axes.n; i++) {
        buf_printf(&b, "%s%s=", i ? " " : "", w.axes.at[i].name);
        constant_print(&b, &w.axes.at[i].value);
    }
    *text = b.p;
    return c;
}

/* -- an axis as a symbol ------------------------------------------------------------------- */

enum { SYMBOLIC_LEAST = 2 }; /* sizes 0 and 1 are special to broadcasting: never a symbol's */

struct py axes_store(struct vm *vm, const struct frame *f, const char *name, struct py v) {
    const char *axis = vm->options->symbolic;
    struct py before;
    if (!axis || f->module != vm->main || f->names != vm->main->dict || strcmp(name, axis) != 0 ||
        v.kind != PY_INT || dict_gets(f->names, name, &before))
        return v;
    if (v.i < SYMBOLIC_LEAST)
        vm_refuse(vm, "%s=%lld is no size that may vary", name, (long long)v.i);
    return py_symint(ex_size(vm->ex, "s0", SYMBOLIC_LEAST, v.i));
}

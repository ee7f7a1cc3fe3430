/* error.c: exceptions of the program, refusals of ours, and where in the user's file they belong.
 */
#include <string.h>

#include "capture/dynamo.h"

/* The innermost place in the user's own file: errors inside the prelude are shown at the call into
 * it, and those of a call that no line makes, of forward with what get_inputs() gives, at its def.
 */
struct span vm_place(const struct vm *vm, const struct source **src) {
    for (const struct frame *f = vm->frame; f; f = f->caller) {
        if (f->module->prelude) continue;
        *src = f->code->source;
        return f->pc < f->code->n_instrs ? f->code->spans[f->pc] : (struct span){0};
    }
    *src = vm->entered ? vm->entered->source : vm->file;
    if (!vm->entered) return (struct span){0};
    return source_line(*src, vm->entered->first_line);
}

struct span vm_line(const struct vm *vm) {
    const struct source *src = vm_graph(vm)->src;
    for (const struct frame *f = vm->frame; f; f = f->caller)
        if (f->code->source == src && f->pc < f->code->n_instrs) return f->code->spans[f->pc];
    return (struct span){0};
}

void vm_leave(struct vm *vm) { longjmp(*vm->escape, 1); }

void vm_raise_value(struct vm *vm, struct py error) {
    struct instance *e = error.instance;
    if (!e->raised_in) e->raised_at = vm_place(vm, &e->raised_in);
    vm->raised = error;
    vm_leave(vm);
}

static void raise_with(struct vm *vm, enum exception kind, struct py arg) __attribute__((noreturn));
static void raise_with(struct vm *vm, enum exception kind, struct py arg) {
    struct instance *e = NEW(vm->arena, struct instance);
    e->class = vm->exceptions[kind];
    e->dict = dict_new(vm->arena);
    dict_puts(vm->arena, e->dict, "args", py_list(vm->arena, PY_TUPLE, &arg, 1));
    vm_raise_value(vm, py_pointer(PY_INSTANCE, e));
}

void vm_raise(struct vm *vm, enum exception kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(vm->arena, fmt, ap);
    va_end(ap);
    raise_with(vm, kind, py_str(text));
}

bool vm_exception(struct vm *vm, struct py *v) {
    struct class *base = vm->exceptions[EXC_BaseException];
    if (v->kind == PY_CLASS && class_is(v->class, base)) *v = vm_call0(vm, *v);
    return v->kind == PY_INSTANCE && class_is(v->instance->class, base);
}

void vm_raise_key(struct vm *vm, struct py key) { raise_with(vm, EXC_KeyError, key); }

bool vm_try(struct vm *vm, enum exception kind, bool (*step)(struct vm *vm, void *ctx), void *ctx,
            bool *raised) {
    struct frame *frame = vm->frame;
    uint32_t n_calls = vm->n_calls, n_frames = vm->n_frames;
    jmp_buf here, *outer = vm->escape;
    vm->escape = &here;
    *raised = false;
    if (setjmp(here)) {
        vm->escape = outer;
        vm->frame = frame;
        vm->n_calls = n_calls;
        vm->n_frames = n_frames;
        if (vm->raised.kind != PY_INSTANCE ||
            !class_is(vm->raised.instance->class, vm->exceptions[kind]))
            vm_leave(vm);
        vm->raised = py_unset;
        *raised = true;
        return false;
    }
    bool ok = step(vm, ctx);
    vm->escape = outer;
    return ok;
}

/* A program's text on the user's terminal: what would steer it is spelt out, as repr() does. */
static const char *harmless(struct arena *a, const char *text) {
    struct buf b = buf_new(a);
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p, next = (unsigned char)p[1];
        bool c1 = c == 0xc2 && next >= 0x80 && next < 0xa0; /* U+0080 .. U+009F */
        if (!c1 && ((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t'))
            buf_putc(&b, *p);
        else
            buf_printf(&b, "\\x%02x", c1 ? next : c);
        p += c1;
    }
    return b.p;
}

void vm_refuse(struct vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = harmless(vm->arena, arena_vprintf(vm->arena, fmt, ap));
    va_end(ap);
    const struct source *src;
    struct span at = vm_place(vm, &src);
    diag_fail_at(vm->diag, WS_WRONG, src, at, "%s", text);
    vm->raised = py_unset;
    vm_leave(vm);
}

/* An operator's parts are too large, where it is not; why may be a whole message, with a place. */
static void refuse_size(void *ctx, const char *why) {
    struct vm *vm = ctx;
    size_t n = strlen(why);
    if (!n || why[n - 1] != '\n') vm_refuse(vm, "%s", why);
    diag_fail(vm->diag, WS_WRONG, "%.*s", (int)n - 1, why);
    vm->raised = py_unset;
    vm_leave(vm);
}

struct exprs *vm_sizes(struct vm *vm, struct arena *a) {
    struct exprs *p = exprs_new(a);
    ex_set_escape(p, (struct ex_escape){refuse_size, vm});
    return p;
}

void vm_break(struct vm *vm, const char *what, const char *instead) {
    const struct source *src;
    struct span at = vm_place(vm, &src);
    if (vm->trace && !vm->trace->reason) {
        vm->trace->reason = arena_printf(vm->home, "%s; %s", what, instead);
        vm->trace->where = at;
    }
    vm_refuse(vm, GRAPH_BREAK "data-dependent %s at line %u; %s", what, at.line, instead);
}

/* As the last lines of CPython's traceback: "file.py:12:9: TypeError: ..." and the caret. */
void vm_report(struct vm *vm, struct py error, const char *text) {
    const struct instance *e = error.instance;
    const struct source *src = e->raised_in ? e->raised_in : vm->file;
    diag_fail_at(vm->diag, WS_WRONG, src, e->raised_at, "%s%s%s", e->class->name, *text ? ": " : "",
                 harmless(vm->arena, text));
}

void vm_deep(struct vm *vm) {
    if (!budget_deep(vm->budget)) return;
    vm_raise(vm, EXC_RecursionError, "maximum recursion depth exceeded");
}

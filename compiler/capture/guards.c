/* guards.c: what must hold when the captured graph is called again, collected while forward reads
 * things.
 *
 *   L['x']: tensor f32 [4096, 4096] stride [4096, 1] requires_grad=False
 *   L['self'].eps == 1e-05
 *   G['dim'] == 4096
 *   len(L['self'].layers) == 3
 *
 * One guard for each fact, tensors first, then values in the order they were first read. */
#include "capture/vm.h"

static void add(struct vm *vm, const char *source, const char *text) {
    if (!map_puts(&vm->guarded, text, 1)) return;
    struct value_guard g = {source, text};
    vec_push(vm->arena, &vm->guards, g);
}

/* Give a value that was found at a place its source, unless it has one (invariants V1, V2). */
void guard_stamp(struct vm *vm, struct py *v, const char *fmt, ...) {
    if (v->source) return;
    va_list ap;
    va_start(ap, fmt);
    v->source = arena_vprintf(vm->arena, fmt, ap);
    va_end(ap);
}

void guard_value(struct vm *vm, struct py v) {
    if (!vm->tracing || !v.source || !*v.source || !py_is_constant(v)) return;
    const char *how = v.kind == PY_NONE || v.kind == PY_BOOL ? "is" : "==";
    add(vm, v.source, arena_printf(vm->arena, "%s %s %s", v.source, how, py_repr(vm, v)));
}

void guard_length(struct vm *vm, struct py v, int64_t n) {
    if (!vm->tracing || !v.source || !*v.source) return;
    add(vm, v.source, arena_printf(vm->arena, "len(%s) == %lld", v.source, (long long)n));
}

static void put_sizes(struct buf *b, const struct exprs *ex, const struct meta *m, bool strides) {
    buf_putc(b, '[');
    for (int i = 0; i < m->rank; i++) {
        if (i) buf_puts(b, ", ");
        ex_print(b, ex, strides ? m->stride[i] : m->size[i]);
    }
    buf_putc(b, ']');
}

const char *guards_text(struct vm *vm) {
    struct buf b = buf_new(vm->arena);
    const struct graph *g = vm->graph;
    for (uint32_t i = 0; i < g->inputs.n; i++) {
        const struct graph_input *in = &g->inputs.at[i];
        const struct meta *m = &g->nodes.at[in->node].meta;
        buf_printf(&b, "%s: tensor %s ", in->source, dtype_name(m->dtype));
        put_sizes(&b, vm->ex, m, false);
        buf_puts(&b, " stride ");
        put_sizes(&b, vm->ex, m, true);
        buf_printf(&b, " requires_grad=%s\n", vm->input_grad.at[in->init] ? "True" : "False");
    }
    for (uint32_t i = 0; i < vm->guards.n; i++) buf_printf(&b, "%s\n", vm->guards.at[i].text);
    return b.p;
}

/* -- checking ------------------------------------------------------------------------------ */

static const char *mismatch(struct arena *a, const struct exprs *p, const char *source,
                            const char *what, int index, ex expected, ex actual) {
    return arena_printf(a, "%s: %s mismatch at index %d: expected %s, actual %s", source, what,
                        index, ex_str(a, p, expected), ex_str(a, p, actual));
}

const char *guard_check(struct arena *a, const struct exprs *ex, const char *source,
                        const struct meta *then, const struct meta *now) {
    if (then->dtype != now->dtype)
        return arena_printf(a, "%s: dtype mismatch: expected %s, actual %s", source,
                            dtype_name(then->dtype), dtype_name(now->dtype));
    if (then->rank != now->rank)
        return arena_printf(a, "%s: rank mismatch: expected %d, actual %d", source, then->rank,
                            now->rank);
    for (int i = 0; i < then->rank; i++)
        if (then->size[i] != now->size[i])
            return mismatch(a, ex, source, "size", i, then->size[i], now->size[i]);
    for (int i = 0; i < then->rank; i++)
        if (then->stride[i] != now->stride[i])
            return mismatch(a, ex, source, "stride", i, then->stride[i], now->stride[i]);
    return NULL;
}

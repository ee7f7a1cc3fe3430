/* generator.c: functions that yield. A call makes a generator, which keeps the frame; each item is
 * a run of the frame up to its next `yield`.
 *
 *     def count(n):                  g = count(2)     frame at its first instruction
 *         for i in range(n):         next(g) -> 0     frame behind the yield, i = 0
 *             yield i                next(g) -> 1
 *                                    next(g)          returns: StopIteration
 *
 * A trace ends in front of a call that makes one, and of every use: what a graph stands for has no
 * middle to stop in. The items of a generator expression, which does nothing beside making them,
 * are made at once there. */
#include "capture/vm.h"

static struct generator *make(struct vm *vm, const struct frame *f) {
    struct generator *g = NEW(vm->arena, struct generator);
    g->frame = NEW(vm->arena, struct frame);
    *g->frame = *f;
    return g;
}

struct py generator_new(struct vm *vm, const struct frame *f) {
    if (vm->trace) vm_break(vm, "call of a generator", "return a list");
    return py_pointer(PY_GENERATOR, make(vm, f));
}

struct step {
    struct vm *vm;
    struct generator *g;
    struct py value;
};

static void run_on(void *ctx) {
    struct step *s = ctx;
    s->value = vm_run(s->vm, s->g->frame);
}

static void need_idle(struct vm *vm, const struct generator *g) {
    if (vm->trace) vm_break(vm, "use of a generator", "return a list");
    if (g->running) vm_raise(vm, EXC_ValueError, "generator already executing");
}

/* StopIteration inside would look like the end. */
static __attribute__((noreturn)) void leave(struct vm *vm) {
    struct py stop = py_pointer(PY_CLASS, vm->exceptions[EXC_StopIteration]);
    if (vm->raised.kind != PY_UNSET && is_instance(vm, vm->raised, stop))
        vm_raise(vm, EXC_RuntimeError, "generator raised StopIteration");
    vm_leave(vm);
}

static bool go_on(struct vm *vm, struct generator *g, struct py *out) {
    struct step s = {vm, g, py_unset};
    if (vm->n_calls >= MAX_CALLS || vm->n_frames >= MAX_FRAMES)
        vm_raise(vm, EXC_RecursionError, "maximum recursion depth exceeded: a generator");
    g->started = g->running = true;
    g->frame->yielded = false;
    bool ok = vm_protect(vm, run_on, &s);
    g->running = false;
    g->ended = !ok || !g->frame->yielded;
    if (!ok) leave(vm);
    if (g->ended) return g->result = s.value, false;
    return *out = s.value, true;
}

struct py generator_all(struct vm *vm, const struct frame *f) {
    struct generator *g = make(vm, f);
    struct py items = py_list(vm->arena, PY_LIST, NULL, 0), item;
    for (; go_on(vm, g, &item); g->frame->resumed = true) {
        g->frame->sent = py_none;
        vec_push(vm->arena, items.list, item);
    }
    return vm_iter(vm, items);
}

bool generator_next(struct vm *vm, struct generator *g, struct py sent, struct py *out) {
    need_idle(vm, g);
    if (g->ended) return false;
    if (!g->started && sent.kind != PY_NONE)
        vm_raise(vm, EXC_TypeError, "can't send non-None value to a just-started generator");
    g->frame->resumed = g->started;
    g->frame->sent = sent;
    return go_on(vm, g, out);
}

/* Go on with an exception at the yield. */
static bool throw_in(struct vm *vm, struct generator *g, struct py error, struct py *out) {
    need_idle(vm, g);
    if (g->ended || !g->started) {
        g->ended = true;
        vm_raise_value(vm, error);
    }
    g->frame->resumed = true;
    g->frame->thrown = error;
    return go_on(vm, g, out);
}

/* In `yield from it`, what comes in goes on to it. */
static bool pass_on(struct vm *vm, struct py it, struct py sent, struct py thrown, struct py *out) {
    bool throws = thrown.kind != PY_UNSET;
    if (it.kind == PY_GENERATOR)
        return throws ? throw_in(vm, it.generator, thrown, out)
                      : generator_next(vm, it.generator, sent, out);
    if (throws) vm_raise_value(vm, thrown);
    *out = vm_call1(vm, attribute_get(vm, it, "send"), sent);
    return true;
}

bool generator_resume(struct vm *vm, struct frame *f, struct py *out) {
    struct py sent = f->sent, thrown = f->thrown;
    bool throws = thrown.kind != PY_UNSET, from = f->code->instrs[f->pc].a;
    f->resumed = false;
    f->sent = f->thrown = py_unset;
    if (from && (throws || sent.kind != PY_NONE)) {
        if (pass_on(vm, f->stack[f->depth - 1], sent, thrown, out)) return f->yielded = true;
        sent = py_none;
    } else if (throws) {
        vm_raise_value(vm, thrown);
    }
    f->stack[f->depth++] = sent;
    f->pc++;
    return false;
}

/* ---- methods --------------------------------------------------------------------------------- */

void generator_stop(struct vm *vm, struct generator *g) {
    struct py stop = py_pointer(PY_CLASS, vm->exceptions[EXC_StopIteration]), result = g->result;
    bool bare = result.kind == PY_NONE || result.kind == PY_UNSET;
    g->result = py_none; /* said once */
    stop = vm_call(vm, stop, &(struct args){.at = &result, .n = !bare});
    if (!bare) dict_puts(vm->arena, stop.instance->dict, "value", result);
    vm_raise_value(vm, stop);
}

NATIVE(generator_iter) { return v[0]; }

static struct py send(struct vm *vm, struct generator *g, struct py value) {
    struct py item;
    if (!generator_next(vm, g, value, &item)) generator_stop(vm, g);
    return item;
}

NATIVE(generator_next) { return send(vm, v[0].generator, py_none); }

NATIVE(generator_send) { return send(vm, v[0].generator, v[1]); }

/* throw(KeyError("k")), throw(KeyError), and the older throw(KeyError, "k"). */
NATIVE(generator_throw) {
    struct py item, error = v[1], value = v[2];
    bool has_value = GIVEN(2) && v[2].kind != PY_NONE;
    if (has_value && vm_exception(vm, &value))
        error = value;
    else if (has_value && error.kind == PY_CLASS)
        error = vm_call1(vm, error, value);
    if (!vm_exception(vm, &error))
        vm_raise(vm, EXC_TypeError,
                 "exceptions must be classes or instances deriving from BaseException, not %s",
                 type_name(vm, error));
    if (!throw_in(vm, v[0].generator, error, &item)) generator_stop(vm, v[0].generator);
    return item;
}

struct closing {
    struct generator *g;
    bool yielded;
};

static bool close_it(struct vm *vm, void *ctx) {
    struct closing *c = ctx;
    struct py item, error = vm_call0(vm, py_pointer(PY_CLASS, vm->exceptions[EXC_GeneratorExit]));
    c->yielded = throw_in(vm, c->g, error, &item);
    return true;
}

NATIVE(generator_close) {
    struct closing c = {v[0].generator, false};
    bool left;
    need_idle(vm, c.g);
    if (c.g->ended) return py_none;
    vm_try(vm, EXC_GeneratorExit, close_it, &c, &left);
    if (c.yielded) vm_raise(vm, EXC_RuntimeError, "generator ignored GeneratorExit");
    return py_none;
}

/* test_capture_natives.c: every function in C is called with everything: each number of arguments,
 * each kind of value in each place, keywords, and calls at random; as a script computes, before
 * forward, and while it is traced. Whatever comes of it is a value, an exception, or a refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "capture/dynamo.h"
#include "capture/script.h"

/* One of every kind of value; Evil changes what is being worked on whenever it is asked something.
 */
static const char program[] =
    "import torch\n"
    "import math, functools, itertools, collections\n"
    "class Plain:\n"
    "    attribute = 3\n"
    "class Error(Exception):\n"
    "    pass\n"
    "class False_(Exception):\n"
    "    def __new__(cls, *args):\n"
    "        return 5\n"
    "class Text(str):\n"
    "    pass\n"
    "class Items(list):\n"
    "    pass\n"
    "class Evil:\n"
    "    def change(self, *args):\n"
    "        for x in Evil.held:\n"
    "            if isinstance(x, list):\n"
    "                del x[:len(x) // 2]\n"
    "                x += [4] * 9 if len(x) < 30 else []\n"
    "            if isinstance(x, dict):\n"
    "                x.clear()\n"
    "        return 1\n"
    "    __index__ = __len__ = __float__ = __add__ = __radd__ = __call__ = change\n"
    "    def __eq__(self, other):\n"
    "        return self.change() == 2\n"
    "    __lt__ = __gt__ = __contains__ = __eq__\n"
    "    def __bool__(self):\n"
    "        return self.change() == 1\n"
    "    def __iter__(self):\n"
    "        self.change()\n"
    "        return iter([1, 2])\n"
    "    def __getitem__(self, i):\n"
    "        self.change()\n"
    "        raise IndexError(i)\n"
    "    def __str__(self):\n"
    "        return self.change()\n"
    "    __repr__ = __format__ = __str__\n"
    "def function(a=1, *rest):\n"
    "    return a\n"
    "def generator():\n"
    "    yield 1\n"
    "    yield 2\n"
    "def make():\n"
    "    evil, loop, ring = Evil(), [1], {}\n"
    "    loop.append(loop)\n"
    "    ring['a'] = ring\n"
    "    started = generator()\n"
    "    next(started)\n"
    "    values = [None, True, 0, -1, 7, 2**31, 2**62, -2**62 * 2, 0.5, float('nan'), "
    "float('inf'), '', 'a',\n"
    "        'a b\\u00e9{}%s', 'torch', (), (1, 'a'), ('a', 'b'), [], [3, 1, 2], ['x', 'y'], [1, "
    "evil, 3], loop, {}, {'a': 1},\n"
    "        {1: 2, 'b': evil}, ring, set(), {1, 2}, range(3), slice(1, None), slice(evil, 2, "
    "evil), ..., NotImplemented,\n"
    "        torch.float32, torch.ones(2, 3), torch.tensor(3), torch.tensor([True, False]), "
    "torch.ones(()),\n"
    "        [torch.ones(2), torch.ones(2)], [torch.ones(2), None], int, float, Plain, Error, "
    "False_, Exception,\n"
    "        Plain(), Error('e'), Text('t'), Items([1]), evil, function, len, math.sqrt, "
    "torch.relu, evil.change,\n"
    "        [].append, generator(), started, iter([1]), property(function), "
    "staticmethod(function),\n"
    "        classmethod(function), super(Error, Error('s')), torch, math, torch.nn.Linear(2, 2),\n"
    "        torch.nn.Parameter(torch.ones(2)), torch.Size([2]), {}.keys(), {'a': 1}.items(), "
    "torch.device('cpu'),\n"
    "        collections.OrderedDict(a=1)]\n"
    "    Evil.held = [v for v in values if isinstance(v, (list, dict)) and v is not loop and v is "
    "not ring]\n"
    "    return values\n";

enum { MOST_MEMORY = 128 << 20 };
/* Of a call: some would go on without end, and it may not matter where one is stopped. The values
 * have to be there, however busy the machine is. */
static const double CALL_SECONDS = 0.1, VALUES_SECONDS = 60;

struct fixture {
    struct arena *arena;
    struct source source;
    struct diag diag;
    struct budget budget; /* of one call */
    struct capture_options options;
    struct script_options script;
    struct script_counts counts;
    struct vm *vm;
    const struct code *code;
    struct list *values;
    uint64_t random;
    uint32_t n_calls, n_answers;
    /* what the calls are, for step functions */
    const struct native *native;
    struct args args;
    char folder[64];
};

enum mode { SCRIPT, WORKLOAD, TRACING };

/* Why a protected step has left. */
static const char *reason(const struct fixture *f) {
    struct py args;
    if (f->diag.text) return f->diag.text;
    if (f->vm->raised.kind != PY_INSTANCE) return "no reason";
    bool said = dict_gets(f->vm->raised.instance->dict, "args", &args) && args.kind == PY_TUPLE &&
                args.list->n && args.list->at[0].kind == PY_STR;
    return said ? args.list->at[0].s : f->vm->raised.instance->class->name;
}

static void run_program(void *ctx) {
    struct fixture *f = ctx;
    vm_run_module(f->vm, f->vm->main, f->code);
}

static void make_values(void *ctx) {
    struct fixture *f = ctx;
    struct py make;
    assert_true(dict_gets(f->vm->main->dict, "make", &make));
    f->values = vm_call0(f->vm, make).list;
}

static void open_vm(struct fixture *f, const char *text, bool eager) {
    f->arena = arena_new();
    f->diag = diag_new(f->arena);
    f->source = (struct source){"natives.py", text, strlen(text)};
    f->code = frontend_compile(f->arena, &f->source, &f->diag);
    if (!f->code) fail_msg("%s", f->diag.text);
    f->vm = vm_new(f->arena, &f->options, &f->source, "__main__", &f->diag);
    f->vm->eager = eager;
    f->vm->grad_enabled = true;
    f->vm->script = &f->script;
    f->vm->counts = &f->counts;
    if (!vm_protect(f->vm, run_program, f)) fail_msg("the program failed: %s", reason(f));
}

static void close_vm(struct fixture *f) {
    vm_charge(f->vm, NULL);
    eager_close(f->vm);
    arena_free(f->arena);
}

static uint32_t below(struct fixture *f, uint32_t n) {
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->random >> 33) % n;
}

static void call_native(void *ctx) {
    struct fixture *f = ctx;
    native_call(f->vm, f->native, &f->args);
}

/* What an exception says is made by the program's own code, too. */
static void print_raised(void *ctx) {
    struct fixture *f = ctx;
    py_text(f->vm, f->vm->raised);
}

static void settle(struct fixture *f, double seconds) {
    struct vm *vm = f->vm;
    vm->raised = py_unset;
    vm->frame = NULL;
    vm->n_calls = vm->n_frames = 0;
    f->budget = budget_new(&(struct budget_limits){.seconds = seconds, .memory = MOST_MEMORY});
    vm_charge(vm, &f->budget);
    vm->direct = false;
    vm->grad_enabled = true;
    f->diag = diag_new(f->arena);
}

static void check_call(struct fixture *f, enum mode mode) {
    struct vm *vm = f->vm;
    settle(f, CALL_SECONDS);
    vm->tracing = mode == TRACING;
    bool ok = vm_protect(vm, call_native, f);
    f->n_calls++;
    f->n_answers += ok;
    if (!ok && vm->raised.kind == PY_UNSET && f->diag.status == WS_OK)
        fail_msg("%s: left without a reason", f->native->signature);
    if (!ok && vm->raised.kind == PY_INSTANCE) vm_protect(vm, print_raised, f);
    vm->tracing = false;
}

static void renew(struct fixture *f) {
    settle(f, VALUES_SECONDS);
    if (!vm_protect(f->vm, make_values, f))
        fail_msg("%s: no values left: %s", f->native->signature, reason(f));
}

/* A value that the parameter takes, if there is one. */
static struct py fitting(struct fixture *f, uint32_t i) {
    const struct native *n = f->native;
    bool self = n->self != PY_UNSET && i == 0;
    for (uint32_t k = 0; k < f->values->n; k++) {
        struct py v = f->values->at[k];
        if (self                                                     ? v.kind == n->self
            : i < n->n && n->parameters[i].kinds & 1u << KIND_int    ? v.kind == PY_INT && v.i > 0
            : i < n->n && n->parameters[i].kinds & 1u << KIND_str    ? v.kind == PY_STR
            : i < n->n && n->parameters[i].kinds & 1u << KIND_tensor ? v.kind == PY_TENSOR
                                                                     : k == 4)
            return v;
    }
    return f->values->at[below(f, f->values->n)];
}

static void check_native(struct fixture *f, enum mode mode, uint32_t n_random) {
    struct py at[MAX_ARGUMENTS + 2], named[2];
    const char *names[2];
    uint32_t most = f->native->n + (f->native->rest ? 3 : 1);
    for (uint32_t n = 0; n <= most; n++) {
        for (uint32_t place = 0; place < (n ? n : 1); place++) {
            renew(f);
            for (uint32_t i = 0; i < n; i++) at[i] = fitting(f, i);
            for (uint32_t k = 0; k < f->values->n; k++) {
                struct py was = at[place];
                if (n) at[place] = f->values->at[k];
                f->args = (struct args){.at = at, .n = n};
                check_call(f, mode);
                if (n) at[place] = was;
                if (!n) break;
            }
        }
    }
    for (uint32_t r = 0; r < n_random; r++) {
        if (r % 16 == 0) renew(f);
        uint32_t n = below(f, most + 1), n_named = below(f, 3);
        for (uint32_t i = 0; i < n; i++)
            at[i] = i == 0 && below(f, 2) ? fitting(f, 0) : f->values->at[below(f, f->values->n)];
        for (uint32_t i = 0; i < n_named; i++) {
            names[i] = f->native->n && below(f, 4)
                           ? f->native->parameters[below(f, f->native->n)].name
                           : "other";
            named[i] = f->values->at[below(f, f->values->n)];
        }
        f->args = (struct args){at, n, names, named, n_named};
        check_call(f, mode);
    }
}

/* What files are written goes into a folder of its own. */
static void enter_folder(struct fixture *f) {
    strcpy(f->folder, "/tmp/test_capture_natives_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(chdir(f->folder), 0);
}

static void leave_folder(struct fixture *f) {
    char command[128];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -r '%s'", f->folder);
    assert_int_equal(system(command), 0);
}

static uint64_t seed = 22;

static void fuzz(enum mode mode, uint32_t n_random) {
    struct fixture f = {.random = seed};
    open_vm(&f, program, mode == SCRIPT);
    enter_folder(&f);
    for (uint32_t i = 0, n = f.vm->natives.n; i < n; i++) {
        if (arena_used(f.arena) > MOST_MEMORY) {
            close_vm(&f);
            open_vm(&f, program, mode == SCRIPT);
        }
        f.native = &f.vm->natives.at[i];
        if (getenv("NATIVE") && !strstr(f.native->signature, getenv("NATIVE"))) continue;
        if (getenv("VERBOSE")) fprintf(stderr, "%s\n", f.native->signature);
        check_native(&f, mode, n_random);
    }
    leave_folder(&f);
    print_message("%u calls, %u of them answered\n", f.n_calls, f.n_answers);
    if (!getenv("NATIVE")) assert_true(f.n_answers > f.n_calls / 20);
    close_vm(&f);
}

static void test_script(void **state) { fuzz(SCRIPT, 64); }
static void test_workload(void **state) { fuzz(WORKLOAD, 16); }
static void test_tracing(void **state) { fuzz(TRACING, 16); }

/* -- what only the prelude may call --------------------------------------------------------- */

struct walk {
    struct map seen;
    struct arena *arena;
    uint32_t n;
};

static void visit(void *ctx, struct py v);

static void visit_dict(struct walk *w, const struct dict *d) {
    for (uint32_t i = 0; d && i < d->entries.n; i++) {
        if (!d->entries.at[i].live) continue;
        if (native_is_private(d->entries.at[i].value))
            fail_msg("a program can see %s", d->entries.at[i].value.builtin->name);
        visit(w, d->entries.at[i].value);
    }
}

static void visit(void *ctx, struct py v) {
    struct walk *w = ctx;
    uint64_t before;
    if (native_is_private(v)) fail_msg("a program can see %s", v.builtin->name);
    if (!py_is_object(v)) return;
    const char *key = arena_printf(w->arena, "%p", v.p);
    if (map_gets(&w->seen, key, &before)) return;
    map_puts(&w->seen, key, 1);
    w->n++;
    if (v.kind == PY_MODULE && strcmp(v.module->name, "_warpsmith")) visit_dict(w, v.module->dict);
    if (v.kind == PY_CLASS) visit_dict(w, v.class->dict);
    if (v.kind == PY_INSTANCE) visit_dict(w, v.instance->dict);
    if (v.kind == PY_FUNCTION) {
        visit_dict(w, v.function->attributes);
        visit_dict(w, v.function->kwdefaults);
        for (uint32_t i = 0; v.function->defaults && i < v.function->defaults->n; i++)
            visit(w, v.function->defaults->at[i]);
        return; /* what it closes over is its own */
    }
    py_visit(v, visit, w);
}

static void test_private(void **state) {
    static const char imports[] = "import torch, argparse, contextlib, copy, einops, enum, "
                                  "inspect, io, json, logging, math, numpy, numpy.random\n"
                                  "import os, os.path, pathlib, random, sys, time, tqdm, torch.nn, "
                                  "torch.amp, torch.autograd, torch.cuda, typing\n"
                                  "import torch.autograd.functional, torch.distributions, "
                                  "torch._dynamo, torch.compiler, torch.linalg, pickle\n"
                                  "import torch.nn.functional, torch.nn.init, torch.nn.utils, "
                                  "torch.nn.utils.rnn, torch.optim, torch.special\n"
                                  "import torch.optim.lr_scheduler, torch.utils.data, "
                                  "torch.nn.attention, torch.fx, torch.utils.checkpoint\n";
    struct fixture f = {0};
    open_vm(&f, imports, true);
    struct walk w = {.seen = map_new(f.arena), .arena = f.arena};
    for (uint32_t i = 0; i < f.vm->natives.n; i++) {
        struct py v;
        if (f.vm->natives.at[i].place != PLACE_PRIVATE) continue;
        if (dict_gets(f.vm->builtins, f.vm->natives.at[i].leaf, &v))
            assert_false(native_is_private(v));
    }
    visit_dict(&w, f.vm->builtins);
    visit_dict(&w, f.vm->main->dict);
    assert_true(w.n > 1000);
    close_vm(&f);
}

/* A signature says of each parameter what the call has to check. */
static void test_signatures(void **state) {
    struct arena *a = arena_new();
    struct natives all = natives_new(a);
    const struct native *insert = NULL, *min = NULL;
    for (uint32_t i = 0; i < all.n; i++) {
        if (!strcmp(all.at[i].name, "list.insert")) insert = &all.at[i];
        if (!strcmp(all.at[i].name, "min")) min = &all.at[i];
    }
    assert_true(insert && insert->n == 3 && insert->n_nameless == 3 && insert->changes);
    assert_int_equal(insert->parameters[1].kinds, 1u << KIND_int);
    assert_true(min && min->n == 2 && min->n_positional == 0 && min->rest && min->symbolic);
    assert_true(min->parameters[0].optional);
    arena_free(a);
}

/* A tensor of 2^31 elements is refused here, as a small machine would. The address sanitizer takes
 * more address space than any limit, and of memory some for itself. */
static void limit_memory(void) {
#ifdef __SANITIZE_ADDRESS__
    struct rlimit most = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    setrlimit(RLIMIT_RSS, &most);
#else
    struct rlimit most = {(rlim_t)3 << 30, (rlim_t)3 << 30};
    setrlimit(RLIMIT_AS, &most);
#endif
}

/* The first argument, if there is one, is the seed. */
int main(int argc, char **argv) {
    limit_memory();
    if (argc > 1) seed = strtoull(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures), cmocka_unit_test(test_private),
        cmocka_unit_test(test_script), cmocka_unit_test(test_workload),
        cmocka_unit_test(test_tracing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

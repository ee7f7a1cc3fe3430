/* vm.c: the loop: one frame's instructions, its stack, and what happens when an exception leaves
 * one of them.
 *
 * One handler per instruction, named after it; opcodes.def says what each does. A handler that
 * fails does not return (vm.h). Values a handler needs after a call that may fail stay on the stack
 * only if the handler of the exception wants them: the stack is cut to the depth of the try block.
 */
#include "capture/dynamo.h"

#include <string.h>

/* -- the stack ----------------------------------------------------------------------------- */

static void push(struct frame *f, struct py v) {
    WS_ASSERT(f->depth < f->code->max_stack);
    f->stack[f->depth++] = v;
}

static struct py pop(struct frame *f) {
    WS_ASSERT(f->depth > 0);
    return f->stack[--f->depth];
}

static struct py *peek(struct frame *f, int32_t from_top) {
    WS_ASSERT(from_top >= 1 && (uint32_t)from_top <= f->depth);
    return &f->stack[f->depth - (uint32_t)from_top];
}

static const struct py *pop_n(struct frame *f, uint32_t n) {
    WS_ASSERT(n <= f->depth);
    f->depth -= n;
    return f->stack + f->depth;
}

static void jump(struct frame *f, int32_t to) { f->pc = (uint32_t)to - 1; } /* the loop adds one */

/* -- names --------------------------------------------------------------------------------- */

static void no_module(struct vm *vm, const char *name) __attribute__((noreturn));

static struct py load_global(struct vm *vm, struct frame *f, const char *name) {
    struct py v;
    if (f->module->hidden && dict_gets(f->module->hidden, name, &v)) return v;
    if (dict_gets(f->module->dict, name, &v)) {
        if (!f->module->prelude) stamp_global(vm, &v, f->module, name);
        return v;
    }
    if (dict_gets(vm->builtins, name, &v)) return v;
    static const struct {
        const char *name, *module, *as;
    } written[] = {/* in the prelude */
                   {"complex", "torch._complex", "Number"},
                   {"bytes", "builtins", "bytes"},
                   {"bytearray", "builtins", "bytearray"},
                   {"memoryview", "builtins", "memoryview"}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (!strcmp(name, written[i].name))
            return attribute_get(vm, py_pointer(PY_MODULE, module_import(vm, written[i].module)),
                                 written[i].as);
    if (f->module->any_of) no_module(vm, f->module->any_of); /* which may have had it */
    bool files = !strcmp(name, "open");                      /* of which scripts have some */
    vm_raise(vm, EXC_NameError, "name '%s' is not defined%s", name,
             files ? ": a workload reads no files" : "");
}

static struct py load_name(struct vm *vm, struct frame *f, const char *name) {
    struct py v;
    if (f->names != f->module->dict && dict_gets(f->names, name, &v)) return v;
    return load_global(vm, f, name);
}

/* Where a name of the module or class body goes. What only the prelude may call goes where only its
 * own code looks: not into the module's namespace, which every program can read. */
static struct dict *names_for(struct vm *vm, struct frame *f, struct py v) {
    bool hides = f->module->prelude && f->names == f->module->dict && native_is_private(v);
    if (!hides) return f->names;
    if (!f->module->hidden) f->module->hidden = dict_new(vm->home);
    return f->module->hidden;
}

/* What is stored while tracing cannot be found there before the call. */
static struct py stored(const struct vm *vm, struct py v) {
    if (vm->tracing && !v.source) v.source = &place_traced;
    return v;
}

static void delete_name(struct vm *vm, struct dict *d, const char *name) {
    if (!dict_delete(vm->arena, d, py_str(name)))
        vm_raise(vm, EXC_NameError, "name '%s' is not defined", name);
}

static struct py load_fast(struct vm *vm, struct frame *f, int32_t i) {
    struct py v = f->locals[i];
    if (vm->trace && place_is_known(v.source)) v = f->locals[i] = trace_read(vm, v);
    if (v.kind == PY_UNSET)
        vm_raise(vm, EXC_UnboundLocalError,
                 "cannot access local variable '%s' where it is not associated with a value",
                 f->code->locals.at[i]);
    return v;
}

/* The cell, or what stands for it in a trace. */
static struct cell *cell_at(struct vm *vm, const struct frame *f, int32_t i, bool write) {
    struct cell *c = f->cells[i];
    if (c->shadow) return c->shadow;
    if (write && vm->trace && !c->traced)
        vm_refuse(vm, "assigning to a variable of a function outside the trace");
    return c;
}

static struct py load_deref(struct vm *vm, struct frame *f, int32_t i) {
    const struct cell *c = cell_at(vm, f, i, false);
    const char *name = code_cell_name(f->code, i);
    struct py v = c->v;
    bool own = (uint32_t)i < f->code->cells.n; /* a variable of this function's */
    if (v.kind == PY_UNSET)
        vm_raise(vm, own ? EXC_UnboundLocalError : EXC_NameError,
                 "cannot access %s variable '%s' where it is not associated with a value%s",
                 own ? "local" : "free", name, own ? "" : " in enclosing scope");
    bool of_program = !f->module->prelude || (vm->trace && place_is_known(f->source));
    bool of_function = vm->trace || place_is_known(f->source);
    if (!c->traced && of_program)
        stamp_cell(vm, &v, of_function ? f->source : NULL, (uint32_t)i, name);
    if (vm->trace) guard_read(vm, v);
    return v;
}

static struct py load_classderef(struct vm *vm, struct frame *f, int32_t i) {
    struct py v;
    if (dict_gets(f->names, code_cell_name(f->code, i), &v)) return v;
    return load_deref(vm, f, i);
}

static void make_cell(struct vm *vm, struct frame *f, struct instr in) {
    struct cell *c = NEW(vm->arena, struct cell);
    c->v = in.b < 0 ? py_unset : f->locals[in.b];
    c->traced = vm->tracing;
    f->cells[in.a] = c;
}

/* -- building values ----------------------------------------------------------------------- */

static struct py build_sequence(struct vm *vm, struct frame *f, enum py_kind kind, int32_t n) {
    return py_list(vm->arena, kind, pop_n(f, (uint32_t)n), (uint32_t)n);
}

static struct py build_set(struct vm *vm, struct frame *f, int32_t n) {
    const struct py *at = pop_n(f, (uint32_t)n);
    struct py s = py_dict(vm->arena, PY_SET);
    for (int32_t i = 0; i < n; i++) {
        vm_need_key(vm, at[i]);
        dict_put(vm->arena, s.dict, at[i], py_none);
    }
    return s;
}

static struct py build_dict(struct vm *vm, struct frame *f, int32_t n) {
    const struct py *at = pop_n(f, 2 * (uint32_t)n);
    struct py d = py_dict(vm->arena, PY_DICT);
    for (int32_t i = 0; i < n; i++) {
        vm_need_key(vm, at[2 * i]);
        dict_put(vm->arena, d.dict, at[2 * i], at[2 * i + 1]);
    }
    return d;
}

static struct py build_slice(struct vm *vm, struct frame *f, int32_t n) {
    const struct py *at = pop_n(f, (uint32_t)n);
    struct slice *s = NEW(vm->arena, struct slice);
    *s = (struct slice){at[0], at[1], n == 3 ? at[2] : py_none};
    return py_pointer(PY_SLICE, s);
}

static struct py build_string(struct vm *vm, struct frame *f, int32_t n) {
    const struct py *at = pop_n(f, (uint32_t)n);
    struct buf b = buf_new(vm->arena);
    for (int32_t i = 0; i < n; i++) buf_puts(&b, at[i].s);
    return py_str(b.p);
}

static struct py format_value(struct vm *vm, struct frame *f, struct instr in) {
    struct py spec = in.b ? pop(f) : py_str("");
    struct py v = pop(f);
    if (in.a == CONVERT_STR) v = py_str(py_text(vm, v));
    if (in.a == CONVERT_REPR || in.a == CONVERT_ASCII) v = py_str(py_repr(vm, v));
    return py_str(py_format(vm, v, spec.s));
}

static void list_extend(struct vm *vm, struct list *l, struct py more) {
    const struct list *items = vm_list(vm, more);
    for (uint32_t i = 0; i < items->n; i++) vec_push(vm->arena, l, items->at[i]);
}

static void set_update(struct vm *vm, struct dict *s, struct py more) {
    const struct list *items = vm_list(vm, more);
    for (uint32_t i = 0; i < items->n; i++) {
        vm_need_key(vm, items->at[i]);
        dict_put(vm->arena, s, items->at[i], py_none);
    }
}

static void dict_merge(struct vm *vm, struct dict *d, struct py more, bool once) {
    struct py keys;
    more = py_plain(vm, more);
    if (more.kind == PY_INSTANCE && class_find(more.instance->class, "keys", &keys))
        more = vm_call1(vm, py_pointer(PY_CLASS, vm->types[PY_DICT]), more);
    if (more.kind != PY_DICT)
        vm_raise(vm, EXC_TypeError, "'%s' object is not a mapping", type_name(vm, more));
    more = guard_contents(vm, more);
    for (uint32_t i = 0; once && i < more.dict->entries.n; i++) {
        struct dict_entry e = more.dict->entries.at[i];
        struct py old;
        if (e.live && dict_get(vm->arena, d, e.key, &old))
            vm_raise(vm, EXC_TypeError, "got multiple values for keyword argument '%s'",
                     py_text(vm, e.key));
    }
    dict_update(vm->arena, d, more.dict);
}

static void map_add(struct vm *vm, struct frame *f, int32_t to) {
    struct py v = pop(f), k = pop(f);
    vm_need_key(vm, k);
    dict_put(vm->arena, peek(f, to)->dict, k, v);
}

static void unpack(struct vm *vm, struct frame *f, uint32_t before, uint32_t after, bool rest) {
    struct py v = pop(f);
    if (v.kind == PY_TENSOR && !tensor_meta(vm, v)->rank)
        vm_raise(vm, EXC_TypeError, "iteration over a 0-d tensor");
    if (v.kind <= PY_FLOAT)
        vm_raise(vm, EXC_TypeError, "cannot unpack non-iterable %s object", type_name(vm, v));
    bool plain = v.kind == PY_TUPLE && !v.source; /* whose items are as they stand there */
    const struct list *items = plain ? v.list : vm_list(vm, v);
    uint32_t need = before + after;
    if (items->n < need)
        vm_raise(vm, EXC_ValueError, "not enough values to unpack (expected %s%u, got %u)",
                 rest ? "at least " : "", need, items->n);
    if (!rest && items->n > need)
        vm_raise(vm, EXC_ValueError, "too many values to unpack (expected %u)", need);
    for (uint32_t i = 0; i < after; i++) push(f, items->at[items->n - 1 - i]);
    if (rest) push(f, py_list(vm->arena, PY_LIST, items->at + before, items->n - need));
    for (uint32_t i = before; i-- > 0;) push(f, items->at[i]);
}

/* -- calls --------------------------------------------------------------------------------- */

static const char **keyword_names(struct vm *vm, const struct frame *f, int32_t k, uint32_t *n) {
    *n = 0;
    if (k < 0) return NULL;
    const struct constant *names = &f->code->consts[k];
    const char **at = NEW_ARRAY(vm->arena, const char *, names->n);
    for (uint32_t i = 0; i < names->n; i++) at[i] = names->items[i].s;
    *n = names->n;
    return at;
}

static struct args pop_args(struct vm *vm, struct frame *f, struct instr in) {
    uint32_t n = (uint32_t)in.a, n_named;
    const char **names = keyword_names(vm, f, in.b, &n_named);
    struct py *at = NEW_ARRAY(vm->arena, struct py, n);
    const struct py *from = pop_n(f, n);
    if (n) memcpy(at, from, n * sizeof *at);
    return (struct args){at, n - n_named, names, at + (n - n_named), n_named};
}

static struct py call(struct vm *vm, struct frame *f, struct instr in) {
    struct args a = pop_args(vm, f, in);
    struct py callee = pop(f);
    return vm_call(vm, callee, &a);
}

static struct py call_ex(struct vm *vm, struct frame *f, bool named) {
    struct py d = named ? pop(f) : py_dict(vm->arena, PY_DICT);
    struct py t = pop(f), callee = pop(f);
    uint32_t n = 0;
    d = guard_contents(vm, d);
    const char **names = NEW_ARRAY(vm->arena, const char *, d.dict->n);
    struct py *values = NEW_ARRAY(vm->arena, struct py, d.dict->n);
    for (uint32_t i = 0; i < d.dict->entries.n; i++) {
        struct dict_entry e = d.dict->entries.at[i];
        if (!e.live) continue;
        if (e.key.kind != PY_STR) vm_raise(vm, EXC_TypeError, "keywords must be strings");
        names[n] = e.key.s;
        values[n++] = e.value;
    }
    const struct list *l = vm_list(vm, t);
    return vm_call(vm, callee, &(struct args){l->at, l->n, names, values, n});
}

static struct py make_function(struct vm *vm, struct frame *f, struct instr in) {
    struct function *fn = NEW(vm->arena, struct function);
    fn->code = f->code->consts[in.b].code;
    fn->module = f->module;
    if (in.a & MAKE_CLOSURE) {
        const struct list *cells = pop(f).list;
        fn->closure = NEW_ARRAY(vm->arena, struct cell *, cells->n);
        for (uint32_t i = 0; i < cells->n; i++) fn->closure[i] = cells->at[i].cell;
    }
    if (in.a & MAKE_KWDEFAULTS) fn->kwdefaults = pop(f).dict;
    if (in.a & MAKE_DEFAULTS) fn->defaults = pop(f).list;
    return py_pointer(PY_FUNCTION, fn);
}

static struct py build_class(struct vm *vm, struct frame *f, struct instr in) {
    struct args bases = pop_args(vm, f, in);
    struct py body = pop(f);
    struct py *at = NEW_ARRAY(vm->arena, struct py, bases.n + 1);
    at[0] = body;
    if (bases.n) memcpy(at + 1, bases.at, bases.n * sizeof *at);
    bases.at = at;
    bases.n++;
    return vm_build_class(vm, &bases);
}

/* Does a try or with wait for what is raised here? */
bool vm_may_be_caught(const struct vm *vm) {
    for (const struct frame *f = vm->frame; f; f = f->caller)
        for (uint32_t i = 0; i < f->blocks.n; i++)
            if (!f->blocks.at[i].handler && !f->blocks.at[i].passes) return true;
    return false;
}

/* -- checks -------------------------------------------------------------------------------- */

/* Does all that is done from pc on end in raising an exception? */
static bool only_raises(const struct code *c, uint32_t pc) {
    static const enum opcode makes_text[] = {
        OP_LOAD_CONST,   OP_LOAD_FAST, OP_LOAD_GLOBAL,          OP_LOAD_NAME,
        OP_LOAD_DEREF,   OP_LOAD_ATTR, OP_LOAD_ASSERTION_ERROR, OP_BINARY_SUBSCR,
        OP_BUILD_STRING, OP_BINARY_OP, OP_BUILD_TUPLE,          OP_FORMAT_VALUE,
        OP_CALL,
    };
    for (; pc < c->n_instrs && c->instrs[pc].op != OP_RAISE; pc++) {
        bool text = false;
        for (size_t i = 0; i < sizeof makes_text / sizeof *makes_text; i++)
            text |= c->instrs[pc].op == makes_text[i];
        if (!text) return false;
    }
    return pc < c->n_instrs && c->instrs[pc].a > 0;
}

/* In a workload, a check of a tensor's values that its graph cannot make: assert (x >= 0).all(). It
 * is taken to hold. */
static bool checks(struct vm *vm, const struct frame *f, struct instr in, struct py v) {
    if (v.kind != PY_TENSOR || vm->eager || !vm->tracing || vm_may_be_caught(vm)) return false;
    if (only_raises(f->code, f->pc + 1) == only_raises(f->code, (uint32_t)in.a)) return false;
    return !tensor_is_eager(vm, tensor_value(vm, v));
}

/* -- imports ------------------------------------------------------------------------------- */

static void no_module(struct vm *vm, const char *name) {
    vm_raise(vm, EXC_ModuleNotFoundError,
             "no module named '%s'; a workload may import torch, math, einops, much of numpy, and "
             "much of the standard library",
             name);
}

/* One that the program made, types.ModuleType('x'), or that has another name, and that it put into
 * sys.modules. */
static struct module *made_module(struct vm *vm, const char *name) {
    struct py all, m;
    struct module *sys = module_import(vm, "sys");
    if (!dict_gets(sys->dict, "modules", &all) || all.kind != PY_DICT) return NULL;
    if (!dict_gets(all.dict, name, &m) || m.kind != PY_MODULE) return NULL;
    bool own_name = !strcmp(m.module->name, name);
    return own_name && (m.module->prelude || m.module->folder) ? NULL : m.module;
}

/* Ours come before a neighbour of their name, unless they are parts of somebody else's package, of
 * which the whole may lie here. */
static struct module *find_module(struct vm *vm, const struct module *from, const char *name) {
    static const char *const foreign[] = {"einops",    "timm",     "tqdm",
                                          "packaging", "beartype", "typeguard"};
    struct module *m = from->prelude ? NULL : made_module(vm, name);
    bool ours = name[0] != '.';
    if (m) return m;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        ours &= strncmp(name, foreign[i], strlen(foreign[i])) != 0;
    if (ours || from->prelude) m = module_import(vm, name);
    if (!m && !from->prelude) m = neighbour_import(vm, from, name);
    return m || ours ? m : module_import(vm, name);
}

/* What an import statement of the program would find there; None: there is none. */
NATIVE(python_module_named) {
    const struct frame *f = vm->frame;
    while (f && f->module->prelude) f = f->caller;
    struct module *m = find_module(vm, f ? f->module : vm->main, v[0].s);
    return m ? py_pointer(PY_MODULE, m) : py_none;
}

/* import torch.nn.utils.spectral_norm as f: what the package has under that name, where a function
 * has taken the place of the module that it is from. */
static bool import_function(struct vm *vm, const char *name, struct py *out) {
    const char *dot = strrchr(name, '.');
    if (!dot || vm->frame->module->prelude) return false;
    struct module *of =
        find_module(vm, vm->frame->module, arena_strndup(vm->arena, name, (size_t)(dot - name)));
    return of && of->prelude && dict_gets(of->dict, dot + 1, out) && out->kind == PY_FUNCTION;
}

/* Of what is not there, a module whose names can be imported, not used: public files import plots,
 * loggers and data sets beside the model. A program that is ready for an ImportError gets it. */
static struct py import_name(struct vm *vm, const char *name, bool leaf) {
    struct module *m = find_module(vm, vm->frame->module, name);
    struct py function;
    if (!m && import_function(vm, name, &function)) m = function.function->module;
    if (!m && !vm_may_be_caught(vm)) m = module_missing(vm, name);
    if (!m) no_module(vm, name);
    if (!leaf) {
        const char *first = arena_strndup(vm->arena, name, strcspn(name, "."));
        m = find_module(vm, vm->frame->module, first);
        if (!m) m = module_missing(vm, first);
    }
    return py_pointer(PY_MODULE, m);
}

/* What import_module() has of one that is not there: the same. */
NATIVE(python_module_absent) {
    if (vm_may_be_caught(vm)) no_module(vm, v[0].s);
    return py_pointer(PY_MODULE, module_missing(vm, v[0].s));
}

/* __import__("a.b"), without names to take from it: a. */
NATIVE(python_import) {
    bool leaf = GIVEN(3) && vm_truth(vm, v[3]);
    if (GIVEN(4) && vm_index(vm, v[4], "level"))
        vm_refuse(vm, "__import__() of a relative name is not supported");
    const struct module *from = vm->frame ? vm->frame->module : vm->main;
    struct module *m = find_module(vm, from, v[0].s);
    if (m && !leaf && strchr(v[0].s, '.'))
        m = find_module(vm, from, arena_strndup(vm->arena, v[0].s, strcspn(v[0].s, ".")));
    return m ? py_pointer(PY_MODULE, m) : native_python_module_absent(vm, v, rest);
}

static struct py import_from(struct vm *vm, struct py m, const char *name) {
    struct py v;
    if (module_find(vm, m.module, name, &v)) return v;
    if (m.module->prelude && !vm_may_be_caught(vm)) return module_later(vm, m.module->name, name);
    vm_raise(vm, EXC_ImportError, "cannot import name '%s' from '%s'", name, m.module->name);
}

static void import_star(struct vm *vm, struct frame *f, struct module *m) {
    struct py all;
    if (m->missing) {
        f->module->any_of = m->name;
        return;
    }
    neighbour_begin(vm, m);
    if (dict_gets(m->dict, "__all__", &all)) {
        for (uint32_t i = 0; i < all.list->n; i++)
            dict_put(vm->arena, f->names, all.list->at[i],
                     import_from(vm, py_pointer(PY_MODULE, m), all.list->at[i].s));
        return;
    }
    for (uint32_t i = 0; i < m->dict->entries.n; i++) {
        struct dict_entry e = m->dict->entries.at[i];
        if (e.live && e.key.s[0] != '_') dict_put(vm->arena, f->names, e.key, e.value);
    }
}

/* -- exceptions and with ------------------------------------------------------------------- */

static void push_block(struct vm *vm, struct frame *f, struct block b) {
    vec_push(vm->arena, &f->blocks, b);
}

static void pop_block(struct frame *f, bool handler) {
    WS_ASSERT(f->blocks.n > 0 && vec_last(&f->blocks).handler == handler);
    f->blocks.n--;
}

/* Of the prelude, contextlib alone has managers that keep exceptions: suppress(), ExitStack(). */
static bool passes_exceptions(struct py manager) {
    const struct module *m = manager.kind == PY_INSTANCE ? manager.instance->class->module : NULL;
    return m && m->prelude && strcmp(m->name, "contextlib");
}

static void setup_with(struct vm *vm, struct frame *f, int32_t target) {
    struct py m = pop(f), exit, entered;
    if (!attribute_find(vm, m, "__exit__", &exit) ||
        !vm_call_special(vm, m, "__enter__", NULL, 0, &entered))
        vm_raise(vm, EXC_TypeError, "'%s' object does not support the context manager protocol",
                 type_name(vm, m));
    push(f, exit);
    bool passes = passes_exceptions(m);
    push_block(vm, f, (struct block){.passes = passes, .target = target, .depth = f->depth});
    push(f, entered);
}

static struct py with_exit(struct vm *vm, struct py exit) {
    struct py none[3] = {py_none, py_none, py_none};
    return vm_call(vm, exit, &(struct args){.at = none, .n = 3});
}

static struct py with_except(struct vm *vm, struct frame *f) {
    struct py e = *peek(f, 1);
    struct py details[3] = {py_pointer(PY_CLASS, e.instance->class), e, py_none};
    return vm_call(vm, *peek(f, 2), &(struct args){.at = details, .n = 3});
}

static bool match_exception(struct vm *vm, struct py e, struct py type) {
    const struct list one = {.at = &type, .n = 1},
                      *types = type.kind == PY_TUPLE ? type.list : &one;
    for (uint32_t i = 0; i < types->n; i++) {
        struct py t = types->at[i];
        if (t.kind != PY_CLASS || !class_is(t.class, vm->exceptions[EXC_BaseException]))
            vm_raise(vm, EXC_TypeError,
                     "catching classes that do not inherit from BaseException is not allowed");
        if (class_is(e.instance->class, t.class)) return true;
    }
    return false;
}

static struct py as_exception(struct vm *vm, struct py e) {
    if (!vm_exception(vm, &e))
        vm_raise(vm, EXC_TypeError, "exceptions must derive from BaseException");
    return e;
}

static void raise(struct vm *vm, struct frame *f, int32_t n) {
    if (n == 2)
        dict_puts(vm->arena, as_exception(vm, *peek(f, 2)).instance->dict, "__cause__",
                  *peek(f, 1));
    if (n) vm_raise_value(vm, as_exception(vm, *peek(f, n)));
    for (uint32_t i = f->blocks.n; i-- > 0;)
        if (f->blocks.at[i].handler) vm_raise_value(vm, f->blocks.at[i].error);
    vm_raise(vm, EXC_RuntimeError, "no active exception to reraise");
}

static void reraise(struct vm *vm, struct frame *f) {
    struct py e = pop(f);
    pop_block(f, true);
    vm_raise_value(vm, e);
}

/* -- the loop ------------------------------------------------------------------------------ */

void vm_step(struct vm *vm, struct frame *f, struct instr in) {
    const struct code *c = f->code;
    struct py v;
    switch ((enum opcode)in.op) {
    case OP_LOAD_CONST: push(f, py_constant(vm->arena, &c->consts[in.a])); break;
    case OP_LOAD_FAST: push(f, load_fast(vm, f, in.a)); break;
    case OP_STORE_FAST: f->locals[in.a] = pop(f); break;
    case OP_DELETE_FAST:
        load_fast(vm, f, in.a);
        f->locals[in.a] = py_unset;
        break;
    case OP_LOAD_GLOBAL: push(f, load_global(vm, f, c->names.at[in.a])); break;
    case OP_STORE_GLOBAL:
        vm_need_own(vm, f->module->dict, "a global");
        dict_puts(vm->arena, f->module->dict, c->names.at[in.a], stored(vm, pop(f)));
        break;
    case OP_DELETE_GLOBAL:
        vm_need_own(vm, f->module->dict, "a global");
        delete_name(vm, f->module->dict, c->names.at[in.a]);
        break;
    case OP_LOAD_NAME: push(f, load_name(vm, f, c->names.at[in.a])); break;
    case OP_STORE_NAME:
        v = axes_store(vm, f, c->names.at[in.a], *peek(f, 1));
        pop(f);
        dict_puts(vm->arena, names_for(vm, f, v), c->names.at[in.a], v);
        break;
    case OP_DELETE_NAME: delete_name(vm, f->names, c->names.at[in.a]); break;

    case OP_MAKE_CELL: make_cell(vm, f, in); break;
    case OP_LOAD_CLOSURE: push(f, py_pointer(PY_CELL, f->cells[in.a])); break;
    case OP_LOAD_DEREF: push(f, load_deref(vm, f, in.a)); break;
    case OP_STORE_DEREF:
        cell_at(vm, f, in.a, true)->v = stored(vm, pop(f));
        f->cells[in.a]->version++;
        break;
    case OP_DELETE_DEREF:
        load_deref(vm, f, in.a);
        cell_at(vm, f, in.a, true)->v = py_unset;
        f->cells[in.a]->version++;
        break;
    case OP_LOAD_CLASSDEREF: push(f, load_classderef(vm, f, in.a)); break;

    case OP_LOAD_ATTR: push(f, attribute_get(vm, pop(f), c->names.at[in.a])); break;
    case OP_STORE_ATTR:
        attribute_set(vm, *peek(f, 1), c->names.at[in.a], stored(vm, *peek(f, 2)));
        pop_n(f, 2);
        break;
    case OP_DELETE_ATTR: attribute_delete(vm, pop(f), c->names.at[in.a]); break;
    case OP_BINARY_SUBSCR:
        v = pop(f);
        push(f, vm_subscript(vm, pop(f), v));
        break;
    case OP_STORE_SUBSCR:
        vm_subscript_set(vm, *peek(f, 2), *peek(f, 1), stored(vm, *peek(f, 3)));
        pop_n(f, 3);
        break;
    case OP_DELETE_SUBSCR:
        vm_subscript_delete(vm, *peek(f, 2), *peek(f, 1));
        pop_n(f, 2);
        break;

    case OP_BINARY_OP:
        v = pop(f);
        push(f, vm_binary(vm, (enum binary_operator)in.a, pop(f), v, in.b));
        break;
    case OP_UNARY_OP: push(f, vm_unary(vm, (enum unary_operator)in.a, pop(f))); break;
    case OP_COMPARE_OP:
        v = pop(f);
        push(f, vm_compare(vm, (enum compare_operator)in.a, pop(f), v));
        break;

    case OP_BUILD_TUPLE: push(f, build_sequence(vm, f, PY_TUPLE, in.a)); break;
    case OP_BUILD_LIST: push(f, build_sequence(vm, f, PY_LIST, in.a)); break;
    case OP_BUILD_SET: push(f, build_set(vm, f, in.a)); break;
    case OP_BUILD_DICT: push(f, build_dict(vm, f, in.a)); break;
    case OP_BUILD_SLICE: push(f, build_slice(vm, f, in.a)); break;
    case OP_BUILD_STRING: push(f, build_string(vm, f, in.a)); break;
    case OP_FORMAT_VALUE: push(f, format_value(vm, f, in)); break;
    case OP_LIST_TO_TUPLE:
        v = pop(f);
        push(f, py_list(vm->arena, PY_TUPLE, v.list->at, v.list->n));
        break;
    case OP_LIST_APPEND:
        v = pop(f);
        vec_push(vm->arena, peek(f, in.a)->list, v);
        break;
    case OP_LIST_EXTEND:
        v = pop(f);
        list_extend(vm, peek(f, in.a)->list, v);
        break;
    case OP_SET_ADD:
        v = pop(f);
        vm_need_key(vm, v);
        dict_put(vm->arena, peek(f, in.a)->dict, v, py_none);
        break;
    case OP_SET_UPDATE:
        v = pop(f);
        set_update(vm, peek(f, in.a)->dict, v);
        break;
    case OP_MAP_ADD: map_add(vm, f, in.a); break;
    case OP_DICT_UPDATE:
    case OP_DICT_MERGE:
        v = pop(f);
        dict_merge(vm, peek(f, in.a)->dict, v, in.op == OP_DICT_MERGE);
        break;
    case OP_UNPACK_SEQUENCE: unpack(vm, f, (uint32_t)in.a, 0, false); break;
    case OP_UNPACK_EX: unpack(vm, f, (uint32_t)in.a, (uint32_t)in.b, true); break;

    case OP_CALL:
        vm->direct = true;
        push(f, call(vm, f, in));
        vm->direct = false; /* what was called may not have been a frame */
        break;
    case OP_CALL_EX:
        vm->direct = true;
        push(f, call_ex(vm, f, in.a));
        vm->direct = false;
        break;
    case OP_MAKE_FUNCTION: push(f, make_function(vm, f, in)); break;
    case OP_BUILD_CLASS: push(f, build_class(vm, f, in)); break;

    case OP_JUMP: jump(f, in.a); break;
    case OP_POP_JUMP_IF_FALSE:
    case OP_POP_JUMP_IF_TRUE:
        v = pop(f);
        if (checks(vm, f, in, v) ? only_raises(f->code, f->pc + 1)
                                 : vm_truth(vm, v) == (in.op == OP_POP_JUMP_IF_TRUE))
            jump(f, in.a);
        break;
    case OP_JUMP_IF_FALSE_OR_POP:
    case OP_JUMP_IF_TRUE_OR_POP:
        if (vm_truth(vm, *peek(f, 1)) == (in.op == OP_JUMP_IF_TRUE_OR_POP))
            jump(f, in.a);
        else
            pop(f);
        break;
    case OP_GET_ITER: push(f, vm_iter(vm, pop(f))); break;
    case OP_FOR_ITER:
        vm->direct = peek(f, 1)->kind == PY_GENERATOR;
        if (vm_next(vm, *peek(f, 1), &v)) {
            push(f, v);
        } else {
            pop(f);
            jump(f, in.a);
        }
        vm->direct = false;
        break;

    case OP_POP_TOP: pop(f); break;
    case OP_COPY: push(f, *peek(f, in.a)); break;
    case OP_SWAP:
        v = *peek(f, in.a);
        *peek(f, in.a) = *peek(f, 1);
        *peek(f, 1) = v;
        break;

    case OP_IMPORT_NAME: {
        enum opcode next = c->instrs[f->pc + 1].op; /* from a import b asks the module itself */
        struct py v;
        bool as = in.b && next != OP_IMPORT_FROM && next != OP_IMPORT_STAR;
        bool function = as && import_function(vm, c->names.at[in.a], &v);
        push(f, function ? v : import_name(vm, c->names.at[in.a], in.b));
        break;
    }
    case OP_IMPORT_FROM: push(f, import_from(vm, *peek(f, 1), c->names.at[in.a])); break;
    case OP_IMPORT_STAR: import_star(vm, f, pop(f).module); break;

    case OP_SETUP_FINALLY:
        push_block(vm, f, (struct block){.target = in.a, .depth = f->depth});
        break;
    case OP_SETUP_WITH: setup_with(vm, f, in.a); break;
    case OP_POP_BLOCK: pop_block(f, false); break;
    case OP_MATCH_EXCEPTION:
        v = pop(f);
        push(f, py_bool(match_exception(vm, *peek(f, 1), v)));
        break;
    case OP_POP_EXCEPT:
        pop(f);
        pop_block(f, true);
        break;
    case OP_RERAISE: reraise(vm, f); break;
    case OP_WITH_EXIT: with_exit(vm, pop(f)); break;
    case OP_WITH_EXCEPT: push(f, with_except(vm, f)); break;
    case OP_RAISE: raise(vm, f, in.a); break;
    case OP_LOAD_ASSERTION_ERROR:
        push(f, py_pointer(PY_CLASS, vm->exceptions[EXC_AssertionError]));
        break;

    case OP_GENERATOR_RESULT:
        v = pop(f);
        push(f, v.kind == PY_GENERATOR ? v.generator->result : py_none);
        break;

    case OP_YIELD_VALUE: /* the loop's */
    case OP_RETURN_VALUE:
    case OPCODE_COUNT: WS_BUG("no handler for %s", opcode_name((enum opcode)in.op));
    }
}

static void spent(struct vm *vm) __attribute__((noreturn));
static void spent(struct vm *vm) { vm_refuse(vm, "%s", budget_message(vm->budget, vm->arena)); }

/* Where nobody would come to, as between two traces, work goes on to the next vm_work(). */
static void leave_spent(void *ctx) {
    struct vm *vm = ctx;
    if (vm->escape) spent(vm);
}

void vm_charge(struct vm *vm, struct budget *b) {
    vm->budget = b;
    if (b) b->leave = leave_spent, b->ctx = vm;
    arena_charge(vm->home, b);
}

void vm_work(struct vm *vm, uint64_t n) {
    if (!budget_step(vm->budget, n)) spent(vm);
}

void vm_tick(struct vm *vm) {
    vm->n_steps++;
    if (vm->trace && vm->n_steps > MAX_TRACE_STEPS) trace_stop(vm, "instructions", MAX_TRACE_STEPS);
    vm_work(vm, 1);
}

static struct py run(struct vm *vm, struct frame *f) {
    if (f->compiled) return dynamo_run(vm, f);
    struct py item;
    if (f->resumed && generator_resume(vm, f, &item)) return item;
    for (;; f->pc++) {
        vm_tick(vm);
        if (vm->storages) sweep_if_due(vm);
        struct instr in = f->code->instrs[f->pc];
        if (in.op == OP_RETURN_VALUE) return pop(f);
        if (in.op == OP_YIELD_VALUE) return f->yielded = true, pop(f);
        vm_step(vm, f, in);
    }
}

/* vm->raised left the instruction at pc: go on in the innermost handler; false if this frame has
 * none. */
bool vm_unwind(struct vm *vm, struct frame *f) {
    struct py e = vm->raised;
    if (e.kind == PY_UNSET) return false;
    while (f->blocks.n && vec_last(&f->blocks).handler) f->blocks.n--;
    if (!f->blocks.n) return false;
    struct block b = f->blocks.at[--f->blocks.n];
    f->depth = b.depth;
    push(f, e);
    push_block(vm, f, (struct block){.handler = true, .error = e});
    f->pc = (uint32_t)b.target;
    vm->raised = py_unset;
    return true;
}

struct py vm_run(struct vm *vm, struct frame *f) {
    jmp_buf here, *outer = vm->escape;
    uint32_t n_calls = vm->n_calls, n_frames = vm->n_frames;
    const struct compile_options *dynamo = vm->dynamo;
    f->caller = vm->frame;
    f->direct = vm->direct && (!f->caller || f->caller->direct);
    vm->direct = false;
    vm->frame = f;
    vm->n_calls += !f->module->prelude;
    vm->n_frames++;
    vm->escape = &here;
    if (setjmp(here)) { /* everything read here was set before, and not changed since */
        vm->n_calls = n_calls + !f->module->prelude;
        vm->n_frames = n_frames + 1;
        vm->frame = f;
        vm->dynamo = dynamo;
        vm->escape = &here;
        vm->direct = false;
        if (!vm_unwind(vm, f)) {
            vm->escape = outer;
            vm->frame = f->caller;
            vm->n_calls = n_calls;
            vm->n_frames = n_frames;
            vm_leave(vm);
        }
    }
    struct py v = run(vm, f);
    vm->escape = outer;
    vm->frame = f->caller;
    vm->n_calls = n_calls;
    vm->n_frames = n_frames;
    return v;
}

void vm_run_module(struct vm *vm, struct module *m, const struct code *code) {
    struct frame f = {.code = code, .module = m, .names = m->dict};
    f.stack = NEW_ARRAY(vm->arena, struct py, code->max_stack);
    f.cells = NEW_ARRAY(vm->arena, struct cell *, code->cells.n + code->frees.n);
    vm->direct = !vm->frame;
    vm_run(vm, &f);
}

/* -- the machine --------------------------------------------------------------------------- */

struct vm *vm_new(struct arena *a, const struct capture_options *o, const struct source *file,
                  const char *name, struct diag *d) {
    struct vm *vm = NEW(a, struct vm);
    vm->arena = vm->home = a;
    vm->diag = d;
    vm->options = o;
    vm->file = file;
    vm->ex = vm->constants = vm_sizes(vm, a);
    vm->init = graph_new(a, vm->ex, file);
    vm->graph = graph_new(a, vm->ex, file);
    vm->init->seed = vm->graph->seed = o->seed;
    vm_set_precision(vm);
    vm->guarded = map_new(a);
    vm->print = (struct print_options){.precision = 4, .threshold = 1000, .edge = 3, .line = 80};
    vm->natives = natives_new(a);
    modules_open(vm);
    vm->main = NEW(a, struct module);
    *vm->main = (struct module){.name = name, .dict = dict_new(a)};
    dict_puts(a, vm->main->dict, "__name__", py_str(name));
    dict_puts(a, vm->main->dict, "__file__", py_str(file->path));
    neighbours_open(vm);
    return vm;
}

void vm_set_precision(struct vm *vm) {
    enum { MATMUL_TF32 = 1 };
    const enum precision *given = vm->options->precision;
    bool tf32 = vm->math_flags & MATMUL_TF32;
    vm->graph->products = given ? *given : tf32 ? PRECISION_TF32 : PRECISION_F32;
    vm->graph->convolutions = given ? *given : PRECISION_F32;
}

bool vm_protect(struct vm *vm, void (*step)(void *ctx), void *ctx) {
    jmp_buf here, *outer = vm->escape;
    vm->escape = &here;
    if (setjmp(here)) {
        vm->escape = outer;
        return false;
    }
    step(ctx);
    vm->escape = outer;
    return true;
}

/* modules.c: import. The modules a workload may use are in this table; each is made when it is
 * imported first: by a function in C, by its text in the prelude, or both. The operators of
 * graph/ops.def are attributes of the torch modules by their Python names: "torch.exp",
 * "F.softmax". */
#include <string.h>

#include "capture/vm.h"

/* MODULE(name, prefix of its operators in ops.def or NULL, C part or NULL) */
static const struct {
    const char *name, *operators;
    void (*open)(struct vm *vm, struct module *m);
} modules[] = {
    {"torch", "torch.", torch_open},
    {"torch.nn", NULL, NULL},
    {"torch.nn.functional", "F.", NULL},
    {"torch.nn._conv", NULL, NULL},
    {"torch.nn._lazy", NULL, NULL},
    {"torch.nn.utils.prune", NULL, NULL},
    {"torch.optim.swa_utils", NULL, NULL},
    {"torch._quantize", NULL, NULL},
    {"torch.utils.hooks", NULL, NULL},
    {"torch._conv", NULL, NULL},
    {"torch._complex", NULL, NULL},
    {"torch.nn._sequence", NULL, NULL},
    {"torch.nn._functional", NULL, NULL},
    {"torch.nn.init", NULL, NULL},
    {"torch.nn.parameter", NULL, NULL},
    {"torch.nn.attention", NULL, NULL},
    {"torch.linalg", "torch.linalg.", NULL},
    {"torch.special", "torch.special.", NULL},
    {"torch.masked", NULL, NULL},
    {"torch.cuda", NULL, NULL},
    {"torch.cuda.amp", NULL, NULL},
    {"torch.backends", NULL, NULL},
    {"torch.backends.cudnn", NULL, NULL},
    {"torch.accelerator", NULL, NULL},
    {"torch.nn.utils", NULL, NULL},
    {"torch.nn.utils.parametrizations", NULL, NULL},
    {"torch.nn.utils.parametrize", NULL, NULL},
    {"torch.optim", NULL, NULL},
    {"torch.optim.lr_scheduler", NULL, NULL},
    {"bisect", NULL, NULL},
    {"keyword", NULL, NULL},
    {"torch._dynamo", NULL, NULL},
    {"torch._dynamo.config", NULL, NULL},
    {"torch._dynamo.exc", NULL, NULL},
    {"torch._dynamo.utils", NULL, NULL},
    {"torch._dynamo.compiled_autograd", NULL, NULL},
    {"torch._dynamo.backends", NULL, NULL},
    {"torch._dynamo.backends.common", NULL, NULL},
    {"torch._dynamo.backends.registry", NULL, NULL},
    {"torch._inductor", NULL, NULL},
    {"torch._inductor.config", NULL, NULL},
    {"torch._inductor.utils", NULL, NULL},
    {"torch._functorch", NULL, NULL},
    {"torch._functorch.config", NULL, NULL},
    {"torch._functorch.predispatch", NULL, NULL},
    {"torch._functorch.vmap", NULL, NULL},
    {"torch._C", NULL, NULL},
    {"torch._C._nn", NULL, NULL},
    {"torch._C._fft", NULL, NULL},
    {"torch._C._linalg", NULL, NULL},
    {"torch._C._special", NULL, NULL},
    {"torch._C._functorch", NULL, NULL},
    {"torch._aten", NULL, NULL},
    {"torch.ops", NULL, NULL},
    {"torch.library", NULL, NULL},
    {"torch.ops.aten", NULL, NULL},
    {"torch.ops.prims", NULL, NULL},
    {"torch.functional", NULL, NULL},
    {"functorch", NULL, NULL},
    {"functorch.compile", NULL, NULL},
    {"torch._logging", NULL, NULL},
    {"builtins", NULL, NULL},
    {"scipy", NULL, NULL},
    {"scipy.fft", NULL, NULL},
    {"scipy.fftpack", NULL, NULL},
    {"scipy.linalg", NULL, NULL},
    {"scipy.optimize", NULL, NULL},
    {"scipy.signal", NULL, NULL},
    {"scipy.special", NULL, NULL},
    {"scipy.stats", NULL, NULL},
    {"pickle", NULL, NULL},
    {"torch.profiler", NULL, NULL},
    {"torch.autograd.profiler", NULL, NULL},
    {"packaging", NULL, NULL},
    {"packaging.version", NULL, NULL},
    {"pkg_resources", NULL, NULL},
    {"distutils", NULL, NULL},
    {"distutils.version", NULL, NULL},
    {"torch.distributed", NULL, NULL},
    {"torch.fft", NULL, NULL},
    {"torch.random", NULL, NULL},
    {"torch.func", NULL, NULL},
    {"torch.utils._pytree", NULL, NULL},
    {"torch.sparse", NULL, NULL},
    {"missing", NULL, NULL},
    {"traceback", NULL, NULL},
    {"torch.utils.benchmark", NULL, NULL},
    {"torch.compiler", NULL, NULL},
    {"torch._higher_order_ops", NULL, NULL},
    {"torch._higher_order_ops.cond", NULL, NULL},
    {"torch._higher_order_ops.while_loop", NULL, NULL},
    {"torch._higher_order_ops.scan", NULL, NULL},
    {"torch._higher_order_ops.associative_scan", NULL, NULL},
    {"torch.autograd", NULL, NULL},
    {"torch.autograd.functional", NULL, NULL},
    {"torch.autograd.variable", NULL, NULL},
    {"torch.autograd.function", NULL, NULL},
    {"torch.distributions", NULL, NULL},
    {"torch.distributions._more", NULL, NULL},
    {"torch.distributions._mixed", NULL, NULL},
    {"torch.distributions.utils", NULL, NULL},
    {"torch._tensor", NULL, NULL},
    {"torch._spectral", NULL, NULL},
    {"torch._polynomials", NULL, NULL},
    {"torch._windows", NULL, NULL},
    {"torch._foreach", NULL, NULL},
    {"torch._functions", NULL, NULL},
    {"torch.signal", NULL, NULL},
    {"torch.signal.windows", NULL, NULL},
    {"_warpsmith", NULL, support_open},
    {"later", NULL, NULL},
    {"math", NULL, math_open},
    {"typing", NULL, NULL},
    {"functools", NULL, NULL},
    {"itertools", NULL, NULL},
    {"dataclasses", NULL, NULL},
    {"enum", NULL, NULL},
    {"collections", NULL, NULL},
    {"os", NULL, NULL},
    {"os.path", NULL, NULL},
    {"sys", NULL, NULL},
    {"time", NULL, NULL},
    {"__future__", NULL, NULL},
    {"collections.abc", NULL, NULL},
    {"copy", NULL, NULL},
    {"numpy", NULL, NULL},
    {"numpy.random", NULL, NULL},
    {"numpy._more", NULL, NULL},
    {"numpy.linalg", NULL, NULL},
    {"einops", NULL, NULL},
    {"einops.layers", NULL, NULL},
    {"timm", NULL, NULL},
    {"timm.layers", NULL, NULL},
    {"timm.models", NULL, NULL},
    {"timm.data", NULL, NULL},
    {"einops.layers.torch", NULL, NULL},
    {"types", NULL, NULL},
    {"abc", NULL, NULL},
    {"warnings", NULL, NULL},
    {"logging", NULL, NULL},
    {"contextlib", NULL, NULL},
    {"operator", NULL, NULL},
    {"gc", NULL, NULL},
    {"platform", NULL, NULL},
    {"torch.jit", NULL, NULL},
    {"torch.hub", NULL, NULL},
    {"torch.version", NULL, NULL},
    {"torch.serialization", NULL, NULL},
    {"torch.onnx", NULL, NULL},
    {"torch.fx", NULL, NULL},
    {"torch.fx.graph_module", NULL, NULL},
    {"torch.amp", NULL, NULL},
    {"torch.amp.autocast_mode", NULL, NULL},
    {"torch.utils", NULL, NULL},
    {"torch.utils.checkpoint", NULL, NULL},
    {"torch.nn.modules", NULL, NULL},
    {"torch.nn.modules.utils", NULL, NULL},
    {"torch.nn.utils.rnn", NULL, NULL},
    {"torch.types", NULL, NULL},
    {"numbers", NULL, NULL},
    {"argparse", NULL, NULL},
    {"json", NULL, NULL},
    {"inspect", NULL, NULL},
    {"io", NULL, NULL},
    {"tqdm", NULL, NULL},
    {"tqdm.auto", NULL, NULL},
    {"heapq", NULL, NULL},
    {"threading", NULL, NULL},
    {"uuid", NULL, NULL},
    {"torch.distributions.constraints", NULL, NULL},
    {"importlib", NULL, NULL},
    {"importlib.util", NULL, NULL},
    {"beartype", NULL, NULL},
    {"beartype.typing", NULL, NULL},
    {"typeguard", NULL, NULL},
    {"queue", NULL, NULL},
    {"statistics", NULL, NULL},
    {"string", NULL, NULL},
    {"torch.utils.data.dataloader", NULL, NULL},
    {"torch.utils.data.dataset", NULL, NULL},
    {"torch.optim.optimizer", NULL, NULL},
    {"pathlib", NULL, NULL},
    {"random", NULL, NULL},
    {"re", NULL, NULL},
    {"torch.utils.data", NULL, NULL},
};
enum { N_MODULES = sizeof modules / sizeof *modules };

/* Imported for what no capture comes to: a training loop, a command line. All of PyTorch's or of
 * Python's own, so that no try waits for their ImportError. */
static const char *const later[] = {
    "ast",
    "base64",
    "concurrent",
    "csv",
    "datetime",
    "glob",
    "gzip",
    "hashlib",
    "multiprocessing",
    "pprint",
    "queue",
    "shutil",
    "signal",
    "socket",
    "statistics",
    "struct",
    "subprocess",
    "tempfile",
    "textwrap",
    "threading",
    "unittest",
    "urllib",
    "urllib.request",
    "zipfile",
    "torch._utils",
    "torch.multiprocessing",
    "torch.nn.parallel",
    "torch.nn.quantized",
    "torch.quantization",
    "torch.testing",
    "torch.utils.cpp_extension",
    "torch.utils.data.distributed",
    "torch.utils.data.sampler",
    "torch.utils.model_zoo",
    "torch.utils.tensorboard",
};

/* Modules whose whole stands for each of their parts. */
static const struct {
    const char *prefix, *whole;
    const char *parts[48];
} divided[] = {
    {"torch.nn.modules.",
     "torch.nn",
     {"activation", "adaptive", "batchnorm",     "channelshuffle", "container",    "conv",
      "distance",   "dropout",  "flatten",       "fold",           "instancenorm", "linear",
      "loss",       "module",   "normalization", "padding",        "pixelshuffle", "pooling",
      "rnn",        "sparse",   "transformer",   "upsampling"}},
    {"torch.distributions.",
     "torch.distributions",
     {"normal",
      "categorical",
      "bernoulli",
      "uniform",
      "independent",
      "multivariate_normal",
      "kl",
      "distribution",
      "one_hot_categorical",
      "transforms",
      "transformed_distribution",
      "log_normal",
      "laplace",
      "exponential",
      "gamma",
      "beta",
      "dirichlet",
      "chi2",
      "poisson",
      "gumbel",
      "cauchy",
      "half_normal",
      "half_cauchy",
      "geometric",
      "binomial",
      "negative_binomial",
      "multinomial",
      "relaxed_bernoulli",
      "relaxed_categorical",
      "mixture_same_family",
      "lowrank_multivariate_normal",
      "weibull",
      "pareto",
      "inverse_gamma"}},
    {"timm.layers.",
     "timm.layers",
     {"drop", "helpers", "mlp", "norm", "patch_embed", "weight_init"}},
    {"timm.models.layers.",
     "timm.layers",
     {"drop", "helpers", "mlp", "norm", "patch_embed", "weight_init"}},
    {"timm.models.", "timm.layers", {"layers", "registry", "vision_transformer"}},
    {"timm.data.", "timm.data", {"constants"}},
};

static const char *find_later(const char *name) {
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (!strcmp(later[i], name)) return later[i];
    return NULL;
}

/* The module that stands for the one of that name, or NULL. */
static const char *whole_of(const char *name) {
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++) {
        size_t n = strlen(divided[i].prefix);
        if (strncmp(name, divided[i].prefix, n)) continue;
        for (const char *const *part = divided[i].parts; *part; part++)
            if (!strcmp(*part, name + n)) return divided[i].whole;
    }
    return NULL;
}

static int module_index(const char *name) {
    for (int i = 0; i < N_MODULES; i++)
        if (!strcmp(modules[i].name, name)) return i;
    return -1;
}

/* Only our own text may use the module that it is written with. */
static bool is_private(const struct vm *vm, const char *name) {
    bool user = vm->frame && !vm->frame->module->prelude;
    return user && (!strcmp(name, "_warpsmith") || !strcmp(name, "torch._tensor") ||
                    !strcmp(name, "later") || !strcmp(name, "missing"));
}

struct running {
    struct vm *vm;
    struct module *m;
    const struct code *code;
};

static void run_code(void *ctx) {
    struct running *r = ctx;
    vm_run_module(r->vm, r->m, r->code);
}

const struct code *module_compile(struct vm *vm, const struct source *text) {
    const struct code *code = frontend_compile(vm->home, text, vm->diag);
    if (code) return code;
    vm->raised = py_unset;
    vm_leave(vm);
}

void module_run(struct vm *vm, struct module *m, const struct code *code) {
    bool tracing = vm->tracing;
    struct trace *trace = vm->trace;
    struct arena *arena = vm->arena;
    vm->tracing = false;
    vm->trace = NULL;
    vm->arena = vm->home;
    struct running r = {vm, m, code};
    bool ok = vm_protect(vm, run_code, &r);
    vm->tracing = tracing;
    vm->trace = trace;
    vm->arena = arena;
    if (!ok) vm_leave(vm);
}

static void run_prelude(struct vm *vm, struct module *m, const char *text) {
    struct source *src = NEW(vm->home, struct source);
    *src = (struct source){m->name, text, strlen(text)};
    module_run(vm, m, module_compile(vm, src));
}

static struct module *parent_of(struct vm *vm, const char *name, const char **leaf) {
    const char *dot = strrchr(name, '.');
    *leaf = dot ? dot + 1 : name;
    return dot ? module_import(vm, arena_strndup(vm->arena, name, (size_t)(dot - name))) : NULL;
}

struct module *module_import(struct vm *vm, const char *name) {
    return is_private(vm, name) ? NULL : module_import_own(vm, name);
}

struct module *module_import_own(struct vm *vm, const char *name) {
    uint64_t known;
    const char *whole = whole_of(name);
    if (whole) return module_import(vm, whole);
    int k = module_index(name);
    const char *own = k < 0 ? find_later(name) : modules[k].name;
    if (!own) return NULL;
    if (map_gets(&vm->modules, name, &known)) return (struct module *)(uintptr_t)known;
    const char *leaf;
    struct module *parent = parent_of(vm, name, &leaf);
    if (map_gets(&vm->modules, name, &known))
        return (struct module *)(uintptr_t)known; /* the parent made it */
    struct module *m = NEW(vm->arena, struct module);
    *m = (struct module){.name = own, .dict = dict_new(vm->arena), .prelude = true};
    map_puts(&vm->modules, name, (uint64_t)(uintptr_t)m);
    dict_puts(vm->arena, m->dict, "__name__", py_str(m->name));
    if (k >= 0 && modules[k].open) modules[k].open(vm, m);
    const char *text = prelude_text(k < 0 ? "later" : name);
    if (text) run_prelude(vm, m, text);
    if (!strcmp(name, "torch._tensor")) tensor_methods_extend(vm, m);
    if (parent) dict_puts(vm->arena, parent->dict, leaf, py_pointer(PY_MODULE, m));
    return m;
}

void module_operators(struct vm *vm, const struct module *m, struct dict *names) {
    int k = module_index(m->name);
    const char *prefix = k < 0 ? NULL : modules[k].operators;
    for (int i = 0; prefix && i < OP_COUNT; i++) {
        const char *at = op_info((enum op)i)->python, *end;
        for (; *at; at = end + strspn(end, " ")) {
            end = at + strcspn(at, " ");
            size_t n = strlen(prefix), length = (size_t)(end - at);
            if (length > n && !strncmp(at, prefix, n) && !memchr(at + n, '.', length - n))
                dict_puts(vm->arena, names, arena_strndup(vm->arena, at + n, length - n), py_none);
        }
    }
}

struct module *module_missing(struct vm *vm, const char *name) {
    uint64_t known;
    struct module *m = module_import(vm, name), *parent = NULL;
    if (m || is_private(vm, name)) return m;
    const char *key = arena_printf(vm->arena, "missing %s", name), *dot = strrchr(name, '.');
    if (map_gets(&vm->modules, key, &known)) return (struct module *)(uintptr_t)known;
    if (dot && name[0] != '.') /* of a package, as which no file is compiled */
        parent = module_missing(vm, arena_strndup(vm->arena, name, (size_t)(dot - name)));
    m = NEW(vm->arena, struct module);
    *m = (struct module){.name = arena_strndup(vm->arena, name, strlen(name)),
                         .dict = dict_new(vm->arena),
                         .prelude = true,
                         .missing = true};
    map_puts(&vm->modules, key, (uint64_t)(uintptr_t)m);
    dict_puts(vm->arena, m->dict, "__name__", py_str(m->name));
    run_prelude(vm, m, prelude_text("missing"));
    if (parent) dict_puts(vm->arena, parent->dict, dot + 1, py_pointer(PY_MODULE, m));
    return m;
}

struct py module_later(struct vm *vm, const char *module, const char *name) {
    struct py later = py_pointer(PY_MODULE, module_import_own(vm, "later"));
    struct py names[3] = {py_str(module), py_str(name), py_true};
    return vm_call(vm, attribute_get(vm, later, "of"), &(struct args){.at = names, .n = 3});
}

/* An operator by its Python name; a name that ends in `_` is the update in place. */
bool operator_find(struct vm *vm, const char *prefix, const char *name, struct py *out) {
    const char *full = arena_printf(vm->arena, "%s%s", prefix, name);
    size_t n = strlen(full);
    struct builtin *b = NEW(vm->arena, struct builtin);
    b->name = full;
    if (!op_find_python(full, &b->op)) {
        if (full[n - 1] != '_' || !op_find_python(arena_strndup(vm->arena, full, n - 1), &b->op))
            return false;
        b->in_place = true;
    }
    return *out = py_pointer(PY_BUILTIN, b), true;
}

bool module_find(struct vm *vm, struct module *m, const char *name, struct py *out) {
    if (!m->prelude) return neighbour_find(vm, m, name, out);
    if (dict_gets(m->dict, name, out)) return true;
    int k = module_index(m->name);
    if (k >= 0 && modules[k].operators && operator_find(vm, modules[k].operators, name, out))
        return true;
    struct module *child = module_import(vm, arena_printf(vm->arena, "%s.%s", m->name, name));
    if (child) return *out = py_pointer(PY_MODULE, child), true;
    struct py get;
    if (!dict_gets(m->dict, "__getattr__", &get)) return false;
    return *out = vm_call1(vm, get, py_str(name)), true;
}

void modules_open(struct vm *vm) {
    vm->modules = map_new(vm->arena);
    builtins_open(vm);
    tensor_methods_open(vm);
}

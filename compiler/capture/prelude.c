/* prelude.c: the part of torch and of the standard library that is written in Python (prelude/),
 * run by our own VM.
 *
 * The files are put into the object as they are. Errors inside are shown at the user's call. From
 * module _warpsmith come refuse(), graph_break(), op() and the few others of builtins_torch.c. */
#include <string.h>

#include "capture/vm.h"

/* FILE(id, file): a 0-terminated text under the symbol ws_prelude_ID. Paths count from the root of
 * the project. */
#define FILES(FILE)                                                                                \
    FILE(torch, "torch.py")                                                                        \
    FILE(torch_tensor, "torch_tensor.py")                                                          \
    FILE(torch_nn, "torch_nn.py")                                                                  \
    FILE(torch_nn_functional, "torch_nn_functional.py")                                            \
    FILE(torch_nn_sequence, "torch_nn_sequence.py")                                                \
    FILE(torch_nn_functional_more, "torch_nn_functional_more.py")                                  \
    FILE(torch_nn_conv, "torch_nn_conv.py")                                                        \
    FILE(torch_nn_lazy, "torch_nn_lazy.py")                                                        \
    FILE(torch_nn_utils_prune, "torch_nn_utils_prune.py")                                          \
    FILE(torch_optim_swa_utils, "torch_optim_swa_utils.py")                                        \
    FILE(torch_quantize, "torch_quantize.py")                                                      \
    FILE(torch_utils_hooks, "torch_utils_hooks.py")                                                \
    FILE(torch_conv, "torch_conv.py")                                                              \
    FILE(torch_nn_init, "torch_nn_init.py")                                                        \
    FILE(torch_cuda, "torch_cuda.py")                                                              \
    FILE(torch_nn_utils, "torch_nn_utils.py")                                                      \
    FILE(torch_nn_utils_rnn, "torch_nn_utils_rnn.py")                                              \
    FILE(torch_optim, "torch_optim.py")                                                            \
    FILE(torch_optim_lr_scheduler, "torch_optim_lr_scheduler.py")                                  \
    FILE(torch_utils_data, "torch_utils_data.py")                                                  \
    FILE(argparse, "argparse.py")                                                                  \
    FILE(logging, "logging.py")                                                                    \
    FILE(sys, "sys.py")                                                                            \
    FILE(json, "json.py")                                                                          \
    FILE(bisect, "bisect.py")                                                                      \
    FILE(keyword, "keyword.py")                                                                    \
    FILE(math, "math.py")                                                                          \
    FILE(inspect, "inspect.py")                                                                    \
    FILE(random, "random.py")                                                                      \
    FILE(io, "io.py")                                                                              \
    FILE(tqdm, "tqdm.py")                                                                          \
    FILE(heapq, "heapq.py")                                                                        \
    FILE(os, "os.py")                                                                              \
    FILE(os_path, "os_path.py")                                                                    \
    FILE(pathlib, "pathlib.py")                                                                    \
    FILE(torch_amp, "torch_amp.py")                                                                \
    FILE(torch_distributions, "torch_distributions.py")                                            \
    FILE(torch_distributions_more, "torch_distributions_more.py")                                  \
    FILE(torch_distributions_mixed, "torch_distributions_mixed.py")                                \
    FILE(torch_autograd_functional, "torch_autograd_functional.py")                                \
    FILE(torch_autograd, "torch_autograd.py")                                                      \
    FILE(torch_higher_order_ops, "torch_higher_order_ops.py")                                      \
    FILE(torch_dynamo, "torch_dynamo.py")                                                          \
    FILE(torch_fx, "torch_fx.py")                                                                  \
    FILE(torch_logging, "torch_logging.py")                                                        \
    FILE(torch_utils_benchmark, "torch_utils_benchmark.py")                                        \
    FILE(torch_backends, "torch_backends.py")                                                      \
    FILE(typing, "typing.py")                                                                      \
    FILE(functools, "functools.py")                                                                \
    FILE(enum, "enum.py")                                                                          \
    FILE(dataclasses, "dataclasses.py")                                                            \
    FILE(itertools, "itertools.py")                                                                \
    FILE(collections, "collections.py")                                                            \
    FILE(contextlib, "contextlib.py")                                                              \
    FILE(torch_complex, "torch_complex.py")                                                        \
    FILE(torch_linalg, "torch_linalg.py")                                                          \
    FILE(torch_spectral, "torch_spectral.py")                                                      \
    FILE(torch_special, "torch_special.py")                                                        \
    FILE(torch_polynomials, "torch_polynomials.py")                                                \
    FILE(torch_windows, "torch_windows.py")                                                        \
    FILE(torch_functions, "torch_functions.py")                                                    \
    FILE(torch_signal_windows, "torch_signal_windows.py")                                          \
    FILE(torch_masked, "torch_masked.py")                                                          \
    FILE(torch_foreach, "torch_foreach.py")                                                        \
    FILE(copy, "copy.py")                                                                          \
    FILE(numpy, "numpy.py")                                                                        \
    FILE(numpy_random, "numpy_random.py")                                                          \
    FILE(numpy_more, "numpy_more.py")                                                              \
    FILE(numpy_linalg, "numpy_linalg.py")                                                          \
    FILE(scipy_optimize, "scipy_optimize.py")                                                      \
    FILE(scipy_special, "scipy_special.py")                                                        \
    FILE(torch_profiler, "torch_profiler.py")                                                      \
    FILE(scipy_linalg, "scipy_linalg.py")                                                          \
    FILE(scipy_signal, "scipy_signal.py")                                                          \
    FILE(scipy_stats, "scipy_stats.py")                                                            \
    FILE(pickle, "pickle.py")                                                                      \
    FILE(einops, "einops.py")                                                                      \
    FILE(einops_torch, "einops_torch.py")                                                          \
    FILE(torch_fft, "torch_fft.py")                                                                \
    FILE(torch_sparse, "torch_sparse.py")                                                          \
    FILE(re, "re.py")                                                                              \
    FILE(torch_func, "torch_func.py")                                                              \
    FILE(torch_aten, "torch_aten.py")                                                              \
    FILE(torch_batched, "torch_batched.py")                                                        \
    FILE(torch_c_nn, "torch_c_nn.py")                                                              \
    FILE(torch_ops, "torch_ops.py")                                                                \
    FILE(torch_library, "torch_library.py")                                                        \
    FILE(torch_pytree, "torch_pytree.py")                                                          \
    FILE(timm_layers, "timm_layers.py")                                                            \
    FILE(version, "version.py")                                                                    \
    FILE(threading, "threading.py")                                                                \
    FILE(queue, "queue.py")                                                                        \
    FILE(statistics, "statistics.py")                                                              \
    FILE(collections_abc, "collections_abc.py")                                                    \
    FILE(missing, "missing.py")                                                                    \
    FILE(later, "later.py")

#define FILE(id, file)                                                                             \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global ws_prelude_" #id "\n"                                                         \
            "ws_prelude_" #id ":\n"                                                                \
            ".incbin \"compiler/capture/prelude/" file "\"\n"                                      \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char ws_prelude_##id[];
FILES(FILE)
#undef FILE

const char *prelude_text(const char *module) {
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"torch", ws_prelude_torch},
        {"torch._tensor", ws_prelude_torch_tensor},
        {"torch.nn", ws_prelude_torch_nn},
        {"torch.nn.functional", ws_prelude_torch_nn_functional},
        {"torch.nn._sequence", ws_prelude_torch_nn_sequence},
        {"torch.nn._functional", ws_prelude_torch_nn_functional_more},
        {"torch.nn._conv", ws_prelude_torch_nn_conv},
        {"torch.nn._lazy", ws_prelude_torch_nn_lazy},
        {"torch.nn.utils.prune", ws_prelude_torch_nn_utils_prune},
        {"torch.optim.swa_utils", ws_prelude_torch_optim_swa_utils},
        {"torch._quantize", ws_prelude_torch_quantize},
        {"torch.utils.hooks", ws_prelude_torch_utils_hooks},
        {"torch._conv", ws_prelude_torch_conv},
        {"torch._complex", ws_prelude_torch_complex},
        {"torch.nn.init", ws_prelude_torch_nn_init},
        {"torch.random", "from torch import manual_seed, initial_seed, seed, get_rng_state, "
                         "set_rng_state\n"
                         "class fork_rng:\n"
                         "    def __init__(self, devices=None, enabled=True, **options):\n"
                         "        self.enabled = enabled\n"
                         "    def __enter__(self):\n"
                         "        self.before = get_rng_state() if self.enabled else None\n"
                         "    def __exit__(self, *error):\n"
                         "        if self.enabled:\n"
                         "            set_rng_state(self.before)\n"},
        {"torch.nn.parameter", "from _warpsmith import Parameter\n"},
        {"torch.nn.attention", "from torch.backends import sdp_kernel as sdpa_kernel\n"
                               "class SDPBackend:\n"
                               "    ERROR, MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, "
                               "CUDNN_ATTENTION = -1, 0, 1, 2, 3\n"},
        {"torch.linalg", ws_prelude_torch_linalg},
        {"torch._spectral", ws_prelude_torch_spectral},
        {"torch.special", ws_prelude_torch_special},
        {"torch._polynomials", ws_prelude_torch_polynomials},
        {"torch._windows", ws_prelude_torch_windows},
        {"torch._functions", ws_prelude_torch_functions},
        {"torch.masked", ws_prelude_torch_masked},
        {"torch._foreach", ws_prelude_torch_foreach},
        {"torch.signal", ""},
        {"torch.signal.windows", ws_prelude_torch_signal_windows},
        {"torch.cuda", ws_prelude_torch_cuda},
        {"torch.backends", ws_prelude_torch_backends},
        {"torch.backends.cudnn",
         "enabled, benchmark, deterministic, allow_tf32 = True, False, False, True\n"
         "def is_available():\n"
         "    return False\n"
         "def version():\n"
         "    return None\n"},
        {"torch.accelerator", "import torch\n"
                              "def is_available():\n"
                              "    return torch.cuda.is_available()\n"
                              "def current_accelerator(check_available=False):\n"
                              "    return torch.device('cuda') if is_available() else None\n"
                              "def device_count():\n"
                              "    return torch.cuda.device_count()\n"
                              "def synchronize(device=None):\n"
                              "    pass\n"},
        {"torch.nn.utils", ws_prelude_torch_nn_utils},
        {"torch.nn.utils.rnn", ws_prelude_torch_nn_utils_rnn},
        {"torch.nn.utils.parametrizations",
         "from torch.nn.utils import weight_norm_parts as weight_norm, spectral_norm_parts as "
         "spectral_norm, orthogonal\n"},
        {"torch.nn.utils.parametrize",
         "from torch.nn.utils import register_parametrization, remove_parametrizations, "
         "is_parametrized, cached\n"},
        {"torch.optim", ws_prelude_torch_optim},
        {"torch.optim.lr_scheduler", ws_prelude_torch_optim_lr_scheduler},
        {"torch.utils.data", ws_prelude_torch_utils_data},
        {"bisect", ws_prelude_bisect},
        {"keyword", ws_prelude_keyword},
        {"math", ws_prelude_math},
        {"random", ws_prelude_random},
        {"re", ws_prelude_re},
        {"torch._dynamo", ws_prelude_torch_dynamo},
        {"torch._dynamo.config",
         "recompile_limit = cache_size_limit = 8\n"
         "accumulated_recompile_limit = accumulated_cache_size_limit = 256\n"
         "automatic_dynamic_shapes = assume_static_by_default = inline_inbuilt_nn_modules = True\n"
         "suppress_errors = verbose = error_on_recompile = compiled_autograd = False\n"
         "capture_scalar_outputs = capture_dynamic_output_shape_ops = False\n"
         "reorderable_logging_functions = set()\n"
         "def patch(*names, **values):\n"
         "    import torch._dynamo.config as config\n"
         "    from torch._dynamo import patched\n"
         "    return patched(config, *names, **values)\n"},
        {"torch._dynamo.exc",
         "from torch._dynamo import TorchDynamoException, Unsupported, BackendCompilerFailed\n"},
        {"torch._dynamo.utils", "from torch._dynamo import Counters\n"
                                "counters = Counters()\n"},
        {"torch._dynamo.compiled_autograd",
         "from contextlib import nullcontext\n"
         "def enable(compiler_fn=None, dynamic=None, ignore_active_disable_ctx=True):\n"
         "    return nullcontext()\n"
         "_enable = disable = enable\n"},
        {"torch._dynamo.backends", ""},
        {"torch._dynamo.backends.registry",
         "from torch._dynamo import register_backend, lookup_backend, list_backends\n"},
        {"torch._dynamo.backends.common", "from torch._dynamo import aot_autograd\n"},
        {"torch._functorch", ""},
        {"torch._functorch.config", ""},
        {"torch.func", ws_prelude_torch_func},
        {"torch._functorch.predispatch", ws_prelude_torch_batched},
        {"torch._functorch.vmap", "from torch._functorch.predispatch import *\n"},
        {"torch._C._functorch",
         "from torch._functorch.predispatch import (_vmap_increment_nesting, "
         "_vmap_decrement_nesting, _add_batch_dim, _remove_batch_dim)\n"},
        {"torch._C", "from _warpsmith import set_grad_mode\n"
                     "def _log_api_usage_once(*args):\n"
                     "    pass\n"
                     "def _is_tracing():\n"
                     "    return False\n"
                     "_get_tracing_state = lambda: None\n"
                     "def _set_grad_enabled(mode):\n"
                     "    set_grad_mode(mode)\n"},
        {"torch._C._nn", ws_prelude_torch_c_nn},
        {"torch._C._fft", "import torch.fft\n"
                          "def __getattr__(name):\n"
                          "    return getattr(torch.fft, name[4:])\n"},
        {"torch._C._linalg", "import torch.linalg\n"
                             "def __getattr__(name):\n"
                             "    return getattr(torch.linalg, name[7:])\n"},
        {"torch._C._special", "import torch.special\n"
                              "def __getattr__(name):\n"
                              "    return getattr(torch.special, name[8:])\n"},
        {"torch._aten", ws_prelude_torch_aten},
        {"torch.library", ws_prelude_torch_library},
        {"torch.ops", "def __getattr__(name):\n"
                      "    from torch.library import _namespace\n"
                      "    if name[:2] == '__':\n"
                      "        raise AttributeError(name)\n"
                      "    return _namespace(name)\n"},
        {"torch.ops.aten", ws_prelude_torch_ops},
        {"torch.ops.prims", "import torch\n"
                            "from torch.ops.aten import Operator\n"
                            "convert_element_type = Operator('convert_element_type', lambda x, "
                            "dtype: x.to(dtype))\n"},
        {"torch.functional", "import torch\n"
                             "def __getattr__(name):\n"
                             "    return getattr(torch, name)\n"},
        {"torch.utils._pytree", ws_prelude_torch_pytree},
        {"functorch", "from torch.func import *\n"},
        {"functorch.compile", "def make_boxed_func(f):\n"
                              "    def boxed(*args):\n"
                              "        return f(*args)\n"
                              "    return boxed\n"
                              "def make_boxed_compiler(compiler):\n"
                              "    return compiler\n"},
        {"torch._inductor", "def list_mode_options(mode=None, dynamic=None):\n"
                            "    return {}\n"
                            "def list_options():\n"
                            "    return []\n"},
        {"torch._inductor.config",
         "from types import SimpleNamespace\n"
         "max_autotune = fx_graph_cache = debug = False\n"
         "triton, cpp, cuda, trace, aot_inductor = [SimpleNamespace() for _ in range(5)]\n"},
        {"torch._inductor.utils",
         "from contextlib import nullcontext\n"
         "def fresh_inductor_cache(cache_entries=None, dir=None, delete=True):\n"
         "    return nullcontext()\n"
         "fresh_cache = fresh_inductor_cache\n"},
        {"traceback",
         "from _warpsmith import handled\n"
         "import sys\n"
         "def format_exc(limit=None, chain=True):\n"
         "    found = handled()\n"
         "    if found is None:\n"
         "        return 'NoneType: None\\n'\n"
         "    error, file, line = found\n"
         "    text = f'{type(error).__name__}: {error}' if str(error) else type(error).__name__\n"
         "    return f'Traceback (most recent call last):\\n  File \"{file}\", line "
         "{line}\\n{text}\\n'\n"
         "def print_exc(limit=None, file=None, chain=True):\n"
         "    print(format_exc(), end='', file=file or sys.stderr)\n"},
        {"torch._logging", ws_prelude_torch_logging},
        {"torch.utils.benchmark", ws_prelude_torch_utils_benchmark},
        {"torch.compiler",
         "from torch._dynamo import (reset, disable, is_compiling, allow_in_graph, list_backends, "
         "assume_constant_result, set_stance)\n"
         "is_dynamo_compiling = is_compiling\n"
         "def is_exporting():\n"
         "    return False\n"
         "def cudagraph_mark_step_begin():\n"
         "    pass\n"
         "def compile(*args, **kwargs):\n"
         "    import torch\n"
         "    return torch.compile(*args, **kwargs)\n"
         "def nested_compile_region(fn=None):\n"
         "    return (lambda f: f) if fn is None else fn\n"},
        {"torch._higher_order_ops", ws_prelude_torch_higher_order_ops},
        {"torch._higher_order_ops.cond", "from torch import cond\n"},
        {"torch._higher_order_ops.while_loop", "from torch._higher_order_ops import while_loop\n"},
        {"torch._higher_order_ops.scan", "from torch._higher_order_ops import scan\n"},
        {"torch._higher_order_ops.associative_scan",
         "from torch._higher_order_ops import associative_scan\n"},
        {"torch.autograd", ws_prelude_torch_autograd},
        {"torch.autograd.variable", "from torch.autograd import Variable\n"},
        {"torch.autograd.functional", ws_prelude_torch_autograd_functional},
        {"torch.autograd.function", "from torch.autograd import Function, FunctionCtx\n"
                                    "InplaceFunction = NestedIOFunction = Function\n"
                                    "def once_differentiable(function):\n"
                                    "    return function\n"},
        {"torch.distributions", ws_prelude_torch_distributions},
        {"torch.distributions._more", ws_prelude_torch_distributions_more},
        {"torch.distributions.utils",
         "import torch\n"
         "from torch.distributions import _broadcast, _inside, _sum_last as _sum_rightmost\n"
         "from functools import cached_property as lazy_property\n"
         "def clamp_probs(probs):\n"
         "    return _inside(probs)\n"
         "def probs_to_logits(probs, is_binary=False):\n"
         "    p = _inside(probs)\n"
         "    return torch.log(p) - torch.log1p(-p) if is_binary else torch.log(p)\n"
         "def logits_to_probs(logits, is_binary=False):\n"
         "    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, -1)\n"
         "def broadcast_all(*values):\n"
         "    return _broadcast(*values)\n"},
        {"torch.distributions._mixed", ws_prelude_torch_distributions_mixed},
        {"typing", ws_prelude_typing},
        {"functools", ws_prelude_functools},
        {"itertools", ws_prelude_itertools},
        {"dataclasses", ws_prelude_dataclasses},
        {"enum", ws_prelude_enum},
        {"collections", ws_prelude_collections},
        {"collections.abc", ws_prelude_collections_abc},
        {"copy", ws_prelude_copy},
        {"numpy", ws_prelude_numpy},
        {"numpy.random", ws_prelude_numpy_random},
        {"numpy._more", ws_prelude_numpy_more},
        {"numpy.linalg", ws_prelude_numpy_linalg},
        {"einops", ws_prelude_einops},
        {"einops.layers", ""},
        {"timm", ""},
        {"timm.layers", ws_prelude_timm_layers},
        {"timm.models", "from timm.layers import register_model\n"},
        {"timm.data", "from timm.layers import __getattr__, IMAGENET_DEFAULT_MEAN, "
                      "IMAGENET_DEFAULT_STD, IMAGENET_INCEPTION_MEAN, IMAGENET_INCEPTION_STD\n"},
        {"einops.layers.torch", ws_prelude_einops_torch},
        {"types", "import sys\n"
                  "FunctionType = LambdaType = type(lambda: None)\n"
                  "ModuleType, NoneType, BuiltinFunctionType = type(sys), type(None), type(len)\n"
                  "GeneratorType = type(x for x in ())\n"
                  "class MethodType:\n"
                  "    def __new__(cls, function, instance):\n"
                  "        return lambda *args, **kwargs: function(instance, *args, **kwargs)\n"
                  "class SimpleNamespace:\n"
                  "    def __init__(self, **kwargs):\n"
                  "        for name, value in kwargs.items():\n"
                  "            setattr(self, name, value)\n"
                  "    def __repr__(self):\n"
                  "        items = [f'{name}={value!r}' for name, value in vars(self).items()]\n"
                  "        return 'namespace(' + ', '.join(items) + ')'\n"
                  "    def __eq__(self, other):\n"
                  "        same = isinstance(other, SimpleNamespace)\n"
                  "        return vars(self) == vars(other) if same else NotImplemented\n"
                  "def MappingProxyType(mapping):\n"
                  "    return dict(mapping)\n"},
        {"abc", "class ABCMeta:\n"
                "    pass\n"
                "class ABC(metaclass=ABCMeta):\n"
                "    pass\n"
                "def abstractmethod(function):\n"
                "    return function\n"},
        {"warnings", "filters = []\n"
                     "def warn(*args, **kwargs):\n"
                     "    pass\n"
                     "filterwarnings = simplefilter = warn\n"
                     "class catch_warnings:\n"
                     "    def __init__(self, record=False, **options):\n"
                     "        self.record = record\n"
                     "    def __enter__(self):\n"
                     "        return [] if self.record else None\n"
                     "    def __exit__(self, *error):\n"
                     "        pass\n"},
        {"logging", ws_prelude_logging},
        {"json", ws_prelude_json},
        {"argparse", ws_prelude_argparse},
        {"contextlib", ws_prelude_contextlib},
        {"operator", "add, sub, mul = lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b\n"
                     "truediv, floordiv = lambda a, b: a / b, lambda a, b: a // b\n"
                     "mod, pow, neg = lambda a, b: a % b, lambda a, b: a ** b, lambda a: -a\n"
                     "matmul, getitem = lambda a, b: a @ b, lambda a, b: a[b]\n"
                     "eq, ne = lambda a, b: a == b, lambda a, b: a != b\n"
                     "lt, le = lambda a, b: a < b, lambda a, b: a <= b\n"
                     "gt, ge = lambda a, b: a > b, lambda a, b: a >= b\n"
                     "and_, or_ = lambda a, b: a & b, lambda a, b: a | b\n"
                     "xor, inv = lambda a, b: a ^ b, lambda a: ~a\n"
                     "lshift, rshift = lambda a, b: a << b, lambda a, b: a >> b\n"
                     "_abs, invert = abs, inv\n"
                     "abs, pos = lambda a: _abs(a), lambda a: a\n"
                     "contains, is_ = lambda a, b: b in a, lambda a, b: a is b\n"
                     "not_, truth = lambda a: not a, lambda a: bool(a)\n"
                     "def itemgetter(i, *more):\n"
                     "    items = (i, *more)\n"
                     "    return lambda x: tuple([x[k] for k in items]) if more else x[i]\n"
                     "def attrgetter(name):\n"
                     "    def get(x):\n"
                     "        for part in name.split('.'):\n"
                     "            x = getattr(x, part)\n"
                     "        return x\n"
                     "    return get\n"},
        {"platform", "system, machine = lambda: 'Linux', lambda: 'x86_64'\n"
                     "node = processor = release = version = lambda: ''\n"
                     "python_version = lambda: '3.11.7'\n"
                     "python_version_tuple = lambda: ('3', '11', '7')\n"
                     "python_implementation = lambda: 'CPython'\n"},
        {"gc", "def collect(*args):\n"
               "    return 0\n"},
        {"torch.jit", "def trace(func, *args, **options):\n"
                      "    return func\n"
                      "freeze = optimize_for_inference = trace\n"
                      "def script(obj=None, **options):\n"
                      "    return script if obj is None or isinstance(obj, bool) else obj\n"
                      "ignore = unused = export = script_if_tracing = _script_if_tracing = script\n"
                      "interface = script_method = _overload = _overload_method = script\n"
                      "def annotate(the_type, the_value):\n"
                      "    return the_value\n"
                      "class TracerWarning(Warning):\n"
                      "    pass\n"
                      "def is_scripting():\n"
                      "    return False\n"
                      "is_tracing = is_scripting\n"
                      "from builtins import isinstance\n"
                      "Final = None\n"
                      "def __getattr__(name):\n"
                      "    import torch.nn\n"
                      "    if name in ('ScriptModule', 'RecursiveScriptModule'):\n"
                      "        return torch.nn.Module\n"
                      "    raise AttributeError(name)\n"},
        {"torch.hub", "import later, os\n"
                      "def _get_torch_home():\n"
                      "    return os.path.join(os.path.expanduser('~'), '.cache', 'torch')\n"
                      "def get_dir():\n"
                      "    return os.path.join(_get_torch_home(), 'hub')\n"
                      "def __getattr__(name):\n"
                      "    return later.of(__name__, name)\n"},
        {"torch.version", "import torch\n"
                          "__version__ = torch.__version__\n"
                          "cuda = '12.8'\n"
                          "hip = xpu = git_version = None\n"
                          "debug = False\n"},
        {"torch.serialization", "from torch import load, save\n"
                                "from contextlib import nullcontext\n"
                                "def safe_globals(names):\n"
                                "    return nullcontext()\n"
                                "def add_safe_globals(names):\n"
                                "    pass\n"},
        {"torch.onnx", "import later\n"
                       "def is_in_onnx_export():\n"
                       "    return False\n"
                       "def register_custom_op_symbolic(*args):\n"
                       "    pass\n"
                       "def __getattr__(name):\n"
                       "    return later.of(__name__, name)\n"},
        {"torch.fx", ws_prelude_torch_fx},
        {"torch.fx.graph_module", "from torch.fx import GraphModule\n"},
        {"torch.amp", ws_prelude_torch_amp},
        {"torch.amp.autocast_mode", "from torch.amp import *\n"
                                    "def _enter_autocast(*args):\n"
                                    "    return autocast(*args).__enter__()\n"
                                    "def _exit_autocast(mode):\n"
                                    "    mode.__exit__(None, None, None)\n"},
        {"torch.cuda.amp", "import torch\n"
                           "from torch.amp import GradScaler, custom_bwd, custom_fwd\n"
                           "def autocast(enabled=True, dtype=torch.float16, cache_enabled=True):\n"
                           "    return torch.autocast('cuda', dtype, enabled, cache_enabled)\n"},
        {"torch.utils", ""},
        {"torch.utils.checkpoint",
         "def get_device_states(*args):\n"
         "    return [], []\n"
         "def set_device_states(devices, states, **options):\n"
         "    pass\n"
         "def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):\n"
         "    for f in functions:\n"
         "        input = f(input)\n"
         "    return input\n"
         "def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True,\n"
         "               determinism_check='default', context_fn=None, debug=False, **kwargs):\n"
         "    return function(*args, **kwargs)\n"},
        {"torch.nn.modules", "from torch.nn import *\n"},
        {"torch.nn.modules.utils",
         "def _ntuple(n):\n"
         "    return lambda x: (x,) * n if isinstance(x, (int, float)) "
         "else tuple(x)\n"
         "_single, _pair, _triple, _quadruple = [_ntuple(n) for n in (1, 2, 3, 4)]\n"
         "def _reverse_repeat_tuple(t, n):\n"
         "    return tuple([x for x in reversed(t) for _ in range(n)])\n"},
        {"torch.types", "from numbers import Number\n"
                        "from typing import __getattr__\n"},
        {"numbers", "Number = Complex = Real = (int, float)\n"
                    "Rational = Integral = int\n"},
        {"later", ws_prelude_later},
        {"missing", ws_prelude_missing},
        {"torch.fft", ws_prelude_torch_fft},
        {"torch.sparse", ws_prelude_torch_sparse},
        {"torch.distributed", "from _warpsmith import refuse\n"
                              "def is_available():\n"
                              "    return False\n"
                              "is_initialized = is_torchelastic_launched = is_available\n"
                              "def get_rank(group=None):\n"
                              "    return 0\n"
                              "def get_world_size(group=None):\n"
                              "    return 1\n"
                              "def __getattr__(name):\n"
                              "    import later\n"
                              "    return later.of(__name__, name)\n"},
        {"scipy", "from scipy import linalg, optimize, signal, special, stats\n"},
        {"scipy.fft", "def next_fast_len(target, kind=None, real=False):\n"
                      "    def is_fast(n):\n"
                      "        for p in (2, 3, 5) if kind or real else (2, 3, 5, 7, 11):\n"
                      "            while n % p == 0:\n"
                      "                n //= p\n"
                      "        return n == 1\n"
                      "    while not is_fast(target):\n"
                      "        target += 1\n"
                      "    return target\n"
                      "def __getattr__(name):\n"
                      "    import later\n"
                      "    return later.of(__name__, name)\n"},
        {"scipy.fftpack", "from scipy import fft as _fft\n"
                          "def next_fast_len(target):\n"
                          "    return _fft.next_fast_len(target, real=True)\n"
                          "def __getattr__(name):\n"
                          "    import later\n"
                          "    return later.of(__name__, name)\n"},
        {"scipy.linalg", ws_prelude_scipy_linalg},
        {"scipy.optimize", ws_prelude_scipy_optimize},
        {"scipy.signal", ws_prelude_scipy_signal},
        {"scipy.special", ws_prelude_scipy_special},
        {"scipy.stats", ws_prelude_scipy_stats},
        {"pickle", ws_prelude_pickle},
        {"torch.profiler", ws_prelude_torch_profiler},
        {"torch.autograd.profiler", "from torch.profiler import *\n"
                                    "from torch.profiler import __getattr__\n"},
        {"packaging", ""},
        {"packaging.version", ws_prelude_version},
        {"pkg_resources", "from packaging.version import parse as parse_version, LooseVersion\n"},
        {"distutils", ""},
        {"distutils.version", ws_prelude_version},
        {"builtins",
         "from _warpsmith import refuse\n"
         "class bytes:\n" /* nothing is one; a literal b'x' calls it */
         "    def __new__(cls, *args):\n"
         "        refuse(f'{cls.__name__} are not supported')\n"
         "class bytearray(bytes): pass\n"
         "class memoryview(bytes): pass\n"
         "int, float, bool, str = int, float, bool, str\n"
         "list, tuple, dict, set = list, tuple, dict, set\n"
         "print, len, range, zip, map, filter = print, len, range, zip, map, filter\n"
         "sum, min, max, any, all, abs, round, pow = sum, min, max, any, all, abs, round, pow\n"
         "enumerate, sorted, reversed, iter, next = enumerate, sorted, reversed, iter, next\n"
         "isinstance, getattr, setattr, hasattr = isinstance, getattr, setattr, hasattr\n"
         "object, type, super, property, repr, id = object, type, super, property, repr, id\n"},
        {"inspect", ws_prelude_inspect},
        {"os", ws_prelude_os},
        {"os.path", ws_prelude_os_path},
        {"pathlib", ws_prelude_pathlib},
        {"io", ws_prelude_io},
        {"tqdm", ws_prelude_tqdm},
        {"tqdm.auto", "from tqdm import tqdm, trange\n"},
        {"heapq", ws_prelude_heapq},
        {"threading", ws_prelude_threading},
        {"uuid", "from random import getrandbits\n"
                 "class UUID:\n"
                 "    def __init__(self, hex):\n"
                 "        self.hex = hex.replace('-', '')\n"
                 "    def __str__(self):\n"
                 "        ends, h = (8, 12, 16, 20, 32), self.hex\n"
                 "        return '-'.join([h[a:b] for a, b in zip((0,) + ends, ends)])\n"
                 "    def __repr__(self):\n"
                 "        return f\"UUID('{self}')\"\n"
                 "    def __eq__(self, other):\n"
                 "        return isinstance(other, UUID) and self.hex == other.hex\n"
                 "    def __hash__(self):\n"
                 "        return hash(self.hex)\n"
                 "def uuid4():\n"
                 "    h = ''.join([f'{getrandbits(16):04x}' for _ in range(8)])\n"
                 "    return UUID(f'{h[:12]}4{h[13:16]}a{h[17:]}')\n"
                 "uuid1 = uuid4\n"},
        {"torch.distributions.constraints", "class Constraint:\n"
                                            "    is_discrete, event_dim = False, 0\n"
                                            "    def __init__(self, *bounds):\n"
                                            "        self.bounds = bounds\n"
                                            "    def __call__(self, *bounds):\n"
                                            "        return Constraint(*bounds)\n"
                                            "def __getattr__(name):\n"
                                            "    return Constraint()\n"},
        {"importlib", "from _warpsmith import module_named, module_absent\n"
                      "def import_module(name, package=None):\n"
                      "    dots = len(name) - len(name.lstrip('.'))\n"
                      "    if dots:\n"
                      "        parts = package.split('.')\n"
                      "        name = '.'.join([*parts[:len(parts) - dots + 1], name[dots:]])\n"
                      "    found = module_named(name)\n"
                      "    return module_absent(name) if found is None else found\n"
                      "def invalidate_caches():\n"
                      "    pass\n"},
        {"importlib.util", "from _warpsmith import module_named\n"
                           "def find_spec(name, package=None):\n"
                           "    return module_named(name)\n"},
        {"beartype", "def beartype(obj=None, **options):\n"
                     "    return beartype if obj is None else obj\n"},
        {"beartype.typing", "from typing import *\nfrom typing import __getattr__\n"},
        {"typeguard", "def typechecked(obj=None, **options):\n"
                      "    return typechecked if obj is None else obj\n"},
        {"queue", ws_prelude_queue},
        {"statistics", ws_prelude_statistics},
        {"string", "ascii_lowercase = 'abcdefghijklmnopqrstuvwxyz'\n"
                   "ascii_uppercase = ascii_lowercase.upper()\n"
                   "ascii_letters = ascii_lowercase + ascii_uppercase\n"
                   "digits, octdigits, hexdigits = '0123456789', '01234567', "
                   "'0123456789abcdefABCDEF'\n"
                   "punctuation = '!\"#$%&\\'()*+,-./:;<=>?@[\\\\]^_`{|}~'\n"
                   "whitespace = ' \\t\\n\\r\\x0b\\x0c'\n"
                   "printable = digits + ascii_letters + punctuation + whitespace\n"},
        {"torch.utils.data.dataloader", "from torch.utils.data import DataLoader\n"},
        {"torch.utils.data.dataset",
         "from torch.utils.data import Dataset, TensorDataset, Subset\n"},
        {"torch.optim.optimizer", "from torch.optim import Optimizer\nParamsT = required = None\n"},
        {"sys", ws_prelude_sys},
        {"time", "from _warpsmith import clock as time, refuse\n"
                 "perf_counter = monotonic = process_time = time\n"
                 "def perf_counter_ns():\n"
                 "    return int(time() * 1e9)\n"
                 "time_ns = monotonic_ns = process_time_ns = perf_counter_ns\n"
                 "def __getattr__(name):\n"
                 "    if name[:2] == '__':\n"
                 "        raise AttributeError(name)\n"
                 "    refuse(f'time.{name} is not supported')\n"
                 "def sleep(seconds):\n"
                 "    pass\n"},
        {"__future__", "annotations = None\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, module)) return texts[i].text;
    return NULL;
}

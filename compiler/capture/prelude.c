/* prelude.c: the part of torch and of the standard library that is written in Python, run by our
 * own VM.
 *
 * Modules own parameters, initialised as PyTorch does, and call the operator; everything here is
 * made of operators of graph/ops.def. Errors inside are shown at the user's call into it. From
 * module _warpsmith come refuse(), graph_break(), op() and the few others of builtins_torch.c. */
#include <string.h>

#include "capture/vm.h"

#define L(text) text "\n"

static const char torch[] = L("from _warpsmith import op, refuse, graph_break, is_parameter") L(
    "from torch._tensor import squeeze, unbind, split, chunk, var, std, max, min, norm, softmax, "
    "log_softmax") L("class device:") L("    def __init__(self, type, index=None):")
    L("        if isinstance(type, device):") L("            type = type.type") L(
        "        self.type = type.split(':')[0]") L("        self.index = index")
        L("    def __repr__(self):") L("        return f\"device(type='{self.type}')\"") L(
            "    def __str__(self):") L("        return self.type")
            L("    def __eq__(self, other):") L("        return isinstance(other, device) and "
                                                "self.type == other.type") L("_device = "
                                                                             "device('cpu')") L(
                "class Generator:") L("    def __init__(self, device=None):") L("        pass")
                L("    def manual_seed(self, seed):") L("        return self") L("class _Guard:") L(
                    "    def __enter__(self):") L("        return None")
                    L("    def __exit__(self, type, value, traceback):") L("        return None") L(
                        "    def __call__(self, function):") L("        return function")
                        L("def no_grad(function=None):") L("    return _Guard() if function is "
                                                           "None else function") L(
                            "inference_mode = enable_grad = no_grad") L("def "
                                                                        "set_grad_enabled(mode):")
                            L("    return _Guard()") L("def compile(model=None, **options):") L(
                                "    return (lambda function: function) if model is None else "
                                "model") L("def manual_seed(seed):") L("    return Generator()")
                                L("def set_float32_matmul_precision(precision):") L("    pass")
                                    L("def set_default_device(device):") L("    pass") L(
                                        "def get_default_dtype():") L("    return float32")
                                        L("def is_tensor(x):") L("    return isinstance(x, Tensor)")
                                            L("def is_floating_point(x):") L(
                                                "    return x.is_floating_point()")
                                                L("def numel(x):") L("    return x.numel()") L(
                                                    "def tensor(data, dtype=None, device=None, "
                                                    "requires_grad=False):")
                                                    L("    if isinstance(data, (list, tuple)):") L(
                                                        "        refuse('torch.tensor of a list is "
                                                        "not supported; torch.arange, torch.full "
                                                        "and torch.where make '")
                                                        L("               'constant tensors')") L(
                                                            "    return full((), data, "
                                                            "dtype=dtype)") L("def as_tensor(data, "
                                                                              "dtype=None, "
                                                                              "device=None):")
                                                            L("    return data.to(dtype=dtype) if "
                                                              "isinstance(data, Tensor) else "
                                                              "tensor(data, dtype)") L(
                                                                "full_ = op('full')")
                                                                L("def full(size, fill_value, "
                                                                  "dtype=None, device=None, "
                                                                  "**placement):") L(
                                                                    "    return full_(size, "
                                                                    "fill_value, dtype)")
                                                                    L("arange_ = op('arange')") L(
                                                                        "def arange(start, "
                                                                        "end=None, step=1, "
                                                                        "dtype=None, device=None, "
                                                                        "**placement):")
                                                                        L("    return arange_(0, "
                                                                          "start, 1, dtype) if end "
                                                                          "is None else "
                                                                          "arange_(start, end, "
                                                                          "step, dtype)")
                                                                            L("def var_mean(input, "
                                                                              "dim=None, "
                                                                              "unbiased=None, "
                                                                              "correction=None, "
                                                                              "keepdim=False):") L(
                                                                                "    return "
                                                                                "var(input, dim, "
                                                                                "unbiased, "
                                                                                "correction, "
                                                                                "keepdim), "
                                                                                "input.mean(dim, "
                                                                                "keepdim=keepdim)");

/* Functions that are methods of Tensor, too. */
static const char torch_tensor[] = L("import torch") L("from _warpsmith import op, refuse, "
                                                       "graph_break, assign") L(
    "_range, _reversed = range, reversed") L("_squeeze, _var, _std, _max, _min, _norm = "
                                             "op('squeeze'), op('var'), op('std'), op('max'), "
                                             "op('min'), op('norm')")
    L("_softmax, _log_softmax, _to, _slice, _select = op('softmax'), op('log_softmax'), op('to'), "
      "op('slice'), op('select')") L("def squeeze(self, dim=None):") L("    if dim is not None:") L(
        "        return _squeeze(self, dim)") L("    for d in _reversed(_range(self.ndim)):")
        L("        if self.shape[d] == 1:") L("            self = _squeeze(self, d)") L(
            "    return self") L("def softmax(self, dim, dtype=None):") L("    return "
                                                                          "_softmax(self, dim, "
                                                                          "dtype)")
            L("def log_softmax(self, dim, dtype=None):") L("    return _log_softmax(self, dim, "
                                                           "dtype)") L(
                "def unbind(self, dim=0):") L("    return tuple([_select(self, dim, i) for i in "
                                              "_range(self.size(dim))])")
                L("def split(self, split_size, dim=0):") L("    n = self.size(dim)") L(
                    "    if isinstance(split_size, int):") L("        if split_size < 1:")
                    L("            raise ValueError('split size must be positive')") L(
                        "        sizes = [split_size] * (n // split_size) + ([n % split_size] if n "
                        "% split_size else [])") L("    else:")
                        L("        sizes = list(split_size)") L("        if sum(sizes) != n:") L(
                            "            raise RuntimeError(f'split sizes {sizes} do not sum to "
                            "{n}, the size of dimension {dim}')") L("    parts, start = [], 0")
                            L("    for size in sizes:") L("        parts.append(_slice(self, dim, "
                                                          "start, start + size))") L(
                                "        start += size") L("    return tuple(parts)")
                                L("def chunk(self, chunks, dim=0):") L("    return split(self, "
                                                                       "-(-self.size(dim) // "
                                                                       "chunks), dim)") L(
                                    "def _correction(unbiased, correction):") L("    if correction "
                                                                                "is None:")
                                    L("        correction = 0 if unbiased is False else 1") L(
                                        "    return correction") L("def var(self, dim=None, "
                                                                   "unbiased=None, "
                                                                   "correction=None, "
                                                                   "keepdim=False):") L("    if "
                                                                                        "isinstance"
                                                                                        "(dim, "
                                                                                        "bool):")
                                        L("        dim, unbiased = None, dim") L("    return "
                                                                                 "_var(self, dim, "
                                                                                 "_correction("
                                                                                 "unbiased, "
                                                                                 "correction), "
                                                                                 "keepdim)") L("def"
                                                                                               " st"
                                                                                               "d("
                                                                                               "sel"
                                                                                               "f, "
                                                                                               "dim"
                                                                                               "=No"
                                                                                               "ne,"
                                                                                               " un"
                                                                                               "bia"
                                                                                               "sed"
                                                                                               "=No"
                                                                                               "ne,"
                                                                                               " co"
                                                                                               "rre"
                                                                                               "cti"
                                                                                               "on="
                                                                                               "Non"
                                                                                               "e, "
                                                                                               "kee"
                                                                                               "pdi"
                                                                                               "m="
                                                                                               "Fal"
                                                                                               "se)"
                                                                                               ":") L(
                                            "    if isinstance(dim, bool):") L("        dim, "
                                                                               "unbiased = None, "
                                                                               "dim")
                                            L("    return _std(self, dim, _correction(unbiased, "
                                              "correction), keepdim)") L("def norm(self, p='fro', "
                                                                         "dim=None, "
                                                                         "keepdim=False):") L(
                                                "    return _norm(self, 2 if p == 'fro' or p is "
                                                "None else p, dim, keepdim)")
                                                L("def _extreme(name, all, pair, values, self, "
                                                  "dim):") L("    if dim is None:")
                                                    L("        return all(self)") L("    if "
                                                                                    "isinstance("
                                                                                    "dim, "
                                                                                    "torch.Tensor)"
                                                                                    ":") L(
                                                        "        return pair(self, dim)")
                                                        L("    refuse(f'torch.{name} over a "
                                                          "dimension returns indices, which is not "
                                                          "supported; torch.a{name} gives the "
                                                          "values')") L("def max(self, dim=None, "
                                                                        "keepdim=False):")
                                                            L("    return _extreme('max', _max, "
                                                              "torch.maximum, torch.amax, self, "
                                                              "dim)") L("def min(self, dim=None, "
                                                                        "keepdim=False):") L(
                                                                "    return _extreme('min', _min, "
                                                                "torch.minimum, torch.amin, self, "
                                                                "dim)") L("def to(self, *args, "
                                                                          "**kwargs):") L("    "
                                                                                          "dtype = "
                                                                                          "kwargs."
                                                                                          "get('"
                                                                                          "dtype')") L("    for a in args:")
                                                                L("        if isinstance(a, "
                                                                  "torch.dtype):") L("            "
                                                                                     "dtype = a") L(
                                                                    "        elif isinstance(a, "
                                                                    "torch.Tensor):") L("          "
                                                                                        "  dtype = "
                                                                                        "a.dtype")
                                                                    L("    return self if dtype is "
                                                                      "None or dtype == self.dtype "
                                                                      "else _to(self, dtype)") L("d"
                                                                                                 "e"
                                                                                                 "f"
                                                                                                 " "
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 ")"
                                                                                                 ":") L(
                                                                        "    return to(self, "
                                                                        "dtype)") L("def "
                                                                                    "cuda(self, "
                                                                                    "*args, "
                                                                                    "**kwargs):")
                                                                        L(
                                                                            "    return self") L("d"
                                                                                                 "e"
                                                                                                 "f"
                                                                                                 " "
                                                                                                 "c"
                                                                                                 "p"
                                                                                                 "u"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ")"
                                                                                                 ":") L("    return self") L("def pin_memory(self):") L("    return self")
                                                                            L("def new_zeros(self, "
                                                                              "*size, dtype=None, "
                                                                              "device=None):") L(" "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
                                                                                                 "r"
                                                                                                 "e"
                                                                                                 "t"
                                                                                                 "u"
                                                                                                 "r"
                                                                                                 "n"
                                                                                                 " "
                                                                                                 "t"
                                                                                                 "o"
                                                                                                 "r"
                                                                                                 "c"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "z"
                                                                                                 "e"
                                                                                                 "r"
                                                                                                 "o"
                                                                                                 "s"
                                                                                                 "("
                                                                                                 "*"
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "z"
                                                                                                 "e"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "="
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 " "
                                                                                                 "o"
                                                                                                 "r"
                                                                                                 " "
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 "."
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 ")") L("def new_ones(self, *size, dtype=None, device=None):") L(
                                                                                "    return "
                                                                                "torch.ones(*size, "
                                                                                "dtype=dtype or "
                                                                                "self.dtype)") L("d"
                                                                                                 "e"
                                                                                                 "f"
                                                                                                 " "
                                                                                                 "n"
                                                                                                 "e"
                                                                                                 "w"
                                                                                                 "_"
                                                                                                 "e"
                                                                                                 "m"
                                                                                                 "p"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "*"
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "z"
                                                                                                 "e"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "y"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "="
                                                                                                 "N"
                                                                                                 "o"
                                                                                                 "n"
                                                                                                 "e"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "d"
                                                                                                 "e"
                                                                                                 "v"
                                                                                                 "i"
                                                                                                 "c"
                                                                                                 "e"
                                                                                                 "="
                                                                                                 "N"
                                                                                                 "o"
                                                                                                 "n"
                                                                                                 "e"
                                                                                                 ")"
                                                                                                 ":") L("    return torch.empty(*size, dtype=dtype or self.dtype)") L("def new_full(self, size, fill_value, dtype=None, device=None):")
                                                                                L("    return "
                                                                                  "torch.full(size,"
                                                                                  " fill_value, "
                                                                                  "dtype=dtype or "
                                                                                  "self.dtype)") L("def zero_(self):") L("    return assign(self, torch.zeros_like(self))") L(
                                                                                    "def "
                                                                                    "fill_(self, "
                                                                                    "value):") L(" "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
                                                                                                 "r"
                                                                                                 "e"
                                                                                                 "t"
                                                                                                 "u"
                                                                                                 "r"
                                                                                                 "n"
                                                                                                 " "
                                                                                                 "a"
                                                                                                 "s"
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "g"
                                                                                                 "n"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "t"
                                                                                                 "o"
                                                                                                 "r"
                                                                                                 "c"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "f"
                                                                                                 "u"
                                                                                                 "l"
                                                                                                 "l"
                                                                                                 "_"
                                                                                                 "l"
                                                                                                 "i"
                                                                                                 "k"
                                                                                                 "e"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "v"
                                                                                                 "a"
                                                                                                 "l"
                                                                                                 "u"
                                                                                                 "e"
                                                                                                 ")"
                                                                                                 ")") L("def copy_(self, src, non_blocking=False):")
                                                                                    L("    return "
                                                                                      "assign(self,"
                                                                                      " src.expand("
                                                                                      "self.shape)"
                                                                                      ")") L("def "
                                                                                             "unifo"
                                                                                             "rm_("
                                                                                             "self,"
                                                                                             " a=0."
                                                                                             "0, "
                                                                                             "b=1."
                                                                                             "0, "
                                                                                             "gener"
                                                                                             "ator="
                                                                                             "None)"
                                                                                             ":") L(
                                                                                        "    "
                                                                                        "return "
                                                                                        "assign("
                                                                                        "self, "
                                                                                        "torch."
                                                                                        "rand_like("
                                                                                        "self) * "
                                                                                        "(b - a) + "
                                                                                        "a)")
                                                                                        L("def "
                                                                                          "normal_("
                                                                                          "self, "
                                                                                          "mean=0."
                                                                                          "0, "
                                                                                          "std=1.0,"
                                                                                          " generat"
                                                                                          "or=None)"
                                                                                          ":") L(" "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
                                                                                                 "r"
                                                                                                 "e"
                                                                                                 "t"
                                                                                                 "u"
                                                                                                 "r"
                                                                                                 "n"
                                                                                                 " "
                                                                                                 "a"
                                                                                                 "s"
                                                                                                 "s"
                                                                                                 "i"
                                                                                                 "g"
                                                                                                 "n"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "t"
                                                                                                 "o"
                                                                                                 "r"
                                                                                                 "c"
                                                                                                 "h"
                                                                                                 "."
                                                                                                 "r"
                                                                                                 "a"
                                                                                                 "n"
                                                                                                 "d"
                                                                                                 "n"
                                                                                                 "_"
                                                                                                 "l"
                                                                                                 "i"
                                                                                                 "k"
                                                                                                 "e"
                                                                                                 "("
                                                                                                 "s"
                                                                                                 "e"
                                                                                                 "l"
                                                                                                 "f"
                                                                                                 ")"
                                                                                                 " "
                                                                                                 "*"
                                                                                                 " "
                                                                                                 "s"
                                                                                                 "t"
                                                                                                 "d"
                                                                                                 " "
                                                                                                 "+"
                                                                                                 " "
                                                                                                 "m"
                                                                                                 "e"
                                                                                                 "a"
                                                                                                 "n"
                                                                                                 ")") L("def item(self):") L(
                                                                                            "    "
                                                                                            "graph_"
                                                                                            "break("
                                                                                            "'call "
                                                                                            "of "
                                                                                            "Tensor"
                                                                                            ".item("
                                                                                            ")', "
                                                                                            "'keep "
                                                                                            "the "
                                                                                            "value "
                                                                                            "in a "
                                                                                            "tensor"
                                                                                            "')") L("def tolist(self):")
                                                                                            L("    "
                                                                                              "grap"
                                                                                              "h_"
                                                                                              "brea"
                                                                                              "k('"
                                                                                              "call"
                                                                                              " of "
                                                                                              "Tens"
                                                                                              "or."
                                                                                              "toli"
                                                                                              "st()"
                                                                                              "', "
                                                                                              "'kee"
                                                                                              "p "
                                                                                              "the "
                                                                                              "valu"
                                                                                              "es "
                                                                                              "in "
                                                                                              "a "
                                                                                              "tens"
                                                                                              "or'"
                                                                                              ")") L("def numpy(self, *args, **kwargs):") L(
                                                                                                "  "
                                                                                                "  "
                                                                                                "gr"
                                                                                                "ap"
                                                                                                "h_"
                                                                                                "br"
                                                                                                "ea"
                                                                                                "k("
                                                                                                "'c"
                                                                                                "al"
                                                                                                "l "
                                                                                                "of"
                                                                                                " T"
                                                                                                "en"
                                                                                                "so"
                                                                                                "r."
                                                                                                "nu"
                                                                                                "mp"
                                                                                                "y("
                                                                                                ")'"
                                                                                                ", "
                                                                                                "'u"
                                                                                                "se"
                                                                                                " t"
                                                                                                "or"
                                                                                                "ch"
                                                                                                " f"
                                                                                                "un"
                                                                                                "ct"
                                                                                                "io"
                                                                                                "ns"
                                                                                                "'"
                                                                                                ")") L("def nonzero(self, *args, **kwargs):")
                                                                                                L("    graph_break('shape of Tensor.nonzero()', 'torch.where(condition, a, b) keeps the shape')")
                                                                                                    L("def backward(self, *args, **kwargs):")
                                                                                                        L("    refuse('Tensor.backward() is not supported in a workload; a workload is a forward function')")
                                                                                                            L("device = property(lambda self: torch._device)")
                                                                                                                L("def register_hook(self, hook):")
                                                                                                                    L("    refuse('hooks are not supported')");

static const char functional[] = L("import torch, math") L(
    "from _warpsmith import op, has_op, refuse")
    L("_softmax, _log_softmax = op('softmax'), op('log_softmax')") L(
        "def softmax(input, dim=None, _stacklevel=3, dtype=None):") L("    if dim is None:")
        L("        refuse('F.softmax needs dim')") L("    return _softmax(input, dim, dtype)") L(
            "def log_softmax(input, dim=None, _stacklevel=3, dtype=None):") L("    if dim is None:")
            L("        refuse('F.log_softmax needs dim')") L(
                "    return _log_softmax(input, dim, dtype)")
                L("def dropout(input, p=0.5, training=True, inplace=False):") L(
                    "    if training and p > 0:")
                    L("        refuse('dropout in training mode is not supported; call .eval() on "
                      "the module, or set p=0')") L("    return input") L(
                        "dropout1d = dropout2d = dropout3d = alpha_dropout = dropout")
                        L("def glu(input, dim=-1):") L("    a, b = input.chunk(2, dim)") L(
                            "    return a * torch.sigmoid(b)")
                            L("if not has_op('scaled_dot_product_attention'):") L(
                                "    def scaled_dot_product_attention(query, key, value, "
                                "attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):")
                                L("        if dropout_p > 0:") L(
                                    "            refuse('attention with dropout is not supported')")
                                    L("        if scale is None:") L("            scale = 1 / "
                                                                     "math.sqrt(query.size(-1))") L(
                                        "        scores = torch.matmul(query, key.transpose(-2, "
                                        "-1)) * scale") L("        if is_causal:")
                                        L("            keep = torch.ones(query.size(-2), "
                                          "key.size(-2), dtype=torch.bool).tril()") L(
                                            "            scores = "
                                            "scores.masked_fill(keep.logical_not(), float('-inf'))")
                                            L("        if attn_mask is not None and "
                                              "attn_mask.dtype == torch.bool:") L(
                                                "            scores = "
                                                "scores.masked_fill(attn_mask.logical_not(), "
                                                "float('-inf'))")
                                                L("        elif attn_mask is not None:") L(
                                                    "            scores = scores + attn_mask")
                                                    L("        return torch.matmul(softmax(scores, "
                                                      "dim=-1), value)");

static const char init[] = L("import torch, math") L("def zeros_(tensor):") L(
    "    return tensor.zero_()") L("def ones_(tensor):") L("    return tensor.fill_(1.0)")
    L("def constant_(tensor, val):") L("    return tensor.fill_(val)") L(
        "def uniform_(tensor, a=0.0, b=1.0, generator=None):") L("    return tensor.uniform_(a, b)")
        L("def normal_(tensor, mean=0.0, std=1.0, generator=None):") L(
            "    return tensor.normal_(mean, std)") L("def trunc_normal_(tensor, mean=0.0, "
                                                      "std=1.0, a=-2.0, b=2.0, generator=None):")
            L("    return tensor.copy_((torch.randn_like(tensor) * std + mean).clamp(a, b))") L(
                "def _fans(tensor):") L("    if tensor.ndim < 2:")
                L("        raise ValueError('fan in and fan out can not be computed for tensor "
                  "with fewer than 2 dimensions')") L("    field = math.prod(tensor.shape[2:])") L(
                    "    return tensor.size(1) * field, tensor.size(0) * field")
                    L("def calculate_gain(nonlinearity, param=None):") L("    if nonlinearity == "
                                                                         "'relu':") L(
                        "        return math.sqrt(2.0)") L("    if nonlinearity == 'leaky_relu':")
                        L("        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) "
                          "** 2))") L("    return 5.0 / 3 if nonlinearity == 'tanh' else 1.0") L(
                            "def xavier_uniform_(tensor, gain=1.0, generator=None):")
                            L("    fan_in, fan_out = _fans(tensor)") L(
                                "    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))")
                                L("    return tensor.uniform_(-bound, bound)") L(
                                    "def xavier_normal_(tensor, gain=1.0, generator=None):")
                                    L("    fan_in, fan_out = _fans(tensor)") L(
                                        "    return tensor.normal_(0.0, gain * math.sqrt(2.0 / "
                                        "(fan_in + fan_out)))") L("def _deviation(tensor, a, mode, "
                                                                  "nonlinearity):")
                                        L("    fan_in, fan_out = _fans(tensor)") L(
                                            "    return calculate_gain(nonlinearity, a) / "
                                            "math.sqrt(fan_in if mode == 'fan_in' else fan_out)")
                                            L("def kaiming_uniform_(tensor, a=0, mode='fan_in', "
                                              "nonlinearity='leaky_relu', generator=None):") L(
                                                "    bound = math.sqrt(3.0) * _deviation(tensor, "
                                                "a, mode, nonlinearity)")
                                                L("    return tensor.uniform_(-bound, bound)") L(
                                                    "def kaiming_normal_(tensor, a=0, "
                                                    "mode='fan_in', nonlinearity='leaky_relu', "
                                                    "generator=None):")
                                                    L("    return tensor.normal_(0.0, "
                                                      "_deviation(tensor, a, mode, nonlinearity))");

static const char cuda[] = L("def is_available():") L("    return False") L("def device_count():")
    L("    return 0") L("def is_bf16_supported():") L("    return True")
        L("def synchronize(device=None):") L("    pass") L("def manual_seed(seed):") L("    pass")
            L("manual_seed_all = manual_seed") L("def empty_cache():") L("    pass");

static const char backends[] = L("class _Settings:") L("    pass") L("cuda = _Settings()")
    L("cuda.matmul = _Settings()") L("cudnn = _Settings()");

static const char typing[] = L("class _Type:") L("    def __getitem__(self, item):")
    L("        return self") L("    def __call__(self, *args, **kwargs):") L("        return self")
        L("    def __or__(self, other):") L("        return self") L("TYPE_CHECKING = False")
            L("def __getattr__(name):") L("    return _Type()");

static const char functools[] = L("def partial(function, *args, **kwargs):")
    L("    return lambda *more, **named: function(*args, *more, **{**kwargs, **named})")
        L("def wraps(wrapped):") L("    return lambda wrapper: wrapper")
            L("def reduce(function, items, *start):") L("    items = iter(items)")
                L("    total = start[0] if start else next(items)") L("    for item in items:")
                    L("        total = function(total, item)") L("    return total")
                        L("def cache(function):") L("    return function")
                            L("def lru_cache(maxsize=128, typed=False):")
                                L("    return (lambda function: function) if isinstance(maxsize, "
                                  "int) or maxsize is None else maxsize");

static const char itertools[] =
    L("def chain(*lists):") L("    return iter([item for one in lists for item in one])")
        L("def product(*lists, repeat=1):") L("    rows = [()]") L("    for one in lists * repeat:")
            L("        one = list(one)")
                L("        rows = [row + (item,) for row in rows for item in one]")
                    L("    return iter(rows)") L("def repeat(item, times):")
                        L("    return iter([item] * times)") L("def accumulate(items):")
                            L("    out = []") L("    for item in items:")
                                L("        out.append(out[-1] + item if out else item)")
                                    L("    return iter(out)") L("def pairwise(items):")
                                        L("    items = list(items)")
                                            L("    return zip(items, items[1:])");

static const char collections[] = L("OrderedDict = dict");

static const char os[] =
    L("environ = {}") L("def getenv(key, default=None):") L("    return environ.get(key, default)");

static const char sys[] = L("argv = []") L("path = []") L("maxsize = 9223372036854775807");

static const char time[] = L("def time():") L("    return 0.0") L("perf_counter = monotonic = time")
    L("def sleep(seconds):") L("    pass");

static const char future[] = L("annotations = None");

const char *prelude_text(const char *module) {
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"torch", torch},
        {"torch._tensor", torch_tensor},
        {"torch.nn", prelude_nn},
        {"torch.nn.functional", functional},
        {"torch.nn.init", init},
        {"torch.nn.parameter", "from _warpsmith import Parameter\n"},
        {"torch.cuda", cuda},
        {"torch.backends", backends},
        {"typing", typing},
        {"functools", functools},
        {"itertools", itertools},
        {"collections", collections},
        {"os", os},
        {"sys", sys},
        {"time", time},
        {"__future__", future},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!strcmp(texts[i].name, module)) return texts[i].text;
    return NULL;
}

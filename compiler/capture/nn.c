/* nn.c: torch.nn: modules that own parameters, initialised as PyTorch does, and call the operator.
 * Python text of the prelude. An attribute that holds a tensor marked as parameter or buffer, or a
 * module, is registered by that alone: there are no tables beside __dict__. Containers keep their
 * modules in _items. */
#include "capture/vm.h"

#define L(text) text "\n"

const char prelude_nn[] = L("import torch, math") L("import torch.nn.functional as F") L(
    "import torch.nn.init as init") L("from _warpsmith import Parameter, buffer, is_parameter, "
                                      "is_buffer, replace, refuse") L("") L("class Module:")
    L("    training = True") L("    def __init__(self):") L("        pass") L(
        "    def __call__(self, *args, **kwargs):") L("        return self.forward(*args, "
                                                      "**kwargs)") L("    def forward(self, *args, "
                                                                     "**kwargs):") L("        "
                                                                                     "raise "
                                                                                     "NotImplemente"
                                                                                     "dError(")
        L("            f'Module [{type(self).__name__}] is missing the required \"forward\" "
          "function')") L("    def register_buffer(self, name, tensor, persistent=True):") L(
            "        setattr(self, name, None if tensor is None else buffer(tensor))")
            L("    def register_parameter(self, name, param):") L("        setattr(self, name, "
                                                                  "param)") L("    def "
                                                                              "add_module(self, "
                                                                              "name, module):") L(
                "        setattr(self, name, module)") L("    register_module = add_module")
                L("    def named_children(self):") L("        return [(name, value) for name, "
                                                     "value in self.__dict__.items() if "
                                                     "isinstance(value, Module)]") L(
                    "    def children(self):") L("        return [child for _, child in "
                                                 "self.named_children()]") L("    def "
                                                                             "named_modules(self, "
                                                                             "prefix=''):")
                    L("        found = [(prefix, self)]") L("        for name, child in "
                                                            "self.named_children():") L(
                        "            found += child.named_modules(prefix + '.' + name if prefix "
                        "else name)")
                        L("        return found") L("    def modules(self):") L("        return "
                                                                                "[module for _, "
                                                                                "module in "
                                                                                "self.named_"
                                                                                "modules()]") L(
                            "    def _named(self, wanted):") L("        found = []")
                            L("        for prefix, module in self.named_modules():") L(
                                "            for name, value in module.__dict__.items():")
                                L("                if wanted(value):") L(
                                    "                    found.append((prefix + '.' + name if "
                                    "prefix else name, value))") L("        return found") L("    "
                                                                                             "def "
                                                                                             "named"
                                                                                             "_para"
                                                                                             "meter"
                                                                                             "s("
                                                                                             "self,"
                                                                                             " recu"
                                                                                             "rse="
                                                                                             "True)"
                                                                                             ":")
                                    L("        return self._named(is_parameter)") L(
                                        "    def parameters(self, recurse=True):") L("        "
                                                                                     "return "
                                                                                     "[value for "
                                                                                     "_, value in "
                                                                                     "self.named_"
                                                                                     "parameters()"
                                                                                     "]") L("    "
                                                                                            "def "
                                                                                            "named_"
                                                                                            "buffer"
                                                                                            "s("
                                                                                            "self, "
                                                                                            "recurs"
                                                                                            "e="
                                                                                            "True)"
                                                                                            ":")
                                        L("        return self._named(is_buffer)") L("    def "
                                                                                     "buffers(self,"
                                                                                     " recurse="
                                                                                     "True):") L(
                                            "        return [value for _, value in "
                                            "self.named_buffers()]") L("    def apply(self, "
                                                                       "function):") L("        "
                                                                                       "for child "
                                                                                       "in "
                                                                                       "self."
                                                                                       "children()"
                                                                                       ":")
                                            L("            child.apply(function)") L("        "
                                                                                     "function("
                                                                                     "self)") L(
                                                "        return self") L("    def train(self, "
                                                                         "mode=True):") L("        "
                                                                                          "for "
                                                                                          "module "
                                                                                          "in "
                                                                                          "self."
                                                                                          "modules("
                                                                                          "):") L("            module.training = mode")
                                                L("        return self") L(
                                                    "    def eval(self):")
                                                    L("        return self.train(False)") L(
                                                        "    def requires_grad_(self, "
                                                        "requires_grad=True):") L("        for p "
                                                                                  "in "
                                                                                  "self.parameters("
                                                                                  "):") L("        "
                                                                                          "    "
                                                                                          "p."
                                                                                          "requires"
                                                                                          "_grad_("
                                                                                          "requires"
                                                                                          "_grad)") L("        return self") L("    def to(self, *args, **kwargs):")
                                                        L("        for value in self.parameters() "
                                                          "+ self.buffers():") L("            new "
                                                                                 "= "
                                                                                 "value.to(*args, "
                                                                                 "**kwargs)") L(
                                                            "            if "
                                                            "value.is_floating_point() and "
                                                            "new.dtype != value.dtype:") L("       "
                                                                                           "       "
                                                                                           "  "
                                                                                           "replace"
                                                                                           "(value,"
                                                                                           " new)") L("        return self")
                                                            L("    def half(self):") L(
                                                                "        return "
                                                                "self.to(torch.float16)") L("    "
                                                                                            "def "
                                                                                            "bfloat"
                                                                                            "16("
                                                                                            "self)"
                                                                                            ":")
                                                                L("        return "
                                                                  "self.to(torch.bfloat16)") L(
                                                                    "    def float(self):") L("    "
                                                                                              "    "
                                                                                              "retu"
                                                                                              "rn "
                                                                                              "self"
                                                                                              ".to("
                                                                                              "torc"
                                                                                              "h."
                                                                                              "floa"
                                                                                              "t32"
                                                                                              ")") L("    def double(self):") L("        return self.to(torch.float64)")
                                                                    L("    def cuda(self, "
                                                                      "device=None):") L(
                                                                        "        return self") L(" "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
                                                                                                 "d"
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
                                                                                                 ":") L("        return self")
                                                                        L("    def "
                                                                          "extra_repr(self):") L(" "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
                                                                                                 " "
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
                                                                                                 "'"
                                                                                                 "'") L(
                                                                            "") L("class "
                                                                                  "Identity(Module)"
                                                                                  ":") L("    def "
                                                                                         "__init__("
                                                                                         "self, "
                                                                                         "*args, "
                                                                                         "**kwargs)"
                                                                                         ":") L("  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "pa"
                                                                                                "s"
                                                                                                "s")
                                                                            L("    def "
                                                                              "forward(self, "
                                                                              "input):") L("       "
                                                                                           " return"
                                                                                           " input") L("") L("class Sequential(Module):") L(
                                                                                "    def "
                                                                                "__init__(self, "
                                                                                "*modules):") L("  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "if"
                                                                                                " l"
                                                                                                "en"
                                                                                                "(m"
                                                                                                "od"
                                                                                                "ul"
                                                                                                "es"
                                                                                                ") "
                                                                                                "=="
                                                                                                " 1"
                                                                                                " a"
                                                                                                "nd"
                                                                                                " i"
                                                                                                "si"
                                                                                                "ns"
                                                                                                "ta"
                                                                                                "nc"
                                                                                                "e("
                                                                                                "mo"
                                                                                                "du"
                                                                                                "le"
                                                                                                "s["
                                                                                                "0]"
                                                                                                ", "
                                                                                                "di"
                                                                                                "ct"
                                                                                                ")"
                                                                                                ":")
                                                                                L("            "
                                                                                  "modules = "
                                                                                  "modules[0]."
                                                                                  "values()") L("  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "  "
                                                                                                "se"
                                                                                                "lf"
                                                                                                "._"
                                                                                                "it"
                                                                                                "em"
                                                                                                "s "
                                                                                                "= "
                                                                                                "li"
                                                                                                "st"
                                                                                                "(m"
                                                                                                "od"
                                                                                                "ul"
                                                                                                "es"
                                                                                                ")") L(
                                                                                    "    def "
                                                                                    "named_"
                                                                                    "children(self)"
                                                                                    ":")
                                                                                    L("        "
                                                                                      "return "
                                                                                      "[(str(i), "
                                                                                      "m) for i, m "
                                                                                      "in "
                                                                                      "enumerate("
                                                                                      "self._items)"
                                                                                      "]") L("    "
                                                                                             "def "
                                                                                             "__"
                                                                                             "len__"
                                                                                             "(self"
                                                                                             "):") L("        return len(self._items)") L(
                                                                                        "    def "
                                                                                        "__iter__("
                                                                                        "self):") L("        return iter(self._items)")
                                                                                        L("    def "
                                                                                          "__"
                                                                                          "getitem_"
                                                                                          "_(self, "
                                                                                          "i):") L(
                                                                                            "      "
                                                                                            "  "
                                                                                            "return"
                                                                                            " type("
                                                                                            "self)("
                                                                                            "*self."
                                                                                            "_items"
                                                                                            "[i]) "
                                                                                            "if "
                                                                                            "isinst"
                                                                                            "ance("
                                                                                            "i, "
                                                                                            "slice)"
                                                                                            " else "
                                                                                            "self._"
                                                                                            "items["
                                                                                            "i]") L("    def append(self, module):")
                                                                                            L("    "
                                                                                              "    "
                                                                                              "self"
                                                                                              "._"
                                                                                              "item"
                                                                                              "s."
                                                                                              "appe"
                                                                                              "nd("
                                                                                              "modu"
                                                                                              "le)") L("        return self") L(
                                                                                                "  "
                                                                                                "  "
                                                                                                "de"
                                                                                                "f "
                                                                                                "fo"
                                                                                                "rw"
                                                                                                "ar"
                                                                                                "d("
                                                                                                "se"
                                                                                                "lf"
                                                                                                ", "
                                                                                                "in"
                                                                                                "pu"
                                                                                                "t)"
                                                                                                ":") L("        for module in self._items:")
                                                                                                L("            input = module(input)") L(
                                                                                                    "        return input")
                                                                                                    L("") L(
                                                                                                        "class ModuleList(Sequential):") L("    def __init__(self, modules=()):") L("        self._items = list(modules)") L("    def __getitem__(self, i):") L("        return ModuleList(self._items[i]) if isinstance(i, slice) else self._items[i]") L("    def extend(self, modules):") L("        self._items.extend(modules)") L("        return self") L("    def forward(self, *args, **kwargs):") L("        raise NotImplementedError('Module [ModuleList] is missing the required \"forward\" function')") L("") L("class ParameterList(Module):") L("    def __init__(self, values=()):") L("        self._items = [v if is_parameter(v) else Parameter(v) for v in values]")
                                                                                                        L("    def _named(self, wanted):") L(
                                                                                                            "        return [(str(i), v) for i, v in enumerate(self._items) if wanted(v)]")
                                                                                                            L("    def __len__(self):")
                                                                                                                L("        return len(self._items)")
                                                                                                                    L("    def __iter__(self):")
                                                                                                                        L("        return iter(self._items)")
                                                                                                                            L(
                                                                                                                                "    def __getitem__(self, i):") L("        return self._items[i]") L("    def append(self, value):") L("        self._items.append(value if is_parameter(value) else Parameter(value))") L("        return self") L("") L("class ModuleDict(Module):") L("    def __init__(self, modules=None):")
                                                                                                                                L("        self._items = dict(modules or {})") L("    def named_children(self):") L("        return list(self._items.items())") L("    def __len__(self):") L("        return len(self._items)") L("    def __iter__(self):") L("        return iter(self._items)") L(
                                                                                                                                    "    def __contains__(self, key):") L("        return key in self._items")
                                                                                                                                    L("    def __getitem__(self, key):") L(
                                                                                                                                        "        return self._items[key]")
                                                                                                                                        L("    def __setitem__(self, key, module):") L("        self._items[key] = module") L("    def keys(self):") L("        return self._items.keys()") L("    def values(self):") L("        return self._items.values()") L(
                                                                                                                                            "    def items(self):") L("        return self._items.items()")
                                                                                                                                            L("") L("class Linear(Module):") L(
                                                                                                                                                "    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):") L("        self.in_features, self.out_features = in_features, out_features") L("        bound = 1 / math.sqrt(in_features) if in_features else 0.0") L("        self.weight = Parameter(torch.empty(out_features, in_features, dtype=dtype).uniform_(-bound, bound))") L("        self.bias = Parameter(torch.empty(out_features, dtype=dtype).uniform_(-bound, bound)) if bias else None") L("    def forward(self, input):")
                                                                                                                                                L("        return F.linear(input, self.weight, self.bias)") L(
                                                                                                                                                    "") L("def _tuple(shape):") L("    return (shape,) if isinstance(shape, int) else tuple(shape)")
                                                                                                                                                    L("") L(
                                                                                                                                                        "class LayerNorm(Module):") L("    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):") L("        self.normalized_shape, self.eps = _tuple(normalized_shape), eps") L("        self.weight = Parameter(torch.ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None")
                                                                                                                                                        L("        has_bias = elementwise_affine and bias") L("        self.bias = Parameter(torch.zeros(self.normalized_shape, dtype=dtype)) if has_bias else None") L("    def forward(self, input):") L("        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)") L("") L("class RMSNorm(Module):") L("    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):") L("        self.normalized_shape, self.eps = _tuple(normalized_shape), eps") L("        self.weight = Parameter(torch.ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None") L("    def forward(self, input):") L("        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)") L("") L("class GroupNorm(Module):") L("    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):") L("        self.num_groups, self.eps = num_groups, eps") L("        self.weight = Parameter(torch.ones(num_channels, dtype=dtype)) if affine else None") L("        self.bias = Parameter(torch.zeros(num_channels, dtype=dtype)) if affine else None") L("    def forward(self, input):") L("        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)") L("") L("class BatchNorm1d(Module):") L(
                                                                                                                                                            "    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,")
                                                                                                                                                            L("                 dtype=None):") L(
                                                                                                                                                                "        self.eps, self.momentum = eps, momentum")
                                                                                                                                                                L("        self.weight = Parameter(torch.ones(num_features, dtype=dtype)) if affine else None") L("        self.bias = Parameter(torch.zeros(num_features, dtype=dtype)) if affine else None") L("        self.running_mean = buffer(torch.zeros(num_features, dtype=dtype)) if track_running_stats else None") L(
                                                                                                                                                                    "        self.running_var = buffer(torch.ones(num_features, dtype=dtype)) if track_running_stats else None")
                                                                                                                                                                    L("    def forward(self, input):") L(
                                                                                                                                                                        "        if self.training and self.running_mean is not None:")
                                                                                                                                                                        L("            refuse('BatchNorm in training mode updates its running statistics, which is not supported; call '")
                                                                                                                                                                            L("                   '.eval() on the module')") L("        batch_stats = self.running_mean is None") L("        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, batch_stats,")
                                                                                                                                                                                L("                            self.momentum, self.eps)")
                                                                                                                                                                                    L("BatchNorm2d = BatchNorm3d = BatchNorm1d") L("") L("class _Dropout(Module):") L("    def __init__(self, p=0.5, inplace=False):") L("        self.p = p") L("    def forward(self, input):") L("        return F.dropout(input, self.p, self.training)") L("class Dropout(_Dropout): pass") L("Dropout1d = Dropout2d = Dropout3d = AlphaDropout = Dropout")
                                                                                                                                                                                        L("") L("class _Activation(Module):") L(
                                                                                                                                                                                            "    def __init__(self, inplace=False):")
                                                                                                                                                                                            L("        self.inplace = inplace") L(
                                                                                                                                                                                                "class ReLU(_Activation):")
                                                                                                                                                                                                L("    def forward(self, input): return F.relu(input, inplace=self.inplace)") L("class ReLU6(_Activation):") L("    def forward(self, input): return F.relu6(input, inplace=self.inplace)") L(
                                                                                                                                                                                                    "class SiLU(_Activation):") L("    def forward(self, input): return F.silu(input, inplace=self.inplace)") L("class SELU(_Activation):") L("    def forward(self, input): return F.selu(input, inplace=self.inplace)") L("class Mish(_Activation):") L("    def forward(self, input): return F.mish(input, inplace=self.inplace)") L("class Hardswish(_Activation):") L("    def forward(self, input): return F.hardswish(input, inplace=self.inplace)") L("class Hardsigmoid(_Activation):") L("    def forward(self, input): return F.hardsigmoid(input, inplace=self.inplace)") L("class Sigmoid(Module):") L("    def forward(self, input): return torch.sigmoid(input)") L("class Tanh(Module):") L("    def forward(self, input): return torch.tanh(input)") L("class LogSigmoid(Module):")
                                                                                                                                                                                                    L("    def forward(self, input): return F.logsigmoid(input)") L("class Softsign(Module):") L("    def forward(self, input): return F.softsign(input)") L("class GELU(Module):") L("    def __init__(self, approximate='none'):") L(
                                                                                                                                                                                                        "        self.approximate = approximate")
                                                                                                                                                                                                        L("    def forward(self, input): return F.gelu(input, approximate=self.approximate)")
                                                                                                                                                                                                            L("class LeakyReLU(Module):")
                                                                                                                                                                                                                L(
                                                                                                                                                                                                                    "    def __init__(self, negative_slope=0.01, inplace=False):") L("        self.negative_slope, self.inplace = negative_slope, inplace") L("    def forward(self, input): return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)")
                                                                                                                                                                                                                    L("class ELU(Module):")
                                                                                                                                                                                                                        L("    def __init__(self, alpha=1.0, inplace=False):")
                                                                                                                                                                                                                            L("        self.alpha, self.inplace = alpha, inplace") L("    def forward(self, input): return F.elu(input, self.alpha, inplace=self.inplace)") L("class Hardtanh(Module):") L("    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):")
                                                                                                                                                                                                                                L("        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace")
                                                                                                                                                                                                                                    L(
                                                                                                                                                                                                                                        "    def forward(self, input): return F.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)") L("class Softplus(Module):") L("    def __init__(self, beta=1.0, threshold=20.0):")
                                                                                                                                                                                                                                        L(
                                                                                                                                                                                                                                            "        self.beta, self.threshold = beta, threshold") L("    def forward(self, input): return F.softplus(input, self.beta, self.threshold)") L("class GLU(Module):") L("    def __init__(self, dim=-1):") L("        self.dim = dim") L("    def forward(self, input): return F.glu(input, self.dim)") L("class Softmax(Module):") L("    def __init__(self, dim=None):") L("        self.dim = dim") L("    def forward(self, input): return F.softmax(input, self.dim)") L("class LogSoftmax(Module):") L("    def __init__(self, dim=None):") L("        self.dim = dim") L("    def forward(self, input): return F.log_softmax(input, self.dim)")
                                                                                                                                                                                                                                            L(
                                                                                                                                                                                                                                                "class Flatten(Module):") L("    def __init__(self, start_dim=1, end_dim=-1):") L("        self.start_dim, self.end_dim = start_dim, end_dim") L("    def forward(self, input): return input.flatten(self.start_dim, self.end_dim)") L("class Unflatten(Module):") L("    def __init__(self, dim, unflattened_size):") L("        self.dim, self.unflattened_size = dim, unflattened_size") L("    def forward(self, input): return input.unflatten(self.dim, self.unflattened_size)") L("class MSELoss(Module):") L("    def __init__(self, reduction='mean'):") L("        self.reduction = reduction") L("    def forward(self, input, target): return F.mse_loss(input, target, reduction=self.reduction)") L("class L1Loss(Module):")
                                                                                                                                                                                                                                                L("    def __init__(self, reduction='mean'):") L("        self.reduction = reduction") L(
                                                                                                                                                                                                                                                    "    def forward(self, input, target): return F.l1_loss(input, target, reduction=self.reduction)");

"""torch.nn: modules own parameters, initialised as PyTorch does, and call the operator.

An attribute that holds a tensor marked as parameter or buffer, or a module, is registered by that alone: there are no
tables beside __dict__. Containers keep their modules in _ws_items.
"""

import math

import torch
import torch.nn.functional as F
import torch.nn.init as init
from torch.nn.functional import _reduction
from collections import OrderedDict as _OrderedDict, _Named
from torch._tensor import RemovableHandle as _RemovableHandle
from _warpsmith import hooked_call, is_script, is_differentiated, move, computes, set_grad_mode, Parameter, buffer, is_parameter, is_buffer, replace, refuse


def _once(named):
    """The pairs whose second is not that of an earlier one: a weight that two layers share counts once."""
    seen = set()
    return [(name, value) for name, value in named if not (id(value) in seen or seen.add(id(value)))]


def _parts_of(tensors):
    """The list, with the two parts of each tensor of complex numbers in its place."""
    return [part for x in tensors for part in ((x.real, x.imag) if torch.is_complex(x) else (x,))]


class _Mapping:
    """What reads the dict _ws_items."""

    def __getitem__(self, key):
        return self._ws_items[key]

    def __contains__(self, key):
        return key in self._ws_items

    def __len__(self):
        return len(self._ws_items)

    def __iter__(self):
        return iter(self._ws_items)

    def get(self, key, default=None):
        return self._ws_items.get(key, default)

    def keys(self):
        return self._ws_items.keys()

    def values(self):
        return self._ws_items.values()

    def items(self):
        return self._ws_items.items()


class _Table(_Mapping):
    """_modules, _parameters or _buffers of a module, which has its attributes for them: what is put in is set there."""

    def __init__(self, module, entries, put):
        self._owner, self._ws_items, self._put = module, dict(entries), put

    def __setitem__(self, name, value):
        self._put(name, value)
        self._ws_items[name] = value

    def __delitem__(self, name):
        del self._ws_items[name]
        self._owner._ws_remove(name)

    def pop(self, name, *default):
        if name not in self._ws_items and default:
            return default[0]
        value = self._ws_items[name]
        del self[name]
        return value


class _IncompatibleKeys(_Named):
    _fields, _field_defaults = ('missing_keys', 'unexpected_keys'), {}

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return '<All keys matched successfully>'
        return super().__repr__()


class Module:
    training = True

    def __init__(self):
        pass

    def __call__(self, *args, **kwargs):
        hooked = hooked_call(self)
        return self.forward(*args, **kwargs) if hooked is None else hooked(self, *args, **kwargs)

    def __getattr__(self, name):
        """A weight that is computed where it is read: see torch.nn.utils.weight_norm."""
        if name in self.__dict__:  # called by name
            return self.__dict__[name]
        computed = self.__dict__.get('_computed', {})
        if name in computed:
            return computed[name](self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def compile(self, *args, **kwargs):
        """From here on calls of the module run compiled; it stays what it is."""
        if is_script():  # of a workload all is compiled anyhow
            self.forward = torch.compile(self.forward, *args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function')

    def register_buffer(self, name, tensor, persistent=True):
        if not persistent:
            self.__dict__.setdefault('_transient', set()).add(name)
        if tensor is None:
            self.__dict__.setdefault('_ws_buffers', {})[name] = None
            self.__dict__.setdefault('_ws_places', {})[name] = None
        parts = torch.is_complex(tensor)
        setattr(self, name, None if tensor is None else tensor._each(buffer) if parts else buffer(tensor))

    def register_parameter(self, name, param):
        if param is None:
            self.__dict__.setdefault('_ws_places', {})[name] = None
        setattr(self, name, param)

    def add_module(self, name, module):
        if module is None:
            self.__dict__.setdefault('_ws_places', {})[name] = None
        setattr(self, name, module)
    register_module = add_module

    def _ws_remove(self, name):
        delattr(self, name)

    def _ws_children(self):
        """All of them; named_children() and what is made of it has one that has two names once."""
        return [(name, value) for name, value in self.__dict__.items() if isinstance(value, Module)]

    def _ws_tensors(self):
        return self.__dict__.items()

    def _ws_hooks(self):
        """Hooks before and behind forward. The first makes what a call of the instance does, _ws_call: it is given the
        module as the program reaches it, so that its weights have names."""
        if '_forward_hooks' not in self.__dict__:
            before, behind, back, first = {}, {}, {}, {}
            self._forward_pre_hooks, self._forward_hooks = before, behind
            self._backward_hooks, self._backward_pre_hooks = back, first

            def call(self, *args, **kwargs):
                for hook, with_kwargs in list(before.values()):
                    changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
                    if with_kwargs and changed is not None:
                        args, kwargs = changed
                    elif changed is not None:
                        args = changed if isinstance(changed, tuple) else (changed,)
                watch = None
                if (back or first) and torch.is_grad_enabled():
                    from torch.utils.hooks import BackwardHook
                    watch = BackwardHook(self, list(back.values()), list(first.values()))
                    args = watch.setup_input_hook(args)
                out = self.forward(*args, **kwargs)
                for hook, with_kwargs in list(behind.values()):
                    changed = hook(self, args, kwargs, out) if with_kwargs else hook(self, args, out)
                    out = out if changed is None else changed
                return watch.setup_output_hook(out) if watch else out
            self._ws_call = call
        return self.__dict__

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        return _RemovableHandle(self._ws_hooks()['_forward_hooks'], (hook, with_kwargs))

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return _RemovableHandle(self._ws_hooks()['_forward_pre_hooks'], (hook, with_kwargs))

    def _ws_keep_hook(self, kind, *hook):
        return _RemovableHandle(self.__dict__.setdefault(kind, {}), hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return self._ws_keep_hook('_load_state_dict_pre_hooks', hook, with_module)

    def register_load_state_dict_pre_hook(self, hook):
        return self._ws_keep_hook('_load_state_dict_pre_hooks', hook, True)

    def register_load_state_dict_post_hook(self, hook):
        return self._ws_keep_hook('_load_state_dict_post_hooks', hook)

    def register_state_dict_pre_hook(self, hook):
        return self._ws_keep_hook('_state_dict_pre_hooks', hook)

    def _register_state_dict_hook(self, hook):
        return self._ws_keep_hook('_state_dict_hooks', hook)
    register_state_dict_post_hook = _register_state_dict_hook

    def _ws_keep_backward_hook(self, kind, hook):
        """Of a workload's forward alone it is never called."""
        if is_script():
            if kind == '_backward_hooks' and self.__dict__.setdefault('_is_full_backward_hook', hook[1]) != hook[1]:
                raise RuntimeError('Cannot use both regular backward hooks and full backward hooks on a single Module. Please '
                                   'use only one of them.')
            return _RemovableHandle(self._ws_hooks()[kind], hook)
        if is_differentiated():
            refuse('in a workload hooks of the gradients of modules are not supported; in a script they are, and '
                   'Tensor.register_hook is')
        torch.autograd._hooked.append(hook)
        return self._ws_keep_hook(kind, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        return self._ws_keep_backward_hook('_backward_hooks', (hook, True))

    def register_backward_hook(self, hook):
        return self._ws_keep_backward_hook('_backward_hooks', (hook, False))

    def register_full_backward_pre_hook(self, hook, prepend=False):
        return self._ws_keep_backward_hook('_backward_pre_hooks', hook)

    def named_children(self):
        return _once(self._ws_children())

    def children(self):
        return [child for _, child in self.named_children()]

    def _ws_all_modules(self, prefix):
        found = [(prefix, self)]
        for name, child in self._ws_children():
            found += child._ws_all_modules(prefix + '.' + name if prefix else name)
        return found

    def named_modules(self, memo=None, prefix='', remove_duplicate=True):
        found = self._ws_all_modules(prefix)
        return _once(found) if remove_duplicate else found

    def modules(self):
        return [module for _, module in self.named_modules()]

    def _ws_named(self, wanted, prefix='', recurse=True):
        found = []
        for path, module in self._ws_all_modules(prefix) if recurse else [(prefix, self)]:
            found += [(path + '.' + name if path else name, v) for name, v in module._ws_tensors() if wanted(v)]
        return found

    def _ws_own_buffers(self):
        """Tensors that are buffers, and what is under names that buffers had: a tensor, or None."""
        names = self.__dict__.get('_ws_buffers', ())
        return [(name, v) for name, v in self._ws_tensors() if is_buffer(v) or
                name in names and (v is None or isinstance(v, torch.Tensor)) and not is_parameter(v)]

    def _ws_named_buffers(self, prefix='', recurse=True):
        found = []
        for path, module in self._ws_all_modules(prefix) if recurse else [(prefix, self)]:
            found += [(path + '.' + name if path else name, v) for name, v in module._ws_own_buffers() if v is not None]
        return found

    def _named_members(self, get_members_fn, prefix='', recurse=True, remove_duplicate=True):
        found = []
        for path, module in self._ws_all_modules(prefix) if recurse else [(prefix, self)]:
            found += [(path + '.' + name if path else name, v) for name, v in get_members_fn(module) if v is not None]
        return _once(found) if remove_duplicate else found

    def named_parameters(self, prefix='', recurse=True, remove_duplicate=True):
        found = self._ws_named(lambda v: is_parameter(v) or type(v) is UninitializedParameter, prefix, recurse)
        return _once(found) if remove_duplicate else found

    def parameters(self, recurse=True):
        return [value for _, value in self.named_parameters(recurse=recurse)]

    def named_buffers(self, prefix='', recurse=True, remove_duplicate=True):
        found = self._ws_named_buffers(prefix, recurse)
        return _once(found) if remove_duplicate else found

    def buffers(self, recurse=True):
        return [value for _, value in self.named_buffers(recurse=recurse)]

    _modules = property(lambda self: _Table(self, self._ws_children(), self.add_module))
    _parameters = property(lambda self: _Table(self, self._ws_named(is_parameter, recurse=False), self.register_parameter))
    _buffers = property(lambda self: _Table(self, self._ws_own_buffers(), self.register_buffer))

    def apply(self, function):
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def train(self, mode=True):
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, *args, **kwargs):
        tensors = self.parameters() + self.buffers()
        for value in [x for x in tensors if isinstance(x, UninitializedParameter)]:
            value.to(*args, **kwargs)
        for value in _parts_of([x for x in tensors if isinstance(x, torch.Tensor)]):
            new = value.to(*args, **kwargs)
            if value.is_floating_point() and new.dtype != value.dtype:
                replace(value, new)
            if computes():
                move(value, new.is_cuda, True)
        return self

    def zero_grad(self, set_to_none=True):
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p.grad)

    def half(self):
        return self.to(torch.float16)

    def bfloat16(self):
        return self.to(torch.bfloat16)

    def float(self):
        return self.to(torch.float32)

    def double(self):
        return self.to(torch.float64)

    def cuda(self, device=None):
        return self.to('cuda')

    def cpu(self):
        return self.to('cpu')

    def type(self, dst_type):
        return self.to(dst_type)

    def to_empty(self, *, device, recurse=True):
        return self.to(device)

    def share_memory(self):
        return self

    def _ws_named_state(self):
        found = []
        for path, module in self._ws_all_modules(''):
            transient = [path + '.' + name if path else name for name in module.__dict__.get('_transient', ())]
            found += module._ws_named(is_parameter, path, False)
            found += [entry for entry in module._ws_named_buffers(path, False) if entry[0] not in transient]
        return dict(found)

    def _ws_modules_with(self, hooks, prefix=''):
        """Modules that have hooks of a kind, each with the prefix of its names in a state_dict."""
        return [(module, prefix + path + '.' if path else prefix, list(module.__dict__[hooks].values()))
                for path, module in self._ws_all_modules('') if hooks in module.__dict__]

    def state_dict(self, *, prefix='', keep_vars=False):
        for module, start, hooks in self._ws_modules_with('_state_dict_pre_hooks', prefix):
            for hook, in hooks:
                hook(module, start, keep_vars)
        found = {prefix + name: v if keep_vars else v.detach() for name, v in self._ws_named_state().items()}
        for module, start, hooks in reversed(self._ws_modules_with('_state_dict_hooks', prefix)):
            made = found
            for hook, in hooks:
                changed = hook(module, made, start, {})
                made = made if changed is None else changed
            if module is self:  # of what a child's hook returns PyTorch makes nothing
                found = made
        return found

    def _ws_changed_by_hooks(self, state_dict, strict, missing, unexpected, wrong):
        """What hooks before loading make of a state_dict: each sees, and may rename, the names of its module alone."""
        state_dict = dict(state_dict)
        for module, start, hooks in self._ws_modules_with('_load_state_dict_pre_hooks'):
            part = {name: v for name, v in state_dict.items() if name.startswith(start)}
            others = {name: v for name, v in state_dict.items() if not name.startswith(start)}
            for hook, with_module in hooks:
                hook(*((module,) if with_module else ()), part, start, {}, strict, missing, unexpected, wrong)
            state_dict = {**others, **part}
        return state_dict

    def load_state_dict(self, state_dict, strict=True, assign=False):
        missing, unexpected, wrong = [], [], []
        state_dict = self._ws_changed_by_hooks(state_dict, strict, missing, unexpected, wrong)
        own = self._ws_named_state()
        missing += [name for name in own if name not in state_dict and not name.endswith('num_batches_tracked')]
        found = _IncompatibleKeys(missing, unexpected + [name for name in state_dict if name not in own])
        before = set_grad_mode(False)
        for name in own:
            if name in state_dict and state_dict[name].shape != own[name].shape:
                wrong.append(f'size mismatch for {name}: copying a param with shape {state_dict[name].shape} from checkpoint, '
                             f'the shape in current model is {own[name].shape}.')
            elif name in state_dict:
                own[name].copy_(state_dict[name])
        set_grad_mode(before)
        for module, _, hooks in reversed(self._ws_modules_with('_load_state_dict_post_hooks')):
            for hook, in hooks:  # they see what was loaded, and may say that a key is not missing
                hook(module, found)
        for what, names in (('Unexpected', found.unexpected_keys), ('Missing', found.missing_keys)):
            if strict and names:
                wrong.insert(0, what + ' key(s) in state_dict: ' + ', '.join([f'"{name}"' for name in names]) + '. ')
        if wrong:
            raise RuntimeError(f'Error(s) in loading state_dict for {type(self).__name__}:\n\t' + '\n\t'.join(wrong))
        return found

    def get_submodule(self, target):
        return dict(self.named_modules())[target]

    def get_parameter(self, target):
        return dict(self.named_parameters())[target]

    def get_buffer(self, target):
        return dict(self.named_buffers())[target]

    def set_submodule(self, target, module, strict=False):
        path, _, name = target.rpartition('.')
        setattr(self.get_submodule(path), name, module)

    def _get_name(self):
        return type(self).__name__

    _ws_shown = ''  # what extra_repr() says: name=value of each, of `name!` the value alone, of `name?` only if it is true

    def extra_repr(self):
        parts = []
        for word in self._ws_shown.split():
            name = word.rstrip('!?')
            value = getattr(self, name)
            if word.endswith('!'):
                parts.append(str(value))
            elif value or not word.endswith('?'):
                parts.append(f'{name}={value!r}')
        return ', '.join(parts)

    def __repr__(self):
        children = self.named_children()
        extra = self.extra_repr()
        if not children and '\n' not in extra:
            return f'{type(self).__name__}({extra})'
        lines = [f'({name}): ' + repr(child).replace('\n', '\n  ') for name, child in children]
        return type(self).__name__ + '(\n  ' + '\n  '.join((extra.split('\n') if extra else []) + lines) + '\n)'


def Buffer(data=None, *, persistent=True):
    if not persistent:
        refuse('nn.Buffer(persistent=False) is not supported; register_buffer(name, tensor, persistent=False) is')
    return buffer(torch.empty(0) if data is None else data)


class DataParallel(Module):
    """Of the one device that there is."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        self.module, self.device_ids, self.output_device, self.dim = module, [], output_device, dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class Identity(Module):
    def __init__(self, *args, **kwargs):
        pass

    def forward(self, input):
        return input


class _Row(Module):
    """Modules in a row, _ws_items, and what each is called, _ws_names: its number, or as a dict or add_module() says."""

    def add_module(self, name, module):
        if name in self._ws_names:
            self._ws_items[self._ws_names.index(name)] = module
        else:
            self._ws_items.append(module)
            self._ws_names.append(name)
    register_module = add_module

    def _ws_remove(self, name):
        if name not in self._ws_names:
            delattr(self, name)
            return
        i = self._ws_names.index(name)
        del self._ws_names[i], self._ws_items[i]

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self.add_module(name, value)
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        if name not in ('_ws_items', '_ws_names') and name in self._ws_names:
            return self._ws_items[self._ws_names.index(name)]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _ws_children(self):
        return [(name, item) for name, item in zip(self._ws_names, self._ws_items) if item is not None]

    def _renumber(self):
        self._ws_names[:] = [str(i) for i in range(len(self._ws_items))]
        return self

    def __len__(self):
        return len(self._ws_items)

    def __iter__(self):
        return iter(self._ws_items)

    def __getitem__(self, i):
        return type(self)(dict(list(zip(self._ws_names, self._ws_items))[i])) if isinstance(i, slice) else self._ws_items[i]

    def __setitem__(self, i, module):
        self._ws_items[i] = module

    def __delitem__(self, i):
        del self._ws_items[i]
        self._renumber()

    def __add__(self, other):
        return type(self)(*self, *other)

    def __iadd__(self, modules):
        return self.extend(modules)

    def append(self, module):
        self.add_module(str(len(self._ws_items)), module)
        return self

    def extend(self, modules):
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index, module):
        self._ws_items.insert(index, module)
        return self._renumber()

    def pop(self, index=-1):
        module = self._ws_items.pop(index)
        self._renumber()
        return module


class Sequential(_Row):
    def __init__(self, *modules):
        self._ws_items, self._ws_names = [], []
        named = len(modules) == 1 and isinstance(modules[0], dict)
        for name, module in modules[0].items() if named else enumerate(modules):
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._ws_items:
            input = module(input)
        return input


class ModuleList(_Row):
    def __init__(self, modules=()):
        self._ws_items, self._ws_names = [], []
        self.extend(modules or ())

    def __getitem__(self, i):
        return type(self)(self._ws_items[i]) if isinstance(i, slice) else self._ws_items[i]

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        """Neighbours that print alike are one line."""
        texts, rows = [repr(child) for child in self._ws_items], []
        for i, text in enumerate(texts):
            if rows and rows[-1][2] == text:
                rows[-1][1] = i
            else:
                rows.append([i, i, text])
        lines = [f'({a}): {text}' if a == b else f'({a}-{b}): {b - a + 1} x {text}' for a, b, text in rows]
        return 'ModuleList(' + ''.join(['\n  ' + line.replace('\n', '\n  ') for line in lines]) + ('\n)' if lines else ')')

    def forward(self, *args, **kwargs):
        raise NotImplementedError('Module [ModuleList] is missing the required "forward" function')


def _as_parameter(value):
    return value if is_parameter(value) or not isinstance(value, torch.Tensor) else Parameter(value)


def _by(x):
    return 'x'.join([str(n) for n in x.shape])


class ParameterList(Module):
    def __init__(self, values=()):
        self._ws_items = [_as_parameter(v) for v in values or ()]

    def _ws_tensors(self):
        return [(str(i), v) for i, v in enumerate(self._ws_items)]

    def __len__(self):
        return len(self._ws_items)

    def __iter__(self):
        return iter(self._ws_items)

    def extra_repr(self):
        return '\n'.join([f'  ({i}): Parameter containing: [{v.dtype} of size {_by(v)}]' if is_parameter(v)
                          else f'  ({i}): Object of type: {type(v).__name__}' for i, v in enumerate(self._ws_items)])

    def __getitem__(self, i):
        return ParameterList(self._ws_items[i]) if isinstance(i, slice) else self._ws_items[i]

    def __setitem__(self, i, value):
        self._ws_items[i] = _as_parameter(value)

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        self._ws_items.append(_as_parameter(value))
        return self

    def extend(self, values):
        self._ws_items.extend([_as_parameter(v) for v in values])
        return self


class _Dict(Module, _Mapping):
    def __init__(self, modules=None):
        self._ws_items = {}
        self.update(modules or {})

    def __delitem__(self, key):
        del self._ws_items[key]

    def __getattr__(self, name):
        if name != '_ws_items' and name in self._ws_items:
            return self._ws_items[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def update(self, modules):
        for key, module in modules.items() if hasattr(modules, 'items') else modules:
            self[key] = module

    def pop(self, key):
        return self._ws_items.pop(key)

    def clear(self):
        self._ws_items.clear()


class ModuleDict(_Dict):
    def add_module(self, name, module):
        self[name] = module
    register_module = add_module

    def _ws_children(self):
        return list(self._ws_items.items())

    def __setitem__(self, key, module):
        self._ws_items[key] = module


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(out_features, in_features, dtype=dtype))
        self.bias = Parameter(torch.empty(out_features, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f'in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}'


def _buffer(tensor):
    return None if tensor is None else buffer(tensor)


def _tuple(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _ones_and_zeros(module):
    """The weight and the bias that change nothing."""
    if module.weight is not None:
        init.ones_(module.weight)
    if getattr(module, 'bias', None) is not None:
        init.zeros_(module.bias)


class LayerNorm(Module):
    _ws_shown = 'normalized_shape! eps elementwise_affine'

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        self.normalized_shape, self.eps, self.elementwise_affine = _tuple(normalized_shape), eps, elementwise_affine
        self.weight = Parameter(torch.empty(self.normalized_shape, dtype=dtype)) if elementwise_affine else None
        has_bias = elementwise_affine and bias
        self.bias = Parameter(torch.empty(self.normalized_shape, dtype=dtype)) if has_bias else None
        self.reset_parameters()

    def reset_parameters(self):
        _ones_and_zeros(self)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    _ws_shown = 'normalized_shape! eps elementwise_affine'

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        self.normalized_shape, self.eps, self.elementwise_affine = _tuple(normalized_shape), eps, elementwise_affine
        self.weight = Parameter(torch.ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None

    def reset_parameters(self):
        _ones_and_zeros(self)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    _ws_shown = 'num_groups! num_channels! eps affine'

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Parameter(torch.ones(num_channels, dtype=dtype)) if affine else None
        self.bias = Parameter(torch.zeros(num_channels, dtype=dtype)) if affine and bias else None

    def reset_parameters(self):
        _ones_and_zeros(self)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


def _expect_rank(input, *ranks):
    if input.dim() not in ranks:
        raise ValueError(f"expected {' or '.join([f'{n}D' for n in ranks])} input (got {input.dim()}D input)")


class _NormBase(Module):
    """Statistics of channels, of the batch or of all batches so far."""
    _ws_shown = 'num_features! eps momentum affine track_running_stats'

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None,
                 dtype=None, *, bias=True):
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(torch.ones(num_features, dtype=dtype)) if affine else None
        self.bias = Parameter(torch.zeros(num_features, dtype=dtype)) if affine and bias else None
        self.running_mean = buffer(torch.zeros(num_features, dtype=dtype)) if track_running_stats else None
        self.running_var = buffer(torch.ones(num_features, dtype=dtype)) if track_running_stats else None
        self.num_batches_tracked = buffer(torch.tensor(0)) if track_running_stats else None

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        _ones_and_zeros(self)

    def _check_input_dim(self, input):
        pass


class _BatchNorm(_NormBase):
    def forward(self, input):
        self._check_input_dim(input)
        batch_stats = self.training or self.running_mean is None
        momentum = self.momentum or 0.0
        if self.training and self.running_mean is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the average of all batches so far
                momentum = 1.0 / self.num_batches_tracked
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, batch_stats, momentum,
                            self.eps)


class BatchNorm1d(_BatchNorm):
    def _check_input_dim(self, input):
        _expect_rank(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    def _check_input_dim(self, input):
        _expect_rank(input, 4)


class BatchNorm3d(_BatchNorm):
    def _check_input_dim(self, input):
        _expect_rank(input, 5)


class SyncBatchNorm(_BatchNorm):
    """Of one process: the statistics are those of its batch."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        for name, child in module.named_children():
            setattr(module, name, cls.convert_sync_batchnorm(child))
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            for name in ('weight', 'bias', 'running_mean', 'running_var', 'num_batches_tracked', 'training'):
                setattr(made, name, getattr(module, name))
            return made
        return module


class _InstanceNorm(_NormBase):
    def _check_input_dim(self, input):
        least = self._get_no_batch_dim()
        _expect_rank(input, least, least + 1)

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None,
                 dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input):
        self._check_input_dim(input)
        single = input.ndim == self._get_no_batch_dim()
        out = F.instance_norm(input.unsqueeze(0) if single else input, self.running_mean, self.running_var, self.weight,
                              self.bias, self.training or self.running_mean is None, self.momentum or 0.0, self.eps)
        return out.squeeze(0) if single else out


class InstanceNorm1d(_InstanceNorm):
    def _get_no_batch_dim(self):
        return 2


class InstanceNorm2d(_InstanceNorm):
    def _get_no_batch_dim(self):
        return 3


class InstanceNorm3d(_InstanceNorm):
    def _get_no_batch_dim(self):
        return 4


class _DropoutNd(Module):
    _ws_shown = 'p inplace'

    def __init__(self, p=0.5, inplace=False):
        if not 0 <= p <= 1:
            raise ValueError(f'dropout probability has to be between 0 and 1, but got {p}')
        self.p, self.inplace = p, inplace


class Dropout(_DropoutNd):
    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)


class _Activation(Module):
    _ws_shown = 'inplace?'

    def __init__(self, inplace=False):
        self.inplace = inplace


class ReLU(_Activation):
    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class SiLU(_Activation):
    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class SELU(_Activation):
    def forward(self, input):
        return F.selu(input, inplace=self.inplace)


class Mish(_Activation):
    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class Hardswish(_Activation):
    def forward(self, input):
        return F.hardswish(input, inplace=self.inplace)


class Hardsigmoid(_Activation):
    def forward(self, input):
        return F.hardsigmoid(input, inplace=self.inplace)


class Sigmoid(Module):
    def forward(self, input):
        return torch.sigmoid(input)


class Tanh(Module):
    def forward(self, input):
        return torch.tanh(input)


class LogSigmoid(Module):
    def forward(self, input):
        return F.logsigmoid(input)


class Softsign(Module):
    def forward(self, input):
        return F.softsign(input)


class GELU(Module):
    _ws_shown = 'approximate'

    def __init__(self, approximate='none'):
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)


class LeakyReLU(Module):
    _ws_shown = 'negative_slope inplace?'

    def __init__(self, negative_slope=0.01, inplace=False):
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, inplace=self.inplace)


class ELU(Module):
    _ws_shown = 'alpha inplace?'

    def __init__(self, alpha=1.0, inplace=False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.elu(input, self.alpha, inplace=self.inplace)


class Hardtanh(Module):
    _ws_shown = 'min_val max_val inplace?'

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, inplace=self.inplace)


class ReLU6(Hardtanh):
    _ws_shown = 'inplace?'

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)


class Softplus(Module):
    _ws_shown = 'beta threshold'

    def __init__(self, beta=1.0, threshold=20.0):
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)


class CELU(Module):
    _ws_shown = 'alpha inplace?'

    def __init__(self, alpha=1.0, inplace=False):
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return F.celu(input, self.alpha, inplace=self.inplace)


class PReLU(Module):
    _ws_shown = 'num_parameters'

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(torch.empty(num_parameters, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)


class RReLU(Module):
    _ws_shown = 'lower upper inplace?'

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class _Shrink(Module):
    def __init__(self, lambd=0.5):
        self.lambd = lambd


class Hardshrink(_Shrink):
    def forward(self, input):
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    def forward(self, input):
        return F.softshrink(input, self.lambd)


class Tanhshrink(Module):
    def forward(self, input):
        return F.tanhshrink(input)


class Threshold(Module):
    _ws_shown = 'threshold value inplace?'

    def __init__(self, threshold, value, inplace=False):
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, inplace=self.inplace)


class Softmin(Module):
    _ws_shown = 'dim'

    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, input):
        return F.softmin(input, self.dim)


class GLU(Module):
    _ws_shown = 'dim'

    def __init__(self, dim=-1):
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)


class Softmax(Module):
    _ws_shown = 'dim'

    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, input):
        return F.softmax(input, self.dim)


class LogSoftmax(Module):
    _ws_shown = 'dim'

    def __init__(self, dim=None):
        self.dim = dim

    def forward(self, input):
        return F.log_softmax(input, self.dim)


class Flatten(Module):
    _ws_shown = 'start_dim end_dim'

    def __init__(self, start_dim=1, end_dim=-1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    _ws_shown = 'dim unflattened_size'

    def __init__(self, dim, unflattened_size):
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)


class _Loss(Module):
    def __init__(self, size_average=None, reduce=None, reduction='mean'):
        self.reduction = _reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        super().__init__(size_average, reduce, reduction)
        self.weight = _buffer(weight)


class MSELoss(_Loss):
    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    def forward(self, input, target):
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Module):
    def __init__(self, size_average=None, reduce=None, reduction='mean', beta=1.0):
        self.reduction, self.beta = _reduction(size_average, reduce, reduction), beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Module):
    def __init__(self, reduction='mean', delta=1.0):
        self.reduction, self.delta = reduction, delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        self.weight, self.reduction = _buffer(weight), _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None):
        self.weight, self.pos_weight = _buffer(weight), _buffer(pos_weight)
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, reduction=self.reduction,
                                                  pos_weight=self.pos_weight)


class KLDivLoss(Module):
    def __init__(self, size_average=None, reduce=None, reduction='mean', log_target=False):
        self.reduction, self.log_target = _reduction(size_average, reduce, reduction), log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class HingeEmbeddingLoss(Module):
    def __init__(self, margin=1.0, size_average=None, reduce=None, reduction='mean'):
        self.margin, self.reduction = margin, _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class _MarginLoss(Module):
    def __init__(self, margin=0.0, size_average=None, reduce=None, reduction='mean'):
        self.margin, self.reduction = margin, _reduction(size_average, reduce, reduction)


class MarginRankingLoss(_MarginLoss):
    def forward(self, input1, input2, target):
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    def forward(self, input1, input2, target):
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(Module):
    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, size_average=None, reduce=None, reduction='mean'):
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
                                     swap=self.swap, reduction=self.reduction)


class PoissonNLLLoss(Module):
    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction='mean'):
        self.log_input, self.full, self.eps = log_input, full, eps
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, log_input, target):
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                  reduction=self.reduction)


class GaussianNLLLoss(Module):
    def __init__(self, *, full=False, eps=1e-6, reduction='mean'):
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CTCLoss(Module):
    def __init__(self, blank=0, reduction='mean', zero_infinity=False):
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)


class NLLLoss(Module):
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'):
        self.weight, self.ignore_index = _buffer(weight), ignore_index
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(Module):
    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean',
                 label_smoothing=0.0):
        self.weight, self.ignore_index = _buffer(weight), ignore_index
        self.reduction = _reduction(size_average, reduce, reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
                               label_smoothing=self.label_smoothing)


class LinearCrossEntropyLoss(Module):
    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction='mean',
                 weight=None, ignore_index=None, label_smoothing=0.0, options=None):
        self.weight, self.ignore_index, self.label_smoothing = _buffer(weight), ignore_index, label_smoothing
        self.num_classes, self.out_features, self.reduction, self.options = num_classes, out_features, reduction, options
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)

    def forward(self, input, target):
        size, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(input, self.linear.weight.reshape(*size, -1), target, linear_bias=None if bias is None else bias.reshape(size),
                                      weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index,
                                      label_smoothing=self.label_smoothing)


class CosineSimilarity(Module):
    def __init__(self, dim=1, eps=1e-8):
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.p, self.eps, self.keepdim)


class _Rows(Module):
    """A table of rows that indices choose from."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0,
                 scale_grad_by_freq=False, sparse=False, _weight=None, device=None, dtype=None):
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError('Padding_idx must be within num_embeddings')
            padding_idx = padding_idx % num_embeddings
        if scale_grad_by_freq and isinstance(self, Embedding):
            self.forward = self._ws_by_freq  # few have it: others are captured for no value of it
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.weight = Parameter(torch.empty(num_embeddings, embedding_dim, dtype=dtype) if _weight is None else _weight)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0,
                        scale_grad_by_freq=False, sparse=False, **settings):
        made = cls(*embeddings.shape, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                   scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, _weight=embeddings, **settings)
        made.weight.requires_grad = not freeze
        return made

    def extra_repr(self):
        padding = '' if self.padding_idx is None else f', padding_idx={self.padding_idx}'
        return f'{self.num_embeddings}, {self.embedding_dim}{padding}'

    def reset_parameters(self):
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            with torch.no_grad():
                place = torch.arange(self.num_embeddings).unsqueeze(1)
                self.weight.copy_(torch.where(place == self.padding_idx, 0.0, self.weight))


class Embedding(_Rows):
    def forward(self, input):
        weight, padding_idx = self.weight, self.padding_idx
        if self.max_norm is None:
            return F.embedding(input, weight, padding_idx)
        return F.embedding(input, weight, padding_idx, self.max_norm, self.norm_type)

    def _ws_by_freq(self, input):
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)


class _MaxPoolNd(Module):
    _ws_shown = 'kernel_size stride padding dilation ceil_mode'

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return self._ws_pool(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                          self.return_indices)


class MaxPool1d(_MaxPoolNd):
    def _ws_pool(self, *args):
        return F.max_pool1d(*args)


class MaxPool2d(_MaxPoolNd):
    def _ws_pool(self, *args):
        return F.max_pool2d(*args)


class MaxPool3d(_MaxPoolNd):
    def _ws_pool(self, *args):
        return F.max_pool3d(*args)


class _MaxUnpoolNd(Module):
    _ws_shown = 'kernel_size stride padding'

    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, input, indices, output_size=None):
        return self._ws_pool(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd):
    def _ws_pool(self, *args):
        return F.max_unpool1d(*args)


class MaxUnpool2d(_MaxUnpoolNd):
    def _ws_pool(self, *args):
        return F.max_unpool2d(*args)


class MaxUnpool3d(_MaxUnpoolNd):
    def _ws_pool(self, *args):
        return F.max_unpool3d(*args)


class _AvgPoolNd(Module):
    _ws_shown = 'kernel_size stride padding'

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None):
        self.kernel_size, self.padding, self.ceil_mode = kernel_size, padding, ceil_mode
        self.stride = kernel_size if stride is None else stride
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, input):
        return self._ws_pool(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                          self.divisor_override)


class AvgPool1d(_AvgPoolNd):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        stride = kernel_size if stride is None else stride
        super().__init__(*[_tuple(v) for v in (kernel_size, stride, padding)], ceil_mode, count_include_pad)

    def _ws_pool(self, *args):
        return F.avg_pool1d(*args[:-1])


class AvgPool2d(_AvgPoolNd):
    def _ws_pool(self, *args):
        return F.avg_pool2d(*args)


class AvgPool3d(_AvgPoolNd):
    def _ws_pool(self, *args):
        return F.avg_pool3d(*args)


class _AdaptiveAvgPoolNd(Module):
    _ws_shown = 'output_size'

    def __init__(self, output_size):
        self.output_size = output_size


class _AdaptiveMaxPoolNd(Module):
    _ws_shown = 'output_size'

    def __init__(self, output_size, return_indices=False):
        self.output_size, self.return_indices = output_size, return_indices


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    def forward(self, input):
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    def forward(self, input):
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _Pad(Module):
    _ws_mode, value, _ws_says_value = 'constant', 0.0, False

    def __init__(self, padding):
        self.padding = (padding,) * (2 * self._ws_dims) if isinstance(padding, int) else tuple(padding)

    def extra_repr(self):
        return f'padding={self.padding}, value={self.value}' if self._ws_says_value else str(self.padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._ws_mode, self.value if self._ws_mode == 'constant' else None)


class _ConstantPadNd(_Pad):
    _ws_says_value = True

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value


class ConstantPad1d(_ConstantPadNd):
    _ws_dims = 1


class ConstantPad2d(_ConstantPadNd):
    _ws_dims = 2


class ConstantPad3d(_ConstantPadNd):
    _ws_dims = 3


class ZeroPad1d(ConstantPad1d):
    _ws_says_value = False

    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ZeroPad2d(ConstantPad2d):
    _ws_says_value = False

    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ZeroPad3d(ConstantPad3d):
    _ws_says_value = False

    def __init__(self, padding):
        super().__init__(padding, 0.0)


class ReflectionPad1d(_Pad):
    _ws_dims, _ws_mode = 1, 'reflect'


class ReflectionPad2d(_Pad):
    _ws_dims, _ws_mode = 2, 'reflect'


class ReflectionPad3d(_Pad):
    _ws_dims, _ws_mode = 3, 'reflect'


class ReplicationPad1d(_Pad):
    _ws_dims, _ws_mode = 1, 'replicate'


class ReplicationPad2d(_Pad):
    _ws_dims, _ws_mode = 2, 'replicate'


class ReplicationPad3d(_Pad):
    _ws_dims, _ws_mode = 3, 'replicate'


class CircularPad1d(_Pad):
    _ws_dims, _ws_mode = 1, 'circular'


class CircularPad2d(_Pad):
    _ws_dims, _ws_mode = 2, 'circular'


class CircularPad3d(_Pad):
    _ws_dims, _ws_mode = 3, 'circular'


class Upsample(Module):
    def __init__(self, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None):
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def extra_repr(self):
        if self.scale_factor is None:
            return f'size={self.size!r}, mode={self.mode!r}'
        factor = self.scale_factor
        return f'scale_factor={tuple([float(f) for f in factor]) if isinstance(factor, tuple) else float(factor)}, mode={self.mode!r}'

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)


class UpsamplingNearest2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'bilinear', True)


class Fold(Module):
    _ws_shown = 'output_size kernel_size dilation padding stride'

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)


class Unfold(Module):
    _ws_shown = 'kernel_size dilation padding stride'

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)


class PixelShuffle(Module):
    _ws_shown = 'upscale_factor'

    def __init__(self, upscale_factor):
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    _ws_shown = 'downscale_factor'

    def __init__(self, downscale_factor):
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)


class Softmax2d(Module):
    def forward(self, input):
        return F.softmax(input, -3)


class LocalResponseNorm(Module):
    _ws_shown = 'size! alpha beta k'

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class ChannelShuffle(Module):
    _ws_shown = 'groups'

    def __init__(self, groups):
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)


class _LPPoolNd(Module):
    _ws_shown = 'norm_type kernel_size stride ceil_mode'

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode


class LPPool1d(_LPPoolNd):
    def forward(self, input):
        return F.lp_pool1d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    def forward(self, input):
        return F.lp_pool2d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(torch.empty(out_features, in1_features, in2_features, dtype=dtype))
        self.bias = Parameter(torch.empty(out_features, dtype=dtype)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1 / math.sqrt(self.in1_features)
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def extra_repr(self):
        return (f'in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, '
                f'bias={self.bias is not None}')

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)


class EmbeddingBag(_Rows):
    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean',
                 sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
                         dtype=dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    def extra_repr(self):
        return super().extra_repr() + f', mode={self.mode!r}'

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               per_sample_weights=per_sample_weights, include_last_offset=self.include_last_offset,
                               padding_idx=self.padding_idx)


class MultiLabelSoftMarginLoss(Module):
    def __init__(self, weight=None, size_average=None, reduce=None, reduction='mean'):
        self.weight, self.reduction = _buffer(weight), _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class LPPool3d(_LPPoolNd):
    def forward(self, input):
        return F.lp_pool3d(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class _FractionalMaxPoolNd(Module):
    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices, self._random_samples = return_indices, _buffer(_random_samples)

    def forward(self, input):
        return type(self)._ws_pool(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    _ws_pool = F.fractional_max_pool2d


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    _ws_pool = F.fractional_max_pool3d


class MultiLabelMarginLoss(Module):
    def __init__(self, size_average=None, reduce=None, reduction='mean'):
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(Module):
    def __init__(self, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'):
        self.p, self.margin, self.weight = p, margin, _buffer(weight)
        self.reduction = _reduction(size_average, reduce, reduction)

    def forward(self, input, target):
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class TripletMarginWithDistanceLoss(Module):
    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction='mean'):
        self.distance_function, self.margin, self.swap, self.reduction = distance_function, margin, swap, reduction

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
                                                   margin=self.margin, swap=self.swap, reduction=self.reduction)


class ParameterDict(_Dict):
    def __setitem__(self, key, value):
        self._ws_items[key] = _as_parameter(value)

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, parameters):
        """Of a plain dict in the order of its keys, as PyTorch."""
        if isinstance(parameters, dict) and not isinstance(parameters, _OrderedDict):
            parameters = sorted(parameters.items())
        super().update(parameters)

    def extra_repr(self):
        return '\n'.join([f'  ({k}): Parameter containing: [{v.type()} of size {_by(v)}]' if is_parameter(v)
                          else f'  ({k}): Object of type: {type(v).__name__}' for k, v in self._ws_items.items()])

    def _ws_tensors(self):
        return self._ws_items.items()


class _ASMoutput(_Named):
    _fields, _field_defaults = ('output', 'loss'), {}


class AdaptiveLogSoftmaxWithLoss(Module):
    """Frequent classes in the head, others in clusters, each of which the head has one score for."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError('cutoffs should be a sequence of length larger than 0')
        if cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1 or any([int(c) != c for c in cutoffs]):
            raise ValueError('cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where '
                             'each value is between 1 and n_classes-1')
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, cutoffs + [n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            narrow = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, narrow, bias=False, dtype=dtype),
                                        Linear(narrow, self.cutoffs[i + 1] - self.cutoffs[i], bias=False, dtype=dtype)))

    def reset_parameters(self):
        self.head.reset_parameters()
        for narrow, wide in self.tail:
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_, target_):
        if target_.dim() > 1:
            raise RuntimeError('0D or 1D target tensor expected, multi-target not supported')
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(f'{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with '
                               f'size {input_.size()}')
        if target_.dim() and input_.size(0) != target_.size(0):
            raise RuntimeError('Input and target should have the same size in the batch dimension.')
        if is_script() and target_.numel() and not (0 <= target_.min() and target_.max() < self.n_classes):
            raise RuntimeError(f'Target values should be in [0, {self.n_classes - 1}], but values in range '
                               f'[{target_.min().item()}, {target_.max().item()}] were found. ')
        head = F.log_softmax(self.head(input_), dim=-1)
        place, output = target_, 0
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            own = (target_ >= low) & (target_ < high)
            at = torch.where(own, target_ - low, 0).unsqueeze(-1)
            scores = F.log_softmax(cluster(input_), dim=-1).gather(-1, at).squeeze(-1)
            place = torch.where(own, self.shortlist_size + i, place)
            output = output + torch.where(own, scores, 0.0)
        output = output + head.gather(-1, place.unsqueeze(-1)).squeeze(-1)
        return _ASMoutput(output, (-output).mean())

    def log_prob(self, input):
        head = F.log_softmax(self.head(input), dim=1)
        return torch.cat([head[:, :self.shortlist_size]] + [
            F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1)
            for i, cluster in enumerate(self.tail)], 1)

    def predict(self, input):
        best = self.head(input).argmax(dim=1)
        return torch.where(best < self.shortlist_size, best, self.log_prob(input).argmax(dim=1))


from torch.nn._conv import _ConvNd, _ConvTransposeNd, Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from torch.nn._sequence import RNNBase, RNN, LSTM, GRU, RNNCellBase, RNNCell, LSTMCell, GRUCell, MultiheadAttention
from torch.nn._sequence import _get_activation_fn, _get_clones, TransformerEncoderLayer, TransformerEncoder, TransformerDecoderLayer, TransformerDecoder, Transformer
from torch.nn._lazy import UninitializedParameter, UninitializedBuffer, LazyLinear, LazyConv1d, LazyConv2d, LazyConv3d
from torch.nn._lazy import LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d
from torch.nn._lazy import LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d, LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d

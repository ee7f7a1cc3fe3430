"""torch._dynamo: torch.compile as functions of the program see it."""
from _warpsmith import (register, call, mark_dynamic as _mark_dynamic, forget, graph_break as _break, computes, unsupported,
                        aot, eagerly, is_compiling as _is_compiling, backends as _backends, breaks as _breaks,
                        graphs as _graphs, stance as _stance)


class TorchDynamoException(RuntimeError):
    pass


class Unsupported(TorchDynamoException):
    pass


class BackendCompilerFailed(TorchDynamoException):
    pass


unsupported(Unsupported)


class OptimizedModule:
    """What torch.compile returns: the same function or module, run in compiled segments."""

    def __init__(self, function, number):
        self._orig_mod = function
        self._number = number

    def __call__(self, *args, **kwargs):
        return call(self._number, self._orig_mod, args, kwargs)

    def __getattr__(self, name):
        return getattr(self._orig_mod, name)

    def state_dict(self, **options):
        return {'_orig_mod.' + name: value for name, value in self._orig_mod.state_dict(**options).items()}

    def load_state_dict(self, state_dict, strict=True, assign=False):
        own = {name.removeprefix('_orig_mod.'): value for name, value in state_dict.items()}
        return self._orig_mod.load_state_dict(own, strict, assign)

    def named_parameters(self, *args, **kwargs):
        return [('_orig_mod.' + name, p) for name, p in self._orig_mod.named_parameters(*args, **kwargs)]

    def __get__(self, instance, owner):
        return lambda *args, **kwargs: self(instance, *args, **kwargs)

    def __deepcopy__(self, memo):
        from copy import deepcopy
        return OptimizedModule(deepcopy(self._orig_mod, memo), self._number)


# -- backends

_registered = {}


def register_backend(compiler_fn=None, name=None, tags=()):
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    _registered[name or compiler_fn.__name__] = compiler_fn
    return compiler_fn


def list_backends(exclude_tags=('debug', 'experimental')):
    names = _backends() + list(_registered)
    return sorted([name for name in names if not exclude_tags or name not in ('eager', 'aot_eager')])


def lookup_backend(compiler_fn):
    """The function by that name; of a backend that is none, one that compiles the graph by it."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in _registered:
        return _registered[compiler_fn]
    number = register(compiler_fn, None, False)
    return lambda gm, example_inputs: lambda *args: call(number, gm.function, args, {})


_functions = {}  # by backend: what the same backend has compiled is shared


def _function_of(backend):
    """What the compiler calls with a graph, in its own words, and the inputs."""
    if not callable(backend):
        raise TorchDynamoException(f'Invalid backend: {backend!r}; a name of torch._dynamo.list_backends(None), or a function')
    if backend in _functions:
        return _functions[backend]

    def compile_graph(rows, inputs, number):
        from torch.fx import from_rows
        gm = from_rows(rows)
        gm.number = number
        try:
            return backend(gm, inputs)
        except Exception as error:
            name = getattr(backend, '__name__', type(backend).__name__)
            raise BackendCompilerFailed(f"backend='{name}' raised:\n{type(error).__name__}: {error}") from error
    _functions[backend] = compile_graph
    return compile_graph


def aot_autograd(*, fw_compiler, bw_compiler=None, **options):
    """A backend that compiles a graph in primitives and, when it is needed first, the graph of its gradients."""
    def backend(gm, example_inputs):
        import torch
        from torch.fx import from_rows
        forward_rows, gradient_rows, places, wants, has_gradient = aot(gm.number)
        compiled = fw_compiler(from_rows(forward_rows), example_inputs)
        if gradient_rows is None:
            return compiled
        n_sizes, gradients = len(example_inputs) - len(wants), []

        class CompiledFunction(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                outs = tuple(compiled(*args))
                ctx.save_for_backward(*args)
                ctx.mark_non_differentiable(*[out for out, has in zip(outs, has_gradient) if not has])
                return outs

            @staticmethod
            def backward(ctx, *grads):
                args = list(ctx.saved_tensors)
                given = args[n_sizes:] + [grad for grad in grads if grad is not None]
                given = args[:n_sizes] + [given[place] for place in places]
                if not gradients:
                    gradients.append((bw_compiler or fw_compiler)(from_rows(gradient_rows), given))
                found = iter(gradients[0](*given))
                return [None] * n_sizes + [next(found) if wanted else None for wanted in wants]
        return CompiledFunction.apply
    return backend


def number_of(backend, dynamic, fullgraph):
    """The number of these options."""
    from torch._dynamo import config
    if dynamic is None and not config.automatic_dynamic_shapes:
        dynamic = False
    backend = _registered.get(backend, backend) if isinstance(backend, str) else backend
    return register(backend if isinstance(backend, str) else _function_of(backend), dynamic, fullgraph)


def optimize(backend='inductor', nopython=False, dynamic=None, **options):
    number = number_of(backend, dynamic, nopython)
    return lambda function: OptimizedModule(function, number)


# -- what is compiled

def mark_dynamic(tensor, dim):
    for d in dim if isinstance(dim, (list, tuple)) else [dim]:
        _mark_dynamic(tensor, d)


def maybe_mark_dynamic(tensor, dim):
    mark_dynamic(tensor, dim)


def mark_static(tensor, dim=None):
    pass


mark_static_address = mark_static


def reset():
    forget()


def graph_break(msg=''):
    if not computes():
        _break('call of torch._dynamo.graph_break()', 'remove it')


def disable(fn=None, recursive=True, *, reason=None):
    """fn, which no graph has in it; modules, methods and functions alike."""
    if fn is None:
        return lambda function: disable(function, recursive)

    def run(*args, **kwargs):
        return eagerly(fn, args, kwargs, recursive)
    return run


def run(fn=None):
    return fn


def allow_in_graph(fn):
    return fn


assume_constant_result = forbid_in_graph = allow_in_graph


def is_compiling():
    return _is_compiling()


class set_stance:
    """How compiled functions behave from here on, in a with, or in a function."""

    def __init__(self, stance='default', *, skip_guard_eval_unsafe=False):
        self._stance = stance
        self._before = _stance(stance)

    def __enter__(self):
        _stance(self._stance)

    def __exit__(self, kind, error, traceback):
        _stance(self._before)

    def __call__(self, function):
        _stance(self._before)

        def inside(*args, **kwargs):
            before = _stance(self._stance)
            try:
                return function(*args, **kwargs)
            finally:
                _stance(before)
        return inside


class patched:
    """config.patch(name=value): meanwhile, and in a function."""

    def __init__(self, config, *names, **values):
        self._config = config
        self._values = dict(names[0]) if names and isinstance(names[0], dict) else {names[0]: names[1]} if names else values

    def __enter__(self):
        self._before = {name: getattr(self._config, name, None) for name in self._values}
        for name, value in self._values.items():
            setattr(self._config, name, value)

    def __exit__(self, kind, error, traceback):
        for name, value in self._before.items():
            setattr(self._config, name, value)

    def __call__(self, function):
        def inside(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return inside


# -- what was compiled

class Counters:
    """counters['stats']['unique_graphs'], since they were cleared."""

    def __init__(self):
        self.clear()

    def clear(self):
        self._graphs, self._breaks = len(_graphs()), len(_breaks())

    def __getitem__(self, name):
        graphs, reasons = _graphs()[self._graphs:], {}
        if name == 'stats':
            return {'unique_graphs': len(graphs), 'calls_captured': sum([n for _, _, n in graphs])}
        if name == 'graph_break':
            for reason, _, _ in _breaks()[self._breaks:]:
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons



class GraphCompileReason:
    def __init__(self, reason, path, line):
        self.reason, self.user_stack = reason, [f'<FrameSummary file {path}, line {line}>']


class ExplainOutput:
    def __init__(self, graphs, breaks, guards):
        self.graphs, self.graph_count = graphs, len(graphs)
        self.graph_break_count, self.break_reasons = len(breaks), [GraphCompileReason(*b) for b in breaks]
        self.ops_per_graph = [[node.target for node in gm.graph.nodes if node.op not in ('placeholder', 'output')]
                              for gm in graphs]
        self.op_count, self.out_guards, self.compile_times = sum([len(ops) for ops in self.ops_per_graph]), guards, None

    def __str__(self):
        lines = [f'Graph Count: {self.graph_count}', f'Graph Break Count: {self.graph_break_count}',
                 f'Op Count: {self.op_count}', 'Break Reasons:']
        for i, b in enumerate(self.break_reasons):
            lines += [f'  Break Reason {i + 1}:', f'    Reason: {b.reason}', '    User Stack:']
            lines += ['      ' + frame for frame in b.user_stack]
        lines.append('Ops per Graph:')
        for i, ops in enumerate(self.ops_per_graph):
            lines += [f'  Ops {i + 1}:'] + [f'    {op}' for op in ops]
        lines.append('Out Guards:')
        for i, guard in enumerate(self.out_guards):
            lines.append(f'  Guard {i + 1}: {guard}')
        return '\n'.join(lines) + '\n'
    __repr__ = __str__


def explain(f, *extra_args, **extra_kwargs):
    def inner(*args, **kwargs):
        graphs = []

        def keep(gm, example_inputs):
            graphs.append(gm)
            return gm.forward
        forget()
        n_breaks, n_graphs = len(_breaks()), len(_graphs())
        optimize(keep)(getattr(f, '_orig_mod', f))(*args, **kwargs)
        guards = [line for _, text, _ in _graphs()[n_graphs:] for line in text.splitlines()]
        forget()
        return ExplainOutput(graphs, _breaks()[n_breaks:], guards)
    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _tensors(value):
    """The tensors of what a program returns, in order."""
    import torch
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _run_workload(entry, inputs):
    """A workload that is not one graph: its entry in compiled segments, and the outputs as `run` shows them."""
    for i, t in enumerate(_tensors(optimize()(entry)(*inputs))):
        dtype = str(t.dtype).removeprefix('torch.')
        for long, short in (('bfloat', 'bf'), ('float', 'f'), ('uint', 'u'), ('int', 'i')):
            dtype = dtype.replace(long, short)
        line = f"out{i}  {dtype} {list(t.shape)}"
        if t.numel():
            v = t.detach().double()
            line += f"  min {v.min().item():g}  mean {v.mean().item():g}  max {v.max().item():g}"
        print(line)

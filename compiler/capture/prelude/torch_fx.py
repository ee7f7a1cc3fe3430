"""torch.fx: a graph that a program can look at and change, as backends that are functions get it.

    def backend(gm, example_inputs):       gm.graph.nodes: placeholder l_x_; call_function sin; output
        gm.graph.print_tabular()           gm(x): the nodes one by one, as eager operators
        return gm.forward
"""
import torch
from _warpsmith import refuse, run_text


_sizes = {'add': lambda a, b: a + b, 'mul': lambda a, b: a * b, 'floordiv': lambda a, b: a // b,
          'mod': lambda a, b: a % b, 'min': min, 'max': max}


def map_arg(x, function):
    """x with function(node) in place of every node in it."""
    if isinstance(x, Node):
        return function(x)
    if isinstance(x, (list, tuple)):
        return type(x)([map_arg(item, function) for item in x])
    if isinstance(x, dict):
        return {key: map_arg(value, function) for key, value in x.items()}
    return x


class _Shape:
    """What is known of a node's tensor before there is one."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = dtype, tuple(shape)

    def __repr__(self):
        short = str(self.dtype)[6:].replace('bfloat', 'bf').replace('float', 'f').replace('int', 'i').replace('bool', 'b8')
        return f"{short}[{', '.join([str(size) for size in self.shape])}]"


class Node:
    def __init__(self, graph, op, name, target, args, kwargs):
        self.graph, self.op, self.name, self.target = graph, op, name, target
        self.args, self.kwargs, self.meta = tuple(args), kwargs, {}

    def __repr__(self):
        return self.name

    @property
    def all_input_nodes(self):
        found = []
        map_arg([self.args, self.kwargs], lambda node: node in found or found.append(node))
        return found

    @property
    def users(self):
        return {node: None for node in self.graph.nodes if self in node.all_input_nodes}

    def replace_all_uses_with(self, other):
        users = list(self.users)
        for node in users:
            node.replace_input_with(self, other)
        return users

    def replace_input_with(self, old, new):
        self.args = map_arg(self.args, lambda node: new if node is old else node)
        self.kwargs = map_arg(self.kwargs, lambda node: new if node is old else node)

    def _text(self, x):
        if isinstance(x, (list, tuple)):
            items = ', '.join([self._text(item) for item in x])
            return f'[{items}]' if isinstance(x, list) else f'({items},)' if len(x) == 1 else f'({items})'
        return str(x) if isinstance(x, Node) or callable(x) else repr(x)

    def _call(self):
        given = [self._text(x) for x in self.args] + [f'{k} = {self._text(v)}' for k, v in self.kwargs.items()]
        return f"{_name_of(self.target)}({', '.join(given)})"

    def format_node(self):
        if self.op == 'placeholder':
            return f'%{self.name} [num_users={len(self.users)}] = placeholder[target={self.target}]'
        if self.op == 'output':
            return f'return {self._text(self.args[0])}'
        values = map_arg((self.args, self.kwargs), lambda node: _Percent(node))
        return (f'%{self.name} [num_users={len(self.users)}] = call_function[target={_name_of(self.target)}]'
                f'(args = {values[0]}, kwargs = {values[1]})')


class _Percent:
    def __init__(self, node):
        self.node = node

    def __repr__(self):
        return '%' + self.node.name


def _name_of(target):
    return target if isinstance(target, str) else getattr(target, '__name__', str(target))


class _Place:
    """with graph.inserting_before(node): where new nodes go meanwhile."""

    def __init__(self, graph, at):
        self.graph, self.at = graph, at

    def __enter__(self):
        self.graph._at, self.at = self.at, self.graph._at

    def __exit__(self, kind, error, traceback):
        self.graph._at = self.at


class Graph:
    def __init__(self):
        self.nodes, self._at = [], None

    def _new(self, op, target, args, kwargs, name):
        base, n, names = name or _name_of(target).split('.')[-1], 0, [node.name for node in self.nodes]
        name = base
        while name in names:
            n += 1
            name = f'{base}_{n}'
        node = Node(self, op, name, target, args, kwargs)
        if self._at is None:
            self.nodes.append(node)
        else:
            self.nodes.insert(self._at(), node)
        return node

    def placeholder(self, name):
        return self._new('placeholder', name, (), {}, name)

    def call_function(self, the_function, args=(), kwargs=None, name=None):
        return self._new('call_function', the_function, args, kwargs or {}, name)

    def create_node(self, op, target, args=(), kwargs=None, name=None):
        if op not in ('placeholder', 'call_function', 'call_method', 'output'):
            refuse(f'a node {op} is not supported in a graph of torch.fx')
        return self._new(op, target, args, kwargs or {}, name)

    def call_method(self, method_name, args=(), kwargs=None):
        return self._new('call_method', method_name, args, kwargs or {}, None)

    def output(self, result):
        return self._new('output', 'output', (result,), {}, 'output')

    def inserting_before(self, node):
        return _Place(self, lambda: self.nodes.index(node))

    def inserting_after(self, node):
        return _Place(self, lambda: self.nodes.index(node) + 1)

    def erase_node(self, node):
        if node.users:
            raise RuntimeError(f'Tried to erase Node {node} but it still had {len(node.users)} users in the graph: '
                               f'{node.users}!')
        self.nodes.remove(node)

    def eliminate_dead_code(self):
        changed = False
        for node in list(reversed(self.nodes)):
            if node.op not in ('placeholder', 'output') and not node.users:
                self.nodes.remove(node)
                changed = True
        return changed

    def find_nodes(self, *, op, target=None, sort=True):
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def lint(self):
        seen = []
        for node in self.nodes:
            for other in node.all_input_nodes:
                if other not in seen:
                    raise RuntimeError(f"Argument '{other}' of Node '{node}' was used before it has been defined!")
            seen.append(node)

    def print_tabular(self):
        rows = [['opcode', 'name', 'target', 'args', 'kwargs']]
        for node in self.nodes:
            rows.append([node.op, node.name, str(node.target), str(node.args), str(node.kwargs)])
        widths = [max([len(row[i]) for row in rows]) for i in range(5)]
        rows.insert(1, ['-' * width for width in widths])
        for row in rows:
            print('  '.join([text.ljust(width) for text, width in zip(row, widths)]).rstrip())

    def __str__(self):
        return 'graph():\n' + '\n'.join(['    ' + node.format_node() for node in self.nodes])


class GraphModule(torch.nn.Module):
    def __init__(self, root, graph, class_name='GraphModule'):
        super().__init__()
        self.graph = graph

        self.recompile()

    def recompile(self):
        """The graph as it is now becomes a function, of which all that is no plain constant is a global."""
        names, nodes = {}, self.graph.nodes

        def text(x):
            if isinstance(x, Node):
                return x.name
            if isinstance(x, (list, tuple)):
                return '[' + ', '.join([text(item) for item in x]) + ']'
            if x is None or isinstance(x, int):
                return str(x)
            names[f'_{len(names)}'] = x
            return f'_{len(names) - 1}'
        lines = ['def forward(' + ', '.join([node.name for node in nodes if node.op == 'placeholder']) + '):']
        for node in nodes:
            if node.op == 'output':
                lines.append(f'    return tuple({text(node.args[0])})' if isinstance(node.args[0], (list, tuple))
                             else f'    return {text(node.args[0])}')
            elif node.op != 'placeholder':
                given = [text(x) for x in node.args] + [f'{name}={text(x)}' for name, x in node.kwargs.items()]
                target = node.target
                if node.op == 'call_method':
                    target = lambda self, *args, method=target, **kwargs: getattr(self, method)(*args, **kwargs)
                lines.append(f"    {node.name} = {text(target)}({', '.join(given)})")
        self.function = run_text('<graph>', '\n'.join(lines) + '\n', names)['forward']

    def forward(self, *args):
        return self.function(*args)

    @property
    def code(self):
        return self._lines(False)

    def _lines(self, typed):
        shown = lambda node: f'{node.name}: "{node.meta["val"]}"' if typed and 'val' in node.meta else node.name
        inputs = [shown(node) for node in self.graph.nodes if node.op == 'placeholder']
        lines, place = ['def forward(' + ', '.join(['self'] + inputs) + '):'], ''
        for node in self.graph.nodes:
            where = node.meta.get('place', '')
            if typed and where and where != place:
                lines.append(f'    # File: {where}')
            place = where or place
            if node.op == 'output':
                result = node.args[0]
                lines.append('    return ' + node._text(tuple(result) if isinstance(result, list) else result))
            elif node.op == 'call_method':
                given = ', '.join([node._text(x) for x in node.args[1:]])
                lines.append(f'    {shown(node)} = {node._text(node.args[0])}.{node.target}({given})')
            elif node.op != 'placeholder':
                lines.append(f'    {shown(node)} = {node._call()}')
        return '\n'.join(lines) + '\n'

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False):
        body = self._lines(True).replace('\n', '\n    ').rstrip()
        text = f'class GraphModule(torch.nn.Module):\n    {body}\n'
        if print_output:
            print(text)
        return text

    def __repr__(self):
        return 'GraphModule()\n\n\n\n' + self.code


def from_rows(rows):
    """Of a captured graph as graph_rows.c tells it: (i,) is the node of row i."""
    graph, nodes = Graph(), []

    def value(x):
        if isinstance(x, tuple):
            return nodes[x[0]]
        if isinstance(x, list):
            return [value(item) for item in x]
        return x
    for op, name, target, args, kwargs, dtype, shape, place in rows:
        if op == 'call_function' and isinstance(target, str):
            target = _sizes[target]
        args = [value(x) for x in args]
        args = [tuple(args[0])] if op == 'output' else args
        node = Node(graph, op, name, target, args, {key: value(x) for key, x in kwargs.items()})
        if dtype is not None:
            node.meta['val'] = node.meta['example_value'] = _Shape(dtype, shape)
        if place:
            node.meta['place'] = place
        nodes.append(node)
        graph.nodes.append(node)
    return GraphModule(None, graph)


def symbolic_trace(root, concrete_args=None):
    refuse('torch.fx.symbolic_trace is not supported; a function as backend of torch.compile gets the graph')


def wrap(function):
    return function

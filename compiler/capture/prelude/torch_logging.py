"""torch._logging: what is said on stderr while functions are compiled, by topics of WS_LOGS."""
from _warpsmith import set_logs as _set_logs

_topics = {'graph': ['graph_code'], 'graph_code': ['graph_code'], 'graph_breaks': ['graph_breaks'], 'guards': ['guards'],
           'recompiles': ['recompiles'], 'recompiles_verbose': ['recompiles'], 'bytecode': ['bytecode'],
           'dynamic': ['dynamic'], 'aot_graphs': ['aot_graphs'], 'fusion': ['fusion'], 'schedule': ['schedule'],
           'output_code': ['output_code'], 'kernel_code': ['output_code'], 'autotuning': ['autotune'],
           'autotune': ['autotune'], 'stages': ['stages'],
           'all': [], 'aot_joint_graph': ['aot_graphs'], 'compiled_autograd': [], 'compiled_autograd_verbose': [],
           'perf_hints': [], 'graph_sizes': [], 'trace_source': [], 'trace_call': [], 'cudagraphs': [], 'modules': [],
           'ddp_graphs': [], 'onnx': [], 'export': [], 'distributed': []}
_parts = {'dynamo': ['graph_breaks', 'guards', 'recompiles', 'graph_code', 'dynamic'], 'aot': ['aot_graphs'],
          'inductor': ['fusion', 'schedule']}


def set_logs(*, all=None, modules=None, **names):
    """A topic that is True is said from here on; a part of the compiler at logging.DEBUG says all of its topics."""
    topics = []
    for name, level in names.items():
        if name in _parts:
            if level == 10:
                topics += _parts[name]
        elif name not in _topics:
            raise ValueError(f'Unrecognized log or artifact name passed to set_logs: {name}; known: '
                             + ', '.join(sorted(list(_topics) + list(_parts))))
        elif level:
            topics += _topics[name]
    if all == 10:
        topics = [name for part in _parts.values() for name in part]
    _set_logs(topics)

"""Regional compilation: a repeated layer compiled once, instead of the whole model."""
from time import perf_counter

import torch


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = torch.nn.Linear(10, 10)
        self.relu1 = torch.nn.ReLU()
        self.linear2 = torch.nn.Linear(10, 10)
        self.relu2 = torch.nn.ReLU()

    def forward(self, x):
        a = self.relu1(self.linear1(x))
        return self.relu2(self.linear2(torch.sigmoid(a)))


class Model(torch.nn.Module):
    def __init__(self, apply_regional_compilation):
        super().__init__()
        self.linear = torch.nn.Linear(10, 10)
        if apply_regional_compilation:
            self.layers = torch.nn.ModuleList([torch.compile(Layer(), backend=backend) for _ in range(16)])
        else:
            self.layers = torch.nn.ModuleList([Layer() for _ in range(16)])
        with torch.no_grad():
            for i, p in enumerate(self.parameters()):
                p.fill_(0.1 + 0.001 * i)

    def forward(self, x):
        x = self.linear(x)
        for layer in self.layers:
            x = layer(x)
        return x


backend = 'eager'
full_compiled_model = torch.compile(Model(False), backend=backend)
regional_compiled_model = Model(True)


def measure_latency(fn, input):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    with torch._inductor.utils.fresh_inductor_cache(), torch.no_grad():
        start = perf_counter()
        out = fn(input)
        end = perf_counter()
    print(out[0, :3], 'graphs:', torch._dynamo.utils.counters['stats']['unique_graphs'])
    return end - start


input = torch.arange(100.0).reshape(10, 10) / 100
assert measure_latency(full_compiled_model, input) > 0
assert measure_latency(regional_compiled_model, input) > 0

"""Compiling the optimizer, alone and with a learning rate scheduler."""
import torch
import torch.utils.benchmark as benchmark

model = torch.nn.Sequential(*[torch.nn.Linear(8, 8, False) for _ in range(3)])
with torch.no_grad():
    for p in model.parameters():
        p.copy_(torch.arange(64.0).reshape(8, 8) / 64)
input = torch.arange(8.0)
output = model(input)
output.sum().backward()

opt = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.compile()
def fn():
    opt.step()


for _ in range(3):
    fn()
print(model[0].weight[0], model[2].weight[7])


def benchmark_torch_function_in_microseconds(f, *args, **kwargs):
    t0 = benchmark.Timer(stmt='f(*args, **kwargs)', globals={'args': args, 'kwargs': kwargs, 'f': f})
    return t0.timeit(3).mean * 1e6


print(benchmark_torch_function_in_microseconds(opt.step) > 0, benchmark_torch_function_in_microseconds(fn) > 0)

# with a scheduler the rate is a tensor, so that another rate is not another function
opt = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.01))
sched = torch.optim.lr_scheduler.LinearLR(opt, total_iters=5)


@torch.compile(fullgraph=False)
def step():
    opt.step()
    sched.step()


for _ in range(5):
    step()
    print(opt.param_groups[0]['lr'])
print(model[1].weight[0, :3])

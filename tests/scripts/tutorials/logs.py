"""Using TORCH_LOGS' Python API: what is said goes to stderr."""
import logging

import torch


@torch.compile()
def fn(x, y):
    z = x + y
    return z + 2


inputs = (torch.ones(2, 2), torch.zeros(2, 2))


def separator(name):
    print(f'==================={name}=========================')
    torch._dynamo.reset()


separator('Dynamo Tracing')
torch._logging.set_logs(dynamo=logging.DEBUG)
fn(*inputs)
separator('Traced Graph')
torch._logging.set_logs(graph=True)
fn(*inputs)
separator('Fusion Decisions')
torch._logging.set_logs(fusion=True)
fn(*inputs)
separator('Output Code')
torch._logging.set_logs(output_code=True)
print(fn(*inputs))
separator('')

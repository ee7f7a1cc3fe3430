"""What products of f32 may be made of: flags that are read back as they were set, and recompile what was compiled under
another one."""
import torch

matmul = torch.backends.cuda.matmul
compiled = []


def counting(graph, inputs):
    compiled.append(matmul.allow_tf32)
    return graph


def show(what):
    print(what, matmul.allow_tf32, matmul.fp32_precision, torch.get_float32_matmul_precision())


show('at first')
matmul.allow_tf32 = True
show('allow_tf32')
matmul.allow_tf32 = False
show('not allowed')
for precision in ('high', 'medium', 'highest'):
    torch.set_float32_matmul_precision(precision)
    show(precision)
matmul.fp32_precision = 'tf32'
print('by its newer name', matmul.fp32_precision)
matmul.fp32_precision = 'ieee'
show('ieee')
try:
    matmul.fp32_precision = 'f8'
except RuntimeError as e:
    print('RuntimeError', e)
try:
    matmul.no_such_flag
except AttributeError:
    print('AttributeError')

print(torch.backends.cudnn.allow_tf32)  # of convolutions
torch.backends.cudnn.allow_tf32 = False
print(torch.backends.cudnn.allow_tf32)


@torch.compile(backend=counting)
def product(x, y):
    return (x @ y).sum()


x, y = torch.ones(4, 8), torch.ones(8, 4)
for allow in (False, False, True, True, False, True):
    matmul.allow_tf32 = allow
    print(product(x, y).item(), len(compiled))
print(compiled)


@torch.compile(backend=counting)
def switches(x, y):
    a = x @ y
    torch.set_float32_matmul_precision('high')
    return a + x @ y


matmul.allow_tf32 = False
print(switches(x, y).sum().item(), matmul.allow_tf32)

"""Programs that once crashed the interpreter or gave other numbers than PyTorch's, and are held nowhere else."""
import torch


def raises(kind, function, words):
    try:
        function()
    except kind as e:
        assert words in str(e), str(e)
    else:
        assert False, f'no {kind.__name__}'


# kinds of arguments: Python's float is a dtype, and nothing else of Python's is
class A:
    pass


assert torch.tensor([1.0], dtype=float).dtype == torch.float64 and torch.tensor([1], dtype=int).dtype == torch.int64
for wrong in 'float32', -1, A, raises, None.__class__, 1.5:
    raises(TypeError, lambda: torch.tensor([1.0], dtype=wrong), "argument 'dtype' must be torch.dtype")
raises(TypeError, lambda: (i for i in range(3)).throw(5), 'exceptions must be classes or instances')

# x[i] = v of two types: an error, unless v is a number, or one element where a mask says so
def put(x, i, v):
    x[i] = v


for x, v in ((torch.zeros(4, dtype=torch.int64), torch.tensor([1.5])), (torch.zeros(4), torch.tensor([2])),
             (torch.zeros(4), torch.tensor(1.5, dtype=torch.float16))):
    for i in torch.tensor([0]), [1]:
        raises(RuntimeError, lambda: put(x, i, v), 'source and destination dtypes match')
    x[torch.tensor([True, False, False, True])] = v
    x[[1]] = 3.7
    assert x.tolist() == [v.item() if x.is_floating_point() else 1, 3.7 if x.is_floating_point() else 3, 0,
                          v.item() if x.is_floating_point() else 1] or abs(x[1].item() - 3.7) < 1e-6

# scatter to one place from several: each source has the gradient, as PyTorch's has
place = torch.tensor([[0, 0, 0, 0, 0], [0, 1, 1, 1, 1]])
for f in (lambda x, s: x.scatter(0, place, s), torch.compile(lambda x, s: x.scatter(0, place, s))):
    x, s = torch.zeros(4, 5, requires_grad=True), torch.ones(2, 5, requires_grad=True)
    f(x, s).sum().backward()
    assert x.grad.tolist() == [[0.0] * 5, [1.0] + [0.0] * 4, [1.0] * 5, [1.0] * 5]
    assert s.grad.tolist() == [[1.0] * 5] * 2, s.grad

# long sums of one number, over several dimensions at once
for f in (lambda x: x.sum(dim=(0, 2, 3)), torch.compile(lambda x: x.sum(dim=(0, 2, 3)))):
    assert (f(torch.full((2, 3, 514, 514), 0.1)) - 52839.2).abs().max() < 0.02

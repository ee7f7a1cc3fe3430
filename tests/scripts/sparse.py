"""Sparse tensors are dense ones, of which what graph networks ask is known: places, values, products of the elements alone."""
import torch
import torch.nn as nn

i, v = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
s = torch.sparse_coo_tensor(i, v, (2, 3)).coalesce()
print(s.to_dense(), s.indices(), s.values(), s._nnz(), s.shape, s.is_coalesced(), s.sparse_dim(), s.dense_dim())
print(torch.sparse.mm(s, torch.ones(3, 2)), s @ torch.ones(3), torch.spmm(s, torch.ones(3, 2)), torch.sparse.sum(s))
twice = torch.sparse.FloatTensor(torch.tensor([[0, 0, 1], [1, 1, 0]]), torch.tensor([1.0, 2.0, 7.0]), torch.Size([2, 2])).coalesce()
print(twice.indices().tolist(), twice.values().tolist(), twice.t().to_dense())
d = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
c = d.to_sparse_csr()
print(c.crow_indices(), c.col_indices(), c.values(), c @ torch.ones(2, 1))
print(torch.sparse_csr_tensor(torch.tensor([0, 1, 2, 2, 4]), torch.tensor([1, 0, 0, 1]), torch.tensor([1.0, 2.0, 3.0, 4.0]), (4, 2)).to_dense())


class Dropped(nn.Module):
    """What LightGCN does: some edges of the graph, drawn anew."""

    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def forward(self, x):
        index, values = x.indices().t(), x.values()
        values = values[self.keep] / 0.5
        return torch.sparse.FloatTensor(index[self.keep].t(), values, x.size())


w = torch.arange(6.0).reshape(3, 2).requires_grad_()
torch.sparse.mm(Dropped(torch.tensor([True, False, True]))(s), w).sum().backward()
print(w.grad)
weights = v.clone().requires_grad_()
(torch.sparse.mm(torch.sparse_coo_tensor(i, weights, (2, 3)), w.detach()) ** 2).sum().backward()
print(weights.grad)

# -- the elements as they were given, and products of them
i, v = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]]), torch.tensor([3.0, 4.0, 5.0, 1.0])
s = torch.sparse_coo_tensor(i, v, (2, 3))
print(s._indices().tolist(), s._values().tolist(), s._nnz(), s.to_dense().tolist())
x = torch.arange(6.0).reshape(3, 2)
print(torch.sparse.mm(s, x).tolist(), (s @ x).tolist(), torch.spmm(s, x).tolist(), torch.mv(s, x[:, 0]).tolist(), torch.sparse.mm(s.t(), x[:2]).tolist(), s.t()._indices().tolist())
c = s.coalesce()
print(c.indices().tolist(), c.values().tolist(), c._nnz(), torch.sparse.mm(c, x).tolist(), torch.mm(s.transpose(0, 1), x[:2]).tolist())
w, y = v.clone().requires_grad_(), x.clone().requires_grad_()
(torch.sparse.mm(torch.sparse_coo_tensor(i, w, (2, 3)), y) ** 2).sum().backward()
print(w.grad.tolist(), y.grad.tolist())
@torch.compile
def f(i, v, x):
    a = torch.sparse_coo_tensor(i, v, (2, 3))
    return torch.sparse.mm(a, x), a.t() @ x[:2], a._values() + 1
print([t.tolist() for t in f(i, v, x)])

s.to_dense()
t = torch.sparse_coo_tensor(i, v, (2, 3))
t.mul_(2.0)  # what it was made of is not what it is
print(torch.sparse.mm(t, x).tolist(), t.coalesce().values().tolist())


class Product(torch.autograd.Function):
    """As networks of attention to graphs write it: gradients of the values alone."""

    @staticmethod
    def forward(ctx, indices, values, shape, b):
        a = torch.sparse_coo_tensor(indices, values, shape)
        ctx.save_for_backward(a, b)
        ctx.N = shape[1]
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx, grad_output):
        a, b = ctx.saved_tensors
        places = a._indices()[0, :] * ctx.N + a._indices()[1, :]
        return None, grad_output.matmul(b.t()).view(-1)[places], None, a.t().matmul(grad_output)


w, y = v.clone().requires_grad_(), x.clone().requires_grad_()
(Product.apply(i, w, torch.Size([2, 3]), y) ** 2).sum().backward()
print(w.grad.tolist(), y.grad.tolist())

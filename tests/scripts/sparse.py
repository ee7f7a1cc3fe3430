"""Sparse tensors are dense ones, of which what graph networks ask is known: places, values, products."""
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

"""Subscripts of every kind."""
import torch


def einsum(a, b, q, k, v):
    scores = torch.einsum('bhid,bhjd->bhij', q, k)
    return (torch.einsum('ij,jk->ik', a, b), torch.einsum('ij,jk', a, b), torch.einsum('ij->ji', a),
            torch.einsum('ij->', a), torch.einsum('ij,ij->i', a, a), torch.einsum('i,j->ij', a[0], b[0]),
            torch.einsum('bhij,bhjd->bihd', scores, v), torch.einsum('...d,de->...e', q, b[:4, :3]),
            torch.einsum('ij,jk,lk->il', a, b, a[:, :7]), torch.einsum('bh...,bh...->...', q, k),
            torch.einsum('b i, i j -> b', a, b))


def get_inputs():
    return [torch.randn(5, 8), torch.randn(8, 7), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 4),
            torch.randn(2, 3, 6, 4)]

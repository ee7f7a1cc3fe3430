"""Numbers that come as tensors: each that is read is a guard, of few elements."""
import torch


class Model(torch.nn.Module):
    def forward(self, x, strides, p, n):
        parts = [x * float(strides[i]) for i in range(len(strides))]
        if n.item() > 2:
            parts.append(torch.nn.functional.dropout(x, p.item(), False))
        return sum(parts) + strides.view(3, 1)[1:].flatten()[0].item()


def get_inputs():
    return [torch.randn(100), torch.tensor([8.0, 16.0, 32.0]), torch.rand(()), torch.tensor([3])]


def get_init_inputs():
    return []

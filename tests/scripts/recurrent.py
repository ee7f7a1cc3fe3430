"""Recurrent layers over enough steps to be loops: what PyTorch gives for the same weights, and its gradients."""
import torch
import torch.nn as nn


def fill(*shape):
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(n) * 37 % 19 - 9).reshape(shape) / 20


def show(name, *tensors):
    for x in tensors:
        flat = x.detach().flatten()
        weight = torch.arange(flat.numel()) % 7 + 1
        print(name, list(x.shape), [round(v, 3) for v in flat[:4].tolist()], f'{(flat * weight).sum().item():.2f}')


def run(name, layer, *args):
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(fill(*p.shape))
    out, last = torch.compile(layer)(*args)
    show(name, out, *(last if isinstance(last, tuple) else [last]))
    out.sum().backward()
    show(name + ' gradients', *[p.grad for p in list(layer.parameters())[:2]])


x, h = fill(11, 2, 3), fill(2, 2, 5)
run('LSTM', nn.LSTM(3, 5, 2), x, (h, h / 2))
run('LSTM both ways', nn.LSTM(3, 5, bidirectional=True, batch_first=True, bias=False), x.transpose(0, 1))
run('LSTM projected', nn.LSTM(3, 5, proj_size=2), x)
run('GRU', nn.GRU(3, 5, 2), x, h)
run('GRU without batch', nn.GRU(3, 5, bidirectional=True), x[:, 0])
run('RNN', nn.RNN(3, 5, nonlinearity='relu'), x)


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 5)

    def forward(self, x):
        state, out = None, []
        for t in reversed(range(len(x))):
            state = self.cell(x[t], state)
            out.append(state[0])
        return torch.cat(out, 1), state


run('cells', Cells(), x)

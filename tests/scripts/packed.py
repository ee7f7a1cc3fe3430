"""Packed sequences: what is packed and padded again, and RNN, LSTM and GRU on them beside each sequence alone."""
import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

torch.manual_seed(0)
x = torch.arange(24.0).view(3, 4, 2)  # 3 sequences of at most 4 steps
p = pack_padded_sequence(x, [4, 2, 1], batch_first=True)
assert p.batch_sizes.tolist() == [3, 2, 1, 1] and p.data[:, 0].tolist() == [0.0, 8.0, 16.0, 2.0, 10.0, 4.0, 6.0]
assert isinstance(p, PackedSequence) and p.sorted_indices is None
try:
    pack_padded_sequence(x, [1, 4, 2], batch_first=True)
    raise AssertionError
except RuntimeError as e:
    assert 'must be sorted in decreasing order' in str(e)
p = pack_padded_sequence(x, torch.tensor([1, 4, 2]), batch_first=True, enforce_sorted=False)
assert p.sorted_indices.tolist() == [1, 2, 0] and p.unsorted_indices.tolist() == [2, 0, 1]
y, lengths = pad_packed_sequence(p, batch_first=True, padding_value=-1.0, total_length=5)
assert y.shape == (3, 5, 2) and lengths.tolist() == [1, 4, 2] and y[0, :, 0].tolist() == [0.0, -1.0, -1.0, -1.0, -1.0]
assert torch.equal(y[1, :4], x[1])
q = pack_sequence([x[0], x[1, :2], x[2, :1]])
assert q.batch_sizes.tolist() == [3, 2, 1, 1]

x = torch.randn(3, 4, 2)
for make in (nn.RNN, nn.LSTM, nn.GRU):
    for two in (False, True):
        rnn = make(2, 5, num_layers=2, bidirectional=two, batch_first=True)
        out, last = rnn(pack_padded_sequence(x, [1, 4, 2], batch_first=True, enforce_sorted=False))
        out, lengths = pad_packed_sequence(out, batch_first=True)
        for i, n in enumerate([1, 4, 2]):
            alone, end = rnn(x[i:i + 1, :n])
            assert torch.allclose(out[i, :n], alone[0], atol=1e-6) and not out[i, n:].any()
            for a, b in zip(last if make is nn.LSTM else [last], end if make is nn.LSTM else [end]):
                assert torch.allclose(a[:, i], b[:, 0], atol=1e-6)
out.sum().backward()
assert rnn.weight_ih_l0.grad.abs().sum() > 0

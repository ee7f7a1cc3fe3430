"""torch.nn.utils.rnn: sequences of several lengths, padded to one or packed: all first steps, then all second ones, ...

    lengths 3, 1    data = [a0, b0, a1, a2]    batch_sizes = [2, 1, 1]
"""

import torch
from collections import namedtuple

_Packed = namedtuple('PackedSequence', ['data', 'batch_sizes', 'sorted_indices', 'unsorted_indices'],
                     defaults=[None, None])


class PackedSequence(_Packed):
    """Sequences in the order of their lengths, the longest first; sorted_indices says which each was."""

    def to(self, *args, **kwargs):
        return self._replace(data=self.data.to(*args, **kwargs))


def _in_order(lengths):
    return all([a >= b for a, b in zip(lengths, lengths[1:])])


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    lengths = lengths.tolist() if torch.is_tensor(lengths) else list(lengths)
    x, order = input.transpose(0, 1) if batch_first else input, None
    if len(lengths) != x.size(1):
        raise RuntimeError(f'Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={x.size(1)})')
    if min(lengths) <= 0:
        raise RuntimeError('Length of all samples has to be greater than 0, but found an element in \'lengths\' that is <= 0')
    if enforce_sorted and not _in_order(lengths):
        raise RuntimeError('`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass '
                           '`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this '
                           'requirement if you do not need ONNX exportability.')
    if not enforce_sorted:
        order = torch.tensor(lengths).argsort(descending=True, stable=True)
        lengths, x = sorted(lengths, reverse=True), x.index_select(1, order)
    sizes = [sum([n > t for n in lengths]) for t in range(lengths[0])]
    data = torch.cat([x[t, :n] for t, n in enumerate(sizes)])
    return PackedSequence(data, torch.tensor(sizes), order, None if order is None else order.argsort())


def steps_of(packed, padding_value=0.0):
    """[steps, sequences, ..], the sequences as they are packed, and how long each is."""
    sizes = packed.batch_sizes.tolist()
    pad = lambda x: torch.nn.functional.pad(x, [0, 0] * (x.ndim - 1) + [0, sizes[0] - len(x)], value=padding_value)
    lengths = [sum([n > k for n in sizes]) for k in range(sizes[0])]
    return torch.stack([pad(x) for x in packed.data.split(sizes)]), lengths


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    x, lengths = steps_of(sequence, padding_value)
    if total_length is not None:
        if total_length < x.size(0):
            raise ValueError('Expected total_length to be at least the length of the longest sequence in input, but got '
                             f'total_length={total_length} and max sequence length being {x.size(0)}')
        x = torch.nn.functional.pad(x, [0, 0] * (x.ndim - 1) + [0, total_length - x.size(0)], value=padding_value)
    lengths = torch.tensor(lengths)
    if sequence.unsorted_indices is not None:
        x, lengths = x.index_select(1, sequence.unsorted_indices), lengths[sequence.unsorted_indices]
    return x.transpose(0, 1) if batch_first else x, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    most = max([len(x) for x in sequences])
    pad = lambda x: torch.nn.functional.pad(x, [0, 0] * (x.ndim - 1) + [0, most - len(x)], value=padding_value)
    return torch.stack([pad(x) for x in sequences], 0 if batch_first else 1)


def pack_sequence(sequences, enforce_sorted=True):
    return pack_padded_sequence(pad_sequence(sequences), [len(x) for x in sequences], False, enforce_sorted)

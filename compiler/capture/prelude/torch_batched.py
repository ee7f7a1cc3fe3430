"""What torch.vmap leaves in a graph that torch.compile has captured: a dimension of each level is hidden between these calls.

Here it is in front of those that the graph sees, the innermost level's first, so that tensors of different levels broadcast. That
is right for what works element by element or looks up by tensors without dimensions of their own, as masks of attention do."""
import torch

_depth = 0


def lazy_load_decompositions():
    pass


def _vmap_increment_nesting(batch_size, randomness):
    global _depth
    _depth += 1
    return _depth


def _vmap_decrement_nesting():
    global _depth
    _depth -= 1
    return _depth


def _add_batch_dim(x, in_dim, level):
    x = x.movedim(in_dim, 0)
    return x.reshape(x.shape[:1] + (1,) * (level - 1) + x.shape[1:])


def _remove_batch_dim(x, level, batch_size, out_dim):
    if x.ndim < level:  # the same for all
        x = x.reshape((1,) * (level - x.ndim) + x.shape)
    x = x.expand((batch_size,) + x.shape[1:])
    return x.movedim(0, level - 1 + (out_dim if out_dim >= 0 else out_dim + x.ndim - level + 1))

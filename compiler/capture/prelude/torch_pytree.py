"""torch.utils._pytree: what is nested in lists, tuples and dicts, as a list of leaves and the form that they had."""


def _split(tree, leaves):
    if isinstance(tree, tuple) and hasattr(tree, '_fields'):
        return (type(tree), [_split(part, leaves) for part in tree])
    if isinstance(tree, (list, tuple)):
        return (type(tree), [_split(part, leaves) for part in tree])
    if isinstance(tree, dict):
        return (type(tree), {key: _split(part, leaves) for key, part in tree.items()})
    leaves.append(tree)
    return None


def _join(form, leaves):
    if form is None:
        return next(leaves)
    kind, parts = form
    if isinstance(parts, dict):
        made = {key: _join(part, leaves) for key, part in parts.items()}
        return made if kind is dict else kind(made)
    made = [_join(part, leaves) for part in parts]
    return kind(*made) if hasattr(kind, '_fields') else kind(made)


def tree_flatten(tree):
    leaves = []
    form = _split(tree, leaves)
    return leaves, form


def tree_unflatten(leaves, treespec):
    return _join(treespec, iter(leaves))


def tree_leaves(tree):
    return tree_flatten(tree)[0]


def tree_map(func, tree, *rests):
    leaves, form = tree_flatten(tree)
    return tree_unflatten([func(*parts) for parts in zip(leaves, *[tree_leaves(rest) for rest in rests])], form)


def tree_map_only(kind, func, tree):
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)

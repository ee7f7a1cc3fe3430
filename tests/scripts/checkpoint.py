"""torch.save and torch.load: a file of PyTorch's (checkpoint.pt), and one of ours, read back."""
import collections
import os
from pathlib import Path

import torch

seen = torch.load('tests/scripts/checkpoint.pt')
for x in seen['types']:
    assert x.to(torch.float32).tolist() == ([0, 1, 1] if x.dtype == torch.bool else [0, 1, 3]), x
assert len({x.dtype for x in seen['types']}) == 12

# views share their storage, as they did
base = torch.arange(12.).reshape(3, 4)
assert torch.equal(seen['base'], base) and torch.equal(seen['row'], base[1:, ::2]) and torch.equal(seen['turned'], base.t())
assert seen['turned'].stride() == (1, 4) and seen['row'].storage_offset() == 4
seen['base'][1, 2] = 70
assert seen['row'][0, 1] == 70 and seen['turned'][2, 1] == 70
assert seen['wide'].stride() == (0, 0) or seen['wide'].tolist() == [[1, 1]] * 3

assert seen['scalar'].shape == () and seen['scalar'] == -2.5 and seen['none'].shape == (0, 3)
assert isinstance(seen['parameter'], torch.nn.Parameter) and seen['parameter'].requires_grad
assert seen['grad'].requires_grad and not seen['base'].requires_grad
assert seen['numbers'] == [0, 255, 256, 70000, -1, -2 ** 40, 2 ** 62, 1.5, float('inf')]
assert seen['text'] == 'h\u00e9' and seen['tuple'] == (1, (2, None)) and seen['flag'] is True and seen[3] == {'x': []}
assert seen['types_of'] == torch.bfloat16 and seen['size'] == torch.Size([2, 3]) and seen['device'] == torch.device('cpu')


# training goes on from there
def model_and_optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def train(model, optimizer):
    optimizer.zero_grad()
    model(torch.arange(12.).reshape(4, 3)).square().sum().backward()
    optimizer.step()
    return [p.detach().clone() for p in model.parameters()]


model, optimizer = model_and_optimizer()
print(model.load_state_dict(seen['model']))
optimizer.load_state_dict(seen['optimizer'])
assert optimizer.param_groups[0]['lr'] == 0.5

folder = Path(os.environ.get('TMP', '/tmp')) / 'warpsmith_checkpoints'
folder.mkdir(exist_ok=True)
path = folder / 'ours.pt'
names = collections.OrderedDict([('a', 1)])
torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'seen': seen, 'names': names, 'twice': [names, names]}, path)
want = train(model, optimizer)
ours = torch.load(str(path), map_location='cpu', weights_only=True)
other, its_optimizer = model_and_optimizer()
other.load_state_dict(ours['model'])
its_optimizer.load_state_dict(ours['optimizer'])
assert all([torch.equal(p, q) for p, q in zip(want, train(other, its_optimizer))])
again = ours['seen']
again['base'][1, 2] = 71
assert again['row'][0, 1] == 71 and again['turned'].stride() == (1, 4) and seen['base'][1, 2] == 70
for x, y in zip(seen['types'], again['types']):
    assert x.dtype == y.dtype and x.double().tolist() == y.double().tolist()
assert ours['twice'][0] is ours['twice'][1] is ours['names'] and ours['names'] == {'a': 1}
assert again['numbers'] == seen['numbers'] and again['size'] == seen['size'] and type(again['parameter']) == type(seen['parameter'])

loop = [1]
loop.append(loop)
torch.save(loop, path)
loop = torch.load(path)
assert loop[1] is loop and loop[0] == 1

# what is no state dict
torch.save(1, path)
for thing in model, print, {1, 2}, lambda: 0:
    try:
        torch.save(thing, path)
        raise AssertionError('saved')
    except RuntimeError as e:
        print(e)
assert torch.load(path) == 1  # it is still there
for name in 'tests/scripts/checkpoint.py', 'tests/scripts/nothing.pt':
    try:
        torch.load(name)
        raise AssertionError('loaded')
    except (RuntimeError, FileNotFoundError) as e:
        print(type(e).__name__, e)

# -- in memory
from io import BytesIO

memory, state = BytesIO(), {'w': torch.arange(3.0), 'step': 7}
torch.save(state, memory)
state['w'].zero_()
memory.seek(0)
read = torch.load(memory, weights_only=True)
assert read['w'].tolist() == [0, 1, 2] and read['step'] == 7

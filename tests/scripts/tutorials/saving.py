"""Saving and loading models: state dicts, a checkpoint to go on from, weights for a model that is compiled."""
import os

import torch
import torch.nn as nn

folder = os.environ.get('TMP', '/tmp')


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 1)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


net = Net()
with torch.no_grad():
    for p in net.parameters():
        p.copy_(torch.arange(p.numel()).reshape(p.shape) / 10)
optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
x = torch.arange(8.0).reshape(2, 4)
loss = net(x).sum()
loss.backward()
optimizer.step()
for name in net.state_dict():
    print(name, '\t', net.state_dict()[name].size())

path = os.path.join(folder, 'model.pt')
torch.save(net.state_dict(), path)
other = Net()
print(other.load_state_dict(torch.load(path, weights_only=True)))
other.eval()
print(other(x), torch.equal(other(x), net(x)))

torch.save({'epoch': 5, 'model_state_dict': net.state_dict(), 'optimizer_state_dict': optimizer.state_dict(), 'loss': loss}, path)
checkpoint = torch.load(path, weights_only=True)
optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
optimizer.load_state_dict(checkpoint['optimizer_state_dict'])
print(checkpoint['epoch'], checkpoint['loss'], optimizer.param_groups[0]['lr'], optimizer.param_groups[0]['momentum'])

compiled = torch.compile(Net())
torch.save(compiled.state_dict(), path)
print(list(torch.load(path)))
print(compiled.load_state_dict({'_orig_mod.' + name: value for name, value in net.state_dict().items()}))
print(torch.allclose(compiled(x), net(x)))

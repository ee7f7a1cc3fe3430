"""Data sets, loaders and the training loop of the quickstart tutorial."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, Dataset
class DS(Dataset):
    def __init__(self, n, transform=None):
        self.x = torch.linspace(-1, 1, n * 4).reshape(n, 4)
        self.y = (torch.arange(n) % 3)
        self.transform = transform
    def __len__(self):
        return len(self.x)
    def __getitem__(self, idx):
        s = self.x[idx]
        if self.transform:
            s = self.transform(s)
        return s, self.y[idx]
ds = DS(20, transform=lambda s: s * 2)
dl = DataLoader(ds, batch_size=8)
print(len(ds), len(dl), len(dl.dataset))
for X, y in dl:
    print(f"Shape of X [N, C]: {X.shape}")
    print(f"Shape of y: {y.shape} {y.dtype}")
    break
device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
print(f"Using {device} device")
class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(4, 8),
            nn.ReLU(),
            nn.Linear(8, 8),
            nn.ReLU(),
            nn.Linear(8, 3)
        )
    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits
model = NeuralNetwork().to(device)
print(model)
for i, (name, p) in enumerate(model.named_parameters()):
    with torch.no_grad():
        p.copy_(torch.sin(torch.arange(p.numel()) * (i + 1.0)).reshape(p.shape) * 0.5)
    print(f"Layer: {name} | Size: {p.size()} | Values : {p.flatten()[0].item():.4f}")
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 1 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")
def test(dataloader, model, loss_fn):
    size = len(dataloader.dataset)
    num_batches = len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= num_batches
    correct /= size
    print(f"Test Error: \n Accuracy: {(100*correct):>0.1f}%, Avg loss: {test_loss:>8f} \n")
for t in range(2):
    print(f"Epoch {t+1}\n-------------------------------")
    train(dl, model, loss_fn, optimizer)
    test(dl, model, loss_fn)
print("Done!")
tds = TensorDataset(ds.x, ds.y)
print(len(tds), tds[3])
for i, (a, b) in enumerate(DataLoader(tds, batch_size=6, shuffle=False, drop_last=True)):
    print(i, a.shape, b.tolist())
it = iter(DataLoader(tds, batch_size=3))
a, b = next(it)
print(a, b)
classes = ["a", "b", "c"]
model.eval()
x, y = ds[0][0], ds[0][1]
with torch.no_grad():
    pred = model(x.unsqueeze(0))
    predicted, actual = classes[pred[0].argmax(0)], classes[y]
    print(f'Predicted: "{predicted}", Actual: "{actual}"')

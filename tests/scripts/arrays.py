"""Arrays of numpy: made, counted with, drawn, printed, and turned into tensors and back."""
import math
import numpy as np
import torch
from torch import nn
a = np.arange(6).reshape(2, 3)
print(a, a.shape, a.dtype, a / 2, a * 1.5, a.sum(), a.mean(axis=0), a.std(), a[:, 1], a[0, 2], a[::-1], a.T)
print(repr(a), repr(a.astype(np.float32)), np.array([1.5, 2.25, 3]), np.array([True, False]), np.array([1e-5, 1.0]))
b = np.zeros((2, 2)); b[0] = 1; b[1, 1] = 2.5
print(b, b + 1, 2 - b, b @ b, b > 1, b[b > 0], np.where(b > 0, 1, 0), np.linspace(0, 1, 5), np.linspace(0, 1, 5).tolist())
print(torch.from_numpy(b), torch.tensor(a), torch.tensor(b, dtype=torch.float32), torch.ones(2).numpy(), torch.arange(3).numpy())
np.random.seed(0)
print(np.random.rand(3), np.random.randn(2, 2), np.random.randint(0, 10, 5), np.random.permutation(5), np.random.uniform(-1, 1), np.random.choice(4, 3), np.random.normal(size=2))
print(np.concatenate([a, a]), np.stack([b, b]).shape, np.sin(a), np.sqrt(16), np.prod((2, 3)), np.exp([0., 1.]), np.maximum(a, 2), np.max(a), np.argmax(a, 1))
print(np.array([[0.1, 123.456], [1 / 3, 2]]), np.array([1e10, 1.]), np.array([np.nan, 1.]), np.float32(1.5), np.arange(0, 1, 0.25), np.arange(30))
print(torch.FloatTensor(b), torch.Tensor(np.array([1, 2])), np.allclose(b, b), np.isnan(b).any(), f'{np.mean([1, 2, 3]):.2f}', len(a), [int(x) for x in a[0]])
a[0] += 1; print(a, a.max(), 3 in a, np.array([0.1, 0.2], dtype=np.float32), np.arange(2000))
print(torch.tensor([np.array([1, 2]), np.array([3, 4])]), np.array([torch.tensor(1.), torch.tensor(2.)]), np.clip(a, 1, 3), np.power(10000, np.arange(3) / 3), np.cumsum([1, 2, 3]))

# -- as tutorials have it

np.random.seed(2)
T, L, N = 20, 50, 4
x = np.empty((N, L), 'int64')
x[:] = np.array(range(L)) + np.random.randint(-4 * T, 4 * T, N).reshape(N, 1)
data = np.sin(x / 1.0 / T).astype('float64')
print(data.shape, data.dtype, data[0, :5], data.mean(), data.std())
inp = torch.from_numpy(data[1:, :-1])
print(inp.shape, inp.dtype, inp[0, :3])
X = np.zeros((20, 2)); y = np.zeros(20, dtype='uint8')
for j in range(2):
    ix = range(10 * j, 10 * (j + 1))
    r = np.linspace(0.0, 1, 10)
    t = np.linspace(j * 4, (j + 1) * 4, 10) + np.random.randn(10) * 0.2
    X[ix] = np.stack([r * np.sin(t), r * np.cos(t)], 1)
    y[ix] = j
print(X[:3], y, y.dtype, torch.tensor(X, dtype=torch.float32)[0], torch.from_numpy(y).long().sum())
xs = np.linspace(-math.pi, math.pi, 200)
ys = np.sin(xs)
a, b, c, d = 0.1, 0.2, -0.1, 0.05
learning_rate = 1e-6
for step in range(4):
    y_pred = a + b * xs + c * xs ** 2 + d * xs ** 3
    loss = np.square(y_pred - ys).sum()
    if step % 2:
        print(step, f"{loss:.8f}")
    grad_y_pred = 2.0 * (y_pred - ys)
    grad_a = grad_y_pred.sum()
    grad_b = (grad_y_pred * xs).sum()
    grad_c = (grad_y_pred * xs ** 2).sum()
    grad_d = (grad_y_pred * xs ** 3).sum()
    a -= learning_rate * grad_a
    b -= learning_rate * grad_b
    c -= learning_rate * grad_c
    d -= learning_rate * grad_d
print(f'Result: y = {a:.6f} + {b:.6f} x + {c:.6f} x^2 + {d:.6f} x^3')
w1 = np.random.randn(5, 3); w2 = np.random.randn(3, 2); xx = np.random.randn(4, 5)
h = xx.dot(w1); h_relu = np.maximum(h, 0); out = h_relu.dot(w2)
g = 2.0 * out; gw2 = h_relu.T.dot(g); gh = g.dot(w2.T).copy(); gh[h < 0] = 0
print(gw2, xx.T.dot(gh).sum())
model = nn.Linear(2, 2)
with torch.no_grad():
    model.weight.copy_(torch.eye(2)); model.bias.zero_()
pred = model(torch.tensor(X, dtype=torch.float)).detach().numpy()
print(pred.shape, pred.dtype, pred[:2], np.argmax(pred, axis=1), (np.argmax(pred, axis=1) == y).mean())
try:
    model.weight.numpy()
except RuntimeError as e:
    print(e)
losses = []
for i in range(3):
    losses.append(float(i) / 3)
print(np.mean(losses), np.array(losses), np.array([[1, 2], [3, 4]]) @ np.array([1, 1]), sum(np.array([1, 2, 3])), max(np.array([1, 5, 3])))
n = torch.ones(2); m = n.numpy(); n.add_(1); print(m, n); np.add(m, 1); m += 1; print(n)
t = torch.ones(3).numpy(); print(isinstance(t, np.ndarray), np.ones(3).tolist(), t[0] == 1, np.random.random(), np.random.RandomState(3).rand(2))
print(np.array([1, 2, 3], dtype=np.float32), np.ones((2, 1, 3)), repr(np.zeros((2, 2))), np.argsort([3, 1, 2]), np.unique([2, 1, 2]), np.where([True, False], 1., 2.), np.eye(2, dtype=int), np.arange(5)[[0, 2]], np.array(3.5), np.sign(-2.5), np.pi)
idx = np.random.choice(10, 4, replace=False); np.random.shuffle(idx); print(idx, np.random.permutation([1, 2, 3]), np.random.choice(3, 5, p=[.2, .3, .5]))

n = np.ones(3)
np.add(n, 1, out=n)
np.multiply(n, 2, out=n)
print(n)

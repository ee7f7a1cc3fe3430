"""torch.compile end to end: a convolutional model, evaluated and trained with and without it."""
import numpy as np
import torch
import torch.nn as nn

N_ITERS = 4


def ramp(*shape):
    n = 1
    for size in shape:
        n *= size
    return torch.sin(torch.arange(n, dtype=torch.float32)).reshape(shape)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Linear(4 * 4 * 4, 10)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def init_model():
    model = Model()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(ramp(*p.shape) * 0.2)
    return model


def generate_data(b):
    return ramp(b, 3, 8, 8), torch.arange(b) % 10


def timed(fn):
    import time
    start = time.perf_counter()
    result = fn()
    return result, time.perf_counter() - start


model = init_model()
model_opt = init_model()
model_opt.compile(mode='reduce-overhead')
inp = generate_data(4)[0]
with torch.no_grad():
    print('eager:', timed(lambda: model(inp))[0].sum().item() > -1e9)
    print('compile:', torch.allclose(timed(lambda: model_opt(inp))[0], model(inp), atol=1e-5))
print('~' * 10)

eager_times, compile_times = [], []
for i in range(N_ITERS):
    inp = generate_data(4)[0]
    with torch.no_grad():
        eager_times.append(timed(lambda: model(inp))[1])
        compile_times.append(timed(lambda: model_opt(inp))[1])
speedup = np.median(eager_times) / np.median(compile_times)
print('(eval)', speedup > 0)


def train(mod, data):
    opt.zero_grad(True)
    pred = mod(data[0])
    loss = torch.nn.CrossEntropyLoss()(pred, data[1])
    loss.backward()
    opt.step()
    return loss


model = init_model()
opt = torch.optim.Adam(model.parameters())
for i in range(N_ITERS):
    print(f'eager loss {i}: {timed(lambda: train(model, generate_data(4)))[0].item():.4f}')

model = init_model()
opt = torch.optim.Adam(model.parameters())
train_opt = torch.compile(train, mode='reduce-overhead')
for i in range(N_ITERS):
    print(f'compiled loss {i}: {timed(lambda: train_opt(model, generate_data(4)))[0].item():.4f}')

"""A variational autoencoder, a GAN, a gradient penalty, MAML, accumulation: training loops as they are written."""
import torch, torch.nn as nn, torch.nn.functional as F
class VAE(nn.Module):
    def __init__(self, d=6, z=2):
        super().__init__()
        self.enc = nn.Linear(d, 4); self.mu = nn.Linear(4, z); self.lv = nn.Linear(4, z); self.dec = nn.Linear(z, d)
    def encode(self, x):
        h = F.relu(self.enc(x)); return self.mu(h), self.lv(h)
    def reparameterize(self, mu, lv):
        std = torch.exp(0.5 * lv); eps = torch.zeros_like(std); return mu + eps * std
    def forward(self, x):
        mu, lv = self.encode(x.view(-1, 6)); z = self.reparameterize(mu, lv)
        return torch.sigmoid(self.dec(z)), mu, lv
def loss_fn(r, x, mu, lv):
    return F.binary_cross_entropy(r, x.view(-1, 6), reduction='sum') - 0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
m = VAE()
for i, p in enumerate(m.parameters()): nn.init.constant_(p, 0.1 * (i + 1)) if p.dim() == 1 else p.data.copy_(torch.sin(torch.arange(p.numel()).float()).view_as(p))
opt = torch.optim.Adam(m.parameters(), lr=1e-2)
f = torch.compile(m)
x = torch.linspace(0, 1, 12).view(2, 6)
for e in range(3):
    opt.zero_grad(); r, mu, lv = f(x); l = loss_fn(r, x, mu, lv); l.backward(); opt.step(); print(f'{e} {l.item():.4f}')
class Disc(nn.Module):
    def __init__(self): super().__init__(); self.net = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
    def forward(self, x): return self.net(x)
D, G = Disc(), nn.Linear(2, 2)
for mod in (D, G):
    for p in mod.parameters(): p.data = torch.cos(torch.arange(p.numel()).float()).view(p.shape) * .5
od, og = torch.optim.SGD(D.parameters(), .1), torch.optim.SGD(G.parameters(), .1)
crit = nn.BCEWithLogitsLoss()
for _ in range(2):
    real, z = torch.ones(3, 2), torch.arange(6.).view(3, 2) / 6
    D.zero_grad(); lr_ = crit(D(real), torch.ones(3, 1)); lr_.backward()
    fake = G(z); lf = crit(D(fake.detach()), torch.zeros(3, 1)); lf.backward(); od.step()
    G.zero_grad(); lg = crit(D(fake), torch.ones(3, 1)); lg.backward(); og.step()
    print(round(lr_.item(), 4), round(lf.item(), 4), round(lg.item(), 4))
# gradient penalty
xh = torch.ones(2, 2, requires_grad=True)
gr = torch.autograd.grad(D(xh).sum(), xh, create_graph=True)[0]
gp = ((gr.norm(2, dim=1) - 1) ** 2).mean(); D.zero_grad(); gp.backward(); print(round(gp.item(), 4), D.net[0].weight.grad.shape, D.net[0].weight.grad.abs().sum().item() > 0)
# maml
w = torch.tensor([1., 2.], requires_grad=True)
inner = (w ** 2).sum(); g = torch.autograd.grad(inner, w, create_graph=True)[0]; fast = w - 0.1 * g; (fast ** 3).sum().backward(); print(w.grad)
# lbfgs-like closure, early stopping, accumulation
best, wait = float('inf'), 0
for l in [3., 2., 2.5, 2.4, 1.]:
    if l < best - 1e-3: best, wait = l, 0
    else:
        wait += 1
        if wait >= 2: print('stop', best); break
acc = nn.Linear(2, 1); [p.data.fill_(.5) for p in acc.parameters()]
for i in range(4):
    (acc(torch.ones(1, 2)) / 4).sum().backward()
print(acc.weight.grad, acc.bias.grad)
torch.nn.utils.clip_grad_value_(acc.parameters(), .5); print(acc.weight.grad)
vec = torch.nn.utils.parameters_to_vector(acc.parameters()); print(vec); torch.nn.utils.vector_to_parameters(vec * 2, acc.parameters()); print(acc.weight)

"""Activations, products, norms and losses of torch.nn and torch.nn.functional."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.CELU(1.2), nn.PReLU(8), nn.Hardshrink(0.1), nn.Softshrink(0.01), nn.Tanhshrink(),
                                   nn.Threshold(-5, 0), nn.RReLU(), nn.Softmin(1)).eval()
        self.ce = nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.rand(8))
        self.inorm = nn.InstanceNorm1d(8, affine=True)

    def forward(self, x, y, t):
        a = self.parts(x)
        out = [self.ce(x, t), F.cosine_similarity(x, y), F.pairwise_distance(x, y), torch.outer(x[0], y[0]),
               torch.mv(x, y[0]), torch.dot(x[0], y[1]), torch.addmv(x[:, 0], x, y[0], beta=0.5, alpha=2),
               F.triplet_margin_loss(x, y, x * 2, swap=True), F.cosine_embedding_loss(x, y, t * 2 - 1),
               F.binary_cross_entropy_with_logits(x, torch.sigmoid(y), pos_weight=y[0].abs(), reduction='none'),
               F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction='batchmean'),
               F.poisson_nll_loss(x, y.abs(), full=True), F.gaussian_nll_loss(x, y, y * y),
               F.huber_loss(x, y, delta=0.3), torch.count_nonzero(x > 0, 1), torch.std_mean(x, 1)[0],
               self.inorm(x.reshape(2, 8, 6)), torch.atan2(x, y), torch.hypot(x, y), torch.fmax(x, y),
               torch.asinh(x), torch.acosh(x.abs() + 1), torch.erfc(x), torch.sinh(x), torch.copysign(x, y),
               torch.nan_to_num(x / 0), F.nll_loss(F.log_softmax(x, 1), t, ignore_index=1), F.soft_margin_loss(x, y),
               F.hinge_embedding_loss(x, torch.sign(y)), F.margin_ranking_loss(x, y, torch.sign(y), 0.1)]
        return [a] + out


def get_inputs():
    return [torch.randn(12, 8), torch.randn(12, 8), torch.arange(12) % 2]

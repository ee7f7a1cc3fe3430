"""Convolution with bias and ReLU: x (batch, channels, side, side), filters of kernel x kernel, padded to keep the side
where stride is 1 -> (batch, filters, outputs, outputs). 2*batch*outputs**2*filters*channels*kernel**2 flops;
moves x, the filters and the result once."""
import torch
import torch.nn as nn

batch = 16
channels = 64
filters = 64
side = 56
kernel = 3
stride = 1
dilation = 1
groups = 1


class Model(nn.Module):
    def __init__(self, channels, filters, kernel, stride, dilation, groups):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, kernel, stride, dilation * (kernel // 2), dilation, groups)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(batch, channels, side, side)]


def get_init_inputs():
    return [channels, filters, kernel, stride, dilation, groups]

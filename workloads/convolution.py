"""A convolution with a bias: x (batch, channels, [[depth,] height,] width), of dims dimensions that slide, or a transposed
one. 2*batch*filters*channels/groups*kernel^dims*positions flops, where positions are the result's, a transposed one's x's;
moves x, the weight and the result."""
import torch
import torch.nn as nn

batch = 16
channels = 64
filters = 64
depth = 16
height = 56
width = 56
dims, kernel, stride, padding, dilation, groups = 2, 3, 1, 1, 1, 1
transposed, output_padding = 0, 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        if transposed:
            make = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[dims - 1]
            self.layer = make(channels, filters, kernel, stride, padding, output_padding, groups, True, dilation)
        else:
            make = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
            self.layer = make(channels, filters, kernel, stride, padding, dilation, groups)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    size = (depth, height, width)[3 - dims:]
    return [torch.randn(batch, channels, *size)]

"""A block of a ResNet: two convolutions of 3 x 3 with batch norms, relu, and a sum with its input; with last=1 the channels of
a pixel are side by side in x and in the result. 36*batch*channels*channels*height*width flops; moves x and the result."""
import torch
import torch.nn as nn

batch = 64
channels = 64
height = 56
width = 56
last = 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        if last:
            x = x.permute(0, 3, 1, 2)
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)) + x)
        return y.permute(0, 2, 3, 1) if last else y


def get_inputs():
    if last:
        return [torch.randn(batch, height, width, channels)]
    return [torch.randn(batch, channels, height, width)]

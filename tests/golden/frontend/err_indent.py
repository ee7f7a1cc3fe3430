def forward(self, x):
    if x.sum() > 0:
    return x

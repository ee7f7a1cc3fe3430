import nn as nn
class Model(nn.Module):
    def __init__():()
def get_inputs():[()]
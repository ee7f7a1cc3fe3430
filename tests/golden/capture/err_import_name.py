from torch.nn import Linaer

"""nn.Transformer: parameters in PyTorch's order, and its numbers."""
import torch
import torch.nn as nn


def filled(model):
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(((torch.arange(p.numel()) * 7 + i * 13) % 31 - 15).view_as(p) * 0.01)
    return model


model = filled(nn.Transformer(8, 2, 2, 1, 16, dropout=0.0, batch_first=True, norm_first=True, activation='gelu'))
print([name for name, _ in model.named_parameters()])
source, target = (torch.arange(2 * 5 * 8).reshape(2, 5, 8) % 9).float(), (torch.arange(2 * 3 * 8).reshape(2, 3, 8) % 7).float()
mask = nn.Transformer.generate_square_subsequent_mask(3)
print(mask)
out = model(source, target, tgt_mask=mask)
print(out)
out.sum().backward()
print(model.encoder.layers[0].linear1.bias.grad, model.decoder.layers[0].norm3.weight.grad)
padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
print(torch.compile(model)(source, target, src_key_padding_mask=padding, memory_key_padding_mask=padding).sum(-1))
print(filled(nn.TransformerDecoderLayer(4, 1, 4, dropout=0.0))(torch.ones(2, 1, 4), torch.arange(12.).reshape(3, 1, 4)))

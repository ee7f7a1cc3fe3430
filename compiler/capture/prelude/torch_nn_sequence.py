"""torch.nn: recurrent cells and layers, a step at a time, and attention with its layers."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from _warpsmith import Parameter, refuse


# -- recurrent: gates in PyTorch's order, input-forget-cell-output of an LSTM, reset-update-new of a GRU

def _rnn_step(activation):
    def step(x, h, u, b):
        return (activation(x + F.linear(h[0], u, b)),)
    return step


def _lstm_step(x, state, u, b):
    h, c = state
    i, f, g, o = (x + F.linear(h, u, b)).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def _gru_step(x, state, u, b):
    h = state[0]
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = F.linear(h, u, b).chunk(3, -1)
    r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
    n = torch.tanh(xn + r * hn)
    return (n + z * (h - n),)


def _uniform(module):
    bound = 1 / math.sqrt(module.hidden_size) if module.hidden_size else 0
    for p in module.parameters():
        nn.init.uniform_(p, -bound, bound)


class RNNCellBase(nn.Module):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        n = self._ws_gates * hidden_size
        new = lambda *size: Parameter(torch.empty(*size, dtype=dtype))
        self.weight_ih, self.weight_hh = new(n, input_size), new(n, hidden_size)
        self.bias_ih, self.bias_hh = (new(n), new(n)) if bias else (None, None)
        _uniform(self)

    def reset_parameters(self):
        _uniform(self)

    def extra_repr(self):
        return f'{self.input_size}, {self.hidden_size}' + ('' if self.bias else ', bias=False')

    def forward(self, input, hx=None):
        if hx is None:
            zeros = torch.zeros(list(input.shape[:-1]) + [self.hidden_size], dtype=input.dtype)
            hx = (zeros, zeros)
        elif torch.is_tensor(hx):
            hx = (hx,)
        return self._ws_result(self._ws_step()(F.linear(input, self.weight_ih, self.bias_ih), hx, self.weight_hh, self.bias_hh))

    def _ws_result(self, state):
        return state[0]


class RNNCell(RNNCellBase):
    _ws_gates = 1

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity='tanh', device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def _ws_step(self):
        return _rnn_step(torch.relu if self.nonlinearity == 'relu' else torch.tanh)


class LSTMCell(RNNCellBase):
    _ws_gates = 4

    def _ws_step(self):
        return _lstm_step

    def _ws_result(self, state):
        return state


class GRUCell(RNNCellBase):
    _ws_gates = 3

    def _ws_step(self):
        return _gru_step


def _rnn():
    from torch.nn.utils import rnn
    return rnn


class RNNBase(nn.Module):
    """Layers over time: products with the input are made for all steps at once, those with the state in each."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if proj_size and self._ws_states == 1:
            raise ValueError('proj_size argument is only supported for LSTM, not RNN or GRU')
        if not 0 <= proj_size < hidden_size:
            raise ValueError('proj_size has to be smaller than hidden_size')
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, dropout, bidirectional, proj_size
        n, self._ws_directions = self._ws_gates * hidden_size, 2 if bidirectional else 1
        new = lambda *size: Parameter(torch.empty(*size, dtype=dtype))
        self._ws_outputs = proj_size or hidden_size
        for name in self._ws_names():
            inputs = input_size if name[:2] == '_l' and name[2:].split('_')[0] == '0' else self._ws_outputs * self._ws_directions
            setattr(self, 'weight_ih' + name, new(n, inputs))
            setattr(self, 'weight_hh' + name, new(n, self._ws_outputs))
            if bias:
                setattr(self, 'bias_ih' + name, new(n))
                setattr(self, 'bias_hh' + name, new(n))
            if proj_size:
                setattr(self, 'weight_hr' + name, new(proj_size, hidden_size))
        _uniform(self)

    def reset_parameters(self):
        _uniform(self)

    @property
    def all_weights(self):
        kinds = ['weight_ih', 'weight_hh'] + ['bias_ih', 'bias_hh'] * bool(self.bias) + ['weight_hr'] * bool(self.proj_size)
        return [[getattr(self, kind + name) for kind in kinds] for name in self._ws_names()]

    def extra_repr(self):
        text = f'{self.input_size}, {self.hidden_size}'
        for name, default in (('proj_size', 0), ('num_layers', 1), ('bias', True), ('batch_first', False), ('dropout', 0.0),
                              ('bidirectional', False)):
            if getattr(self, name) != default:
                text += f', {name}={getattr(self, name)}'
        return text

    def _ws_names(self):
        return [f'_l{i}' + end for i in range(self.num_layers) for end in ('', '_reverse')[:self._ws_directions]]

    def flatten_parameters(self):
        pass

    def _ws_run(self, x, state, name, backwards, alive=None):
        """alive: at which steps which sequence is there; where one is not, its state waits."""
        b, c = (getattr(self, 'bias_ih' + name), getattr(self, 'bias_hh' + name)) if self.bias else (None, None)
        steps = F.linear(x, getattr(self, 'weight_ih' + name), b).unbind(0)
        step, u, out = self._ws_step(), getattr(self, 'weight_hh' + name), []
        for t in reversed(range(len(steps))) if backwards else range(len(steps)):
            before, state = state, step(steps[t], state, u, c)
            if self.proj_size:  # of what the cell gives out, which is what the next step sees
                state = (F.linear(state[0], getattr(self, 'weight_hr' + name)),) + tuple(state[1:])
            if alive is not None:
                state = [torch.where(alive[t], new, old) for new, old in zip(state, before)]
            out.append(state[0])
        return torch.stack(out[::-1] if backwards else out), state

    def _ws_forward_packed(self, packed, hx):
        x, lengths = _rnn().steps_of(packed)
        there, back = packed.sorted_indices, packed.unsorted_indices
        if hx is not None and there is not None:
            hx = [h.index_select(1, there) for h in ((hx,) if torch.is_tensor(hx) else hx)]
        alive = torch.tensor([[[n > t] for n in lengths] for t in range(len(x))])
        first, self.batch_first = self.batch_first, False
        out, last = self.forward(x, hx, alive)
        self.batch_first = first
        if back is not None:
            last = last.index_select(1, back) if torch.is_tensor(last) else tuple([h.index_select(1, back) for h in last])
        data = torch.cat([out[t, :n] for t, n in enumerate(packed.batch_sizes.tolist())])
        return packed._replace(data=data), last

    def forward(self, input, hx=None, alive=None):
        if not torch.is_tensor(input):
            return self._ws_forward_packed(input, hx)
        batched = input.ndim == 3
        x = input if batched else input.unsqueeze(1)
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        if hx is None:
            zeros = lambda size: torch.zeros(self.num_layers * self._ws_directions, x.shape[1], size, dtype=x.dtype)
            hx = [zeros(self._ws_outputs), zeros(self.hidden_size)][:self._ws_states]
        else:
            hx = (hx,) if torch.is_tensor(hx) else hx
            hx = [h if batched else h.unsqueeze(1) for h in hx]
        last = []
        for i, name in enumerate(self._ws_names()):
            if i % self._ws_directions == 0:
                if i and self.dropout:
                    x = F.dropout(x, self.dropout, self.training)
                sides = []
            out, state = self._ws_run(x, [h[i] for h in hx], name, i % self._ws_directions == 1, alive)
            sides.append(out)
            last.append(state)
            if len(sides) == self._ws_directions:
                x = torch.cat(sides, -1) if self._ws_directions == 2 else out
        if batched and self.batch_first:
            x = x.transpose(0, 1)
        last = [torch.stack([s[k] for s in last]) for k in range(self._ws_states)]
        if not batched:
            x, last = x.squeeze(1), [s.squeeze(1) for s in last]
        return x, last[0] if self._ws_states == 1 else tuple(last)


class RNN(RNNBase):
    _ws_gates, _ws_states = 1, 1

    @property
    def mode(self):
        return 'RNN_' + self.nonlinearity.upper()

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity='tanh', *args, **kwargs):
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _ws_step(self):
        return _rnn_step(torch.relu if self.nonlinearity == 'relu' else torch.tanh)


class LSTM(RNNBase):
    _ws_gates, _ws_states, mode = 4, 2, 'LSTM'

    def _ws_step(self):
        return _lstm_step


class GRU(RNNBase):
    _ws_gates, _ws_states, mode = 3, 1, 'GRU'

    def _ws_step(self):
        return _gru_step


# -- attention

class MultiheadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim, self.add_zero_attn, self.bias_k, self.bias_v = kdim or embed_dim, vdim or embed_dim, add_zero_attn, None, None
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self._ws_plain = self._qkv_same_embed_dim and not add_bias_kv and not add_zero_attn
        self.head_dim = embed_dim // num_heads
        assert self.head_dim * num_heads == embed_dim, 'embed_dim must be divisible by num_heads'
        self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = self.in_proj_weight = None
        if not self._qkv_same_embed_dim:
            self.q_proj_weight = Parameter(torch.empty(embed_dim, embed_dim, dtype=dtype))
            self.k_proj_weight = Parameter(torch.empty(embed_dim, self.kdim, dtype=dtype))
            self.v_proj_weight = Parameter(torch.empty(embed_dim, self.vdim, dtype=dtype))
        else:
            self.in_proj_weight = Parameter(torch.empty(3 * embed_dim, embed_dim, dtype=dtype))
        self.in_proj_bias = Parameter(torch.zeros(3 * embed_dim, dtype=dtype)) if bias else None
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)
        if add_bias_kv:
            self.bias_k, self.bias_v = [Parameter(torch.empty(1, 1, embed_dim, dtype=dtype)) for _ in range(2)]
        self._reset_parameters()

    def _reset_parameters(self):
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                nn.init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)
            nn.init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                nn.init.xavier_normal_(bias)

    def _ws_project(self, x, first, n):
        """n of the three projections of x, by one product: [batch, heads, length, head_dim] each."""
        rows = slice(first * self.embed_dim, (first + n) * self.embed_dim)
        x = F.linear(x, self.in_proj_weight[rows], None if self.in_proj_bias is None else self.in_proj_bias[rows])
        return [y.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2) for y in x.chunk(n, -1)]

    def _ws_any(self, query, key, value, padding, mask, average):
        """Keys and values of other widths, with learned or zero ones behind them; all by batch first."""
        query, key, value = [x.transpose(0, 1) for x in (query, key, value)]
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k, self.bias_v,
            self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training, padding, True, mask,
            not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight, average_attn_weights=average)
        return out.transpose(0, 1), weights

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        batched = query.ndim == 3
        same, of_one = query is key, key is value
        if not batched:
            query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        if not self._ws_plain:
            out, weights = self._ws_any(query, key, value, key_padding_mask, attn_mask, average_attn_weights)
            if not batched:
                out, weights = out.squeeze(0), weights.squeeze(0)
            return out if self.batch_first or not batched else out.transpose(0, 1), weights if need_weights else None
        if same and of_one:
            q, k, v = self._ws_project(query, 0, 3)
        elif of_one:
            q, (k, v) = self._ws_project(query, 0, 1)[0], self._ws_project(key, 1, 2)
        else:
            q, k, v = [self._ws_project(x, i, 1)[0] for i, x in enumerate((query, key, value))]
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = attn_mask.unflatten(0, (-1, self.num_heads))
            scores = _masked(scores, attn_mask)
        if key_padding_mask is not None:
            scores = _masked(scores, key_padding_mask.reshape(-1, 1, 1, key_padding_mask.shape[-1]))
        weights = scores.softmax(-1)
        out = F.dropout(weights, self.dropout, self.training) @ v
        out = self.out_proj(out.transpose(1, 2).flatten(2))
        weights = weights.mean(1) if average_attn_weights else weights
        if not batched:
            out, weights = out.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            out = out.transpose(0, 1)
        return out, weights if need_weights else None


def _masked(scores, mask):
    """A mask of bools says what is left out, one of floats is added."""
    return scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


def _get_activation_fn(activation):
    if activation not in ('relu', 'gelu'):
        raise RuntimeError(f'activation should be relu/gelu, not {activation}')
    return F.relu if activation == 'relu' else F.gelu


def _get_clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


def _activation(f):
    return _get_activation_fn(f) if isinstance(f, str) else f


class _TransformerLayer(nn.Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        self._ws_init_attention(d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype)
        self.linear1 = nn.Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model, bias, dtype=dtype)
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.norm2 = nn.LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self._ws_init_norm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.dropout1, self.dropout2 = nn.Dropout(dropout), nn.Dropout(dropout)
        self.activation = _activation(activation)

    def _ws_init_attention(self, *args, **kwargs):
        """What a decoder has more: its place is here, as modules are in the order they were made."""

    def _ws_init_norm(self, *args, **kwargs):
        pass

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout1(self.self_attn(x, x, x, key_padding_mask, False, attn_mask)[0])

    def _ff_block(self, x):
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_TransformerLayer):
    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))


class TransformerDecoderLayer(_TransformerLayer):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                         bias, device, dtype)
        self.dropout3 = nn.Dropout(dropout)

    def _ws_init_attention(self, *args, **kwargs):
        self.multihead_attn = MultiheadAttention(*args, **kwargs)

    def _ws_init_norm(self, *args, **kwargs):
        self.norm3 = nn.LayerNorm(*args, **kwargs)

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        return self.dropout2(self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask)[0])

    def _ff_block(self, x):
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        if self.norm_first:
            x = tgt + self._sa_block(self.norm1(tgt), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask,
                                    memory_is_causal)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(tgt + self._sa_block(tgt, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self.norm3(x + self._ff_block(x))


class TransformerEncoder(nn.Module):
    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(nn.Module):
    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(nn.Module):
    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation='relu', custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = lambda: nn.LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)
        self.encoder = custom_encoder or TransformerEncoder(TransformerEncoderLayer(*options, dtype=dtype), num_encoder_layers, norm())
        self.decoder = custom_decoder or TransformerDecoder(TransformerDecoderLayer(*options, dtype=dtype), num_decoder_layers, norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self):
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        return torch.triu(torch.full((sz, sz), float('-inf'), dtype=dtype, device=device), diagonal=1)

"""torch._foreach_*: one call for lists of tensors, which optimizers and averages of weights are written with."""

import torch


def _one_by_one(name, in_place):
    method = name + '_' if in_place else name
    by_name = name in ('addcmul', 'addcdiv')  # a method takes its third operand so alone

    def run(self, *rest, **named):
        out = []
        for i, x in enumerate(self):
            own = [r[i] if isinstance(r, (list, tuple)) else r for r in rest]
            more = {k: v[i] if isinstance(v, (list, tuple)) else v for k, v in named.items()}
            if 'scalars' in more:
                more['value'] = more.pop('scalars')
            if by_name and len(own) > 2:
                more['value'] = own.pop()
            out.append(getattr(x, method)(*own, **more))
        return out if in_place else tuple(out)
    return run


def _both(name):
    return _one_by_one(name, False), _one_by_one(name, True)


def _foreach_zero_(self):
    return [x.zero_() for x in self]


def _foreach_norm(self, ord=2, dtype=None):
    return tuple([torch.linalg.vector_norm(x, ord, dtype=dtype) for x in self])


def _foreach_max(self):
    return tuple([x.max() for x in self])


_foreach_abs, _foreach_abs_ = _both('abs')
_foreach_acos, _foreach_acos_ = _both('acos')
_foreach_add, _foreach_add_ = _both('add')
_foreach_addcdiv, _foreach_addcdiv_ = _both('addcdiv')
_foreach_addcmul, _foreach_addcmul_ = _both('addcmul')
_foreach_asin, _foreach_asin_ = _both('asin')
_foreach_atan, _foreach_atan_ = _both('atan')
_foreach_ceil, _foreach_ceil_ = _both('ceil')
_foreach_clamp_max, _foreach_clamp_max_ = _both('clamp_max')
_foreach_clamp_min, _foreach_clamp_min_ = _both('clamp_min')
_foreach_copy_ = _one_by_one('copy', True)
_foreach_cos, _foreach_cos_ = _both('cos')
_foreach_div, _foreach_div_ = _both('div')
_foreach_erf, _foreach_erf_ = _both('erf')
_foreach_exp, _foreach_exp_ = _both('exp')
_foreach_expm1, _foreach_expm1_ = _both('expm1')
_foreach_floor, _foreach_floor_ = _both('floor')
_foreach_frac, _foreach_frac_ = _both('frac')
_foreach_lerp, _foreach_lerp_ = _both('lerp')
_foreach_log, _foreach_log_ = _both('log')
_foreach_log10, _foreach_log10_ = _both('log10')
_foreach_log1p, _foreach_log1p_ = _both('log1p')
_foreach_log2, _foreach_log2_ = _both('log2')
_foreach_maximum, _foreach_maximum_ = _both('maximum')
_foreach_minimum, _foreach_minimum_ = _both('minimum')
_foreach_mul, _foreach_mul_ = _both('mul')
_foreach_neg, _foreach_neg_ = _both('neg')
_foreach_pow, _foreach_pow_ = _both('pow')
_foreach_reciprocal, _foreach_reciprocal_ = _both('reciprocal')
_foreach_round, _foreach_round_ = _both('round')
_foreach_rsqrt, _foreach_rsqrt_ = _both('rsqrt')
_foreach_sigmoid, _foreach_sigmoid_ = _both('sigmoid')
_foreach_sign, _foreach_sign_ = _both('sign')
_foreach_sin, _foreach_sin_ = _both('sin')
_foreach_sinh, _foreach_sinh_ = _both('sinh')
_foreach_sqrt, _foreach_sqrt_ = _both('sqrt')
_foreach_sub, _foreach_sub_ = _both('sub')
_foreach_tan, _foreach_tan_ = _both('tan')
_foreach_tanh, _foreach_tanh_ = _both('tanh')
_foreach_trunc, _foreach_trunc_ = _both('trunc')

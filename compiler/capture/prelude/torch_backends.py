"""torch.backends: what products of f32 may be made of; other settings are accepted and have no effect."""
from _warpsmith import math_flags as _flags, set_math_flags as _set_flags

# Bits of the flags: products may be of tf32, as a program with "medium" allows, too; "ieee" was asked for by name.
_TF32, _MEDIUM, _IEEE = 1, 2, 4


def get_float32_matmul_precision():
    flags = _flags()
    return 'medium' if flags & _MEDIUM else 'high' if flags & _TF32 else 'highest'


def set_float32_matmul_precision(precision):
    if precision not in ('highest', 'high', 'medium'):
        from warnings import warn
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the current"
             'setFloat32MatmulPrecision call has no effect.')
        return
    _set_flags({'highest': _IEEE, 'high': _TF32, 'medium': _TF32 + _MEDIUM}[precision])


def _set_tf32(matmul, allow):
    _set_flags(_TF32 if allow else _IEEE)


def _fp32_precision(matmul):
    flags = _flags()
    return 'tf32' if flags & _TF32 else 'ieee' if flags & _IEEE else 'none'


def _set_fp32_precision(matmul, precision):
    if precision not in ('tf32', 'ieee', 'none'):
        raise RuntimeError(f'Unknown precision: {precision}')
    _set_flags({'tf32': _TF32, 'ieee': _IEEE, 'none': 0}[precision])


class _Matmul:
    allow_fp16_reduced_precision_reduction = allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    allow_tf32 = property(lambda self: _flags() & _TF32 != 0, _set_tf32)
    fp32_precision = property(_fp32_precision, _set_fp32_precision)


class _Settings:
    pass


class _Part:
    """What a program asks of before it chooses a device or a way: is it there?"""
    enabled = deterministic = allow_tf32 = False

    def __init__(self, there):
        self.is_available = self.is_built = lambda: there


mps, mkldnn, mkl, openmp = [_Part(there) for there in (False, True, True, True)]
cuda = _Settings()
cuda.matmul = _Matmul()


def sdp_kernel(*args, **kwargs):
    """A choice among kernels of attention, as a context or a decorator. There is one way to compute it."""
    from torch import autocast
    return autocast('cuda', enabled=False)


cuda.sdp_kernel = sdp_kernel
cuda.enable_flash_sdp = cuda.enable_mem_efficient_sdp = lambda enabled: None
cuda.enable_math_sdp = cuda.enable_cudnn_sdp = cuda.enable_flash_sdp

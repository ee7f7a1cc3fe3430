"""torch.backends: settings are accepted and have no effect."""
class _Settings:
    pass


cuda = _Settings()
cuda.matmul = _Settings()
cudnn = _Settings()


def sdp_kernel(*args, **kwargs):
    """A choice among kernels of attention, as a context or a decorator. There is one way to compute it."""
    from torch import autocast
    return autocast(enabled=False)


cuda.sdp_kernel = sdp_kernel
cuda.enable_flash_sdp = cuda.enable_mem_efficient_sdp = lambda enabled: None
cuda.enable_math_sdp = cuda.enable_cudnn_sdp = cuda.enable_flash_sdp

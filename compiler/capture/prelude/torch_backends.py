"""torch.backends: settings are accepted and have no effect."""
class _Settings:
    pass


cuda = _Settings()
cuda.matmul = _Settings()
cudnn = _Settings()

"""torch.cuda: which device there is."""
from _warpsmith import has_cuda, cuda_name, seed


def is_available():
    return has_cuda()


def device_count():
    return 1 if has_cuda() else 0


def current_device():
    return 0


def get_device_name(device=None):
    return cuda_name()


def is_bf16_supported():
    return True


def synchronize(device=None):
    pass


def manual_seed(n):
    seed(n)


manual_seed_all = manual_seed


def empty_cache():
    pass

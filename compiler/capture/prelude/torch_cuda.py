"""torch.cuda: a workload has one device, and does not choose it."""
def is_available():
    return False


def device_count():
    return 0


def is_bf16_supported():
    return True


def synchronize(device=None):
    pass


def manual_seed(seed):
    pass


manual_seed_all = manual_seed


def empty_cache():
    pass

"""torch.cuda: which device there is."""
from _warpsmith import clock, has_cuda, cuda_name, seed


def is_available():
    return has_cuda()


def device_count():
    return 1 if has_cuda() else 0


def current_device():
    return 0


def get_device_name(device=None):
    return cuda_name()


def get_device_capability(device=None):
    """Without a GPU, where cuda means the CPU, that of the oldest one that kernels are written for."""
    from _warpsmith import cuda_capability
    return cuda_capability()


def is_bf16_supported():
    return True


_initialized = False


def is_initialized():
    return _initialized


def synchronize(device=None):
    pass


def manual_seed(n):
    seed(n)


manual_seed_all = manual_seed


def empty_cache():
    pass


class Stream:
    """There is one, and what is launched has ended when the call returns."""

    def __init__(self, device=None, priority=0):
        pass

    def synchronize(self):
        pass

    def wait_stream(self, stream):
        pass

    def wait_event(self, event):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record()
        return event

    def query(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        pass


_stream = Stream()


def current_stream(device=None):
    return _stream


default_stream = current_stream


def stream(stream):
    return stream or _stream


class Event:
    """A moment by the clock: what is launched has ended when the call returns, on a GPU and on the CPU."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._timed, self._at = enable_timing, None

    def record(self, stream=None):
        self._at = clock()

    def elapsed_time(self, end_event):
        if not self._timed or not end_event._timed:
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError('Both events must be recorded before calculating elapsed time.')
        return (end_event._at - self._at) * 1000

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass

    def query(self):
        return True


def set_device(device):
    pass


class device:
    """There is one."""

    def __init__(self, device=None):
        pass

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


device_of = device


def reset_peak_memory_stats(device=None):
    pass


def memory_allocated(device=None):
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


class OutOfMemoryError(RuntimeError):
    pass

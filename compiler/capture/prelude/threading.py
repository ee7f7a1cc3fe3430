"""threading, with one thread: a lock is free or held by itself, and a thread runs to its end where it is started."""


class Lock:
    _again = False

    def __init__(self):
        self._held = 0

    def acquire(self, blocking=True, timeout=-1):
        if self._held and not self._again:
            if blocking and timeout < 0:
                raise RuntimeError('this lock is held, and nobody else will release it: there is one thread')
            return False
        self._held += 1
        return True

    def release(self):
        if not self._held:
            raise RuntimeError('release unlocked lock')
        self._held -= 1

    def locked(self):
        return self._held > 0

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *error):
        self.release()


class RLock(Lock):
    _again = True


class Event:
    def __init__(self):
        self._set = False

    def is_set(self):
        return self._set

    def set(self):
        self._set = True

    def clear(self):
        self._set = False

    def wait(self, timeout=None):
        if not self._set and timeout is None:
            raise RuntimeError('nobody else will set this event: there is one thread')
        return self._set


class local:
    pass


class Thread:
    def __init__(self, group=None, target=None, name=None, args=(), kwargs=None, *, daemon=None):
        self._target, self._args, self._kwargs = target, args, kwargs or {}
        self.name, self.daemon = name or 'Thread-1', bool(daemon)

    def run(self):
        if self._target is not None:
            self._target(*self._args, **self._kwargs)

    def start(self):
        self.run()

    def join(self, timeout=None):
        pass

    def is_alive(self):
        return False


class _Main(Thread):
    pass


_main = _Main(name='MainThread')


def current_thread():
    return _main


main_thread = current_thread


def get_ident():
    return 1


get_native_id = get_ident

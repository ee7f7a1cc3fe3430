"""contextlib: what a `with` may be given."""
import functools


class AbstractContextManager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return None


class ContextDecorator:
    def __call__(self, function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)
        return inner

    def _again(self):
        return self


class _FromGenerator(ContextDecorator):
    def __init__(self, function, args, kwargs):
        self.made = function, args, kwargs
        self.generator = function(*args, **kwargs)

    def _again(self):
        return _FromGenerator(*self.made)

    def __enter__(self):
        try:
            return next(self.generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind, error, traceback):
        if kind is None:
            try:
                next(self.generator)
            except StopIteration:
                return False
            raise RuntimeError("generator didn't stop")
        try:
            self.generator.throw(error)
        except StopIteration:
            return True
        except BaseException as raised:
            if raised is error:
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")


def contextmanager(function):
    @functools.wraps(function)
    def helper(*args, **kwargs):
        return _FromGenerator(function, args, kwargs)
    return helper


class nullcontext(AbstractContextManager):
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result


class suppress(AbstractContextManager):
    def __init__(self, *kinds):
        self.kinds = kinds

    def __exit__(self, kind, error, traceback):
        return kind is not None and issubclass(kind, self.kinds)


class closing(AbstractContextManager):
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, kind, error, traceback):
        self.thing.close()


class ExitStack(AbstractContextManager):
    def __init__(self):
        self.exits = []

    def enter_context(self, manager):
        value = manager.__enter__()
        self.exits.append(manager.__exit__)
        return value

    def push(self, exit):
        self.exits.append(exit)
        return exit

    def callback(self, function, *args, **kwargs):
        self.exits.append(lambda *error: function(*args, **kwargs) and None)
        return function

    def close(self):
        self.__exit__(None, None, None)

    def __exit__(self, kind, error, traceback):
        first = error
        while self.exits:
            try:
                if self.exits.pop()(kind, error, traceback):
                    kind = error = traceback = None
            except BaseException as raised:
                kind, error = type(raised), raised
        if error is not None and error is not first:
            raise error
        return first is not None and error is None

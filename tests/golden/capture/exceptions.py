"""Errors of Python are caught as in Python; `finally` and `with` run on every way out."""
import torch


class Odd(ValueError):
    def __init__(self, n):
        super().__init__(f"{n} is odd")
        self.n = n


class Log:
    def __init__(self):
        self.lines = []

    def __enter__(self):
        self.lines.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.lines.append(kind.__name__ if kind else "exit")
        return kind is KeyError


def even(n):
    if n % 2:
        raise Odd(n)
    return n


def count(log):
    for i in range(3):
        try:
            log.append(even(i))
        except Odd as e:
            log.append(-e.n)
            continue
        finally:
            log.append(10)
        if i == 2:
            return log


def exceptions(x):
    log = Log()
    with log:
        {}["missing"]
    with log as same:
        assert same is log
    assert log.lines == ["enter", "KeyError", "enter", "exit"]
    seen = []
    for wrong in (lambda: [][1], lambda: 1 // 0, lambda: None.x, lambda: int("x"), lambda: 1 + "a", lambda: even(1, 2),
                  lambda: undefined, lambda: even(3)):
        try:
            wrong()
        except (IndexError, ZeroDivisionError) as e:
            seen.append(type(e).__name__)
        except Exception as e:
            seen.append(str(e))
        else:
            seen.append("nothing")
    assert seen == ["IndexError", "ZeroDivisionError", "'NoneType' object has no attribute 'x'",
                    "invalid literal for int() with base 10: 'x'",
                    "unsupported operand type(s) for +: 'int' and 'str'",
                    "even() takes 1 positional argument but 2 were given", "name 'undefined' is not defined",
                    "3 is odd"], seen
    try:
        try:
            raise Odd(5)
        except ValueError:
            raise
    except Odd as e:
        assert e.args == ("5 is odd",)
    return x + sum(count([]))


def get_inputs():
    return [torch.randn(3)]

def f(kind):
    try:
        if kind == 0: raise ValueError("bad value")
        if kind == 1: return {}["k"]
        if kind == 2: return [][1]
        if kind == 3: return 1 / 0
        if kind == 4: return int("q")
        if kind == 5: raise TypeError
        if kind == 6: assert False, "message"
        if kind == 7: raise RuntimeError("a", 2)
        return "fine"
    except (ValueError, TypeError) as e:
        return type(e).__name__, str(e)
    except KeyError as e:
        return "key", str(e), e.args
    except LookupError as e:
        return "lookup", str(e)
    except ArithmeticError as e:
        return "arith", str(e)
    except Exception as e:
        return "other", type(e).__name__, str(e), e.args
    else:
        return "else"
    finally:
        print("finally", kind)
for k in range(9):
    print(f(k))
class Mine(Exception):
    def __init__(self, code):
        super().__init__(f"code {code}")
        self.code = code
try:
    raise Mine(7)
except Mine as e:
    print(e, e.code, repr(e), isinstance(e, Exception))
def order():
    out = []
    try:
        try:
            out.append(1)
            raise KeyError("x")
        finally:
            out.append(2)
    except KeyError:
        out.append(3)
    else:
        out.append(4)
    return out
print(order())
def over():
    try:
        return 1
    finally:
        return 2
print(over())
def loop():
    out = []
    for i in range(5):
        try:
            if i == 1: continue
            if i == 3: break
            out.append(i)
        finally:
            out.append(-i)
    return out
print(loop())
try:
    try:
        raise ValueError("first")
    except ValueError:
        raise TypeError("second")
except TypeError as e:
    print(e)
try:
    try:
        raise ValueError("again")
    except ValueError:
        raise
except ValueError as e:
    print("re", e)
class Ctx:
    def __enter__(self):
        print("enter"); return self
    def __exit__(self, t, v, tb):
        print("exit", t is not None, v); return True
with Ctx() as c:
    print("body"); raise ValueError("swallowed")
with Ctx(), Ctx():
    print("two")
print(repr(ValueError("x")), repr(KeyError("k")), str(KeyError("k")), ValueError("a", 1).args, str(ValueError()))

def handlers(f):
    try:
        f()
    except (ValueError, TypeError) as e:
        raise RuntimeError("bad") from e
    except KeyError:
        raise
    except:
        return 1
    else:
        f(2)
    finally:
        f(3)


def ways_out(xs):
    for x in xs:
        try:
            if x:
                return x
            if x is None:
                break
        finally:
            close(x)
    for x in xs:
        try:
            x()
        except OSError as e:
            continue


def contexts(a, b):
    with a as x, b.lock() as (y, z):
        return x
    with (
        a,
        b as w,
    ):
        raise ValueError

def batches(xs):
    for x in xs:
        yield x

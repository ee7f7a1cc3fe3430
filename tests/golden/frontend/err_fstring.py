def f(x):
    return f"shape {x.shape} norm {x.norm( :.4f}"

def made(x):
    return x * 2

get_inputs = super


def err_super(x):
    return x

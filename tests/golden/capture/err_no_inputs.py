def err_no_inputs(x):
    return x

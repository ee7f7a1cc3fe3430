class Model:
    def __new__(cls):
        return 5


def get_inputs():
    return []

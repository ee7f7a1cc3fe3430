"""typing: annotations are dropped by the frontend, so every name is one and the same."""
class _Type:
    def __getitem__(self, item):
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __or__(self, other):
        return self


TYPE_CHECKING = False


def __getattr__(name):
    return _Type()

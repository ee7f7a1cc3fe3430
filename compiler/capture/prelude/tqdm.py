"""tqdm: what goes through it goes on; no bar is drawn."""


class tqdm:
    def __init__(self, iterable=None, desc=None, total=None, **options):
        self.iterable, self.desc, self.n = iterable, desc, 0
        self.total = len(iterable) if total is None and hasattr(iterable, '__len__') else total

    def __iter__(self):
        for item in self.iterable:
            yield item
            self.n += 1

    def __len__(self):
        return self.total

    def update(self, n=1):
        self.n += n

    def _nothing(self, *args, **kwargs):
        pass

    set_description = set_description_str = set_postfix = set_postfix_str = refresh = close = _nothing

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    @staticmethod
    def write(text, file=None, end='\n'):
        print(text, end=end)


def trange(*args, **options):
    return tqdm(range(*args), **options)

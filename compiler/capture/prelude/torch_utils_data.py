"""torch.utils.data: data sets, and loaders that collate their items into batches, in the process itself."""
import bisect
import torch


class Dataset:
    def __getitem__(self, index):
        raise NotImplementedError('Subclasses of Dataset should implement __getitem__.')

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    pass


class TensorDataset(Dataset):
    def __init__(self, *tensors):
        if any([len(t) != len(tensors[0]) for t in tensors]):
            raise AssertionError('Size mismatch between tensors')
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([t[index] for t in self.tensors])

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, i):
        return self.dataset[[self.indices[k] for k in i] if isinstance(i, list) else self.indices[i]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    def __init__(self, datasets):
        self.datasets, self.cumulative_sizes = list(datasets), []
        for d in self.datasets:
            self.cumulative_sizes.append(len(d) + (self.cumulative_sizes[-1] if self.cumulative_sizes else 0))

    def __getitem__(self, i):
        i = i + len(self) if i < 0 else i
        k = bisect.bisect_right(self.cumulative_sizes, i)
        return self.datasets[k][i - (self.cumulative_sizes[k - 1] if k else 0)]

    def __len__(self):
        return self.cumulative_sizes[-1]


def random_split(dataset, lengths, generator=None):
    n, parts = len(dataset), list(lengths)
    if abs(sum(parts) - 1) < 1e-9:
        parts = [int(n * share) for share in parts]
        for i in range(n - sum(parts)):
            parts[i % len(parts)] += 1
    if sum(parts) != n:
        raise ValueError('Sum of input lengths does not equal the length of the input dataset!')
    order, found = torch.rand(n, generator=generator).tolist(), []
    order = sorted(range(n), key=lambda i: order[i])
    for part in parts:
        found.append(Subset(dataset, order[:part]))
        order = order[part:]
    return found


class Sampler:
    def __init__(self, data_source=None):
        self.data_source = data_source


class SequentialSampler(Sampler):
    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(SequentialSampler):
    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        super().__init__(data_source)
        self.generator, self.replacement = generator, replacement
        self._num_samples = num_samples

    num_samples = property(lambda self: len(self.data_source) if self._num_samples is None else self._num_samples)

    def __iter__(self):
        if self.replacement:
            return iter(torch.randint(len(self.data_source), (self.num_samples,), generator=self.generator).tolist())
        keys = torch.rand(len(self.data_source), generator=self.generator).tolist()
        return iter(sorted(range(len(keys)), key=lambda i: keys[i])[:self.num_samples])

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(RandomSampler):
    def __init__(self, indices, generator=None):
        super().__init__(indices, generator=generator)

    def __iter__(self):
        return iter([self.data_source[i] for i in list(super().__iter__())])


class WeightedRandomSampler(Sampler):
    def __init__(self, weights, num_samples, replacement=True, generator=None):
        self.weights = torch.as_tensor(weights, dtype=torch.float64)
        if self.weights.ndim != 1:
            raise ValueError(f'weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}')
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        return iter(torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self):
        return self.num_samples


class _Batches:
    """Of items, as they come."""

    def __init__(self, items, batch_size, drop_last):
        self.items, self.batch_size, self.drop_last = iter(items), batch_size, drop_last

    def __iter__(self):
        return self

    def __next__(self):
        batch = []
        for item in self.items:
            batch.append(item)
            if len(batch) == self.batch_size:
                return batch
        if not batch or self.drop_last:
            raise StopIteration
        return batch


class BatchSampler(Sampler):
    def __init__(self, sampler, batch_size, drop_last):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        return _Batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else (n + self.batch_size - 1) // self.batch_size


def default_collate(batch):
    first = batch[0]
    if isinstance(first, torch.Tensor):
        return torch.stack(batch)
    if isinstance(first, (bool, int)):
        return torch.tensor(batch)
    if isinstance(first, float):
        return torch.tensor(batch, dtype=torch.float64)
    if isinstance(first, str):
        return batch
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if hasattr(first, '_fields'):
        return type(first)(*[default_collate(list(items)) for items in zip(*batch)])
    if isinstance(first, (tuple, list)):
        if any([len(item) != len(first) for item in batch]):
            raise RuntimeError('each element in list of batch should be of equal size')
        return [default_collate(list(items)) for items in zip(*batch)]
    raise TypeError('default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found '
                    f'{type(first)}')


class _Items:
    """What a loader goes through once."""

    def __init__(self, loader):
        self.loader = loader
        self.streams = isinstance(loader.dataset, IterableDataset)
        if self.streams and loader.batch_size is not None:
            self.items = _Batches(loader.dataset, loader.batch_size, loader.drop_last)
        else:
            self.items = iter(loader.dataset if self.streams else
                              loader.sampler if loader.batch_sampler is None else loader.batch_sampler)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self.loader)

    def __next__(self):
        loader = self.loader
        if self.streams:
            found = next(self.items)
        elif loader.batch_sampler is None:
            found = loader.dataset[next(self.items)]
        else:
            found = [loader.dataset[i] for i in next(self.items)]
        return found if loader.collate_fn is None else loader.collate_fn(found)


class DataLoader:
    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0,
                 collate_fn=None, pin_memory=False, drop_last=False, timeout=0, worker_init_fn=None, **options):
        self.dataset, self.batch_size, self.num_workers, self.drop_last = dataset, batch_size, num_workers, drop_last
        self.pin_memory, self.collate_fn, self.batch_sampler = pin_memory, collate_fn, batch_sampler
        if sampler is not None and shuffle:
            raise ValueError('sampler option is mutually exclusive with shuffle')
        if isinstance(dataset, IterableDataset):
            sampler = None
        elif sampler is None:
            sampler = RandomSampler(dataset, generator=options.get('generator')) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is not None:
            self.batch_size = None
        elif batch_size is not None and sampler is not None:
            self.batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        if collate_fn is None and (batch_size is not None or batch_sampler is not None):
            self.collate_fn = default_collate

    def __iter__(self):
        return _Items(self)

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            n, size = len(self.dataset), self.batch_size or 1
            return n // size if self.drop_last else (n + size - 1) // size
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def get_worker_info():
    return None

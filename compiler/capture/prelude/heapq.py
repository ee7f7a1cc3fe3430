"""heapq: a list whose first item is its least; item k is no greater than items 2k + 1 and 2k + 2."""


def _up(heap, at):
    item = heap[at]
    while at and item < heap[(at - 1) // 2]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


def _down(heap, at):
    """The hole goes down to a leaf, along the lesser children, and its item up from there, as in Python."""
    item, start, n = heap[at], at, len(heap)
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and not heap[child] < heap[child + 1]:
            child += 1
        heap[at] = heap[child]
        at = child
    while at > start and item < heap[(at - 1) // 2]:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = item


def heappush(heap, item):
    heap.append(item)
    _up(heap, len(heap) - 1)


def heappop(heap):
    last = heap.pop()
    if not heap:
        return last
    least, heap[0] = heap[0], last
    _down(heap, 0)
    return least


def heapify(x):
    for at in range(len(x) // 2 - 1, -1, -1):
        _down(x, at)


def heapreplace(heap, item):
    least, heap[0] = heap[0], item
    _down(heap, 0)
    return least


def heappushpop(heap, item):
    return heapreplace(heap, item) if heap and heap[0] < item else item


def nlargest(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[:n]


def nsmallest(n, iterable, key=None):
    return sorted(iterable, key=key)[:n]

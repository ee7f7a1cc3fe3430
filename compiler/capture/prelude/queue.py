"""queue, with one thread: who would wait for somebody else finds the queue empty, or full."""


class Empty(Exception):
    pass


class Full(Exception):
    pass


class Queue:
    def __init__(self, maxsize=0):
        self.maxsize, self._items = maxsize, []

    def put(self, item, block=True, timeout=None):
        if self.full():
            raise Full
        self._items.append(item)

    def get(self, block=True, timeout=None):
        if not self._items:
            raise Empty
        return self._take()

    def _take(self):
        return self._items.pop(0)

    def put_nowait(self, item):
        self.put(item)

    def get_nowait(self):
        return self.get()

    def qsize(self):
        return len(self._items)

    def empty(self):
        return not self._items

    def full(self):
        return 0 < self.maxsize <= len(self._items)

    def task_done(self):
        pass

    def join(self):
        pass


class SimpleQueue(Queue):
    pass


class LifoQueue(Queue):
    def _take(self):
        return self._items.pop()


class PriorityQueue(Queue):
    def _take(self):
        return self._items.pop(self._items.index(min(self._items)))

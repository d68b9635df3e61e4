"""A streaming loader: documents are read and tokenized, cut, made into batches and queued.

Threads and not processes: a thread keeps the worker's affinity mask, ends with the worker
whatever happens, and hands batches over without copying; and the tokenizers library lets other
threads run while it works. The Python in them takes turns with that of the training thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np

from cputrain.data.batches import Batch, Examples
from cputrain.data.corpus import DataError
from cputrain.data.documents import Documents, attempt

Cut = Callable[[Iterable[np.ndarray]], Iterator[np.ndarray]]


class Loader:
    """Batches in the order of the documents, epoch after epoch, whatever the threads.

    Where the documents have threads, one more makes the batches and waits where `queue` of
    them are ready. Where they have none, everything happens in `next`.

    Args:
        documents: where tokens come from; closed by `close`.
        cut: windows of the documents of an epoch, as `windows.cut_packed` gives them.
        examples: makes batches of windows.
        batch_size: sequences in a batch.
        queue: batches that may be ready.

    Attributes:
        waited_s: wall time spent in `next` so far, which is time that training waits.
    """

    def __init__(
        self, documents: Documents, cut: Cut, examples: Examples, batch_size: int, queue: int
    ) -> None:
        self.waited_s = 0.0
        self._documents = documents
        self._cut = cut
        self._examples = examples
        self._batch_size = batch_size
        self._queue = queue
        self._batches = self._endless()
        # What threads share is changed and looked at under this lock only.
        self._changed = threading.Condition()
        self._ready: deque[Batch | DataError] = deque()
        self._closed = False
        self._threads = []
        if documents.threads:
            self._threads = [threading.Thread(target=self._assemble, name="batches", daemon=True)]
            self._threads[0].start()

    @property
    def thread_ids(self) -> tuple[int, ...]:
        """The kernel's ids of all threads that were started."""
        threads = [*self._documents.threads, *self._threads]
        return tuple(thread.native_id for thread in threads if thread.native_id is not None)

    def next(self) -> Batch:
        """The next batch, waited for.

        Raises:
            DataError: a document is damaged or cannot be read, now or before, or the loader
                is closed.
        """
        start = time.perf_counter()
        try:
            if not self._threads and not self._ready and not self._closed:
                self._ready.append(self._made())
            return self._taken()
        finally:
            self.waited_s += time.perf_counter() - start

    def close(self) -> None:
        """End and join all threads, also those that wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._documents.close()
        for thread in self._threads:
            thread.join()

    def _taken(self) -> Batch:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._closed)
            if self._closed:
                raise DataError(f"{self._documents.lines.path}: the loader is closed")
            batch = self._ready[0]
            if isinstance(batch, DataError):  # it stays there: nothing comes after it
                raise batch
            self._changed.notify_all()
            self._ready.popleft()
            return batch

    def _made(self) -> Batch | DataError:
        return attempt(self._documents.lines.path, lambda: next(self._batches))

    def _assemble(self) -> None:
        """What the thread that makes batches does, up to the first failure."""
        while True:
            batch = self._made()
            with self._changed:
                self._changed.wait_for(lambda: self._closed or len(self._ready) < self._queue)
                if self._closed:
                    return
                self._ready.append(batch)
                self._changed.notify_all()
            if isinstance(batch, DataError):
                return

    def _endless(self) -> Iterator[Batch]:
        windows = self._windows()
        while True:
            places, chosen = zip(*islice(windows, self._batch_size), strict=True)
            yield self._examples.batch(chosen, places)

    def _windows(self) -> Iterator[tuple[int, np.ndarray]]:
        """Windows of epoch after epoch, each with its place in the epoch."""
        while True:
            documents = (self._documents.next() for _ in range(self._documents.lines.rows))
            yield from enumerate(self._cut(documents))

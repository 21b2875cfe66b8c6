"""Who may use a local folder's engine, and when.

Milvus Lite takes one writer at a time. Reading beside a write is fine, but while it writes its memory out to a segment, those
rows are in neither place for a reader. A server needs none of this; there every turn is free.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """At most one write at a time, first come first served, and a flush beside neither a write nor a read.

    Thread: any.
    """

    def __init__(self, *, local: bool) -> None:
        self._local = local
        self._changed = threading.Condition()
        self._readers = 0
        self._tickets = 0
        self._served = 0
        self._flushing = False

    @property
    def waiting(self) -> int:
        """How many wait for the writer's turn."""
        with self._changed:
            return max(self._tickets - self._served - 1, 0)

    @contextmanager
    def write(self) -> Iterator[None]:
        """Hold the writer's turn. Without the order of arrival a few busy writers would keep out a flush, or `close`, for ever."""
        if not self._local:
            yield
            return
        with self._changed:
            ticket = self._tickets
            self._tickets += 1
            self._changed.wait_for(lambda: self._served == ticket)
        try:
            yield
        finally:
            with self._changed:
                self._served += 1
                self._changed.notify_all()

    @contextmanager
    def write_if_free(self) -> Iterator[bool]:
        """Hold the writer's turn if nobody has it or waits for it, and say so."""
        with self._changed:
            free = self._tickets == self._served
            self._tickets += free
        try:
            yield free
        finally:
            with self._changed:
                self._served += free
                self._changed.notify_all()

    @contextmanager
    def read(self) -> Iterator[None]:
        """Read beside other readers and the writer."""
        if not self._local:
            yield
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._flushing)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def flush(self) -> Iterator[None]:
        """Keep readers out as well; call only while holding the write lock."""
        with self._changed:
            self._flushing = True
            self._changed.wait_for(lambda: self._readers == 0)
        try:
            yield
        finally:
            with self._changed:
                self._flushing = False
                self._changed.notify_all()

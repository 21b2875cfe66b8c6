"""Counters of a cache level; they only grow."""

import threading
from collections import Counter
from dataclasses import dataclass, field

_COUNTS = ("hits", "misses", "corrupt", "late", "skipped", "written", "dropped", "refused", "unfit")


@dataclass(slots=True)
class CacheTally:
    """Counts vectors, and in `errors` failures.

    Thread: any.
    """

    hits: int = 0
    misses: int = 0
    """Asked for but not returned, for any reason; includes `corrupt`, `late` and `skipped`."""
    corrupt: int = 0
    """Stored, but not what was written under this key."""
    late: int = 0
    """Not received within the read budget."""
    skipped: int = 0
    """Not asked for, because the breaker was open."""
    written: int = 0
    dropped: int = 0
    """Never sent, because the queue was full or the breaker open."""
    refused: int = 0
    """Sent, but refused by the server."""
    unfit: int = 0
    """Not sent, because the number format cannot hold them."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failures by the name of the client library's exception."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        """Add to counters by name."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def facts(self) -> dict[str, int]:
        """Return the counters that are not zero, by name; each error as `error_NAME`."""
        with self._lock:
            counts = {name: getattr(self, name) for name in _COUNTS}
            counts |= {f"error_{name}": times for name, times in sorted(self.errors.items())}
        return {name: count for name, count in counts.items() if count}

    def add_error(self, name: str, times: int = 1) -> None:
        """Count failures by the name of their exception."""
        with self._lock:
            self.errors[name] += times

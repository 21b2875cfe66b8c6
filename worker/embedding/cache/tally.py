"""What a level of the cache has done, in numbers that only grow."""

import threading
from collections import Counter
from dataclasses import dataclass, field

_COUNTS = ("hits", "misses", "corrupt", "late", "skipped", "written", "dropped", "refused", "unfit")


@dataclass(slots=True)
class Tally:
    """Counted in vectors, but for `errors`; read them at any time.

    Thread: any.
    """

    hits: int = 0
    misses: int = 0
    """Asked for and not returned, for whatever reason: `corrupt`, `late` and `skipped` are among them."""
    corrupt: int = 0
    """There, but not what was written under this key."""
    late: int = 0
    """Not there when the time for reading was over."""
    skipped: int = 0
    """Not asked for, because the server has failed and it is not yet time to ask again."""
    written: int = 0
    dropped: int = 0
    """Given to be written and never sent: the queue was full, or the server has failed."""
    refused: int = 0
    """Sent, and not taken by the server."""
    unfit: int = 0
    """Given to be written, and not to be held in the number format."""
    errors: Counter[str] = field(default_factory=Counter)
    """Failures by the name of what the client library raised."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        """Add to counters by name."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def facts(self) -> dict[str, int]:
        """Return what is not nought, by name; errors by the name of each."""
        with self._lock:
            counts = {name: getattr(self, name) for name in _COUNTS}
            counts |= {f"error_{kind}": times for kind, times in sorted(self.errors.items())}
        return {name: count for name, count in counts.items() if count}

    def failed(self, kind: str, times: int = 1) -> None:
        """Count failures of one kind."""
        with self._lock:
            self.errors[kind] += times

"""deploy/prometheus/rules/scaling.yml, evaluated every 15 s over what simulated workers export.

`test_autoscale.py` lets promtool evaluate the rules themselves over the same series, and compares.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

SCRAPE_S = 15
_WINDOW = 300 // SCRAPE_S + 1
_MINUTE = 60 // SCRAPE_S + 1
_SHORT = 120 // SCRAPE_S + 1
_COUNTED = 180 // SCRAPE_S + 1


class Scrape(NamedTuple):
    """What all workers export together at a moment."""

    end: float
    committed: float
    lag: float
    busy_s: Mapping[str, float]
    """Seconds of work of each stage, summed over the workers that run now."""
    workers: int
    index_up: bool
    refused: float
    written: float
    writing_s: float


class ScalingRules:
    """What the rules record, from one scrape to the next.

    Thread: one.
    """

    def __init__(self) -> None:
        self._scrapes: deque[Scrape] = deque(maxlen=_WINDOW)
        self._loaded: float | None = None
        self.need: float | None = None
        self.takes: bool | None = None
        self.workers: int | None = None

    def add(self, scrape: Scrape | None) -> None:
        """Take a scrape; None: nobody could be scraped, or Prometheus was away."""
        if scrape is None:
            self.need = self.takes = self.workers = None
            return
        self._scrapes.append(scrape)
        if len(self._scrapes) < 2:
            return
        last, scrapes = scrape, list(self._scrapes)
        first, took_s = scrapes[0], SCRAPE_S * (len(scrapes) - 1)
        minute = scrapes[-_MINUTE:]
        coming = max(last.end - minute[0].end, 0.0) / (SCRAPE_S * (len(minute) - 1))
        done = max(last.committed - first.committed, 0.0) / took_s
        shares = [max(last.busy_s[stage] - first.busy_s[stage], 0.0) / took_s for stage in last.busy_s]
        self.takes = _index_takes(scrapes[-_SHORT:])
        self.workers = min(one.workers for one in scrapes[-_COUNTED:])
        cost = max(shares) / done if done > 0 else None
        if cost is not None and self.takes and max(shares) / last.workers > 0.3:
            self._loaded = cost
        known = cost if self._loaded is None else self._loaded
        if known is not None:
            self.need = min(max((coming + last.lag / 300) * known / 0.8, 0.0), 1000.0)
        else:
            self.need = 0.0 if coming + last.lag == 0 else None


def _index_takes(scrapes: Sequence[Scrape]) -> bool:
    first, last = scrapes[0], scrapes[-1]
    refused, written, writing_s = (
        max(b - a, 0.0) for a, b in ((first.refused, last.refused), (first.written, last.written), (first.writing_s, last.writing_s))
    )
    return last.index_up and refused <= 0.05 * (refused + written) and writing_s <= 2 * written

"""A seeded stream of log lines from about a dozen services, for a demo without log files.

`synthetic_lines` is a pure function of its arguments: the same seed gives the same bytes. A few templates make up most of the stream
(Zipf), as in real logs; rare incidents give `EXAMPLE_QUERIES` something to find. Every line was written for this project.
"""

import json
from bisect import bisect
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import accumulate, count
from random import Random
from typing import Final

from producers.log_vocabulary import INCIDENTS, LOG_TEMPLATES, VALUES, LogTemplate

EXAMPLE_QUERIES: Final = (
    "a disk is nearly full",
    "too many failed logins",
    "a certificate is about to expire",
    "payment declined",
    "out of memory",
)

_INCIDENT_SHARE: Final = 0.005
_MEAN_GAP_MS: Final = 8.0
_PIECE_LINES: Final = 100
_SYSLOG_HOSTS: Final = 14


class _Draw(dict[str, str]):
    """Gives `str.format_map` a new value at every use of a name, so a name used twice in a line has two values; keeps the last."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng
        self.last: dict[str, str] = {}

    def __missing__(self, name: str) -> str:
        value = self.last[name] = VALUES[name](self._rng)
        return value


def synthetic_lines(seed: int, count: int, start_ms: int) -> Iterator[bytes]:
    """Yield `count` lines; the first is from `start_ms` (milliseconds since 1970), each later one about 8 ms after the one before.

    A line may contain line ends (stack traces): it is one record, not one line of a file. Each incident comes about once in 3,000 lines,
    and none comes again before all of them have.
    """
    rng = Random(seed)
    draw = _Draw(rng)
    ranks = tuple(accumulate(1 / rank for rank in range(1, len(LOG_TEMPLATES) + 1)))
    deck: list[LogTemplate] = []
    time_ms = float(start_ms)
    for _ in range(count):
        time_ms += rng.expovariate(1 / _MEAN_GAP_MS)
        if rng.random() < _INCIDENT_SHARE:
            if not deck:
                deck = list(INCIDENTS)
                rng.shuffle(deck)
            template = deck.pop()
        else:
            template = LOG_TEMPLATES[bisect(ranks, rng.random() * ranks[-1])]
        yield _render(template, draw, rng, time_ms).encode()


def endless_lines(now_ms: Callable[[], float]) -> Iterator[bytes]:
    """Yield synthetic lines without end; every hundred lines, their times restart at `now_ms()`."""
    for seed in count():
        yield from synthetic_lines(seed, _PIECE_LINES, int(now_ms()))


def _render(template: LogTemplate, draw: _Draw, rng: Random, time_ms: float) -> str:
    when = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    draw.last.clear()
    text = template.text.format_map(draw)
    if template.layout == "json":
        line = {"time": when.isoformat(timespec="milliseconds"), "level": template.level, "service": template.service, "message": text}
        line.update((name, draw.last.get(name) or draw[name]) for name in template.fields)
        return json.dumps(line)
    if template.layout == "syslog":
        host = f"node-{1 + int(rng.random() * _SYSLOG_HOSTS):02d}"
        return f"{when:%b %d %H:%M:%S} {host} {template.service}[{VALUES['pid'](rng)}]: {text}"
    return f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03d} {template.level} {template.service}: {text}"

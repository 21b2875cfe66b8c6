"""Figures in words, as the verbs and the doctor show them."""

from collections.abc import Iterable

_KIB = 1024
_CENTISECOND_S = 0.01
_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3_600.0, 86_400.0


def bytes_of(number: float) -> str:
    """Return bytes in the largest unit that leaves at least 1: `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(number) < _KIB:
            return f"{number:.3g} {unit}" if unit != "B" else f"{number:.0f} B"
        number /= _KIB
    return f"{number:,.1f} TiB"


def seconds_of(seconds: float) -> str:
    """Return a span in the unit that fits: `3 ms`, `1.5 s`, `12 min`, `7 h`, `3 d`."""
    if seconds < 1:
        return f"{seconds * 1000:.2g} ms" if seconds < _CENTISECOND_S else f"{seconds * 1000:.0f} ms"
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / _HOUR_S:.0f} h"
    return f"{seconds / _DAY_S:,.0f} d"


def rate_of(per_s: float) -> str:
    """Return a rate with two digits below 10: `0.25`, `1,200`."""
    return f"{per_s:.2g}" if per_s < 10 else f"{per_s:,.0f}"  # noqa: PLR2004


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return names with commas between them, and how many more there are."""
    known = list(names)
    more = len(known) - most
    return ", ".join(known[:most]) + (f" and {more} more" if more > 0 else "")


def counted(number: int, word: str) -> str:
    """Return a number with its noun: `1 line`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def cut(text: str, room: int) -> str:
    """Return a text of at most `room` characters, with `…` in place of what does not fit."""
    return text if len(text) <= room else f"{text[: max(room - 1, 1)]}…"

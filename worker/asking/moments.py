"""Moments as people write and read them: spans before now, dates and times; the index has milliseconds since 1970."""

import re
from datetime import UTC, datetime
from typing import Final

MOST_MS: Final = 1 << 62
"""No filter on time names one that is further from 1970."""
HOW: Final = "a span such as 90s, 15m, 1h or 7d, or a time such as 2026-01-31T12:00"
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def moment_ms(text: str, now_ms: int) -> int:
    """Return the milliseconds since 1970 of a span before now (`90s`, `15m`, `1h`, `7d`, `2w`) or of an ISO 8601 time.

    A time is in UTC unless it says otherwise. Raises ValueError.
    """
    span = _SPAN.fullmatch(text.strip())
    try:
        if span is not None:
            return max(now_ms - round(float(span[1]) * _SECONDS[span[2]] * 1000), -MOST_MS)
        moment = datetime.fromisoformat(text.strip())
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not a time: give {HOW}") from None


def since_ms(text: str, now_ms: int) -> int | None:
    """Return the first wanted millisecond, None for `all`; otherwise as `moment_ms`."""
    try:
        return None if text == "all" else moment_ms(text, now_ms)
    except ValueError as error:
        raise ValueError(f"{error}, or all") from None


def shown_time(time_ms: int) -> str:
    """Return a time as ISO 8601 in UTC, with milliseconds; outside the calendar as the number that it is."""
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return str(time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""How a user says since when and until when: `90s`, `15m`, `1h`, `7d` before now, a date or time (UTC if it does not say), or `all`."""

import re
from datetime import UTC, datetime

from worker.cli.exits import must_change

_AGO = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_EPOCH_MS = -(1 << 62)


def since_ms(text: str, *, now_ms: int) -> int | None:
    """Return the first wanted millisecond since 1970, None for `all`. Raises CommandFailed."""
    return None if text == "all" else _moment_ms(text, now_ms, "--since", "a time such as 2026-01-31T12:00, or all")


def until_ms(text: str, *, now_ms: int) -> int:
    """Return the first millisecond since 1970 that is not wanted any more. Raises CommandFailed."""
    return _moment_ms(text, now_ms, "--until", "or a time such as 2026-01-31T12:00")


def _moment_ms(text: str, now_ms: int, option: str, or_else: str) -> int:
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return max(now_ms - round(float(ago[1]) * _SECONDS[ago[2]] * 1000), _EPOCH_MS)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise must_change(f"{option} {text!r}: give a span such as 90s, 15m, 1h or 7d, {or_else}") from None
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)

"""Which field of a structured entry says its level, and on which scale."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from consumers.decode.json_names import FULL_MESSAGE, NUMBER_NAMES, OF_PINO, PROCESS, PYTHON_NUMBER, SHORT_MESSAGE, SYSLOG_NAMES
from consumers.decode.json_shapes import LEVEL_LIKE, first_like
from consumers.decode.json_text import Scalar
from consumers.decode.levels import (
    is_own_name,
    level_of_name,
    level_of_otlp,
    level_of_python,
    level_of_syslog,
    level_of_tens,
    whole_number,
    without_colours,
)

LEVEL, SYSLOG, OTLP, PYTHON, WHOLE, TENS, LETTER, KUBERNETES = 16, 32, 64, 128, 256, 1024, 2048, 4096
"""Bits of a value: the name of a level, numbers on a scale, a letter of MongoDB's, a type of an event of Kubernetes."""
_BY_NAME, _BY_SYSLOG, _BY_OTLP, _BY_PYTHON, _BY_TENS, _BY_WINDOWS, _BY_LETTER, _BY_TYPE = range(8)
_OF_WINDOWS: Final = ("INFO", "FATAL", "ERROR", "WARN", "INFO", "DEBUG")
"""By the number of the level of an event of Windows; 0 means that it is always written."""
_OF_TYPE: Final = {"Normal": "INFO", "Warning": "WARN"}


def _level_of_windows(number: int) -> str:
    return _OF_WINDOWS[number] if 0 <= number < len(_OF_WINDOWS) else ""


_OF_NUMBER: Final[Mapping[int, Callable[[int], str]]] = {
    _BY_SYSLOG: level_of_syslog,
    _BY_OTLP: level_of_otlp,
    _BY_PYTHON: level_of_python,
    _BY_TENS: level_of_tens,
    _BY_WINDOWS: _level_of_windows,
}
LEVELS_BESIDE: Final = (
    ("s", ("t.$date", "c"), LETTER, _BY_LETTER),
    ("status", ("ddsource",), LEVEL, _BY_NAME),
    ("status", ("ddtags",), LEVEL, _BY_NAME),
    ("type", ("involvedObject.kind",), KUBERNETES, _BY_TYPE),
    ("type", ("regarding.kind",), KUBERNETES, _BY_TYPE),
    ("Level", ("EventID",), SYSLOG, _BY_WINDOWS),
    ("Level", ("ProviderName",), SYSLOG, _BY_WINDOWS),
    ("System.Level", ("System.EventID",), SYSLOG, _BY_WINDOWS),
    ("Event.System.Level", ("Event.System.EventID",), SYSLOG, _BY_WINDOWS),
    ("severity", ("facility",), SYSLOG, _BY_SYSLOG),
    ("label", ("err_code", "prio"), LEVEL, _BY_NAME),
    ("messageType", ("eventMessage",), LEVEL, _BY_NAME),
    ("context.logLevel", ("sequence",), TENS, _BY_TENS),
    ("level", (SHORT_MESSAGE,), SYSLOG, _BY_SYSLOG),
    ("level", (FULL_MESSAGE,), SYSLOG, _BY_SYSLOG),
    ("level", ("time", "msg"), TENS, _BY_TENS),
)
"""Names that say the level only beside other fields, with what their values must be and the scale: of MongoDB, Datadog, Kubernetes' events,
Windows, syslog, MySQL, macOS, Roarr, GELF, and pino without `pid` and `hostname`."""
LEVEL_VALUES: Final = frozenset({*NUMBER_NAMES, *SYSLOG_NAMES, PYTHON_NUMBER, PROCESS, *(name for name, _, _, _ in LEVELS_BESIDE)})
"""Fields besides the named ones whose values may have bits that say something of a level."""
_BY_NUMBER: Final = ((NUMBER_NAMES, OTLP, _BY_OTLP), (SYSLOG_NAMES, SYSLOG, _BY_SYSLOG), ((PYTHON_NUMBER,), PYTHON, _BY_PYTHON))


class LevelRole(NamedTuple):
    """Which field says the level, and on which scale.

    Thread: any.
    """

    name: str
    scale: int

    def read(self, value: Scalar) -> tuple[str, Scalar | None]:
        """Return the level that a value stands for, and the value if it is not the level's own name."""
        if self.scale == _BY_NAME:
            written = without_colours(value) if isinstance(value, str) else value
            level = level_of_name(str(written))
            return level, None if is_own_name(str(written), level) else written
        if self.scale == _BY_LETTER:
            return level_of_name(str(value)[:1]), value
        if self.scale == _BY_TYPE:
            return _OF_TYPE.get(str(value), ""), value
        number = whole_number(value)
        return ("" if number is None else _OF_NUMBER[self.scale](number)), value


def level_flags(value: Scalar) -> int:
    """Return the bits that say something of a level."""
    number = whole_number(value)
    if number is not None:
        syslog = SYSLOG if level_of_syslog(number) else 0
        tens = TENS if 10 <= number <= 60 and number % 10 == 0 else 0  # noqa: PLR2004 - the levels of pino
        return WHOLE | syslog | tens | (OTLP if level_of_otlp(number) else 0) | (PYTHON if level_of_python(number) else 0)
    if not isinstance(value, str):
        return 0
    is_letter = value in ("F", "E", "W", "I", "D", "D1", "D2", "D3", "D4", "D5")
    return (LEVEL if level_of_name(value) else 0) | (LETTER if is_letter else 0) | (KUBERNETES if value in _OF_TYPE else 0)


def level_role(names: Sequence[str], flags: Mapping[str, int]) -> LevelRole | None:
    """Return which field says the level: the first of the names, a number, or what the words of its name or its neighbours make one."""
    for name in names:
        if flags.get(name, 0) & LEVEL:
            return LevelRole(name, _BY_NAME)
    for numbers, flag, scale in _BY_NUMBER:
        for name in numbers:
            if flags.get(name, 0) & flag:
                return LevelRole(name, scale)
    if flags.get("level", 0) & WHOLE and is_of_pino(flags):
        return LevelRole("level", _BY_TENS)
    for name, beside, flag, scale in LEVELS_BESIDE:
        if flags.get(name, 0) & flag and all(other in flags for other in beside):
            return LevelRole(name, scale)
    like = first_like(flags, LEVEL_LIKE, lambda name: bool(flags[name] & LEVEL))
    return LevelRole(like, _BY_NAME) if like else None


def is_of_pino(flags: Mapping[str, int]) -> bool:
    """Whether pino or bunyan wrote an entry."""
    return bool(flags.get(PROCESS, 0) & WHOLE) and all(name in flags for name in OF_PINO)

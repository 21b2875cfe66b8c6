"""What a log entry says about its level, as one of six words: TRACE DEBUG INFO WARN ERROR FATAL, or nothing.

The readers of structured formats call it for each entry; queries turn what a user types into the same words. Names count in any case, with
a terminal's colours around them (winston) and with what slog adds to them: `ERROR+2`.
Libraries count from 10 to 60, 0 to 7 or 1 to 24, so a number has a level only on a scale: which one it is on, the caller must know.
"""

import re
from typing import Final

LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""From the least to the most severe."""

_NAMES: Final = {
    "TRACE": "TRACE VERBOSE FINEST FINER ALL SILLY TRC TRCE VRB TRACE2 TRACE3 TRACE4 T V",
    "DEBUG": "DEBUG FINE DBG DBUG DEBU DEBUG2 DEBUG3 DEBUG4 DEBUG5 DEBUG1 D",
    "INFO": "INFO INFORMATION INFORMATIONAL NOTICE CONFIG DEFAULT HTTP LOG SUCCESS OK INF INFO2 INFO3 INFO4 I N",
    "WARN": "WARN WARNING WRN WARN2 WARN3 WARN4 W",
    "ERROR": "ERROR ERR SEVERE EROR ERRO FAIL ERROR2 ERROR3 ERROR4 E",
    "FATAL": "FATAL CRITICAL CRIT ALERT EMERGENCY EMERG PANIC DPANIC FTL FATA FATAL2 FATAL3 FATAL4 F C A P",
}
_LEVEL_OF_NAME: Final = {name: level for level, names in _NAMES.items() for name in names.split()}
_AROUND: Final = " \t\r\n[]()<>:"
_LONGEST_NAME: Final = max(map(len, _LEVEL_OF_NAME))
_LONGEST_COLOURED: Final = 64
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*+m")
_ADDED: Final = re.compile(r"([A-Z]{4,5})([+-])(\d{1,2})")
"""A level of slog with the distance to it: each is four wide, as OpenTelemetry's are."""
_WIDTH: Final = 4
_SYSLOG: Final = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
"""By the number of the severity (RFC 5424); journald and GELF count alike."""


def level_of_name(name: str) -> str:
    """Return the level that a name stands for, in any case and with blanks, brackets or a colon around it; "" if it is none."""
    if "\x1b" in name[:_LONGEST_COLOURED]:
        name = without_colours(name)
    if len(name) > 2 * _LONGEST_NAME:
        return ""
    plain = name.strip(_AROUND).upper()
    return _LEVEL_OF_NAME.get(plain, "") or (_level_with_added(plain) if plain[-1:].isdigit() else "")


def without_colours(name: str) -> str:
    """Return a short name without a terminal's colours; a longer one is left as it is."""
    return _COLOUR.sub("", name) if len(name) <= _LONGEST_COLOURED else name


def _level_with_added(name: str) -> str:
    """Return the level of slog that a name and a number stand for; "" if it is none."""
    found = _ADDED.fullmatch(name)
    level = _LEVEL_OF_NAME.get(found[1], "") if found else ""
    if not found or not level:
        return ""
    if found[2] == "-":
        return "TRACE" if level == "DEBUG" else ""
    return "FATAL" if level == "ERROR" and int(found[3]) >= _WIDTH else level


def level_of_syslog(number: int) -> str:
    """Return the level of a severity of syslog, 0 to 7; journald and GELF count alike. "" for another number."""
    return _SYSLOG[number] if 0 <= number < len(_SYSLOG) else ""


def level_of_otlp(number: int) -> str:
    """Return the level of a severity number of OTLP, 1 to 24; "" for another number."""
    return LEVELS[(number - 1) // 4] if 1 <= number <= 4 * len(LEVELS) else ""


def level_of_tens(number: int) -> str:
    """Return the level of a number of pino or bunyan: TRACE is 10, FATAL 60; a number between two is the lower one."""
    return LEVELS[min(max(number // 10, 1), len(LEVELS)) - 1]


def level_of_python(number: int) -> str:
    """Return the level of a `levelno` of Python: DEBUG is 10, FATAL 50; a number between two is the lower one, and "" one below 0."""
    return LEVELS[min(number // 10, len(LEVELS) - 1)] if number >= 0 else ""


def is_own_name(written: str, level: str) -> bool:
    """Whether what was written is the name of the level itself, in any case and with blanks, brackets or a colon around it."""
    return without_colours(written).strip(_AROUND).upper() == level


def whole_number(value: object) -> int | None:
    """Return an int, or the int that a short text of digits spells (journald writes all values as texts)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and not value[2:] and value.isascii() and value.isdigit():
        return int(value)
    return None

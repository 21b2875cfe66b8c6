"""What a log entry says about its level, as one of six words: TRACE DEBUG INFO WARN ERROR FATAL, or nothing.

`consumers.decode.decoder` calls it for each JSON entry; queries turn what a user types into the same words. Names count in any case.
A number counts only where its scale is certain: libraries count 10 to 60, 0 to 7 or 1 to 24, so the field's name or its neighbours must
tell which one it is.
"""

from collections.abc import Mapping
from typing import Any, Final

LEVELS: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""From the least to the most severe."""

_NAMES: Final = {
    "TRACE": "TRACE VERBOSE FINEST FINER ALL SILLY TRC TRACE2 TRACE3 TRACE4 T V",
    "DEBUG": "DEBUG FINE DBG DEBUG2 DEBUG3 DEBUG4 DEBUG5 DEBUG1 D",
    "INFO": "INFO INFORMATION INFORMATIONAL NOTICE CONFIG DEFAULT HTTP LOG SUCCESS OK INF INFO2 INFO3 INFO4 I N",
    "WARN": "WARN WARNING WRN WARN2 WARN3 WARN4 W",
    "ERROR": "ERROR ERR SEVERE EROR ERROR2 ERROR3 ERROR4 E",
    "FATAL": "FATAL CRITICAL CRIT ALERT EMERGENCY EMERG PANIC DPANIC FTL FATAL2 FATAL3 FATAL4 F C A P",
}
_LEVEL_OF_NAME: Final = {name: level for level, names in _NAMES.items() for name in names.split()}
_LONGEST_NAME: Final = max(map(len, _LEVEL_OF_NAME))
_SYSLOG: Final = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
"""By the number of the severity (RFC 5424); journald and GELF count alike."""
_STEPS_OF_TEN: Final = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
"""10, 20 … 60: pino and bunyan."""
_NUMBER_FIELDS: Final = ("severity_number", "severityNumber", "SeverityNumber")
"""OTLP: 1 to 24, four numbers for each level."""


def level_of_name(name: str) -> str:
    """Return the level that a name stands for, in any case and with blanks, brackets or a colon around it; "" if it is none."""
    if len(name) > 2 * _LONGEST_NAME:
        return ""
    return _LEVEL_OF_NAME.get(name.strip(" \t\r\n[]()<>:").upper(), "")


def level_of_number(fields: Mapping[str, Any]) -> str:
    """Return the level that a number in an entry's fields stands for; "" if there is none or its scale is not certain."""
    for name in _NUMBER_FIELDS:
        if (number := _whole_number(fields.get(name))) is not None and 1 <= number <= 4 * len(LEVELS):
            return LEVELS[(number - 1) // 4]
    if (number := _whole_number(fields.get("PRIORITY"))) is not None and 0 <= number < len(_SYSLOG):
        return _SYSLOG[number]
    number = _whole_number(fields.get("level"))
    if number is None:
        return ""
    if _is_of_pino(fields):
        return _STEPS_OF_TEN[min(max(number // 10, 1), len(_STEPS_OF_TEN)) - 1]
    return _SYSLOG[number] if _is_gelf(fields) and 0 <= number < len(_SYSLOG) else ""


def _is_of_pino(fields: Mapping[str, Any]) -> bool:
    """Whether pino or bunyan wrote it: both bring `pid`, `hostname` and `time`."""
    return "msg" in fields and "time" in fields and "hostname" in fields and _whole_number(fields.get("pid")) is not None


def _is_gelf(fields: Mapping[str, Any]) -> bool:
    return "short_message" in fields or "full_message" in fields


def _whole_number(value: object) -> int | None:
    """Return an int, or the int that a short text of digits spells (journald writes all values as texts)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and not value[2:] and value.isascii() and value.isdigit():
        return int(value)
    return None

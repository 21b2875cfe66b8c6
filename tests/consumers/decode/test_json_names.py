"""The table of names in docs/formats.md is the code's own."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from consumers.decode.json_envelopes import WRAPPERS
from consumers.decode.json_levels import LEVELS_BESIDE
from consumers.decode.json_names import (
    LATE_TIME_NAMES,
    LEVEL_NAMES,
    LOGGERS_BESIDE,
    NUMBER_NAMES,
    PYTHON_NUMBER,
    SERVICE_NAMES,
    SYSLOG_NAMES,
    TEXT_NAMES,
    TIME_NAMES,
    TIMES_BESIDE,
    TRACE_NAMES,
)

_DOCUMENT = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


def names(several: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in several)


def beside(several: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{name}` beside `{other}`" for name, other in several)


ROWS = {
    "text": names(TEXT_NAMES),
    "time": names(TIME_NAMES),
    "time, where none of these is": f"{beside(TIMES_BESIDE)}, {names(LATE_TIME_NAMES)}",
    "level": names(LEVEL_NAMES),
    "level as a number": f"{names(NUMBER_NAMES)} (OTLP), {names(SYSLOG_NAMES)} (syslog), `{PYTHON_NUMBER}` (Python)",
    "level beside other fields": ", ".join(
        f"`{name}` beside {' and '.join(f'`{one}`' for one in others)}" for name, others, _, _ in LEVELS_BESIDE
    ),
    "service": names(SERVICE_NAMES),
    "stack trace": names(TRACE_NAMES),
    "logger": beside(LOGGERS_BESIDE),
    "wrapper": names(WRAPPERS),
}


@pytest.mark.parametrize("role", ROWS)
def test_the_document_names_what_the_code_looks_at(role: str) -> None:
    assert f"| {role} | {ROWS[role]} |" in _DOCUMENT.splitlines()

"""Levels: many names and scales, six words."""

from collections.abc import Callable

import pytest

from consumers.decode.levels import (
    is_own_name,
    level_of_name,
    level_of_otlp,
    level_of_python,
    level_of_syslog,
    level_of_tens,
    whole_number,
)
from tests.rows import rows


@pytest.mark.parametrize(("rule", "name", "level"), rows("levels/names"))
def test_every_rule_gives_its_names_their_level(rule: str, name: str, level: str) -> None:
    assert level_of_name(name) == level, rule


@pytest.mark.parametrize(
    ("level_of", "levels"),
    [
        (level_of_otlp, {0: "", 1: "TRACE", 4: "TRACE", 5: "DEBUG", 12: "INFO", 13: "WARN", 20: "ERROR", 24: "FATAL", 25: ""}),
        (level_of_syslog, {-1: "", 0: "FATAL", 2: "FATAL", 3: "ERROR", 4: "WARN", 5: "INFO", 6: "INFO", 7: "DEBUG", 8: ""}),
        (level_of_tens, {0: "TRACE", 10: "TRACE", 20: "DEBUG", 30: "INFO", 35: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL", 99: "FATAL"}),
        (level_of_python, {-1: "", 0: "TRACE", 10: "DEBUG", 20: "INFO", 30: "WARN", 40: "ERROR", 45: "ERROR", 50: "FATAL", 99: "FATAL"}),
    ],
)
def test_a_number_has_a_level_on_each_scale(level_of: Callable[[int], str], levels: dict[int, str]) -> None:
    assert {number: level_of(number) for number in levels} == levels


def test_a_short_text_of_digits_is_a_number_too() -> None:
    values = {3: 3, "3": 3, "30": 30, -7: -7, "300": None, "-1": None, "٣": None, "": None}
    assert {value: whole_number(value) for value in values} == values


@pytest.mark.parametrize("value", [None, True, 3.0, [3], {}, b"3"])
def test_what_is_no_number_is_none(value: object) -> None:
    assert whole_number(value) is None


def test_a_level_written_by_its_own_name_is_told_from_other_names() -> None:
    assert all(is_own_name(written, "WARN") for written in ("WARN", "warn", "[Warn]", " warn: "))
    assert not any(is_own_name(written, "WARN") for written in ("warning", "W", "WRN", "4"))


def test_colours_around_a_name_are_no_part_of_it() -> None:
    assert level_of_name("\x1b[31merror\x1b[39m") == level_of_name("\x1b[1;31mERROR\x1b[0m:") == "ERROR"
    assert is_own_name("\x1b[31merror\x1b[39m", "ERROR")
    assert level_of_name("\x1b[31merror") == "ERROR"
    assert [level_of_name(name) for name in ("\x1b]0;error\x07", "\x1b[31m\x1b[39m", "\x1b" * 65, "\x1b[31m" * 20 + "error")] == [""] * 4


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("INFO+2", "INFO"),
        ("error+3", "ERROR"),
        ("ERROR+4", "FATAL"),
        ("DEBUG-4", "TRACE"),
        ("ERROR+12", "FATAL"),
        ("INFO-2", ""),
        ("X+2", ""),
    ],
)
def test_a_level_of_slog_has_a_number(name: str, expected: str) -> None:
    assert level_of_name(name) == level_of_name(f"[{name}]") == expected
    assert not expected or not is_own_name(name, expected)

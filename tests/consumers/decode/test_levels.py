"""Levels: many names and scales, six words."""

from typing import Any

import pytest

from consumers.decode.levels import LEVELS, level_of_name, level_of_number

PINO = {"pid": 7, "hostname": "host-1", "time": 1_700_000_000_000, "msg": "started"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", ["{}", " {} ", "[{}]", "<{}>", "{}:"])
def test_a_level_is_its_own_name_in_any_case_and_between_brackets(level: str, form: str) -> None:
    assert level_of_name(form.format(level)) == level_of_name(form.format(level.lower())) == level


@pytest.mark.parametrize(
    ("level", "names"),
    [
        ("TRACE", ["verbose", "FINEST", "TRACE3"]),
        ("DEBUG", ["dbg", "FINE", "Debug4"]),
        ("INFO", ["Information", "notice", "informational", "I", "INFO2"]),
        ("WARN", ["Warning", "wrn", "WARN3"]),
        ("ERROR", ["err", "SEVERE", "E", "error2"]),
        ("FATAL", ["critical", "CRIT", "alert", "emerg", "panic", "dpanic"]),
    ],
)
def test_other_names_stand_for_the_nearest_level(level: str, names: list[str]) -> None:
    assert {level_of_name(name) for name in names} == {level}


@pytest.mark.parametrize("name", ["", " ", "b.person@example.org", "30", "3", "warn error", "warnx", "unknown", "x" * 10_000])
def test_what_is_no_level_is_none(name: str) -> None:
    assert level_of_name(name) == ""


@pytest.mark.parametrize(
    ("fields", "level"),
    [
        ({"severity_number": 1}, "TRACE"),
        ({"severityNumber": 4}, "TRACE"),
        ({"severityNumber": 5}, "DEBUG"),
        ({"SeverityNumber": 12}, "INFO"),
        ({"severity_number": "13"}, "WARN"),
        ({"severity_number": 20}, "ERROR"),
        ({"severity_number": 24}, "FATAL"),
        ({"severity_number": 25}, ""),
        ({"severity_number": 0}, ""),
        ({"PRIORITY": "0"}, "FATAL"),
        ({"PRIORITY": "3"}, "ERROR"),
        ({"PRIORITY": 4}, "WARN"),
        ({"PRIORITY": "6"}, "INFO"),
        ({"PRIORITY": "7"}, "DEBUG"),
        ({"PRIORITY": "8"}, ""),
        ({**PINO, "level": 10}, "TRACE"),
        ({**PINO, "level": 30}, "INFO"),
        ({**PINO, "level": 35}, "INFO"),
        ({**PINO, "level": 60}, "FATAL"),
        ({**PINO, "level": 99}, "FATAL"),
        ({"short_message": "x", "level": 3}, "ERROR"),
        ({"short_message": "x", "level": 30}, ""),
    ],
)
def test_a_number_counts_where_its_scale_is_certain(fields: dict[str, Any], level: str) -> None:
    assert level_of_number(fields) == level


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"level": 30},
        {"level": 3},
        {"msg": "x", "level": 40, "pid": 7},
        {**PINO, "level": True},
        {**PINO, "level": 3.5},
        {**PINO, "level": "x" * 10_000},
        {"severity_number": [9]},
        {"PRIORITY": None},
        {"PRIORITY": "٣"},
        {"PRIORITY": -1},
    ],
)
def test_a_number_of_an_uncertain_scale_and_anything_else_is_none(fields: dict[str, Any]) -> None:
    assert level_of_number(fields) == ""

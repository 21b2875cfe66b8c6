"""The service of each line of a column, given where its time is: the tag of syslog, and where a line and its head end."""

import numpy as np
import pytest

from consumers.columns import Column, string_column
from consumers.decode.line_services import find_services
from consumers.decode.line_zones import NO_ZONE
from tests.rows import rows

OTHER, SYSLOG = range(2)
TIME = "Dec 10 06:55:46"


def services(column: Column, start: int = 0, end: int = len(TIME), kind: int = SYSLOG, zone_min: int = NO_ZONE) -> list[str]:
    """Return the service of each line of a column; all have their time at the same place."""
    starts, ends, kinds = (np.full(len(column), value, np.uint8) for value in (start, end, kind))
    found, hosts = find_services(column, starts, ends, kinds, np.full(len(column), zone_min, np.int16))
    assert all(set(labels.codes.tolist()) == set(range(len(labels.values))) for labels in (found, hosts))
    return [found.text(row) for row in range(len(column))]


def service(message: str) -> str:
    """Return the service of one line, given what stands behind the time."""
    return services(string_column([TIME + message]))[0]


@pytest.mark.parametrize(("rule", "message", "expected"), rows("services"))
def test_every_rule_gives_its_lines_their_service(rule: str, message: str, expected: str) -> None:
    assert service(message) == expected, rule


def test_a_tag_ends_within_the_head() -> None:
    line = f"{TIME} {'h' * 40} {'t' * 40}[{'1' * 26}]: x"
    assert len(line.encode()) == 128
    assert services(string_column([line])) == ["t" * 40]
    assert services(string_column([line.replace("[1", "[11")])) == ["t" * 40]
    assert services(string_column([line.replace("[1", "[111")])) == [""]
    assert services(string_column([line.replace("1]", "é1]")])) == [""]


def test_the_time_is_one_of_syslog_or_iso_8601_with_a_zone() -> None:
    line = string_column(["2026-11-23T10:00:00Z web-1 sshd: x", "2026-11-23 10:00:00Z web-1 sshd: x"])

    assert services(line, end=20, kind=OTHER, zone_min=0) == ["sshd", ""]
    assert services(line, end=20, kind=OTHER) == ["", ""]
    assert services(line, start=1, end=20, kind=OTHER, zone_min=0) == ["", ""]
    assert services(string_column([" a bcdefghT: x"]), end=0, kind=OTHER, zone_min=0) == [""]
    assert services(line, start=1, end=20) == ["sshd", "sshd"]
    assert services(line, start=2, end=20) == ["", ""]


@pytest.mark.parametrize("end", [0, 14, 16, 25, 127, 128, 255])
def test_a_blank_follows_the_time(end: int) -> None:
    assert services(string_column([f"{TIME} web-1 sshd: x"]), end=end) == [""]

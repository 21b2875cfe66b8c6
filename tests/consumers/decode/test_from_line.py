"""Time, level and service from the beginning of lines, as real programs write them, and none where a line names none."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.from_line import LineHeaders
from consumers.decode.rules import Clock

KAFKA_MS = 1_795_435_200_000
"""2026-11-23 12:00 UTC."""
HEAD_BYTES = 127
"""How many bytes of a line are looked at."""


def read(*lines: str, headers: LineHeaders | None = None) -> list[tuple[str | None, str, str]]:
    """Return the time in UTC, the level and the service of each line."""
    headers, column = headers or LineHeaders(), string_column(lines)
    times = headers.times(column, np.full(len(lines), KAFKA_MS)).tolist()
    levels, services = headers.levels(column), headers.services(column)
    assert set(levels.codes.tolist()) == set(range(len(levels.values)))
    assert set(services.codes.tolist()) == set(range(len(services.values)))
    return [(written(time_ms), levels.text(row), services.text(row)) for row, time_ms in enumerate(times)]


def written(time_ms: int) -> str | None:
    """Return a time in ISO 8601, without milliseconds where there are none."""
    if time_ms == NO_TIME:
        return None
    seconds = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return seconds + (f".{time_ms % 1000:03}" if time_ms % 1000 else "")


@pytest.mark.parametrize(
    "line",
    [
        "no error found", "the job ended with ERROR", "3 errors in 2 files", "an error: of this kind", "Failed with FATAL error",
        "errors: 3",
        "10.0.0.1 had an ERROR", "debugging is on", "Infos and Errors", "traceback (most recent call last):", "erroring out", "ERRORS: 3",
        "informed the user",
        "warned about it", "criticality is high", "A new connection", "I am here", "it is in error [error]",
        "2026-11-23 10:00:00 there was an ERROR",
        "2026-11-23 10:00:00 an old ERROR",
        "2026-11-23 10:00:00 error while reading", "Dec 10 06:55:46 web-1 app[1]: no error: fine",
        "Dec 10 06:55:46 web-1 app[1]: found ERROR", 'msg="level=error"', "key=error", "level=unknown", "level=errors",
        "[errors] x", "[error", "<error x>", "E1123", "E/", "W/O a licence: x", "[main] started without error",
    ],
)  # fmt: skip
def test_a_word_of_prose_is_no_level(line: str) -> None:
    assert read(line)[0][1] == ""


@pytest.mark.parametrize(
    "line",
    [
        "User 2026-11-23 10:00:00 logged in",
        "copied at 2026-11-23T10:00:00Z from a to b",
        "Certificate expires 2026-11-23 10:00:00",
        "see [10/Oct/2000:13:55:36 -0700] for more",
        "error on [10/Oct/2000:13:55:36 -0700] again",
        "1700000000 bytes freed",
        "1700000000",
        "20261123100000 records",
        "x" * 65 + " 2026-11-23T10:00:00Z",
        "10.0.0.1 2026-11-23",
        "first line\n2026-11-23T10:00:00Z second line",
    ],
)
def test_a_time_in_the_middle_of_a_message_is_not_the_lines(line: str) -> None:
    assert read(line)[0][0] is None


@pytest.mark.parametrize(
    ("line", "service"),
    [
        ("Dec 10 06:55:46 web-1 sshd[24200]: x", "sshd"),
        ("Dec 10 06:55:46 web-1 sshd: x", "sshd"),
        ("Dec 10 06:55:46 web-1 sshd:", "sshd"),
        ("Dec  1 06:55:46 web-1 postfix/smtpd[2]: x", "postfix/smtpd"),
        ("Dec  1 06:55:46 web-1 com.apple.x_y-z[2]: x", "com.apple.x_y-z"),
        ("Dec 10 06:55:46 web-1 crond(pam_unix)[2915]: x", "crond"),
        ("2026-11-23T10:00:00+01:00 web-1 nginx[12]: x", "nginx"),
        ("2026-11-23T10:00:00+01:00 fe80::1 nginx[12]: x", "nginx"),
        ("Dec 10 06:55:46 web-1 last message repeated 2 times", ""),
        ("Dec 10 06:55:46 web-1 2: x", ""),
        ("Dec 10 06:55:46 web-1 sshd[24200] x", ""),
        ("Dec 10 06:55:46 web-1 sshd[24 200]: x", ""),
        ("Dec 10 06:55:46 web-1 ERROR: x", ""),
        ("Dec 10 06:55:46 ERROR main: x", ""),
        ("Dec 10 06:55:46 web-1 " + "x" * 64 + ": x", "x" * 64),
        ("Dec 10 06:55:46 web-1 " + "x" * 65 + ": x", ""),
        ("Dec 10 06:55:46 web-1", ""),
        ("Dec 10 06:55:46", ""),
        ("2026-11-23T10:00:00 web-1 nginx[12]: x", ""),
        ("2026-11-23 10:00:00+01:00 web-1 nginx[12]: x", ""),
        ("2026-11-23T10:00:00Z INFO main: x", ""),
        ("2026-11-23T10:00:00Z  INFO main: x", ""),
        ("10.0.0.1 sshd[1]: x", ""),
    ],
)
def test_a_service_is_the_tag_of_syslog(line: str, service: str) -> None:
    assert read(line)[0][2] == service


def test_a_head_is_read_to_its_last_byte_and_no_further() -> None:
    for size in range(100, 140):
        line = "[" + "x" * (size - 10) + "] ERROR: broken"
        assert read(line) == [(None, "ERROR" if size < HEAD_BYTES + 2 else "", "")], size


@pytest.mark.parametrize("time", ["Jan 33 10:00:00", "Nov 00 10:00:00", "01-45 10:00:00.5", "E0132 10:00:00.123456", "99 Nov 10:00:00"])
def test_a_day_that_no_month_has_is_no_time(time: str) -> None:
    assert read(f"{time} up")[0][0] is None


def test_zone_and_year_of_the_rules_are_those_of_lines_that_name_none() -> None:
    headers = LineHeaders(Clock(ZoneInfo("Europe/Berlin"), 2019))

    assert read("Dec 10 06:55:46 web-1 sshd[1]: x", headers=headers) == [("2019-12-10T05:55:46", "", "sshd")]
    assert read("2026-07-01 00:00:00,5 INFO x", headers=headers) == [("2026-06-30T22:00:00.500", "INFO", "")]
    assert read("2026-07-01T00:00:00Z INFO x", headers=headers) == [("2026-07-01T00:00:00", "INFO", "")]

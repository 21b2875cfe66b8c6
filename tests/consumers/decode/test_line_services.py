"""The service of each line of a column, given where its time is: the tag of syslog, and where a line and its head end."""

import ctypes

import numpy as np
import pytest

from consumers.columns import Column, null_column, string_column
from consumers.decode.line_services import find_services
from consumers.decode.line_zones import NO_ZONE

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


@pytest.mark.parametrize(
    "between",
    [
        "", "[1]", "(a)", "(a)[1]", "(é)[中]", "()", "[]", " (svc[2])", "[1] (svc)", "[1] ()", " <Error>", "[1] <x_1>", "(a)[1] (b) <C>",
        "[(]", "(<)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("behind", [":", ": x", ":\t", ":\nx", ":\r", ":\f"])
def test_what_stands_between_a_tag_and_its_colon_is_no_part_of_it(between: str, behind: str) -> None:
    # ` (svc)` and ` <Error>` come behind a process only.
    expected = "" if between.startswith(" ") else "sshd"

    assert service(f" web-1 sshd{between}{behind}") == expected


@pytest.mark.parametrize(
    "between",
    [
        "[1](a)", "(a)(b)", "[1][2]", "[1] [2]", "(a b)", "(a\tb)", "[1 2]", "[[1]]", "((a))", "(a(b)", "[a[b]", "[1", "(a", "[1]  (b)",
        "[1] <a> (b)", "[1] <>", "[1] <é>", "[1] <a", "[1] <a b>", "[1] <a-b>", "{1}", "(]", "é", "=", "[1]x", "[1\n]",
    ],
)  # fmt: skip
def test_anything_else_between_them_leaves_no_tag(between: str) -> None:
    assert service(f" web-1 sshd{between}: x") == ""


@pytest.mark.parametrize("behind", [":x", ":\tx y", ":é", "::", ":\0", ":\v", "", " ", ";"])
def test_a_colon_and_white_space_or_the_end_follow_a_tag(behind: str) -> None:
    assert service(f" web-1 sshd{behind}") == ""


@pytest.mark.parametrize("tag", ["a", "_a", "/usr/bin/a-b.c_D9", "Z"])
def test_a_tag_begins_with_a_letter_an_underscore_or_a_slash(tag: str) -> None:
    assert service(f" web-1 {tag}: x") == service(f" {tag}: x") == tag
    assert [service(f" web-1 {first}{tag}: x") for first in "1-.[é"] == [""] * 5


@pytest.mark.parametrize("name", ["ERROR", "info", "Fatal", "ok", "TRACE2", "http"])
def test_the_name_of_a_level_is_no_tag_and_no_host(name: str) -> None:
    assert service(f" web-1 {name}: x") == service(f" {name} sshd: x") == service(f" <{name}> sshd: x") == ""
    assert service(f" {name}-1 sshd: x") == "sshd"


def test_one_blank_stands_before_the_host_and_before_the_tag() -> None:
    assert [service(message) for message in (" web-1 sshd: x", "  sshd: x", "  web-1 sshd: x", " web-1  sshd: x")] == ["sshd", "", "", ""]


def test_one_letter_is_a_tag_or_a_host() -> None:
    assert (service(" E sshd: x"), service(" web-1 E: x")) == ("sshd", "E")


@pytest.mark.parametrize("host", ["\u0131nfo", "\u017fevere", "\ufb01ne"])
def test_a_host_is_compared_in_capitals_as_unicode_has_them(host: str) -> None:
    assert service(f" {host} sshd: x") == ""


@pytest.mark.parametrize("size", [62, 63, 64, 65])
def test_hosts_and_tags_are_searched_for_64_bytes(size: int) -> None:
    assert service(f" web-1 {'x' * size}: x") == ("x" * size if size <= 64 else "")
    assert service(f" {'x' * size}: x") == ("x" * size if size < 64 else "")


@pytest.mark.parametrize(
    ("host", "expected"),
    [("x" + "é" * 32, "sshd"), ("é" * 32 + "-", "sshd"), ("x" * 65, "sshd"), ("中" * 22, ""), ("\U0001f600" * 17, "")],
)
def test_a_host_that_is_cut_even_within_a_character_is_no_level(host: str, expected: str) -> None:
    assert service(f" {host}sshd: x") == expected


def test_a_tag_ends_within_the_head() -> None:
    line = f"{TIME} {'h' * 40} {'t' * 40}[{'1' * 26}]: x"
    assert len(line.encode()) == 128
    assert services(string_column([line])) == ["t" * 40]
    assert services(string_column([line.replace("[1", "[11")])) == ["t" * 40]
    assert services(string_column([line.replace("[1", "[111")])) == [""]
    assert services(string_column([line.replace("1]", "é1]")])) == [""]


@pytest.mark.parametrize("message", [" web-1 sshd", " web-1 sshd:", " web-1 sshd[1", " web-1 sshd:\tx", " sshd:", " web-1 ", " web-1", ""])
@pytest.mark.parametrize("after", ["]: x", " x: y", "x x: y", ": x", ":", ""])
def test_a_line_ends_where_the_next_one_begins(message: str, after: str) -> None:
    line = TIME + message

    assert services(string_column([line, after, line + after]))[0] == services(string_column([line]))[0]


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


def test_lines_without_a_service_stand_between_others() -> None:
    lines = [f"{TIME} a sshd: x", "", f"{TIME} a cron: x", None, f"{TIME} b sshd: x", f"{TIME} ERROR sshd: x", f"{TIME} b ERROR: x"]
    column = string_column(lines)

    assert services(column) == ["sshd", "", "cron", "", "sshd", "", ""]
    assert services(column.slice(2, 3)) == ["cron", "", "sshd"]
    assert services(column.slice(5)) == ["", ""]
    assert services(column.slice(7)) == services(string_column([])) == []
    assert services(null_column(2)) == ["", ""]


def test_columns_of_another_length_or_type_are_refused() -> None:
    column, three, two = string_column(["a", "b", "c"]), np.zeros(3, np.uint8), np.zeros(2, np.uint8)
    zones = np.zeros(3, np.int16)

    for start, end, kind in ((two, three, three), (three, two, three), (three, three, two)):
        with pytest.raises(ValueError, match="3 lines have times of"):
            find_services(column, start, end, kind, zones)
    with pytest.raises(ValueError, match="3 lines have times of"):
        find_services(column, three, three, three, zones[:2])
    with pytest.raises(ctypes.ArgumentError):
        find_services(column, three, three, three, np.zeros(6, np.int16)[::2])

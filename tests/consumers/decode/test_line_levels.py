"""The level of each line of a column, given where its time is: names, letters, and where a line and its head end."""

import ctypes

import numpy as np
import pytest
from numpy.typing import NDArray

from consumers.columns import Column, null_column, string_column
from consumers.decode.levels import LEVELS, level_of_name
from consumers.decode.line_levels import find_levels

OTHER, SYSLOG, NUMBER, GLOG, ACCESS = range(5)
IN_ANY_CASE = (
    "trace verbose debug info notice information informational warn warning error err crit critical fatal alert emerg emergency panic "
    "severe"
)
IN_CAPITALS = "trc dbg inf wrn eror ftl fine finer finest dpanic vrb erro debu fata"
IN_LOWER_CASE = "fail dbug trce"
BEFORE_A_COLON = "log config"
OF_FIELDS = "level lvl loglevel severity"


def levels(column: Column, start: int = 0, end: int = 0, kind: int = OTHER) -> list[str]:
    """Return the level of each line of a column; all have their time at the same place."""
    found = find_levels(column, *(np.full(len(column), value, np.uint8) for value in (start, end, kind)))
    return [("", *LEVELS)[level + 1] for level in found.tolist()]


def level(line: str, start: int = 0, end: int = 0, kind: int = OTHER) -> str:
    """Return the level of one line."""
    return levels(string_column([line]), start, end, kind)[0]


@pytest.mark.parametrize("name", IN_ANY_CASE.split())
def test_most_names_count_in_any_case(name: str) -> None:
    expected = level_of_name(name)

    assert expected
    assert {level(form) for form in (f"[{name}] x", f"[{name.upper()}] x", f"{name.title()}: x", f"level={name}")} == {expected}
    assert level(f"{name} x") == ""
    assert level(f"[{name}xxx] y") == ""


@pytest.mark.parametrize("name", IN_CAPITALS.split())
def test_short_names_count_in_capitals(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name.upper()} x") == level(f"level={name}") == level_of_name(name)
    assert [level(form) for form in (f"[{name}] x", f"{name.title()}: x")] == ["", ""]


@pytest.mark.parametrize("name", IN_LOWER_CASE.split())
def test_names_of_dotnet_count_in_lower_case_before_a_colon(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name}: x") == level(f"lvl={name}") == level_of_name(name)
    assert [level(form) for form in (f"{name.upper()}: x", f"{name} x", f"[{name}] x", f"a {name}: x")] == [""] * 4


@pytest.mark.parametrize("name", BEFORE_A_COLON.split())
def test_names_that_are_words_count_in_capitals_before_a_colon(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name.upper()}: x") == level_of_name(name)
    assert [level(form) for form in (f"{name.upper()} x", f"[{name.upper()}] x", f"{name}: x")] == ["", "", ""]


@pytest.mark.parametrize("key", OF_FIELDS.split())
def test_a_field_tells_the_level_or_ends_the_search(key: str) -> None:
    assert [level(f"{key}={value}") for value in ("warn", '"warn"', "Warn,x", "warn; x", "warn x")] == ["WARN"] * 5
    assert [level(f"{key}={value} ERROR") for value in ("warn/x", "warned", "7", "'warn'")] == [""] * 4


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ERROR+2", "ERROR"), ("ERROR+4", "FATAL"), ("ERROR+12", "FATAL"), ("DEBUG-4", "TRACE"), ("INFO+3", "INFO"), ("warn+1", "WARN"),
        ("INFO-2", ""), ("ERROR+", ""), ("ERROR+123", ""), ("ERROR+2x", ""), ("E", "ERROR"), ("e", ""), ("X", ""), ("E1", ""),
    ],
)  # fmt: skip
def test_a_value_may_be_a_letter_or_have_a_number_of_slog(value: str, expected: str) -> None:
    assert level(f"level={value} x") == expected
    assert level_of_name(value) == expected or len(value) < 3
    if len(value) > 2 and value.isupper():
        assert level(f"10:00:00 {value} x", end=8) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("log.level=error x", "ERROR"),
        ("log_level=WRN", "WARN"),
        ("a.b.severity=info", "INFO"),
        ("log.levels=error", ""),
        ("local.ERROR: x", "ERROR"),
        ("my-app_2.prod.WARNING: x", "WARN"),
        ("local.ERROR x", ""),
        ("local.error: x", ""),
        ("local.ERRORS: x", ""),
        ("LOCAL_ERROR: x", ""),
        ("see local.ERROR: x", ""),
        ("UTC:10.0.0.1(5000):app@shop:[12345]:ERROR:  x", "ERROR"),
        ("::@:[1]:FATAL: x", "FATAL"),
        ("%LINK-3-UPDOWN: x", "ERROR"),
        ("%SYS-0-A: x", "FATAL"),
        ("%A_B-4-C_D1: x", "WARN"),
        ("%A-SLOT1-7-C: x", "DEBUG"),
        ("%LINK-8-UPDOWN: x", ""),
        ("%LINK-33-UPDOWN: x", ""),
        ("%link-3-updown: x", ""),
        ("%LINK-3-: x", ""),
        ("%LINK-3-UPDOWN x", ""),
        ("PHP Fatal error:  x", "FATAL"),
        ("PHP Parse error:  x", "ERROR"),
        ("PHP Warning:  x", "WARN"),
        ("Fatal error: x", "FATAL"),
        ("foo.c:1:10: fatal error: x", "FATAL"),
        ("a fatal error: x", ""),
        ("PHP Parse errors: x", ""),
        ("ERRO[0001] x", "ERROR"),
        ("NOTICE[1234][C-1] x", "INFO"),
        ("ERRO[x] x", ""),
        ("erro[0001] x", ""),
        ("[10:00:00 ERR] x", "ERROR"),
        ("[10:00:00.123 INF] x", "INFO"),
        ("[10:00:00 err] x", ""),
        ("[10:00 ERR] x", ""),
        ("Error,11/23/2026 10:00:00 AM,x", "ERROR"),
        ('Warning,"a"', "WARN"),
        ("Error, and more", ""),
        ("Errors,1", ""),
    ],
)
def test_a_level_in_a_form_of_its_own(line: str, expected: str) -> None:
    assert level(line) == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (",web-1,ERROR,x", "ERROR"),
        (",web-1,4711,error,x", "ERROR"),
        (";a;WARN;x", "WARN"),
        ("|Error|x", "ERROR"),
        (' UTC,"a","b, c",1,,LOG,0,"x"', "INFO"),
        (" UTC,,1,2026-11-23 09:00:00 UTC,DEBUG1,0", "DEBUG"),
        (",a, ERROR ,x", "ERROR"),
        (",a, error ,x", ""),
        (",a,errors,x", ""),
        (",a,ERROR", ""),
        (",a b,ERROR,x", ""),
        (", then fatal,fatal,x", ""),
        (",level,x", ""),
        (f",{'x' * 490},ERROR,x", "ERROR"),
        (f",{'x' * 500},ERROR,x", ""),
        ("," * 24 + "ERROR,x", "ERROR"),
        ("," * 25 + "ERROR,x", ""),
    ],
)  # fmt: skip
def test_behind_a_time_in_a_column_of_its_own_a_level_is_one(columns: str, expected: str) -> None:
    assert level(f"10:00:00{columns}", end=8) == expected
    assert level(f'"10:00:00"{columns}', start=1, end=9) == expected or len(columns) > 480
    assert level(f"x {columns}") == ""


def test_log_stands_alone_only_before_a_tag() -> None:
    assert level("10:00:00 LOG database: x", end=8) == "INFO"
    assert [level(line, end=8) for line in ("10:00:00 LOG database x", "10:00:00 log database: x", "10:00:00 [LOG] a: x")] == ["", "", ""]
    assert level("LOG database: x") == ""


@pytest.mark.parametrize("message", ["msg=x ERROR", "message=x ERROR"])
def test_behind_the_field_of_the_message_nothing_counts(message: str) -> None:
    assert level(message) == ""
    assert level(message.replace("=", "_=")) == "ERROR"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("E/AndroidRuntime( 1234): x", "ERROR"),
        ("W/a.b$c-d_1: x", "WARN"),
        ("V/ab :x", "TRACE"),
        ("D/ab\t\n\r\f(\t1): x", "DEBUG"),
        ("I/ab(1):", "INFO"),
        ("F/ab:", "FATAL"),
        ("E/a: x", ""),
        ("E/é: x", ""),
        ("E/abé: x", ""),
        ("E/ab\v: x", ""),
        ("E/ab(): x", ""),
        ("E/ab(1 ): x", ""),
        ("E/ab(1) : x", ""),
        ("E/ab(1", ""),
        ("E/ab(1)", ""),
        ("E/ab", ""),
        ("E/", ""),
        ("X/ab: x", ""),
        ("(E/ab: x", ""),
    ],
)
def test_a_letter_a_slash_a_tag_and_a_colon_are_androids(line: str, expected: str) -> None:
    assert level(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[error ] x", "ERROR"),
        ("[error x]", ""),
        ("(error: x", ""),
        ('"ERROR" x', ""),
        ("[core:error] x", "ERROR"),
        ("[core:error x]", ""),
        ("RAS KERNEL INFO x", "INFO"),
        ("SERVICE ALERT: x", ""),
        ("SERVICE [alert] x", "FATAL"),
        ("job ERROR", ""),
        ("A ERROR", ""),
        ("- job ERROR", "ERROR"),
        ("1: [E] x", ""),
        ("1 [E] x", "ERROR"),
        ("1 - error - x", "ERROR"),
        ("1 - error x", ""),
        ("1 |error| x", "ERROR"),
        ("1\terror\tx", "ERROR"),
        ("1\terror x", ""),
        ("1 error\tx", ""),
        ("I NETWORK x", ""),
    ],
)
def test_a_name_or_a_letter_counts_by_what_is_around_it(line: str, expected: str) -> None:
    assert level(line) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("error  x", "ERROR"),
        ("[x] error  x", ""),
        ("error x", ""),
        ("host error: x", ""),
        ("host: error: x", "ERROR"),
        ("- a - b c ERROR", "ERROR"),
        ("a b ERROR", ""),
        ("1 2 D x", "DEBUG"),
        ("1 D x", ""),
        ("1 2 a D x", ""),
        ("I NETWORK x", "INFO"),
        ("I  NETWORK x", "INFO"),
        ("I Network x", ""),
        ("I N x", ""),
    ],
)
def test_behind_a_time_stand_columns(message: str, expected: str) -> None:
    assert level(f"10:00:00 {message}", end=8) == expected


def test_a_time_behind_something_is_skipped_from_what_opens_it_to_what_closes_it() -> None:
    assert level("1 (10:00:00: a ERROR", start=3, end=11) == "ERROR"
    assert level("1 (10:00:00: a ERROR") == ""


def test_letters_before_the_time_are_levels() -> None:
    assert level("E1123 10:00:00 x", end=14, kind=GLOG) == "ERROR"
    assert level("W, [10:00:00 #1] x", start=4, end=12) == "WARN"
    assert level("W, [10:00:00 #1] x", start=4) == ""
    assert level("[I 10:00:00 x] y", start=3, end=11) == "INFO"
    assert level("[Ix10:00:00 x] y", start=3, end=11) == ""
    assert level("[X 10:00:00 x] ERROR", start=3, end=11) == "ERROR"


def test_an_access_log_names_no_level() -> None:
    assert level("1.1.1.1 - - [x] ERROR", start=13, end=14, kind=ACCESS) == ""
    assert level("1.1.1.1 - - [x] ERROR", start=13, end=14) == "ERROR"


def test_the_word_behind_a_time_of_syslog_is_a_host_unless_a_colon_ends_it() -> None:
    assert level("10:00:00 DEBUG error: x", end=8, kind=SYSLOG) == "ERROR"
    assert level("10:00:00 DEBUG: error: x", end=8, kind=SYSLOG) == "DEBUG"
    assert level("10:00:00 DEBUG error: x", end=8) == "DEBUG"


@pytest.mark.parametrize("beyond", [9, 126, 127, 128, 255])
def test_a_time_that_ends_beyond_the_line_leaves_nothing_to_look_at(beyond: int) -> None:
    assert level("10:00:00", end=beyond, kind=SYSLOG) == ""
    assert level("10:00:00", start=beyond, end=beyond, kind=GLOG) == ""


def test_ten_words_are_looked_at() -> None:
    assert level("1 " * 9 + "ERROR x") == "ERROR"
    assert level("1 " * 10 + "ERROR x") == ""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1" * 63 + "ERROR", ""),
        ("1" * 64 + "ERROR", "ERROR"),
        ("1" * 65 + "ERROR", ""),
        ("[1 2]ERROR", "ERROR"),
        ("[" + "1" * 62 + "]ERROR", "ERROR"),
        ("[" + "1" * 64 + "]ERROR", ""),
        ("[x1" + "1" * 60 + ":error]", "ERROR"),
        ("[x1" + "1" * 61 + ":error]", ""),
        ("1 " * 9 + " " * 63 + "ERROR", "ERROR"),
        ("1 " * 9 + " " * 64 + "ERROR", ""),
    ],
)
def test_words_brackets_and_blanks_are_searched_for_64_bytes(line: str, expected: str) -> None:
    assert level(line) == expected


@pytest.mark.parametrize("size", range(120, 132))
def test_a_name_that_the_end_of_the_head_cuts_is_none(size: int) -> None:
    line = "1" * 60 + " " + "2" * 53 + " ERROR"

    assert len(line) == 120
    assert level(line.replace("1", "1" * (size - 119), 1)) == ("ERROR" if size < 127 else "")
    assert level(line.replace("1", "1" * (size - 119), 1) + "S") == ""


@pytest.mark.parametrize(
    "line", ["[error", "[error ", "10:00:00 error", "[E", "level=err", "E/ab(1)", "- error", "", "ERROR", "[core:error"]
)
@pytest.mark.parametrize("after", ["]", " ]", "x]: y", ": x", "\0", ""])
def test_a_line_ends_where_the_next_one_begins(line: str, after: str) -> None:
    end = 8 if line.startswith("10") else 0

    assert levels(string_column([line, after, line + after]), end=end)[0] == level(line, end=end)


def test_a_slice_is_read_from_its_own_beginning_and_a_null_as_an_empty_line() -> None:
    column = string_column(["ERROR x", "é", None, "WARN", "[info]"])

    assert levels(column.slice(2)) == ["", "WARN", "INFO"]
    assert levels(column.slice(3, 1)) == ["WARN"]
    assert levels(column.slice(5)) == levels(string_column([])) == []
    assert levels(null_column(2)) == ["", ""]


def test_columns_of_another_length_or_type_are_refused() -> None:
    column, three, two = string_column(["a", "b", "c"]), np.zeros(3, np.uint8), np.zeros(2, np.uint8)

    for columns in ((two, three, three), (three, two, three), (three, three, two)):
        with pytest.raises(ValueError, match="3 lines have times of"):
            find_levels(column, *columns)
    others: list[NDArray[np.uint8]] = [np.zeros(6, np.uint8)[::2], np.zeros(3, np.int64).astype(">i8")]
    for other in others:
        with pytest.raises(ctypes.ArgumentError):
            find_levels(column, three, other, three)

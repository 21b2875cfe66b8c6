"""What holds of all that is found in lines: each line is read to its own end, in any slice, and columns that do not fit are refused."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from consumers.columns import Column, null_column, string_column
from consumers.decode.line_levels import find_levels
from consumers.decode.line_names import find_names
from consumers.decode.line_services import find_services
from tests.consumers.decode.test_line_levels import levels
from tests.consumers.decode.test_line_names import TIME, names
from tests.consumers.decode.test_line_services import TIME as SYSLOG_TIME
from tests.consumers.decode.test_line_services import services

Read = Callable[[Column], list[Any]]
LEVELS = ("[error", "[error ", "[E", "level=err", "E/ab(1)", "- error", "ERROR", "[core:error", "[info]", "WARN x")
SERVICES = (
    " web-1 sshd",
    " web-1 sshd:",
    " web-1 sshd[1",
    " web-1 sshd:\tx",
    " sshd:",
    " web-1 ",
    " web-1",
    "",
    " a cron: x",
    " ERROR a: x",
)
NAMES = ("INFO gateway", "INFO gateway:", "ERROR shop.Cart", "ERROR [a.b", "INFO a1: x", "ERROR b.d: x", "INFO error: x")
EACH: dict[str, tuple[Read, list[str]]] = {
    "levels": (levels, [*LEVELS]),
    "levels behind a time": (lambda column: levels(column, end=8), [f"10:00:00 {line}" for line in LEVELS]),
    "services": (services, [SYSLOG_TIME + line for line in SERVICES]),
    "names": (names, [*(f"{TIME} {line}" for line in NAMES), "ERROR:a.b"]),
}
AFTER = ("]", " ]", "]: x", "x]: y", " x: y", ": x", " - x", ":", " x", "\0", "")


@pytest.mark.parametrize("what", EACH)
def test_a_line_ends_where_the_next_one_begins(what: str) -> None:
    read, lines = EACH[what]
    for line in lines:
        for after in AFTER:
            assert read(string_column([line, after, line + after]))[0] == read(string_column([line]))[0], (line, after)


@pytest.mark.parametrize("what", EACH)
def test_a_slice_is_read_from_its_own_beginning_and_a_null_as_an_empty_line(what: str) -> None:
    read, lines = EACH[what]
    mixed = [None, "é", *lines, "", None, *lines]
    alone = [read(string_column([line or ""]))[0] for line in mixed]
    assert len({*alone}) > 2, "too many are alike"
    for first in range(len(mixed) + 1):
        assert read(string_column(mixed).slice(first)) == alone[first:]
        assert read(string_column(mixed).slice(first, 3)) == alone[first : first + 3]
    assert read(null_column(2)) == [alone[0]] * 2


@pytest.mark.parametrize(
    ("find", "numbers"), [(find_levels, "uuu"), (find_services, "uuuh"), (find_names, "uu")], ids=["levels", "services", "names"]
)
def test_columns_of_another_length_or_type_are_refused(find: Callable[..., object], numbers: str) -> None:
    column, right = string_column(["a", "b", "c"]), [np.zeros(3, np.uint8 if kind == "u" else np.int16) for kind in numbers]
    for place, fits in enumerate(right):
        with pytest.raises(ValueError, match="3 lines have times of"):
            find(column, *right[:place], fits[:2], *right[place + 1 :])
        for other in (np.repeat(fits, 2)[::2], fits.astype(">i8")):
            with pytest.raises(ctypes.ArgumentError):
                find(column, *right[:place], other, *right[place + 1 :])

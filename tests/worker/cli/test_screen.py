"""`Screen`: escapes control characters, shows figures in place, and writes only warnings if silent."""

import io

import pytest
from rich.console import Console

from tests.worker.cli.conftest import NewScreen
from worker.cli.screen import Screen, TableColumn, shown_text, shown_times

NOON_MS = 1_714_564_800_000


def test_a_time_that_no_calendar_has_is_shown_as_its_number() -> None:
    assert shown_times([NOON_MS, 1 << 62]) == ("", [str(NOON_MS), str(1 << 62)])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb", "a   b"),
        ("one\ntwo\r\nthree", "one\ntwo\nthree"),
        ("x" * 500, "x" * 400 + " …"),
        ("\n".join("abcdefgh"), "a\nb\nc\nd\ne\nf\n…"),
        ("nul \x00", r"nul \x00"),
        ("", ""),
    ],
)
def test_a_line_is_shown_as_far_as_it_can_be(text: str, seen: str) -> None:
    assert shown_text(text) == seen


def test_figures_stand_in_one_line_where_there_is_no_terminal(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)

    with screen.progress() as show:
        show({"records": 1, "tokens saved": 0})
        show({"records": 16_000, "of": 44_409, "tokens saved": 1_234_567})

    assert written.getvalue() == "records 16,000 of 44,409, tokens saved 1,234,567\n"


def test_figures_stand_below_their_names_in_80_columns_of_a_terminal() -> None:
    written = io.StringIO()
    screen = Screen(console=Console(file=written, width=80, force_terminal=True, color_system=None))
    names = ("records", "lines", "templates", "tokens embedded", "tokens saved", "lag")

    with screen.progress() as show:
        show(dict(zip(names, (1_600_000, 1_600_000, 31_590, 12_345_600, 123_456_700, 12_345), strict=True)))

    lines = written.getvalue().split("\n")
    assert max(len(line) for line in lines if "\x1b" not in line) <= 80
    assert "tokens embedded" in lines[0]
    assert "1,600,000" in lines[1]
    assert "12,345" in lines[1].split()[-1]


def test_a_silent_screen_writes_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(silent=True)

    screen.say("hello")
    screen.table([TableColumn("one", is_wide=True)], [[[("a line", "")]]])
    with screen.progress() as show:
        show({"records": 1})
    screen.say_always("what you need")
    screen.warn("kafka is away")

    out, err = capsys.readouterr()
    assert out == ""
    assert err == "vectail: what you need\nvectail: kafka is away\n"

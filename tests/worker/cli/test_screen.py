"""What a person sees: a line gets most of the width, empty columns are not there, nothing on the terminal is not ours."""

import io
from typing import Any

import pytest
from rich.console import Console

from tests.worker.cli.conftest import NewScreen
from worker.cli.screen import Screen, shown_text, shown_times

NOON_MS = 1_714_564_800_000
A_DAY_MS = 86_400_000
LONG = "Mar 14 15:09:26 gate7 sshd[31415]: PAM 5 more authentication failures; logname= uid=0 euid=0 tty=ssh ruser= rhost=198.51.100.64"


def hit(text: str = "a line", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON has it
    place = {"topic": "logs", "partition": 1, "offset": 250, "sub": 0, "chunk": 0}
    return {"score": 0.3, "text": text, "template": "t" * 32, "time": NOON_MS, "service": "", "level": "", **place, **more}


def shown(new_screen: NewScreen, width: int, *hits: dict[str, Any], complete: bool = True) -> list[str]:
    screen, written = new_screen(width)
    screen.answer({"text": "who is it", "seconds": 0.2531, "complete": complete, "hits": list(hits)})
    return [line.rstrip() for line in written.getvalue().splitlines()]


def test_in_80_columns_a_line_gets_more_than_half_of_them(new_screen: NewScreen) -> None:
    lines = shown(new_screen, 80, hit(LONG))

    assert max(map(len, lines)) <= 80
    heading = lines[2]
    assert heading.split() == ["score", "time", "where", "line"]
    assert heading.index("line") <= 80 * 0.45
    assert sum(1 for line in lines[4:] if line) == 3


def test_in_140_columns_everything_is_beside_the_line(new_screen: NewScreen) -> None:
    lines = shown(new_screen, 140, hit(LONG, service="sshd", level="ERROR"))

    assert lines[2].split() == ["score", "time", "service", "level", "where", "line"]
    assert "0.300  12:00:00  sshd" in lines[4]


def test_what_would_leave_too_little_for_the_line_goes_under_it(new_screen: NewScreen) -> None:
    lines = shown(new_screen, 80, hit(LONG, service="checkout-api", level="ERROR"))

    assert lines[2].split() == ["score", "line"]
    assert lines[-1].split() == ["12:00:00", "checkout-api", "ERROR", "logs/1@250"]
    assert lines[4].startswith("0.300  Mar 14 15:09:26 gate7 sshd[31415]: PAM 5 more authentication failures;")


@pytest.mark.parametrize("width", [80, 140])
def test_a_column_that_is_empty_in_all_hits_is_not_there(new_screen: NewScreen, width: int) -> None:
    told = "\n".join(shown(new_screen, width, hit("one", level="WARN"), hit("two")))

    assert "WARN" in told
    assert "service" not in told


def test_the_day_is_said_once_when_it_is_the_same(new_screen: NewScreen) -> None:
    lines = shown(new_screen, 80, hit(), hit(time=NOON_MS + 1000))

    assert lines[1] == "who is it  · 253 ms · 2024-05-01 UTC"
    assert "2024-05-01" not in "".join(lines[2:])


def test_hits_of_several_days_show_each_day(new_screen: NewScreen) -> None:
    told = "\n".join(shown(new_screen, 140, hit(), hit(time=NOON_MS + A_DAY_MS)))

    assert "2024-05-01 12:00:00" in told
    assert "2024-05-02 12:00:00" in told


def test_a_time_that_no_calendar_has_is_shown_as_its_number() -> None:
    assert shown_times([NOON_MS, 1 << 62]) == ("", [str(NOON_MS), str(1 << 62)])


def test_the_template_is_not_shown(new_screen: NewScreen) -> None:
    assert "ttt" not in "\n".join(shown(new_screen, 140, hit()))


def test_no_hits_are_said(new_screen: NewScreen) -> None:
    assert shown(new_screen, 80)[-1] == "No lines found."


def test_an_answer_that_was_cut_short_says_so(new_screen: NewScreen) -> None:
    assert "cut short" in shown(new_screen, 80, hit(), complete=False)[-1]


def test_a_line_cannot_control_the_terminal(new_screen: NewScreen) -> None:
    told = "\n".join(shown(new_screen, 80, hit("\x1b[31mred\x07\r", service="\x1b]0;title\x07"), hit("[bold]not markup[/bold]")))

    assert "\x1b" not in told
    assert r"\x1b[31mred" in told
    assert "[bold]not markup[/bold]" in told


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
        show({"records": 16_000, "tokens saved": 1_234_567})

    assert written.getvalue() == "records 16,000, tokens saved 1,234,567\n"


def test_figures_stand_below_their_names_in_80_columns_of_a_terminal() -> None:
    written = io.StringIO()
    screen = Screen(console=Console(file=written, width=80, force_terminal=True, color_system=None))
    names = ("records", "rows", "templates", "tokens embedded", "tokens saved", "lag")

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
    screen.answer({"text": "q", "seconds": 1.0, "complete": True, "hits": [hit()]})
    with screen.progress() as show:
        show({"records": 1})
    screen.tell("what you need")
    screen.warn("kafka is away")

    out, err = capsys.readouterr()
    assert out == ""
    assert err == "vectail: what you need\nvectail: kafka is away\n"


def test_the_figures_of_a_demo_are_sentences(new_screen: NewScreen) -> None:
    screen, written = new_screen(80)
    figures = {"records": 2000, "rows": 1, "templates": 185, "dead_letters": 1, "dropped": 2, "seconds": 0.0, "engine": "llama.cpp"}

    screen.result({**figures, "tokens_embedded": 25, "tokens_saved": 75, "queries": []})

    assert written.getvalue() == (
        "\n2,000 lines in 0.0 s (0 a second) on llama.cpp.\nIn the index: 1 row of 185 templates; dead letters: 1; dropped: 2.\n"
        "75.0 % of the tokens did not have to be embedded.\n"
    )

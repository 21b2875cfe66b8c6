"""How answers look: lines get most of the width, empty columns are left out, the query's words are highlighted."""

import io
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from rich.console import Console

from worker.cli.screen import Screen
from worker.cli.search_screen import show_around, show_demo, show_hits, show_templates, show_templates_like

NOON_MS = 1_714_564_800_000
A_DAY_MS = 86_400_000
LONG = "Mar 14 15:09:26 gate7 sshd[31415]: PAM 5 more authentication failures; logname= uid=0 euid=0 tty=ssh ruser= rhost=198.51.100.64"
AROUND = partial(show_around, place="logs/1@250")
TEMPLATE = {"template": "t", "text": "disk <n> full", "lines": 1234, "first": NOON_MS, "last": NOON_MS + 1000, "example": "disk 7 is full"}
FAMILY: dict[str, Any] = {"family": "0123456789abcdef", "family_templates": 3, "family_lines": 1234}
CUT_SHORT = "The search was cut short by a limit or its deadline; there may be more."


def hit(text: str | None = "a line", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON has it
    place = {"topic": "logs", "partition": 1, "offset": 250, "sub": 0, "chunk": 0}
    return {"score": 0.3, "text": text, "template": "t" * 32, "time": NOON_MS, "service": "", "level": "", **place, **more}


def answer_of(*hits: dict[str, Any], text: str = "who is it", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON has it
    return {"text": text, "seconds": 0.2531, "mode": "dense", "complete": True, "hits": list(hits), **more}


def around(*hits: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - as JSON has it
    without_score = [{name: value for name, value in one.items() if name != "score"} for one in hits]
    return {"around": "logs/1@250", "seconds": 0.0123, "complete": True, "hits": without_score, **more}


def told(width: int, show: Callable[[Screen, dict[str, Any]], None], answer: dict[str, Any]) -> list[str]:
    """Return the lines that a terminal of this width shows."""
    written = io.StringIO()
    show(Screen(console=Console(file=written, width=width, force_terminal=True, color_system=None, highlight=False)), answer)
    return [line.rstrip() for line in written.getvalue().splitlines()]


def shown(width: int, *hits: dict[str, Any], **more: Any) -> list[str]:  # noqa: ANN401 - as answer_of
    return told(width, show_hits, answer_of(*hits, **more))


def on_a_terminal(show: Callable[[Screen, dict[str, Any]], None], answer: dict[str, Any], width: int = 140) -> str:
    written = io.StringIO()
    show(Screen(console=Console(file=written, width=width, force_terminal=True, color_system="standard", highlight=False)), answer)
    return written.getvalue()


def marked(written: str) -> list[str]:
    """Return the texts that are bold and red."""
    return re.findall(r"\x1b\[1;31m(.*?)\x1b\[0m", written)


def test_in_80_columns_a_line_gets_more_than_half_of_them() -> None:
    lines = shown(80, hit(LONG))
    assert max(map(len, lines)) <= 80
    heading = lines[2]
    assert heading.split() == ["fit", "time", "where", "line"]
    assert heading.index("line") <= 80 * 0.45
    assert sum(1 for line in lines[4:] if line) == 3


def test_what_would_leave_too_little_for_the_line_goes_under_it() -> None:
    wide = shown(140, hit(LONG, service="sshd", level="ERROR"))
    assert wide[2].split() == ["fit", "time", "service", "level", "where", "line"]
    assert "0.30  12:00:00  sshd" in wide[4]
    lines = shown(80, hit(LONG, service="checkout-api", level="ERROR"))
    assert lines[2].split() == ["fit", "line"]
    assert lines[-1].split() == ["12:00:00", "checkout-api", "ERROR", "logs/1@250"]
    assert lines[4].startswith("0.30  Mar 14 15:09:26 gate7 sshd[31415]: PAM 5 more authentication failures;")


@pytest.mark.parametrize("width", [80, 140])
def test_a_column_that_is_empty_in_all_hits_is_not_there(width: int) -> None:
    lines = "\n".join(shown(width, hit("one", level="WARN"), hit("two")))
    assert "WARN" in lines
    assert "service" not in lines


def test_the_day_is_said_once_when_it_is_the_same_and_else_with_each_hit() -> None:
    lines = shown(80, hit(), hit(time=NOON_MS + 1000))
    assert lines[1] == "who is it  · dense · 253 ms · 2024-05-01 UTC"
    assert "2024-05-01" not in "".join(lines[2:])
    lines = shown(140, hit(), hit(time=NOON_MS + A_DAY_MS))
    assert [line.split()[1:3] for line in lines[-2:]] == [["2024-05-01", "12:00:00"], ["2024-05-02", "12:00:00"]]


@pytest.mark.parametrize("width", [60, 140])
def test_a_forged_reply_cannot_control_the_terminal(width: int, subtests: pytest.Subtests) -> None:
    control = "\x1b]0;title\x07\x1b[2J\r\x9b31m\u202e\u2066"
    forged = hit(topic=f"logs{control}", partition=control, offset=control)
    neighbours = on_a_terminal(partial(show_hits, offers_neighbours=True), answer_of(forged), width)
    assert re.findall(r"\x1b\]|[\x9b\u202e\u2066]", neighbours) == []
    for name, show, answer in (
        ("hits", show_hits, answer_of(forged, mode=f"dense{control}")),
        ("around", AROUND, around(forged, mode=control)),
        ("templates", partial(show_templates_like, advice=""), answer_of(templates=[TEMPLATE | {"score": 0.5}], mode=control)),
    ):
        with subtests.test(name):
            assert [character for character in "".join(told(width, show, answer)) if not character.isprintable()] == []


def test_the_figures_of_a_demo_are_sentences() -> None:
    figures = {"records": 2000, "lines": 1, "templates": 185, "dead_letters": 1, "dropped": 2, "seconds": 0.0, "engine": "llama.cpp"}
    figures |= {"tokens_embedded": 25, "tokens_saved": 75, "queries": []}
    shown = [
        "",
        "2,000 lines in 0.0 s (0 a second) on llama.cpp.",
        "In the index: 1 line of 185 templates; dead letters: 1; dropped: 2.",
        "75.0 % of the tokens did not have to be embedded.",
    ]
    assert told(80, show_demo, {**figures, "suggestions": {"families": 0, "suggestions": []}}) == shown
    *before, blank, offered = told(
        200, show_demo, {**figures, "suggestions": {"families": 12, "suggestions": [{"template": "for \x1b *"}]}}
    )
    assert (before, blank) == (shown, "")
    assert offered.startswith('12 families differ in one word, as in "for \\x1b *": ')


@pytest.mark.parametrize(
    ("query", "line", "found"),
    [
        ("disk full", "Disk /dev/sda1 is FULL, disks are not fuller", ["Disk", "FULL"]),
        ("what is the disk", "what is the disk", ["disk"]),
        ("10.0.0.1", "10.0.0.1:80 110.0.0.1 10.0.0.12 size 10", ["10.0.0.1"]),
        ("blk_-16 failed", "blk_-16 Failed, blk_-161, block blk_", ["blk_-16", "Failed"]),
        ("a+b (c", "nothing of it: (c)", ["c"]),
        ("who is it", "who is it", []),
        ('"disk full" -canary level:INFO', "disk full of canary level INFO", ["disk", "full"]),
    ],
)
def test_words_of_the_query_stand_out_on_a_terminal_whole_and_in_any_case(query: str, line: str, found: list[str]) -> None:
    assert marked(on_a_terminal(show_hits, answer_of(hit(line), text=query))) == found


@pytest.mark.parametrize(
    ("mode", "fit", "seen"),
    [
        ("dense", {"score": 0.61237}, ["0.61"]),
        ("words", {"score": 12.3456}, ["12.35"]),
        ("hybrid", {"score": 0.61237, "similarity": "strong"}, ["strong", "0.61"]),
    ],
)
def test_the_mode_is_said_and_how_well_a_hit_fits(mode: str, fit: dict[str, Any], seen: list[str]) -> None:
    lines = shown(80, hit(**fit), mode=mode)
    assert lines[1].startswith(f"who is it  · {mode} · 253 ms")
    assert lines[2].split()[0] == "fit"
    assert lines[4].split()[: len(seen)] == seen


def test_where_nothing_is_close_that_is_said_above_the_nearest() -> None:
    far = hit("a far line", score=0.1, similarity="none")
    lines = shown(80, far, nothing_close=True)
    assert lines[2].startswith("Nothing close to this is in the index.")
    assert "a far line" in "".join(lines[3:])
    of_families = told(80, partial(show_templates_like, advice=""), answer_of(templates=[TEMPLATE | {"score": 0.1}], nothing_close=True))
    assert of_families[2] == lines[2]
    assert not any("Nothing close" in line for line in shown(80, far))


def test_a_piece_of_a_long_line_says_which() -> None:
    lines = shown(140, hit("a piece", chunk=1, chunks=3), hit("a whole line", chunks=1))
    assert lines[2].split() == ["fit", "time", "piece", "where", "line"]
    assert "12:00:00  2/3" in lines[4]


def test_hits_without_a_score_are_numbered() -> None:
    newest = [{name: value for name, value in hit(text).items() if name != "score"} for text in ("one", "two")]
    assert [line.split()[0] for line in shown(80, *newest)[-2:]] == ["1", "2"]


def test_when_nothing_was_found_it_says_what_to_try_and_whether_it_was_cut_short() -> None:
    assert shown(80)[-1] == "No lines found."
    said = told(80, partial(show_hits, advice="Try it without --level."), answer_of(complete=False))
    assert said[2:] == ["No lines found. Try it without --level.", CUT_SHORT]


def test_on_a_terminal_it_says_how_to_see_the_neighbours_of_the_first_hit() -> None:
    show = partial(show_hits, offers_neighbours=True)
    assert "vectail search --around logs/1@250" in on_a_terminal(show, answer_of(hit(), hit(offset=3)))
    written = io.StringIO()
    show(Screen(console=Console(file=written)), answer_of(hit()))
    assert "--around" not in written.getvalue()


def test_neighbours_stand_in_order_and_the_line_itself_is_marked() -> None:
    hits = (hit("before", offset=249), hit("itself"), hit("its second entry", sub=1), hit("after", offset=251))
    lines = told(140, AROUND, around(*hits))
    assert lines[1] == "around logs/1@250  · 12 ms · 2024-05-01 UTC"
    assert lines[2].split() == ["time", "where", "line"]
    assert [line.split()[-1] for line in lines[4:]] == ["before", "itself", "entry", "after"]
    assert [line.startswith(">") for line in lines[4:]] == [False, True, True, False]
    assert "logs/1@249" in lines[4]


@pytest.mark.parametrize(
    ("hits", "said"),
    [
        ([hit("before", offset=249)], "logs/1@250 itself is not in the index."),
        ([], "Neither logs/1@250 nor the lines around it are in the index; -C looks further."),
    ],
)
def test_a_line_that_is_not_in_the_index_has_no_mark_and_that_is_said(hits: list[dict[str, Any]], said: str) -> None:
    assert told(140, AROUND, around(*hits, complete=False))[-2:] == [said, CUT_SHORT]


def test_neighbours_with_a_value_in_common_name_it_and_a_line_without_one_says_so() -> None:
    lines = told(140, AROUND, around(hit(), hit(partition=3), same={"name": "trace_id", "value": "t\x1b"}))
    assert lines[1] == "around logs/1@250, trace_id t\\x1b  · 12 ms · 2024-05-01 UTC"
    assert [line.startswith(">") for line in lines[4:]] == [True, False], "another partition has the same offset"
    for hits, said in (([hit()], "It has no trace_id."), ([], "logs/1@250 is not in the index.")):
        shown = told(140, AROUND, around(*hits, same={"name": "trace_id", "value": None}))
        assert shown[-1] == f"{said} Without --by, the records around it are shown."


def test_a_place_that_is_a_dead_letter_says_why_and_what_shows_it() -> None:
    letter = {"partition": 3, "offset": 17, "reason": "too_large: 9 bytes\x1b, 4 are allowed"}
    for hits in ([], [hit(offset=249)]):
        assert told(140, AROUND, around(*hits, dead_letter=letter))[-2:] == [
            "It is a dead letter: too_large: 9 bytes\\x1b, 4 are allowed",
            "`vectail dlq show 3/17` says what can be done.",
        ]


def test_templates_like_a_query_are_shown_with_the_query_above() -> None:
    show = partial(show_templates_like, advice="")
    lines = told(100, show, answer_of(templates=[TEMPLATE | {"score": 0.5}], text="disk"))
    assert lines[1] == "disk  · dense · 253 ms"
    assert lines[3].split() == ["fit", "lines", "first", "last", "example"]
    assert lines[5].split() == ["0.50", "1,234", "12:00:00", "12:00:01", "disk", "7", "is", "full"]
    assert marked(on_a_terminal(show, answer_of(templates=[TEMPLATE], text="disk"))) == ["disk"], "words stand out in examples too"


def test_a_family_says_how_many_templates_it_has_and_how_to_see_them() -> None:
    families = [
        TEMPLATE | {"family": "0123456789abcdef", "templates": 3, "name": "no \x1b space"},
        TEMPLATE | {"family": "f" * 16, "templates": 1},
    ]
    lines = [line.strip() for line in told(100, show_templates, {"templates": families, "complete": True})]
    assert [line for line in lines if "family" in line] == ["3 templates, family 0123456789abcdef"]
    assert sum(r"no \x1b space" in line for line in lines) == 1


@pytest.mark.parametrize("width", [80, 140])
def test_a_hit_says_what_it_stands_for(width: int) -> None:
    named = hit(name="no \x1b space", **FAMILY | {"family_templates": 1})
    alone = hit(family="f" * 16, family_templates=1, family_lines=1)
    lines = shown(width, hit(**FAMILY), named, alone, hit(family="f" * 16))
    told_of = [line.strip() for line in lines if "1,234 lines" in line]
    assert told_of == ["+2 templates, 1,234 lines · family 0123456789abcdef", r"no \x1b space · 1,234 lines"]
    assert sum("family" in line for line in lines) == 1


def test_a_hit_names_some_of_the_families_that_differ_in_one_word() -> None:
    words = ["liam", "na\x1bdia", "jonas", "ines", "kavya", "hiro"]
    alike = [{"family": "f" * 16, "word": word} for word in words]
    lines = [line.strip() for line in shown(140, hit(alike=alike), hit(alike=alike[:1]), hit())]
    assert [line for line in lines if "one word" in line] == [
        r"and 6 more that differ in one word: liam, na\x1bdia, jonas, ines, kavya …",
        "and 1 more that differs in one word: liam",
    ]


def test_no_templates_are_said_with_what_to_try() -> None:
    like = told(100, partial(show_templates_like, advice="Try it without --topic."), answer_of(templates=[]))
    assert like[-1] == "No lines found. Try it without --topic."
    cut, none = (told(100, show_templates, {"templates": [], "complete": complete}) for complete in (False, True))
    assert cut == ["The count is incomplete: a limit or the time-out cut it short."], "there may be templates"
    assert none == ["No lines in this span, or none that the filters leave."]


@pytest.mark.parametrize("width", [80, 140])
def test_the_fields_of_a_hit_are_on_one_line_below_its_text_and_the_well_known_ones_first(width: int) -> None:
    fields = {"user.id": "u7", "n": 7, "note": "x" * 300, "k8s.pod.name": "web\x1b-1", "trace_id": "t-1", "ok": True}
    lines = shown(width, hit(LONG, fields=fields), hit("no fields"))
    (line,) = [line for line in lines if "trace_id" in line]
    assert line.lstrip().startswith(r"trace_id=t-1  k8s.pod.name=web\x1b-1  user.id=u7  ")
    assert line.endswith("…")
    assert max(map(len, lines)) <= width
    assert not any("ok=" in line for line in lines)
    short = shown(80, hit(fields={"ok": True, "http.response.status_code": 503}))
    assert any(line.endswith("http.response.status_code=503  ok=true") for line in short)


def test_of_a_sampled_line_the_template_is_shown_and_marked() -> None:
    sampled = hit(None, template_text="disk full on <host>", sampled=True)
    for lines in (shown(80, sampled), told(80, AROUND, around(sampled))):
        assert any("(sampled) disk full on <host>" in line for line in lines)

"""What differs between two windows: what is new, gone, and came more or less often than chance explains."""

import json
from collections import Counter
from typing import Any

import pytest

from consumers.text.families import family_of
from consumers.text.mask import Masker
from consumers.text.mask_patterns import NEW_IN_VERSION_5
from sinks.line import Line
from tests.template_ids import id_of
from tests.world import index_of, line, open_sink, template, unit
from worker.asking.refusals import BadQuery
from worker.querying.compare import compare_windows
from worker.querying.forms import parse_query
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery

HOUR_MS = 3_600_000


def stored(before: dict[str, int], now: dict[str, int]) -> Index:
    """Return an index with so many lines of some templates in the first hour, and in the second one."""
    lines: list[Line] = []
    for begin_ms, counts in ((0, before), (HOUR_MS, now)):
        for text, count in counts.items():
            lines += [line(len(lines) + n, template_text=text, time=begin_ms + n * (HOUR_MS // max(count, 1))) for n in range(count)]
    vectors = {"disk": unit(1.0), "net": unit(0.0, 1.0)}
    return index_of(open_sink(template(text, vectors.get(text.split()[0], unit(0.0, 0.0, 1.0))) for text in {**before, **now}), lines)


def compare(index: Index, *, text: str | None = None, length_ms: int = HOUR_MS, **request: Any) -> Any:  # noqa: ANN401
    windows = {
        "filters": {"since_ms": HOUR_MS, "until_ms": HOUR_MS + length_ms, **request.pop("filters", {})},
        "compare": request.pop("before", {"since_ms": 0, "until_ms": HOUR_MS}),
    }
    query = parse_query(json.dumps({"as": "compare", **windows, **({} if text is None else {"text": text}), **request}).encode())
    return compare_windows(index, PreparedQuery(query, unit(1.0)), lambda: False)


def told(answer: dict[str, Any]) -> list[tuple[str, str, int, int]]:
    return [(one["change"], one["text"], one["lines"], one["before"]) for one in answer["compare"]]


def test_what_is_new_gone_up_and_down_is_told_most_telling_first() -> None:
    index = stored(
        {"disk full": 40, "net down": 100, "net up": 3, "quiet": 50, "gone rare": 2, "gone often": 30},
        {"disk full": 100, "net down": 20, "net up": 3, "quiet": 52, "new rare": 1, "new often": 60},
    )
    answer = compare(index)
    assert told(answer) == [
        ("new", "new often", 60, 0),
        ("new", "new rare", 1, 0),
        ("gone", "gone often", 0, 30),
        ("gone", "gone rare", 0, 2),
        ("up", "disk full", 100, 40),
        ("down", "net down", 20, 100),
    ]
    assert [one["ratio"] for one in answer["compare"]] == [None, None, 0.0, 0.0, 2.5, 0.2]
    assert answer["totals"] == {"lines": 236, "before": 225}
    assert answer["complete"]
    first = answer["compare"][0]
    assert (first["family"], first["templates"], first["first"]) == (family_of("new often"), 1, HOUR_MS)
    assert [one["last"] < HOUR_MS for one in answer["compare"]] == [False, False, True, True, False, False], "of what is gone, when it was"


@pytest.mark.parametrize(
    ("before", "now", "changes"),
    [(1, 2, []), (1, 4, []), (2, 10, []), (2, 16, ["up"]), (100, 190, []), (100, 200, ["up"]), (16, 2, ["down"]), (3, 1, [])],
)
def test_few_lines_more_or_less_are_noise(before: int, now: int, changes: list[str]) -> None:
    assert [one["change"] for one in compare(stored({"disk full": before}, {"disk full": now}))["compare"]] == changes


def test_windows_of_different_length_are_compared_by_rate() -> None:
    index = stored({"disk full": 60}, {"disk full": 60})
    assert compare(index)["compare"] == []
    same_rate = compare(index, length_ms=HOUR_MS // 2)
    assert same_rate["totals"] == {"lines": 30, "before": 60}
    assert same_rate["compare"] == []
    slower = compare(index, length_ms=10 * HOUR_MS)
    assert [(one["change"], one["ratio"]) for one in slower["compare"]] == [("down", 0.1)]


def test_families_are_one_entry_and_templates_can_be_told_one_by_one() -> None:
    index = stored({"login failed": 4}, {"login failed": 40, "login failed!": 30, "Login failed.": 20})
    (family,) = compare(index)["compare"]
    assert (family["change"], family["lines"], family["before"], family["templates"]) == ("up", 90, 4, 3)
    each = compare(index, expand=True)["compare"]
    assert [(one["change"], one["template"]) for one in each] == [
        ("new", id_of("login failed!")),
        ("new", id_of("Login failed.")),
        ("up", id_of("login failed")),
    ]
    assert {one["family"] for one in each} == {family["family"]}
    assert len(compare(index, expand=True, k=1)["compare"]) == 2, "so many of each change"


def test_across_a_change_of_masks_old_templates_are_gone_and_others_new_but_where_they_are_one_family() -> None:
    lines = ["disk full", *(f"token refreshed for {name}" for name in ("nadia", "liam")), *("pulled cart-7f9c6d5b8-x2x9z", "pulled web01")]
    before, now = (
        dict(Counter(masker.mask([line for line in lines for _ in range(9)])))
        for masker in (Masker(disabled=NEW_IN_VERSION_5), Masker())
    )  # fmt: skip
    each = told(compare(stored(before, now), expand=True))
    assert {text for change, text, *_ in each if change == "new"} == set(now) - set(before) == {"token refreshed for", "pulled"}
    assert {text for change, text, *_ in each if change == "gone"} == set(before) - set(now), "stored lines keep their templates"
    assert "disk full" not in {text for _, text, *_ in each}, "lines that the new masks do not touch have the id of before"
    families = told(compare(stored(before, now)))
    assert [text for change, text, *_ in families if change == "new"] == ["pulled"], "an old template without its name is of the new family"
    assert compare(stored(before, now))["totals"] == {"lines": 45, "before": 45}
    assert told(compare(stored(now, now), expand=True)) == [], "nothing is new once both windows lie behind the change"


@pytest.mark.parametrize("first_min", [None, 31, 29])
def test_nothing_is_called_new_or_rising_in_an_index_that_is_hardly_older_than_the_window(first_min: int | None) -> None:
    is_young = first_min != 29
    lines = [line(n, template_text="disk full", time=HOUR_MS + 7 + n, service="disk") for n in range(50)]
    if first_min is not None:
        lines += [line(60 + n, template_text="net down", time=first_min * 60_000 + n, service="net") for n in range(9)]
    index = index_of(open_sink([template("disk full", unit(1.0)), template("net down", unit(0.0, 1.0))]), lines)
    answer = compare(index)
    assert [change for change, *_ in told(answer)] == [*([] if is_young else ["new"]), *([] if first_min is None else ["gone"])]
    assert answer.get("begins_ms") == (None if not is_young else HOUR_MS + 7 if first_min is None else first_min * 60_000)
    filtered = compare(index, filters={"service": ["disk"]})
    assert [change for change, *_ in told(filtered)] == ([] if is_young else ["new"]), "filters do not say how old the index is"
    assert bool(compare(index, by=["service"])["compare"]) is not is_young


def test_an_index_that_was_silent_in_the_time_before_is_not_young() -> None:
    lines = [line(n, template_text=text, time=at_ms) for n, (text, at_ms) in enumerate([("disk full", 0), ("net down", 2 * HOUR_MS)])]
    index = index_of(open_sink([template("disk full", unit(1.0)), template("net down", unit(0.0, 1.0))]), lines)
    now, before = ({"since_ms": hour * HOUR_MS, "until_ms": (hour + 1) * HOUR_MS} for hour in (2, 1))
    assert told(compare(index, filters=now, before=before)) == [("new", "net down", 1, 0)]


def test_of_what_changed_so_the_most_severe_comes_first_and_of_these_the_surest() -> None:
    new = {"chatter": ("DEBUG", 90), "crashed": ("ERROR", 2), "crashed twice": ("ERROR", 9), "killed": ("FATAL", 1), "unmarked": ("", 50)}
    lines = [line(n, template_text="quiet", time=n * 1_000) for n in range(60)]
    for text, (level, count) in new.items():
        lines += [line(100 + len(lines) + n, template_text=text, time=HOUR_MS + n, level=level) for n in range(count)]
    lines.append(line(900, template_text="chatter", time=HOUR_MS + 7, level="FATAL"))
    index = index_of(open_sink(template(text, unit(1.0)) for text in ("quiet", *new)), lines)
    found = [one for one in compare(index)["compare"] if one["change"] == "new"]
    assert [(one["text"], one["level"]) for one in found] == [
        ("killed", "FATAL"),
        ("crashed twice", "ERROR"),
        ("crashed", "ERROR"),
        ("chatter", "DEBUG"),
        ("unmarked", ""),
    ]


def test_values_of_a_label_or_field_are_compared_too_the_surest_change_first() -> None:
    counts = {"payments": (20, 200), "search": (50, 55), "mailer": (9, 0), "stock": (0, 4)}
    lines: list[Line] = []
    for service, both in counts.items():
        for begin_ms, count in zip((0, HOUR_MS), both, strict=True):
            lines += [line(len(lines) + n, template_text="disk full", time=begin_ms + n, service=service) for n in range(count)]
    index = index_of(open_sink([template("disk full", unit(1.0))]), lines)
    answer = compare(index, by=["service"])
    assert [(one["service"], one["change"], one["lines"], one["before"], one["ratio"]) for one in answer["compare"]] == [
        ("payments", "up", 200, 20, 10.0),
        ("mailer", "gone", 0, 9, 0.0),
        ("stock", "new", 4, 0, None),
        ("search", "same", 55, 50, 1.1),
    ]
    assert answer["totals"] == {"lines": 259, "before": 79}
    assert [one["service"] for one in compare(index, by=["service"], k=2)["compare"]] == ["payments", "mailer"]
    assert [one["service"] for one in compare(index, by=["service"], filters={"service": ["stock"]})["compare"]] == ["stock"]
    assert [one["lines"] for one in compare(index, by=["field:pod"])["compare"]] == [259], "none of them has it"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"by": ["time"]}, "by: compare takes one label or field"),
        ({"by": ["service", "level"]}, "by: compare takes one label or field"),
        ({"by": [["service"]]}, "by: compare takes one label or field"),
        ({"by": ["service"], "expand": True}, "expand: is for families, not for groups"),
    ],
)
def test_what_cannot_be_compared_is_refused(request_: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadQuery, match=reason):
        compare(stored({"disk full": 1}, {"disk full": 1}), **request_)


def test_all_that_is_read_for_a_comparison_ends_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    index = stored({"disk full": 9}, {"disk full": 40, "net down": 3})
    given: list[object] = []
    for name in ("count", "span_of"):
        read = getattr(index.reader, name)

        def noted(*of: object, read: Any = read, **how: object) -> object:  # noqa: ANN401
            given.append(how.get("deadline_passed"))
            return read(*of, **how)

        monkeypatch.setattr(index.reader, name, noted)
    compare(index)
    assert given
    assert None not in given


def test_filters_and_a_text_say_what_is_compared_and_what_is_gone_counts_too() -> None:
    index = stored({"disk full": 30, "net down": 30}, {"net up": 30})
    gone = compare(index, text="disk", mode="dense", filters={"template": [id_of("disk full")]})
    assert told(gone) == [("gone", "disk full", 0, 30)]
    assert gone["totals"] == {"lines": 0, "before": 30}
    assert compare(index, filters={"service": ["none"]})["totals"] == {"lines": 0, "before": 0}

"""What is said of a lag: right within 30 % while rates are steady, else that it is not known; replayed on courses."""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.rows import rows
from tests.worker.watching.lag_courses import LagCourse, SeenLook, Span, recorded, simulated
from worker.watching.lag_history import MOST_POINTS, LagPoint
from worker.watching.outlook import KEEPS_UP_S, STILL_S, Outlook, outlook_of, range_of, total_outlook

SETTLED_S: Final = 41.0
"""Rates that have been the same for the shortest span and one look more are steady."""
# Commits of a real client on librdkafka's mock cluster, as `KafkaPositions` reads them; rates changed at the times in `changes`.
RECORDED: Final = json.loads(Path(__file__).with_name("recorded_courses.json").read_text(encoding="utf-8"))

SIMULATED: Final = {
    "a burst, then the feed stops": simulated(Span(120, 2_000, 800), Span(700, 0, 800)),
    "a burst, then the feed is as before": simulated(Span(60, 100, 800), Span(120, 2_000, 800), Span(700, 100, 800)),
    "the feed stops while the group catches up slowly": simulated(Span(200, 900, 1_000), Span(700, 0, 1_000), backlog=100_000),
    "a backlog": simulated(Span(700, 200, 1_000), backlog=200_000),
    "a backlog and commits every 5 s": simulated(Span(700, 200, 1_000), backlog=200_000, commit_s=5),
    "a restart of half a minute": simulated(Span(100, 200, 1_000), Span(130, 200, 0), Span(700, 200, 1_000), backlog=200_000),
    "a rebalance of 8 s": simulated(Span(100, 200, 1_000), Span(108, 200, 0), Span(700, 200, 1_000), backlog=200_000),
    "the index is away for 4 min": simulated(Span(60, 200, 1_000), Span(300, 200, 0), Span(700, 200, 1_000)),
    "a second worker joins": simulated(Span(150, 900, 1_000), Span(800, 900, 2_000), backlog=150_000),
    "a worker leaves": simulated(Span(100, 200, 3_000), Span(900, 200, 1_000), backlog=600_000),
    "a few records a second": simulated(Span(700, 5, 8), backlog=1_200),
    "the feed comes in batches of 10 s": simulated(Span(700, 100, 300), backlog=40_000, batch_s=10),
    "a burst every minute": simulated(Span(700, 500, 1_000), batch_s=60),
    "transactions of 5 s": simulated(Span(600, 300, 1_000), backlog=150_000, commit_s=5, batch_s=5),
    "transactions of 20 s": simulated(Span(500, 300, 1_000), backlog=100_000, commit_s=20, batch_s=20),
    "somebody looks every 2 s": simulated(Span(100, 200, 1_000), Span(900, 200, 1_500), backlog=300_000, look_s=2),
    "a group that keeps up": simulated(Span(300, 200, 1_000)),
    "a group that falls behind": simulated(Span(500, 1_000, 800)),
    "as much comes as goes": simulated(Span(500, 1_000, 1_000), backlog=30_000),
}
COURSES: Final = {**SIMULATED, **{name: recorded(one["looks"], one["changes"]) for name, one in RECORDED.items()}}
TOLD: Final = {
    "a burst, then the feed stops", "a backlog", "a restart of half a minute", "a second worker joins", "a worker leaves",
    "a few records a second", "somebody looks every 2 s",
}  # fmt: skip
"""Courses of which most steady looks must be told: "not known yet" is always right, and of no use."""


def outlooks(course: LagCourse) -> list[tuple[SeenLook, Outlook]]:
    points = [one.point for one in course.looks]
    return [
        (look, outlook_of(points[max(0, number + 1 - MOST_POINTS) : number + 1], look.age_s)) for number, look in enumerate(course.looks)
    ]


def is_steady(course: LagCourse, look: SeenLook) -> bool:
    """Whether rates have been the same for a while and stay so until the lag is gone, or until the end."""
    at_s = look.point.at_s
    until_s = at_s + look.left_s if look.left_s is not None else float("inf")
    return not any(at_s - SETTLED_S < change < until_s for change in course.changes)


@pytest.mark.parametrize("name", COURSES)
def test_while_rates_are_steady_what_is_said_is_right_within_30_percent(name: str) -> None:
    course = COURSES[name]
    wrong = []
    for look, outlook in outlooks(course):
        if not is_steady(course, look):
            continue
        is_right = True
        if outlook.middle_s is not None and outlook.kind == "catches_up":
            is_right = look.left_s is not None and abs(outlook.middle_s - look.left_s) <= max(0.3 * look.left_s, course.step_s)
        elif outlook.kind in ("falls_behind", "stands_still"):
            is_right = look.left_s is None or look.left_s <= course.step_s
        if not is_right:
            wrong.append((look.point.at_s, outlook.text, look.left_s))
    assert not wrong


@pytest.mark.parametrize("name", COURSES)
def test_it_keeps_up_where_nothing_waits_for_long_and_has_no_rate_in_the_first_half_minute(name: str) -> None:
    first_s = COURSES[name].looks[0].point.at_s
    for look, outlook in outlooks(COURSES[name]):
        assert "never" not in outlook.text
        assert (outlook.kind in ("keeps_up", "caught_up")) == (look.age_s < KEEPS_UP_S)
        assert outlook.kind not in ("catches_up", "falls_behind", "stands_still") or look.point.at_s - first_s >= 30.0


@pytest.mark.parametrize("name", sorted(TOLD))
def test_most_looks_at_a_steady_lag_are_told_when_it_is_gone(name: str) -> None:
    course = COURSES[name]
    known = [
        outlook.kind == "catches_up"
        for look, outlook in outlooks(course)
        if look.age_s >= KEEPS_UP_S and look.point.at_s >= SETTLED_S and (look.left_s or 0.0) > SETTLED_S and is_steady(course, look)
    ]
    assert len(known) > 3
    assert sum(known) >= 0.8 * len(known)


def test_courses_are_twenty_or_more_and_some_were_recorded() -> None:
    assert len(COURSES) >= 20
    assert len(RECORDED) >= 3


def test_a_feed_that_has_stopped_is_noticed_by_the_second_look() -> None:
    course = COURSES["a burst, then the feed stops"]
    after = [outlook.kind for look, outlook in outlooks(course) if 130.0 <= look.point.at_s < 120 + SETTLED_S]
    assert "falls_behind" not in after


def points_of(*rows: tuple[float, int | None, int]) -> Sequence[LagPoint]:
    return [LagPoint(at_s, round(1000 * at_s), committed, end, end - (committed or 0)) for at_s, committed, end in rows]


def test_a_group_that_commits_nothing_for_two_minutes_stands_still_and_its_neighbour_does_not() -> None:
    course = points_of(*((at_s, 500, 9_000 + at_s) for at_s in range(0, 125, 5)))
    assert outlook_of(course[:-2], 60.0).kind != "stands_still"
    assert outlook_of(course, 60.0) == Outlook("stands_still")
    total = total_outlook([Outlook("stands_still"), Outlook("keeps_up"), Outlook("catches_up", (10.0, 20.0), 5.0)])
    assert (total.kind, total.text, total.middle_s) == ("stands_still", "stands still in 1 of 3 partitions", float("inf"))
    assert course[-1].at_s >= STILL_S


def test_a_group_that_has_never_committed_makes_no_progress_when_retention_removes_records() -> None:
    course = [LagPoint(at_s, 1_000 * at_s, None, 9_000, 9_000 - 50 * at_s) for at_s in range(0, 100, 5)]
    assert outlook_of(course, 60.0) == Outlook("unknown")


@pytest.mark.parametrize("back", ["committed", "end", "begins to commit"])
def test_a_course_begins_again_where_something_went_back(back: str) -> None:
    before: tuple[int | None, int] = {"committed": (50_000, 90_000), "end": (500, 990_000), "begins to commit": (None, 90_000)}[back]
    old = [(at_s, before[0], before[1]) for at_s in range(0, 100, 5)]
    new = [(100 + at_s, 1_000 + 100 * at_s, 90_000 + at_s) for at_s in range(0, 60, 5)]
    kinds = [outlook_of(points_of(*old, *new[:count]), 900.0).kind for count in range(1, len(new) + 1)]
    assert [kind for kind, _ in itertools.groupby(kinds)] == ["unknown", "catches_up"]
    assert kinds.index("catches_up") >= 30 / 5


def test_records_that_name_an_old_time_and_have_just_come_are_no_lag() -> None:
    course = points_of((0, 100, 100), (5, 200, 205), (10, 300, 306))
    assert outlook_of(course, 86_400.0).kind == "keeps_up"
    assert outlook_of(course, None).kind == "keeps_up"
    assert outlook_of(points_of((0, 100, 200), (5, 100, 205), (10, 100, 306)), None).kind == "unknown"


def test_a_group_is_caught_up_when_its_slowest_partition_is_and_earlier_if_the_others_make_room() -> None:
    slow, fast = simulated(Span(700, 50, 150), backlog=40_000), simulated(Span(700, 50, 1_050), backlog=150_000, seed=2)
    ranges = []
    for (look, one), (other_look, other) in zip(outlooks(slow), outlooks(fast), strict=False):
        if one.kind == other.kind == "catches_up" and look.left_s and other_look.left_s:
            total = total_outlook([one, other, Outlook("keeps_up")])
            assert total.in_s is not None
            assert total.in_s[1] == pytest.approx(max(look.left_s, other_look.left_s), rel=0.3)
            assert total.in_s[0] <= max(look.left_s, other_look.left_s)
            ranges.append(total.text)
    assert ranges
    assert all(text.startswith("caught up in ") and " of " not in text for text in ranges)


def test_of_partitions_the_worst_speaks_for_the_group() -> None:
    assert total_outlook([]).text == "nothing waits"
    assert total_outlook([Outlook("caught_up"), Outlook("keeps_up")]).kind == "keeps_up"
    assert total_outlook([Outlook("unknown"), Outlook("catches_up", (1.0, 2.0), 3.0)]).middle_s is None
    assert total_outlook([Outlook("falls_behind"), Outlook("unknown")]).text == "falls behind in 1 of 2 partitions"
    assert total_outlook([Outlook("falls_behind")] * 2).text == "falls behind"


@pytest.mark.parametrize(("least_s", "most_s", "shown"), rows("watching/ranges"))
def test_a_range_is_in_one_unit_and_has_no_digits_that_nobody_knows(least_s: float, most_s: float, shown: str) -> None:
    assert range_of(least_s, most_s) == shown
    assert Outlook("catches_up", (least_s, most_s), 1.0).text == f"caught up in {shown}"

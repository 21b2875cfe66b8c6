"""Commits in flight: polling continues, only one commit at a time, and an outcome counts only for its own assignment."""

import pytest

from consumers.record import Partition
from tests.consumers.scene import Scene, idle, turn


def test_while_a_commit_has_no_outcome_there_is_no_second_one_and_polling_goes_on() -> None:
    scene = Scene()
    scene.play(
        *(lambda: scene.produce(0, 3), lambda: scene.fall_silent(0), lambda: scene.settle(1), *[idle] * 5),
        *(scene.answer, lambda: scene.settle(2)),
    )
    assert scene.broker.commits == [{scene.partition(0): 1}, {scene.partition(0): 2}, {scene.partition(0): 3}]
    calls = scene.source.calls
    first, second = [at for at, call in enumerate(calls) if call == "commit"][:2]
    assert calls[first:second].count("fetch") == 7


def test_the_last_commit_of_an_assignment_does_not_wait_for_the_outcome_of_the_one_before() -> None:
    scene = Scene()
    scene.play(lambda: scene.produce(0, 3), lambda: scene.fall_silent(0), lambda: scene.settle(1), lambda: scene.give(1), idle)
    assert scene.broker.commits == [{scene.partition(0): 1}, {scene.partition(0): 2}]


def test_an_outcome_of_a_past_assignment_says_nothing_about_this_one() -> None:
    scene = Scene()

    def other_member_rewinds_and_the_outcome_comes() -> None:
        scene.broker.committed[scene.partition(0)] = 1
        scene.answer()

    scene.play(lambda: scene.produce(0, 2), lambda: scene.fall_silent(0, 1), scene.lose, other_member_rewinds_and_the_outcome_comes, idle)
    assert scene.ledger.committed() == {}
    assert scene.said == []


def test_behind_the_last_record_the_end_is_committed_once_all_before_it_is_settled() -> None:
    scene = Scene()
    seen: list[dict[int, int]] = []

    def look() -> None:
        seen.append(scene.committed())

    scene.play(
        turn(lambda: scene.produce(0, 2), lambda: scene.broker.mark(0)),
        turn(look, lambda: scene.settle(1)),
        turn(look, lambda: scene.settle(0)),
        turn(look, lambda: scene.broker.mark(0), lambda: scene.broker.mark(1)),
        look,
    )
    assert seen == [{}, {}, {0: 3}, {0: 4, 1: 1}]
    assert scene.committed() == {0: 4, 1: 1}


def test_a_record_that_is_thrown_away_when_intake_stops_is_not_passed_over() -> None:
    scene = Scene()
    scene.play(
        lambda: scene.produce(0, 1),
        turn(scene.settle, scene.poller.stop_intake, lambda: scene.produce(0, 1), lambda: scene.broker.mark(0)),
        idle,
    )
    assert len(scene.source.handed_out) == 2
    assert scene.committed() == {0: 1}


def test_a_partition_that_goes_away_during_a_drain_with_open_records_is_given_up() -> None:
    scene = Scene()
    scene.play(lambda: scene.produce(0, 2), turn(lambda: scene.settle(0), scene.poller.stop_intake), lambda: scene.give(1), idle)
    assert scene.poller.commits.given_up == {scene.partition(0): None}


def test_a_partition_that_is_lost_during_a_drain_before_its_commit_was_accepted_is_given_up() -> None:
    scene = Scene()
    seen: list[dict[Partition, int | None]] = []
    scene.play(
        lambda: scene.produce(0, 2),
        turn(scene.fall_silent, scene.poller.stop_intake),
        scene.lose,
        lambda: seen.append(scene.poller.commits.given_up),
    )
    assert seen == [{scene.partition(0): 2}]


@pytest.mark.parametrize("refusal", ["", "illegal generation"], ids=["accepted", "refused"])
def test_what_became_of_a_commit_is_known_though_its_partition_has_moved_during_a_drain(refusal: str) -> None:
    scene = Scene()
    seen: list[dict[Partition, int | None]] = []
    scene.broker.refused = {scene.partition(0): refusal} if refusal else {}
    scene.play(
        lambda: scene.produce(0, 2),
        turn(scene.fall_silent, scene.poller.stop_intake),
        lambda: scene.give(1),
        turn(lambda: seen.append(scene.poller.commits.given_up), scene.answer),
        idle,
    )
    assert seen == [{scene.partition(0): 2}]
    assert scene.poller.commits.given_up == ({scene.partition(0): None} if refusal else {})

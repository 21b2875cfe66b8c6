"""An assignment that asks to begin again: nothing of it is committed any more, and the next one begins at the offset that it asked for."""

import pytest

from consumers.record import Partition, records_of
from tests.consumers.records import LOGS_0, Letters, admit, new_ledger, record, rejection
from tests.consumers.scene import Scene, idle, turn


def scene_of_ten() -> Scene:
    """Return a scene whose first partition holds ten records, of which five are committed; the first turn delivers the others."""
    scene = Scene()
    scene.broker.committed[scene.partition(0)] = 5
    scene.produce(0, 10)
    return scene


def ask(scene: Scene, offset: int) -> bool:
    """Have the assignment of the record that was delivered last begin again."""
    return scene.delivered[-1].assignment.begin_again(offset)


def test_the_records_from_there_on_come_again_with_an_assignment_of_their_own() -> None:
    scene = scene_of_ten()
    scene.play(idle, lambda: ask(scene, 3), idle, scene.settle)
    assert scene.offsets(0) == [*range(5, 10), *range(3, 10)]
    old, new = scene.delivered[0].assignment, scene.delivered[-1].assignment
    assert (old.begin_again_at, new.begin_again_at) == (3, None)
    assert scene.said == ["logs/0: reading begins again at 3, the first record of an event that is stored"]
    assert scene.committed() == {0: 10}
    assert scene.ledger.tally == {"admitted": 12, "abandoned": 5, "indexed": 7}


def test_the_old_assignment_commits_nothing_and_the_new_one_begins_with_a_commit_of_its_start() -> None:
    scene = scene_of_ten()
    scene.play(idle, turn(lambda: ask(scene, 3), scene.settle), idle, lambda: scene.settle(5), idle)
    assert scene.broker.commits == [{scene.partition(0): 3}, {scene.partition(0): 4}]


def test_while_a_commit_is_under_way_the_position_stays() -> None:
    scene = scene_of_ten()
    seen: list[list[int]] = []

    def fall_silent() -> None:
        scene.source.silent = True
        scene.settle(0)

    def look_and_answer() -> None:
        seen.append(scene.offsets(0))
        scene.source.silent = False

    scene.play(idle, fall_silent, lambda: ask(scene, 3), *[idle] * 3, look_and_answer, *[idle] * 3)
    assert seen == [[*range(5, 10)]]
    assert scene.offsets(0) == [*range(5, 10), *range(3, 10)]
    assert scene.broker.commits == [{scene.partition(0): 6}, {scene.partition(0): 3}]


def test_records_that_are_held_for_lack_of_room_are_dropped_and_come_again() -> None:
    scene = Scene(cap_records=4)
    scene.produce(0, 10)
    scene.play(idle, idle, lambda: ask(scene, 0), scene.settle, idle, scene.settle, *[turn(idle, scene.settle)] * 20)
    assert scene.offsets(0) == [*range(4), *range(10)]
    assert scene.committed() == {0: 10}


def test_other_partitions_go_on_where_they_are() -> None:
    scene = scene_of_ten()
    scene.produce(1, 4)
    scene.play(idle, lambda: scene.delivered[0].assignment.begin_again(3), idle, scene.settle)
    assert {partition: scene.offsets(partition).count(3) for partition in (0, 1)} == {0: 1, 1: 1}
    assert scene.committed() == {0: 10, 1: 4}


def test_what_kafka_no_longer_holds_is_not_waited_for_and_is_asked_for_once() -> None:
    scene = scene_of_ten()
    scene.broker.expire(0, 5)
    scene.play(idle, lambda: ask(scene, 3), idle, lambda: ask(scene, 3), scene.settle)
    assert scene.offsets(0) == [*range(5, 10)] * 2
    assert scene.said == [
        "logs/0: reading begins again at 5, the first record of an event that is stored that kafka still holds (it began at 3)"
    ]
    assert scene.committed() == {0: 10}


def test_an_assignment_that_was_begun_again_may_ask_for_an_earlier_offset_only() -> None:
    scene = scene_of_ten()
    answers: list[bool] = []
    scene.play(
        idle,
        lambda: answers.append(ask(scene, 3)),
        idle,
        lambda: answers.extend([ask(scene, 4), ask(scene, 3), ask(scene, 2), ask(scene, 1)]),
        *[idle] * 2,
    )
    assert answers == [True, False, False, True, False]
    assert scene.offsets(0) == [*range(5, 10), *range(3, 10), *range(2, 10)]


def test_after_a_rebalance_any_offset_may_be_asked_for() -> None:
    scene = scene_of_ten()
    answers: list[bool] = []
    scene.play(
        idle,
        turn(lambda: answers.append(ask(scene, 3)), lambda: scene.give(1)),
        lambda: scene.give(0, 1),
        idle,
        lambda: answers.append(ask(scene, 3)),
        *[idle] * 2,
    )
    assert answers == [True, True]
    assert scene.offsets(0) == [*range(5, 10), *range(5, 10), *range(3, 10)]


def test_a_drain_begins_nothing_again_and_commits_nothing_of_it() -> None:
    scene = scene_of_ten()
    scene.play(idle, turn(lambda: ask(scene, 3), scene.poller.stop_intake), scene.settle, *[idle] * 3)
    assert scene.offsets(0) == [*range(5, 10)]
    assert "begin_again" not in scene.source.calls
    assert scene.committed() == {0: 5}
    assert scene.poller.given_up == {}


def test_its_records_release_their_room_make_no_dead_letter_and_nothing_waits_for_them() -> None:
    letters = Letters()
    ledger = new_ledger(letters=letters)
    dropped, refused, settled = admit(ledger, record(5), record(6), record(7))
    assert dropped.assignment.begin_again(3)
    assert ledger.wait_until_settled([LOGS_0], 0.0)
    assert ledger.oldest_open_s() == {}
    late = ledger.admit(records_of([record(8)]))
    assert late is not None
    late.drop(late.arrival - late.arrival[0], "revoked")
    dropped.drop("revoked")
    refused.refuse(rejection("undecodable"))
    settled.expect(1, decoded_bytes=10)
    settled.settle()
    assert letters.posted == []
    assert (ledger.open_records, ledger.open_bytes, ledger.decoded_bytes) == (0, 0, 0)
    assert ledger.committable() == {}
    assert ledger.tally == {"admitted": 4, "abandoned": 4}


@pytest.mark.parametrize("others", [[], [Partition("logs", 1)]])
def test_it_stays_ours_until_another_begins_in_its_place(others: list[Partition]) -> None:
    ledger = new_ledger()
    (claim,) = admit(ledger, record(5))
    assert claim.assignment.begin_again(3)
    ledger.revoke(others)
    assert LOGS_0 in ledger.owned()
    assert ledger.asked_to_begin_again() == {LOGS_0: 3}
    ledger.begin_again(LOGS_0)
    assert ledger.asked_to_begin_again() == {}

"""An assignment that asks to begin again: nothing of it is committed any more, and the next one begins at the offset that it asked for."""

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
    look_and_answer = turn(lambda: seen.append(scene.offsets(0)), scene.answer)
    scene.play(idle, lambda: scene.fall_silent(0), lambda: ask(scene, 3), *[idle] * 3, look_and_answer, *[idle] * 3)
    assert seen == [[*range(5, 10)]]
    assert scene.offsets(0) == [*range(5, 10), *range(3, 10)]
    assert scene.broker.commits == [{scene.partition(0): 6}, {scene.partition(0): 3}]


def test_what_kafka_no_longer_holds_is_not_waited_for_and_is_asked_for_once() -> None:
    scene = scene_of_ten()
    scene.broker.expire(0, 5)
    scene.play(idle, lambda: ask(scene, 3), idle, lambda: ask(scene, 3), scene.settle)
    assert scene.offsets(0) == [*range(5, 10)] * 2
    assert scene.said == [
        "logs/0: reading begins again at 5, the first record of an event that is stored that kafka still holds (it began at 3)"
    ]
    assert scene.committed() == {0: 10}


def test_a_drain_begins_nothing_again_and_commits_nothing_of_it() -> None:
    scene = scene_of_ten()
    scene.play(idle, turn(lambda: ask(scene, 3), scene.poller.stop_intake), scene.settle, *[idle] * 3)
    assert scene.offsets(0) == [*range(5, 10)]
    assert "begin_again" not in scene.source.calls
    assert scene.committed() == {0: 5}
    assert scene.poller.commits.given_up == {}

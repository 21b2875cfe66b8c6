"""A second read of the same topic gives the same lines, no copies and no new templates."""

from collections.abc import Callable

from tests.faults.scene import Scene


def test_a_new_group_that_reads_the_topic_again_changes_nothing(scene: Scene, unique: Callable[[str], str]) -> None:
    scene.topics.send(400)
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()
    before = scene.read()

    group = unique("group")
    worker = scene.start(options=["--adopt"], kafka__group=group, kafka__query_group=unique("query-group"))
    scene.wait_all_committed(worker, group=group)
    scene.drain(worker)
    after = scene.read()
    assert (sorted(after.lines), after.copies) == (sorted(before.lines), ())
    assert sorted(after.templates) == sorted(before.templates)
    undecodable = sum(sent.content.fate == "dead_letter" for sent in scene.topics.sent)
    assert len(scene.topics.letters()) == 2 * undecodable

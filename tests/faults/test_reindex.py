"""The model of an index changes under questions and a feed: every answer is right, and nothing is lost whoever is killed when."""

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pymilvus import MilvusException

from tests.faults.model_change import QUESTIONS, SOON_S, Asking, Change
from tests.faults.records import strange
from tests.faults.scene import Scene
from tests.faults.worker_process import WorkerProcess
from tests.services.milvus import connected
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.runtime.fail_point import KILLED, REINDEX_POINTS

RECORDS = 300
EACH_POINT = [pytest.param(one, marks=[] if one == "reindex_preferred" else pytest.mark.long) for one in REINDEX_POINTS]


def _settings(to: PreparedModel) -> dict[str, str]:
    return {"model__cache": str(to.folder.parent)}


@pytest.fixture
def other(plain_model: PreparedModel) -> PreparedModel:
    """The model to which the index changes."""
    return plain_model


def _indexed(scene: Scene, **settings: str) -> WorkerProcess:
    worker = scene.start(**settings)
    scene.topics.send(RECORDS, strange)
    scene.wait_all_committed(worker)
    return worker


def test_every_answer_is_of_one_model_while_the_index_goes_there_and_back(scene: Scene, model: PreparedModel, other: PreparedModel) -> None:
    worker = _indexed(scene, **_settings(other))
    change = Change(worker, other)
    asking = Asking(change.pages)
    expected = {question: [asking.ask(question)] for question in QUESTIONS}
    change.start()
    change.wait_asked(other)
    for question in QUESTIONS:
        expected[question].append(asking.ask(question))
    change.post(do="rollback")
    assert change.told()["asked"] == space_of(model).id
    assert {question: asking.ask(question) for question in QUESTIONS} == {question: of[0] for question, of in expected.items()}
    change.start()
    change.wait_asked(other)
    change.post(do="drop")
    asking.end()
    assert asking.wrong == []
    for question, answers in asking.answers.items():
        assert expected[question][0] != expected[question][1], question
        assert [one for one in answers if one not in expected[question]] == [], question
    scene.drain(worker)


def test_what_comes_during_a_change_is_in_the_view_that_stays(scene: Scene, other: PreparedModel) -> None:
    worker = _indexed(scene, **_settings(other))
    change = Change(worker, other)
    change.start()
    scene.topics.send(RECORDS, strange)
    change.wait_asked(other)
    scene.topics.send(RECORDS, strange)
    scene.wait_all_committed(worker)
    change.wait_same()
    change.post(do="drop")
    scene.drain(worker)
    scene.model = other
    scene.judge_end()


@pytest.mark.parametrize("point", EACH_POINT)
def test_a_worker_that_is_killed_at_any_point_is_followed_by_one_that_ends_complete(
    scene: Scene, other: PreparedModel, point: str, *, long: bool
) -> None:
    first = _indexed(scene, **_settings(other), test_fail_point=f"{point}:1")
    change = Change(first, other)
    _go_on(change.start)
    _go_on(lambda: change.wait_asked(other))
    scene.topics.send(50, strange)
    _go_on(lambda: scene.wait_all_committed(first))
    _go_on(change.wait_same)
    if point in ("reindex_remove", "reindex_removed"):
        _go_on(lambda: change.post(do="drop"))
        scene.model = other  # the settings of the next one: the view of the model before is going
    assert first.wait() == KILLED
    second = scene.start(**_settings(other))
    after = Change(second, other)
    after.wait_running()
    if space_of(other).id not in after.states():
        after.start()
    after.wait_asked(other)
    scene.topics.send(50, strange)
    scene.wait_all_committed(second)
    after.wait_same()
    scene.drain(second)
    scene.model = other
    scene.judge_end()
    if long:
        verified = json.loads(scene.run_verb("verify", "--json", **_settings(other)))
        assert verified["complete"], verified
        assert (view := verified["second_view"]) is None or (view["missing"], view["only_there"]) == (0, 0)


@pytest.mark.long
def test_templates_that_expire_meanwhile_hold_no_change_up(server_scene: Scene, other: PreparedModel) -> None:
    """A server removes them whenever it likes; here somebody does, from both views, from the beginning to the end."""
    scene = server_scene
    worker = _indexed(scene, **_settings(other))
    change = Change(worker, other)
    done = threading.Event()
    removed = 0

    def expire() -> None:
        nonlocal removed
        assert scene.server is not None
        with connected(scene.server.uri) as client:
            while not done.wait(0.2):
                for name in client.list_collections():
                    if name.startswith(f"{scene.collection}_templates"):
                        with contextlib.suppress(MilvusException):  # it is not loaded yet
                            rows = client.query(name, filter='template > "8"', output_fields=["template"], limit=5)
                            client.delete(name, ids=[row["template"] for row in rows])
                            removed += len(rows)

    expiring = threading.Thread(target=expire, daemon=True)
    expiring.start()
    change.start()
    change.wait_asked(other)
    change.post(do="rollback")
    change.start()
    change.wait_asked(other)
    done.set()
    expiring.join()
    change.wait_same()
    assert removed > 20
    assert not change.told()["error"]
    scene.topics.send(50, strange)
    scene.wait_all_committed(worker)
    scene.drain(worker)


@pytest.mark.long
def test_three_workers_share_an_index_and_one_of_them_has_not_the_new_model(
    server_scene: Scene, other: PreparedModel, tmp_path: Path
) -> None:
    scene = server_scene
    rich = [_indexed(scene, **_settings(other)), scene.start(**_settings(other))]
    poor = scene.start(model__cache=str(tmp_path / "no models"))
    changes = [Change(worker, other) for worker in (*rich, poor)]
    for change in changes:
        change.wait_running()
    asking = [Asking(change.pages) for change in changes[1:]]
    changes[0].start()
    for change in changes[:2]:
        change.wait_asked(other)
    scene.topics.send(RECORDS, strange)
    scene.wait_all_committed(poor)
    rich[0].kill()
    changes[1].wait_same(2 * SOON_S)  # the lease of the one that is gone ends first
    assert changes[2].told()["asked"] != space_of(other).id
    for one in asking:
        one.end()
    assert [one.wrong for one in asking] == [[], []]
    scene.drain(poor)
    scene.drain(rich[1])
    scene.model = other
    scene.judge_end()


@pytest.mark.long
@pytest.mark.parametrize("point", ["reindex_opened", "reindex_gone_over"])
def test_a_worker_that_only_goes_over_and_is_killed_holds_nobody_up(server_scene: Scene, other: PreparedModel, point: str) -> None:
    scene = server_scene
    filler = _indexed(scene, **_settings(other))
    follower = scene.start(kafka__index="false", test_fail_point=f"{point}:1", **_settings(other))  # it never fills
    change, followed = Change(filler, other), Change(follower, other)
    for one in (change, followed):
        one.wait_running()
    change.start()
    change.wait_asked(other)
    assert follower.wait() == KILLED
    scene.topics.send(RECORDS, strange)
    scene.wait_all_committed(filler)
    change.wait_same()
    again = Change(scene.start(kafka__index="false", **_settings(other)), other)
    again.wait_running()
    again.wait_asked(other)
    change.post(do="drop")
    scene.drain(again.worker)
    scene.drain(filler)
    scene.model = other
    scene.judge_end()


def _go_on(step: Callable[[], object]) -> None:
    """Do a step of a worker that may be dead by now."""
    try:
        step()
    except (AssertionError, OSError):
        return

"""Lives that end by SIGKILL in one scene, one after the other, and what must be true between two of them.

`killed_at` ends a life at a named moment of the worker's own, `killed_after` at one that chance chooses; both judge the dead before
anybody starts again. `Proven` judges only what was committed since it last looked, so that hundreds of deaths can be judged.
"""

import itertools
import random

from tests.faults.index import read_span
from tests.faults.oracle import Verdict, judge
from tests.faults.records import Content, content, strange
from tests.faults.scene import Scene
from tests.faults.stranger import Protocol
from tests.faults.topics import Committed
from tests.faults.worker_process import WorkerProcess

KILLED = 137
RECORDS_A_LIFE = 160
_SMALL = {"limits__max_in_flight_records": "150", "limits__max_in_flight_bytes": "200000", "milvus__batch_rows": "100"}
_PROTOCOLS: tuple[Protocol, ...] = ("classic", "classic", "consumer", "consumer")
_AT_REVOCATION = "revoke"
_MOMENTS = {
    "polled": "2",
    "decoded": "1:1",
    "cache_read": "1:1",
    "cache_written": "1:1",
    "engine_asked": "1:1",
    "before_upsert": "3:1",
    "after_upsert": "3:1",
    "before_commit": "2",
    "after_commit": "2",
    _AT_REVOCATION: "1",
    "letter_sent": "1",
    "letter_acknowledged": "1:1",
}
"""At which passing of a point, and for how many seconds the thread stands still there while the poller goes on: what it commits by
then must be stored."""
_USUAL_MOMENT = "2:1"
_LEAVES_SOMETHING = ("after_upsert", "letter_acknowledged")
"""Rows or a letter are there whose records were not committed: they will be read again."""


class Lives:
    """A scene and its workers, each of which is killed; the protocols of the group take turns, two lives each.

    Thread: the test's.
    """

    def __init__(self, scene: Scene, **settings: str) -> None:
        """`settings`: of every worker, beside the usual small ones."""
        self.scene = scene
        scene.members_die()
        self._settings = {**_SMALL, **settings}
        self._turns = itertools.cycle(_PROTOCOLS)
        self._deaths = 0

    def killed_at(self, point: str) -> None:
        """Let a worker live until this point, and judge what it leaves."""
        self.scene.topics.send(RECORDS_A_LIFE, _mixed)
        worker = self._begin(test_fail_point=f"{point}:{_MOMENTS.get(point, _USUAL_MOMENT)}")
        if point == _AT_REVOCATION:
            self.scene.wait_progress(worker)
            worker.terminate()  # leaving the group revokes what it has
        assert worker.wait() == KILLED, worker.lines
        committed, verdict = self._judge()
        if point in _LEAVES_SOMETHING:
            assert verdict.stored_above(committed) != []

    def killed_after(self, chance: random.Random) -> None:
        """Let a worker live until some moment, and judge what it leaves."""
        self.scene.topics.send(RECORDS_A_LIFE, _mixed)
        worker = self._begin()
        worker.wait_for("model ready")
        if chance.random() < 0.6:
            self.scene.wait_progress(worker)
        assert worker.stays_alive(chance.uniform(0.0, 1.5)), worker.lines
        worker.kill()
        self._judge()

    def end(self) -> None:
        """Let a worker do all that is left and some more, and judge everything, vectors included. At least one must have been killed."""
        assert self._deaths, "no worker was killed before the end"
        self.scene.topics.send(RECORDS_A_LIFE, _mixed)
        worker = self._begin()
        self.scene.wait_all_committed(worker)
        self.scene.fresh_record_flows(worker)
        self.scene.drain(worker)
        self.scene.judge_end()

    def _begin(self, **settings: str) -> WorkerProcess:
        return self.scene.start_under(next(self._turns), **self._settings, **settings)

    def _judge(self) -> tuple[Committed, Verdict]:
        self._deaths += 1
        committed, verdict = self.scene.check_nothing_lost()
        assert committed != self.scene.topics.ends(), "it was not killed in the middle"
        return committed, verdict


class Proven:
    """What is committed and was, at that time, seen to be stored; it only grows.

    Thread: the test's.
    """

    def __init__(self, scene: Scene) -> None:
        """`scene`: on a server; nothing of it is looked at yet."""
        self._scene = scene
        self.below: Committed = dict.fromkeys(range(scene.topics.partitions), 0)

    def grow(self) -> None:
        """See that nothing is lost of what was committed since the last call, and that no position went back.

        What was committed before is not looked at again, nor are rows above what is committed: whoever calls this judges all at the end.
        """
        scene, topics, since, committed = self._scene, self._scene.topics, self.below, self._scene.topics.committed()
        assert {place: offset for place, offset in committed.items() if offset < since[place]} == {}, "a position went back"
        assert scene.server is not None
        index = read_span(scene.server.uri, scene.collection, since, committed)
        sent = [record for record in topics.sent if since[record.partition] <= record.offset < committed[record.partition]]
        letters = [letter for letter in topics.letters() if since[letter.partition] <= letter.offset < committed[letter.partition]]
        assert (lost := judge(sent, topics.logs, index, letters).lost_below(committed)) == [], f"lost below {committed}: {lost}"
        self.below = committed


def _mixed(number: int) -> Content:
    """Return a record of all kinds; for each tenth at least the engine must work."""
    return strange(number) if number % 10 == 1 else content(number)

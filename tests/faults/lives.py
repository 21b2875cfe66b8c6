"""Kills one worker after another with SIGKILL in one scene, and checks the index between two of them.

`killed_at` kills at a named fail point, `killed_after` at a random moment; both judge what is left before the next start. `Proven` judges
only what was committed since its last check, so that hundreds of kills can be judged.
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
RECORDS_A_LIFE = 1_000
_SMALL = {"limits__max_in_flight_records": "150", "limits__max_in_flight_bytes": "200000", "index__flush_s": "0.05"}
_MERGING = {"limits__max_in_flight_records": "40", "index__flush_s": "0.01"}
"""So many small blocks that a life has enough neighbours to merge."""
_MANY_RECORDS = 2_000
"""So many that a life is not over at its second commit, and has enough blocks to merge."""
_PROTOCOLS: tuple[Protocol, ...] = ("classic", "classic", "consumer", "consumer")
_NEW_RECORDS = 100
_AT_REVOCATION = "revoke"
_MOMENTS = {
    "polled": "2",
    "decoded": "1:1",
    "cache_read": "1:1",
    "cache_written": "1:1",
    "engine_asked": "1:1",
    "resume_read": "1:1",
    "closed": "3:1",
    "before_blocks": "3:1",
    "after_blocks": "3:1",
    "before_merged": "1:1",
    "after_merged": "1:1",
    "before_inner_delete": "1",
    "after_inner_delete": "1",
    "before_commit": "2",
    "after_commit": "2",
    _AT_REVOCATION: "1",
    "letter_sent": "1",
    "letter_acknowledged": "1:1",
}
"""At which pass of a fail point the thread stops, and for how many seconds, while the poller continues: what it commits by then must be
stored."""
_USUAL_MOMENT = "2:1"
_OF_MERGING = ("before_merged", "after_merged", "before_inner_delete", "after_inner_delete")
_OF_COMMITTING = ("before_commit", "after_commit")
_LATE = ("before_inner_delete", "after_inner_delete")
"""Inner blocks go 20 s after the merge: by then everything may be committed."""
_LEAVES_SOMETHING = ("after_blocks", "letter_acknowledged")
"""Fail points after which lines or a dead letter exist for uncommitted records, which will be read again."""


class Lives:
    """A scene and its workers, each of which is killed; the group protocols alternate every two workers."""

    def __init__(self, scene: Scene, **settings: str) -> None:
        """`settings`: of every worker, in addition to the usual small ones."""
        self.scene = scene
        scene.members_die()
        self._settings = {**_SMALL, **settings}
        self._turns = itertools.cycle(_PROTOCOLS)
        self._deaths = 0

    def killed_at(self, point: str) -> None:
        """Run a worker until this fail point, and judge what it leaves."""
        merges = point in _OF_MERGING
        self._leave_at_least(_MANY_RECORDS if merges or point in _OF_COMMITTING else RECORDS_A_LIFE)
        worker = self._begin(test_fail_point=f"{point}:{_MOMENTS.get(point, _USUAL_MOMENT)}", **(_MERGING if merges else {}))
        if point == _AT_REVOCATION:
            self.scene.wait_progress(worker)
            worker.terminate()  # leaving the group revokes its partitions
        assert worker.wait() == KILLED, worker.lines
        committed, verdict = self._judge(in_the_middle=point not in _LATE)
        if point in _LEAVES_SOMETHING:
            assert verdict.stored_above(committed) != []

    def killed_after(self, chance: random.Random) -> None:
        """Run a worker until a random moment, and judge what it leaves."""
        self._leave_at_least(RECORDS_A_LIFE)
        worker = self._begin()
        worker.wait_for("model ready")
        if chance.random() < 0.6:
            self.scene.wait_progress(worker)
        assert worker.stays_alive(chance.uniform(0.0, 0.8)), worker.lines
        worker.kill()
        self._judge()

    def end(self, *, vectors: bool = True) -> None:
        """Let a worker finish the rest and some more records; judge everything. At least one worker must have been killed."""
        assert self._deaths, "no worker was killed before the end"
        self._leave_at_least(RECORDS_A_LIFE)
        worker = self._begin()
        self.scene.wait_all_committed(worker)
        self.scene.fresh_record_flows(worker)
        self.scene.drain(worker)
        self.scene.judge_end(vectors=vectors)

    def _leave_at_least(self, records: int) -> None:
        """Send so many that a life has this many to work on: what the one before left, and new ones."""
        topics = self.scene.topics
        left = sum(topics.ends().values()) - sum(topics.committed().values())
        topics.send(max(records - left, _NEW_RECORDS), _mixed)

    def _begin(self, **settings: str) -> WorkerProcess:
        return self.scene.start_under(next(self._turns), **self._settings | settings)

    def _judge(self, *, in_the_middle: bool = True) -> tuple[Committed, Verdict]:
        self._deaths += 1
        committed, verdict = self.scene.check_nothing_lost()
        assert committed != self.scene.topics.ends() or not in_the_middle, "the worker was not killed in the middle"
        return committed, verdict


class Proven:
    """Next offsets whose records were committed and proven to be stored; they only grow."""

    def __init__(self, scene: Scene) -> None:
        """`scene`: its index must be on a server."""
        self._scene = scene
        self.below: Committed = dict.fromkeys(range(scene.topics.partitions), 0)

    def grow(self) -> None:
        """Check that nothing committed since the last call is lost, and that no position went back.

        Skips what was committed before, and lines of uncommitted records: callers judge everything at the end.
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
    """Return a record of the usual mix; at least every tenth needs the engine."""
    return strange(number) if number % 10 == 1 else content(number)

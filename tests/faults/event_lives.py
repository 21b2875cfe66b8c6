"""Kills one worker after another over topics of joined records, changes settings between them, and moves the group back.

Of four lives, in the first all is committed once and compared with what was sent, before more comes; the second begins after the group was
moved back, into an event where there is one, and reads batches in the other format; the others go on where the one before was killed.
Each ends with SIGKILL at a random moment, or at a fail point between storing lines and committing them.
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random

from tests.faults.event_export import differences, read_export
from tests.faults.event_records import Format
from tests.faults.event_topics import EventTopics, Reading
from tests.faults.pages import Pages
from tests.faults.scene import Scene, wait_until_committed
from tests.faults.worker_process import WorkerProcess
from worker.runtime.fail_point import KILLED

_LIVES = ("compared", "moved back", "goes on", "goes on")
_OTHER: Mapping[Format, Format] = {"auto": "text", "text": "auto"}
_CAPS = (12, 60, 2_000)
_RECORDS = 10
"""Most that are sent to a partition at once, twice a life."""
_BACK = 150
"""The group is moved back to one of the last so many records of a partition."""
_POINTS = ("after_blocks:1", "before_commit:1")
_AT_A_POINT, _IN_ITS_START = 0.3, 0.15
"""Shares of the deaths in all lives but the first of four."""
_START_S, _MORE_S = 3.0, 0.5
_TAIL = "/api/tail?query=%7B%7D"

_log = logging.getLogger(__name__)


class EventLives:
    """A scene and its workers, each of which is killed but the last one."""

    def __init__(self, scene: Scene, topics: EventTopics, seed: int) -> None:
        scene.members_die()
        self._scene = scene
        self._topics = topics
        self._chance = Random(seed)
        self.closed_early = 0.0
        """Events that were closed early, as far as workers said so before they were killed."""
        self._begun = dict.fromkeys(topics.records, 0)
        """Where the group stood when its format was chosen."""
        self._reading = Reading(max_in_flight_records=_CAPS[0], joins_traces=True, batch_format="auto")

    def kill(self, number: int) -> None:
        """Run worker `number`, counted from 0, and kill it."""
        life, chance, topics = _LIVES[number % len(_LIVES)], self._chance, self._topics
        topics.send(chance, _RECORDS)
        self._reading = self._reading._replace(max_in_flight_records=chance.choice(_CAPS), joins_traces=chance.random() < 0.7)
        moved = self._move_back() if life == "moved back" else ""
        is_whole = life == "compared"
        point = chance.choice(_POINTS) if not is_whole and chance.random() < _AT_A_POINT else ""
        in_its_start = not is_whole and not point and chance.random() < _IN_ITS_START
        _log.info("life %d %s %s: %s %s", number, life, moved, self._reading, point or ("in its start" if in_its_start else ""))

        before, worker = topics.committed(), self._start(point)
        if point:
            assert worker.wait() == KILLED, worker.lines
        elif in_its_start:
            assert worker.stays_alive(chance.uniform(0.0, _START_S)), worker.lines
            worker.kill()
        else:
            pages = Pages(worker)
            if is_whole:
                self._compare(worker)
                before = topics.committed()
            topics.send(chance, _RECORDS)
            with pages.left_unread(_TAIL):
                wait_until_committed(worker, topics.committed, lambda committed: committed != before)
                assert worker.stays_alive(chance.uniform(0.0, _MORE_S)), worker.lines
                self.closed_early += sum(pages.values("vectail_events_closed_early_total").values())
                worker.kill()

    def end(self) -> None:
        """Read everything from its beginning under one setting, and compare entry by entry; once more after a repair."""
        self._reset(Reading(max_in_flight_records=10_000, joins_traces=True, batch_format="auto"), "--to", "earliest")
        self._compare_entries()
        repaired = json.loads(self._scene.run_verb("verify", "--repair", "--look-again", "1", "--json", **self._settings()))
        assert repaired["complete"]
        assert {kind for kind, number in repaired["problems"].items() if number} <= {"left_over"}, "more than copies of other settings"
        self._compare_entries()

    def _compare_entries(self) -> None:
        """Let a worker read all that is left, and compare every entry."""
        worker = self._start()
        until_ms = self._compare(worker)
        assert sorted(read_export(Pages(worker), until_ms)) == self._topics.entries_before(until_ms)
        self._scene.drain(worker)

    def _settings(self) -> dict[str, str]:
        reading = self._reading
        room = {"limits__max_in_flight_records": str(reading.max_in_flight_records)}
        return {"index__flush_s": "0.02", "topic": self._topics.tables(reading), **room}

    def _start(self, point: str = "") -> WorkerProcess:
        return self._scene.start(**self._settings(), test_fail_point=point)

    def _move_back(self) -> str:
        """Move one partition back to an offset or all to a time, inside an event where there is one; returns how."""
        chance, committed = self._chance, self._topics.committed()
        place = chance.choice([place for place, end in committed.items() if end])
        records, end = self._topics.records[place], committed[place]
        back = range(max(end - _BACK, 0), end)
        offset = chance.choice([at for at in back if not records[at].is_first] or back)
        if chance.random() < 0.5:
            where = ["--to", str(offset), "--topic", place.topic, "--partition", str(place.partition)]
        else:
            to_ms = min(records[offset].time_ms, self._topics.first_time(committed))  # no partition is moved forward
            where = ["--to", datetime.fromtimestamp(to_ms / 1000, UTC).isoformat()]
        self._reset(self._reading._replace(batch_format=_OTHER[self._reading.batch_format]), *where)
        assert self._topics.committed()[place] <= offset
        return " ".join(where)

    def _reset(self, reading: Reading, *where: str) -> None:
        """Move the group; the next worker reads as `reading` says."""
        self._scene.topics.wait_without_members()  # what the last one has sent is committed by now, or never
        committed = self._topics.committed()
        self._topics.note_read(self._begun, committed, self._reading.batch_format)
        self._reading = reading
        self._scene.run_verb("offsets", "reset", "--yes", *where, **self._settings())
        self._begun = self._topics.committed()
        assert {place: end for place, end in self._begun.items() if end > committed[place]} == {}, "moved forward"

    def _compare(self, worker: WorkerProcess) -> int:
        """Compare an export with all that was sent, once that is committed; returns before which time it was."""
        topics = self._topics
        until_ms = topics.end_events()
        wait_until_committed(worker, topics.committed, topics.is_all_committed)
        topics.note_read(self._begun, topics.committed(), self._reading.batch_format)
        wrong = differences(read_export(Pages(worker), until_ms), topics.lines_before(until_ms), topics.kinds)
        assert not wrong, "\n".join(wrong)
        return until_ms

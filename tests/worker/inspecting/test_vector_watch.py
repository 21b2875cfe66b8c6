"""Stored vectors are compared with the model's once a day, and the worst one is remembered."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from tests.template_ids import id_of
from tests.worker.inspecting.audited_index import AuditedIndex
from worker.inspecting.vector_watch import AGAIN_S, EVERY_S, FIRST_S, IDLE_S, VectorWatch, WatchedSpace

TEXTS = ("disk full", "login failed", "printer on fire")


class Day(threading.Event):
    """A watch over the audited index; each pause of its thread moves the clock, and it is stopped after `left` of them."""

    def __init__(self, audited: AuditedIndex) -> None:
        super().__init__()
        self.now_s = 0.0
        self.idle = True
        self.opened = 0
        self._audited = audited
        self.pauses_s: list[float] = []
        self.left = 0
        self.watch = VectorWatch(self._open, is_idle=lambda: self.idle, clock=lambda: self.now_s, stopped=self)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses_s.append(timeout)
        self.now_s += timeout
        self.left -= 1
        return self.left < 0

    @contextmanager
    def _open(self) -> Iterator[WatchedSpace]:
        self.opened += 1
        with self._audited.vector_auditor() as auditor:
            yield WatchedSpace(auditor.view, auditor.embedder)


@pytest.fixture
def day(audited: AuditedIndex) -> Day:
    audited.index_records(*TEXTS)
    return Day(audited)


def turn(audited: AuditedIndex, text: str, cosine: float) -> None:
    """Give a stored vector this cosine with the model's."""
    templates = audited.sink.templates
    vector = templates[id_of(text)].vector
    beside = np.zeros_like(vector)
    beside[0] = 1.0
    beside -= vector[0] * vector
    beside /= np.linalg.norm(beside)
    turned = np.asarray(cosine * vector + np.sqrt(1 - cosine**2) * beside, np.float32)
    templates[id_of(text)] = templates[id_of(text)]._replace(vector=turned)


def test_the_worst_stored_vector_is_remembered(day: Day, audited: AuditedIndex) -> None:
    assert day.watch.worst_cosine is None
    assert day.watch.compare() == EVERY_S
    assert day.watch.worst_cosine == pytest.approx(1.0, abs=1e-4)
    turn(audited, "login failed", 0.95)
    turn(audited, "disk full", 0.99)
    day.watch.compare()
    assert day.watch.worst_cosine == pytest.approx(0.95, abs=1e-3)


def test_a_stored_vector_of_nothing_is_the_worst_of_all(day: Day, audited: AuditedIndex) -> None:
    row = audited.sink.templates[id_of("disk full")]
    audited.sink.templates[row.template] = row._replace(vector=np.zeros(384, np.float32))
    day.watch.compare()
    assert day.watch.worst_cosine == 0.0


def test_it_only_reads(day: Day, audited: AuditedIndex) -> None:
    turn(audited, "login failed", 0.1)
    audited.sink.calls.clear()
    day.watch.compare()
    assert {"templates.upsert", "write_blocks"}.isdisjoint(audited.sink.calls)


def test_an_index_that_does_not_answer_leaves_the_last_figure_and_is_asked_again_in_an_hour(day: Day, audited: AuditedIndex) -> None:
    day.watch.compare()
    seen = day.watch.worst_cosine
    audited.sink.busy_calls = 10**6
    day.left = 10**6
    assert day.watch.compare() == AGAIN_S
    assert day.watch.worst_cosine == seen


def test_it_looks_soon_after_the_start_and_then_each_day_when_nothing_is_embedded(day: Day) -> None:
    day.left = 3
    day.watch.body()
    assert (day.opened, day.pauses_s) == (3, [FIRST_S, EVERY_S, EVERY_S, EVERY_S])


def test_a_worker_that_is_never_idle_is_looked_at_after_an_hour(day: Day) -> None:
    day.idle, day.left = False, int(IDLE_S) + 1
    day.watch.body()
    assert day.opened == 1
    assert day.now_s == pytest.approx(FIRST_S + IDLE_S + EVERY_S, abs=2.0)


def test_it_ends_when_the_worker_does() -> None:
    watch = VectorWatch(lambda: pytest.fail("opened"), is_idle=lambda: False, clock=lambda: 0.0)
    thread = threading.Thread(target=watch.body, daemon=True)
    thread.start()
    watch.stop()
    thread.join(60.0)
    assert not thread.is_alive()

"""One soak: feeds a worker, injects faults, restarts the worker after a kill, samples it, and judges at the end.

It is fed FEED_A_SECOND records, few enough for the oracle, which holds all of them. Each write of blocks stops for a second at a fail
point, so that lines are always in flight when a fault begins. What a fault holds up waits in Kafka, at most MOST_LAG records, so that the
soak can wait for its end; a long outage fills the cap.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.faults.index import Index
from tests.faults.truth import truth_of
from tests.faults.worker_process import WorkerProcess
from tests.soak.ground import Ground
from tests.soak.plan import LONG_AWAY, Fault
from tests.soak.samples import Sample, growth_of

FEED_A_SECOND = 400
MOST_LAG = 40_000
CAP_BYTES = 16 * 1024 * 1024
CAP_RECORDS = 10_000
LOOK_S = 2.0
JUDGED_EACH_TIME = 20_000
"""Up to this number of sent records, the index is also judged before each restart."""
VECTORS = 500
"""Templates that are embedded again at the end; chosen by id, so in effect at random."""
_TICK_S = 0.1
_FEED_S = 0.5
_DRAIN_S = 30.0
_STUCK_S = 240.0
_SETTINGS = {
    "limits__max_in_flight_bytes": str(CAP_BYTES),
    "limits__max_in_flight_records": str(CAP_RECORDS),
    "cache__memory_bytes": str(4 * 1024 * 1024),
    "test_fail_point": "before_blocks:1000000000:1",
    "limits__drain_timeout_s": str(_DRAIN_S),
    "milvus__timeout_s": "10",
}


@dataclass(kw_only=True, eq=False)
class Soak:
    """Owns the feed, the workers and the samples of one run.

    Thread: main.
    """

    ground: Ground
    total_s: float
    faults: list[Fault]
    samples: list[Sample] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    """Last log lines of workers that ended on their own."""

    def __post_init__(self) -> None:
        self._scene = self.ground.scene
        self._begun_s = self._born_s = time.monotonic()
        self._life = 0
        self._worker = self._start()
        self._wrong: list[Fault] = []
        self._fed_s = self._looked_s = 0.0
        self._lag = 0

    def run(self) -> None:
        """Feed and inject faults until the time is up; then wait until everything is committed, and drain."""
        waiting = list(self.faults)
        while (now_s := self._now_s()) < self.total_s:
            while waiting and waiting[0].at_s <= now_s:
                self._begin(waiting.pop(0))
            for fault in [fault for fault in self._wrong if fault.until_s <= now_s]:
                self._wrong.remove(fault)
                self.ground.end(fault.kind)
            if now_s - self._fed_s >= _FEED_S:
                self._feed(min(now_s - self._fed_s, 2 * _FEED_S))
                self._fed_s = now_s
            self._tick()
        self.ground.close()
        self._wait_all_committed()
        self._worker.terminate()
        code = self._worker.wait(2 * _DRAIN_S)
        if code:
            self.crashes.append(f"the drain ended with {code}: {self._worker.lines[-5:]}")

    def result(self) -> dict[str, Any]:
        """Judge the index; return `ok`, or what is wrong."""
        sent = len(self._scene.topics.sent)
        try:
            _, verdict = self._scene.check_nothing_lost()
            lost = len(verdict.lost_below(self._scene.topics.ends()))
            truth_of(self._scene.model).check(_some(self._scene.read(), VECTORS))
        except AssertionError as failure:  # the oracle found an invented, duplicate or wrong line
            lost, wrong = -1, str(failure)[:2_000]
        else:
            wrong = ""
        growth = growth_of(self.samples, LONG_AWAY)
        facts = {
            "sent": sent,
            "lost": lost,
            "oracle": wrong or f"0 lost, 0 twice, 0 invented; the vectors of {VECTORS} templates are those of their texts",
            "crashes": self.crashes,
            "faults": dict(self.counts),
            "lives": self._life,
            "cap_bytes": CAP_BYTES,
            "rss_growth_bytes": growth.most_bytes,
            "rss_growth_late_in_outage_bytes": growth.late_bytes,
            "most_threads": max(sample.threads for sample in self.samples),
            "most_open_files": max(sample.open_files for sample in self.samples),
            "most_lag_records": max(sample.lag_records for sample in self.samples),
        }
        is_flat = growth.most_bytes < 2 * CAP_BYTES and growth.late_bytes < CAP_BYTES / 2
        return {"ok": not wrong and lost == 0 and not self.crashes and is_flat} | facts

    def _now_s(self) -> float:
        return time.monotonic() - self._begun_s

    def _start(self) -> WorkerProcess:
        self._life += 1
        self._born_s = time.monotonic()
        return self._scene.start(**_SETTINGS, **self.ground.settings())

    def _begin(self, fault: Fault) -> None:
        self.counts[fault.kind] += 1
        if fault.kind == "kill":
            self._worker.kill()
            if len(self._scene.topics.sent) <= JUDGED_EACH_TIME:
                self._scene.check_nothing_lost()
            self._worker = self._start()
            return
        self.ground.begin(fault.kind)
        if fault.until_s > fault.at_s:
            self._wrong.append(fault)

    def _feed(self, seconds: float) -> None:
        room = MOST_LAG - self._lag
        records = min(round(FEED_A_SECOND * seconds), room)
        if records > 0:
            self._scene.topics.send(records)
            self._lag += records

    def _tick(self) -> None:
        if not self._worker.stays_alive(_TICK_S):
            self.crashes.append(f"exit code {self._worker.wait()}: {self._worker.lines[-5:]}")
            self._worker = self._start()
        if self._now_s() - self._looked_s >= LOOK_S:
            self._looked_s = self._now_s()
            self._look()

    def _look(self) -> None:
        committed = self._scene.topics.committed()
        self._lag = sum(end - committed[partition] for partition, end in self._scene.topics.ends().items())
        worker = self._worker
        wrong = "+".join(fault.kind for fault in self._wrong)
        age_s = time.monotonic() - self._born_s
        self.samples.append(
            Sample(
                round(self._looked_s, 1),
                self._life,
                round(age_s, 1),
                worker.rss_bytes(),
                worker.threads(),
                worker.open_files(),
                self._lag,
                wrong,
            )
        )

    def _wait_all_committed(self) -> None:
        least, until_s = self._lag + 1, 0.0
        self._look()
        while self._lag:
            if self._lag < least:
                least, until_s = self._lag, self._now_s() + _STUCK_S
            if self._now_s() > until_s:
                self.crashes.append(f"stuck with {self._lag} records: {self._worker.lines[-5:]}")
                return
            self._tick()


def _some(index: Index, templates: int) -> Index:
    """Return a part of the index: some templates with all their lines."""
    chosen = set(sorted(index.templates)[:templates])
    return Index(
        [line for line in index.lines if line.template in chosen],
        sorted(chosen),
        {template: index.texts[template] for template in chosen},
        {template: index.vectors[template] for template in chosen},
    )

"""A ten-minute Milvus outage under full load while members join and leave: its cost in memory, as figures and as a chart.

The feed always keeps more in Kafka than the worker may hold, before, during and after the outage.
"""

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest

from tests.faults.records import LONG_CHARACTERS, Content, Entry, content
from tests.faults.scene import FLOWS_S, Scene
from tests.faults.stranger import Stranger
from tests.faults.worker_process import WorkerProcess
from tests.forks import ROOT
from tests.services.proxy import Proxy
from tests.soak.samples import Sample, write_picture, write_table

AWAY_S = 600.0
REFUSED_S = 150.0
"""For this long Milvus refuses connections; for the rest of the outage it is a black hole."""
MEMBER_S = 20.0
JUDGE_S = 60.0
LOOK_S = 1.0
WARM_RECORDS = 4_000
WARM_S = 20.0
CAP_BYTES = 32 * 1024 * 1024
CAP_RECORDS = 10_000
WAITING_RECORDS = 2 * CAP_RECORDS
"""At least this many sent records are uncommitted during the feed: twice what the worker may hold."""
FEED_RECORDS = 1_000
"""Records sent at once."""
PADDING_CHARACTERS = 6_000
"""With these among the records, both caps, of records and of bytes, are reached together."""
MOST_DRIFT_BYTES = CAP_BYTES / 8
"""More growth than this in the second half of the outage is not noise: memory would grow for ever."""
SETTINGS = {
    "limits__max_in_flight_bytes": str(CAP_BYTES),
    "limits__max_in_flight_records": str(CAP_RECORDS),
    "cache__memory_bytes": str(4 * 1024 * 1024),  # full before the outage begins
    "kafka__prefetch_bytes": str(8 * 1024 * 1024),
    "kafka__max_poll_interval_s": "60",  # a revocation waits 7 s for open records instead of 25
    "kafka__librdkafka": json.dumps({"session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}),
}
FOLDER = ROOT / ".cache" / "soak"


def padded(number: int) -> Content:
    """Return the usual record, but a large document of mostly unstored fields instead of a long one."""
    if number % 2 and len((usual := content(number)).value or b"") < LONG_CHARACTERS:
        return usual
    text = f"trace of request {number} kept"
    document = {
        "message": text,
        "service": "gateway",
        "level": "DEBUG",
        "trace": random.Random(number).randbytes(PADDING_CHARACTERS // 2).hex(),
    }
    return Content(json.dumps(document).encode(), "rows", (Entry(0, text, "gateway", "DEBUG"),))


class Feed:
    """Keeps a backlog in Kafka, lets members join and leave, and samples the worker once a second."""

    def __init__(self, scene: Scene, worker: WorkerProcess) -> None:
        self.samples: list[Sample] = []
        self.joined = 0
        self._scene, self._worker = scene, worker
        self._begun_s = time.monotonic()
        self._member: Stranger | None = None
        self._turn_s = self._judge_s = 0.0
        self._waiting = 0

    @property
    def now_s(self) -> float:
        return time.monotonic() - self._begun_s

    def go_on(self, until_s: float, fault: str = "", *, feeds: bool = True, visits: bool = True) -> None:
        while (began_s := self.now_s) < until_s:
            self._look(began_s, fault)
            if feeds and self._waiting < WAITING_RECORDS:
                self._scene.topics.send(FEED_RECORDS, padded)
            if visits and began_s >= self._turn_s:
                self._turn_s = began_s + MEMBER_S
                self._turn()
            if fault and began_s >= self._judge_s:
                self._judge_s = began_s + JUDGE_S
                self._scene.check_nothing_lost()
            assert self._worker.stays_alive(max(0.0, began_s + LOOK_S - self.now_s)), self._worker.lines

    def close(self) -> None:
        """Let the last member leave."""
        if self._member is not None:
            self._member.leave()

    def _turn(self) -> None:
        """Let a member join, or the present one leave."""
        if self._member is None:
            self._member = self._scene.topics.stranger()
            self._member.stay()
            return
        self.joined += bool(self._member.taken)
        self._member.leave()
        self._member = None

    def _look(self, now_s: float, fault: str) -> None:
        committed, ends = self._scene.topics.committed(), self._scene.topics.ends()
        self._waiting = sum(end - committed[partition] for partition, end in ends.items())
        worker = self._worker
        self.samples.append(
            Sample(round(now_s, 1), 1, round(now_s, 1), worker.rss_bytes(), worker.threads(), worker.open_files(), self._waiting, fault)
        )


def drift_bytes(samples: list[Sample]) -> float:
    """Return the growth of memory over these samples, by a linear fit."""
    at_s = [sample.at_s for sample in samples]
    slope, _ = np.polyfit(at_s, [sample.rss_bytes for sample in samples], 1)
    return float(slope) * (at_s[-1] - at_s[0])


def judge_memory(samples: list[Sample], base_bytes: int, folder: Path) -> None:
    """Write and draw the samples, then judge them."""
    folder.mkdir(parents=True, exist_ok=True)
    away = [sample for sample in samples if sample.fault]
    late = away[len(away) // 2 :]
    peak_bytes = max(sample.rss_bytes for sample in away)
    facts = {
        "cap_bytes": CAP_BYTES,
        "rss_before_bytes": base_bytes,
        "rss_peak_in_the_outage_bytes": peak_bytes,
        "rss_at_the_end_of_the_outage_bytes": away[-1].rss_bytes,
        "rss_at_the_end_bytes": samples[-1].rss_bytes,
        "drift_in_the_second_half_bytes": round(drift_bytes(late)),
        "second_half_s": late[-1].at_s - late[0].at_s,
        "threads": (min(sample.threads for sample in away), max(sample.threads for sample in away)),
        "open_files": (min(sample.open_files for sample in away), max(sample.open_files for sample in away)),
    }
    write_table(samples, folder / "outage.csv")
    write_picture(samples, folder / "outage.png")
    (folder / "outage.json").write_text(f"{json.dumps(facts, indent=2)}\n")
    assert peak_bytes - base_bytes < 2 * CAP_BYTES, facts
    assert drift_bytes(late) < MOST_DRIFT_BYTES, facts


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_ten_minutes_without_milvus_under_a_full_feed_cost_less_than_twice_the_cap_and_then_no_more(server_scene: Scene) -> None:
    scene = server_scene
    assert scene.server is not None
    with Proxy(int(scene.server.uri.rpartition(":")[2])) as proxy:
        worker = scene.start(**SETTINGS, milvus__uri=f"http://127.0.0.1:{proxy.port}")
        scene.topics.send(WARM_RECORDS, padded)
        scene.wait_all_committed(worker)
        feed = Feed(scene, worker)
        try:
            feed.go_on(WARM_S, feeds=False, visits=False)
            base_bytes = worker.rss_bytes()
            feed.go_on(feed.now_s + WARM_S)
            proxy.refuse()
            away_s = feed.now_s
            feed.go_on(away_s + REFUSED_S, "milvus away")
            proxy.release()
            proxy.silence()
            feed.go_on(away_s + AWAY_S, "milvus away")
            committed = scene.topics.committed()
            proxy.release()
            feed.go_on(feed.now_s + FLOWS_S)
            assert scene.topics.committed() != committed, "it did not go on by itself"
        finally:
            feed.close()
        judge_memory(feed.samples, base_bytes, FOLDER)
        assert feed.joined > AWAY_S / MEMBER_S / 4, "hardly a member was given anything"
        scene.wait_all_committed(worker)
        scene.fresh_record_flows(worker)
        scene.drain(worker)
        scene.judge_end(vectors=False)

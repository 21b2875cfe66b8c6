"""One worker of `benchmarks.growth`: reads a topic through a worker's stages, says how far it is, and prints what that took.

It is started with one JSON object as its argument. It learns the templates of the warm topic, joins the group, and prints a JSON line
whenever another partition has delivered something or more is settled. It reads one command a line: `go` opens the gate that holds the
records, `trickle` ends what is measured and begins to note how soon lines are acknowledged, `stop` ends it; its last line is its figures.
"""

import json
import select
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.null_sink import NullSink
from benchmarks.own_pipeline import RunningPipeline, running_pipeline, source_settings
from benchmarks.safety_sides import Moment, Watched, made_up_model
from benchmarks.slow_topics import Acknowledged
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.subscription import Subscription
from consumers.record import Partition, Records
from sinks.block import Block
from worker.settings.settings import load_settings

_LOOK_S = 0.002
_GATED_S = 0.002
_MOST_LOOKS = 300
"""At the open records: about as many are told."""


class SidePlan(NamedTuple):
    """What one worker does; what `json` makes of it is its argument."""

    bootstrap_servers: str
    warm_topic: str
    """Holds the known templates; read before anything is measured."""
    warm_records: int
    topic: str
    group: str


class GatedSource(Watched):
    """Joins its group and holds the first records of each partition until its gate is opened, so that time does not begin with a rebalance.

    Thread: one, the poller's; `started` and `gate` from any.
    """

    def __init__(self, settings: KafkaSourceSettings, subscription: Subscription) -> None:
        super().__init__(settings, subscription, commits=True)
        self._assigned: frozenset[Partition] = frozenset()
        self.gate = threading.Event()
        self.pauses = 0
        """How often intake was paused since the gate was opened."""
        self._is_waiting = False
        self._held: list[Records] = []
        self._is_resumed = False

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        """Note what is owned now."""
        self._assigned |= set(partitions)
        super().on_assign(partitions)

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        """Drop what is held of them: another worker reads it."""
        self._forget(partitions)
        super().on_revoke(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        """Drop what is held of them."""
        self._forget(partitions)
        super().on_lost(partitions)

    @property
    def started(self) -> int:
        """How many partitions of its own have delivered something."""
        return len({one.source for one in self._held})

    def _forget(self, partitions: Sequence[Partition]) -> None:
        self._assigned -= set(partitions)
        self._held = [one for one in self._held if one.source in self._assigned]

    def pause(self) -> None:
        """Pause, and count it if the poller asks for it."""
        if self._is_resumed and not self._is_waiting:
            self._is_waiting = True
            self.pauses += 1
        super().pause()

    def resume(self) -> None:
        """Go on."""
        self._is_waiting = False
        super().resume()

    def fetch(self, max_records: int, timeout_s: float) -> list[Records]:
        """Poll; return nothing before the gate is open."""
        if not self.gate.is_set():
            self.pause()
            fetched = super().fetch(1, min(timeout_s, _GATED_S))
            self._held += fetched  # not in one step with the fetch, inside which a revocation may drop some of it
            return []
        if not self._is_resumed:
            self._is_resumed = True
            self.resume()
            held, self._held = self._held, []
            return held
        return super().fetch(max_records, timeout_s)


class AgeSink(NullSink):
    """Keeps nothing but, once told, how long lines took until their block was acknowledged.

    Thread: any.
    """

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged = Acknowledged()
        self.is_noting = False

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Acknowledge."""
        super().write_blocks(blocks, again=again)
        if self.is_noting:
            self.acknowledged.note(blocks)


def _follow(running: RunningPipeline, source: GatedSource, sink: AgeSink) -> dict[str, Any]:
    """Do what standard input says and tell what is settled; returns the figures of what was waiting."""
    ledger, tally = running.pipeline.indexing.ledger, running.pipeline.indexing.store.tally
    known, templates, blocks = ledger.tally["indexed"], tally.templates, tally.blocks
    busy = {name: meter.seconds for name, meter in running.pipeline.busy.items()}
    joined_s = started_s = time.monotonic()
    began, reached, told, found = Moment.now(), Moment.now(), (-1, -1), dict[str, Any]()
    opened: dict[float, int] = {}
    while True:
        if source.gate.is_set() and not found:
            opened.setdefault(round(time.perf_counter() - began.wall_s, 2), ledger.open_records)
        state = (told[0] if source.gate.is_set() else source.started, ledger.tally["indexed"] - known)
        if state != told:
            if state[1] != told[1]:
                reached = Moment.now()
            if state[0] != told[0]:
                started_s = time.monotonic()
            told = state
            print(json.dumps({"started": state[0], "indexed": state[1], "at_s": time.monotonic()}), flush=True)
        if running.crash.is_set():
            raise SystemExit(f"a stage failed: {running.errors}")
        if not select.select([sys.stdin], [], [], _LOOK_S)[0]:
            continue
        word = sys.stdin.readline().strip()
        if word == "go":
            began = Moment.now()
            source.gate.set()
            continue
        found = found or {
            "start_s": started_s - joined_s,
            "cpu_s": reached.cpu_s - began.cpu_s,
            "templates": tally.templates - templates,
            "blocks": tally.blocks - blocks,
            "stage_s": {name: running.pipeline.busy[name].seconds - before for name, before in busy.items()},
            "rss_bytes": peak_rss_bytes(),
            "pauses": source.pauses,
            "open_records": list(opened.items())[:: max(len(opened) // _MOST_LOOKS, 1)],
        }
        if word != "trickle":
            return found
        sink.is_noting = True


def peak_rss_bytes() -> int:
    """Return the most memory that this process has had: `VmHWM` of proc(5)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    """Measure as told."""
    plan = SidePlan(**json.loads(sys.argv[1]))
    settings = load_settings(None, {"kafka": {"bootstrap_servers": plan.bootstrap_servers}})
    sink = AgeSink()
    with running_pipeline(settings, made_up_model(settings), sink) as running:
        with running.reading(settings, plan.warm_topic):
            running.await_indexed(plan.warm_records, look_s=_LOOK_S)
        source = GatedSource(source_settings(settings, plan.group), Subscription(names=(plan.topic,)))
        with running.polling(source, commit_interval_s=settings.kafka.commit_interval_s):
            found = _follow(running, source, sink)
    found |= {"committed": {one.partition: offset for one, offset in source.accepted.items()}, "ages_s": sink.acknowledged.ages_s.tolist()}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()

"""A scene: topics of its own, a Milvus folder of its own, and the workers that a test starts on them."""

import json
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tests.faults.index import Index, read_index
from tests.faults.oracle import Verdict, judge
from tests.faults.topics import PARTITIONS, Committed, Topics
from tests.faults.worker_process import WAIT_S, WorkerProcess

COLLECTION = "vectail"
DRAIN_S = 20.0
_LOOK_AGAIN_S = 0.05
_CLIENT = {
    # A killed member gives its partitions back after so long.
    "session.timeout.ms": "3000",
    "heartbeat.interval.ms": "500",
    # Small fetches: something of every partition is on its way whenever a fault comes.
    "max.partition.fetch.bytes": "4096",
    "queued.min.messages": "50",
}
_USUAL = {
    "kafka.commit_interval_s": "0.2",
    "kafka.librdkafka": json.dumps(_CLIENT),
    "decode.errors": "strict",
    "engine.name": "llama",
    "engine.threads": "2",
    "limits.drain_s": str(DRAIN_S),
    "milvus.collection": COLLECTION,
}


class Scene:
    """What a fault test works with; every worker that it started is gone after `close`.

    Thread: the test's.
    """

    def __init__(self, topics: Topics, folder: Path, model_cache: Path) -> None:
        self.topics = topics
        self.milvus = folder / "milvus"
        self._spare = folder / "copy"
        self._model_cache = model_cache
        self._workers: list[WorkerProcess] = []

    def start(self, **settings: str) -> WorkerProcess:
        """Start a worker; `cap__records="50"` stands for the setting cap.records."""
        topics = self.topics
        own = {
            "kafka.bootstrap_servers": topics.bootstrap,
            "kafka.topics": f'["{topics.logs}"]',
            "kafka.group": topics.group,
            "kafka.query_topic": topics.queries,
            "kafka.query_group": topics.query_group,
            "kafka.reply_topic": topics.replies,
            "kafka.dead_letter_topic": topics.dead_letters,
            "milvus.uri": str(self.milvus),
            "model.cache": str(self._model_cache),
        }
        worker = WorkerProcess(_USUAL | own | {name.replace("__", "."): value for name, value in settings.items()})
        self._workers.append(worker)
        return worker

    def wait_committed(self, worker: WorkerProcess, enough: Callable[[Committed], bool], group: str | None = None) -> Committed:
        """Wait until what is committed is enough; the worker must live, and commit something more now and then."""
        last: Committed = {}
        until_s = 0.0
        while not enough(committed := self.topics.committed(group)):
            if committed != last:
                last, until_s = committed, time.monotonic() + WAIT_S
            assert worker.stays_alive(_LOOK_AGAIN_S), f"the worker ended: {worker.lines}"
            assert time.monotonic() < until_s, f"stuck at {committed} of {self.topics.ends()}: {worker.lines}"
        return committed

    def wait_all_committed(self, worker: WorkerProcess, partitions: Collection[int] = range(PARTITIONS), group: str | None = None) -> None:
        """Wait until the worker has committed everything that was sent to these partitions."""
        ends = self.topics.ends()
        self.wait_committed(worker, lambda committed: all(committed[p] == ends[p] for p in partitions), group)

    def wait_progress(self, worker: WorkerProcess) -> Committed:
        """Wait until the worker has committed something more than there was at this call."""
        before = self.topics.committed()
        return self.wait_committed(worker, lambda committed: committed != before)

    def drain(self, worker: WorkerProcess) -> None:
        """SIGTERM; the worker must drain."""
        worker.terminate()
        assert worker.wait(DRAIN_S + WAIT_S) == 0, worker.lines
        assert worker.words() == []

    def read(self) -> Index:
        """Read the index; no worker may be alive."""
        return read_index(self.milvus, COLLECTION, dict(self.topics.ends()), self._spare)

    def judge(self) -> Verdict:
        """Compare everything sent with everything stored; no worker may be alive."""
        return judge(self.topics.sent, self.topics.logs, self.read(), self.topics.letters())

    def judge_end(self) -> None:
        """Everything is committed, and everything is somewhere."""
        assert self.topics.committed() == self.topics.ends()
        assert self.judge().lost_below(self.topics.ends()) == []

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

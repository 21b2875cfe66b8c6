"""A scene: topics of its own, a Milvus folder or collections of its own on a server, and the workers that a test starts on them.

On a server the index can be read while workers live, and several of them can share it; a folder belongs to one of them at a time.
"""

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from tests.faults.index import Index, read_index, read_server
from tests.faults.oracle import Verdict, judge
from tests.faults.records import Content, strange
from tests.faults.stranger import Protocol
from tests.faults.topics import Committed, Topics
from tests.faults.truth import truth_of
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.kafka import SHORT_SESSION_S, short_sessions
from tests.services.milvus import MilvusServer, drop
from worker.embedding.model.prepared import PreparedModel

COLLECTION = "vectail"
DRAIN_S = 20.0
SESSION_S = 10.0
_LOOK_AGAIN_S = 0.05
FLOWS_S = 30.0
"""Within which a fresh record must be stored and committed once a fault is over."""
_CLIENT = {
    # A machine that stalls for a moment must not cost a member its partitions.
    "session.timeout.ms": str(int(SESSION_S * 1000)),
    "heartbeat.interval.ms": "500",
    # Small fetches: something of every partition is on its way whenever a fault comes.
    "max.partition.fetch.bytes": "4096",
    "queued.min.messages": "50",
}
_CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms")
"""Under `consumer` these are the broker's: 10 s and 0.5 s on the one that tests start."""
_USUAL = {
    "kafka.commit_interval_s": "0.2",
    "kafka.librdkafka": json.dumps(_CLIENT),
    "decode.errors": "strict",
    "engine.name": "llama",
    # Two threads of llama.cpp that share a core wait for each other by spinning: ten times slower where tests run side by side.
    "engine.threads": "1",
    "http.port": "0",
    "limits.drain_timeout_s": str(DRAIN_S),
    "milvus.collection": COLLECTION,
}


class Scene:
    """What a fault test works with; every worker that it started is gone after `close`.

    Thread: the test's.
    """

    def __init__(self, topics: Topics, folder: Path, model: PreparedModel, server: MilvusServer | None = None) -> None:
        """`folder`: where Milvus Lite's is, and whatever else a test leaves; `server`: the index is there instead."""
        self.topics = topics
        self.milvus = folder / "milvus"
        self.server = server
        self.collection = COLLECTION if server is None else f"{COLLECTION}_{uuid.uuid4().hex[:12]}"
        self._spare = folder / "copy"
        self.model = model
        self._workers: list[WorkerProcess] = []
        self._protocol: Protocol | None = None
        self._members_die = False

    def members_die(self) -> None:
        """From now on a member that is killed or stands still gives its partitions back after `SHORT_SESSION_S`, under either protocol."""
        self._members_die = True
        short_sessions(self.topics.bootstrap, self.topics.group, self.topics.query_group)

    def start_under(self, protocol: Protocol, **settings: str) -> WorkerProcess:
        """Start a worker under that protocol of the group; who follows one of another protocol waits until none of those is left.

        Members of the classic protocol, also those that were killed, may keep one of KIP-848's out: see `test_ownership`.
        """
        if protocol == "consumer" and self._protocol == "classic":
            self.topics.wait_without_members()
        self._protocol = protocol
        return self.start(**client_of(protocol), **settings)

    def start(self, *through: str, **settings: str) -> WorkerProcess:
        """Start a worker; `kafka__group="a"` stands for the setting kafka.group, `through` is a command that becomes the worker."""
        topics = self.topics
        own = {
            "kafka.bootstrap_servers": topics.bootstrap,
            "kafka.topics": f'["{topics.logs}"]',
            "kafka.group": topics.group,
            "kafka.query_topic": topics.queries,
            "kafka.query_group": topics.query_group,
            "kafka.reply_topic": topics.replies,
            "kafka.dead_letter_topic": topics.dead_letters,
            "milvus.uri": str(self.milvus) if self.server is None else self.server.uri,
            "milvus.collection": self.collection,
            "model.folder": str(self.model.folder),
        }
        wanted = _USUAL | own | {name.replace("__", "."): value for name, value in settings.items()}
        worker = WorkerProcess(wanted | {"kafka.librdkafka": self._client_for(wanted)}, *through)
        self._workers.append(worker)
        return worker

    def _client_for(self, wanted: Mapping[str, str]) -> str:
        """Return the client's properties; no session may be longer than the time between two polls."""
        client: dict[str, str] = json.loads(wanted["kafka.librdkafka"])
        if client.get("session.timeout.ms") == _CLIENT["session.timeout.ms"]:
            most_s = SHORT_SESSION_S if self._members_die else float(wanted.get("kafka.max_poll_interval_s", "inf"))
            client["session.timeout.ms"] = str(int(min(SESSION_S, most_s) * 1000))
        return json.dumps(client)

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

    def wait_all_committed(self, worker: WorkerProcess, partitions: Collection[int] | None = None, group: str | None = None) -> None:
        """Wait until everything is committed that was sent to these partitions, to all of them if none are named."""
        ends = self.topics.ends()
        wanted = ends if partitions is None else partitions
        self.wait_committed(worker, lambda committed: all(committed[p] >= ends[p] for p in wanted), group)

    def wait_progress(self, worker: WorkerProcess) -> Committed:
        """Wait until the worker has committed something more than there was at this call, if there was more."""
        before, ends = self.topics.committed(), self.topics.ends()
        return self.wait_committed(worker, lambda committed: committed != before or all(committed[p] >= ends[p] for p in ends))

    def drain(self, worker: WorkerProcess) -> None:
        """SIGTERM; the worker must drain."""
        worker.terminate()
        assert worker.wait(DRAIN_S + WAIT_S) == 0, worker.lines
        assert worker.words() == []

    def fresh_record_flows(self, worker: WorkerProcess, make: Callable[[int], Content] = strange, within_s: float = FLOWS_S) -> None:
        """Send a record to each partition: all of them must be committed in time, and on a server they are seen to be stored.

        To be called when a fault is over. What had piled up meanwhile counts: wait for it first where it is more than that time holds.
        """
        topics = self.topics
        topics.send(topics.partitions, make)
        ends, until_s = topics.ends(), time.monotonic() + within_s
        while any((committed := topics.committed())[partition] < end for partition, end in ends.items()):
            assert time.monotonic() < until_s, f"{committed} of {ends} are committed after {within_s:.0f} s: {worker.lines[-20:]}"
            assert worker.stays_alive(_LOOK_AGAIN_S), f"the worker ended: {worker.lines}"
        if self.server is not None:
            self.check_nothing_lost()

    def read(self) -> Index:
        """Read the index; on a folder, no worker may be alive."""
        ends = self.topics.ends()
        for sent in self.topics.earlier:
            ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
        if self.server is None:
            return read_index(self.milvus, self.collection, ends, self._spare)
        return read_server(self.server.uri, self.collection, ends, grows=any(worker.lives for worker in self._workers))

    def judge(self) -> Verdict:
        """Compare everything sent with everything stored; on a folder, no worker may be alive."""
        index = self.read()
        return judge(self.topics.sent, self.topics.logs, index, self.topics.letters(), self.topics.earlier)

    def check_nothing_lost(self) -> tuple[Committed, Verdict]:
        """See that all that is committed now is stored, a dead letter, or dropped on purpose: before each restart, on a server any time.

        Returns what was committed, and what has become of everything.
        """
        committed = self.topics.committed()
        ends = self.topics.watermarks()
        assert {place: offset for place, offset in committed.items() if offset > ends[place]} == {}, "committed and never sent"
        verdict = self.judge()
        assert (lost := verdict.lost_below(committed)) == [], f"lost below {committed}: {lost}"
        return committed, verdict

    def judge_end(self, *, vectors: bool = True) -> None:
        """Everything is committed, everything is somewhere, and (of the usual records) every vector is its text's."""
        committed, verdict = self.check_nothing_lost()
        ends = self.topics.ends()
        assert {place: offset for place, offset in committed.items() if offset < ends[place]} == {}, "not committed"
        assert verdict.lost_below(ends) == []
        if vectors:
            self.check_vectors()

    def check_vectors(self) -> None:
        """See that each line has the template of its kind and each template its own vector; see `tests.faults.truth`."""
        truth_of(self.model).check(self.read())

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        if self.server is not None:
            drop(self.server.uri, self.collection, f"{self.collection}_templates")


def client_of(protocol: Protocol, **properties: str) -> dict[str, str]:
    """Return the settings of a worker that joins its group under that protocol; `session__timeout__ms` stands for a client's property."""
    client = {name: value for name, value in _CLIENT.items() if protocol == "classic" or name not in _CLASSIC_ONLY}
    own = {name.replace("__", "."): value for name, value in properties.items()}
    return {"kafka__group_protocol": protocol, "kafka__librdkafka": json.dumps(client | own)}

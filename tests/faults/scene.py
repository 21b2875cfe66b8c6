"""A scene: its own topics, a Milvus folder or its own collections on a server, and the workers that a test starts on them.

On a server the index can be read while workers run, and several workers can share it; a folder belongs to one worker at a time.
"""

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from tests.faults.index import Index, drop_index, read_index, read_server
from tests.faults.oracle import Verdict, judge
from tests.faults.records import Content, strange
from tests.faults.stranger import Protocol
from tests.faults.topics import Committed, Topics
from tests.faults.truth import truth_of
from tests.faults.worker_process import WAIT_S, WorkerProcess, run_verb
from tests.services.kafka import SHORT_SESSION_S, short_sessions
from tests.services.milvus import MilvusServer
from worker.embedding.model.prepared import PreparedModel

K = TypeVar("K")

COLLECTION = "vectail"
DRAIN_S = 20.0
SESSION_S = 10.0
_LOOK_AGAIN_S = 0.05
FLOWS_S = 30.0
"""A fresh record must be stored and committed within this time after a fault."""
_CLIENT = {
    # No member may lose its partitions when the machine stalls for a moment.
    "session.timeout.ms": str(int(SESSION_S * 1000)),
    "heartbeat.interval.ms": "500",
    # Small fetches, so that records of every partition are in flight when a fault begins.
    "max.partition.fetch.bytes": "4096",
    "queued.min.messages": "50",
}
_CLASSIC_ONLY = ("session.timeout.ms", "heartbeat.interval.ms")
"""Under `consumer` the broker sets these: 10 s and 0.5 s on the one that tests start."""
_USUAL = {
    "kafka.commit_interval_s": "0.2",
    "kafka.librdkafka": json.dumps(_CLIENT),
    "decode.errors": "strict",
    "engine.name": "llama",
    # Two llama.cpp threads that share a core spin while they wait for each other: ten times slower when tests run in parallel.
    "engine.threads": "1",
    "http.port": "0",
    "limits.drain_timeout_s": str(DRAIN_S),
    "milvus.collection": COLLECTION,
}


class Scene:
    """The environment of a fault test; `close` ends every worker that it started."""

    def __init__(self, topics: Topics, folder: Path, model: PreparedModel, server: MilvusServer | None = None) -> None:
        """`folder`: for Milvus Lite's folder and other files; `server`: the index is there instead."""
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
        """From now on a killed or frozen member loses its partitions after `SHORT_SESSION_S`, under either protocol."""
        self._members_die = True
        short_sessions(self.topics.bootstrap, self.topics.group, self.topics.query_group)

    def start_under(self, protocol: Protocol, **settings: str) -> WorkerProcess:
        """Start a worker under that group protocol, after all members under another protocol have left.

        Members of the classic protocol, even killed ones, may keep a member of KIP-848 out: see `test_ownership`.
        """
        if protocol == "consumer" and self._protocol == "classic":
            self.topics.wait_without_members()
        self._protocol = protocol
        return self.start(**client_of(protocol), **settings)

    def start(self, *through: str, options: Sequence[str] = (), **settings: str) -> WorkerProcess:
        """Start a worker; `kafka__group="a"` sets kafka.group, `through` is a command that executes the worker.

        `options`: of `vectail run`.
        """
        worker = WorkerProcess(self._settings_of(settings), *through, options=options)
        self._workers.append(worker)
        return worker

    def run_verb(self, *words: str, **settings: str) -> str:
        """Run another verb with the settings of a worker, to its end, which must be good; return its output."""
        return run_verb(self._settings_of(settings), *words)

    def _settings_of(self, settings: Mapping[str, str]) -> dict[str, str]:
        topics = self.topics
        own = {
            "kafka.bootstrap_servers": topics.bootstrap,
            "topic": topics.logs,
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
        return wanted | {"kafka.librdkafka": self._client_for(wanted)}

    def _client_for(self, wanted: Mapping[str, str]) -> str:
        """Return the client's properties; no session may be longer than the poll interval."""
        client: dict[str, str] = json.loads(wanted["kafka.librdkafka"])
        if client.get("session.timeout.ms") == _CLIENT["session.timeout.ms"]:
            most_s = SHORT_SESSION_S if self._members_die else float(wanted.get("kafka.max_poll_interval_s", "inf"))
            client["session.timeout.ms"] = str(int(min(SESSION_S, most_s) * 1000))
        return json.dumps(client)

    def wait_committed(self, worker: WorkerProcess, enough: Callable[[Committed], bool], group: str | None = None) -> Committed:
        """Wait until enough is committed; meanwhile the worker must live and make progress."""
        return wait_until_committed(worker, lambda: self.topics.committed(group), enough)

    def wait_all_committed(self, worker: WorkerProcess, partitions: Collection[int] | None = None, group: str | None = None) -> None:
        """Wait until everything sent to these partitions (default: all) is committed."""
        ends = self.topics.ends()
        wanted = ends if partitions is None else partitions
        self.wait_committed(worker, lambda committed: all(committed[p] >= ends[p] for p in wanted), group)

    def wait_progress(self, worker: WorkerProcess) -> Committed:
        """Wait until the worker has committed more than at this call, if more was sent."""
        before, ends = self.topics.committed(), self.topics.ends()
        return self.wait_committed(worker, lambda committed: committed != before or all(committed[p] >= ends[p] for p in ends))

    def drain(self, worker: WorkerProcess) -> None:
        """Send SIGTERM; the worker must drain."""
        worker.terminate()
        assert worker.wait(DRAIN_S + WAIT_S) == 0, worker.lines
        assert worker.words() == []

    def fresh_record_flows(self, worker: WorkerProcess, make: Callable[[int], Content] = strange, within_s: float = FLOWS_S) -> None:
        """Send a record to each partition: all must be committed in time and, on a server, stored.

        Call it after a fault. A backlog counts against the time: if it may be too long, wait for it first.
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
        """Read the index; with a folder, no worker may be alive."""
        ends = self.topics.ends()
        for sent in self.topics.earlier:
            ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
        if self.server is None:
            return read_index(self.milvus, self.collection, ends, self._spare)
        return read_server(self.server.uri, self.collection, ends)

    def judge(self) -> Verdict:
        """Compare everything sent with everything stored; with a folder, no worker may be alive."""
        index = self.read()
        return judge(self.topics.sent, self.topics.logs, index, self.topics.letters(), self.topics.earlier)

    def check_nothing_lost(self) -> tuple[Committed, Verdict]:
        """Check that all committed records are stored, dead letters, or dropped on purpose: before each restart; on a server any time.

        Returns the committed offsets and the oracle's verdict.
        """
        committed = self.topics.committed()
        ends = self.topics.watermarks()
        assert {place: offset for place, offset in committed.items() if offset > ends[place]} == {}, "committed but never sent"
        verdict = self.judge()
        assert (lost := verdict.lost_below(committed)) == [], f"lost below {committed}: {lost}"
        return committed, verdict

    def judge_end(self, *, vectors: bool = True) -> None:
        """Check that everything is committed and accounted for and, for the usual records, that every vector belongs to its text."""
        committed, verdict = self.check_nothing_lost()
        ends = self.topics.ends()
        assert {place: offset for place, offset in committed.items() if offset < ends[place]} == {}, "not committed"
        assert verdict.lost_below(ends) == []
        if vectors:
            self.check_vectors()

    def check_vectors(self) -> None:
        """Check that each line has its own template and each template its own vector; see `tests.faults.truth`."""
        truth_of(self.model).check(self.read())

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        if self.server is not None:
            drop_index(self.server.uri, self.collection)


def wait_until_committed(
    worker: WorkerProcess, ask: Callable[[], Mapping[K, int]], enough: Callable[[Mapping[K, int]], bool]
) -> Mapping[K, int]:  # fmt: skip
    """Wait until enough is committed of what `ask` returns; meanwhile the worker must live and make progress."""
    last: Mapping[K, int] = {}
    until_s = 0.0
    while not enough(committed := ask()):
        if committed != last:
            last, until_s = committed, time.monotonic() + WAIT_S
        assert worker.stays_alive(_LOOK_AGAIN_S), f"the worker ended: {worker.lines}"
        assert time.monotonic() < until_s, f"stuck at {committed}: {worker.lines}"
    return committed


def client_of(protocol: Protocol, **properties: str) -> dict[str, str]:
    """Return the settings of a worker that joins under that protocol; `session__timeout__ms` sets the client's session.timeout.ms."""
    client = {name: value for name, value in _CLIENT.items() if protocol == "classic" or name not in _CLASSIC_ONLY}
    own = {name.replace("__", "."): value for name, value in properties.items()}
    return {"kafka__group_protocol": protocol, "kafka__librdkafka": json.dumps(client | own)}

"""Reads a worker's HTTP pages as any monitoring system would."""

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from consumers.record import Partition
from tests.faults.worker_process import WAIT_S, WorkerProcess

_LOOK_AGAIN_S = 0.2


class Readiness(NamedTuple):
    """An answer of `/readyz`."""

    http_status: int
    status: str
    wrong: frozenset[str]
    """Names of the failing checks."""


class Pages:
    """The pages of one worker.

    Thread: any.
    """

    def __init__(self, worker: WorkerProcess) -> None:
        """Wait until the worker listens."""
        worker.wait_for("starting")
        self._worker = worker
        (url,) = {event["http"] for event in worker.events("info") if event["event"] == "starting"}
        self._port = int(url.rpartition(":")[2])

    def get(self, path: str) -> tuple[int, str]:
        return self._request("GET", path, None)

    def post(self, path: str, document: Mapping[str, Any]) -> tuple[int, str]:
        return self._request("POST", path, json.dumps(document))

    @contextmanager
    def left_unread(self, path: str) -> Iterator[None]:
        """Ask for a stream, and read nothing of it until the block ends; by then the worker may have ended."""
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        try:
            client.request("GET", path)
            yield
        finally:
            client.close()

    def _request(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S)
        try:
            client.request(method, path, body, {} if body is None else {"Content-Type": "application/json"})
            answer = client.getresponse()
            return answer.status, answer.read().decode()
        finally:
            client.close()

    def readiness(self) -> Readiness:
        status, body = self.get("/readyz")
        document = json.loads(body)
        return Readiness(status, document["status"], frozenset(name for name, said in document["checks"].items() if said != "ok"))

    def is_alive(self) -> bool:
        return self.get("/healthz")[0] == 200

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """Return the values of one metric by its label values, ordered by label name."""
        return {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
            if sample.name == name
        }

    def offsets(self, name: str) -> dict[Partition, int]:
        """Return the values of a metric that has the labels partition and topic."""
        return {Partition(topic, int(partition)): int(value) for (partition, topic), value in self.values(name).items()}

    def wait_until(self, what: str, condition: Callable[[], bool], within_s: float = WAIT_S) -> float:
        """Wait for the condition while the worker lives; return the seconds it took."""
        began_s = time.monotonic()
        while not condition():
            assert time.monotonic() - began_s < within_s, (
                f"{what} not within {within_s:.0f} s: {self.get('/readyz')}, {self._worker.lines[-10:]}"
            )
            assert self._worker.stays_alive(_LOOK_AGAIN_S), f"the worker ended: {self._worker.lines}"
        return time.monotonic() - began_s

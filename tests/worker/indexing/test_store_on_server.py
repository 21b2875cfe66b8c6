"""The store step before a Milvus server that fails in every way a stub can: nothing lost, nothing committed early, nobody blamed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from pymilvus import MilvusClient

from sinks.index_spaces import VectorSpace
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from tests.sinks.stub_server import StubServer
from tests.worker.chain import Chain
from worker.runtime.stage import Abandoned

LINES = [f"disk {'abcdefgh'[number % 8]} full {number}" for number in range(20)]
SHORT_S, PATIENT_S = 0.5, 10.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StubServer]:
    server = StubServer(tmp_path / "server")
    yield server
    server.close()


@pytest.fixture
def remote(server: StubServer) -> Iterator[MilvusSink]:
    sink = MilvusSink(MilvusSettings(uri=server.uri, timeout_s=PATIENT_S), VectorSpace(384, "space-1"))
    sink.open()
    yield sink
    sink.close()


@pytest.fixture
def onto(chain: Chain, remote: MilvusSink) -> Chain:
    """A chain whose store step writes to the server, with its lines embedded."""
    chain.store_step, chain.template_view = chain.store_onto(remote), remote.templates
    chain.feed(*LINES)
    chain.embed()
    return chain


FAULTS: dict[str, dict[str, Any]] = {
    "a short count": {"forgotten_rows": 1},
    "a rate limit": {"refuse": (8, "request is rejected by grpc RateLimiter middleware: rate limit exceeded")},
    "no access": {"refuse": (65_535, "auth check failure, please check username and password are correct")},
    "no credentials": {"denied": (grpc.StatusCode.UNAUTHENTICATED, "auth check failure")},
    "not found": {"refuse": (100, "collection not found[collection=vectail]")},
    "every row is too large": {"most_rows": 0},
    "a late answer": {},
}
"""What the stub is told; a late answer is one that is held back."""


def mend(server: StubServer) -> None:
    server.forgotten_rows, server.refuse, server.denied, server.most_rows = 0, None, None, 1 << 31
    server.answer.set()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("collection", ["templates", "blocks"])
def test_what_the_server_refuses_for_a_while_is_held_and_then_stored_once(
    onto: Chain, server: StubServer, remote: MilvusSink, fault: str, collection: str
) -> None:
    tries: list[float] = []

    def wait_at_most(timeout_s: float) -> None:
        remote._lent.check()._write_timeout_s = timeout_s  # noqa: SLF001 (no test should wait so long for an answer that does not come)

    def begin() -> None:
        wait_at_most(PATIENT_S if FAULTS[fault] else SHORT_S)
        for name, value in FAULTS[fault].items():
            setattr(server, name, value)
        if not FAULTS[fault]:
            server.answer.clear()

    def pause(seconds: float) -> None:
        assert (onto.committable(), onto.ledger.open_records, onto.letters.posted) == (None, len(LINES), [])
        tries.append(seconds)
        if len(tries) == 2:
            mend(server)
            wait_at_most(PATIENT_S)

    onto.on_pause = pause
    onto.at = lambda point: begin() if point == f"before_{collection}" else None
    onto.store()
    assert len(tries) == 2
    assert remote.counts() == (1, 8)
    assert sorted(
        line.text or "" for line in BlockReader(remote).lines_between(RecordRange("logs", 0, 0, 99), strong=True).lines
    ) == sorted(LINES)
    assert (onto.committable(), onto.ledger.open_records, onto.letters.posted) == (len(LINES), 0, [])


def test_a_collection_that_is_dropped_while_running_is_waited_for(onto: Chain, server: StubServer, remote: MilvusSink) -> None:
    other = MilvusClient(server.uri, dedicated=True)
    other.drop_collection("vectail")
    other.close()
    onto.give_up_after = 4
    with pytest.raises(Abandoned):
        onto.store()
    assert (onto.committable(), onto.ledger.open_records, onto.letters.posted) == (None, len(LINES), [])
    assert [line.split(" (")[0] for line in onto.said] == ["the sink does not take rows"]
    assert "vectail" in onto.said[0]
    assert remote.templates.texts([onto.template(onto.mask(LINES[0]))]), "templates were stored before"

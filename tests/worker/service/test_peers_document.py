"""Several workers on one page: each peer is asked for its own status, once and for a second, and nobody else is."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from tests.page import stub_documents
from tests.worker.serving.schemas import check
from tests.worker.serving.serving import Serving
from worker.service.peers_document import MOST_PEERS, PeersDocument
from worker.settings.service_tables import HttpTable

TOKEN = "s3cr3t"  # noqa: S105 - the test's own


class Peer:
    """A worker with the real HTTP server, whose status is as the test says.

    Thread: the test's; documents are asked for on others.
    """

    def __init__(self, token: str = TOKEN) -> None:
        self.status: Any = stub_documents.status(0)
        self.asked: list[str] = []
        self.serving = Serving(token=token, documents={path: self._document(path) for path in ("/api/status", "/api/workers")})
        self.address = f"127.0.0.1:{self.serving.server.listening.port}"

    def _document(self, path: str) -> Any:  # noqa: ANN401 - a document
        def document(_params: Mapping[str, str]) -> Any:  # noqa: ANN401 - as JSON has it
            self.asked.append(path)
            return self.status

        return document


@pytest.fixture
def peers() -> Iterator[list[Peer]]:
    started = [Peer(), Peer(), Peer("another")]
    yield started
    for one in started:
        one.serving.close()


def asked_of(*addresses: str, own_name: str = "stub-host:1") -> PeersDocument:
    return PeersDocument(HttpTable.model_validate({"peers": addresses, "token": TOKEN}), own_name=own_name)


def test_each_peer_tells_its_state_and_those_that_do_not_answer_are_named_within_a_second(peers: list[Peer]) -> None:
    ready, lacking, other_token = peers
    lacking.status |= {"worker": "b:2", "ready": {"status": "not_ready", "checks": {"kafka": "ok", "index": "Milvus is away"}}}
    with closing(socket.create_server(("127.0.0.1", 0))) as silent, closing(socket.create_server(("127.0.0.1", 0))) as gone:
        stuck, nobody = f"127.0.0.1:{silent.getsockname()[1]}", f"127.0.0.1:{gone.getsockname()[1]}"
        gone.close()
        document = asked_of(ready.address, lacking.address, other_token.address, stuck, nobody, "no.such.host.invalid:8790", own_name="b:2")
        started_s = time.monotonic()
        found = document.document({"peers": "127.0.0.1:1", "path": "/metrics"})
        assert time.monotonic() - started_s < 15, "two waits of a second each, on however busy a machine"
    check("Workers", found)
    told = {one["address"]: one for one in found["workers"]}
    assert [*told] == [ready.address, lacking.address, other_token.address, stuck, nobody, "no.such.host.invalid:8790"]
    assert [one["state"] for one in told.values()] == ["ready", "not_ready", "away", "away", "away", "away"]
    assert (told[ready.address]["worker"], told[ready.address]["partitions"]) == (stub_documents.WORKER, 2)
    assert (told[lacking.address]["reason"], told[lacking.address]["is_self"]) == ("index: Milvus is away", True)
    assert "http.token" in told[other_token.address]["reason"]
    assert (told[stuck]["reason"], told[nobody]["reason"]) in {
        (late, "Connection refused") for late in ("no answer within 1 s", "timed out")
    }
    assert {*ready.asked, *lacking.asked} == {"/api/status"}, "a peer that is asked asks nobody"


def test_what_is_still_awaited_is_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, lookups = threading.Event(), []

    def lookup(host: str, *_more: Any, **_named: Any) -> list[Any]:  # noqa: ANN401 - the library's
        lookups.append(host)
        answered.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    document = asked_of("slow.example:8790")
    for _ in range(2):
        (one,) = document.document({})["workers"]
        assert (one["state"], one["reason"]) == ("away", "no answer within 1 s")
    answered.set()
    assert lookups == ["slow.example"]


@pytest.mark.parametrize("answer", [[], {"worker": "x"}, {**stub_documents.status(0), "ready": None}], ids=["a list", "a part", "null"])
def test_what_is_no_status_is_no_worker(peers: list[Peer], answer: object) -> None:
    peers[0].status = answer
    (one,) = asked_of(peers[0].address).document({})["workers"]
    assert (one["state"], one["worker"]) == ("away", "")


def test_a_name_stands_for_all_its_addresses_each_asked_once_and_not_for_too_many(
    monkeypatch: pytest.MonkeyPatch, peers: list[Peer]
) -> None:
    port = int(peers[0].address.rpartition(":")[2])
    hosts = [f"127.0.0.{number}" for number in range(1, MOST_PEERS + 10)]
    name, real = "workers.logs.svc", socket.getaddrinfo

    def lookup(host: str, *more: Any, **named: Any) -> list[Any]:  # noqa: ANN401 - the library's
        found = [place for one in hosts for place in real(one, *more, **named)] if host == name else real(host, *more, **named)
        return [*found, *found]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    told = asked_of(f"{name}:{port}").document({})["workers"]
    assert [one["address"] for one in told] == [f"{name}:{port} ({host}:{port})" for host in hosts[:MOST_PEERS]]
    assert told[0]["state"] == "ready"
    assert peers[0].asked == ["/api/status"]


def test_without_peers_there_is_nobody() -> None:
    assert asked_of().document({}) == {"workers": []}


@pytest.mark.parametrize("peer", ["worker", "http://worker:8790", "worker:8790/metrics", "user@worker:8790", "worker:", "a b:1", "[::1:80"])
def test_an_address_is_a_host_and_a_port_and_nothing_else(peer: str) -> None:
    with pytest.raises(ValueError, match="peers"):
        HttpTable.model_validate({"peers": (peer,)})

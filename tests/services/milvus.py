"""A real Milvus for tests: one that is named, one in Docker, or the one of PyPI's wheel, started here; in this order.

`tests/conftest.py` makes the `milvus` fixture of it. `VECTAIL_TEST_MILVUS=host:port` names a running one, which is never stopped.
One server serves the whole run, so every test drops the collections that it made.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from pymilvus import MilvusClient, MilvusException

from tests.services.missing import ServerMissing, skip_or_fail

ADDRESS_VARIABLE = "VECTAIL_TEST_MILVUS"
_ANSWER_S = 120.0
_LOOK_S = 5.0
_ASK_S = 30.0
_PAUSE_S = 0.1


class MilvusServer(Protocol):
    """One server on loopback.

    Thread: any.
    """

    @property
    def uri(self) -> str:
        """Return the address as clients take it, the same after a restart."""

    @property
    def can_restart(self) -> bool:
        """Return whether `kill`, `start`, `pause` and `resume` work: not on a server that somebody else runs."""

    def kill(self) -> None:
        """End the server at once (SIGKILL); returns when it is gone and its port refuses."""

    def start(self) -> None:
        """Start the server on the same port and the same rows, or let it go on; returns when it answers. Does nothing when it does."""

    def pause(self) -> None:
        """Let the server stand still (SIGSTOP): it takes connections and says nothing. For seconds: it leaves itself after about 30."""

    def resume(self) -> None:
        """Let it go on."""

    def close(self) -> None:
        """End the server and remove its files."""


class NamedMilvus:
    """The server that `VECTAIL_TEST_MILVUS` names.

    Thread: any.
    """

    def __init__(self, address: str) -> None:
        self.uri = f"http://{address}"
        self.can_restart = False

    def kill(self) -> None:
        skip_or_fail(f"the Milvus that {ADDRESS_VARIABLE} names belongs to somebody else: not killed")

    def start(self) -> None:
        pass

    def pause(self) -> None:
        skip_or_fail(f"the Milvus that {ADDRESS_VARIABLE} names belongs to somebody else: not paused")

    def resume(self) -> None:
        pass

    def close(self) -> None:
        pass


def open_milvus(*makers: Callable[[], MilvusServer]) -> MilvusServer:
    """Return the named server if there is one, else what the first maker that can brings; skips or fails the test if none can."""
    if address := os.environ.get(ADDRESS_VARIABLE):
        named = NamedMilvus(address)
        await_answer(named.uri, lambda: None)
        return named
    reasons = []
    for maker in makers:
        try:
            return maker()
        except ServerMissing as missing:
            reasons.append(str(missing))
    return skip_or_fail(f"no Milvus: {'; '.join(reasons)}")


def await_answer(uri: str, check_alive: Callable[[], None]) -> None:
    """Return when the server lists its collections; `check_alive` raises when waiting is in vain."""
    deadline = time.monotonic() + _ANSWER_S
    while True:
        check_alive()
        try:
            with connected(uri) as client:
                client.list_collections(timeout=_LOOK_S)
        except MilvusException as failure:
            if time.monotonic() > deadline:
                raise TimeoutError(f"Milvus at {uri} is not ready after {_ANSWER_S:.0f} s: {failure}") from failure
            time.sleep(_PAUSE_S)
        else:
            return


@contextmanager
def connected(uri: str) -> Iterator[MilvusClient]:
    """Yield a client of its own connection, so that closing it takes nobody else's away."""
    client = MilvusClient(uri, timeout=_ASK_S, dedicated=True)
    try:
        yield client
    finally:
        client.close()


def drop(uri: str, *collections: str) -> None:
    """Remove collections; one that is not there is no error."""
    with connected(uri) as client:
        for collection in collections:
            client.drop_collection(collection, timeout=_ASK_S)


def rows_there(uri: str, collection: str) -> int:
    """Count the rows, Strong. From then on reads at Bounded consistency, which may miss the newest, see what was written before."""
    with connected(uri) as client:
        counted: int = client.query(collection, output_fields=["count(*)"], consistency_level="Strong", timeout=_ASK_S)[0]["count(*)"]
    return counted


def empty(uri: str, collection: str, key: str) -> None:
    """Delete every row of a collection whose text `key` is not empty; a collection that is not there is no error."""
    with connected(uri) as client:
        if client.has_collection(collection, timeout=_ASK_S):
            client.delete(collection, filter=f'{key} != ""', timeout=_ASK_S)

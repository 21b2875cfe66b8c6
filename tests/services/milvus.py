"""A real Milvus for tests, by order of preference: one that the environment names, one in Docker, or a local one from PyPI's wheel.

`VECTAIL_TEST_MILVUS=host:port` names a running server, which is never stopped; `tests.services.shared` starts one for all processes of a
run. One server serves the whole run, so every test drops its collections.
"""

import abc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pymilvus import MilvusClient, MilvusException

from tests.services.missing import named_address

ADDRESS_VARIABLE = "VECTAIL_TEST_MILVUS"
_ANSWER_S = 120.0
_LOOK_S = 5.0
_ASK_S = 30.0
_PAUSE_S = 0.1


class MilvusServer:
    """A server on loopback that tests share: nobody stops it but who has started it.

    Thread: any.
    """

    def __init__(self, uri: str = "") -> None:
        self.uri = uri
        """For clients, the same after a restart."""


class OwnMilvus(MilvusServer, abc.ABC):
    """A server that only its owner uses.

    Thread: any.
    """

    @abc.abstractmethod
    def kill(self) -> None:
        """End the server at once (SIGKILL); returns when it is gone and its port refuses."""

    @abc.abstractmethod
    def start(self) -> None:
        """Start or resume the server with the same port and rows; return when it answers. Does nothing if it already does."""

    @abc.abstractmethod
    def pause(self) -> None:
        """Freeze the server (SIGSTOP): it accepts connections and never answers. Keep it short: it exits after about 30 s."""

    @abc.abstractmethod
    def resume(self) -> None:
        """Resume the server (SIGCONT)."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the server and remove its files."""


@contextmanager
def named_milvus() -> Iterator[MilvusServer]:
    """Yield the server that the environment names, once it answers. Raises ServerMissing."""
    address = named_address(ADDRESS_VARIABLE)
    named = MilvusServer(f"http://{address}")
    await_answer(named.uri, lambda: None)
    yield named


def await_answer(uri: str, check_alive: Callable[[], None]) -> None:
    """Return when the server lists its collections; `check_alive` raises if the server has ended."""
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
    """Yield a client with its own connection, so that closing it closes no other client's."""
    client = MilvusClient(uri, timeout=_ASK_S, dedicated=True)
    try:
        yield client
    finally:
        client.close()


def drop(uri: str, *collections: str) -> None:
    """Drop collections; a missing one is no error."""
    with connected(uri) as client:
        for collection in collections:
            client.drop_collection(collection, timeout=_ASK_S)


def empty(uri: str, collection: str, key: str) -> None:
    """Delete every row of a collection whose text `key` is not empty; a missing collection is no error."""
    with connected(uri) as client:
        if client.has_collection(collection, timeout=_ASK_S):
            client.delete(collection, filter=f'{key} != ""', timeout=_ASK_S)

"""The sinks that the contract runs on: the fake, a local Milvus folder, and a real Milvus server."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import Sink
from tests.fakes.sink import FakeSink
from tests.services.milvus import MilvusServer, empty
from tests.sinks.rows import DIM, SPACE

COLLECTION = "contract"
"""On the server, one pair of collections serves all tests, emptied before each: making a pair takes seconds."""

Server = Callable[[], MilvusServer]


class Maker(Protocol):
    """Yields a sink that is not open yet and holds nothing."""

    def __call__(self, folder: Path, server: Server, collection: str = COLLECTION) -> AbstractContextManager[Sink]: ...


@contextmanager
def _fake(folder: Path, server: Server, collection: str = COLLECTION) -> Iterator[Sink]:
    del folder, server, collection
    yield FakeSink(dim=DIM)


@contextmanager
def _milvus_lite(folder: Path, server: Server, collection: str = COLLECTION) -> Iterator[Sink]:
    del server
    yield MilvusSink(MilvusSettings(uri=str(folder / "milvus"), collection=collection), SPACE, consistency="Strong")


@contextmanager
def _milvus_server(folder: Path, server: Server, collection: str = COLLECTION) -> Iterator[Sink]:
    del folder
    uri = server().uri
    empty(uri, collection, "id")
    empty(uri, f"{collection}_templates", "digest")
    yield MilvusSink(MilvusSettings(uri=uri, collection=collection), SPACE, consistency="Strong")


SINKS: dict[str, Maker] = {"fake": _fake, "milvus-lite": _milvus_lite, "milvus-server": _milvus_server}

EACH_SINK = [pytest.param(name, marks=[pytest.mark.process] if name != "fake" else []) for name in SINKS]


@contextmanager
def _fake_with_words(folder: Path, server: Server, collection: str = COLLECTION) -> Iterator[Sink]:
    del folder, server, collection
    yield FakeSink(dim=DIM, has_bm25=True)


@contextmanager
def _milvus_lite_with_words(folder: Path, server: Server, collection: str = COLLECTION) -> Iterator[Sink]:
    del server
    uri = str(folder / "milvus")
    yield MilvusSink(MilvusSettings(uri=uri, collection=collection, bm25="on"), SPACE, consistency="Strong")


SINKS_WITH_WORDS: dict[str, Maker] = {"fake": _fake_with_words, "milvus-lite": _milvus_lite_with_words}
"""Those whose lines can be searched by their words; the server that tests start is too old for it."""

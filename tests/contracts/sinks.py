"""The sinks that the contract runs on: the fake, a local Milvus folder, and a real Milvus server."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from sinks.block import Block
from sinks.milvus.fields import COLUMN_BYTES, templates_name
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import Sink
from tests.fakes.sink import FakeSink
from tests.services.milvus import MilvusServer, empty
from tests.world import DIM, SPACE

COLLECTION = f"contract_{os.getpid()}"
"""On the server, one pair of collections serves all tests of a process, emptied before each: making a pair takes seconds."""

Server = Callable[[], MilvusServer]


class Maker(Protocol):
    """Yields a sink that is not open yet and holds nothing."""

    def __call__(self, folder: Path, server: Server) -> AbstractContextManager[Sink]: ...


@contextmanager
def _fake(folder: Path, server: Server) -> Iterator[Sink]:
    del folder, server
    fake = FakeSink(dim=DIM)
    fake.rejects = _is_too_long
    yield fake


@contextmanager
def _milvus_lite(folder: Path, server: Server) -> Iterator[Sink]:
    del server
    yield MilvusSink(MilvusSettings(uri=str(folder / "milvus"), collection=COLLECTION), SPACE)


@contextmanager
def _milvus_server(folder: Path, server: Server) -> Iterator[Sink]:
    del folder
    uri = server().uri
    empty(uri, COLLECTION, "id")
    empty(uri, templates_name(COLLECTION, SPACE.id), "template")
    yield MilvusSink(MilvusSettings(uri=uri, collection=COLLECTION), SPACE)


SINKS: dict[str, Maker] = {"fake": _fake, "milvus-lite": _milvus_lite, "milvus-server": _milvus_server}


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a sink that starts a process."""
    return [] if name == "fake" else [pytest.mark.process]


EACH_SINK = [pytest.param(name, marks=_marks(name)) for name in SINKS]


@contextmanager
def _fake_with_words(folder: Path, server: Server) -> Iterator[Sink]:
    del folder, server
    yield FakeSink(dim=DIM, ranks_words=True)


@contextmanager
def _milvus_lite_with_words(folder: Path, server: Server) -> Iterator[Sink]:
    del server
    yield MilvusSink(MilvusSettings(uri=str(folder / "milvus"), collection=COLLECTION, bm25="on"), SPACE)


SINKS_WITH_WORDS: dict[str, Maker] = {"fake": _fake_with_words, "milvus-lite": _milvus_lite_with_words}
"""Those that rank templates by their words; the server that tests start is too old for it."""

EACH_SINK_WITH_WORDS = [pytest.param(name, marks=_marks(name)) for name in SINKS_WITH_WORDS]


def _is_too_long(block: Block) -> bool:
    return max(block.characters.values()) > COLUMN_BYTES

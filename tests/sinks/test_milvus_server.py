"""What only a real server does: collections that others make, replace, drop and give a retention while we run."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sinks.milvus.fields import TTL_PROPERTY
from sinks.milvus.settings import VectorSpace
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch, StoredLines
from tests.services.milvus import MilvusServer, connected, drop
from tests.sinks.rows import DIM, SPACE, line, template
from tests.sinks.settings import strong_sink, with_settings

DAY_S = 86_400.0


@pytest.fixture
def remote(milvus: MilvusServer, unique: Callable[[str], str]) -> Iterator[MilvusSettings]:
    """Settings for collections that are not there yet; they are dropped at the end."""
    settings = MilvusSettings(uri=milvus.uri, collection=unique("sink").replace("-", "_"))
    yield settings
    drop(settings.uri, settings.collection, f"{settings.collection}_templates")


def opened(settings: MilvusSettings, space: VectorSpace = SPACE) -> MilvusSink:
    sink = strong_sink(settings, space)
    sink.open()
    return sink


def lifetimes(settings: MilvusSettings) -> list[str | None]:
    """Return what the server says of both collections, lines first."""
    with connected(settings.uri) as client:
        names = (settings.collection, f"{settings.collection}_templates")
        return [client.describe_collection(name)["properties"].get(TTL_PROPERTY) for name in names]


def test_two_workers_that_start_at_once_make_one_pair_of_collections_in_which_a_row_stored_twice_is_seen(remote: MilvusSettings) -> None:
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(opened, [remote, remote])
    first.upsert_templates([template("a")])
    second.upsert_lines([line(1)])
    assert first.counts() == second.counts() == (1, 1)
    with connected(remote.uri) as client:  # an insert looks for no row of the same id
        client.insert(remote.collection, [line(1)._asdict() | {"pad": [0.0, 0.0]}])
    assert first.lines_between("logs", 0, 0, 9) == StoredLines([line(1)], 2)
    second.delete_lines([line(1).id])
    assert first.lines_between("logs", 0, 0, 9) == StoredLines([], 0)
    first.close()
    second.close()


def test_a_collection_that_was_replaced_stops_the_sink_and_one_that_is_missing_is_waited_for(remote: MilvusSettings) -> None:
    sink = opened(remote)
    sink.upsert_templates([template("a")])
    sink.upsert_lines([line(1)])
    drop(remote.uri, f"{remote.collection}_templates")
    with pytest.raises(SinkBusy, match="not found"):
        sink.upsert_lines([line(2)])
    other = opened(remote)
    with pytest.raises(SinkBroken) as broken:
        sink.upsert_lines([line(2)])
    assert str(broken.value) == (
        f"Milvus collection '{remote.collection}_templates' was replaced while running; start again to fill the new one"
    )
    for call in (sink.counts, sink.open, lambda: sink.upsert_templates([template("a")])):
        with pytest.raises(SinkBroken, match="replaced"):
            call()
    sink.close()
    other.upsert_lines([line(3)])
    drop(remote.uri, remote.collection)
    opened(remote).close()
    with pytest.raises(SinkBroken, match=f"'{remote.collection}' was replaced"):
        other.upsert_lines([line(4)])
    other.close()


def test_lines_go_after_the_retention_and_templates_after_twice_that_and_a_start_may_change_it(remote: MilvusSettings) -> None:
    sink = strong_sink(with_settings(remote, retention_days=0.5 + 0.5 / DAY_S))
    assert sink.retention_s == DAY_S / 2 + 0.5
    sink.open()
    assert sink.retention_s == DAY_S / 2 + 1
    assert lifetimes(remote) == ["43201", "86401"]
    sink.close()

    reading = strong_sink(with_settings(remote, retention_days=1))
    reading.open(create=False)
    assert reading.retention_s == DAY_S / 2 + 1
    reading.close()
    assert lifetimes(remote) == ["43201", "86401"]

    opened(with_settings(remote, retention_days=36_500)).close()
    assert lifetimes(remote) == ["3153600000", "3155760000"]  # Milvus takes no more than a hundred years

    said: list[str] = []
    sink = strong_sink(remote, say=said.append)
    sink.open()
    assert (sink.retention_s, said) == (3_153_600_000, []), "as it was found"
    sink.close()

    sink = strong_sink(with_settings(remote, retention_days=0), say=said.append)
    sink.open()
    for_ever: list[float | None] = [sink.retention_s]
    assert for_ever == [None]
    assert lifetimes(remote) == ["0", "0"]
    assert said == [
        f"Milvus keeps the rows of {remote.collection}_templates for ever from now on; it was 3.652e+04 days",
        f"Milvus keeps the rows of {remote.collection} for ever from now on; it was 3.65e+04 days",
    ]
    with_another = strong_sink(with_settings(remote, retention_days=1))
    with_another.open()
    with_another.close()
    sink.upsert_lines([line(1)])
    assert sink.retention_s == DAY_S, "what somebody else has set meanwhile"
    assert sink.counts().lines == 1
    sink.close()


def test_another_embedding_space_is_refused_and_opened_without_creating_it_makes_neither_of_the_two(remote: MilvusSettings) -> None:
    opened(remote).close()
    with pytest.raises(SinkMismatch, match="embedding space space-1, this worker's are of space-2"):
        opened(remote, VectorSpace(DIM, "space-2"))
    drop(remote.uri, remote.collection)
    sink = strong_sink(remote)
    with pytest.raises(SinkMismatch, match=f"^Milvus collection '{remote.collection}' does not exist; nothing has been indexed yet$"):
        sink.open(create=False)
    with connected(remote.uri) as client:
        assert not client.has_collection(remote.collection)

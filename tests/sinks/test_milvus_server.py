"""What only a real server does: collections that others make, replace, drop and give a retention while we run."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from sinks.index_spaces import VectorSpace
from sinks.milvus.fields import TTL_PROPERTY, templates_name
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import BlockFilter, SinkBroken, SinkBusy
from tests.services.milvus import MilvusServer, connected, drop
from tests.sinks.settings import strong_sink
from tests.world import SPACE, block, blocks, line, template

DAY_S = 86_400
ALL = BlockFilter()
ONE, OTHER = blocks([line(1), line(2)], 1)


@pytest.fixture
def remote(milvus: MilvusServer, unique: Callable[[str], str]) -> Iterator[MilvusSettings]:
    """Settings for collections that are not there yet; they are dropped at the end."""
    settings = MilvusSettings(uri=milvus.uri, collection=unique("sink").replace("-", "_"))
    yield settings
    drop(settings.uri, settings.collection, of_templates(settings))


def of_templates(settings: MilvusSettings) -> str:
    return templates_name(settings.collection, SPACE.id)


def opened(settings: MilvusSettings, space: VectorSpace = SPACE, retention_s: float | None = None) -> MilvusSink:
    sink = strong_sink(settings, space, retention_s=retention_s)
    sink.open()
    return sink


def lifetimes(settings: MilvusSettings) -> list[str | None]:
    """Return what the server says of both collections, blocks first."""
    with connected(settings.uri) as client:
        names = (settings.collection, of_templates(settings))
        return [client.describe_collection(name)["properties"].get(TTL_PROPERTY) for name in names]


def test_two_workers_that_start_at_once_make_one_pair_of_collections_and_a_block_inserted_twice_is_one(remote: MilvusSettings) -> None:
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(opened, [remote, remote])
    first.templates.upsert([template("a")])
    second.write_blocks([ONE])
    assert first.counts() == second.counts() == (1, 1)
    second.write_blocks([ONE])  # an insert looks for no row of the same id: a late one of a frozen worker, say
    assert list(first.find_blocks(ALL).heads.ids) == [ONE.id]
    assert first.read_columns([ONE.id], ["texts"])[ONE.id].texts == ONE.texts
    second.write_blocks([ONE], again=True)
    assert first.counts().blocks == 1
    first.delete_blocks([ONE.id])
    assert second.find_blocks(ALL).heads.size == 0
    first.close()
    second.close()


def test_one_shard_holds_all_blocks_and_what_the_collections_are_stands_in_their_properties(remote: MilvusSettings) -> None:
    opened(remote).close()
    with connected(remote.uri) as client:
        told = client.describe_collection(remote.collection)
    assert told["num_shards"] == 1
    kept = {name: told["properties"][name] for name in ("vectail.layout", "vectail.space", "vectail.group")}
    assert kept == {"vectail.layout": "2", "vectail.space": "space-1", "vectail.group": "vectail"}


def test_more_blocks_than_a_server_returns_at_once_are_all_found(remote: MilvusSettings) -> None:
    sink = opened(remote)
    stored = [ONE._replace(id=ONE.id._replace(first=number, last=number)) for number in range(17_000)]
    sink.write_blocks(stored)
    found = sink.find_blocks(ALL)
    assert (len(set(found.heads.ids)), found.heads.size, found.is_all) == (17_000, 17_000, True)
    found = sink.find_blocks(ALL, limit=16_900)
    assert (len(set(found.heads.ids)), found.is_all) == (16_900, False)
    found = sink.find_blocks(ALL, limit=17_000)
    assert (found.heads.size, found.is_all) == (17_000, True)
    sink.close()


def test_a_collection_that_was_replaced_stops_the_sink_and_one_that_is_missing_is_waited_for(remote: MilvusSettings) -> None:
    sink = opened(remote)
    sink.templates.upsert([template("a")])
    sink.write_blocks([ONE])
    drop(remote.uri, of_templates(remote))
    with pytest.raises(SinkBusy, match="not found"):
        sink.write_blocks([OTHER])
    other = opened(remote)
    with pytest.raises(SinkBroken) as broken:
        sink.write_blocks([OTHER], again=True)
    assert str(broken.value) == f"Milvus collection {of_templates(remote)!r} was replaced while running; start again to fill the new one"
    for call in (sink.counts, sink.open, lambda: sink.templates.upsert([template("a")])):
        with pytest.raises(SinkBroken, match="replaced"):
            call()
    sink.close()
    other.write_blocks([block([line(3)], first=3)])
    drop(remote.uri, remote.collection)
    opened(remote).close()
    with pytest.raises(SinkBroken, match=f"'{remote.collection}' was replaced"):
        other.write_blocks([block([line(4)], first=4)])
    other.close()


def test_blocks_go_after_the_retention_and_templates_after_three_times_that(remote: MilvusSettings) -> None:
    sink = strong_sink(remote, retention_s=DAY_S / 2 + 0.5)
    assert sink.retention_s == DAY_S / 2 + 0.5
    sink.open()
    assert sink.retention_s == DAY_S / 2 + 1
    assert lifetimes(remote) == ["43201", "129603"]
    sink.close()
    reading = strong_sink(remote, retention_s=DAY_S)
    reading.open(create=False)
    assert reading.retention_s == DAY_S / 2 + 1
    reading.close()
    assert lifetimes(remote) == ["43201", "129603"]
    opened(remote, retention_s=36_500 * DAY_S).close()
    assert lifetimes(remote) == ["3153600000", "3155760000"]  # Milvus takes no more than a hundred years
    said: list[str] = []
    sink = strong_sink(remote, say=said.append)
    sink.open()
    assert (sink.retention_s, said) == (3_153_600_000, []), "as it was found"
    sink.close()
    sink = strong_sink(remote, retention_s=0, say=said.append)
    sink.open()
    for_ever: list[float | None] = [sink.retention_s]
    assert for_ever == [None]
    assert lifetimes(remote) == ["0", "0"]
    assert said == [
        f"Milvus keeps the rows of {of_templates(remote)} for ever from now on; it was 3.652e+04 days",
        f"Milvus keeps the rows of {remote.collection} for ever from now on; it was 3.65e+04 days",
    ]
    sink.close()


def test_a_retention_that_is_set_on_a_live_index_reaches_templates_only_after_it_has_passed(remote: MilvusSettings) -> None:
    sink = opened(remote)
    sink.write_blocks([ONE])
    other = opened(remote, retention_s=3)
    assert lifetimes(remote) == ["3", None], "templates wait: some of them were written when nothing was ever removed"
    sink.write_blocks([OTHER])
    assert sink.retention_s == 3, "what somebody else has set meanwhile"
    began = 0
    while lifetimes(remote)[1] is None and began < 1_000:
        began += 1
        other.write_blocks([ONE], again=True)  # a running worker tells the templates when it is time
    assert lifetimes(remote) == ["3", "9"]
    sink.close()
    other.close()

"""Which blocks a filter lets pass: on every sink those, and only those, that a look at each block finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings

from sinks.row import TemplateKey
from sinks.sink import BlockFilter, OffsetSpan, RunSpan, Sink
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.fakes.sink import passes
from tests.sinks.any_blocks import BLOCKS, FILTERS, KEYS, LEAST, MOST, NAMES, PLACES, RUNS, WORDS


class Filled(NamedTuple):
    """A sink that holds `BLOCKS`."""

    sink: Sink
    has_exact_words: bool
    has_exact_exclusion: bool
    """Whether a block of several services, or levels, that are all excluded is left out."""


@pytest.fixture(scope="module", params=EACH_SINK)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder: Path = tmp_path_factory.mktemp("filters")
    with SINKS[request.param](folder, lambda: request.getfixturevalue("milvus")) as sink:
        sink.open()
        sink.write_blocks(BLOCKS)
        yield Filled(sink, request.param != "milvus-lite", request.param != "milvus-server")
        sink.delete_blocks([one.id for one in BLOCKS])
        sink.close()


@settings(max_examples=60, deadline=None)
@given(only=FILTERS)
@example(only=BlockFilter())
@example(only=BlockFilter(templates=()))
@example(only=BlockFilter(templates=KEYS, words=WORDS[1:]))
@example(only=BlockFilter(services=('" or 1 == 1 or topic == "',)))
@example(only=BlockFilter(services=("\ud800",)))
@example(only=BlockFilter(levels=("",), services=("", "\x00")))
@example(only=BlockFilter(since_ms=MOST, until_ms=MOST))
@example(only=BlockFilter(first_offset=LEAST, end_offset=LEAST))
@example(only=BlockFilter(epoch="\ud800"))
@example(only=BlockFilter(spans=()))
@example(only=BlockFilter(besides=()))
@example(only=BlockFilter(besides=tuple(RunSpan(place, RUNS[1], 0, 9) for place in PLACES)))
@example(only=BlockFilter(not_topics=("logs", "none"), services=("sshd",)))
@example(only=BlockFilter(not_services=NAMES[:4], not_levels=("",)))
@example(only=BlockFilter(not_services=("\ud800",), not_topics=("\ud800",)))
@example(only=BlockFilter(spans=tuple(OffsetSpan(partition % 4, 0, 4) for partition in range(64))))
def test_a_filter_finds_the_blocks_that_pass_it(filled: Filled, only: BlockFilter) -> None:
    found = set(filled.sink.find_blocks(only).heads.ids)
    passing = {one.id for one in BLOCKS if passes(one, only)}
    loose = only if filled.has_exact_words else only._replace(words=())
    loose = loose if filled.has_exact_exclusion else loose._replace(not_services=(), not_levels=())
    assert passing <= found <= {one.id for one in BLOCKS if passes(one, loose)}
    for name, values in (("services", only.not_services), ("levels", only.not_levels)):
        alone = {one.id for one in BLOCKS if len(own := getattr(one.head, name)) == 1 and own[0] in values}
        assert found.isdisjoint(alone), f"blocks of nothing but excluded {name}"


def test_each_block_is_found_by_each_thing_that_it_holds(filled: Filled) -> None:
    for one in BLOCKS[:20]:
        place = one.id.place
        only = BlockFilter((place.topic,), place.epoch, place.partition, words=tuple(word for word in one.words.tolist() if word))
        assert one.id in filled.sink.find_blocks(only).heads.ids
        for key in one.head.templates.tolist():
            assert one.id in filled.sink.find_blocks(only._replace(templates=(TemplateKey(99), key))).heads.ids
        for name in one.head.services:
            assert one.id in filled.sink.find_blocks(only._replace(services=("nobody", name))).heads.ids

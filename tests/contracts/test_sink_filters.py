"""Which blocks a filter lets pass: on every sink those, and only those, that a look at each block finds."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sinks.block import ANY_WORD, Block, BlockId, BlockPlace, Head
from sinks.row import TemplateKey
from sinks.sink import BlockFilter, OffsetSpan, RunSpan, Sink
from tests.contracts.sinks import EACH_SINK, SINKS
from tests.fakes.sink import passes

LEAST, MOST = -(1 << 63), (1 << 63) - 1
RUNS = ("0" * 20, "7" * 20, "f" * 20)
NAMES = ("", "sshd", 'a"b', "a\\b", "\\", '"', "\x00", "a\nb\r\t", "'", "é\U0001f701", "{x} $[y] %s", '" or 1 == 1 or topic == "', "*")
KEYS = tuple(map(TemplateKey, (LEAST + 1, -7, -1, 0, 1, 2, 3, 4, MOST)))
WORDS = (ANY_WORD, 1, 2, 3, 4, (1 << 28) - 1)
NUMBERS = (LEAST, -1, 0, 3, 5, 8, MOST)


def any_block(number: int, draw: np.random.Generator) -> Block:
    """Return a block without lines."""

    def some(values: tuple[int, ...], most: int) -> list[int]:
        return sorted(draw.choice(np.array(values), draw.integers(0, most), replace=False).tolist())

    def span(values: tuple[int, ...]) -> list[int]:
        return sorted(draw.choice(np.array(values), 2).tolist())

    keys = np.unique(np.array([KEYS[number % len(KEYS)], *some(KEYS, 5)], np.int64))
    services, levels = (tuple(sorted(NAMES[i] for i in draw.permutation(len(NAMES))[: draw.integers(0, 4)])) for _ in range(2))
    head = Head(keys, np.ones_like(keys), keys * 0, keys * 0 + 1, services, levels, number)
    place = BlockPlace(("logs", "logs.2", "audit")[number % 3], ("", "e1", "e2")[number % 3 - number % 2], number % 4)
    words = np.array(some(WORDS[number % 4 > 0 :], 5), np.int32)
    (first, last), (first_ms, last_ms) = span(NUMBERS[1:]), span(NUMBERS)
    return Block(BlockId(place, RUNS[number // 2 % 3], number, number), first, last, first_ms, last_ms, 5, head, words, b"p", b"t", b"")


BLOCKS = [any_block(number, np.random.default_rng(number)) for number in range(120)]
PLACES = sorted({one.id.place for one in BLOCKS})


def tuples(values: tuple[str, ...], most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(st.sampled_from(values), max_size=most).map(tuple)


BOUND_SET = st.sampled_from([*NUMBERS, LEAST - 1, MOST + 1, 1, 4])
BOUND = st.none() | BOUND_SET
FILTERS = st.builds(
    BlockFilter,
    topics=tuples(("logs", "logs.2", "none", "\ud800", 'x"'), 2),
    epoch=st.sampled_from([None, None, "e1", "e2", "", "e3"]),
    partition=st.sampled_from([None, None, 0, 1, 3, 9]),
    first_offset=BOUND,
    end_offset=BOUND,
    since_ms=BOUND,
    until_ms=BOUND,
    templates=st.none() | st.lists(st.sampled_from([*KEYS, 99]), max_size=4).map(tuple),
    words=st.lists(st.sampled_from([*WORDS[1:], 77]), max_size=3).map(tuple),
    services=tuples((*NAMES, "nobody", "\ud800"), 3),
    levels=tuples((*NAMES, "nobody", "\ud800"), 3),
    spans=st.none() | st.lists(st.builds(OffsetSpan, st.integers(0, 4), BOUND_SET, BOUND_SET), max_size=4).map(tuple),
    besides=st.none()
    | st.lists(
        st.builds(
            RunSpan,
            st.sampled_from([*PLACES, BlockPlace("none", "e1", 1)]),
            st.sampled_from([*RUNS, "5" * 20]),
            BOUND_SET,
            BOUND_SET,
        ),
        max_size=4,
    ).map(tuple),
    not_topics=tuples(("logs", "logs.2", "none", "\ud800", 'x"'), 2),
    not_services=tuples((*NAMES, "nobody", "\ud800"), 3),
    not_levels=tuples((*NAMES, "nobody", "\ud800"), 3),
)


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

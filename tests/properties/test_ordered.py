"""Stretch by stretch, every line that passes comes once and in order, whatever is merged or copied in between."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.block import BlockId
from sinks.line import Line
from sinks.lines import cut_of
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from tests.fakes.sink import FakeSink
from tests.properties.test_reading import ANYTHING, line_filter
from tests.sinks.reading import oracle
from tests.sinks.reading.histories import History, history
from tests.world import block, line, open_sink, run


def in_order(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda one: (one.time, one.topic, one.epoch, one.partition, one.offset, one.sub, one.chunk))


def merge_some(random: Random, sink: FakeSink, stored: History) -> None:
    """Merge two neighbours of a run, and perhaps remove them."""
    lines = {one.id: one.lines for one in stored.stored}
    pairs = [
        (one, other)
        for one in sink.blocks
        for other in sink.blocks
        if one.place == other.place and one.run == other.run and one.last + 1 == other.first and one in lines and other in lines
    ]
    if not pairs:
        return
    one, other = random.choice(pairs)
    merged = BlockId(one.place, one.run, one.first, other.last)
    if merged not in sink.blocks:
        sink.write_blocks([block([*lines[one], *lines[other]], merged.run, merged.first, merged.last)])
    if random.random() < 0.7:
        sink.delete_blocks([one, other])


@given(st.integers(0, 1 << 32))
@settings(max_examples=60, deadline=None)
def test_every_line_comes_once_and_in_order_while_blocks_are_merged(seed: int) -> None:
    random = Random(seed)  # drawn from the strategy itself, each number takes a hundred times as long
    is_narrow = random.random() < 0.5
    stored = history(random, ANYTHING._replace(chunk_templates=not is_narrow))
    sink = open_sink(orders_blocks=random.random() < 0.5)
    sink.write_blocks(stored.blocks)
    reader = BlockReader(sink, cache_bytes=random.choice([0, 10_000_000]), clock=lambda: 0.0, page_blocks=random.choice([1, 4, 128]))
    lines = oracle.union(stored.stored)
    ids = sorted({one.template for one in lines})
    only = line_filter(random, ids if is_narrow else ())
    templates = frozenset(random.sample(ids, random.randint(0, len(ids)))) if is_narrow and random.random() < 0.5 else None
    wanted = [one for one in lines if oracle.passes(one, only) and (templates is None or one.template in templates)]
    selection = Selection(only, templates)

    span = reader.span_of(selection)
    if span is None:
        assert not wanted
        return
    assert all(span[0] <= one.time < span[1] for one in wanted)
    most = random.choice([1, 2, 3, 7, 1_000])
    found: list[Line] = []
    reach, until_ms = Reach(span[0]), span[1]
    for _ in range(1_000):
        some = reader.lines_in_order(selection, reach, until_ms, most)
        assert some.complete
        assert some.reach != reach, "it does not move on"
        assert all(reach.time_ms <= one.time for one in some.lines)
        assert all(one.time < some.reach.time_ms for one in some.lines) or some.reach.after is not None
        found += some.lines
        reach = some.reach
        if reach.time_ms >= until_ms:
            break
        if random.random() < 0.5:
            merge_some(random, sink, stored)
    assert found == in_order(wanted)


@given(st.integers(1, 60), st.integers(1, 9), st.integers(1, 7), st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_millisecond_with_more_lines_than_an_answer_is_split_by_place(count: int, size: int, most: int, has_chunks: bool) -> None:  # noqa: FBT001
    pieces: list[Line] = []
    for offset in range(count):
        texts = [f"{offset} {chunk}" for chunk in range(3 if has_chunks and offset % 4 == 1 else 1)]
        pieces += [
            line(offset, time=5, chunk=at, chunks=len(texts), text=text, cut=cut_of(texts), partition=offset % 3)
            for at, text in enumerate(texts)
        ]
    sink = open_sink(orders_blocks=False)
    for partition in range(3):
        ours = [one for one in pieces if one.partition == partition]
        sink.write_blocks([block(ours[at : at + size], run(1), at) for at in range(0, len(ours), size)])
    reader = BlockReader(sink, clock=lambda: 0.0)
    found: list[Line] = []
    reach = Reach(0)
    while reach.time_ms < 6:
        some = reader.lines_in_order(Selection(), reach, 6, most)
        assert some.reach != reach
        last = some.lines[-1:]
        assert not last or last[0].chunk == last[0].chunks - 1, "a long line was torn"
        found += some.lines
        reach = some.reach
    assert found == in_order(pieces)

"""Every question that a reader answers has the same answer on every sink: the fake, a local folder, a server."""

from random import Random

import numpy as np
import pytest

from sinks.arrow import as_texts
from sinks.block import Column
from sinks.line import Line
from sinks.reading.arrivals import Watch
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.group_names import GroupBy
from sinks.reading.line_filter import LineFilter
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import IsMatch, Selection
from sinks.sink import Sink
from sinks.words import field_word, word_keys
from tests.sinks.reading import oracle
from tests.sinks.reading.histories import Settings, history
from tests.sinks.reading.oracle import Stored
from tests.world import block, line, run

ALL = LineFilter()


def matches(word: str) -> IsMatch:
    def is_match(texts: Column) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.array([word in text.split() for text in as_texts(texts)], np.bool_)

    return is_match


@pytest.mark.parametrize("seed", [3, 5, 11])
def test_a_random_history_is_read_as_brute_force_reads_it(sink: Sink, seed: int) -> None:
    random = Random(seed)
    written = history(random, Settings(chunk_templates=False))
    sink.write_blocks(written.blocks)
    lines = oracle.union(written.stored)
    reader = BlockReader(sink, page_blocks=4)
    templates = sorted({one.template for one in lines})

    between = reader.lines_between(RecordRange("logs", 0, 2, 11), strong=True)
    assert between.lines == [one for one in oracle.in_order(lines) if one[:3] == ("logs", "e1", 0) and 2 <= one.offset < 11]

    window = LineFilter(since_ms=1_500, until_ms=6_000, services=("s0", "s2"))
    without = LineFilter(not_services=("s1",), not_topics=("web",), not_templates=frozenset(templates[:1]))
    some = LineFilter(not_templates=frozenset(templates[::2]))
    for only in (ALL, window, LineFilter(levels=("ERROR",)), LineFilter(topics=("web",)), without, some, LineFilter(not_levels=("INFO",))):
        for limit in (1, 3):
            newest = reader.newest_lines(templates, limit, only)
            expected = {one: [line for line in oracle.newest_first(lines) if line.template == one] for one in templates}
            passing = {one: [line for line in found if oracle.passes(line, only)][:limit] for one, found in expected.items()}
            assert newest.lines == {one: found for one, found in passing.items() if found}
        found = reader.newest_templates(only)
        assert found.complete
        assert set(found.templates) == {one.template for one in lines if oracle.passes(one, only)}
        groups: list[tuple[GroupBy, ...]] = [(), ("template",), ("service", "level"), ("topic",)]
        for by in groups:
            query = CountQuery(only, by=by)
            assert reader.count(query).rows == oracle.counts(lines, query)
        query = CountQuery(only, by=("time", "template"), bucket_ms=3_000)
        assert reader.count(query).rows == oracle.counts(lines, query)


def test_a_word_and_a_field_are_found_in_whatever_block_they_are(sink: Sink) -> None:
    lines = [line(offset, text=f"request req-{1_000 + offset} ok", fields=f'{{"trace":"t{offset % 7}"}}') for offset in range(60)]
    sink.write_blocks([block(lines[at : at + 10], run(1), at // 10) for at in range(0, 60, 10)])
    reader = BlockReader(sink)
    found = reader.lines_with(Selection(ALL, is_match=matches("req-1034"), keys=word_keys("req-1034")), 5)
    assert found.lines == [lines[34]]
    assert found.complete
    assert reader.lines_with(Selection(ALL, is_match=matches("req-999"), keys=word_keys("req-999")), 5).lines == []
    traced = LineFilter(fields=(("trace", "t3"),))
    expected = [one for one in lines if one.offset % 7 == 3]
    assert reader.newest_lines([lines[0].template], 3, traced).lines == {lines[0].template: expected[::-1][:3]}
    assert reader.lines_with(Selection(ALL, is_match=matches("ok"), keys=(field_word("trace", "t3"),)), 100).lines == lines[::-1]
    assert reader.lines_with(Selection(traced, is_match=matches("ok")), 100).lines == expected[::-1]
    assert reader.count(CountQuery(traced)).rows[0].lines == len(expected)


def test_blocks_that_were_merged_are_read_once(sink: Sink) -> None:
    lines = [line(offset) for offset in range(40)]
    small = [Stored(block(lines[at : at + 10], run(1), at // 10).id, lines[at : at + 10]) for at in range(0, 40, 10)]
    sink.write_blocks([block(one.lines, one.id.run, one.id.first) for one in small])
    sink.write_blocks([block(lines[:20], run(1), 0, 1)])
    sink.write_blocks([block(lines, run(1), 0, 3)])
    sink.delete_blocks([small[0].id, small[2].id])
    reader = BlockReader(sink)
    assert reader.lines_between(RecordRange("logs", 0, 0, 100), strong=True).lines == lines
    assert reader.count(CountQuery()).rows[0].lines == 40
    assert reader.newest_lines([lines[0].template], 100, ALL).lines == {lines[0].template: lines[::-1]}


@pytest.mark.parametrize("seed", [3, 5])
def test_all_lines_of_a_random_history_come_in_order_stretch_by_stretch(sink: Sink, seed: int) -> None:
    written = history(Random(seed), Settings(chunk_templates=False))
    sink.write_blocks(written.blocks)
    lines = sorted(oracle.union(written.stored), key=lambda one: (one.time, one.topic, one.epoch, one.partition, *one[3:6]))
    reader = BlockReader(sink, page_blocks=2)
    for selection in (
        Selection(),
        Selection(LineFilter(levels=("ERROR",))),
        Selection(LineFilter(not_services=("s0",), not_templates=frozenset({lines[0].template}))),
        Selection(LineFilter(topics=("web",)), frozenset({lines[0].template})),
        Selection(is_match=matches("3")),
    ):
        wanted = [one for one in lines if oracle.passes(one, selection.only) and one.template in (selection.templates or {one.template})]
        wanted = [one for one in wanted if selection.is_match is None or "3" in str(one.text).split()]
        span = reader.span_of(selection)
        if span is None:
            assert not wanted
            continue
        found: list[Line] = []
        reach, until_ms = Reach(span[0]), span[1]
        while reach.time_ms < until_ms:
            some = reader.lines_in_order(selection, reach, until_ms, 3)
            assert some.complete
            assert some.reach != reach
            found += some.lines
            reach = some.reach
        assert found == wanted


def test_new_blocks_are_found_by_what_was_seen_and_their_lines_read_once(sink: Sink) -> None:
    lines = [line(offset) for offset in range(30)]
    other = [line(offset, topic="web", partition=12) for offset in range(5)]
    sink.write_blocks([*(block(lines[at : at + 2], run(1), at // 2) for at in range(0, 10, 2)), block(other[:2], run(1), 0)])
    now_s = 0.0
    watch, reader = Watch(sink, lambda: now_s), BlockReader(sink)
    watch.look()
    assert watch.end == 0
    sink.write_blocks([block(lines[10:12], run(1), 5), block(lines[14:16], run(1), 7), block(lines[:6], run(1), 0, 2)])
    sink.write_blocks([block(lines[10:11], run(2), 0), block(lines[16:18], run(2), 1), block(other[2:4], run(1), 1)])
    sink.write_blocks([block([line(1, topic="new")], run(1), 0)])
    now_s = 1.0
    watch.look()
    first = watch.since(0)
    read = reader.fresh_lines(first.blocks, watch.has_seen, Selection(), 100)
    assert [(one.topic, one.offset) for one in read.lines] == [
        ("new", 1),
        ("web", 2),
        ("web", 3),
        *(("logs", offset) for offset in (10, 11, 14, 15, 16, 17)),
    ]
    sink.write_blocks([block(lines[12:14], run(1), 6), block(lines[10:14], run(1), 5, 6), block(lines[10:12], run(3), 0)])
    sink.delete_blocks([block(lines[12:14], run(1), 6).id])
    now_s = 2.0
    watch.look()
    then = watch.since(first.end)
    assert {one.block.run for one in then.blocks} == {run(1), run(3)}
    assert [one.is_whole for one in then.blocks] == [False, True], "half of the merged block is new"
    read = reader.fresh_lines(then.blocks, watch.has_seen, Selection(), 100)
    assert read.lines == []
    now_s = 3.0
    watch.look()
    assert watch.end == then.end

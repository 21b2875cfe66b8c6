"""What counts read, and how their groups are cut and ordered (that they are right: `tests/properties/test_reading.py`)."""

import pytest

from sinks.reading.counting import CountQuery, CountRow
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.row import TemplateText
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from tests.world import block, blocks, line, open_sink, run, template

LINES = [
    line(offset, template_text="often" if offset % 4 else "seldom", service=f"s{offset // 30}", level="ERROR" if offset == 7 else "INFO")
    for offset in range(60)
]


@pytest.fixture
def sink() -> FakeSink:
    sink = open_sink()
    sink.write_blocks(blocks(LINES, 10))
    return sink


@pytest.fixture
def reader(sink: FakeSink) -> BlockReader:
    return BlockReader(sink)


@pytest.mark.parametrize(
    "query",
    [
        CountQuery(),
        CountQuery(templates=(id_of("often"),), by=("template",)),
        CountQuery(by=("service",)),
        CountQuery(by=("time",), bucket_ms=10_000),
        CountQuery(LineFilter(services=("s1",), topics=("logs",)), by=("topic",)),
        CountQuery(LineFilter(since_ms=20_000, until_ms=40_000)),
        CountQuery(LineFilter(not_services=("s0",), not_levels=("DEBUG",), not_topics=("audit",))),
        CountQuery(LineFilter(not_templates=frozenset({id_of("often")})), by=("service",)),
    ],
)
def test_whole_blocks_are_counted_without_unpacking_one(sink: FakeSink, reader: BlockReader, query: CountQuery) -> None:
    assert reader.count(query).rows
    assert "read_columns" not in sink.calls


@pytest.mark.parametrize(
    "query",
    [
        CountQuery(by=("level",)),
        CountQuery(by=("time",), bucket_ms=7_000),
        CountQuery(LineFilter(levels=("ERROR",))),
        CountQuery(LineFilter(since_ms=25_000)),
        CountQuery(LineFilter(not_levels=("ERROR",))),
    ],
)
def test_edges_and_mixed_values_are_unpacked(sink: FakeSink, reader: BlockReader, query: CountQuery) -> None:
    assert reader.count(query).rows
    assert "read_columns" in sink.calls


def test_overlapping_runs_are_never_added_up(sink: FakeSink, reader: BlockReader) -> None:
    sink.write_blocks([block(LINES[15:25], run(2))])
    assert reader.count(CountQuery()).rows == [CountRow((), 60, 0, 59_000)]


def test_a_line_counts_with_the_fields_and_the_template_of_the_copy_that_holds(sink: FakeSink, reader: BlockReader) -> None:
    before = [one._replace(fields='{"pod":"a"}', template_text=TemplateText("before")) for one in LINES[10:20]]
    sink.write_blocks([block(before, run(2)), block(LINES[10:20], run(3))])
    assert reader.count(CountQuery(LineFilter(fields=(("pod", "a"),)))).rows == []
    assert reader.count(CountQuery(templates=(id_of("before"),))).rows == []


def test_other_runs_are_looked_for_once_however_many_blocks_there_are(sink: FakeSink, reader: BlockReader) -> None:
    sink.calls.clear()
    reader.count(CountQuery(LineFilter(since_ms=0)))
    assert sink.calls.count("find_blocks") == 2
    sink.calls.clear()
    reader.count(CountQuery(LineFilter(topics=("logs",))))
    assert sink.calls.count("find_blocks") == 1, "all blocks are listed already"


def test_templates_are_named_by_blocks_and_only_once(sink: FakeSink, reader: BlockReader) -> None:
    query = CountQuery(by=("template",))
    expected = [CountRow((id_of("often"),), 45, 1_000, 59_000), CountRow((id_of("seldom"),), 15, 0, 56_000)]
    assert reader.count(query).rows == expected
    reads = sink.calls.count("read_columns")
    assert reader.count(query).rows == expected
    assert sink.calls.count("read_columns") == reads


def test_a_template_whose_blocks_are_damaged_is_named_by_its_row(sink: FakeSink, reader: BlockReader) -> None:
    sink.templates.upsert([template("often")])
    sink.blocks = {one: stored._replace(places=b"damaged") for one, stored in sink.blocks.items()}
    counts = reader.count(CountQuery(by=("template",)))
    assert [row.key for row in counts.rows] == [(id_of("often"),)]
    assert not counts.complete


def test_the_top_values_stay_with_all_their_buckets(reader: BlockReader) -> None:
    counts = reader.count(CountQuery(by=("time", "template"), bucket_ms=30_000, top=1))
    assert counts.rows == [
        CountRow((0, id_of("often")), 22, 1_000, 29_000),
        CountRow((30_000, id_of("often")), 23, 30_000, 59_000),
    ]
    assert [row.key for row in reader.count(CountQuery(by=("level",), top=1)).rows] == [("INFO",)]
    assert len(reader.count(CountQuery(by=("time",), bucket_ms=10_000, top=1)).rows) == 6


@pytest.mark.parametrize("query", [CountQuery(by=("time",)), CountQuery(bucket_ms=5), CountQuery(by=("time",), bucket_ms=0)])
def test_time_and_buckets_come_together(reader: BlockReader, query: CountQuery) -> None:
    with pytest.raises(ValueError, match="buckets"):
        reader.count(query)

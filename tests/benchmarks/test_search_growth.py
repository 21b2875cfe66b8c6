"""`python -m benchmarks.search_growth` runs to its end on few lines, and an answer that cannot be right is found out."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.search_growth import Figures, figures_of, main, p95, seconds_to_reopen
from benchmarks.search_growth_asker import Asker, Wrong
from benchmarks.search_growth_index import PARTITIONS, START_MS, TOPIC, fill
from producers.log_feed import synthetic_lines
from sinks.block import Block
from sinks.milvus.sink import MilvusSink
from sinks.reading.reader import BlockReader
from sinks.sink import BlockFilter, SinkBusy
from tests.benchmarks.guarded import lacking

TEXTS = [line.decode() for line in synthetic_lines(3, 300, START_MS)]


@pytest.mark.long
@pytest.mark.process
def test_every_line_is_stored_with_its_text_and_no_two_copies_are_the_same(tmp_path: Path) -> None:
    filled = fill(tmp_path / "index", TEXTS, 700)
    with closing(filled.sink):
        found = [BlockReader(filled.sink).lines_between(TOPIC, partition, 0, 700).lines for partition in range(PARTITIONS)]
        by_number = {line.offset * PARTITIONS + line.partition: line for lines in found for line in lines}
    assert sorted(by_number) == list(range(700))
    assert [by_number[number].text for number in range(300)] == TEXTS
    assert by_number[0].text != by_number[300].text != by_number[600].text
    assert by_number[0].template_text == by_number[300].template_text == by_number[600].template_text
    assert all(by_number[sample.number].text == sample.text for sample in filled.samples)
    assert filled.raw_bytes == sum(len((line.text or "").encode()) for line in by_number.values())


@pytest.mark.long
@pytest.mark.process
def test_a_write_that_finds_the_server_busy_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, failed = MilvusSink.write_blocks, list[bool]()

    def busy_once(sink: MilvusSink, blocks: Sequence[Block], *, again: bool = False) -> None:
        write(sink, blocks, again=again)
        if not failed:
            failed.append(again)
            raise SinkBusy("its answer was lost")

    monkeypatch.setattr(MilvusSink, "write_blocks", busy_once)
    monkeypatch.setattr("benchmarks.search_growth_index._BUSY_S", 0.0)
    filled = fill(tmp_path / "index", TEXTS, 700)
    filled.sink.close()
    assert failed == [False]


@pytest.mark.long
@pytest.mark.process
def test_a_missing_block_is_found_out(tmp_path: Path) -> None:
    filled = fill(tmp_path / "index", TEXTS, 600)
    with closing(filled.sink):
        asker = Asker(filled)
        for kind in asker.kinds:
            assert asker.seconds(kind) > 0
        filled.sink.delete_blocks(filled.sink.find_blocks(BlockFilter()).heads.ids)
        for kind in ("dense", "words", "identifiers", "around", "templates", "counts_by_time"):
            with pytest.raises(Wrong, match=f"of kind {kind} got an answer that cannot be right"):
                Asker(filled).seconds(kind)


@pytest.mark.long
@pytest.mark.process
def test_a_folder_that_lost_lines_is_found_out_when_it_is_opened_again(tmp_path: Path) -> None:
    fill(tmp_path / "index", TEXTS, 300).sink.close()
    assert seconds_to_reopen(tmp_path / "index", 300) > 0
    with pytest.raises(Wrong, match="opened again with 300 lines, not 301"):
        seconds_to_reopen(tmp_path / "index", 301)


def test_figures_are_of_the_larger_index_and_growth_is_between_both() -> None:
    smaller = Figures(100, 0.5, {"a": [0.01] * 20, "b": [0.02] * 20}, 0, 50, 100, 200, 150, 100, 0.4, 0.3)
    larger = Figures(1_000, 0.7, {"a": [0.03] * 20, "b": [0.05] * 20}, 4, 330, 1_000, 900, 600, 300, 0.8, 2.5)
    figures = figures_of(smaller, larger)
    assert figures["smaller"] == {
        "lines": 100,
        "first_query_s": 0.5,
        "p50_s": 0.015,
        "p95_s": 0.02,
        "incomplete_share": 0.0,
        "index_bytes_per_raw_byte": 0.5,
        "rss_bytes": 200,
        "milvus_lite_rss_bytes": 150,
        "rss_growth_bytes": 100,
        "longest_insert_s": 0.4,
        "reopen_s": 0.3,
        "kinds": {"a": {"p50_s": 0.01, "p95_s": 0.01}, "b": {"p50_s": 0.02, "p95_s": 0.02}},
    }
    assert {name: figures[name] for name in ("lines", "p95_s", "incomplete_share", "index_bytes_per_raw_byte", "growth")} == {
        "lines": 1_000,
        "p95_s": 0.05,
        "incomplete_share": 0.1,
        "index_bytes_per_raw_byte": 0.33,
        "growth": 2.5,
    }
    assert p95([1.0]) == 1.0


@pytest.mark.process
def test_the_program_prints_one_object_or_a_table(tmp_path: Path) -> None:
    file = tmp_path / "some.log"
    file.write_text("\n".join(text.replace("\n", " ") for text in TEXTS))
    printed: list[str] = []
    main(printed.append, [str(file), "--lines", "300", "600", "--quick", "--json"])
    (only,) = printed
    figures = json.loads(only)
    assert figures.keys() >= {"lines", "first_query_s", "p50_s", "p95_s", "index_bytes_per_raw_byte", "growth"}
    assert lacking("benchmarks.search_growth", figures) == []
    for one in (figures, figures["smaller"]):
        assert one["rss_bytes"] > one["rss_growth_bytes"] > 1_000_000
        assert one["longest_insert_s"] > 0
        assert one["reopen_s"] > 0
    main(printed.append, ["--lines", "300", "600", "--quick"])
    assert printed[-1].startswith("p95 grows ")

"""`python -m benchmarks.slow_topics` indexes every line of slow topics once, and says how soon and in how many rows."""

import json

import numpy as np
import pytest

from benchmarks import slow_topics
from benchmarks.slow_topics import Acknowledged, IdSink, Measured, figures_of, main, show_table
from sinks.block import Block
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.sinks.blocks import block, line


def made_block(first: int, last: int, offsets: range) -> Block:
    return block([line(offset) for offset in offsets], first=first, last=last)


def test_lines_of_merged_blocks_do_not_count_again() -> None:
    acknowledged = Acknowledged()
    acknowledged.note([made_block(0, 0, range(2)), made_block(1, 1, range(2, 3))])
    acknowledged.note([made_block(0, 1, range(3))])
    assert len(acknowledged.ages_s) == 3


def test_deleted_blocks_are_no_rows() -> None:
    sink = IdSink()
    blocks = [made_block(0, 0, range(1)), made_block(1, 1, range(1, 2)), made_block(0, 1, range(2))]
    sink.write_blocks(blocks)
    assert sink.rows == 3
    sink.delete_blocks([one.id for one in blocks[:2]])
    assert sink.rows == 1


def test_figures_are_shares_of_the_time_that_the_lines_took() -> None:
    figures = figures_of(Measured(200, np.linspace(0, 1, 101), 4, 3.0, 15.0, 60.0))
    assert figures == {
        "lines": 200,
        "acknowledged_p50_s": 0.5,
        "acknowledged_p95_s": 0.95,
        "rows": 4,
        "lines_per_row": 50.0,
        "upkeep_share": 0.05,
        "processor_share": 0.25,
    }
    shown: list[str] = []
    show_table({"12": figures}, shown.append)
    assert shown[1].split() == ["12", "200", "0.500", "0.950", "4", "50.0", "5.0%", "25.0%"]


@pytest.mark.process
def test_every_line_of_both_sinks_is_acknowledged_once(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    monkeypatch.setattr(slow_topics, "LITE_PARTITIONS", 2)
    printed: list[str] = []
    main(printed.append, ["--partitions", "2", "3", "--seconds", "1", "--after", "0", "--json", "--kafka", kafka.bootstrap])
    figures = json.loads(printed[-1])
    assert {partitions: one["lines"] for partitions, one in figures.items()} == {"2": 6, "3": 9}
    assert all(0 < one["rows"] <= one["lines"] for one in figures.values())

"""`python -m benchmarks.slow_topics` indexes every line of slow topics once, and says how soon and in how many rows."""

import json

import numpy as np
import pytest

from benchmarks import slow_topics
from benchmarks.slow_topics import QUICK_SECONDS, Acknowledged, IdSink, Measured, Wrong, check, figures_of, main, show_table
from benchmarks.suite.goals import read_table
from sinks.block import Block
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.world import block, line


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
    figures = figures_of(Measured(200, np.linspace(0, 1, 101), 9, 4, 3.0, 18.0, 15.0, 60.0, 90.0))
    assert figures == {
        "lines": 200,
        "acknowledged_p50_s": 0.5,
        "acknowledged_p95_s": 0.95,
        "rows_at_end": 9,
        "rows": 4,
        "lines_per_row": 50.0,
        "upkeep_share": 0.05,
        "upkeep_after_share": 0.2,
        "processor_share": 0.25,
    }
    shown: list[str] = []
    show_table({"12": figures}, shown.append)
    assert shown[1].split() == ["12", "200", "0.500", "0.950", "9", "4", "50.0", "5.0%", "20.0%", "25.0%"]


def test_a_quick_run_has_lines_enough_for_the_goal_of_lines_a_row() -> None:
    _, figures = read_table()
    goals = [one.at_least for one in figures if one.benchmark == "slow_topics" and one.key.endswith(".lines_per_row")]
    assert goals
    assert all(goal is not None and goal < QUICK_SECONDS for goal in goals)


def test_late_or_lost_lines_are_no_figures() -> None:
    check(100, acknowledged=100, stored=100, sent_s=10.4, seconds=10)
    with pytest.raises(Wrong, match=r"sending took 10\.6 s instead of 10 s"):
        check(100, acknowledged=100, stored=100, sent_s=10.6, seconds=10)
    with pytest.raises(Wrong, match="100 lines of 100 were acknowledged, 99 are stored"):
        check(100, acknowledged=100, stored=99, sent_s=10.0, seconds=10)
    with pytest.raises(Wrong, match="101 lines of 100 were acknowledged"):
        check(100, acknowledged=101, stored=100, sent_s=10.0, seconds=10)


@pytest.mark.process
def test_every_line_of_both_sinks_is_acknowledged_once(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    monkeypatch.setattr(slow_topics, "LITE_PARTITIONS", 2)
    printed: list[str] = []
    main(printed.append, ["--partitions", "2", "3", "--seconds", "2", "--after", "0", "--json", "--kafka", kafka.bootstrap])
    figures = json.loads(printed[-1])
    assert {partitions: one["lines"] for partitions, one in figures.items()} == {"2": 8, "3": 12}
    assert all(0 < one[rows] <= one["lines"] for one in figures.values() for rows in ("rows_at_end", "rows"))

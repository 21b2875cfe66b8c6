"""`python -m benchmarks.sink` runs to its end on few lines; every side stores every line, and a side that does not is found out."""

import json
import sys

import numpy as np
import pytest

from benchmarks.own_servers import own_milvus
from benchmarks.row_layout import lines_layout
from benchmarks.sink import BLOCK_LINES_A_ROW, Stream, bytes_per_line, figures_of, lite_sides, main, measure, show_table
from benchmarks.sink_sides import Batch
from sinks.block import BlockPlace
from sinks.lines import all_lines, join_lines
from sinks.row import template_id
from tests.services.milvus import MilvusServer, connected

NAMES = ["blocks", "rows", "ready_made", "flat"]
LITE = {"blocks": [90.0, 30.0, 10.0], "rows": [3.0, 2.0, 2.0], "ready_made": [30.0, 60.0, 5.0], "flat": [45.0, 10.0, 5.0]}


class Loser:
    """A side that stores nothing.

    Thread: the test's.
    """

    name = "loser"

    def store(self, batch: Batch) -> int:
        return len(batch.rows)

    def count(self) -> int:
        return 0

    def close(self) -> None:
        pass


@pytest.mark.process
def test_on_milvus_lite_all_sides_store_all_lines() -> None:
    with lite_sides(dim=8) as sides:
        rates = measure(sides, lines=60, rounds=2, dim=8, pool_lines=100)
        stored = {side.name: side.count() for side in sides}
        taken = bytes_per_line(sides)

    assert list(rates) == NAMES
    assert all(len(each) == 2 and min(each) > 0 for each in rates.values())
    # One line before the first round, then 60 rows in each.
    assert stored == {"blocks": 1 + 2 * 60 * BLOCK_LINES_A_ROW, "rows": 121, "ready_made": 121, "flat": 121}
    assert taken > 10


def test_the_command_gives_the_three_figures_and_leaves_nothing_on_the_server(
    milvus: MilvusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in {"QUICK_LINES": 60, "QUICK_ROUNDS": 2, "POOL_LINES": 100}.items():
        monkeypatch.setattr(f"benchmarks.sink.{name}", size)
    monkeypatch.setattr(sys, "argv", ["sink", "--quick", "--json", "--server", milvus.uri])
    shown: list[str] = []
    with connected(milvus.uri) as client:
        before = client.list_collections()
        main(shown.append)
        assert sorted(client.list_collections()) == sorted(before)
    (line,) = shown
    figures = json.loads(line)
    assert list(figures)[:3] == ["block_lines_per_s", "vs_rows", "bytes_per_line"]
    assert all(list(figures[key]) == ["lite", "server"] and min(figures[key].values()) > 0 for key in list(figures)[:3])
    assert list(figures["lines_per_s"]["server"]) == NAMES


def test_a_side_that_loses_lines_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match="loser stored"):
        measure([Loser()], lines=10, rounds=1, dim=8, pool_lines=10)


@pytest.mark.long
@pytest.mark.process
def test_where_no_server_can_be_started_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with own_milvus() as started:
        assert started.address == ""
        assert started.reason.startswith("unshare is not installed")


def test_lines_repeat_a_pool_with_other_digits_and_rows_are_the_first_of_them() -> None:
    stream = Stream(dim=8, pool_lines=50)
    batches = [stream.take(rows, lines) for rows, lines in ((5, 120), (1, 1))]
    place = BlockPlace("logs", "e1", 0)
    lines = [line for batch in batches for line in all_lines(place, join_lines(batch.columns))]
    assert [line.offset for line in lines] == list(range(121))
    assert {line.template for line in lines[50:100]} == {line.template for line in lines[:50]}
    assert lines[0].text != lines[50].text
    for batch, own in zip(batches, (lines[:5], lines[120:]), strict=True):
        assert [(row.id, row.text, row.template) for row in batch.rows] == [
            (one.id, one.text, template_id(one.template_text)) for one in own
        ]
        assert [row["id"] for row in batch.dicts] == [one.id for one in own]
        assert batch.vectors.shape == (len(own), 8)
        assert np.allclose((batch.vectors**2).sum(axis=1), 1, atol=1e-5)


def test_a_row_has_the_columns_of_its_layout() -> None:
    (row,) = Stream(dim=8, pool_lines=10).take(1, 1).rows
    assert row._fields == lines_layout("x").names[:-1] == lines_layout("x", 8).names[:-1]
    assert (lines_layout("x").vector.name, lines_layout("x", 8).vector.limit) == ("pad", 8)


def test_ratios_are_taken_within_a_round() -> None:
    figures = figures_of(LITE, None, {"lite": 48.04, "server": None})
    assert figures["block_lines_per_s"] == {"lite": 30.0, "server": None}
    assert figures["vs_rows"] == {"lite": 15.0, "server": None}
    assert figures["bytes_per_line"] == {"lite": 48.0, "server": None}
    assert figures["vs_ready_made"] == {"lite": 2.0, "server": None}
    assert figures["vs_flat"] == {"lite": 2.0, "server": None}
    assert figures["worst"]["vs_ready_made"] == {"lite": 0.5, "server": None}
    # Three rounds of equally many lines take 1/90 + 1/30 + 1/10 and 1/45 + 1/10 + 1/5 of the time.
    assert figures["overall"]["vs_flat"] == {"lite": 2.23, "server": None}
    assert figures["lines_per_s"] == {"lite": {"blocks": 30.0, "rows": 2.0, "ready_made": 30.0, "flat": 10.0}, "server": None}


def test_the_table_leaves_out_what_was_not_measured() -> None:
    shown: list[str] = []
    show_table(figures_of(LITE, None, {"lite": 48.04, "server": None}), shown.append)
    assert [line.split()[0] for line in shown] == ["lite", "blocks", "rows,", "rows,", "vector"]
    assert shown[1].split() == ["blocks", "30.0", "48.0"]
    assert shown[2].split()[-4:] == ["2.0", "15.0", "5.0", "9.23"]

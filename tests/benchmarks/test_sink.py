"""`python -m benchmarks.sink` runs to its end on few lines; every side stores every line, and a side that does not is found out."""

import json
import sys

import pytest

from benchmarks.own_milvus import own_milvus
from benchmarks.sink import LINES_A_TEMPLATE, Stream, figures_of, lite_sides, main, measure, show_table
from benchmarks.sink_sides import Batch
from tests.services.milvus import MilvusServer, connected

NAMES = ["sink", "row_by_row", "list_of_dict", "flat"]
LITE = {"sink": [90.0, 30.0, 10.0], "row_by_row": [3.0, 2.0, 2.0], "list_of_dict": [30.0, 60.0, 5.0], "flat": [45.0, 10.0, 5.0]}


class Loser:
    """A side that stores nothing.

    Thread: the test's.
    """

    name = "loser"

    def store(self, batch: Batch) -> None:
        pass

    def counts(self) -> tuple[int, int]:
        return 0, 0

    def close(self) -> None:
        pass


def test_on_milvus_lite_all_sides_store_all_lines() -> None:
    with lite_sides(dim=8) as sides:
        rates = measure(sides, lines=30, alone=3, rounds=2, dim=8)
        stored = {side.name: side.counts() for side in sides}

    assert list(rates) == NAMES
    assert all(len(each) == 2 and min(each) > 0 for each in rates.values())
    # Ten lines before the first round; then 3 and 30 in each round, with a template to every tenth line of them all.
    assert {name: lines for name, (lines, _) in stored.items()} == {"sink": 70, "row_by_row": 16, "list_of_dict": 70, "flat": 70}
    assert stored["sink"] == stored["list_of_dict"]
    assert stored["flat"][1] == 0


def test_the_command_gives_the_three_ratios_and_leaves_nothing_on_the_server(milvus: MilvusServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"QUICK_LINES": 60, "QUICK_ALONE": 2, "QUICK_ROUNDS": 2}.items():
        monkeypatch.setattr(f"benchmarks.sink.{name}", size)
    monkeypatch.setattr(sys, "argv", ["sink", "--quick", "--json", "--server", milvus.uri])
    shown: list[str] = []
    with connected(milvus.uri) as client:
        before = client.list_collections()
        main(shown.append)
        assert sorted(client.list_collections()) == sorted(before)
    (line,) = shown
    figures = json.loads(line)
    assert list(figures)[:3] == ["vs_row_by_row", "vs_list_of_dict", "two_level_vs_flat"]
    assert all(list(figures[key]) == ["lite", "server"] and min(figures[key].values()) > 0 for key in list(figures)[:3])
    assert list(figures["lines_per_s"]["server"]) == NAMES


def test_a_side_that_loses_lines_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match="loser stored"):
        measure([Loser()], lines=10, alone=1, rounds=1, dim=8)


@pytest.mark.process
def test_where_no_server_can_be_started_the_reason_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with own_milvus() as started:
        assert started.uri == ""
        assert started.reason.startswith("unshare is not installed")


def test_every_tenth_line_brings_a_template_and_every_line_has_an_id() -> None:
    stream = Stream(dim=8)
    batches = [stream.take(count) for count in (25, 1, 74)]
    lines = [line for batch in batches for line in batch.lines]
    stored: set[str] = set()
    for batch in batches:
        stored.update(template.digest for template in batch.templates)
        assert {line.template for line in batch.lines} <= stored
        assert [row["id"] for row in batch.line_rows] == [line.id for line in batch.lines]
    assert len(stored) == 100 // LINES_A_TEMPLATE
    assert len({line.id for line in lines}) == 100
    assert all(abs(float(vector @ vector) - 1) < 1e-5 for batch in batches for vector in batch.vectors)


def test_ratios_are_taken_within_a_round() -> None:
    figures = figures_of(LITE, None)
    assert figures["vs_row_by_row"] == {"lite": 15.0, "server": None}
    assert figures["vs_list_of_dict"] == {"lite": 2.0, "server": None}
    assert figures["two_level_vs_flat"] == {"lite": 2.0, "server": None}
    assert figures["worst"]["vs_list_of_dict"] == {"lite": 0.5, "server": None}
    # Three rounds of equally many lines take 1/90 + 1/30 + 1/10 and 1/45 + 1/10 + 1/5 of the time.
    assert figures["overall"]["two_level_vs_flat"] == {"lite": 2.23, "server": None}
    assert figures["lines_per_s"] == {"lite": {"sink": 30.0, "row_by_row": 2.0, "list_of_dict": 30.0, "flat": 10.0}, "server": None}


def test_the_table_leaves_out_what_was_not_measured() -> None:
    shown: list[str] = []
    show_table(figures_of(LITE, None), shown.append)
    assert [line.split()[0] for line in shown] == ["lite", "vectail's", "one", "list[dict]", "vector"]
    assert shown[2].split()[-4:] == ["2.0", "15.0", "5.0", "9.23"]

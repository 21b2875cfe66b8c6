"""`python -m benchmarks.growth` does at each point the work that was asked for, and judges falls by doubling."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.growth import AXES, at_most, main, points_of
from benchmarks.growth_figures import axis_figures, row_of, rss_spread, table_of, worst_fall
from benchmarks.growth_plot import draw
from benchmarks.growth_topics import Point, lines_of, new_line
from benchmarks.growth_turns import Ran, Wrong, check
from consumers.text.mask import Masker
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer, connected

LARGEST_PLOT_BYTES = 80_000
RAN = Ran(
    wall_s=2.0,
    cpu_s=1.0,
    start_s=0.5,
    rss_bytes=300_000_000,
    records=100,
    value_bytes=1_000,
    blocks=1,
    templates=0,
    ages_s=[0.1],
    pauses=1,
    open_records=[(0.0, 0), (1.0, 80)],
)


def rates(*rows: tuple[float, float]) -> list[dict[str, Any]]:
    return [{"at": at, "bytes_per_s": rate, "bytes_per_cpu_s": 1.0, "rss_bytes": 100} for at, rate in rows]


def test_a_fall_is_that_of_one_doubling() -> None:
    assert worst_fall(rates((1, 100), (2, 80), (4, 76)), "bytes_per_s") == (0.2, 1)
    assert worst_fall(rates((1, 100), (4, 64)), "bytes_per_s") == (0.2, 1)
    assert worst_fall(rates((1, 100), (2, 125)), "bytes_per_s") == (-0.25, 1)


def test_nothing_is_no_point_from_which_something_doubles() -> None:
    assert worst_fall(rates((0, 100), (25, 10), (50, 9)), "bytes_per_s") == (0.1, 25)
    assert worst_fall(rates((0, 100), (25, 10)), "bytes_per_s") == (None, None)


def test_memory_is_held_against_the_smallest_lag() -> None:
    points: list[dict[str, Any]] = [{"rss_bytes": size} for size in (100, 112, 95)]
    assert rss_spread(points) == 0.12


def test_an_axis_holds_only_if_rates_and_memory_do() -> None:
    points = [point | {"pauses_per_minute": 0.0, "open_records": []} for point in rates((1, 100), (2, 76))]
    assert axis_figures("lag", points)["holds"]
    assert not axis_figures("partitions", rates((1, 100), (2, 74)))["holds"]
    points[1]["pauses_per_minute"] = 2.1
    assert not axis_figures("lag", points)["holds"]
    points[1] |= {"pauses_per_minute": 0.0, "rss_bytes": 111}
    assert not axis_figures("lag", points)["holds"]
    assert axis_figures("partitions", points)["holds"]


def test_a_row_has_the_median_of_its_rounds() -> None:
    row = row_of(Point("lag", 100, 100), [RAN, RAN._replace(wall_s=4.0), RAN._replace(wall_s=5.0, ages_s=[0.3])])
    assert (row["lines_per_s"], row["bytes_per_s"], row["bytes_per_s_range"]) == (25, 250, [200, 500])
    assert (row["cpu_us_per_line"], row["acknowledged_p50_s"]) == (10_000.0, 0.1)
    assert row["pauses_per_minute"] == 15.0


def test_open_records_are_kept_of_the_largest_lag_only() -> None:
    rows = [row_of(Point("lag", lag, 100), [RAN._replace(open_records=[(0.0, lag)])]) for lag in (100, 200)]
    found = axis_figures("lag", rows)
    assert found["open_records"] == [(0.0, 200)]
    assert not any("open_records" in point for point in found["points"])


def test_other_work_than_was_asked_for_is_no_figure() -> None:
    point = Point("lag", 100, 100)
    check(RAN, point, 100, [{"0": 60}, {"1": 40}])
    with pytest.raises(Wrong, match="99 of 100 records are committed"):
        check(RAN, point, 100, [{"0": 60}, {"1": 39}])
    with pytest.raises(Wrong, match="5 templates of 100 lines were new"):
        check(RAN._replace(templates=5), point, 100, [{"0": 100}])
    check(RAN._replace(templates=50), point._replace(new_share=0.5), 100, [{"0": 100}])


def test_few_new_templates_are_counted_as_exactly_as_many_are() -> None:
    point, ran = Point("distinct", 6.25, 10_000, new_share=0.0625), RAN._replace(records=10_000)
    check(ran._replace(templates=613), point, 10_000, [{"0": 10_000}])
    with pytest.raises(Wrong, match="612 templates of 10000 lines were new"):
        check(ran._replace(templates=612), point, 10_000, [{"0": 10_000}])
    check(ran._replace(templates=10), point._replace(new_share=0.0), 10_000, [{"0": 10_000}])
    with pytest.raises(Wrong, match="11 templates"):
        check(ran._replace(templates=11), point._replace(new_share=0.0), 10_000, [{"0": 10_000}])


@pytest.mark.long
@pytest.mark.process
def test_nothing_is_drawn_unless_it_is_asked_for() -> None:
    loaded = "import sys, benchmarks.growth; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", loaded], check=True)


def test_new_lines_have_templates_of_their_own() -> None:
    text = "2026-11-23 10:35:20.547 INFO gateway: connection from 10.0.0.1 closed after 12 s"
    lines = [new_line(number, text) for number in range(3_000)]
    assert len(set(Masker().mask(lines))) == len(lines)
    assert {len(line) for line in lines} == {len(text)}


@pytest.mark.parametrize("line_bytes", [20, 32, 500, 5_000])
def test_lines_have_the_length_that_was_asked_for(line_bytes: int) -> None:
    assert {len(line.encode()) for line in lines_of(300, line_bytes)} == {line_bytes}


def test_points_ascend_and_stay_below_a_limit() -> None:
    for axis in ("lag", "partitions", "line_bytes", "distinct", "workers"):
        for is_quick in (True, False):
            places = [point.at for point in points_of(axis, is_quick=is_quick)]
            assert places == sorted(set(places))
    assert at_most([10, 20, 30], 20) == [10, 20]
    assert at_most([10], 5) == [5]


@pytest.mark.long
@pytest.mark.process
def test_every_axis_settles_each_record_once(kafka: KafkaServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    monkeypatch.setattr("benchmarks.growth.QUICK_PARTITIONS", (1, 3))
    monkeypatch.setattr("benchmarks.growth.QUICK_LINE_BYTES", (20, 4_096))
    monkeypatch.setattr("benchmarks.growth.QUICK_DISTINCT", (0.0, 50.0))
    monkeypatch.setattr("benchmarks.growth.QUICK_TRICKLE_S", 0.1)
    monkeypatch.setattr("benchmarks.growth.WORKERS", (2,))
    printed: list[str] = []
    axes = [axis for axis in AXES if axis != "index_server"]
    few = ["--quick", "--rounds", "1", "--lines", "200", "--json", "--plots", str(tmp_path)]
    main(printed.append, ["--axis", *axes, *few, "--kafka", kafka.bootstrap])
    figures = json.loads(printed[-1])
    assert {axis: [point["at"] for point in found["points"]] for axis, found in figures.items()} == {
        "lag": [200],
        "partitions": [1, 3],
        "line_bytes": [20, 4_096],
        "distinct": [0, 50],
        "workers": [2],
        "index": [200],
    }
    assert all(point["lines"] == 200 for found in figures.values() for point in found["points"])
    assert figures["partitions"]["points"][0]["acknowledged_p95_s"] > 0
    assert figures["index"]["points"][0]["question_p95_s"] > 0
    assert all(0 < file.stat().st_size < LARGEST_PLOT_BYTES for file in tmp_path.iterdir())
    assert {file.stem for file in tmp_path.iterdir()} == {"growth-open", *(f"growth-{axis}" for axis in figures)}
    assert figures["lag"]["open_records"]
    assert table_of(figures)[0].startswith("lag")


def test_on_a_server_an_index_is_filled_and_asked_and_gone_afterwards(milvus: MilvusServer, tmp_path: Path) -> None:
    printed: list[str] = []
    with connected(milvus.uri) as client:
        before = sorted(client.list_collections())
        few = ["--quick", "--lines", "9000", "--json", "--plots", str(tmp_path)]
        main(printed.append, ["--axis", "index_server", *few, "--server", milvus.uri])
        assert sorted(client.list_collections()) == before
    (point,) = json.loads(printed[-1])["index_server"]["points"]
    assert (point["at"], point["lines"]) == (9_000, 9_000)
    assert point["lines_per_s"] > 0
    assert point["question_p95_s"] > 0
    assert [file.stem for file in tmp_path.iterdir()] == ["growth-index_server"]


@pytest.mark.long
@pytest.mark.process
def test_where_no_server_can_be_started_one_line_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    printed: list[str] = []
    main(printed.append, ["--axis", "index_server", "--quick", "--plots", str(tmp_path)])
    (line,) = printed
    assert line.startswith("index_server no server: unshare is not installed")
    assert list(tmp_path.iterdir()) == []


def test_a_plot_of_every_point_is_small(tmp_path: Path) -> None:
    rows = [row_of(Point("line_bytes", 1 << place, 100), [RAN]) for place in range(5, 16)]
    draw("line_bytes", {"points": rows}, tmp_path / "plot.png")
    assert 0 < (tmp_path / "plot.png").stat().st_size < LARGEST_PLOT_BYTES

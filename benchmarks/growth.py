"""How a worker behaves as one thing grows: waiting records, partitions, line length, new templates, workers, the index.

    python -m benchmarks.growth [--axis NAME …] [--quick] [--json] [--plots FOLDER]

Caveats first. A real broker on the same machine (Java 17 and Maven, or `--kafka HOST:PORT` with no topics of these names) shares the cores
with the workers: with more workers than cores, more workers cannot help. A worker is its own pipeline from Kafka to encoded blocks, in a
process of its own at every point; a sink that keeps nothing takes the blocks, and a made-up engine gives templates their vectors. So
`distinct` shows what a new template costs all but the model. Except there, every template is known before anything is measured; of lines
longer than the model takes, those of their chunks. Time begins when every partition has delivered a record, which waits at a gate (what
it took from joining the new group until then is `start_s`), and ends when the last record is settled. Lines are synthetic, copied with
other digits. At `partitions` and `workers`, 50 lines a second follow one by one, and their time runs from their timestamp until their
block is acknowledged. Points take turns, up and down the axis. Memory is the peak of one worker's process. `index` fills a folder of
Milvus Lite without a broker and asks it questions, and has one round; `index_server` does the same on a Milvus server (`--server URI`, or
one from PyPI's wheel, which shares the cores). Where none can be started, the axis has no points, and the reason is given.

A fall is the share of bytes/s that is lost at a doubling of the axis; a wider step counts as several doublings, and 0 % has none. Goals:
25 % at most, and for `lag` memory within 10 % of that of the smallest, and at the largest at most two pauses of intake a minute.
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.growth_figures import axis_figures, index_row_of, row_of
from benchmarks.growth_index import measure_index
from benchmarks.growth_topics import Point, TopicFiller
from benchmarks.growth_turns import Ran, measure_point
from benchmarks.own_servers import own_or_given_milvus, some_kafka
from benchmarks.program import ANOTHER_ROUNDS, KAFKA, Figures, option, program
from benchmarks.race import Wrong, race
from worker.settings.settings import load_settings

AXES = ("lag", "partitions", "line_bytes", "distinct", "workers", "index", "index_server")
_WITHOUT_BROKER = frozenset({"index", "index_server"})
LAGS, QUICK_LAGS = tuple(1_000_000 >> shift for shift in range(3, -1, -1)), (125_000, 500_000, 1_000_000)
"""All above what a worker may have open: with fewer, memory is what the records themselves take."""
PARTITIONS, QUICK_PARTITIONS = (1, 2, 4, 8, 16, 32, 64), (1, 4, 16, 64)
LINE_BYTES, QUICK_LINE_BYTES = (20, *(1 << shift for shift in range(5, 16))), (20, 128, 512, 2_048, 8_192, 32_768)
DISTINCT, QUICK_DISTINCT = (0.0, 6.25, 12.5, 25.0, 50.0, 100.0), (0.0, 25.0, 100.0)
WORKERS = (1, 2, 4)
INDEX_LINES, QUICK_INDEX_LINES = (100_000, 1_000_000, 10_000_000), (100_000, 1_000_000)
QUICK_SERVER_LINES = QUICK_INDEX_LINES[:1]
LINES, QUICK_LINES = 400_000, 200_000
"""At a point, unless its axis says otherwise."""
DISTINCT_LINES, QUICK_DISTINCT_LINES = 100_000, 50_000
MOST_BYTES, QUICK_MOST_BYTES = 64_000_000, 32_000_000
"""Of lines of one length."""
ROUNDS, QUICK_ROUNDS = 3, 2
TRICKLE_S, QUICK_TRICKLE_S = 10.0, 3.0
ASKED, QUICK_ASKED = 25, 10
_WORKERS_PARTITIONS = 16


def points_of(axis: str, *, is_quick: bool, lines: int | None = None) -> list[Point]:
    """Return the points of an axis in ascending order; with `lines`, none has more of them."""
    trickle_s = QUICK_TRICKLE_S if is_quick else TRICKLE_S
    each = lines or (QUICK_LINES if is_quick else LINES)
    if axis == "lag":
        return [Point(axis, lag, lag) for lag in at_most(QUICK_LAGS if is_quick else LAGS, lines)]
    if axis == "partitions":
        counts = QUICK_PARTITIONS if is_quick else PARTITIONS
        return [Point(axis, count, each, partitions=count, trickle_s=trickle_s) for count in counts]
    if axis == "line_bytes":
        most = QUICK_MOST_BYTES if is_quick else MOST_BYTES
        return [Point(axis, size, min(each, most // size), line_bytes=size) for size in (QUICK_LINE_BYTES if is_quick else LINE_BYTES)]
    if axis == "distinct":
        each = min(each, QUICK_DISTINCT_LINES if is_quick else DISTINCT_LINES)
        return [Point(axis, percent, each, new_share=percent / 100) for percent in (QUICK_DISTINCT if is_quick else DISTINCT)]
    return [Point(axis, count, lines or 2 * each, _WORKERS_PARTITIONS, workers=count, trickle_s=trickle_s) for count in WORKERS]


def at_most(sizes: Sequence[int], most: int | None) -> list[int]:
    """Return the sizes up to one, or that one if all are larger."""
    return [size for size in sizes if most is None or size <= most] or [most or 0]


def measure_points(bootstrap_servers: str, points: Sequence[Point], rounds: int) -> dict[Point, list[Ran]]:
    """Fill the points' topics and read each once a round, in turns. Raises Wrong."""
    filled, arrived = TopicFiller(bootstrap_servers).fill(points), dict.fromkeys(points, 0)

    def measure_one(point: Point) -> Ran:
        try:
            ran, arrived[point] = measure_point(bootstrap_servers, point, filled[point], arrived[point])
        except Wrong as error:
            raise Wrong(f"{point.axis} at {point.at:g}: {error}") from None
        return ran

    ran = race({str(place): partial(measure_one, point) for place, point in enumerate(points)}, rounds)
    return dict(zip(points, ran.values(), strict=True))


def measure(chosen: Namespace) -> Figures:
    """Measure the axes that are asked for. Raises Missing, Wrong."""
    figures: Figures = {}
    with nullcontext("") if set(chosen.axis) <= _WITHOUT_BROKER else some_kafka(chosen.kafka) as address:
        for axis in chosen.axis:
            if axis == "index_server":
                figures[axis] = _server_figures(chosen)
            else:
                figures[axis] = axis_figures(axis, _index_rows(chosen) if axis == "index" else _rows(address, axis, chosen))
    if chosen.plots:
        _draw_all(figures, chosen.plots)
    return figures


def _rows(bootstrap_servers: str, axis: str, chosen: Namespace) -> list[dict[str, Any]]:
    points = points_of(axis, is_quick=chosen.quick, lines=chosen.lines)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    return [row_of(point, ran) for point, ran in measure_points(bootstrap_servers, points, rounds).items()]


def _index_rows(chosen: Namespace, server: str = "") -> list[dict[str, Any]]:
    quick_sizes = QUICK_SERVER_LINES if server else QUICK_INDEX_LINES
    sizes = at_most(quick_sizes if chosen.quick else INDEX_LINES, chosen.lines)
    return [index_row_of(measure_index(size, QUICK_ASKED if chosen.quick else ASKED, server)) for size in sizes]


def _server_figures(chosen: Namespace) -> Figures:
    with own_or_given_milvus(chosen.server) as started:
        if started.address:
            return axis_figures("index_server", _index_rows(chosen, started.address))
    return {"points": [], "no_server": started.reason}


def _draw_all(figures: Mapping[str, Figures], folder: Path) -> None:
    from benchmarks.plots import draw_growth, draw_open_records  # noqa: PLC0415 - matplotlib takes a second to load

    folder.mkdir(parents=True, exist_ok=True)
    for axis, found in figures.items():
        if found["points"]:
            draw_growth(axis, found, folder / f"growth-{axis}.png")
        if found.get("open_records"):
            draw_open_records(found, load_settings(None).limits.max_in_flight_records, folder / "growth-open.png")


main = program(
    __doc__,
    measure,
    option("--axis", nargs="+", choices=AXES, default=AXES, help="only these"),
    option("--lines", type=int, help="lines at a point, and at most waiting or in the index"),
    ANOTHER_ROUNDS,
    option("--plots", type=Path, metavar="FOLDER", help="draw a PNG for each axis"),
    KAFKA,
    option("--server", metavar="URI", help="a Milvus server to use for `index_server`, instead of one that is started"),
    quick="fewer points, lines and rounds",
)

if __name__ == "__main__":
    main()

"""PNGs of `benchmarks.growth`.

For each axis bytes/s, processor time, memory and, where there is one, the time until a line is there; and the open records over time.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.plot_looks import FIRST, SECOND, Axes, new_figure, save

_INCHES_A_PANEL = (3.6, 3.4)
_DPI = 110
_NAMES = {
    "lag": "records waiting",
    "partitions": "partitions",
    "line_bytes": "bytes a line",
    "distinct": "lines with a new template, %",
    "workers": "workers",
    "index": "lines in the index",
    "index_server": "lines in the index on a server",
}


def draw(axis: str, found: Mapping[str, Any], file: Path) -> None:
    """Draw the points of one axis; markers differ as well as colours."""
    points = found["points"]
    at = [point["at"] for point in points]
    timed = [name for name in ("acknowledged", "question") if f"{name}_p50_s" in points[0]]
    width, height = _INCHES_A_PANEL
    figure, panels = new_figure(3 + len(timed), (width * (3 + len(timed)), height))
    rates = [point["bytes_per_s"] / 1e6 for point in points]
    least, most = ([point["bytes_per_s_range"][end] / 1e6 for point in points] for end in (0, 1))
    panels[0].fill_between(at, least, most, color=FIRST, alpha=0.2, linewidth=0)
    _line(panels[0], at, rates, "MB/s, median and range")
    _line(panels[1], at, [point["cpu_us_per_line"] for point in points], "processor, µs a line")
    _line(panels[2], at, [point["rss_bytes"] / 1e6 for point in points], "peak memory of the process, MB")
    for name, panel in zip(timed, panels[3:], strict=True):
        words = "until a line is acknowledged" if name == "acknowledged" else "until a question is answered"
        _line(panel, at, [1e3 * point[f"{name}_p50_s"] for point in points], f"{words}, ms", label="median")
        panel.plot(at, [1e3 * point[f"{name}_p95_s"] for point in points], color=SECOND, marker="^", linestyle="--", label="p95")
        panel.legend(frameon=False)
    for panel in panels:
        panel.set_xscale("symlog" if min(at) == 0 else "log", base=2)
        panel.set_xticks(at, [f"{place:g}" if place < 100_000 else f"{place / 1e6:.2g} M" for place in at], rotation=45)  # noqa: PLR2004
        panel.minorticks_off()
        panel.set_ylim(bottom=0)
        panel.set_xlabel(_NAMES[axis])
    save(figure, file, dots_per_inch=_DPI)


def draw_open(found: Mapping[str, Any], cap_records: int, file: Path) -> None:
    """Draw the open records over time, at the largest lag, below the cap at which intake pauses."""
    figure, (panel,) = new_figure(1, (7.2, 3.0))
    seconds, records = zip(*found["open_records"], strict=True)
    panel.plot(seconds, records, color=FIRST, linewidth=1)
    panel.axhline(cap_records, color=SECOND, linestyle="--", label="cap")
    panel.set_ylim(bottom=0)
    panel.set_xlabel("seconds")
    panel.set_title(f"open records; {found['pauses_per_minute']:g} pauses a minute")
    panel.legend(frameon=False)
    save(figure, file, dots_per_inch=_DPI)


def _line(panel: Axes, at: list[float], values: list[float], title: str, label: str = "") -> None:
    panel.plot(at, values, color=FIRST, marker="o", label=label)
    panel.set_title(title)

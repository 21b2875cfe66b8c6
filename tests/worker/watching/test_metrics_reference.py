"""`docs/metrics.md` is current and has each metric once, below a heading."""

from pathlib import Path

from worker.watching.metrics import METRICS
from worker.watching.metrics_reference import metrics_page

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == metrics_page() + "\n", "run `make docs`"


def test_every_metric_is_on_the_page_once() -> None:
    rows = [line.split("`")[1] for line in metrics_page().splitlines() if line.startswith("| `")]
    assert rows == [metric.name for metric in METRICS]

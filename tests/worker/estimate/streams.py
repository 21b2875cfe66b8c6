"""A made-up stream whose costs can be computed by hand, and a clock for measurements of it."""

from collections.abc import Callable
from itertools import count

from worker.estimate.costs import CLIENT_US_PER_LINE, StreamFigures

STREAM = StreamFigures(
    bytes_per_line=100.0,
    lines_per_block=1_000.0,
    build_us_per_line=10.0 - CLIENT_US_PER_LINE,
    block_bytes_per_line=40.0,
    resident_bytes_per_line=8.0,
    folder_bytes_per_line=30.0,
    tokens_per_template=50.0,
    template_row_bytes=1_600.0,
    redis_bytes_per_template=1_000,
    engine_tokens_per_s=4_000.0,
    sampled_bytes=1_000_000,
    stretches=10,
    templates_by_stretches={10: 200},
)
"""Ten million lines a gigabyte, ten microseconds each, of 200 templates that are everywhere: so none is added by any prediction."""


def ticking(step_s: float) -> Callable[[], float]:
    """Return a clock that advances by `step_s` with each call."""
    looks = count()
    return lambda: next(looks) * step_s

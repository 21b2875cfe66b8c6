"""A time that Kafka has of a record is bounded like one that its text has: from 1970 until a day from now."""

import numpy as np
import pytest

from consumers.decode.kafka_times import bounded_times, is_far
from consumers.decode.line_zones import DAY_MS

NOW_MS = 1_795_435_200_000
"""2026-11-23 12:00 UTC."""


@pytest.mark.parametrize(
    ("kafka_ms", "bounded_ms"),
    [
        *((one, one) for one in (0, 1, NOW_MS, NOW_MS + DAY_MS)),
        *((one, NOW_MS) for one in (-1, NOW_MS + DAY_MS + 1, 1 << 62, (1 << 63) - 1, -1 << 63)),
    ],
)
def test_a_time_before_1970_or_more_than_a_day_ahead_is_now_and_no_other_is(kafka_ms: int, bounded_ms: int) -> None:
    assert is_far(kafka_ms, NOW_MS) == (kafka_ms != bounded_ms)
    bounded = bounded_times(np.array([5, kafka_ms, NOW_MS]), NOW_MS + 0.5)
    assert bounded.tolist() == [5, bounded_ms, NOW_MS]

"""A time that Kafka has of a record is bounded like one that its text has: from 1970 until a day from now."""

import numpy as np
import pytest

from consumers.decode.decoder import Decoder
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


@pytest.mark.parametrize(
    ("text", "time_ms"),
    [
        ("nothing but a text", NOW_MS),
        ("2026-11-20T12:00:00Z INFO a time of its own", NOW_MS - 3 * DAY_MS),
        ("2026-11-25T12:00:01Z INFO more than a day ahead", NOW_MS),
        ("Nov 20 12:00:00 host sshd[1]: no year", NOW_MS - 3 * DAY_MS),
        ('{"time": 9223372036854775807, "message": "no calendar has it"}', NOW_MS),
    ],
)
def test_a_line_of_a_record_with_a_far_time_has_its_own_time_or_that_of_now(text: str, time_ms: int) -> None:
    kafka_ms = bounded_times(np.array([(1 << 63) - 1]), NOW_MS)
    assert Decoder().decode([text.encode()], kafka_ms).entries.time_ms.tolist() == [time_ms]

"""Kafka's times of records, as far as they can be true: whoever sends a record chooses its time, and many brokers take any.

Whoever decodes bounds them first, so no line is said to be of before 1970 or of the far future. What came is kept as `kafka_time`.
"""

import numpy as np
from numpy.typing import NDArray

from consumers.decode.line_zones import DAY_MS


def is_far(kafka_ms: int, now_ms: float) -> bool:
    """Whether a record cannot be of this time: before 1970, or more than a day after `now_ms`."""
    return not 0 <= kafka_ms <= now_ms + DAY_MS


def bounded_times(kafka_ms: NDArray[np.int64], now_ms: float) -> NDArray[np.int64]:
    """Return n times of Kafka, int64[n], with `now_ms` for each that is far."""
    far = (kafka_ms < 0) | (kafka_ms > now_ms + DAY_MS)
    return np.where(far, int(now_ms), kafka_ms) if far.any() else kafka_ms

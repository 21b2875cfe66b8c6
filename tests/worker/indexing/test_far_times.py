"""A record whose Kafka time cannot be true harms no line but its own, and not even that one: the time when it is read stands for it.

What such a time does to counts and exports of an older index is in `tests/worker/querying`.
"""

import pytest

from consumers.decode.line_zones import DAY_MS
from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import LATE_MS, record

NOW_MS = int(LATE_MS)
FAR_MS = [(1 << 63) - 1, (1 << 62) + 1, 32_503_680_000_000, NOW_MS + DAY_MS + 1, -1, -1 << 63]


def feed(chain: Chain, *times_ms: int) -> None:
    """Index a line of each time."""
    first = chain.ledger.tally["admitted"]
    receipt = admit_batch(chain.ledger, *(record(first + n, b"disk full")._replace(time_ms=ms) for n, ms in enumerate(times_ms)))
    chain.prepare.step([receipt])
    chain.run()


@pytest.mark.parametrize("far_ms", FAR_MS)
def test_its_line_has_the_time_when_it_was_read_and_kafkas_beside_it(chain: Chain, far_ms: int) -> None:
    feed(chain, NOW_MS - 5_000, far_ms, NOW_MS + DAY_MS)
    assert [(one.offset, one.time, one.kafka_time) for one in chain.lines()] == [
        (0, NOW_MS - 5_000, NOW_MS - 5_000),
        (1, NOW_MS, far_ms),
        (2, NOW_MS + DAY_MS, NOW_MS + DAY_MS),
    ]

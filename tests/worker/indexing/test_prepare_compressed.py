"""The prepare step and values that their senders compressed."""

import gzip
import tracemalloc

from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import record

MB = 1_000_000


def test_a_few_kilobytes_that_hold_sixty_megabytes_are_worked_in_parts(chain: Chain) -> None:
    values = [gzip.compress(b'{"msg": "line %d", "pad": "%s"}' % (number, b"x" * 990_000), 1, mtime=0) for number in range(60)]
    values.insert(7, gzip.compress(bytes(2 * MB), mtime=0))
    receipt = admit_batch(chain.ledger, *(record(offset, value) for offset, value in enumerate(values)))
    tracemalloc.start()
    try:
        chain.prepare.step([receipt])
        assert tracemalloc.get_traced_memory()[1] < 45 * MB
    finally:
        tracemalloc.stop()
    chain.run()
    assert [(offset, text) for offset, text in chain.stored()] == [(number + (number >= 7), f"line {number}") for number in range(60)]
    assert [(claim.record.offset, reason.reason) for claim, reason, _ in chain.letters.posted] == [
        (7, "too_large: compressed as gzip, more than 1000000 bytes when decompressed")
    ]
    assert chain.committable() == 61

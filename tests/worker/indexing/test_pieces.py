"""What a piece of a record counts for; that it is as much as is held is shown in `test_prepare.py`, with vectors of 384 numbers."""

from consumers.decode.decoder import LogEntry
from tests.consumers.records import record
from worker.indexing.pieces import TemplatedPiece, held_bytes

PIECES = 3
NUMBER_BYTES = 4


def test_a_vector_counts_with_all_its_numbers() -> None:
    text = "a line"
    entry = LogEntry(record(), 0, text, 0, "", "")
    pieces = [TemplatedPiece(number, PIECES, text, text, "digest") for number in range(PIECES)]
    usual, large = (held_bytes(entry, pieces, dim=dim) for dim in (384, 4_096))
    assert large - usual == PIECES * NUMBER_BYTES * (4_096 - 384)

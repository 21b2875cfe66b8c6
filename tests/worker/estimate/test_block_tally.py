"""What lines take in the index is what the blocks of them take that the worker would write."""

from consumers.decode.decoder import LogEntry
from consumers.record import Record
from consumers.text.chunk import Piece
from tests.sinks.blocks import block, line
from worker.estimate.block_tally import BlockTally

Entries = list[tuple[LogEntry, list[Piece]]]


def entries(number: int, *, pieces: int = 1) -> Entries:
    record = Record("estimate", 0, 0, "", 0, None, b"", ())
    return [
        (LogEntry(record, 0, f"line {n}", 0, "sshd", "INFO"), [Piece(f"line {n} of {chunk}", f"line {chunk}") for chunk in range(pieces)])
        for n in range(number)
    ]


def test_full_blocks_are_built_at_once_and_the_rest_at_the_end() -> None:
    tally = BlockTally()
    tally.add_entries(entries(600))
    assert tally.blocks == 0
    tally.add_entries(entries(600))
    assert tally.blocks == 1
    tally.finish()
    tally.finish()
    assert tally.blocks == 2


def test_the_sizes_are_those_of_the_block() -> None:
    tally = BlockTally()
    tally.add_entries(entries(3, pieces=1))
    tally.finish()
    alike = block([line(n + 1, text=f"line {n} of 0", template_text="line 0", time=n + 1) for n in range(3)], masks="")
    assert tally.server_bytes == alike.size_bytes
    assert len(alike.places) < tally.folder_bytes < alike.size_bytes


def test_chunks_count_and_an_entry_without_any_takes_nothing() -> None:
    tally = BlockTally()
    tally.add_entries([*entries(400, pieces=3), *((entry, []) for entry, _ in entries(2))])
    tally.finish()
    assert tally.blocks == 2


def test_a_line_takes_less_than_its_text() -> None:
    tally = BlockTally()
    what = "connection from 10.0.0.1 port 22 was closed by the other side: "
    tally.add_entries([(entry, [Piece(what + one.text, one.masked) for one in pieces]) for entry, pieces in entries(4_096)])
    assert tally.server_bytes / 4_096 < 30

"""What is stored of an entry, and what a piece of it counts for.

That this is as much as is held is shown in `test_prepare.py`, with vectors of 384 numbers.
"""

from collections.abc import Sequence

import pytest

from consumers.decode.decoder import LogEntry
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.line import LEVEL_BYTES, PIECE_BYTES, SERVICE_BYTES, Line
from sinks.lines import cut_of
from sinks.row import template_id
from tests.consumers.counters import count_all, words
from tests.consumers.records import record
from worker.indexing.pieces import SplitEntry, TemplatedPiece, held_bytes, lines_of_entry, split_entries

PIECES = 3
NUMBER_BYTES = 4
MADE = record(7)


def split(*entries: LogEntry, redact: Sequence[str] = (), max_tokens: int = 10_000) -> list[SplitEntry]:
    """Split entries whose masked text is in lower case."""
    chunker = Chunker(
        mask=lambda texts: [text.lower() for text in texts],
        count_tokens=count_all(words),
        max_tokens=max_tokens,
        overhead_tokens=2,
        max_text_bytes=PIECE_BYTES,
        max_chunks=8,
    )
    return split_entries(entries, redactor=Redactor(redact), chunker=chunker)


def stored(entry: LogEntry, *, redact: Sequence[str] = (), max_tokens: int = 10_000) -> list[Line]:
    (pair,) = split(entry, redact=redact, max_tokens=max_tokens)
    return lines_of_entry(*pair)


def test_all_of_an_entry_is_stored() -> None:
    assert stored(LogEntry(MADE, 2, "Disk Full", 5, "cart", "WARN")) == [
        Line(
            topic=MADE.topic,
            epoch=MADE.epoch,
            partition=MADE.partition,
            offset=7,
            sub=2,
            chunk=0,
            chunks=1,
            text="Disk Full",
            template_text="disk full",
            time=5,
            kafka_time=MADE.time_ms,
            service="cart",
            level="WARN",
        )
    ]


def test_the_chunks_of_a_line_say_how_it_was_cut() -> None:
    lines = stored(LogEntry(MADE, 0, "ten words of which each is a few bytes long", 5, "", ""), max_tokens=7)
    texts = [line.text for line in lines]
    assert len(lines) > 2
    assert "".join(texts) == "ten words of which each is a few bytes long"
    assert {(line.chunks, line.cut) for line in lines} == {(len(lines), cut_of(texts))}
    assert [line.chunk for line in lines] == list(range(len(lines)))


def test_the_id_of_a_template_is_that_of_its_text_alone() -> None:
    ((_, (piece,)),) = split(LogEntry(MADE, 0, "Disk Full", 5, "", ""))
    assert (piece.masked, piece.template) == ("disk full", template_id("disk full"))


def test_a_piece_is_no_longer_than_a_block_takes() -> None:
    lines = stored(LogEntry(MADE, 0, "ä" * (2 * PIECE_BYTES), 5, "", ""), max_tokens=10**9)
    assert "".join(line.text for line in lines) == "ä" * (2 * PIECE_BYTES)
    assert max(len(line.text.encode()) for line in lines) <= PIECE_BYTES


@pytest.mark.parametrize(
    ("service", "kept"), [("s" * 300, "s" * SERVICE_BYTES), ("ä" * 200, "ä" * 128), ("a" + "ä" * 200, "a" + "ä" * 127)]
)
def test_a_long_service_is_cut_to_its_column_between_two_characters(service: str, kept: str) -> None:
    ((entry, pieces),) = split(LogEntry(MADE, 0, "disk full", 5, service, "x" * 100))
    assert (entry.service, entry.level) == (kept, "x" * LEVEL_BYTES)
    assert lines_of_entry(entry, pieces)[0].service == kept


def test_a_service_is_redacted_before_it_is_cut() -> None:
    service = "s" * (SERVICE_BYTES - 4) + " ann@example.org"
    (line,) = stored(LogEntry(MADE, 0, "disk full", 5, service, ""), redact=["email"])
    assert "ann" not in line.service
    assert len(line.service) <= SERVICE_BYTES


def test_an_entry_that_needs_no_change_is_the_same_object() -> None:
    entry = LogEntry(MADE, 0, "disk full", 5, "cart", "WARN")
    assert split(entry)[0][0] is entry


def test_a_vector_counts_with_all_its_numbers() -> None:
    text = "a line"
    entry = LogEntry(record(), 0, text, 0, "", "")
    pieces = [TemplatedPiece(number, PIECES, 5, text, text, "template") for number in range(PIECES)]
    usual, large = (held_bytes(entry, pieces, dim=dim) for dim in (384, 4_096))
    assert large - usual == PIECES * NUMBER_BYTES * (4_096 - 384)

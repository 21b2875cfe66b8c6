"""What compares an export with the sent records finds each fault, and none in events that are grouped otherwise."""

import pytest

from tests.faults.event_export import differences, entries_of
from tests.faults.event_records import EventRecord, Kind, event, is_joined, joined
from tests.faults.event_topics import Entry, Place

KINDS: dict[str, Kind] = {"traces": "traces", "containers": "containers", "otlp": "otlp", "arrays": "arrays"}
NUMBERS = range(12)


def sent_to(kind: Kind) -> list[EventRecord]:
    return [record for number in NUMBERS for record in event(kind, number)]


def entries_in(kind: Kind, most: int = 1_000) -> list[Entry]:
    """Return the entries of a worker that closes events at `most` records."""
    found: list[Entry] = []
    offset = 0
    for number in NUMBERS:
        records = event(kind, number)
        for at in range(0, len(records), most if is_joined(kind) else 1):
            part = records[at : at + most]
            lines = [line for record in part for line in record.lines]
            texts = [joined(kind, lines)] if is_joined(kind) else lines
            found += [Entry(Place(kind, 0), offset + at, sub, text) for sub, text in enumerate(texts)]
        offset += len(records)
    return found


def wrong(entries: list[Entry]) -> list[str]:
    wanted = {(Place(kind, 0), at): one.lines for kind in KINDS.values() for at, one in enumerate(sent_to(kind))}
    return differences(entries, wanted, KINDS)


@pytest.mark.parametrize("most", [1, 2, 3, 1_000])
def test_however_events_are_grouped_their_lines_are_right(most: int) -> None:
    assert wrong([entry for kind in KINDS.values() for entry in entries_in(kind, most)]) == []


@pytest.mark.parametrize("kind", KINDS.values())
def test_every_fault_is_found(kind: Kind) -> None:
    right = [entry for one in KINDS.values() for entry in entries_in(one)]
    others, own = [one for one in right if one.place.topic != kind], entries_in(kind)
    longest = max(own, key=lambda one: len(one.text))
    at = own.index(longest)
    faults = {
        "lost": own[:at] + own[at + 1 :],
        "twice": [*own, longest],
        "elsewhere": [*own[:at], longest._replace(offset=longest.offset + 1), *own[at + 1 :]],
        "changed": [*own[:at], longest._replace(text=longest.text.replace("o", "0")), *own[at + 1 :]],
        "of a record that was never sent": [*own, longest._replace(offset=10_000)],
        "of a group that was replaced": [*own, *[one for one in entries_in(kind, 2) if one.offset > longest.offset][:1]],
    }
    assert {fault: bool(wrong(others + entries)) for fault, entries in faults.items()} == dict.fromkeys(faults, True)


def test_chunks_are_joined_and_a_chunk_that_comes_twice_or_is_missing_is_a_fault() -> None:
    line = {"topic": "traces", "partition": 0, "offset": 3, "sub": 0, "chunks": 2}
    first, second = {**line, "chunk": 0, "text": "a"}, {**line, "chunk": 1, "text": "\nb"}
    assert entries_of([second, first]) == [Entry(Place("traces", 0), 3, 0, "a\nb")]
    assert entries_of([second, first, first]) == [Entry(Place("traces", 0), 3, 0, "aa\nb")]
    with pytest.raises(AssertionError, match="chunks are missing"):
        entries_of([second])

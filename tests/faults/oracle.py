"""The oracle: compares what was sent with what is stored, and knows of vectail only what it promises.

Every record is in the index (its text byte for byte), in the dead-letter topic, or dropped on purpose; nothing is invented, and
no row is there twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from tests.faults.index import Index, Line
from tests.faults.records import LONG_CHARACTERS, Entry, Sent
from tests.faults.topics import Committed, Letter

Place = tuple[int, int]
"""Partition and offset."""
_EPOCH_CHARACTERS = 8


class Verdict(NamedTuple):
    """What has become of the records so far."""

    done: set[Place]
    """Completely stored, or in the dead-letter topic."""
    begun: set[Place]
    """At least one row is stored."""
    dropped: set[Place]
    """Nothing of these shall be stored anywhere."""

    def lost_below(self, committed: Committed) -> list[Place]:
        """Return the records that will never be read again and are nowhere."""
        accounted = self.done | self.dropped
        below = {(partition, offset) for partition, end in committed.items() for offset in range(end)}
        return sorted(below - accounted)

    def stored_above(self, committed: Committed) -> list[Place]:
        """Return the records that will be read again although something of them is stored."""
        return sorted(place for place in self.begun | self.done if place[1] >= committed[place[0]])


def judge(sent: Iterable[Sent], topic: str, index: Index, letters: Sequence[Letter]) -> Verdict:
    """Compare; raises AssertionError for anything invented, twice, wrong, or against its fate."""
    by_place = {(record.partition, record.offset): record for record in sent}
    assert _twice(line.id for line in index.lines) == []
    assert _twice(index.templates) == []
    _check_ids(index.lines, topic)
    templates = set(index.templates)
    assert [line.id for line in index.lines if line.template not in templates] == []

    rows: defaultdict[Place, list[Line]] = defaultdict(list)
    for line in index.lines:
        rows[line.partition, line.offset].append(line)
    assert sorted(place for place in rows if place not in by_place or by_place[place].content.fate != "rows") == []
    stored = {place for place, lines in rows.items() if _is_complete(by_place[place], lines)}

    for letter in letters:
        record = by_place[letter.partition, letter.offset]
        assert record.content.fate == "dead_letter", letter
        assert record.content.value == letter.value
        assert letter.reason == "undecodable: not valid UTF-8"
    lettered = {(letter.partition, letter.offset) for letter in letters}
    dropped = {place for place, record in by_place.items() if record.content.fate == "dropped"}
    return Verdict(stored | lettered, set(rows), dropped)


def _twice(keys: Iterable[str]) -> list[str]:
    return [key for key, times in Counter(keys).items() if times > 1]


def _check_ids(lines: Sequence[Line], topic: str) -> None:
    """A row's id is where it came from, and one topic has one epoch."""
    epochs = {line.id.partition("@")[2].partition("/")[0] for line in lines}
    assert len(epochs) <= 1
    for line in lines:
        epoch = next(iter(epochs))
        assert len(epoch) == _EPOCH_CHARACTERS
        assert line.id == f"{topic}@{epoch}/{line.partition}/{line.offset}/{line.sub}/{line.chunk}"
        assert line.topic == topic


def _is_complete(record: Sent, lines: Sequence[Line]) -> bool:
    """Check every row of one record; returns whether all of its rows are there."""
    entries = {entry.sub: entry for entry in record.content.entries}
    whole = 0
    for sub, group in groupby(sorted(lines, key=lambda line: (line.sub, line.chunk)), key=lambda line: line.sub):
        whole += _is_whole(entries[sub], record, list(group))
    return whole == len(entries)


def _is_whole(entry: Entry, record: Sent, chunks: list[Line]) -> bool:
    for line in chunks:
        assert (line.time, line.service, line.level) == (record.time_ms, entry.service, entry.level), line.id
        assert line.chunk < line.chunks == chunks[0].chunks, line.id
        assert line.text in entry.text, line.id
    if len(chunks) < chunks[0].chunks:
        return False
    assert "".join(line.text for line in chunks) == entry.text, chunks[0].id
    assert (len(chunks) > 1) == (len(entry.text) >= LONG_CHARACTERS), chunks[0].id
    return True

"""The oracle: compares what was sent with what is stored, and knows only vectail's promises.

Every record is in the index (its text byte for byte), in the dead-letter topic, or dropped on purpose. Nothing is invented, and no reader
gets a line twice: copies that readers leave out are no fault, but nothing may be invented in them either. `tests.faults.truth` compares
the vectors.
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
    """The outcome of the records so far; for a re-created topic, of those sent since."""

    done: set[Place]
    """Completely stored, or in the dead-letter topic."""
    begun: set[Place]
    """At least one line is stored."""
    dropped: set[Place]
    """Must not be stored anywhere."""
    sent: set[Place]
    """All records."""

    def lost_below(self, committed: Committed) -> list[Place]:
        """Return the records that will not be read again and are stored nowhere."""
        return sorted(place for place in self.sent - self.done - self.dropped if place[1] < committed.get(place[0], 0))

    def stored_above(self, committed: Committed) -> list[Place]:
        """Return the records that will be read again although they are at least partly stored."""
        return sorted(place for place in self.begun | self.done if place[1] >= committed.get(place[0], 0))


def judge(sent: Sequence[Sent], topic: str, index: Index, letters: Sequence[Letter], earlier: Iterable[Sent] = ()) -> Verdict:
    """Compare; raise AssertionError for anything invented, duplicate, wrong, or against its fate.

    `earlier` was sent to deleted topics of the same name: lines of these records must be right, but may be absent.
    """
    by_place = {(record.epoch, record.partition, record.offset): record for record in (*earlier, *sent)}
    assert _twice(line.id for line in index.lines) == []
    assert _twice(index.templates) == []
    templates = set(index.templates)
    assert [line.id for line in index.lines if line.template not in templates] == []

    lines: defaultdict[tuple[str, int, int], list[Line]] = defaultdict(list)
    for line in index.lines:
        lines[_place(line, topic)].append(line)
    copied = {_place(line, topic) for line in index.copies}
    invented = sorted(p for p in lines.keys() | copied if p not in by_place or by_place[p].content.fate != "rows")
    assert invented == [], f"invented: {invented}"
    stored = {place for place, pieces in lines.items() if _is_complete(by_place[place], pieces)}
    lettered = {_check_letter(letter, by_place) for letter in letters}

    now = {(record.epoch, record.partition, record.offset) for record in sent}
    dropped = {place for place in now if by_place[place].content.fate == "dropped"}
    return Verdict(_places((stored | lettered) & now), _places(lines.keys() & now), _places(dropped), _places(now))


def _places(full: Iterable[tuple[str, int, int]]) -> set[Place]:
    return {(partition, offset) for _epoch, partition, offset in full}


def _twice(keys: Iterable[str]) -> list[str]:
    return [key for key, times in Counter(keys).items() if times > 1]


def _place(line: Line, topic: str) -> tuple[str, int, int]:
    """Return where a line came from: epoch, partition, offset."""
    assert len(line.epoch) == _EPOCH_CHARACTERS
    assert line.topic == topic
    assert line.id == f"{topic}@{line.epoch}/{line.partition}/{line.offset}/{line.sub}/{line.chunk}"
    return line.epoch, line.partition, line.offset


def _check_letter(letter: Letter, by_place: dict[tuple[str, int, int], Sent]) -> tuple[str, int, int]:
    place = letter.epoch, letter.partition, letter.offset
    content = by_place[place].content
    assert content.fate == "dead_letter", letter
    assert letter.reason.startswith(content.reason), letter
    if letter.is_cut:
        assert (content.value or b"").startswith(letter.value or b""), letter
    else:
        assert content.value == letter.value, letter
    return place


def _is_complete(record: Sent, lines: Sequence[Line]) -> bool:
    """Check every line of one record; return whether all of them exist."""
    entries = {entry.sub: entry for entry in record.content.entries}
    whole = 0
    for sub, group in groupby(sorted(lines, key=lambda line: (line.sub, line.chunk)), key=lambda line: line.sub):
        whole += _is_whole(entries[sub], record, list(group))
    return whole == len(entries)


def _is_whole(entry: Entry, record: Sent, chunks: list[Line]) -> bool:
    for line in chunks:
        assert (line.time, line.kafka_time, line.service, line.level) == (record.time_ms, record.time_ms, entry.service, entry.level), (
            line.id
        )
        assert line.chunk < line.chunks == chunks[0].chunks, line.id
        assert line.text in entry.text, line.id
    if len(chunks) < chunks[0].chunks:
        return False
    assert "".join(line.text for line in chunks) == entry.text, chunks[0].id
    assert (len(chunks) > 1) == (len(entry.text) >= LONG_CHARACTERS), chunks[0].id
    return True

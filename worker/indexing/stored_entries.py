"""Which log entries a stretch of offsets of one partition holds, and what is stored of them: 16 bytes for each entry.

`worker.indexing.resume` fills it from the index and asks it for the lines that it is about to write. A record is held only with everything
that is stored of it, and nothing else: two entries with the same hash are equal in all their chunks, texts, times, labels and fields.
Templates do not count: the same line has another template under other masks. An entry that was stored without texts
(`worker.indexing.sampling`) is equal to every one that was cut alike and has its templates, times and labels.
"""

import hashlib
import struct
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import as_optional_texts, text_bytes
from sinks.block import CodedColumn, Lines
from sinks.line import NO_LEADER_EPOCH, Line
from sinks.lines import lines_of, take_lines
from sinks.row import TemplateText

MOST_OFFSETS = 1 << 40
"""How long a stretch may be, so that offset and sub fit into one number."""
_SUB_BITS = 20
_NUMBERS = struct.Struct("<7qQ3I")


class EntryHashes(NamedTuple):
    """m log entries of one partition, and a hash of everything that is stored of each but its templates.

    Thread: any.
    """

    offset: NDArray[np.int64]
    sub: NDArray[np.int32]
    hashed: NDArray[np.uint64]
    is_thin: NDArray[np.bool_]
    """Whether it is without texts; then templates were hashed in their place."""
    records: NDArray[np.int32]
    """How many offsets it spans."""
    last_leader_epoch: NDArray[np.int32]
    is_known: NDArray[np.bool_]
    """Whether the rows of all its templates are there."""


class StoredEntries:
    """Knows the entries that begin at first_offset ≤ offset < end_offset.

    Thread: one.
    """

    def __init__(self, first_offset: int, end_offset: int, parts: Sequence[EntryHashes]) -> None:
        """`parts` hold each entry once, in any order."""
        self.first_offset = first_offset
        self.end_offset = end_offset
        offset, sub, hashes, is_thin, records, last_leader_epoch, is_known = map(np.concatenate, zip(_NOTHING, *parts, strict=True))
        self._keys = self._keys_of(offset, sub)
        order = np.argsort(self._keys, kind="stable")[np.count_nonzero(self._keys < 0) :]
        self._keys, self._hashes, self._is_thin, self._is_known = self._keys[order], hashes[order], is_thin[order], is_known[order]
        self._last_leader_epoch = last_leader_epoch[order]
        self._begins, ends = offset[order], (offset + records)[order]
        self._ends = np.maximum.accumulate(ends) if len(ends) else ends
        self.reach = max([end_offset, *self._ends[-1:].tolist()])
        """Where the offsets end that its entries span."""

    def __len__(self) -> int:
        return len(self._keys)

    def holds(self, lines: Lines) -> NDArray[np.bool_]:
        """Return which lines are of a record that is stored as exactly these entries, with or without texts, and no others: bool[n].

        The lines of a record are neighbours, in the order of their entries and chunks.
        """
        begins = entry_begins(lines)
        offset = lines.offset[begins]
        keys = self._keys_of(offset, lines.sub[begins])
        places = np.searchsorted(self._keys, keys)
        held: NDArray[np.bool_] = (keys >= 0) & (places < len(self._keys))
        held[held] = (self._keys[places[held]] == keys[held]) & self._is_known[places[held]]
        sizes = np.diff(begins, append=lines.size)
        if held.any():
            asked = take_lines(lines, np.flatnonzero(np.repeat(held, sizes)))
            held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed == self._hashes[places[held]]
        if held.any():
            firsts = np.flatnonzero(np.append(True, offset[1:] != offset[:-1]))
            entries = np.diff(firsts, append=len(begins))
            ends = offset[firsts] + lines.records[begins[firsts]]
            is_whole = np.add.reduceat(held.astype(np.int64), firsts) == entries
            held = np.repeat(is_whole & (self._touching(offset[firsts], ends) == entries), entries)
        return np.repeat(held, sizes)

    def touch(self, first_offset: NDArray[np.int64], end_offset: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each range of offsets whether an entry spans one of them: bool[n]."""
        return self._touching(first_offset, end_offset) > 0

    def hold_other(self, offset: NDArray[np.int64], leader_epoch: NDArray[np.int32], is_empty: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return at which offsets an entry is stored that n records which hold nothing now do not say: bool[n].

        It is of a log that was cut, for its last record had an earlier leader; or an empty record was a line of an event.
        """
        at = np.searchsorted(self._begins, offset, side="right") - 1
        spanned = np.flatnonzero(at >= 0)
        spanned = spanned[offset[spanned] < self._ends[at[spanned]]]
        at = at[spanned]
        leader = self._last_leader_epoch[at]
        is_cut = (leader != NO_LEADER_EPOCH) & (leader < leader_epoch[spanned])
        other = np.zeros(len(offset), np.bool_)
        other[spanned] = is_cut | is_empty[spanned] & (self._ends[at] - self._begins[at] > 1)
        return other

    def _touching(self, first_offset: NDArray[np.int64], end_offset: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each range of offsets how many entries span one of them; of those that span several records, no two overlap."""
        return np.searchsorted(self._begins, end_offset) - np.searchsorted(self._ends, first_offset, side="right")

    def _keys_of(self, offset: NDArray[np.int64], sub: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return one number for each offset and sub; -1 for those that are not held here."""
        is_inside = (offset >= self.first_offset) & (offset < self.end_offset) & (sub >> _SUB_BITS == 0)
        return np.where(is_inside, np.where(is_inside, offset - self.first_offset, 0) << _SUB_BITS | sub, -1)


def entry_begins(lines: Lines) -> NDArray[np.int64]:
    """Return the first row of each entry: int64[m]. The lines of an entry are neighbours."""
    is_begin = np.ones(lines.size, np.bool_)
    is_begin[1:] = (lines.offset[1:] != lines.offset[:-1]) | (lines.sub[1:] != lines.sub[:-1])
    return np.flatnonzero(is_begin)


def hash_entries(lines: Lines, is_thin: NDArray[np.bool_] | None = None) -> EntryHashes:
    """Return 64 bits of BLAKE2b over everything that is stored of each of m entries but its templates.

    Of those that `is_thin`, bool[m], is true of, texts and fields are left out and templates count; None: of those without texts. The lines
    of an entry are neighbours, in the order of their chunks. This is done line by line, for lines of which an entry is stored.
    """
    begins = entry_begins(lines)
    if is_thin is None:
        is_thin = text_bytes(lines.text)[begins] == 0
    sizes = np.diff(begins, append=lines.size)
    thin_lines = np.repeat(is_thin, sizes)
    packed = [
        b"".join((_NUMBERS.pack(*numbers, len(text), len(service), len(level)), text, service, level, fields))
        for *numbers, text, service, level, fields in zip(
            lines.chunk.tolist(),
            lines.chunks.tolist(),
            lines.time.tolist(),
            lines.kafka_time.tolist(),
            lines.leader_epoch.tolist(),
            lines.last_leader_epoch.tolist(),
            lines.records.tolist(),
            lines.cut.tolist(),
            _texts_or_templates(lines, thin_lines),
            _encoded(lines.service),
            _encoded(lines.level),
            _sized_fields(lines, thin_lines),
            strict=True,
        )
    ]
    ends = [*begins[1:].tolist(), lines.size]
    hashed = [_hash(packed[begin:end]) for begin, end in zip(begins.tolist(), ends, strict=True)] if len(begins) else []
    every = np.ones(len(begins), np.bool_)
    numbers = lines.records[begins], lines.last_leader_epoch[begins]
    return EntryHashes(lines.offset[begins], lines.sub[begins], np.array(hashed, np.uint64), is_thin, *numbers, every)


def hash_stored(stored: Sequence[Line], template_texts: Collection[TemplateText]) -> EntryHashes:
    """Return the hashes of entries; `template_texts` are those whose rows are there.

    `stored` are in the order of offset, sub and chunk.
    """
    lines = lines_of(stored)
    known = np.fromiter((text in template_texts for text in lines.template.values), np.bool_, len(lines.template.values))
    begins = entry_begins(lines)
    is_known = np.logical_and.reduceat(known[lines.template.codes], begins) if len(begins) else np.empty(0, np.bool_)
    return hash_entries(lines)._replace(is_known=is_known)


_NOTHING = EntryHashes(
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.empty(0, np.uint64),
    np.empty(0, np.bool_),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.bool_),
)


def _texts_or_templates(lines: Lines, is_thin: NDArray[np.bool_]) -> list[bytes]:
    texts = [(text or "").encode() for text in as_optional_texts(lines.text)]
    templates = lines.template.values
    for row in np.flatnonzero(is_thin).tolist():
        texts[row] = b"\0" + templates[lines.template.codes[row]].encode("utf-8", "replace")
    return texts


def _sized_fields(lines: Lines, is_thin: NDArray[np.bool_]) -> list[bytes]:
    fields = [b"-" if one is None else _sized(one.encode()) for one in as_optional_texts(lines.fields)]
    for row in np.flatnonzero(is_thin).tolist():
        fields[row] = b"-"
    return fields


def _hash(parts: Sequence[bytes]) -> int:
    return int.from_bytes(hashlib.blake2b(b"".join(parts), digest_size=8).digest(), "little")


def _sized(fields: bytes) -> bytes:
    return b"+" + len(fields).to_bytes(4, "little") + fields


def _encoded(column: CodedColumn[str]) -> list[bytes]:
    values = [value.encode("utf-8", "replace") for value in column.values]
    return [values[code] for code in column.codes.tolist()]

"""Which log entries a stretch of offsets of one partition holds, and what is stored of them: 16 bytes for each entry.

`worker.indexing.resume` fills it from the index and asks it entry by entry. An entry is held only with everything that is stored of it:
two entries with the same hash are equal in all their chunks, texts, times, labels and fields. Templates do not count: the same line has
another template under other masks.
"""

import hashlib
import struct
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

import numpy as np

from sinks.line import Line

MOST_OFFSETS = 1 << 40
"""How long a stretch may be, so that offset and sub fit into one number."""
_SUB_BITS = 20
_NUMBERS = struct.Struct("<5qQ3I")


class StoredEntries:
    """Knows the entries of first_offset ≤ offset < end_offset.

    Thread: one.
    """

    def __init__(self, first_offset: int, end_offset: int, hashes: Iterable[tuple[int, int, int]]) -> None:
        """`hashes` are offset, sub and `entry_hash` of each entry, in any order."""
        self.first_offset = first_offset
        self.end_offset = end_offset
        rows = [(self._key(offset, sub), hashed) for offset, sub, hashed in hashes if sub >> _SUB_BITS == 0]
        rows.sort()
        self._keys = np.array([key for key, _ in rows], np.int64)
        self._hashes = np.array([hashed for _, hashed in rows], np.uint64)

    def __len__(self) -> int:
        return len(self._keys)

    def holds(self, lines: Sequence[Line]) -> bool:
        """Whether exactly these lines, all of one entry, are stored."""
        offset, sub = lines[0].offset, lines[0].sub
        if not self.first_offset <= offset < self.end_offset or sub >> _SUB_BITS:
            return False
        key = self._key(offset, sub)
        row = int(np.searchsorted(self._keys, key))
        return row < len(self._keys) and int(self._keys[row]) == key and int(self._hashes[row]) == entry_hash(lines)

    def _key(self, offset: int, sub: int) -> int:
        return (offset - self.first_offset) << _SUB_BITS | sub


def entry_hash(lines: Sequence[Line]) -> int:
    """Return 64 bits of BLAKE2b over everything that is stored of one entry but its templates: its lines, in the order of their chunks."""
    hasher = hashlib.blake2b(digest_size=8)
    for line in lines:
        fields = None if line.fields is None else line.fields.encode("utf-8", "replace")
        texts = [text.encode("utf-8", "replace") for text in (line.text, line.service, line.level)]
        hasher.update(
            _NUMBERS.pack(
                line.chunk, line.chunks, line.time, line.kafka_time, line.records, line.cut, len(texts[0]), len(texts[1]), len(texts[2])
            )
        )
        for text in texts:
            hasher.update(text)
        hasher.update(b"-" if fields is None else b"+" + len(fields).to_bytes(4, "little") + fields)
    return int.from_bytes(hasher.digest(), "little")


def hash_entries(lines: Iterable[Line], template_texts: Collection[str]) -> list[tuple[int, int, int]]:
    """Return offset, sub and hash of each entry, all of whose templates are among `template_texts`.

    `lines` are in the order of offset, sub and chunk.
    """
    hashes: list[tuple[int, int, int]] = []
    for (offset, sub), chunks in groupby(lines, key=lambda line: (line.offset, line.sub)):
        entry = list(chunks)
        if all(line.template_text in template_texts for line in entry):
            hashes.append((offset, sub, entry_hash(entry)))
    return hashes

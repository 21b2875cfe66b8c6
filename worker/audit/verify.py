"""Walks ranges of topics in windows of bounded size: what is owed, what is stored, what was buried; and mends it, if it may.

`vectail verify` calls it with the records that Kafka gives. A window that was mended is read and compared again at once: only what is
then as it should be counts as repaired. Of what is found, counts are kept, and the first findings of each kind.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from consumers.record import Record
from sinks.sink import Sink, StoredLines
from worker.audit.compare import Comparison, Finding, Kind, PartitionPlace, WindowComparison, doubled
from worker.audit.expected import Expected, ExpectedRows
from worker.audit.repair import BusyRetry, Repairer


class ReadBounds(NamedTuple):
    """What is held at once, and kept.

    Thread: any.
    """

    window_records: int = 2_000
    """As many as prepare takes at once: masks compile their patterns for every list."""
    window_bytes: int = 4 * 1024 * 1024
    present_templates: int = 200_000
    """Templates that are remembered as stored; when there are more, they are asked for again."""
    single_doubles: int = 64
    """Of more rows too many in a window, the offsets are told together."""
    told: int = 1_000
    """Findings of each kind that are kept."""


_BOUNDS = ReadBounds()


class OffsetWindow(NamedTuple):
    """Offsets of one partition.

    Thread: any.
    """

    place: PartitionPlace
    first_offset: int
    end_offset: int


class ReportedFinding(NamedTuple):
    """A finding with its place.

    Thread: any.
    """

    place: PartitionPlace
    finding: Finding
    repaired: bool


@dataclass(slots=True)
class VerifyReport:
    """What was seen so far.

    Thread: one.
    """

    records: int = 0
    rows: int = 0
    """Stored, of any epoch."""
    sound_rows: int = 0
    dead_lettered_pieces: int = 0
    expired_pieces: int = 0
    other_epoch_rows: int = 0
    other_masks_rows: int = 0
    compacted_rows: int = 0
    problems: Counter[Kind] = field(default_factory=Counter)
    """Found, before anything was mended."""
    left: Counter[Kind] = field(default_factory=Counter)
    """Still there."""
    told: dict[Kind, list[ReportedFinding]] = field(default_factory=dict)
    """The first of each kind."""

    @property
    def is_complete(self) -> bool:
        """Whether every record is accounted for now."""
        return not self.left.total()

    def note(self, seen: Comparison) -> None:
        """Count what is no problem; of a mended window only what it holds at last."""
        self.rows += seen.rows
        self.sound_rows += seen.sound_rows
        self.dead_lettered_pieces += seen.dead_lettered_pieces
        self.expired_pieces += seen.expired_pieces
        self.other_epoch_rows += seen.other_epoch_rows
        self.other_masks_rows += seen.other_masks_rows
        self.compacted_rows += seen.compacted_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """How what is found is mended.

    Thread: one.
    """

    mender: Repairer
    write_dead_letters: Callable[[Sequence[Expected]], None]
    """Writes dead letters, waits until they are there, and notes them in the graves that the scales look into."""

    def make(self, findings: Sequence[Finding], records: Mapping[int, Record]) -> None:
        """Mend all of them, as far as it goes; `records` is by offset. Raises what the mender raises."""
        for finding in findings:
            self.mender.rewrite(finding.rewrite)
        self.mender.remove([finding.remove for finding in findings if finding.remove])
        pieces = [piece for one in findings if one.kind != "template" for piece in one.pieces]
        only_templates = [piece for one in findings if one.kind == "template" for piece in one.pieces]
        refused = [*self.mender.mend(pieces).refused, *self.mender.mend_templates(only_templates).refused]
        letters = {one.dead_letter.record.offset: one.dead_letter for one in findings if one.dead_letter is not None}
        for row, reason in refused:
            debt = letters.get(row.offset, Expected(records[row.offset], ()))
            letters[row.offset] = debt._replace(rejects=(*debt.rejects, (row.sub, row.chunk, reason)))
        if letters:
            self.write_dead_letters(list(letters.values()))


class Verifier:
    """Every offset of a stretch is looked at once, with or without a record.

    Thread: one.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        maker: ExpectedRows,
        patience: BusyRetry,
        repairs: Repairs | None = None,
        bounds: ReadBounds = _BOUNDS,
        show: Callable[[VerifyReport], None] = lambda _account: None,
    ) -> None:
        """Without `repairs` nothing is changed; `show` is called after each window."""
        self._sink = sink
        self._maker = maker
        self._patience = patience
        self._repairs = repairs
        self._bounds = bounds
        self._show = show
        self._present: set[str] = set()
        self.account = VerifyReport()

    def walk(self, scales: WindowComparison, stretch: OffsetWindow, lists: Iterable[Sequence[Record]]) -> None:
        """Verify a stretch; `lists` are all of its records, in order. Raises what the sink and the mender raise, and what `lists` does."""
        for window, records in _windows(stretch, lists, self._bounds):
            owed = self._maker.owed(records)
            found = seen = self._look(scales, window, owed)
            if found.findings and self._repairs is not None:
                self._repairs.make(found.findings, {record.offset: record for record in records})
                seen = self._look(scales, window, owed)
            self.account.records += len(records)
            self.account.note(seen)
            self._tell(window.place, found.findings, seen.findings)
            self._show(self.account)

    def _look(self, scales: WindowComparison, window: OffsetWindow, owed: Sequence[Expected]) -> Comparison:
        stored = self._stored(window)
        seen = scales.weigh(owed, stored.rows, self._absent({row.template for row in stored.rows}))
        seen.findings += self._doubles(window, stored)
        seen.rows = len(stored.rows)
        return seen

    def _stored(self, window: OffsetWindow) -> StoredLines:
        (topic, _, partition), first_offset, end_offset = window
        return self._patience.call(partial(self._sink.lines_between, topic, partition, first_offset, end_offset))

    def _absent(self, digests: set[str]) -> set[str]:
        """Return those templates that are not stored."""
        unknown = digests - self._present
        if not unknown:
            return set()
        stored = self._patience.call(partial(self._sink.stored_templates, unknown))
        if len(self._present) > self._bounds.present_templates:
            self._present.clear()
        self._present |= stored
        return unknown - stored

    def _doubles(self, window: OffsetWindow, stored: StoredLines) -> Iterator[Finding]:
        """Find the offsets where more rows are counted than there are ids."""
        excess = stored.counted - len(stored.rows)
        if excess <= 0:
            return
        offsets = sorted(row.offset for row in stored.rows)
        if not offsets or offsets[0] == offsets[-1] or excess > self._bounds.single_doubles:
            yield doubled(stored)
            return
        middle = offsets[len(offsets) // 2]
        middle = middle if middle > offsets[0] else middle + 1
        for part in (window._replace(end_offset=middle), window._replace(first_offset=middle)):
            yield from self._doubles(part, self._stored(part))

    def _tell(self, place: PartitionPlace, found: Sequence[Finding], left: Sequence[Finding]) -> None:
        """Count findings, and keep the first of each kind: those that were there at first, and those that mending brought to light."""
        remaining = {_key(finding) for finding in left}
        first = {_key(finding) for finding in found}
        for finding in (*found, *(finding for finding in left if _key(finding) not in first)):
            self.account.problems[finding.kind] += finding.number
            told = self.account.told.setdefault(finding.kind, [])
            if len(told) < self._bounds.told:
                told.append(
                    ReportedFinding(
                        place, finding._replace(pieces=(), rewrite=(), dead_letter=None), repaired=_key(finding) not in remaining
                    )
                )
        for finding in left:
            self.account.left[finding.kind] += finding.number


def _key(finding: Finding) -> tuple[object, ...]:
    return finding[:5]


def _windows(stretch: OffsetWindow, lists: Iterable[Sequence[Record]], bounds: ReadBounds) -> Iterator[tuple[OffsetWindow, list[Record]]]:
    """Cut a stretch so that each window holds a bounded number of records and bytes; the last one reaches to the end of the stretch."""
    first_offset = stretch.first_offset
    records: list[Record] = []
    size_bytes = 0
    for record in (record for some in lists for record in some):
        if len(records) >= bounds.window_records or size_bytes >= bounds.window_bytes:
            yield stretch._replace(first_offset=first_offset, end_offset=record.offset), records
            first_offset, records, size_bytes = record.offset, [], 0
        records.append(record)
        size_bytes += len(record.value or b"")
    if first_offset < stretch.end_offset:
        yield stretch._replace(first_offset=first_offset), records

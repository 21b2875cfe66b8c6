"""Verifies a range of offsets in windows of bounded size: compares the expected rows, the stored rows and the dead letters.

`vectail verify` calls it with the records that Kafka gives, and with `--repair` it repairs what it finds. A repaired window is read and
compared again at once: only what is right then counts as repaired. It keeps counts, and the first findings of each kind.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from consumers.record import Record
from consumers.rejection import RejectedPiece
from sinks.sink import Sink, StoredLines
from worker.audit.compare import ComparedWindow, Finding, FindingKind, PartitionPlace, RowCounts, WindowComparer, duplicate_rows
from worker.audit.expected import Expected, ExpectedRows
from worker.audit.repair import BusyRetry, Repairer


class ReadBounds(NamedTuple):
    """Bounds of what is held at once."""

    window_records: int = 2_000
    """As many as prepare takes at once: masks compile their patterns for every list of lines."""
    window_bytes: int = 4 * 1024 * 1024
    present_templates: int = 200_000
    """Templates that are remembered as stored; beyond that, they are forgotten and asked for again."""
    located_duplicates: int = 64
    """If a window holds more duplicate rows than this, one finding reports them all."""
    reported_findings: int = 1_000
    """Findings of each kind that are kept for the report."""


_BOUNDS = ReadBounds()


class OffsetWindow(NamedTuple):
    """Offsets of one partition: from `first_offset` up to, but not including, `end_offset`."""

    place: PartitionPlace
    first_offset: int
    end_offset: int


class ReportedFinding(NamedTuple):
    """A finding with its partition."""

    place: PartitionPlace
    finding: Finding
    repaired: bool


@dataclass(slots=True)
class VerifyReport:
    """What was verified so far; only grows.

    Thread: one.
    """

    records: int = 0
    counts: RowCounts = field(default_factory=RowCounts)
    """Of a repaired window, only what it holds after the repair."""
    problems: Counter[FindingKind] = field(default_factory=Counter)
    """Found before the repair."""
    left: Counter[FindingKind] = field(default_factory=Counter)
    """Still there."""
    reported: dict[FindingKind, list[ReportedFinding]] = field(default_factory=dict)
    """The first of each kind."""

    @property
    def is_complete(self) -> bool:
        """Whether no problem is left."""
        return not self.left.total()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRepairer:
    """Repairs the findings of a window."""

    repairer: Repairer
    write_dead_letters: Callable[[Sequence[Expected]], None]
    """Writes dead letters and waits until they are delivered; the comparer of the window must see them afterwards."""

    def repair_findings(self, findings: Sequence[Finding], records: Mapping[int, Record]) -> None:
        """Repair what can be repaired; `records` is by offset. Raises what the repairer and `write_dead_letters` raise."""
        for finding in findings:
            self.repairer.rewrite_rows(finding.rewrite)
        self.repairer.remove_rows([finding.remove for finding in findings if finding.remove])
        pieces = [piece for one in findings if one.kind != "template" for piece in one.pieces]
        only_templates = [piece for one in findings if one.kind == "template" for piece in one.pieces]
        rejected = [*self.repairer.repair_rows(pieces).rejected, *self.repairer.repair_templates(only_templates).rejected]
        letters = {one.dead_letter.record.offset: one.dead_letter for one in findings if one.dead_letter is not None}
        for row, rejection in rejected:
            letter = letters.get(row.offset, Expected(records[row.offset], ()))
            letters[row.offset] = letter._replace(rejects=(*letter.rejects, RejectedPiece(row.sub, row.chunk, rejection)))
        if letters:
            self.write_dead_letters(list(letters.values()))


class Verifier:
    """Looks at every offset of a range once, with or without a record.

    Thread: one.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        expected_rows: ExpectedRows,
        busy_retry: BusyRetry,
        finding_repairer: FindingRepairer | None = None,
        bounds: ReadBounds = _BOUNDS,
        show: Callable[[VerifyReport], None] = lambda _report: None,
    ) -> None:
        """Without `finding_repairer` nothing is changed; `show` is called after each window."""
        self._sink = sink
        self._expected_rows = expected_rows
        self._busy_retry = busy_retry
        self._finding_repairer = finding_repairer
        self._bounds = bounds
        self._show = show
        self._present: set[str] = set()
        self.report = VerifyReport()

    def verify_range(self, comparer: WindowComparer, whole: OffsetWindow, lists: Iterable[Sequence[Record]]) -> None:
        """Verify a range; `lists` are all of its records, in order. Raises what the sink, the repairer and `lists` raise."""
        for window, records in _windows(whole, lists, self._bounds):
            expected = self._expected_rows.compute_expected(records)
            before = after = self._compare(comparer, window, expected)
            if before.findings and self._finding_repairer is not None:
                self._finding_repairer.repair_findings(before.findings, {record.offset: record for record in records})
                after = self._compare(comparer, window, expected)
            self.report.records += len(records)
            self.report.counts.add_counts(after.counts)
            self._report_findings(window.place, before.findings, after.findings)
            self._show(self.report)

    def _compare(self, comparer: WindowComparer, window: OffsetWindow, expected: Sequence[Expected]) -> ComparedWindow:
        stored = self._stored_lines(window)
        compared = comparer.compare_window(expected, stored.rows, self._absent_templates({row.template for row in stored.rows}))
        compared.findings += self._find_duplicates(window, stored)
        compared.counts.rows = len(stored.rows)
        return compared

    def _stored_lines(self, window: OffsetWindow) -> StoredLines:
        (topic, _, partition), first_offset, end_offset = window
        return self._busy_retry.call(partial(self._sink.lines_between, topic, partition, first_offset, end_offset))

    def _absent_templates(self, digests: set[str]) -> set[str]:
        """Return the templates that are not stored."""
        unknown = digests - self._present
        if not unknown:
            return set()
        stored = self._busy_retry.call(partial(self._sink.stored_templates, unknown))
        if len(self._present) > self._bounds.present_templates:
            self._present.clear()
        self._present |= stored
        return unknown - stored

    def _find_duplicates(self, window: OffsetWindow, stored: StoredLines) -> Iterator[Finding]:
        """Find the offsets with more rows than ids, by halving the window."""
        excess = stored.counted - len(stored.rows)
        if excess <= 0:
            return
        offsets = sorted(row.offset for row in stored.rows)
        if not offsets or offsets[0] == offsets[-1] or excess > self._bounds.located_duplicates:
            yield duplicate_rows(stored)
            return
        middle = offsets[len(offsets) // 2]
        middle = middle if middle > offsets[0] else middle + 1
        for part in (window._replace(end_offset=middle), window._replace(first_offset=middle)):
            yield from self._find_duplicates(part, self._stored_lines(part))

    def _report_findings(self, place: PartitionPlace, before: Sequence[Finding], after: Sequence[Finding]) -> None:
        """Count the findings before and after the repair, and keep the first of each kind; a repair may bring new ones to light."""
        keys_before = {_key(finding) for finding in before}
        keys_after = {_key(finding) for finding in after}
        for finding in (*before, *(finding for finding in after if _key(finding) not in keys_before)):
            self.report.problems[finding.kind] += finding.number
            reported = self.report.reported.setdefault(finding.kind, [])
            if len(reported) < self._bounds.reported_findings:
                small = finding._replace(pieces=(), rewrite=(), dead_letter=None)
                reported.append(ReportedFinding(place, small, repaired=_key(finding) not in keys_after))
        for finding in after:
            self.report.left[finding.kind] += finding.number


def _key(finding: Finding) -> tuple[object, ...]:
    return finding[:5]


def _windows(whole: OffsetWindow, lists: Iterable[Sequence[Record]], bounds: ReadBounds) -> Iterator[tuple[OffsetWindow, list[Record]]]:
    """Cut a range into windows with a bounded number of records and bytes; the last one reaches to the end of the range."""
    first_offset = whole.first_offset
    records: list[Record] = []
    size_bytes = 0
    for record in (record for some in lists for record in some):
        if len(records) >= bounds.window_records or size_bytes >= bounds.window_bytes:
            yield whole._replace(first_offset=first_offset, end_offset=record.offset), records
            first_offset, records, size_bytes = record.offset, [], 0
        records.append(record)
        size_bytes += len(record.value or b"")
    if first_offset < whole.end_offset:
        yield whole._replace(first_offset=first_offset), records

"""Verifies a range of offsets in windows of bounded size: compares the expected lines, the stored blocks and the dead letters.

`vectail verify` calls it with a reader of Kafka's records, and with `--repair` it repairs what it finds. A repaired window is read and
compared again at once: only what is right then counts as repaired. `look_again` does so once more when a worker that merges from memory
has had the time to bring removed lines back. It keeps counts, and the first findings of each kind.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from consumers.record import Record
from sinks.block import BlockPlace
from sinks.row import TemplateText, template_id
from sinks.sink import Sink
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.expected import Expected, ExpectedLines
from worker.inspecting.stored_blocks import StoredBlock, StoredWindow, read_window
from worker.inspecting.window_comparer import ComparedWindow, Finding, FindingKind, LineCounts, WindowComparer
from worker.inspecting.window_repair import WindowRepairer, staying_entries


class ReadBounds(NamedTuple):
    """Bounds of what is held at once, and of how often a repaired window is looked at."""

    window_records: int = 2_000
    """As many as prepare takes at once: masks compile their patterns for every list of lines."""
    window_bytes: int = 4 * 1024 * 1024
    """Of values, after decompression."""
    present_templates: int = 200_000
    """Templates that are remembered as stored; beyond that, they are forgotten and asked for again."""
    reported_findings: int = 1_000
    """Findings of each kind that are kept for the report."""
    look_again_s: float = 20.0
    """When a repaired window is looked at again: no merge that was under way takes longer."""
    most_looks: int = 3
    """How often, at most."""


_BOUNDS = ReadBounds()


class OffsetWindow(NamedTuple):
    """Offsets of one partition: from `first_offset` up to, but not including, `end_offset`."""

    place: BlockPlace
    first_offset: int
    end_offset: int

    @property
    def offsets(self) -> range:
        """The offsets."""
        return range(self.first_offset, self.end_offset)


ReadRecords = Callable[[OffsetWindow], Iterable[Sequence[Record]]]
"""Returns all records of a window, in order, in lists."""


class ReportedFinding(NamedTuple):
    """A finding with its partition."""

    place: BlockPlace
    finding: Finding
    repaired: bool


@dataclass(slots=True)
class VerifyReport:
    """What was verified so far; only grows.

    Thread: one.
    """

    records: int = 0
    counts: LineCounts = field(default_factory=LineCounts)
    """Of a repaired window, only what it holds after the repair."""
    problems: Counter[FindingKind] = field(default_factory=Counter)
    """Found before the repair, and those that came back after it."""
    left: Counter[FindingKind] = field(default_factory=Counter)
    """Still there."""
    reported: dict[FindingKind, list[ReportedFinding]] = field(default_factory=dict)
    """The first of each kind."""

    @property
    def is_complete(self) -> bool:
        """Whether no problem is left."""
        return not self.left.total()


class _Range(NamedTuple):
    """What is verified, and how its records are read."""

    comparer: WindowComparer
    whole: OffsetWindow
    read_records: ReadRecords


class _Repaired(NamedTuple):
    """A window in which a repair changed something, and what it left."""

    of: _Range
    window: OffsetWindow
    left: Sequence[Finding]


class Verifier:
    """Looks at every offset of a range once, with or without a record; at those of repaired windows again.

    Thread: one.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        expected_lines: ExpectedLines,
        busy_retry: BusyRetry,
        window_repairer: WindowRepairer | None = None,
        bounds: ReadBounds = _BOUNDS,
        show: Callable[[VerifyReport], None] = lambda _report: None,
    ) -> None:
        """Without `window_repairer` nothing is changed; `show` is called after each window."""
        self._sink = sink
        self._expected_lines = expected_lines
        self._busy_retry = busy_retry
        self._window_repairer = window_repairer
        self._bounds = bounds
        self._show = show
        self._present: set[TemplateText] = set()
        self._repaired: list[_Repaired] = []
        self._repaired_s = 0.0
        """When the last repair ended."""
        self.report = VerifyReport()

    def verify_range(self, comparer: WindowComparer, whole: OffsetWindow, read_records: ReadRecords) -> None:
        """Verify a range. Raises what the sink, the repairer and `read_records` raise."""
        whole = whole._replace(first_offset=self._after_event(whole))
        of = _Range(comparer, whole, read_records)
        for window, records in _windows(whole, read_records(whole), self._bounds, self._expected_lines):
            before, after = self._verify_window(of, window, records)
            self.report.records += len(records)
            self.report.counts.add_counts(after.counts)
            self._report_findings(window.place, before.findings, after.findings)
            self._show(self.report)

    def _after_event(self, whole: OffsetWindow) -> int:
        """Return where a range begins, or behind the stored event of several records within which it begins."""
        place, first_offset, end_offset = whole
        before = range(max(first_offset - self._expected_lines.most_records(place.topic) + 1, 0), first_offset)
        if not before:
            return first_offset
        stored = read_window(self._sink, self._busy_retry, place.topic, place.partition, before)
        ends = [line.offset + line.records for line in stored.lines if line.epoch == place.epoch]
        return min(max([*ends, first_offset]), end_offset)

    def look_again(self) -> None:
        """Look at the repaired windows again, and repair what came back; ends early when the user wants to stop."""
        for _ in range(self._bounds.most_looks):
            again, self._repaired = self._repaired, []
            wait_s = self._repaired_s + self._bounds.look_again_s - self._busy_retry.clock()
            if not again or (wait_s > 0 and self._busy_retry.pause(wait_s)):
                return
            for of, window, left in again:
                records = [record for some in of.read_records(window) for record in some]
                before, after = self._verify_window(of, window, records)
                for finding in left:
                    self.report.left[finding.kind] -= finding.number
                known = {_key(finding) for finding in left}
                self._report_findings(window.place, before.findings, after.findings, known)
                self._show(self.report)

    def _verify_window(self, of: _Range, window: OffsetWindow, records: Sequence[Record]) -> tuple[ComparedWindow, ComparedWindow]:
        """Compare a window, and repair it; return what was there before and after."""
        expected = self._expected_lines.compute_expected(records)
        stored, before = self._compare(of, window, expected)
        if not before.findings or self._window_repairer is None:
            return before, before
        by_offset = {record.offset: record for record in records}
        changed = self._window_repairer.repair_window(window.place, window.offsets, stored, before.findings, by_offset)
        _, after = self._compare(of, window, expected)
        if changed:
            self._repaired.append(_Repaired(of, window, [_small(finding) for finding in after.findings]))
            self._repaired_s = self._busy_retry.clock()
        return before, after

    def _compare(self, of: _Range, window: OffsetWindow, expected: Sequence[Expected]) -> tuple[StoredWindow, ComparedWindow]:
        stored = read_window(self._sink, self._busy_retry, window.place.topic, window.place.partition, window.offsets)
        absent = self._absent_templates({line.template_text for line in stored.lines})
        compared = of.comparer.compare_window(expected, stored.lines, absent)
        compared.findings += _stale_copies(window, stored)
        compared.findings += _damaged_blocks(of.whole, window, stored.blocks)
        compared.counts.copies = stored.copies
        compared.counts.by_masks = _lines_by_masks(window, stored.blocks)
        return stored, compared

    def _absent_templates(self, texts: set[TemplateText]) -> set[TemplateText]:
        """Return the texts of the templates that are not stored."""
        unknown = {template_id(text): text for text in texts - self._present}
        if not unknown:
            return set()
        stored = self._busy_retry.call(partial(self._sink.templates.stored, unknown.keys()))
        if len(self._present) > self._bounds.present_templates:
            self._present.clear()
        self._present.update(unknown[template] for template in stored)
        return {text for template, text in unknown.items() if template not in stored}

    def _report_findings(
        self, place: BlockPlace, before: Sequence[Finding], after: Sequence[Finding], known: Iterable[tuple[object, ...]] = ()
    ) -> None:
        """Count the findings before and after the repair, and keep the first of each kind; a repair may bring new ones to light.

        `known` are the keys of findings that were reported before.
        """
        keys_before = {_key(finding) for finding in before}
        keys_after = {_key(finding) for finding in after}
        new = [finding for finding in (*before, *(one for one in after if _key(one) not in keys_before)) if _key(finding) not in known]
        for finding in new:
            self.report.problems[finding.kind] += finding.number
            reported = self.report.reported.setdefault(finding.kind, [])
            if len(reported) < self._bounds.reported_findings:
                reported.append(ReportedFinding(place, _small(finding), repaired=_key(finding) not in keys_after))
        for finding in after:
            self.report.left[finding.kind] += finding.number


def _lines_by_masks(window: OffsetWindow, blocks: Iterable[StoredBlock]) -> Counter[str]:
    """Count the window's lines by the version of the masks that their block names; without the copies that readers leave out."""
    lines: Counter[str] = Counter()
    for block in blocks:
        if number := sum(holds and line.offset in window.offsets for line, holds in zip(block.lines, block.holds, strict=True)):
            lines[block.masks] += number
    return lines


def _stale_copies(window: OffsetWindow, stored: StoredWindow) -> Iterator[Finding]:
    """Report copies that differ from the one that holds: a search by their template, or by their words, finds them too."""
    if not stored.copies:
        return
    staying = staying_entries(stored, ())
    for block in stored.blocks:
        stale = [line for line in block.lines if line.offset in window.offsets and not staying.is_right(line)]
        if stale:
            first, number = stale[0], len(stale)
            detail = (
                "an older copy differs from the one that holds" if number == 1 else f"{number} older copies differ from those that hold"
            )
            yield Finding("left_over", first.offset, first.sub, first.chunk, str(block.id), detail, number=number)


def _damaged_blocks(whole: OffsetWindow, window: OffsetWindow, blocks: Iterable[StoredBlock]) -> Iterator[Finding]:
    """Report damaged blocks, each in the first window that it overlaps."""
    for block in blocks:
        if not block.fault or not (block.first_offset in window.offsets or window.first_offset == whole.first_offset):
            continue
        is_inside = block.id.place == whole.place and block.first_offset in whole.offsets and block.last_offset in whole.offsets
        if block.is_readable:
            yield Finding("damaged", block.first_offset, None, None, str(block.id), block.fault)
        elif is_inside:
            yield Finding("damaged", block.first_offset, None, None, str(block.id), block.fault, block=block.id)
        else:
            unsure = "; not all of its records were verified, so --repair leaves it"
            yield Finding("damaged", block.first_offset, None, None, str(block.id), f"{block.fault}{unsure}")


def _key(finding: Finding) -> tuple[object, ...]:
    return finding[:5]


def _small(finding: Finding) -> Finding:
    """Return a finding without the lines that it would write."""
    return finding._replace(write=(), templates=(), dead_letter=None)


def _windows(
    whole: OffsetWindow, lists: Iterable[Sequence[Record]], bounds: ReadBounds, expected_lines: ExpectedLines
) -> Iterator[tuple[OffsetWindow, list[Record]]]:
    """Cut a range into windows with a bounded number of records and bytes; the last one reaches to the end of the range.

    The records of an event are in one window. Bytes are those after decompression: few records may hold gigabytes.
    """
    first_offset = whole.first_offset
    records: list[Record] = []
    size_bytes = 0
    most_records, most_bytes = bounds.window_records, bounds.window_bytes
    for record in (record for some in lists for record in some):
        if len(records) >= most_records or size_bytes >= most_bytes:
            ended = expected_lines.events_end([*records, record])
            done, records = records[:ended], records[ended:]
            if done:
                end_offset = (records or [record])[0].offset
                yield whole._replace(first_offset=first_offset, end_offset=end_offset), done
                first_offset, size_bytes = end_offset, sum(map(expected_lines.content_bytes, records))
                most_records, most_bytes = bounds.window_records, bounds.window_bytes
            else:  # an event longer than a window
                most_records, most_bytes = 2 * most_records, 2 * most_bytes
        records.append(record)
        size_bytes += expected_lines.content_bytes(record)
    if first_offset < whole.end_offset:
        yield whole._replace(first_offset=first_offset), records

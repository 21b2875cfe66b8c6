"""Compares the expected lines of one window of offsets with the lines that readers get and with the dead letters.

`worker.inspecting.verify` reads both sides; `worker.inspecting.stored_blocks` checks the blocks themselves.

1. Lines are matched by offset, entry and chunk. An unexpected line of the same epoch is "left over" if its record has the same entry
   (other chunks, other settings); it is "foreign" if there is no such record or entry.
2. A line of another epoch belongs to an earlier topic of the same name. Its records are gone, so it is counted and left alone.
3. A missing line is not reported if a dead letter of these very bytes is there, or if its record is older than the retention.
4. A line whose template differs from what the current masks produce was written with others: masks may change at any time, and old
   lines stay searchable. If that template is stored, the line is counted and left alone.
5. A line without text was sampled (`worker.indexing.sampling`): everything else of it must be as expected.
6. A line of a record whose time Kafka cannot have (`consumers.decode.kafka_times`) has the time when a worker read it: any will do.
7. A line that today's rules drop may be stored, from before the rule, or not; either is counted and left alone.
8. On a compacted topic a line without a record may be legitimate: the record was there once. It is counted and left alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

from consumers.decode.kafka_times import is_far
from sinks.block import BlockId, BlockPlace
from sinks.line import Line
from worker.inspecting.dead_letter_index import Excused, ExcusedRecords, key_of
from worker.inspecting.expected import Expected

FindingKind = Literal["gap", "missing", "changed", "template", "left_over", "foreign", "damaged"]
FINDING_KINDS: tuple[FindingKind, ...] = ("gap", "missing", "changed", "template", "left_over", "foreign", "damaged")
"""`gap`: a whole record is missing. `missing`: a part of one. `changed`: a stored line differs. `template`: a template's row is missing.
`left_over`: rule 1, and copies that differ from the one that holds. `foreign`: rules 1 and 8. `damaged`: a block that cannot be read, or
whose columns for searching and counting do not fit its lines."""


class Finding(NamedTuple):
    """One problem, and its repair."""

    kind: FindingKind
    offset: int
    sub: int | None
    chunk: int | None
    id: str
    """Of the line, or of the block; empty for a whole record."""
    detail: str
    write: tuple[Line, ...] = ()
    """A whole record to be stored, without what its dead letter has: readers decide by record."""
    templates: tuple[Line, ...] = ()
    """Lines whose templates are to be stored."""
    is_surplus: bool = False
    """Whether the line is to be removed."""
    block: BlockId | None = None
    """To be removed: it cannot be read."""
    dead_letter: Expected | None = None
    """A record whose dead letter is missing."""
    number: int = 1
    """How many problems of this kind it stands for."""


@dataclass(slots=True)
class LineCounts:
    """Counts of lines; a chunk of a long line counts as a line. None of them is a problem.

    Thread: one.
    """

    lines: int = 0
    """Stored, of any epoch, copies not counted."""
    sound_lines: int = 0
    """Lines that are exactly as expected."""
    copies: int = 0
    """Left out by readers, because another copy of the entry holds."""
    dead_lettered_pieces: int = 0
    """Expected, and in a dead letter instead; a whole record counts as one."""
    expired_lines: int = 0
    """Expected, not stored, and older than the retention."""
    other_epoch_lines: int = 0
    other_masks_lines: int = 0
    """As expected, but with a template that other masks made."""
    sampled_lines: int = 0
    """As expected, but without text and fields."""
    dropped_lines: int = 0
    """Not stored, and today's rules drop them."""
    dropped_stored_lines: int = 0
    """Stored, though today's rules drop them."""
    compacted_lines: int = 0
    by_masks: Counter[str] = field(default_factory=Counter)
    """Stored lines by the version of the masks that made their template, as their block says."""

    def add_counts(self, other: "LineCounts") -> None:
        """Add another window's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(slots=True)
class ComparedWindow:
    """What one window holds.

    Thread: one.
    """

    findings: list[Finding] = field(default_factory=list)
    counts: LineCounts = field(default_factory=LineCounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowComparer:
    """Compares the windows of one partition."""

    place: BlockPlace
    dead_letters: ExcusedRecords
    now_ms: float
    kept_since_ms: float
    """Milliseconds since 1970; lines of older records may be gone. Minus infinity without a retention."""
    has_drop_rules: bool = False
    """Whether lines may be missing because an earlier rule dropped them: nothing tells them from lost ones."""
    is_compacted: Callable[[], bool | None]
    """Whether Kafka compacts the topic; asked when a line has no record. None: unknown, then such lines are reported, but not removed."""

    @property
    def _missing(self) -> str:
        return "missing, or dropped by an earlier rule" if self.has_drop_rules else "missing"

    def compare_window(self, expected: Sequence[Expected], stored: Iterable[Line], absent_templates: AbstractSet[str]) -> ComparedWindow:
        """Compare one window with what readers get; `absent_templates` are the texts of templates of `stored` that have no row."""
        compared = ComparedWindow()
        lines = {(line.epoch, line.offset, line.sub, line.chunk): line for line in stored}
        compared.counts.lines = len(lines)
        for one in expected:
            self._compare_record(one, lines, absent_templates, compared)
        by_offset = {one.record.offset: one for one in expected}
        for line in lines.values():
            self._classify_unexpected(line, by_offset.get(line.offset), compared)
        return compared

    def _compare_record(
        self,
        expected: Expected,
        lines: dict[tuple[str, int, int, int], Line],
        absent_templates: AbstractSet[str],
        compared: ComparedWindow,
    ) -> None:
        """Compare one record, and take its lines out of `lines`."""
        self._compare_dropped(expected, lines, compared)
        missing: list[Line] = []
        changed: list[tuple[Line, Line]] = []
        for one in expected.lines:
            line = lines.pop((self.place.epoch, one.offset, one.sub, one.chunk), None)
            if line is None:
                missing.append(one)
            elif as_expected(line, one, self.now_ms) != one:
                changed.append((one, line))
            elif line.template_text in absent_templates:
                compared.findings.append(_of_line("template", line, f"its template {line.template} is not stored", templates=(line,)))
            elif line.template_text != one.template_text:
                compared.counts.other_masks_lines += 1
            elif not line.text:
                compared.counts.sampled_lines += 1
            else:
                compared.counts.sound_lines += 1
        if not (missing or changed or expected.rejects or expected.refusal is not None):
            return
        excused = self.dead_letters.get(key_of(expected.record))
        lost = [line for line in missing if excused is None or not excused.excuses(line.sub, line.chunk)]
        compared.counts.dead_lettered_pieces += len(missing) - len(lost)
        with_letter = {(line.sub, line.chunk) for line in missing} - {(line.sub, line.chunk) for line in lost}
        whole = tuple(line for line in expected.lines if (line.sub, line.chunk) not in with_letter)
        compared.findings += (_changed(one, line, whole) for one, line in changed)
        self._compare_dead_letters(expected, lost, whole, excused, compared)

    def _compare_dropped(
        self, expected: Expected, lines: dict[tuple[str, int, int, int], Line], compared: ComparedWindow
    ) -> None:  # fmt: skip
        """Take the lines of entries that today's rules drop out of `lines`, whatever is stored of them."""
        for one in expected.dropped:
            is_there = lines.pop((self.place.epoch, one.offset, one.sub, one.chunk), None) is not None
            compared.counts.dropped_stored_lines += is_there
            compared.counts.dropped_lines += not is_there

    def _compare_dead_letters(
        self,
        expected: Expected,
        lost: list[Line],
        whole: tuple[Line, ...],
        excused: Excused | None,
        compared: ComparedWindow,
    ) -> None:
        """Report what is neither stored nor among the dead letters: `lost`, of the record's `whole` lines without a letter."""
        record = expected.record
        if expected.refusal is not None:
            if excused is None:
                detail = f"no dead letter ({expected.refusal.reason})"
                compared.findings.append(Finding("gap", record.offset, None, None, "", detail, dead_letter=expected))
            else:
                compared.counts.dead_lettered_pieces += 1
            return
        without_letter = [one for one in expected.rejects if excused is None or not excused.excuses(one.sub, one.chunk)]
        compared.counts.dead_lettered_pieces += len(expected.rejects) - len(without_letter)
        if lost and record.time_ms < self.kept_since_ms:
            compared.counts.expired_lines += len(lost)
            lost = []
        dead_letter = expected._replace(lines=(), rejects=tuple(without_letter)) if without_letter else None
        if excused is None and len(lost) + len(without_letter) == len(expected.lines) + len(expected.rejects) > 0:
            lines = f"{len(lost)} of its lines are {self._missing}" if len(lost) > 1 else f"its line is {self._missing}"
            what = lines if lost else f"no dead letter ({without_letter[0].rejection.reason})"
            detail = f"neither stored nor a dead letter: {what}"
            compared.findings.append(Finding("gap", record.offset, None, None, "", detail, tuple(lost), dead_letter=dead_letter))
            return
        detail = f"the line is {self._missing}"
        compared.findings += (_of_line("missing", line, detail, write=whole) for line in lost)
        if dead_letter is not None:
            sub, chunk, rejection = without_letter[0]
            detail = f"no dead letter ({rejection.reason})"
            number = len(without_letter)
            compared.findings.append(
                Finding("missing", record.offset, sub, chunk, "", detail, dead_letter=dead_letter, number=number)
            )  # fmt: skip

    def _classify_unexpected(self, line: Line, expected: Expected | None, compared: ComparedWindow) -> None:
        """Classify a line that is not expected; `expected` is what its record has, None without a record."""
        if line.epoch != self.place.epoch:
            compared.counts.other_epoch_lines += 1
        elif expected is None:
            self._classify_without_record(line, compared)
        elif expected.lines and line.sub not in {one.sub for one in expected.lines}:
            compared.findings.append(_of_line("foreign", line, "its record has no such entry", is_surplus=True))
        else:
            compared.findings.append(_of_line("left_over", line, "its record has no such chunk now", is_surplus=True))

    def _classify_without_record(self, line: Line, compared: ComparedWindow) -> None:
        is_compacted = self.is_compacted()
        if is_compacted:
            compared.counts.compacted_lines += 1
            return
        unsure = "" if is_compacted is False else "; Kafka does not say whether the topic is compacted, so --repair leaves it"
        detail = f"there is no record at its offset{unsure}"
        compared.findings.append(_of_line("foreign", line, detail, is_surplus=is_compacted is False))


def as_expected(line: Line, expected: Line, now_ms: float) -> Line:
    """Return a stored line with what may differ: its template; text and fields of one that was sampled; a time for a far one.

    Nor does what only orders copies say anything of the line: a block of an earlier version does not have it, and a rule may have dropped
    some of the entries.
    """
    if not line.text and line.fields is None:
        line = line._replace(text=expected.text, fields=expected.fields)
    if is_far(expected.kafka_time, now_ms):
        line = line._replace(time=expected.time)
    return _as_ordered(line._replace(template_text=expected.template_text), expected)


def _as_ordered(line: Line, expected: Line) -> Line:
    """Return a line with the other's columns by which readers order copies."""
    return line._replace(entries=expected.entries, leader_epoch=expected.leader_epoch, last_leader_epoch=expected.last_leader_epoch)


def _changed(expected: Line, line: Line, whole: tuple[Line, ...]) -> Finding:
    columns = [name for name, one, other in zip(Line._fields, expected, _as_ordered(line, expected), strict=True) if one != other]
    return _of_line("changed", expected, f"differs in {', '.join(columns)}", write=whole)


def _of_line(
    kind: FindingKind,
    line: Line,
    detail: str,
    *,
    write: tuple[Line, ...] = (),
    templates: tuple[Line, ...] = (),
    is_surplus: bool = False,
) -> Finding:
    return Finding(kind, line.offset, line.sub, line.chunk, line.id, detail, write, templates, is_surplus)

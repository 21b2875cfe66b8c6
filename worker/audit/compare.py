"""Compares the expected rows of one window of offsets with the stored rows and the dead letters.

`worker.audit.verify` reads both sides.

1. Rows are matched by id. An unexpected row of the same epoch is "left over" if its record has the same entry (other chunks, other
   settings); it is "foreign" if there is no such record or entry, or if its id does not match its own columns.
2. A row of another epoch belongs to an earlier topic of the same name. Its records are gone, so it is counted and left alone.
3. A missing row is not reported if its dead letter is there, or if its record is older than the retention.
4. A row whose template differs from what the current masks and prefixes produce was written with others: masks may change at any
   time, and old rows stay searchable. If that template is stored, the row is counted and left alone.
5. On a compacted topic a row without a record may be legitimate: the record was there once. It is counted and left alone.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import Literal, NamedTuple

from sinks.row import LineRow, row_id
from sinks.sink import StoredLines
from worker.audit.dead_letter_index import ExcusedRecords
from worker.audit.expected import Expected, ExpectedRow

FindingKind = Literal["gap", "missing", "changed", "template", "left_over", "foreign", "duplicate"]
FINDING_KINDS: tuple[FindingKind, ...] = ("gap", "missing", "changed", "template", "left_over", "foreign", "duplicate")
"""`gap`: a whole record is missing. `missing`: a part of one. `changed`: a stored row differs. `template`: a template's row is missing.
`left_over`, `foreign`: rules 1 and 5. `duplicate`: more rows than ids."""


class PartitionPlace(NamedTuple):
    """A partition of a topic in one epoch."""

    topic: str
    epoch: str
    partition: int

    def id_matches(self, row: LineRow) -> bool:
        """Whether a row's id is the one derived from its own columns in this epoch."""
        return row.id == row_id(row.topic, self.epoch, row.partition, row.offset, row.sub, row.chunk)

    def is_of_other_epoch(self, row: LineRow) -> bool:
        """Whether a row's id is the one derived from its own columns in another epoch."""
        topic, at, rest = row.id.partition("@")
        epoch = rest.partition("/")[0]
        return at == "@" and topic == self.topic and epoch not in ("", self.epoch) and self._replace(epoch=epoch).id_matches(row)


class Finding(NamedTuple):
    """One problem, and its repair."""

    kind: FindingKind
    offset: int
    sub: int | None
    chunk: int | None
    row: str
    """Id of the row; empty for a whole record or a range."""
    detail: str
    pieces: tuple[ExpectedRow, ...] = ()
    """To be stored."""
    remove: str = ""
    """Id of a row to be removed."""
    rewrite: tuple[LineRow, ...] = ()
    """To be removed and written again."""
    dead_letter: Expected | None = None
    """A record whose dead letter is missing."""
    number: int = 1
    """How many problems of this kind it stands for."""


@dataclass(slots=True)
class RowCounts:
    """Counts of rows that are not reported.

    Thread: one.
    """

    rows: int = 0
    """Stored, of any epoch."""
    sound_rows: int = 0
    """Rows that are exactly as expected."""
    dead_lettered_pieces: int = 0
    """Expected, and in a dead letter instead; a whole record counts as one."""
    expired_pieces: int = 0
    """Expected, not stored, and older than the retention."""
    other_epoch_rows: int = 0
    other_masks_rows: int = 0
    """As expected, but with a template that other masks or prefixes made."""
    compacted_rows: int = 0

    def add_counts(self, other: "RowCounts") -> None:
        """Add another window's counts."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass(slots=True)
class ComparedWindow:
    """What one window holds.

    Thread: one.
    """

    findings: list[Finding] = field(default_factory=list)
    counts: RowCounts = field(default_factory=RowCounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowComparer:
    """Compares the windows of one partition."""

    place: PartitionPlace
    dead_letters: ExcusedRecords
    kept_since_ms: float
    """Milliseconds since 1970; rows of older records may be gone. Minus infinity without a retention."""
    is_compacted: Callable[[], bool | None]
    """Whether Kafka compacts the topic; asked when a row has no record. None: unknown, then such rows are reported, but not removed."""

    def compare_window(self, expected: Sequence[Expected], stored: Sequence[LineRow], absent_templates: AbstractSet[str]) -> ComparedWindow:
        """Compare one window; `absent_templates` are templates that stored rows refer to and that are not stored."""
        compared = ComparedWindow()
        rows = {row.id: row for row in stored}
        for one in expected:
            self._compare_record(one, rows, absent_templates, compared)
        by_offset = {one.record.offset: one for one in expected}
        for row in rows.values():
            self._classify_unexpected(row, by_offset.get(row.offset), compared)
        return compared

    def _compare_record(
        self, expected: Expected, rows: dict[str, LineRow], absent_templates: AbstractSet[str], compared: ComparedWindow
    ) -> None:
        """Compare one record, and take its rows out of `rows`."""
        missing: list[ExpectedRow] = []
        for piece in expected.pieces:
            row = rows.pop(piece.row.id, None)
            if row is None:
                missing.append(piece)
            elif row._replace(template=piece.row.template) != piece.row:
                compared.findings.append(_changed(piece, row))
            elif row.template in absent_templates:
                compared.findings.append(_of_row("template", row, f"its template {row.template} is not stored", pieces=(piece,)))
            elif row.template != piece.row.template:
                compared.counts.other_masks_rows += 1
            else:
                compared.counts.sound_rows += 1
        if missing or expected.rejects or expected.refusal is not None:
            self._compare_dead_letters(expected, missing, compared)

    def _compare_dead_letters(self, expected: Expected, missing: list[ExpectedRow], compared: ComparedWindow) -> None:
        """Look among the dead letters for what is not stored."""
        record = expected.record
        excused = self.dead_letters.get((record.partition, record.offset))
        if expected.refusal is not None:
            if excused is None:
                detail = f"no dead letter ({expected.refusal.reason})"
                compared.findings.append(Finding("gap", record.offset, None, None, "", detail, dead_letter=expected))
            else:
                compared.counts.dead_lettered_pieces += 1
            return
        lost = [piece for piece in missing if excused is None or not excused.excuses(piece.row.sub, piece.row.chunk)]
        without_letter = [one for one in expected.rejects if excused is None or not excused.excuses(one.sub, one.chunk)]
        compared.counts.dead_lettered_pieces += len(missing) - len(lost) + len(expected.rejects) - len(without_letter)
        if lost and record.time_ms < self.kept_since_ms:
            compared.counts.expired_pieces += len(lost)
            lost = []
        dead_letter = expected._replace(pieces=(), rejects=tuple(without_letter)) if without_letter else None
        if excused is None and len(lost) + len(without_letter) == len(expected.pieces) + len(expected.rejects) > 0:
            rows = f"{len(lost)} of its rows are missing" if len(lost) > 1 else "its row is missing"
            what = rows if lost else f"no dead letter ({without_letter[0].rejection.reason})"
            detail = f"neither stored nor a dead letter: {what}"
            compared.findings.append(Finding("gap", record.offset, None, None, "", detail, tuple(lost), dead_letter=dead_letter))
            return
        compared.findings += (_of_row("missing", piece.row, "the row is missing", pieces=(piece,)) for piece in lost)
        if dead_letter is not None:
            sub, chunk, rejection = without_letter[0]
            detail = f"no dead letter ({rejection.reason})"
            number = len(without_letter)
            compared.findings.append(
                Finding("missing", record.offset, sub, chunk, "", detail, dead_letter=dead_letter, number=number)
            )  # fmt: skip

    def _classify_unexpected(self, row: LineRow, expected: Expected | None, compared: ComparedWindow) -> None:
        """Classify a row that is not expected; `expected` is what its record has, None without a record."""
        if self.place.is_of_other_epoch(row):
            compared.counts.other_epoch_rows += 1
        elif not self.place.id_matches(row):
            compared.findings.append(_of_row("foreign", row, "its id is not that of its columns", remove=row.id))
        elif expected is None:
            self._classify_without_record(row, compared)
        elif expected.pieces and row.sub not in {piece.row.sub for piece in expected.pieces}:
            compared.findings.append(_of_row("foreign", row, "its record has no such entry", remove=row.id))
        else:
            compared.findings.append(_of_row("left_over", row, "its record has no such chunk now", remove=row.id))

    def _classify_without_record(self, row: LineRow, compared: ComparedWindow) -> None:
        is_compacted = self.is_compacted()
        if is_compacted:
            compared.counts.compacted_rows += 1
            return
        unsure = "" if is_compacted is False else "; Kafka does not say whether the topic is compacted, so --repair leaves it"
        remove = row.id if is_compacted is False else ""
        compared.findings.append(_of_row("foreign", row, f"there is no record at its offset{unsure}", remove=remove))


def _changed(piece: ExpectedRow, row: LineRow) -> Finding:
    columns = [name for name, expected, stored in zip(LineRow._fields, piece.row, row, strict=True) if expected != stored]
    return _of_row("changed", piece.row, f"differs in {', '.join(columns)}", pieces=(piece,))


def _of_row(kind: FindingKind, row: LineRow, detail: str, *, pieces: tuple[ExpectedRow, ...] = (), remove: str = "") -> Finding:
    return Finding(kind, row.offset, row.sub, row.chunk, row.id, detail, pieces, remove)


def duplicate_rows(stored: StoredLines) -> Finding:
    """Report that a range holds more rows than ids; the repair writes all of its rows again."""
    excess = stored.counted - len(stored.rows)
    offsets = sorted({row.offset for row in stored.rows})
    where = "" if len(offsets) <= 1 else f", up to offset {offsets[-1]}"
    detail = f"{excess} more than there are ids ({len(stored.rows)}){where}"
    row = stored.rows[0].id if len(stored.rows) == 1 else ""
    first = offsets[0] if offsets else 0
    return Finding("duplicate", first, None, None, row, detail, rewrite=tuple(stored.rows), number=excess)

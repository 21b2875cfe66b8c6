"""What is owed against what is stored and buried, for one window of offsets. Pure: `worker.audit.verify` asks Kafka and the sink.

1. A row is owed by its id. One of the same epoch that nobody owes is left over (of a record that is there: other chunks, other settings) or
   foreign (of no such record, or its id is not that of its own columns).
2. A row of another epoch is of another topic that had this name once. Its records are gone, so it is counted and left alone.
3. A missing row is no problem if its dead letter is there, or if its record is older than rows are kept: what was written in time is
   gone by now.
4. A row of another template than masks make now was written under others: masks may change at any time, and old rows stay searchable.
   Where that template is stored it is counted and left alone.
5. A row without a record on a compacted topic may well be right: the record was there once. It is counted and left alone.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sinks.row import LineRow, row_id
from sinks.sink import StoredLines
from worker.audit.dead_letter_index import Graves
from worker.audit.expected import Expected, ExpectedRow

Kind = Literal["gap", "missing", "changed", "template", "left_over", "foreign", "duplicate"]
KINDS: tuple[Kind, ...] = ("gap", "missing", "changed", "template", "left_over", "foreign", "duplicate")


class PartitionPlace(NamedTuple):
    """A partition of a topic in one epoch.

    Thread: any.
    """

    topic: str
    epoch: str
    partition: int

    def says(self, row: LineRow) -> bool:
        """Whether a row's id is that of its own columns, in this epoch."""
        return row.id == row_id(row.topic, self.epoch, row.partition, row.offset, row.sub, row.chunk)

    def is_other_epoch(self, row: LineRow) -> bool:
        """Whether a row's id is that of its own columns, but in another epoch."""
        topic, at, rest = row.id.partition("@")
        epoch = rest.partition("/")[0]
        return at == "@" and topic == self.topic and epoch not in ("", self.epoch) and self._replace(epoch=epoch).says(row)


class Finding(NamedTuple):
    """One thing that is not as it should be, and what mends it.

    Thread: any.
    """

    kind: Kind
    offset: int
    sub: int | None
    chunk: int | None
    row: str
    """Id of the row; empty where it is about a whole record or a range."""
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
class Comparison:
    """What one window holds.

    Thread: one.
    """

    findings: list[Finding] = field(default_factory=list)
    rows: int = 0
    """Stored, of any epoch."""
    sound_rows: int = 0
    """Rows that are exactly what they should be."""
    dead_lettered_pieces: int = 0
    """Expected, and in a dead letter instead; a whole record counts as one."""
    expired_pieces: int = 0
    """Expected, not there, and older than rows are kept."""
    other_epoch_rows: int = 0
    other_masks_rows: int = 0
    """What they should be, but of a template that other masks or prefixes made."""
    compacted_rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowComparison:
    """What is the same for all windows of one partition.

    Thread: any.
    """

    place: PartitionPlace
    graves: Graves
    kept_since_ms: float
    """Rows of records that are older may be gone; minus infinity where rows live for ever."""
    is_compacted: Callable[[], bool | None]
    """Whether Kafka removes single records; asked when a row has no record. None: it does not say; then such rows are told, not removed."""

    def weigh(self, owed: Sequence[Expected], stored: Sequence[LineRow], absent_templates: AbstractSet[str]) -> Comparison:
        """Compare one window; `absent_templates` are those of the stored rows whose template is not stored."""
        found = Comparison()
        rows = {row.id: row for row in stored}
        for debt in owed:
            self._weigh_record(debt, rows, absent_templates, found)
        records = {debt.record.offset: debt for debt in owed}
        for row in rows.values():
            self._weigh_stranger(row, records.get(row.offset), found)
        return found

    def _weigh_record(self, debt: Expected, rows: dict[str, LineRow], absent: AbstractSet[str], found: Comparison) -> None:
        """Compare one record, and take its rows out of `rows`."""
        missing: list[ExpectedRow] = []
        for piece in debt.pieces:
            row = rows.pop(piece.row.id, None)
            if row is None:
                missing.append(piece)
            elif row._replace(template=piece.row.template) != piece.row:
                found.findings.append(_changed(piece, row))
            elif row.template in absent:
                found.findings.append(_of_row("template", row, f"its template {row.template} is not stored", pieces=(piece,)))
            elif row.template != piece.row.template:
                found.other_masks_rows += 1
            else:
                found.sound_rows += 1
        if missing or debt.rejects or debt.refusal:
            self._weigh_rest(debt, missing, found)

    def _weigh_rest(self, debt: Expected, missing: list[ExpectedRow], found: Comparison) -> None:
        """Look for what is not stored among the dead letters."""
        record = debt.record
        grave = self.graves.get((record.partition, record.offset))
        if debt.refusal:
            if grave is None:
                found.findings.append(Finding("gap", record.offset, None, None, "", f"no dead letter ({debt.refusal})", dead_letter=debt))
            else:
                found.dead_lettered_pieces += 1
            return
        lost = [piece for piece in missing if grave is None or not grave.excuses(piece.row.sub, piece.row.chunk)]
        unburied = [one for one in debt.rejects if grave is None or not grave.excuses(one[0], one[1])]
        found.dead_lettered_pieces += len(missing) - len(lost) + len(debt.rejects) - len(unburied)
        if lost and record.time_ms < self.kept_since_ms:
            found.expired_pieces += len(lost)
            lost = []
        dead_letter = debt._replace(pieces=(), rejects=tuple(unburied)) if unburied else None
        if grave is None and len(lost) + len(unburied) == len(debt.pieces) + len(debt.rejects) > 0:
            rows = f"{len(lost)} of its rows are missing" if len(lost) > 1 else "its row is missing"
            what = rows if lost else f"no dead letter ({unburied[0][2]})"
            found.findings.append(
                Finding(
                    "gap",
                    record.offset,
                    None,
                    None,
                    "",
                    f"neither stored nor a dead letter: {what}",
                    tuple(lost),
                    dead_letter=dead_letter,
                )
            )
            return
        found.findings += (_of_row("missing", piece.row, "the row is missing", pieces=(piece,)) for piece in lost)
        if dead_letter is not None:
            sub, chunk, reason = unburied[0]
            found.findings.append(
                Finding(
                    "missing",
                    record.offset,
                    sub,
                    chunk,
                    "",
                    f"no dead letter ({reason})",
                    dead_letter=dead_letter,
                    number=len(unburied),
                )
            )

    def _weigh_stranger(self, row: LineRow, debt: Expected | None, found: Comparison) -> None:
        """Judge a row that no record of the window owes."""
        if self.place.is_other_epoch(row):
            found.other_epoch_rows += 1
        elif not self.place.says(row):
            found.findings.append(_of_row("foreign", row, "its id is not that of its columns", remove=row.id))
        elif debt is None:
            self._weigh_recordless(row, found)
        elif debt.pieces and row.sub not in {piece.row.sub for piece in debt.pieces}:
            found.findings.append(_of_row("foreign", row, "its record has no such entry", remove=row.id))
        else:
            found.findings.append(_of_row("left_over", row, "its record has no such chunk now", remove=row.id))

    def _weigh_recordless(self, row: LineRow, found: Comparison) -> None:
        is_compacted = self.is_compacted()
        if is_compacted:
            found.compacted_rows += 1
            return
        unsure = "" if is_compacted is False else "; Kafka does not say whether the topic is compacted, so --repair leaves it"
        remove = row.id if is_compacted is False else ""
        found.findings.append(_of_row("foreign", row, f"there is no record at its offset{unsure}", remove=remove))


def _changed(piece: ExpectedRow, row: LineRow) -> Finding:
    columns = [name for name, owed, stored in zip(LineRow._fields, piece.row, row, strict=True) if owed != stored]
    return _of_row("changed", piece.row, f"differs in {', '.join(columns)}", pieces=(piece,))


def _of_row(kind: Kind, row: LineRow, detail: str, *, pieces: tuple[ExpectedRow, ...] = (), remove: str = "") -> Finding:
    return Finding(kind, row.offset, row.sub, row.chunk, row.id, detail, pieces, remove)


def doubled(stored: StoredLines) -> Finding:
    """Tell that a range holds more rows than ids; all of its rows are written again to mend it."""
    excess = stored.counted - len(stored.rows)
    offsets = sorted({row.offset for row in stored.rows})
    where = "" if len(offsets) == 1 else f", up to offset {offsets[-1]}"
    detail = f"{excess} more than there are ids ({len(stored.rows)}){where}"
    row = stored.rows[0].id if len(stored.rows) == 1 else ""
    first = offsets[0] if offsets else 0
    return Finding("duplicate", first, None, None, row, detail, rewrite=tuple(stored.rows), number=excess)

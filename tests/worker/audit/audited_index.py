"""An index to audit: records, a fake sink with their rows, and the parts that compare and repair."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from producers.envelope import DeadLetter, envelope
from sinks.row import LineRow, TemplateRow
from tests.fakes.engine import FakeEngine
from tests.fakes.sink import FakeSink
from tests.worker.chain import SPACE, golden_of
from worker.audit.compare import ComparedWindow, PartitionPlace, WindowComparer
from worker.audit.dead_letter_index import Excused
from worker.audit.expected import Expected, ExpectedRow, ExpectedRows
from worker.audit.repair import BusyRetry, Repairer
from worker.audit.stored_dead_letters import StoredDeadLetter, read_dead_letter
from worker.audit.verify import FindingRepairer, OffsetWindow, ReadBounds, Verifier, VerifyReport
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import letter_of
from worker.indexing.pieces import new_chunker, new_decoder
from worker.settings.tables import DecodeTable, MaskTable, RedactTable, new_redactor

PLACE = PartitionPlace("logs", "e1", 0)
TIME_MS = 999_000
NARROW = ReadBounds(window_records=7)
MALFORMED_PIECES = (
    b"[" * 100_000,
    b'{"x":' * 20_000,
    b'{"x": [[1e999, 0]]}',
    b'{"x": [[NaN, 0]]}',
    b'{"x": [["a", 1]]}',
    b'{"x": [[1]]}',
    b'{"x": [[1, 2, 3]]}',
    b"[]",
    b'{"r":[' + b"[0,0]," * 30_000 + b"[0,0]]}",  # well formed, and larger than vectail writes it
)
"""What others may write into the header `vectail.pieces`."""


def record(offset: int, value: bytes | str | None, *, time_ms: int = TIME_MS) -> Record:
    """Return a record of `PLACE`."""
    content = value.encode() if isinstance(value, str) else value
    return Record("logs", 0, offset, "e1", time_ms, b"key", content, ())


class AuditedIndex:
    """After `index_records` the sink holds what is expected for `records`; a test damages it, then verifies or repairs.

    Thread: the test's.
    """

    def __init__(self, model: PreparedModel, words: Tokenizer) -> None:
        self._model = model
        self.words = words
        self.sink = FakeSink()
        self.sink.open()
        self.engine = FakeEngine()
        self.loads = 0
        """How often the engine was loaded."""
        self.dead_letters: dict[tuple[int, int], Excused] = {}
        self.written: list[Expected] = []
        """Dead letters that a repair wrote."""
        self.records: list[Record] = []
        self.said: list[str] = []
        self.pauses_s: list[float] = []
        self.now_s = 0.0
        self.busy_retry = BusyRetry(limit_s=10.0, say=self.said.append, pause=self._pause, clock=lambda: self.now_s)
        self.repairer = Repairer(sink=self.sink, load=self._load, busy_retry=self.busy_retry, rows_at_once=50)
        self.expected_rows = self.expected_rows_of()

    def expected_rows_of(self, *, max_tokens: int | None = None, redact: Sequence[str] = (), **decode: Any) -> ExpectedRows:  # noqa: ANN401
        """Return the expected rows with other settings."""
        model = self._model if max_tokens is None else _shorter(self._model, max_tokens)
        table = DecodeTable(**decode)
        return ExpectedRows(
            decoder=new_decoder(table),
            redactor=new_redactor(RedactTable(rules=tuple(redact))),
            chunker=new_chunker(MaskTable(), table, model, self.words),
            digester=Digester(SPACE, model.document_prefix),
            tokenizer=self.words,
        )

    def index_records(self, *values: bytes | str | None) -> list[Expected]:
        """Store the rows and dead letters of new records, with offsets from 0."""
        self.records = [record(offset, value) for offset, value in enumerate(values)]
        expected = self.expected_rows.compute_expected(self.records)
        self.repairer.repair_rows([piece for one in expected for piece in one.pieces])
        self.write_dead_letters([one for one in expected if one.rejection is not None])
        self.written.clear()
        return expected

    def write_dead_letters(self, expected: Sequence[Expected]) -> None:
        for one in expected:
            self.written.append(one)
            pieces = None if one.refusal is not None else frozenset((sub, chunk) for sub, chunk, _ in one.rejects)
            self.dead_letters[one.record.partition, one.record.offset] = Excused(pieces)

    def comparer(self, *, kept_since_ms: float = -math.inf, is_compacted: bool | None = False) -> WindowComparer:
        return WindowComparer(place=PLACE, dead_letters=self.dead_letters, kept_since_ms=kept_since_ms, is_compacted=lambda: is_compacted)

    def compare_all(self, expected: Sequence[Expected], **about: Any) -> ComparedWindow:  # noqa: ANN401 - as `comparer`
        """Compare everything in one window."""
        rows = list(self.sink.lines.values())
        return self.comparer(**about).compare_window(expected, rows, {row.template for row in rows} - self.sink.templates.keys())

    def verify(
        self,
        *,
        repair: bool = False,
        end: int | None = None,
        first: int = 0,
        expected_rows: ExpectedRows | None = None,
        comparer: WindowComparer | None = None,
        bounds: ReadBounds = NARROW,
        show: Callable[[VerifyReport], None] = lambda _report: None,
    ) -> VerifyReport:
        """Verify a range; records come in lists of ten."""
        verifier = Verifier(
            sink=self.sink,
            expected_rows=expected_rows or self.expected_rows,
            busy_retry=self.busy_retry,
            finding_repairer=FindingRepairer(repairer=self.repairer, write_dead_letters=self.write_dead_letters) if repair else None,
            bounds=bounds,
            show=show,
        )
        end_offset = len(self.records) if end is None else end
        records = [one for one in self.records if first <= one.offset < end_offset]
        lists = [records[start : start + 10] for start in range(0, len(records), 10)]
        verifier.verify_range(comparer or self.comparer(), OffsetWindow(PLACE, first, end_offset), lists)
        return verifier.report

    def change(self, row: LineRow, **columns: Any) -> None:  # noqa: ANN401 - as LineRow
        """Damage a stored row."""
        self.sink.lines[row.id] = row._replace(**columns)

    def add_rows(self, *rows: LineRow) -> None:
        for row in rows:
            self.sink.lines[row.id] = row

    def snapshot(self) -> tuple[Mapping[str, LineRow], Mapping[str, TemplateRow]]:
        return dict(self.sink.lines), dict(self.sink.templates)

    def _pause(self, seconds: float) -> bool:
        self.pauses_s.append(seconds)
        self.now_s += seconds
        return False

    def _load(self) -> LoadedModel:
        self.loads += 1
        golden = golden_of(self.engine, self.words)
        self.engine.calls.clear()
        return LoadedModel(prepared=self._model, space=SPACE, engine=self.engine, golden=golden, new_engine=_no_engine)


def dead_letter(of: Record, reason: str, pieces: Sequence[tuple[int, int, str]] = ()) -> DeadLetter:
    """Return the dead letter of a record; without `pieces` its whole record is rejected."""
    rejects = [RejectedPiece(sub, chunk, Rejection("embed", "rejected", why)) for sub, chunk, why in pieces]
    return letter_of(of, Rejection("embed", "rejected", reason) if pieces else Rejection("decode", "undecodable", reason), rejects)


def read_back(letter: DeadLetter) -> StoredDeadLetter:
    """Return a dead letter as it comes back from its topic: partition 2, offset 7."""
    shaped = envelope(letter, version="1", max_bytes=1_000_000)
    stored = read_dead_letter(Record("dead", 2, 7, "", 5, shaped.key, shaped.value, tuple(shaped.headers)))
    assert stored is not None
    return stored


def rows_of(expected: Sequence[Expected]) -> list[LineRow]:
    return [piece.row for one in expected for piece in one.pieces]


def pieces_of(expected: Sequence[Expected]) -> list[ExpectedRow]:
    return [piece for one in expected for piece in one.pieces]


def _shorter(model: PreparedModel, max_tokens: int) -> PreparedModel:

    return replace(model, max_tokens=max_tokens)


def _no_engine() -> FakeEngine:
    raise ModelError("no other engine can be made")

"""Books to be balanced: records, a fake sink that holds what they owe, and the parts that compare and mend."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from consumers.record import Record
from sinks.row import LineRow, TemplateRow
from tests.fakes.engine import FakeEngine
from tests.fakes.sink import FakeSink
from tests.worker.chain import SPACE, golden_of
from worker.audit.compare import Comparison, PartitionPlace, WindowComparison
from worker.audit.dead_letter_index import Excused
from worker.audit.expected import Expected, ExpectedRow, ExpectedRows
from worker.audit.repair import BusyRetry, Repairer
from worker.audit.verify import OffsetWindow, ReadBounds, Repairs, Verifier, VerifyReport
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.pieces import new_chunker, new_decoder
from worker.settings.tables import DecodeTable, MaskTable, RedactTable, new_redactor

PLACE = PartitionPlace("logs", "e1", 0)
TIME_MS = 999_000
NARROW = ReadBounds(window_records=7)


def record(offset: int, value: bytes | str | None, *, time_ms: int = TIME_MS) -> Record:
    """Return a record of `PLACE`."""
    content = value.encode() if isinstance(value, str) else value
    return Record("logs", 0, offset, "e1", time_ms, b"key", content, ())


class Books:
    """What is owed for `records` lies in the sink after `balance`; a test damages it, and looks or repairs.

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
        self.graves: dict[tuple[int, int], Excused] = {}
        self.buried: list[Expected] = []
        self.records: list[Record] = []
        self.said: list[str] = []
        self.pauses_s: list[float] = []
        self.now_s = 0.0
        self.patience = BusyRetry(limit_s=10.0, say=self.said.append, pause=self._pause, clock=lambda: self.now_s)
        self.mender = Repairer(sink=self.sink, load=self._load, patience=self.patience, rows_at_once=50)
        self.maker = self.maker_of()

    def maker_of(self, *, max_tokens: int | None = None, redact: Sequence[str] = (), **decode: Any) -> ExpectedRows:  # noqa: ANN401
        """Make pieces as other settings say."""
        model = self._model if max_tokens is None else _shorter(self._model, max_tokens)
        table = DecodeTable(**decode)
        return ExpectedRows(
            decoder=new_decoder(table),
            redactor=new_redactor(RedactTable(rules=tuple(redact))),
            chunker=new_chunker(MaskTable(), table, model, self.words),
            digester=Digester(SPACE, model.document_prefix),
            tokenizer=self.words,
        )

    def balance(self, *values: bytes | str | None) -> list[Expected]:
        """Store all that these records owe, and write_dead_letters what they owe to the dead letters."""
        self.records = [record(offset, value) for offset, value in enumerate(values)]
        owed = self.maker.owed(self.records)
        self.mender.mend([piece for debt in owed for piece in debt.pieces])
        self.write_dead_letters([debt for debt in owed if debt.rejects or debt.refusal])
        self.buried.clear()
        return owed

    def write_dead_letters(self, debts: Sequence[Expected]) -> None:
        for debt in debts:
            self.buried.append(debt)
            pieces = None if debt.refusal else frozenset((sub, chunk) for sub, chunk, _ in debt.rejects)
            self.graves[debt.record.partition, debt.record.offset] = Excused(pieces)

    def scales(self, *, kept_since_ms: float = -math.inf, is_compacted: bool | None = False) -> WindowComparison:
        return WindowComparison(place=PLACE, graves=self.graves, kept_since_ms=kept_since_ms, is_compacted=lambda: is_compacted)

    def weigh(self, owed: Sequence[Expected], **about: Any) -> Comparison:  # noqa: ANN401 - as `scales`
        """Compare all at once."""
        rows = list(self.sink.lines.values())
        return self.scales(**about).weigh(owed, rows, {row.template for row in rows} - self.sink.templates.keys())

    def verify(
        self,
        *,
        repair: bool = False,
        end: int | None = None,
        first: int = 0,
        maker: ExpectedRows | None = None,
        scales: WindowComparison | None = None,
        bounds: ReadBounds = NARROW,
        show: Callable[[VerifyReport], None] = lambda _account: None,
    ) -> VerifyReport:
        """Walk the records in lists of ten."""
        verifier = Verifier(
            sink=self.sink,
            maker=maker or self.maker,
            patience=self.patience,
            repairs=Repairs(mender=self.mender, write_dead_letters=self.write_dead_letters) if repair else None,
            bounds=bounds,
            show=show,
        )
        end_offset = len(self.records) if end is None else end
        records = [one for one in self.records if first <= one.offset < end_offset]
        lists = [records[start : start + 10] for start in range(0, len(records), 10)]
        verifier.walk(scales or self.scales(), OffsetWindow(PLACE, first, end_offset), lists)
        return verifier.account

    def change(self, row: LineRow, **columns: Any) -> None:  # noqa: ANN401 - as LineRow
        """Damage a stored row."""
        self.sink.lines[row.id] = row._replace(**columns)

    def add(self, *rows: LineRow) -> None:
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


def rows_of(owed: Sequence[Expected]) -> list[LineRow]:
    return [piece.row for debt in owed for piece in debt.pieces]


def pieces_of(owed: Sequence[Expected]) -> list[ExpectedRow]:
    return [piece for debt in owed for piece in debt.pieces]


def _shorter(model: PreparedModel, max_tokens: int) -> PreparedModel:

    return replace(model, max_tokens=max_tokens)


def _no_engine() -> FakeEngine:
    raise ModelError("no other engine can be made")

"""An index to audit: records, a fake sink with their lines in blocks, and the parts that compare and repair."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from consumers.record import Record
from consumers.rejection import RejectedPiece, Rejection
from producers.envelope import DeadLetter, envelope
from sinks.block import Block, BlockColumns, BlockId, BlockPlace
from sinks.codec import decode_lines
from sinks.line import Line
from sinks.lines import all_lines
from sinks.row import TemplateId, TemplateRow
from tests.fakes.engine import FakeEngine
from tests.fakes.sink import FakeSink
from tests.worker.chain import SPACE
from tests.worker.chain_values import golden_of
from tests.world import block, line
from tests.world import run as run_id
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import letter_of
from worker.indexing.topic_readers import TopicReaders
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.dead_letter_index import Excused, RecordKey, key_of
from worker.inspecting.entry_writer import EntryOrigin, EntryWriter
from worker.inspecting.expected import Expected, ExpectedLines
from worker.inspecting.repair import Repairer
from worker.inspecting.stored_blocks import StoredWindow, read_window
from worker.inspecting.stored_dead_letters import StoredDeadLetter, read_dead_letter
from worker.inspecting.template_embedder import TemplateEmbedder
from worker.inspecting.vector_audit import VectorAuditor
from worker.inspecting.verify import OffsetWindow, ReadBounds, Verifier, VerifyReport
from worker.inspecting.window_comparer import WindowComparer
from worker.inspecting.window_repair import WindowRepairer
from worker.settings.settings import Settings
from worker.settings.tables import DecodeTable, RedactTable, new_redactor
from worker.settings.topic_tables import TopicTable

PLACE = BlockPlace("logs", "e1", 0)
MASKS = "m1"
WALL_MS = 1_700_000_000_000
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


def own_line(offset: int, **values: object) -> Line:
    """Return a line of `PLACE`, unless `values` say otherwise."""
    return line(offset, epoch=PLACE.epoch, **values)


class AuditedIndex:
    """After `index_records` the sink holds what is expected for `records`; a test damages it, then verifies or repairs.

    Thread: the test's.
    """

    def __init__(self, model: PreparedModel, words: Tokenizer) -> None:
        self._model = model
        self.words = words
        self.sink = FakeSink()
        self.sink.wall_ms = self.wall_ms
        self.sink.open()
        self.engine = FakeEngine()
        self.loads = 0
        """How often the engine was loaded."""
        self.document_prefix = model.document_prefix
        self.dead_letters: dict[RecordKey, Excused] = {}
        self.written: list[Expected] = []
        """Dead letters that a repair wrote."""
        self.records: list[Record] = []
        self.said: list[str] = []
        self.pauses_s: list[float] = []
        self.now_s = 0.0
        self._bits = count()
        self.on_pause: Callable[[float], None] = lambda _seconds: None
        """What happens while a tool waits."""
        self.busy_retry = BusyRetry(limit_s=10.0, say=self.said.append, pause=self._pause, clock=lambda: self.now_s)
        self.entry_writer = EntryWriter(
            sink=self.sink, busy_retry=self.busy_retry, wall_ms=self.wall_ms, random_bits=lambda _bits: next(self._bits)
        )
        self.repairer = Repairer(sink=self.sink, load=self._load, entry_writer=self.entry_writer)
        self.expected_lines = self.expected_lines_of()
        self._numbers = count()

    def expected_lines_of(self, *, max_tokens: int | None = None, redact: Sequence[str] = (), **decode: Any) -> ExpectedLines:  # noqa: ANN401
        """Return the expected lines with other settings."""
        model = self._model if max_tokens is None else replace(self._model, max_tokens=max_tokens)
        topic = TopicTable(name="logs", format=decode.pop("format", "auto"), multiline=decode.pop("multiline", None))
        rules = {name: decode.pop(name) for name in ("drop", "sample") if name in decode}
        settings = Settings(topic=(topic,), decode=DecodeTable(**decode), **rules)
        readers = TopicReaders(settings, model, self.words)
        return ExpectedLines(
            reader_of=readers.of_topic,
            redactor=new_redactor(RedactTable(rules=tuple(redact))),
            tokenizer=self.words,
            wall_ms=self.wall_ms,
        )

    def index_records(self, *values: bytes | str | None) -> list[Expected]:
        """Store the lines and dead letters of new records, with offsets from 0."""
        self.records = [record(offset, value) for offset, value in enumerate(values)]
        expected = self.expected_lines.compute_expected(self.records)
        lines = lines_of(expected)
        self.repairer.repair_templates(lines)
        self.store(*lines)
        self.write_dead_letters([one for one in expected if one.rejection is not None])
        self.written.clear()
        return expected

    def store(self, *lines: Line, run: int = 1, size: int = 8) -> list[BlockId]:
        """Store lines in new blocks of `size` lines, without their templates; returns the ids of the blocks."""
        parts = [lines[at : at + size] for at in range(0, len(lines), size)]
        made = [block(part, run_id(run), next(self._numbers), masks=MASKS) for part in parts]
        self.sink.blocks |= {one.id: one for one in made}
        return [one.id for one in made]

    def edit(self, change: Callable[[Line], Line | None]) -> None:
        """Damage the stored lines: `change` returns what stands in the place of each; None: nothing. A block without lines is gone."""
        stored, self.sink.blocks = list(self.sink.blocks.values()), {}
        for old in stored:
            lines = [line for line in map(change, lines_in(old)) if line is not None]
            if lines:
                self.sink.blocks[old.id] = block(lines, old.id.run, old.id.first, old.id.last, masks=MASKS)

    def change(self, line: Line, **columns: Any) -> None:  # noqa: ANN401 - as Line
        """Damage a stored line."""
        self.edit(lambda one: one._replace(**columns) if one.id == line.id else one)

    def remove(self, *lines: Line) -> None:
        """Take lines out of their blocks."""
        gone = {line.id for line in lines}
        self.edit(lambda one: None if one.id in gone else one)

    def lines(self) -> list[Line]:
        """Return what readers get, in order."""
        return sorted(self.window().lines)

    def window(self) -> StoredWindow:
        return read_window(self.sink, self.busy_retry, "logs", 0, range(1_000_000))

    def write_dead_letters(self, expected: Sequence[Expected]) -> None:
        for one in expected:
            self.written.append(one)
            pieces = None if one.refusal is not None else frozenset((sub, chunk) for sub, chunk, _ in one.rejects)
            self.dead_letters[key_of(one.record)] = Excused(pieces)

    def comparer(
        self, *, kept_since_ms: float = -math.inf, is_compacted: bool | None = False, has_drop_rules: bool = False
    ) -> WindowComparer:
        return WindowComparer(
            place=PLACE,
            dead_letters=self.dead_letters,
            now_ms=self.wall_ms(),
            kept_since_ms=kept_since_ms,
            has_drop_rules=has_drop_rules,
            is_compacted=lambda: is_compacted,
        )

    def verify(
        self,
        *,
        repair: bool = False,
        end: int | None = None,
        first: int = 0,
        expected_lines: ExpectedLines | None = None,
        comparer: WindowComparer | None = None,
        bounds: ReadBounds = NARROW,
        show: Callable[[VerifyReport], None] = lambda _report: None,
    ) -> VerifyReport:
        """Verify a range; records come in lists of ten."""
        verifier = Verifier(
            sink=self.sink,
            expected_lines=expected_lines or self.expected_lines,
            busy_retry=self.busy_retry,
            window_repairer=self._window_repairer() if repair else None,
            bounds=bounds,
            show=show,
        )
        end_offset = len(self.records) if end is None else end
        verifier.verify_range(comparer or self.comparer(), OffsetWindow(PLACE, first, end_offset), self._read_records)
        verifier.look_again()
        return verifier.report

    @contextmanager
    def vector_auditor(self, random_bits: Callable[[int], int] = lambda _bits: 0) -> Iterator[VectorAuditor]:
        embedder = TemplateEmbedder(self._load(), self.busy_retry)
        try:
            yield VectorAuditor(view=self.sink.templates, busy_retry=self.busy_retry, embedder=embedder, random_bits=random_bits)
        finally:
            embedder.close()

    def snapshot(self) -> tuple[Mapping[BlockId, Block], Mapping[TemplateId, TemplateRow]]:
        return dict(self.sink.blocks), dict(self.sink.templates)

    def wall_ms(self) -> int:
        return WALL_MS + round(self.now_s * 1000)

    def origin(self) -> EntryOrigin:
        return EntryOrigin(MASKS, self.wall_ms())

    def _window_repairer(self) -> WindowRepairer:
        return WindowRepairer(
            sink=self.sink,
            busy_retry=self.busy_retry,
            repairer=self.repairer,
            masks_of=lambda _topic: MASKS,
            write_dead_letters=self.write_dead_letters,
        )

    def _read_records(self, window: OffsetWindow) -> Iterable[Sequence[Record]]:
        records = [one for one in self.records if one.offset in window.offsets]
        return [records[start : start + 10] for start in range(0, len(records), 10)]

    def _pause(self, seconds: float) -> bool:
        self.pauses_s.append(seconds)
        self.now_s += seconds
        self.on_pause(seconds)
        return False

    def _load(self) -> LoadedModel:
        self.loads += 1
        self.engine.closed = False
        golden = golden_of(self.engine, self.words)
        self.engine.calls.clear()
        prepared = replace(self._model, document_prefix=self.document_prefix)
        return LoadedModel(prepared=prepared, space=SPACE, engine=self.engine, golden=golden, new_engine=_no_engine)


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


def lines_of(expected: Iterable[Expected]) -> list[Line]:
    return [line for one in expected for line in one.lines]


def lines_in(stored: Block) -> list[Line]:
    """Return the lines of one block, those that other copies hide too."""
    columns = BlockColumns(stored.places, stored.texts, stored.fields)
    return all_lines(stored.id.place, decode_lines(columns))


def _no_engine() -> FakeEngine:
    raise ModelError("no other engine can be made")

"""Which records are lines of one event; `test_event_languages.py` has those of each language, `test_record_pieces.py` cuts streams."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from consumers.columns import as_texts
from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules
from sinks.arrow import as_optional_texts
from worker.indexing.events import EventJoiner, JoinedEvents
from worker.indexing.record_columns import RecordColumns
from worker.settings.topic_tables import MultilineTable

KAFKA_MS = 1_795_000_000_000
JAVA = ("09:00:01 ERROR pool - cannot connect", "java.lang.IllegalStateException: no pool", "\tat org.example.Pool.take(Pool.java:42)")


def join(values: Sequence[bytes | None], *, is_over: bool = True, table: MultilineTable | None = None, times: Sequence[int] = (),
         keys: Sequence[bytes] | None = None, offsets: Sequence[int] = (), rules: DecodeRules | None = None) -> JoinedEvents:  # fmt: skip
    kafka_ms = np.array(times, np.int64) + KAFKA_MS if times else np.full(len(values), KAFKA_MS)
    records = RecordColumns(np.array(offsets or range(len(values))), kafka_ms, keys, values, [len(values)])
    decoder = Decoder(rules or DecodeRules())
    return EventJoiner(table, decoder.open_texts).join(records, decoder.decode(values, kafka_ms), is_over=is_over)


def found(joined: JoinedEvents) -> list[tuple[int, int, str]]:
    """Return the row of each entry, of how many records it is, and its text with its trace."""
    entries = joined.decoded.entries
    records = [1] * entries.size if entries.records is None else entries.records.tolist()
    traces = [None] * entries.size if entries.trace is None else as_optional_texts(entries.trace)
    texts = [text + (trace or "") for text, trace in zip(as_texts(entries.text), traces, strict=True)]
    return list(zip(entries.row.tolist(), records, texts, strict=True))


def joined_by(values: Sequence[str | bytes | None], *, is_over: bool = True, times: Sequence[int] = (), keys: Sequence[bytes] | None = None,
              offsets: Sequence[int] = (), **table: object) -> JoinedEvents:  # fmt: skip
    """Join lines by the table of these settings."""
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    return join(contents, is_over=is_over, table=MultilineTable.model_validate(table), times=times, keys=keys, offsets=offsets)


def events(values: Sequence[str | bytes | None], **given: Any) -> list[tuple[int, int]]:  # noqa: ANN401 - as `joined_by` takes them
    """Return the row of each entry, and of how many records it is."""
    return [(row, records) for row, records, _ in found(joined_by(values, **given))]


def test_the_text_is_the_first_line_and_the_trace_the_others() -> None:
    entries = joined_by([*JAVA, "09:00:02 INFO pool - next"], start="java").decoded.entries
    assert as_texts(entries.text)[0] == JAVA[0]
    assert entries.trace is not None
    assert entries.trace.to_pylist() == ["\n" + "\n".join(JAVA[1:]), None]


def test_with_a_pattern_of_ones_own_everything_else_continues() -> None:
    lines = ["> a", "b", "", "c", "> d", "", "> e", "f"]
    assert events(lines, pattern="^>") == [(0, 4), (4, 1), (6, 2)]
    assert joined_by(lines, pattern="^>").decoded.empty.tolist() == [5]


def test_only_consecutive_offsets_of_one_key_join() -> None:
    assert events(["> a", "b", "c"], pattern="^>", offsets=[0, 1, 3]) == [(0, 2), (2, 1)]
    assert events(["> a", "b", "c"], pattern="^>", keys=[b"k", b"k", b"l"]) == [(0, 2), (2, 1)]
    assert events(["> a", b'[{"msg": "x"}, {"msg": "y"}]', "c"], pattern="^>") == [(0, 1), (1, 1), (1, 1), (2, 1)]
    assert events(["> a", None, "c"], pattern="^>") == [(0, 1), (2, 1)]
    assert events(["> a", b'{"msg": "x", "stack_trace": "at y"}', "c"], pattern="^>")[-1] == (2, 1)


def test_an_event_is_bounded_by_lines_bytes_and_kafkas_times() -> None:
    lines = ["> a", *["b"] * 6]
    assert events(lines, pattern="^>", max_lines=3) == [(0, 3), (3, 3), (6, 1)]
    long = 200 * 1024 * "x"
    assert events(["> a", long, long, "z"], pattern="^>") == [(0, 2), (2, 2)]
    assert events(lines, pattern="^>", max_s=1, times=[0, 500, 1_000, 1_001, 1_002, 2_001, 2_002]) == [(0, 3), (3, 3), (6, 1)]


def test_the_last_event_is_held_until_it_is_known_that_nothing_follows() -> None:
    assert joined_by(JAVA, is_over=False, start="java").held == (0,)
    assert joined_by([*JAVA, "next"], is_over=False, start="java").held == (3,)
    assert joined_by([b"one", b"java.lang.Error: x"], is_over=False, start="java").held == (0,)
    assert joined_by([b"one", b"two"], is_over=False, start="java").held == (1,)
    assert joined_by([b"> a", b""], is_over=False, pattern="^>").held == (0,)
    assert joined_by([b"> a", b'[{"msg": "x"}, {"msg": "y"}]'], is_over=False, pattern="^>").held == (2,)
    assert joined_by([b"> a", None], is_over=False, pattern="^>").held == (2,)

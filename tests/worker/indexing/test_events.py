"""Which records are lines of one event, by example for each language; `test_record_pieces.py` cuts streams into batches."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from consumers.columns import as_texts
from consumers.decode.decoder import Decoder
from consumers.decode.rules import DecodeRules
from sinks.arrow import as_optional_texts
from worker.indexing.events import EventJoiner, JoinedEvents
from worker.indexing.record_columns import RecordColumns
from worker.settings.topic_tables import MultilineTable

KAFKA_MS = 1_795_000_000_000
JAVA = """\
09:00:01 ERROR pool - cannot connect
java.lang.IllegalStateException: no pool
\tat org.example.Pool.take(Pool.java:42)
\tat org.example.Main.main(Main.java:7)
Caused by: java.net.ConnectException: refused
\tat java.base/sun.nio.ch.Net.connect(Net.java:1)
\t... 23 more
09:00:02 INFO pool - next
java.lang.Error: without frames
09:00:03 INFO pool - last""".splitlines()
PYTHON = """\
ERROR:root:it failed
Traceback (most recent call last):
  File "a.py", line 1, in <module>
    boom()
ValueError: 7

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 3, in <module>
    raise KeyError("x")
KeyError: 'x'
INFO:root:next
  indented by itself
INFO:root:last""".splitlines()
GO = """\
starting
panic: runtime error: index out of range [5] with length 3
[signal SIGSEGV: segmentation violation]

goroutine 1 [running]:
main.work(0x1, {0xc000012345, 0x3})
\t/src/main.go:12 +0x1d
created by main.main
\t/src/main.go:5 +0x20

goroutine 7 [select]:
net/http.(*conn).serve(0xc00)
\t/go/net/http/server.go:1 +0x1
exit status 2

restarted
done""".splitlines()
NODE = """\
listening
TypeError: x is not a function
    at Object.<anonymous> (/app/a.js:1:7)
    at Module._compile (node:internal:1:2) {
  code: 'ERR_X'
}
next
last""".splitlines()


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


@pytest.mark.parametrize(
    ("start", "lines", "expected"),
    [
        ("java", JAVA, [(0, 7), (7, 1), (8, 1), (9, 1)]),
        ("python", PYTHON, [(0, 12), (12, 1), (13, 1), (14, 1)]),
        ("go", GO, [(0, 1), (1, 13), (15, 1), (16, 1)]),
        ("node", NODE, [(0, 1), (1, 5), (6, 1), (7, 1)]),
    ],
)
def test_the_trace_of_a_language_is_one_event(start: str, lines: list[str], expected: list[tuple[int, int]]) -> None:
    if start == "node":  # an error that follows a line is part of it, so it begins an event only where it is apart
        assert events(lines, start=start) == [(0, 6), (6, 1), (7, 1)]
        assert events(lines, start=start, offsets=[0, *range(2, 9)]) == expected
    else:
        assert events(lines, start=start) == expected


def test_the_text_is_the_first_line_and_the_trace_the_others() -> None:
    entries = joined_by(PYTHON, start="python").decoded.entries
    assert as_texts(entries.text)[0] == PYTHON[0]
    assert entries.trace is not None
    assert entries.trace.to_pylist() == ["\n" + "\n".join(PYTHON[1:12]), None, None, None]


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
    lines = JAVA[:7]
    assert joined_by(lines[:3], is_over=False, start="java").held == (0,)
    assert joined_by([*lines, "next"], is_over=False, start="java").held == (7,)
    assert joined_by([b"one", b"java.lang.Error: x"], is_over=False, start="java").held == (0,)
    assert joined_by([b"one", b"two"], is_over=False, start="java").held == (1,)
    assert joined_by([b"> a", b""], is_over=False, pattern="^>").held == (0,)
    assert joined_by([b"> a", b'[{"msg": "x"}, {"msg": "y"}]'], is_over=False, pattern="^>").held == (2,)
    assert joined_by([b"> a", None], is_over=False, pattern="^>").held == (2,)

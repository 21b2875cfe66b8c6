"""How one record is decoded, and what was uncertain about it: what `vectail peek` shows.

It calls the functions of the prepare step, so it shows what a worker with these settings would store; nothing is stored. Each record is
looked at alone: lines of one event that came as several records, and pieces of one line, are not joined.
"""

import re
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from consumers.columns import as_texts
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Decoded, Entries
from consumers.decode.found import NO_TIME
from consumers.decode.from_line import LineHeaders
from consumers.decode.json_repair import LINE, REPAIRS, UTF_8
from consumers.decode.kafka_times import bounded_times, is_far
from consumers.decode.line_zones import DAY_MS
from consumers.record import Record
from consumers.text.redact import Redactor
from sinks.arrow import as_optional_texts
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.entry_rules import NO_RULE
from worker.indexing.pieces import Pieces, split_entries
from worker.indexing.record_pieces import find_partial
from worker.indexing.topic_readers import TopicReader

_STRANGE_SHARE: Final = 0.1
"""Of a text's characters: with more that are controls or were no UTF-8 it hardly is one."""
_REPLACED: Final = "\ufffd"
_SCHEMA_ID_BYTES: Final = 5
"""Byte 0 and a schema's id; what it describes comes behind them."""
_LIKE_JSON: Final = re.compile(r"\s*+(?:\{|\[\s*+[{\[\"\]]|\[[\d\s.,-]*+\]\s*+$)")
"""An object or an array. A bracket before a word, a level or a date begins a line of text."""
_TEXT_CONTROL: Final = "\t\n\r\f\v"


class Peek:
    """Looks at records of one topic.

    Thread: one; it holds a tokenizer.
    """

    def __init__(
        self, *, reader: TopicReader, tally: DecodeTally, headers: LineHeaders, redactor: Redactor, tokenizer: Tokenizer, prefix: str
    ) -> None:
        """`tally` is that of the reader's decoder, `headers` has its zone and year; `prefix` comes before each text that is embedded."""
        self._reader = reader
        self._tally = tally
        self._headers = headers
        self._redactor = redactor
        self._tokenizer = tokenizer
        self._prefix = prefix

    def look_at(self, record: Record, now_ms: float) -> dict[str, Any]:
        """Return what `--json` prints of a record that a worker would poll at `now_ms`."""
        kafka_ms = bounded_times(np.array([record.time_ms]), now_ms)
        tally = self._tally
        before, repaired = tally.records.copy(), tally.repaired.copy()
        replaced, opened, made = tally.replaced_records, tally.opened_texts, tally.made_texts
        decoded = self._reader.decoder.decode([record.value], kafka_ms, [record.headers] if record.headers else None)
        forms = [form for form, records in tally.records.items() if records > before[form] and form != "none"]
        rejection = decoded.rejected[0][1] if decoded.rejected else None
        is_empty = bool(len(decoded.empty))
        notes = [REPAIRS[UTF_8]] if tally.replaced_records > replaced else []
        defects = [what for what in REPAIRS if tally.repaired[what] > repaired[what]]
        notes += [f"repaired: {REPAIRS[what]}" for what in defects if what != UTF_8]
        if tally.opened_texts > opened:
            notes.append("its text is an object of JSON and is read as one")
        if tally.made_texts > made:
            notes.append("a message of syslog has no text: it is made of its id and structured data")
        if is_far(record.time_ms, now_ms):
            notes.append("Kafka's time is before 1970 or more than a day ahead: the time when a worker reads it stands for it")
        entries = [] if rejection or is_empty else self._entries(int(kafka_ms[0]), decoded)
        if not rejection and not is_empty:
            notes += _doubts(record.value or b"", forms[0] if forms else "", [] if LINE in defects else entries)
            if len(find_partial(decoded.entries, [record.value])):
                notes.append("a piece of a line: a worker joins it with the records behind it")
        return {
            "partition": record.partition,
            "offset": record.offset,
            "kafka_time": record.time_ms or None,
            "bytes": len(record.value or b""),
            "format": forms[0] if forms else None,
            "outcome": "rejected" if rejection else "empty" if is_empty else "entries",
            "reason": rejection.reason if rejection else None,
            "notes": notes,
            "entries": entries,
        }

    def _entries(self, kafka_ms: int, decoded: Decoded) -> list[dict[str, Any]]:
        found = decoded.entries
        met = self._reader.dropped_by(found)
        pieces = split_entries(found, redactor=self._redactor, chunker=self._reader.chunker)
        told = [self._entry(pieces.entries, i) for i in range(found.size)]
        in_line = self._headers.times(found.text, np.full(found.size, kafka_ms))
        for i, entry in enumerate(told):
            entry["time_from"] = _source_of(int(found.time_ms[i]), int(in_line[i]), kafka_ms)
            entry["notes"] = _time_notes(int(found.time_ms[i]), int(in_line[i]), kafka_ms)
            if met is not None and met[i] != NO_RULE and self._reader.drop is not None:
                entry["dropped_by"] = self._reader.drop.rules[int(met[i])].name
        self._add_chunks(told, pieces)
        return told

    def _entry(self, entries: Entries, i: int) -> dict[str, Any]:
        row = np.array([i])
        one = entries.take(row)
        (fields,) = as_optional_texts(one.fields)
        trace = None if one.trace is None else as_optional_texts(one.trace)[0]
        return {
            "sub": int(entries.sub[i]),
            "text": as_texts(one.text)[0],
            "trace": trace,
            "time": int(entries.time_ms[i]) or None,
            "service": one.service.text(0),
            "level": one.level.text(0),
            "fields": fields,
            "dropped_by": None,
            "chunks": [],
        }

    def _add_chunks(self, told: list[dict[str, Any]], pieces: Pieces) -> None:
        cut = pieces.cut
        tokens: NDArray[np.int64] = self._tokenizer.count([self._prefix + text for text in cut.template.values])
        for row, code in zip(cut.row.tolist(), cut.template.codes.tolist(), strict=True):
            told[row]["chunks"].append({"template": cut.template.values[code], "tokens": int(tokens[code])})
        for row in cut.too_long.tolist():
            told[row]["notes"].append("more chunks than `decode.max_chunks`: it becomes a dead letter")


def _source_of(time_ms: int, in_line_ms: int, kafka_ms: int) -> str:
    """Return who said when an entry was logged: "record", "line" or "kafka"."""
    if time_ms == in_line_ms:
        return "line"
    return "kafka" if time_ms == kafka_ms else "record"


def _time_notes(time_ms: int, in_line_ms: int, kafka_ms: int) -> list[str]:
    if time_ms == kafka_ms and in_line_ms != NO_TIME and kafka_ms > 0 and in_line_ms > kafka_ms + DAY_MS:
        return ["the time of the line is more than a day after Kafka's, so Kafka's holds"]
    return []


def _doubts(value: bytes, form: str, entries: list[dict[str, Any]]) -> list[str]:
    """Return what `auto` cannot be sure of."""
    if form == "text":
        return _doubts_of_text(value)
    whole = _objects_of(value) if form == "json" and any(entry["text"].startswith("{") for entry in entries) else []
    if any(_parsed(entry["text"]) in whole for entry in entries if entry["text"].startswith("{")):
        return ["no known field holds a message, so the whole object is the text: see `topic.fields.text`"]
    return []


def _doubts_of_text(value: bytes) -> list[str]:
    text = value.decode("utf-8", "replace")
    strange = sum(1 for character in text if (character < " " and character not in _TEXT_CONTROL) or character == _REPLACED)
    if value[:1] == b"\0" and len(value) > _SCHEMA_ID_BYTES:
        return ["it begins with byte 0, as values of a Schema Registry do: see `registry.url`"]
    if strange > _STRANGE_SHARE * len(text):
        return ["it is hardly text: `otlp_proto` and `msgpack` are never guessed, see `topic.format`"]
    if _LIKE_JSON.match(text):
        return ["it begins like JSON but is none" if _parsed(value) is None else "it is JSON, but no object"]
    return []


def _objects_of(value: bytes) -> list[object]:
    """Return the JSON objects in a value, one, an array of them or one a line; none if it is not plain JSON."""
    text = value.decode("utf-8", "replace")
    found = _parsed(text)
    if found is None:
        return [_parsed(line) for line in text.splitlines() if line.startswith("{")]
    return found if isinstance(found, list) else [found]


def _parsed(text: str | bytes) -> object:
    """Return what JSON says; None if it is none."""
    try:
        parsed: object = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return parsed

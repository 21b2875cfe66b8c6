"""Shapes that people reported of log shippers: each file is the value of one record, `expected.json` says what comes out."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consumers.columns import Column
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Decoded
from consumers.decode.rules import DecodeRules
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker
from consumers.text.split_long import PieceLimits
from producers.file_lines import read_files
from tests.consumers.decode.seen import Seen, seen
from tests.worker.indexing.test_events import events

_FOLDER = Path(__file__).parent
_EXPECTED: dict[str, dict[str, Any]] = json.loads((_FOLDER / "expected.json").read_text(encoding="utf-8"))
_RECORDS = sorted(name for name, case in _EXPECTED.items() if case.get("entries") is not None)
_EVENTS = sorted(name for name, case in _EXPECTED.items() if "events" in case)
_KAFKA_MS = int(datetime.fromisoformat("2026-11-23T12:00:00+00:00").timestamp() * 1000)
_SAYS_SOMETHING = 4
"""Letters that a text at least has which is not empty in meaning."""


def decode(value: bytes) -> Decoded:
    return Decoder(DecodeRules()).decode([value], np.array([_KAFKA_MS]))


def templates(text: Column, trace: Column | None, source: Column | None) -> list[str]:
    """Return the template of the first piece of each text, by a model that counts words and has room for all of them."""
    limits = PieceLimits(max_tokens=512, overhead_tokens=2, max_text_bytes=8_192, max_chunks=256)
    chunker = Chunker(mask=Masker().mask_column, count_tokens=lambda texts: [len(one.split()) for one in texts], limits=limits)
    cut = chunker.split(text, trace, source)
    first = {row: place for place, row in reversed(list(enumerate(cut.row.tolist())))}
    return [cut.template.text(first[row]) for row in range(len(text))]


def check(entry: Seen, template: str, expected: dict[str, Any]) -> None:
    """Compare an entry with what should come out; what `expected` does not name may be anything."""
    checks: dict[str, Callable[[Any], bool]] = {
        "t": lambda moment: entry.time_ms == int(datetime.fromisoformat(moment).timestamp() * 1000),
        "L": lambda level: entry.level == level,
        "S": lambda service: entry.service == service,
        "text": lambda text: entry.text == text,
        "not_text": lambda part: part not in entry.text,
        "some_text": lambda _: sum(map(str.isalpha, entry.text)) >= _SAYS_SOMETHING,
        "field": lambda name: name in entry.fields,
        "trace": lambda part: entry.trace is not None and part in entry.trace,
        "tpl": lambda part: part in template,
        "not_tpl": lambda part: part not in template,
        "tpl_is": lambda whole: template == whole,
    }
    wrong = [f"{name}={value!r}" for name, value in expected.items() if not checks[name](value)]
    assert not wrong, f"{wrong} does not hold of {entry}, {template=}"


@pytest.mark.parametrize("name", _RECORDS)
def test_a_record_from_the_field_is_read_as_it_was_meant(name: str) -> None:
    decoded = decode((_FOLDER / name).read_bytes())
    entries = decoded.entries
    found, expected = seen(entries), _EXPECTED[name]["entries"]
    assert decoded.rejected == []
    assert len(found) == len(expected)
    for entry, template, one in zip(found, templates(entries.text, entries.trace, entries.template), expected, strict=True):
        check(entry, template, one)


@pytest.mark.parametrize("name", _EVENTS)
def test_an_event_of_several_records_is_not_torn(name: str) -> None:
    case = _EXPECTED[name]
    lines = (_FOLDER / name).read_bytes().splitlines()
    assert len(events(lines, start=case["start"])) == case["events"]


def test_files_of_other_encodings_have_their_lines() -> None:
    lines = list(read_files([str(_FOLDER / "utf16.log")]))
    assert [seen(decode(line).entries)[0].level for line in lines if isinstance(line, bytes)] == ["ERROR", "INFO", "WARN"]
    assert len(list(read_files([str(_FOLDER / "app.log.gz")]))) == 2

"""What real producers wrote is decoded as they meant it, and so are the lines and messages of many programs.

The files in tests/golden were made by the scripts in tests/golden/make, which do not run here; those in tests/golden/cases hold what
programs write by their documentation, and the entry or the rejection of each that a person has looked at.
"""

import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consumers.decode.decoder import Decoder
from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas
from consumers.decode.rules import DecodeRules
from consumers.record import Header
from consumers.schema import FetchedSchema
from tests.consumers.decode.seen import Seen, seen

_FOLDER = Path(__file__).parents[2] / "golden"
_FILES = sorted(_FOLDER.glob("*.jsonl"))
_REJECTED = _FOLDER / "cases" / "rejected.jsonl"
_CASES = sorted({*(_FOLDER / "cases").glob("*.jsonl")} - {_REJECTED})
_LEAST_REAL_PRODUCERS = 12
_OFTEN = 9
"""As often as a record must come for the fast paths to be taken."""


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a file says of its producer, and its records; cases have none."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return (records[0], records[1:]) if path in _FILES else ({}, records)


def _schemas(head: dict[str, Any]) -> Schemas:
    schemas = Schemas()
    for one in head.get("schemas", ()):
        key = int(one["key"]) if one["key"].isdigit() else one["key"]
        schemas.add_schema(key, new_schema(FetchedSchema(one["kind"], one["text"])))
    return schemas


def _value(record: dict[str, Any]) -> bytes:
    return b64decode(record["value_base64"]) if "value_base64" in record else record["value"].encode()


def _headers(record: dict[str, Any]) -> tuple[Header, ...]:
    return tuple((name, None if value is None else b64decode(value)) for name, value in record.get("headers", ()))


def _decoded(head: dict[str, Any], records: list[dict[str, Any]]) -> list[Seen]:
    """Return the entries of records of one format, decoded together."""
    decoder = Decoder(DecodeRules(format=records[0]["format"]), schemas=_schemas(head) if "schemas" in head else None)
    kafka_ms = np.array([record["kafka_ms"] for record in records], np.int64)
    decoded = decoder.decode([_value(record) for record in records], kafka_ms, [_headers(record) for record in records])
    assert decoded.rejected == []
    return seen(decoded.entries)


def _expected(records: list[dict[str, Any]]) -> list[Seen]:
    return [
        Seen(row, sub, one["text"], one["time_ms"], one["service"], one["level"], one["fields"], one["trace"], one.get("template"))
        for row, record in enumerate(records)
        for sub, one in enumerate(record["expected"])
    ]


@pytest.mark.parametrize("path", [*_FILES, *_CASES], ids=lambda path: str(path.relative_to(_FOLDER)))
def test_each_record_of_a_producer_gives_its_entries(path: Path) -> None:
    head, records = _read(path)
    for form in dict.fromkeys(record["format"] for record in records):
        chosen = [record for record in records if record["format"] == form]
        assert _decoded(head, chosen) == _expected(chosen)
        assert _decoded(head, chosen[::-1]) == _expected(chosen[::-1])


@pytest.mark.slow
@pytest.mark.parametrize("path", [*_FILES, *_CASES], ids=lambda path: str(path.relative_to(_FOLDER)))
def test_a_record_gives_the_same_entries_alone_and_where_it_comes_often(path: Path) -> None:
    head, records = _read(path)
    for record in records:
        assert _decoded(head, [record]) == _expected([record])
        assert _decoded(head, [record] * _OFTEN) == _expected([record] * _OFTEN)


_BAD = _read(_REJECTED)[1]


@cache
def _good(form: str) -> dict[str, Any]:
    """Return a record of a format that has entries."""
    return next(one for path in [*_CASES, *_FILES] for one in _read(path)[1] if one["format"] == form and one["expected"])


@pytest.mark.parametrize("number", range(len(_BAD)), ids=lambda number: f"line {number + 1}, {_BAD[number]['format']}")
def test_what_is_not_of_its_format_is_rejected_and_its_neighbours_are_read(number: int) -> None:
    record = _BAD[number]
    good = _good(record["format"])
    records = [good, record, good]
    kafka_ms = np.full(3, good["kafka_ms"])
    decoded = Decoder(DecodeRules(format=record["format"])).decode([*map(_value, records)], kafka_ms, [*map(_headers, records)])
    assert [(row, rejection.kind, rejection.reason) for row, rejection in decoded.rejected] == [(1, "undecodable", record["rejected"])]
    assert [entry._replace(row=0) for entry in seen(decoded.entries)] == _expected([good]) * 2


def test_every_file_says_who_made_it() -> None:
    heads = [_read(path)[0] for path in _FILES]
    assert all((_FOLDER.parents[1] / head["made_by"]).is_file() for head in heads)
    assert sum(not head["written_from_documentation"] for head in heads) >= _LEAST_REAL_PRODUCERS

"""What real producers wrote is decoded as they meant it.

The files in tests/golden were made by the scripts in tests/golden/make, which do not run here.
"""

import json
from base64 import b64decode
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
_LEAST_REAL_PRODUCERS = 12


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what a file says of its producer, and its records."""
    head, *records = [json.loads(line) for line in path.read_text().splitlines()]
    return head, records


def _schemas(head: dict[str, Any]) -> Schemas:
    schemas = Schemas()
    for one in head.get("schemas", ()):
        key = int(one["key"]) if one["key"].isdigit() else one["key"]
        schemas.add_schema(key, new_schema(FetchedSchema(one["kind"], one["text"])))
    return schemas


def _headers(record: dict[str, Any]) -> tuple[Header, ...]:
    return tuple((name, None if value is None else b64decode(value)) for name, value in record["headers"])


def _decoded(head: dict[str, Any], records: list[dict[str, Any]]) -> list[Seen]:
    """Return the entries of records of one format, decoded together."""
    decoder = Decoder(DecodeRules(format=records[0]["format"]), schemas=_schemas(head) if "schemas" in head else None)
    kafka_ms = np.array([record["kafka_ms"] for record in records], np.int64)
    decoded = decoder.decode([b64decode(record["value_base64"]) for record in records], kafka_ms, [_headers(record) for record in records])
    assert decoded.rejected == []
    return seen(decoded.entries)


def _expected(records: list[dict[str, Any]]) -> list[Seen]:
    return [
        Seen(row, sub, one["text"], one["time_ms"], one["service"], one["level"], one["fields"], one["trace"], one.get("template"))
        for row, record in enumerate(records)
        for sub, one in enumerate(record["expected"])
    ]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_each_record_of_a_producer_gives_its_entries(path: Path) -> None:
    head, records = _read(path)
    for form in dict.fromkeys(record["format"] for record in records):
        chosen = [record for record in records if record["format"] == form]
        assert _decoded(head, chosen) == _expected(chosen)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_a_record_gives_the_same_entries_alone_as_among_its_neighbours(path: Path) -> None:
    head, records = _read(path)
    for record in records:
        assert _decoded(head, [record]) == _expected([record])


def test_every_file_says_who_made_it() -> None:
    heads = [_read(path)[0] for path in _FILES]
    assert all((_FOLDER.parents[1] / head["made_by"]).is_file() for head in heads)
    assert sum(not head["written_from_documentation"] for head in heads) >= _LEAST_REAL_PRODUCERS

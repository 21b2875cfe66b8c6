"""What the loggers and shippers of the world write as JSON, each read by the general rules and by the fast path."""

import json
from typing import Any

import numpy as np
import pytest

from consumers.columns import byte_column
from consumers.decode.found import Found, Values
from consumers.decode.json_columns import JsonColumns
from consumers.decode.json_document import Documents
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_roles import RoleRules
from consumers.decode.rules import DecodeRules
from tests.consumers.decode.json_flavours import FLAVOURS, MS

NEVER_FAST = {"fluent_bit_of_json", "fluent_bit_of_cri", "vector_native_json", "clef_to_render", "no_message"}


def entry_at(found: Found, row: int) -> tuple[Any, ...]:
    fields = found.fields[row].as_py()
    trace = None if found.trace is None else found.trace[row].as_py()
    labels = (found.service.text(row), found.level.text(row))
    return (found.text[row].as_py(), int(found.time_ms[row]), *labels, None if fields is None else json.loads(fields), trace)


def values_of(value: bytes, times: int) -> Values:
    return Values([value] * times, byte_column([value] * times), np.full(times, MS))


@pytest.mark.parametrize("name", FLAVOURS)
def test_each_flavour_gives_text_time_service_level_fields_and_trace(name: str) -> None:
    document, *entry = FLAVOURS[name]
    rules = DecodeRules()
    general = Documents(rules, RoleRules(rules))
    found = general.found([general.walk(document)], np.zeros(1, np.int64), np.zeros(1, np.int32), np.array([MS]))
    assert entry_at(found, 0) == tuple(entry)


@pytest.mark.parametrize("name", FLAVOURS)
def test_the_fast_path_reads_each_flavour_alike(name: str) -> None:
    document, *entry = FLAVOURS[name]
    for ascii_only in (True, False):
        found = JsonReader(DecodeRules()).read(values_of(json.dumps(document, ensure_ascii=ascii_only).encode(), 9))
        assert [entry_at(found, row) for row in range(9)] == [tuple(entry)] * 9
        assert found.place.tolist() == list(range(9))


@pytest.mark.parametrize("name", sorted(FLAVOURS.keys() - NEVER_FAST))
def test_what_loggers_usually_write_takes_the_fast_path(name: str) -> None:
    document, value = FLAVOURS[name].document, json.dumps(FLAVOURS[name].document).encode()
    columns = JsonColumns(DecodeRules(), RoleRules(DecodeRules()))
    assert columns.form.learn([document])
    groups, others = columns.read([value] * 9, np.full(9, MS))
    assert [places.tolist() for places, _ in groups] == [list(range(9))]
    assert not others

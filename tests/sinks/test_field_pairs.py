"""Names and values found in the bytes of kept fields: the same as a parser finds, whatever they hold."""

import json
from collections.abc import Callable

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.arrow import join_texts, string_column
from sinks.contents import words_of
from sinks.field_pairs import NO_VALUE, field_names, field_text, field_values, find_pairs, parsed_pairs
from sinks.lines import lines_of
from sinks.words import field_word
from tests.world import line

HOSTILE = (
    "",
    ":",
    ",",
    '"',
    '\\"',
    "\\",
    "\\\\",
    '":"',
    ',":',
    "}{",
    '"}{"',
    "}",
    "{",
    "[1,2]",
    "\0",
    "\n",
    "\x1b",
    "é日",
    "a.b",
    "x" * 256,
)
NAMES = st.one_of(st.sampled_from(("trace_id", "k8s.pod.name", "n", *HOSTILE)), st.text(max_size=12))
NUMBERS = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
VALUES = st.one_of(st.sampled_from(("trace_id", "n", *HOSTILE)), st.text(max_size=30), NUMBERS)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=8)
WRITERS = st.sampled_from([orjson.dumps, msgspec.json.encode, lambda one: json.dumps(one).encode()])


def by_parser(texts: list[str | None]) -> set[tuple[str, str]]:
    return {pair for text in texts for pair in parsed_pairs(text)}


def words(texts: list[str | None]) -> list[int]:
    lines = lines_of([line(offset, text="words of texts are not looked at", fields=text) for offset, text in enumerate(texts)])
    found: list[int] = words_of(lines, join_texts(lines.text)).tolist()
    return found


@given(st.lists(st.one_of(st.none(), OBJECTS), max_size=8), WRITERS)
@example([{"a": 1e-5, "b": 1.5, "c": -0.0, "d": 1e300, "e": 123456789.123456789, "f": True}], msgspec.json.encode)
@example([{'a"': 'b\\"', "c": "\\"}, {"d": "\\\\"}], orjson.dumps)
def test_words_are_those_of_a_parser(objects: list[dict[str, object] | None], write: Callable[[object], bytes]) -> None:
    texts = [None if one is None else write(one).decode() for one in objects]
    assert words(texts) == sorted({field_word(*pair) for pair in by_parser(texts)})


@given(st.lists(st.one_of(st.none(), OBJECTS), max_size=8), NAMES, WRITERS)
def test_values_are_those_of_a_parser(objects: list[dict[str, object] | None], name: str, write: Callable[[object], bytes]) -> None:
    texts = [None if one is None else write(one).decode() for one in objects]
    found = field_values(string_column(texts), name)
    values = [None if code == NO_VALUE else found.values[code] for code in found.codes.tolist()]
    assert values == [dict(parsed_pairs(text)).get(name) for text in texts]


@given(st.lists(st.one_of(st.none(), OBJECTS), max_size=8), WRITERS)
@example([{"a": 1, "A": 2}, None, {}, {'quo"te': 3, "é": "a"}], orjson.dumps)
def test_names_are_those_of_a_parser(objects: list[dict[str, object] | None], write: Callable[[object], bytes]) -> None:
    texts = [None if one is None else write(one).decode() for one in objects]
    found = field_names(string_column(texts))
    pairs = [(row, found.names[code]) for row, code in zip(found.rows.tolist(), found.codes.tolist(), strict=True)]
    assert pairs == [(row, name) for row, text in enumerate(texts) for name, _ in parsed_pairs(text)]
    assert len(set(found.names)) == len(found.names)


@pytest.mark.parametrize(
    "text",
    [
        *['{"a": 1}', '{ "a":1}', '{"a":1 }', '{"a":1}\n', '{"a":"b" ,"c":1}', '{"a":{"b":"c"}}', '{"a":{"b":1}}'],
        *['{"a":[1,2],"b":"c"}', '{"a":["b"]}', "{}", "[]", '["a"]', '"a"', "no JSON", '{"a"}', '{"a":}', '{"a":,"b":1}', '{"a":1'],
        *['"a":1}', '{"a":1}}', '{"a":1,,"b":2}', '{"a":tru}', '{"a":"b', '{:"a"}', ""],
    ],
)
def test_texts_of_another_shape_are_parsed_and_do_no_harm_to_others(text: str) -> None:
    good = '{"trace_id":"t-1000001","n":7}'
    texts: list[str | None] = [good, text, None, good]
    found = set(words(texts))
    assert {field_word("trace_id", "t-1000001"), field_word("n", "7")} <= found
    assert found >= {field_word(*pair) for pair in by_parser(texts)}
    assert field_values(string_column(texts), "n").codes.tolist() == [0, NO_VALUE, NO_VALUE, 0]


def test_what_decoders_write_is_never_parsed_line_by_line() -> None:
    fields = {
        "trace_id": "4bf92f35",
        "path": "C:\\temp\\",
        "said": 'he said "no"',
        "both": '\\"',
        "n": 7,
        "f": 0.1,
        "ok": True,
        'a"b': "é\n",
    }
    for write in (orjson.dumps, msgspec.json.encode):
        texts = [write(fields | {"n": i}).decode() for i in range(100)]
        pairs = find_pairs(string_column([None, *texts]))
        assert pairs is not None
        assert len(pairs.is_text) == 800
        assert pairs.is_odd.sum() == 400


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (7, "7"), (1.5, "1.5"), (True, "true"), (None, "null"), (2**63, "9223372036854775808")]
)
def test_a_value_has_one_text(value: object, text: str) -> None:
    assert field_text(value) == text


def test_a_slice_of_a_column_has_its_own_lines() -> None:
    column = string_column([f'{{"n":"v{i}"}}' for i in range(10)]).slice(4, 3)
    found = field_values(column, "n")
    assert [found.values[code] for code in found.codes] == ["v4", "v5", "v6"]
    assert found.codes.dtype == np.int32

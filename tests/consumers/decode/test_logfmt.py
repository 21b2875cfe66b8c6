"""logfmt: pairs of several styles, and what is none."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts, byte_column, string_column
from consumers.decode.found import NO_TIME, Found, Values
from consumers.decode.logfmt import LogfmtReader
from consumers.decode.logfmt_pairs import objects_of, pairs_of
from consumers.decode.rules import DecodeRules
from consumers.decode.tally import DecodeTally

KAFKA_MS = 1_795_400_000_000
AT_MS = 1_795_395_723_000
"""2026-11-23T01:02:03Z."""

Entry = tuple[int, int, str, int | None, str, str, str | None]


READER = LogfmtReader(DecodeRules(), DecodeTally())


def read(values: list[bytes], rules: DecodeRules | None = None) -> Found:
    reader = READER if rules is None else LogfmtReader(rules, DecodeTally())
    return reader.read(Values(values, byte_column(values), np.full(len(values), KAFKA_MS)))


def entries(values: list[bytes], rules: DecodeRules | None = None) -> list[Entry]:
    """Return (place, sub, text, time, service, level, fields) of each entry."""
    found = read(values, rules)
    texts, fields = as_texts(found.text), found.fields.to_pylist()
    times = [None if time_ms == NO_TIME else time_ms for time_ms in found.time_ms.tolist()]
    return [
        (int(found.place[i]), int(found.sub[i]), texts[i], times[i], found.service.text(i), found.level.text(i), fields[i])
        for i in range(found.size)
    ]


def test_several_lines_in_a_value_are_several_entries() -> None:
    values = [b"msg=a", b"msg=b n=1\n\nmsg=c\r\n  \n", b"msg=d"]
    assert [entry[:3] for entry in entries(values)] == [(0, 0, "a"), (1, 0, "b"), (1, 1, "c"), (2, 0, "d")]


NAME = st.text(alphabet="abcZ_.-9ä\\{", min_size=1, max_size=6)
CONTENT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\= \n\t'), max_size=8)


def written(value: str) -> str:
    """Return a value as Go's loggers write it."""
    if value and value.isprintable() and not set(value) & set(' "='):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


@given(pairs=st.dictionaries(NAME, CONTENT, min_size=1, max_size=6))
def test_what_was_written_comes_back(pairs: dict[str, str]) -> None:
    line = " ".join(f"{name}={written(value)}" for name, value in pairs.items())
    assert pairs_of(line) == pairs
    assert json.loads(as_texts(objects_of(string_column([line])))[0]) == pairs


@given(lines=st.lists(st.text(alphabet='ab="\\ nx\tu0', min_size=1, max_size=20), min_size=1, max_size=5))
def test_any_line_becomes_the_same_object_column_wise_and_alone(lines: list[str]) -> None:
    objects = [json.loads(text) for text in as_texts(objects_of(string_column(lines)))]
    assert objects == [pairs_of(line) for line in lines]

"""logfmt: pairs of several styles, and what is none."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, byte_column, string_column
from consumers.decode.decoder import Decoder
from consumers.decode.found import NO_TIME, Found, Values
from consumers.decode.logfmt import LogfmtReader
from consumers.decode.logfmt_pairs import objects_of, pairs_of
from consumers.decode.rules import DecodeRules, FieldNames
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


CASES: dict[str, tuple[bytes, str, int | None, str, str, str | None]] = {
    "logrus": (
        b'time="2026-11-23T01:02:03Z" level=warning msg="disk \\"full\\"" size=3 path=/var/log\n',
        *('disk "full"', AT_MS, "", "WARN", '{"level.original":"warning","path":"/var/log","size":"3"}'),
    ),
    "slog": (
        b'time=2026-11-23T01:02:03.000Z level=ERROR msg=failed err="dial tcp: i/o timeout" trace_id=ab12 service=api',
        *("failed", AT_MS, "api", "ERROR", '{"trace_id":"ab12","err":"dial tcp: i/o timeout"}'),
    ),
    "Grafana": (
        b't=2026-11-23T01:02:03+0000 lvl=eror logger=context userId=0 msg="Request error" error="a\\tb"',
        *("Request error", AT_MS, "", "ERROR", '{"logger":"context","level.original":"eror","error":"a\\tb","userId":"0"}'),
    ),
    "Heroku's router, no message": (
        b"at=info method=GET path=/ host=x.herokuapp.com status=200",
        *("at=info method=GET path=/ host=x.herokuapp.com status=200", None, "", ""),
        '{"host.name":"x.herokuapp.com","http.response.status_code":200,"at":"info","method":"GET","path":"/"}',
    ),
    "colours": (b"\x1b[36mlevel\x1b[0m=info \x1b[36mmsg\x1b[0m=hi", *("hi", None, "", "INFO", None)),
    "words before": (b"Starting up a=b", *("Starting up a=b", None, "", "", '{"a":"b"}')),
    "Go's escapes": (b'msg="\\u00e4\\x41\\n\\a" p=C:\\new', *("äA\n\a", None, "", "", '{"p":"C:\\\\new"}')),
    "a tab": (b'a="1\t2"\tmsg=x', *("x", None, "", "", '{"a":"1\\t2"}')),
    "an empty message": (b'msg="" a=b', *('msg="" a=b', None, "", "", '{"a":"b"}')),
    "a name within a value": (b'a="msg=x" b=,"msg":', *('a="msg=x" b=,"msg":', None, "", "", '{"a":"msg=x","b":","}')),
    "a name twice": (b"msg=first msg=last", *("last", None, "", "", None)),
    "a quote that does not end": (b'msg=x a="b c', *("x", None, "", "", None)),
    "bytes that are not UTF-8": (b"msg=\xff a=b", *("\ufffd", None, "", "", '{"a":"b"}')),
    "NUL at the end": (b"msg=x\n\0", *("x", None, "", "", None)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_line_is_its_message_time_level_service_and_fields(name: str) -> None:
    value, *rest = CASES[name]
    assert entries([value]) == [(0, 0, *rest)]


def test_lines_of_all_kinds_are_read_together() -> None:
    assert entries([value for value, *_ in CASES.values()]) == [(place, 0, *rest) for place, (_, *rest) in enumerate(CASES.values())]


def test_several_lines_in_a_value_are_several_entries() -> None:
    values = [b"msg=a", b"msg=b n=1\n\nmsg=c\r\n  \n", b"msg=d"]
    assert [entry[:3] for entry in entries(values)] == [(0, 0, "a"), (1, 0, "b"), (1, 1, "c"), (2, 0, "d")]


@pytest.mark.parametrize("value", [b"no pair", b"=", b"=a", b'"a"="b"', b"a = b", b"msg=a\nno pair", b"{}"])
def test_a_line_without_a_pair_makes_its_value_undecodable_and_no_other(value: bytes) -> None:
    found = read([b"msg=before", value, b"msg=after"])
    assert (found.place.tolist(), as_texts(found.text)) == ([0, 2], ["before", "after"])
    assert [(place, rejection.reason) for place, rejection in found.failed] == [(1, "undecodable: not logfmt: a line without a pair")]


def test_more_lines_in_a_value_than_are_allowed_are_too_many() -> None:
    found = read([b"msg=a\nmsg=b", b"msg=a\nmsg=b\nmsg=c"], DecodeRules(max_entries=2))
    assert found.place.tolist() == [0, 0]
    assert [(place, rejection.kind) for place, rejection in found.failed] == [(1, "too_many_entries")]


def test_strict_rules_reject_what_is_not_utf_8() -> None:
    found = read([b"msg=a", b"msg=\xff", b"msg=b"], DecodeRules(strict=True))
    assert found.place.tolist() == [0, 2]
    assert [(place, rejection.reason) for place, rejection in found.failed] == [(1, "undecodable: not valid UTF-8")]


def test_names_of_the_rules_come_first() -> None:
    rules = DecodeRules(names=FieldNames(text=("what",), time=("when",), service=("who",), keep=("long",)))
    value = b"what=x msg=y when=2026-11-23T01:02:03Z time=2020-01-01T00:00:00Z who=api long=" + b"l" * 300
    assert entries([value], rules) == [(0, 0, "x", AT_MS, "api", "", f'{{"long":"{"l" * 300}","msg":"y","time":"2020-01-01T00:00:00Z"}}')]


def test_a_topic_of_logfmt_is_read_as_such_and_auto_never_guesses_it() -> None:
    values = [b"level=info msg=a", b"none"]
    kafka_ms = np.full(2, KAFKA_MS)
    decoded = Decoder(DecodeRules(format="logfmt")).decode(values, kafka_ms)
    assert (as_texts(decoded.entries.text), [row for row, _ in decoded.rejected]) == (["a"], [1])
    assert as_texts(Decoder().decode(values, kafka_ms).entries.text) == ["level=info msg=a", "none"]


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


PIECES = st.sampled_from(["msg=", "a=", '"', "x", " ", "\n", "\\", "level=info ", "\t", "\0", "\x1b[0m", "ts=2026-11-23T01:02:03Z "])


@settings(max_examples=40)
@given(values=st.lists(st.lists(PIECES, min_size=1, max_size=8).map(lambda pieces: "".join(pieces).encode()), min_size=1, max_size=6))
def test_neighbours_do_not_influence_each_other(values: list[bytes]) -> None:
    together, alone = read(values), [read([value]) for value in values]
    assert as_texts(together.text) == [text for found in alone for text in as_texts(found.text)]
    assert together.fields.to_pylist() == [fields for found in alone for fields in found.fields.to_pylist()]
    assert together.sub.tolist() == [sub for found in alone for sub in found.sub.tolist()]
    assert [place for place, _ in together.failed] == [place for place, found in enumerate(alone) if found.failed]

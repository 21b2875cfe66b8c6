"""The fast path of JSON never changes an answer: whatever a record holds, its entries are those of the general rules."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import byte_column
from consumers.decode.entries import Entries
from consumers.decode.found import Values
from consumers.decode.json_document import Documents, Walked
from consumers.decode.json_envelopes import WRAPPERS
from consumers.decode.json_names import (
    LATE_TIME_NAMES,
    LEVEL_NAMES,
    LEVEL_REPEATED,
    SERVICE_NAMES,
    TEMPLATE_LOGGER_NAMES,
    TEMPLATE_NAMES,
    TEXT_NAMES,
    TIME_NAMES,
    TRACE_NAMES,
)
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_roles import RoleRules
from consumers.decode.json_text import NotJson
from consumers.decode.json_values import TooManyEntries, documents_in, repaired_value
from consumers.decode.kept_fields import ALIASES
from consumers.decode.rules import Clock, DecodeRules, FieldNames

Entry = tuple[int, str, int, str, str, str | None, str | None, str | None]
KAFKA_MS = 1_750_000_000_000

SHAPED = (
    *("log_time", "error_severity", "levelName", "app_name", "errorText", "t.$date", "c", "s", "status", "ddtags", "start_time", "type"),
    *("records",),
)
STEPS = ("original", "level", "labels", "app", "name", "stringValue", "kubernetes", "host", "log", "service", "event", "instant", "error")
ODD_NAMES = ("pid", "x", "_x", "_service", "_SYSTEMD_UNIT", "", ".", "a.b", 'q"\\', "é", "\x00", "x" * 257)
OF_TEMPLATES = (*TEMPLATE_NAMES, *TEMPLATE_LOGGER_NAMES)
NAMES = (
    *(*TEXT_NAMES, *SERVICE_NAMES, *LEVEL_NAMES, *LEVEL_REPEATED, *TIME_NAMES, *TRACE_NAMES, *OF_TEMPLATES, *sorted(ALIASES)),
    *(*STEPS, *ODD_NAMES, *SHAPED, *WRAPPERS, *LATE_TIME_NAMES),
)
LEVELS = ("info", "WARN", "[error]", "fatal:", "3", "30", "nonsense", " ", "I")
TIMES = ("2026-01-02T03:04:05.678Z", "2026-01-02 03:04:05,678", "1700000000", "Dec 10 06:55:46", "1700000000123456", "now")
LONG = ("x" * 256, "y" * 257, "z" * 1_100, "w" * 5_000)
TEXTS = (
    *("a text", "a text\nat x", "语\n", '{"msg":"within","level":"warn","x":1}', "{no", "{x} of {level}"),
    *("2026-01-02T03:04:05.1Z stdout F said", "ssh.service", "failed\na.B: closed\n\tat a.B.c(B.java:1)"),
    *("Error: closed\n    at empty (cart.js:77:1)\n", "\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)"),
)
NUMBERS = (
    *("0", "-0", "-0.0", "0.0", "1", "3", "17", "30", "60", "99", "-1", "1.0", "3.5", "1e2", "200", "404", "9" * 18, "9" * 19, "9" * 60),
    *("9" * 400, "-" + "9" * 310, "9223372036854775808", "18446744073709551616", "1700000000", "1700000000.123", "1531171074631"),
    *("1e308", "1e309", "-1E+400", "0.00001e312", "1e-400", "0e999", "1" * 200 + "e150", "01", "1.", ".5", "+1", "-", "1e", "0x1"),
)
ODD = ("NaN", "Infinity", "nul", "True", "'a'", "", "{", "[", '"', "//", "\x00", "[1,]", '{"a":1,}', '{"a" 1}', "{1:2}", "1 2")
STRINGS = (
    *(r"\ud800", r"\udc00x", r"\ud83d\udf01", r"\u0041", r"\x", r"\u12g4", r"\n", r"a\r\n", "\n", "\t", "\x7f", "é", "語", r"\"", "\\", ""),
)

scalars = st.one_of(
    st.sampled_from(["null", "true", "false", '""', '"x"']),
    st.sampled_from((*LEVELS, *TIMES, *LONG, *TEXTS)).map(json.dumps),
    st.sampled_from(NUMBERS),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.lists(st.sampled_from(STRINGS), max_size=3).map(lambda parts: f'"{"".join(parts)}"'),
)
spaces = st.sampled_from(["", "", "", " ", "\n", "\r\t", "\v"])
keys = st.one_of(
    st.sampled_from(NAMES).map(json.dumps),
    st.sampled_from(TEXT_NAMES).map(lambda name: f'"\\u{ord(name[0]):04x}{name[1:]}"'),
    scalars,
)


def object_of(pairs: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(f"{space}{key}{space}:{space}{value}{space}" for key, value, space in pairs) + "}"


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return objects in which a key may occur several times."""
    return st.lists(st.tuples(keys, values, spaces), max_size=6).map(object_of)


documents = st.recursive(
    scalars, lambda inner: st.one_of(objects(inner), st.lists(inner, max_size=3).map(lambda values: f"[{','.join(values)}]")), max_leaves=12
)
simple = st.one_of(
    st.sampled_from((*LEVELS, *TIMES, *TEXTS)).map(json.dumps),
    st.sampled_from(["0", "3", "30", "1700000000123", "null", "{}", "true", "1", "1.0"]),
)
usual = st.lists(st.tuples(st.sampled_from(NAMES).map(json.dumps), st.one_of(simple, simple, documents), st.just("")), max_size=8).map(
    object_of
)
"""Much like what loggers write, so that the fast path reads many of them."""
whole = st.one_of(
    usual,
    usual,
    objects(documents),
    documents,
    st.lists(usual, max_size=3).map("\n".join),
    st.tuples(usual, st.sampled_from(ODD)).map("".join),
    st.tuples(objects(st.one_of(documents, st.sampled_from(ODD))), spaces).map(lambda parts: parts[1] + parts[0]),
    st.integers(200, 2_000).map(lambda depth: f'{{"msg":"x","a":{"[" * depth}{"]" * depth}}}'),
)


@st.composite
def alike(draw: st.DrawFn) -> list[str]:
    """Return objects of one form: the same keys, values of a few."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8))
    nested = draw(st.lists(st.sampled_from(NAMES), max_size=3))
    some = draw(st.lists(st.one_of(simple, scalars), min_size=1, max_size=8))
    several = []
    for _ in range(draw(st.integers(1, 12))):
        pairs = [(json.dumps(name), draw(st.sampled_from(some)), "") for name in names]
        if nested:
            within = object_of([(json.dumps(name), draw(st.sampled_from(some)), "") for name in nested])
            pairs[draw(st.integers(0, len(pairs) - 1))] = (json.dumps(draw(st.sampled_from([names[0], "kubernetes"]))), within, "")
        several.append(object_of(pairs))
    return several


@st.composite
def templated(draw: st.DrawFn) -> list[str]:
    """Return objects of one form with source templates."""
    names = draw(st.lists(st.sampled_from((*OF_TEMPLATES, "logger", "SourceContext", "msg", "x")), min_size=2, max_size=5, unique=True))
    some = st.sampled_from(("added {N}", "lost {N} of {M}", "{N}", "Shop", "y" * 257))
    return [json.dumps({name: draw(some) for name in names}) for _ in range(draw(st.integers(1, 8)))]


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """Return a value: mostly JSON, sometimes with a byte changed, which may make it invalid UTF-8."""
    value = bytearray(draw(whole).encode("utf-8", "surrogatepass"))
    if value and draw(st.integers(0, 5)) == 0:
        value[draw(st.integers(0, len(value) - 1))] = draw(st.sampled_from([*b'"{}[],:\\ e0', 0, 0x80, 0xC3, 0xED, 0xFF]))
    return bytes(value) or b"{}"


lists = st.lists(
    st.one_of(
        st.lists(values(), min_size=1, max_size=5),
        st.one_of(alike(), templated()).map(lambda several: [one.encode("utf-8", "replace") for one in several]),
    ),
    min_size=1,
    max_size=4,
)
names = st.lists(st.sampled_from(NAMES), max_size=2).map(tuple)
rules = st.one_of(
    st.just(DecodeRules()),
    st.builds(
        DecodeRules,
        names=st.builds(FieldNames, text=names, time=names, level=names, service=names, template=names, keep=names),
        source_templates=st.booleans(),
        max_other_fields=st.sampled_from([0, 1, 3, 16]),
        clock=st.sampled_from([Clock(), Clock(year=2024)]),
        max_entries=st.just(2),
    ),
)


def entries_of(found: Entries, size: int) -> list[list[Entry]]:
    by_value: list[list[Entry]] = [[] for _ in range(size)]
    for i, place in enumerate(found.row.tolist()):
        trace = None if found.trace is None else found.trace[i].as_py()
        template = None if found.template is None else found.template[i].as_py()
        text, time_ms, fields = found.text[i].as_py(), int(found.time_ms[i]), found.fields[i].as_py()
        by_value[place].append((int(found.sub[i]), text, time_ms, found.service.text(i), found.level.text(i), fields, trace, template))
    return by_value


def walked_of(documents: Sequence[Mapping[str, object]], general: Documents, most: int) -> list[Walked]:
    walked: list[Walked] = []
    for document in documents:
        walked += general.walk(document, most=most - len(walked))
    return walked


def by_general_rules(value: bytes, general: Documents, rules: DecodeRules) -> list[Entry] | None:
    """Return the entries of a value, computed from its whole document; None: it cannot be read."""
    try:
        value.decode("utf-8")
        walked = walked_of(documents_in(value, max_entries=rules.max_entries), general, rules.max_entries)
    except TooManyEntries:
        return None
    except (NotJson, UnicodeDecodeError):
        repaired = repaired_value(value, max_entries=rules.max_entries, strict=rules.strict, keeps_lines=rules.format == "auto")
        try:
            documents = [] if repaired is None else documents_in(repaired.value, max_entries=rules.max_entries)
            walked = walked_of(documents, general, rules.max_entries)
        except (NotJson, TooManyEntries):
            return None
        if repaired is None:
            return None
    if not walked:
        return []
    size = len(walked)
    found = general.entries(walked, np.zeros(size, np.int64), np.arange(size, dtype=np.int32), np.full(size, KAFKA_MS))
    return entries_of(found, 1)[0]


def values_of(several: Sequence[bytes]) -> Values:
    return Values(several, byte_column(several), np.full(len(several), KAFKA_MS))


def assert_reads_as_general_rules(batches: Sequence[Sequence[bytes]], rules: DecodeRules) -> None:
    reader, general = JsonReader(rules), Documents(rules, RoleRules(rules))
    for several in chain(batches, [list(chain.from_iterable(batches))]):
        found = reader.read(values_of(several))
        failed = {row for row, _ in found.failed}
        entries = [None if row in failed else one for row, one in enumerate(entries_of(found.entries, len(several)))]
        assert entries == [by_general_rules(value, general, rules) for value in several]
        assert [row for row, _ in found.failed] == sorted(failed)


@settings(deadline=None, max_examples=400)
@given(batches=lists, rules=rules)
@example(batches=[[b'{"log":{"level":"warn"},"log.level":"","msg":"x"}', b'{"level":0,"short_message":"x"}']], rules=DecodeRules())
@example(batches=[[b'{"SeverityNumber":"WARN","msg":"x"}', b'{"severity_number":0,"PRIORITY":"warn","msg":"x"}']], rules=DecodeRules())
@example(batches=[[b'{"event":{"original":"a"},"MESSAGE":"b"}', b'{"event.original":"","event":{"original":"a"}}']], rules=DecodeRules())
@example(batches=[[b'{"msg":"a","msg":5}', b'{"msg":"a","n":true}', b'{"msg":"a","n":1}', b'{"msg":"a","n":1.0}'] * 3], rules=DecodeRules())
@example(batches=[[b'{"msg":"failed\\na.B: closed\\n\\tat a.B.c(B.java:1)"}'], [b'{"msg":0}']], rules=DecodeRules())
def test_entries_are_those_of_the_general_rules(batches: list[list[bytes]], rules: DecodeRules) -> None:
    assert_reads_as_general_rules(batches, rules)

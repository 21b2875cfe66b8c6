"""The fast path of JSON never changes an answer: whatever a record holds, its entries are those of the general rules."""

import json

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts
from consumers.decode.decoder import Decoder
from consumers.decode.json_document import LEVEL_FIELDS, MESSAGE_FIELDS, SERVICE_FIELDS, NotJson, read_document

Entry = tuple[int, str, str, str]

STEPS = ("original", "level", "labels", "app", "name", "stringValue", "kubernetes", "host", "log", "service", "event")
NUMBER_FIELDS = ("severity_number", "severityNumber", "SeverityNumber", "pid", "hostname", "time")
NAMES = (*MESSAGE_FIELDS, *SERVICE_FIELDS, *LEVEL_FIELDS, *NUMBER_FIELDS, *STEPS)
LEVELS = ("info", "WARN", "[error]", "fatal:", "3", "30", "nonsense", " ", "I")
NUMBERS = (
    *("0", "-0", "1", "3", "17", "30", "60", "99", "-1", "1.0", "3.5", "1e2", "9" * 19, "9" * 60, "9" * 400, "-" + "9" * 310),
    *("1e308", "1e309", "-1E+400", "0.00001e312", "1e-400", "0e999", "1" * 200 + "e150", "01", "1.", ".5", "+1", "-", "1e", "0x1"),
)
ODD = ("NaN", "Infinity", "nul", "True", "'a'", "", "{", "[", '"', "//", "\x00", "[1,]", '{"a":1,}', '{"a" 1}', "{1:2}", "1 2")
STRINGS = (
    r"\ud800",
    r"\udc00x",
    r"\ud83d\udf01",
    r"\u0041",
    r"\x",
    r"\u12g4",
    r"\n",
    r"a\r\n",
    "\n",
    "\t",
    "\x7f",
    "é",
    "語",
    r"\"",
    "\\",
    "",
)

scalars = st.one_of(
    st.sampled_from(["null", "true", "false", '""', '"x"']),
    st.sampled_from(LEVELS).map(json.dumps),
    st.sampled_from(NUMBERS),
    st.text(max_size=6).map(json.dumps),
    st.text(max_size=6).map(lambda text: json.dumps(text, ensure_ascii=False)),
    st.lists(st.sampled_from(STRINGS), max_size=3).map(lambda parts: f'"{"".join(parts)}"'),
)
spaces = st.sampled_from(["", "", "", " ", "\n", "\r\t", "\v"])
keys = st.one_of(
    st.sampled_from(NAMES).map(json.dumps), st.sampled_from(NAMES).map(lambda name: f'"\\u{ord(name[0]):04x}{name[1:]}"'), scalars
)


def object_of(pairs: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(f"{space}{key}{space}:{space}{value}{space}" for key, value, space in pairs) + "}"


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return objects in which a key may occur several times."""
    return st.lists(st.tuples(keys, values, spaces), max_size=6).map(object_of)


documents = st.recursive(
    scalars, lambda inner: st.one_of(objects(inner), st.lists(inner, max_size=3).map(lambda values: f"[{','.join(values)}]")), max_leaves=12
)
simple = st.one_of(st.sampled_from(LEVELS).map(json.dumps), st.sampled_from(['"a text"', '"语\\n"', "0", "3", "30", "null", "{}"]))
usual = st.lists(st.tuples(st.sampled_from(NAMES).map(json.dumps), st.one_of(simple, simple, documents), st.just("")), max_size=8).map(
    object_of
)
"""Much like what loggers write, so that the fast path reads many of them."""
whole = st.one_of(
    usual,
    usual,
    objects(documents),
    documents,
    st.tuples(usual, st.sampled_from(ODD)).map("".join),
    st.tuples(objects(st.one_of(documents, st.sampled_from(ODD))), spaces).map(lambda parts: parts[1] + parts[0]),
    st.integers(200, 2_000).map(lambda depth: f'{{"msg":"x","a":{"[" * depth}{"]" * depth}}}'),
)


@st.composite
def values(draw: st.DrawFn) -> bytes:
    """Return a value: mostly JSON, sometimes with a byte changed, which may make it invalid UTF-8."""
    value = bytearray(draw(whole).encode("utf-8", "surrogatepass"))
    if value and draw(st.integers(0, 5)) == 0:
        value[draw(st.integers(0, len(value) - 1))] = draw(st.sampled_from([*b'"{}[],:\\ e0', 0, 0x80, 0xC3, 0xED, 0xFF]))
    return bytes(value)


def without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def by_general_rules(value: bytes) -> list[Entry]:
    """Return (sub, text, service, level) of each entry, computed from the whole document."""
    if value.lstrip()[:1] in (b"{", b"["):
        try:
            found = enumerate(read_document(value, max_entries=10_000))
            entries = [(sub, without_line_end(entry.text), entry.service, entry.level) for sub, entry in found]
            return [entry for entry in entries if entry[1]]
        except NotJson:
            pass
    text = without_line_end(value.decode("utf-8", "replace"))
    return [(0, text, "", "")] if text else []


@settings(deadline=None, max_examples=1_500)
@given(several=st.lists(values(), min_size=1, max_size=5))
@example(
    several=[
        b'{"log":{"level":"warn"},"log.level":"","msg":"x"}',
        b'{"level":0,"short_message":"x"}',
        b'{"level":"","PRIORITY":"0","text":"x"}',
    ]
)
@example(several=[b'{"SeverityNumber":"WARN","msg":"x"}', b'{"severity_number":0,"PRIORITY":"warn","msg":"x"}'])
@example(several=[b'{"event":{"original":"a"},"MESSAGE":"b"}', b'{"event.original":"","event":{"original":"a"},"MESSAGE":"b"}'])
@example(
    several=[
        b'{"service":{"stringValue":"a","name":"b"},"msg":"x"}',
        b'{"service":{"stringValue":"a","name":"b"},"service.name":"","msg":"x"}',
    ]
)
@example(
    several=[b'{"kubernetes":{"labels":{"app":"a"}},"kubernetes.labels.app":"","host":{"name":"h"},"msg":"x"}', b'{"msg":"a","msg":5}']
)
def test_entries_are_those_of_the_general_rules(several: list[bytes]) -> None:
    found = Decoder().decode(several, np.zeros(len(several), np.int64)).entries
    rows = zip(found.row.tolist(), found.sub.tolist(), as_texts(found.text), strict=True)
    entries = [(row, sub, text, found.service.text(i), found.level.text(i)) for i, (row, sub, text) in enumerate(rows)]
    assert entries == [(row, *entry) for row, value in enumerate(several) for entry in by_general_rules(value)]

"""Syslog: messages as RFCs, rsyslog, syslog-ng and Cisco write them, and what is none."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, byte_column, string_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import NO_TIME, Found, Values
from consumers.decode.rules import Clock, DecodeRules, FieldNames
from consumers.decode.syslog import SyslogReader, read_structured
from consumers.decode.syslog_heads import read_heads
from consumers.decode.syslog_patterns import CISCO, RFC_3164

KAFKA_MS = 1_795_400_000_000
"""2026-11-23T02:13:20Z."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")


def read(values: list[bytes], rules: DecodeRules = DecodeRules()) -> Found:  # noqa: B008 - immutable
    return SyslogReader(rules, DecodeTally()).read(Values(values, byte_column(values), np.full(len(values), KAFKA_MS)))


def ms(time: datetime) -> int:
    """Return a time as milliseconds since 1970; what is left over is cut off."""
    return (time - EPOCH) // timedelta(milliseconds=1)


def test_zone_and_year_of_the_rules_count_where_a_time_names_none() -> None:
    values = [b"<13>Oct 11 22:14:15 host app: text", b"<13>1 2003-10-11T22:14:15Z - - - - - text"]
    rules = DecodeRules(clock=Clock(timezone(timedelta(hours=2)), 2020))
    logged = [ms(datetime(2020, 10, 11, 20, 14, 15, tzinfo=UTC)), ms(datetime(2003, 10, 11, 22, 14, 15, tzinfo=UTC))]
    assert read(values, rules).entries.time_ms.tolist() == logged


@pytest.mark.parametrize(
    ("rules", "fields"),
    [
        (DecodeRules(max_other_fields=0), '{"host.name":"host"}'),
        (DecodeRules(max_other_fields=1), '{"host.name":"host","process.pid":12}'),
        (
            DecodeRules(max_other_fields=0, names=FieldNames(keep=("sd.a.b", "process.pid"))),
            '{"host.name":"host","sd.a.b":"c","process.pid":12}',
        ),
    ],
)
def test_fields_follow_the_rules(rules: DecodeRules, fields: str) -> None:
    assert read([b'<38>1 - host app 12 ID [a b="c"] text'], rules).entries.fields.to_pylist() == [fields]


WORD = st.text(alphabet="abcXYZ019-_.", min_size=1, max_size=8).filter(lambda word: word != "-")
LABEL = st.none() | WORD
TIMES = st.integers(365 * 86_400 * 10**6, 230 * 365 * 86_400 * 10**6).map(lambda number: EPOCH + timedelta(microseconds=number))
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff\x1b"), max_size=20)
PARAMETERS = st.dictionaries(WORD, st.text(alphabet='ab"]\\ [=\nä', min_size=1, max_size=6), max_size=3)


def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


@settings(max_examples=60)
@given(
    priority=st.integers(0, 191), time=st.none() | TIMES, host=LABEL, app=LABEL, process=LABEL, msgid=LABEL,
    elements=st.dictionaries(WORD, PARAMETERS, max_size=2), text=TEXT, bom=st.booleans(),
)  # fmt: skip
def test_what_was_written_as_rfc_5424_comes_back(  # noqa: PLR0913 - the fields of a message
    priority: int, time: datetime | None, host: str | None, app: str | None, process: str | None, msgid: str | None,
    elements: dict[str, dict[str, str]], text: str, *, bom: bool,
) -> None:  # fmt: skip
    written = "".join(
        f"[{name}{''.join(f' {key}={chr(34)}{escaped(value)}{chr(34)}' for key, value in element.items())}]"
        for name, element in elements.items()
    )
    stamp = "-" if time is None else time.isoformat()
    head = f"<{priority}>1 {stamp} {host or '-'} {app or '-'} {process or '-'} {msgid or '-'} {written or '-'} "
    value = head.encode() + b"\xef\xbb\xbf" * bom + text.encode()
    if not text.strip() and (not bom or not text):
        text = " ".join(filter(None, (msgid, written)))  # instead of a text that is none
    found = read([value], DecodeRules(max_other_fields=1_000)).entries
    assert as_texts(found.text) == [text.removeprefix(" ")]
    assert found.time_ms[0] == (NO_TIME if time is None else ms(time))
    assert (found.service.text(0), found.level.text(0)) == (app or "", LEVELS[priority % 8])
    kept = json.loads(found.fields[0].as_py())
    pid = process if process is None or not process.isdigit() or (process[0] == "0" and process != "0") else int(process)
    expected = {"host.name": host, "process.pid": pid, "syslog.msgid": msgid}
    expected |= {f"sd.{name}.{key}": value for name, element in elements.items() for key, value in element.items()}
    assert kept.pop("syslog.facility")
    assert kept == {name: value for name, value in expected.items() if value is not None}


TAG = st.text(alphabet="abcXYZ_./-", min_size=1, max_size=8).filter(lambda word: word != "-")


@settings(max_examples=60)
@given(
    priority=st.integers(0, 191), time=TIMES, is_iso=st.booleans(), host=WORD, tag=TAG, module=st.booleans(),
    process=st.none() | st.integers(0, 99_999), text=TEXT,
)  # fmt: skip
def test_what_was_written_as_rfc_3164_comes_back(
    priority: int, time: datetime, host: str, tag: str, process: int | None, text: str, *, is_iso: bool, module: bool,
) -> None:  # fmt: skip
    stamp = time.isoformat(timespec="microseconds") if is_iso else f"{time:%b} {time.day:2} {time:%H:%M:%S}"
    number = "" if process is None else f"[{process}]"
    value = f"<{priority}>{stamp} {host} {tag}{'(pam)' if module else ''}{number}: {text}"
    found = read([value.encode()], DecodeRules(clock=Clock(year=time.year))).entries
    assert as_texts(found.text) == [text]
    assert found.time_ms[0] == ms(time if is_iso else time.replace(microsecond=0))
    assert (found.service.text(0), found.level.text(0)) == (tag, LEVELS[priority % 8])
    kept = json.loads(found.fields[0].as_py())
    assert kept.pop("syslog.facility")
    assert kept == {"host.name": host} | ({} if process is None else {"process.pid": process})


@given(structured=st.text(alphabet='[]="\\ ab', max_size=40))
def test_structured_data_of_any_shape_is_read_without_an_error(structured: str) -> None:
    assert all(name.startswith("sd.") for name in read_structured(structured))


PIECES = st.sampled_from(
    [
        *("<13>", "<999>", "1 ", "2026-11-23T01:02:03Z ", "Nov 23 01:02:03 ", "host ", "app[12]: ", "app: ", "- ", "text", "\n", "\0"),
        *(": ",),
        *("%SYS-5-X: ", "*", '[a b="c"] ', "30 ", "8 ", "\xe4", "12: "),
    ]
)


@given(pieces=st.lists(PIECES, max_size=8))
def test_the_usual_patterns_find_what_the_general_one_finds(pieces: list[str]) -> None:
    message = "<13>Nov 23 01:02:03 " + "".join(pieces)
    general = re.match(RFC_3164.replace("$", r"\Z").replace(r"\Z-", "$-"), message, re.ASCII)
    assume(general and not re.match(CISCO, message, re.ASCII))
    assert general
    names = (general["host"], general["tag"] or general["tag2"], general["pid"] or general["pid2"])
    assume(not any(re.match(r"[<\[%]|\d+$", name or "") for name in names[:2]))  # what can be no host and no tag is looked at again
    heads = read_heads(string_column([message]))
    found = [as_texts(column)[0] for column in (heads.host, heads.tag, heads.process, heads.text)]
    assert found == [*(name or "" for name in names), message[general.end() :]]

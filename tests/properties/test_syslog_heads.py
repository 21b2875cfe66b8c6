"""Syslog with heads of all kinds: nothing vanishes, the priority says the level, and what stands behind it alone becomes fields."""

import json
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.decoder import Decoder
from tests.consumers.decode.seen import Seen, seen

KAFKA_MS = 1_795_435_200_000
LEVELS = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
DAY = datetime(2026, 11, 23, 10, tzinfo=UTC)

priorities = st.integers(8, 191)
names = st.from_regex(r"[a-z]{2,8}_[a-z]{1,6}", fullmatch=True)
words = st.text(alphabet="abcxyz019./:-", min_size=1, max_size=12)
pairs = st.dictionaries(names, words, min_size=2, max_size=8)
moments = st.integers(0, 86_400_000).map(lambda ms: DAY - timedelta(milliseconds=ms))
quarters = st.integers(-11 * 4, 14 * 4).map(lambda quarter: timezone(timedelta(minutes=15 * quarter)))
some = settings(deadline=None, max_examples=60)


def read(value: str) -> list[Seen]:
    decoded = Decoder().decode([value.encode()], np.array([KAFKA_MS]))
    assert decoded.rejected == []
    return seen(decoded.entries)


def ms_of(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@some
@given(priority=priorities, fields=pairs, moment=moments, zone=quarters, quoted=st.booleans())
def test_pairs_behind_a_priority_are_fields_and_its_level_is_theirs(
    priority: int, fields: dict[str, str], moment: datetime, zone: timezone, *, quoted: bool
) -> None:
    quote = '"' if quoted else ""
    local = moment.astimezone(zone)
    line = f'date={local:%Y-%m-%d} time={local:%H:%M:%S} tz="{local:%z}" ' + " ".join(f"{k}={quote}{v}{quote}" for k, v in fields.items())
    (entry,) = read(f"<{priority}>{line}")

    assert (entry.text, entry.level, entry.service) == (line, LEVELS[priority % 8], "")
    assert entry.time_ms == ms_of(moment) // 1000 * 1000
    assert fields.items() <= entry.fields.items()


@some
@given(priorities, pairs, moments)
def test_an_object_behind_a_priority_is_read_as_json_and_its_level_wins(priority: int, fields: dict[str, str], moment: datetime) -> None:
    document = {**fields, "time": moment.isoformat(), "message": "it failed"}
    (entry,) = read(f"<{priority}>{json.dumps(document)}")
    (with_level,) = read(f"<{priority}>{json.dumps({**document, 'level': 'debug'})}")

    assert (entry.text, entry.level, entry.time_ms) == ("it failed", LEVELS[priority % 8], ms_of(moment))
    assert fields.items() <= entry.fields.items()
    assert with_level.level == "DEBUG"


@some
@given(st.lists(st.tuples(priorities, st.sampled_from(["", "text"]), st.dictionaries(names, words, max_size=3)), min_size=1, max_size=5))
def test_each_message_is_an_entry_or_counted(messages: list[tuple[int, str, dict[str, str]]]) -> None:
    written = [
        f"<{priority}>1 2026-11-23T10:00:00Z h a - - [x@1{''.join(f' {k}={chr(34)}{v}{chr(34)}' for k, v in fields.items())}] {text}"
        if fields
        else f"<{priority}>1 2026-11-23T10:00:00Z h a - - - {text}"
        for priority, text, fields in messages
    ]
    decoder = Decoder()
    found = seen(decoder.decode(["\n".join(written).encode()], np.array([KAFKA_MS])).entries)

    assert len(found) + decoder.tally.dropped["no_text"] == len(messages)
    assert decoder.tally.made_texts == sum(not text and bool(fields) for _, text, fields in messages)
    kept = [(text, fields) for _, text, fields in messages if text or fields]
    for entry, (text, fields) in zip(found, kept, strict=True):
        assert entry.text == text or all(value in entry.text for value in fields.values())


@some
@given(moments, quarters, st.sampled_from(["", " "]), st.sampled_from(["hour", "hhmm", "hh:mm"]))
def test_a_zone_is_read_in_lines_in_json_and_behind_a_bracket(moment: datetime, zone: timezone, blank: str, form: str) -> None:
    if form == "hour":
        zone = timezone(timedelta(hours=zone.utcoffset(None) // timedelta(hours=1)))
    local = moment.astimezone(zone)
    offset = f"{local:%z}"
    written = {"hour": offset[:3], "hhmm": offset, "hh:mm": f"{offset[:3]}:{offset[3:]}"}[form]
    time = f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03}{blank}{written}"
    lines = [f"{time} ERROR it failed", f"[{time}] ERROR it failed", f"{time} [77] ERROR:  it failed", f"{time}: ERROR it failed"]
    documents = [json.dumps({"time": one, "message": "it failed"}) for one in (time, f"[{time}]")]

    assert {read(value)[0].time_ms for value in (*lines, *documents)} == {ms_of(moment)}
    assert {read(line)[0].level for line in lines[:3]} == {"ERROR"}

"""An object is read as it is in JSON's `log`, whatever it stands in; what it does not say its envelope says."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.consumers.decode.seen import decode_values, seen

OUTER_TIME = "2023-11-14T09:30:00Z"
INNER_TIME = "2023-11-14T09:29:58.5Z"


class Envelope(NamedTuple):
    """What may stand around an object."""

    wrap: Callable[[str], str]
    level: str
    service: str
    fields: Mapping[str, str | int]


def of_otlp(body: str) -> str:
    record = {"timeUnixNano": "1699954200000000000", "severityText": "WARN", "body": {"stringValue": body}}
    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "tag"}}]}
    return json.dumps({"resourceLogs": [{"resource": service, "scopeLogs": [{"logRecords": [record]}]}]})


SYSLOG: Mapping[str, str | int] = {"host.name": "h1", "process.pid": 7}
ENVELOPES = (
    Envelope(lambda one: f"{OUTER_TIME} stdout F {one}", "", "", {"log.iostream": "stdout"}),
    Envelope(lambda one: f"{OUTER_TIME} stderr F @cee: {one}", "", "", {"log.iostream": "stderr"}),
    Envelope(lambda one: f"<28>Nov 14 09:30:00 h1 tag[7]: {one}", "WARN", "tag", SYSLOG),
    Envelope(lambda one: f"<28>Nov 14 09:30:00 h1 tag[7]: @cee:{one}\n", "WARN", "tag", SYSLOG),
    Envelope(lambda one: f"<28>1 {OUTER_TIME} h1 tag 7 - - {one}", "WARN", "tag", SYSLOG),
    Envelope(lambda one: f"Nov 14 09:30:00 h1 tag[7]: @cee: {one}", "", "tag", SYSLOG),
    Envelope(of_otlp, "WARN", "tag", {}),
    Envelope(lambda one: json.dumps({"log": one, "time": OUTER_TIME, "level": "warn", "app": "tag"}), "WARN", "tag", {}),
    Envelope(lambda one: json.dumps({"log": " @cee: " + one, "time": OUTER_TIME, "x": 5}), "", "", {"x": 5}),
    Envelope(lambda one: json.dumps({"time": OUTER_TIME, "message": json.dumps({"log": one, "stream": "a"})}), "", "", {"stream": "a"}),
)
words = st.text(st.characters(codec="utf-8", categories=["L", "Nd"]), min_size=1, max_size=8)
objects = st.fixed_dictionaries(
    {"msg": words.map(lambda word: f"it says {word}")},
    optional={
        "level": st.sampled_from(["error", "INFO", "Fatal"]),
        "service": words,
        "time": st.just(INNER_TIME),
        "user": words,
        "n": st.integers(0, 99),
    },
)


def ms(time: str) -> int:
    return int(datetime.fromisoformat(time).astimezone(UTC).timestamp() * 1000)


@settings(deadline=None)
@given(objects=st.lists(objects, min_size=1, max_size=3), envelope=st.sampled_from(ENVELOPES))
def test_an_object_in_any_envelope_says_what_it_says_and_the_envelope_the_rest(
    objects: list[dict[str, str | int]], envelope: Envelope
) -> None:  # fmt: skip
    found = seen(decode_values([envelope.wrap(json.dumps(one, ensure_ascii=False)).encode() for one in objects]).entries)
    assert len(found) == len(objects)
    for entry, one in zip(found, objects, strict=True):
        assert entry.text == one["msg"]
        assert entry.level == str(one.get("level", envelope.level)).upper()
        assert entry.service == one.get("service", envelope.service)
        assert entry.time_ms == ms(str(one.get("time", OUTER_TIME)))
        kept = {name: one[name] for name in ("user", "n") if name in one}
        assert (dict(envelope.fields) | kept).items() <= entry.fields.items()


@settings(deadline=None)
@given(word=words, envelope=st.sampled_from(ENVELOPES[:7]), depth=st.integers(1, 5))
def test_no_entry_is_deeper_than_three_objects(word: str, envelope: Envelope, depth: int) -> None:
    text = word
    for _ in range(depth):
        text = json.dumps({"msg": text})
    (entry,) = seen(decode_values([envelope.wrap(text).encode()]).entries)
    left = entry.text
    for _ in range(max(depth - 3, 0)):
        left = json.loads(left)["msg"]
    assert left == word


@settings(deadline=None)
@given(word=words, envelope=st.sampled_from(ENVELOPES))
def test_what_is_no_object_with_a_text_stays_the_text(word: str, envelope: Envelope) -> None:
    for text in (f"{{{word}}}", f'{{"n": "{word}"}}', f'{{"msg": "{word}"', f'{{"msg": "{word}"}} {word}', f'{{"msg": "{word}"}} }}'):
        (entry,) = seen(decode_values([envelope.wrap(text).encode()]).entries)
        assert entry.text.strip().removeprefix("@cee:").strip().endswith(text)

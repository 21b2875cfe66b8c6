"""Records of every format with what must become of each: those that real producers wrote (tests/golden), and some of our own."""

import gzip
import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.msgpack import Ext, encode

from consumers.decode.rules import MAX_RECORD_BYTES, Format
from consumers.record import Header
from consumers.schema import FetchedSchema
from tests.consumers.decode.registered import Registered

KAFKA_MS = 1_735_689_600_000
"""1 January 2025: the time of our own records."""
LOGGED_MS = KAFKA_MS - 3_600_000 + 250
_LOGGED = "2024-12-31T23:00:00.250Z"
_GOLDEN = Path(__file__).parents[1] / "golden"


class Wanted(NamedTuple):
    """One entry as it must lie in the index."""

    text: str
    """With its stack trace."""
    time_ms: int
    service: str
    level: str
    fields: Mapping[str, Any]


class Mixed(NamedTuple):
    """One record: it has entries, or is a dead letter for a reason that begins so, or is dropped."""

    name: str
    format: Format
    value: bytes | None
    entries: tuple[Wanted, ...] = ()
    reason: str = ""
    headers: tuple[Header, ...] = ()
    kafka_ms: int = KAFKA_MS


def golden_records() -> list[Mixed]:
    """Return the records of all golden files that need no Schema Registry."""
    found: list[Mixed] = []
    for path in sorted(_GOLDEN.glob("*.jsonl")):
        head, *records = [json.loads(line) for line in path.read_text().splitlines()]
        if "schemas" not in head:
            found += [_golden(f"{path.stem} {number}", record) for number, record in enumerate(records, start=1)]
    return found


def _golden(name: str, record: Mapping[str, Any]) -> Mixed:
    entries = [
        Wanted(one["text"] + (one["trace"] or ""), one["time_ms"], one["service"], one["level"], one["fields"])
        for one in record["expected"]
    ]
    headers = tuple((key, None if value is None else b64decode(value)) for key, value in record["headers"])
    return Mixed(name, record["format"], b64decode(record["value_base64"]), tuple(entries), headers=headers, kafka_ms=record["kafka_ms"])


def own_records() -> list[Mixed]:
    """Return at least one record of each format."""
    pod = {"k8s.pod.name": "web-1"}
    kubernetes = {"pod_name": "web-1", "container_name": "web"}
    fluent = [Ext(0, (LOGGED_MS // 1000).to_bytes(4) + (250_000_000).to_bytes(4)), {"log": "it failed\n", "level": "warn"}]
    event = {
        "specversion": "1.0",
        "id": "1",
        "source": "/shop",
        "type": "log",
        "time": _LOGGED,
        "data": {"message": "sold", "level": "info"},
    }
    return [
        _good("plain text", "auto", b"disk is full\n", _entry("disk is full", KAFKA_MS)),
        _good("text with a time", "text", f"{_LOGGED} ERROR disk is full".encode(), _entry(f"{_LOGGED} ERROR disk is full", level="ERROR")),
        _good("CRI", "auto", f"{_LOGGED} stderr F it failed".encode(), _entry("it failed", fields={"log.iostream": "stderr"})),
        _good("docker json-file", "auto", json.dumps({"log": "it failed\n", "stream": "stderr", "time": _LOGGED}).encode(),
              _entry("it failed", fields={"stream": "stderr"})),
        _good("gzip", "auto", gzip.compress(b'{"message":"packed","level":"error"}', mtime=0), _entry("packed", KAFKA_MS, level="ERROR")),
        _good("UTF-16", "auto", "\ufeffstraße".encode("utf-16-le"), _entry("straße", KAFKA_MS)),
        _good("NDJSON", "json", b'{"message":"a"}\n{"message":"b","level":"warn"}\n',
              _entry("a", KAFKA_MS), _entry("b", KAFKA_MS, level="WARN")),
        _good("an array", "auto", b'[{"message":"a"},{"message":"b"}]', _entry("a", KAFKA_MS), _entry("b", KAFKA_MS)),
        _good("Fluent Bit", "json", json.dumps({"@timestamp": LOGGED_MS / 1000, "log": "up", "kubernetes": kubernetes}).encode(),
              _entry("up", service="web", fields=pod | {"k8s.container.name": "web"})),
        _good("logfmt", "logfmt", f'ts={_LOGGED} level=warn service=web msg="slow disk" took=7'.encode(),
              _entry("slow disk", level="WARN", service="web", fields={"took": "7"})),
        _good("RFC 5424", "auto", f"<11>1 {_LOGGED} web-1 sshd 24 ID47 - it failed".encode(),
              _entry("it failed", level="ERROR", service="sshd",
                     fields={"host.name": "web-1", "process.pid": 24, "syslog.msgid": "ID47", "syslog.facility": "user"})),
        _good("RFC 3164", "syslog", b"Dec 31 23:00:00 web-1 sshd[24]: it failed",
              _entry("it failed", LOGGED_MS - 250, service="sshd", fields={"host.name": "web-1", "process.pid": 24})),
        _good("Forward", "msgpack", encode(fluent), _entry("it failed", level="WARN")),
        _good("CloudEvents", "cloudevents", json.dumps(event).encode(), _entry("sold", level="INFO", fields={
                  "cloudevents.event_id": "1", "cloudevents.event_source": "/shop", "cloudevents.event_type": "log"})),
        _good("OTLP as JSON", "otlp_json", _OTLP, _entry("it failed", service="shop", level="ERROR", fields=pod)),
    ]  # fmt: skip


def registry_records() -> tuple[list[Mixed], list[tuple[int, FetchedSchema]]]:
    """Return records of Confluent's serialisers, and the schemas that a registry must have for them, by number."""
    registered = Registered()
    schema = json.dumps({"type": "record", "name": "Log", "fields": [{"name": name, "type": "string"} for name in ("message", "level")]})
    value = {"message": "it failed", "level": "error"}
    avro = registered.avro(schema, value)
    number = int.from_bytes(avro[1:5])
    records = [
        _good("Avro", "registry", avro, _entry("it failed", KAFKA_MS, level="ERROR")),
        _good("Avro, by auto", "auto", avro, _entry("it failed", KAFKA_MS, level="ERROR")),
        _bad("a schema that nobody has", "registry", b"\0" + (999).to_bytes(4) + avro[5:], "unknown_schema: schema 999"),
        _bad("Avro that is cut off", "registry", avro[:8], "undecodable: "),
        _bad("no schema id", "registry", b"plain", "undecodable: no schema id"),
    ]
    return records, [(number, registered.fetch(number))]


def refused_records() -> list[Mixed]:
    """Return a record for each kind of dead letter."""
    rows = b"[" + b",".join([b'{"m":1}'] * 10_001) + b"]"
    packed = gzip.compress(bytes(2 * MAX_RECORD_BYTES), mtime=0)
    return [
        _bad("bytes that are no UTF-8", "auto", b"disk \xff full", "undecodable: not valid UTF-8"),
        _bad("too large", "auto", b"x" * (MAX_RECORD_BYTES + 1), f"too_large: {MAX_RECORD_BYTES + 1} bytes"),
        _bad("too large when unpacked", "auto", packed, "too_large: compressed as gzip"),
        _bad(
            "cut off gzip",
            "auto",
            gzip.compress(b"a line that is cut off", mtime=0)[:-4],
            "undecodable: damaged, or not compressed as gzip",
        ),
        _bad(
            "packed twice", "auto", gzip.compress(gzip.compress(b"a line"), mtime=0), "undecodable: compressed as gzip, and what is in it"
        ),
        _bad("half of UTF-16", "auto", b"\xff\xfea", "undecodable: it begins as UTF-16"),
        _bad("too many entries", "auto", rows, "too_many_entries: "),
        _bad("too many chunks", "auto", b"database " * 100_000, "too_many_chunks"),
        _bad("no JSON", "json", b'{"message": "cut o', "undecodable: "),
        _bad("no pair", "logfmt", b"disk is full", "undecodable: not logfmt"),
        _bad("no syslog", "syslog", b"disk is full", "undecodable: not syslog"),
        _bad("a count that lies", "syslog", b"99 <11>1 - - - - - - x", "undecodable: an octet count"),
        _bad("cut off MessagePack", "msgpack", encode({"log": "it failed"})[:-3], "undecodable: "),
        _bad("no OTLP", "otlp_proto", b"disk is full", "undecodable: not OTLP logs"),
        _bad("no OTLP as JSON", "otlp_json", b'{"resourceLogs": [', "undecodable: not OTLP logs"),
        _bad("no event", "cloudevents", b'{"specversion": ', "undecodable: not a CloudEvent"),
    ]


def dropped_records() -> list[Mixed]:
    """Return what leaves nothing: no value, no content, and what a rule drops (`DROP`)."""
    return [
        Mixed("no value", "auto", None),
        Mixed("an empty value", "auto", b""),
        Mixed("no entries", "json", b"[]"),
        Mixed("dropped by a rule", "auto", b'{"message": "healthy", "level": "debug"}'),
    ]


DROP = [{"name": "debug", "level": ["DEBUG"], "pattern": "^healthy$"}]
_OTLP = json.dumps({"resourceLogs": [{
    "resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": "shop"}}, {"key": "k8s.pod.name", "value": {"stringValue": "web-1"}},
    ]},
    "scopeLogs": [{"logRecords": [
        {"timeUnixNano": str(LOGGED_MS * 10**6), "severityNumber": 17, "body": {"stringValue": "it failed"}},
    ]}],
}]}).encode()  # fmt: skip


def _entry(text: str, time_ms: int = LOGGED_MS, *, service: str = "", level: str = "", fields: Mapping[str, Any] | None = None) -> Wanted:
    return Wanted(text, time_ms, service, level, fields or {})


def _good(name: str, form: Format, value: bytes, *entries: Wanted) -> Mixed:
    return Mixed(name, form, value, entries)


def _bad(name: str, form: Format, value: bytes, reason: str) -> Mixed:
    return Mixed(name, form, value, reason=reason)


def all_records(more: Sequence[Mixed] = ()) -> list[Mixed]:
    """Return all of them, good and bad ones among each other."""
    parts = [golden_records(), own_records(), refused_records(), dropped_records(), list(more)]
    numbered = sorted((place / len(part), number, place) for number, part in enumerate(parts) for place in range(len(part)))
    return [parts[number][place] for _, number, place in numbered]

"""Records decoded per second on one core, and how that compares with the bare library beneath.

    python -m benchmarks.decode [--quick] [--json]

Caveats first. Figures are processor time of one thread that decodes lists of 8,000 records, as prepare does, with the reader's columns as
the result; nothing is masked or stored. Records are synthetic and seeded. `vs_library` is our speed divided by that of the library alone in
the same run, the sides taking turns: it does a part of our work, so a ratio below 1 is the rule. Other load changes the figures less than
the clock would, but it does.

| figure | records | library |
|---|---|---|
| text_per_s | lines of text of about 90 bytes with a time | `pyarrow.array` and a cast to text |
| json_per_s | objects of 200 bytes | msgspec into a class of five fields |
| fat_json_per_s | objects of 770 bytes with Kubernetes' metadata, of 20 pods | the same |
| otlp_per_s | OTLP protobuf, 200 log records with attributes a value | protobuf's own `FromString` |
| syslog_per_s | RFC 5424 | `pyarrow.compute.extract_regex` |
| iso_times_per_s | times at the beginning of lines, ISO 8601 | `pyarrow.compute.cast` of the times alone |
| other_times_per_s | of syslog, Apache, log4j and nginx, in turn by list | `datetime.strptime` of the times alone |
"""

import json
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from statistics import median
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.program import Figures, program
from benchmarks.race import Wrong, race, ratios, seconds_of
from consumers.columns import string_column
from consumers.decode.decoder import Decoder
from consumers.decode.from_line import LineHeaders
from consumers.decode.rules import DecodeRules, Format

LIST_RECORDS = 8_000
LISTS, QUICK_LISTS = 6, 2
ROUNDS, QUICK_ROUNDS = 7, 5
_OTLP_BATCH = 200
_WAYS = ("ours", "library")
_BEGIN = datetime(2026, 11, 22, 10, tzinfo=UTC)
_KAFKA_MS = int(_BEGIN.timestamp() * 1000) + 3_600_000
_SEED = 7
_RFC_5424 = r"^<(?P<pri>[0-9]{1,3})>1 (?P<time>\S+) (?P<host>\S+) (?P<app>\S+) (?P<proc>\S+) (?P<id>\S+) (?P<sd>-|\[.*?\]) ?(?P<text>.*)$"
_OTHER_TIMES = ("%b %d %H:%M:%S", "[%a %b %d %H:%M:%S %Y]", "%Y-%m-%d %H:%M:%S,%f", "%Y/%m/%d %H:%M:%S")


class Sides(NamedTuple):
    """One kind of records, and two ways to read all of its lists."""

    records: int
    ours: Callable[[], object]
    library: Callable[[], object]


def measure(chosen: Namespace) -> Figures:
    """Run both sides of every kind in turns."""
    lists, rounds = (QUICK_LISTS, QUICK_ROUNDS) if chosen.quick else (LISTS, ROUNDS)
    kinds = sides_of(lists)
    sides = {f"{way} {name}": partial(seconds_of, getattr(one, way), time.thread_time) for name, one in kinds.items() for way in _WAYS}
    seconds = race(sides, rounds, warm_ups=1)
    figures: Figures = {name: one.records / median(seconds[f"ours {name}"]) for name, one in kinds.items()}
    return figures | {"vs_library": {name: median(ratios(seconds[f"library {name}"], seconds[f"ours {name}"])) for name in kinds}}


def sides_of(lists: int) -> dict[str, Sides]:
    """Return the two ways to read each kind of records."""
    random = Random(_SEED)
    lines = _lists(lists, lambda i: _line(random, i).encode())
    objects = _lists(lists, lambda i: json.dumps(_small_object(random, i)).encode())
    fat = _lists(lists, lambda i: json.dumps(_fat_object(random, i)).encode())
    syslog = _lists(lists, lambda i: _syslog(random, i).encode())
    batches = [[_otlp_batch(random, n) for n in range(LIST_RECORDS // _OTLP_BATCH)] for _ in range(lists)]
    records = lists * LIST_RECORDS
    typed = msgspec.json.Decoder(_Typed).decode
    logs_data = logs_data_class()
    return {
        "text_per_s": Sides(records, _decoding(lines, "auto"), lambda: [pa.array(one, pa.binary()).cast(pa.string()) for one in lines]),
        "json_per_s": Sides(records, _decoding(objects, "auto"), lambda: [[typed(value) for value in one] for one in objects]),
        "fat_json_per_s": Sides(records, _decoding(fat, "auto"), lambda: [[typed(value) for value in one] for one in fat]),
        "otlp_per_s": Sides(
            records, _decoding(batches, "otlp_proto"), lambda: [[logs_data.FromString(value) for value in one] for one in batches]
        ),
        "syslog_per_s": Sides(
            records,
            _decoding(syslog, "syslog"),
            lambda: [pc.extract_regex(pa.array(one, pa.binary()).cast(pa.string()), _RFC_5424) for one in syslog],
        ),
        **_times(lists, random),
    }


def _times(lists: int, random: Random) -> dict[str, Sides]:
    """Return the sides of times in lines."""
    moments = [[_BEGIN + timedelta(milliseconds=137 * (i + LIST_RECORDS * n)) for i in range(LIST_RECORDS)] for n in range(lists)]
    iso = [[_iso(moment) for moment in one] for one in moments]
    forms = [_OTHER_TIMES[n % len(_OTHER_TIMES)] for n in range(max(lists, len(_OTHER_TIMES)))]
    other = [[moment.strftime(form)[: 23 if "%f" in form else None] for moment in moments[n % lists]] for n, form in enumerate(forms)]
    tails = [f" {_message(random)}" for _ in range(LIST_RECORDS)]
    headers = LineHeaders()
    kafka_ms = np.full(LIST_RECORDS, _KAFKA_MS)

    def ours(times: Sequence[Sequence[str]]) -> Callable[[], object]:
        columns = [string_column([time + tail for time, tail in zip(one, tails, strict=True)]) for one in times]

        def read() -> None:
            for column in columns:
                headers.times(column, kafka_ms)
                headers.forget()

        return read

    def strptime() -> None:
        for form, one in zip(forms, other, strict=True):
            for text in one:
                datetime.strptime(text, form)  # noqa: DTZ007 - what it costs is measured

    columns = [pa.array(one) for one in iso]
    return {
        "iso_times_per_s": Sides(lists * LIST_RECORDS, ours(iso), lambda: [column.cast(pa.timestamp("ms", "UTC")) for column in columns]),
        "other_times_per_s": Sides(len(forms) * LIST_RECORDS, ours(other), strptime),
    }


class _Typed(msgspec.Struct, gc=False):
    message: str = ""
    level: str = ""
    service: str = ""
    log: str = ""
    timestamp: str = msgspec.field(default="", name="@timestamp")


def logs_data_class() -> Any:  # noqa: ANN401 - a class that protobuf makes
    """Return OTLP's message, all levels parsed, as OpenTelemetry's own classes do it."""
    from opentelemetry.proto.logs.v1.logs_pb2 import LogsData  # noqa: PLC0415 - of the development environment

    return LogsData


def _decoding(lists: Sequence[Sequence[bytes]], form: Format) -> Callable[[], object]:
    decoder = Decoder(DecodeRules(format=form))

    def decode() -> None:
        for values in lists:
            decoded = decoder.decode(values, np.full(len(values), _KAFKA_MS))
            if decoded.rejected or len(decoded.empty):
                raise Wrong(f"{form}: not all records can be decoded, so there are no figures")

    return decode


def _lists(lists: int, make: Callable[[int], bytes]) -> list[list[bytes]]:
    return [[make(i + LIST_RECORDS * n) for i in range(LIST_RECORDS)] for n in range(lists)]


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _moment(i: int) -> datetime:
    return _BEGIN + timedelta(milliseconds=8 * i)


def _message(random: Random) -> str:
    what = random.choice(
        ("payment refused", "user logged in", "cache miss for key", "slow query on table orders", "connection reset by peer")
    )
    return f"{what} {random.randrange(10_000)} after {random.randrange(900)} ms"


def _line(random: Random, i: int) -> str:
    return f"{_iso(_moment(i))} {random.choice(('INFO', 'INFO', 'WARN', 'ERROR'))} {_message(random)} from 10.0.{i % 7}.{i % 250}"


def _small_object(random: Random, i: int) -> dict[str, Any]:
    level = random.choice(("info", "info", "warn", "error"))
    message = f"{_message(random)} from 10.0.{i % 7}.{i % 250}"
    return {"@timestamp": _iso(_moment(i)), "level": level, "service": f"service-{i % 9}", "message": message, "duration_ms": i % 977}


def _fat_object(random: Random, i: int) -> dict[str, Any]:
    pod = i % 20
    return {
        "@timestamp": _iso(_moment(i)),
        "log": f"{random.choice(('INFO', 'WARN', 'ERROR'))} {_message(random)} from 10.0.{i % 7}.{i % 250}\n",
        "stream": "stdout",
        "kubernetes": {
            "pod_name": f"checkout-7d9c5b6f4-{pod:05d}", "namespace_name": "shop", "pod_id": f"0b5b1c9e-0000-4000-8000-{pod:012d}",
            "labels": {"app": "checkout", "pod-template-hash": "7d9c5b6f4", "version": "v2.14.1"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            "host": f"node-{pod % 5}.cluster.internal", "container_name": "app", "docker_id": f"{pod:064x}",
            "container_image": "registry.internal/shop/checkout:2.14.1",
            "container_hash": f"registry.internal/shop/checkout@sha256:{pod:064x}",
        },
    }  # fmt: skip


def _syslog(random: Random, i: int) -> str:
    return f"<{8 * (i % 4) + i % 8}>1 {_iso(_moment(i))} web-{i % 9} app-{i % 5} {1000 + i % 50} ID{i % 7} - {_message(random)}"


def _otlp_batch(random: Random, number: int) -> bytes:
    data = logs_data_class()()
    group = data.resource_logs.add()
    for name, value in (("service.name", "checkout"), ("k8s.pod.name", f"checkout-{number % 20}"), ("host.name", f"node-{number % 5}")):
        group.resource.attributes.add(key=name).value.string_value = value
    scope = group.scope_logs.add()
    scope.scope.name = "shop.checkout"
    for i in range(_OTLP_BATCH):
        moment = _moment(i + _OTLP_BATCH * number)
        record = scope.log_records.add(time_unix_nano=int(moment.timestamp() * 1e9), severity_number=9 + 4 * (i % 3))
        record.body.string_value = f"{_message(random)} from 10.0.{i % 7}.{i % 250}"
        record.trace_id, record.span_id = random.randbytes(16), random.randbytes(8)
        for name, value in (("http.route", "/cart"), ("user.tier", "gold"), ("http.request.method", "POST")):
            record.attributes.add(key=name).value.string_value = value
        record.attributes.add(key="http.response.status_code").value.int_value = 200 + i % 3
    encoded: bytes = data.SerializeToString()
    return encoded


main = program(__doc__, measure, quick=f"{QUICK_LISTS} lists a kind and {QUICK_ROUNDS} rounds")

if __name__ == "__main__":
    main()

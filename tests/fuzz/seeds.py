"""Where fuzzing begins: a few small values of every format, and those of real producers and of the cases (tests/golden)."""

import gzip
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from google.protobuf import descriptor_pb2
from msgspec.msgpack import Ext, encode
from numpy.typing import NDArray

from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas, Unknown, Unusable
from consumers.decode.rules import Format
from consumers.schema import FetchedSchema
from sinks.arrow import join_texts
from sinks.block import Head
from sinks.codec import encode_head, encode_places, encode_texts
from sinks.lines import lines_of
from tests.consumers.decode.otlp_messages import log_record, logs_data, otlp_json
from tests.rows import rows
from tests.world import line

_GOLDEN = Path(__file__).parents[1] / "golden"
LINES: tuple[bytes, ...] = (
    b"2026-01-02T03:04:05.678Z ERROR [main] a.B - disk 7 is full",
    b"2026-01-02 03:04:05,678 WARN  [http-1] c.d.E: slow\n\tat a.B.c(B.java:1)",
    b"Nov 14 22:13:20 host app[12]: started",
    b'10.0.0.1 - - [14/Nov/2023:22:13:20 +0100] "GET / HTTP/1.1" 200 12 "-" "curl"',
    b"2023/11/14 22:13:20 [error] 7#7: *1 open() failed",
    b"E1114 22:13:20.123456   12 file.cc:34] it failed",
    b"[Tue Nov 14 22:13:20.123456 2023] [core:error] [pid 1] x",
    b"1700000000.123 INFO x",
    b"1700000000123456789 debug x",
    b"2023-11-14T22:13:20.1234567+05:45 stdout F \x1b[31mred\x1b[0m text",
    b"2023-11-14T22:13:20Z stderr P half\n2023-11-14T22:13:20Z stderr F and whole",
    b'2023-11-14T22:13:20Z stdout F {"msg":"a","level":"warn","log.iostream":"x","v":NaN}',
    b'Nov 14 22:13:20 host app[12]: @cee: {"msg":"{\\"msg\\":\\"b\\"}"}',
    b"\xef\xbb\xbfmarked \xff\xfe",
    "\ufeffgr\u00fc\u00dfe".encode("utf-16-le"),
)
_OTLP = logs_data([log_record("it failed", {"a": 1, "b": [1, {"c": b"x"}]}, time_unix_nano=1_700_000_000_000_000_000, severity_number=17)])
AVRO = {
    "type": "record",
    "name": "Log",
    "fields": [
        {"name": "message", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "labels", "type": {"type": "map", "values": ["null", "string", "double"]}},
        {"name": "cause", "type": ["null", {"type": "record", "name": "Cause", "fields": [{"name": "text", "type": "string"}]}]},
        {"name": "cost", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    ],
}
SEEDS: Mapping[Format, tuple[bytes, ...]] = {
    "text": LINES,
    "json": (b'{"msg":"a","level":30,"time":1700000000000}', b'{"a":{"b":[1,{"d":null}]},"t":"\\ud83d\\u0000","when":1e400}'),
    "logfmt": (b'time=2023-11-14T22:13:20Z level=warn msg="disk 7 full"', b"msg=a\nmsg=b", b"lvl=info err=\xff"),
    "syslog": (b"<13>Nov 14 22:13:20 host app[3]: text", b"20 <13>1 - - - - - - ab20 <13>1 - - - - - - cd", b"<34>1 - - - - - -\n<0>x"),
    "msgpack": (
        encode({"log": "it failed", "level": "warn", "kubernetes": {"pod_name": "w"}, "@timestamp": 1_699_999_999.25}),
        encode([Ext(0, (1_699_999_999).to_bytes(4) + bytes(4)), {"log": "a", "n": [1, None, b"x"]}]),
        encode(["tag", [[1_699_999_999, {"log": "a"}], [1_699_999_999, {"log": "b"}]], {"chunk": "x"}]),
    ),
    "otlp_proto": (_OTLP.SerializeToString(),),
    "otlp_json": (json.dumps(otlp_json(_OTLP)).encode(), json.dumps(otlp_json(_OTLP, snake_case=True)).encode()),
    "cloudevents": (
        b'{"specversion":"1.0","id":"1","source":"/a","type":"b","data":{"message":"x"}}',
        b'[{"specversion":"1.0","id":"2","source":"/a","type":"b","data":"text"}]',
        b'{"message":"x"}',
        b"a line",
    ),
    "registry": (
        b"\0\0\0\0\x01\x0ait is\x80\xa0\xaf\xa0\xb1c\x02\x02a\x02\x02x\0\0\x02\x07",
        b"\0\0\0\0\x02" + b"\0" + b"\x0a\x05it is\x12\x03\x0a\x01x\x1a\x01y",
        b'\0\0\0\0\x03{"message":"x"}',
        b"\0\0\0\0\x04x",
        b'\0\0\0\0\x03"text"',
    ),
}
HEADED: Mapping[Format, tuple[bytes, ...]] = {
    form: tuple(bytes([choice]) + seed for seed in SEEDS[form] for choice in range(3)) for form in ("cloudevents", "registry")
}
"""Values behind the byte that chooses their headers."""


def compressed_seeds() -> tuple[bytes, ...]:
    """Return one value compressed by each codec, and damaged ones."""
    value = LINES[0] * 3
    arrow = [pa.Codec(codec).compress(value, asbytes=True) for codec in ("zstd", "lz4")]
    snappy = pa.Codec("snappy").compress(value, asbytes=True)
    framed = b"\xff\x06\x00\x00sNaPpY" + b"\x00" + (len(snappy) + 4).to_bytes(3, "little") + bytes(4) + snappy
    xerial = b"\x82SNAPPY\x00" + bytes([0, 0, 0, 1, 0, 0, 0, 1]) + len(snappy).to_bytes(4) + snappy
    whole = [gzip.compress(value, mtime=0), gzip.compress(value, mtime=0) * 2, zlib.compress(value), *arrow, framed, xerial]
    return (*(b"\0" + one for one in whole), b"\1" + zlib.compress(value)[2:-4], b"\2" + snappy)


def golden_seeds(form: Format | None = None, *, most_bytes: int) -> Iterator[bytes]:
    """Return the values of real producers, and those of the cases, of one format or of all."""
    for file in sorted(_GOLDEN.glob("*.jsonl")) + sorted(_GOLDEN.glob("cases/*.jsonl")):
        for golden in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            if "format" in golden and form in (None, golden["format"]):  # the first line of a producer's says who it is
                value = b64decode(golden["value_base64"]) if "value_base64" in golden else golden["value"].encode()
                if len(value) <= most_bytes:
                    yield value


def known_schemas() -> Schemas:
    """Return schemas 1 to 5: Avro, Protobuf, JSON, one that cannot be used, one that is not there."""
    schemas = Schemas()
    schemas.add_schema(1, new_schema(FetchedSchema("AVRO", json.dumps(AVRO))))
    schemas.add_schema(2, new_schema(FetchedSchema("PROTOBUF", b64encode(_log_proto().SerializeToString()).decode())))
    schemas.add_schema(3, new_schema(FetchedSchema("JSON", "{}")))
    schemas.add_schema(4, Unusable("too deep"))
    schemas.add_schema(5, Unknown(0.0))
    return schemas


def schema_seeds() -> tuple[bytes, ...]:
    """Return schemas as a registry answers them, each with a value of it: which of the two it is, its text, a NUL, the value."""
    proto = b64encode(_log_proto().SerializeToString())
    avro = (json.dumps(AVRO).encode(), b'{"type":"array","items":["null",{"type":"fixed","name":"a.F","size":2}]}', b'["null","string"]')
    return (*(b"\0" + text + b"\0" + SEEDS["registry"][0][5:] for text in avro), b"\1" + proto + b"\0" + SEEDS["registry"][1][5:])


def _log_proto() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="log.proto", package="a", syntax="proto3")
    message = file.message_type.add(name="Log")
    kinds = descriptor_pb2.FieldDescriptorProto
    message.field.add(name="message", number=1, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL)
    message.field.add(name="cause", number=2, type=kinds.TYPE_MESSAGE, type_name=".a.Log", label=kinds.LABEL_OPTIONAL)
    message.field.add(name="more", number=3, type=kinds.TYPE_BYTES, label=kinds.LABEL_REPEATED)
    message.field.add(name="numbers", number=4, type=kinds.TYPE_DOUBLE, label=kinds.LABEL_REPEATED)
    return file


def block_seeds() -> tuple[bytes, ...]:
    """Return the columns of a block, each behind the byte that says which it is and whether it is compressed here."""
    lines = lines_of(
        [line(0, text="a\nb", fields='{"k":"v"}'), line(1, text="b", level="ERROR", service="cart"), line(7, text=None, sub=2)]
    )
    places, texts = encode_places(lines, masks="m1"), encode_texts(join_texts(lines.text))
    times = np.array([1, 5], np.int64)
    head = encode_head(Head(np.array([-3, 7]), np.array([1, 2]), times, times + 9, ("", "cart"), ("ERROR",), 1_700_000_000_000))
    packed = [(0, places), (4, texts)]
    plain = [(kind | 9, zstd_content(content)) for kind, content in packed]
    return tuple(bytes([kind]) + content for kind, content in [*packed, *plain, (2, b64decode(head))])


def zstd_content(frame: bytes) -> bytes:
    """Return what is in a frame of zstd."""
    with pa.CompressedInputStream(pa.BufferReader(frame), "zstd") as stream:
        return bytes(stream.read())


def unit_vector(dim: int) -> NDArray[np.float32]:
    return np.full(dim, dim**-0.5, np.float32)


DEAD_LETTER = b"\n".join(
    one.encode()
    for name, content in {
        "own": "x",
        "__connect.errors.topic": "logs",
        "__connect.errors.partition": "3",
        "__connect.errors.offset": "77",
        "__connect.errors.stage": "decode",
        "vectail.reason": "undecodable: not valid JSON",
        "vectail.pieces": '{"too long": [[0, 1], [2, 0]]}',
        "vectail.pieces.omitted": "2",
        "vectail.size": "10",
        "vectail.sha256": "00",
        "vectail.epoch": "0a0b",
        "vectail.time": "1700000000000",
    }.items()
    for one in (name, content)
)
QUERIES: tuple[bytes, ...] = (
    b'{"text":"disk full","k":5,"mode":"hybrid","deadline_ms":500,"filters":{"level":["ERROR"],"service":["cart"]}}',
    b'{"as":"counts","by":["time","template"],"buckets":10,"filters":{"from":"2023-11-14T22:13:20Z","trace_id":"ab"}}',
    b'{"around":{"topic":"logs","partition":0,"offset":7,"before":1}}',
    b'{"as":"templates","filters":{"fields":{"k8s.pod.name":"web-1"}}}',
)
HTTP: tuple[bytes, ...] = tuple(request.encode("latin-1") for request in rows("http_requests"))
ASKED: tuple[bytes, ...] = (
    *QUERIES,
    b'{"text":"disk full","filters":{"service":["web"],"since_ms":0,"until_ms":3600000,"fields":{"pod":["web-1","web-2"]}}}',
    b'{"as":"counts","by":["service"],"filters":{"level":["ERROR"],"fields":{"code":503}}}',
    b'{"text":"000017-x3","mode":"words","k":50}',
    b'{"as":"templates","expand":true,"text":"login"}',
    *(bytes((1 + 2 * n, n)) for n in range(100)),
)

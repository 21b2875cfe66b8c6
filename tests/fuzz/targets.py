"""What `make fuzz` runs: the targets by name, each with its check and the values that it begins with."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from consumers.decode.rules import Format
from tests.fuzz import seeds
from tests.fuzz.asked import HttpCheck, check_answer
from tests.fuzz.decoding import NO_HEADERS, DecoderCheck, Headers
from tests.fuzz.embedded import BODIES, check_body
from tests.fuzz.files import EVENTS, FILES, check_events, check_file
from tests.fuzz.stored import (
    FRAME_DIM,
    FRAMES,
    KEY,
    check_block,
    check_dead_letter,
    check_frame,
    check_line_headers,
    check_schema,
)

MOST_BYTES = 4_096
"""Of a value as the fuzzer makes it."""
_EVENT: Headers = (
    ("ce_specversion", b"1.0"),
    ("ce_id", b"1"),
    ("ce_source", b"/a"),
    ("ce_type", b"b"),
    ("ce_time", b"2023-11-14T22:13:20Z"),
)
_EVENT_JSON: Headers = (*_EVENT, ("content-type", b"application/json"))
_STRUCTURED: Headers = (("content-type", b"application/cloudevents+json"),)
_AVRO: Headers = (("__value_schema_id", b"\0\0\0\0\1"),)
_PROTOBUF: Headers = (("__value_schema_id", b"\0\0\0\0\2\0"),)
_DEFLATE: Headers = (("content-encoding", b"deflate"),)
_SNAPPY: Headers = (("Content-Encoding", b"snappy"),)


class Target(NamedTuple):
    """One thing to fuzz."""

    check: Callable[[bytes], None]
    """Raises if something is not as it must be."""
    seeds: tuple[bytes, ...]
    close: Callable[[], None] = lambda: None
    """Ends what the check has started."""


def _of_format(form: Format, headers: tuple[Headers, ...] = (NO_HEADERS,), neighbour_headers: Headers = NO_HEADERS) -> Callable[[], Target]:
    def make() -> Target:
        own = seeds.SEEDS[form]
        schemas = seeds.known_schemas() if form == "registry" else None
        golden = () if len(headers) > 1 else tuple(seeds.golden_seeds(form, most_bytes=MOST_BYTES))
        check = DecoderCheck(
            form, (own[0], own[min(1, len(own) - 1)]), headers=headers, neighbour_headers=neighbour_headers, schemas=schemas
        )
        return Target(check.check, (*seeds.HEADED.get(form, own), *golden))

    return make


def _auto() -> Target:
    headers = (NO_HEADERS, _EVENT, _EVENT_JSON, _STRUCTURED, _AVRO, _DEFLATE)
    values = [*(seed for some in seeds.SEEDS.values() for seed in some), *seeds.golden_seeds(most_bytes=MOST_BYTES)]
    check = DecoderCheck("auto", (seeds.SEEDS["json"][0], seeds.LINES[0]), headers=headers, schemas=seeds.known_schemas())
    return Target(check.check, tuple(b"\0" + value for value in values))


def _compressed() -> Target:
    check = DecoderCheck("text", (seeds.LINES[0], seeds.LINES[1]), headers=(NO_HEADERS, _DEFLATE, _SNAPPY))
    return Target(check.check, seeds.compressed_seeds())


def _frame() -> Target:
    frames = FRAMES.encode([KEY], [seeds.unit_vector(FRAME_DIM)])
    return Target(check_frame, tuple(frame for frame in frames if frame))


def _http() -> Target:
    check = HttpCheck()
    return Target(check.check, seeds.HTTP, check.close)


TARGETS: Mapping[str, Callable[[], Target]] = {
    "auto": _auto,
    "text": _of_format("text"),
    "json": _of_format("json"),
    "logfmt": _of_format("logfmt"),
    "syslog": _of_format("syslog"),
    "msgpack": _of_format("msgpack"),
    "otlp_proto": _of_format("otlp_proto"),
    "otlp_json": _of_format("otlp_json"),
    "cloudevents": _of_format("cloudevents", (NO_HEADERS, _EVENT_JSON, _STRUCTURED)),
    "registry": _of_format("registry", (NO_HEADERS, _AVRO, _PROTOBUF)),
    "schema": lambda: Target(check_schema, seeds.schema_seeds()),
    "compressed": _compressed,
    "file": lambda: Target(check_file, FILES),
    "events": lambda: Target(check_events, EVENTS),
    "line_headers": lambda: Target(check_line_headers, (*seeds.LINES, b"\n".join(seeds.LINES))),
    "block": lambda: Target(check_block, seeds.block_seeds()),
    "frame": _frame,
    "dead_letter": lambda: Target(check_dead_letter, (seeds.DEAD_LETTER,)),
    "answer": lambda: Target(check_answer, seeds.ASKED),
    "embeddings": lambda: Target(check_body, BODIES),
    "http": _http,
}

"""What must hold of bytes that come back from where vectail put them, or claim to: each reader gives a value or says that it cannot."""

import base64
from contextlib import suppress

import numpy as np
import pyarrow as pa

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.from_line import LineHeaders
from consumers.decode.levels import LEVELS
from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import NotOfSchema, TooManyValues, Unknown, Unusable
from consumers.record import Record
from consumers.schema import FetchedSchema
from sinks.codec import BlockDamaged, decode_fields, decode_head, decode_places, decode_texts, masks_of
from tests.consumers.decode.seen import KAFKA_MS
from worker.embedding.cache.frame import FrameCodec
from worker.inspecting.stored_dead_letters import read_dead_letter

_ZSTD = pa.Codec("zstd")
_LINES = LineHeaders()
_LINE = LineHeaders()
FRAME_DIM = 8
FRAMES = FrameCodec(FRAME_DIM)
KEY = b"a key"
_MOST_LINES = 50
_MOST_VALUES = 20_000


def check_line_headers(given: bytes) -> None:
    """Read each line's time, level and service: the same alone and among the others."""
    lines = given.decode("utf-8", "replace").split("\n")[:_MOST_LINES]
    column = string_column(lines)
    kafka_ms = np.full(len(lines), KAFKA_MS)
    times, levels, services = _LINES.times(column, kafka_ms), _LINES.levels(column), _LINES.services(column)
    assert len(times) == len(levels.codes) == len(services.codes) == len(lines)
    assert {*levels.values} <= {"", *LEVELS}
    for row, line in enumerate(lines):
        alone = string_column([line])
        found = int(_LINE.times(alone, kafka_ms[:1])[0]), _LINE.levels(alone).text(0), _LINE.services(alone).text(0)
        assert found == (int(times[row]), levels.text(row), services.text(row)), f"line {row} is read differently alone"
        assert found[0] >= NO_TIME


def check_block(given: bytes) -> None:
    """Read a block's columns; the first byte says which, and whether its content is given uncompressed."""
    kind, content = (given or b"\0")[0], given[1:]
    if kind & 1:
        content = _ZSTD.compress(content, asbytes=True)
    with suppress(BlockDamaged):
        if kind & 2:
            decode_head(base64.b64encode(content).decode())
        elif kind & 4:
            decode_texts(content).to_pylist()
            decode_fields(content, 2).to_pylist()
        else:
            lines = decode_places(content)
            assert len({lines.size, len(lines.time), len(lines.template.codes)}) == 1
            lines.template.codes.tolist()
    if kind & 8:
        with suppress(BlockDamaged):
            masks_of(content)


def check_frame(given: bytes) -> None:
    """Read a vector's frame: no bytes but those that were written under the key are one."""
    found = FRAMES.decode([KEY, KEY], [given, None])
    vector = found.vectors[0]
    assert (vector is None) == (found.corrupt == 1)
    if vector is not None:
        assert FRAMES.encode([KEY], [vector]) == [given]


def check_dead_letter(given: bytes) -> None:
    """Read a dead letter: the first forty lines are names and contents of its headers in turn, the last bytes are its value."""
    parts = given.split(b"\n")[:40]
    headers = tuple((name.decode("utf-8", "replace"), content) for name, content in zip(parts[::2], parts[1::2], strict=False))
    letter = read_dead_letter(Record("dead", 0, 7, "", KAFKA_MS, None, given[-10:], headers))
    if letter is not None:
        assert letter.topic
        assert letter.obstacle or letter.record is not None
        assert letter.reason_heading is not None
        assert len(letter.own_headers) <= len(headers)


def check_schema(given: bytes) -> None:
    """Read a value by a schema that a registry answers: the first byte says of which kind it is, a NUL ends its text."""
    text, _, value = given[1:].partition(b"\0")
    kind = "PROTOBUF" if (given or b"\0")[0] & 1 else "AVRO"
    schema = new_schema(FetchedSchema(kind, text.decode("utf-8", "replace")))
    if isinstance(schema, Unknown | Unusable):
        assert not isinstance(schema, Unusable) or schema.reason.isprintable()
        return
    for strict in (True, False):
        with suppress(NotOfSchema, TooManyValues):
            schema.read(value, None, strict=strict, most_values=_MOST_VALUES)

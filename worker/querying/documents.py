"""What a reply shows of a line, and how large a reply may be.

The answer step builds its replies of these; errors are in `worker.asking.refusals`, listings in `worker.querying.templates` and `counts`.
"""

import json
from typing import Any

import numpy as np

from sinks.line import Line

MOST_REPLY_BYTES = 900_000
"""Below Kafka's default limit for a record (1 MB)."""
_ENVELOPE_BYTES = 1_000
"""Of an answer of several counts, around them."""


def bounded_json(document: dict[str, Any]) -> bytes:
    """Return a document as JSON of at most `MOST_REPLY_BYTES`: what does not fit of its list is left out, and it says so."""
    value = json_bytes(document)
    if len(value) <= MOST_REPLY_BYTES:
        return value
    if "groups" in document:
        share = (MOST_REPLY_BYTES - _ENVELOPE_BYTES) // len(document["groups"])
        return json_bytes(document | {"groups": [_cut(group, share) for group in document["groups"]], "complete": False})
    return json_bytes(_cut(document, MOST_REPLY_BYTES))


def _cut(document: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    """Return a document with as much of its list as fits."""
    size = len(json_bytes(document))
    if size <= most_bytes:
        return document
    key = next(name for name in ("hits", "templates", "counts", "compare", "lines") if name in document)
    sizes = np.cumsum([len(json_bytes(one)) + 2 for one in document[key]])
    room = most_bytes - (size - int(sizes[-1]))
    return document | {key: document[key][: int(np.searchsorted(sizes, room, side="right"))], "complete": False}


def json_bytes(document: dict[str, Any]) -> bytes:
    """Return a document as JSON."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8")


def shown_line(line: Line) -> dict[str, Any]:
    """Return a line as a reply shows it; of one that was sampled the text is null."""
    shown: dict[str, Any] = {
        "text": line.text,
        "template": line.template,
        "template_text": line.template_text,
        "id": line.id,
        "topic": line.topic,
        "partition": line.partition,
        "offset": line.offset,
        "sub": line.sub,
        "chunk": line.chunk,
        "chunks": line.chunks,
        "time": line.time,
        "kafka_time": line.kafka_time,
        "service": line.service,
        "level": line.level,
    }
    if line.text is None:
        shown["sampled"] = True
    if line.fields is not None:
        shown["fields"] = _fields(line.fields)
    return shown


def _fields(text: str) -> Any:  # noqa: ANN401 - whatever JSON they are
    try:
        return json.loads(text)
    except ValueError:
        return text

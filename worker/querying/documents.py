"""What a reply holds: lines, an error, and no more bytes than a Kafka record takes.

The answer step makes its replies of these; what a kind of lines looks like is in `worker.querying.search.templates`.
"""

import json
from typing import Any

import numpy as np

from sinks.row import LineRow

MOST_REPLY_BYTES = 900_000
"""Kafka takes no larger record, unless its operator says so: hits that do not fit are left out."""


def error_document(code: str, field: str, reason: str) -> dict[str, Any]:
    """Return what an asker gets whose query is not answered."""
    return {"error": {"code": code, "field": field, "reason": reason}}


def bounded_json(document: dict[str, Any]) -> bytes:
    """Return a document as JSON, without the last of its hits where it would be too large."""
    value = _json(document)
    if len(value) <= MOST_REPLY_BYTES:
        return value
    kinds = "hits" if "hits" in document else "templates"
    if kinds not in document:
        return value
    sizes = np.cumsum([len(_json(one)) + 2 for one in document[kinds]])
    room = MOST_REPLY_BYTES - (len(value) - int(sizes[-1]))
    return _json(document | {kinds: document[kinds][: int(np.searchsorted(sizes, room, side="right"))], "complete": False})


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8")


def shown_line(line: LineRow) -> dict[str, Any]:
    """Return a line as an answer shows it."""
    return {
        "text": line.text,
        "template": line.template,
        "id": line.id,
        "topic": line.topic,
        "partition": line.partition,
        "offset": line.offset,
        "sub": line.sub,
        "chunk": line.chunk,
        "chunks": line.chunks,
        "time": line.time,
        "service": line.service,
        "level": line.level,
    }

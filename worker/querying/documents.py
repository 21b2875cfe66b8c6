"""What a reply shows of a line, and how large a reply may be.

The answer step builds its replies of these; errors are in `worker.query`, listings of templates in `worker.querying.search.templates`.
"""

import json
from typing import Any

import numpy as np

from sinks.row import LineRow

MOST_REPLY_BYTES = 900_000
"""Below Kafka's default limit for a record (1 MB)."""


def bounded_json(document: dict[str, Any]) -> bytes:
    """Return a document as JSON of at most `MOST_REPLY_BYTES`: hits that do not fit are left out, and it says that it is not complete."""
    value = _json(document)
    if len(value) <= MOST_REPLY_BYTES:
        return value
    key = "hits" if "hits" in document else "templates"
    sizes = np.cumsum([len(_json(hit)) + 2 for hit in document[key]])
    room = MOST_REPLY_BYTES - (len(value) - int(sizes[-1]))
    return _json(document | {key: document[key][: int(np.searchsorted(sizes, room, side="right"))], "complete": False})


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode("utf-8")


def shown_line(line: LineRow) -> dict[str, Any]:
    """Return a line as a reply shows it."""
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

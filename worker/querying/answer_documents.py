"""What a reply shows of a line, and how large a reply may be.

The answer step builds its replies of these; errors are in `worker.asking.refusals`, listings in `worker.querying.template_listing` and
`counts`.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import cast

import numpy as np

from sinks.line import Line
from worker.asking.answers import AnsweredJson, ExampleJson, LineJson, ScoreJson
from worker.querying.similarity import Fit, is_nothing_close

MOST_REPLY_BYTES = 900_000
"""Below Kafka's default limit for a record (1 MB)."""


def bounded_json(document: Mapping[str, object]) -> bytes:
    """Return a document as JSON of at most `MOST_REPLY_BYTES`: what does not fit of its list is left out, and it says so."""
    value = json_bytes(document)
    if len(value) <= MOST_REPLY_BYTES:
        return value
    if "groups" in document:
        groups = cast("Sequence[Mapping[str, object]]", document["groups"])
        around = len(json_bytes({**document, "groups": [], "complete": False}))
        share = (MOST_REPLY_BYTES - around) // len(groups) - 2
        return json_bytes({**document, "groups": [_cut(group, share) for group in groups], "complete": False})
    return json_bytes(_cut(document, MOST_REPLY_BYTES))


def _cut(document: Mapping[str, object], most_bytes: int) -> Mapping[str, object]:
    """Return a document with as much of its list as fits."""
    size = len(json_bytes(document))
    if size <= most_bytes:
        return document
    key = next(name for name in ("hits", "templates", "counts", "compare", "lines") if name in document)
    entries = cast("Sequence[Mapping[str, object]]", document[key])
    sizes = np.cumsum([len(json_bytes(one)) + 2 for one in entries])
    room = most_bytes - (size - int(sizes[-1]))
    return {**document, key: entries[: int(np.searchsorted(sizes, room, side="right"))], "complete": False}


def json_bytes(document: Mapping[str, object]) -> bytes:
    """Return a document as JSON."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8")


def shown_fit(fit: Fit | None) -> ScoreJson:
    """Return how a reply says how well something fits; nothing without a text."""
    if fit is None:
        return {}
    return {"score": round(fit.score, 6), **({} if fit.strength is None else {"similarity": fit.strength})}


def say_closeness(answer: AnsweredJson, fits: Collection[Fit | None]) -> None:
    """Let an answer say so where nothing that it holds has to do with the text."""
    if is_nothing_close(fits):
        answer["nothing_close"] = True


def shown_line(line: Line) -> LineJson:
    """Return a line as a reply shows it; of one that was sampled the text is null."""
    shown: LineJson = {
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


def shown_example(line: Line | None) -> ExampleJson:
    """Return what a listing shows of the newest line."""
    if line is None:
        return {"example": None}
    return {"example": line.text, "service": line.service, "level": line.level, "time": line.time, "kafka_time": line.kafka_time}


def _fields(text: str) -> dict[str, object] | str:
    try:
        return cast("dict[str, object]", json.loads(text))
    except ValueError:
        return text

"""Objects around log entries: what wraps one entry, and what holds a batch of them under one key.

An object without a text of its own is opened where a key of these holds an object with a text, or a list of what looks like entries. The
fields around are kept on each entry, within a bound.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from consumers.decode.json_names import LEVEL_NAMES, TEXT_NAMES, TIME_NAMES
from consumers.decode.json_shapes import BATCH_LIKE, LEVEL_LIKE, LINES_LIKE, MOST_NAMES, TEXT_LIKE, TIME_LIKE, shape_of
from consumers.decode.json_text import NotJson, Scalar, parse_json
from consumers.decode.kept_fields import own_name

WRAPPERS: Final = (
    *("payload", "event", "log", "data", "record", "after", "message", "msg", "body", "properties", "detail", "_source", "entry", "value"),
    *("doc", "document", "content", "logEvent", "log_event", "Event", "log_processed", "parsed", "structured", "json", "attributes"),
    *("batch", "logs", "result", "fields"),
)
"""Keys whose object is the entry if it has a text."""
_PAYLOAD: Final = "payload"
_OF_CONNECT: Final = frozenset({"schema", _PAYLOAD})
"""What Kafka Connect's converter writes around a value."""
_EVENT: Final = "event"
_OF_HEC: Final = frozenset({"event", "time", "host", "source", "sourcetype", "index", "fields"})
"""What Splunk's HTTP Event Collector takes around an event."""
_ENTRY_NAMES: Final = frozenset(name.partition(".")[0] for names in (TEXT_NAMES, TIME_NAMES, LEVEL_NAMES) for name in names)
_LABELS, _LINES = "stream", "values"
"""What Loki takes: labels, and pairs of a time and a line."""
_DEEPEST: Final = 3
_SHOWN: Final = 8
"""Elements of a list that are looked at."""
_MOST_OUTER: Final = 64
_MOST_OUTER_CHARS: Final = 4_000_000
"""Characters of the fields around, times the entries that they are kept on."""
_LONGEST_OUTER: Final = 1_024
_PAIR: Final = 2


class Within(NamedTuple):
    """What is within an envelope.

    Thread: any.
    """

    keys: Sequence[str]
    """Under which keys it was."""
    documents: Sequence[Mapping[str, object]]


def within_envelope(document: Mapping[str, object], texts: Collection[str], depth: int = 0) -> Within | None:
    """Return what an object that has no text is around; None if it is no envelope. `texts` are the names of texts."""
    if depth > _DEEPEST:
        return None
    lists = sorted((key, value) for key, value in document.items() if isinstance(value, list) and shape_of(key) & BATCH_LIKE)
    batches = {key: documents for key, value in lists if (documents := _elements(value) or _lines(key, value))}
    if batches:
        return Within(tuple(batches), [one for documents in batches.values() for one in documents])
    if certain := _in_certain_envelope(document):
        return certain
    for key in WRAPPERS:
        value = document.get(key)
        if isinstance(value, dict) and (_has_text(value, texts) or within_envelope(value, texts, depth + 1)):
            return Within((key,), [value])
        if isinstance(value, str) and (inner := _object_of(value)) and _has_text(inner, texts):
            return Within((key,), [inner])
    return None


def _object_of(text: str) -> dict[str, object] | None:
    """Return the object that a text is; None if it is none."""
    if not text.startswith("{"):
        return None
    try:
        inner = parse_json(text)
    except NotJson:
        return None
    return inner if isinstance(inner, dict) else None


def _in_certain_envelope(document: Mapping[str, object]) -> Within | None:
    """Return what is within an envelope that the names of its keys tell, whatever it is around."""
    if document.keys() == _OF_CONNECT:
        payload = document[_PAYLOAD]
        documents = _elements(payload) if isinstance(payload, list) else [payload] if isinstance(payload, dict) and payload else None
        documents = [{"message": payload}] if isinstance(payload, str) and payload else documents
        return Within((_PAYLOAD,), documents) if documents else None
    event = document.get(_EVENT)
    is_of_hec = len(document) > 1 and document.keys() <= _OF_HEC
    return Within((_EVENT,), [event]) if is_of_hec and isinstance(event, dict) and event else None


def fields_around(flat: Mapping[str, Scalar], keys: Sequence[str]) -> dict[str, Scalar]:
    """Return the fields of an object but those under the keys."""
    opened = {own_name(key) for key in keys}
    under = tuple(f"{key}." for key in opened)
    return {name: value for name, value in flat.items() if name not in opened and not name.startswith(under)}


def outer_fields(flat: Mapping[str, Scalar], entries: int) -> dict[str, Scalar]:
    """Return fields that are kept on each of a number of entries: so many that their size stays within a bound."""
    left = _MOST_OUTER_CHARS // max(entries, 1)
    found: dict[str, Scalar] = {}
    for name, value in flat.items():
        size = len(name) + (len(value) if isinstance(value, str) else 8)
        if size <= min(left, _LONGEST_OUTER) and len(found) < _MOST_OUTER:
            found[name] = value
            left -= size
    return found


def _elements(parts: Sequence[object]) -> list[Mapping[str, object]] | None:
    """Return the entries that a list holds; None if it is a list of something else."""
    if not parts:
        return None
    if all(isinstance(part, dict) for part in parts):
        documents = [_with_labels(part) for part in parts if isinstance(part, dict)]
        return documents if any(map(_is_like_entry, documents[:_SHOWN])) else None
    if all(isinstance(part, list) and len(part) >= _PAIR and all(isinstance(one, str) for one in part[:_PAIR]) for part in parts):
        return [{"time": part[0], "message": part[1]} for part in parts if isinstance(part, list)]
    return None


def _lines(key: str, parts: Sequence[object]) -> list[Mapping[str, object]] | None:
    """Return the lines that a list of texts is; None if it is another list."""
    lines = [part for part in parts if isinstance(part, str) and " " in part]
    return [{"message": line} for line in lines] if lines and len(lines) == len(parts) and shape_of(key) & LINES_LIKE else None


def _with_labels(stream: Mapping[str, object]) -> Mapping[str, object]:
    """Return a stream of Loki's with its labels as fields of their own."""
    labels = stream.get(_LABELS)
    return {**labels, **stream, _LABELS: None} if isinstance(labels, dict) and isinstance(stream.get(_LINES), list) else stream


def _is_like_entry(document: Mapping[str, object]) -> bool:
    """Whether an object has what an entry has: a text, a time or a level, or what may be around one."""
    for key, value in islice(document.items(), MOST_NAMES):
        if key in _ENTRY_NAMES or shape_of(key) & (TEXT_LIKE | TIME_LIKE | LEVEL_LIKE):
            return True
        if isinstance(value, list) and value and shape_of(key) & BATCH_LIKE:
            return True
    return any(isinstance(document.get(key), dict) for key in WRAPPERS)


def _has_text(document: Mapping[str, object], texts: Collection[str]) -> bool:
    return any(isinstance(value, str) and value for value in _values_of(document, texts))


def _values_of(document: Mapping[str, object], names: Collection[str]) -> Iterator[object]:
    for name in names:
        yield document.get(name)
        first, _, rest = name.partition(".")
        if rest and isinstance(owner := document.get(first), dict):
            yield owner.get(rest)
    if len(document) <= MOST_NAMES:
        yield from (value for key, value in document.items() if isinstance(value, str) and shape_of(key) & TEXT_LIKE)

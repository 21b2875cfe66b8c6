"""CloudEvents: an event in the value and its attributes in headers (binary mode), or both in one JSON object (structured mode) or array.

What an event carries is read as JSON or as text, as its content type says. Its time counts if the data names none, and its id, source, type
and subject are kept as fields by OpenTelemetry's names. An event without data is a line of its type and subject.
"""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.enveloped import Content, Contents
from consumers.decode.found import Found, Values, undecodable
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_repair import JsonRepairs
from consumers.decode.json_text import NotJson, parse_json, write_document
from consumers.decode.rules import DecodeRules
from consumers.decode.text_reader import TextReader
from consumers.record import Header

_CONTENT_TYPE: Final = "content-type"
_STRUCTURED: Final = "application/cloudevents"
_AS_JSON: Final = re.compile(r"application/cloudevents(-batch)?\+json *(;|$)")
_VERSION: Final = "ce_specversion"
_REQUIRED: Final = ("specversion", "id", "source", "type")
_FIELDS: Final = {
    "id": "cloudevents.event_id",
    "source": "cloudevents.event_source",
    "type": "cloudevents.event_type",
    "subject": "cloudevents.event_subject",
}
"""By attribute."""
_TRACE_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_JSON_TYPE: Final = re.compile(r"[^;]*(/|\+)json *(;|$)")
_BEGINS_JSON: Final = re.compile(rb'\s*[{\[]\s*["{}\[\]]')


class NotCloudEvents(Exception):
    """The value is no event; the text is the reason, without anything of the value."""


class CloudEventsReader:
    """Reads events in each of the modes.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._json = JsonReader(rules, tally=tally)
        self._text = TextReader(rules, tally)
        self._repairs = JsonRepairs(rules, tally)

    def read(self, values: Values) -> Found:
        """Read n values."""
        contents = Contents(values, self._rules)
        for place, value in enumerate(values.value):
            try:
                events = _events_in(value, () if values.headers is None else values.headers[place], self._repairs)
                if contents.admits(place, len(events)):
                    contents.add_value(place, events)
            except NotCloudEvents as error:
                contents.fail_value(place, undecodable(str(error)))
            except NotJson:
                contents.fail_value(place, undecodable("not a CloudEvent: JSON that is not valid, or nested too deeply"))
        return contents.found(self._json, self._text)


def find_cloud_events(headers: Sequence[tuple[Header, ...]] | None, size: int) -> NDArray[np.bool_]:
    """Return which of n values are events by their headers: bool[n]."""
    if headers is None:
        return np.zeros(size, np.bool_)
    return np.fromiter((any(_is_of_event(name, content) for name, content in one) for one in headers), np.bool_, size)


def _is_of_event(name: str, content: bytes | None) -> bool:
    return name == _VERSION or (name.lower() == _CONTENT_TYPE and (content or b"").lower().startswith(_STRUCTURED.encode()))


def _events_in(value: bytes, headers: Sequence[Header], repairs: JsonRepairs) -> list[Content]:
    """Return the events of a value. Raises NotCloudEvents, NotJson."""
    attributes = {name.lower(): (content or b"").decode("utf-8", "replace") for name, content in headers}
    content_type = attributes.get(_CONTENT_TYPE, "").lower()
    if content_type.startswith(_STRUCTURED):
        if not _AS_JSON.match(content_type):
            raise NotCloudEvents("CloudEvents in a format other than JSON")
    elif _VERSION in attributes:
        event = {name.removeprefix("ce_"): text for name, text in attributes.items() if name.startswith("ce_")}
        return [_content(event, value, is_json=_is_json(content_type, value))]
    document = repairs.parse(value, parse_json)
    return [_structured(event) for event in (document if isinstance(document, list) else [document])]


def _structured(event: object) -> Content:
    """Return an event that is a JSON object. Raises NotCloudEvents, NotJson."""
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in _REQUIRED):
        raise NotCloudEvents("not a CloudEvent: no object with specversion, id, source and type")
    data = event.get("data")
    encoded = event.get("data_base64")
    content_type = event.get("datacontenttype")
    named = content_type.lower() if isinstance(content_type, str) else ""
    if data is None and encoded is not None:
        content = _base64(encoded)
        return _content(event, content, is_json=_is_json(named, content))
    if isinstance(data, dict | list):
        return _content(event, write_document(data, str), is_json=True)
    if isinstance(data, str):
        content = data.encode("utf-8", "replace")
        return _content(event, content, is_json=bool(_BEGINS_JSON.match(content)))
    return _content(event, b"" if data is None else write_document(data, str), is_json=False)


def _content(event: Mapping[str, object], data: bytes, *, is_json: bool) -> Content:
    time = event.get("time")
    fields = {field: text for name, field in _FIELDS.items() if isinstance(text := event.get(name), str)}
    parent = event.get("traceparent")
    if isinstance(parent, str) and (ids := _TRACE_PARENT.fullmatch(parent)):
        fields |= {"trace_id": ids[1], "span_id": ids[2]}
    if not data.strip():
        said = ": ".join(text for name in ("type", "subject") if isinstance(text := event.get(name), str) and text)
        data, is_json = (said or "event").encode("utf-8", "replace"), False
    return Content(data, is_json, time if isinstance(time, str) else None, fields)


def _is_json(content_type: str, value: bytes) -> bool:
    """Whether data is JSON by its content type; without one, by how it begins."""
    if content_type:
        return bool(_JSON_TYPE.match(content_type)) and not value.lstrip().startswith(b'"')
    return bool(_BEGINS_JSON.match(value))


def _base64(encoded: object) -> bytes:
    try:
        if isinstance(encoded, str):
            return b64decode(encoded, validate=True)
    except ValueError:
        pass
    raise NotCloudEvents("not a CloudEvent: data_base64 is not base64")

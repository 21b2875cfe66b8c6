"""MessagePack: maps, which Fluent Bit's Kafka output writes, and events of the Forward protocol, `[time, map]`.

A map is read by the rules of JSON objects: it is written as JSON and goes the same way. The time of an event is that of its entry if the
map names none.
"""

from datetime import datetime
from typing import Final

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.enveloped import Content, Contents
from consumers.decode.found import Found, Values, undecodable
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_text import MessagePackExtension, NotJson, Scalar, parse_msgpack, text_of_bytes, write_document
from consumers.decode.rules import DecodeRules
from consumers.decode.text_reader import TextReader

_EVENT_TIME: Final = 0
"""Type of the Forward protocol's times: four bytes of seconds and four of nanoseconds."""
_EVENT_TIME_BYTES: Final = 8
_NOT_MAPS: Final = "MessagePack, but neither maps nor events with a time and a map"


class MsgpackReader:
    """Reads maps, events, and arrays of them.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._json = JsonReader(rules, tally=tally)
        self._text = TextReader(rules, tally)

    def read(self, values: Values) -> Found:
        """Read n values."""
        contents = Contents(values, self._rules)
        for place, value in enumerate(values.value):
            try:
                events = _events_in(parse_msgpack(value))
                if contents.admits(place, len(events)):
                    contents.add_value(place, [Content(write_document(body, _plain), is_json=True, time=time) for time, body in events])
            except NotJson as error:
                contents.fail_value(place, undecodable(str(error)))
        return contents.found(self._json, self._text)


def _events_in(document: object) -> list[tuple[Scalar | None, dict[object, object]]]:
    """Return the events of a value, with the times that stand beside them. Raises NotJson."""
    if isinstance(document, dict):
        return [(None, document)]
    if not isinstance(document, list):
        raise NotJson(_NOT_MAPS)
    event = _event_of(document)
    events = [event] if event else [_event_of(element) for element in document]
    found = [event for event in events if event]
    if len(found) != len(events):
        raise NotJson(_NOT_MAPS)
    return found


def _event_of(element: object) -> tuple[Scalar | None, dict[object, object]] | None:
    """Return the event that a map is, `[time, map]`, or `[[time, attributes], map]`, which Fluent Bit has since 2.1."""
    if isinstance(element, dict):
        return None, element
    pair = _pair_of(element)
    if pair is None:
        return None
    time, body = pair
    if inner := _pair_of(time):
        time, _ = inner
    if isinstance(time, datetime):
        time = time.isoformat()
    elif isinstance(time, MessagePackExtension):
        time = _event_time(time)
    return (time, body) if isinstance(time, int | float | str) and not isinstance(time, bool) else None


def _pair_of(element: object) -> tuple[object, dict[object, object]] | None:
    if isinstance(element, list) and len(element) == 2 and isinstance(element[1], dict):  # noqa: PLR2004 - time and map
        return element[0], element[1]
    return None


def _event_time(time: MessagePackExtension) -> str | None:
    """Return a time of the Forward protocol as seconds; as text, because a float has not all of its digits."""
    content = bytes(time.data)
    if time.code != _EVENT_TIME or len(content) != _EVENT_TIME_BYTES:
        return None
    return f"{int.from_bytes(content[:4])}.{int.from_bytes(content[4:]):09}"


def _plain(value: object) -> Scalar:
    """Return what JSON has for a value that it has no type for: times in seconds, bytes as the text that they are, else in base64."""
    if isinstance(value, datetime):
        return value.timestamp()
    if isinstance(value, MessagePackExtension):
        if seconds := _event_time(value):
            return float(seconds)
        value = bytes(value.data)
    if isinstance(value, bytes):
        return text_of_bytes(value)
    raise TypeError(type(value).__name__)

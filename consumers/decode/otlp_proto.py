"""OTLP as Protocol Buffers: what the Collector's Kafka exporter and OpenTelemetry's exporters write, many log records a value.

Nothing in a value says that it is OTLP, so a topic's settings must. Records whose body is a text, which most are, go the fast way: their
kept fields come from `consumers.decode.otlp_shapes`, and only what it does not know is parsed into attributes and goes through the rules
of `consumers.decode.otlp_entry`.
"""

from collections.abc import Iterable
from typing import Final

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import Found, Values, too_many_entries, undecodable
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.json_text import NotJson, parse_json
from consumers.decode.kept_fields import MOST_BYTES
from consumers.decode.otlp_entry import LogRecord, OtlpEntry, OtlpOrigin, add_attribute, entry_of, hex_id, level_of, origin_of
from consumers.decode.otlp_rows import LEVEL_CODES, OtlpRows, TooManyRecords
from consumers.decode.otlp_shapes import Shapes
from consumers.decode.otlp_wire import Texts, parse_attribute, parse_body, parse_logs, parse_resource, parse_scope
from consumers.decode.protobuf_messages import Message, NotProtobuf
from consumers.decode.rules import DecodeRules
from consumers.decode.source_template import SourceTemplates

_MOST_ORIGINS: Final = 1_024
_MOST_LEVELS: Final = 1_024
_LONGEST_REMEMBERED: Final = 8_192
"""Bytes of a resource and a scope."""
_MOST_ID_BYTES: Final = 64
_QUOTE: Final = '"'
_NO_TEMPLATE: Final = '""'
_SURELY_SHORT: Final = MOST_BYTES // 4
"""Characters of an object that is within the bound whatever they are."""


class OtlpProtoReader:
    """Reads `LogsData`, which is `ExportLogsServiceRequest` too; remembers attributes, origins and names of levels.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._tally = tally
        self._inner = InnerObjects(rules, tally)
        self._texts = Texts(strict=rules.strict)
        self._templates = SourceTemplates(rules)
        self._shapes = Shapes(rules, self._texts, self._templates.names)
        self._origins: dict[tuple[bytes, bytes], tuple[int, OtlpOrigin]] = {}
        self._origins_made = 0
        self._levels: dict[tuple[bytes, int], tuple[int, str]] = {}
        names = rules.names
        self._is_plain = not (names.text or names.time or names.level or names.service)
        """Whether the settings leave it to OTLP where text, time, level and service are."""

    def read(self, values: Values) -> Found:
        """Read n values."""
        rows = OtlpRows()
        for place, value in enumerate(values.value):
            self._texts.was_replaced = False
            try:
                self._read_value(value, rows)
            except TooManyRecords:
                rows.fail_value(place, too_many_entries(self._rules.max_entries, "log records"))
            except NotProtobuf:
                rows.fail_value(place, undecodable("not OTLP logs"))
            except NotJson:
                rows.fail_value(place, undecodable("a body is nested too deeply"))
            rows.end_value(place)
            self._tally.replaced_records += self._texts.was_replaced
        return rows.found(self._rules, values.kafka_ms, self._inner)

    def _read_value(self, value: bytes, rows: OtlpRows) -> None:
        """Add the entries of a value. Raises NotProtobuf, NotJson, TooManyRecords."""
        groups = parse_logs(value).resource_logs
        most = self._rules.max_entries
        if not groups:
            raise NotProtobuf
        # Counted before objects are made of them: two bytes are enough for a group, a scope or a record.
        if len(groups) > most or sum(len(group.scope_logs) for group in groups) > most:
            raise TooManyRecords
        if sum(len(logs.log_records) for group in groups for logs in group.scope_logs) > most:
            raise TooManyRecords
        for group in groups:
            resource = group.resource
            for logs in group.scope_logs:
                self._read_records(logs.log_records, *self._origin(resource, logs.scope), rows)

    def _read_records(self, records: Iterable[Message], number: int, origin: OtlpOrigin, rows: OtlpRows) -> None:
        """Add the entries of the records of one origin. Raises NotProtobuf, NotJson."""
        shapes, levels, is_plain = self._shapes, self._levels, self._is_plain
        known, layouts = shapes.attributes, shapes.layouts
        for record in records:
            body = record.body
            trace_id, span_id = record.trace_id, record.span_id
            start = _start_of_text(body) if is_plain else 0
            if not start or record.event_name or len(trace_id) + len(span_id) > _MOST_ID_BYTES:
                rows.add_entry(self._by_general_rules(record, origin))
                continue
            level = levels.get((record.severity_text, record.severity_number)) or self._level(record)
            # A slice is one list made in C; an iteration asks for each element.
            attributes = [known.get(attribute) or shapes.learn_attribute(attribute) for attribute in record.attributes[:]]
            names, slots = zip(*attributes, strict=True) if attributes else ((), ())
            ids = _json_id(trace_id), _json_id(span_id)
            key = (number, level[1], ids[0] == "", ids[1] == "", names)
            layout = layouts[key] if key in layouts else shapes.learn_layout(key, origin)
            fields = None if layout is None else layout.template % layout.pick(slots + ids)
            # A source template that is a number is none: another attribute may be it.
            source = _NO_TEMPLATE if layout is None or layout.source_place is None else slots[layout.source_place]
            if fields is None or source[0] != _QUOTE or (len(fields) > _SURELY_SHORT and len(fields.encode()) > MOST_BYTES):
                rows.add_entry(self._by_general_rules(record, origin))
                continue
            if source is not _NO_TEMPLATE and (template := self._templates.text_of(str(parse_json(source)), origin.logger)):
                rows.template[len(rows.text)] = template
            rows.text.append(self._texts.text(body[start:]))
            rows.time_ns.append(record.time_unix_nano or record.observed_time_unix_nano)
            rows.service.append(origin.service)
            rows.level.append(level[0])
            rows.fields.append(fields or None)

    def _by_general_rules(self, record: Message, origin: OtlpOrigin) -> OtlpEntry:
        text = self._texts.text
        attributes: dict[str, object] = {}
        for attribute in record.attributes:
            add_attribute(attributes, *parse_attribute(attribute, self._texts))
        plain = LogRecord(
            body=parse_body(record.body, self._texts),
            event_name=text(record.event_name),
            time_ns=record.time_unix_nano or record.observed_time_unix_nano,
            severity_text=text(record.severity_text),
            severity_number=record.severity_number,
            trace_id=hex_id(record.trace_id.hex()),
            span_id=hex_id(record.span_id.hex()),
            attributes=attributes,
        )
        return entry_of(plain, origin, self._rules, self._templates)

    def _origin(self, resource: bytes, scope: bytes) -> tuple[int, OtlpOrigin]:
        """Return a number that stands for an origin in this reader's memory, and the origin. Raises NotProtobuf."""
        found = self._origins.get((resource, scope))
        if found is None:
            if len(self._origins) >= _MOST_ORIGINS:
                self._origins.clear()
            logger, attributes = parse_scope(scope, self._texts)
            found = self._origins_made, origin_of(logger, attributes, parse_resource(resource, self._texts))
            self._origins_made += 1
            if len(resource) + len(scope) <= _LONGEST_REMEMBERED and not self._texts.was_replaced:
                self._origins[resource, scope] = found
        return found

    def _level(self, record: Message) -> tuple[int, str]:
        """Return a level's code and what was written instead of its name. Raises NotProtobuf."""
        if len(self._levels) >= _MOST_LEVELS:
            self._levels.clear()
        level, written = level_of(self._texts.text(record.severity_text), record.severity_number)
        found = LEVEL_CODES[level], written
        if not self._texts.was_replaced:
            self._levels[record.severity_text, record.severity_number] = found
        return found


def _json_id(number: bytes) -> str:
    return f'"{number.hex()}"' if number.strip(b"\0") else ""


def _start_of_text(body: bytes) -> int:
    """Return where the text of a body begins that is a string and not empty; 0 for other bodies."""
    size = len(body)
    if size < 3 or body[0] != 0x0A:  # noqa: PLR2004 - tag, length, text
        return 0
    length, start = body[1], 2
    if length >= 0x80:  # noqa: PLR2004 - more bytes of the length follow
        length &= 0x7F
        for shift in (7, 14, 21):
            if start >= size:
                return 0
            length |= (body[start] & 0x7F) << shift
            start += 1
            if body[start - 1] < 0x80:  # noqa: PLR2004
                break
    return start if length and length == size - start else 0

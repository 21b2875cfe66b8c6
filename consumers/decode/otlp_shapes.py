"""The kept fields of log records of OTLP by memory: attributes whose bytes were seen before, and records with the same names.

Walking attributes is what OTLP costs. Most attributes of most records are the same bytes as before, and most records have the same names as
some record before, so what `consumers.decode.kept_fields` makes of them is remembered: of an attribute its name and its value as JSON, of
a list of names and an origin the finished object with a slot for each value. The memory is filled by those rules themselves and is
never an answer of its own: forgetting all of it changes nothing (`tests/properties/test_otlp.py`).
"""

import re
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring
from operator import itemgetter
from struct import unpack_from
from typing import Final, NamedTuple, cast

from consumers.decode.json_text import Scalar, write_flat
from consumers.decode.kept_fields import HTTP_STATUS, LONGEST_STRING, MOST_BYTES, WELL_KNOWN, fits, is_scalar, kept_of_flat, own_name
from consumers.decode.otlp_entry import SERVICE, STACK_TRACE, OtlpOrigin, identity_fields
from consumers.decode.otlp_wire import Texts, parse_attribute
from consumers.decode.rules import DecodeRules
from consumers.decode.source_template import LOGGER_NAMES

_MOST_ATTRIBUTES: Final = 16_384
_LONGEST_ATTRIBUTE: Final = 512
_MOST_VALUES: Final = 256
"""Attributes that are remembered: all, the longest in bytes, and those of one name."""
_MOST_NAMES: Final = 1_024
_MOST_LAYOUTS: Final = 2_048
_KEY, _VALUE, _STRING, _INT, _DOUBLE = 0x0A, 0x12, 0x0A, 0x18, 0x21
"""Tags: of an attribute's name and value, and of the types of values."""
_DOUBLE_BYTES: Final = 8
_ONE_BYTE: Final = 0x80
"""Smaller lengths and integers take one byte."""
_LONGEST_NAME: Final = 256
"""As `consumers.decode.kept_fields` has it."""
_STATUS_NAMES: Final = frozenset(WELL_KNOWN[HTTP_STATUS])
_BY_GENERAL_RULES: Final = frozenset({SERVICE, STACK_TRACE})
_MOST_STATUS: Final = 999
_LONGEST_STATUS: Final = 16
"""Values of a status that are part of a layout; the general rules are asked for others."""
_TOO_LONG: Final = "x" * (LONGEST_STRING + 1)
_MARK: Final = "\0"
_MARK_AS_JSON: Final = "\\u0000"
_SLOT: Final = re.compile('"\\\\u0000([0-9]+)\\\\u0000"')

Name = str | tuple[str, Scalar]
"""What of an attribute decides about its place: its name; with a value where that decides too. Empty: it is left out."""


Attribute = tuple[Name | None, str]
"""An attribute of a record: what decides about its place, None if the general rules must be asked; its value as JSON if it has a slot."""
_ASK: Final[Attribute] = (None, "")


class OtlpLayout(NamedTuple):
    """How the kept fields of records with the same names are written.

    Thread: any.
    """

    template: str
    """The object, for the operator %; empty if no field is kept."""
    pick: Callable[[Sequence[str]], str | tuple[str, ...]]
    """Takes those that go into it from a record's values: those of its attributes, then trace id and span id."""
    source_place: int | None = None
    """Which attribute is the source template, if it is a string; None: there is none."""


LayoutKey = tuple[int, str, bool, bool, tuple[Name | None, ...]]
"""A number that stands for an origin; what was written as the level; whether there is no trace id, no span id; the names."""


class Shapes:
    """What is remembered of attributes and records.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, texts: Texts, template_names: Sequence[str]) -> None:
        """`template_names`: attributes that may be the source template, in their order."""
        self.attributes: dict[bytes, Attribute] = {}
        self._names: dict[bytes, str] = {}
        """Names that have a slot whatever the value is, by the bytes of the key with its tag and length."""
        self._values_of: dict[Name | None, int] = {}
        """How many attributes of a name are remembered."""
        self._diverse: set[Name | None] = set()
        """Names whose values hardly repeat, so that no more of them are remembered."""
        self.layouts: dict[LayoutKey, OtlpLayout | None] = {}
        self._once: set[LayoutKey] = set()
        self._rules = rules
        self._texts = texts
        self._template_names = template_names

    def learn_attribute(self, attribute: bytes) -> Attribute:
        """Return what an attribute is. Raises NotProtobuf."""
        size = len(attribute)
        end = attribute[1] + 2 if size > 1 else size
        known = self._names.get(attribute[:end])
        found: Attribute | None = None
        if known is not None and size > end + 3 and attribute[end] == _VALUE and attribute[end + 1] == size - end - 2:
            found = self._of_known_name(known, attribute, end + 2)
            if found is not None and known in self._diverse:
                return found
        if found is None:
            found = self._of_any(attribute)
        self._remember(attribute, found)
        return found

    def learn_layout(self, key: LayoutKey, origin: OtlpOrigin) -> OtlpLayout | None:
        """Return how to write the fields of records; None: the general rules must be asked. The key's number stands for the origin."""
        if key not in self._once:
            # Some producers have names that never repeat, and to ask the general rules is less work than to learn a layout.
            if len(self._once) >= _MOST_LAYOUTS:
                self._once.clear()
            self._once.add(key)
            return None
        if len(self.layouts) >= _MOST_LAYOUTS:
            self.layouts.clear()
        found = _layout_of(key, origin, self._rules)
        if found is not None and (sources := [name for name in self._template_names if name in key[-1]]):
            is_logger_known = origin.logger or not any(name in LOGGER_NAMES for name in key[-1])
            found = found._replace(source_place=key[-1].index(sources[0])) if is_logger_known else None
        self.layouts[key] = found
        return found

    def _of_known_name(self, name: str, attribute: bytes, start: int) -> Attribute | None:
        """Read the usual forms of a value without the library: a short string, a small number, a double."""
        kind, length = attribute[start], attribute[start + 1]
        left = len(attribute) - start - 2
        if kind == _STRING and 0 < length == left < _ONE_BYTE:
            try:
                return name, encode_basestring(attribute[start + 2 :].decode())
            except UnicodeDecodeError:
                return None
        if kind == _INT and not left and length < _ONE_BYTE:
            return name, str(length)
        if kind == _DOUBLE and left == _DOUBLE_BYTES - 1:
            (double,) = unpack_from("<d", attribute, start + 1)
            return (name, write_flat({"": double})[4:-1].decode()) if is_scalar(double) else None
        return None

    def _remember(self, attribute: bytes, found: Attribute) -> None:
        name = found[0]
        if len(attribute) > _LONGEST_ATTRIBUTE or self._texts.was_replaced or name in self._diverse:
            return
        if len(self.attributes) >= _MOST_ATTRIBUTES:
            self.attributes.clear()
            self._values_of.clear()
            self._diverse.clear()
        self.attributes[attribute] = found
        self._values_of[name] = count = self._values_of.get(name, 0) + 1
        if count >= _MOST_VALUES:
            self._diverse.add(name)

    def _of_any(self, attribute: bytes) -> Attribute:
        key, value = parse_attribute(attribute, self._texts)
        name = own_name(key)
        if isinstance(value, dict) or name in _BY_GENERAL_RULES or _MARK in name:
            return _ASK
        if not is_scalar(value) or not 0 < len(name) <= _LONGEST_NAME:
            return "", ""
        scalar = cast("Scalar", value)
        if name in self._template_names and (name in _STATUS_NAMES or not fits(scalar)):
            return _ASK
        if name in _STATUS_NAMES:
            is_frequent = (type(scalar) is int and 0 <= scalar <= _MOST_STATUS) or (type(scalar) is str and len(scalar) <= _LONGEST_STATUS)
            return ((name, scalar), "") if is_frequent and _MARK not in str(scalar) else _ASK
        if not fits(scalar):
            return _ASK if self._rules.names.keep else ((name, _TOO_LONG), "")
        self._learn_name(key, name)
        return name, write_flat({"": scalar})[4:-1].decode()

    def _learn_name(self, key: str, name: str) -> None:
        utf8 = key.encode()
        if len(utf8) < _ONE_BYTE and not self._texts.was_replaced:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            self._names[bytes((_KEY, len(utf8))) + utf8] = name


def _layout_of(key: LayoutKey, origin: OtlpOrigin, rules: DecodeRules) -> OtlpLayout | None:
    """Ask the general rules once, with marks in place of the values that differ."""
    _, level_written, lacks_trace, lacks_span, names = key
    constant = identity_fields("", "", level_written, origin.logger)
    if (
        None in names
        or STACK_TRACE in origin.flat
        or _MARK in write_flat({**constant, **origin.flat}).decode().replace(_MARK_AS_JSON, _MARK)
    ):
        return None
    flat: dict[str, Scalar] = {}
    if not lacks_trace:
        flat["trace_id"] = _slot(len(names))
    if not lacks_span:
        flat["span_id"] = _slot(len(names) + 1)
    flat |= constant
    for place, name in enumerate(names):
        if isinstance(name, tuple):
            flat.setdefault(*name)
        elif name:
            flat.setdefault(name, _slot(place))
    for own, value in origin.flat.items():
        flat.setdefault(own, value)
    if len(write_flat(flat)) > MOST_BYTES:
        return None
    written = kept_of_flat(flat, rules, {SERVICE} if origin.service else ())
    if written is None:
        return OtlpLayout("", _no_values)
    parts = _SLOT.split(written)
    places = [int(place) for place in parts[1::2]]
    return OtlpLayout("%s".join(part.replace("%", "%%") for part in parts[::2]), itemgetter(*places) if places else _no_values)


def _no_values(_: Sequence[str]) -> tuple[str, ...]:
    return ()


def _slot(place: int) -> str:
    return f"{_MARK}{place}{_MARK}"

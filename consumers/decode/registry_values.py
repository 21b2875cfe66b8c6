"""Writes what a registry's schema made of a value as JSON, so that the rules of JSON find text, time, level, service and fields in it."""

import base64
from decimal import Decimal

from consumers.decode.json_text import NotJson, write_document
from consumers.decode.registry_schemas import NotOfSchema


def write_value(value: object) -> bytes:
    """Return a value as JSON. Raises NotOfSchema."""
    try:
        return write_document(value, _plain)
    except NotJson:
        raise NotOfSchema("of its schema, but nested too deeply") from None


def _plain(value: object) -> str:
    """Return as text what JSON has no type for: bytes as the text that they are, else in base64; decimals as they are written."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.standard_b64encode(value).decode("ascii")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value).__name__)

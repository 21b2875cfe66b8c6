"""Writes what a registry's schema made of a value as JSON, so that the rules of JSON find text, time, level, service and fields in it."""

from decimal import Decimal

from consumers.decode.json_text import NotJson, text_of_bytes, write_document
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
        return text_of_bytes(value)
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value).__name__)

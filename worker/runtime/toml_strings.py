"""Strings as TOML has them, which the standard library can only read."""

import json


def toml_string(text: str) -> str:
    """Return a TOML string, as it is written by hand where that is possible: a regular expression without doubled backslashes."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return basic_string(text)


def basic_string(text: str) -> str:
    """Return a TOML basic string: a JSON string, in which everything unprintable is escaped as TOML has it."""
    written = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in written)

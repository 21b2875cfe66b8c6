"""Renders a message template of Serilog with the values of its event."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from consumers.decode.json_text import NotJson, canonical_json

_TOKEN: Final = re.compile(r"\{\{|\}\}|\{[@$]?(\w+)(?:,-?\d+)?(?::[^{}]+)?\}")
_RENDERINGS: Final = "@r"
_ESCAPED: Final = {"{{": "{", "}}": "}"}


def rendered(template: str, event: Mapping[str, object]) -> str:
    """Return a template with values in place of its names: `{User}`, `{@Order}`, `{Elapsed:0.00}`; a name without a value stays.

    Values with a format are written as the event's `@r` has them, the others as they are, without quotation marks.
    """
    renderings = event.get(_RENDERINGS)
    formatted: Iterator[object] = iter(renderings if isinstance(renderings, list) else ())

    def value_of(token: re.Match[str]) -> str:
        if token[0] in _ESCAPED:
            return _ESCAPED[token[0]]
        if ":" in token[0]:
            rendering = next(formatted, None)
            if isinstance(rendering, str):
                return rendering
        if token[1] not in event:
            return token[0]
        value = event[token[1]]
        return value if isinstance(value, str) else _written(value, token[0])

    return _TOKEN.sub(value_of, template)


def _written(value: object, token: str) -> str:
    try:
        return canonical_json(value)
    except NotJson:
        return token

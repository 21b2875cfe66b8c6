"""Source templates: where a record says of which template its text was made, that is the template of its line.

The readers of structured formats call it for each entry that carries one; `consumers.text.chunk` masks what it returns in place of the
text. A template is named with its logger, for two places of a program may log the same words.
"""

import re
from typing import Final

from consumers.decode.json_names import TEMPLATE_LOGGER_NAMES, TEMPLATE_NAMES
from consumers.decode.kept_fields import WELL_KNOWN, fits
from consumers.decode.rules import DecodeRules

LOGGER_NAMES: Final = (*WELL_KNOWN["logger"], *TEMPLATE_LOGGER_NAMES)
"""The first that is a string is named with a source template."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*+\}|%(?:\([^()]*+\))?+[-#+ .*0-9]*+[A-Za-z]")
"""Of message templates (`{User}`, `{0:N2}`) and of printf (`%s`, `%(name)s`, `%-5.2f`). It never goes back, so its time is linear."""
_MOST_REMEMBERED: Final = 4_096
_LONGEST_REMEMBERED: Final = 1_024
"""Characters."""

_REQUEST: Final = frozenset(
    ("method", "uri", "url", "path", "requesturi", "requesturl", "requestpath", "requestmethod", "httpmethod", "originalurl")
)
"""Of the names of an HTTP request's parts the last, in lower case and without underscores."""


def is_of_request(name: str) -> bool:
    """Whether a field with this name is a part of an HTTP request."""
    return name.rpartition(".")[2].replace("_", "").lower() in _REQUEST


class SourceTemplates:
    """Makes template texts; remembers them, because the same ones occur again and again.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules) -> None:
        self.names: tuple[str, ...] = ()
        """Fields that may be the source template, in their order; none if the settings want none."""
        if rules.source_templates:
            self.names = tuple(dict.fromkeys((*rules.names.template, *TEMPLATE_NAMES)))
        self._known: dict[tuple[str, str], str | None] = {}

    def text_of(self, template: str, logger: str) -> str | None:
        """Return `logger: template`, without the logger if it is empty or too long for a kept field.

        None if the template has no letter outside its placeholders: `{Message}` stands in front of every message of a program that logs
        through a wrapper, and says nothing of any of them.
        """
        known = self._known.get((template, logger), "")
        if known != "":
            return known
        text: str | None = None
        if any(map(str.isalpha, _PLACEHOLDER.sub("", template))):
            text = f"{logger}: {template}" if logger and fits(logger) else template
        if len(template) + len(logger) <= _LONGEST_REMEMBERED:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[template, logger] = text
        return text

    def with_status(self, text: str, status: object) -> str | None:
        """Return a text that lacks the status of its HTTP response with it: `handled request` is the same for all. None: it says it."""
        return None if str(status) in text else f"{text} status={status}"

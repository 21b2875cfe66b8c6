"""Which words of a line are words of a query: those that full-text search compares, and no parts of longer words."""

import re

from worker.search.words import is_identifier, terms_of, words_of

_NOTHING = re.compile(r"(?!)")


def matching(text: str) -> re.Pattern[str]:
    """Return a pattern that finds a query's words in a line, in any case; an identifier only as a whole, not its parts."""
    found = words_of(text)
    words = terms_of(" ".join(word for word in found.text.split() if not is_identifier(word)))
    wanted = sorted({*found.identifiers, *words}, key=len, reverse=True)
    if not wanted:
        return _NOTHING
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, wanted))})(?!\w)", re.IGNORECASE)

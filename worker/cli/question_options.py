"""What a verb asks, as a query has it: checked before it is sent, and refused in the words of the command line."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from worker.asking.filters import FILTERS, option_of
from worker.asking.moments import moment_ms
from worker.asking.places import RecordPlace
from worker.asking.refusals import BadQuery
from worker.cli.exits import user_error
from worker.cli.filter_options import Given, as_text
from worker.querying.forms import parse_query

NEIGHBOURS: Final = 5
"""Records, or lines, before and after a line by default."""
_OPTIONS: Final = {"text": "TEXT", "k": "-k", "around": "--around"}

Request = dict[str, object]
"""A query on the wire."""


def checked(**parts: object) -> Request:
    """Return a query of the parts that are given (not None, False or empty). Raises CommandFailed, with the option at fault."""
    request = {name.removesuffix("_"): part for name, part in parts.items() if part not in (None, False, (), [], {})}
    try:
        parse_query(json.dumps(request).encode())
    except BadQuery as error:
        raise user_error(f"{_option(error.field)}: {error.reason}") from None
    return request


def compared(filters: Given, span: str) -> Request:
    """Return the parts of a query that compare: the window of the filters, or the last `span`, and that window a `span` before.

    Raises CommandFailed.
    """
    from time import time

    now_ms = round(time() * 1000)
    try:
        span_ms = now_ms - moment_ms(span, now_ms)
    except ValueError as error:
        raise user_error(f"--compare {error}") from None
    if span_ms <= 0:
        raise user_error("--compare needs a span, such as 1h or 1d")
    given = {"since_ms": now_ms - span_ms, "until_ms": now_ms} | filters
    before = {end: int(str(given[end])) - span_ms for end in ("since_ms", "until_ms")}
    return {"filters": given, "compare": before}


def text_of(words: Sequence[str] | None) -> str | None:
    """Return the words of a question as its text. Raises CommandFailed for blank text."""
    return checked_text(" ".join(words)) if words else None


def checked_text(text: str) -> str:
    """Return a query's text with bytes that are not UTF-8 replaced. Raises CommandFailed for blank text."""
    if not text.strip():
        raise user_error("a query needs a text")
    return as_text(text)


def around_of(place: str | None, neighbours: int | None, by: str | None) -> Request | None:
    """Return the part of a query that `--around`, `-C` and `--by` say. Raises CommandFailed."""
    if place is None:
        if neighbours is not None:
            raise user_error("-C sets how much to show around a line: it needs --around")
        if by is not None:
            raise user_error("--by says what the lines around one have in common with it: it needs --around")
        return None
    count = NEIGHBOURS if neighbours is None else neighbours
    try:
        return {**RecordPlace.read(place)._asdict(), "before": count, "after": count, **({} if by is None else {"by": by})}
    except ValueError as error:
        raise user_error(f"--around {error}") from None


def advice_of(request: Mapping[str, object]) -> str:
    """Return in one sentence what to try when nothing was found."""
    given = request.get("filters")
    filters = set(given) if isinstance(given, Mapping) else set()
    tries = [f"without {' or '.join(option_of(name) for name in FILTERS if name in filters)}"] if filters & set(FILTERS) else []
    tries += ["over a longer time (--since, --until)"] if {"since_ms", "until_ms"} & filters else []
    tries += ["by meaning (--mode dense)"] if request.get("mode") == "words" else []
    return f"Try it {', or '.join(tries)}." if tries else "`vectail templates` lists all templates."


def _option(field: str) -> str:
    """Return the option that says a part of a query."""
    part, _, inner = field.partition(".")
    if part == "filters":
        return option_of(inner.partition(".")[0])
    return _OPTIONS.get(part, option_of(part))

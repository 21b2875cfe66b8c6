"""The options of `search`, `templates` and `counts` that say which lines are meant: made of `worker.asking.filters`, which declares them.

A verb that is decorated with `takes_filters` gets them where its parameter `filters` stands, and their values as a query has them.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Final

import typer

from worker.asking.filters import EXCLUDES, FILTERS, Of, option_of
from worker.asking.moments import moment_ms, since_ms
from worker.cli.exits import user_error
from worker.cli.options import with_options

Given = dict[str, object]
"""Filters by name, as a query has them; those that are not given are left out."""
_SINCE: Final = "Only lines of the last 90s, 15m, 1h, 7d, since a time, or all."
_UNTIL: Final = "Only lines older than 90s, 15m, 1h, 7d, or from before a time."


def takes_filters(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb an option for each filter."""
    options: dict[str, tuple[object, object]] = {
        "since": (Annotated[str, typer.Option(help=_SINCE, metavar="WHEN")], "all"),
        "until": (Annotated[str | None, typer.Option(help=_UNTIL, metavar="WHEN")], None),
        **{name: (_annotation(name, of), None) for name, of in FILTERS.items()},
    }
    return with_options(verb, "filters", options, _read)


def as_text(word: str) -> str:
    """Return a word of the command line with bytes that are not UTF-8 replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def begin_ms(since: str, *, now_ms: int) -> int | None:
    """Return the first wanted millisecond since 1970, None for `all`. Raises CommandFailed."""
    try:
        return since_ms(since, now_ms)
    except ValueError as error:
        raise user_error(f"--since {error}") from None


def _annotation(name: str, of: Of) -> object:
    unwanted = name.startswith(EXCLUDES)
    about = f"{'No' if unwanted else 'Only'} lines {'with' if of.kind == 'pairs' else 'of'} this {of.one}"
    if of.field:
        return Annotated[str | None, typer.Option(option_of(name), help=f"{about}.", metavar=of.value)]
    return Annotated[list[str] | None, typer.Option(option_of(name), help=f"{about}; may be repeated.", metavar=of.value)]


def _read(*, since: str, until: str | None, **given: str | list[str] | None) -> Given:
    """Return what the options hold as filters of a query. Raises CommandFailed."""
    from time import time

    now_ms = round(time() * 1000)
    begin = begin_ms(since, now_ms=now_ms)
    try:
        end = None if until is None else moment_ms(until, now_ms)
    except ValueError as error:
        raise user_error(f"--until {error}") from None
    if begin is not None and end is not None and begin >= end:
        raise user_error("--since is not before --until, so no line can match")
    filters: Given = {name: end_ms for name, end_ms in (("since_ms", begin), ("until_ms", end)) if end_ms is not None}
    for name, value in given.items():
        if value is not None and value != []:  # an empty text is a value: an unset variable of a shell must not widen the search
            filters[name] = as_text(value) if isinstance(value, str) else _values(name, list(map(as_text, value)))
    return filters


def _values(name: str, words: Sequence[str]) -> list[str] | dict[str, list[str]]:
    of = FILTERS[name]
    if of.kind == "pairs":
        return _pairs(name, words)
    kind = name.removeprefix(EXCLUDES)
    if of.digits:
        for word in words:
            if len(word) != of.digits or set(word) - set("0123456789abcdef"):
                raise user_error(
                    f"{option_of(name)} {word!r}: give the id of a {kind} as `--json` shows it, {of.digits} hexadecimal digits"
                )
    return list(words)


def _pairs(name: str, words: Sequence[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for word in words:
        field, equals, value = word.partition("=")
        if not field or not equals:
            raise user_error(f"{option_of(name)} {word!r}: give a name and a value, such as k8s.pod.name=web-1")
        values.setdefault(field, []).append(value)
    return values

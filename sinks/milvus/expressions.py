"""Filters as Milvus reads them, built from typed values.

Pure functions, called by what reads. No text of a user's ever stands in an expression but as a quoted literal.
"""

from collections.abc import Collection, Iterable, Iterator

from sinks.block import ANY_WORD, NUMBER_DIGITS, BlockPlace
from sinks.sink import BlockFilter, OffsetSpan, RunSpan, SeenRun

MOST_ROWS = 16_384
"""Milvus returns no more rows to one query."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_NOTHING = None
"""In place of an expression: no row can match."""
_BEHIND_ALL = "~"
"""Above every character of a block's id."""
_RANGES_AT_ONCE = 256
"""Of ids, in one expression; a server looks through all ids for each."""


def literal(text: str) -> str:
    """Quote a text for a Milvus expression; what comes back has exactly one meaning, whatever `text` holds."""
    return f'"{text.translate(_ESCAPES)}"'


def any_of(column: str, values: Iterable[str]) -> str | None:
    """Return the expression "column is one of values", or None when none of them can be stored, so that nothing matches."""
    wanted = _literals(values)
    return f"{column} in [{wanted}]" if wanted else _NOTHING


def any_of_each(column: str, values: Iterable[str], at_once: int) -> Iterator[str]:
    """Yield expressions as `any_of` makes them, each with a bounded number of values."""
    wanted = list(dict.fromkeys(values))
    for start in range(0, len(wanted), at_once):
        expression = any_of(column, wanted[start : start + at_once])
        if expression is not None:
            yield expression


def after(key: str, last: str, expression: str = "") -> str:
    """Return the expression for rows with a key above `last` that match `expression` as well."""
    above = f"{key} > {literal(last)}"
    return f"{above} and {expression}" if expression else above


def unseen_expressions(seen: Iterable[SeenRun]) -> Iterator[str]:
    """Yield expressions which between them match the blocks that `Sink.unseen_blocks` returns, each block once.

    Ids are ordered by partition, run and number: so what is unseen are the ranges between one run's last number and whatever comes next.
    """
    runs: dict[str, list[SeenRun]] = {}
    for one in seen:
        runs.setdefault(_prefix(one.place), []).append(one)
    ranges = []
    begin = ""
    for prefix in sorted(runs):
        *earlier, latest = sorted(runs[prefix], key=lambda one: one.run)
        ranges.append((begin, prefix))
        ranges += [(_end_of(prefix, one), f"{prefix}{one.run}/{_BEHIND_ALL}") for one in earlier]
        begin = _end_of(prefix, latest)
    ranges.append((begin, _BEHIND_ALL))
    for start in range(0, len(ranges), _RANGES_AT_ONCE):
        some = [f"(id > {literal(low)} and id < {literal(high)})" for low, high in ranges[start : start + _RANGES_AT_ONCE]]
        yield " or ".join(some)


def _prefix(place: BlockPlace) -> str:
    return f"{place.topic}@{place.epoch}/{place.partition}/"


def _end_of(prefix: str, seen: SeenRun) -> str:
    """Return a text behind the ids of all blocks that begin with a number that was seen, and before those of all others."""
    return f"{prefix}{seen.run}/" + (f"{seen.last:0{NUMBER_DIGITS}d}-{_BEHIND_ALL}" if seen.last >= 0 else "")


def block_expression(only: BlockFilter) -> str | None:
    """Return the expression for blocks that pass a filter, empty for all of them; None when none can.

    Arrays are always asked by `array_contains_any` with at least one value: an empty list is an error to a server, and `array_contains`
    refuses negative numbers in some versions.
    """
    parts = [
        any_of("topic", only.topics) if only.topics else "",
        "" if only.epoch is None else any_of("epoch", (only.epoch,)),
        "" if only.partition is None else f"partition == {only.partition}",
        _at_least("last_offset", only.first_offset),
        _below("first_offset", only.end_offset),
        _at_least("last_ms", only.since_ms),
        _below("first_ms", only.until_ms),
        "" if only.templates is None else _contains_any("templates", ", ".join(map(str, dict.fromkeys(only.templates)))),
        *(_contains_any("words", f"{word}, {ANY_WORD}") for word in dict.fromkeys(only.words)),
        _contains_any("services", _literals(only.services)) if only.services else "",
        _contains_any("levels", _literals(only.levels)) if only.levels else "",
        "" if only.spans is None else _any_span(only.spans),
        "" if only.besides is None else _any_other_run(only.besides),
        _none_of("topic", only.not_topics),
        _has_another("services", only.not_services),
        _has_another("levels", only.not_levels),
    ]
    return _all_of(parts)


def _any_span(spans: Iterable[OffsetSpan]) -> str | None:
    bounds = [
        (f"partition == {partition}", _at_least("last_offset", first), _below("first_offset", end)) for partition, first, end in spans
    ]
    return _any_of(map(_all_of, bounds))


def _any_other_run(spans: Iterable[RunSpan]) -> str | None:
    return _any_of(map(_other_run, spans))


def _other_run(span: RunSpan) -> str | None:
    """Return the expression for blocks of one span: by their ids, which are ordered by partition, run and number."""
    prefix = _prefix(span.place)
    runs = f"{prefix}{span.run}/"
    before = f"(id > {literal(prefix)} and id < {literal(runs)})"
    behind = f"(id > {literal(runs + _BEHIND_ALL)} and id < {literal(prefix + _BEHIND_ALL)})"
    return _all_of([f"({before} or {behind})", _at_least("last_offset", span.first_offset), _below("first_offset", span.end_offset)])


def _any_of(expressions: Iterable[str | None]) -> str | None:
    """Return what matches any of these; those that nothing matches are left out."""
    possible = [f"({one})" for one in expressions if one is not _NOTHING]
    return f"({' or '.join(possible)})" if possible else _NOTHING


def _all_of(parts: Collection[str | None]) -> str | None:
    """Join expressions; one that nothing matches makes nothing of all of them."""
    return _NOTHING if _NOTHING in parts else " and ".join(part for part in parts if part)


def _contains_any(column: str, values: str) -> str | None:
    return f"array_contains_any({column}, [{values}])" if values else _NOTHING


def _none_of(column: str, values: Iterable[str]) -> str:
    unwanted = _literals(values)
    return f"{column} not in [{unwanted}]" if unwanted else ""


def _has_another(column: str, values: Iterable[str]) -> str:
    """Return an expression that leaves out no block with any other value, though it keeps some with several of these alone."""
    unwanted = _literals(values)
    return f"(array_length({column}) != 1 or not array_contains_any({column}, [{unwanted}]))" if unwanted else ""


def _at_least(column: str, bound: int | None) -> str | None:
    if bound is None or bound <= _LEAST:
        return ""
    return _NOTHING if bound > _MOST else f"{column} >= {bound}"


def _below(column: str, bound: int | None) -> str | None:
    if bound is None or bound > _MOST:
        return ""
    return _NOTHING if bound <= _LEAST else f"{column} < {bound}"


def _literals(values: Iterable[str]) -> str:
    return ", ".join(literal(value) for value in dict.fromkeys(values) if _is_unicode(value))


def _is_unicode(text: str) -> bool:
    """A lone surrogate can be neither stored nor sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

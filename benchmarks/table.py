"""Figures as a person reads them: Markdown tables, on a terminal and in RESULTS.md. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.suite.goals import Figure, Judged, judge

_HEAD = ("what", "figure", "range", "goal", "")
_MOST_LISTED = 12


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], *, is_padded: bool = False) -> str:
    """Return a table; padded, columns are as wide as their widest cell."""
    lines = [head, ["---"] * len(head), *rows]
    if is_padded:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(value: object) -> str:
    """Return a figure as it was printed: nothing is rounded here."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(shown, value[:_MOST_LISTED])) + (" …" if len(value) > _MOST_LISTED else "")
    return "-" if value is None else str(value)


def judged_rows(judged: Iterable[Judged]) -> list[tuple[str, ...]]:
    """Return a row for each: words, figure, range, goal, verdict."""
    return [(one.figure.words, value_of(one), range_of(one), bound_of(one.figure), verdict_of(one)) for one in judged]


def judged_table(judged: Iterable[Judged], *, is_padded: bool = False) -> str:
    """Return figures beside their goals."""
    return markdown(_HEAD, judged_rows(judged), is_padded=is_padded)


def value_of(one: Judged) -> str:
    """Return what was measured."""
    return "not measured" if one.value is None else shown(one.value)


def range_of(one: Judged) -> str:
    """Return the ends of the rounds."""
    return "" if one.range is None else f"{shown(one.range[0])} to {shown(one.range[1])}"


def bound_of(figure: Figure) -> str:
    """Return the goal in words."""
    if figure.at_least is not None:
        return f"at least {shown(figure.at_least)}"
    return "" if figure.at_most is None else f"at most {shown(figure.at_most)}"


def verdict_of(one: Judged) -> str:
    """Return whether the goal is met; missed ones stand out."""
    return f"**{one.verdict}**" if one.verdict == "missed" else one.verdict


def lines_of(figures: Mapping[str, Any], known: Sequence[Figure], machine: Mapping[str, str]) -> Iterator[str]:
    """Yield what a program prints without `--json`: the figures of the report beside their goals, then every other one by its key."""
    judged = [one for one in (judge(figure, figures, machine) for figure in known) if one.value is not None]
    if judged:
        yield judged_table(judged, is_padded=True)
    in_report = {one.figure.key for one in judged}
    yield from _tables({key: value for key, value in figures.items() if key not in in_report}, "")


def _tables(figures: Mapping[str, Any], title: str) -> Iterator[str]:
    """Yield plain figures as one table, those in groups of the same keys as another, and what lies deeper under its keys."""
    plain = {key: value for key, value in figures.items() if not _rows_in(value)}
    if plain:
        yield ""
        yield markdown((title, ""), [(_words(key), shown(value)) for key, value in plain.items()], is_padded=True)
    groups = {key: _rows_in(value) for key, value in figures.items() if key not in plain}
    flat = {key: rows for key, rows in groups.items() if not any(map(_rows_in, rows.values()))}
    if flat:
        columns = list(dict.fromkeys(name for rows in flat.values() for name in rows))
        body = [[_words(key), *(shown(rows.get(name, "")) for name in columns)] for key, rows in flat.items()]
        yield ""
        yield markdown([title, *map(_words, columns)], body, is_padded=True)
    for key, rows in groups.items():
        if key not in flat:
            yield from _tables(rows, f"{title} {_words(key)}".strip())


def _rows_in(value: object) -> Mapping[str, Any]:
    """Return a group of figures by name; of a list of groups each by its number. Empty: it is a plain figure."""
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        return {str(number): one for number, one in enumerate(value, 1)}
    return value if isinstance(value, Mapping) else {}


def _words(key: str) -> str:
    return key.replace("_", " ") if key.isidentifier() else key

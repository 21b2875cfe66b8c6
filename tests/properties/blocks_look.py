"""What must hold at every look at the index of `tests.properties.blocks_world`: owed lines and nothing else, by whatever is asked.

The lines that a reader gives are compared with the log, by the tokens of its source lines, because how they are grouped into entries is up
to settings that change. Counts, searches and exports are compared with those lines, by brute force.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import as_optional_texts
from sinks.block import Column
from sinks.line import Line
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.names import template_ids
from sinks.reading.ordered import Reach
from sinks.reading.reader import BlockReader
from sinks.reading.selecting import Selection
from tests.properties.source_log import SERVICES, WALL_MS, LogRecord, SourceLine, Token, tokens_in

_ALL = LineFilter()
_MOST = 100_000


class Shown(NamedTuple):
    """An entry as a reader gets it."""

    offset: int
    records: int
    text: str
    is_whole: bool

    def holds_any(self, tokens: Collection[Token]) -> bool:
        """Whether one of these source lines is in it."""
        return any(token in tokens for token in tokens_in(self.text))


def shown_entries(lines: Sequence[Line]) -> list[Shown]:
    """Return lines, in the order of offset, sub and chunk, as entries."""
    shown = []
    for (offset, _), group in groupby(lines, lambda line: (line.offset, line.sub)):
        pieces = list(group)
        is_whole = [piece.chunk for piece in pieces] == list(range(pieces[0].chunks))
        shown.append(Shown(offset, pieces[0].records, "".join(piece.text or "" for piece in pieces), is_whole))
    return shown


def find_owed(shown: Iterable[Shown], owed: Iterable[SourceLine]) -> dict[Token, Shown]:
    """Return where each source line is shown. Asserts that those that are owed are there, whole, and that none is there twice."""
    found: dict[Token, Shown] = {}
    for one in shown:
        for token in tokens_in(one.text):
            assert token not in found, f"doubled: {token} is in {found[token]} and in {one}"
            found[token] = one
    for line in owed:
        assert line.token in found, f"lost: {line.token} is owed and not shown"
        one = found[line.token]
        assert one.is_whole, f"torn: {line.token} is owed, and of its entry only {one} is shown"
        assert line.text in one.text, f"changed: {line} is shown as {one}"
    return found


def check_nothing_else(shown: Iterable[Shown], settled: Mapping[int, LogRecord], overdue: Collection[Token]) -> None:
    """Assert that every entry holds source lines of its own records, and none that another record has replaced since.

    `settled`: the records of the present log that are committed, by offset. `overdue`: lines that may be shown in place of those.
    """
    for one in shown:
        tokens = tokens_in(one.text)
        assert tokens or not one.is_whole, f"invented: {one} holds no line of the log"
        for token in tokens:
            assert one.offset <= token.offset < one.offset + one.records, f"misplaced: {token} is shown in {one}"
            record = settled.get(token.offset)
            is_true = record is None or record.cuts == token.cuts or token in overdue
            assert is_true, f"invented: {token} is shown in {one}, and the log has {record}"


def check_counts(reader: BlockReader, lines: Sequence[Line], rng: random.Random) -> None:
    """Assert that counts are those of the lines, in all and under a random filter."""
    templates = template_ids([line.template_text for line in lines])
    narrow = LineFilter(
        since_ms=rng.choice((None, WALL_MS + rng.randint(0, 30_000_000))),
        until_ms=rng.choice((None, WALL_MS + rng.randint(0, 30_000_000))),
        services=rng.choice(((), (), (), (rng.choice(SERVICES),), ("",))),
        not_levels=rng.choice(((), (), (), ("ERROR",))),
    )
    of_one = (rng.choice(templates),) if templates and rng.random() < 0.4 else None
    grouped = (
        CountQuery(),
        CountQuery(by=("service", "level")),
        CountQuery(by=("time", "service"), bucket_ms=60_000),
        CountQuery(by=("time", "service"), bucket_ms=3_600_000),
    )
    queries = (
        CountQuery(by=("template",)),
        rng.choice(grouped),
        CountQuery(narrow, of_one, rng.choice(((), ("template",), ("level",)))),
    )
    for query in queries:
        counts = reader.count(query)
        assert counts.complete
        found, expected = {row.key: row.lines for row in counts.rows}, _counted(query, lines, templates)
        assert found == expected, f"counts of {query} are {found}, and should be {expected}"


def _counted(query: CountQuery, lines: Sequence[Line], templates: Sequence[str]) -> dict[tuple[int | str, ...], int]:
    """Count by brute force. Templates count pieces, everything else counts lines."""
    only = query.only
    since_ms, until_ms, bucket_ms = only.since_ms or 0, only.until_ms or 1 << 62, query.bucket_ms or 1
    counted: Counter[tuple[int | str, ...]] = Counter()
    for line, template in zip(lines, templates, strict=True):
        if (
            (line.chunk == 0 or "template" in query.by)
            and since_ms <= line.time < until_ms
            and (not only.services or line.service in only.services)
            and line.level not in only.not_levels
            and (query.templates is None or template in query.templates)
        ):
            begin_ms = line.time // bucket_ms * bucket_ms
            key: dict[str, int | str] = {"time": begin_ms, "template": template, "service": line.service, "level": line.level}
            counted[tuple(key[by] for by in query.by)] += 1
    return dict(counted)


def check_search(reader: BlockReader, lines: Sequence[Line], tokens: Sequence[Token], rng: random.Random) -> None:
    """Assert that a search for a source line, shown or not, finds exactly what is shown of it."""
    if not tokens:
        return
    wanted = str(rng.choice(tokens))

    def is_match(texts: Column) -> NDArray[np.bool_]:
        return np.array([wanted in (text or "") for text in as_optional_texts(texts)], np.bool_)

    found = reader.lines_with(Selection(_ALL, is_match=is_match), _MOST, literals=(wanted,))
    assert found.complete
    expected = [line for line in lines if wanted in (line.text or "")]
    assert sorted(found.lines) == expected, f"a search for {wanted} finds {found.lines}, and should find {expected}"


def check_template_search(reader: BlockReader, lines: Sequence[Line], rng: random.Random) -> None:
    """Assert that a search for the lines of a template finds all that are shown, and none that is not.

    A line may also be found as it was under other masks (`sinks.reading.copies`).
    """
    if not lines:
        return
    template = rng.choice(lines).template_text
    newest = reader.newest_lines(template_ids([template]), _MOST, _ALL)
    assert newest.complete
    together = {line for several in newest.lines.values() for line in several}
    missing = {line for line in lines if line.template_text == template} - together
    assert not missing, f"a search for {template!r} does not find {missing}"
    places = {_without_labels(line) for line in lines}
    others = [line for line in together if _without_labels(line) not in places]
    assert not others, f"a search for {template!r} finds {others}, which are not shown"


def _without_labels(line: Line) -> tuple[object, ...]:
    return line.offset, line.sub, line.chunk, line.chunks, line.records, line.text


def check_export(reader: BlockReader, lines: Sequence[Line], rng: random.Random) -> None:
    """Assert that an export gives the lines in order, each once, whatever the length of its stretches."""
    most = rng.choice((7, 40)) + len(lines) // 8
    found: list[Line] = []
    reach = Reach(0)
    while reach.time_ms < 1 << 45:
        stretch = reader.lines_in_order(Selection(), reach, 1 << 45, most)
        assert stretch.complete
        assert stretch.reach != reach, f"an export does not get past {reach}"
        found += stretch.lines
        reach = stretch.reach
    assert found == sorted(lines, key=lambda line: (line.time, line.offset, line.sub, line.chunk)), "an export gives other lines"

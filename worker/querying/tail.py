"""Tails: the lines of blocks that are new in the index, whoever wrote them.

The answer step calls it. The blocks that arrived are watched once for all readers (`sinks.reading.arrivals`); a cursor says how many had
arrived when its answer was made. It holds for this worker as long as it runs: any other cursor begins again at now, and says that
lines may be missing.
"""

import re
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import as_texts, take
from sinks.block import Column
from sinks.line import Line
from sinks.reading.arrivals import Watch
from sinks.reading.literals import rows_with
from sinks.reading.selecting import IsMatch, Selection
from worker.asking.answers import TailedJson
from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.querying.dense import MOST_TEMPLATES, near_among, nearest_but
from worker.querying.form import Answer, Form, Sources
from worker.querying.query_words import terms_of, words_of
from worker.querying.ranking import Index, OutOfTime
from worker.querying.scope import scope_of
from worker.querying.search import PreparedQuery
from worker.querying.whole_lines import MOST_LINES_BYTES, ShownLine, shown_lines

LINES: Final = 200
"""Most lines of an answer, if the query does not say."""
_CURSOR: Final = re.compile(r"[0-9a-f]{8}\.[0-9]{1,15}")
FIRST_LINES: Final = 20
"""How many of the newest lines come without a cursor."""


class Tail:
    """Answers of one worker to all who follow its index.

    Thread: one, the answer thread.
    """

    def __init__(self, index: Index, clock: Callable[[], float]) -> None:
        self._index = index
        self._watch = Watch(index.sink, clock)
        self._name = secrets.token_hex(4)
        """Tells this worker's cursors from those of others, and of those before it."""

    def new_lines(self, sought: PreparedQuery, deadline_passed: OutOfTime) -> TailedJson:
        """Return the lines that came since the query's cursor, as a reply holds it. Raises SinkBusy."""
        query = sought.query
        self._watch.look()
        most = query.most_lines(LINES)
        name, _, number = (query.after or "").partition(".")
        if name != self._name:
            newest, is_all = self._newest(sought, min(most, FIRST_LINES), deadline_passed)
            return self._document(newest, 0, {}, complete=is_all and query.after is None)
        arrivals = self._watch.since(int(number))
        if not arrivals.blocks:
            return self._document([], 0, {}, complete=arrivals.is_all)
        selection, is_certain = self._selection(sought, deadline_passed)
        if selection.wants_nothing:
            return self._document([], 0, {}, complete=is_certain and arrivals.is_all)
        found = self._index.reader.fresh_lines(arrivals.blocks, self._watch.has_seen, selection, most, deadline_passed=deadline_passed)
        return self._document(
            found.lines, found.dropped, found.dropped_by_level, complete=found.complete and is_certain and arrivals.is_all
        )

    def _document(self, lines: list[Line], dropped: int, dropped_by_level: Mapping[str, int], *, complete: bool) -> TailedJson:
        shown = shown_lines(lines)
        first = _first_that_fits(shown)
        dropped += sum(one.pieces for one in shown[:first])
        by_level = Counter(dropped_by_level)
        for one in shown[:first]:
            by_level[one.document["level"]] += one.pieces
        return {
            "lines": [one.document for one in shown[first:]],
            "cursor": f"{self._name}.{self._watch.end}",
            "dropped": dropped,
            "dropped_by_level": dict(by_level),
            "complete": complete,
        }

    def _newest(self, sought: PreparedQuery, most: int, deadline_passed: OutOfTime) -> tuple[list[Line], bool]:
        """Return the newest lines of the index by their own time, the last one last."""
        selection, is_certain = self._selection(sought, deadline_passed)
        found = self._index.reader.lines_with(selection, most, deadline_passed=deadline_passed)
        return found.lines[::-1], is_certain

    def _selection(self, sought: PreparedQuery, deadline_passed: OutOfTime) -> tuple[Selection, bool]:
        """Return which lines are followed: all that pass the filters, those with the words of a text, or those of the nearest templates."""
        query = sought.query
        scope = scope_of(self._index, query.filters, deadline_passed)
        if query.text is None:
            return Selection(scope.only, scope.templates), scope.complete
        if sought.vector is None:
            return Selection(scope.only, scope.templates, with_words(query.text)), scope.complete
        if scope.templates is None:
            near = sought.near or nearest_but(self._index.vectors, sought.vector, MOST_TEMPLATES, scope.only.not_templates)
        else:
            near = near_among(self._index.vectors, sought.vector, sorted(scope.templates))
        return Selection(scope.only, frozenset(hit.template for hit in near[:MOST_TEMPLATES])), scope.complete


def with_words(text: str) -> IsMatch:
    """Return a test for texts that have all words of a text, in whatever order: identifiers whole, and of the other words every part."""
    words = words_of(text)
    terms = words.terms or terms_of(text)
    rarest = max((term for term in terms if term.isascii()), key=len, default=None)

    def is_match(texts: Column) -> NDArray[np.bool_]:
        rows = np.arange(len(texts)) if rarest is None else rows_with(texts, rarest)
        found = np.zeros(len(texts), np.bool_)
        found[rows] = [
            terms <= terms_of(one) and words.identifiers_in(one) == len(words.identifiers) for one in as_texts(take(texts, rows))
        ]
        return found

    return is_match


def _first_that_fits(shown: list[ShownLine]) -> int:
    """Return from which line on all the others fit in an answer."""
    size_bytes = 0
    for at in range(len(shown) - 1, -1, -1):
        size_bytes += shown[at].size_bytes
        if size_bytes > MOST_LINES_BYTES:
            return at + 1
    return 0


def _check(query: Query) -> None:
    if query.after is not None and _CURSOR.fullmatch(query.after) is None:
        raise BadQuery("after", "give what the last answer said")


def _open(sources: Sources) -> Answer:
    tail = Tail(sources.index, sources.surroundings.clock)

    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> TailedJson:
        return tail.new_lines(sought, deadline_passed)

    return answer


TAIL = Form("tail", _open, takes=("after",), check=_check, head_start_s=8.0, says_reach=False)

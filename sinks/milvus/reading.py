"""What the Milvus sink answers: templates by digest and by vector, lines by words, the newest of some templates, and all of a range.

Called by the sink's door only, which lends its client out (`calls`) and turns faults into the protocol's exceptions. Nothing here
has a state. A server refuses an answer of more than 100 MB and a text may have 64 KiB: texts come in pieces of `PAGE_ROWS` rows.
"""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.backend import search_params
from sinks.milvus.client import Client
from sinks.milvus.counting import TALLY_COLUMNS, Found, count_newest
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import Layout
from sinks.milvus.newest import Ask, newest, newest_of_each
from sinks.milvus.packing import unpack
from sinks.milvus.ranges import LOCAL_PAGE_ROWS, PAGE_ROWS, Enough, Span, Stretch, read_all
from sinks.milvus.searching import (
    MOST_ROWS,
    PLACE_COLUMNS,
    Hit,
    Place,
    Window,
    any_of,
    any_of_each,
    in_window,
    in_windows,
    line_expression,
    place,
    place_of,
)
from sinks.row import LineRow
from sinks.sink import LineFilter, LineHit, SinkBusy, StoredLines, TemplateCounts, TemplateHit

_KEYS_AT_ONCE = 1_000
_VECTOR_BYTES_AT_ONCE = 4 * 1024 * 1024
_TEMPLATES_AT_ONCE = 64
"""Of which the newest lines are looked for together; each may come to a window of its own, and a local folder takes 3 ms for each."""
_LETTER = re.compile(r"[^\W_]")
"""What any analyser makes words of; it depends on the server whether it may be asked for a text without one."""


class _OutOfTime(Exception):
    """The caller wants no further read."""


class Reader:
    """Questions to both collections.

    Thread: any.
    """

    def __init__(self, lines: Layout, templates: Layout, *, timeout_s: float, calls: Callable[[], AbstractContextManager[Client]]) -> None:
        self._lines = lines
        self._templates = templates
        self._index = ""
        self._timeout_s = timeout_s
        self._calls = calls

    def use(self, lines: Layout, templates: Layout, index: str) -> None:
        """Read these collections from now on, the templates through an index of this type."""
        self._lines, self._templates, self._index = lines, templates, index

    def texts(self, digests: Collection[str]) -> dict[str, str]:
        """Return the texts of those of `digests` whose row is stored."""
        return {row["digest"]: row["text"] for row in self._by_key(self._templates, digests, ("digest", "text"), PAGE_ROWS)}

    def vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those of `digests` whose row is stored and holds float32[dim], all finite."""
        dim = self._templates.vector.limit
        at_once = max(min(_KEYS_AT_ONCE, _VECTOR_BYTES_AT_ONCE // (4 * dim)), 1)
        rows = self._by_key(self._templates, digests, ("digest", "vector"), at_once)
        kind = self._templates.vector.kind
        found = {row["digest"]: unpack(row["vector"], kind) for row in rows}
        return {digest: vector for digest, vector in found.items() if vector.shape == (dim,) and np.isfinite(vector).all()}

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return for each vector at most `limit` (and at most 16,384) templates, nearest first; as many vectors at once as may be."""
        most = min(limit, MOST_ROWS)
        at_once = MOST_ROWS // most
        params = search_params(self._index, most)
        answers: list[list[Hit]] = []
        for start in range(0, len(vectors), at_once):
            asked = vectors[start : start + at_once]
            with self._calls() as client:
                try:
                    answers += client.search(self._templates, asked, most, ("text",), params)
                except MilvusFault as fault:
                    if not fault.may_be_size:
                        raise
                    answers += client.search(self._templates, asked, most, ("digest",), params)
        texts = self.texts({hit.key for hits in answers for hit in hits if "text" not in hit.row})

        def cosine(score: float) -> float:
            return max(-1.0, min(score, 1.0))

        def text(hit: Hit) -> str:
            return str(hit.row.get("text", texts.get(hit.key, "")))

        return [[TemplateHit(hit.key, cosine(hit.score), text(hit)) for hit in hits] for hits in answers]

    def matching(self, text: str, limit: int, only: LineFilter) -> list[LineHit]:
        """Return at most `limit` (and at most 16,384) lines that share words with a text, best first."""
        expression = line_expression(None, only)
        if expression is None or not _LETTER.search(text):
            return []
        asked = text.encode(errors="replace").decode()  # a lone surrogate cannot be sent, and stands in no word
        expression = in_window(expression, Window(only.since_ms, only.until_ms))
        most = min(limit, MOST_ROWS)
        columns = LineRow._fields if most <= PAGE_ROWS else ("id",)
        with self._calls() as client:
            hits = client.search(self._lines, [asked], most, columns, {}, expression)[0]
        scores = {hit.key: abs(hit.score) for hit in hits if hit.score}  # a server's are positive, Milvus Lite's negative
        rows: Iterable[Mapping[str, Any]] = (
            [hit.row for hit in hits if hit.key in scores] if most <= PAGE_ROWS else self._whole_lines(scores)
        )
        lines = [LineHit(scores[row["id"]], _line(row)) for row in rows]
        return sorted(lines, key=lambda hit: (hit.score, place_of(hit.line)), reverse=True)

    def newest_lines(
        self, templates: Collection[str], limit: int, only: LineFilter, latest_ms: int, times: Mapping[str, int]
    ) -> dict[str, list[LineRow]]:
        """Return the newest lines of each template; the guesses are those of `newest_of_each`. The whole call has one time-out."""
        expression = line_expression(None, only)
        if limit < 1 or expression is None:
            return {}
        deadline = time.monotonic() + self._timeout_s

        def read(asks: Sequence[Ask], rows: int) -> list[tuple[str, Place]]:
            asked = in_windows(asks, expression)
            if asked is None:
                return []
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise SinkBusy(f"Milvus took more than {self._timeout_s} s to find the newest lines of {len(templates)} templates")
            with self._calls() as client:
                found = client.query(self._lines.name, asked, ("template", *PLACE_COLUMNS), limit=rows, timeout_s=left_s)
            return [(row["template"], place(row)) for row in found]

        most, within = min(limit, MOST_ROWS), Window(only.since_ms, only.until_ms)
        wanted, at_once = list(dict.fromkeys(templates)), min(max(MOST_ROWS // (2 * most), 1), _TEMPLATES_AT_ONCE)
        places: list[Place] = []
        for start in range(0, len(wanted), at_once):
            each = newest_of_each(read, wanted[start : start + at_once], most, within, latest_ms, times)
            places += [one for some in each.values() for one in some]
        found: dict[str, list[LineRow]] = {}
        for row in self._whole_lines(one.id for one in places):
            found.setdefault(row["template"], []).append(_line(row))
        return {one: sorted(found[one], key=place_of, reverse=True) for one in wanted if one in found}

    def count_templates(
        self, templates: Collection[str] | None, only: LineFilter, latest_ms: int, *, most_rows: int, deadline_passed: Callable[[], bool]
    ) -> TemplateCounts:
        """Count lines by template, the newest `most_rows` at most; each query has the sink's time-out."""
        expression = line_expression(templates, only)
        if expression is None:
            return TemplateCounts([], complete=True)

        def read(window: Window, rows: int) -> Found:
            with self._calls() as client:
                found = client.query(self._lines.name, in_window(expression, window), TALLY_COLUMNS, limit=rows)
            return Found([row["template"] for row in found], np.fromiter((row["time"] for row in found), np.int64, len(found)))

        def newest_ms(window: Window) -> int | None:
            def places(part: Window, rows: int) -> list[Place]:
                if deadline_passed():
                    raise _OutOfTime
                return self._places(in_window(expression, part), rows)

            try:
                found = newest(places, 1, window, latest_ms)
            except _OutOfTime:
                return None
            return found[0].time if found else latest_ms  # rows may go meanwhile; then from anywhere

        return count_newest(read, newest_ms, Window(only.since_ms, only.until_ms), most_rows=most_rows, deadline_passed=deadline_passed)

    def stored(self, digests: Collection[str]) -> set[str]:
        """Return those of `digests` whose row is stored (Strong)."""
        return {row["digest"] for row in self._by_key(self._templates, digests, ("digest",), strong=True)}

    def lines_between(self, where: Stretch, *, most_rows: int | None, deadline_passed: Callable[[], bool], local: bool) -> StoredLines:
        """Return the lines of a range (Strong). A local folder counts by reading: counting there would tell nothing new."""
        topic = any_of("topic", (where.topic,))
        if topic is None or where.first >= where.end:
            return StoredLines([], 0)
        if deadline_passed():
            return StoredLines([], 0, complete=False)
        within = f"{topic} and partition == {where.partition}"

        def read(span: Span, rows: int) -> list[LineRow]:
            with self._calls() as client:
                found = client.query(self._lines.name, span.expression, LineRow._fields, limit=rows, strong=True)
            return [_line(row) for row in found]

        def count(expression: str) -> int:
            with self._calls() as client:
                return client.count(self._lines.name, expression)

        enough = Enough(most_rows, deadline_passed)
        if local:
            about = min(count(""), where.end - where.first)
            rows, complete = read_all(read, within, where.first, where.end, enough, about_rows=about, page_rows=LOCAL_PAGE_ROWS)
            return StoredLines(rows, len(rows), complete)
        asked = Span(within, where.first, where.end).expression
        counted = count(asked)
        rows, complete = (
            read_all(read, within, where.first, where.end, enough, about_rows=counted, page_rows=PAGE_ROWS) if counted else ([], True)
        )
        if complete and counted > len(rows):
            counted = min(counted, count(asked))  # rows may go meanwhile: by their retention, or by somebody's hand
        return StoredLines(rows, counted, complete)

    def _places(self, expression: str, rows: int) -> list[Place]:
        with self._calls() as client:
            found = client.query(self._lines.name, expression, PLACE_COLUMNS, limit=rows)
        return [place(row) for row in found]

    def _whole_lines(self, ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        return self._by_key(self._lines, ids, LineRow._fields, PAGE_ROWS)

    def _by_key(
        self, layout: Layout, keys: Iterable[str], columns: Sequence[str], at_once: int = _KEYS_AT_ONCE, *, strong: bool = False
    ) -> Iterator[dict[str, Any]]:
        for expression in any_of_each(layout.fields[0].name, keys, at_once):
            with self._calls() as client:
                rows = client.query(layout.name, expression, columns, strong=strong)
            yield from rows


def _line(row: Mapping[str, Any]) -> LineRow:
    return LineRow(**{name: row[name] for name in LineRow._fields})

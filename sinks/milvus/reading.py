"""What the Milvus sink answers: templates by digest and by vector, the newest lines of one, how often each came, and all of a range.

Called by the sink's door only, which lends its client out (`calls`) and turns faults into the protocol's exceptions. Nothing here
has a state; everything asked for by key goes in bounded pieces.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.backend import search_params
from sinks.milvus.client import Client
from sinks.milvus.counting import TALLY_COLUMNS, Found, count_newest
from sinks.milvus.fields import Layout
from sinks.milvus.packing import unpack
from sinks.milvus.ranges import LOCAL_PAGE_ROWS, PAGE_ROWS, Span, read_all
from sinks.milvus.searching import (
    MOST_ROWS,
    PLACE_COLUMNS,
    Place,
    Window,
    any_of,
    any_of_each,
    in_window,
    line_expression,
    newest,
    place,
    place_of,
)
from sinks.row import LineRow
from sinks.sink import LineFilter, SinkBusy, StoredLines, TemplateCounts, TemplateHit

_KEYS_AT_ONCE = 1_000
_VECTOR_BYTES_AT_ONCE = 4 * 1024 * 1024


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
        return {row["digest"]: row["text"] for row in self._by_key(self._templates, digests, ("digest", "text"))}

    def vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those of `digests` whose row is stored and holds float32[dim], all finite."""
        dim = self._templates.vector.limit
        at_once = max(min(_KEYS_AT_ONCE, _VECTOR_BYTES_AT_ONCE // (4 * dim)), 1)
        rows = self._by_key(self._templates, digests, ("digest", "vector"), at_once)
        kind = self._templates.vector.kind
        found = {row["digest"]: unpack(row["vector"], kind) for row in rows}
        return {digest: vector for digest, vector in found.items() if vector.shape == (dim,) and np.isfinite(vector).all()}

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[TemplateHit]:
        """Return at most `limit` (and at most 16,384) templates, nearest first."""
        with self._calls() as client:
            most = min(limit, MOST_ROWS)
            hits = client.search(self._templates, vector, most, ("text",), search_params(self._index, most))
        squared = self._templates.vector.metric == "L2"  # of vectors of length 1: |a - b|² = 2 - 2 cos
        cosines = [1 - hit.score / 2 if squared else hit.score for hit in hits]
        return [TemplateHit(hit.key, max(-1.0, min(cos, 1.0)), str(hit.row["text"])) for hit, cos in zip(hits, cosines, strict=True)]

    def newest_lines(self, template: str, limit: int, only: LineFilter, latest_ms: int) -> list[LineRow]:
        """Return the newest lines of a template; `latest_ms` is a guess of its newest time. The whole call has one time-out."""
        expression = line_expression((template,), only)
        if limit < 1 or expression is None:
            return []
        deadline = time.monotonic() + self._timeout_s

        def read(window: Window, rows: int) -> list[Place]:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise SinkBusy(f"Milvus took more than {self._timeout_s} s to find the newest lines of a template")
            return self._places(in_window(expression, window), rows, left_s)

        places = newest(read, min(limit, MOST_ROWS), Window(only.since_ms, only.until_ms), latest_ms)
        rows = self._by_key(self._lines, [one.id for one in places], LineRow._fields)
        lines = [LineRow(**{name: row[name] for name in LineRow._fields}) for row in rows]
        return sorted(lines, key=place_of, reverse=True)

    def count_templates(
        self, templates: Collection[str] | None, only: LineFilter, latest_ms: int, *, most_rows: int, out_of_time: Callable[[], bool]
    ) -> TemplateCounts:
        """Count lines by template, the newest `most_rows` at most; each query has the sink's time-out."""
        expression = line_expression(templates, only)
        if expression is None:
            return TemplateCounts([], complete=True)

        def read(window: Window, rows: int) -> Found:
            with self._calls() as client:
                found = client.query(self._lines.name, in_window(expression, window), TALLY_COLUMNS, limit=rows)
            return Found([row["template"] for row in found], np.fromiter((row["time"] for row in found), np.int64, len(found)))

        def newest_ms(window: Window) -> int:
            places = newest(lambda part, rows: self._places(in_window(expression, part), rows, None), 1, window, latest_ms)
            return places[0].time if places else latest_ms  # rows may go meanwhile; then from anywhere

        return count_newest(read, newest_ms, Window(only.since_ms, only.until_ms), most_rows=most_rows, out_of_time=out_of_time)

    def stored(self, digests: Collection[str]) -> set[str]:
        """Return those of `digests` whose row is stored (Strong)."""
        return {row["digest"] for row in self._by_key(self._templates, digests, ("digest",), strong=True)}

    def lines_between(self, topic: str, partition: int, first_offset: int, end_offset: int, *, local: bool) -> StoredLines:
        """Return all lines of a range (Strong). A local folder counts by reading: counting there would tell nothing new."""
        expression = any_of("topic", (topic,))
        if expression is None or first_offset >= end_offset:
            return StoredLines([], 0)
        within = f"{expression} and partition == {partition}"

        def read(span: Span, rows: int) -> list[LineRow]:
            with self._calls() as client:
                found = client.query(self._lines.name, span.expression, LineRow._fields, limit=rows, strong=True)
            return [LineRow(**{name: row[name] for name in LineRow._fields}) for row in found]

        def count(expression: str) -> int:
            with self._calls() as client:
                return client.count(self._lines.name, expression)

        if local:
            about = min(count(""), end_offset - first_offset)
            rows = read_all(read, within, first_offset, end_offset, about_rows=about, page_rows=LOCAL_PAGE_ROWS)
            return StoredLines(rows, len(rows))
        asked = Span(within, first_offset, end_offset).expression
        counted = count(asked)
        rows = read_all(read, within, first_offset, end_offset, about_rows=counted, page_rows=PAGE_ROWS) if counted else []
        if counted > len(rows):
            counted = min(counted, count(asked))  # rows may go meanwhile: by their retention, or by somebody's hand
        return StoredLines(rows, counted)

    def _places(self, expression: str, rows: int, timeout_s: float | None) -> list[Place]:
        with self._calls() as client:
            found = client.query(self._lines.name, expression, PLACE_COLUMNS, limit=rows, timeout_s=timeout_s)
        return [place(row) for row in found]

    def _by_key(
        self, layout: Layout, keys: Iterable[str], columns: Sequence[str], at_once: int = _KEYS_AT_ONCE, *, strong: bool = False
    ) -> Iterator[dict[str, Any]]:
        for expression in any_of_each(layout.fields[0].name, keys, at_once):
            with self._calls() as client:
                rows = client.query(layout.name, expression, columns, strong=strong)
            yield from rows

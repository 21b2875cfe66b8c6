"""What the Milvus sink answers: templates by digest and by vector, the newest lines of one, and how often each came.

Called by the sink's door only, which lends its client out (`calls`) and turns faults into the protocol's exceptions. Nothing here
has a state; everything asked for by key goes in bounded pieces.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.client import Client
from sinks.milvus.counting import TALLY_COLUMNS, Found, count_newest
from sinks.milvus.fields import Layout
from sinks.milvus.searching import MOST_ROWS, PLACE_COLUMNS, Place, Window, any_of, in_window, line_expression, newest, place, place_of
from sinks.row import LineRow
from sinks.sink import LineFilter, SinkBusy, TemplateCounts, TemplateHit

_KEYS_AT_ONCE = 1_000
_VECTOR_BYTES_AT_ONCE = 4 * 1024 * 1024


class Reader:
    """Questions to both collections.

    Thread: any.
    """

    def __init__(self, lines: Layout, templates: Layout, *, timeout_s: float, calls: Callable[[], AbstractContextManager[Client]]) -> None:
        self._lines = lines
        self._templates = templates
        self._timeout_s = timeout_s
        self._calls = calls

    def texts(self, digests: Collection[str]) -> dict[str, str]:
        """Return the texts of those of `digests` whose row is stored."""
        return {row["digest"]: row["text"] for row in self._by_key(self._templates, digests, ("digest", "text"))}

    def vectors(self, digests: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of those of `digests` whose row is stored and holds float32[dim], all finite."""
        dim = self._templates.vector.limit
        at_once = max(min(_KEYS_AT_ONCE, _VECTOR_BYTES_AT_ONCE // (4 * dim)), 1)
        rows = self._by_key(self._templates, digests, ("digest", "vector"), at_once)
        found = {row["digest"]: np.asarray(row["vector"], np.float32) for row in rows}
        return {digest: vector for digest, vector in found.items() if vector.shape == (dim,) and np.isfinite(vector).all()}

    def nearest(self, vector: NDArray[np.float32], limit: int) -> list[TemplateHit]:
        """Return at most `limit` (and at most 16,384) templates, nearest first."""
        with self._calls() as client:
            hits = client.search(self._templates, vector, min(limit, MOST_ROWS), ("text",))
        return [TemplateHit(hit.key, hit.score, str(hit.row["text"])) for hit in hits]

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

    def _places(self, expression: str, rows: int, timeout_s: float | None) -> list[Place]:
        with self._calls() as client:
            found = client.query(self._lines.name, expression, PLACE_COLUMNS, limit=rows, timeout_s=timeout_s)
        return [place(row) for row in found]

    def _by_key(
        self, layout: Layout, keys: Iterable[str], columns: Sequence[str], at_once: int = _KEYS_AT_ONCE
    ) -> Iterator[dict[str, Any]]:
        wanted = list(keys)
        for start in range(0, len(wanted), at_once):
            expression = any_of(layout.fields[0].name, wanted[start : start + at_once])
            if expression is not None:
                with self._calls() as client:
                    rows = client.query(layout.name, expression, columns)
                yield from rows

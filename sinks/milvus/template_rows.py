"""The `TemplateView` of the Milvus sink: one collection, read by id, by vector, by words, and in pages.

Made by the sink's door, whose connection it borrows call by call. A server refuses an answer of more than 100 MB and a text may have
64 KiB: texts come in pieces.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.backend import search_params
from sinks.milvus.expressions import MOST_ROWS, after, any_of_each, literal
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import CollectionLayout, Field, IndexParams, Row
from sinks.milvus.lending import Lending
from sinks.milvus.milvus_client import VectorHit
from sinks.milvus.packing import Sought, unpack
from sinks.milvus.writing import check_vector, template_batches
from sinks.row import TemplateId, TemplateRow, TemplateText, Vector
from sinks.sink import TemplateCapabilities, TemplateHit

TEXTS_AT_ONCE = 1_000
_KEYS_AT_ONCE = 1_000
_VECTOR_BYTES_AT_ONCE = 4 * 1024 * 1024
_LOCAL_LEAST = 100
"""Rows of a range of ids, about, however few are wanted."""
_ID_DIGITS = 12
"""So many first digits of an id tell where it lies."""
_ID_RANGE = 16**_ID_DIGITS
_MEMORY_TEMPLATES_READ = 250
"""A local search visits templates in memory in Python (75 µs each) and those in segments at C speed: with more than this many in memory,
they are written out first."""
_LETTER = re.compile(r"[^\W_]")
"""What any analyser makes words of; it depends on the server whether it may be asked for a text without one."""


class MilvusTemplates:
    """The templates' collection.

    Thread: any.
    """

    def __init__(self, layout: CollectionLayout, lent: Lending, *, local: bool) -> None:
        self.layout = layout
        self._index_type = "FLAT"
        self._lent = lent
        self._calls = lent.calls
        self._local = local

    @property
    def capabilities(self) -> TemplateCapabilities:
        """Whether Milvus ranks templates by their words; a local folder has no index of keys, so it scans."""
        return TemplateCapabilities(ranks_words=self.layout.words is not None, scans=self._local)

    def use(self, layout: CollectionLayout, index_type: str) -> None:
        """Take the collection as `open` found it; `index_type`: of the vectors."""
        self.layout, self._index_type = layout, index_type

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        """Store all rows, or raise: ValueError for a vector of another dimension or not finite, else the protocol's exceptions."""
        self._lent.upsert(self.layout, template_batches(rows, self.layout))

    def texts(self, templates: Collection[TemplateId]) -> dict[TemplateId, TemplateText]:
        """Return the texts of those of `templates` whose row is stored (Bounded)."""
        return {row["template"]: row["text"] for row in self._by_key(templates, ("template", "text"), TEXTS_AT_ONCE, "Bounded")}

    def vectors(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        """Return the vectors of those of `templates` whose row is stored and holds float32[dim], all finite (Bounded)."""
        vector = self.layout.vector
        at_once = max(min(_KEYS_AT_ONCE, _VECTOR_BYTES_AT_ONCE // (4 * vector.limit)), 1)
        rows = self._by_key(templates, ("template", vector.name), at_once, "Bounded")
        found = {row["template"]: unpack(row[vector.name], vector.kind) for row in rows}
        return {one: values for one, values in found.items() if values.shape == (vector.limit,) and np.isfinite(values).all()}

    def stored(self, templates: Collection[TemplateId]) -> set[TemplateId]:
        """Return those of `templates` whose row is stored (Strong)."""
        return {row["template"] for row in self._by_key(templates, ("template",), _KEYS_AT_ONCE, "Strong")}

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return for each at most `limit` (and 16,384) templates, nearest first; ValueError for vectors not finite float32[n, dim]."""
        for vector in vectors:
            check_vector(vector, self.layout.vector.limit, "the query")
        if limit < 1:
            return [[] for _ in vectors]
        self._lent.lighten(self.layout, _MEMORY_TEMPLATES_READ)
        most = min(limit, MOST_ROWS)
        at_once = MOST_ROWS // most
        params = search_params(self._index_type, most)
        answers: list[list[VectorHit]] = []
        for start in range(0, len(vectors), at_once):
            answers += self._search(self.layout.vector, vectors[start : start + at_once], most, params)
        return self._with_texts(answers, lambda score: max(-1.0, min(score, 1.0)))

    def matching(self, text: str, limit: int) -> list[TemplateHit]:
        """Return at most `limit` (and 16,384) templates by their words, best first. Raises ValueError when Milvus does not rank them.

        A local folder scores each of its segments by how rare a word is in that one.
        """
        words = self.layout.words
        if words is None:
            raise ValueError("milvus.bm25 is off: Milvus does not rank the templates of this index by their words")
        if limit < 1 or not _LETTER.search(text):
            return []
        self._lent.lighten(self.layout, _MEMORY_TEMPLATES_READ)
        asked = text.encode(errors="replace").decode()  # a lone surrogate cannot be sent, and stands in no word
        answers = self._search(words, [asked], min(limit, MOST_ROWS), {})
        (hits,) = self._with_texts(answers, abs)  # a server's scores are positive, Milvus Lite's negative
        return sorted((hit for hit in hits if hit.score), key=lambda hit: (-hit.score, hit.template))

    def all_above(self, last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        """Return id and text of at most `limit` templates with an id above `last`, in the order of their ids."""
        if self._local:
            return self._all_above_local(last, limit)
        ids = self._lowest(last, limit)
        texts = {row["template"]: row["text"] for row in self._by_key(ids, ("template", "text"), TEXTS_AT_ONCE, None)}
        return [(one, texts[one]) for one in ids if one in texts]

    def count(self) -> int:
        """Return how many rows are stored, exactly."""
        with self._calls() as client:
            return client.count(self.layout.name)

    def _all_above_local(self, last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        """Milvus Lite looks at every row for each answer, and takes no order: so few answers, each of a range of ids.

        Ids are digests, so about as many lie in every range of the same width.
        """
        with self._calls() as client:
            rows = max(client.rows_written(self.layout.name), 1)
        step = _ID_RANGE * max(limit, _LOCAL_LEAST) // rows + 1
        start = int(last[:_ID_DIGITS].ljust(_ID_DIGITS, "0"), 16)
        found: list[tuple[TemplateId, TemplateText]] = []
        while len(found) < limit and start < _ID_RANGE:
            end = f"{start + step:0{_ID_DIGITS}x}" if start + step < _ID_RANGE else ""
            asked = after("template", last, f"template < {literal(end)}" if end else "")
            with self._calls() as client:
                try:
                    page = client.query(self.layout.name, asked, ("template", "text"))
                except MilvusFault as fault:
                    if step == 1 or not fault.may_be_size:
                        raise
                    step //= 2
                    continue
            found += sorted((row["template"], row["text"]) for row in page)
            start, last = start + step, end
        return found[: max(limit, 0)]

    def _lowest(self, last: str, limit: int) -> list[TemplateId]:
        ids: list[TemplateId] = []
        while len(ids) < limit:
            most = min(limit - len(ids), MOST_ROWS)
            with self._calls() as client:
                asked = after("template", ids[-1] if ids else last)
                page = client.query_lowest(self.layout.name, asked, ("template",), limit=most)
            if not page:
                break
            ids += sorted(row["template"] for row in page)
        return ids

    def _search(self, field: Field, wanted: Sought, most: int, params: IndexParams) -> list[list[VectorHit]]:
        """Search, with texts if the answer is not too large for them."""
        with self._calls() as client:
            try:
                return client.search(self.layout, field, wanted, most, ("text",), params)
            except MilvusFault as fault:
                if not fault.may_be_size:
                    raise
            return client.search(self.layout, field, wanted, most, ("template",), params)

    def _with_texts(self, answers: Sequence[Sequence[VectorHit]], score: Callable[[float], float]) -> list[list[TemplateHit]]:
        keys = {hit.key for hits in answers for hit in hits if "text" not in hit.row}
        texts = {row["template"]: row["text"] for row in self._by_key(keys, ("template", "text"), TEXTS_AT_ONCE, None)}

        def text(hit: VectorHit) -> TemplateText:
            return TemplateText(hit.row.get("text", texts.get(hit.key, "")))

        return [[TemplateHit(TemplateId(hit.key), score(hit.score), text(hit)) for hit in hits] for hits in answers]

    def _by_key(self, keys: Iterable[str], columns: Sequence[str], at_once: int, consistency: str | None) -> Iterator[Row]:
        for expression in any_of_each("template", keys, at_once):
            with self._calls() as client:
                rows = client.query(self.layout.name, expression, columns, consistency=consistency)
            yield from rows

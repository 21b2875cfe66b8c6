"""Questions of every kind for an index that `search_growth_index` filled, with a check of each answer; for `benchmarks.search_growth`."""

import time
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

import numpy as np

from benchmarks.race import Wrong
from benchmarks.search_growth_index import PARTITIONS, START_MS, TOPIC, Filled, service_of
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter, never
from sinks.reading.reader import BlockReader
from worker.querying.dense import rank_by_meaning
from worker.querying.lexical import rank_by_words
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, SearchBounds
from worker.querying.template_index import TemplateIndex

K = 10
_AROUND = 10
_BUCKETS = 60
_HOUR_MS = 3_600_000
_SEED = 7


class Checked(NamedTuple):
    """What is known of an answer."""

    complete: bool
    """False: the reader gave up, because what it had listed grew too old."""
    is_plausible: bool


Ask = Callable[[], Checked]


class Asker:
    """Asks questions of all kinds, each time others, and checks their answers.

    Thread: one.
    """

    def __init__(self, filled: Filled) -> None:
        self._filled = filled
        self._random = Random(_SEED)
        self._noise = np.random.default_rng(_SEED)
        self._reader = BlockReader(filled.sink)
        self._index = Index(filled.sink, self._reader, TemplateIndex(lambda: filled.sink.templates, time.monotonic))
        self.incomplete = 0
        """How many answers were incomplete."""
        self.kinds: Mapping[str, Callable[[], Ask]] = {
            "dense": lambda: self._dense(filtered=False),
            "dense_filtered": lambda: self._dense(filtered=True),
            "words": self._words,
            "identifiers": self._identifiers,
            "around": self._around,
            "templates": lambda: self._counts(CountQuery(self._window(), by=("template",), top=K)),
            "templates_of_all": lambda: self._counts(CountQuery(by=("template",), top=K)),
            "counts_by_time": self._by_time,
            "counts_by_service": lambda: self._counts(CountQuery(self._window()._replace(levels=("ERROR",)), by=("service", "level"))),
        }
        """Name → draws a question; what it returns asks it."""

    def seconds(self, kind: str) -> float:
        """Ask one question of a kind. Raises Wrong."""
        ask = self.kinds[kind]()
        began_s = time.perf_counter()
        answer = ask()
        took_s = time.perf_counter() - began_s
        self.incomplete += not answer.complete
        if answer.complete and not answer.is_plausible:
            raise Wrong(f"a question of kind {kind} got an answer that cannot be right")
        return took_s

    def seconds_by_kind(self, each: int) -> dict[str, list[float]]:
        """Ask that many questions of each kind, in random order; return how long each took. Raises Wrong."""
        taken_s: dict[str, list[float]] = {kind: [] for kind in self.kinds}
        order = [kind for kind in self.kinds for _ in range(each)]
        Random(_SEED).shuffle(order)
        for kind in order:
            taken_s[kind].append(self.seconds(kind))
        return taken_s

    def _dense(self, *, filtered: bool) -> Ask:
        near = self._random.choice(self._filled.templates)
        vector = near.vector + 0.02 * self._noise.standard_normal(len(near.vector)).astype(np.float32)
        only = self._window()._replace(services=(service_of(near.text),)) if filtered else LineFilter()
        bounds = SearchBounds(K, 1, only, never)

        def ask() -> Checked:
            found = rank_by_meaning(self._index, vector / np.linalg.norm(vector), bounds)
            lines = sum(len(one.lines) for one in found.templates)
            return Checked(found.complete, filtered or lines >= min(K, len(self._filled.templates)))

        return ask

    def _words(self) -> Ask:
        text = self._random.choice(self._filled.templates).text
        words = words_of(" ".join(self._random.sample(text.split(), min(3, len(text.split())))))

        def ask() -> Checked:
            found = rank_by_words(self._index, words, SearchBounds(K, 1, LineFilter(), never))
            return Checked(found.complete, bool(found.templates) or not words.terms)

        return ask

    def _identifiers(self) -> Ask:
        while True:
            sample = self._random.choice(self._filled.samples)
            words = words_of(self._random.choice(sample.text.split() or [""]).strip("[]()<>,;:'\""))
            if words.is_exact and words.identifiers:
                break

        def ask() -> Checked:
            found = rank_by_words(self._index, words, SearchBounds(K, K, LineFilter(), never))
            lines = [line for one in found.templates for line in one.lines]
            # Lines that have all come first; where they are few, those follow that have any.
            held = [words.identifiers_in(line.text or "") for line in lines]
            return Checked(found.complete, bool(held) and held[0] == len(words.identifiers) and min(held) > 0)

        return ask

    def _around(self) -> Ask:
        one = self._random.choice(self._filled.samples)
        first, end = max(one.offset - _AROUND, 0), min(one.offset + _AROUND + 1, self._filled.lines // PARTITIONS)

        def ask() -> Checked:
            found = self._reader.lines_between(RecordRange(TOPIC, one.partition, first, end))
            return Checked(found.complete, len(found.lines) == end - first and any(line.text == one.text for line in found.lines))

        return ask

    def _by_time(self) -> Ask:
        return self._counts(CountQuery(self._window(), by=("time",), bucket_ms=max(self._window_ms // _BUCKETS, 1)))

    def _counts(self, query: CountQuery) -> Ask:
        def ask() -> Checked:
            counts = self._reader.count(query)
            return Checked(counts.complete, bool(counts.rows) or bool(query.only.levels))

        return ask

    def _window(self) -> LineFilter:
        since_ms = self._random.randrange(START_MS, self._filled.end_ms - self._window_ms)
        return LineFilter(since_ms, since_ms + self._window_ms)

    @property
    def _window_ms(self) -> int:
        """An hour, or a quarter of all where that is less."""
        return min(_HOUR_MS, (self._filled.end_ms - START_MS) // 4)

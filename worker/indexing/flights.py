"""Known, in flight, or mine: every template is embedded once, and its lines wait as columns, not as threads.

Theory of operation
1. `join` decides in one locked step for the distinct templates of several batches of lines: *known* (the template's row was seen
   acknowledged), *waiting* (its flight has begun, or this call begins it: *mine*), or *rejected* (the template failed alone before).
   Lines that wait are copied out of their batch, so that a few of them do not hold the memory of all.
2. A flight belongs to the process. Once begun it is finished, whatever happens to the record that began it.
3. `land` marks a template known and takes its waiting lines in one locked step, so that no line can join in between and be
   forgotten. The store step that got the row acknowledged writes those lines in the same turn.
4. `fail` remembers the template as rejected (bounded) and hands back its waiting lines, for each to be rejected.
5. A template is known no longer than its row lives. Another collection under the same name ends the process (`sinks.sink`), and what
   was known with it. Rows that go in another way are noticed by looking up a few known templates from time to time (`sample_known`):
   one that is gone means that all are forgotten, and so written again when they are seen next.

Not taken: waiting threads (a slow engine would block prepare), marks left by another process (they may lie after a restore).
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.rejection import Rejection
from sinks.row import TemplateId, TemplateText, template_id
from worker.embedding.cache.vector_levels import VectorSource
from worker.indexing.known_templates import MOST_KNOWN, KnownTemplates, halves_of
from worker.indexing.line_batch import LineBatch, NewTemplate
from worker.indexing.parked import Parked
from worker.indexing.savings import Savings, merge_savings

_KNOWN, _WAITING, _REJECTED = 0, 1, 2
_MOST_IDS = 16_384
_MOST_ID_CHARACTERS = 512
"""Ids are remembered of at most `_MOST_IDS` texts, none of them longer than this: 5 MB."""


class Joined(NamedTuple):
    """What became of several batches of lines; those that wait are not listed, their flights have them."""

    known: list[LineBatch]
    """A batch whose templates are all known is here as the same object."""
    mine: list[NewTemplate]
    """Those whose flights this call began, in the order of their first lines."""
    rejected: list[tuple[LineBatch, Rejection]]


class Completed(NamedTuple):
    """A template whose row is acknowledged."""

    template: TemplateId
    tokens: int
    """Of the model's input, special tokens included."""
    source: VectorSource
    """Who had the vector."""


class Flights:
    """No line is lost and none is handed out twice: each is in exactly one batch that `join`, `land` or `fail` returns.

    Thread: any.
    """

    def __init__(
        self,
        *,
        most_known: int = MOST_KNOWN,
        most_rejected: int = 10_000,
        keep_s: Callable[[], float] = lambda: math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A template stays known for `keep_s()` seconds after it landed: less than its row lives, so that it is written again in time."""
        self._lock = threading.Lock()
        self._clock = clock
        self._flights: dict[TemplateId, list[tuple[Parked, int]]] = {}
        """By template: the batches that have lines of it, each with the template's place among the batch's; the first began the flight."""
        self._keep_s = keep_s
        self._known = KnownTemplates(most=most_known)
        self._rejected: dict[TemplateId, Rejection] = {}
        self._most_rejected = most_rejected
        self._savings: dict[str, Savings] = {}
        self._ids: dict[TemplateText, TemplateId] = {}
        """Ids of templates by their texts."""

    def join(self, batches: Sequence[LineBatch]) -> Joined:
        """Place the lines of each batch by their templates."""
        places: dict[TemplateText, int] = {}
        of_batches = [_places_of(batch, places) for batch in batches]
        ids = self._ids_of(places)
        halves = halves_of(ids)
        joined = Joined([], [], [])
        keep_s = self._keep_s()
        with self._lock:
            self._known.keep_s = keep_s
            tokens = self._known.find_tokens(ids, halves, self._clock())
            fates = self._fates(ids, tokens)
            begun: Counter[str] = Counter()
            by_topic: dict[str, list[NDArray[np.int64]]] = {}
            for batch, of_batch in zip(batches, of_batches, strict=True):
                begun[batch.topic] -= len(joined.mine)
                self._place(batch, fates[of_batch], joined)
                begun[batch.topic] += len(joined.mine)
                by_topic.setdefault(batch.topic, []).append(of_batch[batch.lines.template.codes])
            for topic, of_lines in by_topic.items():
                lines = np.bincount(np.concatenate(of_lines), minlength=len(ids))
                self._savings_of(topic).distinct.add_digests(halves[lines > 0])
                self._count_joined(topic, lines, tokens, fates, begun=begun[topic])
        return joined

    def are_new(self, texts: Sequence[TemplateText]) -> NDArray[np.bool_]:
        """Return which of these templates would begin a flight now: bool[n]."""
        ids = self._ids_of(texts)
        halves = halves_of(ids)
        keep_s = self._keep_s()
        with self._lock:
            self._known.keep_s = keep_s
            are_new = self._known.find_tokens(ids, halves, self._clock()) < 0
            for place in np.flatnonzero(are_new).tolist():
                are_new[place] = ids[place] not in self._flights and ids[place] not in self._rejected
            return are_new

    @property
    def forgets(self) -> bool:
        """Whether rows expire, so that templates do not stay known."""
        return self._keep_s() < math.inf

    def land(self, completed: Iterable[Completed]) -> list[LineBatch]:
        """Mark templates known; return the lines that waited for them."""
        freed: dict[Parked, list[int]] = {}
        with self._lock:
            now_s = self._clock()
            for one in completed:
                flight = self._flights.pop(one.template, [])
                self._known.add_template(one.template, one.tokens, now_s)
                self._count_landed(one, flight)
                for parked, place in flight:
                    freed.setdefault(parked, []).append(place)
            return [parked.release(places) for parked, places in freed.items()]

    def fail(self, template: TemplateId, rejection: Rejection) -> list[LineBatch]:
        """Remember a template that can never be stored; return the lines that waited for it."""
        with self._lock:
            self._rejected[template] = rejection
            if len(self._rejected) > self._most_rejected:
                del self._rejected[next(iter(self._rejected))]
            flight = self._flights.pop(template, [])
            for i, (parked, place) in enumerate(flight):
                savings = self._savings_of(parked.topic)
                savings.rejected += parked.count(place)
                savings.collapsed -= parked.count(place) - (i == 0)
            return [parked.release([place]) for parked, place in flight]

    def sample_known(self, most: int) -> list[TemplateId]:
        """Return at most `most` templates that are known now, others each time until all have had their turn."""
        with self._lock:
            self._known.keep_s = self._keep_s()
            return self._known.sample(most, self._clock())

    def forget_all(self) -> None:
        """Know no template any more; what is in flight stays so, and what failed stays rejected."""
        with self._lock:
            self._known.forget_all()

    def savings(self) -> dict[str, Savings]:
        """Return what was saved so far, by topic."""
        with self._lock:
            return dict(self._savings)

    def total(self) -> Savings:
        """Return what was saved so far, all topics together."""
        with self._lock:
            return merge_savings(self._savings.values())

    def _savings_of(self, topic: str) -> Savings:
        savings = self._savings.get(topic)
        if savings is None:
            savings = self._savings[topic] = Savings()
        return savings

    def _ids_of(self, texts: Iterable[TemplateText]) -> list[TemplateId]:
        """Return the ids of templates; those of short texts are remembered."""
        ids: list[TemplateId] = []
        for text in texts:
            template = self._ids.get(text)
            if template is None:
                template = template_id(text)
                if len(text) <= _MOST_ID_CHARACTERS:
                    if len(self._ids) >= _MOST_IDS:
                        self._ids.clear()
                    self._ids[text] = template
            ids.append(template)
        return ids

    def _fates(self, ids: Sequence[TemplateId], tokens: NDArray[np.int64]) -> NDArray[np.int8]:
        fates = np.zeros(len(ids), np.int8)
        for place in np.flatnonzero(tokens < 0).tolist():
            fates[place] = _REJECTED if ids[place] in self._rejected else _WAITING
        return fates

    def _place(self, batch: LineBatch, fates: NDArray[np.int8], joined: Joined) -> None:
        """Place the lines of one batch; `fates` are those of its templates."""
        if not fates.any():
            joined.known.append(batch)
            return
        codes, values = batch.lines.template
        fate = fates[codes]
        known, waiting = np.flatnonzero(fate == _KNOWN), np.flatnonzero(fate == _WAITING)
        if len(known):
            joined.known.append(batch.take(known))
        for place in np.flatnonzero(fates == _REJECTED).tolist():
            rejection = self._rejected[template_id(values[place])]
            joined.rejected.append((batch.take(np.flatnonzero(codes == place)), rejection))
        if len(waiting):
            self._park(batch.take(waiting), joined.mine)

    def _park(self, batch: LineBatch, mine: list[NewTemplate]) -> None:
        """Let lines wait in the flights of their templates; add those that begin with them to `mine`."""
        parked = Parked(batch)
        first_rows = parked.first_rows()
        texts = batch.lines.template.values
        ids = self._ids_of(texts)
        for place in sorted(range(len(ids)), key=first_rows.__getitem__):
            flight = self._flights.get(ids[place])
            if flight is None:
                mine.append(NewTemplate(ids[place], texts[place], batch.topic))
                flight = self._flights[ids[place]] = []
            flight.append((parked, place))

    def _count_joined(
        self, topic: str, lines: NDArray[np.int64], tokens: NDArray[np.int64], fates: NDArray[np.int8], *, begun: int
    ) -> None:
        """Count the lines of a topic, given how many there are of each template; `begun` flights began with one of them."""
        savings, known = self._savings_of(topic), fates == _KNOWN
        savings.chunks += int(lines.sum())
        savings.known += int(lines[known].sum())
        savings.tokens_saved += int((lines * tokens)[known].sum())
        savings.collapsed += int(lines[fates == _WAITING].sum()) - begun
        savings.rejected += int(lines[fates == _REJECTED].sum())

    def _count_landed(self, landed: Completed, flight: Sequence[tuple[Parked, int]]) -> None:
        for i, (parked, place) in enumerate(flight):
            savings, lines = self._savings_of(parked.topic), parked.count(place)
            if i == 0:
                savings.sources[landed.source] += 1
            if i == 0 and landed.source == "engine":
                savings.tokens_embedded += landed.tokens
                lines -= 1
            savings.tokens_saved += lines * landed.tokens


def _places_of(batch: LineBatch, places: dict[TemplateText, int]) -> NDArray[np.int64]:
    """Return the place of each template of a batch among those of all; adds the new ones to `places`."""
    texts = batch.lines.template.values
    return np.fromiter((places.setdefault(text, len(places)) for text in texts), np.int64, len(texts))

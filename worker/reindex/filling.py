"""Gives a view the templates that another one has and it has not: their texts are embedded by its model.

What is there already is the only memory of it, so it goes on where it was after any end.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sinks.index_spaces import VectorSpace
from sinks.row import TemplateId, TemplateRow, TemplateText
from sinks.sink import TemplateView
from worker.embedding.model.vectors import EmbeddingFailed
from worker.inspecting.vector_audit import EmbedsTexts
from worker.runtime.stage import Abandoned

_PAGE: Final = 2_000
_WHOLE_PAGE: Final = 250_000
"""Where every page costs as much as all of them."""
_CHARACTERS: Final = 2_000
"""Of the texts that are embedded together: about 500 tokens, so that no question waits long for them."""
_ROWS: Final = 512
"""In one write."""
BUSY_SHARE: Final = 0.12
"""Of the time that is computed in while the worker indexes: both want all cores."""


class EmbedsTemplates(EmbedsTexts, Protocol):
    """A model with the space that its vectors are of: `SpaceModel`, or one of tests. `embed` raises Abandoned."""

    space: VectorSpace
    name: str


@dataclass(slots=True)
class FillTally:
    """How far it is.

    Thread: the reindexer's writes, any reads.
    """

    seen: int = 0
    """Templates of the other view that were looked at."""
    written: int = 0
    failed: int = 0
    """Templates for whose text the model has no vector."""
    seconds: float = 0.0
    """Since filling began."""


class Filler:
    """Every row that it writes is of the model that it was given.

    Thread: the reindexer's.
    """

    def __init__(self, *, pause: Callable[[float], bool], is_busy: Callable[[], bool], clock: Callable[[], float] = time.monotonic) -> None:
        """`pause` waits for some seconds, and returns True when the worker stops; `is_busy`: whether the worker indexes."""
        self._pause = pause
        self._is_busy = is_busy
        self._clock = clock

    def fill(
        self, source: TemplateView, target: TemplateView, model: EmbedsTemplates, tally: FillTally, goes_on: Callable[[], bool]
    ) -> bool:
        """Write what `target` lacks; `goes_on` is asked between two batches, and False is returned when it says no.

        Raises the sink's exceptions and Abandoned.
        """
        began_s = self._clock()
        rows: list[TemplateRow] = []
        for page in pages(source):
            missing = _missing(target, page)
            for texts in _batches([(one, text) for one, text in page if one in missing]):
                started_s = self._clock()
                outcomes = model.embed([text for _, text in texts])
                for (template, text), outcome in zip(texts, outcomes, strict=True):
                    if isinstance(outcome, EmbeddingFailed):
                        tally.failed += 1
                    else:
                        rows.append(TemplateRow(template, outcome, text))
                if len(rows) >= _ROWS:
                    rows = self._write(target, rows, tally)
                tally.seconds = self._clock() - began_s
                if not goes_on():
                    return False
                self._rest(self._clock() - started_s)
            rows = self._write(target, rows, tally)
            tally.seen += len(page)
        return True

    def _write(self, target: TemplateView, rows: list[TemplateRow], tally: FillTally) -> list[TemplateRow]:
        if rows:
            target.upsert(rows)
            tally.written += len(rows)
        return []

    def _rest(self, worked_s: float) -> None:
        if self._pause(worked_s * (1 / BUSY_SHARE - 1) if self._is_busy() else 0.0):
            raise Abandoned


def pages(view: TemplateView) -> Iterator[list[tuple[TemplateId, TemplateText]]]:
    """Yield all templates of a view, page by page."""
    size = _WHOLE_PAGE if view.capabilities.scans else _PAGE
    last = ""
    while page := view.all_above(last, size):
        yield page
        last = page[-1][0]


def missing_templates(source: TemplateView, target: TemplateView) -> Iterator[TemplateId]:
    """Yield the templates of `source` that `target` does not have (Strong), in the order of their ids."""
    for page in pages(source):
        yield from sorted(_missing(target, page))


def _missing(target: TemplateView, page: Sequence[tuple[TemplateId, TemplateText]]) -> set[TemplateId]:
    ids = {one for one, _ in page}
    return ids - target.stored(ids)


def _batches(texts: Sequence[tuple[TemplateId, TemplateText]]) -> Iterator[list[tuple[TemplateId, TemplateText]]]:
    batch: list[tuple[TemplateId, TemplateText]] = []
    characters = 0
    for one in texts:
        if batch and characters + len(one[1]) > _CHARACTERS:
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += len(one[1])
    if batch:
        yield batch

"""Two models that give every text another vector, a fake index, and workers over it, moved by hand."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count

import numpy as np
from numpy.typing import NDArray

from sinks.index_spaces import VectorSpace
from sinks.row import TemplateId, TemplateRow, TemplateText
from sinks.sink import Sink, TemplateView
from tests.fakes.sink import HOME, FakeSink
from tests.template_ids import id_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.vectors import EmbeddingFailed, Outcome
from worker.reindex.filling import EmbedsTemplates, Filler
from worker.reindex.reindexer import ModelsOfSpaces, Reindexer
from worker.runtime.surroundings import Surroundings

OLD = VectorSpace(8, HOME)
NEW = VectorSpace(6, "space-2")
NAMES = {OLD.id: "old-model", NEW.id: "new-model"}
SPACES = {OLD.id: OLD, NEW.id: NEW}


class Killed(BaseException):
    """The worker was killed at a point."""


class HashModel:
    """Makes a vector of the text's hash; it has none for texts that begin with `!`."""

    def __init__(self, space: VectorSpace) -> None:
        self.space = space
        self.name = NAMES[space.id]
        self.texts: list[TemplateText] = []
        self.on_embed: Callable[[], None] = lambda: None

    def vector(self, text: str) -> NDArray[np.float32]:
        seed = hashlib.sha256(f"{self.space.id} {text}".encode()).digest()
        values = np.frombuffer(seed, np.uint8)[: self.space.dim].astype(np.float32) - 127.5
        return np.asarray(values / np.linalg.norm(values), np.float32)

    def embed(self, texts: Sequence[TemplateText]) -> list[Outcome]:
        self.on_embed()
        self.texts += texts
        return [EmbeddingFailed("odd") if text.startswith("!") else self.vector(text) for text in texts]

    def row(self, text: str) -> TemplateRow:
        return TemplateRow(id_of(text), self.vector(text), TemplateText(text))


class Models(ModelsOfSpaces):
    """What a worker can load."""

    def __init__(self, *spaces: VectorSpace) -> None:
        self._has = {space.id for space in spaces}
        self.opened: dict[str, HashModel] = {}
        self.used: list[str] = []
        self.closed: list[str] = []

    def open(self, name: str, space: str, view: TemplateView) -> EmbedsTemplates:
        del view
        if space not in self._has:
            raise ModelError(f"there is no model {name}")
        self.opened[space] = HashModel(SPACES[space])
        return self.opened[space]

    def use(self, space: str) -> None:
        self.used.append(space)

    def close(self, space: str) -> None:
        self.closed.append(space)


class Worker:
    """A worker's reindexer; time goes on by itself, so that every look does all that is due."""

    def __init__(
        self, sink: Sink, clock: Callable[[], float], *, name: str = "a", home: VectorSpace = OLD, has: Sequence[VectorSpace] = (OLD, NEW)
    ) -> None:
        self.sink = sink
        self.said: list[str] = []
        self.models = Models(*has)
        self.home = HashModel(home)
        self.dies_at = ""
        self.passed: list[str] = []
        surroundings = Surroundings(
            clock=clock, wall_ms=lambda: 1000 * clock(), say=self.said.append, pause=lambda _s: False, fail_point=self._pass
        )
        filler = Filler(pause=lambda _s: False, is_busy=lambda: False, clock=clock)
        self.reindexer = Reindexer(sink, self.home, self.models, filler, surroundings, owner=name)

    def _pass(self, point: str) -> None:
        self.passed.append(point)
        if point == self.dies_at:
            raise Killed

    def store(self, *texts: str) -> None:
        """Store new templates as the worker does: in the view that it asks."""
        active = self.reindexer.active
        model = self.home if active == self.home.space.id else self.models.opened[active]
        self.sink.open_view(SPACES[active]).upsert([model.row(text) for text in texts])

    def look_until_killed(self, *, after_batches: int) -> None:
        """Look, and die in the middle of filling."""
        self.reindexer._open_missing(self.sink.spaces())  # noqa: SLF001 - its model dies
        batches = count()

        def die() -> None:
            if next(batches) == after_batches:
                raise Killed

        self.models.opened[NEW.id].on_embed = die
        with suppress(Killed):
            self.look(3)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.reindexer.look()


class OwnView:
    """A fake sink as one worker sees it: which view is asked is its own business, all else is shared.

    Thread: one.
    """

    def __init__(self, shared: FakeSink, home: VectorSpace = OLD) -> None:
        self._shared = shared
        self.templates = shared.open_view(home, create=True)

    def prefer(self, space: str) -> None:
        self.templates = self._shared.views[space]

    def drop_view(self, space: str) -> None:
        self._shared.templates = self.templates
        self._shared.drop_view(space)

    def __getattr__(self, name: str) -> object:
        return getattr(self._shared, name)


def wrong_rows(sink: FakeSink) -> list[tuple[str, TemplateId]]:
    """Return the rows whose vector is not that of their view's model."""
    return [
        (space, row.template)
        for space, view in sink.views.items()
        for row in view.values()
        if not np.array_equal(row.vector, HashModel(SPACES[space]).vector(row.text))
    ]

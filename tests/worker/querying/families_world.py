"""Random indexes whose templates are of few families, and what brute force finds in them."""

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.text.families import family_of
from sinks.line import Line
from sinks.row import TemplateRow
from tests.template_ids import id_of
from tests.world import index_of, line, open_sink, template, unit
from worker.querying.ranking import Index
from worker.querying.template_groups import TemplateGroups
from worker.querying.template_index import TemplateIndex
from worker.settings.template_tables import TemplateTable

WORDS = ("disk", "network", "voltage", "memory", "printer", "camera", "router", "valve")
STATES = ("full", "down", "slow", "lost", "open")


class World(NamedTuple):
    """Templates and lines of them."""

    rows: list[TemplateRow]
    lines: list[Line]

    def opened(self, named: Sequence[TemplateTable] = (), *, ranks_words: bool = False) -> Index:
        """Return what reads them."""
        index = index_of(open_sink(self.rows, ranks_words=ranks_words), self.lines)
        return index._replace(templates=TemplateIndex(lambda: index.sink.templates, lambda: 0.0, TemplateGroups(named)))


def same_family(text: str, count: int) -> list[str]:
    """Return the texts of so many templates of one family: punctuation does not count."""
    return [text + "!" * number for number in range(count)]


def world(seed: int, *, families: int = 20, most_templates: int = 12, lines: int = 300) -> World:
    """Return up to `families` families, a few of them large."""
    draw = random.Random(seed)
    names = draw.sample([f"{word} {state}" for word in WORDS for state in STATES], families)
    texts = [text for name in names for text in same_family(name, draw.choice((1, 2, most_templates)))]
    assert len({family_of(text) for text in texts}) == families
    rows = [template(text, unit(*(draw.uniform(-1, 1) for _ in range(4)))) for text in texts]
    found = [
        line(n, template_text=draw.choice(texts), service=draw.choice(("web", "db")), time=draw.randrange(100_000)) for n in range(lines)
    ]
    draw.shuffle(rows)
    return World(rows, found)


def best_lines(world: World, vector: NDArray[np.float32], k: int, service: str | None) -> list[tuple[str, float]]:
    """Return of the k best families with lines of a service the id of the newest line of the best template, and its score."""
    passing = [one for one in world.lines if service in (None, one.service)]
    scores = {row.template: float(row.vector @ vector) for row in world.rows}
    best: dict[str, Line] = {}
    for one in sorted(passing, key=lambda one: (-scores[one.template], -one.time, -one.offset)):
        best.setdefault(family_of(one.template_text), one)
    return [(one.id, scores[one.template]) for one in best.values()][:k]


def ids_of(texts: Sequence[str]) -> set[str]:
    """Return the ids of templates."""
    return {id_of(text) for text in texts}

"""The stub world's index: lines that a test writes, read by the worker's own answer step. Only the vectors are made up.

Each word is a direction of its own, so meaning is words in common: a test can tell beforehand what is near. A template that has no word of
a question is no hit at all.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockPlace
from sinks.line import Line
from sinks.reading.reader import BlockReader
from tests.fakes.sink import FakeSink
from tests.page.stub_lines import NAMED
from tests.world import block, template
from worker.asking.answers import ReachJson
from worker.asking.question import Query
from worker.asking.requests import Requester
from worker.embedding.model.nearness import Nearness
from worker.querying.answer import Answer
from worker.querying.query_words import words_of
from worker.querying.ready_query import ReadyQuery
from worker.runtime.surroundings import Surroundings

_WORD = re.compile(r"[^\W\d_]+")
_DIM = 512
_BLOCK_LINES = 100
_NEARNESS = Nearness(near=0.35, strong=0.6, floor=0.0, bearing=(0.0,) * _DIM)


class StubIndex(FakeSink):
    """Blocks of one run. Thread: any; queries are answered on one."""

    def __init__(self) -> None:
        super().__init__(dim=_DIM)
        self.reach: ReachJson = {"indexed_until_ms": None, "behind_records": 0}
        """What answers say of what is not here."""
        nearest = self.templates.nearest
        # No template whose words are all others.
        self.templates.nearest = lambda *asked: [[hit for hit in hits if hit.score > 0] for hits in nearest(*asked)]  # type: ignore[method-assign]
        self.open()
        self._directions: dict[str, int] = defaultdict(lambda: len(self._directions) % _DIM)
        self._numbers: dict[BlockPlace, int] = defaultdict(int)
        self._answer = Answer(
            sink=self,
            reader=BlockReader(self),
            surroundings=Surroundings(),
            named=NAMED,
            nearness=_NEARNESS,
            reach=lambda *_: self.reach,
        )

    def store(self, lines: Sequence[Line]) -> None:
        """Write lines, and their templates before them."""
        texts = {line.template_text for line in lines}
        self.templates.upsert([template(text, self._vector(text)) for text in texts])
        for place in {BlockPlace(*line[:3]) for line in lines}:
            of = [line for line in lines if line[:3] == place]
            for at in range(0, len(of), _BLOCK_LINES):
                self.write_blocks([block(of[at : at + _BLOCK_LINES], first=self._numbers[place])])
                self._numbers[place] += 1

    def reply(self, query: Query, requester: Requester) -> None:
        """Answer a query at once, as the worker does once it has the vector."""
        is_exact = words_of(query.text or "").is_exact
        has_vector = query.text is not None and query.mode != "words" and not is_exact
        vector = self._vector(query.text or "") if has_vector else None
        self._answer.step([ReadyQuery(requester, query, vector, 0.001, 0.004, is_exact)])

    def _vector(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(_DIM, np.float32)
        vector[[self._directions[word.lower()] for word in _WORD.findall(text)] or [0]] = 1.0
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

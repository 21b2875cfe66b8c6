"""What the sides of `benchmarks.by_hand` have in common: what one turn is asked to do, what it says, and the vectors that are compared."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.race import LeftOut, Wrong
from benchmarks.rivals.own_process import OwnProcess

Rows = Sequence[tuple[str, NDArray[np.float32]]]
"""The text and the vector, float32[dim], of each row of an index; a text may have several."""
_TEXTS, _VECTORS = "texts.json", "vectors.npy"
_ANSWER_S = 2_000.0
"""More than the warm and the timed service of a turn take until they give up."""


class SideFailed(Wrong):
    """A side could not be opened or has failed; the message is its reason."""


class Plan(NamedTuple):
    """What a side indexes in one turn."""

    bootstrap_servers: str
    redis_url: str
    folder: str
    """For Milvus Lite, and for the vectors that are compared; new in every turn."""
    topic: str
    records: int
    """Every record of the topic."""
    warm_topic: str = ""
    """Indexed into the same folder before the time begins. Only for vectail; the others' warm cache is filled beforehand."""
    warm_records: int = 0
    mask_mode: str = "template"


class Turn(NamedTuple):
    """The result of a plan."""

    seconds: float
    """From the first record that was read until the last one was stored and committed."""
    stored: int
    """Lines in the index, each counted once."""
    figures: dict[str, float]
    """Whatever else the side says of itself."""


def keep_vectors(folder: str, rows: Rows) -> None:
    """Write vectors that are to be compared."""
    (Path(folder) / _TEXTS).write_text(json.dumps([text for text, _ in rows]))
    np.save(Path(folder) / _VECTORS, np.array([vector for _, vector in rows], np.float32))


def kept_vectors(folder: str) -> Rows:
    """Read what `keep_vectors` wrote."""
    texts = json.loads((Path(folder) / _TEXTS).read_text())
    return list(zip(texts, np.load(Path(folder) / _VECTORS), strict=True))


class Side:
    """A side in a process of its own, which loads its model once and then indexes one topic a turn.

    Thread: one.
    """

    def __init__(self, name: str, opener: str, arguments: Sequence[Any], log: Path) -> None:
        """Start it and wait until its model is loaded. Raises SideFailed."""
        self.name = name
        try:
            self._process = OwnProcess(opener, arguments, log=log, load_s=_ANSWER_S)
        except LeftOut as reason:
            raise SideFailed(f"{name}: {reason}") from None
        self.ready, self.close = self._process.ready, self._process.close

    def run(self, plan: Plan) -> Turn:
        """Index a topic. Raises SideFailed, also if not every record is stored once."""
        try:
            turn: Turn = self._process.ask(plan, _ANSWER_S)
        except LeftOut as reason:
            raise SideFailed(f"{self.name}: {reason}") from None
        if turn.stored != plan.records + plan.warm_records:
            raise SideFailed(f"{self.name} stored {turn.stored} lines of {plan.records + plan.warm_records}")
        return turn

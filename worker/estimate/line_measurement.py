"""Measures the processor time of a known line on this machine: decoded, redacted, chunked, masked, and built into blocks.

`vectail estimate` calls it with lines of its sample. It runs what the prepare and store threads spend nearly all of their time on, without
Kafka and Milvus: polling, the ledger, the look-up of templates, requests and commits are not in it, and `worker.estimate.estimate` adds a
constant for them. The same lines come again in every round, so masked forms are always known, as in the long run of a stream.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from consumers.decode.decoder import Decoder
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.build import build
from worker.estimate.line_sampling import Line
from worker.indexing.pieces import lines_of_pieces, split_entries

BATCH_LINES = 8_000
"""As many as the worker prepares at once when it has that many."""
_LEAST_ROUNDS = 3


class LineMeasurement(NamedTuple):
    """What the stages did."""

    lines: int
    seconds: float
    """Of processor time."""

    @property
    def us_per_line(self) -> float | None:
        """Microseconds of processor time a line; None if there was none."""
        return 1e6 * self.seconds / self.lines if self.lines and self.seconds > 0 else None


class LineTrial:
    """The worker's way of a line from its bytes to a block.

    Thread: that of the chunker's tokenizer.
    """

    def __init__(self, *, decoder: Decoder, redactor: Redactor, chunker: Chunker) -> None:
        self._decoder = decoder
        self._redactor = redactor
        self._chunker = chunker

    def measure(self, lines: Sequence[Line], *, clock: Callable[[], float], least_s: float) -> LineMeasurement:
        """Index the lines, at most `BATCH_LINES` of them, over and over, for `least_s` seconds of `clock` and three rounds at least.

        The first round is not counted: it learns the forms. `clock` returns seconds of processor time.
        """
        values = [line for line in lines if line is not None][:BATCH_LINES]
        if not values:
            return LineMeasurement(0, 0.0)
        self._index(values)
        rounds, seconds = 0, 0.0
        while rounds < _LEAST_ROUNDS or seconds < least_s:
            started_s = clock()
            self._index(values)
            seconds += clock() - started_s
            rounds += 1
        return LineMeasurement(rounds * len(values), seconds)

    def _index(self, values: list[bytes]) -> None:
        entries = self._decoder.decode(values, np.zeros(len(values), np.int64)).entries
        pieces = split_entries(entries, redactor=self._redactor, chunker=self._chunker)
        offsets = np.arange(len(values), dtype=np.int64)
        build(lines_of_pieces(pieces, offsets, offsets), masks="", written_ms=0)

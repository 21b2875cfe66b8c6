"""How many different digests there were, to about 1 %, in 16 KiB: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007).

A set of all digests ever seen would grow for ever. Digests are hashes already, so nothing is hashed here.
"""

import math

import numpy as np
from numpy.typing import NDArray

_INDEX_BITS = 14
_REST_BITS = 64 - _INDEX_BITS
_REGISTERS = 1 << _INDEX_BITS
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)
"""Bias of the mean, from the paper (m ≥ 128)."""
_LINEAR_UP_TO = 2.5 * _REGISTERS
"""Below this estimate empty registers say more than full ones (the paper's small-range correction)."""


class Distinct:
    """The count never falls, and a digest counts once however often it comes.

    Thread: one at a time; readers may read any time.
    """

    def __init__(self) -> None:
        self._longest = np.zeros(_REGISTERS, np.uint8)
        """For each register the longest run of leading zeros it has seen, plus one."""

    def add(self, words: NDArray[np.uint64]) -> None:
        """Count digests, given as `worker.space.words_of` gives them: uint64[n, 2]."""
        register = (words[:, 0] >> np.uint64(_REST_BITS)).astype(np.intp)
        rest = words[:, 0] & np.uint64((1 << _REST_BITS) - 1)
        run = _REST_BITS + 1 - np.frexp(rest.astype(np.float64))[1]  # exact: 50 bits fit into a float64
        np.maximum.at(self._longest, register, run.astype(np.uint8))

    def merge(self, other: "Distinct") -> None:
        """Count what another one has counted; what both have counts once."""
        np.maximum(self._longest, other._longest, out=self._longest)  # noqa: SLF001 (of its own kind)

    def __int__(self) -> int:
        """Return how many there were, about."""
        estimate = _ALPHA * _REGISTERS**2 / float(np.sum(np.exp2(-self._longest.astype(np.float64))))
        empty = _REGISTERS - int(np.count_nonzero(self._longest))
        if estimate <= _LINEAR_UP_TO and empty:
            estimate = _REGISTERS * math.log(_REGISTERS / empty)
        return round(estimate)

"""Counts distinct digests to about 1 % in 16 KiB: HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007).

A set of all digests would grow without bound. Digests are hashes, so nothing is hashed here. The estimate is Ertl's improved one
(2017, "New cardinality estimation algorithms for HyperLogLog sketches", algorithm 6), which is unbiased at any size.
"""

import math

import numpy as np
from numpy.typing import NDArray

_INDEX_BITS = 14
_REST_BITS = 64 - _INDEX_BITS
_REGISTERS = 1 << _INDEX_BITS
_ALPHA = 0.5 / math.log(2)


class HyperLogLog:
    """The count never falls, and a digest counts once however often it is added.

    Thread: one writer at a time; readers at any time.
    """

    def __init__(self) -> None:
        self._longest = np.zeros(_REGISTERS, np.uint8)
        """uint8[registers]: the longest run of leading zeros seen by each register, plus one."""

    def add_digests(self, halves: NDArray[np.uint64]) -> None:
        """Count digests, uint64[n, 2] as returned by `worker.indexing.known_templates.halves_of`."""
        register = (halves[:, 0] >> np.uint64(_REST_BITS)).astype(np.intp)
        rest = halves[:, 0] & np.uint64((1 << _REST_BITS) - 1)
        run = _REST_BITS + 1 - np.frexp(rest.astype(np.float64))[1]  # exact: 50 bits fit into a float64
        np.maximum.at(self._longest, register, run.astype(np.uint8))

    def merge(self, other: "HyperLogLog") -> None:
        """Add the digests of another counter; those that both have count once."""
        np.maximum(self._longest, other._longest, out=self._longest)  # noqa: SLF001 (same class)

    def __int__(self) -> int:
        """Return the estimate."""
        counts = np.bincount(self._longest, minlength=_REST_BITS + 2) / _REGISTERS
        weight = _tau(1.0 - float(counts[-1]))
        for count in counts[-2:0:-1].tolist():
            weight = 0.5 * (weight + count)
        return round(_ALPHA * _REGISTERS / (weight + _sigma(float(counts[0]))))


def _sigma(share: float) -> float:
    """Return the weight of registers that are still empty, a share x of all: x + Σ x^(2^k) 2^(k-1)."""
    if share == 1.0:
        return math.inf
    total, before, factor = share, -1.0, 1.0
    while total != before:
        share *= share
        before, total, factor = total, total + share * factor, factor * 2.0
    return total


def _tau(share: float) -> float:
    """Return the weight of registers that are full, a share 1 - x of all: (1 - x - Σ (1 - x^(2^-k))² 2^-k) / 3."""
    if share in (0.0, 1.0):
        return 0.0
    total, before, factor = 1.0 - share, -1.0, 1.0
    while total != before:
        share = math.sqrt(share)
        factor *= 0.5
        before, total = total, total - (1.0 - share) ** 2 * factor
    return total / 3.0

"""Damage of a bad wire: flips bits at random, or in a marker that the test names. `tests.services.proxy` sends its bytes through it."""

import random


class Damage:
    """Flips one bit in some of the bytes that pass, the same ones for the same seed.

    Thread: the proxy's.
    """

    def __init__(self) -> None:
        self.spoiled = 0
        """Bytes with a flipped bit."""
        self._share, self._chance = 0.0, random.Random()
        self._markers: list[bytes] = []

    def flip(self, share: float, seed: int) -> None:
        """Flip a bit in this share of all bytes from now on."""
        self._share, self._chance = share, random.Random(seed)

    def spoil(self, marker: bytes, times: int) -> None:
        """Flip a bit of `marker` the next `times` times that it passes in one piece."""
        self._markers = [marker] * times

    def end(self) -> None:
        self._share, self._markers = 0.0, []

    def done_to(self, chunk: bytes) -> bytes:
        damaged = bytearray(chunk)
        while self._markers and (at := damaged.find(self._markers[-1])) >= 0:
            self._markers.pop()
            damaged[at] ^= 1
            self.spoiled += 1
        for at in range(len(damaged) if self._share else 0):
            if self._chance.random() < self._share:
                damaged[at] ^= 1 << self._chance.randrange(8)
                self.spoiled += 1
        return bytes(damaged)

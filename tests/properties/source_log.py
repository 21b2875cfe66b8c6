"""The log of one partition as `tests.properties.blocks_world` grows and cuts it: every source line has a token that no other one ever has.

A source line is what one log call wrote: a record of its own, an entry of an array, a line of a stack trace, a piece of a line that a
container's runtime cut. Which of them are one entry is up to the settings of whoever reads them; a token is found in whatever they became.
"""

import json
import random
import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

WALL_MS: Final = 1_700_000_000_000
"""The world's time of day at its moment 0, as a right clock has it."""
WORDS: Final = ("disk", "network", "login", "memory")
SERVICES: Final = ("shop", "billing", "gateway")
LONG: Final = 80
"""Words of a long line; how many chunks it has depends on the worker's setting."""
_TOKEN: Final = re.compile(r"\[(\d+) (\d+) (\d+)\]")
_NEW_LEADER: Final = 0.03
"""How often a partition has another leader than it had at the record before, and has lost nothing."""
_STEPS_MS: Final = (0, 3, 400, 400, 2_500, 30_000, 900_000)


class Token(NamedTuple):
    """What tells a source line from every other one of the history."""

    offset: int
    cuts: int
    """How often the log had been cut before."""
    number: int
    """Which source line of its record."""

    def __str__(self) -> str:
        return f"[{self.offset} {self.cuts} {self.number}]"


class SourceLine(NamedTuple):
    token: Token
    text: str
    """Every entry that holds the line holds this, unbroken."""


class LogRecord(NamedTuple):
    offset: int
    cuts: int
    leader_epoch: int
    time_ms: int
    value: bytes | None
    lines: tuple[SourceLine, ...]
    """Empty: the record holds nothing."""


@lru_cache(1 << 16)
def tokens_in(text: str) -> tuple[Token, ...]:
    return tuple(Token(*map(int, found)) for found in _TOKEN.findall(text))


def tokens_of(value: bytes, subs: Collection[int] = (), *, is_array: bool) -> frozenset[Token]:
    """Return the tokens of a record's value, or of those entries of it that are named; read as lines of text it has only one."""
    texts = [value.decode("utf-8", "replace")]
    if subs and is_array and value.startswith(b"[{"):
        messages = [one["message"] for one in json.loads(value)]
        texts = [messages[sub] for sub in subs]
    return frozenset(token for text in texts for token in tokens_in(text))


class SourceLog:
    """The records that are there now, of the kinds that are allowed."""

    def __init__(self, rng: random.Random, kinds: Collection[str]) -> None:
        self._rng = rng
        chances = (("arrays", 4), ("traces", 3), ("pieces", 2), ("empty", 1), ("undecodable", 1))
        self._kinds = ["plain"] * 5 + [kind for kind, chance in chances for _ in range(chance) if kind in kinds]
        self.records: list[LogRecord] = []
        self.next_offset = 0
        self.cuts = 0
        self._leader_epoch = 0
        self._time_ms = WALL_MS

    def at(self) -> dict[int, LogRecord]:
        return {one.offset: one for one in self.records}

    def grow(self, *, kind: str | None = None) -> None:
        """Append some records; some offsets are left out, as compaction does."""
        for _ in range(self._rng.randint(1, 4)):
            chosen = kind or self._rng.choice(self._kinds)
            self.next_offset += self._rng.random() < 0.1
            getattr(self, f"_add_{chosen}")()

    def cut(self, end: int) -> None:
        """Drop the records from an offset on; what is appended then has the same offsets and another content."""
        self.records = [one for one in self.records if one.offset < end]
        self.next_offset = end
        self.cuts += 1
        self._leader_epoch += 1

    def _add_plain(self) -> None:
        line = self._line(f"{self._rng.choice(('', 'ERROR ', 'INFO '))}{self._rng.choice(WORDS)} {self._rng.randint(0, 9)} failed")
        self._append(line.text.encode(), [line])

    def _add_arrays(self) -> None:
        lines = [self._line(f"{self._rng.choice(WORDS)} is gone", number) for number in range(self._rng.randint(1, 4))]
        levels = ("info", "error")
        documents = [{"message": one.text, "service": self._rng.choice(SERVICES), "level": self._rng.choice(levels)} for one in lines]
        self._append(json.dumps(documents).encode(), lines)

    def _add_traces(self) -> None:
        """Add an event, the lines that follow it, and now and then a line that does not."""
        self._add_plain()
        beginnings = ["java.lang.IllegalStateException: broken"] * (self._rng.random() < 0.7)
        beginnings += ["at a.b.C.d(C.java:1)"] * self._rng.randint(1, 4)
        for beginning in beginnings:
            line = self._line(beginning, is_short=True)
            indent = "\t" if beginning.startswith("at ") else ""
            self._append(f"{indent}{line.text}".encode(), [line], step_ms=self._rng.choice((0, 1, 900)))
            if self._rng.random() < 0.05:
                self._append(b"", [])

    def _add_pieces(self) -> None:
        """Add the pieces of a line; the last one may be missing."""
        for at in range(pieces := self._rng.randint(1, 4)):
            line = self._line("piece", is_short=True)
            tag = "F" if at == pieces - 1 and self._rng.random() < 0.9 else "P"
            self._append(f"2023-11-14T22:13:20.000000000Z stdout {tag} {line.text}".encode(), [line], step_ms=1)

    def _add_empty(self) -> None:
        self._append(self._rng.choice((b"", None)), [])

    def _add_undecodable(self) -> None:
        """Add what is undecodable for workers that are strict."""
        line = self._line("odd")
        self._append(b"\xff" + line.text.encode(), [line])

    def _line(self, beginning: str, number: int = 0, *, is_short: bool = False) -> SourceLine:
        token = Token(self.next_offset, self.cuts, number)
        text = f"{beginning} {token}"
        if not is_short and self._rng.random() < 0.1:
            text += "".join(f" {self._rng.choice(WORDS)}" for _ in range(LONG))
        if not is_short and self._rng.random() < 0.01:
            text += " refused"
        return SourceLine(token, text + " end.")

    def _append(self, value: bytes | None, lines: Sequence[SourceLine], *, step_ms: int | None = None) -> None:
        self._time_ms += self._rng.choice(_STEPS_MS) if step_ms is None else step_ms
        self._leader_epoch += self._rng.random() < _NEW_LEADER
        self.records.append(LogRecord(self.next_offset, self.cuts, self._leader_epoch, self._time_ms, value, tuple(lines)))
        self.next_offset += 1

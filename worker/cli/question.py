"""What the user of `vectail search` asks for, its options put together: refused where they contradict each other, else a query.

All of it is known before anything is sent; what only the worker knows (whether its index has full-text search) the worker answers.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from worker.cli.exits import must_change

NEIGHBOURS = 5
"""Records before a line and after it, if the user does not say how many."""
_PLACE = re.compile(r"([^/@]+)/(\d{1,9})@(\d{1,18})")


class Place(NamedTuple):
    """Where a record is in Kafka; written as in the column `where` of a table of hits.

    Thread: any.
    """

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """What the user gave; None or empty is what was not given.

    Thread: main.
    """

    text: str | None = None
    around: Place | None = None
    neighbours: int | None = None
    """Records before the line and after it."""
    k: int | None = None
    mode: Literal["dense", "bm25", "hybrid"] | None = None
    form: Literal["lines", "templates"] | None = None
    per_template: int | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def checked(self) -> Self:
        """Return it if it asks for one thing. Raises CommandFailed."""
        if self.around is not None:
            self._ask_only_for_a_place()
        elif self.text is None:
            raise must_change("say what to look for; or --around, for what stands around a line (`vectail templates` lists all kinds)")
        elif self.neighbours is not None:
            raise must_change("-C says how much to show around a line: it needs --around")
        elif self.form == "templates" and self.per_template is not None:
            raise must_change("--per-template is about lines: leave it or `--as templates` out")
        if self.since_ms is not None and self.until_ms is not None and self.since_ms >= self.until_ms:
            raise must_change("no time is after --since and before --until")
        return self

    def request(self) -> dict[str, Any]:
        """Return it as a query on the wire."""
        if self.around is not None:
            count = NEIGHBOURS if self.neighbours is None else self.neighbours
            return {"around": {**self.around._asdict(), "before": count, "after": count}}
        filters = _given(
            {
                "since_ms": self.since_ms,
                "until_ms": self.until_ms,
                "service": list(self.services),
                "level": list(self.levels),
                "topic": list(self.topics),
            }
        )
        wanted = {"text": self.text, "k": self.k, "mode": self.mode, "as": self.form, "per_template": self.per_template}
        return _given({**wanted, "filters": filters})

    def advice(self) -> str:
        """Return what to try when nothing was found, in one sentence."""
        names = {"--service": self.services, "--level": self.levels, "--topic": self.topics}
        filters = [name for name, values in names.items() if values]
        is_bounded = self.since_ms is not None or self.until_ms is not None
        tries = [f"without {' or '.join(filters)}"] if filters else []
        tries += ["over a longer time (--since, --until)"] if is_bounded else []
        tries += ["by meaning (--mode dense)"] if self.mode == "bm25" else []
        return f"Try it {', or '.join(tries)}." if tries else "`vectail templates --since all` lists the kinds of lines there are."

    def _ask_only_for_a_place(self) -> None:
        others = {
            "TEXT": self.text,
            "-k": self.k,
            "--mode": self.mode,
            "--as": self.form,
            "--per-template": self.per_template,
            "--since": self.since_ms,
            "--until": self.until_ms,
            "--service": self.services,
            "--level": self.levels,
            "--topic": self.topics,
        }
        for name, value in others.items():
            if value not in (None, ()):
                raise must_change(f"--around shows every line around one: leave {name} out")


def read_place(text: str) -> Place:
    """Read `logs/0@123`. Raises CommandFailed."""
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise must_change(f"--around {text!r}: give a topic, a partition and an offset, as hits show them: logs/0@123")
    return Place(found[1], int(found[2]), int(found[3]))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, [], {})}

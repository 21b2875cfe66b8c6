"""The options of `vectail search` as one question: checked for contradictions, then turned into a query.

Only what can be checked before sending is checked here; the worker checks the rest.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from worker.cli.exclusions import NO_EXCLUSIONS, Exclusions
from worker.cli.exits import user_error
from worker.cli.filter_values import given, values_by_name

NEIGHBOURS = 5
"""Records before and after a line by default."""
_COORDINATES = re.compile(r"([^/@]+)/(\d{1,9})@(\d{1,18})")


class RecordCoordinates(NamedTuple):
    """Where a record is in Kafka; its text is that of the column `where` in a table of hits."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuestion:
    """What the user gave; None or empty: not given."""

    text: str | None = None
    around: RecordCoordinates | None = None
    neighbours: int | None = None
    """Records before and after the line."""
    k: int | None = None
    mode: Literal["dense", "words", "hybrid"] | None = None
    form: Literal["lines", "templates"] | None = None
    per_template: int | None = None
    per_family: int | None = None
    expand: bool | None = None
    """List templates one by one; None: as families."""
    since_ms: int | None = None
    until_ms: int | None = None
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    """Ids."""
    families: tuple[str, ...] = ()
    """Ids."""
    fields: tuple[tuple[str, str], ...] = ()
    """Names and values."""
    trace_id: str | None = None
    excluded: Exclusions = NO_EXCLUSIONS

    def checked(self) -> Self:
        """Return the question if its options fit together. Raises CommandFailed."""
        if self.around is not None:
            self._refuse_other_options()
        elif self.text is None and not self.templates and not self.families:
            raise user_error("say what to look for, or use --around for the lines around a hit (`vectail templates` lists all templates)")
        elif self.neighbours is not None:
            raise user_error("-C sets how much to show around a line: it needs --around")
        elif self.text is None and self.mode is not None:
            raise user_error("--mode ranks by a text: leave it out, or say what to look for")
        elif self.form == "templates":
            for name, value in (("--per-template", self.per_template), ("--per-family", self.per_family)):
                if value is not None:
                    raise user_error(f"{name} limits lines: leave out either it or `--as templates`")
        elif self.expand is not None:
            raise user_error("--expand lists templates one by one: it needs `--as templates`")
        check_span(self.since_ms, self.until_ms)
        return self

    def request(self) -> dict[str, Any]:
        """Return the question as a query on the wire."""
        if self.around is not None:
            count = NEIGHBOURS if self.neighbours is None else self.neighbours
            return {"around": {**self.around._asdict(), "before": count, "after": count}}
        filters = given(
            {
                "since_ms": self.since_ms,
                "until_ms": self.until_ms,
                "service": list(self.services),
                "level": list(self.levels),
                "topic": list(self.topics),
                "template": list(self.templates),
                "family": list(self.families),
                "fields": values_by_name(self.fields),
                "trace_id": self.trace_id,
                **self.excluded.filters(),
            }
        )
        wanted = {"text": self.text, "k": self.k, "mode": self.mode, "as": self.form, "expand": self.expand}
        return given({**wanted, "per_template": self.per_template, "per_family": self.per_family, "filters": filters})

    def advice(self) -> str:
        """Return in one sentence what to try when nothing was found."""
        names: dict[str, object] = {
            "--service": self.services,
            "--level": self.levels,
            "--topic": self.topics,
            "--template": self.templates,
            "--family": self.families,
        }
        names |= {"--field": self.fields, "--trace-id": self.trace_id, **self.excluded.options()}
        filters = [name for name, values in names.items() if values]
        is_bounded = self.since_ms is not None or self.until_ms is not None
        tries = [f"without {' or '.join(filters)}"] if filters else []
        tries += ["over a longer time (--since, --until)"] if is_bounded else []
        tries += ["by meaning (--mode dense)"] if self.mode == "words" else []
        return f"Try it {', or '.join(tries)}." if tries else "`vectail templates --since all` lists all templates."

    def _refuse_other_options(self) -> None:
        others = {
            "TEXT": self.text,
            "-k": self.k,
            "--mode": self.mode,
            "--as": self.form,
            "--expand": self.expand,
            "--per-template": self.per_template,
            "--per-family": self.per_family,
            "--since": self.since_ms,
            "--until": self.until_ms,
            "--service": self.services,
            "--level": self.levels,
            "--topic": self.topics,
            "--template": self.templates,
            "--family": self.families,
            "--field": self.fields,
            "--trace-id": self.trace_id,
            **self.excluded.options(),
        }
        for name, value in others.items():
            if value not in (None, ()):
                raise user_error(f"--around shows all lines around one: leave {name} out")


def check_span(since_ms: int | None, until_ms: int | None) -> None:
    """Raises CommandFailed if nothing can lie between the two."""
    if since_ms is not None and until_ms is not None and since_ms >= until_ms:
        raise user_error("--since is not before --until, so no line can match")


def read_coordinates(text: str) -> RecordCoordinates:
    """Read `logs/0@123`. Raises CommandFailed."""
    found = _COORDINATES.fullmatch(text.strip())
    if found is None:
        raise user_error(f"--around {text!r}: give topic, partition and offset as the hits show them: logs/0@123")
    return RecordCoordinates(found[1], int(found[2]), int(found[3]))

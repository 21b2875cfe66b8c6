"""`vectail counts`: how many lines there are, by time, template, family, service, level, topic and fields, as a worker answers."""

import time
from dataclasses import dataclass
from typing import Any, Self

from sinks.reading.tally import FIELD, FIELD_NAMES
from worker.cli.exclusions import NO_EXCLUSIONS, Exclusions
from worker.cli.exits import user_error
from worker.cli.filter_values import given, values_by_name
from worker.cli.question import check_span
from worker.cli.search import ask_worker, open_query_client
from worker.query import GROUPINGS
from worker.settings.tables import KafkaTable

_MOST_GROUPINGS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsQuestion:
    """What the user gave; None or empty: not given."""

    text: str | None = None
    by: tuple[str, ...] = ()
    buckets: int | None = None
    top: int | None = None
    mode: str | None = None
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
        for name in self.by:
            if name not in GROUPINGS and not (name.startswith(FIELD) and name != FIELD):
                raise user_error(f"--by {name!r}: give {', '.join(GROUPINGS)} or {FIELD}NAME")
        if len(self.by) > _MOST_GROUPINGS or len(set(self.by)) < len(self.by):
            raise user_error("--by: give one or two different groupings")
        if FIELD_NAMES in self.by and len(self.by) > 1:
            raise user_error(f"--by {FIELD_NAMES} counts the names of fields, by itself: leave the other --by out, or give {FIELD}NAME")
        if self.buckets is not None and self.by and "time" not in self.by:
            raise user_error("--buckets are of time: add --by time, or leave --by out")
        if self.mode is not None and self.text is None:
            raise user_error("--mode ranks by a text: leave it out, or say what to look for")
        check_span(self.since_ms, self.until_ms)
        return self

    def request(self) -> dict[str, Any]:
        """Return the question as a query on the wire."""
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
        wanted = {"text": self.text, "mode": self.mode, "by": list(self.by), "buckets": self.buckets, "top": self.top}
        return given({"as": "counts", **wanted, "filters": filters})


def count_once(kafka: KafkaTable, question: CountsQuestion, *, timeout_s: float) -> dict[str, Any]:
    """Ask once and return what `--json` prints and the screen shows. Raises CommandFailed."""
    started_s = time.monotonic()
    with open_query_client(kafka) as client:
        answer = ask_worker(client, question.request(), timeout_s=timeout_s)
    width = {"bucket_ms": answer["bucket_ms"]} if "bucket_ms" in answer else {}
    return {
        "text": question.text,
        "seconds": round(time.monotonic() - started_s, 4),
        "by": answer["by"],
        **width,
        "complete": answer["complete"],
        "counts": answer["counts"],
    }

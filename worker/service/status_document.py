"""What `/api/status` answers: this process at a glance. It reads what others record and waits for nothing."""

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Protocol

from consumers.text.redact import ALL, Redactor
from worker.asking.worker_answers import (
    AssignedJson,
    CanaryJson,
    ConditionJson,
    DependencyJson,
    EngineJson,
    FaultJson,
    SavedJson,
    SearchableJson,
    ServedModelJson,
    StatusJson,
    VerdictJson,
)
from worker.runtime.histogram import HistogramSnapshot
from worker.runtime.logs import recent_faults
from worker.runtime.process import vectail_version
from worker.runtime.surroundings import wall_ms
from worker.service.model_change import ModelChange
from worker.service.samples import RunningService
from worker.settings.masks_version import masks_version
from worker.watching.condition_watch import ConditionState, summary_of, text_for
from worker.watching.health import ENGINE_DOWN, HealthVerdict
from worker.watching.looks import bucket_counts, quantile

_SHORT_S: Final = 20.0
"""For rates: a look that is about so old is the other end."""
_LONG_S: Final = 600.0
"""For quantiles."""


class ChangingService(RunningService, Protocol):
    """A service whose index may change its model."""

    model_change: ModelChange


@cache
def worker_name() -> str:
    """Return what tells this process from the other workers: its machine and its number there."""
    return f"{socket.gethostname()}:{os.getpid()}"


def status_document(service: ChangingService) -> Callable[[Mapping[str, str]], StatusJson]:
    """Return the function that makes the document; to be called by one thread at a time."""
    redacted = _Redacted(Redactor((ALL, *service.settings.redact.rules)))

    def document(_params: Mapping[str, str]) -> StatusJson:
        status, pipeline = service.status, service.pipeline
        now_s, now_ms = time.monotonic(), wall_ms()

        def shown_ms(at_s: float | None) -> int | None:
            return None if at_s is None else round(now_ms - 1000 * (now_s - at_s))

        sink = status.index_counts.last()
        lines_per_s = status.conditions.rate("vectail_sink_lines_total", pipeline.indexing.store.tally.lines, now_s, window_s=_SHORT_S)
        return {
            "version": vectail_version(),
            "worker": worker_name(),
            "phase": status.health.phase(),
            "indexes": service.settings.kafka.index,
            "now_ms": round(now_ms),
            "uptime_s": round(now_s - status.started_s, 3),
            "ready": _verdict(status.health.ready()),
            "alive": _verdict(status.health.alive()),
            "searchable": _searchable(service),
            "canary": _canary(service),
            "engine": _engine(service, now_s),
            "rates": {"lines_per_s": None if lines_per_s is None else round(lines_per_s, 1)},
            "savings": _savings(service),
            "index": {
                "blocks": None if sink is None else sink.blocks,
                "templates": None if sink is None else sink.templates,
                "lines": None,
                "written_lines": pipeline.indexing.store.tally.lines,
            },
            "masks": masks_version(service.settings.mask),
            "dependencies": _dependencies(service, shown_ms),
            "assignments": _assignments(service),
            "errors": _errors(redacted, shown_ms),
            "conditions": [_condition(state, shown_ms) for state in status.conditions.states()],
            "served_models": _served_models(service),
            "index_models": _index_models(service),
        }

    return document


def _verdict(verdict: HealthVerdict) -> VerdictJson:
    return {"status": verdict.status, "checks": dict(verdict.checks)}


def _searchable(service: RunningService) -> SearchableJson | None:
    """Return the quantiles of the last ten minutes; of all time if no line came in them; None if none ever did."""
    seen = service.pipeline.indexing.store.tally.searchable.seen()
    before = dict(bucket_counts(service.status.conditions.first_buckets("vectail_searchable_seconds", window_s=_LONG_S)))
    lately = [(bound, count - before.get(float(f"{bound:g}"), 0.0)) for bound, count in seen.buckets]
    return _quantiles(lately, since_start=False) or _quantiles(seen.buckets, since_start=True)


def _quantiles(buckets: Iterable[tuple[float, float]], *, since_start: bool) -> SearchableJson | None:
    found = list(buckets)
    p50_s, p99_s = quantile(0.5, found), quantile(0.99, found)
    if p50_s is None or p99_s is None:
        return None
    return {"p50_s": round(p50_s, 3), "p99_s": round(p99_s, 3), "lines": int(found[-1][1]), "since_start": since_start}


def _canary(service: RunningService) -> CanaryJson | None:
    if service.connections.canary_producer is None:
        return None
    tally = service.status.canary.tally
    seconds: HistogramSnapshot = tally.seconds.seen()
    found = quantile(0.5, seconds.buckets), quantile(0.99, seconds.buckets)
    p50_s, p99_s = (None if one is None else round(one, 3) for one in found)
    return {"found": tally.results["found"], "lost": tally.results["lost"], "p50_s": p50_s, "p99_s": p99_s}


def _engine(service: RunningService, now_s: float) -> EngineJson:
    tally, engine = service.pipeline.embedder.tally, service.pipeline.guarded_engine
    share = service.status.conditions.rate("vectail_engine_busy_seconds_total", tally.seconds, now_s, window_s=_SHORT_S)
    model = service.pipeline.space.loaded
    return {
        "name": model.engine.name,
        "model": model.prepared.name,
        "is_up": engine.is_up,
        "busy_share": None if share is None else round(min(share, 1.0), 4),
        "templates": tally.templates,
        "tokens": tally.tokens,
        "restarts": engine.restarts,
    }


def _savings(service: RunningService) -> list[SavedJson]:
    outcomes = service.pipeline.indexing.ledger.outcomes()
    return [
        {
            "topic": topic,
            "lines": outcomes[topic]["indexed"] if topic in outcomes else 0,
            "chunks": one.chunks,
            "tokens": one.tokens_embedded + one.tokens_saved,
            "tokens_saved": one.tokens_saved,
            "saved_share": round(one.tokens_saved / max(one.tokens_embedded + one.tokens_saved, 1), 4),
        }
        for topic, one in sorted(service.pipeline.indexing.flights.savings().items())
    ]


def _dependencies(service: RunningService, shown_ms: Callable[[float | None], int | None]) -> list[DependencyJson]:
    engine = service.pipeline.guarded_engine
    found = [(probe.name, probe.error_line(), probe.away_since_s()) for probe in service.status.probes]
    found.append(("engine", "" if engine.is_up else ENGINE_DOWN, None if engine.is_up else engine.busy_since_s))
    return [
        {"name": name, "state": "away" if reason else "ok", "reason": reason, "since_ms": shown_ms(since_s) if reason else None}
        for name, reason, since_s in found
    ]


def _assignments(service: RunningService) -> list[AssignedJson]:
    kafka, pipeline = service.settings.kafka, service.pipeline
    owned = ((kafka.group, pipeline.indexing.ledger.owned()), (kafka.query_group, pipeline.querying.ledger.owned()))
    return [
        {"group": group, "topic": topic, "partition": partition} for group, partitions in owned for topic, partition in sorted(partitions)
    ]


def _errors(redacted: "_Redacted", shown_ms: Callable[[float | None], int | None]) -> list[FaultJson]:
    """Return the last warnings and errors, newest first; what looks like a secret is left out, whatever the settings say."""
    faults = recent_faults().newest_first()
    events = redacted.texts([one.event for one in faults])
    return [
        {"time_ms": shown_ms(one.last_s), "level": one.level, "event": event, "count": one.times}
        for one, event in zip(faults, events, strict=True)
    ]


class _Redacted:
    """Redacts each text once: a call of the redactor compiles all of its rules, which takes longer than the whole document.

    Thread: one at a time.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._known: dict[str, str] = {}

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Return these texts redacted; those that are not asked for again are forgotten."""
        new = [text for text in texts if text not in self._known]
        known = self._known | dict(zip(new, self._redactor.redact(new), strict=True))
        self._known = {text: known[text] for text in texts}
        return [known[text] for text in texts]


def _served_models(service: RunningService) -> list[ServedModelJson]:
    served = service.pipeline.served
    return [] if service.embeddings is None or served is None else service.embeddings.figures(served)


def _index_models(service: ChangingService) -> int:
    """Return how many models the index has, as the worker saw a second ago."""
    spaces = service.model_change.reindexer.spaces
    return 1 if spaces is None else len(spaces.views)


def _condition(state: ConditionState, shown_ms: Callable[[float | None], int | None]) -> ConditionJson:
    condition, worker = state.condition, worker_name()
    first = state.firing[0] if state.firing else None
    return {
        "name": condition.name,
        "severity": condition.severity,
        "state": "ok" if first is None else "firing",
        "summary": summary_of(state, worker),
        "what_to_do": "" if first is None else text_for(condition.description, first, worker),
        "look_at": "" if first is None else text_for(condition.runbook, first, worker),
        "since_ms": None if first is None else shown_ms(first.since_s),
    }

"""`vectail lag`: how far behind the log group is, and when it will have caught up.

One look tells no rate. What the worker of these settings has seen in the last minutes does, so it is asked as long as the own looks say too
little.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from consumers.record import Partition
from worker.cli.exits import CommandFailed
from worker.cli.offsets_screen import lag_lines, shown_state
from worker.cli.offsets_verb import open_positions
from worker.cli.output import print_json
from worker.cli.screen import Screen
from worker.inspecting.doctor_worker import ask_worker
from worker.runtime.wording import counted
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable
from worker.watching.group_lag import outlook_json
from worker.watching.group_offsets import ConsumerGroup, beyond_end, consumer_group
from worker.watching.group_positions import KafkaPositions
from worker.watching.lag_history import LagHistory
from worker.watching.partition_lag import Lag, LagSnapshot, courses_of, lag_by_partition, note_snapshot, take_snapshot, total_lag

_WORKER_S: Final = 3.0
_OUTLOOK: Final = ("outlook", "outlook_text", "caught_up_in_s")

_Show = Callable[[LagSnapshot], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LagOptions:
    """The options of `vectail lag`."""

    watch: bool
    interval_s: float
    queries: bool
    as_json: bool
    answer_s: float = 3.5
    """Limit for one answer from Kafka."""


def show_lag(settings: Settings, options: LagOptions, screen: Screen, stop: Event) -> None:
    """Look twice and show the difference; with `watch`, show look after look until `stop`. Raises CommandFailed."""
    kafka, group = settings.kafka, consumer_group(settings, queries=options.queries)
    history = LagHistory()
    with screen.live_lines() as draw:

        def show(now: LagSnapshot) -> None:
            lags = lag_by_partition(courses_of(history, group.name, now), now)
            note_snapshot(history, group.name, now)
            document = lag_document(group.name, now, lags, total_lag(lags))
            if document["total"]["outlook"] == "unknown":
                take_outlooks(document, ask_worker(settings.http, "/api/lag", timeout_s=_WORKER_S))
            print_json(document) if options.as_json else draw(lag_lines(document, remark_on(now, document["total"]["outlook"])))

        if options.watch:
            _watch(kafka, group, options, screen, show, stop)
        else:
            with open_positions(kafka, answer_s=options.answer_s) as positions:
                note_snapshot(history, group.name, _look(positions, group))
                stop.wait(options.interval_s)
                show(_look(positions, group))


def lag_document(group: str, now: LagSnapshot, lags: Mapping[Partition, Lag], total: Lag) -> dict[str, Any]:
    """Return what `--json` prints for one look."""
    partitions = [
        {
            "topic": place.partition.topic,
            "partition": place.partition.partition,
            "committed": place.committed,
            "end_offset": place.end_offset,
            "beyond_end": place.is_beyond_end,
            **_figures(lags[place.partition]),
        }
        for place in now.positions
    ]
    return {"group": group, "time": now.at_ms, "members": len(now.state.members), "partitions": partitions, "total": _figures(total)}


def take_outlooks(document: dict[str, Any], worker: Mapping[str, Any]) -> None:
    """Take the outlooks that a worker's `/api/lag` has of the same group, if it has any that are of now."""
    known = next((one for one in worker.get("groups") or () if one.get("group") == document["group"]), None)
    if known is None or worker.get("error") or any(name not in known for name in _OUTLOOK):
        return
    of_worker = {(one.get("topic"), one.get("partition")): one for one in known.get("partitions") or ()}
    for one in document["partitions"]:
        one.update({name: its[name] for name in _OUTLOOK if name in (its := of_worker.get((one["topic"], one["partition"]), {}))})
    document["total"].update({name: known[name] for name in _OUTLOOK})


def remark_on(now: LagSnapshot, outlook: str = "") -> str:
    """Return in words what the figures do not show."""
    never = sum(place.committed is None for place in now.positions)
    gone = sum(place.lost_records for place in now.positions)
    parts = [shown_state(now.state)]
    if never:
        where = "any partition" if never == len(now.positions) else f"{never} of {counted(len(now.positions), 'partition')}"
        parts.append(f"has never committed in {where}")
    if gone:
        parts.append(f"{counted(gone, 'record')} expired before indexing")
    if beyond := beyond_end(now.positions):
        parts.append(f"{beyond} (`vectail doctor` says what to do)")
    if outlook == "unknown":
        parts.append("what becomes of the lag takes half a minute of steady rates to tell (`--watch`)")
    return "; ".join(parts)


def _watch(kafka: KafkaTable, group: ConsumerGroup, options: LagOptions, screen: Screen, show: _Show, stop: Event) -> None:
    """Show look after look. A broker that goes away is reported once and waited for; one that is away at the start ends the verb."""
    was_there = is_away = False
    while not stop.is_set():
        try:
            with open_positions(kafka, answer_s=options.answer_s) as positions:
                while not stop.is_set():
                    show(_look(positions, group))
                    was_there, is_away = True, False
                    stop.wait(options.interval_s)
        except CommandFailed as failed:
            if not was_there:
                raise
            if not is_away:
                screen.warn(f"{failed}; looking again")
            is_away = True
            stop.wait(options.interval_s)


def _look(positions: KafkaPositions, group: ConsumerGroup) -> LagSnapshot:
    return take_snapshot(positions, group, at_s=time.monotonic(), at_ms=round(time.time() * 1000))


def _figures(lag: Lag) -> dict[str, object]:
    return {
        "lag_records": lag.records,
        "lag_s": None if lag.seconds is None else round(lag.seconds, 3),
        "rate": None if lag.rate is None else round(lag.rate, 3),
        "growth": None if lag.growth is None else round(lag.growth, 3),
        **outlook_json(lag.outlook),
    }

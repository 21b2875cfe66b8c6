"""`vectail offsets`: shows where a group stands, and moves it while it has no members. `run --from` moves the log group the same way."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import time
from typing import NamedTuple

from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.asking.moments import moment_ms
from worker.cli.absent_server import kafka_away
from worker.cli.exits import user_error
from worker.cli.offsets_screen import show_moves, show_positions
from worker.cli.output import is_confirmed
from worker.cli.screen import Screen
from worker.runtime.kafka_admin import BrokerAway
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable
from worker.watching.group_offsets import (
    GroupPosition,
    OffsetMove,
    Target,
    check_inactive,
    consumer_group,
    inner_offsets,
    plan_moves,
    read_positions,
    to_event_starts,
)
from worker.watching.group_positions import KafkaPositions


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions:
    """The options of `vectail offsets reset`; None: not given."""

    target: Target
    topic: str | None
    partition: int | None
    yes: bool
    may_ask: bool
    """Ask on the terminal unless `yes`."""

    def chooses(self, partition: Partition) -> bool:
        """Return whether the partition is to be moved."""
        return self.topic in (None, partition.topic) and self.partition in (None, partition.partition)


class ResetPlan(NamedTuple):
    """What a reset changes."""

    group: str
    moves: list[OffsetMove]
    not_asked: str
    """Why the index could not be asked for stored events that begin before the new offsets; empty: it was, or need not be."""

    @property
    def remark(self) -> str:
        """One line about what was not asked; empty if there is nothing to say."""
        if not self.not_asked:
            return ""
        return f"the index was not asked ({self.not_asked}): inside a stored event, the worker itself begins at the event's first record"


@contextmanager
def open_positions(kafka: KafkaTable, *, answer_s: float = 3.5) -> Iterator[KafkaPositions]:
    """Yield a client. Raises CommandFailed for what Kafka refuses or does not answer inside the block."""
    try:
        with KafkaPositions(kafka, answer_s=answer_s) as positions:
            yield positions
    except KafkaRefused as error:
        raise user_error(error) from error
    except BrokerAway as error:
        raise kafka_away(kafka.bootstrap_servers, error) from error


def read_target(text: str, *, option: str) -> Target:
    """Read `earliest`, `latest`, an offset, a span before now or a time. Raises CommandFailed."""
    word = text.strip()
    if word == "earliest":
        return Target("earliest")
    if word == "latest":
        return Target("latest")
    if word.isascii() and word.isdecimal():
        return Target("offset", int(word))
    try:
        return Target("time", max(moment_ms(word, round(time() * 1000)), 0))
    except ValueError:
        raise user_error(
            f"{option} {text!r}: give earliest, latest, an offset, a span such as 90s or 1h, or a time such as 2026-01-31T12:00"
        ) from None


def show_offsets(settings: Settings, screen: Screen, *, queries: bool) -> dict[str, object]:
    """Show where the group stands and return what `--json` prints. Raises CommandFailed."""
    group = consumer_group(settings, queries=queries)
    with open_positions(settings.kafka) as positions:
        places = read_positions(positions, group)
        state = positions.state(group.name)
    show_positions(screen, group.name, state, places)
    return {
        "group": group.name,
        "state": state.state,
        "members": [
            {
                "client": member.client,
                "host": member.host,
                "partitions": [f"{assigned.topic}/{assigned.partition}" for assigned in member.partitions],
            }
            for member in state.members
        ],
        "partitions": [_document(place) for place in places],
        "lag_records": sum(place.lag_records for place in places),
    }


def reset_offsets(settings: Settings, options: ResetOptions, screen: Screen, *, queries: bool) -> dict[str, object]:
    """Show what would change, ask, change it, and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    with open_positions(settings.kafka) as positions:
        plan = plan_reset(settings, positions, options.target, options.chooses, queries=queries)
        show_moves(screen, plan.group, plan.moves)
        if plan.remark:
            screen.say(plan.remark)
        is_wanted = options.yes or (options.may_ask and is_confirmed("Change it?"))
        if is_wanted:
            positions.commit(plan.group, {move.position.partition: move.after for move in plan.moves})
    if is_wanted:
        screen.say("done")
    moved = [
        {
            "topic": move.position.partition.topic,
            "partition": move.position.partition.partition,
            "from": move.position.committed,
            "to": move.after,
            "again_records": move.again_records,
            "skipped_records": move.skipped_records,
            "inside_event": None if move.inside_event is None else move.inside_event._asdict(),
        }
        for move in plan.moves
    ]
    return {"group": plan.group, "changed": is_wanted, "partitions": moved, "index_not_asked": plan.not_asked or None}


def plan_reset(
    settings: Settings,
    positions: KafkaPositions,
    target: Target,
    chosen: Callable[[Partition], bool] = lambda _partition: True,
    *,
    queries: bool = False,
) -> ResetPlan:
    """Return what the reset changes; the log group is not moved inside a stored event. Raises GroupActive, KafkaRefused, BrokerAway."""
    from worker.inspecting.event_starts import IndexNotAsked, find_event_starts  # takes a second to import

    group = consumer_group(settings, queries=queries)
    check_inactive(group.name, positions.state(group.name))
    moves = plan_moves(positions, read_positions(positions, group, chosen), target)
    not_asked = ""
    if not queries and (offsets := inner_offsets(moves)):
        try:
            moves = to_event_starts(moves, find_event_starts(settings, offsets, positions.epoch))
        except IndexNotAsked as error:
            not_asked = str(error)
    return ResetPlan(group.name, moves, not_asked)


def _document(place: GroupPosition) -> dict[str, object]:
    return {
        "topic": place.partition.topic,
        "partition": place.partition.partition,
        "committed": place.committed,
        "first_offset": place.first_offset,
        "end_offset": place.end_offset,
        "lag_records": place.lag_records,
        "lost_records": place.lost_records,
    }

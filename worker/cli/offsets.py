"""`vectail offsets`: where a group stands, and moving it while nobody reads. `run --from` moves the log group the same way."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import time
from typing import Any

import typer

from consumers.record import Partition
from worker.cli.exits import CommandFailed, must_change, problem
from worker.cli.since import since_ms
from worker.groups.kafka import ANSWER_S, KafkaPositions
from worker.groups.offsets import GroupPosition, GroupTopics, Move, Target, check_at_rest, group_topics, look, plan_moves
from worker.groups.shown import Positions
from worker.runtime.kafka_admin import BrokerAway, KafkaRefused
from worker.settings.tables import KafkaTable


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOptions:
    """What the user asked for.

    Thread: main.
    """

    target: Target
    topic: str | None
    partition: int | None
    yes: bool
    as_json: bool

    def chooses(self, partition: Partition) -> bool:
        """Say whether a partition is to be moved."""
        return self.topic in (None, partition.topic) and self.partition in (None, partition.partition)


@contextmanager
def open_positions(kafka: KafkaTable, *, answer_s: float = ANSWER_S) -> Iterator[KafkaPositions]:
    """Lend a client; what Kafka refuses or does not answer inside comes out as CommandFailed."""
    try:
        with KafkaPositions(kafka, answer_s=answer_s) as positions:
            yield positions
    except KafkaRefused as error:
        raise must_change(error) from error
    except BrokerAway as error:
        raise problem(f"kafka at {kafka.bootstrap_servers} is away ({error})") from error


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
        begin_ms = since_ms(word, now_ms=round(time() * 1000))
    except CommandFailed:
        begin_ms = None
    if begin_ms is None:
        raise must_change(
            f"{option} {text!r}: give earliest, latest, an offset, a span such as 90s or 1h, or a time such as 2026-01-31T12:00"
        )
    return Target("time", max(begin_ms, 0))


def show_offsets(kafka: KafkaTable, *, queries: bool, as_json: bool) -> dict[str, Any]:
    """Show where the group stands; returns what `--json` prints. Raises CommandFailed."""
    readers = group_topics(kafka, queries=queries)
    with open_positions(kafka) as positions:
        places = look(positions, readers)
        state = positions.state(readers.group)
    if not as_json:
        Positions().places(readers.group, state, places)
    return {
        "group": readers.group,
        "state": state.state,
        "members": [
            {"client": one.client, "host": one.host, "partitions": [f"{part.topic}/{part.partition}" for part in one.partitions]}
            for one in state.members
        ],
        "partitions": [_document(place) for place in places],
        "lag_records": sum(place.lag_records for place in places),
    }


def reset_offsets(kafka: KafkaTable, options: ResetOptions, *, queries: bool) -> dict[str, Any]:
    """Show what would change, ask, change it; returns what `--json` prints. Raises CommandFailed."""
    readers = group_topics(kafka, queries=queries)
    shown = Positions()
    with open_positions(kafka) as positions:
        moves = planned(positions, readers, options.target, options.chooses)
        if not options.as_json:
            shown.moves(readers.group, moves)
        is_wanted = options.yes or (not options.as_json and _confirmed())
        if is_wanted:
            positions.commit(readers.group, {move.place.partition: move.after for move in moves})
    if is_wanted and not options.as_json:
        shown.say("done")
    moved = [
        {
            "topic": move.place.partition.topic,
            "partition": move.place.partition.partition,
            "from": move.place.committed,
            "to": move.after,
            "again_records": move.again_records,
            "skipped_records": move.skipped_records,
        }
        for move in moves
    ]
    return {"group": readers.group, "changed": is_wanted, "partitions": moved}


def planned(
    positions: KafkaPositions, readers: GroupTopics, target: Target, chosen: Callable[[Partition], bool] = lambda _partition: True
) -> list[Move]:
    """Return what the reset changes. Raises GroupActive, KafkaRefused, BrokerAway."""
    check_at_rest(readers.group, positions.state(readers.group))
    return plan_moves(positions, look(positions, readers, chosen), target)


def _confirmed() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return typer.confirm("Change it?", default=False)


def _document(place: GroupPosition) -> dict[str, Any]:
    return {
        "topic": place.partition.topic,
        "partition": place.partition.partition,
        "committed": place.committed,
        "first_offset": place.first_offset,
        "end_offset": place.end_offset,
        "lag_records": place.lag_records,
        "lost_records": place.lost_records,
    }

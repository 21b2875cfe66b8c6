"""Queries are answered whatever the logs wait for: the two share the engine and the index, and nothing else.

Each test runs a whole service on the embedded broker, holds up the lines on their way, and asks a query meanwhile.
"""

import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer

from tests.fakes.sink import FakeSink
from tests.worker.running import PARTITIONS, WAIT_S, Ended, World, lines_of, wait_until
from worker.service.shutdown import Ending
from worker.settings.service_tables import LimitTable

CAP = 20
FIRST = "disk failed after 1 s"


@contextmanager
def writes_held(sink: FakeSink) -> Iterator[threading.Event]:
    """Block every write meanwhile; yields an event that is set once one has begun."""
    begun, free = threading.Event(), threading.Event()

    def hold(_rows: object) -> None:
        begun.set()
        assert free.wait(WAIT_S)

    sink.on_write = hold
    try:
        yield begun
    finally:
        sink.on_write = lambda _rows: None
        free.set()


def is_revoking(running: Ended) -> bool:
    """Whether the log poller is inside `on_revoke`."""
    (_, poller), _ = running.service.pollers
    frame = sys._current_frames().get(poller.ident or 0)  # noqa: SLF001 - documented, for debuggers
    return any(one.f_code.co_name == "on_revoke" for one, _ in traceback.walk_stack(frame))


def with_one_line(world: World) -> Ended:
    """Start a service that may hold `CAP` records and has one line in its index."""
    running = world.start(world.settings(limits=LimitTable(max_in_flight_records=CAP, drain_timeout_s=30.0))).opened()
    world.send([FIRST])
    wait_until(lambda: world.stored() == [FIRST], "the first line")
    return running


def found(world: World, text: str) -> list[str]:
    (answer,) = world.ask({"text": text, "k": 1})
    return [hit["text"] for hit in answer["hits"]]


def test_while_the_log_group_rebalances_and_waits_for_its_open_lines(world: World) -> None:
    running = with_one_line(world)
    with writes_held(world.fake_sink) as begun:
        for partition in range(PARTITIONS):  # whichever goes away, lines of it are open
            world.send(lines_of(CAP // PARTITIONS), partition=partition)
        assert begun.wait(WAIT_S)
        other = Consumer(
            {
                "bootstrap.servers": world.broker.bootstrap_servers,
                "log_level": 0,
                "group.id": world.kafka.group,
                "group.protocol": "consumer",
            }
        )
        other.subscribe([world.topic])
        wait_until(lambda: other.poll(0.05) or is_revoking(running), "a rebalance")
        assert found(world, "disk failed") == [FIRST]
        assert is_revoking(running), "the rebalance was over before the query was answered"
    other.close()
    assert running.stop() == Ending.DRAINED

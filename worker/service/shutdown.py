"""How a service ends, in order and in time: drain, commit, leave the groups, close every connection.

Theory of operation
1. The whole shutdown has one deadline. Whatever is unreachable, `drain` returns before it and `close` at most LEAVE_S after it.
2. Drain: intake stops, but polling goes on. Prepare, embed, then store and answer end in that order; a lane is closed only after the
   stages before it have ended, so nothing is left in it. Then come the last dead letters and replies, and the last commit. At the
   deadline it stops anyway: what is settled is committed, the rest will be read again.
3. A thread that hangs in a commit or a close is abandoned: all threads are daemons, and `worker.__main__` ends the process.
"""

import threading
import time
from collections.abc import Sequence
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Protocol

from consumers.poller import Poller
from worker.connections import Connections
from worker.embedding.cache.redis_cache import RedisCache
from worker.runtime.sink_opener import SinkOpener
from worker.runtime.stage import Stage
from worker.service.pipeline import Pipeline, StageGroup
from worker.service.status import Status

if TYPE_CHECKING:
    from worker.service.embedding_service import EmbeddingService
    from worker.serving.server import HttpServer


class Ending(Enum):
    """How a service ended."""

    DRAINED = auto()
    """Every record that was read is committed."""
    UNDRAINED = auto()
    """The drain took too long, or a partition was revoked during it; what is not committed is read again."""
    CRASHED = auto()
    """It crashed or reached a limit."""


LEAVE_S = 1.0
"""How far past its deadline a service may end."""
_COMMIT_S = 2.0
"""Reserved for the last commits of a drain, but never more than a tenth of its time."""
_LOOK_S = 0.2
_COMMITTED_S = 0.05
_SHARE_S = 2.0
"""For vectors that wait to be written to Redis; losing them costs only their computation."""


class Endable(Protocol):
    """What ends with a service; `worker.service.service.Service` is the only one."""

    opener: SinkOpener
    pollers: Sequence[tuple[Poller, Stage]]
    groups: Sequence[StageGroup]
    """In the order in which they end."""
    pipeline: Pipeline
    connections: Connections
    redis: RedisCache | None
    http: "HttpServer | None"
    embeddings: "EmbeddingService | None"
    abandon: threading.Event
    """Set once what is in hand is given up; it will be read again."""
    status: Status

    @property
    def has_crashed(self) -> bool:
        """Whether an exception has ended the service."""

    def on_crash(self, stage: str, error: Exception) -> None:
        """Take an exception that a stage did not expect."""


def drain(service: Endable, until_s: float) -> bool:
    """Finish what was admitted, or give up at the deadline, and leave the groups; False if anything is left to be read again."""
    for poller, _ in service.pollers:
        poller.stop_intake()
    if service.http is not None:
        service.http.stop_intake()
    work_until_s = until_s - min(_COMMIT_S, _left_s(until_s) / 10)
    drained = not service.has_crashed and _end_stages(service, work_until_s) and _commit_all(service, work_until_s)
    if not drained:
        _give_up(service)
    for poller, _ in service.pollers:
        poller.finish(commit=True)
    for _, stage in service.pollers:
        stage.join(_left_s(until_s))
    return drained


def close(service: Endable, until_s: float) -> None:
    """Close every connection; one that does not close in time is abandoned."""
    _give_up(service)
    closing = Stage("close", partial(_close, service, until_s), service.on_crash)
    closing.start()
    closing.join(_left_s(until_s + LEAVE_S))


def _end_stages(service: Endable, until_s: float) -> bool:
    """End the stages in order; False when the deadline or a crash comes first."""
    for poller, _ in service.pollers:
        if not poller.intake_ended.wait(_left_s(until_s)):
            return False
    for group in service.groups:
        for lane in group.inlets:
            lane.close()
        for stage in group.stages:
            while stage.is_alive() and not service.has_crashed and _left_s(until_s) > 0:
                stage.join(min(_left_s(until_s), _LOOK_S))
            if stage.is_alive() or service.has_crashed:
                return False
    return True


def _commit_all(service: Endable, until_s: float) -> bool:
    """Wait for the last dead letters and replies, and until everything is committed; False if it is not, or after a crash."""
    ledgers = (service.pipeline.indexing.ledger, service.pipeline.querying.ledger)
    if not all(ledger.wait_until_settled(ledger.owned(), _left_s(until_s)) for ledger in ledgers):
        return False
    pollers = [poller for poller, _ in service.pollers]
    # A commit that is refused now may be accepted at the next tick; a partition that was lost has only the commit already sent.
    while any(ledger.committable() for ledger in ledgers) or any(poller.commits.given_up for poller in pollers):
        is_hopeless = any(None in poller.commits.given_up.values() for poller in pollers)
        if is_hopeless or service.has_crashed or _left_s(until_s) <= 0:
            return False
        service.abandon.wait(_COMMITTED_S)
    return True


def _give_up(service: Endable) -> None:
    service.abandon.set()
    service.pipeline.abandon()


def _close(service: Endable, until_s: float) -> None:
    """Wait for the stages first: they still use what is closed after them."""
    stages = [*(stage for group in service.groups for stage in group.stages), service.opener.stage]
    started = [stage for stage in stages if stage.ident is not None]
    for stage in started:
        stage.join(_left_s(until_s))
    late_s = until_s + LEAVE_S
    service.status.stop()
    if service.http is not None:
        service.http.close(_left_s(late_s))
    if service.embeddings is not None:
        service.embeddings.close(_left_s(late_s))
    if not any(stage.is_alive() for stage in started):
        service.connections.sink.close()
        service.pipeline.close()
    for producer in service.connections.producers:
        producer.close(_left_s(late_s))
    if service.connections.tracing is not None:
        service.connections.tracing.close(min(_left_s(late_s), _SHARE_S))
    if service.redis is not None:
        service.redis.close(0.0 if service.has_crashed else min(_left_s(late_s), _SHARE_S))


def _left_s(until_s: float) -> float:
    return max(until_s - time.monotonic(), 0.0)

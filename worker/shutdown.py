"""The end of a service, in order and in time: drain, commit, leave the groups, close what it stands on.

Theory of operation
1. All of it has one deadline. Whatever is away, `drain` has returned before it, and `close` at most LEAVE_S after it.
2. Drain: intake stops but polling goes on; prepare, embed, then store and answer end in that order, each lane closed only when the
   stage before it has ended, so nothing is left behind; last dead letters and replies; last commit. Short of the deadline it stops
   all the same: what is settled is committed, the rest is read again.
3. Who hangs is left behind, be it a poller in its commit or a client in its close: every thread is a daemon, and
   `worker.__main__` ends the process beside them.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from consumers.poller import Poller
from worker.connections import Connections
from worker.embedding.cache.redis_cache import RedisCache
from worker.observability.status import Status
from worker.pipeline import Pipeline, StageGroup
from worker.runtime.stage import Crash, Stage

if TYPE_CHECKING:
    from worker.http.server import HttpServer

LEAVE_S = 1.0
"""How far past its deadline a service may end."""
_COMMIT_S = 2.0
"""What a drain keeps for its last commits, though never more than a tenth of its time."""
_LOOK_S = 0.2
_COMMITTED_S = 0.05
_SHARE_S = 2.0
"""For vectors that wait to be written to Redis; they would only be computed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """What must end, in the order in which it ends.

    Thread: main.
    """

    opening: Stage
    pollers: Sequence[tuple[Poller, Stage]]
    groups: Sequence[StageGroup]
    pipeline: Pipeline
    outside: Connections
    redis: RedisCache | None
    http: "HttpServer | None"
    status: Status
    abandon: threading.Event
    """Set when what is left in hand shall be let go."""
    has_crashed: Callable[[], bool]
    on_crash: Crash

    def drain(self, until_s: float) -> bool:
        """Drain, or give up, and leave the groups; False when something is left that will be read again."""
        for poller, _ in self.pollers:
            poller.stop_intake()
        if self.http is not None:
            self.http.stop_intake()
        work_until_s = until_s - min(_COMMIT_S, _left_s(until_s) / 10)
        drained = not self.has_crashed() and self._end_stages(work_until_s) and self._settle(work_until_s)
        if not drained:
            self._let_go()
        for poller, _ in self.pollers:
            poller.finish(commit=True)
        for _, stage in self.pollers:
            stage.join(_left_s(until_s))
        return drained

    def close(self, until_s: float) -> None:
        """Close everything outside; what does not close in time is left to itself."""
        self._let_go()
        closing = Stage("close", partial(self._close, until_s), self.on_crash)
        closing.start()
        closing.join(_left_s(until_s + LEAVE_S))

    def _end_stages(self, until_s: float) -> bool:
        """End the stages in order; False when the deadline or a crash came first."""
        for poller, _ in self.pollers:
            if not poller.intake_ended.wait(_left_s(until_s)):
                return False
        for group in self.groups:
            for lane in group.inlets:
                lane.close()
            for stage in group.stages:
                while stage.is_alive() and not self.has_crashed() and _left_s(until_s) > 0:
                    stage.join(min(_left_s(until_s), _LOOK_S))
                if stage.is_alive() or self.has_crashed():
                    return False
        return True

    def _settle(self, until_s: float) -> bool:
        """Wait for the last dead letters and replies, and until all of it is committed; False if it is not, or a crash came first."""
        ledgers = (self.pipeline.log_ledger, self.pipeline.query_ledger)
        if not all(ledger.wait_until_settled(ledger.owned(), _left_s(until_s)) for ledger in ledgers):
            return False
        pollers = [poller for poller, _ in self.pollers]
        # A commit that is refused now may be accepted at the next tick; a partition that is gone has only the one that was sent.
        while any(ledger.committable() for ledger in ledgers) or any(poller.given_up for poller in pollers):
            is_hopeless = any(None in poller.given_up.values() for poller in pollers)
            if is_hopeless or self.has_crashed() or _left_s(until_s) <= 0:
                return False
            self.abandon.wait(_COMMITTED_S)
        return True

    def _let_go(self) -> None:
        self.abandon.set()
        self.pipeline.abandon()

    def _close(self, until_s: float) -> None:
        """Wait for the stages first, because they still use what is closed after them."""
        started = [stage for group in self.groups for stage in group.stages if stage.ident is not None]
        started += [self.opening] if self.opening.ident is not None else []
        for stage in started:
            stage.join(_left_s(until_s))
        late_s = until_s + LEAVE_S
        self.status.stop()
        if self.http is not None:
            self.http.close(_left_s(late_s))
        if not any(stage.is_alive() for stage in started):
            self.outside.sink.close()
            self.pipeline.close()
        self.outside.letter_producer.close(_left_s(late_s))
        self.outside.reply_producer.close(_left_s(late_s))
        if self.outside.canary_producer is not None:
            self.outside.canary_producer.close(_left_s(late_s))
        if self.redis is not None:
            self.redis.close(0.0 if self.has_crashed() else min(_left_s(late_s), _SHARE_S))


def _left_s(until_s: float) -> float:
    return max(until_s - time.monotonic(), 0.0)

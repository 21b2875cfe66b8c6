"""The time that dates the blocks of a local folder and lets them expire: only what was seen to pass makes a block older.

A wall clock may be wrong for minutes or days: after a boot without a battery, on a machine that was resumed, before NTP has answered.
`sinks.milvus.index_clock` asks here with both clocks at hand. Pure but for `read_clocks`.

Theory of operation. L is the retention, S (`slack_ms`) a tenth of it, at most a day; without a retention, a day.
1. *Index time* counts milliseconds. Where the wall clock was always right it is the time since 1970. A block bears the index time at which
   it was written (`written_ms`), and goes once it is older than L + S.
2. While a process runs, index time follows the wall clock as long as that agrees with the monotonic clock to within S from one look to the
   next. Otherwise the wall clock was set, and index time goes on by what the monotonic clock says.
3. Once a minute a *mark* is stored: index time and wall clock of one moment. The next process adds what has passed since the mark by the
   wall clock. If that is more than S, in either direction, a pause cannot be told from a clock that was set, and it adds nothing.
4. Without a mark (an index of an earlier version, or a first process that ended in its first minute) index time begins at the wall clock
   if that is between the date of the oldest block and S after the newest one, else at the newest date.

So a step of more than S makes no block older, whenever it comes, once or often, in a process or between two. Smaller errors are followed
there and back: while they stay within S of each other, the S in rule 1 pays for them. The price: a pause of more than S does not count, and
what is stored lives longer by as much.

Not taken: to wait until the wall clock has been steady, and then to believe it. A machine that is offline for longer than that believes a
wrong clock, and to the next process what was written in 1970 looks old. To date old blocks anew: thousands of heads would be rewritten.
"""

import time
from typing import NamedTuple

_DAY_MS = 86_400_000


class Clocks(NamedTuple):
    """Both clocks at one moment.

    Thread: any.
    """

    monotonic_s: float
    wall_ms: float
    """Milliseconds since 1970."""


def read_clocks() -> Clocks:
    """Read the clocks of this machine."""
    return Clocks(time.monotonic(), time.time() * 1000)


class Moment(NamedTuple):
    """Index time, and the clocks at that moment.

    Thread: any.
    """

    index_ms: float
    clocks: Clocks
    uncounted_ms: float = 0.0
    """What has passed by the wall clock since the moment before, where that does not count: the clock was set, or the pause was long."""

    @property
    def mark(self) -> str:
        """What is stored of it."""
        return f"{round(self.index_ms)}/{round(self.clocks.wall_ms)}"


class Dates(NamedTuple):
    """Of the blocks that are stored, in index time.

    Thread: any.
    """

    oldest_ms: int
    newest_ms: int


def slack_ms(retention_s: float | None) -> float:
    """Return S: how much longer than its retention a line may be stored, and how far the clocks may disagree."""
    return _DAY_MS if retention_s is None else min(retention_s * 100, _DAY_MS)


def first_moment(mark: str, dates: Dates | None, now: Clocks, slack: float) -> Moment:
    """Begin a process; `mark` is the last one, "" without any, and `dates` is None without blocks."""
    index, _, wall = mark.partition("/")
    if index.isdecimal() and wall.isdecimal():
        passed_ms = now.wall_ms - int(wall)
        return Moment(int(index) + passed_ms, now) if abs(passed_ms) <= slack else Moment(int(index), now, passed_ms)
    if dates is None or dates.oldest_ms <= now.wall_ms <= dates.newest_ms + slack:
        return Moment(now.wall_ms, now)
    return Moment(dates.newest_ms, now, now.wall_ms - dates.newest_ms)


def next_moment(last: Moment, now: Clocks, slack: float) -> Moment:
    """Go on from the last look to this one."""
    passed_ms = 1000 * (now.monotonic_s - last.clocks.monotonic_s)
    set_ms = now.wall_ms - last.clocks.wall_ms - passed_ms
    if abs(set_ms) <= slack:
        return Moment(last.index_ms + passed_ms + set_ms, now)
    return Moment(last.index_ms + passed_ms, now, set_ms)


def expired_before_ms(index_ms: float, retention_s: float) -> int:
    """Return the index time before which a block was written that goes now."""
    return round(index_ms - 1000 * retention_s - slack_ms(retention_s))

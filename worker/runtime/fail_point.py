"""Fail points: fault tests end the process at named moments, as a power cut would.

`worker.settings` reads which one from a variable of the tests; without it every point is a no-op. The stages get only the callable and
pass a point once per list, never once per record.
"""

import itertools
import os
import re
import time
from collections.abc import Callable
from typing import Final

KILLED = 137
"""Exit status of a process that SIGKILL ended."""

POINTS: Final = (
    "polled",  # records have receipts; no stage has seen them
    "resume_read",  # what is stored of a partition was read back; its run has not begun
    "decoded",  # records are split into chunks that their receipts expect; nothing is passed on
    "cache_read",  # all cache levels and the index have been asked
    "cache_written",  # vectors are in memory and queued for Redis
    "engine_asked",  # a batch is formed and started
    "engine_answered",  # its vectors are back and not yet passed on
    "before_templates",
    "after_templates",  # acknowledged, not yet remembered as known
    "landed",  # templates are known; the lines that waited for them are not written
    "closed",  # blocks have numbers; none is sent
    "before_blocks",
    "after_blocks",  # acknowledged, not settled
    "before_merged",  # a merged block is about to be written
    "after_merged",  # acknowledged; its sources are there too
    "before_inner_delete",
    "after_inner_delete",  # acknowledged, not forgotten
    "before_commit",
    "after_commit",  # accepted, not recorded
    "revoke",  # partitions are being revoked; nothing is committed for them yet
    "letter_sent",  # the client has the dead letter, the broker has not acknowledged it
    "letter_acknowledged",  # the broker has it, its record is not settled
)
"""Every fail point of the stream, in the order in which a record passes them."""
REINDEX_POINTS: Final = (
    "reindex_start",
    "reindex_created",  # the second view is there, and the index does not know it yet
    "reindex_begun",
    "reindex_opened",  # a worker has loaded the second view's model, whoever fills
    "reindex_fill",
    "reindex_filled",
    "reindex_judged",
    "reindex_preferred",  # the index prefers the new view, this worker still asks the old one
    "reindex_gone_over",  # a worker asks the preferred view now, whoever filled it
    "reindex_follow",
    "reindex_remove",
    "reindex_removed",  # the old view is gone, and the index does not know it yet
)
"""Those of a change of the model."""


class UnknownFailPoint(Exception):
    """The text names no fail point; one line."""


def fail_point(text: str) -> Callable[[str], None]:
    """Return `at(point)`, a no-op for an empty text.

    `POINT:N` ends the process without any clean-up when it passes that point for the N-th time. `POINT:N:SECONDS` also makes the thread
    sleep each time, so that a test sees what other threads do too early. Raises UnknownFailPoint.
    """
    if not text:
        return _pass_by
    parsed = re.fullmatch(r"(\w+):([1-9]\d*)(?::(\d+))?", text)
    if parsed is None:
        raise UnknownFailPoint(f"{text!r} is not POINT:N or POINT:N:SECONDS")
    name, last, sleep_s, passes = parsed[1], int(parsed[2]), int(parsed[3] or 0), itertools.count(1)
    if name not in (*POINTS, *REINDEX_POINTS):
        raise UnknownFailPoint(f"there is no point {name!r}; there are {', '.join((*POINTS, *REINDEX_POINTS))}")

    def at(point: str) -> None:
        if point != name:
            return
        time.sleep(sleep_s)
        if next(passes) == last:
            os._exit(KILLED)

    return at


def _pass_by(_point: str) -> None:
    """Nothing happens at any point."""

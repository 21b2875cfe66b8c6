"""Fail points: the fault tests end the process at named moments, as a power cut would.

A no-op unless the setting `fail_point` is `POINT:N` or `POINT:N:SECONDS`; the leaves get only the callable, and pass a point once
a list, never once a record. With seconds, the thread stands still for so long at every passing, while the others go on: what they
do too early is then seen.
"""

import itertools
import os
import re
import time
from collections.abc import Callable
from typing import Final

from worker.settings.settings import SettingsError

KILLED = 137
"""Exit status of a process that SIGKILL ended."""

POINTS: Final = (
    "polled",  # records have their receipts, nobody else knows them
    "decoded",  # records are chunks, expected by their receipts; nothing is sent on
    "cache_read",  # all levels were asked, the index too
    "cache_written",  # vectors are in memory, and on their way to Redis
    "engine_asked",  # a batch is formed and begun
    "engine_answered",  # its vectors are there and nobody has them
    "before_templates",
    "after_templates",  # acknowledged, and not yet known
    "landed",  # templates are known, none of the lines that waited for them is written
    "before_upsert",  # of lines
    "after_upsert",  # acknowledged, and not settled
    "before_commit",
    "after_commit",  # accepted, and not noted
    "revoke",  # partitions are being taken away, nothing is committed for them yet
    "letter_sent",  # a dead letter is with the client, its acknowledgement is not
    "letter_acknowledged",  # the broker has it, its record is not settled
)
"""Every point there is, in the order in which a record meets them."""


def fail_point(setting: str) -> Callable[[str], None]:
    """Return `at(point)`: ends the process without any clean-up at the N-th passing of the point that the setting names.

    Raises SettingsError for a setting that is not understood, or a point that there is not.
    """
    if not setting:
        return _pass_by
    understood = re.fullmatch(r"(\w+):(\d+)(?::(\d+))?", setting)
    if understood is None:
        raise SettingsError(f"setting fail_point: {setting!r} is not POINT:N or POINT:N:SECONDS")
    name, last, stand_s, passings = understood[1], int(understood[2]), int(understood[3] or 0), itertools.count(1)
    if name not in POINTS:
        raise SettingsError(f"setting fail_point: there is no point {name!r}; there are {', '.join(POINTS)}")

    def at(point: str) -> None:
        if point != name:
            return
        time.sleep(stand_s)
        if next(passings) == last:
            os._exit(KILLED)

    return at


def _pass_by(_point: str) -> None:
    """Nothing happens at any point."""

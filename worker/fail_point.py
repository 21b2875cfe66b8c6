"""Fail points: the fault tests end the process at named moments, as a power cut would.

A no-op unless the setting `fail_point` is `POINT:N` or `POINT:N:SECONDS`; the leaves get only the callable. With seconds, the
thread stands still for so long at every passing, while the others go on: what they do too early is then seen.
"""

import itertools
import os
import re
import time
from collections.abc import Callable

from worker.settings import SettingsError

KILLED = 137
"""Exit status of a process that SIGKILL ended."""


def fail_point(setting: str) -> Callable[[str], None]:
    """Return `at(point)`: ends the process without any clean-up at the N-th passing of the point that the setting names.

    Raises SettingsError for a setting that is not understood.
    """
    if not setting:
        return lambda _point: None
    understood = re.fullmatch(r"(\w+):(\d+)(?::(\d+))?", setting)
    if understood is None:
        raise SettingsError(f"setting fail_point: {setting!r} is not POINT:N or POINT:N:SECONDS")
    name, last, stand_s, passings = understood[1], int(understood[2]), int(understood[3] or 0), itertools.count(1)

    def at(point: str) -> None:
        if point != name:
            return
        time.sleep(stand_s)
        if next(passings) == last:
            os._exit(KILLED)

    return at

"""Fail points: the fault tests end the process at named moments, as a power cut would.

A no-op unless the setting `fail_point` is `POINT:N`; the leaves get only the callable.
"""

import itertools
import os
from collections.abc import Callable

from worker.settings import SettingsError

KILLED = 137
"""Exit status of a process that SIGKILL ended."""


def fail_point(setting: str) -> Callable[[str], None]:
    """Return `at(point)`: ends the process without any clean-up at the N-th passing of the point that the setting names."""
    if not setting:
        return lambda _point: None
    name, _, times = setting.partition(":")
    if not times.isdecimal():
        raise SettingsError(f"setting fail_point: {setting!r} is not POINT:N")
    last, passings = int(times), itertools.count(1)

    def at(point: str) -> None:
        if point == name and next(passings) == last:
            os._exit(KILLED)

    return at

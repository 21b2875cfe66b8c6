"""In which order tests run, and which stay in one process of a run: single tests are handed out, wherever a process is free.

Tests of one group stay together. A group is a file whose tests share a fixture of their module, or the tests of a server that they stop.
"""

from itertools import groupby
from random import Random

import pytest

OWN_KAFKA = "own_kafka"
"""The group of the tests that stop or kill a broker: all of a process have one."""


def keep_together(items: list[pytest.Item]) -> None:
    """Mark the tests that form a group."""
    for item in items:
        if OWN_KAFKA in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(OWN_KAFKA))
        elif _shares_with_its_file(item):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle the files, and the tests of each: what a file shares is made once."""
    random = Random(seed)
    files = [list(some) for _, some in groupby(items, lambda item: item.path)]
    random.shuffle(files)
    for some in files:
        random.shuffle(some)
    items[:] = [item for some in files for item in some]


def _shares_with_its_file(item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    return any(one.scope in ("module", "class") for several in info.name2fixturedefs.values() for one in several)

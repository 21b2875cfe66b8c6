"""In which order tests run, and which stay in one process of a run: single tests are handed out, wherever a process is free.

Tests of one group stay together. A group is a file whose tests share a fixture of their module, or the tests of a server that they stop.
"""

from itertools import groupby
from random import Random

import pytest
from _pytest.nodeid import NodeId

OWN_KAFKA = "own_kafka"
"""The group of the tests that stop or kill a broker: all of a process have one."""


def keep_together(items: list[pytest.Item]) -> None:
    """Name the group of each test that has one at the end of its id, where the process that hands tests out looks for it.

    xdist does so for its mark `xdist_group`, but as pytest 9.1 kept ids (xdist 3.8): under pytest 9.2 it names none.
    """
    for item in items:
        if OWN_KAFKA in getattr(item, "fixturenames", ()):
            _name_group(item, OWN_KAFKA)
        elif _shares_with_its_file(item):
            _name_group(item, "/".join(item.path.parts[-2:]))


def without_group(test: str) -> str:
    """Return a test's id without the name of its group."""
    return test[: test.rindex("@")] if test.rfind("@") > test.rfind("]") else test


def shuffle(items: list[pytest.Item], seed: int) -> None:
    """Shuffle the files, and the tests of each: what a file shares is made once."""
    random = Random(seed)
    files = [list(some) for _, some in groupby(items, lambda item: item.path)]
    random.shuffle(files)
    for some in files:
        random.shuffle(some)
    items[:] = [item for some in files for item in some]


def _name_group(item: pytest.Item, group: str) -> None:
    item._id = NodeId.parse(f"{item.nodeid}@{group}")  # noqa: SLF001 - an id cannot be changed otherwise


def _shares_with_its_file(item: pytest.Item) -> bool:
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return False
    return any(one.scope in ("module", "class") for several in info.name2fixturedefs.values() for one in several)

"""Which loaded models go to make room for another one. Pure; `worker.embedding.pool.pool_states` asks."""

from collections.abc import Sequence
from typing import NamedTuple


class Evictable(NamedTuple):
    """A loaded model that may go."""

    name: str
    size_bytes: int
    used_s: float
    """When it was last used."""


def choose_victims(evictable: Sequence[Evictable], needed_bytes: int) -> list[str]:
    """Return the models whose removal frees `needed_bytes`; none if all of them together do not free enough: then none goes in vain.

    One that suffices alone is preferred to several, and then the one that was not used for the longest. Of several none is superfluous.
    """
    oldest_first = sorted(evictable, key=lambda one: (one.used_s, one.name))
    for one in oldest_first:
        if one.size_bytes >= needed_bytes:
            return [one.name]
    if sum(one.size_bytes for one in oldest_first) < needed_bytes:
        return []
    chosen: list[Evictable] = []
    freed = 0
    for one in oldest_first:
        if freed >= needed_bytes:
            break
        chosen.append(one)
        freed += one.size_bytes
    for one in reversed(chosen):  # the last ones chosen were used last: they are the first to be spared
        if freed - one.size_bytes >= needed_bytes:
            chosen.remove(one)
            freed -= one.size_bytes
    return [one.name for one in chosen]

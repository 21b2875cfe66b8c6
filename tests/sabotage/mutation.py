"""What a mutation is."""

from typing import NamedTuple


class Mutation(NamedTuple):
    """One change of one place. `tests` are pytest's names of tests, of which at least one must fail."""

    name: str
    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    tests: tuple[str, ...]

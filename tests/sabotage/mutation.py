"""What a mutation is, and how the files beside this one write it down."""

from collections.abc import Mapping
from typing import NamedTuple

Changes = Mapping[str, tuple[str, ...]]
"""`file: name`, as `--list` prints it → old text, new text, and the tests as tests/README.md names them."""


class Mutation(NamedTuple):
    """One change of one place. `tests` are pytest's names of tests, of which at least one must fail."""

    name: str
    file: str
    old: str
    """Occurs exactly once in the file."""
    new: str
    tests: tuple[str, ...]


def mutations_of(*written: Changes) -> tuple[Mutation, ...]:
    """Return the mutations in their order."""
    return tuple(_mutation(place, *change) for changes in written for place, change in changes.items())


def _mutation(place: str, old: str, new: str, *tests: str) -> Mutation:
    file, _, name = place.partition(": ")
    return Mutation(name, file, old, new, tuple(map(_whole_name, tests)))


def _whole_name(test: str) -> str:
    path, separator, name = test.partition("::")
    return f"tests/{path}::test_{name}" if separator else f"tests/{path}"

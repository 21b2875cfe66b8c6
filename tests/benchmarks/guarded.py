"""Which of the guard's figures a benchmark does not print: a name that changes would leave the guard without it."""

from collections.abc import Mapping
from typing import Any

from benchmarks.guard_measures import MEASURES
from benchmarks.suite.goals import value_at


def lacking(module: str, figures: Mapping[str, Any]) -> list[str]:
    """Return the keys of the measures of this benchmark that lead to no number."""
    keys = [measure.key for measure in MEASURES if measure.probe.module == module]
    assert keys, f"the guard asks {module} for nothing"
    return [key for key in keys if not isinstance(value_at(figures, key), int | float)]

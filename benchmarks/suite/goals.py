"""The figures that the report shows, the goals among them, and whether a measured figure meets its goal. Pure but for `read_table`."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

TABLE = Path(__file__).with_name("goals.toml")
Verdict = Literal["met", "missed", "not measured", "does not apply", ""]
"""Empty: the figure has no goal."""


class Figure(NamedTuple):
    """One line of the report: a figure, its range, and its goal if it has one."""

    benchmark: str
    key: str
    """Names in the benchmark's JSON, with dots between them."""
    words: str
    worst: str = ""
    best: str = ""
    """Keys of the range's ends."""
    rounds: str = ""
    """Key of a list with the figure of each round: the range where there are no other keys."""
    at_least: float | None = None
    at_most: float | None = None
    native_bfloat16: bool = False
    """The goal is for processors that compute in bfloat16."""
    at_least_elsewhere: float | None = None
    """The goal on other processors; without it there is none there."""
    reason: str = ""
    """Why the goal is missed."""
    next: str = ""
    """What is tried next."""

    @property
    def has_goal(self) -> bool:
        """Whether there is a bound."""
        return self.at_least is not None or self.at_most is not None

    def on(self, machine: Mapping[str, str]) -> "Figure":
        """Return the figure with the goal that it has on that machine."""
        if not self.native_bfloat16 or computes_bfloat16(machine):
            return self
        return self._replace(at_least=self.at_least_elsewhere, at_most=None)


class Judged(NamedTuple):
    """A figure with what was measured."""

    figure: Figure
    value: float | None
    range: tuple[float, float] | None
    """The lowest and the highest that is known of the rounds."""
    verdict: Verdict


def computes_bfloat16(machine: Mapping[str, str]) -> bool:
    """Whether the processor has instructions for bfloat16, by the facts that `machine_facts` gives."""
    return any(name in ("avx512_bf16", "amx_bf16") for name in machine.get("instruction sets", "").split(", "))


def read_table(file: Path = TABLE) -> tuple[dict[str, str], list[Figure]]:
    """Return what each benchmark compares, and the figures in the order of the report. Raises TypeError for an unknown field."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return table["about"], [Figure(**entry) for entry in table["figure"]]


def value_at(figures: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what a path leads to; None where it ends early."""
    found: Any = figures
    for name in key.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def judge(figure: Figure, figures: Mapping[str, Any], machine: Mapping[str, str]) -> Judged:
    """Look up a figure in what its benchmark printed, and compare it with its goal on that machine."""
    there = figure.on(machine)
    value = _number(value_at(figures, figure.key))
    verdict: Verdict = ""
    if figure.has_goal and value is None:
        verdict = "not measured"
    elif figure.has_goal and not there.has_goal:
        verdict = "does not apply"
    elif there.has_goal and value is not None:
        low = there.at_least is None or value >= there.at_least
        high = there.at_most is None or value <= there.at_most
        verdict = "met" if low and high else "missed"
    return Judged(there, value, _range(figure, figures, value), verdict)


def _range(figure: Figure, figures: Mapping[str, Any], value: float | None) -> tuple[float, float] | None:
    listed = value_at(figures, figure.rounds) if figure.rounds else None
    ends: Sequence[Any] = listed if isinstance(listed, list) else [value_at(figures, key) for key in (figure.worst, figure.best) if key]
    known = [number for number in map(_number, ends) if number is not None]
    if value is None or not known:
        return None
    return min(*known, value), max(*known, value)


def _number(found: Any) -> float | None:  # noqa: ANN401 - as above
    return found if isinstance(found, int | float) else None

"""What a person sees of `vectail counts --compare`: what each value has now and had before, those that changed first."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sinks.reading.group_names import FIELD
from worker.asking.moments import shown_time
from worker.cli.screen import Screen
from worker.cli.screen_tables import NONE, Column
from worker.cli.search_screen import COUNT_CUT, Answer, say_incomplete

_SIGNS: Final[Mapping[str, str]] = {"new": "new", "gone": "gone", "up": "↑", "down": "↓", "same": ""}
_FAMILY: Final = "family"
Group = Mapping[str, Any]


def show_compared(screen: Screen, answer: Answer, by: str) -> None:
    """Show values of a label or field, or families (`compare`, `totals`, `complete`), with the lines of both spans."""
    groups: Sequence[Group] = answer["compare"]
    if "begins_ms" in answer:
        screen.say(f"The index begins at {shown_time(answer['begins_ms'])}: too late to compare with.")
    elif groups:
        counts = [
            Column[Group]("lines", "lines", "cyan", is_right=True),
            Column[Group]("before", "before", is_right=True),
            Column[Group]("", lambda one: " ".join(part for part in (_SIGNS[one["change"]], _factor(one["ratio"])) if part)),
        ]
        level = Column[Group]("level", lambda one: one["level"] or NONE, "magenta")
        text = Column[Group]("family", lambda one: screen.text(one["text"]), is_wide=True)
        value = Column[Group](by.removeprefix(FIELD), lambda one: one[by] or NONE, "magenta")
        screen.rows(groups, [level, *counts, text] if by == _FAMILY else [value, *counts])
    else:
        screen.say("Neither span has lines, or none that the filters leave.")
    say_incomplete(screen, answer, COUNT_CUT)


def _factor(ratio: float | None) -> str:
    """Return by what a rate has changed, of what was there before and still is."""
    return f"{ratio:.2g} times" if ratio else ""

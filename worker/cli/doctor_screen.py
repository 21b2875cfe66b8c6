"""What a person sees of `vectail doctor`: a line for each check, by group, and what to do below it."""

from itertools import groupby
from typing import Final

from worker.cli.screen import Screen
from worker.inspecting.doctor import DoctorFinding, DoctorReport, State
from worker.runtime.logs import printable
from worker.runtime.wording import counted

_STYLES: Final[dict[State, str]] = {"ok": "green", "warning": "yellow", "problem": "bold red"}
_NAME_WIDTH: Final = 22
_STATE_WIDTH: Final = 9


def show_report(screen: Screen, report: DoctorReport, *, with_ok: bool = True) -> None:
    """Show all checks, or only those that are not well, then the verdict."""
    shown = [one for one in report.checks if with_ok or one.state != "ok"]
    for group, checks in groupby(shown, key=lambda one: one.group):
        screen.write((group, "bold"))
        for one in checks:
            _show_check(screen, one)
    screen.say(verdict(report))


def verdict(report: DoctorReport) -> str:
    """Return the last line."""
    numbers = {state: sum(one.state == state for one in report.checks) for state in _STYLES}
    wrong = [counted(numbers[state], state) for state in ("problem", "warning") if numbers[state]]
    return f"{' and '.join(wrong) or 'All is well'}: {counted(len(report.checks), 'check')} in {report.seconds:.1f} s."


def _show_check(screen: Screen, one: DoctorFinding) -> None:
    screen.write(
        ("  ", ""), (f"{one.state:<{_STATE_WIDTH}}", _STYLES[one.state]), (f"{one.name:<{_NAME_WIDTH}}", ""), (printable(one.found), "")
    )
    if one.what_to_do:
        screen.write((" " * (2 + _STATE_WIDTH + _NAME_WIDTH), ""), (f"→ {printable(one.what_to_do)}", _STYLES[one.state]))

"""What `vectail VERB --help` costs beside an interpreter that does nothing.

    python -m benchmarks.startup [VERB…] [--quick] [--json]

Caveats first. Figures are processor time of a child from its start to its end, files in the system's cache; a wait for the disk is not in
them. In each round the interpreter, an import of Typer (the library that reads the command line) and every verb take a turn; a ratio is
taken within a round. `vs_python` is the worst verb's.
"""

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from statistics import median

from typer.core import TyperGroup
from typer.main import get_command

from benchmarks.program import Figures, option, program
from benchmarks.race import Wrong, race, ratios
from worker.cli.app import app

ROUNDS, QUICK_ROUNDS = 7, 3
_BARE, _TYPER = "python", "typer"


def verbs_of(group: TyperGroup, before: str = "") -> Iterator[str]:
    """Yield the words of every verb."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from verbs_of(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}"


def seconds_of_child(*words: str) -> float:
    """Run Python with these words; return the processor time that it took. Raises Wrong if it fails."""
    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise Wrong(f"{' '.join(words)} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime


def measure(chosen: Namespace) -> Figures:
    """Start all in turn."""
    command = get_command(app)
    verbs = chosen.verbs or (list(verbs_of(command)) if isinstance(command, TyperGroup) else [])
    sides = {_BARE: ("-c", "pass"), _TYPER: ("-c", "import typer.main")}
    sides |= {verb: ("-m", "worker", *verb.split(), "--help") for verb in verbs}
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    seconds = race({name: partial(seconds_of_child, *words) for name, words in sides.items()}, rounds, warm_ups=1)
    times = {name: median(ratios(took, seconds[_BARE])) for name, took in seconds.items() if name != _BARE}
    return {
        "python_s": median(seconds[_BARE]),
        "vs_python": max(times[verb] for verb in verbs),
        "typer_vs_python": times.pop(_TYPER),
        "verbs": times,
    }


main = program(
    __doc__,
    measure,
    option("verbs", nargs="*", help="only these verbs, such as search or 'dlq ls'"),
    quick=f"{QUICK_ROUNDS} rounds instead of {ROUNDS}",
)

if __name__ == "__main__":
    main()

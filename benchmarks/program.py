"""The frame of every program: arguments, `--quick`, `--json`, a table for a person, one line where nothing can be measured.

A program is its docstring, its options and a function from the arguments to its figures; what it prints is `rounded`:

    main = program(__doc__, measure, FILES, quick="1,000 lines instead of 20,000, 5 rounds instead of 7")
"""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from benchmarks.race import Missing, Wrong, rounded
from benchmarks.suite.goals import read_table
from benchmarks.suite.machine import machine_facts
from benchmarks.table import lines_of
from producers.file_lines import FileUnreadable
from worker.embedding.model.errors import ModelError

Show = Callable[[str], None]
Figures = dict[str, Any]
Option = Callable[[ArgumentParser], object]
_NAME = "python -m benchmarks."


class Main(Protocol):
    """A program's entry."""

    def __call__(self, show: Show = print, arguments: Sequence[str] | None = None) -> None:
        """Measure and print through `show`; the arguments are the command line's unless others are given."""


def option(*names: str, **how: Any) -> Option:  # noqa: ANN401 - those of `add_argument`
    """Return an option, declared as argparse takes it."""
    return lambda parser: parser.add_argument(*names, **how)


FILES = option("files", nargs="*", help="logs (default: synthetic lines)")
ANOTHER_ROUNDS = option("--rounds", type=int, help="another number of rounds")
ENGINE = option("--engine", choices=("auto", "vllm", "llama", "onnx"), default="auto")
LLAMA = option("--engine", choices=("auto", "vllm", "llama", "onnx"), default="llama")
KAFKA = option("--kafka", metavar="HOST:PORT", help="a broker to use, instead of one that is started; topics are created there")
LOGS_FOLDER = Path("../shared/logs")
"""Beside the checkout: the licence of the collection does not allow a copy in the repository."""
LOGS = option(
    "--logs", type=Path, default=LOGS_FOLDER, help="folder of NAME.log with NAME.csv, as LogHub has them (default: %(default)s)"
)  # fmt: skip


def program(doc: str | None, measure: Callable[[Namespace], Figures], *options: Option, quick: str = "") -> Main:
    """Return the `main` of a program. Figures that cannot be had end it: Wrong with exit code 1, Missing and bad arguments with 2."""
    first, _, rest = (doc or "").partition("\n")
    name = rest.partition(_NAME)[2].split()[0]

    def main(show: Show = print, arguments: Sequence[str] | None = None) -> None:
        parser = ArgumentParser(prog=f"{_NAME}{name}", description=first)
        for add in options:
            add(parser)
        if quick:
            parser.add_argument("--quick", action="store_true", help=quick)
        parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
        chosen = parser.parse_args(arguments)
        try:
            figures = rounded(measure(chosen))
        except (Missing, ModelError, FileUnreadable) as error:
            parser.error(" ".join(str(error).split()))
        except Wrong as error:
            sys.exit(str(error))
        if chosen.json:
            show(json.dumps(figures))
            return
        known = [figure for figure in read_table()[1] if figure.benchmark == name]
        for line in lines_of(figures, known, machine_facts()):
            show(line)

    return main

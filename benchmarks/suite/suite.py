"""Runs the benchmarks one after another, keeps their figures, and writes the report.

    python -m benchmarks [--only NAME …] [--quick] [--logs DIR] [--out FOLDER] [--report]
    python -m benchmarks [--quick] --json

Caveats first. All of it takes more than an hour; `--only` runs some. Figures are written after each benchmark, beside the kept ones of the
others, which may be of another machine or of other versions: the report says which. A benchmark that cannot run here is listed with its
reason, unless figures of it are kept, and the others go on; one that fails, because its sides did different work or otherwise, makes the
exit code 1. With `--json` only the comparison with the workers written by hand runs, its seven figures are printed, and nothing is written.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.suite.child import Ended, docstring_of, missing, run_program
from benchmarks.suite.goals import read_table
from benchmarks.suite.machine import load_average, machine_facts, revision, versions
from benchmarks.suite.programs import BY_HAND, JSON_KEYS, PROGRAMS, Program
from benchmarks.suite.report import report_text
from benchmarks.suite.results import (
    PLOTS_FOLDER,
    REPORT_FILE,
    RESULTS_FILE,
    Machine,
    NotResults,
    Ran,
    Results,
    read_results,
    stays,
    with_entry,
    write_results,
)

ROOT = Path(__file__).parents[2]
SYNTHETIC = "synthetic lines, seeded"


class Run:
    """Programs of one tree with one choice of options.

    Thread: main.
    """

    def __init__(self, root: Path, logs: Path | None, *, quick: bool) -> None:
        self._root = root
        self._logs = logs
        self._quick = quick

    def measure(self, program: Program, plots: Path) -> Ran:
        """Run a program, and draw its pictures into an empty folder; a program that cannot be asked at all is absent."""
        arguments = self._arguments(program, plots)
        began_at, before = revision(self._root), load_average()
        reason = missing(program, self._root, self._logs)
        ended = Ended("absent", {}, reason, 0.0) if reason else run_program(program, arguments, self._root)
        _what, caveats = docstring_of(self._root, program.module)
        return Ran(
            state=ended.state,
            reason=ended.reason,
            figures=ended.figures,
            command=" ".join(["python -m", program.module, *self._shown(program)]),
            caveats=caveats,
            revision=began_at,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            quick=self._quick,
            corpus=corpus_of(self._logs) if self._logs and (program.takes_files or program.needs == "logs") else SYNTHETIC,
            seconds=round(ended.seconds, 1),
            load_before=before,
            load_after=load_average(),
            plots=_drawn(program, ended, plots),
        )

    def _arguments(self, program: Program, plots: Path) -> list[str]:
        arguments = [*program.arguments, "--json", *(["--quick"] if self._quick else [])]
        if program.plots:
            arguments += [program.plots, str(plots / program.pictures[0] if program.plots == "--plot" else plots)]
        if self._logs and program.needs == "logs":
            arguments += ["--logs", str(self._logs)]
        if self._logs and program.takes_files:
            arguments += map(str, logs_in(self._logs))
        return arguments

    def _shown(self, program: Program) -> list[str]:
        """Return the arguments as a reader repeats them."""
        shown = [*program.arguments, *(["--quick"] if self._quick else [])]
        if self._logs and program.needs == "logs":
            shown += ["--logs", "DIR"]
        return [*shown, "DIR/*.log"] if self._logs and program.takes_files else shown


def _drawn(program: Program, ended: Ended, plots: Path) -> list[str]:
    """Return the names of the pictures of a run, all of which are in `plots`."""
    if ended.state != "measured":
        return []
    if program is BY_HAND:
        from benchmarks.plots import BY_HAND_PICTURE, draw_by_hand  # noqa: PLC0415 - matplotlib takes a second to import

        draw_by_hand(ended.figures, plots / BY_HAND_PICTURE)
    return [picture.name for picture in pictures_of(program, plots)]


def pictures_of(program: Program, plots: Path) -> list[Path]:
    """Return the pictures of a program in a folder, of whichever run."""
    return sorted(plots.glob(f"{program.name}*.png" if program.plots == "--plots" else f"{program.name}.png"))


def logs_in(folder: Path) -> list[Path]:
    """Return the log files of a folder, in order."""
    return sorted(folder.glob("*.log"))


def corpus_of(folder: Path) -> str:
    """Describe the logs of a folder without saying where they are."""
    contents = [file.read_bytes() for file in logs_in(folder)]
    lines, size = sum(content.count(b"\n") for content in contents), sum(map(len, contents))
    names = ", ".join(file.stem for file in logs_in(folder))
    return f"{len(contents)} logs ({names}), {lines:,} lines, {size:,} bytes"


def write_report(results: Results, out: Path) -> None:
    """Write the report beside the results."""
    about, figures = read_table()
    (out / REPORT_FILE).write_text(report_text(results, about, figures), encoding="utf-8")


def keep(results: Results, program: Program, drawn: Path, out: Path) -> None:
    """Write results and report with the program's pictures, which are in `drawn`; earlier ones go last, so that no link ever breaks."""
    plots, names = out / PLOTS_FOLDER, results["benchmarks"][program.name]["plots"]
    if names:
        plots.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(drawn / name, plots / name)
    write_results(results, out / RESULTS_FILE)
    write_report(results, out)
    for picture in pictures_of(program, plots):
        if picture.name not in names:
            picture.unlink()


def run_suite(programs: Sequence[Program], run: Run, results: Results, machine: Machine, out: Path, show: Callable[[str], None]) -> int:
    """Run them all on this machine; return 1 if one has failed. What is known is written after each."""
    for number, program in enumerate(programs, 1):
        show(f"{number}/{len(programs)} {program.name} …")
        with tempfile.TemporaryDirectory(prefix="vectail-bench-") as drawn:
            ran = run.measure(program, Path(drawn))
            stayed = stays(results, program.name, ran)
            if not stayed:
                results = with_entry(results, program.name, ran, machine)
                keep(results, program, Path(drawn), out)
        reason = (f": {ran['reason']}" if ran["reason"] else "") + ("; the kept figures stay" if stayed else "")
        show(f"  {ran['state']} in {ran['seconds']:g} s{reason}")
    return int(any(results["benchmarks"][program.name]["state"] == "failed" for program in programs))


def _print_keys(program: Program, root: Path, logs: Path | None, show: Callable[[str], None], *, quick: bool) -> int:
    files = [*map(str, logs_in(logs))] if logs else []
    ended = run_program(program, ["--json", *(["--quick"] if quick else []), *files], root)
    lacking = [key for key in JSON_KEYS if ended.figures.get(key) is None]
    if ended.state != "measured" or lacking:
        sys.stderr.write(f"{program.name}: {ended.reason or 'no ' + ', '.join(lacking)}\n")
        return 1
    show(json.dumps({key: ended.figures[key] for key in JSON_KEYS}))
    return 0


def main(
    show: Callable[[str], None] = print,
    arguments: Sequence[str] | None = None,
    *,
    programs: Sequence[Program] = PROGRAMS,
    root: Path = ROOT,
) -> int:
    """Run the suite on the tree at `root`; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").partition("\n")[0])
    names = [program.name for program in programs]
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and lines")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="labelled logs, NAME.log with NAME.csv; they are the lines of others too")
    parser.add_argument("--out", type=Path, default=root / "benchmarks", metavar="FOLDER", help="where results, report and plots are kept")
    parser.add_argument("--report", action="store_true", help="measure nothing: write the report again from the kept results")
    parser.add_argument("--json", action="store_true", help=f"print {', '.join(JSON_KEYS)} and nothing else")
    chosen = parser.parse_args(arguments)
    logs = chosen.logs.resolve() if chosen.logs else None
    if logs and not logs_in(logs):
        parser.error(f"there is no .log in {chosen.logs}")
    if chosen.json:
        first = next(program for program in programs if program.name == BY_HAND.name)
        return _print_keys(first, root, logs, show, quick=chosen.quick)
    out = chosen.out.resolve()
    try:
        kept = read_results(out / RESULTS_FILE)
    except NotResults as error:
        parser.error(str(error))
    if chosen.report:
        if not kept["benchmarks"]:
            parser.error(f"there is no {RESULTS_FILE} in {chosen.out}")
        write_report(kept, out)
        return 0
    out.mkdir(parents=True, exist_ok=True)
    wanted = [program for program in programs if chosen.only is None or program.name in chosen.only]
    about, _ = read_table()  # also of programs that are gone, whose figures stay with their revision
    kept["benchmarks"] = {name: entry for name, entry in kept["benchmarks"].items() if name in about}
    machine = Machine(facts=machine_facts(), versions=versions(root))
    return run_suite(wanted, Run(root, logs, quick=chosen.quick), kept, machine, out, show)

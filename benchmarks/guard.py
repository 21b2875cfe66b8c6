"""Whether this tree has become slower: ratios of short benchmarks beside the committed ones, or beside those of another revision.

    python -m benchmarks.guard [--only NAME …] [--json]
    python -m benchmarks.guard --write [--rounds N]
    python -m benchmarks.guard --against REV [--rounds N] [--same-packages]

Caveats first. Never an absolute time: each figure is a ratio of two sides of one benchmark, or a rate times the seconds of a fixed
reference loop that runs before and after it (`guard_measures`). That cancels a machine that is slower as a whole, not one with another
balance of memory, disk and cores: on another machine write figures of its own first (`--write --file FILE`). A measure that has fallen is
measured once more, and the better run counts. The guard detects a fall below the committed range by more than that range's width
(`guard_verdicts`), so a loss of a few per cent passes; with `--against` both revisions take turns (A B, B A, …), and a fall is one that
every round shows.

The other revision is unpacked into a temporary folder and runs with the packages that are installed here. If its `requirements.lock` is
another one, there are no figures unless `--same-packages` says that this is wanted. It runs its own benchmarks: if a revision changed
what a benchmark does, the ratio says that too. Exit code 1 if anything fell or a figure of this tree is lacking.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.guard_measures import MEASURES, Figures, Measure, Reference, imported_from, measure_tree
from benchmarks.guard_verdicts import Compared, Verdict, compared, verdicts
from benchmarks.race import Missing, in_turn
from benchmarks.suite.machine import machine_facts, revision

ROOT = Path(__file__).parent.parent
ROUNDS, ROUNDS_AGAINST = 3, 5
_LOCK, _CACHE = "requirements.lock", ".cache"
Show = Callable[[str], None]


class Refused(Missing):
    """The other revision cannot be compared; one line for the user."""


def unpack(root: Path, name: str, folder: Path) -> None:
    """Unpack a revision into a folder and compile its C files.

    Raises `CalledProcessError`; its `stderr` says that there is no such revision, or what the compiler says.
    """
    command = ["git", "archive", "--end-of-options", f"{name}^{{commit}}"]
    archive = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout  # noqa: S603 - git, as installed
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    if any(folder.rglob("*.c")):
        subprocess.run(["make", "--silent", "native"], cwd=folder, check=True, capture_output=True)  # noqa: S607 - make, as installed


@contextmanager
def tree_of(root: Path, name: str, *, same_packages: bool) -> Iterator[Path]:
    """Unpack a revision into a temporary folder, and remove it afterwards. Raises Refused."""
    with tempfile.TemporaryDirectory(prefix="vectail-guard-") as folder:
        tree = Path(folder).resolve()
        try:
            unpack(root, name, tree)
        except subprocess.CalledProcessError as error:
            raise Refused(error.stderr.decode().strip()) from error
        locks = [file.read_bytes() if file.exists() else b"" for file in (root / _LOCK, tree / _LOCK)]
        if locks[0] != locks[1] and not same_packages:
            raise Refused(f"{name} has another {_LOCK}: --same-packages runs it with the packages that are installed here")
        (root / _CACHE).mkdir(exist_ok=True)
        (tree / _CACHE).symlink_to(root / _CACHE)  # downloaded servers
        yield tree


def measure_against(measures: Sequence[Measure], root: Path, tree: Path, rounds: int, reference: Reference, show: Show) -> list[Compared]:
    """Measure both trees in turns, every other round backwards. Raises Refused."""
    for package in sorted({measure.probe.module.partition(".")[0] for measure in measures}):
        if (tree / package).is_dir() and not Path(imported_from(package, tree)).is_relative_to(tree):
            raise Refused(f"{package} of the other revision would be imported from elsewhere")
    found: tuple[list[Figures], list[Figures]] = ([], [])
    for number in range(rounds):
        show(f"round {number + 1} of {rounds} …")
        for side in in_turn((0, 1), number):
            found[side].append(measure_tree(measures, (root, tree)[side], reference))
    return compared(measures, *found)


def measure_now(measures: Sequence[Measure], root: Path, committed: dict[str, list[float]], reference: Reference) -> list[Verdict]:
    """Measure this tree, and what has fallen once more; the better run counts."""
    first = measure_tree(measures, root, reference)
    fallen = [verdict.name for verdict in verdicts(measures, committed, first) if verdict.fell]
    if fallen:
        again = [measure for measure in measures if measure.name in fallen]
        second = measure_tree(again, root, reference)
        for measure in again:
            one, other = first[measure.name], second[measure.name]
            if isinstance(one, float) and isinstance(other, float):
                first[measure.name] = max(one, other) if measure.higher_is_better else min(one, other)
    return verdicts(measures, committed, first)


def write_committed(measures: Sequence[Measure], root: Path, file: Path, rounds: int, reference: Reference, show: Show) -> int:
    """Measure some rounds and keep them; return 1 if a measure has no figure, which is then left out."""
    found = list[Figures]()
    for number in range(rounds):
        show(f"round {number + 1} of {rounds} …")
        found.append(measure_tree(measures, root, reference))
    ratios: dict[str, list[float]] = {}
    for measure in measures:
        values = [figures[measure.name] for figures in found]
        numbers = [value for value in values if isinstance(value, float)]
        if len(numbers) == len(values):
            ratios[measure.name] = [float(f"{number:.4g}") for number in numbers]
        else:
            show(f"{measure.name} is left out: {next(value for value in values if isinstance(value, str))}")
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    kept = {"machine": machine_facts(), "revision": revision(root), "date": date, "ratios": ratios}
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(len(ratios) < len(measures))


def show_verdicts(found: Sequence[Verdict], show: Show) -> None:
    """Show what is committed, what is seen now, and what that means."""
    show(f"{'':<42}{'committed':>12}{'now':>12}{'bound':>12}")
    for one in found:
        show(f"{one.name:<42}{_shown(one.committed)}{_shown(one.now)}{_shown(one.bound)}  {one.says}")


def show_compared(found: Sequence[Compared], name: str, show: Show) -> None:
    """Show how many times better ours is."""
    show(f"above 1 this tree is better than {name}: median and range of the rounds")
    for one in found:
        show(f"{one.name:<42}{_shown(one.median)}{_shown(one.low)}{_shown(one.high)}  {one.says}")


def _shown(figure: float | None) -> str:
    return f"{'-':>12}" if figure is None else f"{figure:>12,.4g}"


def main(
    show: Show = print,
    arguments: Sequence[str] | None = None,
    *,
    measures: Sequence[Measure] = MEASURES,
    root: Path = ROOT,
    size: float = 1.0,
) -> int:
    """Measure the tree at `root` and judge it; return 1 if anything fell or a figure is lacking."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {', '.join(measure.name for measure in measures)}")
    parser.add_argument("--write", action="store_true", help="measure some rounds and write them as the committed ones")
    parser.add_argument("--against", metavar="REV", help="compare with this revision, anything that git knows")
    parser.add_argument("--same-packages", action="store_true", help=f"with --against: although it has another {_LOCK}")
    parser.add_argument("--rounds", type=int, help=f"of --write ({ROUNDS}) and of --against ({ROUNDS_AGAINST})")
    parser.add_argument("--file", type=Path, default=root / "benchmarks" / "guard.json", help="the committed ratios")
    parser.add_argument("--json", action="store_true", help="print one object and nothing else")
    chosen = parser.parse_args(arguments)
    unknown = set(chosen.only or ()) - {measure.name for measure in measures}
    rounds = (ROUNDS_AGAINST if chosen.against else ROUNDS) if chosen.rounds is None else chosen.rounds
    if unknown or rounds < 1:
        parser.error(f"there is no measure {', '.join(sorted(unknown))}" if unknown else "there is at least one round")
    wanted = [measure for measure in measures if chosen.only is None or measure.name in chosen.only]
    say: Show = (lambda line: print(line, file=sys.stderr)) if chosen.json else show
    reference = Reference(size)
    if chosen.write:
        return write_committed(wanted, root, chosen.file, rounds, reference, say)
    if chosen.against:
        try:
            with tree_of(root, chosen.against, same_packages=chosen.same_packages) as tree:
                differences = measure_against(wanted, root, tree, rounds, reference, say)
        except Refused as error:
            parser.error(str(error))
        if chosen.json:
            show(json.dumps([one._asdict() for one in differences]))
        else:
            show_compared(differences, chosen.against, show)
        return int(any(one.fell or one.says.startswith("here: ") for one in differences))
    if not chosen.file.exists():
        parser.error(f"there is no {chosen.file.name}: --write makes it")
    committed = json.loads(chosen.file.read_text(encoding="utf-8"))
    if committed["machine"] != machine_facts():
        say("The committed ratios are of another machine: a fall may be its, not this tree's.")
    judged = measure_now(wanted, root, committed["ratios"], reference)
    if chosen.json:
        show(json.dumps([one._asdict() for one in judged]))
    else:
        show_verdicts(judged, show)
    return int(any(one.fell or one.now is None for one in judged))


if __name__ == "__main__":
    sys.exit(main())

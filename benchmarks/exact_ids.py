"""Exact identifiers: whether a query for an identifier in the logs returns the lines that contain it.

    python -m benchmarks.exact_ids [FILES…] [--ids N] [--engine auto|vllm|llama] [--json]

Caveats first. Five patterns find the identifiers: block ids, IPv4 addresses, UUIDs (with a request's prefix), long hexadecimal numbers
and Hadoop's own. They are drawn evenly over these patterns, seeded, so that rare ones count as much as frequent ones. Within a pattern
every *identifier* is equally likely, so most occur in few lines. Each is the whole query, in mode hybrid, with three hits. It counts as
found if all three lines contain it or, if fewer lines do, if those come first. A line contains it only as a whole, not as a part of a
longer one. Nothing here depends on the machine's speed.
"""

import argparse
import contextlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.retrieval_index import indexed, line_of
from producers.lines import FileUnreadable, TooLarge, check_files, read_files
from worker.embedding.loaded import load_model
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs
from worker.settings.settings import load_settings

LOGS = Path("../shared/logs")
"""Beside the checkout, as for `benchmarks.retrieval`."""
IDS = 200
K = 3
_SEED = 7
_SHOWN = 20

KINDS: Mapping[str, str] = {
    "block": r"blk_-?\d+",
    "address": r"\d{1,3}(?:\.\d{1,3}){3}",
    "uuid": r"(?:req-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "hadoop": r"(?:appattempt|attempt|application|container|job|task)_\d{10,}(?:_[0-9mr]+)+",
    "hexadecimal": r"0x[0-9a-f]{8,}",
}
"""Name → pattern of an identifier."""


class Wanted(NamedTuple):
    """An identifier, and the lines that contain it."""

    text: str
    kind: str
    lines: frozenset[int]


class Verdict(NamedTuple):
    """Whether an identifier was found, and for each hit, best first, whether it contains it."""

    wanted: Wanted
    is_found: bool
    hits: list[bool]


def whole(pattern: str) -> re.Pattern[str]:
    """Return a pattern that matches nothing inside longer words, numbers and addresses."""
    return re.compile(rf"(?<!\w)(?<!\d\.)(?:{pattern})(?!\w)(?!\.\d)")


def identifiers(lines: Sequence[str]) -> list[Wanted]:
    """Return every identifier of the lines, by kind and text."""
    found: dict[tuple[str, str], set[int]] = {}
    for kind, pattern in KINDS.items():
        finder = whole(pattern)
        for number, line in enumerate(lines):
            for text in finder.findall(line):
                found.setdefault((kind, text), set()).add(number)
    return [Wanted(text, kind, frozenset(numbers)) for (kind, text), numbers in sorted(found.items())]


def draw(wanted: Sequence[Wanted], count: int) -> list[Wanted]:
    """Draw `count` identifiers, evenly over the patterns as far as each has enough."""
    random = Random(_SEED)
    by_kind: dict[str, list[Wanted]] = {}
    for one in random.sample(wanted, len(wanted)):
        by_kind.setdefault(one.kind, []).append(one)
    drawn: list[Wanted] = []
    while len(drawn) < min(count, len(wanted)):
        drawn += [of_kind.pop() for _, of_kind in sorted(by_kind.items()) if of_kind]
    return drawn[:count]


def judge(wanted: Wanted, hits: Sequence[Mapping[str, Any]]) -> Verdict:
    """Judge whether the first three hits contain the identifier or, if fewer lines do, whether those come first."""
    finder = whole(re.escape(wanted.text))
    has = [finder.search(str(hit["text"])) is not None for hit in hits[:K]]
    expected = min(K, len(wanted.lines))
    places = {line_of(hit) for hit, good in zip(hits[:expected], has, strict=False) if good}
    return Verdict(wanted, len(places & wanted.lines) == expected, has)


def figures_of(verdicts: Sequence[Verdict], lines: int) -> dict[str, Any]:
    """Return what `--json` prints."""
    kinds = {kind: [one.is_found for one in verdicts if one.wanted.kind == kind] for kind in KINDS}
    return {
        "found_share": round(sum(one.is_found for one in verdicts) / max(len(verdicts), 1), 4),
        "ids": len(verdicts),
        "lines": lines,
        "kinds": {kind: {"ids": len(found), "found": sum(found)} for kind, found in kinds.items() if found},
        "failed": [
            {"id": one.wanted.text, "kind": one.wanted.kind, "lines": len(one.wanted.lines), "hits_with_it": one.hits}
            for one in verdicts
            if not one.is_found
        ],
    }


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{figures['found_share']:.1%} of {figures['ids']} identifiers found, in {figures['lines']:,} lines   (goal: at least 95%)")
    for kind, counts in figures["kinds"].items():
        show(f"  {kind:<12} {counts['found']:>4} of {counts['ids']}")
    for failed in figures["failed"][:_SHOWN]:
        show(f"not found: {failed['id']} ({failed['kind']}, in {failed['lines']} lines); hits with it: {failed['hits_with_it']}")


def main(show: Callable[[str], None] = print) -> None:
    """Index the logs, ask for the identifiers, and show which were found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help=f"logs (default: those in {LOGS})")
    parser.add_argument("--ids", type=int, default=IDS, help=f"how many are drawn (default: {IDS})")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="llama")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    files = tuple(chosen.files) or tuple(str(file) for file in sorted(LOGS.glob("*.log")))
    configure_logs(quiet=True)
    settings = load_settings(None, {"engine": {"name": chosen.engine}})
    try:
        check_files(files)
        lines = [line.decode("utf-8", "replace") for line in read_files(files) if line and not isinstance(line, TooLarge)]
        drawn = draw(identifiers(lines), chosen.ids)
        if not drawn:
            parser.error(f"no identifiers in {', '.join(files) or LOGS}; name log files")
        model = load_model(settings)
    except (FileUnreadable, ModelError) as error:
        parser.error(str(error))
    with (
        contextlib.closing(model.engine),
        tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder,
        indexed(settings, model, Path(folder) / "index", lines) as ask,
    ):
        verdicts = [judge(wanted, ask({"text": wanted.text, "mode": "hybrid", "k": K})) for wanted in drawn]
    figures = figures_of(verdicts, len(lines))
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()

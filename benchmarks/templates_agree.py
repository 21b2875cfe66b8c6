"""Whether lines get the same ids on 1, 2 and 4 workers, in any order, in batches of any size, under any hash seed.

`benchmarks.templates` calls `measure_agreement`, which runs this file once for each hash seed, in a process of its own:

    python -m benchmarks.templates_agree SIDE LINES.json ARRAY.npy ORDER_SEED

Lines are [system, text]. Every deal of them gives each line to one of the workers, which knows nothing of the others.
"""

import functools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.templates_groups import group, new_masker
from benchmarks.templates_logs import System
from benchmarks.templates_speed import DRAIN3, OURS
from sinks.row import TemplateText, template_id

HASH_SEEDS = (0, 1, 4242)
WORKERS = (1, 2, 4)
BATCH_LINES = (1, 7, 1_000, sys.maxsize)
_ROOT = Path(__file__).parent.parent

Line = tuple[str, str]
"""The name of its system, and its text."""
NameLines = Callable[[Sequence[Line], int], list[str]]
"""A worker: its lines in their order, and how many come at a time; returns the id of each."""
Ids = NDArray[np.uint64]


class Deal(NamedTuple):
    """How a stream is shared out."""

    workers: int
    batch_lines: int


def deals_of(side: str, order_seed: int) -> list[Deal]:
    """Return the deals of one process; those of all processes are every combination of workers and batch sizes, once each."""
    if side == DRAIN3:  # it takes one line after the other
        return [Deal(workers, sys.maxsize) for workers in WORKERS]
    return [
        Deal(workers, lines)
        for i, workers in enumerate(WORKERS)
        for j, lines in enumerate(BATCH_LINES)
        if (i + j) % len(HASH_SEEDS) == order_seed
    ]


def ids_of(lines: Sequence[Line], deal: Deal, name: NameLines, order: Random | None) -> Ids:
    """Deal the lines in an order drawn from `order`, or as they are; return the id of each line in the order given: uint64[n]."""
    places = list(range(len(lines))) if order is None else order.sample(range(len(lines)), len(lines))
    ids = np.zeros(len(lines), np.uint64)
    for worker in range(deal.workers):
        mine = places[worker :: deal.workers]
        names = name([lines[place] for place in mine], deal.batch_lines)
        ids[mine] = [int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big") for text in names]
    return ids


class Agreement(NamedTuple):
    """How much of what one run says holds in all of them; shares between 0 and 1."""

    ids_agree: float
    """Of the lines: those with the same id in every run."""
    templates_agree: float
    """Of the different ids of all runs together: those that occur in every run."""


def agreement(runs: Sequence[Ids]) -> Agreement:
    """Compare runs of the same lines, each uint64[n]."""
    same = np.logical_and.reduce([ids == runs[0] for ids in runs])
    distinct = [np.unique(ids) for ids in runs]
    everywhere = functools.reduce(np.intersect1d, distinct)
    return Agreement(float(same.mean()), len(everywhere) / len(np.unique(np.concatenate(distinct))))


def named_lines(systems: Sequence[System], texts: Sequence[str]) -> list[Line]:
    """Pair each text with the name of its system; the texts are those of all systems, one after the other."""
    names = (system.name for system in systems for _ in system.labels)
    return list(zip(names, texts, strict=True))


def name_by_masks(lines: Sequence[Line], batch_lines: int) -> list[str]:
    """Return template id and family id of each line, by a worker of ours."""
    templates, families = group(new_masker(), [text for _, text in lines], batch_lines)
    return [template_id(TemplateText(template)) + family for template, family in zip(templates, families, strict=True)]


def name_by_drain(lines: Sequence[Line], _batch_lines: int) -> list[str]:
    """Return the final template of each line, by a worker with a miner for each system."""
    from benchmarks.templates_drain import final_templates  # noqa: PLC0415 - not installed everywhere

    places: dict[str, list[int]] = {}
    for place, (system, _) in enumerate(lines):
        places.setdefault(system, []).append(place)
    names = [""] * len(lines)
    for own in places.values():
        for place, template in zip(own, final_templates([lines[place][1] for place in own]), strict=True):
            names[place] = template
    return names


def measure_agreement(side: str, lines: Sequence[Line]) -> Agreement:
    """Compare every deal in every process; two processes run at a time."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder:
        file = Path(folder) / "lines.json"
        file.write_text(json.dumps(list(lines)), encoding="utf-8")

        def run(order_seed: int) -> Ids:
            array = Path(folder) / f"{order_seed}.npy"
            command = ["/usr/bin/env", f"PYTHONHASHSEED={HASH_SEEDS[order_seed]}", sys.executable, "-m", "benchmarks.templates_agree"]
            command += [side, str(file), str(array), str(order_seed)]
            subprocess.run(command, cwd=_ROOT, check=True)  # noqa: S603 - this file
            ids: Ids = np.load(array)
            return ids

        with ThreadPoolExecutor(2) as two:
            return agreement([ids for runs in two.map(run, range(len(HASH_SEEDS))) for ids in runs])


def main(arguments: Sequence[str]) -> None:
    """Run every deal in this process and write uint64[deals, n]."""
    side, lines_file, array_file, seed = arguments
    order_seed = int(seed)
    lines: list[Line] = [(system, text) for system, text in json.loads(Path(lines_file).read_text(encoding="utf-8"))]
    name = {OURS: name_by_masks, DRAIN3: name_by_drain}[side]
    order = Random(order_seed)
    # The first process keeps the order of the files; every deal of the others has its own.
    ids = [ids_of(lines, deal, name, order if order_seed else None) for deal in deals_of(side, order_seed)]
    np.save(array_file, np.array(ids))


if __name__ == "__main__":
    main(sys.argv[1:])

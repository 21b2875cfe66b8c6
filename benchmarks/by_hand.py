"""vectail against the workers that people write by hand, end to end: from Kafka through Redis and a model into Milvus Lite.

    python -m benchmarks.by_hand [FILES…] [--quick] [--json]

Caveats first. One machine runs the broker, Redis and the side that is measured; the others wait. All sides have the same model, lines,
cores and Milvus Lite, which runs in their process. The hand-written workers (`naive.py`, `batched.py`) store the vector with every line and
are slow, so they index a sample; rates are compared. vectail is the whole service with its defaults, without HTTP. The time runs from the
first record that is read until the last one is stored and committed; model and connections are there by then. vectail commits once a
second, which is a part of its time; shares of the engine and of the stages are of the time until the last one is stored.

Corpora (`by_hand_corpora`): lines that are all distinct, not masked (`mask.mode = "exact"`), where the engine decides; the files as a
topic has them, from cold; and a stream in its steady state, whose templates are known. There the hand-written workers find in Redis what
a worker would have seen before: every line of theirs that occurs twice in the stream.

Every turn begins with an empty index, and with what is said above in Redis. A side that stores a line twice or not at all ends the run, and
so does a vector that is not that of sentence-transformers (cosine below 0.998). A ratio is taken within a round, then the median.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.by_hand_corpora import CORPORA, MOST_CHARACTERS, QUICK, WHOLE, Corpus, Sizes, corpora, fill
from benchmarks.by_hand_turns import Plan, Side, SideFailed, Turn, Vectors, kept_vectors
from benchmarks.copies import SYNTHETIC
from benchmarks.own_servers import own_kafka, own_redis
from benchmarks.rivals.clients import open_cache
from benchmarks.rivals.own_process import LeftOut, OwnProcess
from worker.embedding.model.folder import default_folder

KEYS = (
    *(f"vs_{side}_{corpus}" for side in ("naive", "batched") for corpus in CORPORA),
    "overlap_share",
    "bare_engine_share",
    "vs_sentence_distinct",
    "engine_idle_share",
)
"""The headline figures; `null` where something is missing here, and `absent` has the reason."""
ROUNDS, QUICK_ROUNDS = 5, 3
WORST_COSINE = 0.998
_COMPARED = 64
"""Templates of vectail's that are embedded by sentence-transformers as well, where lines are masked."""
_ENGINES = {"sentence": ("sentence_transformers",), "llm": ("vllm",), "onnx": ("onnxruntime", "onnxscript", "torch", "transformers")}
Rounds = dict[str, list[Turn]]
"""`SIDE_CORPUS` → its turns."""


class Wrong(Exception):
    """The sides did not do the same work: the figures would be worth nothing."""


class Missing(Exception):
    """Without it nothing can be compared here; the message is the reason."""


class Sides(NamedTuple):
    """The processes that are compared."""

    ours: Side
    naive: Side
    batched: Side
    """With the fastest engine."""
    sentence: Side
    """The same worker with sentence-transformers in float32."""
    engine: str
    """Which is the fastest."""
    trial_s: dict[str, float]
    """Seconds that each engine took for the same texts."""
    absent: dict[str, str]
    """Engines that were not tried, and why."""


class Race:
    """All sides, and the servers that they use.

    Thread: main.
    """

    def __init__(self, sides: Sides, reference: OwnProcess, lines: Mapping[str, Corpus], kafka: str, redis_url: str, scratch: Path) -> None:
        self._sides = sides
        self._reference = reference
        self._lines = lines
        self._kafka = kafka
        self._redis_url = redis_url
        self._scratch = scratch
        self._known: dict[str, Any] = {}
        self._turns = 0

    def run(self, rounds: int) -> Rounds:
        """Run all sides in turns; every other round goes backwards. Raises Wrong, SideFailed, LeftOut."""
        found: Rounds = {}
        sides = self._sides
        order = [
            (name, side, corpus)
            for corpus in CORPORA
            for name, side in (("ours", sides.ours), ("batched", sides.batched), ("naive", sides.naive))
        ]
        if sides.sentence is not sides.batched:
            order.append(("sentence", sides.sentence, "distinct"))
        for number in range(rounds):
            for name, side, corpus in order if number % 2 == 0 else reversed(order):
                found.setdefault(f"{name}_{corpus}", []).append(self._turn(name, side, corpus))
        return found

    def _turn(self, name: str, side: Side, corpus: str) -> Turn:
        lines = self._lines[corpus]
        size = "batched" if name == "sentence" else name
        texts: list[str] = getattr(lines, size)
        cache = open_cache(self._redis_url)
        cache.flushall()
        if name != "ours" and lines.repeated:
            vectors = self._vectors_of(sorted(lines.repeated))
            cache.mset({sha256(text.encode()).hexdigest(): vector.tobytes() for text, vector in vectors.items()})
        self._turns += 1
        folder = self._scratch / f"turn-{self._turns}"
        folder.mkdir()
        plan = Plan(self._kafka, self._redis_url, str(folder), f"{corpus}-{size}", len(texts))
        if name == "ours":
            plan = plan._replace(mask_mode="exact" if corpus == "distinct" else "template")
            if lines.warm:
                plan = plan._replace(warm_topic=f"{corpus}-warm", warm_records=len(lines.warm))
        turn = side.run(plan)
        kept = kept_vectors(str(folder))
        wanted = self._wanted(name, corpus, texts, kept)
        check_vectors(f"{name}, {corpus}", kept, self._vectors_of(wanted))
        return turn

    def _wanted(self, name: str, corpus: str, texts: Sequence[str], kept: Vectors) -> list[str]:
        """Return the texts whose vectors are compared."""
        if name == "ours" and corpus != "distinct":
            short = [text for text in kept if len(text) <= MOST_CHARACTERS]
            return short[:: max(len(short) // _COMPARED, 1)]
        return self._lines[corpus].naive if name == "ours" else sorted(set(texts))

    def _vectors_of(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in texts if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._reference.embed(new).vectors, strict=True))
        return {text: self._known[text] for text in texts}


def check_vectors(whose: str, kept: Vectors, reference: Vectors) -> None:
    """Compare what a side has stored with the vectors that these texts must have, row by row. Raises Wrong."""
    missing = [text for text in reference if text not in kept]
    if missing:
        raise Wrong(f"{whose}: {len(missing)} texts of {len(reference)} are not in the index, {missing[0][:80]!r} first")
    for text, vector in reference.items():
        cosine = float(kept[text] @ vector / np.linalg.norm(kept[text]) / np.linalg.norm(vector))
        if not cosine >= WORST_COSINE:
            raise Wrong(f"{whose}: the vector of {text[:80]!r} is not that of sentence-transformers (cosine {cosine:.4f})")


@contextmanager
def opened_sides(scratch: Path, *, quick: bool) -> Iterator[Sides]:
    """Start every side, one after another, for each uses all processors to load; of the engines the fastest stays. Raises SideFailed."""
    with ExitStack() as stack:

        def start(name: str, *command: str) -> Side:
            side = Side(name, command, scratch / f"{name}.log")
            stack.callback(side.close)
            return side

        ours = start("ours", "benchmarks.by_hand_ours")
        number_format = ours.ready["number_format"]
        batched, absent = dict[str, Side](), dict[str, str]()
        for engine, libraries in _ENGINES.items():
            lacking = [library for library in libraries if not find_spec(library)]
            if lacking:
                absent[engine] = f"not installed: {', '.join(lacking)}"
            elif quick and engine == "onnx":
                absent[engine] = "not tried with --quick: its export takes half a minute"
            else:
                formats = [number_format] if engine == "llm" else []
                batched[engine] = start(f"batched-{engine}", "benchmarks.batched", engine, *formats)
        fastest = min(batched, key=lambda engine: batched[engine].ready["trial_s"])
        for engine, side in batched.items():
            if engine not in ("sentence", fastest):
                side.close()
        trial_s = {engine: round(side.ready["trial_s"], 3) for engine, side in batched.items()}
        yield Sides(ours, start("naive", "benchmarks.naive"), batched[fastest], batched["sentence"], fastest, trial_s, absent)


def measure(files: Sequence[str], sizes: Sizes, rounds: int, *, quick: bool) -> dict[str, Any]:
    """Start servers and sides, run all in turns, and return what `--json` prints. Raises Missing, Wrong, SideFailed, LeftOut."""
    if not find_spec("sentence_transformers"):
        raise Missing("not installed: sentence_transformers (make vllm bench-deps)")
    lines = corpora(files, sizes)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-by-hand-")))
        kafka, cache = stack.enter_context(own_kafka()), stack.enter_context(own_redis())
        for started in (kafka, cache):
            if not started.address:
                raise Missing(started.reason)
        topics = {
            f"{name}-{side}": getattr(corpus, side) for name, corpus in lines.items() for side in ("ours", "batched", "naive", "warm")
        }
        fill(kafka.address, {topic: texts for topic, texts in topics.items() if texts})
        threads = len(os.sched_getaffinity(0))
        sides = stack.enter_context(opened_sides(scratch, quick=quick))
        reference = OwnProcess(
            "benchmarks.rivals.sentence:open_sentence_transformers", [default_folder(), threads], log=scratch / "reference.log"
        )
        stack.callback(reference.close)
        found = Race(sides, reference, lines, kafka.address, cache.address, scratch).run(rounds)
        about = {
            "engine": sides.ours.ready["engine"],
            "number_format": sides.ours.ready["number_format"],
            "batched_engine": sides.engine,
            "trial_s": sides.trial_s,
            "absent": sides.absent,
        }
    counts = {
        f"{name}_{corpus}": len(getattr(lines[corpus], "batched" if name == "sentence" else name)) for name, corpus in map(_split, found)
    }
    return figures_of(found, counts) | about | {"templates_warm": len(lines["steady"].warm)}


def _split(key: str) -> tuple[str, str]:
    name, _, corpus = key.partition("_")
    return name, corpus


def figures_of(found: Rounds, counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of all rounds; `counts` has the lines of each side and corpus in one turn."""
    rates = {key: [counts[key] / turn.seconds for turn in turns] for key, turns in found.items()}
    ratios = {
        f"vs_{side}_{corpus}": [ours / theirs for ours, theirs in zip(rates[f"ours_{corpus}"], rates[f"{side}_{corpus}"], strict=True)]
        for side in ("naive", "batched", "sentence")
        for corpus in CORPORA
        if f"{side}_{corpus}" in rates
    }
    ratios.setdefault("vs_sentence_distinct", ratios["vs_batched_distinct"])
    ratios["bare_engine_share"] = [turn.figures["bare_s"] / turn.figures["acknowledged_s"] for turn in found["ours_distinct"]]
    for name in ("overlap_share", "engine_idle_share"):
        ratios[name] = [turn.figures[name] for turn in found["ours_mix"]]
    return {
        **{name: round(median(values), 3) for name, values in ratios.items()},
        "worst": {name: round((max if name == "engine_idle_share" else min)(values), 3) for name, values in ratios.items()},
        "best": {name: round((min if name == "engine_idle_share" else max)(values), 3) for name, values in ratios.items()},
        "lines_per_s": {key: round(median(values), 1) for key, values in rates.items()},
        "busy_share": {
            corpus: {name: round(median(turn.figures[name] for turn in found[f"ours_{corpus}"]), 3) for name in _shares(found, corpus)}
            for corpus in CORPORA
        },
        "lines": dict(counts),
        "rounds": len(found["ours_mix"]),
    }


def _shares(found: Rounds, corpus: str) -> list[str]:
    own = ("overlap_share", "engine_idle_share")
    return [name for name in found[f"ours_{corpus}"][0].figures if name.endswith("_share") and name not in own]


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"engine {figures['engine']} ({figures['number_format']}); batched with {figures['batched_engine']}; {figures['rounds']} rounds")
    show(f"{'lines/s':<12}{'vectail':>12}{'batched':>12}{'naive':>12}{'vs batched':>12}{'vs naive':>12}")
    for corpus in CORPORA:
        rates = "".join(f"{figures['lines_per_s'][f'{side}_{corpus}']:>12,.1f}" for side in ("ours", "batched", "naive"))
        show(f"{corpus:<12}{rates}{figures[f'vs_batched_{corpus}']:>12,.1f}{figures[f'vs_naive_{corpus}']:>12,.1f}")
    show(
        f"distinct lines: {figures['bare_engine_share']:.3f} of the bare engine,"
        f" {figures['vs_sentence_distinct']:.2f} times batched with sentence-transformers in float32"
    )
    show(
        f"cold mix: the busiest stage is busy {figures['overlap_share']:.1%} of the time;"
        f" while templates wait, the engine is idle {figures['engine_idle_share']:.1%} of the time"
    )


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None, sizes: Sizes | None = None) -> None:
    """Compare, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help=f"logs (default: {SYNTHETIC:,} synthetic lines)")
    quick = (
        f"{QUICK.ours['steady']:,} lines in the steady state instead of {WHOLE.ours['steady']:,}, {QUICK_ROUNDS} rounds instead of {ROUNDS}"
    )
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    try:
        figures = measure(chosen.files, sizes or (QUICK if chosen.quick else WHOLE), rounds, quick=chosen.quick)
    except Missing as missing:
        show(json.dumps(dict.fromkeys(KEYS) | {"absent": {"by_hand": str(missing)}}) if chosen.json else str(missing))
        return
    except (Wrong, SideFailed, LeftOut) as error:
        sys.exit(str(error))
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()

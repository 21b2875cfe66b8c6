"""vectail against the workers that people write by hand, end to end: from Kafka through Redis and a model into Milvus Lite.

    python -m benchmarks.by_hand [FILES…] [--quick] [--json]

Caveats first. vectail embeds one vector per template and finds lines through their template; the hand-written workers (`naive.py`,
`batched.py`) embed and store one vector per line. That is a different index, and most of the gain in `mix` and `steady`. The ratio in `mix`
grows with lines per template (printed). `distinct` compares equal work. One machine runs the broker, Redis and the side that is measured;
the others wait. All sides have the same model, lines and cores, and Milvus Lite: vectail's runs in a process of its own, as in a worker;
that of the hand-written workers in theirs, as pymilvus starts it. The hand-written workers are slow, so they index a sample; rates are
compared. vectail is the whole service with its defaults (unless VECTAIL_… variables are set), without HTTP. The time runs from the first
record that is read until the last one is stored and committed; model and connections are there by then. vectail commits once a second,
which is a part of its time; shares of the engine and of the stages are of the time until the last one is stored.

Corpora (`by_hand_corpora`): lines that are all distinct, not masked (`mask.mode = "exact"`), where the engine decides; the files as a
topic has them, from cold; and a stream in its steady state, whose templates are known. There the hand-written workers find in Redis what
a worker would have seen before: every line of theirs that occurs twice in the stream. In the mix they find those that occur earlier in it.

Every turn begins with an empty index, and with what is said above in Redis. A side that stores a line twice or not at all ends the run, and
so does a template that is not in vectail's index. Vectors are compared with those of sentence-transformers: every row of the hand-written
workers, the same lines of vectail where lines are distinct, elsewhere 64 of its templates; a cosine below 0.998 ends the run. A ratio is
taken within a round, then the median.
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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.by_hand_corpora import CORPORA, QUICK, WHOLE, Corpus, Sizes, corpora, fill, spread
from benchmarks.by_hand_figures import KEYS, Rounds, figures_of, show_table
from benchmarks.by_hand_turns import Plan, Rows, Side, SideFailed, Turn, kept_vectors
from benchmarks.copies import SYNTHETIC
from benchmarks.own_servers import own_kafka, own_redis
from benchmarks.rivals.clients import open_cache
from benchmarks.rivals.own_process import LeftOut, OwnProcess
from worker.embedding.model.folder import default_folder

ROUNDS, QUICK_ROUNDS = 5, 3
WORST_COSINE = 0.998
_COMPARED = 64
"""Templates of vectail's that are embedded by sentence-transformers as well, where lines are masked."""
_TRIAL_LINES = 128
_ENGINES = {"sentence": ("sentence_transformers",), "llm": ("vllm",), "onnx": ("onnxruntime", "onnxscript", "torch", "transformers")}


Vectors = Mapping[str, NDArray[np.float32]]
"""Text → the vector that it must have, float32[dim]."""


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
    """Seconds that each engine took for the same lines."""
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
        check_vectors(f"{name}, {corpus}", kept, self._vectors_of(self._wanted(name, corpus, texts, kept)))
        return turn

    def _wanted(self, name: str, corpus: str, texts: Sequence[str], kept: Rows) -> list[str]:
        """Return the texts whose vectors are compared. Raises Wrong if vectail's index lacks a template."""
        lines = self._lines[corpus]
        if name != "ours":
            return sorted(set(texts))
        if lacking := lines.templates - {text for text, _ in kept}:
            raise Wrong(f"{corpus}: {len(lacking)} templates are not in the index, {min(lacking)[:80]!r} first")
        if corpus == "distinct":
            return sorted({*lines.batched, *lines.naive})
        templates = sorted(lines.templates)
        return [templates[place] for place in spread(len(templates), _COMPARED)]

    def _vectors_of(self, texts: Sequence[str]) -> Vectors:
        new = [text for text in texts if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._reference.embed(new).vectors, strict=True))
        return {text: self._known[text] for text in texts}


def check_vectors(whose: str, kept: Rows, reference: Vectors) -> None:
    """Compare every row that a side has stored of these texts with the vector that it must have. Raises Wrong."""
    if not reference:
        raise Wrong(f"{whose}: there is nothing to compare")
    there = {text for text, _ in kept}
    missing = [text for text in reference if text not in there]
    if missing:
        raise Wrong(f"{whose}: {len(missing)} texts of {len(reference)} are not in the index, {missing[0][:80]!r} first")
    for text, stored in kept:
        if (vector := reference.get(text)) is None:
            continue
        cosine = float(stored @ vector / np.linalg.norm(stored) / np.linalg.norm(vector))
        if not cosine >= WORST_COSINE:
            raise Wrong(f"{whose}: the vector of {text[:80]!r} is not that of sentence-transformers (cosine {cosine:.4f})")


@contextmanager
def opened_sides(scratch: Path, trial: Sequence[str], *, quick: bool) -> Iterator[Sides]:
    """Start every side, one after another, for each uses all processors to load. Raises SideFailed.

    Of the engines stays the one that is fastest with the lines of the trial.
    """
    trial_file = scratch / "trial.txt"
    trial_file.write_text("\n".join(trial), encoding="utf-8")
    with ExitStack() as stack:

        def start(name: str, *command: str) -> Side:
            side = Side(name, command, scratch / f"{name}.log")
            stack.callback(side.close)
            return side

        ours = start("ours", "benchmarks.by_hand_ours")
        # llama.cpp's format is none that vLLM knows.
        number_format = ours.ready["number_format"] if ours.ready["engine"] == "vllm" else "auto"
        batched, absent = dict[str, Side](), dict[str, str]()
        for engine, libraries in _ENGINES.items():
            lacking = [library for library in libraries if not find_spec(library)]
            if lacking:
                absent[engine] = f"not installed: {', '.join(lacking)}"
            elif quick and engine == "onnx":
                absent[engine] = "not tried with --quick: its export takes half a minute"
            else:
                formats = [number_format] if engine == "llm" else []
                batched[engine] = start(f"batched-{engine}", "benchmarks.batched", engine, str(trial_file), *formats)
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
        distinct = lines["distinct"].ours
        trial = [distinct[place] for place in spread(len(distinct), _TRIAL_LINES)]
        sides = stack.enter_context(opened_sides(scratch, trial, quick=quick))
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
    mix = lines["mix"]
    about |= {"templates_warm": len(lines["steady"].warm), "templates_mix": len(mix.templates)}
    return figures_of(found, counts) | about | {"lines_per_template_mix": round(len(mix.ours) / len(mix.templates), 1)}


def _split(key: str) -> tuple[str, str]:
    name, _, corpus = key.partition("_")
    return name, corpus


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

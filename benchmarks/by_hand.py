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

import os
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.by_hand_corpora import CORPORA, QUICK, WHOLE, Corpus, Sizes, corpora, fill, spread_over
from benchmarks.by_hand_turns import Plan, Rows, Side, Turn, kept_vectors
from benchmarks.own_servers import own_redis, some_kafka
from benchmarks.program import ANOTHER_ROUNDS, FILES, Figures, program
from benchmarks.race import Missing, Wrong, race, ratios, spread
from benchmarks.rivals.clients import open_cache
from benchmarks.rivals.own_process import OwnProcess
from worker.embedding.model.folder import default_folder

ROUNDS, QUICK_ROUNDS = 5, 3
WORST_COSINE = 0.998
_COMPARED = 64
"""Templates of vectail's that are embedded by sentence-transformers as well, where lines are masked."""
_TRIAL_LINES = 128
_SIDES = ("ours", "batched", "naive")
_SHARES = ("overlap_share", "engine_idle_share")
KEYS = (
    *(f"vs_{side}_{corpus}" for side in ("naive", "batched") for corpus in CORPORA),
    "overlap_share",
    "bare_engine_share",
    "vs_sentence_distinct",
    "engine_idle_share",
)
"""The headline figures; `null` where something is missing here, and `absent` has the reason."""
_ENGINES = {"sentence": ("sentence_transformers",), "llm": ("vllm",), "onnx": ("onnxruntime", "onnxscript", "torch", "transformers")}


Vectors = Mapping[str, NDArray[np.float32]]
"""Text → the vector that it must have, float32[dim]."""


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


class Contest:
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

    def run(self, rounds: int) -> dict[str, list[Turn]]:
        """Run all sides in turns; return what each did, as `SIDE_CORPUS`. Raises Wrong."""
        sides = self._sides
        turns = {
            f"{name}_{corpus}": partial(self._turn, name, side, corpus)
            for corpus in CORPORA
            for name, side in zip(_SIDES, (sides.ours, sides.batched, sides.naive), strict=True)
        }
        if sides.sentence is not sides.batched:
            turns["sentence_distinct"] = partial(self._turn, "sentence", sides.sentence, "distinct")
        return race(turns, rounds)

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
        return [templates[place] for place in spread_over(len(templates), _COMPARED)]

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


def figures_of(found: Mapping[str, list[Turn]], counts: Mapping[str, int]) -> Figures:
    """Return the figures of all rounds; `counts` has the lines of each side and corpus in one turn."""
    rates = {key: [counts[key] / turn.seconds for turn in turns] for key, turns in found.items()}
    times = {
        f"vs_{side}_{corpus}": ratios(rates[f"ours_{corpus}"], rates[f"{side}_{corpus}"])
        for side in ("naive", "batched", "sentence")
        for corpus in CORPORA
        if f"{side}_{corpus}" in rates
    }
    times.setdefault("vs_sentence_distinct", times["vs_batched_distinct"])
    times["bare_engine_share"] = [turn.figures["bare_s"] / turn.figures["acknowledged_s"] for turn in found["ours_distinct"]]
    for name in _SHARES:
        times[name] = [turn.figures[name] for turn in found["ours_mix"]]
    stages = [name for name in found["ours_mix"][0].figures if name.endswith("_share") and name not in _SHARES]
    return spread(times, ["engine_idle_share"]) | {
        "lines_per_s": {key: median(values) for key, values in rates.items()},
        "busy_share": {
            corpus: {name: median(turn.figures[name] for turn in found[f"ours_{corpus}"]) for name in stages} for corpus in CORPORA
        },
        "lines": dict(counts),
        "rounds": len(found["ours_mix"]),
    }


@contextmanager
def opened_sides(scratch: Path, trial: Sequence[str], *, quick: bool) -> Iterator[Sides]:
    """Start every side, one after another, for each uses all processors to load. Raises Wrong.

    Of the engines stays the one that is fastest with the lines of the trial.
    """
    with ExitStack() as stack:

        def start(name: str, opener: str, *arguments: Any) -> Side:  # noqa: ANN401 - those of the opener
            side = Side(name, f"benchmarks.{opener}", arguments, scratch / f"{name}.log")
            stack.callback(side.close)
            return side

        ours = start("ours", "by_hand_ours:open_ours")
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
                batched[engine] = start(f"batched-{engine}", "batched:open_batched", engine, list(trial), number_format)
        fastest = min(batched, key=lambda engine: batched[engine].ready["trial_s"])
        for engine, side in batched.items():
            if engine not in ("sentence", fastest):
                side.close()
        trial_s = {engine: side.ready["trial_s"] for engine, side in batched.items()}
        yield Sides(ours, start("naive", "naive:open_naive"), batched[fastest], batched["sentence"], fastest, trial_s, absent)


def compare(files: Sequence[str], sizes: Sizes, rounds: int, *, quick: bool) -> Figures:
    """Start servers and sides, and run all in turns. Raises Missing, Wrong."""
    if not find_spec("sentence_transformers"):
        raise Missing("not installed: sentence_transformers (make vllm bench-deps)")
    lines = corpora(files, sizes)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-by-hand-")))
        kafka, cache = stack.enter_context(some_kafka(None)), stack.enter_context(own_redis())
        if not cache.address:
            raise Missing(cache.reason)
        topics = {f"{name}-{side}": getattr(corpus, side) for name, corpus in lines.items() for side in (*_SIDES, "warm")}
        fill(kafka, {topic: texts for topic, texts in topics.items() if texts})
        distinct = lines["distinct"].ours
        trial = [distinct[place] for place in spread_over(len(distinct), _TRIAL_LINES)]
        sides = stack.enter_context(opened_sides(scratch, trial, quick=quick))
        opener, threads = "benchmarks.rivals.sentence:open_sentence_transformers", len(os.sched_getaffinity(0))
        reference = stack.enter_context(closing(OwnProcess(opener, [default_folder(), threads], log=scratch / "reference.log")))
        found = Contest(sides, reference, lines, kafka, cache.address, scratch).run(rounds)
        ready = sides.ours.ready
        about = {"engine": ready["engine"], "number_format": ready["number_format"]}
        about |= {"batched_engine": sides.engine, "trial_s": sides.trial_s, "absent": sides.absent}
    counts = {}
    for key in found:
        name, _, corpus = key.partition("_")
        counts[key] = len(getattr(lines[corpus], "batched" if name == "sentence" else name))
    mix = lines["mix"]
    about |= {"templates_warm": len(lines["steady"].warm), "templates_mix": len(mix.templates)}
    return figures_of(found, counts) | about | {"lines_per_template_mix": len(mix.ours) / len(mix.templates)}


def measure(chosen: Namespace) -> Figures:
    """Compare; figures are null where something is missing, and `absent` has the reason. Raises Wrong."""
    sizes, rounds = (QUICK, QUICK_ROUNDS) if chosen.quick else (WHOLE, ROUNDS)
    try:
        return compare(chosen.files, sizes, chosen.rounds or rounds, quick=chosen.quick)
    except Missing as missing:
        return dict.fromkeys(KEYS) | {"absent": {"by_hand": str(missing)}}


_QUICK = f"{QUICK.ours['steady']:,} lines in the steady state instead of {WHOLE.ours['steady']:,}, {QUICK_ROUNDS} rounds, not {ROUNDS}"
main = program(__doc__, measure, FILES, ANOTHER_ROUNDS, quick=_QUICK)

if __name__ == "__main__":
    main()

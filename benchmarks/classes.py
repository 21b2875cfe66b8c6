"""What a question waits while clients and new templates each want the whole engine, and what that costs all together.

    python -m benchmarks.classes [--quick] [--json] [--engine NAME]

Caveats first. Texts are random token ids of the usual lengths, so nothing is tokenised, found in a cache or computed once for two. Online
texts and bulk texts always wait, 2,000 tokens of each; a question comes every 0.2 s and nothing else of the worker runs. The bare engine
embeds batches that are as full, in turns with that, and a ratio is taken within a round. `capped_batch_s` is the mean batch meanwhile.
"""

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from statistics import mean, median
from threading import Lock, Thread
from typing import NamedTuple

import numpy as np

from benchmarks.program import Figures, option, program
from benchmarks.race import race, ratios
from worker.embedding.batcher import Urgency
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.embedder import Embedder
from worker.embedding.encoded_text import Embedded, EncodedText
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.vectors import TokenIds
from worker.runtime.surroundings import Surroundings
from worker.service.embedder_parts import guarded_engine, new_batcher
from worker.settings.settings import load_settings

QUERY_EVERY_S = 0.2
QUERY_TOKENS = 12
WAITING_TOKENS = 2_000
"""Of each of the classes that never let up."""
AT_ONCE_TOKENS = 500
"""Submitted again whenever as many were embedded."""
_LEAST_ID = 2_000
"""Of whole words of the models that are installed."""


class Window(NamedTuple):
    """How long each side has its turn, and how often."""

    seconds: float
    rounds: int


QUICK, WHOLE = Window(3.0, 9), Window(6.0, 21)
_SETTLE_S = 0.5
"""Before anything counts."""


class Seen(NamedTuple):
    """What one turn has shown."""

    tokens: Counter[str]
    """Embedded within the turn, by class."""
    seconds: float
    query_s: Sequence[float]
    """From a question's `submit` to its vector."""
    batch_s: float
    """Mean."""

    @property
    def per_s(self) -> float:
        """Tokens a second, of all classes."""
        return self.tokens.total() / self.seconds


class Crowd:
    """Three classes that ask one embedder.

    Thread: the main one; two of the embedder's.
    """

    def __init__(self, model: LoadedModel, engine: GuardedEngine, target_batch_s: float) -> None:
        memory = MemoryCache(0)
        batcher = new_batcher(model, target_s=target_batch_s, has_clients=True)
        self._embedder = Embedder(batcher=batcher, engine=engine, cache=memory, memory=memory)
        self._random = np.random.default_rng(7)
        self._lock = Lock()
        self._is_over = False
        self.tokens: Counter[str] = Counter()
        self.query_s: list[float] = []

    def run(self, seconds: float) -> Seen:
        """Ask for some seconds."""
        threads = [Thread(target=self._embedder.compute), Thread(target=self._embedder.deliver)]
        for thread in threads:
            thread.start()
        for urgency in ("online", "bulk"):
            for _ in range(WAITING_TOKENS // AT_ONCE_TOKENS):
                self._flood(urgency)
        time.sleep(_SETTLE_S)
        with self._lock:
            self.tokens.clear()
        began_s = time.monotonic()
        while time.monotonic() < began_s + seconds:
            time.sleep(QUERY_EVERY_S)
            self._ask()
        with self._lock:
            self._is_over = True
            tokens = self.tokens.copy()
        took_s = time.monotonic() - began_s
        self._embedder.close()
        for thread in threads:
            thread.join()
        tally = self._embedder.tally
        return Seen(tokens, took_s, self.query_s, tally.seconds / tally.batches)

    def _ask(self) -> None:
        asked_s = time.monotonic()

        def take(_embedded: Sequence[Embedded]) -> None:
            self.query_s.append(time.monotonic() - asked_s)
            self._count("query", QUERY_TOKENS)

        self._embedder.submit([EncodedText(_text(self._random, QUERY_TOKENS), None, urgency="query")], take)

    def _flood(self, urgency: Urgency) -> None:
        """Submit some texts, and as many again once they are embedded."""
        with self._lock:
            lengths = _lengths(self._random)
            texts = [EncodedText(_text(self._random, length), None, "somebody", urgency) for length in lengths]
        left = len(texts)

        def take(embedded: Sequence[Embedded]) -> None:
            nonlocal left
            left -= len(embedded)
            if self._count(urgency, sum(lengths[one.place] for one in embedded)) and not left:
                self._flood(urgency)

        self._embedder.submit(texts, take)

    def _count(self, urgency: Urgency, tokens: int) -> bool:
        """Count what was embedded in time; False when the time is over."""
        with self._lock:
            if not self._is_over:
                self.tokens[urgency] += tokens
            return not self._is_over


def bare_run(model: LoadedModel, engine: GuardedEngine, seconds: float) -> Seen:
    """Embed full batches of the same lengths, one after another; only the engine's time counts."""
    random = np.random.default_rng(7)
    tokens, batches, took_s = 0, 0, 0.0
    while took_s < seconds:
        batch, room = [], model.engine.batch_tokens
        while room >= (length := _lengths(random)[0]):
            batch.append(_text(random, length))
            room -= length
        began_s = time.monotonic()
        engine.embed(batch)
        took_s += time.monotonic() - began_s
        tokens += model.engine.batch_tokens - room
        batches += 1
    return Seen(Counter(bulk=tokens), took_s, (), took_s / batches)


def measure(chosen: Namespace) -> Figures:
    """Measure as asked for."""
    window = QUICK if chosen.quick else WHOLE
    settings = load_settings(None, {"engine": {"name": chosen.engine}})
    model = load_model(settings)
    engine = guarded_engine(model, Surroundings())
    try:
        seen = race(
            {
                "bare": lambda: bare_run(model, engine, window.seconds),
                "crowd": lambda: Crowd(model, engine, settings.query.target_batch_s).run(window.seconds),
            },
            window.rounds,
            warm_ups=1,
        )
    finally:
        engine.close()
    crowds = seen["crowd"]
    waits_s = [one for crowd in crowds for one in crowd.query_s]
    batch_s, p99_s = mean(crowd.batch_s for crowd in crowds), float(np.quantile(waits_s, 0.99))
    vs_bare = ratios([crowd.per_s for crowd in crowds], [bare.per_s for bare in seen["bare"]])
    return {
        "engine": model.engine.name,
        "queries": len(waits_s),
        "query_p50_s": median(waits_s),
        "query_p99_s": p99_s,
        "capped_batch_s": batch_s,
        "query_p99_in_batches": p99_s / batch_s,
        "bulk_share": median(crowd.tokens["bulk"] / crowd.tokens.total() for crowd in crowds),
        "online_share": median(crowd.tokens["online"] / crowd.tokens.total() for crowd in crowds),
        "vs_bare_engine": median(vs_bare),
        "vs_bare_engine_worst": min(vs_bare),
    }


def _lengths(random: np.random.Generator) -> list[int]:
    """Return lengths of texts, as templates have them, of about `AT_ONCE_TOKENS` together."""
    return [int(length) for length in random.integers(8, 40, AT_ONCE_TOKENS // 24)]


def _text(random: np.random.Generator, tokens: int) -> TokenIds:
    """Return the ids of a text that no other one equals, as good as surely: int32[tokens]."""
    ids = random.integers(_LEAST_ID, 20_000, tokens).astype(np.int32)
    ids[0], ids[-1] = 101, 102  # [CLS], [SEP]
    return ids


main = program(
    __doc__,
    measure,
    option("--engine", choices=("auto", "llama", "onnx"), default="auto", help="(default: %(default)s)"),
    quick=f"{QUICK.rounds} rounds of {QUICK.seconds:g} s a side instead of {WHOLE.rounds} of {WHOLE.seconds:g} s",
)

if __name__ == "__main__":
    main()

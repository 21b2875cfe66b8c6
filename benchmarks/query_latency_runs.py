"""The runs of `benchmarks.query_latency`: an idle index under few and many users, a loaded index, and a single lane.

Each opens its own service, queries it, and closes it. Questions, their times and the lines are seeded.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.own_service import fed
from benchmarks.query_latency_client import Answered, ClosedLoop, OpenLoop
from benchmarks.query_latency_figures import Round, Stretch, capped_batches, closed_figures
from benchmarks.query_latency_sides import BatchTime, Side, await_committed, await_that, opened
from benchmarks.query_latency_texts import QUERY_WORDS, distinct_lines, distinct_questions, poisson_times, words_of
from producers.file_lines import LineTooLarge, read_files
from producers.log_feed import synthetic_lines
from worker.embedding.loaded import LoadedModel
from worker.querying.query_text import new_query_encoder
from worker.settings.settings import Settings

QUERIES_PER_S = 2.0
USERS = 60
REPEATED = 200
_SOON_S = 0.3
_BETWEEN_S = 1.0
_ANSWER_S = 30.0
_CLOSED_SHARE = 0.25
_DISTINCT_PER_S = 2_000
_SEED = 7


class Plan(NamedTuple):
    """How long, and how often."""

    seconds: float = 120.0
    rounds: int = 4
    patience_s: float = 60.0
    lines: int = 16_000
    files: Sequence[str] = ()


QUICK = Plan(15.0, 2, 5.0, 4_000)


class Loaded(NamedTuple):
    """What was seen under load."""

    answered: list[Answered]
    """Asked in seconds since the first of the stretches with questions began, the others left out."""
    rounds: list[Round]
    capped: list[BatchTime]


class Questions:
    """Hands out new questions each time, and counts their tokens as the worker will.

    Thread: main.
    """

    def __init__(self, settings: Settings, model: LoadedModel, words: Sequence[str]) -> None:
        self._encoder = new_query_encoder(settings, model)
        self._words, self._seed = words, _SEED

    def take(self, count: int) -> list[str]:
        """Return `count` new questions."""
        self._seed += 1
        return distinct_questions(self._words, self._seed, count)

    def moments(self, seconds: float) -> list[float]:
        """Return when to ask, in seconds from 0."""
        return poisson_times(QUERIES_PER_S, seconds, self._seed)

    def tokens(self, texts: Sequence[str]) -> int:
        """Count."""
        return sum(len(self._encoder.encode(text).ids) for text in self._encoder.treat(list(texts)))

    def close(self) -> None:
        """Free the tokenizer."""
        self._encoder.tokenizer.close()


def ask(side: Side, questions: Questions, seconds: float, patience_s: float) -> tuple[list[Answered], Stretch, float]:
    """Ask for some seconds; return the outcomes with times from 0, the engine's work meanwhile, and the start time."""
    times = questions.moments(seconds)
    texts = questions.take(len(times))
    start_s = time.monotonic() + _SOON_S
    side.client.begin(OpenLoop([start_s + moment for moment in times], texts, patience_s))
    stretch = _watch(side, start_s, seconds, questions.tokens(texts))
    answered = [one._replace(due_s=one.due_s - start_s) for one in side.client.end()]
    return answered, stretch, start_s


def _watch(side: Side, start_s: float, seconds: float, query_tokens: int) -> Stretch:
    """Count the engine's work between two times."""
    time.sleep(max(start_s - time.monotonic(), 0.0))
    first, began_s = side.log_tokens, time.monotonic()
    time.sleep(max(start_s + seconds - time.monotonic(), 0.0))
    return Stretch(time.monotonic() - began_s, side.log_tokens - first, query_tokens)


@contextlib.contextmanager
def saturated(settings: Settings, model: LoadedModel, folder: Path, words: Sequence[str], *, fifo: bool) -> Iterator[Side]:
    """Open a service whose log ledger is full and stays so."""
    lines = ([line] for line in distinct_lines(words, _SEED))
    with opened(settings, model, folder, fifo=fifo) as side, fed(side.settings, side.service, lines):
        await_that(lambda: side.waiting_texts >= settings.limits.max_in_flight_records * 3 // 4, side)
        yield side


def measure_ours(settings: Settings, model: LoadedModel, folder: Path, words: Sequence[str], plan: Plan) -> Loaded:
    """Alternate intervals with and without questions."""
    found = Loaded([], [], [])
    each_s = plan.seconds / plan.rounds
    with contextlib.closing(Questions(settings, model, words)) as questions, saturated(settings, model, folder, words, fifo=False) as side:
        for turn in range(plan.rounds):
            stretches: dict[bool, Stretch] = {}
            for asks in (True, False) if turn % 2 == 0 else (False, True):
                if asks:
                    answered, stretches[True], start_s = ask(side, questions, each_s, _ANSWER_S)
                    found.answered.extend(one._replace(due_s=one.due_s + turn * each_s) for one in answered)
                    found.capped.extend(capped_batches(side.batches, start_s, start_s + each_s))
                else:
                    stretches[False] = _watch(side, time.monotonic() + _BETWEEN_S, each_s, 0)
            found.rounds.append(Round(stretches[True], stretches[False]))
    return found


def measure_fifo(settings: Settings, model: LoadedModel, folder: Path, words: Sequence[str], plan: Plan) -> list[Answered]:
    """Query a service with a single lane."""
    with contextlib.closing(Questions(settings, model, words)) as questions, saturated(settings, model, folder, words, fifo=True) as side:
        return ask(side, questions, plan.seconds, plan.patience_s)[0]


def measure_idle(
    settings: Settings, model: LoadedModel, folder: Path, words: Sequence[str], plan: Plan
) -> tuple[list[Answered], dict[str, Any]]:
    """Query an idle service: first at a low rate, then with many users at once."""
    lines = _lines(plan)
    with opened(settings, model, folder) as side:
        with fed(side.settings, side.service, ([line] for line in lines)) as progress:
            await_committed(len(lines), progress, side)
        shared = words_of((line.decode("utf-8", "replace") for line in lines), words)
        with contextlib.closing(Questions(settings, model, shared if len(shared) > QUERY_WORDS else words)) as questions:
            ask(side, questions, 2.0, _ANSWER_S)  # warm-up: compiled patterns, memory
            idle = ask(side, questions, plan.seconds, _ANSWER_S)[0]
            seconds = plan.seconds * _CLOSED_SHARE
            texts = {"distinct": questions.take(int(seconds * _DISTINCT_PER_S)), "repeated": questions.take(REPEATED)}
        closed: dict[str, Any] = {"users": USERS, "lines": len(lines), "templates": side.service.connections.sink.counts().templates}
        for kind, asked in texts.items():
            start_s = time.monotonic()
            side.client.begin(ClosedLoop(USERS, asked, start_s + seconds, _ANSWER_S))
            closed[kind] = closed_figures(side.client.end(), seconds)
    return idle, closed


def _lines(plan: Plan) -> list[bytes]:
    if plan.files:
        return [line for line in read_files(plan.files) if line and not isinstance(line, LineTooLarge)]
    return list(synthetic_lines(_SEED, plan.lines, int(time.time() * 1000) - 8 * plan.lines))

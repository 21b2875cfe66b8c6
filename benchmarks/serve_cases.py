"""The cases of `benchmarks.serve`: what users ask for, and the sides in turns."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from benchmarks.race import Wrong, race
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.serve_figures import BARE, OURS, Beside, Passes, ServedPass, beside_figures, rates
from benchmarks.serve_sides import BarePass, BareWork, ServerSide, read_metric
from benchmarks.serve_texts import in_requests, mixed_lengths, request_body, texts_of, vectors_in, worst_cosine
from benchmarks.serve_users import TURN_S, Answered, Asked, Crowd

LEAST_COSINE = 0.998
"""To the bare engine; a lower one means another model or broken vectors (`worker.embedding.guarded_engine`)."""
SHORT_TOKENS, LINE_TOKENS = 12, 19
_LEAST_MIXED, _MOST_MIXED = 8, 256
_BATCH_SECONDS = "vectail_embed_seconds"
Turns = Mapping[str, Callable[[], ServedPass]]


class Plan(NamedTuple):
    """How much is asked."""

    rounds: int = 5
    users: int = 60
    texts: int = 900
    """Of the users, a round."""
    alone: int = 60
    """Of one user."""
    mixed: int = 480
    batch: int = 64
    batches: int = 24
    batch_users: int = 4
    large: int = 2_048
    large_tokens: int = 64
    small_users: int = 4
    small_gap_s: float = 0.25
    recurring: int = 200
    repeats: int = 40
    copies: int = 8
    room: int = 4
    """Copies of the model that the memory is enough for."""
    models_s: float = 300.0
    models_users: int = 8
    models_gap_s: float = 0.1


QUICK = Plan(rounds=2, texts=420, alone=40, mixed=180, batches=12, large_tokens=12, repeats=20, models_s=25.0)


class Contest:
    """Every answer is compared with the bare engine's, row by row.

    Thread: one.
    """

    def __init__(self, sides: Mapping[str, ServerSide], users: OwnProcess, bare: OwnProcess, words: Sequence[str], plan: Plan) -> None:
        """`sides`: ours and its peers; they answer already."""
        self.cosines: dict[str, float] = {}
        """The lowest of each side to the bare engine."""
        self.alone_vs_mixed = 1.0
        """The lowest cosine between a text that the bare engine computed alone and the same one in whatever batch it was served."""
        self._sides, self._users, self._bare, self._words, self._plan = sides, users, bare, words, plan
        self._random = Random(20_261_129)

    def run(self) -> dict[str, dict[str, Any]]:
        """Run all cases; return the figures of each."""
        plan, random = self._plan, self._random
        self._warm_up()
        found = {
            "users60": rates(self._served(lambda: [LINE_TOKENS] * plan.texts, plan.users)),
            "users60_short": rates(self._served(lambda: [SHORT_TOKENS] * plan.texts, plan.users)),
            "one_user": rates(self._served(lambda: [LINE_TOKENS] * plan.alone, 1, is_alone=True)),
            "mixed": rates(self._served(lambda: mixed_lengths(plan.mixed, _LEAST_MIXED, _MOST_MIXED, random), plan.users, is_sampled=True)),
            "batches": rates(self._served(lambda: [LINE_TOKENS] * (plan.batch * plan.batches), plan.batch_users, per_request=plan.batch)),
            "recurring": rates(self._recurring()),
        }
        return found | {"beside_bulk": beside_figures(self._beside())}

    def _warm_up(self) -> None:
        texts = texts_of(self._words, [LINE_TOKENS] * self._plan.batch, self._random)
        for side in self._sides.values():
            self._ask(side, texts, self._plan.batch_users, 1)
        self._bare_pass(texts)

    def _served(
        self, lengths: Callable[[], Sequence[int]], users: int, *, per_request: int = 1, is_alone: bool = False, is_sampled: bool = False
    ) -> Passes:
        """Let the sides answer equal texts in turns, new ones each round."""
        texts: list[str] = []

        def prepare() -> None:
            texts[:] = texts_of(self._words, lengths(), self._random)

        def turn(side: ServerSide) -> Callable[[], ServedPass]:
            return lambda: self._ask(side, texts, users, per_request)

        turns = {name: turn(side) for name, side in self._sides.items()} | {BARE: lambda: self._bare_pass(texts, is_alone=is_alone)}
        passes = race(turns, self._plan.rounds, prepare=prepare)
        self._compare(passes)
        if is_sampled:
            every = max(len(texts) // self._plan.batch, 1)
            alone = self._bare_pass(texts[::every], is_alone=True).rows  # of the last round
            self.alone_vs_mixed = min(self.alone_vs_mixed, worst_cosine(passes[OURS][-1].rows[::every], alone))
        return passes

    def _recurring(self) -> Passes:
        """Let the sides answer the same few texts again and again; before that each is asked once."""
        plan = self._plan
        few = texts_of(self._words, [LINE_TOKENS] * plan.recurring, self._random)
        texts = few * plan.repeats
        bare = self._bare_pass(few).rows

        def turn(name: str) -> Callable[[], ServedPass]:
            many = texts if name == OURS else few * 2  # the others compute each again

            def ask() -> ServedPass:
                served = self._ask(self._sides[name], many, plan.users, 1)
                self._note(name, worst_cosine(served.rows, np.tile(bare, (len(many) // len(few), 1))))
                return served

            return ask

        for side in self._sides.values():
            self._ask(side, few, plan.users, 1)
        return race({name: turn(name) for name in self._sides}, plan.rounds)

    def _beside(self) -> Mapping[str, Sequence[Beside]]:
        plan = self._plan

        def turn(name: str) -> Callable[[], Beside]:
            return lambda: self._beside_turn(name, self._sides[name])

        return race({name: turn(name) for name in self._sides}, plan.rounds)

    def _beside_turn(self, name: str, side: ServerSide) -> Beside:
        """Ask for many texts alone, then for as many others beside users with one text each."""
        plan, random = self._plan, self._random
        first, second = (texts_of(self._words, [plan.large_tokens] * plan.large, random) for _ in range(2))
        small = texts_of(self._words, [LINE_TOKENS] * max(int(TURN_S / plan.small_gap_s), 1), random)
        alone = self._ask(side, first, 1, plan.large)
        before = _batches(side) if name == OURS else None
        crowds = [
            Crowd(1, [request_body(side.model, second)]),
            Crowd(plan.small_users, [request_body(side.model, [text]) for text in small], plan.small_gap_s, is_beside=True),
        ]
        large, few = self._users.ask(Asked(side.target, crowds), TURN_S)
        after = _batches(side) if name == OURS else None
        found = Beside(
            alone=alone,
            large=_pass_of(large, [len(second)]),
            small=_pass_of(few, [1] * len(small), is_part=True),
            batch_s=None if before is None or after is None else (after[0] - before[0]) / max(after[1] - before[1], 1.0),
            small_tokens_share=LINE_TOKENS / plan.large_tokens,
        )
        if name == OURS:
            places = sorted(one.place for one in few)
            wanted = self._bare_pass([*second[: plan.batch], *(small[place] for place in places)]).rows
            self._note(name, worst_cosine(np.concatenate([found.large.rows[: plan.batch], found.small.rows]), wanted))
        return found

    def _ask(self, side: ServerSide, texts: Sequence[str], users: int, per_request: int) -> ServedPass:
        parts = list(in_requests(texts, per_request))
        crowd = Crowd(users, [request_body(side.model, part) for part in parts])
        (answered,) = self._users.ask(Asked(side.target, [crowd]), TURN_S)
        return _pass_of(answered, [len(part) for part in parts])

    def _bare_pass(self, texts: Sequence[str], *, is_alone: bool = False) -> ServedPass:
        found: BarePass = self._bare.ask(BareWork(list(texts), is_alone))
        return ServedPass(len(texts), found.seconds, found.each_s if is_alone else (), found.vectors)

    def _compare(self, passes: Passes) -> None:
        for name, each in passes.items():
            for one, wanted in zip(each, passes[BARE], strict=True):
                self._note(name, worst_cosine(one.rows, wanted.rows))

    def _note(self, name: str, cosine: float) -> None:
        if cosine < LEAST_COSINE:
            raise Wrong(f"{name}: a vector's cosine to the bare engine's is {cosine:.4f}, at least {LEAST_COSINE}")
        if name != BARE:
            self.cosines[name] = min(self.cosines.get(name, 1.0), cosine)


def _pass_of(answered: Sequence[Answered], sizes: Sequence[int], *, is_part: bool = False) -> ServedPass:
    """Return the pass of some answers, in the order of their bodies. Raises Wrong if one is missing or refused."""
    if not is_part and len(answered) != len(sizes):
        raise Wrong(f"{len(answered)} answers to {len(sizes)} requests")
    if not answered:
        raise Wrong("the users beside a large request asked for nothing before it was answered")
    ordered = sorted(answered, key=lambda one: one.place)
    rows = np.concatenate([vectors_in(one, sizes[one.place]) for one in ordered])
    seconds = max(one.ended_s for one in ordered) - min(one.sent_s for one in ordered)
    return ServedPass(len(rows), seconds, [one.seconds for one in ordered], rows)


def _batches(side: ServerSide) -> tuple[float, float]:
    """Return the seconds of all batches so far, and how many there were."""
    return read_metric(side.target, f"{_BATCH_SECONDS}_sum"), read_metric(side.target, f"{_BATCH_SECONDS}_count")

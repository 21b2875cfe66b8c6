"""Whether a failed batch is the fault of a text or of the engine."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.engine import FakeEngine
from worker.embedding.guarded_engine import EngineFailed, GuardedEngine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import Golden
from worker.embedding.model.vectors import EmbeddingFailed, TokenIds, Vectors

BAD, NOT_FINITE, STRETCHED = 7, 8, 9
"""Ids of texts that fail: the engine raises, or its vector is not one of length 1."""
WAIT_S = 20.0


def text(*ids: int) -> TokenIds:
    return np.array([101, *ids, 102], dtype=np.int32)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(dim=8)


class Bench:
    """A guarded fake engine, what it said, and the spare engines."""

    def __init__(self, engine: FakeEngine) -> None:
        self.said: list[str] = []
        self.spare: list[FakeEngine] = []
        self.made: list[FakeEngine] = []
        self.busy_while_made: list[float | None] = []
        self.now_s = 5.0
        ids = [text(500), text(501, 502)]
        golden = Golden(ids, engine.embed(ids))
        engine.calls.clear()
        self.guarded = GuardedEngine(engine, golden, new_engine=self._new_engine, say=self.said.append, clock=lambda: self.now_s)

    def _new_engine(self) -> FakeEngine:
        self.busy_while_made.append(self.guarded.busy_since_s)
        if not self.spare:
            raise ModelError("no other engine can be made")
        self.made.append(self.spare.pop(0))
        return self.made[-1]


def engines(count: int, **switches: object) -> list[FakeEngine]:
    """Return fake engines with these switches set."""
    made = [FakeEngine(dim=8) for _ in range(count)]
    for engine in made:
        for name, value in switches.items():
            setattr(engine, name, value)
    return made


def assert_right(outcomes: Sequence[object], batch: Sequence[TokenIds]) -> None:
    """Check that every text has its own vector."""
    right = FakeEngine(dim=8)
    assert len(outcomes) == len(batch)
    for outcome, ids in zip(outcomes, batch, strict=True):
        assert np.array_equal(np.asarray(outcome), right.embed([ids])[0])


@pytest.fixture
def bench(engine: FakeEngine) -> Bench:
    return Bench(engine)


@pytest.fixture
def guarded(bench: Bench) -> GuardedEngine:
    return bench.guarded


class WrongShape(FakeEngine):
    """Returns vectors of another length or another dimension when told to."""

    length = 1.0
    narrow = False

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        vectors = super().embed(batch)
        vectors[[STRETCHED in ids for ids in batch[: len(vectors)]]] *= self.length
        return vectors[:, :-1] if self.narrow else vectors


REASONS = {
    BAD: "the engine fails on this text: asked to fail on this text",
    NOT_FINITE: "the engine gives no finite vector for this text",
    STRETCHED: "the engine gives no finite vector for this text",
}


@settings(deadline=None)
@given(
    kinds=st.lists(st.sampled_from([None, None, BAD, NOT_FINITE, STRETCHED]), max_size=9),
    length=st.sampled_from([0, 0.99, 1.01, 8]),
    memory_tokens=st.sampled_from([None, 7, 12]),
    batch_tokens=st.sampled_from([512, 10]),
)
def test_texts_that_fail_alone_are_blamed_and_every_other_has_its_own_vector(
    kinds: Sequence[int | None], length: float, memory_tokens: int | None, batch_tokens: int
) -> None:
    """Also where memory is short, or a batch fails that is only too large."""
    engine = WrongShape(dim=8)
    bench = Bench(engine)
    engine.raises_on, engine.nan_on, engine.length = {BAD}, {NOT_FINITE}, length
    engine.max_tokens, engine.memory_tokens, engine.batch_tokens = 4, memory_tokens, batch_tokens
    batch = [text(number + 10 if kind is None else kind) for number, kind in enumerate(kinds)]
    outcomes = bench.guarded.embed(batch)
    found = [outcome.reason if isinstance(outcome, EmbeddingFailed) else None for outcome in outcomes]
    assert found == [None if kind is None else REASONS[kind] for kind in kinds]
    sound = [number for number, kind in enumerate(kinds) if kind is None]
    assert_right([outcomes[number] for number in sound], [batch[number] for number in sound])
    assert bench.made == []


def test_a_text_above_the_models_limit_says_so(guarded: GuardedEngine, engine: FakeEngine) -> None:
    engine.max_tokens = 10
    outcomes = guarded.embed([text(*range(20)), text(1)])
    assert outcomes[0] == EmbeddingFailed("longer than the model's limit")
    assert not isinstance(outcomes[1], EmbeddingFailed)


@pytest.mark.parametrize("fault", ["nan_on", "raises_on"])
def test_nobody_is_blamed_while_the_golden_texts_fail_too(guarded: GuardedEngine, engine: FakeEngine, fault: str) -> None:
    setattr(engine, fault, {BAD, 501})
    with pytest.raises(EngineFailed, match="golden texts"):
        guarded.embed([text(1), text(BAD)])


@pytest.mark.parametrize(
    ("fault", "shape"), [({"vectors_missing": 1}, "(1, 8)"), ({"vectors_missing": 2}, "(0, 8)"), ({"narrow": True}, "(2, 7)")]
)
def test_vectors_of_another_shape_are_the_engines_fault_and_it_is_replaced(fault: dict[str, object], shape: str) -> None:
    engine = WrongShape(dim=8)
    bench = Bench(engine)
    bench.spare = engines(1)
    for name, value in fault.items():
        setattr(engine, name, value)
    batch = [text(1), text(2)]
    assert_right(bench.guarded.embed(batch), batch)
    assert bench.said == [f"the engine gave {shape} numbers for 2 texts of 8 dimensions; loading another engine (1 of 3)"]
    assert engine.closed


def test_the_start_check_passes_a_sound_engine_and_stops_another_model(guarded: GuardedEngine, engine: FakeEngine) -> None:
    guarded.check_engine()
    engine.wrong = True
    with pytest.raises(EngineFailed, match=r"wrong \(cosine"):
        guarded.check_engine()


def test_a_batch_on_which_the_engine_raises_is_cut_in_halves_until_one_text_is_left(guarded: GuardedEngine, engine: FakeEngine) -> None:
    engine.raises_on = {BAD}
    guarded.embed([text(10), text(11), text(12), text(BAD)])
    assert engine.calls == [[3] * 4, [3] * 2, [3] * 2, [3], [3], [3, 4]], "all, halves, each of the second half, the golden texts"


def test_lack_of_memory_halves_the_batch_and_those_after_it_and_blames_nobody(bench: Bench, engine: FakeEngine) -> None:
    engine.max_tokens, engine.memory_tokens = 20, 60
    batch = [text(*range(10, 18)) for _ in range(10)]
    assert_right(bench.guarded.embed(batch), batch)
    assert engine.calls == [[10] * 10, [10] * 5, [10] * 5]
    assert bench.guarded.limit_tokens == 50
    assert bench.said == [
        "the engine's memory is too small for a batch (no memory for 100 tokens); batches have at most 50 tokens from now on"
    ]
    assert bench.made == []


def test_every_shrink_is_said_once_and_never_goes_below_the_longest_text(bench: Bench, engine: FakeEngine) -> None:
    engine.max_tokens, engine.memory_tokens = 20, 15
    batch = [text(*range(10, 18)) for _ in range(16)]
    for _ in range(3):
        assert_right(bench.guarded.embed(batch), batch)
    assert bench.guarded.limit_tokens == 20
    assert [line.rpartition("; ")[2] for line in bench.said] == [f"batches have at most {n} tokens from now on" for n in (80, 40, 20)]
    assert all(isinstance(outcome, np.ndarray) for outcome in bench.guarded.embed(batch[:2]))


def test_a_smaller_batch_that_lacks_memory_does_not_make_the_limit_larger(bench: Bench, engine: FakeEngine) -> None:
    engine.max_tokens, engine.memory_tokens = 20, 30
    bench.guarded.embed([text(*range(10, 18)) for _ in range(4)])
    assert bench.guarded.limit_tokens == 20
    engine.max_tokens = 40
    bench.guarded.embed([text(*range(10, 18)) for _ in range(10)])
    assert bench.guarded.limit_tokens == 20
    assert len(bench.said) == 1


def test_a_bad_text_is_to_blame_although_the_golden_texts_are_the_first_that_lack_memory(bench: Bench, engine: FakeEngine) -> None:
    engine.max_tokens, engine.memory_tokens, engine.raises_on = 4, 5, {BAD}
    assert [type(one) for one in bench.guarded.embed([text(BAD)])] == [EmbeddingFailed]
    assert bench.guarded.restarts == 0
    assert bench.guarded.limit_tokens <= 5 < sum(map(len, (text(500), text(501, 502))))


def test_the_golden_texts_go_in_smaller_batches_too_once_memory_was_short(bench: Bench, engine: FakeEngine) -> None:
    """All golden texts together do not fit: that must not count as a broken engine."""
    engine.max_tokens, engine.memory_tokens, engine.raises_on = 4, 5, {BAD}
    outcomes = bench.guarded.embed([text(1), text(2), text(BAD), text(3)])
    assert [isinstance(outcome, EmbeddingFailed) for outcome in outcomes] == [False, False, True, False]
    assert bench.guarded.limit_tokens == 4
    assert bench.made == []


def test_an_engine_that_dies_once_is_replaced_and_the_same_batch_gets_its_vectors(bench: Bench, engine: FakeEngine) -> None:
    engine.dead = True
    bench.spare = engines(3)
    batch = [text(number + 10) for number in range(5)]
    assert_right(bench.guarded.embed(batch), batch)
    assert len(bench.made) == 1
    assert engine.closed
    assert bench.made[0].calls == [[3, 4], [3] * 5], "the golden texts, then the whole batch"
    assert bench.said == ["the engine is told to be dead; loading another engine (1 of 3)"]
    bench.guarded.close()
    assert bench.made[0].closed


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"dies_on": {BAD}}, "^the engine is told to be dead; 3 new engines did not help$"),
        ({"raises_on": {101}}, "^the engine fails on the golden texts: .*; 3 new engines did not help$"),
        ({"memory_tokens": 8}, "^one text alone does not fit into memory: no memory for 9 tokens; 3 new engines did not help$"),
    ],
)
def test_after_three_new_engines_with_the_same_fault_it_is_over(
    bench: Bench, engine: FakeEngine, fault: dict[str, object], reason: str
) -> None:
    engine.__dict__.update(fault)
    bench.spare = engines(5, **fault)
    with pytest.raises(EngineFailed, match=reason):
        bench.guarded.embed([text(1), text(BAD, *range(11, 17))])
    told = [line.rpartition("; ")[2] for line in bench.said if "another engine" in line]
    assert told == [f"loading another engine ({n} of 3)" for n in (1, 2, 3)]
    assert all(made.closed for made in bench.made[:2])


def test_an_engine_that_dies_over_one_half_begins_the_whole_batch_anew(bench: Bench, engine: FakeEngine) -> None:
    engine.dies_on = {13}
    engine.batch_tokens = 10  # so that the whole batch fails before it can kill the engine
    bench.spare = engines(1)
    batch = [text(number) for number in (10, 11, 12, 13)]
    assert_right(bench.guarded.embed(batch), batch)
    assert engine.calls == [[3] * 2, [3] * 2]
    assert bench.made[0].calls == [[3, 4], [3] * 4]


def test_a_good_batch_in_between_begins_the_count_anew(bench: Bench, engine: FakeEngine) -> None:
    engine.dead = True
    bench.spare = engines(10)
    for number in range(10):
        batch = [text(number + 10)]
        assert_right(bench.guarded.embed(batch), batch)
        assert len(bench.made) == number + 1
        bench.made[-1].dead = True
    assert {line.rpartition("; ")[2] for line in bench.said} == {"loading another engine (1 of 3)"}


@pytest.mark.parametrize(
    "fault", [{"wrong": True}, {"dead": True}, {"raises_on": {501}}, {"nan_on": {501}}, {"vectors_missing": 1}, {"memory_tokens": 3}]
)
def test_a_new_engine_that_fails_the_golden_texts_is_tried_again(bench: Bench, engine: FakeEngine, fault: dict[str, object]) -> None:
    engine.dead = True
    bench.spare = [*engines(2, **fault), *engines(1)]
    batch = [text(1), text(2)]
    assert_right(bench.guarded.embed(batch), batch)
    assert len(bench.made) == 3
    assert [made.closed for made in bench.made] == [True, True, False]
    assert sum("golden texts" in line for line in bench.said) == 2


@pytest.mark.parametrize(
    "call", [lambda guarded: guarded.embed([text(1)]), lambda guarded: guarded.check_engine()], ids=["batch", "golden"]
)
def test_it_is_busy_since_the_engine_was_given_something_until_it_answers(
    bench: Bench, engine: FakeEngine, call: Callable[[GuardedEngine], object]
) -> None:
    engine.gate = threading.Event()
    thread = threading.Thread(target=call, args=(bench.guarded,), daemon=True)
    seen = [bench.guarded.busy_since_s]
    engine.entered.clear()
    bench.now_s = 6.0
    thread.start()
    assert engine.entered.wait(WAIT_S)
    bench.now_s = 7.0
    seen.append(bench.guarded.busy_since_s)
    engine.gate.set()
    thread.join(WAIT_S)
    assert [*seen, bench.guarded.busy_since_s] == [None, 6.0, None]


def test_an_engine_that_cannot_be_made_is_tried_three_times_and_it_is_busy_only_meanwhile(bench: Bench, engine: FakeEngine) -> None:
    engine.dead = True
    with pytest.raises(EngineFailed, match="3 new engines did not help") as failed:
        bench.guarded.embed([text(1)])
    assert isinstance(failed.value.__cause__, ModelError)
    assert bench.said[1:] == [f"no other engine can be made; loading another engine ({n} of 3)" for n in (2, 3)]
    assert bench.guarded.busy_since_s is None
    assert bench.busy_while_made == [bench.now_s] * 3

"""Whose fault a failed batch is."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from worker.engine.engine import TokenIds, Vectors
from worker.judge import EngineFailed, Judge
from worker.model.folder import ModelError
from worker.model.golden import Golden

BAD = 7


def text(*ids: int) -> TokenIds:
    return np.array([101, *ids, 102], dtype=np.int32)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(dim=8)


class Bench:
    """A judge over a fake engine, what it said, and the engines that stand by.

    Thread: the test's.
    """

    def __init__(self, engine: FakeEngine) -> None:
        self.said: list[str] = []
        self.spare: list[FakeEngine] = []
        self.now_s = 5.0
        ids = [text(500), text(501, 502)]
        golden = Golden(ids, engine.embed(ids))
        engine.calls.clear()
        self.judge = Judge(engine, golden, new_engine=self._new_engine, say=self.said.append, clock=lambda: self.now_s)

    def _new_engine(self) -> FakeEngine:
        if not self.spare:
            raise ModelError("no other engine can be made")
        return self.spare.pop(0)


@pytest.fixture
def bench(engine: FakeEngine) -> Bench:
    return Bench(engine)


@pytest.fixture
def judge(bench: Bench) -> Judge:
    return bench.judge


class Squeezed(FakeEngine):
    """Gives vectors of length 0 where it is told to, or of another dimension."""

    zero = False
    narrow = False

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        vectors = super().embed(batch)
        if self.zero:
            vectors[[BAD in ids for ids in batch]] = 0
        return vectors[:, :-1] if self.narrow else vectors


def test_a_sound_batch_is_one_call(judge: Judge, engine: FakeEngine) -> None:
    batch = [text(1), text(2, 3), text(4)]
    vectors = judge.embed(batch)
    assert engine.calls == [[3, 4, 3]]
    for ids, vector in zip(batch, vectors, strict=True):
        assert not isinstance(vector, str)
        assert vector.tolist() == engine.embed([ids])[0].tolist()


@pytest.mark.parametrize("place", range(5))
def test_one_text_without_a_finite_vector_is_blamed_alone(judge: Judge, engine: FakeEngine, place: int) -> None:
    engine.nan_on = {BAD}
    batch = [text(number + 10) for number in range(5)]
    batch[place] = text(BAD)
    outcomes = judge.embed(batch)
    assert [isinstance(outcome, str) for outcome in outcomes] == [number == place for number in range(5)]
    assert "no finite vector" in str(outcomes[place])
    assert all(
        np.array_equal(outcome, engine.embed([ids])[0])
        for outcome, ids in zip(outcomes, batch, strict=True)
        if not isinstance(outcome, str)
    )


@pytest.mark.parametrize("places", [{0}, {4}, {1, 3}, {0, 1, 2, 3, 4}])
def test_texts_on_which_the_engine_raises_are_blamed_and_no_others(judge: Judge, engine: FakeEngine, places: set[int]) -> None:
    engine.raises_on = {BAD}
    outcomes = judge.embed([text(BAD if number in places else number + 10) for number in range(5)])
    assert {number for number, outcome in enumerate(outcomes) if isinstance(outcome, str)} == places
    assert all(outcomes[place] == "the engine fails on this text: asked to fail on this text" for place in places)


def test_a_vector_of_length_0_is_no_vector() -> None:
    engine = Squeezed(dim=8)
    judge = Bench(engine).judge
    engine.zero = True
    outcomes = judge.embed([text(1), text(BAD)])
    assert [isinstance(outcome, str) for outcome in outcomes] == [False, True]


def test_a_text_above_the_models_limit_says_so(judge: Judge, engine: FakeEngine) -> None:
    engine.max_tokens = 10
    outcomes = judge.embed([text(*range(20)), text(1)])
    assert outcomes[0] == "longer than the model's limit"
    assert not isinstance(outcomes[1], str)


def test_a_batch_that_only_fails_together_blames_nobody(judge: Judge, engine: FakeEngine) -> None:
    engine.batch_tokens = 10  # more than that together raises, as a native call without memory would
    assert not any(isinstance(outcome, str) for outcome in judge.embed([text(number) for number in range(8)]))


@pytest.mark.parametrize("fault", ["nan_on", "raises_on"])
def test_nobody_is_blamed_while_the_golden_texts_fail_too(judge: Judge, engine: FakeEngine, fault: str) -> None:
    setattr(engine, fault, {BAD, 501})
    with pytest.raises(EngineFailed, match="golden texts"):
        judge.embed([text(1), text(BAD)])


def test_the_golden_texts_are_asked_after_the_text_that_fails(judge: Judge, engine: FakeEngine) -> None:
    engine.nan_on = {BAD}
    judge.embed([text(BAD)])
    assert engine.calls == [[3], [3, 4]]


@pytest.mark.parametrize("missing", [1, 2])
def test_fewer_vectors_than_texts_is_the_engines_fault(judge: Judge, engine: FakeEngine, missing: int) -> None:
    engine.vectors_missing = missing
    with pytest.raises(EngineFailed, match=r"numbers for 2 texts of 8 dimensions"):
        judge.embed([text(1), text(2)])


def test_vectors_of_another_dimension_are_the_engines_fault() -> None:
    engine = Squeezed(dim=8)
    judge = Bench(engine).judge
    engine.narrow = True
    with pytest.raises(EngineFailed, match="dimensions"):
        judge.embed([text(1)])


def test_the_start_check_passes_a_sound_engine_and_stops_another_model(judge: Judge, engine: FakeEngine) -> None:
    judge.check_engine()
    engine.wrong = True
    with pytest.raises(EngineFailed, match=r"wrong \(cosine"):
        judge.check_engine()

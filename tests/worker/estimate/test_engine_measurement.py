"""The engine's speed, measured on the user's texts."""

import numpy as np

from tests.fakes.engine import FakeEngine
from tests.worker.estimate.streams import ticking
from worker.embedding.model.vectors import TokenIds
from worker.estimate.engine_measurement import measure_engine


def texts(*lengths: int, first: int = 7) -> list[TokenIds]:
    return [np.full(length, first + number, dtype=np.int32) for number, length in enumerate(lengths)]


def test_batches_are_filled_by_tokens_and_the_first_one_is_not_counted() -> None:
    engine = FakeEngine(batch_tokens=512)

    measurement = measure_engine(engine, texts(*[128] * 8), clock=ticking(0.5), least_s=1.0)

    assert engine.calls == [[128] * 4] * 3
    assert (measurement.tokens, measurement.seconds, measurement.failed_batches) == (1024, 1.0, 0)
    assert measurement.tokens_per_s == 1024


def test_few_texts_are_embedded_again_until_the_time_is_up() -> None:
    engine = FakeEngine()

    measurement = measure_engine(engine, texts(10), clock=ticking(0.1), least_s=0.95)

    assert (len(engine.calls), measurement.tokens) == (11, 100)


def test_a_batch_that_fails_is_not_counted_and_not_tried_again() -> None:
    engine = FakeEngine(batch_tokens=256)
    engine.raises_on = {8}

    measurement = measure_engine(engine, texts(200, 200, 200), clock=ticking(1.0), least_s=4.0)

    assert (measurement.failed_batches, measurement.tokens, measurement.seconds) == (1, 800, 4.0)


def test_an_engine_that_fails_on_everything_has_no_speed() -> None:
    engine = FakeEngine()
    engine.raises_on = {7}

    measurement = measure_engine(engine, texts(10), clock=ticking(1.0), least_s=4.0)

    assert (measurement.tokens_per_s, measurement.failed_batches) == (None, 1)


def test_without_texts_the_engine_is_not_asked() -> None:
    engine = FakeEngine()

    assert measure_engine(engine, [], clock=ticking(1.0), least_s=4.0).tokens_per_s is None
    assert engine.calls == []

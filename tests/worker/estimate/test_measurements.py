"""The processor time of a known line and the engine's speed, measured on the user's own lines."""

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest

from consumers.decode.decode_tally import DecodeTally
from tests.fakes.engine import FakeEngine
from tests.model_fixture import CACHE
from worker.embedding.loaded import model_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.engine_measurement import measure_engine
from worker.estimate.line_measurement import BATCH_LINES, LineTrial
from worker.indexing.pieces import new_chunker, new_decoder
from worker.settings.settings import load_settings
from worker.settings.tables import new_redactor

SETTINGS = load_settings(None, {"model": {"cache": str(CACHE)}})


def ticking(step_s: float) -> Callable[[], float]:
    """Return a clock that advances by `step_s` with each call."""
    looks = count()
    return lambda: next(looks) * step_s


@pytest.fixture
def tokenizer(prepared_model: PreparedModel) -> Iterator[Tokenizer]:
    made = Tokenizer(prepared_model)
    yield made
    made.close()


def trial_of(tokenizer: Tokenizer, tally: DecodeTally) -> LineTrial:
    return LineTrial(
        decoder=new_decoder(SETTINGS.topic[0], SETTINGS.decode, tally),
        redactor=new_redactor(SETTINGS.redact),
        chunker=new_chunker(SETTINGS.mask, SETTINGS.decode, model_of(SETTINGS), tokenizer),
    )


@pytest.mark.parametrize(
    ("lines", "step_s", "least_s", "measured", "seconds"),
    [
        pytest.param(
            [b"door %d open" % n for n in range(50)], 2.0, 1.0, 150, 6.0, id="at least three rounds, and the first is not counted"
        ),
        pytest.param([b"door open"], 0.25, 2.5, 10, 2.5, id="until the time is up"),
        pytest.param([b"door open"] * (BATCH_LINES + 5), 1.0, 0.0, 3 * BATCH_LINES, 3.0, id="no more lines than a batch"),
        pytest.param([b"door open", None, b""], 1.0, 0.0, 6, 3.0, id="without lines above the limit"),
        pytest.param([None], 1.0, 1.0, 0, 0.0, id="nothing"),
    ],
)
def test_lines_are_indexed_over_and_over(
    tokenizer: Tokenizer, lines: list[bytes | None], step_s: float, least_s: float, measured: int, seconds: float
) -> None:
    found = trial_of(tokenizer, DecodeTally()).measure(lines, clock=ticking(step_s), least_s=least_s)

    assert (found.lines, found.seconds) == (measured, seconds)
    assert found.us_per_line == (1e6 * seconds / measured if measured else None)


def test_every_round_does_the_work(tokenizer: Tokenizer) -> None:
    tally = DecodeTally()

    trial_of(tokenizer, tally).measure([b"door \xff", b"door open"], clock=ticking(1.0), least_s=0.0)

    assert tally.replaced_records == 4


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


def test_without_a_batch_that_works_there_is_no_speed() -> None:
    engine = FakeEngine()
    engine.raises_on = {7}

    measurement = measure_engine(engine, texts(10), clock=ticking(1.0), least_s=4.0)

    assert (measurement.tokens_per_s, measurement.failed_batches) == (None, 1)
    assert measure_engine(engine, [], clock=ticking(1.0), least_s=4.0).tokens_per_s is None
    assert len(engine.calls) <= 1

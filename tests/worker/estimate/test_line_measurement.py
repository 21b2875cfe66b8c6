"""The processor time of a known line, measured on the user's own lines."""

from collections.abc import Iterator

import pytest

from consumers.decode.tally import DecodeTally
from tests.model_fixture import CACHE
from tests.worker.estimate.streams import ticking
from worker.embedding.loaded import model_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.line_measurement import BATCH_LINES, LineTrial
from worker.indexing.pieces import new_chunker, new_decoder
from worker.settings.settings import load_settings
from worker.settings.tables import new_redactor

SETTINGS = load_settings(None, {"model": {"cache": str(CACHE)}})


@pytest.fixture
def tokenizer(prepared_model: PreparedModel) -> Iterator[Tokenizer]:
    made = Tokenizer(prepared_model)
    yield made
    made.close()


@pytest.fixture
def trial(tokenizer: Tokenizer) -> LineTrial:
    """A trial with the default settings."""
    return trial_of(tokenizer, DecodeTally())


def trial_of(tokenizer: Tokenizer, tally: DecodeTally) -> LineTrial:
    return LineTrial(
        decoder=new_decoder(SETTINGS.topic[0], SETTINGS.decode, tally),
        redactor=new_redactor(SETTINGS.redact),
        chunker=new_chunker(SETTINGS.mask, SETTINGS.decode, model_of(SETTINGS), tokenizer),
    )


def test_the_first_round_is_not_counted_and_three_are_at_least(trial: LineTrial) -> None:
    measured = trial.measure([b"door %d open" % number for number in range(50)], clock=ticking(2.0), least_s=1.0)

    assert (measured.lines, measured.seconds) == (150, 6.0)
    assert measured.us_per_line == 40_000.0


def test_every_round_does_the_work(tokenizer: Tokenizer) -> None:
    tally = DecodeTally()

    trial_of(tokenizer, tally).measure([b"door \xff", b"door open"], clock=ticking(1.0), least_s=0.0)

    assert tally.replaced_records == 4


def test_it_goes_on_until_the_time_is_up(trial: LineTrial) -> None:
    assert trial.measure([b"door open"], clock=ticking(0.25), least_s=2.5).lines == 10


def test_no_more_lines_than_a_batch_are_tried(trial: LineTrial) -> None:
    assert trial.measure([b"door open"] * (BATCH_LINES + 5), clock=ticking(1.0), least_s=0.0).lines == 3 * BATCH_LINES


def test_lines_above_the_limit_are_left_out(trial: LineTrial) -> None:
    assert trial.measure([b"door open", None, b""], clock=ticking(1.0), least_s=0.0).lines == 6


def test_without_lines_there_is_no_figure(trial: LineTrial) -> None:
    measured = trial.measure([None], clock=ticking(1.0), least_s=1.0)

    assert (measured.lines, measured.seconds, measured.us_per_line) == (0, 0.0, None)

"""A worker's own model as a change of the index uses it."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from sinks.row import TemplateText
from tests.fakes.engine import FakeEngine
from tests.worker.serving.embeddings.embedding_server import loaded_with
from worker.embedding.encoded_text import Done, Embedded, EncodedText
from worker.embedding.model.prepared import PreparedModel
from worker.reindex.space_model import SpaceModel
from worker.runtime.stage import Abandoned


class Computes:
    """An embedder that answers each submit in two parts, the last texts first; the vector of a text is its number of tokens."""

    def __init__(self) -> None:
        self.texts: list[EncodedText] = []
        self.is_closed = False
        self.is_abandoned = False

    def submit(self, texts: Sequence[EncodedText], done: Done) -> None:
        if self.is_closed:
            raise RuntimeError("closed")
        self.texts += texts
        if self.is_abandoned:
            return
        embedded = [Embedded(place, np.array([len(text.ids)], np.float32), 0.0, 0.0) for place, text in enumerate(texts)]
        done(embedded[1:])
        done(embedded[:1])


@pytest.fixture
def computes() -> Computes:
    return Computes()


@pytest.fixture
def model(plain_model: PreparedModel, computes: Computes) -> Iterator[SpaceModel]:
    model = SpaceModel(loaded_with(plain_model, FakeEngine()), computes.submit, lambda: computes.is_abandoned)
    yield model
    model.close()


def test_each_text_gets_its_own_vector_and_long_ones_are_cut(model: SpaceModel, computes: Computes) -> None:
    outcomes = model.embed([TemplateText("disk full"), TemplateText("word " * 1_000)])
    assert [outcome.tolist() for outcome in outcomes if isinstance(outcome, np.ndarray)] == [[4.0], [256.0]]
    assert computes.texts[1].ids[-1] == computes.texts[0].ids[-1]
    assert {text.urgency for text in computes.texts} == {"online"}
    assert model.embed([]) == []


@pytest.mark.parametrize("end", ["is_closed", "is_abandoned"])
def test_an_embedder_that_has_ended_ends_it_without_a_crash(model: SpaceModel, computes: Computes, end: str) -> None:
    setattr(computes, end, True)
    with pytest.raises(Abandoned):
        model.embed([TemplateText("disk full")])

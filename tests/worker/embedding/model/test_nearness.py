"""What is measured of a model when it is prepared: which cosine means that a line has to do with a question."""

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.worker.embedding.model.tiny import make_folder
from worker.embedding.model.nearness import Nearness, measure_nearness, read_nearness
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.vectors import Vectors

DIM = 64
Embed = Callable[[Sequence[str]], Vectors]


def direction(text: str) -> NDArray[np.float32]:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
    vector = np.random.default_rng(seed).normal(size=DIM)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def embedding(meaning: Callable[[int, str], NDArray[np.float32]]) -> Embed:
    """Return what embeds texts by their place in the list."""

    def embed(texts: Sequence[str]) -> Vectors:
        rows = np.stack([meaning(place, text) for place, text in enumerate(texts)])
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    return embed


def knowing(common: float = 0.0) -> Nearness | None:
    """Measure a model that knows which line answers a question; `common` is what all of its vectors share."""

    def by_pair(place: int, text: str) -> NDArray[np.float32]:
        return np.asarray(direction(f"pair {place}") + 0.2 * direction(text) + common * direction("all"), np.float32)

    def asked(texts: Sequence[str]) -> Vectors:
        is_related = "password" in texts[0]
        return embedding(by_pair if is_related else lambda _, text: direction(text) + np.float32(common) * direction("all"))(texts)

    return measure_nearness(asked, embedding(by_pair))


def test_a_model_that_knows_answers_has_a_cut_between_them_and_all_else() -> None:
    found = knowing()
    assert found is not None
    assert found.floor < found.near < found.strong
    assert found.strong > 0.9
    assert found.floor == pytest.approx(0, abs=0.05)
    assert np.linalg.norm(found.bearing) == pytest.approx(1, abs=1e-3)


def test_the_cuts_are_in_the_range_of_the_models_own_cosines() -> None:
    apart, crowded = knowing(), knowing(common=2.0)
    assert apart is not None
    assert crowded is not None
    assert crowded.floor > 0.7 > apart.floor
    assert crowded.near > apart.near


def test_a_model_that_knows_nothing_has_no_cut_even_if_each_text_is_like_itself() -> None:
    axes: dict[str, int] = {}

    def one_axis_each(texts: Sequence[str]) -> Vectors:
        return np.eye(256, dtype=np.float32)[[axes.setdefault(text, len(axes)) for text in texts]]

    assert measure_nearness(one_axis_each, one_axis_each) is None


def test_a_question_in_the_direction_of_operations_needs_less() -> None:
    found = Nearness(near=0.3, strong=0.6, floor=0.1, bearing=(1.0, 0.0))
    assert found.cuts(np.array([1, 0], np.float32)) == pytest.approx((-0.2, 0.1, 0.1))
    assert found.cuts(np.array([-1, 0], np.float32)) == pytest.approx((0.8, 1.1, 0.1))


def test_what_is_written_is_read() -> None:
    found = knowing()
    assert found is not None
    assert read_nearness(json.loads(json.dumps(found._asdict()))) == found
    assert read_nearness(None) is None


def test_of_the_models_that_are_prepared_only_one_that_means_something_has_cuts(prepared_model: PreparedModel, tmp_path: Path) -> None:
    found = prepared_model.nearness
    assert found is not None
    assert 0.2 < found.near < found.strong < 0.8
    assert prepare_model(make_folder(tmp_path / "tiny"), tmp_path / "cache").nearness is None

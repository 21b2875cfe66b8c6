"""What is added to a model's weights, and differences that do not fit it."""

from pathlib import Path

import numpy as np
import pytest

from worker.embedding.model.difference import LOGS, add_difference
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import default_folder, read_folder
from worker.embedding.model.weights import read_weights, save_weights

BEFORE = {"a.weight": np.ones((2, 3), np.float32), "a.bias": np.ones(2, np.float32)}


def written(folder: Path, **parts: list[list[float]]) -> Path:
    save_weights({name.replace("_", "."): np.array(part, np.float16) for name, part in parts.items()}, folder / "thin.safetensors")
    return folder / "thin.safetensors"


def test_the_product_of_two_thin_matrices_is_added_to_the_one_they_name(tmp_path: Path) -> None:
    after = add_difference(BEFORE, written(tmp_path, a_weight_tall=[[1], [2]], a_weight_wide=[[1, 0, 0.5]]))
    assert after["a.weight"].tolist() == [[2, 1, 1.5], [3, 1, 2]]
    assert after["a.bias"] is BEFORE["a.bias"]
    assert BEFORE["a.weight"].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_difference_of_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"thin\.safetensors: a\.weight differs by \(1, 3\), and the model has \(2, 3\)"):
        add_difference(BEFORE, written(tmp_path, a_weight_tall=[[1]], a_weight_wide=[[1, 0, 0.5]]))
    with pytest.raises(ModelError, match=r"does not fit the model: KeyError\('b\.weight'\)"):
        add_difference(BEFORE, written(tmp_path, b_weight_tall=[[1]], b_weight_wide=[[1]]))
    with pytest.raises(ModelError, match=r"does not fit the model: KeyError\('a\.weight\.wide'\)"):
        add_difference(BEFORE, written(tmp_path, a_weight_tall=[[1]]))


def test_the_shipped_difference_is_small_and_fits_the_installed_model() -> None:
    assert LOGS.stat().st_size <= 3_000_000
    before = read_weights(read_folder(default_folder()).weights)
    after = add_difference(before, LOGS)
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert changed
    for name in changed:
        assert np.linalg.norm(after[name] - before[name]) < 0.2 * np.linalg.norm(before[name]), name

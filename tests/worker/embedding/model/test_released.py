"""The installed model is the released one, and any other content of its files is refused by name."""

import hashlib
from pathlib import Path

import pytest

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import default_folder
from worker.embedding.model.released import RELEASED, check_released


def test_the_installed_model_is_the_released_one() -> None:
    check_released(default_folder())


@pytest.mark.parametrize("name", RELEASED)
def test_a_file_that_was_changed_or_is_missing_is_named(tmp_path: Path, name: str) -> None:
    released = {}
    for one in RELEASED:
        (tmp_path / one).write_bytes(one.encode())
        released[one] = hashlib.sha256(one.encode()).hexdigest()
    check_released(tmp_path, released)
    (tmp_path / name).write_bytes(name.encode() + b" ")
    with pytest.raises(ModelError, match=rf"not the released one: \S+/{name} has SHA-256 \w+, expected {released[name]}; install"):
        check_released(tmp_path, released)
    (tmp_path / name).unlink()
    with pytest.raises(ModelError, match=rf"cannot be read: \S+/{name}: No such file"):
        check_released(tmp_path, released)

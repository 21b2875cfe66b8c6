"""The folder of a demo."""

from pathlib import Path

import pytest

from worker.cli.demo_folder import begin_run
from worker.cli.exits import CommandFailed


def test_every_run_in_a_folder_has_an_epoch_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "index"

    assert [begin_run(folder) for _ in range(3)] == ["run1", "run2", "run3"]


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    assert begin_run(tmp_path) == "run1"


def test_a_folder_with_other_things_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear …")

    with pytest.raises(CommandFailed, match="holds other things already"):
        begin_run(tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["letters.txt"]


def test_a_count_that_is_none_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "runs").write_bytes(b"\xff")

    with pytest.raises(CommandFailed, match="does not hold a number"):
        begin_run(tmp_path)

    assert (tmp_path / "runs").read_bytes() == b"\xff"


def test_a_count_that_a_killed_run_left_half_written_does_no_harm(tmp_path: Path) -> None:
    begin_run(tmp_path)
    (tmp_path / "runs.partial").write_text("")

    assert begin_run(tmp_path) == "run2"

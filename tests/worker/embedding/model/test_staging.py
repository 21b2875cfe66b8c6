"""The next process removes the folder of a killed one, but never that of a living one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.embedding.model.tiny import make_folder
from worker.embedding.model.prepared import prepare_model
from worker.embedding.model.staging import is_abandoned, remove_abandoned, staging_folder

NOW = 1_000_000.0
"""A time of day before every folder here, so that none is removed for its age."""
STAGER = """
import sys
from pathlib import Path
from worker.embedding.model.staging import staging_folder
with staging_folder(Path(sys.argv[1])) as staging:
    (staging / "half").write_text("half")
    print(staging.name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def start_stager(cache: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a process that holds a staging folder until its input ends; returns when it has the folder."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", STAGER, cache], stdin=pipe, stdout=pipe, text=True, cwd=Path(__file__).parents[4])
    assert process.stdout
    return process, cache / process.stdout.readline().strip()


def test_a_folder_is_gone_at_the_end_unless_it_was_renamed(cache: Path) -> None:
    with staging_folder(cache) as staging:
        (staging / "file").touch()
    assert list(cache.iterdir()) == []
    with staging_folder(cache) as staging:
        staging.rename(cache / "made")
    assert [file.name for file in cache.iterdir()] == ["made"]


@pytest.mark.process
def test_what_a_living_process_makes_stays_and_what_a_killed_one_left_goes(cache: Path) -> None:
    process, staging = start_stager(cache)
    with process:
        remove_abandoned(cache, now=NOW)
        assert (staging / "half").is_file()
        process.kill()
        process.wait()
        assert (staging / "half").is_file()
        remove_abandoned(cache, now=NOW)
        assert list(cache.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="only Linux opens a folder so that it cannot be locked")
def test_where_nothing_can_be_locked_a_days_age_decides(cache: Path) -> None:
    folder = os.open(cache, os.O_PATH)
    os.utime(cache, (NOW, NOW))
    assert is_abandoned(folder, NOW + 86_401)
    assert not is_abandoned(folder, NOW + 86_399)
    os.close(folder)


def test_the_next_prepare_removes_what_was_left(cache: Path, tmp_path: Path) -> None:
    (cache / ".staging-left").mkdir()
    (cache / ".staging-left" / "model.gguf").touch()
    model = prepare_model(make_folder(tmp_path / "hf"), cache)
    assert {file.name for file in cache.iterdir() if file.suffix != ".stamp"} == {model.folder.name}


@pytest.mark.process
def test_makers_and_removers_at_once_never_take_each_others_folders(cache: Path) -> None:
    """Each process fills folders while it removes those that it takes for abandoned; a stolen folder is an error."""
    program = """
import sys
from pathlib import Path
from worker.embedding.model.staging import staging_folder, remove_abandoned
cache = Path(sys.argv[1])
input()
for _ in range(150):
    with staging_folder(cache) as staging:
        remove_abandoned(cache, now=0.0)
        (staging / "file").write_text("whole")
        remove_abandoned(cache, now=0.0)
        assert (staging / "file").read_text() == "whole"
"""
    command = [sys.executable, "-c", program, str(cache)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=Path(__file__).parents[4]) for _ in range(4)]
    for process in running:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in running:
        process.communicate()
    assert [process.returncode for process in running] == [0, 0, 0, 0]
    assert list(cache.iterdir()) == []

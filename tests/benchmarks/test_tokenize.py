"""`python -m benchmarks.tokenize` runs to its end, on few lines."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.tokenize import Measured, figures_of, lines_of
from tests.worker.cli.console import ROOT, environment


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.tokenize", *words]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=240, check=False)


@pytest.mark.process
def test_a_file_of_odd_lines_has_equal_ids_on_every_side_that_must(tmp_path: Path) -> None:
    file = tmp_path / "some.log"
    file.write_bytes(b"Failed password for root from 10.0.0.1\n[SEP] \xff na\xc3\xafve " + b"x" * 200 + b"\n\n")

    ended = run(str(file), "--quick", "--json")

    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert list(figures)[:3] == ["vs_tokenizer_per_line", "vs_encode_batch_fast", "ids_equal"]
    assert figures["ids_equal"] is True
    assert figures["ids_equal_llama_tokenize"] is False  # the second line: for this the slow way is there
    assert (figures["vs_tokenizer_per_line"] is None) == (find_spec("transformers") is None)
    assert (figures["lines"], figures["foreign_share"]) == (3, 0.3333)
    assert list(figures["threads"]) == ["1", "2"]


@pytest.mark.long
@pytest.mark.process
def test_a_file_without_lines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()

    ended = run(str(tmp_path / "empty.log"))

    assert ended.returncode == 2
    assert "no line" in ended.stderr


def test_the_synthetic_lines_are_the_same_in_every_run() -> None:
    assert lines_of([], 50) == lines_of([], 50)


def test_the_first_figures_are_medians_of_the_most_threads() -> None:
    one = Measured(1, {"vectail": [9.0] * 3, "encode_batch_fast": [9.0] * 3}, {"encode_batch_fast": True}, 60.0, 0.0)
    two = one._replace(threads=2, lines_per_s={"vectail": [6.0, 8.0, 100.0], "encode_batch_fast": [2.0, 2.0, 2.0]})

    figures = figures_of([one, two], 3)

    assert (figures["vs_encode_batch_fast"], figures["vs_tokenizer_per_line"]) == (4.0, None)
    assert figures["threads"]["2"]["encode_batch_fast"]["times_worst"] == 3.0
    assert figures["ids_equal"] is True
    assert figures_of([one._replace(equal={"encode_batch_fast": False}), two], 3)["ids_equal"] is False

"""`python -m benchmarks.masks` masks the same on both sides, and says so if it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.masks import MaskColumn, MaskedDifferently, batches_of, figures_of, measure, our_side
from consumers.columns import Coded, Column
from consumers.text.mask import Masker
from tests.worker.cli.console import ROOT, environment

TEXTS = ["took 12ms", "status 404 of 10.0.0.1", "bye"]


def careless() -> MaskColumn:
    """Mask all but one text as we do."""
    masker = Masker()

    def mask_column(column: Column) -> Coded:
        codes, values = masker.mask_column(column)
        return Coded(codes, tuple("good night" if value == "bye" else value for value in values))

    return mask_column


def test_figures_name_both_sizes_and_a_ratio_only_with_another_side() -> None:
    alone = figures_of(TEXTS, [our_side], lines=30, rounds=1)
    assert (alone["distinct"], alone["lines"], list(alone["batch"])) == (3, 30, ["2000", "8000"])
    assert "vs" not in alone
    both = figures_of(TEXTS, [our_side, our_side], lines=30, rounds=1)
    assert list(both["vs_batch"]) == ["2000", "8000"]
    assert both["vs"] == both["vs_batch"]["8000"]


def test_a_line_that_is_masked_differently_ends_the_comparison() -> None:
    with pytest.raises(MaskedDifferently, match="'bye' is masked to 'bye' here and to 'good night' there"):
        measure([our_side, careless], batches_of(TEXTS, 30, 10), rounds=1)


@pytest.mark.process
def test_runs_on_a_file_of_lines(tmp_path: Path) -> None:
    file = tmp_path / "some.log"
    file.write_text("\n".join(TEXTS) + "\n")
    command = [sys.executable, "-m", "benchmarks.masks", str(file), "--quick", "--json"]
    ended = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["distinct"] == len(TEXTS)

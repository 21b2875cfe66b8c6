"""vLLM's errors, classified and in one line; and a broken installation, which the user must repair."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.model_fixture import CACHE
from worker.embedding.engine.vllm_library import one_line

WAIT_S = 120


def test_a_reason_is_one_line_in_the_names_of_our_settings() -> None:
    error = ValueError("1 validation error for CacheConfig\n  Value error, decrease gpu_memory_utilization\n" + "x" * 1000)
    reason = one_line(error)
    assert reason.startswith("ValueError: 1 validation error for CacheConfig Value error, decrease engine.memory_share xxx")
    assert len(reason) < 350
    assert "\n" not in reason
    assert one_line(RuntimeError()) == "RuntimeError: no reason given"


@pytest.mark.usefixtures("prepared_model")
def test_a_vllm_that_cannot_be_imported_is_refused_in_one_line(tmp_path: Path) -> None:
    for library in ("vllm", "torch"):
        (tmp_path / library).mkdir()
        (tmp_path / library / "__init__.py").write_text("raise ImportError('libcudart.so.13: cannot open')", encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VECTAIL_")}
    ended = subprocess.run(
        [sys.executable, "-m", "worker", "model", "check"],
        env=inherited | {"PYTHONPATH": str(tmp_path), "VECTAIL_MODEL__CACHE": str(CACHE)},
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "vectail: vLLM cannot load all-MiniLM-L6-v2-logs: ImportError: libcudart.so.13: cannot open "
        "(`make vllm` repairs an installation; engine.name = 'llama' needs none)\n"
    )

"""An index that one engine began can be continued by the other engine: two demos on one folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.worker.cli.conftest import RunHere
from worker.cli.exit_codes import DRAINED

LINES = [
    f"{word} {verb} after {number} tries" for number, word in enumerate(("disk", "network", "login")) for verb in ("failed", "recovered")
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "app.log"
    file.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


def demo(run_here: RunHere, log: Path, index: Path) -> dict[str, Any]:
    ended = run_here("demo", str(log), "--data", str(index), "--query", "the disk is broken", "--json")
    assert ended.exit_code == DRAINED, ended.err
    result: dict[str, Any] = json.loads(ended.out)
    return result


@pytest.mark.long
@pytest.mark.usefixtures("vllm_installed")
def test_vllm_continues_what_llama_cpp_began(run_here: RunHere, monkeypatch: pytest.MonkeyPatch, log: Path, index: Path) -> None:
    began = demo(run_here, log, index)
    assert (began["engine"], began["records"], began["templates"]) == ("llama.cpp", 6, 6)
    assert began["tokens_embedded"] > 0
    monkeypatch.setenv("VECTAIL_ENGINE__NAME", "vllm")
    continued = demo(run_here, log, index)
    assert continued["engine"] == "vllm"
    assert continued["space"] == began["space"]
    assert (continued["tokens_embedded"], continued["lines"]) == (0, 12)
    assert {hit["template"] for hit in continued["queries"][0]["hits"]} == {hit["template"] for hit in began["queries"][0]["hits"]}

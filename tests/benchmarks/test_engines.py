"""`benchmarks.engines` on a few lines: every side returns vectors, ratios are taken within a round, and a rival that fails is left out."""

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Race, Rival, compare, synthetic
from benchmarks.engines_report import BARE, LLM, OURS, SENTENCE, Compared, figures_of, show_table
from benchmarks.rivals.own_process import LeftOut, OwnProcess, Turn
from tests.worker.running import wait_until
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import load_settings
from worker.settings.tables import EngineTable, ModelTable

OPENERS = "tests.benchmarks.openers"


def turns(seconds: Sequence[float], vectors: list[list[float]]) -> list[Turn]:
    return [Turn(one, 2 * one, np.array(vectors, dtype=np.float32)) for one in seconds]


def runs(pid: int) -> bool:
    """Whether the process is there and no zombie, which waits only for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_stage_and_the_bare_engine_give_the_same_vectors(prepared_model: PreparedModel) -> None:
    engine = EngineTable(name="llama", batch_tokens=256)
    settings = load_settings(None).model_copy(update={"engine": engine, "model": ModelTable(cache=prepared_model.folder.parent)})
    compared = compare(settings, synthetic(24), 2, {})
    figures = figures_of(compared)
    assert [len(one.vectors) for one in compared.turns[OURS]] == [24, 24]
    assert figures["min_cosine_bare"] > 0.99999
    assert figures["vs_bare_engine"] > 0
    assert figures["min_cosine"] is None
    assert (figures["engine"], figures["batch_tokens"], figures["lines"], figures["rounds"]) == ("llama.cpp", 256, 24, 2)


def test_a_ratio_is_the_median_of_the_rounds_own_ratios() -> None:
    ours = turns([1.0, 10.0, 2.0], [[1.0, 0.0], [0.0, 1.0]])
    bare = turns([1.0, 9.0, 1.0], [[3.0, 0.0], [0.0, 3.0]])
    reference = turns([3.0, 20.0, 5.0], [[1.0, 0.0], [0.6, 0.8]])
    figures = figures_of(Compared({"lines": 2}, {OURS: ours, BARE: bare, SENTENCE: reference}, {LLM: "not installed: vllm"}))
    assert list(figures)[:3] == ["vs_bare_engine", "vs_sentence_transformers_fp32", "min_cosine"]
    assert (figures["vs_bare_engine"], figures["vs_bare_engine_worst"]) == (0.9, 0.5)
    assert (figures["vs_sentence_transformers_fp32"], figures["vs_sentence_transformers_fp32_worst"]) == (2.5, 2.0)
    assert figures["min_cosine"] == pytest.approx(0.8, abs=1e-6)
    assert figures["vs_llm_embed"] is None
    assert figures["sides"][OURS]["lines_per_s"] == 1.0
    assert json.loads(json.dumps(figures))["left_out"] == {LLM: "not installed: vllm"}


def test_the_table_says_who_was_left_out_and_why() -> None:
    about = {"lines": 1, "tokens_per_line": 3, "threads": 2, "engine": "vllm", "number_format": "float32", "batch_tokens": 1024}
    same = turns([1.0], [[1.0, 0.0]])
    shown: list[str] = []
    show_table(figures_of(Compared(about, {OURS: same, BARE: same}, {SENTENCE: "not installed: sentence_transformers"})), shown.append)
    assert any(line.startswith(f"| {SENTENCE} | - |") and "not installed: sentence_transformers" in line for line in shown)


@pytest.mark.long
@pytest.mark.process
def test_rivals_that_fail_are_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    rivals = {
        "lengths": Rival(f"{OPENERS}:open_lengths", ("numpy",)),
        "instead": Rival(f"{OPENERS}:open_nothing", ("numpy",), "lengths"),
        "nothing": Rival(f"{OPENERS}:open_nothing", ("numpy",)),
        "deadly": Rival(f"{OPENERS}:open_deadly", ("numpy",)),
        "absent": Rival(f"{OPENERS}:open_lengths", ("no_such_library",)),
    }
    race = Race(["a", "bcd"], {}, rivals)
    try:
        race.open_rivals(tmp_path, 2, "float32")
        ran = race.run(3)
    finally:
        race.close()
    assert {name: [turn.vectors.tolist() for turn in turns] for name, turns in ran.items()} == {"lengths": [[[1.0, 1.0], [3.0, 3.0]]] * 3}
    assert race.left_out == {
        "nothing": "FileNotFoundError: there is no model",
        "deadly": "it ended without a word",
        "absent": "not installed: no_such_library",
    }


@pytest.mark.process
def test_a_process_embeds_and_is_closed_twice(tmp_path: Path) -> None:
    rival = OwnProcess(f"{OPENERS}:open_lengths", [tmp_path, 2], log=tmp_path / "log")
    assert rival.embed(["a", "bcd"]).vectors.tolist() == [[1.0, 1.0], [3.0, 3.0]]
    rival.close()
    rival.close()


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed at work"])
def test_processes_that_a_rival_has_started_end_with_it(tmp_path: Path, *, is_killed: bool) -> None:
    pids = tmp_path / "pids"
    rival = OwnProcess(f"{OPENERS}:open_family", [pids, 1], log=tmp_path / "log")
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    assert [pid for pid in started if runs(pid)] == started
    if is_killed:
        os.kill(os.getpgid(started[0]), signal.SIGKILL)
        with pytest.raises(LeftOut):
            rival.embed(["a"])
    rival.close()
    wait_until(lambda: not any(map(runs, started)), "the end of both")


@pytest.mark.long
@pytest.mark.process
def test_a_process_that_cannot_open_says_why(tmp_path: Path) -> None:
    with pytest.raises(LeftOut, match=r"^FileNotFoundError: there is no model$"):
        OwnProcess(f"{OPENERS}:open_nothing", [tmp_path, 2], log=tmp_path / "log")


@pytest.mark.long
@pytest.mark.process
def test_a_process_that_dies_at_work_is_left_out(tmp_path: Path) -> None:
    rival = OwnProcess(f"{OPENERS}:open_deadly", [tmp_path, 2], log=tmp_path / "log")
    with pytest.raises(LeftOut, match=r"^it ended without a word$"):
        rival.embed(["a"])

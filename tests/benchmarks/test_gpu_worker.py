"""`benchmarks.gpu_worker` without a GPU: one line and exit code 2, the same code on the CPU with few lines, and its figures."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from benchmarks import gpu_worker
from benchmarks.gpu_worker import NO_GPU, Round, Sizes, figures_of, main, show_table
from benchmarks.gpu_worker_turns import TextSink, Turn, VectorSink, Wrong, engine_settings, run_turn, watch
from benchmarks.safety_sides import made_up_model
from tests.model_fixture import CACHE
from worker.service import Service

TINY = Sizes(distinct_s=0.0, mix=60, known=400)
KEYS = {
    "distinct_lines_per_s",
    "distinct_tokens_per_s",
    "of_bare_engine",
    "distinct_engine_idle_share",
    "mix_lines_per_s",
    "engine_busy_share",
    "engine_idle_share",
    "known_lines_per_s",
    "known_cpu_us_per_line",
}
LINES = [f"2026-01-02 03:04:{number:02d} INFO user-{number} paid {number * 1_003} cents" for number in range(60)]

TWO_LINES = json.dumps({"level": "error", "message": "payment failed\nfor order 368280"})


@pytest.fixture
def _model_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))


def turn(seconds: float, **others: float) -> Turn:
    return Turn(seconds, 1_000, 500, 20_000, 0.5, 0.9, 0.1)._replace(**others)  # type: ignore[arg-type]


def test_figures_are_medians_and_a_ratio_is_of_its_own_round() -> None:
    rounds = [
        Round(turn(2.0), 1.0, turn(1.0), turn(1.0)),
        Round(turn(10.0), 9.0, turn(4.0, engine_share=0.5, engine_idle_share=0.3), turn(4.0, cpu_s=2.0)),
        Round(turn(4.0, engine_idle_share=0.2), 3.2, turn(2.0), turn(2.0)),
    ]
    figures = figures_of(rounds)
    assert figures == {
        "distinct_lines_per_s": 250,
        "distinct_tokens_per_s": 5_000,
        "of_bare_engine": 0.8,
        "distinct_engine_idle_share": 0.1,
        "mix_lines_per_s": 500,
        "engine_busy_share": 0.9,
        "engine_idle_share": 0.1,
        "known_lines_per_s": 500,
        "known_cpu_us_per_line": 500,
        "rounds": 3,
        "worst": {
            "distinct_lines_per_s": 100,
            "distinct_tokens_per_s": 2_000,
            "of_bare_engine": 0.5,
            "distinct_engine_idle_share": 0.2,
            "mix_lines_per_s": 250,
            "engine_busy_share": 0.5,
            "engine_idle_share": 0.3,
            "known_lines_per_s": 250,
            "known_cpu_us_per_line": 2_000,
        },
    }


def test_the_table_has_a_row_for_each_figure() -> None:
    about = {"engine": "vllm", "number_format": "bfloat16", "gpu": "NVIDIA H100"}
    shown: list[str] = []
    show_table(figures_of([Round(turn(2.0), 1.0, turn(1.0), turn(1.0))]) | about, shown.append)
    assert shown[0] == "NVIDIA H100, engine vllm (bfloat16), 1 rounds"
    assert len(shown) == 2 + len(KEYS)
    assert shown[4].split()[-2:] == ["0.500", "0.500"]


def test_without_a_gpu_it_says_so_in_one_line_and_exits_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(gpu_worker, "card", lambda: None)
    assert main(print, ["--json"]) == 2
    assert capsys.readouterr() == ("", f"{NO_GPU}\n")


def test_a_turn_is_over_when_the_last_lines_only_wait_for_their_block() -> None:
    pipeline = SimpleNamespace(
        log_ledger=SimpleNamespace(open_records=20, tally=Counter(admitted=60, indexed=40)),
        store=SimpleNamespace(waiting_lines=20),
        embed_lane=(),
        embed=SimpleNamespace(batcher=(), tally=SimpleNamespace(seconds=0.0)),
        busy={},
    )
    stop = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        watched = thread.submit(watch, cast("Service", SimpleNamespace(pipeline=pipeline)), 60, stop)
        try:
            seconds, shares = watched.result(timeout=10)
        finally:
            stop.set()
    assert 0 < seconds < 10
    assert shares["engine_idle_share"] == 0


@pytest.mark.long
@pytest.mark.process
@pytest.mark.usefixtures("_model_is_prepared")
def test_a_worker_knows_the_templates_that_an_earlier_one_has_stored(tmp_path: Path) -> None:
    file, model = tmp_path / "app.log", made_up_model(engine_settings("llama"))
    file.write_text("".join(f"{line}\n" for line in LINES))
    texts, vectors = TextSink(), VectorSink()
    exact = run_turn(model, texts, file, len(LINES), mask_mode="exact")
    first, second = (run_turn(model, vectors, file, len(LINES), mask_mode="template") for _ in range(2))
    assert sorted(texts.texts) == sorted(LINES)
    assert (exact.lines, exact.templates, first.templates, second.templates, second.tokens) == (60, 60, 1, 0, 0)
    assert exact.tokens > 10 * first.tokens > 0
    assert min(exact.seconds, second.seconds, second.cpu_s) > 0


@pytest.mark.long
@pytest.mark.process
@pytest.mark.usefixtures("_model_is_prepared")
def test_lines_that_the_worker_does_not_index_are_no_figure(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("".join(f"{line}\n" for line in LINES))
    with pytest.raises(Wrong, match=r"^of 59 lines became .*'indexed': 60"):
        run_turn(made_up_model(engine_settings("llama")), TextSink(), file, 59, mask_mode="template")


@pytest.mark.process
@pytest.mark.usefixtures("_model_is_prepared")
def test_it_runs_to_its_end_on_the_cpu(tmp_path: Path) -> None:
    file, shown = tmp_path / "app.log", list[str]()
    file.write_text("".join(f"{line}\n" for line in [TWO_LINES, *LINES]))
    assert main(shown.append, ["--cpu", "--json", "--engine", "llama", "--rounds", "2", str(file)], TINY) == 0
    (figures,) = map(json.loads, shown)
    assert figures.keys() == KEYS | {"engine", "number_format", "gpu", "rounds", "worst", "lines"}
    assert figures["worst"].keys() == KEYS
    assert (figures["engine"], figures["number_format"], figures["gpu"], figures["rounds"]) == ("llama.cpp", "float16 weights", None, 2)
    assert (figures["lines"]["mix"], figures["lines"]["known"]) == (60, 400)
    assert min(figures[key] for key in KEYS - {"distinct_engine_idle_share", "engine_idle_share"}) > 0
    assert figures["engine_busy_share"] <= 1


def test_other_work_than_was_asked_for_ends_it_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise Wrong("of 60 lines became 59")

    monkeypatch.setattr(gpu_worker, "measure", fail)
    assert main(print, ["--cpu"]) == 1
    assert capsys.readouterr() == ("", "of 60 lines became 59\n")

"""`benchmarks.query_latency`: what is asked is seeded, one lane is one lane, and percentiles hide no question."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.query_latency_client import Answered, ClosedLoop, OpenLoop
from benchmarks.query_latency_figures import (
    Round,
    Stretch,
    capped_batches,
    closed_figures,
    loaded_figures,
    parts_ms,
    percentile,
    wait_and_embed_s,
)
from benchmarks.query_latency_plot import draw
from benchmarks.query_latency_report import show_table
from benchmarks.query_latency_runs import Plan, Questions
from benchmarks.query_latency_sides import BatchTime, await_that, fed, opened
from benchmarks.query_latency_texts import dictionary, distinct_lines, distinct_questions, poisson_times, words_of
from benchmarks.safety_sides import MadeUpEngine, made_up_model
from consumers.text.mask import Masker
from tests.benchmarks.guarded import lacking
from tests.model_fixture import CACHE
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.settings.settings import load_settings

GATE_S = 60.0
LINES = 100
WORDS = ["battery", "camera", "engine", "failed", "garden", "memory", "network", "packet", "reader", "river", "table", "window"]


def answered(total_s: float, *, wait: float = 0.0, embed: float = 0.0, search: float = 0.0, due_s: float = 0.0) -> Answered:
    return Answered(due_s, total_s, "hits", {"wait": wait, "embed": embed, "search": search})


def still_open(total_s: float) -> Answered:
    return Answered(0.0, total_s, "open", {})


class GatedEngine(MadeUpEngine):
    """Computes nothing before the gate is open; remembers how long the texts of each batch were."""

    batch_tokens = 512

    def __init__(self, dim: int, max_tokens: int) -> None:
        super().__init__(dim, max_tokens)
        self.gate = threading.Event()
        self.batches: list[list[int]] = []

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        self.gate.wait(GATE_S)
        self.batches.append([len(ids) for ids in batch])
        return super().embed(batch)


def test_a_percentile_is_an_observed_value() -> None:
    values = [float(number) for number in range(1, 241)]
    assert [percentile(values, percent) for percent in (50, 95, 99)] == [120.0, 228.0, 238.0]
    assert percentile([3.0], 99) == 3.0
    with pytest.raises(ValueError, match="nothing was measured"):
        percentile([], 50)


def test_an_open_question_counts_with_the_time_for_which_it_has_waited() -> None:
    assert wait_and_embed_s(answered(9.0, wait=1.0, embed=2.0, search=3.0)) == 3.0
    assert wait_and_embed_s(still_open(60.0)) == 60.0
    parts = parts_ms([answered(0.1, wait=0.01, embed=0.02, search=0.03), still_open(60.0)])
    assert (parts["total"]["p99"], parts["wait_embed"]["p99"]) == (60_000.0, 60_000.0)
    assert (parts["search"]["p99"], parts["reply"]["p99"]) == (30.0, 40.0)


def test_loss_is_net_of_the_questions_own_tokens() -> None:
    assert Round(Stretch(10.0, 800, 100), Stretch(20.0, 2_000, 0)).loss_share == pytest.approx(0.1)
    assert Round(Stretch(10.0, 900, 100), Stretch(20.0, 2_000, 0)).loss_share == pytest.approx(0.0)


def test_capped_batches_are_full_of_logs_alone_and_come_after_the_first_question() -> None:
    uncapped, first = BatchTime(10.0, 0.5, 0, 512), BatchTime(10.5, 0.1, 1, 60)
    capped = [BatchTime(11.0 + turn, 0.2, 0, 256) for turn in range(5)]
    rest = [BatchTime(16.0, 0.1, 0, 100), BatchTime(17.0, 0.2, 2, 256), BatchTime(20.0, 0.5, 0, 512)]
    assert capped_batches([BatchTime(9.9, 0.5, 0, 512), uncapped, first, *capped, *rest], 10.0, 20.0) == capped
    assert capped_batches([uncapped], 10.0, 20.0) == []


def test_the_figures_of_the_goals_come_first_and_the_report_says_what_is_a_bound() -> None:
    rounds = [Round(Stretch(10.0, 9_000, 100), Stretch(10.0, alone, 0)) for alone in (10_000, 9_100, 13_000)]
    capped = [BatchTime(0.0, 0.1 + number / 1_000, 0, 256) for number in range(100)]
    ours = [answered(0.5, wait=0.1, embed=0.08, search=0.2, due_s=float(number)) for number in range(20)]
    fifo = [answered(30.0, wait=29.0, embed=0.1), still_open(40.0)]
    loaded = loaded_figures(ours, fifo, [answered(0.1, search=0.05)], rounds, capped)
    goals = ["p99_over_batch_cap", "fifo_p99_over_ours", "bulk_loss_share", "answered", "asked"]
    assert list(loaded)[:5] == goals
    assert [loaded[key] for key in goals] == [round(0.18 / 0.198, 3), 222.2, 0.09, 20, 20]
    assert loaded["query_token_share"] == 0.01
    closed: dict[str, Any] = {
        "users": 60,
        "lines": 10,
        "templates": 3,
        "distinct": closed_figures(ours, 2.0),
        "repeated": closed_figures(ours, 2.0),
    }
    assert closed["distinct"]["queries_per_s"] == 10.0

    shown: list[str] = []
    figures = json.loads(json.dumps(loaded | {"engine": "made up", "batch_target_ms": 100.0, "closed_loop": closed}))
    assert lacking("benchmarks.query_latency", figures) == []
    show_table(figures, shown.append)
    assert any("1 were still open" in line for line in shown)


def test_every_side_is_drawn(tmp_path: Path) -> None:
    some = [answered(0.5), still_open(40.0)]
    draw({"ours": some, "fifo": some, "idle": some}, tmp_path / "latency.png")
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")


def test_questions_come_at_seeded_poisson_times() -> None:
    times = poisson_times(2.0, 1_000.0, 7)
    assert times == poisson_times(2.0, 1_000.0, 7) != poisson_times(2.0, 1_000.0, 8)
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] < 1_000.0
    gaps = [after - before for before, after in pairwise(times)]
    # Exponential: the mean is 1 / rate, and as large as the standard deviation.
    assert float(np.mean(gaps)) == pytest.approx(0.5, rel=0.1)
    assert float(np.std(gaps)) == pytest.approx(0.5, rel=0.1)


def test_every_line_is_a_kind_of_its_own_and_no_question_comes_twice(tmp_path: Path) -> None:
    vocabulary = dict.fromkeys((*WORDS, "[PAD]", "##ing", "ox", "Ab12", "e9f3"), 0)
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}), encoding="utf-8")
    assert dictionary(tmp_path / "tokenizer.json") == WORDS
    assert words_of(["the engine 0x1f failed: packet", "engine"], WORDS) == ["engine", "failed", "packet"]

    lines = [line.decode() for line in islice(distinct_lines(WORDS, 7), 200)]
    assert len(set(Masker().mask(lines))) == 200
    assert len(set(distinct_questions(WORDS, 7, 500))) == 500
    assert distinct_questions(WORDS, 7, 5) == distinct_questions(WORDS, 7, 5) != distinct_questions(WORDS, 8, 5)


def test_a_quick_run_is_shorter_and_its_seconds_can_be_named() -> None:
    assert Plan.of(quick=True, seconds=None, files=[]).seconds < Plan.of(quick=False, seconds=None, files=[]).seconds
    assert Plan.of(quick=False, seconds=3.0, files=["a.log"])[::4] == (3.0, ("a.log",))


@pytest.mark.process
@pytest.mark.parametrize("fifo", [False, True])
def test_behind_one_lane_a_question_waits_for_all_lines_before_it(fifo: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    settings = load_settings(None)
    model = made_up_model(settings)
    engine = GatedEngine(model.engine.dim, model.engine.max_tokens)
    with opened(settings, replace(model, engine=engine), tmp_path / "index", fifo=fifo) as side:
        with fed(side, islice(distinct_lines(WORDS, 7), LINES)):
            await_that(lambda: side.service.pipeline.log_ledger.open_records == LINES, side)
            await_that(lambda: side.waiting_texts >= LINES - 2 * engine.batch_tokens // 56, side)
            questions = Questions(settings, model, WORDS)
            (text,) = questions.take(1)
            side.client.begin(OpenLoop([time.monotonic()], [text], GATE_S))
            await_that(lambda: side.service.pipeline.query_tally.received == 1, side)
            engine.gate.set()
            (answer,) = side.client.end()
            await_that(lambda: side.service.pipeline.log_ledger.open_records == 0, side)
        tokens = questions.tokens([text])
        (place,) = [number for number, lengths in enumerate(engine.batches) if tokens in lengths]
        assert place == len(engine.batches) - 1 if fifo else place <= 2
        assert answer.outcome == "hits"
        assert 0 < sum(answer.seconds.values()) <= answer.total_s
        assert [one.queries for one in side.batches] == [number == place for number in range(len(engine.batches))]
        assert side.log_tokens == sum(map(sum, engine.batches)) - tokens

        side.client.begin(ClosedLoop(3, questions.take(2_000), time.monotonic() + 3.0, GATE_S))
        several = side.client.end()
        assert len(several) > 3
        assert {one.outcome for one in several} == {"hits"}
        questions.close()

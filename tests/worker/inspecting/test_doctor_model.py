"""The doctor's judgements of model and engine: on planted facts, on the real model, and through a worker's query lane."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.model_fixture import CACHE
from tests.worker.inspecting.judged import says
from worker.asking.refusals import QueryReply, error_document
from worker.asking.requests import QueryRequest
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.parity_sample import TokenDifference
from worker.embedding.tokenizer import Tokenizer
from worker.inspecting.doctor import State
from worker.inspecting.doctor_model import (
    MODEL_CHECKS,
    EngineNow,
    Load,
    ask_a_question,
    judge_answer,
    judge_speed,
    judge_tokenizer,
    judge_vectors,
    look_at_engine,
    look_at_model,
)
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable, ModelTable

NOW = EngineNow("llama.cpp", is_up=True, restarts=0, batches=7, tokens=8_000, busy_s=2.0, load=Load(100.0, 0.01, 40.0))


@pytest.mark.parametrize(
    ("share", "state", "word"),
    [(0.5, "ok", "it keeps up"), (0.8, "warning", "only just"), (1.0, "warning", "only just"), (1.0, "problem", "not")],
)
def test_a_known_share_of_new_tokens_decides_whether_the_engine_keeps_up(share: float, state: State, word: str) -> None:
    lines_per_s = 101.0 if state == "problem" else 100.0
    says(judge_speed(4_000.0, Load(lines_per_s, share, 40.0)), state, f"4,000 tokens/s, 100 new templates of 40 tokens|{word}")


@pytest.mark.parametrize(("lines_per_s", "state"), [(100.0, "ok"), (1_900.0, "ok"), (2_100.0, "warning"), (11_000.0, "problem")])
def test_without_it_the_share_that_the_engine_can_bear_decides(lines_per_s: float, state: State) -> None:
    says(judge_speed(4_000.0, Load(lines_per_s)), state, "it keeps up while up to")


def test_a_speed_without_anything_to_compare_is_only_told() -> None:
    says(judge_speed(None, NOW.load), "ok", "too little so far")
    says(judge_speed(4_000.0, Load()), "ok", "not known")
    says(judge_speed(4_000.0, Load(0.0)), "ok", "nothing arrives now")


def test_wrong_vectors_are_a_problem() -> None:
    says(judge_vectors(0.9999, "llama.cpp"), "ok")
    says(judge_vectors(0.9, "llama.cpp"), "problem", "cosine 0.9000")


def test_ids_that_differ_are_a_problem_and_a_slow_tokenizer_a_warning(words: Tokenizer) -> None:
    ids = words.encode(["a b"]).ids
    says(judge_tokenizer(None, uses_llama=True), "ok")
    says(judge_tokenizer(None, uses_llama=False), "warning", "more slowly")
    says(judge_tokenizer(TokenDifference("a b", ids, ids[:-1]), uses_llama=True), "problem", "'a b'")


def test_an_engine_that_computed_is_well_although_the_index_did_not_answer() -> None:
    says(judge_answer(NOW, (0.1, ""), has_computed=True), "ok", "answers in 100 ms")
    says(judge_answer(NOW, (4.0, "Milvus is away"), has_computed=True), "ok", "Milvus is away")
    says(judge_answer(NOW, (4.0, "no answer within 4 s"), has_computed=False), "problem", "does not compute")
    says(judge_answer(NOW._replace(is_up=False), (0.1, ""), has_computed=True), "problem", "being replaced")
    says(judge_answer(NOW._replace(restarts=2), (0.1, ""), has_computed=True), "warning", "replaced 2 times")


def answering(reply: QueryReply) -> Callable[[QueryRequest], bool]:
    def take_request(request: QueryRequest) -> bool:
        assert json.loads(request.value or b"")["deadline_ms"] > 0
        request.requester.reply(reply, deadline_s=None)
        return True

    return take_request


def test_a_question_brings_its_time_or_what_went_wrong() -> None:
    seconds, error = ask_a_question(answering(QueryReply(b'{"hits": []}', "answered")))
    assert (seconds < 1.0, error) == (True, "")
    assert ask_a_question(answering(QueryReply(error_document("unavailable", "Milvus is away"), "unavailable")))[1] == "Milvus is away"
    assert ask_a_question(lambda _request: True, limit_s=-0.95)[1].startswith("no answer within")
    assert "starting or stopping" in ask_a_question(lambda _request: False)[1]


def test_a_worker_that_starts_is_a_warning_and_loads_nothing() -> None:
    checks = look_at_engine(Settings(), lambda _request: False, lambda: NOW)
    says(checks["engine"], "warning", "starting or stopping")
    says(checks["speed"], "ok", "4,000 tokens/s|1.0% of their tokens new so far: it keeps up")


def test_the_real_model_is_well(prepared_model: PreparedModel) -> None:
    settings = Settings(model=ModelTable(cache=CACHE), engine=EngineTable(name="llama"))
    checks = look_at_model(settings, Load)
    assert {one.state for one in checks.values()} == {"ok"}
    assert prepared_model.weights_sha256[:12] in checks["files"].found
    assert set(checks) == set(MODEL_CHECKS)


def test_a_model_that_is_not_there_is_one_problem_of_its_files(tmp_path: Path) -> None:
    settings = Settings(model=ModelTable(folder=tmp_path / "none", cache=tmp_path), engine=EngineTable(name="llama"))
    verdicts = look_at_model(settings, Load)
    assert list(verdicts) == ["files"]
    says(verdicts["files"], "problem", "none")

"""The benchmark of the embedding service: it runs to its end, and what is not measured is not told."""

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from benchmarks import serve
from benchmarks.race import Wrong
from benchmarks.serve_cases import Plan
from benchmarks.serve_figures import BARE, INFINITY, OURS, Beside, ServedPass, asked_for, beside_figures, rates
from benchmarks.serve_texts import request_body, vectors_in
from benchmarks.serve_users import Answered, Asked, Crowd, Target, answers_to
from tests.model_fixture import CACHE

TINY = Plan(
    rounds=1, users=4, texts=24, alone=4, mixed=12, batch=8, batches=4, large=256, large_tokens=12, small_users=2, small_gap_s=0.01,
    recurring=12, repeats=2, copies=2, room=1, models_s=3.0, models_users=2,
)  # fmt: skip
KEYS = {
    "users60": {"texts_per_s", "p50_ms", "p95_ms", "vs_infinity", "vs_bare_engine"},
    "mixed": {"vs_infinity"},
    "beside_bulk": {"p99_ms", "capped_batch_ms", "vs_infinity"},
    "models": {"cold_s", "failures", "evicted_in_use", "memory_over_budget"},
}
MODELS = {"cold_s": 0.1, "failures": 0, "evicted_in_use": 0, "memory_over_budget": 0.0}
NO_ROWS = np.zeros((0, 2), dtype=np.float32)


class Counting(BaseHTTPRequestHandler):
    """Answers each text with its length; `hang up` has no answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        if "hang up" in texts:
            self.close_connection = True
            return
        rows = [base64.b64encode(np.array([len(text), 1], dtype="<f4").tobytes()).decode() for text in texts]
        found = json.dumps({"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def target() -> Iterator[Target]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Counting) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield Target("127.0.0.1", server.server_port)
        server.shutdown()
        thread.join()


def bodies(count: int) -> list[bytes]:
    return [request_body("m", ["x" * (place + 1)]) for place in range(count)]


@pytest.mark.long
@pytest.mark.process
@pytest.mark.timeout(600)
def test_the_benchmark_of_the_embedding_service_prints_what_it_measured_and_null_for_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    monkeypatch.setattr(serve, "QUICK", TINY)
    printed: list[str] = []
    serve.main(printed.append, ["--quick", "--json"])
    (figures,) = map(json.loads, printed)
    assert set(figures) == {*KEYS, "recurring_per_s", "cosine_min", "alone_vs_mixed_min"}
    assert {name: set(figures[name]) for name in KEYS} == KEYS
    assert [figures[name].pop("vs_infinity") for name in ("users60", "mixed", "beside_bulk")] == [None] * 3
    assert all(figures["users60"].values())
    assert all(figures["beside_bulk"].values())
    assert figures["models"].pop("cold_s") > 0
    assert (figures["models"]["failures"], figures["models"]["evicted_in_use"]) == (0, 0)
    assert min(figures["cosine_min"], figures["alone_vs_mixed_min"]) > 0.9999


def test_every_body_is_sent_once_and_its_answer_kept(target: Target) -> None:
    (answered,) = answers_to(Asked(target, [Crowd(3, bodies(50))]))
    assert sorted(one.place for one in answered) == list(range(50))
    assert all(vectors_in(one, 1)[0, 0] == one.place + 1 for one in answered)
    assert all(one.seconds > 0 for one in answered)


def test_a_body_of_many_texts_is_sent_whole(target: Target) -> None:
    texts = ["word " * 400] * 2_000
    ((answered,),) = answers_to(Asked(target, [Crowd(1, [request_body("m", texts)])]))
    assert vectors_in(answered, len(texts)).shape == (2_000, 2)


def test_users_beside_others_stop_with_them_and_each_of_their_requests_is_answered(target: Target) -> None:
    main, beside = answers_to(Asked(target, [Crowd(1, bodies(5), gap_s=0.01), Crowd(2, bodies(100_000), is_beside=True)]))
    assert len(main) == 5
    assert 0 < len(beside) < 100_000
    assert {one.status for one in beside} == {200}


def test_a_connection_that_breaks_off_is_no_answer_and_the_user_goes_on(target: Target) -> None:
    sent = [request_body("m", ["hang up"]), *bodies(2)]
    (answered,) = answers_to(Asked(target, [Crowd(1, sent)]))
    assert [one.status for one in answered] == [0, 200, 200]


@pytest.mark.parametrize(
    ("answered", "why"),
    [
        (Answered(0, 0.0, 1.0, 503, b"busy"), "answered with 503"),
        (Answered(0, 0.0, 1.0, 0, b""), "a closed connection"),
        (Answered(0, 0.0, 1.0, 200, b'{"data": []}'), "0 vectors for 1 texts"),
    ],
)
def test_an_answer_without_the_vectors_ends_the_benchmark(answered: Answered, why: str) -> None:
    with pytest.raises(Wrong, match=why):
        vectors_in(answered, 1)


def served(texts: int, seconds: float, waits_s: list[float]) -> ServedPass:
    return ServedPass(texts, seconds, waits_s, NO_ROWS)


def test_what_small_requests_cost_the_large_one_leaves_out_their_own_tokens() -> None:
    alone, large = served(100, 10.0, [10.0]), served(100, 12.5, [12.5])
    beside = Beside(alone, large, served(10, 12.0, [0.1] * 10), 0.05, small_tokens_share=2.0)
    assert beside.lost_share == pytest.approx(1 - (100 + 20) / 12.5 / 10)


def test_ratios_are_taken_within_a_round_and_a_side_that_is_absent_has_none() -> None:
    ours = [served(10, 1.0, [0.1] * 10), served(10, 2.0, [0.2] * 10)]
    bare = [served(10, 0.5, []), served(10, 2.0, [])]
    passes = {OURS: ours, BARE: bare}
    cases = {name: rates(passes) for name in ("users60", "mixed", "recurring")}
    assert cases["users60"]["vs_bare"] == pytest.approx(0.75)
    beside = {OURS: [Beside(ours[0], ours[1], served(4, 1.0, [0.1, 0.1, 0.1, 0.3]), 0.05)]}
    figures = asked_for(cases | {"beside_bulk": beside_figures(beside)}, MODELS, {"served": 1.0, "alone_vs_mixed": 1.0})
    assert figures["users60"]["vs_infinity"] is None
    assert figures["beside_bulk"] == {"p99_ms": 300.0, "capped_batch_ms": 50.0, "vs_infinity": None}
    with_peer = beside | {INFINITY: [Beside(ours[0], ours[1], served(1, 1.0, [3.0]), None)]}
    assert beside_figures(with_peer)["vs_infinity"] == pytest.approx(10.0)

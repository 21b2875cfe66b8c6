"""The doctor's checks of the model: its files, its tokenizer, its engine's vectors, and whether that is fast enough for what comes.

A tool loads the model (`look_at_model`); where vLLM has the GPU's memory already, it asks the worker instead. The worker itself asks its
own engine through the query lane (`look_at_engine`) and loads nothing.
"""

import secrets
import string
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from worker.asking.lane_question import STARTS_OR_STOPS, TakeRequest, ask_lane
from worker.asking.refusals import Refused
from worker.connections import with_index_model
from worker.embedding.engine.engine import Engine
from worker.embedding.engine.matryoshka import truncated
from worker.embedding.guarded_engine import WORST_ALLOWED_COSINE, worst_cosine
from worker.embedding.loaded import model_of, open_engine, uses_vllm
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import default_folder
from worker.embedding.model.golden import Golden, load_golden
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.released import check_released
from worker.embedding.model.vectors import TokenIds
from worker.embedding.parity_sample import SAMPLE, TokenDifference
from worker.embedding.tokenizer import Tokenizer
from worker.inspecting.doctor import Verdict, first_of, ok, problem, warning
from worker.inspecting.doctor_worker import ask_doctor
from worker.runtime.wording import rate_of, seconds_of
from worker.settings.settings import Settings

_MEASURE_S: Final = 1.0
_ASK_S: Final = 10.0
_USUAL_TOKENS: Final = 40.0
"""Tokens per template where nothing is known of the topic: the median of real logs."""
_LITTLE_SHARE: Final = 0.05
_LEAST_SHARE: Final = 0.01
"""In the long run less than this share of lines brings a new template."""
_ROOM: Final = 1.5
_ENOUGH_TOKENS: Final = 2_000
"""Tokens that a worker's engine must have computed before its speed means anything."""

_FASTER: Final = "look at `vectail templates --suggest` for masks that leave fewer templates; use a GPU, or more workers"
_LOG: Final = "look at the worker's log"

MODEL_CHECKS: Final = ("engine", "files", "tokenizer", "vectors", "speed")
"""Names only: each needs what the one before it has loaded."""


class Load(NamedTuple):
    """What comes, as far as it is known."""

    lines_per_s: float | None = None
    new_share: float | None = None
    """Share of tokens that the engine had to compute, 0 … 1, as a worker counts it."""
    tokens_per_line: float | None = None


class EngineNow(NamedTuple):
    """A worker's engine as it runs."""

    name: str
    is_up: bool
    restarts: int
    batches: int
    """Computed so far, those of questions too."""
    tokens: int
    """Computed so far, of templates."""
    busy_s: float
    """Spent inside the engine so far."""
    load: Load


def look_at_model(settings: Settings, load: Callable[[], Load]) -> dict[str, Verdict]:
    """Load the model and judge it; where vLLM runs in a worker already, ask that worker."""
    if uses_vllm(settings.engine) and (answered := ask_doctor(settings.http, "model", timeout_s=_ASK_S)):
        return answered
    try:
        model = model_of(with_index_model(settings))
        if settings.model.folder is None:
            check_released(default_folder())
    except ModelError as error:
        return {"files": problem(str(error), "fix the files, or the settings in [model]")}
    tokenizer = Tokenizer(model)
    try:
        difference = tokenizer.first_difference(SAMPLE)
    finally:
        tokenizer.close()
    size = f"weights {model.weights_sha256[:12]}…, {model.dim} dimensions, {model.max_tokens} tokens"
    return {
        "files": ok(f"{model.name} in {model.folder}, {size}"),
        "tokenizer": judge_tokenizer(difference, uses_llama=tokenizer.uses_llama),
        **_look_at_loaded(settings, model, load),
    }


def look_at_engine(settings: Settings, take_request: TakeRequest, engine_now: Callable[[], EngineNow]) -> dict[str, Verdict]:
    """Ask the engine of this worker through its query lane; files and tokenizer were checked when it started."""
    before = engine_now()
    answer = ask_a_question(take_request)
    now = engine_now()
    tokens_per_s = now.tokens / now.busy_s if now.tokens >= _ENOUGH_TOKENS and now.busy_s > 0 else None
    return {
        "engine": judge_answer(now, answer, has_computed=now.batches > before.batches),
        "tokenizer": ok("was compared with the model's own when this worker started"),
        "vectors": ok("were compared with the golden ones when this worker started"),
        "files": ok(f"{settings.model.folder or 'the installed model'} was loaded when this worker started"),
        "speed": judge_speed(tokens_per_s, now.load),
    }


def judge_tokenizer(difference: TokenDifference | None, *, uses_llama: bool) -> Verdict:
    """Judge whether llama.cpp's tokenizer gives the model's own ids."""
    differ = f"llama.cpp and the model's own tokenizer disagree on {difference}"
    slow = "llama.cpp does not tokenize like this model: the model's own tokenizer does all of it, more slowly"
    return first_of(
        (difference is not None, problem(differ, "report it with the name of the model; `vectail model check` says more")),
        (not uses_llama, warning(slow, "nothing is wrong; a WordPiece model is several times faster")),
        otherwise=f"llama.cpp gives the ids of the model's own tokenizer on {len(SAMPLE)} texts",
    )


def judge_vectors(cosine: float, name: str) -> Verdict:
    """Judge the worst cosine to the golden vectors."""
    wrong = f"{name} gives wrong vectors for the golden texts: cosine {cosine:.4f}, at least {WORST_ALLOWED_COSINE}"
    change = "try another engine.name; prepare the model again (remove its folder in model.cache)"
    fine = f"{name} gives the golden vectors, cosine {cosine:.4f} or better"
    return first_of((cosine < WORST_ALLOWED_COSINE, problem(wrong, change)), otherwise=fine)


def judge_speed(tokens_per_s: float | None, load: Load) -> Verdict:
    """Judge whether the engine keeps up with the new templates that arrive; known ones do not reach it."""
    if tokens_per_s is None:
        return ok("the engine has computed too little so far to say how fast it is")
    tokens_per_line = load.tokens_per_line or _USUAL_TOKENS
    templates_per_s = tokens_per_s / tokens_per_line
    speed = f"{rate_of(tokens_per_s)} tokens/s, {rate_of(templates_per_s)} new templates of {tokens_per_line:.0f} tokens"
    if not load.lines_per_s:
        return ok(f"{speed}; {'how much arrives is not known' if load.lines_per_s is None else 'nothing arrives now'}")
    bearable = min(templates_per_s / load.lines_per_s, 1.0)
    found = f"{speed}; {rate_of(load.lines_per_s)} records/s arrive"
    if load.new_share is None:
        found = f"{found}: it keeps up while up to {bearable:.1%} of them bring a new template"
        return first_of(
            (bearable < _LEAST_SHARE, problem(found, _FASTER)),
            (bearable < _LITTLE_SHARE, warning(f"{found}, which a new index exceeds at first", _FASTER)),
            otherwise=found,
        )
    found = f"{found}, {load.new_share:.1%} of their tokens new so far"
    return first_of(
        (bearable < load.new_share, problem(f"{found}: it does not keep up", _FASTER)),
        (bearable < _ROOM * load.new_share, warning(f"{found}: it only just keeps up", _FASTER)),
        otherwise=f"{found}: it keeps up",
    )


def judge_answer(now: EngineNow, answer: tuple[float, str], *, has_computed: bool) -> Verdict:
    """Judge a worker's engine by the answer to a question: the seconds, and what went wrong.

    An engine that `has_computed` meanwhile is well even without an answer: then the index is at fault.
    """
    seconds, error = answer
    restarts = f"; it was replaced {now.restarts} times" if now.restarts else ""
    found = f"{now.name} computes, but a question got no answer: {error}" if error else f"{now.name} answers in {seconds_of(seconds)}"
    return first_of(
        (not now.is_up, problem(f"{now.name} is being replaced after a failure{restarts}", _LOG)),
        (error == STARTS_OR_STOPS, warning(f"{now.name} was not asked: {error}", "look again when the worker is ready")),
        (error and not has_computed, problem(f"{now.name} does not compute: {error}{restarts}", _LOG)),
        (now.restarts, warning(f"{found}{restarts}", _LOG)),
        otherwise=found,
    )


def ask_a_question(take_request: TakeRequest, *, limit_s: float = 3.0) -> tuple[float, str]:
    """Send a question that no cache knows through the query lane; return the seconds, and what went wrong, empty if nothing did."""
    text = "vectail doctor " + "".join(secrets.choice(string.ascii_lowercase) for _ in range(8))
    started_s = time.monotonic()
    try:
        ask_lane(take_request, {"text": text, "mode": "dense", "k": 1}, limit_s=limit_s)
    except Refused as refused:
        return time.monotonic() - started_s, refused.reason
    return time.monotonic() - started_s, ""


def measure(engine: Engine, texts: Sequence[TokenIds], *, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return tokens a second: the texts embedded again and again in full batches for about a second. Raises what the engine raises."""
    batch: list[TokenIds] = []
    while sum(map(len, batch)) + max(map(len, texts)) <= engine.batch_tokens:
        batch.append(texts[len(batch) % len(texts)])
    engine.embed(batch)  # allocates
    tokens, started_s = 0, clock()
    while (spent_s := clock() - started_s) < _MEASURE_S or not tokens:
        engine.embed(batch)
        tokens += sum(map(len, batch))
    return tokens / spent_s


def _look_at_loaded(settings: Settings, model: PreparedModel, load: Callable[[], Load]) -> dict[str, Verdict]:
    dim = settings.model.dims or model.dim
    try:
        golden = _golden(model, dim)
        started_s = time.monotonic()
        engine = open_engine(settings, model, dim)
    except ModelError as error:
        return {"engine": problem(str(error), "change engine.name or fix the error above")}
    try:
        cosine = worst_cosine(engine, golden)
        return {
            "engine": ok(f"{engine.name} was loaded and embeds, {seconds_of(time.monotonic() - started_s)}"),
            "vectors": judge_vectors(cosine, engine.name),
            "speed": judge_speed(measure(engine, golden.ids), load()),
        }
    except (RuntimeError, ValueError) as error:
        return {"engine": problem(f"{engine.name} fails on the golden texts: {error}", "try another engine.name; update it")}
    finally:
        engine.close()


def _golden(model: PreparedModel, dim: int) -> Golden:
    golden = load_golden(model.golden)
    return golden._replace(vectors=truncated(golden.vectors, dim)) if dim < model.dim else golden

"""The doctor's checks of the embedding service: who may ask for vectors, and whether its models can be loaded and have room.

Nothing is prepared or loaded: a model that never was counts with the size of its file. Failed loads are told by the worker, or by a
`vectail serve`, on this machine.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from worker.embedding.model.errors import ModelError
from worker.embedding.pool.model_bytes import measured_bytes
from worker.embedding.pool.served_models import known_served
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.inspecting.doctor_settings import SHORT_TOKEN, is_here
from worker.inspecting.doctor_worker import ask_worker
from worker.runtime.wording import bytes_of, listed
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings

_ASK_S: Final = 2.0

Failures = Mapping[str, str]
"""Models that could not be loaded when they were last asked for, and why."""


class ServedLook(NamedTuple):
    """What is known of a model of `[[serve.model]]` without loading it."""

    table: ServedModelTable
    size_bytes: int | None
    """At least; None: it is not prepared yet."""
    error: str
    """Why it cannot be prepared or loaded; empty as far as that is known."""


class ServeSetUp(NamedTuple):
    """The settings, the models, and what happened to them."""

    settings: Settings
    models: Sequence[ServedLook]
    failures: Failures


def look_at_serve(settings: Settings, failures: Callable[[], Failures]) -> dict[str, Verdict]:
    """Judge the embedding service; `failures` asks what runs."""
    models = [_look_at(settings, table) for table in settings.serve.model]
    return judge_all(SERVE_CHECKS, ServeSetUp(settings, models, failures()))


def ask_failures(settings: Settings) -> Failures:
    """Ask the worker or the `vectail serve` on this machine which models could not be loaded; none without an answer."""
    http = settings.http
    if not http.token.get_secret_value():
        http = http.model_copy(update={"token": settings.serve.token})
    listed_models = ask_worker(http, "/v1/models", timeout_s=_ASK_S).get("data") or ()
    told = [(one.get("id"), one.get("vectail")) for one in listed_models if isinstance(one, dict)]
    return {str(name): str(facts["error"]) for name, facts in told if isinstance(facts, dict) and facts.get("error")}


def _look_at(settings: Settings, served: ServedModelTable) -> ServedLook:
    folder = None if served.folder is None else served.folder.expanduser()
    if folder is not None and not folder.is_dir():
        return ServedLook(served, None, f"{folder} is not a folder")
    try:
        prepared = known_served(settings, served)
    except ModelError as error:
        return ServedLook(served, None, str(error))
    if prepared is None:
        return ServedLook(served, None, "")
    return ServedLook(served, measured_bytes(prepared) or prepared.gguf.stat().st_size, "")


def _access(facts: ServeSetUp) -> Verdict:
    """Judge who may ask for vectors, and whether whoever may can search the logs too."""
    http, serve = facts.settings.http, facts.settings.serve
    own, all_of_it = serve.token.get_secret_value(), http.token.get_secret_value()
    is_reached = not is_here(http.host)
    who = f"anyone who reaches {http.host} port {http.port}"
    off = problem("http.enabled is false: nobody can ask for vectors", "set it to true")
    half = f"serve.token guards vectors alone, and there is no http.token: {who} may search the logs of a worker"
    guessed = f"serve.token has {len(own)} characters, which can be guessed"
    alike = "http.token opens vectors and logs alike; serve.token would open vectors alone"
    here = f"only this machine reaches {http.host}{'; vectors need serve.token, the logs no token' if own else ''}"
    return first_of(
        (not http.enabled, off),
        (is_reached and own and not all_of_it, warning(half, "set http.token too; `vectail serve` has no logs and needs none")),
        (is_reached and not own and not all_of_it, warning(f"{who} may ask for vectors", "set serve.token")),
        (is_reached and own and len(own) < SHORT_TOKEN, warning(guessed, "use 32 random characters: `openssl rand -hex 16`")),
        (own and all_of_it, ok("serve.token opens vectors alone, http.token opens the logs too")),
        (all_of_it, ok(alike)),
        otherwise=here,
    )


def _openai_tokens(facts: ServeSetUp) -> Verdict:
    """Judge the file that turns token ids of OpenAI's clients back into text."""
    if facts.settings.serve.openai_tokens is None:
        return ok("serve.openai_tokens is not set: token ids, as LangChain sends them unless told otherwise, are refused with the reason")
    file = facts.settings.serve.openai_tokens.expanduser()
    unreadable = problem(f"{file} cannot be read: the service refuses to start", "name a readable cl100k_base.tiktoken, or leave it out")
    return first_of((not (file.is_file() and os.access(file, os.R_OK)), unreadable), otherwise=f"{file} is there")


def _models(facts: ServeSetUp) -> Verdict:
    """Judge whether each model can be prepared."""
    wrong = [f"{one.table.name}: {one.error}" for one in facts.models if one.error]
    later = [one.table.name for one in facts.models if not one.error and one.size_bytes is None]
    slow = f"not prepared yet: {listed(later)}; the first request for one waits until it is, longer than serve.load_wait_s perhaps"
    return first_of(
        (wrong, problem("; ".join(wrong), "correct folder in [[serve.model]], or prepare the model again")),
        (later, warning(slow, "`vectail model add` prepares a model beforehand")),
        otherwise=f"{len(facts.models)} in [[serve.model]], all prepared" if facts.models else "only the default model",
    )


def _memory(facts: ServeSetUp) -> Verdict:
    """Judge the sizes of models against what they may take together."""
    budget_bytes = facts.settings.serve.memory_bytes
    sizes = {one.table.name: one.size_bytes or 0 for one in facts.models}
    pinned_bytes = sum(sizes[one.table.name] for one in facts.models if one.table.pin)
    left_bytes = budget_bytes - pinned_bytes
    large = [name for one in facts.models if not one.table.pin and sizes[name := one.table.name] > left_bytes]
    budget = f"serve.memory_bytes is {bytes_of(budget_bytes)}"
    too_much = f"the pinned models take {bytes_of(pinned_bytes)}, {budget}: the service refuses to start"
    no_room = f"{budget}, of which pinned models leave {bytes_of(max(left_bytes, 0))}: {listed(large)} can never be loaded"
    total = f"the models take {bytes_of(sum(sizes.values()))}, {budget}"
    turns = f"{total}: they are unloaded for one another"
    return first_of(
        (left_bytes < 0, problem(too_much, "raise it, or pin fewer models")),
        (large, problem(no_room, "raise it, or pin fewer models")),
        (sum(sizes.values()) > budget_bytes, ok(turns)),
        otherwise=total,
    )


def _loads(facts: ServeSetUp) -> Verdict:
    """Judge what the models did when they were last asked for."""
    failed = "; ".join(f"{name}: {error}" for name, error in facts.failures.items())
    change = "correct what is said; it is tried again when somebody asks for it, 30 s later at the earliest"
    return first_of((facts.failures, problem(f"could not be loaded: {failed}", change)), otherwise="no load has failed, as far as is known")


SERVE_CHECKS: Final = (
    Check("access", _access),
    Check("openai-tokens", _openai_tokens),
    Check("models", _models),
    Check("memory", _memory),
    Check("loads", _loads),
)

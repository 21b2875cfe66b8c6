"""Which looks the doctor takes: a tool from outside, or a worker from inside, with the sink and the engine that it has already."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from consumers.registry import RegistryAway, RegistryClient, RegistryMisconfigured
from consumers.source import KafkaRefused
from sinks.index_spaces import VectorSpace
from sinks.milvus.lite import names_server
from sinks.sink import Sink, SinkMismatch
from worker.asking.lane_question import TakeRequest
from worker.connections import index_space, open_registry
from worker.inspecting.doctor import DoctorLook, Group, Verdict, ok, problem
from worker.inspecting.doctor_broker import Broker
from worker.inspecting.doctor_kafka import KAFKA_CHECKS, existing_of, look_at_kafka
from worker.inspecting.doctor_lite import FOLDER_CHECKS, look_at_folder, look_at_open_sink
from worker.inspecting.doctor_machine import MACHINE_CHECKS, look_at_machine
from worker.inspecting.doctor_milvus import SERVER_CHECKS, NewSpace, away, look_at_server
from worker.inspecting.doctor_model import MODEL_CHECKS, EngineNow, Load, look_at_engine, look_at_model
from worker.inspecting.doctor_redis import REDIS_CHECKS, look_at_redis
from worker.inspecting.doctor_serve import SERVE_CHECKS, Failures, ask_failures, look_at_serve
from worker.inspecting.doctor_settings import SETTINGS_CHECKS, SUGGESTION_CHECKS, Offered, look_at_settings, look_at_suggestions
from worker.inspecting.doctor_versions import VERSION_CHECKS, look_at_versions
from worker.inspecting.doctor_worker import ask_worker
from worker.runtime.kafka_admin import BrokerAway
from worker.settings.settings import Settings
from worker.watching.group_offsets import consumer_group

_SERVICE_S: Final = 13.0
"""For a group that asks a service: each of its questions has a time-out of its own; this bounds the sum."""
_LOAD_S: Final = 120.0
"""For loading a model: vLLM takes 20 s and more, preparing a new model a minute."""
_HERE_S: Final = 10.0
_STATUS_S: Final = 2.0
_OFFER_S: Final = 9.0
"""For masks that a worker suggests: what it has found before is answered at once."""

SUGGESTION_NAMES: Final = [check.name for check in SUGGESTION_CHECKS]
NAMES: Final[Mapping[Group, Sequence[str]]] = {
    "kafka": [check.name for check in KAFKA_CHECKS],
    "registry": ["registry"],
    "redis": [check.name for check in REDIS_CHECKS],
    "milvus": [*(check.name for check in SERVER_CHECKS), *(check.name for check in FOLDER_CHECKS)],
    "model": MODEL_CHECKS,
    "serve": [check.name for check in SERVE_CHECKS],
    "versions": [check.name for check in VERSION_CHECKS],
    "machine": [check.name for check in MACHINE_CHECKS],
    "settings": [*(check.name for check in SETTINGS_CHECKS), *SUGGESTION_NAMES],
}
"""Every check, by group, in the order in which they are shown. docs/doctor.md has a line about each."""


def looks_of_tool(settings: Settings) -> list[DoctorLook]:
    """Return the looks of `vectail doctor`: each connects and loads by itself."""
    return [
        *_looks_at_services(settings, partial(ask_worker, settings.http, "/api/suggestions", timeout_s=_OFFER_S)),
        *_looks_at_serve(settings, partial(ask_failures, settings)),
        _look("milvus", partial(_look_at_milvus, settings, lambda: index_space(settings)), _LOAD_S),
        _look("model", partial(look_at_model, settings, partial(load_of, settings)), _LOAD_S),
        _look("machine", partial(look_at_machine, settings), _HERE_S),
    ]


def looks_of_worker(
    settings: Settings,
    *,
    sink: Sink,
    space: VectorSpace,
    take_request: TakeRequest,
    engine_now: Callable[[], EngineNow],
    offer: Callable[[], Offered],
    failures: Callable[[], Failures],
) -> list[DoctorLook]:
    """Return the looks of `GET /api/doctor`: nothing that the worker has is opened or loaded a second time."""
    return [
        *_looks_at_services(settings, offer),
        *_looks_at_serve(settings, failures),
        _look("milvus", partial(_look_at_milvus, settings, lambda: space, sink)),
        _look("model", partial(look_at_engine, settings, take_request, engine_now)),
        _look("machine", partial(look_at_machine, settings, is_worker=True), _HERE_S),
    ]


def load_of(settings: Settings) -> Load:
    """Return how much arrives: records a second as Kafka says, and the share that is new as a worker on this machine says."""
    status = ask_worker(settings.http, "/api/status", timeout_s=_STATUS_S)
    savings = [one for one in status.get("savings") or () if isinstance(one, dict)]
    chunks, tokens, saved = (sum(_number(one.get(name)) for one in savings) for name in ("chunks", "tokens", "tokens_saved"))
    return Load(
        lines_per_s=records_per_s(settings),
        new_share=1 - saved / tokens if tokens > 0 else None,
        tokens_per_line=tokens / chunks if chunks > 0 and tokens > 0 else None,
    )


def records_per_s(settings: Settings) -> float | None:
    """Ask Kafka how many records arrive in a second; None without an answer."""
    try:
        broker = Broker(settings.kafka)
        topics, _ = broker.topics()
        group = existing_of(consumer_group(settings, queries=False), topics)
        return broker.lag(group, now_ms=int(time.time() * 1000)).peak_rate if group.subscription.names else None
    except (BrokerAway, KafkaRefused):
        return None


def _looks_at_services(settings: Settings, offer: Callable[[], Offered]) -> Sequence[DoctorLook]:
    registry = [_look("registry", partial(_look_at_registry, settings))] if settings.registry.url else []
    return [
        _look("kafka", partial(look_at_kafka, settings)),
        *registry,
        _look("redis", partial(look_at_redis, settings.redis)),
        _look("versions", look_at_versions, _HERE_S),
        _look("settings", partial(look_at_settings, settings), _HERE_S),
        DoctorLook("settings", SUGGESTION_NAMES, partial(look_at_suggestions, offer), _HERE_S, may_be_silent=True),
    ]


def _looks_at_serve(settings: Settings, failures: Callable[[], Failures]) -> Sequence[DoctorLook]:
    """Models are set for a worker that serves, and for `vectail serve`."""
    is_set = settings.serve.enabled or settings.serve.model
    return [_look("serve", partial(look_at_serve, settings, failures), _HERE_S)] if is_set else []


def _look(group: Group, look: Callable[[], dict[str, Verdict]], limit_s: float = _SERVICE_S) -> DoctorLook:
    return DoctorLook(group, NAMES[group], look, limit_s)


def _look_at_milvus(settings: Settings, new_space: NewSpace, sink: Sink | None = None) -> dict[str, Verdict]:
    try:
        if names_server(settings.milvus.uri):
            return look_at_server(settings, new_space)
        return look_at_folder(settings, new_space) if sink is None else look_at_open_sink(settings, sink, new_space)
    except SinkMismatch as error:
        return {"index": away(settings.milvus.uri, error)}


def _look_at_registry(settings: Settings) -> dict[str, Verdict]:
    client: RegistryClient | None = None
    try:
        client = open_registry(settings.registry)
        if client is not None:
            client.ping()
    except RegistryMisconfigured as error:
        return {"registry": problem(str(error), "correct this setting")}
    except RegistryAway as error:
        change = "check that it runs and that [registry] is right; records with unknown schemas wait for it"
        return {"registry": problem(f"it does not answer: {error}", change)}
    return {} if client is None else {"registry": ok(f"{client.address} answers")}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

"""Opens every connection of a worker: model, sink, producers, HTTP; and the index for tools. The only file that makes a sink.

Called before the first poll by `run` and `demo`. What the user must change comes as ModelError, SinkMismatch, SettingsError or
ProducerMisconfigured, each one line.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial

from consumers.registry import RegistryClient
from consumers.registry_settings import RegistrySettings
from producers import replies
from producers.dead_letters import PRODUCER_PROPERTIES, LetterBox, TopicLetterBox
from producers.kafka import KafkaProducer
from producers.replies import ReplySender
from sinks.index_spaces import VectorSpace
from sinks.milvus.filled_space import filled_space
from sinks.milvus.lite import check_folder, local_folder
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import Sink
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import LoadedModel, load_for_queries, model_of, space_of
from worker.embedding.model.folder import PLAIN, TUNED
from worker.embedding.model.space import EmbeddingSpace
from worker.runtime.listening import Listening
from worker.runtime.process import vectail_version
from worker.runtime.stage import Crash
from worker.runtime.surroundings import Surroundings
from worker.runtime.tracing import TraceRules, Tracing, open_tracing
from worker.settings.settings import Settings, fail_point_of_tests
from worker.settings.tables import KafkaTable

_CLOSE_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """The loaded model and a client for everything outside the process, ready to use; `worker.service.shutdown` closes them.

    Thread: main.
    """

    model: LoadedModel
    query_model: LoadedModel | None = None
    """The same with an engine for queries alone; None: they share that of `model`."""
    sink: Sink
    dead_letters: LetterBox
    replies: ReplySender
    reply_producer: KafkaProducer
    canary_producer: KafkaProducer | None = None
    """Sends canary lines; None if none are sent."""
    connect_redis: Callable[[Crash], RedisCache] | None
    """Opens the cache that workers share; its threads report a crash to the service. None without Redis."""
    registry: RegistryClient | None = None
    """Has the schemas of values; None: there is no Schema Registry."""
    http: Listening | None = None
    """A socket that listens already; the service serves and closes it."""
    tracing: Tracing | None = None
    """None: no traces are recorded."""

    @property
    def producers(self) -> tuple[LetterBox | KafkaProducer, ...]:
        """All that sends, in the order in which it is closed."""
        canary = () if self.canary_producer is None else (self.canary_producer,)
        return (self.dead_letters, self.reply_producer, *canary)


def open_connections(settings: Settings, model: LoadedModel, *, say: Callable[[str], None], http: Listening | None = None) -> Connections:
    """Connect to everything; creates and reads nothing yet. `http` listens already.

    Raises RegistryMisconfigured, TracingMissing and ModelError.
    """
    kafka = settings.kafka
    sink = _new_sink(settings, vector_space(model.space), say)
    dead_letters = open_letter_box(kafka, say=say, fail_point=fail_point_of_tests())
    canary_producer = (
        None if settings.status.canary_interval_s is None else KafkaProducer(kafka.bootstrap_servers, kafka.librdkafka, say=say)
    )
    reply_producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, **replies.PRODUCER_PROPERTIES}, say=say)
    return Connections(
        model=model,
        query_model=load_for_queries(settings, model),
        sink=sink,
        dead_letters=dead_letters,
        replies=ReplySender(reply_producer, say=say),
        reply_producer=reply_producer,
        canary_producer=canary_producer,
        connect_redis=redis_of(settings, model.space, say),
        registry=open_registry(settings.registry),
        http=http,
        tracing=tracing_of(settings, say),
    )


def open_letter_box(
    kafka: KafkaTable,
    *,
    say: Callable[[str], None],
    client_say: Callable[[str], None] | None = None,
    fail_point: Callable[[str], None] = lambda _point: None,
) -> LetterBox:
    """Return the box of dead letters; `client_say` takes what the client itself reports, by default `say`. Raises ProducerMisconfigured."""
    properties = {**kafka.librdkafka, **PRODUCER_PROPERTIES}
    producer = KafkaProducer(kafka.bootstrap_servers, properties, say=client_say or say)
    return TopicLetterBox(producer, kafka.dead_letter_topic, version=vectail_version(), say=say, fail_point=fail_point)


@contextmanager
def letter_box_at_need(kafka: KafkaTable, *, say: Callable[[str], None]) -> Iterator[Callable[[], LetterBox]]:
    """Give a tool the box of dead letters, opened at the first call: most runs write nothing. The call raises ProducerMisconfigured."""
    box = cache(partial(open_letter_box, kafka, say=say))
    try:
        yield box
    finally:
        if box.cache_info().currsize:
            box().close(_CLOSE_S)


def tracing_of(settings: Settings, say: Callable[[str], None]) -> Tracing | None:
    """Return what records traces, None unless the settings want any. Raises TracingMissing."""
    table = settings.tracing
    if not table.enabled:
        return None
    secret = table.authorization.get_secret_value()
    headers = {"Authorization": secret} if secret else {}
    kafka = settings.kafka
    rules = TraceRules(table.endpoint, headers, kafka.group, kafka.query_group, vectail_version(), table.share)
    return open_tracing(rules, say=say)


def open_registry(settings: RegistrySettings) -> RegistryClient | None:
    """Return the client of the Schema Registry, None without one; connects to nothing yet. Raises RegistryMisconfigured."""
    return RegistryClient(settings) if settings.url else None


@contextmanager
def open_sink(
    settings: Settings,
    space: VectorSpace | None = None,
    *,
    strong: bool = True,
    say: Callable[[str], None] = lambda _line: None,
    wait: Callable[[Callable[[], None]], None] = lambda attempt: attempt(),
) -> Iterator[Sink]:
    """Open an existing index for a tool, and close it; nothing in it is created or altered.

    `space`: by default that of the settings' model. `strong` reads see everything stored; others are as consistent as the settings say.
    `wait` calls its argument until it raises no SinkBusy, or for as long as it likes. Raises SinkMismatch, ModelError and what `wait` does.
    """
    folder = local_folder(settings.milvus.uri)
    if folder is not None:
        check_folder(folder)  # before a model is prepared for nothing
    sink = _new_sink(settings, index_space(settings) if space is None else space, say, strong=strong)
    try:
        wait(lambda: sink.open(create=False))
        yield sink
    finally:
        sink.close()


def _new_sink(settings: Settings, space: VectorSpace, say: Callable[[str], None], *, strong: bool = False) -> Sink:
    table = settings.milvus.model_copy(update={"consistency": "Strong"}) if strong else settings.milvus
    return MilvusSink(table, space, consumer_group=settings.kafka.group, retention_s=settings.index.retention_s, say=say)


def index_space(settings: Settings) -> VectorSpace:
    """Return the space of the index that the settings' model fills. Raises ModelError."""
    chosen = with_index_model(settings)
    return vector_space(space_of(model_of(chosen), chosen.model.dims))


def with_index_model(settings: Settings, say: Callable[[str], None] = lambda _line: None) -> Settings:
    """Return settings that name the installed model which filled the index, where they leave it to that. Raises ModelError.

    `say` gets a line if it is the plain one. An index of neither model is refused by whoever opens it.
    """
    if settings.model.folder is not None or settings.model.name != "auto":
        return settings
    filled = filled_space(settings.milvus)
    for name in (TUNED, PLAIN):
        chosen = settings.model_copy(update={"model": settings.model.model_copy(update={"name": name})})
        if filled is None or space_of(model_of(chosen), chosen.model.dims).id == filled:
            if name == PLAIN:
                say(f"the index was filled with {PLAIN} and keeps it; {TUNED} finds more: index again into another milvus.collection")
            return chosen
    return settings


def vector_space(space: EmbeddingSpace) -> VectorSpace:
    """Return what the sink must know of the model's space."""
    return VectorSpace(space.dim, space.id, space.parts)


def redis_of(settings: Settings, space: EmbeddingSpace, say: Callable[[str], None]) -> Callable[[Crash], RedisCache] | None:
    """Return what opens the cache that workers share; None without one."""
    table = settings.redis
    if not table.url:
        return None
    return lambda on_crash: RedisCache(table, space, Surroundings(say=say), on_crash=on_crash)


def query_source(kafka: KafkaTable) -> KafkaTable:
    """Return the query group's settings: deadlines discard stale queries, so expired offsets never stop the query group."""
    return kafka.model_copy(update={"group": kafka.query_group, "offset_reset": "earliest", "on_expired_offset": "earliest"})

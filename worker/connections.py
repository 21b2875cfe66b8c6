"""Opens everything that the service stands on: model, sink, producers.

Called before the first poll by `run` and `demo`. What the user must change comes as ModelError, SinkMismatch, SettingsError or
ProducerMisconfigured, each one line.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from consumers.kafka.settings import KafkaSourceSettings
from producers import dead_letters, replies
from producers.dead_letters import DeadLetterSender
from producers.kafka import KafkaProducer
from producers.replies import ReplySender
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import Sink
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import EmbeddingSpace
from worker.http.listening import Listening
from worker.runtime.fail_point import fail_point
from worker.runtime.stage import Crash
from worker.runtime.version import VERSION
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable, RedisTable

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """What the service stands on, ready to use; the service closes all of it.

    Thread: main.
    """

    model: LoadedModel
    sink: Sink
    letters: DeadLetterSender
    letter_producer: KafkaProducer
    replies: ReplySender
    reply_producer: KafkaProducer
    canary_producer: KafkaProducer | None = None
    """Sends lines of our own; None if none shall be sent."""
    connect_redis: Callable[[Crash], RedisCache] | None
    """Makes the cache that workers share: it has threads of its own, whose crash is the service's. None without Redis."""
    http: Listening | None = None
    """Listens already; the service serves and closes it."""


def open_connections(settings: Settings, model: LoadedModel, *, say: Callable[[str], None], http: Listening | None = None) -> Connections:
    """Connect to everything; nothing is created or read yet. `http` listens already."""
    kafka = settings.kafka
    sink = MilvusSink(milvus_settings(settings, model.space), say=say)
    if settings.milvus.retention_days and sink.retention_s is None:
        say("Milvus Lite removes nothing by itself: milvus.retention_days has no effect, rows are kept for ever")
    letter_producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}, say=say)
    canary_producer = (
        None if settings.status.canary_interval_s is None else KafkaProducer(kafka.bootstrap_servers, kafka.librdkafka, say=say)
    )
    reply_producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, **replies.PRODUCER_PROPERTIES}, say=say)
    return Connections(
        model=model,
        sink=sink,
        letters=DeadLetterSender(
            letter_producer, kafka.dead_letter_topic, version=VERSION, say=say, fail_point=fail_point(settings.fail_point)
        ),
        letter_producer=letter_producer,
        replies=ReplySender(reply_producer, say=say),
        reply_producer=reply_producer,
        canary_producer=canary_producer,
        connect_redis=_redis(settings.redis, model.space, say),
        http=http,
    )


def milvus_settings(settings: Settings, space: EmbeddingSpace) -> MilvusSettings:
    """Return the sink's own settings."""
    milvus = settings.milvus
    return MilvusSettings(
        uri=milvus.uri,
        dim=space.dim,
        space=space.id,
        space_parts=space.parts,
        collection=milvus.collection,
        token=milvus.token.get_secret_value(),
        user=milvus.user,
        password=milvus.password.get_secret_value(),
        db=milvus.db,
        ca_file=_path(milvus.ca_file),
        cert_file=_path(milvus.cert_file),
        key_file=_path(milvus.key_file),
        server_name=milvus.server_name,
        index=milvus.index,
        metric=milvus.metric,
        vector_type=milvus.vector_type,
        bm25=milvus.bm25,
        partition_key=milvus.partition_key,
        timeout_s=milvus.timeout_s,
        retention_s=None if milvus.retention_days is None else milvus.retention_days * _DAY_S,
    )


def _path(file: Path | None) -> str:
    return "" if file is None else str(file)


def _redis(table: RedisTable, space: EmbeddingSpace, say: Callable[[str], None]) -> Callable[[Crash], RedisCache] | None:
    if not table.url and not table.sentinels:
        return None
    return lambda on_crash: RedisCache(table, space, say=say, on_crash=on_crash)


def log_source(kafka: KafkaTable) -> KafkaSourceSettings:
    """Return where the lines come from."""
    return KafkaSourceSettings(
        bootstrap_servers=kafka.bootstrap_servers,
        group=kafka.group,
        topics=kafka.topics,
        offset_reset=kafka.offset_reset,
        on_expired_offset=kafka.on_expired_offset,
        topic_epoch=kafka.topic_epoch,
        group_protocol=kafka.group_protocol,
        max_poll_interval_s=kafka.max_poll_interval_s,
        prefetch_bytes=kafka.prefetch_bytes,
        down_exit_s=kafka.down_exit_s,
        librdkafka=kafka.librdkafka,
    )


def query_source(kafka: KafkaTable) -> KafkaSourceSettings:
    """Queries are answered wherever the topic begins: deadlines weed out the old ones, and those that are gone are worth no stop."""
    return replace(
        log_source(kafka), group=kafka.query_group, topics=(kafka.query_topic,), offset_reset="earliest", on_expired_offset="earliest"
    )

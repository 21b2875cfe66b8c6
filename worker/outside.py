"""Opens everything that the service stands on: model, sink, producers.

Called before the first poll by `run` and `demo`. What the user must change comes as ModelError, SinkMismatch, SettingsError or
ProducerMisconfigured, each one line.
"""

from collections.abc import Callable

from producers import dead_letters, replies
from producers.dead_letters import DeadLetterSender
from producers.kafka import KafkaProducer
from producers.replies import ReplySender
from sinks.milvus.sink import MilvusSettings, MilvusSink
from worker.loaded import LoadedModel
from worker.service import Outside
from worker.settings import Settings
from worker.version import VERSION


def open_outside(settings: Settings, model: LoadedModel, *, say: Callable[[str], None]) -> Outside:
    """Connect to everything; nothing is created or read yet."""
    kafka = settings.kafka
    letter_producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, **dead_letters.PRODUCER_PROPERTIES}, say=say)
    reply_producer = KafkaProducer(kafka.bootstrap_servers, {**kafka.librdkafka, **replies.PRODUCER_PROPERTIES}, say=say)
    return Outside(
        model=model,
        sink=MilvusSink(milvus_settings(settings, model)),
        letters=DeadLetterSender(letter_producer, kafka.dead_letter_topic, version=VERSION, say=say),
        letter_producer=letter_producer,
        replies=ReplySender(reply_producer),
        reply_producer=reply_producer,
    )


def milvus_settings(settings: Settings, model: LoadedModel) -> MilvusSettings:
    """Return the sink's own settings."""
    milvus = settings.milvus
    return MilvusSettings(
        uri=milvus.uri,
        dim=model.space.dim,
        space=model.space.id,
        space_parts=model.space.parts,
        collection=milvus.collection,
        token=milvus.token.get_secret_value(),
        user=milvus.user,
        password=milvus.password.get_secret_value(),
        db=milvus.db,
        timeout_s=milvus.timeout_s,
    )

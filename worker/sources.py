"""What the two groups read, and from where: the sources of the logs and of the queries.

`worker.service` makes one of each from the settings.
"""

from dataclasses import replace

from consumers.kafka_settings import KafkaSourceSettings
from worker.tables import KafkaTable


def log_source(kafka: KafkaTable) -> KafkaSourceSettings:
    """Return where the lines come from."""
    return KafkaSourceSettings(
        bootstrap_servers=kafka.bootstrap_servers,
        group=kafka.group,
        topics=kafka.topics,
        start=kafka.start,
        expired=kafka.expired,
        topic_epoch=kafka.topic_epoch,
        protocol=kafka.protocol,
        max_poll_interval_s=kafka.max_poll_interval_s,
        prefetch_bytes=kafka.prefetch_bytes,
        down_exit_s=kafka.down_exit_s,
        librdkafka=kafka.librdkafka,
    )


def query_source(kafka: KafkaTable) -> KafkaSourceSettings:
    """Queries are answered wherever the topic begins: deadlines weed out the old ones, and those that are gone are worth no stop."""
    return replace(log_source(kafka), group=kafka.query_group, topics=(kafka.query_topic,), start="earliest", expired="earliest")

"""A topic of a real Kafka, a group that has committed nothing, and settings that name both, for the verbs about positions."""

import json
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.worker.cli.console import EndedVerb
from worker.settings.settings import Settings, load_settings

OLD_MS = 1_700_000_000_000
WAIT_S = 30.0


class LogGroup:
    """Ten records in partition 0, one a second from `OLD_MS` on, and none in the others. The query topic does not exist.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, name: str, folder: Path, run_here: Callable[..., EndedVerb], *, partitions: int = 2) -> None:
        self.name = name
        self.kafka = kafka
        self._run_here = run_here
        self.config = folder / "vectail.toml"
        names = f'group = "{name}"\ntopic_epoch = "e1"\nquery_topic = "{name}-queries"\nquery_group = "{name}-queries"\n'
        self.config.write_text(
            f'{topic_line(name)}[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\n{names}[milvus]\nuri = "{folder / "milvus"}"\n'
        )
        self.admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        kafka.create_topic(name, partitions=partitions)
        self.produce(10)

    @property
    def settings(self) -> Settings:
        return load_settings(self.config)

    def produce(self, count: int, topic: str = "") -> None:
        """Add records to partition 0 of the topic, or of another one."""
        for number in range(count):
            self._producer.produce(topic or self.name, b"a", partition=0, timestamp=OLD_MS + 1_000 * number)
        assert self._producer.flush(WAIT_S) == 0

    def commit(self, next_offset: int) -> None:
        asked = ConsumerGroupTopicPartitions(self.name, [TopicPartition(self.name, 0, next_offset)])
        (place,) = self.admin.alter_consumer_group_offsets([asked])[self.name].result().topic_partitions
        assert place.error is None

    def verb(self, *words: str) -> EndedVerb:
        """Run a verb with these settings."""
        return self._run_here(*words, "-c", str(self.config))

    def reset(self, to: str, *words: str) -> EndedVerb:
        return self.verb("offsets", "reset", "--to", to, "--yes", *words)

    def committed(self) -> list[int | None]:
        """Return what the verb says of each partition."""
        return [one["committed"] for one in json.loads(self.verb("offsets", "show", "--json").out)["partitions"]]

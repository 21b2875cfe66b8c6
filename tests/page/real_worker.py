"""A whole worker behind the page: embedded broker, Milvus Lite, the default model, and a few thousand synthetic lines and hostile ones.

As in `vectail demo`, but that Kafka is reached through a proxy: a test can take it away and give it back.
"""

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from producers.kafka import EmbeddedBroker, KafkaProducer, OutgoingRecord
from producers.log_feed import synthetic_lines
from sinks.milvus.milvus_settings import MilvusSettings
from tests.log_topics import log_topics
from tests.page.hostile import TEXTS
from tests.services.proxy import kafka_proxy
from worker.cli.run import BackgroundService, load_or_fail, open_service
from worker.runtime.listening import listen
from worker.settings.service_tables import HttpTable, StatusTable
from worker.settings.settings import Settings
from worker.settings.tables import IndexTable, KafkaTable

TOPIC = "logs"
LINES = 3_000
WAIT_S = 90.0
_SEED = 7
_GAP_MS = 8
_LOOK_S = 0.05


def usual_lines() -> Iterator[bytes]:
    """Yield synthetic lines up to now, and the hostile ones."""
    yield from synthetic_lines(_SEED, LINES, int(time.time() * 1000) - LINES * _GAP_MS)
    yield from (text.encode() for text in TEXTS)


class RealWorker:
    """Runs from the start to `close`.

    Thread: the test's.
    """

    def __init__(self, folder: Path, *, lines: Iterable[bytes] | None = None) -> None:
        """`lines` replace the synthetic and the hostile ones."""
        self.said: list[str] = []
        self._stack = ExitStack()
        self._stop = threading.Event()
        broker = EmbeddedBroker()
        self._stack.callback(broker.close)
        self.kafka = self._stack.enter_context(kafka_proxy(broker.bootstrap_servers))
        """Between the worker and the broker."""
        kafka = KafkaTable(
            bootstrap_servers=f"127.0.0.1:{self.kafka.port}",
            topic_epoch="page",
            commit_interval_s=0.2,
            group_protocol="consumer",
            librdkafka={"fetch.wait.max.ms": "10", "reconnect.backoff.max.ms": "500"},
        )
        self.settings = Settings(
            kafka=kafka,
            topic=log_topics(TOPIC),
            milvus=MilvusSettings(uri=str(folder / "index.db")),
            index=IndexTable(flush_s=0.1),
            http=HttpTable(port=0),
            status=StatusTable(refresh_s=0.5),
        )
        self._producer = KafkaProducer(broker.bootstrap_servers, {}, say=self.said.append)
        self._stack.callback(self._producer.close, 1.0)
        for topic in (TOPIC, *kafka.own_topics):
            self._producer.partition_count(topic, timeout_s=WAIT_S)
        self.sent = 0
        try:
            http = listen(self.settings.http)
            self.url = http.url
            service = open_service(self.settings, load_or_fail(self.settings), say=self.said.append, http=http)
            self.background = BackgroundService(service, self._stop)
            self._stack.callback(self.background.end)
            self.background.wait_opened()
            self.send(usual_lines() if lines is None else lines)
        except BaseException:
            self._stack.close()
            raise

    def send(self, values: Iterable[bytes]) -> None:
        """Send lines and wait until each is stored."""
        failed: list[str] = []
        for value in values:
            self._producer.send(
                TOPIC, OutgoingRecord(value, partition=self.sent % 4), delivered=lambda reason: failed.append(reason) if reason else None
            )
            self.sent += 1
        assert self._producer.flush(WAIT_S) == 0
        assert failed == []
        until_s = time.monotonic() + WAIT_S
        while self._committed() < self.sent:
            assert time.monotonic() < until_s, "the lines are not committed"
            self.background.check()
            threading.Event().wait(_LOOK_S)

    def close(self) -> None:
        """Drain and end; nothing has crashed."""
        self.kafka.release()
        self._stack.close()
        assert self.background.service.crash is None

    def _committed(self) -> int:
        committed = self.background.service.pipeline.indexing.ledger.committed()
        return sum(next_offset for place, next_offset in committed.items() if place.topic == TOPIC)

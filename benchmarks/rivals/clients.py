"""The clients of the workers that people write by hand: a consumer that commits itself, Redis, and Milvus Lite with a row for each line."""

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import redis
from confluent_kafka import Consumer, KafkaException, Message
from milvus_lite.server_manager import server_manager_instance
from pymilvus import MilvusClient

from benchmarks.by_hand_turns import Plan, Rows, Turn, keep_vectors

COLLECTION = "logs"
TURN_S = 900.0
"""A worker that is not done by then has failed: a broker that is gone is no error to a consumer."""
_MOST_ROWS = 16_384
"""What Milvus answers at once."""
_FILE = "rows.db"
_DIM = 384


def open_consumer(bootstrap_servers: str, topic: str) -> Consumer:
    """Return a consumer of the whole topic, in a group of its own."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    return consumer


def read_messages(consumer: Consumer, most: int, until_s: float) -> list[Message]:
    """Return the next messages, at least one. Raises KafkaException, and SystemExit at `until_s` of the monotonic clock."""
    while not (messages := consumer.consume(most, timeout=0.1)):
        if time.monotonic() > until_s:
            raise SystemExit(f"the records did not come within {TURN_S:.0f} s")
    for message in messages:
        if error := message.error():
            raise KafkaException(error)
    return messages


def open_cache(url: str) -> Any:  # noqa: ANN401 - redis-py's answers have no types
    """Return a client of a Redis, connected."""
    cache = redis.Redis.from_url(url)
    cache.ping()
    return cache


def open_milvus(folder: str, dim: int) -> MilvusClient:
    """Return a new index in a folder, with a vector, the text and where it was in every row."""
    milvus = MilvusClient(str(Path(folder) / _FILE))
    milvus.create_collection(COLLECTION, dimension=dim, id_type="string", max_length=128, metric_type="COSINE")
    return milvus


def read_rows(milvus: MilvusClient) -> Rows:
    """Return text and vector of every row."""
    rows = milvus.query(COLLECTION, filter="", output_fields=["text", "vector"], limit=_MOST_ROWS)
    return [(row["text"], np.array(row["vector"], np.float32)) for row in rows]


def close_milvus(milvus: MilvusClient, folder: str) -> None:
    """Close an index. Closing the client alone leaves Milvus Lite's server running in this process."""
    milvus.close()
    server_manager_instance.release_server(str(Path(folder) / _FILE))


class Clients(NamedTuple):
    """What a worker written by hand holds."""

    consumer: Consumer
    cache: Any
    milvus: MilvusClient


def index_topic(plan: Plan, work: Callable[[Clients], float]) -> Turn:
    """Open the three clients, let a worker index the topic, and read back what it has stored; `work` returns its seconds."""
    clients = Clients(open_consumer(plan.bootstrap_servers, plan.topic), open_cache(plan.redis_url), open_milvus(plan.folder, _DIM))
    seconds = work(clients)
    clients.consumer.close()
    rows = read_rows(clients.milvus)
    close_milvus(clients.milvus, plan.folder)
    keep_vectors(plan.folder, rows)
    return Turn(seconds, len(rows), {})

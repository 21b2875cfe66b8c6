"""The clients of the workers that people write by hand: a consumer that commits itself, Redis, and Milvus Lite with a row for each line."""

import uuid
from pathlib import Path
from typing import Any

import redis
from confluent_kafka import Consumer
from pymilvus import MilvusClient

COLLECTION = "logs"
MOST_ROWS = 16_384
"""What Milvus answers at once."""


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


def open_cache(url: str) -> Any:  # noqa: ANN401 - redis-py's answers have no types
    """Return a client of a Redis."""
    return redis.Redis.from_url(url)


def open_milvus(folder: str, dim: int) -> MilvusClient:
    """Return a new index in a folder, with a vector, the text and where it was in every row."""
    milvus = MilvusClient(str(Path(folder) / "rows.db"))
    milvus.create_collection(COLLECTION, dimension=dim, id_type="string", max_length=128, metric_type="COSINE")
    return milvus

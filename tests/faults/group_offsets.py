"""What a group has committed, asked of the broker by a client that does not join the group."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

WAIT_S = 60.0


class GroupOffsets:
    """Asks for committed offsets with one client: a client for each question took more of the processor than some workers.

    Thread: any.
    """

    def __init__(self, client: Mapping[str, Any], group: str) -> None:
        """`client`: properties of a client; `group`: need not exist."""
        self._group = group
        self._consumer = Consumer({**client, "group.id": group})

    def of(self, places: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the committed offsets, 0 where there is none; wait for a broker that is starting."""
        asked = list(places)
        until_s = time.monotonic() + WAIT_S
        while True:
            try:
                found = self._consumer.committed(asked, timeout=WAIT_S)
            except KafkaException as failure:
                if time.monotonic() > until_s:
                    raise AssertionError(f"the group {self._group} cannot be asked") from failure
            else:
                return [TopicPartition(place.topic, place.partition, max(place.offset, 0)) for place in found]

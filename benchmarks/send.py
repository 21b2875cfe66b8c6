"""Sends the records of a benchmark to a topic; every benchmark that fills one does it here."""

import threading
import time
from collections.abc import Iterable, Iterator

from producers.kafka import KafkaProducer, OutgoingRecord

_SEND_S = 300.0


def send(bootstrap_servers: str, topic: str, values: Iterable[bytes], *, partitions: int, in_a_row: int = 1) -> None:
    """Send values to the partitions in turn, `in_a_row` to each. Raises SystemExit if the broker does not take all of them."""
    producer, failed = KafkaProducer(bootstrap_servers, {}, say=lambda _line: None), list[str]()
    for number, value in enumerate(values):
        partition = number // in_a_row % partitions
        producer.send(topic, OutgoingRecord(value, partition=partition), delivered=lambda why: failed.append(why) if why else None)
    if producer.flush(_SEND_S) or failed:
        raise SystemExit(f"the broker did not take the lines: {failed[:1]}")
    producer.close(1.0)


def at_rate(values: Iterable[bytes], per_s: float) -> Iterator[bytes]:
    """Yield values at their moments, `per_s` a second."""
    never, began_s = threading.Event(), time.monotonic()
    for number, value in enumerate(values):
        never.wait(max(began_s + number / per_s - time.monotonic(), 0))
        yield value

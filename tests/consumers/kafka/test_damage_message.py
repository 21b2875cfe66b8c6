"""Data that arrives damaged every time: one line names the offset and the remedy."""

import pytest

from consumers.kafka.fetch_position import DEFAULT_MAX_MESSAGE_BYTES, damage_message
from consumers.record import Partition
from tests.consumers.kafka.conftest import NewPlace
from tests.contracts.groups import poll_until
from tests.rows import rows
from tests.services.kafka import KafkaServer

LARGE_BYTES, MOST_BYTES = 3_000_000, "1000000"


@pytest.mark.parametrize(("rule", "reason", "tries", "next_offset", "line"), rows("damage_messages"))
def test_every_rule_says_what_is_said(rule: str, reason: str, tries: int, next_offset: int | None, line: str) -> None:
    said = damage_message(Partition("logs", 3), next_offset, reason, tries=tries, max_message_bytes=DEFAULT_MAX_MESSAGE_BYTES)
    assert said == line, rule


def test_a_real_zstd_batch_that_is_too_large_holds_its_partition_and_is_read_once_it_is_allowed(
    kafka: KafkaServer, new_place: NewPlace
) -> None:
    place = new_place(kafka, partitions=2)
    large = {"message.max.bytes": 2 * LARGE_BYTES, "compression.type": "zstd", "batch.num.messages": 1}
    for value, partition in ((b"first", 0), (bytes(LARGE_BYTES), 0), (b"behind", 0), (b"beside", 1)):
        place.produce(value, partition=partition, properties=large)
    limits = {"receive.message.max.bytes": MOST_BYTES, "fetch.max.bytes": "100000", "message.max.bytes": "1000"}
    first = place.join(librdkafka=limits)
    poll_until(lambda: place.has_said("is blocked"), first)
    blocked = next(line for line in place.said if "is blocked" in line)
    assert blocked.startswith(f"{place.topic}/0 is blocked: the data at offset 1 arrives damaged every time (Decompression")
    assert f"larger than {MOST_BYTES} bytes" in blocked
    assert (first.offsets(0), first.offsets(1)) == ([0], [0])
    first.close()
    second = place.join()
    poll_until(lambda: len(second.records) == 4, second)
    assert [len(record.value or b"") for record in second.records if record.partition == 0] == [5, LARGE_BYTES, 6]

"""Data that arrives damaged every time: one line names the offset and the remedy."""

import pytest

from consumers.kafka.fetch_position import DEFAULT_MAX_MESSAGE_BYTES, MAX_TRANSIENT_FAILURES, damage_message
from consumers.record import Partition
from tests.consumers.kafka.conftest import NewPlace
from tests.contracts.groups import poll_until
from tests.services.kafka import KafkaServer

LOGS = Partition("logs", 3)
UNZIP = "Decompression (codec 0x4) of message at 7 of 3384 bytes failed: Local: Invalid compressed data"
BLOCKED = "logs/3 is blocked: the data at offset 7 arrives damaged every time"
WAY_OUT = "`vectail offsets reset --to OFFSET --topic logs --partition 3` skips it"
LARGE_BYTES, MOST_BYTES = 3_000_000, "1000000"


def said(reason: str, tries: int, next_offset: int | None = 7) -> str:
    return damage_message(LOGS, next_offset, reason, tries=tries, max_message_bytes=DEFAULT_MAX_MESSAGE_BYTES)


def test_what_a_bad_wire_does_is_one_line_whatever_it_hits() -> None:
    lines = {said(f"CRC at offset {tries}", tries) for tries in range(1, MAX_TRANSIENT_FAILURES + 1)}
    assert lines == {"logs/3: damaged data received; fetching it again"}


@pytest.mark.parametrize(("next_offset", "place"), [(7, "the data at offset 7"), (None, "the next data")])
def test_a_place_that_is_damaged_every_time_is_named_with_the_way_out(next_offset: int | None, place: str) -> None:
    lines = {said("CRC", tries, next_offset) for tries in range(MAX_TRANSIENT_FAILURES + 1, 100)}
    assert len(lines) == 1, "each of them would be said"
    [line] = lines
    assert place in line
    assert WAY_OUT in line
    assert "zstd" not in line


def test_a_batch_that_is_too_large_to_unpack_may_be_allowed() -> None:
    line = said(UNZIP, MAX_TRANSIENT_FAILURES + 1)
    assert line.startswith(BLOCKED)
    assert UNZIP in line
    assert "larger than 100000000 bytes, allow more in kafka.librdkafka (receive.message.max.bytes)" in line
    assert line.endswith(WAY_OUT)


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

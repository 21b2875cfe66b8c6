"""Batches that reach a real worker damaged: no record is skipped, and every text is stored byte for byte.

Bits are flipped inside records, which the batch's checksum covers. No checksum covers the bytes before it (the batch's base offset) or the
answer with a group's position: only TLS protects those.
"""

import json
from collections import Counter

import pytest
from confluent_kafka import Message, Producer

from tests.faults.group_offsets import WAIT_S
from tests.faults.records import BASE_MS, Content, Entry, Sent
from tests.faults.scene import Scene
from tests.services.proxy import kafka_proxy

TIMES = 5
LARGE_BYTES = 1_500_000
SMALL = json.dumps({"receive.message.max.bytes": "1000000", "fetch.max.bytes": "100000", "message.max.bytes": "1000"})


def test_what_comes_damaged_first_or_later_is_fetched_again_and_every_text_is_its_own(scene: Scene) -> None:
    scene.topics.send(400)
    with kafka_proxy(scene.topics.bootstrap) as proxy:
        proxy.spoil(b"socket", times=1)  # in the first batches of the first fetches, before anything is committed
        worker = scene.start(kafka__bootstrap_servers=f"127.0.0.1:{proxy.port}", limits__max_in_flight_records="100")
        scene.wait_progress(worker)
        proxy.spoil(b"replica", times=TIMES)
        scene.wait_progress(worker)
        proxy.spoil(b"basket", times=TIMES)
        scene.topics.send(200)
        scene.wait_all_committed(worker)
        assert proxy.spoiled > TIMES, "too little was damaged"
        complaints = Counter(event["event"] for event in worker.events("warning"))
        places = {f"{scene.topics.logs}/{partition}: damaged data received; fetching it again" for partition in scene.topics.ends()}
        assert set(complaints) <= places
        assert complaints
        assert max(complaints.values()) == 1
        scene.fresh_record_flows(worker)
        scene.drain(worker)
    scene.judge_end()


@pytest.mark.long
def test_a_batch_too_large_to_unpack_holds_its_partition_only_and_goes_on_once_it_is_allowed(scene: Scene) -> None:
    """A batch that the client cannot decompress is reported as damaged for ever; short form: `consumers/kafka/test_damage_message.py`."""
    _send_large(scene)
    scene.topics.send(200)
    worker = scene.start(kafka__librdkafka=SMALL)
    worker.wait_for(f"{scene.topics.logs}/0 is blocked: the data at offset 0 arrives damaged every time")
    scene.wait_all_committed(worker, partitions=[1, 2, 3])
    assert scene.topics.committed()[0] == 0
    scene.drain(worker)
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


def _send_large(scene: Scene) -> None:
    topics = scene.topics
    large = Content(bytes(LARGE_BYTES), "dead_letter", reason="too_large")
    behind = Content(b"behind the large one", "rows", (Entry(0, "behind the large one"),))
    limits = {"message.max.bytes": 2 * LARGE_BYTES, "compression.type": "zstd", "batch.num.messages": 1}
    producer = Producer({"bootstrap.servers": topics.bootstrap, "log_level": 0} | limits)
    for content in (large, behind):

        def delivered(error: object, message: Message, content: Content = content) -> None:
            assert error is None, error
            topics.sent.append(Sent(0, message.offset() or 0, BASE_MS, content, topics.epoch()))

        producer.produce(topics.logs, content.value, partition=0, timestamp=BASE_MS, on_delivery=delivered)
        assert producer.flush(WAIT_S) == 0

"""A committed offset whose record retention has deleted: an explicit stop, or what the setting says; queries never stop a worker."""

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.faults.scene import Scene
from tests.worker.running import wait_until

USER_ERROR = 2
_NO_COORDINATOR = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)


def _commit(admin: AdminClient, group: str, topic: str, next_offset: int) -> None:
    """Commit for a group without members; a new broker has no coordinator until it has created its offsets topic."""
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, next_offset)])

    def is_committed() -> bool:
        (place,) = admin.alter_consumer_group_offsets([asked])[group].result().topic_partitions
        assert place.error is None or place.error.code() in _NO_COORDINATOR
        return place.error is None

    wait_until(is_committed, f"a commit of {group}")


def test_records_that_are_gone_stop_the_worker_until_the_user_decides(scene: Scene) -> None:
    topics = scene.topics
    topics.send(40)
    admin = AdminClient({"bootstrap.servers": topics.bootstrap, "log_level": 0})
    _commit(admin, topics.group, topics.logs, 4)
    _commit(admin, topics.query_group, topics.queries, 99)  # beyond the end
    place = TopicPartition(topics.logs, 0, 6)
    assert admin.delete_records([place])[place].result().low_watermark == 6

    stopped = scene.start()
    assert stopped.wait() == USER_ERROR, stopped.lines
    assert [line for line in stopped.lines if "traceback" in line] == []
    (line,) = stopped.words()
    assert line.startswith(
        f"vectail: {topics.logs}/0: offset 4 is next, but the oldest record left is 6: 2 records expired before they were indexed; "
    )
    assert f"`vectail offsets reset --to earliest --topic {topics.logs} --partition 0`" in line
    assert topics.committed()[0] == 4

    worker = scene.start(kafka__on_expired_offset="earliest")
    scene.wait_all_committed(worker)
    scene.drain(worker)
    warned = [event["event"] for event in worker.events("warning")]
    assert any(
        f"{topics.logs}/0: offset 4 is next" in line and "resuming at 6 (kafka.on_expired_offset = earliest)" in line for line in warned
    )
    assert {line.offset for line in scene.read().lines if line.partition == 0} == {6, 7, 8, 9}

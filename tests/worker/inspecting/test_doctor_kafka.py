"""The doctor's judgements of Kafka on planted facts, and its questions on a real broker and on the mock one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from consumers.record import Partition
from tests.log_topics import log_topics
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.worker.inspecting.judged import judge, says
from worker.inspecting.doctor import State
from worker.inspecting.doctor_broker import BrokerFacts, BrokerMember, CommittedLag, GroupFacts
from worker.inspecting.doctor_clock import KafkaClock
from worker.inspecting.doctor_kafka import KAFKA_CHECKS, KafkaFacts, look_at_kafka
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable
from worker.settings.topic_tables import TopicTable
from worker.watching.group_offsets import GroupPosition

WAIT_S = 30.0
NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
OWN = {"vectail.queries": 4, "vectail.replies": 4, "vectail.dead-letters": 1}
READ, WRITE = frozenset({"READ", "DESCRIBE"}), frozenset({"WRITE", "DESCRIBE"})
RIGHTS = {"logs": READ, "vectail.queries": READ, "vectail.replies": WRITE, "vectail.dead-letters": WRITE}
WORKER, STRANGER = BrokerMember("vectail", "10.0.0.1", frozenset({"logs"})), BrokerMember("logstash-0", "10.0.0.9", frozenset({"logs"}))
POSITION = GroupPosition(partition=Partition("logs", 0), committed=900, first_offset=0, end_offset=1_000, start="earliest")
FAR = replace(POSITION, end_offset=10_000)
SOON = {"outlook": "catches_up", "outlook_text": "caught up in 3 to 5 min"}
STILL = {"outlook": "stands_still", "outlook_text": "stands still"}
PATTERNED = Settings(topic=(TopicTable(pattern="logs-.*"),))
ANSWERING = Settings(kafka=KafkaTable(index=False))
RENAMED = Settings(kafka=KafkaTable(librdkafka={"client.id": "logstash"}))
NOT_JOINED = {"vectail": GroupFacts("classic", rights=frozenset())}


def lag_of(position: GroupPosition = POSITION, *, age_ms: int = 1_000, rate: float = 10.0, newest_ms: int | None = None) -> CommittedLag:
    return CommittedLag([position], {position.partition: NOW_MS - age_ms} if position.lag_records else {}, rate, rate, newest_ms)


FACTS = KafkaFacts(
    settings=Settings(),
    seconds=0.02,
    brokers=3,
    topics=OWN | {"logs": 4},
    said=BrokerFacts(),
    lag=lag_of(),
    clock=None,
    now_ms=NOW_MS,
    outlook={},
)


def said(**facts: Any) -> KafkaFacts:  # noqa: ANN401 - as BrokerFacts takes them
    return replace(FACTS, said=BrokerFacts(**facts))


def rights(missing: str = "", **facts: Any) -> KafkaFacts:  # noqa: ANN401 - as BrokerFacts takes them
    return said(rights=RIGHTS | ({missing: frozenset({"DESCRIBE"})} if missing else {}), **facts)


def members(logs: GroupFacts, settings: Settings = FACTS.settings) -> KafkaFacts:
    return replace(said(groups={"vectail": logs, "vectail-queries": GroupFacts("classic", [WORKER])}), settings=settings)


def workers(number: int, partitions: int) -> KafkaFacts:
    groups = dict.fromkeys(("vectail", "vectail-queries"), GroupFacts("classic", [WORKER] * number))
    return replace(said(groups=groups), topics=OWN | {"logs": partitions})


def read(position: GroupPosition, age_ms: int = 1_000, rate: float = 10.0, **kept: object) -> KafkaFacts:
    properties = {"logs": {name.replace("_", "."): str(value) for name, value in kept.items()}} if kept else {}
    return replace(said(properties=properties), lag=lag_of(position, age_ms=age_ms, rate=rate))


def sizes(logs: int, letters: int) -> KafkaFacts:
    return said(properties={"logs": {"max.message.bytes": str(logs)}, "vectail.dead-letters": {"max.message.bytes": str(letters)}})


def letters(**kept: str) -> KafkaFacts:
    return said(properties={"vectail.dead-letters": {name.replace("_", "."): value for name, value in kept.items()}})


def clock(ahead_s: float, uncertain_s: float = 0.01) -> KafkaFacts:
    return replace(FACTS, clock=KafkaClock(ahead_s, uncertain_s))


@pytest.mark.parametrize(
    ("name", "facts", "state", "words"),
    [
        ("kafka", FACTS, "ok", "20 ms|3 brokers"),
        ("kafka", replace(FACTS, seconds=0.8, brokers=1), "warning", "800 ms|1 broker"),
        ("version", said(of_broker={"inter.broker.protocol.version": "3.7-IV4"}), "ok", "Kafka 3.7, librdkafka 2."),
        ("version", said(of_broker={"inter.broker.protocol.version": "2.8-IV1"}), "problem", "Kafka 2.8"),
        ("version", said(of_broker={"group.coordinator.rebalance.protocols": "classic"}), "ok", "Kafka 4.0 or newer"),
        ("version", FACTS, "ok", "does not say"),
        ("version", said(of_broker={"log.dirs": "/"}), "ok", "does not say"),
        ("topics", FACTS, "ok", "1 to read (logs)"),
        ("topics", replace(FACTS, topics={"logs": 4}), "problem", "vectail.queries, vectail.replies, vectail.dead-letters do not exist"),
        ("topics", replace(FACTS, topics=OWN), "problem", "logs does not exist|topics init"),
        ("topics", replace(FACTS, settings=PATTERNED, topics=OWN | {"logs-a": 1}), "ok", "logs-a"),
        ("topics", replace(FACTS, settings=PATTERNED, topics=OWN | {"log": 1}), "warning", "'logs-.*'"),
        ("rights", rights(groups={"vectail": GroupFacts("classic", rights=READ)}), "ok", "are allowed"),
        *(("rights", rights(name), "problem", f"not allowed: {'WRITE' if right == WRITE else 'READ'} on topic {name}")
          for name, right in RIGHTS.items()),
        ("rights", rights(groups={"vectail": GroupFacts("classic", rights=frozenset())}), "problem", "READ on group vectail"),
        ("rights", rights(refused={"logs": "no"}), "problem", "DESCRIBE on logs"),
        ("rights", replace(rights("logs", groups=NOT_JOINED), settings=ANSWERING), "ok", "are allowed"),
        ("rights", replace(rights("vectail.queries"), settings=ANSWERING), "problem", "not allowed: READ on topic vectail.queries"),
        ("rights", said(rights={"logs": READ}), "ok", "what is allowed on vectail.queries, vectail.replies, vectail.dead-letters"),
        ("rights", FACTS, "ok", "does not say"),
        ("group", members(GroupFacts("classic", [WORKER])), "ok", "vectail: 1 member"),
        ("group", members(GroupFacts("")), "warning", "vectail: 0 members|vectail run"),
        ("group", members(GroupFacts("consumer")), "warning", "0 members"),
        ("group", members(GroupFacts("consumer", [WORKER])), "problem", "protocol consumer|classic"),
        ("group", members(GroupFacts("classic", [WORKER, STRANGER])), "problem", "logstash-0 at 10.0.0.9"),
        ("group", members(GroupFacts("classic", [STRANGER]), RENAMED), "problem", "vectail at 10.0.0.1"),
        ("group", FACTS, "ok", "does not describe"),
        ("partitions", workers(3, 4), "ok", "4 for 3 of vectail"),
        ("partitions", workers(3, 2), "warning", "without any: 1 of vectail"),
        ("lag", read(replace(POSITION, committed=1_000)), "ok", "nothing is unread|10 arrive per second"),
        ("lag", read(POSITION, 90_000), "ok", "100 records unread, the oldest for 90 s; 10 arrive per second: not known yet"),
        ("lag", read(FAR), "ok", "9,100 records unread, the oldest for 1 s|: keeps up"),
        ("lag", read(FAR, 90_000), "warning", "9,100 records|: not known yet|lag --watch"),
        ("lag", read(FAR, 90_000, rate=1_000.0), "ok", "1,000 arrive per second"),
        ("lag", replace(read(FAR, 90_000), outlook=SOON), "ok", "9,100 records unread|: caught up in 3 to 5 min"),
        ("lag", replace(read(POSITION, 90_000), outlook=STILL), "warning", "100 records unread|: stands still|lag --watch"),
        ("lag", read(replace(FAR, committed=None)), "ok", "never committed"),
        ("lag", replace(FACTS, lag="timed out"), "warning", "timed out"),
        ("retention", read(POSITION, HOUR_MS, retention_ms=10 * HOUR_MS, cleanup_policy="delete"), "ok", "for 10 h"),
        ("retention", read(POSITION, 6 * HOUR_MS, retention_ms=10 * HOUR_MS), "warning", "logs/0 has used 60%|retention.ms"),
        ("retention", read(POSITION, 19 * HOUR_MS // 2, retention_ms=10 * HOUR_MS), "problem", "95%"),
        ("retention", read(POSITION, 10**11, retention_ms=-1), "ok", "for ever"),
        ("retention", read(replace(POSITION, first_offset=950), retention_ms=10 * HOUR_MS), "problem", "50 records were removed|logs/0"),
        ("retention", read(replace(POSITION, committed=2_000), retention_ms=10 * HOUR_MS), "problem", "past the end of logs/0"),
        ("retention", read(replace(POSITION, first_offset=100, committed=1_000, end_offset=9_000), retention_bytes=1000), "warning", "90%"),
        ("retention", read(replace(POSITION, committed=1_000)), "ok", "does not say how long"),
        ("dead-letter-retention", letters(retention_ms="-1"), "ok", "for ever"),
        ("dead-letter-retention", letters(retention_ms="604800000"), "warning", "7 d|retention.ms=-1"),
        ("dead-letter-retention", FACTS, "ok", "does not say"),
        ("message-size", sizes(1_048_588, 1_048_588), "ok", "977 KiB"),
        ("message-size", sizes(10_485_760, 1_048_588), "warning", "logs (10 MiB)|decode.max_record_bytes"),
        ("message-size", sizes(1_048_588, 100_000), "warning", "vectail.dead-letters takes 97.7 KiB"),
        ("message-size", FACTS, "ok", "does not say its limits"),
        ("clock", clock(0.3), "ok", "agree to 300 ms"),
        ("clock", clock(-5.0), "warning", "5 s behind|NTP"),
        ("clock", clock(-5.0, 4.0), "ok", "agree"),
        ("clock", clock(300.0), "problem", "5 min ahead of"),
        ("clock", FACTS, "ok", "there is no record"),
        ("clock", replace(FACTS, lag=lag_of(newest_ms=NOW_MS - 60_000)), "ok", "no record is in the future"),
        ("clock", replace(FACTS, lag=lag_of(newest_ms=NOW_MS + 60_000)), "warning", "60 s in the future"),
    ],
)  # fmt: skip
def test_what_kafka_says_is_judged(name: str, facts: KafkaFacts, state: State, words: str) -> None:
    says(judge(KAFKA_CHECKS, name, facts), state, words)


def of_topic(bootstrap: str, topic: str, **more: Any) -> Settings:  # noqa: ANN401 - as KafkaTable takes them
    own = {"query_topic": f"{topic}-q", "reply_topic": f"{topic}-r", "dead_letter_topic": f"{topic}-d", "group": topic}
    return Settings(kafka=KafkaTable(bootstrap_servers=bootstrap, **(own | more)), topic=log_topics(topic))


def test_a_real_broker_tells_its_release_its_clock_and_that_a_topic_is_missing(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    settings = of_topic(kafka.bootstrap, unique("logs"))
    kafka.create_topic(settings.kafka.group, 2, {"retention.ms": "3600000", "max.message.bytes": "9000000"})
    for topic in (settings.kafka.query_topic, settings.kafka.reply_topic):
        kafka.create_topic(topic)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for _ in range(30):
        producer.produce(settings.kafka.group, b"a")
    assert producer.flush(WAIT_S) == 0
    checks = look_at_kafka(settings)
    says(checks["kafka"], checks["kafka"].state, "1 broker")
    says(checks["version"], "ok", "Kafka 4.0 or newer")
    says(checks["topics"], "problem", f"{settings.kafka.dead_letter_topic} does not exist")
    says(checks["rights"], "ok", "are allowed")
    says(checks["group"], "warning", "0 members")
    says(checks["lag"], "ok", "30 records unread|never committed")
    says(checks["retention"], "ok", "for 60 min")
    says(checks["message-size"], "warning", "8.58 MiB")
    says(checks["clock"], "ok", "agree to")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_of_the_other_protocol_is_found_on_a_real_broker(kafka: KafkaServer, unique: Callable[[str], str], protocol: str) -> None:
    topic = unique("logs")
    kafka.create_topic(topic)
    settings = of_topic(kafka.bootstrap, topic, group_protocol="consumer" if protocol == "classic" else "classic")
    member = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic, "group.protocol": protocol, "client.id": "vectail"})
    try:
        joined: list[object] = []
        member.subscribe([topic], on_assign=lambda _consumer, places: joined.extend(places))
        for _ in range(int(WAIT_S / 0.1)):
            member.poll(0.1)
            if joined:
                break
        says(look_at_kafka(settings)["group"], "problem", f"protocol {protocol}")
    finally:
        member.close()


@pytest.mark.slow
def test_a_broker_that_does_not_answer_is_one_problem_that_says_why() -> None:
    verdicts = look_at_kafka(of_topic(f"127.0.0.1:{free_port()}", "logs"))
    assert list(verdicts) == ["kafka"]
    says(verdicts["kafka"], "problem", "Connection refused|kafka.bootstrap_servers")

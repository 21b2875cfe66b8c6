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
from tests.worker.audit.judged import says
from worker.audit.doctor import Check, State
from worker.audit.doctor_broker import BrokerFacts, GroupFacts, GroupLag, Member
from worker.audit.doctor_kafka import (
    judge_answer,
    judge_clock,
    judge_dead_letter_retention,
    judge_groups,
    judge_partitions,
    judge_rights,
    judge_sizes,
    judge_topics,
    judge_version,
    look_at_kafka,
)
from worker.audit.doctor_lag import judge_lag, judge_retention
from worker.audit.doctor_wire import WireFacts
from worker.groups.offsets import GroupPosition
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable
from worker.settings.topic_tables import TopicTable

WAIT_S = 30.0
NOW_MS = 1_800_000_000_000
HOUR_MS = 3_600_000
SETTINGS = Settings()
OWN = {"vectail.queries": 4, "vectail.replies": 4, "vectail.dead-letters": 1}
WORKER = Member("vectail", "10.0.0.1", frozenset({"logs"}))
WIRE = WireFacts("broker:9092", 30, 0.01, 0.002)
POSITION = GroupPosition(partition=Partition("logs", 0), committed=900, first_offset=0, end_offset=1_000, start="earliest")


def lag_of(position: GroupPosition, *, age_ms: int = 1_000, rate: float | None = 10.0, newest_ms: int | None = None) -> GroupLag:
    return GroupLag([position], {position.partition: NOW_MS - age_ms} if position.lag_records else {}, rate, newest_ms)


def test_an_answer_that_takes_long_is_a_warning() -> None:
    says(judge_answer("broker:9092", 3, 0.02), "kafka", "ok", "20 ms", "3 brokers")
    says(judge_answer("broker:9092", 1, 0.8), "kafka", "warning", "800 ms", "1 broker")


@pytest.mark.parametrize(
    ("metadata", "protocol", "state", "word"),
    [(30, "", "ok", "Kafka 4.3"), (21, "", "ok", "Kafka 3.9"), (31, "", "ok", "4.4"), (99, "", "ok", "4.4 or newer"),
     (None, "3.7-IV4", "ok", "Kafka 3.7"), (None, "2.8-IV1", "problem", "Kafka 2.8"), (None, "", "ok", "does not say")],
)  # fmt: skip
def test_the_release_comes_from_the_metadata_or_from_the_protocol_of_older_brokers(
    metadata: int | None, protocol: str, state: State, word: str
) -> None:
    says(judge_version(WIRE._replace(metadata_version=metadata), protocol, "2.16.0"), "version", state, word, "2.16.0" * (state == "ok"))


def test_topics_that_do_not_exist_are_a_problem_and_a_pattern_without_a_topic_is_a_warning() -> None:
    says(judge_topics(SETTINGS, OWN | {"logs": 4}), "topics", "ok", "logs")
    says(judge_topics(SETTINGS, {"logs": 4}), "topics", "problem", "vectail.queries, vectail.replies, vectail.dead-letters do not exist")
    says(judge_topics(SETTINGS, OWN), "topics", "problem", "logs does not exist", "topics init")
    patterned = Settings(topic=(TopicTable(pattern="logs-.*"),))
    says(judge_topics(patterned, OWN | {"logs-a": 1}), "topics", "ok", "logs-a")
    says(judge_topics(patterned, OWN | {"log": 1}), "topics", "warning", "'logs-.*'")


def test_a_right_that_is_missing_is_named_and_one_that_cannot_be_seen_is_not() -> None:
    read, write = frozenset({"READ", "DESCRIBE"}), frozenset({"WRITE", "DESCRIBE"})
    rights = {"logs": read, "vectail.queries": read, "vectail.replies": write, "vectail.dead-letters": write}
    facts = BrokerFacts(rights=rights, groups={"vectail": GroupFacts("classic", rights=read)})
    says(judge_rights(SETTINGS, list(rights), facts), "rights", "ok", "are allowed")
    for name, right in rights.items():
        poorer = replace(facts, rights=rights | {name: frozenset({"DESCRIBE"})})
        needed = "WRITE" if right == write else "READ"
        says(judge_rights(SETTINGS, list(rights), poorer), "rights", "problem", f"not allowed: {needed} on topic {name}")
    unread = replace(facts, groups={"vectail": GroupFacts("classic", rights=frozenset())})
    says(judge_rights(SETTINGS, list(rights), unread), "rights", "problem", "READ on group vectail")
    says(judge_rights(SETTINGS, list(rights), BrokerFacts()), "rights", "ok", "does not say")
    says(judge_rights(SETTINGS, list(rights), replace(facts, refused={"logs": "no"})), "rights", "problem", "DESCRIBE on logs")


def test_a_group_needs_members_of_one_protocol_and_none_but_workers() -> None:
    kafka = KafkaTable()
    both = {"vectail": GroupFacts("classic", [WORKER]), "vectail-queries": GroupFacts("classic", [WORKER])}
    says(judge_groups(kafka, both), "group", "ok", "vectail: 1 member")
    says(judge_groups(kafka, both | {"vectail": GroupFacts("")}), "group", "warning", "vectail: 0 members", "vectail run")
    says(judge_groups(kafka, both | {"vectail": GroupFacts("consumer", [WORKER])}), "group", "problem", "protocol consumer", "classic")
    says(judge_groups(kafka, both | {"vectail": GroupFacts("consumer")}), "group", "warning", "0 members")
    stranger = Member("logstash-0", "10.0.0.9", frozenset({"logs"}))
    says(judge_groups(kafka, both | {"vectail": GroupFacts("classic", [WORKER, stranger])}), "group", "problem", "logstash-0 at 10.0.0.9")
    renamed = KafkaTable(librdkafka={"client.id": "logstash"})
    says(judge_groups(renamed, both | {"vectail": GroupFacts("classic", [stranger])}), "group", "problem", "vectail at 10.0.0.1")
    says(judge_groups(kafka, {}), "group", "ok", "does not describe")


def test_more_workers_than_partitions_are_a_warning() -> None:
    groups = {"vectail": GroupFacts("classic", [WORKER] * 3), "vectail-queries": GroupFacts("classic", [WORKER] * 3)}
    says(judge_partitions(SETTINGS, OWN | {"logs": 4}, groups), "partitions", "ok", "4 for 3 of vectail")
    says(judge_partitions(SETTINGS, OWN | {"logs": 2}, groups), "partitions", "warning", "without any: 1 of vectail")


def test_a_lag_of_more_than_a_minute_of_records_is_a_warning() -> None:
    says(judge_lag(lag_of(replace(POSITION, committed=1_000)), now_ms=NOW_MS), "lag", "ok", "nothing is unread", "10 come in a second")
    says(judge_lag(lag_of(POSITION, age_ms=90_000), now_ms=NOW_MS), "lag", "ok", "100 records unread, the oldest for 90 s")
    far = replace(POSITION, end_offset=10_000)
    says(judge_lag(lag_of(far), now_ms=NOW_MS), "lag", "warning", "9,100 records", "lag --watch")
    says(judge_lag(lag_of(far, rate=1_000.0), now_ms=NOW_MS), "lag", "ok", "1,000 come in a second")
    says(judge_lag(lag_of(replace(far, committed=None)), now_ms=NOW_MS), "lag", "ok", "never committed")


def test_records_that_expired_unread_are_a_problem_and_those_that_soon_will_a_warning() -> None:
    kept = {"logs": {"retention.ms": str(10 * HOUR_MS), "cleanup.policy": "delete"}}

    def judged(position: GroupPosition, properties: dict[str, dict[str, str]], age_ms: int = HOUR_MS) -> Check:
        return judge_retention(lag_of(position, age_ms=age_ms), properties, now_ms=NOW_MS)

    says(judged(POSITION, kept), "retention", "ok", "for 10 h")
    says(judged(POSITION, kept, 6 * HOUR_MS), "retention", "warning", "logs/0 has used 60%", "retention.ms")
    says(judged(POSITION, kept, 19 * HOUR_MS // 2), "retention", "problem", "95%")
    says(judged(POSITION, {"logs": {"retention.ms": "-1"}}, 10**11), "retention", "ok", "for ever")
    says(judged(replace(POSITION, first_offset=950), kept), "retention", "problem", "50 records were removed", "logs/0")
    says(judged(replace(POSITION, committed=2_000), kept), "retention", "problem", "past the end of logs/0")
    full = replace(POSITION, first_offset=100, committed=1_000, end_offset=9_000)
    says(judged(full, {"logs": {"retention.ms": "-1", "retention.bytes": "1000"}}), "retention", "warning", "90%")
    says(judged(replace(POSITION, committed=1_000), {}), "retention", "ok", "does not say how long")


def test_dead_letters_that_expire_are_a_warning() -> None:
    says(judge_dead_letter_retention("dead", {"retention.ms": "-1"}), "dead-letter-retention", "ok", "for ever")
    says(judge_dead_letter_retention("dead", {"retention.ms": "604800000"}), "dead-letter-retention", "warning", "7 d", "retention.ms=-1")
    says(judge_dead_letter_retention("dead", None), "dead-letter-retention", "ok", "does not say")


def test_topics_that_take_more_than_is_decoded_are_a_warning() -> None:
    def judged(logs: int, letters: int) -> Check:
        limits = {"logs": {"max.message.bytes": str(logs)}, "vectail.dead-letters": {"max.message.bytes": str(letters)}}
        return judge_sizes(SETTINGS, ["logs"], limits)

    says(judged(1_048_588, 1_048_588), "message-size", "ok", "977 KiB")
    says(judged(10_485_760, 1_048_588), "message-size", "warning", "logs (10 MiB)", "decode.max_record_bytes")
    says(judged(1_048_588, 100_000), "message-size", "warning", "vectail.dead-letters takes 97.7 KiB")
    says(judge_sizes(SETTINGS, ["logs"], {}), "message-size", "ok", "does not say its limits")


def test_clocks_that_differ_are_a_warning_or_a_problem_and_the_uncertainty_is_allowed_for() -> None:
    def judged(ahead_s: float | None, uncertain_s: float = 0.01, newest_ms: int | None = None) -> Check:
        wire = WIRE._replace(clock_ahead_s=ahead_s, uncertain_s=uncertain_s)
        return judge_clock(wire, lag_of(POSITION, newest_ms=newest_ms), now_ms=NOW_MS)

    says(judged(0.3), "clock", "ok", "agree to 300 ms")
    says(judged(-5.0), "clock", "warning", "5 s behind", "NTP")
    says(judged(-5.0, 4.0), "clock", "ok")
    says(judged(300.0), "clock", "problem", "5 min ahead of")
    says(judged(None), "clock", "ok", "no record")
    says(judged(None, newest_ms=NOW_MS + 60_000), "clock", "warning", "60 s in the future")


def of_topic(bootstrap: str, topic: str, **more: Any) -> Settings:  # noqa: ANN401 - as KafkaTable takes them
    own = {"query_topic": f"{topic}-q", "reply_topic": f"{topic}-r", "dead_letter_topic": f"{topic}-d", "group": topic}
    return Settings(kafka=KafkaTable(bootstrap_servers=bootstrap, **(own | more)), topic=log_topics(topic))


def looked(settings: Settings) -> dict[str, Check]:
    return {one.name: one for one in look_at_kafka(settings)}


def test_a_real_broker_tells_its_release_its_clock_and_that_a_topic_is_missing(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    settings = of_topic(kafka.bootstrap, unique("logs"))
    kafka.create_topic(settings.kafka.group, 2, {"retention.ms": "3600000", "max.message.bytes": "9000000"})
    for topic in (settings.kafka.query_topic, settings.kafka.reply_topic):
        kafka.create_topic(topic)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for _ in range(30):
        producer.produce(settings.kafka.group, b"a")
    assert producer.flush(WAIT_S) == 0
    checks = looked(settings)
    says(checks["kafka"], "kafka", checks["kafka"].state, "1 broker")
    says(checks["version"], "version", "ok", "Kafka 4.")
    says(checks["topics"], "topics", "problem", f"{settings.kafka.dead_letter_topic} does not exist")
    says(checks["rights"], "rights", "ok", "are allowed")
    says(checks["group"], "group", "warning", "0 members")
    says(checks["lag"], "lag", "ok", "30 records unread", "never committed")
    says(checks["retention"], "retention", "ok", "for 60 min")
    says(checks["message-size"], "message-size", "warning", "8.58 MiB")
    says(checks["clock"], "clock", "ok", "agree to")


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
        says(looked(settings)["group"], "group", "problem", f"protocol {protocol}")
    finally:
        member.close()


def test_a_broker_that_does_not_answer_is_one_problem_that_says_why() -> None:
    (check,) = look_at_kafka(of_topic(f"127.0.0.1:{free_port()}", "logs"))
    says(check, "kafka", "problem", "Connection refused", "kafka.bootstrap_servers")

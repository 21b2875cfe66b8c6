"""The doctor's checks of Kafka: does it answer, are topics, rights and groups as a worker needs them, is anything lost before it is read.

`doctor_broker` and `doctor_wire` bring the facts; everything but `look_at_kafka` is pure.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from consumers.source import KafkaRefused
from worker.audit.doctor import Check
from worker.audit.doctor_broker import Broker, BrokerFacts, GroupFacts, GroupLag
from worker.audit.doctor_lag import judge_lag, judge_newest, judge_retention
from worker.audit.doctor_wire import WireFacts, WireFailed, ask_wire, release_of
from worker.audit.doctor_words import bytes_of, counted, listed, seconds_of
from worker.groups.offsets import ConsumerGroup, consumer_group
from worker.runtime.dead_letter_topic import expiry_warning
from worker.runtime.kafka_admin import BrokerAway, librdkafka_version
from worker.settings.settings import Settings
from worker.settings.tables import KafkaTable

WIRE_S: Final = 2.0
_OLDEST_RELEASE: Final = (3, 0)
_SLOW_S: Final = 0.5
_SKEW_S: Final = 2.0
_LARGE_SKEW_S: Final = 60.0
_ROOM: Final = 1.1
"""Kafka's own limit for a batch is 5 % above ours for a record, and that is as it should be."""
_LETTER_BYTES: Final = 1_000_000
"""Size up to which a dead letter keeps its record whole, as the producer sends it."""
_WORKER: Final = "vectail"
"""Client id of a worker, unless `kafka.librdkafka` has another."""

_check = partial(Check, "kafka")


def look_at_kafka(settings: Settings, *, wall_ms: int | None = None) -> Iterator[Check]:
    """Ask Kafka and judge its answers; one line if it does not answer."""
    kafka, now_ms = settings.kafka, int(time.time() * 1000) if wall_ms is None else wall_ms
    started_s = time.monotonic()
    try:
        wire = ask_wire(kafka.bootstrap_servers, kafka.librdkafka, timeout_s=WIRE_S)
        reason = ""
    except WireFailed as error:
        wire, reason = None, str(error)
    try:
        broker = Broker(kafka)
        topics, brokers = broker.topics()
    except (BrokerAway, KafkaRefused) as error:
        yield _away(kafka, reason or str(error))
        return
    yield judge_answer(kafka.bootstrap_servers, len(brokers), time.monotonic() - started_s)
    logs, queries = consumer_group(settings, queries=False), consumer_group(settings, queries=True)
    existing = [name for name in (*read_topics(logs, topics), *kafka.own_topics) if name in topics]
    facts = broker.facts(existing, [logs.name, queries.name], brokers)
    yield judge_version(wire, facts.protocol_version, librdkafka_version())
    yield judge_topics(settings, topics)
    yield judge_rights(settings, existing, facts)
    yield judge_groups(kafka, facts.groups)
    yield judge_partitions(settings, topics, facts.groups)
    lag: GroupLag | None = None
    if read_topics(logs, topics):
        try:
            lag = broker.lag(existing_of(logs, topics), now_ms=now_ms)
        except (BrokerAway, KafkaRefused) as error:
            yield _check("lag", "warning", f"the lag could not be read: {error}", "run the doctor again; look at `vectail lag`")
    if lag is not None:
        yield judge_lag(lag, now_ms=now_ms)
        yield judge_retention(lag, facts.properties, now_ms=now_ms)
    yield judge_dead_letter_retention(kafka.dead_letter_topic, facts.properties.get(kafka.dead_letter_topic))
    yield judge_sizes(settings, read_topics(logs, topics), facts.properties)
    yield judge_clock(wire, lag, now_ms=now_ms)


def read_topics(group: ConsumerGroup, topics: Iterable[str]) -> list[str]:
    """Return the topics that exist and that a group reads."""
    there = set(topics)
    return [name for name in group.subscription.topics_among(there) if name in there]


def judge_answer(address: str, brokers: int, seconds: float) -> Check:
    """Judge that it answers, and how soon."""
    found = f"{address} answers in {seconds_of(seconds)}; {counted(brokers, 'broker')}"
    if seconds > _SLOW_S:
        return _check("kafka", "warning", found, "look at the network and at the load of the brokers: lines and queries wait that long too")
    return _check("kafka", "ok", found)


def judge_version(wire: WireFacts | None, protocol_version: str, librdkafka: str) -> Check:
    """Judge the broker's release."""
    ours = f"librdkafka {librdkafka}"
    if wire is not None and wire.metadata_version is not None:
        release = release_of(wire.metadata_version)
    elif protocol_version:
        release = protocol_version.partition("-")[0]
    else:
        return _check("version", "ok", f"{ours}; the broker does not say which release it is")
    numbers = tuple(int(part) for part in release.partition(" ")[0].split(".") if part.isdecimal())
    if not numbers or numbers < _OLDEST_RELEASE:
        return _check("version", "problem", f"Kafka {release}, {ours}", "upgrade to Kafka 3.0 or later; older brokers are untested")
    return _check("version", "ok", f"Kafka {release}, {ours}")


def judge_topics(settings: Settings, topics: Mapping[str, int]) -> Check:
    """Judge whether what is read and written is there."""
    subscription, kafka = settings.subscription, settings.kafka
    missing = [name for name in (*subscription.names, *kafka.own_topics) if name not in topics]
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        return _check("topics", "problem", f"{listed(missing)} {verb} not exist", "create what is missing with `vectail topics init`")
    patterns = [pattern for pattern in subscription.patterns if not pattern.matching(topics)]
    if patterns:
        found = f"no topic fits topic.pattern {listed([repr(pattern.include) for pattern in patterns])}"
        return _check("topics", "warning", found, "correct the pattern, or wait: a topic that fits later is read then")
    logs = read_topics(consumer_group(settings, queries=False), topics)
    return _check("topics", "ok", f"{len(logs)} to read ({listed(logs)}), and those of queries, replies and dead letters")


def judge_rights(settings: Settings, existing: Iterable[str], facts: BrokerFacts) -> Check:
    """Judge what we may do, as far as Kafka says it."""
    kafka = settings.kafka
    writes = {kafka.reply_topic, kafka.dead_letter_topic, *settings.query.reply_topics}
    missing = [f"{'WRITE' if name in writes else 'READ'} on topic {name}" for name in existing if not _may(facts, name, name in writes)]
    missing += [f"READ on group {name}" for name, one in facts.groups.items() if one.rights is not None and "READ" not in one.rights]
    missing += [f"DESCRIBE on {name}" for name in facts.refused]
    if missing:
        return _check("rights", "problem", f"not allowed: {listed(missing)}", "add these rights (ACLs) for the user of kafka.librdkafka")
    unseen = [name for name in existing if name not in facts.rights]
    if not facts.rights:
        return _check("rights", "ok", "Kafka does not say what is allowed")
    if unseen:
        return _check("rights", "ok", f"Kafka does not say what is allowed on {listed(unseen)}; the rest is allowed")
    return _check("rights", "ok", "reading, writing and both groups are allowed")


def judge_groups(kafka: KafkaTable, groups: Mapping[str, GroupFacts]) -> Check:
    """Judge who reads, and with which protocol."""
    wanted = kafka.group_protocol
    client = kafka.librdkafka.get("client.id", _WORKER)
    parts, absent = [], []
    for name in (kafka.group, kafka.query_group):
        facts = groups.get(name)
        if facts is None:
            return _check("group", "ok", f"Kafka does not describe group {name}")
        if facts.members and facts.protocol not in ("", wanted):
            return _check(
                "group",
                "problem",
                f"group {name} is of protocol {facts.protocol}, kafka.group_protocol is {wanted}: a worker with these settings cannot join",
                "stop all members before the protocol is changed, or set kafka.group_protocol back",
            )
        strangers = sorted({f"{one.client} at {one.host}" for one in facts.members if not one.client.startswith(client)})
        if strangers:
            found = f"group {name} has members that are no workers: {listed(strangers)}"
            return _check("group", "problem", found, "give one of the two another group: what the other reads is not indexed")
        parts.append(f"{name}: {counted(len(facts.members), 'member')}")
        if not facts.members:
            absent.append(name)
    found = f"{', '.join(parts)}; protocol {wanted}"
    if absent:
        return _check("group", "warning", found, "start a worker with `vectail run`: nothing is indexed or answered without members")
    return _check("group", "ok", found)


def judge_partitions(settings: Settings, topics: Mapping[str, int], groups: Mapping[str, GroupFacts]) -> Check:
    """Judge whether every worker has something to read."""
    logs, kafka = read_topics(consumer_group(settings, queries=False), topics), settings.kafka
    kinds = ((kafka.group, sum(topics[name] for name in logs)), (kafka.query_group, topics.get(kafka.query_topic, 0)))
    parts, idle = [], []
    for name, partitions in kinds:
        members = len(groups[name].members) if name in groups else 0
        parts.append(f"{partitions} for {members} of {name}")
        if members > partitions:
            idle.append(f"{members - partitions} of {name}")
    found = f"partitions: {', '.join(parts)}"
    if idle:
        return _check("partitions", "warning", f"{found}; without any: {listed(idle)}", "add partitions to these topics, or stop workers")
    return _check("partitions", "ok", found)


def judge_dead_letter_retention(topic: str, properties: Mapping[str, str] | None) -> Check:
    """Judge whether dead letters stay until somebody replays them."""
    if properties is None:
        return _check("dead-letter-retention", "ok", f"Kafka does not say how long {topic} keeps dead letters")
    line = expiry_warning(topic, properties)
    if line is None:
        return _check("dead-letter-retention", "ok", f"{topic} keeps dead letters for ever")
    found, _, change = line.partition(": ")
    return _check("dead-letter-retention", "warning", found, change)


def judge_sizes(settings: Settings, logs: Sequence[str], properties: Mapping[str, Mapping[str, str]]) -> Check:
    """Judge whether what Kafka takes also fits here, and a dead letter there."""
    ours, letters = settings.decode.max_record_bytes, settings.kafka.dead_letter_topic
    asked = {name: properties.get(name, {}).get("max.message.bytes") for name in (*logs, letters)}
    limits = {name: int(limit) for name, limit in asked.items() if limit is not None}
    larger = [f"{name} ({bytes_of(limits[name])})" for name in logs if limits.get(name, 0) > ours * _ROOM]
    if larger:
        return _check(
            "message-size",
            "warning",
            f"topics take larger records than decode.max_record_bytes ({bytes_of(ours)}): {listed(larger)}",
            "raise decode.max_record_bytes, or lower max.message.bytes: a record between the two becomes a dead letter",
        )
    if limits.get(letters, _LETTER_BYTES) < _LETTER_BYTES:
        return _check(
            "message-size",
            "warning",
            f"{letters} takes {bytes_of(limits[letters])}: larger dead letters lose most of their record",
            f"set its max.message.bytes to {_LETTER_BYTES:,} or more",
        )
    unsaid = "" if limits else "; Kafka does not say its limits"
    return _check("message-size", "ok", f"records up to {bytes_of(ours)} are decoded{unsaid}")


def judge_clock(wire: WireFacts | None, lag: GroupLag | None, *, now_ms: int) -> Check:
    """Judge Kafka's clock against ours; where Kafka does not tell its time, the newest record's time against ours."""
    if wire is None or wire.clock_ahead_s is None:
        return judge_newest(lag, now_ms=now_ms)
    ahead_s, uncertain_s = wire.clock_ahead_s, wire.uncertain_s
    found = f"Kafka's controller is {seconds_of(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} this machine"
    if abs(ahead_s) <= _SKEW_S + uncertain_s:
        return _check("clock", "ok", f"Kafka's controller and this machine agree to {seconds_of(max(abs(ahead_s), uncertain_s))}")
    change = "synchronise both with NTP: lag in seconds, deadlines of queries and time filters are off by that much"
    return _check("clock", "problem" if abs(ahead_s) > _LARGE_SKEW_S else "warning", found, change)


def _may(facts: BrokerFacts, topic: str, is_written: bool) -> bool:  # noqa: FBT001 - which of two rights
    rights = facts.rights.get(topic)
    return rights is None or ("WRITE" if is_written else "READ") in rights


def existing_of(group: ConsumerGroup, topics: Mapping[str, int]) -> ConsumerGroup:
    """Return the group as if it subscribed to what is there."""
    return group._replace(subscription=type(group.subscription)(names=tuple(read_topics(group, topics))))


def _away(kafka: KafkaTable, reason: str) -> Check:
    return _check(
        "kafka",
        "problem",
        f"no answer: {reason}" if kafka.bootstrap_servers in reason else f"{kafka.bootstrap_servers} does not answer: {reason}",
        "see whether the brokers run and whether kafka.bootstrap_servers and kafka.librdkafka are right; workers wait for it",
    )

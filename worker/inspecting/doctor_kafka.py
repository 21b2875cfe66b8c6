"""The doctor's checks of Kafka: does it answer, can a worker use topics, rights and groups, is anything lost before it is read."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from consumers.source import KafkaRefused
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.inspecting.doctor_broker import Broker, BrokerFacts, CommittedLag, GroupFacts
from worker.inspecting.doctor_clock import KafkaClock, ask_clock
from worker.inspecting.doctor_worker import ask_worker
from worker.runtime.dead_letter_topic import expiry_warning
from worker.runtime.kafka_admin import BrokerAway, librdkafka_version
from worker.runtime.wording import bytes_of, counted, listed, rate_of, seconds_of
from worker.settings.settings import Settings
from worker.watching.group_offsets import ConsumerGroup, GroupPosition, beyond_end, consumer_group, place_of
from worker.watching.outlook import KEEPS_UP_S, Outlook

CLOCK_S: Final = 2.0
_WORKER_S: Final = 3.0
_OLDEST_RELEASE: Final = (3, 0)
_PROTOCOL_VERSION: Final = "inter.broker.protocol.version"
_SINCE_4: Final = "group.coordinator.rebalance.protocols"
"""A property of brokers from 3.7 on; 4.0 has no `inter.broker.protocol.version` any more."""
_SLOW_S: Final = 0.5
_SKEW_S: Final = 2.0
_LARGE_SKEW_S: Final = 60.0
_ROOM: Final = 1.1
"""Kafka's own limit for a batch is 5 % above ours for a record, and that is as it should be."""
_LETTER_BYTES: Final = 1_000_000
"""Size up to which a dead letter keeps its record whole, as the producer sends it."""
_WORKER: Final = "vectail"
"""Client id of a worker, unless `kafka.librdkafka` has another."""
_NEAR: Final = 0.5
"""Share of the retention at which the oldest unread record is near its end."""
_OVER: Final = 0.9
_FEW_RECORDS: Final = 1_000
_FUTURE_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaFacts:
    """What is known of a Kafka that answers."""

    settings: Settings
    seconds: float
    """Until it answered the first question."""
    brokers: int
    topics: Mapping[str, int]
    """Partitions of every topic that we see."""
    said: BrokerFacts
    lag: CommittedLag | str | None
    """A text says why it could not be read; None: nothing is read yet."""
    clock: KafkaClock | None
    now_ms: int
    outlook: Mapping[str, Any]
    """What the worker of these settings says of the log group, as `/api/lag` does; empty without one."""

    @property
    def logs(self) -> list[str]:
        """Log topics that exist."""
        return read_topics(consumer_group(self.settings, queries=False), self.topics)

    @property
    def existing(self) -> list[str]:
        """All topics of ours that exist."""
        return [*self.logs, *(name for name in self.settings.kafka.own_topics if name in self.topics)]


def look_at_kafka(settings: Settings, *, wall_ms: int | None = None) -> dict[str, Verdict]:
    """Ask Kafka and judge its answers; one verdict if it does not answer."""
    kafka, now_ms = settings.kafka, int(time.time() * 1000) if wall_ms is None else wall_ms
    clock = ask_clock(kafka.bootstrap_servers, kafka.librdkafka, timeout_s=CLOCK_S)
    started_s = time.monotonic()
    try:
        broker = Broker(kafka)
        topics, brokers = broker.topics()
    except (BrokerAway, KafkaRefused) as error:
        reason = clock if isinstance(clock, str) else str(error)
        found = f"no answer: {reason}" if kafka.bootstrap_servers in reason else f"{kafka.bootstrap_servers} does not answer: {reason}"
        change = "check that the brokers run and that kafka.bootstrap_servers and kafka.librdkafka are right; workers wait for it"
        return {"kafka": problem(found, change)}
    seconds = time.monotonic() - started_s
    logs, queries = consumer_group(settings, queries=False), consumer_group(settings, queries=True)
    read = read_topics(logs, topics)
    said = broker.facts([*read, *(one for one in kafka.own_topics if one in topics)], [logs.name, queries.name], brokers)
    lag: CommittedLag | str | None = None
    try:
        lag = broker.lag(existing_of(logs, topics), now_ms=now_ms) if read else None
    except (BrokerAway, KafkaRefused) as error:
        lag = str(error)
    told = None if isinstance(clock, str) else clock
    facts = KafkaFacts(
        settings=settings,
        seconds=seconds,
        brokers=len(brokers),
        topics=topics,
        said=said,
        lag=lag,
        clock=told,
        now_ms=now_ms,
        outlook=_outlook_of(settings, logs.name),
    )
    return judge_all(KAFKA_CHECKS, facts)


def read_topics(group: ConsumerGroup, topics: Iterable[str]) -> list[str]:
    """Return the topics that exist and that a group reads."""
    there = set(topics)
    return [name for name in group.subscription.topics_among(there) if name in there]


def existing_of(group: ConsumerGroup, topics: Mapping[str, int]) -> ConsumerGroup:
    """Return the group as if it subscribed to what is there."""
    return group._replace(subscription=type(group.subscription)(names=tuple(read_topics(group, topics))))


def _answer(facts: KafkaFacts) -> Verdict:
    found = f"{facts.settings.kafka.bootstrap_servers} answers in {seconds_of(facts.seconds)}; {counted(facts.brokers, 'broker')}"
    change = "check the network and the load of the brokers: lines and queries wait that long too"
    return first_of((facts.seconds > _SLOW_S, warning(found, change)), otherwise=found)


def _version(facts: KafkaFacts) -> Verdict:
    ours, properties = f"librdkafka {librdkafka_version()}", facts.said.of_broker
    if _PROTOCOL_VERSION not in properties and _SINCE_4 not in properties:
        return ok(f"{ours}; the broker does not say which release it is")
    release = properties.get(_PROTOCOL_VERSION, "4.0 or newer").partition("-")[0]
    numbers = tuple(int(part) for part in release.partition(" ")[0].split(".") if part.isdecimal())
    found = f"Kafka {release}, {ours}"
    change = "upgrade to Kafka 3.0 or later; older brokers are untested"
    return first_of((numbers < _OLDEST_RELEASE, problem(found, change)), otherwise=found)


def _topics(facts: KafkaFacts) -> Verdict:
    subscription, topics = facts.settings.subscription, facts.topics
    missing = [name for name in (*subscription.names, *facts.settings.kafka.own_topics) if name not in topics]
    verb = "does" if len(missing) == 1 else "do"
    patterns = [repr(pattern.include) for pattern in subscription.patterns if not pattern.matching(topics)]
    change = "correct the pattern, or wait: a topic that matches later is read then"
    return first_of(
        (missing, problem(f"{listed(missing)} {verb} not exist", "create what is missing with `vectail topics init`")),
        (patterns, warning(f"no topic matches topic.pattern {listed(patterns)}", change)),
        otherwise=f"{len(facts.logs)} to read ({listed(facts.logs)}), and those of queries, replies and dead letters",
    )


def _rights(facts: KafkaFacts) -> Verdict:
    kafka, said, names = facts.settings.kafka, facts.said, facts.existing
    writes = {kafka.reply_topic, kafka.dead_letter_topic, *facts.settings.query.reply_topics}
    only_told = () if kafka.index else facts.logs
    needed = {name: "WRITE" if name in writes else "READ" for name in names if name not in only_told}
    missing = [f"{right} on topic {name}" for name, right in needed.items() if right not in said.rights.get(name, {right})]
    joined = {name: one for name, one in said.groups.items() if kafka.index or name != kafka.group}
    missing += [f"READ on group {name}" for name, one in joined.items() if one.rights is not None and "READ" not in one.rights]
    missing += [f"DESCRIBE on {name}" for name in said.refused]
    unseen = [name for name in names if name not in said.rights]
    return first_of(
        (missing, problem(f"not allowed: {listed(missing)}", "add these rights (ACLs) for the user of kafka.librdkafka")),
        (not said.rights, ok("Kafka does not say what is allowed")),
        (unseen, ok(f"Kafka does not say what is allowed on {listed(unseen)}; the rest is allowed")),
        otherwise="reading, writing and both groups are allowed",
    )


def _group(facts: KafkaFacts) -> Verdict:
    """Judge who reads, and with which protocol."""
    kafka, groups, wanted = facts.settings.kafka, facts.said.groups, facts.settings.kafka.group_protocol
    unknown = [name for name in (kafka.group, kafka.query_group) if name not in groups]
    if unknown:
        return ok(f"Kafka does not describe group {unknown[0]}")
    known = {name: groups[name] for name in (kafka.group, kafka.query_group)}
    others = [name for name, one in known.items() if one.members and one.protocol not in ("", wanted)]
    strangers = [name for name, one in known.items() if _strangers(one, kafka.librdkafka.get("client.id", _WORKER))]
    if others:
        found = f"group {others[0]} uses protocol {known[others[0]].protocol}, kafka.group_protocol is {wanted}"
        change = "stop all members before the protocol is changed, or set kafka.group_protocol back"
        return problem(f"{found}: a worker with these settings cannot join", change)
    if strangers:
        who = _strangers(known[strangers[0]], kafka.librdkafka.get("client.id", _WORKER))
        change = "give one of the two another group: records that the other consumer reads are not indexed"
        return problem(f"group {strangers[0]} has members that are not workers: {listed(who)}", change)
    found = ", ".join(f"{name}: {counted(len(one.members), 'member')}" for name, one in known.items()) + f"; protocol {wanted}"
    change = "start a worker with `vectail run`: nothing is indexed or answered without members"
    return first_of((not all(one.members for one in known.values()), warning(found, change)), otherwise=found)


def _strangers(group: GroupFacts, client: str) -> list[str]:
    return sorted({f"{one.client} at {one.host}" for one in group.members if not one.client.startswith(client)})


def _partitions(facts: KafkaFacts) -> Verdict:
    kafka, groups = facts.settings.kafka, facts.said.groups
    there = {kafka.group: sum(facts.topics[name] for name in facts.logs), kafka.query_group: facts.topics.get(kafka.query_topic, 0)}
    members = {name: len(groups[name].members) if name in groups else 0 for name in there}
    idle = [f"{members[name] - number} of {name}" for name, number in there.items() if members[name] > number]
    found = f"partitions: {', '.join(f'{number} for {members[name]} of {name}' for name, number in there.items())}"
    change = "add partitions to these topics, or stop workers"
    return first_of((idle, warning(f"{found}; without any: {listed(idle)}", change)), otherwise=found)


def _lag(facts: KafkaFacts) -> Verdict | None:
    """Judge how far the group is behind."""
    lag = facts.lag
    if isinstance(lag, str):
        return warning(f"the lag could not be read: {lag}", "run the doctor again; look at `vectail lag`")
    if lag is None:
        return None
    records, rate = sum(one.lag_records for one in lag.positions), lag.rate
    age_s = max((max(facts.now_ms - one, 0) / 1000 for one in lag.oldest_ms.values()), default=None)
    seen = Outlook("keeps_up" if age_s is not None and age_s < KEEPS_UP_S else "unknown")
    outlook, words = (str(facts.outlook.get(name, here)) for name, here in (("outlook", seen.kind), ("outlook_text", seen.text)))
    comes = "" if rate is None else f"; {rate_of(rate)} arrive per second"
    found = f"{counted(records, 'record')} unread{'' if age_s is None else f', the oldest for {seconds_of(age_s)}'}{comes}: {words}"
    change = "see with `vectail lag --watch` whether it shrinks; if it does not, add workers, and partitions for them"
    is_much = rate is not None and records > max(rate * 60, _FEW_RECORDS)
    return first_of(
        (not records, ok(f"nothing is unread{comes}")),
        (all(one.committed is None for one in lag.positions), ok(f"{found}; the group has never committed")),
        (outlook in ("falls_behind", "stands_still") or (outlook == "unknown" and is_much), warning(found, change)),
        otherwise=found,
    )


def _outlook_of(settings: Settings, group: str) -> Mapping[str, Any]:
    lag = ask_worker(settings.http, "/api/lag", timeout_s=_WORKER_S)
    return {} if lag.get("error") else next((one for one in lag.get("groups") or () if one.get("group") == group), {})


def _retention(facts: KafkaFacts) -> Verdict | None:
    """Judge whether records are removed before they are read, or soon will be."""
    lag, properties = facts.lag, facts.said.properties
    if not isinstance(lag, CommittedLag):
        return None
    beyond, lost = beyond_end(lag.positions), [one for one in lag.positions if one.lost_records]
    share, place = max(((_share(one, lag, properties, facts.now_ms), place_of(one)) for one in lag.positions), default=(0.0, ""))
    near = f"the oldest unread record of {place} has used {min(share, 1.0):.0%} of the time or space that Kafka keeps records for"
    expired = f"{sum(one.lost_records for one in lost):,} records were removed by retention before they were read"
    raise_it = "raise retention.ms (or retention.bytes) of the topic now, then add workers"
    recover = "raise retention.ms of the topic or add workers; a worker that this stopped needs `vectail offsets reset --to earliest`"
    kept = sorted({_kept(properties.get(one.partition.topic, {})) for one in lag.positions})
    return first_of(
        (beyond, problem(f"the group {beyond}", "find out why; then `vectail offsets reset --to earliest` while no worker runs")),
        (lost, problem(f"{expired}, in {listed(map(place_of, lost))}", recover)),
        (share > _NEAR, (problem if share > _OVER else warning)(near, raise_it)),
        (not properties, ok("nothing was removed unread; Kafka does not say how long it keeps records")),
        otherwise=f"nothing was removed unread; records are kept {listed(kept)}",
    )


def _share(one: GroupPosition, lag: CommittedLag, properties: Mapping[str, Mapping[str, str]], now_ms: int) -> float:
    """Return how much of the topic's retention the oldest unread record has used, by time or by place; 0 if nothing is removed."""
    topic = properties.get(one.partition.topic, {})
    if not one.lag_records or "delete" not in topic.get("cleanup.policy", "delete"):
        return 0.0
    shares = [0.0]
    retention_ms, oldest_ms = int(topic.get("retention.ms", "-1")), lag.oldest_ms.get(one.partition)
    if retention_ms > 0 and oldest_ms is not None:
        shares.append((now_ms - oldest_ms) / retention_ms)
    held = one.end_offset - one.first_offset
    if int(topic.get("retention.bytes", "-1")) > 0 and one.first_offset > 0 and one.lag_records > _FEW_RECORDS:
        shares.append(one.lag_records / held)
    return max(shares)


def _kept(properties: Mapping[str, str]) -> str:
    if "delete" not in properties.get("cleanup.policy", "delete"):
        return "for ever (compacted)"
    retention_ms, retention_bytes = int(properties.get("retention.ms", "-1")), int(properties.get("retention.bytes", "-1"))
    time = "for ever" if retention_ms < 0 else f"for {seconds_of(retention_ms / 1000)}"
    return time if retention_bytes < 0 else f"{time} or up to a size"


def _dead_letter_retention(facts: KafkaFacts) -> Verdict:
    topic = facts.settings.kafka.dead_letter_topic
    properties = facts.said.properties.get(topic)
    if properties is None:
        return ok(f"Kafka does not say how long {topic} keeps dead letters")
    found, _, change = (expiry_warning(topic, properties) or "").partition(": ")
    return first_of((found, warning(found, change)), otherwise=f"{topic} keeps dead letters for ever")


def _message_size(facts: KafkaFacts) -> Verdict:
    ours, letters = facts.settings.decode.max_record_bytes, facts.settings.kafka.dead_letter_topic
    asked = {name: facts.said.properties.get(name, {}).get("max.message.bytes") for name in (*facts.logs, letters)}
    limits = {name: int(limit) for name, limit in asked.items() if limit is not None}
    larger = [f"{name} ({bytes_of(limits[name])})" for name in facts.logs if limits.get(name, 0) > ours * _ROOM]
    taken = limits.get(letters, _LETTER_BYTES)
    too_large = f"topics take larger records than decode.max_record_bytes ({bytes_of(ours)}): {listed(larger)}"
    change = "raise decode.max_record_bytes, or lower max.message.bytes: a record between the two becomes a dead letter"
    too_small = f"{letters} takes {bytes_of(taken)}: larger dead letters lose most of their record"
    return first_of(
        (larger, warning(too_large, change)),
        (taken < _LETTER_BYTES, warning(too_small, f"set its max.message.bytes to {_LETTER_BYTES:,} or more")),
        otherwise=f"records up to {bytes_of(ours)} are decoded{'' if limits else '; Kafka does not say its limits'}",
    )


def _clock(facts: KafkaFacts) -> Verdict:
    """Judge Kafka's clock against ours; where Kafka does not tell its time, a one-sided test of the newest record's time."""
    if facts.clock is None:
        newest_ms = facts.lag.newest_ms if isinstance(facts.lag, CommittedLag) else None
        ahead_s = 0.0 if newest_ms is None else (newest_ms - facts.now_ms) / 1000
        found = f"the newest record is {seconds_of(ahead_s)} in the future of this machine's clock"
        change = "synchronise this machine and the producers with NTP: lag in seconds and time filters are off by that much"
        fine = "there is no record whose time could be compared" if newest_ms is None else "no record is in the future"
        return first_of((ahead_s > _FUTURE_S, warning(found, change)), otherwise=f"Kafka does not tell its time here; {fine}")
    ahead_s, uncertain_s = facts.clock
    found = f"Kafka's controller is {seconds_of(abs(ahead_s))} {'ahead of' if ahead_s > 0 else 'behind'} this machine"
    change = "synchronise both with NTP: lag in seconds, deadlines of queries and time filters are off by that much"
    return first_of(
        (abs(ahead_s) > _SKEW_S + uncertain_s, (problem if abs(ahead_s) > _LARGE_SKEW_S else warning)(found, change)),
        otherwise=f"Kafka's controller and this machine agree to {seconds_of(max(abs(ahead_s), uncertain_s))}",
    )


KAFKA_CHECKS: Final = (
    Check("kafka", _answer),
    Check("version", _version),
    Check("topics", _topics),
    Check("rights", _rights),
    Check("group", _group),
    Check("partitions", _partitions),
    Check("lag", _lag),
    Check("retention", _retention),
    Check("dead-letter-retention", _dead_letter_retention),
    Check("message-size", _message_size),
    Check("clock", _clock),
)

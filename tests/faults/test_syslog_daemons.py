"""rsyslog and syslog-ng write into a real Kafka, and a real worker finds their lines by time, level and service."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from tests.faults.scene import Scene
from tests.faults.several_topics import stored_entries, wait_committed
from tests.services.kafka import KafkaServer
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.syslog_daemons import rsyslog_settings, send_lines, syslog_daemon, syslog_ng_settings

SECOND_MS = 1000


class Sent(NamedTuple):
    """What a program sends to the daemon."""

    severity: int
    level: str
    program: str
    text: str


SENT = (
    Sent(3, "ERROR", "sshd", "disk is full"),
    Sent(4, "WARN", "cron", "the queue is long"),
    Sent(6, "INFO", "sshd", "straße 東京 is up"),
    Sent(7, "DEBUG", "web", "a probe came"),
    Sent(2, "FATAL", "kernel", "no memory is left"),
)


class Way(NamedTuple):
    """How a daemon writes."""

    template: str
    format: str
    is_exact: bool = True
    """Whether its time has milliseconds."""
    has_level: bool = True
    has_service: bool = True
    has_head: bool = False
    """Whether its text keeps the head."""


RSYSLOG = (
    Way("RSYSLOG_SyslogProtocol23Format", "auto"),
    Way("RSYSLOG_ForwardFormat", "auto"),
    Way("RSYSLOG_TraditionalForwardFormat", "auto", is_exact=False),
    Way("RSYSLOG_FileFormat", "syslog", has_level=False),
    # No colon stands behind the tag of what rsyslog got as RFC 5424, and without one no word of a text counts as the service.
    Way("RSYSLOG_FileFormat", "auto", has_level=False, has_service=False, has_head=True),
    Way("RSYSLOG_TraditionalFileFormat", "syslog", is_exact=False, has_level=False),
)
SYSLOG_NG = (
    Way("", "syslog", has_level=False),
    Way("<$PRI>1 $ISODATE $HOST $PROGRAM $PID - - $MSG", "auto"),
    Way('$(format-json time="$ISODATE" level="$LEVEL" service="$PROGRAM" message="$MSG")', "auto"),
)
DAEMONS: Mapping[str, tuple[Callable[[int, str, dict[str, str]], str], tuple[Way, ...]]] = {
    "rsyslog": (rsyslog_settings, RSYSLOG),
    "syslog-ng": (syslog_ng_settings, SYSLOG_NG),
}


@pytest.mark.parametrize("name", DAEMONS)
def test_what_a_daemon_writes_into_kafka_is_found_with_its_time_level_and_service(
    scene: Scene, kafka: KafkaServer, unique: Callable[[str], str], name: str
) -> None:
    settings_of, ways = DAEMONS[name]
    logged = datetime.now(UTC).replace(microsecond=250_000) - timedelta(hours=2)  # some ways leave out the year
    logged_ms = round(logged.timestamp() * 1000)
    topics = {unique(name): way for way in ways}
    for topic in topics:
        kafka.create_topic(topic, 1)
    templates = {topic: way.template for topic, way in topics.items()}
    lines = [f"<{8 + one.severity}>1 {logged.isoformat(timespec='milliseconds')} web-1 {one.program} 24 - - {one.text}" for one in SENT]
    tables: list[dict[str, Any]] = [{"name": topic, "format": way.format} for topic, way in topics.items()]
    try:
        with syslog_daemon(name, lambda port: settings_of(port, scene.topics.bootstrap, templates)) as port:
            send_lines(port, lines)
            worker = scene.start(topic=json.dumps(tables))
            wait_committed(scene, worker, list(topics), len(topics) * len(SENT))
    except ServerMissing as missing:
        skip_or_fail(str(missing))
    scene.drain(worker)
    stored = stored_entries(scene, list(topics))
    for topic, way in topics.items():
        entries = [entry for place, (entry,) in sorted(stored.items()) if place.topic == topic]
        time_ms = logged_ms if way.is_exact else logged_ms // SECOND_MS * SECOND_MS
        found = [(entry.time_ms, entry.level, entry.service) for entry in entries]
        assert found == [(time_ms, one.level if way.has_level else "", one.program if way.has_service else "") for one in SENT], way
        if way.has_head:
            assert all(entry.text.endswith(f" {one.text}") for entry, one in zip(entries, SENT, strict=True)), way
        else:
            assert [entry.text for entry in entries] == [one.text for one in SENT], way

"""Client properties: those that the promise rests on are set, and the user's own reach the client."""

import pytest

from consumers.kafka.source_settings import PROTECTED, GroupProtocol, KafkaSourceSettings, admin_properties, client_properties

SETTINGS = KafkaSourceSettings(bootstrap_servers="127.0.0.1:1", group="g")


def test_nothing_is_committed_behind_our_back_and_nothing_skipped() -> None:
    properties = client_properties(SETTINGS)
    assert properties["enable.auto.commit"] is False
    assert properties["enable.auto.offset.store"] is False
    assert properties["auto.offset.reset"] == "error"
    assert properties["check.crcs"] is True
    assert properties["allow.auto.create.topics"] is False


@pytest.mark.parametrize(
    ("protocol", "name", "other"),
    [("classic", "partition.assignment.strategy", "group.protocol"), ("consumer", "group.protocol", "partition.assignment.strategy")],
)
def test_each_protocol_gets_its_own_property_and_not_the_others(protocol: GroupProtocol, name: str, other: str) -> None:
    properties = client_properties(KafkaSourceSettings(bootstrap_servers="a:1", group="g", group_protocol=protocol))
    assert properties[name] in ("cooperative-sticky", "consumer")
    assert other not in properties


def test_limits_are_in_the_clients_units() -> None:
    settings = KafkaSourceSettings(bootstrap_servers="a:1", group="g", max_poll_interval_s=90.5, prefetch_bytes=8 << 20)
    properties = client_properties(settings)
    assert properties["max.poll.interval.ms"] == 90_500
    assert properties["queued.max.messages.kbytes"] == 8 * 1024


def test_an_administrator_gets_addresses_and_security_only() -> None:
    own = {"security.protocol": "SASL_SSL", "sasl.username": "u", "ssl.ca.location": "/ca", "session.timeout.ms": "6000", "debug": "all"}
    assert admin_properties("a:1", own) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SASL_SSL",
        "sasl.username": "u",
        "ssl.ca.location": "/ca",
    }


def test_what_would_break_the_promise_is_protected() -> None:
    ours = {"enable.auto.commit", "enable.auto.offset.store", "auto.offset.reset", "group.id", "bootstrap.servers"}
    assert ours | {"partition.assignment.strategy"} < PROTECTED

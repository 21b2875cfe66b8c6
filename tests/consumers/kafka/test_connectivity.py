"""How long no broker has answered: the lines for the user, and the limit."""

import pytest

from consumers.kafka.connectivity import BrokerConnectivity, fatal_line
from consumers.source import SourceAway

REFUSED = (
    "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL PLAIN authentication failed: "
    "Authentication failed: Invalid username or password (after 5ms in state AUTH_REQ)"
)


def new_connectivity(down_exit_s: float | None = None, librdkafka: dict[str, str] | None = None) -> BrokerConnectivity:
    return BrokerConnectivity("broker:9092", librdkafka or {}, down_exit_s=down_exit_s)


def poll(connectivity: BrokerConnectivity, *, from_s: int, to_s: int) -> None:
    for now_s in range(from_s, to_s + 1):
        connectivity.on_poll(float(now_s))


def test_after_so_long_without_an_answer_it_is_over() -> None:
    connectivity = new_connectivity(60.0)
    poll(connectivity, from_s=0, to_s=60)
    connectivity.on_response()
    poll(connectivity, from_s=61, to_s=121)
    with pytest.raises(SourceAway, match=r"no broker of kafka at broker:9092 has answered for 60 s \(kafka.down_exit_s\)"):
        poll(connectivity, from_s=122, to_s=122)


def test_a_poll_that_took_long_and_brought_an_answer_was_no_silence() -> None:
    connectivity = new_connectivity(0.5)
    for now_s in range(100):
        connectivity.on_response()
        connectivity.on_poll(float(now_s))


def test_time_in_which_nobody_polled_does_not_count() -> None:
    connectivity = new_connectivity(60.0)
    poll(connectivity, from_s=0, to_s=10)
    connectivity.on_poll(1_000_000.0)


def test_a_sign_is_asked_for_in_time_and_only_where_it_decides() -> None:
    connectivity, patient = new_connectivity(60.0), new_connectivity()
    assert not connectivity.needs_probe()
    poll(connectivity, from_s=0, to_s=20)
    poll(patient, from_s=0, to_s=20)
    assert connectivity.needs_probe()
    assert not patient.needs_probe()


def test_credentials_that_are_refused_are_said_once_and_not_as_a_broker_that_is_away() -> None:
    connectivity = new_connectivity()
    assert connectivity.error_line("_AUTHENTICATION", REFUSED) == (
        "kafka at broker:9092 refuses the credentials "
        "(SASL PLAIN authentication failed: Authentication failed: Invalid username or password); trying again"
    )
    assert connectivity.error_line("_ALL_BROKERS_DOWN", "1/1 brokers are down") is None
    connectivity.on_response()
    assert connectivity.error_line("_ALL_BROKERS_DOWN", "1/1 brokers are down") == "kafka at broker:9092 is away; waiting for it"


def test_no_secret_is_said() -> None:
    connectivity = new_connectivity(librdkafka={"sasl.password": "hunter2", "ssl.key.password": "hunter3", "sasl.username": "me"})
    line = connectivity.error_line("_AUTHENTICATION", "me with hunter2 and hunter3 is nobody") or ""
    assert "me with *** and *** is nobody" in line


def test_who_finds_its_static_id_taken_is_told_when_to_start_again() -> None:
    line = fatal_line("UNRELEASED_INSTANCE_ID", "the instance id is in use")
    assert line.startswith("the instance id is in use (")
    assert "start again then" in line
    assert "start again then" in fatal_line("_FATAL", "Fatal error: Broker: The instance ID is still used by another member")
    assert fatal_line("FENCED_INSTANCE_ID", "another has it") == "another has it"


def test_who_finds_members_of_the_other_protocol_in_its_group_is_told_what_to_do() -> None:
    for name, reason in (("GROUP_ID_NOT_FOUND", "no such group"), ("_FATAL", "Fatal error: Broker: The group id does not exist")):
        line = fatal_line(name, reason)
        assert line.startswith(f"{reason} (")
        assert "members of the classic protocol" in line
        assert "start again then" in line

"""Opening the port: a failure is reported at once, in one line that says what to change."""

import socket
import subprocess
import sys

import pytest
from pydantic import ValidationError

from worker.runtime.listening import HttpRefused, listen
from worker.settings.service_tables import HttpTable


def test_any_free_port_is_taken_and_named() -> None:
    listening = listen(HttpTable(port=0))
    with listening.socket:
        assert (listening.host, listening.is_loopback) == ("127.0.0.1", True)
        assert listening.port > 0
        assert listening.url == f"http://127.0.0.1:{listening.port}"


def test_a_port_in_use_is_refused_in_one_line_that_names_the_setting() -> None:
    with listen(HttpTable(port=0)).socket as first:
        port = first.getsockname()[1]
        with pytest.raises(HttpRefused, match=f"^http cannot listen on 127.0.0.1 port {port}: Address already in use; set http.port .*$"):
            listen(HttpTable(port=port))


def test_a_port_whose_last_connections_are_still_closing_is_taken() -> None:
    with listen(HttpTable(port=0)).socket as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            first.accept()[0].close()  # the side that closes first keeps the port for a minute
    listen(HttpTable(port=port)).socket.close()


def test_an_answers_body_does_not_wait_for_the_acknowledgement_of_its_head() -> None:
    with listen(HttpTable(port=0)).socket as listener, socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "127.0.0.1:8790", " ", "a" * 300, "a..b"])
def test_what_is_no_address_of_ours_is_refused_in_one_line(host: str) -> None:
    with pytest.raises(HttpRefused, match=r"^http[^\n]+$"):
        listen(HttpTable(host=host, port=0, allow_without_token=True))


def test_an_address_that_others_reach_needs_a_token_or_a_setting(subtests: pytest.Subtests) -> None:
    wanted = r"^http would let everyone who reaches [^\n]+ search the logs; set http.token, or http.allow_without_token to true$"
    for host in ("0.0.0.0", "0", "::", "198.51.100.7", "2001:db8::1", "255.255.255.255"):  # noqa: S104 - the subject of the test
        with subtests.test(host), pytest.raises(HttpRefused, match=wanted):
            listen(HttpTable(host=host, port=0))
    for exception in ({"token": "secret"}, {"allow_without_token": True}):
        with subtests.test(exception=exception):
            listening = listen(HttpTable.model_validate({"host": "0.0.0.0", "port": 0, **exception}))  # noqa: S104 - as above
            with listening.socket:
                assert not listening.is_loopback


def test_an_address_of_version_six_is_one() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")
    listening = listen(HttpTable(host="::1", port=0))
    with listening.socket:
        assert (listening.is_loopback, listening.url) == (True, f"http://[::1]:{listening.port}")


@pytest.mark.parametrize("token", ["two words", "line\n", "é", "\x00"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValidationError, match="bearer token") as refused:
        HttpTable.model_validate({"token": token})
    assert "line" not in str(refused.value.errors(include_input=False, include_context=False))


def test_nobody_sees_the_token() -> None:
    assert "s3cr3t" not in repr(HttpTable.model_validate({"token": "s3cr3t"}))


@pytest.mark.process
def test_who_only_listens_loads_no_server() -> None:
    program = (
        "import sys, worker.runtime.listening, worker.settings.service_tables; print(sorted({'starlette', 'uvicorn'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"

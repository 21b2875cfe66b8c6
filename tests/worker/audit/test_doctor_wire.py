"""The two questions in Kafka's own protocol: what a real broker answers, and what comes of something that is no broker."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from worker.audit.doctor_wire import WireFailed, ask_wire, release_of

WAIT_S = 10.0

Answer = Callable[[bytes], bytes]


@pytest.fixture
def answering() -> Iterator[Callable[[Answer], str]]:
    """Start a server that answers each question with what a function makes of it, and return its address."""
    listeners: list[socket.socket] = []

    def start(answer: Answer) -> str:
        listener = socket.create_server(("127.0.0.1", free_port()))
        listeners.append(listener)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # the client hangs up as soon as it knows
                while question := connection.recv(4096):
                    connection.sendall(answer(question))

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield start
    for listener in listeners:
        listener.close()


def test_a_real_broker_says_its_version_and_the_controllers_time(kafka: KafkaServer) -> None:
    facts = ask_wire(kafka.bootstrap, {}, timeout_s=WAIT_S)
    assert facts.metadata_version is not None
    assert release_of(facts.metadata_version).startswith("4.")
    assert facts.clock_ahead_s is not None
    assert abs(facts.clock_ahead_s) <= facts.uncertain_s + 1.0  # both clocks are this machine's


def test_the_first_address_that_answers_is_asked(kafka: KafkaServer) -> None:
    servers = f"127.0.0.1:{free_port()},{kafka.bootstrap}"
    assert ask_wire(servers, {}, timeout_s=WAIT_S).address == kafka.bootstrap


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">i", 3) + b"abc",
        struct.pack(">ii", 12, 1) + b"\x00\x00\xff\xff\xff\xff\xff\xff",
    ],
)
def test_what_is_no_broker_fails_in_one_line(answering: Callable[[Answer], str], answer: bytes) -> None:
    address = answering(lambda _question: answer)
    with pytest.raises(WireFailed, match=f"{address}: it does not answer as Kafka does"):
        ask_wire(address, {}, timeout_s=WAIT_S)


def test_a_port_on_which_nobody_listens_says_so() -> None:
    with pytest.raises(WireFailed, match="Connection refused"):
        ask_wire(f"127.0.0.1:{free_port()}", {}, timeout_s=WAIT_S)


@pytest.mark.parametrize(
    ("metadata", "release"), [(0, "before 3.0"), (1, "3.0"), (14, "3.6"), (25, "4.0"), (30, "4.3"), (77, "4.4 or newer")]
)
def test_a_version_of_the_metadata_belongs_to_a_release(metadata: int, release: str) -> None:
    assert release_of(metadata) == release

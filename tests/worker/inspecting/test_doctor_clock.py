"""The question in Kafka's own protocol: what a real broker answers, and what comes of something that is no broker."""

import socket
import struct
import threading
from contextlib import suppress

import pytest

from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from worker.inspecting.doctor_clock import KafkaClock, ask_clock, read_clock_ms

WAIT_S = 10.0


def test_the_first_address_that_answers_tells_the_controllers_time(kafka: KafkaServer) -> None:
    clock = ask_clock(f"127.0.0.1:{free_port()},{kafka.bootstrap}", {}, timeout_s=WAIT_S)
    assert isinstance(clock, KafkaClock)
    assert abs(clock.ahead_s) <= clock.uncertain_s + 1.0  # both clocks are this machine's


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", struct.pack(">i", 3) + b"abc", struct.pack(">ii", 80, 1) + bytes(76)],
)
def test_what_is_no_broker_gives_a_reason_and_no_time(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # the client hangs up as soon as it knows
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert str(ask_clock(address, {}, timeout_s=WAIT_S)).startswith(f"{address}: ")


def test_without_a_connection_or_with_a_login_a_text_says_why() -> None:
    assert "Connection refused" in str(ask_clock(f"127.0.0.1:{free_port()}", {}, timeout_s=WAIT_S))
    assert "no address" in str(ask_clock("", {}, timeout_s=WAIT_S))
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert ask_clock(address, {"security.protocol": "SASL_PLAINTEXT"}, timeout_s=WAIT_S) == "it asks for a login"


def test_the_time_is_that_of_the_leader_among_the_voters() -> None:
    def answer(leader: int) -> bytes:
        voters = b"".join(struct.pack(">iqqqx", voter, 9, 1_000 + voter, 7) for voter in (1, 2, 3))
        topic = b"\x02\x13__cluster_metadata\x02"
        return bytes(4 + 1) + struct.pack(">h", 0) + topic + struct.pack(">ihiiqB", 0, 0, leader, 5, 9, 4) + voters

    assert [read_clock_ms(answer(leader)) for leader in (1, 3)] == [1_001, 1_003]
    with pytest.raises(ValueError, match="does not report"):
        read_clock_ms(answer(4))

"""Compares this machine's clock with that of Kafka's controller, which no client library tells.

One question of Kafka's own protocol over a connection of its own: DescribeQuorum says when the leading controller last heard of itself, and
that is now, by its own clock. It needs Kafka 3.3 or newer with KRaft, and a connection without a login.
"""

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

_TOPIC: Final = b"\x13__cluster_metadata"
"""With its length, as Kafka encodes a compact string."""
_QUESTION: Final = struct.pack(">hhih7sx", 55, 1, 1, 7, b"vectail") + b"\x02" + _TOPIC + b"\x02" + bytes(4 + 3)
"""DescribeQuorum, version 1: partition 0 of one topic, and three times no tagged fields."""
_HEAD: Final = struct.Struct(">4xxhB19sB4xhi12xB")
"""Error, number of topics + 1, topic, number of partitions + 1, error of the partition, leader, number of voters + 1."""
_VOTER: Final = struct.Struct(">iqqqx")
"""Its id, the end of its log, when it last fetched (ms since 1970), when it last was at the end."""
_MOST_BYTES: Final = 1 << 16
_PORT: Final = 9092


class KafkaClock(NamedTuple):
    """Kafka's clock against ours."""

    ahead_s: float
    """Seconds that the controller's clock is ahead of ours; negative if it is behind."""
    uncertain_s: float
    """By how much `ahead_s` may be wrong: the time that the answer took."""


def ask_clock(bootstrap_servers: str, properties: Mapping[str, str], *, timeout_s: float) -> KafkaClock | str:
    """Ask the first address that can be connected to; a text says why there is no answer. `properties` are librdkafka's."""
    protocol = properties.get("security.protocol", "plaintext").lower()
    reasons: list[str] = []
    for address in (part.strip() for part in bootstrap_servers.split(",") if part.strip()):
        try:
            with _connect(address, properties if protocol.endswith("ssl") else None, timeout_s) as connection:
                return "it asks for a login" if "sasl" in protocol else _ask(connection)
        except (OSError, ValueError, struct.error) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            reasons.append(f"{address}: {reason}")
    return reasons[0] if reasons else "there is no address in kafka.bootstrap_servers"


def read_clock_ms(answer: bytes) -> int:
    """Return the controller's time in an answer without its length, in milliseconds since 1970. Raises ValueError or struct.error."""
    error, topics, topic, partitions, partition_error, leader, voters = _HEAD.unpack_from(answer)
    if (error, topics, topic, partitions, partition_error) == (0, 2, _TOPIC, 2, 0):
        for place in range(voters - 1):
            voter, _, fetched_ms, _ = _VOTER.unpack_from(answer, _HEAD.size + place * _VOTER.size)
            if voter == leader and fetched_ms > 0:
                return int(fetched_ms)
    raise ValueError("it does not report its time")


def _connect(address: str, tls: Mapping[str, str] | None, timeout_s: float) -> socket.socket:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host:
        host, port = port, str(_PORT)
    host = host.strip("[]")
    plain = socket.create_connection((host, int(port)), timeout_s)
    if tls is None:
        return plain
    try:
        return _tls_context(tls).wrap_socket(plain, server_hostname=host)
    except OSError:
        plain.close()
        raise


def _tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=properties.get("ssl.ca.location"), cadata=properties.get("ssl.ca.pem"))
    if properties.get("ssl.endpoint.identification.algorithm", "https") == "none":
        context.check_hostname = False
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if certificate := properties.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, properties.get("ssl.key.location"), properties.get("ssl.key.password", ""))
    return context


def _ask(connection: socket.socket) -> KafkaClock:
    asked_s = time.time()
    connection.sendall(struct.pack(">i", len(_QUESTION)) + _QUESTION)
    with connection.makefile("rb") as answers:
        (length,) = struct.unpack(">i", answers.read(4))
        clock_ms = read_clock_ms(answers.read(min(max(length, 0), _MOST_BYTES)))
    answered_s = time.time()
    return KafkaClock(clock_ms / 1000 - (asked_s + answered_s) / 2, answered_s - asked_s)

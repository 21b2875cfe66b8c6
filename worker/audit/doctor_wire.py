"""Two questions in Kafka's own protocol that the client library does not ask: which release it is, and what time it is there.

`doctor_kafka` asks them over a connection of its own. ApiVersions is answered before anybody logs in; a cluster with metadata of its
own (KRaft) says in it of which version these are. DescribeQuorum says when the controller that leads heard of itself, which is now, by
its own clock; it needs a connection without a login.
"""

import socket
import ssl
import struct
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

_API_VERSIONS: Final = 18
_DESCRIBE_QUORUM: Final = 55
_CLIENT: Final = b"vectail"
_MOST_BYTES: Final = 1 << 20
_RELEASES: Final = (
    *((1, "3.0"), (2, "3.1"), (3, "3.2"), (4, "3.3"), (8, "3.4"), (9, "3.5"), (12, "3.6"), (15, "3.7"), (20, "3.8"), (21, "3.9")),
    *((22, "4.0"), (26, "4.1"), (28, "4.2"), (30, "4.3"), (31, "4.4")),
)
"""The first `metadata.version` of each release."""
_PORT: Final = 9092
_STRANGER: Final = "it does not answer as Kafka does"


class WireFacts(NamedTuple):
    """What a broker says of itself; None: it does not say."""

    address: str
    """The one that answered."""
    metadata_version: int | None
    """Kafka's number of the version of its metadata; clusters with ZooKeeper have none."""
    clock_ahead_s: float | None
    """Seconds that the controller's clock is ahead of ours; negative if it is behind."""
    uncertain_s: float
    """By how much `clock_ahead_s` may be wrong: the time that the answer took."""


class WireFailed(Exception):
    """No address was answered by a Kafka broker; one line."""


def ask_wire(bootstrap_servers: str, properties: Mapping[str, str], *, timeout_s: float) -> WireFacts:
    """Ask the first address that answers. `properties` are librdkafka's. Raises WireFailed with the first reason."""
    protocol = properties.get("security.protocol", "plaintext").lower()
    reasons: list[str] = []
    for address in (part.strip() for part in bootstrap_servers.split(",") if part.strip()):
        try:
            with _connect(address, properties if protocol.endswith("ssl") else None, timeout_s) as connection:
                return _ask(address, connection, has_login="sasl" in protocol)
        except (OSError, ValueError, struct.error, IndexError) as error:
            reasons.append(f"{address}: {_reason(error)}")
    raise WireFailed(reasons[0] if reasons else "there is no address in kafka.bootstrap_servers")


def release_of(metadata_version: int) -> str:
    """Return the release to which a version of the metadata belongs, such as `4.1`; `4.4 or newer` for a later one than is known."""
    names = [name for first, name in _RELEASES if first <= metadata_version]
    if not names:
        return "before 3.0"
    return f"{names[-1]} or newer" if metadata_version > _RELEASES[-1][0] else names[-1]


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
    if properties.get("enable.ssl.certificate.verification", "true").lower() == "false":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif properties.get("ssl.endpoint.identification.algorithm", "https") == "none":
        context.check_hostname = False
    certificate = properties.get("ssl.certificate.location")
    if certificate is not None:
        context.load_cert_chain(certificate, properties.get("ssl.key.location"), properties.get("ssl.key.password", ""))
    return context


def _ask(address: str, connection: socket.socket, *, has_login: bool) -> WireFacts:
    versions = _Reader(_answer(connection, _API_VERSIONS, 3, _text(_CLIENT) + _text(b"1") + b"\0"))
    metadata_version = _metadata_version(versions)
    if has_login or metadata_version is None:
        return WireFacts(address, metadata_version, None, 0.0)
    asked_s = time.time()
    topic = _text(b"__cluster_metadata") + _length(1) + struct.pack(">i", 0) + b"\0" + b"\0"
    answer = _Reader(_answer(connection, _DESCRIBE_QUORUM, 1, _length(1) + topic + b"\0"))
    answered_s = time.time()
    clock_ms = _leader_clock_ms(answer)
    ahead_s = None if clock_ms is None else clock_ms / 1000 - (asked_s + answered_s) / 2
    return WireFacts(address, metadata_version, ahead_s, answered_s - asked_s)


def _metadata_version(answer: "_Reader") -> int | None:
    """Read an answer to ApiVersions 3."""
    answer.skip(4)  # the number of the question; this answer's head has no tags
    if answer.number(">h"):
        return None
    for _ in range(answer.length()):
        answer.skip(6)
        answer.tags()
    answer.skip(4)
    finalized = answer.tags().get(2)
    if finalized is None:
        return None
    features = _Reader(finalized)
    for _ in range(features.length()):
        name, newest = features.text(), features.number(">h")
        features.skip(2)
        features.tags()
        if name == b"metadata.version":
            return newest
    return None


def _leader_clock_ms(answer: "_Reader") -> int | None:
    """Read an answer to DescribeQuorum 1: when the leader last heard of itself, in milliseconds since 1970."""
    answer.skip(4)
    answer.tags()
    if answer.number(">h") or not answer.length():
        return None
    answer.text()
    if not answer.length():
        return None
    answer.skip(4)
    if answer.number(">h"):
        return None
    leader = answer.number(">i")
    answer.skip(4 + 8)
    for _ in range(answer.length()):
        replica = answer.number(">i")
        answer.skip(8)
        heard_ms = answer.number(">q")
        answer.skip(8)
        answer.tags()
        if replica == leader and heard_ms > 0:
            return heard_ms
    return None


def _answer(connection: socket.socket, key: int, version: int, body: bytes) -> bytes:
    """Send one question of a flexible version and return the answer without its length."""
    question = struct.pack(">hhih", key, version, 1, len(_CLIENT)) + _CLIENT + b"\0" + body
    connection.sendall(struct.pack(">i", len(question)) + question)
    (length,) = struct.unpack(">i", _received(connection, 4))
    if not 0 < length <= _MOST_BYTES:
        raise ValueError(_STRANGER)
    return _received(connection, length)


def _received(connection: socket.socket, number: int) -> bytes:
    content = b""
    while len(content) < number:
        piece = connection.recv(number - len(content))
        if not piece:
            raise ValueError("it hung up without an answer")
        content += piece
    return content


def _length(number: int) -> bytes:
    """Return the head of a compact array or string of up to 126 items."""
    return bytes([number + 1])


def _text(text: bytes) -> bytes:
    return _length(len(text)) + text


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return _STRANGER if isinstance(error, struct.error | IndexError) else str(error)


class _Reader:
    """Reads Kafka's encoding from the front. Raises IndexError or struct.error at the end.

    Thread: one.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def skip(self, number: int) -> None:
        self._at += number

    def number(self, form: str) -> int:
        value: int = struct.unpack_from(form, self._content, self._at)[0]
        self._at += struct.calcsize(form)
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._content[self._at]
            self._at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # noqa: PLR2004 - the last byte of a number has no high bit
                return value
            shift += 7

    def length(self) -> int:
        """Of a compact array; a null one counts as empty."""
        return max(self.varint() - 1, 0)

    def text(self) -> bytes:
        number = self.length()
        self._at += number
        return self._content[self._at - number : self._at]

    def tags(self) -> dict[int, bytes]:
        """Return the tagged fields by number."""
        found = {}
        for _ in range(self.varint()):
            tag, number = self.varint(), self.varint()
            self._at += number
            found[tag] = self._content[self._at - number : self._at]
        return found

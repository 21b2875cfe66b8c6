"""The users of `benchmarks.serve`, in a process of its own: each sends a prepared body, waits for the answer, and sends the next one.

Bare sockets that stay open and one selector, so that the users take little of the cores that the servers use (about 0.05 ms a request); no
answer is read while the clock runs. Times are on `time.monotonic`, one clock for all processes of a machine.
"""

import math
import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.rivals.own_process import Opened

TURN_S = 900.0
_LOOK_S = 1.0
_READ_BYTES = 256 * 1024
_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"
_STATUS = slice(9, 12)
"""Of the first line, `HTTP/1.1 200 OK`."""


class Target(NamedTuple):
    """Where a side listens."""

    host: str
    port: int
    path: str = "/v1/embeddings"


class Crowd(NamedTuple):
    """Users who send the same list of bodies, each body once."""

    users: int
    bodies: Sequence[bytes]
    gap_s: float = 0.0
    """A user's pause before each request."""
    is_beside: bool = False
    """Whether they send nothing more once the other crowds are answered, although bodies are left."""


class Answered(NamedTuple):
    """One answer."""

    place: int
    """Of its body in the crowd's list."""
    sent_s: float
    ended_s: float
    status: int
    """0: the connection was closed before the answer was complete."""
    body: bytes

    @property
    def seconds(self) -> float:
        """How long the user waited."""
        return self.ended_s - self.sent_s


class Asked(NamedTuple):
    """What a process of users is asked for."""

    target: Target
    crowds: Sequence[Crowd]
    seconds: float = math.inf
    """After which nothing more is sent."""


class _User:
    """One connection, and at most one request on it.

    Thread: one.
    """

    def __init__(self, target: Target, crowd: Crowd, bodies: Iterator[tuple[int, bytes]], answered: list[Answered]) -> None:
        self.crowd = crowd
        self.due_s = time.monotonic() + crowd.gap_s
        """When it sends its next request."""
        self.socket = _connect(target)
        self._target, self._bodies, self._answered = target, bodies, answered
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self._place, self._sent_s, self._body_at, self._needed = 0, 0.0, 0, 0

    @property
    def events(self) -> int:
        """What the selector looks for."""
        return selectors.EVENT_READ | (selectors.EVENT_WRITE if self._unsent else 0)

    def begin(self) -> bool:
        """Send the next body; False: there is none."""
        found = next(self._bodies, None)
        if found is None:
            return False
        self._place, body = found
        target = self._target
        head = f"POST {target.path} HTTP/1.1\r\nhost: localhost:{target.port}\r\nauthorization: Bearer none\r\naccept: application/json\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self._received.clear()
        self._needed = 0
        self._unsent = memoryview(head.encode() + body)
        self._sent_s = time.monotonic()
        self.write()
        return True

    def write(self) -> None:
        """Send as much as the socket takes; of a connection that has ended `read` tells."""
        try:
            self._unsent = self._unsent[self.socket.send(self._unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent = memoryview(b"")

    def read(self) -> bool:
        """Read what has come; True: the answer is complete, or never will be."""
        try:
            part = self.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            part = b""
        self._received += part
        if not self._needed and (end := self._received.find(_END_OF_HEAD)) >= 0:
            self._body_at = end + len(_END_OF_HEAD)
            length = bytes(self._received[:end]).lower().partition(_LENGTH)[2].split(b"\r", 1)[0]
            self._needed = self._body_at + int(length)
        return not part or 0 < self._needed <= len(self._received)

    def end(self) -> None:
        """Note the answer; connect again if it broke off."""
        now_s = time.monotonic()
        is_whole = 0 < self._needed <= len(self._received)
        status = int(self._received[_STATUS]) if is_whole else 0
        body = bytes(self._received[self._body_at : self._needed]) if is_whole else b""
        self._answered.append(Answered(self._place, self._sent_s, now_s, status, body))
        self.due_s = now_s + self.crowd.gap_s
        if not is_whole:
            self.socket.close()
            self.socket = _connect(self._target)


def _connect(target: Target) -> socket.socket:
    opened = socket.create_connection((target.host, target.port))
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opened.settimeout(0)
    return opened


def answers_to(asked: Asked) -> list[list[Answered]]:
    """Let all crowds ask until their bodies are answered; return each crowd's answers in the order in which they came."""
    answered: list[list[Answered]] = [[] for _ in asked.crowds]
    users: list[_User] = []
    for crowd, found in zip(asked.crowds, answered, strict=True):
        bodies = iter(list(enumerate(crowd.bodies)))
        users += [_User(asked.target, crowd, bodies, found) for _ in range(min(crowd.users, len(crowd.bodies)))]
    try:
        with selectors.DefaultSelector() as selector:
            _ask_all(selector, users, asked.seconds)
    finally:
        for user in users:
            user.socket.close()
    return answered


def _ask_all(selector: selectors.BaseSelector, users: Sequence[_User], seconds: float) -> None:
    """Exchange bytes until those who are not only beside have nothing left to send, and nobody waits for an answer."""
    idle, left = set(users), sum(not user.crowd.is_beside for user in users)
    began_s = time.monotonic()
    stop_s, until_s = began_s + seconds, began_s + TURN_S
    while (left or selector.get_map()) and (now_s := time.monotonic()) < until_s:
        for user in [one for one in idle if one.due_s <= now_s] if left else ():
            idle.remove(user)
            if now_s < stop_s and user.begin():
                selector.register(user.socket, user.events, user)
            else:
                left -= not user.crowd.is_beside
        due_s = min((user.due_s for user in idle), default=now_s + _LOOK_S) if left else now_s + _LOOK_S
        for key, mask in selector.select(max(due_s - now_s, 0.0)):
            user = key.data
            if mask & selectors.EVENT_WRITE:
                user.write()
                selector.modify(user.socket, user.events, user)
            if mask & selectors.EVENT_READ and user.read():
                selector.unregister(user.socket)
                user.end()
                idle.add(user)


def open_users() -> Opened:
    """Open in a process of its own."""
    return Opened({}, answers_to)

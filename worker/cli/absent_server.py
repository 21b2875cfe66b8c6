"""How a verb ends when a server is away: with one line that names it, where it was looked for, why, and what to do.

A verb that is called once waits a few seconds for a first answer, then gives up; `vectail run` goes on waiting.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Final
from urllib.parse import urlsplit

from consumers.groupless.groupless_reader import RangeUnreadable
from worker.cli.exits import CommandFailed, failure
from worker.runtime.kafka_admin import BrokerAway, failure_of

REACH_S: Final = 3.0
"""How long a verb waits for the first answer of a server."""
SLOW_S: Final = 4.0
"""How long a verb waits in silence."""
_MILVUS_PORT: Final = 19530


def kafka_away(address: str, reason: object) -> CommandFailed:
    """Return the failure for brokers that did not answer."""
    return failure(f"kafka at {address} is away ({reason}); is it running, and is its address right (--bootstrap-servers)?")


def kafka_unread(address: str, error: RangeUnreadable) -> CommandFailed:
    """Return the failure for what could not be read: the brokers are away, or have answered with an error."""
    cause = failure_of(error)
    return kafka_away(address, cause) if isinstance(cause, BrokerAway) else failure(f"kafka at {address}: {cause}")


def milvus_away(uri: str, reason: object) -> CommandFailed:
    """Return the failure for a Milvus that did not answer."""
    return failure(f"milvus at {uri} does not answer ({reason}); is it running, and is milvus.uri right?")


def listens(uri: str) -> bool:
    """Whether anything takes connections at this address; a name that is unknown has none."""
    parts = urlsplit(uri)
    port = 443 if parts.scheme == "https" else _MILVUS_PORT
    try:
        with socket.create_connection((parts.hostname or "", parts.port or port), REACH_S):
            return True
    except (OSError, ValueError):
        return False


@contextmanager
def said_if_slow(say: Callable[[str], None], line: str) -> Iterator[None]:
    """Say what is waited for, and for how long, if the block takes more than a few seconds."""
    timer = Timer(SLOW_S, say, [line])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()

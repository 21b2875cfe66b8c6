"""The servers that all tests of a run share, and those that a test has for itself.

A test process takes the server that the environment names, else it starts one, in Docker or by itself. `shared_servers` starts one Kafka,
one Milvus and one Redis, side by side, and names them there: all test processes that are started then find them.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from typing import TypeVar

from tests.services import kafka, milvus, redis
from tests.services.docker_servers import DockerKafka, DockerMilvus
from tests.services.kafka import KafkaServer, OwnKafka, named_kafka
from tests.services.local_kafka import LocalKafka
from tests.services.milvus import MilvusServer, OwnMilvus, named_milvus
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.redis import as_process, in_docker, named_redis
from tests.services.wheel_milvus import WheelMilvus

Server = TypeVar("Server")
Way = Callable[[], AbstractContextManager[Server]]
"""A way to a server; where it leads to none, it raises ServerMissing when it is entered."""


_OWN_KAFKAS: tuple[Way[OwnKafka], ...] = (lambda: closing(DockerKafka()), lambda: closing(LocalKafka()))
_OWN_MILVUSES: tuple[Way[OwnMilvus], ...] = (lambda: closing(DockerMilvus()), lambda: closing(WheelMilvus()))


def open_kafka() -> AbstractContextManager[KafkaServer]:
    """Return the broker that tests share; skip or fail the test if there is none."""
    return or_skip("Kafka", named_kafka, *_OWN_KAFKAS)


def own_kafka() -> AbstractContextManager[OwnKafka]:
    """Return a broker that nobody else uses; skip or fail the test if there is none."""
    return or_skip("Kafka", *_OWN_KAFKAS)


def open_milvus() -> AbstractContextManager[MilvusServer]:
    """Return the Milvus that tests share; skip or fail the test if there is none."""
    return or_skip("Milvus", named_milvus, *_OWN_MILVUSES)


def own_milvus() -> AbstractContextManager[OwnMilvus]:
    """Return a Milvus that nobody else uses; skip or fail the test if there is none."""
    return or_skip("Milvus", *_OWN_MILVUSES)


def open_redis() -> AbstractContextManager[str]:
    """Return the URL of the Redis that tests share; skip or fail the test if there is none."""
    return or_skip("Redis", named_redis, in_docker, as_process)


@contextmanager
def or_skip(kind: str, *ways: Way[Server]) -> Iterator[Server]:
    """Yield the server of the first way that leads to one; skip or fail the test if none does."""
    with ExitStack() as stack:
        try:
            server = _first(stack, ways)
        except ServerMissing as missing:
            skip_or_fail(f"no {kind}: {missing}")
        yield server


@contextmanager
def shared_servers() -> Iterator[None]:
    """Start what the environment does not name, and name it there. What cannot be started here, the tests that need it will say."""
    before = dict(os.environ)

    def start(variable: str, address: Callable[[ExitStack], str]) -> ExitStack:
        with ExitStack() as stack:
            if variable not in before:
                try:
                    os.environ[variable] = address(stack)
                except ServerMissing:
                    return stack
            return stack.pop_all()

    wanted: dict[str, Callable[[ExitStack], str]] = {
        kafka.ADDRESS_VARIABLE: lambda stack: _first(stack, _OWN_KAFKAS).bootstrap,
        milvus.ADDRESS_VARIABLE: lambda stack: _first(stack, _OWN_MILVUSES).uri.removeprefix("http://"),
        redis.ADDRESS_VARIABLE: lambda stack: _first(stack, (in_docker, as_process)),
    }
    with ExitStack() as stack:
        stack.callback(_name_only, before, wanted)
        with ThreadPoolExecutor() as pool:
            for one in pool.map(start, wanted, wanted.values()):
                stack.enter_context(one)
        yield


def _first(stack: ExitStack, ways: "tuple[Way[Server], ...]") -> Server:
    """Enter the first way that leads to a server. Raises ServerMissing with the reasons of all."""
    reasons = []
    for way in ways:
        try:
            return stack.enter_context(way())
        except ServerMissing as missing:
            reasons.append(str(missing))
    raise ServerMissing("; ".join(reasons))


def _name_only(before: dict[str, str], wanted: dict[str, Callable[[ExitStack], str]]) -> None:
    for variable in wanted.keys() - before.keys():
        os.environ.pop(variable, None)

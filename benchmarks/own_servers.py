"""Servers for one benchmark: a Milvus, a Kafka and a Redis as the tests use them, each started by a separate program.

Each listens on loopback and ends with the benchmark, even a killed one, because its program exits when its standard input closes.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from benchmarks.race import Missing

_PROGRAM = """
import sys
from tests.services.missing import ServerMissing
from tests.services.{module} import {server}
try:
    server = {server}({options})
except ServerMissing as missing:
    sys.exit(" ".join(str(missing).split()))
print(server.{address}, flush=True)
sys.stdin.read()
server.close()
"""
_EVICTS = '"--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu"'
_STOP_S = 60.0
_HEAP_MB = 512
"""Of the broker: the tests' 128 are too few for 1,000 partitions."""


class Started(NamedTuple):
    """A server, or the reason why there is none."""

    address: str
    """Empty if there is none."""
    reason: str = ""


def own_milvus() -> AbstractContextManager[Started]:
    """Start a Milvus from PyPI's wheel, yield its address, and stop it afterwards."""
    return _started(_PROGRAM.format(module="wheel_milvus", server="WheelMilvus", options="", address="uri"))


def own_kafka() -> AbstractContextManager[Started]:
    """Start a Kafka broker from Maven's jars, yield its address, and stop it afterwards."""
    return _started(_PROGRAM.format(module="local_kafka", server="LocalKafka", options=f"heap_mb={_HEAP_MB}", address="bootstrap"))


def own_redis() -> AbstractContextManager[Started]:
    """Start a `redis-server`, yield its address, and stop it afterwards."""
    return _started(_PROGRAM.format(module="redis", server="LocalRedis", options=_EVICTS, address="url"))


def own_or_given_redis(address: str | None) -> AbstractContextManager[Started]:
    """Yield the address of a Redis that is there already, or start one."""
    return nullcontext(Started(address)) if address else own_redis()


def own_or_given_milvus(address: str | None) -> AbstractContextManager[Started]:
    """Yield the address of a Milvus that is there already, or start one."""
    return nullcontext(Started(address)) if address else own_milvus()


@contextmanager
def some_kafka(address: str | None) -> Iterator[str]:
    """Yield the address of a broker that is there already, or start one. Raises Missing."""
    with nullcontext(Started(address)) if address else own_kafka() as started:
        if not started.address:
            raise Missing(f"no broker: {started.reason}")
        yield started.address


@contextmanager
def _started(source: str) -> Iterator[Started]:
    program = subprocess.Popen(  # noqa: S603 - ours
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        start_new_session=True,
    )
    assert program.stdin  # noqa: S101 - asked for above
    assert program.stdout  # noqa: S101
    assert program.stderr  # noqa: S101
    try:
        address = program.stdout.readline().strip()
        yield Started(address) if address else Started("", program.stderr.read().strip().rpartition("\n")[2])
    finally:
        program.stdin.close()
        try:
            program.wait(_STOP_S)
        finally:
            program.kill()
            program.stdout.close()
            program.stderr.close()

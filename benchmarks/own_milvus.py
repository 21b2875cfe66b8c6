"""A Milvus server for one benchmark: the one from PyPI's wheel that the tests use, started by a separate program.

`benchmarks.sink` uses it when no server is named. It listens on loopback and ends with the benchmark, even a killed one, because it exits
when its standard input closes.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_PROGRAM = """
import sys
from tests.services.missing import ServerMissing
from tests.services.wheel_milvus import WheelMilvus
try:
    server = WheelMilvus()
except ServerMissing as missing:
    sys.exit(str(missing))
print(server.uri, flush=True)
sys.stdin.read()
server.close()
"""
_STOP_S = 60.0


class Started(NamedTuple):
    """A server, or the reason why there is none."""

    uri: str
    """Empty if there is none."""
    reason: str = ""


@contextmanager
def own_milvus() -> Iterator[Started]:
    """Start a server, yield its address, and stop it afterwards."""
    program = subprocess.Popen(  # noqa: S603 - ours
        [sys.executable, "-c", _PROGRAM],
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
        uri = program.stdout.readline().strip()
        yield Started(uri) if uri else Started("", program.stderr.read().strip().rpartition("\n")[2])
    finally:
        program.stdin.close()
        try:
            program.wait(_STOP_S)
        finally:
            program.kill()
            program.stdout.close()
            program.stderr.close()

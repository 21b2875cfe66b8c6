"""A Milvus server of a benchmark's own: the one of PyPI's wheel that the tests use, started by a program beside this one.

Called by `benchmarks.sink` when no server is named. It listens on loopback and ends with the benchmark, however that ends: it waits for
the end of what stands at its standard input.
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
    """A server, or why there is none."""

    uri: str
    """Empty: there is none."""
    reason: str = ""


@contextmanager
def own_milvus() -> Iterator[Started]:
    """Start a server and yield its address; it ends with the `with`."""
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

"""A process that writes blocks into a local Milvus folder until it is killed: `python -m tests.sinks.local_writer FOLDER MOST_FILE_BYTES`.

Prints `open`, then after each call how many blocks are acknowledged. Each time there are `DELETED_EVERY` more of them it deletes these but
for the last, as one that merges does, and first prints the last one's number with a minus. With MOST_FILE_BYTES above 0, the system refuses
to let any file grow beyond that (as a full disk would); then it prints what became of the sink, and ends.
"""

import random
import resource
import sys

from sinks.block import Block
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.sink import SinkBroken
from tests.world import SPACE, block, line, template

DELETED_EVERY = 40
_AT_ONCE = 4
_LINES = 10
_TEXT_BYTES = 4_000
"""A block takes about 50 KB, so that a few hundred are more than a local folder holds in memory."""


def numbered(number: int) -> Block:
    """Return the block with a number: lines from ten times the number on."""
    texts = random.Random(number)
    lines = [line(offset, text=texts.randbytes(_TEXT_BYTES).hex()) for offset in range(number * _LINES, number * _LINES + _LINES)]
    return block(lines, first=number)


def write_until_killed(sink: MilvusSink) -> None:
    """Write block after block."""
    number = 0
    while True:
        sink.write_blocks([numbered(number + i) for i in range(_AT_ONCE)])
        number += _AT_ONCE
        print(number, flush=True)  # noqa: T201 (how the test hears of it)
        if number % DELETED_EVERY == 0:
            print(1 - number, flush=True)  # noqa: T201
            sink.delete_blocks([numbered(one).id for one in range(number - DELETED_EVERY, number - 1)])


def write_until_refused(sink: MilvusSink, most_file_bytes: int) -> None:
    """Write until the disk is "full", make room again, and try everything once more."""
    assert sink.local_pid is not None
    soft, hard = resource.prlimit(sink.local_pid, resource.RLIMIT_FSIZE)
    resource.prlimit(sink.local_pid, resource.RLIMIT_FSIZE, (most_file_bytes, hard))
    try:
        write_until_killed(sink)
    except SinkBroken:
        resource.prlimit(sink.local_pid, resource.RLIMIT_FSIZE, (soft, hard))
    for call in (lambda: sink.write_blocks([numbered(0)]), lambda: sink.templates.upsert([template()]), sink.counts, sink.open):
        try:
            call()
        except SinkBroken:
            print("broken", flush=True)  # noqa: T201
    sink.close()
    print("closed", flush=True)  # noqa: T201


def main() -> None:
    folder, most_file_bytes = sys.argv[1], int(sys.argv[2])
    sink = MilvusSink(MilvusSettings(uri=folder), SPACE)
    sink.open()
    print("open", flush=True)  # noqa: T201
    if most_file_bytes:
        write_until_refused(sink, most_file_bytes)
    else:
        write_until_killed(sink)


if __name__ == "__main__":
    main()

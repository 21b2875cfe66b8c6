"""A process that writes lines into a local Milvus folder until it is killed: `python -m tests.sinks.local_writer FOLDER MOST_FILE_BYTES`.

Prints `open`, then the number of acknowledged lines after each batch. With MOST_FILE_BYTES above 0, the system refuses to let any
file grow beyond that (as a full disk would); then it prints what became of the sink, and ends.
"""

import resource
import sys

from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.sink import LineFilter, SinkBroken
from tests.sinks.rows import DIGEST, SPACE, line, template

BATCH = 500


def write_until_killed(sink: MilvusSink) -> None:
    """Write batch after batch, and search now and then, so that rows go to segments as well."""
    stored = 0
    while True:
        sink.upsert_lines([line(offset) for offset in range(stored, stored + BATCH)])
        stored += BATCH
        print(stored, flush=True)  # noqa: T201 (how the test hears of it)
        if stored % 5_000 == 0:
            sink.newest_lines([DIGEST], 1, LineFilter())


def write_until_refused(sink: MilvusSink, most_file_bytes: int) -> None:
    """Write until the disk is "full", make room again, and try everything once more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_file_bytes, hard))
    try:
        write_until_killed(sink)
    except SinkBroken:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for call in (lambda: sink.upsert_lines([line(0)]), lambda: sink.upsert_templates([template("a")]), sink.counts, sink.open):
        try:
            call()
        except SinkBroken:
            print("broken", flush=True)  # noqa: T201
    sink.close()
    print("closed", flush=True)  # noqa: T201


def main() -> None:
    """Run as a program."""
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

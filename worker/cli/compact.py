"""`vectail compact`: merges the small blocks that stopped workers left, in every partition of the index.

A running worker merges its own blocks, and those of the runs before it. This does the same for a group without members, through the same
`worker.indexing.compaction`. On a local folder the folder's lock says whether a worker runs; else Kafka says whether the group has members.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sinks.block import BlockPlace
from sinks.milvus.lite import names_server
from sinks.sink import BlockFilter, Sink
from worker.cli.offsets_verb import open_positions
from worker.cli.opened_index import failures_in_one_line, opened_index
from worker.cli.screen import Screen
from worker.indexing.compaction import Compactor
from worker.inspecting.busy_retry import BusyRetry
from worker.runtime.logs import configure_logs
from worker.runtime.surroundings import Surroundings
from worker.runtime.wording import counted
from worker.settings.settings import Settings
from worker.watching.group_offsets import check_inactive


@dataclass(slots=True)
class CompactReport:
    """What was done so far; only grows.

    Thread: one.
    """

    partitions: int = 0
    sources: int = 0
    """Blocks that merged ones stand for now."""
    merged: int = 0
    deleted: int = 0
    damaged: int = 0
    """Merges that were left because a block cannot be read."""


def compact_index(settings: Settings, screen: Screen, *, patience_s: float) -> dict[str, Any]:
    """Compact, and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    with failures_in_one_line(settings, "the compaction stopped"):
        if names_server(settings.milvus.uri):
            with open_positions(settings.kafka) as positions:
                check_inactive(settings.kafka.group, positions.state(settings.kafka.group))
        with opened_index(settings, screen, patience_s=patience_s) as (sink, busy_retry, _):
            before = busy_retry.call(sink.counts).blocks
            with screen.progress() as show:
                compactor = Compactor(sink, Surroundings())
                report = compact_partitions(sink, compactor, busy_retry, lambda now: show({"partitions": now.partitions}))
            after = busy_retry.call(sink.counts).blocks
    return {
        "blocks_before": before,
        "blocks_after": after,
        "partitions": report.partitions,
        "merged": report.merged,
        "sources": report.sources,
        "deleted": report.deleted,
        "damaged": report.damaged,
        "seconds": round(time.monotonic() - started_s, 3),
    }


def compact_partitions(sink: Sink, compactor: Compactor, busy_retry: BusyRetry, show: Callable[[CompactReport], None]) -> CompactReport:
    """Merge in each partition, then wait until inner blocks may go, and delete them. Raises SinkBusy and SinkBroken.

    Ends early when the user wants to stop: what is not deleted then is found again.
    """
    report = CompactReport()
    for place in sorted(_places(sink, busy_retry)):
        done = busy_retry.call(lambda place=place: compactor.compact(place))  # type: ignore[misc]
        report.partitions += 1
        report.sources += done.sources
        report.merged += done.merged
        report.damaged += done.damaged
        report.deleted += busy_retry.call(compactor.delete_due)
        show(report)
    while (due_s := compactor.deletions.next_due_s()) is not None:
        wait_s = due_s - busy_retry.clock()
        if wait_s > 0 and busy_retry.pause(wait_s):
            break
        report.deleted += busy_retry.call(compactor.delete_due)
    return report


def show_compacted(screen: Screen, result: Mapping[str, Any]) -> None:
    """Show what `compact_index` returned."""
    what = f"{counted(result['sources'], 'block')} merged into {result['merged']:,}, {counted(result['deleted'], 'inner block')} removed"
    screen.say(f"{what}: {result['blocks_before']:,} blocks before, {result['blocks_after']:,} now, in {result['seconds']:.1f} s.")


def _places(sink: Sink, busy_retry: BusyRetry) -> set[BlockPlace]:
    return {one.place for one in busy_retry.call(lambda: sink.find_blocks(BlockFilter(), strong=True)).heads.ids}

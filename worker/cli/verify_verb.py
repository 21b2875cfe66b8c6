"""`vectail verify`: reads the topics again and reports what the index lacks and what it should not hold.

The lines of a record are computed again from its bytes, which needs the model's tokenizer; the engine is loaded only to repair
templates. The committed offsets are read before the dead letters: every committed record has had its dead letter written by then.
`--json` prints what `verify_topics` returns.
"""

import math
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from consumers.groupless.groupless_reader import GrouplessReader, OffsetRange
from consumers.record import Partition, Record
from sinks.block import BlockPlace
from sinks.sink import Sink
from worker.cli.offsets_verb import open_positions
from worker.cli.opened_index import failures_in_one_line, opened_index
from worker.cli.screen import Figures, Screen
from worker.connections import letter_box_at_need
from worker.embedding.loaded import load_model
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.dead_letter_index import DeadLetterIndex
from worker.inspecting.dead_letter_writer import DeadLetterWriter
from worker.inspecting.entry_writer import EntryWriter, wall_ms
from worker.inspecting.expected import open_expected_lines
from worker.inspecting.repair import Repairer
from worker.inspecting.stored_dead_letters import DeadLetters
from worker.inspecting.verify import OffsetWindow, ReadBounds, Verifier, VerifyReport
from worker.inspecting.window_comparer import FINDING_KINDS, WindowComparer
from worker.inspecting.window_repair import WindowRepairer
from worker.reindex.second_view import SecondView, second_view
from worker.runtime.logs import configure_logs
from worker.settings.masks_version import topic_masks_version
from worker.settings.settings import Settings
from worker.watching.group_offsets import Target, existing_topics
from worker.watching.group_positions import KafkaPositions

_CONFIG_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """The options of `vectail verify`."""

    topics: tuple[str, ...] = ()
    """Empty: those of the settings."""
    begin: Target = Target("earliest")  # noqa: RUF009 - immutable
    end: Target | None = None
    repair: bool = False
    patience_s: float = 60.0
    look_again_s: float = ReadBounds().look_again_s
    """How long after a repair its windows are looked at again."""
    now_ms: int


class _Range(NamedTuple):
    offsets: OffsetWindow
    committed: int | None
    not_committed: int
    """Offsets that were asked for but that the group has not committed."""


class _Verified(NamedTuple):
    ranges: list[_Range]
    report: VerifyReport
    view: SecondView | None


def verify_topics(settings: Settings, options: VerifyOptions, screen: Screen) -> dict[str, Any]:
    """Verify, repair if asked to, and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    with failures_in_one_line(settings, "the repair stopped"), ExitStack() as opened:
        verified = _verify(settings, options, screen, opened)
    return _document(verified, seconds=time.monotonic() - started_s)


def _verify(settings: Settings, options: VerifyOptions, screen: Screen, opened: ExitStack) -> _Verified:
    sink, busy_retry, settings = opened.enter_context(opened_index(settings, screen, patience_s=options.patience_s))
    expected_lines = open_expected_lines(settings)
    opened.callback(expected_lines.close)
    kafka = settings.kafka
    reader = opened.enter_context(closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch)))

    with open_positions(kafka) as positions:
        topics = tuple(dict.fromkeys(options.topics)) or existing_topics(positions, settings.subscription)
        ranges = [one for topic in topics for one in _ranges(reader, positions, kafka.group, topic, options)]
    dead_letters = DeadLetterIndex({one.offsets.place.topic: one.offsets.place.epoch for one in ranges})
    for letter in DeadLetters(reader, kafka.dead_letter_topic, timeout_s=options.patience_s):
        dead_letters.add_letter(letter)
    compacted = {topic: cache(partial(reader.is_compacted, topic, _CONFIG_S)) for topic in topics}
    window_repairer = _window_repairer(settings, sink, dead_letters, busy_retry, opened) if options.repair else None
    offsets = sum(one.offsets.end_offset - one.offsets.first_offset for one in ranges)
    kept_since_ms = -math.inf if sink.retention_s is None else options.now_ms - sink.retention_s * 1000
    with screen.progress() as show:
        verifier = Verifier(
            sink=sink,
            expected_lines=expected_lines,
            busy_retry=busy_retry,
            window_repairer=window_repairer,
            bounds=ReadBounds(look_again_s=options.look_again_s),
            show=lambda report: show(_figures(report, offsets)),
        )
        for whole, _, _ in ranges:
            place = whole.place
            comparer = WindowComparer(
                place=place,
                dead_letters=dead_letters.excused_records(place.topic),
                now_ms=options.now_ms,
                kept_since_ms=kept_since_ms,
                has_drop_rules=bool(settings.drop),
                is_compacted=compacted[place.topic],
            )
            verifier.verify_range(comparer, whole, partial(_records, reader, options.patience_s))
        verifier.look_again()
    return _Verified(ranges, verifier.report, second_view(sink, busy_retry))


def _ranges(reader: GrouplessReader, positions: KafkaPositions, group: str, topic: str, options: VerifyOptions) -> list[_Range]:
    """Return the offsets to verify: up to what the group has committed; if it never has, up to the end that the user gave."""
    limit_s = options.patience_s
    partitions = reader.partitions([topic], limit_s)
    epoch = reader.epoch(topic, limit_s)
    committed = positions.committed(group, partitions)
    has_no_commits = all(offset is None for offset in committed.values())
    ranges: list[_Range] = []
    for partition, held in reader.offset_ranges(partitions, limit_s).items():

        def at(target: Target, partition: Partition = partition, held: OffsetRange = held) -> int:
            if target.kind == "time":
                offset = reader.offsets_at([partition], target.number, limit_s)[partition]
                return held.end_offset if offset is None else offset
            offset = {"earliest": held.first_offset, "latest": held.end_offset, "offset": target.number}[target.kind]
            return min(max(offset, held.first_offset), held.end_offset)

        first_offset = at(options.begin)
        wanted = max(at(options.end or Target("latest")), first_offset)
        done = committed[partition]
        if done is None:
            done = wanted if has_no_commits and options.end is not None else first_offset
        end_offset = max(min(wanted, done), first_offset)
        whole = OffsetWindow(BlockPlace(topic, epoch, partition.partition), first_offset, end_offset)
        ranges.append(_Range(whole, committed[partition], wanted - end_offset))
    return ranges


def _records(reader: GrouplessReader, patience_s: float, window: OffsetWindow) -> Iterable[Sequence[Record]]:
    (topic, epoch, partition), first_offset, end_offset = window
    return reader.read(Partition(topic, partition), first_offset, end_offset, epoch=epoch, timeout_s=patience_s)


def _window_repairer(
    settings: Settings, sink: Sink, dead_letters: DeadLetterIndex, busy_retry: BusyRetry, opened: ExitStack
) -> WindowRepairer:  # fmt: skip
    entry_writer = EntryWriter(sink=sink, busy_retry=busy_retry, wall_ms=wall_ms)
    repairer = Repairer(sink=sink, load=lambda: load_model(settings), entry_writer=entry_writer)
    opened.callback(repairer.close)
    box = opened.enter_context(letter_box_at_need(settings.kafka, say=busy_retry.say))
    writer = DeadLetterWriter(box, dead_letters, limit_s=busy_retry.limit_s)
    return WindowRepairer(
        sink=sink,
        busy_retry=busy_retry,
        repairer=repairer,
        masks_of=partial(topic_masks_version, settings),
        write_dead_letters=writer.write_dead_letters,
    )


def _figures(report: VerifyReport, offsets: int) -> Figures:
    return {"records": report.records, "of": offsets, "lines": report.counts.lines, "problems": report.problems.total()}


def _document(verified: _Verified, *, seconds: float) -> dict[str, Any]:
    ranges, report, view = verified
    reported = [one for kind in FINDING_KINDS for one in report.reported.get(kind, ())]
    counts = report.counts
    return {
        "complete": report.is_complete,
        "records": report.records,
        "lines": counts.lines,
        "sound_lines": counts.sound_lines,
        "copies": counts.copies,
        "dead_letter_pieces": counts.dead_lettered_pieces,
        "expired_lines": counts.expired_lines,
        "other_epoch_lines": counts.other_epoch_lines,
        "other_masks_lines": counts.other_masks_lines,
        "masks": dict(sorted(counts.by_masks.items())),
        "sampled_lines": counts.sampled_lines,
        "dropped_lines": counts.dropped_lines,
        "dropped_stored_lines": counts.dropped_stored_lines,
        "compacted_lines": counts.compacted_lines,
        "not_committed": sum(one.not_committed for one in ranges),
        "problems": {kind: report.problems[kind] for kind in FINDING_KINDS},
        "left": {kind: report.left[kind] for kind in FINDING_KINDS},
        "findings": [
            {
                "kind": one.finding.kind,
                "topic": one.place.topic,
                "partition": one.place.partition,
                "offset": one.finding.offset,
                "sub": one.finding.sub,
                "chunk": one.finding.chunk,
                "id": one.finding.id,
                "detail": one.finding.detail,
                "number": one.finding.number,
                "repaired": one.repaired,
            }
            for one in reported
        ],
        "findings_complete": sum(one.finding.number for one in reported) == report.problems.total(),
        "ranges": [
            {
                "topic": one.offsets.place.topic,
                "epoch": one.offsets.place.epoch,
                "partition": one.offsets.place.partition,
                "first_offset": one.offsets.first_offset,
                "end_offset": one.offsets.end_offset,
                "committed": one.committed,
                "not_committed": one.not_committed,
            }
            for one in ranges
        ],
        "second_view": None if view is None else asdict(view),
        "seconds": round(seconds, 3),
    }

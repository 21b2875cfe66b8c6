"""`vectail verify`: walks the topics again and says what the index lacks, or has too much.

What a record owes is made anew from its bytes, so the model's tokenizer is needed, and no engine but for a repair of templates. What the
group has committed is read before the dead letters are: a record that was committed had its dead letter by then. `--json` prints what
`verify_topics` returns.
"""

import math
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from consumers.groupless.reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.settings import SourceMisconfigured
from consumers.record import Partition
from producers.kafka import ProducerMisconfigured
from sinks.milvus.sink import MilvusSink
from sinks.sink import Sink, SinkBroken, SinkBusy, SinkMismatch, SinkRejected
from worker.audit.compare import KINDS, PartitionPlace, WindowComparison
from worker.audit.dead_letter_index import DeadLetterIndex, read_buried
from worker.audit.dead_letter_writer import DeadLetterUndelivered, DeadLetterWriter
from worker.audit.expected import open_expected_rows
from worker.audit.repair import BusyRetry, Repairer
from worker.audit.verify import OffsetWindow, Repairs, Verifier, VerifyReport
from worker.cli.exits import must_change, problem
from worker.cli.offsets import open_positions
from worker.cli.screen import Figures, Screen
from worker.connections import milvus_settings
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.groups.kafka import KafkaPositions
from worker.groups.offsets import Target
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings

_CONFIG_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """What the user asked for.

    Thread: main.
    """

    topics: tuple[str, ...] = ()
    """None: those of the settings."""
    begin: Target = Target("earliest")  # noqa: RUF009 - immutable
    end: Target | None = None
    repair: bool = False
    patience_s: float = 60.0
    now_ms: int


class _Range(NamedTuple):
    stretch: OffsetWindow
    committed: int | None
    not_committed: int
    """Records (or gaps between them) that were asked for, and that the group has not committed."""


def verify_topics(settings: Settings, options: VerifyOptions, screen: Screen) -> dict[str, Any]:
    """Verify, and repair if that was asked for; returns what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    started_s = time.monotonic()
    try:
        with ExitStack() as opened:
            ranges, account = _verify(settings, options, screen, opened)
    except (SinkMismatch, ModelError, SourceMisconfigured, ProducerMisconfigured, TopicUnknown) as error:
        raise must_change(error) from error
    except RangeUnreadable as error:
        raise problem(f"kafka at {settings.kafka.bootstrap_servers}: {error}") from error
    except (SinkBusy, SinkBroken) as error:
        raise problem(f"Milvus does not answer: {error}") from error
    except (SinkRejected, EngineFailed, DeadLetterUndelivered) as error:
        raise problem(f"the repair stopped: {error}") from error
    return _document(ranges, account, seconds=time.monotonic() - started_s)


def _verify(settings: Settings, options: VerifyOptions, screen: Screen, opened: ExitStack) -> tuple[list[_Range], VerifyReport]:
    patience = BusyRetry(limit_s=options.patience_s, say=screen.warn, pause=threading.Event().wait, clock=time.monotonic)
    sink = MilvusSink(milvus_settings(settings, space_of(model_of(settings), settings.model.dims)))
    opened.callback(sink.close)
    patience.call(lambda: sink.open(create=False))
    maker = open_expected_rows(settings)
    opened.callback(maker.close)
    kafka = settings.kafka
    reader = opened.enter_context(closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch)))

    topics = tuple(dict.fromkeys(options.topics)) or kafka.topics
    with open_positions(kafka) as positions:
        ranges = [one for topic in topics for one in _ranges(reader, positions, kafka.group, topic, options)]
    graveyard = DeadLetterIndex({one.stretch.place.topic: one.stretch.place.epoch for one in ranges})
    for buried in read_buried(reader, kafka.dead_letter_topic, timeout_s=options.patience_s):
        graveyard.add(buried)
    compacted = {topic: cache(partial(reader.is_compacted, topic, _CONFIG_S)) for topic in topics}
    repairs = _repairs(settings, sink, graveyard, patience, opened) if options.repair else None
    offsets = sum(one.stretch.end_offset - one.stretch.first_offset for one in ranges)
    kept_since_ms = -math.inf if sink.retention_s is None else options.now_ms - sink.retention_s * 1000
    with screen.progress() as show:
        verifier = Verifier(
            sink=sink,
            maker=maker,
            patience=patience,
            repairs=repairs,
            show=lambda account: show(_figures(account, offsets)),
        )
        for stretch, _, _ in ranges:
            place = stretch.place
            scales = WindowComparison(
                place=place, graves=graveyard.of(place.topic), kept_since_ms=kept_since_ms, is_compacted=compacted[place.topic]
            )  # fmt: skip
            partition = Partition(place.topic, place.partition)
            lists = reader.read(
                partition, stretch.first_offset, stretch.end_offset, epoch=place.epoch, timeout_s=options.patience_s
            )  # fmt: skip
            verifier.walk(scales, stretch, lists)
    return ranges, verifier.account


def _ranges(reader: GrouplessReader, positions: KafkaPositions, group: str, topic: str, options: VerifyOptions) -> list[_Range]:
    """Decide what is looked at: nothing beyond what the group has committed; if it never has, only up to where the user says."""
    limit_s = options.patience_s
    partitions = reader.partitions(topic, limit_s)
    epoch = reader.epoch(topic, limit_s)
    committed = positions.committed(group, partitions)
    is_strange = all(offset is None for offset in committed.values())
    ranges: list[_Range] = []
    for partition in partitions:
        bounds = reader.bounds(partition, limit_s)

        def at(target: Target, partition: Partition = partition, bounds: tuple[int, int] = bounds) -> int:
            if target.kind == "time":
                return reader.offset_at(partition, target.number, limit_s)
            offset = {"earliest": bounds[0], "latest": bounds[1], "offset": target.number}[target.kind]
            return min(max(offset, bounds[0]), bounds[1])

        first_offset = at(options.begin)
        wanted = max(at(options.end or Target("latest")), first_offset)
        done = committed[partition]
        if done is None:
            done = wanted if is_strange and options.end is not None else first_offset
        end_offset = max(min(wanted, done), first_offset)
        stretch = OffsetWindow(PartitionPlace(topic, epoch, partition.partition), first_offset, end_offset)
        ranges.append(_Range(stretch, committed[partition], wanted - end_offset))
    return ranges


def _repairs(settings: Settings, sink: Sink, graveyard: DeadLetterIndex, patience: BusyRetry, opened: ExitStack) -> Repairs:
    mender = Repairer(sink=sink, load=lambda: load_model(settings), patience=patience, rows_at_once=settings.milvus.batch_rows)
    opened.callback(mender.close)
    burial = DeadLetterWriter(settings.kafka, graveyard, patience)
    opened.callback(burial.close)
    return Repairs(mender=mender, write_dead_letters=burial.write_dead_letters)


def _figures(account: VerifyReport, offsets: int) -> Figures:
    return {"records": account.records, "of": offsets, "rows": account.rows, "problems": account.problems.total()}


def _document(ranges: Sequence[_Range], account: VerifyReport, *, seconds: float) -> dict[str, Any]:
    told = [one for kind in KINDS for one in account.told.get(kind, ())]
    return {
        "complete": account.is_complete,
        "records": account.records,
        "rows": account.rows,
        "sound_rows": account.sound_rows,
        "dead_letter_pieces": account.dead_lettered_pieces,
        "expired_rows": account.expired_pieces,
        "other_epoch_rows": account.other_epoch_rows,
        "other_masks_rows": account.other_masks_rows,
        "compacted_rows": account.compacted_rows,
        "not_committed": sum(one.not_committed for one in ranges),
        "problems": {kind: account.problems[kind] for kind in KINDS},
        "left": {kind: account.left[kind] for kind in KINDS},
        "findings": [
            {
                "kind": one.finding.kind,
                "topic": one.place.topic,
                "partition": one.place.partition,
                "offset": one.finding.offset,
                "sub": one.finding.sub,
                "chunk": one.finding.chunk,
                "id": one.finding.row,
                "detail": one.finding.detail,
                "number": one.finding.number,
                "repaired": one.repaired,
            }
            for one in told
        ],
        "findings_complete": sum(one.finding.number for one in told) == account.problems.total(),
        "ranges": [
            {
                "topic": one.stretch.place.topic,
                "epoch": one.stretch.place.epoch,
                "partition": one.stretch.place.partition,
                "first_offset": one.stretch.first_offset,
                "end_offset": one.stretch.end_offset,
                "committed": one.committed,
                "not_committed": one.not_committed,
            }
            for one in ranges
        ],
        "seconds": round(seconds, 3),
    }

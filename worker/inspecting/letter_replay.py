"""Wires what a replay of dead letters needs around a sink that is open: for `vectail dlq replay`, and for a running worker."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final

from consumers.groupless.groupless_reader import GrouplessReader
from sinks.sink import Sink
from worker.connections import letter_box_at_need
from worker.embedding.loaded import LoadedModel
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.entry_writer import EntryOrigin, EntryWriter, wall_ms
from worker.inspecting.expected import open_expected_lines
from worker.inspecting.kept_records import KeptRecords
from worker.inspecting.repair import Repairer
from worker.inspecting.replay import Replayed, Replayer
from worker.inspecting.replay_marks import ReplayMarker
from worker.inspecting.stored_records import read_stored_lines
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings

_FETCH_LITTLE: Final = {"queued.min.messages": "1000", "fetch.queue.backoff.ms": "20"}
"""For a reader of a few records here and there: what it fetches beyond them is dropped."""


def open_replayer(
    settings: Settings,
    sink: Sink,
    opened: ExitStack,
    *,
    load: Callable[[], LoadedModel],
    busy_retry: BusyRetry,
    show: Callable[[Replayed], None] = lambda _replayed: None,
) -> Replayer:
    """Return a replayer with the current settings, for one thread; `opened` closes what it holds, but not the sink.

    `load` is called when the first template must be embedded; the engine that it loads is closed too. Kafka may take `busy_retry.limit_s`
    for each answer and each mark. Raises ModelError, RegistryMisconfigured, SourceMisconfigured.
    """
    kafka = settings.kafka
    reader = GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch, tuning=_FETCH_LITTLE)
    opened.callback(reader.close)
    expected_lines = open_expected_lines(settings)
    opened.callback(expected_lines.close)
    repairer = Repairer(sink=sink, load=load, entry_writer=EntryWriter(sink=sink, busy_retry=busy_retry, wall_ms=wall_ms))
    opened.callback(repairer.close)
    box = opened.enter_context(letter_box_at_need(kafka, say=busy_retry.say))
    return Replayer(
        expected_lines=expected_lines,
        find_records=KeptRecords(reader, timeout_s=busy_retry.limit_s).find_records,
        stored_lines=partial(read_stored_lines, sink, busy_retry),
        repairer=repairer,
        origin=lambda: EntryOrigin(masks_version(settings.mask), sink.date_ms()),
        mark=ReplayMarker(box, limit_s=busy_retry.limit_s).mark_letters,
        show=show,
    )

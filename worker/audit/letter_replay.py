"""Wires what a replay of dead letters needs around a sink that is open: for `vectail dlq replay`, and for a running worker."""

from collections.abc import Callable
from contextlib import ExitStack

from sinks.sink import Sink
from worker.audit.busy_retry import BusyRetry
from worker.audit.dead_letter_producer import DeadLetterProducer
from worker.audit.entry_writer import EntryWriter, Origin, wall_ms
from worker.audit.expected import open_expected_lines
from worker.audit.repair import Repairer
from worker.audit.replay import Replayed, Replayer
from worker.audit.replay_marks import ReplayMarker
from worker.embedding.loaded import LoadedModel
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings


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
    for each mark. Raises ModelError, RegistryMisconfigured.
    """
    expected_lines = open_expected_lines(settings)
    opened.callback(expected_lines.close)
    repairer = Repairer(sink=sink, load=load, entry_writer=EntryWriter(sink=sink, busy_retry=busy_retry, wall_ms=wall_ms))
    opened.callback(repairer.close)
    producer = DeadLetterProducer(settings.kafka, say=busy_retry.say)
    opened.callback(producer.close)
    return Replayer(
        expected_lines=expected_lines,
        repairer=repairer,
        origin=lambda: Origin(masks_version(settings.mask), sink.date_ms()),
        mark=ReplayMarker(producer, limit_s=busy_retry.limit_s).mark_letters,
        show=show,
    )

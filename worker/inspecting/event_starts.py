"""Where stored events of several records begin inside which a consumer group would be moved.

`vectail offsets reset` and `run --from` ask, while no worker runs: a worker that began inside an event would go back to its first record
by itself. The index is opened to be read only.
"""

from collections.abc import Callable, Mapping

from consumers.record import Partition
from consumers.source import KafkaRefused
from sinks.block import BlockPlace
from sinks.reading.reader import BlockReader
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch
from worker.connections import open_sink
from worker.embedding.model.errors import ModelError
from worker.settings.settings import Settings


class IndexNotAsked(Exception):
    """The index does not exist yet, is away, or is in use; one line."""


def find_event_starts(settings: Settings, offsets: Mapping[Partition, int], epoch_of: Callable[[str], str]) -> dict[Partition, int]:
    """Return where the stored event begins that reaches across an offset, for each partition in which there is one.

    `epoch_of` returns a topic's present epoch. Raises IndexNotAsked, and what `epoch_of` raises for a Kafka that is away.
    """
    try:
        epochs = {topic: epoch_of(topic) for topic in {partition.topic for partition in offsets}}
        with open_sink(settings) as sink:
            reader = BlockReader(sink)
            starts = {
                partition: reader.event_start(BlockPlace(partition.topic, epochs[partition.topic], partition.partition), offset)
                for partition, offset in offsets.items()
            }
    except (SinkMismatch, SinkBusy, SinkBroken, ModelError, KafkaRefused) as error:
        raise IndexNotAsked(str(error)) from error
    return {partition: start for partition, start in starts.items() if start < offsets[partition]}

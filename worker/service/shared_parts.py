"""What the two halves of a pipeline, for logs and for queries, are both wired to."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from consumers.assignment import Claim
from consumers.rejection import RejectedPiece, Rejection
from sinks.reading.reader import BlockReader
from worker.connections import Connections
from worker.indexing.dead_letter_reasons import letter_of
from worker.runtime.surroundings import Surroundings
from worker.service.serving_space import ServingSpace
from worker.settings.settings import Settings
from worker.watching.index_reach import IndexReach


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterPost:
    """Sends dead letters and counts those that Kafka has acknowledged.

    Thread: any.
    """

    connections: Connections
    topic: str
    delivered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stage and kind (`worker.indexing.dead_letter_reasons`)."""

    def send(self, claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        """Send the dead letter of a record; its claim settles when Kafka has it."""
        tracing, record = self.connections.tracing, claim.record
        letter = letter_of(record, rejection, rejects)
        if tracing is not None:
            letter = letter._replace(trace=tracing.letter_headers(record, self.topic, rejection.kind))

        def delivered() -> None:
            self.delivered[rejection.stage, rejection.kind] += 1
            claim.dead_letter_delivered()

        self.connections.dead_letters.send(letter, delivered=delivered)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParts:
    """Each part says which thread owns it."""

    settings: Settings
    connections: Connections
    surroundings: Surroundings
    reader: BlockReader
    home: ServingSpace
    """Of the settings' model."""
    space: Callable[[], ServingSpace]
    """Returns that of the model that embeds now."""
    dead_letter: Callable[[Claim, Rejection, list[RejectedPiece]], None]
    reach: IndexReach

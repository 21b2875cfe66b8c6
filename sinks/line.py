"""One line as readers get it and as tests compare it; on the way into blocks, lines are columns (`sinks.block.Lines`)."""

from typing import NamedTuple

from sinks.row import TemplateId, TemplateText, line_id, template_id

PIECE_BYTES = 40_000
"""Most UTF-8 bytes of a piece's text and fields together."""
SERVICE_BYTES = 256
LEVEL_BYTES = 32
NO_LEADER_EPOCH = -1
"""Kafka's own number for a leader epoch that is not known."""


class Line(NamedTuple):
    """One line, or one chunk of a long line, with everything that is stored of it.

    Thread: any.
    """

    topic: str
    epoch: str
    partition: int
    offset: int
    sub: int
    """Which log entry of the Kafka record."""
    chunk: int
    chunks: int
    """This is chunk `chunk` of `chunks`; joined in order they are the line."""
    text: str | None
    """The raw text, never empty; None where only its template was kept (sampling), or where it was not read."""
    template_text: TemplateText
    time: int
    """When it was logged, milliseconds since 1970."""
    kafka_time: int
    """Kafka's timestamp of its record, milliseconds since 1970."""
    service: str = ""
    level: str = ""
    fields: str | None = None
    """The kept fields as a JSON object; None where there are none."""
    cut: int = 0
    """How the line was cut: 8 bytes of BLAKE2b over its chunks' texts, as an unsigned number; 0 where `chunks` is 1."""
    records: int = 1
    """How many offsets the line's entry spans, from `offset` on."""
    entries: int = 1
    """How many entries its record has, as its run wrote it; 0: not known."""
    leader_epoch: int = NO_LEADER_EPOCH
    """Kafka's leader epoch of the first of its entry's records; -1: not known."""
    last_leader_epoch: int = NO_LEADER_EPOCH
    """Of the last of its entry's records."""

    @property
    def id(self) -> str:
        """Where it came from: `topic@epoch/partition/offset/sub/chunk`."""
        return line_id(self.topic, self.epoch, self.partition, self.offset, self.sub, self.chunk)

    @property
    def template(self) -> TemplateId:
        """Id of its template."""
        return template_id(self.template_text)

"""The `[status]` table of the settings file: how often the worker looks at what it stands on, and how others see that it lives.

`worker.settings` reads it, `worker.status` acts on it. A default stands here and nowhere else.
"""

from pathlib import Path

from pydantic import Field

from worker.tables import Table


class StatusTable(Table):
    """What `/readyz` and the metrics rest on.

    Thread: any.
    """

    refresh_s: float = Field(default=5.0, ge=0.5, le=60)
    """How often Kafka, the index and Redis are asked whether they answer, and Kafka for the lag."""
    heartbeat_file: Path | None = None
    """A file that is touched every `refresh_s` while the worker is alive, for probes that can only run a command. Its folder must exist."""
    canary_s: float | None = Field(default=None, ge=5)
    """Every so many seconds a line is sent to the first of `kafka.topics` and searched for until it is found. It stays in the index."""

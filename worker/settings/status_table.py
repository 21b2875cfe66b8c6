"""The `[status]` table of the settings file: how often the worker looks at what it stands on, and how others see that it lives.

`worker.settings` reads it, `worker.observability` acts on it. A default stands here and nowhere else.
"""

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from worker.settings.tables import Table


class StatusTable(Table):
    """What `/readyz` and the metrics rest on.

    Thread: any.
    """

    refresh_s: float = Field(default=5.0, ge=0.5, le=60)
    """How often Kafka, the index and Redis are asked whether they answer, and Kafka for the lag."""
    heartbeat_file: Path | None = None
    """A file that is touched every `refresh_s` while the worker is alive, for probes that can only run a command. Its folder must exist."""
    canary_interval_s: float | None = Field(default=None, ge=5)
    """Every so many seconds a line is sent to the first of `kafka.topics` and searched for until it is found. It stays in the index."""


class HttpTable(Table):
    """Where programs and people ask without Kafka. There is no TLS: for others than this machine, put a proxy in front.

    Thread: any.
    """

    enabled: bool = True
    host: str = Field(default="127.0.0.1", min_length=1)
    """A name or an address of this machine; `0.0.0.0` or `::`: all of them. With those, set a token: hits are lines of your logs."""
    port: int = Field(default=8790, ge=0, le=65_535)
    """0: any free one; the log says which."""
    token: SecretStr = SecretStr("")
    """What callers send as `Authorization: Bearer …`; empty: whoever reaches the port may ask. Without it, on a loopback address, only
    requests that call us `localhost` or by an address are answered, so that no web page can make a browser ask in its name."""
    max_open_queries: int = Field(default=64, ge=1, le=1_000)
    """Queries over HTTP that may be open at once, besides `query.max_in_flight_records` of Kafka; the next are answered 429."""
    max_body_bytes: int = Field(default=64 * 1024, ge=1024, le=16 * 1024 * 1024)
    timeout_s: float = Field(default=60.0, gt=0, le=3_600)
    """No answer comes later, whatever a query's `deadline_ms` says. Longer than the 30 s after which a query without one is given up,
    so that its answer says why."""

    @field_validator("token")
    @classmethod
    def _fits_a_header(cls, token: SecretStr) -> SecretStr:
        if not all("!" <= character <= "~" for character in token.get_secret_value()):
            raise ValueError("only printable ASCII without spaces can be sent as a bearer token")
        return token

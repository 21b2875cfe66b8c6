"""The tables of the settings file that say how a worker serves: queries, HTTP, status, traces and limits.

`worker.settings.settings` reads them from file, environment and flags. Each setting's docstring is its entry in `docs/settings.md`.
"""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, StringConstraints, field_validator

from consumers.kafka.source_settings import TopicName
from consumers.registry_settings import BearerToken
from worker.settings.tables import Table

PeerAddress = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[0-9]{1,5}$")]
"""`HOST:PORT`."""


class QueryTable(Table):
    """Where replies may go, and how queries share the engine with log lines."""

    reply_topics: tuple[TopicName, ...] = ()
    """Topics that a query may name for its reply, besides `kafka.reply_topic`."""
    target_batch_s: float = Field(default=0.1, ge=0.001, le=60)
    """While queries arrive, the seconds that a batch of log lines may take, because the next query waits for it. Less costs throughput."""
    device: Literal["engine", "cpu", "either"] = "engine"
    """What embeds queries. `engine`: the one of new templates, ahead of them. `cpu`: an engine of their own on this machine's processor,
    the faster of llama.cpp and ONNX Runtime, for a worker whose `engine.name` is vLLM on a GPU, or `remote`. `either`: both; a query goes
    where it is done first, by what waits there and how fast that is, and so does each slice of a request to the embedding service."""


class HttpTable(Table):
    """The HTTP API and the status pages. There is no TLS: to serve other machines, put a proxy in front."""

    enabled: bool = True
    """Whether to listen at all."""
    host: str = Field(default="127.0.0.1", min_length=1)
    """Name or address to listen on; `0.0.0.0` or `::`: all of this machine's. An address that is not loopback needs a token, because hits
    are lines of your logs."""
    port: int = Field(default=8790, ge=0, le=65_535)
    """Port to listen on. 0: any free one, which the log names."""
    token: BearerToken = SecretStr("")
    """What callers send as `Authorization: Bearer …`, and people type into the page's sign-in. Empty: anyone who reaches the port may ask.
    Then, on a loopback address, a request must call the worker `localhost` or by an address, so that no web page can make a browser ask in
    its name."""
    allow_without_token: bool = False
    """Whether the worker may listen on an address that is not loopback without a token. Then anyone who reaches the port may search the
    logs, and so may a web page in the browser of such a person."""

    peers: tuple[PeerAddress, ...] = ()
    """Other workers, each as `HOST:PORT`, so that the page's *Lag* shows the state of all, and which do not answer. A DNS name stands for
    all addresses that it has, as one of a headless service does. They are asked for `/api/status`, with this `token`, in plain text."""

    @property
    def may_be_open(self) -> bool:
        """Whether other machines may reach the port: callers need a token, or need none on purpose."""
        return bool(self.token.get_secret_value()) or self.allow_without_token


class StatusTable(Table):
    """What readiness, liveness and the lag metrics rest on."""

    refresh_s: float = Field(default=5.0, ge=0.5, le=60)
    """Seconds between two checks that Kafka, the index and Redis answer, and between two readings of the lag."""
    heartbeat_file: Path | None = None
    """File to touch every `refresh_s` while the worker is alive, for probes that can only run a command. Its folder must exist. Not set:
    none."""
    canary_interval_s: float | None = Field(default=None, ge=5)
    """Seconds between two canaries: a line sent to a topic and searched for until it is found. It stays in the index. The topic is the
    first `[[topic]]` that has a name and takes plain lines (`format` `auto` or `text`, no `multiline`). Not set: no canaries."""


class TracingTable(Table):
    """Traces of OpenTelemetry: a span for each batch of records, linked to the traces that the records' headers (`traceparent`) carry.

    Dead letters and replies carry them on. Needs the extra `traces`.
    """

    enabled: bool = False
    """Whether spans are recorded at all. Off, it costs nothing."""
    endpoint: str = "http://127.0.0.1:4318/v1/traces"
    """OTLP over HTTP: where spans are sent. Those that it does not take in time are dropped."""
    authorization: SecretStr = SecretStr("")
    """Sent as the header `Authorization`. Empty: none."""
    share: float = Field(default=1.0, ge=0, le=1)
    """Of batches that become spans. A query follows its sender's decision, if it came with one."""

    @field_validator("endpoint")
    @classmethod
    def _check_url(cls, endpoint: str) -> str:
        if not (endpoint.startswith(("http://", "https://")) and urlsplit(endpoint).hostname):
            raise ValueError("the address begins with http:// or https:// and names a host")
        return endpoint


class LimitTable(Table):
    """How much may be in work at once, and when the worker stops."""

    max_in_flight_records: int = Field(default=100_000, ge=1)
    """Most log records that are admitted and not settled. Together with `max_in_flight_bytes` it bounds the worker's memory. With
    fewer than arrive in a second, blocks are closed before they are full."""
    max_in_flight_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Most bytes of these records as Kafka delivered them, and, counted apart, as they are decoded. The client that reads the lag may also
    hold two copies of a partition's oldest unread batch."""
    drain_timeout_s: float = Field(default=25.0, gt=0)
    """Seconds that a worker has to finish its records after SIGTERM. What remains is read again after the next start."""

"""The tables of the settings file: every setting with its type, its default and its bounds.

`worker.settings` reads them from file, environment and flags. A default stands here and nowhere else.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from consumers.kafka.settings import PROTECTED

if TYPE_CHECKING:
    from consumers.text.mask import Masker
    from consumers.text.redact import Redactor

_SETTING_OF = {
    "auto.offset.reset": "kafka.offset_reset",
    "bootstrap.servers": "kafka.bootstrap_servers",
    "group.id": "kafka.group",
    "group.protocol": "kafka.group_protocol",
    "max.poll.interval.ms": "kafka.max_poll_interval_s",
}
"""Client properties that are settings of their own."""
_PROMISED = PROTECTED | {"acks", "request.required.acks", "delivery.report.only.error", "transactional.id"} - _SETTING_OF.keys()
"""Client properties that the promise rests on: when something is committed, and that the broker reports every delivery."""


class Table(BaseModel):
    """One table of the file: frozen, and a key that it does not have is refused.

    Thread: any.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaTable(Table):
    """Where the records come from, and where replies and dead letters go."""

    bootstrap_servers: str = Field(default="127.0.0.1:9092", min_length=1)
    topics: tuple[str, ...] = ("logs",)
    group: str = "vectail"
    query_topic: str = "vectail.queries"
    query_group: str = "vectail-queries"
    reply_topic: str = "vectail.replies"
    dead_letter_topic: str = "vectail.dead-letters"
    topic_epoch: str | None = Field(default=None, pattern=r"^[0-9A-Za-z_-]{1,32}$")
    group_protocol: Literal["classic", "consumer"] = "classic"
    """How the group agrees on who reads what; `consumer` is KIP-848. To change it, end all members first, then start them again."""
    offset_reset: Literal["earliest", "latest"] = "earliest"
    """Where the log group begins in a partition for which it has committed nothing, new ones too."""
    on_expired_offset: Literal["stop", "earliest", "latest"] = "stop"
    """Where it goes on when what it committed is not there any more; `stop`: the user decides, with `vectail offsets reset`."""
    down_exit_s: float | None = Field(default=None, ge=1)
    """Exit with code 1 when no broker has answered for so long; not set: wait for ever."""
    max_poll_interval_s: float = Field(default=300.0, ge=6)
    commit_interval_s: float = Field(default=1.0, gt=0, le=10)
    prefetch_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    librdkafka: dict[str, str] = {}
    """Any client property, except those that would break the promise."""

    @field_validator("librdkafka")
    @classmethod
    def _keeps_the_promise(cls, properties: dict[str, str]) -> dict[str, str]:
        for name in properties:
            if name in _SETTING_OF:
                raise ValueError(f"{name} is the setting {_SETTING_OF[name]}")
            if name in _PROMISED:
                raise ValueError(f"{name} cannot be changed: the promise that nothing is lost rests on it")
        return properties

    @model_validator(mode="after")
    def _keeps_topics_apart(self) -> Self:
        """What the worker writes must not come back to it as lines, nor may one group read two kinds of topic."""
        if not self.topics:
            raise ValueError("kafka.topics names no topic")
        topics = [*self.topics, self.query_topic, self.reply_topic, self.dead_letter_topic]
        for topic in topics:
            if topics.count(topic) > 1:
                raise ValueError(f"{topic!r} stands twice among topics, query_topic, reply_topic and dead_letter_topic")
        if self.group == self.query_group:
            raise ValueError("group and query_group must differ")
        return self


class DecodeTable(Table):
    """How a record becomes log entries."""

    format: Literal["auto", "text", "json"] = "auto"
    errors: Literal["replace", "strict"] = "replace"
    max_chunks: int = Field(default=256, ge=1)
    max_record_bytes: int = Field(default=1_000_000, ge=1024)
    """A larger value is a dead letter before anything looks into it; `feed` and `demo` do not even produce one."""


class AddedMask(Table):
    """A mask of the user's own, applied before those that are built in."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    pattern: str = Field(min_length=1, max_length=4096)
    """RE2 syntax."""
    replacement: str = Field(default="", max_length=64)


class MaskTable(Table):
    """What is taken out of a line before it is embedded; the stored text stays as it is."""

    mode: Literal["template", "exact"] = "template"
    disabled: tuple[str, ...] = ()
    """Built-in masks that are not applied, by name."""
    add: tuple[AddedMask, ...] = ()

    @model_validator(mode="after")
    def _are_masks(self) -> Self:
        if self.disabled or self.add:
            new_masker(self)
        return self


class RedactTable(Table):
    """What nobody may read again: replaced before a line is embedded *and* before it is stored. Dead letters keep the original bytes."""

    rules: tuple[str, ...] = ()
    """Names of rules, or `all`; none are on by default."""

    @model_validator(mode="after")
    def _are_rules(self) -> Self:
        if self.rules:
            new_redactor(self)
        return self


class ModelTable(Table):
    """Which model, and where its prepared files are kept."""

    folder: Path | None = None
    """A Hugging Face folder; the packaged all-MiniLM-L6-v2 if not set."""
    cache: Path = Path("~/.cache/vectail/models")
    document_prefix: str | None = None
    query_prefix: str | None = None
    max_tokens: int | None = Field(default=None, ge=8)
    pooling: Literal["mean", "cls"] | None = None
    normalize: bool | None = None
    """These five are what the model's own files say, if not set."""
    dims: int | None = Field(default=None, ge=1)
    """Keep so many components of every vector, for models that were trained for it (Matryoshka); all of them if not set."""


class EngineTable(Table):
    """Who computes the vectors."""

    name: Literal["auto", "vllm", "llama"] = "auto"
    """`auto` is vLLM where it is installed, else llama.cpp."""
    threads: int | None = Field(default=None, ge=1)
    """As many as the process may keep busy, if not set: its cores, or what its control group's quota pays for."""
    batch_tokens: int | None = Field(default=None, ge=64)
    """What the engine measures best at, if not set."""
    number_format: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """vLLM's; `auto` is bfloat16 where the hardware computes in it, else float32."""
    memory_share: float = Field(default=0.8, gt=0, le=1)
    """vLLM's share of a GPU's memory; `run --workers N` divides it among N."""
    own_process: bool = False
    """Run vLLM's engine in a process of its own: slower to start and no faster here. There, whatever fails ends it: nothing is halved or
    bisected, the engine is only made anew; and it takes a Ctrl-C for itself."""
    watchdog_s: float = Field(default=180.0, ge=1)
    """A batch that takes longer ends the worker, with the stacks of all threads in the log."""


class CacheTable(Table):
    """Vectors kept in memory, and how many templates are remembered as known."""

    memory_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    max_known_templates: int = Field(default=500_000, ge=1)


def new_masker(table: MaskTable) -> "Masker":
    """Make the masks that the settings name. Raises BadMask, which is a ValueError."""
    from consumers.text.mask import Mask, Masker  # noqa: PLC0415 - verbs that mask nothing need not load Arrow

    return Masker(table.mode, disabled=table.disabled, added=[Mask(mask.name, mask.pattern, mask.replacement) for mask in table.add])


def new_redactor(table: RedactTable) -> "Redactor":
    """Make the redaction rules that the settings name, none of them if they name none. Raises BadRule, which is a ValueError."""
    from consumers.text.redact import Redactor  # noqa: PLC0415 - as in new_masker

    return Redactor(table.rules)


class RedisTable(Table):
    """The cache that workers share, Redis or Valkey; it may be lost at any time without anything but speed being lost."""

    url: str = ""
    """`redis://HOST:PORT/DB`, `rediss://…` with TLS, `unix://PATH`; empty: no Redis. With `sentinels` it only says whether TLS is used."""
    user: str = ""
    password: SecretStr = SecretStr("")
    cluster: bool = False
    sentinels: tuple[str, ...] = ()
    """`HOST:PORT` of each sentinel; they are asked for the master of `sentinel_master`."""
    sentinel_master: str = "mymaster"
    sentinel_user: str = ""
    sentinel_password: SecretStr = SecretStr("")
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    ttl_s: float = Field(default=30 * 86_400.0, ge=1, le=10 * 365 * 86_400)
    """A vector that nobody wrote again for so long is gone."""
    read_budget_s: float = Field(default=0.05, gt=0, le=5)
    """Prepare waits no longer for an answer; then all of it counts as missing."""
    queue_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Vectors that wait to be written; what comes beyond is dropped and counted."""


class QueryTable(Table):
    """Who may be answered, and how fast."""

    reply_topics: tuple[str, ...] = ()
    """Topics that a query may name for its reply, besides `kafka.reply_topic`."""
    max_in_flight_records: int = Field(default=1_000, ge=1)
    target_batch_s: float = Field(default=0.1, ge=0.001, le=60)
    """While queries arrive, a batch of log lines should not take longer: the next query waits for it. Shorter ones cost throughput."""


class LimitTable(Table):
    """How much may be in flight at once, and when to stop rather than go on."""

    max_in_flight_records: int = Field(default=20_000, ge=1)
    """Log records that are admitted and not done. With `max_in_flight_bytes` the only bound of the system's memory."""
    max_in_flight_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    """Bytes of these records, as they came and, counted apart, as they are decoded."""
    max_consecutive_undecodable: int = Field(default=1_000, ge=1)
    """Records that become dead letters before their texts are embedded, whatever the reason: undecodable, too large, too many chunks."""
    max_consecutive_rejected: int = Field(default=20, ge=1)
    """Texts that the engine rejects alone; and, each counted for itself, lines and templates that the index refuses alone."""
    drain_timeout_s: float = Field(default=25.0, gt=0)
    """How long SIGTERM may take."""

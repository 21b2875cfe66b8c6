"""The tables of the settings file that say what is indexed and how: Kafka, decoding, masks, redaction, model, engine, caches.

`worker.settings.settings` reads them from file, environment and flags; `worker.settings.service_tables` has the others. Defaults and
bounds stand here and nowhere else, and each setting's docstring is its entry in `docs/settings.md` (`make docs`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from consumers.kafka.source_settings import KafkaSourceSettings, TopicName
from consumers.registry_settings import BearerToken

if TYPE_CHECKING:
    from consumers.text.mask import Masker
    from consumers.text.redact import Redactor

InstalledModel = Literal["all-MiniLM-L6-v2-logs", "all-MiniLM-L6-v2"]
INSTALLED_NAMES: Final[tuple[InstalledModel, ...]] = get_args(InstalledModel)
_PRODUCER_PROTECTED = frozenset({"acks", "request.required.acks", "delivery.report.only.error", "transactional.id"})
"""Producer properties that a user may not set: the broker must report every delivery."""


class Table(BaseModel):
    """One table of the file: frozen, and an unknown key is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class KafkaTable(KafkaSourceSettings):
    """The log group's consumer, the query group, and the topics of replies and dead letters."""

    protected_properties: ClassVar[frozenset[str]] = KafkaSourceSettings.protected_properties | _PRODUCER_PROTECTED

    index: bool = True
    """Whether the worker reads the topics of `[[topic]]` and indexes their lines. `false`: it joins only `query_group`, answers questions,
    and changes nothing in the index, which another worker must have created: on a Milvus server, because a local folder belongs to one
    process."""
    query_topic: TopicName = "vectail.queries"
    """Topic with the queries."""
    query_group: str = "vectail-queries"
    """Consumer group that reads `query_topic`."""
    reply_topic: TopicName = "vectail.replies"
    """Topic for replies to queries."""
    dead_letter_topic: TopicName = "vectail.dead-letters"
    """Topic for records that cannot be indexed."""
    commit_interval_s: float = Field(default=1.0, gt=0, le=10)
    """Seconds between two commits of offsets."""

    @property
    def own_topics(self) -> tuple[str, ...]:
        """The topics of queries, replies and dead letters."""
        return (self.query_topic, self.reply_topic, self.dead_letter_topic)

    @model_validator(mode="after")
    def _check_topics_are_distinct(self) -> Self:
        """No group may read two kinds of topic."""
        for topic in self.own_topics:
            if self.own_topics.count(topic) > 1:
                raise ValueError(f"{topic!r} stands twice among query_topic, reply_topic and dead_letter_topic")
        if self.group == self.query_group:
            raise ValueError("group and query_group must differ")
        return self


class DecodeTable(Table):
    """How a record becomes log lines."""

    errors: Literal["replace", "strict"] = "replace"
    """Bytes that are not UTF-8: `replace` puts U+FFFD in their place, `strict` makes the record a dead letter."""
    max_chunks: int = Field(default=256, ge=1)
    """Most chunks in one record. A record with more becomes a dead letter."""
    max_record_bytes: int = Field(default=1_000_000, ge=1024)
    """Largest value, in bytes, that is decoded. A larger one becomes a dead letter; `feed` and `demo` do not produce one."""
    source_templates: bool = True
    """Where a record carries the template that its text was made of (Serilog, .NET, OpenTelemetry's `event_name`), that is the template of
    its line, after the masks. `mask.mode = "exact"` ignores it."""
    template_fields: tuple[str, ...] = ()
    """Names of more fields with such a template, before the usual ones. Name only those that a program fills from its source code, not
    those that a log processor computes (`log.record.template`): these may depend on the order of the lines."""


class AddedMask(Table):
    """A mask of the user's own, applied before the built-in ones and in the order of the file."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    """Name of the mask, for error messages."""
    pattern: str = Field(min_length=1, max_length=4096)
    """What to take out: a regular expression in RE2 syntax."""
    replacement: str = Field(default="", max_length=64)
    """Text to put in its place."""


class MaskTable(Table):
    """What is taken out of a line before it is embedded, so that lines of one template share a vector. The stored text keeps everything."""

    mode: Literal["template", "exact"] = "template"
    """`template` applies the masks; `exact` embeds each line as it is, which takes far more work."""
    disabled: tuple[str, ...] = ()
    """Names of built-in masks not to apply."""
    add: tuple[AddedMask, ...] = ()
    """Masks of your own, as `[[mask.add]]` tables."""

    @property
    def takes_values(self) -> bool:
        """Whether values of a record's own fields go from its text (the mask `field`)."""
        return self.mode == "template" and "field" not in self.disabled

    @model_validator(mode="after")
    def _check_masks(self) -> Self:
        if self.disabled or self.add:
            new_masker(self)
        return self


class RedactTable(Table):
    """Secrets and personal data, replaced before a line is embedded *and* before it is stored. Dead letters keep the original bytes."""

    rules: tuple[str, ...] = ()
    """Names of rules to apply. `all`: every rule except those for addresses. Empty: none."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if self.rules:
            new_redactor(self)
        return self


class ModelTable(Table):
    """The embedding model, and how it is used."""

    folder: Path | None = None
    """Folder of a BERT sentence model in Hugging Face's layout. Not set: `name`."""
    name: Literal["auto", InstalledModel] = "auto"
    """Which of the two installed models, where no `folder` is set. `auto`: the one that filled the index; for a new index
    all-MiniLM-L6-v2-logs, which was trained on questions about logs."""
    cache: Path = Path("~/.cache/vectail/models")
    """Folder for the prepared files of models."""
    document_prefix: str | None = None
    """Text put before each line. Not set: what the model's files say."""
    query_prefix: str | None = None
    """Text put before each query. Not set: what the model's files say."""
    max_tokens: int | None = Field(default=None, ge=8)
    """Longest text in tokens; longer lines are split into chunks. Not set: what the model's files say, which is also the most."""
    pooling: Literal["mean", "cls"] | None = None
    """How the vectors of tokens become one. Not set: what the model's files say."""
    dims: int | None = Field(default=None, ge=1)
    """Keep this many components of each vector; only for models trained for it (Matryoshka). Not set: all."""

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if self.folder is not None and self.name != "auto":
            raise ValueError("model.folder and model.name both name a model; remove one of them")
        return self


class EngineTable(Table):
    """The library that computes the vectors."""

    name: Literal["auto", "vllm", "llama", "onnx", "remote"] = "auto"
    """`auto`: vLLM where it is installed, else `llama` (llama.cpp) or `onnx` (ONNX Runtime), whichever is faster: both are measured for a
    second at the first start on a machine, and `model.cache` keeps the result. An index is not tied to an engine. `vectail demo` leaves
    vLLM out unless its files are large. `remote`: the service at `engine.url`."""
    url: str = ""
    """Of `vectail serve`, or of another server with OpenAI's API that takes token ids: `http://HOST:PORT`. Only with `remote`. The worker
    holds its texts while the service is away."""
    token: BearerToken = SecretStr("")
    """What `engine.url` wants as a bearer token: its `serve.token`. Empty: nothing."""
    threads: int | None = Field(default=None, ge=1)
    """Threads that compute. Not set: as many as the process has cores, or as its control group's quota allows."""
    batch_tokens: int | None = Field(default=None, ge=64)
    """Most tokens in one batch. Not set: what measured fastest for the engine."""
    number_format: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of vLLM. `auto`: bfloat16 where the hardware supports it, else float32. llama.cpp ignores it."""
    weights: Literal["float", "q8"] = "float"
    """How `onnx` stores the model's matrices. `q8`: in 8 bits, with a scale for every 16 numbers. Measured on AVX-512, one text alone took
    8 % less time and batches a third more; vectors have a cosine of 0.999 or more to those of `float`."""
    memory_share: float = Field(default=0.8, gt=0, le=1)
    """Share of a GPU's memory for vLLM; `run --workers N` divides it among the N workers."""
    watchdog_s: float = Field(default=180.0, ge=1)
    """Seconds after which a batch that has not finished ends the worker, with the stacks of all threads in the log."""

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        if self.name == "remote" and not (self.url.startswith(("http://", "https://")) and urlsplit(self.url).hostname):
            raise ValueError("engine.name is remote: set engine.url to http:// or https:// and a host")
        return self

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if self.weights != "float" and self.name != "onnx":
            raise ValueError(f"engine.weights = {self.weights!r} needs engine.name = 'onnx'")
        return self


class CacheTable(Table):
    """What a worker keeps in memory to avoid work."""

    memory_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """Bytes of vectors kept in memory. 0: none."""


class IndexTable(Table):
    """How lines are put together into the blocks that the index stores, how many threads write them, and how long they stay."""

    flush_s: float = Field(default=0.5, ge=0.01, le=5)
    """Most seconds that a line waits for others of its partition before its block is written: less while nothing else is on its way, more,
    but at most 5, while lines of more than 200 partitions wait. A topic with `topic.multiline` keeps its last record open, so its lines
    wait for the whole time. Small blocks are merged later."""
    writers: int = Field(default=1, ge=1, le=16)
    """Threads that write. Raise it when a remote server is the bottleneck; a local folder is written by one thread at a time."""
    retention_days: float | None = Field(default=None, ge=0, le=36_500)
    """Days after which lines are removed (up to a tenth later). 0: never. Not set: what a server's collections have now, in a local folder
    never. On a server templates go after three times that; in a local folder they stay, and a pause of the worker that is longer than a
    tenth, or than a day, does not count."""

    @property
    def retention_s(self) -> float | None:
        """`retention_days` in seconds."""
        return None if self.retention_days is None else self.retention_days * 86_400.0


class RedisTable(Table):
    """The cache that workers share: Redis or Valkey. Losing it costs speed only."""

    url: str = ""
    """`redis://HOST:PORT/DB`; a cluster is `redis+cluster://HOST:PORT` of any node, a master behind sentinels
    `redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DB`; each with TLS if it begins with `rediss`. Or `unix://PATH`. Empty: no Redis."""
    user: str = ""
    """User name. Empty: the one in `url`, if any; what `url` says of sentinels is for the sentinels."""
    password: SecretStr = SecretStr("")
    """Password. Empty: as with `user`."""
    sentinel_password: SecretStr = SecretStr("")
    """Password at the sentinels. Empty: the one in `url`, if any."""
    ca_file: Path | None = None
    """Certificates to trust (PEM), with TLS. Not set: the system's."""
    cert_file: Path | None = None
    """Client certificate (PEM), for a server that asks for one."""
    key_file: Path | None = None
    """Key of the client certificate (PEM)."""
    secret: SecretStr = SecretStr("")
    """Signs cached vectors: a worker takes only those that were written with the same secret. Empty: anyone who may write to Redis is
    trusted, and can choose which vectors are stored."""
    ttl_s: float = Field(default=30 * 86_400.0, ge=1, le=10 * 365 * 86_400)
    """Seconds after its last write when a vector expires."""
    read_budget_s: float = Field(default=0.05, gt=0, le=5)
    """Seconds to wait for an answer; vectors that have not arrived by then count as missing."""


def new_masker(table: MaskTable) -> "Masker":
    """Return the masks that the settings name. Raises BadMask, which is a ValueError."""
    from consumers.text.mask import Mask, Masker  # noqa: PLC0415 - commands that mask nothing need not load Arrow

    return Masker(table.mode, disabled=table.disabled, added=[Mask(mask.name, mask.pattern, mask.replacement) for mask in table.add])


def new_redactor(table: RedactTable) -> "Redactor":
    """Return the redaction rules that the settings name, possibly none. Raises BadRule, which is a ValueError."""
    from consumers.text.redact import Redactor  # noqa: PLC0415 - as in new_masker

    return Redactor(table.rules)

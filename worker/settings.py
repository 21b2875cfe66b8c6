"""Every setting, in one place: one TOML file, the environment over it, flags over both.

The only module that reads the environment. Names follow the file's tables: `[kafka] bootstrap_servers` is
`VECTAIL_KAFKA__BOOTSTRAP_SERVERS`. An unknown key is refused with the nearest name there is.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

PREFIX = "VECTAIL_"
_RESERVED = ("VECTAIL_TEST_", "VECTAIL_CONFIG")
"""Names of the tests and of the command line, not settings."""


class SettingsError(Exception):
    """The user must change a setting; the message is one line and names it."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class KafkaTable(_Table):
    """Where the records come from, and where replies and dead letters go."""

    bootstrap_servers: str = "127.0.0.1:9092"
    topics: tuple[str, ...] = ("logs",)
    group: str = "vectail"
    query_topic: str = "vectail.queries"
    query_group: str = "vectail-queries"
    reply_topic: str = "vectail.replies"
    dead_letter_topic: str = "vectail.dead-letters"
    topic_epoch: str | None = Field(default=None, pattern=r"^[0-9A-Za-z_-]{1,32}$")
    protocol: Literal["classic", "consumer"] = "classic"
    max_poll_interval_s: float = Field(default=300.0, ge=6)
    commit_interval_s: float = Field(default=1.0, gt=0)
    prefetch_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    librdkafka: dict[str, str] = {}
    """Any client property, except those that would break the promise."""


class CapTable(_Table):
    """How much may be open at once; the only bound of the system."""

    records: int = Field(default=20_000, ge=1)
    bytes: int = Field(default=64 * 1024 * 1024, ge=1024)


class DecodeTable(_Table):
    """How a record becomes log entries."""

    format: Literal["auto", "text", "json"] = "auto"
    errors: Literal["replace", "strict"] = "replace"
    max_chunks: int = Field(default=256, ge=1)
    max_record_bytes: int = Field(default=1_000_000, ge=1024)
    """Lines above this are never produced by `feed` and `demo`."""


class MaskTable(_Table):
    """What is taken out of a line before it is embedded."""

    mode: Literal["template", "exact"] = "template"


class ModelTable(_Table):
    """Which model, and where its prepared files are kept."""

    folder: Path | None = None
    """A Hugging Face folder; the packaged all-MiniLM-L6-v2 if not set."""
    cache: Path = Path("~/.cache/vectail/models")
    document_prefix: str | None = None
    query_prefix: str | None = None
    max_tokens: int | None = Field(default=None, ge=8)


class EngineTable(_Table):
    """Who computes the vectors."""

    name: Literal["auto", "llama"] = "auto"
    threads: int | None = Field(default=None, ge=1)
    """As many as there are cores, if not set."""
    batch_tokens: int | None = Field(default=None, ge=64)
    """What the engine measures best at, if not set."""


class CacheTable(_Table):
    """Vectors kept in memory, and how many templates are remembered as known."""

    memory_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    known_templates: int = Field(default=500_000, ge=1)


class MilvusTable(_Table):
    """Where the index is."""

    uri: str = "http://127.0.0.1:19530"
    """`http://HOST:PORT`, or a folder for Milvus Lite."""
    collection: str = "vectail"
    token: SecretStr = SecretStr("")
    user: str = ""
    password: SecretStr = SecretStr("")
    db: str = ""
    timeout_s: float = Field(default=10.0, gt=0)
    writers: int = Field(default=1, ge=1, le=16)
    batch_rows: int = Field(default=2_000, ge=1, le=16_000)


class QueryTable(_Table):
    """Who may be answered."""

    reply_topics: tuple[str, ...] = ()
    """Topics that a query may name for its reply, besides `kafka.reply_topic`."""
    cap_records: int = Field(default=1_000, ge=1)


class LimitTable(_Table):
    """When to stop rather than go on."""

    undecodable_in_a_row: int = Field(default=1_000, ge=1)
    rejected_in_a_row: int = Field(default=20, ge=1)
    drain_s: float = Field(default=25.0, gt=0)
    """How long SIGTERM may take."""


class Settings(BaseSettings):
    """All settings; frozen.

    Thread: any.
    """

    model_config = SettingsConfigDict(extra="forbid", frozen=True, env_prefix=PREFIX, env_nested_delimiter="__")

    kafka: KafkaTable = KafkaTable()
    cap: CapTable = CapTable()
    decode: DecodeTable = DecodeTable()
    mask: MaskTable = MaskTable()
    model: ModelTable = ModelTable()
    engine: EngineTable = EngineTable()
    cache: CacheTable = CacheTable()
    milvus: MilvusTable = MilvusTable()
    query: QueryTable = QueryTable()
    limits: LimitTable = LimitTable()
    fail_point: str = ""
    """For fault tests: `POINT:N` ends the process at the N-th passing of that point."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment stands over what the file (given to `__init__`) says."""
        return env_settings, init_settings


def load_settings(file: Path | None, flags: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Read file and environment; `flags` (table → key → value) stand over both. Raises SettingsError, one line."""
    document = _read_toml(file) if file is not None else {}
    _refuse_unknown(document, str(file))
    _refuse_unknown_environment()
    try:
        settings = Settings(**document)
        if not flags:
            return settings
        merged = settings.model_dump()
        for table, keys in flags.items():
            merged[table] |= keys
        return Settings.model_construct(**{name: _rebuild(settings, name, merged[name]) for name in merged})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise SettingsError(f"setting {'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from None


def redacted(settings: Settings) -> dict[str, Any]:
    """Return all settings as plain values, secrets as `**********`."""
    shown: dict[str, Any] = settings.model_dump(mode="json")
    secret_words = ("password", "secret", "token", "key", "sasl.jaas")
    librdkafka = shown["kafka"]["librdkafka"]
    for name in librdkafka:
        if any(word in name for word in secret_words):
            librdkafka[name] = "**********"
    return shown


def _rebuild(settings: Settings, name: str, value: Any) -> Any:  # noqa: ANN401 - a table or a plain value
    table = getattr(settings, name)
    return type(table)(**value) if isinstance(table, BaseModel) else value


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} is not valid TOML: {error}") from None


def _known_names() -> Iterator[tuple[str, ...]]:
    for table, field in Settings.model_fields.items():
        yield (table,)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for key in field.annotation.model_fields:
                yield (table, key)


def _refuse_unknown(document: Mapping[str, Any], where: str) -> None:
    known = set(_known_names())
    for table, content in document.items():
        if (table,) not in known:
            raise SettingsError(f"{where}: unknown table or setting {table!r}{_nearest(table, {name[0] for name in known})}")
        for key in content if isinstance(content, dict) else ():
            if (table, key) not in known:
                near = _nearest(key, {name[1] for name in known if len(name) > 1 and name[0] == table})
                raise SettingsError(f"{where}: unknown setting {table}.{key}{near}")


def _refuse_unknown_environment() -> None:
    known = {PREFIX + "__".join(name).upper() for name in _known_names()}
    for name in os.environ:
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper.startswith(_RESERVED) or upper in known:
            continue
        if not any(upper.startswith(f"{table}__LIBRDKAFKA__") for table in known):
            raise SettingsError(f"unknown environment variable {name}{_nearest(upper, known)}")


def _nearest(name: str, names: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(names))}"

"""Reads all settings: one TOML file, which the environment overrides, and flags, which override both.

The only module that reads the environment. Names follow the tables: `[kafka] bootstrap_servers` is `VECTAIL_KAFKA__BOOTSTRAP_SERVERS`.
A list of tables is one variable: `VECTAIL_TOPIC`. An unknown key is refused with the nearest existing name. A secret may be in a file of
its own, as Docker and Kubernetes provide them: `VECTAIL_HTTP__TOKEN_FILE` names that file.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Self, get_args, get_origin

from pydantic import BaseModel, SecretStr, ValidationError, model_validator
from pydantic.fields import FieldInfo

from consumers.kafka.subscription import Subscription
from consumers.registry_settings import RegistrySettings
from sinks.milvus.lite import names_server
from sinks.milvus.milvus_settings import MilvusSettings
from worker.runtime.fail_point import UnknownFailPoint, fail_point
from worker.settings.moved import GONE, MOVED, successor
from worker.settings.rule_tables import DropTable, SampleTable
from worker.settings.serve_tables import ServeTable
from worker.settings.service_tables import HttpTable, LimitTable, QueryTable, StatusTable, TracingTable
from worker.settings.tables import (
    CacheTable,
    DecodeTable,
    EngineTable,
    IndexTable,
    KafkaTable,
    MaskTable,
    ModelTable,
    RedactTable,
    RedisTable,
    Table,
)
from worker.settings.template_tables import TemplateTable
from worker.settings.topic_tables import TopicTable, subscription_of
from worker.settings.unknown_names import UnknownName, nearest, refuse_unknown, tables_in

PREFIX = "VECTAIL_"
FAIL_POINT_VARIABLE = "VECTAIL_TEST_FAIL_POINT"
"""For fault tests only, so it is not a setting: `POINT:N` or `POINT:N:SECONDS`, see `worker.runtime.fail_point`."""
_RESERVED = ("VECTAIL_TEST_", "VECTAIL_CONFIG")
"""Variables of the tests and of the command line, which are not settings."""
_LIBRDKAFKA = f"{PREFIX}KAFKA__LIBRDKAFKA__"
"""Followed by a client property with underscores in place of dots: `…__SASL_PASSWORD` is `sasl.password`."""
_FILE = "_FILE"
_IN_A_FILE = ("_PASSWORD", "_PASSPHRASE", "_SECRET", "_PEM", "_OAUTHBEARER_CONFIG")
"""Endings of client properties that may be in a file. Properties of the client that end in `.file` themselves are passed through."""


class SettingsError(Exception):
    """The user must change a setting; one line that names it."""


class Settings(Table):
    """All settings, by table."""

    kafka: KafkaTable = KafkaTable()
    topic: tuple[TopicTable, ...] = (TopicTable(name="logs"),)
    drop: tuple[DropTable, ...] = ()
    sample: tuple[SampleTable, ...] = ()
    template: tuple[TemplateTable, ...] = ()
    decode: DecodeTable = DecodeTable()
    mask: MaskTable = MaskTable()
    redact: RedactTable = RedactTable()
    model: ModelTable = ModelTable()
    engine: EngineTable = EngineTable()
    cache: CacheTable = CacheTable()
    redis: RedisTable = RedisTable()
    registry: RegistrySettings = RegistrySettings()
    milvus: MilvusSettings = MilvusSettings()
    index: IndexTable = IndexTable()
    query: QueryTable = QueryTable()
    http: HttpTable = HttpTable()
    serve: ServeTable = ServeTable()
    status: StatusTable = StatusTable()
    tracing: TracingTable = TracingTable()
    limits: LimitTable = LimitTable()

    @property
    def subscription(self) -> Subscription:
        """Which topics are read for log lines: never those that vectail itself writes or asks."""
        return subscription_of(self.topic, (*self.kafka.own_topics, *self.query.reply_topics))

    def topic_table(self, topic: str) -> TopicTable:
        """Return the first table about this topic; for a topic that the settings do not read, one with the defaults."""
        return next((table for table in self.topic if table.fits(topic)), TopicTable(name=topic))

    def masks_of(self, topic: str) -> MaskTable:
        """Return the masks that hold for a topic: its own, or those of all."""
        own = self.topic_table(topic).mask
        return self.mask if own is None else own

    def weight_of(self, topic: str) -> float:
        """Return the topic's share of the work, in proportion to the others'."""
        return self.topic_table(topic).weight

    def canary_topic(self) -> str | None:
        """Return the first named topic that takes a plain line as it is; None: there is none."""
        plain = (table.name for table in self.topic if table.format in ("auto", "text") and table.multiline is None)
        return next((name for name in plain if name is not None), None)

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        """A rule is known by its name."""
        for table, rules in (("drop", self.drop), ("sample", self.sample), ("template", self.template)):
            names = [rule.name for rule in rules]
            for name in names:
                if names.count(name) > 1:
                    raise ValueError(f"{table}: {name!r} stands twice")
        return self

    @model_validator(mode="after")
    def _check_topics(self) -> Self:
        """Records that the worker writes must not be read as log lines, and no topic has two tables."""
        if not self.topic:
            raise ValueError("topic: there is no [[topic]] table, so nothing to read")
        names = self.subscription.names
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"topic: {name!r} has two [[topic]] tables")
            if name in self.kafka.own_topics:
                raise ValueError(f"topic: {name!r} is also kafka.query_topic, kafka.reply_topic or kafka.dead_letter_topic")
        for reply_topic in self.query.reply_topics:
            if reply_topic in (*names, self.kafka.query_topic, self.kafka.dead_letter_topic):
                raise ValueError(
                    f"query.reply_topics: {reply_topic!r} is also a [[topic]], or kafka.query_topic or kafka.dead_letter_topic"
                )
        return self

    @model_validator(mode="after")
    def _check_registry(self) -> Self:
        if not self.registry.url:
            for table in self.topic:
                if table.format == "registry":
                    raise ValueError(f"registry.url is not set, but topic {table.name or table.pattern!r} has format registry")
        return self

    @model_validator(mode="after")
    def _check_serve(self) -> Self:
        if self.serve.enabled and not self.http.enabled:
            raise ValueError("serve.enabled: http.enabled is false, so nobody could ask for vectors")
        return self

    @model_validator(mode="after")
    def _check_index(self) -> Self:
        if not self.kafka.index and not names_server(self.milvus.uri):
            raise ValueError(
                f"kafka.index: false needs a Milvus server; the folder {self.milvus.uri} belongs to the one worker that fills it"
            )
        return self

    @model_validator(mode="after")
    def _check_canary(self) -> Self:
        if self.status.canary_interval_s is not None and self.canary_topic() is None:
            raise ValueError("status.canary_interval_s: no [[topic]] with a name takes plain lines (format auto or text, no multiline)")
        return self


def load_settings(file: Path | None, flags: Mapping[str, object] | None = None) -> Settings:
    """Read file and environment; `flags` (table → key → value, or → list of tables) override both. Raises SettingsError, one line.

    An empty variable counts as not set. A list in the environment is JSON, or its elements with commas between them; such elements of
    `VECTAIL_TOPIC` are names. A line end at the end of a secret's file is not part of the secret.
    """
    document = _read_toml(file) if file is not None else {}
    _refuse_unknown(document, f"{file}: ")
    merged = _merged(_merged(document, _read_environment(), levels=3), flags or {}, levels=2)
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        place = ".".join(str(part) for part in first["loc"])  # empty for a rule between two tables, whose reason names the setting
        raise SettingsError(f"setting {place}: {reason}" if place else f"setting {reason}") from None


def fail_point_of_tests() -> Callable[[str], None]:
    """Return the fail point that a fault test set in the environment, else a no-op. Raises SettingsError, one line."""
    try:
        return fail_point(os.environ.get(FAIL_POINT_VARIABLE, ""))
    except UnknownFailPoint as error:
        raise SettingsError(f"environment variable {FAIL_POINT_VARIABLE}: {error}") from None


def _merged(lower: Mapping[str, object], upper: Mapping[str, object], *, levels: int) -> dict[str, object]:
    """Merge nested tables, `upper` winning; below `levels` levels a value replaces the other as a whole."""
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        if levels > 1 and isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[name] = _merged(below, value, levels=levels - 1)
        else:
            merged[name] = value
    return merged


def _read_toml(file: Path) -> dict[str, object]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} is not valid TOML: {error}") from None


def _read_environment() -> dict[str, object]:
    """Return the settings of the environment in the shape of the file. Raises SettingsError for an unknown name."""
    document: dict[str, object] = {}
    for _variable, name, value in settings_of_environment():
        nested: dict[str, object] = {name[-1]: value}
        for part in reversed(name[:-1]):
            nested = {part: nested}
        document = _merged(document, nested, levels=3)
    return document


def settings_of_environment() -> Iterator[tuple[str, tuple[str, ...], object]]:
    """Yield each variable that is set, the tables and key of its setting, and the value. Raises SettingsError for an unknown name."""
    fields = dict(_fields())
    names = {variable_of(*name): name for name in fields}
    lists = {list_variable_of(name): name for name, _ in table_lists()}
    secrets = {variable for variable, name in names.items() if fields[name].annotation is SecretStr}
    for variable, upper, text in _with_secrets(secrets):
        if upper.startswith(_LIBRDKAFKA):
            name: tuple[str, ...] = ("kafka", "librdkafka", upper.removeprefix(_LIBRDKAFKA).replace("_", ".").lower())
            value: object = text
        elif upper in names:
            name = names[upper]
            value = _parsed(variable, text, fields[name])
            _refuse_unknown({name[0]: {name[1]: value}}, f"environment variable {variable}: ")
        elif upper in lists:
            name, value = (lists[upper],), _parsed_tables(variable, text)
            _refuse_unknown({lists[upper]: value}, f"environment variable {variable}: ")
        else:
            known = {*names, *lists, *(f"{secret}{_FILE}" for secret in secrets)}
            raise SettingsError(f"unknown environment variable {variable}{_moved(upper) or nearest(upper, known)}")
        yield variable, name, value


def _with_secrets(secrets: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield our variables in order of their names, with that of the setting and the text; a secret's file is read."""
    ours = {
        variable: text
        for variable, text in sorted(os.environ.items())
        if text and variable.upper().startswith(PREFIX) and not variable.upper().startswith(_RESERVED)
    }
    given = {variable.upper() for variable in ours}
    for variable, text in ours.items():
        secret = variable.upper().removesuffix(_FILE)
        if secret == variable.upper() or not (secret in secrets or (secret.startswith(_LIBRDKAFKA) and secret.endswith(_IN_A_FILE))):
            yield variable, variable.upper(), text
        elif secret in given:
            raise SettingsError(f"environment variables {secret} and {variable} are both set; remove one")
        else:
            yield variable, secret, _read_secret(variable, Path(text))


def _read_secret(variable: str, file: Path) -> str:
    """Read a secret from its file. An empty one is refused, because for some settings it would switch the protection off."""
    try:
        secret = file.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"environment variable {variable}: {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"environment variable {variable}: {file} is not UTF-8") from None
    secret = secret.removesuffix("\n").removesuffix("\r")
    if not secret:
        raise SettingsError(f"environment variable {variable}: {file} is empty")
    return secret


def _parsed(variable: str, text: str, field: FieldInfo) -> object:
    kind = get_origin(field.annotation)
    if kind is tuple and any(tables_in(field.annotation)):
        return _parsed_tables(variable, text)
    if kind is tuple and not text.startswith("["):
        return [element.strip() for element in text.split(",")]
    try:
        return json.loads(text) if kind in (tuple, dict) else text
    except json.JSONDecodeError as error:
        raise SettingsError(f"environment variable {variable} is not valid JSON: {error}") from None


def _parsed_tables(variable: str, text: str) -> object:
    """Return a list of tables: JSON, or names with commas between them, each of which becomes a table with nothing but a name."""
    if not text.startswith(("[", "{")):
        return [{"name": name.strip()} for name in text.split(",")]
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise SettingsError(f"environment variable {variable} is not valid JSON: {error}") from None


def tables() -> Iterator[tuple[str, type[BaseModel]]]:
    """Return every table with its name, in the order of the settings file."""
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield name, field.annotation


def table_lists() -> Iterator[tuple[str, type[BaseModel]]]:
    """Return every list of tables (`[[topic]]`) with its name, in the order of the settings file."""
    for name, field in Settings.model_fields.items():
        if get_origin(field.annotation) is tuple:
            yield name, get_args(field.annotation)[0]


def list_variable_of(name: str) -> str:
    """Return the name of the environment variable for a list of tables."""
    return f"{PREFIX}{name}".upper()


def variable_of(table: str, key: str) -> str:
    """Return the name of the environment variable for a setting."""
    return f"{PREFIX}{table}__{key}".upper()


def _fields() -> Iterator[tuple[tuple[str, str], FieldInfo]]:
    """Return every setting: its table and key, and its field."""
    for name, table in tables():
        for key, field in table.model_fields.items():
            yield (name, key), field


def _refuse_unknown(document: Mapping[str, object], where: str) -> None:
    try:
        refuse_unknown(document, Settings)
    except UnknownName as error:
        raise SettingsError(f"{where}{error}") from None


def _moved(variable: str) -> str:
    """Return what took the place of a variable of earlier versions; empty if it never was one."""
    return next((successor(name) for name in (*MOVED, *GONE) if variable_of(*name.split(".", 1)) == variable), "")

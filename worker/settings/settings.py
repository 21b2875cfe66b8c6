"""Every setting, in one place: one TOML file, the environment over it, flags over both.

The only module that reads the environment. Names follow the file's tables: `[kafka] bootstrap_servers` is
`VECTAIL_KAFKA__BOOTSTRAP_SERVERS`. An unknown key is refused with the nearest name there is. A secret may stand in a file of its own,
as Docker and Kubernetes hand them out: `VECTAIL_HTTP__TOKEN_FILE` names it.
"""

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_origin

from pydantic import BaseModel, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from worker.settings.milvus_table import MilvusTable
from worker.settings.secrets import HIDDEN, is_secret
from worker.settings.status_table import HttpTable, StatusTable
from worker.settings.tables import (
    CacheTable,
    DecodeTable,
    EngineTable,
    KafkaTable,
    LimitTable,
    MaskTable,
    ModelTable,
    QueryTable,
    RedactTable,
    RedisTable,
    Table,
)

PREFIX = "VECTAIL_"
_RESERVED = ("VECTAIL_TEST_", "VECTAIL_CONFIG")
"""Names of the tests and of the command line, not settings."""
_LIBRDKAFKA = f"{PREFIX}KAFKA__LIBRDKAFKA__"
"""What follows is a client property with underscores for its dots: `…__SASL_PASSWORD` is `sasl.password`."""
_FILE = "_FILE"
_IN_A_FILE = ("_PASSWORD", "_PASSPHRASE", "_SECRET", "_PEM", "_OAUTHBEARER_CONFIG")
"""How the client properties end that may stand in a file; the client's own ones that end in `.file` are left to it."""


class SettingsError(Exception):
    """The user must change a setting; the message is one line and names it."""


class Settings(Table):
    """All settings; frozen.

    Thread: any.
    """

    kafka: KafkaTable = KafkaTable()
    decode: DecodeTable = DecodeTable()
    mask: MaskTable = MaskTable()
    redact: RedactTable = RedactTable()
    model: ModelTable = ModelTable()
    engine: EngineTable = EngineTable()
    cache: CacheTable = CacheTable()
    redis: RedisTable = RedisTable()
    milvus: MilvusTable = MilvusTable()
    query: QueryTable = QueryTable()
    http: HttpTable = HttpTable()
    status: StatusTable = StatusTable()
    limits: LimitTable = LimitTable()
    fail_point: str = Field(default="", pattern=r"^([a-z_]+:[1-9][0-9]*(:[0-9]+)?)?$")
    """For fault tests: `POINT:N` ends the process at the N-th passing of that point, `POINT:N:SECONDS` also slows each down."""


def load_settings(file: Path | None, flags: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Read file and environment; `flags` (table → key → value) stand over both. Raises SettingsError, one line.

    An empty variable counts as not set. A list in the environment is JSON, or its elements with commas between them. Of a secret's
    file the line end at its end is not part of the secret.
    """
    document = _read_toml(file) if file is not None else {}
    _refuse_unknown(document, str(file))
    merged = _laid_over(_laid_over(document, _read_environment(), levels=3), flags or {}, levels=2)
    try:
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        reason = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"setting {'.'.join(str(part) for part in first['loc'])}: {reason}") from None


def redacted(settings: Settings) -> dict[str, Any]:
    """Return all settings as plain values, secrets as `**********`."""
    shown: dict[str, Any] = settings.model_dump(mode="json")
    librdkafka = shown["kafka"]["librdkafka"]
    for name in librdkafka:
        if is_secret(name):
            librdkafka[name] = HIDDEN
    for table, name in (("milvus", "uri"), ("redis", "url")):
        scheme, separator, place = shown[table][name].rpartition("://")
        shown[table][name] = f"{scheme}{separator}{_without_user(place) if separator else place}"
    return shown


def _without_user(place: str) -> str:
    user, at, host = place.rpartition("@")
    return f"{HIDDEN}{at}{host}" if user else place


def _laid_over(lower: Mapping[str, Any], upper: Mapping[str, Any], *, levels: int) -> dict[str, Any]:
    """Merge nested names, the upper's winning; below so many levels a whole value replaces another."""
    merged = dict(lower)
    for name, value in upper.items():
        below = merged.get(name)
        if levels > 1 and isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[name] = _laid_over(below, value, levels=levels - 1)
        else:
            merged[name] = value
    return merged


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"settings file {file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"settings file {file} is not valid TOML: {error}") from None


def _read_environment() -> dict[str, Any]:
    """Return what the environment sets, in the shape of the file. Raises SettingsError for a name that is no setting."""
    fields = dict(_fields())
    names = {PREFIX + "__".join(name).upper(): name for name in fields}
    secrets = {variable for variable, name in names.items() if fields[name].annotation is SecretStr}
    document: dict[str, Any] = {}
    for variable, text in _with_secrets(secrets):
        upper = variable.upper()
        if upper.startswith(_LIBRDKAFKA):
            name: tuple[str, ...] = ("kafka", "librdkafka", upper.removeprefix(_LIBRDKAFKA).replace("_", ".").lower())
            value: object = text
        elif upper in names:
            name = names[upper]
            value = _parsed(variable, text, fields[name])
        else:
            known = {*names, *(f"{secret}{_FILE}" for secret in secrets)}
            raise SettingsError(f"unknown environment variable {variable}{_nearest(upper, known)}")
        nested: dict[str, Any] = {name[-1]: value}
        for part in reversed(name[:-1]):
            nested = {part: nested}
        document = _laid_over(document, nested, levels=3)
    return document


def _with_secrets(secrets: set[str]) -> Iterator[tuple[str, str]]:
    """Return our variables in order of their names, and in place of one that names a secret's file the variable with the secret."""
    ours = {
        variable: text
        for variable, text in sorted(os.environ.items())
        if text and variable.upper().startswith(PREFIX) and not variable.upper().startswith(_RESERVED)
    }
    given = {variable.upper() for variable in ours}
    for variable, text in ours.items():
        secret = variable.upper().removesuffix(_FILE)
        if secret == variable.upper() or not (secret in secrets or (secret.startswith(_LIBRDKAFKA) and secret.endswith(_IN_A_FILE))):
            yield variable, text
        elif secret in given:
            raise SettingsError(f"environment variables {secret} and {variable} are both set; remove one")
        else:
            yield secret, _read_secret(variable, Path(text))


def _read_secret(variable: str, file: Path) -> str:
    """Read a secret from its file. An empty one is refused: for some settings that would mean that nobody need know it."""
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
    if kind is tuple and not text.startswith("["):
        return [element.strip() for element in text.split(",")]
    try:
        return json.loads(text) if kind in (tuple, dict) else text
    except json.JSONDecodeError as error:
        raise SettingsError(f"environment variable {variable} is not valid JSON: {error}") from None


def _fields() -> Iterator[tuple[tuple[str, ...], FieldInfo]]:
    """Return every setting's name with what it may be."""
    for table, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for key, inner in field.annotation.model_fields.items():
                yield (table, key), inner
        else:
            yield (table,), field


def _refuse_unknown(document: Mapping[str, Any], where: str) -> None:
    known = {name for name, _ in _fields()}
    tables = {name[0] for name in known}
    for table, content in document.items():
        if table not in tables:
            raise SettingsError(f"{where}: unknown table or setting {table!r}{_nearest(table, tables)}")
        keys = {name[1] for name in known if len(name) > 1 and name[0] == table}
        for key in content if isinstance(content, dict) else ():
            if key not in keys:
                raise SettingsError(f"{where}: unknown setting {table}.{key}{_nearest(key, keys)}")


def _nearest(name: str, names: set[str]) -> str:
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(names))}"

"""Finds the secrets in the settings, in every form in which a library could print them, and shows settings without them.

`worker.runtime.logs` replaces them in everything that goes to standard error: our log, the output of client libraries, tracebacks.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, unquote

from pydantic import BaseModel, SecretStr

from worker.runtime.logs import REDACTED

_SECRET_WORDS: Final = ("password", "secret", "token", "key", "sasl.jaas", "oauthbearer.config", "kinit.cmd")
_LEAST_CHARACTERS: Final = 4
"""A shorter word protects nothing, and replacing it would garble every line."""


def is_secret(name: str) -> bool:
    """Whether the value of a client property must not be shown."""
    return any(word in name.lower() for word in _SECRET_WORDS) and not name.lower().endswith((".location", ".file"))


def secrets_of(settings: BaseModel) -> frozenset[str]:
    """Return every secret, passwords in addresses (`scheme://user:password@host`) included, also as JSON and as URLs write it."""
    forms: set[str] = set()
    for secret in _found(settings):
        if len(secret) >= _LEAST_CHARACTERS:
            forms |= {
                secret,
                quote(secret, safe=""),
                unquote(secret),
                json.dumps(secret)[1:-1],
                json.dumps(secret, ensure_ascii=False)[1:-1],
            }
    return frozenset(form for form in forms if len(form) >= _LEAST_CHARACTERS)


def redacted(settings: BaseModel) -> dict[str, Any]:
    """Return all settings (`worker.settings.settings.Settings`) as plain values, secrets as `**********`."""
    shown = settings.model_dump(mode="json")
    librdkafka = shown["kafka"]["librdkafka"]
    for name in librdkafka:
        if is_secret(name):
            librdkafka[name] = REDACTED
    for table, name in (("milvus", "uri"), ("redis", "url"), ("registry", "url")):
        scheme, separator, place = shown[table][name].rpartition("://")
        shown[table][name] = f"{scheme}{separator}{_without_user(place) if separator else place}"
    return shown


def _without_user(place: str) -> str:
    user, at, host = place.rpartition("@")
    return f"{REDACTED}{at}{host}" if user else place


def _found(table: BaseModel) -> Iterator[str]:
    for name in type(table).model_fields:
        value = getattr(table, name)
        if isinstance(value, BaseModel):
            yield from _found(value)
        elif isinstance(value, tuple):
            for one in value:
                if isinstance(one, BaseModel):
                    yield from _found(one)
        elif isinstance(value, SecretStr):
            yield value.get_secret_value()
        elif isinstance(value, Mapping):
            yield from (str(one) for key, one in value.items() if is_secret(str(key)))
        elif isinstance(value, str) and "@" in value and "://" in value:
            user, _, password = value.partition("://")[2].rpartition("@")[0].partition(":")
            yield password or user

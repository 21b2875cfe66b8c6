"""The doctor's checks of the settings: valid ones that fight each other, or that are a risk. Pure."""

import ipaddress
from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from sinks.milvus.lite import names_server
from worker.audit.doctor import Check
from worker.audit.doctor_words import bytes_of, listed
from worker.settings.settings import Settings

_SHORT_TOKEN: Final = 16
_RISKY: Final = {
    "enable.ssl.certificate.verification": ("false", "whoever is between can be the broker"),
    "ssl.endpoint.identification.algorithm": ("none", "any certificate of the same authority can be the broker's"),
    "isolation.level": ("read_uncommitted", "records of transactions that were given up are indexed too"),
}
"""Client properties, with the value that is a risk, and which one."""

_check = partial(Check, "settings")


def look_at_settings(settings: Settings) -> Iterator[Check]:
    """Judge the settings; asks nobody."""
    yield judge_http(settings)
    yield judge_transport(settings)
    yield judge_client(settings)
    yield judge_work(settings)
    yield judge_limits(settings)


def judge_http(settings: Settings) -> Check:
    """Judge who may search the logs over HTTP."""
    http, token = settings.http, settings.http.token.get_secret_value()
    if not http.enabled:
        return _check("http", "ok", "http.enabled is false: nothing is served")
    if is_here(http.host):
        return _check("http", "ok", f"only this machine reaches {http.host}{', with a token' if token else ''}")
    if not token and not http.allow_without_token:
        found = f"http.host {http.host} reaches other machines, and there is no http.token: a worker refuses to start"
        return _check("http", "problem", found, "set http.token (VECTAIL_HTTP__TOKEN_FILE names a file with it)")
    if not token:
        found = f"whoever reaches {http.host} port {http.port} may search the logs (http.allow_without_token)"
        return _check("http", "warning", found, "set http.token, or put a proxy in front that asks for one")
    if len(token) < _SHORT_TOKEN:
        found = f"http.token has {len(token)} characters, which can be guessed"
        return _check("http", "warning", found, "take 32 random ones: `openssl rand -hex 16`")
    return _check("http", "ok", "a token is needed; there is no TLS: other machines should come through a proxy that has it")


def judge_transport(settings: Settings) -> Check:
    """Judge whether secrets and lines cross a network that anybody may read."""
    kafka, redis, milvus, registry = settings.kafka, settings.redis, settings.milvus, settings.registry
    protocol = kafka.librdkafka.get("security.protocol", "plaintext").lower()
    parts = []
    if protocol == "sasl_plaintext" and not all(is_here(host) for host in _hosts(kafka.bootstrap_servers)):
        parts.append("the password of Kafka (security.protocol sasl_plaintext)")
    url = urlsplit(redis.url or "redis:")
    has_password = bool(redis.password.get_secret_value() or url.password)
    if has_password and url.scheme == "redis" and not is_here(url.hostname or "localhost"):
        parts.append("the password of Redis (redis://)")
    if _is_sent_openly(milvus.uri, milvus.token, milvus.password):
        parts.append("the password of Milvus (http://)")
    if _is_sent_openly(registry.url, registry.token, registry.password):
        parts.append("the password of the Schema Registry (http://)")
    if parts:
        return _check("transport", "warning", f"sent unencrypted: {listed(parts)}", "use TLS: sasl_ssl, rediss://, https://")
    return _check("transport", "ok", "no password crosses a network unencrypted")


def judge_client(settings: Settings) -> Check:
    """Judge what `kafka.librdkafka` passes through."""
    properties = settings.kafka.librdkafka
    risks = [f"{name}={value}: {risk}" for name, (value, risk) in _RISKY.items() if properties.get(name, "").lower() == value]
    if "debug" in properties:
        risks.append("debug: the client writes a great deal, and may write secrets")
    if risks:
        return _check("client-properties", "warning", listed(risks), "leave these out of [kafka.librdkafka] unless you know why")
    return _check("client-properties", "ok", f"{len(properties)} in [kafka.librdkafka], none of them a risk")


def judge_work(settings: Settings) -> Check:
    """Judge whether every line is to be embedded, which takes a hundred times the work."""
    exact = [table.name or table.pattern for table in settings.topic if table.mask is not None and table.mask.mode == "exact"]
    if settings.mask.mode == "exact" or exact:
        found = f"mask.mode is exact{f' for {listed(exact)}' if exact else ''}: every line that differs at all is embedded"
        return _check("work", "warning", found, 'set mask.mode = "template" unless you measured that the engine keeps up')
    if len(settings.mask.disabled) > 3:  # noqa: PLR2004 - more is hardly meant for one kind of line
        found = f"{len(settings.mask.disabled)} built-in masks are off"
        return _check("work", "warning", found, "see with `vectail masks diff` how many more templates that makes")
    return _check("work", "ok", "lines are masked before they are embedded")


def judge_limits(settings: Settings) -> Check:
    """Judge limits that contradict each other, or the rest of the settings."""
    limits, decode = settings.limits, settings.decode
    if decode.max_record_bytes > limits.max_in_flight_bytes:
        found = f"decode.max_record_bytes ({bytes_of(decode.max_record_bytes)}) is more than limits.max_in_flight_bytes"
        return _check("limits", "warning", found, "raise limits.max_in_flight_bytes: one record of this size blocks the rest")
    if settings.http.timeout_s < 30:  # noqa: PLR2004 - the deadline of a query that names none
        found = f"http.timeout_s is {settings.http.timeout_s:g}: a slow query is cut off without a reason"
        return _check("limits", "warning", found, "set it above 30 s, after which a query expires by itself and says why")
    if settings.index.writers > 1 and not names_server(settings.milvus.uri):
        found = f"index.writers is {settings.index.writers}: a local folder is written by one thread at a time"
        return _check("limits", "warning", found, "leave it at 1, or use a Milvus server")
    return _check("limits", "ok", "no two of them contradict each other")


def is_here(host: str) -> bool:
    """Return whether a name or address is this machine's loopback."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def _hosts(bootstrap_servers: str) -> list[str]:
    addresses = [part.strip().rpartition("://")[2] for part in bootstrap_servers.split(",")]
    return [address.rpartition(":")[0] or address for address in addresses]


def _is_sent_openly(url: str, *secrets: SecretStr) -> bool:
    """Return whether one of these, or a password in the address itself, goes to another machine without TLS."""
    parts = urlsplit(url)
    is_open = parts.scheme == "http" and not is_here(parts.hostname or "")
    return is_open and bool(parts.password or any(one.get_secret_value() for one in secrets))

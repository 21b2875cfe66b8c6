"""The doctor's checks of the settings: valid ones that contradict each other, or that are a risk, and masks that could be added."""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from sinks.milvus.lite import names_server
from worker.asking.refusals import Refused
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.runtime.wording import bytes_of, listed
from worker.settings.settings import Settings

SHORT_TOKEN: Final = 16
_MOST_DISABLED: Final = 3
"""Masks that may be off because a kind of line needs it."""
_FEW_FAMILIES: Final = 10
_MANY_SHARE: Final = 0.1
"""From this share of families on, those that differ in one word cost more than they tell."""
Offered = Mapping[str, Any]
"""What `/api/suggestions` answers; empty without an answer."""
_RISKY: Final = {
    "enable.ssl.certificate.verification": ("false", "anyone in between can pose as the broker"),
    "ssl.endpoint.identification.algorithm": ("none", "any certificate of the same authority passes as the broker's"),
    "isolation.level": ("read_uncommitted", "records of aborted transactions are indexed too"),
}
"""Client properties, each with the value that is a risk, and why."""


def look_at_settings(settings: Settings) -> dict[str, Verdict]:
    """Judge the settings."""
    return judge_all(SETTINGS_CHECKS, settings)


def look_at_suggestions(offer: Callable[[], Offered]) -> dict[str, Verdict]:
    """Judge what a worker would add to the settings: `offer` asks it for suggested masks, and returns nothing without a worker."""
    try:
        return judge_all(SUGGESTION_CHECKS, offer())
    except Refused:
        return {}


def _suggestions(offered: Offered) -> Verdict | None:
    """Judge what `/api/suggestions` answers; None: nobody has answered, or there was no line that it could look at."""
    if not offered.get("lines"):
        return None
    families, lines = offered["families"], offered["lines"]
    found = f"{families:,} of {lines:,} families that were looked at differ in one word"
    change = f"`vectail templates --suggest {offered['topic'] or 'TOPIC'}`, or the Templates tab, prints masks that merge them"
    return first_of(
        (not families, ok(f"no two of {lines:,} families that were looked at differ in one word that a mask could take out")),
        (families >= max(_FEW_FAMILIES, _MANY_SHARE * lines), warning(found, change)),
        otherwise=f"{found}: {change}",
    )


def _http(settings: Settings) -> Verdict:
    """Judge who may search the logs over HTTP."""
    http, token = settings.http, settings.http.token.get_secret_value()
    refused = f"http.host {http.host} reaches other machines, and there is no http.token: a worker refuses to start"
    is_open = f"anyone who reaches {http.host} port {http.port} may search the logs (http.allow_without_token)"
    short = f"http.token has {len(token)} characters, which can be guessed"
    return first_of(
        (not http.enabled, ok("http.enabled is false: nothing is served")),
        (is_here(http.host), ok(f"only this machine reaches {http.host}{', with a token' if token else ''}")),
        (not token and not http.allow_without_token, problem(refused, "set http.token (VECTAIL_HTTP__TOKEN_FILE names a file with it)")),
        (not token, warning(is_open, "set http.token, or put a proxy in front that asks for one")),
        (len(token) < SHORT_TOKEN, warning(short, "use 32 random characters: `openssl rand -hex 16`")),
        otherwise="a token is needed; there is no TLS: other machines should come through a proxy that has it",
    )


def _transport(settings: Settings) -> Verdict:
    """Judge whether passwords cross a network unencrypted."""
    kafka, redis, milvus, registry = settings.kafka, settings.redis, settings.milvus, settings.registry
    has_login = kafka.librdkafka.get("security.protocol", "").lower() == "sasl_plaintext"
    url = urlsplit(redis.url or "redis:")
    has_password = bool(redis.password.get_secret_value() or url.password)
    sent = {
        "Kafka (security.protocol sasl_plaintext)": has_login and not all(map(is_here, _hosts(kafka.bootstrap_servers))),
        "Redis (redis://)": has_password and url.scheme.partition("+")[0] == "redis" and not is_here(url.hostname or "localhost"),
        "Milvus (http://)": _is_sent_openly(milvus.uri, milvus.token, milvus.password),
        "the Schema Registry (http://)": _is_sent_openly(registry.url, registry.token, registry.password),
    }
    openly = [f"the password of {name}" for name, is_open in sent.items() if is_open]
    found = f"sent unencrypted: {listed(openly)}"
    return first_of(
        (openly, warning(found, "use TLS: sasl_ssl, rediss://, https://")), otherwise="no password crosses a network unencrypted"
    )


def _client_properties(settings: Settings) -> Verdict:
    """Judge what `kafka.librdkafka` passes through."""
    properties = settings.kafka.librdkafka
    risks = [f"{name}={value}: {risk}" for name, (value, risk) in _RISKY.items() if properties.get(name, "").lower() == value]
    if "debug" in properties:
        risks.append("debug: the client logs a great deal, possibly secrets")
    found = f"{len(properties)} in [kafka.librdkafka], none of them a risk"
    return first_of((risks, warning(listed(risks), "leave these out of [kafka.librdkafka] unless you know why")), otherwise=found)


def _work(settings: Settings) -> Verdict:
    """Judge whether every line is to be embedded, which takes a hundred times the work."""
    exact = [table.name or table.pattern for table in settings.topic if table.mask is not None and table.mask.mode == "exact"]
    found = f"mask.mode is exact{f' for {listed(map(str, exact))}' if exact else ''}: every line that differs at all is embedded"
    change = 'set mask.mode = "template" unless you measured that the engine keeps up'
    disabled, see = len(settings.mask.disabled), "`vectail masks diff` shows how many more templates that makes"
    return first_of(
        (settings.mask.mode == "exact" or exact, warning(found, change)),
        (disabled > _MOST_DISABLED, warning(f"{disabled} built-in masks are off", see)),
        otherwise="lines are masked before they are embedded",
    )


def _limits(settings: Settings) -> Verdict:
    """Judge limits that contradict each other, or the rest of the settings."""
    limits, decode, writers = settings.limits, settings.decode, settings.index.writers
    large = f"decode.max_record_bytes ({bytes_of(decode.max_record_bytes)}) is more than limits.max_in_flight_bytes"
    one_thread = f"index.writers is {writers}: a local folder is written by one thread at a time"
    blocks = "raise limits.max_in_flight_bytes: one record of this size blocks the rest"
    return first_of(
        (decode.max_record_bytes > limits.max_in_flight_bytes, warning(large, blocks)),
        (writers > 1 and not names_server(settings.milvus.uri), warning(one_thread, "leave it at 1, or use a Milvus server")),
        otherwise="no two of them contradict each other",
    )


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


SETTINGS_CHECKS: Final = (
    Check("http", _http),
    Check("transport", _transport),
    Check("client-properties", _client_properties),
    Check("work", _work),
    Check("limits", _limits),
)
"""Their facts are the settings themselves."""
SUGGESTION_CHECKS: Final = (Check("suggestions", _suggestions),)
"""Their facts are what a worker suggests."""

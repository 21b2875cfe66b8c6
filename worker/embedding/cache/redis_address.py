"""Checks `[redis]` before anything runs: where the cache is and how to log in, or one line that names the setting to change.

A server that does not answer is not refused: a cache may be away. Nothing here imports redis-py, which a worker without Redis never loads.
"""

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, cast
from urllib.parse import unquote, urlsplit

from worker.settings.tables import RedisTable

Kind = Literal["unix", "server", "cluster", "sentinel"]
Options = dict[str, str | None]

_SENTINEL_PORT: Final = 26379
_HOST: Final = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]+\])(?::[0-9]{1,5})?"
_URL: Final = re.compile(
    r"(?:unix|(?P<scheme>rediss?)(?:\+(?P<kind>cluster|sentinel))?)://(?:(?P<user>[^:/?#@]*)(?::(?P<password>[^/?#@]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)?(?P<path>/[^?#]*)?"
)
_HOSTS_AND_PATH: Final[Mapping[Kind, str]] = {
    "unix": r"/.+",
    "server": r"[^/,]+(/[0-9]*)?",
    "cluster": r"[^/,]+/?",
    "sentinel": r"[^/]+/[^/@:]+(/[0-9]*)?",
}
_FORMS: Final = (
    "redis.url is not redis://HOST:PORT/DB, redis+cluster://HOST:PORT, redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DB (with TLS, rediss) "
    "or unix:///PATH; in its password / ? # @ are written %2F %3F %23 %40 (or set redis.password)"
)
"""No part of the address is shown: it may hold the password."""


class RedisMisconfigured(ValueError):
    """A setting that the user must change; the message is one line and names it."""


class RedisFailed(Exception):
    """A command failed; the message is one line."""

    def __init__(self, name: str, reason: str, *, is_refusal: bool) -> None:
        """`name` is that of the client library's exception; `is_refusal` says whether the server replied with an error."""
        self.name = name
        self.is_refusal = is_refusal
        super().__init__(f"{name}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """Where to connect, and how to log in there."""

    kind: Kind
    url: str
    """As redis-py takes it, without a login. With sentinels only its database counts."""
    hosts: tuple[tuple[str, int], ...]
    """The server, a node of the cluster, or the sentinels; none for a Unix socket."""
    master: str
    """The sentinels' name for it."""
    login: Options = field(repr=False)
    """At the servers, by redis-py's names."""
    sentinel_login: Options = field(repr=False)
    tls: Options
    """Files, by redis-py's names."""

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.url.startswith("rediss:")

    def __str__(self) -> str:
        """Return the address for log lines; never with a password."""
        hosts = ", ".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{self.master} of the sentinels {hosts}" if self.kind == "sentinel" else hosts or unquote(urlsplit(self.url).path)


def address_of(table: RedisTable) -> RedisAddress:
    """Check the settings. Raises RedisMisconfigured; does not connect or look up names."""
    found = _URL.fullmatch(table.url)
    if found is None:
        raise RedisMisconfigured(_FORMS)
    scheme, hosts, path = found["scheme"], found["hosts"] or "", found["path"] or ""
    kind = cast("Kind", found["kind"] or ("server" if scheme else "unix"))
    if not re.fullmatch(_HOSTS_AND_PATH[kind], hosts + path):
        raise RedisMisconfigured(_FORMS)
    in_url = _login(unquote(found["user"] or ""), unquote(found["password"] or ""))
    given = _login(table.user, table.password.get_secret_value())
    master, _, db = path.strip("/").partition("/") if kind == "sentinel" else ("", "", path.strip("/"))
    return RedisAddress(
        kind=kind,
        url=f"unix://{path}" if kind == "unix" else f"{scheme}://{hosts.partition(',')[0]}/{db}",
        hosts=tuple(_host_and_port(host, _SENTINEL_PORT if kind == "sentinel" else 6379) for host in hosts.split(",") if host),
        master=unquote(master),
        login=given if kind == "sentinel" else in_url | given,
        sentinel_login=in_url | _login("", table.sentinel_password.get_secret_value()),
        tls=_tls_files(table, has_tls=scheme == "rediss"),
    )


def _login(user: str, password: str) -> dict[str, str | None]:
    return {name: value for name, value in (("username", user), ("password", password)) if value}


def _host_and_port(host: str, default: int) -> tuple[str, int]:
    try:
        url = urlsplit(f"//{host}")
        port = url.port
    except ValueError:
        raise RedisMisconfigured(_FORMS) from None
    return url.hostname or "", default if port is None else port


def _tls_files(table: RedisTable, *, has_tls: bool) -> dict[str, str | None]:
    """Return the files that are set, after loading each: one that cannot be used would look like a server that is away."""
    ca, cert, key = (_path(file) for file in (table.ca_file, table.cert_file, table.key_file))
    if (ca or cert or key) and not has_tls:
        raise RedisMisconfigured("redis.ca_file, redis.cert_file and redis.key_file need a redis.url that begins with rediss")
    if key and not cert:
        raise RedisMisconfigured("redis.key_file is set without redis.cert_file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    name = "redis.ca_file"
    try:
        if ca:
            context.load_verify_locations(ca)
        name = "redis.cert_file and redis.key_file"
        if cert:
            # Without a password OpenSSL would prompt for the passphrase of a key on the terminal.
            context.load_cert_chain(cert, key, password="")
    except OSError as error:
        raise RedisMisconfigured(f"{name} cannot be used: {error}") from error
    return {"ssl_ca_certs": ca, "ssl_certfile": cert, "ssl_keyfile": key} if has_tls else {}


def _path(file: Path | None) -> str | None:
    return None if file is None else str(file.expanduser())

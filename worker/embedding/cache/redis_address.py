"""Checks the settings table `redis` and turns it into an address: where the cache is and how to log in.

Settings that cannot work are refused here, before anything runs, in one line that names the setting. A server that does not answer is
not refused: a cache may be away.
"""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from worker.settings.tables import RedisTable

_PORT = 6379
_SENTINEL_PORT = 26379
_ESCAPED = "in its password / ? # @ : are written %2F %3F %23 %40 %3A (or set redis.password)"


class RedisMisconfigured(ValueError):
    """A setting that the user must change; the message is one line and names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisAddress:
    """Where to connect and how: to `sentinels` if there are any, else to `unix_path` if set, else to `host`."""

    host: str
    port: int
    db: int
    unix_path: str | None
    cluster: bool
    sentinels: tuple[tuple[str, int], ...]
    service: str
    user: str | None
    password: str | None = field(repr=False)
    sentinel_user: str | None
    sentinel_password: str | None = field(repr=False)
    tls: bool
    ca_file: str | None
    cert_file: str | None
    key_file: str | None

    def __str__(self) -> str:
        """Return the address for log lines; never with a password."""
        if self.sentinels:
            return f"{self.service} of the sentinels {', '.join(f'{host}:{port}' for host, port in self.sentinels)}"
        return self.unix_path or f"{self.host}:{self.port}"


def address_of(table: RedisTable) -> RedisAddress:
    """Check the settings. Raises RedisMisconfigured; does not connect or look up names."""
    try:
        url = urlsplit(table.url or "redis:")
        port = url.port
    except ValueError:  # its message is never shown, nor any part of the address: it may hold the password
        raise RedisMisconfigured(f"redis.url is no address with a port that is a number; {_ESCAPED}") from None
    _check_url(url, table)
    _check_tls(table, tls=url.scheme == "rediss")
    unix = url.scheme == "unix"
    return RedisAddress(
        host=url.hostname or "localhost",
        port=_PORT if port is None else port,
        db=0 if unix else int(url.path.strip("/") or 0),
        unix_path=unquote(url.path) if unix else None,
        cluster=table.cluster,
        sentinels=tuple(_sentinel(address) for address in table.sentinels),
        service=table.sentinel_master,
        user=table.user or unquote(url.username or "") or None,
        password=table.password.get_secret_value() or unquote(url.password or "") or None,
        sentinel_user=table.sentinel_user or None,
        sentinel_password=table.sentinel_password.get_secret_value() or None,
        tls=url.scheme == "rediss",
        ca_file=_path(table.ca_file),
        cert_file=_path(table.cert_file),
        key_file=_path(table.key_file),
    )


def _check_url(url: SplitResult, table: RedisTable) -> None:
    db = url.path.strip("/")
    if not table.url and not table.sentinels:
        raise RedisMisconfigured("redis.url is empty, and redis.sentinels too")
    if url.scheme not in ("redis", "rediss", "unix"):
        raise RedisMisconfigured("redis.url must begin with redis://, rediss:// or unix://")
    if url.query or url.fragment:
        raise RedisMisconfigured(f"redis.url takes nothing after ? or #: options are settings of their own; {_ESCAPED}")
    if url.scheme == "unix":
        if not db or url.netloc.rpartition("@")[2]:
            raise RedisMisconfigured("redis.url must be unix:///PATH of a socket")
        if table.cluster or table.sentinels:
            raise RedisMisconfigured("redis.url: a unix socket leads to neither a cluster nor sentinels")
        return
    if not (db.isascii() and db.isdecimal()) and db:
        raise RedisMisconfigured(f"redis.url: what comes after the host must be the number of a database; {_ESCAPED}")
    if table.cluster and table.sentinels:
        raise RedisMisconfigured("redis.cluster and redis.sentinels cannot both be set: a cluster has no sentinels")
    if table.cluster and int(db or 0) != 0:
        raise RedisMisconfigured("redis.url: a cluster has no database but 0")


def _check_tls(table: RedisTable, *, tls: bool) -> None:
    files = {"redis.ca_file": table.ca_file, "redis.cert_file": table.cert_file, "redis.key_file": table.key_file}
    for name, file in files.items():
        if file is None:
            continue
        if not tls:
            raise RedisMisconfigured(f"{name} is set, but redis.url does not begin with rediss://")
        if not file.expanduser().is_file():
            raise RedisMisconfigured(f"{name}: there is no file {file}")
    if table.key_file is not None and table.cert_file is None:
        raise RedisMisconfigured("redis.key_file is set without redis.cert_file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if ca_file := _path(table.ca_file):
            context.load_verify_locations(ca_file)
    except OSError as error:
        raise RedisMisconfigured(f"redis.ca_file: {table.ca_file} holds no certificate that can be read ({error})") from error
    try:
        if cert_file := _path(table.cert_file):
            # Without a password OpenSSL would prompt for the passphrase of a key on the terminal.
            context.load_cert_chain(cert_file, _path(table.key_file), password="")
    except OSError as error:
        raise RedisMisconfigured(f"redis.cert_file and redis.key_file are no certificate with its key ({error})") from error


def _sentinel(address: str) -> tuple[str, int]:
    try:
        url = urlsplit(f"//{address}")
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if not host or "@" in address or "/" in address:
        raise RedisMisconfigured(f"redis.sentinels: {address[:80]!r} is not HOST:PORT")
    return host, _SENTINEL_PORT if port is None else port


def _path(file: Path | None) -> str | None:
    return None if file is None else str(file.expanduser())

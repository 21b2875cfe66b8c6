"""The templates of the synthetic services, their rare incidents, and the values that vary in them.

`producers.log_feed` draws each `{name}` in a text from VALUES, separately for every line.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final, NamedTuple


class LogTemplate(NamedTuple):
    """One template: the service that logs it, its layout (`json`, `plain` or `syslog`), its level and its text."""

    service: str
    layout: str
    level: str
    text: str
    fields: tuple[str, ...] = ()
    """Names of VALUES that a JSON line has as fields, with the same value as in its text where the text has one."""


_USERS: Final = ("amara", "bjorn", "chidi", "dolores", "emeka", "farah", "greta", "hiro", "ines", "jonas", "kavya", "liam", "nadia")
_NODES: Final = tuple(f"node-{number:02d}" for number in range(1, 15))
_PATHS: Final = ("/api/orders", "/api/cart", "/api/search", "/api/products", "/login", "/assets/app.js", "/api/profile", "/healthz")
_TABLES: Final = ("orders", "customers", "invoices", "sessions", "stock_levels", "shipments")
_QUEUES: Final = ("order.created", "invoice.issued", "stock.changed", "mail.outgoing", "audit.trail")
_JOBS: Final = ("nightly-report", "reindex-products", "expire-sessions", "rotate-keys", "sync-stock", "invoice-run")
_BUCKETS: Final = ("backups", "product-images", "invoices-pdf", "exports")
_PODS: Final = ("checkout", "catalog", "gateway", "search", "worker", "ledger")
_DOMAINS: Final = ("mail.example.org", "mx1.example.net", "post.example.com")
_DISKS: Final = ("/var/lib/postgres", "/var/log", "/data", "/")
_HOSTS: Final = ("shop.example.com", "api.example.com", "pay.example.com", "admin.example.com")


def _one_of(words: tuple[str, ...]) -> Callable[[Random], str]:
    return lambda rng: words[int(rng.random() * len(words))]


def _number(low: int, high: int) -> Callable[[Random], str]:
    return lambda rng: str(low + int(rng.random() * (high - low)))


def _hex(digits: int) -> Callable[[Random], str]:
    return lambda rng: f"{rng.getrandbits(4 * digits):0{digits}x}"


def _uuid(rng: Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _public_ip(rng: Random) -> str:
    return f"203.0.113.{1 + int(rng.random() * 250)}" if rng.random() < 0.5 else f"198.51.100.{1 + int(rng.random() * 250)}"  # noqa: PLR2004


VALUES: Final[Mapping[str, Callable[[Random], str]]] = {
    "user": _one_of(_USERS),
    "node": _one_of(_NODES),
    "path": _one_of(_PATHS),
    "table": _one_of(_TABLES),
    "queue": _one_of(_QUEUES),
    "job": _one_of(_JOBS),
    "bucket": _one_of(_BUCKETS),
    "app": _one_of(_PODS),
    "domain": _one_of(_DOMAINS),
    "disk": _one_of(_DISKS),
    "host": _one_of(_HOSTS),
    "ip": _public_ip,
    "inner_ip": lambda rng: f"10.{int(rng.random() * 8)}.{int(rng.random() * 256)}.{1 + int(rng.random() * 254)}",
    "port": _number(1024, 65535),
    "ms": lambda rng: str(1 + int(rng.expovariate(1 / 40))),
    "duration_ms": lambda rng: str(1 + int(rng.expovariate(1 / 40))),
    "attempts": _number(1, 6),
    "seconds": _number(1, 600),
    "count": _number(1, 5000),
    "small": _number(2, 12),
    "percent": _number(1, 80),
    "high_percent": _number(91, 100),
    "bytes": _number(200, 900_000),
    "mib": _number(64, 4096),
    "order": _number(100_000, 999_999),
    "cents": lambda rng: f"{int(rng.random() * 400)}.{int(rng.random() * 100):02d}",
    "card": _number(1000, 9999),
    "pid": _number(300, 32_000),
    "uuid": _uuid,
    "id": _hex(8),
    "digest": _hex(12),
}

LOG_TEMPLATES: Final = (
    LogTemplate("gateway", "plain", "INFO", "GET {path} 200 {bytes} bytes in {ms} ms client={ip} request={id}"),
    LogTemplate("gateway", "plain", "INFO", "POST {path} 201 {bytes} bytes in {ms} ms client={ip} request={id}"),
    LogTemplate("cache", "plain", "DEBUG", "hit key=session:{uuid} age={seconds}s"),
    LogTemplate("auth", "json", "info", "token refreshed for {user}", ("user", "ip")),
    LogTemplate("database", "plain", "LOG", "checkpoint complete: wrote {count} buffers ({percent}%) in {ms} ms"),
    LogTemplate("queue", "plain", "INFO", "delivered message {uuid} from {queue} to consumer {id} after {ms} ms"),
    LogTemplate("kubelet", "syslog", "INFO", 'Readiness probe succeeded for pod "{app}-{id}" in {ms} ms'),
    LogTemplate("cache", "plain", "DEBUG", "miss key=product:{order}, loading from database"),
    LogTemplate("firewall", "syslog", "INFO", "DROP IN=eth0 SRC={ip} DST={inner_ip} PROTO=TCP SPT={port} DPT=23"),
    LogTemplate("payments", "json", "info", "payment of {cents} EUR captured for order {order}", ("duration_ms", "uuid")),
    LogTemplate("objects", "plain", "INFO", "PUT {bucket}/{uuid} {bytes} bytes stored on {node} in {ms} ms"),
    LogTemplate("sshd", "syslog", "INFO", "session opened for {user} from {inner_ip}:{port} with a public key"),
    LogTemplate("scheduler", "json", "info", "run {id} of {job} started on {node}", ("node",)),
    LogTemplate("gateway", "plain", "WARN", "GET {path} 404 no such resource client={ip} request={id}"),
    LogTemplate("scheduler", "json", "info", "run {id} of {job} finished after {seconds} s", ("node",)),
    LogTemplate("auth", "json", "info", "{user} signed in with password and second factor", ("user", "ip")),
    LogTemplate("mailer", "json", "info", "message {uuid} accepted by {domain} for delivery", ("duration_ms",)),
    LogTemplate("database", "plain", "LOG", "automatic vacuum of table {table}: removed {count} dead rows, {count} remain"),
    LogTemplate("kubelet", "syslog", "INFO", 'Pulled image "registry.example.com/{app}:{digest}" in {seconds} s'),
    LogTemplate("objects", "plain", "INFO", "GET {bucket}/{uuid} {bytes} bytes sent to {inner_ip} in {ms} ms"),
    LogTemplate("queue", "plain", "INFO", "consumer {id} subscribed to {queue} from {inner_ip}:{port}"),
    LogTemplate("sshd", "syslog", "INFO", "session of {user} from {inner_ip}:{port} closed after {seconds} s"),
    LogTemplate("database", "plain", "LOG", "slow query on {table} took {count} ms, {count} rows scanned"),
    LogTemplate("firewall", "syslog", "INFO", "ACCEPT IN=eth1 SRC={inner_ip} DST={inner_ip} PROTO=UDP SPT={port} DPT=53"),
    LogTemplate("payments", "json", "info", "refund of {cents} EUR issued for order {order}", ("uuid",)),
    LogTemplate("search", "json", "info", "query answered with {count} products", ("duration_ms", "id")),
    LogTemplate("cache", "plain", "INFO", "evicted {count} keys, memory use now {mib} MiB"),
    LogTemplate("mailer", "json", "warn", "message {uuid} deferred by {domain}, next attempt in {seconds} s", ("attempts",)),
    LogTemplate("kubelet", "syslog", "WARN", 'Liveness probe failed for pod "{app}-{id}": no answer within {small} s'),
    LogTemplate("stock", "json", "info", "stock of product {order} corrected from {count} to {count}", ("user",)),
    LogTemplate("search", "json", "info", "index of {table} rebuilt, {count} documents in {seconds} s"),
    LogTemplate("auth", "json", "warn", "wrong password for {user}", ("user", "ip")),
    LogTemplate("gateway", "plain", "WARN", "upstream {app} answered slowly: {count} ms for {path} request={id}"),
    LogTemplate("stock", "json", "warn", "product {order} is below its reorder level, {small} left", ("order",)),
)
"""Most frequent first."""

INCIDENTS: Final = (
    LogTemplate("kubelet", "syslog", "WARN", "filesystem {disk} on {node} is {high_percent}% full, {mib} MiB left"),
    LogTemplate("auth", "json", "error", "account of {user} locked after {small} failed logins in a row", ("user", "ip")),
    LogTemplate("sshd", "syslog", "WARN", "login from {ip}:{port} refused: no account named {user}, attempt {small}"),
    LogTemplate("gateway", "plain", "WARN", "TLS certificate of {host} expires in {small} days, renewal has not happened"),
    LogTemplate(
        "payments", "json", "error", "card ending in {card} declined by the issuer for order {order}: insufficient funds", ("order",)
    ),
    LogTemplate(
        "database", "plain", "ERROR", "deadlock: transactions {pid} and {pid} wait for each other's lock on {table}; rolled one back"
    ),
    LogTemplate("database", "plain", "FATAL", "remaining connection slots are reserved, refused client {inner_ip}:{port}"),
    LogTemplate("kubelet", "syslog", "ERROR", 'Container {app} of pod "{app}-{id}" was killed: out of memory, limit {mib} MiB'),
    LogTemplate("queue", "plain", "ERROR", "{queue} is not being consumed: {count} messages waiting, oldest {seconds} s"),
    LogTemplate("mailer", "json", "error", "message {uuid} bounced: mailbox at {domain} does not exist", ("attempts",)),
    LogTemplate("objects", "plain", "ERROR", "checksum mismatch reading {bucket}/{uuid} from {node}, using the replica"),
    LogTemplate(
        "scheduler", "json", "error", "{job} missed its start time by {seconds} s because the previous run has not ended", ("node",)
    ),
    LogTemplate("firewall", "syslog", "WARN", "port scan suspected: {ip} tried {count} ports on {inner_ip} within {small} s"),
    LogTemplate(
        "payments",
        "plain",
        "ERROR",
        "settlement {uuid} failed\n"
        "java.net.SocketTimeoutException: no answer from acquirer after {count} ms\n"
        "\tat com.example.pay.AcquirerClient.call(AcquirerClient.java:{card})\n"
        "\tat com.example.pay.Settlement.run(Settlement.java:88)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:1583)",
    ),
    LogTemplate(
        "stock",
        "plain",
        "ERROR",
        "import of delivery note {order} failed\n"
        "Traceback (most recent call last):\n"
        '  File "/srv/stock/importer.py", line {small}, in read_note\n'
        '    quantity = int(row["quantity"])\n'
        "ValueError: invalid literal for int() with base 10: '{id}'",
    ),
)

"""The doctor's checks of Redis, the cache of vectors that workers share: losing it costs speed only, so most of what is wrong is a warning.

`look_at_redis` asks; everything else is pure and judges what `INFO` says.
"""

import ipaddress
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Final

from worker.audit.doctor import Check
from worker.audit.doctor_words import bytes_of, seconds_of
from worker.embedding.cache.redis_address import RedisAddress, RedisFailed, RedisMisconfigured, address_of
from worker.settings.tables import RedisTable

if TYPE_CHECKING:
    from worker.embedding.cache.redis_client import RedisClient

ANSWER_S: Final = 2.0
_PINGS: Final = 7
_OLDEST_VERSION: Final = (5, 0)
_FULL: Final = 0.95
_SECTIONS: Final = ("server", "memory", "stats", "persistence", "replication")

Info = Mapping[str, object]
"""What the server says of itself, by its own names."""

_check = partial(Check, "redis")


def look_at_redis(table: RedisTable) -> Iterator[Check]:
    """Ask the server and judge its answers; one line if there is none, or if it does not answer."""
    if not table.url:
        yield _check("redis", "ok", "none is configured: workers share no vectors, and a new index is filled from Kafka alone")
        return
    try:
        address = address_of(table)
    except RedisMisconfigured as error:
        yield _check("redis", "problem", str(error), "correct this setting")
        return
    from worker.embedding.cache.redis_client import RedisClient  # noqa: PLC0415 - as in RedisCache

    client = RedisClient(address, timeout_s=ANSWER_S)
    try:
        client.connect()
        times_s = [_timed_get(client) for _ in range(_PINGS)]
        info = {name: value for section in _SECTIONS for name, value in client.info(section).items()}
    except RedisFailed as error:
        change = "see whether it runs and whether the [redis] settings are right; meanwhile workers compute vectors again"
        yield _check("redis", "problem", f"{address} does not answer: {error}", change)
        return
    finally:
        client.close()
    yield from judge_redis(table, address, info, times_s)


def judge_redis(table: RedisTable, address: RedisAddress, info: Info, times_s: Sequence[float]) -> Iterator[Check]:
    """Judge a server that answers; `times_s` are those of some reads."""
    yield _check("redis", "ok", f"{address} answers")
    yield judge_latency(median(times_s), table.read_budget_s)
    yield judge_signature(address, is_signed=bool(table.secret.get_secret_value()))
    if not info:
        yield _check("version", "ok", "INFO is not permitted; skipping further checks")
        return
    yield judge_version(info)
    yield judge_eviction(info)
    yield judge_memory(info)
    yield judge_writes(info)
    yield judge_persistence(info)


def judge_version(info: Info) -> Check:
    """Judge which server it is."""
    name = "Valkey" if info.get("server_name") == "valkey" else "Redis"
    version = str(info.get("valkey_version") or info.get("redis_version") or "")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers and numbers < _OLDEST_VERSION:
        return _check("version", "warning", f"{name} {version}", "update it: nothing before 5.0 was tried")
    return _check("version", "ok", f"{name} {version or 'of an unknown version'}")


def judge_eviction(info: Info) -> Check:
    """Judge what happens when it is full: right for a cache is that the least used goes."""
    limit, policy = _number(info, "maxmemory"), str(info.get("maxmemory_policy") or "unknown")
    if not limit:
        found = f"there is no maxmemory (maxmemory-policy {policy}): it may grow until the machine is full"
        return _check("eviction", "warning", found, "set maxmemory, and maxmemory-policy allkeys-lfu")
    found = f"maxmemory {bytes_of(limit)}, maxmemory-policy {policy}"
    if policy == "noeviction":
        return _check("eviction", "warning", f"{found}: once it is full it takes no vectors", "set maxmemory-policy allkeys-lfu")
    if policy.startswith("volatile-"):
        return _check("eviction", "ok", f"{found}: ours all expire, so they make room; keys of others that never expire do not")
    if policy == "allkeys-random":
        return _check("eviction", "warning", f"{found}: it evicts hot keys as readily as cold ones", "set allkeys-lfu")
    return _check("eviction", "ok", found)


def judge_memory(info: Info) -> Check:
    """Judge what is used, and what had to go for it."""
    used, limit, evicted = _number(info, "used_memory"), _number(info, "maxmemory"), _number(info, "evicted_keys")
    found = f"{bytes_of(used)} used{f' of {bytes_of(limit)}' if limit else ''}; {evicted:,} keys made room for others"
    if limit and used > _FULL * limit and str(info.get("maxmemory_policy")) == "noeviction":
        return _check("memory", "problem", found, "raise maxmemory, or set maxmemory-policy allkeys-lfu: it refuses new vectors now")
    machine = _number(info, "total_system_memory")
    if limit and machine and limit > machine:
        return _check("memory", "warning", f"{found}; its machine has {bytes_of(machine)}", "lower maxmemory below what the machine has")
    return _check("memory", "ok", found)


def judge_latency(seconds: float, budget_s: float) -> Check:
    """Judge a read's median time against the budget that workers have for one."""
    found = f"a read takes {seconds_of(seconds)}; redis.read_budget_s is {seconds_of(budget_s)}"
    if seconds > budget_s:
        change = "bring it nearer, or raise redis.read_budget_s: answers come too late to be used"
        return _check("latency", "problem", found, change)
    if seconds > budget_s / 2:
        return _check("latency", "warning", found, "reduce the latency or raise redis.read_budget_s; some reads time out")
    return _check("latency", "ok", found)


def judge_writes(info: Info) -> Check:
    """Judge whether it takes writes at all."""
    if str(info.get("role") or "master") != "master":
        found = f"this is a replica of {info.get('master_host')}:{info.get('master_port')}, which takes no writes"
        return _check("writes", "problem", found, "set redis.url to the master, or to its sentinels (redis+sentinel://)")
    if str(info.get("rdb_last_bgsave_status") or "ok") != "ok":
        found = "its last snapshot failed; unless stop-writes-on-bgsave-error is no, it takes no writes until one succeeds"
        return _check("writes", "problem", found, "make room on its disk, or switch snapshots off (save ''): this is a cache")
    return _check("writes", "ok", "it takes writes")


def judge_persistence(info: Info) -> Check:
    """Judge whether it keeps vectors over a restart, which is neither needed nor harmful."""
    if _number(info, "aof_enabled"):
        found = "it writes an append-only file: vectors survive a restart, and each write costs a write to disk"
        return _check("persistence", "ok", found)
    if _number(info, "loading"):
        return _check("persistence", "warning", "it is still loading its snapshot", "wait: until then it answers nothing")
    return _check("persistence", "ok", "no append-only file; what a restart loses is computed again")


def judge_signature(address: RedisAddress, *, is_signed: bool) -> Check:
    """Judge whether somebody else who may write there can choose our vectors."""
    if is_signed:
        return _check("signature", "ok", "vectors are signed with redis.secret: nobody else can choose them")
    if address.kind != "sentinel" and all(_is_loopback(host) for host, _ in address.hosts):
        return _check("signature", "ok", "redis.secret is not set; the server is on this machine")
    found = "redis.secret is not set: whoever may write to this Redis can choose which vectors are stored"
    return _check("signature", "warning", found, "set redis.secret to the same value for every worker")


def _timed_get(client: "RedisClient") -> float:
    started_s = time.monotonic()
    for _ in client.get([b"vectail:doctor"]):
        pass
    return time.monotonic() - started_s


def _number(info: Info, name: str) -> int:
    value = info.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

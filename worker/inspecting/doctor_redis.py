"""The doctor's checks of Redis, the cache that workers share: losing it costs speed only, so most of what is wrong is a warning."""

import time
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from worker.embedding.cache.redis_address import RedisAddress, RedisFailed, RedisMisconfigured, address_of
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.inspecting.doctor_settings import is_here
from worker.runtime.wording import bytes_of, seconds_of
from worker.settings.tables import RedisTable

if TYPE_CHECKING:
    from worker.embedding.cache.redis_client import RedisClient

ANSWER_S: Final = 2.0
_PINGS: Final = 7
_OLDEST_VERSION: Final = (5, 0)
_FULL: Final = 0.95
_SECTIONS: Final = ("server", "memory", "stats", "persistence", "replication")


class RedisFacts(NamedTuple):
    """What is known of a server that answers."""

    table: RedisTable
    address: RedisAddress
    read_s: float
    """Median time of some reads."""
    info: Mapping[str, object]
    """What the server says of itself, by its own names; empty if it does not allow INFO."""

    def number(self, name: str) -> int:
        """Return a number that the server says of itself; 0 without one."""
        value = self.info.get(name)
        return int(value) if isinstance(value, int | float) else 0

    def word(self, name: str, default: str = "") -> str:
        """Return a word that the server says of itself."""
        return str(self.info.get(name) or default)


def look_at_redis(table: RedisTable) -> dict[str, Verdict]:
    """Ask the server and judge its answers; one verdict if there is none, or if it does not answer."""
    if not table.url:
        return {"redis": ok("none is configured: workers share no vectors, and a new index is filled from Kafka alone")}
    try:
        address = address_of(table)
    except RedisMisconfigured as error:
        return {"redis": problem(str(error), "correct this setting")}
    from worker.embedding.cache.redis_client import RedisClient  # noqa: PLC0415 - as in RedisCache

    client = RedisClient(address, timeout_s=ANSWER_S)
    try:
        client.connect()
        read_s = median(_timed_get(client) for _ in range(_PINGS))
        info = {name: value for section in _SECTIONS for name, value in client.info(section).items()}
    except RedisFailed as error:
        change = "check that it runs and that the [redis] settings are right; meanwhile workers compute vectors again"
        return {"redis": problem(f"{address} does not answer: {error}", change)}
    finally:
        client.close()
    return judge_all(REDIS_CHECKS if info else _WITHOUT_INFO, RedisFacts(table, address, read_s, info))


def _timed_get(client: "RedisClient") -> float:
    started_s = time.monotonic()
    for _ in client.get([b"vectail:doctor"]):
        pass
    return time.monotonic() - started_s


def _answer(facts: RedisFacts) -> Verdict:
    return ok(f"{facts.address} answers")


def _version(facts: RedisFacts) -> Verdict:
    if not facts.info:
        return ok("INFO is not permitted; skipping further checks")
    name = "Valkey" if facts.word("server_name") == "valkey" else "Redis"
    version = facts.word("valkey_version") or facts.word("redis_version", "of an unknown version")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    is_old = numbers and numbers < _OLDEST_VERSION
    return first_of(
        (is_old, warning(f"{name} {version}", "upgrade to 5.0 or later; older servers are untested")), otherwise=f"{name} {version}"
    )


def _eviction(facts: RedisFacts) -> Verdict:
    """Judge what happens when it is full: right for a cache is that the least used goes."""
    limit, policy = facts.number("maxmemory"), facts.word("maxmemory_policy", "unknown")
    found = f"maxmemory {bytes_of(limit)}, maxmemory-policy {policy}"
    unbounded = f"there is no maxmemory (maxmemory-policy {policy}): it may grow until the machine is full"
    return first_of(
        (not limit, warning(unbounded, "set maxmemory, and maxmemory-policy allkeys-lfu")),
        (policy == "noeviction", warning(f"{found}: once it is full it accepts no more vectors", "set maxmemory-policy allkeys-lfu")),
        (policy.startswith("volatile-"), ok(f"{found}: all our keys expire, so they make room; other keys that never expire do not")),
        (policy == "allkeys-random", warning(f"{found}: it evicts hot keys as readily as cold ones", "set allkeys-lfu")),
        otherwise=found,
    )


def _memory(facts: RedisFacts) -> Verdict:
    used, limit, machine = facts.number("used_memory"), facts.number("maxmemory"), facts.number("total_system_memory")
    found = f"{bytes_of(used)} used{f' of {bytes_of(limit)}' if limit else ''}; {facts.number('evicted_keys'):,} keys evicted"
    is_full = limit and used > _FULL * limit and facts.word("maxmemory_policy") == "noeviction"
    too_much = f"{found}; its machine has {bytes_of(machine)}"
    return first_of(
        (is_full, problem(found, "raise maxmemory, or set maxmemory-policy allkeys-lfu: it refuses new vectors now")),
        (machine and limit > machine, warning(too_much, "lower maxmemory below what the machine has")),
        otherwise=found,
    )


def _latency(facts: RedisFacts) -> Verdict:
    seconds, budget_s = facts.read_s, facts.table.read_budget_s
    found = f"a read takes {seconds_of(seconds)}; redis.read_budget_s is {seconds_of(budget_s)}"
    return first_of(
        (seconds > budget_s, problem(found, "reduce the latency or raise redis.read_budget_s; answers come too late to be used")),
        (seconds > budget_s / 2, warning(found, "reduce the latency or raise redis.read_budget_s; some reads time out")),
        otherwise=found,
    )


def _writes(facts: RedisFacts) -> Verdict:
    replica = f"this is a replica of {facts.word('master_host')}:{facts.number('master_port')}, which takes no writes"
    failed = "its last snapshot failed; unless stop-writes-on-bgsave-error is no, it takes no writes until one succeeds"
    change = "make room on its disk, or switch snapshots off (save ''): this is a cache"
    return first_of(
        (
            facts.word("role", "master") != "master",
            problem(replica, "set redis.url to the master, or to its sentinels (redis+sentinel://)"),
        ),
        (facts.word("rdb_last_bgsave_status", "ok") != "ok", problem(failed, change)),
        otherwise="it takes writes",
    )


def _persistence(facts: RedisFacts) -> Verdict:
    """Judge whether it keeps vectors over a restart, which is neither needed nor harmful."""
    kept = "it writes an append-only file: vectors survive a restart, and each write costs a write to disk"
    return first_of(
        (facts.number("aof_enabled"), ok(kept)),
        (facts.number("loading"), warning("it is still loading its snapshot", "wait: until then it answers nothing")),
        otherwise="no append-only file; vectors lost in a restart are computed again",
    )


def _signature(facts: RedisFacts) -> Verdict:
    """Judge whether somebody else who may write there can choose our vectors."""
    address = facts.address
    is_local = address.kind != "sentinel" and all(is_here(host) for host, _ in address.hosts)
    found = "redis.secret is not set: anyone who may write to this Redis can choose which vectors are stored"
    return first_of(
        (facts.table.secret.get_secret_value(), ok("vectors are signed with redis.secret: no one else can choose them")),
        (is_local, ok("redis.secret is not set; the server is on this machine")),
        (True, warning(found, "set redis.secret to the same value for every worker")),
        otherwise="",
    )


REDIS_CHECKS: Final = (
    Check("redis", _answer),
    Check("version", _version),
    Check("eviction", _eviction),
    Check("memory", _memory),
    Check("latency", _latency),
    Check("writes", _writes),
    Check("persistence", _persistence),
    Check("signature", _signature),
)
_WITHOUT_INFO: Final = tuple(check for check in REDIS_CHECKS if check.name in ("redis", "version", "latency", "signature"))

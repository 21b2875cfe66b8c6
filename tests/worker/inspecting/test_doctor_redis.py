"""The doctor's judgements of Redis on planted facts, and its questions on real servers with a wrong and a right policy."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.services.ports import free_port
from tests.services.redis import LocalRedis, local_redis
from tests.worker.inspecting.judged import judge, says
from worker.embedding.cache.redis_address import address_of
from worker.inspecting.doctor import State
from worker.inspecting.doctor_redis import REDIS_CHECKS, RedisFacts, look_at_redis
from worker.settings.tables import RedisTable

GIB = 1 << 30
FULL: dict[str, Any] = {"used_memory": 99 * GIB // 100, "maxmemory": GIB, "evicted_keys": 7, "total_system_memory": 8 * GIB}


def facts(url: str = "redis://127.0.0.1:6379", *, read_s: float = 0.0, secret: str = "", **info: Any) -> RedisFacts:  # noqa: ANN401 - as INFO says
    table = RedisTable(url=url, read_budget_s=0.05, secret=SecretStr(secret))
    return RedisFacts(table, address_of(table), read_s, info)


@pytest.mark.parametrize(
    ("name", "told", "state", "words"),
    [
        *(("eviction", facts(maxmemory=GIB, maxmemory_policy=policy), "ok", f"{policy}|1 GiB")
          for policy in ("allkeys-lfu", "allkeys-lru", "volatile-lru")),
        ("eviction", facts(maxmemory=GIB, maxmemory_policy="noeviction"), "warning", "accepts no more vectors"),
        ("eviction", facts(maxmemory=GIB, maxmemory_policy="allkeys-random"), "warning", "hot keys"),
        ("eviction", facts(maxmemory=0, maxmemory_policy="allkeys-lfu"), "warning", "no maxmemory|allkeys-lfu"),
        ("memory", facts(**FULL, maxmemory_policy="allkeys-lfu"), "ok", "7 keys evicted"),
        ("memory", facts(**FULL, maxmemory_policy="noeviction"), "problem", "refuses new vectors"),
        ("memory", facts(**FULL | {"total_system_memory": GIB // 2}), "warning", "its machine has 512 MiB"),
        ("latency", facts(read_s=0.0004), "ok", "0.4 ms"),
        ("latency", facts(read_s=0.03), "warning", "redis.read_budget_s"),
        ("latency", facts(read_s=0.06), "problem", "60 ms"),
        ("writes", facts(role="master", rdb_last_bgsave_status="ok"), "ok", ""),
        ("writes", facts(role="slave", master_host="r1", master_port=6379), "problem", "replica of r1:6379"),
        ("writes", facts(role="master", rdb_last_bgsave_status="err"), "problem", "snapshot failed"),
        ("persistence", facts(aof_enabled=0), "ok", ""),
        ("persistence", facts(aof_enabled=1), "ok", "append-only"),
        ("persistence", facts(loading=1), "warning", "loading"),
        ("version", facts(redis_version="7.2.4"), "ok", "Redis 7.2.4"),
        ("version", facts(redis_version="4.0.9"), "warning", "4.0.9"),
        ("version", facts(server_name="valkey", redis_version="7.2.4", valkey_version="8.1.0"), "ok", "Valkey 8.1.0"),
        ("signature", facts(), "ok", "this machine"),
        ("signature", facts("redis://redis:6379"), "warning", "redis.secret"),
        ("signature", facts("redis://redis:6379", secret="s"), "ok", "signed"),  # noqa: S106 - a planted one
    ],
)  # fmt: skip
def test_what_redis_says_is_judged(name: str, told: RedisFacts, state: State, words: str) -> None:
    says(judge(REDIS_CHECKS, name, told), state, words)


@pytest.fixture
def server() -> Iterator[LocalRedis]:
    started = local_redis("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu")
    yield started
    started.close()


@pytest.mark.process
def test_a_real_server_set_up_as_a_cache_has_nothing_to_mend(server: LocalRedis) -> None:
    verdicts = look_at_redis(RedisTable(url=server.url, read_budget_s=5.0))
    assert {name: one.state for name, one in verdicts.items()} == {check.name: "ok" for check in REDIS_CHECKS}


def test_a_real_server_that_does_not_answer_is_one_problem() -> None:
    verdicts = look_at_redis(RedisTable(url=f"redis://:hidden@127.0.0.1:{free_port()}", secret=SecretStr("s")))
    assert list(verdicts) == ["redis"]
    says(verdicts["redis"], "problem", "Connection refused")
    assert "hidden" not in verdicts["redis"].found


@pytest.mark.process
def test_a_user_who_may_not_ask_what_the_server_is_still_learns_that_it_answers(server: LocalRedis) -> None:
    server.admin().acl_setuser("reader", enabled=True, passwords=["+p"], commands=["+mget", "+set"], keys=["*"])
    verdicts = look_at_redis(RedisTable(url=server.url, user="reader", password=SecretStr("p")))
    assert set(verdicts) == {"redis", "latency", "signature", "version"}
    says(verdicts["version"], "ok", "INFO is not permitted")


def test_no_redis_at_all_is_fine() -> None:
    says(look_at_redis(RedisTable())["redis"], "ok", "none is configured")

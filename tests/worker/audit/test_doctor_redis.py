"""The doctor's judgements of Redis on planted facts, and its questions on real servers with a wrong and a right policy."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.services.ports import free_port
from tests.services.redis import LocalRedis, local_redis
from tests.worker.audit.judged import says
from worker.audit.doctor import State
from worker.audit.doctor_redis import (
    judge_eviction,
    judge_latency,
    judge_memory,
    judge_persistence,
    judge_signature,
    judge_version,
    judge_writes,
    look_at_redis,
)
from worker.embedding.cache.redis_address import address_of
from worker.settings.tables import RedisTable

GIB = 1 << 30


@pytest.mark.parametrize(
    ("policy", "state"),
    [("allkeys-lfu", "ok"), ("allkeys-lru", "ok"), ("volatile-lru", "ok"), ("noeviction", "warning"), ("allkeys-random", "warning")],
)
def test_a_cache_needs_a_limit_and_a_policy_that_makes_room(policy: str, state: State) -> None:
    says(judge_eviction({"maxmemory": GIB, "maxmemory_policy": policy}), "eviction", state, policy, "1 GiB")
    says(judge_eviction({"maxmemory": 0, "maxmemory_policy": policy}), "eviction", "warning", "no maxmemory", "allkeys-lfu")


def test_a_server_that_is_full_and_makes_no_room_is_a_problem() -> None:
    full = {"used_memory": 99 * GIB // 100, "maxmemory": GIB, "evicted_keys": 7, "total_system_memory": 8 * GIB}
    says(judge_memory(full | {"maxmemory_policy": "allkeys-lfu"}), "memory", "ok", "7 keys made room")
    says(judge_memory(full | {"maxmemory_policy": "noeviction"}), "memory", "problem", "refuses new vectors")
    says(judge_memory(full | {"total_system_memory": GIB // 2}), "memory", "warning", "its machine has 512 MiB")


def test_a_read_slower_than_the_budget_is_a_problem_and_one_near_it_a_warning() -> None:
    says(judge_latency(0.0004, 0.05), "latency", "ok", "0.4 ms")
    says(judge_latency(0.03, 0.05), "latency", "warning", "redis.read_budget_s")
    says(judge_latency(0.06, 0.05), "latency", "problem", "60 ms")


def test_a_replica_and_a_server_whose_snapshot_failed_take_no_writes() -> None:
    says(judge_writes({"role": "master", "rdb_last_bgsave_status": "ok"}), "writes", "ok")
    says(judge_writes({"role": "slave", "master_host": "r1", "master_port": 6379}), "writes", "problem", "replica of r1:6379")
    says(judge_writes({"role": "master", "rdb_last_bgsave_status": "err"}), "writes", "problem", "snapshot failed")


def test_an_append_only_file_is_no_fault_and_loading_is_a_warning() -> None:
    says(judge_persistence({"aof_enabled": 0}), "persistence", "ok")
    says(judge_persistence({"aof_enabled": 1}), "persistence", "ok", "append-only")
    says(judge_persistence({"loading": 1}), "persistence", "warning", "loading")


def test_an_old_server_is_a_warning_and_valkey_is_known_by_its_own_version() -> None:
    says(judge_version({"redis_version": "7.2.4"}), "version", "ok", "Redis 7.2.4")
    says(judge_version({"redis_version": "4.0.9"}), "version", "warning", "4.0.9")
    valkey = {"server_name": "valkey", "redis_version": "7.2.4", "valkey_version": "8.1.0"}
    says(judge_version(valkey), "version", "ok", "Valkey 8.1.0")


def test_unsigned_vectors_on_another_machine_are_a_warning() -> None:
    here, there = (address_of(RedisTable(url=f"redis://{host}:6379")) for host in ("127.0.0.1", "redis"))
    says(judge_signature(here, is_signed=False), "signature", "ok", "this machine")
    says(judge_signature(there, is_signed=False), "signature", "warning", "redis.secret")
    says(judge_signature(there, is_signed=True), "signature", "ok", "signed")


@pytest.fixture
def server() -> Iterator[LocalRedis]:
    started = local_redis("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu")
    yield started
    started.close()


@pytest.mark.process
def test_a_real_server_set_up_as_a_cache_has_nothing_to_mend(server: LocalRedis) -> None:
    checks = list(look_at_redis(RedisTable(url=server.url, read_budget_s=5.0)))
    assert [one for one in checks if one.state != "ok"] == []
    assert len(checks) == 8


def test_a_real_server_that_does_not_answer_is_one_problem() -> None:
    (check,) = look_at_redis(RedisTable(url=f"redis://:hidden@127.0.0.1:{free_port()}", secret=SecretStr("s")))
    says(check, "redis", "problem", "Connection refused")
    assert "hidden" not in check.found


@pytest.mark.process
def test_a_user_who_may_not_ask_what_the_server_is_still_learns_that_it_answers(server: LocalRedis) -> None:
    server.admin().acl_setuser("reader", enabled=True, passwords=["+p"], commands=["+mget", "+set"], keys=["*"])
    checks = list(look_at_redis(RedisTable(url=server.url, user="reader", password=SecretStr("p"))))
    assert [one.name for one in checks] == ["redis", "latency", "signature", "version"]
    assert "INFO is not permitted" in checks[-1].found


def test_no_redis_at_all_is_fine() -> None:
    (check,) = look_at_redis(RedisTable())
    says(check, "redis", "ok", "none is configured")

"""The doctor's judgements of Redis on planted facts, and its questions on real servers with a wrong and a right policy."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from tests.rows import rows
from tests.services.ports import free_port
from tests.services.redis import LocalRedis, local_redis
from tests.worker.inspecting.judged import judge, says
from worker.embedding.cache.redis_address import address_of
from worker.inspecting.doctor import State
from worker.inspecting.doctor_redis import REDIS_CHECKS, RedisFacts, look_at_redis
from worker.settings.tables import RedisTable


def facts(url: str = "redis://127.0.0.1:6379", *, read_s: float = 0.0, secret: str = "", **info: Any) -> RedisFacts:  # noqa: ANN401 - as INFO says
    table = RedisTable(url=url, read_budget_s=0.05, secret=SecretStr(secret))
    return RedisFacts(table, address_of(table), read_s, info)


@pytest.mark.parametrize(("name", "told", "state", "words"), rows("doctor/redis"))
def test_what_redis_says_is_judged(name: str, told: dict[str, Any], state: State, words: str) -> None:
    says(judge(REDIS_CHECKS, name, facts(**told)), state, words)


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

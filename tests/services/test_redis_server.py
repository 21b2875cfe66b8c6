"""The Redis that tests start answers, and comes back on its port after a kill; without redis-server the test says so."""

import os

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.services.missing import ServerMissing
from tests.services.proxy import Proxy
from tests.services.redis import ADDRESS_VARIABLE, LocalRedis, local_redis
from tests.services.shared import open_redis

pytestmark = pytest.mark.process


def test_a_server_killed_comes_back_empty_on_its_port_and_is_gone_in_the_end() -> None:
    with local_redis() as server:
        server.admin().set("a", "b")
        server.kill()
        with pytest.raises(redis.ConnectionError):
            server.admin().ping()
        server.start()
        server.start()
        assert server.admin().get("a") is None
    with pytest.raises(redis.ConnectionError):
        server.admin().ping()


def test_a_server_that_is_named_is_used_and_left_running(monkeypatch: pytest.MonkeyPatch) -> None:
    with local_redis() as server:
        monkeypatch.setenv(ADDRESS_VARIABLE, server.url)
        with open_redis() as url:
            assert url == server.url
        assert server.admin().ping()


def test_without_a_server_the_test_is_skipped_at_home_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(ServerMissing, match="redis-server is not installed"):
        LocalRedis()
    for opening in (open_redis, local_redis):
        with pytest.raises(pytest.skip.Exception, match="redis-server is not installed"), opening():
            pass
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception), open_redis():
        pass


def test_a_server_that_cannot_start_says_why() -> None:
    with local_redis() as server, pytest.raises(RuntimeError, match="does not answer"):
        LocalRedis("--no-such-option", "1", port=server.port + 20_000)


def test_the_proxy_holds_answers_and_gives_them_back() -> None:
    with local_redis() as server, Proxy(server.port) as proxy:
        client = redis.Redis(port=proxy.port, socket_timeout=0.5, retry=Retry(NoBackoff(), 0), protocol=2)
        proxy.hold()
        with pytest.raises(redis.TimeoutError):
            client.ping()
        assert proxy.held.wait(10)
        assert proxy.gone.wait(10)
        proxy.release()
        patient = redis.Redis(port=proxy.port, socket_timeout=10, protocol=2)
        assert patient.ping()
        proxy.trickle(0.001)
        assert patient.ping()
        client.close()
        patient.close()

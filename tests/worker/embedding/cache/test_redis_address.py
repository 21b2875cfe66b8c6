"""Redis settings that cannot work are refused before anything runs, in one line that names the setting."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.rows import rows
from worker.embedding.cache.redis_address import RedisAddress, RedisMisconfigured, address_of
from worker.settings.tables import RedisTable


def address(url: str, **settings: Any) -> RedisAddress:  # noqa: ANN401 - as RedisTable takes them
    return address_of(RedisTable(url=url, **settings))


@pytest.mark.parametrize("url", rows("redis/refused_addresses"))
def test_an_address_that_cannot_work_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(RedisMisconfigured, match=r"^redis\.url is not [^\n]+$") as refused:
        address(url)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"url": "redis://h", "ca_file": "/dev/null"}, "redis.ca_file, redis.cert_file and redis.key_file need a redis.url"),
        ({"url": "rediss://h", "ca_file": "/nowhere/ca.pem"}, "redis.ca_file cannot be used: "),
        ({"url": "rediss://h", "ca_file": __file__}, "redis.ca_file cannot be used: "),
        ({"url": "rediss://h", "cert_file": "/nowhere/c.pem"}, "redis.cert_file and redis.key_file cannot be used: "),
        ({"url": "rediss://h", "cert_file": __file__, "key_file": __file__}, "redis.cert_file and redis.key_file cannot be used: "),
        ({"url": "rediss://h", "key_file": __file__}, "redis.key_file is set without redis.cert_file"),
    ],
)
def test_files_that_cannot_be_used_are_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(RedisMisconfigured) as refused:
        address(**settings)
    assert str(refused.value).startswith(named)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("url", "kind", "for_the_library", "hosts", "shown"), rows("redis/addresses"))
def test_a_url_is_taken_apart(url: str, kind: str, for_the_library: str, hosts: list[object], shown: str) -> None:
    found = address(url)
    assert (found.kind, found.url, [*map(list, found.hosts)], str(found)) == (kind, for_the_library, hosts, shown)
    assert found.has_tls == url.startswith("rediss")


def test_settings_go_before_what_the_url_says_and_a_url_of_sentinels_has_their_login() -> None:
    url = "redis://us%40er:pass%2Fword@h"
    assert address(url).login == {"username": "us@er", "password": "pass/word"}
    assert "word" not in repr(address(url))
    given = {"user": "three", "password": "four"}
    assert address(url, **given).login == {"username": "three", "password": "four"}
    behind = address("redis+sentinel://watcher:five@h/main", **given)
    assert (behind.login, behind.sentinel_login) == (address(url, **given).login, {"username": "watcher", "password": "five"})
    assert address("redis+sentinel://watcher:five@h/main", sentinel_password="six").sentinel_login["password"] == "six"  # noqa: S105, S106


@pytest.mark.process
def test_a_certificate_needs_its_own_key(tmp_path: Path) -> None:
    for name in ("one", "other"):
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-days", "2"]
        files = ["-keyout", str(tmp_path / f"{name}.key"), "-out", str(tmp_path / f"{name}.pem")]
        subprocess.run([*make, *files], check=True, capture_output=True)
    good = {"cert_file": tmp_path / "one.pem", "ca_file": tmp_path / "one.pem"}
    assert address("rediss://h", **good, key_file=tmp_path / "one.key").tls["ssl_certfile"] == str(tmp_path / "one.pem")
    with pytest.raises(RedisMisconfigured, match="cannot be used"):
        address("rediss://h", **good, key_file=tmp_path / "other.key")


@pytest.mark.process
def test_a_worker_and_the_doctor_load_the_client_library_only_with_redis() -> None:
    ask = "import sys, worker.service.service, worker.connections, worker.inspecting.doctor_looks; print('redis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, text=True).stdout == "False\n"

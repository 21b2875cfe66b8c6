"""Redis settings that cannot work are refused before anything runs, in one line that names the setting."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from worker.embedding.cache.redis_address import RedisMisconfigured, address_of
from worker.settings.tables import RedisTable


def address(**settings: Any) -> Any:  # noqa: ANN401 - as RedisTable takes them
    return address_of(RedisTable(**settings))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({}, "redis.url is empty"),
        ({"url": "http://127.0.0.1"}, "redis.url must begin"),
        ({"url": "127.0.0.1:6379"}, "redis.url"),
        ({"url": "redis://127.0.0.1:99999"}, "redis.url"),
        ({"url": "redis://127.0.0.1:port"}, "redis.url"),
        ({"url": "redis://127.0.0.1/first"}, "redis.url: what comes after"),
        ({"url": "redis://127.0.0.1/-1"}, "redis.url: what comes after"),
        ({"url": "redis://127.0.0.1/²"}, "redis.url: what comes after"),
        ({"url": "redis://127.0.0.1?socket_timeout=100"}, "redis.url takes nothing after"),
        ({"url": "unix://"}, "redis.url must be unix"),
        ({"url": "unix://host/path"}, "redis.url must be unix"),
        ({"url": "unix:///run/redis", "cluster": True}, "redis.url: a unix socket"),
        ({"url": "redis://h", "cluster": True, "sentinels": ("h:1",)}, "redis.cluster and redis.sentinels"),
        ({"url": "redis://h/1", "cluster": True}, "redis.url: a cluster has no database"),
        ({"sentinels": ("h:port",)}, "redis.sentinels: 'h:port'"),
        ({"sentinels": ("",)}, "redis.sentinels: ''"),
        ({"sentinels": ("redis://h:1",)}, "redis.sentinels"),
        ({"url": "redis://h", "ca_file": "/dev/null"}, "redis.ca_file is set, but redis.url"),
        ({"url": "rediss://h", "ca_file": "/nowhere/ca.pem"}, "redis.ca_file: there is no file"),
        ({"url": "rediss://h", "cert_file": "/nowhere/c.pem"}, "redis.cert_file: there is no file"),
        ({"url": "rediss://h", "ca_file": __file__}, "redis.ca_file"),
        ({"url": "rediss://h", "cert_file": __file__, "key_file": __file__}, "redis.cert_file and redis.key_file"),
        ({"url": "rediss://h", "key_file": __file__}, "redis.key_file is set without"),
    ],
)
def test_what_cannot_work_is_refused_in_a_line_that_names_it(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(RedisMisconfigured) as refused:
        address(**settings)
    assert str(refused.value).startswith(named)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2#x@cache:6379/0",
        "redis://bob:hunter2/x@cache:6379/0",
        "redis://bob:123/hunter2@cache:6379/0",
        "redis://bob:x?hunter2@cache:6379/0",
        "redis://bob:hunter2]@cache:6379",
    ],
)
def test_a_password_is_never_shown(url: str) -> None:
    with pytest.raises(RedisMisconfigured, match=r"redis\.url") as refused:
        address(url=url)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_url_is_taken_apart() -> None:
    found = address(url="rediss://us%40er:pass%2Fword@cache.example:7000/4")
    assert (found.host, found.port, found.db, found.tls) == ("cache.example", 7000, 4, True)
    assert (found.user, found.password) == ("us@er", "pass/word")
    assert str(found) == "cache.example:7000"
    assert "word" not in repr(found)


def test_settings_go_before_what_the_url_says_and_sentinels_and_sockets_have_addresses_of_their_own() -> None:
    found = address(url="redis://one:two@h", user="three", password="four")  # noqa: S106 - an example
    assert (found.user, found.password, found.port, found.db) == ("three", "four", 6379, 0)
    found = address(sentinels=("a:1", "b", "[::1]:3"), url="rediss://")
    assert (found.sentinels, found.tls) == ((("a", 1), ("b", 26379), ("::1", 3)), True)
    assert str(found) == "mymaster of the sentinels a:1, b:26379, ::1:3"
    assert address(url="unix:///run/redis/a%20b.sock").unix_path == "/run/redis/a b.sock"


@pytest.mark.process
def test_a_certificate_needs_its_own_key(tmp_path: Path) -> None:
    for name in ("one", "other"):
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=x", "-days", "2"]
        files = ["-keyout", str(tmp_path / f"{name}.key"), "-out", str(tmp_path / f"{name}.pem")]
        subprocess.run([*make, *files], check=True, capture_output=True)
    good = {"url": "rediss://h", "cert_file": tmp_path / "one.pem", "ca_file": tmp_path / "one.pem"}
    assert address(**good, key_file=tmp_path / "one.key").cert_file == str(tmp_path / "one.pem")
    with pytest.raises(RedisMisconfigured, match="no certificate with its key"):
        address(**good, key_file=tmp_path / "other.key")

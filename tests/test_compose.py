"""docker-compose.yml agrees with itself, with the settings and with the program."""

import itertools
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.services.compose import COMPOSE_FILE, read_compose
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES
from worker.settings.settings import PREFIX, Settings, load_settings

ROOT = COMPOSE_FILE.parent
COMPOSE = read_compose()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
PINNED = re.compile(r"^[a-z0-9./-]+:(?!latest)[A-Za-z0-9._-]*\d[A-Za-z0-9._-]*$")
ALTERNATIVES = {"worker-gpu": "worker", "milvus-full": "milvus"}
"""Service of a profile → the one that it stands in for."""
WORKERS = ("worker", "worker-gpu")
MAKERS = ("init-secrets", "init-grafana-secrets")
ROOT_INSIDE = {"milvus", "milvus-full", "etcd", "minio"}
"""Root in their container, without any of its rights: their images own what their volumes hold, and have no other user."""
WRITABLE = {"milvus", "milvus-full"}
"""Their image writes wherever it likes."""
each_worker = pytest.mark.parametrize("service", WORKERS)


def variables(service: str) -> dict[str, str]:
    return {name: str(value) for name, value in SERVICES[service].get("environment", {}).items()}


def mounts(service: str) -> dict[str, tuple[str, bool]]:
    """Return where → (what is mounted, whether it may be written to)."""
    parts = [mount.split(":") for mount in SERVICES[service].get("volumes", [])]
    return {part[1]: (part[0], part[2:] != ["ro"]) for part in parts}


def seconds(duration: str) -> float:
    found = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?", duration)
    assert found is not None, duration
    return int(found[1] or 0) * 60 + int(found[2] or 0)


def _addresses(text: str) -> dict[str, tuple[str, int]]:
    """Read `NAME://host:port,…`."""
    parts = (re.fullmatch(r"(\w+)://([\w.-]*):(\d+)", part) for part in text.split(","))
    return {part[1]: (part[2], int(part[3])) for part in parts if part is not None}


def worker_settings(service: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Settings:
    """Load the settings that a worker would have in its container, its secrets being in `folder`."""
    image = dict(re.findall(rf"({PREFIX}\w+)=(\S+)", DOCKERFILE))
    for name, value in {**image, **variables(service)}.items():
        if name.startswith(PREFIX):
            secret = folder / Path(value).name
            if name.endswith("_FILE"):
                secret.write_text("made-up\n", encoding="utf-8")
            monkeypatch.setenv(name, str(secret) if name.endswith("_FILE") else value)
    return load_settings(None)


def test_the_parts_of_the_stack_are_there() -> None:
    without_profile = {name for name, service in SERVICES.items() if not service.get("profiles")}
    assert without_profile == {
        *("init-secrets", "kafka", "init-topics", "milvus", "redis", "worker"),
        *("init-grafana-secrets", "prometheus", "grafana", "kafka-exporter"),
    }
    assert COMPOSE["name"] == "vectail"
    assert "version" not in COMPOSE


def test_images_are_pinned_or_built_here(subtests: pytest.Subtests) -> None:
    for service, declared in SERVICES.items():
        with subtests.test(service):
            build = declared.get("build")
            if build is None:
                assert PINNED.match(declared["image"])
                continue
            assert (ROOT / build["context"] / build["dockerfile"]).is_file()
            assert re.search(rf"^FROM \S+ AS {build['target']}$", DOCKERFILE, re.MULTILINE)
            assert declared["image"] == f"vectail:{build['target']}"
            assert set(build["args"]) <= set(re.findall(r"^ARG (\w+)", DOCKERFILE, re.MULTILINE))
            assert PINNED.match(build["args"]["PYTHON"])


def test_tags_stand_in_the_compose_file_only() -> None:
    images = {service["image"] for service in SERVICES.values() if "build" not in service} | {SERVICES["worker"]["build"]["args"]["PYTHON"]}
    names = "|".join(sorted({re.escape(image.split(":")[0]) for image in images}))
    files = [
        file for folder in ("deploy", "tests", "benchmarks") for file in (ROOT / folder).rglob("*") if file.suffix not in {".lock", ".json"}
    ]
    for file in [*files, *(ROOT / name for name in ("README.md", "Makefile", ".ci/run"))]:
        # What `make images` writes; tests/deploy/test_images.py compares its tags.
        if file.is_file() and "__pycache__" not in file.parts and file != ROOT / "deploy/images.yml":
            found = re.search(rf"\b(?:{names}):v?\d[\w.-]*", file.read_text(encoding="utf-8", errors="replace"))
            assert found is None, file.relative_to(ROOT)


def test_published_ports_are_on_loopback(subtests: pytest.Subtests) -> None:
    for service, declared in SERVICES.items():
        with subtests.test(service):
            for port in declared.get("ports", []):
                assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port), port
            assert "network_mode" not in declared or declared["network_mode"] == "none"


def test_no_port_of_the_machine_is_taken_twice_but_by_what_must_not_run_together() -> None:
    published = [port for name, service in SERVICES.items() if name not in ALTERNATIVES for port in service.get("ports", [])]
    assert len({port.split(":")[1] for port in published}) == len(published)
    for alternative, usual in ALTERNATIVES.items():
        assert SERVICES[alternative]["ports"] == SERVICES[usual]["ports"]
        assert SERVICES[alternative]["profiles"]
        assert SERVICES[alternative]["networks"]["default"]["aliases"] == [usual]


def test_volumes_are_declared_and_used_and_what_is_mounted_from_here_exists() -> None:
    mounted = [(service, what, writable) for service in SERVICES for what, writable in mounts(service).values()]
    named = {what for _, what, _ in mounted if not what.startswith((".", "/"))}
    assert named == set(COMPOSE["volumes"])
    for service, what, writable in mounted:
        if what.startswith((".", "/")):
            assert (ROOT / what).exists(), f"{service}: {what}"
            assert not writable, f"{service}: {what}"


def test_what_a_service_waits_for_can_come_true(subtests: pytest.Subtests) -> None:
    for service, declared in SERVICES.items():
        with subtests.test(service):
            for other, wait in declared.get("depends_on", {}).items():
                awaited = SERVICES[other]
                if not set(awaited.get("profiles", [])) <= set(declared.get("profiles", [])):
                    assert wait["required"] is False, f"{other} is not in {service}'s profiles"
                if wait["condition"] == "service_healthy":
                    assert awaited["healthcheck"]["test"][0] == "CMD"
                if wait["condition"] == "service_completed_successfully":
                    assert awaited["restart"] == "no"


def test_what_runs_on_says_whether_it_is_well(subtests: pytest.Subtests) -> None:
    for service, declared in SERVICES.items():
        with subtests.test(service):
            check = declared.get("healthcheck", {})
            if declared["restart"] == "no" or service == "feed":
                assert set(check) <= {"disable"}
            elif service in WORKERS:
                assert re.search(r"^HEALTHCHECK .*CMD \[", DOCKERFILE, re.MULTILINE)
                assert not check, "the image's own"
            else:
                assert check["test"][0] == "CMD"
                assert seconds(check["timeout"]) <= seconds(check["interval"])
                assert seconds(check["start_period"]) > 0


def test_every_service_is_bounded_and_may_end_in_order(subtests: pytest.Subtests) -> None:
    for service, limits in SERVICES.items():
        with subtests.test(service):
            assert limits["mem_limit"]
            assert float(limits["cpus"]) > 0
            assert int(limits["pids_limit"]) > 0
            assert limits["logging"]["options"]["max-size"]
            if limits["restart"] != "no":
                assert limits["restart"] == "unless-stopped"
                assert seconds(limits["stop_grace_period"]) > load_settings(None).limits.drain_timeout_s


def test_every_service_has_no_right_that_it_does_not_need(subtests: pytest.Subtests) -> None:
    for service, rights in SERVICES.items():
        with subtests.test(service):
            assert rights["cap_drop"] == ["ALL"]
            assert "cap_add" not in rights
            assert "privileged" not in rights
            assert "no-new-privileges:true" in rights["security_opt"]
            assert rights.get("read_only", False) is (service not in WRITABLE)
            if "build" in rights:
                target = DOCKERFILE.split(f" AS {rights['build']['target']}\n")[1].split("\nFROM")[0]
                assert re.search(r"^USER (?!root|0)\w+$", target.strip().splitlines()[-1])
            elif service not in ROOT_INSIDE:
                assert rights["user"].split(":")[0] not in ("0", "root")
            for mount in rights.get("tmpfs", []):
                assert re.search(r":mode=(1777|0700)(,|$)", mount), "else it has the mode of what it hides"


def test_kafka_is_reached_where_it_says_it_is() -> None:
    kafka = variables("kafka")
    listeners, advertised = _addresses(kafka["KAFKA_LISTENERS"]), _addresses(kafka["KAFKA_ADVERTISED_LISTENERS"])
    protocols = dict(pair.split(":") for pair in kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
    assert set(listeners) == set(protocols) == {*advertised, kafka["KAFKA_CONTROLLER_LISTENER_NAMES"]}
    assert advertised["INTERNAL"] == ("kafka", listeners["INTERNAL"][1])
    host, port = advertised["HOST"]
    assert f"{host}:{port}:{listeners['HOST'][1]}" in SERVICES["kafka"]["ports"]
    assert SERVICES["kafka"]["healthcheck"]["test"][-1] == f"127.0.0.1:{listeners['HOST'][1]}"
    assert kafka["KAFKA_CONTROLLER_QUORUM_VOTERS"] == f"{kafka['KAFKA_NODE_ID']}@kafka:{listeners['CONTROLLER'][1]}"
    internal = "{}:{}".format(*advertised["INTERNAL"])
    assert {variables(service)[f"{PREFIX}KAFKA__BOOTSTRAP_SERVERS"] for service in (*WORKERS, "feed")} == {internal}
    assert variables("kminion")["KAFKA_BROKERS"] == internal
    assert f"--kafka.server={internal}" in SERVICES["kafka-exporter"]["command"]
    assert internal in SERVICES["init-topics"]["command"][0]


def test_kafka_s_records_are_on_its_volume_and_its_heap_is_half_of_its_memory() -> None:
    assert mounts("kafka")[variables("kafka")["KAFKA_LOG_DIRS"]] == ("kafka-data", True)
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", variables("kafka")["CLUSTER_ID"])
    assert "-Xmx512m" in variables("kafka")["KAFKA_HEAP_OPTS"]
    assert SERVICES["kafka"]["mem_limit"] == "1g"


def test_etcd_and_minio_are_where_milvus_looks_and_nobody_else_can() -> None:
    assert COMPOSE["networks"]["storage"]["internal"] is True
    assert SERVICES["etcd"]["networks"] == SERVICES["minio"]["networks"] == ["storage"]
    assert [name for name, service in SERVICES.items() if "storage" in service.get("networks", [])] == ["milvus-full", "etcd", "minio"]
    assert "ports" not in SERVICES["etcd"]
    assert "ports" not in SERVICES["minio"]
    host, port = variables("milvus-full")["ETCD_ENDPOINTS"].split(":")
    assert f"--listen-client-urls=http://0.0.0.0:{port}" in SERVICES[host]["command"]
    host, port = variables("milvus-full")["MINIO_ADDRESS"].split(":")
    assert f"http://127.0.0.1:{port}/" in SERVICES[host]["healthcheck"]["test"][-1]
    assert mounts("etcd")["/etcd"] == ("etcd-data", True)
    assert "--data-dir=/etcd" in SERVICES["etcd"]["command"]
    assert SERVICES["minio"]["command"][-1] in mounts("minio")
    assert variables("milvus")["ETCD_DATA_DIR"].startswith("/var/lib/milvus/")
    assert SERVICES["milvus"]["image"] == SERVICES["milvus-full"]["image"]


def test_the_worker_finds_milvus_and_redis(subtests: pytest.Subtests) -> None:
    for service, key in itertools.product(WORKERS, ("MILVUS__URI", "REDIS__URL")):
        with subtests.test(f"{service} {key}"):
            address = urlsplit(variables(service)[PREFIX + key])
            assert str(address.hostname) in SERVICES[service]["depends_on"]
            assert f"127.0.0.1:{address.port}:{address.port}" in SERVICES[str(address.hostname)]["ports"]


def test_redis_may_evict_and_keeps_nothing() -> None:
    redis = SERVICES["redis"]
    options = dict(zip(redis["command"][1::2], redis["command"][2::2], strict=True))
    assert options["--maxmemory-policy"] == "allkeys-lfu"
    assert (options["--save"], options["--appendonly"]) == ("", "no")


@each_worker
def test_the_worker_s_variables_are_settings(service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = worker_settings(service, monkeypatch, tmp_path)
    assert settings.kafka.bootstrap_servers == variables(service)[f"{PREFIX}KAFKA__BOOTSTRAP_SERVERS"]
    assert mounts(service)[f"/{settings.model.cache.parts[1]}"] == ("worker-data", True)
    assert settings.http.host == "0.0.0.0", "all addresses of the container, published on loopback"  # noqa: S104 - of the container
    assert settings.http.token.get_secret_value() == "made-up"
    assert settings.redis.secret.get_secret_value() == "made-up"
    assert SERVICES[service]["ports"] == [f"127.0.0.1:{settings.http.port}:{settings.http.port}"]
    assert settings.limits.drain_timeout_s < seconds(SERVICES[service]["stop_grace_period"])
    assert settings.engine.name == {"worker": "auto", "worker-gpu": "vllm"}[service]
    assert settings.engine.threads == (SERVICES[service]["cpus"] if service == "worker" else None)
    assert SERVICES[service]["env_file"] == [{"path": ".env", "required": False}]


def test_settings_that_the_example_shows_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = re.findall(rf"^#({PREFIX}\w+)=(.*)$", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    assert shown
    for name, value in shown:
        monkeypatch.setenv(name, value)
        assert name not in variables("worker"), f"{name} would be set in vain"
    load_settings(None)


@pytest.mark.process
def test_the_topics_that_are_made_are_those_that_the_worker_uses() -> None:
    settings = load_settings(None)
    kafka = settings.kafka
    script = SERVICES["init-topics"]["command"][0].replace("/opt/kafka/bin/kafka-topics.sh", "echo").replace("$$", "$")
    shell = [*SERVICES["init-topics"]["entrypoint"], script]
    ended = subprocess.run(shell, env=variables("init-topics"), capture_output=True, text=True, check=True)
    commands = {line.partition("--topic ")[2].split()[0]: line for line in ended.stdout.splitlines()}
    assert commands.keys() == {*settings.subscription.names, *kafka.own_topics}
    assert all("--create --if-not-exists" in line and "--partitions" in line for line in commands.values())
    configured = {topic: set(re.findall(r"--config (\S+)", line)) for topic, line in commands.items()}
    kept = {f"{name}={value}" for name, value in DEAD_LETTER_TOPIC_PROPERTIES.items()}
    assert {topic: found for topic, found in configured.items() if found} == {kafka.dead_letter_topic: kept}


def test_each_container_mounts_its_own_secrets_only() -> None:
    mounted = {service: mounts(service)["/run/secrets"] for service in SERVICES if "/run/secrets" in mounts(service)}
    assert mounted == {**dict.fromkeys(WORKERS, ("worker-secrets", False)), "grafana": ("grafana-secrets", False)}
    makers = {mounts(service)["/data"]: variables(service)["SECRETS"].split() for service in MAKERS}
    assert makers == {("worker-secrets", True): ["http_token", "redis_secret"], ("grafana-secrets", True): ["grafana_password"]}
    others = [service for service in SERVICES if service not in (*mounted, *MAKERS)]
    assert not any("secrets" in what for service in others for what, _ in mounts(service).values())


@pytest.mark.process
@pytest.mark.parametrize("maker", MAKERS)
def test_every_secret_is_made_mounted_and_explained(maker: str, tmp_path: Path) -> None:
    script = SERVICES[maker]["command"][0].replace("/data/", f"{tmp_path}/").replace("$$", "$")
    make = [*SERVICES[maker]["entrypoint"], script]
    environment = {**os.environ, **variables(maker)}
    subprocess.run(make, env=environment, check=True)
    made = {file.name: file.read_text() for file in tmp_path.iterdir()}
    subprocess.run(make, env=environment, check=True)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == made, "a secret that is there stays"
    assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()} == {"0o444"}
    assert all(re.fullmatch(r"[\w-]{32}\n", secret) for secret in made.values())
    assert len(set(made.values())) == len(made)
    volume, _ = mounts(maker)["/data"]
    used = set()
    for service in SERVICES:
        for name, value in variables(service).items():
            if name.endswith("_FILE") and mounts(service)[str(Path(value).parent)] == (volume, False):
                used.add(Path(value).name)
                assert maker in SERVICES[service]["depends_on"]
    assert used == set(made)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert all(f"/run/secrets/{name}" in example for name in made)

"""docker-compose.yml loads as Docker Compose loads it, with every choice that a user may make."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.services.compose import COMPOSE_FILE, VARIABLE, ProjectRefused, build_checker, load_project, read_compose
from tests.services.missing import ServerMissing, skip_or_fail

pytestmark = pytest.mark.process

PROFILES = ("feed", "full", "gpu", "kminion")
SERVICES = read_compose()["services"]
EXAMPLE = COMPOSE_FILE.with_name(".env.example").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def checker() -> Path:
    try:
        return build_checker()
    except ServerMissing as missing:
        skip_or_fail(str(missing))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(COMPOSE_FILE, tmp_path)
    return tmp_path


def _services_of(profiles: Sequence[str]) -> set[str]:
    return {name for name, service in SERVICES.items() if set(service.get("profiles", profiles)) <= set(profiles)}


def _chosen(line: str) -> str:
    return line.removeprefix("#") if re.match(r"#[A-Z_]+=", line) else line


@pytest.mark.long
def test_every_profile_loads(checker: Path, folder: Path, subtests: pytest.Subtests) -> None:
    env = folder / ".env"
    for profiles in [(), *((profile,) for profile in PROFILES)]:
        with subtests.test("+".join(profiles) or "none"):
            env.unlink(missing_ok=True)
            assert set(load_project(checker, folder, profiles)["services"]) == _services_of(profiles)
            env.write_text("\n".join(map(_chosen, EXAMPLE.splitlines())), encoding="utf-8")
            assert set(load_project(checker, folder, profiles)["services"]) == _services_of(profiles or ["feed"]), "as .env says"


@pytest.mark.long
def test_what_we_read_is_what_compose_reads(checker: Path, folder: Path) -> None:
    theirs = load_project(checker, folder, PROFILES)["services"]
    assert set(SERVICES) == set(theirs)
    for name, service in SERVICES.items():
        other = theirs[name]
        environment = {key: str(value) for key, value in service.get("environment", {}).items()}
        assert environment == (other.get("environment") or {}), name
        assert service["image"] == other["image"], name
        for key in ("command", "entrypoint"):
            assert service.get(key) == ([word.replace("$$", "$") for word in other.get(key) or []] or None), f"{name}.{key}"
        for key in ("cap_drop", "security_opt", "read_only", "user", "profiles", "pids_limit"):
            assert service.get(key) == other.get(key), f"{name}.{key}"
        assert set(service.get("depends_on", {})) == set(other.get("depends_on", {})), name


@pytest.mark.long
def test_what_the_env_file_chooses_takes_the_place_of_what_runs_else(checker: Path, folder: Path) -> None:
    chosen = {
        "COMPOSE_PROFILES": "gpu,full",
        "STACK_CPU_WORKERS": "3",
        "STACK_SLIM_MILVUS": "0",
        "STACK_HTTP_PORTS": "8790-8792",
        "STACK_CPUS": "4",
        "VECTAIL_REDACT__RULES": "all",
        "VECTAIL_MILVUS__URI": "http://127.0.0.1:19530",
    }
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in chosen.items()), encoding="utf-8")
    services = load_project(checker, folder)["services"]
    worker, gpu, full = (services[name] for name in ("worker", "worker-gpu", "milvus-full"))
    assert (worker["scale"], services["milvus"]["scale"], gpu.get("scale", 1), full.get("scale", 1)) == (3, 0, 1, 1)
    assert full["networks"]["default"]["aliases"] == ["milvus"]
    assert gpu["deploy"]["resources"]["reservations"]["devices"] == [{"capabilities": ["gpu"], "driver": "nvidia", "count": 1}]
    assert [(port["published"], port["host_ip"]) for port in worker["ports"]] == [("8790-8792", "127.0.0.1")]
    environment = worker["environment"]
    assert (worker["cpus"], environment["VECTAIL_ENGINE__THREADS"]) == (4, "4")
    assert environment["VECTAIL_REDACT__RULES"] == "all"
    assert environment["VECTAIL_MILVUS__URI"] == "http://milvus:19530", "an address of this machine is none in a container"


@pytest.mark.long
def test_a_file_that_compose_would_refuse_is_refused(checker: Path, folder: Path) -> None:
    file = folder / COMPOSE_FILE.name
    text = file.read_text(encoding="utf-8")
    for before, after in (("target: cpu", "tarket: cpu"), ("networks: [storage]", "networks: [storrage]")):
        assert before in text
        file.write_text(text.replace(before, after), encoding="utf-8")
        with pytest.raises(ProjectRefused):
            load_project(checker, folder, PROFILES)


@pytest.mark.long
def test_every_variable_of_the_file_has_a_default_and_is_explained() -> None:
    text = COMPOSE_FILE.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<!\$)\$\{?(\w+)", text))
    assert named == {name for name, _ in VARIABLE.findall(text)}
    defaults = dict(VARIABLE.findall(text))
    assert all(defaults[name] == default for name, default in VARIABLE.findall(text)), "one variable, one default"
    explained = set(re.findall(r"^#(STACK_\w+)=", EXAMPLE, re.MULTILINE))
    assert explained == named
    assert set(PROFILES) == {profile for service in SERVICES.values() for profile in service.get("profiles", [])}
    said = re.search(r"What runs besides .*: ([\w, ]+); commas", EXAMPLE)
    assert said is not None
    assert set(said[1].split(", ")) == set(PROFILES)

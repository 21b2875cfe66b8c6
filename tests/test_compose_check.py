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
def test_gpu_and_full_take_the_place_of_what_runs_else(checker: Path, folder: Path) -> None:
    (folder / ".env").write_text("COMPOSE_PROFILES=gpu,full\nSTACK_CPU_WORKERS=0\nSTACK_SLIM_MILVUS=0\n", encoding="utf-8")
    services = load_project(checker, folder)["services"]
    assert services["worker"]["scale"] == services["milvus"]["scale"] == 0
    assert services["milvus-full"].get("scale", 1) == services["worker-gpu"].get("scale", 1) == 1
    assert services["milvus-full"]["networks"]["default"]["aliases"] == ["milvus"]
    devices = services["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices == [{"capabilities": ["gpu"], "driver": "nvidia", "count": 1}]


@pytest.mark.long
def test_several_workers_have_a_port_each(checker: Path, folder: Path) -> None:
    variables = {"STACK_CPU_WORKERS": "3", "STACK_HTTP_PORTS": "8790-8792", "STACK_CPUS": "4"}
    worker = load_project(checker, folder, variables=variables)["services"]["worker"]
    assert worker["scale"] == 3
    assert worker["ports"][0]["published"] == "8790-8792"
    assert worker["ports"][0]["host_ip"] == "127.0.0.1"
    assert (worker["cpus"], worker["environment"]["VECTAIL_ENGINE__THREADS"]) == (4, "4")


@pytest.mark.long
def test_settings_in_the_env_file_reach_the_worker_and_addresses_there_do_not(checker: Path, folder: Path) -> None:
    (folder / ".env").write_text("VECTAIL_REDACT__RULES=all\nVECTAIL_MILVUS__URI=http://127.0.0.1:19530\n", encoding="utf-8")
    environment = load_project(checker, folder)["services"]["worker"]["environment"]
    assert environment["VECTAIL_REDACT__RULES"] == "all"
    assert environment["VECTAIL_MILVUS__URI"] == "http://milvus:19530"


@pytest.mark.long
def test_secrets_are_in_a_volume_or_in_a_folder_of_the_user_s(checker: Path, folder: Path, subtests: pytest.Subtests) -> None:
    for service, volume, variable in (
        ("worker", "worker-secrets", "STACK_WORKER_SECRETS"),
        ("grafana", "grafana-secrets", "STACK_GRAFANA_SECRETS"),
    ):
        with subtests.test(service):
            usual = load_project(checker, folder)["services"][service]["volumes"][-1]
            chosen = load_project(checker, folder, variables={variable: "./secrets"})["services"]
            bound = chosen[service]["volumes"][-1]
            assert (usual["type"], usual["source"], usual["read_only"]) == ("volume", volume, True)
            assert (bound["type"], bound["source"], bound["read_only"]) == ("bind", str(folder / "secrets"), True)
            made = [maker["volumes"] for name, maker in chosen.items() if name.startswith("init-") and maker.get("volumes")]
            assert [one["source"] for (one,) in made].count(str(folder / "secrets")) == 1


@pytest.mark.long
def test_a_file_that_compose_would_refuse_is_refused(checker: Path, folder: Path, subtests: pytest.Subtests) -> None:
    file = folder / COMPOSE_FILE.name
    text = file.read_text(encoding="utf-8")
    mistakes = {
        "target: cpu": "tarket: cpu",
        "condition: service_healthy": "condition: service_well",
        "networks: [storage]": "networks: [storrage]",
        "- kafka-data:/var/lib/kafka/data": "- kafka-dada:/var/lib/kafka/data",
        "127.0.0.1:9092:9092": "127.0.0.1:9092:9092:9092",
        "<<: *bounded": "<<: *unbounded",
    }
    for before, after in mistakes.items():
        with subtests.test(after):
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

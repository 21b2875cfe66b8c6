"""Prometheus and Grafana find in the stack what their files in deploy/ name: services, ports, paths, secrets, metrics."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.services.compose import COMPOSE_FILE, read_compose

ROOT = COMPOSE_FILE.parent
SERVICES: dict[str, dict[str, Any]] = read_compose()["services"]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
PROMETHEUS = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text(encoding="utf-8"))
RULES = sorted((ROOT / "deploy/prometheus/rules").glob("*.yml"))
DASHBOARDS = sorted((ROOT / "deploy/grafana/dashboards").glob("*.json"))


def _mounted(service: str) -> dict[str, Path]:
    """Return path in the container → path here, of what is mounted from here."""
    parts = [mount.split(":") for mount in SERVICES[service].get("volumes", [])]
    return {part[1]: ROOT / part[0] for part in parts if part[0].startswith(".")}


def _provisioned(room: str) -> Iterator[dict[str, Any]]:
    for file in sorted((_mounted("grafana")["/etc/grafana/provisioning"] / room).glob("*.y*ml")):
        yield yaml.safe_load(file.read_text(encoding="utf-8"))


def _names() -> dict[str, set[str]]:
    """Return each name in the network → the services that answer to it."""
    found: dict[str, set[str]] = {name: {name} for name in SERVICES}
    for name, service in SERVICES.items():
        networks = service.get("networks", {})
        for alias in networks["default"].get("aliases", []) if isinstance(networks, dict) and "default" in networks else []:
            found.setdefault(alias, set()).add(name)
    return found


def _ports(service: str) -> set[int]:
    """Return the ports on which a service is known to listen: published, asked for its health, or exposed by the image."""
    published = {int(port.split(":")[-1]) for port in SERVICES[service].get("ports", [])}
    asked = {
        int(port) for word in SERVICES[service].get("healthcheck", {}).get("test", []) for port in re.findall(r"127\.0\.0\.1:(\d+)", word)
    }
    exposed = set(map(int, re.findall(r"^EXPOSE (\d+)$", DOCKERFILE, re.MULTILINE))) if "build" in SERVICES[service] else set()
    return published | asked | exposed


def _targets(scrape: dict[str, Any]) -> Iterator[tuple[str, int]]:
    for discovered in scrape.get("dns_sd_configs", []):
        assert discovered["type"] == "A"
        for name in discovered["names"]:
            yield name, discovered["port"]
    for static in scrape.get("static_configs", []):
        for target in static["targets"]:
            host, port = target.split(":")
            yield ("prometheus" if host == "localhost" else host), int(port)


def test_what_is_scraped_is_a_service_that_listens_there(subtests: pytest.Subtests) -> None:
    for scrape in PROMETHEUS["scrape_configs"]:
        with subtests.test(scrape["job_name"]):
            targets = list(_targets(scrape))
            assert targets
            for name, port in targets:
                for service in _names()[name]:
                    assert port in _ports(service), f"{service} does not listen on {port}"
                if all(SERVICES[service].get("profiles") for service in _names()[name]):
                    assert "dns_sd_configs" in scrape, f"without its profile {name} would be a target that is down"


def test_prometheus_finds_its_configuration_and_its_rules() -> None:
    mounted = _mounted("prometheus")
    options = dict(word.removeprefix("--").split("=", 1) for word in SERVICES["prometheus"]["command"])
    configuration = PurePosixPath(options["config.file"])
    assert mounted[str(configuration)].is_file()
    assert f"prometheus-data:{options['storage.tsdb.path']}" in SERVICES["prometheus"]["volumes"]
    for pattern in PROMETHEUS["rule_files"]:
        path = configuration.parent / pattern
        files = sorted(mounted[str(path.parent)].glob(path.name))
        assert files == RULES
    assert RULES
    assert all("groups" in yaml.safe_load(file.read_text(encoding="utf-8")) for file in RULES)


def test_grafana_finds_prometheus_and_every_dashboard() -> None:
    mounted = _mounted("grafana")
    (source,) = [source for document in _provisioned("datasources") for source in document["datasources"]]
    address = urlsplit(source["url"])
    assert address.port in _ports(str(address.hostname))
    assert source["type"] == "prometheus"
    (provider,) = [provider for document in _provisioned("dashboards") for provider in document["providers"]]
    assert mounted[provider["options"]["path"]] == DASHBOARDS[0].parent
    assert {file.parent for file in DASHBOARDS} == {mounted[provider["options"]["path"]]}


def test_grafana_asks_for_a_password_that_stands_in_a_file_and_calls_nobody() -> None:
    environment = SERVICES["grafana"]["environment"]
    assert environment["GF_SECURITY_ADMIN_PASSWORD__FILE"].startswith("/run/secrets/")
    assert "GF_SECURITY_ADMIN_PASSWORD" not in environment
    assert environment["GF_AUTH_ANONYMOUS_ENABLED"] == "false"
    off = [name for name in environment if name.startswith(("GF_ANALYTICS_", "GF_NEWS_"))]
    assert len(off) == 4
    assert {environment[name] for name in off} == {"false"}
    assert environment["GF_PLUGINS_PREINSTALL_DISABLED"] == "true"

"""Prometheus' settings for a stack: those of deploy/prometheus with other addresses, and the same jobs, intervals and rules."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.services.missing import ServerMissing

DEPLOYED = Path(__file__).parents[2] / "deploy" / "prometheus" / "prometheus.yml"
_TARGETS = ("static_configs", "_sd_configs")
"""Suffix of the keys that name a job's targets."""


def settings_for(addresses: Mapping[str, str], deployed: Path = DEPLOYED) -> dict[str, Any]:
    """Return the settings with `addresses` (job → host:port) in place of the targets; a job without one is left out."""
    settings: dict[str, Any] = yaml.safe_load(deployed.read_text(encoding="utf-8"))
    settings["rule_files"] = [str(deployed.parent / pattern) for pattern in settings["rule_files"]]
    settings["scrape_configs"] = [
        {key: value for key, value in job.items() if not key.endswith(_TARGETS)}
        | {"static_configs": [{"targets": [addresses[job["job_name"]]]}]}
        for job in settings["scrape_configs"]
        if job["job_name"] in addresses
    ]
    return settings


def command(folder: Path, address: str, targets: Mapping[str, str], *, every_s: int | None = None) -> list[str]:
    """Write the settings into the folder; return the command that starts Prometheus with them. Raises ServerMissing.

    `targets`: job → host:port. `every_s`: how often everything is scraped and evaluated, if not as deployed.
    """
    binary = shutil.which("prometheus")
    if binary is None:
        raise ServerMissing("prometheus is not installed (Debian's package prometheus has it)")
    settings = settings_for(targets)
    if every_s is not None:
        every = dict.fromkeys(("scrape_interval", "scrape_timeout"), f"{every_s}s")
        settings["global"] = every | {"evaluation_interval": f"{every_s}s"}
        settings["scrape_configs"] = [job | every for job in settings["scrape_configs"]]
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    options = {
        "config.file": file,
        "storage.tsdb.path": folder / "prometheus",
        "web.listen-address": address,
        "web.external-url": f"http://{address}/",
        "log.level": "warn",
    }
    return [binary, *(f"--{name}={value}" for name, value in options.items())]

"""The unit for systemd agrees with the code: it waits for the drain, restarts on what a restart can mend, and runs what is there."""

import os
import re
import shlex
from collections import defaultdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from worker.cli.app import app
from worker.cli.exit_codes import CRASHED, DRAIN_TIMEOUT, DRAINED, USER_ERROR
from worker.settings.settings import PREFIX, load_settings

ROOT = Path(__file__).parents[2]
UNIT = "deploy/vectail.service"
AFTER_DRAIN_S = 15
"""What docs/operations.md asks for beyond the drain."""


def _settings_of(text: str) -> dict[str, list[str]]:
    """Read a unit: name → values; no name of ours is in two sections."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        if line and not line.startswith(("#", "[")):
            name, separator, value = line.partition("=")
            assert separator, line
            found[name].append(value)
    return found


TEXT = (ROOT / UNIT).read_text(encoding="utf-8")
SET = _settings_of(TEXT)


def only(name: str) -> str:
    (value,) = SET[name]
    return value


def test_it_waits_longer_than_the_drain_and_signals_only_the_main_process() -> None:
    drain_s = load_settings(None).limits.drain_timeout_s
    assert float(only("TimeoutStopSec")) >= drain_s + AFTER_DRAIN_S
    assert (only("KillSignal"), only("KillMode")) == ("SIGTERM", "mixed")
    assert f"limits.drain_timeout_s ({drain_s:.0f} s)" in TEXT


def test_what_a_restart_can_mend_is_started_again_and_nothing_else() -> None:
    assert only("Restart") == "on-failure"  # what is not 0 and not refused below
    refused = {int(code) for code in only("RestartPreventExitStatus").split()}
    assert refused == {USER_ERROR}
    assert not refused & {CRASHED, DRAIN_TIMEOUT}
    assert DRAINED == 0
    assert not {"SuccessExitStatus", "RestartForceExitStatus"} & SET.keys()


def test_a_worker_that_waits_for_its_index_is_not_given_up() -> None:
    """A write that is not acknowledged ends a worker after 60 s: that alone never reaches the limit of starts."""
    longest_loop_s = 60 + float(only("RestartSec"))
    assert int(only("StartLimitBurst")) * longest_loop_s > float(only("StartLimitIntervalSec"))


def test_the_command_is_one_that_the_command_line_takes() -> None:
    program, *arguments = shlex.split(only("ExecStart"))
    assert program == "/opt/vectail/.venv/bin/vectail"
    outcome = CliRunner().invoke(app, [*arguments, "--help"])
    assert outcome.exit_code == 0, outcome.output


def test_what_it_sets_are_settings_and_what_is_written_lies_in_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith(PREFIX):
            monkeypatch.delenv(name)
    state = f"/var/lib/{only('StateDirectory')}"
    for assignment in shlex.split(only("Environment")):
        name, _, value = assignment.partition("=")
        if name.startswith(PREFIX):
            monkeypatch.setenv(name, value)
        elif name == "HOME":
            assert value == state
    assert load_settings(None).model.cache == Path(state) / "models"
    assert only("WorkingDirectory") == state
    assert only("EnvironmentFile") == "-/etc/vectail/vectail.env"


def test_it_runs_as_a_user_without_rights() -> None:
    assert only("User") not in ("", "root", "0")
    assert (only("CapabilityBoundingSet"), only("AmbientCapabilities"), only("ProtectSystem")) == ("", "", "strict")
    hardened = {name for name, values in SET.items() if values == ["yes"]}
    assert {"NoNewPrivileges", "ProtectHome", "PrivateTmp", "RestrictNamespaces", "RestrictSUIDSGID", "LockPersonality"} <= hardened
    assert "AF_INET" in only("RestrictAddressFamilies").split()


def test_the_page_that_explains_it_names_its_file_and_its_user() -> None:
    section = (ROOT / "docs/operations.md").read_text(encoding="utf-8").partition("\n## Under systemd\n")[2].partition("\n## ")[0]
    assert UNIT in section
    assert re.search(rf"useradd --system .* {only('User')}$", section, re.MULTILINE)
    assert only("ExecStart").split()[-1] in section
    assert only("EnvironmentFile").removeprefix("-") in section

"""What the README tells people to type must be what the product takes."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from worker.cli.app import app
from worker.settings import load_settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fences(language: str) -> list[str]:
    every = re.findall(r"^```(.*?)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    return [text for named, text in every if named == language]


def commands(program: str) -> list[list[str]]:
    words = (shlex.split(line) for fence in fences("") for line in fence.splitlines() if not line.startswith(" "))
    return [line[1:] for line in words if line and Path(line[0]).name == program]


@pytest.mark.parametrize("arguments", commands("vectail"), ids=" ".join)
def test_every_vectail_command_of_the_readme_is_one_that_the_command_line_takes(arguments: list[str]) -> None:
    outcome = CliRunner().invoke(app, [*arguments, "--help"])
    assert outcome.exit_code == 0, outcome.output


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {arguments[0] for arguments in commands("make")} | set(re.findall(r"`(?:[A-Z]+=\S+ )?make ([a-z-]+)", README))
    assert named
    assert named <= targets


def test_the_settings_example_of_the_readme_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "vectail.toml"
    file.write_text(fences("toml")[0], encoding="utf-8")
    settings = load_settings(file)
    assert settings.milvus.uri == "http://milvus:19530"
    assert settings.kafka.librdkafka["security.protocol"] == "SSL"


def test_the_engine_s_example_in_the_readme_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "vectail.toml"
    file.write_text(fences("toml")[1], encoding="utf-8")
    assert load_settings(file).engine == load_settings(None).engine


def test_every_folder_of_the_readme_exists() -> None:
    named = re.findall(r"^\| `([a-z]+)/`", README, re.MULTILINE)
    assert len(named) >= 6
    assert all((ROOT / name).is_dir() for name in named)

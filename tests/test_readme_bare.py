"""The README's commands run as written, in a fresh clone, for a user who has nothing but Python, git and a compiler."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BUILT = Path.home() / ".cache/vectail/wheels"
"""Where llama.cpp was compiled already, four minutes are saved."""
pytestmark = [pytest.mark.long, pytest.mark.timeout(3_600)]


def _typed() -> list[str]:
    """Return what the section for newcomers tells them to type; not the tests, and not what serves until it is stopped."""
    section = README.partition("\n## Two commands\n")[2].partition("\n## ")[0]
    fences = re.findall(r"^```(.*?)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    lines = [line for language, fence in fences if not language for line in fence.splitlines()]
    return [line for line in lines if line != "make test" and "--serve" not in line]


def test_a_newcomer_gets_from_a_clone_to_answers(tmp_path: Path) -> None:
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / "app.log").write_text("payment 17 was declined by the bank\npayment 18 was accepted\n")
    assert _typed()[:2] == ["make demo", "source .venv/bin/activate"]
    packages = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}  # where they come from
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(home), "WHEELS": str(BUILT), **packages}

    ended = subprocess.run(["bash", "-euc", "\n".join(_typed())], cwd=clone, env=bare, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr[-4_000:]
    assert "In the index: 20,000 lines of" in ended.stdout, "make demo"
    assert "payment 17 was declined by the bank" in ended.stdout, "the user's own file"
